# mypy: no-check-untyped-defs
"""What is SQLite's own: the schema, what `verify` finds and mends, connections, many processes at
the door.
"""

import hashlib
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, suppress
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest

from reverie.core.errors import NewerStore, StoreError
from reverie.core.model import UNDECIDED_RELATIONS, Add, Edge, Filter, Link, Revise
from reverie.storage import open_store
from reverie.storage.sqlite import candidate_search
from reverie.testing import SPACE, make_event, make_memory
from reverie.text.tokenization import fingerprint_text
from tests.storage.test_store_contract import columns, embed, find, keep, vector
from tests.support.crash_at_statement import failing_at_statement

# the package has a function of this name
migrate = import_module("reverie.storage.sqlite.schema_migration")
SCHEMA = Path(str(migrate.__file__)).with_name("schema.sql")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
def store(path):
    store = open_store(f"sqlite:///{path}")
    yield store
    store.close()


def shape(db):
    """Tables, indexes and columns, without the words of comments."""
    rows = db.execute(
        "select type, name, tbl_name, sql from sqlite_master order by type, name"
    ).fetchall()
    return [
        (kind, name, table, " ".join(sql.split()) if sql else sql)
        for kind, name, table, sql in rows
    ]


# Schema


def test_the_schema_is_the_sum_of_its_steps():
    """A fresh database by schema.sql and one by all migrations are the same."""
    with (
        closing(sqlite3.connect(":memory:", isolation_level=None)) as whole,
        closing(sqlite3.connect(":memory:", isolation_level=None)) as stepwise,
    ):
        whole.executescript(SCHEMA.read_text("utf-8"))
        taken = migrate.migrate(stepwise)

        assert shape(whole) == shape(stepwise)
        assert (taken, migrate.version(stepwise), migrate.migrate(stepwise)) == (
            migrate.LATEST,
            migrate.LATEST,
            0,
        )


@pytest.mark.parametrize(
    "asked",
    [
        "select * from memory where id = ?",
        "select * from memory where space = ?",
        "select * from edge where src = ?",
        "select * from edge where dst = ?",
        "select * from edge where dst = ? and rel = 'in_cluster'",
    ],
)
@pytest.mark.proves("B15")
def test_every_end_of_the_graph_has_an_index(asked):
    """A memory by id, its edges from either end, what carries a tag or lies in a cluster: none
    reads all.
    """
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.executescript(SCHEMA.read_text("utf-8"))
        ((*_, plan),) = db.execute(f"explain query plan {asked}", ("x",)).fetchall()

    assert plan.startswith("SEARCH") and "INDEX" in plan.replace("PRIMARY KEY", "INDEX")


@pytest.mark.proves("B15", "CC-39")
def test_what_belongs_to_a_session_is_read_by_its_index(store, path):
    """Events and memories of one session are found without a look at those of others."""
    keep(store, "one")
    asked = []
    with store.connections.reading() as db:
        db.set_trace_callback(asked.append)
        store.events(verbs=("turn",), session="s1", space="me/a", limit=5)
        store.browse(Filter(spaces=("me/a",), kinds=("fact",), session="s1"))
        db.set_trace_callback(None)
        plans = [str(db.execute(f"explain query plan {sql}").fetchall()) for sql in asked]
    assert (
        "event_by_session (session=? AND seq>?)" in plans[0]
        and "memory_by_session (session=?)" in plans[1]
    )


@pytest.mark.parametrize(
    ("ask", "index"),
    [
        (lambda store: store.edges_between(UNDECIDED_RELATIONS, ("me/a",), 5), "edge_undecided"),
        (lambda store: store.stats(), "edge_undecided"),
        (
            lambda store: store.browse(Filter(spaces=("me/a",), having="anchors")),
            "memory_with_details",
        ),
        (lambda store: store.search_events(("tool",), space="me/a", limit=5), "event_by_time"),
        (
            lambda store: store.browse(
                Filter(spaces=("me/a", "me"), active=None, since=5.0, until=9.0, by_time=True)
            ),
            "memory_by_time",
        ),
        (lambda store: store.with_triggers(("me/a", "me")), "memory_by_trigger"),
        (lambda store: store.browse(Filter(spaces=("me/a", "me"), limit=5)), "memory_by_space"),
    ],
    ids=[
        "pairs",
        "count of pairs",
        "anchored",
        "newest runs",
        "a stretch of the past",
        "triggers",
        "the newest",
    ],
)
def test_what_a_page_asks_for_is_read_by_its_index(store, ask, index):
    """The few among very many: pairs that wait, memories with anchors, the newest runs of tools;
    these come from the index in their order, without a sort of all.
    """
    keep(store, "one")
    asked = []
    with store.connections.reading() as db:
        db.set_trace_callback(asked.append)
        ask(store)
        db.set_trace_callback(None)
        plans = [str(db.execute(f"explain query plan {sql}").fetchall()) for sql in asked]
    (plan,) = [plan for plan in plans if index in plan]
    assert not index.endswith("by_time") or "B-TREE FOR ORDER BY" not in plan


def test_the_latest_step_is_the_last_file():
    """LATEST is how many steps there are, numbered without gaps."""
    assert [int(step.name[:4]) for step in migrate.list_migrations()] == list(
        range(1, migrate.LATEST + 1)
    )


@pytest.mark.proves("CC-8")
def test_a_newer_file_is_left_alone(store, path):
    """A store written by a newer Reverie says so and is not touched."""
    keep(store, "one")
    store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("pragma journal_mode = delete")
        db.execute(f"pragma user_version = {migrate.LATEST + 1}")
        db.execute("pragma journal_mode = wal")
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(NewerStore, match="pip install --upgrade"):
        open_store(f"sqlite:///{path}")

    assert hashlib.sha256(path.read_bytes()).hexdigest() == before


def test_a_step_is_taken_whole_or_not_at_all(monkeypatch, tmp_path):
    """A migration that fails leaves the file as it was."""
    (tmp_path / "0001_start.sql").write_text("create table one (a);\ncreate table one (a);\n")
    monkeypatch.setattr(migrate, "FOLDER", tmp_path)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        with pytest.raises(sqlite3.Error):
            migrate.migrate(db)

        assert (shape(db), migrate.version(db), db.in_transaction) == ([], 0, False)


VERSION_1 = """
    insert into memory (num, id, text, space, kind, provenance, trust, confidence, salience, strength, access_count, at,
                        created_at, updated_at)
    values (?, ?, ?, 'me/demo', 'fact', 'observed', 0.5, 0.5, 0.5, 1, 0, 1.0, 1.0, 1.0)
"""


def version_1(path, model):
    """A file as version 1 wrote it: one memory with a vector of a model, one that waits."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in migrate.split_statements(migrate.list_migrations()[0].read_text("utf-8")):
            db.execute(statement)
        db.execute("pragma user_version = 1")
        for num, text in ((1, "heron"), (2, "crane")):
            db.execute(VERSION_1, (num, f"mem_{num}", text))
            db.execute("insert into words (rowid, body) values (?, ?)", (num, text))
        db.execute(
            "insert into vector values (41, 1, 'model/1', ?, ?)",
            (fingerprint_text("heron"), vector(3, 4).tobytes()),
        )
        db.execute("insert into pending values (2)")
        if model:
            db.execute("insert into meta values ('model', ?)", (model,))


@pytest.mark.parametrize(
    ("model", "waits"), [("", ["mem_2"]), ("model/1", ["mem_2"]), ("model/2", ["mem_2", "mem_1"])]
)
@pytest.mark.proves("CC-8", "CC-26")
def test_an_older_file_keeps_its_vectors(path, model, waits):
    """A file of version 1 opens with every vector in place, and what waited goes on waiting."""
    version_1(path, model)
    with closing(open_store(f"sqlite:///{path}")) as store:
        assert store.verify() == []
        assert [id for id, _ in store.unembedded_texts(9)] == waits
        assert columns(store) == {"mem_1": (0.6, 0.8), "mem_2": None}
        assert [store.await_vectors(name) for name in ("model/1", "model/2", "model/1")] == [
            1,
            2,
            1,
        ]
        keep(store, "ibis")
        assert store.await_vectors("model/1") == 2
        assert store.verify() == []


@pytest.mark.proves("X20")
def test_it_is_durable_before_it_returns(store):
    """WAL with synchronous=FULL: what was acknowledged survives a power cut
    (docs/why-durability.md).
    """
    writer = store.connections.writer
    pragmas = {
        name: writer.execute(f"pragma {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "secure_delete")
    }

    assert pragmas == {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1}


# Verify


FAULTS = {
    "words": "delete from words where rowid = 1",
    "words of nobody": "insert into words (rowid, body) values (999, 'ghost')",
    "other words": "update words set body = 'something else' where rowid = 1",
    "index": "delete from words_data where id > 10",
    "vectors of nobody": "insert into vector (memory, model, hash, vec) values (999, 'm', x'00', x'00000000')",
    "queue of nobody": "insert into pending (model, memory) values ('', 999)",
    "not queued": "delete from pending",
    "not queued for one model": "delete from pending where model = 'model/1'",
    "queue for no model": "insert into pending (model, memory) values ('ghost/1', 1)",
    "short vector": "update vector set vec = x'00000000', serial = 500 where memory = 3",
    "odd vector": "update vector set vec = x'0000' where memory = 3",
    "another text": "update vector set hash = x'00' where memory = 3",
    "missing tag": "delete from edge where rel = 'has_tag'",
    "foreign tag": "insert into edge values ((select id from memory where num = 2), 'has_tag', 'tag:ghost', 1.0)",
    "loose edge": "insert into edge values ('mem_gone', 'relates_to', (select id from memory where num = 1), 0.5)",
    "cursor": "insert into cursor values ('learn', 10000)",
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.proves("A94")
def test_faults_are_found_and_mended(store, path, fault):
    """Each seeded fault of what is derived is reported without `repair`, mended with it, and gone
    after it.
    """
    heron, crane, stork, ibis = keep(store, "heron", "crane", "stork", "ibis", tags=("bird",))
    store.await_vectors("model/1")
    embed(store, stork, 1, 2)
    embed(store, ibis, 2, 1)
    columns(store)
    with closing(sqlite3.connect(path)) as db:
        db.execute(FAULTS[fault])
        db.commit()
    found = store.verify()
    again = store.verify()
    mended = store.verify(repair=True)

    assert found
    assert [p.what for p in found] == [p.what for p in again] == [p.what for p in mended]
    assert not any(p.repaired for p in found)
    assert all(p.repaired for p in mended)
    assert store.verify() == []
    assert [find(store, word) for word in ("heron", "crane", "ghost", "else")] == [
        [heron.id],
        [crane.id],
        [],
        [],
    ]
    assert store.tag_counts([SPACE]) == {"bird": 4}
    assert {m for m, vec in columns(store).items() if vec is None} == {
        id for id, _ in store.unembedded_texts(9)
    }


MENDED = {
    "list": ("tags = '{'", "tags", "()"),
    "number": ("salience = 'ünlikely'", "salience", "0.0"),
    "text": ("title = x'6865726f6e'", "title", "'heron'"),
    "successor": ("superseded_by = 'mem_gone', retired_at = 1.0", "superseded_by", "None"),
}


@pytest.mark.parametrize("fault", MENDED)
def test_what_a_memory_cannot_have_is_told_and_taken_out(store, path, fault):
    """A value that no reader could read makes way for one that says nothing; what stood there is
    in the report.
    """
    keep(store, "heron", "crane", tags=("bird",))
    sets, field, fitting = MENDED[fault]
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"update memory set {sets} where num = 1")
        db.commit()
    found = store.verify()
    mended = store.verify(repair=True)

    assert not any(p.repaired for p in found)
    assert {p.what for p in mended if p.repaired} >= {"memories"}
    assert any(held in p.message for p in mended for held in ("'{'", "'ünlikely'", "heron", "gone"))
    assert store.verify() == []
    with closing(sqlite3.connect(path)) as db:
        [id] = db.execute("select id from memory where num = 1").fetchone()
    assert repr(getattr(store.get([id])[0], field)) == fitting


def test_history_and_notes_that_cannot_be_read_are_told_and_emptied(store, path):
    """One broken record stops neither the reading of history nor the repair."""
    heron = keep(store, "heron")
    store.set_meta("roots", "[1]")
    with closing(sqlite3.connect(path)) as db:
        db.execute("""update change set after = '{"text":'""")
        db.execute("insert into change values ('mem_x', 'one', 0, 'revise', null, null)")
        db.execute("update meta set value = '[1' where name = 'roots'")
        db.execute("insert into meta values ('told_lost', 'Zmem_1]')")
        db.commit()
    found = store.verify()
    mended = store.verify(repair=True)

    assert {p.what for p in found} == {p.what for p in mended} == {"history", "notes"}
    assert any("roots" in p.message for p in mended) and all(p.repaired for p in mended)
    assert store.verify() == [] and store.meta("roots") is None
    assert [record.memory_id for record in store.history(heron.id)] == [heron.id]


def test_an_event_that_is_gone_is_reported_and_left(store, path):
    """What happened is never guessed at; everything else is still checked."""
    keep(store, "heron", "crane", tags=("bird",))
    with closing(sqlite3.connect(path)) as db:
        db.execute("delete from event where seq = 1")
        db.execute(FAULTS["words of nobody"])
        db.commit()
    mended = store.verify(repair=True)

    assert {p.what for p in mended if p.repaired} == {"words"}
    assert {p.what for p in mended if not p.repaired} == {"history"}
    assert store.verify()
    assert len(find(store, "crane")) == 1


# Connections


@pytest.mark.proves("A21")
def test_threads_that_ended_leave_no_connection(store):
    """A server with a thread a request does not run out of files."""
    keep(store, "heron")
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(30):
        thread = threading.Thread(target=find, args=(store, "heron"))
        thread.start()
        thread.join()

    # Database and journal of three connections: this thread's and those of the last two.
    assert len(list(Path("/dev/fd").iterdir())) - before <= 6


def test_a_closed_store_says_so(store):
    """Using a store after `close` is an error that a person can read."""
    store.close()
    with pytest.raises(StoreError):
        store.get(["mem_x"])
    with pytest.raises(StoreError):
        keep(store, "one")


@pytest.mark.proves("CC-4", "A106")
def test_a_purged_text_is_not_in_the_file(store, path):
    """Neither the database nor its journal holds what was purged."""
    kept, gone = keep(store, "visible", "unmistakable zanzibar")
    store.apply([Link(edge=Edge(src=kept.id, rel="relates_to", dst=gone.id))], make_event("link"))
    there = [b"zanzibar" in part.read_bytes() for part in path.parent.glob("store.db*")]
    store.purge([gone.id])

    assert any(there)
    assert not any(b"zanzibar" in part.read_bytes() for part in path.parent.glob("store.db*"))


def test_a_slow_reader_does_not_stop_purging(store):
    """Somebody exporting at leisure costs a purge a second at most."""
    kept = keep(store, "one", "two")
    rows = store.dump()
    next(rows)

    assert store.purge([kept[0].id]) == 1
    rows.close()


OPENING = """
import sys
from reverie.core.model import Add
from reverie.storage import open_store
from reverie.testing import make_event, make_memory
sys.stdin.readline()
store = open_store(sys.argv[1])
store.apply([Add(memory=make_memory(sys.argv[2]))], make_event())
store.close()
"""


@pytest.mark.proves("CC-12")
def test_many_processes_may_open_a_new_home_at_once(path):
    """Eight processes that create the same store at the same moment all succeed."""
    command = [sys.executable, "-c", OPENING, f"sqlite:///{path}"]
    children = [
        subprocess.Popen(
            [*command, f"from {n}"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for n in range(8)
    ]
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    trouble = [child.communicate()[1] for child in children]
    store = open_store(f"sqlite:///{path}")
    count, problems = store.stats().memories, store.verify()
    store.close()

    assert (trouble, count, problems) == ([""] * 8, 8, [])


def test_a_writer_is_let_in_between_two_others(store, path):
    """Another program writes nearly always: its next pause, or one soon after, is ours."""
    begun, done, waited = threading.Semaphore(0), threading.Event(), []

    def write_nearly_always():
        turns = 0
        with closing(sqlite3.connect(path, isolation_level=None, timeout=60)) as db:
            while not done.is_set():
                db.execute("begin immediate")
                turns += 1
                waited.append(turns)
                begun.release()
                done.wait(0.12)
                db.execute("commit")
                done.wait(0.005)

    other = threading.Thread(target=write_nearly_always)
    other.start()
    turns = []
    for n in range(8):
        while begun.acquire(blocking=False):
            pass
        begun.acquire()
        before = len(waited)
        store.set_meta("note", str(n))
        turns.append(len(waited) - before)
    done.set()
    other.join()
    # On a busy machine some pauses pass before we are given a processor.
    assert sum(turns) <= 100, turns


def test_writes_inside_a_write_join_it(store):
    """A transaction within a transaction is one transaction."""
    with pytest.raises(ZeroDivisionError), store.transaction():
        keep(store, "one")
        store.apply([Add(memory=make_memory("two"))], make_event())
        raise ZeroDivisionError

    assert store.stats().memories == store.stats().events == 0


def everything(path):
    """All bytes of a database and its journal, in lower case."""
    return b"".join(part.read_bytes() for part in path.parent.glob("store.db*")).lower()


def test_a_purged_lesson_leaves_its_turn(store, path):
    """The sentence that a memory was learned from is blanked, whatever its case; the rest of the
    turn stays.
    """
    said = "I think so. my cat is called Zanzibar the Great.  The build fails on Mondays!"
    (turn,) = store.append(
        [make_event("turn", payload={"messages": [{"role": "user", "text": said}], "first": 0})]
    )
    (other,) = store.append(
        [make_event("turn", payload={"messages": [{"role": "user", "text": "a great cat"}]})]
    )
    gone = make_memory("My cat is called Zanzibar the Great")
    store.apply([Add(memory=gone)], make_event("learn", payload={"event": turn}))
    store.purge([gone.id])

    assert store.event(turn).payload == {
        "messages": [
            {"role": "user", "text": "I think so. [purged].  The build fails on Mondays!"}
        ],
        "first": 0,
    }
    assert store.event(other).payload["messages"][0]["text"] == "a great cat"
    assert b"zanzibar" not in everything(path)
    assert store.verify() == []


def test_a_purged_paraphrase_is_blanked_in_its_turn(store, path):
    """A text that was learned in other words is found in its source, and only there."""
    turns = store.append(
        [
            make_event("turn", payload={"messages": [{"text": text}]})
            for text in (
                "Well. The staging server, I'd say, is called Zanzibar now! Go on.",
                "the server is called heron",
            )
        ]
    )
    gone = make_memory("The staging server is called Zanzibar")
    store.apply([Add(memory=gone)], make_event("learn", payload={"event": turns[0]}))
    store.purge([gone.id])

    assert [store.event(seq).payload["messages"][0]["text"] for seq in turns] == [
        "Well. [purged] Go on.",
        "the server is called heron",
    ]
    assert b"zanzibar" not in everything(path)


def test_all_texts_that_a_memory_ever_had_are_purged(store, path):
    """What it said before it was revised stands in no event, no history, no index."""
    gone = keep(store, "the first name was Zanzibar")
    for text in ('then the name was\nPernambuco "X"', "at last the name is Ouagadougou"):
        store.apply(
            [Revise(id=gone.id, fields={"text": text, "title": text})],
            make_event("revise", payload={"text": text}),
        )
    store.append(
        [
            make_event(
                "note",
                payload={
                    "a": [
                        "I heard The First Name was ZANZIBAR, I think",
                        'THEN the name was pernambuco "x" once',
                        {"b": gone.id},
                    ]
                },
            )
        ]
    )
    store.purge([gone.id])

    for name in (b"zanzibar", b"pernambuco", b"ouagadougou", gone.id.encode()):
        assert name not in everything(path)
    assert store.events(verbs=["note"])[0].payload == {
        "a": ["I heard [purged], I think", "[purged] once", {"b": "[purged]"}]
    }
    assert store.verify() == []


@pytest.mark.parametrize("text", ["short", "role", "user", "a"])
def test_a_purged_word_erases_no_unrelated_turn(store, text):
    """A text that stands in many a turn by chance is blanked only where it is the whole value."""
    payload = {"messages": [{"role": "user", "text": f"In {text}, the role of a user"}], "first": 0}
    (turn,) = store.append([make_event("turn", payload=payload)])
    (whole,) = store.append([make_event("note", payload={"said": text.upper() + "."})])
    gone = keep(store, text)
    store.purge([gone.id])

    assert store.event(turn).payload == payload
    assert store.event(whole).payload == {"said": "[purged]."}


@pytest.mark.parametrize("where", ["file", "memory"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, sqlite3.OperationalError])
def test_what_a_failed_rollback_left_open_is_rolled_back_before_anything_else(path, where, failure):
    """Ctrl-C at the very rollback: the store goes on, holds nobody up and shows nothing of what was
    not committed.
    """
    with closing(
        open_store(f"sqlite:///{path}" if where == "file" else "sqlite:///:memory:")
    ) as store:
        kept = keep(store, "The staging server is called heron.")
        for look in (
            lambda: store.get([kept.id])[0].text,
            lambda: store.browse(Filter())[-1].text,
            lambda: store.verify() or store.get(find(store, "heron"))[0].text,
        ):
            with (
                suppress(KeyboardInterrupt, StoreError),
                failing_at_statement(store, 3, failure, False),
                store.transaction(),
            ):
                store.connections.writer.execute("update memory set text = 'crane'")
                raise sqlite3.OperationalError("the disk is full")
            assert look() == kept.text
            keep(store, "And more.")
        if where == "file":
            with closing(sqlite3.connect(path, timeout=1)) as other:
                other.execute("begin immediate")


def test_only_a_transaction_that_is_not_durable_leaves_the_disk_to_later(tmp_path):
    """While it lasts, and not after an error either; the next one waits for the disk again."""
    with closing(open_store(f"sqlite:///{tmp_path / 'store.db'}")) as store:
        level = partial(store.connections.writer.execute, "pragma synchronous")
        normal, full = 1, 2
        with store.transaction(durable=False):
            assert level().fetchone() == (normal,)
        with store.transaction():
            assert level().fetchone() == (full,)
        with pytest.raises(KeyboardInterrupt), store.transaction(durable=False):
            raise KeyboardInterrupt
        assert level().fetchone() == (full,)


def test_a_large_space_has_to_be_loaded_once(tmp_path, monkeypatch):
    """Until candidates were searched in it; a small one never, nor one that holds nothing."""
    monkeypatch.setattr(candidate_search, "NOTICED_ROWS", 3)
    with closing(open_store(f"sqlite:///{tmp_path / 'reverie.db'}")) as store:
        places = ("me/a", "me/a", "me/a", "me/b")
        store.apply(
            [Add(make_memory(f"m{n}", space=space)) for n, space in enumerate(places)],
            make_event(),
        )
        assert [store.must_load([one]) for one in ("me/a", "me/b", "me/c")] == [True, False, False]
        store.corpus("toy", ["me/a"])
        assert not store.must_load(["me/a", "me/b"])
