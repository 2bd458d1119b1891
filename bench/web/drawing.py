"""What Chromium makes of the pages: when the map is drawn, what a page asks for, how search feels.

Needs playwright and Debian's Chromium; without them this part is left out.
"""

import os
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.web.served import ServedHome

if TYPE_CHECKING:
    from playwright.sync_api import Page

PROGRAM = Path("/usr/bin/chromium")
# Seconds since the page was asked for: when the map's data was there, when sigma had drawn it, and
# when that frame was on the screen.
MAP_TIMES = """() => new Promise((done) => {
  const map = document.querySelector('memory-map');
  const look = () => {
    if (!map.dataset.drawn) { requestAnimationFrame(look); return; }
    requestAnimationFrame(() => requestAnimationFrame(() => {
      const data = performance.getEntriesByType('resource').find((one) => one.name.includes('/map/graph'));
      done({ data: data ? data.responseEnd : 0, begun: data ? data.startTime : 0,
             drawn: Number(map.dataset.drawn), shown: performance.now(), nodes: map.map.nodes.length });
    }));
  };
  look();
})"""
# How long letters take to bring their hits: from the key to the results that answer it.
TYPED = """() => {
  window.typed = [];
  const results = () => document.querySelector('#results');
  let pressed = 0;
  document.querySelector('form.ask input[name=q]').addEventListener('input', () => { pressed = performance.now(); });
  document.addEventListener('htmx:after:swap', () => { if (pressed) window.typed.push(performance.now() - pressed); });
}"""


def has_browser() -> bool:
    """True if there is a browser to measure with."""
    return PROGRAM.exists() and find_spec("playwright") is not None


@contextmanager
def open_page(served: ServedHome) -> "Iterator[Page]":
    """A page of a browser that has entered."""
    from playwright.sync_api import sync_playwright

    options = ["--no-sandbox"] if os.getuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(PROGRAM), args=options)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(60_000)
        page.goto(served.address)
        yield page
        browser.close()


def measure_map(page: "Page", served: ServedHome, runs: int) -> dict[str, float]:
    """Milliseconds of the map, the median of some visits."""
    origin = served.address.partition("/?")[0]
    seen: list[dict[str, Any]] = []
    for _ in range(runs):
        page.goto(f"{origin}/map")
        seen.append(page.evaluate(MAP_TIMES))
    middle = {name: statistics.median(one[name] for one in seen) for name in seen[0]}
    return {
        "nodes": middle["nodes"],
        "data_ms": middle["data"] - middle["begun"],
        "drawing_ms": middle["drawn"] - middle["data"],
        "drawn_ms": middle["drawn"],
        "on_screen_ms": middle["shown"],
    }


def measure_typing(page: "Page", served: ServedHome, texts: Sequence[str]) -> list[float]:
    """Milliseconds from each letter's key to its hits, as somebody types."""
    origin = served.address.partition("/?")[0]
    page.goto(f"{origin}/ask")
    page.evaluate(TYPED)
    for text in texts:
        page.locator("form.ask input[name=q]").fill("")
        page.locator("form.ask input[name=q]").press_sequentially(text, delay=250)
    page.wait_for_timeout(500)
    found: list[float] = page.evaluate("window.typed")
    return found
