"""Now: what memory is doing to the agent, turn by turn, while it happens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.activity.turn_feed import FedTurn
from reverie.core.errors import NotFound
from reverie.injection.gate_report import GateVerdict
from reverie.interfaces.turn_gates import is_near, list_stopped, read_last_words, weigh_turn
from reverie.interfaces.web.late_ranking import is_ranking_late, load_ranking
from reverie.interfaces.web.page import Page, View, WebRequest

PER_PAGE = 20
# Of what is withheld, below a turn in the feed.
MOST_NEAR = 4


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
    back: str = ""  # where an action goes on to; empty: this page
    more: int = 0  # that are further from the words, and not listed here
    is_late: bool = False  # nothing was weighed: what ranks is being loaded


def show_turn(mind: Mind, asked: WebRequest) -> WeighedTurn:
    """A turn with what was given, and what a gate stops."""
    turn = find_turn(mind, asked)
    if read_last_words(turn) and is_ranking_late(mind, asked, turn.space):
        return WeighedTurn(turn, (), is_late=True)
    return WeighedTurn(turn, weigh_turn(mind, turn))


def load_weighing(mind: Mind, _asked: WebRequest, shown: WeighedTurn) -> None:
    """Have the next look at a turn find what is weighed."""
    if shown.is_late:
        load_ranking(mind, shown.turn.space)


def show_gates(mind: Mind, asked: WebRequest) -> WeighedTurn:
    """What a gate keeps back of what fits a turn: a part of the feed, which asks for it once it is
    seen, so that nothing waits for the weighing.
    """
    turn = find_turn(mind, asked)
    stopped = list_stopped(mind, turn)
    near = list(filter(is_near, stopped))[:MOST_NEAR]
    return WeighedTurn(turn, near, asked.text("back"), len(stopped) - len(near))


def find_turn(mind: Mind, asked: WebRequest) -> FedTurn:
    """The turn of an event; NotFound if it is none."""
    event = asked.event_number("event")
    found = mind.activity.turns(limit=1, before=event + 1)
    if not found or found[0].event != event:
        raise NotFound(f"Event {event} is no turn of an agent")
    return found[0]


PAGE = Page(
    "now",
    "Now",
    (
        View("/", show_feed, "now.html"),
        View("/turn/{event}", show_turn, "turn.html", scripts=(), after=load_weighing),
        View("/turn/{event}/gates", show_gates, "turn_gates.html"),
    ),
    place=1,
    key="n",
    # The feed loads htmx by itself, once there is something new.
    scripts=("cards.js",),
)
