"""A file of code in chunks, one for each thing that it defines: what is searched and embedded.

A function or method is a chunk, with the comments and decorators right above it. A class is one of
what it says before its first method. What stands around them, such as imports and constants, makes
chunks of its own, or joins the chunk before it if it is only a few lines. What is longer than a
chunk of notes is cut as notes are (`notes.text_chunks`). Lines count from 1.

The first line of a chunk's text is its heading: the end of the file's path and the qualified name.
Only the end, so that the same function in another checkout, version or repository is the same text
and is not embedded again. Texts hold no secrets. Every line that is not blank stands in a chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from reverie.code.code_indexing import is_generated
from reverie.code.code_terms import tokenize_code
from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.notes.folder_walk import FileContent, FileSkipped, ListedFile, read_text_file
from reverie.notes.note_indexing import Progress, group_by_bytes
from reverie.notes.text_chunks import chunk_text, split_lines
from reverie.privacy import redact
from reverie.storage.indexed_code import CodeIndex, Symbol, TermBag
from reverie.storage.indexed_files import Chunk, ChunkedFile, FileIndex, IndexedFile
from reverie.text.tokenization import fingerprint_text

# how lines begin that belong to the definition below them: decorators, comments, attributes
LEADING_MARKS = ("@", "#", "//", "/*", "*", "[")
# a rest of fewer characters joins the chunk before it
MAX_SMALL_CHARS = 200
# parts of a path that stand in a heading
HEADING_PARTS = 2
# as often as a term counts in one chunk, at most
MAX_TERM_COUNT = 255
# chunks of a file whose terms are counted
MAX_COUNTED_CHUNKS = 2_000


class LineRange(NamedTuple):
    """Lines that belong together: of a definition, or of what stands around definitions."""

    first: int
    last: int
    # the symbol; -1: the file itself
    owner: int
    # it stands around definitions
    is_rest: bool


def chunk_code(
    path: str,
    text: str,
    symbols: Sequence[Symbol],
) -> list[Chunk]:
    """The chunks of a file in order.

    The text should be redacted already, with every line still in its place.
    """
    lines = split_lines(text)
    chunks: list[Chunk] = []
    for piece in join_small_rests(split_into_ranges(lines, symbols), lines):
        heading = make_heading(
            path,
            symbols[piece.owner].qual if piece.owner >= 0 else "",
        )
        for part in chunk_text("\n".join(lines[piece.first - 1 : piece.last])):
            first = piece.first + part.first - 1
            last = piece.first + part.last - 1
            content = f"{heading}\n{part.text}"
            chunks.append(Chunk(first, last, content, fingerprint_text(content)))
    return chunks


def make_heading(path: str, name: str) -> str:
    """The heading of a chunk: the end of the path, and what is defined.

    >>> make_heading("src/shop/models/cart.py", "Cart.total")
    'models/cart.py Cart.total'
    """
    return f"{'/'.join(path.split('/')[-HEADING_PARTS:])} {name}".rstrip()


def read_heading_symbol(text: str) -> str:
    """The qualified name in the heading of a chunk; empty if it is of the file itself."""
    return text.partition("\n")[0].rpartition("/")[2].partition(" ")[2]


def split_into_ranges(
    lines: Sequence[str],
    symbols: Sequence[Symbol],
) -> Iterator[LineRange]:
    """Stretches of lines with one owner, in order; blank ones around them are left out."""
    owners = enumerate(find_line_owners(lines, symbols), start=1)
    for owner, run in groupby(owners, key=itemgetter(1)):
        filled = [number for number, _ in run if lines[number - 1].strip()]
        if filled:
            first, last = filled[0], filled[-1]
            is_rest = owner < 0 or not first <= symbols[owner].first <= last
            yield LineRange(first, last, owner, is_rest)


def find_line_owners(
    lines: Sequence[str],
    symbols: Sequence[Symbol],
) -> list[int]:
    """Of each line the outermost function, else the innermost class, else -1.

    Comments and decorators right above a definition belong to it.
    """
    owners = [-1] * len(lines)
    # functions, and what stands in them
    inside: set[int] = set()
    for num, one in enumerate(symbols):
        if one.kind not in ("class", "function", "method"):
            continue
        if one.parent in inside:
            inside.add(num)
            continue
        if one.kind != "class":
            inside.add(num)
        first = one.first - 1
        while (
            first > 0
            and owners[first - 1] not in inside
            and lines[first - 1].lstrip().startswith(LEADING_MARKS)
        ):
            first -= 1
        owners[first : one.last] = [num] * (min(one.last, len(lines)) - first)
    return owners


def join_small_rests(
    ranges: Iterable[LineRange],
    lines: Sequence[str],
) -> list[LineRange]:
    """The ranges, each with the few lines around definitions that follow it."""
    joined: list[LineRange] = []
    for one in ranges:
        size = sum(map(len, lines[one.first - 1 : one.last]))
        if joined and one.is_rest and size < MAX_SMALL_CHARS:
            joined[-1] = joined[-1]._replace(last=one.last)
        else:
            joined.append(one)
    return joined


def update_code_chunks(
    index: CodeIndex,
    chunks: FileIndex,
    root: str,
    now: Callable[[], float],
    progress: Progress,
    policy: Policy,
) -> int:
    """Make the chunks those of the files as the code index has them; returns how many were stale.

    A file that has changed since it was parsed waits for the next time.
    """
    known = index.indexed_files(root)
    chunked = chunks.indexed_files(root)
    bag_hashes = index.bag_hashes(root)
    stale: list[ListedFile] = []
    for path, one in known.items():
        is_chunked = path in chunked and chunked[path].hash == one.hash
        if not is_chunked or bag_hashes.get(path) != one.hash:
            stale.append(ListedFile(path, one.stamp))
    chunks.drop(root, [path for path in chunked if path not in known])
    total = sum(one.stamp.size for one in stale)
    done = 0
    for batch in group_by_bytes(stale):
        symbols: dict[str, list[Symbol]] = {one.path: [] for one in batch}
        for place in index.symbols(root, list(symbols)):
            symbols[place.path].append(place.symbol)
        read = (
            read_chunk_entry(root, known[path], defined, now(), policy)
            for path, defined in symbols.items()
        )
        entries = [entry for entry in read if entry is not None]
        chunks.put(root, entries)
        index.put_bags(root, [count_chunk_terms(entry) for entry in entries])
        done += sum(one.stamp.size for one in batch)
        progress(f"cutting up {Path(root).name}", done, total)
    return len(stale)


def count_chunk_terms(entry: ChunkedFile) -> TermBag:
    """The index terms in the chunks of a file, with how often they occur; texts are redacted."""
    counts: list[dict[str, int]] = []
    for chunk in entry.chunks[:MAX_COUNTED_CHUNKS]:
        terms = tokenize_code(chunk.text)
        counts.append({term: min(times, MAX_TERM_COUNT) for term, times in terms.items()})
    return TermBag(entry.file.path, entry.file.hash, counts)


def read_chunk_entry(
    root: str,
    file: IndexedFile,
    symbols: Sequence[Symbol],
    now: float,
    policy: Policy,
) -> ChunkedFile | None:
    """A file with its chunks; None if it is not what was parsed any more."""
    content = read_current_content(root, file.path, now, policy)
    if content is None or content.hash != file.hash:
        return None
    if is_generated(content.text):
        return ChunkedFile(file, ())
    return ChunkedFile(file, chunk_code(file.path, redact_code(content.text), symbols))


def read_current_content(
    root: str,
    path: str,
    now: float,
    policy: Policy,
) -> FileContent | None:
    """A file's bytes and text; None if it cannot be read."""
    try:
        return read_text_file(Path(root, path), now, policy)
    except (OSError, FileSkipped):
        return None


def redact_code(text: str) -> str:
    """The text without secrets, with every line in its place."""
    return redact(text, DEFAULT_POLICY, keep_lines=True)[0]
