"""The block for the next turn: what the conversation is about, what memory has on it, what of that
earns its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.context_window import Block, render_block
from reverie.context_window.injection_history import InjectionHistory, find_own_memories
from reverie.core.config import Settings
from reverie.core.model import EMPTY_MAPPING, Hit, visible_spaces
from reverie.embedding import Embedder
from reverie.injection.candidate_judge import ChosenHits, choose_hits, is_rule_hit
from reverie.memory.named_period import find_season
from reverie.pipeline.pending_vectors import cosine_similarity, try_embed
from reverie.retrieval import search_memories, search_triggers
from reverie.retrieval.search_query import SearchQuery
from reverie.storage import Store
from reverie.text.host_messages import HostMessage
from reverie.text.injection_fence import remove_injections

if TYPE_CHECKING:
    from reverie.llm.language_model import LanguageModel

WINDOW_MESSAGES = 12  # what of a conversation is looked at
WINDOW_CHARS = 8_000
MESSAGE_CHARS = 1_200
NOT_SPOKEN = ("system", "developer", "tool", "function")


@dataclass(frozen=True, slots=True)
class ConversationFocus:
    """What a conversation is about just now."""

    text: str  # what is searched for
    context: str  # the window that trigger patterns are held against


def find_focus(window: Sequence[HostMessage]) -> ConversationFocus:
    """The last thing the user said, alone: a short remark that borrows from the one before finds
    again what that found, and more of what nobody needs (bench.gate --borrowing).

    What tools answered may meet a trigger; it is never what is searched for.
    """
    said = [
        HostMessage(m.role, remove_injections(m.text).strip())
        for m in window[-WINDOW_MESSAGES:]
        if m.role != "system"
    ]
    context = "\n".join(m.text[-MESSAGE_CHARS:] for m in said)[-WINDOW_CHARS:]
    asked = [m.text for m in said if m.role == "user" and m.text]
    if not asked:
        spoken = "\n".join(m.text for m in said if m.role not in NOT_SPOKEN)
        return ConversationFocus(spoken[-MESSAGE_CHARS:], context)
    return ConversationFocus(asked[-1][:MESSAGE_CHARS], context)


class PreparedBlock(NamedTuple):
    """What was made of a turn."""

    block: Block
    vector: Any  # of this context, for telling a change of topic
    judged: Mapping[str, object] = EMPTY_MAPPING  # what a judge said, for maintenance
    query: SearchQuery | None = None  # what was searched for; None where nothing was


def prepare_injection(
    store: Store,
    embedder: Embedder | None,
    settings: Settings,
    attention: InjectionHistory,
    space: str,
    window: Sequence[HostMessage],
    now: float,
    last: Any = None,
    llm: LanguageModel | None = None,
    due: Sequence[Hit] = (),
) -> PreparedBlock:
    """The block for the next turn. What is `due` comes first, whatever the conversation is about.

    Embed, topic check, search, filter, judge, render: in this order, for a new topic frees
    what has surfaced under the old one, and brings the judge forward. Words that were looked at a
    moment ago are not searched for again; then only patterns are held against what tools have said
    since. Only decides; the caller records it.
    """
    about = find_focus(window)
    if not about.text or settings.is_off(space, attention.session):
        return PreparedBlock(
            render_block((), now, limit=settings.limit, budget=settings.budget, due=due), last
        )
    query = SearchQuery(
        text=about.text,
        context=about.context,
        spaces=visible_spaces(space),
        now=now,
        limit=settings.limit * 4,
        automatic=True,
        not_session=attention.session,
        session_in=attention.spaces,
    )
    if attention.is_repeated_context(about.text, now):
        called = search_triggers(
            store, query._replace(exclude=find_excluded_ids(store, attention, now))
        )
        return PreparedBlock(
            render_block(called, now, limit=settings.limit, budget=settings.budget, due=due), last
        )
    vector = try_embed(embedder, about.text)
    changed = attention.note_similarity(cosine_similarity(vector, last))
    query = query._replace(
        vector=vector,
        model=embedder.model if embedder else "",
        season=find_season(store, visible_spaces(space), now).label,
        exclude=find_excluded_ids(store, attention, now),
    )
    found = (
        ChosenHits(search_memories(store, query))
        if llm is None
        else choose_hits(store, query, llm, settings, attention, window, changed=changed)
    )
    hits = order_restated_last(store, found.hits)
    block = render_block(hits, now, limit=settings.limit, budget=settings.budget, due=due)
    return PreparedBlock(block, vector, found.judged, query)


def find_excluded_ids(store: Store, attention: InjectionHistory, now: float) -> frozenset[str]:
    """What the conversation said itself, was given or waits for: not to be prepared now."""
    return find_own_memories(store, attention) | attention.list_blocked_ids(now)


def order_restated_last(store: Store, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, with those last that may only say again what a better one says: `resembles` ties
    them.

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
    return sorted(hits, key=lambda hit: hit.memory.id in later and not is_rule_hit(hit))
