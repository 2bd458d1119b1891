# mypy: no-check-untyped-defs
"""`reverie review` at a real pseudo-terminal: one card, the keys of the page."""

import json
import subprocess
import sys

import pytest

from reverie.interfaces.terminal.line_edit import LineEdit
from reverie.interfaces.terminal.review_view import (
    REASON_FOLLOWS,
    ReviewState,
    draw_review,
    move_card,
    replace_cards,
    toggle_selected,
)
from reverie.runtime.review_queue import ReviewCard
from tests.interfaces.cli.terminal_process import TerminalProcess
from tests.support.helpers import open_mind, run_command, toy_home

SPACE = "me/demo"


@pytest.fixture
def home(tmp_path):
    """Three memories that wait, because nobody said them."""
    home = toy_home(tmp_path)
    with open_mind(home) as mind:
        for text in (
            "The staging server is heron.",
            "Tea is at four.",
            "Bugs are in \x1b[5mgitlab.",
        ):
            mind.remember(text, space=SPACE, provenance="inferred")
    return home


def review(home, **options):
    """`reverie review` at a terminal."""
    return TerminalProcess("review", "--home", str(home), "-s", SPACE, **options)


def waiting(home):
    """The texts that wait."""
    with open_mind(home) as mind:
        return sorted(memory.text[:3] for memory in mind.review.pending(space=SPACE))


def test_a_card_is_approved_and_that_is_taken_back(home):
    """`a` approves, `u` undoes, `q` leaves; what is decided is decided."""
    with review(home) as screen:
        screen.wait_for("1 of 3")
        screen.press("a")
        screen.wait_for("Decided 1: accept")
        assert "1 of 2" in screen.screen and len(waiting(home)) == 2
        screen.press("u")
        screen.wait_for("Taken back.")
        assert len(waiting(home)) == 3
        screen.press("r")
        screen.wait_for("Decided 1: reject")
        screen.press("q")
        assert screen.wait_for_end() == 0
        assert "Decided 1." in screen.screen
    assert len(waiting(home)) == 2


def test_a_selection_is_decided_at_once_and_taken_back_at_once(home):
    """`x` selects and goes on; an answer is for all that is selected, and so is `u`."""
    with review(home) as screen:
        screen.wait_for("1 of 3")
        screen.press("xx")
        screen.wait_for("2 selected")
        screen.press("r")
        screen.wait_for("Decided 2: reject")
        assert len(waiting(home)) == 1
        screen.press("u")
        screen.wait_for("Taken back.")
        assert len(waiting(home)) == 3


def test_a_card_is_corrected(home):
    """`e` opens the text in a line; Enter keeps the new one, Esc the old one."""
    with review(home) as screen:
        screen.wait_for("1 of 3")
        screen.press("e")
        screen.wait_for("new text>")
        screen.press("\x1b")
        screen.wait_for("1 of 3")
        screen.press("e\x15The tracker is heron.\r")
        screen.wait_for("Decided 1: edit")
        screen.press("\x03")
        assert screen.wait_for_end() == 130
    with open_mind(home) as mind:
        assert "The tracker is heron." in [m.text for m in mind.browse(space=SPACE)]


def test_text_is_not_obeyed_and_fits_narrow_terminals(home):
    """Escapes are written out; no line is wider than 40 columns."""
    with review(home, columns=40, NO_COLOR="1") as screen:
        screen.wait_for("1 of 3")
        for _ in range(3):
            assert max(map(len, screen.screen.splitlines())) < 40
            screen.press("j")
            screen.read_once(0.5)
        screen.wait_for("3 of 3")
        assert "\x1b[5m" not in screen.written


def test_a_both_sided_edit_shows_both_versions_and_what_differs(tmp_path):
    """At 40 columns and without colour: who made which, the difference marked; `r` takes the other
    version, `u` the answer back; a script says the same with one id.
    """
    home = toy_home(tmp_path)
    with open_mind(home) as mind:
        id = mind.remember("Port is 80.", space=SPACE).id
        (done,) = mind.data.mirror(SPACE)
        mind.revise(id, text="Port is 8080.")
        page = done.folder / "MEMORY.md"
        page.write_text(page.read_text("utf-8").replace("Port is 80.", "Port is 443."), "utf-8")
        mind.data.mirror(SPACE)
    with review(home, columns=40, NO_COLOR="1") as screen:
        screen.wait_for("1 of 1 · both-sided edit")
        assert "Port is [-8080-]{+443+}." in screen.screen
        assert "holds now: you, on its page" in screen.screen
        screen.press("r")
        screen.wait_for("Decided 1: reject")
        screen.press("u")
        screen.wait_for("Taken back.")
        screen.wait_for("1 of 1 · both-sided edit")
        screen.press("q")
        assert screen.wait_for_end() == 0
    listed = run_command("review", "--home", str(home), "-s", SPACE, "--json").stdout
    assert [one["where"] for one in json.loads(listed)["edits"]] == ["page"]
    run_command("review", id, "--keep", "other", "--home", str(home), "-s", SPACE)
    with open_mind(home) as mind:
        assert mind.get([id])[0].text == "Port is 8080." and not mind.review.edits(space=SPACE)


def contradict(home):
    """Three pairs that contradict each other."""
    with open_mind(home) as mind:
        for name in ("staging", "backup", "mail"):
            old = mind.remember(f"The {name} server is heron.", space=SPACE)
            new = mind.remember(f"The {name} server is crane.", space=SPACE)
            mind.link(old.id, new.id, "contradicts")


def test_a_pair_is_there_before_it_is_judged_and_then_says_why(tmp_path):
    """The reason follows on the card that is looked at; what lies behind is judged when one comes
    to it, and decided unjudged where a key is faster.
    """
    home = toy_home(tmp_path)
    contradict(home)
    with open_mind(home) as mind:
        reasons = [case.why for case in mind.review.cases(space=SPACE)]
    with review(home) as screen:
        screen.wait_for("1 of 3")
        screen.wait_for(reasons[0][:60])
        screen.press("j")
        screen.wait_for("2 of 3")
        screen.wait_for(reasons[1][:60])
        assert REASON_FOLLOWS not in screen.screen
        screen.press("ba")
        screen.wait_for("1 of 1")
        screen.press("q")
        assert screen.wait_for_end() == 0


def test_a_card_says_the_same_reason_whether_it_is_judged_at_once_or_later(tmp_path):
    """`explain_card` gives what the queue would; a card that says why already stays as it is, and
    so does one whose pair was decided meanwhile.
    """
    home = toy_home(tmp_path)
    contradict(home)
    with open_mind(home) as mind:
        mind.remember("Tea is at four.", space=SPACE, provenance="inferred")
        cards = mind.review.queue(space=SPACE)
        bare = mind.review.queue(space=SPACE, explained=False)
        assert [one.why for one in bare] == ["", "", "", cards[-1].why]
        assert [mind.review.explain_card(one) for one in bare] == cards
        assert list(map(mind.review.explain_card, cards)) == cards
        mind.review.answer(bare[0].key, "both", space=SPACE)
        assert mind.review.explain_card(bare[0]) == bare[0]


def make_card(key):
    return ReviewCard(key, "gap", "nothing answered", 0.0, {"edit": "Write the answer"}, (), "who?")


def test_who_looks_at_a_card_stays_on_it_while_the_queue_changes():
    """Cards that others decide meanwhile leave; the one that is looked at stays in sight."""
    state = move_card(ReviewState([make_card(key) for key in "abc"]), 1)
    assert replace_cards(state, [make_card(key) for key in "bc"]).card.key == "b"
    assert replace_cards(state, [make_card("a")]).card.key == "a"
    selected = toggle_selected(state)
    assert (selected.selected, selected.place) == ({"b"}, 2)
    assert replace_cards(selected, [make_card("c")]).selected == frozenset()


def test_an_empty_queue_says_so():
    """Nothing to decide, and how to leave."""
    lines = draw_review(ReviewState([], draft=None), 40, 24, 0.0)
    assert "Nothing waits" in lines[0][0].text
    typed = ReviewState([make_card("a")], draft=LineEdit("new", 3))
    assert draw_review(typed, 40, 24, 0.0)[0][0].text == "new text> "


def test_a_list_tells_all_that_the_cards_would(home):
    """In a pipe too what was only concluded waits, and is told with how to decide about it."""
    words = ("--home", str(home), "-s", SPACE, "review")
    listed = run_command(*words)
    assert "The staging server is heron." in listed.stdout and "candidate" in listed.stdout
    assert "reverie memory curate ID" in listed.stderr
    assert "Nothing waits" not in listed.stdout
    told = json.loads(run_command(*words, "--json").stdout)
    assert [card["kind"] for card in told["cards"]] == ["candidate"] * 3
    with open_mind(home) as mind:
        for memory in mind.review.pending(space=SPACE):
            mind.review.curate(memory.id, "validated")
    assert "Nothing waits for a decision." in run_command(*words).stdout


def test_where_nothing_can_be_drawn_all_that_waits_is_told(home):
    """A terminal that moves no cursor gets lines."""
    with review(home, TERM="dumb", columns=40) as screen:
        assert screen.wait_for_end() == 0
        assert "candidate" in screen.written and "Nothing waits" not in screen.written
        assert "\x1b" not in screen.written.replace("\\x1b", "")


def test_the_cards_of_ones_own_machine_load_no_access_control():
    """What only a server needs costs a tenth of a second to load."""
    script = (
        "import sys\n"
        "from reverie.interfaces.terminal import review_screen\n"
        "from reverie.runtime import both_sided_edits\n"
        "print('reverie.access' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"


def test_the_first_card_waits_for_nothing_that_judges_pairs(tmp_path):
    """Neither the rules that compare statements nor numpy are loaded before it is drawn: together
    a fifth of a second of processors.
    """
    home = toy_home(tmp_path)
    contradict(home)
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "import reverie\n"
        "from reverie.core import config\n"
        "from reverie.interfaces.terminal import review_screen\n"
        "with reverie.open(settings=config.load_settings(Path(sys.argv[1]))) as mind:\n"
        f"    print(len(mind.review.queue(space={SPACE!r}, explained=False)))\n"
        "slow = ('numpy', 'reverie.reconciliation.paraphrase', 'reverie.sync')\n"
        "print(sorted(name for name in sys.modules if name.startswith(slow)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(home)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["3", "[]"]
