"""Gaps: questions of a conversation that memory had candidates for and no answer to (B80–B82,
CC-59).

A gap is an event beside the turn, with the beginning of the question (already without secrets),
when, and in which conversation. Where what would be shown was shown earlier in the conversation, or
said in it, there is no gap: the agent has the answer before its eyes. Where something else was
shown there is none either: nobody knows that it did not help. Nothing is thrown away: the newest
500 of the last 90 days are looked at, the log keeps the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from reverie.core.config import Settings
from reverie.core.model import Event
from reverie.extraction.retrieval_feedback import make_query_snippet
from reverie.retrieval import search_memories
from reverie.retrieval.search_query import SearchQuery, is_admissible
from reverie.storage import Store
from reverie.text.host_messages import HostMessage
from reverie.text.injection_fence import remove_injections

VERB = "gap"
MAX_GAPS = 500  # gaps that are looked at (CONSTANTS: gap store)
GAP_SECONDS = 90 * 86_400.0  # seconds for which they are
MAX_CANDIDATES = 10  # candidates that are counted
RECENT_GAPS = 20  # newest gaps of a conversation among which the same question is not noted again

_ASKS = re.compile(
    r"\?\s*$|^(?:what|which|where|who|whom|whose|when|why|how|remind me|tell me|do (?:you|we) (?:know|remember|have)|"
    r"(?:can|could) you (?:tell|remind|recall)|is|are|was|were|does|did|has|"
    r"(?:can|could|may|must|should|do|have) (?:i|we|they|it|this|that)|explain)\b",
    re.IGNORECASE | re.MULTILINE,
)


class KnowledgeGap(NamedTuple):
    """A question that nothing answered."""

    asked: str  # its beginning
    at: float  # when it was asked last
    times: int  # how often, in the same words
    space: str
    session: str  # where it was asked last


def is_question(text: str) -> bool:
    """Whether a text asks for knowledge: a line ends in a question mark or begins as
    questions do.
    """
    return _ASKS.search(text) is not None


def detect_knowledge_gap(
    store: Store,
    settings: Settings,
    session: str,
    space: str,
    query: SearchQuery,
    window: Sequence[HostMessage],
) -> Event | None:
    """The gap that a turn leaves for which nothing was prepared, if it leaves one; `query` is what
    was searched for.
    """
    said = [message.text for message in window if message.role == "user"]
    if settings.is_off(space, session) or not said or not is_question(remove_injections(said[-1])):
        return None
    found = store.search_words(query.terms, query.spaces, MAX_CANDIDATES, now=query.now)
    if not found or was_already_shown(store, query):
        return None
    asked = make_query_snippet(query.text)
    lately = store.events(verbs=(VERB,), session=session, newest=True, limit=RECENT_GAPS)
    if any(gap.payload.get("asked") == asked for gap in lately):
        return None
    return Event(
        verb=VERB,
        space=space,
        session=session,
        at=query.now,
        payload={"asked": asked, "candidates": len(found)},
    )


def was_already_shown(store: Store, query: SearchQuery) -> bool:
    """Whether something of what would be shown was shown earlier in the conversation, or said in
    it.
    """
    anew = query._replace(exclude=frozenset(), not_session="")
    return any(not is_admissible(hit.memory, query) for hit in search_memories(store, anew))


def list_knowledge_gaps(store: Store, space: str, now: float) -> list[KnowledgeGap]:
    """The gaps of a space and all below it, newest first, equal questions once."""
    found: dict[str, KnowledgeGap] = {}
    for event in store.events(verbs=(VERB,), newest=True, limit=MAX_GAPS):
        asked = event.payload.get("asked")
        if (
            not isinstance(asked, str)
            or now - event.at > GAP_SECONDS
            or not f"{event.space}/".startswith(f"{space}/")
        ):
            continue
        old = found.get(asked.lower())
        found[asked.lower()] = (
            old._replace(times=old.times + 1)
            if old
            else KnowledgeGap(asked, event.at, 1, event.space, event.session)
        )
    return list(found.values())
