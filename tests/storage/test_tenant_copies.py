# mypy: no-check-untyped-defs
"""Tenants that benchmarks have the database copy are as good as those that were written."""

from contextlib import closing

import pytest

from bench.common import Texts
from bench.postgres.scale import SPACE, open_mind, put_vectors, tenant_name
from bench.postgres.tenant_copies import copy_tenants, multiply_memories
from reverie.core.model import Filter
from reverie.storage.postgres import PostgresDatabase
from reverie.storage.postgres.integrity_checks import TENANT_TABLES

TEXTS = Texts(1).many(30)
QUESTIONS = [" ".join(text.split()[:5]) for text in TEXTS[:10]]


@pytest.fixture
def database(postgres_url):
    with closing(PostgresDatabase(postgres_url)) as database:
        database.prepare()
        for number in (0, 1):
            with open_mind(database, number) as mind:
                items = [
                    {"text": text, "session": f"s{place // 5}", "tags": ["ops"]}
                    for place, text in enumerate(TEXTS[number:])
                ]
                put_vectors(mind, mind.remember_many(items, space=SPACE))
        yield database


def ask(mind):
    return [
        [(hit.memory.id, hit.memory.text) for hit in mind.recall(question, space=SPACE)]
        for question in QUESTIONS
    ]


def count_rows(database, tenant):
    with database.pool.own_connection() as db:
        return {
            table: db.execute(
                f"select count(*) from reverie.{table} where tenant = %s", (tenant,)
            ).fetchone()
            for table in TENANT_TABLES
        }


def test_a_copied_tenant_passes_verify_and_answers_like_its_original(database):
    """It has the rows of its original in every table, and goes on from there."""
    with database.pool.own_connection() as db:
        copy_tenants(db, [tenant_name(0), tenant_name(1)], [tenant_name(n) for n in (2, 3, 4)])
    for copy, original in ((2, 0), (3, 1), (4, 0)):
        with open_mind(database, original) as mind:
            expected = ask(mind)
        with open_mind(database, copy) as mind:
            assert mind.data.verify() == []
            assert ask(mind) == expected
            assert sum(map(len, expected)) > len(QUESTIONS)
        rows = count_rows(database, tenant_name(original))
        assert count_rows(database, tenant_name(copy)) == rows
        assert all(rows[table] > (0,) for table in ("memory", "edge", "event", "change", "vector"))
    with open_mind(database, 2) as mind:
        written = mind.remember("The heron stands at the weir.", space=SPACE)
        assert mind.recall("heron weir", space=SPACE)[0].memory.id == written.id
        assert mind.data.verify() == []


def test_a_multiplied_tenant_has_as_many_memories_and_passes_verify(database):
    """Each has an id of its own, words and a vector, and is found."""
    with database.pool.own_connection() as db:
        multiply_memories(db, tenant_name(0), 100)
    with open_mind(database, 0) as mind:
        memories = mind.store.browse(Filter(limit=1_000))
        words = TEXTS[0].split()
        found = mind.store.search_words(words, (SPACE,), 10)

        assert len({memory.id for memory in memories}) == len(memories) == 100
        holders = {memory.id for memory in memories if memory.text == TEXTS[0]}
        assert len(holders) == 4
        assert {id for id, _ in found[:4]} == holders
        assert mind.recall(TEXTS[0], space=SPACE)[0].memory.id in holders
        assert len(mind.store.vectors("toy/1", [memory.id for memory in memories])) == 100
        assert [problem for problem in mind.data.verify() if "history" not in str(problem)] == []
