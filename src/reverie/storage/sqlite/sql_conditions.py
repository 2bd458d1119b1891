"""Parts of queries that are put together at run time, their values always apart from them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import TypeVar

from reverie.core.model import Filter, visible_spaces
from reverie.storage.derived_texts import tag_node
from reverie.storage.row_codec import to_json

# Ids in one query. SQLite takes some 30,000 values, but a statement is prepared for each length.
BATCH = 500
# SQLite takes no longer pattern.
MAX_PATTERN_BYTES = 49_000
HAS_DETAILS = "details is not null"
DETAILS_PATH = "json_extract(details, '$.path')"

T = TypeVar("T")


class SqlConditions:
    """Conditions that all hold, and the values of their question marks.

    The SQL is ours, the user's texts are values.
    """

    def __init__(self) -> None:
        self.tests: list[str] = []
        self.args: list[object] = []

    def __str__(self) -> str:
        return " and ".join(self.tests) or "1"

    def add(self, test: str, *args: object) -> None:
        """Add a condition."""
        self.tests.append(test)
        self.args += args

    def add_in(self, column: str, values: Collection[object]) -> None:
        """Add the condition that a column has one of these values, if there are any."""
        if values:
            self.add(f"{column} in ({sql_placeholders(values)})", *values)

    def add_range(
        self,
        column: str,
        since: float | None,
        until: float | None,
    ) -> None:
        """Add what there is of two limits, both inclusive."""
        if since is not None:
            self.add(f"{column} >= ?", since)
        if until is not None:
            self.add(f"{column} <= ?", until)

    def add_around(self, space: str) -> None:
        """Add the condition that something lies in a space, its parents or its children."""
        if space:
            upward = visible_spaces(space)
            test = f"(space in ({sql_placeholders(upward)}) or substr(space, 1, ?) = ?)"
            self.add(test, *upward, len(space) + 1, space + "/")


def build_containing_test(column: str, text: str) -> tuple[str, str]:
    """A condition that holds where a text occurs in a column (ASCII letters in either case), and
    the value of its question mark.
    """
    pattern = re.sub(r"[%_~]", r"~\g<0>", text)
    if len(pattern.encode()) <= MAX_PATTERN_BYTES:
        # Half the time of a search in a copy in lower case.
        return f"{column} like ? escape '~'", f"%{pattern}%"
    # Of bytes those of ASCII alone have a lower case, as in SQLite.
    return f"instr(lower({column}), ?) > 0", text.encode().lower().decode()


def sql_placeholders(values: Collection[object]) -> str:
    """A comma-separated list of one `?` for each value."""
    return ", ".join("?" * len(values))


def split_batches(values: Sequence[T]) -> Iterator[tuple[T, ...]]:
    """The values in batches that fit into one query."""
    return (tuple(values[start : start + BATCH]) for start in range(0, len(values), BATCH))


def build_filter_conditions(where: Filter) -> SqlConditions:
    """The conditions of a filter on the table `memory`."""
    found = SqlConditions()
    # A session is the rarest of all that is asked for, and a stretch of the past in its order is
    # read until there is enough. A plus keeps SQLite from using the indexes of the others.
    is_any = not (where.kinds or where.tags or where.having)
    is_stretch = where.by_time and is_any and (where.since, where.until) != (None, None)
    plus = "+" if where.session or is_stretch else ""
    found.add_in(f"{plus}space", where.spaces)
    found.add_in(f"{plus}kind", where.kinds)
    found.add_in("kind not", where.without)
    found.add_range("at", where.since, where.until)
    if where.having:
        has_key = "exists (select 1 from json_each(details) where key = ?)"
        # Most details are others: a look at their letters spares parsing them.
        test = f"{HAS_DETAILS} and instr(details, ?) > 0 and {has_key}"
        found.add(test, to_json(where.having), where.having)
    if where.naming:
        found.add(f"{HAS_DETAILS} and instr(details, ?) > 0", to_json(where.naming))
    found.add_in(f"{HAS_DETAILS} and {DETAILS_PATH}", where.paths)
    if where.below:
        below = f"{where.below}/"
        found.add(f"{HAS_DETAILS} and substr({DETAILS_PATH}, 1, length(?)) = ?", below, below)
    for tag in where.tags:
        test = "exists (select 1 from edge where src = memory.id and rel = 'has_tag' and dst = ?)"
        found.add(test, tag_node(tag))
    if where.session:
        # The index of sessions is partial, and is used only where its condition is said again.
        found.add("session = ? and session <> ''", where.session)
    if where.active is not None:
        found.add("retired_at is null" if where.active else "retired_at is not null")
    if where.after:
        found.add("num < (select num from memory where id = ?)", where.after)
    return found
