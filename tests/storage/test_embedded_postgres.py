# mypy: no-check-untyped-defs
"""A PostgreSQL in a folder: started, shared, killed and started again."""

import os
import signal

import psycopg
import pytest

from reverie.core.errors import BadInput, StoreError
from reverie.storage.embedded_postgres import EmbeddedPostgres, copy_installation, find_installation
from tests.support.postgres import read_postmaster


def ask(url, question):
    with psycopg.connect(url) as connection:
        return connection.execute(question).fetchone()[0]


def test_a_database_of_a_test_is_empty_and_has_pgvector(postgres_url):
    with psycopg.connect(postgres_url) as connection:
        connection.execute("create extension vector")
        tables = "select count(*) from pg_tables where schemaname = 'public'"
        assert connection.execute(tables).fetchone() == (0,)
    assert ask(postgres_url, "select '[1,2]'::halfvec(2) <#> '[3,4]'") == -11
    assert ask(postgres_url, "show server_version").startswith("18")


def test_it_listens_on_its_socket_alone(postgres_folder):
    """Who may not enter the folder of the socket cannot connect."""
    with EmbeddedPostgres(postgres_folder) as server:
        assert "127.0.0.1" not in server.url
        assert ask(server.url, "show listen_addresses") == ""
        assert server.socket.stat().st_mode & 0o777 == 0o700
        assert ask(server.url, "show server_encoding") == "UTF8"
        assert ask(server.url, "select datcollate from pg_database limit 1") == "C"


def test_by_tcp_it_asks_for_the_password(postgres_server):
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(postgres_server, password="wrong")


def test_two_share_a_folder_and_the_last_one_ends_it(postgres_folder):
    first, second = EmbeddedPostgres(postgres_folder), EmbeddedPostgres(postgres_folder)
    assert first.start() == second.start()
    assert not first.stop()
    assert ask(second.url, "select 1") == 1
    assert second.stop() and not second.is_running()
    assert not second.stop()


def test_what_is_written_is_there_after_a_kill(postgres_folder):
    """Whoever uses a server that was killed starts it again, and nothing is lost."""
    with EmbeddedPostgres(postgres_folder) as server:
        with psycopg.connect(server.url) as connection:
            connection.execute("create table kept as select 7 as number")
        os.kill(read_postmaster(server), signal.SIGKILL)
        while server.is_running():
            pass
        server.start()
        assert ask(server.url, "select number from kept") == 7


def test_the_number_of_a_dead_server_may_be_somebody_elses(postgres_folder):
    with EmbeddedPostgres(postgres_folder) as server:
        pass
    (server.data / "postmaster.pid").write_text(f"{os.getpid()}\n{server.data}\n")
    with server:
        assert ask(server.url, "select 1") == 1


def test_a_server_that_does_not_start_says_why(postgres_folder):
    with EmbeddedPostgres(postgres_folder):
        pass
    wrong = EmbeddedPostgres(postgres_folder, settings={"shared_buffers": "plenty"})
    with pytest.raises(StoreError, match="shared_buffers"):
        wrong.start()


def test_a_path_that_is_too_long_for_a_socket_is_refused(postgres_folder):
    with pytest.raises(BadInput, match="too long"):
        EmbeddedPostgres(postgres_folder / ("x" * 100)).start()


@pytest.mark.skipif(os.geteuid() != 0, reason="others run PostgreSQL as themselves")
def test_root_is_told_where_nobody_may_not_reach(postgres_folder):
    closed = postgres_folder.parent / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(BadInput, match="nobody"):
        EmbeddedPostgres(closed / "postgres").start()


def test_a_copy_of_the_programs_runs(postgres_folder):
    """As it is made where the wheel lies in a folder that is closed to the user nobody."""
    copied = copy_installation(find_installation(), postgres_folder.parent / "programs")
    with EmbeddedPostgres(postgres_folder, installation=copied) as server:
        assert ask(server.url, "select 1") == 1
