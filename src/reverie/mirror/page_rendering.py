"""A page written anew: the person's page with every memory's line as the store has it. Pure.

Prose, headings and their order stay to the byte. A line that says what the store says stays as it
was typed. Lines of memories that are gone go, new ones follow the last line under their heading; a
heading that is missing is put before the first one that comes after it in our order. Weaving twice
gives the same.
"""

from collections.abc import Mapping

from reverie.mirror.page_blocks import (
    MirrorPage,
    PageBlock,
    PageHeading,
    PageItem,
    PageMark,
    PageProse,
    compute_page_stamp,
    find_memory_ids,
    parse_mirror_page,
    render_item,
    render_mark,
)
from reverie.mirror.page_placement import list_headings, parse_page_day
from reverie.mirror.three_way_merge import PageLines, list_differing_fields


def render_page(page: MirrorPage, space: str, ours: PageLines) -> MirrorPage:
    """The page with the store's lines on it; a page without anything gets our first line and a
    title.
    """
    page = page if page.text.strip() else make_blank_page(space, page.name)
    ending = page.ending
    blocks = [
        kept for block in page.blocks if (kept := refresh_block(block, ours, ending)) is not None
    ]
    there = {
        id for block in blocks if isinstance(block, PageItem) for id in (block.id, block.marked)
    }
    for heading in list_headings(page.name):
        missing = [
            PageItem(render_item(line, id, ending), line, id, id)
            for id, line in ours.items()
            if line.heading == heading and id not in there
        ]
        if missing:
            blocks = insert_items(blocks, heading, missing, list_headings(page.name), ending)
    return page._replace(
        blocks=tuple(
            replace_mark(
                blocks, render_mark(space, page.name, compute_page_stamp(ours.items())), ending
            )
        )
    )


def make_blank_page(space: str, name: str) -> MirrorPage:
    """A page of ours with nothing on it."""
    day = parse_page_day(name)
    title = (
        f"# {day.isoformat()} in {space} (UTC)" if day else f"# What Reverie remembers in {space}"
    )
    return parse_mirror_page(f"{render_mark(space, name, '0' * 8)}\n{title}\n", name)


def refresh_block(block: PageBlock, ours: PageLines, ending: str) -> PageBlock | None:
    """A block as the store has it: prose as it is, an item that nobody answers for not at all."""
    if not isinstance(block, PageItem) or not block.id:
        return block
    line = ours.get(block.id)
    if line is None or block.line.heading not in ("", line.heading):
        return None
    same = (block.line.text, block.line.time) == (line.text, line.time)
    if same and block.marked == block.id and len(find_memory_ids(block.raw)) == 1:
        return block
    return PageItem(
        render_item(line, block.id, ending),
        line._replace(heading=block.line.heading),
        block.id,
        block.id,
    )


def insert_items(
    blocks: list[PageBlock],
    heading: str,
    items: list[PageItem],
    order: tuple[str, ...],
    ending: str,
) -> list[PageBlock]:
    """The blocks with these items at the end of what stands under a heading, which is made if it is
    not there.
    """
    opened = next(
        (
            n
            for n, block in enumerate(blocks)
            if isinstance(block, PageHeading) and block.opens and block.group == heading
        ),
        None,
    )
    if opened is None:
        later = order[order.index(heading) + 1 :]
        at = next(
            (
                n
                for n, block in enumerate(blocks)
                if isinstance(block, PageHeading) and block.opens and block.group in later
            ),
            len(blocks),
        )
        before: list[PageBlock] = end_last_line(blocks[:at], ending)
        gap = [PageProse(ending)] if before and before[-1].raw.strip() else []
        after: list[PageBlock] = [PageProse(ending), *blocks[at:]] if at < len(blocks) else []
        return [
            *before,
            *gap,
            PageHeading(f"## {heading}{ending}", heading, True),
            PageProse(ending),
            *items,
            *after,
        ]
    at = opened + 1
    for number, block in enumerate(blocks[at:], start=at):
        if isinstance(block, PageHeading):
            break
        if isinstance(block, PageItem):
            at = number + 1
    if at == opened + 1:  # no line yet: below the heading and the empty line that follows it
        below = blocks[at] if at < len(blocks) else None
        if isinstance(below, PageProse) and not below.raw.strip():
            at += 1
        else:
            items = [items[0]._replace(raw=ending + items[0].raw), *items[1:]]
    following = blocks[at : at + 1]
    if following and isinstance(following[0], PageHeading):
        items = [*items[:-1], items[-1]._replace(raw=items[-1].raw + ending)]
    return [*end_last_line(blocks[:at], ending), *items, *blocks[at:]]


def end_last_line(blocks: list[PageBlock], ending: str) -> list[PageBlock]:
    """The blocks, the last of them with an end of line, since something follows."""
    if not blocks or blocks[-1].raw.endswith("\n"):
        return blocks
    return [*blocks[:-1], blocks[-1]._replace(raw=blocks[-1].raw + ending)]


def replace_mark(blocks: list[PageBlock], line: str, ending: str) -> list[PageBlock]:
    """The blocks with this first line of ours, where it stood."""
    fresh = PageMark(line + ending, "", "", "")
    if not any(isinstance(block, PageMark) for block in blocks):
        return [fresh, *blocks]
    return [
        block._replace(raw=line + block.raw[len(block.raw.rstrip("\r\n")) :])
        if isinstance(block, PageMark)
        else block
        for block in blocks
    ]


def remove_memories(page: MirrorPage, ids: set[str], texts: set[str]) -> MirrorPage:
    """The page without the lines of these memories, also where a line has lost its id: for what is
    erased for good.
    """
    return page._replace(
        blocks=tuple(
            block
            for block in page.blocks
            if not isinstance(block, PageItem)
            or not (block.marked in ids or (not block.marked and block.line.text.strip() in texts))
        )
    )


def diff_page(page: MirrorPage, ours: PageLines) -> dict[str, str]:
    """What is wrong with a page that should say what the store says: memory → how they differ."""
    items: Mapping[str, PageItem] = {item.marked: item for item in page.items if item.marked}
    wrong = dict.fromkeys(ours.keys() - items.keys(), "is not on the page")
    wrong |= dict.fromkeys(items.keys() - ours.keys(), "stands on the page but does not count")
    return wrong | {
        id: f"says something else on the page: {', '.join(names)}"
        for id in items.keys() & ours.keys()
        if (names := list_differing_fields(items[id].line, ours[id]._replace(heading="")))
    }
