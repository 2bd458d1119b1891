"""Results of tools age: by the time that was worked and by what was done since they were read,
edited or named. What was said does not.
"""

import json
from pathlib import Path

import pytest

import reverie
from reverie.context_window.context_items import ContextItem
from reverie.context_window.pruning_strategies import WindowSnapshot, score_by_information
from reverie.context_window.stub_lines import is_stub
from reverie.context_window.window_fitting import FitRequest, fit_messages
from reverie.testing import NOON

SOURCES = sorted(Path(reverie.__file__).parent.rglob("*.py"))
NIGHT = 8 * 3_600.0


def read_calls(count, at=NOON, pace=60.0, tool="Read"):
    """So many files read one after the other, each some 500 tokens of other code."""
    messages = [{"role": "user", "content": "Find out how it all hangs together.", "at": at}]
    texts = [text for path in SOURCES if len(text := path.read_text("utf-8")) > 3_000]
    for number in range(count):
        text = texts[number % len(texts)][:2_000]
        messages += call(number, f"src/part{number}/file{number}.py", text, at + pace * number)
    return messages


def call(number, path, result, at, tool="Read"):
    given = {"name": tool, "arguments": json.dumps({"file_path": path})}
    made = {"id": f"c{number}", "type": "function", "function": given}
    return [
        {"role": "assistant", "content": "", "tool_calls": [made], "at": at},
        {"role": "tool", "tool_call_id": f"c{number}", "content": result, "at": at},
    ]


def fill(messages, limit=20_000):
    """The window after each message was sent once, the list going on with what was given back."""
    sent: list[dict[str, object]] = []
    for message in messages:
        sent = fit_messages([*sent, message], FitRequest(limit), message["at"]).messages
    return sent


def whole_results(sent, numbers):
    """How many of these calls' results stand in the window word for word."""
    stay = {
        one["tool_call_id"] for one in sent if one["role"] == "tool" and not is_stub(one["content"])
    }
    return sum(f"c{number}" in stay for number in numbers)


def test_after_three_fillings_the_newest_results_stay_and_the_oldest_do_not():
    """Once all of the first twenty stayed, and six of the last twenty."""
    sent = fill(read_calls(120))
    assert whole_results(sent, range(20)) <= 2
    assert whole_results(sent, range(100, 120)) >= 17


@pytest.mark.parametrize(
    "touch",
    [
        {"role": "user", "content": "Wait: what does file2.py say about that again?"},
        {"role": "user", "content": "Moment, was steht noch einmal in src/part2/file2.py?"},
        {"role": "user", "content": "先看 file2.py 再继续"},
        *call(900, "src/part2/file2.py", "The file was changed.", NOON, "Edit")[:1],
    ],
    ids=["named", "named in German", "named in Chinese", "edited"],
)
def test_what_was_touched_again_stays_beside_what_was_not(touch):
    """An old result that was just named or edited outlives its neighbours of the same age."""
    messages = read_calls(40)
    answer = {"role": "assistant", "content": "Yes, I look at that."}
    if touch["role"] == "assistant":
        answer = call(900, "", "The file was changed.", NOON)[1]
    messages += [touch, answer]
    for number in range(40, 46):
        messages += call(number, f"src/part{number}/file{number}.py", "z" * 40, NOON)
    for place, message in enumerate(messages):
        messages[place] = {**message, "at": NOON + 30 * place}
    sent = fit_messages(messages, FitRequest(20_000), messages[-1]["at"]).messages
    assert whole_results(sent, [2]) == 1
    assert whole_results(sent, [0, 1, 3, 4]) == 0


def test_a_nights_pause_makes_nothing_older():
    """What was worked on in the evening is needed in the morning: only time at work counts."""
    evening = read_calls(60)
    morning = [
        {**message, "at": message["at"] + (NIGHT if place > 110 else 0)}
        for place, message in enumerate(evening)
    ]
    evening_end, morning_end = evening[-1]["at"], morning[-1]["at"]
    one = fit_messages(evening, FitRequest(20_000), evening_end).messages
    two = fit_messages(morning, FitRequest(20_000), morning_end).messages
    assert whole_results(one, range(40, 60)) == whole_results(two, range(40, 60)) >= 17


def test_words_do_not_age():
    """What a user said long ago stays while old results go: it cannot be had again."""
    messages = read_calls(60, pace=300.0)
    at = messages[3]["at"]
    messages[3:3] = [
        {"role": "user", "content": "The invoice numbers start at 4711, never lower.", "at": at},
        {"role": "assistant", "content": "I keep that in mind.", "at": at},
    ]
    sent = fill(messages)
    assert any("4711" in str(one["content"]) for one in sent)
    assert whole_results(sent, range(10)) == 0


def worth_of_first(minutes=0, task="", at_hand="", tool="Read"):
    """What the default strategy gives the first of two items, so many minutes of work old."""
    pauses = [NOON + 300.0 * step for step in range(minutes // 5 + 1)]
    text = "heron crane osprey"
    first = ContextItem("0", (0,), "tool_result", text, 100, NOON, task=task, tool=tool)
    later = [
        ContextItem(str(n), (n,), "user_message", "go on", 1, at, sticky="newest")
        for n, at in enumerate(pauses, start=1)
    ]
    # Twelve items follow in every case, so that only the time differs.
    while len(later) < 13:
        later.append(later[-1]._replace(id=str(len(later) + 1)))
    return score_by_information(WindowSnapshot([first, *later], later[-1].at, at_hand)).items[0]


@pytest.mark.proves("D42", "D43")
def test_the_default_multiplies_and_halves_results_by_the_hour():
    """Twice for the task at hand; half after an hour of work, if a tool answered it."""
    assert worth_of_first(task="a", at_hand="a") == pytest.approx(2 * worth_of_first())
    assert worth_of_first(60) == pytest.approx(worth_of_first() / 2)
    assert worth_of_first(60, tool="") == pytest.approx(worth_of_first(tool=""))
