"""Reviewing single memories: approving, escalating, dismissing, promoting to a page."""

import json

import pytest

from reverie.core.errors import BadInput
from reverie.core.kinds import maturity_of
from reverie.porting.importers.foreign_texts import split_frontmatter
from reverie.testing import SPACE
from tests.support.helpers import run_command, toy_home


def hinted(mind):
    return [
        hint.id for hint in mind.hints("where is the staging server, is it heron?", space=SPACE)
    ]


@pytest.fixture
def inferred_memory(mind):
    """Something that was only concluded."""
    return mind.remember("The staging server is heron.", space=SPACE, provenance="inferred")


@pytest.mark.proves("X35", "CC-85")
def test_inferred_memories_wait_for_review(mind, inferred_memory):
    """It does not surface unasked, can be asked for, and is listed as waiting."""
    assert [] == hinted(mind)
    assert [inferred_memory.id] == [
        hit.memory.id for hit in mind.recall("staging server", space=SPACE)
    ]
    assert [inferred_memory.id] == [memory.id for memory in mind.review.pending(space=SPACE)]


@pytest.mark.proves("X35")
def test_approved_memories_surface(mind, inferred_memory):
    """Who approved it and why stays with it; nobody need look again; undo takes the approval back."""
    kept = mind.review.curate(
        inferred_memory.id, "validated", by="reviewer", note="seen in the inventory"
    )
    assert ("validated", "reviewer", "seen in the inventory") == (
        maturity_of(kept),
        kept.details["curated"]["by"],
        kept.details["curated"]["note"],
    )
    assert [inferred_memory.id] == hinted(mind) and [] == mind.review.pending(space=SPACE)
    mind.undo(mind.history(inferred_memory.id)[-1].event.seq)
    assert [] == hinted(mind)


def test_a_reinforced_memory_needs_no_review(mind, inferred_memory):
    """An inferred memory surfaces once it was reinforced or reviewed."""
    mind.feedback(inferred_memory.id, True)
    assert [inferred_memory.id] == hinted(mind)


@pytest.mark.proves("X35", "CC-85")
def test_escalated_memories_wait_for_a_person(mind):
    """Escalated is never hinted, whoever said it; a decision ends that."""
    kept = mind.remember("The staging server is heron.", space=SPACE, provenance="user_stated")
    assert [kept.id] == hinted(mind)
    mind.review.curate(kept.id, "escalated", by="agent", note="the inventory says crane")
    assert [] == hinted(mind) and [kept.id] == [
        memory.id for memory in mind.review.pending(space=SPACE)
    ]
    mind.review.curate(kept.id, "raw")
    assert [kept.id] == hinted(mind) and "curated" not in mind.get(kept.id)[0].details


@pytest.mark.proves("X35", "CC-85")
def test_dismissed_memories_can_be_restored(mind, inferred_memory):
    """Never hinted nor recalled, readable by id, restored."""
    mind.review.curate(inferred_memory.id, "dismissed", note="a guess")
    gone = mind.get(inferred_memory.id)[0]
    assert ("dismissed", False) == (maturity_of(gone), gone.active)
    assert [] == mind.recall("staging server", space=SPACE)
    with pytest.raises(BadInput, match="restore it first"):
        mind.review.curate(inferred_memory.id, "validated")
    assert "raw" == maturity_of(mind.restore(inferred_memory.id))
    assert "validated" == maturity_of(mind.review.curate(inferred_memory.id, "validated"))


def test_a_state_that_is_none_is_named(mind, inferred_memory):
    with pytest.raises(BadInput, match="raw, validated, escalated, dismissed"):
        mind.review.curate(inferred_memory.id, "fine")


@pytest.mark.proves("X38")
def test_a_memory_is_promoted_to_a_page(mind, inferred_memory, clock, tmp_path):
    """A page with what it says, what it came from and who approved it; the memory stays and names
    it.
    """
    older = mind.remember("The staging server is crane.", space=SPACE, session="s1", speaker="Ann")
    mind.supersede(older.id, inferred_memory.id)
    file = tmp_path / "staging.md"
    kept = mind.review.promote(
        inferred_memory.id, file, by="reviewer", note="seen in the inventory"
    )
    head, body, _ = split_frontmatter(file.read_text())
    assert "The staging server is heron." in body
    assert head["lineage"] == {
        "memories": [inferred_memory.id, older.id],
        "said_by": ["Ann"],
        "sessions": ["s1"],
        "provenance": "inferred",
        "confidence": 0.5,
        "said": 1,
        "approved_by": "reviewer",
        "approved_at": "2025-10-09T08:53:20+00:00",
        "why": "seen in the inventory",
    }
    assert (maturity_of(kept), kept.details["reference"]) == ("validated", str(file))
    assert [inferred_memory.id] == hinted(mind)
    mind.undo(mind.history(inferred_memory.id)[-1].event.seq)
    assert "reference" not in mind.get(inferred_memory.id)[0].details and file.exists()


@pytest.mark.parametrize(
    "name", ["there.md", "nowhere/x.md", "ghp_abcdefghijklmnopqrstuvwxyz0123456789.md"]
)
@pytest.mark.proves("X38")
def test_promoting_overwrites_no_page(mind, inferred_memory, tmp_path, name):
    """Nothing is overwritten, no folder made, no secret written down, and the memory is as it was."""
    (tmp_path / "there.md").write_text("mine")
    with pytest.raises(BadInput, match="new file"):
        mind.review.promote(inferred_memory.id, tmp_path / name)
    assert (tmp_path / "there.md").read_text() == "mine" and mind.get(inferred_memory.id)[
        0
    ].details == inferred_memory.details


@pytest.mark.proves("X38")
def test_promoting_on_the_command_line(tmp_path, monkeypatch):
    """`reverie memory promote ID FILE`."""
    monkeypatch.setenv("REVERIE_HOME", str(toy_home(tmp_path)))
    monkeypatch.chdir(tmp_path)
    id = json.loads(run_command("remember", "Staging is heron.", "--json").stdout)["memory"]["id"]
    assert "staging.md" in run_command("memory", "promote", id, "staging.md").stdout
    assert "Staging is heron." in (tmp_path / "staging.md").read_text()
    run_command("memory", "promote", id, "staging.md", code=2)
