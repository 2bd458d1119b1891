"""Background work that was left undone: events that a reader failed on, texts without a vector.

It catches up on background work, so undoing a run of sleep does not undo it. A turn that nobody has
read yet is no matter of sleep: its reader's cursor stands before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reverie.core.errors import ModelAway
from reverie.core.model import Event
from reverie.pipeline.event_reader import RETRY_CURSOR, EventReader, WorkContext, process_event
from reverie.storage.paging import iter_events_after

# times that sleep tries an event again
MAX_TRIES = 3


def queue_missing_vectors(work: WorkContext, dry: bool) -> int:
    """Queue texts without a vector for the background; how many, 0 in a dry run."""
    if work.embedder is None or dry:
        return 0
    before = work.store.stats(work.embedding_model).waiting
    return work.store.await_vectors(work.embedding_model) - before


def retry_failed_events(
    work: WorkContext, readers: Sequence[EventReader], dry: bool
) -> tuple[int, str]:
    """Try again what a reader failed on: how many events came to something, and why it stopped.

    Where a language model is away the next run goes on: that is not the event's fault.
    """
    by_name = {reader.name: reader for reader in readers}
    retried = 0
    # What fails again now is for the next run.
    newest = work.store.last_event()
    for failed in iter_events_after(work.store, work.store.cursor(RETRY_CURSOR), ("failed",)):
        if failed.seq > newest:
            break
        try:
            retried += retry_failed_event(work, by_name, failed, dry)
        except ModelAway as err:
            return retried, str(err)
    return retried, ""


def retry_failed_event(
    work: WorkContext, readers: Mapping[str, EventReader], failed: Event, dry: bool
) -> bool:
    """Try an event once more unless it was tried MAX_TRIES times; True if it went well."""
    reader = readers.get(str(failed.payload.get("reader")))
    event = work.store.event(int(failed.payload.get("event", 0)))
    if reader and event and int(failed.payload.get("tries", 0)) < MAX_TRIES:
        return dry or not process_event(work, reader, event, failed).failed
    if not dry:
        work.store.advance(RETRY_CURSOR, failed.seq)
    return False
