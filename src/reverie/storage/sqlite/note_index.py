"""`FileIndex` on SQLite: a file of its own in the cache, created by the first write.

The protocol's docstrings hold; here is only how. Words are a contentless FTS5 table: a row is
deleted by giving FTS5 its text again, which `to_search_text` makes from the chunk. A damaged file
is deleted and begun anew (`derived_database`): everything in it can be read again from the files.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.storage.note_index_port import (
    Chunk,
    ChunkDifference,
    ChunkedFile,
    FileStamp,
    FoundChunk,
    IndexCount,
    IndexedFile,
)
from reverie.storage.sqlite.derived_database import DerivedDatabase
from reverie.storage.sqlite.read_queries import (
    best_first,
    select_affordable_terms,
    split_batches,
    sql_placeholders,
    to_match_expression,
)
from reverie.text.tokenization import to_index_text

if TYPE_CHECKING:
    import numpy as np

    from reverie.storage.sqlite.vector_matrix import VectorMatrix

# Texts whose vectors are kept though no chunk needs them, beside as many as there are chunks.
SPARE_VECTORS = 1_000
FILE = "f.path, f.size, f.mtime, f.inode, f.hash"
CHUNKS = f"""
    select c.num, f.root, {FILE}, c.first, c.last, c.text, c.hash
    from chunk c join file f on f.num = c.file
    where c.num in
"""
WAITING = """
    from chunk c
    where not exists (select 1 from vector v where v.model = ? and v.hash = c.hash)
"""
CHECKS = (
    "select count(*) from chunk",
    "select count(*) from words_docsize",  # FTS5's own table, one row for each row
    "select count(*) from chunk c where not exists (select 1 from file f where f.num = c.file)",
)
EMPTYING = (
    "insert into words (words) values ('delete-all')",
    "delete from vector",
    "delete from chunk",
    "delete from file",
)
UPSERT_FILE = """
    insert into file (root, path, size, mtime, inode, hash) values (?, ?, ?, ?, ?, ?)
    on conflict (root, path) do update
    set size = excluded.size, mtime = excluded.mtime, inode = excluded.inode, hash = excluded.hash
    returning num
"""
LAST = "select seq from sqlite_sequence where name = 'chunk'"


class SqliteFileIndex(DerivedDatabase):
    """The index of files beside one store."""

    schema = Path(__file__).with_suffix(".sql")
    edition = 1  # to be raised, too, when `to_search_text` or `to_index_text` changes
    emptying = EMPTYING

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._matrix: VectorMatrix | None = None
        self._embedded: dict[str, int] = {}  # model → number up to which every chunk has a vector

    def _drop_caches(self) -> None:
        self._matrix = None
        self._embedded.clear()

    # Writing

    def put(self, root: str, entries: Sequence[ChunkedFile]) -> ChunkDifference:
        total = ChunkDifference()
        if entries:
            with self._connections().writing() as db:
                for entry in entries:
                    total = total.plus(put_chunks(db, root, entry))
        return total

    def drop(self, root: str, paths: Sequence[str]) -> int:
        if not paths:
            return 0
        with self._connections().writing() as db:
            gone = sum(drop_chunked_file(db, root, path) for path in paths)
            if gone:
                delete_spare_vectors(
                    db, SPARE_VECTORS + db.execute("select count(*) from chunk").fetchone()[0]
                )
        return gone

    def forget(self, root: str) -> int:
        gone = self.drop(root, list(self.indexed_files(root)))
        self.scrub()
        return gone

    def scrub(self) -> bool:
        if not self._exists():
            return True
        with self._connections().writing() as db:
            delete_spare_vectors(db, 0)
            # FTS5 keeps deleted words in its segments until they are merged.
            db.execute("insert into words (words) values ('optimize')")
        with self._lock:
            self._matrix = None
        return self._connections().compact()

    def texts(self) -> Iterator[tuple[str, str, str]]:
        with self._reading() as db:
            if db is not None:
                yield from db.execute(
                    "select f.root, f.path, c.text from chunk c join file f on f.num = c.file"
                )
                yield from db.execute("select root, path, path from file")

    def put_vectors(self, model: str, vectors: Mapping[bytes, np.ndarray]) -> None:
        rows: list[tuple[str, bytes, int, bytes]] = []
        for hash, parts in vectors.items():
            for part, vector in enumerate(parts):
                rows.append((model, hash, part, vector.astype("<f4").tobytes()))
        with self._connections().writing() as db:
            db.executemany(
                "insert or ignore into vector (model, hash, part, vec) values (?, ?, ?, ?)", rows
            )

    # Reading

    def roots(self) -> list[str]:
        with self._reading() as db:
            rows = db.execute("select distinct root from file order by 1") if db else ()
            return [root for (root,) in rows]

    def chunks(self, nums: Sequence[int]) -> list[FoundChunk]:
        found: dict[int, FoundChunk] = {}
        with self._reading() as db:
            if db is None:
                return []
            for batch in split_batches(nums):
                rows = db.execute(f"{CHUNKS} ({sql_placeholders(batch)})", batch)
                for num, root, *rest in rows:
                    found[num] = FoundChunk(num, root, to_indexed_file(rest[:5]), Chunk(*rest[5:]))
        return [found[num] for num in nums if num in found]

    def count(self, roots: Sequence[str] | None, model: str | None = None) -> IndexCount:
        with self._reading() as db:
            if db is None:
                return IndexCount()
            args: Sequence[str] = roots or ()
            inside = "1" if roots is None else f"f.root in ({sql_placeholders(roots)})"

            def count_rows(sql: str, *args: str) -> int:
                number: int = db.execute(sql, args).fetchone()[0]
                return number

            files = count_rows(f"select count(*) from file f where {inside}", *args)
            chunks = count_rows(
                f"select count(*) from file f join chunk c on c.file = f.num where {inside}", *args
            )
            waiting = 0
            if model is not None:
                waiting = count_rows(
                    f"select count(distinct c.hash) {WAITING} "
                    f"and c.file in (select f.num from file f where {inside})",
                    model,
                    *args,
                )
        return IndexCount(files, chunks, waiting)

    def verify(self) -> str:
        with self._reading() as db:
            if db is None:
                return ""
            chunks, words, strays = (db.execute(sql).fetchone()[0] for sql in CHECKS)
        if strays:
            return f"{strays:,} chunks of files belong to no file"
        return "" if words == chunks else f"{chunks:,} chunks of files, but words of {words:,}"

    # Finding

    def search_words(
        self, terms: Sequence[str], roots: Sequence[str], limit: int
    ) -> list[tuple[int, float]]:
        with self._reading() as db:
            if db is None or not terms or not roots:
                return []
            affordable = select_affordable_terms(db, terms, last_chunk_number(db))
            # FTS5 hands rows over best first, so the joins look only at those that are taken.
            sql = f"""
                select w.rowid, -w.rank
                from words w cross join chunk c on c.num = w.rowid
                     cross join file f on f.num = c.file
                where w.words match ? and f.root in ({sql_placeholders(roots)})
                order by w.rank
                limit ?
            """
            found = db.execute(sql, (to_match_expression(affordable), *roots, limit)).fetchall()
        return sorted(found, key=best_first)

    def nearest(
        self, model: str, vector: np.ndarray, roots: Sequence[str], limit: int, floor: float
    ) -> list[tuple[int, float]]:
        found: list[tuple[int, float]] = []
        with self._reading() as db:
            if db is None or not roots:
                return found
            # The matrix holds the texts of all roots, so more than `limit` are taken at once.
            for cosines in self._load_matrix(db, model).best(vector, 4 * limit, floor):
                sql = f"""
                    select c.num, c.hash
                    from chunk c join file f on f.num = c.file
                    where c.hash in ({sql_placeholders(list(cosines))})
                          and f.root in ({sql_placeholders(roots)})
                """
                rows = db.execute(sql, (*cosines, *roots)).fetchall()
                found += sorted(((num, cosines[hash]) for num, hash in rows), key=best_first)
                if len(found) >= limit:
                    break
        return found[:limit]

    def cosines(self, model: str, vector: np.ndarray, nums: Sequence[int]) -> dict[int, float]:
        hashes = {found.num: found.chunk.hash for found in self.chunks(nums)}
        with self._reading() as db:
            return {} if db is None else self._load_matrix(db, model).cosines(vector, hashes)

    def unembedded_texts(self, model: str, limit: int) -> list[tuple[bytes, str]]:
        with self._reading() as db:
            if db is None:
                return []
            last = last_chunk_number(db)
            rows = db.execute(
                f"select c.num, c.hash, c.text {WAITING} and c.num > ? order by c.num limit ?",
                (model, self._embedded.get(model, 0), limit),
            ).fetchall()
            self._embedded[model] = rows[0][0] - 1 if rows else last
        return list({hash: (hash, text) for _, hash, text in rows}.values())

    def _load_matrix(self, db: sqlite3.Connection, model: str) -> VectorMatrix:
        """The vectors of a model in memory, with those that were written since the last time."""
        from reverie.storage.sqlite.vector_matrix import VectorMatrix

        with self._lock:
            if self._matrix is None or self._matrix.model != model:
                self._matrix = VectorMatrix(model)
            fresh = db.execute(
                "select num, hash, vec from vector where model = ? and num > ? order by num",
                (model, self._matrix.last),
            )
            self._matrix = self._matrix.caught_up(fresh)
            return self._matrix


def last_chunk_number(db: sqlite3.Connection) -> int:
    """The highest number that was ever given to a chunk."""
    row = db.execute(LAST).fetchone()
    return row[0] if row else 0


def to_search_text(path: str, text: str) -> str:
    """The text that the word index holds of a chunk: its text and its file's path."""
    return to_index_text(f"{path}\n{text}")


def to_indexed_file(row: Sequence[object]) -> IndexedFile:
    """A file from the columns of FILE."""
    path, size, mtime, inode, hash = row
    return IndexedFile(path, FileStamp(size, mtime, inode), hash)  # type: ignore[arg-type]


def put_chunks(db: sqlite3.Connection, root: str, entry: ChunkedFile) -> ChunkDifference:
    """Replace a file's chunks; those whose text stays are only moved."""
    (path, stamp, hash), chunks = entry
    file: int = db.execute(UPSERT_FILE, (root, path, *stamp, hash)).fetchone()[0]
    # The numbers of the old chunks by hash, so that the first of equal ones is popped first.
    old: dict[bytes, list[int]] = {}
    sql = "select num, hash from chunk where file = ? order by first desc"
    for num, known in db.execute(sql, (file,)):
        old.setdefault(known, []).append(num)
    moved: list[tuple[int, int, int]] = []
    new: list[Chunk] = []
    for chunk in chunks:
        numbers = old.get(chunk.hash)
        if numbers:
            moved.append((chunk.first, chunk.last, numbers.pop()))
        else:
            new.append(chunk)
    gone = list(chain.from_iterable(old.values()))
    delete_chunks(db, path, gone)
    db.executemany("update chunk set first = ?, last = ? where num = ?", moved)
    first = last_chunk_number(db) + 1
    db.executemany(
        "insert into chunk (num, file, first, last, hash, text) values (?, ?, ?, ?, ?, ?)",
        [(num, file, c.first, c.last, c.hash, c.text) for num, c in enumerate(new, first)],
    )
    db.executemany(
        "insert into words (rowid, body) values (?, ?)",
        [(num, to_search_text(path, c.text)) for num, c in enumerate(new, first)],
    )
    return ChunkDifference(added=len(new), kept=len(moved), dropped=len(gone))


def delete_chunks(db: sqlite3.Connection, path: str, nums: Sequence[int]) -> None:
    """Delete chunks of a file, and their words."""
    for batch in split_batches(nums):
        where = f"where num in ({sql_placeholders(batch)})"
        rows = db.execute(f"select num, text from chunk {where}", batch).fetchall()
        db.executemany(
            "insert into words (words, rowid, body) values ('delete', ?, ?)",
            [(num, to_search_text(path, text)) for num, text in rows],
        )
        db.execute(f"delete from chunk {where}", batch)


def drop_chunked_file(db: sqlite3.Connection, root: str, path: str) -> int:
    """Delete one file. Returns how many chunks it had."""
    row = db.execute("select num from file where root = ? and path = ?", (root, path)).fetchone()
    if row is None:
        return 0
    nums = [num for (num,) in db.execute("select num from chunk where file = ?", row)]
    delete_chunks(db, path, nums)
    db.execute("delete from file where num = ?", row)
    return len(nums)


def delete_spare_vectors(db: sqlite3.Connection, most: int) -> None:
    """Delete vectors that no chunk needs, once there are those of more than `most` texts."""
    if db.execute("select count(*) from vector where part = 0").fetchone()[0] > most:
        db.execute("delete from vector where hash not in (select hash from chunk)")
