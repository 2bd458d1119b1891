"""The detached worker: it settles, waits a while and exits; never more than one runs."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import reverie
from reverie.core import config
from reverie.core.config import Settings
from reverie.core.file_lock import take_lock
from reverie.embedding.minilm import MiniLM
from reverie.embedding.toy import ToyEmbedder
from reverie.interfaces import worker
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.worker_start import is_worker_alive
from reverie.pipeline.leases import SETTLE_LEASE
from reverie.pipeline.pending_vectors import embed_pending
from reverie.runtime import settle
from reverie.runtime.settle import SettleReport, has_work_left, run_settle_step
from tests.support.helpers import open_mind, run_command, toy_home, wait_until


@pytest.fixture
def home(tmp_path):
    return toy_home(tmp_path, idle=1.0)


@pytest.fixture(autouse=True)
def path(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


def started(home, *words):
    return subprocess.Popen(
        [sys.executable, "-m", "reverie", "data", "worker", "--home", str(home), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def find_today():
    """Today in UTC, as backups are named; it may be another one when a test ends."""
    return datetime.fromtimestamp(time.time(), UTC).strftime("%Y%m%d")


def write_weights(settings):
    """A file where the weights of the model are looked for."""
    folder = settings.cache / "models" / "made-up"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.safetensors").write_bytes(b"")


def held(mind):
    return mind.store.holder(SETTLE_LEASE, time.time())


def test_remember_leaves_the_embedding_to_a_worker(home):
    """remember returns at once; the worker embeds, backs up, waits, and is gone."""
    today = find_today()
    out = subprocess.run(
        [
            sys.executable,
            "-m",
            "reverie",
            "remember",
            "for later",
            "--space",
            "me/demo",
            "--home",
            str(home),
        ],
        capture_output=True,
        check=False,
    )
    assert out.returncode == 0
    with open_mind(home) as mind:
        # `remember` has given the lease to the worker, which is there for a second at least.
        assert held(mind) or mind.data.stats().vectors == 1
        wait_until(lambda: mind.data.stats().waiting == 0 and mind.data.stats().vectors == 1)
        wait_until(lambda: held(mind) is None)
    [copy] = (home / "backups").glob("*.db")
    assert copy.name in {f"reverie-{day}.db" for day in (today, find_today())}


def test_work_that_comes_while_it_waits_is_done(home):
    """While idle it looks for more."""
    (home / "config.toml").write_text('embedder = "toy"\nidle = 3.0\n')
    with open_mind(home) as mind:
        mind.remember("one", space="me/demo")
        process = started(home)
        wait_until(lambda: mind.data.stats().vectors == 1)
        mind.remember("two", space="me/demo")
        wait_until(lambda: mind.data.stats().vectors == 2)
        assert (process.wait(120), process.stdout.read()) == (0, "")
        process.stdout.close()
        assert held(mind) is None


def test_only_one_is_at_work(home):
    """Whoever comes second leaves at once; `spawn` starts nobody while somebody holds the lease."""
    with open_mind(home, idle=5.0) as mind:
        mind.remember("one", space="me/demo")
        assert mind.store.acquire(SETTLE_LEASE, "somebody", 60.0, time.time())
        assert not worker.spawn_worker(mind.settings, mind.store)
        process = started(home)
        assert process.wait(120) == 0
        process.stdout.close()
        assert (mind.data.stats().vectors, held(mind)) == (0, "somebody")


def test_a_hundred_commands_start_one_process(home, monkeypatch):
    """The lease is taken before the process exists."""
    begun = []
    monkeypatch.setattr(worker, "start_worker_process", lambda home, holder: begun.append(holder))
    with open_mind(home) as mind:
        assert [True, *[False] * 99] == [
            worker.spawn_worker(mind.settings, mind.store) for _ in range(100)
        ]
        assert held(mind) == begun[0] and len(begun) == 1


def test_no_worker_starts_where_none_is_wanted(home, monkeypatch):
    """idle = 0 means no worker; a model that would have to be fetched starts none either."""
    monkeypatch.setattr(worker, "start_worker_process", lambda home, holder: pytest.fail("started"))
    with open_mind(home, idle=0.0) as mind:
        assert not worker.spawn_worker(mind.settings, mind.store)
    assert not worker.is_embedder_ready(Settings(home=home, embedder="minilm"))
    assert not worker.is_embedder_ready(Settings(home=home, embedder="none"))


def test_a_start_that_fails_gives_the_lease_back(home, monkeypatch):
    def broken(home, holder):
        raise OSError("no more processes")

    monkeypatch.setattr(worker, "start_worker_process", broken)
    with open_mind(home) as mind:
        with pytest.raises(OSError, match="no more"):
            worker.spawn_worker(mind.settings, mind.store)
        assert held(mind) is None


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_the_worker_cleanly(home, number):
    """SIGTERM and SIGINT end it cleanly: code 0, lease given back."""
    (home / "config.toml").write_text('embedder = "toy"\nidle = 60.0\n')
    with open_mind(home) as mind:
        mind.remember("one", space="me/demo")
        process = started(home)
        wait_until(lambda: mind.data.stats().vectors == 1)
        time.sleep(0.2)
        process.send_signal(number)
        assert (process.wait(120), process.stdout.read()) == (0, "")
        process.stdout.close()
        assert held(mind) is None and [] == mind.data.verify()


def test_the_worker_exits_when_its_home_is_gone(home):
    """A folder that was moved away is not recreated."""
    (home / "config.toml").write_text('embedder = "toy"\nidle = 60.0\n')
    with open_mind(home) as mind:
        mind.remember("one", space="me/demo")
    process = started(home)
    wait_until(lambda: (home / "backups").exists())
    time.sleep(0.3)
    home.rename(home.with_name("elsewhere"))
    assert process.wait(120) == 0
    process.stdout.close()
    assert not home.exists()


def test_the_worker_exits_when_the_schema_is_newer(home):
    """It could not settle there any more, and would keep the newer one's worker away."""
    with open_mind(home) as mind:
        mind.store.acquire(SETTLE_LEASE, "me", 30, time.time())
        one = worker.Worker(mind, "me")
        assert one.may_continue()
        with closing(sqlite3.connect(home / "reverie.db")) as db:
            db.execute("pragma user_version = 99")
        assert not one.may_continue()
        mind.remember("one", space="me/demo")
        assert not one.work(60.0) and held(mind) is None


def test_the_worker_exits_when_settings_changed(home):
    """A mirror that was switched off is not written by a worker that was there before; the next one
    goes by it.
    """
    with open_mind(home) as mind:
        one = worker.Worker(mind, "me")
        assert one.may_continue()
        (home / "config.toml").write_text('embedder = "toy"\nidle = 1.0\nmirror = "off"\n')
        assert not one.may_continue()
        mind.remember("one", space="me/demo")
        assert not one.work(60.0) and held(mind) is None
    assert not (home / "spaces").exists()


@pytest.mark.parametrize("hooks_are", ["its own", "another's"])
def test_what_is_left_to_a_worker_that_goes_is_done_by_another(home, hooks_are):
    """It has the lease still, so who leaves something starts none; nobody did it then until the
    next prompt or command.
    """
    config.save_settings(Settings(home=home), embedder="toy", idle=60.0)
    settings = config.load_settings(home)
    lock = HookFiles(str(home)).lock
    with ExitStack() as stack:
        mind = stack.enter_context(open_mind(home))
        if hooks_are == "another's":
            Path(lock).parent.mkdir(parents=True, exist_ok=True)
            taken = take_lock(lock)
            assert taken is not None
            stack.callback(os.close, taken)
        mind.remember("one", space="me/demo")
        process = started(home)
        wait_until(lambda: mind.data.stats().vectors == 1)
        os.kill(process.pid, signal.SIGSTOP)
        config.save_settings(settings, idle=1.0)
        mind.remember("two", space="me/demo")
        assert not worker.spawn_worker(settings, mind.store)
        os.kill(process.pid, signal.SIGCONT)
        assert process.wait(120) == 0
        process.stdout.close()
        wait_until(lambda: mind.data.stats().vectors == 2)
        wait_until(lambda: held(mind) is None)
    wait_until(lambda: not is_worker_alive(lock))


def test_the_worker_exits_when_the_model_came_that_it_lacks(home):
    """It would hold the lease and embed nothing, and whoever settles would wait for it."""
    wanted = Settings(home=home, embedder="minilm")
    with open_mind(home, embedder="none") as mind:
        one = worker.Worker(mind, "me", lacks_model_of=wanted)
        assert one.may_continue()
        write_weights(wanted)
        assert not one.may_continue()
        assert not one.work(60.0) and held(mind) is None


# An explicit settle beside others


def test_settle_fetches_the_model_before_it_waits_for_a_worker_without(home, monkeypatch):
    """The first `data settle` after a session: the worker of its hooks has the lease and no model,
    and leaves when that has come.
    """
    config.save_settings(Settings(home=home), embedder="minilm", idle=0.0)
    wanted = config.load_settings(home)

    def fetch_and_embed(_embedder, texts):
        write_weights(wanted)
        return np.full((len(texts), 384), 384**-0.5, dtype=np.float32)

    monkeypatch.setattr(MiniLM, "embed", fetch_and_embed)
    with open_mind(home, embedder="none", idle=0.0) as mind:
        mind.remember("one", space="me/demo")
        one = worker.Worker(mind, "worker_of_hooks", lacks_model_of=wanted)
        one.settle_all()
        assert held(mind) == "worker_of_hooks"

        def wait(_seconds):
            assert not one.may_continue(), "it waits for a worker that will not go"
            one.work(60.0)

        monkeypatch.setattr("reverie.core.clock.sleep", wait)
        out = run_command("data", "settle", "--home", str(home))
        assert "Embedded 1, learned 0; 0 left to embed." in out.stdout, out.output


def test_settle_waits_for_another_one_until_all_is_done(home, monkeypatch):
    """It is not over when the last vector is made: events are read and reconciled after that."""
    with open_mind(home, idle=0.0) as mind:
        for n in range(4):
            mind.remember(f"Use tabs for indentation{'.' * n}", space="me/demo")
        embed_pending(mind.store, mind.embedder)
        mind.store.acquire(SETTLE_LEASE, "settler_other", 60, time.time())
        looks = []

        def other_steps(_seconds):
            looks.append(run_settle_step(mind.work))
            if not looks[-1]:
                mind.store.release(SETTLE_LEASE, "settler_other")

        monkeypatch.setattr("reverie.core.clock.sleep", other_steps)
        assert has_work_left(mind.work)
        done = mind.settle()
        assert looks and not has_work_left(mind.work) and not done.trouble


def test_settle_waits_for_nobody_when_there_is_nothing_to_do(home, monkeypatch):
    """Another process may hold the lease for as long as it likes."""
    with open_mind(home, idle=0.0) as mind:
        mind.remember("one", space="me/demo")
        mind.settle()
        mind.store.acquire(SETTLE_LEASE, "settler_other", 60, time.time())
        waits: list[float] = []
        monkeypatch.setattr("reverie.core.clock.sleep", waits.append)
        assert not mind.settle().trouble and waits == []


def test_settle_names_a_process_that_holds_the_lease_idle(home, monkeypatch):
    """Another process that holds the lease and does nothing is waited for a while, and named."""
    monkeypatch.setattr(settle, "STANDSTILL_SECONDS", 0.2)
    with open_mind(home, idle=0.0) as mind:
        mind.remember("one", space="me/demo")
        mind.store.acquire(SETTLE_LEASE, "settler_other", 60, time.time())
        done = mind.settle()
        assert done.embedded == 0 and "settler_other" in done.trouble
        mind.store.release(SETTLE_LEASE, "settler_other")
        assert mind.settle()._replace(events=0) == SettleReport(embedded=1)


@pytest.mark.proves("X20")
def test_only_the_newest_backups_are_kept(home):
    """A daily copy, of which `settings.backups` are kept."""
    from reverie.storage import backups

    (home / "backups").mkdir()
    for day in ("20200101", "20200102", "20200103"):
        (home / "backups" / f"reverie-{day}.db").write_bytes(b"")
    with open_mind(home, backups=2) as mind:
        mind.remember("one", space="me/demo")
        moment = 1_760_000_000.0
        assert backups.make_daily_backup(mind.store, mind.settings, moment)
        assert backups.make_daily_backup(mind.store, mind.settings, moment) is None
    assert ["reverie-20251009.db", "reverie-20200103.db"] == [
        p.name for p in backups.list_daily_backups(Settings(home=home))
    ]


def test_trouble_of_the_worker_is_shown_by_status(home):
    """A model that cannot be had ends the worker and is told by `status`."""
    from reverie.core.errors import ModelUnavailable

    class Missing(ToyEmbedder):
        def embed(self, texts):
            raise ModelUnavailable("no model here\nand more")

    with reverie.open(settings=Settings(home=home, embedder="toy"), embedder=Missing()) as mind:
        mind.remember("one", space="me/demo")
        start = time.monotonic()
        worker.Worker(mind, "me").work(60.0)
        assert time.monotonic() - start < 30.0  # it does not wait for its 60 s
        assert '"no model here"' in (mind.store.meta("trouble") or "")
        assert held(mind) is None


@pytest.mark.proves("B131", "B132")
def test_the_worker_sleeps_before_it_exits(tmp_path):
    """When it is quiet and much is new, the worker tidies up, and notes when."""
    folder = toy_home(tmp_path, idle=0.5, sleep_idle=0.0, sleep="prune, links")
    with open_mind(folder) as mind:
        mind.remember_many(
            [
                {"text": f"Guess number {i}: the cache is cold.", "provenance": "inferred"}
                for i in range(30)
            ],
            space="me/demo",
        )
        process = started(folder)
        wait_until(lambda: mind.store.meta("slept_at"))
        assert (process.wait(120), process.stdout.read()) == (0, "")
        process.stdout.close()
        assert [1] == [len(mind.store.events(verbs=(verb,))) for verb in ("slept",)]


@pytest.mark.proves("B136")
def test_switched_off_it_never_sleeps(tmp_path):
    """With `sleep = "off"` no sleep is ever due."""
    folder = toy_home(tmp_path, idle=0.5, sleep_idle=0.0, sleep="off")
    with open_mind(folder) as mind:
        mind.remember_many([{"text": f"Guess number {i}."} for i in range(30)], space="me/demo")
        process = started(folder)
        assert (process.wait(120), process.stdout.read()) == (0, "")
        process.stdout.close()
        assert [] == mind.store.events(verbs=("sleeping", "slept"))
