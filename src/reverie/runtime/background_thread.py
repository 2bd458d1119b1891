"""The background thread of a mind: it writes turns to the event log, prepares the next injection
block of each conversation, and settles in between.

Always true: handing over a turn never waits, and the queue is bounded. What is queued is written at
the end of the last companion, of the mind and of the process. A turn that cannot be written is
replaced by a `failed` event and the next one goes on; a store that is busy or full is tried again.

If it were not so, `trouble` (shown by `reverie status`) would say why, and `behind` would grow.
"""

from __future__ import annotations

import atexit
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from reverie.consolidation.scheduled_sleep import sleep_if_due
from reverie.consolidation.sleep_schedule import MIN_QUIET_SECONDS
from reverie.context_window import EMPTY_BLOCK, Block, render_block
from reverie.context_window.injection_history import FRESH_SECONDS, replaces_waiting_block
from reverie.core import clock, config
from reverie.core.config import Settings
from reverie.core.errors import BadInput, StoreBusy, StoreDamaged, StoreFull, StoreReadOnly
from reverie.core.model import Event, Hit
from reverie.embedding import Embedder
from reverie.extraction.knowledge_gaps import detect_knowledge_gap
from reverie.injection.conversation_state import (
    ConversationState,
    ConversationTurn,
    read_written_messages,
    withdraw_block,
)
from reverie.injection.due_reminders import (
    claim_reminders,
    is_last_speaker,
    load_due_reminders,
    release_reminders,
)
from reverie.injection.first_turn import InjectionTurn
from reverie.injection.prepare_block import PreparedBlock, prepare_injection
from reverie.mirror.mirror_sync import follow_store
from reverie.pipeline.event_reader import WorkContext
from reverie.pipeline.leases import SETTLE_LEASE, SETTLE_LEASE_SECONDS
from reverie.porting import shared_files
from reverie.runtime.llm_thread import LlmThread
from reverie.runtime.settle import build_event_queue, run_settle_step
from reverie.runtime.turn_writing import record_prepared_block, write_turns
from reverie.storage import Store
from reverie.transcripts.passage_hits import find_memories_or_passages

if TYPE_CHECKING:
    from reverie.llm.language_model import LanguageModel

# Beyond it a turn is dropped and counted: memory must not eat the memory of its agent.
MAX_QUEUED_TURNS = 16_384
# Turns written in one transaction; others can write in between.
WRITE_BATCH = 512
# Texts embedded at once. A turn that comes meanwhile waits for these, so it is a small batch.
EMBED_BATCH = 8
# Until a turn that could not be dealt with is tried again.
TURN_RETRY_SECONDS = 0.5
# Without a turn, until the embedding model is unloaded; loading it again takes the next turn's
# preparation a moment, which nobody waits for.
UNLOAD_SECONDS = 15 * 60.0
# Between attempts to settle while another process does, or after trouble.
SETTLE_RETRY_SECONDS = 15.0
# That the end of the process waits for a preparation to end.
EXIT_SECONDS = 5.0
WAIT_STEP_SECONDS = 0.002

# Trouble of the store, not of the turn: the turn stays in the queue.
RETRYABLE_ERRORS = (StoreBusy, StoreFull, StoreReadOnly, StoreDamaged)


class BackgroundMember(Protocol):
    """A companion, as its background thread knows it."""

    conversation: ConversationState
    closed: bool


class BackgroundThread:
    """The one thread of a mind that writes turns, prepares blocks and settles."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        settings: Settings,
        now: Callable[[], float],
        llm: LanguageModel | None = None,
        since: float | None = None,
    ) -> None:
        self.store, self.settings, self.llm = store, settings, llm
        self.trouble = ""
        self._embedder, self._now = embedder, now
        self._llm_thread = LlmThread()
        self._holder = clock.new_id("settler")
        self._queue: deque[ConversationTurn] = deque()
        self._wakeup = threading.Semaphore(0)
        self._companions: set[BackgroundMember] = set()
        self._thread: threading.Thread | None = None
        self._lifecycle_lock = threading.Lock()  # one caller starts or ends the thread at a time
        self._write_lock = threading.Lock()  # one thread writes turns at a time
        self._stop = threading.Event()  # each run of the thread has its own
        self._at_exit: Callable[[], None] | None = None
        # Memories withdrawn since the present preparation began; the lock is held for an instant.
        self._withdrawn_lock = threading.Lock()
        self._withdrawn: frozenset[str] = frozenset()
        # Modification time of config.toml when it was read last.
        self._config = config.config_modified_at(settings) if since is None else since
        self._unprepared: dict[ConversationState, float] = {}
        self._retry_at = 0.0

    # Called by companions, in the caller's thread

    def enqueue(self, turn: ConversationTurn) -> bool:
        """Hand over a turn; False when the queue is full. Never waits."""
        if len(self._queue) >= MAX_QUEUED_TURNS:
            return False
        # Append first: the thread looks into the queue once it wakes up.
        self._queue.append(turn)
        self._wakeup.release()
        return True

    @property
    def behind(self) -> int:
        """The number of turns handed over and not yet written and prepared for."""
        return len(self._queue) + len(self._unprepared)

    def is_off(self, conversation: ConversationState) -> bool:
        """True if nothing of the conversation may be written, prepared or injected."""
        return conversation.is_off or self.settings.is_off(
            conversation.space, conversation.attention.session
        )

    def switch_memory(self, conversation: ConversationState, *, on: bool) -> None:
        """Switch memory on or off in one conversation.

        Kept in config.toml if the store is the one that the settings name; else for this mind only.
        """
        conversation.is_off = not on
        session, is_kept = conversation.attention.session, self.store.url == self.settings.url
        self.settings = config.switch_session(
            self.settings,
            session,
            on=on,
            kept=is_kept,
        )

    def add_companion(self, companion: BackgroundMember) -> None:
        """Register a conversation; the first one starts the thread."""
        with self._lifecycle_lock:
            self._companions.add(companion)
            if self._thread is not None:
                return
            self._stop = threading.Event()
            self._thread = threading.Thread(
                target=self._run,
                args=(self._stop,),
                name="reverie",
                daemon=True,
            )
            self._thread.start()
            self._at_exit = make_exit_flush(self)
            atexit.register(self._at_exit)

    def remove_companion(self, companion: BackgroundMember) -> None:
        """Unregister a conversation; with the last one the thread writes what is
        queued and ends.
        """
        with self._lifecycle_lock:
            self._companions.discard(companion)
            if not self._companions:
                self._end_thread()

    def stop(self, patience: float | None = None) -> None:
        """Close all companions and end the thread. Waits `patience` seconds for it,
        None: forever.
        """
        with self._lifecycle_lock:
            for companion in self._companions:
                companion.closed = True
            self._companions.clear()
            self._end_thread(patience)

    def _end_thread(self, patience: float | None = None) -> None:
        """Let the thread finish what is queued. The thread never takes the lock held here."""
        if self._thread is not None:
            self._stop.set()
            if self.llm is not None:
                # Breaks off the request under way: no block is wanted any more, and reading with
                # the model can wait for another process.
                self.llm.close()
            self._wakeup.release()
            self._thread.join(patience)
            self._thread = None
            if self._at_exit is not None:
                atexit.unregister(self._at_exit)
                self._at_exit = None
        self._llm_thread.join(EXIT_SECONDS)
        # What was handed over meanwhile, or the thread had no time for.
        self._keep_trouble(self._write_down)

    def withdraw(self, ids: Iterable[str]) -> None:
        """Drop every waiting block, and the one being prepared, that holds one of
        these memories.
        """
        withdrawn = frozenset(ids)
        with self._withdrawn_lock:
            self._withdrawn |= withdrawn
        for companion in list(self._companions):
            withdraw_block(companion.conversation, withdrawn)

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is left to write or prepare; False if that takes longer."""
        end = clock.ticks() + seconds
        while self.behind and clock.ticks() < end:
            clock.sleep(WAIT_STEP_SECONDS)
        return not self.behind

    # In the thread

    def _run(self, stop: threading.Event) -> None:
        self._keep_trouble(self._sync_files)
        last_turn_at = clock.ticks()
        sleep_check_at = last_turn_at + MIN_QUIET_SECONDS
        while not stop.is_set():
            patience = TURN_RETRY_SECONDS if self.behind else SETTLE_RETRY_SECONDS
            if self._wakeup.acquire(timeout=patience):
                last_turn_at = clock.ticks()
            else:
                self._keep_trouble(self.prepare_due_reminders)
                is_unused = clock.ticks() - last_turn_at > UNLOAD_SECONDS
                if self._embedder is not None and is_unused:
                    # The next turn loads it again.
                    self._embedder.close()
                    last_turn_at = clock.ticks()
                elif not self.behind and clock.ticks() > sleep_check_at:
                    sleep_check_at = clock.ticks() + MIN_QUIET_SECONDS
                    self._keep_trouble(lambda: self._sleep_awhile(stop))
            # One look at the queue answers all who have called meanwhile.
            while self._wakeup.acquire(blocking=False):
                pass
            self._keep_trouble(lambda: self._process_queue(stop))
        self._keep_trouble(self._write_down)
        # At once, so that another process need not wait until the lease is over.
        self._keep_trouble(lambda: self.store.release(SETTLE_LEASE, self._holder))

    @property
    def _judge(self) -> LanguageModel | None:
        """The model that judges what may surface; None where it is too slow for a turn."""
        return self.llm if self.llm is not None and self.llm.is_quick else None

    def _work(self, llm: LanguageModel | None = None) -> WorkContext:
        return WorkContext(
            self.store,
            self._embedder,
            self.settings,
            self._now(),
            llm,
        )

    def _sync_files(self) -> None:
        """Take in what people wrote into the mirror and shared files, before the first turn."""
        for sync in (follow_store, shared_files.sync_shares):
            sync(self._work())

    def _sleep_awhile(self, stop: threading.Event) -> None:
        """Consolidate if it is due; a turn that comes ends it."""

        def may_continue() -> bool:
            return not (self.behind or stop.is_set())

        report = sleep_if_due(
            self._work(), self._holder, self._now, may_continue, build_event_queue()
        )
        if report:
            self.withdraw(report.retired)

    def prepare_due_reminders(self) -> None:
        """Put reminders that came due since the last turn into each conversation's waiting block.

        A block that waited for so long that it would not be given any more is prepared afresh.
        """
        now = self._now()
        for conversation in [companion.conversation for companion in list(self._companions)]:
            waiting = next(iter(conversation.slot), EMPTY_BLOCK)
            is_fresh = 0 <= now - waiting.prepared_at < FRESH_SECONDS - 2 * SETTLE_RETRY_SECONDS
            if self.is_off(conversation) or (is_fresh and waiting.due):
                continue
            due = self._claim_due(conversation, now)
            if not due:
                continue
            limit, budget = self.settings.limit, self.settings.budget
            block = render_block((), now, limit=limit, budget=budget, due=due)
            self._offer_block(conversation, block, now, {}, beside=True)

    def _claim_due(self, conversation: ConversationState, now: float) -> list[Hit]:
        """The reminders due in a conversation, claimed for it.

        None of them if another conversation of the space spoke last: the user is there.
        """
        space = conversation.space
        window = tuple(conversation.window)
        found = load_due_reminders(self.store, self.settings, space, now, window)
        if not found or not is_last_speaker(self.store, space, conversation.attention.session):
            return []
        return claim_reminders(self.store, found, conversation.holder, now)

    def _keep_trouble(self, work: Callable[[], object]) -> None:
        """Do some work; an error is kept for `status`, and the thread goes on."""
        try:
            work()
        # A thread that dies would lose every later turn without a word.
        except Exception as err:
            self.trouble = f"{type(err).__name__}: {err}"
            self._retry_at = clock.ticks() + SETTLE_RETRY_SECONDS

    def _process_queue(self, stop: threading.Event) -> None:
        """Write turns, prepare for the newest ones, and settle in steps until the next turn."""
        self._write_down()
        while self._unprepared and not stop.is_set():
            self._prepare_one()
            self._write_down()
        while not self._queue and not stop.is_set() and clock.ticks() >= self._retry_at:
            if not self._settle_step():
                self._llm_thread.begin(
                    self._work(self.llm), self._holder, self._keep_trouble, self.withdraw_retired
                )
                break

    def _settle_step(self) -> bool:
        """Settle one step if no other process holds the lease; True if there may be more to do."""
        if not self.store.acquire(
            SETTLE_LEASE,
            self._holder,
            SETTLE_LEASE_SECONDS,
            self._now(),
        ):
            return False
        step = run_settle_step(self._work(), EMBED_BATCH)
        self.trouble = step.trouble or self._llm_thread.trouble
        if step.trouble:
            self._retry_at = clock.ticks() + SETTLE_RETRY_SECONDS
        if step.events:
            self.withdraw_retired()
        if not step:
            self.store.release(SETTLE_LEASE, self._holder)
        return bool(step)

    def withdraw_retired(self) -> None:
        """Remove memories that were retired while settling from the blocks that wait."""
        slots = [companion.conversation.slot for companion in list(self._companions)]
        blocks = [block for slot in slots for block in list(slot)]
        waiting = {id for block in blocks for id in block.ids}
        there = find_memories_or_passages(self.store, sorted(waiting))
        active = {memory.id for memory in there if memory.active}
        if retired := waiting - active:
            self.withdraw(retired)

    def _write_down(self) -> None:
        """Write every queued turn as an event, and note which conversations to prepare for."""
        with self._write_lock:
            self._reload_settings()
            while self._queue:
                # Not taken off the queue before they are written, and the queue may grow meanwhile.
                batch = [self._queue[i] for i in range(min(WRITE_BATCH, len(self._queue)))]
                try:
                    events = self._write_batch(batch)
                except RETRYABLE_ERRORS:
                    raise
                # One of them cannot be written: find out which.
                except Exception:
                    for turn in batch:
                        self._dequeue_written([turn], [self._write_single(turn)])
                else:
                    self._dequeue_written(batch, events)

    def _write_batch(self, turns: Sequence[ConversationTurn]) -> list[Event | None]:
        off = {id(turn) for turn in turns if self.is_off(turn.session)}
        return write_turns(self.store, turns, off, self.settings)

    def _write_single(self, turn: ConversationTurn) -> Event | None:
        """The event of one turn, written without its reminders if these are the trouble.

        A turn that cannot be written at all leaves a `failed` event, and None.
        """
        try:
            return self._write_batch([turn])[0]
        except RETRYABLE_ERRORS:
            raise
        except Exception as err:
            self.trouble = f"{type(err).__name__}: {err}"
            lost = (
                "a reminder that was given could not be marked as given"
                if turn.given_reminders
                else "a turn was lost"
            )
            payload = {"error": f"{type(err).__name__}: {lost}"}
            space, session = turn.session.space, turn.session.attention.session
            self.store.append([Event("failed", space, self._now(), session, payload)])
            if not turn.given_reminders:
                return None
            return self._write_single(replace(turn, given_reminders=()))

    def _dequeue_written(
        self, turns: Sequence[ConversationTurn], events: Sequence[Event | None]
    ) -> None:
        """Take written turns off the queue; only now, so that a failed write is tried again."""
        for turn, event in zip(turns, events, strict=True):
            if event is not None:
                self._update_conversation(turn, event)
            self._queue.popleft()

    def _reload_settings(self) -> None:
        """Take over what another process has switched on or off since."""
        modified_at = config.config_modified_at(self.settings)
        if modified_at == self._config:
            return
        self._config = modified_at
        try:
            self.settings = config.reload_switches(self.settings)
        except BadInput as err:
            # Somebody is editing it by hand: what was chosen before holds.
            self.trouble = str(err)

    def _update_conversation(self, turn: ConversationTurn, event: Event) -> None:
        """Bring a conversation's state up to a turn, from the redacted messages of its event."""
        if turn.is_end:
            return
        conversation = turn.session
        attention = conversation.attention
        attention.count_turn()
        if turn.given_ids:
            attention.mark_injected(turn.given_ids, turn.at)
        attention.mark_dropped(turn.dropped_block)
        if any(message.role == "user" for message in turn.messages):
            attention.note_user_words()
        conversation.window.extend(read_written_messages(turn, event, self.settings.policy))
        self._unprepared[conversation] = turn.at

    def _prepare_one(self) -> None:
        """Prepare the block for one conversation's next turn."""
        conversation, at = next(iter(self._unprepared.items()))
        if self.is_off(conversation):
            del self._unprepared[conversation]
            return
        # From here on withdrawals concern the block that is being made.
        with self._withdrawn_lock:
            self._withdrawn = frozenset()
        while conversation.withdrawn:
            conversation.attention.mark_dropped(conversation.withdrawn.popleft())
        try:
            space = conversation.space
            window = tuple(conversation.window)
            found = load_due_reminders(self.store, self.settings, space, at, window)
            due = claim_reminders(self.store, found, conversation.holder, at)
            made = prepare_injection(
                self.store,
                self._embedder,
                self.settings,
                InjectionTurn(conversation.attention, space, at, due),
                window,
                conversation.embedded,
                self._judge,
            )
            conversation.embedded = made.embedded
            # There was no room for these: another conversation may give them.
            unused = [hit.memory for hit in due if hit.memory not in made.block.due]
            release_reminders(self.store, unused, conversation.holder)
            if made.block:
                # Where nothing was searched for, the block that waits is still the answer.
                is_beside = made.query is None
                self._offer_block(conversation, made.block, at, made.judged, beside=is_beside)
            else:
                self._record_nothing_found(conversation, at, made)
        # Also after trouble: one context that cannot be prepared must not hold up the others.
        finally:
            del self._unprepared[conversation]

    def _offer_block(
        self,
        conversation: ConversationState,
        block: Block,
        at: float,
        judged: Mapping[str, object],
        *,
        beside: bool = False,
    ) -> None:
        """Put a block where the next turn finds it, unless a fresh one with the same content waits;
        `beside`: together with the fresh one that waits.

        The slot belongs to the caller's thread too, which may empty it at any moment.
        """
        try:
            waiting = conversation.slot.pop()
        except IndexError:
            waiting = EMPTY_BLOCK
        if beside and 0 <= at - waiting.prepared_at < FRESH_SECONDS - 2 * SETTLE_RETRY_SECONDS:
            block = self._join_blocks(block, waiting, at)
        elif not replaces_waiting_block(block, waiting, at):
            conversation.slot.append(waiting)
            return
        # What waited was never shown, so it may come up again.
        conversation.attention.mark_dropped(waiting)
        conversation.attention.mark_prepared(block, at)
        conversation.slot.append(block)
        # After the append: a withdrawal from here on finds the block in the slot.
        if self._withdrawn and withdraw_block(conversation, self._withdrawn):
            return
        record_prepared_block(self.store, conversation, block, at, judged)

    def _join_blocks(self, newer: Block, waiting: Block, at: float) -> Block:
        """One block of both, what is newer first."""
        hits = {
            memory.id: Hit(memory, 0.0, why)
            for block in (waiting, newer)
            for memory, why in zip(block.memories, block.why, strict=True)
        }
        due = [hits.pop(one.id) for one in (*newer.due, *waiting.due) if one.id in hits]
        first = [hits.pop(id) for id in newer.ids if id in hits]
        return render_block(
            [*first, *hits.values()],
            at,
            limit=self.settings.limit,
            budget=self.settings.budget,
            due=due,
        )

    def _record_nothing_found(
        self,
        conversation: ConversationState,
        at: float,
        made: PreparedBlock,
    ) -> None:
        """Record what the judge said or what is withheld, and a question that memory could not
        answer.
        """
        if made.judged or made.block.withheld:
            record_prepared_block(self.store, conversation, made.block, at, made.judged)
        if made.block.withheld:
            return
        if made.query is None or (self._judge is not None and not made.judged):
            # Nobody has looked, so nothing is known to be missing.
            return
        gap = detect_knowledge_gap(
            self.store,
            self.settings,
            conversation.attention.session,
            conversation.space,
            made.query,
            tuple(conversation.window),
        )
        if gap:
            self.store.append([gap])


def make_exit_flush(background: BackgroundThread) -> Callable[[], None]:
    """A function for `atexit`, so that a script which never closes anything loses no turn."""
    # The registration must not keep the mind alive.
    reference = weakref.ref(background)

    def flush() -> None:
        if (existing := reference()) is not None:
            existing.stop(EXIT_SECONDS)

    return flush
