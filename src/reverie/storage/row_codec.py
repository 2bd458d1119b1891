"""Memories as rows and as JSON: one codec for the table, the history and the export.

Lists and mappings are JSON text in the table (null when empty) and plain JSON values elsewhere.
Unknown keys are ignored and missing ones get their defaults, so that files of other versions can be
read.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from reverie.core.model import Event, Memory, Record, Reinforcement

FIELDS = Memory._fields
DEFAULTS: dict[str, Any] = {**dict.fromkeys(FIELDS), **Memory._field_defaults}
STRUCTURED = frozenset(
    ("tags", "messages", "files", "triggers", "details", "reinforcements", "conflicts_with")
)
ALWAYS_WRITTEN = ("id", "text", "space", "at")
COLUMNS = ", ".join(FIELDS)

# The columns that hold JSON, looked up once: a search decodes many rows.
_SHAPED = tuple((i, name) for i, name in enumerate(FIELDS) if name in STRUCTURED)


@cache
def _json_encoder() -> Any:
    """The JSON encoder, loaded when something is first written."""
    from json import JSONEncoder

    return JSONEncoder(
        ensure_ascii=False,
        separators=(",", ":"),
        default=str,
    )


def from_json(text: str | None) -> Any:
    """The value of a JSON text; None for None."""
    if not text:
        return None
    # Loading `json` takes 2 ms, and most memories have no list to read.
    from json import loads

    return loads(text)


def to_json(value: Any) -> str:
    """Compact JSON. Other objects become their text, and half a surrogate pair a question mark."""
    text: str = _json_encoder().encode(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def to_plain(name: str, value: Any) -> Any:
    """The value of a memory's field as JSON values."""
    if name == "reinforcements":
        return [
            {
                "session": r.session,
                "message": r.message,
                "at": r.at,
            }
            for r in value
        ]
    if name == "details":
        return dict(value)
    return list(value) if isinstance(value, tuple) else value


def from_plain(name: str, value: Any) -> Any:
    """The inverse of `to_plain`; None for a structured field gives its default."""
    if name not in STRUCTURED:
        return value
    if not value:
        return DEFAULTS[name] if name != "details" else {}
    if name == "reinforcements":
        return tuple(map(to_reinforcement, value))
    return dict(value) if name == "details" else tuple(value)


def to_reinforcement(values: Mapping[str, Any]) -> Reinforcement:
    """A reinforcement from JSON values."""
    return Reinforcement(
        session=values.get("session", ""),
        message=values.get("message"),
        at=values.get("at", 0.0),
    )


def to_column(name: str, value: Any) -> Any:
    """A field's value as the table stores it."""
    if name in STRUCTURED:
        return to_json(to_plain(name, value)) if value else None
    return value


def to_row(memory: Memory) -> list[Any]:
    """A memory as the values of COLUMNS."""
    row = [getattr(memory, name) for name in FIELDS]
    for place, name in _SHAPED:
        row[place] = to_column(name, row[place])
    return row


def to_memory(row: tuple[Any, ...]) -> Memory:
    """A memory from the values of COLUMNS."""
    values = list(row)
    for place, name in _SHAPED:
        written = values[place]
        # Most are empty, and a hook decodes a hundred rows.
        values[place] = from_plain(name, from_json(written) if written else None)
    return Memory(*values)


def memory_to_dict(memory: Memory) -> dict[str, Any]:
    """A memory as JSON values; fields with their default value are left out."""
    values: dict[str, Any] = {}
    for name in FIELDS:
        value = getattr(memory, name)
        if value != DEFAULTS[name] or name in ALWAYS_WRITTEN:
            values[name] = to_plain(name, value)
    return values


def memory_from_dict(data: Mapping[str, Any]) -> Memory:
    """A memory from JSON values. Missing times follow `at`, then `created_at`."""
    known = [name for name in data if name in DEFAULTS]
    values = {name: from_plain(name, data[name]) for name in known}
    values.setdefault("created_at", values["at"])
    values.setdefault("updated_at", values["created_at"])
    return Memory(**values)


def to_event(row: tuple[Any, ...]) -> Event:
    """An event from (seq, at, verb, space, session, payload)."""
    seq, at, verb, space, session, payload = row
    return Event(verb, space, at, session, from_json(payload) or {}, seq)


def to_record(row: tuple[Any, ...]) -> Record:
    """A record of history from (memory, op, before, after) and an event's columns."""
    memory, op, before, after, *event = row
    return Record(
        memory_id=memory,
        op=op,
        before=to_record_values(op, before),
        after=to_record_values(op, after),
        event=to_event(tuple(event)),
    )


def to_record_values(op: str, text: str | None) -> dict[str, Any]:
    """The values in a record of history: a memory's fields, or an edge's name and weight."""
    plain: dict[str, Any] = from_json(text) or {}
    if op == "link":
        return plain
    return {name: from_plain(name, value) for name, value in plain.items()}
