"""How the number of memories went over time. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie.core.clock import format_day
from reverie.core.kinds import DAY
from reverie.storage import DayCount


class GrowthDay(NamedTuple):
    """A day on which memories came or went."""

    date: str
    came: int
    went: int
    counted: int  # at its end


def sum_growth(days: Sequence[DayCount]) -> list[GrowthDay]:
    """The days with how many counted at the end of each, the first day first."""
    grown, counted = [], 0
    for day in days:
        counted += day.came - day.went
        grown.append(GrowthDay(format_day(day.day * DAY), day.came, day.went, counted))
    return grown
