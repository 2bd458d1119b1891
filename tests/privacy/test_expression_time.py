# mypy: no-check-untyped-defs
"""How long regular expressions take on texts that were made to stall them."""

import signal
import sys
import time
from pathlib import Path

import pytest

from reverie.privacy.prompt_injection import MAX_CHARS_CHECKED, find_prompt_injection
from tests.support.expressions import adversarial_units, collect_expressions
from tests.support.growth import is_linear

SHORT, LONG = 1_000, 4_000
# Four times the text: 4 times as long for a linear expression, 16 times for a quadratic one.
MAX_RATIO = 9.0
# What a search in SHORT takes at least before it is measured again in LONG.
WORTH_MEASURING = 0.0015
CAP = 0.6  # seconds for a search, beyond which it counts as endless
LEDGER = Path(__file__).with_name("slow_expressions.txt")


@pytest.fixture(scope="module")
def collected():
    """Every expression with its place, and the places of which none was seen."""
    return collect_expressions()


@pytest.mark.parametrize(
    "unit",
    [
        "\n",
        " ",
        "a/",
        "A1a/",
        "<",
        "![",
        "ignore ",
        "SYSTEM\n",
        "https://a?",
        "忽略",
        "отправ",
        "a ",
    ],
)
def test_the_check_for_planted_instructions_is_linear(unit):
    """Twenty thousand newlines took it 67 seconds."""
    assert is_linear(
        lambda count: seconds_of(find_prompt_injection, unit * count),
        MAX_CHARS_CHECKED // len(unit) // 8,
    )


def seconds_of(call, *arguments):
    """The computing time of a call."""
    begun = time.thread_time()
    call(*arguments)
    return time.thread_time() - begun


class EndlessError(Exception):
    """A search took too long."""


def search_seconds(expression, text):
    """The computing time of a search, CAP at most."""
    begun = time.thread_time()
    signal.setitimer(signal.ITIMER_VIRTUAL, CAP)
    try:
        expression.search(text)
    except EndlessError:
        return CAP
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return time.thread_time() - begun


def is_slow(expression):
    """The unit of a text in which an expression takes more than in proportion; None if there is
    none.
    """
    for unit in adversarial_units(expression.pattern, expression.flags):
        short = search_seconds(expression, (unit * SHORT)[:SHORT])
        if short < WORTH_MEASURING:
            continue
        long = search_seconds(expression, (unit * LONG)[:LONG])
        if long < CAP and long > MAX_RATIO * short:
            # Once more: the machine may have been busy.
            short = min(search_seconds(expression, (unit * SHORT)[:SHORT]) for _ in range(3))
            long = min(search_seconds(expression, (unit * LONG)[:LONG]) for _ in range(2))
        if long >= CAP or long > MAX_RATIO * short:
            return unit
    return None


def name_of(where, expression):
    """How the ledger names an expression: its module, and how it begins."""
    module = where.partition(":")[0].lstrip("/")
    return f"{module}\t{expression.pattern[:60]!r}"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "ITIMER_VIRTUAL"), reason="no such timers here")
def test_no_expression_stalls_on_a_text_made_for_it(collected):
    """Every expression of the package takes time in proportion to its text, whatever that is made
    of. `slow_expressions.txt` names those that do not yet, for which the length of what their
    callers give them has to do: none may be added, and one that is reworded is timed anew.
    """
    if "coverage" in sys.modules:
        pytest.skip("tracing alters the times")
    expressions, _ = collected
    assert len(expressions) > 600

    def stop(*_):
        raise EndlessError

    before = signal.signal(signal.SIGVTALRM, stop)
    known = set(LEDGER.read_text("utf-8").splitlines())
    names, slow = set(), {}
    try:
        for expression, where in expressions:
            name = name_of(where, expression)
            names.add(name)
            if name in known:
                continue
            if unit := is_slow(expression):
                slow[name] = unit
    finally:
        signal.signal(signal.SIGVTALRM, before)
    assert {} == slow
    assert known <= names, known - names


# Places whose expression is made of what they are given, so that none can be timed by itself: of a
# word, or of a table that is timed where it stands.
MADE_THERE = 27


@pytest.mark.slow
def test_no_expression_escapes_being_timed(collected):
    """The places that compile something and were not seen doing so are few, and counted."""
    _, unseen = collected
    assert len(unseen) <= MADE_THERE, unseen
