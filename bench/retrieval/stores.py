"""The corpora as real memories in real stores, one home each, embedded once and kept under the
cache folder.
"""

import hashlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import reverie
from bench.retrieval.data import Dataset, Row
from reverie.core.config import Settings
from reverie.embedding import Embedder
from reverie.embedding.vector_cache import CachedEmbedder

SPACE = "me/bench"


def home_of(dataset: str, corpus: str, rows: Sequence[Row], cache: Path) -> Path:
    """The home of a corpus; other contents, another home."""
    print_of = hashlib.sha256(
        "\n".join(f"{r.id}|{r.session}|{r.speaker}|{r.text}" for r in rows).encode()
    ).hexdigest()
    return cache / "bench" / f"{dataset}-{corpus}-{print_of[:12]}"


def opened(
    dataset: Dataset, corpus: str, embedder: Embedder, cache: Path
) -> tuple[reverie.Mind, dict[str, str]]:
    """A mind that holds the corpus, one memory a turn, and which memory is which published id."""
    rows = dataset.corpora[corpus]
    settings = Settings(home=home_of(dataset.name, corpus, rows, cache), backups=0)
    mind = reverie.open(settings=settings, embedder=embedder)
    if mind.data.stats().memories == 0:
        mind.remember_many([item(row) for row in rows], space=SPACE)
    mind.settle()
    return mind, find_sources(mind)


def find_sources(mind: reverie.Mind) -> dict[str, str]:
    """The ids of memories by what they were made of; without what the mind made of them by itself,
    as the reasons that they give.
    """
    found = mind.browse(space=SPACE, limit=1_000_000)
    return {memory.details["source"]: memory.id for memory in found if "source" in memory.details}


def item(row: Row) -> dict[str, object]:
    """A published turn as `remember_many` takes it."""
    return {
        "text": row.text,
        "at": None if np.isnan(row.at) else row.at,
        "session": row.session,
        "speaker": row.speaker,
        "kind": "observation",
        "details": {"source": row.id},
    }


def model(cache: Path) -> Embedder:
    """The real embedder, its files kept in the cache."""
    mind = reverie.open(settings=Settings(home=cache), embedder=None)
    assert mind.embedder is not None
    mind.store.close()
    return mind.embedder


def remembering(cache: Path) -> Embedder:
    """The real embedder, its vectors kept from run to run."""
    return CachedInFile(model(cache), cache / "bench" / "vectors.db")


class CachedInFile(CachedEmbedder):
    """Vectors of texts and questions outlive the run: only the first one is slow."""

    def __init__(self, inner: Embedder, path: Path) -> None:
        super().__init__(inner, _Table(path))


class _Table(dict[str, bytes]):
    """A mapping in a small SQLite file."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("create table if not exists vector (key text primary key, vec blob)")
        self.update(self._db.execute("select key, vec from vector"))

    def __setitem__(self, key: str, value: bytes) -> None:
        super().__setitem__(key, value)
        self._db.execute("insert or ignore into vector values (?, ?)", (key, value))
