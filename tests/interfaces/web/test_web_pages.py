"""The pages over HTTP: what they show with nothing, with something, and with hostile text."""

from html.parser import HTMLParser

import pytest

from reverie.interfaces.web.page import View
from reverie.interfaces.web.pages import PAGES
from reverie.sync.space_map import Account
from reverie.sync.sync_state import save_account
from reverie.testing import SPACE
from tests.interfaces.web.web_client import open_site, remember_everything

PLAIN = [
    one.path
    for page in PAGES
    for one in page.routes
    if isinstance(one, View) and "{" not in one.path
]


def elements(html):
    """Every element of a page: its name and its attributes."""
    found = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            found.append((tag, dict(attrs)))

    Reader().feed(html)
    return found


@pytest.mark.parametrize("path", PLAIN)
def test_a_page_of_an_empty_memory_says_what_to_do(mind, path):
    """No error, one heading, and where nothing is, what would bring something there."""
    answer = open_site(mind).get(path)
    assert answer.status_code == 200
    assert answer.text.count("<h1") == 1 and '<main id="main"' in answer.text


@pytest.mark.parametrize("path", [*PLAIN, "/ask?q=staging", "/guards?command=git+push+-f"])
def test_what_somebody_wrote_is_text_and_nothing_else(mind, path):
    """An element in any field of a memory comes out escaped, in every list."""
    remember_everything(mind)
    html = open_site(mind).get(path).text
    assert "img" not in [tag for tag, _ in elements(html)]


def test_a_memory_shows_all_of_itself_escaped(mind):
    """Text, speaker, session, tags, files, details and what was given: none of it is markup."""
    made = remember_everything(mind)
    html = open_site(mind).get(f"/memory/{made['nasty'].id}").text
    assert "img" not in [tag for tag, _ in elements(html)]
    assert html.count("&lt;img") > 5


@pytest.mark.parametrize("path", PLAIN)
def test_every_view_answers_as_json_too(mind, path):
    """The same values, at the address with .json and for who accepts nothing else."""
    remember_everything(mind)
    site = open_site(mind)
    twin = site.get("/index.json" if path == "/" else f"{path}.json")
    assert twin.status_code == 200 and isinstance(twin.json(), dict)
    asked = site.get(path, headers={"accept": "application/json"})
    assert asked.json().keys() == twin.json().keys()


def test_no_page_has_a_script_or_style_of_its_own(mind):
    """The policy forbids them, so one that slipped in would not work."""
    remember_everything(mind)
    site = open_site(mind)
    for path in PLAIN:
        for tag, attributes in elements(site.get(path).text):
            assert tag != "style" and (tag != "script" or "src" in attributes)
            assert not [name for name in attributes if name == "style" or name.startswith("on")]
            led = [attributes.get(name) or "/" for name in ("src", "href", "action")]
            assert all(place.startswith(("/", "#")) and place[:2] != "//" for place in led)


def test_asking_finds_memories_with_channels_and_scores(mind):
    """A hit has its score and why; a day in the past answers as things stood then."""
    made = remember_everything(mind)
    site = open_site(mind)
    found = site.get("/ask.json", params={"q": "which server is staging?"}).json()
    assert found["memories"][0]["id"] == made["heron"].id
    assert found["memories"][0]["why"] and 0 < found["memories"][0]["score"] <= 1
    assert "heron" in site.get("/ask", params={"q": "staging"}).text
    before = site.get("/ask.json", params={"q": "staging", "as_of": "2001-01-01"}).json()
    assert before["memories"] == []


def test_the_newest_are_listed_page_by_page(mind):
    """Each page goes on after the last one of the page before; none is missed or comes twice."""
    kept = [mind.remember(f"Thing number {n}.", space=SPACE).id for n in range(45)]
    site = open_site(mind)
    seen, after = [], ""
    while True:
        page = site.get("/ask.json", params={"after": after} if after else {}).json()
        seen += [one["id"] for one in page["newest"]]
        after = page["next"]
        if not after:
            break
    assert seen == kept[::-1]


def test_every_version_of_a_memory_can_be_reached(mind):
    """A long life has pages, down to how it was first written."""
    id = mind.remember("Version 0.", space=SPACE).id
    for number in range(1, 61):
        mind.revise(id, text=f"Version {number}.")
    site, seen, older = open_site(mind), [], 0
    while True:
        page = site.get(f"/memory/{id}.json", params={"versions": older}).json()
        seen += [one["event"] for one in page["versions"]]
        older = page["older"]
        if not older:
            break
    assert len(seen) == 61 == len(set(seen)) and page["versions"][-1]["is_first"]
    assert "Earlier versions" in site.get(f"/memory/{id}").text


def test_a_turn_is_shown_with_what_was_given_and_what_a_gate_stopped(mind):
    """The feed has each turn; its page weighs its words against what is known now."""
    made = remember_everything(mind)
    site = open_site(mind)
    (turn,) = site.get("/index.json").json()["turns"]
    assert [one["id"] for one in turn["given"]][:2] == [made["heron"].id, made["nasty"].id]
    assert turn["tokens"] > 0 and turn["waited"] == 0.012
    weighed = site.get(f"/turn/{turn['event']}.json").json()["verdicts"]
    stopped = {one["gate"] for one in weighed if not one["is_given"]}
    assert made["heron"].id in {one["hit"]["id"] for one in weighed}
    assert stopped and "" not in stopped
    assert site.get("/turn/1").status_code == 404
    kept_back = site.get(f"/turn/{turn['event']}/gates.json").json()["verdicts"]
    given = {one["id"] for one in turn["given"]}
    assert not given & {one["hit"]["id"] for one in kept_back}
    assert all(one["gate"] and one["why"] for one in kept_back)


def test_what_is_not_there_is_told(mind):
    """404 for no such memory, 400 for what is no number: as a page and as JSON."""
    site = open_site(mind)
    assert site.get("/memory/mem_nothing").status_code == 404
    assert site.get("/memory/mem_nothing.json").json()["error"]["type"] == "NotFound"
    assert site.get("/nights/x").status_code == 400
    assert site.get("/ask?limit=-1").status_code == 400
    assert site.get("/ask?space=../x").status_code == 400


def test_another_space_is_looked_at_by_its_name(mind):
    """The space stands in the address, and stays in the links of the page."""
    mind.remember("Only of the other project.", space="me/other")
    site = open_site(mind)
    assert "Only of the other" not in site.get("/ask").text
    other = site.get("/ask", params={"space": "me/other"}).text
    assert "Only of the other" in other and 'href="/?space=me%2Fother"' in other


def test_the_foot_of_each_page_says_where_the_memory_goes(mind, tmp_path):
    """Nowhere; or through which places, without passwords, and to which team's server."""
    assert "Everything here stays on this machine." in open_site(mind).get("/").text
    (tmp_path / "carried").mkdir()
    mind.devices.add(str(tmp_path / "carried"))
    mind.devices.add("https://ann:swordfish@git.example.com/x.git")
    save_account(mind.store, Account("https://team.example.com", "acme", "ann"))
    html = open_site(mind).get("/").text
    assert "stays on this machine" not in html and "swordfish" not in html
    for where in (
        str(tmp_path / "carried/reverie-log"),
        "git.example.com/x.git",
        "team.example.com",
    ):
        assert where in html
