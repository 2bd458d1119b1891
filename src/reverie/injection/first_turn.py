"""What words alone find for a turn, against the clock: nothing was prepared for it.

The companion asks for it at a conversation's first turn, in its thread's stead; a hook at every
one, in a process of its own. So nothing heavy is imported here.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.context_window import Block, render
from reverie.context_window.injection_history import Attention, echoes
from reverie.core.config import Settings
from reverie.core.errors import ReverieError
from reverie.core.model import Hit, lineage
from reverie.retrieval import search
from reverie.retrieval.search_query import Query
from reverie.storage import Store


def opening(
    store: Store,
    settings: Settings,
    attention: Attention,
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
    without = render(besides, now, limit=settings.limit, budget=settings.budget, due=due)
    if not text:
        return without
    query = Query(
        text=text,
        context=context,
        spaces=lineage(space),
        now=now,
        automatic=True,
        mode="words",
        limit=settings.limit * 4,
        not_session=attention.session,
        session_in=attention.spaces,
        within=settings.deadline,
    )
    try:
        query = query._replace(exclude=echoes(store, attention) | attention.blocked(now))
        found = search(store, query)
        known = {hit.memory.id for hit in found}
        found = [*found, *(hit for hit in besides if hit.memory.id not in known)]
        return render(found, now, limit=settings.limit, budget=settings.budget, due=due)
    except ReverieError:
        return without
