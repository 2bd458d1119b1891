"""One hook, from stdin to stdout: read what happened, say what is to be said, write down what was
said and done.

`answered` is the whole of it. What it needs of the store was laid ready by the desk, so it opens
none; where that cannot be, because nobody knew what a prompt would say, `first` opens it. Time is
bounded by a second thread: when PATIENCE is over the host has its `{}`, whatever the first one is
waiting for.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from reverie.core import clock, environment
from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.interfaces.hooks import hook_event as kinds
from reverie.interfaces.hooks.event_truncation import (
    MAX_END_CHARS,
    fit_answer,
    truncate_arguments,
    truncate_text,
)
from reverie.interfaces.hooks.hook_event import HookEvent
from reverie.interfaces.hooks.host_adapters import HOSTS, read_host_event
from reverie.interfaces.hooks.spool import (
    MAX_WAITING_EVENTS,
    HookFiles,
    read_json_object,
    write_json_object,
)

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

MAX_SECONDS, MAX_SECONDS_AT_END = (
    2.0,
    1.2,
)  # seconds; at the end of a session Claude Code waits for 1.5
SESSION_END_NAMES = (b'"SessionEnd"', b'"sessionEnd"')
# bytes of stdin that are looked at; of a longer prompt the beginning is taken in
MAX_INPUT_BYTES = 8_000_000
NO_BLOCK: Mapping[str, Any] = {}
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
"""What stands in an answer that may tell of an error: only then it is worth opening the store."""


def script() -> None:
    """The command `reverie-hook`, which plugins name: as `run.py`, found by its name instead of its
    place.
    """
    main(sys.argv[1:])
    os._exit(0)


def main(words: Sequence[str]) -> None:
    """Answer the host named by the first word, or in time with nothing."""
    if sys.flags.no_site:
        sys.meta_path.append(SitePackagesFinder)
    once = threading.Lock()

    def say(value: Mapping[str, Any]) -> None:
        if once.acquire(blocking=False):
            with suppress(OSError):
                os.write(1, json.dumps(value).encode("ascii") + b"\n")

    try:
        room = HookFiles(environment.current_home())
    except OSError as err:  # there is no folder whose log could tell
        os.write(2, f"reverie: {err.strerror}\n".encode("ascii", "backslashreplace"))
        return say({})

    def give_up(seconds: float) -> None:
        say({})
        room.trouble(f"{words[:1]}: no answer within {seconds} s")
        os._exit(0)

    try:
        waiting = start_watchdog(give_up, MAX_SECONDS_AT_END)
        given = sys.stdin.buffer.read(MAX_INPUT_BYTES + 1)
        while len(given) > MAX_INPUT_BYTES and sys.stdin.buffer.read(1_000_000):
            pass  # to the end, or the host meets a broken pipe
        if not any(end in given for end in SESSION_END_NAMES):
            waiting.cancel()
            start_watchdog(give_up, MAX_SECONDS)
        say(answer_event(words[0] if words else "", given, room, clock.now()))
    except BaseException as err:
        say({})
        with suppress(BaseException):
            room.trouble(f"{words[:1]}: {type(err).__name__}: {err}")


def start_watchdog(give_up: Callable[[float], None], seconds: float) -> threading.Timer:
    """A timer that gives up after so many seconds, unless the process is gone by then."""
    timer = threading.Timer(seconds, give_up, (seconds,))
    timer.daemon = True
    timer.start()
    return timer


def answer_event(name: str, given: bytes, room: HookFiles, now: float) -> Mapping[str, Any]:
    """What to answer a host; empty if there is nothing to say."""
    host = HOSTS[name]
    payload = json.loads(given) if len(given) <= MAX_INPUT_BYTES else read_oversized(given, room)
    happening = read_host_event(host, payload)
    if happening is None or not environment.is_switched_on():
        return {}
    note = load_note(name, happening, room)
    if note["off"]:
        if happening.kind == kinds.PROMPT:  # what lies ready was prepared for an earlier one
            room.take(happening.session)
        return {}
    room.came(name)
    at_work = happening.kind in kinds.TOOL_KINDS and host.answer(payload["hook_event_name"], "-")
    ready = take_block_at_work(happening, note, room, now) if at_work else NO_BLOCK
    text = ANSWER_HANDLERS[happening.kind](
        happening, note | {"told": ready["ids"]} if ready else note, room, now
    )
    text = "\n".join(filter(None, (ready.get("text", ""), text)))
    if text:
        room.came(f"{name}_gave")
    if note["idle"] > 0:
        from reverie.interfaces.worker_start import wake_worker

        with suppress(OSError):
            wake_worker(room.home, room.lock)
    return host.answer(payload["hook_event_name"], fit_answer(text)) if text else {}


def read_oversized(given: bytes, room: HookFiles) -> Mapping[str, Any]:
    """What the beginning of something very long tells."""
    from reverie.interfaces.hooks.oversized_event import parse_beginning

    payload = parse_beginning(given)
    room.trouble(
        f"{payload.get('hook_event_name', 'an event')}: larger than {MAX_INPUT_BYTES // 1_000_000} MB, "
        f"{'only its beginning is' if payload else 'not'} taken in"
    )
    return payload


def load_note(name: str, happening: HookEvent, room: HookFiles) -> dict[str, Any]:
    """The note of a session: as it was written when it began, or anew if the settings or its model
    were altered since.
    """
    note = read_json_object(room.of(happening.session, "json"))
    if (
        note is None
        or note.get("config") != config_mtime_ns(room)
        or happening.kind == kinds.SESSION_START
    ):
        from reverie.interfaces.hooks.prompt_lookup import make_session_note

        begins = happening.kind == kinds.SESSION_START and happening.source != "compact"
        asked = note["asked"] if note and not begins else 0.0
        note = make_session_note(happening, room.home) | {
            "config": config_mtime_ns(room),
            "asked": asked,
        }
        note |= {"agent": name, "transcript": happening.transcript, "model": happening.model}
        save_note(room, happening.session, note)
    elif happening.model not in ("", note.get("model")):
        note |= {"model": happening.model}
        save_note(room, happening.session, note)
    return note


def save_note(room: HookFiles, session: str, note: dict[str, Any]) -> None:
    """Write down the note of a session. Where that cannot be, each hook makes it anew: what is
    known can be read.
    """
    try:
        write_json_object(room.of(session, "json"), note)
    except OSError as err:
        room.trouble(f"no note is kept: {err}")


def config_mtime_ns(room: HookFiles) -> int:
    """When the settings were altered last; 0 where there are none."""
    try:
        return os.stat(f"{room.home}/config.toml").st_mtime_ns
    except OSError:
        return 0


def answer_session_start(
    happening: HookEvent, note: dict[str, Any], room: HookFiles, now: float
) -> str:
    """A session begins. After a compaction, what it was given and has taught is said again."""
    for what in ("shown", "given") if happening.source != "resume" else ("shown",):
        with suppress(OSError):
            os.unlink(room.of(happening.session, what))
    if happening.source != "compact":
        return spool_without_answer(happening, note, room, now)

    def look() -> Mapping[str, Any]:
        from reverie.interfaces.hooks.prompt_lookup import repeat_after_compaction

        return repeat_after_compaction(happening.session, note["space"], room.home, now)

    return spool_then_look(happening, note, room, now, look)


def answer_prompt(happening: HookEvent, note: dict[str, Any], room: HookFiles, now: float) -> str:
    """The user says something: what words find goes with it, and what an earlier turn prepared, if
    it fits.
    """

    def look() -> Mapping[str, Any]:
        from reverie.interfaces.hooks.prompt_topic import is_worth_searching

        ready, given = take_prepared_block(happening, room, now), room.given(happening.session)
        quiet = note["asked"] and not is_worth_searching(
            happening.text, read_json_object(room.guards(note["space"]))
        )
        if quiet and given.keys().isdisjoint(ready.get("ids", ())):
            return ready if is_block_current(ready, room) else {}
        from reverie.interfaces.hooks.prompt_lookup import look_up_prompt

        return look_up_prompt(
            happening.session,
            note["space"],
            happening.text,
            room.home,
            now,
            begins=not note["asked"],
            ready=ready,
            given=given,
        )

    text = spool_then_look(happening, note, room, now, look)
    save_note(room, happening.session, note | {"asked": now})
    return text


def take_prepared_block(happening: HookEvent, room: HookFiles, now: float) -> Mapping[str, Any]:
    """What an earlier turn prepared, taken, if it is fresh and this prompt goes on with it; else it
    waits on.
    """
    ready = read_json_object(room.of(happening.session, "block"))
    if not ready or not now < ready["until"]:
        return {}
    if not ready["due"]:
        from reverie.interfaces.hooks.prompt_topic import continues_topic

        if not continues_topic(happening.text, ready.get("about", ())):
            return {}
    return room.take(happening.session) or {}


def is_block_current(block: Mapping[str, Any], room: HookFiles) -> bool:
    """Whether there is something in a block, and all of it counts. The store is asked: a worker
    takes back what does not, but not at once, and not what another worker laid ready.
    """
    if not block:
        return False
    from reverie.interfaces.hooks.prompt_lookup import are_all_active

    return are_all_active(block["ids"], room.home)


def take_block_at_work(
    happening: HookEvent, note: Mapping[str, Any], room: HookFiles, now: float
) -> Mapping[str, Any]:
    """What was prepared for the prompt at hand, once the agent is at work: meaning takes longer
    than a prompt may wait, and a tool runs before most answers. A subagent's context is its own.
    """
    ready = read_json_object(room.of(happening.session, "block"))
    if (
        not ready
        or happening.agent
        or not ready.get("asked") == note["asked"] != 0
        or not now < ready["until"]
    ):
        return NO_BLOCK
    taken = room.take(happening.session) or NO_BLOCK
    if not is_block_current(taken, room):
        return NO_BLOCK
    room.give(happening.session, taken["ids"], now)
    spool_event(
        HookEvent(kinds.TOOL_BEFORE, happening.session, happening.cwd), note, room, now, taken
    )
    return taken


def warn_before_tool(
    happening: HookEvent, note: dict[str, Any], room: HookFiles, now: float
) -> str:
    """A tool is about to run: what the guards say of it."""
    guards = read_json_object(room.guards(note["space"]))
    if not guards or not guards["rows"]:
        return ""
    from reverie.interfaces.hooks.tool_warnings import find_matching_rows

    shown = room.shown(happening.session, happening.agent)
    met = find_matching_rows(guards["rows"], happening.tool, happening.given, shown, now)
    told = note.get("told", ())
    room.show(happening.session, [row["id"] for row in met if row["id"] in told], happening.agent)
    met = [
        row
        for row in met
        if row["id"] not in told
        and (not row["reminder"] or room.claim(f"{row['id']}-{row['when'] or 0:.0f}"))
    ]
    if not met:
        return ""
    ids = [row["id"] for row in met]
    room.show(happening.session, ids, happening.agent)
    reminders = [row["id"] for row in met if row["reminder"]]
    spool_event(happening._replace(given=None), note, room, now, {"ids": ids, "due": reminders})
    return "\n".join((guards["head"], *(row["line"] for row in met), guards["foot"]))


def answer_tool_result(
    happening: HookEvent, note: dict[str, Any], room: HookFiles, now: float
) -> str:
    """A tool ran: what once made its error go away, if it failed, or may have, and anything is
    known of errors here.

    Each fix is told once in a session (X40).
    """
    happening = resolve_outcome(happening)
    error = happening.text or (happening.result if happening.doubtful else "")
    guards = None
    if error and (
        happening.kind == kinds.TOOL_FAILED or any(sign in error for sign in ERROR_SIGNS)
    ):
        guards = read_json_object(room.guards(note["space"]))
    if not guards or not guards["fixes"]:
        return spool_without_answer(happening, note, room, now)

    def look() -> Mapping[str, Any]:
        from reverie.interfaces.hooks.prompt_lookup import look_up_fixes

        found = look_up_fixes(
            error[-MAX_END_CHARS:],
            note["space"],
            room.home,
            room.shown(happening.session, happening.agent),
        )
        room.show(happening.session, found.get("ids", ()), happening.agent)
        return found

    return spool_then_look(happening, note, room, now, look)


def resolve_outcome(happening: HookEvent) -> HookEvent:
    """A run of which the host does not say whether it failed, as its own file tells of it."""
    if not happening.doubtful:
        return happening
    from reverie.interfaces.hooks.exit_status import find_exit_code

    code = find_exit_code(happening.transcript, happening.call)
    if code is None:
        return happening
    if code == 0:
        return happening._replace(doubtful=False)
    return happening._replace(
        doubtful=False, kind=kinds.TOOL_FAILED, text=happening.result or f"Exit code {code}"
    )


def spool_without_answer(
    happening: HookEvent, note: dict[str, Any], room: HookFiles, now: float
) -> str:
    """It is written down, and there is nothing to say."""
    spool_event(happening, note, room, now, {})
    return ""


def ignore_event(
    _happening: HookEvent, _note: dict[str, Any], _room: HookFiles, _now: float
) -> str:
    """There is nothing to say and nothing to write."""
    return ""


ANSWER_HANDLERS: dict[str, Callable[[HookEvent, dict[str, Any], HookFiles, float], str]] = {
    kinds.SESSION_START: answer_session_start,
    kinds.PROMPT: answer_prompt,
    kinds.TOOL_BEFORE: warn_before_tool,
    kinds.TOOL_AFTER: answer_tool_result,
    kinds.TOOL_FAILED: answer_tool_result,
    kinds.TURN_END: spool_without_answer,
    kinds.COMPACT_BEFORE: spool_without_answer,
    kinds.COMPACT_AFTER: ignore_event,
    kinds.SESSION_END: spool_without_answer,
}


def spool_then_look(
    happening: HookEvent,
    note: Mapping[str, Any],
    room: HookFiles,
    now: float,
    look: Callable[[], Mapping[str, Any]],
) -> str:
    """What `look` finds to say, looked for only once it is written down what happened: trouble with
    the store loses nothing. Until then the desk waits for it, so that it learns of both at once.
    """
    held = spool_event(happening, note, room, now, {}, held=True)
    found: Mapping[str, Any] = {}
    try:
        found = look()
    except Exception as err:
        room.trouble(f"nothing could be looked for: {type(err).__name__}: {err}")
    if happening.kind == kinds.PROMPT and found.get("ids"):
        room.give(happening.session, found["ids"], now)
    if held:
        with suppress(OSError):
            room.let_go(
                held, {"ids": list(found.get("ids", ())), "due": list(found.get("due", ()))}
            )
    return str(found.get("text", ""))


def spool_event(
    happening: HookEvent,
    note: Mapping[str, Any],
    room: HookFiles,
    now: float,
    block: Mapping[str, Any],
    *,
    held: bool = False,
) -> str:
    """Have the desk take it in, without secrets: what happened, and what was said with it. Where it
    lies, or nothing.

    Where nobody has taken anything in for long, or nothing can be written, it is dropped, and that
    is told (CC-47).
    """
    from reverie.interfaces.worker_start import is_worker_alive
    from reverie.privacy import redact_value

    if not is_worker_alive(room.lock) and len(room.waiting()) >= MAX_WAITING_EVENTS:
        room.trouble(
            f"not written down: {MAX_WAITING_EVENTS:,} events wait, and nobody takes them in. Try: reverie worker"
        )
        return ""
    policy = note_policy(note)
    if happening.tool:
        from reverie.privacy.sensitive_files import ToolExchange, guard_tool_run

        deed = guard_tool_run(
            ToolExchange(happening.given, happening.result, happening.text), policy, happening.cwd
        )
        happening = happening._replace(given=deed.given, result=deed.result, text=deed.error)
    told = happening._replace(
        text=truncate_text(happening.text, policy), result=truncate_text(happening.result, policy)
    )._asdict()
    safe, _ = redact_value({**told, "given": truncate_arguments(happening.given, policy)}, policy)
    assert isinstance(safe, dict)
    event = {
        **safe,
        "at": now,
        "space": note["space"],
        "root": note["root"],
        "ids": list(block.get("ids", ())),
        "due": list(block.get("due", ())),
    }
    try:
        return room.put(event, held=held)
    except OSError as err:
        room.trouble(f"not written down: {err}")
        return ""


def note_policy(note: Mapping[str, Any]) -> Policy:
    """What is taken out of a text before it is kept, as it was chosen when the note was written.

    A note of an earlier version says nothing of it.
    """
    return Policy(
        note.get("personal", DEFAULT_POLICY.personal),
        note.get("contact", DEFAULT_POLICY.contact),
        tuple(note.get("sensitive", ())),
    )


class SitePackagesFinder:
    """Puts the site packages on the path, where they were left out for speed, once one is asked
    for: most hooks need none. The last of the finders, so what is asked for here stands nowhere
    else.
    """

    @classmethod
    def find_spec(cls, name: str, path: object = None, _target: object = None) -> ModuleSpec | None:
        """Where a package is; what is within one is found where that is."""
        if path is not None or name in sys.stdlib_module_names or cls not in sys.meta_path:
            return None
        sys.meta_path.remove(cls)
        import site
        from importlib.util import find_spec

        site.main()
        return find_spec(name)
