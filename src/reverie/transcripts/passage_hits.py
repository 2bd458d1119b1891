"""Passages in the form of hits, so that they stand in one answer with memories.

A passage is nobody's belief: its provenance is SAID, its kind `said`, and neither decides, decays
nor is merged. No store holds it as a memory.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.core.model import SAID, Hit, Memory
from reverie.storage import Store
from reverie.storage.indexed_transcripts import FoundPassage, TranscriptIndex, id_to_key
from reverie.transcripts.passage_search import RankedPassage

EARLIER = "earlier"
"""In details: something newer about the same thing was said."""

# Characters of what a short passage answers that are shown before it.
SHOWN_CONTEXT_CHARS = 160


def to_hit(one: RankedPassage) -> Hit:
    """A ranked passage as a hit; `why` says what found it."""
    why = [f"said by {one.found.passage.role}"]
    if one.bm25 > 0:
        why.append(f"words {one.bm25:.1f}")
    if one.cosine is not None:
        why.append(f"meaning {one.cosine:.2f}")
    if uses := one.found.uses:
        why.append(f"used {uses} time{'s' if uses > 1 else ''}")
    memory = to_said_memory(one.found)
    if one.is_earlier:
        why.append("a newer one on this stands before it")
        memory = memory._replace(details={EARLIER: True})
    return Hit(memory, one.score, tuple(why))


def to_said_memory(found: FoundPassage) -> Memory:
    """A passage as a memory of the kind `said`: who said it, in which session, when."""
    passage = found.passage
    return Memory(
        id=found.id,
        text=show_passage(passage.text, passage.context if passage.role == "user" else ""),
        space=found.space,
        at=passage.at,
        created_at=passage.at,
        updated_at=passage.at,
        kind=SAID,
        session=found.session,
        speaker=passage.role,
        messages=(passage.message, passage.message),
        provenance=SAID,
    )


def show_passage(text: str, context: str) -> str:
    """What is shown of a passage: one that leans on what it answers comes with the end of that."""
    if not context:
        return text
    return f"… {context[-SHOWN_CONTEXT_CHARS:]} → {text}"


def find_memories_or_passages(store: Store, ids: Sequence[str]) -> list[Memory]:
    """What these ids name, in the order asked; unknown ones are left out."""
    found = {memory.id: memory for memory in store.get(ids)}
    missing = [id for id in ids if id not in found]
    found |= {memory.id: memory for memory in find_said_memories(store.transcripts, missing)}
    return [found[id] for id in ids if id in found]


def find_said_memories(index: TranscriptIndex, ids: Sequence[str]) -> list[Memory]:
    """The passages that these ids name, as memories; ids of anything else are left out."""
    return list(map(to_said_memory, find_passages(index, ids)))


def find_passages(index: TranscriptIndex, ids: Sequence[str]) -> list[FoundPassage]:
    """The passages that these ids name; ids of anything else are left out."""
    keys = [key for key in map(id_to_key, ids) if key is not None]
    return list(index.passages_by_key(keys)) if keys else []
