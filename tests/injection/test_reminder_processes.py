# mypy: no-check-untyped-defs
"""Reminders and real processes: two that look at the same moment, one that is killed, one that
starts again.
"""

import json
import signal
import subprocess
import sys

import pytest

from reverie.core.clock import now
from reverie.injection.due_reminders import CLAIM_SECONDS
from reverie.testing import SPACE, Clock, make_conversation, memory

REMINDERS, PROCESSES = 60, 4

HOOK = r"""
import json, sys
from reverie.core.clock import now
from reverie.testing import SPACE, memory
with memory(sys.argv[1], now=now) as mind:
    sys.stdin.readline()
    rounds = [[hit.memory.text for hit in mind.reminders.due(space=SPACE, fire=True)] for _ in range(20)]
print(json.dumps([text for one in rounds for text in one]))
"""
AGENT = r"""
import json, sys
from reverie.core.clock import now
from reverie.testing import SPACE, memory, make_conversation
told = []
with memory(sys.argv[1], now=now) as mind:
    sys.stdin.readline()
    with mind.companion(f"{SPACE}/{sys.argv[2]}") as companion:
        for n in range(40):
            told += [m.text for m in companion.turn(make_conversation(f"turn {n}")).due]
            assert companion.wait(120)
    assert not companion.trouble, companion.trouble
print(json.dumps(told))
"""
KILLED = r"""
import sys, time
from reverie.testing import SPACE, Clock, memory, make_conversation
mind = memory(sys.argv[1], now=Clock(float(sys.argv[2])))
companion = mind.companion(f"{SPACE}/s1")
if sys.argv[3] == "given":
    print([m.text for m in companion.turn(make_conversation("hello")).due], flush=True)
    assert companion.wait(120)
print("ready", flush=True)
time.sleep(600)
"""


def run_at_once(scripts):
    """What each of some processes says that were let go at the same moment."""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for words in scripts
    ]
    for child in children:
        child.stdin.write("go\n")
        child.stdin.flush()
    answers = [child.communicate(timeout=300) for child in children]
    assert [err for _, err in answers] == [""] * len(children)
    return [json.loads(out) for out, _ in answers]


@pytest.mark.parametrize("script", [HOOK, AGENT], ids=["hooks", "agents"])
@pytest.mark.proves("C43", "CC-67")
def test_each_fires_exactly_once_however_many_look(tmp_path, script):
    """Four processes at the same moment; each reminder reaches one of them, once."""
    with memory(tmp_path, now=now) as mind:
        mind.remember_many(
            [
                {"text": f"r{n}", "kind": "intention", "details": {"when": now() - 5}}
                for n in range(REMINDERS)
            ],
            space=SPACE,
        )
        told = run_at_once([(script, str(tmp_path), f"s{n}") for n in range(PROCESSES)])
        everything = sorted(text for one in told for text in one)
        fired = [
            id
            for event in mind.store.events(verbs=("fired",))
            for id in event.payload["occurrences"]
        ]

        assert everything == sorted(f"r{n}" for n in range(REMINDERS))
        assert len(fired) == len(set(fired)) == REMINDERS
        assert {one.details["status"] for one in mind.reminders.browse(space=SPACE)} == {
            "triggered"
        }
        assert mind.reminders.due(space=SPACE) == [] == mind.data.verify()


def killed(home, at, when):
    """A process that has claimed, or given, what is due, and is killed."""
    words = [sys.executable, "-c", KILLED, str(home), str(at), when]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    lines = []
    while "ready" not in lines:
        lines.append(child.stdout.readline().strip())
    child.send_signal(signal.SIGKILL)
    child.wait()
    child.stdout.close()
    return lines[:-1]


def test_a_process_killed_before_it_gave_swallows_nothing(tmp_path):
    """kill -9 between deciding and giving: when the claim is over, another conversation is told;
    once.
    """
    clock = Clock()
    with memory(tmp_path, now=clock) as mind:
        mind.remind("Call Ann", when="in 1 minute", space=SPACE)
        clock.tick(120)
        assert killed(tmp_path, clock(), "claimed") == []
        assert mind.reminders.due(space=SPACE, fire=True) == []
        clock.tick(CLAIM_SECONDS)
        with mind.companion(f"{SPACE}/s2") as companion:
            assert [m.text for m in companion.turn(make_conversation("hello")).due] == ["Call Ann"]
        assert mind.reminders.due(space=SPACE, fire=True) == []


def test_a_process_killed_after_it_gave_does_not_give_again(tmp_path):
    """Restart after kill -9: what was given and written down has fired."""
    clock = Clock()
    with memory(tmp_path, now=clock) as mind:
        mind.remind("Call Ann", when="in 1 minute", space=SPACE)
        mind.remind("Read the logs", every="every day at 12", space=SPACE)
        clock.tick(days=3)
        assert killed(tmp_path, clock(), "given") == ["['Call Ann', 'Read the logs']"]
        clock.tick(CLAIM_SECONDS)
        with mind.companion(f"{SPACE}/s1") as companion:
            assert not companion.turn(make_conversation("hello", "back")).due
        assert mind.reminders.due(space=SPACE) == []
        assert len(mind.store.events(verbs=("fired",))) == 1
