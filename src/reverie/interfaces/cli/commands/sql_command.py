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
from reverie.interfaces.cli import terminal_output, user_input
from reverie.interfaces.cli.cli_context import CliContext, command

if TYPE_CHECKING:
    from reverie.storage.analytics import QueryResult, TableDescription

PANEL = "Experience"


def register(app: typer.Typer) -> None:
    """Put this command on the command line."""
    command(app, "sql", panel=PANEL)(run_sql)


def run_sql(
    desk: CliContext,
    query: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SQL", help="One statement in DuckDB's dialect; “-” reads it from stdin."
        ),
    ] = None,
    as_csv: Annotated[bool, typer.Option("--csv", help="Answer with CSV, a header first.")] = False,
    parquet: Annotated[
        Path | None,
        typer.Option(
            "--parquet", metavar="FOLDER", help="Write every table as a file into a new folder."
        ),
    ] = None,
) -> None:
    """Ask the log of what was done in SQL (extra `analytics`); without a query, what there is to
    ask about.
    """
    if parquet is not None and (query or as_csv):
        raise BadInput(
            "Give a query or --parquet FOLDER, not both. A query's rows go into a file with --csv"
        )
    with desk.mind() as mind:
        if parquet is not None:
            print_parquet_files(desk, parquet, mind.export_parquet(parquet, space=desk.space))
        elif query:
            print_rows(
                desk,
                mind.sql(user_input.read_text_or_stdin(query), space=desk.space),
                as_csv=as_csv,
            )
        else:
            with mind.analysis(space=desk.space) as log:
                print_tables(desk, log.tables())


def print_parquet_files(desk: CliContext, folder: Path, rows: Mapping[str, int]) -> None:
    """Say what was written."""
    if desk.json:
        terminal_output.print_json({"folder": str(folder), "rows": rows})
        return
    for table, count in rows.items():
        terminal_output.print_line(f"{folder / table}.parquet  {count:,} rows")


def print_tables(desk: CliContext, tables: "list[TableDescription]") -> None:
    """Say what can be asked about."""
    if desk.json:
        terminal_output.print_json({"tables": [one._asdict() for one in tables]})
        return
    for one in tables:
        terminal_output.print_line(f"{one.name}  {one.about}.")
        terminal_output.print_line(
            "    " + ", ".join(f"{column} {type.lower()}" for column, type in one.columns.items())
        )


def print_rows(desk: CliContext, answer: "QueryResult", *, as_csv: bool) -> None:
    """Give every row."""
    if desk.json:
        terminal_output.print_json(
            {
                "columns": answer.columns,
                "rows": [[to_json_value(value) for value in row] for row in answer.rows],
            }
        )
    elif as_csv:
        seen = terminal_output.escape_controls if sys.stdout.isatty() else str
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(map(seen, answer.columns))
        writer.writerows([seen(to_csv_value(value)) for value in row] for row in answer.rows)
    elif answer.rows:
        from reverie.interfaces.cli import memory_view

        memory_view.render_answer(
            answer.columns, [[to_display_value(value) for value in row] for row in answer.rows]
        )
    else:
        terminal_output.print_note("No rows.")


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
