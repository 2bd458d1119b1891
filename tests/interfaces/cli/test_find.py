"""`reverie find` at a real pseudo-terminal: type, see, take."""

import re
import subprocess
import sys
import termios

import pytest

from reverie.core.model import Hit
from reverie.interfaces.terminal.typed_search import put_holders_first
from reverie.testing import make_memory
from tests.interfaces.cli.terminal_process import TerminalProcess
from tests.support.helpers import open_mind, run_command, toy_home

SPACE = "me/demo/app"
HOSTILE = "Paint the shed \x1b[31mred\x1b[0m \x1b]0;owned\x07\u202eetihw and wide 日本語"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A home with a few memories in three spaces."""
    home = toy_home(tmp_path_factory.mktemp("find"))
    with open_mind(home) as mind:
        mind.remember("The staging server is called heron.", space=SPACE)
        mind.remember("Releases go out on Tuesdays.", space=SPACE)
        mind.remember(HOSTILE, space=SPACE)
        mind.remember("The sibling project deploys with helm.", space="me/demo/web")
        mind.remember("The garden needs water in July.", space="me/garden")
    return home


def at(home, *words, **options):
    """`reverie find` over a home, at a terminal."""
    return TerminalProcess("find", "--home", str(home), "-s", SPACE, *words, **options)


def test_typing_finds_and_enter_prints(home):
    """Results come while somebody types, of half a word too; Enter prints the text alone."""
    with at(home) as find:
        find.wait_for("Releases go out")
        find.press("stag")
        find.wait_for("▸ The staging server is called heron.")
        find.press("\r")
        assert find.wait_for_end() == 0
        assert find.screen == "The staging server is called heron."
        assert termios.tcgetattr(find.inner) == find.settings


def test_a_taken_memory_counts_as_used(tmp_path):
    """What somebody took has proved useful."""
    home = toy_home(tmp_path)
    with open_mind(home) as mind:
        kept = mind.remember("The staging server is called heron.", space=SPACE)
    with at(home, "heron", "--id") as find:
        find.wait_for("heron.")
        find.press("\r")
        assert find.wait_for_end() == 0
        assert find.screen == kept.id
    with open_mind(home) as mind:
        assert mind.get([kept.id])[0].access_count == 1


def test_one_key_widens_the_scope(home):
    """From the space to its project to everywhere, and back."""
    with at(home, "helm") as find:
        find.wait_for("Nothing found. Tab looks further.")
        find.press("\t")
        find.wait_for("deploys with helm")
        find.press("\x15garden")
        find.wait_for("Nothing found.")
        find.press("\t")
        find.wait_for("The garden needs water")
        find.press("\t")
        find.wait_for("space me/demo/app")


def test_a_key_explains_and_esc_goes_back(home):
    """Ctrl-E tells where a memory came from; Esc hides that, and then leaves with code 1."""
    with at(home, "heron") as find:
        find.wait_for("▸ The staging server")
        find.press("\x05")
        find.wait_for("Believed 80%")
        find.press("\x1b")
        find.wait_for("▸ The staging server")
        find.press("\x1b")
        assert find.wait_for_end() == 1
        assert find.screen == ""


def test_ctrl_c_ends_with_130(home):
    """As everywhere; the terminal is as it was."""
    with at(home) as find:
        find.wait_for("Releases")
        find.press("\x03")
        assert find.wait_for_end() == 130
        assert termios.tcgetattr(find.inner) == find.settings


def test_what_a_memory_says_is_never_obeyed(home):
    """Escapes of a memory's text are written out, on the screen and when it is printed."""
    with at(home, "shed") as find:
        find.wait_for("▸ Paint the shed \\x1b[31mred")
        find.press("\r")
        assert find.wait_for_end() == 0
        assert "\x1b]0;" not in find.written and "\x1b[31m" not in find.written
        assert "\u202e" not in find.written


@pytest.mark.parametrize("columns", [20, 40])
def test_narrow_terminals(home, columns):
    """No line is wider than the terminal, wide letters included."""
    with at(home, "shed", columns=columns) as find:
        find.wait_for("▸ Paint")
        assert max(map(len, find.screen.splitlines())) < columns


def test_a_terminal_that_does_not_know_its_size_is_taken_for_a_usual_one(home):
    """A serial line, or a container's terminal, may say that it has no columns at all."""
    with at(home, columns=0, rows=0) as find:
        find.wait_for("Releases go out")
        find.press("\x1b")
        assert find.wait_for_end() == 1


def test_without_colour(home):
    """NO_COLOR leaves bold and reverse; no colour is set."""
    with at(home, "heron", NO_COLOR="1") as find:
        find.wait_for("▸ The staging server")
        assert not re.search(r"\x1b\[3\dm", find.written) and "\x1b[7m" in find.written


def test_without_a_terminal_it_answers_as_recall(home):
    """In a pipe there is nothing to type in; without a question it says what to do."""
    where = ("--home", str(home), "-s", SPACE)
    assert "heron" in run_command("find", "staging", "server", *where).stdout
    assert '"hits"' in run_command("find", "staging", "--json", *where).stdout
    found = run_command("find", "staging", "--id", *where).stdout.split()
    assert found and all(id.startswith("mem_") for id in found)
    assert "find QUERY" in run_command("find", *where, code=2).stderr


def test_a_dumb_terminal_answers_as_recall(home):
    """Where lines cannot be drawn anew nothing is drawn."""
    with at(home, "heron", TERM="dumb") as find:
        assert find.wait_for_end() == 0
        assert "heron" in find.screen and "find>" not in find.written


def test_a_mistake_is_told_as_everywhere(home):
    """An option that there is not: usage, code 2; a space that cannot be: code 2."""
    with at(home, "--nonsense") as find:
        assert find.wait_for_end() == 2
        assert "No such option" in find.screen
    with TerminalProcess("find", "--home", str(home), "-s", "///") as find:
        assert find.wait_for_end() == 2


def test_no_model_and_no_command_line_before_the_first_answer(home):
    """What a first answer by words loads is small: the store, and no numpy, Typer or verbs."""

    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from reverie.core.config import load_settings\n"
        "from reverie.interfaces.terminal import early_screens, find_screen, typed_search\n"
        "heavy = ('numpy', 'typer', 'rich', 'onnxruntime', 'reverie.runtime.mind')\n"
        "def seen(answer):\n"
        "    loaded.append([name for name in heavy if name in sys.modules])\n"
        "loaded = []\n"
        f"search = typed_search.TypedSearch(load_settings(Path({str(home)!r})), {SPACE!r}, seen)\n"
        "search.ask(typed_search.Question('heron'))\n"
        "while not loaded: pass\n"
        "search.close()\n"
        "print(loaded[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_what_holds_the_letters_stands_before_what_a_model_takes_them_for():
    """Half a word has no meaning of its own."""
    texts = ("Receipts are sent by the queue.", "The staging server is heron.", "Stage left.")
    hits = [Hit(make_memory(text), 0.9 - n / 10, ("meaning 0.4",)) for n, text in enumerate(texts)]
    found = [hit.memory.text for hit in put_holders_first("stag", hits)]
    assert found == [texts[1], texts[2], texts[0]]
    assert put_holders_first("which host is staging", hits) == hits
