"""One hook, from stdin to stdout: read what happened, say what is to be said, write down what was
said and done.

`answer_event` is the whole of it. What it needs of the store was prepared by the worker, so it
opens none; where that cannot be, because nobody knew what a prompt would say, `prompt_lookup` opens
it. Time is bounded by a second thread: when MAX_SECONDS are over the host has its `{}`, whatever
the first one is waiting for.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.core import clock, environment
from reverie.interfaces.hooks import hook_event as kinds
from reverie.interfaces.hooks.event_truncation import (
    MAX_END_CHARS,
    fit_answer,
    truncate_arguments,
    truncate_text,
)
from reverie.interfaces.hooks.hook_event import (
    NO_BLOCK,
    HookBlock,
    HookEvent,
    SessionNote,
    SpooledEvent,
    ToolStop,
    ToolWarning,
    WarningTable,
    redaction_rules,
)
from reverie.interfaces.hooks.spool import MAX_WAITING_EVENTS, HookFiles, write_json_object
from reverie.interfaces.hosts import load_host
from reverie.interfaces.hosts.host_agent import HostAgent, merge_answers, read_host_event

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

    from reverie.privacy.known_secrets import KnownSecrets

# Hosts give a hook some seconds (`settings_entries.HOOK_TIMEOUT`); a person waits for each.
MAX_SECONDS = 2.0
# At the end of a session Claude Code waits for 1.5 s.
MAX_SECONDS_AT_END = 1.2
# Bytes of stdin that are looked at; of a longer prompt the beginning is taken in.
MAX_INPUT_BYTES = 8_000_000
# Not among the site packages; `copy` asks for Jython's `org`, which stands nowhere.
KNOWN_NAMES = sys.stdlib_module_names | {"org"}
# What stands in an answer that may tell of an error: only then it is worth opening the store.
ERROR_SIGNS = (
    "rror",
    "xception",
    "ailed",
    "not found",
    "No such",
    "cannot",
    "denied",
    "refused",
    "fatal",
    "panic",
    "***",
)


class HookCall(NamedTuple):
    """An event, and what its hook has at hand to answer it."""

    event: HookEvent
    note: SessionNote
    files: HookFiles
    now: float
    said: HookBlock = NO_BLOCK  # goes with the answer already
    reads: bool = True  # the host reads what is answered to this event
    late: bool = False  # it reads nothing before a tool, so that what belongs there comes after it
    table: WarningTable | None = None  # before a tool: what to say and to stop
    stop: ToolStop | None = None  # what keeps the tool from running
    withheld: Sequence[list[str]] = ()  # to be filled with what a session is not told


Lookup = Callable[[], HookBlock]


def script() -> None:
    """The command `reverie-hook`, which plugins name: as `run.py`, found by its name instead of its
    place.
    """
    main(sys.argv[1:])
    os._exit(0)


def main(words: Sequence[str]) -> None:
    """Answer the host named by the first word, or in time with nothing."""
    # `-S` leaves the site packages out; they come back once something of them is asked for.
    if sys.flags.no_site:
        sys.meta_path.append(SitePackagesFinder)
    # Two threads may want to answer, and the host reads one line.
    once = threading.Lock()
    is_taken_as_text = False

    def say(value: Mapping[str, Any]) -> None:
        if once.acquire(blocking=False) and (value or not is_taken_as_text):
            with suppress(OSError):
                os.write(1, json.dumps(value).encode("ascii") + b"\n")

    try:
        files = HookFiles(environment.current_home())
    except OSError as err:  # there is no folder whose log could tell
        os.write(2, f"reverie: {err.strerror}\n".encode("ascii", "backslashreplace"))
        return say({})

    def give_up(seconds: float) -> None:
        say({})
        files.log_trouble(f"{words[:1]}: no answer within {seconds} s")
        os._exit(0)

    try:
        # Which event it is stands in the input: until that is read, the shorter time holds.
        watchdog = start_watchdog(give_up, MAX_SECONDS_AT_END)
        given = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
        # To the end, or the host meets a broken pipe.
        while len(given) > MAX_INPUT_BYTES and sys.stdin.buffer.read(1_000_000):
            pass
        name = words[0] if words else ""
        host = load_host(name)
        # An empty answer, `{}`, would stand in the context.
        is_taken_as_text = any(f'"{event}"'.encode() in given for event in host.text_events)
        if not may_end_session(host, given):
            watchdog.cancel()
            start_watchdog(give_up, MAX_SECONDS)
        say(answer_event(name, given, files, clock.now(), host))
    # Also KeyboardInterrupt and SystemExit: a hook never fails its host.
    except BaseException as err:
        with suppress(BaseException):
            bad_settings = import_module("reverie.interfaces.hooks.bad_settings")
            say(bad_settings.tell_bad_settings(err, words[0], given, files))
        say({})
        with suppress(BaseException):
            files.log_trouble(f"{words[:1]}: {type(err).__name__}: {err}")


def may_end_session(host: HostAgent, given: bytes) -> bool:
    """True if a host's message has the name of its last event of a session somewhere in it."""
    ends = [name for name, kind in host.events.items() if kind == kinds.SESSION_END]
    return any(f'"{name}"'.encode() in given for name in ends)


def start_watchdog(give_up: Callable[[float], None], seconds: float) -> threading.Timer:
    """A timer that gives up after so many seconds, unless the process is gone by then."""
    timer = threading.Timer(seconds, give_up, (seconds,))
    timer.daemon = True
    timer.start()
    return timer


def answer_event(
    host_name: str,
    given: bytes,
    files: HookFiles,
    now: float,
    host: HostAgent | None = None,
) -> Mapping[str, Any]:
    """What to answer a host, whose row may be at hand; empty if there is nothing to say."""
    host = host or load_host(host_name)
    if len(given) <= MAX_INPUT_BYTES:
        payload = json.loads(given)
    else:
        from reverie.interfaces.hooks.oversized_event import take_beginning

        payload = take_beginning(given, host, files, MAX_INPUT_BYTES)
    event = read_host_event(host, payload)
    if event is None or not environment.is_switched_on():
        return {}
    note = load_note(host_name, event, files)
    if note.off:
        files.mark_seen(f"{host_name}_off")
        # What waits was prepared for an earlier prompt.
        if event.kind == kinds.PROMPT:
            files.take_block(event.session)
            files.take_block(event.session, "plan")
        return {}
    is_first = files.last(host_name) is None
    files.mark_seen(host_name)
    call = HookCall(event, note, files, now, withheld=([],))
    name = payload[host.event_field]
    if environment.is_encrypted(files.home):
        from reverie.interfaces.hooks.locked_home import answer_locked

        locked = answer_locked(call, host, name, spool_event)
        if locked is not None:
            return locked
    plan = ""
    # Some hosts read no context at some events: "-" asks whether this one would.
    if event.kind in kinds.TOOL_KINDS:
        before = next((key for key, one in host.events.items() if one == kinds.TOOL_BEFORE), "")
        call = call._replace(
            reads=bool(host.answer(name, "-")),
            late=not host.answer(before, "-"),
        )
        if call.reads:
            plan = take_plan(call)
            call = call._replace(said=take_block_at_work(call))
    elif event.kind == kinds.PROMPT:
        plan = take_plan(call)
    call, stop = with_stop(call, host, name)
    answer = ANSWER_HANDLERS[event.kind](call)
    text = "\n".join(filter(None, (call.said.text, answer, plan)))
    if text:
        files.mark_seen(f"{host_name}_gave")
    wake_worker_of(note, files)
    said = host.answer(name, fit_answer(text)) if text else {}
    shown = {}
    if note.notices and host.show(name, "-"):
        line = tell_person(call, text, is_first=is_first)
        shown = host.show(name, line) if line else {}
    return {**merge_answers(said, stop), **shown} if stop or shown else said


def wake_worker_of(note: SessionNote, files: HookFiles) -> None:
    """Start a worker, where the settings want one."""
    if note.idle > 0:
        from reverie.interfaces.worker_start import wake_worker

        with suppress(OSError):
            wake_worker(files.home, files.lock)


def tell_person(call: HookCall, text: str, *, is_first: bool) -> str:
    """The line that a person sees; empty at turns at which memory did nothing."""
    begins, held = call.event.kind == kinds.SESSION_START, len(call.withheld[0])
    may_be_new = begins or call.event.kind == kinds.PROMPT
    news = may_be_new and os.path.exists(call.files.news_file(call.note.space))
    if not (text or held or begins or news or (is_first and may_be_new)):
        return ""
    from reverie.interfaces.hooks.notices import TurnNews, compose_turn_notice

    seen = TurnNews(text, held, begins, may_be_new, is_first)
    return compose_turn_notice(seen, call.event, call.note, call.files, call.now)


def with_stop(call: HookCall, host: HostAgent, name: str) -> tuple[HookCall, Mapping[str, Any]]:
    """The call before a tool with what stops it, and what to answer the host then."""
    if call.event.kind != kinds.TOOL_BEFORE:
        return call, {}
    table = call.files.read_warnings(call.note.space)
    if table is None:  # the worker has not written it yet
        from reverie.interfaces.hooks.prompt_lookup import prepare_warnings

        table = prepare_warnings(call.note.space, call.files, call.now)
    call = call._replace(table=table)
    if call.table is None or not any(row.decision for row in call.table.rows):
        return call, {}
    from reverie.interfaces.hooks.tool_stop import stop_tool

    stop = stop_tool(call.event, call.table.rows, call.note.root, call.files, call.now)
    answer = host.decide(name, stop.decision, stop.reason) if stop else {}
    return (call._replace(stop=stop), answer) if answer else (call, {})


# The note of a session


def load_note(host_name: str, event: HookEvent, files: HookFiles) -> SessionNote:
    """The note of a session: as it was written when it began, or anew if the settings or its model
    were altered since.
    """
    note = files.read_note(event.session)
    begins = event.kind == kinds.SESSION_START
    if note is None or note.config != config_mtime_ns(files) or begins:
        from reverie.interfaces.hooks.prompt_lookup import make_session_note

        goes_on = note is not None and (not begins or event.source == "compact")
        fresh = make_session_note(event, files.home)._replace(
            config=config_mtime_ns(files),
            asked=note.asked if note is not None and goes_on else 0.0,
            topic=note.topic if note is not None and goes_on else 0.0,
            agent=host_name,
            transcript=event.transcript,
            model=event.model,
        )
        save_note(files, event.session, fresh)
        return fresh
    if event.model not in ("", note.model):
        note = note._replace(model=event.model)
        save_note(files, event.session, note)
    return note


def save_note(files: HookFiles, session: str, note: SessionNote) -> None:
    """Write down the note of a session. Where that cannot be, each hook makes it anew: what it
    holds can be read elsewhere.
    """
    try:
        write_json_object(files.session_file(session, "json"), note._asdict())
    except OSError as err:
        files.log_trouble(f"no note is kept: {err}")


def config_mtime_ns(files: HookFiles) -> int:
    """When the settings were altered last; 0 where there are none."""
    try:
        return os.stat(f"{files.home}/config.toml").st_mtime_ns
    except OSError:
        return 0


# An answer for each kind of event


def answer_session_start(call: HookCall) -> str:
    """A session begins. After a compaction, what it was given and has taught is said again."""
    event, files = call.event, call.files
    # What went with prompts is still in the context of a session that is resumed.
    lists = ("shown",) if event.source == "resume" else ("shown", "given")
    for what in lists:
        with suppress(OSError):
            os.unlink(files.session_file(event.session, what))
    if event.source != "compact" or call.note.held_out:
        return spool_without_answer(call)

    def look() -> HookBlock:
        from reverie.interfaces.hooks.prompt_lookup import repeat_after_compaction

        return repeat_after_compaction(event.session, call.note.space, files.home, call.now)

    return spool_then_look(call, look)


def answer_prompt(call: HookCall) -> str:
    """The user says something: what words find goes with it, and what an earlier turn prepared, if
    it fits.
    """
    text = spool_then_look(call, lambda: find_prompt_block(call))
    from reverie.interfaces.hooks.prompt_topic import extract_topic_words

    topic = call.now if extract_topic_words(call.event.text) else call.note.topic
    save_note(call.files, call.event.session, call.note._replace(asked=call.now, topic=topic))
    return text


def find_prompt_block(call: HookCall) -> HookBlock:
    """What to say with a prompt.

    A prompt without words of its own (thanks, go on) opens no search after the first one: at most
    it takes the block that waits.
    """
    from reverie.interfaces.hooks.prompt_topic import is_worth_searching

    event, note, files = call.event, call.note, call.files
    ready, given = take_fitting_block(call), files.given_times(event.session)
    warnings = files.read_warnings(note.space)
    # The first prompt of a session is looked up whatever it says: reminders may be due.
    quiet = note.asked and not is_worth_searching(event.text, warnings.rows if warnings else ())
    if quiet and given.keys().isdisjoint(ready.ids):
        return ready if is_block_current(ready, files) else NO_BLOCK
    from reverie.interfaces.hooks.prompt_lookup import PromptLookup, look_up_prompt

    is_first = not note.asked
    return look_up_prompt(
        PromptLookup(
            event.session,
            note.space,
            event.text,
            call.now,
            is_first,
            ready,
            given,
        ),
        files.home,
    )


def take_fitting_block(call: HookCall, what: str = "block") -> HookBlock:
    """The block, or the plan, that waits for a session, taken, if it is fresh and belongs here: it
    was prepared for the prompt that the agent is at work for, or this prompt goes on with that one.
    Else it waits on.
    """
    event, files = call.event, call.files
    ready = files.read_block(event.session, what)
    if ready is None or not call.now < ready.until:
        return NO_BLOCK
    if event.kind == kinds.PROMPT:
        from reverie.interfaces.hooks.prompt_topic import continues_topic

        # A reminder is told whatever the prompt is about.
        fits = bool(ready.due) or continues_topic(event.text, ready.about)
    else:
        fits = ready.asked == call.note.asked != 0
    return (fits and files.take_block(event.session, what)) or NO_BLOCK


def is_block_current(block: HookBlock, files: HookFiles) -> bool:
    """True if there is something in a block, and all of it counts.

    The store is asked: a worker takes back what does not count any more, but not at once, and not
    what another worker prepared.
    """
    if block == NO_BLOCK:
        return False
    from reverie.interfaces.hooks.prompt_lookup import are_all_active

    return are_all_active(block.ids, files.home)


def take_block_at_work(call: HookCall) -> HookBlock:
    """What was prepared for the prompt at hand, once the agent is at work.

    Embedding takes longer than a prompt may wait, and a tool runs before most answers. A subagent's
    context is its own.
    """
    event, files = call.event, call.files
    taken = NO_BLOCK if event.agent else take_fitting_block(call)
    if not is_block_current(taken, files):
        return NO_BLOCK
    files.add_given(event.session, taken.ids, call.now)
    telling = HookEvent(kinds.TOOL_BEFORE, event.session, event.cwd)
    spool_event(call._replace(event=telling), taken)
    return taken


def take_plan(call: HookCall) -> str:
    """Which files the task at hand is about, if that was found since its prompt came, or for an
    earlier prompt that this one goes on with; empty if not. A subagent has a task of its own.
    """
    event = call.event
    if event.agent or call.note.held_out:
        return ""
    taken = take_fitting_block(call, "plan")
    if taken == NO_BLOCK:
        return ""
    telling = HookEvent(kinds.TOOL_BEFORE, event.session, event.cwd)
    spool_event(call._replace(event=telling), NO_BLOCK, planned=taken.ids)
    return taken.text


def warn_before_tool(call: HookCall) -> str:
    """A tool is about to run (or has run, where the host reads nothing before): what belongs to
    it.
    """
    event, files = call.event, call.files
    table = call.table if event.kind == kinds.TOOL_BEFORE else files.read_warnings(call.note.space)
    if table is None or not table.rows:
        return ""
    if not call.reads:
        spool_said(call, NO_BLOCK)
        return ""
    from reverie.interfaces.hooks.tool_warnings import find_matching_rows

    shown = files.shown_ids(event.session, event.agent)
    # A subagent has not seen what went with prompts.
    known = () if event.agent else files.given_times(event.session)
    met = find_matching_rows(
        table.rows, event.tool, event.given, shown, call.now, call.note.root, known
    )
    if call.note.held_out:  # what is known of files is no warning
        met = [(row, why) for row, why in met if row.triggers and why.startswith("trigger")]
    # Those stand in the block that goes with the same answer.
    said = [row.id for row, _ in met if row.id in call.said.ids]
    files.add_shown(event.session, said, event.agent)
    met = [(row, why) for row, why in met if row.id not in said and may_show(row, files)]
    if not met:
        spool_said(call, NO_BLOCK)
        return ""
    block = HookBlock(
        ids=[row.id for row, _ in met],
        due=[row.id for row, _ in met if row.reminder],
        why=[(why,) for _, why in met],
    )
    files.add_shown(event.session, block.ids, event.agent)
    spool_said(call, block)
    return "\n".join((table.head, *(row.line for row, _ in met), table.foot))


def spool_said(call: HookCall, block: HookBlock) -> None:
    """Write down what was said before a tool, and what stopped it."""
    if call.stop is not None:
        block = call.stop.join(block)
    if not block.ids:
        return
    # What the tool is given is told once it has run.
    told = call.event._replace(kind=kinds.TOOL_BEFORE, given=None, result="", text="")
    spool_event(call._replace(event=told), block)


def may_show(row: ToolWarning, files: HookFiles) -> bool:
    """True unless it is a reminder that another hook shows: each is shown once, at its time."""
    return not row.reminder or files.claim_reminder(f"{row.id}-{row.when or 0:.0f}")


def answer_tool_result(call: HookCall) -> str:
    """A tool ran: what once made its error go away and what tells of that error, if it failed, or
    may have, and anything is known of errors here.

    Each is told once in a session.
    """
    if call.event.doubtful:
        from reverie.interfaces.hooks.exit_status import resolve_outcome

        call = call._replace(event=resolve_outcome(call.event))
    before = warn_before_tool(call) if call.late else ""
    return "\n".join(filter(None, (before, answer_failure(call))))


def answer_failure(call: HookCall) -> str:
    """What is known of the error that a tool told of; it is written down that it ran."""
    event, note, files = call.event, call.note, call.files
    # Where the host does not say whether it failed, the words of the answer are all there is.
    error = event.text or (event.result if event.doubtful else "")
    failed = event.kind == kinds.TOOL_FAILED or any(sign in error for sign in ERROR_SIGNS)
    may_tell = error and failed and call.reads and not note.held_out
    table = files.read_warnings(note.space) if may_tell else None
    if table is None or not (table.fixes or any(row.error for row in table.rows)):
        return spool_without_answer(call)

    def look() -> HookBlock:
        shown = files.shown_ids(event.session, event.agent)
        found, told = NO_BLOCK, error[-MAX_END_CHARS:]
        if table.fixes:
            from reverie.interfaces.hooks.prompt_lookup import look_up_fixes

            found = look_up_fixes(told, note.space, files.home, shown)
        from reverie.interfaces.hooks.tool_warnings import add_failure_rows

        found = add_failure_rows(found, table, event, told, shown)
        files.add_shown(event.session, found.ids, event.agent)
        return found

    return spool_then_look(call, look)


def answer_subagent_start(call: HookCall) -> str:
    """A subagent begins: its share of memory, which counts as given to it alone."""
    from reverie.interfaces.hooks.subagent_brief import brief_subagent

    block = brief_subagent(call.event, call.note, call.files, call.now)
    if block.ids:
        spool_event(call._replace(event=call.event._replace(kind=kinds.TOOL_BEFORE)), block)
    return block.text


def spool_without_answer(call: HookCall) -> str:
    """It is written down, and there is nothing to say."""
    spool_event(call, NO_BLOCK)
    return ""


def ignore_event(_call: HookCall) -> str:
    """There is nothing to say and nothing to write."""
    return ""


ANSWER_HANDLERS: dict[str, Callable[[HookCall], str]] = {
    kinds.SESSION_START: answer_session_start,
    kinds.PROMPT: answer_prompt,
    kinds.TOOL_BEFORE: warn_before_tool,
    kinds.TOOL_AFTER: answer_tool_result,
    kinds.TOOL_FAILED: answer_tool_result,
    kinds.SUBAGENT_START: answer_subagent_start,
    kinds.TURN_END: spool_without_answer,
    kinds.COMPACT_BEFORE: spool_without_answer,
    kinds.COMPACT_AFTER: ignore_event,
    kinds.SESSION_END: spool_without_answer,
}


# Writing down


def spool_then_look(call: HookCall, look: Lookup) -> str:
    """What `look` finds to say, looked for only once it is written down what happened.

    So trouble with the store loses nothing. The worker waits until the look is over, and learns of
    both at once.
    """
    event, files = call.event, call.files
    held = spool_event(call, NO_BLOCK, held=True)
    found = NO_BLOCK
    try:
        found = look()
    except Exception as err:
        files.log_trouble(f"nothing could be looked for: {type(err).__name__}: {err}")
    if call.withheld:
        call.withheld[0].extend(found.withheld)
    # At once, for the worker may not have written it down when the next prompt comes.
    if event.kind == kinds.PROMPT and found.ids:
        files.add_given(event.session, found.ids, call.now)
    if held:
        with suppress(OSError):
            files.release_event(held, found, clock.now() - call.now)
    return found.text


def spool_event(
    call: HookCall,
    block: HookBlock,
    *,
    held: bool = False,
    planned: Sequence[str] = (),
) -> str:
    """Leave an event for the worker, without secrets, with what was said with it; its path, or ""
    where none was written.

    Where nobody has taken anything in for long, or nothing can be written, the event is dropped,
    and that is told.
    """
    from reverie.interfaces.worker_start import is_worker_alive

    note, files = call.note, call.files
    if not is_worker_alive(files.lock) and len(files.list_events()) >= MAX_WAITING_EVENTS:
        files.log_trouble(
            f"not written down: {MAX_WAITING_EVENTS:,} events wait, and nobody takes them in. "
            "Try: reverie data worker"
        )
        return ""
    spooled = SpooledEvent(
        redact_in_session(call.event, note, files),
        call.now,
        note.space,
        note.root,
        list(block.ids),
        list(block.due),
        redaction_rules(note.policy),
        list(block.why),
        list(planned),
    )
    try:
        return files.add_event(spooled, held=held)
    except OSError as err:
        files.log_trouble(f"not written down: {err}")
        return ""


def redact_in_session(
    event: HookEvent,
    note: SessionNote,
    files: HookFiles,
) -> HookEvent:
    """An event without secrets, also those that its session gave away before; it learns of its
    own.
    """
    from reverie.interfaces.hooks.session_secrets import load_session_secrets, save_session_secrets

    known = load_session_secrets(files, event.session)
    before = len(known)
    redacted = redact_hook_event(event, note, known)
    if len(known) > before:
        save_session_secrets(files, event.session, known)
    return redacted


def redact_hook_event(
    event: HookEvent,
    note: SessionNote,
    known: KnownSecrets | None = None,
) -> HookEvent:
    """An event without secrets, without what stands in sensitive files, and of a bounded length.

    What is written to disk has been through here, and the worker does not redact it again: nothing
    may be added to an event after it.
    """
    from reverie.privacy import redact_value

    policy = note.policy
    if event.tool:
        from reverie.privacy.sensitive_files import ToolExchange, guard_tool_run

        exchange = ToolExchange(event.given, event.result, event.text)
        guarded = guard_tool_run(exchange, policy, event.cwd)
        event = event._replace(
            given=guarded.given,
            result=guarded.result,
            text=guarded.error,
        )
    bounded = event._replace(
        text=truncate_text(event.text, policy, known),
        result=truncate_text(event.result, policy, known),
        given=truncate_arguments(event.given, policy, known),
    )
    safe, _ = redact_value(bounded._asdict(), policy, known=known)
    assert isinstance(safe, dict)
    return HookEvent(**safe)  # type: ignore[arg-type]


class SitePackagesFinder:
    """Puts the site packages on the path, where they were left out for speed, once one is asked
    for: most hooks need none.

    It is the last of the finders, so what is asked for here stands nowhere else.
    """

    @classmethod
    def find_spec(
        cls,
        name: str,
        path: object = None,
        _target: object = None,
    ) -> ModuleSpec | None:
        """Where a package is; what is within one is found where that is."""
        if path is not None or name in KNOWN_NAMES or cls not in sys.meta_path:
            return None
        sys.meta_path.remove(cls)
        import site
        from importlib.util import find_spec

        site.main()
        return find_spec(name)
