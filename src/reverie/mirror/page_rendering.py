"""A page written anew: the person's page with every memory's line as the store has it. Pure.

Prose, headings and their order stay to the byte. A line that says what the store says stays as it
was typed. Lines of memories that are gone go, new ones follow the last line under their heading; a
heading that is missing is put before the first one that comes after it in our order. Rendering
twice gives the same.
"""

from dataclasses import dataclass

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


def render_page(
    page: MirrorPage,
    space: str,
    ours: PageLines,
) -> MirrorPage:
    """The page with the store's lines on it; an empty page gets our first line and a title."""
    page = page if page.text.strip() else make_blank_page(space, page.name)
    ending = page.ending
    refreshed = [refresh_block(block, ours, ending) for block in page.blocks]
    blocks = [block for block in refreshed if block is not None]
    builder = PageBuilder(blocks, list_headings(page.name), ending)
    items = [block for block in blocks if isinstance(block, PageItem)]
    present = {id for item in items for id in (item.id, item.marked)}
    for heading in builder.headings:
        missing = [
            PageItem(render_item(line, id, ending), line, id, id)
            for id, line in ours.items()
            if line.heading == heading and id not in present
        ]
        if missing:
            builder.insert_items(heading, missing)
    builder.replace_mark(render_mark(space, page.name, compute_page_stamp(ours.items())))
    return page._replace(blocks=tuple(builder.blocks))


def make_blank_page(space: str, name: str) -> MirrorPage:
    """A page of ours with a title and nothing else on it."""
    day = parse_page_day(name)
    title = f"{day.isoformat()} in {space} (UTC)" if day else f"What Reverie remembers in {space}"
    return parse_mirror_page(f"{render_mark(space, name, '0' * 8)}\n# {title}\n", name)


def refresh_block(
    block: PageBlock,
    ours: PageLines,
    ending: str,
) -> PageBlock | None:
    """A block as the store has it; None for the line of a memory that does not stand here."""
    if not isinstance(block, PageItem) or not block.id:
        return block
    line = ours.get(block.id)
    # Under another heading it is written anew, at that heading's end.
    if line is None or block.line.heading not in ("", line.heading):
        return None
    # As it was typed, even if we would write it otherwise, such as with another bullet.
    same = (block.line.text, block.line.time) == (line.text, line.time)
    if same and block.marked == block.id and len(find_memory_ids(block.raw)) == 1:
        return block
    return PageItem(
        render_item(line, block.id, ending),
        line._replace(heading=block.line.heading),
        block.id,
        block.id,
    )


@dataclass(slots=True)
class PageBuilder:
    """The blocks of a page, added to."""

    blocks: list[PageBlock]
    headings: tuple[str, ...]  # that the page may have, in their order
    ending: str  # of lines

    def insert_items(self, heading: str, items: list[PageItem]) -> None:
        """Put these items at the end of what stands under a heading, which is made if need be."""
        opening = self.find_heading((heading,))
        if opening is None:
            self.insert_heading(heading, items)
            return
        blocks = self.blocks
        at = self.find_end_of_items(opening)
        # No line yet: below the heading and the empty line that follows it.
        if at == opening + 1:
            below = blocks[at] if at < len(blocks) else None
            if isinstance(below, PageProse) and not below.raw.strip():
                at += 1
            else:
                first = items[0]
                items = [first._replace(raw=self.ending + first.raw), *items[1:]]
        if at < len(blocks) and isinstance(blocks[at], PageHeading):
            last = items[-1]
            items = [*items[:-1], last._replace(raw=last.raw + self.ending)]
        self.end_line_before(at)
        blocks[at:at] = items

    def find_end_of_items(self, opening: int) -> int:
        """The place behind the last item of the heading at `opening`, or behind the heading."""
        end = opening + 1
        for number, block in enumerate(self.blocks[end:], start=end):
            if isinstance(block, PageHeading):
                break
            if isinstance(block, PageItem):
                end = number + 1
        return end

    def insert_heading(self, heading: str, items: list[PageItem]) -> None:
        """Put a heading with its items before the first one that is later in order."""
        blocks, empty = self.blocks, PageProse(self.ending)
        at = self.find_heading(self.headings[self.headings.index(heading) + 1 :])
        at = len(blocks) if at is None else at
        self.end_line_before(at)
        gap = [empty] if at and blocks[at - 1].raw.strip() else []
        after = [empty] if at < len(blocks) else []
        title = PageHeading(f"## {heading}{self.ending}", heading, True)
        blocks[at:at] = [*gap, title, empty, *items, *after]

    def find_heading(self, groups: tuple[str, ...]) -> int | None:
        """The number of the first heading that opens one of these groups."""
        for number, block in enumerate(self.blocks):
            if isinstance(block, PageHeading) and block.opens and block.group in groups:
                return number
        return None

    def end_line_before(self, at: int) -> None:
        """End the line of the block before this place, since something follows."""
        if at and not self.blocks[at - 1].raw.endswith("\n"):
            last = self.blocks[at - 1]
            self.blocks[at - 1] = last._replace(raw=last.raw + self.ending)

    def replace_mark(self, mark: str) -> None:
        """Make this our first line: where it stood, else at the top."""
        is_marked = False
        for number, block in enumerate(self.blocks):
            if isinstance(block, PageMark):
                is_marked = True
                line_end = block.raw[len(block.raw.rstrip("\r\n")) :]
                self.blocks[number] = block._replace(raw=mark + line_end)
        if not is_marked:
            self.blocks.insert(
                0,
                PageMark(mark + self.ending, "", "", ""),
            )


def remove_memories(
    page: MirrorPage,
    ids: set[str],
    texts: set[str],
) -> MirrorPage:
    """The page without the lines of purged memories, by id, or by text where the id was lost."""

    def is_purged(block: PageBlock) -> bool:
        if not isinstance(block, PageItem):
            return False
        return block.marked in ids if block.marked else block.line.text.strip() in texts

    return page._replace(blocks=tuple(block for block in page.blocks if not is_purged(block)))


def diff_page(page: MirrorPage, ours: PageLines) -> dict[str, str]:
    """Memory → how its line on the page differs from what the store says."""
    items = {item.marked: item for item in page.items if item.marked}
    wrong = dict.fromkeys(ours.keys() - items.keys(), "is not on the page")
    wrong |= dict.fromkeys(items.keys() - ours.keys(), "stands on the page but does not count")
    for id in items.keys() & ours.keys():
        names = list_differing_fields(
            items[id].line,
            ours[id]._replace(heading=""),
        )
        if names:
            wrong[id] = f"says something else on the page: {', '.join(names)}"
    return wrong
