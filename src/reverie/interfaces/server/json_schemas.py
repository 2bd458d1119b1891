"""JSON Schema of Python's types, and values held against it.

The same schema checks a request and stands in the OpenAPI document, so the two cannot differ.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any, get_args, get_origin

from reverie.interfaces.server.problems import BadArgument

Schema = dict[str, Any]

PLAIN_TYPES: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime: {"type": "string"},
    date: {"type": "string"},
    timedelta: {"type": "number"},
    Path: {"type": "string"},
    Any: {},
    object: {},
}
PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}
WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "an object",
}


def schema_of(annotation: Any, components: MutableMapping[str, Schema]) -> Schema:
    """The schema of a type. Those with named fields go into `components`, and are referred to."""
    if annotation in PLAIN_TYPES:
        return dict(PLAIN_TYPES[annotation])
    if has_named_fields(annotation):
        return refer_to_record(annotation, components)
    if get_origin(annotation) is typing.Literal:
        return {"enum": list(get_args(annotation))}
    return schema_of_parts(get_origin(annotation), get_args(annotation), components)


def schema_of_parts(
    origin: Any, inner: tuple[Any, ...], components: MutableMapping[str, Schema]
) -> Schema:
    """The schema of a type that is made of others; that of anything for one that is not known."""
    if origin in (typing.Union, types.UnionType):
        return join_schemas([schema_of(one, components) for one in inner])
    if origin is tuple and inner[-1] is not Ellipsis:
        one = join_schemas([schema_of(part, components) for part in inner])
        return {"type": "array", "items": one, "minItems": len(inner), "maxItems": len(inner)}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(inner[1], components)}
    if isinstance(origin, type) and issubclass(origin, Iterable):
        return {"type": "array", "items": schema_of(inner[0], components)}
    return {}


def has_named_fields(annotation: Any) -> bool:
    """True of a named tuple or a dataclass."""
    return isinstance(annotation, type) and (
        is_dataclass(annotation) or hasattr(annotation, "_fields")
    )


def refer_to_record(kind: type, components: MutableMapping[str, Schema]) -> Schema:
    """A reference to the schema of a type with named fields, which is made if it is not there."""
    name = kind.__name__
    if name not in components:
        components[name] = {}  # so that a type may hold values of itself
        names = (
            [row.name for row in fields(kind)]
            if is_dataclass(kind)
            else list(getattr(kind, "_fields", ()))
        )
        hints = resolve_hints(kind)
        components[name] = {
            "type": "object",
            "description": " ".join((inspect.getdoc(kind) or "").split()),
            "properties": {name: schema_of(hints.get(name, Any), components) for name in names},
        }
    return {"$ref": f"#/components/schemas/{name}"}


def resolve_hints(record: type) -> dict[str, Any]:
    """The types of a record's fields; {} if they cannot be resolved."""
    try:
        return typing.get_type_hints(record)
    except NameError:  # imported for type checkers alone
        return {}


def join_schemas(choices: list[Schema]) -> Schema:
    """Any of some schemas; simple types are written as a list of their names."""
    distinct = [one for place, one in enumerate(choices) if one not in choices[:place]]
    if len(distinct) == 1:
        return distinct[0]
    if {} in distinct:
        return {}
    if all(one.keys() == {"type"} for one in distinct):
        return {"type": [one["type"] for one in distinct]}
    return {"anyOf": distinct}


def check_value(value: Any, schema: Schema, where: str) -> None:
    """BadArgument that says where, if a value does not fit the schema."""
    choices = schema.get("anyOf")
    if choices:
        if not any(fits(value, choice) for choice in choices):
            raise BadArgument(f"must be {describe_schema(schema)}", where)
        return
    if "enum" in schema and value not in schema["enum"]:
        raise BadArgument(f"must be one of {', '.join(map(str, schema['enum']))}", where)
    if "type" in schema and not has_type(value, schema["type"]):
        raise BadArgument(f"must be {describe_schema(schema)}, not {describe_value(value)}", where)
    if isinstance(value, list):
        least, most = schema.get("minItems", 0), schema.get("maxItems", len(value))
        if not least <= len(value) <= most:
            raise BadArgument(f"must have {most} items, not {len(value)}", where)
        for place, one in enumerate(value):
            check_value(one, schema.get("items", {}), f"{where}[{place}]")
    if isinstance(value, dict):
        check_object(value, schema, where)


def check_object(value: Mapping[str, Any], schema: Schema, where: str) -> None:
    """Check the fields of an object, and that no other and none too few are there."""
    known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
    prefix = f"{where}." if where else ""
    if missing := [name for name in schema.get("required", ()) if name not in value]:
        raise BadArgument("is missing", f"{prefix}{missing[0]}")
    for name, one in value.items():
        if name in known:
            check_value(one, known[name], f"{prefix}{name}")
        elif others is False:
            raise BadArgument(f"is not one of {', '.join(sorted(known))}", f"{prefix}{name}")
        else:
            check_value(one, others, f"{prefix}{name}")


def fits(value: Any, schema: Schema) -> bool:
    """True if a value fits the schema."""
    try:
        check_value(value, schema, "")
    except BadArgument:
        return False
    return True


def has_type(value: Any, names: str | list[str]) -> bool:
    """True if a value is of one of the types; true and false are no numbers."""
    wanted = [names] if isinstance(names, str) else names
    if isinstance(value, bool):
        return "boolean" in wanted
    return any(isinstance(value, PYTHON_TYPES[name]) for name in wanted)


def describe_schema(schema: Schema) -> str:
    """What a value must be, in words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(describe_schema, schema["anyOf"])))
    names = schema.get("type", [])
    words = [WORDS[name] for name in ([names] if isinstance(names, str) else names)]
    said = " or ".join(words) or "a value"
    if names == "array" and "type" in schema.get("items", {}):
        return f"{said} of items, each {describe_schema(schema['items'])}"
    return said


def describe_value(value: Any) -> str:
    """What a value is, in words and never its contents."""
    return next(WORDS[name] for name in WORDS if has_type(value, name))
