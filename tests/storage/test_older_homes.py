"""A home that an earlier version made opens, with everything in it, and goes on.

`homes/0.1.0.tar.gz` was made by the code before packages, verbs and commands were renamed: its
database, config.toml, Markdown pages, and what its hooks had written and nobody had read yet.
"""

import tarfile
from pathlib import Path

import pytest

from reverie.core.config import load_settings
from reverie.interfaces.hooks.hook_consumer import HookConsumer
from tests.support.helpers import open_mind, run_command

HOMES = sorted((Path(__file__).parent / "homes").glob("*.tar.gz"))
SPACE = "me/demo"


@pytest.fixture(params=HOMES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def older_home(request, tmp_path):
    """A copy of a home as an earlier version left it."""
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "home"


def test_its_memories_are_found_explained_and_undone(older_home):
    """What was remembered, superseded, linked and felt is as it was, and can be taken back."""
    with open_mind(older_home) as mind:
        assert mind.data.verify() == []
        found = mind.recall("what is the staging server called?", space=SPACE)
        assert "osprey" in found[0].memory.text
        (heron,) = mind.browse(space=SPACE, tags=["deploy"], active=False)
        assert heron.superseded_by == found[0].memory.id
        assert found[0].memory.id in str(mind.explain(heron.id).story)
        assert mind.restore(heron.id).active
        assert [hit.memory.kind for hit in mind.warnings("Bash", "git push --force", space=SPACE)]
        assert [one.text for one in mind.reminders.browse(space=SPACE)] == [
            "rotate the staging key"
        ]
        assert [one.title for one in mind.procedures.find("deploy", space=SPACE)] == ["Deploy"]
        assert len(mind.episodes.browse("Ann", space=SPACE)) == 1
        assert mind.feelings.browse(space=SPACE)[0].kind == "negative"
        assert [event.verb for event in mind.activity.events(space=SPACE)] == ["file", "tool"]


def test_its_settings_are_read(older_home):
    """What its config.toml switched off stays off."""
    settings = load_settings(older_home)
    assert (settings.off, settings.embedder, settings.idle) == (("me/secret",), "toy", 0)


def test_what_its_hooks_wrote_is_taken_in(older_home):
    """Events that waited when the new version came are read like its own."""
    with open_mind(older_home) as mind:
        consumer = HookConsumer(mind)
        assert consumer.consume_events() == 2
        consumer.close()
        mind.settle()
        assert mind.store.events(session="s9", verbs=("turn",))
        assert "make ship" in str(mind.store.events(session="s9", verbs=("tool",)))


def test_its_pages_stay_in_step(older_home):
    """A line that a person changed on one of its pages is taken in as before."""
    page = older_home / "spaces" / "me" / "demo" / "MEMORY.md"
    with open_mind(older_home) as mind:
        mind.data.mirror(SPACE)
        page.write_text(page.read_text("utf-8").replace("osprey", "ospray"), "utf-8")
        mind.data.mirror(SPACE)
        assert any("ospray" in one.text for one in mind.browse(space=SPACE))


def test_the_command_line_opens_it(older_home):
    """Commands read it; verify finds nothing wrong."""
    assert "osprey" in run_command("--home", str(older_home), "list", "--space", SPACE).stdout
    assert run_command("--home", str(older_home), "data", "verify").exit_code == 0
