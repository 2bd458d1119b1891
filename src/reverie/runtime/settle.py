"""What happens after a turn, in one serial place: texts get vectors, events are learned from, the
next block is made.

*Prepare* (`settle.preparing`) looks only at the newest turn of a conversation; the READERS look at
every event that concerns them, in order, each with a cursor of its own. Nothing here runs in a
caller's path: the companion calls it from its thread, a detached worker for other processes,
scripts and tests call it directly. Between processes a lease says who settles; everybody may read
and append meanwhile.

An event that a reader fails on is recorded as `failed` and the cursor moves on. A model that is not
there is not a failure: texts go on waiting, words go on finding.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from reverie.activity import episode_reader, remedy_reader
from reverie.code import anchor_reader
from reverie.core import clock
from reverie.core.errors import EmbedderUnavailable, ReverieError
from reverie.extraction import (
    multi_turn_lessons,
    retrieval_feedback,
    turn_learning,
    working_memory_reader,
)
from reverie.mirror import mirror_sync
from reverie.notes.note_vectors import chunks_left, embed_chunks
from reverie.pipeline.event_reader import EventQueue, Reader, Work, follow, waits
from reverie.pipeline.leases import LEASE, LEASE_SECONDS
from reverie.pipeline.pending_vectors import BATCH, NO_VECTOR, adopt, embed_waiting, model_of
from reverie.porting import shared_files
from reverie.reconciliation import reconcile_reader
from reverie.storage import Store

ASKING = "settle:model"  # the lease of who asks the language model
ASKING_SECONDS = 300.0  # an event may need several answers of a minute
COSTLY = 4  # texts of memories that take as long to embed as one chunk of a file
FEW = 20  # events that are read with it in one step; few of them are due
# seconds that `settled` waits for another settler that makes no headway: two leases
PATIENCE = 60.0

READERS: tuple[Reader, ...] = (
    working_memory_reader.READER,
    turn_learning.READER,
    multi_turn_lessons.READER,
    episode_reader.READER,
    remedy_reader.READER,
    reconcile_reader.READER,
    retrieval_feedback.READER,
    anchor_reader.READER,
)
"""Who follows the event log, in this order: what is learned is reconciled in the same step."""

LEARNERS = (
    turn_learning.READER,
    multi_turn_lessons.READER,
    episode_reader.READER,
    remedy_reader.READER,
)

Tell = Callable[[str, int, int | None], None]  # stage, done, of how many


def silent(_stage: str, _done: int, _total: int | None) -> None:
    """Nobody wants to know how far it is."""


class Settled(NamedTuple):
    """What one call of `settle` did."""

    embedded: int = 0
    learned: int = 0  # memories that came out of events
    events: int = 0  # events that were read, once for each reader
    failed: int = 0  # events that could not be
    waiting: int = 0  # texts that still have no vector
    trouble: str = ""  # why, if the embedder or the language model did not answer
    mirrored: int = 0  # lines of people that were taken in from the Markdown mirror

    def then(self, step: Settled) -> Settled:
        """This and one more step; the trouble of the last one that did anything, or met some."""
        trouble = step.trouble if step or step.trouble else self.trouble
        return Settled(
            self.embedded + step.embedded,
            self.learned + step.learned,
            self.events + step.events,
            self.failed + step.failed,
            step.waiting,
            trouble,
            self.mirrored + step.mirrored,
        )

    def __bool__(self) -> bool:
        """Whether anything was done."""
        return bool(self.embedded or self.events or self.mirrored)


def settled(work: Callable[[], Work], holder: str, tell: Tell = silent) -> Settled:
    """Embed, learn and reconcile until nothing waits. Somebody else who is at it is waited for
    while they get on.

    `work` gives what is worked with at this moment. `trouble` says why something is left: no model
    answers, or who is at it and stands still.
    """
    store, done, others, total = (
        work().store,
        Settled(),
        "",
        texts_left(work()) + chunks_left(work()),
    )
    try:
        while True:
            if store.acquire(LEASE, holder, LEASE_SECONDS, work().now):
                step = one_step(work(), holder=holder)
                done = done.then(step)
                total = max(total, done.embedded)
                tell("settling", done.embedded + done.events, None if done.events else total)
                if not step:
                    others = "" if step.trouble else standstill(work(), ASKING)
                    break
            elif not others_go_on(work, tell):
                others = standstill(work(), LEASE)
                break
    finally:
        store.release(LEASE, holder)
    leave_word(store, done.trouble)
    return done._replace(waiting=texts_left(work()), trouble=done.trouble or others)


def others_go_on(work: Callable[[], Work], tell: Tell) -> bool:
    """Wait for another settler; False once nothing is left to do or it stands still, True when it
    has gone.
    """
    last, since = headway(work()), clock.ticks()
    while work().store.holder(LEASE, work().now) is not None:
        if not work_left(work()):
            return False
        now = headway(work())
        if now != last:
            last, since = now, clock.ticks()
        if clock.ticks() - since > PATIENCE:
            return False
        tell("another process is settling; texts left", now[0], None)
        clock.sleep(0.05)
    return True


def headway(work: Work) -> tuple[int, ...]:
    """What moves while somebody settles: texts that wait, the newest event, where each reader
    stands.
    """
    return (
        texts_left(work),
        work.store.last_event(),
        *(work.store.cursor(reader.name) for reader in READERS),
    )


def standstill(work: Work, lease: str) -> str:
    """Who is at what is left to do; empty where nothing is left, or nobody is at it."""
    other = work.store.holder(lease, work.now)
    return (
        f"Not everything is settled yet: {other} is at it. Try again later"
        if other and work_left(work)
        else ""
    )


def texts_left(work: Work) -> int:
    """How many texts have no vector of our model yet."""
    return work.store.stats(model_of(work.embedder)).waiting


def leave_word(store: Store, trouble: str) -> None:
    """Keep what went wrong last, for `reverie status`; an empty trouble wipes the last one."""
    with suppress(ReverieError):
        if trouble or store.meta("trouble"):
            first = trouble.splitlines()[0] if trouble else ""
            store.set_meta(
                "trouble", json.dumps({"at": clock.now(), "text": first}) if trouble else ""
            )


def work_left(work: Work) -> bool:
    """Whether a text waits for a vector or an event to be read."""
    return (
        any(waits(work, reader) for reader in READERS)
        or asks(work)
        or mirror_sync.waits(work)
        or shared_files.waits(work)
        or bool(work.embedder and work.store.waiting(1, model_of(work.embedder)))
    )


def event_queue() -> EventQueue:
    """The readers and whether anything waits for them: what a run of sleep is handed."""
    return EventQueue(READERS, work_left)


def slow_readers() -> tuple[Reader, ...]:
    """Who follows the event log with a language model, a few events a step, when nothing else is to
    be done.

    Loaded where there is a model only: a command that recalls waits for every import.
    """
    from reverie.extraction import gap_answers, model_extraction
    from reverie.reconciliation import model_weighing

    return (model_extraction.READER, gap_answers.READER, model_weighing.READER)


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
    return Settled(
        0,
        read["extract"].added + read["answer"].added,
        sum(r.events for r in done),
        sum(r.failed for r in done),
        trouble=next((r.trouble for r in done if r.trouble), ""),
    )


def one_step(work: Work, batch: int = BATCH, holder: str = "") -> Settled:
    """A bounded piece of work: one batch of texts, some events of each reader.

    Who names a `holder` can wait for a language model: it is asked once nothing else is to be done.
    """
    embedded, trouble, hopeless = 0, "", False
    if work.embedder is not None:
        try:
            adopt(work.store, work.embedder)
            embedded = embed_waiting(work.store, work.embedder, batch) or embed_chunks(
                work.store, work.embedder, max(1, batch // COSTLY)
            )
        except NO_VECTOR as err:
            trouble = str(err)
            hopeless = work.settings.offline and not isinstance(err, EmbedderUnavailable)
    work = work._replace(trouble=trouble, hopeless=hopeless)
    read = [(reader, follow(work, reader)) for reader in READERS]
    done = Settled(
        embedded,
        sum(r.added for reader, r in read if reader in LEARNERS),
        sum(r.events for _, r in read),
        sum(r.failed for _, r in read),
        len(work.store.waiting(1, model_of(work.embedder))),
        trouble,
    )
    done = (
        done
        if done
        else done._replace(mirrored=mirror_sync.follow(work) + shared_files.follow(work))
    )
    if done or not holder:
        return done
    anchor_reader.look_out(
        work, holder, lambda: work.store.acquire(LEASE, holder, LEASE_SECONDS, clock.now())
    )
    more = ask(work, holder)
    return done.then(more)._replace(waiting=done.waiting, trouble=trouble or more.trouble)
