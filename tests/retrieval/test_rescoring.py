"""Bounded priors, what surfaces unasked, diversity."""

import pytest

from reverie.core.model import Hit
from reverie.retrieval.rescoring import (
    MIN_SHOWN_CHANCE,
    apply_priors,
    can_surface,
    compute_prior,
    drop_duplicate_texts,
    emotion_factor,
    finalize_hits,
)
from reverie.testing import NOON, make_memory


def hits(*scores, **fields):
    return [
        Hit(make_memory(f"memory {n}", **fields), score, ("words",))
        for n, score in enumerate(scores)
    ]


@pytest.mark.proves("A2", "A54")
def test_automatic_hits_need_a_chance():
    """Nothing surfaces by itself below even odds; who asks gets all."""
    low = hits(MIN_SHOWN_CHANCE - 0.01, MIN_SHOWN_CHANCE - 0.02)

    assert finalize_hits(low, 5, automatic=True) == []
    assert finalize_hits(low, 5, automatic=False) == low
    assert finalize_hits(hits(0.9), 5, automatic=True)


@pytest.mark.proves("X6")
def test_hits_near_the_best_are_kept():
    """A turn that needs one memory may need others nearly as likely, never those far below."""
    found = hits(0.7, 0.6, 0.45, 0.1)

    assert finalize_hits(found, 5, automatic=True) == found[:2]
    assert finalize_hits(found, 1, automatic=True) == found[:1]


@pytest.mark.proves("A105")
def test_a_trigger_match_does_not_lower_the_threshold():
    """It surfaces whatever its neighbours' chances are, and changes nothing for them."""
    met = Hit(make_memory("never do it"), 0.97, ("trigger 'do'",))
    low, high = hits(0.3)[0], hits(0.6)[0]

    assert finalize_hits([met, low], 5, automatic=True) == [met]
    assert finalize_hits([met, high], 5, automatic=True) == [met, high]


@pytest.mark.proves("B57", "A36", "B55")
def test_trust_use_and_feeling_move_within_bounds():
    """What is trusted, proven, recent and felt comes before its equal."""
    plain = make_memory("x", provenance="observed")
    better = [
        plain._replace(trust=1.0, confidence=1.0),
        plain._replace(strength=5),
        plain._replace(last_accessed_at=NOON),
        plain._replace(details={"emotion": {"intensity": "high"}}),
    ]

    assert all(
        compute_prior(plain, NOON) < compute_prior(memory, NOON) <= 1.25**5 for memory in better
    )
    assert compute_prior(plain._replace(confidence=0.0), NOON) >= 0.6 * compute_prior(plain, NOON)


@pytest.mark.proves("CC-32")
def test_equal_hits_stand_in_order_of_id():
    """Ties break by id."""
    found = hits(0.5, 0.5, 0.5)

    assert [h.memory.id for h in apply_priors(found[::-1], NOON)] == [h.memory.id for h in found]


@pytest.mark.proves("CC-49")
def test_the_same_words_appear_once():
    """Letter case and white space apart."""
    found = [Hit(make_memory(text), 0.9) for text in ("The heron", "the  HERON", "the crane")]

    assert [h.memory.text for h in drop_duplicate_texts(found)] == ["The heron", "the crane"]


def test_what_may_surface_unasked():
    """Scratch pads, and memories that are not valid yet or any more, do not surface unasked."""
    memory = make_memory("x")

    assert can_surface(memory, NOON)
    assert not can_surface(make_memory("x", kind="scratch"), NOON)
    assert not can_surface(memory._replace(valid_from=NOON + 1), NOON)
    assert not can_surface(memory._replace(valid_to=NOON), NOON)


def test_odd_details_are_no_emotion():
    """An invalid value under `emotion` counts as no emotion."""
    odd = ("high", 5, {"intensity": "none"}, None)

    assert [emotion_factor(make_memory("x", details={"emotion": one})) for one in odd] == [1.0] * 4


@pytest.mark.parametrize(
    ("fields", "wins"),
    [
        ({}, True),
        ({"trust": 0.5}, False),
        ({"valid_from": NOON + 100}, False),
        ({"at": NOON - 100}, False),
        ({"conflicts_with": ()}, False),
    ],
)
def test_of_two_that_contradict_the_newer_comes_first(fields, wins):
    """Nobody has decided: both stay, in the places that they have together."""
    old = make_memory("The port is 1.")._replace(id="old", at=NOON, conflicts_with=("new",))
    new = make_memory("The port is 2.")._replace(
        **{"id": "new", "at": NOON + 10, "conflicts_with": ("old",)} | fields
    )
    found = [
        Hit(one, score, ()) for one, score in ((old, 0.9), (make_memory("x"), 0.8), (new, 0.7))
    ]
    answer = finalize_hits(found, 5, automatic=False)
    first = "new" if wins else "old"
    assert answer[0].memory.id == first
    assert {hit.memory.id for hit in answer} == {hit.memory.id for hit in found}
    assert [hit.score for hit in answer] == sorted((hit.score for hit in answer), reverse=True)
