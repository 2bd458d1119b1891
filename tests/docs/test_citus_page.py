# mypy: no-check-untyped-defs
"""What the page about Citus tells an operator to say to PostgreSQL works, in the page's order."""

from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from reverie.core.model import Add
from reverie.storage import open_store
from reverie.storage.postgres import PostgresDatabase
from reverie.testing import make_event, make_memory
from tests.docs.test_docs import blocks
from tools.citus_cluster import CitusCluster

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "citus.md"


NAMES = ("coordinator", "worker-1", "worker-2")  # of hosts, on the page


def to_sockets(statement, cluster):
    """A statement with the nodes of a cluster in the place of the page's hosts."""
    for name, node in zip(NAMES, cluster.nodes, strict=True):
        statement = statement.replace(f"'{name}'", f"'{node.socket}'")
    return statement


@pytest.mark.slow
def test_the_statements_of_the_page_work(citus_folder):
    installation, folder = citus_folder
    cluster = CitusCluster(folder, installation)
    cluster.start()
    try:
        for node in cluster.nodes:
            with psycopg.connect(node.url, autocommit=True) as db:
                db.execute(blocks(PAGE, "sql")[0].encode())
        url = cluster.coordinator.url
        with closing(open_store(url)) as store:
            store.apply([Add(make_memory("The staging server is called heron."))], make_event())
            before = list(store.dump())
        for number, block in enumerate(blocks(PAGE, "sql")[1:]):
            with psycopg.connect(url, autocommit=True) as db:
                for statement in filter(str.strip, block.split(";")):
                    db.execute(to_sockets(statement, cluster).encode())
            if number == 0:  # `reverie server init --citus`
                with closing(PostgresDatabase(url)) as database:
                    database.distribute()
        with closing(open_store(url)) as store:
            assert before == list(store.dump())
    finally:
        cluster.stop()
