"""What a reader of another program's files yields: memories, deeds, and what it could not read.

A reader never decides what an id is here, who may see something, or whether it is new: it tells
what stands there and where. It never writes into the source and stops at nothing: a record that
cannot be used becomes a `BadRecord`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeGuard, TypeVar

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import MAX_TIMESTAMP
from reverie.core.model import EMPTY_MAPPING
from reverie.memory.memory_validation import KIND
from reverie.mirror.shared_lines import parse_local_time

# scopes: the space that is imported into, or the user's own above it
PROJECT = "project"
USER = "user"
# beyond it arithmetic ends
MAX_NUMBER = 1e300
# what is not said
EMPTY_VALUES: tuple[object, ...] = (None, "", [], {}, ())


class RecordLink(NamedTuple):
    """A link to another record of the source, by its name there."""

    rel: str
    to: str
    weight: float = 1.0


class FoundRecord(NamedTuple):
    """A memory as another program kept it."""

    # its name there, unique within the source
    key: str
    text: str
    # file and line, for messages
    where: str
    # when it happened or was written, if the source says so
    at: float | None = None
    # the file's own time, for what has no other
    seen: float | None = None
    scope: str = PROJECT
    # more arguments of `build_memory`
    fields: Mapping[str, Any] = EMPTY_MAPPING
    # fields of a Memory that use has made: access_count, strength, retired_at, …
    state: Mapping[str, Any] = EMPTY_MAPPING
    # the name of the record that it stepped back for
    newer: str = ""
    ties: tuple[RecordLink, ...] = ()
    # by the name of the model
    vectors: Mapping[str, Sequence[float]] = EMPTY_MAPPING
    # its times name no zone: they were meant in that of `ReadingContext`
    local: bool = False
    # what it says that cannot be used, such as "created_at is no time"
    odd: tuple[str, ...] = ()


class DeedRecord(NamedTuple):
    """Something done, for the log: a run of a tool, a file that was touched."""

    key: str
    verb: str
    at: float
    session: str
    payload: Mapping[str, Any]
    where: str


class BadRecord(NamedTuple):
    """A record that could not be taken in."""

    where: str
    why: str
    # by what its owner wants kept; it could be read
    refused: bool = False


class ImportRemark(NamedTuple):
    """Something that whoever imports should know; nothing is wrong."""

    text: str


ImportItem = FoundRecord | DeedRecord | BadRecord | ImportRemark
P = ParamSpec("P")
Made = TypeVar("Made", FoundRecord, DeedRecord, FoundRecord | DeedRecord)


class ReadingContext(NamedTuple):
    """What a reader may know of the world."""

    # of times that name none
    zone: str = "UTC"
    # that may be a project's
    folders: tuple[Path, ...] = ()


def to_kind_name(name: object, otherwise: str = "note") -> str:
    """A kind of ours or of their own by that name; `otherwise` if it can be none."""
    plain = re.sub(r"[\s_]+", "-", name.strip().lower()) if isinstance(name, str) else ""
    return plain if KIND.fullmatch(plain) else otherwise


def as_text(value: object) -> str:
    """A text; what is none is empty."""
    return value if isinstance(value, str) else ""


def as_texts(value: object) -> list[str]:
    """The texts of a list; what is no list is empty."""
    if not isinstance(value, (list, tuple)):
        return []
    return [one for one in value if isinstance(one, str)]


def as_mapping(value: object) -> Mapping[str, Any]:
    """An object; what is none is empty."""
    return value if isinstance(value, Mapping) else EMPTY_MAPPING


def parse_record_time(value: object, zone: str) -> float | None:
    """Seconds since 1970 from ISO 8601, a date, or a number of seconds or milliseconds.

    What names no zone is meant in `zone`. None for what is no time, or lies beyond the year 5138,
    whichever way it is written.
    """
    # YAML makes dates of what looks like one
    if isinstance(value, date):
        value = value.isoformat()
    if isinstance(value, str) and value:
        seconds = parse_local_time(value, zone)
        return seconds if seconds is not None and abs(seconds) < MAX_TIMESTAMP else None
    if is_usable_number(value) and value >= 0:
        return limit_moment(value / 1000 if value >= MAX_TIMESTAMP else float(value))
    return None


def parse_milliseconds(value: object) -> float | None:
    """Seconds since 1970 from milliseconds, or from ISO 8601 in UTC, as JavaScript writes times."""
    if isinstance(value, str):
        return parse_record_time(value, "UTC")
    return limit_moment(value / 1000) if is_usable_number(value) and value >= 0 else None


def is_usable_number(value: object) -> TypeGuard[float]:
    """True for a finite number that can be counted with."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return False
    return abs(value) < MAX_NUMBER


def limit_moment(seconds: float) -> float | None:
    """The timestamp, or None if it lies beyond MAX_TIMESTAMP."""
    return seconds if seconds < MAX_TIMESTAMP else None


def has_no_zone(value: object) -> bool:
    """True for a time that names no zone, so that one had to be assumed."""
    if isinstance(value, datetime):
        return value.tzinfo is None
    if isinstance(value, date):
        return True
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is None
    except ValueError:
        return False


def explain_unread_fields(
    record: Mapping[str, Any],
    zone: str,
    *,
    times: Sequence[str] = (),
    lists: Sequence[str] = (),
) -> tuple[str, ...]:
    """Which of some times of a record are none, and which of some lists hold no texts."""
    remarks = []
    for name in times:
        is_said = record.get(name) not in (None, "")
        if is_said and parse_record_time(record[name], zone) is None:
            remarks.append(f"{name} is no time: {record[name]!r:.40}")
    for name in lists:
        is_said = record.get(name) not in (None, "", [])
        if is_said and len(as_texts(record[name])) < count_items(record[name]):
            remarks.append(f"{name} is no list of texts")
    return tuple(remarks)


def count_items(value: object) -> int:
    """How much there is of a list; what is none counts as one."""
    return len(value) if isinstance(value, (list, tuple)) else 1


def try_record(
    where: str, make: Callable[P, Made], *args: P.args, **kwargs: P.kwargs
) -> Made | BadRecord:
    """What is made of a record, or why it cannot be used."""
    try:
        return make(*args, **kwargs)
    except (BadInput, TypeError, ValueError) as err:
        return BadRecord(where, str(err))


def require_field(record: Mapping[str, Any], name: str) -> str:
    """A text that a record must have."""
    value = record.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{name} is missing")
    return value


def drop_empty_values(**values: Any) -> dict[str, Any]:
    """These values without those that say nothing."""
    return {name: value for name, value in values.items() if value not in EMPTY_VALUES}
