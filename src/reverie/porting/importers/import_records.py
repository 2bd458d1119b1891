"""What a reader of another program's files yields: memories, deeds for the log, and what it could
not read.

A reader never decides what an id is here, who may see something, or whether it is new: it tells
what stands there and where. It never writes into the source and stops at nothing: a record that
cannot be used becomes a `Bad`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeGuard, TypeVar

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import FARTHEST
from reverie.core.model import NOTHING
from reverie.memory.memory_validation import KIND
from reverie.mirror.shared_lines import moment_in

# scopes: the space that is imported into, or the user's own above it
PROJECT, USER = (
    "project",
    "user",
)
MOST_NUMBER = 1e300  # beyond it arithmetic ends


class Tie(NamedTuple):
    """A link to another record of the source, by its name there."""

    rel: str
    to: str
    weight: float = 1.0


class Found(NamedTuple):
    """A memory as another program kept it."""

    key: str  # its name there, unique within the source
    text: str
    where: str  # file and line, for messages
    at: float | None = None  # when it happened or was written, where the source says so
    seen: float | None = None  # the file's own time, for what has no other
    scope: str = PROJECT
    fields: Mapping[str, Any] = NOTHING  # more arguments of `intake.built`
    # fields of a Memory that use has made: access_count, strength, retired_at, …
    state: Mapping[str, Any] = NOTHING
    newer: str = ""  # the name of the record that it stepped back for
    ties: tuple[Tie, ...] = ()
    vectors: Mapping[str, Sequence[float]] = NOTHING  # by the name of the model
    local: bool = False  # its times name no zone: they were meant in that of `Reading`
    odd: tuple[str, ...] = ()  # what it says that cannot be used, such as "created_at is no time"


class Deed(NamedTuple):
    """Something done, for the log: a run of a tool, a file that was touched."""

    key: str
    verb: str
    at: float
    session: str
    payload: Mapping[str, Any]
    where: str


class Bad(NamedTuple):
    """A record that could not be taken in."""

    where: str
    why: str
    refused: bool = False  # by what its owner wants kept; it could be read


class Remark(NamedTuple):
    """Something that whoever imports should know; nothing is wrong."""

    text: str


Item = Found | Deed | Bad | Remark
P = ParamSpec("P")
Made = TypeVar("Made", Found, Deed, Found | Deed)


class Reading(NamedTuple):
    """What a reader may know of the world: the zone of times that name none, and folders that may
    be a project's.
    """

    zone: str = "UTC"
    folders: tuple[Path, ...] = ()


def kind_named(name: object, otherwise: str = "note") -> str:
    """A kind of ours or of their own by that name; `otherwise` where it can be none."""
    plain = re.sub(r"[\s_]+", "-", name.strip().lower()) if isinstance(name, str) else ""
    return plain if KIND.fullmatch(plain) else otherwise


def words(value: object) -> str:
    """A text; what is none is empty."""
    return value if isinstance(value, str) else ""


def texts(value: object) -> list[str]:
    """The texts of a list."""
    return (
        [one for one in value if isinstance(one, str)] if isinstance(value, (list, tuple)) else []
    )


def mapping(value: object) -> Mapping[str, Any]:
    """An object; what is none is empty."""
    return value if isinstance(value, Mapping) else NOTHING


def moment(value: object, zone: str) -> float | None:
    """Seconds since 1970 from ISO 8601 (without a zone in `zone`), a date, or seconds or
    milliseconds. None for what is none, or lies beyond the year 5138, whichever way it is written.
    """
    if isinstance(value, date):  # YAML makes them of what looks like one
        value = value.isoformat()
    if isinstance(value, str) and value:
        seconds = moment_in(value, zone)
        return seconds if seconds is not None and abs(seconds) < FARTHEST else None
    if is_number(value) and value >= 0:
        return bounded(value / 1000 if value >= FARTHEST else float(value))
    return None


def millis(value: object) -> float | None:
    """Seconds since 1970 from milliseconds; a text is ISO 8601 in UTC, as JavaScript writes
    moments.
    """
    if isinstance(value, str):
        return moment(value, "UTC")
    return bounded(value / 1000) if is_number(value) and value >= 0 else None


def is_number(value: object) -> TypeGuard[float]:
    """Whether it is a finite number that can be counted with."""
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < MOST_NUMBER
    )


def bounded(seconds: float) -> float | None:
    """A moment that is not too far."""
    return seconds if seconds < FARTHEST else None


def zoneless(value: object) -> bool:
    """Whether a moment names no zone, so that one had to be assumed."""
    if isinstance(value, datetime):
        return value.tzinfo is None
    try:
        return isinstance(value, date) or (
            isinstance(value, str) and datetime.fromisoformat(value).tzinfo is None
        )
    except ValueError:
        return False


def not_understood(
    record: Mapping[str, Any],
    zone: str,
    *,
    times: Sequence[str] = (),
    lists: Sequence[str] = (),
) -> tuple[str, ...]:
    """Which of some times of a record are none, and which of some lists hold no texts."""
    return (
        *(
            f"{name} is no time: {record[name]!r:.40}"
            for name in times
            if record.get(name) not in (None, "") and moment(record[name], zone) is None
        ),
        *(
            f"{name} is no list of texts"
            for name in lists
            if record.get(name) not in (None, "", [])
            and len(texts(record[name])) < len_of(record[name])
        ),
    )


def len_of(value: object) -> int:
    """How much there is of a list; what is none counts as one."""
    return len(value) if isinstance(value, (list, tuple)) else 1


def usable(where: str, make: Callable[P, Made], *given: P.args, **more: P.kwargs) -> Made | Bad:
    """What is made of a record, or why it cannot be used."""
    try:
        return make(*given, **more)
    except (BadInput, TypeError, ValueError) as err:
        return Bad(where, str(err))


def required(record: Mapping[str, Any], name: str) -> str:
    """A text that a record must have."""
    value = record.get(name)
    if not isinstance(value, str) or not value.strip():
        raise BadInput(f"{name} is missing")
    return value


def without_none(**values: Any) -> dict[str, Any]:
    """These values, those that are not said left out."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {}, ())}
