"""Why do we believe this? The story of one memory in words, from its fields, its history and its
edges.

For a person to read: a sentence a line, other memories in their own words, repetitions folded. A
short story has some twenty-five lines whatever a memory went through; the whole one tells each
wording, tie and event. Pure functions.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reverie.core.authorship import REVIEWER, UNKNOWN, author_of
from reverie.core.code_anchors import Anchor, anchors_of
from reverie.core.kinds import half_life, is_ripe, kind_of, maturity, retention
from reverie.core.model import Edge, Memory, Record, Reinforcement
from reverie.memory.history_text import QUOTED, date, day, happened, let_go, quoted, times
from reverie.memory.procedure import KIND as PROCEDURE
from reverie.memory.procedure import record_of
from reverie.memory.usage_signals import guesses
from reverie.text.tokenization import short

MOST_NAMED = 3  # wordings, or memories tied by one relation, that a short story quotes

BECAUSE = {
    "user_corrected": "the user put the agent right",
    "user_stated": "the user said so",
    "observed": "an agent saw it or was told to keep it",
    "extracted": "it was taken from a past conversation",
    "inferred": "it was concluded; nobody said it",
    "untrusted": "others wrote it, and nobody stands behind it",
}
"""Who stands behind it, by provenance."""

MOVED_BY = {
    "feedback": "use",
    "maintain": "verdict of a model",
    "reconcile": "repetition",
    "sleep": "repetition",
    "review": "repetition",
    "undo": "undo",
    "revise": "change by hand",
}
"""Verb of an event that moved confidence → what to call it."""

TIES = {
    ("supersedes", True): "It replaced",
    ("supersedes", False): "Something newer says so:",
    ("contradicts", True): "It contradicts",
    ("resembles", True): "It may say the same as",
    ("relates_to", True): "It goes with",
    ("derived_from", True): "It was made from",
    ("derived_from", False): "It went into",
    ("in_cluster", True): "It belongs to",
    ("about", True): "It is about",
    ("led_to", True): "It led to",
    ("led_to", False): "It came of",
}
"""(relation, whether read from this end) → how the sentence begins. What has no direction reads the
same from both.
"""

DECIDE = "; decide with `reverie review`"


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


def related(memory: Memory, history: Sequence[Record], edges: Sequence[Edge]) -> list[str]:
    """The ids of the memories that the story may quote."""
    ends = [end for edge in edges for end in (edge.src, edge.dst)]
    told = [record.after.get(name) for record in history for name in ("dst", "superseded_by")]
    found = dict.fromkeys([memory.superseded_by, *memory.conflicts_with, *ends, *told])
    return [id for id in found if isinstance(id, str) and ":" not in id and id != memory.id]


def explained(
    memory: Memory,
    history: Sequence[Record],
    edges: Sequence[Edge],
    now: float,
    others: Mapping[str, Memory],
    *,
    whole: bool = False,
) -> Explanation:
    """The story, one sentence a line; `others` are the memories it has to do with, by id (see
    `related`).
    """
    kept = retention(memory, now)
    story = [
        origin(memory),
        *stamped(memory),
        belief(memory, history, kept),
        *taken(memory),
        *heard(memory, history),
        *worded(memory, edges, others, whole=whole),
        *uses(memory, history),
        *practised(memory),
        *standing(memory, others),
        *code_of(memory),
        *relations(memory, edges, others, whole=whole),
        *happened(history, others, whole=whole, id=memory.id),
    ]
    return Explanation(memory, tuple(story), tuple(history), tuple(edges), kept)


def origin(memory: Memory) -> str:
    """Who said it, when, where."""
    who = f" by {memory.speaker}" if memory.speaker else ""
    where = f" in session {memory.session}" if memory.session else ""
    span = f", messages {memory.messages[0]}–{memory.messages[1]}" if memory.messages else ""
    written = "" if date(memory.at) == date(memory.created_at) else f" on {date(memory.created_at)}"
    return f"Said{who} on {day(memory.at)}{where}{span}; written down{written} in {memory.space}."


def stamped(memory: Memory) -> list[str]:
    """Which program wrote it down, and who has looked at it since (X37)."""
    author, looked = author_of(memory), memory.details.get(REVIEWER)
    lines = [f"Written by {author.words}."] if author != UNKNOWN else []
    if isinstance(looked, Mapping) and looked.get("by"):
        at = looked.get("at")
        when = f" on {date(at)}" if isinstance(at, float | int) else ""
        note = f": {looked['note']}" if looked.get("note") else ""
        lines.append(f"Looked at by {looked['by']}{when}{note} ({maturity(memory)}).")
    elif not is_ripe(memory):
        lines.append(
            f"It waits to be looked at and does not surface: `reverie curate {memory.id} validated`."
        )
    return lines


def belief(memory: Memory, history: Sequence[Record], kept: float) -> str:
    """How far it is believed, why, what has moved that, and how it fades."""
    moves = [record for record in history if record.op == "revise" and "confidence" in record.after]
    first = moves[0].before.get("confidence") if moves else memory.confidence
    causes = Counter(
        "rejection"
        if record.event.payload.get("helpful") is False
        else MOVED_BY.get(record.event.verb, "change")
        for record in moves
    )
    by = " and ".join(f"{count:,} {name}{'s' * (count != 1)}" for name, count in causes.items())
    begin = first if isinstance(first, float | int) else memory.confidence
    step = (
        "raised"
        if memory.confidence > begin
        else "lowered"
        if memory.confidence < begin
        else "back"
    )
    because = BECAUSE.get(memory.provenance, f"it comes from {memory.provenance}")
    days = half_life(memory)
    fading = (
        "It does not fade."
        if days == float("inf")
        else f"A {memory.kind} halves every {days:g} days without use: {kept:.0%} of it is left."
    )
    return (
        f"Believed {begin:.0%}, because {because}"
        f"{f'; {step} to {memory.confidence:.0%} by {by}' if causes else ''}. {fading}"
    )


def taken(memory: Memory) -> list[str]:
    """By which rule it was taken from a conversation, and what was being discussed (B67, B68)."""
    rule, because, about = (memory.details.get(name) for name in ("rule", "because", "about"))
    lines = (
        [f"Taken by the rule “{rule}”: {because}."]
        if isinstance(rule, str) and isinstance(because, str)
        else []
    )
    return (
        [*lines, f"What was being discussed: “{about}”"]
        if lines and isinstance(about, str)
        else lines
    )


def judged(history: Sequence[Record]) -> list[Record]:
    """Verdicts of those who were given it."""
    return [record for record in history if record.event.verb == "feedback"]


def heard(memory: Memory, history: Sequence[Record]) -> list[str]:
    """How often it was said again."""
    uses = {record.event.at for record in judged(history) if "strength" in record.after}
    crumbs = [crumb for crumb in memory.reinforcements if crumb.at not in uses]
    count = max(len(crumbs), memory.strength - 1 - len(uses))
    if not count:
        return []
    sessions = len({crumb.session for crumb in crumbs if crumb.session})
    where = f", in {sessions:,} conversation{'s' * (sessions != 1)}" if sessions else ""
    return [f"Heard again {times(count)}{span(crumbs)}{where}."]


def span(crumbs: Sequence[Reinforcement]) -> str:
    """From when to when."""
    days = list(dict.fromkeys(date(at) for at in sorted(crumb.at for crumb in crumbs)))
    return (
        ""
        if not days
        else f", on {days[0]}"
        if len(days) == 1
        else f", first on {days[0]}, last on {days[-1]}"
    )


def worded(
    memory: Memory, edges: Sequence[Edge], others: Mapping[str, Memory], *, whole: bool
) -> list[str]:
    """The other ways in which it was said (A80)."""
    said = list(
        dict.fromkeys(
            f"“{other.text if whole else short(other.text, QUOTED)}”"
            for other in others.values()
            if is_wording(memory, edges, other)
        )
    )
    return [f"In other words: {listed(said, whole=whole)}."] if said else []


def is_wording(memory: Memory, edges: Sequence[Edge], other: Memory) -> bool:
    """Whether another memory was merged into this one."""
    return other.retired_why == "merged" and any(
        (edge.src, edge.rel, edge.dst) == (memory.id, "derived_from", other.id) for edge in edges
    )


def listed(said: Sequence[str], *, whole: bool) -> str:
    """Some of many, unless the whole is wanted."""
    shown = said if whole else said[:MOST_NAMED]
    return ", ".join(shown) + (
        f" and {len(said) - len(shown):,} more" if len(said) > len(shown) else ""
    )


def uses(memory: Memory, history: Sequence[Record]) -> list[str]:
    """How often it was used, and what those found who used it."""
    lines = []
    if memory.access_count:
        last = f", last on {date(memory.last_accessed_at)}" if memory.last_accessed_at else ""
        lines.append(f"Used {times(memory.access_count)}{last}.")
    elif memory.strength <= 1:
        lines.append("Never heard again or used since.")
    if verdicts := judged(history):
        helped = sum(bool(record.event.payload.get("helpful")) for record in verdicts)
        lines.append(
            f"Judged {times(len(verdicts))}: helpful {helped:,}, not helpful {len(verdicts) - helped:,}."
        )
    return lines


def practised(memory: Memory) -> list[str]:
    """How it went when it was followed."""
    record = record_of(memory)
    if memory.kind != PROCEDURE or not (record.worked or record.failed):
        return []
    return [
        f"Followed {times(record.worked + record.failed)}: it worked {record.worked:,}, it failed "
        f"{record.failed:,}; the chance that it works is put at {record.chance:.0%}."
    ]


def standing(memory: Memory, others: Mapping[str, Memory]) -> list[str]:
    """Whether it still counts, and who disagrees."""
    lines = []
    if memory.retired_at is not None:
        why = let_go(
            memory.retired_why, quoted(memory.superseded_by, others) if memory.superseded_by else ""
        )
        lines.append(
            f"No longer counts since {date(memory.retired_at)}: {why}. "
            f"`reverie restore {memory.id}` brings it back."
        )
    lines += [f"Contradicted by {quoted(id, others)}{DECIDE}." for id in memory.conflicts_with]
    if memory.expires_at is not None:
        lines.append(f"Expires on {day(memory.expires_at)}.")
    redacted = memory.details.get("redacted")
    if redacted and isinstance(redacted, list):  # anybody may use the name for something else
        lines.append(f"Taken out before it was kept: {', '.join(map(str, redacted))}.")
    if guessed := [tag for tag in guesses(memory) if tag in memory.tags]:
        lines.append(
            f"Nobody gave it the tag {', '.join(guessed)}: it was suggested by a word in common with others."
        )
    if not kind_of(memory.kind).surfaces:
        lines.append(f"A {memory.kind} never surfaces by itself.")
    return lines


def code_of(memory: Memory) -> list[str]:
    """Of which code it speaks, and what has become of that."""
    return [code_line(anchor, memory.id) for anchor in anchors_of(memory)]


def code_line(anchor: Anchor, id: str) -> str:
    """What has become of one file or symbol."""
    moved = f", which was {anchor.was} when it was said" if anchor.was else ""
    since = f"as it was on {date(anchor.at)}"
    if not anchor.state:
        return f"It is about {anchor.place}{moved}, {since}."
    return f"It was {anchor.words}{moved}, {since}. `reverie about {id}` shows both; --still-true says that it holds."


def relations(
    memory: Memory, edges: Sequence[Edge], others: Mapping[str, Memory], *, whole: bool
) -> list[str]:
    """What it is tied to, a sentence a relation. What has been said already (its successor, who
    disagrees, other wordings, what it was merged into) is not said twice.
    """
    said = {
        memory.superseded_by,
        *memory.conflicts_with,
        *(anchor.node for anchor in anchors_of(memory)),
    }
    found: dict[tuple[str, bool], list[str]] = {}
    for edge in sorted(edges, key=lambda edge: -edge.weight):
        away = edge.src == memory.id
        end = edge.dst if away else edge.src
        told = end in said or (end in others and is_wording(memory, edges, others[end]))
        if not told and edge.rel != "has_tag":
            key = (edge.rel, away or (edge.rel, False) not in TIES)
            found.setdefault(key, []).append(
                quoted(end, others) if end in others else end.partition(":")[2] or end
            )
    return [
        f"{TIES.get(key, 'It is tied to')} {listed(list(dict.fromkeys(ends)), whole=whole)}"
        f"{DECIDE if key[0] in ('resembles', 'contradicts') else ''}."
        for key, ends in found.items()
    ]
