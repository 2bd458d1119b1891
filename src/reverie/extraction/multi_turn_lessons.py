"""What shows only over several turns: an error, and what was done until it was gone.

A reader that needs no memory of its own: what it has read of a conversation stands in the log, in
its own `gather` events. It looks when a conversation ends, before its context is compacted, when
its topic changes after at least four turns, and every twelve turns (CONSTANTS: extraction triggers;
B103, X17). A failure that has not been overcome yet is looked at again the next time, so that no
fix is lost at a seam.

A conversation that just stops is not looked at here; sleep finds it by its turns that no `gather`
event covers.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.core.model import Event
from reverie.extraction.rule_extraction import WORTH, Gleaned, gleaned
from reverie.extraction.turn_learning import KNOWN, Source, decided
from reverie.pipeline.conversation_events import home_of, said_in
from reverie.pipeline.event_reader import Decision, Reader, Work
from reverie.storage import Store
from reverie.text.tokenization import query_terms

TURNS = ("turn",)
# recorded by hosts: the conversation is over, or about to be shortened
ENDS = (
    "session_end",
    "compact",
)
EVERY = 12  # turns of the user (CONSTANTS: extraction triggers)
SETTLED = 4  # turns after which a change of topic counts
TELLING = 4  # content words that a remark needs to begin a topic
MOST = 400  # events that are looked at together


def gathered(work: Work, event: Event) -> Decision:
    """What a stretch of conversation teaches, if this event is where it ends."""
    home = home_of(event)
    if not event.session or work.settings.is_off(home, event.session):
        return Decision()
    before, new = unread(work.store, event)
    if not new or not (event.verb in ENDS or is_seam(new)) or length([*before, *new]) < WORTH:
        return Decision()
    return lessons_of(work, [*before, *new], event.seq)


def lessons_of(work: Work, turns: Sequence[Event], upto: int) -> Decision:
    """What these turns of one conversation teach together. Also for conversations whose process
    died.
    """
    said = [
        (seq, *one) for turn in turns for seq, one in ((turn.seq, line) for line in said_in(turn))
    ]
    found = gleaned([(role, text) for _, _, role, text in said])
    observed = Gleaned(
        tuple(one for one in found.found if one.provenance == "observed"), (), found.waiting
    )
    last = turns[-1]
    source = Source(home_of(last), last.session, last.at, [place for _, place, _, _ in said])
    decision = decided(work, observed, source)
    account = decision.payload
    again = min((said[place][0] for place in found.waiting), default=upto + 1)
    left = {reason: n for reason, n in (account.get("rejected") or {}).items() if reason != KNOWN}  # type: ignore[attr-defined]
    return decision._replace(
        payload={
            "kept": account.get("kept", 0),
            "upto": upto,
            "from": again,
            **({"rejected": left} if left else {}),
        }
    )


def unread(store: Store, event: Event) -> tuple[list[Event], list[Event]]:
    """The turns of a conversation up to this event: those of errors that were still open, and those
    not looked at.
    """
    done = covered(store, event)
    upto = int(done.payload.get("upto", 0)) if done else 0
    since = min(upto, int(done.payload.get("from", upto + 1)) - 1) if done else 0
    found = store.events(
        after=since, verbs=TURNS, session=event.session, space=event.space, limit=MOST
    )
    turns = [turn for turn in found if turn.seq <= event.seq]
    return [turn for turn in turns if turn.seq <= upto], [turn for turn in turns if turn.seq > upto]


def length(turns: Sequence[Event]) -> int:
    """Characters that were said."""
    return sum(len(text) for turn in turns for _, _, text in said_in(turn))


def covered(store: Store, event: Event) -> Event | None:
    """The last look at this conversation, if there was one."""
    looks = store.events(
        verbs=("gather",), session=event.session, space=event.space, newest=True, limit=1
    )
    return looks[0] if looks else None


def is_seam(turns: Sequence[Event]) -> bool:
    """Whether enough has been said since the last look, or something else is talked about now."""
    asked = [text for turn in turns if (text := spoken(turn))]
    return len(asked) >= EVERY or (
        len(asked) > SETTLED and bool(spoken(turns[-1])) and is_other(asked)
    )


def is_other(asked: Sequence[str]) -> bool:
    """Whether the last remark shares no content word with those before it."""
    last = set(query_terms(asked[-1]))
    return len(last) >= TELLING and last.isdisjoint(
        word for text in asked[-1 - SETTLED : -1] for word in query_terms(text)
    )


def spoken(turn: Event) -> str:
    """What the user says in a turn."""
    return "\n".join(text for _, role, text in said_in(turn) if role == "user" and text.strip())


READER = Reader(name="gather", verbs=(*TURNS, *ENDS), verb="gather", decide=gathered)
