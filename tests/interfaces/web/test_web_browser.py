"""The pages in a real browser: by keyboard alone, without JavaScript, narrow and dark, live."""

import pytest

from reverie.core.model import Event
from reverie.testing import SPACE
from tests.interfaces.web.browser_checks import press, type_text
from tests.interfaces.web.web_client import remember_everything

pytestmark = pytest.mark.e2e
PATHS = (
    "/",
    "/ask",
    "/ask?q=staging",
    "/review",
    "/nights",
    "/guards",
    "/health",
    "/health/growth",
    "/health/decay",
)
# Every control has a name, every id is there once, every page its landmarks.
CHECK = """() => {
  const wrong = [];
  const named = (el) => el.labels?.length || el.getAttribute('aria-label') || el.type === 'hidden' || el.textContent.trim();
  for (const el of document.querySelectorAll('input, select, textarea, button')) if (!named(el)) wrong.push(el.outerHTML);
  const ids = [...document.querySelectorAll('[id]')].map((el) => el.id);
  if (new Set(ids).size !== ids.length) wrong.push('ids ' + ids);
  for (const place of ['main', 'header', 'nav', 'footer']) if (document.querySelectorAll(place).length !== 1) wrong.push(place);
  if (document.querySelectorAll('h1').length !== 1) wrong.push('h1');
  if (document.documentElement.scrollWidth > innerWidth) wrong.push('wider than the screen');
  return wrong;
}"""


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_every_page_is_whole_and_quiet(visit, width, scheme):
    """Hostile text in every field: no dialog, no message, no request elsewhere; nothing sticks out,
    every control is named.
    """
    browser = visit(viewport={"width": width, "height": 800}, color_scheme=scheme)
    made = remember_everything(browser.mind)
    for path in (*PATHS, f"/memory/{made['nasty'].id}"):
        page = browser.go(path)
        page.wait_for_load_state()
        assert (path, page.evaluate(CHECK)) == (path, [])
    assert browser.trouble == []


def test_it_is_searched_while_one_types(visit):
    """`/` leads into the field, letters bring hits without a key more, the address can be shared."""
    browser = visit()
    remember_everything(browser.mind)
    page = browser.go("/")
    press(page, "g", "a")
    page.wait_for_url("**/ask")
    press(page, "Escape")
    press(page, "/")
    type_text(page, "staging")
    page.wait_for_selector("#results h2:has-text('Memories')")
    assert "heron" in page.locator("#results").inner_text()
    page.wait_for_function("location.search.includes('q=staging')")
    assert browser.trouble == []


def test_what_words_found_at_once_is_replaced_by_what_ranks(visit, monkeypatch):
    """Nobody has to press anything, and the address stays that of the question."""
    browser = visit()
    remember_everything(browser.mind)
    # No home is so large in a test: each counts as not loaded until it was asked once.
    asked_before = iter([True])
    monkeypatch.setattr(type(browser.mind.store), "must_load", lambda *_: next(asked_before, False))
    page = browser.go("/ask?q=staging")
    page.wait_for_selector("#results:not(:has(.notice)) .rows")
    assert "heron" in page.locator("#results").inner_text()
    assert page.evaluate("location.search") == "?q=staging" and not list(asked_before)
    assert browser.trouble == []


def test_review_is_done_by_keyboard_alone(visit):
    """j and k go through the cards, x selects, a decides, u takes back."""
    browser = visit()
    mind = browser.mind
    ids = [
        mind.remember(f"Concluded {n}.", space=SPACE, provenance="inferred").id for n in range(4)
    ]
    page = browser.go("/review")
    shown = page.locator("[data-card]:not([hidden]) a.text")
    first = shown.inner_text()
    press(page, "j")
    second = shown.inner_text()
    press(page, "k")
    assert first == shown.inner_text() != second
    press(page, "r")
    page.wait_for_selector(".toast")
    assert [not one.active for one in mind.get(ids)].count(True) == 1
    press(page, "u")
    page.wait_for_selector(".toast:has-text('Took it back')")
    assert all(one.active for one in mind.get(ids))
    press(page, "x", "x")
    assert page.locator("[data-count]").inner_text() == "2"
    press(page, "a")
    page.wait_for_selector(".toast:has-text('Decided 2')")
    assert len(mind.review.pending(space=SPACE)) == 2
    assert browser.trouble == []


def test_a_memory_is_edited_by_keyboard_and_the_keys_are_told(visit):
    """e opens the form in its field; ? lists what can be pressed here."""
    browser = visit()
    made = remember_everything(browser.mind)
    page = browser.go(f"/memory/{made['heron'].id}")
    press(page, "?")
    assert "Forget" in page.locator("dialog[open]").inner_text()
    press(page, "Escape")
    press(page, "e", "Control+a")
    type_text(page, "It is called otter.")
    press(page, "Tab")
    page.locator("form[action$='/edit'] button").press("Enter")
    page.wait_for_selector(".toast")
    assert browser.mind.get([made["heron"].id])[0].text == "It is called otter."
    press(page, "u")
    page.wait_for_selector(".toast:has-text('Took it back')")
    assert "heron" in page.locator("h1").inner_text()
    assert browser.trouble == []


def test_without_javascript_one_reads_and_acts(visit):
    """Links, forms and the undo in the toast are all there is to it."""
    browser = visit(java_script_enabled=False)
    made = remember_everything(browser.mind)
    page = browser.go("/ask?q=staging")
    page.click("text=The staging server is called heron.")
    page.click("button:has-text('Forget')")
    assert not browser.mind.get([made["heron"].id])[0].active
    page.click(".toast button")
    assert browser.mind.get([made["heron"].id])[0].active
    browser.go("/review")
    page.click("button:has-text('Keep the newer')")
    assert not browser.mind.get([made["older"].id])[0].active
    assert browser.trouble == []


def test_what_was_given_is_judged_by_keyboard(visit):
    """j goes to the next memory of the feed, 2 says that it was wrong."""
    browser = visit()
    made = remember_everything(browser.mind)
    page = browser.go("/")
    press(page, "j")
    press(page, "2")
    page.wait_for_selector(".toast:has-text('Noted: wrong')")
    assert browser.mind.get([made["nasty"].id])[0].confidence < made["nasty"].confidence
    assert browser.trouble == []


def test_what_is_withheld_stands_in_the_feed_with_its_gate_and_is_judged_there(visit):
    """Below what a turn was given stands what was kept back and why; `3` puts it away for good, `u`
    brings it back, and one is in the feed all the while.
    """
    browser = visit()
    mind = browser.mind
    kept = mind.remember("We deploy to staging by hand.", space=SPACE, provenance="inferred")
    said = {"messages": [{"role": "user", "text": "deploy to staging by hand"}], "first": 0}
    mind.store.append([Event("turn", SPACE, mind.context.now(), "s1", said)])
    page = browser.go("/")
    page.wait_for_selector("[aria-label=Withheld] [data-current] .gate:has-text('not approved')")
    press(page, "3")
    page.wait_for_url("**/?done=*")
    page.wait_for_selector(".toast:has-text('Never again')")
    assert not mind.get([kept.id])[0].active and page.locator("h1").inner_text() == "Now"
    press(page, "u")
    page.wait_for_selector(".toast:has-text('Took it back')")
    assert mind.get([kept.id])[0].active
    assert browser.trouble == []


def test_who_is_at_a_withheld_card_still_is_when_a_turn_comes(visit):
    """What was withheld stands there until it has come anew, so that a key pressed just then judges
    what one looked at.
    """
    browser = visit()
    mind = browser.mind
    kept = mind.remember("We deploy to staging by hand.", space=SPACE, provenance="inferred")
    tell_turn(mind, "deploy to staging by hand")
    page = browser.go("/")
    page.wait_for_selector("[aria-label=Withheld] [data-current]")
    # From here on what is withheld never comes.
    page.route("**/gates*", lambda route: None)
    tell_turn(mind, "brand new words")
    page.wait_for_selector("article.turn >> nth=1")
    press(page, "3")
    page.wait_for_selector(".toast:has-text('Never again')")
    assert not mind.get([kept.id])[0].active
    assert browser.trouble == []


def tell_turn(mind, text):
    """An agent's turn, in which somebody said so."""
    said = {"messages": [{"role": "user", "text": text}], "first": 0}
    mind.store.append([Event("turn", SPACE, mind.context.now(), "s1", said)])


def test_growth_and_decay_are_drawn(visit, clock):
    """From the second day on there are plots, which say on hovering what they show."""
    browser = visit()
    for _ in range(3):
        browser.mind.remember(f"Of day {clock()}.", space=SPACE)
        clock.tick(days=1)
    page = browser.go("/health")
    page.wait_for_selector("growth-plot canvas")
    page.wait_for_selector("#findings .row")
    assert "Memories" in page.locator("growth-plot").inner_text()
    page.locator("decay-plot").scroll_into_view_if_needed()
    page.wait_for_selector("decay-plot canvas")
    assert "fact" in page.locator("decay-plot").inner_text()
    assert browser.trouble == []


def test_pages_stay_in_step_with_what_agents_do(visit):
    """A turn appears in the feed; a memory that is changed elsewhere is told of, not overwritten."""
    browser = visit()
    mind = browser.mind
    made = remember_everything(mind)
    page = browser.go("/")
    press(page, "j")
    said = {"messages": [{"role": "user", "text": "brand new words"}], "first": 0}
    mind.store.append([Event("turn", SPACE, mind.context.now(), "s2", said)])
    page.wait_for_selector("text=brand new words")
    # Who looked at a card still does, though a turn has come above it.
    page.wait_for_selector("[data-current]:has-text('Hostile'), [data-current]:has-text('<img')")
    browser.go(f"/memory/{made['heron'].id}")
    mind.revise(made["heron"].id, text="The staging server is called crane.")
    page.wait_for_selector("#changed:visible")
    page.click("#changed a")
    assert "crane" in page.locator("h1").inner_text()
    assert browser.trouble == []
