"""A memory becomes a lasting reference: a page of Markdown that says what it says and what it rests
on. Pure.

The page has a head in YAML with its lineage, so that whoever reads it, and any program, can go
back: the memories that it comes from, who said them and in which conversations, who approved it,
when and why. The memory stays, approved, and names its page.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from reverie.core.model import Change, Memory, Revise
from reverie.memory.curation import curate_memory
from reverie.text.tokenization import shorten_line

PAGE_FIELD = "reference"  # in a memory's details: the page that was made of it
# In the details of other programs' memories: who made and approved it, what it was said to rest on.
STAMP_FIELDS = ("generated_by", "curated_by", "evidence")
# Characters of a title that is made up.
MAX_TITLE_CHARS = 100


def render_reference_page(
    memory: Memory,
    before: Sequence[Memory],
    now: float,
    *,
    by: str,
    note: str,
) -> str:
    """The page of a memory; `before` are the memories that it came from or took the place of."""
    import yaml

    sources = [memory, *before]
    lineage: dict[str, Any] = {
        "memories": [one.id for one in sources],
        "said_by": distinct_names(one.speaker for one in sources),
        "provenance": memory.provenance,
        "confidence": round(memory.confidence, 2),
        "said": memory.strength,
        "sessions": distinct_names(session for one in sources for session in one.sources),
        "files": list(memory.files),
        **{name: memory.details[name] for name in STAMP_FIELDS if memory.details.get(name)},
        "approved_by": by,
        "approved_at": datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds"),
        "why": note,
    }
    title = memory.title or shorten_line(memory.text, MAX_TITLE_CHARS)
    head = {
        "title": title,
        "kind": memory.kind,
        "tags": list(memory.tags),
        "lineage": {name: value for name, value in lineage.items() if value not in ("", [])},
    }
    # In the order in which a person reads it.
    yaml_head = yaml.safe_dump(
        head,
        sort_keys=False,
        allow_unicode=True,
    )
    return f"---\n{yaml_head}---\n\n# {title}\n\n{memory.text}\n"


def distinct_names(names: Iterable[str]) -> list[str]:
    """Names, each once, in order."""
    return list(dict.fromkeys(filter(None, names)))


def promote_memory(
    memory: Memory,
    path: str,
    now: float,
    *,
    by: str,
    note: str,
) -> list[Change]:
    """The changes by which a memory is approved and names its page."""
    approved = curate_memory(
        memory,
        "validated",
        now,
        by=by,
        note=note,
    )
    details = next(change.fields["details"] for change in approved if isinstance(change, Revise))
    return [
        *approved,
        Revise(
            memory.id,
            {"details": {**details, PAGE_FIELD: path}},
        ),
    ]
