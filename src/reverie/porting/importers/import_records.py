"""What a reader of another program's files yields: memories, activity events, unreadable records.

A reader never decides what an id is here, who may see something, or whether it is new: it tells
what stands there and where. It never writes into the source and stops at nothing: a record that
cannot be used becomes a `BadRecord`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import MAX_TIMESTAMP, to_count, to_fraction
from reverie.core.model import EMPTY_MAPPING, Fields
from reverie.memory.memory_validation import KIND
from reverie.mirror.shared_lines import parse_local_time
from reverie.porting.transcript_formats import RecordedMessage

# Beyond it arithmetic ends: a whole number of JSON may be too large for a float.
MAX_NUMBER = 1e300
# what is not said
# 0 and False do say something.
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
    # it belongs to the user's own space above the one that is imported into
    personal: bool = False
    # more arguments of `build_memory`
    fields: Fields = EMPTY_MAPPING
    # fields of a Memory that use has made: access_count, strength, retired_at, …
    state: Fields = EMPTY_MAPPING
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
    payload: Fields
    where: str


class ConversationRecord(NamedTuple):
    """A conversation, for the log of what was said. It is no memory: what it teaches may be."""

    # its name there, unique within the program
    key: str
    title: str
    messages: tuple[RecordedMessage, ...]
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


ImportItem = FoundRecord | DeedRecord | ConversationRecord | BadRecord | ImportRemark
Made = TypeVar("Made", FoundRecord, DeedRecord, FoundRecord | DeedRecord)


class ReadingContext(NamedTuple):
    """What a reader may know of the world."""

    # of times that name none
    zone: str = "UTC"
    # that may be a project's
    folders: tuple[Path, ...] = ()


class ForeignRecord(NamedTuple):
    """A record as it stands in a file of another program, and where.

    A value that is not of the type asked for counts as not said.
    """

    values: Fields
    # file and line, for messages
    where: str
    # of times that name none
    zone: str = "UTC"
    # numbers that are times count milliseconds, however small they are
    in_milliseconds: bool = False

    def text(self, *names: str) -> str:
        """The first of these fields that holds a text with something in it, or else ""."""
        texts = (self.values.get(name) for name in names)
        return next((text for text in texts if text and isinstance(text, str)), "")

    def texts(self, name: str) -> list[str]:
        """The texts of a list; empty for no list."""
        return as_texts(self.values.get(name))

    def require(self, name: str) -> str:
        """A text that the record must have. Raises BadInput."""
        text = self.text(name)
        if not text.strip():
            raise BadInput(f"{name} is missing")
        return text

    def part(self, name: str) -> ForeignRecord:
        """The record in a field; without values if there is none."""
        return self._replace(values=as_mapping(self.values.get(name)))

    def time(self, name: str) -> float | None:
        """Seconds since 1970; None for what is no time."""
        return parse_record_time(self.values.get(name), self.zone, self.in_milliseconds)

    def fraction(self, name: str) -> float | None:
        """A number from 0 to 1; None for any other."""
        return to_fraction(self.values.get(name), None)

    def whole_number(self, name: str, least: int = 0) -> int:
        """A whole number; at least `least`."""
        return to_count(self.values.get(name), least)

    def explain_unread(
        self,
        times: Sequence[str],
        lists: Sequence[str] = (),
    ) -> tuple[str, ...]:
        """Which of these times are none, and which of these lists hold what is no text."""
        remarks = []
        for name in times:
            value = self.values.get(name)
            if value not in (None, "") and self.time(name) is None:
                remarks.append(f"{name} is no time: {value!r:.40}")
        for name in lists:
            value = self.values.get(name)
            size = len(value) if isinstance(value, (list, tuple)) else 1
            if value not in (None, "", []) and len(as_texts(value)) < size:
                remarks.append(f"{name} is no list of texts")
        return tuple(remarks)

    def to_found(self, key: str, text: str, at: str, **more: Any) -> FoundRecord:
        """The memory that this record is; it happened or was written at its field `at`."""
        local = has_no_zone(self.values.get(at))
        return FoundRecord(
            key,
            text,
            self.where,
            self.time(at),
            local=local,
            **more,
        )


def try_record(
    build: Callable[..., Made], record: ForeignRecord | BadRecord, *args: Any
) -> Made | BadRecord:
    """The result of `build` for a record, or the reason why it cannot be used."""
    if isinstance(record, BadRecord):
        return record
    try:
        return build(record, *args)
    except (BadInput, TypeError, ValueError) as err:
        return BadRecord(record.where, str(err))


def to_kind_name(name: object) -> str:
    """A kind of ours or of their own by that name; "note" if it can be none."""
    plain = (
        re.sub(
            r"[\s_]+",
            "-",
            name.strip().lower(),
        )
        if isinstance(name, str)
        else ""
    )
    return plain if KIND.fullmatch(plain) else "note"


def as_texts(value: object) -> list[str]:
    """The texts of a list; what is no list is empty."""
    if not isinstance(value, (list, tuple)):
        return []
    return [one for one in value if isinstance(one, str)]


def as_mapping(value: object) -> Fields:
    """An object; what is none is empty."""
    return value if isinstance(value, Mapping) else EMPTY_MAPPING


def parse_record_time(
    value: object,
    zone: str,
    in_milliseconds: bool = False,
) -> float | None:
    """Seconds since 1970 from ISO 8601, a date, or a number of seconds or milliseconds.

    What names no zone is meant in `zone`. None for what is no time, or lies beyond the year 5138,
    whichever way it is written.
    """
    # YAML makes dates of what looks like one
    if isinstance(value, date):
        value = value.isoformat()
    seconds = None
    if isinstance(value, str):
        seconds = parse_local_time(value, zone)
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    elif 0 <= value < MAX_NUMBER:
        is_seconds = value < MAX_TIMESTAMP and not in_milliseconds
        seconds = float(value) if is_seconds else value / 1000
    return seconds if seconds is not None and abs(seconds) < MAX_TIMESTAMP else None


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


def drop_empty_values(**values: Any) -> dict[str, Any]:
    """These values without those that say nothing."""
    return {name: value for name, value in values.items() if value not in EMPTY_VALUES}
