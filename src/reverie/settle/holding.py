"""Working memory follows its conversation: the user's last words are noted, and it is cleared when all is done.

A reader of the log like the others, so nobody's turn waits for it (C15, C76). What an agent put there stays; its hour
begins anew with each turn. It is cleared when the conversation ends, or when a task in it is recorded as done or
failed. A turn that is read later than its hour, as when a backlog is learned from, sets nothing.
"""

from __future__ import annotations

from reverie import clock
from reverie.lifecycle import scratch
from reverie.lifecycle.episode import went
from reverie.lifecycle.extract import without_injections
from reverie.model import Add, Event, Filter, Memory, Retire, Revise
from reverie.settle.learning import home_of, said_in
from reverie.settle.reading import Decision, Reader, Work
from reverie.store import Store

ENDINGS = ("session_end",)
WORK = ("task", "goal")
NAME = "hold"


def held_in(store: Store, space: str) -> Memory | None:
    """The scratch pad of the conversation whose space this is, if there is one that counts."""
    found = store.browse(Filter(spaces=(space,), kinds=(scratch.KIND,), limit=1))
    return found[0] if found else None


def followed(work: Work, event: Event) -> Decision:
    """What an event means for the working memory of its conversation."""
    home = home_of(event)
    if not event.session or work.settings.is_off(home):
        return Decision()
    space = scratch.space_of(home, event.session)
    old = held_in(work.store, space)
    if event.verb in ENDINGS or (event.verb in WORK and went(event.payload) is not None):
        return Decision([Retire(old.id, work.now, why="completed")], [old]) if old else Decision()
    turn = "\n".join(text for _, role, text in said_in(event) if role == "user")
    turn = without_injections(turn).strip() if event.verb == "turn" else ""
    if not turn or event.at + 60.0 * scratch.MINUTES <= work.now:
        return Decision()
    return noted(old, event, space, turn)


def noted(old: Memory | None, event: Event, space: str, turn: str) -> Decision:
    """The user's last words in the scratch pad, with what an agent put there."""
    kept = scratch.held_by(old, event.at) if old else scratch.Held()
    minutes = max(scratch.MINUTES, (kept.until - event.at) / 60.0)
    new = scratch.pad(old.id if old else clock.new_id(), event.at, space, event.session, kept.content, turn, minutes)
    if old is None:
        return Decision([Add(new)])
    fields = scratch.replaced(old, new)
    return Decision([Revise(old.id, fields)] if fields else [], [old])


READER = Reader(name=NAME, verbs=("turn", *ENDINGS, *WORK), verb=NAME, decide=followed)
