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
from typing import TYPE_CHECKING, NamedTuple

from reverie import clock
from reverie.config import Settings
from reverie.embed import Embedder
from reverie.errors import EmbedderUnavailable
from reverie.settle import experiencing, gathering, holding, learning, maintaining, reconciling
from reverie.settle.embedding import BATCH, NO_VECTOR, adopt, embed_waiting, model_of
from reverie.settle.reading import Reader, Work, follow, waits
from reverie.store import Store

if TYPE_CHECKING:
    from reverie.llm import Llm

LEASE = "settle"
LEASE_SECONDS = 30.0     # renewed at each step; a settler that died is replaced after this long
ASKING = "settle:model"  # the lease of who asks the language model
ASKING_SECONDS = 300.0   # an event may need several answers of a minute
FEW = 20                 # events that are read with it in one step; few of them are due
PATIENCE = 600.0         # seconds that an explicit `settle` waits for another one at work

READERS: tuple[Reader, ...] = (holding.READER, learning.READER, gathering.READER, experiencing.READER,
                               reconciling.READER, maintaining.READER)
"""Who follows the event log, in this order: what is learned is reconciled in the same step."""

LEARNERS = (learning.READER, gathering.READER, experiencing.READER)

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
    trouble: str = ""         # why, if the embedder or the language model did not answer

    def then(self, step: Settled) -> Settled:
        """This and one more step; the trouble of the last one that did anything, or met some."""
        trouble = step.trouble if step or step.trouble else self.trouble
        return Settled(self.embedded + step.embedded, self.learned + step.learned, self.events + step.events,
                       self.failed + step.failed, step.waiting, trouble)

    def __bool__(self) -> bool:
        """Whether anything was done."""
        return bool(self.embedded or self.events)


def settle(store: Store, embedder: Embedder | None, settings: Settings, now: Callable[[], float],
           holder: str, going: Going = always, llm: Llm | None = None) -> Settled:
    """Embed and learn until nothing waits, somebody else holds the lease, or `going` says stop."""
    done = Settled()
    try:
        while going() and store.acquire(LEASE, holder, LEASE_SECONDS, now()):
            step = one_step(Work(store, embedder, settings, now(), llm), holder=holder)
            done = done.then(step)
            if not step:
                break
    finally:
        store.release(LEASE, holder)
    return done


def settled(store: Store, embedder: Embedder | None, settings: Settings, now: Callable[[], float],
            holder: str, llm: Llm | None = None) -> Settled:
    """`settle`, and when somebody else holds the lease, wait until they are done or it is ours."""
    end = clock.ticks() + PATIENCE
    while True:
        done = settle(store, embedder, settings, now, holder, llm=llm)
        other = store.holder(LEASE, now())
        left = work_left(Work(store, embedder, settings, now(), llm))
        if other in (None, holder) or not left or clock.ticks() > end:
            return done._replace(waiting=store.stats(model_of(embedder)).waiting)
        clock.sleep(0.02)


def work_left(work: Work) -> bool:
    """Whether a text waits for a vector or an event to be read."""
    return (any(waits(work, reader) for reader in READERS) or asks(work)
            or bool(work.embedder and work.store.waiting(1, model_of(work.embedder))))


def slow_readers() -> tuple[Reader, ...]:
    """Who follows the event log with a language model, a few events a step, when nothing else is to be done.

    Loaded where there is a model only: a command that recalls waits for every import.
    """
    from reverie.settle import answering, extracting, weighing
    return (extracting.READER, answering.READER, weighing.READER)


def asks(work: Work) -> bool:
    """Whether an event waits for a language model that may be asked now."""
    return work.llm is not None and any(waits(work, reader) for reader in slow_readers())


def ask(work: Work, holder: str) -> Settled:
    """Read some events with the language model, if there is one and nobody else is at it.

    This may take minutes. It has a lease of its own, so that whoever settles need not wait for it.
    """
    if not asks(work) or not work.store.acquire(ASKING, holder, ASKING_SECONDS, work.now):
        return Settled()
    try:
        read = {reader.name: follow(work, reader, FEW) for reader in slow_readers()}
    finally:
        work.store.release(ASKING, holder)
    done = read.values()
    return Settled(0, read["extract"].added + read["answer"].added, sum(r.events for r in done),
                   sum(r.failed for r in done), trouble=next((r.trouble for r in done if r.trouble), ""))


def one_step(work: Work, batch: int = BATCH, holder: str = "") -> Settled:
    """A bounded piece of work: one batch of texts, some events of each reader.

    Who names a `holder` can wait for a language model: it is asked once nothing else is to be done.
    """
    embedded, trouble, hopeless = 0, "", False
    if work.embedder is not None:
        try:
            adopt(work.store, work.embedder)
            embedded = embed_waiting(work.store, work.embedder, batch)
        except NO_VECTOR as err:
            trouble = str(err)
            hopeless = work.settings.offline and not isinstance(err, EmbedderUnavailable)
    work = work._replace(trouble=trouble, hopeless=hopeless)
    read = [(reader, follow(work, reader)) for reader in READERS]
    done = Settled(embedded, sum(r.added for reader, r in read if reader in LEARNERS), sum(r.events for _, r in read),
                   sum(r.failed for _, r in read), len(work.store.waiting(1, model_of(work.embedder))), trouble)
    if done or not holder:
        return done
    more = ask(work, holder)
    return done.then(more)._replace(waiting=done.waiting, trouble=trouble or more.trouble)
