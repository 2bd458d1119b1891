"""The block for the next turn: what the conversation is about, what memory has on it, what of that
earns its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.context_window import Block, render
from reverie.context_window.injection_history import Attention, echoes
from reverie.core.config import Settings
from reverie.core.model import NOTHING, Hit, lineage
from reverie.embedding import Embedder
from reverie.injection.candidate_judge import Chosen, by_rule, chosen
from reverie.memory.named_period import season_of
from reverie.pipeline.pending_vectors import embedded, similarity
from reverie.retrieval import by_patterns, search
from reverie.retrieval.search_query import Query
from reverie.storage import Store
from reverie.text.host_messages import Said
from reverie.text.injection_fence import without_injections

if TYPE_CHECKING:
    from reverie.llm.language_model import Llm

WINDOW_MESSAGES = 12  # what of a conversation is looked at (CONSTANTS: relevance window)
WINDOW_CHARS = 8_000
MESSAGE_CHARS = 1_200
NOT_SPOKEN = ("system", "developer", "tool", "function")


@dataclass(frozen=True, slots=True)
class Focus:
    """What a conversation is about just now."""

    text: str  # what is searched for
    context: str  # the window that trigger patterns are held against


def focus(window: Sequence[Said]) -> Focus:
    """The last thing the user said, alone: a short remark that borrows from the one before finds
    again what that found, and more of what nobody needs (bench.gate --borrowing).

    What tools answered may meet a trigger; it is never what is searched for.
    """
    said = [
        Said(m.role, without_injections(m.text).strip())
        for m in window[-WINDOW_MESSAGES:]
        if m.role != "system"
    ]
    context = "\n".join(m.text[-MESSAGE_CHARS:] for m in said)[-WINDOW_CHARS:]
    asked = [m.text for m in said if m.role == "user" and m.text]
    if not asked:
        spoken = "\n".join(m.text for m in said if m.role not in NOT_SPOKEN)
        return Focus(spoken[-MESSAGE_CHARS:], context)
    return Focus(asked[-1][:MESSAGE_CHARS], context)


class Prepared(NamedTuple):
    """What was made of a turn."""

    block: Block
    vector: Any  # of this context, for telling a change of topic
    judged: Mapping[str, object] = NOTHING  # what a judge said, for maintenance
    query: Query | None = None  # what was searched for; None where nothing was


def prepare(
    store: Store,
    embedder: Embedder | None,
    settings: Settings,
    attention: Attention,
    space: str,
    window: Sequence[Said],
    now: float,
    last: Any = None,
    llm: Llm | None = None,
    due: Sequence[Hit] = (),
) -> Prepared:
    """The block for the next turn. What is `due` comes first, whatever the conversation is about.

    Embed, topic check, search, filter, judge, render: in this order (B90), for a new topic frees
    what has surfaced under the old one, and brings the judge forward. Words that were looked at a
    moment ago are not searched for again; then only patterns are held against what tools have said
    since. Only decides; the caller records it.
    """
    about = focus(window)
    if not about.text or settings.is_off(space, attention.session):
        return Prepared(
            render((), now, limit=settings.limit, budget=settings.budget, due=due), last
        )
    query = Query(
        text=about.text,
        context=about.context,
        spaces=lineage(space),
        now=now,
        limit=settings.limit * 4,
        automatic=True,
        not_session=attention.session,
        session_in=attention.spaces,
    )
    if attention.seen_before(about.text, now):
        called = by_patterns(store, query._replace(exclude=known(store, attention, now)))
        return Prepared(
            render(called, now, limit=settings.limit, budget=settings.budget, due=due), last
        )
    vector = embedded(embedder, about.text)
    changed = attention.topic(similarity(vector, last))
    query = query._replace(
        vector=vector,
        model=embedder.model if embedder else "",
        season=season_of(store, lineage(space), now).label,
        exclude=known(store, attention, now),
    )
    found = (
        Chosen(search(store, query))
        if llm is None
        else chosen(store, query, llm, settings, attention, window, changed=changed)
    )
    hits = restating_last(store, found.hits)
    block = render(hits, now, limit=settings.limit, budget=settings.budget, due=due)
    return Prepared(block, vector, found.judged, query)


def known(store: Store, attention: Attention, now: float) -> frozenset[str]:
    """What the conversation said itself, was given or waits for: not to be prepared now."""
    return echoes(store, attention) | attention.blocked(now)


def restating_last(store: Store, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, with those last that may only say again what a better one says: `resembles` ties
    them (X24).

    Places in a block are few; whether the two are one memory, somebody else decides. What a trigger
    pattern called up keeps its place.
    """
    place = {hit.memory.id: n for n, hit in enumerate(hits)}
    pairs = (
        [(edge.src, edge.dst) for edge in store.edges(list(place), ("resembles",))]
        if len(hits) > 1
        else []
    )
    later = {max(pair, key=place.__getitem__) for pair in pairs if place.keys() >= set(pair)}
    return sorted(hits, key=lambda hit: hit.memory.id in later and not by_rule(hit))
