"""What was spent on one day: tokens, dollars, outcomes, and until when the model rests. Plain
values, kept as JSON.

A day is a day in UTC. What was spent belongs to the day, whichever model spent it; a rest belongs
to the model that earned it, so that another one may be asked at once. A record that cannot be read
counts as a new day's: a budget is a courtesy to the owner's purse, not a reason to stop working.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from reverie.core.model import EMPTY_MAPPING

META_NAME = "llm"  # under which the usage is kept in the store


class SpendingLimits(NamedTuple):
    """What may be spent a day; 0: no limit."""

    tokens: int = 0
    dollars: float = 0.0

    def allows(
        self,
        day: UsageDay,
        tokens: int,
        dollars: float | None,
    ) -> bool:
        """True if so much more may be spent.

        A price that is not known is not counted: then the limit of tokens must do.
        """
        tokens_spent = day.tokens_in + day.tokens_out
        # Asked before the call, with all that it may take.
        if self.tokens and tokens_spent + tokens > self.tokens:
            return False
        return not self.dollars or day.dollars + (dollars or 0.0) <= self.dollars


class UsageDay(NamedTuple):
    """What was spent on a day, and how every question ended."""

    date: str
    model: str
    tokens_in: int = 0
    tokens_out: int = 0
    dollars: float = 0.0
    unpriced: int = 0  # calls whose price is not known
    outcomes: Mapping[str, Mapping[str, int]] = EMPTY_MAPPING  # task → outcome → how often
    rest_until: float = 0.0
    why: str = ""  # why it rests

    def with_outcome(self, task: str, outcome: str) -> UsageDay:
        """The day with one more of this outcome."""
        mine = dict(self.outcomes.get(task, EMPTY_MAPPING))
        mine[outcome] = mine.get(outcome, 0) + 1
        return self._replace(outcomes={**self.outcomes, task: mine})

    def with_call(
        self,
        task: str,
        outcome: str,
        tokens_in: int,
        tokens_out: int,
        dollars: float | None,
    ) -> UsageDay:
        """The day with one more call; `dollars` is None if the price is not known."""
        return self.with_outcome(task, outcome)._replace(
            tokens_in=self.tokens_in + tokens_in,
            tokens_out=self.tokens_out + tokens_out,
            dollars=self.dollars + (dollars or 0.0),
            unpriced=self.unpriced + (dollars is None),
        )

    def with_rest(
        self,
        now: float,
        seconds: float,
        why: str,
    ) -> UsageDay:
        """The day with a rest of so many seconds from now; 0: awake."""
        return self._replace(rest_until=now + seconds if seconds else 0.0, why=why)

    def to_json(self) -> str:
        """The day as it is kept."""
        outcomes = {task: dict(counts) for task, counts in self.outcomes.items()}
        return json.dumps({**self._asdict(), "outcomes": outcomes})


def load_usage_day(
    kept: str | None,
    model: str,
    now: float,
) -> UsageDay:
    """Today's usage: what was kept, if it is of today, else a new day.

    A rest that was earned by another model is over; one of this model lasts beyond midnight.
    """
    today = datetime.fromtimestamp(now, UTC).date().isoformat()
    day = parse_usage_day(kept) or UsageDay(today, model)
    if day.model != model:
        # What was spent was spent, whoever was asked.
        day = day._replace(
            model=model,
            rest_until=0.0,
            why="",
        )
    if day.date != today:
        day = UsageDay(
            today,
            model,
            rest_until=day.rest_until,
            why=day.why,
        )
    return day


def parse_usage_day(kept: str | None) -> UsageDay | None:
    """The day that was kept, or None if it cannot be read."""
    try:
        values: Any = json.loads(kept or "null")
        # Fields of a later version are a TypeError, and so a new day.
        day = UsageDay(**values)
    except (TypeError, ValueError):
        return None
    numbers = (day.tokens_in, day.tokens_out, day.dollars, day.unpriced, day.rest_until)
    is_sound = (
        isinstance(day.date, str)
        and isinstance(day.outcomes, dict)
        and all(isinstance(value, (int, float)) for value in numbers)
    )
    return day if is_sound else None


def estimate_prompt_tokens(text: str) -> int:
    """About how many tokens a text takes, a quarter of its characters: used where a server does not
    say.
    """
    return -(-len(text) // 4)
