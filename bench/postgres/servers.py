"""A PostgreSQL server for a benchmark, and stores on it that hold what a store on SQLite holds."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from reverie.core.model import Memory
from reverie.storage.derived_texts import tag_node, to_words_body
from reverie.storage.embedded_postgres import EmbeddedPostgres
from reverie.storage.postgres import PostgresDatabase
from reverie.storage.postgres.vector_search import ensure_vector_indexes, find_crowded_models
from reverie.storage.postgres.word_postings import count_terms
from reverie.storage.row_codec import COLUMNS, to_row
from reverie.text.tokenization import fingerprint_text

# As on a small server: what is measured fits into memory.
SETTINGS = {"shared_buffers": "512MB", "maintenance_work_mem": "512MB"}
STEP = 2_000


@contextmanager
def running_server() -> Iterator[str]:
    """The URL of a new server, removed afterwards."""
    with tempfile.TemporaryDirectory(prefix="reverie-") as folder:
        Path(folder).chmod(0o711)
        with EmbeddedPostgres(Path(folder) / "postgres", settings=SETTINGS) as server:
            yield server.url


def copy_memories(
    database: PostgresDatabase,
    tenant: str,
    memories: list[Memory],
    vectors: dict[str, np.ndarray],
    model: str,
) -> None:
    """Fill an empty tenant with memories, their words, tags and vectors; faster than `load`, and
    without history.
    """
    columns = f"tenant, num, {COLUMNS}"
    with database.pool.connect() as db, db.cursor() as cursor:
        db.execute("set search_path = reverie, public")
        with cursor.copy(f"copy memory ({columns}) from stdin") as rows:
            for num, memory in enumerate(memories, 1):
                rows.write_row((tenant, num, *to_row(memory)))
        with cursor.copy("copy edge (tenant, src, rel, dst, weight, space) from stdin") as rows:
            for memory in memories:
                for tag in memory.tags:
                    edge = (memory.id, "has_tag", tag_node(tag), 1.0, memory.space)
                    rows.write_row((tenant, *edge))
        for start in range(0, len(memories), STEP):
            some = memories[start : start + STEP]
            words = count_terms([to_words_body(memory) for memory in some])
            sql = "copy posting (tenant, space, term, num, tf, length) from stdin"
            with cursor.copy(sql) as rows:
                for num, (memory, counted) in enumerate(zip(some, words, strict=True), start + 1):
                    for term, times in counted.items():
                        row = (tenant, memory.space, term, num, times, len(memory.text))
                        rows.write_row(row)
        sql = "copy vector (tenant, num, model, space, hash, vec) from stdin"
        with cursor.copy(sql) as rows:
            for num, memory in enumerate(memories, 1):
                vector = vectors.get(memory.id)
                if vector is not None:
                    key = (tenant, num, model, memory.space, fingerprint_text(memory.text))
                    rows.write_row((*key, f"[{','.join(map(repr, vector.tolist()))}]"))
        sql = "insert into counter (tenant, memory, event) values (%s, %s, 0)"
        db.execute(sql, (tenant, len(memories)))
        db.execute("vacuum analyze")
    with database.store(tenant).connections.reading() as reading:
        crowded = find_crowded_models(reading)
    with database.pool.connect() as db:
        for one, dims in crowded:
            ensure_vector_indexes(db, one, dims)
