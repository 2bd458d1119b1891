"""Why do we believe this? The story of one memory in words, from its fields, its history and its
edges.

For a person to read: a sentence a line, other memories in their own words, repetitions folded. A
short story has some twenty-five lines whatever a memory went through; the whole one tells each
wording, link and event. Pure functions.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from reverie.core.authorship import REVIEWER, UNKNOWN_AUTHOR, author_of
from reverie.core.code_anchors import CodeAnchor, anchors_of
from reverie.core.kinds import half_life, is_mature, kind_of, maturity_of, retention
from reverie.core.model import Edge, Event, Memory, Record, Reinforcement
from reverie.core.validity import format_validity
from reverie.memory.history_text import (
    MAX_QUOTED_CHARS,
    Memories,
    Records,
    count_in_words,
    describe_retirement,
    format_date,
    format_moment,
    quote_memory,
    tell_history,
)
from reverie.memory.procedure import KIND as PROCEDURE
from reverie.memory.procedure import read_practice_record
from reverie.memory.usage_signals import suggested_tags
from reverie.text.tokenization import shorten_line

UNKNOWN_REASON = "reason not recorded"
# Wordings, or memories tied by one relation, that a short story quotes.
MAX_NAMED = 3

PROVENANCE_REASONS = {
    "user_corrected": "the user put the agent right",
    "user_stated": "the user said so",
    "observed": "an agent saw it or was told to keep it",
    "extracted": "it was taken from a past conversation",
    "inferred": "it was concluded; nobody said it",
    "untrusted": "others wrote it, and nobody stands behind it",
}
"""Who stands behind it, by provenance."""

CONFIDENCE_CAUSES = {
    "feedback": "use",
    "maintain": "verdict of a model",
    "reconcile": "repetition",
    "sleep": "repetition",
    "review": "repetition",
    "undo": "undo",
    "revise": "change by hand",
}
"""Verb of an event that moved confidence → what to call it."""

RELATION_PHRASES = {
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
    ("depends_on", True): "It holds because of",
    ("depends_on", False): "It is the reason for",
}
"""(relation, True if read from its source) → how the sentence begins. What has no direction reads
the same from both ends.
"""

DECIDE_HINT = "; decide with `reverie review`"

Edges = Sequence[Edge]


class PastInjection(NamedTuple):
    """One time that a memory was given to an agent by itself."""

    at: float
    session: str
    space: str
    why: tuple[str, ...]  # empty: the event was written by a version that kept no reasons

    @property
    def sentence(self) -> str:
        """When, where and why, in a line."""
        where = f" in session {self.session}" if self.session else ""
        reason = "; ".join(self.why) or UNKNOWN_REASON
        return f"{format_moment(self.at)}{where} in {self.space}: {reason}"


@dataclass(frozen=True, slots=True)
class Explanation:
    """A memory with everything that speaks for it and against it."""

    memory: Memory
    story: tuple[str, ...]
    history: tuple[Record, ...]
    edges: tuple[Edge, ...]
    retention: float
    brought_up: tuple[PastInjection, ...] = ()  # the newest first

    @property
    def superseded_by(self) -> str | None:
        """The id of what replaced it."""
        return self.memory.superseded_by


def find_related_ids(
    memory: Memory,
    history: Records,
    edges: Edges,
) -> list[str]:
    """The ids of the memories that the story may quote, each once."""
    ends = [end for edge in edges for end in (edge.src, edge.dst)]
    told = [record.after.get(name) for record in history for name in ("dst", "superseded_by")]
    # Tags, clusters and files have a colon; they are told by their names.
    found = dict.fromkeys([memory.superseded_by, *memory.conflicts_with, *ends, *told])
    return [id for id in found if isinstance(id, str) and ":" not in id and id != memory.id]


def explain_memory(
    memory: Memory,
    history: Records,
    edges: Edges,
    now: float,
    others: Memories,
    turns: Sequence[Event] = (),
    *,
    whole: bool = False,
) -> Explanation:
    """The story of a memory, one sentence a line.

    `others` are the memories that it has to do with, by id (see `find_related_ids`); `turns` are
    those that may have brought it up.
    """
    kept = retention(memory, now)
    given = list_past_injections(memory.id, turns)
    story = [
        describe_origin(memory),
        *describe_authorship(memory),
        describe_belief(memory, history, kept),
        *describe_extraction(memory),
        *describe_repetitions(memory, history),
        *describe_wordings(memory, edges, others, whole=whole),
        *describe_surfacing(given),
        *describe_use(memory, history, is_given=bool(given)),
        *describe_practice(memory),
        *describe_standing(memory, others),
        *[describe_anchor(anchor, memory.id) for anchor in anchors_of(memory)],
        *describe_relations(memory, edges, others, whole=whole),
        *tell_history(
            history,
            others,
            whole=whole,
            id=memory.id,
        ),
    ]
    return Explanation(
        memory,
        tuple(story),
        tuple(history),
        tuple(edges),
        kept,
        given,
    )


def list_past_injections(id: str, turns: Sequence[Event]) -> tuple[PastInjection, ...]:
    """When these turns gave a memory to an agent, and why, in the order of the turns."""
    found = []
    for turn in turns:
        given = turn.payload.get("given") or ()
        if id in given:
            reasons = dict(zip(given, turn.payload.get("why") or (), strict=False))
            why = tuple(map(str, reasons.get(id, ())))
            found.append(PastInjection(turn.at, turn.session, turn.space, why))
    return tuple(found)


def describe_origin(memory: Memory) -> str:
    """Who said it, when and where, and when it was written down."""
    who = f" by {memory.speaker}" if memory.speaker else ""
    where = f" in session {memory.session}" if memory.session else ""
    span = f", messages {memory.messages[0]}–{memory.messages[1]}" if memory.messages else ""
    said_on, written_on = format_date(memory.at), format_date(memory.created_at)
    written = "" if said_on == written_on else f" on {written_on}"
    said = f"Said{who} on {format_moment(memory.at)}{where}{span}"
    return f"{said}; written down{written} in {memory.space}."


def describe_authorship(memory: Memory) -> list[str]:
    """Which program wrote it down, and who has looked at it since."""
    author, looked = author_of(memory), memory.details.get(REVIEWER)
    lines = [f"Written by {author.label}."] if author != UNKNOWN_AUTHOR else []
    if isinstance(looked, Mapping) and looked.get("by"):
        at = looked.get("at")
        when = f" on {format_date(at)}" if isinstance(at, float | int) else ""
        note = f": {looked['note']}" if looked.get("note") else ""
        lines.append(f"Looked at by {looked['by']}{when}{note} ({maturity_of(memory)}).")
    elif not is_mature(memory):
        lines.append(
            f"It waits to be looked at and does not surface: "
            f"`reverie memory curate {memory.id}` approves it."
        )
    return lines


def describe_belief(
    memory: Memory,
    history: Records,
    kept: float,
) -> str:
    """How far it is believed, why, what has moved that, and how it fades; `kept` is its
    retention.
    """
    moves = [record for record in history if record.op == "revise" and "confidence" in record.after]
    # What it began with stands in no field: the first change knows it.
    first = moves[0].before.get("confidence") if moves else memory.confidence
    begin = first if isinstance(first, float | int) else memory.confidence
    because = PROVENANCE_REASONS.get(memory.provenance, f"it comes from {memory.provenance}")
    moved = describe_confidence_moves(moves, begin, memory.confidence)
    days = half_life(memory)
    if days == float("inf"):
        fading = "It does not fade."
    else:
        fading = (
            f"A {memory.kind} halves every {days:g} days without use: {kept:.0%} of it is left."
        )
    return f"Believed {begin:.0%}, because {because}{moved}. {fading}"


def describe_confidence_moves(
    moves: Records,
    begin: float,
    now: float,
) -> str:
    """How confidence went from `begin` to what it is now, and by what; empty if it never moved."""
    if not moves:
        return ""
    causes: Counter[str] = Counter()
    for record in moves:
        if record.event.payload.get("helpful") is False:
            causes["rejection"] += 1
        else:
            causes[CONFIDENCE_CAUSES.get(record.event.verb, "change")] += 1
    by = " and ".join(f"{count:,} {name}{'s' * (count != 1)}" for name, count in causes.items())
    step = "back"
    if now != begin:
        step = "raised" if now > begin else "lowered"
    return f"; {step} to {now:.0%} by {by}"


def describe_extraction(memory: Memory) -> list[str]:
    """By which rule it was taken from a conversation, and what was being discussed."""
    rule, because, about = (memory.details.get(name) for name in ("rule", "because", "about"))
    if not isinstance(rule, str) or not isinstance(because, str):
        return []
    lines = [f"Taken by the rule “{rule}”: {because}."]
    if isinstance(about, str):
        lines.append(f"What was being discussed: “{about}”")
    return lines


def select_feedback(history: Records) -> list[Record]:
    """The records of what those who were given it said of it."""
    return [record for record in history if record.event.verb == "feedback"]


def describe_repetitions(memory: Memory, history: Records) -> list[str]:
    """How often it was said again, when, and in how many conversations."""
    # Use leaves a breadcrumb too, but nobody has said it again.
    uses = {record.event.at for record in select_feedback(history) if "strength" in record.after}
    crumbs = [crumb for crumb in memory.reinforcements if crumb.at not in uses]
    # Breadcrumbs are capped, `strength` counts on.
    count = max(len(crumbs), memory.strength - 1 - len(uses))
    if not count:
        return []
    sessions = len({crumb.session for crumb in crumbs if crumb.session})
    where = f", in {sessions:,} conversation{'s' * (sessions != 1)}" if sessions else ""
    return [f"Heard again {count_in_words(count)}{describe_period(crumbs)}{where}."]


def describe_period(crumbs: Sequence[Reinforcement]) -> str:
    """From when to when, in words; empty if there are none."""
    days = list(dict.fromkeys(format_date(at) for at in sorted(crumb.at for crumb in crumbs)))
    if not days:
        return ""
    return f", on {days[0]}" if len(days) == 1 else f", first on {days[0]}, last on {days[-1]}"


def describe_wordings(
    memory: Memory,
    edges: Edges,
    others: Memories,
    *,
    whole: bool,
) -> list[str]:
    """The other ways in which it was said."""
    texts = [other.text for other in others.values() if is_wording(memory, edges, other)]
    if not whole:
        texts = [shorten_line(text, MAX_QUOTED_CHARS) for text in texts]
    quoted = list(dict.fromkeys(f"“{text}”" for text in texts))
    return [f"In other words: {list_briefly(quoted, whole=whole)}."] if quoted else []


def is_wording(
    memory: Memory,
    edges: Edges,
    other: Memory,
) -> bool:
    """True if the other memory was merged into this one."""
    return other.retired_why == "merged" and any(
        (edge.src, edge.rel, edge.dst) == (memory.id, "derived_from", other.id) for edge in edges
    )


def list_briefly(said: Sequence[str], *, whole: bool) -> str:
    """The first few of many in one line, unless the whole is wanted."""
    shown = said if whole else said[:MAX_NAMED]
    more = f" and {len(said) - len(shown):,} more" if len(said) > len(shown) else ""
    return ", ".join(shown) + more


def describe_surfacing(given: Sequence[PastInjection]) -> list[str]:
    """How often it was given to an agent by itself, among the turns that were looked at."""
    if not given:
        return []
    sessions = len({one.session for one in given})
    where = f" in {sessions:,} conversations" if sessions > 1 else ""
    last = format_date(max(one.at for one in given))
    return [f"Came up by itself {count_in_words(len(given))}{where}, last on {last}."]


def describe_use(memory: Memory, history: Records, *, is_given: bool = False) -> list[str]:
    """How often it was used, and what those found who used it."""
    lines = []
    if memory.access_count:
        last_used = memory.last_accessed_at
        last = f", last on {format_date(last_used)}" if last_used else ""
        lines.append(f"Used {count_in_words(memory.access_count)}{last}.")
    # Said again is something, too: then this would sound as if it were worth nothing.
    elif memory.strength <= 1:
        lines.append(f"Never heard again {'and not ' if is_given else 'or '}used since.")
    verdicts = select_feedback(history)
    if verdicts:
        helped = sum(bool(record.event.payload.get("helpful")) for record in verdicts)
        lines.append(
            f"Judged {count_in_words(len(verdicts))}: helpful {helped:,}, "
            f"not helpful {len(verdicts) - helped:,}."
        )
    return lines


def describe_practice(memory: Memory) -> list[str]:
    """How it went when a procedure was followed; empty for anything else."""
    record = read_practice_record(memory)
    if memory.kind != PROCEDURE or not (record.worked or record.failed):
        return []
    return [
        f"Followed {count_in_words(record.worked + record.failed)}: it worked {record.worked:,}, "
        f"it failed {record.failed:,}; the chance that it works is put at {record.chance:.0%}."
    ]


def describe_standing(memory: Memory, others: Memories) -> list[str]:
    """Whether it still counts, who disagrees, and what is special about it."""
    lines = []
    if memory.retired_at is not None:
        successor = quote_memory(memory.superseded_by, others) if memory.superseded_by else ""
        why = describe_retirement(memory.retired_why, successor)
        lines.append(
            f"No longer counts since {format_date(memory.retired_at)}: {why}. "
            f"`reverie memory restore {memory.id}` brings it back."
        )
    lines += [
        f"Contradicted by {quote_memory(id, others)}{DECIDE_HINT}." for id in memory.conflicts_with
    ]
    if validity := format_validity(memory):
        lines.append(f"True {validity}.")
    if memory.expires_at is not None:
        lines.append(f"Expires on {format_moment(memory.expires_at)}.")
    redacted = memory.details.get("redacted")
    if redacted and isinstance(redacted, list):  # anybody may use the name for something else
        lines.append(f"Taken out before it was kept: {', '.join(map(str, redacted))}.")
    guessed = [tag for tag in suggested_tags(memory) if tag in memory.tags]
    if guessed:
        lines.append(
            f"Nobody gave it the tag {', '.join(guessed)}: it was suggested by a word in common "
            "with others."
        )
    if not kind_of(memory.kind).surfaces:
        lines.append(f"A {memory.kind} never surfaces by itself.")
    return lines


def describe_anchor(anchor: CodeAnchor, id: str) -> str:
    """What has become of one file or symbol."""
    moved = f", which was {anchor.was} when it was said" if anchor.was else ""
    since = f"as it was on {format_date(anchor.at)}"
    if not anchor.state:
        return f"It is about {anchor.location}{moved}, {since}."
    return (
        f"It was {anchor.notice}{moved}, {since}. `reverie code anchors {id}` shows both; "
        "--still-true says that it holds."
    )


def describe_relations(
    memory: Memory,
    edges: Edges,
    others: Memories,
    *,
    whole: bool,
) -> list[str]:
    """One sentence for each relation that the memory has.

    What the story says elsewhere (its successor, who disagrees, other wordings, what it was merged
    into) is left out.
    """
    elsewhere = {
        memory.superseded_by,
        *memory.conflicts_with,
        *(anchor.edge_end for anchor in anchors_of(memory)),
    }
    found: dict[tuple[str, bool], list[str]] = {}
    for edge in sorted(edges, key=lambda edge: -edge.weight):
        is_source = edge.src == memory.id
        end = edge.dst if is_source else edge.src
        other = others.get(end)
        is_told = end in elsewhere or (other is not None and is_wording(memory, edges, other))
        # Tags stand with the memory itself.
        if is_told or edge.rel == "has_tag":
            continue
        # A relation without a direction has one row: it reads the same from both ends.
        key = (edge.rel, is_source or (edge.rel, False) not in RELATION_PHRASES)
        name = end.partition(":")[2] or end if other is None else quote_memory(end, others)
        found.setdefault(key, []).append(name)
    lines = []
    for key, ends in found.items():
        phrase = RELATION_PHRASES.get(key, "It is tied to")
        hint = DECIDE_HINT if key[0] in ("resembles", "contradicts") else ""
        lines.append(f"{phrase} {list_briefly(list(dict.fromkeys(ends)), whole=whole)}{hint}.")
    return lines
