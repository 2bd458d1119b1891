# mypy: no-check-untyped-defs
"""A home that was copied, and one that was moved."""

import shutil

import pytest

from reverie.mirror.home_place import read_original
from reverie.testing import SPACE, memory

TEXT = "The staging server is called heron, ask Ann."


def pages_below(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("where", ["inside", "outside"])
@pytest.mark.proves("X20")
def test_a_copied_home_leaves_the_originals_pages_alone(tmp_path, where):
    """`cp -r`: the copy knows what it is, and neither a sync nor a purge touches the original."""
    home, copy = tmp_path / "home", tmp_path / "copy"
    settings = {} if where == "inside" else {"mirror": str(tmp_path / "pages")}
    with memory(home, **settings) as mind:
        kept = mind.remember(TEXT, space=SPACE)
        mind.data.mirror()
        assert read_original(mind.store) == ""
    shutil.copytree(home, copy)
    pages = pages_below(home) | pages_below(tmp_path / "pages")
    with memory(copy, **settings) as mind:
        assert read_original(mind.store) == str(home)
        mind.remember("Only the copy knows this.", space=SPACE)
        mind.data.mirror()
        assert mind.data.purge(kept.id).unreached == ()
        mind.data.mirror(afresh=True)
        assert pages_below(home) | pages_below(tmp_path / "pages") == pages
        assert bool(pages_below(copy / "spaces")) == (where == "inside")
    with memory(home, **settings) as mind:
        assert [one.id for one in mind.browse(space=SPACE)] == [kept.id]
        assert mind.data.verify() == [] and read_original(mind.store) == ""


def test_a_moved_home_is_no_copy(tmp_path):
    """With nothing at the old place it goes on as it was."""
    home, moved = tmp_path / "home", tmp_path / "moved"
    with memory(home) as mind:
        mind.remember(TEXT, space=SPACE)
        mind.data.mirror()
    home.rename(moved)
    with memory(moved) as mind:
        assert read_original(mind.store) == ""
        mind.data.mirror()
        assert mind.data.verify() == []
