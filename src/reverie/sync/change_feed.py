"""What a server tells a device of what changed: first all that it may read, then what the log says.

A place in the feed is a short text that the device keeps and gives back. Whatever changes while the
first part is read stands in the log behind it. What the device itself pushed is left out, unless
the server's version held. Works on any Store.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reverie.access.callers import Caller
from reverie.access.rights import covers
from reverie.core.errors import BadInput
from reverie.core.model import Event, Filter, Memory
from reverie.storage import Store
from reverie.storage.access_records import Right
from reverie.sync.push_intake import FEED_DEVICE, FEED_LOST, GONE, LEFT
from reverie.sync.wire_format import Page, PurgedMemory, id_of

MAX_PAGE = 500  # memories of the first part, or events of the log, in one page
FIRST = "all"


class FeedPlace(NamedTuple):
    """How far a device has been told."""

    seq: int  # of the log
    after: str | None = None  # in the first part: the last id; None: it is over

    @property
    def token(self) -> str:
        """As the device keeps it."""
        return str(self.seq) if self.after is None else f"{FIRST}:{self.seq}:{self.after}"


def parse_token(token: str, last: int) -> FeedPlace:
    """A place from what a device gives; "" is the beginning, with the log as it is now."""
    if not token:
        return FeedPlace(last, "")
    first, _, rest = token.partition(":")
    number, _, after = rest.partition(":")
    digits = number if first == FIRST else token
    if not digits.isascii() or not digits.isdigit() or len(digits) > 18:
        raise BadInput("after is none of the places that this server gave")
    return FeedPlace(int(digits), after if first == FIRST else None)


class Wanted(NamedTuple):
    """Which memories a device is told of: its user's own, and shared spaces that it names."""

    caller: Caller
    spaces: frozenset[str] = frozenset()

    def covers(self, space: str) -> bool:
        """True if what is in a space is told."""
        is_named = covers(self.caller.private_root, space) or space in self.spaces
        return is_named and self.caller.rights.may(Right.READ, space)


def read_feed(
    store: Store,
    wanted: Wanted,
    token: str,
    device: str,
    limit: int = MAX_PAGE,
) -> Page:
    """The next page."""
    most = max(1, min(limit, MAX_PAGE))
    last = store.last_event()
    place = parse_token(token, last)
    # A log that is shorter than it was is another one: all is told anew.
    if place.seq > last:
        place = FeedPlace(last, "")
    if place.after is not None:
        return read_first_part(store, wanted, place, most)
    return read_log(store, wanted, place.seq, device, most)


def read_first_part(
    store: Store,
    wanted: Wanted,
    place: FeedPlace,
    most: int,
) -> Page:
    """A page of all memories, those that no longer count too."""
    # A memory that was purged meanwhile is no place to go on from.
    after = place.after if place.after and store.get([place.after]) else ""
    found = store.browse(Filter(active=None, limit=most, after=after))
    is_over = len(found) < most
    following = place._replace(after=None if is_over else found[-1].id)
    return Page(
        tuple(memory for memory in found if wanted.covers(memory.space)),
        next=following.token,
        more=True,
    )


def read_log(
    store: Store,
    wanted: Wanted,
    seq: int,
    device: str,
    most: int,
) -> Page:
    """A page of what the log says was changed: each memory as it is now."""
    events = store.events(after=seq, limit=most)
    ids: dict[str, None] = {}
    for event in events:
        if is_news(event, device):
            records = store.changes_of(event.seq)
            ids.update(dict.fromkeys(one.memory_id for one in records if one.op != "link"))
    found = [one for one in store.get(list(ids)) if wanted.covers(one.space)]
    covered = [event for event in events if wanted.covers(event.space)]
    gone, left = list_named(covered, GONE), list_named(covered, LEFT)
    return Page(
        tuple(found),
        gone,
        leave_out(left, found),
        str(events[-1].seq if events else seq),
        len(events) == most,
    )


def is_news(event: Event, device: str) -> bool:
    """False for what the device pushed itself, where its version held."""
    is_its_own = bool(device) and event.payload.get(FEED_DEVICE) == device
    return not is_its_own or FEED_LOST in event.payload


def list_named(events: Iterable[Event], name: str) -> tuple[PurgedMemory, ...]:
    """The memories that events name as gone, or as having left."""
    return tuple(
        PurgedMemory(id_of(str(number)), event.space)
        for event in events
        for number in event.payload.get(name, ())
    )


def leave_out(left: Sequence[PurgedMemory], found: Sequence[Memory]) -> tuple[PurgedMemory, ...]:
    """Those that left and that the reader sees nowhere else."""
    seen = {memory.id for memory in found}
    return tuple(one for one in left if one.id not in seen)
