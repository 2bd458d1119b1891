"""Zuckerman's memories: MEMORY.md, daily logs, and stores of six types as JSON, of every
generation.

The stores are `{"memories": […]}`, one file a type, in `memory/stores` or wherever somebody's
version put them (C19, C46, C90). The index in SQLite is derived and is not read. Records of working
memory end with their task and are left out. A feeling is noted on the memory that it is about,
where that is among them; else it stands by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import to_count, to_fraction
from reverie.core.trigger_patterns import check_trigger
from reverie.memory.episodes import describe_episode
from reverie.memory.feelings import FIELD, feeling_to_details, validate_feeling
from reverie.memory.procedure import describe_procedure
from reverie.porting.importers.foreign_texts import (
    Passage,
    exclude_links,
    fingerprint_passage,
    iter_json_records,
    kind_from_heading,
    read_file_head,
    read_import_text,
    read_page,
    remark_sensitive_pages,
    split_passages,
)
from reverie.porting.importers.import_records import (
    BadRecord,
    FoundRecord,
    ImportItem,
    ImportRemark,
    ReadingContext,
    RecordLink,
    as_mapping,
    as_text,
    as_texts,
    drop_empty_values,
    explain_unread_fields,
    parse_milliseconds,
    parse_record_time,
    require_field,
    try_record,
)

TYPES = ("semantic", "episodic", "procedural", "prospective", "emotional", "working")
PLACES = ("memory/stores", ".memory/stores", "stores", ".")
LONG_TERM = ("MEMORY.md", "memory.md")
DAILY = re.compile(r"\d{4}-\d\d-\d\d")
STAMP = re.compile(r"^\[(\d{4}-\d\d-\d\dT[^\]\s]+)\][ \t]*$", re.MULTILINE)
STATUSES = {
    "pending": "pending",
    "triggered": "triggered",
    "completed": "done",
    "cancelled": "cancelled",
}
ENDED = ("done", "cancelled")
ECHOES = ("goal", "achievement")  # categories of facts that repeat an event
# as JavaScript writes one, with its flags
EXPRESSION = re.compile(r"/(.+)/([dgimsuvy]*)", re.DOTALL)
FLAGS = "ms"  # of these those that mean the same here; case never counts
MAIN = {
    "semantic": "fact",
    "episodic": "event",
    "prospective": "intention",
}  # what `content` is called in v2 and v3
TIMES = ("createdAt", "updatedAt", "timestamp", "triggerTime", "lastUsed")
LABEL = re.compile(r"\*\*(Event|When|What|Why|Fact|Category|Confidence)\*\*:[ \t]*")


def fits(path: Path) -> bool:
    """Whether this is a home of Zuckerman's, or one of its stores."""
    if path.is_dir():
        return bool(find_stores(path)) or any(
            DAILY.fullmatch(file.stem) for file in (path / "memory").glob("*.md")
        )
    return path.suffix == ".json" and path.stem in TYPES and '"memories"' in read_file_head(path)


def find_stores(folder: Path) -> list[Path]:
    """The files of its stores."""
    for place in PLACES:
        found = [file for name in TYPES if (file := folder / place / f"{name}.json").is_file()]
        if found:
            return found
    return []


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Everything that is kept there."""
    files, linked = exclude_links(path, find_stores(path)) if path.is_dir() else ([path], ())
    yield from linked
    records: list[FoundRecord] = []
    feelings: list[FoundRecord] = []
    for file in files:
        for item in read_store(file):
            if isinstance(item, FoundRecord):
                (feelings if item.fields.get("kind") == "feeling" else records).append(item)
            else:
                yield item
    yield from attach_feelings(records, feelings)
    if path.is_dir():
        yield from read_zuckerman_pages(path, reading)


def read_store(file: Path) -> Iterator[ImportItem]:
    """The records of one file."""
    passing = 0
    try:
        for piece in iter_json_records(read_import_text(file), "memories"):
            where = f"{file.name}, line {piece.line}"
            record = as_mapping(piece.value)
            type = as_text(record.get("type")) or file.stem
            if piece.why:
                yield BadRecord(where, piece.why)
            elif type == "working":
                passing += 1
            elif type not in TYPE_CONVERTERS:
                yield BadRecord(
                    where, f"{type!r} is no type of memory; there are {', '.join(TYPE_CONVERTERS)}"
                )
            else:
                yield try_record(where, build_store_record, record, type, where)
    except BadInput as err:
        yield BadRecord(file.name, str(err))
    if passing:
        yield ImportRemark(f"{file.name}: working memory ends with its task; {passing:,} left out")


def build_store_record(record: Mapping[str, Any], type: str, where: str) -> FoundRecord:
    """One record, in the shape of its type or in the one that all types have in later versions."""
    at, odd = (
        parse_milliseconds(record.get("createdAt")),
        explain_unread_fields(record, "UTC", times=TIMES),
    )
    fields = (
        convert_uniform_record(record, type)
        if isinstance(record.get("content"), str)
        else TYPE_CONVERTERS[type](record)
    )
    text, state = fields.pop("text"), fields.pop("state", {})
    when = fields.pop("at", None) or at
    session = as_text(record.get("conversationId")) or as_text(
        as_mapping(record.get("metadata")).get("conversationId")
    )
    return FoundRecord(
        key=require_field(record, "id"),
        text=text,
        where=where,
        at=when,
        state=state,
        ties=tuple(fields.pop("ties", ())),
        odd=(*odd, *fields.pop("odd", ())),
        fields={"session": session, "provenance": "extracted", **fields},
    )


def convert_uniform_record(record: Mapping[str, Any], type: str) -> dict[str, Any]:
    """A record of v4: what its type says of it stands in `metadata`, of which the rest is kept as
    it stands.
    """
    meta, content = as_mapping(record.get("metadata")), require_field(record, "content")
    old = {**meta, **{name: value for name, value in record.items() if name != "metadata"}}
    try:
        fields = TYPE_CONVERTERS[type]({**old, MAIN[type]: content} if type in MAIN else old)
    except BadInput:
        fields = {"kind": KINDS[type]}
    more = {
        name: value for name, value in meta.items() if name not in ("conversationId", "triggerTime")
    }
    return {
        **fields,
        "text": fields.get("text", content),
        "details": {**fields.get("details", {}), **drop_empty_values(metadata=more)},
    }


def convert_semantic(record: Mapping[str, Any]) -> dict[str, Any]:
    """A fact."""
    category, sure = as_text(record.get("category")), to_fraction(record.get("confidence"), None)
    related = record.get("relationships")
    ties = [
        RecordLink(
            "contradicts"
            if as_text(as_mapping(one).get("type")) == "contradicts"
            else "relates_to",
            to,
            0.5,
        )
        for one in (related if isinstance(related, list) else ())
        if (to := as_text(as_mapping(one).get("targetId")))
    ]
    return drop_empty_values(
        text=require_field(record, "fact"),
        kind="event" if category in ECHOES else "fact",
        tags=[category] if category else [],
        trust=sure,
        ties=ties,
        odd=["relationships is no list"] if related and not isinstance(related, list) else [],
        session=as_text(record.get("source")),
    )


def convert_episodic(record: Mapping[str, Any]) -> dict[str, Any]:
    """Something that happened: what, when, where, why, who."""
    context = as_mapping(record.get("context"))
    who = context.get("who")
    parts = {
        "who": ", ".join(map(str, who)) if isinstance(who, list) else as_text(who),
        "where": as_text(context.get("where")),
        "why": as_text(context.get("why")),
    }
    event, what = as_text(record.get("event")).strip(), as_text(context.get("what")).strip()
    first = (
        f"{event} ({what})"
        if event and what and what.lower() not in event.lower()
        else event or what
    )
    emotion = as_mapping(record.get("emotionalTag"))
    done = describe_episode(first or require_field(record, "event"), parts)
    return {
        **done,
        "kind": "event",
        "at": parse_milliseconds(record.get("timestamp"))
        or parse_milliseconds(context.get("when")),
        "ties": [
            RecordLink("relates_to", to, 0.5) for to in as_texts(record.get("relatedMemories"))
        ],
        "details": {**done["details"], **convert_feeling(emotion)},
    }


def convert_procedural(record: Mapping[str, Any]) -> dict[str, Any]:
    """How something is done, when, and how it went."""
    rate, used = to_fraction(record.get("successRate"), None), to_count(record.get("useCount"))
    done = describe_procedure(
        require_field(record, "pattern"), [require_field(record, "action")], (), ()
    )
    triggers, details, odd = parse_trigger(as_text(record.get("trigger")).strip())
    return {
        **done,
        "kind": "procedure",
        "triggers": triggers,
        "odd": odd,
        "details": {**done["details"], **details, **drop_empty_values(rate=rate)},
        "state": {
            "access_count": used,
            "last_accessed_at": parse_milliseconds(record.get("lastUsed")) if used else None,
        },
    }


def parse_trigger(said: str) -> tuple[list[str], dict[str, str], list[str]]:
    """A trigger, an expression between slashes or a text: ours, what is kept of theirs, and what
    cannot be used.
    """
    expression = EXPRESSION.fullmatch(said)
    if expression is None:
        return ([said] if said else []), {}, []
    flags = "".join(flag for flag in expression[2] if flag in FLAGS)
    ours = f"re:(?{flags}){expression[1]}" if flags else f"re:{expression[1]}"
    details = {"trigger": said} if expression[2] not in ("", "i") else {}
    try:
        return [check_trigger(ours)], details, []
    except BadInput:
        return (
            [],
            {"trigger": said},
            [f"its trigger {said[:80]} is no regular expression here, and is kept in details"],
        )


def convert_prospective(record: Mapping[str, Any]) -> dict[str, Any]:
    """Something to do later, at a time or in a context. What is no status counts as waiting."""
    status, context = (
        STATUSES.get(as_text(record.get("status")), "pending"),
        as_text(record.get("triggerContext")).strip(),
    )
    ended = (
        (
            parse_milliseconds(record.get("updatedAt"))
            or parse_milliseconds(record.get("createdAt"))
            or 0.0
        )
        if status in ENDED
        else None
    )
    details = drop_empty_values(
        when=parse_milliseconds(record.get("triggerTime")),
        status=status,
        priority=to_fraction(record.get("priority"), None),
    )
    return {
        "text": require_field(record, "intention"),
        "kind": "intention",
        "triggers": [context] if context else [],
        "details": details,
        "state": {"retired_at": ended, "retired_why": status} if ended is not None else {},
    }


def convert_emotional(record: Mapping[str, Any]) -> dict[str, Any]:
    """How something felt."""
    tag, context = as_mapping(record.get("tag")), as_text(record.get("context")).strip()
    details = convert_feeling(tag, context)
    if not details:
        raise BadInput("its tag names no emotion")
    return {
        "text": context or f"It felt like {as_text(tag.get('emotion'))}.",
        "kind": "feeling",
        "details": details,
        "at": parse_milliseconds(tag.get("timestamp")),
        "ties": [RecordLink("relates_to", to)]
        if (to := as_text(record.get("targetMemoryId")))
        else [],
    }


def convert_feeling(tag: Mapping[str, Any], why: str = "") -> dict[str, Any]:
    """A feeling as it stands in details; nothing where there is none."""
    if not tag:
        return {}
    try:
        return {
            FIELD: feeling_to_details(
                validate_feeling(tag.get("emotion"), tag.get("intensity") or "medium", why)
            )
        }
    except BadInput:
        return {}


TYPE_CONVERTERS = {
    "semantic": convert_semantic,
    "episodic": convert_episodic,
    "procedural": convert_procedural,
    "prospective": convert_prospective,
    "emotional": convert_emotional,
}
KINDS = {
    "semantic": "fact",
    "episodic": "event",
    "procedural": "procedure",
    "prospective": "intention",
    "emotional": "feeling",
}


def attach_feelings(
    records: Sequence[FoundRecord], feelings: Sequence[FoundRecord]
) -> Iterator[FoundRecord]:
    """The memories with the first feeling about each on it, if it has none of its own; then all
    other feelings, tied to what they are about where that is here.
    """
    known = {record.key: record for record in records}
    taken: dict[str, dict[str, Any]] = {}
    others = []
    for one in feelings:
        to = next((tie.to for tie in one.ties if tie.to in known), "")
        if to and to not in taken and FIELD not in known[to].fields.get("details", {}):
            taken[to] = one.fields["details"][FIELD]
        else:
            others.append(one if to else one._replace(ties=()))
    for record in records:
        details = record.fields.get("details", {})
        yield (
            record._replace(
                fields={**record.fields, "details": {**details, FIELD: taken[record.key]}}
            )
            if record.key in taken
            else record
        )
    yield from others


def read_zuckerman_pages(folder: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """MEMORY.md and the daily logs: blocks with the moment in brackets, or pages that somebody
    wrote anew.
    """
    page = next((folder / name for name in LONG_TERM if (folder / name).is_file()), None)
    days = [file for file in sorted((folder / "memory").glob("*.md")) if DAILY.fullmatch(file.stem)]
    files, linked = exclude_links(folder, [*([page] if page else []), *days])
    yield from remark_sensitive_pages(files)
    yield from linked
    for file in files:
        name = file.relative_to(folder).as_posix()
        try:
            yield from read_zuckerman_page(file, name, "note" if file == page else "event", reading)
        except (BadInput, OSError) as err:
            yield BadRecord(name, str(err))


def read_zuckerman_page(
    file: Path, name: str, kind: str, reading: ReadingContext
) -> Iterator[ImportItem]:
    """The passages of a page, and its stamped blocks."""
    text = read_page(file)
    day = parse_record_time(file.stem, reading.zone) if DAILY.fullmatch(file.stem) else None
    stamps = list(STAMP.finditer(text))
    for begun, until in zip(stamps, [*(one.start() for one in stamps[1:]), len(text)], strict=True):
        block = text[begun.end() : until].rstrip().removesuffix("---").rstrip()
        line = text.count("\n", 0, begun.end()) + 1
        for one in read_stamped_block(block, line, name, kind):
            yield one._replace(
                at=one.at if one.at is not None else parse_record_time(begun[1], "UTC")
            )
    loose = text[: stamps[0].start()].rstrip().removesuffix("---") if stamps else text
    for part in split_passages(loose):
        yield to_passage_record(name, part, kind_from_heading(part.heading, kind))._replace(
            at=day, seen=file.stat().st_mtime, local=day is not None
        )


def read_stamped_block(block: str, line: int, name: str, kind: str) -> Iterator[FoundRecord]:
    """What stands in a block: facts and events with their labels, bullets under headings, or a text
    as a whole.
    """
    if (labelled := LABEL.match(block.lstrip())) and labelled[1] in ("Fact", "Event"):
        yield from (convert_labels(labels, block, line, name) for labels in parse_labels(block))
        return
    parts = list(split_passages(block, line))
    if any(one.heading for one in parts):
        yield from (
            to_passage_record(name, one, kind_from_heading(one.heading, kind)) for one in parts
        )
    elif parts:
        yield to_passage_record(name, parts[0]._replace(text=block.strip()), kind)


def parse_labels(block: str) -> list[dict[str, str]]:
    """What follows each label; a new fact or event begins a new one. Lines without a label belong
    to the one before.
    """
    found: list[dict[str, str]] = []
    label = ""
    for line in block.strip().split("\n"):
        if begun := LABEL.match(line):
            label = begun[1]
            if label in ("Fact", "Event"):
                found.append({})
        said = line[begun.end() :] if begun else line
        found[-1][label] = f"{found[-1][label]}\n{said}" if label in found[-1] else said
    return [{name: value.strip() for name, value in one.items()} for one in found]


def convert_labels(labels: Mapping[str, str], block: str, line: int, name: str) -> FoundRecord:
    """A fact with its category and how sure it is, or an event with what, when and why."""
    whole = to_passage_record(
        name, Passage(line, "", labels.get("Fact") or labels.get("Event") or block.strip()), "note"
    )
    try:
        sure = to_fraction(float(labels["Confidence"]), None) if "Confidence" in labels else None
    except ValueError:
        sure = None
    try:
        fields = (
            convert_semantic(
                {"fact": labels["Fact"], "category": labels.get("Category"), "confidence": sure}
            )
            if "Fact" in labels
            else convert_episodic(
                {
                    "event": labels["Event"],
                    "timestamp": labels.get("When"),
                    "context": {"what": labels.get("What"), "why": labels.get("Why")},
                }
            )
        )
    except BadInput:
        return whole
    at, text = fields.pop("at", None), fields.pop("text")
    fields.pop("ties", None)
    return whole._replace(text=text, at=at, fields={"provenance": "extracted", **fields})


def to_passage_record(name: str, one: Passage, kind: str) -> FoundRecord:
    """A passage of a page: named by what it says, for it has no other name."""
    return FoundRecord(
        key=f"{name}#{fingerprint_passage(one.text)}",
        text=one.text,
        where=f"{name}, line {one.line}",
        fields={"kind": kind, "title": one.heading, "provenance": "extracted"},
    )
