"""The terms of indexed code files: packed columns for each file, and a list of all terms."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

import numpy as np

from reverie.storage.code_index_port import TermBag, TermColumns
from reverie.storage.sqlite.read_queries import sql_placeholders

ENTRY = np.dtype([("chunk", "<i4"), ("term", "<i4"), ("times", "<i4")])
NO_TERMS = TermColumns([], {}, *(np.zeros(0, np.int32) for _ in range(4)))


def put_term_bags(db: sqlite3.Connection, root: str, bags: Sequence[TermBag]) -> None:
    """Store the terms of these files."""
    terms: set[str] = set()
    for bag in bags:
        terms.update(*bag.chunks)
    db.executemany(
        "insert or ignore into term (text) values (?)", [(term,) for term in sorted(terms)]
    )
    sql = "select id from term where text = ?"
    numbers = {term: db.execute(sql, (term,)).fetchone()[0] for term in terms}
    db.executemany(
        "insert or replace into bag (file, hash, entries) "
        "select num, ?, ? from file where root = ? and path = ?",
        [(bag.hash, pack_entries(bag, numbers), root, bag.path) for bag in bags],
    )


def pack_entries(bag: TermBag, numbers: dict[str, int]) -> bytes:
    """The entries of one file, as bytes."""
    rows: list[tuple[int, int, int]] = []
    for place, chunk in enumerate(bag.chunks):
        rows += [(place, numbers[term], count) for term, count in chunk.items()]
    return np.array(rows, dtype=ENTRY).tobytes()


def read_bag_hashes(db: sqlite3.Connection, root: str) -> dict[str, bytes]:
    """The files that have entries, with the hash of the content that these are of."""
    return dict(
        db.execute(
            "select f.path, b.hash from bag b join file f on f.num = b.file where f.root = ?",
            (root,),
        )
    )


def read_term_columns(db: sqlite3.Connection, root: str) -> TermColumns:
    """All entries of a repository."""
    rows = db.execute(
        "select f.path, b.entries from bag b join file f on f.num = b.file where f.root = ? "
        "order by f.path",
        (root,),
    ).fetchall()
    terms = dict(db.execute("select text, id from term"))
    entries = np.frombuffer(b"".join(data for _, data in rows), ENTRY)
    sizes = [len(data) // ENTRY.itemsize for _, data in rows]
    file = np.repeat(np.arange(len(rows), dtype=np.int32), sizes)
    return TermColumns(
        [path for path, _ in rows],
        terms,
        file,
        *(np.ascontiguousarray(entries[name]) for name in ("chunk", "term", "times")),
    )


def delete_unused_terms(db: sqlite3.Connection) -> None:
    """Delete the terms that no file has any more."""
    entries = np.frombuffer(
        b"".join(data for (data,) in db.execute("select entries from bag")), ENTRY
    )
    used = {int(number) for number in np.unique(entries["term"])}
    db.executemany(
        "delete from term where id = ?",
        [(number,) for (number,) in db.execute("select id from term") if number not in used],
    )


def read_symbol_names(
    db: sqlite3.Connection, root: str, kinds: Collection[str]
) -> list[tuple[str, str]]:
    """(path, name) of the symbols of these kinds, by path and index."""
    return db.execute(
        "select f.path, s.name from symbol s join file f on f.num = s.file "
        f"where f.root = ? and s.kind in ({sql_placeholders(list(kinds))}) order by f.path, s.idx",
        (root, *kinds),
    ).fetchall()


def compute_index_state(db: sqlite3.Connection, root: str) -> bytes:
    """A digest that changes with the files and their terms."""
    from hashlib import blake2b

    digest = blake2b(digest_size=16)
    for row in db.execute(
        "select f.num, f.hash, b.hash from file f left join bag b on b.file = f.num "
        "where f.root = ? order by f.num",
        (root,),
    ):
        digest.update(repr(row).encode())
    return digest.digest()
