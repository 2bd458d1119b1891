"""Whether a purge or a scrub was interrupted and waits to be finished."""

from __future__ import annotations

from reverie.pipeline.event_reader import WorkContext
from reverie.storage.erased_texts import PURGING


def has_unfinished_erasure(work: WorkContext) -> bool:
    """True if a scrub or a purge has left files to be written anew, or to be gone through."""
    return bool(work.store.meta(REWRITE_PENDING) or work.store.meta(PURGING))


# meta: files are still to be written anew
REWRITE_PENDING = "scrubbing"
