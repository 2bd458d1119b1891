"""What a page is: views, which read, and actions, which change.

A view asks verbs of `Mind` for plain values in a named tuple. The values are rendered by the view's
template, or given as JSON at the same address with `.json` behind it. An action answers with what
it did and with the event by which that is taken back. Both are given a `WebRequest`, the plain text
of what was asked, and know nothing of HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

from reverie import Mind
from reverie.core.errors import BadInput
from reverie.core.model import EMPTY_MAPPING, Event

MAX_LIMIT = 200
UNDO = "undo"
# Of a memory, in a sentence that says what was done to it.
MAX_QUOTED_CHARS = 80


class WebRequest(NamedTuple):
    """What a browser asks: from which space, with which parts of the path and which fields."""

    space: str
    now: float  # seconds since 1970
    path: Mapping[str, str] = EMPTY_MAPPING  # the named parts of a view's path
    fields: Mapping[str, Sequence[str]] = EMPTY_MAPPING  # of the address, or of a form
    address: str = "/"  # of the page itself, from the slash on
    # It is shown to somebody who had rather see a part at once, and the rest a moment later.
    is_page: bool = False

    def text(self, name: str, default: str = "") -> str:
        """The last value of a field, without space around it."""
        values = self.fields.get(name)
        return values[-1].strip() if values else default

    def texts(self, name: str) -> list[str]:
        """Every value of a field that says something."""
        return [value.strip() for value in self.fields.get(name, ()) if value.strip()]

    def number(self, name: str, default: int, most: int = MAX_LIMIT) -> int:
        """A whole number from 0 to `most`; BadInput for anything else."""
        given = self.text(name)
        if not given:
            return default
        if not given.isascii() or not given.isdigit() or len(given) > 18:
            raise BadInput(f"{name}={given!r} is not a whole number")
        return min(int(given), most)

    @property
    def path_here(self) -> str:
        """The address without a question."""
        return self.address.partition("?")[0]

    def name(self, name: str) -> str:
        """A foreign name in the path, as the filter `name_part` writes it."""
        return unquote(self.path.get(name, "").replace("~", "%"))

    def event_number(self, name: str) -> int:
        """The number of an event in the path; BadInput for anything else."""
        given = self.path.get(name, "")
        if not given.isascii() or not given.isdigit() or len(given) > 18:
            raise BadInput(f"{given!r} is not the number of an event")
        return int(given)


# Values of a view: a named tuple of plain values, memories, hits, …
Values: TypeAlias = Any


class ShownOnce(NamedTuple):
    """What is shown in answer to an action and never again, as the secret of a new key."""

    template: str
    values: Values


class Done(NamedTuple):
    """What an action did."""

    message: str  # a sentence, as it is shown
    undo: int = 0  # the event that takes it back; 0 if nothing was changed
    location: str = ""  # where to go on; empty: where one was
    details: Mapping[str, Any] = EMPTY_MAPPING  # for who asked for JSON
    also: Sequence[int] = ()  # further events that have to be taken back with it, oldest first
    # Of what no event tells, such as a setting: the action that sets it back, and its fields.
    back_path: str = ""
    back_fields: Mapping[str, str] = EMPTY_MAPPING
    shown_once: ShownOnce | None = None  # instead of going on

    @property
    def undo_path(self) -> str:
        """Where it is taken back; empty if nothing was changed."""
        events = [*self.also, self.undo] if self.undo else []
        return f"/undo/{'-'.join(map(str, events))}" if events else self.back_path


class View(NamedTuple):
    """Something to look at."""

    path: str  # as of Starlette: "/memory/{id}"
    read: Callable[[Mind, WebRequest], Values]
    template: str  # a file of `templates/`, which finds the values as `v`
    scripts: Sequence[str] | None = None  # what it loads instead of what its page does
    # Work that the next look at it is spared, done once this answer was sent.
    after: Callable[[Mind, WebRequest, Values], None] | None = None


class Action(NamedTuple):
    """Something to do, by POST."""

    path: str
    act: Callable[[Mind, WebRequest], Done]


class Page(NamedTuple):
    """Views and actions that belong together."""

    name: str  # also the name of its own styles and scripts, where it has some
    title: str
    routes: Sequence[View | Action]
    place: int = 0  # in the menu, from 1; 0: not there
    key: str = ""  # `g` and this letter lead there
    scripts: Sequence[str] = ()  # files of `static/` that its views load
    styles: Sequence[str] = ()


def quote(mind: Mind, ids: Sequence[str]) -> str:
    """The words of the memory that was changed, so that one sees whether it was the right one, with
    how many there were beside it; empty for none.
    """
    memories = mind.get(ids[:1])
    if not memories:
        return ""
    words = " ".join((memories[0].title or memories[0].text).split()).rstrip(".")
    if len(words) > MAX_QUOTED_CHARS:
        words = f"{words[:MAX_QUOTED_CHARS].rstrip()}…"
    return f"“{words}”" + (f" and {len(ids) - 1} more" if len(ids) > 1 else "")


def changed_ids(mind: Mind, events: Sequence[int]) -> list[str]:
    """The ids of the memories that some events changed; what they only linked does not count,
    unless that was all.
    """
    records = [record for event in events for record in mind.store.changes_of(event)]
    altered = [record.memory_id for record in records if record.op != "link"]
    return list(dict.fromkeys(altered or [record.memory_id for record in records]))


def find_undone(events: Iterable[Event]) -> dict[int, int]:
    """Which event took back which other one; not those that were taken back themselves."""
    undone_by: dict[int, int] = {}
    undos = {event.seq: event for event in events if event.verb == UNDO}
    for seq, event in sorted(undos.items()):
        hunk = event.payload.get("hunk")
        target = hunk[0] if isinstance(hunk, list | tuple) and hunk else event.payload.get("of")
        if isinstance(target, int):
            # An undo of an undo: what the first one took back holds again.
            undone_by = {one: by for one, by in undone_by.items() if by != target}
            undone_by[target] = seq
    return undone_by


def last_change(mind: Mind, id: str) -> int:
    """The event that changed a memory last, which is what an action has just done; 0 if none
    has.
    """
    history = mind.history(id)
    return history[-1].event.seq if history else 0
