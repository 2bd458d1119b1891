"""Days gone by, as people say them."""

from datetime import UTC, date, datetime

import pytest

from reverie.core.errors import BadInput
from reverie.interfaces.cli.user_input import parse_as_of_time
from reverie.text.past_days import parse_past_day

SATURDAY = datetime(2026, 11, 28, 15, 0, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("today", date(2026, 11, 28)),
        ("Yesterday", date(2026, 11, 27)),
        ("tuesday", date(2026, 11, 24)),
        ("saturday", date(2026, 11, 28)),
        ("last Saturday", date(2026, 11, 21)),
        ("1 March", date(2026, 3, 1)),
        ("march 1", date(2026, 3, 1)),
        ("the 1st of March", date(2026, 3, 1)),
        ("24 December", date(2025, 12, 24)),
        ("28 nov", date(2026, 11, 28)),
        ("March 1, 2024", date(2024, 3, 1)),
        ("03/04/2026", None),
        ("tomorrow", None),
        ("31 February", None),
        ("1", None),
        ("in March", None),
        ("", None),
    ],
)
def test_a_day_is_the_last_one_of_that_name(said, day):
    """What could be read in two ways, and what is no day, is none."""
    assert parse_past_day(said, SATURDAY) == day


def test_looking_back_to_a_day_means_its_end_and_nonsense_says_what_to_write():
    """As for a date in figures."""
    assert parse_as_of_time("1 March", SATURDAY) == parse_as_of_time("2026-03-01", SATURDAY)
    with pytest.raises(BadInput, match="1 March"):
        parse_as_of_time("some day", SATURDAY)
