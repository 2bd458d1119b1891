"""Why do we believe this? The story of one memory in words, from its fields, its history and its edges."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from reverie.kinds import half_life, kind_of, retention
from reverie.lifecycle.usage import guesses
from reverie.model import Edge, Memory, Record
from reverie.window import SAID_BY

VERBS = {
    "remember": "kept", "import": "imported", "revise": "revised", "forget": "forgotten", "restore": "restored",
    "tag": "tagged", "link": "linked", "supersede": "superseded", "feedback": "judged", "undo": "taken back",
    "maintain": "after it was given", "learn": "learned from the conversation",
    "reconcile": "held against what was known",
    "review": "decided by a person", "sleep": "tidied in sleep",
    "gather": "learned from the conversation", "extract": "read from the conversation by a language model",
    "answer": "found by a language model to answer a question", "weigh": "weighed by a language model",
}


@dataclass(frozen=True, slots=True)
class Explanation:
    """A memory with everything that speaks for it and against it."""

    memory: Memory
    story: tuple[str, ...]
    history: tuple[Record, ...]
    edges: tuple[Edge, ...]
    retention: float

    @property
    def superseded_by(self) -> str | None:
        """The id of what replaced it."""
        return self.memory.superseded_by


def day(at: float) -> str:
    """A moment as people write it."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return f"second {at:.0f}"


def explained(memory: Memory, history: Sequence[Record], edges: Sequence[Edge], now: float,
              wordings: Sequence[Memory] = ()) -> Explanation:
    """The story, one sentence a line; `wordings` are the memories that were merged into this one."""
    kept = retention(memory, now)
    story = [origin(memory), belief(memory, kept), *taken(memory), *uses(memory), *map(worded, wordings),
             *standing(memory), *relations(memory, edges), *(told(record) for record in history)]
    return Explanation(memory, tuple(story), tuple(history), tuple(edges), kept)


def origin(memory: Memory) -> str:
    """Who said it, when, where."""
    who = f" by {memory.speaker}" if memory.speaker else ""
    where = f" in session {memory.session}" if memory.session else ""
    span = f", messages {memory.messages[0]}–{memory.messages[1]}" if memory.messages else ""
    return f"Said{who} on {day(memory.at)}{where}{span}; written down on {day(memory.created_at)} in {memory.space}."


def belief(memory: Memory, kept: float) -> str:
    """How far it is believed, and why."""
    days = half_life(memory)
    fading = "it does not fade" if days == float("inf") else f"a {memory.kind} halves every {days:g} days"
    return (f"Believed at {memory.confidence:.0%}: {SAID_BY.get(memory.provenance, memory.provenance)} "
            f"(trust {memory.trust:.0%}); retention {kept:.0%}, {fading}.")


def taken(memory: Memory) -> list[str]:
    """By which rule it was taken from a conversation, and what was being discussed (B67, B68)."""
    rule, because, about = (memory.details.get(name) for name in ("rule", "because", "about"))
    lines = [f"Taken by the rule “{rule}”: {because}."] if isinstance(rule, str) and isinstance(because, str) else []
    return [*lines, f"What was being discussed: “{about}”"] if lines and isinstance(about, str) else lines


def uses(memory: Memory) -> list[str]:
    """How it was confirmed."""
    if memory.strength <= 1 and not memory.access_count:
        return ["Never confirmed or used since."]
    last = f", last on {day(memory.last_accessed_at)}" if memory.last_accessed_at else ""
    return [f"Said or confirmed {memory.strength} times, used {memory.access_count} times{last}; "
            f"heard in {', '.join(memory.sources) or 'no named session'}."]


def worded(wording: Memory) -> str:
    """Another way in which it was said."""
    return f"Also said on {day(wording.at)} as “{shown(wording.text)}” ({wording.id})."


def standing(memory: Memory) -> list[str]:
    """Whether it still counts."""
    lines = []
    if memory.retired_at is not None:
        by = f" by {memory.superseded_by}" if memory.superseded_by else ""
        lines.append(f"No longer counts since {day(memory.retired_at)}: {memory.retired_why or 'retired'}{by}. "
                     f"`reverie restore {memory.id}` brings it back.")
    if memory.conflicts_with:
        lines.append(f"Contradicted by {', '.join(memory.conflicts_with)}.")
    if memory.expires_at is not None:
        lines.append(f"Expires on {day(memory.expires_at)}.")
    redacted = memory.details.get("redacted")
    if redacted and isinstance(redacted, list):    # anybody may use the name for something else
        lines.append(f"Taken out before it was kept: {', '.join(map(str, redacted))}.")
    if guessed := [tag for tag in guesses(memory) if tag in memory.tags]:
        lines.append(f"Nobody gave it the tag {', '.join(guessed)}: it was suggested by a word in common with others.")
    if not kind_of(memory.kind).surfaces:
        lines.append(f"A {memory.kind} never surfaces by itself.")
    return lines


def relations(memory: Memory, edges: Sequence[Edge]) -> list[str]:
    """What it is tied to."""
    return [f"{'→' if edge.src == memory.id else '←'} {edge.rel.replace('_', ' ')} "
            f"{edge.dst if edge.src == memory.id else edge.src} ({edge.weight:.2f})."
            for edge in edges if edge.rel != "has_tag"]


def told(record: Record) -> str:
    """One line of history."""
    what = VERBS.get(record.event.verb, record.event.verb)
    parts = [f"{name} was {shown(record.before.get(name))}" for name in record.after
             if name not in ("updated_at", "rel", "dst", "reinforcements")]
    return f"{day(record.event.at)}: {what}{': ' + ', '.join(parts) if parts else ''} (event {record.event.seq})."


def shown(value: object) -> str:
    """An old value, short."""
    text = "nothing" if value in (None, "", [], {}) else str(value)
    return text if len(text) <= 80 else text[:79] + "…"
