"""What becomes on the server of what a device pushes.

The server stamps who contributed a memory and from which device, whatever the device says. An item
that may not be is refused with the reason, and the rest goes on. The same batch twice comes to the
same. A memory leaves a shared space only by whoever contributed it, and then those who read there
are told that it left. Works on any Store: the caller's rights are asked first, and a database that
enforces rights of rows does so once more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from reverie.access.authorship import keep_stamp, stamp_writer, writer_of
from reverie.access.callers import Caller
from reverie.access.rights import is_private
from reverie.core.errors import Conflict, ReverieError
from reverie.core.model import Event, Memory
from reverie.storage import Store
from reverie.storage.access_records import Right
from reverie.sync.merge_rules import Merge, list_past_digests, merge_version
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
    """Do what a batch asks for, each item in a transaction of its own; what became of each."""
    results = [PushResult(id, "refused", why) for id, why in batch.refused]
    purged = purged_among(store, [one.memory.id for one in batch.memories])
    for pushed in batch.memories:
        if pushed.memory.id in purged:
            results.append(PushResult(pushed.memory.id, "gone"))
            continue
        try:
            results.append(take_memory(store, caller, batch, pushed, now))
        except Conflict:
            results.append(PushResult(pushed.memory.id, "refused", TAKEN))
        except ReverieError as err:
            results.append(PushResult(pushed.memory.id, "refused", str(err)))
    return [*results, *(purge_one(store, caller, batch, one, now) for one in batch.purged)]


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
        merge = merge_pushed(store, pushed.base, came, known)
        if merge.changes:
            record_push(store, caller, batch, merge, came, known, now)
    return PushResult(came.id, merge.result)


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
    base: str,
    came: Memory,
    known: Memory | None,
) -> Merge:
    """What a pushed memory comes to; one that is known keeps the stamp of its first contributor."""
    if known is None:
        return merge_version(came, None, follows=True)
    stamped = keep_stamp(came, known)
    follows = base == digest_content(known)
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
    payload: dict[str, Any] = {
        FEED_DEVICE: batch.device,
        "batch": batch.batch,
        "user": caller.user,
        "result": merge.result,
    }
    if merge.result == "lost":
        payload[FEED_LOST] = came.id
    if known is not None and known.space != came.space and merge.result != "lost":
        note_left(store, known, batch.device, now)
    store.apply(merge.changes, Event(VERB, came.space, now, payload=payload))


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


def gone_key(id: str) -> str:
    """Under this name it is kept that a memory was purged, so that no device brings it back."""
    return f"gone:{number_of(id)}"


def purged_among(store: Store, ids: Iterable[str]) -> set[str]:
    """Those of the ids that were purged here."""
    return {id for id in ids if store.meta(gone_key(id))}
