"""Where a memory stands in the mirror: on which page, under which heading, and what its line says.

Episodes and what was said stand on the page of their day (UTC), all else that lasts in MEMORY.md;
the scratch pad of the current task stands nowhere: it is gone within the hour.
"""

import re
from datetime import UTC, date, datetime, time
from typing import NamedTuple

from reverie.core.kinds import (
    CUSTOM_KIND,
    GROUPS,
    KINDS,
    is_conversation_turn,
    is_unverified,
    kind_of,
)
from reverie.core.model import Memory

MAIN_PAGE = "MEMORY.md"
HAPPENED, SAID = "What happened", "What was said"
DAY_HEADINGS = (HAPPENED, SAID)
_LASTING_GROUPS = {row.group for row in (*KINDS.values(), CUSTOM_KIND) if row.type != "working"}
MAIN_HEADINGS = tuple(group for group in GROUPS if group in _LASTING_GROUPS)

MEMORY_ID = re.compile(r"mem_[0-9A-Za-z]{1,64}")
_DAY = re.compile(r"memory/(\d{4}-\d\d-\d\d)\.md")
# what a calendar can say: the years 1 to 9999
EARLIEST, LATEST = -62_135_596_800.0, 253_402_300_799.0


class PageLine(NamedTuple):
    """What a page says about one memory.

    Empty fields say nothing: it stands among prose, or its time was left out.
    """

    text: str
    heading: str = ""
    time: str = ""  # "14:05", on the page of a day


class PagePlace(NamedTuple):
    """A page of a space, by its path, and the line on it."""

    page: str
    line: PageLine


def place_memory(memory: Memory) -> PagePlace | None:
    """Where a memory stands, None if nowhere.

    Nowhere stand what is of the moment, passages that left a context, files, and what others wrote:
    pages are read as one's own.
    """
    kind = kind_of(memory.kind)
    if kind.type == "working" or not kind.on_pages:
        return None
    if is_unverified(memory) or not MEMORY_ID.fullmatch(memory.id):
        return None
    if is_conversation_turn(memory) or kind.type == "episodic":
        when = to_calendar_time(memory.at)
        heading = SAID if is_conversation_turn(memory) else HAPPENED
        return PagePlace(day_page_name(when), PageLine(memory.text, heading, f"{when:%H:%M}"))
    return PagePlace(MAIN_PAGE, PageLine(memory.text, kind.group))


def to_calendar_time(at: float) -> datetime:
    """A time in UTC, clamped to what a calendar can say."""
    return datetime.fromtimestamp(min(max(at, EARLIEST), LATEST), UTC)


def day_page_name(when: datetime) -> str:
    """The name of a day's page."""
    return f"memory/{when.date().isoformat()}.md"


def parse_page_day(page: str) -> date | None:
    """The day that a page is about; None for MEMORY.md."""
    found = _DAY.fullmatch(page)
    try:
        return date.fromisoformat(found[1]) if found else None
    except ValueError:
        return None


def list_headings(page: str) -> tuple[str, ...]:
    """The headings of ours that a page may have, in their order."""
    return DAY_HEADINGS if parse_page_day(page) else MAIN_HEADINGS


def default_heading(page: str) -> str:
    """The heading of what is written to a page without one."""
    return HAPPENED if parse_page_day(page) else KINDS["fact"].group


def kind_for_heading(heading: str) -> str:
    """The kind of what is written under a heading: the first one of its group in the table."""
    group = HAPPENED if heading == SAID else heading
    return next(name for name, row in KINDS.items() if row.group == group)


def resolve_line_time(
    page: str,
    told: str,
    before: float,
) -> float:
    """When a line's memory was: the day of its page, at the line's time or else its old one.

    `before` is that old time; it stays where the page says nothing else.
    """
    day = parse_page_day(page)
    if day is None:
        return before
    old = to_calendar_time(before)
    if old.date() == day and told in ("", f"{old:%H:%M}"):
        return before
    try:
        clock = time.fromisoformat(told) if told else old.time()
    except ValueError:
        clock = old.time()
    return datetime.combine(day, clock, UTC).timestamp()
