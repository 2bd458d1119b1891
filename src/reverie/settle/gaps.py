"""Gaps: questions of a conversation that memory had candidates for and no answer to (B80–B82, CC-59).

A gap is an event beside the turn, with the beginning of the question (already without secrets), when, and in which
conversation. Where the best candidate was shown earlier in the conversation, or said in it, there is no gap: the agent
has the answer before its eyes.
Nothing is thrown away: the newest 500 of the last 90 days are looked at, the log keeps the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from reverie.attention import Attention
from reverie.config import Settings
from reverie.lifecycle.extract import without_injections
from reverie.messages import Said
from reverie.model import Event, lineage
from reverie.settle.maintaining import snippet
from reverie.settle.preparing import focus
from reverie.store import Store
from reverie.words import query_terms

VERB = "gap"
KEPT = 500                   # gaps that are looked at (CONSTANTS: gap store)
FOR = 90 * 86_400.0          # seconds for which they are
FEW = 10                     # candidates that are counted
LATELY = 20                  # newest gaps of a conversation among which the same question is not noted again

_ASKS = re.compile(
    r"\?\s*$|^(?:what|which|where|who|whom|whose|when|why|how|remind me|tell me|do (?:you|we) (?:know|remember|have)|"
    r"(?:can|could) you (?:tell|remind|recall)|is there|are there|explain)\b", re.IGNORECASE | re.MULTILINE)


class Gap(NamedTuple):
    """A question that nothing answered."""

    asked: str               # its beginning
    at: float                # when it was asked last
    times: int               # how often, in the same words
    space: str
    session: str             # where it was asked last


def asks(text: str) -> bool:
    """Whether a text asks for knowledge: a line ends in a question mark or begins as questions do."""
    return _ASKS.search(text) is not None


def unanswered(store: Store, settings: Settings, attention: Attention, space: str, window: Sequence[Said],
               now: float) -> Event | None:
    """The gap that a turn leaves for which nothing was prepared, if it leaves one."""
    said = [message.text for message in window if message.role == "user"]
    if settings.is_off(space) or not said or not asks(without_injections(said[-1])):
        return None
    about = focus(window).text
    found = store.get([id for id, _ in store.words(query_terms(about), lineage(space), FEW, now=now)])
    known = attention.blocked(now)
    if not found or found[0].id in known or (found[0].session and found[0].session == attention.session):
        return None
    asked = snippet(about)
    lately = store.events(verbs=(VERB,), session=attention.session, newest=True, limit=LATELY)
    if any(gap.payload.get("asked") == asked for gap in lately):
        return None
    return Event(verb=VERB, space=space, session=attention.session, at=now,
                 payload={"asked": asked, "candidates": len(found)})


def gaps(store: Store, space: str, now: float) -> list[Gap]:
    """The gaps of a space and all below it, newest first, equal questions once."""
    found: dict[str, Gap] = {}
    for event in store.events(verbs=(VERB,), newest=True, limit=KEPT):
        asked = event.payload.get("asked")
        if not isinstance(asked, str) or now - event.at > FOR or not f"{event.space}/".startswith(f"{space}/"):
            continue
        old = found.get(asked.lower())
        found[asked.lower()] = old._replace(times=old.times + 1) if old else Gap(
            asked, event.at, 1, event.space, event.session)
    return list(found.values())
