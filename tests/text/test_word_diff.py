"""Word by word: both texts can be read back from what differs."""

from hypothesis import given
from hypothesis import strategies as st

from reverie.text.word_diff import GONE, NEW, DiffPart, diff_words


@given(st.text(max_size=80), st.text(max_size=80))
def test_both_texts_stand_in_their_difference(before, after):
    """Without what came it is the first text, without what went the second."""
    parts = diff_words(before, after)
    assert "".join(part.text for part in parts if part.what != NEW) == before
    assert "".join(part.text for part in parts if part.what != GONE) == after


def test_words_are_compared_and_not_letters():
    """A word that changed is named as a whole."""
    assert diff_words("called heron.", "called crane.") == [
        DiffPart("same", "called "),
        DiffPart("gone", "heron"),
        DiffPart("new", "crane"),
        DiffPart("same", "."),
    ]


def test_very_long_texts_are_replaced_as_a_whole():
    """Comparing them word by word would take seconds."""
    assert [part.what for part in diff_words("a " * 5_000, "b " * 5_000)] == [GONE, NEW]
