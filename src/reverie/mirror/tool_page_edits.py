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

    version: int  # of the event: `undo` and `restore_file` take it
    memories: tuple[Memory, ...] = ()  # that are new
    revised: int = 0
    forgotten: int = 0


def update_page(
    work: WorkContext, folder: MirrorFolder, update: PageUpdate, now: Callable[[], float]
) -> UpdatedPage:
    """Write to a page.

    Raises BadInput, and nothing is done, where it is left alone or a line cannot be kept.
    """
    with hold_mirror_lease(work.store, now):
        try:
            found = folder.read(update.name)
        except PageTrouble as err:
            raise BadInput(f"{err}. Nothing was changed") from err
        if update.mode == "append":
            return append_to_page(work, folder, update, found)
        if update.mode == "replace":
            # It refuses what would lose a secret of the page.
            file_versions.compose_file_update(found.data, update.text, update.mode, work.policy)
        return replace_page(work, folder, update, found)


def append_to_page(
    work: WorkContext, folder: MirrorFolder, update: PageUpdate, found: FoundPage
) -> UpdatedPage:
    """Remember what is appended and does not stand there yet."""
    page = itemise_text(update.text, update.name)
    known = load_page_lines(work, folder.space, update.name)
    memories = []
    for fresh in merge_page(EMPTY_MAPPING, page, known).fresh:
        source = with_title(page, fresh.block, update.source)
        memories.append(build_line_memory(work, folder.space, update.name, fresh.line, source))
    changes = [Add(memory) for memory in memories]
    version = record_page_update(work, folder, update, found, changes)
    return UpdatedPage(version, tuple(memories))


def with_title(page: MirrorPage, number: int, source: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a new line; its title is somebody's own heading above it, if it has one."""
    above = [block for block in page.blocks[:number] if isinstance(block, PageHeading)]
    if not above or above[-1].opens:
        return source
    title = above[-1].raw.strip().strip("#").strip()
    return {"title": title, **source} if title else source


def replace_page(
    work: WorkContext, folder: MirrorFolder, update: PageUpdate, found: FoundPage
) -> UpdatedPage:
    """Put a page in the place of what stands there."""
    name = update.name
    if update.mode == "restore":
        page = parse_mirror_page(update.text, name)
    else:
        page = itemise_text(update.text, name, list_prose_lines(found.page))
    with work.store.transaction():
        ours = load_page_lines(work, folder.space, name)
        merged = merge_page(ours, page, ours)
        edits = decide_page_edits(work, folder.space, [(merged, ours)], update.source)
        if edits.refused:
            raise BadInput(f"{' '.join(edits.refused.values())} Nothing was changed")
        version = record_page_update(work, folder, update, found, edits.changes)
    write_updated_page(work, folder, found, assign_memories(merged.page, edits))
    changes = edits.changes
    return UpdatedPage(
        version,
        tuple(change.memory for change in changes if isinstance(change, Add)),
        len({change.id for change in changes if isinstance(change, Revise)}),
        sum(isinstance(change, Retire) for change in changes),
    )


def write_updated_page(
    work: WorkContext, folder: MirrorFolder, found: FoundPage, page: MirrorPage
) -> None:
    """Write the page as the store has it now.

    What somebody altered meanwhile stays for the mirror to take in.
    """
    ours = load_page_lines(work, folder.space, page.name)
    if not page.mark:
        claim = f"{render_claiming_mark(folder.space, page.name)}\n"
        page = page._replace(blocks=(*parse_mirror_page(claim, page.name).blocks, *page.blocks))
    try:
        folder.keep_copy(page.name, folder.copy(page.name).with_lines(ours))
        folder.write(found, render_page(page, folder.space, ours))
    except (PageTrouble, OSError) as err:
        raise BadInput(f"What you wrote is remembered, but the page is as it was: {err}") from err


def record_page_update(
    work: WorkContext,
    folder: MirrorFolder,
    update: PageUpdate,
    found: FoundPage,
    changes: Sequence[Change],
) -> int:
    """Apply the changes as one event that names the bytes the page had; its number."""
    before = file_versions.NO_FILE
    if found.data is not None:
        before = file_versions.keep_version(work.settings.home, found.data)
    payload = {
        # With links resolved, as files are named in events.
        "path": str(folder.path.resolve() / update.name),
        "mode": update.mode,
        "before": before,
        "size": len(found.data or b""),
    }
    event = Event(file_versions.VERB, folder.space, work.now, payload=payload)
    return work.store.apply(changes, event)


def load_page_lines(work: WorkContext, space: str, name: str) -> dict[str, PageLine]:
    """What the store says on a page."""
    memories = work.store.browse(Filter(spaces=(space,), limit=ALL_MEMORIES))
    return group_lines_by_page(space, memories).get(name, {})


# A text as blocks of a page


def itemise_text(text: str, name: str, prose: Collection[str] = ()) -> MirrorPage:
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


def _iter_items(text: str, name: str, group: str) -> Iterator[PageItem]:
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
