"""Where rules were not sure what two memories are to each other, a language model is asked and its
word is weighed.

Reads the events in which pairs were tied or flagged. Asked is about pairs that still wait for a
decision; what follows from an answer is `lifecycle.opinion`'s. Answers come first, minutes may
pass; then everything is read anew, and all that follows from one event is one transaction, which
can be undone.

An answer that is malformed, or not one of the relations, changes nothing and is counted (CC-71). A
model that is away leaves the cursor where it is. Of an event with many pairs the first MOST are
asked about, contradictions before the others; what is left waits for a person, as it would without
a model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from reverie.core.model import UNDECIDED_RELATIONS, Change, Edge, Event, Memory
from reverie.pipeline.decided_pairs import load_settled_pairs
from reverie.pipeline.event_reader import MAX_EVENT_AGE, EventReader, ReaderDecision, WorkContext
from reverie.reconciliation import model_requests
from reverie.reconciliation.merge_rules import is_reconcilable, judge_pair
from reverie.reconciliation.paraphrase.statement_comparison import Verdict
from reverie.reconciliation.reconcile_reader import load_wordings

NAME = "weigh"
READ_VERBS = ("reconcile", "sleep")
MAX_PAIRS = 20  # pairs of one event that are asked about: a minute each at worst
TOKENS_PER_QUESTION = 2_000  # tokens that one question takes, answer included
NO_ANSWER, TOO_LATE = "no answer", "too late"


class AskedPair(NamedTuple):
    """A pair, as it was asked about, and what the model said; None for an answer of no use."""

    old: Memory
    new: Memory
    said: Verdict | None


class OpenPairs(NamedTuple):
    """Pairs that wait for a decision now, as (old, new), with the memories and the edges that say
    so.
    """

    memories: Mapping[str, Memory]
    ties: Mapping[tuple[str, str], tuple[Edge, ...]]


def can_ask_model(work: WorkContext, event: Event) -> bool:
    """Whether there is a model that may be asked about all of an event's pairs now."""
    return work.llm is not None and work.llm.available(
        TOKENS_PER_QUESTION * min(MAX_PAIRS, len(list_event_pairs(event)))
    )


def list_event_pairs(event: Event) -> list[tuple[str, str]]:
    """The pairs (old, new) of an event that may be worth a question, contradictions first."""
    from reverie.llm.pair_task import UNSURE_RELATIONS

    found = event.payload.get("pairs", ())
    rows = [
        row
        for row in found
        if isinstance(row, list) and len(row) == 3 and all(isinstance(x, str) for x in row)
    ]
    wanted = [row for row in rows if row[2] in UNSURE_RELATIONS]
    return list(
        dict.fromkeys(
            (old, new) for new, old, relation in sorted(wanted, key=lambda r: r[2] == "near")
        )
    )


def weigh_event_pairs(work: WorkContext, event: Event) -> ReaderDecision:
    """What follows from the model's answers about an event's pairs."""
    if work.llm is None or work.now - event.at > MAX_EVENT_AGE:
        return ReaderDecision()
    waiting = find_open_pairs(work, list_event_pairs(event))
    asked = []
    for old, new in [pair for pair in waiting.ties if is_doubtful(work, waiting.memories, pair)][
        :MAX_PAIRS
    ]:
        one, other = waiting.memories[old], waiting.memories[new]
        said = model_requests.ask_pair_opinion(work, event, one, other)
        asked.append(AskedPair(one, other, Verdict(*said) if said else None))
    return decide_answers(work, asked) if asked else ReaderDecision()


def find_open_pairs(work: WorkContext, pairs: Iterable[tuple[str, str]]) -> OpenPairs:
    """Those of these pairs that wait for a decision: both count where memory is on, tied, and
    decided by nobody.
    """
    pairs = list(pairs)
    memories = {
        memory.id: memory
        for memory in work.store.get(list(dict.fromkeys(id for two in pairs for id in two)))
        if is_reconcilable(memory, work.now) and not work.settings.is_off(memory.space)
    }
    settled, edges = (
        load_settled_pairs(work.store),
        work.store.edges(list(memories), UNDECIDED_RELATIONS) if memories else [],
    )
    ties = {}
    for old, new in pairs:
        between = tuple(edge for edge in edges if {edge.src, edge.dst} == {old, new})
        if (
            between
            and {old, new} <= memories.keys()
            and frozenset((old, new)) not in settled
            and memories[old].space == memories[new].space
        ):
            ties[old, new] = between
    return OpenPairs(memories, ties)


def is_doubtful(work: WorkContext, memories: Mapping[str, Memory], pair: tuple[str, str]) -> bool:
    """Whether the rules, asked once more about what the two say now, are not sure."""
    from reverie.llm.pair_task import is_unsure

    old, new = (memories[id] for id in pair)
    vectors = work.store.vectors(work.embedding_model, pair) if work.embedder else {}
    cosine = float(vectors[old.id] @ vectors[new.id]) if len(vectors) == 2 else None
    verdict = judge_pair(old, new, cosine, load_wordings(work.store, {old.id}).get(old.id, ()))
    return is_unsure(verdict.relation, verdict.confidence)


def decide_answers(work: WorkContext, asked: Iterable[AskedPair]) -> ReaderDecision:
    """One decision of all answers, on what is so now."""
    from reverie.reconciliation.model_opinion import apply_opinion
    from reverie.reconciliation.pass_view import apply_to_memory

    asked = list(asked)
    now_open = find_open_pairs(work, [(one.old.id, one.new.id) for one in asked])
    there, changes = dict(now_open.memories), list[Change]()
    outcomes, pairs, settled = Counter[str](), list[list[str]](), list[list[str]]()
    for one in asked:
        pair = one.old.id, one.new.id
        if one.said is None:
            outcomes[NO_ANSWER] += 1
        elif pair not in now_open.ties or not all(
            is_unchanged_since(there[m.id], m) for m in (one.old, one.new)
        ):
            outcomes[TOO_LATE] += 1
        else:
            outcome, made = apply_opinion(
                there[pair[0]], there[pair[1]], one.said, now_open.ties[pair], work.now
            )
            outcomes[outcome] += 1
            changes += made
            there.update({id: apply_to_memory(there[id], made) for id in pair})
            if outcome == "parted":
                settled.append(sorted(pair))
            elif made:
                pairs.append([pair[1], pair[0], one.said.relation])
    rests_on = [
        now_open.memories[id] for id in sorted({id for pair in now_open.ties for id in pair})
    ]
    return ReaderDecision(
        changes,
        rests_on if changes else (),
        {"outcomes": dict(outcomes), "pairs": pairs, "settled": settled},
        [tie for some in now_open.ties.values() for tie in some] if changes else (),
    )


def is_unchanged_since(now: Memory, before: Memory) -> bool:
    """Whether a memory still counts and says what it said when it was asked about."""
    return now.active and (now.text, now.kind, now.space) == (
        before.text,
        before.kind,
        before.space,
    )


READER = EventReader(
    name=NAME, verbs=READ_VERBS, verb=NAME, decide=weigh_event_pairs, is_ready=can_ask_model
)
