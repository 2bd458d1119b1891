# mypy: no-check-untyped-defs
"""Killed clients and servers, and networks that are away: nothing acknowledged is lost, nothing is
done twice, and nobody waits.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

import reverie
from reverie.core.clock import now
from reverie.core.model import Filter
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.worker_start import is_worker_alive
from reverie.storage.postgres import PostgresDatabase
from reverie.sync.space_map import Account
from reverie.sync.sync_state import load_account, load_state, save_account
from reverie.sync.sync_step import is_sync_due, pause_after
from reverie.testing import memory
from tests.interfaces.server.test_faults import kill, site_at
from tests.support.helpers import PATIENCE, wait_until
from tests.support.postgres import free_port
from tests.support.team_server import running_team
from tests.sync.conftest import key_of

SYNC = """
import sys
import reverie
from reverie.core.config import load_settings
from pathlib import Path
settings = load_settings(Path(sys.argv[1]))._replace(embedder="none")
with reverie.open(settings=settings) as mind:
    print(mind.team.sync(), flush=True)
"""


# Whether some statement waits for a lock.
# Only here: other tests have their databases on the same server.
HELD = (
    "select count(*) from pg_stat_activity"
    " where wait_event_type = 'Lock' and datname = current_database()"
)


def run_sync(home, env=None):
    """A process that brings a home in step."""
    return subprocess.Popen(
        [sys.executable, "-c", SYNC, str(home)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "REVERIE_HOME": str(home), **(env or {})},
    )


@pytest.fixture
def hanging_server():
    """A socket that takes connections, and on which nobody ever answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


@pytest.fixture
def hanging_port(hanging_server):
    """Its port."""
    return hanging_server.getsockname()[1]


@pytest.mark.proves("X68")
@pytest.mark.slow
def test_a_client_killed_during_its_push_loses_and_repeats_nothing(log_in, team):
    """kill -9 in the middle of batches: the next push finishes it, each memory is there once."""
    ann = log_in("ann")
    home = ann.settings.home
    for number in range(600):
        ann.remember(f"The number of queue {number} is {number * 7}.", space="me/demo")
    ids = {one.id for one in ann.store.browse(Filter(limit=10_000))}
    store = team.database.store("acme")
    for already in (1, 201, 401):
        process = run_sync(home)
        while process.poll() is None and len(store.browse(Filter(limit=10_000))) < already:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert 0 < len(store.browse(Filter(limit=10_000)))
    assert ann.team.sync().trouble == ""
    there = store.browse(Filter(limit=10_000))
    assert {one.id for one in there} == ids and len(there) == len(ids)
    assert not ann.team.sync()
    assert all(len(store.history(id)) == 1 for id in sorted(ids)[::50])


@pytest.mark.proves("X68")
@pytest.mark.slow
def test_a_server_killed_during_a_push_request(postgres_url, tmp_path):
    """kill -9 while the request writes, held there by a lock, and after some that it acknowledged:
    nothing half is there, nothing acknowledged is lost, and everything arrives once.
    """
    with (
        site_at(postgres_url, tmp_path / "server") as site,
        memory(tmp_path / "ann", now=now) as ann,
    ):
        running = site.serve()
        ann.team.login(site.address, site.key)
        for number in range(300):
            ann.remember(f"The number of queue {number} is {number * 7}.", space="me/demo")
        assert ann.team.sync(within=0.0).pushed
        total, waiting = 300, ann.team.status().waiting
        with closing(PostgresDatabase(postgres_url)) as database:
            store = database.store("acme")
            with psycopg.connect(postgres_url) as holding, psycopg.connect(postgres_url) as looking:
                looking.autocommit = True
                holding.execute("lock table reverie.memory in exclusive mode")
                process = run_sync(ann.settings.home)
                wait_until(lambda: looking.execute(HELD).fetchone()[0])
                kill(running)
                process.communicate()
                holding.rollback()
                wait_until(lambda: not looking.execute(HELD).fetchone()[0])
            assert ann.team.status().waiting == waiting
            assert len(store.browse(Filter(limit=10_000))) == total - waiting
            assert ann.team.status().is_away
            site.serve()
            assert ann.team.sync().trouble == ""
            there = store.browse(Filter(limit=10_000))
            assert {one.id for one in there} == {
                one.id for one in ann.store.browse(Filter(limit=10_000))
            }
            assert len(there) == total
            assert all(len(store.history(one.id)) == 1 for one in there[::30])
        assert not ann.team.sync() and not ann.team.status().waiting


@pytest.mark.proves("X67")
@pytest.mark.slow
def test_a_prompt_is_as_quick_while_the_server_hangs(tmp_path, hanging_port):
    """The hook of a prompt takes no longer with a server that never answers than without one."""
    homes = tmp_path / "alone", tmp_path / "followed"
    for home in homes:
        with memory(home, now=now, server_key="rv_x") as ann:
            ann.remember("The staging server is called heron.", space="me/demo")
            if home == homes[1]:
                account = Account(f"http://127.0.0.1:{hanging_port}", "ann", "acme", "d")
                save_account(ann.store, account)
        (home / "config.toml").write_text('embedder = "toy"\nserver_key = "rv_x"\nidle = 2.0\n')
    took = {home: [] for home in homes}
    for _ in range(6):
        for home in homes:
            begun = time.perf_counter()
            prompt_hook(home)
            took[home].append(time.perf_counter() - begun)
    alone, followed = (min(took[home]) for home in homes)
    assert followed < alone * 2 + 0.5
    # No wait for an answer, which is one of 30 seconds, in any.
    assert max(took[homes[1]]) < 10.0 + max(took[homes[0]]) * 2
    for home in homes:
        wait_until(lambda home=home: not is_worker_alive(HookFiles(str(home)).lock))


def prompt_hook(home):
    """What Claude Code runs at a prompt, as a process."""
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s1",
        "cwd": str(home),
        "prompt": "What is the staging server called?",
    }
    subprocess.run(
        [sys.executable, "-I", "-S", hook_script(), "claude-code"],
        input=json.dumps(event),
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "REVERIE_HOME": str(home)},
    )


def hook_script():
    """The file that hosts run."""
    return str(Path(reverie.__file__).parent / "interfaces" / "hooks" / "run.py")


@pytest.mark.slow
def test_a_server_that_goes_away_in_the_middle_is_met_again(postgres_url, tmp_path):
    """What was acknowledged before it went is there, the rest follows once it is back."""
    port = free_port()
    with memory(tmp_path / "ann", now=now) as ann:
        with running_team(postgres_url, port) as team:
            key = key_of(team, "ann")
            ann.team.login(team.url, key)
            for number in range(50):
                ann.remember(f"The number of queue {number} is {number * 7}.", space="me/demo")
            ann.team.sync(within=0.0)
            app_database = team.database
        assert app_database is not None
        ann.remember("The staging server is called heron.", space="me/demo")
        assert ann.team.sync().trouble
        found = ann.team.status()
        assert found.is_away and found.waiting >= 1
        assert ann.recall("what is staging called?", space="me/demo")


def test_a_connection_that_is_refused_is_trouble_and_no_error(tmp_path):
    """Nobody listens: the report says so, the state counts it, it is asked again after a while."""
    with memory(tmp_path / "ann", now=now, server_key="rv_x") as ann:
        save_account(ann.store, Account(f"http://127.0.0.1:{free_port()}", "ann", "acme", "dev_1"))
        ann.remember("The port is 4100.", space="me/demo")
        begun = time.perf_counter()
        report = ann.team.sync(within=0.0)
        assert report.trouble and time.perf_counter() - begun < 60
        assert load_state(ann.store).fails == 1
        assert not is_sync_due(ann.work)
        assert ann.team.status().waiting == 1


@pytest.mark.proves("X67")
def test_a_server_that_hangs_costs_the_callers_nothing(tmp_path, hanging_server, hanging_port):
    """The background waits for it; whoever remembers, recalls and closes does not."""
    with memory(tmp_path / "ann", now=now, server_key="rv_x", sync_every=0.1) as ann:
        save_account(ann.store, Account(f"http://127.0.0.1:{hanging_port}", "ann", "acme", "d"))
        begun = time.perf_counter()
        for number in range(5):
            ann.remember(f"The port of queue {number} is {number}.", space="me/demo")
            ann.recall("what is the port of the queue?", space="me/demo")
        alone = time.perf_counter() - begun
        ann.team.follow()
        assert select.select([hanging_server], [], [], PATIENCE)[0], "it is asked"
        begun = time.perf_counter()
        for number in range(5, 10):
            ann.remember(f"The port of queue {number} is {number}.", space="me/demo")
            ann.recall("what is the port of the queue?", space="me/demo")
        # No wait for an answer, which is one of 30 seconds.
        assert time.perf_counter() - begun < 10.0 + 10 * alone
    assert time.perf_counter() - begun < 25.0 + 20 * alone


def test_the_command_line_is_quick_while_the_server_hangs(tmp_path, hanging_port):
    """`remember` and `recall` of a home whose server hangs are as quick as ever: none waits for an
    answer, which would be for 30 seconds.
    """
    home = tmp_path / "home"
    with memory(home, now=now, server_key="rv_x") as ann:
        save_account(ann.store, Account(f"http://127.0.0.1:{hanging_port}", "ann", "acme", "d"))
    (tmp_path / "other").mkdir()
    for one in (home, tmp_path / "other"):
        (one / "config.toml").write_text('embedder = "toy"\nidle = 0.0\nserver_key = "rv_x"\n')
    for words in (["remember", "The staging server is heron."], ["recall", "staging"], ["status"]):
        took = [run_timed("--home", str(one), *words) for one in (tmp_path / "other", home)]
        assert took[1] < 10 + 2 * took[0], words


def run_timed(*words):
    """The seconds that a command takes."""
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "reverie", *words],
        capture_output=True,
        check=True,
        env={name: value for name, value in os.environ.items() if name != "REVERIE_HOME"},
    )
    return time.perf_counter() - begun


def test_the_pauses_grow_and_differ_by_device():
    """Asked again after seconds first, after minutes later; never all devices at one moment."""
    pauses = [pause_after(fails, "dev_1") for fails in (1, 2, 3, 20)]
    assert pauses == sorted(pauses) and 3 < pauses[0] < 6 and pauses[-1] <= 600
    assert len({pause_after(5, f"dev_{number}") for number in range(20)}) > 10


def test_logging_in_again_keeps_the_device(tmp_path):
    """A home is one device, however often its user logs in."""
    with memory(tmp_path / "ann", now=now) as ann:
        save_account(ann.store, Account("https://x.example", "ann", "acme", "dev_1"))
        save_account(ann.store, Account("https://x.example", "ann", "acme", "dev_1"))
        assert load_account(ann.store).device == "dev_1"
