"""JSON Lines in and out: one row at a time, whole files or none."""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from reverie.core.atomic_file import write_atomically
from reverie.core.errors import BadInput
from reverie.interfaces.cli.progress_bar import ProgressBar
from reverie.porting.bundles import BUNDLES, BundleFormat

JsonRow = dict[str, Any]
R = TypeVar("R")


def report_progress(
    rows: Iterable[R],
    progress: ProgressBar,
    stage: str,
    total: int | None,
) -> Iterator[R]:
    """The same rows; every hundredth reports progress."""
    for count, row in enumerate(rows, start=1):
        if count % 100 == 0:
            progress(stage, min(count, total) if total else count, total)
        yield row
    progress.clear()


def write_rows_to_stdout(rows: Iterable[JsonRow], bundle: BundleFormat = BUNDLES[0]) -> None:
    """Every row on stdout, in a format."""
    for text in bundle.write(rows):
        sys.stdout.write(text)


def write_rows_to_file(
    path: Path,
    rows: Iterable[JsonRow],
    bundle: BundleFormat = BUNDLES[0],
) -> int:
    """Every row, in a format, into a file that appears complete or not at all. Returns how many
    rows there were.
    """
    if not path.parent.is_dir():
        raise BadInput(f"There is no folder {path.parent}")
    count = 0

    def count_rows() -> Iterator[JsonRow]:
        nonlocal count
        for row in rows:
            yield row
            count += 1

    write_atomically(path, (text.encode() for text in bundle.write(count_rows())), mode=0o600)
    return count


def read_rows(path: Path, skip_bad: bool = False) -> Iterator[JsonRow | BadInput]:
    """The rows of a file; what is no row is an error that names its line: raised, or given in its
    place.
    """
    if str(path) == "-":
        yield from parse_rows(sys.stdin.buffer, skip_bad)
        return
    with path.open("rb") as file:
        yield from parse_rows(file, skip_bad)


def parse_rows(
    lines: Iterable[bytes],
    skip_bad: bool = False,
) -> Iterator[JsonRow | BadInput]:
    """Rows from lines."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield parse_row(line, number)
        except BadInput as err:
            if not skip_bad:
                raise
            yield err


def parse_row(line: bytes, number: int) -> JsonRow:
    """The row that a line holds."""
    try:
        # Editors on Windows write a byte order mark before the first line.
        row = json.loads(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError) as err:
        what = getattr(err, "msg", "nested too deeply" if isinstance(err, RecursionError) else err)
        raise BadInput(
            f"line {number} is not JSON ({what}). `reverie data export` writes what fits"
        ) from err
    if not isinstance(row, dict):
        raise BadInput(f"line {number} is not a JSON object")
    return row
