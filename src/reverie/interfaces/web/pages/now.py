"""Now: what memory is doing to the agent, turn by turn, while it happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.activity.turn_feed import FedTurn
from reverie.core.errors import NotFound
from reverie.injection.gate_report import GateVerdict
from reverie.interfaces.web.page import Page, View, WebRequest

PER_PAGE = 20


class Feed(NamedTuple):
    """Turns, the newest first."""

    turns: Sequence[FedTurn]
    before: int  # only what was before this event; 0: from the newest on
    next: int  # where the next page begins; 0: there is none
    everywhere: bool


def show_feed(mind: Mind, asked: WebRequest) -> Feed:
    """A page of turns."""
    before, limit = asked.number("before", 0, most=10**18), asked.number("limit", PER_PAGE)
    everywhere = asked.text("spaces") != "one"
    turns = mind.activity.turns(
        space=None if everywhere else asked.space, limit=limit + 1, before=before or None
    )
    shown = turns[:limit]
    return Feed(shown, before, shown[-1].event if len(turns) > limit else 0, everywhere)


class WeighedTurn(NamedTuple):
    """One turn, and what its words would bring up now."""

    turn: FedTurn
    verdicts: Sequence[GateVerdict]


def show_turn(mind: Mind, asked: WebRequest) -> WeighedTurn:
    """A turn with what was given, and what a gate stops."""
    event = asked.event_number("event")
    found = mind.activity.turns(limit=1, before=event + 1)
    if not found or found[0].event != event:
        raise NotFound(f"Event {event} is no turn of an agent")
    turn = found[0]
    words = [one.text for one in turn.said if one.role == "user"]
    verdicts = mind.sessions.weigh(words[-1], space=turn.space) if words else []
    return WeighedTurn(turn, verdicts)


PAGE = Page(
    "now",
    "Now",
    (
        View("/", show_feed, "now.html"),
        View("/turn/{event}", show_turn, "turn.html", scripts=()),
    ),
    place=1,
    key="n",
    # The feed loads htmx by itself, once there is something new.
    scripts=("cards.js",),
)
