"""Export, import, backup, verify: what goes out comes in again."""

import errno
import json
import sqlite3
from contextlib import closing

import pytest

from reverie.core.errors import BadInput
from tests.support.helpers import open_mind, run_command

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"


def run(home, *words, **more):
    return run_command(*words, "--home", str(home), **more)


@pytest.fixture
def full_home(tmp_path):
    """A home in which much has happened."""
    folder = tmp_path / "full"
    with open_mind(folder) as mind:
        one = mind.remember(
            "The staging server is called heron. 🎉 עברית",
            space="me/a",
            tags=["x"],
            files=["a.py"],
            details={"n": {"deep": [1, 2.5, None]}},
            at=12.5,
            session="s",
            speaker="Ann",
        )
        two = mind.remember("Staging was called crane.", space="me/a", expires_at=2e9, title="old")
        three = mind.remember("Something to forget.", space="me", triggers=["deploy"])
        mind.supersede(two.id, one.id)
        mind.link(one.id, three.id)
        mind.revise(one.id, text="The staging server is called heron now. 🎉")
        mind.forget(three.id)
        mind.feedback(one.id, True, session="s2")
        mind.settle()
    return folder


def rows_of(home):
    rows = [json.loads(line) for line in run(home, "data", "export").stdout.splitlines()]
    return [row for row in rows if row["type"] != "reverie"]


def test_a_dash_is_stdout(full_home, tmp_path, monkeypatch):
    """`-` is stdout, as no name is; no file of that name is made."""
    monkeypatch.chdir(tmp_path)
    assert (
        run(full_home, "data", "export", "-", "--state").stdout
        == run(full_home, "data", "export", "--state").stdout
    )
    assert not (tmp_path / "-").exists()


@pytest.mark.proves("CC-90", "A113")
def test_a_round_trip_loses_nothing(full_home, tmp_path):
    """Export, import into an empty store: identical memories, tags, links, vectors, events."""
    run(full_home, "data", "export", str(tmp_path / "all.jsonl"))
    run(tmp_path / "new", "data", "import", "--trusted", str(tmp_path / "all.jsonl"))
    assert rows_of(full_home) == rows_of(tmp_path / "new")
    assert {"memory", "edge", "event", "vector"} <= {row["type"] for row in rows_of(full_home)}
    assert "The staging server is called heron now. 🎉" in (tmp_path / "all.jsonl").read_text(
        "utf-8"
    )
    with open_mind(tmp_path / "new") as mind:
        assert [] == mind.data.verify()


def test_importing_twice_adds_nothing(full_home, tmp_path):
    run(full_home, "data", "export", str(tmp_path / "all.jsonl"))
    run(tmp_path / "new", "data", "import", "--trusted", str(tmp_path / "all.jsonl"))
    again = run(
        tmp_path / "new", "data", "import", "--trusted", str(tmp_path / "all.jsonl"), "--json"
    )
    assert {"new": {}, "left_out": 0, "unknown": {}, "bad": []} == json.loads(again.stdout)


def test_export_does_not_overwrite(full_home, tmp_path):
    """An existing file stays, unless --force says otherwise; no half file is left."""
    target = tmp_path / "all.jsonl"
    target.write_text("precious")
    assert "--force" in run(full_home, "data", "export", str(target), code=2).stderr
    assert target.read_text() == "precious"
    run(full_home, "data", "export", str(target), "--force")
    assert target.read_text().startswith('{"type":"reverie"')
    assert [] == list(tmp_path.glob(".*part"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "not an export"),
        ('{"type":"memory"}\n', "not an export"),
        ("[1, 2]\n", "line 1 is not a JSON object"),
        ('{"type":"reverie","version":99}\n', "newer Reverie"),
        (
            '{"type":"reverie","version":1}\n{"type":"memory","id":"mem_1"}\n',
            "row 2 cannot be taken in: text is missing",
        ),
        ('{"type":"reverie","version":1}\nnot json\n', "line 2 is not JSON"),
        (
            '{"type":"reverie","version":1}\n{"type":"memory","id":"m","text":"x","space":"me","at":NaN,"created_at":1,'
            '"updated_at":1}\n',
            "at must be a moment",
        ),
        (
            '{"type":"reverie","version":1}\n{"type":"memory","id":"m","text":"x","space":"a//b","at":1,"created_at":1,'
            '"updated_at":1}\n',
            "is not a space",
        ),
        (
            '{"type":"reverie","version":1}\n{"type":"edge","src":"a","rel":"likes","dst":"b","weight":1}\n',
            "relation",
        ),
    ],
)
def test_an_invalid_export_is_named_by_its_line(tmp_path, text, says):
    """An invalid file is refused as a whole; the error names the line."""
    bad = tmp_path / "bad.jsonl"
    bad.write_text(text)
    assert says in run(tmp_path / "new", "data", "import", "--trusted", str(bad), code=2).stderr
    with open_mind(tmp_path / "new") as mind:
        assert mind.data.stats().memories == mind.data.stats().events == 0


def test_a_file_that_breaks_off_leaves_nothing_half(full_home, tmp_path):
    run(full_home, "data", "export", str(tmp_path / "all.jsonl"))
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    (tmp_path / "half.jsonl").write_text("\n".join(lines[:4]) + "\n" + lines[4][:20])
    run(tmp_path / "new", "data", "import", "--trusted", str(tmp_path / "half.jsonl"), code=2)
    with open_mind(tmp_path / "new") as mind:
        assert mind.data.stats().memories == 0


@pytest.mark.proves("CC-9")
def test_bad_rows_can_be_left_out(full_home, tmp_path):
    """With --skip-bad what is bad is named and left out with all that hangs on it, and the rest is
    whole.
    """
    run(full_home, "data", "export", str(tmp_path / "all.jsonl"))
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    with open_mind(full_home) as mind:
        (newer,) = mind.browse(space="me/a")
        (older,) = mind.browse(space="me/a", active=False, kinds=["fact"], limit=1)
    (place,) = (n for n, line in enumerate(lines) if f'"memory","id":"{newer.id}"' in line)
    lines[place] = lines[place].replace('"text":', '"test":')
    (tmp_path / "bad.jsonl").write_text(
        "\n".join([*lines, '{"cut'] + ['{"type":"memory"}'] * 25) + "\n"
    )
    run(tmp_path / "new", "data", "import", "--trusted", str(tmp_path / "bad.jsonl"), code=2)
    told = run(
        tmp_path / "new", "data", "import", "--trusted", str(tmp_path / "bad.jsonl"), "--skip-bad"
    )
    done = json.loads(
        run(
            tmp_path / "more",
            "data",
            "import",
            "--trusted",
            str(tmp_path / "bad.jsonl"),
            "--skip-bad",
            "--json",
        ).stdout
    )

    assert done["new"]["memory"] == 2
    assert done["bad"][0]["row"] == place + 1
    assert "text is missing" in done["bad"][0]["why"]
    assert any("not JSON" in bad["why"] for bad in done["bad"])
    assert any(f"{newer.id} was left out" in bad["why"] for bad in done["bad"])
    assert done["left_out"] > len(done["bad"]) == 20
    assert f"row {place + 1}: text is missing" in told.stderr
    assert f"and {done['left_out'] - 20} more" in told.stderr
    with open_mind(tmp_path / "new") as mind:
        assert mind.data.verify() == []
        assert [(m.id, m.active, m.superseded_by) for m in mind.get([newer.id, older.id])] == [
            (older.id, False, None)
        ]


@pytest.mark.proves("CC-9")
def test_a_file_without_its_header_is_no_export(tmp_path):
    """Leaving out bad rows does not make an export of any file."""
    (tmp_path / "any.jsonl").write_text('not json\n{"type":"memory"}\n')
    assert (
        "line 1 is not JSON"
        in run(
            tmp_path / "new",
            "data",
            "import",
            "--trusted",
            str(tmp_path / "any.jsonl"),
            "--skip-bad",
            code=2,
        ).stderr
    )


@pytest.mark.proves("A106", "A110")
def test_imported_text_passes_the_secret_filter(full_home, tmp_path):
    """A secret in an export does not reach the disk, wherever it stands."""
    rows = [{"type": "reverie", "version": 1}, *rows_of(full_home)]
    for row in rows:
        if row["type"] == "memory":
            row["text"] += f" token {SECRET}"
            row["details"] = {"api_key": SECRET}
        elif row["type"] == "event":
            row["payload"] = {"messages": [{"role": "user", "text": SECRET}]}
            row["changes"] = [
                [m, p, op, b, json.dumps({"text": SECRET})] for m, p, op, b, _ in row["changes"]
            ]
    bad = tmp_path / "secret.jsonl"
    bad.write_text("\n".join(map(json.dumps, rows)))
    run(tmp_path / "new", "data", "import", "--trusted", str(bad))
    assert all(
        SECRET.encode() not in p.read_bytes() for p in (tmp_path / "new").rglob("*") if p.is_file()
    )
    with open_mind(tmp_path / "new") as mind:
        assert (
            mind.data.stats().vectors == 0 < mind.data.stats().waiting
        )  # vectors of the old text are not kept
        assert all("redacted" in m.details for m in mind.browse(space="me/a"))


HEAD = '{"type":"reverie","version":1}\n'
ROW = {"type": "memory", "id": "mem_1", "text": "It is here.", "space": "me/a", "at": 5.0}


@pytest.mark.proves("CC-9")
def test_what_a_later_version_wrote_is_passed_over_and_named(tmp_path):
    """Rows of a kind that we do not know, and fields of a memory that we have no place for."""
    file = tmp_path / "f.jsonl"
    file.write_text(
        HEAD + '\n{"type":"dream","of":"later"}\n' + json.dumps({**ROW, "mood": 1}) + "\n"
    )
    told = run(tmp_path / "new", "data", "import", "--trusted", str(file))
    assert "New: 1 memory." in told.stdout
    assert 'row type "dream" (1), field "mood" (1)' in told.stderr
    again = json.loads(
        run(tmp_path / "new", "data", "import", "--trusted", str(file), "--json").stdout
    )
    assert again["unknown"] == {'row type "dream"': 1, 'field "mood"': 1}


@pytest.mark.parametrize(
    "field",
    [
        {"id": "../../etc"},
        {"id": "a\nb"},
        {"strength": 10**30},
        {"access_count": 10**30},
        {"at": 10**30},
        {"at": 1e300},
        {"expires_at": -(10**30)},
    ],
)
@pytest.mark.proves("CC-9")
def test_a_row_that_no_store_can_hold_is_named(tmp_path, field):
    """An id that is none, a number or a time without end: said with its row, and the others can be
    had.
    """
    file = tmp_path / "f.jsonl"
    file.write_text(
        HEAD + json.dumps({**ROW, "id": "mem_2"} | field) + "\n" + json.dumps(ROW) + "\n"
    )
    assert (
        "row 2 cannot be taken in"
        in run(tmp_path / "new", "data", "import", "--trusted", str(file), code=2).stderr
    )
    done = json.loads(
        run(
            tmp_path / "new", "data", "import", "--trusted", str(file), "--skip-bad", "--json"
        ).stdout
    )
    assert (done["new"], [bad["row"] for bad in done["bad"]]) == ({"memory": 1}, [2])


@pytest.mark.proves("CC-12")
def test_a_slow_import_does_not_block_writers(home):
    """Rows may come as slowly as they like; others write between them."""
    with open_mind(home.settings.home) as other:

        def slowly():
            yield {"type": "reverie", "version": 1}
            yield ROW
            other.remember("Meanwhile.", space="me/a")

        assert home.data.import_(slowly()).new == {"memory": 1}
    assert home.data.stats().memories == 2


def test_import_asks_for_the_header():
    from reverie.porting.export_validation import accept_rows

    with pytest.raises(BadInput, match="not an export"):
        list(accept_rows([]))


def test_verify_repairs_what_is_derived(full_home):
    """verify finds, --repair mends; exit code 1 while something is wrong."""
    with closing(sqlite3.connect(full_home / "reverie.db")) as db:
        db.execute("delete from words")
        db.commit()
    assert "reverie data verify --repair" in run(full_home, "data", "verify", code=1).stderr
    assert all(
        p["repaired"]
        for p in json.loads(run(full_home, "data", "verify", "--repair", "--json").stdout)[
            "problems"
        ]
    )
    assert "as it should be" in run(full_home, "data", "verify").stdout


@pytest.mark.proves("X20")
def test_a_damaged_file_is_salvaged_from_the_backup(full_home):
    """A file that cannot be opened is put aside, and what it lost comes from the newest backup."""
    run(full_home, "data", "backup")
    (full_home / "reverie.db").write_bytes(b"this is no database, however long it is " * 300)
    for tail in ("-wal", "-shm"):
        (full_home / f"reverie.db{tail}").unlink(missing_ok=True)
    assert "reverie data verify --repair" in run(full_home, "list", code=6).stderr
    run(full_home, "data", "verify", code=1)
    run(full_home, "data", "verify", "--repair", code=1)  # what could not be read is still reported
    assert list(full_home.glob("reverie.db.damaged-*"))
    found = json.loads(run(full_home, "list", "--space", "me/a", "--json").stdout)["memories"]
    assert ["The staging server is called heron now. 🎉"] == [m["text"] for m in found]
    run(full_home, "data", "verify")


def test_a_newer_store_is_left_alone(full_home):
    with closing(sqlite3.connect(full_home / "reverie.db")) as db:
        db.execute("pragma user_version = 999")
        db.commit()
    assert "Upgrade" in run(full_home, "list", code=9).stderr


@pytest.mark.proves("A115")
def test_a_full_disk_has_its_own_exit_code(full_home, monkeypatch):
    """Whether the store meets it or a file that is written."""
    from reverie.interfaces.cli import json_lines

    def full_disk(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "x.jsonl")

    monkeypatch.setattr(json_lines, "write_rows_to_file", full_disk)
    assert (
        "No space left on device: x.jsonl"
        in run(full_home, "data", "export", "x.jsonl", code=8).stderr
    )
