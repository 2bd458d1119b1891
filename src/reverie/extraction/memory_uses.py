"""Which memories that an agent was given it then used: they are in what it did next.

The event of a turn names what was given with it (`given`). What the agent says and hands to tools
after that holds words that it can only have from there, or does not: then the memory was given and
ignored, and nothing is counted. One use is counted for each time that a memory was given, in the
event `used`, which also says what was there before; so a use can be undone and asked about like any
other change. What somebody asked for is counted by `retrieve`.

Not seen are uses that leave no words: a prohibition that was heeded, an answer in another language.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from reverie.core.model import Event, Memory, Revise, visible_spaces
from reverie.pipeline.conversation_events import iterate_messages, list_payload_ids
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.text.domain_stopwords import domain_stop_stems, strip_ending
from reverie.text.function_words import tokenize_content
from reverie.text.prompt_phrases import PAIRED_SCRIPTS, detect_scripts
from reverie.transcripts.message_passages import read_spoken_text

VERB = "used"
# Newest turns of a conversation whose memories may be used now: what was given before them lies far
# up in the context. And newest uses that are looked at, so that each is counted once.
MAX_TURNS, MAX_USES = 6, 200
# A memory is used if what was done has so many of the words that it alone brought, and this share
# of them; or most of the few that it brought. Of a script without spaces twice as many.
USED_WORDS, USED_SHARE, MOST = 2, 0.2, 0.5
# Characters of one text that are looked at.
MAX_CHARS = 8_000


def count_uses(work: WorkContext, event: Event) -> ReaderDecision:
    """The uses in one event: what the agent said in a turn, or gave to a tool."""
    if not event.session or work.settings.is_off(event.space, event.session):
        return ReaderDecision()
    did = [*read_actions(event)]
    turns = list_turns_before(work, event) if did else []
    given = {id: turn for turn in turns for id in list_payload_ids(turn, "given")}
    if not given:
        return ReaderDecision()
    counted = read_counted_uses(work, event)
    left = [id for id, turn in given.items() if counted.get(id, 0) < turn.seq]
    changes, uses = [], {}
    memories = [memory for memory in work.store.get(left) if memory.active]
    for memory in memories:
        heard = list_heard(turns, event, given[memory.id])
        if any(uses_memory(action, memory, heard) for action in did):
            changes.append(note_use(memory, event.at))
            uses[memory.id] = given[memory.id].seq
    used = [memory for memory in memories if memory.id in uses]
    return ReaderDecision(changes, used, {"uses": uses} if uses else {})


def note_use(memory: Memory, at: float) -> Revise:
    """The change that notes a use; how far it is believed stays as it is."""
    fields = {
        "access_count": memory.access_count + 1,
        "last_accessed_at": max(at, memory.last_accessed_at or at),
    }
    return Revise(memory.id, fields)


def read_actions(event: Event) -> Iterator[str]:
    """What an agent said or gave to a tool in an event; what it said before the user's last words
    in that turn answers an earlier one, and stands there too.
    """
    if event.verb == "turn":
        for _, role, text, _ in iterate_messages(event):
            spoken_role, spoken = read_spoken_text(role, text)
            if spoken_role == "assistant" and spoken.strip():
                yield spoken
        return
    yield from filter(None, list_texts(event.payload.get("parameters")))
    if command := event.payload.get("command"):
        yield str(command)


def list_texts(value: Any) -> Iterator[str]:
    """The texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from list_texts(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from list_texts(inner)


def list_turns_before(work: WorkContext, event: Event) -> list[Event]:
    """The newest turns of a conversation before an event, in order; tools may run in the project
    around a conversation's own space.
    """
    found = work.store.events(
        session=event.session,
        verbs=("turn",),
        before=event.seq,
        newest=True,
        limit=MAX_TURNS,
    )
    return [turn for turn in reversed(found) if is_same_place(turn.space, event.space)]


def is_same_place(one: str, other: str) -> bool:
    """True if one space lies in the other or is it."""
    return one in visible_spaces(other) or other in visible_spaces(one)


def read_counted_uses(work: WorkContext, event: Event) -> dict[str, int]:
    """The turn with which each memory was given whose use was counted last."""
    counted: dict[str, int] = {}
    for use in work.store.events(session=event.session, verbs=(VERB,), newest=True, limit=MAX_USES):
        for id, turn in (use.payload.get("uses") or {}).items():
            counted[id] = max(turn, counted.get(id, 0))
    return counted


def list_heard(turns: Iterable[Event], event: Event, given: Event) -> list[str]:
    """What the agent had from elsewhere: all that others said, and what it said itself before."""
    return [
        text
        for turn in (*turns, *((event,) if event.verb == "turn" else ()))
        for _, role, text, _ in iterate_messages(turn)
        if role != "assistant" or turn.seq <= given.seq
    ]


def uses_memory(action: str, memory: Memory, heard: Iterable[str]) -> bool:
    """True if an action holds enough of what only the memory says.

    What called the memory up, such as the file that is edited, it did not bring.
    """
    said = f"{memory.title} {memory.text}"
    known = set[str]().union(*map(telling_stems, (*heard, *memory.triggers, *memory.files)))
    brought = telling_stems(said) - known
    used = brought & telling_stems(action)
    if not used:
        return False
    least = USED_WORDS * (2 if detect_scripts(said) & PAIRED_SCRIPTS else 1)
    share = len(used) / len(brought)
    return share >= MOST or (len(used) >= least and share >= USED_SHARE)


@lru_cache(maxsize=512)
def telling_stems(text: str) -> frozenset[str]:
    """The words of a text that say what it is about, without endings, in any language."""
    words = map(strip_ending, tokenize_content(text[:MAX_CHARS]))
    return frozenset(words) - domain_stop_stems()


READER = EventReader(
    name="use",
    verbs=("turn", "tool"),
    verb=VERB,
    decide=count_uses,
)
