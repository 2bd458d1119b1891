"""What one conversation has been shown, and what may be shown next."""

import pytest

from reverie.context_window import EMPTY_BLOCK, Block
from reverie.context_window.injection_history import (
    FRESH_SECONDS,
    INJECTED_SECONDS,
    MAX_IDS,
    InjectionHistory,
    compute_overlap,
    replaces_waiting_block,
)
from reverie.testing import NOON, make_memory


def block(names, at=NOON):
    return Block("x", tuple(make_memory("x", id=f"mem_{name}") for name in names), (), at)


@pytest.fixture
def state():
    return InjectionHistory("s1")


@pytest.mark.proves("CC-41")
def test_a_stale_block_is_not_given(state):
    """Older than ten minutes, or from the future: dropped."""
    assert state.may_inject(block("a"), NOON + FRESH_SECONDS - 1)
    assert not state.may_inject(block("a"), NOON + FRESH_SECONDS)
    assert not state.may_inject(block("a"), NOON - 1)
    assert not state.may_inject(EMPTY_BLOCK, NOON)


@pytest.mark.proves("CC-41")
def test_the_same_block_is_not_given_twice_within_90_seconds(state):
    """The very same ids within 90 s are dropped."""
    state.last_given = (frozenset({"mem_a"}), NOON)

    assert not state.may_inject(block("a", NOON + 89), NOON + 89)
    assert not state.may_inject(block("a", NOON + 179), NOON + 179)  # it is also similar
    assert state.may_inject(block("a", NOON + 181), NOON + 181)


@pytest.mark.proves("CC-41")
def test_a_similar_block_is_not_given_within_180_seconds(state):
    """An overlap of ids of 0.8 counts as the same for three minutes."""
    state.last_given = (frozenset(f"mem_{n}" for n in "abcde"), NOON)

    assert not state.may_inject(block("abcdx", NOON + 100), NOON + 100)
    assert state.may_inject(block("abcxy", NOON + 100), NOON + 100)
    assert state.may_inject(block("abcdx", NOON + 180), NOON + 180)


def test_a_clock_that_jumped_back_suppresses_nothing(state):
    """What was given in the future was not given just now."""
    state.last_given = (frozenset({"mem_a"}), NOON + 86_400)

    assert state.may_inject(block("a"), NOON)


@pytest.mark.proves("CC-43")
def test_a_block_of_known_memories_is_dropped(state):
    """If the agent has all of it, there is nothing to give; one new memory is enough."""
    state.mark_injected(["mem_a", "mem_b"], NOON)

    assert not state.may_inject(block("ab", NOON + 1_000), NOON + 1_000)
    assert state.may_inject(block("abc", NOON + 1_000), NOON + 1_000)


@pytest.mark.proves("CC-43", "X9")
def test_an_injected_memory_is_blocked_for_45_minutes(state):
    """An injected memory may be prepared again after 45 minutes, and not a second earlier."""
    state.mark_injected(["mem_a"], NOON)

    assert state.list_blocked_ids(NOON + INJECTED_SECONDS - 1) == {"mem_a"}
    assert state.list_blocked_ids(NOON + INJECTED_SECONDS) == set()


@pytest.mark.proves("CC-46", "A17")
def test_a_topic_changes_on_two_turns_in_a_row(state):
    """Below 0.3 twice clears what surfaced, not what was given; once, or without vectors, nothing."""
    state.mark_prepared(block("a"), NOON)
    state.mark_injected(["mem_b"], NOON)

    assert [state.note_similarity(s) for s in (0.1, 0.5, 0.1, None, 0.29)] == [False] * 5
    assert state.note_similarity(0.29)
    assert state.list_blocked_ids(NOON) == {"mem_b"}
    assert not state.note_similarity(0.1)


@pytest.mark.proves("CC-46", "A19")
def test_turn_50_clears_what_surfaced(state):
    """Every 50 turns the candidates that came up are cleared; what was injected is not."""
    cleared = []
    for turn in range(1, 101):
        state.mark_prepared(block("a"), NOON)
        state.count_turn()
        if not state.surfaced:
            cleared.append(turn)
    assert cleared == [50, 100]


@pytest.mark.proves("A16")
def test_memories_of_a_dropped_block_may_come_again(state):
    """A dropped block's memories are free, unless they were given some other way."""
    state.mark_prepared(block("ab"), NOON)
    state.mark_injected(["mem_b"], NOON)
    state.mark_dropped(block("ab"))

    assert state.list_blocked_ids(NOON) == {"mem_b"}


@pytest.mark.proves("CC-41")
def test_a_newer_similar_block_does_not_replace_a_fresh_one():
    """While the one that waits is fresh it stays; a stale or different one gives way."""
    assert not replaces_waiting_block(block("abcde"), block("abcd"), NOON)
    assert replaces_waiting_block(block("abcde"), block("abcd", NOON - FRESH_SECONDS), NOON)
    assert replaces_waiting_block(block("xy"), block("ab"), NOON)
    assert replaces_waiting_block(block("a"), EMPTY_BLOCK, NOON)


def test_an_identical_context_is_skipped_for_30_seconds(state):
    """The same words again at once are not worth another look, though the user says them."""
    seen = []
    for text, at in (("a", 0), ("a", 29), ("a", 60), ("b", 61), ("b", 50)):
        state.note_user_words()
        seen.append(state.is_repeated_context(text, NOON + at))

    assert seen == [False, True, False, False, False]


def test_words_are_looked_for_again_only_when_the_user_speaks(state):
    """While tools run for an hour the user's last words stay the same, and so does the answer."""
    seen = [state.is_repeated_context("a", NOON + at) for at in (0, 40, 3_600)]
    state.note_user_words()

    assert [*seen, state.is_repeated_context("a", NOON + 3_700)] == [False, True, True, False]


@pytest.mark.proves("A21")
def test_sets_are_bounded(state):
    """Sets of ids are bounded; the oldest ids are dropped first."""
    for n in range(MAX_IDS + 10):
        state.mark_injected([f"mem_{n}"], NOON)

    assert len(state.injected) == len(state.surfaced) == MAX_IDS
    assert "mem_0" not in state.injected and f"mem_{MAX_IDS + 9}" in state.injected


def test_overlap_is_the_share_of_the_smaller():
    """Overlap is the share of the smaller set; an empty set overlaps with nothing."""
    assert compute_overlap(frozenset("abcd"), frozenset("ab")) == 1.0
    assert compute_overlap(frozenset(), frozenset("ab")) == 0.0
