# mypy: no-check-untyped-defs
"""The key of an encrypted home: the ways in which it is kept, and what is said where it is not to be
had.
"""

import json
import os
import re
import stat
import subprocess
import sys
from itertools import repeat
from pathlib import Path
from types import SimpleNamespace

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring
from keyring.errors import PasswordDeleteError

from reverie.core import age_sealing, key_ways, unlocked_key
from reverie.core.encryption_file import read_encryption, write_encryption
from reverie.core.errors import BadInput, CannotOpen, HomeLockedError, NewerStore, StoreDamaged
from reverie.core.home_key import (
    check_key,
    describe_key,
    new_home_key,
    read_home_key,
    remove_encryption,
)
from reverie.core.private_files import (
    SEALED_HEADER,
    open_lines,
    read_private_bytes,
    seal_lines,
    write_private_bytes,
)

PASSPHRASE = "three herons at noon"


class DictKeyring(KeyringBackend):
    """A keyring in memory."""

    priority = 1

    def __init__(self):
        super().__init__()
        self.entries = {}

    def get_password(self, service, username):
        return self.entries.get((service, username))

    def set_password(self, service, username, password):
        self.entries[service, username] = password

    def delete_password(self, service, username):
        if self.entries.pop((service, username), None) is None:
            raise PasswordDeleteError


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    """The folder of a login."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder


@pytest.fixture
def nowhere(monkeypatch):
    """No folder of a login, and no memory to stand in for it."""
    monkeypatch.setattr(unlocked_key, "MEMORY_FOLDERS", ())


@pytest.fixture
def place(tmp_path):
    """A home."""
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home"


@pytest.fixture
def use_keyring():
    """Have another keyring for a test."""
    before = keyring.get_keyring()
    yield keyring.set_keyring
    keyring.set_keyring(before)


def encrypt(home, *ways):
    """A key that is kept in these ways, each made by a function of the secret."""
    key = new_home_key()
    write_encryption(home, describe_key(key, tuple(make(key.files) for make in ways)))
    return key


def by_file(path, home):
    return lambda secret: key_ways.seal_with_key_file(secret, path, home)


def test_a_plain_home_has_no_key(place):
    """Where there is no encryption.json nothing is encrypted, and what is written is as it was."""
    write_private_bytes(place, place / "note", b"words")
    assert read_home_key(place) is None and (place / "note").read_bytes() == b"words"


def test_a_key_file_opens_the_home(place, tmp_path, nowhere):
    """The key is had from a file elsewhere, 0600, and from nothing else; it is none without the
    home.
    """
    key = encrypt(place, by_file(tmp_path / "key", place))
    assert read_home_key(place) == key
    assert stat.S_IMODE((tmp_path / "key").stat().st_mode) == 0o600
    assert key.files not in (tmp_path / "key").read_text()
    assert key.files not in (place / "encryption.json").read_text()
    assert "SECRET" not in repr(key)


def test_a_key_file_within_the_home_is_refused(place, tmp_path):
    """Not even through a link: whoever copies the home would have both."""
    (tmp_path / "link").symlink_to(place)
    for path in (place / "key", tmp_path / "link" / "key"):
        with pytest.raises(BadInput, match="within the home"):
            key_ways.seal_with_key_file("secret", path, place)
        assert not path.exists()


def test_a_key_file_that_age_made_is_used_as_it_is(place, tmp_path, nowhere):
    """One key file may open several homes."""
    path = tmp_path / "key"
    path.write_text(f"# created by age-keygen\n{age_sealing.new_secret()}\n")
    before = path.read_text()
    key = encrypt(place, by_file(path, place))
    assert read_home_key(place) == key and path.read_text() == before


def test_a_file_that_is_no_key_is_left_alone(place, tmp_path):
    """A photo that was named by mistake is not overwritten."""
    (tmp_path / "photo").write_bytes(b"\x89PNG\r\n" * 40)
    with pytest.raises(BadInput, match="is no key file"):
        key_ways.seal_with_key_file("secret", tmp_path / "photo", place)
    assert (tmp_path / "photo").read_bytes() == b"\x89PNG\r\n" * 40


def test_a_missing_key_file_is_named(place, tmp_path, nowhere):
    """The sentence says which file, and what to do."""
    encrypt(place, by_file(tmp_path / "key", place))
    (tmp_path / "key").unlink()
    with pytest.raises(HomeLockedError, match=r"is not there: .*key.* reverie data unlock"):
        read_home_key(place)


def test_another_homes_key_file_is_told_apart(place, tmp_path, nowhere):
    """A wrong key is no damage."""
    encrypt(place, by_file(tmp_path / "key", place))
    (tmp_path / "key").write_text(age_sealing.new_secret())
    with pytest.raises(HomeLockedError, match="key of another memory"):
        read_home_key(place)


def test_a_passphrase_opens_the_home(place, runtime, monkeypatch):
    """A wrong one does not, nothing in the files is the key, and a service gives it by the
    environment; it is then at hand for this login.
    """
    key = encrypt(place, lambda secret: key_ways.seal_with_passphrase(secret, PASSPHRASE))
    way = read_encryption(place).find(key_ways.PASSPHRASE)
    with pytest.raises(BadInput, match="not the passphrase"):
        key_ways.open_with_passphrase(way, "three herons at moon")
    with pytest.raises(HomeLockedError, match="reverie data unlock"):
        read_home_key(place)
    monkeypatch.setenv("REVERIE_PASSPHRASE", PASSPHRASE)
    with pytest.raises(HomeLockedError):  # a hook has no second to spare
        read_home_key(place, ask=False)
    assert read_home_key(place) == key
    monkeypatch.delenv("REVERIE_PASSPHRASE")
    assert read_home_key(place, ask=False) == key
    [kept] = (runtime / "reverie").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600


def test_a_passphrase_opens_the_home_of_a_busy_machine(place, monkeypatch):
    """age measures how fast the machine is, and refuses what seems to take it too long; a moment
    later it is as fast as ever. Where it stays slow the passphrase is not called a wrong one.
    """
    key = encrypt(place, lambda secret: key_ways.seal_with_passphrase(secret, PASSPHRASE))
    way = read_encryption(place).find(key_ways.PASSPHRASE)
    age = age_sealing.load_age()
    heavier = re.sub(rb"(-> scrypt \S+) \d+", rb"\1 50", way.sealed, count=1)
    busy = iter([True, True])

    def decrypt(sealed, passphrase):
        return age.passphrase.decrypt(heavier if next(busy, False) else sealed, passphrase)

    library = SimpleNamespace(
        DecryptError=age.DecryptError, passphrase=SimpleNamespace(decrypt=decrypt)
    )
    monkeypatch.setattr(age_sealing, "load_age", lambda: library)
    assert key_ways.open_with_passphrase(way, PASSPHRASE) == key.files
    busy = repeat(True)
    with pytest.raises(HomeLockedError, match="too busy to try the passphrase"):
        key_ways.open_with_passphrase(way, PASSPHRASE)


def test_a_busy_moment_makes_no_passphrase_easier_to_guess(monkeypatch):
    """Where age takes the machine for a slow one it is asked again; on a slow one it is soon let be."""
    age = age_sealing.load_age()
    whole = age.passphrase.encrypt(b"the secret", PASSPHRASE)

    def sealing(*factors):
        tries = iter(factors)

        def encrypt(_plain, _passphrase):
            factor = str(next(tries)).encode()
            return re.sub(rb"(-> scrypt \S+) \d+", rb"\1 " + factor, whole, count=1)

        library = SimpleNamespace(passphrase=SimpleNamespace(encrypt=encrypt))
        monkeypatch.setattr(age_sealing, "load_age", lambda: library)
        sealed = age_sealing.seal_by_passphrase(PASSPHRASE, b"the secret")
        return age_sealing.read_work_factor(sealed), len(list(tries))

    assert sealing(18, 18) == (18, 1)
    assert sealing(11, 19, 20) == (19, 1)
    assert sealing(12, 14, 13, 12, 20) == (14, 1)
    assert age_sealing.read_work_factor(whole) > 0


def test_a_slow_way_is_asked_once_in_a_process(place, use_keyring, nowhere):
    """Where there is no memory for the login: of a thousand events each would ask."""
    ring = DictKeyring()
    use_keyring(ring)
    key = encrypt(place, lambda secret: key_ways.seal_with_keyring(secret, "heron"))
    assert read_home_key(place) == key
    ring.entries.clear()
    assert read_home_key(place) == key


def test_a_short_passphrase_is_refused():
    """Before anything is sealed by it."""
    with pytest.raises(BadInput, match="at least 8"):
        key_ways.seal_with_passphrase("secret", "heron")


def test_a_keyring_keeps_the_key(place, use_keyring, nowhere):
    """The entry is a key of its own: without the home it is worth nothing."""
    ring = DictKeyring()
    use_keyring(ring)
    key = encrypt(place, lambda secret: key_ways.seal_with_keyring(secret, "heron"))
    assert read_home_key(place) == key
    assert ring.entries.keys() == {("reverie", "heron")}
    assert key.files not in ring.entries.values()
    remove_encryption(place)
    assert ring.entries == {} and read_home_key(place) is None


def test_a_keyring_that_lost_the_key_is_said(place, use_keyring, nowhere):
    """As after another login, or when it is locked."""
    use_keyring(DictKeyring())
    encrypt(place, lambda secret: key_ways.seal_with_keyring(secret, "heron"))
    use_keyring(DictKeyring())
    with pytest.raises(HomeLockedError, match=r"keyring has no key.*--recovery"):
        read_home_key(place)


def test_no_keyring_is_said_before_anything_is_kept(use_keyring):
    """A machine without one is told the other ways."""
    use_keyring(NoKeyring())
    with pytest.raises(HomeLockedError, match=r"no keyring on this system.*--passphrase"):
        key_ways.seal_with_keyring("secret", "heron")


def test_each_way_is_enough(place, tmp_path, use_keyring, nowhere):
    """Of a lost key file and a keyring that has it, the home is opened by the keyring."""
    use_keyring(DictKeyring())
    key = encrypt(
        place,
        by_file(tmp_path / "key", place),
        lambda secret: key_ways.seal_with_keyring(secret, "heron"),
    )
    (tmp_path / "key").unlink()
    assert read_home_key(place) == key


def test_the_recovery_key_is_all_there_is(place):
    """The whole key follows from it, without the file that a crash may take."""
    key = encrypt(place)
    encryption = read_encryption(place)
    assert check_key(encryption, f" {key.files}\n") == key
    with pytest.raises(HomeLockedError, match="another memory"):
        check_key(encryption, new_home_key().files)


def test_a_damaged_way_is_damage_and_no_wrong_key(place, tmp_path, nowhere):
    """A wrong key is told apart from a file that was altered."""
    encrypt(place, by_file(tmp_path / "key", place))
    found = json.loads((place / "encryption.json").read_text())
    del found["sum"]  # a file of before
    sealed = found["ways"][0]["sealed"]
    found["ways"][0]["sealed"] = (
        sealed[:-8] + ("AAAA" if sealed[-8:-4] != "AAAA" else "BBBB") + sealed[-4:]
    )
    (place / "encryption.json").write_text(json.dumps(found))
    with pytest.raises(StoreDamaged, match="recovery key"):
        read_home_key(place)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 1}', '{"version": "x"}', "null"])
def test_a_damaged_file_says_what_to_do(place, text):
    """Half a file is no plain home: nothing would be sealed any more."""
    assert not (place / "encryption-copy.json").exists()
    (place / "encryption.json").write_text(text)
    with pytest.raises(StoreDamaged, match="recovery key"):
        read_home_key(place)
    with pytest.raises(StoreDamaged):
        write_private_bytes(place, place / "note", b"words")
    assert not (place / "note").exists()


def test_a_file_of_a_newer_version_is_not_guessed_at(place):
    """It says to upgrade."""
    (place / "encryption.json").write_text('{"version": 2, "whatever": []}')
    with pytest.raises(NewerStore):
        read_home_key(place)


# While it is unlocked


def test_an_unlocked_home_is_locked_again_in_time(place, runtime):
    """The key is gone from memory when its time is over."""
    key = encrypt(place)
    name = read_encryption(place).name
    path = unlocked_key.save_unlocked(name, key.files, until=1_000.0)
    assert unlocked_key.read_unlocked(name, 999.0) == (key.files, 1_000.0)
    assert unlocked_key.read_unlocked(name, 1_000.0) is None
    assert not Path(path).exists()


@pytest.mark.parametrize("mode", [0o755, 0o770])
def test_a_folder_of_others_holds_no_key(place, runtime, monkeypatch, mode):
    """A folder of the login that others may look into is none, and then there is nowhere."""
    monkeypatch.setattr(unlocked_key, "MEMORY_FOLDERS", ())
    runtime.chmod(mode)
    with pytest.raises(BadInput, match="nowhere to keep the key"):
        unlocked_key.save_unlocked("heron", "secret", None)


def test_only_memory_stands_in_for_the_folder_of_a_login(tmp_path, monkeypatch):
    """A disk is refused: what was written there could be found later."""
    mounts = tmp_path / "mounts"
    monkeypatch.setattr(unlocked_key, "MOUNTS", str(mounts))
    monkeypatch.setattr(unlocked_key, "MEMORY_FOLDERS", (str(tmp_path),))
    mounts.write_text(f"tmpfs {tmp_path} tmpfs rw 0 0\n/dev/sda1 {tmp_path} ext4 rw 0 0\n")
    assert unlocked_key.find_unlocked_folder() == ""
    mounts.write_text(f"/dev/sda1 {tmp_path} ext4 rw 0 0\ntmpfs {tmp_path} tmpfs rw 0 0\n")
    path = unlocked_key.save_unlocked("heron", "secret", None)
    assert path.startswith(str(tmp_path / f"reverie-{os.getuid()}"))
    assert unlocked_key.read_unlocked("heron", 0.0) == ("secret", None)


def test_a_planted_folder_in_memory_is_not_used(tmp_path, monkeypatch):
    """A link that somebody else laid there leads nowhere."""
    (tmp_path / "mounts").write_text(f"tmpfs {tmp_path} tmpfs rw 0 0\n")
    monkeypatch.setattr(unlocked_key, "MOUNTS", str(tmp_path / "mounts"))
    monkeypatch.setattr(unlocked_key, "MEMORY_FOLDERS", (str(tmp_path),))
    (tmp_path / "theirs").mkdir(mode=0o700)
    (tmp_path / f"reverie-{os.getuid()}").symlink_to(tmp_path / "theirs")
    with pytest.raises(BadInput, match="nowhere"):
        unlocked_key.save_unlocked("heron", "secret", None)


def test_two_processes_unlock_at_once(place, runtime):
    """Both have the same key, and neither half of one."""
    key = encrypt(place, lambda secret: key_ways.seal_with_passphrase(secret, PASSPHRASE))
    script = (
        "import sys\nfrom reverie.core.home_key import read_home_key\n"
        "print(read_home_key(sys.argv[1]).database.hex())"
    )
    environment = {**os.environ, "REVERIE_PASSPHRASE": PASSPHRASE}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(place)],
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for _ in range(2)
    ]
    assert [one.communicate()[0].strip() for one in both] == [key.database.hex()] * 2
    assert read_home_key(place, ask=False) == key


# Files


def test_a_locked_home_is_written_to_and_not_read(place, tmp_path, nowhere):
    """Writing needs no key; once it is there, all is read."""
    encrypt(place, by_file(tmp_path / "key", place))
    (tmp_path / "key").rename(tmp_path / "away")
    write_private_bytes(place, place / "note", b"herons")
    assert (place / "note").read_bytes().startswith(SEALED_HEADER)
    with pytest.raises(HomeLockedError):
        read_private_bytes(place, place / "note")
    (tmp_path / "away").rename(tmp_path / "key")
    assert read_private_bytes(place, place / "note") == b"herons"


def test_what_was_altered_is_not_read(place, tmp_path, nowhere):
    """One bit is enough."""
    encrypt(place, by_file(tmp_path / "key", place))
    write_private_bytes(place, place / "note", b"herons")
    data = bytearray((place / "note").read_bytes())
    data[-1] ^= 1
    (place / "note").write_bytes(data)
    with pytest.raises(CannotOpen):
        read_private_bytes(place, place / "note")


def test_lines_of_a_log_are_sealed_one_by_one(place, tmp_path, nowhere):
    """A log that was begun in the clear is read as a whole."""
    lines = b"1 a heron\n"
    encrypt(place, by_file(tmp_path / "key", place))
    sealed = seal_lines(place, b"2 two herons\n")
    assert b"heron" not in sealed and sealed.count(b"\n") == 1
    assert open_lines(place, lines + sealed + b"sealed:???\n") == (
        b"1 a heron\n2 two herons\nsealed:???\n"
    )
