"""Undoing a whole run of sleep: its batches in reverse order, one transaction each.

Interrupted half-way it goes on when asked again: which batches are undone stands in the log. What
somebody has altered since stays as they left it. Afterwards the state is to the byte what it was
before the run (`export` without the log), for a run revises no text: it retires, links and counts.
What it made of several memories (`merge_text`, old episodes) is retired, not erased.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.consolidation.sleep_schedule import PROGRESS_KEY, find_unfinished_run
from reverie.core.errors import NotFound
from reverie.core.model import Event, Record, index_memories
from reverie.memory.memory_changes import invert_records
from reverie.pipeline.decided_pairs import reverse_pair_decisions
from reverie.storage import Store
from reverie.storage.paging import iter_events_after

# newest runs among which the last one that still stands is looked for
MAX_RUNS = 500
# Where something was altered: (id, field), or (src, rel, dst).
Place = tuple[str, ...]


def find_run_of_event(store: Store, event: int) -> int:
    """The run that an event began or ended; 0 if it is none of these."""
    found = store.event(event)
    if found is None:
        return 0
    if found.verb == "sleeping":
        return found.seq
    return int(found.payload.get("run", 0)) if found.verb == "slept" else 0


def find_last_run(store: Store) -> int:
    """The last run that changed something and is not undone as a whole; 0 if there is none."""
    for began in store.events(
        verbs=("sleeping",),
        newest=True,
        limit=MAX_RUNS,
    ):
        batches = {event.seq for event in list_run_batches(store, began.seq)}
        if batches - list_undone_events(store, began.seq):
            return began.seq
    return 0


def list_run_batches(store: Store, run: int) -> list[Event]:
    """The batches of a run, undone or not, oldest first."""
    batches = iter_events_after(store, run, ("sleep",))
    return [event for event in batches if event.payload.get("run") == run]


def undo_sleep_run(
    store: Store,
    run: int,
    now: float,
    *,
    force: bool = False,
) -> int:
    """Undo a run and return the number of the event that says so.

    With `force`, what was altered since is undone too. Raises NotFound if nothing is left to undo.
    """
    undone = list_undone_events(store, run)
    batches = list_run_batches(store, run)
    left = [event for event in batches if event.seq not in undone]
    if not batches:
        raise NotFound(f"Run {run} of sleep changed nothing")
    if not left:
        raise NotFound(f"Run {run} of sleep has been taken back already")
    # The last first: a later batch may have altered what an earlier one made.
    for event in reversed(left):
        undo_batch(store, event, now, force=force)
    with store.transaction():
        if find_unfinished_run(store) == run:
            store.set_meta(PROGRESS_KEY, "")
        payload = {"of": run, "events": len(left)}
        return store.append([Event("undo", left[0].space, now, payload=payload)])[0]


def undo_batch(
    store: Store,
    event: Event,
    now: float,
    *,
    force: bool,
) -> None:
    """Undo one batch, as far as nobody has altered it since; with `force` all of it."""
    with store.transaction():
        records = store.changes_of(event.seq)
        if not force:
            records = keep_unaltered(store, records)
        present = {memory.id for memory in store.get([record.memory_id for record in records])}
        reversible = [
            record for record in records if record.memory_id in present or record.op == "link"
        ]
        payload = {
            "of": event.seq,
            "run": event.payload["run"],
            **reverse_pair_decisions(event),
        }
        undo = Event("undo", event.space, now, payload=payload)
        store.apply(invert_records(reversible, now), undo)


def keep_unaltered(store: Store, records: Sequence[Record]) -> list[Record]:
    """The records without what somebody has altered since."""
    altered = find_altered_places(store, records)
    kept = []
    for record in records:
        if record.op == "add":
            kept.append(record)
        elif record.op == "link":
            if altered.isdisjoint(list_altered_places(record)):
                kept.append(record)
        else:
            before = {
                name: value
                for name, value in record.before.items()
                if (record.memory_id, name) not in altered
            }
            if before:
                kept.append(record._replace(before=before))
    return kept


def find_altered_places(store: Store, records: Sequence[Record]) -> set[Place]:
    """Where somebody has altered since what these records left."""
    ids = list(dict.fromkeys(record.memory_id for record in records))
    memories = index_memories(store.get(ids))
    edges: dict[Place, float] = {edge[:3]: edge.weight for edge in store.edges(ids)}
    # Several records of a run may be about one place: only the last one says how it was left.
    last: dict[Place, object] = {}
    for record in records:
        last.update(list_altered_places(record))

    def value_now(place: Place) -> object:
        if len(place) == 3:
            return edges.get(place, 0.0)
        memory = memories.get(place[0])
        return memory and getattr(memory, place[1])

    return {place for place, value in last.items() if value != value_now(place)}


def list_altered_places(record: Record) -> dict[Place, object]:
    """What a record left where: (id, field) → value, or (src, rel, dst) → weight."""
    if record.op == "link":
        rel, dst, weight = (record.after[name] for name in ("rel", "dst", "weight"))
        return {(record.memory_id, rel, dst): weight}
    return {(record.memory_id, name): value for name, value in record.after.items()}


def list_undone_events(store: Store, run: int) -> set[int]:
    """The events after a run's beginning that are undone at present.

    Undoing an undo brings its event back, and undoing that undoes the event again, along a chain of
    any length.
    """
    undone: set[int] = set()
    target_of: dict[int, int] = {}  # an undo → the event that it undoes
    for event in iter_events_after(store, run, ("undo",)):
        target = target_of[event.seq] = event.payload.get("of", 0)
        undone.add(target)
        # Each further event of the chain changes sides with the one before it.
        while target in target_of:
            was_undone, target = target in undone, target_of[target]
            if was_undone:
                undone.discard(target)
            else:
                undone.add(target)
    return undone
