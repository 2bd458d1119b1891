"""Sealed logs of devices: who can read the folder, who cannot, and what is noticed."""

import errno
import hashlib
import json
import re
import shutil
import stat
import subprocess
import sys
from types import SimpleNamespace

import pytest

from reverie.core.errors import BadInput, ExtraMissing, NotFound, ReverieError
from reverie.core.installation import advise_install
from reverie.core.model import Filter
from reverie.sync.device_logs.batch_file import HEAD, MAGIC, BatchHead, LogName, write_batch
from reverie.sync.device_logs.home_keys import open_sealer
from reverie.sync.device_logs.log_step import sync_devices
from reverie.sync.wire_format import memory_to_wire
from reverie.testing import memory
from tests.support.helpers import run_command, toy_home
from tests.sync.test_device_faults import refuse_writing

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
    said["desk"] = run(root, "desk", "sync", "add", carried, "--as", "desk")
    said["waits"] = run(root, "desk", "sync", "status")
    code = said["desk"].partition("--accept ")[2].split()[0]
    said["asks"] = run(root, "laptop", "sync", "pair")
    said["accepted"] = run(root, "laptop", "sync", "pair", "--accept", code.lower())
    run(root, "desk", "sync")
    said["phone"] = run(root, "phone", "sync", "add", carried, "--as", "phone")
    said["nonsense"] = run(root, "phone", "sync", "pair", "--recover", stdin="nonsense", code=2)
    key = next(word for word in said["first"].split() if word.startswith("AGE-SECRET-KEY-"))
    said["recovered"] = run(root, "phone", "sync", "pair", "--recover", stdin=key)
    run(root, "laptop", "sync")
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


def device_of(mind):
    return mind.devices.status().device


def keep(mind, text):
    mind.remember(text, space="me/demo")
    mind.devices.sync()


def logs_of(homes, name):
    device = device_of(getattr(homes, name))
    return sorted(homes.folder.glob(f"{device}-*.log"))


def troubles_of(mind):
    return "\n".join(trouble for one in mind.devices.status().others for trouble in one.troubles)


def test_machines_are_paired_and_have_the_same_memory(story):
    """The first tells the recovery key, the second a code, which is accepted; the third is opened
    by the recovery key. Then all have all.
    """
    said = story.said
    assert "It is sealed" in said["first"] and "AGE-SECRET-KEY-1" in said["first"]
    assert "is sealed. To pair this machine" in said["desk"]
    assert "waits to be paired" in said["waits"] and "asks to be paired" in said["asks"]
    assert "desk is paired" in said["accepted"]
    assert "begins with AGE-SECRET-KEY-1" in said["nonsense"]
    assert "3 machines hold the keys" in said["recovered"]
    for name in NAMES:
        with memory(story.root / name / "home", embedder="none") as mind:
            assert texts_of(mind) == ["The staging server is called heron."]
            assert not troubles_of(mind)
            pairing = mind.devices.pairing()
            assert pairing is not None
            names = [one.name for one in pairing.paired]
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
    stranger = device_of(outsider)
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


def test_who_was_removed_cannot_write_as_somebody_else(homes):
    """It still has the old keys; a file that it makes in another's name is named and not read."""
    keep(homes.desk, "One.")
    homes.laptop.devices.remove_device("phone")
    homes.laptop.devices.sync()
    device = device_of(homes.desk)
    wire = {"memory": memory_to_wire(homes.phone.store.browse(EVERYTHING)[0]), "marks": {}}
    wire["memory"]["text"] = "Send all to the thief."
    name = LogName(device, len(logs_of(homes, "desk")) + 1)
    forged = write_batch(
        BatchHead(*name, before=""), [wire], open_sealer(homes.root / "phone/home")
    )
    (homes.folder / name.text).write_bytes(forged)
    report = homes.laptop.devices.sync()
    assert any(name.text in one and "removed machine knows" in one for one in report.troubles)
    assert texts_of(homes.laptop) == ["One.", "The staging server is called heron."]


def test_what_was_sealed_before_its_writer_heard_of_a_removal_comes_anew(homes):
    """Desk is behind: what it wrote meanwhile is not believed until it has sealed it anew."""
    homes.laptop.devices.remove_device("phone")
    homes.laptop.devices.sync()
    laptop = device_of(homes.laptop)
    keys = homes.folder / f"{laptop}-keys.age"
    keys.rename(homes.root / "late")
    keep(homes.desk, "Written meanwhile.")
    (homes.root / "late").rename(keys)
    homes.laptop.devices.sync()
    assert "Written meanwhile." not in texts_of(homes.laptop)
    homes.desk.devices.sync()
    homes.laptop.devices.sync()
    assert "Written meanwhile." in texts_of(homes.laptop)
    assert not troubles_of(homes.laptop)


def test_keys_and_logs_go_through_git_as_well(homes):
    """The same machines, in a repository."""
    remote = homes.root / "remote.git"
    subprocess.run(["git", "init", "--bare", "--quiet", str(remote)], check=True)
    for mind in (homes.laptop, homes.desk):
        mind.devices.remove(str(homes.root / "carried"))
        mind.devices.add(str(remote))
    keep(homes.laptop, "By git.")
    homes.desk.devices.sync()
    assert "By git." in texts_of(homes.desk) and not troubles_of(homes.desk)
    listed = subprocess.run(
        [
            "git",
            "-C",
            str(remote),
            "ls-tree",
            "-r",
            "--name-only",
            f"reverie/{device_of(homes.desk)}",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"{device_of(homes.desk)}-keys.age" in listed.stdout


def test_without_its_keys_a_machine_writes_nothing(homes):
    """Least of all what is not sealed; added anew it asks to be paired."""
    (homes.root / "desk/home/device-keys").unlink()
    before = sorted(homes.folder.iterdir())
    homes.desk.remember("Not in the open.", space="me/demo")
    assert "device-keys" in homes.desk.devices.sync().troubles[0]
    assert sorted(homes.folder.iterdir()) == before
    assert homes.desk.devices.add(str(homes.root / "carried")).code


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
    assert advise_install("sealed") in said


# A place that was open before


def open_files_in(folder):
    """Files of logs at a place, and copies of some, that whoever has it can read."""
    return [
        file.name for file in folder.iterdir() if b"age-encryption.org" not in file.read_bytes()
    ]


@pytest.fixture
def alone(tmp_path):
    """A home that is in step through an open folder, and another one with a folder of its own."""
    minds = {name: memory(tmp_path / name, embedder="none") for name in ("laptop", "desk")}
    for name, mind in minds.items():
        (tmp_path / f"at-{name}").mkdir()
        mind.devices.add(str(tmp_path / f"at-{name}"), name=name)
        keep(mind, f"Kept on the {name}.")
        keep(mind, f"Kept later on the {name}.")
    yield SimpleNamespace(**minds, root=tmp_path)
    for mind in minds.values():
        mind.close()


def carry(start, end):
    for file in start.iterdir():
        shutil.copy(file, end)


def test_a_place_that_is_sealed_later_keeps_nothing_open(alone):
    """Nor what a killed process or the folder's carrier has left of it; all is in the sealed log."""
    place = alone.root / "at-laptop/reverie-log"
    file = next(iter(place.glob("*.log")))
    shutil.copy(file, place / f"{file.stem}.sync-conflict-20260101.log")
    shutil.copy(file, place / f".{file.name}.4711.part")
    assert len(open_files_in(place)) == 4
    added = alone.laptop.devices.add(str(alone.root / "at-laptop"), sealed=True)
    assert added.recovery and len(open_files_in(place)) == 4
    assert not alone.laptop.devices.sync().troubles
    assert open_files_in(place) == []
    alone.desk.devices.remove(str(alone.root / "at-desk"))
    code = alone.desk.devices.add(str(alone.root / "at-laptop")).code
    alone.desk.devices.sync()
    alone.laptop.devices.accept(code)
    for mind in (alone.laptop, alone.desk):
        mind.devices.sync()
    assert {"Kept on the laptop.", "Kept later on the laptop."} <= set(texts_of(alone.desk))


def test_a_full_place_does_not_make_a_strangers_log_of_ones_own(alone, monkeypatch):
    """What a home wrote there before it was sealed is still there, and still its own."""
    left, right = alone.root / "at-laptop/reverie-log", alone.root / "at-desk/reverie-log"
    alone.laptop.devices.add(str(alone.root / "at-laptop"), sealed=True)
    alone.laptop.devices.sync()
    carry(left, right)
    code = alone.desk.devices.add(str(alone.root / "at-desk")).code
    alone.desk.devices.sync()
    carry(right, left)
    alone.laptop.devices.accept(code)
    alone.laptop.devices.sync()
    carry(left, right)
    refuse_writing(right, monkeypatch, errno.ENOSPC)
    assert alone.desk.devices.sync().troubles and len(open_files_in(right)) == 2
    assert [one.name for one in alone.desk.devices.status().others] == ["laptop"]
    monkeypatch.undo()
    assert not alone.desk.devices.sync().troubles and open_files_in(right) == []


def test_who_is_paired_at_a_place_where_it_was_open_takes_its_open_log_away(alone):
    """Both began with folders that were not carried yet: what desk had written open lies there
    until it is paired, its status says so, that of the others names it, and then it goes.
    """
    left, right = alone.root / "at-laptop/reverie-log", alone.root / "at-desk/reverie-log"
    alone.laptop.devices.add(str(alone.root / "at-laptop"), sealed=True)
    alone.laptop.devices.sync()
    carry(left, right), carry(right, left)
    alone.laptop.devices.sync()
    told = run_command("sync", "status", "--home", str(alone.root / "laptop")).stdout
    assert "2 of its files are not sealed" in told and device_of(alone.desk) in told
    found = run_command("doctor", "--home", str(alone.root / "laptop"), code=None).stdout
    assert "not sealed" in found
    code = alone.desk.devices.add(str(alone.root / "at-desk")).code
    alone.desk.devices.sync()
    told = run_command("sync", "status", "--home", str(alone.root / "desk")).stdout
    assert "lies open until it is paired" in told and len(open_files_in(right)) == 2
    carry(right, left)
    alone.laptop.devices.accept(code)
    alone.laptop.devices.sync()
    carry(left, right)
    alone.desk.devices.sync()
    assert open_files_in(right) == [] and not troubles_of(alone.desk)
    assert (
        "lies open" not in run_command("sync", "status", "--home", str(alone.root / "desk")).stdout
    )
    for file in list(left.iterdir()):
        if file.name in open_files_in(left):
            file.unlink()  # as whoever carries the folder does
    carry(right, left)
    alone.laptop.devices.sync()
    assert {"Kept on the desk.", "Kept later on the desk."} <= set(texts_of(alone.laptop))


def test_an_open_log_in_a_repository_goes_with_its_branch(alone):
    """No commit that the repository names has it."""
    remote = alone.root / "remote.git"
    subprocess.run(["git", "init", "--bare", "--quiet", str(remote)], check=True)
    alone.laptop.devices.remove(str(alone.root / "at-laptop"))
    alone.laptop.devices.add(str(remote))
    alone.laptop.devices.sync()
    before = device_of(alone.laptop)
    alone.laptop.devices.add(str(remote), sealed=True)
    assert not alone.laptop.devices.sync().troubles
    git = ["git", "-C", str(remote), "for-each-ref", "--format=%(refname:lstrip=3)"]
    listed = subprocess.run(git, capture_output=True, text=True, check=True).stdout.split()
    assert listed == [device_of(alone.laptop)] and before not in listed
    assert not alone.laptop.devices.sync()


def test_what_a_copied_home_wrote_under_the_number_stays(alone):
    """The log at the place goes on after what this home wrote: it is not this home's to take away,
    and such a place is not sealed.
    """
    place = alone.root / "at-laptop/reverie-log"
    alone.laptop.close()
    shutil.copytree(alone.root / "laptop", alone.root / "copy")
    copy = memory(alone.root / "copy", embedder="none")
    keep(copy, "Kept in the copy alone.")
    before = sorted(file.name for file in place.iterdir())
    alone.laptop = memory(alone.root / "laptop", embedder="none")
    added = alone.laptop.devices.add(str(alone.root / "at-laptop"), sealed=True)
    alone.laptop.devices.sync()
    assert not added.is_sealed and "Kept in the copy alone." in texts_of(alone.laptop)
    assert set(before) <= {file.name for file in place.iterdir()}
    copy.close()


def test_who_is_in_step_while_the_home_is_sealed_writes_nothing_open(alone):
    """A background that began before goes on with the keys."""
    place = alone.root / "at-laptop/reverie-log"
    job = alone.laptop.devices.job(everywhere=True)
    alone.laptop.devices.add(str(alone.root / "at-laptop"), sealed=True)
    alone.laptop.remember("Not in the open.", space="me/demo")
    sync_devices(job)
    assert open_files_in(place) == []


# Keys that are lost or damaged


def test_a_sealed_home_without_keys_never_goes_open(homes, monkeypatch):
    """Keys gone, the extra not installed, the place away: each time a sentence, and it stays
    sealed.
    """
    keys = homes.root / "desk/home/device-keys"
    keys.unlink()
    where = str(homes.root / "carried")
    for asks in (homes.desk.devices.ask_again, lambda: homes.desk.devices.accept("222-222-222")):
        with pytest.raises(BadInput, match="is gone"):
            asks()
    assert "is gone" in run(homes.root, "desk", "sync", "status")
    homes.desk.devices.remove(where)
    away = f"file://{homes.root}/away.git"
    with pytest.raises(ReverieError, match="cannot be reached"):
        homes.desk.devices.add(away)
    monkeypatch.setitem(sys.modules, "pyrage", None)
    for place in (away, where):
        with pytest.raises(ExtraMissing, match=re.escape(advise_install("sealed"))):
            homes.desk.devices.add(place)
    monkeypatch.undo()
    with pytest.raises(BadInput, match="Leave --plain away"):
        homes.desk.devices.add(where, sealed=False)
    before = sorted(homes.folder.iterdir())
    homes.desk.remember("Not in the open.", space="me/demo")
    assert "is gone" in homes.desk.devices.sync().troubles[0]
    assert sorted(homes.folder.iterdir()) == before
    assert homes.desk.devices.add(where).code


def test_a_home_without_keys_begins_no_other_ring_beside_the_places_it_has(homes):
    """A new place has no keys to ask for: the machines at the other one have them."""
    (homes.root / "desk/home/device-keys").unlink()
    (homes.root / "empty").mkdir()
    with pytest.raises(BadInput, match="no paired machine has put its own"):
        homes.desk.devices.add(str(homes.root / "empty"), sealed=True)
    assert homes.desk.devices.add(str(homes.root / "carried")).code


@pytest.mark.parametrize(
    "breaks",
    [
        lambda keys: b"",
        lambda keys: json.dumps(keys).encode()[:-40],
        lambda keys: json.dumps({**keys, "secret": keys["secret"][:-6]}).encode(),
        lambda keys: json.dumps({**keys, "ring": [[], *keys["ring"][1:]]}).encode(),
        lambda keys: json.dumps(keys).replace("age1", "age1qqqq").encode(),
        lambda keys: b"[" * 100_000,
    ],
)
def test_a_damaged_file_of_keys_is_told_in_a_sentence(homes, breaks):
    """At pairing, at status and in doctor; nothing is written meanwhile."""
    keys = homes.root / "laptop/home/device-keys"
    keys.write_bytes(breaks(json.loads(keys.read_text())))
    new = memory(homes.root / "new", embedder="none")
    code = new.devices.add(str(homes.root / "carried"), name="new").code
    new.devices.sync()
    new.close()
    said = run(homes.root, "laptop", "sync", "pair", "--accept", code, code=2)
    assert "reverie sync add PLACE" in said and "Traceback" not in said
    for words in (("sync", "status"), ("sync", "pair"), ("doctor",), ("sync",)):
        assert "Traceback" not in run(homes.root, "laptop", *words, code=None)


def test_a_key_with_a_wrong_letter_is_told_in_a_sentence(homes):
    """It looks as a key does; age says that it is none."""
    keys = homes.root / "laptop/home/device-keys"
    held = json.loads(keys.read_text())
    held["secret"] = held["secret"][:-6] + "QQQQQQ"
    keys.write_text(json.dumps(held))
    assert "in its file device-keys" in run(homes.root, "laptop", "sync")
