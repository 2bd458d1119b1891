"""Spaces that are called otherwise on other machines.

A project's space is named after the path of its folder, which may differ. Who says that a space of
the logs is one of their own has it under that name, and tells it under the other. Two projects of
one name are never taken for one by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from reverie.core.config import ME, name_of_project_space
from reverie.core.errors import BadInput
from reverie.core.model import Change, Event, Filter, Memory, Revise, is_within
from reverie.pipeline.event_reader import WorkContext
from reverie.storage import Store
from reverie.sync.device_logs.local_changes import add_waiting, note_local_changes
from reverie.sync.device_logs.log_state import load_marks, load_own, save_marks, save_own
from reverie.sync.device_logs.marks import Mark, next_stamp

SpaceNames = Sequence[tuple[str, str]]  # (in the logs, here)
MAX_MOVED = 1_000_000


def to_here(names: SpaceNames, space: str) -> str:
    """What a space of the logs is called here."""
    return rename(((there, here) for there, here in names), space)


def to_logs(names: SpaceNames, space: str) -> str:
    """What a space is called in the logs."""
    return rename(((here, there) for there, here in names), space)


def rename(pairs: Iterable[tuple[str, str]], space: str) -> str:
    """A space, or one below it, by the first pair that speaks of it."""
    for old, new in pairs:
        if is_within(space, old):
            return new + space[len(old) :]
    return space


def join_spaces(work: WorkContext, there: str, here: str) -> int:
    """Take a space of the logs for one of one's own from now on; how many memories it had.

    What has come under the other name moves, and what is told from here goes under it.
    """
    store = work.store
    if there == here or not is_below_me(there) or not is_below_me(here):
        raise BadInput("Name two spaces of yours, such as me/demo-3f2a91 and me/demo-07bc4e")
    with store.transaction():
        own = load_own(store)
        if own is None:
            raise BadInput("This memory is in step with no other machine: reverie sync add FOLDER")
        note_local_changes(store, own, work.settings, work.now)
        rest = [pair for pair in own.spaces if there not in pair and pair[1] != here]
        save_own(store, own._replace(spaces=(*rest, (there, here))))
        for memory in list_below(store, here):
            mark_space(store, memory, own.device, work.now)
        moving = list_below(store, there)
        moves: list[Change] = [
            Revise(one.id, {"space": rename([(there, here)], one.space)}) for one in moving
        ]
        if moves:
            store.apply(moves, Event("revise", here, work.now, payload={"from": there}))
    return len(moves)


def is_below_me(space: str) -> bool:
    """True for a space of the user's below `me`."""
    return space.startswith(f"{ME}/")


def list_below(store: Store, space: str) -> list[Memory]:
    """The memories of a space and those below it."""
    names = [name for name in list_spaces(store) if is_within(name, space)]
    if not names:
        return []
    return store.browse(Filter(spaces=tuple(names), active=None, limit=MAX_MOVED))


def list_spaces(store: Store) -> list[str]:
    """The spaces in which there are memories."""
    return sorted(store.stats().spaces)


def mark_space(store: Store, memory: Memory, device: str, now: float) -> None:
    """Have a memory told anew because of its space."""
    known = load_marks(store, memory.id)
    if known is None:
        return
    mark = Mark(next_stamp(known.marks.latest(), now), device)
    marks = known.marks._replace(fields={**known.marks.fields, "space": mark})
    save_marks(store, memory.id, known._replace(marks=marks))
    add_waiting(store, [memory.id])


def find_namesakes(store: Store) -> list[tuple[str, str]]:
    """(one, other): spaces of projects of one name, of which one may be the other's on another
    machine.
    """
    found: dict[str, list[str]] = {}
    for space in list_spaces(store):
        if is_below_me(space) and space.count("/") == 1:
            found.setdefault(name_of_project_space(space), []).append(space)
    pairs = [names for names in found.values() if len(names) > 1]
    return [(names[0], names[1]) for names in pairs]
