"""The map in the browser: drawn, as of a day, and the same as a table."""

import pytest

from reverie.testing import SPACE
from tests.interfaces.web.browser_checks import press
from tests.interfaces.web.web_client import NASTY, open_site, remember_everything


def test_the_page_is_there_before_the_map_is_laid_out(mind):
    """The page itself asks nothing of memory; the map is JSON, for who asks."""
    made = remember_everything(mind)
    site = open_site(mind)
    page = site.get("/map")
    assert page.status_code == 200 and 'data-from="/map/graph.json"' in page.text
    graph = site.get("/map/graph.json").json()
    ids = {node["id"] for node in graph["nodes"]}
    assert {memory.id for memory in made.values()} <= ids
    assert all(link["one"] < len(graph["nodes"]) > link["other"] for link in graph["links"])


def test_nobody_waits_for_the_first_map(home):
    """A draft is there at once, and the map is laid out once that was sent; nothing is loaded for
    a table or a picture that they do not use.
    """
    remember_everything(home)
    site = open_site(home)
    assert "A first draft" in site.get("/map/picture").text
    assert "A first draft" not in site.get("/map/picture").text
    assert not site.get("/map/graph.json").json()["is_draft"]
    for path in ("/map/table", "/map/picture", "/map/graph"):
        assert "sigma" not in site.get(path).text
    assert "sigma" in site.get("/map").text


def test_the_table_has_all_of_the_map_in_pages(mind):
    """What hangs together stands together, and nothing of it is markup."""
    remember_everything(mind)
    site = open_site(mind)
    count = len(site.get("/map/graph.json").json()["nodes"])
    first = site.get("/map/table.json?limit=3").json()
    assert first["total"] == count and first["next"] == 3 and len(first["nodes"]) == 3
    rest = site.get(f"/map/table.json?skip=3&limit={count}").json()
    assert len(rest["nodes"]) == count - 3 and rest["next"] == 0
    for path in ("/map/table", "/map/picture", "/map/graph"):
        assert "<img" not in site.get(path).text


@pytest.mark.e2e
def test_the_map_is_drawn_and_a_day_in_the_past_greys_what_was_not_yet(visit, clock):
    """The slider is moved by keyboard, and the table beside it follows; hostile names are text."""
    browser = visit()
    mind = browser.mind
    mind.remember(f"Old {NASTY}", space=SPACE, tags=[NASTY.replace(" ", "-")])
    clock.tick(days=10)
    mind.remember("New thing.", space=SPACE, tags=["ops"])
    page = browser.go("/map")
    page.wait_for_selector("memory-map[data-drawn]")
    assert page.locator("[data-status]").inner_text().startswith("2 of 2")
    page.locator("[data-time]").focus()
    press(page, "Home")
    page.wait_for_function(
        "document.querySelector('[data-status]').textContent.startsWith('1 of 2')"
    )
    assert page.locator("tr[data-not]").inner_text().startswith("New thing.")
    press(page, "End")
    page.locator("[data-search]").fill("old")
    page.wait_for_function(
        "document.querySelector('[data-status]').textContent.startsWith('1 of 1')"
    )
    page.locator("select[data-by]").select_option("author")
    page.locator("tbody a").first.click()
    page.wait_for_url("**/memory/*")
    # A driver's remark on how fast it reads pixels is none of ours.
    assert [said for said in browser.trouble if "GL Driver Message" not in said] == []
