"""Whether all is well, in plain words: the memory, each host's wiring, what surfaced last, what failed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from reverie import clock, environment
from reverie.config import Settings
from reverie.errors import BadInput, ReverieError
from reverie.surfaces.detached import lives
from reverie.surfaces.hooks.hosts import HOSTS
from reverie.surfaces.hooks.places import Places
from reverie.surfaces.wiring import entries
from reverie.surfaces.wiring.ledger import text_of
from reverie.surfaces.wiring.targets import NAMES, Place, files
from reverie.window import age

PROBE = 5.0              # seconds that a hook may take when it is tried
LEAST_FREE = 20_000_000  # bytes of its disk; the store's journal may take as many before it is folded in
MANY = 200               # events that wait; more say that no worker comes
LATELY = 7 * 86_400.0    # seconds for which trouble is told
NAMED = 3                # sessions that are switched off which are named
TURNS = 500              # newest turns among which the last one with a memory is looked for


class Finding(NamedTuple):
    """One thing that was looked at."""

    well: bool
    text: str
    mend: str = ""                     # what to do about it, or what is worth knowing


def examined(settings: Settings, space: str, project: Path) -> list[Finding]:
    """Everything that was looked at, in the order in which it is told."""
    return [*of_memory(settings, space), *of_hosts(settings, project), *of_work(settings)]


def of_memory(settings: Settings, space: str) -> Iterator[Finding]:
    """The store, whether memory is on, when it last surfaced, and what could not be learned from."""
    import reverie

    if settings.is_off(space):
        yield Finding(False, f"Memory is off in {space}.", "Switch it on: reverie on, or reverie on --everywhere")
    here = environment.session()
    if here and here in settings.off_sessions:
        yield Finding(False, f"Memory is off in this session ({here}).", "Switch it on: reverie on --session")
    elif settings.off_sessions:
        named = ", ".join(settings.off_sessions[-NAMED:])
        yield Finding(True, f"Memory is off in {len(settings.off_sessions)} sessions, the last ones: {named}.",
                      "Switch one on: reverie on --session ID")  # fmt: skip
    if not os.access(settings.home if settings.home.exists() else settings.home.parent, os.W_OK):
        yield Finding(False, f"{settings.home} cannot be written.", "Give yourself the right to, or set REVERIE_HOME")
        return
    yield from of_disk(settings.home)
    try:
        with reverie.open(settings=settings._replace(embedder="none", llm="")) as mind:
            stats, now = mind.stats(), clock.now()
            yield Finding(True, f"The memory in {settings.home} holds {stats.memories:,} memories.")
            turns = mind.store.events(verbs=("turn",), newest=True, limit=TURNS)
            given = next((turn for turn in turns if turn.payload.get("given")), None)
            if given:
                yield Finding(True, f"Memory last surfaced {age(now - given.at)}, in {given.space}.")
            elif turns:
                yield Finding(True, f"Nothing has surfaced in the last {len(turns)} turns.", "Most turns need nothing.")
            else:
                yield Finding(True, "No turn of an agent has reached Reverie yet.")
            for one in mind.import_beside(space=space, dry_run=True):
                if one.new:
                    yield Finding(True, f"{one.done.system} keeps memories in {one.path} that are not here.",
                                  f"Take them along: reverie import{f' {one.path}' * one.left}")  # fmt: skip
            failed = [one for one in mind.store.events(verbs=("failed",), newest=True, limit=100)
                      if now - one.at < LATELY]  # fmt: skip
            if failed:
                yield Finding(False, f"{len(failed)} events of the last week could not be learned from, the last one: "
                              f"{failed[0].payload.get('error', '')}", "They are kept: reverie log")  # fmt: skip
            trouble = json.loads(mind.store.meta("trouble") or "null")
            if trouble:
                yield Finding(False, f"The last attempt to settle, {age(now - trouble['at'])}, met: {trouble['text']}",
                              "Try: reverie settle")  # fmt: skip
    except ReverieError as err:
        yield Finding(False, f"The memory cannot be opened: {err}", "Try: reverie verify --repair")


def of_disk(home: Path) -> Iterator[Finding]:
    """Whether there is room to write."""
    free = shutil.disk_usage(home if home.exists() else home.parent).free
    if free < LEAST_FREE:
        yield Finding(False, f"The disk of {home} is full: {free // 1_000_000} MB are left.",
                      "Make room. Until then what is known is said, and what happens is not written down.")  # fmt: skip


def of_hosts(settings: Settings, project: Path) -> Iterator[Finding]:
    """What is wired, and whether it works."""
    wired = [(host, path, server, ours) for host in NAMES for root in (None, project)
             for path, server in (files(host, root),) if (ours := commands_in(path))]  # fmt: skip
    plugin = plugged(project)
    if not wired and not plugin:
        yield Finding(False, "No agent is wired.", f"Wire one: reverie install {'|'.join(NAMES)}")
    if plugin:
        yield Finding(True, f"Claude Code has our plugin ({plugin}).")
    for host, path, server, ours in wired:
        if missing := [event for event in HOSTS[host].events if event not in ours]:
            yield Finding(False, f"{NAMES[host]} ({path}): no hook for {', '.join(missing)}.",
                          f"Wire it anew: reverie install {host}")  # fmt: skip
        seconds, trouble = tried(next(iter(ours.values())))
        if trouble:
            yield Finding(False, f"{NAMES[host]} ({path}): its hook does not work: {trouble}",
                          f"Wire it anew: reverie install {host}")  # fmt: skip
        else:
            yield Finding(True, f"{NAMES[host]} is wired ({path}); a hook takes {1_000 * seconds:.0f} ms.")
        if entries.SERVER not in (text_of(server) or ""):
            yield Finding(True, f"{NAMES[host]} has no MCP server of ours ({server}).",
                          f"If you want it: reverie install {host}")  # fmt: skip
    for host in NAMES:
        handlers = [ours for one, _, _, ours in wired if one == host]
        # Claude Code runs equal handlers of several files once; a plugin's are not equal.
        same = host == "claude-code" and len({tuple(sorted(ours.items())) for ours in handlers}) == 1
        if (len(handlers) > 1 and not same) or (handlers and plugin and host == "claude-code"):
            yield Finding(False, f"{NAMES[host]} is wired more than once: every hook runs twice.",
                          f"Take one out: reverie uninstall {host}, or with --project")  # fmt: skip
    home = Place(settings.home)
    if home.moved and any(str(settings.home) not in one for *_, ours in wired for one in ours.values()):
        yield Finding(False, f"A hook opens another memory than {settings.home}.", "Wire it anew from here.")


def plugged(project: Path) -> Path | None:
    """The settings of Claude Code in which our plugin is switched on; None where it is not."""
    user = files("claude-code", None)[0]
    shared = project / ".claude" / "settings.json"
    for path in (user, shared, files("claude-code", project)[0]):
        with suppress(ValueError, BadInput, AttributeError):
            enabled = json.loads(text_of(path) or "{}").get("enabledPlugins") or {}
            if any(name.startswith("reverie@") and on for name, on in enabled.items()):
                return path
    return None


def commands_in(path: Path) -> dict[str, str]:
    """Our commands in a file with hooks, by event."""
    try:
        data = json.loads(text_of(path) or "{}")
    except (ValueError, BadInput):
        return {}
    hooks = data.get("hooks") if isinstance(data, dict) else None
    found: dict[str, str] = {}
    for event, listed in (hooks.items() if isinstance(hooks, dict) else ()):
        for one in listed if isinstance(listed, list) else ():
            for handler in filter(entries.is_ours, (one, *entries.handlers(one))):
                found[event] = handler["command"]
    return found


def tried(command: str) -> tuple[float, str]:
    """(seconds, what went wrong) of a hook that is told of nothing, and to fail if it must (`run --check`)."""
    begun = clock.ticks()
    try:
        done = subprocess.run(f"{command.partition(' 2>')[0]} --check", shell=True, input="{}", text=True,
                              capture_output=True, timeout=PROBE, check=False)  # fmt: skip
    except subprocess.TimeoutExpired:
        return PROBE, f"no answer within {PROBE:.0f} s"
    seconds = clock.ticks() - begun
    if done.returncode or done.stdout.strip() != "{}":
        return seconds, (done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"])[-1]
    return seconds, ""


def of_work(settings: Settings) -> Iterator[Finding]:
    """What waits, who works, what hooks complained of."""
    room = Places(str(settings.home))
    waiting, worker = len(room.waiting()), lives(room.lock)
    if settings.idle <= 0:
        yield Finding(not waiting, f"No worker is ever started (idle = 0); {waiting:,} events wait.",
                      "Take them in: reverie worker" if waiting else "")  # fmt: skip
    elif waiting > MANY and not worker:
        yield Finding(False, f"{waiting:,} events wait, and nobody takes them in.", "Take them in: reverie worker")
    else:
        who = "a worker is at it" if worker else "the next hook starts one"
        yield Finding(True, f"{waiting:,} events wait; {who}.")
    lately = [line for line in (text_of(Path(room.log)) or "").splitlines() if told_at(line) > clock.now() - LATELY]
    if lately:
        yield Finding(False, f"Hooks met trouble {len(lately)} times in the last week, the last time "
                      f"{age(clock.now() - told_at(lately[-1]))}: {lately[-1].partition(' ')[2]}",
                      f"All of it: {room.log}. Remove the file once it is mended.")  # fmt: skip


def told_at(line: str) -> float:
    """When a line of the log was written."""
    head = line.partition(" ")[0]
    return float(head) if head.isdigit() else 0.0
