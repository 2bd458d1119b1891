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
from reverie.activity.activity_events import get_event_task, list_changed_paths
from reverie.core.kinds import DAY
from reverie.core.model import Event

WITHIN_SECONDS = 300.0  # seconds
MIN_OCCASIONS = 3  # occasions
HALF_LIFE_DAYS = 180.0  # days until an occasion counts half
MIN_WEIGHT = 0.1
MAX_FILES_PER_CHANGE = 50  # of a commit or task
COMMIT_WITHIN_SECONDS = (
    DAY  # seconds after an edit within which a commit of the file is that of the edit
)

FileRenames = Mapping[str, Sequence[tuple[float, str]]]  # old name → (when, new name), in order


class FileChange(NamedTuple):
    """A file was changed."""

    path: str
    at: float
    group: str = ""  # the commit or task that it belongs to


class CoChange(NamedTuple):
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


class FilePair(NamedTuple):
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


def collect_renames(events: Iterable[Event]) -> FileRenames:
    """What commits renamed."""
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for event in events:
        for row in event.payload.get("files") or ():
            if len(row) > 3:
                found[str(row[3])].append((event.at, str(row[0])))
    return {old: sorted(moves) for old, moves in found.items()}


def resolve_present_path(path: str, at: float, moved: FileRenames) -> str:
    """What a file that had this name at a moment is called now."""
    seen = {path}
    while later := [move for move in moved.get(path, ()) if move[0] > at]:
        at, path = later[0]
        if path in seen:
            break
        seen.add(path)
    return path


def list_former_paths(path: str, moved: FileRenames) -> set[str]:
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


def list_file_changes(events: Iterable[Event], moved: FileRenames) -> list[FileChange]:
    """Each file that these deeds changed, under its present name."""
    found = []
    for event in events:
        group = (
            f"{COMMIT} {event.payload.get('commit')}"
            if event.verb == COMMIT
            else get_event_task(event)
        )
        # a commit's own names are those after it
        before = event.at - 1e-6 if event.verb != COMMIT else event.at
        found += [
            FileChange(resolve_present_path(path, before, moved), event.at, group)
            for path in list_changed_paths(event)
        ]
    sizes: dict[str, set[str]] = defaultdict(set)
    for touch in found:
        sizes[touch.group].add(touch.path)
    return [
        touch
        for touch in found
        if not touch.group or len(sizes[touch.group]) <= MAX_FILES_PER_CHANGE
    ]


def find_co_changes(
    path: str, touched: Iterable[FileChange], now: float, least: int = MIN_OCCASIONS
) -> list[CoChange]:
    """Files that change together with this one, those that do it most first."""
    by_path: dict[str, list[FileChange]] = defaultdict(list)
    for touch in touched:
        by_path[touch.path].append(touch)
    own = by_path.pop(path, [])
    of = len(find_occasions(own, own))
    found = [
        one
        for other, some in by_path.items()
        if (one := measure_co_change(other, own, some, of, now, least))
    ]
    return sorted(found, key=lambda one: (-one.weight, one.path))


def measure_co_change(
    other: str,
    ones: Sequence[FileChange],
    others: Sequence[FileChange],
    of: int,
    now: float,
    least: int,
) -> CoChange | None:
    """How two files change together; None where they do not, or do not any more."""
    moments = find_occasions(ones, others)
    weight = sum_decayed_weights(moments, now)
    return (
        CoChange(other, len(moments), of, weight, max(moments))
        if (len(moments) >= least and weight >= MIN_WEIGHT)
        else None
    )


def sum_decayed_weights(moments: Iterable[float], now: float) -> float:
    """What is left of some occasions together."""
    return math.fsum(2.0 ** (-max(0.0, now - at) / DAY / HALF_LIFE_DAYS) for at in moments)


def find_all_co_changes(
    touched: Iterable[FileChange], now: float, least: int = MIN_OCCASIONS
) -> list[FilePair]:
    """Every two files that change together, by the same rules as `together`."""
    by_path: dict[str, list[FileChange]] = defaultdict(list)
    for touch in touched:
        by_path[touch.path].append(touch)
    often = {
        path: len(find_occasions(some, some))
        for path, some in by_path.items()
        if len(some) >= least
    }
    found = []
    for (one, other), met in count_near_changes(by_path).items():
        moments = find_occasions(by_path[one], by_path[other]) if met >= least else []
        if len(moments) >= least and sum_decayed_weights(moments, now) >= MIN_WEIGHT:
            found.append(
                FilePair(
                    (one, other),
                    len(moments),
                    max(often[one], often[other]),
                    moments[0],
                    moments[-1],
                )
            )
    return found


def count_near_changes(by_path: Mapping[str, Sequence[FileChange]]) -> Counter[tuple[str, str]]:
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
            if not is_commit_change(touch):
                edits.append((touch.at, path))
    for paths in groups.values():
        met.update(combinations(sorted(paths), 2))
    edits.sort()
    first = 0
    for place, (at, path) in enumerate(edits):
        while edits[first][0] < at - WITHIN_SECONDS:
            first += 1
        near = {other for _, other in edits[first:place]} - {path}
        met.update((min(path, other), max(path, other)) for other in near)
    return met


def find_occasions(ones: Sequence[FileChange], others: Sequence[FileChange]) -> list[float]:
    """When both were changed, once for each occasion: the last moment of it. The same from either
    side.
    """
    nodes = [*ones, *others]
    root = list(range(len(nodes)))

    def top(node: int) -> int:
        while root[node] != node:
            root[node] = node = root[root[node]]
        return node

    for a, b in (
        *link_by_group(nodes),
        *link_by_time(nodes, len(ones)),
        *link_edits_to_commits(nodes),
    ):
        root[top(a)] = top(b)
    sides: dict[int, set[bool]] = defaultdict(set)
    ends: dict[int, float] = {}
    for place, touch in enumerate(nodes):
        one = top(place)
        sides[one].add(place < len(ones))
        ends[one] = max(touch.at, ends.get(one, touch.at))
    return sorted(ends[one] for one, both in sides.items() if len(both) == 2)


def link_by_group(nodes: Sequence[FileChange]) -> list[tuple[int, int]]:
    """Places of touches that belong to the same commit or task, each with the first of them."""
    first: dict[str, int] = {}
    return [
        (place, first.setdefault(touch.group, place))
        for place, touch in enumerate(nodes)
        if touch.group
    ]


def link_edits_to_commits(nodes: Sequence[FileChange]) -> list[tuple[int, int]]:
    """Places of edits, each with the first commit of the same file within a day after it."""
    known: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for place, touch in enumerate(nodes):
        if is_commit_change(touch):
            known[touch.path].append((touch.at, place))
    for some in known.values():
        some.sort()
    found = []
    for place, touch in enumerate(nodes):
        some = known[touch.path] if not is_commit_change(touch) and touch.path in known else []
        first = bisect_left(some, (touch.at, -1))
        if first < len(some) and some[first][0] <= touch.at + COMMIT_WITHIN_SECONDS:
            found.append((place, some[first][1]))
    return found


def is_commit_change(touch: FileChange) -> bool:
    """Whether a file was changed by a commit."""
    return touch.group.startswith(f"{COMMIT} ")


def link_by_time(nodes: Sequence[FileChange], border: int) -> list[tuple[int, int]]:
    """Places of touches of either side within 300 seconds; commits have their own moment, which
    says nothing.
    """
    ones, others = (
        sorted(
            (touch.at, place)
            for place, touch in enumerate(nodes)
            if (place < border) == left and not is_commit_change(touch)
        )
        for left in (True, False)
    )
    found = []
    for at, place in ones:
        first, last = (
            bisect_left(others, (at - WITHIN_SECONDS, -1)),
            bisect_right(others, (at + WITHIN_SECONDS, len(nodes))),
        )
        found += [(place, other) for _, other in others[first:last]]
    return found
