"""What a turn teaches: what the user asked to be remembered and what is not known word for word already."""

from __future__ import annotations

from reverie import clock
from reverie.lifecycle.extract import found_in
from reverie.lifecycle.intake import built
from reverie.model import Add, Change, Event, Filter, Memory, lineage
from reverie.settle.reading import Decision, Reader, Work
from reverie.store import Store
from reverie.words import query_terms

LEARNED_FROM = ("turn",)
LATELY = 500             # newest memories of a kind among which a lesson is looked for that was let go of


def lessons(work: Work, event: Event) -> Decision:
    """What one turn teaches: what the user asked to be remembered and what is not known word for word already."""
    home = home_of(event)
    if work.settings.is_off(home):
        return Decision()
    found: list[Change] = []
    seen: set[str] = set()
    messages = event.payload.get("messages", ())
    start = event.payload.get("first", 0)
    places = event.payload.get("places") or range(start, start + len(messages))
    for first, said in zip(places, messages, strict=True):
        if said.get("role") != "user":
            continue
        for hit in found_in(said.get("text", "")):
            memory = built(clock.new_id(), work.now, hit.text, space=home, kind=hit.kind, provenance=hit.provenance,
                           at=event.at, session=event.session, speaker="user", messages=(first, first),
                           details={"rule": hit.rule})
            if same_words(memory) not in seen and not known_already(
                    work.store, memory, event.seq if hit.explicit else None):
                found.append(Add(memory=memory))
            seen.add(same_words(memory))
    return Decision(found)


def home_of(event: Event) -> str:
    """Where a conversation's lessons go: the space that its own space lies in, so that the next session has them."""
    return event.space.rpartition("/")[0] or event.space if event.payload.get("own") else event.space


def known_already(store: Store, memory: Memory, asked: int | None = None) -> bool:
    """Whether the same words are there already, or were until somebody let go of them.

    That stands, unless the user `asked` in so many words, in an event after the one that let go (B100).
    """
    best = store.words(query_terms(memory.text), lineage(memory.space), 3)
    lately = store.browse(Filter(spaces=lineage(memory.space), kinds=(memory.kind,), active=None, limit=LATELY))
    same = [m for m in (*store.get([id for id, _ in best]), *lately) if same_words(m) == same_words(memory)]
    return any(one.active or asked is None or let_go(store, one) > asked for one in same)


def let_go(store: Store, memory: Memory) -> int:
    """The number of the event after which a memory counted no longer; 0 if that is not known."""
    return max((r.event.seq for r in store.history(memory.id) if r.after.get("retired_at") is not None), default=0)


def same_words(memory: Memory) -> str:
    """What two memories share that say the same word for word."""
    return " ".join(memory.text.lower().split())


READER = Reader(name="learn", verbs=LEARNED_FROM, verb="learn", decide=lessons)
