"""Folders of notes: indexed, searched, read and written."""

import os
import random
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from reverie.core.errors import BadInput, Disabled, NotFound, StoreBusy, StoreError
from reverie.notes.folder_walk import FolderListing, ListedFile
from reverie.notes.note_indexing import plan_sync
from reverie.notes.note_vectors import split_in_halves
from reverie.runtime.settle import run_settle_step
from reverie.storage.indexed_files import UNSURE_STAMP, FileStamp, IndexedFile
from reverie.storage.sqlite import file_index
from reverie.testing import SPACE, AbsentEmbedder, CountingEmbedder, memory
from tests.support.helpers import interrupt, run_command, toy_home, wait_until

KEY = "sk-ant-api03-" + "Ab1" * 30 + "AA"


@pytest.fixture
def notes(tmp_path):
    """A folder with two notes, the second of several chunks."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "deploy.md").write_text("# Deploy\n\nThe staging server is called heron.\n")
    (folder / "long.md").write_text(
        "\n\n".join(
            f"Paragraph {i} tells of penguins, of river {i * 31 % 97} and of "
            f"number {i * 7919 % 1000}."
            for i in range(120)
        )
    )
    return folder


@pytest.fixture
def indexed_mind(tmp_path, notes, clock):
    """A mind that has indexed them and keeps what its embedder was asked."""
    with memory(tmp_path / "home", now=clock, embedder=CountingEmbedder()) as mind:
        mind.files.add_folder(notes, space=SPACE)
        mind.files.sync(space=SPACE)
        yield mind


def found(mind, query, **how):
    return [
        (Path(hit.path).name, hit.first, hit.last)
        for hit in mind.files.search(query, space=SPACE, **how)
    ]


def asked_since(mind, work):
    """The texts that were embedded by a piece of work and what settles after it."""
    mind.settle()
    mind.embedder.asked.clear()
    work()
    mind.settle()
    return mind.embedder.asked


# Searching


@pytest.mark.proves("C66", "C68", "C91")
def test_a_passage_names_its_lines(indexed_mind):
    """Found by words before any vector is there, with path, lines, text, score and reason."""
    [hit] = indexed_mind.files.search("staging server", space=SPACE, limit=1)
    assert (hit.path.endswith("deploy.md"), hit.first, hit.last) == (True, 1, 3)
    assert "heron" in hit.text
    assert 0 < hit.score <= 1
    assert hit.why[0].startswith("words")
    assert indexed_mind.embedder.asked == ["staging server"]


@pytest.mark.proves("C91", "C92")
def test_what_is_shown_stands_at_its_lines(indexed_mind, notes):
    """Reading the lines that a passage names gives the passage."""
    for number in (3, 40, 77, 119):
        for hit in indexed_mind.files.search(f"paragraph {number} penguins", space=SPACE, limit=3):
            excerpt = indexed_mind.files.read(
                hit.path, start=hit.first, lines=hit.last - hit.first + 1, space=SPACE
            )
            assert (hit.text, hit.first, hit.last) == (excerpt.text, excerpt.first, excerpt.last)


@pytest.mark.proves("C6", "C9", "C65", "C67")
def test_words_and_meaning_are_weighed_seven_to_three(indexed_mind):
    """0.7 of the cosine and 0.3 of the BM25 as a share of the highest."""
    indexed_mind.settle()
    hits = indexed_mind.files.search("the staging server", space=SPACE, limit=1)
    cosine = float(
        indexed_mind.embedder.embed(["the staging server"])[0]
        @ indexed_mind.embedder.embed(["# Deploy\n\nThe staging server is called heron."])[0]
    )
    assert hits[0].score == pytest.approx(0.7 * cosine + 0.3, abs=1e-5)


def test_meaning_alone_proposes_nothing_below_its_floor(indexed_mind):
    """A chunk that only its vector proposes needs a cosine of 0.35."""
    indexed_mind.settle()
    hits = indexed_mind.files.search("penguins and rivers", space=SPACE, mode="dense", limit=50)
    assert hits
    assert min(hit.score for hit in hits) >= 0.35 * 0.7
    assert [] == indexed_mind.files.search("zzzz qqqq", space=SPACE, mode="dense")


@pytest.mark.proves("C66")
def test_words_answer_where_no_model_does(tmp_path, notes):
    """Without an embedder, and with one whose model is not to be had."""
    for embedder in ("none", AbsentEmbedder()):
        with memory(tmp_path / str(embedder), embedder=embedder) as mind:
            mind.files.add_folder(notes, space=SPACE)
            mind.files.sync(space=SPACE)
            assert found(mind, "heron") == [("deploy.md", 1, 3)]


@pytest.mark.proves("C68")
def test_the_same_question_gives_the_same_answer(indexed_mind):
    """Best first, ties by path and line."""
    indexed_mind.settle()
    first = indexed_mind.files.search("penguins", space=SPACE, limit=20)
    assert first == indexed_mind.files.search("penguins", space=SPACE, limit=20)
    assert [hit.score for hit in first] == sorted((hit.score for hit in first), reverse=True)


@pytest.mark.proves("CC-11")
def test_a_sibling_project_does_not_see_the_folder(indexed_mind, notes):
    """A folder is its space's and of those below it."""
    assert indexed_mind.files.search("heron", space=f"{SPACE}/session")
    assert [] == indexed_mind.files.search("heron", space="me/other")
    with pytest.raises(BadInput, match="not in a folder"):
        indexed_mind.files.read(notes / "deploy.md", space="me/other")


@pytest.mark.proves("C91")
def test_passages_of_changed_and_deleted_files(indexed_mind, notes):
    """A passage of a changed file says that it may be old; one of a deleted file is not shown."""
    os.utime(notes / "deploy.md", (1e9, 1e9))
    indexed_mind.files.sync(space=SPACE)
    (notes / "deploy.md").write_text("The staging server is called egret.\n")
    [hit] = indexed_mind.files.search("staging", space=SPACE)
    assert hit.why[-1] == "changed since it was indexed"
    (notes / "deploy.md").unlink()
    assert [] == indexed_mind.files.search("staging", space=SPACE)


def test_secrets_never_reach_the_index(tmp_path, notes, indexed_mind):
    """Redacted before it is kept, lines keep their numbers, and the index file does not hold it."""
    (notes / "keys.md").write_text(f"# Keys\n\nAPI_KEY={KEY}\n\nThe relay is called osprey.\n")
    indexed_mind.files.sync(space=SPACE)
    [hit] = indexed_mind.files.search("osprey relay", space=SPACE, limit=1)
    assert "[REDACTED:" in hit.text
    assert (
        indexed_mind.files.read("keys.md", start=5, space=SPACE).text
        == "The relay is called osprey."
    )
    assert KEY not in indexed_mind.files.read("keys.md", space=SPACE).text
    indexed_mind.close()
    every = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert [] == [path for path in every if KEY.encode() in path.read_bytes()]


@pytest.mark.proves("C63")
def test_vectors_follow_a_few_at_a_time(indexed_mind):
    """A step of settling embeds some chunks, and none while a memory waits: no turn is held up for
    long.
    """
    indexed_mind.remember("The relay is called osprey.", space=SPACE)
    waiting = indexed_mind.files.folders(space=SPACE)[0].indexed.waiting
    assert waiting > 4
    assert run_settle_step(indexed_mind.work, 8).embedded == 1
    assert indexed_mind.files.folders(space=SPACE)[0].indexed.waiting == waiting
    assert run_settle_step(indexed_mind.work, 8).embedded == 2
    assert indexed_mind.files.folders(space=SPACE)[0].indexed.waiting == waiting - 2


@pytest.mark.proves("C63", "C65")
def test_the_end_of_a_long_chunk_is_found_by_meaning(indexed_mind):
    """A model that reads only the beginning of a chunk is given both halves; the nearer one counts."""
    indexed_mind.settle()
    late = split_in_halves(
        max((one.chunk.text for one in indexed_mind.store.files.chunks(range(1, 99))), key=len)
    )[1]
    assert indexed_mind.files.search(late, space=SPACE, mode="dense", limit=1)[
        0
    ].score == pytest.approx(0.7, abs=1e-5)


@pytest.mark.proves("CC-26")
def test_vectors_of_another_model_are_not_compared(tmp_path, indexed_mind, notes, clock):
    """After a change of model words answer until the new vectors are there, and both are kept."""
    indexed_mind.settle()
    indexed_mind.close()
    with memory(tmp_path / "home", now=clock, embedder=CountingEmbedder("other/1")) as mind:
        assert all(
            not reason.startswith("meaning")
            for hit in mind.files.search("heron", space=SPACE)
            for reason in hit.why
        )
        mind.settle()
        assert mind.files.search("heron", space=SPACE)[0].why[-1].startswith("meaning")
    before = CountingEmbedder()
    with memory(tmp_path / "home", now=clock, embedder=before) as mind:
        mind.settle()
        assert [] == before.asked


# Syncing


@pytest.mark.proves("C60")
def test_nothing_changed_opens_no_file(indexed_mind, notes, monkeypatch):
    """What has its stamp is not read again."""
    for path in notes.iterdir():
        os.utime(path, (1e9, 1e9))
    indexed_mind.files.sync(space=SPACE)
    monkeypatch.setattr(
        "reverie.notes.note_indexing.read_text_file", lambda *_: pytest.fail("a file was opened")
    )
    done = indexed_mind.files.sync(space=SPACE)
    assert (done.files, done.indexed, done.bytes) == (2, 0, 0)


@pytest.mark.proves("CC-72")
def test_the_same_bytes_are_not_cut_again(indexed_mind, notes):
    """A file that was only touched keeps its chunks and vectors."""

    def touch():
        os.utime(notes / "long.md", (2e9, 2e9))
        assert indexed_mind.files.sync(space=SPACE).indexed == 0

    assert [] == asked_since(indexed_mind, touch)


@pytest.mark.proves("CC-72", "C63", "C71")
def test_only_changed_chunks_are_embedded_again(indexed_mind, notes):
    """A line in the middle costs the chunks around it."""

    def edit():
        lines = (notes / "long.md").read_text().split("\n")
        lines[120] = "A line about a walrus."
        (notes / "long.md").write_text("\n".join(lines))
        done = indexed_mind.files.sync(space=SPACE).chunks
        assert done.kept > done.added > 0

    embedded = asked_since(indexed_mind, edit)
    assert 1 <= len(embedded) <= 6
    assert any("walrus" in text for text in embedded)
    assert indexed_mind.files.search("walrus", space=SPACE)


@pytest.mark.proves("C71")
def test_a_renamed_file_is_not_embedded_again(indexed_mind, notes):
    """Its chunks have the vectors of their texts."""

    def rename():
        (notes / "long.md").rename(notes / "renamed.md")
        done = indexed_mind.files.sync(space=SPACE)
        assert (done.indexed, done.gone) == (1, 1)

    assert [] == asked_since(indexed_mind, rename)
    assert {path for path, *_ in found(indexed_mind, "penguins")} == {"renamed.md"}


@pytest.mark.proves("CC-72")
def test_a_deleted_file_is_forgotten(indexed_mind, notes):
    """Its chunks are found neither by words nor by meaning."""
    indexed_mind.settle()
    (notes / "deploy.md").unlink()
    assert indexed_mind.files.sync(space=SPACE).chunks.dropped == 1
    indexed_mind.settle()
    assert [] == [
        path
        for mode in ("auto", "words", "dense")
        for path, *_ in found(indexed_mind, "staging server heron", mode=mode)
        if path == "deploy.md"
    ]
    assert indexed_mind.files.folders(space=SPACE)[0].indexed.files == 1


def test_a_vanished_folder_stays_indexed(indexed_mind, notes):
    """A folder that vanished, such as an unplugged drive, stays indexed."""
    before = indexed_mind.files.folders(space=SPACE)[0].indexed
    notes.rename(notes.with_name("away"))
    assert indexed_mind.files.sync(space=SPACE).missing == (str(notes),)
    assert (
        indexed_mind.files.folders(space=SPACE)[0].there,
        indexed_mind.files.folders(space=SPACE)[0].indexed,
    ) == (
        False,
        before,
    )
    notes.with_name("away").rename(notes)
    assert indexed_mind.files.sync(space=SPACE).indexed == 0


def test_unreadable_files_stay_indexed(indexed_mind, notes, monkeypatch):
    """What cannot be opened just now, a folder or a file, is counted and stays found."""
    (notes / "closed").mkdir()
    (notes / "closed" / "deep.md").write_text("The cellar holds a bittern.\n")
    indexed_mind.files.sync(space=SPACE)
    (notes / "deploy.md").write_text("The staging server is called heron no more.\n")
    scandir, opened = os.scandir, os.open

    def denied(real, name):
        def call(path, *rest):
            if Path(path).name == name:
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *rest)

        return call

    monkeypatch.setattr("reverie.notes.folder_walk.os.scandir", denied(scandir, "closed"))
    monkeypatch.setattr("reverie.notes.folder_walk.os.open", denied(opened, "deploy.md"))
    done = indexed_mind.files.sync(space=SPACE)
    monkeypatch.undo()
    assert (done.gone, dict(done.skipped)) == (0, {"unreadable": 2})
    assert found(indexed_mind, "bittern") == [("deep.md", 1, 1)]
    assert found(indexed_mind, "heron", mode="words") == [("deploy.md", 1, 3)]


@pytest.mark.proves("CC-73")
def test_a_root_that_became_a_link_is_not_followed(tmp_path, indexed_mind, notes):
    """The folder that was added is meant, not what somebody put in its place."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "private.md").write_text("The vault holds a bittern.\n")
    notes.rename(tmp_path / "away")
    notes.symlink_to(tmp_path / "elsewhere")
    assert indexed_mind.files.sync(space=SPACE).missing == (str(notes),)
    assert [] == indexed_mind.files.search("bittern vault", space=SPACE)
    with pytest.raises(BadInput):
        indexed_mind.files.read(notes / "private.md", space=SPACE)


def test_files_in_an_unreadable_folder_stay_indexed():
    """A folder that cannot be opened just now keeps what is known of it."""
    there = {
        path: IndexedFile(path, FileStamp(1, 2, 3), b"")
        for path in ("a.md", "closed/b.md", "gone.md")
    }
    plan = plan_sync(
        there,
        FolderListing(
            [ListedFile("a.md", FileStamp(1, 2, 3)), ListedFile("new.md", FileStamp(1, 2, 4))],
            Counter(),
            ["closed"],
        ),
    )
    assert ([file.path for file in plan.changed], plan.gone) == (["new.md"], ["gone.md"])


def test_a_file_that_grows_while_it_is_read_is_read_again(indexed_mind, notes, monkeypatch):
    """What was read is indexed; its stamp is not trusted, so the rest follows at the next sync."""
    place, real = notes / "growing.md", os.fstat
    done: list[int] = []
    place.write_text("The first line tells of a curlew.\n")
    os.utime(place, (1e9, 1e9))

    def stat(number):
        was = real(number)
        if not done and was.st_size == place.stat().st_size:
            done.append(1)
            with place.open("a") as file:
                file.write("The second line tells of a godwit.\n")
        return was

    monkeypatch.setattr("reverie.notes.folder_walk.os.fstat", stat)
    indexed_mind.files.sync(space=SPACE)
    monkeypatch.undo()
    assert done
    assert indexed_mind.store.files.indexed_files(str(notes))["growing.md"].stamp == UNSURE_STAMP
    indexed_mind.files.sync(space=SPACE)
    assert found(indexed_mind, "godwit") == [("growing.md", 1, 2)]


def test_files_of_odd_encodings_are_found(indexed_mind, notes):
    """Latin-1 and UTF-16 are read; what is binary is left out, with the reason."""
    (notes / "latin.md").write_bytes("Das Gerät heißt Möwe.".encode("cp1252"))
    (notes / "wide.md").write_bytes("Das Boot heißt Kormoran.".encode("utf-16"))
    (notes / "odd.md").write_bytes(b"a\0b")
    done = indexed_mind.files.sync(space=SPACE)
    assert dict(done.skipped) == {"binary": 1}
    assert {
        path for path, *_ in (*found(indexed_mind, "Möwe"), *found(indexed_mind, "Kormoran"))
    } == {
        "latin.md",
        "wide.md",
    }


@pytest.mark.proves("C64", "C89")
def test_an_index_that_is_lost_comes_back(tmp_path, indexed_mind, notes, clock):
    """Derived; which folders are searched survives it, and so does a damaged file."""
    indexed_mind.close()
    [index] = (tmp_path / "home" / "cache").glob("*.db")
    for damage in (index.unlink, lambda: index.write_bytes(b"no database" * 1_000)):
        damage()
        for tail in ("-wal", "-shm"):
            index.with_name(index.name + tail).unlink(missing_ok=True)
        with memory(tmp_path / "home", now=clock) as mind:
            assert mind.files.sync(space=SPACE).indexed == 2
            assert found(mind, "heron") == [("deploy.md", 1, 3)]


@pytest.mark.proves("C64")
def test_an_index_that_is_deleted_meanwhile_is_begun_anew(tmp_path, indexed_mind, notes, clock):
    """Whoever has it open goes on with the file that is there, also for vectors, and sees what
    others write.
    """
    indexed_mind.settle()
    place = Path(indexed_mind.store.files.path)
    for tail in ("", "-wal", "-shm"):
        place.with_name(place.name + tail).unlink(missing_ok=True)
    assert [] == indexed_mind.files.search("heron", space=SPACE)
    with memory(tmp_path / "home", now=clock) as other:
        other.files.sync(space=SPACE)
        assert found(indexed_mind, "heron") == [("deploy.md", 1, 3)]
        (notes / "new.md").write_text("The relay is called curlew.\n")
        indexed_mind.files.sync(space=SPACE)
        indexed_mind.settle()
        assert found(other, "curlew")[0][0] == "new.md"
        assert (
            indexed_mind.files.folders(space=SPACE)[0].indexed
            == other.files.folders(space=SPACE)[0].indexed
        )
        assert other.files.folders(space=SPACE)[0].indexed.waiting == 0
    assert [] == indexed_mind.data.verify()


def test_an_index_that_goes_in_the_middle_of_a_search_is_an_empty_answer(indexed_mind, monkeypatch):
    """SQLite calls it a disk I/O error; with the file still there that stays an error."""
    place = Path(indexed_mind.store.files.path)

    def fail(*_):
        place.unlink(missing_ok=True)
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(file_index, "select_affordable_terms", fail)
    assert indexed_mind.store.files.search_words(["heron"], ["/notes"], 5) == []
    place.touch()
    monkeypatch.setattr(Path, "unlink", lambda *_, **__: None)
    with pytest.raises(StoreError):
        indexed_mind.store.files.search_words(["heron"], ["/notes"], 5)


@pytest.mark.proves("C64")
def test_other_processes_follow_a_rebuilt_index(tmp_path, indexed_mind, notes, clock):
    """`afresh` in another process leaves the file in its place; who has it open sees what is new in
    it.
    """
    indexed_mind.settle()
    with memory(tmp_path / "home", now=clock) as other:
        assert found(other, "heron")
        before = Path(indexed_mind.store.files.path).stat().st_ino
        assert indexed_mind.files.sync(space=SPACE, afresh=True).indexed == 2
        assert Path(indexed_mind.store.files.path).stat().st_ino == before
        assert found(other, "heron", mode="words") == [("deploy.md", 1, 3)]
        (notes / "new.md").write_text("The relay is called curlew.\n")
        other.files.sync(space=SPACE)
        assert found(indexed_mind, "curlew")[0][0] == "new.md"
        indexed_mind.settle()
        assert found(other, "relay curlew", mode="dense")[0][0] == "new.md"


@pytest.mark.proves("C64")
def test_a_thread_that_reads_is_not_disturbed_by_another_file(indexed_mind):
    """A connection that is in use when the file is replaced is let go of, not closed under its
    reader.
    """
    index = indexed_mind.store.files
    texts = index.texts()
    first = next(texts)
    Path(index.path).unlink()
    assert index.roots() == []
    assert len([first, *texts]) > 1


@pytest.mark.proves("C64")
def test_an_index_that_does_not_hold_together_is_found_and_mended(indexed_mind):
    """`verify` looks at the index too; `repair` throws it away, and the next sync makes it again."""
    assert [] == indexed_mind.data.verify()
    with closing(sqlite3.connect(indexed_mind.store.files.path)) as db, db:
        db.execute("delete from chunk where num = (select min(num) from chunk)")
    assert [problem.what for problem in indexed_mind.data.verify()] == ["files"]
    assert indexed_mind.data.verify(repair=True)[0].repaired
    assert indexed_mind.files.sync(space=SPACE).indexed == 2
    assert [] == indexed_mind.data.verify()
    with closing(sqlite3.connect(indexed_mind.store.files.path)) as db, db:
        db.execute("drop table vector")
    assert indexed_mind.files.sync(space=SPACE, afresh=True).indexed == 2


def test_a_sync_that_was_cut_short_goes_on(tmp_path, clock):
    """An interrupt, or no time left, loses at most one batch."""
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.md").write_text(f"note {number}\n" + "word " * 300_000)
    with memory(tmp_path / "home", now=clock, embedder="none") as mind:
        mind.files.add_folder(folder, space=SPACE)

        def interrupt(_stage, done, _total):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            mind.files.sync(space=SPACE, progress=interrupt)
        known = mind.files.folders(space=SPACE)[0].indexed.files
        assert 0 < known < 3
        assert mind.files.sync(space=SPACE, within=0.0).stopped
        mind.files.sync(space=SPACE)
        assert mind.files.folders(space=SPACE)[0].indexed.files == 3


@pytest.mark.proves("CC-72")
def test_random_edits_leave_what_a_fresh_index_holds(tmp_path, indexed_mind, notes, clock):
    """After edits, deletions and renames in any order, the index is what indexing afresh makes of
    the files.
    """
    rng = random.Random(7)
    for step in range(25):
        files = sorted(notes.iterdir())
        place = rng.choice(files) if files else notes / "new.md"
        act = rng.choice(("edit", "edit", "delete", "rename", "new"))
        if act == "edit" and files:
            lines = place.read_text().split("\n")
            lines.insert(
                rng.randrange(len(lines) + 1), f"Step {step} tells of heron {rng.randrange(99)}."
            )
            place.write_text("\n".join(lines))
        elif act == "delete" and len(files) > 1:
            place.unlink()
        elif act == "rename" and files:
            place.rename(notes / f"renamed-{step}.md")
        else:
            (notes / f"new-{step}.md").write_text(
                f"# Step {step}\n\n" + "A line about gulls.\n" * rng.randrange(200)
            )
        indexed_mind.files.sync(space=SPACE)
    with memory(tmp_path / "fresh", now=clock) as fresh:
        fresh.files.add_folder(notes, space=SPACE)
        fresh.files.sync(space=SPACE)
        assert held(indexed_mind, notes) == held(fresh, notes)
        for query in ("heron", "gulls", "penguins"):
            assert sorted(found(indexed_mind, query, mode="words", limit=200)) == sorted(
                found(fresh, query, mode="words", limit=200)
            )


def held(mind, folder):
    """What an index holds of a folder: every chunk with its place and file."""
    terms = ["tells", "line", "step", "deploy", "server"]
    nums = [num for num, _ in mind.store.files.search_words(terms, [str(folder)], 100_000)]
    return sorted((one.file.path, *one.chunk[:3]) for one in mind.store.files.chunks(nums))


# Folders


@pytest.mark.proves("C60")
def test_folders_survive_and_can_be_removed(tmp_path, indexed_mind, notes, clock):
    """Which folders are searched is in the log; removing one erases what was indexed, not the
    files.
    """
    with memory(tmp_path / "home", now=clock) as again:
        assert [folder.path for folder in again.files.folders(space=SPACE)] == [str(notes)]
        assert not again.files.remove_folder(notes, space=SPACE).indexed.files
        assert [] == again.files.folders(space=SPACE)
        assert [] == again.files.search("heron", space=SPACE)
        with pytest.raises(NotFound):
            again.files.remove_folder(notes, space=SPACE)
    assert (notes / "deploy.md").is_file()


def test_a_folder_of_two_spaces_stays_for_the_other(indexed_mind, notes):
    """Removing it from one does not take it from the other."""
    indexed_mind.files.add_folder(notes, space="me/other")
    indexed_mind.files.remove_folder(notes, space=SPACE)
    assert indexed_mind.files.search("heron", space="me/other")
    assert [] == indexed_mind.files.search("heron", space=SPACE)


def holding(home, word):
    """The files of a home in which a word stands."""
    return sorted(
        path.name for path in home.rglob("*") if path.is_file() and word in path.read_bytes()
    )


@pytest.mark.proves("C60")
def test_what_is_removed_leaves_the_file_of_the_index(tmp_path, indexed_mind, notes):
    """ "erased" means that its words stand neither in the tables, nor in FTS5's segments, nor in the
    journal.
    """
    (notes / "one.md").write_text("The zyxquartzmill is closed.\n")
    indexed_mind.files.sync(space=SPACE)
    indexed_mind.settle()
    assert holding(tmp_path / "home" / "cache", b"yxquartz")
    indexed_mind.files.remove_folder(notes, space=SPACE)
    assert [] == holding(tmp_path / "home" / "cache", b"yxquartz")


@pytest.mark.proves("CC-4", "X20")
def test_what_is_purged_is_found_in_no_page_and_no_version(tmp_path, clock):
    """Neither by searching files nor in the bytes of the home; the rest of the page stays and is
    found.
    """
    home = tmp_path / "home"
    with memory(home, now=clock) as mind:
        gone = mind.remember("The heron nests behind the zyxquartzmill.", space=SPACE)
        mind.remember("The osprey nests on the crane.", space=SPACE)
        mind.data.mirror(SPACE)
        mind.files.sync(space=SPACE)
        mind.settle()
        mind.files.update("MEMORY.md", "- The plover nests on the gravel.", space=SPACE)
        assert mind.files.search("zyxquartzmill", space=SPACE)
        assert {"reverie-files-1.db-wal", "MEMORY.md"} <= set(holding(home, b"yxquartz"))
        assert holding(home / "versions", b"yxquartz")
        assert mind.data.purge(gone.id).unreached == ()
        assert [] == holding(home, b"yxquartz")
        mind.files.sync(space=SPACE)
        assert [] == holding(home, b"yxquartz")
        assert [] == mind.files.search("zyxquartzmill", space=SPACE, mode="words")
        assert found(mind, "osprey crane", mode="words")
        assert [] == mind.data.verify()


@pytest.mark.proves("X20", "CC-74")
def test_a_version_of_the_users_own_file_is_named_not_erased(tmp_path, indexed_mind, notes):
    """What a purge leaves because it is not ours, it says; a short text counts as a whole line
    only.
    """
    written = indexed_mind.files.update(
        "deploy.md", "The relay is called curlew, on port nine.", space=SPACE
    )
    indexed_mind.files.update("deploy.md", "more", space=SPACE)
    short = indexed_mind.remember("relay", space=SPACE)
    assert indexed_mind.data.purge(short.id).unreached == ()
    [left] = indexed_mind.data.purge(written.memory.id).unreached
    assert left.parent.parent == tmp_path / "home" / "versions"
    indexed_mind.files.restore("deploy.md", space=SPACE)
    assert "curlew" in (notes / "deploy.md").read_text()


@pytest.mark.proves("X20")
def test_an_index_that_somebody_reads_is_named(tmp_path, clock):
    """While another process reads an older state, the journal keeps it, and the purge says so."""
    with memory(tmp_path / "home", now=clock) as mind:
        gone = mind.remember("The heron nests behind the zyxquartzmill.", space=SPACE)
        mind.data.mirror(SPACE)
        mind.files.sync(space=SPACE)
        with closing(sqlite3.connect(mind.store.files.path, isolation_level=None)) as db:
            db.execute("begin")
            db.execute("select count(*) from chunk").fetchone()
            assert mind.data.purge(gone.id).unreached == (Path(mind.store.files.path),)


def test_reveries_own_files_are_no_notes(tmp_path, indexed_mind):
    """The home, what is above it, and what is no folder are refused with what to do; off is off."""
    for path in (tmp_path / "home", tmp_path / "home" / "cache", tmp_path, tmp_path / "none"):
        with pytest.raises(BadInput):
            indexed_mind.files.add_folder(path, space=SPACE)
    indexed_mind.context.settings = indexed_mind.settings._replace(enabled=False)
    with pytest.raises(Disabled):
        indexed_mind.files.add_folder(tmp_path / "notes", space=SPACE)
    assert [] == indexed_mind.files.search("heron", space=SPACE)


@pytest.mark.proves("C59")
def test_the_mirror_is_always_searched(tmp_path, indexed_mind):
    """MEMORY.md and the daily logs of a space, and nothing of the spaces below it."""
    mirror = tmp_path / "home" / "spaces" / "me" / "demo"
    for name in (
        "MEMORY.md",
        "memory/2025-10-09.md",
        "memory/draft.md",
        "session-1/MEMORY.md",
        "other.md",
    ):
        (mirror / name).parent.mkdir(parents=True, exist_ok=True)
        (mirror / name).write_text(f"The plover nests in {name}.\n")
    indexed_mind.files.sync(space=SPACE)
    paths = {
        os.path.relpath(hit.path, mirror)
        for hit in indexed_mind.files.search("plover", space=SPACE)
    }
    assert paths == {"MEMORY.md", "memory/2025-10-09.md"}


# Reading


@pytest.mark.proves("CC-73", "C92")
def test_line_ranges_are_right(indexed_mind, notes):
    """From 1, both ends included, beyond the end nothing."""
    (notes / "five.md").write_text("1\n2\r\n3\n4\n5")
    for start, lines, text in (
        (1, None, "1\n2\n3\n4\n5"),
        (2, 2, "2\n3"),
        (5, 9, "5"),
        (6, 1, ""),
        (1, 0, ""),
    ):
        excerpt = indexed_mind.files.read("five.md", start=start, lines=lines, space=SPACE)
        assert (excerpt.text, excerpt.first, excerpt.total) == (text, start, 5)
        assert excerpt.last - excerpt.first + 1 == (text.count("\n") + 1 if text else 0)
    with pytest.raises(BadInput):
        indexed_mind.files.read("five.md", start=0, space=SPACE)
    with pytest.raises(NotFound):
        indexed_mind.files.read("none.md", space=SPACE)


@pytest.mark.proves("CC-73", "C92")
def test_nothing_outside_the_folders_is_read_or_written(tmp_path, indexed_mind, notes):
    """Neither by name, nor through links, nor what is hidden or ignored or no text."""
    outside = tmp_path / "outside.md"
    outside.write_text("private")
    (notes / "link.md").symlink_to(outside)
    (notes / "up").symlink_to(tmp_path)
    (notes / ".env").write_text("X=1")
    (notes / ".gitignore").write_text("ignored.md\n")
    (notes / "ignored.md").write_text("x")
    for path in (
        "../outside.md",
        outside,
        "link.md",
        "up/outside.md",
        notes / "up" / "notes" / "deploy.md",
        ".env",
        "ignored.md",
        notes / "x" / ".." / ".." / "outside.md",
        "/etc/passwd",
        "program.py",
    ):
        for verb in (
            indexed_mind.files.read,
            lambda path, **rest: indexed_mind.files.update(path, "text", "replace", **rest),
        ):
            with pytest.raises(BadInput):
                verb(path, space=SPACE)
    assert outside.read_text() == "private"
    assert not (tmp_path / "home" / "versions").exists()


@pytest.mark.proves("A111")
def test_an_odd_line_of_an_ignore_file_is_skipped_and_told(indexed_mind, notes):
    """As in git, lines that are no pattern say nothing; the others hold, and so does the folder."""
    (notes / ".gitignore").write_text("!\nsecret.md\n\\\n")
    (notes / "sub").mkdir()
    (notes / "sub" / ".gitignore").write_text("/\n!\nother.md\n")
    for name in ("secret.md", "sub/other.md", "sub/plain.md"):
        (notes / name).write_text("The plover.\n")
    done = indexed_mind.files.sync(space=SPACE)
    assert done.skipped == {
        "ignored": 2,
        "hidden": 2,
        "lines of ignore files that are no pattern": 3,
    }
    assert [path for path, *_ in found(indexed_mind, "plover", mode="words")] == ["plain.md"]
    with pytest.raises(BadInput, match="is ignored"):
        indexed_mind.files.read("secret.md", space=SPACE)


# Writing


@pytest.mark.proves("C93", "C94")
def test_a_note_is_an_episode_and_a_line_of_todays_log(tmp_path, indexed_mind):
    """Appended to the day's log, kept as an episodic memory, found in both."""
    memory, path, why = indexed_mind.files.save_note("Met Ann about the relay.", space=SPACE)
    indexed_mind.files.save_note("Ann agreed.", space=SPACE)
    log = tmp_path / "home" / "spaces" / "me" / "demo" / "memory" / "2025-10-09.md"
    assert ["- 08:53 Met Ann about the relay.", "- 08:53 Ann agreed."] == [
        line.partition(" <!--")[0] for line in log.read_text().splitlines() if "mem_" in line
    ]
    assert (memory.kind, indexed_mind.get(memory.id), path, why) == (
        "event",
        [memory],
        str(log),
        "",
    )
    assert found(indexed_mind, "Ann relay", mode="words")[0][0] == "2025-10-09.md"


def own_page(log):
    log.parent.mkdir(parents=True)
    log.write_text("My own diary.\n")


def no_lines(log):
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(line for line in lines if "mem_" not in line))


@pytest.mark.parametrize(
    ("spoil", "why"),
    [(own_page, "has not been written by Reverie"), (no_lines, "12 of 12 lines are gone")],
)
@pytest.mark.proves("C93")
def test_a_note_that_the_log_does_not_take_says_so(tmp_path, indexed_mind, spoil, why):
    """The memory is kept, the page is left alone, and the answer says that and why."""
    log = tmp_path / "home" / "spaces" / "me" / "demo" / "memory" / "2025-10-09.md"
    if spoil is no_lines:
        for number in range(12):
            indexed_mind.files.save_note(f"Note {number} of the relay.", space=SPACE)
    spoil(log)
    before = log.read_text()
    noted = indexed_mind.files.save_note("Met Ann.", space=SPACE)
    assert noted.path is None
    assert why in noted.why
    assert (indexed_mind.get(noted.memory.id), log.read_text()) == ([noted.memory], before)


@pytest.mark.proves("C93")
def test_a_note_says_that_a_page_is_write_protected(indexed_mind, monkeypatch):
    """As above, for a page that may be read only, one that is just being written, and a disk that
    is full.
    """
    indexed_mind.files.save_note("Met Ann.", space=SPACE)
    monkeypatch.setattr("reverie.mirror.mirror_folder.os.access", lambda *_: False)
    assert "may not be written" in indexed_mind.files.save_note("Met Bob.", space=SPACE).why
    monkeypatch.undo()
    for error in (
        StoreBusy("Another process is at the mirror"),
        OSError(28, "No space left on device"),
    ):

        def fails(*_, error=error, **__):
            raise error

        monkeypatch.setattr(indexed_mind.data, "mirror", fails)
        noted = indexed_mind.files.save_note(f"Met {error}.", space=SPACE)
        assert (noted.path, indexed_mind.get(noted.memory.id)) == (None, [noted.memory])
        assert noted.why in str(error)


@pytest.mark.proves("C93")
def test_a_note_without_a_mirror_says_so(tmp_path, clock):
    """On the command line too, a note that found no mirror says so."""
    with memory(tmp_path / "other", now=clock, mirror="off") as mind:
        assert "switched off" in mind.files.save_note("Met Ann.", space=SPACE).why
    home = toy_home(tmp_path, mirror="off")
    told = run_command("files", "note", "Met Ann.", "--home", str(home), "--space", SPACE).stdout
    assert "remembered; the day's page was not written: the Markdown mirror is switched off" in told


@pytest.mark.proves("CC-73")
def test_a_name_that_could_be_in_two_folders_is_asked_about(tmp_path, indexed_mind, notes):
    """What exists in one folder is meant; what is new could be in either. The mirror has only its
    own names.
    """
    indexed_mind.files.save_note("Met Ann.", space=SPACE)
    assert indexed_mind.files.update("new.md", "one", space=SPACE).path == str(notes / "new.md")
    (tmp_path / "more").mkdir()
    indexed_mind.files.add_folder(tmp_path / "more", space=SPACE)
    assert indexed_mind.files.update("new.md", "two", space=SPACE).path == str(notes / "new.md")
    with pytest.raises(BadInput, match="give the whole path"):
        indexed_mind.files.update("newer.md", "three", space=SPACE)


@pytest.mark.proves("C95", "C97")
def test_appending_keeps_what_was_there(indexed_mind, notes):
    """The new text on lines of its own, found at once, remembered as a semantic memory."""
    written = indexed_mind.files.update("deploy.md", "Production is called osprey.", space=SPACE)
    assert (notes / "deploy.md").read_text().endswith("heron.\nProduction is called osprey.\n")
    assert found(indexed_mind, "osprey", mode="words") == [("deploy.md", 1, 4)]
    assert (written.memory.kind, written.memory.files) == ("fact", (str(notes / "deploy.md"),))
    assert indexed_mind.recall("production", space=SPACE)[0].memory == written.memory


def said_of(mind, path):
    found = mind.browse(space=SPACE, limit=50)
    return sorted(one.text for one in found if str(path) in one.files)


@pytest.mark.proves("C97")
def test_what_is_written_to_a_users_file_is_remembered_as_it_is_said(indexed_mind, notes):
    """A fact for each bullet and paragraph, without Markdown; it counts while it stands there."""
    place = notes / "house.md"
    text = "# House\n\n- The printer moved to the attic.\n- The cellar is **damp**.\n"
    written = indexed_mind.files.update(place, text, space=SPACE)
    attic, cellar = "The printer moved to the attic.", "The cellar is **damp**."
    assert said_of(indexed_mind, place) == [cellar, attic]
    assert {one.title for one in written.memories} == {"House"} and written.added == 2
    mine = indexed_mind.remember("Ask Jo before it is sold.", space=SPACE, files=[str(place)])

    new = "# House\n\n- The printer moved to the hall.\n- The cellar is **damp**.\n"
    indexed_mind.files.update(place, new, "replace", space=SPACE)
    hall = "The printer moved to the hall."
    assert set(said_of(indexed_mind, place)) == {mine.text, cellar, hall}
    assert attic not in str(indexed_mind.recall("where is the printer?", space=SPACE))

    indexed_mind.files.restore(place, space=SPACE)
    assert set(said_of(indexed_mind, place)) == {mine.text, cellar, attic}
    assert indexed_mind.data.verify() == []


@pytest.mark.proves("C97")
def test_a_long_document_is_remembered_as_one(indexed_mind, notes):
    long = "\n\n".join(f"Chapter {n} tells of the heron." for n in range(40))
    assert len(indexed_mind.files.update(notes / "book.md", long, space=SPACE).memories) == 1


@pytest.mark.proves("CC-74", "C96")
def test_every_version_can_be_brought_back(indexed_mind, notes):
    """Replaced twice, restored to each version, byte for byte; restoring can be taken back too."""
    place = notes / "deploy.md"
    first = b"# Deploy\r\n\r\nThe key is hunter2 \xe2\x82\xac\r\n"
    place.write_bytes(first)
    indexed_mind.files.update(place, "second", "replace", space=SPACE)
    indexed_mind.files.update(place, "third", "replace", space=SPACE)
    assert place.read_bytes() == b"third\r\n"
    latest, oldest = indexed_mind.files.history(place, space=SPACE)
    assert (latest.why, oldest.size) == ("replace", len(first))
    indexed_mind.files.restore(place, oldest.number, space=SPACE)
    assert place.read_bytes() == first
    indexed_mind.files.restore(place, space=SPACE)
    assert place.read_bytes() == b"third\r\n"
    assert len(indexed_mind.files.history(place, space=SPACE)) == 4


@pytest.mark.proves("CC-74")
def test_a_file_that_is_new_can_be_emptied_again(indexed_mind, notes):
    """Before, there was none."""
    indexed_mind.files.update(notes / "sub" / "new.md", "A text.", space=SPACE)
    [version] = indexed_mind.files.history(notes / "sub" / "new.md", space=SPACE)
    assert (version.hash, version.size) == ("", 0)
    indexed_mind.files.restore(notes / "sub" / "new.md", space=SPACE)
    assert (notes / "sub" / "new.md").read_bytes() == b""


@pytest.mark.proves("C95")
def test_line_breaks_and_modes_stay(indexed_mind, notes):
    """CR LF stays CR LF, and a file that only its owner reads stays so."""
    place = notes / "windows.md"
    place.write_bytes(b"one\r\ntwo\r\n")
    place.chmod(0o600)
    indexed_mind.files.update(place, "three\nfour", space=SPACE)
    assert place.read_bytes() == b"one\r\ntwo\r\nthree\r\nfour\r\n"
    assert place.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"one\r\ntwo\nthree\r\n", b"four\r\nfive\r\n"),
        (b"one\ntwo\r\nthree\n", b"four\nfive\n"),
        (b"\xef\xbb\xbfone\rtwo\r\nthree\rlast", b"\rfour\rfive\r"),
        (b"one\r", b"four\rfive\r"),
        (b"\xef\xbb\xbf", b"four\nfive\n"),
        (b"one\r\ntwo\n", b"four\nfive\n"),
    ],
)
@pytest.mark.proves("C95")
def test_appending_leaves_mixed_line_ends_as_they_are(indexed_mind, notes, old, new):
    """The old bytes stay, whatever their line ends; the new lines end as most of the old ones do,
    or LF.
    """
    place = notes / "mixed.md"
    place.write_bytes(old)
    indexed_mind.files.update(place, "four\r\nfive", space=SPACE)
    assert place.read_bytes() == old + new


def test_secrets_are_not_written_and_not_lost(indexed_mind, notes):
    """A secret in the text is taken out; a mark is not put in a secret's place; what is not UTF-8
    is left alone.
    """
    place = notes / "keys.md"
    place.write_text(f"API_KEY={KEY}\n")
    with pytest.raises(BadInput, match="would be lost"):
        indexed_mind.files.update(
            place, indexed_mind.files.read(place, space=SPACE).text, "replace", space=SPACE
        )
    indexed_mind.files.update(place, f"Again: {KEY}", space=SPACE)
    assert place.read_text().count(KEY) == 1
    (notes / "latin.md").write_bytes(b"caf\xe9\n")
    with pytest.raises(BadInput, match="UTF-8"):
        indexed_mind.files.update("latin.md", "more", space=SPACE)
    assert (notes / "latin.md").read_bytes() == b"caf\xe9\n"


TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6"


@pytest.mark.proves("CC-73")
def test_a_secret_in_a_name_is_not_written_down(tmp_path, indexed_mind, notes):
    """Neither in events and memories, nor in the index; what may be, is, and what may not, says so."""
    with pytest.raises(BadInput, match="name holds a secret"):
        indexed_mind.files.update(f"{TOKEN}.md", "hi", space=SPACE)
    assert not (notes / f"{TOKEN}.md").exists()
    (notes / f"{TOKEN}.md").write_text("The relay is called curlew.\n")
    for _ in range(2):
        assert indexed_mind.files.sync(space=SPACE).skipped == {"a secret in its name": 1}
    with pytest.raises(BadInput, match="name holds a secret"):
        indexed_mind.files.update(f"{TOKEN}.md", "hi", "replace", space=SPACE)
    assert [] == indexed_mind.files.search("curlew", space=SPACE, mode="words")
    assert [] == holding(tmp_path / "home", TOKEN.encode())


@pytest.mark.parametrize(
    "name", ["deploy.md/x.md", "a" * 300 + ".md", "a/" * 3_000 + "b.md", "nul\0.md", "\ud800.md"]
)
@pytest.mark.proves("CC-73", "CC-67")
def test_a_name_that_no_file_can_have_is_refused(indexed_mind, notes, name):
    """An error of ours that names the file, for reading, writing and history; nothing is kept."""
    before = indexed_mind.data.stats().memories
    for verb in (
        indexed_mind.files.read,
        lambda path, **more: indexed_mind.files.update(path, "text", **more),
        indexed_mind.files.history,
    ):
        with pytest.raises(BadInput):
            verb(name, space=SPACE)
        with pytest.raises(BadInput):
            verb(str(notes / name), space=SPACE)
        with pytest.raises(BadInput):
            verb("~nobody-has-this-name/x.md", space=SPACE)
    assert indexed_mind.data.stats().memories == before


@pytest.mark.proves("CC-74")
def test_a_file_that_may_not_be_read_or_written_is_named(indexed_mind, notes, monkeypatch):
    """By its own name, not by that of the half-written one beside it; nothing is changed."""

    def denied(*_, **__):
        raise PermissionError(13, "Permission denied", str(notes / ".deploy.md.1.part"))

    before = indexed_mind.data.stats().memories
    with monkeypatch.context() as patch:
        patch.setattr("reverie.core.atomic_file.os.open", denied)
        with pytest.raises(BadInput, match=r"/deploy\.md cannot be written: Permission denied"):
            indexed_mind.files.update("deploy.md", "more", space=SPACE)
        with pytest.raises(BadInput, match=r"/deploy\.md cannot be read: Permission denied"):
            indexed_mind.files.read("deploy.md", space=SPACE)
    with monkeypatch.context() as patch:
        patch.setattr("reverie.runtime.mind.file_verbs.os.access", lambda *_: False)
        with pytest.raises(BadInput, match=r"/deploy\.md is write-protected"):
            indexed_mind.files.update("deploy.md", "more", space=SPACE)
    assert (
        indexed_mind.data.stats().memories,
        indexed_mind.files.history("deploy.md", space=SPACE),
    ) == (
        before,
        [],
    )


@pytest.mark.proves("CC-74")
def test_a_write_that_fails_leaves_everything_as_it_was(indexed_mind, notes, monkeypatch):
    """The file, the memories and the history; one intention, one transaction."""

    def full(*_):
        raise OSError(28, "No space left on device")

    before = indexed_mind.data.stats().memories
    monkeypatch.setattr("os.replace", full)
    monkeypatch.setattr("reverie.notes.file_versions.Path.replace", full)
    with pytest.raises(OSError, match="No space"):
        indexed_mind.files.update("deploy.md", "lost", "replace", space=SPACE)
    monkeypatch.undo()
    assert (notes / "deploy.md").read_text().startswith("# Deploy")
    assert (
        indexed_mind.data.stats().memories,
        indexed_mind.files.history("deploy.md", space=SPACE),
    ) == (
        before,
        [],
    )
    assert sorted(path.name for path in notes.iterdir()) == ["deploy.md", "long.md"]


# Threads and processes


@pytest.mark.proves("CC-12")
def test_two_threads_write_one_file(indexed_mind, notes):
    """Nobody's line is lost."""

    def write(name):
        for number in range(10):
            indexed_mind.files.update("deploy.md", f"{name} {number}", space=SPACE)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("ann", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (notes / "deploy.md").read_text().split("\n")
    assert {f"{name} {number}" for name in ("ann", "bob") for number in range(10)} <= set(lines)
    assert len(indexed_mind.files.history("deploy.md", space=SPACE)) == 20


SYNC = """
import sys, reverie
from reverie.testing import memory
from reverie.core import clock
with memory(sys.argv[1], now=clock.now, embedder="none") as mind:
    print(mind.files.sync(space="me/demo").indexed)
"""


@pytest.mark.proves("C60")
def test_two_processes_sync_at_once(tmp_path, notes):
    """Each file is indexed once, and nothing is indexed twice."""
    for number in range(300):
        (notes / f"{number}.md").write_text(f"Note {number} tells of a heron.\n" * 20)
    with memory(tmp_path / "home", embedder="none") as mind:
        mind.files.add_folder(notes, space=SPACE)
        command = [sys.executable, "-c", SYNC, str(tmp_path / "home")]
        both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
        done = [int(process.communicate(timeout=120)[0]) for process in both]
        assert [process.returncode for process in both] == [0, 0]
        assert sum(done) == 302
        indexed = mind.files.folders(space=SPACE)[0].indexed
        assert (indexed.files, indexed.chunks) == (
            302,
            len(mind.store.files.search_words(["tells", "heron"], [str(notes)], 10_000)),
        )


# The command line


def test_the_commands(tmp_path, notes):
    """Row by row: add, list, search, show, update, history, restore, note, sync, remove."""
    home = ["--home", str(toy_home(tmp_path)), "--space", SPACE]
    assert "2 files" in run_command("files", "add", str(notes), *home).stdout
    assert "2 files" in run_command("files", "list", *home).stdout
    assert "deploy.md:1-3" in run_command("files", "search", "heron", *home).stdout
    shown = run_command("files", "show", "deploy.md", "--start", "3", *home).stdout
    assert shown == "The staging server is called heron.\n"
    run_command("files", "update", "deploy.md", "gone", "--replace", *home)
    assert "replace" in run_command("files", "history", "deploy.md", *home).stdout
    run_command("files", "restore", "deploy.md", *home)
    assert (notes / "deploy.md").read_text().startswith("# Deploy")
    assert "mem_" in run_command("files", "note", "Met", "Ann.", *home).stdout
    assert "4 files: 0 indexed" in run_command("files", "sync", *home).stdout
    run_command("files", "show", "/etc/passwd", *home, code=2)
    run_command("files", "remove", str(notes), *home)
    run_command("files", "remove", str(notes), *home, code=1)
    assert '"passages": []' in run_command("files", "search", "heron", "--json", *home).stdout


@pytest.mark.proves("C70")
def test_watching_finds_what_changes(tmp_path, notes):
    """An edit is indexed by itself; Ctrl-C ends it cleanly."""
    home = toy_home(tmp_path)
    words = ["--home", str(home), "--space", SPACE]
    run_command("files", "add", str(notes), *words)
    watching = subprocess.Popen(
        [sys.executable, "-m", "reverie", "files", "sync", "--watch", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        with memory(home, embedder="none") as mind:

            def noticed():
                (notes / "new.md").write_text(f"The relay is called curlew. {random.random()}\n")
                return mind.files.search("curlew", space=SPACE)

            wait_until(noticed)
    finally:
        _, heard = interrupt(watching)
    assert watching.returncode == 130
    assert "Traceback" not in heard
