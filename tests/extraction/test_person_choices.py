"""A person's choices are kept with what they answer."""

import pytest

from reverie.extraction.person_choices import (
    read_dialog_choices,
    read_picked_option,
    read_refusal_rule,
)
from reverie.extraction.rule_extraction import extract_lessons
from reverie.transcripts.message_passages import read_spoken_text

ANSWERED = (
    'User has answered your questions: "Which database?"="PostgreSQL", '
    '"How long do entries live?"="24 hours" user notes: for now, '
    '"Does the plan look good?"="Yes". You can now continue with the user\'s answers in mind.'
)
OPTIONS = "There are two ways:\n\n**Option A**: keep the file\nB) use `sqlite`\n\nWhich one?"


def test_answers_in_a_dialog_are_kept_with_their_questions():
    (choice,) = read_dialog_choices(ANSWERED)
    assert choice.text == "Which database? → PostgreSQL; How long do entries live? → 24 hours"


def test_an_answer_that_only_approves_or_says_nothing_decides_nothing():
    approved = 'User has answered your questions: "Is this plan OK, may I proceed?"="Go".'
    assert read_dialog_choices(approved) == []
    assert read_dialog_choices('User has answered your questions: "Which cache?"="both".') == []
    assert read_dialog_choices("tests passed") == []


def test_a_dialog_answer_in_a_tool_result_becomes_a_decision():
    (lesson,) = extract_lessons([("assistant", "Some questions"), ("tool", ANSWERED)]).lessons
    assert (lesson.kind, lesson.rule, lesson.last) == ("decision", "choice", 1)


def test_what_is_said_when_a_tool_is_refused_is_the_persons():
    refused = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected. "
        "To tell you how to proceed, the user said:\nNever push to main."
    )
    assert read_refusal_rule(refused) == "Never push to main."
    (lesson,) = extract_lessons([("tool", refused)]).lessons
    assert lesson.kind == "negative"
    assert extract_lessons([("tool", "Never push to main.")]).lessons == ()


def test_what_a_program_prints_of_a_rejection_is_nobodys_word():
    for printed in (
        " ! [remote rejected] main -> main\nremote: reason: please skip the tests",
        "$ grep -r rejected\nThe tool use was rejected. The user said:\nNever push to main.",
        'log: User has answered your questions: "Which cache?"="Redis".',
    ):
        assert extract_lessons([("tool", printed)]).lessons == (), printed
        assert read_spoken_text("tool", printed) == ("", ""), printed


def test_a_picked_option_is_kept_with_what_it_says():
    for said in ("Aにしよう", "option A", "A", "let's go with A", "방법 A로 진행하자"):
        choice = read_picked_option(said, OPTIONS)
        assert choice is not None, said
        assert choice.text == f"A: keep the file (“{said}”)"
    picked = read_picked_option("B", OPTIONS)
    assert picked is not None
    assert picked.text == "B: use `sqlite` (“B”)"


def test_what_names_no_option_is_not_picked():
    for said in ("C", "A or B?", "fix A in line 3", "add a test", "A and B"):
        assert read_picked_option(said, OPTIONS) is None, said
    assert read_picked_option("A", "Done.") is None


def test_a_number_is_an_option_only_where_options_are_called_so():
    steps = "Next steps:\n1. run the tests\n2. push"
    assert read_picked_option("2", steps) is None
    assert read_picked_option("option 2", steps) is not None
    named = "Option 1: a queue\nOption 2: a table"
    picked = read_picked_option("2", named)
    assert picked is not None
    assert picked.text == "2: a table (“2”)"


def test_a_document_and_a_brief_for_another_agent_are_nobodys_wishes():
    rules = " ".join(f"Never push branch {number} to main." for number in range(30))
    assert extract_lessons([("user", rules)]).lessons == ()
    brief = "You are a senior reviewer. Always check the tests. Never push to main."
    assert extract_lessons([("user", brief)]).lessons == ()
    assert len(extract_lessons([("user", "Never push to main.")]).lessons) == 1


@pytest.mark.parametrize(
    ("proposal", "answer"),
    [
        ("I suggest a file cache instead of Redis.", "yes do that"),
        ("The queue is small. Should we use Postgres for the queue?", "ok"),
        ("I recommend SQLite over Postgres here. Shall I proceed?", "yes, go ahead"),
        ("Je propose un cache fichier plutôt que Redis.", "vas-y"),
        ("Propongo una caché en ficheros en vez de Redis.", "dale"),
        ("Redis ではなくファイルキャッシュを提案します。", "はい"),
        ("我建议用文件缓存而不是 Redis。", "好的"),
        ("Ich schlage einen Dateicache statt Redis vor.", "ja, mach das"),
    ],
)
def test_a_bare_approval_is_kept_as_the_proposal_that_it_accepts(proposal, answer):
    found = extract_lessons([("assistant", proposal), ("user", answer)]).lessons
    assert [one.kind for one in found] == ["decision"]
    assert found[0].text.endswith(f"→ {answer}")
    assert "proceed" not in found[0].text


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Shall I commit?", "yes"),
        ("I added the endpoint.", "ok"),
        ("I suggest Redis. I would recommend a file cache for small sites.", "yes do that"),
        ("I suggest a file cache. Which port should it use?", "yes"),
        ("I suggest a file cache instead of Redis.", "no"),
        ("I suggest a file cache instead of Redis.", "yes but why?"),
        ("I suggest a file cache. It is small. It is fast. All tests pass.", "ok"),
    ],
)
def test_an_approval_of_nothing_clear_is_no_decision(said, answer):
    assert not extract_lessons([("assistant", said), ("user", answer)]).lessons
