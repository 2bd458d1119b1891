"""Background work that was left undone: events that a reader failed on, texts without a vector.

It catches up on background work, so undoing a run of sleep does not undo it. A turn that nobody has
read yet is no matter of sleep: its reader's cursor stands before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile

from reverie.core.errors import Conflict, StoreError
from reverie.core.model import Event
from reverie.pipeline.event_reader import (
    MAX_ATTEMPTS,
    EventReader,
    WorkContext,
    caused_event,
    is_unchanged,
)
from reverie.storage.paging import iter_events_after

RETRY_CURSOR = "sleep.retro"
# times that sleep tries an event again
MAX_TRIES = 3


def queue_missing_vectors(work: WorkContext, dry: bool) -> int:
    """Queue texts without a vector for the background; how many, 0 in a dry run."""
    if work.embedder is None or dry:
        return 0
    before = work.store.stats(work.embedding_model).waiting
    return work.store.await_vectors(work.embedding_model) - before


def retry_failed_events(work: WorkContext, readers: Sequence[EventReader], dry: bool) -> int:
    """Try again what a reader failed on; how many events came to something."""
    by_name = {reader.name: reader for reader in readers}
    # What fails again now is for the next run.
    newest = work.store.last_event()
    failed = takewhile(
        lambda event: event.seq <= newest,
        iter_events_after(work.store, work.store.cursor(RETRY_CURSOR), ("failed",)),
    )
    return sum(retry_failed_event(work, by_name, event, dry) for event in failed)


def retry_failed_event(
    work: WorkContext, readers: Mapping[str, EventReader], failed: Event, dry: bool
) -> bool:
    """Try an event once more unless it was tried MAX_TRIES times; True if it went well."""
    reader = readers.get(str(failed.payload.get("reader")))
    event = work.store.event(int(failed.payload.get("event", 0)))
    tries = int(failed.payload.get("tries", 0))
    if reader is None or event is None or tries >= MAX_TRIES:
        if not dry:
            work.store.advance(RETRY_CURSOR, failed.seq)
        return False
    return True if dry else decide_again(work, reader, event, failed)


def decide_again(work: WorkContext, reader: EventReader, event: Event, failed: Event) -> bool:
    """Let a reader decide about an event once more; what fails again waits for the next run."""
    done = (RETRY_CURSOR, failed.seq)
    try:
        for _ in range(MAX_ATTEMPTS):
            decision = reader.decide(work, event)
            with work.store.transaction():
                if is_unchanged(work.store, decision):
                    work.store.apply(
                        decision.changes,
                        caused_event(
                            work, event, reader.verb, again=failed.seq, **decision.payload
                        ),
                        done=done,
                    )
                    return True
    except (StoreError, Conflict):
        raise
    except Exception as err:
        work.store.apply(
            [],
            caused_event(
                work,
                event,
                "failed",
                error=f"{type(err).__name__}: {err}"[:500],
                reader=reader.name,
                tries=int(failed.payload.get("tries", 0)) + 1,
            ),
            done=done,
        )
    return False
