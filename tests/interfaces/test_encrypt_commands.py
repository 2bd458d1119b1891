# mypy: no-check-untyped-defs
"""`reverie data encrypt` and `reverie data decrypt`, as they are typed."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from reverie.core import config
from reverie.core.environment import is_encrypted
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.worker_start import is_worker_alive, wake_worker
from tests.support.encrypted_homes import files_holding
from tests.support.helpers import open_mind, run_command, toy_home, wait_until

WORD = "Zanzibarquartz"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A plain home with a memory in it, and the folder of a login."""
    runtime = tmp_path / "run"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    home = toy_home(tmp_path, mirror="off")
    monkeypatch.setenv("REVERIE_HOME", str(home))
    run_command("remember", f"The vault word is {WORD}.")
    return home


def test_a_memory_is_encrypted_and_decrypted(place, tmp_path):
    """Encrypting tells how the key is kept and the recovery key, once; everything goes on working;
    decrypting takes it back.
    """
    key = tmp_path / "key.txt"
    assert files_holding(place, WORD)
    said = run_command("data", "encrypt", "--key-file", str(key)).output
    assert str(key) in said and "AGE-SECRET-KEY-" in said
    assert files_holding(place, WORD) == []
    assert WORD in run_command("recall", "vault").output
    again = run_command("data", "encrypt").output
    assert "nothing left to encrypt" in again and "AGE-SECRET-KEY-" not in again
    refused = run_command("data", "encrypt", "--keyring", code=2)
    assert "reverie data key" in refused.stderr
    run_command("data", "decrypt")
    assert not is_encrypted(place) and files_holding(place, WORD)
    assert "not encrypted" in run_command("data", "decrypt", code=2).stderr


def test_ctrl_c_after_the_switch_has_shown_the_recovery_key(place, tmp_path, monkeypatch):
    """The home is encrypted by then; before, what was shown is said to be of no use, and nothing of
    it stays.
    """
    from reverie.runtime import home_encryption

    def interrupt(*_):
        raise KeyboardInterrupt

    key = str(tmp_path / "key.txt")
    with monkeypatch.context() as patched:
        patched.setattr(home_encryption, "convert_databases", interrupt)
        before = run_command("data", "encrypt", "--key-file", key, code=130)
    assert "opens nothing" in before.stderr and not is_encrypted(place)
    assert not (tmp_path / "key.txt").exists()
    with monkeypatch.context() as patched:
        patched.setattr(home_encryption, "convert_side_files", interrupt)
        after = run_command("data", "encrypt", "--key-file", key, code=130)
    assert is_encrypted(place) and "opens nothing" not in after.stderr
    recovery = next(line for line in after.output.splitlines() if "AGE-SECRET-KEY-" in line)
    (tmp_path / "key.txt").unlink()
    run_command("data", "unlock", "--recovery", stdin=f"{recovery.strip()}\n")
    assert WORD in run_command("recall", "vault").output


class Terminal:
    """A command in a process of its own at a terminal; what it shows, and keys for it."""

    def __init__(self, *words):
        self.child, self.keys = pty.fork()
        if self.child == 0:
            os.execv(sys.executable, [sys.executable, "-m", "reverie", *words])
        self.shown = ""

    def wait_for(self, text):
        while text not in self.shown:
            self.shown += os.read(self.keys, 1_000).decode("utf-8", "replace")

    def press(self, keys):
        os.write(self.keys, keys.encode())

    def finish(self):
        with suppress(OSError):  # the other end is closed
            while chunk := os.read(self.keys, 1_000):
                self.shown += chunk.decode("utf-8", "replace")
        _, status = os.waitpid(self.child, 0)
        os.close(self.keys)
        return os.waitstatus_to_exitcode(status)


@pytest.mark.parametrize(("keys", "codes"), [("n\n", (2,)), ("\x03", (130, -signal.SIGINT))])
def test_without_the_recovery_key_written_down_nothing_is_changed(place, tmp_path, keys, codes):
    """At a terminal it is shown first; whoever says no, or presses Ctrl-C, finds all as it was."""
    terminal = Terminal("data", "encrypt", "--key-file", str(tmp_path / "key.txt"))
    terminal.wait_for("written it down?")
    assert "AGE-SECRET-KEY-" in terminal.shown and not is_encrypted(place)
    terminal.press(keys)
    assert terminal.finish() in codes, terminal.shown
    assert not is_encrypted(place) and files_holding(place, WORD)
    assert not (tmp_path / "key.txt").exists() and not [*(tmp_path / "run").rglob("*.key")]
    assert "Traceback" not in terminal.shown


def test_the_recovery_key_was_shown_before_a_kill(place, tmp_path):
    """Whoever said yes has it, whenever the command dies."""
    terminal = Terminal("data", "encrypt", "--key-file", str(tmp_path / "key.txt"))
    terminal.wait_for("written it down?")
    terminal.press("y\n")
    wait_until(lambda: is_encrypted(place))
    os.kill(terminal.child, signal.SIGKILL)
    terminal.finish()
    recovery = next(line for line in terminal.shown.splitlines() if "AGE-SECRET-KEY-" in line)
    (tmp_path / "key.txt").unlink()
    run_command("data", "unlock", "--recovery", stdin=f"{recovery.strip()}\n")
    assert WORD in run_command("recall", "vault").output


def test_the_recovery_key_is_shown_again_to_a_person(place, tmp_path):
    """By the passphrase, not without one, and not to a program where a file keeps the key."""
    secret = "three herons at noon\n"
    made = run_command("data", "encrypt", "--passphrase", "--json", stdin=secret)
    recovery = json.loads(made.stdout)["recovery_key"]
    assert recovery in run_command("data", "key", "--show-recovery", stdin=secret).output
    wrong = run_command("data", "key", "--show-recovery", stdin="three herons at moon\n", code=2)
    assert recovery not in wrong.output
    run_command("data", "key", "--key-file", str(tmp_path / "key.txt"), stdin=secret)
    run_command("data", "key", "--remove", "passphrase", stdin=secret)
    refused = run_command("data", "key", "--show-recovery", code=2)
    assert "at a terminal only" in refused.stderr and recovery not in refused.output


def test_two_at_once(place, tmp_path):
    """The second one says so, and ends nobody: not even a process that has the number of a worker
    of before.
    """
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    files = HookFiles(str(place))
    Path(files.lock).parent.mkdir(parents=True, exist_ok=True)
    Path(files.lock).write_bytes(b"\0" + str(bystander.pid).encode())
    words = ("data", "encrypt", "--key-file", str(tmp_path / "key.txt"))
    terminal = Terminal(*words)
    try:
        terminal.wait_for("written it down?")
        second = run_command("data", "encrypt", "--key-file", str(tmp_path / "other"), code=5)
        assert "Another command" in second.stderr
        terminal.press("y\n")
        assert terminal.finish() == 0
        assert bystander.poll() is None
    finally:
        bystander.communicate(b"\n")
    assert WORD in run_command("recall", "vault").output


def test_a_copy_of_an_encrypted_memory_is_said_to_be_plain(place, tmp_path):
    """`data migrate` has no key for another home; into one that is encrypted it says nothing."""
    copy = tmp_path / "copy"
    run_command("data", "encrypt", "--key-file", str(tmp_path / "key.txt"))
    said = run_command("data", "migrate", "--to", str(copy)).output
    assert "The copy is not encrypted" in said and f"encrypt --passphrase --home {copy}" in said
    run_command("data", "encrypt", "--key-file", str(tmp_path / "other.txt"), "--home", str(copy))
    again = run_command("data", "migrate", "--to", str(copy)).output
    assert "all there" in again and "not encrypted" not in again


def test_a_key_has_to_be_kept_somehow(place):
    """Without a way to keep the key nothing is encrypted, and the ways are named."""
    refused = run_command("data", "encrypt", code=2)
    assert "--passphrase, --key-file PATH or --keyring" in refused.stderr
    assert not is_encrypted(place)


def test_a_fresh_home_takes_backups_with_the_recovery_key(place, tmp_path):
    """A backup of an encrypted home is restored into a fresh one that was given the recovery key."""
    key, copy = str(tmp_path / "key.txt"), str(tmp_path / "copy.db")
    made = json.loads(run_command("data", "encrypt", "--key-file", key, "--json").stdout)
    run_command("data", "backup", copy)
    shutil.rmtree(place)
    fresh = str(tmp_path / "fresh")
    run_command("remember", "Another memory.", "--home", fresh)
    refused = run_command("data", "backup", "--restore", copy, "--home", fresh, code=2)
    assert "encrypted with another key" in refused.stderr
    recovery = made["recovery_key"] + "\n"
    options = ("--recovery", "--key-file", key, "--home", fresh)
    run_command("data", "encrypt", *options, stdin=recovery)
    run_command("data", "backup", "--restore", copy, "--home", fresh)
    found = json.loads(run_command("list", "--all", "--json", "--home", fresh).stdout)
    assert WORD in json.dumps(found)


def test_the_worker_steps_aside_and_comes_back(place, tmp_path):
    """A worker that is alive is ended, the home encrypted, and another one takes things in."""
    config.save_settings(config.load_settings(place), idle=600.0)
    files = HookFiles(str(place))
    wake_worker(files.home, files.lock)
    wait_until(lambda: is_worker_alive(files.lock))
    run_command("data", "encrypt", "--key-file", str(tmp_path / "key.txt"))
    try:
        wait_until(lambda: is_worker_alive(files.lock))
        assert files_holding(place, WORD) == []
        with open_mind(place, mirror="off") as mind:
            mind.remember(f"Another {WORD}.", space="me/demo")
            assert mind.data.verify() == []
    finally:
        run_command("data", "lock")
    assert files_holding(place, WORD) == []


def test_another_process_that_has_it_open_is_waited_for_and_then_named(
    place, tmp_path, monkeypatch
):
    """With the memory open elsewhere nothing is changed, and the sentence says what to end."""
    from reverie.runtime import home_encryption
    from reverie.storage.sqlite.home_conversion import alone_in_home

    monkeypatch.setattr(home_encryption, "alone_in_home", lambda home: alone_in_home(home, 0.1))
    with open_mind(place, mirror="off"):
        result = run_command("data", "encrypt", "--key-file", str(tmp_path / "key.txt"), code=5)
    assert "have this memory open" in result.stderr
    assert not is_encrypted(place)


def test_postgresql_is_told_to_encrypt_its_disk(place, tmp_path):
    """There the command says what there is instead."""
    config.save_settings(config.load_settings(place), store="postgresql://localhost/memory")
    refused = run_command("data", "encrypt", "--key-file", str(tmp_path / "key.txt"), code=2)
    assert "disk" in refused.stderr
    assert not (tmp_path / "key.txt").exists()
