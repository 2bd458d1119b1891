"""What was left undone is done: events that a reader failed on, texts that have no vector and wait
for none.

This is what settling should have done: it is no part of what taking back a run of sleep takes back.
A turn that nobody has read yet is no matter of sleep: its reader's cursor stands before it, and
settling reads it.
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
MAX_TRIES = 3  # times that sleep tries an event again


def queue_missing_vectors(work: WorkContext, dry: bool) -> int:
    """Queue what has no vector (B117); how many were queued, which only doing it tells. Settling
    embeds them.
    """
    if work.embedder is None or dry:
        return 0
    before = work.store.stats(work.embedding_model).waiting
    return work.store.await_vectors(work.embedding_model) - before


def retry_failed_events(work: WorkContext, readers: Sequence[EventReader], dry: bool) -> int:
    """Try again what a reader failed on (B113); how many came to something."""
    by_name = {reader.name: reader for reader in readers}
    newest = work.store.last_event()  # what fails again now is for the next night
    failed = takewhile(
        lambda event: event.seq <= newest,
        iter_events_after(work.store, work.store.cursor(RETRY_CURSOR), ("failed",)),
    )
    return sum(retry_failed_event(work, by_name, event, dry) for event in failed)


def retry_failed_event(
    work: WorkContext, readers: Mapping[str, EventReader], failed: Event, dry: bool
) -> bool:
    """One more attempt at an event, unless it was tried often enough; whether it went well."""
    reader = readers.get(str(failed.payload.get("reader")))
    event = work.store.event(int(failed.payload.get("event", 0)))
    tries = int(failed.payload.get("tries", 0))
    if reader is None or event is None or tries >= MAX_TRIES:
        if not dry:
            work.store.advance(RETRY_CURSOR, failed.seq)
        return False
    return True if dry else decide_again(work, reader, event, failed)


def decide_again(work: WorkContext, reader: EventReader, event: Event, failed: Event) -> bool:
    """Decide about an event once more. What fails again waits for the next night."""
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
