"""Whether a purge or a scrub was interrupted and waits to be finished."""

from __future__ import annotations

from reverie.pipeline.event_reader import WorkContext
from reverie.storage.erased_texts import PURGING


def has_unfinished_erasure(work: WorkContext) -> bool:
    """Whether a scrub or a purge has left files that are to be written anew, or gone through."""
    return bool(work.store.meta(REWRITE_PENDING) or work.store.meta(PURGING))


REWRITE_PENDING = "scrubbing"  # meta: files are still to be written anew
