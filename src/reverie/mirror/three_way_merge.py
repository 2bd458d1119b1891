"""What a person did to a page, by three-way comparison: what was written, the page as it stands,
the store as it is.

Pure, and of one page. A line that stands as it was written is the program's to alter; one that does
not is the person's, whatever the program did meanwhile: the store's history keeps the program's
version, and the clash is reported. The comparison is made field by field, so that a new wording by
one and a new kind by the other do not clash.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from reverie.core.model import EMPTY_MAPPING
from reverie.mirror.page_blocks import (
    MirrorPage,
    PageBlock,
    PageItem,
    find_memory_ids,
    render_item,
    to_prose,
)
from reverie.mirror.page_placement import PageLine
from reverie.privacy import MARK_PATTERN
from reverie.storage.erased_texts import PURGED

# Lines that go without a question: up to 10 and 30 % of the page, or fewer than 3.
# People rarely delete thirty lines at once; a crashed editor, a sync service or a shell
# redirection does (docs/why-mirror.md).
MAX_DROPPED_LINES, MAX_DROPPED_SHARE, MIN_DOUBTED_LINES = 10, 0.3, 3

_BLANK = re.compile(f"{re.escape(PURGED)}|{MARK_PATTERN.pattern}")

# the lines of one page, by the ids of the memories
PageLines = Mapping[str, PageLine]


class RewordedLine(NamedTuple):
    """A memory's line that differs from what was written, or stands where it was not written."""

    id: str
    line: PageLine
    base: PageLine | None  # None: it was not written on this page


class NewLine(NamedTuple):
    """A line without a memory yet; the number of its block."""

    block: int
    line: PageLine


class PageMerge(NamedTuple):
    """What a person did to one page."""

    page: MirrorPage  # with the memory that each item is about
    reworded: tuple[RewordedLine, ...] = ()
    fresh: tuple[NewLine, ...] = ()
    dropped: tuple[str, ...] = ()
    # what was written when the person began
    base: PageLines = EMPTY_MAPPING
    # when they began is too long ago to know: the base is the oldest one that is left
    base_unknown: bool = False

    def __bool__(self) -> bool:
        """True if a person did anything that concerns a memory."""
        return bool(self.reworded or self.fresh or self.dropped)


def merge_page(
    base: PageLines,
    page: MirrorPage,
    ours: PageLines,
    *,
    earlier: bool = False,
) -> PageMerge:
    """What a person did between `base` and `page`, given that the store now says `ours`.

    An `earlier` state may have been loaded before something was redacted or purged: what stood
    there is no edit.
    """
    page = identify_items(base, page, ours)
    reworded, fresh = [], []
    present, emptied = set(), set()
    for number, item in enumerate(page.blocks):
        if not isinstance(item, PageItem):
            continue
        if not item.id:
            fresh.append(NewLine(number, item.line))
        elif item.emptied:
            emptied.add(item.id)
        else:
            present.add(item.id)
            old = base.get(item.id, ours.get(item.id))
            edit = compare_line(item, old, earlier=earlier)
            if edit:
                reworded.append(edit)
    # An id that stands elsewhere, in a heading say, was not deleted.
    present |= find_memory_ids(page.text) - emptied
    written = (*base, *sorted(emptied - base.keys()))
    dropped = tuple(id for id in written if id in ours and id not in present)
    return PageMerge(page, tuple(reworded), tuple(fresh), dropped, base)


def compare_line(
    item: PageItem,
    old: PageLine | None,
    *,
    earlier: bool,
) -> RewordedLine | None:
    """What a person did to a memory's line; None for nothing. For `earlier` see `merge_page`."""
    line = item.line
    # An id without a text is left by an editor that wrapped or cut the line.
    if not line.text.strip():
        return None
    if earlier and old and is_unblanked(old.text, line.text):
        line = line._replace(text=old.text)
    is_reworded = old is None or bool(list_differing_fields(old, line))
    return RewordedLine(item.id, line, old) if is_reworded else None


def list_differing_fields(old: PageLine, new: PageLine) -> tuple[str, ...]:
    """The fields in which a line differs from before; an empty heading or time is no edit."""
    values = zip(PageLine._fields, old, new, strict=True)
    return tuple(name for name, was, now in values if now != was and (now or name == "text"))


def is_unblanked(text: str, before: str) -> bool:
    """True if `before` is this text with something where a purge or a scrub left its mark."""
    parts = _BLANK.split(text)
    pattern = ".+".join(map(re.escape, parts))
    return len(parts) > 1 and bool(re.fullmatch(pattern, before, re.DOTALL))


def is_clash(edit: RewordedLine, ours: PageLine | None) -> bool:
    """True if the program has altered what the person altered, or let the memory go."""
    if edit.base is None:
        return False
    if ours is None:
        return True
    touched = list_differing_fields(edit.base, edit.line)
    return any(
        getattr(ours, name) not in (getattr(edit.base, name), getattr(edit.line, name))
        for name in touched
    )


def identify_items(
    base: PageLines,
    page: MirrorPage,
    ours: PageLines,
) -> MirrorPage:
    """The page with each memory on one item at most; a line without an id gets that of its memory.

    An editor, a copy, or a crash before the ids were written may have left a line without its id.
    A memory that says the same is looked for: what the page has lost comes first, then what the
    store has and the page has not got yet. Of a line that stands there twice, a copy under a
    heading of ours is a new line, one elsewhere is prose.
    """
    marked = {item.marked for item in page.items}
    # Nearly always every item has an id of its own, and there is nothing to decide.
    if "" not in marked and len(marked) == len(page.items):
        return page
    lost = _list_lost_lines(base, ours, marked)
    torn = _find_torn_line(base, page, marked)
    under_ours = {item.marked for item in page.items if item.line.heading}
    taken: set[str] = set()
    blocks: list[PageBlock] = list(page.blocks)
    for number, item in enumerate(blocks):
        if not isinstance(item, PageItem):
            continue
        id, line = item.marked, item.line
        if id and not line.heading and (id in taken or id in under_ours):
            blocks[number] = to_prose(item)
            continue
        if not id and number == len(blocks) - 1 and torn:
            id, line = torn
        elif not id:
            id = _find_lost_id(lost.get(line.text, ()), line.heading, taken)
        blocks[number] = item._replace(
            id="" if id in taken else id,
            line=line,
        )
        taken.add(id)
    return page._replace(blocks=tuple(blocks))


def _list_lost_lines(
    base: PageLines,
    ours: PageLines,
    marked: set[str],
) -> dict[str, list[tuple[str, PageLine]]]:
    """By text, the lines whose id does not stand on the page: what the page has lost stands before
    what the store has besides.
    """
    lost: dict[str, list[tuple[str, PageLine]]] = {}
    for lines in (ours, base):
        for id, line in lines.items():
            candidates = lost.setdefault(line.text, [])
            if id not in marked and (id, line) not in candidates:
                candidates.insert(0, (id, line))
    return lost


def _find_lost_id(
    candidates: Iterable[tuple[str, PageLine]],
    heading: str,
    taken: set[str],
) -> str:
    """The memory that a line without an id is about, best under the same heading; "" for none."""
    free = sorted(
        (line.heading != heading, place, id)
        for place, (id, line) in enumerate(candidates)
        if id not in taken
    )
    return free[0][2] if free else ""


def _find_torn_line(
    base: PageLines,
    page: MirrorPage,
    marked: set[str],
) -> tuple[str, PageLine] | None:
    """The memory whose line was cut off at the page's end, with its whole line: it is no edit."""
    last = page.blocks[-1] if page.blocks else None
    if not isinstance(last, PageItem) or last.marked or last.raw.endswith("\n"):
        return None
    raw = last.raw.replace("\r\n", "\n")
    for id, line in base.items():
        is_other = id not in marked and line.text != last.line.text
        if is_other and render_item(line, id).startswith(raw):
            return id, line
    return None


def is_doubtful_deletion(
    dropped: int,
    written: int,
    blank: bool,
) -> bool:
    """True if so many lines are gone, or all, that an accident is likely.

    A page may have been emptied, cut off, or deleted.
    """
    is_large_share = dropped >= MIN_DOUBTED_LINES and dropped > MAX_DROPPED_SHARE * written
    is_many = blank or dropped >= written or dropped > MAX_DROPPED_LINES
    return dropped > 0 and (is_many or is_large_share)
