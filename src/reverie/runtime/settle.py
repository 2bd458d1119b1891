"""Settling: texts get vectors, events are learned from, memories are reconciled.

Always true: nothing here runs in a caller's path. The companion calls it from its thread, a
detached worker does for other processes, scripts and tests call it directly. Between processes a
lease says who settles; everybody may read and append meanwhile. Each of the READERS looks at every
event that concerns it, in order, with a cursor of its own.

An event that a reader fails on is recorded as `failed` and the cursor moves on. A missing model is
no failure: texts go on waiting for their vectors, and search by words finds them.
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
    memory_uses,
    multi_turn_lessons,
    retrieval_feedback,
    said_again,
    session_episodes,
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
from reverie.pipeline.model_change import note_embedded
from reverie.pipeline.pending_vectors import (
    EMBEDDING_BATCH,
    NO_VECTOR_ERRORS,
    adopt_embedder,
    embed_pending,
    embedding_model_of,
)
from reverie.porting import shared_files
from reverie.reconciliation import doubts, reconcile_reader, stated_dependencies
from reverie.storage import Store
from reverie.transcripts.transcript_indexing import (
    embed_passages,
    has_unread_conversations,
    index_conversations,
)

# Held by the process that asks the language model, so that the others need not wait for it.
LLM_LEASE = "settle:model"
# An event may need several answers, of a minute each.
LLM_LEASE_SECONDS = 300.0
# Texts of memories that take as long to embed as one chunk of a file.
TEXTS_PER_CHUNK = 4
LLM_EVENTS_PER_STEP = 20
# How long to wait for another settler that makes no headway: two leases, so that one that died is
# over and its successor has had a chance.
STANDSTILL_SECONDS = 60.0
STANDSTILL_CHECK_SECONDS = 0.05

READERS: tuple[EventReader, ...] = (
    working_memory_reader.READER,
    turn_learning.READER,
    multi_turn_lessons.READER,
    said_again.READER,
    episode_reader.READER,
    remedy_reader.READER,
    session_episodes.END_READER,
    session_episodes.SILENCE_READER,
    reconcile_reader.READER,
    retrieval_feedback.READER,
    memory_uses.READER,
    anchor_reader.READER,
    stated_dependencies.READER,
    doubts.READER,
)
"""The readers of the event log. In this order, what is learned is reconciled in the same step."""

# Whose new memories count as learned; the others link, retire or mark what is there.
LEARNERS = (
    turn_learning.READER,
    multi_turn_lessons.READER,
    said_again.READER,
    episode_reader.READER,
    remedy_reader.READER,
)

SettleProgress = Callable[[str, int, int | None], None]  # stage, done, total


def ignore_progress(
    _stage: str,
    _done: int,
    _total: int | None,
) -> None:
    """A progress callback that does nothing."""


class SettleReport(NamedTuple):
    """What one call of `settle` did."""

    embedded: int = 0
    learned: int = 0  # memories extracted from events
    events: int = 0  # events that were read, counted once for each reader
    failed: int = 0  # events that could not be read
    waiting: int = 0  # texts that still have no vector
    trouble: str = ""  # why the embedder or the language model did not answer
    mirrored: int = 0  # lines by people taken in from the Markdown mirror

    def plus(self, step: SettleReport) -> SettleReport:
        """The sum with one more step; `trouble` is that of the last step that did or
        met anything.
        """
        # An empty last step must not wipe out why the one before it stopped.
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
        """True if anything was done."""
        return bool(self.embedded or self.events or self.mirrored)


def settle_all(
    work: Callable[[], WorkContext],
    holder: str,
    tell: SettleProgress = ignore_progress,
) -> SettleReport:
    """Embed, learn and reconcile until nothing waits; wait for another settler that makes headway.

    `work` gives the context of the moment. In the report, `trouble` says why something is left: no
    model answers, or another process holds the lease and stands still.
    """
    store = work().store
    done = SettleReport()
    others = ""
    total = count_waiting_texts(work()) + count_waiting_chunks(work())
    try:
        while True:
            if store.acquire(SETTLE_LEASE, holder, SETTLE_LEASE_SECONDS, work().now):
                # Asked for anew each time: settings and the clock move on while this runs.
                step = run_settle_step(work(), holder=holder)
                done = done.plus(step)
                # Texts may arrive while this runs, so the total can grow.
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
    """Wait for another settler: True once it has gone, False if nothing is left to do or it stands
    still.
    """
    last = measure_headway(work())
    last_moved_at = clock.ticks()
    while work().store.holder(SETTLE_LEASE, work().now) is not None:
        if not has_work_left(work()):
            return False
        present = measure_headway(work())
        if present != last:
            last = present
            last_moved_at = clock.ticks()
        if clock.ticks() - last_moved_at > STANDSTILL_SECONDS:
            return False
        tell("another process is settling; texts left", present[0], None)
        clock.sleep(STANDSTILL_CHECK_SECONDS)
    return True


def measure_headway(work: WorkContext) -> tuple[int, ...]:
    """The numbers that move while somebody settles: waiting texts, newest event, all cursors."""
    cursors = [work.store.cursor(reader.name) for reader in READERS]
    return (count_waiting_texts(work), work.store.last_event(), *cursors)


def describe_standstill(work: WorkContext, lease: str) -> str:
    """A sentence that names the holder of the lease, if it leaves work undone; else empty."""
    other = work.store.holder(lease, work.now)
    if not other or not has_work_left(work):
        return ""
    return f"Not everything is settled yet: {other} is at it. Try again later"


def count_waiting_texts(work: WorkContext) -> int:
    """The number of texts that have no vector of the present model yet."""
    return work.store.stats(embedding_model_of(work.embedder)).waiting


def record_trouble(store: Store, trouble: str) -> None:
    """Keep the last trouble for `reverie status`; an empty text clears it."""
    # Where nothing can be written, the report has it all the same.
    with suppress(ReverieError):
        if trouble:
            first_line = trouble.splitlines()[0]
            store.set_meta(
                "trouble",
                json.dumps({"at": clock.now(), "text": first_line}),
            )
        elif store.meta("trouble"):
            store.set_meta("trouble", "")


def has_work_left(work: WorkContext) -> bool:
    """True if a text waits for its vector, or an event, page or shared file to be read."""
    return (
        any(has_ready_event(work, reader) for reader in READERS)
        or has_unread_conversations(work.store, work.settings)
        or has_llm_work(work)
        or mirror_sync.has_mirror_work(work)
        or shared_files.has_share_work(work)
        or bool(work.embedder and work.store.unembedded_texts(1, embedding_model_of(work.embedder)))
    )


def build_event_queue() -> EventQueue:
    """The readers, and whether anything waits for them, as consolidation needs them."""
    # Handed over, because consolidation may not import what stands above it.
    return EventQueue(READERS, has_work_left)


def load_llm_readers() -> tuple[EventReader, ...]:
    """The readers that need a language model: a few events a step, when nothing else is left.

    Imported only where there is a model, because every command waits for its imports.
    """
    from reverie.extraction import gap_answers, model_extraction
    from reverie.reconciliation import model_weighing

    return (
        model_extraction.READER,
        model_extraction.SILENCE_READER,
        gap_answers.READER,
        model_weighing.READER,
    )


def has_llm_work(work: WorkContext) -> bool:
    """True if an event waits for a language model that may be asked now."""
    if work.llm is None:
        return False
    return any(has_ready_event(work, reader) for reader in load_llm_readers())


def run_llm_step(work: WorkContext, holder: str) -> SettleReport:
    """Read some events with the language model, if there is one and nobody else is at it.

    This may take minutes. It has a lease of its own, so that whoever settles need not wait for it.
    """
    if not has_llm_work(work):
        return SettleReport()
    if not work.store.acquire(LLM_LEASE, holder, LLM_LEASE_SECONDS, work.now):
        return SettleReport()
    try:
        results = {
            reader.name: run_reader(work, reader, LLM_EVENTS_PER_STEP)
            for reader in load_llm_readers()
        }
    finally:
        work.store.release(LLM_LEASE, holder)
    reasons = [result.stop_reason for result in results.values() if result.stop_reason]
    return SettleReport(
        learned=sum(results[name].added for name in ("extract", "extract:silence", "answer")),
        events=sum(result.events for result in results.values()),
        failed=sum(result.failed for result in results.values()),
        # The readers ask the same model, so one reason says it for all.
        trouble=reasons[0] if reasons else "",
    )


def run_settle_step(
    work: WorkContext,
    batch: int = EMBEDDING_BATCH,
    holder: str = "",
) -> SettleReport:
    """Do a bounded piece of work: one batch of texts, some events of each reader.

    With a `holder` the language model is asked too, once nothing else is left; that may take long.
    """
    embedded, trouble, is_hopeless = 0, "", False
    if work.embedder is not None:
        try:
            adopt_embedder(work.store, work.embedder)
            embedded = (
                embed_pending(work.store, work.embedder, batch)
                or embed_passages(work.store, work.embedder, batch)
                or embed_chunks(work.store, work.embedder, max(1, batch // TEXTS_PER_CHUNK))
            )
            note_embedded(work.store, work.embedder)
        except NO_VECTOR_ERRORS as err:
            trouble = str(err)
            # Offline, a model that is not in the cache will not come: nobody need wait for it.
            is_hopeless = work.settings.offline and not isinstance(err, EmbedderUnavailable)
    work = work._replace(embedder_error=trouble, embedder_unavailable=is_hopeless)
    results = [(reader, run_reader(work, reader)) for reader in READERS]
    indexed = index_conversations(work)
    done = SettleReport(
        embedded=embedded,
        learned=sum(result.added for reader, result in results if reader in LEARNERS),
        events=sum(result.events for _, result in results) + indexed,
        failed=sum(result.failed for _, result in results),
        waiting=len(work.store.unembedded_texts(1, embedding_model_of(work.embedder))),
        trouble=trouble,
    )
    if not done:
        mirrored = mirror_sync.follow_store(work) + shared_files.sync_shares(work)
        done = done._replace(mirrored=mirrored)
    # Anchors and the model are slow, so they wait until nothing else is left.
    if done or not holder:
        return done

    def renew_lease() -> bool:
        return work.store.acquire(SETTLE_LEASE, holder, SETTLE_LEASE_SECONDS, clock.now())

    anchor_reader.check_anchors_if_due(work, holder, renew_lease)
    doubts.check_grounds_if_due(work)
    llm_step = run_llm_step(work, holder)
    return done.plus(llm_step)._replace(
        waiting=done.waiting,
        trouble=trouble or llm_step.trouble,
    )
