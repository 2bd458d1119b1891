"""The tool set `files`: `memory_search`, `memory_get`, `memory_save`, `memory_update`.

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

from reverie.core.errors import BadInput
from reverie.core.model import UNTRUSTED
from reverie.interfaces.mcp.tool_answers import MAX_QUERY_CHARS, NOTE
from reverie.interfaces.mcp.tool_context import ToolSet
from reverie.interfaces.mcp.tool_definition import ADDS, ALTERS, READS, ToolDefinition
from reverie.notes.note_results import WrittenFile
from reverie.notes.watched_roots import MIRROR_FILES
from reverie.text.escaping import escape_text

# Passages.
DEFAULT_RESULTS = 6
# That looking for changed files may take before a search; the next one goes on there.
SYNC_SECONDS = 0.5


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


class FileTools(ToolSet):
    """The tool set of four tools."""

    def tools(self) -> list[ToolDefinition]:
        """All four tools."""
        return [
            ToolDefinition(self.memory_search, "Search memory files", READS, always=True),
            ToolDefinition(self.memory_get, "Read a memory file", READS),
            ToolDefinition(self.memory_save, "Save to today's log", ADDS, always=True),
            ToolDefinition(self.memory_update, "Update long-term memory", ALTERS),
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
            int,
            Field(
                ge=1,
                le=50,
                description="How many passages, at most.",
            ),
        ] = DEFAULT_RESULTS,
    ) -> SearchAnswer:
        """Search MEMORY.md and memory/*.md: passages with path and line numbers, best first.

        Use it before you answer anything about earlier work, decisions, dates, people or
        preferences; then memory_get to read more of a file.
        """
        mind = self.context.mind
        space = self.context.space
        mode = self.context.search_mode()
        # Somebody may just have edited a page.
        mind.files.sync(space=space, within=SYNC_SECONDS)
        found = mind.files.search(
            query,
            space=space,
            limit=max_results,
            mode=mode,
        )
        passages = [
            FilePassage(
                path=passage.path,
                start_line=passage.first,
                end_line=passage.last,
                snippet=escape_text(passage.text),
                score=round(passage.score, 4),
                why=list(passage.why),
            )
            for passage in found
        ]
        return SearchAnswer(note=self.context.describe_search(mode), results=passages)

    def memory_get(
        self,
        path: Annotated[
            str, Field(description="As memory_search gave it, or MEMORY.md, memory/2026-02-03.md.")
        ],
        from_: Annotated[
            int,
            Field(
                alias="from",
                ge=1,
                description="The first line.",
            ),
        ] = 1,
        lines: Annotated[
            int | None, Field(ge=0, description="How many lines; null for all.")
        ] = None,
    ) -> FileLines:
        """Read a memory file, or some lines of it. Use it after memory_search."""
        found = self.context.mind.files.read(
            self._resolve_page(path),
            start=from_,
            lines=lines,
            space=self.context.space,
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
        context = self.context
        claim = context.vouch(content, "event", ctx)
        note = context.mind.files.save_note(
            content,
            space=context.space,
            session=context.session_of(ctx),
            **claim.fields,
        )
        context.request_settling()
        message = "Saved" if note.path else f"Kept, but on no page: {note.why}"
        answer = SaveAnswer(message=message, id=note.memory.id)
        if note.path:
            answer["path"] = note.path
        return self.context.with_redactions(answer, content)

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
        folder = self._pages_folder()
        if folder is None:
            raise BadInput(
                "The Markdown mirror is switched off: there is no MEMORY.md. "
                "Set mirror in config.toml"
            )
        mind = self.context.mind
        claim = self.context.vouch(content, ctx=ctx)
        origin: dict[str, Any] = {
            "space": self.context.space,
            "session": self.context.session_of(ctx),
            **claim.fields,
        }
        # A page counts as the user's own words, so what others wrote does not get there.
        if claim.provenance == UNTRUSTED:
            kept = mind.remember(content, kind="note", **origin)
            self.context.request_settling()
            answer = SaveAnswer(message=f"Kept as a note, and on no page: {claim.why}", id=kept.id)
            return self.context.with_redactions(answer, content)
        written = mind.files.update(folder / "MEMORY.md", content, mode, **origin)
        self.context.request_settling()
        answer = SaveAnswer(
            message=describe_page_update(written),
            path=written.path,
            version=written.version,
        )
        if written.memory:
            answer["id"] = written.memory.id
        return self.context.with_redactions(answer, content)

    def _resolve_page(self, path: str) -> Path | str:
        """The path; one of this space's own pages is found by its name, whatever other folders
        hold.
        """
        folder = self._pages_folder()
        if folder is None:
            return path
        # A page that is not written yet is meant by its name as well.
        is_relative_file = not Path(path).is_absolute() and (folder / path).is_file()
        return folder / path if MIRROR_FILES.fullmatch(path) or is_relative_file else path

    def _pages_folder(self) -> Path | None:
        """The folder of this space's pages, created if need be; None where there is no mirror."""
        mind, space = self.context.mind, self.context.space
        for folder in mind.files.folders(space=space):
            if folder.own and folder.space == space:
                return Path(folder.path)
        reports = mind.data.mirror(space)
        return reports[0].folder if reports else None


def describe_page_update(written: WrittenFile) -> str:
    """An update of MEMORY.md in a sentence, with how to undo it."""
    counts = (
        (written.added, "remembered"),
        (written.revised, "revised"),
        (written.forgotten, "forgotten"),
    )
    done = ", ".join(f"{count} {word}" for count, word in counts if count) or "nothing new"
    page = f"; the page does not tell of it yet: {written.why}" if written.why else ""
    changed = any(count for count, _ in counts)
    back = f". `reverie undo {written.version}` takes it back" if changed else ""
    return f"{'Kept' if written.why else 'Updated'}: {done}{page}{back}"
