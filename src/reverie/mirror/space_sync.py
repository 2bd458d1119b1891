"""One space of the mirror brought in step with the store; `mirror_sync` decides when.

A round reads the pages concerned, compares, applies what people did as one event, then writes. If
the store or a page was altered meanwhile, another round follows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
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


def sync_space(work: WorkContext, folder: MirrorFolder, request: SyncRequest) -> MirrorReport:
    """Bring a space and its pages in step."""
    done = MirrorReport(folder.space, folder.path)
    for _ in range(MAX_ROUNDS):
        done, again = SyncRound(work, folder, request).run(done)
        if not again:
            break
    return done


class SyncRound:
    """One round: what is read, what is found, and what is written."""

    def __init__(self, work: WorkContext, folder: MirrorFolder, request: SyncRequest) -> None:
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
        store, folder, state, request = self.store, self.folder, self.state, self.request
        afresh = request.afresh or not 0 <= state.seq <= self.seq or HIDDEN in state.troubles
        records = [] if afresh else store.changes_after(state.seq)
        ids = list(dict.fromkeys(record.memory_id for record in records))
        altered = {memory.id: memory for memory in store.get(ids)}
        names = set(folder.altered_looks(state))
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
        memories: Collection[Memory] = altered.values()
        if needs_all:
            memories = store.browse(Filter(spaces=(folder.space,), limit=ALL_MEMORIES))
        if afresh:
            places = (place_memory(memory) for memory in memories if memory.active)
            names |= {*state.looks, *(place.page for place in places if place)}
        if not names:
            return self.finish_idle(done), False
        self.looks = {**state.looks, **folder.looks(names)}
        copies = {name: copies.get(name) or folder.copy(name) for name in names}
        self.compare_pages(copies, memories, None if needs_all else altered)
        self.hold_back_questions()
        return self.finish(done)

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
                unaltered = {
                    id: line for id, line in copy.lines.items() if id not in altered or id in ours
                }
                ours = {**unaltered, **ours}
            # An editor may have saved what it loaded several states ago: the page says which one.
            stamp = copy.stamp if found.blank or not found.page.mark else found.page.mark.stamp
            # Nor may it bring back what was purged since.
            purged = copy.filter_purged(item.marked for item in found.page.items)
            page = remove_memories(found.page, purged, set())
            merged = merge_page(copy.lines_at(stamp), page, ours, earlier=stamp != copy.stamp)
            merged = merged._replace(base_unknown=not copy.has_state(stamp))
            self.sheets[name] = PageSheet(found, copy, ours, merged)

    def hold_back_questions(self) -> None:
        """Leave only the pages about which nobody has to be asked.

        A line that is gone here and stands on another page was moved. Of a page of which many lines
        are gone nothing is taken in before somebody has said whether they were deleted, nor of one
        that was loaded so long ago that it is not known whether they stood there.
        """
        present: set[str] = set()
        for name in {*self.state.troubles, *self.troubles} - self.sheets.keys():
            present |= self.folder.ids(name)
        for sheet in self.sheets.values():
            present |= {item.id for item in sheet.merged.page.items if not item.emptied}
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

    def finish(self, done: MirrorReport) -> tuple[MirrorReport, bool]:
        """Apply what people did, then write; True if another round is needed."""
        store, folder, event = self.store, self.folder, 0
        edited = [sheet for sheet in self.sheets.values() if sheet.merged]
        pages = [(sheet.merged, sheet.store_lines) for sheet in edited]
        edits = decide_page_edits(self.work, folder.space, pages)
        if edits.changes:
            try:
                event = self.apply_edits(edits)
            except (Conflict, NotFound):
                return done, True
        self.refresh_sheets(edits)
        self.troubles = {**report_refused(folder, edits), **self.troubles}
        written, again = self.write_pages()
        seen = {*self.sheets, *self.questions, *self.troubles, HIDDEN}
        # Pages that were not looked at, on which the edited memories stand now or stood before.
        if event and not again:
            memories = {memory.id: memory for memory in store.get(sorted(set(edits.ids)))}
            records = store.changes_after(self.seq)
            again = not list_concerned_pages(records, memories, folder.space) <= seen
        # Only if nobody else has written in between is our event all that is new.
        seq = event if event == self.seq + 1 and not again else self.seq
        old = self.state
        questions = {name: counts for name, counts in old.questions.items() if name not in seen}
        old_troubles = {name: why for name, why in old.troubles.items() if name not in seen}
        state = MirrorState(
            seq,
            self.looks,
            {**questions, **self.questions},
            {**old_troubles, **self.troubles},
        )
        if written or self.troubles or folder.hidden.is_dir():
            self.troubles |= save_mirror_state(folder, state)
        troubles = (*state.troubles.values(), *self.troubles.values())
        done = done._replace(
            new=done.new + len(edits.new_ids),
            revised=done.revised + edits.revised,
            forgotten=done.forgotten + edits.forgotten,
            revived=done.revived + edits.revived,
            pages=tuple(dict.fromkeys((*done.pages, *written))),
            clashes=tuple(dict.fromkeys((*done.clashes, *edits.clashes))),
            questions=list_questions(state),
            troubles=tuple(dict.fromkeys(troubles)),
            events=(*done.events, event) if event else done.events,
        )
        return done, again

    def apply_edits(self, edits: PageEdits) -> int:
        """Apply all that people did as one event and return its number.

        Raises Conflict if somebody altered one of these memories meanwhile.
        """
        with self.store.transaction():
            # What was read may be older than this transaction: another process writes too.
            meanwhile = {record.memory_id for record in self.store.changes_after(self.seq)}
            if meanwhile & set(edits.ids):
                raise Conflict
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
            event = Event("mirror", self.folder.space, self.work.now, payload=payload)
            return self.store.apply(edits.changes, event)

    def refresh_sheets(self, edits: PageEdits) -> None:
        """Put what the store says after the edits, and new memories, on the pages."""
        memories = self.store.get(sorted(set(edits.ids)))
        lines = group_lines_by_page(self.folder.space, memories)
        for name, sheet in self.sheets.items():
            edited = lines.get(name, {})
            kept = {
                id: line
                for id, line in sheet.store_lines.items()
                if id not in edits.ids or id in edited
            }
            merged = sheet.merged._replace(page=assign_memories(sheet.merged.page, edits))
            self.sheets[name] = sheet._replace(store_lines={**kept, **edited}, merged=merged)

    def write_pages(self) -> tuple[list[str], bool]:
        """Write pages that are out of step: their names, and True if one was altered meanwhile."""
        folder, pages, again = self.folder, [], False
        for name, sheet in self.sheets.items():
            found, lines = sheet.found, sheet.store_lines
            self.looks[name] = found.look
            is_wanted = self.request.create_main_page and name == MAIN_PAGE
            if found.data is None and not lines and not is_wanted:
                continue
            page = render_page(sheet.merged.page, folder.space, lines)
            try:
                # The copy first: after a crash in between the page is an old state that the copy
                # knows.
                if sheet.copy.lines != lines or not sheet.copy.stamp:
                    folder.keep_copy(name, sheet.copy.with_lines(lines))
                if found.data is not None and page.text == found.page.text:
                    continue
                look = folder.write(found, page)
            except PageTrouble as trouble:
                self.troubles[name] = str(trouble)
                continue
            except OSError as err:
                self.troubles[name] = explain_write_error(folder, err)
                continue
            if look is None:
                again = True
            else:
                self.looks[name] = look
                pages.append(name)
        return pages, again


def list_questions(state: MirrorState) -> tuple[tuple[str, int, int], ...]:
    """(page, lines that are gone, of how many) of what waits for an answer."""
    return tuple((name, *counts) for name, counts in state.questions.items())


def list_concerned_pages(
    records: Sequence[Record], memories: Mapping[str, Memory], space: str
) -> set[str]:
    """The pages on which altered memories stand now, or stood before."""
    before: dict[str, dict[str, object] | None] = {}
    # The first record of a memory says how it was before all of them.
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


def group_lines_by_page(space: str, memories: Iterable[Memory]) -> dict[str, dict[str, PageLine]]:
    """Page → id → line, as the store says, in the order in which it happened."""
    found: dict[str, dict[str, PageLine]] = {}
    for memory in sorted(memories, key=lambda memory: (memory.at, memory.id)):
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
        spot = (page.name, number)
        if not isinstance(block, PageItem):
            continue
        if spot in edits.refused:
            blocks[number] = block._replace(id="")
        elif spot in edits.prose:
            blocks[number] = to_prose(block)
        else:
            blocks[number] = block._replace(id=edits.new_ids.get(spot, block.id))
    return page._replace(blocks=tuple(blocks))
