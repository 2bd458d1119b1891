"""Messages are cut into passages of what people and agents said; what programs wrote is left out."""

from hypothesis import given
from hypothesis import strategies as st

from reverie.transcripts.message_passages import (
    MAX_PASSAGE_CHARS,
    MAX_PASSAGES,
    SpokenMessage,
    cut_passages,
    find_context,
    is_telling,
    read_spoken_text,
)


@given(st.text(max_size=3_000))
def test_any_text_is_cut_within_bounds(text):
    passages = cut_passages(text)
    assert len(passages) <= MAX_PASSAGES
    assert all(0 < len(passage) <= MAX_PASSAGE_CHARS for passage in passages)


def test_sentences_stay_together_until_a_passage_is_full():
    short = "We take the file cache. It needs no server."
    assert cut_passages(short) == [short]
    long = " ".join(f"Sentence number {n} says something of its own." for n in range(20))
    assert len(cut_passages(long)) > 2


def test_sentences_of_scripts_without_spaces_are_told_apart():
    text = "网络恢复的监听写在调度器里。" * 30
    assert len(cut_passages(text)) > 1


def test_code_and_tool_calls_are_left_out():
    text = (
        'Use it so:\n```python\nsecret_sauce()\n```\n[Bash {"command": "make"}]\nand no other way.'
    )
    said = " ".join(cut_passages(read_spoken_text("assistant", text)[1]))
    assert "secret_sauce" not in said
    assert "Bash" not in said
    assert "no other way" in said


def test_what_a_host_puts_into_a_message_is_nobodys_word():
    for text in (
        "<command-name>/clear</command-name>",
        "<local-command-caveat>Caveat: do not respond</local-command-caveat>",
        "[Request interrupted by user]",
        "<task-notification>\n<status>completed</status>\n</task-notification>",
    ):
        assert not read_spoken_text("user", text)[1].strip(), text


def test_what_a_person_answers_in_a_dialog_is_the_persons_word():
    answer = '=> User has answered your questions: "Which scope?"="GitHub + npm". '
    answer += "You can now continue with the user's answers in mind."
    role, text = read_spoken_text("tool", answer)
    assert role == "user"
    assert text == '"Which scope?"="GitHub + npm"'
    refused = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it "
        "was a file edit, the new_string was NOT written to the file). {}:\nuse the old table"
    )
    for told in (
        "To tell you how to proceed, the user said",
        "The user provided the following reason for the rejection",
    ):
        assert read_spoken_text("tool", refused.format(told)) == ("user", "use the old table")
    assert read_spoken_text("tool", "total 12\ndrwxr-xr-x") == ("", "")


def test_a_short_answer_comes_with_the_end_of_what_it_answers():
    asked = SpokenMessage(0, "assistant", "Shall we use A, a file cache, or B, Redis?", 0.0)
    answer = SpokenMessage(1, "user", "Aにしよう", 1.0)
    assert "file cache" in find_context(answer, [asked])
    assert find_context(answer, []) == ""
    assert is_telling("Aにしよう", find_context(answer, [asked]))
    assert not is_telling("ok", "")
