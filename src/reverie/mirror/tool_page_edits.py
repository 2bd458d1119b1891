"""A tool writes to a page of the mirror. The memories are what counts, and the page follows them as
it always does.

What is appended is remembered, a memory for each bullet and paragraph, and the mirror puts it under
its heading. A page that is replaced is compared with what stood there, as a person's edit is: what
is new is remembered, what is gone is forgotten, what carries an id and says something else is
revised. Its layout and its prose are kept. All of it is one event, `file`, which names the bytes
that the page had.

A line is never taken for a person's: it gets its id before the mirror reads it. After a crash
between the event and the page the memories are as they were written, and only the layout is the old
one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.model import EMPTY_MAPPING, Add, Change, Event, Filter, Memory, Retire, Revise
from reverie.mirror.apply_page_edits import (
    PERSON_SOURCE,
    build_line_memory,
    decide_page_edits,
)
from reverie.mirror.mirror_folder import FoundPage, MirrorFolder, PageTrouble
from reverie.mirror.mirror_sync import hold_mirror_lease
from reverie.mirror.page_blocks import (
    MirrorPage,
    PageBlock,
    PageHeading,
    PageItem,
    PageMark,
    PageProse,
    parse_mirror_page,
    render_claiming_mark,
)
from reverie.mirror.page_placement import PageLine, default_heading
from reverie.mirror.page_rendering import render_page
from reverie.mirror.space_sync import ALL_MEMORIES, assign_memories, group_lines_by_page
from reverie.mirror.three_way_merge import merge_page
from reverie.notes import file_versions
from reverie.pipeline.event_reader import WorkContext


class PageUpdate(NamedTuple):
    """What a tool wants written to a page."""

    name: str
    text: str
    mode: str  # "append", "replace"; "restore": a page as it was, prose and all
    source: Mapping[str, Any] = PERSON_SOURCE  # fields of what is new: whose word it is, at least


class UpdatedPage(NamedTuple):
    """What came of a page update."""

    version: int  # of the event: `undo` and `files.restore` take it
    memories: tuple[Memory, ...] = ()  # that are new
    revised: int = 0
    forgotten: int = 0


def update_page(
    work: WorkContext,
    folder: MirrorFolder,
    update: PageUpdate,
    now: Callable[[], float],
) -> UpdatedPage:
    """Write to a page.

    Raises BadInput, and nothing is done, where it is left alone or a line cannot be kept.
    """
    with hold_mirror_lease(work.store, now):
        try:
            found = folder.read(update.name)
        except PageTrouble as err:
            raise BadInput(f"{err}. Nothing was changed") from err
        writer = PageWriter(work, folder, update, found)
        if update.mode == "append":
            return writer.append()
        if update.mode == "replace":
            # It refuses what would lose a secret of the page.
            file_versions.compose_file_update(found.data, update.text, update.mode, work.policy)
        return writer.replace()


class PageWriter(NamedTuple):
    """Writes one update to a page as it was found."""

    work: WorkContext
    folder: MirrorFolder
    update: PageUpdate
    found: FoundPage

    def append(self) -> UpdatedPage:
        """Remember what is appended and does not stand there yet."""
        name, source = self.update.name, self.update.source
        page = itemise_text(self.update.text, name)
        memories = []
        for fresh in merge_page(EMPTY_MAPPING, page, self.store_lines()).fresh:
            title = find_title_above(page, fresh.block)
            fields = {"title": title, **source} if title else source
            memory = build_line_memory(self.work, self.folder.space, name, fresh.line, fields)
            memories.append(memory)
        return UpdatedPage(
            self.record([Add(memory) for memory in memories]),
            tuple(memories),
        )

    def replace(self) -> UpdatedPage:
        """Put a page in the place of what stands there."""
        name, text = self.update.name, self.update.text
        if self.update.mode == "restore":
            page = parse_mirror_page(text, name)
        else:
            page = itemise_text(text, name, list_prose_lines(self.found.page))
        # What is compared is what the event alters.
        with self.work.store.transaction():
            ours = self.store_lines()
            merged = merge_page(ours, page, ours)
            pages = [(merged, ours)]
            edits = decide_page_edits(self.work, self.folder.space, pages, self.update.source)
            if edits.refused:
                raise BadInput(f"{' '.join(edits.refused.values())} Nothing was changed")
            version = self.record(edits.changes)
        self.write(assign_memories(merged.page, edits))
        changes = edits.changes
        return UpdatedPage(
            version,
            tuple(change.memory for change in changes if isinstance(change, Add)),
            len({change.id for change in changes if isinstance(change, Revise)}),
            sum(isinstance(change, Retire) for change in changes),
        )

    def write(self, page: MirrorPage) -> None:
        """Write the page as the store has it now.

        What somebody altered meanwhile stays for the mirror to take in.
        """
        folder, ours = self.folder, self.store_lines()
        if not page.mark:
            claim = f"{render_claiming_mark(folder.space, page.name)}\n"
            page = page._replace(blocks=(*parse_mirror_page(claim, page.name).blocks, *page.blocks))
        try:
            folder.keep_copy(page.name, folder.copy(page.name).with_lines(ours))
            folder.write(self.found, render_page(page, folder.space, ours))
        except (PageTrouble, OSError) as err:
            raise BadInput(
                f"What you wrote is remembered, but the page is as it was: {err}"
            ) from err

    def record(self, changes: Sequence[Change]) -> int:
        """Apply the changes as one event that names the bytes the page had; its number."""
        work, data, before = self.work, self.found.data, file_versions.NO_FILE
        if data is not None:
            before = file_versions.keep_version(work.settings.home, data)
        payload = {
            # With links resolved, as files are named in events.
            "path": str(self.folder.path.resolve() / self.update.name),
            "mode": self.update.mode,
            "before": before,
            "size": len(data or b""),
        }
        event = Event(file_versions.VERB, self.folder.space, work.now, payload=payload)
        return work.store.apply(changes, event)

    def store_lines(self) -> dict[str, PageLine]:
        """What the store says on the page."""
        space = self.folder.space
        memories = self.work.store.browse(Filter(spaces=(space,), limit=ALL_MEMORIES))
        return group_lines_by_page(space, memories).get(self.update.name, {})


def find_title_above(page: MirrorPage, number: int) -> str:
    """The words of somebody's own heading over a block; "" under none or one of ours."""
    above = [block for block in page.blocks[:number] if isinstance(block, PageHeading)]
    return above[-1].raw.strip().strip("#").strip() if above and not above[-1].opens else ""


# A text as blocks of a page


def itemise_text(
    text: str,
    name: str,
    prose: Collection[str] = (),
) -> MirrorPage:
    """The text as blocks of a page, without a first line of ours; lines of `prose` stay prose.

    Every bullet and every paragraph is an item. Those that stand under none of our headings have
    none: whoever remembers them puts them under the page's default one.
    """
    page = parse_mirror_page(text, name)
    blocks: list[PageBlock] = []
    group = ""
    for is_prose, run in groupby(page.blocks, lambda block: _is_new_prose(block, prose)):
        some = list(run)
        blocks += (
            _iter_items("".join(block.raw for block in some), name, group)
            if is_prose
            else [block for block in some if not isinstance(block, PageMark)]
        )
        group = next(
            (block.group for block in reversed(some) if isinstance(block, PageHeading)), group
        )
    return MirrorPage(name, tuple(blocks))


def list_prose_lines(page: MirrorPage) -> set[str]:
    """The lines and passages of a page that are about no memory."""
    lines: set[str] = set()
    for block in page.blocks:
        if isinstance(block, PageProse):
            lines |= {block.raw.strip(), *block.raw.splitlines()}
    return {line for line in lines if line.strip()}


def _is_new_prose(block: PageBlock, prose: Collection[str]) -> bool:
    """True if a block of prose says something that nobody has remembered yet."""
    bare = block.raw.strip()
    return (
        isinstance(block, PageProse)
        and bool(bare)
        and not bare.startswith("<!--")
        and bare not in prose
    )


def _iter_items(
    text: str,
    name: str,
    group: str,
) -> Iterator[PageItem]:
    """The bullets of a text, and its paragraphs, under a heading."""
    page = parse_mirror_page(text, name, default_heading(name))
    for is_item, run in groupby(page.blocks, lambda block: isinstance(block, PageItem)):
        if is_item:
            for block in run:
                if isinstance(block, PageItem):
                    yield block._replace(line=block.line._replace(heading=group))
        else:
            raw = "".join(block.raw for block in run)
            yield PageItem(raw, PageLine(raw.strip("\n"), group))
