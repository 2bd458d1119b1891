# mypy: no-check-untyped-defs
"""Nobody sees what is not theirs: the store on PostgreSQL against a model, and by hand.

A state machine lets random users write, move, link and look in random tenants, and compares
everything that each of them is shown with a model of dictionaries, in both directions: nothing
crosses, and nothing of one's own is missing. The rest is written out: SQL through every text, and
what somebody with the application's role can find with statements of their own.

`REVERIE_HYPOTHESIS=long` tries ten times as many histories, other ones each time.
"""

from itertools import count

import numpy as np
import psycopg
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from reverie.access.rights import effective_rights
from reverie.core.clock import new_id
from reverie.core.errors import BadInput, Conflict, NotFound, ReverieError, StoreReadOnly
from reverie.core.model import Add, Edge, Event, Filter, Link, Retire, Revise
from reverie.storage.access_records import Grant, KeyScope, Right
from reverie.storage.candidates import CandidateRequest, NeighbourRequest
from reverie.storage.postgres import PostgresDatabase
from reverie.storage.postgres.connection import clean_text
from reverie.testing import NOON, make_memory
from reverie.text.tokenization import fingerprint_text, tokenize_query
from tests.support.isolation_model import (
    ADMINS,
    READ,
    TEAMS,
    USERS,
    WRITE,
    Reader,
    Tenant,
)
from tests.support.postgres import fresh_database

MODEL = "model/1"
MANY = 10_000
# Texts that would do something if a statement were put together from them, or that a regular
# expression, a format or a path would take for more than a text.
HOSTILE = (
    "'; drop table reverie.memory; --",
    "' or '1'='1",
    "'||(select text from reverie.memory limit 1)||'",
    "x'); delete from memory; commit; --",
    "\\'; set local reverie.readable = '.'; --",
    "\\",
    '"',
    "$$; select 1; $$",
    "%(tenant)s",
    "%s %",
    "$1",
    "{0}",
    "nul\0nul",
    ".*",
    "^",
    "***:.",
    "(?i)a|.",
    "]|[",
    "é\u0301 😀 \u202e",
    "half \ud800",
    "line\nline",
    "%00' /*",
)
# Shared spaces: some that are beginnings of others, and some that mean much to a regular expression.
SHARED = (
    "demo",
    "demo/x",
    "demo2",
    "platform/api",
    "a.b",
    "axb",
    "a|b",
    "(",
    "back\\slash",
    "o'hara'; drop table reverie.memory; --",
    "^",
    "[^~]",
)
PRIVATE = ("~ann", "~ann/demo", "~anna", "~bob/demo", "~cleo")
SPACES = SHARED + PRIVATE
TAGS = ("ops", "o'tag", "tag:x", "%")
IDS = tuple(f"mem_{number:02}" for number in range(7))
RELATIONS = ("relates_to", "supersedes", "contradicts")
READERS = (
    *map(Reader, USERS),
    Reader("ann", spaces=("demo", "a.b"), right=READ),
    Reader("cleo", spaces=("~bob",)),  # a key for what its user may not see opens nothing
    Reader("stranger"),
)
# Everything that has rows of memories; what is derived has no number of rows that a model knows.
COUNTED_TABLES = ("memory", "event", "change", "edge")
DERIVED_TABLES = ("posting", "vector", "pending")
TABLES = (
    *(*COUNTED_TABLES, *DERIVED_TABLES),
    *("cursor", "lease", "meta", "embedder", "counter", "work"),
)

readers = st.sampled_from(READERS)
spaces = st.sampled_from(SPACES)
ids = st.sampled_from(IDS)
tag_sets = st.sets(st.sampled_from(TAGS), max_size=2).map(sorted)
hostile_texts = st.sampled_from(HOSTILE) | st.text(max_size=20)


@pytest.fixture(scope="module")
def url(postgres_server):
    with fresh_database(postgres_server) as url:
        yield url


@pytest.fixture(scope="module")
def database(url):
    """One for all tests of this module: each has tenants of its own, or changes nothing."""
    database = PostgresDatabase(url, max_connections=4)
    database.prepare()
    yield database
    database.close()


class IsolationMachine(RuleBasedStateMachine):
    """Two tenants with the same users and the same ids; everybody looks after every step."""

    runs = count()

    def __init__(self, database):
        super().__init__()
        self.database = database
        # Fresh names instead of an empty database: that is what tenants are for.
        run = next(self.runs)
        self.tenants = {f"acme-{run}": Tenant(), f"rival-{run}": Tenant()}
        self.secrets = count()
        self.steps = count(1)
        self.refusals = []

    def world(self, number):
        """The name and the model of one of the tenants."""
        return list(self.tenants.items())[number]

    def store(self, name, reader):
        rights = rights_of(self.tenants[name], reader)
        return self.database.store(
            name, readable=rights.readable_regex, writable=rights.writable_regex
        )

    def everything(self, name):
        return self.database.store(name)

    def attempt(self, is_allowed, action, *expected):
        """Do it, and hold the refusal, or that there is none, against the model; the result."""
        try:
            result = action()
        except ReverieError as err:
            self.refusals.append(str(err))
            assert not is_allowed, f"refused: {err}"
            assert isinstance(err, expected), repr(err)
            return None
        assert is_allowed, "this should have been refused"
        return result

    @initialize(places=st.lists(spaces, min_size=len(IDS) - 2, max_size=len(IDS) - 2))
    def begin(self, places):
        """Something is there already, and some of it is shared."""
        for number, tenant in enumerate(self.tenants.values()):
            tenant.grants = {
                ("demo", "team", "core"): WRITE,
                ("a.b", "user", "ann"): READ,
                ("demo", "user", "anna"): READ,
            }
            for id, space in zip(IDS, places, strict=False):
                self.put(number, None, id, space, ["ops"])

    @rule(
        number=st.integers(0, 1),
        space=st.sampled_from(SHARED),
        to=st.sampled_from(
            [("user", "ann"), ("user", "bob"), ("team", "core"), ("team", "web"), ("everyone", "")]
        ),
        right=st.integers(0, 3),
    )
    def grant(self, number, space, to, right):
        _, tenant = self.world(number)
        tenant.grants.pop((space, *to), None)
        if right:
            tenant.grants[space, *to] = right

    @rule(number=st.integers(0, 1), reader=readers, id=ids, space=spaces, tags=tag_sets)
    def remember(self, number, reader, id, space, tags):
        self.put(number, reader, id, space, tags)

    def put(self, number, reader, id, space, tags):
        """A new memory of a reader, or of the worker, who may do anything."""
        name, tenant = self.world(number)
        store = self.store(name, reader) if reader else self.everything(name)
        secret = f"heron secret-{next(self.secrets)}"
        memory = make_memory(secret, id=id, tags=tuple(tags))._replace(space=space)
        cause = Event("remember", space, NOON, payload={"text": secret})
        may = reader is None or tenant.may(reader, WRITE, space)
        seq = self.attempt(
            may and id not in tenant.memories,
            lambda: store.apply([Add(memory)], cause),
            *(StoreReadOnly, Conflict),
        )
        if seq:
            tenant.log(seq, space, secret)
            tenant.add(
                id,
                {"text": secret, "space": space, "tags": tags, "kind": "fact", "active": True},
                seq,
            )

    @rule(number=st.integers(0, 1), reader=readers, id=ids, tags=tag_sets)
    def revise(self, number, reader, id, tags):
        secret = f"heron secret-{next(self.secrets)}"
        fields = {"text": secret, "tags": tuple(tags)}
        self.change(number, reader, id, fields, {"text": secret, "tags": tags}, "revise")

    @rule(number=st.integers(0, 1), reader=readers, id=ids, space=spaces)
    def move(self, number, reader, id, space):
        self.change(number, reader, id, {"space": space}, {"space": space}, "revise")

    @rule(number=st.integers(0, 1), reader=readers, id=ids)
    def retire(self, number, reader, id):
        self.change(number, reader, id, {}, {"active": False}, "retire")

    def change(self, number, reader, id, fields, known, op):
        """A revision or retirement, which whoever may write before and after may do."""
        name, tenant = self.world(number)
        memory = tenant.memories.get(id)
        store = self.store(name, reader)
        if memory is None or not tenant.may(reader, READ, memory["space"]):
            # Whether there is such a memory is not told: both are "not found".
            own = f"~{reader.user}"
            may_log = tenant.may(reader, WRITE, own)
            error = NotFound if may_log else (NotFound, StoreReadOnly)
            cause = Event(op, own, NOON)
            with pytest.raises(error) as refused:
                store.apply([Revise(id, fields or {"title": "x"})], cause)
            self.refusals.append(str(refused.value))
            return
        after = fields.get("space", memory["space"])
        cause = Event(op, after, NOON)
        change = Retire(id, at=NOON, why="forgotten") if op == "retire" else Revise(id, fields)
        seq = self.attempt(
            all(tenant.may(reader, WRITE, space) for space in (memory["space"], after)),
            lambda: store.apply([change], cause),
            StoreReadOnly,
        )
        if seq:
            tenant.log(seq, after, None)
            tenant.revise(id, known, seq, op)

    @rule(
        number=st.integers(0, 1),
        reader=readers,
        src=ids,
        dst=ids,
        rel=st.sampled_from(RELATIONS),
        weight=st.sampled_from([0.25, 0.5]),
    )
    def link(self, number, reader, src, dst, rel, weight):
        name, tenant = self.world(number)
        own = f"~{reader.user}"
        seen = tenant.readable(reader)
        lies_in = next((seen[end]["space"] for end in (src, dst) if end in seen), own)
        _, taken_in = tenant.edges.get((src, rel, dst), (0, lies_in))
        edge = Edge(src, rel, dst, weight)
        seq = self.attempt(
            all(tenant.may(reader, WRITE, space) for space in (own, lies_in))
            and taken_in == lies_in,
            lambda: self.store(name, reader).apply([Link(edge)], Event("link", own, NOON)),
            StoreReadOnly,
        )
        if seq:
            tenant.log(seq, own, None)
            tenant.link(edge, lies_in, seq)

    @rule(number=st.integers(0, 1), reader=readers, space=spaces, session=st.sampled_from("ab"))
    def record(self, number, reader, space, session):
        name, tenant = self.world(number)
        secret = f"secret-{next(self.secrets)}"
        event = Event("turn", space, NOON, session=session, payload={"text": secret})
        seqs = self.attempt(
            tenant.may(reader, WRITE, space),
            lambda: self.store(name, reader).append([event]),
            StoreReadOnly,
        )
        if seqs:
            tenant.log(seqs[0], space, secret)

    @rule(number=st.integers(0, 1))
    def record_without_space(self, number):
        """What a worker notes about the tenant as a whole is nobody's to read."""
        name, tenant = self.world(number)
        secret = f"secret-{next(self.secrets)}"
        cause = Event("sleep", "", NOON, payload={"text": secret})
        tenant.log(self.everything(name).append([cause])[0], "", secret)

    @rule(number=st.integers(0, 1), reader=readers)
    def embed(self, number, reader):
        """Vectors of what the reader may write; of others' memories they are not taken."""
        name, tenant = self.world(number)
        writable = {
            id: one
            for id, one in tenant.readable(reader).items()
            if tenant.may(reader, WRITE, one["space"])
        }
        hashes = {id: fingerprint_text(one["text"]) for id, one in tenant.memories.items()}
        vectors = {id: np.eye(1, 8, dtype=np.float32)[0] for id in writable}
        assert self.store(name, reader).put_vectors(MODEL, vectors, hashes) == len(writable)

    @rule(number=st.integers(0, 1), reader=readers, id=ids)
    def purge(self, number, reader, id):
        """What may not be read is not there; what may only be read stays."""
        name, tenant = self.world(number)
        memory = tenant.readable(reader).get(id)
        store = self.store(name, reader)
        if memory is None:
            assert store.purge([id]) == 0
            return
        # Texts in events and ids in other memories are erased too, so all of it must be writable.
        touched = [memory["space"], *tenant.spaces_naming(id)]
        try:
            assert store.purge([id]) == 1
        except StoreReadOnly as err:
            self.refusals.append(str(err))
            assert not all(tenant.may(reader, WRITE, space) for space in touched)
        else:
            assert tenant.may(reader, WRITE, memory["space"])
            tenant.purge(id, reader)

    @invariant()
    def everybody_sees_what_is_theirs(self):
        # Each step one of the readers in each tenant, in turn: all of them would take too long.
        step = next(self.steps)
        for name, tenant in self.tenants.items():
            look_as(self.store(name, READERS[step % len(READERS)]), tenant, READERS[step % 7])

    def teardown(self):
        for name, tenant in self.tenants.items():
            for reader in READERS:
                look_as(self.store(name, reader), tenant, reader)
            kept = self.everything(name).browse(Filter(active=None, limit=MANY))
            assert {m.id: m.text for m in kept} == {
                id: memory["text"] for id, memory in tenant.memories.items()
            }
        told = " ".join(self.refusals)
        assert "secret-" not in told, "an error says what a memory says"


def rights_of(tenant, reader):
    """The reader's rights, as the server works them out of the records."""
    grants = [
        Grant(space=space, kind=kind, grantee=grantee, right=Right(right))
        for (space, kind, grantee), right in tenant.grants.items()
    ]
    teams = [team for team, members in TEAMS.items() if reader.user in members]
    rights = effective_rights(reader.user, grants, teams, is_admin=reader.user in ADMINS)
    return rights.narrowed(KeyScope(spaces=reader.spaces, right=Right(reader.right)))


def look_as(store, tenant, reader):
    """Everything that a reader can ask for, compared with what the model says they may see."""
    seen = tenant.readable(reader)
    look_at_memories(store, tenant, seen)
    assert store.tag_counts(SPACES) == tenant.tag_counts(reader)
    look_at_edges(store, tenant, reader)
    look_at_log(store, tenant, reader)
    look_at_counts(store, tenant, reader)
    look_by_forgetful_statements(store, tenant, reader)


def look_at_memories(store, tenant, seen):
    found = {m.id: m for m in store.browse(Filter(active=None, limit=MANY))}
    assert {id: m.text for id, m in found.items()} == {id: m["text"] for id, m in seen.items()}
    assert {m.id for m in store.get(IDS)} == seen.keys()
    assert set(store.match_ids("0", MANY)) == {id for id in seen if "0" in (id[4], id[-1])}
    active = {id for id, m in seen.items() if m["active"]}
    hits = store.search_words(tokenize_query("heron"), SPACES, MANY)
    assert {id for id, _ in hits} == active
    look_by_ranking(store, seen, active)
    hashes = [fingerprint_text(m["text"]) for m in tenant.memories.values()]
    own = {fingerprint_text(m["text"]) for m in seen.values()}
    assert store.known_vectors(MODEL, hashes).keys() <= own
    assert store.vectors(MODEL, IDS).keys() <= seen.keys()
    assert {id for id, _ in store.unembedded_texts(MANY)} <= seen.keys()


def look_by_ranking(store, seen, active):
    """Candidates and neighbours are the reader's own, and so is every number about them."""
    vector = np.eye(1, 8, dtype=np.float32)[0]
    asked = CandidateRequest(model=MODEL, vector=vector, spaces=SPACES, terms=("heron",), each=MANY)
    pool = store.candidates(asked)
    if pool is not None:
        assert set(pool.ids) <= active
        assert pool.memories == len(seen)
        assert not pool.sessions and set(pool.names) <= {""}
    neighbours = NeighbourRequest(
        model=MODEL,
        ids=("mem_new",),
        vectors=vector[None, :],
        spaces=SPACES,
        floor=0.0,
        limit=MANY,
    )
    assert {near.id for near in store.nearest(neighbours)["mem_new"]} <= active
    assert store.speakers(["user", "Ann"], SPACES) == set()


def look_at_edges(store, tenant, reader):
    visible = tenant.readable_edges(reader)
    nodes = [*IDS, *(f"tag:{tag}" for tag in TAGS)]
    assert set(map(tuple, store.edges(nodes))) == visible
    assert set(map(tuple, store.scan_edges(("", "", ""), MANY))) == visible
    for rel in RELATIONS:
        assert store.has_edges([rel]) == any(edge[1] == rel for edge in visible)
    seen = tenant.readable(reader)
    for src, _, dst, _ in store.edges_around([*seen, *nodes[len(IDS) :]], SPACES, MANY):
        assert src in seen and (dst in seen or dst.startswith("tag:"))
    for src, _, dst, _ in store.edges_between(RELATIONS):
        assert src in seen and dst in seen


def look_at_log(store, tenant, reader):
    visible = tenant.readable_events(reader)
    numbers = [seq for seq, _, _ in visible]
    assert [event.seq for event in store.events(limit=MANY)] == numbers
    assert store.last_event() == max(numbers, default=0)
    hidden = [seq for seq, _, _ in tenant.events if seq not in numbers]
    assert [] == [seq for seq in hidden if store.event(seq) or store.changes_of(seq)]
    said = store.search_events(["turn"], containing=["SECRET"], limit=MANY)
    assert {event.seq for event in said} <= set(numbers)
    spans = store.session_spans(["turn"], limit=MANY)
    assert all(tenant.may(reader, READ, span.space) for span in spans)
    for id in IDS:
        history = [(record.event.seq, record.op) for record in store.history(id)]
        assert history == tenant.readable_history(reader, id)
    seen = tenant.readable(reader)
    assert {record.memory_id for record in store.changes_since(0, SPACES)} <= seen.keys()
    assert {record.event.seq for record in store.changes_after(0)} <= set(numbers)


def look_at_counts(store, tenant, reader):
    seen = tenant.readable(reader)
    stats = store.stats()
    active = [m for m in seen.values() if m["active"]]
    assert stats.memories == len(active)
    assert stats.retired == len(seen) - len(active)
    assert stats.events == len(tenant.readable_events(reader))
    assert stats.edges == len(tenant.readable_edges(reader))
    assert stats.vectors <= len(seen) and stats.waiting <= len(seen)
    assert dict(stats.spaces).keys() == {m["space"] for m in active}
    assert (stats.bytes > 0) == bool(seen or tenant.readable_events(reader) or stats.edges)


def look_by_forgetful_statements(store, tenant, reader):
    """Statements that forget to say the tenant and the spaces find no more than others do."""
    with store.connections.reading() as db:
        found = {
            table: dict(db.fetch_rows(f"select space, count(*) from {table} group by space"))
            for table in (*COUNTED_TABLES, *DERIVED_TABLES)
        }
    for table, counts in found.items():
        assert all(tenant.may(reader, READ, space) for space in counts), table
    assert sum(found["memory"].values()) == len(tenant.readable(reader))
    assert sum(found["event"].values()) == len(tenant.readable_events(reader))
    assert sum(found["edge"].values()) == len(tenant.readable_edges(reader))
    visible = [change for change in tenant.changes if tenant.may(reader, READ, change[3])]
    assert sum(found["change"].values()) == len(visible)


def test_nobody_is_shown_what_is_not_theirs(database):
    """Random histories of several users in two tenants: everybody sees their own and no more."""
    run_state_machine_as_test(
        lambda: IsolationMachine(database),
        settings=settings(
            max_examples=max(1, settings.default.max_examples * 6 // 100),
            stateful_step_count=25,
            # Making a failure smaller would take minutes; the history of the steps is readable.
            phases=[Phase.generate],
        ),
    )


@pytest.fixture(scope="module")
def shared(database):
    """Two tenants with the same memories: ann's own, and one in `demo` that ann may only read."""
    for tenant in ("acme", "rival"):
        store = database.store(tenant)
        for space in ("~ann", "demo", "~bob"):
            text = f"heron of {tenant} in {space}"
            memory = make_memory(text, id=f"mem_{space}", tags=("ops",))._replace(space=space)
            store.apply([Add(memory)], Event("remember", space, NOON, payload={"text": text}))
    return database.store("acme", readable="^(~ann|demo)(/|$)", writable="^~ann(/|$)")


def all_rows(database):
    """Every row of every table of memories, whoever it belongs to."""
    return {
        (tenant, table): store.connections.fetch_rows(
            f"select t::text from {table} t where tenant = %(tenant)s order by 1"
        )
        for tenant in ("acme", "rival")
        for store in [database.store(tenant)]
        for table in (*COUNTED_TABLES, *DERIVED_TABLES)
    }


def test_what_may_only_be_read_cannot_be_taken_away(shared, database):
    """No move into a space of one's own, no edit, no retirement, no purge: and it says so."""
    before = all_rows(database)
    for change in (
        Revise("mem_demo", {"space": "~ann"}),
        Revise("mem_demo", {"text": "mine"}),
        Retire("mem_demo", at=NOON, why="forgotten"),
    ):
        with pytest.raises(StoreReadOnly):
            shared.apply([change], Event("revise", "~ann", NOON))
    with pytest.raises(StoreReadOnly):
        shared.purge(["mem_demo"])
    assert all_rows(database) == before


def test_what_is_hidden_is_as_if_it_were_not_there(shared):
    """The same words for what is somebody else's as for what nobody has."""
    told = []
    for id in ("mem_~bob", "mem_none"):
        with pytest.raises(NotFound) as refused:
            shared.apply([Revise(id, {"text": "x"})], Event("revise", "~ann", NOON))
        told.append(str(refused.value).replace(id, "ID"))
        assert shared.get([id]) == shared.history(id) == shared.edges([id]) == []
        assert shared.purge([id]) == 0
    assert told[0] == told[1]


# Statements of somebody who has the application's role and knows the tables.


class Intruder:
    """A session with the application's role alone, for statements written by hand."""

    def __init__(self, connection):
        self.connection = connection

    def rows(self, statement):
        """What a statement gives, in a transaction of its own that is taken back."""
        with self.connection.transaction(force_rollback=True):
            return self.connection.execute(statement).fetchall()

    def is_refused(self, statement):
        """True if the statement changes nothing: it fails, or there is no row for it."""
        try:
            with self.connection.transaction(force_rollback=True):
                return self.connection.execute(statement).rowcount in (0, -1)
        except psycopg.Error:
            return True


@pytest.fixture
def intruder(shared, url):
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("set session authorization reverie_app")
        connection.execute("set search_path = reverie, public")
        assert connection.execute("show is_superuser").fetchone() == ("off",)
        yield Intruder(connection)


SETTINGS: tuple[dict[str, str], ...] = (
    {},
    {"tenant": ""},
    {"tenant": "acme"},
    {"tenant": "acme", "readable": "", "writable": ""},
    {"readable": ".", "writable": "."},
    {"tenant": "", "readable": "."},
    {"tenant": "nobody", "readable": ".", "writable": "."},
    {"tenant": "*", "readable": ".", "writable": "."},
    {"tenant": "%", "readable": ".*", "writable": ".*"},
    {"tenant": "acme' or true --", "readable": ".", "writable": "."},
    {"tenant": "acme", "readable": "(?!)", "writable": "(?!)"},
)


@pytest.mark.parametrize("given", SETTINGS, ids=str)
def test_without_all_settings_there_is_nothing(intruder, given):
    """Unset, empty, another tenant's: no memory is found, counted, changed or added."""
    for name, value in given.items():
        intruder.connection.execute("select set_config(%s, %s, false)", (f"reverie.{name}", value))
    for table in (*COUNTED_TABLES, *DERIVED_TABLES):
        assert intruder.rows(f"select count(*) from {table}") == [(0,)], table
        assert intruder.is_refused(f"update {table} set tenant = tenant")
        assert intruder.is_refused(f"delete from {table}")
    assert intruder.is_refused(
        "insert into event (tenant, seq, at, verb, space) values ('acme', 99, 0, 'x', 'demo')"
    )
    assert intruder.rows("select count(*) from meta") == [(0,)]


def test_a_setting_of_an_earlier_transaction_is_gone(intruder):
    """What was `set local` reads as empty later in the same session, and empty is nothing."""
    settings = "set local reverie.tenant = 'acme'; set local reverie.readable = '.'"
    with intruder.connection.transaction():
        intruder.connection.execute(settings)
        assert intruder.connection.execute("select count(*) from memory").fetchone() == (3,)
    assert intruder.rows("select count(*) from memory") == [(0,)]


@pytest.mark.parametrize(
    "statement",
    (
        "set row_security = off; select count(*) from memory",
        "alter table memory disable row level security",
        "alter table memory no force row level security",
        "drop policy reading on memory",
        "create policy mine on memory using (true)",
        "truncate memory",
        "drop table memory",
        "alter role reverie_app bypassrls",
        "set role postgres",
        "create function leak() returns trigger language plpgsql as 'begin return new; end'",
        "create table reverie.mine (a integer)",
        "select pg_read_file('postgresql.conf')",
        "copy memory to program 'cat'",
        "insert into schema_version values (99, 99, 'x')",
    ),
)
def test_the_role_cannot_lift_its_own_limits(intruder, statement):
    """Row security is the owner's; the application's role has no way around it."""
    with pytest.raises(psycopg.Error):
        intruder.connection.execute(statement)


def test_planner_statistics_show_no_values(intruder):
    """The samples that PostgreSQL keeps of columns are not for who is held by row security."""
    assert (
        intruder.rows(
            "select tablename from pg_stats where schemaname = 'reverie' and tablename = 'memory'"
        )
        == []
    )
    assert intruder.is_refused("select * from pg_statistic")


# SQL through every text.


@pytest.mark.parametrize("tenant", [*HOSTILE, "", "*", "Acme", "a" * 40, "acme\n"])
def test_no_text_is_a_tenant_by_accident(database, tenant):
    """A tenant's name is checked before it is near a statement."""
    with pytest.raises(BadInput):
        database.store(tenant)


OTHERS = {"mem_~bob"}  # what ann may not read


@settings(max_examples=max(1, settings().max_examples // 4), phases=[Phase.generate])
@given(text=hostile_texts, other=hostile_texts)
def ask_everything(store, text, other):
    """Every text that a store takes, as whoever asks may have written it."""
    spaces = ["~ann", text, f"~ann/{text}"]
    id = f"mem_{text}{new_id()}"
    memory = make_memory("x", id=id)._replace(
        text=f"{text} {other}",
        space="~ann",
        title=text,
        tags=(text, other),
        kind=text,
        session=text,
        speaker=other,
        files=(text,),
        triggers=(text,),
        provenance=text,
        details={text: other, "path": text},
        retired_why=text,
    )
    cause = Event(text, "~ann", NOON, session=text, payload={text: other})
    store.apply([Add(memory)], cause, done=(f"{text}{id}", 1))
    store.apply([Revise(id, {"title": other, "tags": (other,)})], cause)
    store.apply([Link(Edge(id, text, other, 0.5))], cause)
    (kept,) = store.get([clean_text(id)])
    assert kept.space == "~ann" and kept.title == clean_text(other)
    for where in (
        Filter(active=None, limit=MANY),
        Filter(spaces=tuple(spaces)),
        Filter(kinds=(text,)),
        Filter(without=(text,)),
        Filter(tags=(text, other)),
        Filter(session=text),
        Filter(after=text),
        Filter(having=text),
        Filter(paths=(text,)),
        Filter(below=text),
    ):
        assert not {m.id for m in store.browse(where)} & OTHERS
    asked = CandidateRequest(
        model=text,
        vector=np.eye(1, 8, dtype=np.float32)[0],
        spaces=(*spaces, "~bob"),
        terms=(text, other),
        identifiers=(text,),
        kinds=(text,),
        without=(other,),
        tags=(text,),
        not_session=text,
        session_in=(text,),
    )
    store.candidates(asked)
    hits = store.search_words([text, other, "heron"], [*spaces, "~bob"], MANY)
    assert not {id for id, _ in hits} & OTHERS
    assert not set(store.match_ids(text, MANY)) & OTHERS
    store.tag_counts(spaces)
    store.speakers([text, other], spaces)
    store.edges([text], [other])
    store.edges_around([text, f"tag:{text}"], spaces, 10)
    store.edges_between([text], spaces)
    store.has_edges([text])
    store.scan_edges((text, other, text), 10)
    for event in (
        *store.events(verbs=[text], session=text, space=text),
        *store.search_events([text], space=text, containing=[text, other]),
    ):
        assert event.space == "~ann"
    store.event_rows(text, space=text, after=0, until=MANY, limit=10)
    store.session_spans([text], space=text, containing=[other])
    store.history(text)
    store.changes_since(0, spaces)
    assert store.known_vectors(text, [b"'"]) == store.vectors(text, [other]) == {}
    assert store.acquire(text, other, 1.0, NOON) in (True, False)
    store.holder(text, NOON)
    store.release(text, other)
    store.set_meta(text, other)
    assert store.meta(text) == clean_text(other)
    store.advance(text, 1)
    store.cursor(other)
    store.unembedded_texts(10, text)
    store.stats(text)


def test_no_text_is_taken_for_sql(shared, database):
    """Whatever a text says, it is a text: nobody else's rows are read, changed or gone."""

    def others():
        rows = all_rows(database)
        return {
            key: [row for row in found if key[0] == "rival" or "~bob" in row[0]]
            for key, found in rows.items()
        }

    before = others()
    ask_everything(shared)
    assert others() == before
