"""Cutting texts into chunks."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.notes.note_vectors import MAX_WHOLE_CHARS, split_in_halves
from reverie.notes.text_chunks import MAX_CHUNK_CHARS, MAX_OVERLAP_CHARS, chunk_text, split_lines
from reverie.storage.indexed_files import Chunk
from reverie.text.tokenization import fingerprint_text

LINES = st.lists(
    st.one_of(st.text(max_size=120), st.just(""), st.text("ab c", min_size=1_000, max_size=4_000)),
    max_size=60,
)


def prose(lines: int) -> list[str]:
    return [
        f"Line {i} tells of penguin number {i * 7919 % 1000} and of river {i * 31 % 97}."
        if i % 5
        else ""
        for i in range(lines)
    ]


def repeated(one: Chunk, other: Chunk) -> int:
    """Characters of whole lines that a chunk repeats from the one before."""
    return sum(
        len(line) + 1 for line in other.text.split("\n")[: max(0, one.last - other.first + 1)]
    )


@given(LINES)
@pytest.mark.proves("CC-72")
def test_every_line_stands_in_a_chunk_at_its_number(lines):
    """The lines that a chunk names are what it holds, and none but blank ones stand in no chunk."""
    text = "\n".join(lines)
    every = split_lines(text)
    seen: set[int] = set()
    for chunk in chunk_text(text):
        named = every[chunk.first - 1 : chunk.last]
        seen.update(range(chunk.first, chunk.last + 1))
        assert chunk.text in "\n".join(named)
        if all(len(line) < MAX_CHUNK_CHARS - MAX_OVERLAP_CHARS for line in named):
            assert chunk.text == "\n".join(named)
    assert [] == [
        line for number, line in enumerate(every, 1) if line.strip() and number not in seen
    ]


@given(LINES)
@pytest.mark.proves("CC-72", "C7", "C61")
def test_a_chunk_has_400_tokens_at_most(lines):
    """1,600 characters, whatever the lines are like; nothing but blanks is no chunk."""
    assert [] == [
        chunk
        for chunk in chunk_text("\n".join(lines))
        if len(chunk.text) > MAX_CHUNK_CHARS or not chunk.text.strip()
    ]


@given(LINES)
@pytest.mark.proves("CC-72")
def test_a_text_is_cut_the_same_way_every_time(lines):
    """The same text gives the same chunks with the same hashes; a hash stands for its text alone."""
    once = chunk_text("\n".join(lines))
    assert once == chunk_text("\n".join(lines))
    assert [chunk.hash for chunk in once] == [fingerprint_text(chunk.text) for chunk in once]


@pytest.mark.proves("CC-72", "C62")
def test_overlap_is_80_tokens_of_whole_lines():
    """Neighbours share up to 320 characters, as whole lines, and they do share some."""
    chunks = chunk_text("\n".join(prose(200)))
    shared = [repeated(one, other) for one, other in pairwise(chunks)]
    assert len(chunks) > 5
    assert max(shared) <= MAX_OVERLAP_CHARS
    assert min(shared) > MAX_OVERLAP_CHARS / 2


@pytest.mark.proves("CC-72")
def test_a_long_line_is_cut_where_words_end():
    """All parts name the same line, and together are the line."""
    line = " ".join(f"word{i}" for i in range(2_000))
    chunks = chunk_text(f"first\n{line}\nlast")
    parts = [chunk for chunk in chunks if (chunk.first, chunk.last) == (2, 2)]
    assert len(parts) > 5
    assert all(part.text.startswith("word") for part in parts)
    assert sum(len(chunk.text.split()) for chunk in chunks) == 2_002


@pytest.mark.proves("CC-72")
def test_a_line_without_blanks_is_cut_too():
    """A line of 5,000 characters of Base64 is cut."""
    chunks = chunk_text("x" * 5_000)
    assert "x" * 5_000 == "".join(chunk.text for chunk in chunks)


@pytest.mark.proves("CC-72")
def test_blank_text_gives_no_chunk():
    """An empty file, and one of blank lines, give no chunk."""
    assert [] == chunk_text("") == chunk_text("\n\n  \n\t\n")


@pytest.mark.proves("CC-72")
def test_lines_are_counted_as_an_editor_does():
    """LF, CR LF and CR end a line; form feeds and U+2028 do not."""
    assert ["a", "b", "c\x0cd", "e\u2028f"] == split_lines("a\r\nb\rc\x0cd\ne\u2028f\n")


@pytest.mark.proves("CC-72")
def test_a_line_at_the_top_alters_few_chunks():
    """After an insertion at the top, all but the first chunks have the texts that they had."""
    lines = prose(1_000)
    before = {chunk.hash for chunk in chunk_text("\n".join(lines))}
    after = {chunk.hash for chunk in chunk_text("\n".join(["A new first line.", *lines]))}
    assert len(before) > 40
    assert len(after - before) <= 4


@pytest.mark.proves("C61")
def test_a_chunk_ends_before_a_heading():
    """Where there is a heading in the second half of the room, the chunk ends there."""
    body = "\n".join(prose(20))
    chunks = chunk_text(f"# One\n{body}\n# Two\n{body}\n")
    assert "# Two" in chunks[1].text
    assert "# Two" not in chunks[0].text


@given(st.text(max_size=1_600))
@pytest.mark.proves("C63")
def test_a_long_chunk_is_embedded_in_two_halves(text):
    """Neither half is longer than a model reads, and no word is lost."""
    parts = split_in_halves(text)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert max(map(len, parts)) <= max(MAX_WHOLE_CHARS, 0.75 * len(text) + 1)
