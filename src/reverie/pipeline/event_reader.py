"""Readers of the event log: each works through the events that concern it, in order, from a cursor
of its own.

A reader decides from one event what is to change. `run_reader` applies that decision and moves the
reader's cursor in one transaction, so no event is read twice and none is passed over. The memories
and edges that a decision rests on are compared again inside the transaction: if somebody has
altered them meanwhile, the reader decides anew.

An event that a reader fails on, or that lost every race for its memories, is recorded as `failed`
and the cursor moves on; sleep tries it again, and `doctor` lists it. A language model that is away
is not the event's fault: the cursor stays, and the report says why the reader stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from reverie.core import clock
from reverie.core.clock import ticks
from reverie.core.config import Settings, local_time_zone
from reverie.core.errors import Conflict, ModelAway, StoreError
from reverie.core.memory_spans import UPSERT, CollectedSpan, SpanRecord, SpanSink, describe_ids
from reverie.core.model import EMPTY_MAPPING, Add, Change, Edge, Event, Link, Memory
from reverie.core.privacy_policy import Policy
from reverie.embedding import Embedder
from reverie.pipeline.pending_vectors import embedding_model_of
from reverie.storage import Store

if TYPE_CHECKING:
    from reverie.llm.language_model import LanguageModel

MAX_STEP_EVENTS = 200  # events read in one step
# After so many seconds a step ends with the event at hand: a turn may be waiting for its block.
MAX_STEP_SECONDS = 0.5
# Times that one decision is made, if others keep altering what it rests on.
MAX_ATTEMPTS = 3
# Of the events `failed`, those up to this cursor were tried again, or given up.
RETRY_CURSOR = "sleep.retro"
# Seconds; readers that ask a language model pass over older events.
MAX_EVENT_AGE = 7 * 86_400.0


class WorkContext(NamedTuple):
    """The store, models, settings and time that every part of background work is given."""

    store: Store
    embedder: Embedder | None
    settings: Settings
    now: float
    llm: LanguageModel | None = None
    embedder_error: str = ""  # why the embedder does not answer, if it was asked and did not
    embedder_unavailable: bool = False  # and nothing may be fetched, so it will not
    spans: SpanSink | None = None  # to be told what was done; None: nobody listens

    @property
    def embedding_model(self) -> str:
        """The name of the embedder's vectors; empty where none are to be had."""
        return embedding_model_of(self.embedder) or ""

    @property
    def policy(self) -> Policy:
        """What is taken out of a text before it is kept."""
        return self.settings.policy

    def zone(self) -> str:
        """The IANA name of the time zone meant by times that name none."""
        return local_time_zone(self.settings)


class ReaderDecision(NamedTuple):
    """Changes to make, and the memories and edges they rest on, as they were read."""

    changes: Sequence[Change] = ()
    rests_on: Sequence[Memory] = ()
    # Goes into the event that causes the changes; without changes it is an event of its own.
    payload: Mapping[str, object] = EMPTY_MAPPING
    rests_on_edges: Sequence[Edge] = ()  # edges of these memories


def is_always_ready(_work: WorkContext, _event: Event) -> bool:
    """True: an event is read as soon as it is in the log."""
    return True


class EventReader(NamedTuple):
    """What decides about some events of the log, and the name of its cursor."""

    name: str  # of its cursor
    verbs: tuple[str, ...]  # the events that concern it
    verb: str  # of the events that it causes
    decide: Callable[[WorkContext, Event], ReaderDecision]
    # May the event be read yet? If not, the reader stops before it.
    is_ready: Callable[[WorkContext, Event], bool] = is_always_ready


class EventQueue(NamedTuple):
    """The readers of the event log, and whether any event waits for them.

    The module that lists the readers lies above sleep, so whoever starts sleep hands this in.
    """

    readers: tuple[EventReader, ...]
    has_work: Callable[[WorkContext], bool]


class ReadReport(NamedTuple):
    """What one step of a reader did, in numbers."""

    events: int
    added: int = 0  # memories
    failed: int = 0
    stop_reason: str = ""  # why it stopped, if a language model is away
    changed_ids: Sequence[str] = ()  # memories that were added, revised or retired


def run_reader(
    work: WorkContext,
    reader: EventReader,
    most: int = MAX_STEP_EVENTS,
) -> ReadReport:
    """Read the next events in order, at most so many, and report what came of it."""
    begun = clock.now()
    report = read_events(work, reader, most)
    # A reader looks at every event and has to say something of few.
    if work.spans is not None and (report.changed_ids or report.failed):
        work.spans(make_reader_span(reader, report, begun))
    return report


def make_reader_span(reader: EventReader, report: ReadReport, begun: float) -> SpanRecord:
    """The span of one step of a reader."""
    span = CollectedSpan(
        {
            "reverie.reader": reader.name,
            "reverie.events.count": report.events,
            "reverie.events.failed": report.failed,
            "reverie.record.added": report.added,
        }
    )
    describe_ids(span, report.changed_ids)
    return SpanRecord(reader.verb, UPSERT, begun, max(begun, clock.now()), span.attributes)


def read_events(work: WorkContext, reader: EventReader, most: int) -> ReadReport:
    """Read the next events in order, at most so many."""
    store = work.store
    changed: dict[str, None] = {}
    events = added = failed = last = 0
    stop_reason = ""
    end = ticks() + MAX_STEP_SECONDS
    try:
        for event in store.events(
            after=store.cursor(reader.name),
            verbs=reader.verbs,
            limit=most,
        ):
            if not reader.is_ready(work, event):
                break
            report = process_event(work, reader, event)
            events += 1
            added += report.added
            failed += report.failed
            changed.update(dict.fromkeys(report.changed_ids))
            last = event.seq
            if ticks() > end:
                break
    except ModelAway as err:
        stop_reason = str(err)
    except Conflict:
        # Our lease ran out and somebody else has read these events: what they did stands.
        return ReadReport(events, added, failed, changed_ids=tuple(changed))
    if last > store.cursor(reader.name):
        store.advance(reader.name, last)
    return ReadReport(events, added, failed, stop_reason, tuple(changed))


def process_event(
    work: WorkContext,
    reader: EventReader,
    event: Event,
    failed: Event | None = None,
) -> ReadReport:
    """Let a reader decide about one event and apply that; record it as `failed` if it cannot.

    With `failed`, the record of an earlier failure, the event is tried again: then the cursor of
    such records moves, and not the reader's. StoreError, Conflict and ModelAway are raised: they
    are not the event's fault.
    """
    done = (RETRY_CURSOR, failed.seq) if failed else (reader.name, event.seq)
    try:
        for _ in range(MAX_ATTEMPTS):
            decision = reader.decide(work, event)
            # An event that is tried again leaves a trace, whatever is decided about it.
            payload = {"again": failed.seq, **decision.payload} if failed else decision.payload
            if not decision.changes and not payload:
                return ReadReport(1)
            with work.store.transaction():
                if is_unchanged(work.store, decision):
                    cause = caused_event(work, event, reader.verb, **payload)
                    work.store.apply(decision.changes, cause, done=done)
                    added = sum(isinstance(change, Add) for change in decision.changes)
                    return ReadReport(1, added, changed_ids=list_changed_ids(decision.changes))
    except (StoreError, Conflict, ModelAway):
        raise
    except Exception as err:
        error = f"{type(err).__name__}: {err}"
    else:
        error = f"Conflict: the memories were changed by others, {MAX_ATTEMPTS} times in a row"
    payload = {"error": error[:500], "reader": reader.name}
    if failed:
        payload["tries"] = int(failed.payload.get("tries", 0)) + 1
    work.store.apply(
        [],
        caused_event(work, event, "failed", **payload),
        done=done,
    )
    return ReadReport(1, failed=1)


def list_changed_ids(changes: Sequence[Change]) -> tuple[str, ...]:
    """The memories that are added, revised or retired; links change none."""
    ids = [
        change.memory.id if isinstance(change, Add) else change.id
        for change in changes
        if not isinstance(change, Link)
    ]
    return tuple(dict.fromkeys(ids))


def is_unchanged(store: Store, decision: ReaderDecision) -> bool:
    """True if the memories and edges that a decision rests on are as they were read."""
    ids = [memory.id for memory in decision.rests_on]
    if list(decision.rests_on) != store.get(ids):
        return False
    if not decision.rests_on_edges:
        return True
    relations = {edge.rel for edge in decision.rests_on_edges}
    return set(decision.rests_on_edges) <= set(store.edges(ids, tuple(relations)))


def caused_event(
    work: WorkContext,
    event: Event,
    verb: str,
    **payload: object,
) -> Event:
    """The event that records what a reader did about another event."""
    return Event(
        verb=verb,
        space=event.space,
        session=event.session,
        at=work.now,
        payload={"event": event.seq, **payload},
    )


def has_ready_event(work: WorkContext, reader: EventReader) -> bool:
    """True if an event waits that the reader may read now."""
    unread = work.store.events(
        after=work.store.cursor(reader.name),
        verbs=reader.verbs,
        limit=1,
    )
    return bool(unread) and reader.is_ready(work, unread[0])
