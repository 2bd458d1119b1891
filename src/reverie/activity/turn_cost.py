"""What memory cost agents, day by day: how much they were given and how long they waited for it.
Pure.

A turn counts on the day (UTC) on which it was. Tokens are estimated, as in the feed of turns; a
wait that was not measured counts as none, and is left out of what is typical.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reverie.activity.turn_feed import FedTurn
from reverie.core.clock import format_day


class TurnCost(NamedTuple):
    """What some turns cost together."""

    turns: int
    fed: int  # turns that were given something
    tokens: int
    waited: float  # seconds, of all turns
    typical_wait: float  # the median of those measured, in seconds
    long_wait: float  # of a hundred turns, ninety-five waited less


class DayCost(NamedTuple):
    """A day, and what its turns cost."""

    date: str
    cost: TurnCost


def sum_turn_costs(turns: Iterable[FedTurn]) -> TurnCost:
    """All of them together."""
    counted = list(turns)
    waits = sorted(turn.waited for turn in counted if turn.waited)
    return TurnCost(
        len(counted),
        sum(1 for turn in counted if turn.given),
        sum(turn.tokens for turn in counted),
        sum(waits),
        pick_share(waits, 0.5),
        pick_share(waits, 0.95),
    )


def pick_share(ordered: Sequence[float], share: float) -> float:
    """The value below which such a share of the values lies; 0 for none."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def list_daily_costs(turns: Iterable[FedTurn]) -> list[DayCost]:
    """Day by day, the newest first."""
    by_day: dict[str, list[FedTurn]] = defaultdict(list)
    for turn in turns:
        by_day[format_day(turn.at)].append(turn)
    return [DayCost(day, sum_turn_costs(by_day[day])) for day in sorted(by_day, reverse=True)]
