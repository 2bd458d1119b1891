"""Memory: one memory with all that is known about it, and what can be done with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from typing import NamedTuple

from reverie import Mind
from reverie.core.errors import Conflict
from reverie.core.kinds import KINDS, is_mature
from reverie.core.model import Memory, Record, index_memories, visible_spaces
from reverie.extraction.past_conversations import PastMessage
from reverie.interfaces.cli.memory_view import memory_fields
from reverie.interfaces.web.page import (
    Action,
    Done,
    Page,
    View,
    WebRequest,
    find_undone,
    last_change,
    quote,
)
from reverie.memory.explanation import PastInjection, find_related_ids
from reverie.memory.lifeline import ARCHIVED, RESTORED, LifeMoment, trace_life
from reverie.memory.memory_relations import Relation, list_relations
from reverie.memory.short_ids import expand_id
from reverie.text.word_diff import DiffPart, diff_words

MAX_INJECTIONS = 10
MAX_VERSIONS = 50
STRIP_BEGIN, STRIP_END = 10, 990
# Fields that say themselves when or by whom, and would only repeat the version's head.
NOT_SHOWN = ("updated_at", "retired_at", "last_accessed_at")


class FieldChange(NamedTuple):
    """A field before and after, word by word."""

    name: str
    parts: Sequence[DiffPart]


class Version(NamedTuple):
    """What one event did to a memory."""

    event: int
    verb: str
    at: float
    session: str
    changes: Sequence[FieldChange]
    is_first: bool
    undone_by: int = 0  # the event that took it back and still stands; 0: it holds


class LifeMark(NamedTuple):
    """A moment on the strip, which is 1,000 units wide."""

    x: int
    moment: LifeMoment


class CountingPart(NamedTuple):
    """A part of the strip in which the memory counted."""

    begin: int
    end: int


class MemoryPage(NamedTuple):
    """A memory with everything about it."""

    memory: Memory
    facts: Mapping[str, str]
    story: Sequence[str]
    life: Sequence[LifeMoment]
    marks: Sequence[LifeMark]
    counting: Sequence[CountingPart]
    source: Sequence[PastMessage]
    relations: Sequence[Relation]
    brought_up: Sequence[PastInjection]
    more_brought_up: int
    versions: Sequence[Version]
    retention: float
    waits: bool  # it does not surface before somebody has looked at it
    edited: str  # a mark of the fields that can be edited, as they are
    kinds: Sequence[str] = tuple(KINDS)
    older: int = 0  # where the versions before these begin; 0: there are none


def show_memory(mind: Mind, asked: WebRequest) -> MemoryPage:
    """The memory of an id, whole or short."""
    id = expand_id(mind.store, asked.path["id"])
    story = mind.explain(id)
    memory = story.memory
    life = trace_life(memory, story.history)
    marks = place_on_strip(life, asked.now)
    before = asked.number("versions", 0, most=10**18) or float("inf")
    versions = list_versions([one for one in story.history if one.event.seq < before])
    others = index_memories(mind.get(find_related_ids(memory, story.history, story.edges)))
    return MemoryPage(
        memory,
        memory_fields(memory, asked.now),
        story.story,
        life,
        marks,
        list_counting_parts(marks),
        mind.sessions.source(id, around=1),
        list_relations(memory, story.edges, others),
        story.brought_up[:MAX_INJECTIONS],
        max(0, len(story.brought_up) - MAX_INJECTIONS),
        versions,
        story.retention,
        memory.active and not is_mature(memory),
        mark_of(memory),
        older=versions[-1].event if len(versions) == MAX_VERSIONS else 0,
    )


def place_on_strip(life: Sequence[LifeMoment], now: float) -> list[LifeMark]:
    """Where each moment stands, from the first one to now, or to a later end."""
    first, last = life[0].at, max(now, life[-1].at)
    span = max(last - first, 1.0)
    return [
        LifeMark(round(STRIP_BEGIN + (STRIP_END - STRIP_BEGIN) * (one.at - first) / span), one)
        for one in life
    ]


def list_counting_parts(marks: Sequence[LifeMark]) -> list[CountingPart]:
    """From where to where it counted."""
    parts: list[CountingPart] = []
    begin: int | None = STRIP_BEGIN
    for mark in marks:
        if mark.moment.what == ARCHIVED and begin is not None:
            parts.append(CountingPart(begin, mark.x))
            begin = None
        elif mark.moment.what == RESTORED and begin is None:
            begin = mark.x
    return parts if begin is None else [*parts, CountingPart(begin, STRIP_END)]


def list_versions(history: Sequence[Record]) -> list[Version]:
    """What each event did, the newest first."""
    versions, undone_by = [], find_undone([record.event for record in history])
    for seq, records in groupby(history, key=lambda record: record.event.seq):
        of_event = list(records)
        event = of_event[0].event
        is_first = any(record.op == "add" for record in of_event)
        changes = [change for record in of_event for change in list_field_changes(record)]
        versions.append(
            Version(
                seq,
                event.verb,
                event.at,
                event.session,
                () if is_first else changes,
                is_first,
                undone_by.get(seq, 0),
            )
        )
    return versions[::-1][:MAX_VERSIONS]


def list_field_changes(record: Record) -> list[FieldChange]:
    """The fields that a record altered, with both values as text."""
    if record.op == "link":
        end = f"{record.after.get('rel')} {record.after.get('dst')}"
        is_new = bool(record.after.get("weight"))
        return [FieldChange("link", diff_words("" if is_new else end, end if is_new else ""))]
    return [
        FieldChange(name, diff_words(as_text(record.before.get(name)), as_text(value)))
        for name, value in record.after.items()
        if name not in NOT_SHOWN
    ]


def as_text(value: object) -> str:
    """A field's value as people read it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return ", ".join(map(as_text, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {as_text(one)}" for name, one in value.items())
    return str(value)


def mark_of(memory: Memory) -> str:
    """A mark of what an edit may change: another one if somebody has changed it."""
    fields = (memory.text, memory.title, memory.kind, memory.tags, memory.space, memory.active)
    return sha256(repr(fields).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def edit_memory(mind: Mind, asked: WebRequest) -> Done:
    """New words for some fields; Conflict if somebody has changed them since the form was made."""
    id = asked.path["id"]
    with mind.store.transaction():
        refuse_if_changed(mind, asked)
        tags = [tag.strip() for tag in asked.text("tags").replace("#", " ").split(",")]
        mind.revise(
            id,
            text=asked.text("text").replace("\r\n", "\n"),
            title=asked.text("title"),
            kind=asked.text("kind"),
            tags=[tag for tag in tags if tag],
        )
        event = last_change(mind, id)
        confirmed = confirm_code(mind, id) if asked.text("holds") else 0
    said = f"Changed: {quote(mind, [id])}."
    if confirmed:
        said += " It is about the code as it is now."
    also = [event] if confirmed else []
    return Done(said, confirmed or event, details={"id": id}, also=also)


def confirm_code(mind: Mind, id: str) -> int:
    """Have a memory be about the code as it is now; the event, 0 if it was already."""
    before = last_change(mind, id)
    mind.code.confirm(id, by="user", note="looked at in the browser")
    event = last_change(mind, id)
    return event if event != before else 0


def refuse_if_changed(mind: Mind, asked: WebRequest) -> None:
    """Raise Conflict if the memory is not what the form was made from."""
    memory = mind.explain(asked.path["id"]).memory
    if asked.text("edited") != mark_of(memory):
        raise Conflict(
            "This memory was changed meanwhile, perhaps by an agent. Nothing was overwritten: "
            "look at it again; what you wrote stands below."
        )


def move_memory(mind: Mind, asked: WebRequest) -> Done:
    """Another space."""
    id, target = asked.path["id"], asked.text("to")
    before = mind.explain(id).memory.space
    moved = mind.revise(id, space=target)
    said = f"Moved {quote(mind, [id])} from {before} to {moved.space}."
    if moved.space != before and moved.space in visible_spaces(before):
        said += f" {before} is below it, and is given it all the same."
    elif moved.space != before:
        said += f" {before} is not given it any more."
    return Done(said, last_change(mind, id), details={"id": id})


def forget_memory(mind: Mind, asked: WebRequest) -> Done:
    """It no longer counts."""
    id = asked.path["id"]
    count = mind.forget(id, asked.text("why") or "forgotten")
    if not count:
        return Done("It was forgotten already.")
    return Done(f"Forgotten: {quote(mind, [id])}.", last_change(mind, id), details={"id": id})


def restore_memory(mind: Mind, asked: WebRequest) -> Done:
    """It counts again."""
    id = asked.path["id"]
    mind.restore(id)
    return Done(f"It counts again: {quote(mind, [id])}.", last_change(mind, id), details={"id": id})


def judge_memory(mind: Mind, asked: WebRequest) -> Done:
    """Useful, wrong, or never again."""
    id, verdict = asked.path["id"], asked.text("verdict")
    session, named = asked.text("session"), quote(mind, [id])
    if verdict == "never":
        mind.review.curate(id, "dismissed", note="never again")
        said = f"Never again: {named} is put away, and no agent is given it."
    else:
        mind.feedback(id, verdict == "useful", session=session)
        is_useful = verdict == "useful"
        said = (
            f"Noted: useful: {named}."
            if is_useful
            else f"Noted: wrong: {named}. It is believed less."
        )
    return Done(said, last_change(mind, id), details={"id": id})


def approve_memory(mind: Mind, asked: WebRequest) -> Done:
    """It was looked at, and holds."""
    id = asked.path["id"]
    mind.review.curate(id, "validated")
    return Done("Approved.", last_change(mind, id), details={"id": id})


PAGE = Page(
    "memory",
    "Memory",
    (
        View("/memory/{id}", show_memory, "memory.html"),
        Action("/memory/{id}/edit", edit_memory),
        Action("/memory/{id}/move", move_memory),
        Action("/memory/{id}/forget", forget_memory),
        Action("/memory/{id}/restore", restore_memory),
        Action("/memory/{id}/judge", judge_memory),
        Action("/memory/{id}/approve", approve_memory),
    ),
)
