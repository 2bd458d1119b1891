"""Files that change together (D9, CC-76; CONSTANTS: co-edit). Pure.

Two files were changed together on an *occasion*: in one commit, in one task, or within 300 seconds
of each other. Many edits on one occasion are one: edits are tied to each other, and what hangs
together is one occasion, so that counting from either side gives the same. An edit and the first
commit of that file after it, within a day, are the same change: they count once. From three
occasions on it is a pattern. Each counts 2^(−age/180 days), and what is left of all of them
together must be at least 0.1: habits that were given up fade away.

Edits that failed do not count, nor do commits and tasks of more than 50 files: they say nothing of
any two. Where a commit renamed a file, what was known of the old name holds for the new one.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from reverie.activity import COMMIT
from reverie.activity.activity_events import edited, task_of
from reverie.core.kinds import DAY
from reverie.core.model import Event

WITHIN = 300.0  # seconds
LEAST = 3  # occasions
HALF_LIFE = 180.0  # days until an occasion counts half
LEAST_LEFT = 0.1
MOST_FILES = 50  # of a commit or task
COMMITTED = DAY  # seconds after an edit within which a commit of the file is that of the edit

Renames = Mapping[str, Sequence[tuple[float, str]]]  # old name → (when, new name), in order


class Touch(NamedTuple):
    """A file was changed."""

    path: str
    at: float
    group: str = ""  # the commit or task that it belongs to


class Together(NamedTuple):
    """A file that changes together with the one that was asked about."""

    path: str
    occasions: int  # how often both changed
    of: int  # how often the one that was asked about did
    weight: float  # what is left of the occasions
    last_at: float

    @property
    def share(self) -> float:
        """On how many of its occasions the other one changed too, 0..1."""
        return min(1.0, self.occasions / self.of)


class Pair(NamedTuple):
    """Two files that change together."""

    files: tuple[str, str]
    occasions: int  # how often both changed
    of: int  # how often that of the two did which changes more often
    first_at: float
    last_at: float

    @property
    def share(self) -> float:
        """On how many of its occasions the other one changed too, 0..1."""
        return min(1.0, self.occasions / self.of)


def renames(events: Iterable[Event]) -> Renames:
    """What commits renamed."""
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for event in events:
        for row in event.payload.get("files") or ():
            if len(row) > 3:
                found[str(row[3])].append((event.at, str(row[0])))
    return {old: sorted(moves) for old, moves in found.items()}


def present_name(path: str, at: float, moved: Renames) -> str:
    """What a file that had this name at a moment is called now."""
    seen = {path}
    while later := [move for move in moved.get(path, ()) if move[0] > at]:
        at, path = later[0]
        if path in seen:
            break
        seen.add(path)
    return path


def names(path: str, moved: Renames) -> set[str]:
    """All names that a file ever had, as far as it is known under this one."""
    found, todo = {path}, [path]
    before: dict[str, list[str]] = defaultdict(list)
    for old, moves in moved.items():
        for _, new in moves:
            before[new].append(old)
    while todo:
        for old in before[todo.pop()]:
            if old not in found:
                found.add(old)
                todo.append(old)
    return found


def touches(events: Iterable[Event], moved: Renames) -> list[Touch]:
    """Each file that these deeds changed, under its present name."""
    found = []
    for event in events:
        group = (
            f"{COMMIT} {event.payload.get('commit')}" if event.verb == COMMIT else task_of(event)
        )
        # a commit's own names are those after it
        before = event.at - 1e-6 if event.verb != COMMIT else event.at
        found += [
            Touch(present_name(path, before, moved), event.at, group) for path in edited(event)
        ]
    sizes: dict[str, set[str]] = defaultdict(set)
    for touch in found:
        sizes[touch.group].add(touch.path)
    return [touch for touch in found if not touch.group or len(sizes[touch.group]) <= MOST_FILES]


def together(path: str, touched: Iterable[Touch], now: float, least: int = LEAST) -> list[Together]:
    """Files that change together with this one, those that do it most first."""
    by_path: dict[str, list[Touch]] = defaultdict(list)
    for touch in touched:
        by_path[touch.path].append(touch)
    own = by_path.pop(path, [])
    of = len(occasions(own, own))
    found = [
        one for other, some in by_path.items() if (one := pair(other, own, some, of, now, least))
    ]
    return sorted(found, key=lambda one: (-one.weight, one.path))


def pair(
    other: str, ones: Sequence[Touch], others: Sequence[Touch], of: int, now: float, least: int
) -> Together | None:
    """How two files change together; None where they do not, or do not any more."""
    moments = occasions(ones, others)
    weight = left(moments, now)
    return (
        Together(other, len(moments), of, weight, max(moments))
        if (len(moments) >= least and weight >= LEAST_LEFT)
        else None
    )


def left(moments: Iterable[float], now: float) -> float:
    """What is left of some occasions together."""
    return math.fsum(2.0 ** (-max(0.0, now - at) / DAY / HALF_LIFE) for at in moments)


def everywhere(touched: Iterable[Touch], now: float, least: int = LEAST) -> list[Pair]:
    """Every two files that change together, by the same rules as `together`."""
    by_path: dict[str, list[Touch]] = defaultdict(list)
    for touch in touched:
        by_path[touch.path].append(touch)
    often = {
        path: len(occasions(some, some)) for path, some in by_path.items() if len(some) >= least
    }
    found = []
    for (one, other), met in meetings(by_path).items():
        moments = occasions(by_path[one], by_path[other]) if met >= least else []
        if len(moments) >= least and left(moments, now) >= LEAST_LEFT:
            found.append(
                Pair(
                    (one, other),
                    len(moments),
                    max(often[one], often[other]),
                    moments[0],
                    moments[-1],
                )
            )
    return found


def meetings(by_path: Mapping[str, Sequence[Touch]]) -> Counter[tuple[str, str]]:
    """How often two files were changed in one group or within 300 seconds: at least as often as on
    one occasion.
    """
    met: Counter[tuple[str, str]] = Counter()
    groups: dict[str, set[str]] = defaultdict(set)
    edits: list[tuple[float, str]] = []
    for path, some in by_path.items():
        for touch in some:
            if touch.group:
                groups[touch.group].add(path)
            if not is_commit(touch):
                edits.append((touch.at, path))
    for paths in groups.values():
        met.update(combinations(sorted(paths), 2))
    edits.sort()
    first = 0
    for place, (at, path) in enumerate(edits):
        while edits[first][0] < at - WITHIN:
            first += 1
        near = {other for _, other in edits[first:place]} - {path}
        met.update((min(path, other), max(path, other)) for other in near)
    return met


def occasions(ones: Sequence[Touch], others: Sequence[Touch]) -> list[float]:
    """When both were changed, once for each occasion: the last moment of it. The same from either
    side.
    """
    nodes = [*ones, *others]
    root = list(range(len(nodes)))

    def top(node: int) -> int:
        while root[node] != node:
            root[node] = node = root[root[node]]
        return node

    for a, b in (*in_groups(nodes), *in_time(nodes, len(ones)), *in_commits(nodes)):
        root[top(a)] = top(b)
    sides: dict[int, set[bool]] = defaultdict(set)
    ends: dict[int, float] = {}
    for place, touch in enumerate(nodes):
        one = top(place)
        sides[one].add(place < len(ones))
        ends[one] = max(touch.at, ends.get(one, touch.at))
    return sorted(ends[one] for one, both in sides.items() if len(both) == 2)


def in_groups(nodes: Sequence[Touch]) -> list[tuple[int, int]]:
    """Places of touches that belong to the same commit or task, each with the first of them."""
    first: dict[str, int] = {}
    return [
        (place, first.setdefault(touch.group, place))
        for place, touch in enumerate(nodes)
        if touch.group
    ]


def in_commits(nodes: Sequence[Touch]) -> list[tuple[int, int]]:
    """Places of edits, each with the first commit of the same file within a day after it."""
    known: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for place, touch in enumerate(nodes):
        if is_commit(touch):
            known[touch.path].append((touch.at, place))
    for some in known.values():
        some.sort()
    found = []
    for place, touch in enumerate(nodes):
        some = known[touch.path] if not is_commit(touch) and touch.path in known else []
        first = bisect_left(some, (touch.at, -1))
        if first < len(some) and some[first][0] <= touch.at + COMMITTED:
            found.append((place, some[first][1]))
    return found


def is_commit(touch: Touch) -> bool:
    """Whether a file was changed by a commit."""
    return touch.group.startswith(f"{COMMIT} ")


def in_time(nodes: Sequence[Touch], border: int) -> list[tuple[int, int]]:
    """Places of touches of either side within 300 seconds; commits have their own moment, which
    says nothing.
    """
    ones, others = (
        sorted(
            (touch.at, place)
            for place, touch in enumerate(nodes)
            if (place < border) == left and not is_commit(touch)
        )
        for left in (True, False)
    )
    found = []
    for at, place in ones:
        first, last = (
            bisect_left(others, (at - WITHIN, -1)),
            bisect_right(others, (at + WITHIN, len(nodes))),
        )
        found += [(place, other) for _, other in others[first:last]]
    return found
