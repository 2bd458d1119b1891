"""Make the pictures of the docs anew: real screenshots of a made-up memory, and its map.

    python -m tools.screenshots

Writes `docs/images/*.png`, `docs/images/map.svg`, and `docs/images/outlines.txt`: the elements and
texts of the pages that the pictures show. A test compares those with the pages as they are, so a
picture that shows another page than today's is noticed. Needs Chromium and Playwright.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple
from unittest.mock import patch

from reverie import Mind
from reverie.core import clock as core_clock
from reverie.core.model import Memory
from reverie.interfaces.map_picture import picture_map, write_svg
from reverie.interfaces.web.security import LocalSecurity, make_token
from reverie.interfaces.web.web_app import LocalMinds, build_web_app
from reverie.testing import NOON, Clock, memory
from tools.demo_home import SPACE, fill_demo

IMAGES = Path(__file__).parents[1] / "docs" / "images"
OUTLINES = IMAGES / "outlines.txt"
BROWSERS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
KEY = bytes(range(32))
MAX_BYTES = 100_000
# What differs each time: ids, and what is made of the key and of files.
CHANGING = re.compile(r"mem_[0-9a-z]+|/static/[0-9a-f]+/")
KEPT_ATTRIBUTES = (
    "class",
    "type",
    "name",
    "data-key",
    "aria-label",
    "open",
    "hidden",
    "lang",
    "role",
)


class Picture(NamedTuple):
    """A screenshot: which page, how wide and high, in which scheme."""

    name: str
    path: str
    height: int
    width: int = 1120
    scheme: str = "light"


def list_pictures(kept: Mapping[str, Memory], run: int) -> list[Picture]:
    """The screenshots of the docs."""
    return [
        Picture("now", "/", 760),
        Picture("review", "/review", 520),
        Picture("night", f"/nights/{run}", 560),
        Picture("memory", f"/memory/{kept['search'].id}", 820, scheme="dark"),
    ]


@contextmanager
def repeated_ids() -> Iterator[None]:
    """Ids are the same every time: of one moment, without chance."""
    moment = SimpleNamespace(**{**vars(time), "time": lambda: NOON})
    chance = SimpleNamespace(**{**vars(os), "urandom": bytes})
    with patch.object(core_clock, "time", moment), patch.object(core_clock, "os", chance):
        yield


@contextmanager
def demo() -> Iterator[tuple[Mind, list[Picture]]]:
    """The demo, and its pictures."""
    with tempfile.TemporaryDirectory() as folder, repeated_ids():
        clock = Clock()
        with memory(Path(folder) / "home", now=clock) as mind:
            kept = fill_demo(mind, clock)
            yield mind, list_pictures(kept, mind.nights.browse(limit=1)[0].run)


class OutlineReader(HTMLParser):
    """The elements and texts of a page, a line each, indented; without what changes each time."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: D102
        given = [f"{name}={value or ''}" for name, value in attrs if name in KEPT_ATTRIBUTES]
        self._add(" ".join([f"<{tag}", *given]) + ">")
        self._depth += tag not in ("input", "meta", "link", "br", "img", "circle", "line", "option")

    def handle_endtag(self, tag: str) -> None:  # noqa: D102
        if tag not in ("circle", "line", "option"):
            self._depth -= 1

    def handle_data(self, data: str) -> None:  # noqa: D102
        if data.strip():
            self._add(" ".join(data.split()))

    def _add(self, text: str) -> None:
        self.lines.append("  " * self._depth + CHANGING.sub("…", text))


def outline(html: str) -> str:
    """What a page consists of, from `main` on: its frame is the same for all."""
    reader = OutlineReader()
    reader.feed(html[html.index("<main") : html.index("</main>")])
    return "\n".join(reader.lines)


def outline_all(mind: Mind, pictures: list[Picture]) -> str:
    """The outlines of all pages that are shown."""
    from starlette.testclient import TestClient

    app = build_web_app(LocalMinds(mind), LocalSecurity(KEY, mind.context.now), space=SPACE)
    with TestClient(app, base_url="http://127.0.0.1:8378") as client:
        client.get("/?token=" + make_token(KEY, mind.context.now()))
        return (
            "\n\n".join(
                f"{one.name}.png: {one.width} × {one.height}, {one.scheme}\n"
                + outline(client.get(one.path).text)
                for one in pictures
            )
            + "\n"
        )


def draw_map(mind: Mind) -> str:
    """The map as SVG."""
    return write_svg(picture_map(mind.data.map(space=SPACE)))


@contextmanager
def serving(mind: Mind) -> Iterator[str]:
    """The pages on a free port; their address."""
    import uvicorn

    app = build_web_app(LocalMinds(mind), LocalSecurity(KEY, mind.context.now), space=SPACE)
    chosen = uvicorn.Config(
        app, port=0, log_level="critical", ws="none", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(chosen)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def take(address: str, pictures: list[Picture], now: float) -> dict[str, bytes]:
    """The screenshots by name, as PNG of few colours."""
    from playwright.sync_api import sync_playwright

    program = next(path for path in BROWSERS if Path(path).exists())
    taken = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        context = browser.new_context(reduced_motion="reduce", timezone_id="UTC", locale="en-GB")
        page = context.new_page()
        page.goto(f"{address}/?token={make_token(KEY, now)}")
        for one in pictures:
            page.set_viewport_size({"width": one.width, "height": one.height})
            page.emulate_media(color_scheme=one.scheme)  # type: ignore[arg-type]
            page.goto(f"{address}{one.path}")
            page.wait_for_timeout(300)
            taken[one.name] = reduce_colours(page.screenshot())
        browser.close()
    return taken


def reduce_colours(png: bytes) -> bytes:
    """The picture with 256 colours: text on flat paper needs no more, and is a third of the size."""
    from io import BytesIO

    from PIL import Image

    picture = Image.open(BytesIO(png)).convert("RGB")
    packed = BytesIO()
    picture.quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE).save(
        packed, "PNG", optimize=True
    )
    return packed.getvalue()


def main() -> None:
    """Write all of them."""
    IMAGES.mkdir(exist_ok=True)
    with demo() as (mind, pictures), serving(mind) as address:
        taken = take(address, pictures, mind.context.now())
        for name, png in taken.items():
            if len(png) > MAX_BYTES:
                raise SystemExit(f"{name}.png has {len(png):,} bytes, more than {MAX_BYTES:,}")
            (IMAGES / f"{name}.png").write_bytes(png)
        (IMAGES / "map.svg").write_text(draw_map(mind), "utf-8")
        OUTLINES.write_text(outline_all(mind, pictures), "utf-8")
    for name, png in taken.items():
        print(f"docs/images/{name}.png: {len(png) / 1000:.0f} KB")


if __name__ == "__main__":
    main()
