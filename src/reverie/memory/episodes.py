"""Episodes: what happened, with who, what, when, where and why. Pure.

An episode is a memory of one of `kinds.EPISODE_KINDS`, such as `event`, or `task` for a piece of
work and its outcome. Its text tells all of it in words, so that search finds it by any part;
`details` keep the parts. It fades with a half-life of two weeks.

Some become episodes by themselves, from what hosts `record`: how a goal, a task or a step went. A
run of a tool is nothing to remember, whether it went well or failed: it stays in the log, the
journal counts it, and what made an error go away is a remedy (`activity.remedies`).
`EVENT_IMPORTANCE` says how much each matters; what matters less than MIN_IMPORTANCE is no episode,
unless whoever records it gives it an importance of its own.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import to_fraction
from reverie.core.model import Event, Memory
from reverie.text.tokenization import shorten_line

# In the order in which they are told; `what` comes first, `when` is the memory's `at`.
PARTS = ("who", "where", "why", "outcome")
MAX_PART_CHARS = 1_000
# The importance from which something recorded becomes an episode.
MIN_IMPORTANCE = 0.4


class EventImportance(NamedTuple):
    """How much a recorded event matters, 0..1, by how it went, and the kind of episode it
    becomes.
    """

    went_well: float
    failed: float
    kind: str


EVENT_IMPORTANCE: dict[str, EventImportance] = {
    "goal": EventImportance(0.8, 0.9, "task"),
    "task": EventImportance(0.6, 0.7, "task"),
    "step": EventImportance(0.4, 0.5, "event"),
    # Of 20 memories of a working day 15 told of tools that failed.
    "tool": EventImportance(0.1, 0.2, "event"),
}

WENT_WELL = frozenset({"success", "succeeded", "done", "completed", "ok", "passed"})
WENT_WRONG = frozenset({"failure", "failed", "error", "cancelled", "aborted", "timeout"})
# Fields of a recorded event that may say what was done, the best first.
TITLE_FIELDS = ("what", "title", "text", "goal", "task", "step", "command", "name", "tool")


def describe_episode(
    what: object,
    parts: Mapping[str, object],
) -> dict[str, Any]:
    """The text and the details of an episode; BadInput if it does not say what happened.

    `parts` are named as in PARTS.
    """
    if not isinstance(what, str) or not what.strip():
        raise BadInput("An episode needs to say what happened")
    known = validate_episode_parts(parts)
    plain = what.strip()
    # A sentence of its own, if parts follow.
    lines = [plain if not known or plain[-1] in ".!?…" else f"{plain}."]
    lines += [f"{name.capitalize()}: {value.rstrip('.')}." for name, value in known.items()]
    return {"text": " ".join(lines), "details": {"what": plain, **known}}


def validate_episode_parts(parts: Mapping[str, object]) -> dict[str, str]:
    """The parts that are said, each on one line, in the order of PARTS; else BadInput."""
    known: dict[str, str] = {}
    for name in PARTS:
        value = parts.get(name)
        if value and not isinstance(value, str):
            raise BadInput(f"{name}={value!r} must be a text")
        plain = " ".join(value.split()) if isinstance(value, str) else ""
        if len(plain) > MAX_PART_CHARS:
            raise BadInput(f"{name} has {len(plain):,} characters; at most {MAX_PART_CHARS:,}")
        if plain:
            known[name] = plain
    return known


def is_episode_about(memory: Memory, words: Iterable[str]) -> bool:
    """True if each of the words stands in what happened or in who, where and why, whatever its
    case.
    """
    parts = [str(memory.details.get(name, "")) for name in PARTS]
    said = "\n".join((memory.title, memory.text, *parts)).casefold()
    return all(word.casefold() in said for word in words)


class EpisodeOutcome(NamedTuple):
    """A recorded event as it is worth remembering."""

    kind: str
    what: str
    parts: Mapping[str, str]
    importance: float
    worked: bool


def read_outcome(event: Event) -> EpisodeOutcome | None:
    """What a recorded event says about how something went; None if it says nothing that matters."""
    row, worked = EVENT_IMPORTANCE.get(event.verb), read_success(event.payload)
    if row is None or worked is None:
        return None
    usual = row.went_well if worked else row.failed
    importance = to_fraction(event.payload.get("importance"), usual)
    what = name_what_was_done(event)
    if importance < MIN_IMPORTANCE or not what:
        return None
    # Shorter than what a person writes: a host may hand over a whole log.
    most = MAX_PART_CHARS // 2
    parts = {}
    for name in ("who", "where", "why"):
        value = event.payload.get(name)
        if isinstance(value, str):
            parts[name] = shorten_line(value, most)
    parts["outcome"] = shorten_line(describe_result(event.payload, worked), most)
    went = "done" if worked else "failed"
    text = f"{event.verb.capitalize()} {went}: {shorten_line(what, most)}"
    return EpisodeOutcome(row.kind, text, parts, importance, worked)


def name_what_was_done(event: Event) -> str:
    """What a recorded event was about, from the best of TITLE_FIELDS; a tool's name comes before
    it.
    """
    is_tool = event.verb == "tool"
    for field in TITLE_FIELDS:
        # In the record of a tool, "task" or "goal" say for what it ran.
        if is_tool and field in EVENT_IMPORTANCE and field != "tool":
            continue
        value = event.payload.get(field)
        if isinstance(value, str) and value.strip():
            tool = str(event.payload.get("tool") or "") if is_tool else ""
            return f"{tool}: {value}" if tool and tool != value else value
    return ""


def read_success(payload: Mapping[str, Any]) -> bool | None:
    """True if it went well, False if it failed; None if that is not said."""
    # The plainest first: hosts say it in very different words.
    for name in ("worked", "success", "ok"):
        if isinstance(payload.get(name), bool):
            return bool(payload[name])
    status = payload.get("outcome", payload.get("status"))
    word = status.lower() if isinstance(status, str) else ""
    if word in WENT_WELL or word in WENT_WRONG:
        return word in WENT_WELL
    code = payload.get("exit_code")
    if type(code) is int:  # a bool is no exit code
        return code == 0
    return False if payload.get("error") else None


def describe_result(payload: Mapping[str, Any], worked: bool) -> str:
    """How it went, in words, with the error if there is one."""
    if worked:
        return "worked"
    reason = payload.get("error")
    return f"failed: {reason}" if isinstance(reason, str) and reason.strip() else "failed"
