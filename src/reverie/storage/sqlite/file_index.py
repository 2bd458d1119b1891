"""The index of files' chunks, notes or code: what is in them, found by words and by vectors.

All of it is derived: the files say everything again. It lives beside the store, in a database of
its own (`derived_database`), so that a hundred megabytes of notes never slow down memory, and
deleting it loses nothing but time. It is created by the first write; until then every query finds
nothing. Vectors are kept by the hash of their text and the model that made them: the same text in
two files, or in a renamed one, is embedded once. A long text is embedded in parts and is as near to
a query as its nearest part.

Every writing method is one transaction. Any number of threads and processes may use one index.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING

from reverie.storage import Names
from reverie.storage.indexed_files import (
    Chunk,
    ChunkDifference,
    ChunkedFile,
    FileStamp,
    FoundChunk,
    IndexCount,
    IndexedFile,
)
from reverie.storage.sqlite.connection import fetch_value
from reverie.storage.sqlite.derived_database import DerivedDatabase, retry_on_new_file
from reverie.storage.sqlite.sql_conditions import split_batches, sql_placeholders
from reverie.storage.sqlite.word_search import (
    best_first,
    select_affordable_terms,
    to_match_expression,
)
from reverie.text.tokenization import to_index_text

if TYPE_CHECKING:
    import numpy as np

    from reverie.storage.sqlite.vector_matrix import VectorMatrix

# Texts whose vectors are kept though no chunk needs them, beside as many as there are chunks: a
# text that was cut and is pasted elsewhere need not be embedded again.
SPARE_VECTORS = 1_000
CHUNKS = """
    select c.num, f.root, f.path, f.size, f.mtime, f.inode, f.hash, c.first, c.last, c.text, c.hash
    from chunk c join file f on f.num = c.file
    where c.num in
"""
WAITING = """
    from chunk c
    where not exists (select 1 from vector v where v.model = ? and v.hash = c.hash)
"""
UPSERT_FILE = """
    insert into file (root, path, size, mtime, inode, hash) values (?, ?, ?, ?, ?, ?)
    on conflict (root, path) do update
    set size = excluded.size, mtime = excluded.mtime, inode = excluded.inode, hash = excluded.hash
    returning num
"""


class SqliteFileIndex(DerivedDatabase):
    """Files, their chunks, the words in them and their vectors."""

    schema = Path(__file__).with_suffix(".sql")
    edition = 1  # to be raised, too, when `to_search_text` or `to_index_text` changes
    tables = ("vector", "chunk", "file")
    parts = worded = ("chunk", "chunks of files")

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

    def drop(self, root: str, paths: Collection[str]) -> int:
        if not paths:
            return 0
        with self._connections().writing() as db:
            gone = sum(drop_chunked_file(db, root, path) for path in paths)
            if gone:
                chunks = fetch_value(db, "select count(*) from chunk")
                delete_spare_vectors(db, SPARE_VECTORS + chunks)
        return gone

    def forget(self, root: str) -> int:
        gone = self.drop(root, self.indexed_files(root))
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

    def put_vectors(
        self,
        model: str,
        vectors: Mapping[bytes, np.ndarray],
    ) -> None:
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
        return [root for (root,) in self._rows("select distinct root from file order by 1")]

    def texts(self) -> Iterator[tuple[str, str, str]]:
        with self._reading() as db:
            if db is not None:
                yield from db.execute(
                    "select f.root, f.path, c.text from chunk c join file f on f.num = c.file"
                )
                yield from db.execute("select root, path, path from file")

    def chunks(self, nums: Sequence[int]) -> list[FoundChunk]:
        found: dict[int, FoundChunk] = {}
        for batch in split_batches(nums):
            rows = self._rows(f"{CHUNKS} ({sql_placeholders(batch)})", *batch)
            for num, root, path, *stamp, hash, first, last, text, text_hash in rows:
                file = IndexedFile(path, FileStamp(*stamp), hash)
                found[num] = FoundChunk(
                    num,
                    root,
                    file,
                    Chunk(first, last, text, text_hash),
                )
        return [found[num] for num in nums if num in found]

    def count(self, roots: Names | None, model: str | None = None) -> IndexCount:
        if not self._exists():
            return IndexCount()
        args = roots or ()
        inside = "1" if roots is None else f"root in ({sql_placeholders(args)})"
        files = self._count(f"select count(*) from file where {inside}", *args)
        of_roots = f"c.file in (select num from file where {inside})"
        chunks = self._count(f"select count(*) from chunk c where {of_roots}", *args)
        waiting = 0
        if model is not None:
            sql = f"select count(distinct c.hash) {WAITING} and {of_roots}"
            waiting = self._count(sql, model, *args)
        return IndexCount(files, chunks, waiting)

    # Finding

    @retry_on_new_file
    def search_words(
        self,
        terms: Names,
        roots: Names,
        limit: int,
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
            match = to_match_expression(affordable)
            found = db.execute(sql, (match, *roots, limit)).fetchall()
        return sorted(found, key=best_first)

    @retry_on_new_file
    def nearest(
        self,
        model: str,
        vector: np.ndarray,
        roots: Names,
        limit: int,
        floor: float,
    ) -> list[tuple[int, float]]:
        found: list[tuple[int, float]] = []
        with self._reading() as db:
            if db is None or not roots:
                return found
            # The matrix holds the texts of all roots, so more than `limit` are taken at once.
            for cosines in self._load_matrix(db, model).best(
                vector,
                4 * limit,
                floor,
            ):
                sql = f"""
                    select c.num, c.hash
                    from chunk c join file f on f.num = c.file
                    where c.hash in ({sql_placeholders(cosines)})
                          and f.root in ({sql_placeholders(roots)})
                """
                rows = db.execute(sql, (*cosines, *roots)).fetchall()
                near = [(num, cosines[hash]) for num, hash in rows]
                found += sorted(near, key=best_first)
                if len(found) >= limit:
                    break
        return found[:limit]

    @retry_on_new_file
    def cosines(
        self,
        model: str,
        vector: np.ndarray,
        nums: Sequence[int],
    ) -> dict[int, float]:
        hashes = {found.num: found.chunk.hash for found in self.chunks(nums)}
        with self._reading() as db:
            return (
                {}
                if db is None
                else self._load_matrix(db, model).cosines(
                    vector,
                    hashes,
                )
            )

    @retry_on_new_file
    def unembedded_texts(
        self,
        limit: int,
        model: str,
    ) -> list[tuple[bytes, str]]:
        with self._reading() as db:
            if db is None:
                return []
            last = last_chunk_number(db)
            rows = db.execute(
                f"select c.num, c.hash, c.text {WAITING} and c.num > ? order by c.num limit ?",
                (model, self._embedded.get(model, 0), limit),
            ).fetchall()
        # No chunk up to there will ever wait again: numbers are not given twice, and a vector goes
        # only when no chunk needs it.
        self._embedded[model] = rows[0][0] - 1 if rows else last
        texts = {hash: text for _, hash, text in rows}
        return list(texts.items())

    def _load_matrix(self, db: Connection, model: str) -> VectorMatrix:
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


def last_chunk_number(db: Connection) -> int:
    """The highest number that was ever given to a chunk."""
    return fetch_value(db, "select seq from sqlite_sequence where name = 'chunk'") or 0


def to_search_text(path: str, text: str) -> str:
    """The text that the word index holds of a chunk: its text and its file's path."""
    return to_index_text(f"{path}\n{text}")


def put_chunks(
    db: Connection,
    root: str,
    entry: ChunkedFile,
) -> ChunkDifference:
    """Replace a file's chunks; those whose text stays are only moved."""
    (path, stamp, hash), chunks = entry
    file: int = fetch_value(db, UPSERT_FILE, root, path, *stamp, hash)
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
    for num, chunk in enumerate(new, last_chunk_number(db) + 1):
        db.execute(
            "insert into chunk (num, file, first, last, text, hash) values (?, ?, ?, ?, ?, ?)",
            (num, file, *chunk),
        )
        words = to_search_text(path, chunk.text)
        db.execute("insert into words (rowid, body) values (?, ?)", (num, words))
    return ChunkDifference(
        added=len(new),
        kept=len(moved),
        dropped=len(gone),
    )


def delete_chunks(
    db: Connection,
    path: str,
    nums: Sequence[int],
) -> None:
    """Delete chunks of a file, and their words."""
    for batch in split_batches(nums):
        where = f"where num in ({sql_placeholders(batch)})"
        for num, text in db.execute(f"select num, text from chunk {where}", batch).fetchall():
            # A row of a contentless FTS5 table is deleted by giving FTS5 its text again.
            db.execute(
                "insert into words (words, rowid, body) values ('delete', ?, ?)",
                (num, to_search_text(path, text)),
            )
        db.execute(f"delete from chunk {where}", batch)


def drop_chunked_file(
    db: Connection,
    root: str,
    path: str,
) -> int:
    """Delete one file. Returns how many chunks it had."""
    file = fetch_value(db, "select num from file where root = ? and path = ?", root, path)
    if file is None:
        return 0
    nums = [num for (num,) in db.execute("select num from chunk where file = ?", (file,))]
    delete_chunks(db, path, nums)
    db.execute("delete from file where num = ?", (file,))
    return len(nums)


def delete_spare_vectors(db: Connection, most: int) -> None:
    """Delete vectors that no chunk needs, once there are those of more than `most` texts."""
    if fetch_value(db, "select count(*) from vector where part = 0") > most:
        db.execute("delete from vector where hash not in (select hash from chunk)")
