"""The vector table: little-endian float32 of unit length, by model and hash of the text.

The hash makes the table an embedding cache: a text that was embedded once is never embedded again.
It also guards against a slow embedder: a vector of a text that was revised meanwhile is thrown
away.
"""

import sqlite3
from collections.abc import Mapping, Sequence

import numpy as np

from reverie.storage.sqlite.read_queries import split_batches, sql_placeholders
from reverie.storage.sqlite.write_changes import HAS_VECTOR, QUEUE_MISSING
from reverie.text.tokenization import fingerprint_text


def put_memory_vectors(
    db: sqlite3.Connection,
    model: str,
    vectors: Mapping[str, np.ndarray],
    hashes: Mapping[str, bytes],
) -> int:
    """Store vectors by memory id where the text is still the embedded one. Returns how many.

    Vectors of other models stay.
    """
    kept = 0
    for id, vector in vectors.items():
        row = db.execute("select num, text from memory where id = ?", (id,)).fetchone()
        if row is None or fingerprint_text(row[1]) != hashes[id]:
            continue
        blob = np.ascontiguousarray(vector, "<f4").tobytes()
        db.execute(
            "insert or replace into vector (memory, model, hash, vec) values (?, ?, ?, ?)",
            (row[0], model, hashes[id], blob),
        )
        db.execute(HAS_VECTOR, (row[0], model))
        kept += 1
    return kept


def enqueue_model(db: sqlite3.Connection, model: str) -> None:
    """Make this the current model, and queue every text without a vector of it."""
    db.execute("insert or replace into embedder (model) values (?)", (model,))
    db.execute(QUEUE_MISSING)


def read_known_vectors(
    db: sqlite3.Connection, model: str, hashes: Sequence[bytes]
) -> dict[bytes, np.ndarray]:
    """The vectors of texts that were embedded before, by the hash of the text."""
    found: dict[bytes, np.ndarray] = {}
    for batch in split_batches(hashes):
        marks = sql_placeholders(batch)
        sql = f"select hash, vec from vector where hash in ({marks}) and model = ?"
        for hash, vec in db.execute(sql, (*batch, model)):
            found[hash] = np.frombuffer(vec, "<f4")
    return found


def read_memory_vectors(
    db: sqlite3.Connection, model: str, ids: Sequence[str]
) -> dict[str, np.ndarray]:
    """The vectors of memories, by id."""
    found: dict[str, np.ndarray] = {}
    for batch in split_batches(ids):
        sql = f"""
            select m.id, v.vec
            from memory m join vector v on v.memory = m.num
            where m.id in ({sql_placeholders(batch)}) and v.model = ?
        """
        for id, vec in db.execute(sql, (*batch, model)):
            found[id] = np.frombuffer(vec, "<f4")
    return found
