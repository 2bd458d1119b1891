"""What would come up by itself where something is said, what would not, and which gate stops it.

The same search and the same rules as for a real turn (`prepare_block`), asked to name what they
leave out. Nothing is written, and no conversation is told anything.
"""

from __future__ import annotations

from typing import NamedTuple

from reverie.core.code_anchors import GONE, outdated_state
from reverie.core.kinds import is_mature, is_pending_intention, is_unverified, kind_of
from reverie.core.model import Hit, Memory
from reverie.core.validity import describe_validity, is_valid_at
from reverie.retrieval import search_memories
from reverie.retrieval.rescoring import (
    BESIDE_ODDS,
    MIN_SHOWN_CHANCE,
    can_surface,
    select_surfacing,
    to_odds,
)
from reverie.retrieval.search_query import SearchQuery, is_echo
from reverie.retrieval.trigger_search import is_triggered
from reverie.storage import Store


class GateVerdict(NamedTuple):
    """A memory that fits what was said, and whether it would be given."""

    hit: Hit
    is_given: bool
    gate: str  # what stops it, in a word or two; empty if nothing does
    why: str  # a sentence


def report_gates(
    store: Store, query: SearchQuery, told: frozenset[str], limit: int
) -> list[GateVerdict]:
    """The likeliest memories for what was said, best first: those that would be given, then those
    that a gate stops. `query` is that of a turn; `told` are ids that the conversation has been
    given; `limit` is how many places a block has.
    """
    likely = search_memories(store, query._replace(automatic=True, unlikely_too=True))
    chosen = {hit.memory.id for hit in select_surfacing(likely, limit)}
    known = {hit.memory.id for hit in likely}
    # What may not surface unasked is no candidate of a turn; who asks finds it.
    asked = search_memories(store, query._replace(automatic=False, not_session="", depth=0))
    others = [hit for hit in asked if hit.memory.id not in known]
    best = next((hit.score for hit in likely if not is_triggered(hit)), 0.0)
    verdicts = [
        judge_candidate(hit, query, told, hit.memory.id in chosen, best)
        for hit in (*likely, *others)
    ]
    return sorted(verdicts, key=lambda one: not one.is_given)


def judge_candidate(
    hit: Hit, query: SearchQuery, told: frozenset[str], is_chosen: bool, best: float
) -> GateVerdict:
    """Which gate stops a memory, the first that does."""
    memory = hit.memory
    chance = f"Likely needed: {hit.score:.0%}"
    stopped = find_bar(memory, query)
    if not stopped and memory.id in told and not is_triggered(hit):
        stopped = ("said already", "This conversation was given it before.")
    if not stopped and is_chosen:
        return GateVerdict(hit, True, "", f"{chance}.")
    if not stopped and best < MIN_SHOWN_CHANCE:
        stopped = (
            "not likely enough",
            f"{chance}; from {MIN_SHOWN_CHANCE:.0%} on it is given.",
        )
    if not stopped and to_odds(hit.score) < BESIDE_ODDS * to_odds(best):
        stopped = ("far behind the best", f"{chance}, beside one with {best:.0%}.")
    if not stopped:
        few = "What others wrote has few places." if is_unverified(memory) else "The block is full."
        stopped = ("no place left", few)
    return GateVerdict(hit, False, *stopped)


def find_bar(memory: Memory, query: SearchQuery) -> tuple[str, str] | tuple[()]:
    """(gate, why) of a memory that may not surface unasked at all; empty for others."""
    if is_echo(memory, query._replace(automatic=True)):
        return "said here", "This conversation said it itself."
    if can_surface(memory, query.now):
        return ()
    bars = (
        (not kind_of(memory.kind).surfaces, "its kind", f"A {memory.kind} never surfaces."),
        (not is_mature(memory), "not approved", "It waits for somebody to look at it."),
        (is_pending_intention(memory), "not its time", "It waits for its time or its context."),
        (
            not is_valid_at(memory, query.now),
            "not true now",
            f"It is {describe_validity(memory, query.now)}.",
        ),
        (
            outdated_state(memory) == GONE,
            "its code is gone",
            "The code that it speaks of is not there any more.",
        ),
    )
    found = (bar[1:] for bar in bars if bar[0])
    return next(found, ("a rule", "It may not surface by itself."))
