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
from reverie.core.config import Settings, local_zone
from reverie.core.errors import Conflict, ModelAway, StoreError
from reverie.core.model import NOTHING, Add, Change, Edge, Event, Memory
from reverie.core.privacy_policy import Policy
from reverie.embedding import Embedder
from reverie.storage import Store

if TYPE_CHECKING:
    from reverie.llm.language_model import Llm

EVENTS = 200  # events read in one step
SECONDS = 0.5  # after which a step ends with the event at hand: a turn may wait for its block
ANEW = 3  # times that a decision is made anew because what it rests on was altered


class Work(NamedTuple):
    """What every part of settling works with."""

    store: Store
    embedder: Embedder | None
    settings: Settings
    now: float
    llm: Llm | None = None
    trouble: str = ""  # why the embedder does not answer, if it was asked and did not
    hopeless: bool = False  # and nothing may be fetched, so it will not

    @property
    def model(self) -> str:
        """The identity of the vectors here; empty where there is no embedder."""
        return self.embedder.model if self.embedder else ""

    @property
    def policy(self) -> Policy:
        """What is taken out of a text before it is kept."""
        return self.settings.policy

    def zone(self) -> str:
        """The time zone in which times are meant that name none."""
        return local_zone(self.settings)


class Decision(NamedTuple):
    """What is to change, and the memories that this rests on, as they were read."""

    changes: Sequence[Change] = ()
    rests_on: Sequence[Memory] = ()
    # goes into the event that causes the changes, or stands for itself
    payload: Mapping[str, object] = NOTHING
    ties: Sequence[Edge] = ()  # edges between these memories that it rests on too


def at_once(_work: Work, _event: Event) -> bool:
    """An event's turn has come as soon as it is there."""
    return True


class Reader(NamedTuple):
    """Something that follows the event log."""

    name: str  # of its cursor
    verbs: tuple[str, ...]  # the events that concern it
    verb: str  # of the events that it causes
    decide: Callable[[Work, Event], Decision]
    ready: Callable[[Work, Event], bool] = at_once  # whether the event's turn has come


class EventQueue(NamedTuple):
    """The readers of the event log, and whether anything waits for them.

    Settling lies above sleep, so whoever starts a run of sleep hands this in.
    """

    readers: tuple[Reader, ...]
    has_work: Callable[[Work], bool]


class Read(NamedTuple):
    """What one step of a reader did."""

    events: int = 0
    added: int = 0  # memories
    failed: int = 0
    trouble: str = ""  # why it stopped, if a language model is away


def follow(work: Work, reader: Reader, most: int = EVENTS) -> Read:
    """Read the next events, in order, as far as their turn has come."""
    store = work.store
    events = added = failed = 0
    last, end, trouble = 0, ticks() + SECONDS, ""
    try:
        for event in store.events(after=store.cursor(reader.name), verbs=reader.verbs, limit=most):
            if not reader.ready(work, event):
                break
            done = one(work, reader, event)
            events, last = events + 1, event.seq
            added, failed = added + done.added, failed + done.failed
            if ticks() > end:
                break
    except ModelAway as err:
        trouble = str(err)
    except Conflict:  # our lease ran out and somebody else has read these: what they did stands
        return Read(events, added, failed)
    if last > store.cursor(reader.name):
        store.advance(reader.name, last)
    return Read(events, added, failed, trouble)


def one(work: Work, reader: Reader, event: Event) -> Read:
    """Read one event. A store in trouble, or somebody who was faster, is not the event's fault:
    that is raised.
    """
    try:
        for _ in range(ANEW):
            if (added := attempt(work, reader, event)) is not None:
                return Read(1, added)
        return Read(1)
    except (StoreError, Conflict, ModelAway):
        raise
    except Exception as err:
        work.store.apply(
            [],
            caused(
                work,
                event,
                "failed",
                error=f"{type(err).__name__}: {err}"[:500],
                reader=reader.name,
            ),
            done=(reader.name, event.seq),
        )
        return Read(1, failed=1)


def attempt(work: Work, reader: Reader, event: Event) -> int | None:
    """Decide, and make it so unless what it rests on has changed; how many memories that adds, None
    in that case.
    """
    decision = reader.decide(work, event)
    if not decision.changes and not decision.payload:
        return 0
    with work.store.alone():
        if not stands(work.store, decision):
            return None
        work.store.apply(
            decision.changes,
            caused(work, event, reader.verb, **decision.payload),
            done=(reader.name, event.seq),
        )
    return sum(isinstance(change, Add) for change in decision.changes)


def stands(store: Store, decision: Decision) -> bool:
    """Whether what a decision rests on is as it was read."""
    ids = [memory.id for memory in decision.rests_on]
    return list(decision.rests_on) == store.get(ids) and (
        not decision.ties
        or set(decision.ties) <= set(store.edges(ids, tuple({edge.rel for edge in decision.ties})))
    )


def caused(work: Work, event: Event, verb: str, **payload: object) -> Event:
    """The event of what a reader does about another event."""
    return Event(
        verb=verb,
        space=event.space,
        session=event.session,
        at=work.now,
        payload={"event": event.seq, **payload},
    )


def waits(work: Work, reader: Reader) -> bool:
    """Whether there is an event whose turn has come."""
    unread = work.store.events(after=work.store.cursor(reader.name), verbs=reader.verbs, limit=1)
    return bool(unread) and reader.ready(work, unread[0])


OLDEST = 7 * 86_400.0  # seconds
