"""Zuckerman's memories: MEMORY.md, daily logs, and stores of six types as JSON, of every generation.

The stores are `{"memories": […]}`, one file a type, in `memory/stores` or wherever somebody's version put them (C19,
C46, C90). The index in SQLite is derived and is not read. Records of working memory end with their task and are left
out. A feeling is noted on the memory that it is about, where that is among them; else it stands by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reverie.errors import BadInput
from reverie.importing.nouns import (
    Bad,
    Found,
    Item,
    Reading,
    Remark,
    Tie,
    mapping,
    millis,
    moment,
    required,
    without_none,
    words,
)
from reverie.importing.texts import Passage, kind_under, left_out, page_in, passages, pieces, print_of, text_in
from reverie.lifecycle.episode import told
from reverie.lifecycle.feeling import FIELD, checked_feeling, noted
from reverie.lifecycle.procedure import described
from reverie.numbers import count, fraction

TYPES = ("semantic", "episodic", "procedural", "prospective", "emotional", "working")
PLACES = ("memory/stores", ".memory/stores", "stores", ".")
LONG_TERM = ("MEMORY.md", "memory.md")
DAILY = re.compile(r"\d{4}-\d\d-\d\d")
STAMP = re.compile(r"^\[(\d{4}-\d\d-\d\dT[^\]\s]+)\][ \t]*$", re.MULTILINE)
STATUSES = {"pending": "pending", "triggered": "triggered", "completed": "done", "cancelled": "cancelled"}
ENDED = ("done", "cancelled")
ECHOES = ("goal", "achievement")     # categories of facts that repeat an event
EXPRESSION = re.compile(r"/(.+)/[a-z]*")


def fits(path: Path) -> bool:
    """Whether this is a home of Zuckerman's, or one of its stores."""
    if path.is_dir():
        return bool(stores(path)) or any(DAILY.fullmatch(file.stem) for file in (path / "memory").glob("*.md"))
    return path.suffix == ".json" and path.stem in TYPES and '"memories"' in text_in(path)


def stores(folder: Path) -> list[Path]:
    """The files of its stores."""
    for place in PLACES:
        found = [file for name in TYPES if (file := folder / place / f"{name}.json").is_file()]
        if found:
            return found
    return []


def read(path: Path, reading: Reading) -> Iterator[Item]:
    """Everything that is kept there."""
    files = stores(path) if path.is_dir() else [path]
    records: list[Found] = []
    feelings: list[Found] = []
    for file in files:
        for item in of_store(file, reading):
            if isinstance(item, Found):
                (feelings if item.fields.get("kind") == "feeling" else records).append(item)
            else:
                yield item
    yield from felt(records, feelings)
    if path.is_dir():
        yield from pages(path, reading)


def of_store(file: Path, reading: Reading) -> Iterator[Item]:
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
                try:
                    yield found(record, type, where, reading)
                except (BadInput, TypeError, ValueError) as err:
                    yield Bad(where, str(err))
    except BadInput as err:
        yield Bad(file.name, str(err))
    if passing:
        yield Remark(f"{file.name}: working memory ends with its task; {passing:,} left out")


def found(record: Mapping[str, Any], type: str, where: str, reading: Reading) -> Found:
    """One record, in the shape of its type or in the one that all types have in later versions."""
    at = millis(record.get("createdAt"))
    uniform = isinstance(record.get("content"), str)
    fields = {"text": record["content"], "kind": KINDS[type]} if uniform else dict(READERS[type](record, reading.zone))
    text, state = fields.pop("text"), fields.pop("state", {})
    when = fields.pop("at", None) or at
    session = words(record.get("conversationId")) or words(mapping(record.get("metadata")).get("conversationId"))
    return Found(key=required(record, "id"), text=text, where=where, at=when, state=state,
                 ties=tuple(fields.pop("ties", ())),
                 fields={"session": session, "provenance": "extracted", **fields})


def semantic(record: Mapping[str, Any], _zone: str) -> dict[str, Any]:
    """A fact."""
    category, sure = words(record.get("category")), fraction(record.get("confidence"), None)
    ties = [Tie("relates_to", to, 0.5) for one in record.get("relationships") or ()
            if (to := words(mapping(one).get("targetId")))]
    return without_none(text=required(record, "fact"), kind="event" if category in ECHOES else "fact",
                        tags=[category] if category else [], trust=sure, ties=ties,
                        session=words(record.get("source")))


def episodic(record: Mapping[str, Any], _zone: str) -> dict[str, Any]:
    """Something that happened: what, when, where, why, who."""
    context = mapping(record.get("context"))
    who = context.get("who")
    parts = {"who": ", ".join(map(str, who)) if isinstance(who, list) else words(who),
             "where": words(context.get("where")), "why": words(context.get("why"))}
    event, what = words(record.get("event")).strip(), words(context.get("what")).strip()
    first = f"{event} ({what})" if event and what and what.lower() not in event.lower() else event or what
    emotion = mapping(record.get("emotionalTag"))
    done = told(first or required(record, "event"), parts)
    return {**done, "kind": "event", "at": millis(record.get("timestamp")),
            "details": {**done["details"], **feeling_of(emotion)}}


def procedural(record: Mapping[str, Any], _zone: str) -> dict[str, Any]:
    """How something is done, when, and how it went. Its trigger is a text, or an expression between slashes."""
    trigger, rate = words(record.get("trigger")).strip(), fraction(record.get("successRate"), None)
    expression = EXPRESSION.fullmatch(trigger)
    done = described(required(record, "pattern"), [required(record, "action")], (), ())
    used = count(record.get("useCount"))
    return {**done, "kind": "procedure",
            "triggers": [f"re:{expression[1]}" if expression else trigger] if trigger else [],
            "details": {**done["details"], **without_none(rate=rate)},
            "state": {"access_count": used, "last_accessed_at": millis(record.get("lastUsed")) if used else None}}


def prospective(record: Mapping[str, Any], _zone: str) -> dict[str, Any]:
    """Something to do later, at a time or in a context. What is no status counts as waiting."""
    status, context = STATUSES.get(words(record.get("status")), "pending"), words(record.get("triggerContext")).strip()
    ended = millis(record.get("updatedAt")) if status in ENDED else None
    details = without_none(when=millis(record.get("triggerTime")), status=status,
                           priority=fraction(record.get("priority"), None))
    return {"text": required(record, "intention"), "kind": "intention", "triggers": [context] if context else [],
            "details": details, "state": {"retired_at": ended, "retired_why": status} if ended is not None else {}}


def emotional(record: Mapping[str, Any], _zone: str) -> dict[str, Any]:
    """How something felt."""
    tag, context = mapping(record.get("tag")), words(record.get("context")).strip()
    details = feeling_of(tag)
    if not details:
        raise BadInput("its tag names no emotion")
    return {"text": context or f"It felt like {words(tag.get('emotion'))}.", "kind": "feeling", "details": details,
            "at": millis(tag.get("timestamp")),
            "ties": [Tie("about", to)] if (to := words(record.get("targetMemoryId"))) else []}


def feeling_of(tag: Mapping[str, Any]) -> dict[str, Any]:
    """A feeling as it stands in details; nothing where there is none."""
    if not tag:
        return {}
    try:
        return {FIELD: noted(checked_feeling(tag.get("emotion"), tag.get("intensity") or "medium"))}
    except BadInput:
        return {}


READERS = {"semantic": semantic, "episodic": episodic, "procedural": procedural, "prospective": prospective,
           "emotional": emotional}
KINDS = {"semantic": "fact", "episodic": "event", "procedural": "procedure", "prospective": "intention",
         "emotional": "feeling"}


def felt(records: Sequence[Found], feelings: Sequence[Found]) -> Iterator[Found]:
    """The memories with their feelings on them, then the feelings about what is not here."""
    by_target = {tie.to: one for one in feelings for tie in one.ties if FIELD in one.fields.get("details", {})}
    for record in records:
        feeling = by_target.pop(record.key, None)
        details = dict(record.fields.get("details", {}))
        if feeling is not None:
            details[FIELD] = feeling.fields["details"][FIELD]
        yield record._replace(fields={**record.fields, "details": details}) if feeling else record
    noticed = {record.key for record in records}
    for one in feelings:
        if not any(tie.to in noticed for tie in one.ties):
            yield one._replace(ties=())


def pages(folder: Path, reading: Reading) -> Iterator[Item]:
    """MEMORY.md and the daily logs: blocks with the moment in brackets, or pages that somebody wrote anew."""
    page = next((folder / name for name in LONG_TERM if (folder / name).is_file()), None)
    yield from left_out([*([page] if page else []), *sorted((folder / "memory").glob("*.md"))])
    if page is not None:
        yield from of_page(page, page.name, "note", reading)
    for file in sorted((folder / "memory").glob("*.md")):
        if DAILY.fullmatch(file.stem):
            yield from of_page(file, f"memory/{file.name}", "event", reading)


def of_page(file: Path, name: str, kind: str, reading: Reading) -> Iterator[Item]:
    """The passages of a page; of a stamped block the whole is one."""
    text = page_in(file)
    day = moment(file.stem, reading.zone) if DAILY.fullmatch(file.stem) else None
    stamps = list(STAMP.finditer(text))
    for begun, until in zip(stamps, [*(one.start() for one in stamps[1:]), len(text)], strict=True):
        block = text[begun.end():until].strip().removesuffix("---").strip()
        line = text.count("\n", 0, begun.start()) + 1
        if block:
            yield passage(name, Passage(line, "", block), kind, moment(begun[1], "UTC"), None)
    loose = text[:stamps[0].start()].rstrip().removesuffix("---") if stamps else text
    for one in passages(loose):
        yield passage(name, one, kind_under(one.heading, kind), day, file.stat().st_mtime)


def passage(name: str, one: Passage, kind: str, at: float | None, seen: float | None) -> Found:
    """A passage of a page: named by what it says, for it has no other name."""
    return Found(key=f"{name}#{print_of(one.text)}", text=one.text, where=f"{name}, line {one.line}", at=at, seen=seen,
                 fields={"kind": kind, "title": one.heading, "provenance": "extracted"})
