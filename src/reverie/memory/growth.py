"""How the number of memories went over time, and how what nobody uses decays. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from reverie.core.clock import format_day
from reverie.core.kinds import DAY, half_life_of_kind
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


class KindDecay(NamedTuple):
    """How memories of a kind decay that nobody uses."""

    kind: str
    memories: int
    half_life: float | None  # days until half of the retention is left; None: it never decays

    def left_after(self, days: float) -> float:
        """The share that is left after so many days without use, 0 to 1."""
        return 1.0 if self.half_life is None else 2.0 ** (-days / self.half_life)


def list_decays(kinds: Mapping[str, int], most: int) -> list[KindDecay]:
    """The commonest kinds, of which so many memories count, with their decay."""
    commonest = sorted(kinds, key=lambda kind: (-kinds[kind], kind))[:most]
    half_lives = {kind: half_life_of_kind(kind) for kind in commonest}
    return [
        KindDecay(kind, kinds[kind], days if isfinite(days) else None)
        for kind, days in half_lives.items()
    ]
