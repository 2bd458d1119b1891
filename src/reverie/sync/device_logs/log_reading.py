"""Which files of another device's log are to be read, and what is wrong with a log.

What is known of a device is how far its log was read without a gap, and what of it beyond. From
the names in a folder follows what to read, what is missing, and whether a log is shorter than it
was. Nothing that is missing holds up the rest: entries may be folded in any order. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from reverie.sync.device_logs.batch_file import SNAPSHOT, BatchHead, LogBatch, parse_name

# Under which it is noted that a log speaks of what is not shared here, and how.
OUTSIDE, MAX_OUTSIDE = "outside", 10
OUTSIDE_START = "it also speaks of "
OUTSIDE_END = (
    ", which your machines do not share: not taken in. What is to be, move there into a space "
    "of me: reverie memory move ID --space me/PROJECT"
)


class PeerLog(NamedTuple):
    """What is known of another device and its log."""

    device: str
    name: str = ""  # what it calls itself
    upto: int = 0  # read without a gap up to this number
    digest: str = ""  # of that file
    # number → digest of what was read beyond a gap
    beyond: Mapping[str, str] = {}
    # the first file of a snapshot that has nothing new, because all before it was read
    known_snapshot: int = 0
    seen_at: float = 0.0  # when something of it was read last, by the clock here
    wrote_at: float = 0.0  # when it wrote that, by its own clock
    # what is wrong with its log, by file or ""
    troubles: Mapping[str, str] = {}

    def has(self, number: int) -> bool:
        """True if a file was read."""
        return number <= self.upto or str(number) in self.beyond

    @property
    def last(self) -> int:
        """The greatest number that was read."""
        return max([self.upto, *map(int, self.beyond)])


def group_by_device(names: Iterable[str]) -> dict[str, list[int]]:
    """The numbers that lie in a folder, by device, in order; other files are passed over."""
    found: dict[str, list[int]] = {}
    for name in names:
        parsed = parse_name(name)
        if parsed is not None:
            found.setdefault(parsed.device, []).append(parsed.number)
    return {device: sorted(numbers) for device, numbers in found.items()}


def list_unread(peer: PeerLog, numbers: Iterable[int]) -> list[int]:
    """The files of a device that are to be read, in order."""
    return [number for number in sorted(numbers) if not peer.has(number)]


def is_rolled_back(peer: PeerLog, numbers: Iterable[int]) -> bool:
    """True if a log ends before what was read of it: an older state of it was put there, or its
    files were removed.
    """
    return max(numbers, default=0) < peer.last


def count_missing(peer: PeerLog) -> int:
    """How many files before the last that was read have not arrived."""
    return peer.last - peer.upto - len(peer.beyond)


def has_nothing_new(peer: PeerLog, head: BatchHead) -> bool:
    """True for a file of a snapshot when all that it was made of was read."""
    # A log may begin with a snapshot: before that nothing was read.
    is_first = head.number == head.begins and 0 < peer.upto == head.begins - 1
    return head.kind == SNAPSHOT and (is_first or peer.known_snapshot == head.begins)


def is_out_of_chain(peer: PeerLog, batch: LogBatch) -> bool:
    """True if a batch names another file before it than the one that was read."""
    before = peer.beyond.get(str(batch.head.number - 1))
    if batch.head.number - 1 == peer.upto:
        before = peer.digest
    return bool(before) and before != batch.head.before


def note_read(peer: PeerLog, batch: LogBatch, now: float) -> PeerLog:
    """What is known of a device after one of its files was read."""
    head, number = batch.head, batch.head.number
    skips = head.kind == SNAPSHOT and has_nothing_new(peer, head)
    is_start = head.kind == SNAPSHOT and number == head.begins
    peer = peer._replace(
        name=head.name or peer.name,
        seen_at=now,
        wrote_at=max(head.at, peer.wrote_at),
        known_snapshot=head.begins if skips else peer.known_snapshot,
        troubles={
            name: why
            for name, why in peer.troubles.items()
            if name != str(number) and not (name.isdigit() and int(name) < head.begins)
        },
    )
    if number == peer.upto + 1 or (is_start and number > peer.upto):
        # Nothing before a snapshot is needed.
        peer = peer._replace(upto=number, digest=batch.digest)
    elif number > peer.upto:
        peer = peer._replace(beyond={**peer.beyond, str(number): batch.digest})
    return close_gaps(peer)


def note_outside(peer: PeerLog, spaces: Iterable[str]) -> PeerLog:
    """What is known of a device with further spaces that its log may say nothing about here."""
    fresh = set(spaces)
    if not fresh:
        return peer
    known = peer.troubles.get(OUTSIDE, "").partition(OUTSIDE_START)[2].partition(OUTSIDE_END)[0]
    named = sorted({*filter(None, known.split(", ")), *(one[:80] for one in fresh)})[:MAX_OUTSIDE]
    return note_trouble_of(peer, OUTSIDE, f"{OUTSIDE_START}{', '.join(named)}{OUTSIDE_END}")


def close_gaps(peer: PeerLog) -> PeerLog:
    """What was read beyond a gap counts as read without one, once the gap is filled."""
    beyond = {n: digest for n, digest in peer.beyond.items() if int(n) > peer.upto}
    upto, digest = peer.upto, peer.digest
    while str(upto + 1) in beyond:
        upto += 1
        digest = beyond.pop(str(upto))
    return peer._replace(upto=upto, digest=digest, beyond=beyond)


def note_trouble_of(peer: PeerLog, where: str, why: str) -> PeerLog:
    """What is known of a device with something that is wrong with its log; "" ends it."""
    left = {name: one for name, one in peer.troubles.items() if name != where}
    return peer._replace(troubles={**left, where: why} if why else left)
