# mypy: no-check-untyped-defs
"""The mirror on a real disk: editors, accidents, other people's files, several processes."""

import json
import os
import subprocess
import sys
import threading

import pytest

from reverie.core import clock as real
from reverie.core.errors import BadInput
from reverie.core.model import Filter
from reverie.mirror import base_copy, file_exchange, mirror_sync
from reverie.mirror.mirror_folder import MirrorFolder, to_folder_name
from reverie.testing import SPACE, make_conversation, memory
from tests.support.helpers import interrupt, open_mind, run_command, toy_home, wait_until

TODAY = "memory/2025-10-09.md"


@pytest.fixture
def mind(tmp_path, clock):
    with memory(tmp_path / "home", now=clock) as mind:
        yield mind


def page(mind, name="MEMORY.md", space=SPACE):
    return MirrorFolder(mind.settings.mirror_root, space).path / name


def text(mind, name="MEMORY.md", space=SPACE):
    return page(mind, name, space).read_bytes().decode()


def edit(mind, old, new, name="MEMORY.md"):
    """An editor that writes a new file and renames it over the old one."""
    before = text(mind, name)
    assert old in before
    half = page(mind, name).with_name("4913~")
    half.write_bytes(before.replace(old, new, 1).encode())
    half.replace(page(mind, name))


def sync(mind, **how):
    """Bring the space in step; the result."""
    (done,) = mind.data.mirror(SPACE, **how)
    return done


def alive(mind):
    return {m.text: m for m in mind.store.browse(Filter(spaces=(SPACE,), limit=1000))}


def filled(mind, count):
    made = mind.remember_many(
        [{"text": f"Fact number {n} of many."} for n in range(count)], space=SPACE
    )
    sync(mind)
    return made


@pytest.mark.proves("C8", "C26", "C87", "C88", "C109", "C110")
def test_pages_are_written_by_settling_and_grouped(mind):
    """MEMORY.md holds what lasts under its group, the day's page what happened, with no call but
    `settle`.
    """
    fact = mind.remember("The staging server is called heron.", space=SPACE)
    mind.remember("Never push with force to main.", space=SPACE, kind="negative")
    event = mind.remember("Deployed heron.", space=SPACE, kind="event")
    mind.remember("Where I was in the file.", space=SPACE, kind="scratch")
    mind.settle()

    long = text(mind)
    assert long.index("## Never do") < long.index("## Facts")
    assert f"- The staging server is called heron. <!-- {fact.id} -->\n" in long
    assert "scratch" not in long
    assert "Where I was" not in long + text(mind, TODAY)
    assert f"- 08:53 Deployed heron. <!-- {event.id} -->\n" in text(mind, TODAY)
    assert [] == mind.data.verify()


@pytest.mark.proves("B92")
def test_each_project_has_its_file_and_the_user_one(mind):
    """The user's own and each project's stand in a file of theirs and in no other."""
    said = {
        "me": "I like tabs.",
        SPACE: "Staging is called heron.",
        "me/other": "Staging is called crane.",
    }
    for space, text_of_it in said.items():
        mind.remember(text_of_it, space=space)
    mind.settle()
    pages = {space: text(mind, space=space) for space in said}
    assert {
        space: [one for one in said.values() if one in page] for space, page in pages.items()
    } == {space: [one] for space, one in said.items()}


@pytest.mark.proves("C23", "C88", "C109")
def test_every_event_is_appended_to_its_day(mind, clock):
    """Each episode stands in the log of its day; the pages of other days are not written again."""
    mind.remember("Yesterday's work.", space=SPACE, kind="task", at=clock() - 86_400)
    sync(mind)
    before = page(mind, "memory/2025-10-08.md").stat()
    mind.remember("First.", space=SPACE, kind="event")
    sync(mind)
    clock.tick(minutes=5)
    mind.remember("Second.", space=SPACE, kind="event")
    done = sync(mind)

    assert done.pages == (TODAY,)
    assert text(mind, TODAY).index("08:53 First.") < text(mind, TODAY).index("08:58 Second.")
    assert page(mind, "memory/2025-10-08.md").stat() == before


@pytest.mark.proves("C60")
def test_an_edited_line_revises_its_memory(mind):
    """The memory has the new text as the user's own word, the old one stays in its history, one
    event can be undone.
    """
    old = mind.remember("The staging server is called heron.", space=SPACE)
    sync(mind)
    edit(mind, "heron", "osprey")
    done = sync(mind)

    (new,) = mind.get([old.id])
    assert (new.text, new.provenance, new.trust) == (
        "The staging server is called osprey.",
        "user_stated",
        0.95,
    )
    assert [r.before.get("text") for r in mind.history(old.id)] == [None, old.text]
    assert (done.revised, done.new, done.forgotten, len(done.events)) == (1, 0, 0, 1)

    mind.undo(done.events[0])
    sync(mind)
    assert "heron" in text(mind)
    assert [] == mind.data.verify()


@pytest.mark.proves("C60")
def test_a_deleted_line_is_forgotten_and_can_be_restored(mind):
    """Deleting is forgetting, and `restore` brings it back, on the page too."""
    gone = mind.remember("The printer is in room 3.", space=SPACE)
    mind.remember("Deploys go out on Tuesdays.", space=SPACE)
    sync(mind)
    edit(mind, f"- The printer is in room 3. <!-- {gone.id} -->\n", "")

    assert sync(mind).forgotten == 1
    assert (mind.get([gone.id])[0].active, mind.get([gone.id])[0].retired_why) == (
        False,
        "forgotten",
    )
    mind.restore(gone.id)
    sync(mind)
    assert gone.text in text(mind)


def test_a_new_line_is_remembered_under_its_heading_without_secrets(mind):
    """A new bullet has the kind of its heading, is the user's word, and what is secret in it leaves
    the file too.
    """
    mind.remember("Anything.", space=SPACE)
    sync(mind)
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    edit(
        mind,
        "## Facts\n",
        f"## Preferences\n- Tea over coffee.\n\n## Facts\n- The token is {token}.\n",
    )
    mind.settle()

    liked = alive(mind)["Tea over coffee."]
    assert (liked.kind, liked.provenance) == ("preference", "user_stated")
    assert token not in text(mind)
    assert not any(
        token in path.read_text("utf-8", "replace")
        for path in page(mind).parent.rglob("*")
        if path.is_file()
    )
    assert "The token is [" in text(mind)
    assert mind.recall("tea or coffee?", space=SPACE, mode="words")[0].memory.id == liked.id


@pytest.mark.proves("C88")
def test_a_day_can_be_edited_too(mind):
    """A new line of a day's page is an event of that day, at its time; a line's time can be put
    right.
    """
    mind.remember("Started.", space=SPACE, kind="event")
    sync(mind)
    edit(mind, "- 08:53 Started.", "- 07:10 Coffee with Ann.\n- 08:45 Started.", TODAY)
    sync(mind)

    assert (
        alive(mind)["Coffee with Ann."].at == mind.context.now() // 86_400 * 86_400 + 7 * 3600 + 600
    )
    assert alive(mind)["Started."].at == mind.context.now() // 86_400 * 86_400 + 8 * 3600 + 2700
    assert alive(mind)["Coffee with Ann."].kind == "event"


def test_a_moved_line_changes_its_kind(mind):
    """Under another heading it is of another kind, also from one page to another; nothing is
    forgotten by it.
    """
    one = mind.remember("We use tabs.", space=SPACE)
    sync(mind)
    line = f"- We use tabs. <!-- {one.id} -->\n"
    edit(mind, line, "")
    edit(mind, "\n## Facts\n", f"\n## Decisions\n{line}\n## Facts\n")
    sync(mind)
    assert mind.get([one.id])[0].kind == "decision"

    mind.remember("Something else happened.", space=SPACE, kind="event")
    sync(mind)
    edit(mind, line, "")
    edit(mind, "## What happened\n", f"## What happened\n{line}", TODAY)
    assert sync(mind).forgotten == 0
    assert mind.get([one.id])[0].kind == "event"
    assert one.id in text(mind, TODAY)
    assert one.id not in text(mind)
    assert [] == mind.data.verify()


def test_a_line_that_lost_its_id_is_still_its_memory(mind):
    """An editor that drops comments forgets nothing and makes nothing twice."""
    one = mind.remember("Deploys go out on Tuesdays.", space=SPACE)
    sync(mind)
    edit(mind, f" <!-- {one.id} -->", "")
    done = sync(mind)

    assert (done.new, done.forgotten) == (0, 0)
    assert f"<!-- {one.id} -->" in text(mind)


@pytest.mark.proves("C60")
def test_a_line_copied_under_a_heading_of_ones_own_is_prose(mind):
    """It stays there without the id, whether the line stands above or below; no new memory is made
    of it.
    """
    one = mind.remember("Deploys go out on Tuesdays.", space=SPACE)
    mind.remember("Tea over coffee.", space=SPACE)
    sync(mind)
    line = f"- {one.text} <!-- {one.id} -->\n"
    edit(mind, "## Facts\n", f"## Before\n\n{line}\n## Facts\n")
    page(mind).write_text(f"{text(mind)}\n## Mine\n\n{line}")
    done = sync(mind)

    assert (done.new, done.revised, done.forgotten, done.troubles) == (0, 0, 0, ())
    assert (text(mind).count(one.id), text(mind).count(f"- {one.text}\n")) == (1, 2)
    assert [] == mind.data.verify()


@pytest.mark.proves("C60")
def test_a_line_of_nobodys_under_a_heading_of_ones_own_is_prose(mind):
    """An id that this space does not know deletes nothing: the line stays, without the id."""
    other = mind.remember("Elsewhere.", space="me/other")
    mind.remember("Tea over coffee.", space=SPACE)
    sync(mind)
    page(mind).write_text(
        f"{text(mind)}\n## Mine\n\n- A note. <!-- mem_01aaaaaaaaaaaaaaaaaaaaaaaa -->\n"
        f"- Copied and edited. <!-- {other.id} -->\n"
    )
    sync(mind)

    assert text(mind).endswith("## Mine\n\n- A note.\n- Copied and edited.\n")
    assert alive(mind).keys() == {"Tea over coffee."}
    assert mind.get([other.id])[0].text == "Elsewhere."
    assert [] == mind.data.verify()


def test_unforeseen_trouble_in_one_space_stops_no_other_one(mind, monkeypatch):
    """Settling goes on, the other spaces are written, the trouble is told and gone
    once it is over.
    """
    mind.remember("Here.", space=SPACE)
    mind.settle()
    real_read = MirrorFolder.read

    def read(self, name):
        if self.space == SPACE:
            raise LookupError("something nobody thought of")
        return real_read(self, name)

    with monkeypatch.context() as broken:
        broken.setattr(MirrorFolder, "read", read)
        mind.remember("More.", space=SPACE)
        mind.remember("Elsewhere.", space="me/other")
        mind.settle()
        (problem,) = mind.data.verify()
        assert "something nobody thought of" in sync(mind).troubles[0]

    assert "something nobody thought of" in problem.message
    assert "Elsewhere." in text(mind, space="me/other")
    assert sync(mind).troubles == ()
    assert "More." in text(mind)
    assert [] == mind.data.verify()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- Deploys go out", "Deploys go out"),
        ("- Deploys go out", "1. Deploys go out"),
        ("- Deploys go out", "  - Deploys go out"),
        ("- Deploys go out on Tuesdays. ", "- Deploys go out on Tuesdays.\n"),
        ("- Deploys go out on Tuesdays. ", "### Deploys go out on Tuesdays. "),
        ("- Deploys go out on Tuesdays. ", ""),
    ],
)
@pytest.mark.proves("C60")
def test_a_line_that_lost_its_shape_is_still_its_memory(mind, old, new):
    """Without its bullet, numbered, indented, broken, as a heading: as long as its id stands there,
    nothing is forgotten and nothing is made twice.
    """
    one = mind.remember("Tea over coffee.", space=SPACE, at=mind.context.now() - 60)
    two = mind.remember("Deploys go out on Tuesdays.", space=SPACE)
    sync(mind)
    edit(mind, old, new)
    done = sync(mind)

    assert (done.new, done.revised, done.forgotten, done.questions) == (0, 0, 0, ())
    assert mind.get([one.id, two.id]) == [one, two]
    assert text(mind).count("Deploys go out on Tuesdays.") == (2 if "#" in new else 1)
    assert [] == mind.data.verify()


def test_a_wrapped_line_and_two_joined_ones_are_still_their_memories(mind):
    """An editor that wraps without indenting says the same in two lines; of two lines made one none
    is forgotten.
    """
    one = mind.remember("Deploys go out on Tuesdays.", space=SPACE, at=mind.context.now() - 60)
    two = mind.remember("Tea over coffee.", space=SPACE)
    sync(mind)
    edit(mind, "go out on", "go out\non")
    done = sync(mind)
    assert (done.new, done.revised, done.forgotten) == (0, 1, 0)
    assert mind.get([one.id])[0].text == "Deploys go out\non Tuesdays."

    edit(mind, f"<!-- {one.id} -->\n- Tea", f"<!-- {one.id} --> Tea")
    assert sync(mind).forgotten == 0
    assert text(mind).count(two.id) == 1
    edit(mind, f"- Tea over coffee. <!-- {two.id} -->\n", "")
    assert sync(mind).forgotten == 1


def test_a_number_list_without_ids_is_prose(mind):
    """Only an id makes more than a bullet a memory's line."""
    mind.remember("Tea over coffee.", space=SPACE)
    sync(mind)
    edit(mind, "## Facts\n", "## Facts\n1. One of my own.\n")
    assert sync(mind).new == 0
    assert "1. One of my own.\n" in text(mind)


def test_a_fence_ends_where_markdown_says(mind):
    """What a longer or other fence encloses is prose, shorter fences too."""
    mind.remember("Tea over coffee.", space=SPACE)
    sync(mind)
    fences = "````\n```\n- an example\n```\n````\n~~~~ text\n~~~\n- another\n```\n~~~~ \n```\n``` py\n- third\n```\n"
    page(mind).write_text(text(mind) + fences)
    assert sync(mind).new == 0
    assert text(mind).endswith(fences)


def test_only_a_time_of_the_day_is_one(mind):
    """What looks like a time and is none is part of what was said."""
    mind.remember("Started.", space=SPACE, kind="event")
    sync(mind)
    edit(
        mind,
        "- 08:53 Started.",
        "- 24:00 lights off\n- 99:10 was the exchange rate\n- 08:53 Started.",
        TODAY,
    )
    assert sync(mind).new == 2

    assert alive(mind).keys() == {"Started.", "24:00 lights off", "99:10 was the exchange rate"}
    assert "- 08:53 24:00 lights off <!--" in text(mind, TODAY)
    assert [] == mind.data.verify()


def test_the_persons_edit_wins_and_the_programs_stays_in_history(mind):
    """Both altered one line: the person's stands, the program's is in the history, and
    it is told.
    """
    one = mind.remember("Port is 80.", space=SPACE)
    sync(mind)
    mind.revise(one.id, text="Port is 8080.")
    edit(mind, "Port is 80.", "Port is 443.")
    done = sync(mind)

    assert mind.get([one.id])[0].text == "Port is 443."
    assert "Port is 8080." in [r.before.get("text") for r in mind.history(one.id)]
    assert done.clashes == (one.id,)


def test_an_edit_restores_a_superseded_memory(mind):
    """What was superseded meanwhile counts again if the person has edited its line, and is not
    superseded unasked.
    """
    old, new = (mind.remember(words, space=SPACE) for words in ("Editor: vim.", "Editor: helix."))
    sync(mind)
    mind.supersede(old.id, new.id)
    edit(mind, "Editor: vim.", "Editor: vim, in the terminal.")
    done = sync(mind)

    assert (done.revived, done.clashes) == (1, (old.id,))
    assert mind.get([old.id])[0].active
    assert "Editor: vim, in the terminal." in text(mind)
    assert [] == mind.data.verify()


def test_an_old_buffer_reverts_nothing(mind):
    """An editor that saves a page loaded several states ago alters only what its user altered."""
    one = mind.remember("Port is 80.", space=SPACE)
    sync(mind)
    buffer = text(mind)
    mind.revise(one.id, text="Port is 8080.")
    sync(mind)
    mind.remember("Added meanwhile.", space=SPACE)
    sync(mind)
    page(mind).write_text(buffer + "\nA remark.\n")
    done = sync(mind)

    assert (done.new, done.revised, done.forgotten) == (0, 0, 0)
    assert {"Port is 8080.", "Added meanwhile."} == alive(mind).keys()
    assert "A remark." in text(mind)
    assert "Added meanwhile." in text(mind)


def test_a_buffer_older_than_all_known_states_is_asked_about(mind, monkeypatch):
    """It turns nothing back, and what may have been written since is not forgotten unasked."""
    monkeypatch.setattr(base_copy, "MAX_STATES", 2)
    one, other = (mind.remember(words, space=SPACE) for words in ("Port is 80.", "Editor: vim."))
    sync(mind)
    buffer = text(mind)
    for number in range(4):
        mind.revise(one.id, text=f"Port is {number}.")
        sync(mind)
    page(mind).write_text(buffer.replace("vim", "helix"))
    done = sync(mind)
    assert (done.revised, done.questions, alive(mind).keys()) == (
        1,
        (),
        {"Port is 3.", "Editor: helix."},
    )
    assert "Port is 3." in text(mind)

    mind.remember("Added meanwhile.", space=SPACE)
    for number in range(4, 8):
        mind.revise(one.id, text=f"Port is {number}.")
        sync(mind)
    page(mind).write_text(buffer.replace("vim", "nano"))
    assert sync(mind).questions == (("MEMORY.md", 1, 3),)
    assert alive(mind).keys() == {"Port is 7.", "Editor: helix.", "Added meanwhile."}
    sync(mind, forget=False)
    assert alive(mind).keys() == {"Port is 7.", "Editor: nano.", "Added meanwhile."}
    assert [] == mind.data.verify()
    assert mind.get([other.id])[0].text == "Editor: nano."


@pytest.mark.proves("C60")
def test_a_refused_line_stays_as_it_was_typed(mind):
    """What was typed is not overwritten: it stands there with its trouble until it is put right."""
    one = mind.remember("Port is 80.", space=SPACE)
    mind.remember("Editor: vim.", space=SPACE)
    sync(mind)
    edit(mind, "Port is 80.", "Port is 443, " + "x" * 4_100_000)
    (trouble,) = sync(mind).troubles
    mind.remember("Added meanwhile.", space=SPACE)
    assert sync(mind).troubles == (trouble,)
    assert [problem.message for problem in mind.data.verify()] == [trouble]
    assert (text(mind).count("Port is 443"), text(mind).count(one.id)) == (1, 1)
    assert "Added meanwhile." in text(mind)

    edit(mind, "x" * 4_100_000, "see the wiki.")
    assert sync(mind).troubles == ()
    assert mind.get([one.id])[0].text == "Port is 443, see the wiki."
    assert [] == mind.data.verify()


@pytest.mark.parametrize("left", ["", "\n", None, "cut", "many"])
def test_many_lines_gone_are_asked_about(mind, left):
    """A page emptied, deleted, cut off, or short of more than ten lines: nothing is forgotten until
    somebody answers; no writes the lines anew, yes forgets them.
    """
    made = filled(mind, 40)
    whole = text(mind)

    def harm():
        if left is None:
            page(mind).unlink()
        elif left == "cut":
            page(mind).write_text(whole[: len(whole) // 2 + 7])
        elif left == "many":
            page(mind).write_text(
                "".join(line for line in whole.splitlines(True) if "number 1" not in line)
            )
        else:
            page(mind).write_text(left)

    harm()
    assert sync(mind).questions
    mind.settle()
    assert len(alive(mind)) == 40
    assert len(mirror_sync.list_deletion_questions(mind.settings, mind.store)) == 1
    assert [] == mind.data.verify()

    assert not sync(mind, forget=False).questions
    assert len(alive(mind)) == 40
    assert all(one.id in text(mind) for one in made)

    harm()
    done = sync(mind, forget=True)
    assert done.forgotten == 40 - len(alive(mind)) >= 11
    assert mirror_sync.list_deletion_questions(mind.settings, mind.store) == []
    assert {item.text for item in made} >= alive(mind).keys()
    assert [] == mind.data.verify()


@pytest.mark.parametrize(
    ("lines", "gone", "asks"),
    [(1, 1, True), (2, 2, True), (2, 1, False), (4, 2, False), (9, 3, True), (10, 3, False)],
)
def test_a_page_without_any_line_is_always_asked_about(mind, lines, gone, asks):
    """Fewer than three lines go without a question, three if they are no more than 30 %, but never
    the last one.
    """
    made = filled(mind, lines)
    page(mind).write_text(
        "".join(
            line
            for line in text(mind).splitlines(True)
            if not any(one.id in line for one in made[:gone])
        )
    )
    done = sync(mind)
    assert (bool(done.questions), done.forgotten) == (asks, 0 if asks else gone)


def test_a_page_of_a_day_that_somebody_has_made(mind):
    """It is found; nothing is taken in unasked, it is told how, and a line that was moved there is
    not forgotten.
    """
    one = mind.remember("Tea over coffee.", space=SPACE)
    mind.remember("Port is 80.", space=SPACE)
    sync(mind)
    line, name = f"- {one.text} <!-- {one.id} -->\n", "memory/2025-01-02.md"
    edit(mind, line, "")
    page(mind, name).parent.mkdir()
    page(mind, name).write_text(f"## What happened\n\n- 10:00 I met Bob.\n{line}")
    (trouble,) = sync(mind).troubles
    assert alive(mind).keys() == {"Tea over coffee.", "Port is 80."}
    assert [trouble] == [problem.message for problem in mind.data.verify()]

    first = trouble[trouble.index("<!--") :]
    page(mind, name).write_text(f"{first}\n{text(mind, name)}")
    os.utime(page(mind, name), (real.now() - 2, real.now() - 2))
    assert mind.settle().mirrored == 2
    assert alive(mind)["I met Bob."].at == 1_735_812_000
    assert mind.get([one.id])[0].kind == "event"
    assert one.id not in text(mind)
    assert [] == mind.data.verify()

    page(mind, "memory/2025-01-03.md").write_text("")
    sync(mind)
    assert text(mind, "memory/2025-01-03.md").startswith("<!-- reverie mirror")


def test_ten_lines_of_many_go_without_a_question(mind):
    """Up to ten lines and 30 % of the page are simply forgotten."""
    filled(mind, 40)
    page(mind).write_text(
        "".join(line for n, line in enumerate(text(mind).splitlines(True)) if not 10 <= n < 20)
    )

    assert sync(mind).forgotten == 10


def test_line_ends_byte_order_mark_and_a_missing_newline_stay(mind):
    """CRLF, BOM and a last line without an end are kept, and are no edits."""
    mind.remember("Over two\nlines.", space=SPACE)
    sync(mind)
    page(mind).write_bytes(
        b"\xef\xbb\xbf" + text(mind).rstrip("\n").encode().replace(b"\n", b"\r\n")
    )
    done = sync(mind)
    assert (done.revised, done.new, done.forgotten, done.pages) == (0, 0, 0, ())
    mind.remember("One more.", space=SPACE)
    sync(mind)

    data = page(mind).read_bytes()
    assert data.startswith(b"\xef\xbb\xbf<!-- reverie mirror")
    assert data.count(b"\n") == data.count(b"\r\n")
    assert [] == mind.data.verify()


def test_an_undecodable_page_is_left_alone(mind):
    """Bytes that are not UTF-8 are not touched; the message says what to do, and a repaired page
    goes on.
    """
    mind.remember("A fact.", space=SPACE)
    sync(mind)
    good = page(mind).read_bytes()
    page(mind).write_bytes(good + b"\xff\xfe")
    mind.remember("Another fact.", space=SPACE)
    (trouble,) = sync(mind).troubles

    assert "not UTF-8" in trouble
    assert page(mind).read_bytes() == good + b"\xff\xfe"
    assert [p.what for p in mind.data.verify()] == ["mirror"]
    page(mind).write_bytes(good)
    assert sync(mind).troubles == ()
    assert "Another fact." in text(mind)
    assert [] == mind.data.verify()


@pytest.mark.parametrize(
    "theirs",
    ["# My memory\n- not Reverie's\n", "<!-- reverie mirror me/other MEMORY.md 00000000: -->\n"],
)
def test_other_peoples_files_are_never_overwritten(mind, theirs):
    """A MEMORY.md that Reverie did not write for this space stays to the byte, and it
    is said so.
    """
    page(mind).parent.mkdir(parents=True)
    page(mind).write_text(theirs)
    for name in ("CLAUDE.md", "AGENTS.md"):
        page(mind, name).write_text("# Rules\n- hello\n")
    mind.remember("A fact.", space=SPACE)
    mind.settle()
    (trouble,) = sync(mind).troubles

    assert "left alone" in trouble
    assert page(mind).read_text() == theirs
    assert (
        page(mind, "CLAUDE.md").read_text()
        == page(mind, "AGENTS.md").read_text()
        == "# Rules\n- hello\n"
    )
    assert alive(mind).keys() == {"A fact."}


def test_links_are_not_followed(mind, tmp_path):
    """Neither a page that is a link nor a folder that leads out of the home is read or written."""
    outside = tmp_path / "outside"
    outside.mkdir()
    mind.settings.mirror_root.mkdir(parents=True)
    (mind.settings.mirror_root / "me").symlink_to(outside)
    mind.remember("A fact.", space=SPACE)
    assert "link" in sync(mind).troubles[0]
    assert [] == list(outside.rglob("*.md"))

    (mind.settings.mirror_root / "me").unlink()
    sync(mind)
    (outside / "MEMORY.md").write_text(text(mind).replace("A fact.", "Not a fact."))
    page(mind).unlink()
    page(mind).symlink_to(outside / "MEMORY.md")
    assert "link" in sync(mind).troubles[0]
    assert alive(mind).keys() == {"A fact."}


def test_nothing_is_written_through_a_link_that_leads_out(mind, tmp_path):
    """Neither the hidden files nor those of a space whose folder is a link are written outside of
    the mirror.
    """
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "theirs.txt").write_text("theirs")
    mind.remember("A fact.", space=SPACE)
    sync(mind)
    state = page(mind, ".mirror/state.json")
    state.unlink()
    state.symlink_to(outside / "theirs.txt")
    mind.remember("Another.", space=SPACE)
    assert "link" in sync(mind).troubles[0]
    assert (outside / "theirs.txt").read_text() == "theirs"

    page(mind).parent.rename(tmp_path / "away")
    page(mind).parent.symlink_to(outside)
    mind.remember("One more.", space=SPACE)
    assert "link" in sync(mind).troubles[0]
    assert [path.name for path in outside.rglob("*")] == ["theirs.txt"]


def test_a_folder_that_cannot_be_written_is_said_and_caught_up(mind, monkeypatch):
    """Nothing is lost by a page that cannot be written: what to do is said, and later it is
    written.
    """
    mind.remember("A fact.", space=SPACE)
    sync(mind)
    mind.remember("Another.", space=SPACE)
    with monkeypatch.context() as denied:  # root may write anywhere, so the refusal is made up
        denied.setattr("reverie.mirror.mirror_folder.replace_whole_file", refuse)
        done = sync(mind)
    assert "Check who may write" in done.troubles[0]
    sync(mind)
    assert "Another." in text(mind)
    assert [] == mind.data.verify()


def refuse(path, *_):
    raise PermissionError(13, "Permission denied", str(path))


def test_a_page_altered_while_it_is_being_written_is_read_again(mind, monkeypatch):
    """Between reading and renaming somebody saves: their edit is taken in too, nothing is made
    twice.
    """
    mind.remember("A fact.", space=SPACE)
    sync(mind)
    edit(mind, "## Facts\n", "## Facts\n- First edit.\n")
    real_write, raced = MirrorFolder.write, []

    def write(self, found, new):
        if not raced:
            raced.append(1)
            edit(mind, "- First edit.\n", "- First edit.\n- Second edit.\n")
        return real_write(self, found, new)

    monkeypatch.setattr(MirrorFolder, "write", write)
    sync(mind)

    there = sorted(m.text for m in mind.store.browse(Filter(spaces=(SPACE,))))
    assert there == ["A fact.", "First edit.", "Second edit."]
    assert all(words in text(mind) for words in alive(mind))
    assert [] == mind.data.verify()


@pytest.mark.skipif(
    file_exchange.load_renameat2() is None, reason="this system cannot exchange two files"
)
@pytest.mark.parametrize("in_place", [False, True])
def test_a_save_in_the_very_moment_of_writing_is_not_lost(mind, monkeypatch, in_place):
    """Between the last look at a page and its replacement somebody saves, by renaming or in place:
    both are kept.
    """
    mind.remember("A fact.", space=SPACE)
    sync(mind)
    mind.remember("The program's.", space=SPACE)
    real_rename, opened_files = file_exchange.rename_with_flag, []

    def renamed(*names):
        if not opened_files:
            opened_files.append(page(mind).open("a"))  # what is written reaches the disk later
            if not in_place:
                edit(mind, "- A fact.", "- Saved just now.\n- A fact.")
                opened_files[0].close()
        elif in_place and not opened_files[0].closed:
            with opened_files[0] as file:
                file.write("- Saved just now.\n")
        real_rename(*names)

    monkeypatch.setattr(file_exchange, "rename_with_flag", renamed)
    sync(mind)

    assert alive(mind).keys() == {"A fact.", "The program's.", "Saved just now."}
    assert all(words in text(mind) for words in alive(mind))
    assert not list(page(mind).parent.glob(".*.part"))
    assert [] == mind.data.verify()


@pytest.mark.parametrize("stop", ["keep_copy", "write", "keep_state"])
def test_a_crash_between_store_and_page_makes_nothing_twice(mind, monkeypatch, stop):
    """Whatever was done when the process died, the next run comes to the same state."""
    mind.remember("A fact.", space=SPACE)
    sync(mind)
    edit(mind, "- A fact.", "- New line.\n- An edited fact.")
    with monkeypatch.context() as dying:
        dying.setattr(MirrorFolder, stop, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            sync(mind)
    done = sync(mind)

    assert (done.new, done.revised) == (0, 0)
    assert alive(mind).keys() == {"New line.", "An edited fact."}
    assert text(mind).count("New line.") == 1
    assert [] == mind.data.verify()


def test_purge_reaches_pages_and_copies(mind):
    """After a purge no file of the mirror holds the text, not even one that had lost its id, nor an
    earlier wording.
    """
    one = mind.remember("The vault word is xylophone.", space=SPACE)
    mind.remember("Something else.", space=SPACE)
    sync(mind)
    mind.revise(one.id, text="The vault word is marimba.")
    sync(mind)
    edit(mind, f" <!-- {one.id} -->", "")
    purged = mind.data.purge([one.id])

    assert purged.unreached == ()
    held = [
        path.name
        for path in mind.settings.mirror_root.rglob("*")
        if path.is_file()
        and any(word in path.read_text() for word in ("xylophone", "marimba", one.id))
    ]
    assert held == []
    sync(mind)
    assert alive(mind).keys() == {"Something else."}
    assert [] == mind.data.verify()


@pytest.mark.parametrize("later", ["off", "moved"])
def test_purge_reaches_where_the_mirror_was(tmp_path, clock, later):
    """Moved or switched off, the old pages are erased from too; an old folder that is not there is
    named; what was edited there without being taken in is told.
    """
    with memory(tmp_path / "home", now=clock) as mind:
        one = mind.remember("The vault word is xylophone.", space=SPACE)
        mind.remember("Something else.", space=SPACE)
        sync(mind)
        old = page(mind).parent
    with memory(
        tmp_path / "home", now=clock, mirror="off" if later == "off" else str(tmp_path / "notes")
    ) as mind:
        mind.data.mirror()
        assert [] == mind.data.verify()
        (old / "MEMORY.md").write_text(
            (old / "MEMORY.md").read_text() + "- Typed in the old place.\n"
        )
        assert "no longer there" in mind.data.verify()[0].message
        assert mind.data.purge([one.id]).unreached == ()
        held = [
            path
            for root in (tmp_path / "home/spaces", tmp_path / "notes")
            for path in root.rglob("*")
            if path.is_file() and "xylophone" in path.read_text()
        ]
        assert held == []
        assert "Typed in the old place." in (old / "MEMORY.md").read_text()
        (tmp_path / "home/spaces").rename(tmp_path / "away")
        other = mind.remember("One more.", space=SPACE)
        assert mind.data.purge([other.id]).unreached == (tmp_path / "home/spaces",)


def test_an_old_buffer_does_not_bring_a_purged_memory_back(mind):
    """An editor that saves a page from before the purge brings back nothing of it; its user's edits
    count.
    """
    one = mind.remember("The vault word is xylophone.", space=SPACE)
    mind.remember("Port is 80.", space=SPACE)
    sync(mind)
    buffer = text(mind)
    mind.data.purge([one.id])
    page(mind).write_text(buffer.replace("is 80", "is 443"))
    sync(mind)

    assert alive(mind).keys() == {"Port is 443."}
    assert "xylophone" not in text(mind)
    assert [] == mind.data.verify()


def test_purge_leaves_other_peoples_hidden_files_alone(mind):
    """Only what a process of ours may have left half written is deleted."""
    one = mind.remember("The vault word is xylophone.", space=SPACE)
    sync(mind)
    theirs, ours = page(mind, ".film.mkv.part"), page(mind, ".MEMORY.md.4711.part")
    page(mind, "deep").mkdir()
    for path in (theirs, page(mind, "deep/.MEMORY.md.1.part"), ours):
        path.write_text("xylophone")
    mind.data.purge([one.id])

    assert theirs.exists()
    assert page(mind, "deep/.MEMORY.md.1.part").exists()
    assert not ours.exists()


def test_verify_finds_and_mends_a_page_that_is_out_of_step(mind):
    """A store that was put back behind the mirror's back, or a lost copy, is found or mended."""
    mind.remember("A fact.", space=SPACE)
    sync(mind)
    folder = MirrorFolder(mind.settings.mirror_root, SPACE)
    page(mind).write_text(text(mind).replace("A fact.", "A lie."))
    state = folder.state()
    folder.keep_state(state._replace(looks=folder.looks(state.looks)))

    (problem,) = mind.data.verify()
    assert (problem.what, problem.repaired) == ("mirror", False)
    assert [p.repaired for p in mind.data.verify(repair=True)] == [True]
    assert [] == mind.data.verify()
    for copy in folder.hidden.glob("*.md.json"):
        copy.unlink()
    mind.remember("Another.", space=SPACE)
    sync(mind)
    assert text(mind).count("\n- ") == 2


def test_import_fills_the_pages(mind, tmp_path, clock):
    """What comes without events of its own is on the pages all the same."""
    with memory(tmp_path / "other", now=clock) as other:
        other.remember("From elsewhere.", space=SPACE)
        rows = list(other.data.export(log=False))
    mind.remember("From here.", space=SPACE)
    mind.settle()
    mind.data.import_(rows)
    mind.settle()

    assert "From elsewhere." in text(mind)
    assert [] == mind.data.verify()


@pytest.mark.proves("C115")
def test_a_companion_begins_with_what_was_edited_meanwhile(mind):
    """The next conversation loads what a person has changed in the files."""
    mind.remember("The staging server is called heron.", space=SPACE)
    sync(mind)
    edit(mind, "heron", "osprey")
    with mind.companion(SPACE, session="s1") as companion:
        wait_until(lambda: "The staging server is called osprey." in alive(mind))
        assert (
            "osprey" in companion.turn(make_conversation("What is the staging server called?")).text
        )


@pytest.mark.proves("C70")
def test_a_page_is_left_alone_while_somebody_writes_it(tmp_path, clock):
    """Settling waits until a page has been left alone for 1.5 seconds."""
    with memory(tmp_path / "home", now=clock) as mind:
        mind.remember("A fact.", space=SPACE)
        mind.settle()
        edit(mind, "A fact.", "Another fact.")
        os.utime(page(mind), (clock() - 1.4, clock() - 1.4))
        assert mind.settle().mirrored == 0
        os.utime(page(mind), (clock() - 1.6, clock() - 1.6))
        assert mind.settle().mirrored == 1


def test_two_processes_at_once_do_it_once(tmp_path):
    """Of two processes that sync at once, the second waits and finds it done."""
    home = toy_home(tmp_path)
    with open_mind(home) as mind:
        mind.remember("A fact.", space=SPACE)
        sync(mind)
        page(mind).write_text(text(mind) + "".join(f"- New line {n}.\n" for n in range(50)))
        command = [sys.executable, "-m", "reverie", "data", "mirror", "--home", str(home), "--json"]
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        results = [json.loads(one.communicate()[0]) for one in running]

        assert sorted(result["spaces"][0]["new"] for result in results) == [0, 0, 50]
        assert len(alive(mind)) == 51
        assert [] == mind.data.verify()


def test_the_mirror_can_be_moved_or_switched_off(tmp_path, clock):
    """`mirror` in the settings names the folder, or is off; a database elsewhere and one in memory
    have none.
    """
    with memory(tmp_path / "home", now=clock, mirror=str(tmp_path / "notes")) as mind:
        mind.remember("A fact.", space=SPACE)
        mind.settle()
        assert (tmp_path / "notes" / SPACE / "MEMORY.md").is_file()
    with memory(tmp_path / "off", now=clock, mirror="off") as mind:
        mind.remember("A fact.", space=SPACE)
        mind.settle()
        assert mind.data.mirror() == []
    assert not list((tmp_path / "off").rglob("*.md"))
    assert not list((tmp_path / "home").rglob("*.md"))


def test_a_space_switched_off_is_let_be(mind):
    """Where memory is off, a person's lines stay what they are: nothing is taken in."""
    mind.remember("A fact.", space=SPACE)
    sync(mind)
    mind.context.settings = mind.settings._replace(off=(SPACE,))
    edit(mind, "A fact.", "Another.")
    mind.settle()
    mind.data.mirror()
    assert alive(mind).keys() == {"A fact."}


@pytest.mark.parametrize(
    "segment", ["memory", "MEMORY.md", ".mirror", "a:b", "con", "x" * 128, "日" * 128, "end."]
)
def test_a_space_never_meets_the_mirrors_own_names(segment):
    """Folders of spaces cannot pass for pages, for the hidden copies, or for a device."""
    name = to_folder_name(segment)
    assert name.casefold() not in ("memory", "memory.md", ".mirror", "con")
    assert len(name.encode()) <= 255
    assert not set(name) & set('<>:"|?*\\')
    assert name[0] != "."


def test_the_command_asks_tells_and_answers(tmp_path):
    """`reverie data mirror` brings in step, `--where` prints paths, review and stats show what waits,
    `--yes` answers.
    """
    home = toy_home(tmp_path)
    here = ("--home", str(home), "--space", SPACE)
    run_command("remember", "The staging server is called heron.", *here)
    run_command("remember", "Deploys go out on Tuesdays.", *here)
    assert "1 page written" in run_command("data", "mirror", *here).stdout
    path = run_command("data", "mirror", "--where", *here).stdout.strip()
    with open_mind(home) as mind:
        assert path == str(page(mind))
        page(mind).write_text("")

    assert "--yes forgets them" in run_command("data", "mirror", *here).stderr
    assert "--yes forgets them" in run_command("review", *here).stderr
    assert len(json.loads(run_command("data", "stats", "--json", *here).stdout)["mirror"]) == 1
    assert "2 forgotten" in run_command("data", "mirror", "--yes", *here).stdout
    assert json.loads(run_command("data", "stats", "--json", *here).stdout)["mirror"] == []
    assert "in step" in run_command("data", "mirror", *here).stdout
    (home / "config.toml").write_text('embedder = "toy"\nidle = 0\nmirror = "off"\n')
    assert "no mirror" in run_command("data", "mirror", *here, code=2).stderr


@pytest.mark.proves("C70")
def test_watching_takes_in_a_saved_page(tmp_path):
    """`--watch` sees an editor's save and what the program alters, until Ctrl-C."""
    home = toy_home(tmp_path)
    with open_mind(home) as mind:
        mind.remember("A fact.", space=SPACE)
        sync(mind)
        command = [
            sys.executable,
            "-m",
            "reverie",
            "data",
            "mirror",
            "--watch",
            "--home",
            str(home),
        ]
        watching = subprocess.Popen(
            command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        try:
            assert "Watching" in watching.stderr.readline()
            wait_until(lambda: edit_and_look(mind))
        finally:
            _, told = interrupt(watching)
        assert (watching.returncode, "Interrupted" in told) == (130, True)


def edit_and_look(mind):
    """Save once, then look whether it was taken in."""
    if "Another fact." not in text(mind):
        edit(mind, "A fact.", "Another fact.")
    return "Another fact." in alive(mind)


def test_threads_sync_one_at_a_time(mind):
    """Many who ask at once: one is at it, the others wait their turn, and nothing is twice."""
    filled(mind, 5)
    page(mind).write_text(text(mind) + "- New line.\n")
    threads = [threading.Thread(target=sync, args=(mind,)) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(mind.store.browse(Filter(spaces=(SPACE,)))) == 6


def test_a_bad_space_is_refused(mind):
    """What is no space has no pages."""
    with pytest.raises(BadInput):
        mind.data.mirror("../out")
