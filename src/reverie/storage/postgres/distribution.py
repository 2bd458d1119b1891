"""The tables on more than one machine: Citus spreads them by tenant over the nodes of a cluster.

All rows of a tenant lie on one node, in shards that are moved together, because every table is
distributed by `tenant` and co-located with `counter`. So each statement of a store goes to one
shard, joins stay on one node, and a transaction of one tenant needs no second phase to commit.
What has no tenant is a reference table: the same rows on every node.

Roles, grants, row security and its policies reach the shards by themselves, those made or moved
later too. The settings by which a transaction says who asks do so because the database has
`citus.propagate_set_commands = 'local'`: without it every shard would answer with nothing.

`reverie server init --citus` calls `distribute_tables` after the schema is there, whether it holds
memories already or not, and a later release calls it again for tables that are new. Nothing
happens to what is distributed.
"""

from __future__ import annotations

from typing import Any

from psycopg import sql

from reverie.core.errors import StoreError
from reverie.storage.postgres.connection import APP_ROLE, SCHEMA, TenantConnection, has_citus

# Each table has as many shards, and a cluster has no use for more workers than that. More shards
# spread tenants more evenly, and cost each of them a plan and a few files: 32 is Citus's choice.
SHARD_COUNT = 32
ANCHOR = "counter"  # the table that all others are co-located with

TABLES = """
select table_name, exists (
    select from information_schema.columns
    where columns.table_schema = tables.table_schema
        and columns.table_name = tables.table_name
        and column_name = 'tenant'
)
from information_schema.tables
where table_schema = %(schema)s and table_type = 'BASE TABLE'
order by table_name <> %(anchor)s, table_name
"""

DISTRIBUTED = """
select relname
from pg_dist_partition
join pg_class on pg_class.oid = logicalrelid
join pg_namespace on pg_namespace.oid = relnamespace
where nspname = %(schema)s
"""

DISTRIBUTE_ANCHOR = "select create_distributed_table(%(table)s, 'tenant', shard_count => %(count)s)"
DISTRIBUTE = "select create_distributed_table(%(table)s, 'tenant', colocate_with => %(anchor)s)"
REPLICATE = "select create_reference_table(%(table)s)"
DROP_COPY = "select truncate_local_data_after_distributing_table(%(table)s)"


def is_distributed(db: TenantConnection) -> bool:
    """True if the tables of this database are spread over a cluster."""
    return has_citus(db) and bool(find_distributed(db))


def find_distributed(db: TenantConnection) -> set[str]:
    """The tables that Citus keeps."""
    return {name for (name,) in db.execute(DISTRIBUTED, {"schema": SCHEMA})}


def distribute_tables(db: TenantConnection, *, shard_count: int = SHARD_COUNT) -> list[str]:
    """Spread over the cluster's workers what is not spread yet; the names of those tables.

    One transaction: all of it or none. The rows that are there move along. Whoever connects has to
    own the tables and the database, and row security must not hold for them.
    """
    if not has_citus(db):
        raise StoreError(
            "The database has no extension citus. Put it in shared_preload_libraries on every node,"
            " then say: create extension citus"
        )
    with db.transaction():
        prepare_database(db)
        distributed = find_distributed(db)
        fresh = []
        for name, has_tenant in db.execute(TABLES, {"schema": SCHEMA, "anchor": ANCHOR}).fetchall():
            if name not in distributed:
                distribute_table(db, name, has_tenant=has_tenant, shard_count=shard_count)
                fresh.append(name)
    return fresh


def prepare_database(db: TenantConnection) -> None:
    """What has to hold before a table is distributed, and for every connection afterwards."""
    # A row that a policy hid would not be copied, and then be lost: this makes it an error.
    db.execute("set local row_security = off")
    # Tables that refer to roles and extensions of this very transaction: one connection a node.
    db.execute("set local citus.multi_shard_modify_mode = 'sequential'")
    database = sql.Identifier(db.info.dbname)
    db.execute(
        sql.SQL("alter database {} set citus.propagate_set_commands = 'local'").format(database)
    )
    # The nodes connect to each other as the role that a transaction has taken.
    db.execute(sql.SQL("alter role {} login").format(sql.Identifier(APP_ROLE)))


def distribute_table(
    db: TenantConnection, name: str, *, has_tenant: bool, shard_count: int
) -> None:
    """Spread one table with its rows. StoreError if they are not all there afterwards."""
    table = sql.Identifier(SCHEMA, name)
    values = {
        "table": table.as_string(db),
        "anchor": f"{SCHEMA}.{ANCHOR}",
        "count": shard_count,
    }
    count = sql.SQL("select count(*) from {}").format(table)
    before = fetch_value(db, count)
    if not has_tenant:
        db.execute(REPLICATE, values)
    elif name == ANCHOR:
        db.execute(DISTRIBUTE_ANCHOR, values)
    else:
        db.execute(DISTRIBUTE, values)
    if fetch_value(db, count) != before:
        raise StoreError(f"Not all rows of {name} could be moved. Nothing was changed")
    if before:
        db.execute(DROP_COPY, values)


def fetch_value(db: TenantConnection, query: Any) -> Any:
    """The only value of a query."""
    row = db.execute(query).fetchone()
    assert row is not None
    return row[0]
