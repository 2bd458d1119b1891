"""Condensing random legal conversations of both shapes: the result is legal, in order, and
otherwise unchanged.
"""

import copy
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.context_window.condensing.condense_strategies import STRATEGIES
from reverie.context_window.condensing.summary_draft import (
    KEPT_MESSAGES,
    draft_condensing,
    finish_condensing,
    fit_summary_lines,
)
from reverie.context_window.condensing.summary_lines import MARK, NOTE
from reverie.context_window.conversation_summary import (
    COOLDOWN_SECONDS,
    MIN_MESSAGES,
    explain_too_early,
)
from reverie.context_window.provider_messages import (
    has_strict_turns,
    list_answered_ids,
    list_call_ids,
)
from reverie.context_window.window_fitting import FitRequest, fit_messages
from reverie.text.host_messages import role_of
from reverie.text.injection_fence import FENCE_END
from tests.context_window.test_pruning_properties import NOON, conversations, legal

wishes = st.tuples(st.integers(300, 6_000), st.sampled_from(sorted(STRATEGIES))).map(
    lambda drawn: FitRequest(drawn[0], strategy=drawn[1])
)


def condensed(messages, wish, now=NOON):
    made = draft_condensing(messages, wish, now)
    return finish_condensing(made, fit_summary_lines(made, made.lines), "words")


def weight(messages):
    return fit_messages(messages, FitRequest(10**9), NOON).plan.before


def is_own(message):
    return isinstance(message.get("content"), str) and (
        message["content"] == NOTE or message["content"].startswith(MARK)
    )


@given(conversations, wishes)
@pytest.mark.proves("C101", "C102", "C103", "C104", "C105")
def test_a_condensed_conversation_is_legal(messages, wish):
    """No call without its result, roles in an order that providers take, the first message the
    user's.
    """
    before = copy.deepcopy(messages)
    made = condensed(messages, wish)
    assert before == messages
    if legal(messages):
        assert legal(made.messages)
    roles = [role_of(m) for m in made.messages if role_of(m) not in ("system", "developer")]
    assert "user" == roles[0]
    if has_strict_turns(messages):
        assert all(a != b for a, b in pairwise(roles))


@given(conversations, wishes)
@pytest.mark.proves("CC-70")
def test_order_is_kept_and_the_last_ten_stay_word_for_word(messages, wish):
    """The order of what stays is the original one; the last ten, system and first question stay."""
    made = condensed(messages, wish)
    assert list(made.origin) == sorted(made.origin) and len(made.origin) == len(made.messages)
    own = [message for message in made.messages if not any(message is one for one in messages)]
    lines = [message for message in own if not is_own(message)]
    assert all("moved to memory" in str(message["content"]) for message in lines)
    assert sum(map(is_own, own)) <= 2
    kept = {id(message) for message in made.messages}
    assert all(id(message) in kept for message in messages[-KEPT_MESSAGES:])
    assert all(id(m) in kept for m in messages if role_of(m) in ("system", "developer"))
    assert id(next(m for m in messages if role_of(m) == "user")) in kept


@given(conversations, wishes)
@pytest.mark.proves("CC-70")
def test_a_condensed_conversation_is_within_its_target_or_says_why_not(messages, wish):
    """The compressed size is at most 70 % of the limit, summary included, or the result says why
    not.
    """
    made = condensed(messages, wish)
    assert made.after == weight(made.messages) <= made.before == weight(messages)
    assert made.goal == int(0.7 * wish.limit)
    assert bool(made.trouble) == (made.after > made.goal)
    assert bool(made.why) == (not made.done) and (made.done or made.messages == messages)


@given(conversations, wishes)
@pytest.mark.proves("C103")
def test_a_second_time_takes_the_first_summary_in(messages, wish):
    """There is never more than one summary, and the new one stands for all that left."""
    once = condensed(messages, wish)
    more = [
        {"role": "assistant" if n % 2 else "user", "content": f"and then something{n} " * 30}
        for n in range(12)
    ]
    again = condensed(
        [*once.messages, *(more if role_of(once.messages[-1]) == "assistant" else more[1:])], wish
    )
    summaries = [m.get("content") for m in again.messages if is_own(m) and m["content"] != NOTE]
    assert len(summaries) <= 1 and all(text.endswith(FENCE_END) for text in summaries)
    if has_strict_turns(once.messages):
        roles = [role_of(m) for m in again.messages if role_of(m) not in ("system", "developer")]
        assert all(a != b for a, b in pairwise(roles))
    asked = set().union(*map(list_call_ids, again.messages))
    assert asked >= set().union(*map(list_answered_ids, again.messages))


@given(
    st.integers(1, 300_000),
    st.integers(1, 200_000),
    st.integers(0, 50),
    st.floats(0, 2_000),
    st.floats(0.1, 1.0),
)
@pytest.mark.proves("CC-69", "C98", "C99")
def test_condensing_is_due_by_exactly_three_rules(used, limit, messages, ago, full):
    """From the threshold on, from ten messages on, five minutes after the last time."""
    expected = used >= full * limit and messages >= MIN_MESSAGES and ago >= COOLDOWN_SECONDS
    due = not explain_too_early(used, limit, messages, NOON - ago, NOON, full)
    assert expected == due or abs(ago - COOLDOWN_SECONDS) < 1e-3
