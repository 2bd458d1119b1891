"""The table of kinds, and fading."""

import pytest

from reverie.core.kinds import (
    DAY,
    FOREVER,
    GROUPS,
    KINDS,
    MEMORY_TYPES,
    half_life,
    kind_of,
    retention,
)
from reverie.testing import NOON, make_memory

NAMED = {
    "correction": 365,
    "preference": 90,
    "procedure": 60,
    "entity": 60,
    "fact": 30,
    "observation": 7,
    "event": 14,
    "negative": 365,
    "knowledge": 180,
    "intention": FOREVER,
    "note": 45,
    "scratch": 1 / 24,
}


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.proves("A28", "A41", "B46")
def test_every_row_is_complete(name):
    """A type of the six, a heading, a meaning, a half-life."""
    row = KINDS[name]

    assert (row.name, row.type in MEMORY_TYPES, row.group in GROUPS) == (name, True, True)
    assert row.half_life > 0 and row.meaning


@pytest.mark.proves("C1", "C4", "C5")
def test_all_six_types_have_a_kind():
    """Working, episodic, semantic, procedural, prospective, emotional: rows of one table, one
    store.
    """
    assert {row.type for row in KINDS.values()} == set(MEMORY_TYPES)


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.proves("CC-50", "A71", "A72", "A73", "A74")
def test_half_lives_are_true_half_lives(name):
    """At the age of its half-life a memory that nobody used is half as present."""
    memory = make_memory("x", kind=name)

    assert half_life(memory) == NAMED[name]
    if NAMED[name] != FOREVER:
        assert retention(memory, NOON + NAMED[name] * DAY) == pytest.approx(0.5)


@pytest.mark.proves("B58")
def test_an_inference_fades_within_days():
    """Whatever its kind says."""
    assert half_life(make_memory("x", kind="correction", provenance="inferred")) == 7
    assert half_life(make_memory("x", kind="scratch", provenance="inferred")) == 1 / 24


@pytest.mark.proves("CC-51", "B59")
def test_use_strengthens_up_to_one():
    """1 + 0.1·ln(n + 1), never above 1; age counts from the last use."""
    memory = make_memory("x", kind="fact")
    used = memory._replace(access_count=9)
    lately = memory._replace(last_accessed_at=NOON + 29 * DAY)

    assert retention(used, NOON + 30 * DAY) == pytest.approx(0.5 * (1 + 0.1 * 2.302585), rel=1e-6)
    assert retention(used, NOON) == 1.0
    assert retention(lately, NOON + 30 * DAY) > 0.97


def test_a_kind_of_ones_own_behaves_like_custom():
    """An unknown kind fades in 45 days and is rendered last."""
    assert kind_of("recipe").half_life == 45
    assert kind_of("recipe").group == GROUPS[-1]
