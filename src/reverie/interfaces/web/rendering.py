"""Values to HTML: the templates, what all of them may use, and the frame around every page.

Everything is escaped unless a template says otherwise, and none does; a name that a template does
not know is an error, not an empty text.
"""

from __future__ import annotations

import re
import unicodedata
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from reverie import Mind
from reverie.context_window import SAID_BY, format_time_ago
from reverie.core import clock
from reverie.core.model import Memory
from reverie.interfaces.web.page import Done, Page, View, WebRequest
from reverie.interfaces.web.static_files import static_url
from reverie.memory.history_text import format_date, format_moment
from reverie.memory.short_ids import shorten_id

FOLDER = Path(__file__).parent / "templates"
MAX_COUNTED_EDITS = 50
MAX_NOTES = 200
ERROR_TEMPLATE = "error.html"
MAX_SPACES = 200
# Counting memories by space takes a while in a large home, and changes little.
COUNTS_SECONDS = 5.0
# What search and gates say of a hit, in the words of these pages.
REASONS = (
    (re.compile(r"words (-?[\d.]+)$"), "shares words with it ({})"),
    (re.compile(r"meaning (0\.[3-9]\d*|1\.\d+)$"), "close in meaning ({})"),
    (re.compile(r"meaning (-?[\d.]+)$"), "not close in meaning ({})"),
    (re.compile(r"deny: trigger '(.*)'$", re.DOTALL), "denied: the call met {}"),
    (re.compile(r"ask: trigger '(.*)'$", re.DOTALL), "you were asked: the call met {}"),
    (re.compile(r"trigger '(.*)'$", re.DOTALL), "called up by {}"),
)
CHANCE = re.compile(r"chance ([\d.]+)(?:: (.*))?$")
SIGNALS = {
    "best fit": "it fits best of all",
    "best words": "it shares the most words",
    "best meaning": "it is closest in meaning",
    "asks": "a question was asked",
    "asks here": "a question about this project was asked",
}


class SpaceCount(NamedTuple):
    """A space that holds something."""

    space: str
    memories: int


class Reader(NamedTuple):
    """Who is signed in at a team's server."""

    user: str
    tenant: str
    is_admin: bool


class PageFrame(NamedTuple):
    """What stands around every page."""

    page: Page | None
    menu: Sequence[Page]
    space: str
    spaces: Sequence[SpaceCount]
    waiting: int  # pairs that wait for a decision, in all spaces
    address: str
    seen: int  # the newest event when this was made
    now: float
    asked: WebRequest | None = None
    csrf: str = ""
    done: Done | None = None
    reader: Reader | None = None  # None: these are the pages of one's own machine
    # Where else the memory lies, of one's own machine: places, and a team's server.
    elsewhere: Sequence[str] = ()


class FrameCounts(NamedTuple):
    """What the frame says of the whole store, and when that was counted."""

    ticks: float
    last: int  # the newest event then
    spaces: Sequence[SpaceCount]
    waiting: int


class DoneNotes:
    """What actions did, until the page that comes next has shown it."""

    def __init__(self) -> None:
        self._notes: OrderedDict[str, Done] = OrderedDict()

    def add_to(self, address: str, done: Done) -> str:
        """The address of a page that shows it."""
        key = clock.new_key()[:6].hex()
        self._notes[key] = done
        if len(self._notes) > MAX_NOTES:
            self._notes.popitem(last=False)
        parts = urlsplit(address)
        query = [(name, value) for name, value in parse_qsl(parts.query) if name != "done"]
        fragment = f"#{parts.fragment}" if parts.fragment else ""
        return f"{parts.path}?{urlencode([*query, ('done', key)])}{fragment}"

    def find(self, key: str) -> Done | None:
        """What was done; None for an unknown key."""
        return self._notes.get(key)


class Renderer:
    """The templates, and the frame."""

    def __init__(self, pages: Sequence[Page], home_space: str) -> None:
        placed = [page for page in pages if page.place]
        self._menu = sorted(placed, key=lambda page: page.place)
        self._home_space = home_space
        self._counts: FrameCounts | None = None
        # A server leaves out pages that are of one's own machine, or says there where they are:
        # nothing leads there then.
        self._paths = frozenset(
            one.path
            for page in pages
            for one in page.routes
            if not (isinstance(one, View) and one.template == ERROR_TEMPLATE)
        )
        self._env = load_templates()

    def frame(self, mind: Mind, asked: WebRequest, page: Page | None) -> PageFrame:
        """The frame of a page, but for what is of one browser."""
        last = mind.store.last_event()
        counts = self._counts or self.recount(mind)
        spaces, waiting = counts.spaces, counts.waiting
        if all(row.space != asked.space for row in spaces):
            spaces = [SpaceCount(asked.space, 0), *spaces]
        return PageFrame(
            page,
            self._menu,
            asked.space,
            spaces,
            waiting,
            without_done(asked.address),
            last,
            asked.now,
            asked,
            elsewhere=self.list_elsewhere(mind),
        )

    def list_elsewhere(self, mind: Mind) -> list[str]:
        """Where else a memory goes: the places of one's other machines, and a team's server."""
        from reverie.sync.device_logs.log_state import load_own
        from reverie.sync.sync_state import load_account

        own, account = load_own(mind.store), load_account(mind.store)
        sealed = " (sealed for your machines)" if own is not None and own.is_sealed else ""
        places = [f"{place.shown().where}{sealed}" for place in own.places] if own else []
        return [*places, *([f"{account.url} (what you share with your team)"] if account else [])]

    def bare_frame(self, space: str) -> PageFrame:
        """The frame of an error, which asks nothing of the store."""
        return PageFrame(None, self._menu, space, (), 0, "/", 0, clock.now())

    def render(self, template: str, frame: PageFrame, values: Any) -> str:
        """The page."""

        def link(path: str, **query: Any) -> str:
            """An address of these pages, seen from the same space."""
            if frame.space != self._home_space:
                query = {"space": frame.space, **query}
            given = {name: value for name, value in query.items() if value not in ("", None)}
            return f"{path}?{urlencode(given, doseq=True)}" if given else path

        return self._env.get_template(template).render(
            f=frame, v=values, link=link, paths=self._paths
        )

    def list_templates(self) -> list[str]:
        """The names of all templates."""
        return self._env.list_templates(extensions=["html"])

    def load_templates(self, names: Iterable[str]) -> None:
        """Compile these templates, each of which takes some ten milliseconds, before a page needs
        them.
        """
        for name in names:
            self._env.get_template(name)

    def is_stale(self, last: int) -> bool:
        """True if something has happened since the counts were made, and that is a while ago."""
        counts = self._counts
        if counts is None:
            return True
        return counts.last != last and clock.ticks() - counts.ticks > COUNTS_SECONDS

    def recount(self, mind: Mind) -> FrameCounts:
        """Count memories by space, the fullest first, and what is disputed: a tenth of a second in
        a large home, so pages show what was counted before and it is done after them.
        """
        last, stats = mind.store.last_event(), mind.store.stats()
        ordered = sorted(stats.spaces.items(), key=lambda row: (-row[1], row[0]))[:MAX_SPACES]
        spaces = [SpaceCount(*row) for row in ordered]
        edits = mind.review.edits(space=self._home_space, limit=MAX_COUNTED_EDITS)
        waiting = stats.undecided + len(edits)
        self._counts = FrameCounts(clock.ticks(), last, spaces, waiting)
        return self._counts


@cache
def load_templates() -> Environment:
    """The templates, which all sites of a process share; none knows anything of a site."""
    env = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    env.globals["static"] = static_url
    env.filters |= FILTERS
    return env


def without_done(address: str) -> str:
    """An address that does not show again what was done."""
    parts = urlsplit(address)
    query = [(name, value) for name, value in parse_qsl(parts.query) if name != "done"]
    return f"{parts.path}?{urlencode(query)}" if query else parts.path


def percent(share: float) -> str:
    """A share as people read it."""
    return f"{share:.0%}"


def count(number: float) -> str:
    """A number with its thousands apart."""
    return f"{number:,}"


def size(bytes: float) -> str:
    """An amount of bytes, with its unit."""
    for unit, step in (("GB", 1e9), ("MB", 1e6), ("KB", 1e3)):
        if bytes >= step:
            return f"{bytes / step:,.1f} {unit}"
    return f"{bytes:,.0f} B"


def seconds(time: float) -> str:
    """A time that somebody waited, with its unit."""
    return f"{time:,.1f} s" if time >= 1.0 else f"{1000 * time:,.0f} ms"


def noun(number: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def source_of(memory: Memory) -> str:
    """Who says so, in words."""
    return SAID_BY.get(memory.provenance, memory.provenance)


def machine_time(at: float) -> str:
    """A moment as the attribute of a `time` element."""
    return format_moment(at).replace(" ", "T") + "Z"


def shorten(text: str, most: int = 400) -> str:
    """The beginning of a text; words of ours for one of which nothing can be seen."""
    if text and not any(map(is_visible, text[:most])):
        return "(nothing that can be seen)"
    return text if len(text) <= most else f"{text[:most].rstrip()} …"


def is_visible(sign: str) -> bool:
    """False for spaces, and for signs that only steer or join others."""
    return unicodedata.category(sign)[0] not in "CZM"


def path_part(text: str) -> str:
    """A text as one part of a path."""
    return quote(text, safe="")


def name_part(name: str) -> str:
    """A foreign name (of a session, a file) as one part of a path, whatever is in it: a server may
    take `%2F` for a slash, and what ends in `.json` for something else.
    """
    quoted = quote(name, safe="").replace("~", "%7E").replace(".", "%2E")
    return quoted.replace("%", "~")


def ago(at: float, now: float) -> str:
    """How long ago a moment was."""
    return format_time_ago(now - at)


def in_words(reason: str) -> str:
    """A reason of a hit as somebody reads it who has not read the docs; others as they are."""
    for pattern, words in REASONS:
        if found := pattern.match(reason):
            return words.format(*found.groups())
    if found := CHANCE.match(reason):
        told = [SIGNALS.get(one, one) for one in (found[2] or "").split(", ") if one]
        return f"{float(found[1]):.0%} likely to help" + (f": {', '.join(told)}" if told else "")
    return reason


def plain_mapping(value: Any) -> Mapping[str, Any]:
    """A mapping, of whatever sort, that templates can go through."""
    return dict(value)


FILTERS = {
    "ago": ago,
    "count": count,
    "day": format_date,
    "in_words": in_words,
    "machine_time": machine_time,
    "mapping": plain_mapping,
    "moment": format_moment,
    "name_part": name_part,
    "noun": noun,
    "path_part": path_part,
    "percent": percent,
    "seconds": seconds,
    "short_id": shorten_id,
    "shorten": shorten,
    "size": size,
    "source": source_of,
}
