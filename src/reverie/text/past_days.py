"""Days gone by as people say them: "1 March", "yesterday", "last Friday", "March 1, 2025".

A day is always the last one of that name that has begun: on Tuesday, "Tuesday" is today and "last
Tuesday" a week ago. What could be read in two ways (03/04/2026) is not a day. `now` is an argument;
days are those of UTC, as everywhere where somebody looks back.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

_MONTH = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|january|february|march|april|june|july"
    r"|august|sept|september|october|november|december)\.?"
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NAMED = re.compile(
    rf"(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? \d{{4}})?"
    rf"|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?"
)
_WEEKDAY = re.compile(rf"(?P<last>last )?(?P<day>{'|'.join(_WEEKDAYS)})")
_DISTANCES = {"today": 0, "yesterday": 1}


def parse_past_day(text: str, now: float) -> date | None:
    """The day that words name; None for anything else."""
    phrase = " ".join(text.lower().split())
    today = datetime.fromtimestamp(now, UTC).date()
    if phrase in _DISTANCES:
        return today - timedelta(days=_DISTANCES[phrase])
    if found := _WEEKDAY.fullmatch(phrase):
        days = (today.weekday() - _WEEKDAYS.index(found["day"])) % 7
        return today - timedelta(days=days or (7 if found["last"] else 0))
    return parse_named_day(phrase, today) if _NAMED.fullmatch(phrase) else None


def parse_named_day(phrase: str, today: date) -> date | None:
    """A day of a month; without a year the last one that has begun."""
    # A tenth of a second to import.
    from dateparser import parse

    found = parse(
        phrase.removeprefix("the "),
        languages=["en"],
        settings={
            "RELATIVE_BASE": datetime(today.year, today.month, today.day),
            "PREFER_DATES_FROM": "past",
            "REQUIRE_PARTS": ["day", "month"],
        },
    )
    return found.date() if found else None
