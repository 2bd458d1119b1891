"""Consolidation passes over close pairs: merge, flag near-duplicates and contradictions, relate.

The rules are those of `merge_rules`, as for a new memory. A pass sees pairs that nobody saw when
they were written: both were new, the texts got their vectors later, or ten others were nearer.

Always true: merging loses nothing. The one that goes stays readable as "merged", and it goes only
if the other holds its every number, identifier and name. What is less sure becomes an edge
`resembles` for a person to decide; contradictions are flagged on both sides and nobody loses.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from reverie.core.model import UNDECIDED_RELATIONS, Add, Change, Edge, Link, Memory, visible_spaces
from reverie.memory.memory_changes import flag_contradiction
from reverie.reconciliation.merge_rules import (
    MAX_OPEN_CASES,
    MIN_COSINE,
    NEAR_COSINE,
    RELATES_WEIGHT,
    SURE_OPINION,
    PairRuling,
    can_merge,
    can_replace,
    diff_memory,
    find_marks,
    holds_marks,
    is_mixed_authorship,
    is_same_family,
    is_worth_review,
    mark_retired,
    plan_merge,
)
from reverie.reconciliation.paraphrase.statement_comparison import Verdict, compare_memories
from reverie.reconciliation.paraphrase.wording_vote import OPPOSED_RELATIONS
from reverie.reconciliation.pass_view import (
    EdgeWeights,
    PairInView,
    PassStep,
    PassView,
    apply_to_memory,
    has_edge,
    visit_pairs,
)
from reverie.text.tokenization import tokenize_query

# Cosines from which pairs are looked at to merge, to find contradictions, to relate them.
MERGE_COSINE = 0.95
PROBE_COSINE = MIN_COSINE
RELATED_COSINE = 0.60
# Letters by which two words count as one. Pairs below NEAR_COSINE without such a word in common are
# not compared: of 355 labelled contradictions and updates (bench/reconcile) one is missed by it,
# and most of the time is saved.
WORD_START_CHARS = 5
# Edges that the memory that stays takes over from the one that goes.
MOVED_RELATIONS = ("relates_to", "about", "in_cluster")
# Words of these sources are rewritten by nobody.
USER_PROVENANCES = {"user_corrected", "user_stated"}

MergeText = Callable[[str, str], str]
"""Puts two texts into one. Its answer is checked as anybody's words would be: see `unite_pair`."""

RelateMemories = Callable[[Memory, Memory], tuple[str, float, str] | None]
"""How two memories belong together ("relates_to", "contradicts", "none"), how sure that is (0..1),
and why.
"""


# Passes


def merge_duplicates(
    view: PassView,
    merge_text: MergeText | None = None,
    new_id: Callable[[], str] | None = None,
) -> list[PassStep]:
    """Steps that merge duplicates; with `merge_text`, also where neither of the two holds all."""

    def judge(pair: PairInView) -> PassStep | None:
        step = merge_pair(pair)
        if step is None and merge_text is not None and new_id is not None:
            step = unite_pair(pair, merge_text, new_id)
        return step

    return visit_pairs(view, judge)


def flag_near_duplicates(view: PassView) -> list[PassStep]:
    """Steps that show a person what may be stored twice."""
    return visit_pairs(view, flag_resembling_pair)


def flag_contradictions(view: PassView) -> list[PassStep]:
    """Steps that flag memories that cannot both be true."""
    return visit_pairs(view, flag_conflicting_pair)


def relate_memories(view: PassView, relate: RelateMemories | None = None) -> list[PassStep]:
    """Steps that link related memories; with `relate`, also where no word is shared."""
    return visit_pairs(view, partial(relate_pair, relate=relate))


def compare_in_order(pair: PairInView) -> tuple[Memory, Memory, Verdict]:
    """The older, the newer, and what the newer is to the older."""
    old, new = sorted(
        (pair.one, pair.other),
        key=lambda memory: (memory.at, memory.id),
    )
    wordings = pair.view.wordings.get(old.id, ())
    return old, new, compare_memories(old, new, pair.cosine, wordings=wordings)


def make_pair_step(
    old: Memory,
    new: Memory,
    relation: str,
    changes: Sequence[Change],
    why: str,
) -> PassStep:
    """The step that notes what the newer of two memories is to the older."""
    ruling = PairRuling(new.id, old.id, relation)
    return PassStep(tuple(changes), (old.id, new.id), why, ruling)


# Merging


def is_same_by_wordings(pair: PairInView) -> bool:
    """True if the wordings of two memories show that they are the same, and nothing is flagged."""
    if pair.has_edge("contradicts", "supersedes"):
        return False
    one, other = pair.view.to_known(pair.one), pair.view.to_known(pair.other)
    return is_same_family(one, other, pair.cosine)


def merge_pair(pair: PairInView) -> PassStep | None:
    """The step that makes one memory of a duplicate, the stronger for it; None if they differ."""
    view = pair.view
    if pair.one.space != pair.other.space:
        return None
    old, new, verdict = compare_in_order(pair)
    if not can_merge(old, new):
        return None
    if verdict.relation != "same" and not is_same_by_wordings(pair):
        return None
    # The better source stays, then what was said more often, then the older.
    ranked = sorted(
        (old, new),
        key=lambda memory: (-memory.trust, -memory.strength),
    )
    for keep, gone in (ranked, ranked[::-1]):
        if can_replace(keep, gone, view.wordings.get(keep.id, ())):
            changes = [*plan_merge(keep, gone, view.now), *move_edges(keep, gone, view.edges)]
            step = make_pair_step(old, new, "same", changes, f"the same ({pair.cosine:.2f})")
            return step._replace(rests_on=(keep.id, gone.id))
    return None


def move_edges(
    keep: Memory,
    gone: Memory,
    edges: EdgeWeights,
) -> list[Change]:
    """The edges of the memory that goes, as edges of the one that stays."""
    moved: list[Change] = []
    for (src, rel, dst), weight in edges.items():
        ends = src, dst
        if rel not in MOVED_RELATIONS or gone.id not in ends or keep.id in ends:
            continue
        start, end = (keep.id if id == gone.id else id for id in ends)
        if not has_edge(edges, start, end, rel):
            moved.append(Link(Edge(start, rel, end, weight)))
    return moved


def unite_pair(
    pair: PairInView,
    merge_text: MergeText,
    new_id: Callable[[], str],
) -> PassStep | None:
    """The step that replaces two wordings, of which neither holds all, by a third that does.

    What `merge_text` answers is only somebody's words: empty, partial or malformed, and nothing
    happens. Both come from as good a source, so that the third takes nobody's place who is better
    believed; what the user said stays in the user's own words.
    """
    now = pair.view.now
    old, new, verdict = compare_in_order(pair)
    if verdict.relation != "same" or not can_merge(old, new) or not may_reword(old, new):
        return None
    text = merge_text(old.text, new.text)
    if not holds_both(text, old.text, new.text):
        return None
    united = apply_to_memory(old, plan_merge(old, new, now))._replace(
        id=new_id(),
        text=text,
        created_at=now,
        confidence=min(old.confidence, new.confidence),
    )
    changes: list[Change] = [Add(united)]
    for memory in (old, new):
        changes += diff_memory(memory, mark_retired(memory, now, "merged", united.id))
        changes.append(Link(Edge(united.id, "derived_from", memory.id)))
        changes += move_edges(united, memory, pair.view.edges)
    why = f"two wordings of one thing ({pair.cosine:.2f})"
    return make_pair_step(old, new, "same", changes, why)


def may_reword(old: Memory, new: Memory) -> bool:
    """True if a third text may take the place of two: of one kind and source, not the user's."""
    if {old.provenance, new.provenance} & USER_PROVENANCES:
        return False
    if is_mixed_authorship(old, new):
        return False
    return (old.space, old.kind, old.trust) == (new.space, new.kind, new.trust)


def holds_both(
    text: object,
    one: str,
    other: str,
) -> bool:
    """True for a text that holds what must not be lost of two others, and is not much longer."""
    if not isinstance(text, str) or not text.strip():
        return False
    if len(text) > 2 * (len(one) + len(other)):
        return False
    return holds_marks(text, one) and holds_marks(text, other)


# Questions for a person


def is_unquestioned(pair: PairInView) -> bool:
    """True if no question arises between two: they lie in different spaces, or others wrote one of
    them.
    """
    return pair.one.space != pair.other.space or is_mixed_authorship(
        pair.one,
        pair.other,
    )


def has_enough_questions(pair: PairInView) -> bool:
    """True if a person is asked about one of two as often as may be.

    The edges may name memories that are retired, so this rather keeps a question back.
    """
    edges = pair.view.edges
    open_pairs = {frozenset((src, dst)) for src, rel, dst in edges if rel in UNDECIDED_RELATIONS}
    cases = Counter(id for ends in open_pairs for id in ends)
    return (
        max(
            cases[pair.one.id],
            cases[pair.other.id],
        )
        >= MAX_OPEN_CASES
    )


def flag_resembling_pair(pair: PairInView) -> PassStep | None:
    """The step that links two memories that may say the same, for a person to decide; each memory
    only to its nearest.
    """
    if pair.has_edge("resembles", "contradicts", "supersedes") or is_unquestioned(pair):
        return None
    old, new, verdict = compare_in_order(pair)
    if verdict.relation not in ("near", "same") or not is_worth_review(old, new, pair.cosine):
        return None
    if has_enough_questions(pair):
        return None
    if any(src == new.id and rel == "resembles" for src, rel, _ in pair.view.edges):
        return None
    tie = Edge(
        new.id,
        "resembles",
        old.id,
        round(min(1.0, pair.cosine), 2),
    )
    why = f"may say the same ({pair.cosine:.2f}): {verdict.why}"
    return make_pair_step(old, new, "near", [Link(tie)], why)


@lru_cache(maxsize=8_192)
def word_starts(text: str) -> frozenset[str]:
    """The first letters of a text's words: what two texts share of these whatever the endings."""
    return frozenset(word[:WORD_START_CHARS] for word in tokenize_query(text))


def flag_conflicting_pair(pair: PairInView) -> PassStep | None:
    """The step that flags two memories that contradict each other; both stay active.

    Only within a space: what holds in one project overrides what was said for all, and takes
    nothing from it.
    """
    if pair.has_edge("contradicts", "supersedes") or is_unquestioned(pair):
        return None
    starts = word_starts(pair.one.text)
    if pair.cosine < NEAR_COSINE and starts.isdisjoint(word_starts(pair.other.text)):
        return None
    old, new, verdict = compare_in_order(pair)
    if verdict.relation not in OPPOSED_RELATIONS or has_enough_questions(pair):
        return None
    changes = flag_contradiction(new, old, pair.view.now)
    return make_pair_step(old, new, verdict.relation, changes, verdict.why)


# Relations


def is_visible_together(one: Memory, other: Memory) -> bool:
    """True if some reader sees both: memories of sibling projects are never compared."""
    return one.space in visible_spaces(other.space) or other.space in visible_spaces(one.space)


def relate_pair(pair: PairInView, relate: RelateMemories | None) -> PassStep | None:
    """The step that ties what two sessions met: close, with a file or a rare mark in common, or as
    `relate` says.
    """
    _, one, other, _ = pair
    if not one.session or one.session == other.session or is_tied_or_unseen(pair):
        return None
    relation, confidence, why = find_common_subject(one, other, relate)
    return tie_pair(pair, relation, why) if confidence >= SURE_OPINION else None


def is_tied_or_unseen(pair: PairInView) -> bool:
    """True if two memories are tied already, by whatever relation, or no reader sees both."""
    view, one, other, _ = pair
    if any({src, dst} == {one.id, other.id} for src, _, dst in view.edges):
        return True
    return not is_visible_together(one, other)


def tie_pair(pair: PairInView, relation: str, why: str) -> PassStep | None:
    """The step that ties two memories by "relates_to", or asks a person about a contradiction."""
    view, one, other, _ = pair
    if relation == "relates_to":
        edge = Edge(one.id, "relates_to", other.id, RELATES_WEIGHT)
        return PassStep(
            (Link(edge),),
            (one.id, other.id),
            why,
        )
    if relation != "contradicts" or is_unquestioned(pair) or has_enough_questions(pair):
        return None
    return make_pair_step(one, other, relation, flag_contradiction(other, one, view.now), why)


def find_common_subject(
    one: Memory,
    other: Memory,
    relate: RelateMemories | None,
) -> tuple[str, float, str]:
    """How two memories belong together, as `RelateMemories` says it; "none" if they do not."""
    common = set(one.files) & set(other.files) or find_marks(one.text) & find_marks(other.text)
    if common:
        return "relates_to", 1.0, f"two sessions, one subject: {', '.join(sorted(common)[:3])}"
    judgement = relate(one, other) if relate else None
    return judgement or ("none", 0.0, "")
