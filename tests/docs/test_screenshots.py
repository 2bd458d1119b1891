"""The pictures of the docs show today's pages: `python -m tools.screenshots` makes them anew."""

import difflib
import re

import pytest

pytest.importorskip("starlette", reason="pip install 'reverie[web]'")
from tools import screenshots
from tools.demo_home import SPACE

DOCS = screenshots.IMAGES.parent


def test_the_pages_are_as_the_pictures_show_them():
    """Their elements and texts are those that stand beside the pictures."""
    with screenshots.demo() as (mind, pictures):
        now = screenshots.outline_all(mind, pictures).splitlines()
        drawn = screenshots.draw_map(mind)
    then = screenshots.OUTLINES.read_text("utf-8").splitlines()
    changed = list(difflib.unified_diff(then, now, "as pictured", "as it is", lineterm="", n=1))
    assert not changed, "\n".join(
        ["Run `make screenshots`, and look at docs/images:", *changed[:60]]
    )
    assert without_places(drawn) == without_places(
        (screenshots.IMAGES / "map.svg").read_text("utf-8")
    )


def without_places(picture):
    """What a picture consists of. Where it stands depends on the processor's last digits."""
    return sorted(re.sub(r"-?\d+(\.\d+)?", "#", line) for line in picture.splitlines())


def test_pictures_are_small_and_shown():
    """Each is named in a page of the docs or the README, and loads at once."""
    pages = "\n".join(path.read_text("utf-8") for path in DOCS.rglob("*.md"))
    pages += (DOCS.parent / "README.md").read_text("utf-8")
    for path in screenshots.IMAGES.iterdir():
        assert path.stat().st_size <= screenshots.MAX_BYTES
        if path.suffix == ".png":
            assert f"images/{path.name}" in pages
            assert path.read_bytes().startswith(b"\x89PNG")
    named = set(re.findall(r"images/([\w.-]+\.(?:png|svg))", pages))
    assert named <= {path.name for path in screenshots.IMAGES.iterdir()}


def test_an_outline_tells_of_elements_and_texts_and_not_of_ids():
    """What changes each time is left out; a new button is not."""
    html = '<main id="main"><p class="a">mem_01abc <b>new</b></p>{}</main>'
    assert screenshots.outline(html.format("")).splitlines() == [
        "<main>",
        "  <p class=a>",
        "    …",
        "    <b>",
        "      new",
    ]
    assert "<button>" in screenshots.outline(html.format("<button>Undo</button>"))
    assert SPACE == "me/webshop"
