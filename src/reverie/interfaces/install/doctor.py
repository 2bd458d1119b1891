"""`reverie doctor`: whether all is well, in plain words: the memory, each host's wiring, what
surfaced last, what failed.

Nothing that a settings file says is ever run (`settings_findings`); what is tried is our own
program (`trial_run`).
Whatever cannot be read is told by its name, and all the rest is looked at all the same.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path

from reverie.consolidation.pass_iteration import MAX_TRIES
from reverie.context_window import format_time_ago
from reverie.core import clock, config, environment
from reverie.core.config import Settings
from reverie.core.errors import HomeLockedError, ReverieError, StoreDamaged, StoreError
from reverie.core.installation import advise_install
from reverie.core.model import Filter, visible_spaces
from reverie.core.private_files import open_lines
from reverie.erasure import unfinished
from reverie.interfaces.cli.terminal_output import count_noun
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.hosts import HOST_MODULES, load_host, load_hosts
from reverie.interfaces.install import hook_line, trial_run
from reverie.interfaces.install.encryption_findings import examine_encryption
from reverie.interfaces.install.installations import find_other_installations
from reverie.interfaces.install.settings_findings import (
    DoctorFinding,
    HostFiles,
    HostWiring,
    find_disabled_hooks,
    find_double_wirings,
    find_plugin,
    find_wirings,
    judge_commands,
    judge_plugin,
    judge_server,
    judge_wiring,
    report_fault,
    report_state,
)
from reverie.interfaces.install.settings_targets import WiringPlace, build_mcp_server
from reverie.interfaces.install.silent_hooks import judge_silence
from reverie.interfaces.worker import is_model_missing
from reverie.interfaces.worker_start import is_worker_alive
from reverie.llm.language_model import SPENT
from reverie.llm.spending_limits import META_NAME, load_usage_day
from reverie.mirror.home_place import read_original
from reverie.pipeline.event_reader import RETRY_CURSOR
from reverie.pipeline.model_change import find_model_change
from reverie.porting.shared_files import find_stuck_shares
from reverie.runtime.mind import Mind
from reverie.runtime.span_spool import SpanSpool, find_target, is_sender_installed
from reverie.storage.private_home import find_open_paths

# Free on the disk of the home; the store's journal may take as many before it is folded in.
MIN_FREE_BYTES = 20_000_000
# A worker takes 200 events in at once, so more than a batch that wait say that none comes.
MANY_WAITING = 200
# A worker looks for events ten times a second: one that lets them wait so long hangs.
STUCK_SECONDS = 300.0
# Of a day's budget: beyond it, one question that was not asked says that none is asked any more.
SPENT_SHARE = 0.9
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
    yield from examine_readers(home)
    yield from examine_encryption(home)
    # Without models: neither is needed to look, and loading one takes a second.
    try:
        with reverie.open_as_found(settings=settings._replace(embedder="none", llm="")) as mind:
            yield from examine_store(mind, home, space)
            yield from examine_spans(settings)
            yield from examine_model_change(mind, settings)
    except StoreDamaged as err:
        yield report_fault(
            f"The memory cannot be opened: {err}", "Try: reverie data verify --repair"
        )
    except HomeLockedError:
        pass  # told with the key
    except (ReverieError, OSError) as err:
        yield report_fault(f"The memory cannot be opened: {err}")
    if is_model_missing(settings):
        missing = "The embedding model is not on this machine: only words find what comes up."
        if settings.offline:
            yield report_state(missing, "offline = true: it is not fetched.")
        else:
            is_own = settings.embedder.startswith("onnx:")
            once = "Fetch it, or see what it lacks" if is_own else "Fetch it, once (90 MB)"
            yield report_fault(missing, f"{once}: reverie data settle")


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


def examine_spans(settings: Settings) -> Iterator[DoctorFinding]:
    """Where OpenTelemetry's spans go, and why they do not arrive."""
    target = find_target(settings)
    if not target:
        return
    if not is_sender_installed():
        if settings.otel:
            yield report_fault(
                "otel is set, and no spans can be sent.", f"Install: {advise_install('otel')}"
            )
        return
    place = config.hide_password(target)
    if trouble := SpanSpool(settings.home).trouble:
        yield report_fault(
            f"{trouble}.",
            f"Look whether a collector listens at {place}, or set otel in config.toml",
        )
    else:
        yield report_state(f"The worker sends spans to {place}.")


def examine_server(mind: Mind, now: float) -> Iterator[DoctorFinding]:
    """The team's server, if this memory is in step with one: when it was seen, what waits."""
    found = mind.team.status()
    if found is None:
        return
    seen = format_time_ago(now - found.seen_at) if found.seen_at else "never yet"
    said = f"In step with {found.url} as {found.user}: last seen {seen}, {found.waiting:,} to send."
    if found.is_away:
        yield report_fault(
            f"{said} It is away: {found.trouble}. Answers come from what was cached then.",
            "What waits is sent later. Try now: reverie sync",
        )
    else:
        yield report_state(said)
    if found.refused:
        yield report_fault(
            f"{len(found.refused):,} memories were not taken by the server.",
            "Why: reverie sync --status",
        )


def examine_devices(mind: Mind) -> Iterator[DoctorFinding]:
    """The user's other machines, if this memory is in step with some: what is wrong with a place
    or a log, and what waits for a decision.
    """
    found = mind.devices.status()
    if found is None:
        return
    others = ", ".join(one.name or one.device for one in found.others) or "none yet"
    places = ", ".join(place.where for place in found.places) or "nothing"
    yield report_state(f"In step through {places}; other machines: {others}.")
    for place in found.places:
        if place.fails:
            yield report_fault(
                f"{place.where} cannot be reached: {place.trouble}.",
                "It is tried again by itself. Try now: reverie sync",
            )
    if found.pairing is not None and found.pairing.trouble:
        yield report_fault(found.pairing.trouble, "How things stand: reverie sync status")
    for one in found.others:
        if one.open_files:
            yield report_fault(
                f"{one.open_files:,} files of the log of {one.name or one.device} are not sealed: "
                "whoever has the place can read them.",
                "Pair that machine (on it: reverie sync add PLACE); reverie sync status says more",
            )
        for trouble in one.troubles:
            yield report_fault(
                f"Of the log of {one.name or one.device}: {trouble}.",
                "Look whether that machine and whatever carries the folder are well: "
                "reverie sync status",
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
    yield from examine_server(mind, now)
    yield from examine_devices(mind)
    yield from examine_failed_events(mind, now)
    trouble = json.loads(mind.store.meta("trouble") or "null")
    if trouble:
        yield report_fault(
            f"The last attempt to settle, {format_time_ago(now - trouble['at'])}, met: "
            f"{trouble['text']}",
            "Try: reverie data settle",
        )
    yield from examine_budget(mind)
    if original := read_original(mind.store):
        yield report_fault(
            f"This home is a copy of {original}: neither learns what the other does, and the "
            "pages there are not touched from here.",
            "If it is to go on by itself, with pages of its own: reverie data mirror --own",
        )
    for stopped in unfinished.list_unfinished(mind.work):
        yield report_fault(stopped, "Finish it: reverie data verify --repair")
    if mind.store.code.obsolete_files():
        yield report_fault(
            "The index of code is of an earlier version, and nothing reads it.",
            "Index each repository again: reverie code index",
        )
    for _, why in find_stuck_shares(mind.store):
        yield report_fault(f"A shared file is not in step: {why}")


def examine_failed_events(mind: Mind, now: float) -> Iterator[DoctorFinding]:
    """Events that a reader failed on: those that wait to be tried again, and those given up."""
    tried = mind.store.cursor(RETRY_CURSOR)
    failed = mind.store.events(verbs=("failed",), newest=True, limit=100)
    waiting = [one for one in failed if one.seq > tried]
    if waiting:
        yield report_fault(
            f"{count_noun(len(waiting), 'event')} could not be learned from, the last one: "
            f"{waiting[0].payload.get('error', '')}",
            "Try them again: reverie sleep --pass retro",
        )
    given_up = [
        one
        for one in failed
        if one.seq <= tried
        and int(one.payload.get("tries", 0)) >= MAX_TRIES
        and now - one.at < RECENT_SECONDS
    ]
    if given_up:
        yield report_state(
            f"{count_noun(len(given_up), 'event')} of the last week could not be learned from and "
            f"tried often enough, the last one: {given_up[0].payload.get('error', '')}",
            "They are kept: reverie activity log --verb failed",
        )


def examine_model_change(mind: Mind, settings: Settings) -> Iterator[DoctorFinding]:
    """How many memories wait for the vectors of a new embedding model."""
    import reverie

    embedder = None if settings.embedder == "none" else reverie.open_lazily(settings)
    if change := find_model_change(mind.store, embedder):
        yield report_state(
            f"The embedding model is another one now: {change.said}.",
            "They get their vectors in the background; at once: reverie data settle",
        )


def examine_budget(mind: Mind) -> Iterator[DoctorFinding]:
    """Say if the language model is not asked any more today, because its budget is spent."""
    settings = mind.settings
    day = load_usage_day(mind.store.meta(META_NAME), "", clock.now())
    spent = sum(outcomes.get(SPENT, 0) for outcomes in day.outcomes.values())
    tokens, dollars = settings.llm_tokens_per_day, settings.llm_dollars_per_day
    taken = day.tokens_in + day.tokens_out
    used = (
        ("tokens", taken, tokens, f"{taken:,} of {tokens:,}"),
        ("dollars", day.dollars, dollars, f"{day.dollars:.2f} of {dollars:.2f}"),
    )
    for what, much, limit, told in used:
        if spent and limit and much >= SPENT_SHARE * limit:
            yield report_fault(
                f"The language model's budget of today (UTC) is spent: {told} {what}; "
                f"{count_noun(spent, 'question')} not asked.",
                f"Wait until tomorrow, or allow more: reverie data llm --{what}-per-day "
                f"{2 * limit}",
            )


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


def examine_readers(home: Path) -> Iterator[DoctorFinding]:
    """Say if others on this machine can read what is remembered."""
    open_paths = [*find_open_paths(home)]
    if open_paths:
        mode, inside = home.stat().st_mode & 0o777, len(open_paths) - 1
        opened = f" and into {inside:,} files and folders in it" if inside else ""
        yield report_fault(
            f"Others on this machine can look into {home} (mode {mode:o}){opened}.",
            f"Close it: chmod -R go-rwx {shlex.quote(str(home))}",
        )


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
    broken = set()
    for one in every:
        judged = [*judge_wiring(one, settings.home)]
        broken |= {one.host for finding in judged if not finding.well}
        yield from judged
        programs = {each.program for each in chain.from_iterable(one.hooks.values())}
        # Only our own program is ever started, never what a file names.
        if any(map(hook_line.is_own_program, programs)):
            seconds, trouble = hook(one.host)
            if trouble:
                broken.add(one.host)
                yield report_fault(
                    f"{one.name}: its hook does not work: {trouble}",
                    f"Wire it anew: {one.install_command}",
                )
            else:
                yield report_state(
                    f"{load_host(one.host).title} is wired ({one.path}); "
                    f"a hook after a tool takes {1_000 * seconds:.0f} ms, tried in an empty home."
                )
        yield from judge_commands(one)
        yield from judge_server(one)
        if is_own_server(one) and (trouble := server()):
            yield report_fault(
                f"{load_host(one.host).title} ({one.servers_path}): "
                f"its MCP server does not work: {trouble}"
            )
    yield from find_double_wirings(every, named)
    yield from find_other_installations(every)
    for host in hosts:
        # What keeps its hooks from working, or from running, is said already.
        known = off or host in broken
        wirings = [one for one in every if one.host == host and one.hooks]
        silent = None if known else judge_silence(host, wirings, settings.home)
        yield silent or report_last_hook(HookFiles(str(settings.home)), host)


def is_own_server(one: HostWiring) -> bool:
    """True if a server is the one that this installation would write."""
    own = build_mcp_server(WiringPlace(Path()))
    names = ("command", "args")
    return one.server is not None and all(one.server.get(name) == own[name] for name in names)


def report_last_hook(files: HookFiles, host: str) -> DoctorFinding:
    """When a host last ran a hook, and when one brought something."""
    title, came, gave = load_host(host).title, files.last(host), files.last(f"{host}_gave")
    if came is None:
        return report_state(f"No hook of {title} has come yet.", "Start a new session there.")
    brought = (
        "none has brought anything yet"
        if gave is None
        else f"one last brought something {format_time_ago(clock.now() - gave)}"
    )
    return report_state(
        f"The last hook of {title} came {format_time_ago(clock.now() - came)}; {brought}."
    )


def examine_work(settings: Settings) -> Iterator[DoctorFinding]:
    """Check waiting events, the worker, and errors of hooks."""
    files = HookFiles(str(settings.home))
    folder = settings.home / "hooks"
    if folder.exists() and not folder.is_dir():
        yield report_fault(f"{folder} is a file: hooks can write nothing down.", "Move it away.")
        return
    events = files.list_events()
    waiting, worker = len(events), is_worker_alive(files.lock)
    stuck = clock.now() - written_at(Path(events[0])) if worker and events else 0.0
    if stuck > STUCK_SECONDS:
        yield report_fault(
            f"The worker is there and takes nothing in: {count_noun(waiting, 'event')} waiting, "
            f"the first for {stuck / 60:,.0f} minutes.",
            "End it and start another: reverie data worker --restart",
        )
    elif settings.idle <= 0:
        yield DoctorFinding(
            not waiting,
            f"No worker is ever started (idle = 0); {count_noun(waiting, 'event')} waiting.",
            "Take them in: reverie data worker" if waiting else "",
        )
    elif waiting > MANY_WAITING and not worker:
        yield report_fault(
            f"{waiting:,} events wait, and nobody takes them in.",
            "Take them in: reverie data worker",
        )
    else:
        who = "a worker is at it" if worker else "the next hook starts a worker"
        yield report_state(
            f"{count_noun(waiting, 'event') if waiting else 'No event'} waiting; {who}."
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


def written_at(path: Path) -> float:
    """When a file was written last; now for one that is gone meanwhile."""
    try:
        return path.stat().st_mtime
    except OSError:
        return clock.now()


def logged_at(line: str) -> float:
    """When a line of the log was written."""
    # A line may be cut off, or written by a program of an earlier version.
    head = line.partition(" ")[0]
    return float(head) if head.isdigit() else 0.0


def read_log_lines(path: Path) -> list[str]:
    """The lines of the log of hooks; none where there is none that can be read, or the home is
    locked.
    """
    try:
        lines = open_lines(path.parent.parent, path.read_bytes())
    except (OSError, StoreError):
        return []
    return lines.decode("utf-8", "replace").splitlines()
