"""The schema in numbered steps; `schema.sql` and `access_schema.sql` are a fresh database after all
of them.

`schema_version` has a row for each step taken. A step says in its first line which release is the
oldest that can go on with the schema after it (`-- readers: 3` means whoever knows step 3): so two
releases can serve one database while a server is being upgraded. A database that has gone further
than that is left alone.

One transaction takes all missing steps, behind a lock: of servers that start at once one migrates
and the others wait for it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from psycopg import sql

from reverie.core.errors import NewerStore, StoreError
from reverie.storage.postgres.connection import APP_ROLE, SCHEMA, TenantConnection

FOLDER = Path(__file__).parent / "migrations"
ROW_SECURITY = Path(__file__).with_name("row_security.sql")
ACCESS_ROW_SECURITY = Path(__file__).with_name("access_row_security.sql")
LATEST = 4  # the number of the last file in migrations/; a test compares
MIGRATION_LOCK = 0x52455645  # "REVE": the same for every release
READERS = re.compile(r"-- readers: (\d+)")

CREATE_VERSIONS = """
    create table if not exists schema_version (
        step       integer primary key,
        min_reader integer not null,
        name       text not null,
        taken_at   timestamptz not null default now()
    )
"""
# A role belongs to the whole server, so another database may be creating it at this moment.
CREATE_ROLE = f"""
    do $$
    begin
        if not exists (select 1 from pg_roles where rolname = '{APP_ROLE}') then
            create role {APP_ROLE} login nosuperuser nobypassrls nocreatedb nocreaterole;
        end if;
    exception when duplicate_object or unique_violation then null;
    end
    $$
"""
GRANTS = f"""
    grant usage on schema {SCHEMA} to {APP_ROLE};
    grant select, insert, update, delete on all tables in schema {SCHEMA} to {APP_ROLE};
    revoke insert, update, delete on schema_version from {APP_ROLE};
"""


IS_UNSECURED = f"""
    select 1 from pg_class
    where relnamespace = '{SCHEMA}'::regnamespace and relkind = 'r'
      and relname <> 'schema_version' and not (relrowsecurity and relforcerowsecurity)
      and pg_has_role(current_user, relowner, 'usage')
    limit 1
"""


class SchemaVersion(NamedTuple):
    """How far a database has been migrated."""

    step: int  # 0: it has no schema yet
    min_reader: int  # who knows this step can read and write it


SCHEMA_FILES = (
    "schema.sql",
    "access_schema.sql",
    "row_security.sql",
    "access_row_security.sql",
)


def list_schema_files() -> list[Path]:
    """The files that make a fresh database what one is that took every step."""
    return [FOLDER.with_name(name) for name in SCHEMA_FILES]


def list_migrations() -> list[Path]:
    """The migrations in order: 0001_start.sql, …"""
    return sorted(FOLDER.glob("[0-9]*.sql"))


def read_version(db: TenantConnection) -> SchemaVersion:
    """How far the database has been migrated."""
    if db.fetch_value(f"select to_regclass('{SCHEMA}.schema_version')") is None:
        return SchemaVersion(0, 0)
    rows = db.fetch_rows(
        f"select step, min_reader from {SCHEMA}.schema_version order by step desc limit 1"
    )
    return SchemaVersion(*rows[0]) if rows else SchemaVersion(0, 0)


def check_version(found: SchemaVersion) -> None:
    """Raise NewerStore for a schema that this release can do nothing with."""
    if found.step > LATEST and found.min_reader > LATEST:
        raise NewerStore(
            f"This database has schema {found.step}, this Reverie knows {LATEST}. "
            "Upgrade with: pip install --upgrade reverie. Nothing was changed."
        )


def describe_trouble(found: SchemaVersion) -> str:
    """Why this release cannot work with a schema; "" if it can."""
    if found.step < LATEST:
        return (
            f"it has schema {found.step}, this version needs {LATEST}: run `reverie server migrate`"
        )
    if found.min_reader > LATEST:
        return (
            f"it has schema {found.step}, which versions from schema {found.min_reader} on can "
            f"work with, and this one knows {LATEST}: upgrade it"
        )
    return ""


def migrate(db: TenantConnection) -> int:
    """Take the missing steps, all or none; returns how many were taken."""
    found = read_version(db)
    check_version(found)
    if found.step == LATEST:
        secure_again(db)
    if found.step >= LATEST:
        return 0
    with db.transaction():
        db.execute(f"select pg_advisory_xact_lock({MIGRATION_LOCK})")
        # Another server may have been quicker.
        found = read_version(db)
        check_version(found)
        if found.step >= LATEST:
            return 0
        check_rights(db)
        db.execute(f"create schema if not exists {SCHEMA}")
        db.execute("create extension if not exists vector with schema public")
        db.execute(f"set local search_path = {SCHEMA}, public")
        db.execute(CREATE_VERSIONS)
        for number, path in enumerate(list_migrations(), start=1):
            if number > found.step:
                take_step(db, number, path)
        secure_tables(db)
    return LATEST - found.step


def check_rights(db: TenantConnection) -> None:
    """Raise StoreError unless the user may create what is needed."""
    may_create = db.fetch_value(
        "select has_database_privilege(current_user, current_database(), 'create')"
    )
    if not may_create:
        raise StoreError(
            "The database has no tables of Reverie's yet, or older ones, and this user may not "
            "create any. Run `reverie server migrate` once as the database's owner"
        )


def take_step(db: TenantConnection, number: int, path: Path) -> None:
    """Run one migration and note it."""
    script = path.read_text("utf-8")
    readers = READERS.match(script)
    db.execute(script)
    db.run(
        "insert into schema_version (step, min_reader, name) "
        "values (%(step)s, %(readers)s, %(name)s)",
        step=number,
        readers=int(readers[1]) if readers else number,
        name=path.stem,
    )


def secure_again(db: TenantConnection) -> None:
    """Set row security again where somebody has taken it off a table that this user owns."""
    if db.fetch_value(IS_UNSECURED):
        with db.transaction():
            db.execute(f"set local search_path = {SCHEMA}, public")
            secure_tables(db)


def secure_tables(db: TenantConnection) -> None:
    """The role of the application, its rights, and row security; as often as one likes."""
    db.execute(CREATE_ROLE)
    db.execute(ROW_SECURITY.read_text("utf-8"))
    db.execute(GRANTS)
    db.execute(ACCESS_ROW_SECURITY.read_text("utf-8"))
    is_member = db.fetch_value(
        f"select pg_has_role(current_user, '{APP_ROLE}', 'usage') from pg_roles "
        "where rolname = current_user and not rolsuper"
    )
    if is_member is False:
        # The owner takes this role in every transaction, so that row security holds for it too.
        db.execute(f"grant {APP_ROLE} to current_user")


def set_password(db: TenantConnection, password: str) -> None:
    """Give the application's role a password."""
    db.execute(
        sql.SQL("alter role {} password {}").format(sql.Identifier(APP_ROLE), sql.Literal(password))
    )
