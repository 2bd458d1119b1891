"""What becomes on the server of what a device pushes.

The server stamps who contributed a memory and from which device, whatever the device says. An item
that may not be is refused with the reason, and the rest goes on. The same batch twice comes to the
same. A memory leaves a shared space only by whoever contributed it, and then those who read there
are told that it left. Works on any Store: the caller's rights are asked first, and a database that
enforces rights of rows does so once more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from reverie.access.authorship import stamp_edit, stamp_writer, writer_of
from reverie.access.callers import Caller
from reverie.access.rights import is_private
from reverie.core.errors import Conflict, ReverieError
from reverie.core.model import Add, Event, Memory, index_memories
from reverie.storage import Store
from reverie.storage.access_records import Right
from reverie.sync.merge_rules import Merge, list_past_digests, merge_version, pick_use
from reverie.sync.wire_format import (
    Batch,
    PurgedMemory,
    PushedMemory,
    PushResult,
    digest_content,
    number_of,
)

VERB = "pushed"
PURGE_VERB = "purge"
# Where an event names what readers of its space are told of.
LEFT, GONE = "left", "gone"
FEED_DEVICE, FEED_LOST = "device", "lost"
# Seconds that a device's clock may be ahead.
MAX_AHEAD = 300.0
NO_WRITE = "you may not write into that space"
TAKEN = "somebody else has a memory with this id, which you may not see"
NOT_YOURS = "somebody else contributed it: only they can take it out of that space"


def take_batch(
    store: Store,
    caller: Caller,
    batch: Batch,
    now: float,
) -> list[PushResult]:
    """Do what a batch asks for; what became of each item. What is new goes in one transaction for
    each space, everything else in one of its own.
    """
    results = [PushResult(id, "refused", why) for id, why in batch.refused]
    known = index_memories(store.get([one.memory.id for one in batch.memories]))
    fresh = [one for one in batch.memories if one.memory.id not in known]
    gone = purged_among(store, [one.memory.id for one in fresh])
    added = add_fresh(
        store, caller, batch, [one for one in fresh if one.memory.id not in gone], now
    )
    for pushed in batch.memories:
        id = pushed.memory.id
        if id in gone:
            results.append(PushResult(id, "gone"))
        elif id in added:
            results.append(PushResult(id, "added"))
        elif is_known_as_pushed(caller, known.get(id), pushed.memory):
            results.append(PushResult(id, "same"))
        else:
            results.append(take_or_refuse(store, caller, batch, pushed, now))
    return [*results, *(purge_one(store, caller, batch, one, now) for one in batch.purged)]


def add_fresh(
    store: Store,
    caller: Caller,
    batch: Batch,
    fresh: Sequence[PushedMemory],
    now: float,
) -> set[str]:
    """Add memories that are not here yet, those of a space in one transaction; the ids that were.

    Where one cannot be, none of its space is: each is then looked at by itself.
    """
    by_space: dict[str, list[Memory]] = {}
    for pushed in fresh:
        came = stamp_memory(pushed.memory, caller, batch.device, now)
        if not refuse_push(caller, came, None):
            by_space.setdefault(came.space, []).append(came)
    added: set[str] = set()
    for space, memories in by_space.items():
        payload = describe_push(caller, batch, "added")
        # Somebody may have added one of them meanwhile, or has one that the caller may not see.
        with suppress(Conflict):
            changes = [Add(memory) for memory in memories]
            store.apply(changes, Event(VERB, space, now, payload=payload))
            added.update(memory.id for memory in memories)
    return added


def is_known_as_pushed(caller: Caller, known: Memory | None, came: Memory) -> bool:
    """True if a memory says here what was pushed, and was not used more there."""
    return (
        known is not None
        and caller.rights.may(Right.READ, known.space)
        and digest_content(known) == digest_content(came)
        and not pick_use(came, known)
    )


def take_or_refuse(
    store: Store,
    caller: Caller,
    batch: Batch,
    pushed: PushedMemory,
    now: float,
) -> PushResult:
    """Take in one memory; what it is refused for is told."""
    try:
        return take_memory(store, caller, batch, pushed, now)
    except Conflict:
        return PushResult(pushed.memory.id, "refused", TAKEN)
    except ReverieError as err:
        return PushResult(pushed.memory.id, "refused", str(err))


def take_memory(
    store: Store,
    caller: Caller,
    batch: Batch,
    pushed: PushedMemory,
    now: float,
) -> PushResult:
    """Take in one memory, in one transaction with the event that says so."""
    came = stamp_memory(pushed.memory, caller, batch.device, now)
    with store.transaction():
        known = next(iter(store.get([came.id])), None)
        if known is not None and not caller.rights.may(Right.READ, known.space):
            return PushResult(came.id, "refused", TAKEN)
        if known is not None and is_staying(known, came, batch):
            return PushResult(came.id, "kept")
        if why := refuse_push(caller, came, known):
            return PushResult(came.id, "refused", why)
        merge = merge_pushed(store, pushed.bases, came, known)
        if merge.changes:
            record_push(store, caller, batch, merge, came, known, now)
    return PushResult(came.id, merge.result, was=known if merge.result == "won" else None)


def stamp_memory(
    memory: Memory,
    caller: Caller,
    device: str,
    now: float,
) -> Memory:
    """A memory as the caller's, whatever stamp it brings, and from no later than now."""
    stamped = stamp_writer(memory, caller, device)
    return stamped._replace(updated_at=min(memory.updated_at, now + MAX_AHEAD))


def refuse_push(
    caller: Caller,
    came: Memory,
    known: Memory | None,
) -> str:
    """Why a memory may not be taken in; "" if it may."""
    if not caller.rights.may(Right.WRITE, came.space):
        return f"{NO_WRITE}: {came.space}"
    if known is None or known.space == came.space:
        return ""
    if not is_private(known.space) and writer_of(known) != caller.user:
        return NOT_YOURS
    return "" if caller.rights.may(Right.WRITE, known.space) else f"{NO_WRITE}: {known.space}"


def is_staying(
    known: Memory,
    came: Memory,
    batch: Batch,
) -> bool:
    """True if a memory is in a shared space that nothing leaves though it is no longer linked."""
    return known.space in batch.stay and is_private(came.space)


def merge_pushed(
    store: Store,
    bases: tuple[str, ...],
    came: Memory,
    known: Memory | None,
) -> Merge:
    """What a pushed memory comes to; one that is known keeps the stamp of its first contributor,
    with whoever else changed what it says.
    """
    if known is None:
        return merge_version(came, None, follows=True)
    stamped = stamp_edit(came, known, writer_of(came))
    follows = digest_content(known) in bases
    had = () if follows else list_past_digests(known, store.history(known.id))
    return merge_version(stamped, known, follows=follows, had=had)


def record_push(
    store: Store,
    caller: Caller,
    batch: Batch,
    merge: Merge,
    came: Memory,
    known: Memory | None,
    now: float,
) -> None:
    """Make a push so. Where a memory leaves a space, its readers have an event there."""
    payload = describe_push(caller, batch, merge.result)
    if merge.result == "lost":
        payload[FEED_LOST] = came.id
    if known is not None and known.space != came.space and merge.result != "lost":
        note_left(store, known, batch.device, now)
    store.apply(merge.changes, Event(VERB, came.space, now, payload=payload))


def describe_push(caller: Caller, batch: Batch, result: str) -> dict[str, Any]:
    """What the event of a push says of itself."""
    return {
        FEED_DEVICE: batch.device,
        "batch": batch.batch,
        "user": caller.user,
        "result": result,
    }


def note_left(
    store: Store,
    memory: Memory,
    device: str,
    now: float,
) -> None:
    """Tell readers of a memory's space that it is not there any more."""
    payload = {FEED_DEVICE: device, LEFT: [number_of(memory.id)]}
    store.append([Event(VERB, memory.space, now, payload=payload)])


def purge_one(
    store: Store,
    caller: Caller,
    batch: Batch,
    wanted: PurgedMemory,
    now: float,
) -> PushResult:
    """Erase a memory for good, and tell those who read in its space."""
    with store.transaction():
        known = next(iter(store.get([wanted.id])), None)
        if known is None or not caller.rights.may(Right.READ, known.space):
            return PushResult(wanted.id, "same")
        if not caller.rights.may(Right.WRITE, known.space):
            return PushResult(wanted.id, "refused", f"{NO_WRITE}: {known.space}")
        if not is_private(known.space) and writer_of(known) != caller.user:
            return PushResult(wanted.id, "refused", NOT_YOURS)
        store.purge([known.id])
        note_gone(store, known, batch.device, now)
    return PushResult(wanted.id, "purged")


def note_gone(
    store: Store,
    memory: Memory,
    device: str,
    now: float,
) -> None:
    """Tell readers of a purged memory's space that it is gone for good.

    To be called by whatever purges on a server, in the same transaction.
    """
    payload = {FEED_DEVICE: device, GONE: [number_of(memory.id)]}
    store.append([Event(PURGE_VERB, memory.space, now, payload=payload)])
    store.set_meta(gone_key(memory.id), "yes")


def note_gone_from_devices(store: Store, ids: Iterable[str], now: float) -> None:
    """Tell every device that these memories are about to be purged on the server itself."""
    for memory in store.get(list(ids)):
        note_gone(store, memory, "", now)


def purge_everywhere(store: Store, ids: Sequence[str], now: float) -> int:
    """Purge memories here and have every device purge its copies; how many there were.

    Whatever purges on a server does it by this: a device that was not told brings them back.
    """
    with store.transaction():
        note_gone_from_devices(store, ids, now)
        return store.purge(ids)


def gone_key(id: str) -> str:
    """Under this name it is kept that a memory was purged, so that no device brings it back."""
    return f"gone:{number_of(id)}"


def purged_among(store: Store, ids: Iterable[str]) -> set[str]:
    """Those of the ids that were purged here."""
    return {id for id in ids if store.meta(gone_key(id))}
