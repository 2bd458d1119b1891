# mypy: no-check-untyped-defs
"""Searches from columns in memory: never more than the server would show, and never less.

Two processes, as two pools of connections, write to one tenant and search it, each with columns of
its own. A state machine compares what every reader is given with a model of dictionaries.
"""

import threading
from contextlib import closing
from itertools import count, pairwise

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from reverie.core.model import Add, Retire, Revise
from reverie.storage.candidates import CandidateRequest
from reverie.storage.column_cache import Shard
from reverie.storage.postgres import (
    PostgresDatabase,
    column_memory,
    column_search,
    question_postings,
)
from reverie.storage.postgres.column_memory import ColumnKey, ColumnMemory, KeptSpace
from reverie.storage.postgres.connection import TenantConnection
from reverie.testing import NOON, make_event, make_memory
from reverie.text.tokenization import fingerprint_text
from tests.support.postgres import fresh_database

MODEL, DIMS = "model/1", 8
KEY = ColumnKey("acme", MODEL, DIMS)
SPACES = ("demo", "demo/x", "team")
READERS = {".": set(SPACES), "^demo(/|$)": {"demo", "demo/x"}, "^team$": {"team"}, "": set()}
IDS = tuple(f"mem_{number:02}" for number in range(8))
QUESTION = np.eye(1, DIMS, dtype=np.float32)[0]


@pytest.fixture(scope="module")
def url(postgres_server):
    with fresh_database(postgres_server) as url:
        with closing(PostgresDatabase(url)) as database:
            database.prepare()
        yield url


@pytest.fixture(scope="module")
def processes(url):
    """Two processes of one server."""
    databases = [PostgresDatabase(url, max_connections=3) for _ in range(2)]
    yield databases
    for database in databases:
        database.close()


@pytest.fixture
def database(url):
    """A process that has searched nothing yet."""
    with closing(PostgresDatabase(url, max_connections=3)) as database:
        yield database


tenants = (f"columns-{number}" for number in count())


def request(*spaces, **more):
    """A question that every memory with a vector answers, and everything that says heron."""
    given = {"terms": ("heron",), "each": 1_000, "now": NOON}
    return CandidateRequest(model=MODEL, vector=QUESTION, spaces=spaces or SPACES, **(given | more))


def put_vector(store, id, text, vector):
    return store.put_vectors(MODEL, {id: vector}, {id: fingerprint_text(text)})


def keep(store, id, text="heron", space="demo", vector=QUESTION, **more):
    """A memory with a vector."""
    memory = make_memory(text, id=id, **more)._replace(space=space)
    store.apply([Add(memory)], make_event())
    put_vector(store, id, text, vector)
    return memory


class ColumnMachine(RuleBasedStateMachine):
    """After each step every reader is shown, by both processes, what is there and theirs."""

    def __init__(self, processes):
        super().__init__()
        self.processes = processes
        self.tenant = next(tenants)
        self.memories = {}
        self.texts = count(1)

    def store(self, process, readable="."):
        return self.processes[process].store(self.tenant, readable=readable)

    @initialize()
    def begin(self):
        for id, space in zip(IDS, SPACES, strict=False):
            self.add(0, id, space)
            self.embed(0, id, 1)

    @rule(process=st.integers(0, 1), id=st.sampled_from(IDS), space=st.sampled_from(SPACES))
    def add(self, process, id, space):
        if id in self.memories:
            return
        text = f"heron {next(self.texts)}"
        memory = make_memory(text, id=id)._replace(space=space, speaker=f"speaker of {id}")
        self.store(process).apply([Add(memory)], make_event())
        self.memories[id] = {"text": text, "space": space, "active": True, "vector": None}

    @rule(process=st.integers(0, 1), id=st.sampled_from(IDS), words=st.integers(1, 9))
    def revise(self, process, id, words):
        text = "heron " * words + str(next(self.texts))
        self.change(process, id, Revise(id, {"text": text}), text=text, vector=None)

    @rule(process=st.integers(0, 1), id=st.sampled_from(IDS))
    def retire(self, process, id):
        self.change(process, id, Retire(id, at=NOON, why="x"), active=False)

    @rule(process=st.integers(0, 1), id=st.sampled_from(IDS))
    def restore(self, process, id):
        self.change(process, id, Revise(id, {"retired_at": None}), active=True)

    @rule(process=st.integers(0, 1), id=st.sampled_from(IDS), space=st.sampled_from(SPACES))
    def move(self, process, id, space):
        self.change(process, id, Revise(id, {"space": space}), space=space)

    def change(self, process, id, change, **known):
        if id in self.memories:
            self.store(process).apply([change], make_event())
            self.memories[id].update(known)

    @rule(process=st.integers(0, 1), id=st.sampled_from(IDS), place=st.integers(0, DIMS - 1))
    def embed(self, process, id, place):
        """A first vector, or another one in its place."""
        if id in self.memories:
            vector = (QUESTION + np.eye(DIMS, dtype=np.float32)[place]) / 2
            put_vector(self.store(process), id, self.memories[id]["text"], vector)
            self.memories[id]["vector"] = vector

    @rule(process=st.integers(0, 1), id=st.sampled_from(IDS))
    def purge(self, process, id):
        if self.memories.pop(id, None) is None:
            return
        assert self.store(process).purge([id]) == 1
        assert self.tenant not in self.processes[process].pool.columns.tenants()

    @rule(process=st.integers(0, 1), id=st.sampled_from(IDS))
    def fail(self, process, id):
        """What is searched in a transaction that fails is seen there, and nowhere else."""
        if id in self.memories:
            return
        store = self.store(process)
        with pytest.raises(ZeroDivisionError), store.transaction():
            keep(store, id)
            assert id in store.candidates(request()).ids
            _ = 1 / 0

    @invariant()
    def everybody_is_shown_what_is_theirs(self):
        for readable, spaces in READERS.items():
            there = {id: one for id, one in self.memories.items() if one["space"] in spaces}
            expected = {
                id: (len(one["text"]), one["vector"], f"speaker of {id}")
                for id, one in there.items()
                if one["active"]
            }
            for process in (0, 1):
                pool = self.store(process, readable).candidates(request())
                if pool is None:
                    assert all(one["vector"] is None for one in there.values())
                    continue
                assert sorted(pool.ids) == sorted(expected)
                assert pool.memories == len(there)
                # Names of others are not among those that codes stand for.
                assert set(pool.names) == {"", *(said for _, _, said in expected.values())}
                self.compare(pool, expected)

    def compare(self, pool, expected):
        rows = zip(pool.ids, pool.length, pool.dense, pool.speaker, strict=True)
        for id, length, cosine, speaker in rows:
            characters, vector, said = expected[id]
            assert (length, pool.names[speaker]) == (characters, said)
            if vector is None:
                assert np.isnan(cosine)
            else:
                assert abs(cosine - vector @ QUESTION) < 1e-3


def test_columns_show_what_is_committed_and_nothing_else(processes):
    """Whatever two processes write, every reader finds just what they may read."""
    run_state_machine_as_test(
        lambda: ColumnMachine(processes), settings=settings(max_examples=5, stateful_step_count=12)
    )


def test_columns_that_are_read_in_steps_show_the_same(processes, monkeypatch):
    """Large spaces come into memory a few rows at a time, and what is written meanwhile is seen."""
    monkeypatch.setattr(column_search, "MAX_WHOLE_ROWS", 1)
    monkeypatch.setattr(column_search, "STEP_ROWS", 1)
    run_state_machine_as_test(
        lambda: ColumnMachine(processes), settings=settings(max_examples=5, stateful_step_count=12)
    )


def is_kept(database, tenant):
    return tenant in database.pool.columns.tenants()


def test_the_second_search_of_a_space_reads_its_columns(database):
    """Who asks once loads nothing; what is read is small."""
    store = database.store(next(tenants))
    for id in IDS:
        keep(store, id)
    store.candidates(request("demo"))
    assert not is_kept(database, store.tenant)

    found = [store.candidates(request("demo")) for _ in range(2)]

    assert is_kept(database, store.tenant)
    assert [sorted(pool.ids) for pool in found] == [list(IDS), list(IDS)]
    assert 0 < database.pool.columns.count_bytes() < 100_000


def test_no_text_is_in_the_columns(database):
    """What a server holds in memory for searching has no texts in it."""
    store = database.store(next(tenants))
    keep(store, IDS[0], "heronry", title="headline")
    for _ in range(2):
        store.candidates(request())
    with database.pool.columns.using(KEY._replace(tenant=store.tenant)) as columns:
        (kept,) = columns.spaces.values()
        held = repr((columns, vars(kept.shard)))

    assert IDS[0] in held
    assert not any(word in held for word in ("heronry", "headline"))


def test_a_purge_leaves_nothing_in_the_process_that_made_it(database):
    """Neither vectors nor names of what was purged stay in memory."""
    store = database.store(next(tenants))
    keep(store, IDS[0]), keep(store, IDS[1])
    for _ in range(2):
        store.candidates(request())
    assert is_kept(database, store.tenant)

    store.purge([IDS[0]])

    assert not is_kept(database, store.tenant)
    assert database.pool.columns.count_bytes() == 0
    assert store.candidates(request()).ids == [IDS[1]]


def test_a_purge_is_heard_of_by_other_processes(processes):
    """Who listens for events forgets what another process has purged, without a search."""
    purger, listener = processes
    tenant = next(tenants)
    keep(purger.store(tenant), IDS[0])
    listener.wait_for_events(0.0)
    for _ in range(2):
        listener.store(tenant).candidates(request())
    assert is_kept(listener, tenant)

    purger.store(tenant).purge([IDS[0]])
    for _ in range(5):  # that something was written may be told apart
        if is_kept(listener, tenant):
            assert listener.wait_for_events(10.0) <= {tenant}

    assert not is_kept(listener, tenant)


def test_no_name_of_others_is_told(database):
    """Columns know the speakers of the whole tenant; a reader is told those of their own spaces,
    and where nothing is left to find, none.
    """
    store = database.store(next(tenants))
    keep(store, IDS[0], space="team", speaker="Ann"), keep(store, IDS[1], speaker="Bob")
    for _ in range(2):
        assert set(store.candidates(request()).names) == {"", "Ann", "Bob"}
    store.apply([Retire(IDS[1], at=NOON, why="x")], make_event())

    reader = database.store(store.tenant, readable="^demo$")

    for _ in range(2):
        assert reader.candidates(request()).names == [""]


def test_other_tenants_and_models_have_columns_of_their_own(database):
    """The same space and id in two tenants, and a vector of another model, are not mixed up."""
    one, other = (database.store(next(tenants)) for _ in range(2))
    keep(one, IDS[0], vector=QUESTION), keep(other, IDS[0], vector=-QUESTION)
    for _ in range(3):
        cosines = [store.candidates(request()).dense.tolist() for store in (one, other)]
        assert cosines == [[1.0], [-1.0]]
        foreign = CandidateRequest(model="model/2", vector=QUESTION, spaces=SPACES, now=NOON)
        assert one.candidates(foreign) is None


def test_a_space_that_outgrows_its_columns_is_the_servers(database, monkeypatch):
    """Nothing is missing then, and nothing stays in memory."""
    for name in ("MAX_COLUMN_ROWS", "MAX_WHOLE_ROWS"):
        monkeypatch.setattr(f"reverie.storage.postgres.column_search.{name}", 4)
    store = database.store(next(tenants))
    for number, id in enumerate(IDS, 1):
        keep(store, id)
        for _ in range(2):
            assert sorted(store.candidates(request("demo")).ids) == list(IDS[:number])
        assert is_kept(database, store.tenant) == (number <= 4)


def test_a_large_space_is_read_in_steps(database, monkeypatch):
    """The server answers until all of it is in memory, as halves; then nothing of it is asked
    again, and a space that has become large comes there as well.
    """
    monkeypatch.setattr(column_search, "MAX_WHOLE_ROWS", 3)
    monkeypatch.setattr(column_search, "STEP_ROWS", 3)
    store = database.store(next(tenants))
    for id in IDS[:3]:
        keep(store, id)
    for _ in range(2):
        store.candidates(request("demo"))
    assert not kept_shard(database, store.tenant).has_halves

    for id in IDS[3:]:
        keep(store, id, vector=-QUESTION)
    store.apply([Retire(IDS[4], at=NOON, why="x")], make_event())
    rows = []
    for _ in range(6):
        pool = store.candidates(request("demo"))
        assert sorted(pool.ids) == sorted({*IDS} - {IDS[4]})
        assert sorted(pool.dense.tolist()) == [-1.0] * 4 + [1.0] * 3
        rows.append(kept_shard(database, store.tenant).n if is_kept(database, store.tenant) else 0)

    # Too large for what it was, and counted by the server; then three rows with each search.
    assert rows == [0, 3, 6, 8, 8, 8]
    shard = kept_shard(database, store.tenant)
    assert shard.has_halves
    assert shard.known.sum() == 8  # what is retired is beside others


def test_a_search_asks_for_a_few_awaited_vectors(database, monkeypatch):
    """While a model has few vectors yet, the server searches, and each search asks for the next of
    those that are awaited; none is forgotten.
    """
    monkeypatch.setattr(column_search, "MAX_WAITING", 2)
    store = database.store(next(tenants))
    keep(store, IDS[0])
    memories = [make_memory("heron", id=id)._replace(space="demo") for id in IDS[1:]]
    store.apply([Add(memory) for memory in memories], make_event())
    known = []
    for last in range(3, len(IDS)):
        pool = store.candidates(request("demo"))
        assert np.isnan(pool.dense).sum() == len(IDS) - (last - 2)
        put_vector(store, IDS[last], "heron", -QUESTION)
    for _ in range(6):
        pool = store.candidates(request("demo"))
        assert sorted(pool.dense[~np.isnan(pool.dense)].tolist()) == [-1.0] * 5 + [1.0]
        known.append(int(kept_shard(database, store.tenant).known.sum()))

    assert known[-1] == 6
    assert all(later - former <= 2 for former, later in pairwise(known))


@pytest.mark.parametrize("column_bytes", [0, 2**20])
def test_words_that_are_too_common_are_read_once(url, monkeypatch, column_bytes):
    """A word that counts for nothing is not read again for a while, unless nothing else is asked
    for; the answers stay the same.
    """
    monkeypatch.setattr(question_postings, "MAX_OCCURRENCES", 2)
    read = []
    run = TenantConnection.run

    def spy(db, query, **values):
        if query == question_postings.POSTINGS:
            read.append(values["tokens"])
        return run(db, query, **values)

    monkeypatch.setattr(TenantConnection, "run", spy)
    with closing(PostgresDatabase(url, max_connections=2, column_bytes=column_bytes)) as database:
        store = database.store(next(tenants))
        for id, text in zip(IDS, ["heron", "heron", "heron lapwing", "heron"], strict=False):
            keep(store, id, text)
        store.candidates(request("demo"))  # counts the space
        for terms in [("heron", "lapwing")] * 3 + [("heron",)]:
            pool = store.candidates(request("demo", terms=terms))
            worded = {id for id, score in zip(pool.ids, pool.words, strict=True) if score > 0}
            # As far as the rarest is read, where nothing is rare.
            assert worded == ({IDS[2]} if "lapwing" in terms else {*IDS[:3]})

    assert read == [["heron"], ["lapw"], ["lapw"], ["lapw"], [], ["heron"]]


def test_what_is_common_for_one_reader_is_not_for_another(database, monkeypatch):
    """A word that is common only in what a reader may not see counts for them."""
    monkeypatch.setattr(question_postings, "MAX_OCCURRENCES", 2)
    store = database.store(next(tenants))
    for id in IDS[:3]:
        keep(store, id, space="team")
    keep(store, IDS[3])
    reader = database.store(store.tenant, readable="^demo(/|$)")
    for _ in range(3):
        store.candidates(request())
        pool = reader.candidates(request())
        assert (pool.ids, (pool.words > 0).tolist()) == ([IDS[3]], [True])


def kept_shard(database, tenant):
    """The columns of the only space that is kept of a tenant."""
    with database.pool.columns.using(KEY._replace(tenant=tenant)) as columns:
        (kept,) = columns.spaces.values()
    return kept.shard


def test_without_room_the_server_searches(url):
    """With no bytes to spare the answers are the same."""
    with closing(PostgresDatabase(url, max_connections=2, column_bytes=0)) as database:
        store = database.store(next(tenants))
        keep(store, IDS[0])
        found = [store.candidates(request()).ids for _ in range(3)]

    assert found == [[IDS[0]]] * 3
    assert database.pool.columns.count_bytes() == 0


def make_space(rows):
    shard = Shard(DIMS)
    shard.reserve_rows(rows)
    return KeptSpace(shard, event=0)


def hold(memory, key, name, space):
    with memory.using(key) as columns:
        memory.keep(key, columns, name, space)


def test_what_was_searched_longest_ago_goes_first(monkeypatch):
    """Never more is kept than may be; what is in use keeps its place before what is new."""
    now = [0.0]
    monkeypatch.setattr(column_memory, "ticks", lambda: now[0])
    size = make_space(64).shard.count_bytes()
    memory = ColumnMemory(most=3 * size)
    other = KEY._replace(tenant="rival")
    for at, (key, name) in enumerate([(KEY, "a"), (other, "b"), (KEY, "c")]):
        now[0] = float(at)
        hold(memory, key, name, make_space(64))
    assert memory.count_bytes() == 3 * size
    assert not memory.has_room(size)

    now[0] += column_memory.BUSY_SECONDS
    assert memory.has_room(2 * size)  # two were searched more than a minute ago
    assert not memory.has_any(other, ["b"])
    assert not memory.has_any(KEY, ["a"])
    assert memory.has_any(KEY, ["c"])

    now[0] += column_memory.IDLE_SECONDS
    assert not memory.has_any(KEY, ["c"])
    assert memory.count_bytes() == 0


def test_what_is_forgotten_while_it_is_read_does_not_come_back():
    """A purge ends between the reading of a row and its keeping: nothing of it is kept."""
    memory = ColumnMemory()
    with memory.using(KEY) as columns:
        memory.forget(KEY.tenant)
        memory.keep(KEY, columns, "demo", make_space(1))

    assert memory.tenants() == set()
    assert memory.count_bytes() == 0


def test_who_finds_the_columns_in_use_does_not_wait():
    """Another thread is reading them: the server can be asked meanwhile."""
    memory = ColumnMemory()
    found = []

    def look():
        with memory.using(KEY) as columns:
            found.append(columns)

    with memory.using(KEY):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(timeout=120)

    assert found == [None]
