# mypy: no-check-untyped-defs
"""What is PostgreSQL's own: row security, migrations, several servers, and connections that break.

What every backend promises is in test_store_contract.py.
"""

import subprocess
import sys
import threading
from contextlib import closing, contextmanager, suppress
from functools import partial
from urllib.parse import urlsplit

import numpy as np
import psycopg
import pytest
from psycopg import sql

import reverie
from reverie.core.clock import new_id, ticks
from reverie.core.config import hide_password
from reverie.core.errors import (
    BadInput,
    NewerStore,
    ReverieError,
    StoreBusy,
    StoreError,
    StoreGone,
    StoreReadOnly,
)
from reverie.core.installation import advise_install
from reverie.core.model import (
    UNDECIDED_RELATIONS,
    Add,
    Edge,
    Event,
    Filter,
    Link,
    Memory,
    Revise,
)
from reverie.storage import open_store
from reverie.storage.embedded_postgres import EmbeddedPostgres
from reverie.storage.postgres import PostgresDatabase, schema_migration
from reverie.storage.postgres.connection import TenantConnection
from reverie.testing import NOON, Clock, make_event, make_memory
from reverie.text.tokenization import fingerprint_text, tokenize_query
from tests.support.helpers import run_in_threads
from tests.support.postgres import free_port

MODEL = "model/1"
TABLES = [
    "memory",
    "edge",
    "event",
    "change",
    "cursor",
    "lease",
    "meta",
    "posting",
    "vector",
    "embedder",
    "pending",
    "counter",
    "work",
]
SPACED = ("memory", "edge", "event", "change", "posting", "vector", "pending")


@pytest.fixture
def database(postgres_url):
    with closing(PostgresDatabase(postgres_url)) as database:
        database.prepare()
        yield database


@pytest.fixture
def store(database):
    return database.store("acme")


def keep(store, *texts, **fields):
    kept = [make_memory(text, **fields) for text in texts]
    for memory in kept:
        store.apply([Add(memory=memory)], make_event(space=memory.space))
    return kept if len(kept) > 1 else kept[0]


def fill(store, space):
    """Some of everything that lies in a space."""
    one, two = keep(store, "the heron nests", "a crane", space=space, tags=("bird",))
    store.apply(
        [Link(edge=Edge(one.id, "relates_to", two.id)), Revise(one.id, {"title": "heron"})],
        make_event("x", space=space),
    )
    vector = np.ones(4, np.float32) / 2
    store.put_vectors(MODEL, {one.id: vector}, {one.id: fingerprint_text(one.text)})
    return one, two


@contextmanager
def as_app(url):
    """A connection of the application's role, as somebody would have it who writes SQL by hand."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("set session authorization reverie_app")
        db.execute("set search_path = reverie, public")
        yield db


def count_all(db, table):
    return db.execute(sql.SQL("select count(*) from {}").format(sql.Identifier(table))).fetchone()[
        0
    ]


def say(db, **settings):
    for name, value in settings.items():
        db.execute(sql.SQL("set {} = {}").format(sql.SQL(f"reverie.{name}"), sql.Literal(value)))


# Row security


def test_who_has_said_nothing_sees_nothing(database, store, postgres_url):
    """A statement that forgets its tenant finds nothing in any table, and can write nothing."""
    fill(store, "demo")
    store.set_meta("a", "b")
    store.advance("reader", 1)
    store.acquire("settle", "me", 30, NOON)
    store.await_vectors(MODEL)
    with as_app(postgres_url) as db:
        assert {table: count_all(db, table) for table in TABLES} == dict.fromkeys(TABLES, 0)
        say(db, tenant="", readable="", writable="")
        assert {table: count_all(db, table) for table in TABLES} == dict.fromkeys(TABLES, 0)
        say(db, readable=".", writable=".")
        assert {table: count_all(db, table) for table in TABLES} == dict.fromkeys(TABLES, 0)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("insert into meta (tenant, name, value) values ('acme', 'x', 'y')")


def test_a_tenant_sees_its_own_alone(database, store, postgres_url):
    """Whatever a statement asks for, it gets rows of its transaction's tenant."""
    fill(store, "demo")
    fill(database.store("rival"), "demo")
    with as_app(postgres_url) as db:
        say(db, tenant="acme", readable=".", writable=".")
        assert db.execute("select distinct tenant from memory").fetchall() == [("acme",)]
        assert count_all(db, "memory") == 2
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("update memory set tenant = 'rival'")


@pytest.mark.parametrize("table", SPACED)
def test_a_reader_sees_the_rows_of_its_spaces(database, store, postgres_url, table):
    """By hand-written SQL too: what lies in a space that it may not read is not there."""
    fill(store, "~ann/demo")
    with as_app(postgres_url) as db:
        say(db, tenant="acme", readable="^(demo)(/|$)", writable="")
        assert count_all(db, table) == 0
        say(db, readable="^(~ann|demo)(/|$)")
        assert count_all(db, table) > 0


def test_a_space_is_not_the_beginning_of_another(database, store):
    """`demo` opens neither `demolition` nor `~ann/demo`."""
    for space in ("demo", "demo/x", "demolition", "~ann/demo"):
        keep(store, f"in {space}", space=space)
    reader = database.store("acme", readable="^(demo)(/|$)", writable="")

    assert [m.space for m in reader.browse(Filter())] == ["demo/x", "demo"]
    assert reader.stats().memories == 2
    assert reader.tag_counts(["demolition"]) == {}


def test_a_reader_without_the_right_writes_nothing(database, store):
    """What is read cannot be written without the right; nothing is changed, and the error says so."""
    memory = keep(store, "the heron", space="demo")
    reader = database.store("acme", readable="^(~ann|demo)(/|$)", writable="^(~ann)(/|$)")
    for change in (
        Revise(memory.id, {"text": "x"}),
        Add(make_memory("new", space="demo")),
        Link(Edge(memory.id, "about", "file:x")),
    ):
        with pytest.raises(StoreReadOnly, match="may not"):
            reader.apply([change], make_event(space="~ann"))
    mine = keep(reader, "mine", space="~ann")

    assert store.get([memory.id]) == [memory]
    assert {m.id for m in store.browse(Filter())} == {memory.id, mine.id}
    assert store.last_event() == 2 and store.verify() == []


def test_what_is_moved_takes_along_who_may_see_it(database, store):
    """Edges, history, words and vectors of a memory follow it into another space."""
    one, _ = fill(store, "demo")
    store.apply([Revise(one.id, {"space": "~ann/demo"})], make_event("move", space="demo"))
    reader = database.store("acme", readable="^(demo)(/|$)", writable="")

    assert reader.get([one.id]) == reader.history(one.id) == reader.edges([one.id]) == []
    assert reader.vectors(MODEL, [one.id]) == {}
    assert reader.search_words(["heron"], ["demo", "~ann/demo"], 9) == []
    assert [id for id, _ in store.search_words(["heron"], ["~ann/demo"], 9)] == [one.id]
    assert store.verify() == []


def test_the_application_is_held_by_row_security(postgres_url, database):
    """Its role owns nothing, cannot switch row security off, and every table forces it."""
    with psycopg.connect(postgres_url) as db:
        rows = db.execute(
            "select relname, relrowsecurity and relforcerowsecurity from pg_class "
            "where relnamespace = 'reverie'::regnamespace and relkind = 'r'"
        ).fetchall()
        role = db.execute(
            "select rolsuper, rolbypassrls, rolcreaterole, rolcanlogin from pg_roles "
            "where rolname = 'reverie_app'"
        ).fetchone()
    assert {name for name, forced in rows if not forced} == {"schema_version"}
    assert role == (False, False, False, True)
    with as_app(postgres_url) as db:
        for statement in (
            "alter table memory disable row level security",
            "create policy mine on memory using (true)",
            "set role postgres",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                db.execute(statement)
        db.execute("set row_security = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            count_all(db, "memory")


def test_a_check_tells_that_row_security_is_off(database, store, postgres_url):
    """An administrator who switched it off by hand hears of it, and migrating again sets it."""
    keep(store, "x")
    with psycopg.connect(postgres_url) as db:
        db.execute("alter table reverie.edge no force row level security")

    assert ["row security of edge is off" in p.message for p in store.verify()] == [True]
    database.prepare()
    assert store.verify() == []


# Texts are values


INJECTIONS = [
    "'; drop table reverie.memory; --",
    "\\'; select 1; --",
    "%s %(tenant)s {0} $1 :x ?",
    "$$; reset role; $$",
    "a' or '1'='1",
    "x\0y",
    "\ud800half",
    "*",
    ".*",
    "(",
    "mem_%",
    "' || current_setting('reverie.tenant') || '",
    '"; set role postgres; "',
    "\u202e\u0000\\u0000",
]


@pytest.mark.parametrize("text", INJECTIONS)
def test_no_text_is_a_way_into_the_database(database, store, text):
    """Whatever stands in any argument is a value: nothing else is read, changed or broken."""
    rival = database.store("rival")
    secret = keep(rival, "the rival's secret")
    memory = Memory(
        id=new_id(),
        at=NOON,
        created_at=NOON,
        updated_at=NOON,
        text=text,
        space=f"demo/{text}",
        title=text,
        tags=(text,),
        session=text,
        speaker=text,
        files=(text,),
        triggers=(text,),
        details={"path": text, text: text},
    )
    store.apply([Add(memory)], Event(text, f"demo/{text}", NOON, text, {text: text}))
    store.apply([Link(Edge(memory.id, text, f"tag:{text}"))], make_event(text, space=text))
    stored = store.get([memory.id])[0]
    store.advance(text, 1)
    store.set_meta(text, text)
    assert store.acquire(text, text, 30, NOON) and store.holder(text, NOON) is not None
    store.await_vectors(text)
    reads = [
        store.get([text]),
        store.match_ids(text, 9),
        store.browse(Filter(spaces=(text,), kinds=(text,), tags=(text,), session=text)),
        store.browse(Filter(having=text, paths=(text,), below=text, after=text)),
        store.with_triggers([text]),
        store.tag_counts([text]),
        store.edges([text], [text]),
        store.edges_around([text, f"tag:{text}"], [text], 9),
        store.edges_between([text], [text]),
        store.scan_edges((text, text, text), 0),
        store.events(verbs=[text], session=text, space="demo/none"),
        store.search_events([text], space="demo/none", containing=[text]),
        store.event_rows(text, space="other", after=0, until=9, limit=9),
        store.session_spans(["none"], space=text, containing=[text]),
        store.history(text),
        store.changes_since(NOON, [text]),
        store.search_words(tokenize_query(text) or [text], ["demo/none"], 9),
        store.unembedded_texts(0, text),
        store.vectors(text, [text]),
        store.ids_repeating([]),
    ]
    assert all(secret.id not in repr(found) for found in reads)
    found = store.browse(Filter(tags=stored.tags, session=stored.session, spaces=(stored.space,)))
    assert found == [stored] and "\0" not in stored.text
    assert store.purge([memory.id], [text]) == 1
    assert rival.get([secret.id]) == [secret] and rival.verify() == []


def test_what_postgresql_cannot_store_is_replaced(store):
    """NUL and half a surrogate pair become U+FFFD, in texts and within JSON; the rest stays."""
    memory = make_memory("x")._replace(
        text="a\0b\ud800c\\u0000", details={"a\0": "\0", "b": "\\u0000"}
    )
    store.apply([Add(memory)], make_event())
    event = store.append([make_event(payload={"x": "\0", "y": "\ud800"})])[0]
    (stored,) = store.get([memory.id])

    assert stored.text == "a\ufffdb\ufffdc\\u0000"
    assert stored.details == {"a\ufffd": "\ufffd", "b": "\\u0000"}
    assert store.event(event).payload == {"x": "\ufffd", "y": "?"}
    assert store.browse(Filter(having="b")) == [stored]
    assert store.verify() == []


@pytest.mark.parametrize("name", ["", "Acme", "a_b", "-a", "a" * 40, "*", "a'b", "a\n", "ä"])
def test_a_tenant_has_a_plain_name(database, name):
    """Small letters, digits and hyphens; so no name is anything else to the database or a disk."""
    with pytest.raises(BadInput, match="tenant"):
        database.store(name)


# The schema


CATALOG = """
    select 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
           a.attnotnull::text, coalesce(pg_get_expr(d.adbin, d.adrelid), ''),
           coalesce(l.collname, '')
    from pg_attribute a
    join pg_class c on c.oid = a.attrelid
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    left join pg_collation l on l.oid = a.attcollation
    where c.relnamespace = 'reverie'::regnamespace and c.relkind in ('r', 'v') and a.attnum > 0
      and not a.attisdropped and c.relname <> 'schema_version'
    union all
    select 'index', tablename, indexname, indexdef, '', '', ''
    from pg_indexes where schemaname = 'reverie' and tablename <> 'schema_version'
    union all
    select 'policy', tablename, policyname, cmd, coalesce(qual, ''), coalesce(with_check, ''), ''
    from pg_policies where schemaname = 'reverie'
    union all
    select 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid), '', '', ''
    from pg_constraint
    where connamespace = 'reverie'::regnamespace
      and conrelid <> 'reverie.schema_version'::regclass
    union all
    select 'routine', proname, pg_get_functiondef(oid), '', '', '', ''
    from pg_proc where pronamespace = 'reverie'::regnamespace
    order by 1, 2, 3, 4
"""


def read_catalog(url):
    with psycopg.connect(url) as db:
        return db.execute(CATALOG).fetchall()


def test_the_schema_is_the_sum_of_its_migrations(postgres_url, database):
    """A fresh database and one that took every step are the same to the catalogue."""
    migrated = read_catalog(postgres_url)
    folder = schema_migration.FOLDER.parent
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("drop schema reverie cascade")
        db.execute("create schema reverie; set search_path = reverie, public")
        db.execute("create table schema_version (step integer)")
        for path in schema_migration.list_schema_files():
            db.execute(path.read_text("utf-8"))
    fresh = read_catalog(postgres_url)

    assert fresh == migrated and len(fresh) > 100
    assert schema_migration.LATEST == len(schema_migration.list_migrations())
    assert (folder / "schema.sql").is_file()


@pytest.mark.parametrize(
    ("ask", "index"),
    [
        (lambda store: store.edges_between(UNDECIDED_RELATIONS, ("me/a",), 5), "edge_undecided"),
        (lambda store: store.stats(), "edge_undecided"),
        (lambda store: store.browse(Filter(("me/a",), having="anchors")), "memory_with_details"),
        (lambda store: store.read_details(Filter(("me/a",), naming="x")), "memory_with_details"),
        (lambda store: store.search_events(("tool",), space="me/a", limit=5), "event_by_time"),
        (
            lambda store: store.browse(
                Filter(("me/a", "me"), active=None, since=5.0, until=9.0, by_time=True)
            ),
            "memory_by_time",
        ),
    ],
    ids=["pairs", "count of pairs", "anchored", "details", "newest runs", "a stretch of the past"],
)
def test_what_a_page_asks_for_is_read_by_its_index(postgres_url, store, monkeypatch, ask, index):
    """The few among very many; what is asked for by time comes in its order, without a sort."""
    texts = [make_memory(f"m{n}", space="me/a", at=float(n)) for n in range(400)]
    texts[7:9] = [one._replace(details={"anchors": [], "x": "x"}) for one in texts[7:9]]
    tags = [Link(Edge(one.id, "has_tag", "tag:many")) for one in texts]
    pair = Link(Edge(texts[0].id, "contradicts", texts[1].id))
    store.apply([*map(Add, texts), *tags, pair], make_event(space="me/a"))
    store.append([make_event("tool", space="me/a", at=float(n)) for n in range(400)])
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("analyze")
    asked = []
    run = TenantConnection.run

    def note_statement(self, query, **values):
        asked.append((query, {"tenant": self.tenant, **values}))
        return run(self, query, **values)

    monkeypatch.setattr(TenantConnection, "run", note_statement)
    ask(store)
    with as_app(postgres_url) as db:
        say(db, tenant="acme", readable=".", writable="")
        db.execute("set enable_seqscan = off; set enable_bitmapscan = off")
        plans = [
            "\n".join(line for (line,) in db.execute(f"explain {query}", values))
            for query, values in asked
        ]
    (plan,) = [plan for plan in plans if index in plan] or ["\n".join(plans)]
    assert index in plan
    assert not index.endswith("by_time") or "Sort" not in plan


def test_a_database_is_prepared_once(postgres_url):
    """Servers that start at once wait for the one that migrates; a second time nothing is done."""
    taken = []

    def prepare():
        with closing(PostgresDatabase(postgres_url)) as database:
            taken.append(database.prepare())

    run_in_threads(*[prepare] * 6)
    prepare()

    assert sorted(taken) == [0, 0, 0, 0, 0, 0, schema_migration.LATEST]


def pretend_step(url, step, min_reader):
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "insert into reverie.schema_version (step, min_reader, name) values (%s, %s, 'later')",
            (step, min_reader),
        )


def test_a_newer_schema_is_left_alone(postgres_url, database, store):
    """Unless it says that this release may go on with it, for as long as an upgrade takes."""
    latest = schema_migration.LATEST
    pretend_step(postgres_url, latest + 1, latest)
    memory = keep(store, "kept during the upgrade")
    with closing(open_store(f"{postgres_url}?tenant=acme")) as again:
        assert again.get([memory.id]) == [memory] and again.has_current_schema()

    pretend_step(postgres_url, latest + 2, latest + 1)
    assert not store.has_current_schema()
    with pytest.raises(NewerStore, match="pip install --upgrade reverie"):
        open_store(postgres_url)


def test_a_user_who_owns_the_database_is_enough(postgres_server, postgres_url):
    """Migrating needs no superuser beyond the extension, and row security holds for the owner."""
    owner = new_id("owner")
    with psycopg.connect(postgres_url, autocommit=True) as db:
        name = db.info.dbname
        db.execute(f"create role {owner} login createrole password 'hunter2'")
        db.execute("create extension vector")
        db.execute(
            f"alter database {name} owner to {owner}; grant create on schema public to {owner}"
        )
    parts = urlsplit(postgres_url)
    address = parts.netloc.rpartition("@")[2]
    url = parts._replace(netloc=f"{owner}:hunter2@{address}").geturl()
    try:
        with psycopg.connect(postgres_url, autocommit=True) as db:
            has_role = db.execute("select 1 from pg_roles where rolname = 'reverie_app'").fetchone()
            if has_role:
                db.execute(f"grant reverie_app to {owner} with admin option")
        with closing(open_store(url)) as store:
            memory = keep(store, "owned")
            assert store.get([memory.id]) == [memory] and "hunter2" not in store.url + repr(store)
            assert store.url == hide_password(url)
        with psycopg.connect(url) as db:
            assert count_all_of_owner(db) == 0
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute(f"reassign owned by {owner} to postgres; drop owned by {owner}")
            db.execute(f"drop role {owner}")


def count_all_of_owner(db):
    return db.execute("select count(*) from reverie.memory").fetchone()[0]


# Numbers, writers, connections


def test_numbers_of_events_follow_the_commits(database):
    """Whoever has seen event n misses none before n, however many write at once."""
    seen, done = [], threading.Event()

    def write(name):
        store = database.store("acme")
        for n in range(25):
            store.append([make_event("turn", payload={"n": [name, n]})] * 2)

    def read():
        store = database.store("acme")
        while not done.is_set() or len(seen) < 200:
            seen.extend(event.seq for event in store.events(after=seen[-1] if seen else 0))

    reader = threading.Thread(target=read)
    reader.start()
    run_in_threads(*(partial(write, name) for name in "abcd"))
    done.set()
    reader.join(120)

    assert seen == list(range(1, 201))


def test_tenants_do_not_wait_for_each_other(database, store):
    """Numbers are each tenant's own, and a long transaction of one holds up no other."""
    with store.transaction():
        keep(store, "slow")
        keep(database.store("rival"), "quick")

    assert store.last_event() == database.store("rival").last_event() == 1
    assert database.tenants() == ["acme", "rival"]


def test_a_failed_step_of_a_transaction_leaves_the_others(store):
    """Whoever catches what went wrong inside keeps what was done before and after."""
    memory = make_memory("first")
    with store.transaction():
        store.apply([Add(memory)], make_event())
        with pytest.raises(ReverieError):
            store.apply([Add(make_memory("second")), Add(memory)], make_event())
        last = store.append([make_event("after")])[0]

    assert [m.text for m in store.browse(Filter())] == ["first"]
    assert [event.seq for event in store.events()] == [1, 2] and last == 2
    assert store.verify() == []


def test_connections_are_bounded(postgres_url, database):
    """Many threads share few connections, and none fails for want of one."""
    with closing(PostgresDatabase(postgres_url, max_connections=2)) as small:
        store = small.store("acme")
        run_in_threads(*[lambda: [keep(store, "x"), store.browse(Filter())]] * 16)
        with psycopg.connect(postgres_url) as db:
            (count,) = db.execute(
                "select count(*) from pg_stat_activity "
                "where datname = current_database() and pid <> pg_backend_pid()"
            ).fetchone()

    assert store.tenant == "acme" and count <= 2
    with closing(PostgresDatabase(postgres_url)) as again:
        assert again.store("acme").stats().memories == 16


def test_who_waits_too_long_is_told(postgres_url, database, store, monkeypatch):
    """A tenant whose writer does not come to an end keeps others waiting for so long only."""
    monkeypatch.setattr("reverie.storage.postgres.connection.LOCK_TIMEOUT", 0.2)
    with store.transaction():
        keep(store, "x")
        with pytest.raises(StoreBusy, match="try again"):
            keep(database.store("acme"), "y")
    keep(database.store("acme"), "z")

    assert [m.text for m in store.browse(Filter())] == ["z", "x"]


def end_connections(url):
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )


def test_a_broken_connection_is_replaced(postgres_url, store):
    """Reading and writing go on as soon as the server is there again."""
    one = keep(store, "one")
    for _ in range(3):
        end_connections(postgres_url)
        assert store.get([one.id]) == [one]
        end_connections(postgres_url)
        keep(store, "more")

    assert store.stats().memories == 4


def test_reads_that_belong_together_outlive_their_connection(postgres_url, store):
    """They share a connection; where it breaks, the next read has another."""
    one = keep(store, "one")
    with store.reading():
        assert store.get([one.id]) == [one]
        first = backend_pid(store)
        assert store.has_edges(["relates_to"]) is False
        assert backend_pid(store) == first
        end_connections(postgres_url)
        assert store.get([one.id]) == [one]
        assert backend_pid(store) != first


def backend_pid(store):
    """The process of the server that a read of the store goes to."""
    return store.connections.fetch_value("select pg_backend_pid()")


def test_a_transaction_that_broke_is_told(postgres_url, store):
    """Nothing of it was kept, and the next one goes well."""
    with pytest.raises(StoreGone), store.transaction():
        keep(store, "lost")
        end_connections(postgres_url)
        keep(store, "never")
    keep(store, "kept")

    assert [m.text for m in store.browse(Filter())] == ["kept"]
    assert store.verify() == []


@pytest.mark.slow
def test_a_restarted_server_is_found_again(postgres_folder):
    """A store outlives the server it speaks to."""
    server = EmbeddedPostgres(postgres_folder, port=free_port())
    url = server.start()
    try:
        with closing(open_store(url)) as store:
            memory = keep(store, "before")
            server.stop()
            server.start()
            assert store.get([memory.id]) == [memory]
            keep(store, "after")
            assert store.stats().memories == 2
    finally:
        server.stop()


def test_no_server_is_said_at_once_and_without_the_password():
    """Host and database are named, what to do is said, and the password stands nowhere."""
    url = f"postgresql://ann:hunter2@127.0.0.1:{free_port()}/memories"
    with pytest.raises(StoreError, match=r"127\.0\.0\.1") as told:
        open_store(url)
    parts = [told.value, told.value.__cause__, told.value.__context__]
    assert "hunter2" not in "".join(map(repr, parts)) and "runs" in str(told.value)


@pytest.mark.parametrize(
    "url", ["postgresql://ann:hunter2@[bad/x", "postgresql://ann:hunter2@h/x?no=1"]
)
def test_a_bad_address_is_no_riddle(url):
    """It is said what an address looks like; the password is not."""
    with pytest.raises(BadInput) as told:
        open_store(url)
    assert "postgresql://" in str(told.value) and "hunter2" not in str(told.value)


def test_errors_hold_no_text_of_a_memory(store):
    """A statement that fails says what kind of thing went wrong, and nothing of what it was for."""
    memory = make_memory("the secret heron")._replace(strength=2**70)
    with pytest.raises(StoreError) as told:
        store.apply([Add(memory)], make_event())

    assert "heron" not in str(told.value) and "numeric value out of range" in str(told.value)


def test_without_psycopg_it_is_said_what_to_install(tmp_path):
    """The embedded backend needs none; a server's address says which extra does."""
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from reverie.storage import open_store\n"
        "try: open_store('postgresql://h/x')\n"
        "except Exception as err: print(type(err).__name__, err)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("ExtraMissing") and advise_install("postgres") in done.stdout


# Workers


def test_each_tenants_work_is_one_workers(database):
    """Any number of workers share the tenants; what is dealt with waits for nobody any more."""
    for name in ("a", "b", "c"):
        database.store(name).append([make_event("turn")])
    claimed = []

    def work(worker):
        while (tenant := database.claim_tenant(worker, 60, NOON)) is not None:
            claimed.append((tenant, worker))

    run_in_threads(*(partial(work, f"w{n}") for n in range(4)))
    assert sorted(tenant for tenant, _ in claimed) == ["a", "b", "c"]

    for tenant, worker in claimed:
        database.finish_tenant(tenant, worker, database.store(tenant).last_event())
    assert database.claim_tenant("w", 60, NOON + 120) is None
    database.store("b").append([make_event("turn")])
    assert database.claim_tenant("w", 60, NOON + 120) == "b"


def test_a_claim_ends_by_itself(database):
    """A worker that was killed leaves its tenant to the next; one that slept has lost it."""
    database.store("a").append([make_event("turn")])
    assert database.claim_tenant("killed", 60, NOON) == "a"
    assert database.claim_tenant("next", 60, NOON + 59) is None
    assert database.renew_tenant("a", "killed", 60, NOON + 59)
    assert database.claim_tenant("next", 60, NOON + 119) == "a"
    assert not database.renew_tenant("a", "killed", 60, NOON + 120)
    database.finish_tenant("a", "killed", 1)
    assert database.claim_tenant("third", 60, NOON + 121) is None


def test_events_are_heard_of(database):
    """Whoever listens is told of the tenants with new events, and only of what was committed."""
    assert database.wait_for_events(0.0) == set()
    database.store("a").append([make_event("turn")])
    with pytest.raises(KeyError), database.store("b").transaction():
        database.store("c").set_meta("x", "y")
        raise KeyError
    assert database.wait_for_events(10.0) == {"a"}
    assert database.wait_for_events(0.0) == set()


# Between backends


def test_a_home_moves_either_way_without_loss(database, store, tmp_path):
    """What is exported from one backend and imported into the other is the same to the letter."""
    with closing(open_store(f"sqlite:///{tmp_path / 'home.db'}")) as home:
        fill(home, "me/demo")
        home.advance("learn", 2)
        rows = list(home.dump())
        store.load(rows)
        there = list(store.dump())
        assert there == rows
    with closing(open_store("sqlite://:memory:")) as back:
        back.load(there)
        assert list(back.dump()) == rows and back.verify() == []
    assert store.verify() == []


def test_a_backup_is_put_back(store, tmp_path):
    """Into the same tenant: what came since is in the other file, and numbers are given once."""
    first = keep(store, "first")
    store.set_meta("note", "a")
    store.backup(tmp_path / "copy.db")
    later = keep(store, "later")
    store.restore_backup(tmp_path / "copy.db", tmp_path / "kept.db")

    assert store.browse(Filter()) == [first] and store.meta("note") == "a"
    assert store.verify() == []
    assert store.append([make_event("turn")])[0] > 2
    with closing(open_store(f"sqlite:///{tmp_path / 'kept.db'}")) as kept:
        assert {m.id for m in kept.browse(Filter())} == {first.id, later.id}
    with pytest.raises(BadInput):
        (tmp_path / "no.db").write_text("nothing")
        store.restore_backup(tmp_path / "no.db", tmp_path / "unused.db")
    assert not (tmp_path / "unused.db").exists()


def test_a_copy_is_tried_out_without_a_trace(store):
    """What is done to it is gone with it."""
    memory = keep(store, "first")
    with closing(store.copy()) as copy:
        keep(copy, "only there")
        assert copy.get([memory.id]) == [memory]
    assert store.stats().memories == 1


def test_an_altered_row_comes_back_from_a_backup(store, postgres_url, tmp_path):
    """What another program altered is found by its checksum and mended."""
    memory = keep(store, "as it was", space="demo")
    store.backup(tmp_path / "copy.db")
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("update reverie.memory set text = 'altered'")
        db.execute("update reverie.posting set tf = 7")
        db.execute("update reverie.pending set space = 'elsewhere'")
    found = {problem.what for problem in store.verify()}
    mended = store.verify(repair=True, backups=[tmp_path / "copy.db"])

    assert found == {"memories", "words", "spaces"}
    assert all(problem.repaired for problem in mended)
    assert store.get([memory.id]) == [memory] and store.verify() == []


def test_a_mind_lives_on_a_server(postgres_url, tmp_path, monkeypatch):
    """`reverie.open` with an address, and the setting `store`: remembering, settling, recalling."""
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path))
    (tmp_path / "config.toml").write_text(
        f'embedder = "toy"\nstore = "{postgres_url}?tenant=acme"\n'
    )
    clock = Clock()
    with reverie.open(now=clock) as mind:
        mind.remember("The staging server is called heron.", space="me/demo")
        mind.settle()
    with reverie.open(f"{postgres_url}?tenant=acme", now=clock) as again:
        (hit, *_) = again.recall("what is the staging server called?", space="me/demo")
        assert "heron" in hit.memory.text
    assert not list(tmp_path.glob("*.db"))


def test_what_the_server_took_back_is_no_success(store):
    """A change in which a statement failed is an error, also where somebody went on after it."""

    def write_and_go_on():
        with store.connections.writing() as db:
            db.run("insert into meta (tenant, name, value) values (%(tenant)s, 'a', 'b')")
            with suppress(psycopg.Error):
                db.run("select 1 / 0")

    with pytest.raises(StoreError, match="nothing of it was kept"):
        write_and_go_on()
    assert not store.meta("a")


def dumped_rows(database, count):
    """The rows of a tenant with so many memories, links and a log."""
    store = database.store("source")
    memories = [make_memory(text=f"Fact {number}.", tags=("ops",)) for number in range(count)]
    links = [Link(Edge(memories[0].id, "see", one.id, 1.0)) for one in memories[1:50]]
    store.apply([*map(Add, memories), *links], make_event())
    store.append([make_event(payload={"number": number}) for number in range(20)])
    return list(store.dump())


def count_statements(monkeypatch, load):
    """How many statements were sent one by one while something was loaded."""
    sent = []
    plain = psycopg.Connection.execute
    monkeypatch.setattr(
        psycopg.Connection,
        "execute",
        lambda db, query, *args, **options: (
            sent.append(query) or plain(db, query, *args, **options)
        ),
    )
    load()
    monkeypatch.undo()
    return len(sent)


def test_an_import_goes_to_the_server_in_batches(database, monkeypatch):
    """A thousand memories take some dozens of statements, and a bad row among them costs some more
    and no other row; again nothing is new.
    """
    rows = dumped_rows(database, 1_000)
    whole, torn = database.store("whole"), database.store("torn")
    first = count_statements(monkeypatch, lambda: whole.load(rows))
    assert first < 60
    bad = {**rows[700], "id": "mem_bad", "text": None}
    new = {}
    second = count_statements(
        monkeypatch, lambda: new.update(torn.load([*rows[:300], bad, *rows[300:]]))
    )
    assert (new["memory"], new["refused"], new["event"]) == (1_000, 1, 21)
    assert second < first + 200
    assert list(torn.dump()) == list(whole.dump()) == rows
    assert whole.load(rows) == {} == torn.load(rows)


def test_events_are_appended_to_a_log_that_is_not_empty_once(database):
    """What was here before is known by its values and the memory that it changed."""
    rows = dumped_rows(database, 30)
    other = database.store("other")
    other.append([make_event(payload={"number": 7}), make_event(session="of its own")])
    events = sum(row["type"] == "event" for row in rows)
    assert other.load(rows)["event"] == events - 1
    assert other.load(rows) == {}


def test_a_statement_ends_when_nobody_waits_any_more(database, postgres_url):
    """A request's time is the database's too: a statement, and a wait for whoever writes."""
    from reverie.core.time_limit import limit_time

    store = database.store("acme")
    store.set_meta("a", "1")
    started = ticks()
    with limit_time(0.3), pytest.raises(StoreBusy):
        store.connections.fetch_value("select pg_sleep(120)")
    with closing(psycopg.connect(postgres_url)) as other:
        other.execute("select 1 from reverie.counter where tenant = 'acme' for update")
        with limit_time(0.3), pytest.raises(StoreBusy):
            store.set_meta("a", "2")
    with limit_time(-1.0), pytest.raises(StoreBusy):
        store.meta("a")
    assert ticks() - started < 60
    assert store.meta("a") == "1"
    # Nothing of it is left on the connections.
    assert store.connections.fetch_value("show statement_timeout") == "0"


def test_servers_of_two_releases_share_a_schema(database, postgres_url, monkeypatch):
    """A schema that a newer release has taken further is served by whoever it says it can be, and
    refused with a sentence by others.
    """
    step = schema_migration.LATEST
    store = database.store("acme")
    kept = make_memory("kept during the upgrade")
    with closing(psycopg.connect(postgres_url, autocommit=True)) as owner:
        owner.execute("set search_path = reverie")
        owner.execute("alter table memory add column mood text")
        note = "insert into schema_version (step, min_reader, name) values (%s, %s, 'next')"
        owner.execute(note, [step + 1, step])
        assert (database.describe_schema_trouble(), database.prepare()) == ("", 0)
        store.apply([Add(kept)], make_event())
        assert store.has_current_schema() and store.get([kept.id]) == [kept]
        owner.execute(note, [step + 2, step + 1])
        assert "upgrade it" in database.describe_schema_trouble()
        assert not store.has_current_schema()
        with pytest.raises(NewerStore, match="Upgrade"):
            database.prepare()
    monkeypatch.setattr(schema_migration, "LATEST", step + 3)
    assert "reverie server migrate" in database.describe_schema_trouble()


def test_what_joins_a_durable_transaction_leaves_it_durable(store, monkeypatch):
    """Only a transaction that nobody else has begun may do without waiting for the disk."""
    told = []
    plain = TenantConnection.execute

    def execute(db, query, *arguments, **options):
        told.extend([query] if "synchronous_commit" in str(query) else [])
        return plain(db, query, *arguments, **options)

    monkeypatch.setattr(TenantConnection, "execute", execute)
    with store.transaction(), store.transaction(durable=False):
        store.apply([Add(make_memory("The kiln is called Wren."))], make_event())
    assert told == []
    with store.transaction(durable=False):
        store.apply([Add(make_memory("The heron fishes."))], make_event())
    assert told == ["set local synchronous_commit = off"]
