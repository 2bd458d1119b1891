"""Giving reminders: each occurrence to one conversation, once.

A reminder is looked for before a turn and given with it, and a block that waits may never be given.
So it is *claimed* while it waits in a block, by a lease that outlives the block, and it *fires*
when the block was given: in the transaction that writes down the turn. Two processes cannot claim
the same one, and one that dies with a claim lets go of it when the lease ends. Whoever fires
compares and sets, so that no occurrence fires twice, whatever happened to clocks and leases
meanwhile (C43, CC-67).

Always true: a reminder that was given and whose turn was written down is not given again; one that
was not given is not lost. A process that is killed after it gave a block, before the turn is
written down, leads to a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from reverie.context_window.injection_history import FRESH_FOR
from reverie.core.config import Settings
from reverie.core.errors import ReverieError
from reverie.core.kinds import INTENTION
from reverie.core.model import Event, Filter, Hit, Memory, lineage
from reverie.core.trigger_patterns import Scene, about_to_run, spoken
from reverie.memory import intention
from reverie.storage import Store
from reverie.storage.paging import pages
from reverie.text.host_messages import Said, tools_in
from reverie.text.injection_fence import without_injections

AT_ONCE = 3  # reminders in one block: the most urgent; the others come with the next turns
PAGE = 1_000  # intentions read at once
LAST_TURNS = 30  # newest turns among which the project's last one is looked for
# seconds: as long as a block may wait, and a minute to write down that it was given
CLAIM = FRESH_FOR + 60.0


def waiting(store: Store, space: str) -> list[Memory]:
    """Intentions in a space and above it that are still to fire."""
    return [memory for memory in intentions(store, space) if intention.waits(memory)]


def intentions(store: Store, space: str, *, active: bool | None = True) -> Iterator[Memory]:
    """All intentions in a space and above it, newest first: one that was kept years ago may be due
    today.

    Page by page; sleep bounds how many a space holds (`kinds.CAPACITY`). `active`: None for those
    that are over too.
    """
    where = Filter(spaces=lineage(space), kinds=(INTENTION,), active=active, limit=PAGE)
    return chain.from_iterable(pages(store, where))


def scenes_of(window: Iterable[Said]) -> list[Scene]:
    """What triggers are held against: each message of user and agent, and each call of a tool in
    them. What tools

    answered is no touch: a listing names every file.
    """
    scenes: list[Scene] = []
    for said in window:
        if said.role in ("user", "assistant") and (text := without_injections(said.text)).strip():
            calls = tools_in(text) if said.role == "assistant" else []
            scenes += [
                spoken(text),
                *(about_to_run(tool, given) for tool, given in calls),
                *(about_to_run(tool, command) for tool, command in said.ran),
            ]
    return scenes


def due_now(
    store: Store, settings: Settings, space: str, now: float, window: Iterable[Said] = ()
) -> list[Hit]:
    """What is due, or called for by the newest messages, whoever has a claim on it."""
    some = [] if settings.is_off(space) else waiting(store, space)
    context = scenes_of(window) if any(memory.triggers for memory in some) else []
    return intention.due(some, now, context)


def claimed(store: Store, found: Sequence[Hit], holder: str, now: float) -> list[Hit]:
    """The most urgent of them, claimed for whoever is about to give them; not those that somebody
    else has.
    """
    if not found:
        return []
    with store.alone():
        there = {memory.id: memory for memory in store.get([hit.memory.id for hit in found])}
        mine: list[Hit] = []
        for hit in found:
            now_there = there.get(hit.memory.id)
            if (
                len(mine) < AT_ONCE
                and now_there
                and intention.still(now_there, hit.memory)
                and store.acquire(lease_of(hit.memory), holder, CLAIM, now)
            ):
                mine.append(hit)
    return mine


def spoke_last(store: Store, space: str, session: str) -> bool:
    """Whether this conversation spoke last of those in its project: it is likeliest to speak next.
    Only that one holds

    on to reminders while it is silent; those that were left open do not keep them from it.
    """
    project = "/".join(space.split("/")[:2])
    turns = store.events(verbs=("turn",), newest=True, limit=LAST_TURNS)
    last = next((turn for turn in turns if f"{turn.space}/".startswith(f"{project}/")), None)
    return last is not None and last.session == session


def at_start(store: Store, settings: Settings, space: str, holder: str, now: float) -> list[Hit]:
    """What is due when a conversation begins (C112). A store in trouble has nothing; it is met
    again and reported.
    """
    try:
        return claimed(store, due_now(store, settings, space, now), holder, now)
    except ReverieError:
        return []


def let_go(store: Store, memories: Iterable[Memory], holder: str) -> None:
    """These will not be given: others may."""
    for memory in memories:
        store.release(lease_of(memory), holder)


def fire(store: Store, seen: Sequence[Memory], now: float, session: str = "") -> list[Memory]:
    """These were given. Returns those that fired by this, as they were: what somebody else has
    fired, moved or ended

    since they were `seen` is left alone. One transaction, with those that are open around it.
    """
    if not seen:
        return []
    with store.alone():
        there = {memory.id: memory for memory in store.get([memory.id for memory in seen])}
        mine = [
            there[memory.id]
            for memory in seen
            if memory.id in there and intention.still(there[memory.id], memory)
        ]
        if mine:
            whens = {memory.id: intention.reminder_of(memory).when for memory in mine}
            store.apply(
                [intention.fired(memory, now) for memory in mine],
                Event("fired", mine[0].space, now, session, {"occurrences": whens}),
            )
    return mine


def unclaimed(store: Store, hits: Iterable[Hit], now: float) -> list[Hit]:
    """Those that no conversation is about to give."""
    return [hit for hit in hits if store.holder(lease_of(hit.memory), now) is None]


def lease_of(memory: Memory) -> str:
    """The name of the lease on a reminder."""
    return f"reminder:{memory.id}"
