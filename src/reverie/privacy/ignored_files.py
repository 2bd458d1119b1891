"""Files that a project ignores: no text of theirs is kept when a tool reads or prints them.

What `.gitignore` and `.secretsignore` name, in the folder of a file or above it up to the top of
the repository, as git reads such lines: the innermost that says anything decides, and nothing below
a folder that is ignored comes back. A tool *reads* a file if it is given its path, or if a command
names it behind a program that prints files (`cat`, `grep`, `head`); to run one (`.venv/bin/python`)
is no reading, so what tests print stays. A file that `.secretsignore` names is meant wherever a
command names it.

With expressions of its own: `pathspec`, which the index uses, takes a hook 40 ms to load.
"""

# Not `from __future__ import annotations`: a NamedTuple would compile each of them once more.
import os
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

GIT_IGNORE, SECRETS_IGNORE = ".gitignore", ".secretsignore"
MAX_IGNORE_BYTES = 200_000
MAX_STEPS = 40  # of a path
_READERS = """
cat bat head tail less more grep egrep fgrep zgrep rg ag ack sed awk gawk cut sort uniq tac nl
strings xxd od hexdump jq yq column paste join diff cmp type get-content gc view tee cp base64
"""
READERS = frozenset(_READERS.split())
_PREFIXES = frozenset(("sudo", "time", "env", "command", "nice", "nohup", "xargs", "builtin"))


class IgnoreLine(NamedTuple):
    """A line of an ignore file."""

    expression: str
    takes_back: bool
    only_folders: bool


class IgnoredFiles:
    """What is ignored below a folder, read as it stands now."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.top = find_top(folder)

    def is_ignored(self, path: str, *, secrets_only: bool = False) -> bool:
        """True if an ignore file names a path, or a folder above it."""
        steps = self._steps(path)
        names = (SECRETS_IGNORE,) if secrets_only else (GIT_IGNORE, SECRETS_IGNORE)
        for depth in range(1, len(steps) + 1):
            decided = False
            for above in range(depth):
                within = "/".join(steps[above:depth])
                place = "/".join((self.top, *steps[:above]))
                for name in names:
                    for line in read_ignore_lines(f"{place}/{name}"):
                        if line.only_folders and depth == len(steps):
                            continue
                        if compile_line(line.expression).match(within):
                            decided = not line.takes_back
            if decided:
                return True
        return False

    def _steps(self, path: str) -> list[str]:
        """The steps of a path below the top; none of one that lies elsewhere."""
        whole = os.path.normpath(os.path.join(self.folder, os.path.expanduser(path)))
        inside = os.path.relpath(whole, self.top).replace("\\", "/").split("/")
        return [] if inside[0] in ("..", ".") or len(inside) > MAX_STEPS else inside


@lru_cache(maxsize=64)
def find_top(folder: str) -> str:
    """The top of the repository that a folder is in; without one the folder itself."""
    here = folder
    while here and here != os.path.dirname(here):
        if os.path.exists(f"{here}/.git"):
            return here
        here = os.path.dirname(here)
    return folder


def read_ignore_lines(path: str) -> tuple[IgnoreLine, ...]:
    """The lines of an ignore file; none where there is none."""
    try:
        return _parse_file(path, os.stat(path).st_mtime_ns)
    except OSError:
        return ()


@lru_cache(maxsize=256)
def _parse_file(path: str, _mtime: int) -> tuple[IgnoreLine, ...]:
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.read(MAX_IGNORE_BYTES).splitlines()
    return tuple(parse_line(line) for line in lines if line.strip() and not line.startswith("#"))


def parse_line(line: str) -> IgnoreLine:
    """A line of an ignore file, as git reads it."""
    pattern = line.rstrip()
    takes_back = pattern.startswith("!")
    pattern = pattern[takes_back:].removeprefix("\\")
    only_folders = pattern.endswith("/")
    pattern = pattern.rstrip("/")
    is_anchored = "/" in pattern
    pattern = pattern.lstrip("/")
    expression = "" if is_anchored else "(?:.*/)?"
    # A path beside stars, in brackets or letter by letter.
    for piece in re.findall(r"\*\*/|/\*\*$|\*\*|\*|\?|\[[^\]/]+\]|\\.|.", pattern):
        expression += {
            "**/": "(?:.*/)?",
            "/**": "/.*",
            "**": ".*",
            "*": "[^/]*",
            "?": "[^/]",
        }.get(piece) or _literal(piece)
    return IgnoreLine(f"{expression}$", takes_back, only_folders)


def _literal(piece: str) -> str:
    if len(piece) > 2 and piece[0] == "[":
        inner = piece[1:-1].replace("\\", r"\\").replace("[", r"\[")
        return f"[^{inner[1:]}]" if inner[0] in "!^" else f"[{inner}]"
    return re.escape(piece[-1])


@lru_cache(maxsize=1_000)
def compile_line(expression: str) -> re.Pattern[str]:
    """The expression of a line; one that matches nothing for what is no pattern."""
    try:
        return re.compile(expression)
    except re.error:
        return re.compile(r"(?!)")


def find_printed_words(command: str) -> Iterator[str]:
    """The words of a command that are given to programs which print files, as seen from where it
    begins.
    """
    place = ""
    for part in re.split(r"[|;&\n()`]+", command):
        words = [
            word for word in part.replace('"', " ").replace("'", " ").split() if "=" not in word
        ]
        while words and words[0] in _PREFIXES:
            del words[0]
        if words[:1] in (["cd"], ["pushd"]) and len(words) > 1:
            place = os.path.join(place, words[1])
        elif words and os.path.basename(words[0]).lower() in READERS:
            for word in words[1:]:
                if not word.startswith("-"):
                    yield os.path.join(place, word.lstrip("<>"))


def find_ignored_files(
    given: Any,
    paths: Mapping[str, Any],
    folder: str,
    named: list[str],
) -> list[str]:
    """The ignored files that a tool is given in `paths` or prints; `named` are all that it names.

    `paths` are the arguments that name files; commands are read for what they print.
    """
    ignored = IgnoredFiles(folder)
    read = [path for value in paths.values() for path in _texts(value)]
    commands = [given] if isinstance(given, str) else list(_commands(given))
    read += [word for command in commands for word in find_printed_words(command)]
    found = [path for path in dict.fromkeys(read) if ignored.is_ignored(path)]
    return found or [path for path in named if ignored.is_ignored(path, secrets_only=True)]


def _commands(given: Any) -> Iterator[str]:
    if isinstance(given, Mapping):
        for name in ("command", "cmd", "script", "code"):
            value = given.get(name)
            if isinstance(value, list | tuple):
                yield " ".join(str(word) for word in value)
            elif isinstance(value, str):
                yield value


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list | tuple) else (value,)
    return [text.removeprefix("file://") for text in values if isinstance(text, str) and text]
