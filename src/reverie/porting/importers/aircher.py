"""Aircher's episodic database (`episodic.duckdb`, or its tables in SQLite): runs of tools, files,
tasks, patterns.

Runs of tools and files touched go into the log, where our own miner finds what they teach (`deeds`,
`suggest_fix`, `coedited`); tasks become episodes, learned patterns observations. Snapshots of
contexts are passed over, and so are code chunks: index the code itself. Times there are local and
name no zone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from reverie.activity import activity_events
from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import count, fraction
from reverie.memory.episodes import told
from reverie.porting.importers.foreign_texts import own
from reverie.porting.importers.import_records import (
    Deed,
    Found,
    Item,
    Reading,
    mapping,
    moment,
    required,
    texts,
    usable,
    without_none,
    words,
    zoneless,
)
from reverie.storage.foreign_tables import TableRow, kind_of, rows

TABLES = ("tool_executions", "file_interactions", "task_history", "learned_patterns")
PLACES = ("data/episodic.duckdb", "episodic.duckdb", "data/episodic.db", "episodic.db")
OPERATIONS = {"search": "read", "analyze": "read"}
WRAPPER = "execute"  # a tool's name where the run was written down a second time, by what wraps it


def fits(path: Path) -> bool:
    """Whether this is Aircher's folder or its database."""
    file = file_of(path)
    if file is None or not kind_of(file):
        return False
    if file.suffix == ".duckdb":
        return True
    try:
        return next(rows(file, TABLES), None) is not None
    except BadInput:
        return False


def file_of(path: Path) -> Path | None:
    """The database."""
    if path.is_dir():
        files, _ = own(path, [path / place for place in PLACES])
        return next((file for file in files if file.is_file()), None)
    return path if path.is_file() else None


def read(path: Path, reading: Reading) -> Iterator[Item]:
    """Every row of the tables that we know."""
    file = file_of(path)
    if file is None:
        raise BadInput(f"There is no episodic.duckdb in {path.name}")
    named: set[tuple[str, int]] = set()  # sessions and seconds in which a tool by its own name ran
    wrapped: list[TableRow] = []
    for row in rows(file, TABLES):
        if row.table == "tool_executions":
            second = (
                words(row.values.get("session_id")),
                int(moment(row.values.get("timestamp"), "UTC") or 0),
            )
            if row.values.get("tool_name") == WRAPPER:
                wrapped.append(row)
                continue
            named.add(second)
        yield item(row, reading.zone)
    for row in wrapped:
        at = int(moment(row.values.get("timestamp"), "UTC") or 0)
        if named.isdisjoint(
            (words(row.values.get("session_id")), one) for one in (at - 1, at, at + 1)
        ):
            yield item(row, reading.zone)


def item(row: TableRow, zone: str) -> Item:
    """What a row comes to."""
    where = f"{row.table}, row {row.number}"
    return usable(
        where,
        READERS[row.table],
        row.values,
        f"{row.table}:{row.values.get('id', row.number)}",
        where,
        zone,
    )


def tool(values: Mapping[str, Any], key: str, where: str, zone: str) -> Deed:
    """A run of a tool."""
    given = mapping(plain(values.get("parameters")))
    if given.keys() == {"args", "kwargs"}:
        given = {**mapping(given["kwargs"]), **({"args": given["args"]} if given["args"] else {})}
    took = values.get("duration_ms")
    run = activity_events.Run(
        required(values, "tool_name"),
        dict(given),
        plain(values.get("result")),
        bool(values.get("success")),
        values.get("error_message"),
        took / 1000 if isinstance(took, (int, float)) else None,
        words(values.get("task_id")),
    )
    return Deed(
        key,
        "tool",
        when(values, "timestamp", zone),
        words(values.get("session_id")),
        activity_events.tool_payload(run),
        where,
    )


def touched(values: Mapping[str, Any], key: str, where: str, zone: str) -> Deed:
    """A file that was touched."""
    operation = words(values.get("operation"))
    span = mapping(plain(values.get("line_range")))
    ends = [span[name] for name in ("start", "end") if isinstance(span.get(name), int)]
    payload = activity_events.file_payload(
        words(values.get("file_path")),
        OPERATIONS.get(operation, operation),
        ends if len(ends) == 2 else None,
        words(values.get("changes_summary")),
        bool(values.get("success")),
        words(values.get("task_id")),
        words(values.get("context")),
    )
    return Deed(
        key,
        "file",
        when(values, "timestamp", zone),
        words(values.get("session_id")),
        payload,
        where,
    )


def task(values: Mapping[str, Any], _key: str, where: str, zone: str) -> Found:
    """A piece of work, as an episode."""
    outcome = words(values.get("outcome")) or words(values.get("status"))
    ended = moment(values.get("completed_at"), zone)
    done = told(required(values, "description"), {"outcome": outcome})
    return Found(
        key=f"task:{required(values, 'task_id')}",
        text=done["text"],
        where=where,
        at=when(values, "started_at", zone),
        local=zoneless(values.get("started_at")),
        fields={
            "kind": "task",
            "session": words(values.get("session_id")),
            "provenance": "observed",
            "files": texts(plain(values.get("files_touched"))),
            "details": {
                **done["details"],
                **without_none(
                    task=words(values.get("task_id")),
                    intent=words(values.get("intent")),
                    ended_at=ended,
                    tools=plain(values.get("tools_used")),
                ),
            },
        },
    )


def pattern(values: Mapping[str, Any], key: str, where: str, zone: str) -> Found:
    """A pattern that Aircher had learned: something concluded."""
    data, type = plain(values.get("pattern_data")), required(values, "pattern_type")
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, sort_keys=True)
    return Found(
        key=key,
        text=f"{type}: {text}",
        where=where,
        at=moment(values.get("first_seen"), zone),
        local=zoneless(values.get("first_seen")),
        state={"strength": count(values.get("observed_count"), 1)},
        fields=without_none(
            kind="observation",
            tags=[type],
            provenance="inferred",
            trust=fraction(values.get("confidence"), None),
        ),
    )


def when(values: Mapping[str, Any], name: str, zone: str) -> float:
    """A moment that a row must have."""
    at = moment(values.get(name), zone)
    if at is None:
        raise BadInput(f"{name} is no time")
    return at


def plain(value: Any) -> Any:
    """A JSON column's value; a text that is none stays a text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


READERS: dict[str, Callable[[Mapping[str, Any], str, str, str], Found | Deed]] = {
    "tool_executions": tool,
    "file_interactions": touched,
    "task_history": task,
    "learned_patterns": pattern,
}
