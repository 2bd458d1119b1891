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
from reverie.notes.note_vectors import count_waiting_chunks, embed_chunks
from reverie.pipeline.event_reader import (
    EventQueue,
    EventReader,
    WorkContext,
    has_ready_event,
    run_reader,
)
from reverie.pipeline.leases import SETTLE_LEASE, SETTLE_LEASE_SECONDS
from reverie.pipeline.pending_vectors import (
    EMBEDDING_BATCH,
    NO_VECTOR_ERRORS,
    adopt_embedder,
    embed_pending,
    embedding_model_of,
)
from reverie.porting import shared_files
from reverie.reconciliation import reconcile_reader
from reverie.storage import Store

LLM_LEASE = "settle:model"  # the lease of who asks the language model
LLM_LEASE_SECONDS = 300.0  # an event may need several answers of a minute
TEXTS_PER_CHUNK = 4  # texts of memories that take as long to embed as one chunk of a file
LLM_EVENTS_PER_STEP = 20  # events that are read with it in one step; few of them are due
# seconds that `settled` waits for another settler that makes no headway: two leases
STANDSTILL_SECONDS = 60.0

READERS: tuple[EventReader, ...] = (
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

SettleProgress = Callable[[str, int, int | None], None]  # stage, done, of how many


def ignore_progress(_stage: str, _done: int, _total: int | None) -> None:
    """Nobody wants to know how far it is."""


class SettleReport(NamedTuple):
    """What one call of `settle` did."""

    embedded: int = 0
    learned: int = 0  # memories that came out of events
    events: int = 0  # events that were read, once for each reader
    failed: int = 0  # events that could not be
    waiting: int = 0  # texts that still have no vector
    trouble: str = ""  # why, if the embedder or the language model did not answer
    mirrored: int = 0  # lines of people that were taken in from the Markdown mirror

    def plus(self, step: SettleReport) -> SettleReport:
        """This and one more step; the trouble of the last one that did anything, or met some."""
        trouble = step.trouble if step or step.trouble else self.trouble
        return SettleReport(
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


def settle_all(
    work: Callable[[], WorkContext], holder: str, tell: SettleProgress = ignore_progress
) -> SettleReport:
    """Embed, learn and reconcile until nothing waits. Somebody else who is at it is waited for
    while they get on.

    `work` gives what is worked with at this moment. `trouble` says why something is left: no model
    answers, or who is at it and stands still.
    """
    store, done, others, total = (
        work().store,
        SettleReport(),
        "",
        count_waiting_texts(work()) + count_waiting_chunks(work()),
    )
    try:
        while True:
            if store.acquire(SETTLE_LEASE, holder, SETTLE_LEASE_SECONDS, work().now):
                step = run_settle_step(work(), holder=holder)
                done = done.plus(step)
                total = max(total, done.embedded)
                tell("settling", done.embedded + done.events, None if done.events else total)
                if not step:
                    others = "" if step.trouble else describe_standstill(work(), LLM_LEASE)
                    break
            elif not wait_for_other_settler(work, tell):
                others = describe_standstill(work(), SETTLE_LEASE)
                break
    finally:
        store.release(SETTLE_LEASE, holder)
    record_trouble(store, done.trouble)
    return done._replace(waiting=count_waiting_texts(work()), trouble=done.trouble or others)


def wait_for_other_settler(work: Callable[[], WorkContext], tell: SettleProgress) -> bool:
    """Wait for another settler; False once nothing is left to do or it stands still, True when it
    has gone.
    """
    last, since = measure_headway(work()), clock.ticks()
    while work().store.holder(SETTLE_LEASE, work().now) is not None:
        if not has_work_left(work()):
            return False
        now = measure_headway(work())
        if now != last:
            last, since = now, clock.ticks()
        if clock.ticks() - since > STANDSTILL_SECONDS:
            return False
        tell("another process is settling; texts left", now[0], None)
        clock.sleep(0.05)
    return True


def measure_headway(work: WorkContext) -> tuple[int, ...]:
    """What moves while somebody settles: texts that wait, the newest event, where each reader
    stands.
    """
    return (
        count_waiting_texts(work),
        work.store.last_event(),
        *(work.store.cursor(reader.name) for reader in READERS),
    )


def describe_standstill(work: WorkContext, lease: str) -> str:
    """Who is at what is left to do; empty where nothing is left, or nobody is at it."""
    other = work.store.holder(lease, work.now)
    return (
        f"Not everything is settled yet: {other} is at it. Try again later"
        if other and has_work_left(work)
        else ""
    )


def count_waiting_texts(work: WorkContext) -> int:
    """How many texts have no vector of our model yet."""
    return work.store.stats(embedding_model_of(work.embedder)).waiting


def record_trouble(store: Store, trouble: str) -> None:
    """Keep what went wrong last, for `reverie status`; an empty trouble wipes the last one."""
    with suppress(ReverieError):
        if trouble or store.meta("trouble"):
            first = trouble.splitlines()[0] if trouble else ""
            store.set_meta(
                "trouble", json.dumps({"at": clock.now(), "text": first}) if trouble else ""
            )


def has_work_left(work: WorkContext) -> bool:
    """Whether a text waits for a vector or an event to be read."""
    return (
        any(has_ready_event(work, reader) for reader in READERS)
        or has_llm_work(work)
        or mirror_sync.has_mirror_work(work)
        or shared_files.has_share_work(work)
        or bool(work.embedder and work.store.unembedded_texts(1, embedding_model_of(work.embedder)))
    )


def build_event_queue() -> EventQueue:
    """The readers and whether anything waits for them: what a run of sleep is handed."""
    return EventQueue(READERS, has_work_left)


def load_llm_readers() -> tuple[EventReader, ...]:
    """Who follows the event log with a language model, a few events a step, when nothing else is to
    be done.

    Loaded where there is a model only: a command that recalls waits for every import.
    """
    from reverie.extraction import gap_answers, model_extraction
    from reverie.reconciliation import model_weighing

    return (model_extraction.READER, gap_answers.READER, model_weighing.READER)


def has_llm_work(work: WorkContext) -> bool:
    """Whether an event waits for a language model that may be asked now."""
    return work.llm is not None and any(
        has_ready_event(work, reader) for reader in load_llm_readers()
    )


def run_llm_step(work: WorkContext, holder: str) -> SettleReport:
    """Read some events with the language model, if there is one and nobody else is at it.

    This may take minutes. It has a lease of its own, so that whoever settles need not wait for it.
    """
    if not has_llm_work(work) or not work.store.acquire(
        LLM_LEASE, holder, LLM_LEASE_SECONDS, work.now
    ):
        return SettleReport()
    try:
        read = {
            reader.name: run_reader(work, reader, LLM_EVENTS_PER_STEP)
            for reader in load_llm_readers()
        }
    finally:
        work.store.release(LLM_LEASE, holder)
    done = read.values()
    return SettleReport(
        0,
        read["extract"].added + read["answer"].added,
        sum(r.events for r in done),
        sum(r.failed for r in done),
        trouble=next((r.stop_reason for r in done if r.stop_reason), ""),
    )


def run_settle_step(
    work: WorkContext, batch: int = EMBEDDING_BATCH, holder: str = ""
) -> SettleReport:
    """A bounded piece of work: one batch of texts, some events of each reader.

    Who names a `holder` can wait for a language model: it is asked once nothing else is to be done.
    """
    embedded, trouble, hopeless = 0, "", False
    if work.embedder is not None:
        try:
            adopt_embedder(work.store, work.embedder)
            embedded = embed_pending(work.store, work.embedder, batch) or embed_chunks(
                work.store, work.embedder, max(1, batch // TEXTS_PER_CHUNK)
            )
        except NO_VECTOR_ERRORS as err:
            trouble = str(err)
            hopeless = work.settings.offline and not isinstance(err, EmbedderUnavailable)
    work = work._replace(embedder_error=trouble, embedder_unavailable=hopeless)
    read = [(reader, run_reader(work, reader)) for reader in READERS]
    done = SettleReport(
        embedded,
        sum(r.added for reader, r in read if reader in LEARNERS),
        sum(r.events for _, r in read),
        sum(r.failed for _, r in read),
        len(work.store.unembedded_texts(1, embedding_model_of(work.embedder))),
        trouble,
    )
    done = (
        done
        if done
        else done._replace(mirrored=mirror_sync.follow_store(work) + shared_files.sync_shares(work))
    )
    if done or not holder:
        return done
    anchor_reader.check_anchors_if_due(
        work,
        holder,
        lambda: work.store.acquire(SETTLE_LEASE, holder, SETTLE_LEASE_SECONDS, clock.now()),
    )
    more = run_llm_step(work, holder)
    return done.plus(more)._replace(waiting=done.waiting, trouble=trouble or more.trouble)
