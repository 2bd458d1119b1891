"""What the MCP server answers to a client's first questions, taken down for `early_answers`.

python -m tools.mcp_answers            write src/reverie/interfaces/mcp/early_answers.json
python -m tools.mcp_answers --check    fail if the server answers something else
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from reverie.interfaces.mcp.server import PROFILES

FILE = Path(__file__).parents[1] / "src" / "reverie" / "interfaces" / "mcp" / "early_answers.json"
QUESTIONS = ("ping", "tools/list", "prompts/list", "resources/list", "resources/templates/list")
# The command line without what answers early.
SERVER = "from reverie.interfaces.cli.app import main; main()"


def ask_server(profile: str, version: str) -> dict[str, Any]:
    """What the server of a profile answers, by method."""
    hello = {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "tools", "version": "1"},
    }
    asked = [("initialize", hello), *((question, {}) for question in QUESTIONS)]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        for id, (method, params) in enumerate(asked)
    ]
    lines.insert(1, json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}))
    with tempfile.TemporaryDirectory() as home:
        done = subprocess.run(
            [sys.executable, "-c", SERVER, "mcp", "--profile", profile, "--space", "me/demo"],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
            env={**os.environ, "REVERIE_HOME": home, "REVERIE_EMBEDDER": "none"},
        )
    said = {
        message["id"]: message["result"] for message in map(json.loads, done.stdout.splitlines())
    }
    answers = {method: said[id] for id, (method, _) in enumerate(asked)}
    assert answers["initialize"].pop("protocolVersion") == version
    # It is told by whoever answers.
    answers["initialize"]["serverInfo"].pop("version")
    return answers


def collect_answers() -> str:
    """The answers of every profile, and the versions of the protocol to which they are the same."""
    newest = HANDSHAKE_PROTOCOL_VERSIONS[-1]
    profiles = {profile: ask_server(profile, newest) for profile in PROFILES}
    versions = [
        version
        for version in HANDSHAKE_PROTOCOL_VERSIONS
        if version == newest or ask_server("unified", version) == profiles["unified"]
    ]
    rows = ",\n".join(
        f"{json.dumps(profile)}:{json.dumps(answers, ensure_ascii=False, separators=(',', ':'))}"
        for profile, answers in profiles.items()
    )
    return f'{{\n"versions":{json.dumps(versions)},\n"profiles":{{\n{rows}\n}}\n}}\n'


def main() -> int:
    """Write the file, or with --check compare it."""
    wanted = collect_answers()
    if "--check" not in sys.argv:
        FILE.write_text(wanted, "utf-8")
    elif FILE.read_text("utf-8") != wanted:
        print(f"{FILE.name} is not what the server answers: run python -m tools.mcp_answers")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
