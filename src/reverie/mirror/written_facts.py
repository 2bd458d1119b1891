"""What a tool writes to a file of the user's own is remembered, and counts while it stands there.

A file of a watched folder is no page of the mirror: nothing of ours stands in it, and nobody's
edits of it are edits of memories. But what was remembered as it was written is known by the event
`file` that wrote it. So when the file is replaced or restored, what it no longer says is retired,
and what it says again counts again; one event has all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from reverie.core.model import Change, Memory, Retire, Revise
from reverie.mirror.page_blocks import PageItem
from reverie.mirror.tool_page_edits import find_title_above, itemise_text
from reverie.notes.file_versions import MAX_EVENTS, VERB
from reverie.storage import Store

# Bullets and paragraphs of one text beyond which it is a document, and remembered as one.
MAX_STATEMENTS = 12
# Under it the event names what was remembered.
REMEMBERED = "remembered"
# Why a memory no longer counts.
NOT_THERE = "no longer in its file"


class Statement(NamedTuple):
    """One thing that a text says, and the heading over it."""

    text: str
    title: str = ""


def split_statements(text: str, place: Path) -> list[Statement]:
    """What a text says, a bullet or paragraph each, without the marks of Markdown."""
    page = itemise_text(text, place.name)
    found = [
        Statement(words, find_title_above(page, number))
        for number, block in enumerate(page.blocks)
        if isinstance(block, PageItem) and (words := block.line.text.strip())
    ]
    return found if 0 < len(found) <= MAX_STATEMENTS else [Statement(text.strip() or text)]


def follow_file(
    store: Store,
    place: Path,
    text: str,
    now: float,
) -> list[Change]:
    """Changes by which what was remembered of a file counts as long as it stands in its text."""
    there = " ".join(text.split())
    changes: list[Change] = []
    for memory in iterate_remembered(store, place):
        stands = " ".join(memory.text.split()) in there
        if memory.active and not stands:
            changes.append(Retire(memory.id, now, NOT_THERE))
        elif stands and memory.retired_why == NOT_THERE:
            changes.append(Revise(memory.id, {"retired_at": None, "retired_why": ""}))
    return changes


def iterate_remembered(store: Store, place: Path) -> Iterator[Memory]:
    """What was remembered of a file as it was written."""
    for event in store.events(verbs=(VERB,), newest=True, limit=MAX_EVENTS):
        if event.payload.get("path") == str(place):
            yield from store.get(event.payload.get(REMEMBERED, ()))
