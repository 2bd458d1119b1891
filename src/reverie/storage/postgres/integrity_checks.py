"""Checks that everything is as it should be. Each check is a function that yields problems.

Pages of its files are the server's to check (`pg_checksums`, `pg_amcheck`). Repairs rebuild what is
derived. Canonical rows are altered by a repair only where their checksum says that they are not
what was written (`row_repair`); what else is wrong with them is reported and left to a person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from reverie.core.model import Edge, Memory
from reverie.storage import Problem
from reverie.storage.derived_texts import tag_node, to_words_body
from reverie.storage.postgres import word_postings
from reverie.storage.postgres.connection import TenantConnection
from reverie.storage.postgres.row_repair import find_lost_memories, restore_rows
from reverie.storage.postgres.sealed_rows import (
    PAGE,
    find_altered_rows,
    read_pages,
    seal_unsealed_rows,
)
from reverie.storage.postgres.write_changes import (
    QUEUE_MISSING,
    UNQUEUED,
    bump_generation,
    put_edge,
)
from reverie.storage.row_checksums import EVENT, MEMORY, SUMMED_TABLES
from reverie.storage.row_codec import COLUMNS, to_memory
from reverie.text.tokenization import fingerprint_text

UNREADABLE = (ValueError, TypeError, AttributeError)
MAX_WORD_PROBLEMS = 20  # reported one by one

Check = Callable[[TenantConnection, bool], Iterator[Problem]]

UNSECURED_TABLES = """
    select relname from pg_class
    where relnamespace = 'reverie'::regnamespace and relkind in ('r', 'p')
      and relname = any(%(tables)s) and not (relrowsecurity and relforcerowsecurity)
    order by relname
"""
TENANT_TABLES = (
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
)
ALL_MEMORIES = f"""
    select num, {COLUMNS} from memory
    where tenant = %(tenant)s and num > %(after)s
    order by num
    limit {PAGE}
"""
MEMORY_IDS = "(select id from memory where tenant = %(tenant)s)"
MEMORY_NUMS = "(select num from memory where tenant = %(tenant)s)"
LOST_SUCCESSORS = f"""
    select id, superseded_by from memory
    where tenant = %(tenant)s and superseded_by is not null and superseded_by not in {MEMORY_IDS}
    order by num
"""
LOOSE_CHANGES = """
    select distinct memory from change
    where tenant = %(tenant)s and seq not in (select seq from event where tenant = %(tenant)s)
"""
WORDS = """
    select num, term, tf, length from posting
    where tenant = %(tenant)s and num >= %(first)s and num <= %(last)s
"""
ORPHAN_WORDS = f"""
    select distinct num from posting where tenant = %(tenant)s and num not in {MEMORY_NUMS}
"""
ORPHAN_VECTORS = f"""
    select num from vector where tenant = %(tenant)s and num not in {MEMORY_NUMS}
"""
ORPHAN_PENDING = f"""
    select distinct num from pending
    where tenant = %(tenant)s
      and (num not in {MEMORY_NUMS}
           or model <> '' and model not in (select model from embedder where tenant = %(tenant)s))
"""
STRANGE_SIZES = """
    select model from vector where tenant = %(tenant)s
    group by model having count(distinct vector_dims(vec)) > 1
"""
EMBEDDED = """
    select v.num, v.model, v.hash, m.text
    from vector v join memory m on m.tenant = v.tenant and m.num = v.num
    where v.tenant = %(tenant)s
"""
LOOSE_EDGES = f"""
    select src, rel, dst from edge
    where tenant = %(tenant)s
      and (starts_with(src, 'mem_') and src not in {MEMORY_IDS}
           or starts_with(dst, 'mem_') and dst not in {MEMORY_IDS})
"""
DELETE_EDGE = """
    delete from edge
    where tenant = %(tenant)s and src = %(src)s and rel = %(rel)s and dst = %(dst)s
"""
STRAY_ROWS = """
    select distinct t.{key} from {table} t join memory m on m.tenant = t.tenant and m.{id} = t.{key}
    where t.tenant = %(tenant)s and t.space <> m.space
"""
MOVE_STRAY = """
    update {table} t set space = m.space from memory m
    where t.tenant = %(tenant)s and m.tenant = %(tenant)s and m.{id} = t.{key}
      and t.space <> m.space
"""
LIE_WITH_MEMORY = (
    ("edge", "src", "id"),
    ("change", "memory", "id"),
    ("vector", "num", "num"),
    ("pending", "num", "num"),
    ("posting", "num", "num"),
)


def check_row_security(db: TenantConnection, _repair: bool) -> Iterator[Problem]:
    """Tables that a statement could read without row security."""
    for (name,) in db.fetch_rows(UNSECURED_TABLES, tables=list(TENANT_TABLES)):
        yield Problem(
            "file", f"row security of {name} is off; `reverie server migrate` sets it again"
        )


def to_memory_or_none(row: Sequence[Any]) -> Memory | None:
    """The memory of a row, or None for a row that is none: `check_memories` reports those."""
    with suppress(*UNREADABLE):
        return to_memory(tuple(row))
    return None


def check_memories(db: TenantConnection, _repair: bool) -> Iterator[Problem]:
    """Rows that are no memories, successors and events that do not exist."""
    for _, *row in read_pages(db, ALL_MEMORIES):
        try:
            to_memory(tuple(row))
        except UNREADABLE as err:
            yield Problem("memories", f"{row[0]} cannot be read: {err}")
    for id, newer in db.fetch_rows(LOST_SUCCESSORS):
        yield Problem("memories", f"{id} is superseded by {newer}, which is not there")
    for (id,) in db.fetch_rows(LOOSE_CHANGES):
        yield Problem("history", f"{id} was changed by an event that is not there")


def check_checksums(db: TenantConnection, _repair: bool) -> Iterator[Problem]:
    """Rows that are not what was written: a disk, or another program, has altered them."""
    for num, _, id, *_ in find_altered_rows(db, MEMORY):
        yield Problem("memories", f"{id} (number {num}) is not what was written")
    for id, _ in find_lost_memories(db):
        yield Problem("memories", f"{id} is gone, though its history is there")
    for seq, *_ in find_altered_rows(db, EVENT):
        yield Problem("history", f"event {seq} is not what was written")


def check_spaces(db: TenantConnection, repair: bool) -> Iterator[Problem]:
    """Rows that lie in another space than their memory: who may see them would be wrong."""
    for table, key, id in LIE_WITH_MEMORY:
        names = {"table": table, "key": key, "id": id}
        strays = db.fetch_rows(STRAY_ROWS.format(**names))
        if strays and repair:
            db.run(MOVE_STRAY.format(**names))
        for (stray,) in strays[:MAX_WORD_PROBLEMS]:
            message = f"{table} of {stray} lies in another space than its memory"
            yield Problem("spaces", message, repaired=repair)


def check_words(db: TenantConnection, repair: bool) -> Iterator[Problem]:
    """The word index against the memories."""
    wrong: list[tuple[int, str]] = []
    after = 0
    while page := db.fetch_rows(ALL_MEMORIES, after=after):
        first, after = page[0][0], page[-1][0]
        found = list(find_wrong_words(db, page, first, after))
        if repair:
            word_postings.index_memories(db, db.tenant, [body for body, _ in found])
        wrong += [(body.num, message) for body, message in found]
    orphans = [num for (num,) in db.fetch_rows(ORPHAN_WORDS)]
    if orphans and repair:
        word_postings.drop_memory(db, db.tenant, orphans)
    wrong += [(num, "has words but is gone") for num in orphans]
    for num, message in wrong[:MAX_WORD_PROBLEMS]:
        yield Problem("words", f"memory number {num} {message}", repaired=repair)
    if len(wrong) > MAX_WORD_PROBLEMS:
        yield Problem("words", f"and {len(wrong) - MAX_WORD_PROBLEMS} more", repaired=repair)


def find_wrong_words(
    db: TenantConnection, page: Sequence[Sequence[Any]], first: int, last: int
) -> Iterator[tuple[word_postings.IndexedBody, str]]:
    """Memories of a page, from the number `first` to `last`, whose words are not those of their
    text; with what is wrong.
    """
    held: dict[int, dict[str, tuple[int, int]]] = {}
    for num, term, times, length in db.fetch_rows(WORDS, first=first, last=last):
        held.setdefault(num, {})[term] = (times, length)
    memories = [(num, memory) for num, *row in page if (memory := to_memory_or_none(row))]
    bodies = [to_words_body(memory) for _, memory in memories]
    for (num, memory), body, counted in zip(
        memories, bodies, word_postings.count_terms(bodies), strict=True
    ):
        length = len(memory.text)
        expected = {term: (times, length) for term, times in counted.items()}
        if held.get(num, {}) != expected:
            message = "has other words than its text" if num in held else "has no words"
            yield word_postings.IndexedBody(num, body), message


def check_vectors(db: TenantConnection, repair: bool) -> Iterator[Problem]:
    """Vectors, and the queues for them, against the memories.

    Vectors of a model that is no longer in use are as good as the others, should it come back: they
    stay until their memory is revised or purged.
    """
    missing = len({num for _, num, _ in db.fetch_rows(UNQUEUED)})
    for sql, table, message in (
        (ORPHAN_VECTORS, "vector", "a vector of a memory that is gone"),
        (ORPHAN_PENDING, "pending", "a queue of nobody, or for nobody"),
    ):
        for (num,) in db.fetch_rows(sql):
            if repair:
                db.run(f"delete from {table} where tenant = %(tenant)s and num = %(num)s", num=num)
            yield Problem("vectors", f"{message}: number {num}", repaired=repair)
    for (model,) in db.fetch_rows(STRANGE_SIZES):
        if repair:
            db.run("delete from vector where tenant = %(tenant)s and model = %(m)s", m=model)
        yield Problem("vectors", f"vectors of {model} differ in length", repaired=repair)
    # The hash tells: a vector of an older wording would find what is not said any more.
    for num, model, hash, text in db.fetch_rows(EMBEDDED):
        if hash != fingerprint_text(text):
            if repair:
                db.run(
                    "delete from vector "
                    "where tenant = %(tenant)s and num = %(num)s and model = %(model)s",
                    num=num,
                    model=model,
                )
            yield Problem(
                "vectors", f"the vector of memory number {num} is of another text", repaired=repair
            )
    if missing:
        yield Problem(
            "vectors", f"{missing} memories lack a vector and do not wait for one", repaired=repair
        )
    if repair:
        db.run(QUEUE_MISSING)


def check_edges(db: TenantConnection, repair: bool) -> Iterator[Problem]:
    """Edges to memories that are gone, and tags that differ from their edges."""
    for src, rel, dst in db.fetch_rows(LOOSE_EDGES):
        if repair:
            db.run(DELETE_EDGE, src=src, rel=rel, dst=dst)
        yield Problem("edges", f"{src} {rel} {dst}: an end is gone", repaired=repair)
    sql = "select src, dst from edge where tenant = %(tenant)s and rel = 'has_tag'"
    tagged = set(db.fetch_rows(sql))
    expected: dict[tuple[str, str], str] = {}
    for _, *row in read_pages(db, ALL_MEMORIES):
        memory = to_memory_or_none(row)
        for tag in memory.tags if memory else ():
            expected[row[0], tag_node(tag)] = memory.space if memory else ""
    for src, dst in sorted(expected.keys() - tagged):
        if repair:
            put_edge(db, Edge(src, "has_tag", dst, 1.0), expected[src, dst])
        yield Problem("edges", f"{src} lacks its edge to {dst}", repaired=repair)
    for src, dst in sorted(tagged - expected.keys()):
        if repair:
            db.run(DELETE_EDGE, src=src, rel="has_tag", dst=dst)
        yield Problem("edges", f"{src} has an edge to {dst} but not the tag", repaired=repair)


def check_cursors(db: TenantConnection, repair: bool) -> Iterator[Problem]:
    """Readers that claim to have read events that do not exist, and numbers given twice."""
    last = db.fetch_value("select coalesce(max(seq), 0) from event where tenant = %(tenant)s")
    ahead = "select name, seq from cursor where tenant = %(tenant)s and seq > %(last)s"
    for name, seq in db.fetch_rows(ahead, last=last):
        # Such a reader would pass over everything that happens until then.
        if repair:
            db.run(
                "update cursor set seq = %(last)s where tenant = %(tenant)s and name = %(name)s",
                last=last,
                name=name,
            )
        yield Problem(
            "cursors", f"{name} stands at {seq}, beyond the last event {last}", repaired=repair
        )
    highest = db.fetch_value("select coalesce(max(num), 0) from memory where tenant = %(tenant)s")
    behind = "select 1 from counter where tenant = %(tenant)s and (event < %(e)s or memory < %(m)s)"
    if db.fetch_value(behind, e=last, m=highest):
        if repair:
            db.last_event = max(db.last_event, last)
            db.last_memory = max(db.last_memory, highest)
        yield Problem("cursors", "numbers would be given a second time", repaired=repair)


CHECKS: tuple[Check, ...] = (
    check_row_security,
    check_memories,
    check_checksums,
    check_spaces,
    check_words,
    check_vectors,
    check_edges,
    check_cursors,
)


def verify_tenant(
    db: TenantConnection, repair: bool, backups: Sequence[Path] = ()
) -> list[Problem]:
    """Run every check in order.

    With `repair`, rows that were altered or lost come from the `backups`.
    """
    problems: list[Problem] = []
    if repair:
        problems += restore_rows(db, backups)
    for check in CHECKS:
        problems += check(db, repair)
    if repair:
        for table in SUMMED_TABLES:
            seal_unsealed_rows(db, table)
    if any(problem.repaired for problem in problems):
        bump_generation(db)
    return problems
