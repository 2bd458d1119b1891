"""The part of the ranking in which nothing is learned."""

import numpy as np
import pytest

from reverie.retrieval.rank_fusion import fuse_ranks, rank_matches, rank_reciprocally

NAMES = ("speaker", "role", "date", "asks", "stands alone")


def fused(z, words, **features):
    """The fixed scores of candidates of which nothing else is known."""
    known = {"meaning": np.array(z), **{name: np.zeros(len(z)) for name in NAMES}, **features}
    return fuse_ranks(known, np.array(words))


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_words_have_no_scale(scale):
    """Words count by their places, however high BM25 is here."""
    words = np.array([3.0, 9.0, 0.0, 1.0])
    assert np.allclose(fused([1.0] * 4, words * scale), fused([1.0] * 4, words))


def test_equal_values_have_equal_ranks_and_what_is_missing_none():
    """The best has 1; ties share a place; no match counts nothing."""
    values = np.array([5.0, 5.0, 1.0])
    assert rank_reciprocally(values, np.sort(values)).tolist() == pytest.approx([1, 1, 11 / 13])
    assert rank_matches(np.array([0.0, 2.0]), np.array([0.0, 2.0])).tolist() == [0, 1]


@pytest.mark.parametrize("better", [{"z": [1.0, 2.0]}, {"words": [1.0, 2.0]}])
def test_a_better_match_is_never_lower(better):
    """All else equal, by meaning and by words."""
    found = fused(**{"z": [1.0, 1.0], "words": [1.0, 1.0], **better})
    assert found[1] > found[0]


def test_a_question_is_seldom_the_answer_to_one():
    """What ends in a question mark is a little lower, what its speaker said higher."""
    found = fused([1.0] * 3, [1.0] * 3, asks=np.array([1.0, 0, 0]), speaker=np.array([0, 0, 1.0]))
    assert found[0] < found[1] < found[2]
