"""Purges and scrubs that were interrupted: whether there are any, and finishing them.

Whoever opens the home finishes them (`reverie.open`), and the worker, what somebody was reading
then. Little is imported here, for every opening asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from reverie.core import clock
from reverie.core.errors import ReverieError, StoreError
from reverie.erasure.intention import hold_erasure_lock, read_intention
from reverie.storage.erased_texts import PURGING, REWRITE_PENDING

if TYPE_CHECKING:
    from reverie.pipeline.event_reader import WorkContext


def has_unfinished_erasure(work: WorkContext) -> bool:
    """True if a scrub or a purge has left something to be done."""
    return next(list_unfinished(work), "") != ""


def list_unfinished(work: WorkContext) -> Iterator[str]:
    """What scrubs and purges have left to be done, in words."""
    if read_intention(work):
        yield "A scrub was stopped: anything may still hold what it was to take out."
    if work.store.meta(PURGING):
        yield "A purge was stopped: files may still hold what it erased."
    if work.store.meta(REWRITE_PENDING):
        yield "A purge or scrub was stopped: free pages may still hold what it erased."


def finish_erasure(work: WorkContext) -> bool:
    """Do what a scrub or a purge had to leave; True if nothing is left.

    False where somebody else is at it, or is reading what is to be written anew.
    """
    try:
        if not has_unfinished_erasure(work):
            return True
        # Who is at it now will finish it.
        with hold_erasure_lock(work, patience=0.0):
            return finish_each(work)
    except (ReverieError, OSError):
        return False


def finish_each(work: WorkContext) -> bool:
    """Finish scrubs, then purges, then write anew what is left to be."""
    from reverie.erasure import purge, scrub

    store = work.store
    scrub.finish_scrub(work, clock.now)
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
