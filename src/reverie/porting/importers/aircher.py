"""Aircher's episodic database (`episodic.duckdb`, or its tables in SQLite).

Runs of tools and files touched go into the log, where our own miner finds what they teach
(`suggest_fix`, `coedited`); tasks become episodes, learned patterns observations. Snapshots of
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
from reverie.memory.episodes import describe_episode
from reverie.porting.importers.foreign_texts import exclude_links, parse_json_column
from reverie.porting.importers.import_records import (
    DeedRecord,
    ForeignRecord,
    FoundRecord,
    ImportItem,
    ReadingContext,
    as_mapping,
    as_texts,
    drop_empty_values,
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
    # Its tables cannot be looked at without DuckDB, which is an extra.
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
        # The wrapper writes each run down once more, about a second apart.
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
    record = ForeignRecord(row.values, "")
    return record.text("session_id"), int(record.time("timestamp") or 0)


def convert_row(row: TableRow, zone: str) -> ImportItem:
    """What a row comes to."""
    record = ForeignRecord(row.values, f"{row.table}, row {row.number}", zone)
    key = f"{row.table}:{row.values.get('id', row.number)}"
    return try_record(ROW_CONVERTERS[row.table], record, key)


def build_tool_deed(record: ForeignRecord, key: str) -> DeedRecord:
    """A run of a tool."""
    values = record.values
    arguments = as_mapping(parse_json_column(values.get("parameters")))
    if arguments.keys() == {"args", "kwargs"}:
        # how Python gave them
        positional = {"args": arguments["args"]} if arguments["args"] else {}
        arguments = {**as_mapping(arguments["kwargs"]), **positional}
    milliseconds = values.get("duration_ms")
    run = activity_events.ToolRunRecord(
        record.require("tool_name"),
        dict(arguments),
        parse_json_column(values.get("result")),
        bool(values.get("success")),
        values.get("error_message"),
        milliseconds / 1000 if isinstance(milliseconds, (int, float)) else None,
        record.text("task_id"),
    )
    return build_deed(record, key, "tool", activity_events.make_tool_payload(run))


def build_file_deed(record: ForeignRecord, key: str) -> DeedRecord:
    """A file that was touched."""
    operation = record.text("operation")
    span = as_mapping(parse_json_column(record.values.get("line_range")))
    ends = [span[name] for name in ("start", "end") if isinstance(span.get(name), int)]
    payload = activity_events.make_file_payload(
        record.text("file_path"),
        OPERATIONS.get(operation, operation),
        ends if len(ends) == 2 else None,
        record.text("changes_summary"),
        bool(record.values.get("success")),
        record.text("task_id"),
        record.text("context"),
    )
    return build_deed(record, key, "file", payload)


def build_deed(
    record: ForeignRecord,
    key: str,
    verb: str,
    payload: Mapping[str, Any],
) -> DeedRecord:
    """Something done, at the row's time."""
    at = require_row_time(record, "timestamp")
    return DeedRecord(key, verb, at, record.text("session_id"), payload, record.where)


def build_task_episode(record: ForeignRecord, _key: str) -> FoundRecord:
    """A piece of work, as an episode."""
    outcome = record.text("outcome", "status")
    episode = describe_episode(record.require("description"), {"outcome": outcome})
    details = drop_empty_values(
        task=record.text("task_id"),
        intent=record.text("intent"),
        ended_at=record.time("completed_at"),
        tools=parse_json_column(record.values.get("tools_used")),
    )
    task = record.require("task_id")
    require_row_time(record, "started_at")
    return record.to_found(
        f"task:{task}",
        episode["text"],
        "started_at",
        fields={
            "kind": "task",
            "session": record.text("session_id"),
            "provenance": "observed",
            "files": as_texts(parse_json_column(record.values.get("files_touched"))),
            "details": {**episode["details"], **details},
        },
    )


def build_pattern_record(record: ForeignRecord, key: str) -> FoundRecord:
    """A pattern that Aircher had learned: something concluded."""
    data = parse_json_column(record.values.get("pattern_data"))
    type = record.require("pattern_type")
    text = (
        data
        if isinstance(data, str)
        else json.dumps(
            data,
            ensure_ascii=False,
            sort_keys=True,
        )
    )
    return record.to_found(
        key,
        f"{type}: {text}",
        "first_seen",
        state={"strength": record.whole_number("observed_count", 1)},
        fields=drop_empty_values(
            kind="observation",
            tags=[type],
            provenance="inferred",
            trust=record.fraction("confidence"),
        ),
    )


def require_row_time(record: ForeignRecord, name: str) -> float:
    """A time that a row must have, in seconds since 1970."""
    at = record.time(name)
    if at is None:
        raise BadInput(f"{name} is no time")
    return at


ROW_CONVERTERS: dict[str, Callable[[ForeignRecord, str], FoundRecord | DeedRecord]] = {
    "tool_executions": build_tool_deed,
    "file_interactions": build_file_deed,
    "task_history": build_task_episode,
    "learned_patterns": build_pattern_record,
}
