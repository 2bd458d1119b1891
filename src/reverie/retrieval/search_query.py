"""One search, as a value: what is asked, from where, and which memories may answer it."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from reverie.core.kinds import EXCERPT, EXPLICIT_KINDS
from reverie.core.model import Filter, Hit, Memory
from reverie.retrieval import rescoring
from reverie.retrieval.graph_walk import HOP_DECAY
from reverie.text.tokenization import tokenize_query

MODES = ("auto", "convex", "rrf", "dense", "words", "judged")


class SearchQuery(NamedTuple):
    """A question with all that bears on its answer."""

    text: str
    spaces: tuple[str, ...]  # what the asker may see, nearest first
    now: float
    context: str = ""  # what trigger patterns are held against
    vector: Any = None  # the text's vector, if there is a model
    model: str = ""
    mode: str = "auto"
    limit: int = 10
    kinds: tuple[str, ...] = ()
    without: tuple[str, ...] = EXPLICIT_KINDS  # kinds that are left out
    tags: tuple[str, ...] = ()
    season: str = ""  # what the present time is called, if it has a name
    automatic: bool = False  # nobody asked: only what is likely needed may surface
    unlikely_too: bool = False  # a judge chooses: all candidates, not only what is likely needed
    not_session: str = ""  # a conversation whose own memories are not echoed back to it
    # the spaces in which that name is this conversation's; none: everywhere
    session_in: tuple[str, ...] = ()
    exclude: frozenset[str] = frozenset()
    within: float | None = None  # seconds that words and triggers may take
    before: float | None = None  # nothing that is younger: neither said nor written down by then
    depth: int = 0  # hops along the graph; what it is worth: docs/why-ranking.md
    decay: float = HOP_DECAY  # of a score, per hop
    floor: float = 0.0  # the least score of a candidate, by words and meaning

    @property
    def only_likely(self) -> bool:
        """True if only what is likely needed may be in the answer."""
        return self.automatic and not self.unlikely_too

    @property
    def terms(self) -> list[str]:
        """The index terms of the text."""
        return tokenize_query(self.text)

    def to_filter(self, limit: int) -> Filter:
        """The filter that the store applies; `is_admissible` checks the rest."""
        return Filter(
            spaces=self.spaces,
            kinds=self.kinds,
            without=self.without,
            tags=self.tags,
            limit=limit,
        )


def is_admissible(memory: Memory, query: SearchQuery) -> bool:
    """True if a memory counts now, fits the filters of the query, and is not an echo."""
    return (
        memory.active
        and memory.id not in query.exclude
        and (memory.expires_at is None or memory.expires_at > query.now)
        and (not query.kinds or memory.kind in query.kinds)
        and memory.kind not in query.without
        and set(query.tags) <= set(memory.tags)
        and not is_echo(memory, query)
        and (query.before is None or earliest_visible_at(memory) <= query.before)
        and not (query.automatic and not rescoring.can_surface(memory, query.now))
    )


def is_echo(memory: Memory, query: SearchQuery) -> bool:
    """True if the asking conversation said this itself, or must not hear it unasked.

    What has left a conversation's context (an excerpt) it does hear again, and unasked only that
    conversation: a passage of another one surfaces when somebody looks for it.
    """
    is_own = (
        bool(query.not_session)
        and memory.session == query.not_session
        and is_own_session(query, memory.space)
    )
    return query.automatic and not is_own if memory.kind == EXCERPT else is_own


def earliest_visible_at(memory: Memory) -> float:
    """The time from which on a memory could be asked for: when it was said, or written down if that
    was earlier.
    """
    return min(memory.at, memory.created_at)


def is_own_session(query: SearchQuery, space: str) -> bool:
    """True if the session that must not be echoed is meant in this space: elsewhere the name may be
    another conversation's.
    """
    return not query.session_in or space in query.session_in


def filter_admissible(hits: Sequence[Hit], query: SearchQuery) -> list[Hit]:
    """The hits that this asker may be given, in their order."""
    return [hit for hit in hits if is_admissible(hit.memory, query)]
