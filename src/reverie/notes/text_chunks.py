"""A text in chunks of 400 tokens with 80 tokens of overlap, which are searched, shown and embedded.

A token is counted as four characters, so a chunk has at most 1,600, of which at most 320 are
repeated from before, as whole lines. Every line that is not blank stands in a chunk, and `first`
and `last` are its line numbers, from 1. A line too long for a chunk is cut where a word ends.

Where a chunk ends depends only on the lines nearby: of the places in the second half of its room,
the best one is taken (a heading, then a paragraph, then the end of a sentence), and among equals
the one with the highest checksum. Whoever inserts a line at the top therefore alters the first
chunk or two and not all that follow.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple
from zlib import crc32

from reverie.storage.indexed_files import Chunk
from reverie.text.tokenization import fingerprint_text

CHARS_PER_TOKEN = 4
MAX_CHUNK_CHARS = 400 * CHARS_PER_TOKEN
# characters of a chunk that are repeated from the one before
MAX_OVERLAP_CHARS = 80 * CHARS_PER_TOKEN
MAX_NEW_CHARS = MAX_CHUNK_CHARS - MAX_OVERLAP_CHARS

_HEADING = re.compile(r"#{1,6}\s")


class LinePiece(NamedTuple):
    """A line with its line break, or a part of one that is too long."""

    line: int  # its number, from 1
    text: str
    whole: bool = True


def chunk_text(text: str) -> list[Chunk]:
    """The chunks of a text (already redacted), in order; none of a blank text."""
    pieces = list(split_into_pieces(split_lines(text)))
    lengths = [0, *accumulate(len(piece.text) for piece in pieces)]
    chunks: list[Chunk] = []
    start = 0
    while start < len(pieces):
        end = find_chunk_end(pieces, lengths, start)
        chunk = build_chunk(pieces, start, end)
        if chunk:
            chunks.append(chunk)
        start = end
    return chunks


def split_lines(text: str) -> list[str]:
    """The lines as an editor numbers them: ended by LF, CR LF or CR, and by nothing else."""
    # `splitlines` also cuts at form feeds and U+2028, which no editor counts
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def split_into_pieces(lines: Sequence[str]) -> Iterator[LinePiece]:
    """The lines, those cut that would not fit into a chunk."""
    for number, line in enumerate(lines, start=1):
        if len(line) < MAX_NEW_CHARS:
            yield LinePiece(number, line + "\n")
        else:
            for part in split_long_line(line + "\n"):
                yield LinePiece(number, part, whole=False)


def split_long_line(line: str) -> Iterator[str]:
    """A long line in parts that fit, cut after a blank in the second half of the room if any."""
    start = 0
    while len(line) - start > MAX_NEW_CHARS:
        blank = line.rfind(" ", start + MAX_NEW_CHARS // 2, start + MAX_NEW_CHARS)
        end = blank + 1 if blank >= 0 else start + MAX_NEW_CHARS
        yield line[start:end]
        start = end
    yield line[start:]


def find_chunk_end(
    pieces: Sequence[LinePiece],
    lengths: Sequence[int],
    start: int,
) -> int:
    """Where the new pieces of the chunk end that begins at `start`: at the best place to cut.

    `lengths` are the characters before each piece, and in all.
    """
    # At least one piece, however long.
    end = max(start + 1, bisect_right(lengths, lengths[start] + MAX_NEW_CHARS) - 1)
    if end == len(pieces):
        return end
    # Cut in the second half of the room only, or chunks would become small.
    first = bisect_left(lengths, lengths[start] + MAX_NEW_CHARS // 2, lo=start + 1)
    places = range(first, end + 1)
    return max(
        places,
        key=lambda place: rate_cut(pieces, place),
        default=end,
    )


def rate_cut(pieces: Sequence[LinePiece], place: int) -> tuple[int, int]:
    """How good it is to cut before a piece: by what stands around it, then by its checksum."""
    before, after = pieces[place - 1].text.rstrip(), pieces[place].text
    if _HEADING.match(after):
        kind = 3
    elif not before and after.strip():
        kind = 2
    elif before.endswith((".", "!", "?", ":")):
        kind = 1
    else:
        kind = 0
    # not `hash`: every process has to cut a text in the same places
    return kind, crc32(f"{before}\n{after}".encode("utf-8", "surrogatepass"))


def build_chunk(
    pieces: Sequence[LinePiece],
    start: int,
    end: int,
) -> Chunk | None:
    """The chunk of these new pieces, with whole lines from before; None if they are blank."""
    while end > start and not pieces[end - 1].text.strip():
        end -= 1
    if end == start:
        return None
    first, room = start, MAX_OVERLAP_CHARS
    while first > 0 and pieces[first - 1].whole and len(pieces[first - 1].text) <= room:
        first -= 1
        room -= len(pieces[first].text)
    while not pieces[first].text.strip():
        first += 1
    text = "".join(piece.text for piece in pieces[first:end]).rstrip("\n")
    return Chunk(
        pieces[first].line,
        pieces[end - 1].line,
        text,
        fingerprint_text(text),
    )
