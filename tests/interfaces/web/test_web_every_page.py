"""Every page in a real browser, with nothing, with hostile text in every field, and with 100,000
memories: light, dark and at four widths, looked at by axe-core and by checks of our own.
"""

import os
import shutil
import tomllib
from hashlib import sha256
from pathlib import Path

import pytest

import reverie.storage
from reverie.testing import NOON, SPACE, memory
from tests.interfaces.web import browser_checks
from tests.interfaces.web.browser_checks import (
    DRAWN,
    FITS,
    FOCUS,
    VENDORED,
    WHOLE,
    find_violations,
    press,
)
from tests.interfaces.web.conftest import visiting
from tests.interfaces.web.hostile_home import fill_hostile

pytestmark = pytest.mark.e2e
WIDTHS = (820, 400, 360)
# Rules of which dark and narrow may be judged differently.
LOOKS = ("color-contrast", "target-size", "link-in-text-block", "scrollable-region-focusable")
LISTS = ("/", "/ask", "/review", "/nights", "/sessions", "/code", "/guards", "/map/table")
EMPTY = (
    "/", "/ask", "/review", "/nights", "/sessions", "/code", "/guards", "/map/table",
    "/map/picture", "/health/growth",
)  # fmt: skip


def look_at(browser, path, with_axe=True):
    """What is wrong with a page, in both schemes and at all widths."""
    page = browser.page
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme="light")
    browser.go(path)
    if path == "/map":
        page.wait_for_selector("memory-map[data-drawn], memory-map[hidden]", state="attached")
    if path == "/health":
        page.wait_for_selector("#findings .row")
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    wrong = page.evaluate(WHOLE)
    if with_axe:
        wrong += find_violations(page)
    press(page, "Tab")
    wrong += [f"no focus to be seen: {one}" for one in page.evaluate(FOCUS)]
    page.evaluate("document.activeElement.blur()")
    for width in (1280, *WIDTHS):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(DRAWN)
        wrong += [f"{width} px: {one}" for one in page.evaluate(FITS)]
    if with_axe:
        page.emulate_media(color_scheme="dark")
        wrong += [f"dark and narrow: {one}" for one in find_violations(page, *LOOKS)]
    return wrong


def assert_well(browser, addresses, with_axe=True):
    """Fail with a line for everything that is wrong, or of which the browser complained."""
    found = [f"{path}: {one}" for path in addresses for one in look_at(browser, path, with_axe)]
    if found or browser.trouble:
        pytest.fail("\n".join([*found, *browser.trouble]))


def test_every_page_of_an_empty_memory_is_whole_and_says_what_to_do(visit):
    """Where nothing is, a box says what would bring something: a command or a link."""
    browser = visit()
    addresses = browser_checks.list_addresses({}).values()
    assert_well(browser, addresses)
    silent = {}
    for path in (*EMPTY, "/map"):
        page = browser.go(path)
        box = page.locator(".empty:visible")
        box.first.wait_for()
        if not box.locator("code, a, button").count() and path != "/guards":
            silent[path] = box.inner_text()
    assert silent == {}


def test_every_page_is_whole_whatever_is_remembered(visit, tmp_path):
    """Hostile text in every field of 50 memories: nothing is executed, nothing sticks out, no
    message, no request elsewhere; axe-core finds no violation, light or dark.
    """
    pytest.importorskip("tree_sitter", reason="pip install 'reverie[code]'")
    browser = visit()
    known, kept = fill_hostile(browser.mind, tmp_path / "a <b> repo")
    addresses = [
        *browser_checks.list_addresses(known).values(),
        "/ask?q=staging",
        "/ask?state=gone",
        "/guards?command=git+push",
    ]
    assert_well(browser, [f"/memory/{one.id}" for one in (*kept[1:15:2], kept[-1])], with_axe=False)
    assert {path for path in browser_checks.VIEWS if "{" in path} <= set(known)
    assert_well(browser, addresses)


def test_files_of_others_for_tests_are_those_of_their_packages():
    """Each has its version, its licence and its hash in VENDORED.toml."""
    table = tomllib.loads((VENDORED / "VENDORED.toml").read_text("utf-8"))
    assert {path.name for path in VENDORED.iterdir()} == {"VENDORED.toml", *table}
    for name, row in table.items():
        assert sha256((VENDORED / name).read_bytes()).hexdigest() == row["sha256"]
        assert row["licence"] and row["version"] and row["package"]


@pytest.mark.slow
def test_every_page_is_whole_with_100000_memories(chromium, tmp_path, clock):
    """Nothing is left out, sticks out or complains where there is very much; lists come in pages."""
    copy_large_home(tmp_path / "home")
    home = memory(tmp_path / "home", now=clock, embedder="none")
    with home as mind, visiting(chromium, mind) as visit:
        browser = visit()
        (one,) = mind.browse(space=SPACE, limit=1)
        known = {"/memory/{id}": {"id": one.id}}
        addresses = [*browser_checks.list_addresses(known).values(), "/ask?q=staging+server"]
        assert_well(browser, addresses, with_axe=False)
        page = browser.go("/ask")
        assert page.locator(".rows .row").count() == 20
        assert "100,000" in page.locator(".space option").first.inner_text()
        drawn = browser.go("/map/graph").locator(".lead").inner_text()
        assert "chosen from more memories" in drawn


def copy_large_home(target):
    """A home of 100,000 memories; it is kept in the cache of the tests, where there is one."""
    kept = os.environ.get("REVERIE_TEST_CACHE")
    if not kept:
        fill_large_home(target)
        return
    schema = Path(reverie.storage.__file__).with_name("sqlite") / "schema.sql"
    cached = Path(kept, f"web-100000-{sha256(schema.read_bytes()).hexdigest()[:12]}")
    if not cached.exists():
        half = cached.with_name(f"{cached.name}.{os.getpid()}")
        fill_large_home(half)
        half.replace(cached)
    shutil.copytree(cached, target)


def fill_large_home(folder):
    """Sentences of a few thousand words, 20 to a session, by the verb for many at once."""
    words = [
        f"{one}{other}" for one in "abcdefghij" for other in ("lpha", "ravo", "anal", "ervice")
    ]
    with memory(folder, embedder="none") as mind:
        for begin in range(0, 100_000, 5_000):
            items = [
                {
                    "text": f"The {words[n % 40]} of {words[n // 40 % 40]} number {n} is staging server {n * 7919 % 4096}.",
                    "session": f"s{n // 20}",
                    "at": NOON - (100_000 - n) * 60.0,
                    "tags": [words[n % 40]],
                }
                for n in range(begin, begin + 5_000)
            ]
            mind.remember_many(items, space=SPACE)


def test_everything_is_read_without_javascript(visit, tmp_path):
    """What scripts fill or show is there by links and forms; nothing promises what does not come."""
    pytest.importorskip("tree_sitter", reason="pip install 'reverie[code]'")
    browser = visit(java_script_enabled=False)
    known, _ = fill_hostile(browser.mind, tmp_path / "repo", count=12)
    wrong = []
    for path in browser_checks.list_addresses(known).values():
        page = browser.go(path)
        text = page.locator("main").inner_text()
        if "Laying it out" in text or not text.strip():
            wrong.append(path)
        if path in LISTS and not page.locator("main :is(article, .row, tr, .hunk)").count():
            wrong.append(f"{path} shows nothing")
    assert wrong == []
    assert browser.go("/map").locator("main a[href='/map/table']:visible").count()
    assert browser.go("/health").locator("main a[href='/health/doctor']:visible").count()
    page = browser.go("/")
    page.locator("header [name=q]").fill("Fridays")
    page.locator("header [name=q]").press("Enter")
    page.locator("#results .row").first.wait_for()
    assert page.locator("header select + button, header .space button").first.is_visible()
    assert browser.trouble == []
