"""`reverie now`: what memory is doing to agents."""

import json
import subprocess
import sys

from reverie.activity.turn_feed import FedTurn, GivenMemory
from reverie.interfaces.terminal.turn_view import tell_turn
from reverie.testing import make_conversation, make_memory
from tests.interfaces.cli.terminal_process import TerminalProcess
from tests.support.helpers import open_mind, run_command, toy_home

SPACE = "me/demo"


def list_imports(*words, **options):
    """The modules that a command loads, by the interpreter's own list."""
    command = [sys.executable, "-X", "importtime", "-m", "reverie", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, **options)
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "|" in line}


def take_turn(home, text):
    """An agent's turn, in a session."""
    with open_mind(home) as mind, mind.companion(space=SPACE, session="s1") as companion:
        companion.turn(make_conversation(text))
        assert companion.wait(120)


def make_home(tmp_path):
    """A home with a memory and one turn."""
    home = toy_home(tmp_path)
    with open_mind(home) as mind:
        mind.remember("Deploys are done by carla \x1b[31mred.", space=SPACE)
    take_turn(home, "who does deploys?")
    return home


def test_the_last_turns_are_told_without_the_command_line(tmp_path):
    """Typer, Rich, numpy and the rules for pairs take longer to load than the turns to read; an
    option of its own is the command line's.
    """
    home = make_home(tmp_path)
    loaded = list_imports("now", "--home", str(home))
    assert "reverie.activity.turn_feed" in loaded
    assert {"typer", "rich", "numpy", "reverie.interfaces.cli.app"} & loaded == set()
    assert "typer" in list_imports("now", "--home", str(home), "-n", "1")


def test_the_feed_tells_what_was_given_and_why(tmp_path):
    """Under what was said stand what was given and the reasons; `now` is `activity now`."""
    home = make_home(tmp_path)
    told = run_command("now", "--home", str(home)).stdout
    assert "  user: who does deploys?\n  + Deploys are done by carla \\x1b[31mred." in told
    assert "gave 1, about" in told and "me/demo · s1" in told
    assert told == run_command("activity", "now", "--home", str(home)).stdout
    (turn,) = json.loads(run_command("now", "--home", str(home), "--json").stdout)["turns"]
    assert turn["given"][0]["memory"]["text"].startswith("Deploys")
    away = run_command("now", "--home", str(home), "--space", "me/other")
    assert (away.stdout, away.stderr) == ("", "No turn of an agent is known so far.\n")


def test_gates_say_what_keeps_a_memory_back(tmp_path):
    """With --gates, what fits and is not given stands there with what stops it."""
    home = toy_home(tmp_path)
    with open_mind(home) as mind:
        mind.remember("Deploys are done by carla.", space=SPACE, provenance="inferred")
    take_turn(home, "who does deploys?")
    told = run_command("now", "--home", str(home), "--gates").stdout
    assert "  - Deploys are done by carla." in told and "not approved" in told
    assert "gave nothing" in told


def test_the_feed_follows(tmp_path):
    """A turn is told when it comes; Ctrl-C ends that with 130; 40 columns are enough."""
    home = make_home(tmp_path)
    with TerminalProcess("now", "-f", "--home", str(home), columns=40) as feed:
        feed.wait_for("who does deploys?")
        take_turn(home, "and who reviews the deploys?")
        feed.wait_for("and who reviews")
        assert max(map(len, feed.screen.splitlines())) <= 40
        feed.press("\x03")
        assert feed.wait_for_end() == 130


def test_a_reason_is_told_once():
    """What stopped a call names its trigger, which is not told a second time."""
    memory = make_memory("Never force-push.")
    why = ("deny: trigger 'run:git push'", "trigger 'run:git push'")
    given = [GivenMemory(memory.id, memory, why)]
    turn = FedTurn(1, 0.0, "s", "me/demo", [], given, [], 5, 0.0)
    assert "\n".join(tell_turn(turn)).count("run:git push") == 1
