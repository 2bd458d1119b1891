"""Packed vectors of passages: the same answers as an exact scan, whatever happens to the file."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reverie.storage.indexed_transcripts import IndexedConversation, TranscriptPassage
from reverie.storage.sqlite import (
    passage_packing,
    passage_vectors,
    transcript_index,
    vector_snapshot,
)
from reverie.storage.sqlite.transcript_index import SqliteTranscriptIndex
from reverie.storage.sqlite.vector_snapshot import write_snapshot

MODEL, DIMS = "test/1", 96
SPACES = ("me/one", "me/two")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(passage_packing, "LEAST_PACKED", 10)
    monkeypatch.setattr(passage_packing, "LEAST_CHANGED", 10)
    monkeypatch.setattr(passage_vectors, "BLOCK_ROWS", 16)


@pytest.fixture
def index(tmp_path):
    made = SqliteTranscriptIndex(str(tmp_path / "t.db"))
    yield made
    made.close()


def unit_rows(count, seed=1):
    """Vectors that lose nothing in one byte a number."""
    made = np.random.default_rng(seed).standard_normal((count, DIMS)).astype(np.float32)
    made = np.rint(made * (127.0 / np.abs(made).max(axis=1, keepdims=True)))
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def add(index, first, rows):
    """One passage a conversation, in the two spaces by turns, with these vectors; their numbers."""
    said = [
        IndexedConversation(
            SPACES[i % 2],
            f"s{first + i}",
            first + i + 1,
            [TranscriptPassage(0, 0, "user", 1.0 + i, f"the heron number {first + i} flies")],
        )
        for i in range(len(rows))
    ]
    index.replace(said, (first, first + len(rows)), "g", is_end=False)
    nums = [num for num, _ in index.unembedded_texts(10_000, MODEL)]
    vectors = dict(zip(sorted(nums), rows, strict=True))
    index.put_vectors(MODEL, vectors)
    return vectors


def exact(vectors, query, limit, odd=None):
    """Numbers of the nearest by a scan; numbers of one space have one parity."""
    nums = [num for num in vectors if odd is None or num % 2 == odd]
    return sorted(nums, key=lambda num: -float(vectors[num] @ query))[:limit]


def found(index, query, spaces=SPACES, limit=10, model=MODEL):
    return [num for num, _ in index.nearest(model, query, spaces, limit)]


def snapshots(index):
    return passage_packing.list_snapshots(index.path)


def test_packed_vectors_answer_as_an_exact_scan_does(index):
    vectors = add(index, 0, unit_rows(100))
    query = unit_rows(1, seed=2)[0]
    before = index.nearest(MODEL, query, SPACES, 10)
    assert index.pack_vectors(MODEL)
    assert not index.pack_vectors(MODEL)
    assert index.nearest(MODEL, query, SPACES, 10) == before
    assert found(index, query) == exact(vectors, query, 10)
    assert found(index, query, ("me/one",)) == exact(vectors, query, 10, odd=1)
    some = index.vectors(MODEL, [3, 99, 1_000])
    assert set(some) == {3, 99}
    assert float(some[3] @ vectors[3]) > 0.999


def test_a_large_file_is_read_before_it_is_mapped_and_answers_the_same(index, monkeypatch):
    monkeypatch.setattr(vector_snapshot, "MAPPED_BYTES", 0)
    vectors = add(index, 0, unit_rows(100))
    query = unit_rows(1, seed=2)[0]
    before = index.nearest(MODEL, query, SPACES, 10)
    assert index.pack_vectors(MODEL)
    for _ in range(vector_snapshot.FEW_READS + 2):
        assert index.nearest(MODEL, query, SPACES, 10) == before
    assert set(index.vectors(MODEL, list(vectors))) == set(vectors)


def test_the_signs_choose_nearly_the_nearest_of_many(index, monkeypatch):
    monkeypatch.setattr(passage_vectors, "EXACT_ROWS", 200)
    monkeypatch.setattr(passage_vectors, "SHARED_ROWS", 500)
    rows = unit_rows(1_000)
    vectors = add(index, 0, rows)
    assert index.pack_vectors(MODEL)
    agreed = [
        len(set(found(index, query)) & set(exact(vectors, query, 10))) / 10
        for query in rows[:20] + 0.5 * unit_rows(20, seed=3)
    ]
    assert np.mean(agreed) > 0.8


def test_what_came_and_went_since_counts_at_once_and_is_packed_when_it_is_much(index):
    vectors = add(index, 0, unit_rows(50))
    assert index.pack_vectors(MODEL)
    vectors |= add(index, 50, unit_rows(8, seed=4))
    index.drop(SPACES[0], "s0")
    del vectors[1]
    for num, row in vectors.items():
        assert found(index, row, limit=3) == exact(vectors, row, 3), num
    assert not index.pack_vectors(MODEL)
    vectors |= add(index, 58, unit_rows(8, seed=5))
    first = snapshots(index)
    assert index.pack_vectors(MODEL)
    assert len(snapshots(index)) == 1 and snapshots(index) != first
    assert found(index, vectors[60], limit=3) == exact(vectors, vectors[60], 3)
    assert not index.vectors(MODEL, [1])


def test_erasure_leaves_no_byte_of_a_vector_and_the_next_packing_mends_it(index):
    vectors = add(index, 0, unit_rows(60))
    assert index.pack_vectors(MODEL)
    packed = passage_vectors.to_bytes(vectors[7])
    folder = Path(index.path).parent
    assert any(packed in file.read_bytes() for file in snapshots(index))
    index.drop(SPACES[0], "s6")
    assert index.scrub()
    assert not any(packed in file.read_bytes() for file in folder.iterdir())
    del vectors[7]
    query = unit_rows(1, seed=6)[0]
    assert found(index, query) == exact(vectors, query, 10)
    assert index.pack_vectors(MODEL)
    assert not any(packed in file.read_bytes() for file in folder.iterdir())
    assert found(index, query) == exact(vectors, query, 10)


def test_an_index_that_is_emptied_has_no_packed_vectors(index):
    add(index, 0, unit_rows(40))
    assert index.pack_vectors(MODEL)
    index.clear()
    assert not snapshots(index)
    assert not found(index, unit_rows(1)[0])


def test_an_erasure_during_packing_wins(index, monkeypatch):
    add(index, 0, unit_rows(40))
    other = SqliteTranscriptIndex(index.path)
    write = write_snapshot

    def erase_meanwhile(model, blocks):
        yield from write(model, blocks)
        other.drop(SPACES[0], "s0")
        other.scrub()

    monkeypatch.setattr(passage_packing, "write_snapshot", erase_meanwhile)
    assert not index.pack_vectors(MODEL)
    other.close()
    assert not snapshots(index)


def test_another_process_sees_what_was_packed_and_what_came_since(index):
    vectors = add(index, 0, unit_rows(60))
    reader = SqliteTranscriptIndex(index.path)
    query = unit_rows(1, seed=7)[0]
    assert found(reader, query) == exact(vectors, query, 10)
    assert index.pack_vectors(MODEL)
    assert found(reader, query) == exact(vectors, query, 10)
    vectors |= add(index, 60, unit_rows(5, seed=8))
    assert found(reader, vectors[63], limit=2) == exact(vectors, vectors[63], 2)
    reader.close()
    code = """
import sys, numpy as np
from reverie.storage.sqlite.transcript_index import SqliteTranscriptIndex
query = np.array(sys.argv[3].split(), np.float32)
found = SqliteTranscriptIndex(sys.argv[1]).nearest(sys.argv[2], query, ("me/one", "me/two"), 10)
print(*(num for num, _ in found))
"""
    call = [sys.executable, "-c", code, index.path, MODEL, " ".join(map(str, query.tolist()))]
    answer = subprocess.check_output(call, text=True, timeout=120)
    assert list(map(int, answer.split())) == exact(vectors, query, 10)


@pytest.mark.parametrize("damage", ["missing", "empty", "cut", "flipped", "other model"])
def test_a_damaged_file_is_only_slower_and_is_written_anew(index, damage):
    vectors = add(index, 0, unit_rows(60))
    assert index.pack_vectors(MODEL)
    (file,) = snapshots(index)
    index.close()
    data = file.read_bytes()
    file.unlink()
    changed = {
        "empty": b"",
        "cut": data[:-100],
        "flipped": data[:-70] + bytes([data[-70] ^ 1]) + data[-69:],
        "other model": data.replace(b"test/1", b"test/2"),
    }
    if damage in changed:
        file.write_bytes(changed[damage])
    query = unit_rows(1, seed=9)[0]
    assert found(index, query) == exact(vectors, query, 10)
    assert index.pack_vectors(MODEL)
    assert len(snapshots(index)) == 1
    assert found(index, query) == exact(vectors, query, 10)


def test_another_model_has_all_passages_wait_and_none_of_the_old_vectors_count(index):
    add(index, 0, unit_rows(30))
    assert index.pack_vectors(MODEL)
    assert not index.unembedded_texts(100, MODEL)
    assert len(index.unembedded_texts(100, "test/2")) == 30
    new = {30: np.ones(DIMS + 32, np.float32) / np.sqrt(DIMS + 32)}
    index.put_vectors("test/2", new)
    assert found(index, new[30], model="test/2") == [30]
    assert len(index.unembedded_texts(100, "test/2")) == 29
    assert index.count(None, "test/2").waiting == 29
    assert not index.pack_vectors(MODEL)
    assert 30 not in found(index, unit_rows(1)[0], limit=100)


def test_plain_postings_rank_as_the_word_index_does(index, monkeypatch):
    rng = np.random.default_rng(1)
    words = [f"word{n}" for n in range(80)]
    said = [
        IndexedConversation(
            SPACES[i % 2],
            f"s{i}",
            i + 1,
            [
                TranscriptPassage(
                    0,
                    0,
                    "user",
                    1.0,
                    " ".join(rng.choice(words, 6 + i % 9, replace=False)),
                    " ".join(rng.choice(words, 3, replace=False)),
                )
            ],
        )
        for i in range(300)
    ]
    index.replace(said, (0, 300), "g", is_end=False)
    asked = ["word3", "word14", "word15"]
    for spaces in (SPACES, ("me/two",)):
        by_index = index.search_words(asked, spaces, 20)
        with monkeypatch.context() as patch:
            patch.setattr(transcript_index, "MAX_RANKED_ROWS", 10)
            plain = index.search_words(asked, spaces, 20)
        scores = [score for _, score in by_index]
        assert [score for _, score in plain] == pytest.approx(scores, rel=1e-4)
