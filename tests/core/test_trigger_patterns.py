"""What trigger patterns mean, and that none of them can take a turn hostage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.errors import BadInput
from reverie.core.trigger_patterns import (
    check_trigger,
    context_of_conversation,
    context_of_tool_call,
    matches_trigger,
)

PUSH = context_of_tool_call(
    "Bash", {"command": "cd repo\ngit push origin main --force", "timeout": 5}
)

TALK = [
    ("re:force[- ]push", "please Force-Push it", True),
    ("re:force[- ]push", "forcepush", False),
    (r"re:\bv\d+\.\d+", "released V1.20 today", True),
    ("re:", "anything", False),
    ("tool:Bash", "run tool:bash now", False),
]


@pytest.mark.parametrize(("pattern", "context", "expected"), TALK)
@pytest.mark.proves("B61")
def test_expressions_match_text_and_tool_patterns_match_tools(pattern, context, expected):
    """A regular expression is looked for in any case; a tool pattern waits for a tool."""
    assert matches_trigger(pattern, context_of_conversation(context)) is expected


TOOLS = [
    ("tool:Bash", True),
    ("tool:bash", True),
    ("tool:B*", True),
    ("tool:Edit", False),
    ("tool:Bash(git push*--force*)", True),
    ("tool:Bash(git pull*)", False),
    ("tool:*(*--force*)", True),
    ("tool:Bash(cd repo)", True),
    ("tool:Bash()", False),
    ("--force", True),
    ("re:push .*--force", True),
    ("*.rs", False),
    ("5", True),
]


@pytest.mark.parametrize(("pattern", "expected"), TOOLS)
@pytest.mark.proves("B62")
def test_what_a_tool_is_about_to_do(pattern, expected):
    """The tool's name, one line of what it is given, or anything in it."""
    assert matches_trigger(pattern, PUSH) is expected


def test_an_expression_that_runs_too_long_does_not_match():
    """A regular expression that would backtrack for ever is stopped and counts as no match."""
    assert not matches_trigger(r"re:(a|aa)+$", context_of_conversation("a" * 5_000 + "!"))


@pytest.mark.parametrize("pattern", ["re:(", "re:", "tool:", "tool:(x)", "x" * 501])
def test_a_pattern_that_cannot_match_is_refused(pattern):
    """A pattern that can match nothing is an error that says what is wrong."""
    with pytest.raises(BadInput, match="trigger"):
        check_trigger(pattern)


@pytest.mark.proves("CC-9")
def test_an_unreadable_stored_pattern_matches_nothing():
    """An expression that cannot be read meets nothing."""
    assert not matches_trigger("re:(", context_of_conversation("("))


@given(st.text(max_size=60), st.text(max_size=300))
@pytest.mark.proves("CC-66")
def test_any_pattern_can_be_tried_on_any_context(pattern, text):
    """Nothing raises; an empty pattern matches nothing."""
    for prefix in ("", "re:", "tool:"):
        assert matches_trigger(prefix + pattern, context_of_conversation(text)) in (True, False)
        assert matches_trigger(
            prefix + pattern, context_of_tool_call(text, {"a": [text, {"b": 1}]})
        ) in (True, False)
    assert not matches_trigger(" ", context_of_conversation(text))


TYPED = [
    "git push --force",
    "cd repo && git push --force",
    "sudo git push --force",
    "git -C repo push --force",
    "GIT_SSH=x git push --force",
    "git push \\\n  --force origin main",
    "git push -f",
    "git push -fu origin main",
    "cd repo; git push origin --force",
    "make || git push --force",
    "true | git push --force",
    "(git push --force)",
    "env -i A='b c' git push --force",
    "sudo -u me -E git push --force",
    "time nohup git push --force",
    "git -c a.b='c d' --no-pager push --force",
    "if x; then git push --force; fi",
    "/usr/bin/git push --force",
    "git  push   --force-with-lease 2>&1 | tail",
    'GIT_SSH_COMMAND="ssh -i a" git push --force',
    "x & git push -f",
    "timeout 30 git push --force",
    "git commit -m 'a; b' && git push --force",
]
HARMLESS = [
    "git push",
    "git pull --force",
    "git commit -m 'never git push --force'",
    'echo "x && git push --force"',
    "git push --follow-tags origin fix-f",
    "git push origin feature-f",
    "git log -f push",
    "git push\nrm --force x",
]


@pytest.mark.parametrize("typed", TYPED)
@pytest.mark.proves("B62")
def test_a_command_matches_however_it_is_typed(typed):
    """Behind another, with a prefix, in another directory, over two lines, in short."""
    assert matches_trigger(
        "tool:Bash(git push*--force*)", context_of_tool_call("Bash", {"command": typed})
    )


@pytest.mark.parametrize("typed", HARMLESS)
def test_other_commands_do_not_match(typed):
    """Quoted text is not a command, and another command's option is not this one's."""
    assert not matches_trigger(
        "tool:Bash(git push*--force*)", context_of_tool_call("Bash", {"command": typed})
    )


def test_a_pattern_may_include_the_prefix():
    """A pattern may name the prefix of a command itself, such as `sudo`."""
    assert matches_trigger(
        "tool:Bash(sudo *)", context_of_tool_call("Bash", "cd x && sudo make install")
    )
    assert matches_trigger(
        "tool:Bash(cd * && sudo *)", context_of_tool_call("Bash", "cd x && sudo make install")
    )


@given(st.text(alphabet="'\"\\&|;\n $()=gitpush-f", max_size=200))
def test_any_text_is_read_as_commands(text):
    """Unclosed quotes, lone backslashes: nothing raises."""
    assert matches_trigger("tool:B(git push*--force*)", context_of_tool_call("B", text)) in (
        True,
        False,
    )


@pytest.mark.parametrize(
    "text", ["foo(" + "x" * 30_000, "x" * 30_000 + "\nfoo(", "x" * 300_000 + "\nfoo("]
)
@pytest.mark.proves("B62")
def test_both_ends_of_a_long_text_are_searched(text):
    """What a tool writes may begin, or end, with what it must not hold."""
    scene = context_of_tool_call("Write", {"content": text, "file_path": "a.py"})
    assert all(
        matches_trigger(pattern, scene)
        for pattern in ("foo(", r"re:foo\(", "tool:Write(foo(*)", "a.py")
    )


@pytest.mark.parametrize(
    "text", ["vim 'bar.py'", 'open("bar.py")', "see bar.py.", "(bar.py, x)", "[a](bar.py)"]
)
@pytest.mark.proves("B61")
def test_a_word_matches_without_surrounding_punctuation(text):
    """Quotes, brackets and commas are no part of a name."""
    assert matches_trigger("*.py", context_of_conversation(text))
    assert not matches_trigger("*.p", context_of_conversation(text))
