"""The arguments of a verb over HTTP: what its signature says, as a JSON Schema.

A verb's parameters are its arguments by name, those that it takes together (`Unpack[…]`) among
them. Nothing is written twice: what `Mind` takes, the server takes.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from reverie.interfaces.server.json_schemas import Schema, schema_of

# Names that a type checker imports for the signatures of verbs, by where they stand.
CHECKED_NAMES = {
    "When": "reverie.memory.intention",
    "LearnReport": "reverie.extraction.transcript_learning",
    "Explanation": "reverie.memory.explanation",
    "FixSuggestion": "reverie.activity.remedies",
    "PurgeResult": "reverie.storage.backups",
    "Stats": "reverie.storage",
    "MemoryCluster": "reverie.consolidation.cluster_list",
    "Deployment": "reverie.interfaces.server.deployment",
}


def load_checked_names() -> dict[str, Any]:
    """The types of CHECKED_NAMES."""
    from importlib import import_module

    return {name: getattr(import_module(module), name) for name, module in CHECKED_NAMES.items()}


def describe_arguments(
    verb: Callable[..., Any],
    components: MutableMapping[str, Schema],
    *,
    more: type | None = None,
    without: Sequence[str] = (),
) -> Schema:
    """The schema of the object that a request to this verb holds.

    `more` has the further names of a verb that takes any; arguments `without` are not for a server.
    """
    hints = typing.get_type_hints(inspect.unwrap(verb), localns=load_checked_names())
    properties: dict[str, Schema] = {}
    required: list[str] = []
    for row in list(inspect.signature(verb).parameters.values())[1:]:
        if row.kind is row.VAR_KEYWORD:
            packed = typing.get_args(hints[row.name])
            properties |= describe_fields(packed[0] if packed else more, components)
            continue
        properties[row.name] = schema_of(hints[row.name], components)
        if row.default is row.empty:
            required.append(row.name)
        elif is_json(row.default):
            properties[row.name]["default"] = to_json(row.default)
    return {
        "type": "object",
        "properties": {name: one for name, one in properties.items() if name not in without},
        "required": required,
        "additionalProperties": False,
    }


def describe_fields(
    options: type | None, components: MutableMapping[str, Schema]
) -> dict[str, Schema]:
    """The schemas of what a type of further arguments names; {} without one."""
    if options is None:
        return {}
    hints = typing.get_type_hints(options, localns=load_checked_names())
    return {name: schema_of(strip_required(hint), components) for name, hint in hints.items()}


def strip_required(hint: Any) -> Any:
    """The type in `Required[…]`."""
    return typing.get_args(hint)[0] if typing.get_origin(hint) is typing.Required else hint


def describe_answer(verb: Callable[..., Any], components: MutableMapping[str, Schema]) -> Schema:
    """The schema of what a verb returns."""
    return schema_of(get_answer_type(verb), components)


def get_answer_type(verb: Callable[..., Any]) -> Any:
    """What a verb returns."""
    hints = typing.get_type_hints(inspect.unwrap(verb), localns=load_checked_names())
    return hints.get("return", Any)


def is_json(value: Any) -> bool:
    """True of a default that JSON can show."""
    return value is None or isinstance(value, (str, int, float, bool, tuple))


def to_json(value: Any) -> Any:
    """A default as JSON shows it."""
    return list(value) if isinstance(value, tuple) else value


@dataclass(frozen=True)
class FunctionRoute:
    """A function as a route: its signature is the schema, its docstring the summary."""

    name: str  # behind /v1/
    verb: Callable[..., Any]

    @cached_property
    def arguments(self) -> Schema:
        """The schema of the request's body."""
        return describe_arguments(self.verb, {})

    @property
    def summary(self) -> str:
        """What it does."""
        return " ".join((self.verb.__doc__ or "").split())
