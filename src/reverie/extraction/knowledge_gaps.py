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
from reverie.extraction.retrieval_feedback import snippet
from reverie.retrieval import search
from reverie.retrieval.search_query import Query, alive
from reverie.storage import Store
from reverie.text.host_messages import Said
from reverie.text.injection_fence import without_injections

VERB = "gap"
KEPT = 500  # gaps that are looked at (CONSTANTS: gap store)
FOR = 90 * 86_400.0  # seconds for which they are
FEW = 10  # candidates that are counted
LATELY = 20  # newest gaps of a conversation among which the same question is not noted again

_ASKS = re.compile(
    r"\?\s*$|^(?:what|which|where|who|whom|whose|when|why|how|remind me|tell me|do (?:you|we) (?:know|remember|have)|"
    r"(?:can|could) you (?:tell|remind|recall)|is|are|was|were|does|did|has|"
    r"(?:can|could|may|must|should|do|have) (?:i|we|they|it|this|that)|explain)\b",
    re.IGNORECASE | re.MULTILINE,
)


class Gap(NamedTuple):
    """A question that nothing answered."""

    asked: str  # its beginning
    at: float  # when it was asked last
    times: int  # how often, in the same words
    space: str
    session: str  # where it was asked last


def asks(text: str) -> bool:
    """Whether a text asks for knowledge: a line ends in a question mark or begins as
    questions do.
    """
    return _ASKS.search(text) is not None


def unanswered(
    store: Store, settings: Settings, session: str, space: str, query: Query, window: Sequence[Said]
) -> Event | None:
    """The gap that a turn leaves for which nothing was prepared, if it leaves one; `query` is what
    was searched for.
    """
    said = [message.text for message in window if message.role == "user"]
    if settings.is_off(space, session) or not said or not asks(without_injections(said[-1])):
        return None
    found = store.words(query.terms, query.spaces, FEW, now=query.now)
    if not found or known(store, query):
        return None
    asked = snippet(query.text)
    lately = store.events(verbs=(VERB,), session=session, newest=True, limit=LATELY)
    if any(gap.payload.get("asked") == asked for gap in lately):
        return None
    return Event(
        verb=VERB,
        space=space,
        session=session,
        at=query.now,
        payload={"asked": asked, "candidates": len(found)},
    )


def known(store: Store, query: Query) -> bool:
    """Whether something of what would be shown was shown earlier in the conversation, or said in
    it.
    """
    anew = query._replace(exclude=frozenset(), not_session="")
    return any(not alive(hit.memory, query) for hit in search(store, anew))


def gaps(store: Store, space: str, now: float) -> list[Gap]:
    """The gaps of a space and all below it, newest first, equal questions once."""
    found: dict[str, Gap] = {}
    for event in store.events(verbs=(VERB,), newest=True, limit=KEPT):
        asked = event.payload.get("asked")
        if (
            not isinstance(asked, str)
            or now - event.at > FOR
            or not f"{event.space}/".startswith(f"{space}/")
        ):
            continue
        old = found.get(asked.lower())
        found[asked.lower()] = (
            old._replace(times=old.times + 1)
            if old
            else Gap(asked, event.at, 1, event.space, event.session)
        )
    return list(found.values())
