"""One space of the mirror brought in step with the store: see `settle.mirroring`, which decides
when.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from reverie.core.errors import Conflict, NotFound
from reverie.core.model import Event, Filter, Memory, Record, revised
from reverie.mirror.apply_page_edits import Obeyed, obeyed
from reverie.mirror.base_copy import Copy
from reverie.mirror.file_exchange import Look
from reverie.mirror.mirror_folder import HIDDEN, Folder, Found, State, Trouble
from reverie.mirror.page_blocks import Block, Item, Page, as_prose
from reverie.mirror.page_placement import LONG, Line, place
from reverie.mirror.page_rendering import without, woven
from reverie.mirror.three_way_merge import Merged, doubtful, merge
from reverie.pipeline.event_reader import Work
from reverie.storage import Store

ANEW = 5  # times that it is done again because the store or a page was altered meanwhile
EVERY = 1_000_000_000  # memories of a space


class Order(NamedTuple):
    """What somebody asks for."""

    # where many lines are gone: True forgets them, False writes them anew, None asks
    forget: bool | None = None
    afresh: bool = False  # look at every memory and page, not only at what was altered
    retry: bool = False  # look again at pages that were left alone or that wait for an answer
    begin: bool = False  # make MEMORY.md although there is nothing to say yet


class Mirrored(NamedTuple):
    """What bringing one space in step did."""

    space: str
    folder: Path
    new: int = 0  # lines that were remembered
    revised: int = 0
    forgotten: int = 0
    revived: int = 0  # of the revised: the program had let them go
    pages: tuple[str, ...] = ()  # that were written
    # memories that the program had altered meanwhile: the person's word holds
    clashes: tuple[str, ...] = ()
    questions: tuple[tuple[str, int, int], ...] = ()  # (page, lines that are gone, of how many)
    # pages that are left alone, and why; lines that could not be taken in
    troubles: tuple[str, ...] = ()
    events: tuple[int, ...] = ()  # what `undo` takes

    @property
    def taken(self) -> int:
        """How many lines of people were taken in."""
        return self.new + self.revised + self.forgotten

    def then(self, later: Mirrored) -> Mirrored:
        """This and one more round; questions and troubles are those that are left."""
        return later._replace(
            new=self.new + later.new,
            revised=self.revised + later.revised,
            forgotten=self.forgotten + later.forgotten,
            revived=self.revived + later.revived,
            pages=tuple(dict.fromkeys((*self.pages, *later.pages))),
            events=(*self.events, *later.events),
            clashes=tuple(dict.fromkeys((*self.clashes, *later.clashes))),
        )


class Sheet(NamedTuple):
    """A page on the desk: as found, as it was written last, and what the store says now."""

    found: Found
    copy: Copy
    ours: dict[str, Line]
    merged: Merged


def synced(work: Work, folder: Folder, order: Order) -> Mirrored:
    """A space brought in step."""
    done = Mirrored(folder.space, folder.path)
    for _ in range(ANEW):
        step, again = one_round(work, folder, order)
        done = done.then(step)
        if not again:
            break
    return done


def one_round(work: Work, folder: Folder, order: Order) -> tuple[Mirrored, bool]:
    """One round, and whether something was altered meanwhile, so that another one is needed."""
    store, state, seq = work.store, folder.state(), work.store.last_event()
    afresh = order.afresh or state.seq < 0 or state.seq > seq or HIDDEN in state.troubles
    altered = folder.altered(state)
    records = [] if afresh else store.altered_after(state.seq)
    there = {m.id: m for m in store.get(list(dict.fromkeys(r.memory_id for r in records)))}
    names = (
        altered.keys()
        | concerned(records, there, folder.space)
        | (state.held - {HIDDEN} if order.retry else set())
        | ({LONG} if order.begin and LONG not in state.looks else set())
    )
    copies = {name: folder.copy(name) for name in names}
    # A page that did not follow the store for a while, or whose copy is gone: what was altered
    # lately is not enough.
    all_of_them = afresh or any(
        name in state.held or (name in state.looks and not copy.stamp)
        for name, copy in copies.items()
    )
    memories = (
        store.browse(Filter(spaces=(folder.space,), limit=EVERY))
        if all_of_them
        else list(there.values())
    )
    if afresh:
        names |= {*state.looks, *(spot.page for m in memories if m.active and (spot := place(m)))}
    if not names:
        if HIDDEN in state.troubles:
            left = {name: why for name, why in state.troubles.items() if name != HIDDEN}
            state = state._replace(troubles=left, seq=-1)
        if state.seq < seq and folder.hidden.is_dir():
            state = state._replace(
                troubles={**state.troubles, **noted(folder, state._replace(seq=seq))}
            )
        return untouched(folder, state), False
    looks = {**state.looks, **folder.looks(names)}
    desk, troubles = laid_out(
        folder,
        {name: copies.get(name) or folder.copy(name) for name in names},
        memories,
        None if all_of_them else there,
    )
    elsewhere = {
        id for name in {*state.troubles, *troubles} - desk.keys() for id in folder.ids(name)
    }
    desk, questions = asked(desk, elsewhere, order.forget)
    return settled_with(work, folder, order, Round(state, seq, looks, desk, questions, troubles))


def untouched(folder: Folder, state: State) -> Mirrored:
    """Nothing was to be done; what waits, waits."""
    return Mirrored(
        folder.space,
        folder.path,
        questions=tuple((n, *q) for n, q in state.questions.items()),
        troubles=tuple(state.troubles.values()),
    )


def concerned(records: Sequence[Record], there: Mapping[str, Memory], space: str) -> set[str]:
    """The pages on which altered memories stand now, or stood before."""
    before: dict[str, dict[str, object] | None] = {}
    for record in records:
        old = before.setdefault(record.memory_id, None if record.op == "add" else {})
        if old is not None:
            before[record.memory_id] = {**record.before, **old}
    found = set()
    for id, old in before.items():
        memory = there.get(id)
        for one in (memory, revised(memory, old) if memory and old else None):
            if one and one.active and one.space == space and (spot := place(one)):
                found.add(spot.page)
    return found


def laid_out(
    folder: Folder,
    copies: Mapping[str, Copy],
    memories: Sequence[Memory],
    altered: Mapping[str, Memory] | None,
) -> tuple[dict[str, Sheet], dict[str, str]]:
    """These pages with what people did to them, and why others are left alone.

    Without `altered`, the memories are all of the space; with it, only these are otherwise than
    when it was written.
    """
    lines = by_page(folder.space, memories)
    desk, troubles = {}, {}
    for name, copy in sorted(copies.items()):
        try:
            found = folder.read(name)
        except Trouble as trouble:
            troubles[name] = str(trouble)
            continue
        ours = lines.get(name, {})
        if altered is not None:
            ours = {
                **{id: line for id, line in copy.lines.items() if id not in altered or id in ours},
                **ours,
            }
        stamp = copy.stamp if found.blank or not found.page.mark else found.page.mark.stamp
        page = without(found.page, copy.purged(item.marked for item in found.page.items), set())
        merged = merge(copy.at(stamp), page, ours, earlier=stamp != copy.stamp)
        desk[name] = Sheet(found, copy, ours, merged._replace(old=not copy.knows(stamp)))
    return desk, troubles


def by_page(space: str, memories: Iterable[Memory]) -> dict[str, dict[str, Line]]:
    """What the store says, page by page, in the order in which it happened."""
    found: dict[str, dict[str, Line]] = {}
    for memory in sorted(memories, key=lambda m: (m.at, m.id)):
        if memory.active and memory.space == space and (spot := place(memory)):
            found.setdefault(spot.page, {})[memory.id] = spot.line
    return found


def asked(
    desk: dict[str, Sheet], elsewhere: set[str], forget: bool | None
) -> tuple[dict[str, Sheet], dict[str, tuple[int, int]]]:
    """The desk without the pages about which somebody has to be asked, and the questions.

    A line that is gone here and stands on another page, or `elsewhere`, was moved. Of a page of
    which many lines are gone nothing is taken in before somebody has said whether they were
    deleted, nor of one that was loaded so long ago that it is not known whether they stood there.
    """
    moved = elsewhere | {
        item.id for sheet in desk.values() for item in sheet.merged.page.items if not item.emptied
    }
    left, questions = {}, {}
    for name, sheet in desk.items():
        dropped = tuple(id for id in sheet.merged.dropped if id not in moved)
        written = sum(id in sheet.ours for id in sheet.merged.base)
        if doubtful(len(dropped), written, sheet.found.blank) or (dropped and sheet.merged.old):
            if forget is None:
                questions[name] = (len(dropped), written)
                continue
            dropped = dropped if forget else ()
        left[name] = sheet._replace(merged=sheet.merged._replace(dropped=dropped))
    return left, questions


class Round(NamedTuple):
    """What one round found."""

    state: State
    seq: int  # the event up to which the store was read
    looks: dict[str, Look]
    desk: dict[str, Sheet]
    questions: dict[str, tuple[int, int]]
    troubles: dict[str, str]


def settled_with(work: Work, folder: Folder, order: Order, found: Round) -> tuple[Mirrored, bool]:
    """Apply what people did, then write; whether another round is needed."""
    store, seq, event = work.store, found.seq, 0
    edits = obeyed(
        work,
        folder.space,
        [(sheet.merged, sheet.ours) for sheet in found.desk.values() if sheet.merged],
    )
    if edits.changes:
        try:
            event = applied(work, folder.space, found, edits)
        except (Conflict, NotFound):
            return Mirrored(folder.space, folder.path), True
        seq = event if event == seq + 1 else seq
    desk = renewed(store, folder.space, found.desk, edits)
    looks, pages, troubles, again = put(folder, desk, order)
    troubles = {**refused(folder, edits), **found.troubles, **troubles}
    seen = found.desk.keys() | found.questions.keys() | troubles.keys() | {HIDDEN}
    if (
        event and not again
    ):  # pages that were not on the desk, on which these memories stand now or stood before
        edited = {memory.id: memory for memory in store.get(sorted(set(edits.ids)))}
        again = bool(concerned(store.altered_after(found.seq), edited, folder.space) - seen)
    state = State(
        found.seq if again else seq,
        {**found.looks, **looks},
        {**{n: q for n, q in found.state.questions.items() if n not in seen}, **found.questions},
        {**{n: t for n, t in found.state.troubles.items() if n not in seen}, **troubles},
    )
    if pages or troubles or folder.hidden.is_dir():
        troubles |= noted(folder, state)
    return Mirrored(
        folder.space,
        folder.path,
        new=len(edits.fresh),
        revised=edits.revised,
        forgotten=edits.forgotten,
        revived=edits.revived,
        pages=tuple(pages),
        clashes=edits.clashes,
        questions=tuple((name, *counts) for name, counts in state.questions.items()),
        troubles=tuple(dict.fromkeys((*state.troubles.values(), *troubles.values()))),
        events=(event,) if event else (),
    ), again


def refused(folder: Folder, edits: Obeyed) -> dict[str, str]:
    """What could not be taken in, by page."""
    return {
        page: f"{folder.path / page}: {' '.join(why for name, why in edits.refused if name == page)}"
        for page, _ in edits.refused
    }


def left_alone(folder: Folder, why: str) -> tuple[str, ...]:
    """Write down why a whole space is left alone; what is wrong with it."""
    state = folder.state()
    troubles = {**state.troubles, HIDDEN: why}
    return (*troubles.values(), *noted(folder, state._replace(troubles=troubles)).values())


def noted(folder: Folder, state: State) -> dict[str, str]:
    """Write down how a space stands; what is in the way of that."""
    try:
        folder.keep_state(state)
    except OSError as err:
        return {HIDDEN: cannot_be_written(folder, err)}
    except Trouble as trouble:
        return {HIDDEN: str(trouble)}
    return {}


def cannot_be_written(folder: Folder, err: OSError) -> str:
    """What to do about a folder that refuses."""
    return (
        f"{folder.path} cannot be written: {err.strerror or err}. Check who may write to the folder"
    )


def applied(work: Work, space: str, found: Round, edits: Obeyed) -> int:
    """One event for all that people did; Conflict if somebody altered one of these memories
    meanwhile.
    """
    with work.store.alone():
        meanwhile = {record.memory_id for record in work.store.altered_after(found.seq)}
        if meanwhile & set(edits.ids):
            raise Conflict
        return work.store.apply(
            edits.changes,
            Event(
                verb="mirror",
                space=space,
                at=work.now,
                payload={
                    "pages": [name for name, sheet in found.desk.items() if sheet.merged],
                    "new": len(edits.fresh),
                    "revised": edits.revised,
                    "forgotten": edits.forgotten,
                    **({"clashes": list(edits.clashes)} if edits.clashes else {}),
                    **(
                        {"settled": [list(pair) for pair in edits.settled]} if edits.settled else {}
                    ),
                },
            ),
        )


def renewed(store: Store, space: str, desk: Mapping[str, Sheet], edits: Obeyed) -> dict[str, Sheet]:
    """The desk with what the store says after the edits, and new memories on their items."""
    lines = by_page(space, store.get(sorted(set(edits.ids))))
    after = {}
    for name, sheet in desk.items():
        ours = {
            id: line
            for id, line in sheet.ours.items()
            if id not in edits.ids or id in lines.get(name, {})
        }
        blocks = tuple(
            decided(block, (name, number), edits)
            for number, block in enumerate(sheet.merged.page.blocks)
        )
        after[name] = sheet._replace(
            ours={**ours, **lines.get(name, {})},
            merged=sheet.merged._replace(page=Page(name, blocks)),
        )
    return after


def decided(block: Block, spot: tuple[str, int], edits: Obeyed) -> Block:
    """A block with the memory that was made of it; as prose if it is about none, as it stands if it
    was refused.
    """
    if not isinstance(block, Item):
        return block
    if spot in edits.held:
        return block._replace(id="")
    return (
        as_prose(block)
        if spot in edits.prose
        else block._replace(id=edits.fresh.get(spot, block.id))
    )


def put(
    folder: Folder, desk: Mapping[str, Sheet], order: Order
) -> tuple[dict[str, Look], list[str], dict[str, str], bool]:
    """Write pages that are out of step: (how they look, which were written, trouble, whether one
    was altered).
    """
    looks, pages, troubles, again = {}, [], {}, False
    for name, sheet in desk.items():
        found = sheet.found
        looks[name] = found.look
        if found.data is None and not sheet.ours and not (order.begin and name == LONG):
            continue
        page = woven(sheet.merged.page, folder.space, sheet.ours)
        try:
            if sheet.copy.lines != sheet.ours or not sheet.copy.stamp:
                folder.keep_copy(name, sheet.copy.then(sheet.ours))
            if found.data is not None and page.text == found.page.text:
                continue
            if (look := folder.write(found, page)) is None:
                again = True
            else:
                looks[name] = look
                pages.append(name)
        except Trouble as trouble:
            troubles[name] = str(trouble)
        except OSError as err:
            troubles[name] = cannot_be_written(folder, err)
    return looks, pages, troubles, again
