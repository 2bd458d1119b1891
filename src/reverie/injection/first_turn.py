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
from reverie.retrieval.trigger_search import is_triggered
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
        return find_own_memories(store, self.attention) | self.find_told_ids()

    def find_told_ids(self) -> frozenset[str]:
        """What the conversation was given or waits for."""
        return frozenset(self.attention.list_blocked_ids(self.now))

    def leave_out_told(self, store: Store, hits: Sequence[Hit]) -> list[Hit]:
        """The hits that the conversation was not given yet, in these or nearly these words.

        Only now: all are judged, and have their places, beside what was told. Where that is the
        answer the next best is none, and neither is what only says it again: the relation
        `resembles` ties the two. What a trigger pattern called up is said all the same.
        """
        told = self.find_told_ids()
        new = [hit for hit in hits if hit.memory.id not in told]
        if not new or not told:
            return new
        edges = store.edges([hit.memory.id for hit in new], ("resembles",))
        again = {end for edge in edges if {edge.src, edge.dst} & told for end in edge[::2]}
        return [hit for hit in new if hit.memory.id not in again or is_triggered(hit)]

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


def take_places(hits: Sequence[Hit], limit: int) -> list[Hit]:
    """The hits that have a place in a block of so many; what a trigger called up takes none."""
    places = iter(range(limit))
    return [hit for hit in hits if is_triggered(hit) or next(places, None) is not None]


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
        query = query._replace(exclude=find_own_memories(store, turn.attention))
        best = take_places(search_memories(store, query), settings.limit)
        found = turn.leave_out_told(store, add_talk(store, query, best))
        known = {hit.memory.id for hit in found}
        others = [hit for hit in besides if hit.memory.id not in known]
        return turn.render([*found, *others], settings)
    except ReverieError:
        return without
