"""A language model's opinion about pairs on which the rules were not sure, and what follows.

Reads the events in which pairs were tied or flagged and asks about those that still wait for a
decision. Answers come first, which may take minutes; then everything is read anew, and all that
follows from one event is one transaction, which can be undone.

The opinion is data: it can answer the question only as the rules would have been allowed to. One
memory is retired only where the other comes from as good a source and, if they are to say the same,
holds its every number, identifier and name. What the user corrected yields to nothing weaker. What
cannot be decided so stays as it is, or becomes a flag, for a person.

An answer that is malformed, or not one of the relations, changes nothing and is counted. A model
that is away leaves the cursor where it is. Of an event with many pairs the first MAX_PAIRS are
asked about, contradictions before the others; the rest waits for a person, as without a model.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from reverie.core.model import UNDECIDED_RELATIONS, Change, Edge, Event, Memory
from reverie.memory.memory_changes import flag_contradiction, supersede_memory
from reverie.pipeline.decided_pairs import load_settled_pairs
from reverie.pipeline.event_reader import MAX_EVENT_AGE, EventReader, ReaderDecision, WorkContext
from reverie.reconciliation import model_requests
from reverie.reconciliation.merge_rules import (
    SURE_OPINION,
    can_merge,
    can_replace,
    is_mixed_authorship,
    is_reconcilable,
    judge_pair,
    pick_successor,
    plan_merge,
)
from reverie.reconciliation.paraphrase.statement_comparison import Verdict
from reverie.reconciliation.paraphrase.wording_vote import OPPOSED_RELATIONS
from reverie.reconciliation.pass_view import apply_to_memory
from reverie.reconciliation.reconcile_reader import load_wordings
from reverie.reconciliation.review_questions import clear_question

NAME = "weigh"
READ_VERBS = ("reconcile", "sleep")
# Pairs of one event that are asked about: a minute each at worst.
MAX_PAIRS = 20
# Tokens that one question takes, answer included.
TOKENS_PER_QUESTION = 2_000
NO_ANSWER, TOO_LATE = "no answer", "too late"

OpinionOutcome = Literal[
    "merged",  # they say the same and one stands for both
    "superseded",  # the newer one took the place of the older
    "flagged",  # they contradict each other, and a person is asked
    "parted",  # they have nothing to do with each other, and nobody is asked any more
    "left",  # for a person to decide, as before
]


class AskedPair(NamedTuple):
    """A pair as it was asked about, and what the model said; None for an answer of no use."""

    old: Memory
    new: Memory
    opinion: Verdict | None


class OpenPairs(NamedTuple):
    """Pairs (old, new) that wait for a decision now, their memories and the edges that say so."""

    memories: Mapping[str, Memory]
    ties: Mapping[tuple[str, str], tuple[Edge, ...]]


def can_ask_model(work: WorkContext, event: Event) -> bool:
    """True if there is a model that may be asked about all of an event's pairs now."""
    if work.llm is None:
        return False
    questions = min(MAX_PAIRS, len(list_event_pairs(event)))
    return work.llm.available(TOKENS_PER_QUESTION * questions)


def list_event_pairs(event: Event) -> list[tuple[str, str]]:
    """The pairs (old, new) of an event that may be worth a question, contradictions first."""
    from reverie.llm.pair_task import UNSURE_RELATIONS

    rows = [row for row in event.payload.get("pairs", ()) if is_pair_row(row)]
    wanted = [row for row in rows if row[2] in UNSURE_RELATIONS]
    wanted.sort(key=lambda row: row[2] == "near")
    return list(dict.fromkeys((old, new) for new, old, _ in wanted))


def is_pair_row(row: object) -> bool:
    """True for [new, old, relation], three strings: payloads may come from an import."""
    return isinstance(row, list) and len(row) == 3 and all(isinstance(part, str) for part in row)


def weigh_event_pairs(work: WorkContext, event: Event) -> ReaderDecision:
    """What follows from the model's answers about an event's pairs."""
    if work.llm is None or work.now - event.at > MAX_EVENT_AGE:
        return ReaderDecision()
    waiting = find_open_pairs(work, list_event_pairs(event))
    doubtful = [pair for pair in waiting.ties if is_doubtful(work, waiting.memories, pair)]
    asked = []
    for old_id, new_id in doubtful[:MAX_PAIRS]:
        old, new = waiting.memories[old_id], waiting.memories[new_id]
        opinion = model_requests.ask_pair_opinion(work, event, old, new)
        asked.append(AskedPair(old, new, Verdict(*opinion) if opinion else None))
    return decide_answers(work, asked) if asked else ReaderDecision()


def find_open_pairs(work: WorkContext, pairs: Sequence[tuple[str, str]]) -> OpenPairs:
    """Those of these pairs that wait for a decision: both active, tied, in one space where memory
    is on, and decided by nobody.
    """
    ids = list(dict.fromkeys(id for pair in pairs for id in pair))
    memories = {
        memory.id: memory
        for memory in work.store.get(ids)
        if is_reconcilable(memory, work.now) and not work.settings.is_off(memory.space)
    }
    settled = load_settled_pairs(work.store)
    edges = work.store.edges(list(memories), UNDECIDED_RELATIONS) if memories else []
    ties = {}
    for old, new in pairs:
        ends = frozenset((old, new))
        between = tuple(edge for edge in edges if {edge.src, edge.dst} == ends)
        if not between or ends in settled or not ends <= memories.keys():
            continue
        if memories[old].space == memories[new].space:
            ties[old, new] = between
    return OpenPairs(memories, ties)


def is_doubtful(
    work: WorkContext,
    memories: Mapping[str, Memory],
    pair: tuple[str, str],
) -> bool:
    """True if the rules, applied once more to what the two say now, are not sure."""
    from reverie.llm.pair_task import is_unsure

    old, new = (memories[id] for id in pair)
    vectors = work.store.vectors(work.embedding_model, pair) if work.embedder else {}
    cosine = float(vectors[old.id] @ vectors[new.id]) if len(vectors) == 2 else None
    wordings = load_wordings(work.store, {old.id}).get(
        old.id,
        (),
    )
    verdict = judge_pair(old, new, cosine, wordings)
    return is_unsure(verdict.relation, verdict.confidence)


def decide_answers(work: WorkContext, asked: Sequence[AskedPair]) -> ReaderDecision:
    """One decision from all answers, about what is stored now."""
    still_open = find_open_pairs(
        work,
        [(one.old.id, one.new.id) for one in asked],
    )
    memories = dict(still_open.memories)
    changes: list[Change] = []
    outcomes = Counter[str]()
    pairs: list[list[str]] = []
    settled: list[list[str]] = []
    for answer in asked:
        outcome, made = decide_answer(answer, still_open.ties, memories, work.now)
        outcomes[outcome] += 1
        changes += made
        old, new = answer.old.id, answer.new.id
        if made:
            memories |= {id: apply_to_memory(memories[id], made) for id in (old, new)}
        if outcome == "parted":
            settled.append(sorted((old, new)))
        elif made and answer.opinion:
            pairs.append([new, old, answer.opinion.relation])
    result = {
        "outcomes": dict(outcomes),
        "pairs": pairs,
        "settled": settled,
    }
    if not changes:
        return ReaderDecision([], (), result, ())
    read_ids = sorted({id for pair in still_open.ties for id in pair})
    return ReaderDecision(
        changes,
        [still_open.memories[id] for id in read_ids],
        result,
        [edge for edges in still_open.ties.values() for edge in edges],
    )


def decide_answer(
    answer: AskedPair,
    ties: Mapping[tuple[str, str], tuple[Edge, ...]],
    memories: Mapping[str, Memory],
    now: float,
) -> tuple[str, list[Change]]:
    """The outcome of one answer, and its changes; none if the two are otherwise by now."""
    old, new, opinion = answer
    if opinion is None:
        return NO_ANSWER, []
    between = ties.get((old.id, new.id))
    if between is None:
        return TOO_LATE, []
    old_now, new_now = memories[old.id], memories[new.id]
    if not (is_unchanged_since(old_now, old) and is_unchanged_since(new_now, new)):
        return TOO_LATE, []
    return apply_opinion(old_now, new_now, opinion, between, now)


def is_unchanged_since(now: Memory, before: Memory) -> bool:
    """True if a memory is active and says what it said when it was asked about."""
    fields = (now.text, now.kind, now.space)
    return now.active and fields == (before.text, before.kind, before.space)


# What follows from an opinion


def apply_opinion(
    old: Memory,
    new: Memory,
    opinion: Verdict,
    ties: Sequence[Edge],
    now: float,
) -> tuple[OpinionOutcome, list[Change]]:
    """The outcome of an opinion, and its changes. `ties` are the edges that keep the question
    open.
    """
    older, newer, untied = clear_question(old, new, ties)
    confident = opinion.confidence >= SURE_OPINION
    if opinion.relation == "same" and confident and (pair := choose_stand_in(older, newer)):
        return "merged", [*untied, *plan_merge(*pair, now)]
    if opinion.relation == "apart" and confident:
        return "parted", untied
    if opinion.relation in OPPOSED_RELATIONS:
        # Said last by whoever is newer, so that only the older one can lose.
        if pick_successor(older, newer, opinion, max(older.at, newer.at)):
            return "superseded", [*untied, *supersede_memory(older, newer, now)]
        already_flagged = any(tie.rel == "contradicts" for tie in ties)
        if not already_flagged and not is_mixed_authorship(older, newer):
            return "flagged", [*untied, *flag_contradiction(newer, older, now)]
    return "left", []


def choose_stand_in(old: Memory, new: Memory) -> tuple[Memory, Memory] | None:
    """(the one that stays, the one that goes) of two that say the same; None if neither can stand
    for the other.
    """
    if not can_merge(old, new):
        return None
    ranked = sorted(
        (old, new),
        key=lambda memory: (is_not_correction(memory), -memory.trust),
    )
    for keep, gone in (ranked, ranked[::-1]):
        if can_replace(keep, gone) and is_not_correction(keep) <= is_not_correction(gone):
            return keep, gone
    return None


def is_not_correction(memory: Memory) -> bool:
    """True for anything but a correction by the user; sorts corrections first."""
    return memory.provenance != "user_corrected"


READER = EventReader(
    name=NAME,
    verbs=READ_VERBS,
    verb=NAME,
    decide=weigh_event_pairs,
    is_ready=can_ask_model,
)
