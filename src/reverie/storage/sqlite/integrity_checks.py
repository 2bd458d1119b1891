"""Checks that everything is as it should be. Each check is a function that yields problems.

Repairs rebuild what is derived. Canonical rows are altered by a repair only where their checksum
says that they are not what was written (`row_repair`); what else is wrong with them is reported and
left to a person.
"""

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from reverie.storage import Problem
from reverie.storage.derived_texts import tag_node, to_words_body
from reverie.storage.row_checksums import EVENT, MEMORY
from reverie.storage.row_codec import COLUMNS, to_memory
from reverie.storage.sqlite import database_library
from reverie.storage.sqlite.connection import fetch_value
from reverie.storage.sqlite.row_repair import find_lost_memories, restore_rows
from reverie.storage.sqlite.row_shapes import (
    UNREADABLE,
    count_broken_changes,
    drop_broken_notes,
    find_broken_notes,
    find_misfits,
    mend_changes,
    read_columns,
    to_memory_or_none,
    write_fitting_values,
)
from reverie.storage.sqlite.schema_migration import migrate, version
from reverie.storage.sqlite.sealed_rows import find_altered_rows
from reverie.storage.sqlite.write_changes import (
    AWAITED,
    INSERT_WORDS,
    QUEUE_MISSING,
    UNQUEUED,
    UPSERT_EDGE,
    bump_generation,
)
from reverie.text.tokenization import fingerprint_text

MAX_WORD_PROBLEMS = 20  # reported one by one

LIST_SCHEMA = "select type, name, sql from sqlite_master where name not like 'sqlite_%'"
Check = Callable[[Connection, bool], Iterator[Problem]]

ORPHAN_WORDS = "select rowid from words where rowid not in (select num from memory)"
MISSING_WORDS = "select num from memory where num not in (select rowid from words)"
ORPHAN_VECTORS = "select memory from vector where memory not in (select num from memory)"
ORPHAN_PENDING = f"""
    select distinct memory from pending
    where memory not in (select num from memory) or model not in ({AWAITED})
"""
EMBEDDED = (
    "select v.memory, v.serial, v.hash, m.text from vector v join memory m on m.num = v.memory"
)
LOOSE_EDGES = """
    select src, rel, dst from edge
    where (src like 'mem_%' and src not in (select id from memory))
       or (dst like 'mem_%' and dst not in (select id from memory))
"""
LOST_SUCCESSORS = """
    select num, id, superseded_by from memory
    where superseded_by is not null and superseded_by not in (select id from memory)
"""
LOOSE_CHANGES = "select distinct memory from change where seq not in (select seq from event)"


def check_file(db: Connection, _repair: bool) -> Iterator[Problem]:
    """Problems that SQLite itself finds in the pages, also indexes that do not say what their
    rows say: its quick check passes over two indexes' pages that have changed places.
    """
    for (message,) in db.execute("pragma integrity_check(20)"):
        if message != "ok":
            yield Problem("file", message)


def check_schema(db: Connection, _repair: bool) -> Iterator[Problem]:
    """Tables and indexes that are not there, or are not declared as they were."""
    there = {(kind, name): sql for kind, name, sql in db.execute(LIST_SCHEMA)}
    for kind, name, sql in list_declarations(version(db)):
        if (kind, name) not in there:
            yield Problem("file", f"the {kind} {name} is missing")
        elif plain_sql(there[kind, name]) != plain_sql(sql):
            yield Problem("file", f"the {kind} {name} is not declared as it was")


@cache
def list_declarations(steps: int) -> tuple[tuple[str, str, str], ...]:
    """(type, name, sql) of what a whole file has after so many steps of the schema."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as model:
        migrate(model, steps)
        return tuple(model.execute(LIST_SCHEMA))


def plain_sql(sql: str | None) -> str:
    """A declaration without the spaces and comments by which those of two releases differ."""
    return " ".join(re.sub(r"--[^\n]*", "", sql or "").split())


def check_shapes(db: Connection, repair: bool) -> Iterator[Problem]:
    """Rows that are no memories or events, and records of history that are none."""
    for table, what in ((MEMORY, "memories"), (EVENT, "history")):
        columns = read_columns(db, table)
        rows = db.execute(f"select {table.key}, {table.columns} from {table.name}")
        broken = [
            (number, values, misfits)
            for number, *values in rows
            if (misfits := find_misfits(columns, values))
        ]
        for number, values, misfits in broken:
            if repair:
                write_fitting_values(db, table, number, misfits)
            held = dict(zip(table.columns.split(", "), values, strict=True))
            name = f"{values[0]} (number {number})" if table is MEMORY else f"event {number}"
            for column, fitting in misfits.items():
                message = f"{name} cannot have {held[column]!r:.200} as its {column}"
                message += f"; it has {fitting!r:.200} now" if repair else ""
                yield Problem(what, message, repaired=repair)


def check_changes(db: Connection, repair: bool) -> Iterator[Problem]:
    """Records of history that point nowhere, or say what is no JSON."""
    broken = mend_changes(db) if repair else count_broken_changes(db)
    if broken:
        yield Problem("history", f"{broken} records of it cannot be read", repaired=repair)


def check_notes(db: Connection, repair: bool) -> Iterator[Problem]:
    """Notes that are no longer what was written."""
    for name in drop_broken_notes(db) if repair else find_broken_notes(db):
        yield Problem("notes", f"the note {name} cannot be read", repaired=repair)


def check_memories(db: Connection, repair: bool) -> Iterator[Problem]:
    """Successors and events that do not exist."""
    for num, id, newer in db.execute(LOST_SUCCESSORS).fetchall():
        if repair:
            write_fitting_values(db, MEMORY, num, {"superseded_by": None})
        message = f"{id} is superseded by {newer}, which is not there"
        yield Problem("memories", message, repaired=repair)
    for (id,) in db.execute(LOOSE_CHANGES):
        yield Problem("history", f"{id} was changed by an event that is not there")


def check_checksums(db: Connection, _repair: bool) -> Iterator[Problem]:
    """Rows that are not what was written: a disk, or another program, has altered them."""
    for num, _, id, *_ in find_altered_rows(db, MEMORY):
        yield Problem("memories", f"{id} (number {num}) is not what was written")
    for id, _ in find_lost_memories(db):
        yield Problem("memories", f"{id} is gone, though its history is there")
    for seq, *_ in find_altered_rows(db, EVENT):
        yield Problem("history", f"event {seq} is not what was written")


def to_words_or_none(row: Sequence[Any]) -> str | None:
    """What the word index has of a row; None for a row that is no memory, or not a readable one."""
    with suppress(*UNREADABLE):
        return to_words_body(to_memory(tuple(row)))
    return None


def check_words(db: Connection, repair: bool) -> Iterator[Problem]:
    """The word index against the memories."""
    wrong = [(num, "has no words") for (num,) in db.execute(MISSING_WORDS)]
    wrong += [(num, "has words but is gone") for (num,) in db.execute(ORPHAN_WORDS)]
    rows = db.execute(
        f"select w.rowid, w.body, {COLUMNS} from words w join memory m on m.num = w.rowid"
    )
    for num, body, *row in rows:
        if body != (to_words_or_none(row) or body):
            wrong.append((num, "has other words than its text"))
    if not wrong:
        try:
            db.execute("insert into words (words) values ('integrity-check')")
        except database_library.DatabaseError as err:
            # SQLite counts this check as writing, which a read-only file refuses.
            code = getattr(err, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
            if code & 0xFF != sqlite3.SQLITE_READONLY:
                wrong.append((0, f"index: {err}"))
    if wrong and repair:
        rebuild_words(db)
    for num, message in wrong[:MAX_WORD_PROBLEMS]:
        yield Problem("words", f"memory number {num} {message}", repaired=repair)
    if len(wrong) > MAX_WORD_PROBLEMS:
        yield Problem("words", f"and {len(wrong) - MAX_WORD_PROBLEMS} more", repaired=repair)


def rebuild_words(db: Connection) -> None:
    """Create the word index anew; the old one may be too broken to be emptied."""
    # In this order: `vocabulary` is made from `words`.
    sql = "select sql from sqlite_master where name in ('words', 'vocabulary') order by name desc"
    create_statements = [statement for (statement,) in db.execute(sql)]
    db.execute("drop table if exists vocabulary")
    db.execute("drop table words")
    for statement in create_statements:
        db.execute(statement)
    for num, *row in db.execute(f"select num, {COLUMNS} from memory order by num").fetchall():
        body = to_words_or_none(row)
        if body is not None:
            db.execute(INSERT_WORDS, (num, body))


def check_vectors(db: Connection, repair: bool) -> Iterator[Problem]:
    """Vectors, and the queues for them, against the memories.

    Vectors of a model that is no longer in use are as good as the others, should it come back: they
    stay until their memory is revised or purged.
    """
    missing = len({num for _, num in db.execute(UNQUEUED)})
    for sql, table, message in (
        (ORPHAN_VECTORS, "vector", "a vector of a memory that is gone"),
        (ORPHAN_PENDING, "pending", "a queue of nobody, or for nobody"),
    ):
        for (num,) in db.execute(sql).fetchall():
            if repair:
                db.execute(f"delete from {table} where memory = ?", (num,))
            yield Problem("vectors", f"{message}: number {num}", repaired=repair)
    sizes = db.execute(
        "select model, length(vec) % 4, count(distinct length(vec)) from vector group by model"
    )
    for model, odd, different in sizes.fetchall():
        if odd or different > 1:
            if repair:
                db.execute("delete from vector where model = ?", (model,))
            yield Problem("vectors", f"vectors of {model} differ in length", repaired=repair)
    # The hash tells: a vector of an older wording would find what is not said any more.
    for num, serial, hash, text in db.execute(EMBEDDED).fetchall():
        if hash != fingerprint_text(text):
            if repair:
                db.execute("delete from vector where serial = ?", (serial,))
            yield Problem(
                "vectors", f"the vector of memory number {num} is of another text", repaired=repair
            )
    if missing:
        yield Problem(
            "vectors", f"{missing} memories lack a vector and do not wait for one", repaired=repair
        )
    if repair:
        db.execute(QUEUE_MISSING)


def check_edges(db: Connection, repair: bool) -> Iterator[Problem]:
    """Edges to memories that are gone, and tags that differ from their edges."""
    for src, rel, dst in db.execute(LOOSE_EDGES).fetchall():
        if repair:
            db.execute("delete from edge where src = ? and rel = ? and dst = ?", (src, rel, dst))
        yield Problem("edges", f"{src} {rel} {dst}: an end is gone", repaired=repair)
    tagged = set(db.execute("select src, dst from edge where rel = 'has_tag'").fetchall())
    rows = db.execute(f"select {COLUMNS} from memory where tags is not null")
    expected: set[tuple[str, str]] = set()
    for row in rows:
        memory = to_memory_or_none(row)
        if memory:
            expected.update((memory.id, tag_node(tag)) for tag in memory.tags)
    for src, dst in sorted(expected - tagged):
        if repair:
            db.execute(UPSERT_EDGE, (src, "has_tag", dst, 1.0))
        yield Problem("edges", f"{src} lacks its edge to {dst}", repaired=repair)
    for src, dst in sorted(tagged - expected):
        if repair:
            db.execute("delete from edge where src = ? and rel = 'has_tag' and dst = ?", (src, dst))
        yield Problem("edges", f"{src} has an edge to {dst} but not the tag", repaired=repair)


def check_cursors(db: Connection, repair: bool) -> Iterator[Problem]:
    """Readers that claim to have read events that do not exist."""
    last = fetch_value(db, "select coalesce(max(seq), 0) from event")
    for name, seq in db.execute("select name, seq from cursor where seq > ?", (last,)).fetchall():
        # Such a reader would pass over everything that happens until then.
        if repair:
            db.execute("update cursor set seq = ? where name = ?", (last, name))
        yield Problem(
            "cursors", f"{name} stands at {seq}, beyond the last event {last}", repaired=repair
        )


FILE_CHECKS: tuple[Check, ...] = (check_file, check_schema)
ROW_CHECKS: tuple[Check, ...] = (
    check_shapes,
    check_memories,
    check_checksums,
    check_words,
    check_vectors,
    check_edges,
    check_cursors,
)


def verify_database(db: Connection, repair: bool, backups: Sequence[Path] = ()) -> list[Problem]:
    """Run every check in order.

    With `repair`, rows that were altered or lost come from the `backups`. The rows of a file that
    is itself broken are left: `salvage_database` makes another of it, and what was put right before
    would be told to nobody.
    """
    problems = run_checks(db, FILE_CHECKS, repair=False)
    if problems:
        return problems
    db.execute("savepoint unrepaired")
    try:
        # Rows are brought up to date by what history says of them.
        problems += run_checks(db, (check_changes, check_notes), repair)
        if repair:
            problems += list_problems("rows", restore_rows(db, backups))
        problems += run_checks(db, ROW_CHECKS, repair)
        if any(problem.what == "file" for problem in problems):
            db.execute("rollback to unrepaired")
            return [problem._replace(repaired=False) for problem in problems]
    finally:
        db.execute("release unrepaired")
    if any(problem.repaired for problem in problems):
        bump_generation(db)
    return problems


def run_checks(db: Connection, checks: Sequence[Check], repair: bool) -> list[Problem]:
    """What checks find; one that fails is a problem too and stops no other."""
    return [
        problem
        for check in checks
        for problem in list_problems(check.__name__.removeprefix("check_"), check(db, repair))
    ]


def list_problems(what: str, found: Iterator[Problem]) -> list[Problem]:
    """What a check finds as far as it comes; where that is what cannot be read, a problem of the
    file. Errors that are not the file's fault (busy, full, read-only) are raised.
    """
    problems: list[Problem] = []
    try:
        problems.extend(found)
    except database_library.DatabaseError as err:
        # A text that is none comes without a code.
        code = getattr(err, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
        is_plain = code & 0xFF == sqlite3.SQLITE_ERROR  # such as a missing table
        if isinstance(err, database_library.OperationalError) and not is_plain:
            raise
        problems.append(Problem("file", f"{what} cannot be checked: {err}"))
    return problems
