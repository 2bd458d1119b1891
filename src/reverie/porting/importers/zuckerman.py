"""Zuckerman's memories of every generation: MEMORY.md, daily logs, and JSON stores of six types.

The stores are `{"memories": […]}`, one file a type, in `memory/stores` or wherever somebody's
version put them. The index in SQLite is derived and is not read. Records of working memory end with
their task and are left out. A feeling is noted on the memory that it is about, if that is among
them; else it stands by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import to_fraction
from reverie.core.trigger_patterns import check_trigger
from reverie.memory.episodes import describe_episode
from reverie.memory.feelings import FIELD, feeling_to_details, validate_feeling
from reverie.memory.procedure import describe_procedure
from reverie.porting.importers.foreign_texts import (
    Passage,
    exclude_links,
    iter_json_records,
    read_file_head,
    read_import_text,
    read_page,
    read_pages,
    split_passages,
    to_passage_record,
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
    drop_empty_values,
    parse_record_time,
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
# categories of facts that repeat an event
ECHOES = ("goal", "achievement")
# as JavaScript writes one, with its flags
EXPRESSION = re.compile(r"/(.+)/([dgimsuvy]*)", re.DOTALL)
# of these those that mean the same here; case never counts
FLAGS = "ms"
# what `content` is called in v2 and v3
MAIN = {
    "semantic": "fact",
    "episodic": "event",
    "prospective": "intention",
}
TIMES = ("createdAt", "updatedAt", "timestamp", "triggerTime", "lastUsed")
LABEL = re.compile(r"\*\*(Event|When|What|Why|Fact|Category|Confidence)\*\*:[ \t]*")
# labels that begin a new record
MAIN_LABELS = ("Fact", "Event")
# weight of a link between memories that names none
LINK_WEIGHT = 0.5
# what a record says, as arguments of a `FoundRecord` and of its `fields`
RecordFields = dict[str, Any]


def fits(path: Path) -> bool:
    """True for a home of Zuckerman's, or one of its stores."""
    if not path.is_dir():
        is_store = path.suffix == ".json" and path.stem in TYPES
        return is_store and '"memories"' in read_file_head(path)
    return bool(find_stores(path)) or bool(list_daily_pages(path))


def find_stores(folder: Path) -> list[Path]:
    """The files of its stores, where the first of them is."""
    # One place only: the others are those of other versions.
    for place in PLACES:
        files = [folder / place / f"{name}.json" for name in TYPES]
        present = [file for file in files if file.is_file()]
        if present:
            return present
    return []


def list_daily_pages(folder: Path) -> list[Path]:
    """The pages of its daily log, oldest first."""
    pages = sorted((folder / "memory").glob("*.md"))
    return [file for file in pages if DAILY.fullmatch(file.stem)]


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Everything that is kept there."""
    files, link_remarks = exclude_links(path, find_stores(path)) if path.is_dir() else ([path], ())
    yield from link_remarks
    records: list[FoundRecord] = []
    feelings: list[FoundRecord] = []
    for file in files:
        for item in read_store(file):
            if not isinstance(item, FoundRecord):
                yield item
            elif item.fields.get("kind") == "feeling":
                feelings.append(item)
            else:
                records.append(item)
    yield from attach_feelings(records, feelings)
    if path.is_dir():
        yield from read_zuckerman_pages(path, reading)


def read_store(file: Path) -> Iterator[ImportItem]:
    """The records of one file."""
    working = 0
    try:
        for record in iter_json_records(read_import_text(file), "memories", file.name):
            is_working = (
                isinstance(record, ForeignRecord) and type_of_record(record, file) == "working"
            )
            working += is_working
            if not is_working:
                yield try_record(build_store_record, record, file)
    except BadInput as err:
        yield BadRecord(file.name, str(err))
    if working:
        yield ImportRemark(f"{file.name}: working memory ends with its task; {working:,} left out")


def type_of_record(record: ForeignRecord, file: Path) -> str:
    """The type that a record names, or else that of its file."""
    return record.text("type") or file.stem


def build_store_record(record: ForeignRecord, file: Path) -> FoundRecord:
    """One record, in the shape of its type or in the one that all types have in later versions."""
    # They are written by JavaScript.
    record = record._replace(in_milliseconds=True)
    type = type_of_record(record, file)
    if type not in TYPE_CONVERTERS:
        known = ", ".join(TYPE_CONVERTERS)
        raise BadInput(f"{type!r} is no type of memory; there are {known}")
    odd = record.explain_unread(TIMES)
    if isinstance(record.values.get("content"), str):
        fields = convert_uniform_record(record, type)
    else:
        convert, _ = TYPE_CONVERTERS[type]
        fields = convert(record)
    session = record.text("conversationId") or record.part("metadata").text("conversationId")
    return FoundRecord(
        key=record.require("id"),
        text=fields.pop("text"),
        where=record.where,
        at=fields.pop("at", None) or record.time("createdAt"),
        state=fields.pop("state", {}),
        ties=tuple(fields.pop("ties", ())),
        odd=(*odd, *fields.pop("odd", ())),
        fields={"session": session, **fields},
    )


def convert_uniform_record(record: ForeignRecord, type: str) -> RecordFields:
    """A record of v4: what its type says of it stands in `metadata`; the rest of that is kept."""
    meta = record.part("metadata").values
    content = record.require("content")
    convert, kind = TYPE_CONVERTERS[type]
    # in the shape that v2 and v3 had
    old = {**meta, **{name: value for name, value in record.values.items() if name != "metadata"}}
    if type in MAIN:
        old[MAIN[type]] = content
    try:
        fields = convert(record._replace(values=old))
    # The later shape may lack what its type had before: the text is what counts.
    except BadInput:
        fields = {"kind": kind}
    rest = {
        name: value for name, value in meta.items() if name not in ("conversationId", "triggerTime")
    }
    details = {**fields.get("details", {}), **drop_empty_values(metadata=rest)}
    return {
        **fields,
        "text": fields.get("text", content),
        "details": details,
    }


def convert_semantic(record: ForeignRecord) -> RecordFields:
    """A fact."""
    category = record.text("category")
    related = record.values.get("relationships")
    listed = related if isinstance(related, list) else []
    ties = []
    for values in listed:
        one = ForeignRecord(as_mapping(values), record.where)
        rel = "contradicts" if one.text("type") == "contradicts" else "relates_to"
        if one.text("targetId"):
            ties.append(RecordLink(rel, one.text("targetId"), LINK_WEIGHT))
    return drop_empty_values(
        text=record.require("fact"),
        kind="event" if category in ECHOES else "fact",
        tags=[category] if category else [],
        trust=record.fraction("confidence"),
        ties=ties,
        odd=["relationships is no list"] if related and listed is not related else [],
        session=record.text("source"),
    )


def convert_episodic(record: ForeignRecord) -> RecordFields:
    """Something that happened: what, when, where, why, who."""
    context = record.part("context")
    who = context.values.get("who")
    parts = {
        "who": ", ".join(map(str, who)) if isinstance(who, list) else context.text("who"),
        "where": context.text("where"),
        "why": context.text("why"),
    }
    event = record.text("event").strip()
    what = context.text("what").strip()
    title = event or what
    if event and what and what.lower() not in event.lower():
        title = f"{event} ({what})"
    feeling = convert_feeling(record.part("emotionalTag"))
    episode = describe_episode(title or record.require("event"), parts)
    related = record.texts("relatedMemories")
    return {
        **episode,
        "kind": "event",
        "at": record.time("timestamp") or context.time("when"),
        "ties": [RecordLink("relates_to", to, LINK_WEIGHT) for to in related],
        "details": {**episode["details"], **feeling},
    }


def convert_procedural(record: ForeignRecord) -> RecordFields:
    """How something is done, when, and how it went."""
    rate = record.fraction("successRate")
    used = record.whole_number("useCount")
    procedure = describe_procedure(
        record.require("pattern"),
        [record.require("action")],
        (),
        (),
    )
    triggers, details, odd = parse_trigger(record.text("trigger").strip())
    return {
        **procedure,
        "kind": "procedure",
        "triggers": triggers,
        "odd": odd,
        "details": {
            **procedure["details"],
            **details,
            **drop_empty_values(rate=rate),
        },
        "state": {
            "access_count": used,
            "last_accessed_at": record.time("lastUsed") if used else None,
        },
    }


def parse_trigger(theirs: str) -> tuple[list[str], dict[str, str], list[str]]:
    """Our triggers for one of theirs, what is kept of it in details, and what cannot be used.

    Theirs is a regular expression between slashes, or a text.
    """
    expression = EXPRESSION.fullmatch(theirs)
    if expression is None:
        return ([theirs] if theirs else []), {}, []
    flags = "".join(flag for flag in expression[2] if flag in FLAGS)
    ours = f"re:(?{flags}){expression[1]}" if flags else f"re:{expression[1]}"
    details = {"trigger": theirs} if expression[2] not in ("", "i") else {}
    try:
        return [check_trigger(ours)], details, []
    except BadInput:
        shown = theirs[:80]
        odd = f"its trigger {shown} is no regular expression here, and is kept in details"
        return [], {"trigger": theirs}, [odd]


def convert_prospective(record: ForeignRecord) -> RecordFields:
    """Something to do later, at a time or in a context. What is no status counts as waiting."""
    status = STATUSES.get(record.text("status"), "pending")
    context = record.text("triggerContext").strip()
    state = {}
    if status in ENDED:
        ended = record.time("updatedAt") or record.time("createdAt") or 0.0
        state = {"retired_at": ended, "retired_why": status}
    details = drop_empty_values(
        when=record.time("triggerTime"),
        status=status,
        priority=record.fraction("priority"),
    )
    return {
        "text": record.require("intention"),
        "kind": "intention",
        "triggers": [context] if context else [],
        "details": details,
        "state": state,
    }


def convert_emotional(record: ForeignRecord) -> RecordFields:
    """How something felt."""
    tag = record.part("tag")
    context = record.text("context").strip()
    details = convert_feeling(tag, context)
    if not details:
        raise BadInput("its tag names no emotion")
    to = record.text("targetMemoryId")
    return {
        "text": context or f"It felt like {tag.text('emotion')}.",
        "kind": "feeling",
        "details": details,
        "at": tag.time("timestamp"),
        "ties": [RecordLink("relates_to", to)] if to else [],
    }


def convert_feeling(tag: ForeignRecord, why: str = "") -> RecordFields:
    """A feeling as it stands in details; empty if there is none."""
    if not tag.values:
        return {}
    intensity = tag.values.get("intensity") or "medium"
    try:
        feeling = validate_feeling(tag.values.get("emotion"), intensity, why)
    except BadInput:
        return {}
    return {FIELD: feeling_to_details(feeling)}


# by type: what converts a record, and the kind of one that it cannot convert
TYPE_CONVERTERS = {
    "semantic": (convert_semantic, "fact"),
    "episodic": (convert_episodic, "event"),
    "procedural": (convert_procedural, "procedure"),
    "prospective": (convert_prospective, "intention"),
    "emotional": (convert_emotional, "feeling"),
}


def attach_feelings(
    records: Sequence[FoundRecord], feelings: Sequence[FoundRecord]
) -> Iterator[FoundRecord]:
    """The memories with the first feeling about each on it, if it has none of its own.

    Then come all other feelings, tied to what they are about if that is here.
    """
    known = {record.key: record for record in records}
    attached: dict[str, Any] = {}
    others = []
    for one in feelings:
        to = next(
            (tie.to for tie in one.ties if tie.to in known),
            "",
        )
        has_own = bool(to) and FIELD in known[to].fields.get("details", {})
        # A memory has one feeling here; further ones stand by themselves.
        if to and to not in attached and not has_own:
            attached[to] = one.fields["details"][FIELD]
        else:
            others.append(one if to else one._replace(ties=()))
    for record in records:
        if record.key not in attached:
            yield record
            continue
        details = {**record.fields.get("details", {}), FIELD: attached[record.key]}
        yield record._replace(fields={**record.fields, "details": details})
    yield from others


def read_zuckerman_pages(folder: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """MEMORY.md and the daily logs.

    They hold blocks with the time in brackets, or are pages that somebody wrote anew.
    """
    page = next(
        (folder / name for name in LONG_TERM if (folder / name).is_file()),
        None,
    )
    pages = [page] if page else []

    def read_one(file: Path, name: str) -> Iterator[ImportItem]:
        return read_zuckerman_page(file, name, "note" if file == page else "event", reading)

    yield from read_pages(folder, [*pages, *list_daily_pages(folder)], read_one)


def read_zuckerman_page(
    file: Path,
    name: str,
    kind: str,
    reading: ReadingContext,
) -> Iterator[ImportItem]:
    """The passages of a page, and its stamped blocks."""
    text = read_page(file)
    day = (
        parse_record_time(
            file.stem,
            reading.zone,
        )
        if DAILY.fullmatch(file.stem)
        else None
    )
    stamps = list(STAMP.finditer(text))
    # Of a page without stamps, which people write, the first entry is the whole text's end.
    starts = [*(stamp.start() for stamp in stamps), len(text)]
    for stamp, end in zip(stamps, starts[1:], strict=True):
        block = text[stamp.end() : end].rstrip().removesuffix("---").rstrip()
        line = text.count("\n", 0, stamp.end()) + 1
        for record in read_stamped_block(block, line, name, kind):
            at = record.at if record.at is not None else parse_record_time(stamp[1], "UTC")
            yield record._replace(at=at)
    loose = text[: starts[0]].rstrip().removesuffix("---") if stamps else text
    for part in split_passages(loose):
        record = to_passage_record(name, part, kind)
        yield record._replace(
            at=day,
            seen=file.stat().st_mtime,
            local=day is not None,
        )


def read_stamped_block(
    block: str,
    line: int,
    name: str,
    kind: str,
) -> Iterator[FoundRecord]:
    """What stands in a block: labelled facts and events, bullets under headings, or one text."""
    labelled = LABEL.match(block.lstrip())
    if labelled and labelled[1] in MAIN_LABELS:
        for labels in parse_labels(block):
            yield convert_labels(labels, block, line, name)
        return
    parts = list(split_passages(block, line))
    if any(part.heading for part in parts):
        for part in parts:
            yield to_passage_record(name, part, kind)
    elif parts:
        yield to_passage_record(
            name,
            parts[0]._replace(text=block.strip()),
            kind,
        )


def parse_labels(block: str) -> list[RecordFields]:
    """What follows each label, for each fact or event.

    Lines without a label belong to the one before.
    """
    records: list[dict[str, str]] = []
    label = ""
    for line in block.strip().split("\n"):
        begun = LABEL.match(line)
        if begun:
            label = begun[1]
            if label in MAIN_LABELS:
                records.append({})
        value = line[begun.end() :] if begun else line
        record = records[-1]
        record[label] = f"{record[label]}\n{value}" if label in record else value
    return [{name: value.strip() for name, value in one.items()} for one in records]


def convert_labels(
    labels: RecordFields,
    block: str,
    line: int,
    name: str,
) -> FoundRecord:
    """A fact with its category and confidence, or an event with what, when and why."""
    text = labels.get("Fact") or labels.get("Event") or block.strip()
    whole = to_passage_record(name, Passage(line, "", text), "note")
    try:
        fields = convert_labelled_fields(labels)
    except BadInput:
        return whole
    at, text = fields.pop("at", None), fields.pop("text")
    fields.pop("ties", None)
    return whole._replace(
        text=text,
        at=at,
        fields=fields,
    )


def convert_labelled_fields(labels: RecordFields) -> RecordFields:
    """The fields of a labelled fact or event."""
    if "Fact" not in labels:
        context = {"what": labels.get("What"), "why": labels.get("Why")}
        event = {
            "event": labels["Event"],
            "timestamp": labels.get("When"),
            "context": context,
        }
        return convert_episodic(ForeignRecord(event, ""))
    try:
        confidence = to_fraction(float(labels["Confidence"]), None)
    except (KeyError, ValueError):
        confidence = None
    fact = {
        "fact": labels["Fact"],
        "category": labels.get("Category"),
        "confidence": confidence,
    }
    return convert_semantic(ForeignRecord(fact, ""))
