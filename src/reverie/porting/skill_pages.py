"""Procedures as skills: a SKILL.md after the format of Agent Skills, and back. Pure.

A page says in its head what the skill is called, when it is of use, and which memory it was made
from; below that stand what must be there first, the steps, and what to beware of. People may alter
any of it: what they leave of the three lists is what the procedure is from then on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.model import UNTRUSTED, Memory
from reverie.memory.procedure import (
    KIND,
    PARTS,
    PracticeRecord,
    describe_procedure,
    read_practice_record,
)
from reverie.porting.importers.foreign_texts import split_frontmatter, split_passages
from reverie.text.tokenization import fingerprint_text

PAGE = "SKILL.md"
# In the details of a procedure: the page that it became, as {"path", "digest"}.
SKILL_DETAIL = "skill_page"
# In the head of a page, under `metadata`: the memory that it was made from.
MEMORY_FIELD = "reverie-memory"
# How often it must have worked to have proved itself, and how likely it is to work: the mean of
# Beta(1 + worked, 1 + failed), which three successes without a failure reach.
MIN_WORKED, MIN_CHANCE = 3, 0.75
# The limits of the format.
MAX_NAME_CHARS, MAX_DESCRIPTION_CHARS = 64, 1_024
HEADINGS = {"prerequisites": "Before", "steps": "Steps", "warnings": "Beware"}
_NO_SLUG = re.compile(r"[^a-z0-9]+")


class SkillPage(NamedTuple):
    """What a page says."""

    memory_id: str
    title: str
    description: str
    parts: Mapping[str, tuple[str, ...]]


def has_proved_itself(memory: Memory) -> bool:
    """True for a procedure that counts, is not others' words, and has worked several times."""
    record = read_practice_record(memory)
    return (
        memory.kind == KIND
        and memory.active
        and memory.provenance != UNTRUSTED
        and record.worked >= MIN_WORKED
        and record.chance >= MIN_CHANCE
        and bool(list_parts(memory)["steps"])
    )


def list_parts(memory: Memory) -> dict[str, tuple[str, ...]]:
    """The steps, prerequisites and warnings of a procedure."""
    found: dict[str, tuple[str, ...]] = {}
    for name in PARTS:
        values = memory.details.get(name)
        listed = values if isinstance(values, (list, tuple)) else ()
        found[name] = tuple(one for one in listed if isinstance(one, str))
    return found


def name_skill(title: str, taken: Iterable[str] = ()) -> str:
    """What a skill is called: lower case, digits and hyphens, another one than those taken."""
    plain = _NO_SLUG.sub("-", title.lower()).strip("-")[:MAX_NAME_CHARS].strip("-")
    name, others = plain or "procedure", set(taken)
    if name in others:
        mark = fingerprint_text(title).hex()[:6]
        name = f"{name[: MAX_NAME_CHARS - 7].strip('-')}-{mark}"
    return name


def describe_skill(memory: Memory) -> str:
    """What the skill does and when it is of use, on one line."""
    when = ", ".join(one for one in memory.triggers if not one.startswith("re:"))
    title = memory.title.rstrip(".")
    text = f"{title}. Use it when it is about: {when}." if when else f"{title}."
    return " ".join(text.split())[:MAX_DESCRIPTION_CHARS]


def render_skill(memory: Memory, name: str) -> str:
    """The page of a procedure."""
    import yaml

    head = {
        "name": name,
        "description": describe_skill(memory),
        "metadata": {MEMORY_FIELD: memory.id},
    }
    lines = ["---", yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=1_000).rstrip()]
    lines += ["---", "", f"# {memory.title}"]
    parts = list_parts(memory)
    for part, heading in HEADINGS.items():
        if parts[part]:
            marks = (f"{n}." if part == "steps" else "-" for n in range(1, len(parts[part]) + 1))
            lines += ["", f"## {heading}", ""]
            lines += [f"{mark} {one}" for mark, one in zip(marks, parts[part], strict=True)]
    return "\n".join(lines) + "\n"


def parse_skill(text: str) -> SkillPage:
    """What a page says; BadInput for one without a step."""
    head, body, _ = split_frontmatter(text.replace("\r\n", "\n"))
    meta = head.get("metadata")
    title = next((line[2:].strip() for line in body.split("\n") if line.startswith("# ")), "")
    by_heading = {heading.lower(): part for part, heading in HEADINGS.items()}
    parts: dict[str, list[str]] = {part: [] for part in HEADINGS}
    for one in split_passages(body):
        part = by_heading.get(one.heading.strip().lower())
        if part and one.bullet:
            parts[part].append(" ".join(one.text.split()))
    if not parts["steps"]:
        raise BadInput('it has no list of steps below "## Steps"')
    return SkillPage(
        str(meta.get(MEMORY_FIELD, "")) if isinstance(meta, Mapping) else "",
        title or str(head.get("name") or ""),
        str(head.get("description") or ""),
        {name: tuple(values) for name, values in parts.items()},
    )


def digest_page(text: str) -> str:
    """What tells one state of a page from another."""
    return fingerprint_text(text.replace("\r\n", "\n")).hex()[:16]


def read_skill_detail(memory: Memory) -> tuple[str, str]:
    """The path and the digest of the page that a procedure became; empty if it became none."""
    detail = memory.details.get(SKILL_DETAIL)
    if not isinstance(detail, Mapping):
        return "", ""
    return str(detail.get("path") or ""), str(detail.get("digest") or "")


def build_adopted_fields(memory: Memory, page: SkillPage, path: str, digest: str) -> dict[str, Any]:
    """The fields of a procedure as its page says it now."""
    title = page.title or memory.title
    described = describe_procedure(
        title, page.parts["steps"], page.parts["prerequisites"], page.parts["warnings"]
    )
    details = {
        **memory.details,
        **described["details"],
        SKILL_DETAIL: {"path": path, "digest": digest},
    }
    return {"text": described["text"], "title": title, "details": details}


def is_said_by(memory: Memory, page: SkillPage) -> bool:
    """True if a procedure is what its page says."""
    return page.title == memory.title and dict(page.parts) == list_parts(memory)


def describe_record(record: PracticeRecord) -> str:
    """How often it worked, for a message of a commit."""
    return f"worked {record.worked} of {record.worked + record.failed} times"
