"""Values of pages with the reader's own names of spaces: `~ann/demo` is `me/demo` for ann.

The same exchange as `space_names` makes in JSON, for the named tuples and records that templates
read. What holds no space is given back as it is. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from reverie.interfaces.server.space_names import SPACE_FIELDS, SPACES_FIELDS, to_caller_space


def with_reader_spaces(value: Any, private_root: str) -> Any:
    """The value with the reader's names of spaces, in whatever depth they stand."""
    if hasattr(value, "_asdict"):
        named = with_named_spaces(value._asdict(), private_root)
        return value._replace(**named) if named else value
    if is_dataclass(value) and not isinstance(value, type):
        given = {row.name: getattr(value, row.name) for row in fields(value) if row.init}
        named = with_named_spaces(given, private_root)
        return replace(value, **named) if named else value
    if isinstance(value, Mapping):
        named = with_named_spaces(value, private_root)
        return {**value, **named} if named else value
    if isinstance(value, list | tuple):
        shown = [with_reader_spaces(one, private_root) for one in value]
        is_same = all(one is before for one, before in zip(shown, value, strict=True))
        return value if is_same else type(value)(shown)
    return value


def with_named_spaces(given: Mapping[str, Any], private_root: str) -> dict[str, Any]:
    """The fields whose value is another one for the reader."""
    named = {}
    for name, value in given.items():
        shown = name_spaces(name, value, private_root)
        if shown is not value:
            named[name] = shown
    return named


def name_spaces(name: str, value: Any, private_root: str) -> Any:
    """The value of a field: a space, several, or whatever else may hold some."""
    if name in SPACE_FIELDS and isinstance(value, str):
        shown = to_caller_space(value, private_root)
        return value if shown == value else shown
    if name in SPACES_FIELDS and isinstance(value, Mapping):
        return {to_caller_space(key, private_root): inner for key, inner in value.items()}
    if name in SPACES_FIELDS and isinstance(value, list | tuple):
        return tuple(
            to_caller_space(one, private_root)
            if isinstance(one, str)
            else with_reader_spaces(one, private_root)
            for one in value
        )
    return with_reader_spaces(value, private_root)
