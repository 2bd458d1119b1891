"""A file of code in chunks, one for each thing that it defines: what is searched by likeness, shown
and embedded.

A function or method is a chunk, with the comments and decorators right above it. A class is one of
what it says before its first method. What stands around them, such as imports and constants, makes
chunks of its own, or joins the chunk before it where it is only a few lines. What is longer than a
chunk of notes is cut as notes are (`files.chunks`). Lines count from 1.

The first line of a chunk's text is its heading: the end of the file's path and the qualified name.
Only the end, so that the same function in another checkout, version or repository is the same text
and is not embedded again (C71). Texts hold no secrets. Every line that is not blank stands in a
chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from reverie.code.code_indexing import generated
from reverie.code.file_terms import bag_of
from reverie.core.privacy_policy import USUAL, Policy
from reverie.notes.folder_walk import Content, LeftOut, Seen, read
from reverie.notes.note_indexing import Progress, batches
from reverie.notes.text_chunks import chunked as cut
from reverie.notes.text_chunks import lines_of
from reverie.privacy import redact
from reverie.storage.code_index_port import CodeIndex, Symbol
from reverie.storage.note_index_port import Chunk, Entry, FileIndex, Indexed
from reverie.text.tokenization import fingerprint

ABOVE = ("@", "#", "//", "/*", "*", "[")  # how lines begin that belong to the definition below them
SMALL = 200  # characters of a rest that join the rest before
PARTS = 2  # parts of a path that stand in a heading


class Piece(NamedTuple):
    """Lines that belong together: of a definition, or of what stands around definitions."""

    first: int
    last: int
    owner: int  # the symbol; -1: the file itself
    rest: bool  # what stands around definitions


def chunked(path: str, text: str, symbols: Sequence[Symbol]) -> list[Chunk]:
    """The chunks of a file in order. Secrets should be gone already, with every line still in its
    place.
    """
    lines = lines_of(text)
    made: list[Chunk] = []
    for piece in joined(pieces(lines, symbols), lines):
        heading = headed(path, symbols[piece.owner].qual if piece.owner >= 0 else "")
        for part in cut("\n".join(lines[piece.first - 1 : piece.last])):
            told = f"{heading}\n{part.text}"
            made.append(
                Chunk(
                    piece.first + part.first - 1,
                    piece.first + part.last - 1,
                    told,
                    fingerprint(told),
                )
            )
    return made


def headed(path: str, name: str) -> str:
    """The heading of a chunk: the end of the path, and what is defined.

    >>> headed("src/shop/models/cart.py", "Cart.total")
    'models/cart.py Cart.total'
    """
    return f"{'/'.join(path.split('/')[-PARTS:])} {name}".rstrip()


def symbol_of(text: str) -> str:
    """The qualified name in the heading of a chunk; empty where it is of the file itself."""
    return text.partition("\n")[0].rpartition("/")[2].partition(" ")[2]


def pieces(lines: Sequence[str], symbols: Sequence[Symbol]) -> Iterator[Piece]:
    """Stretches of lines with one owner, in order; blank ones around them are left out."""
    number = 0
    for owner, run in groupby(owners_of(lines, symbols)):
        first, number = number + 1, number + len(list(run))
        last = number
        while first <= last and not lines[first - 1].strip():
            first += 1
        while last > first and not lines[last - 1].strip():
            last -= 1
        if first <= last:
            yield Piece(first, last, owner, owner < 0 or not first <= symbols[owner].first <= last)


def owners_of(lines: Sequence[str], symbols: Sequence[Symbol]) -> list[int]:
    """Of each line the outermost function, else the innermost class, else -1. What stands right
    above, too.
    """
    owners = [-1] * len(lines)
    inside: set[int] = set()  # functions, and what stands in them
    for num, one in enumerate(symbols):
        if one.kind not in ("class", "function", "method"):
            continue
        around = one.parent
        if around in inside:
            inside.add(num)
            continue
        if one.kind != "class":
            inside.add(num)
        first = one.first - 1
        while (
            first > 0
            and owners[first - 1] not in inside
            and lines[first - 1].lstrip().startswith(ABOVE)
        ):
            first -= 1
        owners[first : one.last] = [num] * (min(one.last, len(lines)) - first)
    return owners


def joined(some: Iterable[Piece], lines: Sequence[str]) -> Iterator[Piece]:
    """The pieces, each with the few lines around definitions that follow it."""
    waiting: Piece | None = None
    for one in some:
        if waiting and one.rest and sum(map(len, lines[one.first - 1 : one.last])) < SMALL:
            waiting = waiting._replace(last=one.last)
            continue
        if waiting:
            yield waiting
        waiting = one
    if waiting:
        yield waiting


def caught_up(
    index: CodeIndex,
    chunks: FileIndex,
    root: str,
    now: Callable[[], float],
    progress: Progress,
    policy: Policy = USUAL,
) -> int:
    """Make the chunks those of the files as the index of code has them; of how many files that was
    done.

    A file that has changed since it was parsed waits for the next time.
    """
    known, have, bagged = index.known(root), chunks.known(root), index.bagged(root)
    stale = [
        Seen(path, one.stamp)
        for path, one in known.items()
        if path not in have or have[path].hash != one.hash or bagged.get(path) != one.hash
    ]
    chunks.drop(root, [path for path in have if path not in known])
    total, done = sum(one.stamp.size for one in stale), 0
    for batch in batches(stale):
        symbols: dict[str, list[Symbol]] = {one.path: [] for one in batch}
        for place in index.symbols(root, list(symbols)):
            symbols[place.path].append(place.symbol)
        found = (entry_of(root, known[path], some, now(), policy) for path, some in symbols.items())
        entries = [entry for entry in found if entry is not None]
        chunks.put(root, entries)
        index.put_bags(root, [bag_of(entry) for entry in entries])
        done += sum(one.stamp.size for one in batch)
        progress(f"cutting up {Path(root).name}", done, total)
    return len(stale)


def entry_of(
    root: str, file: Indexed, symbols: Sequence[Symbol], now: float, policy: Policy
) -> Entry | None:
    """A file with its chunks; None where it is not what was parsed any more."""
    content = as_it_is(root, file.path, now, policy)
    if content is None or content.hash != file.hash:
        return None
    return Entry(
        file, () if generated(content.text) else chunked(file.path, clean(content.text), symbols)
    )


def as_it_is(root: str, path: str, now: float, policy: Policy) -> Content | None:
    """A file's bytes and text; None where it cannot be read."""
    try:
        return read(Path(root, path), now, policy)
    except (OSError, LeftOut):
        return None


def clean(text: str) -> str:
    """The text without secrets, with every line in its place."""
    return redact(text, USUAL, keep_lines=True)[0]
