"""Trying what this installation would write into a host: its hook and its MCP server, in a home
made for it.

Only our own program is started, as a list of words and by no shell; what settings files say is
compared with it (`found`). The home of the trial is empty and removed afterwards, so that nothing
is learned from it.
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

HOOK_SECONDS = 5.0  # seconds that a hook may take when it is tried; hosts give it TIMEOUT
SERVER_SECONDS = 20.0  # seconds until the MCP server has answered; it loads for one or two
TRIAL_SETTINGS = 'embedder = "none"\nidle = 0.0\nmirror = "off"\n'
CLIENT = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "reverie doctor", "version": "1"},
}
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": CLIENT}


def try_hook(host: str) -> tuple[float, str]:
    """(seconds, what went wrong) of a hook that is told of a tool that ran, the commonest event;
    the second of two.

    The first finds modules not yet compiled and a home not yet made, as no hook does but the first
    one ever.
    """
    event = next(name for name, kind in load_host(host).events.items() if kind == TOOL_AFTER)
    with TemporaryDirectory(prefix="reverie-doctor-") as folder:
        told = {
            "hook_event_name": event,
            "session_id": "doctor",
            "conversation_id": "doctor",
            "cwd": folder,
            "tool_name": "Bash",
            "tool_input": {"command": "true"},
            "tool_response": {"stdout": ""},
        }
        room = make_trial_home(folder)
        words = [*hook_line.own_program(), host, "--check"]
        seconds, trouble = 0.0, ""
        for _ in range(2):
            begun = clock.ticks()
            answer, trouble = run_trial(words, json.dumps(told), folder, HOOK_SECONDS)
            seconds = clock.ticks() - begun
            if trouble or answer != "{}" or not room.list_events():
                logged = Path(room.log)
                told_of = (
                    logged.read_text("utf-8", "replace").splitlines() if logged.is_file() else []
                )
                return seconds, trouble or (
                    told_of or [f"it answers {answer[:80]!r} and writes nothing down"]
                )[-1]
    return seconds, ""


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


def run_trial(words: Sequence[str], given: str, home: str, most: float) -> tuple[str, str]:
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
            cwd=home,
            env=config.environment_for_home(home),
        )
    except subprocess.TimeoutExpired:
        return "", f"no answer within {most:.0f} s"
    except OSError as err:
        return "", str(err)
    if done.returncode:
        return "", (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
    return done.stdout.strip(), ""
