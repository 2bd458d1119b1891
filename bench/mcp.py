"""How long a client of the MCP server waits: from the start of the process to its first answer, and
to the first answer of a tool, against a server on the same SDK that has one tool which does
nothing. `python -m bench.mcp`

The two take turns, so that both meet the same machine. Target: within twice the empty server's
time.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import reverie
from bench.common import Texts, percentile, save, table
from reverie.core.config import Settings

TARGET = 2.0
EMPTY = """
from mcp.server.mcpserver import MCPServer
server = MCPServer("empty", log_level="WARNING")

@server.tool()
def nothing() -> str:
    return "nothing"

server.run()
"""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "bench", "version": "1"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}


def called(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": 2,
        "method": "tools/call",
        "params": {"name": name, "arguments": arguments},
    }


def waited(
    command: list[str], call: dict[str, Any], environment: dict[str, str]
) -> dict[str, float]:
    """Seconds from the start of a server to its first answer, and to the answer of its
    first tool.
    """
    begun = time.perf_counter()
    process: Any = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    taken = {}
    for name, messages in (("first answer", [HELLO]), ("first tool", [READY, call])):
        process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert "error" not in answer and not answer["result"].get("isError"), answer
        taken[name] = time.perf_counter() - begun
    process.stdin.close()
    process.wait()
    taken["to its end"] = time.perf_counter() - begun
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--memories", type=int, default=2_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        with reverie.open(settings=Settings(home=home, embedder="none")) as mind:
            mind.remember_many(
                [{"text": text} for text in Texts().many(asked.memories)], space="me/bench"
            )
        environment = {**os.environ, "REVERIE_HOME": folder, "REVERIE_EMBEDDER": "none"}
        servers = {
            "empty": ([sys.executable, "-c", EMPTY], called("nothing", {})),
            "reverie": (
                [sys.executable, "-m", "reverie", "mcp", "--space", "me/bench"],
                called("recall", {"query": "what is known of the relay?", "limit": 5}),
            ),
        }
        taken: dict[str, list[dict[str, float]]] = {name: [] for name in servers}
        for _ in range(asked.rounds + 1):
            for name, (command, call) in servers.items():
                taken[name].append(waited(command, call, environment))
    medians = {
        name: {what: percentile([one[what] for one in some[1:]], 0.5) for what in some[0]}
        for name, some in taken.items()
    }  # the first of each fills the file cache
    ratios = {what: medians["reverie"][what] / medians["empty"][what] for what in medians["empty"]}
    table(
        [
            [
                what,
                f"{medians['reverie'][what]:.2f} s",
                f"{medians['empty'][what]:.2f} s",
                f"{ratio:.2f}",
                f"within {TARGET:g}",
            ]
            for what, ratio in ratios.items()
        ],
        ["from the start to", "reverie", "empty server", "ratio", "target"],
    )
    save(
        "mcp",
        {
            "rounds": asked.rounds,
            "memories": asked.memories,
            "seconds": medians,
            "ratio": ratios,
            "target": TARGET,
        },
    )


if __name__ == "__main__":
    main()
