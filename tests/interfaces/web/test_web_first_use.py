"""What somebody met who saw the pages for the first time (`bench/web_tasks`): each dead end, mended."""

import pytest

from reverie.core.model import Event
from reverie.interfaces.web.pages import PAGES
from reverie.interfaces.web.rendering import in_words, name_part
from reverie.interfaces.web.security import LocalSecurity, make_token
from reverie.interfaces.web.web_app import LocalMinds, build_web_app
from reverie.testing import SPACE
from tests.interfaces.web.browser_checks import press, type_text
from tests.interfaces.web.web_client import ADDRESS, KEY, Site, open_site, remember_everything

HERON = "The staging server is called heron."


def get(mind, id):
    (memory,) = mind.get([id])
    return memory


def test_what_was_done_names_what_it_was_done_to(mind):
    """One sees in the toast whether it was the right one, also when it is taken back."""
    id = mind.remember(HERON, space=SPACE).id
    site = open_site(mind)
    page = site.post_form(f"/memory/{id}/judge", verdict="never", back="/")
    assert f"Never again: “{HERON[:-1]}”" in page.text
    assert f"Took it back: “{HERON[:-1]}”" in site.undo_shown(page).text


def test_a_move_says_who_is_given_it_from_now_on(mind):
    """What lies above a space is given in it all the same; what lies beside it is not."""
    id = mind.remember(HERON, space=SPACE).id
    site = open_site(mind)
    above = site.post_form(f"/memory/{id}/move", to="me", back=f"/memory/{id}")
    assert f"{SPACE} is below it, and is given it all the same" in above.text
    site.undo_shown(above)
    beside = site.post_form(f"/memory/{id}/move", to="me/private", back=f"/memory/{id}")
    assert f"{SPACE} is not given it any more" in beside.text


def test_a_version_that_was_taken_back_is_not_taken_back_again(mind):
    """It says so and offers to do it again; the undo itself offers nothing."""
    id = mind.remember(HERON, space=SPACE).id
    changed = mind.revise(id, text="It is called otter.")
    assert changed.id == id
    edit = mind.history(id)[-1].event.seq
    undo = mind.undo(edit)
    site = open_site(mind)
    versions = site.get(f"/memory/{id}.json").json()["versions"]
    assert {one["event"]: one["undone_by"] for one in versions}[edit] == undo
    page = site.get(f"/memory/{id}").text
    assert f'action="/undo/{edit}"' not in page and f'action="/undo/{undo}"' in page
    assert "Do it again" in page and "Take back" not in page
    mind.undo(undo)
    versions = site.get(f"/memory/{id}.json").json()["versions"]
    assert {one["event"]: one["undone_by"] for one in versions}[edit] == 0


def test_changes_stand_together_with_a_way_back(mind):
    """The newest first, in all spaces, with the words of what was changed."""
    one = mind.remember(HERON, space="me/elsewhere")
    mind.forget(one.id, "forgotten")
    site = open_site(mind)
    changes = site.get("/changes.json").json()["changes"]
    assert [change["event"]["verb"] for change in changes] == ["forget", "remember"]
    event = changes[0]["event"]["seq"]
    assert HERON in site.get("/changes").text
    site.post_form(f"/undo/{event}", back="/changes")
    assert get(mind, one.id).active and "taken back" in site.get("/changes").text
    assert site.get("/changes.json", params={"limit": 1}).json()["next"] == event


def test_nothing_leads_to_a_page_that_is_left_out(mind):
    """A server has not all pages: the rest works, and names none that is not there."""
    id = mind.remember(HERON, space=SPACE).id
    left = tuple(
        page._replace(routes=page.routes[:1]) for page in PAGES if page.name in ("memory", "ask")
    )
    app = build_web_app(
        LocalMinds(mind), LocalSecurity(KEY, mind.context.now), space=SPACE, pages=left
    )
    site = Site(app, base_url=ADDRESS)
    site.now = mind.context.now
    site.get("/?token=" + make_token(KEY, mind.context.now()))
    for path in ("/ask?q=nonsense", f"/memory/{id}"):
        page = site.get(path).text
        assert "What was changed last" not in page and "other spaces" not in page


def test_a_day_is_written_as_people_say_it(mind, clock):
    """“1 March”, “yesterday”; what is no day is said beside the field, and 400 for a program."""
    mind.remember(HERON, space=SPACE)
    clock.tick(days=3)
    site = open_site(mind)
    page = site.get("/ask", params={"q": "staging", "as_of": "yesterday"})
    assert HERON in page.text and "What was known at the end of" in page.text
    page = site.get("/ask", params={"q": "staging", "as_of": "soonish"})
    assert page.status_code == 200 and "is not a time" in page.text and "last Friday" in page.text
    assert site.get("/ask.json", params={"q": "x", "as_of": "soonish"}).status_code == 400


def test_what_stands_in_another_space_is_found_where_nothing_here_fits(mind):
    """And only then: a search is one of this space."""
    mind.remember(HERON, space=SPACE)
    mind.remember("Ann's salary review is in December.", space="me/other")
    mind.settle()
    site = open_site(mind)
    found = site.get("/ask.json", params={"q": "salary"}).json()
    assert found["memories"] == [] and found["is_alone"]
    assert "Look in other spaces" in site.get("/ask", params={"q": "salary"}).text
    others = site.get("/ask/elsewhere.json", params={"q": "salary"}).json()["memories"]
    assert [hit["memory"]["space"] for hit in others] == ["me/other"]
    assert "salary review" in site.get("/ask/elsewhere", params={"q": "salary"}).text
    assert not site.get("/ask.json", params={"q": "staging"}).json()["is_alone"]
    assert not site.get("/ask.json", params={"q": "salary", "in": "talk"}).json()["is_alone"]


def test_what_hardly_fits_is_kept_apart(mind):
    """A memory that shares no word and comes near in no meaning is not listed as if it fitted."""
    mind.remember(HERON, space=SPACE)
    far = mind.remember("Invoices have no gaps.", space=SPACE)
    mind.settle()
    found = open_site(mind).get("/ask.json", params={"q": "which server is staging"}).json()
    assert [hit["memory"]["text"] for hit in found["memories"]] == [HERON]
    assert far.id not in [hit["memory"]["id"] for hit in found["memories"]]


def test_what_agents_were_given_and_waited_for_is_summed(mind, clock):
    """Of the last seven days, day by day."""
    one = mind.remember(HERON, space=SPACE)
    for days, waited in ((10, 9.0), (2, 0.02), (1, 0.04)):
        turn = {"messages": [], "given": [one.id], "why": [["words 1.0"]], "waited": waited}
        mind.store.append([Event("turn", SPACE, clock() - days * 86_400, "s", turn)])
    site = open_site(mind)
    given = site.get("/health/given.json").json()
    assert (given["whole"]["turns"], given["whole"]["fed"], len(given["daily"])) == (2, 2, 2)
    assert given["whole"]["waited"] == pytest.approx(0.06)
    page = site.get("/health/given").text
    assert "60 ms" in page and "in 2 of 2 turns" in page
    assert site.get("/health/given.json", params={"days": 30}).json()["whole"]["turns"] == 3
    assert "What it cost your agents" in site.get("/health").text


def test_past_talk_that_was_given_is_shown_and_leads_to_its_conversation(mind):
    """It is no memory, and was not erased."""
    said = [
        {"role": "user", "content": "The staging deploy hangs. What is missing?"},
        {"role": "assistant", "content": "The tunnel north was not active."},
    ]
    mind.learn(said, space=SPACE, session="talk")
    mind.settle()
    (hit, *_) = mind.recall("tunnel north", space=SPACE, kinds=["said"])
    turn = {"messages": [], "given": [hit.memory.id], "why": [["words 4.0"]]}
    mind.store.append([Event("turn", SPACE, mind.context.now(), "later", turn)])
    site = open_site(mind)
    page = site.get("/").text
    assert "tunnel north was not active" in page and "erased since" not in page
    assert "/sessions/talk" in page
    assert "erased since" not in site.get("/sessions/later").text


@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("words 3.8", "shares words with it (3.8)"),
        ("meaning 0.31", "close in meaning (0.31)"),
        ("meaning -0.05", "not close in meaning (-0.05)"),
        ("chance 0.56: best fit, asks", "56% likely to help: it fits best of all, a question"),
        ("chance 0.56", "56% likely to help"),
        ("deny: trigger 'run:git push'", "denied: the call met run:git push"),
        ("beside a match", "beside a match"),
    ],
)
def test_reasons_are_told_in_words(reason, said):
    """What is not known is told as it is."""
    assert in_words(reason).startswith(said)


def test_an_outdated_memory_is_corrected_where_its_file_is_shown(mind, tmp_path):
    """New words count as true of the code as it is now; one undo takes back both. On its own page
    one may say so, too.
    """
    pytest.importorskip("tree_sitter", reason="pip install 'reverie[code]'")
    repo, file = tmp_path / "repo", tmp_path / "repo" / "cache.py"
    repo.mkdir()
    file.write_text("def get(key):\n    return data[key]\n")
    mind.code.index(repo)
    memory = mind.remember("get raises KeyError.", space=SPACE)
    mind.code.anchor(memory.id, [f"{file}:get"])
    file.write_text("def get(key):\n    return data.get(key)\n")
    mind.code.index(repo)
    site = open_site(mind)
    path = f"/code/{name_part(str(repo.resolve()))}/{name_part('cache.py')}"
    assert "Correct" in site.get(path).text
    fields = {"text": "get returns None.", "was": "get raises KeyError."}
    page = site.post_form(f"/code/correct/{memory.id}", back=path, **fields)
    assert get(mind, memory.id).text == "get returns None."
    assert mind.code.outdated(space=SPACE) == []
    again = site.post_form(f"/code/correct/{memory.id}", back=path, **fields)
    assert again.status_code == 409
    site.undo_shown(page)
    assert get(mind, memory.id).text == "get raises KeyError."
    assert [one.id for one in mind.code.outdated(space=SPACE)] == [memory.id]
    shown = site.get(f"/memory/{memory.id}").text
    assert "Still true" in shown and 'name="holds"' in shown
    mark = site.get(f"/memory/{memory.id}.json").json()["edited"]
    fields = {"text": "get gives None.", "kind": "fact", "edited": mark, "holds": "yes"}
    page = site.post_form(f"/memory/{memory.id}/edit", back="/ask", **fields)
    assert mind.code.outdated(space=SPACE) == []
    site.undo_shown(page)
    assert [one.id for one in mind.code.outdated(space=SPACE)] == [memory.id]


@pytest.mark.e2e
def test_ones_own_change_is_no_news_and_one_stays_where_one_was(visit):
    """What a page shows already is not told as changed meanwhile; what somebody else does is."""
    browser = visit(viewport={"width": 900, "height": 500})
    made = remember_everything(browser.mind)
    page = browser.go(f"/memory/{made['heron'].id}")
    press(page, "1")
    page.wait_for_selector(".toast:has-text('Noted: useful')")
    page.wait_for_timeout(700)
    assert page.locator("#changed").is_hidden()
    browser.mind.feedback(made["heron"].id, True)
    page.locator("#changed").wait_for()
    assert browser.trouble == []


@pytest.mark.e2e
def test_another_space_is_asked_the_same_question(home, visit):
    """The words that were typed stay when the space is chosen."""
    home.remember("The salary review is in December.", space="me/other")
    browser = visit()
    page = browser.go("/ask")
    type_text(page, "salary")
    page.wait_for_url("**q=salary*")
    page.get_by_label("Space").select_option("me/other")
    page.wait_for_url("**space=me*")
    assert "q=salary" in page.url
    assert page.locator("#results h2:has-text('Memories')").count() == 1
    assert browser.trouble == []


@pytest.mark.e2e
def test_a_key_leads_into_the_field_that_it_names(visit):
    """`t` on the guards' page, which one types a command into."""
    browser = visit()
    remember_everything(browser.mind)
    page = browser.go("/guards")
    press(page, "t")
    type_text(page, "git status")
    press(page, "Enter")
    page.wait_for_selector("text=It runs")
    assert browser.trouble == []
