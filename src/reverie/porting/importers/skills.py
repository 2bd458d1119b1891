"""Skills of an agent: folders with a SKILL.md, as Claude Code, Codex and others keep them.

Each becomes one memory of the kind `skill`, which says what the skill is for and where its steps
stand; the agent reads those when the memory comes up. A skill that was altered since is known by
what it says, and comes in anew beside the older memory, which reconciling then finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reverie.porting.importers.foreign_texts import (
    fingerprint_passage,
    read_import_text,
    split_frontmatter,
    split_passages,
)
from reverie.porting.importers.import_records import (
    BadRecord,
    ForeignRecord,
    FoundRecord,
    ImportItem,
    ReadingContext,
)

SKILL_PAGE = "SKILL.md"
SKILL_FOLDERS = (".", "skills", ".claude/skills", ".agents/skills")


def fits(path: Path) -> bool:
    """True for a skill, or a folder in which skills lie."""
    return bool(find_skill_pages(path))


def find_skill_pages(path: Path) -> list[Path]:
    """The pages of the skills at a path, or in the folders there where agents keep them."""
    if path.is_file():
        return [path] if path.name == SKILL_PAGE else []
    if (path / SKILL_PAGE).is_file():
        return [path / SKILL_PAGE]
    for folder in SKILL_FOLDERS:
        pages = sorted((path / folder).glob(f"*/{SKILL_PAGE}"))
        if pages:
            return pages
    return []


def read(path: Path, _reading: ReadingContext) -> Iterator[ImportItem]:
    """Every skill."""
    root = path if path.is_dir() else path.parent
    for page in find_skill_pages(path):
        where = page.relative_to(root).as_posix()
        head, body, _ = split_frontmatter(read_import_text(page))
        record = ForeignRecord(head, where)
        name = record.text("name") or page.parent.resolve().name
        passages = (one.text for one in split_passages(body))
        purpose = record.text("description") or next(passages, "")
        if not purpose.strip():
            yield BadRecord(
                where, "it does not say what it is for: there is no description and no text"
            )
            continue
        yield FoundRecord(
            key=f"skill:{name}#{fingerprint_passage(purpose)}",
            text=f"Skill {name}: {purpose.strip()} Its steps: {where}",
            where=where,
            seen=page.stat().st_mtime,
            fields={
                "kind": "skill",
                "title": name,
                "tags": ["skill"],
                "files": [str(page.resolve())],
                "details": {"skill": name},
            },
        )
