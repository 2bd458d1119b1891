"""Recall on PostgreSQL against SQLite and against a bare round trip, as the spaces that are read
grow. `python -m bench.postgres.speed`

The query's embedding is left out. All take turns, so that a busy moment meets each of them; beside
wall time stands the processor time of the process that asks. The server is an embedded one on the
same machine, reached by its socket.
"""

import argparse
import os
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg

import reverie
from bench.common import Given, percentile, save, table, timed
from bench.postgres.servers import copy_memories, running_server
from bench.scale import filled, questions
from reverie.core.config import Settings
from reverie.core.model import Filter
from reverie.storage.postgres import PostgresDatabase

SPACE = "me/bench"
# Questions before it counts: with two searches each, a space of 100,000 memories is in the columns
# of the process then. What it takes until then is told apart.
WARM_UP = 15


def measured(url: str, size: int, queries: int) -> dict[str, Any]:
    """How long recall takes with so many memories, by percentile, in milliseconds."""
    embedder = Given()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder), floor=0.0)
        with reverie.open(settings=settings, embedder=embedder) as local:
            texts, made, _ = filled(local, size)
            asked = questions(texts, made, queries + WARM_UP, embedder)
            memories = local.store.browse(Filter(spaces=(SPACE,), limit=size))[::-1]
            vectors = {
                id: vector
                for start in range(0, size, 1_000)
                for id, vector in local.store.vectors(
                    Given.model, [memory.id for memory in memories[start : start + 1_000]]
                ).items()
            }
            tenant = f"speed-{size}"
            with closing(PostgresDatabase(url)) as database:
                database.prepare()
                copy_memories(database, tenant, memories, vectors, Given.model)
            there = settings._replace(store=f"{url}&tenant={tenant}")
            with (
                reverie.open(settings=there, embedder=embedder) as remote,
                psycopg.connect(url, autocommit=True) as bare,
            ):
                return compared(local, remote, bare, asked)


def compared(
    local: reverie.Mind, remote: reverie.Mind, bare: psycopg.Connection, asked: list[str]
) -> dict[str, Any]:
    """The three of them in turns."""
    taken: dict[str, list[float]] = {name: [] for name in ("sqlite", "postgres", "trip", "words")}
    warming: list[float] = []
    busy = os.getloadavg()[0]
    processor = {"sqlite": 0.0, "postgres": 0.0}
    first = timed(lambda: remote.recall(asked[0], space=SPACE, limit=10))
    agree = []
    for place, question in enumerate(asked):
        started = time.process_time()
        here = [hit.memory.id for hit in local.recall(question, space=SPACE, limit=10)]
        between = time.process_time()
        found = [hit.memory.id for hit in remote.recall(question, space=SPACE, limit=10)]
        ended = time.process_time()
        agree.append(len(set(here) & set(found)) / max(1, len(here)))
        seconds = {
            "sqlite": timed(lambda: local.recall(question, space=SPACE, limit=10)),
            "postgres": timed(lambda: remote.recall(question, space=SPACE, limit=10)),
            "trip": timed(lambda: bare.execute("select 1").fetchone()),
            "words": timed(lambda: remote.recall(question, space=SPACE, limit=10, mode="words")),
        }
        if place < WARM_UP:
            warming.append(seconds["postgres"] * 1e3)
        else:
            processor["sqlite"] += (between - started) * 1e3
            processor["postgres"] += (ended - between) * 1e3
            for name, value in seconds.items():
                taken[name].append(value * 1e3)
    counted = len(asked) - WARM_UP
    result: dict[str, Any] = {
        "first": first * 1e3,
        "warming_p50": percentile(warming, 0.5),
        "agreement_at_10": sum(agree) / len(agree),
        "machine_load_before_and_after": [busy, os.getloadavg()[0]],
        **{f"{name}_processor_mean": value / counted for name, value in processor.items()},
    }
    for name, values in taken.items():
        result[f"{name}_p50"] = percentile(values, 0.5)
        result[f"{name}_p99"] = percentile(values, 0.99)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--queries", type=int, default=200)
    args = parser.parse_args()
    with running_server() as url:
        results = {size: measured(url, size, args.queries) for size in args.sizes}
    columns = ("postgres_p50", "postgres_p99", "sqlite_p50", "sqlite_p99", "trip_p50", "words_p50")
    table(
        [
            (
                f"{size:,}",
                *(row[name] for name in columns),
                row["postgres_p50"] / row["trip_p50"],
                row["postgres_p50"] / row["sqlite_p50"],
                row["postgres_p99"] / row["sqlite_p99"],
                row["first"],
                row["agreement_at_10"],
            )
            for size, row in results.items()
        ],
        (
            "memories",
            *columns,
            "p50 / trip",
            "p50 / sqlite",
            "p99 / sqlite",
            "first",
            "same@10",
        ),
    )
    save("postgres-speed", {"sizes": {str(size): row for size, row in results.items()}})


if __name__ == "__main__":
    main()
