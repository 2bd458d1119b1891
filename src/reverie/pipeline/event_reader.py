"""Readers of the event log: each goes through the events that concern it, in order, from a cursor
of its own.

A reader decides, from one event, what is to change; `follow` makes it so, together with the
reader's cursor, in one transaction: whatever happens, no event is read twice and none is passed
over. What a decision rests on is looked at again inside that transaction: if somebody has altered
it meanwhile, the reader decides anew.

An event that a reader fails on is recorded as `failed` and its cursor moves on; sleep and `doctor`
look there. A language model that is away is not the event's fault: the cursor stays, and the reader
says why it stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.clock import ticks
from reverie.core.config import Settings, local_time_zone
from reverie.core.errors import Conflict, ModelAway, StoreError
from reverie.core.model import EMPTY_MAPPING, Add, Change, Edge, Event, Memory
from reverie.core.privacy_policy import Policy
from reverie.embedding import Embedder
from reverie.storage import Store

if TYPE_CHECKING:
    from reverie.llm.language_model import LanguageModel

MAX_STEP_EVENTS = 200  # events read in one step
MAX_STEP_SECONDS = (
    0.5  # after which a step ends with the event at hand: a turn may wait for its block
)
MAX_ATTEMPTS = 3  # times that a decision is made anew because what it rests on was altered


class WorkContext(NamedTuple):
    """What every part of settling works with."""

    store: Store
    embedder: Embedder | None
    settings: Settings
    now: float
    llm: LanguageModel | None = None
    embedder_error: str = ""  # why the embedder does not answer, if it was asked and did not
    embedder_unavailable: bool = False  # and nothing may be fetched, so it will not

    @property
    def embedding_model(self) -> str:
        """The identity of the vectors here; empty where there is no embedder."""
        return self.embedder.model if self.embedder else ""

    @property
    def policy(self) -> Policy:
        """What is taken out of a text before it is kept."""
        return self.settings.policy

    def zone(self) -> str:
        """The time zone in which times are meant that name none."""
        return local_time_zone(self.settings)


class ReaderDecision(NamedTuple):
    """What is to change, and the memories that this rests on, as they were read."""

    changes: Sequence[Change] = ()
    rests_on: Sequence[Memory] = ()
    # goes into the event that causes the changes, or stands for itself
    payload: Mapping[str, object] = EMPTY_MAPPING
    rests_on_edges: Sequence[Edge] = ()  # edges between these memories that it rests on too


def is_always_ready(_work: WorkContext, _event: Event) -> bool:
    """An event's turn has come as soon as it is there."""
    return True


class EventReader(NamedTuple):
    """Something that follows the event log."""

    name: str  # of its cursor
    verbs: tuple[str, ...]  # the events that concern it
    verb: str  # of the events that it causes
    decide: Callable[[WorkContext, Event], ReaderDecision]
    is_ready: Callable[[WorkContext, Event], bool] = (
        is_always_ready  # whether the event's turn has come
    )


class EventQueue(NamedTuple):
    """The readers of the event log, and whether anything waits for them.

    Settling lies above sleep, so whoever starts a run of sleep hands this in.
    """

    readers: tuple[EventReader, ...]
    has_work: Callable[[WorkContext], bool]


class ReadReport(NamedTuple):
    """What one step of a reader did."""

    events: int = 0
    added: int = 0  # memories
    failed: int = 0
    stop_reason: str = ""  # why it stopped, if a language model is away


def run_reader(work: WorkContext, reader: EventReader, most: int = MAX_STEP_EVENTS) -> ReadReport:
    """Read the next events, in order, as far as their turn has come."""
    store = work.store
    events = added = failed = 0
    last, end, trouble = 0, ticks() + MAX_STEP_SECONDS, ""
    try:
        for event in store.events(after=store.cursor(reader.name), verbs=reader.verbs, limit=most):
            if not reader.is_ready(work, event):
                break
            done = process_event(work, reader, event)
            events, last = events + 1, event.seq
            added, failed = added + done.added, failed + done.failed
            if ticks() > end:
                break
    except ModelAway as err:
        trouble = str(err)
    except Conflict:  # our lease ran out and somebody else has read these: what they did stands
        return ReadReport(events, added, failed)
    if last > store.cursor(reader.name):
        store.advance(reader.name, last)
    return ReadReport(events, added, failed, trouble)


def process_event(work: WorkContext, reader: EventReader, event: Event) -> ReadReport:
    """Read one event. A store in trouble, or somebody who was faster, is not the event's fault:
    that is raised.
    """
    try:
        for _ in range(MAX_ATTEMPTS):
            if (added := try_decision(work, reader, event)) is not None:
                return ReadReport(1, added)
        return ReadReport(1)
    except (StoreError, Conflict, ModelAway):
        raise
    except Exception as err:
        work.store.apply(
            [],
            caused_event(
                work,
                event,
                "failed",
                error=f"{type(err).__name__}: {err}"[:500],
                reader=reader.name,
            ),
            done=(reader.name, event.seq),
        )
        return ReadReport(1, failed=1)


def try_decision(work: WorkContext, reader: EventReader, event: Event) -> int | None:
    """Decide, and make it so unless what it rests on has changed; how many memories that adds, None
    in that case.
    """
    decision = reader.decide(work, event)
    if not decision.changes and not decision.payload:
        return 0
    with work.store.transaction():
        if not is_unchanged(work.store, decision):
            return None
        work.store.apply(
            decision.changes,
            caused_event(work, event, reader.verb, **decision.payload),
            done=(reader.name, event.seq),
        )
    return sum(isinstance(change, Add) for change in decision.changes)


def is_unchanged(store: Store, decision: ReaderDecision) -> bool:
    """Whether what a decision rests on is as it was read."""
    ids = [memory.id for memory in decision.rests_on]
    return list(decision.rests_on) == store.get(ids) and (
        not decision.rests_on_edges
        or set(decision.rests_on_edges)
        <= set(store.edges(ids, tuple({edge.rel for edge in decision.rests_on_edges})))
    )


def caused_event(work: WorkContext, event: Event, verb: str, **payload: object) -> Event:
    """The event of what a reader does about another event."""
    return Event(
        verb=verb,
        space=event.space,
        session=event.session,
        at=work.now,
        payload={"event": event.seq, **payload},
    )


def has_ready_event(work: WorkContext, reader: EventReader) -> bool:
    """Whether there is an event whose turn has come."""
    unread = work.store.events(after=work.store.cursor(reader.name), verbs=reader.verbs, limit=1)
    return bool(unread) and reader.is_ready(work, unread[0])


MAX_EVENT_AGE = 7 * 86_400.0  # seconds
