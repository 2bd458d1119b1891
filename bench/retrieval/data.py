"""The development sets as values: `load("locomo", root)` gives corpora and the questions about
them.

The sets are not part of the project (their licences forbid it). They lie in one folder, one format:
see `README.md` there. `REVERIE_BENCH_DATA` or the default `../shared/bench-data` beside the
checkout says where.
"""

import argparse
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

SETS = ("locomo", "beam-100k", "cosqa")

LEFT_OUT = frozenset({"adversarial"})
"""Questions with a false premise: the published figures leave them out."""


def default_root() -> Path:
    """Where the sets lie unless a path is given."""
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "bench-data"
    return Path(os.environ.get("REVERIE_BENCH_DATA", beside))


def arguments(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The arguments of a benchmark over these sets, with `--data` and `--cache`; without the sets
    it ends here.
    """
    parser.add_argument(
        "--data", type=Path, default=None, help="folder of the sets (default: beside the checkout)"
    )
    parser.add_argument("--cache", type=Path, default=Path(".cache/home"))
    args = parser.parse_args()
    if not (args.data or default_root()).is_dir():
        parser.exit(0, "bench-data is not there; give --data PATH. Nothing was measured.\n")
    return args


@dataclass(frozen=True, slots=True)
class Row:
    """One memory of a corpus, as published."""

    id: str
    text: str
    session: str
    speaker: str
    at: float  # seconds since the epoch, NaN where unknown


@dataclass(frozen=True, slots=True)
class Question:
    """One question, and the ids of the memories that hold the evidence."""

    id: str
    corpus: str
    text: str
    gold: frozenset[str]
    category: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """One set: its corpora by name, and the questions that have an answer."""

    name: str
    corpora: dict[str, list[Row]]
    questions: list[Question]


def load(name: str, root: Path | None = None) -> Dataset:
    """The set `name`, without adversarial questions and those without evidence."""
    folder = (root or default_root()) / name
    corpora = {
        path.stem: [_row(item) for item in _lines(path)]
        for path in sorted(folder.glob("corpus/*.jsonl"))
    }
    questions = [_question(item) for item in _lines(folder / "queries.jsonl")]
    return Dataset(name, corpora, [q for q in questions if q.gold and q.category not in LEFT_OUT])


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _row(item: dict[str, Any]) -> Row:
    return Row(
        item["id"], item["text"], item["session_id"], item["speaker"], _epoch(item["timestamp"])
    )


def _epoch(stamp: str) -> float:
    return datetime.fromisoformat(stamp).replace(tzinfo=UTC).timestamp() if stamp else float("nan")


def _question(item: dict[str, Any]) -> Question:
    gold = frozenset(item["gold_ids"])
    return Question(item["qid"], item["corpus"], item["question"], gold, item["category"])
