"""A text that a tool writes to a page, as blocks of it: every bullet and every paragraph is an
item. Pure.

Items that stand under none of our headings have none; whoever remembers them puts them under the
page's default one.
"""

from collections.abc import Collection, Iterator
from itertools import groupby

from reverie.mirror.page_blocks import (
    MirrorPage,
    PageBlock,
    PageHeading,
    PageItem,
    PageMark,
    PageProse,
    parse_mirror_page,
)
from reverie.mirror.page_placement import PageLine, default_heading


def itemise_text(text: str, name: str, prose: Collection[str] = ()) -> MirrorPage:
    """The text as blocks of a page, without a first line of ours; lines of `prose` stay prose."""
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


def find_heading_above(page: MirrorPage, number: int) -> str:
    """The words of somebody's own heading over a block; "" under none or one of ours."""
    above = next(
        (block for block in reversed(page.blocks[:number]) if isinstance(block, PageHeading)), None
    )
    return above.raw.strip().strip("#").strip() if above and not above.opens else ""


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
