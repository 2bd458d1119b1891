"""Episodes: what happened, with who, what, when, where and why (C16 to C23; CC-65). Pure.

An episode is a memory of an episodic kind: `event`, or `task` for a piece of work and its outcome.
Its text tells all of it in words, so that search finds it by any part; `details` keep the parts. It
fades with a half-life of two weeks.

Some become episodes by themselves, from what hosts `record`: how a goal, a task or a step went, and
tools that failed (X28). A tool run that went well is nothing to remember: it stays in the log, and
the journal counts it. `EVENTFUL` says how much each matters; what matters less than `WORTH` is no
episode.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import fraction
from reverie.core.model import Event, Memory
from reverie.text.tokenization import short

KINDS = ("event", "task")
# in the order in which they are told; `what` comes first, `when` is `at`
PARTS = (
    "who",
    "where",
    "why",
    "outcome",
)
MOST_PART = 1_000  # characters of one
WORTH = 0.4  # importance from which something recorded becomes an episode


class Eventful(NamedTuple):
    """How much a recorded event matters, 0..1, by how it went, and the kind of episode that it
    becomes.
    """

    went_well: float
    failed: float
    kind: str


EVENTFUL: dict[str, Eventful] = {
    "goal": Eventful(0.8, 0.9, "task"),
    "task": Eventful(0.6, 0.7, "task"),
    "step": Eventful(0.4, 0.5, "event"),
    "tool": Eventful(0.1, 0.4, "event"),
}

WENT = {
    "success": True,
    "succeeded": True,
    "done": True,
    "completed": True,
    "ok": True,
    "passed": True,
    "failure": False,
    "failed": False,
    "error": False,
    "cancelled": False,
    "aborted": False,
    "timeout": False,
}
# of what was done, best first
NAMES = (
    "what",
    "title",
    "text",
    "goal",
    "task",
    "step",
    "command",
    "name",
    "tool",
)


def told(what: object, parts: Mapping[str, object]) -> dict[str, Any]:
    """The text and the details of an episode."""
    if not isinstance(what, str) or not what.strip():
        raise BadInput("An episode needs to say what happened")
    known: dict[str, str] = {}
    for name in PARTS:
        value = parts.get(name)
        if value and not isinstance(value, str):
            raise BadInput(f"{name}={value!r} must be a text")
        if isinstance(value, str) and (plain := " ".join(value.split())):
            if len(plain) > MOST_PART:
                raise BadInput(f"{name} has {len(plain):,} characters; at most {MOST_PART:,}")
            known[name] = plain
    plain = what.strip()
    first = plain if not known or plain[-1] in ".!?…" else f"{plain}."
    lines = [
        first,
        *(f"{name.capitalize()}: {value.rstrip('.')}." for name, value in known.items()),
    ]
    return {"text": " ".join(lines), "details": {"what": plain, **known}}


def about(memory: Memory, words: Iterable[str]) -> bool:
    """Whether each of the words stands in what happened or in who, where and why, whatever its
    case.
    """
    said = "\n".join(
        (memory.title, memory.text, *(str(memory.details.get(name, "")) for name in PARTS))
    ).casefold()
    return all(word.casefold() in said for word in words)


class Outcome(NamedTuple):
    """A recorded event as it is worth remembering."""

    kind: str
    what: str
    parts: Mapping[str, str]
    importance: float
    worked: bool


def outcome_of(event: Event) -> Outcome | None:
    """What a recorded event says about how something went; None where it says nothing, or nothing
    that matters.
    """
    row, worked = EVENTFUL.get(event.verb), went(event.payload)
    if row is None or worked is None:
        return None
    importance = fraction(event.payload.get("importance"), row.went_well if worked else row.failed)
    names = (
        NAMES
        if event.verb != "tool"
        else tuple(name for name in NAMES if name not in EVENTFUL or name == "tool")
    )
    named = [
        str(event.payload[name])
        for name in names
        if isinstance(event.payload.get(name), str) and str(event.payload[name]).strip()
    ]
    if importance < WORTH or not named:
        return None
    label = str(event.payload.get("tool") or "") if event.verb == "tool" else ""
    what = f"{label}: {named[0]}" if label and label != named[0] else named[0]
    known = {
        name: value
        for name in ("who", "where", "why")
        if isinstance(value := event.payload.get(name), str)
    }
    most = MOST_PART // 2
    return Outcome(
        row.kind,
        f"{event.verb.capitalize()} {'done' if worked else 'failed'}: {short(what, most)}",
        {
            **{name: short(value, most) for name, value in known.items()},
            "outcome": short(result(event.payload, worked), most),
        },
        importance,
        worked,
    )


def went(payload: Mapping[str, Any]) -> bool | None:
    """Whether it went well; None if that is not said."""
    for name in ("worked", "success", "ok"):
        if isinstance(payload.get(name), bool):
            return bool(payload[name])
    if (
        isinstance(status := payload.get("outcome", payload.get("status")), str)
        and status.lower() in WENT
    ):
        return WENT[status.lower()]
    if type(code := payload.get("exit_code")) is int:
        return code == 0
    return False if payload.get("error") else None


def result(payload: Mapping[str, Any], worked: bool) -> str:
    """How it went, in words."""
    reason = payload.get("error")
    plain = "worked" if worked else "failed"
    return (
        f"{plain}: {reason}" if isinstance(reason, str) and reason.strip() and not worked else plain
    )
