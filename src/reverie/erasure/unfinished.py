"""Finishing purges and scrubs that were interrupted."""

from __future__ import annotations

from reverie.core import clock
from reverie.core.errors import StoreError
from reverie.erasure.interruptions import REWRITE_PENDING
from reverie.pipeline.event_reader import WorkContext
from reverie.storage.erased_texts import PURGING


def finish_erasure(work: WorkContext) -> bool:
    """Do what a scrub or a purge had to leave; True if nothing is left."""
    if work.store.meta(PURGING):
        from reverie.erasure import purge

        purge.finish_purge(work, clock.now)
    if work.store.meta(PURGING):
        return False
    try:
        left = [
            *work.store.compact(),
            *(index for index in (work.store.files, work.store.code_chunks) if not index.scrub()),
        ]
    except StoreError:
        return False
    if not left:
        work.store.set_meta(REWRITE_PENDING, "")
    return not left
