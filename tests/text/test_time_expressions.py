"""Time expressions: what phrases mean on a local clock, also across daylight saving changes."""

from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import MAX_TIMESTAMP
from reverie.text.time_expressions import (
    first_occurrence,
    format_wall_time,
    from_wall_time,
    is_recurrence_rule,
    next_occurrence,
    parse_recurrence,
    parse_time_ahead,
    parse_time_expression,
    to_wall_time,
)

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
ZONES = (BERLIN, NEW_YORK, LORD_HOWE, "UTC", "Asia/Kathmandu", "America/Sao_Paulo")
HERE = datetime(2026, 11, 21, 14, 7)  # a Saturday
NOW = from_wall_time(HERE, BERLIN)

MEANT = {
    "tomorrow at 9": "Sunday 2026-11-22 09:00",
    "in 20 minutes": "Saturday 2026-11-21 14:27",
    "next Monday 14:00": "Monday 2026-11-23 14:00",
    "monday": "Monday 2026-11-23 09:00",
    "on Friday at 8:30pm": "Friday 2026-11-27 20:30",
    "tonight": "Saturday 2026-11-21 20:00",
    "tonight at 9": "Saturday 2026-11-21 21:00",
    "tomorrow evening": "Sunday 2026-11-22 18:00",
    "tomorrow at 8 in the evening": "Sunday 2026-11-22 20:00",
    "at 9": "Sunday 2026-11-22 09:00",
    "5pm": "Saturday 2026-11-21 17:00",
    "noon": "Sunday 2026-11-22 12:00",
    "in half an hour": "Saturday 2026-11-21 14:37",
    "in 1h30m": "Saturday 2026-11-21 15:37",
    "in 3 days": "Tuesday 2026-11-24 14:07",
    "in two weeks at 10:00": "Saturday 2026-12-05 10:00",
    "the day after tomorrow": "Monday 2026-11-23 09:00",
    "3 December at 8:30": "Thursday 2026-12-03 08:30",
    "Dec 24 2027": "Friday 2027-12-24 09:00",
    "end of day": "Saturday 2026-11-21 17:00",
    "2026-12-03": "Thursday 2026-12-03 09:00",
    "tonight at 12": "Sunday 2026-11-22 00:00",
    "at 12 tonight": "Sunday 2026-11-22 00:00",
    "tonight at 1": "Sunday 2026-11-22 01:00",
    "tonight at 00:30": "Sunday 2026-11-22 00:30",
    "tonight at 12am": "Sunday 2026-11-22 00:00",
    "at 2 in the night": "Sunday 2026-11-22 02:00",
    "friday night at 12": "Saturday 2026-11-28 00:00",
    "friday night at 1:15": "Saturday 2026-11-28 01:15",
    "tomorrow at 12 at night": "Monday 2026-11-23 00:00",
    "tonight at 5": "Saturday 2026-11-21 17:00",
    "friday night": "Friday 2026-11-27 20:00",
    "tomorrow at 12": "Sunday 2026-11-22 12:00",
    "tomorrow afternoon at 12": "Sunday 2026-11-22 12:00",
    "9 o'clock": "Sunday 2026-11-22 09:00",
    "tomorrow at 9 o'clock": "Sunday 2026-11-22 09:00",
    "tomorrow 8 o’clock": "Sunday 2026-11-22 08:00",
    "by 5 o'clock pm": "Saturday 2026-11-21 17:00",
    "2026-12-03 08:30": "Thursday 2026-12-03 08:30",
    "2026-12-03T08:30+00:00": "Thursday 2026-12-03 09:30",
}
REFUSED = (
    "",
    "soon",
    "banana",
    "tomorrow at 25:00",
    "13pm",
    "9",
    "2027",
    "november",
    "03/04/2027",
    "3.12.2026",
    "on the 3rd",
    "monday 9am or tuesday",
    "tomorrow at 9 banana",
    "before christmas",
    "in the future",
    "tomorrow 9 EST",
    "30 February",
    "x" * 1_000,
    "in 99999999 days",
    "tonight at 12pm",
    "tomorrow evening at 12",
    "25 o'clock",
)


@pytest.mark.parametrize("phrase", MEANT)
@pytest.mark.proves("C39")
def test_phrases_mean_a_moment(phrase):
    """Times in natural language and ISO 8601."""
    assert (
        format_wall_time(parse_time_ahead(phrase, NOW, BERLIN), BERLIN)
        == f"{MEANT[phrase]} {BERLIN}"
    )


@pytest.mark.parametrize("phrase", REFUSED)
def test_ambiguous_phrases_are_refused(phrase):
    """Nothing is guessed: what is not understood as a whole, or in two ways, is no time."""
    with pytest.raises(BadInput, match="tomorrow at 9"):
        parse_time_ahead(phrase, NOW, BERLIN)


TODAY = {  # said on Friday, 20 November 2026, at eight o'clock
    "friday at 14:00": "Friday 2026-11-20 14:00",
    "friday": "Friday 2026-11-20 09:00",
    "this Friday at 5pm": "Friday 2026-11-20 17:00",
    "Friday evening": "Friday 2026-11-20 18:00",
    "20 November at 14:00": "Friday 2026-11-20 14:00",
    "November 20": "Friday 2026-11-20 09:00",
    "friday night at 1": "Saturday 2026-11-21 01:00",
    "friday at 7:30": "Friday 2026-11-27 07:30",
    "20 November at 7:30": "Saturday 2027-11-20 07:30",
    "next friday at 14:00": "Friday 2026-11-27 14:00",
    "thursday": "Thursday 2026-11-26 09:00",
    "saturday": "Saturday 2026-11-21 09:00",
    "19 November": "Friday 2027-11-19 09:00",
    "21 November": "Saturday 2026-11-21 09:00",
    "20 november 2027": "Saturday 2027-11-20 09:00",
}


@pytest.mark.parametrize("phrase", TODAY)
@pytest.mark.proves("C39")
def test_a_day_that_is_today_means_today_while_that_is_to_come(phrase):
    """On a Friday morning "Friday 14:00" is this afternoon, and "next Friday" next week."""
    now = from_wall_time(datetime(2026, 11, 20, 8), BERLIN)
    assert (
        format_wall_time(parse_time_ahead(phrase, now, BERLIN), BERLIN)
        == f"{TODAY[phrase]} {BERLIN}"
    )


def test_after_midnight_tonight_is_the_present_night():
    """After midnight "tonight at 2" is two hours away."""
    now = from_wall_time(datetime(2026, 11, 21, 0, 30), BERLIN)
    assert (
        format_wall_time(parse_time_ahead("tonight at 2", now, BERLIN), BERLIN)
        == f"Saturday 2026-11-21 02:00 {BERLIN}"
    )


@pytest.mark.parametrize("phrase", ["yesterday", "today at 9", "2020-01-01", "this morning"])
def test_a_time_gone_by_is_refused_and_told(phrase):
    """A time in the past is refused; the message says what was understood."""
    with pytest.raises(
        BadInput,
        match=r"understood as \w+day 20\d\d-\d\d-\d\d 09:00 Europe/Berlin, which has passed",
    ):
        parse_time_ahead(phrase, NOW, BERLIN)


def test_datetimes_and_dates_are_times():
    """A datetime with a zone is exact, one without is the wall's, a date is its morning, a number
    is seconds.
    """
    exact = datetime(2026, 12, 3, 8, tzinfo=UTC)
    assert parse_time_expression(exact, NOW, BERLIN) == exact.timestamp()
    assert to_wall_time(
        parse_time_expression(datetime(2026, 12, 3, 8), NOW, NEW_YORK), NEW_YORK
    ) == datetime(2026, 12, 3, 8)
    assert to_wall_time(parse_time_expression(date(2026, 12, 3), NOW, BERLIN), BERLIN) == datetime(
        2026, 12, 3, 9
    )
    assert parse_time_expression(NOW + 5, NOW, BERLIN) == NOW + 5
    odd: list[Any] = [True, float("nan"), -1, None, [], 1e15]
    for value in odd:
        with pytest.raises(BadInput):
            parse_time_expression(value, NOW, BERLIN)


def test_a_zone_must_be_one():
    with pytest.raises(BadInput, match="not a time zone"):
        parse_time_ahead("tomorrow", NOW, "Mars/Olympus")


GAPS = [  # zone, a wall time that is left out, the first moment after it on the wall
    (BERLIN, datetime(2027, 3, 28, 2, 30), datetime(2027, 3, 28, 3)),
    (NEW_YORK, datetime(2027, 3, 14, 2, 30), datetime(2027, 3, 14, 3)),
    (LORD_HOWE, datetime(2027, 10, 3, 2, 15), datetime(2027, 10, 3, 2, 30)),
    (
        "Pacific/Apia",
        datetime(2011, 12, 30, 12),
        datetime(2011, 12, 31),
    ),  # a whole day was left out
]
TWICE = [
    (BERLIN, datetime(2027, 10, 31, 2, 30), 3_600),
    (NEW_YORK, datetime(2027, 11, 7, 1, 30), 3_600),
    (LORD_HOWE, datetime(2027, 4, 4, 1, 45), 1_800),
]


@pytest.mark.parametrize(("zone", "wall", "after"), GAPS)
def test_a_time_that_is_left_out_is_the_first_moment_after(zone, wall, after):
    """DST forward: 02:30 does not exist, so it is 03:00 (Lord Howe moves by half an hour)."""
    at = from_wall_time(wall, zone)
    assert to_wall_time(at, zone) == after
    assert to_wall_time(at - 1, zone) < wall


@pytest.mark.parametrize(("zone", "wall", "length"), TWICE)
def test_a_time_that_comes_twice_is_the_first(zone, wall, length):
    """DST back: the first of both."""
    at = from_wall_time(wall, zone)
    assert to_wall_time(at, zone) == wall == to_wall_time(at + length, zone)
    assert to_wall_time(at - length, zone) < wall


@pytest.mark.parametrize(
    ("zone", "wall"),
    [
        (BERLIN, datetime(2027, 3, 27, 9)),
        (BERLIN, datetime(2027, 10, 30, 9)),
        (NEW_YORK, datetime(2027, 3, 13, 9)),
        (NEW_YORK, datetime(2027, 11, 6, 9)),
        (LORD_HOWE, datetime(2027, 10, 2, 9)),
        (LORD_HOWE, datetime(2027, 4, 3, 9)),
    ],
)
def test_the_walls_clock_stays_and_hours_pass(zone, wall):
    """Across DST: "tomorrow at 9" and every day at 9 are 09:00 on the wall; "in 24 hours" are 24
    hours.
    """
    now = from_wall_time(wall, zone)
    tomorrow = wall + timedelta(days=1)
    assert to_wall_time(parse_time_ahead("tomorrow at 9", now, zone), zone) == tomorrow
    assert to_wall_time(next_occurrence("0 9 * * *", now, now, zone), zone) == tomorrow
    assert to_wall_time(next_occurrence("every 1 days at 09:00", now, now, zone), zone) == tomorrow
    assert (
        parse_time_ahead("in 24 hours", now, zone) == now + 86_400 != from_wall_time(tomorrow, zone)
    )
    assert next_occurrence("every 24 hours", now, now, zone) == now + 86_400


def test_a_daily_time_in_the_gap_fires_that_day_too_and_does_not_move():
    """02:30 every day: at 03:00 on the day that has none, at 02:30 again on the next; once on the
    day that has two.
    """
    at, walls = from_wall_time(datetime(2027, 3, 26, 2, 30), BERLIN), []
    for _ in range(3):
        at = next_occurrence("30 2 * * *", at, at, BERLIN)
        walls.append(to_wall_time(at, BERLIN))
    assert walls == [
        datetime(2027, 3, 27, 2, 30),
        datetime(2027, 3, 28, 3),
        datetime(2027, 3, 29, 2, 30),
    ]
    for rule in ("30 2 * * *", "every 1 days at 02:30"):
        first = from_wall_time(datetime(2027, 10, 31, 2, 30), BERLIN)
        assert to_wall_time(next_occurrence(rule, first, first, BERLIN), BERLIN) == datetime(
            2027, 11, 1, 2, 30
        )


EVERY = {
    "every weekday at 8:30": "30 8 * * 1-5",
    "weekdays at 9am": "0 9 * * 1-5",
    "daily": "0 9 * * *",
    "every Monday and Thursday at 9": "0 9 * * 1,4",
    "Sundays at 10:15": "15 10 * * 0",
    "every weekend": "0 9 * * 0,6",
    "every other day at 10": "every 2 days at 10:00",
    "every 2 weeks": "every 2 weeks at 09:00",
    "every 20 minutes": "every 20 minutes",
    "hourly": "every 1 hours",
    "every week on friday": "0 9 * * 5",
    "every month on the 3rd at 10:00": "0 10 3 * *",
    "every month on the last day": "0 9 L * *",
    "every month on the 31st": "0 9 31 * *",
    "every month": "0 9 21 * *",
    "30 8 * * 1-5": "30 8 * * 1-5",
    "0 9 * * mon": "0 9 * * mon",
}


@pytest.mark.parametrize("phrase", EVERY)
@pytest.mark.proves("C39")
def test_phrases_that_recur(phrase):
    """Cron-like recurrence; a rule is a phrase for itself, so that it survives a second reading."""
    rule = parse_recurrence(phrase, NOW, BERLIN)
    assert rule == EVERY[phrase] == parse_recurrence(rule, NOW, BERLIN)
    assert first_occurrence(rule, NOW, BERLIN) > NOW


def test_every_month_from_a_day_that_some_months_have_not():
    """Said on the 29th or later it means the last day: no month is passed over."""
    at, days = from_wall_time(datetime(2027, 1, 31, 8), BERLIN), []
    rule = parse_recurrence("every month", at, BERLIN)
    for _ in range(4):
        at = next_occurrence(rule, at, at, BERLIN)
        days.append(f"{to_wall_time(at, BERLIN):%m-%d}")
    assert days == ["01-31", "02-28", "03-31", "04-30"]


@pytest.mark.parametrize(
    "phrase",
    [
        "",
        "every banana",
        "every 0 days",
        "0 9 30 2 *",
        "99 9 * * *",
        "every 2 months",
        "every hour at 9",
        "every monday at 25:00",
        "every day at 9 banana",
        "* * *",
        "every day at 2 at night",
        "every friday night at 12",
        "every 99999999999 days",
        "every 99999999999999999 minutes",
        "every 1000000 weeks",
    ],
)
def test_what_does_not_recur_is_refused(phrase):
    with pytest.raises(BadInput):
        parse_recurrence(phrase, NOW, BERLIN)


@pytest.mark.parametrize(
    "rule",
    [
        "every 5 days",
        "every 0 minutes",
        "every 0 days at 09:00",
        "every 3 weeks at 99:99",
        "every 2 hours at 09:00",
        "every 99999999999 days at 09:00",
        "every 3 days at 24:00",
        "every ٣ days at 09:00",
        "* * * * * *",
    ],
)
def test_a_rule_without_a_next_time_is_invalid(rule):
    """A rule is what `following` can go on with: an imported file may say anything."""
    assert not is_recurrence_rule(rule)


@given(
    st.from_regex(
        r"every [0-9]{1,12} (minute|hour|day|week)s?( at [0-9]{2}:[0-9]{2})?", fullmatch=True
    )
    | st.from_regex(r"[0-9*/,L-]{1,4}( [0-9*/,L-]{1,4}){4}", fullmatch=True)
    | st.text(max_size=20),
    st.floats(0, MAX_TIMESTAMP),
    st.floats(0, MAX_TIMESTAMP),
    st.sampled_from(ZONES),
)
def test_every_rule_goes_on(rule, last, now, zone):
    """Whatever is a rule has a next time, from any moment that a reminder can have."""
    if is_recurrence_rule(rule):
        assert next_occurrence(rule, last, now, zone) > max(last, now)


def test_after_the_last_year_there_is_no_next_time():
    """Told as BadInput, whatever the calendar raises."""
    for rule in ("0 9 * * *", "every 2 days at 09:00", "every 1 days at 09:00"):
        with pytest.raises(BadInput, match="no next time"):
            next_occurrence(rule, NOW, 253_402_290_000.0, "UTC")


rules = st.sampled_from(
    sorted({*EVERY.values(), "*/15 * * * *", "30 2 * * *", "45 1 * * 0", "every 90 minutes"})
)
moments = st.floats(1_700_000_000, 1_900_000_000)
slept = st.floats(0, 400 * 86_400.0)


@given(rules, moments, slept, st.sampled_from(ZONES))
def test_the_next_time_is_after_both_and_nothing_lies_between(rule, last, asleep, zone):
    """Missed times do not come again: the next one is the first after now, and asking earlier gives
    the same.
    """
    last = first_occurrence(rule, last, zone)
    now = last + asleep
    then = next_occurrence(rule, last, now, zone)
    assert then > now >= last
    assert next_occurrence(rule, last, then - 1e-3, zone) == then
    assert next_occurrence(rule, last, last - 1e6, zone) <= then


@given(st.datetimes(datetime(2000, 1, 1), datetime(2037, 12, 31)), st.sampled_from(ZONES))
def test_a_wall_time_is_a_moment_that_shows_it_or_lies_behind_its_gap(wall, zone):
    """Both directions agree, and no earlier moment shows that time."""
    wall = wall.replace(microsecond=0)
    at = from_wall_time(wall, zone)
    assert to_wall_time(at, zone) >= wall
    assert to_wall_time(at, zone) == wall or to_wall_time(at - 1, zone) < wall
    assert all(to_wall_time(at - before, zone) != wall for before in (1_800, 3_600))


@given(st.text(max_size=40))
def test_any_text_is_a_time_or_refused(text):
    with suppress(BadInput):
        assert parse_time_ahead(text, NOW, BERLIN) > NOW
