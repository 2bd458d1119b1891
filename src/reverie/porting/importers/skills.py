"""Skills of an agent: folders with a SKILL.md, as Claude Code, Codex and others keep them in
`.claude/skills` (X18).

Each becomes one memory of the kind `skill`, which says what the skill is for and where its steps
stand; the agent reads those when the memory comes up. A skill that was altered since is known by
what it says, and comes in anew beside the older memory, which reconciling then finds.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from reverie.porting.importers.foreign_texts import frontmatter, passages, print_of, text_in
from reverie.porting.importers.import_records import Bad, Found, Item, Reading, words

PAGE = "SKILL.md"
FOLDERS = (".", "skills", ".claude/skills", ".agents/skills")


def fits(path: Path) -> bool:
    """Whether this is a skill, or a folder in which skills lie."""
    return bool(pages(path))


def pages(path: Path) -> list[Path]:
    """The pages of the skills that lie at a path: of itself, or of the folders where agents keep
    them.
    """
    if path.is_file():
        return [path] if path.name == PAGE else []
    found = (sorted((path / folder).glob(f"*/{PAGE}")) for folder in FOLDERS)
    own = [path / PAGE] if (path / PAGE).is_file() else []
    return own or next((some for some in found if some), [])


def read(path: Path, _reading: Reading) -> Iterator[Item]:
    """Every skill."""
    root = path if path.is_dir() else path.parent
    for page in pages(path):
        where = page.relative_to(root).as_posix()
        head, body, _ = frontmatter(text_in(page))
        name = words(head.get("name")) or page.parent.resolve().name
        use = words(head.get("description")) or next((one.text for one in passages(body)), "")
        if not use.strip():
            yield Bad(where, "it does not say what it is for: there is no description and no text")
            continue
        yield Found(
            key=f"skill:{name}#{print_of(use)}",
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
