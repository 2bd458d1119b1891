"""Past tasks as texts with vectors, kept in the index of code chunks.

They lie under a root that is no folder's name. So they are embedded in the background as code is,
and compared as code is, and nothing of it is kept in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reverie.code.planning.past_task_log import tokenize_task_cached
from reverie.code.planning.past_tasks import PastTask
from reverie.storage.indexed_files import UNSURE_STAMP, Chunk, ChunkedFile, FileIndex, IndexedFile
from reverie.text.tokenization import fingerprint_text

PREFIX = "past tasks of "
BATCH = 500
# past tasks that may speak for their files
MAX_NEAREST = 100
# the share of texts without a vector up to which the others are asked
MAX_WAITING_SHARE = 0.1


def past_task_root(space: str, repository: str) -> str:
    """The root under which the past tasks of a space in a repository lie."""
    return f"{PREFIX}{space} in {repository}"


def list_past_task_roots(index: FileIndex) -> list[str]:
    """The roots of past tasks, of all spaces and repositories."""
    return [root for root in index.roots() if root.startswith(PREFIX)]


def forget_past_tasks(index: FileIndex, repository: str) -> None:
    """Erase the texts of past tasks in a repository; a plan there lays them anew from the log."""
    for root in list_past_task_roots(index):
        if root.endswith(f" in {repository}"):
            index.forget(root)


def erase_past_tasks(index: FileIndex) -> list[Path]:
    """Erase all texts of past tasks, for they may repeat what was purged.

    Returns the files that may still hold something: another process is reading them. The next plan
    lays the texts anew from the log.
    """
    tokenize_task_cached.cache_clear()
    roots = list_past_task_roots(index)
    for root in roots:
        index.forget(root)
    return [] if not roots or index.scrub() else [Path(index.path)]


def store_past_tasks(
    index: FileIndex,
    root: str,
    tasks: Sequence[PastTask],
) -> None:
    """Make the texts under a root those of these tasks."""
    known = index.indexed_files(root)
    texts = {one.key: one.text for one in tasks if one.text}
    fresh = [
        to_task_entry(key, text)
        for key, text in texts.items()
        if key not in known or known[key].hash != fingerprint_text(text)
    ]
    for start in range(0, len(fresh), BATCH):
        index.put(root, fresh[start : start + BATCH])
    gone = [key for key in known if key not in texts]
    if gone:
        index.drop(root, gone)


def to_task_entry(key: str, text: str) -> ChunkedFile:
    """A task's text as a file of one chunk."""
    hash = fingerprint_text(text)
    return ChunkedFile(
        IndexedFile(key, UNSURE_STAMP, hash),
        (Chunk(1, 1, text, hash),),
    )


def find_nearest_cosines(
    index: FileIndex,
    root: str,
    model: str,
    vector: Any,
    most: int,
) -> dict[str, list[float]] | None:
    """The cosines of the nearest chunks under a root by their file's path.

    None while too many chunks wait for vectors.
    """
    count = index.count([root], model)
    if count.waiting > MAX_WAITING_SHARE * count.chunks:
        return None
    nearest = dict(index.nearest(model, vector, [root], most, 0.0))
    cosines: dict[str, list[float]] = {}
    for one in index.chunks(list(nearest)):
        cosines.setdefault(one.file.path, []).append(nearest[one.num])
    return cosines
