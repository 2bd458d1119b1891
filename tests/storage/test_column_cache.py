# mypy: no-check-untyped-defs
"""SQLite's columns in memory: snapshots that stay, and the nearest found block by block."""

import numpy as np
import pytest

from reverie.core.model import Retire
from reverie.storage import open_store
from reverie.storage.column_cache import Shard
from reverie.storage.sqlite.nearest_rows import find_nearest_rows
from reverie.testing import NOON, SPACE, make_event
from tests.storage.test_store_contract import MODEL, embed, keep


@pytest.fixture
def store():
    store = open_store("sqlite://:memory:")
    yield store
    store.close()


def test_a_snapshot_does_not_grow(store):
    """What was handed out stays as it was, also the links between turns."""
    keep(store, "one", session="s")
    before = store.corpus(MODEL, (SPACE,)).shards[0]
    keep(store, "two", session="s")
    after = store.corpus(MODEL, (SPACE,)).shards[0]

    assert (before.n, after.n) == (1, 2)
    assert before.beside(np.array([0]), 1).tolist() == [-1]
    assert after.beside(np.array([0]), 1).tolist() == [1]


@pytest.mark.proves("E38")
def test_no_text_is_in_the_columns(store):
    """What is held in memory for searching has no texts in it."""
    embed(store, keep(store, "heronry", title="headline"), 1)
    shard = store.corpus(MODEL, (SPACE,)).shards[0]

    assert not any(word in repr(vars(shard)) for word in ("heronry", "headline"))


def test_tagged_memories_are_numbered_as_in_the_columns(store):
    """All tags, of memories that count, in these spaces."""
    both, gone = keep(store, "a", "b", tags=("x", "y"))
    keep(store, "c", tags=("x",)), keep(store, "d", tags=("x", "y"), space="me/other")
    store.apply([Retire(id=gone.id, at=NOON)], make_event("forget"))
    shard = store.corpus(MODEL, (SPACE,)).shards[0]
    numbers = store.tagged_numbers(("y", "x"), (SPACE,))

    assert [shard.ids[shard.place[number]] for number in numbers] == [both.id]


@pytest.mark.parametrize("floor", [-1.0, 0.5])
@pytest.mark.parametrize("older", [True, False])
def test_the_nearest_are_found_block_by_block(monkeypatch, older, floor):
    """Comparing block by block finds the same as comparing all with all; excluded and later rows
    are left out.
    """
    monkeypatch.setattr("reverie.storage.sqlite.nearest_rows.BLOCK_ROWS", 7)
    rng = np.random.default_rng(1)
    shard = Shard(8)
    for n in range(40):
        shard.extend([f"m{n}"], num=[n + 1], length=[1], session=[0], expires=[np.inf], counts=[1])
    vectors = rng.standard_normal((40, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    shard.put(range(40), vectors)
    allowed = rng.random(40) < 0.8
    own = np.array([39, 12, 0])
    rows, cosines = find_nearest_rows(
        shard, vectors[own], allowed, own, 4, floor=floor, older=older
    )
    for mine, found, likes in zip(own, rows, cosines, strict=True):
        others = [n for n in range(40) if allowed[n] and n != mine and (n < mine or not older)]
        best = sorted((float(vectors[mine] @ vectors[n]), n) for n in others)[-4:]
        assert {n for cosine, n in best if cosine >= floor} == {n for n in found.tolist() if n >= 0}
        assert all(like >= floor for n, like in zip(found, likes, strict=True) if n >= 0)
