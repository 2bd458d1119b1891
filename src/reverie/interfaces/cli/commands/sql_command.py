"""The command sql: questions over everything that was done, and Parquet files of it."""

import csv
import math
import sys
from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie.core.errors import BadInput
from reverie.interfaces.cli import memory_view
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.terminal_output import (
    escape_controls,
)
from reverie.interfaces.cli.user_input import read_text_or_stdin

if TYPE_CHECKING:
    from reverie.storage.analytics import QueryResult, TableDescription

commands = CommandTable()


@commands.add("sql")
def run_sql(
    cli: CliContext,
    query: Annotated[
        list[str] | None,
        "SQL",
        "One statement in DuckDB's dialect; “-” reads it from stdin.",
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Answer with CSV, a header first.")] = False,
    parquet: Annotated[
        Path | None,
        typer.Option(
            "--parquet",
            metavar="FOLDER",
            help="Write every table as a file into a new folder.",
        ),
    ] = None,
) -> None:
    """Ask the log of what was done in SQL.

    Needs the extra `analytics`. Without a query, say what there is to ask about.
    """
    if parquet is not None and (query or as_csv):
        raise BadInput(
            "Give a query or --parquet FOLDER, not both. A query's rows go into a file with --csv"
        )
    with cli.open_mind() as mind:
        if parquet is not None:
            print_parquet_files(
                cli, parquet, mind.activity.export_parquet(parquet, space=cli.space)
            )
        elif query:
            print_rows(
                cli,
                mind.activity.sql(read_text_or_stdin(query), space=cli.space),
                as_csv=as_csv,
            )
        else:
            with mind.activity.analysis(space=cli.space) as log:
                print_tables(cli, log.tables())


def print_parquet_files(
    cli: CliContext,
    folder: Path,
    rows: Mapping[str, int],
) -> None:
    """Say what was written."""
    files = (f"{folder / table}.parquet  {count:,} rows" for table, count in rows.items())
    cli.answer({"folder": folder, "rows": rows}, files)


def print_tables(cli: CliContext, tables: "list[TableDescription]") -> None:
    """Say what can be asked about."""
    view = (
        f"{table.name}  {table.about}.\n    "
        + ", ".join(f"{column} {type.lower()}" for column, type in table.columns.items())
        for table in tables
    )
    cli.answer({"tables": tables}, view)


def print_rows(
    cli: CliContext,
    answer: "QueryResult",
    *,
    as_csv: bool,
) -> None:
    """Give every row."""
    if as_csv and not cli.as_json:
        # In a file the values stand as they are; a terminal would obey what is in them.
        seen = escape_controls if sys.stdout.isatty() else str
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(map(seen, answer.columns))
        writer.writerows([seen(to_csv_value(value)) for value in row] for row in answer.rows)
        return
    cells = (list(map(to_display_value, row)) for row in answer.rows)
    cli.answer(
        {"columns": answer.columns, "rows": map(to_json_value, answer.rows)},
        memory_view.render_answer(answer.columns, cells) if answer.rows else (),
        "No rows.",
    )


def to_json_value(value: Any) -> Any:
    """A value of DuckDB's as JSON has it: moments in ISO's form, numbers that JSON
    lacks as words.
    """
    match value:
        case Mapping():
            return {str(name): to_json_value(inner) for name, inner in value.items()}
        case list() | tuple():
            return [to_json_value(inner) for inner in value]
        case datetime() | date() | time():
            known: Any = value.isoformat()
        case Decimal():
            known = float(value)
        case bytes():
            known = value.hex()
        case float():
            known = value if math.isfinite(value) else str(value)
        case _:
            known = value if isinstance(value, (str, int)) or value is None else str(value)
    return known


def to_csv_value(value: Any) -> str:
    """A value as CSV has it: nothing for null, JSON for lists and structures."""
    known = to_json_value(value)
    if isinstance(known, (list, dict)):
        import json

        return json.dumps(known, ensure_ascii=False)
    return "" if known is None else str(known)


def to_display_value(value: Any) -> str:
    """A value as people read it: moments to the second, six digits of a fraction."""
    match value:
        case None:
            return "null"
        case datetime():
            return value.isoformat(" ", "seconds")
        case float() if abs(value) < 1e6:
            return f"{value:.6g}"
    return to_csv_value(value)
