"""What to say before a tool runs: warnings whose trigger meets it, reminders it calls for, what is
known of a file.

The desk writes them as rows (`row_of`), for a hook has no time to open the store; the hook holds
what the tool is given against the rows (`meeting`). Warnings and what is known of a file are said
once in a session; a reminder is given once at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from reverie.core.trigger_patterns import EXPRESSION, TOOL, Scene, about_to_run, meets

if TYPE_CHECKING:
    from reverie.core.model import Memory

MOST_ROWS = 300  # the most urgent ones: a hook has milliseconds
MOST_SAID = 5
# what tools call the file they are given
PATHS = (
    "file_path",
    "path",
    "notebook_path",
    "filePath",
)


def row_of(
    memory: Memory, line: str, when: float | None = None, *, reminder: bool = False
) -> dict[str, Any]:
    """A memory as a hook needs it. `line` is how it is shown; `when` a reminder comes due, if it
    has a time.
    """
    return {
        "id": memory.id,
        "line": line,
        "triggers": list(memory.triggers),
        "files": [] if reminder else list(memory.files),
        "reminder": reminder,
        "when": when,
    }


def meeting(
    rows: Iterable[Mapping[str, Any]],
    tool: str,
    given: Any,
    shown: Iterable[str],
    now: float,
) -> list[Mapping[str, Any]]:
    """The rows that a tool calls for, in their order, at most MOST_SAID; not those
    that were shown.
    """
    known = set(shown)
    scene = about_to_run(tool, given if isinstance(given, (str, Mapping)) else {})
    everything = "\n".join((scene.text, *scene.given))
    path = file_of(given)
    found: list[Mapping[str, Any]] = []
    for row in rows:
        if len(found) == MOST_SAID:
            break
        if row["id"] not in known and calls(row, scene, everything, path, now):
            found.append(row)
    return found


def calls(row: Mapping[str, Any], scene: Scene, everything: str, path: str, now: float) -> bool:
    """Whether a row is called for."""
    if row["when"] is not None and row["when"] > now:
        return False
    if any(about(name, path) for name in row["files"]):
        return True
    return any(may_meet(one, everything) and meets(one, scene) for one in row["triggers"])


def may_meet(pattern: str, everything: str) -> bool:
    """Whether a pattern could meet at all: its longest literal part occurs. To make a glob of each
    would be slow.
    """
    plain = pattern.strip().lower()
    if plain.startswith(EXPRESSION) or "[" in plain:
        return True
    if plain.startswith(TOOL):
        name, _, plain = plain[len(TOOL) :].partition("(")
        plain = plain.removesuffix(")") or name
    return max(plain.replace("?", "*").split("*"), key=len, default="") in everything


def file_of(given: Any) -> str:
    """The file that a tool is given; empty where it is given none."""
    if not isinstance(given, Mapping):
        return ""
    return next(
        (str(given[name]).replace("\\", "/") for name in PATHS if isinstance(given.get(name), str)),
        "",
    )


def about(name: str, path: str) -> bool:
    """Whether a memory's file is the one at a path: the same, or the end of it."""
    return (
        bool(name) and bool(path) and (path == name or path.endswith("/" + name.removeprefix("./")))
    )
