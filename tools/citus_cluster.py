"""A Citus cluster on this machine, to try things on: `python -m tools.citus_cluster start FOLDER`.

Prints the URL of a database `reverie` on the coordinator. Every node is a PostgreSQL of its own in
FOLDER, reached by its Unix socket alone: `n0` is the coordinator, `n1`, `n2`, … are the workers.
`stop FOLDER` shuts them down; started again, they know what they knew.
"""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path

import psycopg

from reverie.storage.embedded_postgres import NO_SETTINGS, SOCKET_PORT, EmbeddedPostgres
from tools.citus_build import CitusUnavailable, build_citus

SETTINGS = {
    "shared_preload_libraries": "citus",
    "wal_level": "logical",  # to move shards while they are written
    "max_connections": "200",
    "max_prepared_transactions": "200",  # for what two nodes change at once
    "max_worker_processes": "64",  # Citus has one for each database of a node
    "shared_buffers": "32MB",
    "citus.node_conninfo": "sslmode=prefer",  # sockets have no TLS
    "citus.enable_statistics_collection": "off",  # nothing calls home
}


class CitusCluster:
    """A coordinator and its workers."""

    def __init__(
        self,
        folder: Path,
        installation: Path,
        *,
        workers: int = 2,
        settings: Mapping[str, str] = NO_SETTINGS,
    ) -> None:
        self.nodes = [
            make_node(folder / f"n{number}", installation, settings)
            for number in range(workers + 1)
        ]

    @property
    def coordinator(self) -> EmbeddedPostgres:
        """The node that clients connect to."""
        return self.nodes[0]

    @property
    def workers(self) -> list[EmbeddedPostgres]:
        """The nodes that hold the shards."""
        return self.nodes[1:]

    def start(self) -> None:
        """Start every node, or join those that run."""
        for node in self.nodes:
            node.start()

    def stop(self) -> bool:
        """Leave every node; True if that shut them down."""
        stopped = [node.stop() for node in self.nodes]
        return all(stopped)

    def create_database(self, name: str, workers: int | None = None) -> str:
        """The URL of a new database on all nodes, whose shards go to the first `workers`."""
        for node in self.nodes:
            create_on_node(node, name)
        url = self.coordinator.url_of(name)
        with psycopg.connect(url, autocommit=True) as db:
            place = (str(self.coordinator.socket), SOCKET_PORT)
            db.execute("select citus_set_coordinator_host(%s, %s)", place)
        for worker in self.workers[:workers]:
            self.add_worker(name, worker)
        return url

    def add_worker(self, name: str, worker: EmbeddedPostgres) -> None:
        """Let a database have shards on one more node."""
        with psycopg.connect(self.coordinator.url_of(name), autocommit=True) as db:
            db.execute("select citus_add_node(%s, %s)", (str(worker.socket), SOCKET_PORT))

    def drop_database(self, name: str) -> None:
        """Remove a database from all nodes."""
        for node in self.nodes:
            with psycopg.connect(node.url, autocommit=True) as db:
                db.execute(f"drop database {name} with (force)".encode())


def make_node(folder: Path, installation: Path, settings: Mapping[str, str]) -> EmbeddedPostgres:
    """A node, which finds itself at its socket too."""
    node = EmbeddedPostgres(folder, installation=installation)
    own = {"citus.local_hostname": str(node.socket)}
    return EmbeddedPostgres(
        folder, installation=installation, settings={**SETTINGS, **own, **settings}
    )


def create_on_node(node: EmbeddedPostgres, name: str) -> None:
    """A database with what Reverie needs on one node; nothing happens if it is there."""
    with psycopg.connect(node.url, autocommit=True) as db:
        known = "select 1 from pg_database where datname = %s"
        if db.execute(known, (name,)).fetchone():
            return
        db.execute(f"create database {name}".encode())
    with psycopg.connect(node.url_of(name), autocommit=True) as db:
        db.execute("create extension citus")
        db.execute("create extension vector")


def main() -> int:
    """Start or stop a cluster."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("verb", choices=("start", "stop"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    try:
        known = len(list(given.folder.glob("n[0-9]*"))) - 1
        workers = known if known > 0 else given.workers
        cluster = CitusCluster(given.folder, build_citus(), workers=workers)
    except CitusUnavailable as err:
        print(err, file=sys.stderr)
        return 1
    cluster.start()
    if given.verb == "stop":
        cluster.stop()
    elif known > 0:
        print(cluster.coordinator.url_of("reverie"))
    else:
        print(cluster.create_database("reverie"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
