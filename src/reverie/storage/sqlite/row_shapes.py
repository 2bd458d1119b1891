"""What the columns of a row may hold. A damaged row may hold anything anywhere: SQLite itself does
not look, and what reads rows relies on it.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from sqlite3 import Connection
from typing import Any

from reverie.core.model import Memory, Reinforcement
from reverie.storage.row_checksums import SummedTable
from reverie.storage.row_codec import STRUCTURED, from_json, from_plain, to_memory
from reverie.storage.sqlite.sealed_rows import seal_rows

UNREADABLE = (ValueError, TypeError, AttributeError)
# What a column of a declared type holds.
PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "text": (str,),
    "real": (float, int),
    "integer": (int,),
}
MISPLACED = (
    "typeof(seq) <> 'integer' or typeof(place) <> 'integer'"
    " or typeof(memory) <> 'text' or typeof(op) <> 'text'"
)
NO_JSON = (
    "(before is not null and not json_valid(before))"
    " or (after is not null and not json_valid(after))"
)
# Notes (`meta`) that are no longer the JSON that they were.
BROKEN_NOTE = """substr(value, 1, 1) in ('[', '{', '"') and not json_valid(value)"""
EMPTY = {"text": "", "real": 0.0, "integer": 0}  # where a column may not be null
JSON_COLUMNS = STRUCTURED | {"payload"}
# What the JSON of a memory's columns is a list of.
ITEMS: dict[str, type] = {"messages": int, "reinforcements": Reinforcement}


class Column:
    """A column as a table declares it."""

    def __init__(self, name: str, declared: str, is_optional: bool) -> None:
        self.name, self.is_optional = name, is_optional
        self.types = PYTHON_TYPES[declared]
        self.empty = None if is_optional else EMPTY[declared]

    def fits(self, value: Any) -> bool:
        """Whether a row may have this value here."""
        if value is None:
            return self.is_optional
        if not isinstance(value, self.types):
            return False
        return self.name not in JSON_COLUMNS or is_json_of(self.name, str(value))

    def mend(self, value: Any) -> Any:
        """A value that fits: the text of damaged bytes, else nothing."""
        if self.types == (str,) and isinstance(value, bytes):
            text = value.decode("utf-8", "replace")
            return text if self.fits(text) else self.empty
        return self.empty


def is_json_of(name: str, text: str) -> bool:
    """Whether a text is the JSON that this column of a memory holds."""
    try:
        value = from_json(text)
        if name not in ("payload", "details"):
            return all(
                isinstance(item, ITEMS.get(name, str)) for item in from_plain(name, value) or ()
            )
    except UNREADABLE:
        return False
    return isinstance(value, Mapping)


def read_columns(db: Connection, table: SummedTable) -> list[Column]:
    """The columns of a table that its checksum is of."""
    declared = {
        name: Column(name, kind.lower(), not notnull)
        for _, name, kind, notnull, *_ in db.execute(f"pragma table_info({table.name})")
    }
    return [declared[name] for name in table.columns.split(", ")]


def write_fitting_values(
    db: Connection, table: SummedTable, number: int, values: Mapping[str, Any]
) -> None:
    """Put values that fit into a row, and vouch for what it holds now."""
    sets = ", ".join(f"{name} = ?" for name in values)
    db.execute(f"update {table.name} set {sets} where {table.key} = ?", (*values.values(), number))
    seal_rows(db, table, [number])


def count_broken_changes(db: Connection) -> int:
    """How many records of history cannot be read."""
    query = f"select count(*) from change where {MISPLACED} or {NO_JSON}"
    count: int = db.execute(query).fetchone()[0]
    return count


def mend_changes(db: Connection) -> int:
    """Delete records of history that point nowhere, and empty those that say what is no JSON; how
    many they were.
    """
    gone = db.execute(f"delete from change where {MISPLACED}").rowcount
    emptied = f"update change set before = null, after = null where {NO_JSON}"
    return gone + db.execute(emptied).rowcount


def find_broken_notes(db: Connection) -> list[str]:
    """The names of notes that cannot be read."""
    return [name for (name,) in db.execute(f"select name from meta where {BROKEN_NOTE}")]


def drop_broken_notes(db: Connection) -> list[str]:
    """Delete notes that cannot be read; their names. What made them makes them anew."""
    query = f"delete from meta where {BROKEN_NOTE} returning name"
    return [name for (name,) in db.execute(query).fetchall()]


def to_memory_or_none(row: Sequence[Any]) -> Memory | None:
    """The memory of a row, or None for a row that is none."""
    with suppress(*UNREADABLE):
        return to_memory(tuple(row))
    return None


def find_misfits(columns: Sequence[Column], values: Sequence[Any]) -> dict[str, Any]:
    """(name → a value that fits) of the columns of a row whose values cannot be theirs."""
    return {
        column.name: column.mend(value)
        for column, value in zip(columns, values, strict=True)
        if not column.fits(value)
    }
