"""Memories that were edited on both sides, as cards: both versions, who, when, and every answer."""

import re

import pytest

from reverie.testing import SPACE, memory
from tests.interfaces.web.browser_checks import press, type_text
from tests.interfaces.web.web_client import open_site
from tests.support.sync_sides import StoreServer, SyncedHome, caller_of


@pytest.fixture
def both(tmp_path, clock):
    """A mind with a page on which a person wrote 443 while an agent wrote 8080."""
    with memory(tmp_path / "home", now=clock) as mind:
        one = mind.remember("Port is 80.", space=SPACE)
        (done,) = mind.data.mirror(SPACE)
        clock.tick(60)
        mind.revise(one.id, text="Port is 8080.")
        clock.tick(60)
        page = done.folder / "MEMORY.md"
        page.write_text(page.read_text("utf-8").replace("Port is 80.", "Port is 443."), "utf-8")
        (done,) = mind.data.mirror(SPACE)
        assert done.clashes == (one.id,)
        yield mind, one.id


def cards_of(mind):
    return [
        one for one in open_site(mind).get("/review.json").json()["cards"] if one["card"]["sides"]
    ]


def text_of(mind, id):
    (found,) = mind.get([id])
    return found.text if found.active else None


def test_a_both_sided_edit_is_a_card_with_both_versions_and_their_difference(both):
    """What gave way and what holds, who made each, and what differs, word by word."""
    mind, _ = both
    (shown,) = cards_of(mind)
    card = shown["card"]
    assert card["kind"] == "both-sided edit"
    assert [one["text"] for one in card["memories"]] == ["Port is 8080.", "Port is 443."]
    assert [one["by"] for one in card["sides"]] == ["here, by revise", "you, on its page"]
    page = open_site(mind).get("/review").text
    assert ">1</span>" in re.findall(r"Review [^\n]*badge[^\n]*", page)[0]
    assert "<del>8080</del>" in page and "<ins>443</ins>" in page and "Gave way" in page


@pytest.mark.parametrize(
    ("answer", "text", "becomes"),
    [
        ("accept", "", ["Port is 443."]),
        ("reject", "", ["Port is 8080."]),
        ("both", "", ["Port is 443.", "Port is 8080."]),
        ("edit", "Ports are 443 and 8080.", ["Ports are 443 and 8080."]),
    ],
)
def test_each_answer_is_given_and_taken_back(both, answer, text, becomes):
    """The card is gone once it is answered, and there again after the undo of the toast."""
    mind, id = both
    (shown,) = cards_of(mind)
    site = open_site(mind)
    fields = {"cards": shown["card"]["key"], "answer": answer, "text": text, "back": "/review"}
    page = site.post_form("/review/answer", **fields)
    assert page.status_code == 200, page.text
    assert sorted(one.text for one in mind.browse(space=SPACE)) == becomes
    assert not cards_of(mind)
    assert site.post_form("/review/answer", **fields).status_code == 409
    site.undo_shown(page)
    assert text_of(mind, id) == "Port is 443." and len(mind.browse(space=SPACE)) == 1
    assert [one["card"]["key"] for one in cards_of(mind)] == [shown["card"]["key"]]
    assert [] == mind.data.verify()


def test_what_was_deleted_on_a_page_while_it_was_changed_can_be_brought_back(tmp_path, clock):
    """The deletion holds; the other answer is the changed text, counting again."""
    with memory(tmp_path / "home", now=clock) as mind:
        for name in ("heron", "otter", "crane", "robin"):
            mind.remember(f"A host is called {name}.", space=SPACE)
        (done,) = mind.data.mirror(SPACE)
        id = mind.recall("otter", space=SPACE)[0].memory.id
        mind.revise(id, text="A host is called badger.")
        page = done.folder / "MEMORY.md"
        kept = [line for line in page.read_text("utf-8").splitlines(True) if "otter" not in line]
        page.write_text("".join(kept), "utf-8")
        mind.data.mirror(SPACE)
        (shown,) = cards_of(mind)
        assert list(shown["card"]["answers"]) == ["accept", "reject", "edit"]
        site = open_site(mind)
        page = site.post_form("/review/answer", cards=shown["card"]["key"], answer="reject")
        assert text_of(mind, id) == "A host is called badger."
        site.undo_shown(page)
        assert text_of(mind, id) is None


@pytest.mark.parametrize("late", ["laptop", "desktop"])
def test_what_two_devices_changed_is_a_card_whoever_came_last(clock, late):
    """Whether the own version won or lost on the server, both are shown to who came last."""
    from reverie.storage import open_store

    store = open_store("sqlite://:memory:")
    minds = {name: memory(now=clock) for name in ("laptop", "desktop")}
    caller = caller_of("ann", {})
    homes = {
        name: SyncedHome(mind, StoreServer(store, caller, clock), name)
        for name, mind in minds.items()
    }
    note = minds["laptop"].remember("The port is 4100.", space=SPACE)
    homes["laptop"].sync(), homes["desktop"].sync()
    clock.tick()
    minds["laptop"].revise(note.id, text="The port is 4200.")
    clock.tick()
    minds["desktop"].revise(note.id, text="The port is 4300.")
    early = "desktop" if late == "laptop" else "laptop"
    homes[early].sync(), homes[late].sync(), homes[early].sync(), homes[late].sync()
    mind = minds[late]
    (shown,) = cards_of(mind)
    card = shown["card"]
    assert [one["text"] for one in card["memories"]] == ["The port is 4200.", "The port is 4300."]
    ours = ["here, by revise", "you, on another device"]
    assert [one["by"] for one in card["sides"]] == (ours if late == "laptop" else ours[::-1])
    clock.tick()
    open_site(mind).post_form("/review/answer", cards=card["key"], answer="reject")
    homes[late].sync(), homes[early].sync()
    assert [text_of(one, note.id) for one in minds.values()] == ["The port is 4200."] * 2
    assert not cards_of(mind)
    for one in minds.values():
        assert [] == one.data.verify()
        one.close()
    store.close()


@pytest.mark.e2e
def test_both_versions_are_merged_by_keyboard_alone(visit):
    """`r` takes the other one, `u` the answer back, `e` begins with what holds."""
    browser = visit()
    mind = browser.mind
    id = mind.remember("Port is 80.", space=SPACE).id
    (done,) = mind.data.mirror(SPACE)
    mind.revise(id, text="Port is 8080.")
    page = done.folder / "MEMORY.md"
    page.write_text(page.read_text("utf-8").replace("Port is 80.", "Port is 443."), "utf-8")
    mind.data.mirror(SPACE)
    page = browser.go("/review")
    press(page, "r")
    page.wait_for_selector(".toast:has-text('Kept: “Port is 8080”')")
    assert text_of(mind, id) == "Port is 8080."
    press(page, "u")
    page.wait_for_selector("text=Merge by hand")
    assert text_of(mind, id) == "Port is 443."
    press(page, "e", "Control+End")
    type_text(page, " For tests it is 8080.")
    press(page, "Tab", "Enter")
    page.wait_for_selector(".toast:has-text('Merged into: “Port is 443. For tests')")
    assert text_of(mind, id) == "Port is 443. For tests it is 8080."
    assert browser.trouble == []


@pytest.mark.e2e
def test_who_opens_a_form_and_goes_on_at_once_is_not_put_back(visit):
    """What opens takes the focus, unless one is further already: Enter on the button presses it."""
    browser = visit()
    one = browser.mind.remember("Port is 80.", space=SPACE)
    stays = browser.go(f"/memory/{one.id}").evaluate(
        """() => {
          const box = document.querySelector("details.opens");
          box.querySelector("summary").click();
          const opened = new Promise((done) => setTimeout(() => done(document.activeElement.tagName), 50));
          return opened.then((field) => {
            box.open = false;
            box.querySelector("summary").click();
            box.querySelector("button").focus();
            return new Promise((done) => setTimeout(() => done([field, document.activeElement.tagName]), 50));
          });
        }"""
    )
    assert stays == ["TEXTAREA", "BUTTON"]
    assert browser.trouble == []
