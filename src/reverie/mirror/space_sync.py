"""One space of the mirror brought in step with the store: see `settle.mirroring`, which decides
when.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from reverie.core.errors import Conflict, NotFound
from reverie.core.model import Event, Filter, Memory, Record, with_fields
from reverie.mirror.apply_page_edits import PageEdits, decide_page_edits
from reverie.mirror.base_copy import BaseCopy
from reverie.mirror.file_exchange import FileLook
from reverie.mirror.mirror_folder import HIDDEN, FoundPage, MirrorFolder, MirrorState, PageTrouble
from reverie.mirror.page_blocks import MirrorPage, PageBlock, PageItem, to_prose
from reverie.mirror.page_placement import MAIN_PAGE, PageLine, place_memory
from reverie.mirror.page_rendering import remove_memories, render_page
from reverie.mirror.three_way_merge import PageMerge, is_doubtful_deletion, merge_page
from reverie.pipeline.event_reader import WorkContext
from reverie.storage import Store

MAX_ROUNDS = 5  # times that it is done again because the store or a page was altered meanwhile
ALL_MEMORIES = 1_000_000_000  # memories of a space


class SyncRequest(NamedTuple):
    """What somebody asks for."""

    # where many lines are gone: True forgets them, False writes them anew, None asks
    forget: bool | None = None
    afresh: bool = False  # look at every memory and page, not only at what was altered
    retry: bool = False  # look again at pages that were left alone or that wait for an answer
    create_main_page: bool = False  # make MEMORY.md although there is nothing to say yet


class MirrorReport(NamedTuple):
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

    def followed_by(self, later: MirrorReport) -> MirrorReport:
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


class PageSheet(NamedTuple):
    """A page on the desk: as found, as it was written last, and what the store says now."""

    found: FoundPage
    copy: BaseCopy
    store_lines: dict[str, PageLine]
    merged: PageMerge


def sync_space(work: WorkContext, folder: MirrorFolder, order: SyncRequest) -> MirrorReport:
    """A space brought in step."""
    done = MirrorReport(folder.space, folder.path)
    for _ in range(MAX_ROUNDS):
        step, again = run_sync_round(work, folder, order)
        done = done.followed_by(step)
        if not again:
            break
    return done


def run_sync_round(
    work: WorkContext, folder: MirrorFolder, order: SyncRequest
) -> tuple[MirrorReport, bool]:
    """One round, and whether something was altered meanwhile, so that another one is needed."""
    store, state, seq = work.store, folder.state(), work.store.last_event()
    afresh = order.afresh or state.seq < 0 or state.seq > seq or HIDDEN in state.troubles
    altered = folder.altered_looks(state)
    records = [] if afresh else store.changes_after(state.seq)
    there = {m.id: m for m in store.get(list(dict.fromkeys(r.memory_id for r in records)))}
    names = (
        altered.keys()
        | list_concerned_pages(records, there, folder.space)
        | (state.held - {HIDDEN} if order.retry else set())
        | ({MAIN_PAGE} if order.create_main_page and MAIN_PAGE not in state.looks else set())
    )
    copies = {name: folder.copy(name) for name in names}
    # A page that did not follow the store for a while, or whose copy is gone: what was altered
    # lately is not enough.
    all_of_them = afresh or any(
        name in state.held or (name in state.looks and not copy.stamp)
        for name, copy in copies.items()
    )
    memories = (
        store.browse(Filter(spaces=(folder.space,), limit=ALL_MEMORIES))
        if all_of_them
        else list(there.values())
    )
    if afresh:
        names |= {
            *state.looks,
            *(spot.page for m in memories if m.active and (spot := place_memory(m))),
        }
    if not names:
        if HIDDEN in state.troubles:
            left = {name: why for name, why in state.troubles.items() if name != HIDDEN}
            state = state._replace(troubles=left, seq=-1)
        if state.seq < seq and folder.hidden.is_dir():
            state = state._replace(
                troubles={**state.troubles, **save_mirror_state(folder, state._replace(seq=seq))}
            )
        return report_untouched(folder, state), False
    looks = {**state.looks, **folder.looks(names)}
    desk, troubles = compare_pages(
        folder,
        {name: copies.get(name) or folder.copy(name) for name in names},
        memories,
        None if all_of_them else there,
    )
    elsewhere = {
        id for name in {*state.troubles, *troubles} - desk.keys() for id in folder.ids(name)
    }
    desk, questions = hold_back_questions(desk, elsewhere, order.forget)
    return finish_round(
        work, folder, order, SyncRound(state, seq, looks, desk, questions, troubles)
    )


def report_untouched(folder: MirrorFolder, state: MirrorState) -> MirrorReport:
    """Nothing was to be done; what waits, waits."""
    return MirrorReport(
        folder.space,
        folder.path,
        questions=tuple((n, *q) for n, q in state.questions.items()),
        troubles=tuple(state.troubles.values()),
    )


def list_concerned_pages(
    records: Sequence[Record], there: Mapping[str, Memory], space: str
) -> set[str]:
    """The pages on which altered memories stand now, or stood before."""
    before: dict[str, dict[str, object] | None] = {}
    for record in records:
        old = before.setdefault(record.memory_id, None if record.op == "add" else {})
        if old is not None:
            before[record.memory_id] = {**record.before, **old}
    found = set()
    for id, old in before.items():
        memory = there.get(id)
        for one in (memory, with_fields(memory, old) if memory and old else None):
            if one and one.active and one.space == space and (spot := place_memory(one)):
                found.add(spot.page)
    return found


def compare_pages(
    folder: MirrorFolder,
    copies: Mapping[str, BaseCopy],
    memories: Sequence[Memory],
    altered: Mapping[str, Memory] | None,
) -> tuple[dict[str, PageSheet], dict[str, str]]:
    """These pages with what people did to them, and why others are left alone.

    Without `altered`, the memories are all of the space; with it, only these are otherwise than
    when it was written.
    """
    lines = group_lines_by_page(folder.space, memories)
    desk, troubles = {}, {}
    for name, copy in sorted(copies.items()):
        try:
            found = folder.read(name)
        except PageTrouble as trouble:
            troubles[name] = str(trouble)
            continue
        ours = lines.get(name, {})
        if altered is not None:
            ours = {
                **{id: line for id, line in copy.lines.items() if id not in altered or id in ours},
                **ours,
            }
        stamp = copy.stamp if found.blank or not found.page.mark else found.page.mark.stamp
        page = remove_memories(
            found.page, copy.filter_purged(item.marked for item in found.page.items), set()
        )
        merged = merge_page(copy.lines_at(stamp), page, ours, earlier=stamp != copy.stamp)
        desk[name] = PageSheet(
            found, copy, ours, merged._replace(base_unknown=not copy.has_state(stamp))
        )
    return desk, troubles


def group_lines_by_page(space: str, memories: Iterable[Memory]) -> dict[str, dict[str, PageLine]]:
    """What the store says, page by page, in the order in which it happened."""
    found: dict[str, dict[str, PageLine]] = {}
    for memory in sorted(memories, key=lambda m: (m.at, m.id)):
        if memory.active and memory.space == space and (spot := place_memory(memory)):
            found.setdefault(spot.page, {})[memory.id] = spot.line
    return found


def hold_back_questions(
    desk: dict[str, PageSheet], elsewhere: set[str], forget: bool | None
) -> tuple[dict[str, PageSheet], dict[str, tuple[int, int]]]:
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
        written = sum(id in sheet.store_lines for id in sheet.merged.base)
        if is_doubtful_deletion(len(dropped), written, sheet.found.blank) or (
            dropped and sheet.merged.base_unknown
        ):
            if forget is None:
                questions[name] = (len(dropped), written)
                continue
            dropped = dropped if forget else ()
        left[name] = sheet._replace(merged=sheet.merged._replace(dropped=dropped))
    return left, questions


class SyncRound(NamedTuple):
    """What one round found."""

    state: MirrorState
    seq: int  # the event up to which the store was read
    looks: dict[str, FileLook]
    sheets: dict[str, PageSheet]
    questions: dict[str, tuple[int, int]]
    troubles: dict[str, str]


def finish_round(
    work: WorkContext, folder: MirrorFolder, order: SyncRequest, found: SyncRound
) -> tuple[MirrorReport, bool]:
    """Apply what people did, then write; whether another round is needed."""
    store, seq, event = work.store, found.seq, 0
    edits = decide_page_edits(
        work,
        folder.space,
        [(sheet.merged, sheet.store_lines) for sheet in found.sheets.values() if sheet.merged],
    )
    if edits.changes:
        try:
            event = apply_page_edits(work, folder.space, found, edits)
        except (Conflict, NotFound):
            return MirrorReport(folder.space, folder.path), True
        seq = event if event == seq + 1 else seq
    desk = refresh_sheets(store, folder.space, found.sheets, edits)
    looks, pages, troubles, again = write_pages(folder, desk, order)
    troubles = {**report_refused(folder, edits), **found.troubles, **troubles}
    seen = found.sheets.keys() | found.questions.keys() | troubles.keys() | {HIDDEN}
    if (
        event and not again
    ):  # pages that were not on the desk, on which these memories stand now or stood before
        edited = {memory.id: memory for memory in store.get(sorted(set(edits.ids)))}
        again = bool(
            list_concerned_pages(store.changes_after(found.seq), edited, folder.space) - seen
        )
    state = MirrorState(
        found.seq if again else seq,
        {**found.looks, **looks},
        {**{n: q for n, q in found.state.questions.items() if n not in seen}, **found.questions},
        {**{n: t for n, t in found.state.troubles.items() if n not in seen}, **troubles},
    )
    if pages or troubles or folder.hidden.is_dir():
        troubles |= save_mirror_state(folder, state)
    return MirrorReport(
        folder.space,
        folder.path,
        new=len(edits.new_ids),
        revised=edits.revised,
        forgotten=edits.forgotten,
        revived=edits.revived,
        pages=tuple(pages),
        clashes=edits.clashes,
        questions=tuple((name, *counts) for name, counts in state.questions.items()),
        troubles=tuple(dict.fromkeys((*state.troubles.values(), *troubles.values()))),
        events=(event,) if event else (),
    ), again


def report_refused(folder: MirrorFolder, edits: PageEdits) -> dict[str, str]:
    """What could not be taken in, by page."""
    return {
        page: f"{folder.path / page}: {' '.join(why for name, why in edits.refused if name == page)}"
        for page, _ in edits.refused
    }


def record_space_trouble(folder: MirrorFolder, why: str) -> tuple[str, ...]:
    """Write down why a whole space is left alone; what is wrong with it."""
    state = folder.state()
    troubles = {**state.troubles, HIDDEN: why}
    return (
        *troubles.values(),
        *save_mirror_state(folder, state._replace(troubles=troubles)).values(),
    )


def save_mirror_state(folder: MirrorFolder, state: MirrorState) -> dict[str, str]:
    """Write down how a space stands; what is in the way of that."""
    try:
        folder.keep_state(state)
    except OSError as err:
        return {HIDDEN: explain_write_error(folder, err)}
    except PageTrouble as trouble:
        return {HIDDEN: str(trouble)}
    return {}


def explain_write_error(folder: MirrorFolder, err: OSError) -> str:
    """What to do about a folder that refuses."""
    return (
        f"{folder.path} cannot be written: {err.strerror or err}. Check who may write to the folder"
    )


def apply_page_edits(work: WorkContext, space: str, found: SyncRound, edits: PageEdits) -> int:
    """One event for all that people did; Conflict if somebody altered one of these memories
    meanwhile.
    """
    with work.store.transaction():
        meanwhile = {record.memory_id for record in work.store.changes_after(found.seq)}
        if meanwhile & set(edits.ids):
            raise Conflict
        return work.store.apply(
            edits.changes,
            Event(
                verb="mirror",
                space=space,
                at=work.now,
                payload={
                    "pages": [name for name, sheet in found.sheets.items() if sheet.merged],
                    "new": len(edits.new_ids),
                    "revised": edits.revised,
                    "forgotten": edits.forgotten,
                    **({"clashes": list(edits.clashes)} if edits.clashes else {}),
                    **(
                        {"settled": [list(pair) for pair in edits.settled_pairs]}
                        if edits.settled_pairs
                        else {}
                    ),
                },
            ),
        )


def refresh_sheets(
    store: Store, space: str, desk: Mapping[str, PageSheet], edits: PageEdits
) -> dict[str, PageSheet]:
    """The desk with what the store says after the edits, and new memories on their items."""
    lines = group_lines_by_page(space, store.get(sorted(set(edits.ids))))
    after = {}
    for name, sheet in desk.items():
        ours = {
            id: line
            for id, line in sheet.store_lines.items()
            if id not in edits.ids or id in lines.get(name, {})
        }
        blocks = tuple(
            assign_memory(block, (name, number), edits)
            for number, block in enumerate(sheet.merged.page.blocks)
        )
        after[name] = sheet._replace(
            store_lines={**ours, **lines.get(name, {})},
            merged=sheet.merged._replace(page=MirrorPage(name, blocks)),
        )
    return after


def assign_memory(block: PageBlock, spot: tuple[str, int], edits: PageEdits) -> PageBlock:
    """A block with the memory that was made of it; as prose if it is about none, as it stands if it
    was refused.
    """
    if not isinstance(block, PageItem):
        return block
    if spot in edits.refused_items:
        return block._replace(id="")
    return (
        to_prose(block)
        if spot in edits.prose_items
        else block._replace(id=edits.new_ids.get(spot, block.id))
    )


def write_pages(
    folder: MirrorFolder, desk: Mapping[str, PageSheet], order: SyncRequest
) -> tuple[dict[str, FileLook], list[str], dict[str, str], bool]:
    """Write pages that are out of step: (how they look, which were written, trouble, whether one
    was altered).
    """
    looks, pages, troubles, again = {}, [], {}, False
    for name, sheet in desk.items():
        found = sheet.found
        looks[name] = found.look
        if (
            found.data is None
            and not sheet.store_lines
            and not (order.create_main_page and name == MAIN_PAGE)
        ):
            continue
        page = render_page(sheet.merged.page, folder.space, sheet.store_lines)
        try:
            if sheet.copy.lines != sheet.store_lines or not sheet.copy.stamp:
                folder.keep_copy(name, sheet.copy.with_lines(sheet.store_lines))
            if found.data is not None and page.text == found.page.text:
                continue
            if (look := folder.write(found, page)) is None:
                again = True
            else:
                looks[name] = look
                pages.append(name)
        except PageTrouble as trouble:
            troubles[name] = str(trouble)
        except OSError as err:
            troubles[name] = explain_write_error(folder, err)
    return looks, pages, troubles, again
