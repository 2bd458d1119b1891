"""A checksum in each row of `memory` and `event`: what anything but us has altered is found.

It is over what the row's other columns hold, as they stand, but for the row's number. A row that is
altered keeps what was wrong with its checksum, so that writing a field does not vouch for the
others. A row without one was written before there were any; `verify` gives it one.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from zlib import crc32

from reverie.storage.row_codec import COLUMNS


class SummedTable(NamedTuple):
    """A table whose rows have a checksum."""

    name: str
    key: str  # its number
    columns: str  # that the checksum is of

    @property
    def width(self) -> int:
        """How many columns it is of."""
        return self.columns.count(",") + 1


MEMORY = SummedTable("memory", "num", COLUMNS)
EVENT = SummedTable("event", "seq", "at, verb, space, session, payload")
SUMMED_TABLES = (MEMORY, EVENT)


def checksum_row(values: Iterable[Any]) -> int:
    """The checksum of values, which is the same before they are written and after."""
    # A whole number comes back from a column of floats as a float.
    parts = [
        value if value.__class__ is str else "\1" if value is None else _plain(value)
        for value in values
    ]
    return crc32("\0".join(parts).encode("utf-8", "surrogatepass"))


def _plain(value: Any) -> str:
    return repr(float(value)) if isinstance(value, int | float) else str(value)


def carry_checksum(stored: int | None, old: Sequence[Any], new: Sequence[Any]) -> int:
    """The checksum of altered values; as wrong as the old one was."""
    wrong = 0 if stored is None else stored ^ checksum_row(old)
    return checksum_row(new) ^ wrong


def is_whole_row(stored: int | None, values: Sequence[Any]) -> bool:
    """True unless a checksum says that values are not what was written."""
    return stored is None or stored == checksum_row(values)
