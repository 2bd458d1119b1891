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
from reverie.core.foreign_numbers import count, fraction
from reverie.core.trigger_patterns import checked
from reverie.memory.episodes import told
from reverie.memory.feelings import FIELD, checked_feeling, noted
from reverie.memory.procedure import described
from reverie.porting.importers.foreign_texts import (
    Passage,
    head_of,
    kind_under,
    own,
    page_in,
    passages,
    pieces,
    print_of,
    sensitive,
    text_in,
)
from reverie.porting.importers.import_records import (
    Bad,
    Found,
    Item,
    Reading,
    Remark,
    Tie,
    mapping,
    millis,
    moment,
    not_understood,
    required,
    texts,
    usable,
    without_none,
    words,
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
        return bool(stores(path)) or any(
            DAILY.fullmatch(file.stem) for file in (path / "memory").glob("*.md")
        )
    return path.suffix == ".json" and path.stem in TYPES and '"memories"' in head_of(path)


def stores(folder: Path) -> list[Path]:
    """The files of its stores."""
    for place in PLACES:
        found = [file for name in TYPES if (file := folder / place / f"{name}.json").is_file()]
        if found:
            return found
    return []


def read(path: Path, reading: Reading) -> Iterator[Item]:
    """Everything that is kept there."""
    files, linked = own(path, stores(path)) if path.is_dir() else ([path], ())
    yield from linked
    records: list[Found] = []
    feelings: list[Found] = []
    for file in files:
        for item in of_store(file):
            if isinstance(item, Found):
                (feelings if item.fields.get("kind") == "feeling" else records).append(item)
            else:
                yield item
    yield from felt(records, feelings)
    if path.is_dir():
        yield from pages(path, reading)


def of_store(file: Path) -> Iterator[Item]:
    """The records of one file."""
    passing = 0
    try:
        for piece in pieces(text_in(file), "memories"):
            where = f"{file.name}, line {piece.line}"
            record = mapping(piece.value)
            type = words(record.get("type")) or file.stem
            if piece.why:
                yield Bad(where, piece.why)
            elif type == "working":
                passing += 1
            elif type not in READERS:
                yield Bad(where, f"{type!r} is no type of memory; there are {', '.join(READERS)}")
            else:
                yield usable(where, found, record, type, where)
    except BadInput as err:
        yield Bad(file.name, str(err))
    if passing:
        yield Remark(f"{file.name}: working memory ends with its task; {passing:,} left out")


def found(record: Mapping[str, Any], type: str, where: str) -> Found:
    """One record, in the shape of its type or in the one that all types have in later versions."""
    at, odd = millis(record.get("createdAt")), not_understood(record, "UTC", times=TIMES)
    fields = (
        of_uniform(record, type)
        if isinstance(record.get("content"), str)
        else READERS[type](record)
    )
    text, state = fields.pop("text"), fields.pop("state", {})
    when = fields.pop("at", None) or at
    session = words(record.get("conversationId")) or words(
        mapping(record.get("metadata")).get("conversationId")
    )
    return Found(
        key=required(record, "id"),
        text=text,
        where=where,
        at=when,
        state=state,
        ties=tuple(fields.pop("ties", ())),
        odd=(*odd, *fields.pop("odd", ())),
        fields={"session": session, "provenance": "extracted", **fields},
    )


def of_uniform(record: Mapping[str, Any], type: str) -> dict[str, Any]:
    """A record of v4: what its type says of it stands in `metadata`, of which the rest is kept as
    it stands.
    """
    meta, content = mapping(record.get("metadata")), required(record, "content")
    old = {**meta, **{name: value for name, value in record.items() if name != "metadata"}}
    try:
        fields = READERS[type]({**old, MAIN[type]: content} if type in MAIN else old)
    except BadInput:
        fields = {"kind": KINDS[type]}
    more = {
        name: value for name, value in meta.items() if name not in ("conversationId", "triggerTime")
    }
    return {
        **fields,
        "text": fields.get("text", content),
        "details": {**fields.get("details", {}), **without_none(metadata=more)},
    }


def semantic(record: Mapping[str, Any]) -> dict[str, Any]:
    """A fact."""
    category, sure = words(record.get("category")), fraction(record.get("confidence"), None)
    related = record.get("relationships")
    ties = [
        Tie(
            "contradicts" if words(mapping(one).get("type")) == "contradicts" else "relates_to",
            to,
            0.5,
        )
        for one in (related if isinstance(related, list) else ())
        if (to := words(mapping(one).get("targetId")))
    ]
    return without_none(
        text=required(record, "fact"),
        kind="event" if category in ECHOES else "fact",
        tags=[category] if category else [],
        trust=sure,
        ties=ties,
        odd=["relationships is no list"] if related and not isinstance(related, list) else [],
        session=words(record.get("source")),
    )


def episodic(record: Mapping[str, Any]) -> dict[str, Any]:
    """Something that happened: what, when, where, why, who."""
    context = mapping(record.get("context"))
    who = context.get("who")
    parts = {
        "who": ", ".join(map(str, who)) if isinstance(who, list) else words(who),
        "where": words(context.get("where")),
        "why": words(context.get("why")),
    }
    event, what = words(record.get("event")).strip(), words(context.get("what")).strip()
    first = (
        f"{event} ({what})"
        if event and what and what.lower() not in event.lower()
        else event or what
    )
    emotion = mapping(record.get("emotionalTag"))
    done = told(first or required(record, "event"), parts)
    return {
        **done,
        "kind": "event",
        "at": millis(record.get("timestamp")) or millis(context.get("when")),
        "ties": [Tie("relates_to", to, 0.5) for to in texts(record.get("relatedMemories"))],
        "details": {**done["details"], **feeling_of(emotion)},
    }


def procedural(record: Mapping[str, Any]) -> dict[str, Any]:
    """How something is done, when, and how it went."""
    rate, used = fraction(record.get("successRate"), None), count(record.get("useCount"))
    done = described(required(record, "pattern"), [required(record, "action")], (), ())
    triggers, details, odd = trigger_of(words(record.get("trigger")).strip())
    return {
        **done,
        "kind": "procedure",
        "triggers": triggers,
        "odd": odd,
        "details": {**done["details"], **details, **without_none(rate=rate)},
        "state": {
            "access_count": used,
            "last_accessed_at": millis(record.get("lastUsed")) if used else None,
        },
    }


def trigger_of(said: str) -> tuple[list[str], dict[str, str], list[str]]:
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
        return [checked(ours)], details, []
    except BadInput:
        return (
            [],
            {"trigger": said},
            [f"its trigger {said[:80]} is no regular expression here, and is kept in details"],
        )


def prospective(record: Mapping[str, Any]) -> dict[str, Any]:
    """Something to do later, at a time or in a context. What is no status counts as waiting."""
    status, context = (
        STATUSES.get(words(record.get("status")), "pending"),
        words(record.get("triggerContext")).strip(),
    )
    ended = (
        (millis(record.get("updatedAt")) or millis(record.get("createdAt")) or 0.0)
        if status in ENDED
        else None
    )
    details = without_none(
        when=millis(record.get("triggerTime")),
        status=status,
        priority=fraction(record.get("priority"), None),
    )
    return {
        "text": required(record, "intention"),
        "kind": "intention",
        "triggers": [context] if context else [],
        "details": details,
        "state": {"retired_at": ended, "retired_why": status} if ended is not None else {},
    }


def emotional(record: Mapping[str, Any]) -> dict[str, Any]:
    """How something felt."""
    tag, context = mapping(record.get("tag")), words(record.get("context")).strip()
    details = feeling_of(tag, context)
    if not details:
        raise BadInput("its tag names no emotion")
    return {
        "text": context or f"It felt like {words(tag.get('emotion'))}.",
        "kind": "feeling",
        "details": details,
        "at": millis(tag.get("timestamp")),
        "ties": [Tie("relates_to", to)] if (to := words(record.get("targetMemoryId"))) else [],
    }


def feeling_of(tag: Mapping[str, Any], why: str = "") -> dict[str, Any]:
    """A feeling as it stands in details; nothing where there is none."""
    if not tag:
        return {}
    try:
        return {
            FIELD: noted(checked_feeling(tag.get("emotion"), tag.get("intensity") or "medium", why))
        }
    except BadInput:
        return {}


READERS = {
    "semantic": semantic,
    "episodic": episodic,
    "procedural": procedural,
    "prospective": prospective,
    "emotional": emotional,
}
KINDS = {
    "semantic": "fact",
    "episodic": "event",
    "procedural": "procedure",
    "prospective": "intention",
    "emotional": "feeling",
}


def felt(records: Sequence[Found], feelings: Sequence[Found]) -> Iterator[Found]:
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


def pages(folder: Path, reading: Reading) -> Iterator[Item]:
    """MEMORY.md and the daily logs: blocks with the moment in brackets, or pages that somebody
    wrote anew.
    """
    page = next((folder / name for name in LONG_TERM if (folder / name).is_file()), None)
    days = [file for file in sorted((folder / "memory").glob("*.md")) if DAILY.fullmatch(file.stem)]
    files, linked = own(folder, [*([page] if page else []), *days])
    yield from sensitive(files)
    yield from linked
    for file in files:
        name = file.relative_to(folder).as_posix()
        try:
            yield from of_page(file, name, "note" if file == page else "event", reading)
        except (BadInput, OSError) as err:
            yield Bad(name, str(err))


def of_page(file: Path, name: str, kind: str, reading: Reading) -> Iterator[Item]:
    """The passages of a page, and its stamped blocks."""
    text = page_in(file)
    day = moment(file.stem, reading.zone) if DAILY.fullmatch(file.stem) else None
    stamps = list(STAMP.finditer(text))
    for begun, until in zip(stamps, [*(one.start() for one in stamps[1:]), len(text)], strict=True):
        block = text[begun.end() : until].rstrip().removesuffix("---").rstrip()
        line = text.count("\n", 0, begun.end()) + 1
        for one in of_block(block, line, name, kind):
            yield one._replace(at=one.at if one.at is not None else moment(begun[1], "UTC"))
    loose = text[: stamps[0].start()].rstrip().removesuffix("---") if stamps else text
    for part in passages(loose):
        yield passage(name, part, kind_under(part.heading, kind))._replace(
            at=day, seen=file.stat().st_mtime, local=day is not None
        )


def of_block(block: str, line: int, name: str, kind: str) -> Iterator[Found]:
    """What stands in a block: facts and events with their labels, bullets under headings, or a text
    as a whole.
    """
    if (labelled := LABEL.match(block.lstrip())) and labelled[1] in ("Fact", "Event"):
        yield from (of_labels(labels, block, line, name) for labels in labels_in(block))
        return
    parts = list(passages(block, line))
    if any(one.heading for one in parts):
        yield from (passage(name, one, kind_under(one.heading, kind)) for one in parts)
    elif parts:
        yield passage(name, parts[0]._replace(text=block.strip()), kind)


def labels_in(block: str) -> list[dict[str, str]]:
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


def of_labels(labels: Mapping[str, str], block: str, line: int, name: str) -> Found:
    """A fact with its category and how sure it is, or an event with what, when and why."""
    whole = passage(
        name, Passage(line, "", labels.get("Fact") or labels.get("Event") or block.strip()), "note"
    )
    try:
        sure = fraction(float(labels["Confidence"]), None) if "Confidence" in labels else None
    except ValueError:
        sure = None
    try:
        fields = (
            semantic(
                {"fact": labels["Fact"], "category": labels.get("Category"), "confidence": sure}
            )
            if "Fact" in labels
            else episodic(
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


def passage(name: str, one: Passage, kind: str) -> Found:
    """A passage of a page: named by what it says, for it has no other name."""
    return Found(
        key=f"{name}#{print_of(one.text)}",
        text=one.text,
        where=f"{name}, line {one.line}",
        fields={"kind": kind, "title": one.heading, "provenance": "extracted"},
    )
