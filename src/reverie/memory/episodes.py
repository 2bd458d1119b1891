"""Episodes: what happened, with who, what, when, where and why. Pure.

An episode is a memory of an episodic kind: `event`, or `task` for a piece of work and its outcome.
Its text tells all of it in words, so that search finds it by any part; `details` keep the parts. It
fades with a half-life of two weeks.

Some become episodes by themselves, from what hosts `record`: how a goal, a task or a step went, and
tools that failed. A tool run that went well is nothing to remember: it stays in the log, and
the journal counts it. `EVENTFUL` says how much each matters; what matters less than `WORTH` is no
episode.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import to_fraction
from reverie.core.model import Event, Memory
from reverie.text.tokenization import shorten_line

EPISODE_KINDS = ("event", "task")
# in the order in which they are told; `what` comes first, `when` is `at`
PARTS = (
    "who",
    "where",
    "why",
    "outcome",
)
MAX_PART_CHARS = 1_000  # characters of one
MIN_IMPORTANCE = 0.4  # importance from which something recorded becomes an episode


class EventImportance(NamedTuple):
    """How much a recorded event matters, 0..1, by how it went, and the kind of episode that it
    becomes.
    """

    went_well: float
    failed: float
    kind: str


EVENT_IMPORTANCE: dict[str, EventImportance] = {
    "goal": EventImportance(0.8, 0.9, "task"),
    "task": EventImportance(0.6, 0.7, "task"),
    "step": EventImportance(0.4, 0.5, "event"),
    "tool": EventImportance(0.1, 0.4, "event"),
}

SUCCESS_WORDS = {
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
TITLE_FIELDS = (
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


def describe_episode(what: object, parts: Mapping[str, object]) -> dict[str, Any]:
    """The text and the details of an episode."""
    if not isinstance(what, str) or not what.strip():
        raise BadInput("An episode needs to say what happened")
    known: dict[str, str] = {}
    for name in PARTS:
        value = parts.get(name)
        if value and not isinstance(value, str):
            raise BadInput(f"{name}={value!r} must be a text")
        if isinstance(value, str) and (plain := " ".join(value.split())):
            if len(plain) > MAX_PART_CHARS:
                raise BadInput(f"{name} has {len(plain):,} characters; at most {MAX_PART_CHARS:,}")
            known[name] = plain
    plain = what.strip()
    first = plain if not known or plain[-1] in ".!?…" else f"{plain}."
    lines = [
        first,
        *(f"{name.capitalize()}: {value.rstrip('.')}." for name, value in known.items()),
    ]
    return {"text": " ".join(lines), "details": {"what": plain, **known}}


def is_episode_about(memory: Memory, words: Iterable[str]) -> bool:
    """Whether each of the words stands in what happened or in who, where and why, whatever its
    case.
    """
    said = "\n".join(
        (memory.title, memory.text, *(str(memory.details.get(name, "")) for name in PARTS))
    ).casefold()
    return all(word.casefold() in said for word in words)


class EpisodeOutcome(NamedTuple):
    """A recorded event as it is worth remembering."""

    kind: str
    what: str
    parts: Mapping[str, str]
    importance: float
    worked: bool


def read_outcome(event: Event) -> EpisodeOutcome | None:
    """What a recorded event says about how something went; None where it says nothing, or nothing
    that matters.
    """
    row, worked = EVENT_IMPORTANCE.get(event.verb), read_success(event.payload)
    if row is None or worked is None:
        return None
    importance = to_fraction(
        event.payload.get("importance"), row.went_well if worked else row.failed
    )
    names = (
        TITLE_FIELDS
        if event.verb != "tool"
        else tuple(name for name in TITLE_FIELDS if name not in EVENT_IMPORTANCE or name == "tool")
    )
    named = [
        str(event.payload[name])
        for name in names
        if isinstance(event.payload.get(name), str) and str(event.payload[name]).strip()
    ]
    if importance < MIN_IMPORTANCE or not named:
        return None
    label = str(event.payload.get("tool") or "") if event.verb == "tool" else ""
    what = f"{label}: {named[0]}" if label and label != named[0] else named[0]
    known = {
        name: value
        for name in ("who", "where", "why")
        if isinstance(value := event.payload.get(name), str)
    }
    most = MAX_PART_CHARS // 2
    return EpisodeOutcome(
        row.kind,
        f"{event.verb.capitalize()} {'done' if worked else 'failed'}: {shorten_line(what, most)}",
        {
            **{name: shorten_line(value, most) for name, value in known.items()},
            "outcome": shorten_line(describe_result(event.payload, worked), most),
        },
        importance,
        worked,
    )


def read_success(payload: Mapping[str, Any]) -> bool | None:
    """Whether it went well; None if that is not said."""
    for name in ("worked", "success", "ok"):
        if isinstance(payload.get(name), bool):
            return bool(payload[name])
    if (
        isinstance(status := payload.get("outcome", payload.get("status")), str)
        and status.lower() in SUCCESS_WORDS
    ):
        return SUCCESS_WORDS[status.lower()]
    if type(code := payload.get("exit_code")) is int:
        return code == 0
    return False if payload.get("error") else None


def describe_result(payload: Mapping[str, Any], worked: bool) -> str:
    """How it went, in words."""
    reason = payload.get("error")
    plain = "worked" if worked else "failed"
    return (
        f"{plain}: {reason}" if isinstance(reason, str) and reason.strip() and not worked else plain
    )
