# mypy: no-check-untyped-defs
"""Base backup, write-ahead log, a mistake: and the database of the minute before it.

The drill is `deploy/restore_drill.sh`, as the operator's guide tells to run it.
"""

import os
import shutil
import subprocess
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import reverie
from reverie.core.clock import sleep
from reverie.storage.embedded_postgres import EmbeddedPostgres, copy_installation, find_installation
from reverie.storage.postgres import PostgresDatabase
from tests.support.postgres import free_port

DRILL = Path(__file__).parents[3] / "deploy" / "restore_drill.sh"
NOBODY = 65534
IS_ROOT = os.geteuid() == 0


class Archiving:
    """A database whose log is archived, and PostgreSQL's programs as its own user runs them."""

    def __init__(self, folder):
        self.folder = folder
        # The user nobody can reach neither the wheel nor the project.
        self.programs = copy_installation(find_installation(), folder / "programs") / "bin"
        self.drill = Path(shutil.copy(DRILL, folder / "restore_drill.sh"))
        self.archive, self.backup = folder / "archive", folder / "backup"
        self.archive.mkdir()
        self.give_away(folder, self.archive)
        self.server = EmbeddedPostgres(
            folder / "postgres",
            port=free_port(),
            settings={
                "archive_mode": "on",
                "archive_command": f"test ! -f {self.archive}/%f && cp %p {self.archive}/%f",
            },
        )

    def give_away(self, *places):
        for place in places if IS_ROOT else ():
            os.chown(place, NOBODY, NOBODY)

    def run(self, *words):
        """A command, as the user that PostgreSQL runs as."""
        done = subprocess.run(
            list(map(str, words)),
            env={
                "PATH": f"{self.programs}:/usr/bin:/bin",
                "PGDATABASE": "reverie",
                "PGPASSWORD": (self.server.folder / "password").read_text().strip(),
            },
            user=NOBODY if IS_ROOT else None,
            group=NOBODY if IS_ROOT else None,
            extra_groups=[] if IS_ROOT else None,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def take_backup(self):
        words = ("-d", self.server.url, "-D", self.backup, "--checkpoint=fast")
        code, said = self.run("pg_basebackup", *words)
        assert code == 0, said

    def ask(self, question):
        with psycopg.connect(self.server.url_of("reverie"), autocommit=True) as db:
            return db.execute(question).fetchone()[0]

    def archive_all(self):
        """Have the log up to now archived."""
        # A file without anything in it would not be switched.
        self.ask("select pg_logical_emit_message(true, 'drill', '')")
        file = self.ask("select pg_walfile_name(pg_switch_wal())")
        while not (self.archive / file).exists():
            sleep(0.05)


@pytest.fixture
def archiving(postgres_folder):
    postgres_folder.mkdir(mode=0o711)
    archiving = Archiving(postgres_folder)
    with archiving.server:
        with psycopg.connect(archiving.server.url, autocommit=True) as db:
            db.execute("create database reverie")
        yield archiving


@pytest.mark.slow
def test_the_minute_before_a_mistake_is_brought_back(archiving):
    """What was written after the backup and before the mistake is there, and nothing later."""
    url = archiving.server.url_of("reverie") + "?tenant=acme"
    with reverie.open(url, embedder=None) as mind:
        mind.remember("Before the backup.", space="demo")
        archiving.take_backup()
        kept = mind.remember("After the backup.", space="demo")
        moment = archiving.ask("select clock_timestamp()::text")
        mind.data.purge([kept.id])
        mind.remember("After the mistake.", space="demo")
    archiving.archive_all()

    code, said = archiving.run(
        archiving.drill, archiving.backup, archiving.archive, moment, archiving.folder / "then"
    )
    assert code == 0, said
    try:
        assert "acme: 2 memories" in said and "tables: sound" in said
        restored = said.splitlines()[-1]
        with closing(PostgresDatabase(restored)) as database:
            store = database.store("acme")
            texts = {memory.text for memory in store.get(store.match_ids("", 10))}
            assert texts == {"Before the backup.", "After the backup."}
            assert [] == store.verify()
    finally:
        archiving.run("pg_ctl", "-D", archiving.folder / "then" / "data", "stop")
    assert archiving.ask("select count(*) from reverie.memory") == 2, "the original is as it was"


@pytest.mark.slow
def test_a_moment_that_is_not_in_the_archive_is_told(archiving):
    """No half of a restore that looks like one."""
    archiving.take_backup()
    archiving.archive_all()
    places = (archiving.backup, archiving.archive)
    code, said = archiving.run(
        archiving.drill, *places, "2999-01-01 00:00:00+00", archiving.folder / "then"
    )
    assert code == 1
    assert "before configured recovery target was reached" in said
