"""What a page weighs, and what it asks of the store: little, however much is remembered."""

import gzip
import re

import pytest

from reverie.core.model import Event
from reverie.interfaces.web.page import View
from reverie.interfaces.web.pages import PAGES
from reverie.llm.daily_spending import sum_spending
from reverie.testing import SPACE
from tests.interfaces.web.web_client import open_site

PLAIN_BYTES = 25_000
# What draws has a library to load.
DRAWING = ("/map",)
PLAIN = [
    view.path
    for page in PAGES
    for view in page.routes
    if isinstance(view, View) and "{" not in view.path and view.path not in DRAWING
]
ASSET = re.compile(r'(?:src|href)="(/static/[^"]+)"')
# Statements of SQLite are made of so many steps; a page that goes through all rows takes millions.
STEPS = 100


def count_steps(mind, work):
    """In hundreds, what SQLite does for a piece of work in this thread."""
    steps = 0

    def step():
        nonlocal steps
        steps += 1

    with mind.store.connections.reading() as db:
        db.set_progress_handler(step, STEPS)
        work()
        db.set_progress_handler(None, 0)
    return steps


@pytest.fixture
def known(mind):
    """A mind with twenty memories, one of each sort among them, and its turns."""
    said = [
        {"text": f"Thing {number} of the otter.", "space": SPACE, "session": f"s{number % 5}"}
        for number in range(20)
    ]
    memories = mind.remember_many(said)
    mind.link(memories[0].id, memories[1].id, "contradicts")
    append_turns(mind, memories, 20)
    return mind


def append_turns(mind, memories, count):
    """Turns and runs of tools."""
    events = []
    for number in range(count):
        place = (SPACE, mind.context.now(), f"s{number % 5}")
        given = {"given": [memories[number % len(memories)].id], "why": [["words"]]}
        said = {"messages": [{"role": "user", "text": f"Say {number}."}], "first": number, **given}
        run = {"tool": "Bash", "command": "pytest", "ok": True, "result": "12 passed"}
        events += [Event("turn", *place, said), Event("tool", *place, run)]
    mind.store.append(events)


@pytest.mark.parametrize("path", PLAIN)
def test_a_plain_page_is_small_with_all_that_it_loads(known, path):
    """At most 25 KB, compressed, for a browser that comes for the first time."""
    site = open_site(known)
    page = site.get(path)
    assert page.status_code == 200
    files = {found: site.get(found).content for found in ASSET.findall(page.text)}
    weights = {name: len(gzip.compress(body)) for name, body in files.items()}
    assert len(gzip.compress(page.content)) + sum(weights.values()) <= PLAIN_BYTES, weights


QUESTIONS = {
    "pairs": lambda mind: mind.review.cases(space=SPACE, limit=16),
    "code": lambda mind: mind.code.remembered(space=SPACE, limit=41),
    "turns": lambda mind: mind.activity.turns(space=SPACE, limit=21),
    "guards": lambda mind: mind.guards.browse(space=SPACE),
    "nights": lambda mind: mind.nights.browse(limit=21),
    "newest": lambda mind: mind.browse(space=SPACE, limit=21),
}


def test_what_a_page_reads_does_not_grow_with_the_store(known):
    """With a hundred times as many memories, links and events SQLite does as much as before; of
    runs of tools a page about code reads the newest thousand.
    """
    few = {name: count_steps(known, lambda ask=ask: ask(known)) for name, ask in QUESTIONS.items()}
    memories = known.remember_many(
        {"text": f"Another {number} of the badger.", "space": SPACE, "tags": [f"t{number}"]}
        for number in range(2_000)
    )
    append_turns(known, memories, 2_000)
    many = {name: count_steps(known, lambda ask=ask: ask(known)) for name, ask in QUESTIONS.items()}
    allowed = {name: 50 + 400 * (name == "code") for name in QUESTIONS}
    assert [] == [name for name in QUESTIONS if many[name] > few[name] + allowed[name]], many


def test_a_page_of_conversations_reads_no_others(mind):
    """Ten times as many conversations before them change nothing, with words or without."""

    def append_talks(count):
        place, now = (SPACE,), mind.context.now()
        mind.store.append(
            Event("turn", *place, now, f"t{count}-{number}", say(f"The otter said {number}."))
            for number in range(count)
        )

    def say(text):
        return {"messages": [{"role": "user", "text": text}], "first": 0}

    def browse(words=()):
        return mind.sessions.browse(space=SPACE, words=words, limit=20)

    append_talks(300)
    few = count_steps(mind, browse), count_steps(mind, lambda: browse(["otter"]))
    append_talks(3_000)
    many = count_steps(mind, browse), count_steps(mind, lambda: browse(["otter"]))
    assert all(later <= before + 50 for before, later in zip(few, many, strict=True)), (few, many)


def test_the_cost_of_a_month_is_read_without_the_years_before_it(mind):
    """The same days as all calls give, from the newest thousand where these reach so far back."""
    now = mind.context.now()
    calls = [
        Event("llm", SPACE, now - 86_400 * number / 20, payload={"tokens_in": number, "cost": 0.1})
        for number in range(1_500)
    ]
    mind.store.append(calls[::-1])
    whole = sum_spending(calls)
    assert mind.data.spending(30) == whole[:30]
    assert mind.data.spending(70) == whole[:70]
    assert mind.data.spending(200) == whole
