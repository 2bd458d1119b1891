"""Files that an agent keeps under /memories, as the commands of Anthropic's memory tool: each is
one memory.

Kind "file": found by `recall`, kept whole, never merged, never faded; what a command alters or
deletes can be taken back (`history`, `undo`, `restore`). There are no folders but those that the
paths of files name, and no links, so no path leads out. Words of answers and errors are those of
Anthropic's own handler, for models were trained with them.
"""

from __future__ import annotations

import posixpath
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

from reverie import Mind
from reverie.core.authorship import UNKNOWN_AUTHOR, Author
from reverie.core.errors import BadInput, NotFound
from reverie.core.kinds import FILE
from reverie.core.model import Filter, Memory
from reverie.text.text_cleaning import clean_text

ROOT = "/memories"
# Files of one space.
MAX_FILES = 10_000
# As Anthropic's own handler has them: levels of folders that a view shows, the width of a line's
# number, lines shown before and after a replacement.
MAX_DEPTH = 2
LINE_NUMBER_WIDTH = 6
CONTEXT_LINES = 2
# Characters of a path.
MAX_PATH_CHARS = 1_000
COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")


class MemoryFolder:
    """The files of one space."""

    def __init__(
        self,
        mind: Mind,
        space: str,
        session: str = "",
        author: Author = UNKNOWN_AUTHOR,
    ) -> None:
        self.mind, self.space, self.session, self.author = mind, space, session, author

    def run(self, command: Mapping[str, Any]) -> str:
        """What a command answers; BadInput or NotFound tell what is wrong with it, in the words
        models know.
        """
        name = command.get("command")
        if name not in COMMANDS:
            raise BadInput(f"Unknown command {name!r}; there are {', '.join(COMMANDS)}")
        run: Callable[..., str] = getattr(self, str(name))
        given = {key: value for key, value in command.items() if value is not None}
        self.mind.work.settings.check_on(self.space, self.session)
        # What a command looks at must not change before it writes.
        with self.mind.store.transaction():
            return run(given)

    def view(self, given: Mapping[str, Any]) -> str:
        """A folder, two levels deep, or the lines of a file with their numbers."""
        path = parse_memory_path(given, "path")
        if file := self._at(path).get(path):
            return number_lines(path, file_content(file), given.get("view_range"))
        below = self._below(path)
        if not below and path != ROOT:
            raise path_not_found(path)
        size = format_file_size(sum(map(file_bytes, below.values())))
        lines = [f"{size}\t{path}", *list_folder(path, below)]
        head = f"Here're the files and directories up to {MAX_DEPTH} levels deep in {path}"
        return f"{head}, excluding hidden items:\n" + "\n".join(lines)

    def create(self, given: Mapping[str, Any]) -> str:
        """A new file; one that is there is left alone."""
        path = parse_memory_path(given, "path")
        if self._is_taken(path):
            raise BadInput(f"File {path} already exists")
        self._free(path)
        fields = to_memory_fields(path, require_argument(given, "file_text"))
        fields["details"] |= self.author.details
        self.mind.remember(
            **fields,
            space=self.space,
            kind=FILE,
            session=self.session,
        )
        return f"File created successfully at: {path}"

    def str_replace(self, given: Mapping[str, Any]) -> str:
        """Another text in the place of one that stands in the file exactly once."""
        path, memory = self._file(given)
        before = file_content(memory)
        old = require_argument(given, "old_str")
        require_single(before, old, path)
        # Without a new text the old one is deleted.
        after = before.replace(old, str(given.get("new_str", "")))
        self._rewrite(memory, path, after)
        first = before[: before.find(old)].count("\n")
        start, end = max(0, first - CONTEXT_LINES), first + CONTEXT_LINES + 1
        snippet = "\n".join(numbered_lines(after, start, end))
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line "
            f"numbers):\n{snippet}"
        )

    def insert(self, given: Mapping[str, Any]) -> str:
        """Lines after a line of the file, 0 being its beginning."""
        path, memory = self._file(given)
        before, number = file_content(memory), given.get("insert_line")
        lines = before.removesuffix("\n").split("\n") if before else []
        if not isinstance(number, int) or not 0 <= number <= len(lines):
            raise BadInput(
                f"Invalid `insert_line` parameter: {number}. It should be within the range "
                f"[0, {len(lines)}]."
            )
        lines.insert(number, require_argument(given, "insert_text").rstrip("\n"))
        self._rewrite(memory, path, "\n".join(lines) + "\n")
        return f"The file {path} has been edited."

    def delete(self, given: Mapping[str, Any]) -> str:
        """A file, or a folder with all in it; `reverie memory restore` brings them back."""
        path = parse_memory_path(given, "path")
        if path == ROOT:
            raise BadInput(f"Cannot delete the {ROOT} directory itself")
        gone = self._within(path)
        if not gone:
            raise NotFound(f"The path {path} does not exist")
        self._forget(gone)
        return f"Successfully deleted {path}"

    def rename(self, given: Mapping[str, Any]) -> str:
        """Another path for a file, or for a folder with all in it."""
        old, new = parse_memory_path(given, "old_path"), parse_memory_path(given, "new_path")
        if old == ROOT:
            raise BadInput(f"Cannot rename the {ROOT} directory itself")
        if self._is_taken(new):
            raise BadInput(f"The destination {new} already exists")
        moved = self._within(old)
        if not moved:
            raise NotFound(f"The path {old} does not exist")
        if new.startswith(f"{old}/"):
            raise BadInput(f"{old} cannot be moved into itself")
        self._free(new, moved)
        for name, memory in moved.items():
            self._rewrite(memory, new + name.removeprefix(old), file_content(memory))
        return f"Successfully renamed {old} to {new}"

    def clear(self) -> str:
        """Every file is deleted; `reverie memory restore` brings them back."""
        self._forget(self._below(ROOT))
        return f"Successfully deleted all in {ROOT}"

    def _forget(self, files: Mapping[str, Memory]) -> None:
        self.mind.forget([memory.id for memory in files.values()], "deleted")

    def _at(self, *paths: str) -> dict[str, Memory]:
        """The files of these paths, as far as there are any."""
        return self._found(Filter(paths=paths, limit=MAX_FILES)) if paths else {}

    def _below(
        self,
        path: str,
        most: int = MAX_FILES,
    ) -> dict[str, Memory]:
        """The files in a folder, by their paths."""
        return self._found(Filter(below=path, limit=most))

    def _found(self, where: Filter) -> dict[str, Memory]:
        """Files by their paths; of two with one path, such as after a restore, the newer one."""
        found = self.mind.store.browse(where._replace(spaces=(self.space,), kinds=(FILE,)))
        # Newest first from the store, so the newer one overwrites.
        return {str(memory.details["path"]): memory for memory in reversed(found)}

    def _within(self, path: str) -> dict[str, Memory]:
        """The file of this path, or all in the folder."""
        return {**self._at(path), **self._below(path)}

    def _is_folder(self, path: str) -> bool:
        return path == ROOT or bool(self._below(path, 1))

    def _is_taken(self, path: str) -> bool:
        return bool(self._at(path)) or self._is_folder(path)

    def _file(self, given: Mapping[str, Any]) -> tuple[str, Memory]:
        path = parse_memory_path(given, "path")
        if file := self._at(path).get(path):
            return path, file
        if self._is_folder(path):
            raise BadInput(f"The path {path} is not a file.")
        raise path_not_found(path)

    def _free(self, path: str, moved: Container[str] = ()) -> None:
        """Refuse a path that leads through a file, but for one that is just being moved."""
        through = [name for name in self._at(*parent_folders(path)) if name not in moved]
        if through:
            raise BadInput(f"{max(through, key=len)} is a file, not a directory")

    def _rewrite(
        self,
        memory: Memory,
        path: str,
        text: str,
    ) -> None:
        fields = to_memory_fields(path, text)
        details = {
            **memory.details,
            **fields["details"],
            **self.author.details,
        }
        self.mind.revise(memory.id, **{**fields, "details": details})


def parent_folders(path: str) -> list[str]:
    """The folders that lead to a path, but for the first one."""
    found = []
    while (path := posixpath.dirname(path)) not in (ROOT, "/", ""):
        found.append(path)
    return found


def to_memory_fields(path: str, text: str) -> dict[str, Any]:
    """A file as a memory's fields; one that is empty has its path for a text."""
    # A memory has a text, so that of a blank file stands in its details.
    is_blank = not text.strip()
    return {
        "text": path if is_blank else text,
        "title": path,
        "details": {"path": path, "blank": text if is_blank else None},
    }


def file_content(memory: Memory) -> str:
    """What stands in a file."""
    blank = memory.details.get("blank")
    return memory.text if blank is None else str(blank)


def file_bytes(memory: Memory) -> int:
    """Bytes of a file."""
    return len(file_content(memory).encode())


def parse_memory_path(given: Mapping[str, Any], name: str) -> str:
    """A path within /memories, plainly written."""
    path = require_argument(given, name)
    if not is_below_root(path):
        raise BadInput(f"Path must start with {ROOT}, got: {path}")
    # Twice: as it is written, and once `..` and `//` are gone.
    plain = posixpath.normpath(path)
    if not is_below_root(plain):
        raise BadInput(f"Path {path} would escape {ROOT} directory")
    if any(ord(ch) < 32 for ch in plain):
        raise BadInput(f"Path {path!a} holds control characters")
    if len(plain) > MAX_PATH_CHARS:
        raise BadInput(f"A path has at most {MAX_PATH_CHARS:,} characters, not {len(plain):,}")
    return clean_text(plain)


def is_below_root(path: str) -> bool:
    """True for the root, and for what begins like a path in it."""
    return path == ROOT or path.startswith(f"{ROOT}/")


def require_single(
    text: str,
    part: str,
    path: str,
) -> None:
    """Refuse a part that does not stand in a file's text exactly once."""
    count = text.count(part) if part else 0
    if not count:
        raise BadInput(
            f"No replacement was performed, old_str `{part}` did not appear verbatim in {path}."
        )
    if count > 1:
        lines = ", ".join(map(str, find_line_numbers(text, part)))
        raise BadInput(
            f"No replacement was performed. Multiple occurrences of old_str `{part}` in lines: "
            f"{lines}. Please ensure it is unique"
        )


def require_argument(given: Mapping[str, Any], name: str) -> str:
    """A text that a command cannot do without."""
    value = given.get(name)
    if not isinstance(value, str):
        raise BadInput(f"`{name}` is required")
    return value


def path_not_found(path: str) -> NotFound:
    """There is no such path."""
    return NotFound(f"The path {path} does not exist. Please provide a valid path.")


def list_folder(root: str, files: Mapping[str, Memory]) -> Iterator[str]:
    """Files and folders below a folder, two levels deep, in order, each with its size."""
    sizes: Counter[str] = Counter()
    for path, memory in files.items():
        steps = path.removeprefix(f"{root}/").split("/")
        if any(step.startswith(".") for step in steps):
            continue
        for depth in range(1, min(MAX_DEPTH, len(steps)) + 1):
            ending = "/" if depth < len(steps) else ""
            sizes["/".join(steps[:depth]) + ending] += file_bytes(memory)
    for name in sorted(sizes, key=lambda name: name.split("/")):
        yield f"{format_file_size(sizes[name])}\t{root}/{name}"


def format_file_size(count: int) -> str:
    """Bytes for people: 0B, 812B, 4K, 1.5M."""
    if not count:
        return "0B"
    # Units of 1,024, up to gigabytes.
    unit = min((count.bit_length() - 1) // 10, 3)
    amount = count / 1024**unit
    plain = f"{amount:.0f}" if amount.is_integer() else f"{amount:.1f}"
    return plain + "BKMG"[unit]


def number_lines(
    path: str,
    text: str,
    span: Any,
) -> str:
    """The lines of a file, or from the first to the last of `span`, -1 being the end."""
    first, last = 0, None
    if isinstance(span, (list, tuple)) and len(span) == 2:
        first = max(1, int(span[0])) - 1
        last = None if span[1] == -1 else int(span[1])
    lines = "\n".join(numbered_lines(text, first, last))
    return f"Here's the content of {path} with line numbers:\n{lines}"


def numbered_lines(
    text: str,
    first: int,
    last: int | None,
) -> list[str]:
    """Some lines with their numbers."""
    lines = enumerate(text.split("\n"), start=1)
    return [f"{number:>{LINE_NUMBER_WIDTH}}\t{line}" for number, line in lines][first:last]


def find_line_numbers(text: str, part: str) -> Iterator[int]:
    """The numbers of the lines in which a text begins."""
    at = text.find(part)
    while at >= 0:
        yield text[:at].count("\n") + 1
        at = text.find(part, at + 1)
