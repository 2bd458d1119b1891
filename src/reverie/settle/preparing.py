"""The block for the next turn: what the conversation is about, what memory has on it, what of that earns its place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.attention import Attention, echoes
from reverie.config import Settings
from reverie.embed import Embedder
from reverie.lifecycle.extract import without_injections
from reverie.lifecycle.season import season_of
from reverie.messages import Said
from reverie.model import NOTHING, lineage
from reverie.search import Query, search
from reverie.settle.embedding import embedded, similarity
from reverie.settle.judging import Chosen, chosen
from reverie.store import Store
from reverie.window import EMPTY, Block, render

if TYPE_CHECKING:
    from reverie.llm import Llm

WINDOW_MESSAGES = 12     # what of a conversation is looked at (CONSTANTS: relevance window)
WINDOW_CHARS = 8_000
MESSAGE_CHARS = 1_200
NOT_SPOKEN = ("system", "developer", "tool", "function")


@dataclass(frozen=True, slots=True)
class Focus:
    """What a conversation is about just now."""

    text: str            # what is searched for
    context: str         # the window that trigger patterns are held against


def focus(window: Sequence[Said]) -> Focus:
    """The last thing the user said, alone: a short remark that borrows from the one before finds again what that found,
    and more of what nobody needs (bench.gate --borrowing).

    What tools answered may meet a trigger; it is never what is searched for.
    """
    said = [Said(m.role, without_injections(m.text).strip()) for m in window[-WINDOW_MESSAGES:] if m.role != "system"]
    context = "\n".join(m.text[-MESSAGE_CHARS:] for m in said)[-WINDOW_CHARS:]
    asked = [m.text for m in said if m.role == "user" and m.text]
    if not asked:
        spoken = "\n".join(m.text for m in said if m.role not in NOT_SPOKEN)
        return Focus(spoken[-MESSAGE_CHARS:], context)
    return Focus(asked[-1][:MESSAGE_CHARS], context)


class Prepared(NamedTuple):
    """What was made of a turn."""

    block: Block
    vector: Any                                  # of this context, for telling a change of topic
    judged: Mapping[str, object] = NOTHING       # what a judge said, for maintenance


def prepare(store: Store, embedder: Embedder | None, settings: Settings, attention: Attention, space: str,
            window: Sequence[Said], now: float, last: Any = None, llm: Llm | None = None) -> Prepared:
    """The block for the next turn.

    Embed, search, topic check, filter, judge, render: in this order (B90). Only decides; the caller records it.
    """
    about = focus(window)
    if not about.text or settings.is_off(space) or attention.seen_before(about.text, now):
        return Prepared(EMPTY, last)
    vector = embedded(embedder, about.text)
    changed = attention.topic(similarity(vector, last))
    query = Query(text=about.text, context=about.context, spaces=lineage(space), now=now, vector=vector,
                  model=embedder.model if embedder else "", limit=settings.limit * 4, automatic=True,
                  not_session=attention.session, session_in=attention.spaces,
                  season=season_of(store, lineage(space), now).label,
                  exclude=echoes(store, attention) | attention.blocked(now))
    found = (Chosen(search(store, query)) if llm is None
             else chosen(store, query, llm, settings, attention, window, changed=changed))
    return Prepared(render(found.hits, now, limit=settings.limit, budget=settings.budget), vector, found.judged)
