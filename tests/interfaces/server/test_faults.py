# mypy: no-check-untyped-defs
"""What is acknowledged stays, nothing is done twice, and all goes on by itself.

Real processes are killed in the middle of a load: the server, a worker, PostgreSQL. Nobody tidies
up afterwards; where a claim of the dead must run out, the test lets its minutes pass in the table.
"""

import itertools
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import closing, contextmanager
from itertools import count

import httpx
import psycopg
import pytest

from reverie.core import clock
from reverie.core.clock import sleep, ticks
from reverie.embedding.toy import ToyEmbedder
from reverie.interfaces.server.server_worker import CLAIM_SECONDS, ServerWorker
from reverie.storage.embedded_postgres import EmbeddedPostgres
from reverie.storage.postgres import PostgresDatabase
from tests.support.postgres import free_port
from tests.support.team_server import Team

PATIENCE = 300.0  # seconds until something must have happened by itself
CLIENTS = 3
MODEL = ToyEmbedder().model


def wait_until(is_so, what):
    """Return as soon as it is so."""
    end = ticks() + PATIENCE
    while not is_so():
        assert ticks() < end, f"{what}: not within {PATIENCE:.0f} s"
        sleep(0.05)


racks = itertools.count(1)


def name_rack():
    """Something that no other memory says."""
    return f"{next(racks) * 7_919 % 2**24:06x}"


def environment(home, url):
    """What an operator sets."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "REVERIE_HOME": str(home),
        "REVERIE_EMBEDDER": "toy",
        "REVERIE_SERVER_DATABASE": url,
    }


class Site:
    """A database, and processes of `reverie server` that work on it."""

    def __init__(self, url, home):
        self.url, self.env = url, environment(home, url)
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.processes = []
        database = PostgresDatabase(url)
        with closing(database):
            database.prepare()
            self.key = Team(database, self.address, None).founded.key.token

    def start(self, *words):
        """A process of `reverie server`."""
        process = subprocess.Popen(
            [sys.executable, "-m", "reverie", "server", *words],
            env=self.env,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process

    def serve(self, workers=0):
        """A server, once it answers."""
        words = ("--port", str(self.port), "--workers-inside", str(workers))
        process = self.start("start", *words)
        wait_until(self.is_ready, "the server is ready")
        return process

    def is_ready(self):
        try:
            return httpx.get(f"{self.address}/readyz", timeout=30).status_code == 200
        except httpx.HTTPError:
            return False

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


@contextmanager
def site_at(url, home):
    site = Site(url, home)
    try:
        yield site
    finally:
        site.end()


def kill(process):
    """SIGKILL: it has no chance to say goodbye."""
    process.send_signal(signal.SIGKILL)
    process.wait()


class Load:
    """Clients that write and read as long as the block lasts, and what was acknowledged."""

    def __init__(self, site):
        self.site = site
        self.acknowledged = {}  # id → text
        self.failures = []
        self.numbers = count()
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self.write) for _ in range(CLIENTS)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def write(self):
        headers = {"Authorization": f"Bearer {self.site.key}"}
        with httpx.Client(base_url=self.site.address, headers=headers, timeout=PATIENCE) as client:
            while not self._stop.is_set():
                text = f"Host number {next(self.numbers)} stands in rack {name_rack()}."
                try:
                    answer = client.post("/v1/remember", json={"text": text, "space": "me/demo"})
                    if answer.status_code == 200:
                        self.acknowledged[answer.json()["result"]["id"]] = text
                        client.post("/v1/recall", json={"query": text, "space": "me/demo"})
                        continue
                    self.failures.append(answer.status_code)
                except httpx.HTTPError as err:
                    self.failures.append(type(err).__name__)
                sleep(0.1)

    def wait_for_more(self, more=10):
        """Let it run until so many more are acknowledged."""
        wanted = len(self.acknowledged) + more
        wait_until(lambda: len(self.acknowledged) >= wanted, "more is acknowledged")


def let_claims_run_out(url):
    """Let the minutes pass for which a dead worker still holds a tenant."""
    with psycopg.connect(url) as db:
        db.execute("update reverie.work set until = until - %s where until > 0", [CLAIM_SECONDS])
        db.execute("update reverie.lease set until = until - %s", [CLAIM_SECONDS])


def assert_all_is_well(site, load):
    """Everything that was acknowledged is there, once; each event was settled, once; no damage."""
    with closing(PostgresDatabase(site.url)) as database:
        store = database.store("acme")
        wait_until(lambda: not database.list_waiting(), "workers have read every event")
        kept = {memory.id: memory.text for memory in store.get(list(load.acknowledged))}
        assert kept == load.acknowledged
        assert_settled_once(store)
        assert [] == store.verify()


def assert_settled_once(store):
    """Each memory was added once, has one vector, and was reconciled once."""
    everything = 1_000_000
    added = [record.memory_id for record in store.changes_after(0) if record.op == "add"]
    assert len(added) == len(set(added))
    stats = store.stats(MODEL)
    assert (stats.waiting, stats.vectors) == (0, stats.memories + stats.retired)
    settled = [
        event.payload["event"] for event in store.events(verbs=("reconcile",), limit=everything)
    ]
    assert settled and len(settled) == len(set(settled))
    assert [] == store.events(verbs=("failed",), limit=everything)


@pytest.mark.slow
def test_a_killed_server_loses_nothing(postgres_url, tmp_path):
    """SIGKILL in the middle of writing: the next one serves what the clients were promised."""
    with site_at(postgres_url, tmp_path) as site:
        server = site.serve(workers=1)
        with Load(site) as load:
            load.wait_for_more()
            kill(server)
            let_claims_run_out(site.url)
            site.serve(workers=1)
            load.wait_for_more()
        assert load.failures
        assert_all_is_well(site, load)


@pytest.mark.slow
def test_a_killed_worker_is_replaced(postgres_url, tmp_path):
    """A worker is killed at work: the next one does the rest, and nothing again."""
    with site_at(postgres_url, tmp_path) as site:
        site.serve()
        worker = site.start("worker")
        with Load(site) as load:
            wait_until(lambda: holder_of(site.url), "a worker is at work")
            kill(worker)
            site.start("worker")
            load.wait_for_more()
        let_claims_run_out(site.url)
        assert not load.failures
        assert_all_is_well(site, load)


def holder_of(url):
    """Whether a worker has claimed the tenant."""
    with psycopg.connect(url) as db:
        return db.execute("select 1 from reverie.work where worker <> ''").fetchone()


@pytest.mark.slow
def test_a_killed_database_comes_back_and_so_does_everything(postgres_folder, tmp_path):
    """SIGKILL of PostgreSQL: server and worker wait for it, and need no restart themselves."""
    with (
        EmbeddedPostgres(postgres_folder, port=free_port()) as postgres,
        site_at(postgres.url, tmp_path) as site,
    ):
        server = site.serve(workers=1)
        with Load(site) as load:
            load.wait_for_more()
            pid = int((postgres.data / "postmaster.pid").read_text().split("\n", 1)[0])
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: not postgres.is_running(), "PostgreSQL is gone")
            postgres.start()
            load.wait_for_more()
        let_claims_run_out(site.url)
        assert server.poll() is None
        assert_all_is_well(site, load)
        site.end()


@pytest.mark.slow
def test_a_cut_connection_costs_the_answer_and_nothing_else(postgres_url, tmp_path):
    """A client that is cut off before its answer finds its memory there, once, when it looks."""
    with site_at(postgres_url, tmp_path) as site:
        site.serve(workers=1)
        body = b'{"text": "The staging server is called heron.", "space": "me/demo"}'
        head = (
            f"POST /v1/remember HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {site.key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        ).encode()
        for sent in (head + body[:20], head + body):
            with socket.create_connection(("127.0.0.1", site.port)) as connection:
                connection.sendall(sent)
                if sent.endswith(body):
                    wait_until(lambda: texts_of(site), "the request was dealt with")
        assert texts_of(site) == ["The staging server is called heron."]
        assert site.is_ready()


def texts_of(site):
    """The texts of all memories."""
    with psycopg.connect(site.url) as db:
        return [text for (text,) in db.execute("select text from reverie.memory")]


@pytest.fixture
def office(postgres_url):
    """A team without a web server."""
    with closing(PostgresDatabase(postgres_url)) as database:
        database.prepare()
        yield Team(database, "http://127.0.0.1", ToyEmbedder())


def make_worker(office, off=0.0):
    """A worker whose clock is off by so many seconds."""
    deployment = office.deployment
    return ServerWorker(
        office.database,
        office.control,
        deployment.embedder,
        deployment.settings,
        lambda: clock.now() + off,
    )


def remember(office, count):
    from reverie import Mind

    mind = Mind(office.database.store("acme"), None, office.deployment.settings)
    for number in range(count):
        mind.remember(f"Host {number} stands in rack {name_rack()}.", space="~boss/demo")


@pytest.mark.parametrize("off", [3_600.0, -3_600.0])
def test_a_worker_whose_clock_is_wrong_does_nothing_twice(office, off):
    """Two workers on one tenant, one an hour off: each event is still settled once."""
    workers = [make_worker(office), make_worker(office, off)]
    threads = [threading.Thread(target=worker.run) for worker in workers]
    for thread in threads:
        thread.start()
    for _ in range(3):
        remember(office, 10)
        sleep(0.2)
    wait_until(lambda: not office.database.list_waiting(), "every event is settled")
    for worker in workers:
        worker.stop()
    for thread in threads:
        thread.join()
    store = office.database.store("acme")
    assert store.stats().memories + store.stats().retired == 30
    assert_settled_once(store)


@pytest.mark.parametrize("off", [3_600.0, -3_600.0])
def test_what_a_worker_with_a_wrong_clock_left_is_taken_over(office, off):
    """It died with a claim until an hour from now: nobody waits for that hour."""
    remember(office, 3)
    now = clock.now()
    assert office.database.claim_tenant("dead", CLAIM_SECONDS, now + off) == "acme"
    office.database.store("acme").acquire("settle", "dead", 30.0, now + off)
    worker = make_worker(office)
    while worker.work_once():
        pass
    assert [] == office.database.list_waiting()
    assert_settled_once(office.database.store("acme"))


def test_two_on_one_lease_settle_once(office):
    """A worker that slept through its claim finds that the other has done its work."""
    remember(office, 20)
    store = office.database.store("acme")
    barrier = threading.Barrier(2)

    def settle(worker):
        barrier.wait()
        # Without a claim, as if both believed that they had it.
        worker.settle(store)

    workers = [make_worker(office), make_worker(office, off=40.0)]
    threads = [threading.Thread(target=settle, args=[worker]) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    make_worker(office).settle(store)
    assert_settled_once(store)
