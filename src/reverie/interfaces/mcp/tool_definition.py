"""How a method becomes a tool: its name, its effects, and how errors are answered."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, NamedTuple

from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from reverie.core.errors import ReverieError


class ToolDefinition(NamedTuple):
    """One tool of a set. Its docstring is what the model reads."""

    function: Callable[..., Any]
    title: str
    hints: ToolAnnotations
    # Shown to the model from the start, where a host hides tools behind a search.
    always: bool = False
    structured: bool = True  # answers with values besides text

    @property
    def name(self) -> str:
        """What the model calls it by: the name of the method."""
        return self.function.__name__


def describe_effects(
    *,
    reads: bool = False,
    alters: bool = False,
    repeatable: bool = False,
) -> ToolAnnotations:
    """The hints by which a host decides whether to ask its user first."""
    return ToolAnnotations(
        read_only_hint=reads,
        destructive_hint=alters,
        idempotent_hint=repeatable,
        # Memory is on this machine: nothing is asked of the world outside.
        open_world_hint=False,
    )


READS = describe_effects(reads=True, repeatable=True)
# It reads and counts the use, so a second call answers another count.
COUNTS = describe_effects(reads=True)
ADDS = describe_effects()
ALTERS = describe_effects(alters=True, repeatable=True)
# One tool with actions of every sort, so it is as bad as the worst of them.
DOES_ALL = describe_effects(alters=True)


def answer_known_errors(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, answering foreseen errors to the model: their messages say what to do.

    Of a function that takes its arguments as one Pydantic model (its first parameter), each field
    of the model is an argument of the tool. A parameter called `from_` is `from` on the wire.
    """
    # Evaluated: the modules of tool sets have their annotations as texts.
    signature = inspect.signature(function, eval_str=True)
    parameters = list(signature.parameters.values())
    model: Any = parameters[0].annotation if parameters else None
    others = parameters[1:]
    takes_model = isinstance(model, type) and issubclass(model, BaseModel)

    @wraps(function)
    def called(**given: Any) -> Any:
        try:
            if takes_model:
                rest = {other.name: given.pop(other.name, None) for other in others}
                return function(model.model_validate(given), **rest)
            # `from` is a keyword of Python, and the name that models know.
            if "from" in given:
                given["from_"] = given.pop("from")
            return function(**given)
        except ReverieError as err:
            return CallToolResult(
                content=[TextContent(type="text", text=str(err))],
                is_error=True,
            )

    if takes_model:
        # The SDK reads a tool's arguments off its signature.
        fields = [to_parameter(name, field) for name, field in model.model_fields.items()]
        called.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[
                *fields,
                *(other.replace(kind=inspect.Parameter.KEYWORD_ONLY) for other in others),
            ]
        )
    return called


def to_parameter(name: str, field: FieldInfo) -> inspect.Parameter:
    """A field of a model of arguments as a parameter of its own."""
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if field.is_required() else field.default,
        annotation=Annotated[field.rebuild_annotation(), field],
    )
