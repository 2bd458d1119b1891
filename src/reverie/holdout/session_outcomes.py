"""How conversations of a comparison went, read from the log."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from reverie.activity import FILE, TOOL
from reverie.activity.activity_events import count_file_reads, list_changed_paths
from reverie.core.model import Event
from reverie.memory.episodes import read_success
from reverie.pipeline.conversation_events import list_payload_ids, numbered_messages
from reverie.storage import Store
from reverie.storage.paging import iter_events_after
from reverie.text.learned_phrases import is_objection
from reverie.text.token_counts import estimate_tokens

TRIAL, SESSION_END = "trial", "session_end"
# Of a conversation that does not say that it is over, until it is taken to be.
QUIET_SECONDS = 3_600.0
# Events of one conversation that are read; a longer one is left out, for its end is not seen.
MAX_EVENTS = 20_000


class SessionOutcome(NamedTuple):
    """How one conversation went."""

    session: str
    space: str
    held_out: bool
    brought: frozenset[str]  # ids of what it was given, or of what was withheld from it
    given: tuple[str, ...]  # ids of what it was given, each as often as it was
    measures: Mapping[str, float]  # by the names in MEASURES


def read_outcomes(store: Store, now: float) -> list[SessionOutcome]:
    """The outcomes of all conversations of the comparison that are over, in order of their
    beginning.

    Left out is one that was on both sides, because the share was altered meanwhile, or that had
    begun before it was drawn.
    """
    sides: dict[tuple[str, str], set[bool]] = {}
    drawn: dict[tuple[str, str], int] = {}
    for event in iter_events_after(store, 0, (TRIAL,)):
        place = event.space, event.session
        sides.setdefault(place, set()).add(bool(event.payload.get("held_out")))
        drawn.setdefault(place, event.seq)
    found = []
    for (space, session), side in sides.items():
        events = store.events(
            session=session,
            space=space,
            verbs=("turn", "prepared", TOOL, FILE, SESSION_END),
            limit=MAX_EVENTS,
        )
        if len(side) == 1 and is_whole(events, drawn[space, session], now):
            found.append(measure_session(events, held_out=side == {True}))
    return found


def is_whole(events: Sequence[Event], drawn: int, now: float) -> bool:
    """True if a conversation was drawn before its first turn, has been read to its end, and is
    over.
    """
    # Runs of tools are written by a thread of their own, perhaps before the turn that they ran in.
    begun = next((event.seq for event in events if event.verb == "turn"), 0)
    if len(events) == MAX_EVENTS or begun < drawn:
        return False
    ended = any(event.verb == SESSION_END for event in events)
    return ended or now - events[-1].at > QUIET_SECONDS


def measure_session(events: Sequence[Event], *, held_out: bool) -> SessionOutcome:
    """The outcome of a conversation, of its events in order."""
    given = tuple(list_ids(events, "turn", "given"))
    # What was prepared and never asked for counts on both sides, or they would not be alike.
    waited = list_ids(events, "prepared", "withheld" if held_out else "ids")
    named = [*waited, *list_ids(events, "turn", "withheld")] if held_out else [*given, *waited]
    return SessionOutcome(
        events[0].session,
        events[0].space,
        held_out,
        frozenset(named),
        given,
        {name: float(measure(events)) for name, (_, measure) in MEASURES.items()},
    )


def list_ids(events: Sequence[Event], verb: str, name: str) -> Iterator[str]:
    """The ids in a list of the events of a verb, in order."""
    for event in events:
        if event.verb == verb:
            yield from list_payload_ids(event, name)


def list_prompts(events: Sequence[Event]) -> list[str]:
    """What the user said, in order."""
    return [
        text
        for event in events
        if event.verb == "turn"
        for _, role, text in numbered_messages(event)
        if role == "user"
    ]


def count_corrections(events: Sequence[Event]) -> int:
    """Prompts by which the user put the agent right; the first one has nothing to put right."""
    return sum(map(is_objection, list_prompts(events)[1:]))


def count_failures(events: Sequence[Event]) -> int:
    """Runs of tools that failed."""
    return sum(event.verb == TOOL and read_success(event.payload) is False for event in events)


def count_repeated_edits(events: Sequence[Event]) -> int:
    """Edits of a file that had been edited before."""
    edited = [path for event in events if event.verb == FILE for path in list_changed_paths(event)]
    return len(edited) - len(set(edited))


def count_repeated_reads(events: Sequence[Event]) -> int:
    """Reads of a file that had been read and was not changed since."""
    return count_file_reads(event for event in events if event.verb == FILE)[1]


def count_turns(events: Sequence[Event]) -> int:
    """Prompts of the user."""
    return len(list_prompts(events))


def count_tokens(events: Sequence[Event]) -> int:
    """About how many tokens were said, and given to tools and answered by them, as the log keeps
    it: of very long texts the ends.
    """
    said = sum(
        estimate_tokens(text)
        for event in events
        if event.verb == "turn"
        for _, _, text in numbered_messages(event)
    )
    worked = sum(
        estimate_tokens(str(event.payload.get(name) or ""))
        for event in events
        if event.verb == TOOL
        for name in ("command", "parameters", "result", "error")
    )
    return said + worked


MEASURES: Mapping[str, tuple[str, Callable[[Sequence[Event]], int]]] = {
    "corrections": ("corrections by the user", count_corrections),
    "failures": ("failed runs of tools", count_failures),
    "repeated_edits": ("edits of a file edited before", count_repeated_edits),
    "repeated_reads": ("reads of a file read before", count_repeated_reads),
    "turns": ("prompts until the end", count_turns),
    "tokens": ("tokens said and worked, about", count_tokens),
}
"""What is compared: what it is called, and how it is counted in a conversation. Fewer is better."""
