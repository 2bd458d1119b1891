"""What the language model took day by day, from the events of its calls. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie.core.clock import format_day
from reverie.core.model import Event

MAX_CALLS = 10_000


class SpendingDay(NamedTuple):
    """The calls of a day."""

    date: str
    calls: int
    tokens: int
    dollars: float  # of the calls whose price is known
    unpriced: int


def sum_spending(calls: Sequence[Event]) -> list[SpendingDay]:
    """The days of some calls, the latest first."""
    days: dict[str, SpendingDay] = {}
    for call in calls:
        date = format_day(call.at)
        day = days.get(date, SpendingDay(date, 0, 0, 0.0, 0))
        tokens = sum(int(call.payload.get(name) or 0) for name in ("tokens_in", "tokens_out"))
        cost = call.payload.get("cost", 0.0)
        days[date] = day._replace(
            calls=day.calls + 1,
            tokens=day.tokens + tokens,
            dollars=day.dollars + float(cost or 0.0),
            unpriced=day.unpriced + (cost is None),
        )
    return sorted(days.values(), reverse=True)
