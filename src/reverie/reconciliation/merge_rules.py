"""What two memories become: which pairs are compared, merged, replaced or shown to a person.

- The same said again makes the older memory stronger; the new wording is retired as "merged" and
  stays readable by id.
- Two that contradict each other both stay and are flagged, as a rule. One is retired unasked only
  where one replaces the other (the verdict "updates": it says so itself, or gives another value to
  what has one at a time), or where the one that wins is a correction by the user
  (`is_sure_conflict`); and then only if the other may yield (`can_yield`).
- Which of the two that is, `pick_believed` says: a correction by the user wins, then the better
  source, then what was said later. If the newer one has the weaker source, none does, unless the
  older one's is clearly better (CLEARLY_BETTER) and the newer one tells of no change.
- A near-duplicate is tied to its nearest relative by `resembles`, for a person, a model or a
  consolidation pass to decide.

Pure: values in, values and changes out. Always true: nothing is lost (every wording and every loser
is kept and can be restored); a memory that is retired, expired or not yet valid takes no part; a
merged one points to an active one, so there are no circles; doing it twice changes nothing more.
`python -m bench.reconcile` counts what would wrongly be merged or retired; docs/why-reconcile.md
has the reasons and figures.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from reverie.core.code_anchors import merge_anchor_details
from reverie.core.kinds import (
    KINDS,
    NEGATIVE,
    NOTHING,
    OBSERVED,
    SAID,
    is_conversation_turn,
    is_unverified,
    kind_of,
)
from reverie.core.model import Change, Edge, Link, Memory, Retire, Revise
from reverie.core.validity import is_valid_at
from reverie.memory.memory_changes import HELPFUL, MAX_REINFORCEMENTS, collect_reinforcements
from reverie.memory.procedure import KIND as PROCEDURE
from reverie.memory.procedure import PARTS
from reverie.reconciliation.paraphrase.statement_comparison import (
    RELATIONS,
    Verdict,
    compare_memories,
)
from reverie.reconciliation.paraphrase.statement_parser import read_statement
from reverie.reconciliation.paraphrase.wording_vote import MIN_VOTING
from reverie.text.text_signals import derive_triggers
from reverie.text.tokenization import fold_text

# A longer text is a document, of which only a repetition word for word is the same.
MAX_STATEMENT_CHARS = 600
NEAR_DOCUMENT_COSINE = 0.95
# An update says itself that it replaces something ("no longer", "instead of"): half sure is enough.
SURE_UPDATE = 0.5
# A plain contradiction retires something only as a correction by the user, which is about something
# that was believed. Without one, even verdicts above 0.9 were wrong in one case of seven
# (bench/reconcile), so they are flagged.
SURE_CORRECTED = 0.7
# By so much more must an older memory be trusted to stay in place of a newer one: what the user
# stated against what was only concluded.
CLEARLY_BETTER = 0.3
# Confidence that a new wording says the same as two memories, to make one of these.
SURE_BRIDGE = 0.7
# Confidence of a language model's opinion that two say the same or have nothing to do with each
# other; below it a person decides: no less than the rules need. A model that does not say how sure
# it is counts as 0.5.
SURE_OPINION = SURE_BRIDGE
MAX_RELATIVES = 10
# Cosine from which two memories are relatives by meaning.
MIN_COSINE = 0.5
# A loop that notes "attempt 5", "attempt 6" must not flood the review queue.
MAX_RIVALS = 3
# Wordings of one memory that are compared with those of another.
MAX_WORDINGS_COMPARED = 8
# Share of these that must say the same to merge the two …
MIN_AGREEING = 0.75
# … and, where a third wording bridges them, the share that may contradict (readings fail at times)
# and the share that must be the same or near.
MAX_OPPOSING = 0.25
MIN_AKIN = 0.5
# Open questions that may name one memory. The first about a new memory is always asked.
MAX_OPEN_CASES = 3
# A near-duplicate is shown to a person from this cosine, or from this share of common words.
NEAR_COSINE = 0.80
NEAR_WORD_SHARE = 0.75
# "I am not sure if that is right", "… or if I miss something": one word says nothing worth asking.
MIN_NEAR_WORDS = 2
# How strongly two memories are tied that belong together.
RELATES_WEIGHT = 0.5
DOUBTED_VERDICT = Verdict(
    "contradicts",
    0.0,
    "a correction puts one thing right: what else it contradicts is only flagged",
)
# Fields that stay within a memory's space.
OWN_FIELDS = ("triggers", "files", "tags")
RETIRED_FIELDS = ("retired_at", "retired_why", "superseded_by")

IdPair = frozenset[str]


# What must not be lost with a text: addresses, quotations, numbers and identifiers …
MARK_PATTERN = re.compile(
    r"https?://\S+|`[^`]+`|\"[^\"]+\"|\w*\d[\w.,:/%+-]*|\w+(?:[_./:@#\\-]+\w+)+|\w*[a-z][A-Z]\w*"
)
# … and names: a capital that does not begin a sentence.
NAME_PATTERN = re.compile(r"(?<![.!?\n]\s)(?<!^)\b[A-Z]\w+")


class KnownMemory(NamedTuple):
    """A memory, and the further texts by which it is known: what was merged into it."""

    memory: Memory
    wordings: Sequence[str] = ()


class Neighbour(NamedTuple):
    """A memory that a new one is compared with, and the cosine of the two; None without vectors."""

    id: str
    cosine: float | None


class PairComparison(NamedTuple):
    """The relation of a new memory to an older active one."""

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
    """True for active, valid memories that hold lasting knowledge or say how things are done.

    Turns of a conversation take no part: two people who say "thanks" are two events. Nor do events,
    intentions and feelings, nor files: who wrote one finds it unchanged.
    """
    return (
        memory.active
        and kind_of(memory.kind).merges_with != NOTHING
        and kind_of(memory.kind).type in ("semantic", "procedural")
        and not is_raw_material(memory)
        and (memory.expires_at is None or memory.expires_at > now)
        and is_valid_at(memory, now)
    )


def is_raw_material(memory: Memory) -> bool:
    """True for turns and observations of a session, which nobody chose to keep."""
    unchosen = kind_of(memory.kind).unchosen
    if unchosen == SAID:
        return is_conversation_turn(memory)
    return unchosen == OBSERVED == memory.provenance and bool(memory.session)


def is_in_wider_space(old: Memory, new: Memory) -> bool:
    """True if the old one lies in a space that contains the new one's."""
    return new.space.startswith(f"{old.space}/")


def can_merge(old: Memory, new: Memory) -> bool:
    """True if the new one, should it say the same, may become one with the old.

    Within a space, kinds that both hold lasting knowledge may meet; else kinds must be equal. A
    memory of a project may strengthen one of the user's own that is trusted as much and has all its
    triggers, files and tags; never the other way round, for whoever asks in another project could
    not see it any more.
    """
    return (
        (old.space == new.space or can_merge_upward(old, new))
        and (old.valid_from, old.valid_to) == (new.valid_from, new.valid_to)
        and get_procedure_parts(old) == get_procedure_parts(new)
        and (old.kind == new.kind or (holds_knowledge(old) and holds_knowledge(new)))
    )


def can_merge_upward(old: Memory, new: Memory) -> bool:
    """True if the old one, in a wider space, may take in what a project's memory says."""
    return (
        is_in_wider_space(old, new)
        and old.trust >= new.trust
        and old.kind == new.kind
        and covers_own_fields(old, new)
    )


def covers_own_fields(old: Memory, new: Memory) -> bool:
    """True if the old one is found by all that the new one is found by, and for as long."""
    if old.expires_at != new.expires_at:
        return False
    known = {name: set(getattr(old, name)) for name in OWN_FIELDS}
    if old.kind == NEGATIVE:
        # What its own words would call it up by is not news: somebody chose otherwise for it.
        known["triggers"].update(derive_triggers(old.text))
    return all(known[name].issuperset(getattr(new, name)) for name in OWN_FIELDS)


def holds_knowledge(memory: Memory) -> bool:
    """True for the built-in kinds of lasting knowledge."""
    return memory.kind in KINDS and kind_of(memory.kind).type == "semantic"


def get_procedure_parts(memory: Memory) -> dict[str, object]:
    """The details that bear on what a procedure means; empty for other kinds, whose text says it
    all.
    """
    if memory.kind != PROCEDURE:
        return {}
    return {name: memory.details[name] for name in PARTS if memory.details.get(name)}


def is_worth_review(
    old: Memory,
    new: Memory,
    cosine: float | None,
) -> bool:
    """True if a person is asked about a near-duplicate: close, of common words, and of one type.

    How to do something and what never to do are never the same, however much alike they sound.
    """
    if kind_of(old.kind).type != kind_of(new.kind).type:
        return False
    if {old.kind, new.kind} == {PROCEDURE, NEGATIVE}:
        return False
    one, other = read_statement(old.text), read_statement(new.text)
    ones, others = one.concepts, other.concepts
    common = ones & others
    # Words that mean the same count each: "deploy with make release" has two.
    words = min(sum(word.concept in common for word in said.words) for said in (one, other))
    shared = len(common)
    is_close = (cosine or 0.0) >= NEAR_COSINE
    if words < min(MIN_NEAR_WORDS, max(len(ones), len(others))):
        return False
    return shared > 0 and (is_close or shared >= NEAR_WORD_SHARE * len(ones | others))


# What becomes of two


def absorb_memory(
    kept: Memory,
    gone: Memory,
    now: float,
) -> Memory:
    """The memory that stays when another one said the same: strengths add up, the better source
    counts.

    Of a memory of a narrower space only that it was said is taken over, and not in which session:
    the rest is nobody else's business. What others wrote makes nothing stronger, itself least of
    all, however often it is met.
    """
    trail = (
        *kept.reinforcements,
        *collect_reinforcements(
            gone,
            kept.space,
        ),
    )[-MAX_REINFORCEMENTS:]
    if is_unverified(gone):
        if not is_unverified(kept):
            return kept
        return kept._replace(reinforcements=trail, updated_at=now)
    same_space = kept.space == gone.space
    confidence = max(kept.confidence, gone.confidence if same_space else 0.0)
    reinforced = kept._replace(
        strength=kept.strength + gone.strength,
        reinforcements=trail,
        confidence=min(1.0, confidence + HELPFUL),
        last_accessed_at=max(kept.last_accessed_at or kept.at, gone.at),
        updated_at=now,
    )
    return take_over_fields(reinforced, kept, gone) if same_space else reinforced


def take_over_fields(
    reinforced: Memory,
    kept: Memory,
    gone: Memory,
) -> Memory:
    """The reinforced memory with the better trust, the longer life and the tags of both."""
    better = gone if gone.trust > kept.trust else kept
    lives_longer = kind_of(gone.kind).half_life > kind_of(kept.kind).half_life
    return reinforced._replace(
        trust=better.trust,
        provenance=better.provenance,
        kind=gone.kind if lives_longer else kept.kind,
        salience=max(kept.salience, gone.salience),
        access_count=kept.access_count + gone.access_count,
        title=kept.title or gone.title,
        tags=union_in_order(kept.tags, gone.tags),
        files=union_in_order(kept.files, gone.files),
        triggers=union_in_order(kept.triggers, gone.triggers),
        details=merge_anchor_details(kept, gone),
        expires_at=pick_later_end(kept.expires_at, gone.expires_at),
    )


def pick_later_end(one: float | None, other: float | None) -> float | None:
    """The later of two moments of expiry; None where one of the two never expires."""
    return None if one is None or other is None else max(one, other)


def is_mixed_authorship(one: Memory, other: Memory) -> bool:
    """True if others wrote one of two and somebody vouches for the other: then the words of that
    one stay, and nothing that the first says is held against it.
    """
    return is_unverified(one) != is_unverified(other)


def order_by_authorship(kept: Memory, gone: Memory) -> tuple[Memory, Memory]:
    """(the one that stays, the one that goes): what others wrote never stays in place of ours."""
    is_foreign = is_unverified(kept) and not is_unverified(gone)
    return (gone, kept) if is_foreign else (kept, gone)


def union_in_order(
    one: Sequence[str],
    other: Sequence[str],
) -> tuple[str, ...]:
    """All of both lists, each once."""
    return tuple(dict.fromkeys((*one, *other)))


def mark_retired(
    memory: Memory,
    now: float,
    why: str,
    newer: str,
) -> Memory:
    """The memory as retired, with the id of the one that stands for it."""
    return memory._replace(
        retired_at=now,
        retired_why=why,
        superseded_by=newer,
    )


def judge_pair(
    old: Memory,
    new: Memory,
    cosine: float | None,
    wordings: Sequence[str],
) -> Verdict:
    """What the new memory is to the old one: statements are compared, documents only recognised."""
    if max(len(old.text), len(new.text)) <= MAX_STATEMENT_CHARS:
        short = [text for text in wordings if len(text) <= MAX_STATEMENT_CHARS]
        return compare_memories(old, new, cosine, wordings=short)
    if fold_text(new.text) in map(fold_text, (old.text, *wordings)):
        return Verdict("same", 1.0, "the same words")
    return Verdict(
        "near" if (cosine or 0.0) >= NEAR_DOCUMENT_COSINE else "apart",
        cosine or 0.0,
        "nearly the same document",
    )


def pick_believed(
    old: Memory,
    new: Memory,
    at: float,
) -> Memory | None:
    """Which of two contradicting memories is believed; None if the newer has the weaker source.

    A correction by the user wins over anything else, then the source that is trusted more; of
    equals what was said later, where `at` is when the new one was said (last).
    """
    old_rank, new_rank = rank_source(old), rank_source(new)
    if old_rank == new_rank:
        return new if at >= old.at else old
    return new if new_rank > old_rank else None


def rank_source(memory: Memory) -> tuple[bool, float]:
    """How much is believed who said it: the higher the more."""
    return memory.provenance == "user_corrected", memory.trust


def pick_successor(
    old: Memory,
    new: Memory,
    verdict: Verdict,
    at: float,
) -> tuple[Memory, Memory] | None:
    """(loser, winner) if a contradiction is sure enough to retire one unasked; else None."""
    winner = pick_believed(old, new, at)
    if winner is None and is_passing_doubt(old, new, verdict):
        winner = old
    if winner is None:
        return None
    loser = old if winner is new else new
    if is_sure_conflict(verdict, winner) and can_yield(loser, winner):
        return loser, winner
    return None


def is_passing_doubt(old: Memory, new: Memory, verdict: Verdict) -> bool:
    """True if a newer memory only has another value, and comes from a clearly weaker source."""
    return (
        verdict.relation == "updates"
        and not verdict.tells_change
        and old.trust - new.trust >= CLEARLY_BETTER
    )


def is_sure_conflict(verdict: Verdict, winner: Memory) -> bool:
    """True if a contradiction is plain enough to retire the loser unasked."""
    if verdict.relation == "updates":
        return verdict.confidence >= SURE_UPDATE
    return winner.provenance == "user_corrected" and verdict.confidence >= SURE_CORRECTED


def can_yield(loser: Memory, winner: Memory) -> bool:
    """True if one may take the other's place: rules and skills never yield, nor anything lasting to
    what will expire.
    """
    winner_ends = winner.expires_at is not None or winner.valid_to is not None
    return (
        kind_of(loser.kind).contradictable
        and kind_of(winner.kind).contradictable
        and (not winner_ends or loser.expires_at is not None)
    )


def resolve_merged(memories: Mapping[str, Memory], id: str) -> Memory | None:
    """The active memory that this one is or was merged into, merges followed to the end; or
    None.
    """
    seen: set[str] = set()
    memory = memories.get(id)
    while memory and not memory.active:
        if memory.retired_why != "merged" or memory.id in seen:
            return None
        seen.add(memory.id)
        memory = memories.get(memory.superseded_by or "")
    return memory


def is_same_family(
    one: KnownMemory,
    other: KnownMemory,
    cosine: float | None,
) -> bool:
    """True if nearly all wordings of the lesser known of two memories repeat the better known.

    Only where that one has wordings enough to vote; else the pair was compared as it is.
    """
    if max(len(one.wordings), len(other.wordings)) + 1 < MIN_VOTING:
        return False
    return compare_families(one, other, cosine)["same"] >= MIN_AGREEING


def compare_families(
    one: KnownMemory,
    other: KnownMemory,
    cosine: float | None,
) -> dict[str, float]:
    """For each relation, the share of the lesser known memory's wordings that has it to the better
    known.
    """
    if len(other.wordings) > len(one.wordings):
        one, other = other, one
    texts = (other.memory.text, *other.wordings)[:MAX_WORDINGS_COMPARED]
    said = [other.memory._replace(text=text) for text in texts]
    count = Counter(judge_pair(one.memory, new, cosine, one.wordings).relation for new in said)
    return {relation: count[relation] / len(texts) for relation in RELATIONS}


def plan_merge(
    kept: Memory,
    gone: Memory,
    now: float,
) -> list[Change]:
    """The changes that make one memory of two."""
    kept, gone = order_by_authorship(kept, gone)
    return [
        *diff_memory(kept, absorb_memory(kept, gone, now)),
        *diff_memory(gone, mark_retired(gone, now, "merged", kept.id)),
        Link(Edge(kept.id, "derived_from", gone.id)),
    ]


def diff_memory(before: Memory, after: Memory) -> list[Change]:
    """The changes that turn one value of a memory into the other."""
    pairs = zip(Memory._fields, before, after, strict=True)
    fields = {name: new for name, old, new in pairs if old != new}
    changes: list[Change] = []
    if before.active and after.retired_at is not None:
        changes = [Retire(after.id, after.retired_at, after.retired_why, after.superseded_by)]
        fields = {name: new for name, new in fields.items() if name not in RETIRED_FIELDS}
    return [Revise(after.id, fields), *changes] if fields else changes


# Whether nothing is lost when one goes


def can_replace(
    keep: Memory,
    gone: Memory,
    wordings: Sequence[str] = (),
) -> bool:
    """True if `keep` says in some wording all that `gone` says, for as long, from as good a
    source.
    """
    return (
        holds_marks("\n".join((keep.text, *wordings)), gone.text)
        and keep.trust >= gone.trust
        and keep.expires_at == gone.expires_at
        and get_procedure_parts(gone).items() <= get_procedure_parts(keep).items()
    )


def holds_marks(text: str, other: str) -> bool:
    """True if a text has every number, identifier and name of the other as a word of its own."""
    lower = text.lower()
    return all(re.search(rf"(?<!\w){re.escape(mark)}(?!\w)", lower) for mark in find_marks(other))


@lru_cache(maxsize=4_096)
def find_marks(text: str) -> frozenset[str]:
    """What must not be lost of a text: its numbers, identifiers, quotations, addresses, names."""
    found = [*MARK_PATTERN.findall(text), *NAME_PATTERN.findall(text)]
    return frozenset(mark.strip('`".,:;').lower() for mark in found)
