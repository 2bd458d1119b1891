"""Sessions: past conversations, and one as a replay with what memory knew, gave and learned."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.core.errors import NotFound
from reverie.core.model import SAID, Hit
from reverie.extraction.past_conversations import PastConversation
from reverie.extraction.session_replay import ReplayStep
from reverie.injection.gate_report import GateVerdict
from reverie.interfaces.web.late_ranking import is_ranking_late, load_ranking
from reverie.interfaces.web.page import Page, View, WebRequest

PER_PAGE = 20
STEPS_PER_PAGE = 30
# Of what was known at a moment.
KNOWN = 8


class SessionList(NamedTuple):
    """Past conversations, the latest first."""

    conversations: Sequence[PastConversation]
    words: str
    skip: int
    next: int  # how many the next page leaves out; 0: there is none


def list_sessions(mind: Mind, asked: WebRequest) -> SessionList:
    """A page of conversations."""
    words, limit = asked.text("q"), asked.number("limit", PER_PAGE)
    skip = asked.number("skip", 0, most=1_000_000)
    found = mind.sessions.browse(space=asked.space, words=words.split(), limit=limit + 1, skip=skip)
    more = skip + limit if len(found) > limit else 0
    return SessionList(found[:limit], words, skip, more)


class Replay(NamedTuple):
    """A conversation with what memory did in it."""

    session: str
    began: float
    ended: float
    steps: Sequence[ReplayStep]
    total: int  # steps in all
    given: int
    learned: int
    next: int  # the number of the step that the next page begins with; -1: there is none


def show_session(mind: Mind, asked: WebRequest) -> Replay:
    """A conversation, a page of steps at a time."""
    session = asked.name("id")
    steps = mind.sessions.replay(session, space=asked.space)
    begin, limit = asked.number("from", 0, most=10**9), asked.number("limit", STEPS_PER_PAGE)
    # From the step in which that message stands, whoever said it.
    here = steps[max(0, bisect_right([step.number for step in steps], begin) - 1) :]
    return Replay(
        session,
        steps[0].at if steps else 0.0,
        steps[-1].messages[-1].at if steps else 0.0,
        here[:limit],
        len(steps),
        sum(len(step.given) for step in steps),
        sum(len(step.learned) for step in steps),
        here[limit].number if len(here) > limit else -1,
    )


class ReplayMoment(NamedTuple):
    """One step of a conversation, and what its words find: then and now."""

    session: str
    step: ReplayStep
    place: int  # of the step, from 1
    total: int
    before: int  # the number of the step before; -1: there is none
    after: int
    known: Sequence[Hit]  # what the words would have found then
    verdicts: Sequence[GateVerdict]  # what would be given now
    is_late: bool = False  # neither was looked for: what ranks is being loaded


def show_moment(mind: Mind, asked: WebRequest) -> ReplayMoment:
    """A step with what was known then, and what would be given here now."""
    session, number = asked.name("id"), asked.event_number("number")
    steps = mind.sessions.replay(session, space=asked.space)
    places = {step.number: place for place, step in enumerate(steps)}
    if number not in places:
        raise NotFound(f"No step of this conversation begins with message {number}")
    place = places[number]
    step = steps[place]
    has_words = bool(step.words.strip())
    is_late = has_words and is_ranking_late(mind, asked, asked.space)
    is_asked = has_words and not is_late
    known = (
        mind.recall(step.words, space=asked.space, limit=KNOWN, as_of=step.at) if is_asked else []
    )
    return ReplayMoment(
        session,
        step,
        place + 1,
        len(steps),
        steps[place - 1].number if place else -1,
        steps[place + 1].number if place + 1 < len(steps) else -1,
        [hit for hit in known if hit.memory.kind != SAID],
        # As if it were said today in a new conversation, which has been told nothing yet.
        mind.sessions.weigh(step.words, space=asked.space) if is_asked else [],
        is_late,
    )


def load_moment(mind: Mind, asked: WebRequest, shown: ReplayMoment) -> None:
    """Have the next look at a step find what its words bring up."""
    if shown.is_late:
        load_ranking(mind, asked.space)


PAGE = Page(
    "sessions",
    "Sessions",
    (
        View("/sessions", list_sessions, "sessions.html"),
        View("/sessions/{id}", show_session, "session.html"),
        View("/sessions/{id}/{number}", show_moment, "session_moment.html", after=load_moment),
    ),
    place=6,
    key="s",
    styles=("sessions.css",),
)
