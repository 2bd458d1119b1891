"""The context window over random legal conversations of all shapes: what stays is legal, and the
same.
"""

import copy
from itertools import pairwise, takewhile

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reverie.context_window.provider_messages import (
    has_strict_turns,
    list_answered_ids,
    list_call_ids,
)
from reverie.context_window.pruning_strategies import STRATEGIES
from reverie.context_window.window_fitting import FitRequest, PriorFit, fit_messages
from reverie.text.host_messages import item_type_of, role_of

NOON = 1_760_000_000.0
words = st.integers(1, 400).map(lambda n: " ".join(f"word{i % 17}x{n % 29}" for i in range(n)))

PICTURES = (
    {"type": "image", "source": {"type": "base64", "data": "iVBO" * 99}},
    {"type": "image_url", "image_url": {}},
    {"type": "document", "source": {"type": "base64", "data": "JVBE" * 99}, "title": "Tender"},
)
parts = (
    words.map(lambda text: {"type": "text", "text": text})
    | st.sampled_from(PICTURES)
    | words.map(lambda text: {"type": "document", "source": {"type": "text", "data": text}})
)
contents = words | st.lists(parts, min_size=1, max_size=3)


@st.composite
def openai(draw):
    """A conversation in OpenAI's shape: calls answered in any order, ids perhaps missing or the
    same again.
    """
    found = [
        {"role": draw(st.sampled_from(["system", "developer"])), "content": draw(words)}
    ] * draw(st.integers(0, 1))
    for n in range(draw(st.integers(1, 9))):
        found += [
            {"role": "user", "content": draw(contents)} for _ in range(draw(st.integers(1, 2)))
        ]
        for m in range(draw(st.integers(0, 3))):
            name = draw(st.sampled_from(["", "call", f"call{n}.{m}.{{}}"]))
            ids = [name.format(k) for k in range(draw(st.integers(1, 3)))]
            found.append(
                {
                    "role": "assistant",
                    "content": draw(st.none() | words),
                    "tool_calls": [
                        {
                            **({"id": id} if id else {}),
                            "type": "function",
                            "function": {"name": "read", "arguments": '{"path": "a.py"}'},
                        }
                        for id in ids
                    ],
                }
            )
            found += [
                {"role": "tool", **({"tool_call_id": id} if id else {}), "content": draw(words)}
                for id in draw(st.permutations(ids))
            ]
        found.append({"role": "assistant", "content": draw(words)})
    return found


@st.composite
def anthropic(draw):
    """A conversation in Anthropic's shape: roles take turns strictly, results come in the next user
    message.
    """
    found = [{"role": "user", "content": draw(contents)}]
    for n in range(draw(st.integers(1, 14))):
        if draw(st.booleans()):
            ids = [f"toolu{n}.{k}" for k in range(draw(st.integers(1, 3)))]
            said = [{"type": "text", "text": draw(words)}] * draw(st.integers(0, 1))
            found.append(
                {
                    "role": "assistant",
                    "content": [
                        *said,
                        *(
                            {
                                "type": "tool_use",
                                "id": id,
                                "name": "Read",
                                "input": {"file": "a.py"},
                            }
                            for id in ids
                        ),
                    ],
                }
            )
            more = [{"type": "text", "text": draw(words)}] * draw(st.integers(0, 1))
            found.append(
                {
                    "role": "user",
                    "content": [
                        *(
                            {"type": "tool_result", "tool_use_id": id, "content": draw(contents)}
                            for id in ids
                        ),
                        *more,
                    ],
                }
            )
        else:
            found.append({"role": "assistant", "content": [{"type": "text", "text": draw(words)}]})
            found.append({"role": "user", "content": draw(contents)})
    return found


@st.composite
def responses(draw):
    """Items of OpenAI's Responses: calls side by side, some after what was thought and said,
    answers in any order.
    """
    found = [{"role": "user", "content": draw(words)}]
    for n in range(draw(st.integers(1, 14))):
        if draw(st.booleans()):
            found += [
                {"type": "reasoning", "id": f"rs{n}", "summary": [], "encrypted_content": "x" * 80}
            ]
        said = {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": draw(words)}],
        }
        if draw(st.booleans()):
            found += [said] * draw(st.integers(0, 1))
            ids = [f"call{n}.{k}" for k in range(draw(st.integers(1, 3)))]
            found += [
                {"type": "function_call", "call_id": id, "name": "run", "arguments": "{}"}
                for id in ids
            ]
            found += [
                {"type": "function_call_output", "call_id": id, "output": draw(contents)}
                for id in draw(st.permutations(ids))
            ]
        else:
            found += [said, {"role": "user", "content": draw(contents)}]
    return found


conversations = openai() | anthropic() | responses()
wishes = st.tuples(st.integers(50, 6_000), st.sampled_from(sorted(STRATEGIES))).map(
    lambda drawn: FitRequest(drawn[0], strategy=drawn[1])
)


def legal(messages):
    """Whether a provider takes it: each call is answered at once and in full, and no answer lacks
    its call.
    """
    open: list[str] = []
    for message in messages:
        came, made = list_answered_ids(message), list_call_ids(message)
        if open and not came and not (made and item_type_of(message)):
            return False
        for answer in came:
            if answer not in open:
                return False
            open.remove(answer)
        open += made
    return not open


def rests(messages):
    """What each thought is followed by, up to where the user or a tool speaks: neither is taken
    without the other.
    """
    found = {}
    for place, message in enumerate(messages):
        if item_type_of(message) == "reasoning":
            rest = list(takewhile(lambda one: role_of(one) == "assistant", messages[place + 1 :]))
            found[message["id"]] = [(one.get("type"), one.get("call_id")) for one in rest]
    return found


@given(conversations, wishes)
def test_what_stays_is_legal_and_in_order(messages, wish):
    """No call without its result or what was thought, roles in order, the first
    message the user's.
    """
    assume(legal(messages))
    before = copy.deepcopy(messages)
    fitted = fit_messages(messages, wish, NOON)
    assert before == messages
    assert legal(fitted.messages)
    roles = [role_of(m) for m in fitted.messages if role_of(m) not in ("system", "developer")]
    assert "user" == roles[0]
    there = rests(messages)
    assert all(rest[: len(there[id])] == there[id] for id, rest in rests(fitted.messages).items())
    if has_strict_turns(messages):
        assert all(a != b for a, b in pairwise(roles))


@given(conversations, wishes)
def test_what_stays_is_the_same_objects(messages, wish):
    """The messages that stay are those that were given, but for answers that
    became a line.
    """
    fitted = fit_messages(messages, wish, NOON)
    lines = {place for one in fitted.plan.going if one.stub for place in one.item.messages}
    gone = {place for one in fitted.plan.going if not one.stub for place in one.item.messages}
    kept = [place for place in range(len(messages)) if place not in gone]
    assert len(kept) == len(fitted.messages)
    for place, message in zip(kept, fitted.messages, strict=True):
        assert message is messages[place] or (
            place in lines
            and {**message, "content": 0, "output": 0}
            == {**messages[place], "content": 0, "output": 0}
        )


@given(conversations, wishes)
@pytest.mark.proves("CC-78", "D51")
def test_tokens_add_up(messages, wish):
    """Below 80 % nothing goes; else 70 % is reached, or everything that may go has gone."""
    fitted = fit_messages(messages, wish, NOON)
    plan = fitted.plan
    again = fit_messages(fitted.messages, wish._replace(limit=10**9), NOON).plan.before
    assert plan.after == again == plan.before - sum(one.tokens for one in plan.going)
    if plan.before < 0.8 * wish.limit:
        assert () == plan.going and fitted.messages == messages
    assert bool(plan.trouble) == (plan.after > wish.limit)
    assert all(not one.item.sticky for one in plan.going)


@given(conversations, st.integers(200, 4_000), st.integers(1, 6))
@pytest.mark.slow
def test_passing_everything_again_changes_nothing_more(messages, limit, step):
    """A host that passes its whole conversation at each call gets the same beginning, as long as
    nothing more goes.
    """
    wish, before = FitRequest(limit), PriorFit()
    last: list[object] = []
    for end in range(step, len(messages) + 1, step):
        fitted = fit_messages(messages[:end], wish, NOON, before=before)
        if not fitted.plan.going:
            assert last == fitted.messages[: len(last)]
        last, before = fitted.messages, fitted.before


@given(
    st.lists(
        st.one_of(
            st.none(),
            st.text(),
            st.dictionaries(
                st.sampled_from(["role", "content", "type", "tool_calls", "tool_call_id"]),
                st.none() | st.text() | st.lists(st.dictionaries(st.text(), st.text())),
            ),
        ),
        max_size=20,
    ),
    wishes,
)
def test_anything_is_taken(messages, wish):
    """What is of no known shape stays where it is."""
    fitted = fit_messages(messages, wish, NOON)
    unknown = [
        m
        for m in messages
        if not isinstance(m, dict)
        or m.get("role", "user") not in ("user", "assistant", "system", "developer")
    ]
    assert all(any(m is kept for kept in fitted.messages) for m in unknown)


@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_reaches_its_mark(name):
    """Any strategy brings a long chat down to 70 %, and not far below."""
    chat = [
        {"role": ("user", "assistant")[n % 2], "content": f"line {n} " + "word " * 40}
        for n in range(200)
    ]
    plan = fit_messages(chat, FitRequest(limit=10_000, strategy=name), NOON).plan
    assert 0.6 * 10_000 < plan.after <= 7_000
