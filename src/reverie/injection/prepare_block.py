"""The block for the next turn: what the conversation is about, what memory has on it, what of that
earns its place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from reverie.context_window import Block
from reverie.core.config import Settings
from reverie.core.model import EMPTY_MAPPING, Hit
from reverie.embedding import Embedder
from reverie.injection.candidate_judge import ChosenHits, choose_hits, is_rule_hit
from reverie.injection.first_turn import InjectionTurn, take_places
from reverie.memory.named_period import find_season
from reverie.pipeline.model_change import EmbeddedQuestion, embed_question
from reverie.pipeline.pending_vectors import cosine_similarity, embedding_model_of
from reverie.retrieval import search_memories, search_triggers
from reverie.retrieval.search_query import SearchQuery
from reverie.storage import Store
from reverie.text.host_messages import HostMessage
from reverie.text.injection_fence import remove_injections
from reverie.transcripts.joint_search import add_talk

if TYPE_CHECKING:
    from reverie.llm.language_model import LanguageModel

# What of a conversation is looked at: so many of its newest messages, …
WINDOW_MESSAGES = 12
# … so many characters of the end of all of them, and of each.
WINDOW_CHARS = 8_000
MESSAGE_CHARS = 1_200
# Characters of each message of the exchange before that bear on what is looked for.
EXCHANGE_CHARS = 300
# Roles whose words are not what a conversation is about.
NOT_SPOKEN = ("system", "developer", "tool", "function")


@dataclass(frozen=True, slots=True)
class ConversationFocus:
    """What a conversation is about just now."""

    text: str  # what is searched for
    context: str  # the window that trigger patterns are held against


def find_focus(window: Sequence[HostMessage]) -> ConversationFocus:
    """The last thing the user said, and the window that trigger patterns are held against.

    What tools answered may match a trigger; it is never what is searched for.
    """
    messages = [
        HostMessage(message.role, remove_injections(message.text).strip())
        for message in window[-WINDOW_MESSAGES:]
        if message.role != "system"
    ]
    ends = [message.text[-MESSAGE_CHARS:] for message in messages]
    context = "\n".join(ends)[-WINDOW_CHARS:]
    # The last one alone: a short remark that borrows from the one before finds again what that
    # found, and more of what nobody needs (bench.gate --borrowing).
    for message in reversed(messages):
        if message.role == "user" and message.text:
            return ConversationFocus(message.text[:MESSAGE_CHARS], context)
    spoken = "\n".join(message.text for message in messages if message.role not in NOT_SPOKEN)
    return ConversationFocus(spoken[-MESSAGE_CHARS:], context)


def find_exchange_before(window: Sequence[HostMessage]) -> str:
    """The end of what was said just before the user's last message: "what renders them?" leans on
    it.
    """
    spoken = [one for one in window[-WINDOW_MESSAGES:] if one.role in ("user", "assistant")]
    while spoken and spoken[-1].role != "user":
        spoken.pop()
    texts = [remove_injections(one.text).strip() for one in spoken[-3:-1]]
    return "\n".join(text[-EXCHANGE_CHARS:] for text in texts)


class PreparedBlock(NamedTuple):
    """What was made of a turn."""

    block: Block
    embedded: EmbeddedQuestion | None  # of this context, for telling a change of topic
    judged: Mapping[str, object] = EMPTY_MAPPING  # what a judge said, for maintenance
    query: SearchQuery | None = None  # what was searched for; None where nothing was


def prepare_injection(
    store: Store,
    embedder: Embedder | None,
    settings: Settings,
    turn: InjectionTurn,
    window: Sequence[HostMessage],
    last: EmbeddedQuestion | None = None,
    llm: LanguageModel | None = None,
) -> PreparedBlock:
    """The block for the next turn; `last` is the embedded context before it, if any.

    Words that were looked at a moment ago, or since the user spoke last, are not searched for
    again; then only patterns are held against what tools have said since. Only decides; the caller
    records it.
    """
    focus, attention = find_focus(window), turn.attention
    if not focus.text or settings.is_off(turn.space, attention.session):
        return PreparedBlock(turn.render((), settings), last)
    query = turn.to_query(settings, focus.text, focus.context)
    if attention.is_repeated_context(focus.text, turn.now):
        triggered = search_triggers(store, query._replace(exclude=turn.find_excluded_ids(store)))
        return PreparedBlock(turn.render(triggered, settings), last)
    # Embed, topic check, search, judge, render: in this order, for a new topic frees what has
    # surfaced under the old one, and brings the judge forward.
    asked = embed_question(store, embedder, focus.text)
    # Vectors of different models say nothing about each other.
    before = last.vector if last and asked and last.model == asked.model else None
    vector = asked.vector if asked else None
    changed = attention.note_similarity(cosine_similarity(vector, before))
    query = query._replace(
        vector=vector,
        model=asked.model if asked else embedding_model_of(embedder) or "",
        season=find_season(store, query.spaces, turn.now).label,
        exclude=turn.find_excluded_ids(store),
    )
    # What was told stays in the field until all is judged.
    field = query._replace(exclude=query.exclude - turn.find_told_ids())
    if llm is None:
        found = ChosenHits(search_memories(store, field))
    else:
        found = choose_hits(store, query, llm, settings, attention, window, changed=changed)
    hits = take_places(order_restated_last(store, found.hits), settings.limit)
    hits = add_talk(store, field, hits, find_exchange_before(window))
    hits = turn.leave_out_told(store, hits)
    return PreparedBlock(turn.render(hits, settings), asked, found.judged, query)


def order_restated_last(store: Store, hits: Sequence[Hit]) -> list[Hit]:
    """The hits, with those last that may only say again what a better one says.

    The relation `resembles` ties them. Places in a block are few; whether the two are one memory is
    decided elsewhere. What a trigger pattern called up keeps its place.
    """
    if len(hits) < 2:
        return list(hits)
    place = {hit.memory.id: n for n, hit in enumerate(hits)}
    restated = set()
    for edge in store.edges(list(place), ("resembles",)):
        if edge.src in place and edge.dst in place:
            restated.add(max(edge.src, edge.dst, key=place.__getitem__))
    return sorted(
        hits,
        key=lambda hit: hit.memory.id in restated and not is_rule_hit(hit),
    )
