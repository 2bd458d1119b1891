"""Keys that are told and keys that do something are the same; two pages that are open at once, and
an agent that changes things meanwhile.
"""

import string

import pytest

from reverie.core.model import Event
from reverie.testing import SPACE
from tests.interfaces.web import browser_checks
from tests.interfaces.web.browser_checks import press, type_text
from tests.interfaces.web.conftest import open_tab
from tests.interfaces.web.hostile_home import fill_hostile
from tests.interfaces.web.web_client import remember_everything

pytestmark = pytest.mark.e2e
KEYS = [*string.ascii_lowercase, *string.digits, "/"]
# A click is noted and goes no further, so that all keys can be pressed on one page.
WATCH = """() => {
  window.did = [];
  document.addEventListener('click', (event) => { event.preventDefault(); event.stopImmediatePropagation(); window.did.push('click'); }, true);
  document.addEventListener('submit', (event) => { event.preventDefault(); window.did.push('submit'); }, true);
  window.look = () => [window.did.length, [...document.querySelectorAll('[data-card]')].findIndex((one) => one.hasAttribute('data-current')),
    document.querySelectorAll('[data-select]:checked').length, document.activeElement.outerHTML.slice(0, 80)].join(' ');
}"""
PRESS = """(keys) => keys.filter((key) => {
  for (const box of document.querySelectorAll('[data-select]:checked')) { box.checked = false; box.dispatchEvent(new Event('change', { bubbles: true })); }
  document.activeElement.blur();
  const before = window.look();
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  return window.look() !== before;
})"""
# The same after g.
GO = """(keys) => keys.filter((key) => {
  document.activeElement.blur();
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'g', bubbles: true }));
  const before = window.look();
  document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  return window.look() !== before;
})"""
# Not by the keyboard: a field may take the focus only when the page is drawn, after the first key.
ASK = """() => document.body.dispatchEvent(
  new KeyboardEvent('keydown', { key: '?', bubbles: true, cancelable: true }))"""
TOLD = "[...document.querySelectorAll('#keys dt')].map((one) => one.textContent)"


def test_the_keys_that_are_told_are_those_that_do_something(visit, tmp_path):
    """On every page: each key of the list that `?` shows does something, and no other key does."""
    pytest.importorskip("tree_sitter", reason="pip install 'reverie[code]'")
    browser = visit()
    known, kept = fill_hostile(browser.mind, tmp_path / "repo", count=12)
    wrong = {}
    for path in [*browser_checks.list_addresses(known).values(), f"/memory/{kept[1].id}"]:
        page = browser.go(path)
        page.evaluate(ASK)
        told = page.evaluate(TOLD)
        press(page, "Escape")
        page.evaluate(WATCH)
        # Cards are gone through from the first to the last: j first does something, then k.
        page.evaluate(PRESS, ["k"] * 20)
        done = page.evaluate(PRESS, ["j", "k", *[key for key in KEYS if key not in "gjk"]])
        goes = [f"g {key}" for key in page.evaluate(GO, list(string.ascii_lowercase))]
        found = sorted({*done, "?", *goes})
        if sorted(told) != found:
            wrong[path] = (sorted(set(told) - set(found)), sorted(set(found) - set(told)))
    assert wrong == {}


def test_a_key_of_a_card_that_is_done_acts_on_no_other(visit, clock):
    """A hunk that was taken back has no `r`: pressing it leaves the next hunk alone."""
    browser = visit()
    mind = browser.mind
    for number in range(3):
        old = clock() - 86_400 * 4_000
        mind.remember(f"Old note {number}.", space=SPACE, kind="event", at=old)
    clock.tick(days=4_000)
    run = mind.sleep().run
    page = browser.go(f"/nights/{run}")
    press(page, "r")
    page.locator(".toast").wait_for()
    last = mind.store.last_event()
    press(page, "r")
    page.wait_for_timeout(300)
    assert mind.store.last_event() == last
    assert len(mind.browse(space=SPACE)) == 1


def test_two_pages_stay_in_step(visit):
    """What is decided in one is told in the other; who decides there too is told that it is done."""
    browser = visit()
    mind = browser.mind
    made = remember_everything(mind)
    first = browser.go("/review")
    second = open_tab(browser.page.context)
    second.goto(f"{browser.address}/review")
    assert "Fridays" in second.locator("[data-card]:not([hidden])").inner_text()
    press(first, "a")
    first.locator(".toast").wait_for()
    second.locator("#changed:visible").wait_for()
    events = mind.store.last_event()
    second.bring_to_front()
    press(second, "r")
    second.locator("h1:has-text('Changed meanwhile')").wait_for()
    assert mind.store.last_event() == events
    assert not mind.get([made["older"].id])[0].active and mind.get([made["newer"].id])[0].active
    second.goto(f"{browser.address}/review")
    assert "Fridays" not in second.locator("main").inner_text()


def test_an_edit_that_an_agent_overtook_is_kept_and_not_written(visit):
    """The page tells of the change while one types, keeps what was typed, and overwrites nothing."""
    browser = visit()
    mind = browser.mind
    id = remember_everything(mind)["heron"].id
    page = browser.go(f"/memory/{id}")
    press(page, "e", "Control+a")
    type_text(page, "It is called otter.")
    mind.revise(id, text="The staging server is called crane.")
    page.locator("#changed:visible").wait_for()
    assert page.locator("textarea[name=text]").input_value() == "It is called otter."
    page.locator("form[action$='/edit'] button").click()
    page.locator("h1:has-text('Changed meanwhile')").wait_for()
    assert page.locator("textarea").input_value() == "It is called otter."
    assert mind.get([id])[0].text == "The staging server is called crane."
    page.locator("main a").last.click()
    assert "crane" in page.locator("h1").inner_text()


def test_a_feed_goes_on_while_one_looks_at_it(visit):
    """Two pages show a new turn; the card at which one is stays the one it was."""
    browser = visit()
    mind = browser.mind
    remember_everything(mind)
    first = browser.go("/")
    second = open_tab(browser.page.context)
    second.goto(f"{browser.address}/")
    first.bring_to_front()
    press(first, "j")
    at = first.locator("[data-current]").get_attribute("data-memory")
    said = {"messages": [{"role": "user", "text": "brand new words"}], "first": 0}
    mind.store.append([Event("turn", SPACE, mind.context.now(), "s2", said)])
    first.wait_for_selector("text=brand new words")
    second.bring_to_front()
    second.wait_for_selector("text=brand new words")
    assert first.locator("[data-current]").get_attribute("data-memory") == at
