"""The one thread of a mind: it writes down turns, prepares for the newest of each conversation,
settles in between.

Handing over a turn never waits. The queue is bounded; what is queued is written down at the end of
the last companion, of the mind, and of the process. A turn that cannot be written down is replaced
by a `failed` event and the next goes on; a store that is busy or full is tried again.
"""

from __future__ import annotations

import atexit
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from reverie.consolidation.scheduled_sleep import sleep_if_due
from reverie.consolidation.sleep_schedule import MIN_QUIET_SECONDS
from reverie.context_window import EMPTY_BLOCK, Block, render_block
from reverie.context_window.conversation_summary import record_episode
from reverie.context_window.evicted_excerpts import ExcerptTarget, store_evicted_parts
from reverie.context_window.injection_history import FRESH_SECONDS, replaces_waiting_block
from reverie.core import clock, config
from reverie.core.config import Settings
from reverie.core.errors import BadInput, StoreBusy, StoreDamaged, StoreFull, StoreReadOnly
from reverie.core.model import Event, Hit
from reverie.embedding import Embedder
from reverie.extraction.knowledge_gaps import detect_knowledge_gap
from reverie.extraction.retrieval_feedback import make_query_snippet
from reverie.injection.conversation_state import (
    ConversationState,
    ConversationTurn,
    read_written_messages,
    to_compact_event,
    to_turn_events,
    withdraw_block,
)
from reverie.injection.due_reminders import (
    claim_reminders,
    fire_reminders,
    is_last_speaker,
    load_due_reminders,
    release_reminders,
)
from reverie.injection.first_turn import InjectionTurn
from reverie.injection.prepare_block import PreparedBlock, find_focus, prepare_injection
from reverie.mirror.mirror_sync import follow_store
from reverie.pipeline.event_reader import WorkContext
from reverie.pipeline.leases import SETTLE_LEASE, SETTLE_LEASE_SECONDS
from reverie.porting import shared_files
from reverie.runtime.llm_thread import LlmThread
from reverie.runtime.settle import build_event_queue, run_settle_step
from reverie.storage import Store

if TYPE_CHECKING:
    from reverie.llm.language_model import LanguageModel

MAX_QUEUED_TURNS = 16_384  # turns that may wait to be written down
WRITE_BATCH = 512  # turns written down in one transaction
EMBED_BATCH = 8  # texts embedded at once here: a turn that comes meanwhile waits for these only
TURN_RETRY_SECONDS = 0.5  # seconds until a turn that could not be dealt with is tried again
# seconds without a turn after which the model leaves memory (CONSTANTS: idle unload)
UNLOAD_SECONDS = 15 * 60.0
SETTLE_RETRY_SECONDS = (
    15.0  # seconds between attempts to settle while another process does, or after trouble
)
EXIT_SECONDS = 5.0  # seconds that the end of the process waits for a preparation to end

RETRYABLE_ERRORS = (
    StoreBusy,
    StoreFull,
    StoreReadOnly,
    StoreDamaged,
)  # trouble that is not the turn's


class BackgroundMember(Protocol):
    """A companion, as its background knows it."""

    conversation: ConversationState
    closed: bool


class BackgroundThread:
    """The one thread of a mind that writes down, prepares and settles."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        settings: Settings,
        now: Callable[[], float],
        llm: LanguageModel | None = None,
        since: float | None = None,
    ) -> None:
        self.store, self.trouble = store, ""
        self._embedder, self.settings, self._now, self.llm = embedder, settings, now, llm
        self._llm_thread = LlmThread()
        self._holder = clock.new_id("settler")
        self._queue: deque[ConversationTurn] = deque()
        self._wakeup = threading.Semaphore(0)
        self._companions: set[BackgroundMember] = set()
        self._thread: threading.Thread | None = None
        self._lifecycle_lock = threading.Lock()  # one starts or ends the thread at a time
        self._write_lock = threading.Lock()  # one writes down at a time
        self._stop = threading.Event()  # of the present thread; each has its own
        self._at_exit: Callable[[], None] | None = None
        self._withdrawn_lock = threading.Lock()  # of `_gone`, held for an instant
        self._withdrawn: frozenset[str] = (
            frozenset()
        )  # withdrawn since the present preparation began
        # when config.toml was read last
        self._config = config.config_modified_at(settings) if since is None else since
        self._unprepared: dict[ConversationState, float] = {}
        self._retry_at = 0.0

    # Called by companions, in the caller's thread

    def enqueue(self, turn: ConversationTurn) -> bool:
        """Hand over a turn; False when the queue is full. Never waits."""
        if len(self._queue) >= MAX_QUEUED_TURNS:
            return False
        self._queue.append(turn)
        self._wakeup.release()
        return True

    @property
    def behind(self) -> int:
        """Turns handed over and not finished with."""
        return len(self._queue) + len(self._unprepared)

    def is_off(self, conversation: ConversationState) -> bool:
        """Whether nothing of a conversation is written down, prepared or given."""
        return conversation.is_off or self.settings.is_off(
            conversation.space, conversation.attention.session
        )

    def switch_memory(self, conversation: ConversationState, *, on: bool) -> None:
        """Switch memory on or off in one conversation: for good, where the store is that of a home
        with settings.
        """
        conversation.is_off, kept = not on, self.store.url == self.settings.url
        self.settings = config.switch_session(
            self.settings, conversation.attention.session, on=on, kept=kept
        )

    def add_companion(self, companion: BackgroundMember) -> None:
        """One more conversation; the first one starts the thread."""
        with self._lifecycle_lock:
            self._companions.add(companion)
            if self._thread is None:
                self._stop = threading.Event()
                self._thread = threading.Thread(
                    target=self._run, args=(self._stop,), name="reverie", daemon=True
                )
                self._thread.start()
                self._at_exit = make_exit_flush(self)
                atexit.register(self._at_exit)

    def remove_companion(self, companion: BackgroundMember) -> None:
        """One conversation fewer; with the last one the thread writes down what is
        queued and ends.
        """
        with self._lifecycle_lock:
            self._companions.discard(companion)
            if not self._companions:
                self._end_thread()

    def stop(self, patience: float | None = None) -> None:
        """End the thread, whoever is still there: their companions are closed. Waits so many
        seconds at most.
        """
        with self._lifecycle_lock:
            for companion in self._companions:
                companion.closed = True
            self._companions.clear()
            self._end_thread(patience)

    def _end_thread(self, patience: float | None = None) -> None:
        """Let the thread finish what is queued. It takes no lock that is held here."""
        if self._thread is not None:
            self._stop.set()
            if self.llm is not None:
                # what it is asked is broken off: no block is wanted, and reading can wait
                self.llm.close()
            self._wakeup.release()
            self._thread.join(patience)
            self._thread = None
            if self._at_exit is not None:
                atexit.unregister(self._at_exit)
                self._at_exit = None
        self._llm_thread.join(EXIT_SECONDS)
        # what was handed over meanwhile, or the thread had no time for
        self._keep_trouble(self._write_down)

    def withdraw(self, ids: Iterable[str]) -> None:
        """These count no longer: a block that waits, or is being prepared, is not given if it holds
        one of them.
        """
        gone = frozenset(ids)
        with self._withdrawn_lock:
            self._withdrawn |= gone
        for companion in list(self._companions):
            withdraw_block(companion.conversation, gone)

    def wait(self, seconds: float) -> bool:
        """Until there is nothing left to write down or prepare; False when that takes longer."""
        end = clock.ticks() + seconds
        while self.behind and clock.ticks() < end:
            clock.sleep(0.002)
        return not self.behind

    # In the thread

    def _run(self, stop: threading.Event) -> None:
        self._keep_trouble(self._sync_files)
        used = clock.ticks()
        look_at = used + MIN_QUIET_SECONDS  # when to see whether it is time to sleep
        while not stop.is_set():
            if self._wakeup.acquire(
                timeout=TURN_RETRY_SECONDS if self.behind else SETTLE_RETRY_SECONDS
            ):
                used = clock.ticks()
            else:
                self._keep_trouble(self.prepare_due_reminders)
                if self._embedder is not None and clock.ticks() - used > UNLOAD_SECONDS:
                    self._embedder.close()  # the next turn loads it again
                    used = clock.ticks()
                elif not self.behind and clock.ticks() > look_at:
                    look_at = clock.ticks() + MIN_QUIET_SECONDS
                    self._keep_trouble(lambda: self._sleep_awhile(stop))
            while self._wakeup.acquire(blocking=False):
                pass
            self._keep_trouble(lambda: self._process_queue(stop))
        self._keep_trouble(self._write_down)
        self._keep_trouble(lambda: self.store.release(SETTLE_LEASE, self._holder))

    def _sync_files(self) -> None:
        """What people wrote into the mirror and into shared files meanwhile counts from the first
        turn on (C115).
        """
        for looked_after in (follow_store, shared_files.sync_shares):
            looked_after(WorkContext(self.store, self._embedder, self.settings, self._now()))

    def _sleep_awhile(self, stop: threading.Event) -> None:
        """Sleep for a while, if it is time; a turn that comes ends it."""
        work = WorkContext(self.store, self._embedder, self.settings, self._now())
        if slept := sleep_if_due(
            work,
            self._holder,
            self._now,
            lambda: not (self.behind or stop.is_set()),
            build_event_queue(),
        ):
            self.withdraw(slept.retired)

    def prepare_due_reminders(self) -> None:
        """What has come due since the last turn waits for the next one, and what waited too long
        waits afresh (C43).
        """
        now = self._now()
        for conversation in [companion.conversation for companion in list(self._companions)]:
            waiting = next(iter(conversation.slot), EMPTY_BLOCK)
            keeps = 0 <= now - waiting.prepared_at < FRESH_SECONDS - 2 * SETTLE_RETRY_SECONDS
            if self.is_off(conversation) or (keeps and waiting.due):
                continue
            found = load_due_reminders(
                self.store, self.settings, conversation.space, now, tuple(conversation.window)
            )
            if not found or not is_last_speaker(
                self.store, conversation.space, conversation.attention.session
            ):
                continue
            if due := claim_reminders(self.store, found, conversation.holder, now):
                others = [
                    Hit(m, 0.0, why)
                    for m, why in zip(waiting.memories, waiting.why, strict=True)
                    if keeps
                ]
                self._offer_block(
                    conversation,
                    render_block(
                        others, now, limit=self.settings.limit, budget=self.settings.budget, due=due
                    ),
                    now,
                    {},
                )

    def _keep_trouble(self, work: Callable[[], object]) -> None:
        """Trouble in the background is kept for `status`; the thread goes on."""
        try:
            work()
        except Exception as err:
            self.trouble = f"{type(err).__name__}: {err}"
            self._retry_at = clock.ticks() + SETTLE_RETRY_SECONDS

    def _process_queue(self, stop: threading.Event) -> None:
        """Write down, prepare for the newest turns, and settle step by step until the next turn
        comes.
        """
        self._write_down()
        while self._unprepared and not stop.is_set():
            self._prepare_one()
            self._write_down()
        while not self._queue and not stop.is_set() and clock.ticks() >= self._retry_at:
            if not self._settle_step():
                work = WorkContext(self.store, self._embedder, self.settings, self._now(), self.llm)
                self._llm_thread.begin(
                    work, self._holder, self._keep_trouble, self.withdraw_retired
                )
                break

    def _settle_step(self) -> bool:
        """One step of settling if it is ours to do; whether there may be more."""
        if not self.store.acquire(SETTLE_LEASE, self._holder, SETTLE_LEASE_SECONDS, self._now()):
            return False
        step = run_settle_step(
            WorkContext(self.store, self._embedder, self.settings, self._now()), EMBED_BATCH
        )
        self.trouble = step.trouble or self._llm_thread.trouble
        if step.trouble:
            self._retry_at = clock.ticks() + SETTLE_RETRY_SECONDS
        if step.events:
            self.withdraw_retired()
        more = bool(step)
        if not more:
            self.store.release(SETTLE_LEASE, self._holder)
        return more

    def withdraw_retired(self) -> None:
        """What stepped back while settling, such as what the user has just put right, is not given
        from a block.
        """
        waiting = {
            id
            for companion in list(self._companions)
            for block in list(companion.conversation.slot)
            for id in block.ids
        }
        gone = waiting - {memory.id for memory in self.store.get(sorted(waiting)) if memory.active}
        if gone:
            self.withdraw(gone)

    def _write_down(self) -> None:
        """Every queued turn becomes an event; the newest of each conversation is to be prepared
        for.
        """
        with self._write_lock:
            self._reload_settings()
            while self._queue:
                batch = [self._queue[i] for i in range(min(WRITE_BATCH, len(self._queue)))]
                try:
                    events = self._write_batch(batch)
                except RETRYABLE_ERRORS:
                    raise
                except Exception:  # one of them cannot be written: find out which
                    for turn in batch:
                        self._dequeue_written([turn], [self._write_single(turn)])
                else:
                    self._dequeue_written(batch, events)

    def _write_batch(self, turns: Sequence[ConversationTurn]) -> list[Event | None]:
        """These turns in the log; None for one whose space is switched off, or that tells what left
        a context.
        """
        off, policy = (
            {id(turn) for turn in turns if self.is_off(turn.session)},
            self.settings.policy,
        )
        events = to_turn_events([None if id(turn) in off else turn for turn in turns], policy)
        besides = [
            turn for turn in turns if turn.given_reminders or (turn.evicted and id(turn) not in off)
        ]
        with self.store.transaction() if besides else nullcontext():
            self.store.append([event for event in events if event])
            for turn in besides:
                session = turn.session.attention.session
                fire_reminders(self.store, turn.given_reminders, turn.at, session)
                release_reminders(self.store, turn.given_reminders, turn.session.holder)
                store_evicted_parts(
                    self.store,
                    turn.evicted,
                    ExcerptTarget(turn.session.space, session, policy),
                    turn.at,
                )
                if turn.evicted_summary and id(turn) not in off:
                    record_episode(self.store, turn.evicted_summary, to_compact_event(turn), policy)
        return events

    def _write_single(self, turn: ConversationTurn) -> Event | None:
        """One turn in the log, without its reminders if it must be, or else that it could not be
        written.
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
            self.store.append(
                [
                    Event(
                        "failed",
                        turn.session.space,
                        self._now(),
                        turn.session.attention.session,
                        {"error": f"{type(err).__name__}: {lost}"},
                    )
                ]
            )
            return (
                self._write_single(replace(turn, given_reminders=()))
                if turn.given_reminders
                else None
            )

    def _dequeue_written(
        self, turns: Sequence[ConversationTurn], events: Sequence[Event | None]
    ) -> None:
        """These are written. Only now they leave the queue: a failed write is tried again."""
        for turn, event in zip(turns, events, strict=True):
            if event is not None:
                self._update_conversation(turn, event)
            self._queue.popleft()

    def _reload_settings(self) -> None:
        """What another process switched off or on is so here too."""
        changed = config.config_modified_at(self.settings)
        if changed != self._config:
            self._config = changed
            try:
                self.settings = config.reload_switches(self.settings)
            except BadInput as err:  # somebody is writing it by hand: what was chosen before holds
                self.trouble = str(err)

    def _update_conversation(self, turn: ConversationTurn, event: Event) -> None:
        """What a turn means for the state of its conversation. Only what was written, without
        secrets, is kept.
        """
        if turn.is_end:
            return
        conversation = turn.session
        attention = conversation.attention
        attention.count_turn()
        if turn.given_ids:
            attention.mark_injected(turn.given_ids, turn.at)
        attention.mark_dropped(turn.dropped_block)
        conversation.window.extend(read_written_messages(turn, event, self.settings.policy))
        self._unprepared[conversation] = turn.at

    def _prepare_one(self) -> None:
        conversation, at = next(iter(self._unprepared.items()))
        if self.is_off(conversation):
            del self._unprepared[conversation]
            return
        with self._withdrawn_lock:
            self._withdrawn = frozenset()
        while conversation.withdrawn:
            conversation.attention.mark_dropped(conversation.withdrawn.popleft())
        try:
            window = tuple(conversation.window)
            due = claim_reminders(
                self.store,
                load_due_reminders(self.store, self.settings, conversation.space, at, window),
                conversation.holder,
                at,
            )
            made = prepare_injection(
                self.store,
                self._embedder,
                self.settings,
                InjectionTurn(conversation.attention, conversation.space, at, due),
                window,
                conversation.vector,
                self.llm,
            )
            conversation.vector = made.vector
            release_reminders(
                self.store,
                [h.memory for h in due if h.memory not in made.block.due],
                conversation.holder,
            )
            if made.block:
                self._offer_block(conversation, made.block, at, made.judged)
            else:
                self._record_nothing_found(conversation, at, made)
        finally:
            del self._unprepared[conversation]

    def _offer_block(
        self, conversation: ConversationState, block: Block, at: float, judged: Mapping[str, object]
    ) -> None:
        """Put a block where the next turn finds it, unless a fresh one that says the same waits
        there.
        """
        try:
            waiting = conversation.slot.pop()
        except IndexError:
            waiting = EMPTY_BLOCK
        if not replaces_waiting_block(block, waiting, at):
            conversation.slot.append(waiting)
            return
        conversation.attention.mark_dropped(waiting)
        conversation.attention.mark_prepared(block, at)
        conversation.slot.append(block)
        if self._withdrawn and withdraw_block(conversation, self._withdrawn):
            return
        self._record_prepared(conversation, block, at, judged)

    def _record_nothing_found(
        self, conversation: ConversationState, at: float, made: PreparedBlock
    ) -> None:
        """Nothing earned its place: what a judge said is kept, and a question that memory could not
        answer.
        """
        if made.judged:
            self._record_prepared(conversation, EMPTY_BLOCK, at, made.judged)
        if made.query is None or (self.llm is not None and not made.judged):
            return  # nobody has looked, so nothing is known to be missing
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

    def _record_prepared(
        self, conversation: ConversationState, block: Block, at: float, judged: Mapping[str, object]
    ) -> None:
        """What was prepared, and what a judge said of it."""
        payload = {
            "ids": list(block.ids),
            "why": [list(w) for w in block.why],
            "asked": make_query_snippet(find_focus(tuple(conversation.window)).text),
            **judged,
        }
        self.store.append(
            [
                Event(
                    verb="prepared",
                    space=conversation.space,
                    session=conversation.attention.session,
                    at=at,
                    payload=payload,
                )
            ]
        )


def make_exit_flush(background: BackgroundThread) -> Callable[[], None]:
    """What the end of the process calls, so that a script which never closes anything loses no
    turn.
    """
    weak = weakref.ref(background)

    def flush() -> None:
        if (there := weak()) is not None:
            there.stop(EXIT_SECONDS)

    return flush
