"""`reverie doctor`: whether all is well, in plain words: the memory, each host's wiring, what
surfaced last, what failed.

Nothing that a settings file says is ever run (`settings_findings`); what is tried is our own
program (`trial_run`).
Whatever cannot be read is told by its name, and all the rest is looked at all the same.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from reverie.context_window import format_time_ago
from reverie.core import clock, environment
from reverie.core.config import Settings
from reverie.core.errors import ReverieError, StoreDamaged
from reverie.core.model import Filter, visible_spaces
from reverie.erasure import unfinished
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.hosts import HOST_MODULES, load_host, load_hosts
from reverie.interfaces.install import hook_line, trial_run
from reverie.interfaces.install.settings_findings import (
    DoctorFinding,
    HostFiles,
    HostWiring,
    find_disabled_hooks,
    find_double_wirings,
    find_plugin,
    find_wirings,
    judge_plugin,
    judge_server,
    judge_wiring,
    report_fault,
    report_state,
)
from reverie.interfaces.install.settings_targets import WiringPlace, build_mcp_server
from reverie.interfaces.worker import is_model_missing
from reverie.interfaces.worker_start import is_worker_alive
from reverie.porting.shared_files import find_stuck_shares
from reverie.runtime.mind import Mind

# Free on the disk of the home; the store's journal may take as many before it is folded in.
MIN_FREE_BYTES = 20_000_000
# A worker takes 200 events in at once, so more than a batch that wait say that none comes.
MANY_WAITING = 200
# Older trouble is likely mended, and would hide what is new.
RECENT_SECONDS = 7 * 86_400.0
SUGGEST_PROOF_SECONDS = 30 * 86_400.0  # of use, before measuring its worth is suggested
MAX_NAMED_SESSIONS = 3  # sessions that are switched off which are named
MAX_TURNS = 500  # newest turns among which the last one with a memory is looked for


def examine_installation(
    settings: Settings,
    space: str,
    project: Path,
) -> list[DoctorFinding]:
    """The findings of all checks, in the order in which they are printed."""
    return [
        *examine_memory(settings, space),
        *examine_hosts(settings, project),
        *examine_work(settings),
    ]


def examine_memory(settings: Settings, space: str) -> Iterator[DoctorFinding]:
    """The store, whether memory is on, when it last surfaced, and what could not be
    learned from.
    """
    import reverie

    yield from examine_switches(settings, space)
    home = settings.home
    if home.exists() and not home.is_dir():
        yield report_fault(
            f"{home} is a file, and the memory needs a folder there.",
            "Move it, or set REVERIE_HOME",
        )
        return
    nearest = next(folder for folder in (home, *home.parents) if folder.exists())
    if not os.access(nearest, os.W_OK):
        yield report_fault(
            f"{home} cannot be written.", "Give yourself the right to, or set REVERIE_HOME"
        )
        return
    yield from examine_disk(home)
    # Without models: neither is needed to look, and loading one takes a second.
    try:
        with reverie.open(settings=settings._replace(embedder="none", llm="")) as mind:
            yield from examine_store(mind, home, space)
    except StoreDamaged as err:
        yield report_fault(
            f"The memory cannot be opened: {err}", "Try: reverie data verify --repair"
        )
    except (ReverieError, OSError) as err:
        yield report_fault(f"The memory cannot be opened: {err}")
    if is_model_missing(settings):
        yield DoctorFinding(
            settings.offline,
            "The embedding model is not on this machine: only words find what comes up.",
            "Fetch it, once (90 MB): reverie data settle",
        )


def examine_switches(settings: Settings, space: str) -> Iterator[DoctorFinding]:
    """Where memory is off, and by what it can be switched on again."""
    if not environment.is_switched_on():
        yield report_fault(
            "Memory is off by REVERIE_OFF in the environment.",
            "Unset it; `reverie on` cannot help.",
        )
    elif not settings.enabled:
        yield report_fault("Memory is off everywhere.", "Switch it on: reverie on --everywhere")
    elif above := next(
        (off for off in settings.off if f"{space}/".startswith(f"{off}/")),
        "",
    ):
        # With the slashes, or "me/shop" would switch "me/shopping" off as well.
        yield report_fault(
            f"Memory is off in {above}.", f"Switch it on: reverie on --space {above}"
        )
    here = environment.host_session()
    if here and here in settings.off_sessions:
        yield report_fault(
            f"Memory is off in this session ({here}).", "Switch it on: reverie on --session"
        )
    elif settings.off_sessions:
        named = ", ".join(settings.off_sessions[-MAX_NAMED_SESSIONS:])
        yield report_state(
            f"Memory is off in {len(settings.off_sessions)} sessions, the last ones: {named}.",
            "Switch one on: reverie on --session ID",
        )


def examine_store(mind: Mind, home: Path, space: str) -> Iterator[DoctorFinding]:
    """What the store itself tells."""
    stats, now = mind.data.stats(), clock.now()
    many = "1 memory" if stats.memories == 1 else f"{stats.memories:,} memories"
    yield report_state(f"The memory in {home} holds {many}.")
    turns = mind.store.events(verbs=("turn",), newest=True, limit=MAX_TURNS)
    given = next((turn for turn in turns if turn.payload.get("given")), None)
    if given:
        yield report_state(
            f"Memory last surfaced {format_time_ago(now - given.at)}, in {given.space}."
        )
    elif turns:
        yield report_state(
            f"Nothing has surfaced in the last {len(turns)} turns.",
            "Most turns need nothing.",
        )
    else:
        yield report_state("No turn of an agent has reached Reverie yet.")
    yield from suggest_proof(mind, now)
    yield from examine_prompt_search(mind, home, space)
    # Only looked for: whether to take it along is the user's choice.
    for one in mind.data.import_beside(space=space, dry_run=True):
        if one.new:
            yield report_state(
                f"{one.done.system} keeps memories in {one.path} that are not here.",
                f"Take them along: reverie data import{f' {one.path}' * one.left}",
            )
    failed = [
        one
        for one in mind.store.events(verbs=("failed",), newest=True, limit=100)
        if now - one.at < RECENT_SECONDS
    ]
    if failed:
        yield report_fault(
            f"{len(failed)} events of the last week could not be learned from, the last one: "
            f"{failed[0].payload.get('error', '')}",
            "They are kept: reverie activity log",
        )
    trouble = json.loads(mind.store.meta("trouble") or "null")
    if trouble:
        yield report_fault(
            f"The last attempt to settle, {format_time_ago(now - trouble['at'])}, met: "
            f"{trouble['text']}",
            "Try: reverie data settle",
        )
    if unfinished.has_unfinished_erasure(mind.work):
        yield report_fault(
            "A purge or scrub was stopped: files may still hold what it erased.",
            "Finish it: reverie worker",
        )
    if mind.store.code.obsolete_files():
        yield report_fault(
            "The index of code is of an earlier version, and nothing reads it.",
            "Index each repository again: reverie code index",
        )
    for _, why in find_stuck_shares(mind.store):
        yield report_fault(f"A shared file is not in step: {why}")


def suggest_proof(mind: Mind, now: float) -> Iterator[DoctorFinding]:
    """Say how it can be measured what memory is worth, once it has been used for a while."""
    first = mind.store.events(verbs=("turn",), limit=1)
    if mind.work.settings.holdout or not first or now - first[0].at < SUGGEST_PROOF_SECONDS:
        return
    yield report_state(
        "Whether memory helps is not measured.",
        "Let it be silent in a tenth of all conversations, and compare: "
        "reverie proof --holdout 0.1",
    )


def examine_prompt_search(mind: Mind, home: Path, space: str) -> Iterator[DoctorFinding]:
    """How long a prompt waits for this memory: what its hook looks up is looked up, and nothing is
    written.

    The prompt says what the newest memory says, so that there is something to find.
    """
    from reverie.interfaces.hooks.prompt_lookup import PromptLookup, look_up_prompt

    newest = mind.store.browse(Filter(spaces=visible_spaces(space), limit=1))
    if not newest:
        return
    # Not the first prompt of its session: that one claims reminders.
    asked = PromptLookup("doctor", space, newest[0].text, clock.now(), is_first=False)
    begun = clock.ticks()
    look_up_prompt(asked, str(home))
    milliseconds = 1_000 * (clock.ticks() - begun)
    yield report_state(f"A prompt's search opens and reads this memory in {milliseconds:.0f} ms.")


def examine_disk(home: Path) -> Iterator[DoctorFinding]:
    """Say if there is hardly room to write."""
    free = shutil.disk_usage(home if home.exists() else home.parent).free
    if free < MIN_FREE_BYTES:
        yield report_fault(
            f"The disk of {home} is full: {free // 1_000_000} MB are left.",
            "Make room. Until then what is known is said, and what happens is not written down.",
        )


def examine_hosts(settings: Settings, project: Path) -> Iterator[DoctorFinding]:
    """What is wired, and whether it works."""
    found = HostFiles()
    every = find_wirings(found, project)
    named = find_plugin(found, project)
    wired = {one.host for one in every}
    if named:
        wired |= {name for name, host in load_hosts().items() if host.has_plugin}
    hosts = [host for host in HOST_MODULES if host in wired]
    # Asked for before files that cannot be read are told: it reads some more of them.
    off = [*chain.from_iterable(find_disabled_hooks(found, host, project) for host in hosts)]
    yield from found.unreadable()
    if not any(one.hooks or one.server for one in every) and not named:
        yield report_fault(
            "No agent is wired.", f"Wire one: reverie install {'|'.join(HOST_MODULES)}"
        )
    yield from off
    if named:
        yield from judge_plugin(named)
    # Each trial starts a process or two, and a host may be wired for the user and for the project.
    hook, server = cache(trial_run.try_hook), cache(trial_run.try_server)
    for one in every:
        yield from judge_wiring(one, settings.home)
        programs = {each.program for each in chain.from_iterable(one.hooks.values())}
        # Only our own program is ever started, never what a file names.
        if any(map(hook_line.is_own_program, programs)):
            seconds, trouble = hook(one.host)
            if trouble:
                yield report_fault(
                    f"{one.name}: its hook does not work: {trouble}",
                    f"Wire it anew: {one.install_command}",
                )
            else:
                yield report_state(
                    f"{load_host(one.host).title} is wired ({one.path}); "
                    f"a hook after a tool takes {1_000 * seconds:.0f} ms, tried in an empty home."
                )
        yield from judge_server(one)
        if is_own_server(one) and (trouble := server()):
            yield report_fault(
                f"{load_host(one.host).title} ({one.servers_path}): "
                f"its MCP server does not work: {trouble}"
            )
    yield from find_double_wirings(every, named)
    yield from report_last_hooks(HookFiles(str(settings.home)), hosts)


def is_own_server(one: HostWiring) -> bool:
    """True if a server is the one that this installation would write."""
    own = build_mcp_server(WiringPlace(Path()))
    names = ("command", "args")
    return one.server is not None and all(one.server.get(name) == own[name] for name in names)


def report_last_hooks(files: HookFiles, hosts: list[str]) -> Iterator[DoctorFinding]:
    """When each host last ran a hook, and when one brought something."""
    for host in hosts:
        came, gave = files.last(host), files.last(f"{host}_gave")
        if came is None:
            yield report_state(
                f"No hook of {load_host(host).title} has come yet.",
                "Start a new session there.",
            )
        else:
            brought = (
                "none has brought anything yet"
                if gave is None
                else f"one last brought something {format_time_ago(clock.now() - gave)}"
            )
            yield report_state(
                f"The last hook of {load_host(host).title} came "
                f"{format_time_ago(clock.now() - came)}; {brought}."
            )


def examine_work(settings: Settings) -> Iterator[DoctorFinding]:
    """Check waiting events, the worker, and errors of hooks."""
    files = HookFiles(str(settings.home))
    folder = settings.home / "hooks"
    if folder.exists() and not folder.is_dir():
        yield report_fault(f"{folder} is a file: hooks can write nothing down.", "Move it away.")
        return
    waiting, worker = len(files.list_events()), is_worker_alive(files.lock)
    if settings.idle <= 0:
        yield DoctorFinding(
            not waiting,
            f"No worker is ever started (idle = 0); {waiting:,} events wait.",
            "Take them in: reverie worker" if waiting else "",
        )
    elif waiting > MANY_WAITING and not worker:
        yield report_fault(
            f"{waiting:,} events wait, and nobody takes them in.",
            "Take them in: reverie worker",
        )
    else:
        who = "a worker is at it" if worker else "the next hook starts a worker"
        yield report_state(
            f"{'No event waits' if not waiting else f'{waiting:,} events wait'}; {who}."
        )
    lately = [
        line
        for line in read_log_lines(Path(files.log))
        if logged_at(line) > clock.now() - RECENT_SECONDS
    ]
    if lately:
        yield report_fault(
            f"Hooks met trouble {len(lately)} times in the last week, the last time "
            f"{format_time_ago(clock.now() - logged_at(lately[-1]))}: "
            f"{lately[-1].partition(' ')[2]}",
            f"All of it: {files.log}. Remove the file once it is mended.",
        )


def logged_at(line: str) -> float:
    """When a line of the log was written."""
    # A line may be cut off, or written by a program of an earlier version.
    head = line.partition(" ")[0]
    return float(head) if head.isdigit() else 0.0


def read_log_lines(path: Path) -> list[str]:
    """The lines of a file; none where there is none that can be read."""
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
