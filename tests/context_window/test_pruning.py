"""What is pruned from a full window: the formula, what always stays, the line that replaces a long
result.
"""

import pytest

from reverie.context_window.context_items import TYPE_WEIGHTS, ContextItem
from reverie.context_window.provider_messages import MessageFacts, split_context_items
from reverie.context_window.pruning import PruningGoal, plan_pruning
from reverie.context_window.pruning_strategies import STRATEGIES, score_relevance
from reverie.context_window.stub_lines import MOVED
from reverie.context_window.window_fitting import NO_PRIOR_FIT, FitRequest, fit_messages
from reverie.core.errors import BadInput
from reverie.testing import NOON
from reverie.text.token_counts import QuarterEstimate, estimate_tokens


def an_item(place=0, type="user_message", minutes=0.0, tokens=100, **more):
    return ContextItem(
        str(place), (place,), type, f"text {place}", tokens, NOON - 60 * minutes, **more
    )


def said(role, text, **more):
    return {"role": role, "content": text, **more}


def chat(count, words=40):
    """Question and answer in turn, each of about the same length."""
    return [
        said(("user", "assistant")[n % 2], f"line {n} about topic{n} " + "word " * words)
        for n in range(count)
    ]


@pytest.mark.proves("D42", "D43", "D44", "D67", "X32")
def test_relevance_is_the_formula():
    """1.0 × 2^(−minutes/60) × 2.0 for the task × type × (1 + 0.2 · dependants)."""
    assert 1.5 == score_relevance(an_item(), NOON)
    assert 0.75 == score_relevance(an_item(minutes=60), NOON)
    assert 0.375 == score_relevance(an_item(minutes=120), NOON)
    assert 3.0 == score_relevance(an_item(task="a"), NOON, "a")
    assert (
        1.5 == score_relevance(an_item(task="a"), NOON, "b") == score_relevance(an_item(), NOON, "")
    )
    assert 1.5 * 1.6 == pytest.approx(score_relevance(an_item(), NOON, dependants=3))
    assert 1.5 == score_relevance(
        an_item(minutes=-5), NOON
    )  # a clock that jumped back makes nothing more relevant


@pytest.mark.parametrize(
    ("type", "weight"),
    [
        ("system_prompt", 100.0),
        ("task_state", 2.0),
        ("user_message", 1.5),
        ("assistant_message", 1.2),
        ("tool_result", 0.8),
        ("code_snippet", 0.7),
        ("graph_result", 0.6),
        ("something else", 1.0),
    ],
)
@pytest.mark.proves("D45", "D46", "D47", "D48", "D49", "D50")
def test_types_weigh_as_the_document_says(type, weight):
    """Each type of item has its weight; a type that the table does not know weighs 1."""
    assert weight == score_relevance(an_item(type=type), NOON) == TYPE_WEIGHTS.get(type, 1.0)


@pytest.mark.proves("CC-78")
def test_items_go_in_the_order_of_the_formula():
    """Least relevant first, until 70 % of the limit is left and not further; sticky and system
    never.
    """
    items = [
        an_item(0, "system_prompt", 600, sticky="system"),
        an_item(1, minutes=300, sticky="marked"),
        an_item(2, minutes=10),
        an_item(3, "code_snippet", 10),
        an_item(4, "tool_result", 10),
        an_item(5, minutes=130),
        an_item(6, "tool_result", 10),
        an_item(7),
        an_item(8),
        an_item(9),
    ]
    made = plan_pruning(items, PruningGoal(1_000, NOON, strategy="aircher"))
    assert ["3", "4", "5"] == sorted(one.item.id for one in made.going)
    assert (1_000, 700) == (made.before, made.after)
    assert sorted(one.worth for one in made.going) == sorted(made.worth[2:])[:3]
    assert all(one.why for one in made.going)


@pytest.mark.proves("X32", "CC-78")
def test_messages_that_later_ones_refer_to_stay():
    """A message that brought up a name which later ones use is worth more by the formula."""

    def told(n):
        return f"note {n}: " + (
            "port_7443 is heron's" if n == 12 else "port_7443 again" if n > 44 else "as it was"
        )

    messages = [
        said("user", "go"),
        *(said("assistant", told(n) + " word" * 40, at=NOON) for n in range(1, 50)),
    ]
    kept = fit_messages(messages, FitRequest(1_500, strategy="aircher"), NOON).messages
    assert any(m is messages[12] for m in kept)
    assert not any(m is messages[11] or m is messages[13] for m in kept)


@pytest.mark.proves("D51", "D66")
def test_nothing_goes_below_eighty_percent():
    """80 % of the limit is where it begins, so that an answer has room."""
    items = [an_item(n) for n in range(10)]
    assert () == plan_pruning(items, PruningGoal(1_251, NOON)).going
    assert plan_pruning(items, PruningGoal(1_250, NOON)).going


def test_a_plan_that_cannot_fit_says_so():
    """When even what has to stay is too much, the plan says what to do."""
    items = [
        an_item(0, "system_prompt", tokens=900, sticky="system"),
        an_item(1),
        an_item(2, sticky="newest"),
    ]
    made = plan_pruning(items, PruningGoal(500, NOON))
    assert (["1"], 1_000, False) == ([one.item.id for one in made.going], made.after, made.fits)
    assert "takes 1,000 tokens and the limit is 500: raise the limit" in made.trouble


@pytest.mark.parametrize(
    ("limit", "strategy"),
    [
        (0, "ours"),
        (-5, "ours"),
        ("4000", "ours"),
        (None, "ours"),
        (float("nan"), "ours"),
        (float("inf"), "ours"),
        (True, "ours"),
        (100, "nonsense"),
        (100, None),
        (100, ["ours"]),
    ],
)
def test_an_invalid_limit_or_strategy_is_refused(limit, strategy):
    """An invalid limit or strategy is an error that says what to do."""
    with pytest.raises(BadInput):
        fit_messages(chat(3), FitRequest(limit, strategy=strategy), NOON)


@pytest.mark.parametrize("given", ["text", {"role": "user"}, None, 5])
def test_what_is_no_list_of_messages_is_refused(given):
    with pytest.raises(BadInput, match="list of messages"):
        fit_messages(given, FitRequest(100), NOON)


def test_questions_first_and_last_and_the_newest_stay():
    """The task as it was set, what was asked last, and the newest messages are
    never taken.
    """
    messages = [said("system", "Be brief."), *chat(40), *[said("assistant", "word " * 60)] * 30]
    fitted = fit_messages(messages, FitRequest(1_000), NOON)
    kept = {id(message) for message in fitted.messages}
    assert {id(m) for m in (messages[0], messages[1], messages[39], *messages[-4:])} <= kept
    assert len(fitted.messages) < len(messages)


@pytest.mark.proves("D45", "X32")
def test_what_the_caller_marks_stays():
    """What the caller marks as sticky stays, however full the window is."""
    messages = chat(60)
    fitted = fit_messages(
        messages, FitRequest(1_000, sticky=lambda m: "topic7 " in m["content"]), NOON
    )
    assert any(m is messages[7] for m in fitted.messages) and len(fitted.messages) < 30


@pytest.mark.proves("D44")
def test_the_task_at_hand_stays_longer():
    """What belongs to the task counts double."""
    messages = [
        said("user", "start"),
        *(said("assistant", f"note {n} " + "word " * 40, task="ab"[n % 2]) for n in range(60)),
        said("user", "end"),
    ]
    going = fit_messages(
        messages, FitRequest(3_000, task="a", strategy="aircher"), NOON
    ).leaving_items
    assert {"b"} == {item.task for item in going}


def a_call(id, tool, result):
    call = {"id": id, "function": {"name": tool, "arguments": '{"path": "x.py"}'}}
    return [said("assistant", None, tool_calls=[call]), said("tool", result, tool_call_id=id)]


def test_a_long_result_becomes_a_line_first():
    """The call stays, its result says where it went; the given message is not
    altered.
    """
    messages = [said("user", "read it"), *a_call("c1", "Read", "same line again\n" * 400), *chat(8)]
    fitted = fit_messages(messages, FitRequest(2_200), NOON)
    line = fitted.messages[2]["content"]
    assert ["1-2"] == [one.item.id for one in fitted.plan.going]
    assert line.startswith('[result of Read {"path": "x.py"}, 1,600 tokens') and MOVED in line
    assert (messages[1], "c1") == (fitted.messages[1], fitted.messages[2]["tool_call_id"])
    assert messages[2]["content"].startswith("same line")


def test_the_users_words_are_never_shortened():
    """Only what tools and the assistant answered becomes a line."""
    messages = [
        said("user", "begin"),
        said("assistant", "ok"),
        said("user", "word " * 3_000),
        *chat(8)[1:],
    ]
    going = fit_messages(messages, FitRequest(4_000), NOON).plan.going
    assert all(not one.stub for one in going if one.item.type == "user_message")


def test_an_answer_without_a_call_and_a_call_without_an_answer_stay():
    """What cannot be paired is the host's business."""
    messages = [
        said("user", "go"),
        said("tool", "lost " * 200, tool_call_id="nobody"),
        *a_call("c2", "Run", "x" * 4_000)[:1],
        *chat(12),
    ]
    kept = fit_messages(messages, FitRequest(600), NOON).messages
    assert any(m is messages[1] for m in kept) and any(m is messages[2] for m in kept)


def calls_without_ids(count, parallel=2, **named):
    """Rounds of a question, parallel calls and their answers, as local models give them: no ids, or
    the same again.
    """
    messages = [said("user", "go")]
    for n in range(count):
        call = {"type": "function", "function": {"name": "run", "arguments": "{}"}, **named}
        answer = {"tool_call_id": named["id"]} if named else {}
        messages += [
            said("user", f"round {n} " + "word " * 20),
            said("assistant", None, tool_calls=[call] * parallel),
        ]
        messages += [said("tool", f"answer {n} " + "line " * 30, **answer) for _ in range(parallel)]
    return messages


@pytest.mark.parametrize("named", [{}, {"id": "call_0"}])
def test_parallel_calls_without_ids_leave_with_all_their_answers(named):
    """An answer never stands without its call, also where ids are missing or the
    same again.
    """
    fitted = fit_messages(calls_without_ids(20, **named), FitRequest(1_000), NOON)
    roles = "".join(message["role"][0] for message in fitted.messages)
    assert fitted.plan.going and roles.count("t") == 2 * roles.count("a") == 2 * roles.count("att")


def test_calls_without_ids_that_lack_an_answer_stay():
    """Two calls and one answer are no pair, whatever their ids."""
    messages = [*calls_without_ids(1)[:-1], *chat(30)]
    assert all(
        any(m is kept for kept in fit_messages(messages, FitRequest(600), NOON).messages)
        for m in messages[2:4]
    )


def test_tokens_are_counted_in_full():
    """A tool's input, parallel results and pictures take room too; nothing is cut before it is
    counted.
    """
    parts = [{"type": "tool_use", "id": "t1", "name": "Write", "input": {"content": "y" * 40_000}}]
    answer = [
        {
            "type": "tool_result",
            "tool_use_id": "t1",
            "content": [{"type": "text", "text": "z" * 400_000}],
        },
        {"type": "image", "source": {}},
    ]
    items = split_context_items(
        [said("assistant", parts), said("user", answer)],
        lambda _: MessageFacts(NOON),
        QuarterEstimate(),
    )
    assert 1 == len(items) and 10_000 + 100_000 + 1_500 < items[0].tokens < 10_000 + 100_000 + 1_600


def test_another_tokenizer_counts():
    """Token counts by a pluggable tokenizer."""

    class Words:
        def count(self, text):
            return len(text.split())

    assert 40 == estimate_tokens("word " * 32) != Words().count("word " * 32)
    fitted = fit_messages(chat(10), FitRequest(10**6, tokenizer=Words()), NOON)
    assert 10 * (44 + 4) == fitted.plan.before


def test_the_same_is_taken_out_when_everything_is_passed_again():
    """The prompt's beginning stays the same from call to call, whether a host goes on with what it
    got or not.
    """
    messages = chat(60)
    first = fit_messages(messages, FitRequest(2_000), NOON)
    again = fit_messages(
        [*messages, said("user", "more")], FitRequest(2_000), NOON, before=first.before
    )
    assert first.plan.going and () == again.plan.going
    assert [*first.messages, {"role": "user", "content": "more"}] == again.messages
    other = fit_messages(
        [said("user", "another talk"), *messages[1:]], FitRequest(2_000), NOON, before=first.before
    )
    assert other.plan.going and other.before != NO_PRIOR_FIT


def with_block(messages, n):
    """As a host passes it that puts its block into the last of the user's messages."""
    last = max(place for place, message in enumerate(messages) if message["role"] == "user")
    given = [*messages]
    given[last] = {**messages[last], "content": f"{messages[last]['content']}\n\nblock {n}"}
    return given


def test_a_block_in_the_last_message_does_not_alter_the_beginning():
    """The last question and the last message may differ the next time: what was taken out before is
    still out.
    """
    messages, before = chat(119), NO_PRIOR_FIT
    pruned, last = 0, list[object]()
    for n in range(40):
        fitted = fit_messages(with_block(messages, n), FitRequest(8_000), NOON, before=before)
        pruned += bool(fitted.plan.going)
        assert fitted.plan.going or last[:-1] == fitted.messages[: len(last) - 1]
        last, before = fitted.messages, fitted.before
        messages += [
            said("assistant", f"answer {n} " + "word " * 30),
            said("user", f"question {n} " + "word " * 30),
        ]
    assert 1 < pruned < 8


def test_a_loop_of_calls_under_a_block_does_not_alter_the_beginning():
    """The block stands in the question while tools are called, and no longer when the next one is
    asked.
    """
    messages = chat(59)
    first = fit_messages(with_block(messages, 1), FitRequest(2_000), NOON)
    loop = [
        *messages,
        *a_call("c1", "Run", "fine"),
        *a_call("c2", "Run", "fine"),
        said("assistant", "done"),
    ]
    again = fit_messages(
        [*loop, said("user", "next")], FitRequest(2_000), NOON, before=first.before
    )
    assert first.plan.going and () == again.plan.going
    assert first.messages[:-1] == again.messages[: len(first.messages) - 1]


def test_the_default_strategy_keeps_facts_and_prunes_chatter():
    """Rare words, names that later messages use: of equal length, the message with the
    facts stays.
    """
    chatter = (
        "well that is really nice and it was so good to see you there again today my friend " * 2
    )
    facts = "the staging broker heron listens on port 7443 behind gateway mistral7 with token_ttl of 900 seconds "
    messages = [said("user", "hello")]
    for n in range(30):
        messages += (
            [said("assistant", chatter), said("user", chatter)]
            if n != 9
            else [said("assistant", facts), said("user", chatter)]
        )
    messages.append(said("assistant", "so token_ttl of heron it is"))
    kept = fit_messages(messages, FitRequest(1_800), NOON).messages
    assert any(m["content"] == facts for m in kept)
    assert not any(
        m["content"] == facts
        for m in fit_messages(messages, FitRequest(1_800, strategy="oldest"), NOON).messages
    )


def test_strategies_are_a_table():
    assert {"oldest", "sliding", "importance", "aircher", "ours"} == set(STRATEGIES)
    assert all(row.meaning and row.name == name for name, row in STRATEGIES.items())
