"""Skills of an agent: folders with a SKILL.md, as Claude Code, Codex and others keep them in
`.claude/skills` (X18).

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
    FoundRecord,
    ImportItem,
    ReadingContext,
    as_text,
)

SKILL_PAGE = "SKILL.md"
SKILL_FOLDERS = (".", "skills", ".claude/skills", ".agents/skills")


def fits(path: Path) -> bool:
    """Whether this is a skill, or a folder in which skills lie."""
    return bool(find_skill_pages(path))


def find_skill_pages(path: Path) -> list[Path]:
    """The pages of the skills that lie at a path: of itself, or of the folders where agents keep
    them.
    """
    if path.is_file():
        return [path] if path.name == SKILL_PAGE else []
    found = (sorted((path / folder).glob(f"*/{SKILL_PAGE}")) for folder in SKILL_FOLDERS)
    own = [path / SKILL_PAGE] if (path / SKILL_PAGE).is_file() else []
    return own or next((some for some in found if some), [])


def read(path: Path, _reading: ReadingContext) -> Iterator[ImportItem]:
    """Every skill."""
    root = path if path.is_dir() else path.parent
    for page in find_skill_pages(path):
        where = page.relative_to(root).as_posix()
        head, body, _ = split_frontmatter(read_import_text(page))
        name = as_text(head.get("name")) or page.parent.resolve().name
        use = as_text(head.get("description")) or next(
            (one.text for one in split_passages(body)), ""
        )
        if not use.strip():
            yield BadRecord(
                where, "it does not say what it is for: there is no description and no text"
            )
            continue
        yield FoundRecord(
            key=f"skill:{name}#{fingerprint_passage(use)}",
            text=f"Skill {name}: {use.strip()} Its steps: {where}",
            where=where,
            seen=page.stat().st_mtime,
            fields={
                "kind": "skill",
                "title": name,
                "tags": ["skill"],
                "files": [str(page.resolve())],
                "provenance": "extracted",
                "details": {"skill": name},
            },
        )
