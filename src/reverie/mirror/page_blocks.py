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
        has_text = bool(self.line.text.strip())
        return not has_text and bool(_BULLET.match(self.raw.strip()))


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

    def find_item(self, id: str) -> int:
        """The number of the block that is about a memory, which must be there."""
        for number, block in enumerate(self.blocks):
            if isinstance(block, PageItem) and block.id == id:
                return number
        raise KeyError(id)

    @property
    def ending(self) -> str:
        """The line end that most of its lines have."""
        ends = [block.raw.endswith("\r\n") for block in self.blocks if block.raw.endswith("\n")]
        return "\r\n" if ends and 2 * sum(ends) > len(ends) else "\n"


def parse_mirror_page(
    text: str,
    name: str,
    under: str = "",
) -> MirrorPage:
    """A page from its text; what precedes its first heading stands under the heading `under`."""
    parser = PageParser(split_keeping_ends(text), name, find_private_lines(text), under)
    return MirrorPage(name, tuple(parser.iter_blocks()))


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


class PageParser:
    """Goes through the lines of a page and knows under which heading they stand."""

    def __init__(
        self,
        lines: Sequence[str],
        name: str,
        private: frozenset[int],
        under: str,
    ) -> None:
        self.lines, self.name, self.private = lines, name, private
        self.known = {group.casefold(): group for group in list_headings(name)}
        self.group, self.level, self.has_mark = under, 0, False

    def iter_blocks(self) -> Iterator[PageBlock]:
        """The blocks of the page, in order."""
        at = 0
        while at < len(self.lines):
            end = self._find_private_end(at)
            if end > at:
                # The user's own words, which stay as they stand and are not taken in.
                yield PageProse("".join(self.lines[at:end]))
            elif block := self._parse_line(self.lines[at]):
                end = at + 1
                yield block
            else:
                end, block = self._parse_lines(at)
                yield block
            at = end

    def _find_private_end(self, at: int) -> int:
        """Where private lines end that begin here; `at` if there are none."""
        while at < len(self.lines) and at in self.private:
            at += 1
        return at

    def _parse_line(self, raw: str) -> PageBlock | None:
        """Our first line, or a heading; None for anything else."""
        bare = raw.rstrip("\r\n")
        mark = None if self.has_mark else _MARK.fullmatch(bare.rstrip())
        if mark:
            self.has_mark = True
            return PageMark(
                raw,
                unquote(mark[1]),
                unquote(mark[2]),
                mark[3],
            )
        heading = _HEADING.fullmatch(bare)
        if not heading:
            return None
        own = self.known.get(heading[2].casefold(), "")
        # A deeper heading of somebody's own belongs to the one above it.
        if own or len(heading[1]) <= self.level:
            self.group = own
            self.level = len(heading[1]) if own else 0
        return PageHeading(raw, self.group, bool(own))

    def _parse_lines(self, at: int) -> tuple[int, PageBlock]:
        """A bullet or prose, which may be of several lines, and where it ends."""
        bare = self.lines[at].rstrip("\r\n")
        bullet = _BULLET.match(bare) or (_LOOSE.match(bare) if _ID.search(bare) else None)
        if not bullet:
            end = _find_closed_end(self.lines, at)
            return end, PageProse("".join(self.lines[at:end]))
        end = _find_item_end(self.lines, at)
        first = bare[bullet.end() :]
        return end, _parse_bullet(
            self.lines[at:end],
            first,
            self.group,
            self.name,
        )


def _find_item_end(lines: Sequence[str], at: int) -> int:
    """Where the item that begins at `at` ends: after its last indented line, or before the next."""
    marked = bool(_ID.search(lines[at]))
    end = at + 1 if marked else _find_wrapped_end(lines, at + 1)
    marked = marked or end > at + 1
    for ahead in range(end, len(lines)):
        line = lines[ahead]
        if not line.strip("\r\n \t"):
            continue
        if line[0] not in " \t":
            break
        # A second id, or a bullet with one, is the next item.
        if _ID.search(line):
            if marked or _BULLET.match(line.strip()):
                break
            marked = True
        end = ahead + 1
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


def _parse_bullet(
    lines: Sequence[str],
    first: str,
    group: str,
    name: str,
) -> PageBlock:
    """A bullet as a memory's line, a new one, or, with nothing of either, prose."""
    raw = "".join(lines)
    body = [first, *lines[1:]]
    ids = _ID.findall("\n".join(body))
    if not ids and not group:
        return PageProse(raw)
    if ids:
        body = _strip_ids(body)
    time = _TIME.match(body[0]) if parse_page_day(name) else None
    if time:
        body[0] = body[0][time.end() :]
    text = decode_item(body)
    if not ids and not text.strip(" \t\n-*+"):
        return PageProse(raw)
    id = ids[0] if ids else ""
    return PageItem(
        raw,
        PageLine(text, group, time[1] if time else ""),
        id,
        id,
    )


def _strip_ids(body: Sequence[str]) -> list[str]:
    """The lines of a bullet without ids; one that was wrapped into a line of its own leaves no
    line.
    """
    rest = [line for line in body[1:] if not _ID.fullmatch(line.strip())]
    return [_ID.sub("", line) for line in (body[0], *rest)]


def render_item(
    line: PageLine,
    id: str,
    ending: str = "\n",
) -> str:
    """A memory's line as it stands on a page."""
    first, *others = encode_item(line.text)
    bullet = f"- {line.time} {first}" if line.time else f"- {first}"
    return "".join(part + ending for part in (f"{bullet} <!-- {id} -->", *others))


def render_mark(
    space: str,
    name: str,
    stamp: str,
) -> str:
    """Our first line of a page."""
    return f"<!-- reverie mirror {_quote_path(space)} {_quote_path(name)} {stamp}: {HINT} -->"


def render_claiming_mark(space: str, name: str) -> str:
    """The first line by which a person makes a page of their own one of ours."""
    return f"<!-- reverie mirror {_quote_path(space)} {_quote_path(name)} {'0' * 8} -->"


def _quote_path(path: str) -> str:
    return quote(path, safe="/")


def compute_page_stamp(lines: Iterable[tuple[str, PageLine]]) -> str:
    """Eight hex digits that tell one state of a page's lines from another."""
    from reverie.text.tokenization import fingerprint_text

    rows = sorted((id, *line) for id, line in lines)
    return fingerprint_text(repr(rows)).hex()[:8]
