"""The tables: as their file says, after all migrations, and every one of them secured."""

from contextlib import closing
from pathlib import Path

from reverie.storage import postgres

FOLDER = Path(str(postgres.__file__)).parent
COLUMNS = """
    select table_name, column_name, data_type, is_nullable, column_default, collation_name
    from information_schema.columns where table_schema = %s order by table_name, ordinal_position
"""
INDEXES = (
    "select indexname, replace(indexdef, %s, '') from pg_indexes where schemaname = %s order by 1"
)


def test_the_schema_is_the_sum_of_the_migrations(database):
    """Every table of access_schema.sql has the same columns and indexes in a migrated database."""
    with closing(database.pool.connect()) as db:
        db.execute("create schema fresh")
        db.execute("set search_path = fresh, public")
        db.execute((FOLDER / "access_schema.sql").read_text("utf-8"))
        fresh = db.execute(COLUMNS, ("fresh",)).fetchall()
        tables = {row[0] for row in fresh}
        migrated = [row for row in db.execute(COLUMNS, ("reverie",)) if row[0] in tables]
        assert fresh == migrated
        fresh_indexes = db.execute(INDEXES, ("fresh.", "fresh")).fetchall()
        names = {name for name, _ in fresh_indexes}
        migrated_indexes = db.execute(INDEXES, ("reverie.", "reverie")).fetchall()
        assert fresh_indexes == [row for row in migrated_indexes if row[0] in names]


def test_every_table_is_held_to_its_tenant(database):
    """Row security is on and forced, and the tenant is the first column of the primary key."""
    with closing(database.pool.connect()) as db:
        db.execute("create schema fresh")
        db.execute("set search_path = fresh, public")
        db.execute((FOLDER / "access_schema.sql").read_text("utf-8"))
        tables = {
            name
            for (name,) in db.execute("select tablename from pg_tables where schemaname = 'fresh'")
        }
        rows = db.execute(
            """
            select c.relname, c.relrowsecurity and c.relforcerowsecurity, a.attname
            from pg_class c
            join pg_index i on i.indrelid = c.oid and i.indisprimary
            join pg_attribute a on a.attrelid = c.oid and a.attnum = i.indkey[0]
            where c.relnamespace = 'reverie'::regnamespace
            """
        ).fetchall()
    assert len(tables) == 16
    assert {row for row in rows if row[0] in tables} == {(t, True, "tenant") for t in tables}


def test_the_tables_can_be_spread(database):
    """No foreign key, trigger or sequence: Citus distributes the tables as they are."""
    with closing(database.pool.connect()) as db:
        found = db.execute(
            """
            select conname from pg_constraint
            where connamespace = 'reverie'::regnamespace and contype = 'f'
            union all
            select tgname::text from pg_trigger t join pg_class c on c.oid = t.tgrelid
            where c.relnamespace = 'reverie'::regnamespace and not t.tgisinternal
            union all
            select sequencename::text from pg_sequences where schemaname = 'reverie'
            """
        ).fetchall()
    assert [] == found
