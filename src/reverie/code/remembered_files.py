"""Files by what is remembered of them: how many memories speak of each, how many of them of code
that has changed since, and what failed there. Pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.activity.activity_events import get_run_error, normalize_event_path
from reverie.core.code_anchors import CodeAnchor, anchors_in
from reverie.core.model import Event, Memory
from reverie.memory.episodes import read_success
from reverie.storage import DatedDetails


class RememberedFile(NamedTuple):
    """A file that memories speak of."""

    root: str  # the repository's folder
    path: str  # from there
    memories: int
    outdated: int  # of them, those whose code has changed or gone
    failures: int  # recent runs that failed with an error that names it
    last: float  # when the newest of the memories was written down


class AnchoredMemory(NamedTuple):
    """A memory that speaks of a file, and of what in it."""

    memory: Memory
    anchors: Sequence[CodeAnchor]  # those in this file

    @property
    def is_outdated(self) -> bool:
        """True if any of its code in this file has changed or gone."""
        return has_changed(self.anchors)


def rank_remembered_files(
    written: Iterable[DatedDetails], runs: Iterable[Event]
) -> list[RememberedFile]:
    """The files that memories with these details speak of, those with outdated ones and failures
    first, then those with most memories.
    """
    # (when it was written down, whether any of its code has changed) of each memory
    by_file: dict[tuple[str, str], list[tuple[float, bool]]] = defaultdict(list)
    for one in written:
        for place, anchors in group_anchors(one.details).items():
            by_file[place].append((one.created_at, has_changed(anchors)))
    failures = count_failures({path for _, path in by_file}, runs)
    files = [
        RememberedFile(
            root,
            path,
            len(found),
            sum(is_outdated for _, is_outdated in found),
            failures[path],
            max(created_at for created_at, _ in found),
        )
        for (root, path), found in by_file.items()
    ]
    return sorted(files, key=rank_key)


def rank_key(file: RememberedFile) -> tuple[bool, int, int, str, str]:
    """What needs somebody comes first."""
    trouble = file.outdated + file.failures
    return (not trouble, -trouble, -file.memories, file.path, file.root)


def group_anchors(details: Mapping[str, Any]) -> dict[tuple[str, str], list[CodeAnchor]]:
    """The anchors in a memory's details by (root, path)."""
    found: dict[tuple[str, str], list[CodeAnchor]] = defaultdict(list)
    for anchor in anchors_in(details):
        found[anchor.root, anchor.path].append(anchor)
    return found


def has_changed(anchors: Iterable[CodeAnchor]) -> bool:
    """True if any of this code has changed or gone."""
    return any(anchor.state for anchor in anchors)


def select_anchored(memories: Iterable[Memory], root: str, path: str) -> list[AnchoredMemory]:
    """The memories that speak of a file, those with outdated anchors first."""
    found = [
        AnchoredMemory(memory, anchors)
        for memory in memories
        if (anchors := group_anchors(memory.details).get((root, path)))
    ]
    return sorted(found, key=lambda one: not one.is_outdated)


def count_failures(paths: Iterable[str], runs: Iterable[Event]) -> Counter[str]:
    """How many of these runs failed with an error that names each path."""
    known = tuple(paths)
    counts = Counter[str]()
    for run in runs:
        if read_success(run.payload) is not False:
            continue
        error = normalize_event_path(get_run_error(run))
        counts.update(path for path in known if path in error)
    return counts
