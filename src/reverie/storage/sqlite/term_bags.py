"""The terms of indexed code files: packed columns for each file, and a list of all terms."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from sqlite3 import Connection

import numpy as np

from reverie.storage.indexed_code import TermBag, TermColumns
from reverie.storage.sqlite.connection import fetch_value
from reverie.storage.sqlite.derived_database import DerivedDatabase
from reverie.storage.sqlite.sql_conditions import sql_placeholders

ENTRY = np.dtype([("chunk", "<i4"), ("term", "<i4"), ("times", "<i4")])


class TermBagIndex(DerivedDatabase):
    """The part of the code index that plans are made from."""

    def bag_hashes(self, root: str) -> dict[str, bytes]:
        """The files whose terms are stored, with the hash of the content they are of."""
        sql = "select f.path, b.hash from bag b join file f on f.num = b.file where f.root = ?"
        return dict(self._rows(sql, root))

    def put_bags(self, root: str, bags: Sequence[TermBag]) -> None:
        """Store the terms of indexed files."""
        if not bags:
            return
        terms: set[str] = set()
        for bag in bags:
            terms.update(*bag.chunks)
        with self._connections().writing() as db:
            db.executemany(
                "insert or ignore into term (text) values (?)", [(term,) for term in sorted(terms)]
            )
            sql = "select id from term where text = ?"
            numbers: dict[str, int] = {}
            for term in terms:
                numbers[term] = fetch_value(db, sql, term)
            rows = [(bag.hash, pack_entries(bag, numbers), root, bag.path) for bag in bags]
            db.executemany(
                "insert or replace into bag (file, hash, entries) "
                "select num, ?, ? from file where root = ? and path = ?",
                rows,
            )

    def bags(self, root: str) -> TermColumns:
        """The terms of all files of a repository."""
        sql = """
            select f.path, b.entries
            from bag b join file f on f.num = b.file
            where f.root = ?
            order by f.path
        """
        paths: list[str] = []
        blobs: list[bytes] = []
        for path, blob in self._rows(sql, root):
            paths.append(path)
            blobs.append(blob)
        entries = np.frombuffer(b"".join(blobs), ENTRY)
        sizes = [len(blob) // ENTRY.itemsize for blob in blobs]
        places = np.arange(len(paths), dtype=np.int32)
        return TermColumns(
            paths=paths,
            terms=dict(self._rows("select text, id from term")),
            file=np.repeat(places, sizes),
            # A field of a packed row is not contiguous, and summing such a column takes longer.
            chunk=np.ascontiguousarray(entries["chunk"]),
            term=np.ascontiguousarray(entries["term"]),
            times=np.ascontiguousarray(entries["times"]),
        )

    def symbol_names(
        self,
        root: str,
        kinds: Collection[str],
    ) -> list[tuple[str, str]]:
        """(path, name) of all symbols of these kinds, by path and index."""
        sql = f"""
            select f.path, s.name
            from symbol s join file f on f.num = s.file
            where f.root = ? and s.kind in ({sql_placeholders(kinds)})
            order by f.path, s.idx
        """
        return self._rows(sql, root, *kinds)

    def state_digest(self, root: str) -> bytes:
        """A value that changes whenever an answer about the repository may have changed."""
        from hashlib import blake2b

        if not self._exists():
            return b""
        sql = """
            select f.num, f.hash, b.hash
            from file f left join bag b on b.file = f.num
            where f.root = ?
            order by f.num
        """
        digest = blake2b(digest_size=16)
        for row in self._rows(sql, root):
            digest.update(repr(row).encode())
        return digest.digest()


def pack_entries(bag: TermBag, numbers: dict[str, int]) -> bytes:
    """The entries of one file, as bytes."""
    rows: list[tuple[int, int, int]] = []
    for place, chunk in enumerate(bag.chunks):
        rows += [(place, numbers[term], count) for term, count in chunk.items()]
    return np.array(rows, dtype=ENTRY).tobytes()


def delete_unused_terms(db: Connection) -> None:
    """Delete the terms that no file has any more."""
    blobs = [data for (data,) in db.execute("select entries from bag")]
    entries = np.frombuffer(b"".join(blobs), ENTRY)
    used = set(entries["term"].tolist())
    known = db.execute("select id from term").fetchall()
    unused = [row for row in known if row[0] not in used]
    db.executemany("delete from term where id = ?", unused)
