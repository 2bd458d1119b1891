"""Sealed logs of devices: who can read the folder, who cannot, and what is noticed."""

import hashlib
import json
import shutil
import stat
import sys
from types import SimpleNamespace

import pytest

from reverie.core.errors import BadInput, NotFound
from reverie.core.model import Filter
from reverie.sync.device_logs.batch_file import HEAD, MAGIC
from reverie.testing import memory
from tests.support.helpers import run_command, toy_home

EVERYTHING = Filter(active=None, limit=1_000)
NAMES = ("laptop", "desk", "phone")


def run(root, home, *words, **more):
    done = run_command(*words, "--home", str(root / home / "home"), **more)
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """Three homes that were paired by the commands, and what those said."""
    root = tmp_path_factory.mktemp("sealed")
    (root / "carried").mkdir()
    for name in NAMES:
        toy_home(root / name)
    said = {}
    carried = str(root / "carried")
    said["first"] = run(root, "laptop", "sync", "add", carried, "--as", "laptop")
    run(root, "laptop", "remember", "The staging server is called heron.", "--space", "me/demo")
    run(root, "laptop", "sync")
    for name in NAMES[1:]:
        said[name] = run(root, name, "sync", "add", carried, "--as", name)
        said[f"{name} waits"] = run(root, name, "sync", "status")
        code = said[name].partition("--accept ")[2].split()[0]
        said[f"{name} asks"] = run(root, "laptop", "sync", "pair")
        said[f"{name} accepted"] = run(root, "laptop", "sync", "pair", "--accept", code.lower())
        run(root, name, "sync")
    run(root, "desk", "sync")
    return SimpleNamespace(root=root, said=said)


@pytest.fixture
def homes(story, tmp_path):
    """The three homes, on a folder of their own."""
    for name in (*NAMES, "carried"):
        shutil.copytree(story.root / name, tmp_path / name)
    minds = {}
    for name in NAMES:
        minds[name] = memory(tmp_path / name / "home", embedder="none")
        minds[name].devices.remove(str(story.root / "carried"))
        minds[name].devices.add(str(tmp_path / "carried"))
    yield SimpleNamespace(**minds, folder=tmp_path / "carried/reverie-log", root=tmp_path)
    for mind in minds.values():
        mind.close()


def texts_of(mind):
    return sorted(one.text for one in mind.store.browse(EVERYTHING))


def keep(mind, text):
    mind.remember(text, space="me/demo")
    mind.devices.sync()


def logs_of(homes, name):
    device = getattr(homes, name).devices.status().device
    return sorted(homes.folder.glob(f"{device}-*.log"))


def troubles_of(mind):
    return "\n".join(trouble for one in mind.devices.status().others for trouble in one.troubles)


def recovery_of(story):
    return next(word for word in story.said["first"].split() if word.startswith("AGE-SECRET-KEY-"))


def test_machines_are_paired_by_a_code_and_have_the_same_memory(story):
    """The first tells the recovery key, the others a code; once it is accepted all have all."""
    said = story.said
    assert "It is sealed" in said["first"] and "AGE-SECRET-KEY-1" in said["first"]
    for name in NAMES[1:]:
        assert "is sealed. To pair this machine" in said[name]
        assert "waits to be paired" in said[f"{name} waits"]
        assert "asks to be paired" in said[f"{name} asks"]
        assert f"{name} is paired" in said[f"{name} accepted"]
        with memory(story.root / name / "home", embedder="none") as mind:
            assert texts_of(mind) == ["The staging server is called heron."]
            names = [one.name for one in mind.devices.pairing().paired]
            assert sorted(names) == sorted(NAMES)


def test_the_folder_tells_sizes_and_times_alone(homes):
    """No word, no space, no name and no key, written as it is or in hexadecimal or base64."""
    keep(homes.desk, "Ask Brunhilde for the wolfram budget.")
    keys = [json.loads((homes.root / name / "home/device-keys").read_text()) for name in NAMES]
    secrets = [key["secret"] for key in keys] + [one[1] for one in keys[0]["ring"][0]]
    publics = [one[2] for one in keys[0]["ring"][1]]
    words = ["heron", "staging", "Brunhilde", "wolfram", "me/demo", "demo", *NAMES]
    files = sorted(homes.folder.iterdir())
    assert len(files) == 5
    for file in files:
        data = file.read_bytes()
        for word in (*words, *secrets, *publics):
            for form in (word, word.upper(), word.encode().hex()):
                assert form.encode() not in data, (file.name, word)
    for name in NAMES:
        assert stat.S_IMODE((homes.root / name / "home/device-keys").stat().st_mode) == 0o600


def test_a_removed_device_reads_nothing_new_and_is_not_read(homes):
    """What is written after its removal it cannot open, and the others pass over what it writes."""
    gone = homes.laptop.devices.remove_device("phone")
    homes.laptop.devices.sync()
    homes.desk.devices.sync()
    keep(homes.laptop, "The vault moved to Oslo.")
    keep(homes.desk, "The key lies under the mat.")
    keep(homes.phone, "The thief was here.")
    homes.phone.devices.sync()
    assert texts_of(homes.phone) == ["The staging server is called heron.", "The thief was here."]
    assert "removed" in troubles_of(homes.phone)
    for mind in (homes.laptop, homes.desk):
        mind.devices.sync()
        assert "The thief was here." not in texts_of(mind)
        assert "was written by phone, which was removed" in troubles_of(mind)
        assert gone.device not in {one.device for one in mind.devices.pairing().paired}
    homes.laptop.devices.sync()
    assert "The key lies under the mat." in texts_of(homes.laptop)
    code = homes.phone.devices.ask_again()
    homes.phone.devices.sync()
    homes.desk.devices.accept(code)
    homes.desk.devices.sync()
    homes.phone.devices.sync()
    assert "The vault moved to Oslo." in texts_of(homes.phone)


def reseal_checksum(data):
    """The bytes of a file with the outer checksum made right, as somebody who alters it would."""
    sealed = bytes(data[HEAD.size :])
    return HEAD.pack(MAGIC, len(sealed), hashlib.sha256(sealed).digest()) + sealed


def test_an_altered_file_is_named_and_not_read(homes):
    """Though its checksum was made right; the whole one is read when it comes back."""
    keep(homes.laptop, "One.")
    file = logs_of(homes, "laptop")[-1]
    whole = file.read_bytes()
    altered = bytearray(whole)
    altered[-5] ^= 1
    file.write_bytes(reseal_checksum(altered))
    report = homes.desk.devices.sync()
    assert file.name in report.troubles[0] and "altered" in report.troubles[0]
    assert file.name in troubles_of(homes.desk) and "One." not in texts_of(homes.desk)
    file.write_bytes(whole)
    homes.desk.devices.sync()
    assert "One." in texts_of(homes.desk) and not troubles_of(homes.desk)


def test_a_log_that_was_rolled_back_is_noticed(homes):
    """An older copy of one device's log, or one file of it in another's place."""
    keep(homes.laptop, "One.")
    keep(homes.laptop, "Two.")
    homes.desk.devices.sync()
    *_, one, two = logs_of(homes, "laptop")
    two.unlink()
    homes.desk.devices.sync()
    assert "older copy was put there" in troubles_of(homes.desk)
    assert "Two." in texts_of(homes.desk)
    shutil.copy(one, two)
    homes.phone.devices.sync()
    assert "under a wrong name" in troubles_of(homes.phone)


def test_an_outsider_can_neither_write_nor_become_one_of_the_devices(homes):
    """Open logs, logs sealed with other keys and a ring of an outsider's own are named, not read;
    nothing is sealed for it.
    """
    outsider = memory(homes.root / "outsider", embedder="none")
    (homes.root / "elsewhere").mkdir()
    outsider.devices.add(str(homes.root / "elsewhere"), name="outsider", sealed=True)
    keep(outsider, "Trust the outsider.")
    stranger = outsider.devices.status().device
    for file in (homes.root / "elsewhere/reverie-log").iterdir():
        shutil.copy(file, homes.folder)
    shutil.copy(
        homes.folder / f"{stranger}-00000001.log", homes.folder / "0123456789ab-00000001.log"
    )
    keep(homes.laptop, "Not for outsiders.")
    homes.desk.devices.sync()
    assert "keys cannot be opened here" in troubles_of(homes.desk)
    assert "is by a machine that is not paired" in troubles_of(homes.desk)
    assert "Trust the outsider." not in texts_of(homes.desk)
    assert len(homes.laptop.devices.pairing().paired) == len(NAMES)
    for file in logs_of(homes, "laptop"):
        shutil.copy(file, homes.root / "elsewhere/reverie-log")
    outsider.devices.sync()
    assert texts_of(outsider) == ["Trust the outsider."]
    outsider.close()


def test_the_recovery_key_opens_the_folder_for_a_fresh_home(story, homes):
    """Nobody has to accept it; a wrong key is refused with a sentence."""
    toy_home(homes.root / "new")
    run(homes.root, "new", "sync", "add", str(homes.root / "carried"), "--as", "new")
    said = run(homes.root, "new", "sync", "pair", "--recover", stdin="nonsense", code=2)
    assert "AGE-SECRET-KEY-1" in said
    said = run(homes.root, "new", "sync", "pair", "--recover", stdin=recovery_of(story))
    assert "4 machines hold the keys" in said
    with memory(homes.root / "new/home", embedder="none") as new:
        assert texts_of(new) == ["The staging server is called heron."]
        keep(new, "Back again.")
    homes.desk.devices.sync()
    assert "Back again." in texts_of(homes.desk) and not troubles_of(homes.desk)


def test_what_cannot_be_is_refused_with_what_to_do(homes, monkeypatch):
    """A wrong code, unknown device, oneself, --plain where it is sealed, the extra missing."""
    with pytest.raises(NotFound, match="none waits"):
        homes.laptop.devices.accept("222-222-222")
    with pytest.raises(BadInput, match="is no pairing code"):
        homes.laptop.devices.accept("hello")
    with pytest.raises(NotFound, match=r"There are: .*desk"):
        homes.laptop.devices.remove_device("fridge")
    with pytest.raises(BadInput, match="That is this machine"):
        homes.laptop.devices.remove_device("laptop")
    toy_home(homes.root / "new")
    carried = str(homes.root / "carried")
    assert "are sealed" in run(homes.root, "new", "sync", "add", carried, "--plain", code=2)
    monkeypatch.setitem(sys.modules, "pyrage", None)
    said = run(homes.root, "new", "sync", "add", carried, code=11)
    assert "pip install 'reverie[sealed]'" in said
