"""What happens after a turn, in one serial place: texts get vectors, events are learned from, the next block is made.

*Prepare* looks only at the newest turn of a conversation; *learn* looks at every event, in order, and keeps its own
cursor. Nothing here runs in a caller's path: the companion calls it from its thread, a detached worker for other
processes, scripts and tests call it directly. Between processes a lease says who learns and embeds; everybody may
read and append meanwhile.

A turn that cannot be learned from is recorded as `failed` and the cursor moves on. A model that is not there is not a
failure: texts go on waiting, words go on finding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from reverie import clock
from reverie.attention import Attention
from reverie.config import Settings
from reverie.embed import Embedder
from reverie.errors import Conflict, EmbedderUnavailable, ExtraMissing, ModelUnavailable
from reverie.lifecycle.extract import found_in, without_injections
from reverie.lifecycle.intake import built, clean, private
from reverie.messages import GAP, HEAD, MOST_CHARS, SPARE, TAIL, Said
from reverie.model import Add, Change, Event, Filter, Memory, lineage
from reverie.privacy import redact
from reverie.search import Query, search
from reverie.store import Store
from reverie.window import EMPTY, Block, render
from reverie.words import fingerprint, query_terms

LEASE = "settle"
LEASE_SECONDS = 30.0     # renewed at each step; a settler that died is replaced after this long
PATIENCE = 600.0         # seconds that an explicit `settle` waits for another one at work
BATCH = 64               # texts embedded at once
EVENTS = 200             # events learned from in one step

WINDOW_MESSAGES = 12     # what of a conversation is looked at (CONSTANTS: relevance window)
WINDOW_CHARS = 8_000
MESSAGE_CHARS = 1_200
LATELY = 500             # newest memories of a kind among which a lesson is looked for that was let go of

LEARNED_FROM = ("turn",)
NOT_SPOKEN = ("system", "developer", "tool", "function")
MOST_ROLE = 32
NO_VECTOR = (ModelUnavailable, EmbedderUnavailable, ExtraMissing)    # then words must do

Going = Callable[[], bool]


def always() -> bool:
    """Go on."""
    return True


@dataclass(frozen=True, slots=True)
class Settled:
    """What one call of `settle` did."""

    embedded: int = 0
    learned: int = 0          # memories that came out of events
    events: int = 0           # events that were learned from
    failed: int = 0           # events that could not be
    waiting: int = 0          # texts that still have no vector
    trouble: str = ""         # why, if the embedder did not answer


def settle(store: Store, embedder: Embedder | None, settings: Settings, now: Callable[[], float],
           holder: str, going: Going = always) -> Settled:
    """Embed and learn until nothing waits, somebody else holds the lease, or `going` says stop."""
    done = Settled()
    try:
        while going() and store.acquire(LEASE, holder, LEASE_SECONDS, now()):
            step = one_step(store, embedder, settings, now)
            done = Settled(done.embedded + step.embedded, done.learned + step.learned, done.events + step.events,
                           done.failed + step.failed, step.waiting, step.trouble)
            if not (step.embedded or step.events):
                break
    finally:
        store.release(LEASE, holder)
    return done


def settled(store: Store, embedder: Embedder | None, settings: Settings, now: Callable[[], float],
            holder: str) -> Settled:
    """`settle`, and when somebody else holds the lease, wait until they are done or it is ours."""
    end = clock.ticks() + PATIENCE
    while True:
        done = settle(store, embedder, settings, now, holder)
        other = store.holder(LEASE, now())
        if other in (None, holder) or not work_left(store, embedder) or clock.ticks() > end:
            return replace(done, waiting=store.stats().waiting)
        clock.sleep(0.02)


def work_left(store: Store, embedder: Embedder | None) -> bool:
    """Whether a text waits for a vector or an event to be learned from."""
    unread = store.events(after=store.cursor("learn"), verbs=LEARNED_FROM, limit=1)
    return bool(unread or (embedder is not None and store.waiting(1)))


def one_step(store: Store, embedder: Embedder | None, settings: Settings, now: Callable[[], float],
             batch: int = BATCH) -> Settled:
    """A bounded piece of work: some events, one batch of texts."""
    events, learned, failed = learn(store, settings, now())
    embedded, trouble = 0, ""
    if embedder is not None:
        try:
            adopt(store, embedder)
            embedded = embed_waiting(store, embedder, batch)
        except NO_VECTOR as err:
            trouble = str(err)
    return Settled(embedded, learned, events, failed, len(store.waiting(1)), trouble)


# Embedding


def adopt(store: Store, embedder: Embedder) -> None:
    """On a change of model, queue every text for the new one. Until its turn comes, words find it."""
    if store.meta("model") != embedder.model:
        store.await_vectors(embedder.model)
        store.set_meta("model", embedder.model)


def embed_waiting(store: Store, embedder: Embedder, size: int = BATCH) -> int:
    """Give a batch of waiting texts their vectors, newest first; a text that was embedded before is looked up."""
    batch = store.waiting(size)
    if not batch:
        return 0
    hashes = {id: fingerprint(text) for id, text in batch}
    known = store.known_vectors(embedder.model, list(set(hashes.values())))
    fresh = {hashes[id]: text for id, text in batch if hashes[id] not in known}
    known.update(zip(fresh, embedder.embed(list(fresh.values())) if fresh else (), strict=True))
    return store.put_vectors(embedder.model, {id: known[hash] for id, hash in hashes.items()}, hashes)


# Learning


def learn(store: Store, settings: Settings, now: float) -> tuple[int, int, int]:
    """Learn from the next events, in order. Returns (events, memories, failures)."""
    start = store.cursor("learn")
    events = store.events(after=start, verbs=LEARNED_FROM, limit=EVENTS)
    learned = failed = 0
    try:
        learned, failed = take_lessons(store, settings, events, now)
    except Conflict:    # our lease ran out and somebody else has learned from these: theirs stands
        return 0, 0, 0
    if events and events[-1].seq > store.cursor("learn"):
        store.advance("learn", events[-1].seq)
    return len(events), learned, failed


def take_lessons(store: Store, settings: Settings, events: Sequence[Event], now: float) -> tuple[int, int]:
    """Learn from each of these events. Returns (memories, failures)."""
    learned = failed = 0
    for event in events:
        try:
            changes = lessons(store, settings, event, now)
        except Exception as err:    # recorded with the event, listed by `status`; the next event has its own chance
            store.apply([], Event(verb="failed", space=event.space, session=event.session, at=now,
                                  payload={"event": event.seq, "error": f"{type(err).__name__}: {err}"[:500]}),
                        done=("learn", event.seq))
            failed += 1
            continue
        if changes:
            store.apply(changes, Event(verb="learn", space=event.space, session=event.session, at=now,
                                       payload={"event": event.seq}), done=("learn", event.seq))
            learned += len(changes)
    return learned, failed


def lessons(store: Store, settings: Settings, event: Event, now: float) -> list[Change]:
    """What one turn teaches: what the user asked to be remembered and what is not known word for word already."""
    home = home_of(event)
    if settings.is_off(home):
        return []
    found: list[Change] = []
    seen: set[str] = set()
    messages = event.payload.get("messages", ())
    start = event.payload.get("first", 0)
    places = event.payload.get("places") or range(start, start + len(messages))
    for first, said in zip(places, messages, strict=True):
        if said.get("role") != "user":
            continue
        for hit in found_in(said.get("text", "")):
            memory = built(clock.new_id(), now, hit.text, space=home, kind=hit.kind, provenance=hit.provenance,
                           at=event.at, session=event.session, speaker="user", messages=(first, first),
                           details={"rule": hit.rule})
            if same_words(memory) not in seen and not known_already(store, memory):
                found.append(Add(memory=memory))
            seen.add(same_words(memory))
    return found


def home_of(event: Event) -> str:
    """Where a conversation's lessons go: the space that its own space lies in, so that the next session has them."""
    return event.space.rpartition("/")[0] or event.space if event.payload.get("own") else event.space


def known_already(store: Store, memory: Memory) -> bool:
    """Whether the same words are there already, or were until somebody let go of them: that stands."""
    best = store.words(query_terms(memory.text), lineage(memory.space), 3)
    lately = store.browse(Filter(spaces=lineage(memory.space), kinds=(memory.kind,), active=None, limit=LATELY))
    return any(same_words(m) == same_words(memory) for m in (*store.get([id for id, _ in best]), *lately))


def same_words(memory: Memory) -> str:
    """What two memories share that say the same word for word."""
    return " ".join(memory.text.lower().split())


# Preparing


@dataclass(frozen=True, slots=True)
class Focus:
    """What a conversation is about just now."""

    text: str            # what is searched for
    context: str         # the window that trigger patterns are held against


def focus(window: Sequence[Said]) -> Focus:
    """The last thing the user said, alone: a short remark that borrows from the one before finds again what that found,
    and more of what nobody needs (bench.gate --borrowing).

    What tools answered may meet a trigger; it is never what is searched for.
    """
    said = [Said(m.role, without_injections(m.text).strip()) for m in window[-WINDOW_MESSAGES:] if m.role != "system"]
    context = "\n".join(m.text[-MESSAGE_CHARS:] for m in said)[-WINDOW_CHARS:]
    asked = [m.text for m in said if m.role == "user" and m.text]
    if not asked:
        spoken = "\n".join(m.text for m in said if m.role not in NOT_SPOKEN)
        return Focus(spoken[-MESSAGE_CHARS:], context)
    return Focus(asked[-1][:MESSAGE_CHARS], context)


def prepare(store: Store, embedder: Embedder | None, settings: Settings, attention: Attention, space: str,
            window: Sequence[Said], now: float, last: Any = None) -> tuple[Block, Any]:
    """The block for the next turn, and the vector of this context for telling a change of topic.

    Embed, search, topic check, filter, render: in this order (B90). Only decides; the caller records it.
    """
    about = focus(window)
    if not about.text or settings.is_off(space) or attention.seen_before(about.text, now):
        return EMPTY, last
    vector = embedded(embedder, about.text)
    attention.topic(similarity(vector, last))
    query = Query(text=about.text, context=about.context, spaces=lineage(space), now=now, vector=vector,
                  model=embedder.model if embedder else "", limit=settings.limit * 4, automatic=True,
                  not_session=attention.session, exclude=frozenset(attention.blocked(now)))
    return render(search(store, query), now, limit=settings.limit, budget=settings.budget), vector


def embedded(embedder: Embedder | None, text: str) -> Any:
    """The vector of a text, or None where no model answers: then words must do."""
    if embedder is None:
        return None
    try:
        return embedder.embed([text])[0]
    except NO_VECTOR:
        return None


def similarity(vector: Any, last: Any) -> float | None:
    """The cosine of two contexts; None where one has no vector."""
    return None if vector is None or last is None else float(vector @ last)


def redacted(said: Sequence[Said]) -> list[dict[str, str]]:
    """Messages as they may be written down."""
    return [{"role": short_role(message.role), "text": shortened(clean(message.text))} for message in said]


def short_role(role: str) -> str:
    """A role as it may be written down."""
    role = private(role)
    return role if len(role) <= MOST_ROLE else "other"    # a part of it may be half of a secret


def shortened(text: str) -> str:
    """A text without secrets, of a long one its beginning and its end. First redacted, then cut.

    Of a very long one only the ends are looked at: what then stands next to a cut is left out, as it may be half of a
    secret.
    """
    if len(text) > MOST_CHARS + 2 * SPARE:
        head, tail = redact(text[:HEAD + SPARE])[0][:-SPARE], redact(text[-(TAIL + SPARE):])[0][SPARE:]
        return head[:HEAD] + GAP + tail[-TAIL:]
    text = redact(text)[0]
    return text if len(text) <= MOST_CHARS else text[:HEAD] + GAP + text[-TAIL:]
