"""What words alone find for a turn, against the clock: nothing was prepared for it.

The companion asks for it at a conversation's first turn, in its thread's stead; a hook at every
one, in a process of its own. So nothing heavy is imported here.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.context_window import Block, render_block
from reverie.context_window.injection_history import InjectionHistory, find_own_memories
from reverie.core.config import Settings
from reverie.core.errors import ReverieError
from reverie.core.model import Hit, visible_spaces
from reverie.retrieval import search_memories
from reverie.retrieval.search_query import SearchQuery
from reverie.storage import Store


def prepare_by_words(
    store: Store,
    settings: Settings,
    attention: InjectionHistory,
    space: str,
    text: str,
    context: str,
    now: float,
    due: Sequence[Hit] = (),
    besides: Sequence[Hit] = (),
) -> Block:
    """What is `due`, the lexical stage, cut off at `settings.deadline`, and what there is
    `besides`. `text` is what was said, `context` what patterns are held against.

    A store in trouble has only what is due and besides; whoever settles meets the same trouble and
    records it.
    """
    without = render_block(besides, now, limit=settings.limit, budget=settings.budget, due=due)
    if not text:
        return without
    query = SearchQuery(
        text=text,
        context=context,
        spaces=visible_spaces(space),
        now=now,
        automatic=True,
        mode="words",
        limit=settings.limit * 4,
        not_session=attention.session,
        session_in=attention.spaces,
        within=settings.deadline,
    )
    try:
        query = query._replace(
            exclude=find_own_memories(store, attention) | attention.list_blocked_ids(now)
        )
        found = search_memories(store, query)
        known = {hit.memory.id for hit in found}
        found = [*found, *(hit for hit in besides if hit.memory.id not in known)]
        return render_block(found, now, limit=settings.limit, budget=settings.budget, due=due)
    except ReverieError:
        return without
