"""One call of a tool, seen as what it does: the commands that it runs, the files that it reads and
changes, the text that it writes.

Read only when asked for: most calls concern no trigger that needs it.
"""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

from reverie.core.shell_commands import MAX_CONTEXT_CHARS, ShellCommand, list_commands
from reverie.core.touched_files import WRITING_TOOLS, TouchedFile, find_touched_files

# What tools call the command that they run.
COMMAND_ARGUMENTS = ("command", "cmd", "commands", "script", "shell_command")
# What tools call the text that they write.
CONTENT_ARGUMENTS = ("content", "new_string", "new_str", "new_source", "insert_text", "file_text")
# Parts of the names of tools that only look, and of those that talk to a person or another agent.
READING_TOOLS = ("read", "grep", "glob", "search", "list", "view", "fetch")
_TALKING_TOOLS = """
task agent todowrite todoread askuserquestion exitplanmode enterplanmode skill toolsearch
sendmessage update_plan request_user_input slashcommand
"""
TALKING_TOOLS = frozenset(_TALKING_TOOLS.split())
RUN, WRITE, READ, TALK, OTHER = "run", "write", "read", "talk", "other"


class ToolCall:
    """A tool that is about to run, with what it is given, in a work tree."""

    def __init__(self, tool: str, given: Mapping[str, Any] | str, root: str = "") -> None:
        self.tool, self.given, self.root = tool, given, root

    @cached_property
    def kind(self) -> str:
        """What the tool does, by its name and its arguments."""
        name = self.tool.lower()
        own = name.rpartition("__")[2]
        if own in TALKING_TOOLS or "reverie" in name:
            return TALK
        if any(part in own for part in WRITING_TOOLS):
            return WRITE
        if self.command_texts:
            return RUN
        return READ if any(part in own for part in READING_TOOLS) or own == "ls" else OTHER

    @cached_property
    def command_texts(self) -> list[str]:
        """What a shell is given."""
        if isinstance(self.given, str):
            return [self.given[:MAX_CONTEXT_CHARS]]
        found = []
        for name in COMMAND_ARGUMENTS:
            value = self.given.get(name)
            if isinstance(value, (list, tuple)):
                value = " ".join(quote_word(str(one)) for one in value)
            if isinstance(value, str):
                found.append(value[:MAX_CONTEXT_CHARS])
        return found

    @cached_property
    def commands(self) -> list[ShellCommand]:
        """The commands that are run, those within others too."""
        if self.kind != RUN:
            return []
        return [command for text in self.command_texts for command in list_commands(text)]

    @cached_property
    def files(self) -> list[TouchedFile]:
        """The files that are read or changed."""
        if self.kind == TALK:
            return []
        return find_touched_files(self.tool, self.given, self.root, foreign=True)

    @cached_property
    def written_text(self) -> str:
        """What is written into files, as far as the tool is given it."""
        return "\n".join(iter_written(self.given)) if self.kind == WRITE else ""

    @cached_property
    def branch(self) -> str | None:
        """The branch that is checked out in the work tree; None if that is not known."""
        return read_branch(self.root) if self.root else None

    def touches(self, name: str, *, written: bool) -> bool:
        """True if a file of this name, or in this folder, is read or changed; or, if `written`,
        changed. The name may be a glob.
        """
        name = name.strip().lower().removeprefix("./")
        if any(
            is_file_named(file.path.lower(), name)
            for file in self.files
            if file.written or not written
        ):
            return True
        if written or "/" in name.rstrip("/") or self.kind != RUN:
            return False
        # Of whatever program: `source .env`, `git add .env`, `grep KEY .env`.
        words = (word for one in self.commands for word in one.words[1:])
        return any(is_file_named(word.lower(), name) for word in words if " " not in word)


def is_file_named(path: str, name: str) -> bool:
    """True if a path is a file of this name, lies in this folder, or fits this glob."""
    if name.endswith("/"):
        return f"/{name}" in f"/{path}"
    if "*" not in name and "?" not in name:
        return path == name or path.endswith(f"/{name}") or f"/{name}/" in f"/{path}"
    last = path.rpartition("/")[2] if "/" not in name else path
    return fnmatchcase(last, name) or ("/" in name and fnmatchcase(path, f"*/{name}"))


def quote_word(word: str) -> str:
    """A word of a list of words as a shell would be given it."""
    needs_quotes = "'" not in word and any(ch in word for ch in ' \t\n;&|<>"$()`#')
    return f"'{word}'" if needs_quotes else word


def iter_written(value: Any, depth: int = 0) -> Iterator[str]:
    """The texts that a tool is given to write; of a patch the lines that it adds."""
    if isinstance(value, str):
        added = (line[1:] for line in value.splitlines() if line.startswith("+"))
        yield from added if "*** Begin Patch" in value else ()
    elif isinstance(value, Mapping) and depth < 4:
        for name, inner in value.items():
            if name in CONTENT_ARGUMENTS and isinstance(inner, str):
                yield inner[:MAX_CONTEXT_CHARS]
            else:
                yield from iter_written(inner, depth + 1)
    elif isinstance(value, (list, tuple)) and depth < 4:
        for inner in value:
            yield from iter_written(inner, depth + 1)


def read_branch(root: str) -> str | None:
    """The branch that is checked out in a work tree; None if that is not known."""
    head = read_start(f"{root}/.git/HEAD")
    if not head:  # a second work tree of a repository has a file that says where
        place = read_start(f"{root}/.git").removeprefix("gitdir:").strip()
        head = read_start(f"{place}/HEAD") if place else ""
    return head.strip().removeprefix("ref: refs/heads/") if head.startswith("ref:") else None


def read_start(path: str) -> str:
    """The beginning of a file; empty where there is none."""
    # Not by `pathlib`, which a hook would have to load.
    try:
        with open(path, encoding="utf-8") as file:  # noqa: PTH123
            return file.read(2_000)
    except (OSError, ValueError):
        return ""
