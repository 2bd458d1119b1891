"""What the files of a repository speak of: of each chunk of a file the terms in it, with how often
they occur.

A chunk is a function, a method or the head of a class (`code.chunks`). Its text holds no secrets
any more when it comes here.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.code.code_terms import code_terms
from reverie.storage.code_index_port import Bag
from reverie.storage.note_index_port import Entry

MOST_TIMES = 255  # that a term is counted in one chunk
MOST_CHUNKS = 2_000  # of a file


def bag_of(entry: Entry) -> Bag:
    """A file's bag."""
    chunks: Sequence[dict[str, int]] = [
        {term: min(times, MOST_TIMES) for term, times in code_terms(chunk.text).items()}
        for chunk in entry.chunks[:MOST_CHUNKS]
    ]
    return Bag(entry.file.path, entry.file.hash, chunks)
