"""Numbers that somebody else wrote, in a file, in details, in an answer: what is none counts as not
said.
"""

from typing import TypeVar

T = TypeVar("T")

MAX_INTEGER = 2**53 - 1  # a whole number that every reader of JSON and every database can hold


def to_fraction(value: object, otherwise: T) -> float | T:
    """A number from 0 to 1; `otherwise` for what is none, such as NaN, "0.5" or True."""
    fits = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
    return float(value) if fits else otherwise  # type: ignore[arg-type]


def to_count(value: object, least: int = 0) -> int:
    """A whole number from `least` to `HIGHEST`; what is none counts as the least."""
    return (
        min(value, MAX_INTEGER)
        if isinstance(value, int) and not isinstance(value, bool) and value > least
        else least
    )


MAX_TIMESTAMP = 1e11  # seconds: the year 5138; what is larger was meant as milliseconds
