"""One space of the mirror brought in step with the store; `mirror_sync` decides when.

A round reads the pages concerned, compares, applies what people did as one event, then writes. If
the store or a page was altered meanwhile, another round follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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

# rounds, each because the store or a page was altered meanwhile
MAX_ROUNDS = 5
# more memories than a space has
ALL_MEMORIES = 1_000_000_000


class SyncRequest(NamedTuple):
    """What bringing a space in step may do."""

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
        """The sums of this and a later round; questions and troubles are those that are left."""
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
    """A page being worked on: as found, as written last, what the store says, what people did."""

    found: FoundPage
    copy: BaseCopy
    store_lines: dict[str, PageLine]
    merged: PageMerge


def sync_space(work: WorkContext, folder: MirrorFolder, request: SyncRequest) -> MirrorReport:
    """Bring a space and its pages in step."""
    done = MirrorReport(folder.space, folder.path)
    for _ in range(MAX_ROUNDS):
        report, again = run_sync_round(work, folder, request)
        done = done.followed_by(report)
        if not again:
            break
    return done


def run_sync_round(
    work: WorkContext, folder: MirrorFolder, request: SyncRequest
) -> tuple[MirrorReport, bool]:
    """One round; True if something was altered meanwhile, so that another one is needed."""
    store, state, seq = work.store, folder.state(), work.store.last_event()
    afresh = request.afresh or state.seq < 0 or state.seq > seq or HIDDEN in state.troubles
    names = set(folder.altered_looks(state))
    records = [] if afresh else store.changes_after(state.seq)
    ids = list(dict.fromkeys(record.memory_id for record in records))
    altered = {memory.id: memory for memory in store.get(ids)}
    names |= list_concerned_pages(records, altered, folder.space)
    if request.retry:
        names |= state.held - {HIDDEN}
    if request.create_main_page and MAIN_PAGE not in state.looks:
        names.add(MAIN_PAGE)
    copies = {name: folder.copy(name) for name in names}
    # A page that did not follow the store for a while, or whose copy is gone: what was altered
    # lately is not enough.
    needs_all = afresh or any(
        name in state.held or (name in state.looks and not copy.stamp)
        for name, copy in copies.items()
    )
    if needs_all:
        memories = store.browse(Filter(spaces=(folder.space,), limit=ALL_MEMORIES))
    else:
        memories = list(altered.values())
    if afresh:
        places = (place_memory(memory) for memory in memories if memory.active)
        names |= {*state.looks, *(place.page for place in places if place)}
    if not names:
        return finish_idle_round(folder, state, seq), False
    looks = {**state.looks, **folder.looks(names)}
    copies = {name: copies.get(name) or folder.copy(name) for name in names}
    sheets, troubles = compare_pages(folder, copies, memories, None if needs_all else altered)
    elsewhere: set[str] = set()
    for name in {*state.troubles, *troubles} - sheets.keys():
        elsewhere |= folder.ids(name)
    sheets, questions = hold_back_questions(sheets, elsewhere, request.forget)
    found = SyncRound(state, seq, looks, sheets, questions, troubles)
    return finish_round(work, folder, request, found)


def finish_idle_round(folder: MirrorFolder, state: MirrorState, seq: int) -> MirrorReport:
    """Note that the pages follow the store up to `seq`; nothing was to be done."""
    if HIDDEN in state.troubles:
        left = {name: why for name, why in state.troubles.items() if name != HIDDEN}
        state = state._replace(troubles=left, seq=-1)
    if state.seq < seq and folder.hidden.is_dir():
        trouble = save_mirror_state(folder, state._replace(seq=seq))
        state = state._replace(troubles={**state.troubles, **trouble})
    return MirrorReport(
        folder.space,
        folder.path,
        questions=tuple((name, *counts) for name, counts in state.questions.items()),
        troubles=tuple(state.troubles.values()),
    )


def list_concerned_pages(
    records: Sequence[Record], memories: Mapping[str, Memory], space: str
) -> set[str]:
    """The pages on which altered memories stand now, or stood before."""
    before: dict[str, dict[str, object] | None] = {}
    for record in records:
        old = before.setdefault(record.memory_id, None if record.op == "add" else {})
        if old is not None:
            before[record.memory_id] = {**record.before, **old}
    found = set()
    for id, old in before.items():
        memory = memories.get(id)
        if memory is None:
            continue
        for version in (memory, with_fields(memory, old) if old else memory):
            place = place_memory(version)
            if version.active and version.space == space and place:
                found.add(place.page)
    return found


def compare_pages(
    folder: MirrorFolder,
    copies: Mapping[str, BaseCopy],
    memories: Sequence[Memory],
    altered: Mapping[str, Memory] | None,
) -> tuple[dict[str, PageSheet], dict[str, str]]:
    """(these pages with what people did to them, page → why it is left alone).

    Without `altered`, the memories are all of the space; with it, only these are otherwise than
    when the page was written.
    """
    lines = group_lines_by_page(folder.space, memories)
    sheets, troubles = {}, {}
    for name, copy in sorted(copies.items()):
        try:
            found = folder.read(name)
        except PageTrouble as trouble:
            troubles[name] = str(trouble)
            continue
        ours = lines.get(name, {})
        if altered is not None:
            unaltered = {
                id: line for id, line in copy.lines.items() if id not in altered or id in ours
            }
            ours = {**unaltered, **ours}
        stamp = copy.stamp if found.blank or not found.page.mark else found.page.mark.stamp
        purged = copy.filter_purged(item.marked for item in found.page.items)
        page = remove_memories(found.page, purged, set())
        merged = merge_page(copy.lines_at(stamp), page, ours, earlier=stamp != copy.stamp)
        merged = merged._replace(base_unknown=not copy.has_state(stamp))
        sheets[name] = PageSheet(found, copy, ours, merged)
    return sheets, troubles


def group_lines_by_page(space: str, memories: Iterable[Memory]) -> dict[str, dict[str, PageLine]]:
    """Page → id → line, as the store says, in the order in which it happened."""
    found: dict[str, dict[str, PageLine]] = {}
    for memory in sorted(memories, key=lambda memory: (memory.at, memory.id)):
        place = place_memory(memory)
        if memory.active and memory.space == space and place:
            found.setdefault(place.page, {})[memory.id] = place.line
    return found


def hold_back_questions(
    sheets: dict[str, PageSheet], elsewhere: set[str], forget: bool | None
) -> tuple[dict[str, PageSheet], dict[str, tuple[int, int]]]:
    """(the pages about which nobody has to be asked, page → lines gone, of how many).

    A line that is gone here and stands on another page, or `elsewhere`, was moved. Of a page of
    which many lines are gone nothing is taken in before somebody has said whether they were
    deleted, nor of one that was loaded so long ago that it is not known whether they stood there.
    """
    present = set(elsewhere)
    for sheet in sheets.values():
        present |= {item.id for item in sheet.merged.page.items if not item.emptied}
    left, questions = {}, {}
    for name, sheet in sheets.items():
        merged = sheet.merged
        dropped = tuple(id for id in merged.dropped if id not in present)
        written = sum(id in sheet.store_lines for id in merged.base)
        is_doubtful = is_doubtful_deletion(len(dropped), written, sheet.found.blank)
        if is_doubtful or (dropped and merged.base_unknown):
            if forget is None:
                questions[name] = (len(dropped), written)
                continue
            dropped = dropped if forget else ()
        left[name] = sheet._replace(merged=merged._replace(dropped=dropped))
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
    work: WorkContext, folder: MirrorFolder, request: SyncRequest, found: SyncRound
) -> tuple[MirrorReport, bool]:
    """Apply what people did, then write; True if another round is needed."""
    store, seq, event = work.store, found.seq, 0
    edited = [sheet for sheet in found.sheets.values() if sheet.merged]
    edits = decide_page_edits(
        work, folder.space, [(sheet.merged, sheet.store_lines) for sheet in edited]
    )
    if edits.changes:
        try:
            event = apply_page_edits(work, folder.space, found, edits)
        except (Conflict, NotFound):
            return MirrorReport(folder.space, folder.path), True
        seq = event if event == seq + 1 else seq
    sheets = refresh_sheets(store, folder.space, found.sheets, edits)
    looks, pages, troubles, again = write_pages(folder, sheets, request)
    troubles = {**report_refused(folder, edits), **found.troubles, **troubles}
    seen = found.sheets.keys() | found.questions.keys() | troubles.keys() | {HIDDEN}
    # Pages that were not looked at, on which the edited memories stand now or stood before.
    if event and not again:
        memories = {memory.id: memory for memory in store.get(sorted(set(edits.ids)))}
        concerned = list_concerned_pages(store.changes_after(found.seq), memories, folder.space)
        again = bool(concerned - seen)
    old = found.state
    questions = {name: counts for name, counts in old.questions.items() if name not in seen}
    old_troubles = {name: why for name, why in old.troubles.items() if name not in seen}
    state = MirrorState(
        found.seq if again else seq,
        {**found.looks, **looks},
        {**questions, **found.questions},
        {**old_troubles, **troubles},
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
    """Page → why lines of it could not be taken in."""
    reasons: dict[str, list[str]] = {}
    for page, why in edits.refused:
        reasons.setdefault(page, []).append(why)
    return {page: f"{folder.path / page}: {' '.join(whys)}" for page, whys in reasons.items()}


def record_space_trouble(folder: MirrorFolder, why: str) -> tuple[str, ...]:
    """Note why a whole space is left alone; return all that is wrong with it."""
    state = folder.state()
    troubles = {**state.troubles, HIDDEN: why}
    unsaved = save_mirror_state(folder, state._replace(troubles=troubles))
    return (*troubles.values(), *unsaved.values())


def save_mirror_state(folder: MirrorFolder, state: MirrorState) -> dict[str, str]:
    """Note how a space stands; returns what is in the way of that, if anything."""
    try:
        folder.keep_state(state)
    except OSError as err:
        return {HIDDEN: explain_write_error(folder, err)}
    except PageTrouble as trouble:
        return {HIDDEN: str(trouble)}
    return {}


def explain_write_error(folder: MirrorFolder, err: OSError) -> str:
    """What to do about a folder that cannot be written."""
    return (
        f"{folder.path} cannot be written: {err.strerror or err}. Check who may write to the folder"
    )


def apply_page_edits(work: WorkContext, space: str, found: SyncRound, edits: PageEdits) -> int:
    """Apply all that people did as one event and return its number.

    Raises Conflict if somebody altered one of these memories meanwhile.
    """
    with work.store.transaction():
        meanwhile = {record.memory_id for record in work.store.changes_after(found.seq)}
        if meanwhile & set(edits.ids):
            raise Conflict
        payload: dict[str, Any] = {
            "pages": [name for name, sheet in found.sheets.items() if sheet.merged],
            "new": len(edits.new_ids),
            "revised": edits.revised,
            "forgotten": edits.forgotten,
        }
        if edits.clashes:
            payload["clashes"] = list(edits.clashes)
        if edits.settled_pairs:
            payload["settled"] = [list(pair) for pair in edits.settled_pairs]
        event = Event(verb="mirror", space=space, at=work.now, payload=payload)
        return work.store.apply(edits.changes, event)


def refresh_sheets(
    store: Store, space: str, sheets: Mapping[str, PageSheet], edits: PageEdits
) -> dict[str, PageSheet]:
    """The pages with what the store says after the edits, and new memories on their items."""
    lines = group_lines_by_page(space, store.get(sorted(set(edits.ids))))
    after = {}
    for name, sheet in sheets.items():
        edited = lines.get(name, {})
        kept = {
            id: line
            for id, line in sheet.store_lines.items()
            if id not in edits.ids or id in edited
        }
        blocks = tuple(
            assign_memory(block, (name, number), edits)
            for number, block in enumerate(sheet.merged.page.blocks)
        )
        merged = sheet.merged._replace(page=MirrorPage(name, blocks))
        after[name] = sheet._replace(store_lines={**kept, **edited}, merged=merged)
    return after


def assign_memory(block: PageBlock, spot: tuple[str, int], edits: PageEdits) -> PageBlock:
    """The block at `spot` (page, number) with the memory that was made of it.

    As prose if it is about no memory; without an id, as it stands, if it was refused.
    """
    if not isinstance(block, PageItem):
        return block
    if spot in edits.refused_items:
        return block._replace(id="")
    if spot in edits.prose_items:
        return to_prose(block)
    return block._replace(id=edits.new_ids.get(spot, block.id))


def write_pages(
    folder: MirrorFolder, sheets: Mapping[str, PageSheet], request: SyncRequest
) -> tuple[dict[str, FileLook], list[str], dict[str, str], bool]:
    """Write pages that are out of step.

    Returns (page → how it looks, pages written, page → trouble, True if one was altered meanwhile).
    """
    looks, pages, troubles, again = {}, [], {}, False
    for name, sheet in sheets.items():
        found = sheet.found
        looks[name] = found.look
        if (
            found.data is None
            and not sheet.store_lines
            and not (request.create_main_page and name == MAIN_PAGE)
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
