"""One space of the mirror brought in step with the store; `mirror_sync` decides when.

A round reads the pages concerned, compares, applies what people did as one event, then writes. If
the store or a page was altered meanwhile, another round follows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reverie.core.errors import Conflict, NotFound
from reverie.core.model import MIRRORED, Event, Filter, Memory, Record, index_memories, with_fields
from reverie.mirror.apply_page_edits import PageEdits, decide_page_edits
from reverie.mirror.base_copy import BaseCopy
from reverie.mirror.file_exchange import FileLook
from reverie.mirror.mirror_folder import HIDDEN, FoundPage, MirrorFolder, MirrorState, PageTrouble
from reverie.mirror.page_blocks import MirrorPage, PageBlock, PageItem, to_prose
from reverie.mirror.page_placement import MAIN_PAGE, PageLine, place_memory
from reverie.mirror.page_rendering import remove_memories, render_page
from reverie.mirror.three_way_merge import PageMerge, is_doubtful_deletion, merge_page
from reverie.pipeline.event_reader import WorkContext

# Rounds, each because the store or a page was altered meanwhile: somebody who alters it all the
# time must not keep us here for ever.
MAX_ROUNDS = 5
# More memories than a space has: a page is written as a whole, so all of them are needed.
ALL_MEMORIES = 1_000_000_000


class SyncRequest(NamedTuple):
    """Options of syncing a space."""

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


class PageSheet(NamedTuple):
    """A page being worked on: as found, as written last, what the store says, what people did."""

    found: FoundPage
    copy: BaseCopy
    store_lines: dict[str, PageLine]
    merged: PageMerge


def sync_space(
    work: WorkContext,
    folder: MirrorFolder,
    request: SyncRequest,
) -> MirrorReport:
    """Bring a space and its pages in step."""
    done = MirrorReport(folder.space, folder.path)
    for _ in range(MAX_ROUNDS):
        done, again = SyncRound(work, folder, request).run(done)
        if not again:
            break
    return done


class SyncRound:
    """One round: what is read, what is found, and what is written."""

    def __init__(
        self,
        work: WorkContext,
        folder: MirrorFolder,
        request: SyncRequest,
    ) -> None:
        self.work, self.folder, self.request = work, folder, request
        self.store, self.state = work.store, folder.state()
        self.seq = work.store.last_event()  # the event up to which the store was read
        self.looks: dict[str, FileLook] = {}
        self.sheets: dict[str, PageSheet] = {}
        # page → lines that are gone, of how many
        self.questions: dict[str, tuple[int, int]] = {}
        self.troubles: dict[str, str] = {}  # page → why it is left alone

    def run(self, done: MirrorReport) -> tuple[MirrorReport, bool]:
        """The report with what this round did; True if something was altered meanwhile, so that
        another one is needed.
        """
        folder, state = self.folder, self.state
        afresh = self.request.afresh or not 0 <= state.seq <= self.seq or HIDDEN in state.troubles
        records = [] if afresh else self.store.changes_after(state.seq)
        altered = self.load_memories(record.memory_id for record in records)
        names = self.choose_pages(records, altered)
        copies = {name: folder.copy(name) for name in names}
        needs_all = afresh or any(self.is_behind(name, copy) for name, copy in copies.items())
        memories: Collection[Memory] = altered.values()
        if needs_all:
            memories = self.store.browse(Filter(spaces=(folder.space,), limit=ALL_MEMORIES))
        if afresh:
            names |= {*state.looks, *group_lines_by_page(folder.space, memories)}
        if not names:
            return self.finish_idle(done), False
        self.looks = {**state.looks, **folder.looks(names)}
        copies |= {name: folder.copy(name) for name in names.difference(copies)}
        self.compare_pages(copies, memories, None if needs_all else altered)
        self.hold_back_questions()
        return self.finish(done)

    def load_memories(self, ids: Iterable[str]) -> dict[str, Memory]:
        """The memories of these ids that are there."""
        return index_memories(self.store.get(sorted(set(ids))))

    def choose_pages(
        self,
        records: Sequence[Record],
        altered: Mapping[str, Memory],
    ) -> set[str]:
        """The pages on which something was altered, by people or in the store, or is asked for."""
        state, request = self.state, self.request
        names = set(self.folder.altered_looks(state))
        names |= list_concerned_pages(records, altered, self.folder.space)
        if request.retry:
            names |= state.held - {HIDDEN}
        if request.create_main_page and MAIN_PAGE not in state.looks:
            names.add(MAIN_PAGE)
        return names

    def is_behind(self, name: str, copy: BaseCopy) -> bool:
        """True if a page did not follow the store for a while, or its copy is gone: then what was
        altered lately is not enough.
        """
        return name in self.state.held or (name in self.state.looks and not copy.stamp)

    def finish_idle(self, done: MirrorReport) -> MirrorReport:
        """Note that the pages follow the store; nothing was to be done."""
        folder, state = self.folder, self.state
        if HIDDEN in state.troubles:
            left = {name: why for name, why in state.troubles.items() if name != HIDDEN}
            state = state._replace(troubles=left, seq=-1)
        if state.seq < self.seq and folder.hidden.is_dir():
            trouble = save_mirror_state(folder, state._replace(seq=self.seq))
            state = state._replace(troubles={**state.troubles, **trouble})
        return done._replace(
            questions=list_questions(state), troubles=tuple(state.troubles.values())
        )

    def compare_pages(
        self,
        copies: Mapping[str, BaseCopy],
        memories: Iterable[Memory],
        altered: Mapping[str, Memory] | None,
    ) -> None:
        """See what people did to these pages.

        Without `altered`, the memories are all of the space; with it, only these are otherwise than
        when the page was written.
        """
        lines = group_lines_by_page(self.folder.space, memories)
        for name, copy in sorted(copies.items()):
            try:
                found = self.folder.read(name)
            except PageTrouble as trouble:
                self.troubles[name] = str(trouble)
                continue
            ours = lines.get(name, {})
            if altered is not None:
                ours = update_lines(copy.lines, altered, ours)
            self.sheets[name] = compare_page(found, copy, ours)

    def hold_back_questions(self) -> None:
        """Leave only the pages about which nobody has to be asked.

        A line that is gone here and stands on another page was moved. Of a page of which many lines
        are gone nothing is taken in before somebody has said whether they were deleted, nor of one
        that was loaded so long ago that it is not known whether they stood there.
        """
        present = self.list_present_ids()
        for name, sheet in list(self.sheets.items()):
            merged = sheet.merged
            dropped = tuple(id for id in merged.dropped if id not in present)
            written = sum(id in sheet.store_lines for id in merged.base)
            is_doubtful = is_doubtful_deletion(len(dropped), written, sheet.found.blank)
            if is_doubtful or (dropped and merged.base_unknown):
                # So that the answer is about all of the page, nothing of it is taken in before.
                if self.request.forget is None:
                    self.questions[name] = (len(dropped), written)
                    del self.sheets[name]
                    continue
                dropped = dropped if self.request.forget else ()
            self.sheets[name] = sheet._replace(merged=merged._replace(dropped=dropped))

    def list_present_ids(self) -> set[str]:
        """The memories that stand on any page of this round, or on one that is left alone."""
        present: set[str] = set()
        for name in {*self.state.troubles, *self.troubles} - self.sheets.keys():
            present |= self.folder.ids(name)
        for sheet in self.sheets.values():
            present |= {item.id for item in sheet.merged.page.items if not item.emptied}
        return present

    def finish(self, done: MirrorReport) -> tuple[MirrorReport, bool]:
        """Apply what people did, then write; True if another round is needed."""
        folder = self.folder
        edited = [sheet for sheet in self.sheets.values() if sheet.merged]
        pages = [(sheet.merged, sheet.store_lines) for sheet in edited]
        edits = decide_page_edits(self.work, folder.space, pages)
        event = 0
        if edits.changes:
            try:
                event = self.apply_edits(edits)
            except (Conflict, NotFound):
                return done, True
        self.refresh_sheets(edits)
        self.troubles = {**report_refused(folder, edits), **self.troubles}
        written, again = self.write_pages()
        again = again or (bool(event) and self.concerns_other_pages(edits))
        # Only if nobody else has written in between is our event all that is new.
        seq = event if event == self.seq + 1 and not again else self.seq
        state = self.next_state(seq)
        if written or self.troubles or folder.hidden.is_dir():
            self.troubles |= save_mirror_state(folder, state)
        done = add_edits(done, edits, event)
        troubles = (*state.troubles.values(), *self.troubles.values())
        done = done._replace(
            pages=tuple(dict.fromkeys((*done.pages, *written))),
            questions=list_questions(state),
            troubles=tuple(dict.fromkeys(troubles)),
        )
        return done, again

    def list_seen_pages(self) -> set[str]:
        """The pages that this round looked at."""
        return {*self.sheets, *self.questions, *self.troubles, HIDDEN}

    def concerns_other_pages(self, edits: PageEdits) -> bool:
        """True if edited memories stand now, or stood before, on pages that were not looked at."""
        records = self.store.changes_after(self.seq)
        memories = self.load_memories(edits.ids)
        concerned = list_concerned_pages(records, memories, self.folder.space)
        return not concerned <= self.list_seen_pages()

    def next_state(self, seq: int) -> MirrorState:
        """How the space stands: what is known of pages that were not looked at stays."""
        seen = self.list_seen_pages()
        questions = {
            name: counts for name, counts in self.state.questions.items() if name not in seen
        }
        troubles = {name: why for name, why in self.state.troubles.items() if name not in seen}
        return MirrorState(
            seq, self.looks, {**questions, **self.questions}, {**troubles, **self.troubles}
        )

    def apply_edits(self, edits: PageEdits) -> int:
        """Apply all that people did as one event and return its number.

        Raises Conflict if somebody altered one of these memories meanwhile.
        """
        payload: dict[str, Any] = {
            "pages": [name for name, sheet in self.sheets.items() if sheet.merged],
            "new": len(edits.new_ids),
            "revised": edits.revised,
            "forgotten": edits.forgotten,
        }
        if edits.clashes:
            payload["clashes"] = edits.clashes
        if edits.settled_pairs:
            payload["settled"] = [list(pair) for pair in edits.settled_pairs]
        with self.store.transaction():
            # What was read may be older than this transaction: another process writes too.
            meanwhile = {record.memory_id for record in self.store.changes_after(self.seq)}
            if meanwhile & set(edits.ids):
                raise Conflict
            event = Event(MIRRORED, self.folder.space, self.work.now, payload=payload)
            return self.store.apply(edits.changes, event)

    def refresh_sheets(self, edits: PageEdits) -> None:
        """Put what the store says after the edits, and new memories, on the pages."""
        memories = self.load_memories(edits.ids)
        edited = set(edits.ids)
        lines = group_lines_by_page(self.folder.space, memories.values())
        for name, sheet in self.sheets.items():
            updated = update_lines(sheet.store_lines, edited, lines.get(name, {}))
            merged = sheet.merged._replace(page=assign_memories(sheet.merged.page, edits))
            self.sheets[name] = sheet._replace(store_lines=updated, merged=merged)

    def write_pages(self) -> tuple[list[str], bool]:
        """Write pages that are out of step: their names, and True if one was altered meanwhile."""
        written, again = [], False
        for name, sheet in self.sheets.items():
            self.looks[name] = sheet.found.look
            try:
                page = self.render_if_altered(name, sheet)
                if page is None:
                    continue
                look = self.folder.write(sheet.found, page)
            except PageTrouble as trouble:
                self.troubles[name] = str(trouble)
            except OSError as err:
                self.troubles[name] = explain_write_error(self.folder, err)
            else:
                again = again or look is None
                if look is not None:
                    self.looks[name] = look
                    written.append(name)
        return written, again

    def render_if_altered(self, name: str, sheet: PageSheet) -> MirrorPage | None:
        """A page as it is to be, its hidden copy written; None if its file need not be written."""
        found, lines = sheet.found, sheet.store_lines
        is_wanted = self.request.create_main_page and name == MAIN_PAGE
        if found.data is None and not lines and not is_wanted:
            return None
        page = render_page(sheet.merged.page, self.folder.space, lines)
        # The copy first: after a crash in between the page is an old state that the copy knows.
        if sheet.copy.lines != lines or not sheet.copy.stamp:
            self.folder.keep_copy(name, sheet.copy.with_lines(lines))
        is_same = found.data is not None and page.text == found.page.text
        return None if is_same else page


def compare_page(
    found: FoundPage,
    copy: BaseCopy,
    ours: dict[str, PageLine],
) -> PageSheet:
    """What people did to one page, of which the store says `ours` now."""
    # An editor may have saved what it loaded several states ago: the page says which one.
    mark = None if found.blank else found.page.mark
    stamp = mark.stamp if mark else copy.stamp
    # Nor may it bring back what was purged since.
    purged = copy.filter_purged(item.marked for item in found.page.items)
    page = remove_memories(found.page, purged, set())
    merged = merge_page(
        copy.lines_at(stamp),
        page,
        ours,
        earlier=stamp != copy.stamp,
    )
    merged = merged._replace(base_unknown=not copy.has_state(stamp))
    return PageSheet(found, copy, ours, merged)


def update_lines(
    before: Mapping[str, PageLine],
    altered: Collection[str],
    now: Mapping[str, PageLine],
) -> dict[str, PageLine]:
    """The lines of a page, once the altered memories stand on it as `now` says, or no more.

    A line that was there keeps its place.
    """
    kept = {id: line for id, line in before.items() if id not in altered or id in now}
    return {**kept, **now}


def add_edits(
    done: MirrorReport,
    edits: PageEdits,
    event: int,
) -> MirrorReport:
    """The report with what people did, applied under this event; 0 if there was nothing."""
    return done._replace(
        new=done.new + len(edits.new_ids),
        revised=done.revised + edits.revised,
        forgotten=done.forgotten + edits.forgotten,
        revived=done.revived + edits.revived,
        clashes=tuple(dict.fromkeys((*done.clashes, *edits.clashes))),
        events=(*done.events, event) if event else done.events,
    )


def list_questions(state: MirrorState) -> tuple[tuple[str, int, int], ...]:
    """(page, lines that are gone, of how many) of what waits for an answer."""
    return tuple((name, *counts) for name, counts in state.questions.items())


def list_concerned_pages(
    records: Sequence[Record],
    memories: Mapping[str, Memory],
    space: str,
) -> set[str]:
    """The pages on which altered memories stand now, or stood before."""
    versions = []
    for id, fields in collect_former_fields(records).items():
        memory = memories.get(id)
        if memory is not None:
            versions.append(memory)
            if fields:
                versions.append(with_fields(memory, fields))
    return set(group_lines_by_page(space, versions))


def collect_former_fields(records: Sequence[Record]) -> dict[str, dict[str, object] | None]:
    """By memory, the fields that were otherwise before all of these; None for one that is new."""
    before: dict[str, dict[str, object] | None] = {}
    # The first record of a memory says how it was before all of them.
    for record in records:
        former = before.setdefault(record.memory_id, None if record.op == "add" else {})
        if former is not None:
            before[record.memory_id] = {**record.before, **former}
    return before


def group_lines_by_page(
    space: str,
    memories: Iterable[Memory],
) -> dict[str, dict[str, PageLine]]:
    """Page → id → line, as the store says, in the order in which it happened."""
    found: dict[str, dict[str, PageLine]] = {}
    for memory in sorted(
        memories,
        key=lambda memory: (memory.at, memory.id),
    ):
        place = place_memory(memory)
        if memory.active and memory.space == space and place:
            found.setdefault(place.page, {})[memory.id] = place.line
    return found


def report_refused(folder: MirrorFolder, edits: PageEdits) -> dict[str, str]:
    """Page → why lines of it could not be taken in."""
    reasons: dict[str, list[str]] = {}
    for (page, _), why in edits.refused.items():
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


def assign_memories(page: MirrorPage, edits: PageEdits) -> MirrorPage:
    """The page with the memories that were made of its items.

    An item is prose if it is about no memory; if it was refused it stands there without an id.
    """
    blocks: list[PageBlock] = list(page.blocks)
    for number, block in enumerate(blocks):
        if isinstance(block, PageItem):
            blocks[number] = assign_memory(block, (page.name, number), edits)
    return page._replace(blocks=tuple(blocks))


def assign_memory(
    item: PageItem,
    spot: tuple[str, int],
    edits: PageEdits,
) -> PageBlock:
    """One item of a page with its memory, as what it became."""
    if spot in edits.refused:
        return item._replace(id="")
    if spot in edits.prose:
        return to_prose(item)
    return item._replace(id=edits.new_ids.get(spot, item.id))
