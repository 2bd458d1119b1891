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
from reverie.core.privacy_policy import USUAL, Policy
from reverie.interfaces.hooks import hook_event as kinds
from reverie.interfaces.hooks.event_truncation import KEEP, bounded, fitting, kept
from reverie.interfaces.hooks.hook_event import Happening
from reverie.interfaces.hooks.host_adapters import HOSTS, heard
from reverie.interfaces.hooks.spool import MOST_WAITING, Places, read, write

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec

PATIENCE, LAST = 2.0, 1.2  # seconds; at the end of a session Claude Code waits for 1.5
ENDS = (b'"SessionEnd"', b'"sessionEnd"')
# bytes of stdin that are looked at; of a longer prompt the beginning is taken in
MOST_INPUT = 8_000_000
NOTHING: Mapping[str, Any] = {}
COMPLAINTS = (
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
        sys.meta_path.append(Packages)
    once = threading.Lock()

    def say(value: Mapping[str, Any]) -> None:
        if once.acquire(blocking=False):
            with suppress(OSError):
                os.write(1, json.dumps(value).encode("ascii") + b"\n")

    try:
        room = Places(environment.home())
    except OSError as err:  # there is no folder whose log could tell
        os.write(2, f"reverie: {err.strerror}\n".encode("ascii", "backslashreplace"))
        return say({})

    def give_up(seconds: float) -> None:
        say({})
        room.trouble(f"{words[:1]}: no answer within {seconds} s")
        os._exit(0)

    try:
        waiting = watched(give_up, LAST)
        given = sys.stdin.buffer.read(MOST_INPUT + 1)
        while len(given) > MOST_INPUT and sys.stdin.buffer.read(1_000_000):
            pass  # to the end, or the host meets a broken pipe
        if not any(end in given for end in ENDS):
            waiting.cancel()
            watched(give_up, PATIENCE)
        say(answered(words[0] if words else "", given, room, clock.now()))
    except BaseException as err:
        say({})
        with suppress(BaseException):
            room.trouble(f"{words[:1]}: {type(err).__name__}: {err}")


def watched(give_up: Callable[[float], None], seconds: float) -> threading.Timer:
    """A timer that gives up after so many seconds, unless the process is gone by then."""
    timer = threading.Timer(seconds, give_up, (seconds,))
    timer.daemon = True
    timer.start()
    return timer


def answered(name: str, given: bytes, room: Places, now: float) -> Mapping[str, Any]:
    """What to answer a host; empty if there is nothing to say."""
    host = HOSTS[name]
    payload = json.loads(given) if len(given) <= MOST_INPUT else cut(given, room)
    happening = heard(host, payload)
    if happening is None or not environment.switched_on():
        return {}
    note = noted(name, happening, room)
    if note["off"]:
        if happening.kind == kinds.PROMPT:  # what lies ready was prepared for an earlier one
            room.take(happening.session)
        return {}
    room.came(name)
    at_work = happening.kind in kinds.AT_WORK and host.answer(payload["hook_event_name"], "-")
    ready = meanwhile(happening, note, room, now) if at_work else NOTHING
    text = ANSWERS[happening.kind](
        happening, note | {"told": ready["ids"]} if ready else note, room, now
    )
    text = "\n".join(filter(None, (ready.get("text", ""), text)))
    if text:
        room.came(f"{name}_gave")
    if note["idle"] > 0:
        from reverie.interfaces.worker_start import wake

        with suppress(OSError):
            wake(room.home, room.lock)
    return host.answer(payload["hook_event_name"], fitting(text)) if text else {}


def cut(given: bytes, room: Places) -> Mapping[str, Any]:
    """What the beginning of something very long tells."""
    from reverie.interfaces.hooks.oversized_event import beginning

    payload = beginning(given)
    room.trouble(
        f"{payload.get('hook_event_name', 'an event')}: larger than {MOST_INPUT // 1_000_000} MB, "
        f"{'only its beginning is' if payload else 'not'} taken in"
    )
    return payload


def noted(name: str, happening: Happening, room: Places) -> dict[str, Any]:
    """The note of a session: as it was written when it began, or anew if the settings or its model
    were altered since.
    """
    note = read(room.of(happening.session, "json"))
    if note is None or note.get("config") != altered(room) or happening.kind == kinds.SESSION_START:
        from reverie.interfaces.hooks.prompt_lookup import begun

        begins = happening.kind == kinds.SESSION_START and happening.source != "compact"
        asked = note["asked"] if note and not begins else 0.0
        note = begun(happening, room.home) | {"config": altered(room), "asked": asked}
        note |= {"agent": name, "transcript": happening.transcript, "model": happening.model}
        keep(room, happening.session, note)
    elif happening.model not in ("", note.get("model")):
        note |= {"model": happening.model}
        keep(room, happening.session, note)
    return note


def keep(room: Places, session: str, note: dict[str, Any]) -> None:
    """Write down the note of a session. Where that cannot be, each hook makes it anew: what is
    known can be read.
    """
    try:
        write(room.of(session, "json"), note)
    except OSError as err:
        room.trouble(f"no note is kept: {err}")


def altered(room: Places) -> int:
    """When the settings were altered last; 0 where there are none."""
    try:
        return os.stat(f"{room.home}/config.toml").st_mtime_ns
    except OSError:
        return 0


def starting(happening: Happening, note: dict[str, Any], room: Places, now: float) -> str:
    """A session begins. After a compaction, what it was given and has taught is said again."""
    for what in ("shown", "given") if happening.source != "resume" else ("shown",):
        with suppress(OSError):
            os.unlink(room.of(happening.session, what))
    if happening.source != "compact":
        return written(happening, note, room, now)

    def look() -> Mapping[str, Any]:
        from reverie.interfaces.hooks.prompt_lookup import again

        return again(happening.session, note["space"], room.home, now)

    return with_it(happening, note, room, now, look)


def asked(happening: Happening, note: dict[str, Any], room: Places, now: float) -> str:
    """The user says something: what words find goes with it, and what an earlier turn prepared, if
    it fits.
    """

    def look() -> Mapping[str, Any]:
        from reverie.interfaces.hooks.prompt_topic import worth_looking

        ready, given = prepared(happening, room, now), room.given(happening.session)
        quiet = note["asked"] and not worth_looking(
            happening.text, read(room.guards(note["space"]))
        )
        if quiet and given.keys().isdisjoint(ready.get("ids", ())):
            return ready if counts(ready, room) else {}
        from reverie.interfaces.hooks.prompt_lookup import by_words

        return by_words(
            happening.session,
            note["space"],
            happening.text,
            room.home,
            now,
            begins=not note["asked"],
            ready=ready,
            given=given,
        )

    text = with_it(happening, note, room, now, look)
    keep(room, happening.session, note | {"asked": now})
    return text


def prepared(happening: Happening, room: Places, now: float) -> Mapping[str, Any]:
    """What an earlier turn prepared, taken, if it is fresh and this prompt goes on with it; else it
    waits on.
    """
    ready = read(room.of(happening.session, "block"))
    if not ready or not now < ready["until"]:
        return {}
    if not ready["due"]:
        from reverie.interfaces.hooks.prompt_topic import goes_on

        if not goes_on(happening.text, ready.get("about", ())):
            return {}
    return room.take(happening.session) or {}


def counts(block: Mapping[str, Any], room: Places) -> bool:
    """Whether there is something in a block, and all of it counts. The store is asked: a worker
    takes back what does not, but not at once, and not what another worker laid ready.
    """
    if not block:
        return False
    from reverie.interfaces.hooks.prompt_lookup import all_count

    return all_count(block["ids"], room.home)


def meanwhile(
    happening: Happening, note: Mapping[str, Any], room: Places, now: float
) -> Mapping[str, Any]:
    """What was prepared for the prompt at hand, once the agent is at work: meaning takes longer
    than a prompt may wait, and a tool runs before most answers. A subagent's context is its own.
    """
    ready = read(room.of(happening.session, "block"))
    if (
        not ready
        or happening.agent
        or not ready.get("asked") == note["asked"] != 0
        or not now < ready["until"]
    ):
        return NOTHING
    taken = room.take(happening.session) or NOTHING
    if not counts(taken, room):
        return NOTHING
    room.give(happening.session, taken["ids"], now)
    put(Happening(kinds.TOOL_BEFORE, happening.session, happening.cwd), note, room, now, taken)
    return taken


def about_to(happening: Happening, note: dict[str, Any], room: Places, now: float) -> str:
    """A tool is about to run: what the guards say of it."""
    guards = read(room.guards(note["space"]))
    if not guards or not guards["rows"]:
        return ""
    from reverie.interfaces.hooks.tool_warnings import meeting

    shown = room.shown(happening.session, happening.agent)
    met = meeting(guards["rows"], happening.tool, happening.given, shown, now)
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
    put(happening._replace(given=None), note, room, now, {"ids": ids, "due": reminders})
    return "\n".join((guards["head"], *(row["line"] for row in met), guards["foot"]))


def ran(happening: Happening, note: dict[str, Any], room: Places, now: float) -> str:
    """A tool ran: what once made its error go away, if it failed, or may have, and anything is
    known of errors here.

    Each fix is told once in a session (X40).
    """
    happening = decided(happening)
    error = happening.text or (happening.result if happening.doubtful else "")
    guards = None
    if error and (happening.kind == kinds.TOOL_FAILED or any(sign in error for sign in COMPLAINTS)):
        guards = read(room.guards(note["space"]))
    if not guards or not guards["fixes"]:
        return written(happening, note, room, now)

    def look() -> Mapping[str, Any]:
        from reverie.interfaces.hooks.prompt_lookup import fixes

        found = fixes(
            error[-KEEP:], note["space"], room.home, room.shown(happening.session, happening.agent)
        )
        room.show(happening.session, found.get("ids", ()), happening.agent)
        return found

    return with_it(happening, note, room, now, look)


def decided(happening: Happening) -> Happening:
    """A run of which the host does not say whether it failed, as its own file tells of it."""
    if not happening.doubtful:
        return happening
    from reverie.interfaces.hooks.exit_status import exit_code

    code = exit_code(happening.transcript, happening.call)
    if code is None:
        return happening
    if code == 0:
        return happening._replace(doubtful=False)
    return happening._replace(
        doubtful=False, kind=kinds.TOOL_FAILED, text=happening.result or f"Exit code {code}"
    )


def written(happening: Happening, note: dict[str, Any], room: Places, now: float) -> str:
    """It is written down, and there is nothing to say."""
    put(happening, note, room, now, {})
    return ""


def nothing(_happening: Happening, _note: dict[str, Any], _room: Places, _now: float) -> str:
    """There is nothing to say and nothing to write."""
    return ""


ANSWERS: dict[str, Callable[[Happening, dict[str, Any], Places, float], str]] = {
    kinds.SESSION_START: starting,
    kinds.PROMPT: asked,
    kinds.TOOL_BEFORE: about_to,
    kinds.TOOL_AFTER: ran,
    kinds.TOOL_FAILED: ran,
    kinds.TURN_END: written,
    kinds.COMPACT_BEFORE: written,
    kinds.COMPACT_AFTER: nothing,
    kinds.SESSION_END: written,
}


def with_it(
    happening: Happening,
    note: Mapping[str, Any],
    room: Places,
    now: float,
    look: Callable[[], Mapping[str, Any]],
) -> str:
    """What `look` finds to say, looked for only once it is written down what happened: trouble with
    the store loses nothing. Until then the desk waits for it, so that it learns of both at once.
    """
    held = put(happening, note, room, now, {}, held=True)
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


def put(
    happening: Happening,
    note: Mapping[str, Any],
    room: Places,
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
    from reverie.interfaces.worker_start import lives
    from reverie.privacy import redact_value

    if not lives(room.lock) and len(room.waiting()) >= MOST_WAITING:
        room.trouble(
            f"not written down: {MOST_WAITING:,} events wait, and nobody takes them in. Try: reverie worker"
        )
        return ""
    policy = policy_of(note)
    if happening.tool:
        from reverie.privacy.sensitive_files import Deed, guarded

        deed = guarded(
            Deed(happening.given, happening.result, happening.text), policy, happening.cwd
        )
        happening = happening._replace(given=deed.given, result=deed.result, text=deed.error)
    told = happening._replace(
        text=kept(happening.text, policy), result=kept(happening.result, policy)
    )._asdict()
    safe, _ = redact_value({**told, "given": bounded(happening.given, policy)}, policy)
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


def policy_of(note: Mapping[str, Any]) -> Policy:
    """What is taken out of a text before it is kept, as it was chosen when the note was written.

    A note of an earlier version says nothing of it.
    """
    return Policy(
        note.get("personal", USUAL.personal),
        note.get("contact", USUAL.contact),
        tuple(note.get("sensitive", ())),
    )


class Packages:
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
