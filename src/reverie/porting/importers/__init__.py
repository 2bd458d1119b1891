"""Memories of other programs, taken along: a file for each format, and a row here.

A format says what it is called, what it looks like (`fits`) and what stands in it (`read`, which
yields `ImportItem`s). What becomes of that is the same for all and decided in `import_plan`: ids,
spaces, secrets, links, what is there already. To add a format, write its file and add its row;
`detect_format` tries the rows from the top.

Always true: the source is only read; taking in twice adds nothing; one bad record loses no other;
everything taken in says where it comes from (`details["imported_from"]`).
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from reverie.core.errors import BadInput

if TYPE_CHECKING:  # the command line names the formats in its help, and waits for this import
    from reverie.porting.importers.import_records import ImportItem, ReadingContext


class ImportFormat(NamedTuple):
    """A program whose memories can be taken along."""

    name: str
    about: str  # what to name, for people
    user: str = ""  # where that program itself keeps what it remembers: in the user's home
    project: str = ""  # … and in a project

    def fits(self, path: Path) -> bool:
        """True if a file or folder is of this format."""
        return bool(self._module().fits(path))

    def read(self, path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
        """What stands in a file or folder."""
        yield from self._module().read(path, reading)

    def _module(self) -> Any:
        """Loaded when it is needed: most are never."""
        return import_module(f"{__name__}.{self.name.replace('-', '_')}")


FORMATS = (
    ImportFormat("jcode", "~/.jcode, or one of its files", user=".jcode"),
    ImportFormat("zuckerman", "an agent's home, or one of its stores", user=".zuckerman/homedir"),
    ImportFormat("aircher", "~/.aircher, or its episodic.duckdb", user=".aircher"),
    ImportFormat("jaato", ".jaato, or its memories.jsonl", project=".jaato"),
    ImportFormat("mem0", "what get_all gives, saved as JSON"),
    ImportFormat("claude-code", "~/.claude/projects/PROJECT, or its memory folder"),
    ImportFormat("skills", ".claude/skills, or one skill's folder"),
    ImportFormat("claude-mem", "~/.claude-mem, its claude-mem.db or export"),
    ImportFormat("agentmemory", "an export, or ~/.agentmemory"),
    ImportFormat("mempalace", "~/.mempalace, or a palace"),
    ImportFormat("mcp-memory-service", "its folder, sqlite_vec.db or JSON export"),
    ImportFormat("hindsight", "the archive of a bank or of documents"),
    ImportFormat("langgraph", "the database of a SqliteStore, a dump of a PostgresStore"),
    ImportFormat("chatgpt", "ChatGPT's data export: the ZIP, its folder or conversations.json"),
    ImportFormat("claude-ai", "Claude's data export: the ZIP, its folder or conversations.json"),
    ImportFormat("mif", "a document of the Memory Interchange Format 2"),
    ImportFormat("reverie", "an export that is not known to be your own"),
    ImportFormat("basic-memory", "a folder of notes, or one note"),
)
FORMAT_NAMES = tuple(row.name for row in FORMATS)


def choose_format(path: Path, name: str = "") -> ImportFormat:
    """The format of that name, or without one the first that the path has the look of."""
    if not path.exists():
        raise BadInput(f"There is no file or folder {path}")
    if name:
        if name not in FORMAT_NAMES:
            raise BadInput(f"{name!r} is not one of {', '.join(FORMAT_NAMES)}")
        return FORMATS[FORMAT_NAMES.index(name)]
    found = detect_format(path)
    if found is None:
        if why := explain_unreadable(path):
            raise BadInput(why)
        raise BadInput(
            f"{path} does not look like anything of {', '.join(FORMAT_NAMES)}. "
            f"If it is, say which with --from{explain_claude_projects(path)}"
        )
    return found


def explain_unreadable(path: Path) -> str:
    """Why nobody could look into a file, if it is an archive; else empty."""
    from reverie.porting.importers.foreign_archives import explain_unreadable_archive

    return explain_unreadable_archive(path) if path.is_file() else ""


def explain_claude_projects(path: Path) -> str:
    """How to take along all projects of Claude Code, if that is what was meant; else empty."""
    projects = sorted(one.parent.parent.name for one in path.glob("*/memory/MEMORY.md"))
    if not projects:
        return ""
    return (
        f". It holds {len(projects):,} projects of Claude Code ({', '.join(projects[:3])}, …), "
        "and each belongs into a space of its own: "
        f"reverie data import {path / projects[0]} --space me/NAME, and so on"
    )


def find_program_folders(user: Path, project: Path) -> list[tuple[ImportFormat, Path]]:
    """What lies where its program keeps it, in a user's home and in a project."""
    found = []
    for row in FORMATS:
        for root, name in ((user, row.user), (project, row.project)):
            path = root / name
            if name and path.is_dir() and has_format(row, path):
                found.append((row, path))
    return found


def detect_format(path: Path) -> ImportFormat | None:
    """The first format that the path has the look of; None if it cannot be looked at."""
    return next((row for row in FORMATS if has_format(row, path)), None)


def has_format(row: ImportFormat, path: Path) -> bool:
    """True if a path has the look of a format; one that cannot be looked at has not."""
    try:
        return row.fits(path)
    except (BadInput, OSError):
        return False
