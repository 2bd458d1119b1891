# mypy: no-check-untyped-defs
"""The interval holds the true difference about as often as it says, whatever the figures are like."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.holdout.difference import estimate_difference

COUNTS = st.lists(st.integers(0, 50), min_size=2, max_size=30)


@pytest.mark.parametrize("kind", ["poisson", "negative_binomial", "lognormal", "rare"])
def test_the_true_difference_lies_within_about_as_often_as_said(kind):
    drawn = np.random.default_rng(7)
    draw = {
        "poisson": lambda n: drawn.poisson(1.0, n),
        "negative_binomial": lambda n: drawn.negative_binomial(0.7, 0.3, n),
        "lognormal": lambda n: drawn.lognormal(8, 1.2, n),
        "rare": lambda n: drawn.poisson(0.15, n),
    }[kind]
    found = [estimate_difference(list(draw(60)), list(draw(20))) for _ in range(200)]
    assert 0.89 <= sum(one.low <= 0 <= one.high for one in found) / 200 <= 1


def test_a_difference_that_is_there_is_found():
    drawn = np.random.default_rng(7)
    found = [
        estimate_difference(list(drawn.poisson(0.5, 100)), list(drawn.poisson(2.0, 30)))
        for _ in range(50)
    ]
    assert sum(one.is_clear and one.by < 0 for one in found) >= 47


@given(COUNTS, COUNTS)
def test_the_interval_holds_the_difference_and_is_always_the_same(one, other):
    found = estimate_difference(one, other)
    assert found == estimate_difference(one, other)
    assert found.low <= found.by <= found.high
    assert found.by == pytest.approx(np.mean(one) - np.mean(other))


def test_figures_without_spread_have_no_interval():
    found = estimate_difference([2.0, 2.0], [1.0, 1.0, 1.0])
    assert (found.low, found.by, found.high) == (1.0, 1.0, 1.0)
