"""Bounded priors, the gate, diversity."""

import pytest

from reverie.core.model import Hit
from reverie.retrieval.rescoring import (
    SHOW,
    distinct,
    emotion,
    gate,
    prior,
    settled,
    shaped,
    surfaces,
)
from reverie.testing import NOON, a_memory

GATES = [
    ([0.0163, 0.0161, 0.0100, 0.0098, 0.0097], 5, 2),
    ([0.0200, 0.0100, 0.0090], 5, 1),
    ([0.0160] * 8, 5, 5),
    ([], 5, 0),
    ([0.9, 0.88, 0.7], 0, 0),
    ([1.0, 0.94], 5, 1),
    ([1.0, 0.96, 0.92, 0.89], 5, 3),
]


@pytest.mark.parametrize(("scores", "most", "kept"), GATES)
def test_the_gate_keeps_what_stands_out(scores, most, kept):
    """The documents' own cases (CC-27, X6)."""
    assert gate(scores, most) == kept


def hits(*scores, **fields):
    return [
        Hit(a_memory(f"memory {n}", **fields), score, ("words",)) for n, score in enumerate(scores)
    ]


def test_automatic_hits_need_a_chance():
    """Nothing surfaces by itself below even odds; who asks gets all (A2, A54)."""
    low = hits(SHOW - 0.01, SHOW - 0.02)

    assert settled(low, 5, automatic=True) == []
    assert settled(low, 5, automatic=False) == low
    assert settled(hits(0.9), 5, automatic=True)


def test_what_stands_beside_the_best_comes_along():
    """A turn that needs one memory may need others nearly as likely, never those far below (X6)."""
    found = hits(0.7, 0.6, 0.45, 0.1)

    assert settled(found, 5, automatic=True) == found[:2]
    assert settled(found, 1, automatic=True) == found[:1]


def test_what_a_trigger_called_up_opens_nothing_for_others():
    """It surfaces whatever its neighbours' chances are, and changes nothing for them (A105)."""
    met = Hit(a_memory("never do it"), 0.97, ("trigger 'do'",))
    low, high = hits(0.3)[0], hits(0.6)[0]

    assert settled([met, low], 5, automatic=True) == [met]
    assert settled([met, high], 5, automatic=True) == [met, high]


def test_trust_use_and_feeling_move_within_bounds():
    """What is trusted, proven, recent and felt comes before its equal (B57, A36, B55)."""
    plain = a_memory("x", provenance="observed")
    better = [
        plain._replace(trust=1.0, confidence=1.0),
        plain._replace(strength=5),
        plain._replace(last_accessed_at=NOON),
        plain._replace(details={"emotion": {"intensity": "high"}}),
    ]

    assert all(prior(plain, NOON) < prior(memory, NOON) <= 1.25**5 for memory in better)
    assert prior(plain._replace(confidence=0.0), NOON) >= 0.6 * prior(plain, NOON)


def test_equal_hits_stand_in_order_of_id():
    """Ties break by id (CC-32)."""
    found = hits(0.5, 0.5, 0.5)

    assert [h.memory.id for h in shaped(found[::-1], NOON)] == [h.memory.id for h in found]


def test_the_same_words_appear_once():
    """Letter case and white space apart (CC-49)."""
    found = [Hit(a_memory(text), 0.9) for text in ("The heron", "the  HERON", "the crane")]

    assert [h.memory.text for h in distinct(found)] == ["The heron", "the crane"]


def test_what_surfaces_unasked():
    """Not a scratch pad, and not what is not yet or no longer true."""
    memory = a_memory("x")

    assert surfaces(memory, NOON)
    assert not surfaces(a_memory("x", kind="scratch"), NOON)
    assert not surfaces(memory._replace(valid_from=NOON + 1), NOON)
    assert not surfaces(memory._replace(valid_to=NOON), NOON)


def test_odd_details_are_no_emotion():
    """Whatever stands under that name."""
    odd = ("high", 5, {"intensity": "none"}, None)

    assert [emotion(a_memory("x", details={"emotion": one})) for one in odd] == [1.0] * 4
