"""Time expressions: "tomorrow at 9", "in 20 minutes", "every weekday at 8:30", as timestamps.

A reminder is meant on the clock on the wall of a time zone: 09:00 stays 09:00 when that clock is
put forward or back. A time that a change of the clock leaves out (02:30 in spring) is the first
moment after the gap; one that comes twice is the first of both. Hours and minutes from now, and
every so many of them, are time that passes, whatever clocks say.

What cannot be understood is refused, and so is what could be read in two ways (03/04/2027). Without
a time of day, a date means 09:00; a time of day alone is the next one to come. Days are read by
`dateparser`, cron by `cronsim`; what stands here is what neither does: times of day beside days,
phrases that recur, the wall's clock. `now` is an argument.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import MAX_TIMESTAMP
from reverie.text.tokenization import fold_text

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

WallTime = datetime  # what a clock on a wall shows: no tzinfo

MORNING = time(9)  # a day without a time of day
DAY_PARTS = {
    "morning": time(9),
    "noon": time(12),
    "midday": time(12),
    "afternoon": time(14),
    "evening": time(18),
    "tonight": time(20),
    "night": time(20),
    "midnight": time(0),
}
LATE_PARTS = ("afternoon", "evening", "tonight", "night")  # "tonight at 8" is 20:00
NIGHT_PARTS, SMALL_HOURS = (
    ("tonight", "night"),
    5,
)  # "tonight at 1" is the next day's, as any hour before 5 is
MAX_PHRASE_CHARS = 120  # characters of a phrase
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
PASSING_UNITS = {"minute": 60.0, "hour": 3_600.0}  # time that passes; days and weeks are the wall's
UNIT_SECONDS = {
    **PASSING_UNITS,
    "day": 86_400.0,
    "week": 7 * 86_400.0,
}
MAX_INTERVAL_SECONDS = (
    3_660 * 86_400.0
)  # seconds: what comes less often than every ten years is a slip

_PART = re.compile(
    r"\b(?:(?:at|in the|this) )?(morning|noon|midday|afternoon|evening|tonight|night|midnight)\b"
)
_CLOCK = re.compile(
    r"(?:\b(?:at|by) |@ ?)?\b(?:(?P<hour>\d{1,2})[:.h](?P<minute>\d\d)(?: ?(?P<half>[ap])"
    r"\.?m\b\.?)?"
    r"|(?P<hour2>\d{1,2}) ?(?P<half2>[ap])\.?m\b\.?)(?![.:\d])"
    r"|(?:\bat |@ ?)(?P<hour3>\d{1,2})\b(?![:.\d])"
)
_AMOUNT = r"(?:\d+(?:\.\d+)?|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_PASSING = re.compile(
    rf"(?:in )?(?:{_AMOUNT} ?(?:hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)"
    r"(?:,? and |,? ?))+(?: ?from now)?"
)
_AHEAD = re.compile(
    rf"(?:in )?(?:{_AMOUNT} ?(?:days?|weeks?|months?|years?)(?:,? and |,? ?))+(?: ?from now)?"
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*\.?"
_WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?"
_NAMED = (
    rf"(?:this )?{_WEEKDAY}|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}|"
    rf"{_MONTH} (?:the )?\d{{1,2}}(?:st|nd|rd|th)?"
)  # today too, if that is its name
_DAY = re.compile(
    rf"today|(?:the )?day after tomorrow|tomorrow|(?:(?:next|coming) )?{_WEEKDAY}|next week|"
    rf"next month|(?:{_NAMED})(?:,? \d{{4}})?|yesterday"
)
_TODAY_TOO = re.compile(_NAMED)
_CRON = re.compile(
    r"(?:[\d*/,LlW#?-]|[a-z]{3}\b)+(?: (?:[\d*/,LlW#?-]|[a-z]{3}\b)+){4}", re.IGNORECASE
)
_EVERY = re.compile(
    rf"(?:every|each) (?:(?P<count>\d+|other|second) )?(?:(?P<unit>minute|min|hour|day|weekday"
    rf"|workday|weekend|week|"
    rf"month)s?(?: on (?:the )?(?P<of>\d{{1,2}}(?:st|nd|rd|th)?|last day|{_WEEKDAY}))?"
    rf"|(?P<days>{_WEEKDAY}s?(?:(?:, and|,| and| &) ?{_WEEKDAY}s?)*))"
)
_INTERVAL = re.compile(
    r"every ([1-9]\d{0,9}) (?:(minute|hour)s|(day|week)s at ((?:[01]\d|2[0-3]):[0-5]\d))", re.ASCII
)
_PLAINER = (
    ("half an hour", "30 minutes"),
    ("daily", "every day"),
    ("weekly", "every week"),
    ("hourly", "every hour"),
    ("monthly", "every month"),
    ("eod", "today at 17:00"),
    ("end of day", "today at 17:00"),
    ("@daily", "every day"),
)
_OCLOCK = re.compile(r"(?:\b(?:at|by) )?\b(\d{1,2}) ?o['’]clock\b")


def load_zone(name: str) -> ZoneInfo:
    """A time zone by its IANA name."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError, TypeError, AttributeError) as err:
        raise BadInput(
            f"{name!r} is not a time zone that this machine knows. Name one such as Europe/Berlin "
            f"or UTC; "
            "where all are missing, pip install tzdata"
        ) from err


@lru_cache(maxsize=1_000)
def is_known_zone(name: str) -> bool:
    """True if a time zone is known here."""
    try:
        return bool(load_zone(name))
    except BadInput:
        return False


def to_wall_time(at: float, zone: str) -> WallTime:
    """What a clock on the wall shows at a timestamp."""
    there = datetime.fromtimestamp(at, load_zone(zone))
    return there.replace(tzinfo=None, fold=0)


def from_wall_time(wall: WallTime, zone: str) -> float:
    """The timestamp at which a clock on the wall first shows this.

    If it never does, the first one after.
    """
    there = wall.replace(tzinfo=load_zone(zone), fold=0)
    at = there.timestamp()
    if to_wall_time(at, zone) == wall:
        return at
    # In a gap the offset of fold 0 is that of before, so that `at` lies after the change; fold 1
    # lies before it.
    before = int(there.replace(fold=1).timestamp())
    seconds = range(before, int(at))
    passed = bisect_left(seconds, True, key=lambda t: to_wall_time(t, zone) > wall)
    return float(before + passed)


def format_wall_time(at: float, zone: str) -> str:
    """A timestamp as it was understood: "Monday 2026-11-23 09:00 Europe/Berlin"."""
    wall = to_wall_time(at, zone)
    return f"{DAYS[wall.weekday()].title()} {wall:%Y-%m-%d %H:%M} {zone}"


def normalize_phrase(text: str) -> str:
    """A phrase in lower case with single spaces, in words that the expressions know."""
    if not isinstance(text, str) or not text.strip() or len(text) > MAX_PHRASE_CHARS:
        raise BadInput(f"{str(text)[:40]!r} is not a time. {EXAMPLES}")
    found = fold_text(text)
    for said, meant in _PLAINER:
        found = re.sub(rf"(?<!\w){re.escape(said)}(?!\w)", meant, found)
    return _OCLOCK.sub(r"at \1", found)


EXAMPLES = (
    'Say for instance "tomorrow at 9", "in 20 minutes", "next Monday 14:00", "3 December at 8:30" '
    "or "
    '"2026-12-03 08:30"'
)


def parse_time_ahead(
    when: str | float | datetime | date,
    now: float,
    zone: str,
) -> float:
    """The timestamp meant, which must be still to come; BadInput says what was understood."""
    at = parse_time_expression(when, now, zone)
    if at <= now:
        raise BadInput(
            f"{str(when)!r} was understood as {format_wall_time(at, zone)}, which has passed "
            f"(it is {format_wall_time(now, zone)}). Name a time to come"
        )
    return at


def parse_time_expression(
    when: str | float | datetime | date,
    now: float,
    zone: str,
) -> float:
    """The timestamp of a phrase, ISO 8601, a datetime, a date, or seconds since 1970.

    It is meant in `zone` where it names none.
    """
    if isinstance(when, str):
        when = parse_iso_time(when) or when
    if isinstance(when, datetime):
        return when.timestamp() if when.tzinfo else from_wall_time(when, zone)
    if isinstance(when, date):
        return from_wall_time(datetime.combine(when, MORNING), zone)
    if isinstance(when, (int, float)) and not isinstance(when, bool) and 0 <= when < MAX_TIMESTAMP:
        return float(when)
    if isinstance(when, str):
        return parse_time_phrase(when, now, zone)
    raise BadInput(f"{when!r} is not a time. {EXAMPLES}")


def parse_iso_time(text: str) -> datetime | date | None:
    """A moment or a day in ISO 8601; None for anything else."""
    for read in (date.fromisoformat, datetime.fromisoformat):
        try:
            return read(text.strip())
        except ValueError:
            continue
    return None


def parse_time_phrase(
    text: str,
    now: float,
    zone: str,
) -> float:
    """The timestamp that words mean."""
    phrase = normalize_phrase(text)
    if _PASSING.fullmatch(phrase):
        # Hours and minutes pass alike in every zone, so they are added in UTC.
        here = datetime.fromtimestamp(now, UTC).replace(tzinfo=None)
        there = parse_day_phrase(phrase, here)
        return there.replace(tzinfo=UTC).timestamp() if there else refuse_phrase(text)
    here = to_wall_time(now, zone)
    day, at, after_midnight = split_phrase(phrase, text)
    if not day:
        return next_wall_time(here, at or MORNING, now, zone)
    is_distance = _AHEAD.fullmatch(day) is not None
    there = parse_day_phrase(day, here) if is_distance or _DAY.fullmatch(day) else None
    if there is None:
        return refuse_phrase(text)
    if at is None:
        at = here.time().replace(second=0, microsecond=0) if is_distance else MORNING
    days = [there]
    if _TODAY_TOO.fullmatch(day):
        # Asked from yesterday, `dateparser` names today too, if that is the day's name.
        first = parse_day_phrase(day, here - timedelta(days=1))
        days = [first, there] if first else days
    night = timedelta(days=after_midnight)
    walls = [datetime.combine(day, at) + night for day in days]
    moments = [from_wall_time(wall, zone) for wall in walls]
    return next((moment for moment in moments if moment > now), moments[-1])


def next_wall_time(
    here: WallTime,
    at: time,
    now: float,
    zone: str,
) -> float:
    """The next time that the wall's clock shows this."""
    wall = datetime.combine(here.date(), at)
    today = from_wall_time(wall, zone)
    return today if today > now else from_wall_time(wall + timedelta(days=1), zone)


def refuse_phrase(text: str) -> float:
    """Raise BadInput for a phrase that is not understood."""
    raise BadInput(f"{text!r} is not understood as a time. {EXAMPLES}")


class PhraseParts(NamedTuple):
    """The day and the time of day of a phrase, either of which may be missing."""

    day: str = ""
    at: time | None = None
    after_midnight: bool = False  # of the day named: "Friday night at 1"


def split_phrase(phrase: str, text: str) -> PhraseParts:
    """What a phrase says of the day and what of the time of day; BadInput if it says two times."""
    clocks = list(_CLOCK.finditer(phrase))
    day_parts = list(_PART.finditer(phrase))
    if len(clocks) > 1 or len(day_parts) > 1:
        refuse_phrase(text)
    part = day_parts[0][1] if day_parts else ""
    at = DAY_PARTS.get(part)
    if clocks:
        at = parse_clock(clocks[0], part, text)
    rest = _PART.sub(" ", _CLOCK.sub(" ", phrase))
    rest = " ".join(rest.split()).strip(" ,")
    day = re.sub(r"^(?:on|by|at)\b|[\s,]+(?:on|at|by)$", "", rest).strip(" ,")
    if not day and at is None:
        refuse_phrase(text)
    after_midnight = part in NIGHT_PARTS and at is not None and at.hour < SMALL_HOURS
    if not day and not after_midnight:
        is_today = part == "tonight" or re.search(r"\bthis (?:morning|afternoon|evening)\b", phrase)
        day = "today" if is_today else ""
    return PhraseParts(day, at, after_midnight)


def parse_clock(
    found: re.Match[str],
    part: str,
    text: str,
) -> time:
    """A time of day: 14:00, 9am, "at 9", "at 8 in the evening"; "tonight at 12" is midnight."""
    hour = int(found["hour"] or found["hour2"] or found["hour3"])
    minute = int(found["minute"] or 0)
    half = said = found["half"] or found["half2"] or ""
    if not said and part in NIGHT_PARTS and 0 < hour and (hour == 12 or hour < SMALL_HOURS):
        half = "a"
    elif not said and part in LATE_PARTS and 0 < hour < 12:
        half = "p"
    is_no_time = hour > 23 or minute > 59 or (half and not 1 <= hour <= 12)
    # "12 in the evening" and "12 pm tonight" could be noon or midnight.
    is_late = part == "evening" or (part in NIGHT_PARTS and said == "p")
    is_unclear = hour == 12 and is_late
    if is_no_time or is_unclear:
        refuse_phrase(text)
    if half:
        hour = hour % 12 + 12 * (half == "p")
    return time(hour, minute)


def parse_day_phrase(phrase: str, here: WallTime) -> WallTime | None:
    """The day of a phrase in one of the known forms, by `dateparser`.

    With hours and minutes, the moment.
    """
    from dateparser import parse

    found: datetime | None = parse(
        phrase.removeprefix("the "),
        languages=["en"],
        settings={
            "RELATIVE_BASE": here,
            "PREFER_DATES_FROM": "future",
            "RETURN_AS_TIMEZONE_AWARE": False,
        },
    )
    return found if found is not None and found.tzinfo is None else None


def parse_recurrence(
    text: str,
    now: float,
    zone: str,
    at: time = MORNING,
) -> str:
    """The rule of a phrase that recurs: cron ("30 8 * * 1-5") or "every 2 weeks at 09:00".

    Where the words do not say so, `now` says which day of the month is meant, and `at` which time
    of day.
    """
    phrase = normalize_phrase(text)
    cron = " ".join(text.split())
    if _CRON.fullmatch(cron):
        return check_cron(cron, text)
    phrase = phrase if phrase.startswith(("every ", "each ")) else f"every {phrase}"
    found = _EVERY.match(phrase)
    rest = phrase[found.end() :].strip(" ,") if found else ""
    if found is None:
        raise recurrence_error(text)
    parts = split_phrase(rest, text) if rest else PhraseParts()
    if parts.day or parts.after_midnight:
        raise BadInput(f"{parts.day or rest!r} in {text!r} is not understood. {RECURS}")
    if parts.at and found["unit"] in ("minute", "min", "hour"):
        raise recurrence_error(text)
    return build_rule(found, parts.at or at, to_wall_time(now, zone), text)


RECURS = (
    'Say for instance "every weekday at 8:30", "every Monday and Thursday at 9", "every 2 hours", '
    '"every month on the 3rd at 10:00", or cron: "30 8 * * 1-5"'
)
_CRON_DAYS = {
    "day": "*",
    "weekday": "1-5",
    "workday": "1-5",
    "weekend": "0,6",
}


def recurrence_error(text: str) -> BadInput:
    """What to say of a phrase that is not understood."""
    return BadInput(f"{text!r} is not understood as something that recurs. {RECURS}")


def build_rule(
    found: re.Match[str],
    clock: time,
    here: WallTime,
    text: str,
) -> str:
    """The rule of a phrase that `_EVERY` has matched."""
    unit = "minute" if found["unit"] == "min" else found["unit"]
    of = found["of"] or ""
    count = 2 if found["count"] in ("other", "second") else int(found["count"] or 1)
    at = f"{clock.minute} {clock.hour}"
    if count < 1:
        raise recurrence_error(text)
    if found["days"] and count == 1:
        names = re.findall(_WEEKDAY, found["days"])
        days = sorted({cron_weekday(name) for name in names})
        return f"{at} * * {','.join(map(str, days))}"
    if unit == "week" and of and not of[0].isdigit() and count == 1:
        return f"{at} * * {cron_weekday(of)}"
    if unit in _CRON_DAYS and count == 1 and not of:
        return f"{at} * * {_CRON_DAYS[unit]}"
    if unit == "month" and count == 1 and not re.fullmatch(_WEEKDAY, of):
        return check_cron(f"{at} {day_of_month(of, here)} * *", text)
    if unit in PASSING_UNITS and not of:
        return check_interval(f"every {count} {unit}s", text)
    if unit in ("day", "week") and not of:
        return check_interval(f"every {count} {unit}s at {clock:%H:%M}", text)
    raise recurrence_error(text)


def day_of_month(of: str, here: WallTime) -> str:
    """The day of the month in cron that "on the 3rd" means; without one today's, L for the last."""
    if of.startswith("last"):
        return "L"
    digits = re.sub(r"\D", "", of)
    if digits:
        return digits
    return str(here.day) if here.day < 29 else "L"  # not every month has a 29th


def cron_weekday(name: str) -> int:
    """The number of a weekday in cron, Sunday 0."""
    numbers = {day[:3]: number % 7 for number, day in enumerate(DAYS, start=1)}
    return numbers[name[:3]]


def check_cron(expression: str, text: str) -> str:
    """The cron expression; BadInput if it never comes true."""
    from cronsim import CronSim, CronSimError

    try:
        next(CronSim(expression, datetime(2000, 1, 1)))
    except (CronSimError, StopIteration) as err:
        raise BadInput(f"{text!r} never comes, or is no cron expression: {err}. {RECURS}") from err
    return expression


class RecurrenceInterval(NamedTuple):
    """Every so many minutes or hours, or so many days or weeks at a time of day."""

    number: int
    unit: str
    at: time | None = None  # of days and weeks


def parse_interval(rule: str) -> RecurrenceInterval | None:
    """The interval of a rule; None for cron, and for one longer than MAX_INTERVAL_SECONDS."""
    found = _INTERVAL.fullmatch(rule)
    if found is None:
        return None
    count, unit = int(found[1]), found[2] or found[3]
    if count * UNIT_SECONDS[unit] > MAX_INTERVAL_SECONDS:
        return None
    at = time.fromisoformat(found[4]) if found[4] else None
    return RecurrenceInterval(count, unit, at)


def check_interval(rule: str, text: str) -> str:
    """The rule of an interval; BadInput for one longer than ten years."""
    if parse_interval(rule) is None:
        raise BadInput(f"{text!r} is longer than ten years. {RECURS}")
    return rule


@lru_cache(maxsize=1_000)
def is_recurrence_rule(rule: str) -> bool:
    """True for a rule as `parse_recurrence` gives them."""
    try:
        return parse_interval(rule) is not None or bool(
            _CRON.fullmatch(rule) and check_cron(rule, rule)
        )
    except BadInput:
        return False


def next_occurrence(
    rule: str,
    last: float,
    now: float,
    zone: str,
) -> float:
    """The first time of a rule after both its last one and now: missed times do not come again.

    BadInput if there is none, as after the last year that a calendar knows.
    """
    after = max(last, now)
    try:
        return next(at for at in iterate_occurrences(rule, last, after, zone) if at > after)
    except (StopIteration, ValueError, OverflowError, OSError) as err:
        raise BadInput(f"{rule!r} has no next time after {after:.0f}. {RECURS}") from err


def iterate_occurrences(
    rule: str,
    last: float,
    after: float,
    zone: str,
) -> Iterator[float]:
    """Times of a rule in order, beginning at most a day before `after`."""
    interval = parse_interval(rule)
    if interval is None:
        from cronsim import CronSim

        yesterday = to_wall_time(after, zone) - timedelta(days=1)
        for wall in CronSim(rule, yesterday):
            yield from_wall_time(wall, zone)
    elif interval.at is None:
        step = interval.number * PASSING_UNITS[interval.unit]
        steps = (after - last) // step + 1
        yield last + step * steps
    else:
        days = interval.number * (7 if interval.unit == "week" else 1)
        start = datetime.combine(to_wall_time(last, zone).date(), interval.at)
        passed = to_wall_time(after, zone) - start
        times = max(0, passed.days // days)
        for number in range(times, times + 3):
            yield from_wall_time(start + timedelta(days=days * number), zone)


def first_occurrence(
    rule: str,
    now: float,
    zone: str,
) -> float:
    """The first time of a rule from now on.

    An interval of minutes or hours begins now, one of days at its hour.
    """
    interval = parse_interval(rule)
    if interval and interval.at:
        return next_wall_time(to_wall_time(now, zone), interval.at, now, zone)
    return next_occurrence(rule, now, now, zone)
