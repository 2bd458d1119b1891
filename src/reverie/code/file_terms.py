"""What the files of a repository speak of: of each chunk of a file the terms in it, with how often
they occur.

A chunk is a function, a method or the head of a class (`code.chunks`). Its text holds no secrets
any more when it comes here.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.code.code_terms import tokenize_code
from reverie.storage.code_index_port import TermBag
from reverie.storage.note_index_port import ChunkedFile

MAX_TERM_COUNT = 255  # that a term is counted in one chunk
MAX_CHUNKS = 2_000  # of a file


def count_chunk_terms(entry: ChunkedFile) -> TermBag:
    """A file's bag."""
    chunks: Sequence[dict[str, int]] = [
        {term: min(times, MAX_TERM_COUNT) for term, times in tokenize_code(chunk.text).items()}
        for chunk in entry.chunks[:MAX_CHUNKS]
    ]
    return TermBag(entry.file.path, entry.file.hash, chunks)
