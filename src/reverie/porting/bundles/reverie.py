"""Reverie's own bundle: each row of an export on a line of its own, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any


def write(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Each row as a line."""
    yield from map(to_json_line, rows)


def to_json_line(row: Mapping[str, Any]) -> str:
    """A row as a line."""
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"
