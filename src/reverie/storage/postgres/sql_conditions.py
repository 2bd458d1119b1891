"""Parts of queries that are put together at run time, their values always apart from them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from reverie.core.model import Filter, visible_spaces
from reverie.storage.derived_texts import tag_node
from reverie.storage.row_codec import to_json

# A path in the details that is no text, as an object, is none that anybody looks for.
DETAILS_PATH = "(details::json ->> 'path')"


class SqlConditions:
    """Conditions that all hold, and their values by name.

    The SQL is ours, the user's texts are values. Each begins with the tenant.
    """

    def __init__(self, table: str = "") -> None:
        self.prefix = f"{table}." if table else ""
        self.tests = [f"{self.prefix}tenant = %(tenant)s"]
        self.values: dict[str, Any] = {}

    def __str__(self) -> str:
        return " and ".join(self.tests)

    def add(self, test: str, **values: Any) -> None:
        """Add a condition; names of values must not repeat."""
        assert not values.keys() & self.values.keys(), "the name of a value is taken"
        self.tests.append(test)
        self.values |= values

    def add_in(self, column: str, values: Collection[str], *, negate: bool = False) -> None:
        """Add the condition that a column has one (or none) of these values, if there are any."""
        if values:
            name = f"value_{len(self.values)}"
            self.add(
                f"{column} <> all(%({name})s)" if negate else f"{column} = any(%({name})s)",
                **{name: list(values)},
            )

    def add_range(self, column: str, since: float | None, until: float | None) -> None:
        """Add what there is of two limits, both inclusive."""
        if since is not None:
            self.add(f"{column} >= %(since)s", since=since)
        if until is not None:
            self.add(f"{column} <= %(until)s", until=until)

    def add_around(self, space: str) -> None:
        """Add the condition that something lies in a space, its parents or its children."""
        if space:
            self.add(
                "(space = any(%(upward)s) or starts_with(space, %(below)s))",
                upward=list(visible_spaces(space)),
                below=space + "/",
            )

    def add_containing(self, column: str, texts: Collection[str]) -> None:
        """Add the condition that each text occurs in a column (ASCII letters in either case)."""
        for text in texts:
            name = f"text_{len(self.values)}"
            self.add(
                f"position(%({name})s in {lower_ascii(column)}) > 0",
                **{name: lower_ascii_text(text)},
            )


_UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_TO_LOWER = str.maketrans(_UPPER, _UPPER.lower())


def lower_ascii(column: str) -> str:
    """SQL for a column in lower case, as far as letters are ASCII, whatever the server's locale."""
    return f"translate({column}, '{_UPPER}', '{_UPPER.lower()}')"


def lower_ascii_text(text: str) -> str:
    """The same for a text."""
    return text.translate(_TO_LOWER)


def build_filter_conditions(where: Filter) -> SqlConditions:
    """The conditions of a filter on the table `memory`."""
    found = SqlConditions("memory")
    found.add_in("space", where.spaces)
    found.add_in("kind", where.kinds)
    found.add_in("kind", where.without, negate=True)
    found.add_range("at", where.since, where.until)
    if where.having:
        found.add(
            "details is not null and exists "
            "(select 1 from json_object_keys(details::json) as key where key = %(having)s)",
            having=where.having,
        )
    if where.naming:
        found.add(
            "details is not null and position(%(naming)s in details) > 0",
            naming=to_json(where.naming),
        )
    found.add_in(f"details is not null and {DETAILS_PATH}", where.paths)
    if where.below:
        found.add(
            f"details is not null and starts_with({DETAILS_PATH}, %(below)s)",
            below=f"{where.below}/",
        )
    if where.tags:
        found.add(
            "id in (select src from edge where tenant = %(tenant)s and rel = 'has_tag' "
            "and dst = any(%(tag_nodes)s) group by src having count(*) = %(tag_count)s)",
            tag_nodes=sorted({tag_node(tag) for tag in where.tags}),
            tag_count=len(set(where.tags)),
        )
    if where.session:
        # The index of sessions is partial, and is used only where its condition is said again.
        found.add("session = %(session)s and session <> ''", session=where.session)
    if where.active is not None:
        found.add("retired_at is null" if where.active else "retired_at is not null")
    if where.after:
        found.add(
            "num < (select num from memory where tenant = %(tenant)s and id = %(after_id)s)",
            after_id=where.after,
        )
    return found
