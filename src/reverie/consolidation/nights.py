"""What runs of sleep did, for who looks at them afterwards: as hunks, each with its reason, which
can be taken back one by one.

A hunk is what a pass decided in one step. Its changes stand together in the event of their batch,
which says how many they are (`batch_commit.STEPS`); of a batch of an earlier version, which says
nothing, all is one hunk. Taking a hunk back leaves alone what somebody has altered since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from reverie.consolidation.batch_commit import STEPS
from reverie.consolidation.undo_sleep import (
    keep_unaltered,
    list_run_batches,
    list_undone_events,
)
from reverie.core.errors import Conflict, NotFound
from reverie.core.model import Event, Memory, Record
from reverie.memory.memory_changes import invert_records
from reverie.storage import Store
from reverie.storage.paging import iter_events_after

# In the event that takes a hunk back.
HUNK = "hunk"


class Night(NamedTuple):
    """A run of sleep."""

    run: int  # its number
    began: float
    ended: float | None  # None: it was broken off, or goes on
    passes: Mapping[str, object]  # name → how many steps, or why it did nothing
    is_undone: bool  # as a whole


class HunkLine(NamedTuple):
    """A line of a hunk: − what goes, + what comes, = what stands for it, ~ what changes."""

    mark: str
    text: str
    id: str = ""  # of the memory that it is about


class Hunk(NamedTuple):
    """What one step of a pass did."""

    event: int  # of its batch
    place: int  # among the hunks of that, from 0
    pass_name: str
    why: str  # empty: an earlier version kept no reasons
    space: str
    lines: Sequence[HunkLine]
    undone_by: int  # the event that took it back; 0 if it stands


def list_nights(store: Store, limit: int, before: int | None = None) -> list[Night]:
    """Runs of sleep, the newest first; `before`: only those before that one."""
    began = store.events(verbs=("sleeping",), before=before, newest=True, limit=limit)
    return [build_night(store, event) for event in began]


def build_night(store: Store, began: Event) -> Night:
    """A run, from the event that began it."""
    following = store.events(after=began.seq, verbs=("sleeping", "slept"), limit=20)
    ends = (one for one in following if one.payload.get("run") == began.seq)
    end = next(ends, None)
    undone = any(
        event.payload.get("of") == began.seq for event in iter_events_after_run(store, began.seq)
    )
    passes = end.payload.get("went_through", {}) if end else {}
    return Night(began.seq, began.at, end.at if end else None, passes, undone)


def iter_events_after_run(store: Store, run: int) -> Iterator[Event]:
    """The events that took something back since a run."""
    return iter_events_after(store, run, ("undo",))


def read_hunks(store: Store, run: int, limit: int, after: tuple[int, int] = (0, -1)) -> list[Hunk]:
    """The hunks of a run in order, from the one behind `after` (event, place) on.

    Raises NotFound if there was no such run.
    """
    began = store.event(run)
    if began is None or began.verb != "sleeping":
        raise NotFound(f"There was no run {run} of sleep")
    undone = list_undone_events(store, run)
    undos = find_hunk_undos(store, run, undone)
    hunks: list[Hunk] = []
    for batch in list_run_batches(store, run):
        if batch.seq < after[0]:
            continue
        for place, (why, records) in enumerate(split_steps(batch, store.changes_of(batch.seq))):
            if (batch.seq, place) <= after or not records:
                continue
            undone_by = undos.get((batch.seq, place), 0)
            if batch.seq in undone:
                undone_by = undone_by or find_batch_undo(store, run, batch.seq)
            by = str(batch.payload.get("by", ""))
            lines = render_records(store, records)
            hunks.append(Hunk(batch.seq, place, by, why, batch.space, lines, undone_by))
            if len(hunks) == limit:
                return hunks
    return hunks


def split_steps(batch: Event, records: Sequence[Record]) -> list[tuple[str, Sequence[Record]]]:
    """The records of a batch by step, each with its reason."""
    steps = batch.payload.get(STEPS)
    if not isinstance(steps, list) or sum(int(step[0]) for step in steps) != len(records):
        return [("", records)]
    parts: list[tuple[str, Sequence[Record]]] = []
    begin = 0
    for count, why in steps:
        part = records[begin : begin + int(count)]
        begin += int(count)
        # Hundreds of links for one and the same reason, as to the members of a group, are one.
        if parts and parts[-1][0] == why and all_links(part) and all_links(parts[-1][1]):
            parts[-1] = (str(why), [*parts[-1][1], *part])
        else:
            parts.append((str(why), part))
    return parts


def all_links(records: Sequence[Record]) -> bool:
    """True if the records are of links alone."""
    return all(record.op == "link" for record in records)


def find_hunk_undos(store: Store, run: int, undone: set[int]) -> dict[tuple[int, int], int]:
    """(event, place) of each hunk that is taken back → the event that did so and stands."""
    found = {}
    for event in iter_events_after_run(store, run):
        hunk = event.payload.get(HUNK)
        if isinstance(hunk, list) and len(hunk) == 2 and event.seq not in undone:
            found[int(hunk[0]), int(hunk[1])] = event.seq
    return found


def find_batch_undo(store: Store, run: int, batch: int) -> int:
    """The last event that took a whole batch back."""
    undos = [
        event.seq for event in iter_events_after_run(store, run) if event.payload.get("of") == batch
    ]
    return undos[-1] if undos else 0


def undo_hunk(store: Store, event: int, place: int, now: float) -> int:
    """Take one hunk back, as far as nobody has altered it since; the number of the event that did.

    Raises NotFound if there is none, Conflict if it is taken back already or nothing of it is left
    as it was.
    """
    with store.transaction():
        batch = store.event(event)
        if batch is None or batch.verb != "sleep":
            raise NotFound(f"Event {event} is no batch of a run of sleep")
        parts = split_steps(batch, store.changes_of(event))
        if not 0 <= place < len(parts):
            raise NotFound(f"Event {event} has no hunk {place}")
        run = int(batch.payload.get("run", 0))
        undone = list_undone_events(store, run)
        if event in undone or (event, place) in find_hunk_undos(store, run, undone):
            raise Conflict("That was taken back already")
        left = keep_unaltered(store, parts[place][1])
        present = {memory.id for memory in store.get([record.memory_id for record in left])}
        left = [record for record in left if record.memory_id in present or record.op == "link"]
        if not left:
            raise Conflict("All of it was altered since: nothing is left to take back")
        undo = Event("undo", batch.space, now, payload={HUNK: [event, place]})
        return store.apply(invert_records(left, now), undo)


def render_records(store: Store, records: Sequence[Record]) -> list[HunkLine]:
    """What some records did, as lines for people."""
    named = {record.memory_id for record in records}
    named |= {str(record.after.get("dst")) for record in records if record.op == "link"}
    named |= {str(record.after["superseded_by"]) for record in records if is_replaced(record)}
    texts = {memory.id: memory for memory in store.get(sorted(named))}
    return [line for record in records for line in render_record(record, texts)]


def is_replaced(record: Record) -> bool:
    """True if the record retires a memory for another one."""
    return record.op == "retire" and bool(record.after.get("superseded_by"))


def render_record(record: Record, memories: Mapping[str, Memory]) -> list[HunkLine]:
    """What one record did."""

    def text_of(id: str) -> str:
        return memories[id].text if id in memories else id.partition(":")[2] or id

    id = record.memory_id
    match record.op:
        case "add":
            return [HunkLine("+", text_of(id), id)]
        case "retire":
            lines = [HunkLine("−", text_of(id), id)]
            if is_replaced(record):
                newer = str(record.after["superseded_by"])
                lines.append(HunkLine("=", text_of(newer), newer))
            return lines
        case "link":
            rel, dst = str(record.after.get("rel", "")), str(record.after.get("dst", ""))
            verb = "no longer " if not record.after.get("weight") else ""
            told = f"{text_of(id)} — {verb}{rel.replace('_', ' ')} → {text_of(dst)}"
            return [HunkLine("~", told, id)]
        case _:
            names = sorted(set(record.after) - {"updated_at", "reinforcements"})
            if not names:
                return []
            return [HunkLine("~", f"{text_of(id)} ({', '.join(names)})", id)]
