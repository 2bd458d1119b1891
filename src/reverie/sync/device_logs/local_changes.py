"""What was changed here since the own log last heard of it, as marks.

To be called at the beginning of every transaction that alters marks: what comes from others then
meets marks that know all that was done here. The cursor moves in the same transaction. What
memories say goes into the log later (`own_log`); what was only used waits for something to go with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from reverie.core.config import ME, Settings
from reverie.core.model import (
    MEMORY_RELATIONS,
    Change,
    Event,
    Filter,
    Memory,
    Record,
    Revise,
)
from reverie.mirror.shared_lines import HEARD, SHARED
from reverie.storage import Store
from reverie.sync.device_logs.folding import (
    REDACTED,
    SET_FIELDS,
    USE_FIELDS,
    Telling,
    note_change,
    tell_new,
)
from reverie.sync.device_logs.log_state import (
    CURSOR,
    KnownMarks,
    OwnLog,
    drop_conflicts,
    is_gone,
    load_links,
    load_marks,
    load_own,
    load_waiting,
    note_gone,
    save_links,
    save_marks,
    save_own,
    save_waiting,
)
from reverie.sync.device_logs.marks import Mark, next_stamp
from reverie.sync.merge_rules import known_fields
from reverie.sync.space_map import SERVER
from reverie.sync.wire_format import id_of

RECEIVED = "received"  # the verb of events by which what other devices told is applied here
EVENTS_PER_PAGE = 1_000
MAX_SCRUBBED = 10_000_000


class Changed(NamedTuple):
    """What the log of events says of one memory."""

    records: list[Record]  # that altered it, oldest first
    edges: dict[str, float]  # "rel dst" → its weight now
    at: float = 0.0  # when it was altered last, as the wall clock had it


def is_wanted(memory: Memory, settings: Settings) -> bool:
    """True if a memory is the user's own, and not switched off: others' words have other ways."""
    return is_own_word(memory) and not settings.is_off(memory.space, memory.session)


def is_own_word(memory: Memory) -> bool:
    """True if a memory lies in a space of the user's own, and is no word of others."""
    is_mine = memory.space.partition("/")[0] == ME
    return is_mine and memory.details.get(HEARD) not in (SHARED, SERVER)


def note_local_changes(store: Store, own: OwnLog, settings: Settings, now: float) -> None:
    """Mark what was changed here since the cursor, and move it on.

    To be called within a transaction.
    """
    last = store.last_event()
    changed = collect_changes(store, store.cursor(CURSOR))
    if changed:
        told: list[str] = []
        used: list[str] = []
        reordered: list[Change] = []
        for memory in store.get(list(changed)):
            telling = tell_change(store, memory, changed[memory.id], own.device, settings)
            if telling is None:
                continue
            (used if is_only_use(changed[memory.id]) else told).append(memory.id)
            if telling.memory != memory:
                fields = {name: getattr(telling.memory, name) for name in SET_FIELDS}
                reordered.append(Revise(memory.id, fields))
        if reordered:
            last = store.apply(reordered, Event(RECEIVED, ME, now, payload={"device": own.device}))
        add_waiting(store, told, used, now)
    store.advance(CURSOR, last)


def collect_changes(store: Store, cursor: int) -> dict[str, Changed]:
    """What events after the cursor did, by memory, the first changed first."""
    found: dict[str, Changed] = {}
    for record in iter_records(store, cursor):
        one = found.get(record.memory_id, Changed([], {}))
        found[record.memory_id] = one._replace(at=max(one.at, record.event.at))
        if record.op != "link":
            one.records.append(record)
        elif record.after.get("rel") in MEMORY_RELATIONS:
            key = f"{record.after['rel']} {record.after['dst']}"
            one.edges[key] = float(record.after.get("weight") or 0.0)
    return found


def iter_records(store: Store, cursor: int) -> Iterator[Record]:
    """All that events after the cursor did, in order."""
    while events := store.events(after=cursor, limit=EVENTS_PER_PAGE):
        for event in events:
            yield from store.changes_of(event.seq)
        cursor = events[-1].seq


def tell_change(
    store: Store,
    memory: Memory,
    changed: Changed,
    device: str,
    settings: Settings,
) -> Telling | None:
    """The telling of a memory after it was changed, with its marks kept; None if there is nothing
    to tell.
    """
    known = load_marks(store, memory.id)
    if known is None:
        if not is_wanted(memory, settings):
            return None
        telling = tell_first(store, memory)
    else:
        before = undo_records(memory, changed.records)
        if before == memory and not changed.edges:
            return None
        mark = Mark(next_stamp(known.marks.latest(), changed.at), device)
        telling = note_change(known.marks, before, memory, mark, changed.edges)
        if telling.marks == known.marks and telling.memory == memory and before == memory:
            return None
    save_marks(store, memory.id, KnownMarks(telling.marks, bool(known and known.is_told)))
    return telling


def tell_first(store: Store, memory: Memory) -> Telling:
    """The first telling of a memory, with its edges and what it said before."""
    return tell_new(memory, edges_from(store, [memory.id]).get(memory.id, {}), past(store, memory))


def past(store: Store, memory: Memory) -> list[str]:
    """The texts that a memory had before."""
    if memory.updated_at == memory.created_at:
        return []
    texts = [str(one.before["text"]) for one in store.history(memory.id) if "text" in one.before]
    return texts[::-1]


def edges_from(store: Store, ids: Sequence[str]) -> dict[str, dict[str, float]]:
    """By memory the edges from it to others: "rel dst" → weight."""
    wanted = set(ids)
    found: dict[str, dict[str, float]] = {}
    for edge in store.edges(ids, MEMORY_RELATIONS):
        if edge.src in wanted:
            found.setdefault(edge.src, {})[f"{edge.rel} {edge.dst}"] = edge.weight
    return found


def undo_records(memory: Memory, records: Iterable[Record]) -> Memory:
    """The memory as it was before these changes of it, or when it was added."""
    for record in reversed(list(records)):
        if record.op == "add":
            break
        memory = memory._replace(**known_fields(record.before))
    return memory


def is_only_use(changed: Changed) -> bool:
    """True if a memory was used, and says what it said."""
    names: set[str] = set()
    for record in changed.records:
        if record.op == "add":
            return False
        names |= record.before.keys()
    return not changed.edges and names <= USE_FIELDS | {"updated_at"}


def add_waiting(
    store: Store,
    told: Sequence[str],
    used: Sequence[str] = (),
    now: float = 0.0,
    gone: Sequence[str] = (),
    said: Sequence[str] = (),
) -> None:
    """Have memories, and what was said in sessions, written into the own log."""
    if not (told or used or gone or said):
        return
    waiting = load_waiting(store)
    save_waiting(
        store,
        waiting._replace(
            ids=merge_names(waiting.ids, told),
            used=merge_names(waiting.used, used),
            since=waiting.since if waiting.used else now,
            gone=merge_names(waiting.gone, gone),
            said=merge_names(waiting.said, said),
        ),
    )


def merge_names(known: Iterable[str], more: Iterable[str]) -> tuple[str, ...]:
    """Names, each once."""
    return tuple(dict.fromkeys((*known, *more)))


def note_purged_here(store: Store, numbers: Sequence[str]) -> None:
    """Have memories that are purged here purged on the other devices too, and the own log written
    anew without them. To be called in the transaction that purges them.
    """
    own = load_own(store)
    if own is None:
        return
    fresh = [number for number in numbers if not is_gone(store, number)]
    for number in fresh:
        note_gone(store, number)
    add_waiting(store, (), gone=fresh)
    drop_ids(store, {id_of(number) for number in numbers})
    save_own(store, own._replace(must_compact=True))


def drop_ids(store: Store, ids: set[str]) -> None:
    """Take ids out of what is kept beside the marks."""
    waiting = load_waiting(store)
    kept = waiting._replace(
        ids=tuple(id for id in waiting.ids if id not in ids),
        used=tuple(id for id in waiting.used if id not in ids),
    )
    if kept != waiting:
        save_waiting(store, kept)
    drop_conflicts(store, ids)
    links = load_links(store)
    if ids & {*links, *(src for sources in links.values() for src in sources)}:
        left = {dst: [s for s in sources if s not in ids] for dst, sources in links.items()}
        save_links(store, {dst: one for dst, one in left.items() if one and dst not in ids})


def note_scrubbed_here(store: Store) -> None:
    """Have memories out of which a secret was taken told anew, and the own log written anew."""
    with store.transaction():
        own = load_own(store)
        if own is None:
            return
        found = store.browse(Filter(active=None, limit=MAX_SCRUBBED))
        cleaned = [one.id for one in found if REDACTED in f"{one.text} {one.title} {one.details}"]
        add_waiting(store, [id for id in cleaned if load_marks(store, id) is not None])
        save_own(store, own._replace(must_compact=True))
