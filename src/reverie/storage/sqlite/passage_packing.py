"""The packed vectors of an index of conversations: from its file, and what came since from its
database.

The table `packing` names the file, and `changed` lists the vectors that came or went since that was
written. A file is written beside the database under a name of its own, and named there in the
transaction in which it takes its place; so a process sees either file with the changes that belong
to it. Without a file all vectors are read from the database, which is only slower.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from glob import escape
from itertools import chain
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reverie.core.atomic_file import replace_file, write_beside
from reverie.core.environment import is_encrypted
from reverie.storage.arrays import Floats, Ints
from reverie.storage.sqlite.connection import fetch_value
from reverie.storage.sqlite.passage_vectors import (
    SpaceBlocks,
    VectorBlock,
    find_nearest,
    find_vectors,
    pack_blocks,
)
from reverie.storage.sqlite.vector_snapshot import read_snapshot, write_snapshot

if TYPE_CHECKING:
    from reverie.storage.sqlite.connection import SqliteConnections

# Fewer vectors than this are read in some 10 ms and need no file.
LEAST_PACKED = 2_000
# A file is written anew when this share of its rows has changed, within these bounds: reading 5,000
# rows takes a process some 25 ms, packing a million some seconds in the background.
CHANGED_SHARE, LEAST_CHANGED, MOST_CHANGED = 0.1, 500, 5_000
# How often a search looks again when another process packs just then.
ATTEMPTS = 3
VECTORS = """
    select c.space, v.num, v.vec
    from {rows} v cross join passage p on p.num = v.num
         cross join conversation c on c.num = p.conversation
    where v.model = ?
"""
ALL_VECTORS = VECTORS.format(rows="vector")
CHANGED_VECTORS = VECTORS.format(
    rows="(select * from vector where num in (select num from changed))"
)


class PackingState(NamedTuple):
    """The row of the table `packing`."""

    model: str
    snapshot: str  # the name of the file; empty: none
    rows: int
    version: int
    epoch: int


class PackedVectors(NamedTuple):
    """All vectors of a model as they were at one moment."""

    model: str
    state: PackingState
    file: SpaceBlocks
    since: SpaceBlocks
    changed: Ints  # numbers that no longer count in the file

    def nearest(self, vector: Floats, spaces: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """(number, cosine) of the nearest passages in these spaces, best first, ties by number."""
        none = np.zeros(0, np.int64)
        found = [
            *find_nearest(blocks_of(self.file, spaces), vector, limit, self.changed),
            *find_nearest(blocks_of(self.since, spaces), vector, limit, none),
        ]
        return sorted(found, key=lambda row: (-row[1], row[0]))[:limit]

    def find(self, nums: Sequence[int]) -> dict[int, Floats]:
        """The vectors of passages by number, of unit length."""
        everywhere = chain.from_iterable
        found = find_vectors(everywhere(self.file.values()), nums)
        for num in set(self.changed.tolist()).intersection(found):
            del found[num]
        return found | find_vectors(everywhere(self.since.values()), nums)


def blocks_of(blocks: SpaceBlocks, spaces: Sequence[str]) -> list[VectorBlock]:
    """The blocks of some spaces."""
    return [block for space in dict.fromkeys(spaces) for block in blocks.get(space, ())]


def read_packing_state(db: Connection) -> PackingState:
    """The present state."""
    sql = "select model, snapshot, rows, version, epoch from packing"
    return PackingState(*db.execute(sql).fetchone())


def load_vectors(db: Connection, path: str, model: str) -> PackedVectors:
    """The vectors of a model; `path` is that of the database."""
    for _ in range(ATTEMPTS):
        state = read_packing_state(db)
        file = None
        if state.snapshot and state.model == model:
            file = read_snapshot(snapshot_path(path, state.snapshot), model)
        changed: list[tuple[int]] = []
        if file is not None:
            changed = db.execute("select distinct num from changed").fetchall()
        rows = db.execute(ALL_VECTORS if file is None else CHANGED_VECTORS, (model,))
        since: dict[str, list[VectorBlock]] = {}
        for space, block in pack_blocks(rows):
            since.setdefault(space, []).append(block)
        if read_packing_state(db) == state:
            break
    nums = np.fromiter((num for (num,) in changed), np.int64, len(changed))
    return PackedVectors(model, state, file or {}, since, nums)


def snapshot_path(path: str, name: str) -> str:
    """Where a file of packed vectors stands."""
    return f"{path}-vectors-{name}"


def list_snapshots(path: str) -> list[Path]:
    """All files of packed vectors of a database, with those that somebody is writing or left."""
    file = Path(path)
    names = escape(f"{file.name}-vectors-")
    return [*file.parent.glob(f"{names}*"), *file.parent.glob(f".{names}*.part")]


def remove_snapshots(path: str, but: str = "") -> bool:
    """Remove files of packed vectors. False if one is left: on Windows, one that is being read."""
    stays = Path(snapshot_path(path, but))
    left = False
    for file in list_snapshots(path):
        if not but or file != stays:
            try:
                file.unlink(missing_ok=True)
            except OSError:
                left = True
    return not left


def needs_packing(db: Connection, path: str, model: str) -> bool:
    """True if there is no good file though there should be one, or much changed since.

    Never in an encrypted home: vectors tell what was said, and a file that is searched in its
    mapping cannot be sealed.
    """
    if is_encrypted(Path(path).parent.parent):
        return False
    state = read_packing_state(db)
    if state.model != model:
        return False
    file = snapshot_path(path, state.snapshot)
    if not state.snapshot or read_snapshot(file, model) is None:
        sql = "select count(*) from (select 1 from vector where model = ? limit ?)"
        return bool(fetch_value(db, sql, model, LEAST_PACKED) >= LEAST_PACKED)
    changed: int = fetch_value(db, "select count(*) from changed")
    return changed >= min(max(CHANGED_SHARE * state.rows, LEAST_CHANGED), MOST_CHANGED)


def pack_vectors(connections: SqliteConnections, path: str, model: str) -> bool:
    """Write the vectors of a model into a new file. False if they were erased meanwhile, or another
    process has packed them.
    """
    with connections.snapshot() as db:
        name = fetch_value(db, "select lower(hex(randomblob(4)))")
        before = read_packing_state(db)
        seen = fetch_value(db, "select max(place) from changed") or 0
        rows = CountedRows(db.execute(ALL_VECTORS, (model,)))
        data = write_snapshot(model, pack_blocks(rows))
        target = snapshot_path(path, name)
        with write_beside(target, data) as half, connections.writing() as writer:
            now = read_packing_state(writer)
            if (now.model, now.snapshot, now.epoch) != (model, before.snapshot, before.epoch):
                return False
            replace_file(half, target)
            sql = "update packing set snapshot = ?, rows = ?, version = random()"
            writer.execute(sql, (name, rows.count))
            writer.execute("delete from changed where place <= ?", (seen,))
    remove_snapshots(path, but=name)
    return True


class CountedRows:
    """Rows, and how many of them were taken."""

    def __init__(self, rows: Iterator[tuple[str, int, bytes]]) -> None:
        self.rows, self.count = rows, 0

    def __iter__(self) -> Iterator[tuple[str, int, bytes]]:
        for row in self.rows:
            self.count += 1
            yield row
