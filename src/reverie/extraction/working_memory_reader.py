"""Working memory follows its conversation: it holds the user's last words, and is cleared when all
is done.

A reader of the log like the others, so nobody's turn waits for it. What an agent put there stays;
its hour, or the span that the agent gave it, begins anew with each turn. It is cleared when the
conversation ends, or when a task in it is recorded as done or failed. A turn that is read more than
an hour late, as when a backlog is learned from, sets nothing.
"""

from collections.abc import Sequence

from reverie.core import clock
from reverie.core.model import Add, Event, Filter, Memory, Retire, Revise
from reverie.memory.episodes import read_success
from reverie.memory.working_memory import (
    DEFAULT_MINUTES,
    KIND,
    HeldContent,
    build_scratch_pad,
    changed_pad_fields,
    conversation_space,
    read_held_content,
)
from reverie.pipeline.conversation_events import lesson_space_of, numbered_messages
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.storage import Store
from reverie.text.injection_fence import remove_injections

ENDINGS = ("session_end",)
WORK_VERBS = ("task", "goal")
NAME = "hold"
PAD_SECONDS = 60.0 * DEFAULT_MINUTES


def find_scratch_pads(store: Store, space: str) -> list[Memory]:
    """The active scratch pad of a conversation's space, if there is one, in a list.

    An agent and a reader may each make one at the same moment: then both are returned, the
    agent's first, and who writes next makes them one.
    """
    found = store.browse(Filter(spaces=(space,), kinds=(KIND,)))
    return sorted(found, key=lambda pad: not pad.details.get("content"))


def update_working_memory(work: WorkContext, event: Event) -> ReaderDecision:
    """What an event changes in the working memory of its conversation."""
    home = lesson_space_of(event)
    if not event.session or work.settings.is_off(home, event.session):
        return ReaderDecision()
    space = conversation_space(home, event.session)
    pads = find_scratch_pads(work.store, space)
    is_work_done = event.verb in WORK_VERBS and read_success(event.payload) is not None
    # What it held was for this piece of work.
    if event.verb in ENDINGS or is_work_done:
        return ReaderDecision(
            [Retire(pad.id, work.now, why="completed") for pad in pads],
            pads,
        )
    if event.verb != "turn":
        return ReaderDecision()
    words = "\n".join(text for _, role, text in numbered_messages(event) if role == "user")
    words = remove_injections(words).strip()
    if not words or event.at + PAD_SECONDS <= work.now:
        return ReaderDecision()
    return note_user_words(work, pads, event, space, words)


def note_user_words(
    work: WorkContext,
    pads: Sequence[Memory],
    event: Event,
    space: str,
    turn: str,
) -> ReaderDecision:
    """Put the user's last words into the scratch pad and keep what an agent put there."""
    old = pads[0] if pads else None
    earlier = read_held_content(old, event.at) if old else HeldContent()
    at = max(event.at, earlier.at)
    # The span that the agent gave it begins anew, or the usual one.
    seconds = earlier.until - earlier.at if earlier else PAD_SECONDS
    held = HeldContent(earlier.content, turn, at, at + seconds)
    id = old.id if old else clock.new_id()
    new = build_scratch_pad(id, space, event.session, held, work.policy)
    if old is None:
        return ReaderDecision([Add(new)])
    revision = Revise(old.id, changed_pad_fields(old, new))
    return ReaderDecision([revision, *retire_spare_pads(pads, event.at)], pads)


def retire_spare_pads(pads: Sequence[Memory], now: float) -> list[Retire]:
    """Retire all pads but the first: a conversation has one."""
    return [Retire(pad.id, now, why="replaced") for pad in pads[1:]]


READER = EventReader(
    name=NAME,
    verbs=("turn", *ENDINGS, *WORK_VERBS),
    verb=NAME,
    decide=update_working_memory,
)
