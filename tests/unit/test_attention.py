"""What one conversation has been shown, and what may be shown next."""

import pytest

from reverie.context_window import EMPTY, Block
from reverie.context_window.injection_history import (
    FRESH_FOR,
    INJECTED_FOR,
    MOST,
    Attention,
    overlap,
    replaces,
)
from reverie.testing import NOON, a_memory


def block(names, at=NOON):
    return Block("x", tuple(a_memory("x", id=f"mem_{name}") for name in names), (), at)


@pytest.fixture
def state():
    return Attention("s1")


def test_a_stale_block_is_not_given(state):
    """Older than ten minutes, or from the future: dropped (CC-41; CONSTANTS: 10 min instead of 120
    s).
    """
    assert state.may_give(block("a"), NOON + FRESH_FOR - 1)
    assert not state.may_give(block("a"), NOON + FRESH_FOR)
    assert not state.may_give(block("a"), NOON - 1)
    assert not state.may_give(EMPTY, NOON)


def test_the_same_block_is_not_given_twice_within_90_seconds(state):
    """The very same ids within 90 s are dropped (CC-41)."""
    state.last_given = (frozenset({"mem_a"}), NOON)

    assert not state.may_give(block("a", NOON + 89), NOON + 89)
    assert not state.may_give(block("a", NOON + 179), NOON + 179)  # it is also similar
    assert state.may_give(block("a", NOON + 181), NOON + 181)


def test_a_similar_block_is_not_given_within_180_seconds(state):
    """An overlap of ids of 0.8 counts as the same for three minutes (CC-41)."""
    state.last_given = (frozenset(f"mem_{n}" for n in "abcde"), NOON)

    assert not state.may_give(block("abcdx", NOON + 100), NOON + 100)
    assert state.may_give(block("abcxy", NOON + 100), NOON + 100)
    assert state.may_give(block("abcdx", NOON + 180), NOON + 180)


def test_a_clock_that_jumped_back_suppresses_nothing(state):
    """What was given in the future was not given just now."""
    state.last_given = (frozenset({"mem_a"}), NOON + 86_400)

    assert state.may_give(block("a"), NOON)


def test_a_block_of_known_memories_is_dropped(state):
    """If the agent has all of it, there is nothing to give; one new memory is enough (CC-43)."""
    state.given(["mem_a", "mem_b"], NOON)

    assert not state.may_give(block("ab", NOON + 1_000), NOON + 1_000)
    assert state.may_give(block("abc", NOON + 1_000), NOON + 1_000)


def test_what_was_given_blocks_for_45_minutes(state):
    """Then it may be prepared again, and not a second earlier (CC-43, X9)."""
    state.given(["mem_a"], NOON)

    assert state.blocked(NOON + INJECTED_FOR - 1) == {"mem_a"}
    assert state.blocked(NOON + INJECTED_FOR) == set()


def test_a_topic_changes_on_two_turns_in_a_row(state):
    """Below 0.3 twice clears what surfaced, not what was given; once, or without vectors, nothing
    (CC-46, A17).
    """
    state.prepared(block("a"), NOON)
    state.given(["mem_b"], NOON)

    assert [state.topic(s) for s in (0.1, 0.5, 0.1, None, 0.29)] == [False] * 5
    assert state.topic(0.29)
    assert state.blocked(NOON) == {"mem_b"}
    assert not state.topic(0.1)


def test_turn_50_clears_what_surfaced(state):
    """And turn 100, but not what was given (CC-46, A19)."""
    cleared = []
    for turn in range(1, 101):
        state.prepared(block("a"), NOON)
        state.turn()
        if not state.surfaced:
            cleared.append(turn)
    assert cleared == [50, 100]


def test_what_was_never_given_may_come_again(state):
    """A dropped block's memories are free, unless they were given some other way (A16)."""
    state.prepared(block("ab"), NOON)
    state.given(["mem_b"], NOON)
    state.dropped(block("ab"))

    assert state.blocked(NOON) == {"mem_b"}


def test_a_newer_similar_block_does_not_replace_a_fresh_one():
    """While the one that waits is fresh it stays; a stale or different one gives way (CC-41)."""
    assert not replaces(block("abcde"), block("abcd"), NOON)
    assert replaces(block("abcde"), block("abcd", NOON - FRESH_FOR), NOON)
    assert replaces(block("xy"), block("ab"), NOON)
    assert replaces(block("a"), EMPTY, NOON)


def test_an_identical_context_is_skipped_for_30_seconds(state):
    """The same words again at once are not worth another look."""
    seen = [
        state.seen_before(text, NOON + at)
        for text, at in (("a", 0), ("a", 29), ("a", 60), ("b", 61), ("b", 50))
    ]

    assert seen == [False, True, False, False, False]


def test_sets_are_bounded(state):
    """The oldest ids go first (A21)."""
    for n in range(MOST + 10):
        state.given([f"mem_{n}"], NOON)

    assert len(state.injected) == len(state.surfaced) == MOST
    assert "mem_0" not in state.injected and f"mem_{MOST + 9}" in state.injected


def test_overlap_is_the_share_of_the_smaller():
    """Nothing overlaps with nothing."""
    assert overlap(frozenset("abcd"), frozenset("ab")) == 1.0
    assert overlap(frozenset(), frozenset("ab")) == 0.0
