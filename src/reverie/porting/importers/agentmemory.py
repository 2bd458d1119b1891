"""agentmemory: what its export gives, or the `standalone.json` of its MCP server by itself.

An export is {"version", "memories", "observations" by session, "summaries", "semanticMemories",
"proceduralMemories", "lessons", "insights", …}; the file of the server alone has its memories under
"mem:memories", by id. Its graph names things and not memories; it is made anew here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.memory.procedure import describe_procedure
from reverie.porting.importers.foreign_texts import (
    exclude_links,
    parse_lenient_json,
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
    RecordLink,
    as_mapping,
    as_texts,
    drop_empty_values,
    try_record,
)

STANDALONE = "standalone.json"
SCOPE = "mem:memories"
KINDS = {
    "preference": "preference",
    "architecture": "decision",
    "bug": "learning",
    "workflow": "procedure",
    "pattern": "observation",
    "fact": "fact",
}
OBSERVED_KINDS = {"decision": "decision", "error": "learning", "discovery": "fact"}
# what is of the program itself, or says nothing by itself
PASSED_OVER = ("graphNodes", "graphEdges", "actions", "routines", "signals", "crystals", "sketches")
MAX_IMPORTANCE = 10


def fits(path: Path) -> bool:
    """True for agentmemory's folder, its file or an export."""
    file = path / STANDALONE if path.is_dir() else path
    if file.suffix != ".json" or not file.is_file():
        return False
    head = read_file_head(file)
    if f'"{SCOPE}"' in head[:200]:
        return True
    is_export = '"version"' in head and '"sessions"' in head
    return is_export and '"memories"' in head and '"concepts"' in head


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Every memory, observation, summary, fact, procedure, lesson and insight."""
    file = path
    if path.is_dir():
        files, remarks = exclude_links(path, [path / STANDALONE])
        yield from remarks
        if not files:
            raise BadInput(f"There is no {STANDALONE} in {path.name}")
        file = files[0]
    try:
        whole = as_mapping(parse_lenient_json(read_import_text(file)))
    except BadInput as err:
        yield BadRecord(file.name, str(err))
        return
    lists = {name: values for name, values in whole.items() if isinstance(values, list)}
    lists["memories"] = [*lists.get("memories", ()), *as_mapping(whole.get(SCOPE)).values()]
    by_session = as_mapping(whole.get("observations"))
    lists["observations"] = [one for some in by_session.values() for one in as_list(some)]
    newer = find_newer_memories(lists["memories"])
    for name, build in BUILDERS.items():
        for number, value in enumerate(lists.get(name, ()), start=1):
            where = f"{file.name}, {name} {number:,}"
            record = ForeignRecord(as_mapping(value), where, reading.zone)
            # A lesson that was deleted there stands in the export all the same.
            if record.values.get("deleted") is not True:
                yield try_record(build, record, newer)
    left = [f"{len(lists[name]):,} {name}" for name in PASSED_OVER if lists.get(name)]
    if left:
        yield ImportRemark(f"Passed over: {', '.join(left)}")


def as_list(value: object) -> list[Any]:
    """A list; what is none is empty."""
    return value if isinstance(value, list) else []


def find_newer_memories(memories: list[Any]) -> dict[str, str]:
    """The id of the memory that superseded another, by that other's id."""
    newer: dict[str, str] = {}
    for value in memories:
        record = ForeignRecord(as_mapping(value), "")
        for old in [*record.texts("supersedes"), record.text("parentId")]:
            if old:
                newer[old] = record.text("id")
    return newer


class TextParts(NamedTuple):
    """What a record says, in parts."""

    kind: str
    title: str
    lines: tuple[str, ...]
    tags: tuple[str, ...] = ()


def build_agent_memory(record: ForeignRecord, newer: Mapping[str, str]) -> FoundRecord:
    """Something kept on purpose, or consolidated."""
    kind = KINDS.get(record.text("type"), "fact")
    parts = TextParts(kind, record.text("title"), (record.require("content"),))
    return build_found(
        record,
        parts,
        newer=newer.get(record.text("id"), ""),
        ties=tuple(RecordLink("relates_to", id, 0.5) for id in record.texts("relatedIds")),
        expires_at=record.time("forgetAfter"),
    )


def build_agent_observation(record: ForeignRecord, _newer: Mapping[str, str]) -> FoundRecord:
    """What was observed of a run of a tool."""
    facts = tuple(f"- {fact}" for fact in record.texts("facts"))
    lines = (record.text("title"), record.text("narrative"), *facts)
    kind = OBSERVED_KINDS.get(record.text("type"), "note")
    importance = record.values.get("importance")
    salience = importance / MAX_IMPORTANCE if isinstance(importance, (int, float)) else None
    return build_found(
        record,
        TextParts(kind, record.text("title"), lines, (record.text("type"),)),
        salience=salience if salience is not None and 0 <= salience <= 1 else None,
    )


def build_agent_summary(record: ForeignRecord, _newer: Mapping[str, str]) -> FoundRecord:
    """What came of a session."""
    decisions = tuple(f"Decided: {one}" for one in record.texts("keyDecisions"))
    lines = (record.text("title"), record.text("narrative"), *decisions)
    return build_found(record, TextParts("session", record.text("title"), lines))


def build_agent_fact(record: ForeignRecord, _newer: Mapping[str, str]) -> FoundRecord:
    """A fact that was consolidated."""
    return build_found(record, TextParts("fact", "", (record.require("fact"),)))


def build_agent_procedure(record: ForeignRecord, _newer: Mapping[str, str]) -> FoundRecord:
    """How something is done."""
    name = record.require("name")
    described = describe_procedure(name, record.texts("steps"), (), ())
    when = record.text("triggerCondition")
    found = build_found(
        record,
        TextParts("procedure", name, (described["text"], f"When: {when}" if when else "")),
    )
    details = {**found.fields.get("details", {}), **described["details"]}
    return found._replace(fields={**found.fields, "details": details})


def build_agent_lesson(record: ForeignRecord, _newer: Mapping[str, str]) -> FoundRecord:
    """A lesson or an insight."""
    lines = (record.require("content"), record.text("context"))
    return build_found(record, TextParts("learning", record.text("title"), lines))


BUILDERS: dict[str, Callable[[ForeignRecord, Mapping[str, str]], FoundRecord]] = {
    "memories": build_agent_memory,
    "observations": build_agent_observation,
    "summaries": build_agent_summary,
    "semanticMemories": build_agent_fact,
    "proceduralMemories": build_agent_procedure,
    "lessons": build_agent_lesson,
    "insights": build_agent_lesson,
}


def build_found(
    record: ForeignRecord,
    parts: TextParts,
    *,
    newer: str = "",
    ties: tuple[RecordLink, ...] = (),
    **more: Any,
) -> FoundRecord:
    """A memory of these parts, with what all records there have in common."""
    values = record.values
    files = [*record.texts("files"), *record.texts("filesModified")]
    sessions = [record.text("sessionId"), *record.texts("sessionIds")]
    names = (*parts.tags, *record.texts("concepts"), *record.texts("tags"))
    at = "createdAt" if values.get("createdAt") else "timestamp"
    return record.to_found(
        record.text("id") or f"summary:{record.require('sessionId')}",
        "\n".join(line for line in parts.lines if line.strip()),
        at,
        odd=record.explain_unread((at, "updatedAt", "forgetAfter"), lists=("concepts", "files")),
        newer=newer,
        ties=ties,
        state=drop_empty_values(updated_at=record.time("updatedAt")),
        fields=drop_empty_values(
            kind=parts.kind,
            title=parts.title,
            tags=[name for name in dict.fromkeys(names) if name],
            files=list(dict.fromkeys(as_texts(files))),
            session=next((name for name in sessions if name), ""),
            trust=record.fraction("confidence"),
            details=drop_empty_values(project=record.text("project")),
            **more,
        ),
    )
