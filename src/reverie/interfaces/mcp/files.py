"""The tool set `files`: `memory_search`, `memory_get`, `memory_save`, `memory_update` (C91–C97).

They read and write the Markdown pages of the space: `MEMORY.md` for what lasts,
`memory/YYYY-MM-DD.md` for each day (UTC). Folders of notes that were added (`reverie files add`)
are searched and read as well.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from mcp.server.mcpserver import Context
from pydantic import Field
from typing_extensions import TypedDict

from reverie.context_window import escape_text
from reverie.core.errors import BadInput
from reverie.core.model import UNTRUSTED
from reverie.interfaces.mcp.tool_answers import MAX_QUERY_CHARS, NOTE
from reverie.interfaces.mcp.tool_context import ToolContext
from reverie.interfaces.mcp.tool_definition import ADDS, ALTERS, READS, ToolDefinition
from reverie.notes.note_results import WrittenFile
from reverie.notes.watched_roots import MIRROR_FILES

DEFAULT_RESULTS = 6  # passages (CONSTANTS: results to the agent, C)
SYNC_SECONDS = 0.5  # seconds that looking for altered files may take before a search


class FilePassage(TypedDict):
    """One passage of a file."""

    path: str
    start_line: int
    end_line: int
    snippet: str
    score: float
    why: list[str]


class SearchAnswer(TypedDict):
    """What memory_search answers."""

    note: str
    results: list[FilePassage]


class FileLines(TypedDict):
    """What memory_get answers."""

    path: str
    start_line: int
    end_line: int
    total_lines: int
    text: str
    note: str


class SaveAnswer(TypedDict):
    """What memory_save and memory_update answer."""

    message: str
    id: NotRequired[str]
    path: NotRequired[str]
    version: NotRequired[int]  # what `reverie files restore` takes
    redacted: NotRequired[list[str]]  # kinds of secrets that were taken out


class Files:
    """Four tools over one room."""

    def __init__(self, room: ToolContext) -> None:
        self.room = room

    def tools(self) -> list[ToolDefinition]:
        """All of them."""
        return [
            ToolDefinition(
                self.memory_search, "memory_search", "Search memory files", READS, always=True
            ),
            ToolDefinition(self.memory_get, "memory_get", "Read a memory file", READS),
            ToolDefinition(
                self.memory_save, "memory_save", "Save to today's log", ADDS, always=True
            ),
            ToolDefinition(self.memory_update, "memory_update", "Update long-term memory", ALTERS),
        ]

    def memory_search(
        self,
        query: Annotated[
            str,
            Field(
                max_length=MAX_QUERY_CHARS, description="What to look for, by meaning and by words."
            ),
        ],
        max_results: Annotated[
            int, Field(ge=1, le=50, description="How many passages, at most.")
        ] = DEFAULT_RESULTS,
    ) -> SearchAnswer:
        """Search MEMORY.md and memory/*.md: passages with path and line numbers, best first.

        Use it before you answer anything about earlier work, decisions, dates, people or
        preferences; then memory_get to read more of a file.
        """
        mind, space = self.room.mind, self.room.space
        mind.sync_files(space=space, within=SYNC_SECONDS)
        found = mind.search_files(
            query, space=space, limit=max_results, mode=self.room.search_mode()
        )
        return SearchAnswer(
            note=NOTE,
            results=[
                FilePassage(
                    path=one.path,
                    start_line=one.first,
                    end_line=one.last,
                    snippet=escape_text(one.text),
                    score=round(one.score, 4),
                    why=list(one.why),
                )
                for one in found
            ],
        )

    def memory_get(
        self,
        path: Annotated[
            str, Field(description="As memory_search gave it, or MEMORY.md, memory/2026-02-03.md.")
        ],
        from_: Annotated[int, Field(alias="from", ge=1, description="The first line.")] = 1,
        lines: Annotated[
            int | None, Field(ge=0, description="How many lines; null for all.")
        ] = None,
    ) -> FileLines:
        """Read a memory file, or some lines of it. Use it after memory_search."""
        found = self.room.mind.read_file(
            self._whole(path), start=from_, lines=lines, space=self.room.space
        )
        return FileLines(
            path=found.path,
            start_line=found.first,
            end_line=found.last,
            total_lines=found.total,
            text=escape_text(found.text),
            note=NOTE,
        )

    def memory_save(
        self,
        content: Annotated[
            str, Field(description="What happened, was decided or found out today.")
        ],
        ctx: Context | None = None,
    ) -> SaveAnswer:
        """Save to today's log, memory/YYYY-MM-DD.md: facts, decisions and events of today. It is an
        episode in memory too.
        """
        noted = self.room.mind.save_note(
            content,
            space=self.room.space,
            session=self.room.session_of(ctx),
            **self.room.vouch(content, "event", ctx).fields,
        )
        self.room.request_settling()
        answer = SaveAnswer(
            message="Saved" if noted.path else f"Kept, but on no page: {noted.why}",
            id=noted.memory.id,
        )
        if noted.path:
            answer["path"] = noted.path
        if redacted := self.room.list_redactions(content):
            answer["redacted"] = redacted
        return answer

    def memory_update(
        self,
        content: Annotated[str, Field(description="What to add, or the whole new page.")],
        mode: Annotated[
            Literal["append", "replace"],
            Field(description="append adds; replace rewrites it: what is gone is forgotten."),
        ] = "append",
        ctx: Context | None = None,
    ) -> SaveAnswer:
        """Update long-term memory, MEMORY.md: what should be known in every conversation here.
        Every bullet and paragraph is a fact in memory too. To replace the page, read it first and
        keep the ids in its comments: a line with its id is revised. The user can take an update
        back.
        """
        folder = self._folder()
        if folder is None:
            raise BadInput(
                "The Markdown mirror is switched off: there is no MEMORY.md. Set mirror in config.toml"
            )
        given: dict[str, Any] = {"space": self.room.space, "session": self.room.session_of(ctx)}
        if (claim := self.room.vouch(content, ctx=ctx)).provenance == UNTRUSTED:
            kept = self.room.mind.remember(content, kind="note", **given, **claim.fields)
            self.room.request_settling()
            answer = SaveAnswer(message=f"Kept as a note, and on no page: {claim.why}", id=kept.id)
            if redacted := self.room.list_redactions(content):
                answer["redacted"] = redacted
            return answer
        written = self.room.mind.update_file(
            folder / "MEMORY.md", content, mode, **given, **claim.fields
        )
        self.room.request_settling()
        answer = SaveAnswer(
            message=describe_page_update(written), path=written.path, version=written.version
        )
        if written.memory:
            answer["id"] = written.memory.id
        if redacted := self.room.list_redactions(content):
            answer["redacted"] = redacted
        return answer

    def _whole(self, path: str) -> Path | str:
        """A path; one of this space's own pages is found by its name, whatever other
        folders hold.
        """
        folder = self._folder()
        return (
            folder / path
            if folder
            and (
                MIRROR_FILES.fullmatch(path)
                or (not Path(path).is_absolute() and (folder / path).is_file())
            )
            else path
        )

    def _folder(self) -> Path | None:
        """The folder of this space's pages, begun if need be; None where there is no mirror."""
        mind, space = self.room.mind, self.room.space
        own = [
            Path(one.path) for one in mind.folders(space=space) if one.own and one.space == space
        ]
        if not own:
            own = [one.folder for one in mind.mirror(space)]
        return own[0] if own else None


def describe_page_update(written: WrittenFile) -> str:
    """An update of MEMORY.md in a sentence, with the way back."""
    counts = (
        (written.added, "remembered"),
        (written.revised, "revised"),
        (written.forgotten, "forgotten"),
    )
    done = ", ".join(f"{count} {word}" for count, word in counts if count) or "nothing new"
    page = f"; the page does not tell of it yet: {written.why}" if written.why else ""
    back = (
        f". `reverie undo {written.version}` takes it back"
        if any(count for count, _ in counts)
        else ""
    )
    return f"{'Kept' if written.why else 'Updated'}: {done}{page}{back}"
