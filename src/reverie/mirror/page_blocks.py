"""A page as blocks: our first line, headings, items, and prose, which is everything else.

An item is a bullet at the beginning of a line with the indented lines below it. It belongs to a
memory if it carries the comment with the id, and then it may have lost its bullet, have a number
instead, be indented, or be wrapped. A bullet without one under a heading of ours is a new line;
under somebody's own heading it is prose. A deeper heading belongs to the one above it. What stands
in a fence or in a comment of several lines is prose, unless an id stands in it: then the fence was
never closed where it should have been, and nothing must be lost.

`"".join(block.raw …)` is the page again, to the byte, line ends included.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple
from urllib.parse import quote, unquote

from reverie.core.private_passages import find_private_passages
from reverie.mirror.markdown_escape import decode_item, encode_item
from reverie.mirror.page_placement import MEMORY_ID, PageLine, list_headings, parse_page_day

_BULLET = re.compile(r"[-*+][ \t]+(?=\S)|[-*+]$")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*$")
_NUMBER = re.compile(r"\d{1,9}[.)][ \t]")
# before a line that an id makes an item all the same
_LOOSE = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?")
_FENCE = re.compile(r" {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$")  # CommonMark 4.5
_ID = re.compile(rf"[ \t]*<!--[ \t]*({MEMORY_ID.pattern})[ \t]*-->")
_TIME = re.compile(r"((?:[01]\d|2[0-3]):[0-5]\d)(?:[ \t]+|$)")
_MARK = re.compile(r"<!-- reverie mirror (\S+) (\S+) ([0-9a-f]{8})\b.*-->")
HINT = (
    "change a line, delete it, or add “- …” under a heading: it is revised, forgotten, remembered"
)


class PageMark(NamedTuple):
    """Our first line: whose page this is, and which of the states that we wrote it was
    made from.
    """

    raw: str
    space: str
    page: str
    stamp: str


class PageHeading(NamedTuple):
    """A heading. `group` is that of what stands under it; `opens` says whether it names the group
    itself.
    """

    raw: str
    group: str
    opens: bool


class PageItem(NamedTuple):
    """A bullet. `marked` is the id that stands in it, `id` the memory that it is about once that is
    decided.
    """

    raw: str
    line: PageLine
    marked: str = ""
    id: str = ""

    @property
    def emptied(self) -> bool:
        """Whether somebody has left nothing but the bullet and the id."""
        return not self.line.text.strip() and bool(_BULLET.match(self.raw.strip()))


class PageProse(NamedTuple):
    """One line of somebody's own, or several that belong together."""

    raw: str


PageBlock = PageMark | PageHeading | PageItem | PageProse


def to_prose(item: PageItem) -> PageProse:
    """A bullet that is about no memory, without the comment that said it was."""
    return PageProse(_ID.sub("", item.raw))


def find_memory_ids(text: str) -> set[str]:
    """The memories whose ids stand somewhere in a text."""
    return {found[1] for found in _ID.finditer(text)}


class MirrorPage(NamedTuple):
    """A page, in order."""

    name: str
    blocks: tuple[PageBlock, ...] = ()

    @property
    def text(self) -> str:
        """The page as it was read."""
        return "".join(block.raw for block in self.blocks)

    @property
    def mark(self) -> PageMark | None:
        """Our first line, if it is there."""
        return next((block for block in self.blocks if isinstance(block, PageMark)), None)

    @property
    def items(self) -> list[PageItem]:
        """The bullets that are about a memory or may become one."""
        return [block for block in self.blocks if isinstance(block, PageItem)]

    @property
    def ending(self) -> str:
        """How its lines end, mostly."""
        ends = [block.raw.endswith("\r\n") for block in self.blocks if block.raw.endswith("\n")]
        return "\r\n" if ends and 2 * sum(ends) > len(ends) else "\n"


def parse_mirror_page(text: str, name: str, under: str = "") -> MirrorPage:
    """A page from its text; what precedes its first heading stands under the heading `under`."""
    return MirrorPage(
        name, tuple(_iter_blocks(split_keeping_ends(text), name, find_private_lines(text), under))
    )


def find_private_lines(text: str) -> frozenset[int]:
    """The lines, from 0, of passages between `<private>` and `</private>` that take
    more than one.
    """
    spans = [
        (text.count("\n", 0, start), text.count("\n", 0, end))
        for start, end in find_private_passages(text)
    ]
    return frozenset(
        line for first, last in spans if last > first for line in range(first, last + 1)
    )


def split_keeping_ends(text: str) -> list[str]:
    """The lines with their ends. Only a newline ends one: a memory may hold anything else that
    Unicode calls an end.
    """
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _iter_blocks(
    lines: Sequence[str], name: str, private: frozenset[int] = frozenset(), under: str = ""
) -> Iterator[PageBlock]:
    known = {group.casefold(): group for group in list_headings(name)}
    at, group, level, marked = 0, under, 0, False
    while at < len(lines):
        raw = lines[at]
        bare = raw.rstrip("\r\n")
        more = at + 1
        if at in private:  # the user's own words, which stay as they stand and are not taken in
            more = next((line for line in range(at, len(lines)) if line not in private), len(lines))
            yield PageProse("".join(lines[at:more]))
        elif not marked and (found := _MARK.fullmatch(bare.rstrip())):
            marked = True
            yield PageMark(raw, unquote(found[1]), unquote(found[2]), found[3])
        elif found := _HEADING.fullmatch(bare):
            own = known.get(found[2].casefold(), "")
            if own or len(found[1]) <= level:
                group = own
                level = len(found[1]) if own else 0
            yield PageHeading(raw, group, bool(own))
        elif found := _BULLET.match(bare) or (_LOOSE.match(bare) if _ID.search(bare) else None):
            more = _find_item_end(lines, at)
            yield _parse_bullet(lines[at:more], bare[found.end() :], group, name)
        else:
            more = _find_closed_end(lines, at)
            yield PageProse("".join(lines[at:more]))
        at = more


def _find_item_end(lines: Sequence[str], at: int) -> int:
    """Where the item that begins here ends: after its last indented line, or before one that is an
    item itself.
    """
    marked = bool(_ID.search(lines[at]))
    end = ahead = at + 1 if marked else _find_wrapped_end(lines, at + 1)
    marked = marked or end > at + 1
    while ahead < len(lines):
        line = lines[ahead]
        if line.strip("\r\n \t"):
            if line[0] not in " \t":
                break
            if _ID.search(line):
                if marked or _BULLET.match(line.strip()):
                    break
                marked = True
            end = ahead + 1
        ahead += 1
    return end


def _find_wrapped_end(lines: Sequence[str], at: int) -> int:
    """Where an item ends that goes on here without indentation up to its id; `at` if
    it does not.
    """
    for ahead in range(at, len(lines)):
        bare = lines[ahead].rstrip("\r\n")
        if not bare.strip() or any(
            begins.match(bare) for begins in (_BULLET, _NUMBER, _HEADING, _FENCE)
        ):
            break
        if _ID.search(bare):
            return at if _BULLET.match(bare.lstrip()) else ahead + 1
    return at


def _find_closed_end(lines: Sequence[str], at: int) -> int:
    """Where a fence or a comment that begins here ends; the next line for all else, and for what is
    never closed.
    """
    fence = _FENCE.match(lines[at].rstrip("\r\n"))
    if not fence and not (lines[at].startswith("<!--") and "-->" not in lines[at]):
        return at + 1
    mark = (fence[1] or fence[2]) if fence else ""
    for ahead in range(at + 1, len(lines)):
        line = lines[ahead]
        if _ID.search(line):
            return at + 1
        if closes_fence(mark, line) if mark else "-->" in line:
            return ahead + 1
    return at + 1


def closes_fence(fence: str, line: str) -> bool:
    """Whether a line closes a fence: bare, of the same characters, at least as many (CommonMark
    4.5).
    """
    bare = line.strip()
    return (
        len(bare) >= len(fence)
        and not bare.strip(fence[0])
        and len(line) - len(line.lstrip(" ")) < 4
    )


def _parse_bullet(lines: Sequence[str], first: str, group: str, name: str) -> PageBlock:
    """What a bullet says: a memory's line, a new one, or, with nothing of either, prose."""
    raw, told = "".join(lines), [first, *lines[1:]]
    ids = [found[1] for line in told for found in _ID.finditer(line)]
    if not ids and not group:
        return PageProse(raw)
    if ids:  # an id that was wrapped into a line of its own leaves none
        told = [
            _ID.sub("", line)
            for n, line in enumerate(told)
            if not n or not _ID.fullmatch(line.strip())
        ]
    time = _TIME.match(told[0]) if parse_page_day(name) else None
    if time:
        told[0] = told[0][time.end() :]
    text = decode_item(told)
    if not ids and not text.strip(" \t\n-*+"):
        return PageProse(raw)
    return PageItem(
        raw,
        PageLine(text, group, time[1] if time else ""),
        ids[0] if ids else "",
        ids[0] if ids else "",
    )


def render_item(line: PageLine, id: str, ending: str = "\n") -> str:
    """A memory's line as it stands on a page."""
    first, *others = encode_item(line.text)
    first = f"- {line.time} {first}" if line.time else f"- {first}"
    return "".join(one + ending for one in (f"{first} <!-- {id} -->", *others))


def render_mark(space: str, name: str, stamp: str) -> str:
    """Our first line."""
    return (
        f"<!-- reverie mirror {quote(space, safe='/')} {quote(name, safe='/')} {stamp}: {HINT} -->"
    )


def render_claiming_mark(space: str, name: str) -> str:
    """The first line by which a person makes a page of their own one of ours."""
    return f"<!-- reverie mirror {quote(space, safe='/')} {quote(name, safe='/')} {'0' * 8} -->"


def compute_page_stamp(lines: Iterable[tuple[str, PageLine]]) -> str:
    """What tells one state of a page's lines from another."""
    from reverie.text.tokenization import fingerprint_text

    return fingerprint_text(repr(sorted((id, *line) for id, line in lines))).hex()[:8]
