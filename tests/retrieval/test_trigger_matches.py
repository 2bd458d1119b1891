"""Memories whose trigger pattern matches the context."""

from time import process_time

import pytest

from reverie.core.model import Hit
from reverie.core.trigger_patterns import context_of_conversation, matches_trigger
from reverie.retrieval.trigger_search import TRIGGER_SCORE, match_triggers, merge_triggered
from reverie.testing import make_memory
from tests.support.growth import is_linear

CASES = [
    ("println!", "I add println!(x) here", True),
    ("PrintLn", "println is near", True),
    ("", "anything", False),
    ("*.rs", "open src/main.rs now", True),
    ("*.rs", "open main.rst", False),
    ("te?t", "a test", True),
    ("te?t", "a tempest", False),
    ("[a-z]*", "xyz", True),
    ("a b", "say a b c", True),
    ("(", "f(x)", True),
    ("  ", "anything", False),
    ("日本", "これは日本です", True),
]


@pytest.mark.parametrize(("pattern", "context", "expected"), CASES)
@pytest.mark.proves("CC-66")
def test_literals_anywhere_globs_on_words(pattern, context, expected):
    """A literal is found anywhere in any case, a glob fits a whole word, an empty one meets
    nothing.
    """
    assert (
        bool(
            match_triggers(
                [make_memory("never do", triggers=[pattern])] if pattern else [make_memory("x")],
                context_of_conversation(context),
            )
        )
        is expected
    )
    assert matches_trigger(pattern, context_of_conversation(context)) is expected


def test_many_stars_are_not_slow():
    """A pattern of many stars cannot slow a turn down: eight times the text takes about eight times
    as long. A search that goes back would not end at all.
    """
    memory = make_memory("x", triggers=["*a" * 30 + "*b"])

    def seconds(count):
        context = context_of_conversation("a" * count)
        start = process_time()
        match_triggers([memory], context)
        return process_time() - start

    assert is_linear(seconds, 2_400)


@pytest.mark.proves("A2")
def test_a_met_trigger_comes_first_and_says_why():
    """It is stronger evidence than any resemblance; both reasons are kept."""
    called, other = make_memory("never println", triggers=["println!"]), make_memory("other")
    found = merge_triggered(
        [Hit(other, 0.99, ("words",)), Hit(called, 0.2, ("words",))],
        match_triggers([called, other], context_of_conversation("println!")),
    )

    assert [h.memory for h in found] == [called, other]
    assert (found[0].score, found[0].why) == (TRIGGER_SCORE, ("trigger 'println!'", "words"))
    assert merge_triggered([Hit(other, 0.5)], []) == [Hit(other, 0.5)]


def test_no_pattern_waits_for_a_slow_expression(monkeypatch):
    """Literals and globs are tried first; what there was no time for is counted, not passed over in
    silence.
    """
    clock = iter(range(1_000))
    monkeypatch.setattr("reverie.retrieval.trigger_search.ticks", lambda: next(clock))
    slow = [make_memory(f"slow {n}", triggers=[r"re:(a|aa)+$"]) for n in range(8)]
    plain = make_memory("plain", triggers=["re:b", "a!"])
    found = match_triggers([*slow, plain], context_of_conversation("a" * 50 + "!"), end=4)

    assert [("trigger 'a!'",)] == [hit.why for hit in found]
    assert 8 - 3 == found.untried
    assert 9 == match_triggers([*slow, plain], context_of_conversation("a!"), end=0).untried
    assert 0 == match_triggers([plain], context_of_conversation("b")).untried
