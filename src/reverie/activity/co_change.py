"""Files that change together, counted by occasions.

Two files were changed together on an *occasion*: in one commit, in one task, or within 300 seconds
of each other. Many edits on one occasion are one: edits are tied to each other, and what hangs
together is one occasion, so that counting from either side gives the same. An edit and the first
commit of that file after it, within a day, are the same change: they count once. From three
occasions on it is a pattern. Each counts 2^(−age/180 days), and what is left of all of them
together must be at least 0.1: habits that were given up fade away.

Pure. Edits that failed do not count, nor do commits and tasks of more than 50 files: they say
nothing of any two. Where a commit renamed a file, what was known of the old name holds for the new
one.
"""

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

# Between two edits that belong to one occasion.
WITHIN_SECONDS = 300.0
# Occasions from which it is a pattern: twice may be chance.
MIN_OCCASIONS = 3
# Days until an occasion counts half.
HALF_LIFE_DAYS = 180.0
MIN_WEIGHT = 0.1
# Of a commit or task with more files, none counts.
MAX_FILES_PER_CHANGE = 50
# A commit of a file within this time of an edit is the commit of that edit.
COMMIT_WITHIN_SECONDS = DAY

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
        """The share (0..1) of the asked file's occasions on which the other one changed too."""
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
        """The share (0..1) of the busier file's occasions on which the other one changed too."""
        return min(1.0, self.occasions / self.of)


def collect_renames(events: Iterable[Event]) -> FileRenames:
    """For each old name when it was renamed and to what, in order."""
    found: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for event in events:
        for row in event.payload.get("files") or ():
            if len(row) > 3:
                found[str(row[3])].append((event.at, str(row[0])))
    return {old: sorted(moves) for old, moves in found.items()}


def resolve_present_path(
    path: str,
    at: float,
    moved: FileRenames,
) -> str:
    """What a file that had this name at a moment is called now."""
    seen = {path}
    while later := [move for move in moved.get(path, ()) if move[0] > at]:
        at, path = later[0]
        # Renamed back and forth: the names go round in a circle.
        if path in seen:
            break
        seen.add(path)
    return path


def list_former_paths(path: str, moved: FileRenames) -> set[str]:
    """All names that a file ever had, as far as it is known under this one."""
    before: dict[str, list[str]] = defaultdict(list)
    for old, moves in moved.items():
        for _, new in moves:
            before[new].append(old)
    found, queue = {path}, [path]
    while queue:
        for old in before[queue.pop()]:
            if old not in found:
                found.add(old)
                queue.append(old)
    return found


def list_file_changes(events: Iterable[Event], moved: FileRenames) -> list[FileChange]:
    """Each file that these events changed, under its present name."""
    changes = []
    for event in events:
        is_commit = event.verb == COMMIT
        group = f"{COMMIT} {event.payload.get('commit')}" if is_commit else get_event_task(event)
        # A commit names its files as they are called after it.
        named_at = event.at if is_commit else event.at - 1e-6
        for path in list_changed_paths(event):
            present = resolve_present_path(path, named_at, moved)
            changes.append(FileChange(present, event.at, group))
    paths: dict[str, set[str]] = defaultdict(set)
    for change in changes:
        paths[change.group].add(change.path)
    return [
        change
        for change in changes
        if not change.group or len(paths[change.group]) <= MAX_FILES_PER_CHANGE
    ]


def group_by_path(changes: Iterable[FileChange]) -> dict[str, list[FileChange]]:
    """The changes of each file."""
    by_path: dict[str, list[FileChange]] = defaultdict(list)
    for change in changes:
        by_path[change.path].append(change)
    return by_path


def find_co_changes(
    path: str,
    changes: Iterable[FileChange],
    now: float,
    least: int = MIN_OCCASIONS,
) -> list[CoChange]:
    """Files that change together with this one, the strongest first."""
    by_path = group_by_path(changes)
    own = by_path.pop(path, [])
    own_occasions = len(find_occasions(own, own))
    found = []
    for other, others in by_path.items():
        occasions = find_occasions(own, others)
        if is_pattern(occasions, now, least):
            weight = sum_decayed_weights(occasions, now)
            found.append(CoChange(other, len(occasions), own_occasions, weight, max(occasions)))
    return sorted(found, key=lambda one: (-one.weight, one.path))


def is_pattern(
    occasions: Sequence[float],
    now: float,
    least: int,
) -> bool:
    """True if two files changed together on enough occasions, not all of them long ago."""
    return len(occasions) >= least and sum_decayed_weights(occasions, now) >= MIN_WEIGHT


def sum_decayed_weights(moments: Iterable[float], now: float) -> float:
    """The sum of 2^(−age/180 days) over some occasions."""
    return math.fsum(2.0 ** (-max(0.0, now - at) / DAY / HALF_LIFE_DAYS) for at in moments)


def find_all_co_changes(
    changes: Iterable[FileChange],
    now: float,
    least: int = MIN_OCCASIONS,
) -> list[FilePair]:
    """Every two files that change together, by the same rules as `find_co_changes`."""
    by_path = group_by_path(changes)
    often = {
        path: len(find_occasions(some, some))
        for path, some in by_path.items()
        if len(some) >= least
    }
    found = []
    for (one, other), met in count_near_changes(by_path).items():
        occasions = find_occasions(by_path[one], by_path[other]) if met >= least else []
        if is_pattern(occasions, now, least):
            busier = max(often[one], often[other])
            found.append(
                FilePair(
                    (one, other),
                    len(occasions),
                    busier,
                    occasions[0],
                    occasions[-1],
                )
            )
    return found


def count_near_changes(by_path: Mapping[str, Sequence[FileChange]]) -> Counter[tuple[str, str]]:
    """How often two files were changed in one group or within 300 seconds: at least their
    occasions.
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


def find_occasions(
    ones: Sequence[FileChange],
    others: Sequence[FileChange],
) -> list[float]:
    """The occasions on which both files were changed, each as its last moment, in order.

    The same from either side: linked changes are one occasion (a union-find over all of both).
    """
    nodes = [*ones, *others]
    parent = list(range(len(nodes)))

    def find_root(node: int) -> int:
        while parent[node] != node:
            # Path halving keeps the trees flat without recursion.
            parent[node] = node = parent[parent[node]]
        return node

    by_time = link_by_time(nodes, len(ones))
    for a, b in (*link_by_group(nodes), *by_time, *link_edits_to_commits(nodes)):
        parent[find_root(a)] = find_root(b)
    sides: dict[int, set[bool]] = defaultdict(set)
    ends: dict[int, float] = {}
    for place, change in enumerate(nodes):
        root = find_root(place)
        sides[root].add(place < len(ones))
        ends[root] = max(change.at, ends.get(root, change.at))
    return sorted(ends[root] for root, both in sides.items() if len(both) == 2)


def link_by_group(nodes: Sequence[FileChange]) -> list[tuple[int, int]]:
    """Places of changes that belong to the same commit or task, each with the first of them."""
    first: dict[str, int] = {}
    return [
        (place, first.setdefault(touch.group, place))
        for place, touch in enumerate(nodes)
        if touch.group
    ]


def link_edits_to_commits(nodes: Sequence[FileChange]) -> list[tuple[int, int]]:
    """Places of edits, each with the first commit of the same file within a day after it."""
    commits: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for place, change in enumerate(nodes):
        if is_commit_change(change):
            commits[change.path].append((change.at, place))
    for of_file in commits.values():
        of_file.sort()
    links = []
    for place, change in enumerate(nodes):
        if is_commit_change(change) or change.path not in commits:
            continue
        of_file = commits[change.path]
        first = bisect_left(of_file, (change.at, -1))
        if first < len(of_file) and of_file[first][0] <= change.at + COMMIT_WITHIN_SECONDS:
            links.append((place, of_file[first][1]))
    return links


def is_commit_change(touch: FileChange) -> bool:
    """True if a file was changed by a commit."""
    return touch.group.startswith(f"{COMMIT} ")


def link_by_time(
    nodes: Sequence[FileChange],
    border: int,
) -> list[tuple[int, int]]:
    """Places of changes of either side within 300 seconds; nodes from `border` on are the other's.

    Commits are left out: when a commit is made says nothing about when its files were changed.
    """
    edits = [
        (change.at, place) for place, change in enumerate(nodes) if not is_commit_change(change)
    ]
    ones = sorted(edit for edit in edits if edit[1] < border)
    others = sorted(edit for edit in edits if edit[1] >= border)
    links = []
    for at, place in ones:
        first = bisect_left(others, (at - WITHIN_SECONDS, -1))
        last = bisect_right(others, (at + WITHIN_SECONDS, len(nodes)))
        links += [(place, other) for _, other in others[first:last]]
    return links
