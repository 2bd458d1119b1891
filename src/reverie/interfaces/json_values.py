"""Answers of verbs as values that JSON has, for whatever writes them down."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from reverie.core.model import Hit

PLAIN = frozenset({str, int, float, bool, type(None)})


def to_json_values(value: Any) -> Any:
    """The same in values that JSON has. What has named fields, as a memory, is an object of them;
    a hit also has its memory's id.
    """
    # Most of a long list, such as the nodes of a map: their types are asked first.
    if type(value) in PLAIN:
        return value
    if isinstance(value, Hit):
        value = {
            "id": value.memory.id,
            "score": value.score,
            "why": value.why,
            **value._asdict(),
        }
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    elif hasattr(value, "__dataclass_fields__"):
        value = {name: getattr(value, name) for name in value.__dataclass_fields__}
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, Mapping):
        return {name: to_json_values(inner) for name, inner in value.items()}
    return list(map(to_json_values, value)) if isinstance(value, Iterable) else str(value)
