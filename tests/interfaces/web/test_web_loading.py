"""The first look at a large space: what is there at once, and that it says what is still missing."""

import asyncio
import re
import threading

import pytest
from starlette.requests import Request

from reverie.core.errors import HomeLockedError
from reverie.core.model import Event
from reverie.interfaces.web import late_ranking, local_server
from reverie.interfaces.web.live import LiveEvents
from reverie.interfaces.web.local_server import warm_up
from reverie.interfaces.web.security import LocalSecurity
from reverie.interfaces.web.web_app import LocalMinds, OpenRequests, build_web_app
from reverie.storage.sqlite import candidate_search
from reverie.testing import SPACE
from tests.interfaces.web.web_client import KEY, open_site
from tests.support.helpers import PATIENCE

LOADING = "being loaded"


@pytest.fixture
def large(home, monkeypatch):
    """A mind whose space counts as large, with a turn that nothing has been searched for yet."""
    monkeypatch.setattr(candidate_search, "NOTICED_ROWS", 5)
    home.remember("The staging server is called heron.", space=SPACE)
    for number in range(6):
        home.remember(f"Thing {number} of the otter.", space=SPACE)
    said = {"messages": [{"role": "user", "text": "Which server is staging?"}], "first": 0}
    home.store.append([Event("turn", SPACE, home.context.now(), "s1", said)])
    return home


def test_a_large_space_is_answered_by_words_until_what_ranks_is_there(large):
    """The page says so, links to the rest and asks for it by itself; the next look has it all."""
    site = open_site(large)
    first = site.get("/ask?q=staging+server").text
    assert LOADING in first and "heron" in first
    again = re.search(r'class="notice"[^>]*hx-get="([^"]+)"[^>]*hx-trigger="load', first)
    assert again and again[1] == "/ask?q=staging+server"
    second = site.get(again[1]).text
    assert LOADING not in second and "heron" in second
    assert "likely" in second or "shares words" in second


@pytest.mark.parametrize("path", ["/ask.json?q=staging", "/ask?q=staging&in=talk", "/ask"])
def test_who_asks_for_the_whole_waits_for_it(large, path):
    """A program is answered once and for all, and so is who asks where words alone find nothing."""
    answer = open_site(large).get(path)
    assert answer.status_code == 200 and LOADING not in answer.text
    if path.startswith("/ask.json"):
        assert answer.json()["is_hasty"] is False and answer.json()["memories"]


def test_where_memory_is_off_nothing_is_found_by_words(large):
    """As once all is loaded."""
    large.context.settings = large.settings._replace(off=(SPACE,))
    page = open_site(large).get("/ask?q=staging").text
    assert LOADING not in page and "called heron" not in page


@pytest.mark.parametrize("path", ["/turn/{turn}", "/sessions/s1/0"])
def test_a_turn_is_shown_before_it_is_weighed(large, path):
    """What was said and given is there; what would be given now says that it follows."""
    (turn,) = large.activity.turns(limit=1)
    site, path = open_site(large), path.format(turn=turn.event)
    first = site.get(path).text
    assert LOADING in first and "Which server is staging?" in first and "called heron" not in first
    second = site.get(path).text
    assert LOADING not in second and "called heron" in second


@pytest.mark.parametrize("path", ["/ask?q=staging", "/turn/{turn}", "/sessions/s1/0"])
@pytest.mark.parametrize("why", ["no model", "off"])
def test_where_nothing_is_loaded_nobody_is_told_to_wait(large, path, why, monkeypatch):
    """Without a model nothing ranks but words, and where memory is off nothing is looked for."""
    (turn,) = large.activity.turns(limit=1)
    if why == "off":
        large.context.settings = large.settings._replace(off=(SPACE,))
    else:
        monkeypatch.setattr(late_ranking, "is_embedder_ready", lambda settings: False)
    assert LOADING not in open_site(large).get(path.format(turn=turn.event)).text


def test_of_two_that_look_at_once_one_loads(large, monkeypatch):
    """The other answers at once."""
    with late_ranking.LOADING:
        monkeypatch.setattr(type(large), "recall", lambda *_, **__: pytest.fail("loaded twice"))
        late_ranking.load_ranking(large, SPACE)


def test_a_stream_of_a_locked_memory_ends_at_once(large):
    """Nobody is left listening."""

    def refuse(_request):
        raise HomeLockedError("Memory is locked")

    live = LiveEvents(refuse)
    answer = asyncio.run(live.serve(Request({"type": "http", "query_string": b""})))
    assert answer.status_code == 503 and b"locked" in answer.body and not live.listeners


def test_a_small_space_is_ranked_at_once(home):
    """Nobody would notice that it is loaded."""
    home.remember("The staging server is called heron.", space=SPACE)
    assert LOADING not in open_site(home).get("/ask?q=staging").text


def test_the_warm_up_waits_while_a_page_is_made(home, monkeypatch):
    """Its next step is taken when the last request was answered; all are taken in the end."""
    home.remember("The staging server is called heron.", space=SPACE)
    site = build_web_app(LocalMinds(home), LocalSecurity(KEY), space=SPACE).state.site
    taken: list[str] = []
    asked = threading.Event()

    def wait_for_none(seconds):
        asked.set()
        return OpenRequests.wait_for_none(site.open_requests, PATIENCE)

    steps = [lambda name=name: taken.append(name) for name in ("one", "two")]
    monkeypatch.setattr(local_server, "list_warm_up_steps", lambda *_: steps)
    monkeypatch.setattr(site.open_requests, "wait_for_none", wait_for_none)
    with site.open_requests:
        thread = threading.Thread(target=warm_up, args=(home, SPACE, site))
        thread.start()
        assert asked.wait(PATIENCE) and taken == []
    thread.join(PATIENCE)
    assert taken == ["one", "two"]


def test_what_is_warmed_up_are_templates_ranking_cards_and_the_map(home, monkeypatch):
    """After all steps what ranks the space is in memory and its map is kept."""
    monkeypatch.setattr(candidate_search, "NOTICED_ROWS", 1)
    home.remember("The staging server is called heron.", space=SPACE)
    site = build_web_app(LocalMinds(home), LocalSecurity(KEY), space=SPACE).state.site
    assert home.store.must_load([SPACE])
    warm_up(home, SPACE, site)
    assert not home.store.must_load([SPACE])
    assert list((home.settings.home / "cache").glob("map-*.json"))
    assert "review.html" in site.renderer.list_templates()
