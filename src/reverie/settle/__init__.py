"""What happens after a turn, in one serial place: texts get vectors, events are learned from, the next block is made.

*Prepare* (`settle.preparing`) looks only at the newest turn of a conversation; the READERS look at every event that
concerns them, in order, each with a cursor of its own. Nothing here runs in a caller's path: the companion calls it
from its thread, a detached worker for other processes, scripts and tests call it directly. Between processes a lease
says who settles; everybody may read and append meanwhile.

An event that a reader fails on is recorded as `failed` and the cursor moves on. A model that is not there is not a
failure: texts go on waiting, words go on finding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from reverie import clock
from reverie.config import Settings
from reverie.embed import Embedder
from reverie.settle import learning, reconciling
from reverie.settle.embedding import BATCH, NO_VECTOR, adopt, embed_waiting
from reverie.settle.reading import Reader, Work, follow, waits
from reverie.store import Store

LEASE = "settle"
LEASE_SECONDS = 30.0     # renewed at each step; a settler that died is replaced after this long
PATIENCE = 600.0         # seconds that an explicit `settle` waits for another one at work

READERS: tuple[Reader, ...] = (learning.READER, reconciling.READER)
"""Who follows the event log, in this order: what is learned is reconciled in the same step."""

Going = Callable[[], bool]


def always() -> bool:
    """Go on."""
    return True


class Settled(NamedTuple):
    """What one call of `settle` did."""

    embedded: int = 0
    learned: int = 0          # memories that came out of events
    events: int = 0           # events that were read, once for each reader
    failed: int = 0           # events that could not be
    waiting: int = 0          # texts that still have no vector
    trouble: str = ""         # why, if the embedder did not answer

    def then(self, step: Settled) -> Settled:
        """This and one more step."""
        return Settled(self.embedded + step.embedded, self.learned + step.learned, self.events + step.events,
                       self.failed + step.failed, step.waiting, step.trouble)

    def __bool__(self) -> bool:
        """Whether anything was done."""
        return bool(self.embedded or self.events)


def settle(store: Store, embedder: Embedder | None, settings: Settings, now: Callable[[], float],
           holder: str, going: Going = always) -> Settled:
    """Embed and learn until nothing waits, somebody else holds the lease, or `going` says stop."""
    done = Settled()
    try:
        while going() and store.acquire(LEASE, holder, LEASE_SECONDS, now()):
            step = one_step(Work(store, embedder, settings, now()))
            done = done.then(step)
            if not step:
                break
    finally:
        store.release(LEASE, holder)
    return done


def settled(store: Store, embedder: Embedder | None, settings: Settings, now: Callable[[], float],
            holder: str) -> Settled:
    """`settle`, and when somebody else holds the lease, wait until they are done or it is ours."""
    end = clock.ticks() + PATIENCE
    while True:
        done = settle(store, embedder, settings, now, holder)
        other = store.holder(LEASE, now())
        if other in (None, holder) or not work_left(Work(store, embedder, settings, now())) or clock.ticks() > end:
            return done._replace(waiting=store.stats().waiting)
        clock.sleep(0.02)


def work_left(work: Work) -> bool:
    """Whether a text waits for a vector or an event to be read."""
    return any(waits(work, reader) for reader in READERS) or bool(work.embedder and work.store.waiting(1))


def one_step(work: Work, batch: int = BATCH) -> Settled:
    """A bounded piece of work: one batch of texts, some events of each reader."""
    embedded, trouble = 0, ""
    if work.embedder is not None:
        try:
            adopt(work.store, work.embedder)
            embedded = embed_waiting(work.store, work.embedder, batch)
        except NO_VECTOR as err:
            trouble = str(err)
    work = work._replace(trouble=trouble)
    read = {reader.name: follow(work, reader) for reader in READERS}
    return Settled(embedded, read["learn"].changes, sum(r.events for r in read.values()),
                   sum(r.failed for r in read.values()), len(work.store.waiting(1)), trouble)
