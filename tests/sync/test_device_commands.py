"""`reverie sync` on two homes: real commands, real processes, the background."""

import os
import subprocess
import sys
import time

import pytest

from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.worker import stop_worker
from reverie.sync.space_map import Account
from reverie.sync.sync_state import load_account, save_account
from reverie.testing import memory
from tests.support.helpers import wait_until

CONFIG = 'embedder = "toy"\nidle = 60.0\n'


@pytest.fixture
def run(tmp_path):
    """Run `reverie` in a home; workers that it left are ended."""
    homes = set()

    def run(home, *words):
        folder = tmp_path / home
        if home not in homes:
            homes.add(home)
            folder.mkdir()
            (folder / "config.toml").write_text(CONFIG)
        done = subprocess.run(
            [sys.executable, "-m", "reverie", *words, "--home", str(folder)],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "REVERIE_HOME": str(folder), "HOME": str(tmp_path)},
        )
        return done.returncode, done.stdout + done.stderr

    yield run
    for home in homes:
        stop_worker(HookFiles(str(tmp_path / home)).lock)


@pytest.mark.proves("X75")
@pytest.mark.slow
def test_what_is_kept_on_one_machine_is_on_the_other_by_itself(run, tmp_path):
    """Two homes, one folder: the workers keep them in step, within five seconds of the folder; later
    by as much as a command before or after takes longer than half a second, where the machine is
    busy.
    """
    (tmp_path / "carried").mkdir()
    assert run("laptop", "sync", "add", "carried", "--as", "laptop", "--plain")[0] == 0
    assert run("desk", "sync", "add", "carried", "--as", "desk", "--plain")[0] == 0
    assert run("laptop", "remember", "The port is 4100.", "--space", "me/demo")[0] == 0
    wait_until(lambda: list((tmp_path / "carried/reverie-log").glob("*.log")))
    begun = time.monotonic()
    assert run("laptop", "sync", "status")[0] == 0
    before = time.monotonic() - begun
    with memory(tmp_path / "desk", embedder="none") as desk:
        wait_until(lambda: desk.store.stats().memories)
    waited = time.monotonic() - begun
    code, said = run("desk", "sync", "status")
    after = time.monotonic() - begun - waited
    assert waited < 5 * max(1.0, before / 0.5, after / 0.5)
    assert code == 0 and "laptop" in said and "nothing to write" in said


def test_commands_say_what_is_and_what_to_do(run, tmp_path):
    """Without a place, with a wrong one, status, remove."""
    (tmp_path / "carried").mkdir()
    code, said = run("laptop", "sync")
    assert code == 2 and "reverie sync add FOLDER" in said
    code, said = run("laptop", "sync", "add", "nowhere")
    assert code == 2 and "There is no folder" in said
    run("laptop", "sync", "add", "carried", "--as", "laptop", "--plain")
    code, said = run("laptop", "sync", "--status")
    assert code == 0 and "carried" in said and "laptop (this machine" in said
    code, said = run("laptop", "sync")
    assert code == 0 and "0 written for the others; 0 new here" in said
    (tmp_path / "carried").rename(tmp_path / "away")
    code, said = run("laptop", "sync")
    assert code == 0 and "reverie-log is not there" in said and "What waits goes later" in said
    (tmp_path / "away").rename(tmp_path / "carried")
    code, said = run("laptop", "sync", "remove", "carried")
    assert code == 0 and "No longer" in said


def test_only_the_server_that_one_is_logged_in_to_is_left(run, tmp_path):
    """Another address, or none at all, is said to be no place; the login stays."""
    code, said = run("laptop", "sync", "remove", "https://memory.acme.org")
    assert code != 0 and "not logged in to https://memory.acme.org" in said
    with memory(tmp_path / "laptop", embedder="none") as laptop:
        save_account(laptop.store, Account("https://memory.acme.org", "ann"))
    code, said = run("laptop", "sync", "remove", "https://memory.acme.com")
    assert code != 0 and "https://memory.acme.org" in said
    with memory(tmp_path / "laptop", embedder="none") as laptop:
        assert load_account(laptop.store) is not None
    code, said = run("laptop", "sync", "remove", "https://memory.acme.org/")
    assert code == 0 and "No longer in step through https://memory.acme.org" in said
    with memory(tmp_path / "laptop", embedder="none") as laptop:
        assert load_account(laptop.store) is None
