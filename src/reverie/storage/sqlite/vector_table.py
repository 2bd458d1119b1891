"""Vectors in the table: little-endian float32, unit length, with the model that made them and their
text's hash.

The hash makes the table an embedding cache as well: a text that was embedded once is never embedded
again (C71). It also keeps a slow embedder honest: a vector of a text that was revised meanwhile is
thrown away.
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
    """Keep vectors by memory id, if the text is still the one that was embedded. Those of other
    models stay.
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
    """From now on texts wait for vectors of this model too, and it is the one that embeds now."""
    db.execute("insert or replace into embedder (model) values (?)", (model,))
    db.execute(QUEUE_MISSING)


def read_known_vectors(
    db: sqlite3.Connection, model: str, hashes: Sequence[bytes]
) -> dict[bytes, np.ndarray]:
    """Vectors of texts embedded before."""
    found: dict[bytes, np.ndarray] = {}
    for some in split_batches(hashes):
        sql = f"select hash, vec from vector where hash in ({sql_placeholders(some)}) and model = ?"
        found.update({h: np.frombuffer(v, "<f4") for h, v in db.execute(sql, (*some, model))})
    return found


def read_memory_vectors(
    db: sqlite3.Connection, model: str, ids: Sequence[str]
) -> dict[str, np.ndarray]:
    """Vectors by memory id."""
    found: dict[str, np.ndarray] = {}
    for some in split_batches(ids):
        sql = (
            f"select m.id, v.vec from memory m join vector v on v.memory = m.num where m.id in ({sql_placeholders(some)}) "
            "and v.model = ?"
        )
        found.update({id: np.frombuffer(vec, "<f4") for id, vec in db.execute(sql, (*some, model))})
    return found
