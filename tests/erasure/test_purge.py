# mypy: no-check-untyped-defs
"""What is purged stands in no byte of any file of the home: not in free pages, journals, words,
pages or leftovers.
"""

import json
import random
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress

import pytest

from reverie.core.model import Filter, Retire
from reverie.erasure import unfinished
from reverie.interfaces.hooks.spool import HookFiles, write_json_object
from reverie.storage.sqlite import memory_purge
from reverie.testing import NOON, SPACE, make_conversation, make_event, memory
from tests.support.crash_at_statement import failing_at_statement
from tests.support.helpers import run_command
from tests.support.planted_text import find_files_holding

TEXT = 'The vault word is Zanzibarquartz, it stands on the "Xyloshelf" of the Plovergate.'
WORDS = ("Zanzibarquartz", "Xyloshelf", "Plovergate")  # nobody else says them


def lived(mind, tmp_path, companion):
    """A life in which a memory is kept, met and used in every way that writes something down."""
    kept = mind.remember(
        TEXT,
        title="Zanzibarquartz and Xyloshelf",
        space=SPACE,
        tags=["vault"],
        details={"seen": ["Plovergate"]},
    )
    other = mind.remember("The gravel plant is closed on Mondays.", space=SPACE)
    mind.link(kept.id, other.id)
    mind.settle()
    mind.recall(TEXT, space=SPACE)
    mind.feedback(kept.id, helpful=True, session="s1")
    companion.turn(make_conversation(f"Please remember: {TEXT}"))
    assert companion.wait(120)
    companion.turn(make_conversation(f"What did I say? {TEXT.upper()}", "Go on, then."))
    assert companion.wait(120)
    mind.record_tool(
        "bash",
        {"command": f"echo '{TEXT}'"},
        f"{TEXT}\n",
        ok=True,
        space=SPACE,
        session="s1",
        task=TEXT,
    )
    mind.activity.record_task(TEXT, "success", summary=TEXT, space=SPACE, session="s1")
    mind.sessions.hold({"next": TEXT}, session="s1", space=SPACE)
    mind.sessions.condense(
        make_conversation(*[f"{TEXT} Line {n}. " + "word " * 300 for n in range(8)]),
        limit=2_000,
    )
    repo = tmp_path / "repo"
    repo.mkdir(exist_ok=True)
    (repo / "vault.py").write_text("def vault():\n    return 1\n")
    mind.code.index(repo)
    mind.plan(TEXT, root=repo, space=SPACE)
    mind.settle()
    mind.revise(kept.id, text=f"{TEXT} Ask Bob.")
    mind.files.sync(space=SPACE)
    mind.data.mirror(SPACE)
    mind.data.share(tmp_path / "home" / "shared.jsonl", space=SPACE)
    mind.data.backup(tmp_path / "home/backups/reverie-20251009.db")
    mind.revise(kept.id, text=f"{TEXT} Ask Ann.")
    mind.data.mirror(SPACE)
    mind.files.sync(space=SPACE)
    mind.settle()
    mind.sleep()
    room = HookFiles(str(mind.settings.home))
    write_json_object(
        f"{room.spool}/later.json", {"event": "prompt", "given": {"prompt": f"and {TEXT}"}}
    )
    write_json_object(room.session_file("s9", "block"), {"text": f"- {TEXT}", "ids": [kept.id]})
    write_json_object(room.guards_file(SPACE), {"guards": [{"text": f"never say {TEXT}"}]})
    return kept.id


@pytest.fixture
def mind(tmp_path, clock):
    with memory(tmp_path / "home", now=clock) as made:
        yield made


@pytest.mark.proves("CC-4", "X20")
def test_no_byte_is_left_anywhere(tmp_path, mind):
    """No file of the home holds the purged text, earlier wordings, title or rare words, in any
    encoding; backups included.
    """
    with mind.companion(f"{SPACE}/s1", session="s1") as companion:
        kept = lived(mind, tmp_path, companion)
        assert len(find_files_holding(tmp_path / "home", *WORDS)) > 5
        purged = mind.data.purge(kept)
    assert find_files_holding(tmp_path / "home", *WORDS) == []
    assert purged.unreached == ()
    mind.data.mirror(SPACE)
    mind.files.sync(space=SPACE)
    mind.settle()
    assert find_files_holding(tmp_path / "home", *WORDS) == []
    assert mind.data.verify() == []


@pytest.mark.proves("CC-4")
def test_a_purged_task_leaves_no_name_of_it(tmp_path, mind):
    """What became of a task tells its name, which is what somebody said; each run in it has it."""
    task = "Mend the invoice of Zanzibarquartz, who lives in Plovergate"
    with mind.companion(f"{SPACE}/s1", session="s1") as companion:
        companion.turn(make_conversation(task))
        assert companion.wait(120)
    tool = {"command": "make invoice"}
    mind.record_tool("bash", tool, "", ok=True, space=SPACE, session="s1", task=task)
    mind.activity.record_task(task, "success", space=SPACE, session="s1")
    mind.settle()
    [done] = [one for one in mind.store.browse(Filter((SPACE,))) if one.kind == "task"]
    assert task in done.text != task
    mind.data.purge(done.id)
    assert find_files_holding(tmp_path / "home", *WORDS) == []


@pytest.mark.proves("CC-4")
def test_a_page_of_the_database_keeps_no_gap(tmp_path, mind):
    """When rows move between pages SQLite leaves copies behind that blanking the row does not
    reach.
    """
    rng = random.Random(4)
    kept = mind.remember_many(
        [
            {
                "text": f"Remark {n} on wordnumber{n}x. " + "garden " * rng.randrange(1, 300),
                "details": {"n": f"wordnumber{n}x"},
            }
            for n in range(400)
        ],
        space=SPACE,
    )
    for one in rng.sample(kept, 150):
        mind.revise(one.id, text=one.text + " more" * rng.randrange(200))
    gone = rng.sample(range(400), 120)
    for some in (gone[:60], gone[60:]):
        mind.data.purge([kept[n].id for n in some])
    data = b"".join(
        path.read_bytes().lower() for path in (tmp_path / "home").rglob("*") if path.is_file()
    )
    assert [n for n in gone if f"wordnumber{n}x".encode() in data] == []
    assert all(f"wordnumber{n}x".encode() in data for n in range(400) if n not in gone)


READING = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
if sys.argv[2] == "holding":
    db.execute("begin")
db.execute("select count(*) from memory").fetchone()
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("how", ["open", "holding"])
@pytest.mark.proves("CC-4", "X20")
def test_a_purge_while_another_process_reads_is_finished_later(tmp_path, mind, how):
    """Open makes no difference; while an older state is being read the journal must stay, and that
    is said; the worker finishes it.
    """
    kept = mind.remember(TEXT, space=SPACE)
    path = tmp_path / "home/reverie.db"
    with subprocess.Popen(
        [sys.executable, "-c", READING, str(path), how],
        stdin=subprocess.PIPE,
        text=True,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdout.readline() == "ready\n"
        purged = mind.data.purge(kept.id)
        assert purged.unreached == (() if how == "open" else (path,))
        assert (
            bool(find_files_holding(tmp_path / "home", *WORDS))
            == unfinished.has_unfinished_erasure(mind.work)
            == (how == "holding")
        )
        other.stdin.write("\n")
    assert unfinished.finish_erasure(mind.work)
    assert find_files_holding(tmp_path / "home", *WORDS) == []


@pytest.mark.proves("X20")
def test_a_backup_that_still_holds_it_is_named(tmp_path, mind):
    """A backup that somebody is reading is named in the report; the others are cleaned."""
    kept = mind.remember(TEXT, space=SPACE)
    names = [tmp_path / f"home/backups/reverie-2025100{n}.db" for n in (8, 9)]
    for path in names:
        mind.data.backup(path)
    with closing(sqlite3.connect(names[0], isolation_level=None)) as db:
        db.execute("begin")
        db.execute("select count(*) from memory").fetchone()
        assert mind.data.purge(kept.id).unreached == (names[0],)
        assert {
            one for one in find_files_holding(tmp_path / "home", *WORDS) if "20251008" not in one
        } == set()


@pytest.mark.proves("X20")
def test_another_memory_that_says_it_is_named_not_altered(tmp_path, mind, clock):
    """Somebody was told to remember that as well, perhaps in another project; a record of the log
    is blanked.
    """
    one = mind.remember(TEXT, space=SPACE)
    same = mind.remember(TEXT, space="me/other")
    quoted = mind.remember(f"Ann said: {TEXT}", space=SPACE, tags=["keep"])
    told = mind.remember(f"Ann said again: {TEXT}", kind="event", space=SPACE)
    purged = mind.data.purge(one.id)
    assert purged.repeated == tuple(sorted([same.id, quoted.id]))
    assert [memory.text for memory in mind.get([same.id, quoted.id])] == [same.text, quoted.text]
    assert mind.get([told.id])[0].text == "Ann said again: [purged]."
    assert mind.data.purge([same.id, quoted.id]).repeated == ()
    assert find_files_holding(tmp_path / "home", *WORDS) == []
    assert mind.data.verify() == []


@pytest.mark.proves("X20", "CC-4")
def test_a_purge_leaves_equal_memories_on_pages_and_in_shared_files(tmp_path, mind, clock):
    """What stays in memory stays on its page and in the team's file, and no mirror takes the blank
    in.
    """
    gone = mind.remember(TEXT, space=SPACE)
    kept = [
        mind.remember(text, space=space).id
        for text, space in (
            (TEXT, SPACE),
            (f"{TEXT.upper()}  And mind the step.", SPACE),
            (TEXT, "me/other"),
        )
    ]
    told = mind.remember(f"Ann said again: {TEXT}", kind="event", space=SPACE).id
    team = tmp_path / "team.jsonl"
    mind.data.share(team, space=SPACE)
    theirs = {**json.loads(team.read_text().splitlines()[0]), "id": "their-own"}
    team.write_text(team.read_text() + json.dumps(theirs) + "\n")
    mind.data.mirror()
    page = mind.settings.mirror_root / SPACE / "MEMORY.md"
    page.write_text(page.read_text() + f"\nSomebody wrote here: {TEXT} And more.\n")
    before = {m.id: (m.text, m.provenance) for m in mind.get(kept)}
    purged = mind.data.purge(gone.id)
    [heard] = {*purged.repeated} - {*kept}  # the line of a teammate was read first
    assert mind.get([heard])[0].provenance == "untrusted" and {*kept} < {*purged.repeated}
    clock.tick(60)
    mind.data.mirror()
    mind.data.share(team, space=SPACE)
    mind.settle()
    assert {m.id: (m.text, m.provenance) for m in mind.get(kept)} == before
    blanked = mind.get([told])[0]
    assert (blanked.text, blanked.provenance) == ("Ann said again: [purged].", "observed")
    text = page.read_text()
    assert (
        text.count(TEXT),
        text.count(TEXT.upper()),
        "Somebody wrote here: [purged]" in text,
    ) == (1, 1, True)
    assert (
        json.loads(next(line for line in team.read_text().splitlines() if "their-own" in line))
        == theirs
    )
    assert mind.data.verify() == []


@pytest.mark.parametrize("failure", [KeyboardInterrupt, MemoryError])
@pytest.mark.proves("X20", "CC-4", "CC-47")
def test_a_crash_while_pages_are_written_hides_none_from_a_purge(tmp_path, clock, failure):
    """Whatever statement a first mirror dies at, a purge reaches what it wrote until then; and no
    page is left alone for what was no fault of it.
    """
    for statement in range(1, 100):
        home, pages = tmp_path / str(statement), tmp_path / f"pages{statement}"
        with memory(home, now=clock, mirror=str(pages)) as mind:
            kept = mind.remember(TEXT, space=SPACE)
            with (
                failing_at_statement(mind.store, statement, failure, False) as fuse,
                suppress(failure),
            ):
                mind.data.mirror(SPACE)
            clock.tick(100)  # the lease of who crashed ends
            assert (statement, mind.data.verify()) == (statement, [])
            mind.data.purge(kept.id)
            assert (
                statement,
                find_files_holding(home, *WORDS),
                find_files_holding(pages, *WORDS),
            ) == (statement, [], [])
        if fuse.left > 0:  # it was done before
            break
    assert 5 < statement < 99


@pytest.mark.proves("X20")
def test_the_purge_command_names_memories_with_the_same_text(tmp_path, clock):
    """On the command line, with what to type."""
    with memory(tmp_path / "home", now=clock) as mind:
        one, other = (mind.remember(TEXT, space=space) for space in (SPACE, "me/other"))
    done = run_command("data", "purge", one.id, "--yes", "--home", str(tmp_path / "home"))
    assert f"reverie data purge {other.id}" in done.stderr
    told = json.loads(
        run_command(
            "data", "purge", other.id, "--yes", "--json", "--home", str(tmp_path / "home")
        ).stdout
    )
    assert told == {"purged": 1, "unreached": [], "repeated": []}
    assert find_files_holding(tmp_path, *WORDS) == []


@pytest.mark.proves("CC-4", "CC-12")
def test_others_write_while_the_store_is_looked_through(tmp_path, monkeypatch):
    """Nobody waits for it; what they wrote meanwhile that repeats the text goes too."""
    written = []
    with memory(tmp_path / "home") as mind, memory(tmp_path / "home") as other:
        kept = mind.remember(TEXT, space=SPACE)
        rival = mind.remember("The gravel plant is closed on Mondays.", space=SPACE)
        look = memory_purge.list_holding_events

        def look_while_others_write(db, ids, texts, after=0):
            if not written:
                with closing(sqlite3.connect(tmp_path / "home/reverie.db", timeout=0)) as free:
                    free.execute("begin immediate")
                written.append(other.record("tool", {"result": TEXT}, space=SPACE))
                other.link(rival.id, kept.id, "contradicts")
                other.store.apply(
                    [Retire(rival.id, NOON, "superseded", kept.id)],
                    make_event(),
                )
            yield from look(db, ids, texts, after)

        monkeypatch.setattr(memory_purge, "list_holding_events", look_while_others_write)
        mind.data.purge(kept.id)
        assert written and mind.data.verify() == []
    assert find_files_holding(tmp_path / "home", *WORDS, kept.id) == []
