# mypy: no-check-untyped-defs
"""Search on PostgreSQL gives what search on SQLite gives: the same candidates with the same features.

Real databases of both kinds, filled with the same random memories.
"""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest

from reverie.core.kinds import EXPLICIT_KINDS
from reverie.core.model import Add, Filter, Memory, Retire, Revise
from reverie.retrieval.hybrid_search import find_identifiers
from reverie.storage import open_store
from reverie.storage.candidates import CandidateRequest, NeighbourRequest
from reverie.storage.postgres import (
    PostgresDatabase,
    candidate_pool,
    space_figures,
    vector_search,
)
from reverie.storage.postgres.space_figures import figure_cache
from reverie.storage.postgres.vector_search import (
    IndexedModel,
    ensure_vector_indexes,
    find_crowded_models,
)
from reverie.testing import make_event
from reverie.text.tokenization import fingerprint_text, tokenize_query

SPACES = ("demo/x", "demo", "platform")
MODEL, DIMS = "model/1%", 48
NUMBER = 420


def random_memories(count, seed=1):
    """Memories of three spaces with words, sessions, tags, kinds and ends of all sorts."""
    rng = random.Random(seed)
    words = [f"w{i}" for i in range(150)] + ["src/heron.py", "getUserName", "café", "x-ray"]
    return [
        Memory(
            id=f"mem_{i:06d}",
            text=" ".join(rng.choices(words[: rng.choice([10, 60, 154])], k=rng.randint(3, 20)))
            + rng.choice(["?", ".", f" E{i:04d}X"]),
            space=rng.choice(SPACES),
            kind=rng.choice(["fact", "observation", "excerpt", *EXPLICIT_KINDS[:1]]),
            tags=tuple(rng.sample(["a", "b", "c"], rng.randint(0, 2))),
            session=rng.choice(["", *[f"s{j}" for j in range(count // 15)]]),
            speaker=rng.choice(["", "Ann", "Bob"]),
            at=1000.0 + i,
            created_at=1000.0,
            updated_at=1000.0,
            expires_at=rng.choice([None, None, None, 500.0, 5000.0]),
        )
        for i in range(count)
    ]


def random_vectors(count, seed=1):
    """Vectors of unit length around a few topics."""
    rng = np.random.default_rng(seed)
    topics = rng.standard_normal((20, DIMS), np.float32)
    made = topics[rng.integers(0, 20, count)] + rng.standard_normal((count, DIMS), np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def fill_store(store, memories, vectors):
    """The memories, some of them retired, some revised, some without a vector."""
    store.apply([Add(memory) for memory in memories], make_event())
    store.apply([Retire(memory.id, at=2.0, why="x") for memory in memories[::11]], make_event())
    store.apply(
        [Revise(memory.id, {"text": "w1 w2 w3"}) for memory in memories[::17]], make_event()
    )
    kept = store.get([memory.id for place, memory in enumerate(memories) if place % 13])
    by_id = {memory.id: vector for memory, vector in zip(memories, vectors, strict=True)}
    store.put_vectors(
        MODEL,
        {memory.id: by_id[memory.id] for memory in kept},
        {memory.id: fingerprint_text(memory.text) for memory in kept},
    )


@pytest.fixture
def database(postgres_url):
    """Its searches are the server's: nothing is kept in memory."""
    with closing(PostgresDatabase(postgres_url, column_bytes=0)) as database:
        database.prepare()
        yield database


@pytest.fixture
def columns(postgres_url, stores):
    """The store on PostgreSQL as another process has it, which searches columns in memory."""
    with closing(PostgresDatabase(postgres_url)) as database:
        store = database.store("acme")
        store.candidates(CandidateRequest(model=MODEL, vector=stores[3][0], spaces=SPACES))
        yield store
        assert database.pool.columns.tenants() == {"acme"}


@pytest.fixture
def stores(database):
    """The same memories in SQLite and in PostgreSQL, where another tenant has some, too."""
    memories, vectors = random_memories(NUMBER), random_vectors(NUMBER)
    strangers = random_memories(40, seed=2)
    fill_store(database.store("other"), strangers, random_vectors(40, seed=2))
    with closing(open_store("sqlite://:memory:")) as sqlite:
        postgres = database.store("acme")
        for store in (sqlite, postgres):
            fill_store(store, memories, vectors)
        yield sqlite, postgres, memories, vectors


def random_request(rng, memories, vectors):
    """A question near some memory, with any filters."""
    place = rng.randrange(len(memories))
    text = " ".join(rng.sample(memories[place].text.split(), 3)) + f" getUserName E{place:04d}X"
    return CandidateRequest(
        model=MODEL,
        vector=vectors[place],
        spaces=SPACES,
        terms=tuple(tokenize_query(text)),
        identifiers=tuple(name.lower() for name in find_identifiers(text)),
        each=rng.choice([10, 100]),
        now=1000.0,
        kinds=rng.choice([(), ("fact", "excerpt")]),
        without=rng.choice([(), EXPLICIT_KINDS]),
        tags=rng.choice([(), (), ("a",), ("a", "b")]),
        before=rng.choice([None, 1000.0 + len(memories) / 2]),
        not_session=rng.choice(["", "s1", "nobody's"]),
        session_in=rng.choice([(), ("demo",)]),
    )


def assert_same_pools(one, other):
    """The same candidates but for equal scores at the end of a channel, with what goes with them;
    cosines and BM25 as near as halves and rounding allow.
    """
    assert len(set(one.ids) ^ set(other.ids)) <= max(2, len(one.ids) // 20)
    where = {id: place for place, id in enumerate(other.ids)}
    shared = [place for place, id in enumerate(one.ids) if id in where]
    rows = [where[one.ids[place]] for place in shared]
    for name in ("dense", "near_dense"):
        np.testing.assert_allclose(
            getattr(one, name)[shared], getattr(other, name)[rows], atol=1e-3, err_msg=name
        )
    for name in ("words", "near_words"):
        np.testing.assert_allclose(
            getattr(one, name)[shared], getattr(other, name)[rows], rtol=1e-4, err_msg=name
        )
    for name in ("at", "length", "asks", "asked", "named", "excerpt"):
        np.testing.assert_array_equal(
            getattr(one, name)[shared], getattr(other, name)[rows], err_msg=name
        )
    speakers = [[pool.names[code] for code in pool.speaker] for pool in (one, other)]
    assert [speakers[0][place] for place in shared] == [speakers[1][row] for row in rows]
    # Codes of sessions are each store's own, but tell the same ones apart.
    pairs = set(zip(one.session[shared].tolist(), other.session[rows].tolist(), strict=True))
    assert len({code for code, _ in pairs}) == len({code for _, code in pairs}) == len(pairs)
    assert abs(one.sessions - other.sessions) <= 2
    assert (one.memories, one.typical) == (other.memories, other.typical)
    assert abs(one.mean - other.mean) < 1e-3
    assert abs(one.spread - other.spread) < 1e-3


def test_both_backends_propose_the_same_candidates(stores, columns):
    """Whatever is asked and filtered, the pools agree in ids and in all features; whether the
    server searches, or this process.
    """
    sqlite, postgres, memories, vectors = stores
    rng = random.Random(3)
    for _ in range(25):
        request = random_request(rng, memories, vectors)
        expected = sqlite.candidates(request)
        assert_same_pools(expected, postgres.candidates(request))
        assert_same_pools(expected, columns.candidates(request))


def test_candidates_follow_what_is_written(stores, columns):
    """What was counted before is brought up to date with what is added, revised and purged."""
    sqlite, postgres, memories, vectors = stores
    request = random_request(random.Random(4), memories, vectors)
    postgres.candidates(request), columns.candidates(request)
    more = [
        Memory(
            id=f"mem_9{i:05d}",
            text=f"w1 w2 w3 newcomer {i}",
            space="demo",
            at=1.0,
            created_at=1.0,
            updated_at=1.0,
        )
        for i in range(60)
    ]
    for store in (sqlite, postgres):
        store.apply([Add(memory) for memory in more], make_event())
        store.put_vectors(
            MODEL,
            dict(zip([memory.id for memory in more], vectors, strict=False)),
            {memory.id: fingerprint_text(memory.text) for memory in more},
        )
    assert_same_pools(sqlite.candidates(request), postgres.candidates(request))
    assert_same_pools(sqlite.candidates(request), columns.candidates(request))


def test_what_one_reader_may_read_is_not_taken_for_granted_of_another(stores, database):
    """Spaces that a pattern was seen to match are kept for that pattern alone."""
    _, _, memories, vectors = stores
    request = CandidateRequest(
        model=MODEL, vector=vectors[1], spaces=SPACES, terms=("w1",), each=50, now=1000.0
    )
    spaces = {memory.id: memory.space for memory in memories}
    patterns = {
        ".": set(SPACES),
        "^platform(/|$)": {"platform"},
        "^demo/x(/|$)": {"demo/x"},
        "": set(),
    }
    for pattern, readable in [*patterns.items(), *patterns.items()]:
        reader = database.store("acme", readable=pattern)
        for _ in range(2):  # the second time, the spaces are known to match
            pool = reader.candidates(request)
            assert {spaces[id] for id in (pool.ids if pool else ())} == readable
            assert {memory.space for memory in reader.get(list(spaces))} == readable


def test_indexes_are_made_of_models_with_many_vectors(stores, database, monkeypatch):
    """By who asks for it, and by a repair; nothing is done twice, or where few are compared."""
    _, postgres, _, _ = stores
    assert database.ensure_indexes("acme") == []
    monkeypatch.setattr(vector_search, "MAX_EXACT_VECTORS", 20)
    assert database.ensure_indexes("acme") == [IndexedModel(MODEL, created=True)]
    assert database.ensure_indexes("acme") == []
    with closing(database.pool.connect()) as owner:
        owner.execute(f"drop index reverie.{vector_search.vector_index_name(MODEL, DIMS)}")
    (problem,) = [one for one in postgres.verify(repair=True) if one.what == "index"]
    assert problem.repaired
    assert database.ensure_indexes("acme") == []


def test_who_does_not_own_the_tables_is_told_what_index_is_missing(stores, database, monkeypatch):
    """The application's role can make none."""
    monkeypatch.setattr(vector_search, "MAX_EXACT_VECTORS", 20)
    monkeypatch.setattr(vector_search, "MAY_CREATE", "select false")
    assert database.ensure_indexes("acme") == [IndexedModel(MODEL, created=False)]


def test_the_index_proposes_what_comparing_all_does(stores, database, monkeypatch):
    """With an HNSW index of the model, candidates and neighbours are the same."""
    _, postgres, memories, vectors = stores
    rng = random.Random(5)
    requests = [random_request(rng, memories, vectors) for _ in range(10)]
    before = [postgres.candidates(request) for request in requests]
    asked = NeighbourRequest(
        MODEL, (memories[1].id, memories[2].id), vectors[1:3], SPACES, floor=0.2, limit=10
    )
    near = postgres.nearest(asked)
    monkeypatch.setattr(vector_search, "MAX_EXACT_VECTORS", 20)
    with closing(database.pool.connect()) as owner:
        assert ensure_vector_indexes(owner, MODEL, DIMS)
        assert not ensure_vector_indexes(owner, MODEL, DIMS)
    with postgres.connections.reading() as db:
        assert find_crowded_models(db) == [(MODEL, DIMS)]
    for request, pool in zip(requests, before, strict=True):
        assert_same_pools(pool, postgres.candidates(request))
    for id, neighbours in postgres.nearest(asked).items():
        assert [one.id for one in neighbours] == [one.id for one in near[id]]


@pytest.mark.parametrize("count", [3, 30])
@pytest.mark.parametrize(("retired", "older"), [(False, False), (False, True), (True, False)])
def test_both_backends_find_the_same_neighbours(stores, count, retired, older):
    """For a few memories and for many, among active ones, retired ones and older ones."""
    sqlite, postgres, memories, vectors = stores
    # Those without a vector in the store may be asked about, too.
    asked = NeighbourRequest(
        model=MODEL,
        ids=tuple(memory.id for memory in memories[50 : 50 + count]),
        vectors=vectors[50 : 50 + count],
        spaces=SPACES,
        floor=0.3,
        limit=7,
        retired=retired,
        older=older,
    )
    expected, found = sqlite.nearest(asked), postgres.nearest(asked)
    assert expected.keys() == found.keys()
    assert any(expected.values())
    for id, neighbours in expected.items():
        assert {one.id for one in neighbours} == {one.id for one in found[id]}
        cosines = [one.cosine for one in found[id]]
        assert cosines == sorted(cosines, reverse=True)
        np.testing.assert_allclose([one.cosine for one in neighbours], cosines, atol=1e-3)


def test_words_find_the_same_memories(stores):
    """A search by words finds what FTS5 finds, whatever the words, and filters in the same way."""
    sqlite, postgres, _, _ = stores
    where = Filter(kinds=("fact",), tags=("a",))
    for question in ("w3 w77", "src/heron.py", "E0009X", "x-ray café", "nothing of the kind", "w1"):
        terms = tokenize_query(question)
        for options in ({}, {"where": where, "now": 1000.0}):
            expected = sqlite.search_words(terms, SPACES, 1000, **options)
            found = postgres.search_words(terms, SPACES, 1000, **options)
            assert {id for id, _ in expected} == {id for id, _ in found}, question
            scores = [score for _, score in found]
            assert scores == sorted(scores, reverse=True)


def test_a_search_by_words_ends_in_time(stores):
    """A deadline that has passed gives what was found, perhaps nothing; the store goes on."""
    _, postgres, _, _ = stores
    assert len(postgres.search_words(["w1"], SPACES, 5, within=1e-9)) <= 5
    with postgres.transaction():
        postgres.search_words(["w1"], SPACES, 5, within=1e-9)
        postgres.append([make_event()])
    assert postgres.search_words(["w1"], SPACES, 5, within=60.0)


def test_nothing_of_other_readers_spaces_is_counted(stores, database):
    """Who may not read a space gets neither its memories nor a figure of it."""
    _, postgres, memories, vectors = stores
    request = random_request(random.Random(6), memories, vectors)
    everything = postgres.candidates(request)
    reader = database.store("acme", readable="^demo(/|$)")
    pool = reader.candidates(request)
    visible = sum(memory.space.startswith("demo") for memory in memories)
    assert pool.memories == visible < everything.memories
    spaces = {memory.id: memory.space for memory in memories}
    assert {spaces[id] for id in pool.ids} <= {"demo", "demo/x"}
    assert database.store("acme", readable="").candidates(request) is None
    assert database.store("acme", readable="").search_words(["w1"], SPACES, 5) == []


def test_speakers_are_those_who_said_something_there(stores):
    """To the letter, in the spaces asked."""
    _, postgres, _, _ = stores
    assert postgres.speakers(["Ann", "ann", "Nobody", ""], SPACES) == {"Ann"}
    assert postgres.speakers(["Ann"], ("elsewhere",)) == set()


def test_figures_of_a_large_space_are_estimated_from_an_even_sample(
    postgres_url, database, monkeypatch
):
    """The usual cosine and the median length come from a few memories, and are about right."""
    memories = [
        memory._replace(space="demo", expires_at=None) for memory in random_memories(NUMBER)
    ]
    vectors = random_vectors(NUMBER)
    fill_store(database.store("acme"), memories, vectors)
    request = CandidateRequest(model=MODEL, vector=vectors[0], spaces=("demo",), terms=("w1",))
    monkeypatch.setattr(candidate_pool, "SAMPLE_SIZE", 100)
    figure_cache(database.pool).forget("acme", ["demo"])
    exact = database.store("acme").candidates(request)
    monkeypatch.setattr(space_figures, "SAMPLED_LENGTHS", 100)
    for module in (candidate_pool, space_figures):
        monkeypatch.setattr(module, "LARGE_SPACE", 0)

    with closing(PostgresDatabase(postgres_url, column_bytes=0)) as other:
        estimated = other.store("acme").candidates(request)

    assert estimated.ids == exact.ids
    assert estimated.memories == exact.memories == NUMBER
    assert abs(estimated.mean - exact.mean) < 0.06
    assert abs(estimated.spread - exact.spread) < 0.06
    assert abs(estimated.typical / exact.typical - 1) < 0.2
    assert 0 < estimated.spread < 0.5


def test_many_first_searches_of_a_space_count_it_once(postgres_url, database, monkeypatch):
    """Searches that begin together wait for the one that counts the space."""
    memories, vectors = random_memories(60), random_vectors(60)
    fill_store(database.store("acme"), memories, vectors)
    request = CandidateRequest(model=MODEL, vector=vectors[0], spaces=SPACES, terms=("w1",))
    counted = []
    count_spaces = candidate_pool.count_spaces

    def count_slowly(db, cache, spaces):
        counted.append(spaces)
        db.execute("select pg_sleep(0.3)")
        return count_spaces(db, cache, spaces)

    begun_at = []
    values_of = candidate_pool.growth_values

    def note_values(known):
        values = values_of(known)
        begun_at.append(max(values["lasts"]))
        return values

    monkeypatch.setattr(candidate_pool, "count_spaces", count_slowly)
    monkeypatch.setattr(candidate_pool, "growth_values", note_values)
    with closing(PostgresDatabase(postgres_url, column_bytes=0)) as other:
        begin = threading.Barrier(4)

        def search():
            begin.wait()
            return other.store("acme").candidates(request).ids

        with ThreadPoolExecutor(4) as threads:
            found = [done.result() for done in [threads.submit(search) for _ in range(4)]]

    assert len(counted) == 1
    # Nobody counts from the beginning once it was counted.
    assert len(begun_at) == 4 and all(begun_at)
    assert all(ids == found[0] for ids in found)
