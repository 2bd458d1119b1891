"""claude-mem's database (`claude-mem.db`), or what its `export-memories` wrote as JSON.

An observation is what its model made of some work: a title, a narrative, facts, files. A summary
tells of a session what was asked, learned and done. Prompts are passed over: the conversations they
stand in are Claude Code's, and `reverie learn --past` takes them whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from reverie.porting.importers.foreign_texts import (
    exclude_links,
    find_list_start,
    fingerprint_passage,
    iter_json_records,
    parse_json_column,
    read_file_head,
    read_import_text,
)
from reverie.porting.importers.import_records import (
    BadRecord,
    ForeignRecord,
    FoundRecord,
    ImportItem,
    ImportRemark,
    ReadingContext,
    as_texts,
    drop_empty_values,
    try_record,
)
from reverie.storage.foreign_tables import read_sqlite_layout, read_table_rows

DATABASE = "claude-mem.db"
OBSERVATIONS, SUMMARIES, SESSIONS, PROMPTS = (
    "observations",
    "session_summaries",
    "sdk_sessions",
    "user_prompts",
)
# the same lists as an export names them
EXPORTED = {OBSERVATIONS: "observations", SUMMARIES: "summaries", SESSIONS: "sessions"}
KINDS = {"decision": "decision", "bugfix": "learning", "discovery": "fact"}
SUMMARY_PARTS = {
    "request": "Asked",
    "investigated": "Looked into",
    "learned": "Learned",
    "completed": "Done",
    "next_steps": "Next",
    "notes": "Notes",
}
MAX_NAMED_PROJECTS = 5


def fits(path: Path) -> bool:
    """True for claude-mem's folder, its database or an export."""
    if path.suffix == ".json" and path.is_file():
        head = read_file_head(path)
        return '"exportedAtEpoch"' in head and '"observations"' in head
    file = find_claude_mem_database(path)
    if file is None:
        return False
    layout = read_sqlite_layout(file)
    return "memory_session_id" in layout.get(OBSERVATIONS, ()) and SESSIONS in layout


def find_claude_mem_database(path: Path) -> Path | None:
    """The database that a path means; None if there is none."""
    if path.is_dir():
        files, _ = exclude_links(path, [path / DATABASE])
        return next((file for file in files if file.is_file()), None)
    return path if path.is_file() else None


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every observation and summary, and a remark on what was passed over."""
    sessions: dict[str, str] = {}
    projects: dict[str, None] = {}
    prompts = 0
    for table, record in iter_claude_mem_records(path, reading.zone):
        if isinstance(record, BadRecord):
            yield record
        elif table == SESSIONS:
            sessions[record.text("memory_session_id")] = record.text("content_session_id")
        elif table == PROMPTS:
            prompts += 1
        else:
            projects[record.text("project")] = None
            build = build_observation if table == OBSERVATIONS else build_summary
            yield try_record(build, record, sessions)
    if len(projects) > 1:
        names = [name or "(none)" for name in projects]
        more = ", …" if len(names) > MAX_NAMED_PROJECTS else ""
        yield ImportRemark(
            f"It holds {len(names):,} projects ({', '.join(names[:MAX_NAMED_PROJECTS])}{more}); "
            "all came into one space, each memory tagged with its project"
        )
    if prompts:
        yield ImportRemark(
            f"{prompts:,} prompts passed over: reverie learn --past takes whole conversations"
        )


def iter_claude_mem_records(
    path: Path,
    zone: str,
) -> Iterator[tuple[str, ForeignRecord | BadRecord]]:
    """(table, record) of a database or of an export, sessions before what was made in them."""
    if path.suffix == ".json" and path.is_file():
        text = read_import_text(path)
        for table in (SESSIONS, OBSERVATIONS, SUMMARIES):
            name = EXPORTED[table]
            if find_list_start(text, name) >= 0:
                for record in iter_json_records(text, name, path.name, zone):
                    yield table, record
        return
    file = find_claude_mem_database(path)
    if file is None:
        yield OBSERVATIONS, BadRecord(path.name, f"there is no {DATABASE} in it")
        return
    for row in read_table_rows(file, (SESSIONS, OBSERVATIONS, SUMMARIES, PROMPTS)):
        yield row.table, ForeignRecord(row.values, f"{row.table}, row {row.number}", zone)


def build_observation(record: ForeignRecord, sessions: dict[str, str]) -> FoundRecord:
    """What its model observed in some work."""
    facts = read_listed(record, "facts")
    narrative = record.text("narrative", "text")
    lines = [narrative or record.text("subtitle"), *(f"- {fact}" for fact in facts)]
    type = record.text("type")
    return build_found(
        record,
        sessions,
        "observation",
        [record.text("title"), *lines],
        drop_empty_values(
            kind=KINDS.get(type, "note"),
            title=record.text("title"),
            tags=[*read_listed(record, "concepts"), type, record.text("project")],
            files=[*read_listed(record, "files_read"), *read_listed(record, "files_modified")],
            details=drop_empty_values(
                project=record.text("project"),
                subtitle=record.text("subtitle"),
                type=type,
            ),
        ),
    )


def build_summary(record: ForeignRecord, sessions: dict[str, str]) -> FoundRecord:
    """What came of a session."""
    parts = {label: record.text(name).strip() for name, label in SUMMARY_PARTS.items()}
    lines = [f"{label}: {text}" for label, text in parts.items() if text]
    return build_found(
        record,
        sessions,
        "summary",
        lines,
        drop_empty_values(
            kind="session",
            title=record.text("request"),
            tags=[record.text("project")],
            files=[*read_listed(record, "files_read"), *read_listed(record, "files_edited")],
            details=drop_empty_values(project=record.text("project")),
        ),
    )


def build_found(
    record: ForeignRecord,
    sessions: dict[str, str],
    what: str,
    lines: list[str],
    fields: dict[str, Any],
) -> FoundRecord:
    """A memory of these lines.

    Its name follows from what it says and when: the numbers of rows differ between machines.
    """
    text = "\n".join(line for line in lines if line.strip())
    session = record.text("memory_session_id")
    fields["tags"] = [tag for tag in dict.fromkeys(fields.get("tags", ())) if tag]
    fields["files"] = list(dict.fromkeys(fields.get("files", ())))
    return record.to_found(
        f"{what}:{session}#{fingerprint_passage(text)}",
        text,
        "created_at_epoch" if record.time("created_at_epoch") is not None else "created_at",
        fields=drop_empty_values(**fields, session=sessions.get(session, "") or session),
    )


def read_listed(record: ForeignRecord, name: str) -> list[str]:
    """The texts of a column that holds a JSON list."""
    return [text for text in as_texts(parse_json_column(record.values.get(name))) if text.strip()]
