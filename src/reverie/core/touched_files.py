"""Which files a tool call reads or changes: by its arguments, by a patch, by a shell's commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any, NamedTuple

from reverie.core.shell_commands import MAX_CONTEXT_CHARS, split_commands

# What tools call the file that they are given.
PATH_ARGUMENTS = ("file_path", "path", "notebook_path", "filePath", "target_file")
# Parts of the names of tools that change files.
WRITING_TOOLS = ("edit", "write", "patch", "create", "replace", "insert")
PATCH_LINES = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ")
READING_PROGRAMS = ("cat", "head", "tail", "less", "more", "bat", "nl", "sed", "awk", "view")
WRITING_PROGRAMS = ("tee", "cp", "mv", "rm", "touch", "vi", "vim", "nano", "emacs")
# Folders of code that others wrote.
FOREIGN_FOLDERS = ("/node_modules/", "/site-packages/", "/.venv/", "/vendor/bundle/")
# Files of which a repository has many: named without a folder, the one at its root is meant.
_COMMON_STEMS = (
    "readme index main __init__ __main__ utils util helpers types config settings constants mod "
    "lib package makefile dockerfile conftest setup test tests models views app api routes "
    "license changelog pyproject cargo tsconfig go todo notes data"
)
COMMON_STEMS = frozenset(_COMMON_STEMS.split())
MAX_FILES = 20


class TouchedFile(NamedTuple):
    """A file that a tool call names."""

    path: str  # within the work tree, if it lies there
    written: bool  # it is changed, and not only read
    rooted: bool = True  # it is known to be a path from the root of the work tree

    def is_named(self, name: str) -> bool:
        """True if this is the file, or lies in the folder, that a memory names."""
        name = name.removeprefix("./")
        if not name:
            return False
        if name.endswith("/"):
            return self.written and f"/{name}" in f"/{self.path}"
        if self.path == name:
            return True
        # With the slash: `b.py` is not the end of `ab.py`.
        if not self.path.endswith("/" + name.lstrip("/")):
            return False
        stem = name.lower().partition(".")[0]
        return not (self.rooted and "/" not in name and stem in COMMON_STEMS)


def find_touched_files(
    tool: str, given: Any, root: str = "", *, foreign: bool = False
) -> list[TouchedFile]:
    """The files that a tool call reads or changes, at most MAX_FILES; with `foreign`, code that
    others wrote too.
    """
    found: dict[TouchedFile, None] = {}
    writes = any(part in tool.lower() for part in WRITING_TOOLS)
    if isinstance(given, str):
        given = {"command": given}
    if isinstance(given, Mapping):
        for name in PATH_ARGUMENTS:
            if isinstance(given.get(name), str):
                found[to_touched(given[name], writes, root)] = None
        for text in given.values():
            if isinstance(text, str) and "*** " in text:
                found.update(
                    (to_touched(path, True, root), None) for path in find_patched_files(text)
                )
        command = given.get("command") or given.get("cmd")
        if isinstance(command, str) and not found:
            for path, written in find_command_files(command[:MAX_CONTEXT_CHARS]):
                found[to_touched(path, written, root)] = None
    if foreign:
        return list(found)[:MAX_FILES]
    mine = [file for file in found if not any(one in f"/{file.path}" for one in FOREIGN_FOLDERS)]
    return mine[:MAX_FILES]


def to_touched(path: str, written: bool, root: str) -> TouchedFile:
    """A path as the work tree has it."""
    plain = path.replace("\\", "/").removeprefix("./")
    within = plain.removeprefix(f"{root}/") if root else plain
    return TouchedFile(within, written, not within.startswith("/"))


def find_patched_files(text: str) -> Iterator[str]:
    """The files that a patch in the form of Codex changes."""
    for line in text.splitlines():
        for start in PATCH_LINES:
            if line.startswith(start):
                yield line[len(start) :].strip()


def find_command_files(text: str) -> Iterator[tuple[str, bool]]:
    """(path, whether it is changed) of what a shell's commands read or change."""
    for command in split_commands(text):
        words = command.split()
        if not words:
            continue
        program = words[0].rpartition("/")[2]
        in_place = program == "sed" and any(word.startswith("-i") for word in words)
        writes = program in WRITING_PROGRAMS or in_place
        for before, word in pairwise(words):
            plain = word.strip("'\"")
            if before in (">", ">>") or word.startswith(">"):
                yield plain.lstrip(">"), True
            elif (
                (writes or program in READING_PROGRAMS)
                and not plain.startswith("-")
                and ("." in plain or "/" in plain)
            ):
                yield plain, writes


def is_written_as(path: str, pattern: str) -> bool:
    """True if a path is of a kind of files: `*.sql`, `dockerfile`, `migrations/*`."""
    lower = path.lower()
    folder, _, rest = pattern.rpartition("/")
    if rest == "*":
        return f"/{folder}/" in f"/{lower}"
    name = lower.rpartition("/")[2]
    if pattern.startswith("*.") and "*" not in pattern[1:]:
        return name.endswith(pattern[1:])
    return fnmatchcase(name, pattern)
