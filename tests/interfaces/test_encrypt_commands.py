# mypy: no-check-untyped-defs
"""`reverie data encrypt` and `reverie data decrypt`, as they are typed."""

import json
import os
import shutil
import sys

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


def test_ctrl_c_after_the_switch_still_shows_the_recovery_key(place, tmp_path, monkeypatch):
    """The home is encrypted by then, and nobody could show it later; before, there is no key."""
    from reverie.runtime import home_encryption

    def interrupt(*_):
        raise KeyboardInterrupt

    key = str(tmp_path / "key.txt")
    with monkeypatch.context() as patched:
        patched.setattr(home_encryption, "convert_databases", interrupt)
        before = run_command("data", "encrypt", "--key-file", key, code=130)
    assert "AGE-SECRET-KEY-" not in before.stderr and not is_encrypted(place)
    with monkeypatch.context() as patched:
        patched.setattr(home_encryption, "convert_side_files", interrupt)
        after = run_command("data", "encrypt", "--key-file", key, code=130)
    assert is_encrypted(place)
    recovery = next(line for line in after.stderr.splitlines() if "AGE-SECRET-KEY-" in line)
    (tmp_path / "key.txt").unlink()
    run_command("data", "unlock", "--recovery", stdin=f"{recovery.strip()}\n")
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
