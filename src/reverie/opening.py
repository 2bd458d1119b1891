"""The answer to a conversation's first turn: nothing was prepared for it, so words alone decide, against the clock.

The companion gives it in its thread's stead, a hook in a process of its own; so nothing heavy is imported here.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.attention import Attention, echoes
from reverie.config import Settings
from reverie.errors import ReverieError
from reverie.model import Hit, lineage
from reverie.search import Query, search
from reverie.store import Store
from reverie.window import Block, render


def opening(store: Store, settings: Settings, attention: Attention, space: str, text: str, context: str, now: float,
            due: Sequence[Hit] = ()) -> Block:
    """What is `due`, and the lexical stage, cut off at `settings.deadline`. `text` is what was said, `context` what
    patterns are held against.

    A store in trouble has only what is due; whoever settles meets the same trouble and records it.
    """
    only_due = render((), now, limit=settings.limit, budget=settings.budget, due=due)
    if not text:
        return only_due
    query = Query(text=text, context=context, spaces=lineage(space), now=now, automatic=True, mode="words",
                  limit=settings.limit * 4, not_session=attention.session, session_in=attention.spaces,
                  within=settings.deadline)
    try:
        query = query._replace(exclude=echoes(store, attention) | attention.blocked(now))
        return render(search(store, query), now, limit=settings.limit, budget=settings.budget, due=due)
    except ReverieError:
        return only_due
