"""The block that words alone find for a turn, against the clock: nothing was prepared for it.

The companion asks for it at a conversation's first turn, in the caller's own thread; a hook at
every one, in a process of its own. So nothing heavy is imported here.
"""

from collections.abc import Sequence
from typing import NamedTuple

from reverie.context_window import Block, render_block
from reverie.context_window.injection_history import InjectionHistory, find_own_memories
from reverie.core.config import Settings
from reverie.core.errors import ReverieError
from reverie.core.model import Hit, visible_spaces
from reverie.retrieval import search_memories
from reverie.retrieval.search_query import SearchQuery
from reverie.storage import Store
from reverie.transcripts.joint_search import add_talk


class InjectionTurn(NamedTuple):
    """The turn of a conversation for which a block is made."""

    attention: InjectionHistory
    space: str
    now: float
    due: Sequence[Hit] = ()  # reminders that are given with it, whatever it is about

    def to_query(
        self,
        settings: Settings,
        text: str,
        context: str,
    ) -> SearchQuery:
        """The search for what is said; trigger patterns are held against the context."""
        return SearchQuery(
            text=text,
            context=context,
            spaces=visible_spaces(self.space),
            now=self.now,
            # More than are shown: most of them are equal texts or too unlikely.
            limit=settings.limit * 4,
            automatic=True,
            not_session=self.attention.session,
            session_in=self.attention.spaces,
        )

    def find_excluded_ids(self, store: Store) -> frozenset[str]:
        """What the conversation said itself, was given or waits for: not to be injected now."""
        own = find_own_memories(store, self.attention)
        return own | self.attention.list_blocked_ids(self.now)

    def render(self, hits: Sequence[Hit], settings: Settings) -> Block:
        """The block of these hits and what is due; only what is due in a conversation that is held
        out.
        """
        whole = self._render(hits, settings)
        if not settings.is_held_out(self.attention.session):
            return whole
        said = self._render((), settings)
        return said._replace(withheld=tuple(id for id in whole.ids if id not in said.ids))

    def _render(self, hits: Sequence[Hit], settings: Settings) -> Block:
        return render_block(
            hits,
            self.now,
            limit=settings.limit,
            budget=settings.budget,
            due=self.due,
        )


def prepare_by_words(
    store: Store,
    settings: Settings,
    turn: InjectionTurn,
    text: str,
    context: str,
    besides: Sequence[Hit] = (),
) -> Block:
    """What is due, what words and triggers find within `settings.deadline`, and `besides`.

    `text` is what was said, `context` what patterns are held against. A store in trouble has only
    what is due and besides; whoever settles meets the same trouble and records it.
    """
    # What there is in any case, should the store be in trouble.
    without = turn.render(besides, settings)
    if not text:
        return without
    query = turn.to_query(settings, text, context)
    query = query._replace(mode="words", within=settings.deadline)
    try:
        query = query._replace(exclude=turn.find_excluded_ids(store))
        found = search_memories(store, query)
        found = add_talk(store, query, found)
        known = {hit.memory.id for hit in found}
        others = [hit for hit in besides if hit.memory.id not in known]
        return turn.render([*found, *others], settings)
    except ReverieError:
        return without
