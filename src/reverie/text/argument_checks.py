"""Arguments of questions, checked, so that a slip raises BadInput instead of finding nothing."""

from collections.abc import Iterable, Mapping
from operator import index
from typing import Any

from reverie.core.errors import BadInput
from reverie.core.kinds import MEMORY_TYPES
from reverie.text.text_cleaning import clean_text


def check_whole_number(limit: Any, what: str = "limit") -> int:
    """The value as a whole number; BadInput for anything else."""
    try:
        return index(limit)
    except TypeError:
        raise BadInput(f"{what}={limit!r} must be a whole number") from None


def check_text_list(values: object, what: str) -> tuple[str, ...]:
    """Several cleaned texts; BadInput for a single text or anything else."""
    if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
        raise BadInput(f"The {what} are a list of texts, not {values!r}")
    found = tuple(values)
    for value in found:
        if not isinstance(value, str):
            raise BadInput(f"The {what} are a list of texts; {value!r} is none")
    return tuple(map(clean_text, found))


def check_texts(values: object, what: str) -> tuple[str, ...]:
    """One text, or several; BadInput for anything else."""
    return check_text_list([values] if isinstance(values, str) else values, what)


def check_options(
    verb: str,
    given: Mapping[str, Any],
    options: type,
) -> None:
    """Raise TypeError, as Python does, for a name that the verb's further arguments do not have."""
    allowed = options.__annotations__
    if unknown := sorted(given.keys() - allowed.keys()):
        raise TypeError(
            f"{verb}() got an unexpected keyword argument {unknown[0]!r}; "
            f"besides those of its signature it takes {', '.join(allowed)}"
        )


def check_question(text: object, what: str) -> str:
    """The text of a question; BadInput for anything else."""
    if not isinstance(text, str):
        raise BadInput(f"The {what} must be a str, not {type(text).__name__}")
    return text


def check_memory_types(types: object) -> tuple[str, ...]:
    """Names of memory types; BadInput for one that there is not."""
    found = check_text_list(types, "types")
    for name in found:
        if name not in MEMORY_TYPES:
            raise BadInput(f"{name!r} is not a memory type; there are {', '.join(MEMORY_TYPES)}")
    return found
