"""A summary without a model: sentences of what was asked, decided, changed and failed; no rows of
logs, no lines of code.
"""

import json
import re
from pathlib import Path

import pytest

from reverie.context_window.condensing.condense_strategies import STRATEGIES
from reverie.context_window.condensing.summary_draft import (
    draft_condensing,
    finish_condensing,
    fit_summary_lines,
)
from reverie.context_window.condensing.told_sentences import is_spoken, quote_answer
from reverie.context_window.window_fitting import FitRequest
from reverie.testing import NOON

AGENTS = Path(__file__).parents[2] / "bench" / "window" / "agents"
DONE = re.compile(r"(?:ran `|read |changed |looked up )")


def condense(messages, limit, strategy="hybrid"):
    wish = FitRequest(limit, strategy=strategy, start=0.5, down=0.5)
    made = draft_condensing(messages, wish, NOON)
    return finish_condensing(made, fit_summary_lines(made, made.lines), "words")


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("path", sorted(AGENTS.glob("*.json")), ids=lambda path: path.stem)
def test_lines_are_sentences_and_never_rows_or_code(path, strategy):
    """`reverie session condense rollback.json --limit 6000` gave 24 useless lines of 29, such as
    "16 KNOWN = 8_192" and "sample 54: order 77702".
    """
    made = condense(json.loads(path.read_text("utf-8"))["messages"], 9_000, strategy)
    assert made.lines
    for line in made.lines:
        assert DONE.match(line.text) if line.who == "tool" else is_spoken(line.text), line


def tool_turn(number, name, given, answer, said=""):
    call = {"name": name, "arguments": json.dumps(given)}
    made = {"id": f"c{number}", "type": "function", "function": call}
    return [
        {"role": "assistant", "content": said, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": answer},
    ]


def test_what_was_asked_decided_changed_and_failed_is_told():
    """In German: a request, a choice, an edit, a failing command with its error, tests."""
    rows = "\n".join(f"2026-05-01 12:00:{n:02} INFO worker {n} state=ok retry=0" for n in range(60))
    messages = [
        {"role": "user", "content": "Guten Tag, wir räumen heute auf."},
        {"role": "assistant", "content": "Gern, womit fangen wir an?"},
        {"role": "user", "content": "Der Export nach DATEV bricht bei Umlauten ab. Bitte beheben."},
        *tool_turn(1, "Read", {"file_path": "src/datev.py"}, "x = 1\n" * 400),
        *tool_turn(2, "Bash", {"command": "python export.py"}, f"{rows}\nUnicodeError: byte 0xe4"),
        {
            "role": "user",
            "content": "Lass uns Windows-1252 nehmen, nicht UTF-8, das will DATEV so.",
        },
        *tool_turn(3, "Edit", {"file_path": "src/datev.py"}, "The file was updated."),
        *tool_turn(4, "Bash", {"command": "pytest -q"}, f"{rows}\n14 passed in 0.31s"),
        {"role": "assistant", "content": "Der Export läuft jetzt mit Windows-1252 durch."},
        *[
            {"role": ("user", "assistant")[n % 2], "content": f"Weiter mit Schritt {n}."}
            for n in range(12)
        ],
    ]
    told = [
        f"{line.who}: {line.text}" for line in condense(messages, 1_600, "sliding-window").lines
    ]
    text = "\n".join(told)
    assert "user: Der Export nach DATEV bricht bei Umlauten ab." in told
    assert any("Windows-1252" in line for line in told)
    assert "tool: ran `python export.py`: “UnicodeError: byte 0xe4”." in told
    assert "tool: ran `pytest -q`: “14 passed in 0.31s”." in told
    assert "tool: changed src/datev.py." in told
    assert "INFO worker" not in text and "x = 1" not in text


@pytest.mark.parametrize(
    ("line", "spoken"),
    [
        ("The queue drops jobs when Redis restarts.", True),
        ("Nimm bitte den alten Treiber, der neue verliert Pakete.", True),
        ("Il faut garder la version 3 jusqu'en mars.", True),
        ("先不要合并这个分支，等测试通过", True),
        ("Set `retries = 3` in the config, as before.", True),
        ("16 KNOWN = 8_192", False),
        ("sample 54: order 77702 NO tax_error retry=0", False),
        ("22:30:14 checkout-2 INFO request 9002 done in 46 ms", False),
        ("def read(data: bytes) -> Recording:", False),
        ("const total = items.length;", False),
        ("| name | count | share |", False),
        ("drwxr-xr-x 3 root staff 96 Jan 15 19:13 .", False),
        ("+    return value", False),
        ("import os", False),
    ],
)
def test_what_is_spoken_is_told_from_what_programs_write(line, spoken):
    """In any language; code that is marked as such within a sentence does no harm."""
    assert is_spoken(line) is spoken


@pytest.mark.parametrize(
    ("answer", "quoted"),
    [
        ("a\nb\n== 3 failed, 12 passed in 4.2s ==", "3 failed, 12 passed in 4.2s"),
        ("building\nfatal: not a git repository\n", "fatal: not a git repository"),
        ("deployed to staging", "deployed to staging"),
        ("one\ntwo\nthree", ""),
        ("id=3 tax_error retry=1\nid=4 tax_error retry=1", ""),
    ],
)
def test_of_an_answer_the_line_that_says_how_it_went_is_quoted(answer, quoted):
    """Nothing of an answer that has no such line."""
    assert quote_answer(answer) == quoted
