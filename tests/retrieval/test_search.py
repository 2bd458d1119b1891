# mypy: no-check-untyped-defs
"""Search over a real store: filters, duplicates, other spaces, other threads and a deadline hide no
result.
"""

import sys
from threading import Event
from time import process_time
from types import SimpleNamespace

import numpy as np
import pytest

import reverie
from reverie.core.config import Settings
from reverie.core.model import Add, visible_spaces
from reverie.embedding.toy import ToyEmbedder
from reverie.retrieval import search_memories
from reverie.retrieval.hybrid_search import FUSIONS
from reverie.retrieval.search_query import SearchQuery
from reverie.retrieval.trigger_search import match_triggers
from reverie.storage import OPENERS, open_store
from reverie.storage.candidates import CandidateRequest
from reverie.testing import NOON, SPACE, make_event, make_memory
from reverie.text.tokenization import fingerprint_text
from tests.support.helpers import run_in_threads

MODEL = "model/1"
URLS = {
    "file": lambda folder: f"sqlite:///{folder / 'store.db'}",
    "memory": lambda _: "sqlite://:memory:",
}


@pytest.fixture(params=URLS)
def store(request, tmp_path):
    store = open_store(URLS[request.param](tmp_path))
    yield store
    store.close()


def vector(seed):
    row = np.random.default_rng(seed).normal(size=16).astype(np.float32)
    return row / np.linalg.norm(row)


def keep(store, *memories):
    """Memories with vectors: all point about the same way, the last the least."""
    store.apply([Add(memory=memory) for memory in memories], make_event())
    base = vector(0)
    rows = {
        m.id: base + np.float32(0.01 * n / len(memories)) * vector(n + 1)
        for n, m in enumerate(memories)
    }
    store.put_vectors(
        MODEL,
        {id: row / np.linalg.norm(row) for id, row in rows.items()},
        {m.id: fingerprint_text(m.text) for m in memories},
    )
    return memories


def ask(store, text, mode="auto", **fields):
    values = {
        "text": text,
        "spaces": visible_spaces(SPACE),
        "now": NOON,
        "vector": vector(0),
        "model": MODEL,
        "mode": mode,
    }
    return [hit.memory for hit in search_memories(store, SearchQuery(**{**values, **fields}))]


MANY = 250


@pytest.mark.parametrize("mode", ["auto", "words"])
@pytest.mark.parametrize("case", ["kind", "tag", "expired", "equal", "excluded", "session"])
def test_filtered_memories_hide_no_result(store, mode, case):
    """Filters, expiry, equal texts and echoes act before the best are chosen, or more are looked
    for.
    """
    bad, good, asked = {
        "kind": ({"kind": "fact"}, {"kind": "preference"}, {"kinds": ("preference",)}),
        "tag": ({"tags": ("other",)}, {"tags": ("wanted", "also")}, {"tags": ("also", "wanted")}),
        "expired": ({"expires_at": NOON - 1}, {}, {}),
        "equal": ({}, {}, {"limit": 5}),
        "excluded": ({}, {}, {}),
        "session": ({"session": "now"}, {"session": "then"}, {"not_session": "now"}),
    }[case]
    crowd = [
        make_memory("the heron deploy" + ("" if case == "equal" else f" {n}"), **bad)
        for n in range(MANY)
    ]
    one = make_memory(
        "the heron deploy of quite another kind, which is told at rather more length", **good
    )
    keep(store, *crowd, one)
    if case == "excluded":
        asked = {"exclude": frozenset(m.id for m in crowd)}
    found = ask(store, "heron deploy", mode, **asked)

    assert one in found
    assert len(found) == (2 if case == "equal" else 1)


@pytest.mark.parametrize("mode", ["auto", "dense", "words"])
def test_as_many_as_asked(store, mode):
    """A limit beyond the usual number of candidates is kept."""
    keep(store, *(make_memory(f"heron {n}") for n in range(400)))
    assert len(ask(store, "heron", mode, limit=300)) == 300


@pytest.mark.parametrize("mode", ["auto", "words"])
def test_words_of_other_spaces_do_not_decide(store, mode):
    """A word that is common elsewhere and rare here still finds, whatever else is asked."""
    big = [make_memory(f"deploy {n}", space="me/big") for n in range(7_000)]
    store.apply([Add(memory=m) for m in [*big, make_memory("heron", space="me/big")]], make_event())
    small = keep(
        store,
        make_memory("we deploy on fridays", space="me/small"),
        make_memory("tea at four", space="me/small"),
    )
    model = {"vector": None} if mode == "words" else {}

    for question in ("deploy", "heron deploy"):
        assert ask(store, question, mode, spaces=("me/small",), **model)[0] == small[0]
    pool = store.candidates(CandidateRequest(MODEL, vector(0), ("me/small",), ("heron", "deploy")))
    assert dict(zip(pool.ids, pool.words > 0, strict=True)) == {
        small[0].id: True,
        small[1].id: False,
    }


def test_reading_while_another_thread_writes(store):
    """A reader sees one moment, however fast the store grows."""
    keep(store, *(make_memory(f"heron {n}", session="s") for n in range(50)))
    trouble, looks, done = [], [], Event()

    def write():
        n = 0
        while n < 200 or (len(looks) < 20 and not trouble):
            n += 1
            keep(store, make_memory(f"heron again {n}", session="s"))
        done.set()

    def read():
        while not done.is_set() and not trouble:
            try:
                looks.append(ask(store, "heron again"))
                assert looks[-1]
            except Exception as err:
                trouble.append(err)

    run_in_threads(write, read, read)
    assert trouble == []


def test_triggers_keep_the_deadline(store):
    """Thousands of patterns do not hold up a turn that has fifteen milliseconds: it takes a part of
    what it takes with all the time in the world.
    """
    globs = [f"*{n}a?b{m}*" for n in range(30) for m in range(10)]
    store.apply(
        [
            Add(memory=make_memory(f"rule {n}", triggers=tuple(globs[n % 290 : n % 290 + 10])))
            for n in range(3_000)
        ],
        make_event(),
    )
    text = "heron " * 3_000
    ask(store, "heron", mode="words", within=0.001)

    def seconds(within):
        start = process_time()  # On a busy machine others take their part of the time.
        ask(store, text, mode="words", within=within)
        return process_time() - start

    whole = seconds(600.0)
    assert min(seconds(0.015) for _ in range(3)) < whole / 4
    assert match_triggers([make_memory("x", triggers=("heron",))], "heron", end=0.0) == []


@pytest.mark.proves("X48")
def test_store_and_ranking_can_be_exchanged(monkeypatch, tmp_path):
    """A store is one row and what opens it, a way of ranking one row and a function; verbs know
    neither.
    """
    asked = []

    class Elsewhere:
        """Somebody else's store: all that it does is what the protocol says."""

        def __init__(self, url):
            self.inner = open_store(f"sqlite://{url.partition('://')[2]}")

        def __getattr__(self, name):
            asked.append(name)
            return getattr(self.inner, name)

    monkeypatch.setitem(sys.modules, "reverie.storage.elsewhere", SimpleNamespace(open=Elsewhere))
    monkeypatch.setitem(OPENERS, "elsewhere", "elsewhere")
    monkeypatch.setitem(FUSIONS, "rrf", lambda _query, pool: (pool.length / 100).astype(np.float32))
    with reverie.open(
        "elsewhere://:memory:", settings=Settings(home=tmp_path), embedder=ToyEmbedder()
    ) as mind:
        short, long = (
            mind.remember("A heron.", space=SPACE),
            mind.remember("A heron, " + "long " * 9, space=SPACE),
        )
        mind.settle()
        assert mind.recall("heron", space=SPACE, mode="words")[0].memory.id == short.id
        assert mind.recall("heron", space=SPACE, mode="rrf")[0].memory.id == long.id
    assert "apply" in asked and "search_words" in asked
