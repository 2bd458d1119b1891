"""Past tasks as texts that get vectors: they lie with the chunks of code, under a name that is no
folder's.

So they are embedded in the background as code is, and compared as code is, and nothing of it is
kept in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from reverie.code.planning.past_task_log import terms
from reverie.code.planning.past_tasks import Done
from reverie.storage.note_index_port import UNSURE, Chunk, Entry, FileIndex, Indexed
from reverie.text.tokenization import fingerprint

PREFIX = "past tasks of "
BATCH = 500
NEAREST = 100  # past tasks that may speak for their files
WAITING = 0.1  # the share of texts without a vector up to which the others are asked


def root_of(space: str, repository: str) -> str:
    """What the past tasks of a space in a repository lie under."""
    return f"{PREFIX}{space} in {repository}"


def forgotten(index: FileIndex, repository: str) -> None:
    """Erase the texts of past tasks in a repository, of all spaces; a plan there lays them anew
    from the log.
    """
    for root in index.roots():
        if root.startswith(PREFIX) and root.endswith(f" in {repository}"):
            index.forget(root)


def erased(index: FileIndex) -> list[Path]:
    """Erase all texts of past tasks, for they may repeat what was purged; the next plan lays them
    anew from the log.

    The files that may still hold something: another process is reading them.
    """
    terms.cache_clear()
    roots = [root for root in index.roots() if root.startswith(PREFIX)]
    for root in roots:
        index.forget(root)
    return [] if not roots or index.scrub() else [Path(index.path)]


def kept(index: FileIndex, root: str, done: Sequence[Done]) -> None:
    """Make the texts under a root those of these tasks."""
    known = index.known(root)
    texts = {one.key: one.text for one in done if one.text}
    fresh = [
        entry(key, text)
        for key, text in texts.items()
        if key not in known or known[key].hash != fingerprint(text)
    ]
    rest = iter(fresh)
    while some := list(islice(rest, BATCH)):
        index.put(root, some)
    if gone := [key for key in known if key not in texts]:
        index.drop(root, gone)


def entry(key: str, text: str) -> Entry:
    """A task's text as a file of one chunk."""
    hash = fingerprint(text)
    return Entry(Indexed(key, UNSURE, hash), (Chunk(1, 1, text, hash),))


def cosines(
    index: FileIndex, root: str, model: str, vector: object, most: int
) -> dict[str, list[float]] | None:
    """The cosines of the nearest chunks under a root by their file's path; None while too many wait
    for vectors.
    """
    count = index.count([root], model)
    if count.waiting > WAITING * count.chunks:
        return None
    nearest = dict(index.nearest(model, vector, [root], most, 0.0))  # type: ignore[arg-type]
    found: dict[str, list[float]] = {}
    for one in index.chunks(list(nearest)):
        found.setdefault(one.file.path, []).append(nearest[one.num])
    return found
