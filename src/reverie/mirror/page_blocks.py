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
# Comments are invisible where Markdown is rendered.
_ID = re.compile(rf"[ \t]*<!--[ \t]*({MEMORY_ID.pattern})[ \t]*-->")
_TIME = re.compile(r"((?:[01]\d|2[0-3]):[0-5]\d)(?:[ \t]+|$)")
# The hint for people that follows the stamp may be worded otherwise in other versions.
_MARK = re.compile(r"<!-- reverie mirror (\S+) (\S+) ([0-9a-f]{8})\b.*-->")
HINT = (
    "change a line, delete it, or add “- …” under a heading: it is revised, forgotten, remembered"
)


class PageMark(NamedTuple):
    """Our first line: whose page this is, and the stamp of the state that it was made from."""

    raw: str
    space: str
    page: str
    stamp: str


class PageHeading(NamedTuple):
    """A heading; `group` is that of what stands under it, which it names itself if it `opens`."""

    raw: str
    group: str
    opens: bool


class PageItem(NamedTuple):
    """A bullet; `marked` is the id that stands in it, `id` the memory it is decided to be about."""

    raw: str
    line: PageLine
    marked: str = ""
    id: str = ""

    @property
    def emptied(self) -> bool:
        """True if somebody has left nothing but the bullet and the id."""
        return not self.line.text.strip() and bool(_BULLET.match(self.raw.strip()))


class PageProse(NamedTuple):
    """One line of somebody's own, or several that belong together."""

    raw: str


PageBlock = PageMark | PageHeading | PageItem | PageProse


def to_prose(item: PageItem) -> PageProse:
    """The bullet as prose: without the comment that names a memory."""
    return PageProse(_ID.sub("", item.raw))


def find_memory_ids(text: str) -> set[str]:
    """The ids that stand in comments anywhere in a text."""
    return {found[1] for found in _ID.finditer(text)}


class MirrorPage(NamedTuple):
    """A page as its blocks, in order."""

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
        """The line end that most of its lines have."""
        ends = [block.raw.endswith("\r\n") for block in self.blocks if block.raw.endswith("\n")]
        return "\r\n" if ends and 2 * sum(ends) > len(ends) else "\n"


def parse_mirror_page(text: str, name: str, under: str = "") -> MirrorPage:
    """A page from its text; what precedes its first heading stands under the heading `under`."""
    return MirrorPage(
        name, tuple(_iter_blocks(split_keeping_ends(text), name, find_private_lines(text), under))
    )


def find_private_lines(text: str) -> frozenset[int]:
    """The numbers, from 0, of the lines of `<private>` passages that span more than one line."""
    lines: set[int] = set()
    for start, end in find_private_passages(text):
        first, last = text.count("\n", 0, start), text.count("\n", 0, end)
        if last > first:
            lines.update(range(first, last + 1))
    return frozenset(lines)


def split_keeping_ends(text: str) -> list[str]:
    """The lines with their ends; only a newline ends one.

    A memory may hold anything else that Unicode calls an end.
    """
    return re.findall(r".*\n|.+", text)


def _iter_blocks(
    lines: Sequence[str], name: str, private: frozenset[int], under: str
) -> Iterator[PageBlock]:
    known = {group.casefold(): group for group in list_headings(name)}
    at, group, level, has_mark = 0, under, 0, False
    while at < len(lines):
        raw = lines[at]
        bare = raw.rstrip("\r\n")
        end = at + 1
        mark = None if has_mark else _MARK.fullmatch(bare.rstrip())
        heading = _HEADING.fullmatch(bare)
        bullet = _BULLET.match(bare) or (_LOOSE.match(bare) if _ID.search(bare) else None)
        if at in private:
            # The user's own words, which stay as they stand and are not taken in.
            end = next((line for line in range(at, len(lines)) if line not in private), len(lines))
            yield PageProse("".join(lines[at:end]))
        elif mark:
            has_mark = True
            yield PageMark(raw, unquote(mark[1]), unquote(mark[2]), mark[3])
        elif heading:
            own = known.get(heading[2].casefold(), "")
            # A deeper heading of somebody's own belongs to the one above it.
            if own or len(heading[1]) <= level:
                group = own
                level = len(heading[1]) if own else 0
            yield PageHeading(raw, group, bool(own))
        elif bullet:
            end = _find_item_end(lines, at)
            yield _parse_bullet(lines[at:end], bare[bullet.end() :], group, name)
        else:
            end = _find_closed_end(lines, at)
            yield PageProse("".join(lines[at:end]))
        at = end


def _find_item_end(lines: Sequence[str], at: int) -> int:
    """Where the item that begins at `at` ends: after its last indented line, or before the next."""
    marked = bool(_ID.search(lines[at]))
    end = ahead = at + 1 if marked else _find_wrapped_end(lines, at + 1)
    marked = marked or end > at + 1
    while ahead < len(lines):
        line = lines[ahead]
        if line.strip("\r\n \t"):
            if line[0] not in " \t":
                break
            # A second id, or a bullet with one, is the next item.
            if _ID.search(line):
                if marked or _BULLET.match(line.strip()):
                    break
                marked = True
            end = ahead + 1
        ahead += 1
    return end


def _find_wrapped_end(lines: Sequence[str], at: int) -> int:
    """Where an item ends that goes on unindented up to its id; `at` if it does not."""
    for ahead in range(at, len(lines)):
        bare = lines[ahead].rstrip("\r\n")
        if not bare.strip():
            break
        if any(opening.match(bare) for opening in (_BULLET, _NUMBER, _HEADING, _FENCE)):
            break
        if _ID.search(bare):
            return at if _BULLET.match(bare.lstrip()) else ahead + 1
    return at


def _find_closed_end(lines: Sequence[str], at: int) -> int:
    """Where a fence or a comment that begins at `at` ends; the next line for all else.

    Also for what is never closed, or holds an id: an item is never swallowed.
    """
    fence = _FENCE.match(lines[at].rstrip("\r\n"))
    if not fence and not (lines[at].startswith("<!--") and "-->" not in lines[at]):
        return at + 1
    mark = (fence[1] or fence[2]) if fence else ""
    for ahead in range(at + 1, len(lines)):
        line = lines[ahead]
        # It was never closed where it should have been: no item may be swallowed.
        if _ID.search(line):
            return at + 1
        if closes_fence(mark, line) if mark else "-->" in line:
            return ahead + 1
    return at + 1


def closes_fence(fence: str, line: str) -> bool:
    """True if a line closes a fence: bare, of the same characters, as many at least, not indented.

    CommonMark 4.5.
    """
    bare = line.strip()
    indent = len(line) - len(line.lstrip(" "))
    return len(bare) >= len(fence) and not bare.strip(fence[0]) and indent < 4


def _parse_bullet(lines: Sequence[str], first: str, group: str, name: str) -> PageBlock:
    """A bullet as a memory's line, a new one, or, with nothing of either, prose."""
    raw, body = "".join(lines), [first, *lines[1:]]
    ids = [found[1] for line in body for found in _ID.finditer(line)]
    if not ids and not group:
        return PageProse(raw)
    if ids:
        # An id that was wrapped into a line of its own leaves no line.
        rest = (line for line in body[1:] if not _ID.fullmatch(line.strip()))
        body = [_ID.sub("", line) for line in (body[0], *rest)]
    time = _TIME.match(body[0]) if parse_page_day(name) else None
    if time:
        body[0] = body[0][time.end() :]
    text = decode_item(body)
    if not ids and not text.strip(" \t\n-*+"):
        return PageProse(raw)
    id = ids[0] if ids else ""
    return PageItem(raw, PageLine(text, group, time[1] if time else ""), id, id)


def render_item(line: PageLine, id: str, ending: str = "\n") -> str:
    """A memory's line as it stands on a page."""
    first, *others = encode_item(line.text)
    bullet = f"- {line.time} {first}" if line.time else f"- {first}"
    return "".join(part + ending for part in (f"{bullet} <!-- {id} -->", *others))


def render_mark(space: str, name: str, stamp: str) -> str:
    """Our first line of a page."""
    return (
        f"<!-- reverie mirror {quote(space, safe='/')} {quote(name, safe='/')} {stamp}: {HINT} -->"
    )


def render_claiming_mark(space: str, name: str) -> str:
    """The first line by which a person makes a page of their own one of ours."""
    return f"<!-- reverie mirror {quote(space, safe='/')} {quote(name, safe='/')} {'0' * 8} -->"


def compute_page_stamp(lines: Iterable[tuple[str, PageLine]]) -> str:
    """Eight hex digits that tell one state of a page's lines from another."""
    from reverie.text.tokenization import fingerprint_text

    return fingerprint_text(repr(sorted((id, *line) for id, line in lines))).hex()[:8]
