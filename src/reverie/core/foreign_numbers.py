"""Numbers that somebody else wrote, in a file, in details, in an answer.

What is no number counts as not said.
"""

from typing import TypeVar

T = TypeVar("T")

MAX_INTEGER = 2**53 - 1  # a whole number that every reader of JSON and every database can hold
MAX_TIMESTAMP = 1e11  # seconds: the year 5138; what is larger was meant as milliseconds


def to_fraction(value: object, otherwise: T) -> float | T:
    """The value if it is a number from 0 to 1; else `otherwise`, as for NaN, "0.5" or True."""
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if fits else otherwise  # type: ignore[arg-type]


def to_count(value: object, least: int = 0) -> int:
    """The value if it is a whole number above `least`, at most MAX_INTEGER; else `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value <= least:
        return least
    return min(value, MAX_INTEGER)
