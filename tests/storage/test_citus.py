# mypy: no-check-untyped-defs
"""Tables spread over three nodes of Citus: what a store promises holds there, and goes on holding
while tenants move and nodes die. The contract of every store is in test_store_contract.py.
"""

import os
import signal
import threading
import time
from contextlib import closing, contextmanager

import psycopg
import pytest

import reverie
from reverie.core.config import Settings
from reverie.core.errors import ReverieError, StoreError
from reverie.core.model import Add
from reverie.embedding.toy import ToyEmbedder
from reverie.storage import open_store
from reverie.storage.postgres import PostgresDatabase
from reverie.testing import SPACE, Clock, make_event, make_memory
from tests.support.postgres import fresh_tenant, read_postmaster, setting_up_cluster, spread_tables
from tests.support.statement_plans import judge_plan, read_plan
from tools.citus_cluster import CitusCluster

DURABLE = {"shared_buffers": "32MB"}


def ask(url, question, *values):
    with psycopg.connect(url, autocommit=True) as db:
        return db.execute(question, values).fetchall()


def tenant_of(url):
    return url.rpartition("tenant=")[2]


def node_of(url, tenant):
    """The socket of the worker that holds a tenant's rows."""
    place = """
        select nodename from pg_dist_placement p
        join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
        where shardid = get_shard_id_for_distribution_column('reverie.counter', %s::text)
    """
    ((node,),) = ask(url, place, tenant)
    return node


# How the tables are spread


def test_every_table_lies_with_its_tenant(citus_database):
    """All tables that have a tenant are spread by it and lie together; nothing is left to spread."""
    spread_tables(citus_database)
    tables = """
        select table_name::text, citus_table_type, distribution_column, colocation_id
        from citus_tables
    """
    rows = ask(citus_database, tables)
    spread = [row for row in rows if row[1] == "distributed"]
    assert {"tenant"} == {column for _, _, column, _ in spread}
    assert 1 == len({group for *_, group in spread})
    assert {"memory", "event", "vector"} <= {name.rpartition(".")[2] for name, *_ in spread}
    kept = "select tablename from pg_tables where schemaname = 'reverie'"
    assert len(rows) == len(ask(citus_database, kept))
    with setting_up_cluster(), closing(PostgresDatabase(citus_database)) as database:
        assert [] == database.distribute()


def test_what_a_database_holds_moves_along(citus_database):
    """One PostgreSQL becomes a cluster: the schema is the same and every memory is there."""
    url = fresh_tenant(citus_database)
    with closing(open_store(url)) as store:
        kept = [make_memory(f"The host number {number} is a heron.") for number in range(20)]
        store.apply([Add(each) for each in kept], make_event())
        before = list(store.dump())
    spread_tables(citus_database)
    with closing(open_store(url)) as store:
        assert before == list(store.dump())
        assert [] == [problem.message for problem in store.verify()]
        store.apply([Add(make_memory("One more."))], make_event())
    left = "select count(*) from only reverie.memory"
    with psycopg.connect(citus_database) as db:
        db.execute("set citus.enable_ddl_propagation = off")
        size = "select pg_relation_size('reverie.memory')"
        assert db.execute(size).fetchone() == (0,), left


def test_rows_that_a_policy_hides_are_not_lost(citus_database):
    """Who is held by row security cannot spread the tables: the hidden rows would not be copied."""
    url = fresh_tenant(citus_database)
    with closing(open_store(url)) as store:
        store.apply([Add(make_memory("The staging server is called heron."))], make_event())
    role = f"owner_{tenant_of(url).replace('-', '_')}"
    name = citus_database.partition("@/")[2].partition("?")[0]
    with setting_up_cluster(), psycopg.connect(citus_database, autocommit=True) as db:
        db.execute(f"create role {role} login createrole")
        db.execute(f"grant reverie_app to {role} with admin option")
        db.execute(f"alter database {name} owner to {role}")
        db.execute(f"alter schema reverie owner to {role}")
        for (table,) in db.execute(
            "select tablename from pg_tables where schemaname = 'reverie'"
        ).fetchall():
            db.execute(f"alter table reverie.{table} owner to {role}")
    held = citus_database.replace("postgres@", f"{role}@", 1)
    with (
        setting_up_cluster(),
        closing(PostgresDatabase(held)) as database,
        pytest.raises(StoreError),
    ):
        database.distribute()
    with psycopg.connect(citus_database) as db:
        assert db.execute("select count(*) from reverie.memory").fetchone() == (1,)
        assert db.execute("select count(*) from pg_dist_partition").fetchone() == (0,)


def test_a_database_without_citus_says_what_is_missing(postgres_url):
    with closing(PostgresDatabase(postgres_url)) as database:
        database.prepare()
        with pytest.raises(StoreError, match="create extension citus"):
            database.distribute()


# Where statements go


def test_no_statement_of_a_mind_fans_out(citus_url, plan_reader, tmp_path):
    """Remembering, recalling, sleeping, undoing and purging ask one shard at a time."""
    settings = Settings(home=tmp_path / "home", embedder="toy")
    with reverie.open(citus_url, settings=settings, embedder=ToyEmbedder(), now=Clock()) as mind:
        kept = mind.remember("The staging server is called heron.", space=SPACE, tags=["hosts"])
        gone = mind.remember("The old staging server was called egret.", space=SPACE)
        mind.settle()
        # The first time the database searches, then this process in what it keeps in memory.
        for _ in range(3):
            assert kept.id == mind.recall("which host is staging?", space=SPACE)[0].memory.id
        assert [kept.id] == [
            hit.memory.id for hit in mind.recall("the host", space=SPACE, tags=["hosts"])
        ]
        mind.revise(kept.id, text="The staging server is called stork.")
        assert mind.recall("which host is staging?", space=SPACE)
        mind.forget(gone.id)
        mind.restore(gone.id)
        mind.settle()
        assert mind.recall("which host is staging?", space=SPACE)
        mind.sleep()
        mind.data.purge(gone.id)
        assert [] == mind.data.verify()
        assert mind.data.stats().memories == 1
    # The fixture `citus_url` fails if one of them goes to two shards.
    assert len(plan_reader.spread) > 40


def test_a_statement_that_fans_out_is_seen(spread_database):
    with psycopg.connect(spread_database) as db:
        db.execute("set search_path = reverie, public")
        judge = lambda statement: judge_plan(read_plan(db.cursor(), statement))
        assert "" == judge("select count(*) from memory where tenant = 'acme'")
        assert "4 shards" in judge("select count(*) from memory")
        assert "coordinator" in judge(
            "insert into meta select 'acme', name, '' from unnest(array['a', 'b']) as t (name)"
        )


# Who sees what on the nodes


def test_hand_written_sql_sees_nothing_on_any_node(citus_url, spread_database, citus_cluster):
    """Row security holds on the shards themselves, for whoever connects to a worker directly."""
    with closing(open_store(citus_url)) as store:
        store.apply([Add(make_memory("The staging server is called heron."))], make_event())
    name = spread_database.partition("@/")[2].partition("?")[0]
    for node in citus_cluster.nodes:
        url = node.url_of(name).replace("postgres@", "reverie_app@", 1)
        assert ask(url, "select count(*) from reverie.memory") == [(0,)]
        shards = ask(
            url,
            "select shard_name from citus_shards"
            " where table_name::text = 'reverie.memory' and nodename = %s",
            str(node.socket),
        )
        with psycopg.connect(url) as db:
            db.execute("set citus.override_table_visibility = off")
            for (shard,) in shards:
                assert db.execute(f"select count(*) from {shard}".encode()).fetchone() == (0,)


# What happens meanwhile


class SteadyWriter(threading.Thread):
    """Keeps one memory after the other until it is told to stop; knows which were acknowledged."""

    def __init__(self, url):
        super().__init__(daemon=True)
        self.url = url
        self.acknowledged = []
        self.refused = 0
        self.is_stopping = threading.Event()

    def run(self):
        with closing(open_store(self.url)) as store:
            while not self.is_stopping.is_set():
                made = make_memory(f"Line number {len(self.acknowledged)}.")
                try:
                    store.apply([Add(made)], make_event())
                except ReverieError:
                    self.refused += 1
                    time.sleep(0.05)
                else:
                    self.acknowledged.append(made.id)

    def wait_for(self, more, seconds=120):
        """Wait until it has kept so many more."""
        wanted, end = len(self.acknowledged) + more, time.monotonic() + seconds
        while len(self.acknowledged) < wanted:
            assert time.monotonic() < end, "nothing is written any more"
            time.sleep(0.01)


@contextmanager
def writing(url):
    writer = SteadyWriter(url)
    writer.start()
    try:
        yield writer
    finally:
        writer.is_stopping.set()
        writer.join(120)


def check_nothing_lost(url, writer):
    with closing(open_store(url)) as store:
        kept = {found.id for found in store.get(writer.acknowledged)}
        assert [] == [id for id in writer.acknowledged if id not in kept]
        assert [] == [problem.message for problem in store.verify()]


@pytest.mark.slow
def test_a_tenant_moves_to_a_node_of_its_own_while_it_is_written(citus_database):
    spread_tables(citus_database)
    url = fresh_tenant(citus_database)
    tenant = tenant_of(url)
    with writing(url) as writer:
        writer.wait_for(20)
        before = node_of(citus_database, tenant)
        ((shard,),) = ask(
            citus_database,
            "select isolate_tenant_to_new_shard('reverie.counter', %s::text, 'cascade',"
            " shard_transfer_mode => 'block_writes')",
            tenant,
        )
        workers = ask(
            citus_database, "select node_name, node_port from citus_get_active_worker_nodes()"
        )
        source, target = sorted(workers, key=lambda node: node[0] != before)
        ask(
            citus_database,
            "select citus_move_shard_placement(%s, %s, %s, %s, %s, 'force_logical')",
            shard,
            *source,
            *target,
        )
        writer.wait_for(20)
    assert target[0] == node_of(citus_database, tenant) != before
    check_nothing_lost(url, writer)


@pytest.mark.slow
def test_shards_go_to_a_new_node_while_they_are_written(citus_folder):
    installation, folder = citus_folder
    cluster = CitusCluster(folder, installation, workers=2, settings=DURABLE)
    cluster.start()
    try:
        database = cluster.create_database("reverie", workers=1)
        spread_tables(database)
        urls = [fresh_tenant(database) for _ in range(3)]
        with writing(urls[0]) as one, writing(urls[1]) as two, writing(urls[2]) as three:
            one.wait_for(10)
            cluster.add_worker("reverie", cluster.workers[1])
            ask(
                database,
                "select citus_rebalance_start(shard_transfer_mode => 'force_logical')",
            )
            ask(database, "select citus_rebalance_wait()")
            for writer in (one, two, three):
                writer.wait_for(10)
        nodes = "select distinct nodename from citus_shards where citus_table_type = 'distributed'"
        assert 2 == len(ask(database, nodes))
        for url, writer in zip(urls, (one, two, three), strict=True):
            check_nothing_lost(url, writer)
    finally:
        cluster.stop()


@pytest.mark.slow
def test_a_node_is_killed_while_it_is_written(citus_folder):
    """What was acknowledged is there afterwards, others go on meanwhile, and so does it by itself
    when the node is back.
    """
    installation, folder = citus_folder
    cluster = CitusCluster(folder, installation, settings=DURABLE)
    cluster.start()
    try:
        database = cluster.create_database("reverie")
        spread_tables(database)
        first = fresh_tenant(database)
        node = node_of(database, tenant_of(first))
        others = iter(lambda: fresh_tenant(database), None)
        second = next(url for url in others if node_of(database, tenant_of(url)) != node)
        killed = next(worker for worker in cluster.workers if str(worker.socket) == node)
        with writing(first) as writer, writing(second) as other:
            writer.wait_for(20)
            os.kill(read_postmaster(killed), signal.SIGKILL)
            other.wait_for(20)
            stood_at = len(writer.acknowledged)
            time.sleep(1)
            assert len(writer.acknowledged) <= stood_at + 1
            killed.start()
            writer.wait_for(20)
        assert writer.refused
        assert not other.refused
        check_nothing_lost(first, writer)
        check_nothing_lost(second, other)
    finally:
        cluster.stop()
