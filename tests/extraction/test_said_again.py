"""What the user says in session after session becomes a candidate that says so, once."""

import pytest

from reverie.context_window.injection_block import render_line
from reverie.core.kinds import SAID_AGAIN


def say(mind, number, text, before="The commit hook complained about the formatting."):
    mind.learn(
        [
            {"role": "user", "content": "please commit the parser work of this afternoon"},
            {"role": "assistant", "content": before},
            {"role": "user", "content": text, "at": 1_000_000.0 + 90_000 * number},
        ],
        space="me/demo",
        session=f"s{number}",
    )
    mind.settle()


def candidates(mind):
    return [one for one in mind.browse(space="me/demo") if one.details.get(SAID_AGAIN)]


@pytest.mark.parametrize(
    "wish",
    [
        "no verify",
        "I'll run the app myself",
        "用中文",
        "アプリは自分で起動します",
        "die App starte ich selbst",
    ],
)
def test_a_wish_of_three_sessions_becomes_a_candidate(mind, wish):
    for number in range(2):
        say(mind, number, wish)
    assert not candidates(mind)
    say(mind, 2, wish)
    (one,) = candidates(mind)
    assert wish.casefold() in one.text.casefold()
    assert (one.provenance, one.strength, one.speaker) == ("inferred", 3, "user")
    assert set(one.sources) == {"s0", "s1", "s2"}
    assert one.messages == (2, 2)
    assert {again.message for again in one.reinforcements} == {2}
    assert "3 sessions" in one.details["because"]


def test_each_further_session_makes_it_stronger_and_adds_nothing(mind):
    for number in range(5):
        say(mind, number, "no verify")
    (one,) = candidates(mind)
    assert one.strength == 5
    assert len(one.sources) == 5
    say(mind, 5, "no verify; no verify")
    assert candidates(mind)[0].strength == 6


def test_sessions_that_were_all_learned_before_they_are_settled_count(mind):
    for number in range(4):
        mind.learn(
            [
                {
                    "role": "assistant",
                    "content": "The commit hook complained about the formatting.",
                },
                {"role": "user", "content": "no verify"},
            ],
            space="me/demo",
            session=f"s{number}",
        )
    mind.settle()
    (one,) = candidates(mind)
    assert one.strength == 4


@pytest.mark.parametrize(
    "remark",
    [
        "commit and push",
        "continue",
        "fix it",
        "ok",
        "why does the build fail?",
        "start working on task 7",
        "go ahead and fix these issues",
        "don't do that",
        "コミットして",
        "继续",
    ],
)
def test_commands_questions_and_small_talk_become_nothing(mind, remark):
    for number in range(4):
        say(mind, number, remark)
    assert not candidates(mind)


def test_the_same_thing_wished_and_forbidden_is_not_one_wish(mind):
    for number, wish in enumerate(["use redis", "don't use redis", "please use redis"]):
        say(mind, number, wish)
    assert not candidates(mind)


def test_one_session_that_says_it_often_is_one_session(mind):
    said = {"role": "user", "content": "no verify"}
    answer = {"role": "assistant", "content": "The commit hook complained about the formatting."}
    mind.learn([answer, said] * 5, space="me/demo", session="s1")
    mind.settle()
    assert not candidates(mind)


def test_another_project_does_not_count(mind):
    for number, space in enumerate(("me/demo", "me/demo", "me/other")):
        mind.learn(
            [
                {
                    "role": "assistant",
                    "content": "The commit hook complained about the formatting.",
                },
                {"role": "user", "content": "no verify"},
            ],
            space=space,
            session=f"s{number}",
        )
    mind.settle()
    assert not candidates(mind)


def test_what_was_forgotten_stays_forgotten(mind):
    for number in range(3):
        say(mind, number, "no verify")
    (one,) = candidates(mind)
    mind.forget([one.id])
    say(mind, 3, "no verify")
    assert not candidates(mind)


def test_its_line_says_in_how_many_sessions_it_was_said(mind):
    for number in range(3):
        say(mind, number, "I'll run the app myself")
    assert "said in 3 sessions" in render_line(candidates(mind)[0], mind.work.now)


def test_wishes_in_other_words_count_without_spaces_between_words_too(mind):
    for number, wish in enumerate(["用中文", "用中文再次解释", "请用中文说明这个"]):
        say(mind, number, wish)
    found = [one for one in mind.browse(space="me/demo") if "用中文" in one.text]
    assert max(one.strength for one in found) == 3


def test_a_template_of_a_host_is_nobodys_wish(mind):
    text = (
        "Implement the plan as specified, it is attached for your reference. Do NOT edit the plan "
        "file itself. Do not create the list of tasks anew, and mark them while you work on them."
    )
    for number in range(4):
        say(mind, number, text)
    assert not candidates(mind)
