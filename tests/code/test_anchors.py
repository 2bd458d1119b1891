# mypy: no-check-untyped-defs
"""Memories about code through real files and real git repositories.

A fact is followed, or marked, or its mark goes; it is never silently wrong.
"""

import json
import os
import shutil
import subprocess
import sys
from itertools import count
from pathlib import Path

import pytest

from reverie.context_window import render_block
from reverie.core import config
from reverie.core.code_anchors import CHANGED, GONE, anchors_of, outdated_notice, outdated_state
from reverie.core.errors import BadInput, NotFound
from reverie.core.model import Hit
from reverie.memory.short_ids import shorten_id
from reverie.retrieval.rescoring import compute_prior
from reverie.testing import SPACE, make_memory, memory
from tests.code.test_code_map import OLD, written
from tests.support.helpers import open_mind, run_command, toy_home
from tests.support.scripted import scripted

PRICE = "def price_of(n):\n    total = 3 * n\n    return total + 1  # cents, rounded down\n"
CART = f"{PRICE}\n\nclass Cart:\n    def total(self):\n        return price_of(2) + price_of(3)\n"
TEXT = "Prices are in cents."
MOMENTS = count(10, 10)  # seconds after OLD: no two versions of a file have the same stamp


@pytest.fixture
def repo(tmp_path):
    return written(
        tmp_path / "shop",
        **{"cart.py": CART, "other.py": "def other():\n    return 1\n", "NOTES.md": "n\n"},
    )


def edit(repo, **files):
    """Files as they are from now on; None takes one away."""
    moment = OLD + next(MOMENTS)
    for name, text in files.items():
        place = repo / name
        if text is None:
            place.unlink()
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        os.utime(place, (moment, moment))


def told(mind, repo, place="cart.py:price_of", text=TEXT, **fields):
    """A fact about a place in an indexed repository."""
    mind.code.index(repo)
    return mind.remember(text, space=SPACE, about=[str(repo / place)], **fields).id


def now_of(mind, id):
    """(place, state) of a memory's only anchor."""
    (anchor,) = anchors_of(mind.get(id)[0])
    return anchor.location, anchor.state


def edges_of(mind, id):
    return {edge.dst for edge in mind.store.edges([id], ("about",))}


def test_a_fact_about_code_holds_until_the_code_changes(home, repo):
    """Layout, comments and other code leave it alone; another body marks it, and the old body takes
    the mark away.
    """
    id = told(home, repo)
    assert {"symbol:cart.py#price_of"} == edges_of(home, id)
    for same in (
        CART.replace("rounded down", "rounded DOWN"),
        CART.replace("3 * n", "(3 * n)"),
        f"import os\n\n{CART}",
        CART.replace("price_of(2)", "price_of(9)"),
    ):
        edit(repo, **{"cart.py": same})
        home.code.index(repo)
        assert ("cart.py:price_of", "") == now_of(home, id), same
    edit(repo, **{"cart.py": CART.replace("3 * n", "4 * n")})
    home.code.index(repo)
    assert ("cart.py:price_of", CHANGED) == now_of(home, id)
    assert "said about an older version of price_of in cart.py" == outdated_notice(home.get(id)[0])
    edit(repo, **{"cart.py": CART})
    home.code.index(repo)
    assert (("cart.py:price_of", ""), "") == (now_of(home, id), outdated_notice(home.get(id)[0]))
    assert [] == home.data.verify()


MOVES = {
    "renamed": ({"cart.py": CART.replace("price_of", "cost_of")}, "cart.py:cost_of", ""),
    "moved": (
        {"cart.py": CART.replace(PRICE, "from money import price_of\n"), "money.py": PRICE},
        "money.py:price_of",
        "",
    ),
    "into a class": (
        {
            "cart.py": CART.replace(
                PRICE, "class Money:\n" + "".join(f"    {line}\n" for line in PRICE.splitlines())
            )
        },
        "cart.py:Money.price_of",
        "",
    ),
    "renamed and altered": (
        {"cart.py": CART.replace("price_of", "cost_of").replace("total + 1", "total + 2")},
        "cart.py:cost_of",
        CHANGED,
    ),
    "moved and altered": (
        {"cart.py": CART.replace(PRICE, ""), "money.py": PRICE.replace("total + 1", "total + 2")},
        "money.py:price_of",
        CHANGED,
    ),
    "file renamed": ({"cart.py": None, "basket.py": CART}, "basket.py:price_of", ""),
    "file moved and altered": (
        {"cart.py": None, "a/b/cart.py": "import os\n" + CART.replace("n):", "n, m=1):")},
        "a/b/cart.py:price_of",
        CHANGED,
    ),
    "deleted": ({"cart.py": CART.replace(PRICE, "")}, "cart.py:price_of", GONE),
    "file deleted": ({"cart.py": None}, "cart.py:price_of", GONE),
}


@pytest.mark.parametrize("what", MOVES)
def test_an_anchor_follows_its_definition_and_recovers(home, repo, what):
    """Renamed, moved, altered, deleted: followed or marked; when the code is restored all is as it
    was.
    """
    files, place, state = MOVES[what]
    id = told(home, repo)
    edit(repo, **files)
    home.code.index(repo)
    assert (place, state) == now_of(home, id)
    (anchor,) = anchors_of(home.get(id)[0])
    assert ("cart.py:price_of" if place != "cart.py:price_of" else "") == anchor.was
    assert {anchor.edge_end} == edges_of(home, id)
    edit(
        repo,
        **dict.fromkeys(files, None) | {"cart.py": CART}
        if "cart.py" not in files or files["cart.py"] is None
        else {"cart.py": CART, **{name: None for name in files if name != "cart.py"}},
    )
    home.code.index(repo)
    assert (("cart.py:price_of", ""), "") == (now_of(home, id), anchors_of(home.get(id)[0])[0].was)


def test_an_older_definition_is_not_taken_for_a_moved_one(home, repo):
    """A twin, a namesake and a like neighbour that stood there already are nobody's new place: the
    fact is gone.
    """
    twin = PRICE.replace("price_of", "price_of_old")
    for extra in (
        {"twin.py": PRICE},
        {"twin.py": PRICE.replace("+ 1", "+ 2")},
        {"cart.py": f"{CART}\n\n{twin}"},
    ):
        edit(repo, **{"cart.py": CART, **extra})
        id = told(home, repo)
        edit(repo, **{"cart.py": (repo / "cart.py").read_text().replace(PRICE, "", 1)})
        home.code.index(repo)
        assert ("cart.py:price_of", GONE) == now_of(home, id), extra
        for name in extra:
            edit(repo, **{name: CART if name == "cart.py" else None})
        home.code.index(repo)


def test_overloads_and_setters_belong_together(home, repo):
    """A name with two definitions is one place: a change in either is told."""
    two = (
        "class A:\n    @property\n    def n(self):\n        return 1\n\n"
        "    @n.setter\n    def n(self, v):\n        self.m = v\n"
    )
    edit(repo, **{"a.py": two})
    id = told(home, repo, "a.py:A.n")
    edit(repo, **{"a.py": two.replace("self.m = v", "self.m = v + 1")})
    home.code.index(repo)
    assert ("a.py:A.n", CHANGED) == now_of(home, id)


def test_a_fact_about_a_file(home, repo):
    """The file as a whole: its layout may change, its code not; it is followed by its content or
    most of it.
    """
    more = CART + "\n\ndef third():\n    return 3\n"
    edit(repo, **{"cart.py": more})
    id = told(home, repo, "cart.py")
    assert {"file:cart.py"} == edges_of(home, id)
    for files, place, state in (
        ({"cart.py": "# hello\n" + more}, "cart.py", ""),
        ({"cart.py": more.replace("3 * n", "5 * n")}, "cart.py", CHANGED),
        ({"cart.py": None, "lib/cart.py": more}, "lib/cart.py", ""),
        (
            {"lib/cart.py": None, "wagon.py": more.replace("return 3", "return 4")},
            "wagon.py",
            CHANGED,
        ),
        ({"wagon.py": None}, "wagon.py", GONE),
        ({"cart.py": more}, "cart.py", ""),
    ):
        edit(repo, **files)
        home.code.index(repo)
        assert (place, state) == now_of(home, id), files


def test_a_file_that_is_no_code(home, repo):
    """Any text file of the repository can be spoken of; a moved one is found by its content."""
    edit(repo, **{"NOTES.md": "one two three\n"})
    id = told(home, repo, "NOTES.md")
    edit(repo, **{"NOTES.md": None, "docs/NOTES.md": "one two three\n"})
    home.code.index(repo)
    assert ("docs/NOTES.md", "") == now_of(home, id)
    edit(repo, **{"docs/NOTES.md": "one two four\n"})
    home.code.index(repo)
    assert ("docs/NOTES.md", CHANGED) == now_of(home, id)


def git(repo, *words):
    return subprocess.run(
        ["git", "-C", str(repo), "-c", "user.name=a", "-c", "user.email=a@b.c", *words],
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_anchors_follow_renames_branches_and_reverts(home, repo):
    """Renamed with git, altered on a branch, checked out and reverted: what is told is what is
    checked out.
    """
    git(repo, "init", "-qb", "main")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "one")
    id = told(home, repo)
    git(repo, "mv", "cart.py", "basket.py")
    git(repo, "commit", "-qm", "two")
    home.code.index(repo)
    assert ("basket.py:price_of", "") == now_of(home, id)
    git(repo, "checkout", "-qb", "side")
    edit(repo, **{"basket.py": CART.replace("3 * n", "4 * n")})
    git(repo, "commit", "-qam", "three")
    home.code.index(repo)
    assert ("basket.py:price_of", CHANGED) == now_of(home, id)
    git(repo, "checkout", "-q", "main")
    home.code.index(repo)
    assert ("basket.py:price_of", "") == now_of(home, id)
    git(repo, "checkout", "-q", "HEAD~1")
    home.code.index(repo)
    assert ("cart.py:price_of", "") == now_of(home, id)
    git(repo, "checkout", "-q", "side")
    git(repo, "revert", "--no-edit", "HEAD")
    home.code.index(repo)
    assert ("basket.py:price_of", "") == now_of(home, id)


def test_a_work_tree_that_is_gone_leaves_its_facts_to_the_project(home, repo, tmp_path):
    """What was said in a work tree is held against the project once the work tree is removed."""
    git(repo, "init", "-qb", "main")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "one")
    tree = tmp_path / "side"
    git(repo, "worktree", "add", "-q", str(tree))
    home.code.index(tree)
    home.code.index(repo)
    space = config.project_space_of(repo)
    assert space == config.project_space_of(tree)
    id = home.remember(TEXT, space=space, about=[str(tree / "cart.py:price_of")]).id
    edit(repo, **{"cart.py": CART.replace("3 * n", "4 * n")})
    home.code.index(repo)
    assert ("cart.py:price_of", "") == now_of(home, id), "the work tree's own file is what it was"
    git(repo, "worktree", "remove", "--force", str(tree))
    home.code.index(repo)
    assert ("cart.py:price_of", CHANGED) == now_of(home, id)


def test_a_stale_mark_is_shown_everywhere(home, repo):
    """A mark is shown in hits, in the block and in the story; a changed one ranks lower, a gone one
    is not injected unasked.
    """
    id = told(home, repo, triggers=["tool:Edit"])
    before = compute_prior(home.get(id)[0], home.work.now)
    edit(repo, **{"cart.py": CART.replace("3 * n", "4 * n")})
    home.code.index(repo)
    one = home.get(id)[0]
    words = "said about an older version of price_of in cart.py"
    (hit,) = home.recall("prices in cents", space=SPACE)
    assert (words, words) == (hit.why[-1], outdated_notice(hit.memory))
    assert words in render_block([Hit(one, 0.9)], home.work.now, limit=3, budget=500).text
    assert words in home.warnings("Edit", "cart.py", space=SPACE)[0].why
    assert words in home.recall("", space=SPACE)[0].why
    assert any(
        words in line and f"reverie code anchors {id}" in line for line in home.explain(id).story
    )
    assert before * 0.85 == pytest.approx(compute_prior(one, home.work.now))
    assert (
        [id]
        == [memory.id for memory in home.code.outdated(space=SPACE)]
        == [m.id for m in home.review.pending(space=SPACE)]
    )
    with home.companion(space=f"{SPACE}/s1") as companion:
        block = companion.turn([{"role": "user", "content": "Prices are in cents?"}])
    assert words in block.text
    edit(repo, **{"cart.py": None})
    home.code.index(repo)
    with home.companion(space=f"{SPACE}/s2") as companion:
        block = companion.turn([{"role": "user", "content": "Prices are in cents?"}])
    assert "" == block.text
    (hit,) = home.recall("prices in cents", space=SPACE)
    assert ("which is not there any more" in hit.why[-1], GONE) == (
        True,
        outdated_state(hit.memory),
    )
    assert before * 0.75 == pytest.approx(compute_prior(hit.memory, home.work.now))


def test_a_mark_is_an_event_that_can_be_taken_back(home, repo):
    """It stands in the history with what was there before; undo brings that back, and the next look
    marks it again.
    """
    id = told(home, repo)
    before = home.get(id)[0]
    edit(repo, **{"cart.py": None, "basket.py": CART.replace("3 * n", "4 * n")})
    home.code.index(repo)
    event = home.history(id)[-1].event
    assert ("anchor", ["basket.py:price_of changed"]) == (event.verb, event.payload["code"])
    home.undo(event.seq)
    after = home.get(id)[0]
    assert (before.details, {"symbol:cart.py#price_of"}) == (after.details, edges_of(home, id))
    home.code.index(repo)
    assert ("basket.py:price_of", CHANGED) == now_of(home, id)
    last = home.store.last_event()
    home.code.index(repo)
    assert last == home.store.last_event(), "what is told already is not told again"


def test_confirming_renews_an_anchor(home, repo):
    """`confirm` and `curate` set the anchor to the code as it is; what is gone is let go of; then
    nothing waits.
    """
    for decide in (
        lambda id: home.code.confirm(id, note="read it"),
        lambda id: home.review.curate(id, "validated"),
    ):
        edit(repo, **{"cart.py": CART})
        id = told(home, repo)
        edit(repo, **{"cart.py": CART.replace("3 * n", "4 * n")})
        home.code.index(repo)
        decide(id)
        assert (("cart.py:price_of", ""), []) == (now_of(home, id), home.code.outdated(space=SPACE))
        edit(repo, **{"cart.py": CART})
        home.code.index(repo)
        assert ("cart.py:price_of", CHANGED) == now_of(home, id), (
            "it was confirmed for the other text"
        )
        edit(repo, **{"cart.py": None})
        home.code.index(repo)
        decide(id)
        assert ([], set(), []) == (
            anchors_of(home.get(id)[0]),
            edges_of(home, id),
            home.review.pending(space=SPACE),
        )
    assert any(
        "confirmed" in line
        for record in home.browse(space=SPACE)
        for line in home.explain(record.id).story
    )


def test_anchors_can_be_given_and_taken_off(home, repo):
    """`anchor` adds and takes away; `about` tells then and now."""
    id = told(home, repo)
    home.code.anchor(id, [str(repo / "cart.py::Cart.total")])
    assert ["price_of", "Cart.total"] == [one.symbol for one in home.code.anchors(id)]
    home.code.anchor(id, off=["cart.py:price_of"])
    assert {"symbol:cart.py#Cart.total"} == edges_of(home, id)
    edit(repo, **{"cart.py": CART.replace("price_of(3)", "price_of(4)")})
    home.code.index(repo)
    (one,) = home.code.anchors(id)
    assert ("price_of(3)" in one.then, "price_of(4)" in one.now, one.state) == (True, True, CHANGED)
    with pytest.raises(BadInput, match="is not about"):
        home.code.anchor(id, off=["cart.py:nobody"])


def test_what_cannot_be_anchored_is_refused(home, repo, tmp_path):
    """No such file, symbol or repository, a secret file, too many: refused, with what to do;
    nothing is kept.
    """
    home.code.index(repo)
    edit(repo, **{".secretsignore": "keys.py\n", "keys.py": "def key():\n    return 1\n"})
    for place, words in (
        ("none.py", "not a file"),
        ("cart.py:nobody", "does not define nobody"),
        ("keys.py", "not a file"),
        ("../elsewhere.py", "Index it"),
    ):
        with pytest.raises(NotFound, match=words):
            home.remember(TEXT, space=SPACE, about=[str(repo / place)])
    with pytest.raises(BadInput, match="20"):
        home.remember(TEXT, space=SPACE, about=[str(repo / "cart.py")] * 21)
    with pytest.raises(BadInput, match="Item 1"):
        home.remember_many([{"text": "a"}, {"text": "b", "about": 7}], space=SPACE)
    assert [] == home.browse(space=SPACE)
    kept = home.remember_many([{"text": "a", "about": [str(repo / "cart.py:Cart")]}], space=SPACE)
    assert [("cart.py:Cart", "")] == [now_of(home, one.id) for one in kept]


NAMED = [
    ("`price_of` counts cents", ["cart.py:price_of"]),
    ("Cart.total adds two prices", ["cart.py:Cart.total"]),
    ("in cart.py everything is in cents", ["cart.py"]),
    ("`other` in other.py returns 1", ["other.py:other"]),
    ("`same` is ambiguous", []),
    ("`same` in two.py is not", ["two.py:same"]),
    ("one.same is not either", ["one.py:same"]),
    ("the total of a cart", []),
    ("see nowhere.py", []),
    ("NOTES.md says nothing", []),
]


@pytest.mark.parametrize(("text", "places"), NAMED)
def test_a_text_names_what_it_is_about(home, repo, text, places):
    """In settle, what a memory of the project's space names gets anchors; what is ambiguous gets
    none.
    """
    written(
        repo, **{"one.py": "def same():\n    return 1\n", "two.py": "def same():\n    return 2\n"}
    )
    home.code.index(repo)
    one = home.remember(text, space=config.project_space_of(repo))
    home.settle()
    assert places == [anchor.location for anchor in anchors_of(home.get(one.id)[0])]


def test_some_memories_get_no_anchor(home, repo):
    """What happened, what another project says, and what was said before the file was
    altered last.
    """
    home.code.index(repo)
    space = config.project_space_of(repo)
    ids = [
        home.remember("`price_of` counts cents", space=space, kind="event").id,
        home.remember("`price_of` counts cents", space="me/else").id,
        home.remember("`price_of` counts in cents", space=space, at=OLD - 86_400).id,
    ]
    home.settle()
    assert [[], [], []] == [anchors_of(memory) for memory in home.get(ids)]


def test_the_first_index_finds_what_was_said_before(home, repo):
    """Memories that were there already get their anchors, unless the file was altered after they
    were said.
    """
    space = config.project_space_of(repo)
    one = home.remember("`price_of` counts cents", space=f"{space}/s1").id
    two = home.remember("`Cart.total` adds prices", space=space, at=OLD - 86_400).id
    home.settle()
    home.code.index(repo)
    assert [1, 0] == [len(anchors_of(memory)) for memory in home.get([one, two])]


def test_a_revised_text_takes_the_anchors_it_named_with_it(home, repo):
    """A revised text takes the anchors that the old one named with it; those that were
    given stay.
    """
    home.code.index(repo)
    one = home.remember(
        "`price_of` counts cents",
        space=config.project_space_of(repo),
        about=[str(repo / "other.py")],
    ).id
    home.settle()
    assert ["other.py", "cart.py:price_of"] == [
        anchor.location for anchor in anchors_of(home.get(one)[0])
    ]
    home.revise(one, text="`Cart.total` counts cents")
    home.settle()
    assert ["other.py", "cart.py:Cart.total"] == [
        anchor.location for anchor in anchors_of(home.get(one)[0])
    ]
    assert {"file:other.py", "symbol:cart.py#Cart.total"} == edges_of(home, one)


def test_a_file_that_a_text_only_names_may_change(home, repo):
    """As long as half of what it defines is what it was; then it is told. Deleted: told at once."""
    four = "".join(f"def f{n}():\n    return {n}\n\n\n" for n in range(4))
    written(repo, **{"four.py": four})
    home.code.index(repo)
    one = home.remember("Run four.py after a change", space=config.project_space_of(repo)).id
    home.settle()
    for text, state in (
        (four.replace("return 1", "return 9"), ""),
        (four.replace("return", "yield"), CHANGED),
        (four, ""),
    ):
        edit(repo, **{"four.py": text})
        home.code.index(repo)
        assert ("four.py", state) == now_of(home, one)
    edit(repo, **{"four.py": None})
    home.code.index(repo)
    assert ("four.py", GONE) == now_of(home, one)


def test_what_is_said_again_keeps_its_anchor(home, repo, clock):
    """A memory that takes in one that says the same takes its anchor over; said of newer code, it
    holds for that.
    """
    home.code.index(repo)
    first = home.remember("The price is in cents of a euro.", space=SPACE, session="s1").id
    again = home.remember(
        "The price is in cents of a euro.",
        space=SPACE,
        session="s2",
        about=[str(repo / "cart.py:price_of")],
    ).id
    home.settle()
    (kept,) = home.browse(space=SPACE)
    assert {kept.id} <= {first, again}
    assert [("cart.py:price_of", "")] == [(one.location, one.state) for one in anchors_of(kept)]
    edit(repo, **{"cart.py": CART.replace("3 * n", "4 * n")})
    home.code.index(repo)
    assert ({"symbol:cart.py#price_of"}, CHANGED) == (
        edges_of(home, kept.id),
        outdated_state(home.get(kept.id)[0]),
    )
    clock.tick(60)
    home.remember(
        "The price is in cents of a euro.",
        space=SPACE,
        session="s3",
        about=[str(repo / "cart.py:price_of")],
    )
    home.settle()
    (kept,) = home.browse(space=SPACE)
    assert ("cart.py:price_of", "") == now_of(home, kept.id)
    assert ("", []) == (outdated_notice(kept), home.data.verify())


@pytest.mark.proves("B112")
def test_sleep_verifies_facts(home, repo):
    """A night renews the index and marks what has changed; a dry run only tells; the night can be
    undone.
    """
    id = told(home, repo)
    before = home.get(id)[0].details
    edit(repo, **{"cart.py": CART.replace("3 * n", "4 * n")})
    dry = home.sleep(["anchors"], dry_run=True)
    assert (["said about an older version of price_of in cart.py"], ("cart.py:price_of", "")) == (
        [planned.step.why for planned in dry.plan],
        now_of(home, id),
    )
    slept = home.sleep(["anchors"])
    assert (1, ("cart.py:price_of", CHANGED)) == (slept.steps, now_of(home, id))
    assert 0 == home.sleep(["anchors"]).steps
    home.undo(slept.run)
    assert before == home.get(id)[0].details


def test_settling_looks_after_anchors_once_a_minute(home, repo, clock):
    """Whoever settles in the background holds anchors against the code, and not all the time."""
    id = told(home, repo)
    home.settle()
    edit(repo, **{"cart.py": CART.replace("3 * n", "4 * n")})
    home.settle()
    assert ("cart.py:price_of", "") == now_of(home, id)
    clock.tick(61)
    home.settle()
    assert ("cart.py:price_of", CHANGED) == now_of(home, id)
    shutil.rmtree(repo)
    clock.tick(61)
    home.settle()
    assert ("cart.py:price_of", CHANGED) == now_of(home, id), (
        "a folder that is not there says nothing"
    )


@pytest.mark.parametrize(
    ("answer", "state", "words"),
    [
        ({"still": "yes", "why": "same unit"}, "", ""),
        ({"still": "no", "why": "euros now"}, CHANGED, "no longer so, says a model: euros now"),
        ({"still": "unsure"}, CHANGED, "older version of price_of in cart.py"),
        ({"still": "maybe"}, CHANGED, "older version of price_of in cart.py"),
    ],
)
def test_a_model_judges_in_sleep_whether_a_fact_holds(tmp_path, repo, clock, answer, state, words):
    """In sleep, with both texts before it, within the budget and once; its no is told, its yes
    takes the mark away.
    """
    with (
        scripted(json.dumps(answer)) as script,
        memory(tmp_path / "home", now=clock, llm=script.openai) as mind,
    ):
        id = told(mind, repo)
        edit(repo, **{"cart.py": CART.replace("3 * n", "4 * n")})
        mind.sleep(["anchors"])
        asked = len(script.asked)
        assert (
            asked >= 1
            and "3 * n" in script.data(0)
            and "4 * n" in script.data(0)
            and TEXT in script.data(0)
        )
        assert (state, True) == (now_of(mind, id)[1], words in outdated_notice(mind.get(id)[0]))
        if answer["still"] != "maybe":
            mind.sleep(["anchors"])
            assert asked == len(script.asked)
        edit(repo, **{"cart.py": CART})
        mind.sleep(["anchors"], ask=False)
        assert (CHANGED if answer["still"] == "yes" else "") == now_of(mind, id)[1]


def test_a_definition_that_is_too_long_to_show_is_not_judged(tmp_path, repo, clock):
    """A definition longer than what is kept of it is not judged by its beginning."""
    long = "def long(n):\n" + "".join(f"    n += {k} * n\n" for k in range(200)) + "    return n\n"
    edit(repo, **{"cart.py": long})
    with (
        scripted('{"still": "yes"}') as script,
        memory(tmp_path / "home", now=clock, llm=script.openai) as mind,
    ):
        id = told(mind, repo, "cart.py:long")
        edit(repo, **{"cart.py": long.replace("199 * n", "-1")})
        mind.sleep(["anchors"])
        assert ([], CHANGED) == (script.asked, now_of(mind, id)[1])


INDEXER = """
import sys
from reverie.core.clock import now
from reverie.testing import memory
sys.stdin.readline()
with memory(sys.argv[1], now=now) as mind:
    mind.code.index(sys.argv[2])
"""


def test_two_processes_at_once(tmp_path, repo):
    """Both look after the same anchors; each memory is marked once, and the store is as it should
    be.
    """
    home = tmp_path / "home"
    with open_mind(home) as mind:
        mind.code.index(repo)
        ids = [
            one.id
            for one in mind.remember_many(
                [
                    {"text": f"{TEXT} {n}", "about": [str(repo / "cart.py:price_of")]}
                    for n in range(60)
                ],
                space=SPACE,
            )
        ]
    edit(repo, **{"cart.py": None, "money.py": PRICE.replace("3 * n", "4 * n")})
    both = [
        subprocess.Popen(
            [sys.executable, "-c", INDEXER, str(home), str(repo)], stdin=subprocess.PIPE
        )
        for _ in range(2)
    ]
    for one in both:
        assert one.stdin
        one.stdin.write(b"go\n")
        one.stdin.close()
    assert [0, 0] == [one.wait(120) for one in both]
    with open_mind(home) as mind:
        assert {("money.py:price_of", CHANGED)} == {now_of(mind, id) for id in ids}
        assert {1} == {
            sum(
                record.event.verb == "anchor" and record.op == "revise"
                for record in mind.history(id)
            )
            for id in ids
        }
        assert [] == mind.data.verify()


def test_the_commands(tmp_path, repo, monkeypatch):
    """remember --about, about, about ID with --on, --off and --still-true, recall, curate; with
    --json.
    """
    home = ("--home", str(toy_home(tmp_path)))
    monkeypatch.chdir(repo)
    run_command("code", "index", *home)
    kept = json.loads(
        run_command("remember", TEXT, "--about", "cart.py:price_of", *home, "--json").stdout
    )["memory"]["id"]
    assert (
        "cart.py:price_of: as it was when it was said"
        in run_command("code", "anchors", kept, *home).stdout
    )
    assert "Nothing speaks of code" in run_command("code", "anchors", *home).stdout
    edit(Path(repo), **{"cart.py": CART.replace("3 * n", "4 * n")})
    run_command("code", "index", *home)
    shown = run_command("code", "anchors", kept, *home).stdout
    assert (
        "said about an older version" in shown
        and "-    total = 3 * n" in shown
        and "+    total = 4 * n" in shown
    )
    assert shorten_id(kept) in run_command("code", "anchors", *home).stdout
    assert "said about an older version" in run_command("recall", "prices", *home).stdout
    assert "said about an older version" in run_command("memory", "curate", *home).stdout
    assert "out of date" in run_command("show", kept, *home).stdout
    assert 1 == len(json.loads(run_command("code", "anchors", "--json", *home).stdout)["memories"])
    told = json.loads(
        run_command(
            "code", "anchors", kept, "--still-true", "--on", "other.py", *home, "--json"
        ).stdout
    )["about"]
    assert [("cart.py", "price_of", ""), ("other.py", "", "")] == [
        (o["path"], o["symbol"], o["state"]) for o in told
    ]
    run_command("code", "anchors", kept, "--off", "other.py", "--off", "cart.py:price_of", *home)
    assert "It is about no code" in run_command("code", "anchors", kept, *home).stdout
    run_command("code", "anchors", "--still-true", *home, code=2)


def test_a_memory_without_anchors_costs_nothing(home):
    """A memory that speaks of no code has no mark and adds no cost."""
    one = make_memory("plain")
    assert ("", "", []) == (outdated_notice(one), outdated_state(one), anchors_of(one))
