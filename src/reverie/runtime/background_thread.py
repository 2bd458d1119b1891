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

from reverie.consolidation.scheduled_sleep import nap
from reverie.consolidation.sleep_schedule import BREATH
from reverie.context_window import EMPTY, Block, render
from reverie.context_window.conversation_summary import tell
from reverie.context_window.evicted_excerpts import Home, keep
from reverie.context_window.injection_history import FRESH_FOR, replaces
from reverie.core import clock, config
from reverie.core.config import Settings
from reverie.core.errors import BadInput, StoreBusy, StoreDamaged, StoreFull, StoreReadOnly
from reverie.core.model import Event, Hit
from reverie.embedding import Embedder
from reverie.extraction.knowledge_gaps import unanswered
from reverie.extraction.retrieval_feedback import snippet
from reverie.injection.conversation_state import (
    Conversation,
    Turn,
    compact_of,
    events_of,
    heard_in,
    take_back,
)
from reverie.injection.due_reminders import claimed, due_now, fire, let_go, spoke_last
from reverie.injection.prepare_block import Prepared, focus, prepare
from reverie.mirror.mirror_sync import follow
from reverie.pipeline.event_reader import Work
from reverie.pipeline.leases import LEASE, LEASE_SECONDS
from reverie.porting import shared_files
from reverie.runtime.llm_thread import Aside
from reverie.runtime.settle import event_queue, one_step
from reverie.storage import Store

if TYPE_CHECKING:
    from reverie.llm.language_model import Llm

QUEUE = 16_384  # turns that may wait to be written down
BATCH = 512  # turns written down in one transaction
SMALL = 8  # texts embedded at once here: a turn that comes meanwhile waits for these only
AGAIN = 0.5  # seconds until a turn that could not be dealt with is tried again
# seconds without a turn after which the model leaves memory (CONSTANTS: idle unload)
UNLOAD = 15 * 60.0
RETRY = 15.0  # seconds between attempts to settle while another process does, or after trouble
AT_EXIT = 5.0  # seconds that the end of the process waits for a preparation to end

LATER = (StoreBusy, StoreFull, StoreReadOnly, StoreDamaged)  # trouble that is not the turn's


class Member(Protocol):
    """A companion, as its background knows it."""

    conversation: Conversation
    closed: bool


class Background:
    """The one thread of a mind that writes down, prepares and settles."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        settings: Settings,
        now: Callable[[], float],
        llm: Llm | None = None,
        since: float | None = None,
    ) -> None:
        self.store, self.trouble = store, ""
        self._embedder, self.settings, self._now, self.llm = embedder, settings, now, llm
        self._aside = Aside()
        self._holder = clock.new_id("settler")
        self._queue: deque[Turn] = deque()
        self._call = threading.Semaphore(0)
        self._companions: set[Member] = set()
        self._thread: threading.Thread | None = None
        self._guard = threading.Lock()  # one starts or ends the thread at a time
        self._writing = threading.Lock()  # one writes down at a time
        self._stop = threading.Event()  # of the present thread; each has its own
        self._at_exit: Callable[[], None] | None = None
        self._naming = threading.Lock()  # of `_gone`, held for an instant
        self._gone: frozenset[str] = frozenset()  # withdrawn since the present preparation began
        # when config.toml was read last
        self._config = config.changed_at(settings) if since is None else since
        self._unprepared: dict[Conversation, float] = {}
        self._retry_at = 0.0

    # Called by companions, in the caller's thread

    def put(self, turn: Turn) -> bool:
        """Hand over a turn; False when the queue is full. Never waits."""
        if len(self._queue) >= QUEUE:
            return False
        self._queue.append(turn)
        self._call.release()
        return True

    @property
    def behind(self) -> int:
        """Turns handed over and not finished with."""
        return len(self._queue) + len(self._unprepared)

    def is_off(self, conversation: Conversation) -> bool:
        """Whether nothing of a conversation is written down, prepared or given."""
        return conversation.off or self.settings.is_off(
            conversation.space, conversation.attention.session
        )

    def switch(self, conversation: Conversation, *, on: bool) -> None:
        """Switch memory on or off in one conversation: for good, where the store is that of a home
        with settings.
        """
        conversation.off, kept = not on, self.store.url == self.settings.url
        self.settings = config.switch_session(
            self.settings, conversation.attention.session, on=on, kept=kept
        )

    def enter(self, companion: Member) -> None:
        """One more conversation; the first one starts the thread."""
        with self._guard:
            self._companions.add(companion)
            if self._thread is None:
                self._stop = threading.Event()
                self._thread = threading.Thread(
                    target=self._run, args=(self._stop,), name="reverie", daemon=True
                )
                self._thread.start()
                self._at_exit = flusher(self)
                atexit.register(self._at_exit)

    def leave(self, companion: Member) -> None:
        """One conversation fewer; with the last one the thread writes down what is
        queued and ends.
        """
        with self._guard:
            self._companions.discard(companion)
            if not self._companions:
                self._end()

    def stop(self, patience: float | None = None) -> None:
        """End the thread, whoever is still there: their companions are closed. Waits so many
        seconds at most.
        """
        with self._guard:
            for companion in self._companions:
                companion.closed = True
            self._companions.clear()
            self._end(patience)

    def _end(self, patience: float | None = None) -> None:
        """Let the thread finish what is queued. It takes no lock that is held here."""
        if self._thread is not None:
            self._stop.set()
            if self.llm is not None:
                # what it is asked is broken off: no block is wanted, and reading can wait
                self.llm.close()
            self._call.release()
            self._thread.join(patience)
            self._thread = None
            if self._at_exit is not None:
                atexit.unregister(self._at_exit)
                self._at_exit = None
        self._aside.end(AT_EXIT)
        # what was handed over meanwhile, or the thread had no time for
        self._guarded(self._write_down)

    def withdraw(self, ids: Iterable[str]) -> None:
        """These count no longer: a block that waits, or is being prepared, is not given if it holds
        one of them.
        """
        gone = frozenset(ids)
        with self._naming:
            self._gone |= gone
        for companion in list(self._companions):
            take_back(companion.conversation, gone)

    def wait(self, seconds: float) -> bool:
        """Until there is nothing left to write down or prepare; False when that takes longer."""
        end = clock.ticks() + seconds
        while self.behind and clock.ticks() < end:
            clock.sleep(0.002)
        return not self.behind

    # In the thread

    def _run(self, stop: threading.Event) -> None:
        self._guarded(self._mirror)
        used = clock.ticks()
        look_at = used + BREATH  # when to see whether it is time to sleep
        while not stop.is_set():
            if self._call.acquire(timeout=AGAIN if self.behind else RETRY):
                used = clock.ticks()
            else:
                self._guarded(self.look_out)
                if self._embedder is not None and clock.ticks() - used > UNLOAD:
                    self._embedder.close()  # the next turn loads it again
                    used = clock.ticks()
                elif not self.behind and clock.ticks() > look_at:
                    look_at = clock.ticks() + BREATH
                    self._guarded(lambda: self._nap(stop))
            while self._call.acquire(blocking=False):
                pass
            self._guarded(lambda: self._work(stop))
        self._guarded(self._write_down)
        self._guarded(lambda: self.store.release(LEASE, self._holder))

    def _mirror(self) -> None:
        """What people wrote into the mirror and into shared files meanwhile counts from the first
        turn on (C115).
        """
        for looked_after in (follow, shared_files.follow):
            looked_after(Work(self.store, self._embedder, self.settings, self._now()))

    def _nap(self, stop: threading.Event) -> None:
        """Sleep for a while, if it is time; a turn that comes ends it."""
        work = Work(self.store, self._embedder, self.settings, self._now())
        if slept := nap(
            work,
            self._holder,
            self._now,
            lambda: not (self.behind or stop.is_set()),
            event_queue(),
        ):
            self.withdraw(slept.retired)

    def look_out(self) -> None:
        """What has come due since the last turn waits for the next one, and what waited too long
        waits afresh (C43).
        """
        now = self._now()
        for conversation in [companion.conversation for companion in list(self._companions)]:
            waiting = next(iter(conversation.slot), EMPTY)
            keeps = 0 <= now - waiting.prepared_at < FRESH_FOR - 2 * RETRY
            if self.is_off(conversation) or (keeps and waiting.due):
                continue
            found = due_now(
                self.store, self.settings, conversation.space, now, tuple(conversation.window)
            )
            if not found or not spoke_last(
                self.store, conversation.space, conversation.attention.session
            ):
                continue
            if due := claimed(self.store, found, conversation.holder, now):
                others = [
                    Hit(m, 0.0, why)
                    for m, why in zip(waiting.memories, waiting.why, strict=True)
                    if keeps
                ]
                self._offer(
                    conversation,
                    render(
                        others, now, limit=self.settings.limit, budget=self.settings.budget, due=due
                    ),
                    now,
                    {},
                )

    def _guarded(self, work: Callable[[], object]) -> None:
        """Trouble in the background is kept for `status`; the thread goes on."""
        try:
            work()
        except Exception as err:
            self.trouble = f"{type(err).__name__}: {err}"
            self._retry_at = clock.ticks() + RETRY

    def _work(self, stop: threading.Event) -> None:
        """Write down, prepare for the newest turns, and settle step by step until the next turn
        comes.
        """
        self._write_down()
        while self._unprepared and not stop.is_set():
            self._prepare_one()
            self._write_down()
        while not self._queue and not stop.is_set() and clock.ticks() >= self._retry_at:
            if not self._settle_some():
                work = Work(self.store, self._embedder, self.settings, self._now(), self.llm)
                self._aside.begin(work, self._holder, self._guarded, self.take_back_retired)
                break

    def _settle_some(self) -> bool:
        """One step of settling if it is ours to do; whether there may be more."""
        if not self.store.acquire(LEASE, self._holder, LEASE_SECONDS, self._now()):
            return False
        step = one_step(Work(self.store, self._embedder, self.settings, self._now()), SMALL)
        self.trouble = step.trouble or self._aside.trouble
        if step.trouble:
            self._retry_at = clock.ticks() + RETRY
        if step.events:
            self.take_back_retired()
        more = bool(step)
        if not more:
            self.store.release(LEASE, self._holder)
        return more

    def take_back_retired(self) -> None:
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
        with self._writing:
            self._reread()
            while self._queue:
                batch = [self._queue[i] for i in range(min(BATCH, len(self._queue)))]
                try:
                    events = self._written(batch)
                except LATER:
                    raise
                except Exception:  # one of them cannot be written: find out which
                    for turn in batch:
                        self._finish([turn], [self._alone(turn)])
                else:
                    self._finish(batch, events)

    def _written(self, turns: Sequence[Turn]) -> list[Event | None]:
        """These turns in the log; None for one whose space is switched off, or that tells what left
        a context.
        """
        off, policy = (
            {id(turn) for turn in turns if self.is_off(turn.session)},
            self.settings.policy,
        )
        events = events_of([None if id(turn) in off else turn for turn in turns], policy)
        besides = [turn for turn in turns if turn.due or (turn.left and id(turn) not in off)]
        with self.store.alone() if besides else nullcontext():
            self.store.append([event for event in events if event])
            for turn in besides:
                session = turn.session.attention.session
                fire(self.store, turn.due, turn.at, session)
                let_go(self.store, turn.due, turn.session.holder)
                keep(self.store, turn.left, Home(turn.session.space, session, policy), turn.at)
                if turn.told and id(turn) not in off:
                    tell(self.store, turn.told, compact_of(turn), policy)
        return events

    def _alone(self, turn: Turn) -> Event | None:
        """One turn in the log, without its reminders if it must be, or else that it could not be
        written.
        """
        try:
            return self._written([turn])[0]
        except LATER:
            raise
        except Exception as err:
            self.trouble = f"{type(err).__name__}: {err}"
            lost = (
                "a reminder that was given could not be marked as given"
                if turn.due
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
            return self._alone(replace(turn, due=())) if turn.due else None

    def _finish(self, turns: Sequence[Turn], events: Sequence[Event | None]) -> None:
        """These are written. Only now they leave the queue: a failed write is tried again."""
        for turn, event in zip(turns, events, strict=True):
            if event is not None:
                self._take_in(turn, event)
            self._queue.popleft()

    def _reread(self) -> None:
        """What another process switched off or on is so here too."""
        changed = config.changed_at(self.settings)
        if changed != self._config:
            self._config = changed
            try:
                self.settings = config.switched(self.settings)
            except BadInput as err:  # somebody is writing it by hand: what was chosen before holds
                self.trouble = str(err)

    def _take_in(self, turn: Turn, event: Event) -> None:
        """What a turn means for the state of its conversation. Only what was written, without
        secrets, is kept.
        """
        if turn.ends:
            return
        conversation = turn.session
        attention = conversation.attention
        attention.turn()
        if turn.given:
            attention.given(turn.given, turn.at)
        attention.dropped(turn.dropped)
        conversation.window.extend(heard_in(turn, event, self.settings.policy))
        self._unprepared[conversation] = turn.at

    def _prepare_one(self) -> None:
        conversation, at = next(iter(self._unprepared.items()))
        if self.is_off(conversation):
            del self._unprepared[conversation]
            return
        with self._naming:
            self._gone = frozenset()
        while conversation.withdrawn:
            conversation.attention.dropped(conversation.withdrawn.popleft())
        try:
            window = tuple(conversation.window)
            due = claimed(
                self.store,
                due_now(self.store, self.settings, conversation.space, at, window),
                conversation.holder,
                at,
            )
            made = prepare(
                self.store,
                self._embedder,
                self.settings,
                conversation.attention,
                conversation.space,
                window,
                at,
                conversation.vector,
                self.llm,
                due,
            )
            conversation.vector = made.vector
            let_go(
                self.store,
                [h.memory for h in due if h.memory not in made.block.due],
                conversation.holder,
            )
            if made.block:
                self._offer(conversation, made.block, at, made.judged)
            else:
                self._without(conversation, at, made)
        finally:
            del self._unprepared[conversation]

    def _offer(
        self, conversation: Conversation, block: Block, at: float, judged: Mapping[str, object]
    ) -> None:
        """Put a block where the next turn finds it, unless a fresh one that says the same waits
        there.
        """
        try:
            waiting = conversation.slot.pop()
        except IndexError:
            waiting = EMPTY
        if not replaces(block, waiting, at):
            conversation.slot.append(waiting)
            return
        conversation.attention.dropped(waiting)
        conversation.attention.prepared(block, at)
        conversation.slot.append(block)
        if self._gone and take_back(conversation, self._gone):
            return
        self._record(conversation, block, at, judged)

    def _without(self, conversation: Conversation, at: float, made: Prepared) -> None:
        """Nothing earned its place: what a judge said is kept, and a question that memory could not
        answer.
        """
        if made.judged:
            self._record(conversation, EMPTY, at, made.judged)
        if made.query is None or (self.llm is not None and not made.judged):
            return  # nobody has looked, so nothing is known to be missing
        gap = unanswered(
            self.store,
            self.settings,
            conversation.attention.session,
            conversation.space,
            made.query,
            tuple(conversation.window),
        )
        if gap:
            self.store.append([gap])

    def _record(
        self, conversation: Conversation, block: Block, at: float, judged: Mapping[str, object]
    ) -> None:
        """What was prepared, and what a judge said of it."""
        payload = {
            "ids": list(block.ids),
            "why": [list(w) for w in block.why],
            "asked": snippet(focus(tuple(conversation.window)).text),
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


def flusher(background: Background) -> Callable[[], None]:
    """What the end of the process calls, so that a script which never closes anything loses no
    turn.
    """
    weak = weakref.ref(background)

    def flush() -> None:
        if (there := weak()) is not None:
            there.stop(AT_EXIT)

    return flush
