"""A tool writes to a page of the mirror: what it writes is remembered once, as the tool's, and the
page stays ours.
"""

from pathlib import Path

import pytest

from reverie.core.errors import BadInput
from reverie.testing import SPACE, memory

TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3


@pytest.fixture
def mind(tmp_path, clock):
    with memory(tmp_path / "home", now=clock) as mind:
        mind.data.mirror(SPACE)
        yield mind


def page(mind):
    """MEMORY.md of the space."""
    return Path(mind.data.mirror(SPACE)[0].folder, "MEMORY.md")


def said(mind):
    """What counts, as (text, kind, provenance)."""
    return sorted(
        (one.text, one.kind, one.provenance) for one in mind.browse(space=SPACE, limit=50)
    )


def update(mind, text, mode="append", **more):
    return mind.files.update(page(mind), text, mode, space=SPACE, **more)


@pytest.mark.proves("C95", "C97")
def test_what_is_appended_is_remembered_once_as_the_tools(mind):
    """One memory for each bullet and paragraph, observed, not the user's word; again changes
    nothing.
    """
    written = update(
        mind,
        "- Staging is heron\n- Prod is eagle\n\nThe relay listens\non port nine.\n",
        session="s1",
    )
    kept = [
        ("Prod is eagle", "fact", "observed"),
        ("Staging is heron", "fact", "observed"),
        ("The relay listens\non port nine.", "fact", "observed"),
    ]
    assert kept == said(mind)
    assert {"s1"} == {one.session for one in written.memories} and written.added == 3
    for _ in range(2):
        mind.data.mirror(SPACE)
        mind.settle()
        assert kept == said(mind)
    assert page(mind).read_text().count("Staging is heron") == 1
    assert update(mind, "- Staging is heron\n").added == 0
    assert kept == said(mind) and [] == mind.data.verify()


@pytest.mark.proves("C95")
def test_a_heading_says_the_kind_of_what_is_appended(mind):
    """Under one of the page's headings it is of that kind; somebody's own heading becomes its
    title.
    """
    update(mind, "## Preferences\n- Tabs, not spaces\n\n## Hosts\n- Staging is heron\n")
    assert [
        ("Staging is heron", "fact", "observed"),
        ("Tabs, not spaces", "preference", "observed"),
    ] == said(mind)
    assert ["Hosts"] == [one.title for one in mind.browse(space=SPACE, kinds=["fact"], limit=5)]


@pytest.mark.proves("C96", "CC-74")
def test_a_replaced_page_stays_in_step_and_what_it_replaced_counts_no_longer(mind):
    """The page keeps its first line; lines that are gone are forgotten, one event takes it all
    back.
    """
    kept = mind.remember("Prod is eagle", kind="preference", space=SPACE)
    gone = mind.remember("Staging is heron", space=SPACE)
    corrected = mind.remember("The relay is curlew", space=SPACE)
    before = page(mind).read_text()
    written = update(
        mind,
        f"# Hosts\n\n- Prod is eagle\n- The relay is plover <!-- {corrected.id} -->\n- CI is wren\n",
        "replace",
    )
    assert (written.added, written.revised, written.forgotten) == (1, 1, 1)
    assert [
        ("CI is wren", "fact", "observed"),
        ("Prod is eagle", "preference", "observed"),
        ("The relay is plover", "fact", "observed"),
    ] == said(mind)
    assert not mind.get([gone.id])[0].active and mind.get([kept.id])[0].active
    told = page(mind).read_text()
    assert told.startswith("<!-- reverie mirror ") and "# Hosts" in told and "heron" not in told
    later = mind.remember("Backups run at four", space=SPACE)
    mind.settle()
    assert later.text in page(mind).read_text() and not mind.data.mirror(SPACE)[0].troubles
    mind.undo(written.version)
    assert {"Prod is eagle", "Staging is heron", "The relay is curlew", later.text} == {
        text for text, *_ in said(mind)
    }
    assert "heron" in page(mind).read_text() and before != told and [] == mind.data.verify()


@pytest.mark.proves("CC-74")
def test_a_page_that_is_restored_brings_its_memories_back(mind):
    """What a replacement forgot counts again, and what it added does not; it stays so when pages
    follow.
    """
    mind.remember("Staging is heron", space=SPACE)
    written = update(mind, "- CI is wren\n", "replace")
    mind.files.restore(page(mind), written.version, space=SPACE)
    mind.settle()
    assert [("Staging is heron", "fact", "observed")] == said(mind)
    assert "wren" not in page(mind).read_text() and "heron" in page(mind).read_text()


@pytest.mark.proves("C96")
def test_a_persons_words_stay_theirs(mind):
    """What a person wrote before is theirs; their prose stays prose where the new page has it too."""
    place = page(mind)
    place.write_text(
        place.read_text() + "\nNobody deploys on Fridays.\n\n## Facts\n\n- Staging is heron\n"
    )
    update(mind, "Nobody deploys on Fridays.\n\n- Staging is heron\n- CI is wren\n", "replace")
    assert [
        ("CI is wren", "fact", "observed"),
        ("Staging is heron", "fact", "user_stated"),
    ] == said(mind)
    assert "\nNobody deploys on Fridays.\n" in place.read_text()


@pytest.mark.proves("CC-74")
def test_a_page_that_waits_for_an_answer_is_not_replaced(mind):
    """It says why; nothing is forgotten, and what is appended is kept all the same."""
    for number in range(20):
        mind.remember(f"Host {number} is called bird {number}", space=SPACE)
    place = page(mind)
    place.write_text("\n".join(place.read_text().splitlines()[:6]) + "\n")
    with pytest.raises(BadInput, match="reverie data mirror --yes"):
        update(mind, "- CI is wren\n", "replace")
    written = update(mind, f"- The key is {TOKEN}\n")
    assert written.memory.details["redacted"] and "reverie data mirror --yes" in written.why
    assert len(said(mind)) == 21


@pytest.mark.proves("A108")
def test_what_is_refused_comes_in_by_no_page(tmp_path, clock):
    """A line with an id that is reworded goes by the policy like any other text."""
    with memory(tmp_path / "home", now=clock, contact="refuse") as mind:
        mind.data.mirror(SPACE)
        update(mind, "- Search is Ann's.\n")
        told = (
            page(mind)
            .read_text("utf-8")
            .replace("Search is Ann's.", "Search is Ann's, ann@example.org.")
        )
        with pytest.raises(BadInput, match='contact = "refuse"'):
            update(mind, told, "replace")
        mind.settle()
        assert "ann@example.org" not in "".join(text for text, *_ in said(mind))
