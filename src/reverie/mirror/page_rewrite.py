"""A text that a tool writes to a page, as blocks of it: every bullet and every paragraph is an
item. Pure.

Items that stand under none of our headings have none; whoever remembers them puts them under the
page's usual one.
"""

from collections.abc import Collection, Iterator
from itertools import groupby

from reverie.mirror.page_blocks import Block, Heading, Item, Mark, Page, Prose, parse
from reverie.mirror.page_placement import Line, usual


def itemised(text: str, name: str, prose: Collection[str] = ()) -> Page:
    """The text as blocks of a page, without a first line of ours. Lines that are `prose` already
    stay so.
    """
    page = parse(text, name)
    blocks: list[Block] = []
    group = ""
    for is_prose, run in groupby(page.blocks, lambda block: _sayable(block, prose)):
        some = list(run)
        blocks += (
            _items("".join(block.raw for block in some), name, group)
            if is_prose
            else [block for block in some if not isinstance(block, Mark)]
        )
        group = next((block.group for block in reversed(some) if isinstance(block, Heading)), group)
    return Page(name, tuple(blocks))


def prose_of(page: Page) -> set[str]:
    """The lines of a page that are about no memory."""
    return {
        line
        for block in page.blocks
        if isinstance(block, Prose)
        for line in (block.raw.strip(), *block.raw.splitlines())
        if line.strip()
    }


def heading_over(page: Page, number: int) -> str:
    """The words of somebody's own heading under which a block stands; "" under none or
    one of ours.
    """
    above = next(
        (block for block in reversed(page.blocks[:number]) if isinstance(block, Heading)), None
    )
    return above.raw.strip().strip("#").strip() if above and not above.opens else ""


def _sayable(block: Block, prose: Collection[str]) -> bool:
    """Whether a block of prose says something that nobody has remembered yet."""
    bare = block.raw.strip()
    return (
        isinstance(block, Prose)
        and bool(bare)
        and not bare.startswith("<!--")
        and bare not in prose
    )


def _items(text: str, name: str, group: str) -> Iterator[Item]:
    """The bullets of a text, and its paragraphs."""
    for is_item, run in groupby(
        parse(text, name, usual(name)).blocks, lambda block: isinstance(block, Item)
    ):
        if is_item:
            yield from (
                block._replace(line=block.line._replace(heading=group))
                for block in run
                if isinstance(block, Item)
            )
        else:
            raw = "".join(block.raw for block in run)
            yield Item(raw, Line(raw.strip("\n"), group))
