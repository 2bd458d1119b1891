"""A new memory meets those that are there: what is merged, what steps back, what is shown to a
person.

Pure: a `Ledger` takes memories as they are and says what they become; `Ledger.changes` is all that
differs.

- The same said again makes the older memory stronger; the new wording steps back ("merged") and
  stays readable by id.
- Of two that contradict each other a correction by the user wins, then the better source, then what
  was said later (A83–A85); where that is not sure, or the newer one comes from a weaker source,
  both stay and are flagged (A86).
- What is nearly the same is tied to its nearest relative by `resembles`, for a person, a model or
  sleep to decide.

Always true: nothing is lost (every wording and every loser is kept and can be restored); a memory
that no longer counts, has expired or is not yet true takes no part; a merged one points to one that
counts, so there are no circles; what a person has decided about a pair is not decided again
(`settled`); doing it twice changes nothing more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from reverie.core.code_anchors import merge_anchor_details
from reverie.core.kinds import (
    EXCERPT,
    FILE,
    KINDS,
    is_conversation_turn,
    is_unverified,
    is_valid_at,
    kind_of,
)
from reverie.core.model import Change, Edge, Link, Memory, Retire, Revise
from reverie.memory.memory_changes import HELPFUL, MAX_REINFORCEMENTS, collect_reinforcements
from reverie.memory.procedure import PARTS
from reverie.reconciliation.paraphrase.statement_comparison import (
    RELATIONS,
    Verdict,
    compare_memories,
)
from reverie.reconciliation.paraphrase.statement_parser import read_statement
from reverie.reconciliation.paraphrase.wording_vote import MIN_VOTING
from reverie.text.tokenization import fold_text

TALK_KINDS = ("fact", "note")  # kinds that turns of a conversation are kept as, with a speaker
# kinds that are raw material as soon as they come out of a session
RAW_KINDS = (
    "observation",
    "event",
    EXCERPT,
)
MAX_STATEMENT_CHARS = (
    600  # characters; what is longer is a document, and only the same words are the same
)
# cosine from which two documents are told to be nearly the same (CONSTANTS: duplicate deep)
NEAR_DOCUMENT_COSINE = 0.95
# where the new one says itself that it replaces something ("no longer", "instead of")
SURE_UPDATE = 0.5
SURE_CORRECTED = 0.7
"""How sure a plain contradiction must be to let one step back. Only a correction by the user can:
it is about something that was believed. Without one, even verdicts above 0.9 are wrong in one case
of seven (bench/reconcile), so they are flagged.
"""
MAX_RELATIVES = 10  # relatives that a new memory is held against (CONSTANTS: contradiction probe)
SURE_BRIDGE = 0.7  # that a new wording says the same as two memories, to make one of these
# that one memory is held against: a loop of "attempt 5", "attempt 6" must not flood the queue
MAX_RIVALS = 3
MAX_WORDINGS_COMPARED = 8  # wordings of a memory that are held against those of another
MIN_AGREEING = 0.75  # share of these that must say the same to make one memory of two
# share that may say otherwise, as readings fail, without keeping two apart that a wording bridges
MAX_OPPOSING = 0.25
MIN_AKIN = 0.5  # share that must be akin at least
MAX_OPEN_CASES = (
    3  # open questions that name one memory, but for the first about what is new (CC-87)
)
# cosine from which a near-duplicate is shown to a person (CONSTANTS: duplicate on write) …
NEAR_COSINE = 0.80
NEAR_WORD_SHARE = (
    0.75  # … or this part of the words of both in common (CONSTANTS row 7: tokens, report)
)
OPPOSED_RELATIONS = ("contradicts", "updates")
DOUBTED_VERDICT = Verdict(
    "contradicts",
    0.0,
    "a correction puts one thing right: what else it contradicts is only flagged",
)
# what a memory has of its own, which nobody in another space is told
OWN_FIELDS = (
    "triggers",
    "files",
    "tags",
)
RETIRED_FIELDS = ("retired_at", "retired_why", "superseded_by")

IdPair = frozenset[str]


class Neighbour(NamedTuple):
    """A memory that a new one is held against, and the cosine of the two; None where one has no
    vector.
    """

    id: str
    cosine: float | None


class PairComparison(NamedTuple):
    """What a new memory is to an older one that counts."""

    old: Memory
    verdict: Verdict
    cosine: float | None


class PairRuling(NamedTuple):
    """What was found out about a pair: "same", "near", "contradicts" or "updates"."""

    new: str
    old: str
    relation: str


# Who takes part


def is_reconcilable(memory: Memory, now: float) -> bool:
    """Whether a memory is held against others: lasting knowledge, and how things are done, that
    counts and is true now.

    Turns of talk do not: two people who say "thanks" are two events. Nor does what happened, what
    is to be done, how something felt. Nor do files: who wrote one finds it as it was.
    """
    return (
        memory.active
        and memory.kind != FILE
        and kind_of(memory.kind).type in ("semantic", "procedural")
        and not is_raw_material(memory)
        and (memory.expires_at is None or memory.expires_at > now)
        and is_valid_at(memory, now)
    )


def is_raw_material(memory: Memory) -> bool:
    """Whether it is a turn of a conversation, or what was seen in one: nothing that somebody chose
    to keep.
    """
    return (is_conversation_turn(memory) and memory.kind in TALK_KINDS) or bool(
        memory.session and memory.provenance == "observed" and memory.kind in RAW_KINDS
    )


def is_in_wider_space(old: Memory, new: Memory) -> bool:
    """Whether the old one lies in a space that contains the new one's."""
    return new.space.startswith(f"{old.space}/")


def can_merge(old: Memory, new: Memory) -> bool:
    """Whether the new one, if it says the same, may become one with the old.

    Within a space, kinds that both hold lasting knowledge may meet; else kinds must be equal. A
    memory of a project may strengthen one of the user's own that is believed as firmly and has all
    that it has; never the other way round, for whoever asks in another project could not see it any
    more (CC-55, X15).
    """
    if old.space != new.space and not (
        is_in_wider_space(old, new)
        and old.trust >= new.trust
        and old.kind == new.kind
        and covers_own_fields(old, new)
    ):
        return False
    if (old.valid_from, old.valid_to) != (new.valid_from, new.valid_to) or not has_same_steps(
        old, new
    ):
        return False
    return old.kind == new.kind or all(
        m.kind in KINDS and kind_of(m.kind).type == "semantic" for m in (old, new)
    )


def covers_own_fields(old: Memory, new: Memory) -> bool:
    """Whether a memory elsewhere is called up by all that calls the new one up, and for as long."""
    return old.expires_at == new.expires_at and all(
        set(getattr(new, name)) <= set(getattr(old, name)) for name in OWN_FIELDS
    )


def has_same_steps(old: Memory, new: Memory) -> bool:
    """Whether two procedures do the same; of other memories the text says it all, whatever is told
    about them.
    """
    return get_procedure_parts(old) == get_procedure_parts(new)


def get_procedure_parts(memory: Memory) -> dict[str, object]:
    """The details that bear on what is meant: the parts of a procedure, as far as it has some."""
    found = {name: memory.details.get(name) for name in PARTS} if memory.kind == "procedure" else {}
    return {name: value for name, value in found.items() if value}


def is_worth_review(old: Memory, new: Memory, cosine: float | None) -> bool:
    """Whether a person is asked about two that nearly say the same: close, about the same, and of
    one type.

    How to do something and what never to do are never the same, however much alike they sound.
    """
    if kind_of(old.kind).type != kind_of(new.kind).type or {old.kind, new.kind} == {
        "procedure",
        "negative",
    }:
        return False
    mine, theirs = (
        (said := read_statement(memory.text)).affirmed | said.denied for memory in (old, new)
    )
    shared = len(mine & theirs)
    return shared > 0 and (
        (cosine or 0.0) >= NEAR_COSINE or shared >= NEAR_WORD_SHARE * len(mine | theirs)
    )


# What becomes of two


def absorb_memory(kept: Memory, gone: Memory, now: float) -> Memory:
    """The memory that stays when another one said the same: stronger, believed as the better of
    both (A78–A81).

    Of a memory of a narrower space only that it was said is taken over, and not in which session:
    the rest is nobody else's business. What others wrote makes nothing stronger, itself least of
    all, however often it is met.
    """
    own = kept.space == gone.space
    if is_unverified(gone):
        return (
            kept._replace(
                reinforcements=(*kept.reinforcements, *collect_reinforcements(gone, kept.space))[
                    -MAX_REINFORCEMENTS:
                ],
                updated_at=now,
            )
            if is_unverified(kept)
            else kept
        )
    better = gone if own and gone.trust > kept.trust else kept
    lasting = (
        gone.kind
        if own and kind_of(gone.kind).half_life > kind_of(kept.kind).half_life
        else kept.kind
    )
    stronger = kept._replace(
        strength=kept.strength + gone.strength,
        reinforcements=(*kept.reinforcements, *collect_reinforcements(gone, kept.space))[
            -MAX_REINFORCEMENTS:
        ],
        confidence=min(1.0, max(kept.confidence, gone.confidence if own else 0.0) + HELPFUL),
        last_accessed_at=max(kept.last_accessed_at or kept.at, gone.at),
        updated_at=now,
    )
    if not own:
        return stronger
    return stronger._replace(
        trust=better.trust,
        provenance=better.provenance,
        kind=lasting,
        salience=max(kept.salience, gone.salience),
        access_count=kept.access_count + gone.access_count,
        title=kept.title or gone.title,
        tags=union_in_order(kept.tags, gone.tags),
        files=union_in_order(kept.files, gone.files),
        triggers=union_in_order(kept.triggers, gone.triggers),
        details=merge_anchor_details(kept, gone),
        expires_at=None
        if kept.expires_at is None or gone.expires_at is None
        else max(kept.expires_at, gone.expires_at),
    )


def is_mixed_authorship(one: Memory, other: Memory) -> bool:
    """Whether others wrote one of two, and somebody stands behind the other: then the words of that
    one stay, and nothing that the first says is held against it.
    """
    return is_unverified(one) != is_unverified(other)


def order_by_authorship(kept: Memory, gone: Memory) -> tuple[Memory, Memory]:
    """Which of two stays and which goes, if the first is to stay: one that others wrote never stays
    for one of ours.
    """
    return (gone, kept) if is_mixed_authorship(kept, gone) and is_unverified(kept) else (kept, gone)


def union_in_order(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    """All of both lists, each once."""
    return tuple(dict.fromkeys((*one, *other)))


def mark_retired(memory: Memory, now: float, why: str, newer: str) -> Memory:
    """The memory when another one stands for it."""
    return memory._replace(retired_at=now, retired_why=why, superseded_by=newer)


def judge_pair(old: Memory, new: Memory, cosine: float | None, wordings: Sequence[str]) -> Verdict:
    """What the new one is to the old. Statements are compared; of a document only a repetition can
    be told.
    """
    if max(len(old.text), len(new.text)) <= MAX_STATEMENT_CHARS:
        return compare_memories(
            old,
            new,
            cosine,
            wordings=[text for text in wordings if len(text) <= MAX_STATEMENT_CHARS],
        )
    if fold_text(new.text) in map(fold_text, (old.text, *wordings)):
        return Verdict("same", 1.0, "the same words")
    return Verdict(
        "near" if (cosine or 0.0) >= NEAR_DOCUMENT_COSINE else "apart",
        cosine or 0.0,
        "nearly the same document",
    )


def pick_believed(old: Memory, new: Memory, at: float) -> Memory | None:
    """Which of two that contradict each other is believed; None where the newer one comes from a
    weaker source.

    A correction by the user wins over anything else, then the source that is believed more; of
    equals what was said later, where `at` is when the new one was said (last) (A83–A86, CC-57).
    """
    ranks = [(m.provenance == "user_corrected", m.trust) for m in (old, new)]
    if ranks[0] != ranks[1]:
        return new if ranks[1] > ranks[0] else None
    return new if at >= old.at else old


def is_sure_conflict(verdict: Verdict, winner: Memory) -> bool:
    """Whether a contradiction is plain enough to let one step back unasked."""
    if verdict.relation == "updates":
        return verdict.confidence >= SURE_UPDATE
    return winner.provenance == "user_corrected" and verdict.confidence >= SURE_CORRECTED


def can_yield(loser: Memory, winner: Memory) -> bool:
    """Whether one may take the other's place: rules and skills never yield, nor anything to what
    will expire.
    """
    ends = min(
        (end for end in (winner.expires_at, winner.valid_to) if end is not None), default=None
    )
    return (
        kind_of(loser.kind).contradictable
        and kind_of(winner.kind).contradictable
        and (ends is None or loser.expires_at is not None)
    )


def resolve_merged(memories: Mapping[str, Memory], id: str) -> Memory | None:
    """The memory that stands for this one: itself, or what it was merged into, to the end; None if
    that counts not.
    """
    seen: set[str] = set()
    memory = memories.get(id)
    while memory and not memory.active and memory.retired_why == "merged" and memory.id not in seen:
        seen.add(memory.id)
        memory = memories.get(memory.superseded_by or "")
    return memory if memory and memory.active else None


def is_same_family(
    one: Memory, ones: Sequence[str], other: Memory, others: Sequence[str], cosine: float | None
) -> bool:
    """Whether of two memories the one of fewer wordings says what the other says, in nearly all of
    them.

    Only where that other is known well enough for its wordings to vote; else the pair was compared
    as it is.
    """
    known = max(len(ones), len(others)) + 1 >= MIN_VOTING
    return known and compare_families(one, ones, other, others, cosine)["same"] >= MIN_AGREEING


def compare_families(
    one: Memory, ones: Sequence[str], other: Memory, others: Sequence[str], cosine: float | None
) -> dict[str, float]:
    """What share of the wordings of the lesser known of two memories is what to the
    better known.
    """
    if len(others) > len(ones):
        one, ones, other, others = other, others, one, ones
    said = (other.text, *others)[:MAX_WORDINGS_COMPARED]
    count = Counter(
        judge_pair(one, other._replace(text=text), cosine, ones).relation for text in said
    )
    return {relation: count[relation] / len(said) for relation in RELATIONS}


def plan_merge(kept: Memory, gone: Memory, now: float) -> list[Change]:
    """The changes that make one memory of two, when a person says so (B134)."""
    kept, gone = order_by_authorship(kept, gone)
    return [
        *diff_memory(kept, absorb_memory(kept, gone, now)),
        *diff_memory(gone, mark_retired(gone, now, "merged", kept.id)),
        Link(edge=Edge(src=kept.id, rel="derived_from", dst=gone.id)),
    ]


def diff_memory(before: Memory, after: Memory) -> list[Change]:
    """The changes that make one value of a memory into the other."""
    fields = {
        name: new
        for name, old, new in zip(Memory._fields, before, after, strict=True)
        if old != new
    }
    changes: list[Change] = []
    if before.active and after.retired_at is not None:
        changes.append(
            Retire(
                id=after.id,
                at=after.retired_at,
                why=after.retired_why,
                superseded_by=after.superseded_by,
            )
        )
        fields = {name: value for name, value in fields.items() if name not in RETIRED_FIELDS}
    return [Revise(id=after.id, fields=fields), *changes] if fields else changes
