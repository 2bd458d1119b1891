"""Giving reminders: each occurrence to one conversation, once.

A reminder is looked for before a turn and given with it, and a block that waits may never be given.
So it is *claimed* while it waits in a block, by a lease that outlives the block, and it *fires*
when the block was given: in the transaction that writes down the turn. Two processes cannot claim
the same one, and one that dies with a claim lets go of it when the lease ends. Whoever fires
compares and sets, so that no occurrence fires twice, whatever happened to clocks and leases
meanwhile.

Always true: a reminder that was given and whose turn was written down is not given again; one that
was not given is not lost. A process that is killed after it gave a block, before the turn is
written down, leads to a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, starmap
from typing import TYPE_CHECKING

from reverie.context_window.injection_history import FRESH_SECONDS
from reverie.core.config import Settings
from reverie.core.errors import ReverieError
from reverie.core.kinds import INTENTION
from reverie.core.model import Event, Filter, Hit, Memory, index_memories, visible_spaces
from reverie.core.trigger_patterns import (
    TriggerContext,
    context_of_conversation,
    context_of_tool_call,
)
from reverie.memory import intention
from reverie.storage import Store
from reverie.storage.paging import read_memory_pages

if TYPE_CHECKING:
    from reverie.text.host_messages import HostMessage

# Reminders in one block: the most urgent; the others come with the next turns.
MAX_AT_ONCE = 3
# Intentions read at once.
PAGE_SIZE = 1_000
# Newest turns among which the project's last one is looked for.
MAX_LAST_TURNS = 30
# As long as a block may wait, and a minute to write down that it was given.
CLAIM_SECONDS = FRESH_SECONDS + 60.0


def load_waiting_reminders(store: Store, spaces: Sequence[str]) -> list[Memory]:
    """Intentions in a space and above it that are still to fire."""
    return [memory for memory in iter_intentions(store, spaces) if intention.is_waiting(memory)]


def iter_intentions(
    store: Store,
    spaces: Sequence[str],
    *,
    active: bool | None = True,
) -> Iterator[Memory]:
    """All intentions in these spaces, newest first: one that was kept years ago may be due today.

    They are read page by page; sleep bounds how many a space holds. `active`: None for those that
    are over too.
    """
    where = Filter(
        spaces=tuple(spaces),
        kinds=(INTENTION,),
        active=active,
        limit=PAGE_SIZE,
    )
    return chain.from_iterable(read_memory_pages(store, where))


def build_scenes(window: Iterable[HostMessage]) -> list[TriggerContext]:
    """What triggers are held against: each message of user and agent, and each tool call in them.

    What tools answered is left out: a listing names every file.
    """
    # What a hook gives by its time needs none of these: they take as long as its other half.
    from reverie.text.host_messages import find_tool_calls
    from reverie.text.injection_fence import remove_injections

    scenes: list[TriggerContext] = []
    for said in window:
        text = remove_injections(said.text) if said.role in ("user", "assistant") else ""
        if text.strip():
            calls = find_tool_calls(text) if said.role == "assistant" else []
            scenes.append(context_of_conversation(text))
            scenes += starmap(context_of_tool_call, (*calls, *said.long_commands))
    return scenes


def load_due_reminders(
    store: Store,
    settings: Settings,
    space: str,
    now: float,
    window: Iterable[HostMessage] = (),
) -> list[Hit]:
    """What is due, or called for by the newest messages, whoever has a claim on it."""
    some = [] if settings.is_off(space) else load_waiting_reminders(store, visible_spaces(space))
    context = build_scenes(window) if any(memory.triggers for memory in some) else []
    return intention.find_due_reminders(some, now, context)


def claim_reminders(
    store: Store,
    found: Sequence[Hit],
    holder: str,
    now: float,
) -> list[Hit]:
    """The most urgent of them, at most MAX_AT_ONCE, claimed for `holder`, who is about to give
    them.

    What another holder has claimed is left out.
    """
    if not found:
        return []
    mine: list[Hit] = []
    with store.transaction():
        same = load_same_occurrences(store, [hit.memory for hit in found])
        for hit in found:
            is_wanted = hit.memory.id in same and len(mine) < MAX_AT_ONCE
            lease = reminder_lease(hit.memory)
            if is_wanted and store.acquire(lease, holder, CLAIM_SECONDS, now):
                mine.append(hit)
    return mine


def load_same_occurrences(store: Store, seen: Iterable[Memory]) -> dict[str, Memory]:
    """By id, those that were seen and still wait for the same occurrence, as they are now."""
    before = index_memories(seen)
    there = store.get(list(before))
    return {
        one.id: one
        for one in there
        if intention.is_same_occurrence(
            one,
            before[one.id],
        )
    }


def is_last_speaker(
    store: Store,
    space: str,
    session: str,
) -> bool:
    """True if this conversation spoke last of those in its project: it is likeliest to speak next.

    Only that one holds on to reminders while it is silent; those that were left open do not keep
    them from it.
    """
    # "user/project": a conversation's own space lies below it.
    project = "/".join(space.split("/")[:2])
    turns = store.events(
        verbs=("turn",),
        newest=True,
        limit=MAX_LAST_TURNS,
    )
    last = next((turn for turn in turns if f"{turn.space}/".startswith(f"{project}/")), None)
    return last is not None and last.session == session


def claim_at_start(
    store: Store,
    settings: Settings,
    space: str,
    holder: str,
    now: float,
) -> list[Hit]:
    """What is due when a conversation begins, claimed for it.

    A store in trouble has nothing; it is met again and reported.
    """
    try:
        return claim_reminders(store, load_due_reminders(store, settings, space, now), holder, now)
    except ReverieError:
        return []


def release_reminders(
    store: Store,
    memories: Iterable[Memory],
    holder: str,
) -> None:
    """Give up the claims on these: they will not be given, and others may."""
    for memory in memories:
        store.release(reminder_lease(memory), holder)


def fire_reminders(
    store: Store,
    seen: Sequence[Memory],
    now: float,
    session: str = "",
) -> list[Memory]:
    """Record that these were given; returns those that fired by this, as they were.

    What somebody else has fired, moved or ended since they were `seen` is left alone. One
    transaction, with those that are open around it.
    """
    if not seen:
        return []
    with store.transaction():
        mine = list(load_same_occurrences(store, seen).values())
        if mine:
            whens = {memory.id: intention.read_reminder(memory).when for memory in mine}
            store.apply(
                [intention.mark_fired(memory, now) for memory in mine],
                Event("fired", mine[0].space, now, session, {"occurrences": whens}),
            )
    return mine


def filter_unclaimed(
    store: Store,
    hits: Iterable[Hit],
    now: float,
) -> list[Hit]:
    """The hits that no conversation is about to give."""
    return [
        hit
        for hit in hits
        if store.holder(
            reminder_lease(hit.memory),
            now,
        )
        is None
    ]


def reminder_lease(memory: Memory) -> str:
    """The name of the lease on a reminder."""
    return f"reminder:{memory.id}"
