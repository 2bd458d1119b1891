"""What a hook costs its host, and what happens when many come at once. `python -m bench.hooks
[--rounds 12]`

Cost: whole processes, from start to exit, in sessions as agents have them (a start, prompts, tools
before and after, ends of turns, failures, a compaction, an end), over a memory of 1,000 texts with
50 guards, while the worker takes in what they write. Between them `python -c pass` with the same
interpreter, so that a busy moment of the machine meets both. Target: p50 of all hooks within 3
times that of `pass`, p95 within 5 times its p95; the p95 beside its p50 is told too. What opens the
store itself (a session's first prompt, others that say something of their own, the start after a
compaction) has rows of its own. The setting `deadline` bounds one part of those, the search by
words and triggers, and not the process that is measured here.

At once: 1,000 hooks from 8 processes, beside as many processes that do nothing. Target: none fails,
none waits for another, one worker, everything taken in, nobody left behind.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from bench.common import Texts, percentile, save, table, timed
from reverie.core import clock, config
from reverie.core.config import Settings
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.install.hook_line import launcher_path
from reverie.interfaces.worker_start import is_worker_alive
from reverie.testing import memory

MEMORIES, GUARDS = 1_000, 50
MANY, PROCESSES = 1_000, 8
BASH = {"tool_name": "Bash", "tool_input": {"command": "python -m pytest -q tests/unit"}}
ANSWERED = {
    **BASH,
    "tool_response": {"stdout": "12 passed in 0.31s\n" * 40, "stderr": ""},
    "duration_ms": 310,
}
READ = {"tool_name": "Read", "tool_input": {"file_path": "/p/src/a.py"}}
STORM = """
import json, subprocess, sys, time
taken = []
for n in range(int(sys.argv[4])):
    given = json.dumps({"session_id": sys.argv[2], "cwd": sys.argv[3], "hook_event_name": "PostToolUse",
                        "tool_name": "Bash", "tool_input": {"command": f"echo {sys.argv[2]} {n}"},
                        "tool_response": {"stdout": str(n), "stderr": ""}}).encode()
    start = time.perf_counter()
    words = ["-I", "-S", sys.argv[1], "claude-code"] if sys.argv[1] else ["-c", "print('{}')"]
    done = subprocess.run([sys.executable, *words], input=given, capture_output=True)
    taken.append(time.perf_counter() - start)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\\n", b""), done
print(json.dumps(taken))
"""


class Host:
    """Starts hooks of one home and project."""

    def __init__(self, folder: Path) -> None:
        self.home, self.project = folder / "home", folder / "project"
        (self.project / ".git").mkdir(parents=True)
        config.save_settings(
            Settings(home=self.home), embedder="toy", idle=5.0, sleep="off", backups=0
        )
        self.room, self.space = HookFiles(str(self.home)), config.project_space_of(self.project)
        self.env = {**os.environ, "REVERIE_HOME": str(self.home)}

    def fill(self) -> None:
        """What a project has after some weeks."""
        texts = Texts().many(MEMORIES)
        with memory(self.home, now=clock.now, idle=0.0) as mind:
            mind.remember_many([{"text": text} for text in texts[GUARDS:]], space=self.space)
            mind.remember_many(
                [
                    {
                        "text": f"Never {text}",
                        "kind": "negative",
                        "triggers": [f"tool:Bash(git {n}*--x*)"],
                    }
                    for n, text in enumerate(texts[:GUARDS])
                ],
                space=self.space,
            )
            mind.settle()

    def hook(self, session: str, event: str, fields: dict[str, Any]) -> tuple[float, float]:
        """Seconds of one hook, and those of processors."""
        given = json.dumps(
            {"session_id": session, "cwd": str(self.project), "hook_event_name": event, **fields}
        ).encode()
        return self.took([sys.executable, "-I", "-S", launcher_path(), "claude-code"], given)

    def took(self, command: list[str], given: bytes = b"") -> tuple[float, float]:
        """Seconds of one process, and those of processors."""
        before = processor_seconds()
        seconds = timed(
            lambda: subprocess.run(
                command, input=given, env=self.env, check=True, capture_output=True
            )
        )
        return seconds, processor_seconds() - before

    def workers(self) -> int:
        """Processes that are a worker of this home."""
        count = 0
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = path.read_bytes().split(b"\0")
            except OSError:
                continue
            count += b"worker" in words and str(self.home).encode() in words
        return count

    def quiet(self) -> float:
        """Seconds until everything is taken in and the worker has gone."""
        start = time.perf_counter()
        while self.room.list_events() or is_worker_alive(self.room.lock) or self.workers():
            time.sleep(0.05)
        return time.perf_counter() - start


def processor_seconds() -> float:
    """What processes that were waited for have taken; a worker is not waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def session(round_: int) -> list[tuple[str, str, dict[str, Any]]]:
    """What happens in a session: (row, event, fields)."""
    texts = Texts(seed=round_ + 2).many(8)
    steps: list[tuple[str, str, dict[str, Any]]] = [
        ("session start", "SessionStart", {"source": "startup"})
    ]
    for turn, text in enumerate(texts):
        steps.append(
            ("first prompt" if turn == 0 else "prompt", "UserPromptSubmit", {"prompt": text})
        )
        for tool in (BASH, READ):
            steps.append(("before a tool", "PreToolUse", tool))
            steps.append(("after a tool", "PostToolUse", {**ANSWERED, **tool}))
        steps.append(("turn end", "Stop", {"last_assistant_message": f"Done: {text}. " * 10}))
    steps.append(
        ("tool failure", "PostToolUseFailure", {**BASH, "error": "Exit code 1\nE   assert 1 == 2"})
    )
    steps += [
        ("before compaction", "PreCompact", {"trigger": "auto"}),
        ("after compaction", "SessionStart", {"source": "compact"}),
    ]
    return [*steps, ("session end", "SessionEnd", {"reason": "other"})]


def cost(host: Host, rounds: int) -> dict[str, Any]:
    """Seconds of each kind of hook, and of a bare interpreter, on the clock and of processors."""
    taken: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for round_ in range(rounds):
        for row, event, fields in session(round_):
            taken["pass"].append(host.took([sys.executable, "-c", "pass"]))
            taken[row].append(host.hook(f"session-{round_}", event, fields))
    every = [value for row, values in taken.items() if row != "pass" for value in values]
    clock_part, processor_part = (
        compare({row: [value[part] for value in some] for row, some in rows.items()})
        for part, rows in enumerate(({**taken, "all hooks": every},) * 2)
    )
    return {**clock_part, "processor": processor_part, "quiet_after_s": host.quiet()}


def compare(taken: dict[str, list[float]]) -> dict[str, Any]:
    """The figures of each row, and those of all hooks as multiples of a bare interpreter's."""
    bare = percentile(taken["pass"], 0.5)
    rows = {row: figures(values, bare) for row, values in taken.items()}
    of_all = rows["all hooks"]
    return {
        "rows": rows,
        "p50_of_pass": of_all["p50"] / bare,
        "p95_of_pass": of_all["p95"] / bare,
        "p95_of_pass_p95": of_all["p95"] / rows["pass"]["p95"],
    }


def figures(values: list[float], bare: float) -> dict[str, float]:
    """p50, p95, most and their number, and p50 as a multiple of a bare interpreter's."""
    p50 = percentile(values, 0.5)
    return {
        "count": len(values),
        "p50": p50,
        "p95": percentile(values, 0.95),
        "max": max(values),
        "of_pass": p50 / bare,
    }


def at_once(host: Host, program: str) -> tuple[list[float], int, int, float]:
    """(seconds of each, processes that failed, most workers seen, seconds of all) of MANY from
    PROCESSES.
    """
    start, most = time.perf_counter(), 0
    running = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                STORM,
                program,
                f"storm-{n}",
                str(host.project),
                str(MANY // PROCESSES),
            ],
            env=host.env,
            stdout=subprocess.PIPE,
        )
        for n in range(PROCESSES)
    ]
    while any(one.poll() is None for one in running):
        most = max(most, host.workers())
        time.sleep(0.05)
    seconds = time.perf_counter() - start
    taken = [value for one in running for value in json.loads(one.communicate()[0] or b"[]")]
    return taken, sum(one.returncode != 0 for one in running), most, seconds


def storm(host: Host) -> dict[str, Any]:
    """MANY hooks from PROCESSES processes at once, and as many processes that do nothing."""
    bare, _, _, bare_seconds = at_once(host, "")
    taken, failed, most, seconds = at_once(host, launcher_path())
    quiet = host.quiet()
    with memory(host.home, now=clock.now, idle=0.0) as mind:
        kept = sum(
            event.session.startswith("storm-")
            for event in mind.store.events(verbs=("tool",), limit=100_000)
        )
        broken = len(mind.data.verify())
    shares = {
        f"{name}{part}": percentile(values, share)
        for name, values in (("", taken), ("bare_", bare))
        for part, share in (("p50", 0.5), ("p95", 0.95), ("max", 1.0))
    }
    return {
        "hooks": MANY,
        "processes": PROCESSES,
        "failed": failed,
        "answered": len(taken),
        "kept": kept,
        "seconds": seconds,
        "bare_seconds": bare_seconds,
        **shares,
        "most_workers": most,
        "left_after": host.workers(),
        "until_quiet_s": quiet,
        "problems": broken,
        "trouble": Path(host.room.log).exists(),
    }


def show(unit: str, paid: dict[str, Any]) -> None:
    """Print the figures of one way of measuring."""
    table(
        [
            (
                name,
                row["count"],
                *(1_000 * row[part] for part in ("p50", "p95", "max")),
                row["of_pass"],
            )
            for name, row in paid["rows"].items()
        ],
        (unit, "count", "p50", "p95", "max", "× pass"),
    )
    print(
        f"all hooks: p50 {paid['p50_of_pass']:.2f} × pass, p95 {paid['p95_of_pass']:.2f} × its p50 "
        f"({paid['p95_of_pass_p95']:.2f} × its p95)"
    )


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=12, help="sessions that are played")
    parser.add_argument(
        "--busy", default="", help="what else the machine was doing, for the result"
    )
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        host = Host(Path(folder))
        host.fill()
        paid = cost(host, chosen.rounds)
        stormed = storm(host)
    show("ms", paid)
    show("ms of processors", paid["processor"])
    print(json.dumps(stormed, indent=1))
    print(
        save(
            "hooks",
            {
                "busy": chosen.busy,
                "load": os.getloadavg(),
                "memories": MEMORIES,
                "guards": GUARDS,
                "cost": paid,
                "storm": stormed,
            },
        )
    )


if __name__ == "__main__":
    main()
