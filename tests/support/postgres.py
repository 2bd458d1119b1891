# mypy: no-check-untyped-defs
"""PostgreSQL for tests: one server for a test run, and an empty database for each test.

`postgres_url` is what most tests want. The processes of a test run (pytest-xdist) share the server:
the first that needs it starts it, and the last that ends shuts it down and removes it. A test that
wants to kill a server, or to start one with other settings, asks for `postgres_folder` and starts
one of its own there.

`citus_url` is a tenant of its own in a database that is spread over three nodes. It needs Citus, which
is built once (`python -m tools.citus_build`); where that cannot be, its tests are skipped and say why.

The server is fast and forgets everything if the machine stops (`fsync = off`); a killed process
loses nothing by that. Roles belong to the server and not to a database, so all tests share them.
"""

import os
import shutil
import socket
import tempfile
from contextlib import closing, contextmanager, suppress
from itertools import count
from pathlib import Path
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from reverie.core.clock import new_id
from reverie.core.errors import ExtraMissing
from reverie.storage.embedded_postgres import EmbeddedPostgres, find_installation, hold_lock
from reverie.storage.postgres import PostgresDatabase
from tests.support.statement_plans import PlanReader, reading_plans
from tools.citus_build import CitusUnavailable, build_citus
from tools.citus_cluster import CitusCluster

FAST = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "300",
}
# A shard that moves takes along what its node has written to its log: without waiting for that, the
# last moments' commits stay behind (one move in sixteen).
MOVABLE = {**FAST, "synchronous_commit": "on"}


SHARDS = 4  # few are made and dropped sooner, and two workers have some each
# Below those that a system gives to whoever connects somewhere: one of these is not taken meanwhile
# by a connection of another test.
PORTS = range(11_000, 30_000)
ports_told = count()


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory):
    """The URL of the administrator of the test run's server."""
    require_postgres()
    shared = shared_folder(tmp_path_factory)
    with hold_lock(shared / "postgres.lock"):
        folder, port = recorded_place(shared / "postgres.place")
        server = EmbeddedPostgres(folder, port=port, settings=FAST)
        url = server.start()
    yield url
    with hold_lock(shared / "postgres.lock"):
        if server.stop():
            shutil.rmtree(folder)


@pytest.fixture
def postgres_url(postgres_server):
    """The URL of an empty database, dropped afterwards. Who connects there may do anything."""
    with fresh_database(postgres_server) as url:
        yield url


@pytest.fixture
def postgres_folder():
    """A folder for a server of the test's own: a short path that the user nobody may reach."""
    require_postgres()
    folder = reachable_folder()
    yield folder / "postgres"
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def citus_cluster(tmp_path_factory):
    """The test run's cluster: a coordinator and two workers."""
    installation = require_citus()
    shared = shared_folder(tmp_path_factory)
    with hold_lock(shared / "citus.lock"):
        folder, _ = recorded_place(shared / "citus.place")
        cluster = CitusCluster(folder, installation, settings=MOVABLE)
        cluster.start()
    yield cluster
    with hold_lock(shared / "citus.lock"):
        if cluster.stop():
            shutil.rmtree(folder)


@pytest.fixture
def citus_folder():
    """A PostgreSQL with Citus, and a folder for a cluster of the test's own."""
    installation = require_citus()
    folder = reachable_folder()
    yield installation, folder
    shutil.rmtree(folder)


@pytest.fixture
def citus_database(citus_cluster):
    """The URL of an empty database on all nodes of the cluster."""
    name = new_id("test")
    yield create_on_cluster(citus_cluster, name)
    citus_cluster.drop_database(name)


def create_on_cluster(cluster, name):
    """The URL of a new database on all nodes."""
    with setting_up_cluster():
        return cluster.create_database(name)


@pytest.fixture(scope="session")
def spread_database(citus_cluster):
    """The URL of a database with the tables of Reverie, spread over the cluster; for many tests."""
    name = new_id("test")
    url = create_on_cluster(citus_cluster, name)
    spread_tables(url)
    yield url
    citus_cluster.drop_database(name)


@pytest.fixture(scope="session")
def plan_reader():
    """The plans of all statements that the tests of this process have sent to the cluster."""
    return PlanReader()


@pytest.fixture
def citus_url(spread_database, plan_reader):
    """The URL of a store that nobody else uses: a new tenant. No statement may go to two shards."""
    known = set(plan_reader.wrong)
    with reading_plans(plan_reader):
        yield fresh_tenant(spread_database)
    assert {} == {text: why for text, why in plan_reader.wrong.items() if text not in known}


def fresh_tenant(url):
    """The URL of a tenant in a database that nobody has used yet."""
    parts = urlsplit(url)
    others = [(name, value) for name, value in parse_qsl(parts.query) if name != "tenant"]
    tenant = ("tenant", new_id("t").replace("_", "-"))
    return parts._replace(query=urlencode([*others, tenant])).geturl()


def spread_tables(url):
    """Create the tables of Reverie in a database of a cluster, and spread them over its nodes."""
    with setting_up_cluster(), closing(PostgresDatabase(url)) as database:
        database.prepare()
        database.distribute(shard_count=SHARDS)


@contextmanager
def setting_up_cluster():
    """One process at a time: nodes and roles are those of all databases of a cluster, and two that
    change them at once get in each other's way.
    """
    with hold_lock(Path(tempfile.gettempdir()) / f"reverie-citus-{os.getuid()}.lock"):
        yield


def require_citus():
    """The PostgreSQL with Citus; skips the test where it cannot be built."""
    require_postgres()
    try:
        return build_citus()
    except CitusUnavailable as err:
        pytest.skip(str(err))


def require_postgres():
    """Skip the test where the wheel with PostgreSQL cannot be had."""
    try:
        find_installation()
    except ExtraMissing as err:
        pytest.skip(str(err))


@contextmanager
def fresh_database(admin_url, template="template1"):
    """The URL of a new database on a server; it is dropped after the block."""
    import psycopg

    name = new_id("test")
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(f"create database {name} template {template}".encode())
        yield urlsplit(admin_url)._replace(path=f"/{name}").geturl()
        # Connections of whoever was killed or has not closed its pool end here.
        admin.execute(f"drop database {name} with (force)".encode())


def read_postmaster(server):
    """The first process of a server, by its own record."""
    return int((server.data / "postmaster.pid").read_text().split("\n", 1)[0])


def shared_folder(tmp_path_factory):
    """The folder that the processes of one test run share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


def recorded_place(record):
    """Folder and port of a server, as the first process of the test run chose them."""
    if not record.exists():
        record.write_text(f"{reachable_folder()}\n{free_port()}")
    folder, port = record.read_text().splitlines()
    return Path(folder), int(port)


def reachable_folder():
    """A new folder with a short path that every user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="reverie-"))
    folder.chmod(0o711)
    return folder


def free_port():
    """A port that nobody listens on just now, and that no other process of the tests was told."""
    first = os.getpid() * 1_009
    for _ in PORTS:
        port = PORTS[(first + next(ports_told)) % len(PORTS)]
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    return pytest.fail("every port is taken")
