"""Aircher's episodic database (`episodic.duckdb`, or its tables in SQLite).

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
from reverie.core.foreign_numbers import to_count, to_fraction
from reverie.memory.episodes import describe_episode
from reverie.porting.importers.foreign_texts import exclude_links
from reverie.porting.importers.import_records import (
    DeedRecord,
    FoundRecord,
    ImportItem,
    ReadingContext,
    as_mapping,
    as_text,
    as_texts,
    drop_empty_values,
    has_no_zone,
    parse_record_time,
    require_field,
    try_record,
)
from reverie.storage.foreign_tables import TableRow, detect_database_kind, read_table_rows

TABLES = ("tool_executions", "file_interactions", "task_history", "learned_patterns")
PLACES = ("data/episodic.duckdb", "episodic.duckdb", "data/episodic.db", "episodic.db")
OPERATIONS = {"search": "read", "analyze": "read"}
# a tool's name if the run was written down a second time, by what wraps it
WRAPPER = "execute"


def fits(path: Path) -> bool:
    """True for Aircher's folder or its database."""
    file = find_aircher_database(path)
    if file is None or not detect_database_kind(file):
        return False
    if file.suffix == ".duckdb":
        return True
    try:
        return next(read_table_rows(file, TABLES), None) is not None
    except BadInput:
        return False


def find_aircher_database(path: Path) -> Path | None:
    """The database that a path means; None if there is none."""
    if path.is_dir():
        files, _ = exclude_links(path, [path / place for place in PLACES])
        return next((file for file in files if file.is_file()), None)
    return path if path.is_file() else None


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every row of the tables that we know, and each run of a tool once."""
    file = find_aircher_database(path)
    if file is None:
        raise BadInput(f"There is no episodic.duckdb in {path.name}")
    # sessions and seconds in which a tool by its own name ran
    named: set[tuple[str, int]] = set()
    wrapped: list[TableRow] = []
    for row in read_table_rows(file, TABLES):
        if row.table == "tool_executions":
            if row.values.get("tool_name") == WRAPPER:
                wrapped.append(row)
                continue
            named.add(session_and_second(row))
        yield convert_row(row, reading.zone)
    for row in wrapped:
        session, second = session_and_second(row)
        near = ((session, at) for at in (second - 1, second, second + 1))
        if named.isdisjoint(near):
            yield convert_row(row, reading.zone)


def session_and_second(row: TableRow) -> tuple[str, int]:
    """In which session and second a tool ran."""
    at = parse_record_time(row.values.get("timestamp"), "UTC") or 0
    return as_text(row.values.get("session_id")), int(at)


def convert_row(row: TableRow, zone: str) -> ImportItem:
    """What a row comes to."""
    where = f"{row.table}, row {row.number}"
    key = f"{row.table}:{row.values.get('id', row.number)}"
    return try_record(where, ROW_CONVERTERS[row.table], row.values, key, where, zone)


def build_tool_deed(values: Mapping[str, Any], key: str, where: str, zone: str) -> DeedRecord:
    """A run of a tool."""
    arguments = as_mapping(parse_json_column(values.get("parameters")))
    if arguments.keys() == {"args", "kwargs"}:
        # how Python gave them
        positional = {"args": arguments["args"]} if arguments["args"] else {}
        arguments = {**as_mapping(arguments["kwargs"]), **positional}
    milliseconds = values.get("duration_ms")
    run = activity_events.ToolRunRecord(
        require_field(values, "tool_name"),
        dict(arguments),
        parse_json_column(values.get("result")),
        bool(values.get("success")),
        values.get("error_message"),
        milliseconds / 1000 if isinstance(milliseconds, (int, float)) else None,
        as_text(values.get("task_id")),
    )
    return DeedRecord(
        key,
        "tool",
        require_row_time(values, "timestamp", zone),
        as_text(values.get("session_id")),
        activity_events.make_tool_payload(run),
        where,
    )


def build_file_deed(values: Mapping[str, Any], key: str, where: str, zone: str) -> DeedRecord:
    """A file that was touched."""
    operation = as_text(values.get("operation"))
    span = as_mapping(parse_json_column(values.get("line_range")))
    ends = [span[name] for name in ("start", "end") if isinstance(span.get(name), int)]
    payload = activity_events.make_file_payload(
        as_text(values.get("file_path")),
        OPERATIONS.get(operation, operation),
        ends if len(ends) == 2 else None,
        as_text(values.get("changes_summary")),
        bool(values.get("success")),
        as_text(values.get("task_id")),
        as_text(values.get("context")),
    )
    at = require_row_time(values, "timestamp", zone)
    return DeedRecord(key, "file", at, as_text(values.get("session_id")), payload, where)


def build_task_episode(values: Mapping[str, Any], _key: str, where: str, zone: str) -> FoundRecord:
    """A piece of work, as an episode."""
    outcome = as_text(values.get("outcome")) or as_text(values.get("status"))
    episode = describe_episode(require_field(values, "description"), {"outcome": outcome})
    details = drop_empty_values(
        task=as_text(values.get("task_id")),
        intent=as_text(values.get("intent")),
        ended_at=parse_record_time(values.get("completed_at"), zone),
        tools=parse_json_column(values.get("tools_used")),
    )
    return FoundRecord(
        key=f"task:{require_field(values, 'task_id')}",
        text=episode["text"],
        where=where,
        at=require_row_time(values, "started_at", zone),
        local=has_no_zone(values.get("started_at")),
        fields={
            "kind": "task",
            "session": as_text(values.get("session_id")),
            "provenance": "observed",
            "files": as_texts(parse_json_column(values.get("files_touched"))),
            "details": {**episode["details"], **details},
        },
    )


def build_pattern_record(values: Mapping[str, Any], key: str, where: str, zone: str) -> FoundRecord:
    """A pattern that Aircher had learned: something concluded."""
    data = parse_json_column(values.get("pattern_data"))
    type = require_field(values, "pattern_type")
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, sort_keys=True)
    return FoundRecord(
        key=key,
        text=f"{type}: {text}",
        where=where,
        at=parse_record_time(values.get("first_seen"), zone),
        local=has_no_zone(values.get("first_seen")),
        state={"strength": to_count(values.get("observed_count"), 1)},
        fields=drop_empty_values(
            kind="observation",
            tags=[type],
            provenance="inferred",
            trust=to_fraction(values.get("confidence"), None),
        ),
    )


def require_row_time(values: Mapping[str, Any], name: str, zone: str) -> float:
    """A time that a row must have, in seconds since 1970."""
    at = parse_record_time(values.get(name), zone)
    if at is None:
        raise BadInput(f"{name} is no time")
    return at


def parse_json_column(value: Any) -> Any:
    """A JSON column's value; a text that is none stays a text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


ROW_CONVERTERS: dict[
    str, Callable[[Mapping[str, Any], str, str, str], FoundRecord | DeedRecord]
] = {
    "tool_executions": build_tool_deed,
    "file_interactions": build_file_deed,
    "task_history": build_task_episode,
    "learned_patterns": build_pattern_record,
}
