"""Purges and scrubs that were interrupted: whether there are any, and finishing them."""

from __future__ import annotations

from reverie.core import clock
from reverie.core.errors import StoreError
from reverie.erasure import purge
from reverie.pipeline.event_reader import WorkContext
from reverie.storage.erased_texts import PURGING, REWRITE_PENDING


def has_unfinished_erasure(work: WorkContext) -> bool:
    """True if a scrub or a purge has left files to be written anew, or to be gone through."""
    return bool(work.store.meta(REWRITE_PENDING) or work.store.meta(PURGING))


def finish_erasure(work: WorkContext) -> bool:
    """Do what a scrub or a purge had to leave; True if nothing is left."""
    store = work.store
    if store.meta(PURGING):
        purge.finish_purge(work, clock.now)
    if store.meta(PURGING):
        return False
    try:
        # All are tried, whichever somebody reads just now.
        indexes = (store.files, store.code_chunks, store.transcripts)
        done = [not store.compact(), *(index.scrub() for index in indexes)]
    except StoreError:
        return False
    if all(done):
        store.set_meta(REWRITE_PENDING, "")
    return all(done)
