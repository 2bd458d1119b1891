"""Tenants that are copies of one another, and a tenant many times its size, made by the database.

Writing each memory through a store costs a millisecond of Python; a benchmark of a million would
spend its time on that. So a few tenants are written as any client would write them, and the
database copies their rows to the others, all tables and indexes included.

A copy is its original under another name: same ids, numbers, events and checksums, so it passes
`verify` and answers like it. What it is not: other texts. How well rows compress and how often an
index page holds the same word is that of the tenants that were written.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from psycopg import Connection, sql

from reverie.storage.postgres.integrity_checks import TENANT_TABLES

# Tenants that are copied in one transaction: enough rows to write at a stretch, few enough that a
# checkpoint comes between.
TENANTS_AT_ONCE = 10
COPIES_AT_ONCE = 50_000  # memories

COLUMNS_OF = """
    select column_name from information_schema.columns
    where table_schema = 'reverie' and table_name = %s and column_name <> 'tenant'
    order by ordinal_position
"""
# The ids of new memories: as long as the old ones, and in the order of the copies.
NEW_ID = "'mem_' || left(md5(id || copy), 26)"
MULTIPLY_TAGS = sql.SQL(f"""
    insert into edge (tenant, src, rel, dst, weight, space)
    select m.tenant, {NEW_ID}, e.rel, e.dst, e.weight, e.space
    from edge e
    join memory m on m.tenant = e.tenant and m.id = e.src
    cross join generate_series(%(first)s::bigint, %(last)s::bigint) as copy
    where e.tenant = %(tenant)s and e.rel = 'has_tag' and m.num <= %(own)s
      and m.num + copy * %(own)s <= %(all)s
""")


def copy_tenants(db: Connection[Any], originals: Sequence[str], targets: Sequence[str]) -> None:
    """Copy tenants to others that have no rows yet, the originals in turns. `db` is a connection
    in autocommit whose user row security does not hold: the owner of the server.
    """
    db.execute("set search_path = reverie, public; set synchronous_commit = off")
    statements = [copy_statement(db, table) for table in TENANT_TABLES]
    for start in range(0, len(targets), TENANTS_AT_ONCE):
        with db.transaction():
            for number, target in enumerate(targets[start : start + TENANTS_AT_ONCE], start):
                names = {"original": originals[number % len(originals)], "target": target}
                for statement in statements:
                    db.execute(statement, names)
    db.execute("set synchronous_commit to default")


def copy_statement(db: Connection[Any], table: str) -> sql.Composed:
    """The statement that copies a tenant's rows of one table."""
    columns = sql.SQL(", ").join(
        sql.Identifier(name) for (name,) in db.execute(COLUMNS_OF, (table,)).fetchall()
    )
    return sql.SQL(
        "insert into {table} (tenant, {columns}) "
        "select %(target)s, {columns} from {table} where tenant = %(original)s"
    ).format(table=sql.Identifier(table), columns=columns)


def multiply_memories(db: Connection[Any], tenant: str, memories: int) -> None:
    """Copy a tenant's memories within it until there are so many, with their words, tags and
    vectors, and without history.

    Numbers, ids and sessions are new ones. A vector is moved a little in a random direction, or an
    index would find one memory as often as it was copied. Rows have no checksum, as those that were
    written before there were any.
    """
    db.execute("set search_path = reverie, public; set synchronous_commit = off")
    row = db.execute("select memory from counter where tenant = %s", (tenant,)).fetchone()
    if not row:
        raise LookupError(f"The tenant {tenant} has no memories to copy")
    (own,) = row
    for first, last in split_copies(own, memories):
        values = {"tenant": tenant, "own": own, "first": first, "last": last, "all": memories}
        with db.transaction():
            for statement in multiply_statements(db):
                db.execute(statement, values)
            db.execute(
                "update counter set memory = %(count)s where tenant = %(tenant)s",
                {"count": min(memories, (last + 1) * own), "tenant": tenant},
            )
    db.execute("set synchronous_commit to default")


def split_copies(own: int, memories: int) -> Iterator[tuple[int, int]]:
    """Which copies are made together, from the first to the last, both included."""
    copies = -(-memories // own) - 1
    step = max(1, COPIES_AT_ONCE // own)
    for first in range(1, copies + 1, step):
        yield first, min(copies, first + step - 1)


def multiply_statements(db: Connection[Any]) -> list[sql.Composed]:
    """The statements that make some copies of the memories that were there first."""
    number = "num + copy * %(own)s"
    changed = {
        "memory": {
            "num": number,
            "id": NEW_ID,
            "session": "case when session = '' then '' else session || '-' || copy end",
            "checksum": "null",
        },
        "posting": {"num": number},
        "vector": {
            "num": number,
            "vec": "l2_normalize((select array_agg(x + (random() - 0.5) * 0.1)::real[] "
            "from unnest(vec::real[]) as x)::halfvec)",
        },
    }
    found = [sql.Composed([MULTIPLY_TAGS])]
    for table, values in changed.items():
        names = [name for (name,) in db.execute(COLUMNS_OF, (table,)).fetchall()]
        statement = (
            "insert into {table} (tenant, {names}) select tenant, {values} "
            "from {table} cross join generate_series(%(first)s::bigint, %(last)s::bigint) as copy "
            "where tenant = %(tenant)s and num <= %(own)s and "
            f"{number} <= %(all)s"
        )
        found.append(
            sql.SQL(statement).format(
                table=sql.Identifier(table),
                names=sql.SQL(", ").join(map(sql.Identifier, names)),
                values=sql.SQL(", ").join(
                    sql.SQL(values[name]) if name in values else sql.Identifier(name)
                    for name in names
                ),
            )
        )
    return found
