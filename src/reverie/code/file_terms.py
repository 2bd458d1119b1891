"""The index terms in the chunks of a file, with how often they occur.

A chunk is a function, a method or the head of a class (`code_chunks`). Its text has been redacted
before it comes here.
"""

from __future__ import annotations

from reverie.code.code_terms import tokenize_code
from reverie.storage.indexed_code import TermBag
from reverie.storage.indexed_files import ChunkedFile

# as often as a term counts in one chunk, at most
MAX_TERM_COUNT = 255
MAX_CHUNKS = 2_000


def count_chunk_terms(entry: ChunkedFile) -> TermBag:
    """The terms of each chunk of a file with their counts, at most 255 a term and chunk."""
    chunks = [tokenize_code(chunk.text) for chunk in entry.chunks[:MAX_CHUNKS]]
    counts = [
        {term: min(times, MAX_TERM_COUNT) for term, times in terms.items()} for terms in chunks
    ]
    return TermBag(entry.file.path, entry.file.hash, counts)
