"""Trying what this installation would write into a host: its hook and its MCP server, in a home
made for it.

Only our own program is started, as a list of words and by no shell; what settings files say is
compared with it (`settings_findings`). The home of the trial is empty and removed afterwards, so
that nothing is learned from it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from reverie.core import clock, config
from reverie.interfaces.hooks.hook_event import TOOL_AFTER
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.hosts import load_host
from reverie.interfaces.install import hook_line
from reverie.interfaces.install.settings_entries import SERVE_ARGS

# More than hosts give a hook (HOOK_TIMEOUT): a slow one is told by its time, not by a failure.
HOOK_SECONDS = 5.0
# The server loads for a second or two; twenty is a machine that is busy.
SERVER_SECONDS = 20.0
# No model is loaded, no worker is left behind and no page is written by a trial.
TRIAL_SETTINGS = 'embedder = "none"\nidle = 0.0\nmirror = "off"\n'
CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "reverie doctor", "version": "1"},
}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": CLIENT,
}


def try_hook(host: str) -> tuple[float, str]:
    """(seconds, what went wrong) of a hook that is told of a tool that ran, the commonest event;
    the second of two.

    The first finds modules not yet compiled and a home not yet made, as no hook does but the first
    one ever.
    """
    row = load_host(host)
    events = row.events
    # A host without such an event is tried with its first one.
    event = next(
        (name for name, kind in events.items() if kind == TOOL_AFTER),
        next(iter(events)),
    )
    seconds = 0.0
    with TemporaryDirectory(prefix="reverie-doctor-") as folder:
        told = {
            **dict.fromkeys(row.prompt_fields, "doctor"),
            row.event_field: event,
            "cwd": folder,
            "tool_name": "Bash",
            "tool_input": {"command": "true"},
            "tool_response": {"stdout": ""},
        }
        files = make_trial_home(folder)
        words = [*hook_line.own_program(), host, "--check"]
        for _ in range(2):
            begun = clock.ticks()
            answer, trouble = run_trial(words, json.dumps(told), folder, HOOK_SECONDS)
            seconds = clock.ticks() - begun
            if not trouble and (answer != "{}" or not files.list_events()):
                # A hook never fails: what went wrong stands in its log alone.
                trouble = last_log_line(Path(files.log)) or (
                    f"it answers {answer[:80]!r} and writes nothing down"
                )
            if trouble:
                return seconds, trouble
    return seconds, ""


def last_log_line(path: Path) -> str:
    """The last line of a log; empty if there is none."""
    lines = path.read_text("utf-8", "replace").splitlines() if path.is_file() else []
    return lines[-1] if lines else ""


def try_server() -> str:
    """What goes wrong when our MCP server is started, greeted and left."""
    with TemporaryDirectory(prefix="reverie-doctor-") as folder:
        make_trial_home(folder)
        answer, trouble = run_trial(
            [sys.executable, *SERVE_ARGS], json.dumps(HELLO) + "\n", folder, SERVER_SECONDS
        )
    return trouble or ("" if '"serverInfo"' in answer else f"it answers {answer[:80]!r}")


def make_trial_home(folder: str) -> HookFiles:
    """A home for a trial."""
    (Path(folder) / "config.toml").write_text(TRIAL_SETTINGS, "utf-8")
    return HookFiles(folder)


def run_trial(
    words: Sequence[str],
    given: str,
    home: str,
    most: float,
) -> tuple[str, str]:
    """(what a program of ours printed, what went wrong)."""
    try:
        done = subprocess.run(
            words,
            input=given,
            text=True,
            encoding="utf-8",
            errors="replace",
            capture_output=True,
            timeout=most,
            check=False,
            # Not where the user stands: a project may hold a `json.py`.
            cwd=home,
            env=config.environment_for_home(home),
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {most:.0f} s"
    except OSError as err:
        return "", str(err)
    if done.returncode:
        complaints = done.stderr.strip().splitlines()
        return "", complaints[-1] if complaints else f"it ended with {done.returncode}"
    return done.stdout.strip(), ""
