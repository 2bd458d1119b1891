"""`me` of whoever asks is `~ann` on the server: the names are exchanged at its door, both ways.

Always true: the root `me` never gets into a server's database, and nobody is shown their own
private root under its inner name. Other spaces keep their names. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reverie.core.config import ME

# Fields of answers that hold a space, or several: as texts, or as the names of counts.
SPACE_FIELDS = ("space", "home", "target")
SPACES_FIELDS = ("spaces",)


def to_server_space(space: str, private_root: str) -> str:
    """A space as the server keeps it: `me/demo` is `~ann/demo`."""
    root, slash, rest = space.partition("/")
    return f"{private_root}{slash}{rest}" if root == ME else space


def to_caller_space(space: str, private_root: str) -> str:
    """A space as its owner knows it: `~ann/demo` is `me/demo`."""
    root, slash, rest = space.partition("/")
    return f"{ME}{slash}{rest}" if root == private_root else space


def with_caller_spaces(answer: Any, private_root: str) -> Any:
    """JSON values with the caller's names of spaces, in whatever depth they stand."""
    if isinstance(answer, list):
        return [with_caller_spaces(one, private_root) for one in answer]
    if not isinstance(answer, Mapping):
        return answer
    named: dict[str, Any] = {}
    for name, value in answer.items():
        if name in SPACE_FIELDS and isinstance(value, str):
            named[name] = to_caller_space(value, private_root)
        elif name in SPACES_FIELDS and isinstance(value, Mapping):
            named[name] = {to_caller_space(key, private_root): n for key, n in value.items()}
        elif name in SPACES_FIELDS and isinstance(value, list):
            named[name] = [
                to_caller_space(one, private_root)
                if isinstance(one, str)
                else with_caller_spaces(one, private_root)
                for one in value
            ]
        else:
            named[name] = with_caller_spaces(value, private_root)
    return named
