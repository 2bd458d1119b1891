"""What a tenant costs, and many tenants at once on one PostgreSQL and on Citus with 1, 2, 3 workers.
`python -m bench.postgres.scale`

Every tenant gets the same number of memories with vectors. Then clients in a few processes take
tenants by chance: seven in ten calls recall, two remember, one browses. Reported are throughput,
latency, errors, the most connections at once, what a tenant takes on disk, the statements that a
call sends, and the processor time that each node's processes and the clients took: with few cores,
or busy ones, the work of a node says more than wall time. How busy the machine was is told by its
load before and after, and by a bare round trip to the server, measured five times a second
meanwhile.

`--written 4` writes four tenants as clients do and has the database copy them to the others
(`tenant_copies`), `--multiplied 5000` writes so many memories of one tenant and multiplies them;
the result says so. `--tenants 200 --memories 5000 --clients 32 --seconds 300 --written 4` is the
measurement of a large team.
"""

import argparse
import os
import random
import resource
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from bench.common import Texts, percentile, save, table, timed
from bench.postgres.tenant_copies import copy_tenants, multiply_memories
from reverie.core.config import Settings
from reverie.core.errors import ReverieError
from reverie.core.model import Memory
from reverie.embedding.toy import ToyEmbedder
from reverie.runtime.mind import Mind
from reverie.storage.embedded_postgres import EmbeddedPostgres
from reverie.storage.postgres import PostgresDatabase
from reverie.storage.postgres.vector_search import ensure_vector_indexes, find_crowded_models
from reverie.text.tokenization import fingerprint_text
from tools.citus_build import CitusUnavailable, build_citus
from tools.citus_cluster import CitusCluster

SPACE = "demo"
BATCH = 500
PROCESSES = 2
WORKERS = (1, 2, 3)
# What the data of so many tenants needs to lie in memory; the rest as PostgreSQL has it.
SETTINGS = {
    "shared_buffers": "256MB",
    "max_connections": "300",
    "maintenance_work_mem": "1GB",
    "max_wal_size": "4GB",  # or filling would be one checkpoint after another
}


class Load(NamedTuple):
    """What is measured."""

    tenants: int
    memories: int  # in each tenant
    clients: int
    seconds: float
    written: int = 0  # tenants that are written, and copied to the others; 0: all are written
    multiplied: int = 0  # memories that are written of a tenant, and multiplied; 0: all are


class Calls(NamedTuple):
    """What the clients of one process did."""

    seconds: dict[str, list[float]]  # verb → of each call
    errors: list[str]
    first: float  # seconds of a first recall, which counts the spaces that it reads


def tenant_name(number: int) -> str:
    return f"t{number:04}"


@contextmanager
def open_mind(database: PostgresDatabase, number: int) -> Iterator[Mind]:
    settings = Settings(home=Path(tempfile.gettempdir()) / "reverie-bench", embedder="toy")
    yield Mind(database.store(tenant_name(number)), ToyEmbedder(), settings)


def fill(url: str, load: Load) -> dict[str, float]:
    """Give every tenant its memories; how fast, and how many were written by a client."""
    written = min(load.tenants, load.written or load.tenants)
    each = min(load.memories, load.multiplied or load.memories)
    begin = time.perf_counter()
    with closing(PostgresDatabase(url)) as database:
        for number in range(written):
            with open_mind(database, number) as mind:
                # Copied tenants differ; where all are written, they have the same texts.
                texts = Texts(1 + number if load.written else 1).many(each)
                for start in range(0, len(texts), BATCH):
                    items = [{"text": text} for text in texts[start : start + BATCH]]
                    put_vectors(mind, mind.remember_many(items, space=SPACE))
        seconds = time.perf_counter() - begin
        copying = time.perf_counter()
        if each < load.memories or written < load.tenants:
            copy_the_rest(database, load, written, each)
        copying = time.perf_counter() - copying
    copied = load.tenants * load.memories - written * each
    return {
        "memories_written": written * each,
        "memories_filled_per_second": written * each / seconds,
        "memories_copied_by_the_database": copied,
        "memories_copied_per_second": copied / copying,
    }


def copy_the_rest(database: PostgresDatabase, load: Load, written: int, each: int) -> None:
    """Have the database make what was not written, and the index that a large space needs."""
    names = [tenant_name(number) for number in range(load.tenants)]
    with database.pool.own_connection() as db:
        if each < load.memories:
            for name in names[:written]:
                multiply_memories(db, name, load.memories)
        copy_tenants(db, names[:written], names[written:])
        db.execute("vacuum analyze")
    with database.store(names[0]).connections.reading() as reading:
        crowded = find_crowded_models(reading)
    with database.pool.own_connection() as db:
        for model, dims in crowded:
            ensure_vector_indexes(db, model, dims)


def put_vectors(mind: Mind, kept: list[Memory]) -> None:
    """The vectors of new memories; reconciling made-up texts would only take time."""
    embedder = ToyEmbedder()
    made = embedder.embed([memory.text for memory in kept])
    ids = [memory.id for memory in kept]
    hashes = {memory.id: fingerprint_text(memory.text) for memory in kept}
    mind.store.put_vectors(embedder.model, dict(zip(ids, made, strict=True)), hashes)


def call_until(url: str, load: Load, clients: int, seed: int) -> Calls:
    """Clients of one process, one thread each, until the time is over."""
    texts = Texts(1).many(min(load.memories, load.multiplied or load.memories))

    def work(number: int, database: PostgresDatabase) -> None:
        rng = random.Random(f"{seed}/{number}")
        while time.perf_counter() < end:
            verb = rng.choices(("recall", "remember", "browse"), (7, 2, 1))[0]
            with open_mind(database, rng.randrange(load.tenants)) as mind:
                begin = time.perf_counter()
                try:
                    call(mind, verb, rng.choice(texts))
                except ReverieError as err:
                    calls.errors.append(f"{verb}: {err}")
                calls.seconds.setdefault(verb, []).append(time.perf_counter() - begin)

    with (
        closing(PostgresDatabase(url, max_connections=clients)) as database,
        ThreadPoolExecutor(clients) as threads,
    ):
        with open_mind(database, 0) as mind:
            first = timed(lambda: call(mind, "recall", texts[0]))
        calls = Calls({}, [], first)
        end = time.perf_counter() + load.seconds
        for done in [threads.submit(work, number, database) for number in range(clients)]:
            done.result()
    return calls


def call(mind: Mind, verb: str, text: str) -> None:
    match verb:
        case "recall":
            mind.recall(" ".join(text.split()[:5]), space=SPACE, limit=5)
        case "remember":
            mind.remember(text, space=SPACE)
        case "browse":
            mind.browse(space=SPACE, limit=20)


def run_clients(url: str, load: Load, watched: list[EmbeddedPostgres]) -> dict[str, Any]:
    """The mixed load, and what it took."""
    before, sent = [processor_seconds(node) for node in watched], count_transactions(url)
    most, busy = ServerWatch(url), os.getloadavg()[0]
    begin, own = time.perf_counter(), client_seconds()
    with ProcessPoolExecutor(PROCESSES) as processes, most:
        share = [load.clients // PROCESSES] * PROCESSES
        work = partial(call_until, url, load)
        parts = list(processes.map(work, share, range(PROCESSES)))
    taken = time.perf_counter() - begin
    seconds: dict[str, list[float]] = {}
    for part in parts:
        for verb, values in part.seconds.items():
            seconds.setdefault(verb, []).extend(values)
    every = [value for values in seconds.values() for value in values]
    errors = [error for part in parts for error in part.errors]
    worked = [processor_seconds(node) - at for node, at in zip(watched, before, strict=True)]
    return {
        "first_recall_ms": 1e3 * max(part.first for part in parts),
        "calls": len(every),
        "calls_per_second": len(every) / taken,
        "p50_ms": 1e3 * percentile(every, 0.5),
        "p99_ms": 1e3 * percentile(every, 0.99),
        "p50_ms_by_verb": {verb: 1e3 * percentile(v, 0.5) for verb, v in sorted(seconds.items())},
        "p99_ms_by_verb": {verb: 1e3 * percentile(v, 0.99) for verb, v in sorted(seconds.items())},
        "errors": len(errors),
        "first_error": next(iter(errors), ""),
        "most_connections": most.count,
        "round_trip_p50_ms": 1e3 * percentile(most.trips, 0.5),
        "round_trip_p99_ms": 1e3 * percentile(most.trips, 0.99),
        "machine_load_before_and_after": [busy, os.getloadavg()[0]],
        "transactions_per_call": (count_transactions(url) - sent) / len(every),
        "node_processor_ms_per_call": [1e3 * each / len(every) for each in worked],
        "client_processor_ms_per_call": 1e3 * (client_seconds() - own) / len(every),
    }


def client_seconds() -> float:
    """Processor time of this program's processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class ServerWatch(threading.Thread):
    """Watches how many clients are connected to a database at once, and how long a bare round trip
    takes.
    """

    def __init__(self, url: str) -> None:
        super().__init__(daemon=True)
        self.url, self.count, self._over = url, 0, threading.Event()
        self.trips: list[float] = []  # seconds

    def run(self) -> None:
        connected = """
            select count(*) from pg_stat_activity
            where datname = current_database() and backend_type = 'client backend'
              and pid <> pg_backend_pid()
        """
        with psycopg.connect(self.url, autocommit=True) as db:
            while not self._over.wait(0.2):
                row = db.execute(connected).fetchone()
                self.count = max(self.count, row[0] if row else 0)
                self.trips.append(timed(lambda: db.execute("select 1").fetchone()))

    def __enter__(self) -> None:
        self.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self.join()


def count_transactions(url: str) -> int:
    """What the coordinator has committed so far."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("select pg_stat_force_next_flush()")
        row = db.execute(
            "select xact_commit from pg_stat_database where datname = current_database()"
        ).fetchone()
    return int(row[0]) if row else 0


def processor_seconds(node: EmbeddedPostgres) -> float:
    """Processor time of a server's processes, those that have ended too (Linux)."""
    first = int((node.data / "postmaster.pid").read_text().split("\n", 1)[0])
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(first)], capture_output=True, text=True, check=False
    )
    ticks = 0
    for process in (first, *map(int, listed.stdout.split())):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # user, system; and of the children that have ended, for the first process only
        ticks += sum(map(int, fields[11:15] if process == first else fields[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")


def measure_tenant(url: str, load: Load) -> dict[str, float]:
    """What a tenant takes on disk, all tables and indexes, in bytes."""
    size = """
        select coalesce(sum(case when is_spread then citus_total_relation_size(oid)
                                 else pg_total_relation_size(oid) end), 0)
        from (
            select c.oid, exists (select from pg_dist_partition where logicalrelid = c.oid)
                as is_spread
            from pg_class c join pg_namespace n on n.oid = c.relnamespace
            where nspname = 'reverie' and relkind = 'r'
        ) as tables
    """
    plain = """
        select coalesce(sum(pg_total_relation_size(c.oid)), 0)
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where nspname = 'reverie' and relkind = 'r'
    """
    with psycopg.connect(url, autocommit=True) as db:
        known = db.execute("select count(*) from pg_extension where extname = 'citus'").fetchone()
        row = db.execute(size if known and known[0] else plain).fetchone()
    total = float(row[0]) if row else 0.0
    return {
        "bytes_per_tenant": total / load.tenants,
        "bytes_per_memory": total / (load.tenants * load.memories),
    }


def measure(url: str, load: Load, nodes: list[EmbeddedPostgres]) -> dict[str, Any]:
    filled = fill(url, load)
    found = run_clients(url, load, nodes)
    return {**filled, **measure_tenant(url, load), **found}


def measure_postgres(folder: Path, load: Load) -> dict[str, Any]:
    """One PostgreSQL."""
    with EmbeddedPostgres(folder / "one", settings=SETTINGS) as server:
        with closing(PostgresDatabase(server.url)) as database:
            database.prepare()
        return measure(server.url, load, [server])


def measure_citus(folder: Path, load: Load, workers: int) -> dict[str, Any]:
    """A coordinator and so many workers."""
    cluster = CitusCluster(folder / "c", build_citus(), workers=workers, settings=SETTINGS)
    cluster.start()
    try:
        url = cluster.create_database("bench")
        with closing(PostgresDatabase(url)) as database:
            database.prepare()
            database.distribute()
        return measure(url, load, cluster.nodes)
    finally:
        cluster.stop()


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder whose path is short enough for sockets, which every user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="reverie-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenants", type=int, default=20)
    parser.add_argument("--memories", type=int, default=500)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--workers", type=int, nargs="*", default=WORKERS)
    parser.add_argument("--written", type=int, default=0, help="tenants; the others are copies")
    parser.add_argument("--multiplied", type=int, default=0, help="memories; the others are copies")
    parser.add_argument("--shared-buffers", default=SETTINGS["shared_buffers"])
    parser.add_argument("--save-as", default="postgres-scale", help="name of the results")
    given = parser.parse_args()
    load = Load(*(getattr(given, name) for name in Load._fields))
    SETTINGS["shared_buffers"] = given.shared_buffers
    found = {}
    with short_folder() as folder:
        found["postgresql"] = measure_postgres(folder, load)
    save(given.save_as, {**load._asdict(), **SETTINGS, "found": found})
    for workers in given.workers:
        with short_folder() as folder:
            try:
                found[f"citus {workers}"] = measure_citus(folder, load, workers)
            except CitusUnavailable as err:
                print(err)
                break
        save(given.save_as, {**load._asdict(), **SETTINGS, "found": found})
    rows = [
        (
            name,
            one["calls_per_second"],
            one["p50_ms"],
            one["p99_ms"],
            one["errors"],
            one["most_connections"],
            one["bytes_per_memory"],
            " ".join(f"{each:.2f}" for each in one["node_processor_ms_per_call"]),
        )
        for name, one in found.items()
    ]
    head = ("on", "calls/s", "p50 ms", "p99 ms", "errors", "connections", "bytes/memory", "ms/node")
    table(rows, head)


if __name__ == "__main__":
    main()
