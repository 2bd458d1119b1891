"""Old homes in a new Reverie, and a new home in an old one."""

import hashlib
import json
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

import pytest

from reverie.core.errors import NewerStore
from reverie.storage.sqlite import schema_migration
from tests.support.helpers import open_mind, run_command

OLDEST = Path(__file__).parents[1] / "storage" / "homes" / "0.1.0.tar.gz"
SPACE = "me/demo"
NEWER_STORE = 9


def unpack_home(folder):
    """The oldest home that is kept, with memories in it."""
    with tarfile.open(OLDEST) as archive:
        archive.extractall(folder, filter="data")
    return folder / "home"


def advance_schema(home, steps):
    """Take a home's database to a number of steps, as the Reverie of that time left it."""
    with closing(sqlite3.connect(home / "reverie.db", isolation_level=None)) as db:
        taken = schema_migration.version(db)
        assert taken <= steps
        for script in schema_migration.list_migrations()[taken:steps]:
            for statement in schema_migration.split_statements(script.read_text("utf-8")):
                db.execute(statement)
        db.execute(f"pragma user_version = {steps}")


def oldest_schema(folder):
    """How many steps the oldest home has taken."""
    with closing(sqlite3.connect(unpack_home(folder) / "reverie.db")) as db:
        return schema_migration.version(db)


@pytest.mark.parametrize("steps", range(1, schema_migration.LATEST + 1))
def test_a_home_of_every_schema_opens(tmp_path, steps):
    """Its memories are found, explained and added to; nothing is damaged; it is of the latest
    schema afterwards. Schemas before that of the oldest home begin empty.
    """
    if steps >= oldest_schema(tmp_path / "probe"):
        home = unpack_home(tmp_path)
    else:
        home = tmp_path / "home"
        home.mkdir()
    advance_schema(home, steps)
    with open_mind(home) as mind:
        assert mind.data.verify() == []
        if mind.browse(space=SPACE):
            (first, *_) = mind.recall("what is the staging server called?", space=SPACE)
            assert "osprey" in first.memory.text
        else:
            assert steps < oldest_schema(tmp_path / "again")
        kept = mind.remember("The printer is on the third floor.", space=SPACE)
        assert mind.explain(kept.id).story
    with closing(sqlite3.connect(home / "reverie.db")) as db:
        assert schema_migration.version(db) == schema_migration.LATEST


@pytest.fixture
def newer_home(tmp_path):
    """A home that a Reverie with one more step of the schema wrote."""
    home = unpack_home(tmp_path)
    with open_mind(home):
        pass
    with closing(sqlite3.connect(home / "reverie.db")) as db:
        db.execute("create table of_tomorrow (id text)")
        db.execute(f"pragma user_version = {schema_migration.LATEST + 1}")
        db.commit()
    return home


def hash_database(home):
    """The database's content, as it lies in the file."""
    return hashlib.sha256((home / "reverie.db").read_bytes()).hexdigest()


@pytest.mark.parametrize(
    "words",
    [("recall", "staging"), ("remember", "A note."), ("list",), ("undo",), ("data", "verify")],
    ids=" ".join,
)
def test_an_older_reverie_says_that_the_home_is_newer(newer_home, words):
    """A command says what to do and ends with its own exit code; the file stays as it is."""
    before = hash_database(newer_home)
    said = run_command("--home", str(newer_home), *words, code=NEWER_STORE)
    assert "Upgrade with" in said.stderr and "Nothing was changed" in said.stderr
    assert "Traceback" not in said.stderr
    assert hash_database(newer_home) == before


def test_an_older_reverie_says_so_to_programs(newer_home):
    """With --json the sentence is in the document, and Python raises NewerStore."""
    said = run_command("--home", str(newer_home), "list", "--json", code=NEWER_STORE)
    assert "Upgrade with" in json.dumps(said.stdout + said.stderr)
    with pytest.raises(NewerStore, match="Upgrade with"), open_mind(newer_home):
        pass
