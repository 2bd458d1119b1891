"""Importing other programs' memories: complete, idempotent and undoable."""

import hashlib
import json

import pytest

from reverie.core.errors import BadInput
from reverie.core.kinds import kind_of
from reverie.core.model import Filter
from reverie.porting import importers
from reverie.porting.importers import foreign_texts, import_plan
from reverie.porting.importers import jaato as jaato_files
from reverie.porting.importers import jcode as jcode_files
from reverie.porting.importers.jcode import hash_project_path
from reverie.testing import memory
from tests.support.helpers import add_unrelated_memories, open_mind, run_command, take_turn
from tests.support.other_programs import (
    JAATO,
    MAKERS,
    ONE,
    SECRET,
    TWO,
    ZUCKERMAN,
    aircher,
    jaato,
    jcode_flat,
    jcode_graph,
    put,
    zuckerman,
)

SPACE = "me/p"


def run(home, *words, **more):
    return run_command(*words, "--home", str(home), **more)


def everything(mind):
    """All memories, by what they are called where they come from."""
    return {
        one.details["imported_from"]["id"]: one
        for one in mind.store.browse(Filter(active=None, limit=1_000_000))
    }


def prints(path):
    """What a folder holds, to the byte."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    return {
        str(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()
    }


@pytest.fixture(params=MAKERS)
def source(request, tmp_path):
    """(program, its files)"""
    return request.param, MAKERS[request.param](tmp_path / "theirs")


@pytest.mark.proves("B108")
def test_the_format_is_detected(source):
    """Without `--from` the format is detected from the files."""
    name, path = source
    assert importers.choose_format(path).name == name


@pytest.mark.proves("A115", "B108")
def test_importing_twice_adds_nothing(source, mind):
    """The second import finds everything known, and the store verifies."""
    _, path = source
    first = mind.data.import_from(path, space=SPACE, trusted=True)
    before = list(mind.data.export(log=False))
    again = mind.data.import_from(path, space=SPACE, trusted=True)
    assert sum(first.plan.kinds.values()) > 0 == sum(again.plan.kinds.values())
    assert (again.event, again.plan.links, again.plan.events) == (0, 0, ())
    assert again.plan.known == sum(first.plan.kinds.values()) + len(first.plan.events)
    assert before == list(mind.data.export(log=False))
    assert [] == mind.data.verify()


@pytest.mark.proves("B108")
def test_a_dry_run_counts_and_writes_nothing(source, mind):
    """A dry run counts what the import then does, and writes nothing."""
    _, path = source
    empty = list(mind.data.export())
    would = mind.data.import_from(path, space=SPACE, dry_run=True, trusted=True)
    assert list(mind.data.export()) == empty
    did = mind.data.import_from(path, space=SPACE, trusted=True)
    assert (would.plan.kinds, would.plan.links, len(would.plan.events), would.plan.bad) == (
        did.plan.kinds,
        did.plan.links,
        len(did.plan.events),
        did.plan.bad,
    )


@pytest.mark.proves("CC-3")
def test_one_undo_takes_it_back(source, mind):
    """An import is one event, and one undo takes it back."""
    _, path = source
    done = mind.data.import_from(path, space=SPACE, trusted=True)
    assert any(one.active for one in everything(mind).values())
    mind.undo(done.event)
    assert not any(one.active for one in everything(mind).values())


def test_the_source_is_only_read(source, mind):
    """Not a byte is altered and no file comes to be."""
    _, path = source
    before = prints(path)
    mind.data.import_from(path, space=SPACE, trusted=True)
    assert before == prints(path)


@pytest.mark.proves("X36")
def test_every_memory_says_where_it_comes_from(source, mind):
    """The program, the name it had there, and the place."""
    name, path = source
    mind.data.import_from(path, space=SPACE, trusted=True)
    for one in everything(mind).values():
        origin = one.details["imported_from"]
        assert (origin["system"], bool(origin["id"]), bool(origin["where"])) == (name, True, True)
        assert str(path) not in origin["where"]


@pytest.mark.proves("CC-2")
def test_an_import_stores_no_secret(tmp_path):
    """None of what is taken along reaches the disk; what was taken out is said."""
    for name in ("claude-code", "aircher"):
        home = tmp_path / name
        with memory(home) as mind:
            done = mind.data.import_from(
                MAKERS[name](tmp_path / f"{name}-theirs"), space=SPACE, trusted=True
            )
            assert done.plan.redacted == (("github-token",) if name == "claude-code" else ())
        assert not [
            file
            for file in home.rglob("*")
            if file.is_file() and SECRET.encode() in file.read_bytes()
        ]


@pytest.mark.proves("A115")
def test_jcode_keeps_what_use_has_made(tmp_path, mind):
    """Kinds, trust, strength, uses, successor, links and vectors of two models come along."""
    file = put(tmp_path / "0123456789abcdef.json", json.dumps(jcode_graph()))
    done = mind.data.import_from(file, space=SPACE, trusted=True)
    one, two = everything(mind)[ONE], everything(mind)[TWO]
    assert (one.kind, one.tags, one.provenance, one.trust) == (
        "preference",
        ("git", "style"),
        "user_stated",
        0.95,
    )
    assert (one.strength, one.access_count, one.confidence, one.session) == (
        3,
        4,
        0.95,
        "ses-blue-otter",
    )
    assert [(r.session, r.at) for r in one.reinforcements] == [
        ("ses-red-fox", 1768903200.0),
        ("dedup", 1769932800.0),
    ]
    assert one.at == pytest.approx(1767950000.123456)
    assert (two.kind, two.strength, two.active, two.superseded_by) == ("note", 1, False, one.id)
    edges = {
        (e.src, e.rel, e.dst): e.weight for e in mind.store.edges([one.id]) if e.rel != "has_tag"
    }
    assert edges == {(one.id, "supersedes", two.id): 1.0, (one.id, "relates_to", two.id): 0.6}
    assert done.plan.bad == ()
    near, far = "jcode:minilm-l6-v2", "jcode:openai:text-embedding-3-small"
    assert [len(mind.store.vectors(model, [one.id, two.id])) for model in (near, far)] == [1, 1]
    assert len(mind.store.vectors(far, [two.id])[two.id]) == 4


def test_jcode_of_both_versions(tmp_path, mind):
    """The graph, the flat file before it, notes, and an export come in
    alike.
    """
    export = [jcode_graph()["memories"][ONE]]
    notes = {
        "entries": [
            {"id": "n1", "content": "A note", "created_at": "2025-11-01T00:00:00Z", "tag": "x"}
        ]
    }
    for place, value in enumerate((jcode_flat(), export, notes)):
        mind.data.import_from(
            put(tmp_path / f"{place}.json", json.dumps(value)), "jcode", space=SPACE, trusted=True
        )
    assert {name: one.kind for name, one in everything(mind).items()} == {
        "mem_1767000000000_1": "fact",
        ONE: "preference",
        "n1": "note",
    }


@pytest.mark.parametrize(
    ("path", "stem"),
    [
        ("/home/jeremy/jcode", "e6603de9a897ceba"),
        ("/home/jeremy/jcode/", "e6603de9a897ceba"),
        ("/home/a//b/./c", "da3c3ba79c852e21"),
        ("/srv/x", "5d1741e043d558c9"),
        ("/", "bd60acb658c79e45"),
        (".", "d871ac6a1fbb80e5"),
        ("relative/dir", "efaab4f00855b694"),
        ("/home/a/./b", "c7128651d774ae9c"),
        ("/home/ü/π x", "b558c5a26704bfb0"),
    ],
)
def test_jcode_names_projects_by_a_hash(path, stem):
    """The table that was verified against a Rust compiler."""
    assert hash_project_path(path) == stem


def test_jcode_takes_the_project_one_stands_in(tmp_path, mind, monkeypatch):
    """The user's into the user's space, this project's into its own; others are
    named.
    """
    here, home = tmp_path / "here", MAKERS["jcode"](tmp_path / "jcode")
    here.mkdir()
    monkeypatch.chdir(here)
    put(
        home / "memory" / "projects" / f"{hash_project_path(str(here))}.json",
        json.dumps(jcode_graph()),
    )
    put(home / "memory" / "projects" / "00000000000000aa.json", json.dumps(jcode_flat()))
    done = mind.data.import_from(home, space=SPACE, trusted=True)
    assert {name: one.space for name, one in everything(mind).items()} == {
        "mem_1767000000000_1": "me",
        "sched_1": "me",
        ONE: SPACE,
        TWO: SPACE,
    }
    assert "memory/projects/00000000000000aa.json" in done.plan.remarks[0]


def test_jcode_falls_back_to_its_copy(tmp_path, mind):
    """A file that was cut off, and a good copy beside it."""
    file = put(tmp_path / "global.json", json.dumps(jcode_graph())[:200])
    put(tmp_path / "global.bak", json.dumps(jcode_graph()))
    done = mind.data.import_from(file, space=SPACE, trusted=True)
    assert everything(mind).keys() == {ONE, TWO}
    assert "its copy global.bak was taken instead" in done.plan.remarks[0]


@pytest.mark.proves("C19", "C37", "C46", "C49", "C87", "C88", "C90")
def test_zuckerman_has_six_types(tmp_path, mind):
    """A file for each type, MEMORY.md and daily logs."""
    mind.data.import_from(zuckerman(tmp_path), space=SPACE, trusted=True)
    found = everything(mind)
    name = "6f2a1c1e-0000-4000-8000-0000000000{}".format
    episode, procedure, reminder = found[name("01")], found[name("02")], found[name("03")]
    assert (episode.kind, episode.at, episode.session) == ("event", 1770143000.0, "conv-7")
    assert episode.details["emotion"] == {"name": "satisfaction", "intensity": "high"}
    assert (procedure.kind, procedure.triggers, procedure.details["rate"]) == (
        "procedure",
        (r"re:read\s+file",),
        0.595,
    )
    assert procedure.details["emotion"] == {"name": "joy", "intensity": "low"}
    assert (reminder.kind, reminder.details["when"], reminder.details["priority"]) == (
        "intention",
        1772000000.0,
        0.8,
    )
    assert reminder.triggers == ("nginx",)
    assert (found[name("04")].active, found[name("04")].retired_why) == (False, "done")
    assert found[name("05")].details["status"] == "pending"
    assert found[name("12")].triggers == ()
    assert (found[name("07")].kind, found[name("07")].text) == (
        "feeling",
        "The release slipped again",
    )
    assert (found[name("0a")].kind, found[name("0a")].confidence) == ("fact", 0.9)
    logs = sorted(
        (one.at, one.kind, one.text)
        for one in found.values()
        if one.text.endswith((".", "ü")) and "md" in one.details["imported_from"]["id"]
    )
    assert [(kind, text) for _, kind, text in logs] == [
        ("note", "The user lives in Graz."),
        ("event", "Fixed the über-bug."),
        ("event", "Went for lunch."),
    ]
    assert logs[1][0] == 1770112800.0


@pytest.mark.proves("C41", "C46")
def test_zuckermans_reminders_come_due(tmp_path, mind, clock):
    """What was to be done later there is done later here."""
    mind.data.import_from(zuckerman(tmp_path), space=SPACE, trusted=True)
    clock.at = 1772000000.0 + 60
    assert "Renew TLS certificate" in [hit.memory.text for hit in mind.reminders.due(space=SPACE)]


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
@pytest.mark.proves("D6", "D7", "D8")
def test_aircher_fills_the_log(tmp_path, mind, engine):
    """Runs of tools and files go where our own miner looks; the wrapper's second line does not;
    tasks become

    episodes with their outcome.
    """
    done = mind.data.import_from(
        aircher(tmp_path / "a", engine), "aircher", space=SPACE, trusted=True
    )
    deeds = mind.activity.events(space=SPACE)
    assert sorted((one.verb, one.payload.get("tool") or one.payload["path"]) for one in deeds) == [
        ("file", "src/a.py"),
        ("tool", "bash"),
        ("tool", "edit_file"),
    ]
    failed = next(one for one in deeds if one.payload.get("tool") == "bash")
    assert (failed.payload["ok"], failed.payload["command"], failed.payload["duration"]) == (
        False,
        "pytest",
        0.9,
    )
    assert failed.session == "session_1"
    assert [(bad.where, "juggle" in bad.why) for bad in done.plan.bad] == [
        ("file_interactions, row 2", True)
    ]
    task = everything(mind)["task:t-1"]
    assert (task.kind, task.details["outcome"], task.files) == ("task", "done", ("src/a.py",))
    assert SECRET not in json.dumps([dict(one.payload) for one in deeds])


@pytest.mark.proves("X35", "X36", "X37", "X46")
def test_jaato_of_three_generations(tmp_path, mind):
    """Lifecycle, evidence, confidence, author and reviewer are kept; what stands twice comes once."""
    done = mind.data.import_from(jaato(tmp_path), space=SPACE, trusted=True)
    found = everything(mind)
    one = found[JAATO["id"]]
    assert (one.text, one.title, one.tags) == (
        JAATO["content"],
        JAATO["description"],
        ("widget_cache", "build_id"),
    )
    assert (one.access_count, one.confidence, one.session) == (2, 0.8, "s-42")
    assert {
        name: one.details[name]
        for name in ("maturity", "evidence", "source_agent", "generated_by", "curated_by")
    } == {
        name: JAATO[name]
        for name in ("maturity", "evidence", "source_agent", "generated_by", "curated_by")
    }
    assert (one.details["author"], one.details["curated"]) == (
        {"agent": "main", "model": "m", "provider": "p"},
        {"by": "curator"},
    )
    assert found["mem_20260302_000000_0001"].space == "me"
    gone = found["mem_20260303_000000_0001"]
    assert (gone.active, gone.retired_why) == (False, "dismissed")
    assert [bad.where for bad in done.plan.bad] == ["memories.jsonl, line 2"]
    assert "more than once" in done.plan.remarks[0]


@pytest.mark.proves("X46")
def test_jaato_and_share_agree_on_ids(tmp_path, mind):
    """A record that was shared is known when it is imported."""
    file = put(tmp_path / "memories.jsonl", json.dumps(JAATO) + "\n")
    mind.data.share(file, space=SPACE, once="import")
    assert (
        mind.data.import_from(file, space=SPACE, trusted=True).plan.known,
        len(everything(mind)),
    ) == (1, 1)


@pytest.mark.proves("X37", "X49")
def test_somebody_elses_file_waits_for_approval(tmp_path, mind, clock):
    """What is not trusted approves itself of nothing, watches for nothing and reminds of nothing."""
    mind.data.import_from(jaato(tmp_path / "j"), space=SPACE)
    mind.data.import_from(zuckerman(tmp_path / "z"), space=SPACE)
    mind.data.import_from(put(tmp_path / "0.json", json.dumps(jcode_graph())), space=SPACE)
    clock.at = 1772000000.0 + 60
    assert mind.reminders.due(space=SPACE) == []
    for one in everything(mind).values():
        assert (one.provenance, one.trust, one.triggers) == ("untrusted", 0.3, ())
        assert one.details["imported_from"]["untrusted"]
        assert kind_of(one.kind).voice == "anybody"
    waiting = {one.id for one in mind.review.pending(space=SPACE)}
    assert (
        waiting == {one.id for one in mind.browse(space=SPACE)}
        and everything(mind)[JAATO["id"]].id in waiting
    )


@pytest.mark.proves("X37", "X49", "X63")
def test_nothing_that_is_imported_is_believed_unless_the_user_says_so(source, mind):
    """Of every program: all waits, commands nobody, stays in the space named, and logs no deed."""
    _, path = source
    done = mind.data.import_from(path, space=SPACE)
    kept = [one for one in everything(mind).values() if one.active]
    assert kept and not done.plan.events and not done.plan.lifted
    for one in kept:
        assert (one.space, one.provenance, one.triggers) == (SPACE, "untrusted", ())
        assert one.trust <= 0.3 and kind_of(one.kind).voice == "anybody"
        assert "curated" not in one.details and one.access_count == 0
    assert {one.id for one in kept} == {one.id for one in mind.review.pending(space=SPACE)}
    assert mind.recall("anything at all about it", space=SPACE) == []


@pytest.mark.proves("X63")
def test_who_says_later_that_it_is_theirs_has_it_believed(source, tmp_path):
    """What waits becomes what an import with `trusted` would have brought, and one undo reverts it."""
    _, path = source
    with memory(tmp_path / "later") as mind, memory(tmp_path / "at-once") as other:
        mind.data.import_from(path, space=SPACE)
        waiting = list(mind.store.browse(Filter()))
        done = mind.data.import_from(path, space=SPACE, trusted=True)
        other.data.import_from(path, space=SPACE, trusted=True)
        assert active_claims(mind) == active_claims(other)
        pending = {one.text for one in mind.review.pending(space=SPACE)}
        assert pending == {one.text for one in other.review.pending(space=SPACE)}
        assert mind.data.verify() == []
        mind.undo(done.event)
        assert sorted(mind.store.browse(Filter())) == sorted(waiting)


def active_claims(mind):
    """What counts in a home, and as what."""
    return {
        (one.space, one.text, one.kind, one.provenance, one.trust, one.triggers, one.confidence)
        for one in mind.store.browse(Filter())
    }


@pytest.mark.proves("X63")
def test_without_trust_what_was_taken_in_as_ones_own_is_known(source, mind):
    """Whoever forgets the word the second time adds nothing and takes nothing back."""
    _, path = source
    mind.data.import_from(path, space=SPACE, trusted=True)
    before = list(mind.data.export(log=False))
    mind.data.import_from(path, space=SPACE)
    assert before == list(mind.data.export(log=False))


@pytest.mark.proves("X63")
def test_an_export_of_somebody_else_commands_nobody(tmp_path):
    """On the command line: not believed; with --trusted to the letter; a pipe must say so."""
    file = MAKERS["reverie"](tmp_path)
    home = tmp_path / "home"
    told = run(home, "data", "import", str(file), "--space", SPACE)
    assert "(reverie): new: 2 memories" in told.stdout
    assert "Not known to be yours" in told.stderr and "--trusted" in told.stderr
    with memory(home) as mind:
        kept = {one.details["imported_from"]["id"]: one for one in mind.review.pending(space=SPACE)}
        wish = kept["export mem_01kjk0000000000000000000a1"]
        assert (wish.kind, wish.details["asked_kind"], wish.triggers) == ("note", "preference", ())
        assert [e.verb for e in mind.store.events(verbs=("tool",))] == []
    run(home, "undo", told.stdout.rpartition("reverie undo ")[2].strip())
    run(home, "data", "import", str(file), "--trusted")
    with memory(home) as mind:
        wish = mind.get("mem_01kjk0000000000000000000a1")[0]
        assert (wish.provenance, wish.kind, wish.triggers) == (
            "user_stated",
            "preference",
            ("deploy",),
        )
    piped = run(home, "data", "import", "-", code=2)
    assert "--trusted" in piped.stderr


@pytest.mark.proves("B108")
def test_mem0_keeps_times_and_metadata(tmp_path, mind):
    """Times with their zone, categories as tags, relations as facts; a record without a memory is
    named.
    """
    done = mind.data.import_from(MAKERS["mem0"](tmp_path), space=SPACE, trusted=True)
    one = everything(mind)["892db2ae-06d9-49e5-8b3e-585ef9b85b8e"]
    assert (one.text, one.tags, one.details["metadata"]["source"]) == (
        "Is allergic to peanuts",
        ("health",),
        "chat",
    )
    assert one.at == pytest.approx(1772118497.512031)
    assert "ann works at techcorp" in [one.text for one in everything(mind).values()]
    assert [bad.where for bad in done.plan.bad] == ["mem0.json, line 28"]


@pytest.mark.proves("B108")
def test_claude_codes_pages_and_index(tmp_path, mind):
    """A page a memory with its type; of the index what points to no page; links between pages."""
    mind.data.import_from(MAKERS["claude-code"](tmp_path), space=SPACE, trusted=True)
    found = {one.text[:12]: one for one in everything(mind).values()}
    assert {text: (one.kind, one.space) for text, one in found.items()} == {
        "Ann is a dat": ("knowledge", "me"),
        "No mocks of ": ("preference", SPACE),
        "Answers in G": ("preference", SPACE),
    }
    assert found["No mocks of "].at == 1777629600.0
    ties = mind.store.edges([found["Ann is a dat"].id], ("relates_to",))
    assert [one.dst for one in ties] == [found["No mocks of "].id]


@pytest.mark.proves("B108")
def test_basic_memorys_notes(tmp_path, mind):
    """Notes, observations by category, relations between notes."""
    mind.data.import_from(MAKERS["basic-memory"](tmp_path), space=SPACE, trusted=True)
    found = everything(mind)
    jwt = next(one for one in found.values() if "JWT" in one.text)
    assert (jwt.kind, jwt.tags, jwt.title, jwt.at) == (
        "decision",
        ("security", "auth"),
        "Authentication Design",
        1767312000.0,
    )
    note = found["design/auth"]
    assert "a task is no observation" in note.text
    ties = {(one.src, one.dst) for one in mind.store.edges([note.id], ("relates_to",))}
    assert (note.id, found["user-schema"].id) in ties
    assert (jwt.id, note.id) in ties


@pytest.mark.proves("X18")
def test_skills_and_goals_come_up(tmp_path, mind):
    """What an agent can do and what is being worked towards surface by themselves in the turn that
    needs them.
    """
    put(tmp_path / "s" / ".claude" / "skills" / "empty" / "SKILL.md", "---\nname: empty\n---\n")
    done = mind.data.import_from(MAKERS["skills"](tmp_path / "s"), space=SPACE, trusted=True)
    assert [bad.where for bad in done.plan.bad] == [".claude/skills/empty/SKILL.md"]
    skill = everything(mind)[
        next(name for name in everything(mind) if name.startswith("skill:invoices"))
    ]
    assert (skill.kind, skill.title, skill.files) == (
        "skill",
        "invoices",
        (str(tmp_path / "s" / ".claude" / "skills" / "invoices" / "SKILL.md"),),
    )
    add_unrelated_memories(mind, SPACE)
    goal = mind.remember(
        "The accounting package is to be rid of floats by the end of March.",
        kind="goal",
        space=SPACE,
    )
    mind.settle()
    with mind.companion(f"{SPACE}/s1") as companion:
        blocks = [
            take_turn(companion, text)
            for text in (
                "please print and number the invoices of the month",
                "good morning, lovely weather",
                "how far are we, is the accounting package rid of floats?",
                "please go on",
            )
        ]
    given = {id: block.text for block in blocks for id in block.ids}
    assert given.keys() == {skill.id, goal.id}
    assert ".claude/skills/invoices/SKILL.md" in given[skill.id]


@pytest.mark.proves("CC-9")
def test_a_bad_record_loses_no_other(tmp_path, mind):
    """Broken JSON in the middle, NaN, no id, a comma too many: each is named with its line."""
    good = {
        "id": "a",
        "type": "semantic",
        "createdAt": 1770144000000,
        "fact": "One",
        "confidence": float("nan"),
    }
    lines = [
        '{"memories": [',
        json.dumps(good) + ",",
        '{"id": "b", "type": "semantic", "fact": "cut',
        '{"type": "semantic", "fact": "no id"},',
        '{"id": "w", "type": "dream", "fact": "x"},',
        json.dumps({**good, "id": "c", "fact": "Two"}) + ",",
        "]}",
    ]
    done = mind.data.import_from(
        put(tmp_path / "semantic.json", "\r\n".join(lines)), space=SPACE, trusted=True
    )
    assert {one.text for one in everything(mind).values()} == {"One", "Two"}
    assert [bad.where for bad in done.plan.bad] == [
        "semantic.json, line 3",
        "semantic.json, line 4",
        "semantic.json, line 5",
    ]


def test_an_unknown_format_is_an_error(tmp_path, mind):
    """An unknown format is an error that names the known ones."""
    with pytest.raises(BadInput, match="jcode, zuckerman, aircher"):
        mind.data.import_from(put(tmp_path / "x.json", "{}"), trusted=True)
    with pytest.raises(BadInput, match="is not one of"):
        mind.data.import_from(tmp_path, "winamp", trusted=True)
    with pytest.raises(BadInput, match="There is no file"):
        mind.data.import_from(tmp_path / "nothing", trusted=True)


@pytest.mark.proves("A115", "B108")
def test_on_the_command_line(source, tmp_path):
    """`reverie data import PATH`, what it would bring, what it brought, and the way back."""
    name, path = source
    would = run(
        tmp_path / "home", "data", "import", str(path), "--space", SPACE, "--dry-run"
    ).stdout
    assert f"({name}): would bring" in would
    did = run(
        tmp_path / "home", "data", "import", str(path), "--from", name, "--space", SPACE
    ).stdout
    assert f"({name}): new:" in did
    event = did.rpartition("reverie undo ")[2].strip()
    again = json.loads(
        run(tmp_path / "home", "data", "import", str(path), "--space", SPACE, "--json").stdout
    )["imports"][0]
    assert (again["from"], again["new"], again["deeds"]) == (name, {}, 0)
    run(tmp_path / "home", "undo", event)


@pytest.fixture
def project_with_old_stores(tmp_path, monkeypatch):
    """A project with jaato's file, of a user who has jcode's folder."""
    (tmp_path / "p" / "src").mkdir(parents=True)
    (tmp_path / "p" / ".git").mkdir()
    MAKERS["jcode"](tmp_path / "user" / ".jcode")
    put(tmp_path / "p" / ".jaato" / "memories.jsonl", json.dumps(JAATO) + "\n")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.chdir(tmp_path / "p" / "src")
    return tmp_path


@pytest.mark.proves("CC-88", "X46")
def test_what_lies_beside_an_empty_memory_comes_along_once(project_with_old_stores):
    """It is offered by `doctor`, taken along by `import` and told; the second time nothing is new."""
    before = prints(project_with_old_stores / "p") | prints(project_with_old_stores / "user")
    offered = run(
        project_with_old_stores / "home", "doctor", "--space", SPACE, code=1
    ).stdout.replace("\n", " ")
    assert all(name in offered for name in ("jaato keeps memories in", "jcode keeps memories in"))
    told = run(project_with_old_stores / "home", "data", "import", "--space", SPACE).stdout
    assert (
        ".jaato (jaato): new: 1 memory (fact 1)" in told
        and ".jcode (jcode): new: 2 memories" in told
    )
    with memory(project_with_old_stores / "home") as mind:
        kept = everything(mind)
        assert JAATO["id"] in kept and len(kept) == 3
        mind.forget(kept[JAATO["id"]].id)
    again = json.loads(
        run(project_with_old_stores / "home", "data", "import", "--space", SPACE, "--json").stdout
    )["imports"]
    assert {
        (one["from"], sum(one["new"].values()), one["known"], one["left"]) for one in again
    } == {("jaato", 0, 1, False), ("jcode", 0, 2, False)}
    with memory(project_with_old_stores / "home") as mind:
        assert not everything(mind)[JAATO["id"]].active  # who let go of one does not get it back
    assert (
        "keeps memories in"
        not in run(project_with_old_stores / "home", "doctor", "--space", SPACE, code=1).stdout
    )
    assert before == prints(project_with_old_stores / "p") | prints(
        project_with_old_stores / "user"
    )


def test_where_nothing_lies_beside_it_is_told_whose_was_looked_for(tmp_path, monkeypatch):
    """Not that nobody keeps any: Claude Code's are there, and come only if they are named."""
    kept = tmp_path / ".claude" / "projects" / "-shop" / "memory"
    kept.mkdir(parents=True)
    (kept / "MEMORY.md").write_text("- Use tabs in Makefiles.\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    told = run(tmp_path / "home", "data", "import", "--space", SPACE).stdout
    assert (
        "None of jcode, zuckerman, aircher, jaato keeps" in told
        and "~/.claude/projects/PROJECT" in told
    )


@pytest.mark.proves("CC-88", "X46")
def test_what_lies_beside_memories_is_left_and_told(project_with_old_stores):
    """Nothing is mixed or altered unless somebody names it; what is empty is filled all the same."""
    run(project_with_old_stores / "home", "remember", "Ours.", "--space", SPACE)
    before = prints(project_with_old_stores / "p") | prints(project_with_old_stores / "user")
    result = run(project_with_old_stores / "home", "data", "import", "--space", SPACE, "--trusted")
    assert "Left as it is" in result.stderr
    assert (
        f"reverie data import {project_with_old_stores / 'p' / '.jaato'}"
        in result.stderr.replace("\n", "")
    )
    with memory(project_with_old_stores / "home") as mind:
        assert [one.text for one in mind.browse(space=SPACE) if one.space == SPACE] == ["Ours."]
        assert {one.details["imported_from"]["system"] for one in mind.browse(space="me")} == {
            "jcode"
        }
    assert before == prints(project_with_old_stores / "p") | prints(
        project_with_old_stores / "user"
    )
    run(
        project_with_old_stores / "home",
        "data",
        "import",
        str(project_with_old_stores / "p" / ".jaato"),
        "--space",
        SPACE,
    )
    with memory(project_with_old_stores / "home") as mind:
        assert len([one for one in mind.browse(space=SPACE) if one.space == SPACE]) == 2


@pytest.mark.proves("CC-88", "CC-9")
def test_one_that_cannot_be_read_keeps_nobody_from_the_others(project_with_old_stores):
    """A file that cannot be read is named; the others are imported."""
    put(
        project_with_old_stores / "user" / ".aircher" / "data" / "episodic.duckdb",
        b"\0" * 8 + b"DUCK" + b"\0" * 4_096,
    )
    done = json.loads(
        run(project_with_old_stores / "home", "data", "import", "--space", SPACE, "--json").stdout
    )["imports"]
    assert {one["from"]: sum(one["new"].values()) for one in done} == {
        "jcode": 2,
        "aircher": 0,
        "jaato": 1,
    }
    assert [len(one["bad"]) for one in done] == [0, 1, 0]


@pytest.mark.proves("B108")
def test_a_conversation_is_learned_from(tmp_path):
    """A transcript of Claude Code's goes the way of `reverie learn`."""
    line = {
        "type": "user",
        "sessionId": "s1",
        "timestamp": "2026-01-01T00:00:00Z",
        "message": {"role": "user", "content": "I prefer tabs over spaces."},
    }
    file = put(tmp_path / "s1.jsonl", json.dumps(line) + "\n")
    refused = run(tmp_path / "home", "data", "import", str(file), "--space", SPACE, code=2)
    assert "counts as your word" in refused.stderr
    out = run(tmp_path / "home", "data", "import", str(file), "--space", SPACE, "--trusted").stdout
    assert "preference: I prefer tabs over spaces." in out


@pytest.mark.proves("C90")
def test_a_page_is_cut_at_bullets_and_paragraphs():
    """A bullet keeps what is indented below it; fences are not looked into."""
    page = "# A\n\none\ntwo\n\n- b1\n  more\n\n  still\n- b2\n\nafter\n\n```\n- code\n\n# no\n```\n"
    assert [(one.line, one.heading, one.text) for one in foreign_texts.split_passages(page)] == [
        (3, "A", "one\ntwo"),
        (6, "A", "b1\n  more\n\n  still"),
        (10, "A", "b2"),
        (12, "A", "after"),
        (14, "A", "```\n- code\n\n# no\n```"),
    ]


def records(tmp_path, *some, name="memories.jsonl"):
    """A file of jaato's with such records."""
    lines = [json.dumps({**JAATO, "maturity": "raw", "scope": "project"} | one) for one in some]
    return put(tmp_path / name, "\n".join(lines) + "\n")


@pytest.mark.proves("CC-12")
def test_nobody_waits_for_files_to_be_read_and_cleaned(home, tmp_path, monkeypatch):
    """While records are planned others write, and a dry run writes nothing at all."""
    path = records(tmp_path, {})
    with open_mind(home.settings.home) as other:

        def slow(found, into):
            other.remember("Meanwhile.", space=SPACE)
            return memory_of(found, into)

        memory_of = import_plan.build_record_memory
        monkeypatch.setattr(import_plan, "build_record_memory", slow)
        assert home.data.import_from(path, space=SPACE, dry_run=True, trusted=True).plan.kinds == {
            "fact": 1
        }
        assert home.data.import_from(path, space=SPACE, trusted=True).plan.kinds == {"fact": 1}
    assert home.data.stats().memories == 3


@pytest.mark.proves("CC-12")
def test_what_somebody_else_takes_in_meanwhile_is_known(home, tmp_path, monkeypatch):
    """Two imports of one file at a time bring it once."""
    path = records(tmp_path, {})
    with open_mind(home.settings.home) as other:

        def late(found, into):
            monkeypatch.setattr(import_plan, "build_record_memory", memory_of)
            other.data.import_from(path, space=SPACE, trusted=True)
            return memory_of(found, into)

        memory_of = import_plan.build_record_memory
        monkeypatch.setattr(import_plan, "build_record_memory", late)
        done = home.data.import_from(path, space=SPACE, trusted=True)
    assert (done.plan.kinds, done.plan.known, home.data.stats().memories) == ({}, 1, 1)


@pytest.mark.proves("CC-9")
def test_a_number_without_end_is_cut(tmp_path, mind):
    """It loses neither its record nor the others."""
    mind.data.import_from(records(tmp_path, {"usage_count": 10**30}), space=SPACE, trusted=True)
    graph = jcode_graph()
    graph["memories"][ONE] |= {"strength": 10**30, "access_count": 10**30}
    mind.data.import_from(put(tmp_path / "0.json", json.dumps(graph)), space=SPACE, trusted=True)
    assert len(everything(mind)) == 3
    assert mind.data.verify() == []


@pytest.mark.proves("X37", "X49")
def test_somebody_elses_file_says_nothing_to_the_user_and_of_its_use(tmp_path, mind):
    """No line of it reaches the user's own space, and how often it was used is not believed."""
    mind.data.import_from(
        records(tmp_path, {"scope": "universal", "usage_count": 900}), space=SPACE
    )
    one = everything(mind)[JAATO["id"]]
    assert (one.space, one.access_count, one.last_accessed_at) == (SPACE, 0, None)


@pytest.mark.proves("A115")
def test_a_later_import_supersedes_a_partial_one(tmp_path, mind):
    """What came earlier steps back for what comes now, with its link; the second time nothing is
    new.
    """
    whole, part = jcode_graph(), jcode_graph()
    del part["memories"][ONE], part["edges"]
    whole["edges"] = {}
    part["memories"][TWO] |= {"active": True, "superseded_by": None}
    file = put(tmp_path / "0.json", json.dumps(part))
    mind.data.import_from(file, space=SPACE, trusted=True)
    put(file, json.dumps(whole))
    done = mind.data.import_from(file, space=SPACE, trusted=True)
    one, two = everything(mind)[ONE], everything(mind)[TWO]
    assert (two.active, two.superseded_by, done.plan.links) == (False, one.id, 1)
    assert [(e.src, e.dst) for e in mind.store.edges([one.id], ("supersedes",))] == [
        (one.id, two.id)
    ]
    assert mind.data.import_from(file, space=SPACE, trusted=True).event == 0
    mind.undo(done.event)
    assert [everything(mind)[name].active for name in (ONE, TWO)] == [False, True]
    assert mind.data.verify() == []


@pytest.mark.proves("B108")
def test_what_is_otherwise_there_than_here_is_said(tmp_path, mind):
    """A record that was altered in its file, and one that was taken back here, with the way back."""
    mind.data.import_from(records(tmp_path, {}), space=SPACE, trusted=True)
    done = mind.data.import_from(
        records(tmp_path, {"content": "Something else."}), space=SPACE, trusted=True
    )
    assert done.plan.remarks == (
        "1 of those that were there say something else in their file; here they stay as they "
        "are: memories.jsonl, line 1",
    )
    mind.forget(everything(mind)[JAATO["id"]].id)
    (remark,) = mind.data.import_from(records(tmp_path, {}), space=SPACE, trusted=True).plan.remarks
    assert f"reverie memory restore {everything(mind)[JAATO['id']].id}" in remark


@pytest.mark.parametrize("name", ["claude-code", "basic-memory"])
@pytest.mark.proves("B108", "CC-9")
def test_links_are_not_followed_and_broken_pages_are_named(tmp_path, mind, name):
    """What lies elsewhere stays there; a folder that is called as a page loses nothing."""
    folder = MAKERS[name](tmp_path / "theirs")
    pages = folder / "memory" if name == "claude-code" else folder
    (pages / "link.md").symlink_to(
        put(tmp_path / "private.md", "---\npermalink: x\n---\n\nA private matter.\n")
    )
    (pages / "dangling.md").symlink_to(tmp_path / "nothing.md")
    (pages / "aaa.md").mkdir()
    put(tmp_path / "elsewhere" / "b.md", "A private matter.")
    (pages / "below").symlink_to(tmp_path / "elsewhere")
    done = mind.data.import_from(folder, space=SPACE, trusted=True)
    assert not [one for one in everything(mind).values() if "private" in one.text]
    assert sum(done.plan.kinds.values()) >= 3
    assert ["link.md" in remark and "dangling.md" in remark for remark in done.plan.remarks] == [
        True
    ]
    assert [bad.where for bad in done.plan.bad] == ["aaa.md"]


def broken(records, commas=False):
    """Records of a store on one line, the second of which is cut, or each with a comma too many."""
    some = [json.dumps(one) for one in records]
    some = [f"{one[:-1]},}}" for one in some] if commas else [some[0], some[1][:40], *some[2:]]
    return '{"memories":[' + ",".join(some) + "]}"


def test_one_broken_record_on_a_line_of_many(tmp_path, mind):
    """The records after the broken one come in as well, and it is named."""
    file = put(tmp_path / "prospective.json", broken(zuckerman_records("prospective")))
    done = mind.data.import_from(file, space=SPACE, trusted=True)
    assert sorted(everything(mind)) == [
        one["id"] for one in zuckerman_records("prospective") if one["id"][-1] in "35"
    ]
    assert len(done.plan.bad) == 1


def test_a_trailing_comma_is_tolerated(tmp_path, mind):
    """A trailing comma before a closing bracket is dropped; one within a text stays."""
    some = zuckerman_records("prospective")
    some[0]["intention"] = "Write [a,] and {b,}"
    done = mind.data.import_from(
        put(tmp_path / "prospective.json", broken(some, commas=True)), space=SPACE, trusted=True
    )
    assert (len(everything(mind)), done.plan.bad) == (3, ())
    assert everything(mind)[some[0]["id"]].text == "Write [a,] and {b,}"


def zuckerman_records(type):
    """Made-up records of a type, each for itself."""
    return json.loads(json.dumps(ZUCKERMAN[type]))


def zuckermans(tmp_path, mind, type, *records):
    """What records of a type come to, by their ids, and the plan."""
    some = [{"createdAt": 1770144000000, "type": type, **one} for one in records]
    done = mind.data.import_from(
        put(tmp_path / f"{type}.json", json.dumps({"memories": some})), space=SPACE, trusted=True
    )
    return everything(mind), done.plan


@pytest.mark.proves("C37")
def test_zuckermans_triggers(tmp_path, mind):
    """A path is no expression, flags are kept, and one that is none loses no procedure."""
    said = {"a": "/etc/hosts", "b": "/usr/bin", "c": "/a.b/s", "d": "/([a-z/", "e": "/README/g"}
    found, plan = zuckermans(
        tmp_path,
        mind,
        "procedural",
        *(
            {"id": id, "pattern": id * 3, "action": "x", "trigger": trigger}
            for id, trigger in said.items()
        ),
    )
    assert {id: found[id].triggers for id in said} == {
        "a": ("/etc/hosts",),
        "b": ("/usr/bin",),
        "c": ("re:(?s)a.b",),
        "d": (),
        "e": ("re:README",),
    }
    assert (found["d"].details["trigger"], found["e"].details["trigger"]) == (
        "/([a-z/",
        "/README/g",
    )
    assert ["is no regular expression" in one for one in plan.remarks] == [True]


@pytest.mark.proves("C47")
def test_zuckermans_feelings_about_one_thing(tmp_path, mind):
    """The first is on it with its context, the second stands beside it, tied to it."""
    put(
        tmp_path / "z" / "stores" / "semantic.json",
        json.dumps({"memories": [{"id": "s", "fact": "It is slow"}]}),
    )
    put(
        tmp_path / "z" / "stores" / "emotional.json",
        json.dumps(
            {
                "memories": [
                    {
                        "id": f"m{place}",
                        "targetMemoryId": "s",
                        "tag": {"emotion": name, "intensity": "low"},
                        "context": why,
                    }
                    for place, (name, why) in enumerate(
                        [("joy", "It was green"), ("fear", "It was red")]
                    )
                ]
            }
        ),
    )
    mind.data.import_from(tmp_path / "z", "zuckerman", space=SPACE, trusted=True)
    found = everything(mind)
    assert found["s"].details["emotion"] == {
        "name": "joy",
        "intensity": "low",
        "why": "It was green",
    }
    assert (found["m1"].text, found["m1"].details["emotion"]["name"]) == ("It was red", "fear")
    assert [one.dst for one in mind.store.edges([found["m1"].id], ("relates_to",))] == [
        found["s"].id
    ]


@pytest.mark.proves("C90")
def test_zuckermans_blocks_are_taken_apart(tmp_path, mind):
    """Facts with confidence, events with when and why, kinds by heading."""
    put(
        tmp_path / "MEMORY.md",
        "\n\n---\n\n[2026-02-03T18:40:00.000Z]\n\n**Fact**: Editor font is Iosevka\n"
        "**Category**: preferences\n**Confidence**: 0.9\n\n\n---\n\n[2026-02-04T18:40:00.000Z]\n\n## Preferences\n"
        "- likes tea\n- likes cats\n\n## Decisions\n- use Hugo\n",
    )
    put(
        tmp_path / "memory" / "2026-02-03.md",
        "\n\n---\n\n[2026-02-03T23:40:00.000Z]\n\n**Event**: Deployed\n"
        "**When**: 2026-02-03T23:39:00.000Z\n**What**: The shop, version 2\n**Why**: release\n",
    )
    mind.data.import_from(tmp_path, "zuckerman", space=SPACE, trusted=True)
    found = {one.text: one for one in everything(mind).values()}
    assert {text: one.kind for text, one in found.items()} == {
        "Editor font is Iosevka": "fact",
        "likes tea": "preference",
        "likes cats": "preference",
        "use Hugo": "decision",
        "Deployed (The shop, version 2). Why: release.": "event",
    }
    assert (found["Editor font is Iosevka"].confidence, found["Editor font is Iosevka"].tags) == (
        0.9,
        ("preferences",),
    )
    event = found["Deployed (The shop, version 2). Why: release."]
    assert (event.at, event.details["why"]) == (1770161940.0, "release")


def test_zuckermans_pages_need_no_time_stamps(tmp_path, mind):
    """Pages that somebody wrote by hand come in, and so does what stands after them."""
    put(tmp_path / "MEMORY.md", "## Preferences\n- likes tea\n")
    put(tmp_path / "memory" / "2026-02-03.md", "The shop was deployed by hand.\n")
    put(tmp_path / "memory" / "2026-02-04.md", "[2026-02-04T18:40:00.000Z]\n\nThe cat slept.\n")

    done = mind.data.import_from(tmp_path, "zuckerman", space=SPACE, trusted=True)

    assert done.plan.bad == ()
    assert {one.text: one.kind for one in everything(mind).values()} == {
        "likes tea": "preference",
        "The shop was deployed by hand.": "event",
        "The cat slept.": "event",
    }


@pytest.mark.proves("C41")
def test_zuckermans_later_records(tmp_path, mind):
    """What stands in metadata is understood, the rest kept under its own name."""
    found, _ = zuckermans(
        tmp_path,
        mind,
        "prospective",
        {
            "id": "p",
            "content": "Buy milk",
            "metadata": {"triggerTime": 1800000000000, "maturity": "validated"},
        },
    )
    assert (found["p"].text, found["p"].details["when"]) == ("Buy milk", 1800000000.0)
    assert (found["p"].details["metadata"], "maturity" in found["p"].details) == (
        {"maturity": "validated"},
        False,
    )


@pytest.mark.proves("C19", "C87")
def test_zuckermans_ties_and_times(tmp_path, mind):
    """Related memories, what contradicts, when it happened; odd times are named."""
    found, plan = zuckermans(
        tmp_path,
        mind,
        "episodic",
        {"id": "a", "event": "A"},
        {"id": "b", "event": "B", "context": {"when": 1700000000000}, "relatedMemories": ["a"]},
        {"id": "c", "event": "C", "createdAt": float("nan"), "timestamp": 253402300799000},
        {"id": "d", "event": "D", "createdAt": "2026-02-03T18:40:00Z"},
    )
    assert [one.dst for one in mind.store.edges([found["b"].id], ("relates_to",))] == [
        found["a"].id
    ]
    assert (found["b"].at, found["d"].at) == (1700000000.0, 1770144000.0)
    assert [
        "createdAt is no time" in plan.remarks[0],
        "timestamp is no time" in plan.remarks[1],
    ] == [True, True]
    found, _ = zuckermans(
        tmp_path,
        mind,
        "semantic",
        {"id": "e", "fact": "E"},
        {"id": "f", "fact": "F", "relationships": [{"type": "contradicts", "targetId": "e"}]},
    )
    assert [one.dst for one in mind.store.edges([found["f"].id], ("contradicts",))] == [
        found["e"].id
    ]
    found, _ = zuckermans(
        tmp_path, mind, "prospective", {"id": "g", "intention": "G", "status": "cancelled"}
    )
    assert (found["g"].active, found["g"].retired_why) == (False, "cancelled")
    assert not [one for one in found.values() if "zone" in one.details["imported_from"]]


@pytest.mark.proves("X37")
def test_what_mem0_says_of_a_memory_approves_nothing(tmp_path, mind):
    """Metadata are anybody's; they stand under their own name."""
    mind.data.import_from(
        put(
            tmp_path / "m.json",
            json.dumps(
                [
                    {
                        "id": "a",
                        "memory": "It is so",
                        "metadata": {"maturity": "validated", "emotion": 5},
                    }
                ]
            ),
        ),
        "mem0",
        space=SPACE,
        trusted=True,
    )
    details = everything(mind)["a"].details
    assert (details["metadata"], details.keys() & {"maturity", "emotion"}) == (
        {"maturity": "validated", "emotion": 5},
        set(),
    )


@pytest.mark.proves("CC-90")
def test_a_jcode_file_that_was_cut_gives_what_is_whole(tmp_path, mind):
    """With no copy beside it, or one that is older by the name of its migration."""
    text = json.dumps(jcode_graph())
    file = put(tmp_path / "0123456789abcdef.json", text[: text.index('"unheard_of"')])
    done = mind.data.import_from(file, space=SPACE, trusted=True)
    assert (everything(mind).keys(), "1 of its entries are whole" in done.plan.bad[0].why) == (
        {ONE},
        True,
    )
    put(tmp_path / "0123456789abcdef.json.bak", json.dumps(jcode_flat()))
    done = mind.data.import_from(file, space=SPACE, trusted=True)
    assert "0123456789abcdef.json.bak was taken instead" in done.plan.remarks[0]
    assert "mem_1767000000000_1" in everything(mind)


@pytest.mark.proves("A115")
def test_jcode_loses_no_field(tmp_path, mind):
    """Categories as they were spelled, when it was altered, what else the queue says; odd values
    are named.
    """
    graph = jcode_graph()
    graph["memories"][ONE] |= {"category": {"custom": "Team Rule"}, "tags": ["git", 5]}
    graph["edges"][ONE].append({"target": TWO, "kind": "contradicts", "weight": float("nan")})
    done = mind.data.import_from(
        put(tmp_path / "0.json", json.dumps(graph)), space=SPACE, trusted=True
    )
    one = everything(mind)[ONE]
    assert (one.kind, one.details["category"], one.updated_at) == (
        "team-rule",
        "Team Rule",
        1769932800.0,
    )
    assert ["tags" in done.plan.remarks[0], "weight" in done.plan.remarks[1]] == [True, True]
    home = MAKERS["jcode"](tmp_path / "jcode")
    put(
        home / "ambient" / "queue.json",
        json.dumps(
            [
                {
                    "id": "s",
                    "context": "Since Monday",
                    "task_description": "Look at it",
                    "git_branch": "main",
                    "target": {"kind": "session", "session_id": "x"},
                    "created_at": "2026-02-01T10:00:00Z",
                }
            ]
        ),
    )
    mind.data.import_from(home, space=SPACE, trusted=True)
    assert everything(mind)["s"].details["jcode"] == {
        "context": "Since Monday",
        "git_branch": "main",
        "target": {"kind": "session", "session_id": "x"},
    }


@pytest.mark.proves("X35", "X43", "CC-85")
def test_jaato_loses_no_field(tmp_path, mind):
    """Long descriptions, who took it over, what was learned from it; raw ones wait for approval."""
    put(
        tmp_path / "memories.jsonl",
        json.dumps(
            {
                **JAATO,
                "description": "D" * 500,
                "maturity": "escalated",
                "escalated_to": "ref-7",
                "tags": [None, "a"],
            }
        )
        + "\n",
    )
    put(
        tmp_path / "raw" / "r.json",
        json.dumps({**JAATO, "id": "r", "maturity": "raw", "timestamp": "soon"}),
    )
    put(
        tmp_path / "references" / "a.json",
        json.dumps(
            {
                "id": "ref-7",
                "name": "n",
                "description": "d",
                "type": "learned",
                "content": "Learned content",
                "lineage": {"source_memory_ids": [JAATO["id"]]},
            }
        ),
    )
    put(
        tmp_path / "curated.jsonl",
        json.dumps({**JAATO, "id": "l", "content": "Größe"}, ensure_ascii=False).encode("latin-1"),
    )
    done = mind.data.import_from(tmp_path, "jaato", space=SPACE, trusted=True)
    found = everything(mind)
    one = found[JAATO["id"]]
    assert (one.details["description"], one.details["escalated_to"], one.tags) == (
        "D" * 500,
        "ref-7",
        ("a",),
    )
    assert "r" in [m.details["imported_from"]["id"] for m in mind.review.pending(space=SPACE)]
    assert [e.dst for e in mind.store.edges([found["ref-7"].id], ("derived_from",))] == [one.id]
    said = " ".join(done.plan.remarks)
    assert ("tags is no list" in said, "timestamp is no time" in said, "not UTF-8" in said) == (
        True,
        True,
        True,
    )
    assert (
        "zone" in one.details["imported_from"],
        "zone" in found["r"].details["imported_from"],
    ) == (True, False)


@pytest.mark.proves("A108")
def test_what_is_only_refused_is_no_error(tmp_path):
    """It was read, and its owner does not want it: named, and the import has done what it should."""
    put(tmp_path / "home" / "config.toml", 'embedder = "none"\ncontact = "refuse"\n')
    file = put(
        tmp_path / "memories.jsonl",
        json.dumps(
            {
                "id": "mem_1",
                "content": "Ask ann@example.org.",
                "description": "Ask",
                "tags": ["search"],
                "timestamp": "2026-03-01T09:15:00",
            }
        ),
    )
    said = run(
        tmp_path / "home", "data", "import", str(file), "--from", "jaato", "--space", SPACE
    ).stderr
    assert 'contact = "refuse"' in said


@pytest.mark.proves("CC-9")
def test_what_nothing_could_be_read_of_ends_with_an_error(tmp_path):
    """The records are named, and a script can tell; also where the answer is JSON."""
    file = put(tmp_path / "semantic.json", '{"memories": [{"id": "a"}]}')
    out = run(tmp_path / "home", "data", "import", str(file), "--space", SPACE, code=2)
    assert "fact is missing" in out.stderr
    told = run(tmp_path / "home", "data", "import", str(file), "--space", SPACE, "--json", code=2)
    assert len(json.loads(told.stdout)["imports"][0]["bad"]) == 1


@pytest.mark.proves("B108")
def test_an_unknown_file_is_named(tmp_path):
    """Neither an export nor anything else; of a folder of projects it is said how each is taken."""
    file = put(tmp_path / "notes.txt", "Hello.\n")
    for more in ([], ["--dry-run"], ["--untrusted"]):
        said = run(tmp_path / "home", "data", "import", str(file), *more, code=2).stderr
        assert (
            f"{file} is not an export of Reverie, nor does it look like anything of jcode" in said
        )
    assert (
        "There is no file"
        in run(tmp_path / "home", "data", "import", f"{file}.x", "--dry-run", code=2).stderr
    )
    MAKERS["claude-code"](tmp_path / "projects" / "-home-ann-shop")
    said = run(tmp_path / "home", "data", "import", str(tmp_path / "projects"), code=2).stderr
    assert f"reverie data import {tmp_path / 'projects' / '-home-ann-shop'} --space me/NAME" in said


@pytest.mark.proves("B108")
def test_a_file_is_parsed_once(tmp_path, monkeypatch):
    """Its beginning tells whose it is; of what is known no text is looked through for secrets
    again.
    """
    read, made = [], []
    text_in, memory_of = foreign_texts.read_import_text, import_plan.build_record_memory

    def reading(path):
        read.append(path)
        return text_in(path)

    def making(found, into):
        made.append(found)
        return memory_of(found, into)

    for module in (jcode_files, jaato_files):
        monkeypatch.setattr(module, "read_import_text", reading)
    monkeypatch.setattr(import_plan, "build_record_memory", making)
    for file in (put(tmp_path / "0.json", json.dumps(jcode_graph())), records(tmp_path, {})):
        run(tmp_path / "home", "data", "import", str(file), "--space", SPACE)
    assert (len(read), len(made)) == (2, 3)
    run(tmp_path / "home", "data", "import", str(file), "--space", SPACE)
    assert (len(read), len(made)) == (3, 3)


def test_a_zone_is_recorded_where_it_was_assumed(tmp_path, mind):
    """Naive times are meant in the machine's zone, and it is said; others say it
    themselves.
    """
    for name in ("aircher", "jaato", "jcode", "mem0"):
        mind.data.import_from(MAKERS[name](tmp_path / name), space=SPACE, trusted=True)
    zones = {
        name: {
            "zone" in one.details["imported_from"]
            for one in everything(mind).values()
            if one.details["imported_from"]["system"] == name
        }
        for name in ("aircher", "jaato", "jcode")
    }
    assert zones == {"aircher": {True}, "jaato": {True}, "jcode": {False}}


@pytest.mark.proves("B108")
def test_a_store_elsewhere_is_not_followed(tmp_path, mind):
    """Neither a database nor a page nor a store, of whatever program, behind a link within the
    folder.
    """
    real = aircher(tmp_path / "real", "sqlite")
    (tmp_path / "a" / "data").mkdir(parents=True)
    (tmp_path / "a" / "data" / "episodic.db").symlink_to(real / "data" / "episodic.db")
    with pytest.raises(BadInput):
        mind.data.import_from(tmp_path / "a", "aircher", space=SPACE, trusted=True)
    for name, file in (
        ("jaato", "memories.jsonl"),
        ("zuckerman", "MEMORY.md"),
        ("jcode", "memory/global.json"),
    ):
        there = MAKERS[name](tmp_path / f"{name}-real")
        put(tmp_path / name / file, "").unlink()
        (tmp_path / name / file).symlink_to(there / file)
        done = mind.data.import_from(tmp_path / name, name, space=SPACE, trusted=True)
        assert (done.plan.kinds, [file in remark for remark in done.plan.remarks]) == ({}, [True])
