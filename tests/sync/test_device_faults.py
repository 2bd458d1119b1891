"""What folders, git and bad luck do to the logs of devices: told apart, survived, said."""

import errno
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
import zlib
from typing import Any

import pytest

from reverie.core.atomic_file import write_atomically
from reverie.core.model import Filter
from reverie.interfaces.install.doctor import examine_devices
from reverie.sync.device_logs import log_folder
from reverie.sync.device_logs.batch_file import (
    HEAD,
    MAGIC,
    parse_name,
    read_batch,
    write_batch,
)
from reverie.sync.device_logs.log_step import FILES_PER_STEP, sync_devices
from reverie.sync.device_logs.sealer import PlainSealer
from reverie.testing import Clock, memory

EVERYTHING = Filter(active=None, limit=10_000)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def homes(tmp_path, clock):
    """Homes by name; all are closed at the end."""
    minds = []

    def open_home(name):
        mind = memory(tmp_path / name, now=clock, embedder="none")
        minds.append(mind)
        return mind

    yield open_home
    for mind in minds:
        mind.close()


@pytest.fixture
def pair(homes, tmp_path):
    """Two homes, each with its own copy of the folder, and what carries files from the first to
    the second.
    """
    laptop, desk = homes("laptop"), homes("desk")
    for name, mind in (("left", laptop), ("right", desk)):
        (tmp_path / name).mkdir()
        mind.devices.add(str(tmp_path / name), name=name)
    return laptop, desk, tmp_path / "left/reverie-log", tmp_path / "right/reverie-log"


def texts_of(mind):
    return sorted(one.text for one in mind.store.browse(EVERYTHING))


def keep(mind, *texts):
    """Keep each text in a file of its own of the log."""
    for text in texts:
        mind.remember(text, space="me/demo")
        mind.devices.sync()


def troubles_of(mind):
    return [trouble for one in mind.devices.status().others for trouble in one.troubles]


@pytest.mark.proves("X74")
def test_files_that_are_missing_hold_up_nothing_and_are_counted(pair):
    """Of three files the second comes last: what is there counts at once, the gap is told."""
    laptop, desk, left, right = pair
    keep(laptop, "One.", "Two.", "Three.")
    one, two, three = sorted(left.iterdir())
    for file in (three, one):
        shutil.copy(file, right)
    desk.devices.sync()
    assert texts_of(desk) == ["One.", "Three."]
    assert [other.missing for other in desk.devices.status().others] == [1]
    shutil.copy(two, right)
    desk.devices.sync()
    assert texts_of(desk) == ["One.", "Three.", "Two."]
    assert [other.missing for other in desk.devices.status().others] == [0]


@pytest.mark.proves("X74")
def test_a_half_arrived_file_is_waited_for_without_a_word(pair):
    """However much of it there is, it is no trouble, and it counts when it is whole."""
    laptop, desk, left, right = pair
    keep(laptop, "One.")
    (file,) = left.iterdir()
    data = file.read_bytes()
    for length in (0, 7, 48, len(data) - 1):
        (right / file.name).write_bytes(data[:length])
        assert not desk.devices.sync().troubles
        assert texts_of(desk) == troubles_of(desk) == []
    (right / file.name).write_bytes(data)
    desk.devices.sync()
    assert texts_of(desk) == ["One."]


@pytest.mark.proves("X74")
def test_a_damaged_file_is_named_until_a_whole_one_comes(pair):
    """A flipped byte is told from a half file, and the rest goes on."""
    laptop, desk, left, right = pair
    keep(laptop, "One.", "Two.")
    first, second = sorted(left.iterdir())
    data = bytearray(first.read_bytes())
    data[-3] ^= 0x40
    (right / first.name).write_bytes(data)
    shutil.copy(second, right)
    report = desk.devices.sync()
    assert texts_of(desk) == ["Two."] and first.name in report.troubles[0]
    assert "damaged" in troubles_of(desk)[0]
    shutil.copy(first, right)
    desk.devices.sync()
    assert texts_of(desk) == ["One.", "Two."] and troubles_of(desk) == []


def seal_text(text):
    """A file of a log that arrived whole and says this, as some other program may write one."""
    sealed = zlib.compress(text.encode())
    return HEAD.pack(MAGIC, len(sealed), hashlib.sha256(sealed).digest()) + sealed


@pytest.mark.proves("X74")
def test_a_file_that_says_what_none_may_is_named_and_holds_up_no_other(pair):
    """A head of the wrong sorts, JSON without an end, a count that is no number."""
    laptop, desk, left, right = pair
    keep(laptop, "One.")
    (file,) = left.iterdir()
    first, entry = zlib.decompress(file.read_bytes()[HEAD.size :]).decode().split("\n")
    uncounted = json.loads(entry)
    uncounted["marks"]["counts"] = {"strength": {"x": [1, float("inf")]}}
    wrong: tuple[tuple[dict[str, Any], str], ...] = (
        ({"at": "noon"}, entry),
        ({"at": float("nan")}, entry),
        ({"number": True}, entry),
        ({}, "[" * 100_000),
        ({}, json.dumps(uncounted)),
    )
    for place, (said, line) in enumerate(wrong):
        head = {**json.loads(first), "device": f"{place:012}", **said}
        name = f"{place:012}-00000001.log"
        (right / name).write_bytes(seal_text(f"{json.dumps(head)}\n{line}"))
    shutil.copy(file, right)
    report = desk.devices.sync()
    assert texts_of(desk) == ["One."]
    assert len(report.troubles) == len(wrong)
    assert len(troubles_of(desk)) == len(wrong) - 1  # of the last all but one entry counts


@pytest.mark.parametrize(
    ("what", "field", "value"),
    [
        ("memory", "at", 10**400),
        ("memory", "created_at", 2**63),
        ("memory", "text", "\ud800"),
        ("memory", "title", "\ud800"),
        ("memory", "tags", ["\ud800"]),
        ("said", "at", 10**400),
        ("said", "session", "\ud800"),
        ("said", "messages", [[0, "user", "The port is 4100.", 10**400]]),
        ("said", "messages", [[0, "\ud800", "The port is 4100.", 1.0]]),
    ],
)
def test_an_entry_that_no_store_can_hold_is_passed_over(pair, what, field, value):
    """Numbers too large and halves of characters, as none of ours writes: told, and the rest of the
    file counts.
    """
    laptop, desk, left, right = pair
    keep(laptop, "One.")
    (file,) = left.iterdir()
    name = parse_name(file.name)
    assert name
    batch = read_batch(file.read_bytes(), name, PlainSealer())
    hostile: dict[str, Any] = {
        "memory": {**batch.entries[0]["memory"], "id": "mem_" + "0" * 26},
        "marks": batch.entries[0]["marks"],
    }
    if what == "said":
        said = [[0, "user", "The port is 4100.", 1.0]]
        place = {"key": "0" * 20, "version": 1, "space": "me/demo", "session": "s", "at": 1.0}
        hostile = {"said": {**place, "messages": said}}
    hostile[what][field] = value
    data = write_batch(batch.head, [hostile, *batch.entries], PlainSealer())
    (right / file.name).write_bytes(data)
    assert len(desk.devices.sync().troubles) == 1
    assert texts_of(desk) == ["One."]
    assert not desk.devices.sync()


def test_however_many_files_cannot_be_read_the_others_are(pair):
    """As of a machine that was removed and goes on writing: a step has an end, and comes to all."""
    laptop, desk, left, right = pair
    keep(laptop, "One.", "Two.")
    for number in range(FILES_PER_STEP + 5):
        (right / f"{'0' * 12}-{number + 1:08}.log").write_bytes(b"none of yours" * 9)
    for file in left.iterdir():
        shutil.copy(file, right)
    assert not sync_devices(desk.devices.job(everywhere=True), rounds=3).more
    assert texts_of(desk) == ["One.", "Two."]


def test_a_log_that_says_it_has_a_hundred_million_files_costs_nothing(pair):
    """What is missing before it is counted without a list of it."""
    laptop, desk, left, right = pair
    keep(laptop, "One.", "Two.")
    first, second = sorted(left.iterdir())
    shutil.copy(first, right)
    name = parse_name(second.name)
    assert name
    batch = read_batch(second.read_bytes(), name, PlainSealer())
    last = name._replace(number=99_999_999)
    data = write_batch(batch.head._replace(number=last.number), batch.entries, PlainSealer())
    (right / last.text).write_bytes(data)
    desk.devices.sync()
    tracemalloc.start()
    try:
        (other,) = desk.devices.status().others
        assert other.missing == 99_999_997
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.proves("X74")
def test_copies_under_other_names_change_nothing(pair):
    """A conflicted copy is no file of a log, and a file under another's name is refused."""
    laptop, desk, left, right = pair
    keep(laptop, "One.")
    (file,) = left.iterdir()
    shutil.copy(file, right / f"{file.stem} (conflicted copy).log")
    shutil.copy(file, right / f"{file.stem[:-1]}7.log")
    desk.devices.sync()
    assert texts_of(desk) == [] and "wrong name" in troubles_of(desk)[0]


@pytest.mark.proves("X74")
def test_a_log_that_goes_back_to_what_it_was_is_noticed(pair):
    """An older copy of one device's log loses nothing that was read, and is told."""
    laptop, desk, left, right = pair
    keep(laptop, "One.", "Two.")
    for file in left.iterdir():
        shutil.copy(file, right)
    desk.devices.sync()
    max(right.glob("*.log")).unlink()
    desk.devices.sync()
    assert texts_of(desk) == ["One.", "Two."]
    assert "older copy" in troubles_of(desk)[0]


def test_own_files_that_were_removed_or_damaged_come_back(pair):
    """The home has them, and puts them there again."""
    laptop, _, left, _ = pair
    keep(laptop, "One.", "Two.")
    before = {file.name: file.read_bytes() for file in left.iterdir()}
    one, two = sorted(left.iterdir())
    one.unlink()
    two.write_bytes(two.read_bytes()[:40])
    laptop.devices.sync()
    assert {file.name: file.read_bytes() for file in left.iterdir()} == before


def test_an_own_file_with_a_byte_that_was_altered_comes_back(pair):
    """Though it has its size, and is not the last: the others could never read it."""
    laptop, desk, left, right = pair
    keep(laptop, "One.", "Two.", "Three.")
    for file in sorted(left.iterdir())[1:]:
        data = bytearray(file.read_bytes())
        data[-3] ^= 0x40
        file.write_bytes(data)
    laptop.devices.sync()
    for file in left.iterdir():
        shutil.copy(file, right)
    desk.devices.sync()
    assert texts_of(desk) == ["One.", "Three.", "Two."] and troubles_of(desk) == []


def test_a_folder_that_is_not_mounted_is_trouble_and_no_error(pair):
    """It is told and noted, nothing is made in its place, and what waits goes later."""
    laptop, desk, left, right = pair
    moved = left.parent.with_name("unmounted")
    left.parent.rename(moved)
    laptop.remember("One.", space="me/demo")
    report = laptop.devices.sync()
    assert "is not there" in report.troubles[0] and not left.exists()
    assert laptop.devices.status().places[0].fails == 1
    assert any("cannot be reached" in one.text for one in examine_devices(laptop))
    moved.rename(left.parent)
    laptop.devices.sync()
    for file in left.iterdir():
        shutil.copy(file, right)
    desk.devices.sync()
    assert texts_of(desk) == ["One."]


def test_a_copied_home_becomes_a_device_of_its_own(homes, tmp_path):
    """Two homes that write one device's log find that out: one takes another number, and both
    have what either kept.
    """
    (tmp_path / "carried").mkdir()
    laptop = homes("laptop")
    laptop.devices.add(str(tmp_path / "carried"), name="laptop")
    keep(laptop, "One.")
    laptop.close()
    shutil.copytree(tmp_path / "laptop", tmp_path / "copy")
    laptop, copy = homes("laptop"), homes("copy")
    keep(laptop, "Two, kept in the first home.")
    keep(copy, "Two, kept in the copy.")
    keep(laptop, "Three.")
    for _ in range(3):
        copy.devices.sync()
        laptop.devices.sync()
    assert laptop.devices.status().device != copy.devices.status().device
    assert texts_of(laptop) == texts_of(copy)
    assert len(texts_of(copy)) == 4


@pytest.mark.parametrize("third", ["Three.", "Six."])
def test_a_backup_that_is_brought_back_gets_what_came_after_it(homes, tmp_path, monkeypatch, third):
    """The log in the folder is ahead of the home, or has another file of the same size: what it
    says is taken in, nothing is undone.
    """
    monkeypatch.setattr("reverie.sync.device_logs.batch_file.COMPRESSION", 0)
    (tmp_path / "carried").mkdir()
    laptop = homes("laptop")
    laptop.devices.add(str(tmp_path / "carried"), name="laptop")
    keep(laptop, "One.")
    laptop.close()
    shutil.copytree(tmp_path / "laptop", tmp_path / "saved")
    laptop = homes("laptop")
    keep(laptop, "Two.")
    laptop.close()
    shutil.rmtree(tmp_path / "laptop")
    shutil.move(tmp_path / "saved", tmp_path / "laptop")
    laptop = homes("laptop")
    keep(laptop, third)
    laptop.devices.sync()
    assert texts_of(laptop) == sorted(["One.", third, "Two."])


def test_a_home_that_takes_another_number_keeps_what_spaces_are_called(homes, tmp_path):
    """A backup in which a project has two names is written on as it was: what the others tell comes
    to this machine's space, and what is told from here to theirs.
    """
    (tmp_path / "carried").mkdir()
    laptop, desk = homes("laptop"), homes("desk")
    for name, mind in (("laptop", laptop), ("desk", desk)):
        mind.devices.add(str(tmp_path / "carried"), name=name)
    laptop.remember("One.", space="me/demo-aaaaaa")
    laptop.devices.sync()
    desk.devices.sync()
    desk.devices.join_spaces("me/demo-aaaaaa", "me/demo-bbbbbb")
    desk.devices.sync()
    desk.close()
    shutil.copytree(tmp_path / "desk", tmp_path / "copy")
    desk, copy = homes("desk"), homes("copy")
    for mind, text in ((desk, "Two."), (copy, "Three."), (copy, "Four.")):
        mind.remember(text, space="me/demo-bbbbbb")
        mind.devices.sync()
    for _ in range(3):
        for mind in (laptop, desk, copy):
            mind.devices.sync()
    for mind, here in ((laptop, "aaaaaa"), (desk, "bbbbbb"), (copy, "bbbbbb")):
        spaces = {one.text: one.space for one in mind.store.browse(EVERYTHING)}
        assert spaces == dict.fromkeys(("One.", "Two.", "Three.", "Four."), f"me/demo-{here}")


def test_many_files_become_one(pair, monkeypatch):
    """A log is compacted: a new device reads little, an old one nothing anew."""
    monkeypatch.setattr("reverie.sync.device_logs.own_log.MAX_FILES", 5)
    laptop, desk, left, right = pair
    keep(laptop, *(f"Number {n}." for n in range(7)))
    assert len(list(left.iterdir())) < 4
    for file in left.iterdir():
        shutil.copy(file, right)
    desk.devices.sync()
    assert len(texts_of(desk)) == 7 and [one.missing for one in desk.devices.status().others] == [0]


# git


@pytest.fixture
def remote(tmp_path):
    """A bare repository, as a host of git has it."""
    subprocess.run(["git", "init", "--bare", "--quiet", str(tmp_path / "remote.git")], check=True)
    return f"file://{tmp_path}/remote.git"


@pytest.mark.proves("X71")
def test_two_homes_in_step_through_a_git_remote(homes, remote, tmp_path, clock):
    """What one keeps the other has, both ways; each device has a branch of its own, and after a
    purge no commit that can be reached has the text.
    """
    laptop, desk = homes("laptop"), homes("desk")
    laptop.devices.add(remote, name="laptop"), desk.devices.add(remote, name="desk")
    secret = laptop.remember("The codename is bluebird.", space="me/demo")
    desk.remember("The port is 4100.", space="me/demo")
    for _ in range(2):
        assert not laptop.devices.sync().troubles and not desk.devices.sync().troubles
    assert texts_of(laptop) == texts_of(desk) == ["The codename is bluebird.", "The port is 4100."]
    clock.tick()
    laptop.data.purge(secret.id)
    for _ in range(2):
        laptop.devices.sync(), desk.devices.sync()
    assert texts_of(desk) == ["The port is 4100."]
    git = ["git", "--git-dir", str(tmp_path / "remote.git")]
    counted = subprocess.run(
        [*git, "rev-list", "--count", f"reverie/{laptop.devices.status().device}"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert counted.stdout.strip() == "1"


def test_a_remote_that_is_away_is_noted_and_tried_again(homes, remote, tmp_path):
    """Offline is trouble, not an error; what was kept meanwhile goes when it is back."""
    laptop, desk = homes("laptop"), homes("desk")
    laptop.devices.add(remote, name="laptop"), desk.devices.add(remote, name="desk")
    (tmp_path / "remote.git").rename(tmp_path / "away.git")
    laptop.remember("The port is 4100.", space="me/demo")
    assert "cannot be reached" in laptop.devices.sync().troubles[0]
    (tmp_path / "away.git").rename(tmp_path / "remote.git")
    laptop.devices.sync(), desk.devices.sync()
    assert texts_of(desk) == ["The port is 4100."]


def test_the_password_in_the_address_of_a_repository_is_shown_nowhere(homes):
    """Not where a place is named, nor in what is wrong with it; by what is shown it is removed."""
    laptop = homes("laptop")
    added = laptop.devices.add("https://ann:swordfish@127.0.0.1:1/x.git")
    report = laptop.devices.sync()
    status = laptop.devices.status()
    findings = list(examine_devices(laptop))
    assert "127.0.0.1:1/x.git cannot be reached" in report.troubles[0]
    assert "swordfish" not in f"{added} {report} {status} {findings}"
    shown = status.places[0].where
    assert laptop.devices.remove(shown).where == shown == added.where
    assert laptop.devices.status().places == ()


def test_a_copy_of_a_remote_that_was_damaged_is_fetched_anew(homes, remote):
    """A crash of the machine left files empty in the home's own copy."""
    laptop, desk = homes("laptop"), homes("desk")
    laptop.devices.add(remote, name="laptop"), desk.devices.add(remote, name="desk")
    keep(laptop, "One.")
    desk.devices.sync()
    (clone,) = (desk.settings.home / "devices-git").iterdir()
    for path in (clone / "objects").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"")
    keep(laptop, "Two.")
    assert not desk.devices.sync().troubles
    (clone / "HEAD").write_bytes(b"")
    keep(laptop, "Three.")
    assert not desk.devices.sync().troubles
    assert texts_of(desk) == ["One.", "Three.", "Two."]


def test_a_folder_and_a_remote_are_joined_by_who_has_both(homes, remote, tmp_path):
    """What came by one place goes on by the other."""
    (tmp_path / "carried").mkdir()
    left, middle, right = homes("left"), homes("middle"), homes("right")
    left.devices.add(str(tmp_path / "carried"), name="left")
    right.devices.add(remote, name="right")
    left.remember("Left.", space="me/demo"), right.remember("Right.", space="me/demo")
    left.devices.sync(), right.devices.sync()
    middle.devices.add(str(tmp_path / "carried"), name="middle")
    middle.devices.sync()
    middle.devices.add(remote)
    for mind in (middle, left, right, middle, left, right):
        mind.devices.sync()
    assert texts_of(left) == texts_of(middle) == texts_of(right) == ["Left.", "Right."]


# Processes

WRITER = """
import sys
from pathlib import Path
import reverie
from reverie.core.config import Settings
with reverie.open(settings=Settings(home=Path(sys.argv[1]), embedder="none")) as mind:
    for number in range(int(sys.argv[2]), 1_000_000):
        mind.remember(f"The number of the queue is {number}.", space="me/demo")
        mind.devices.sync()
        print(number, flush=True)
"""


def write_until_killed(home, begin, lines):
    """Keep and sync in a process that is killed while it does; the last number it acknowledged."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(home), str(begin)], stdout=subprocess.PIPE, text=True
    )
    last = begin - 1
    assert process.stdout is not None
    for _ in range(lines):
        last = int(process.stdout.readline())
    time.sleep(0.003 * (begin % 5))
    process.send_signal(signal.SIGKILL)
    rest = process.communicate()[0].split()
    return int(rest[-1]) if rest else last


@pytest.mark.proves("X73")
def test_a_process_killed_in_the_middle_loses_nothing(homes, tmp_path):
    """kill -9 again and again while it keeps and syncs: what it acknowledged the other has."""
    (tmp_path / "carried").mkdir()
    laptop, desk = homes("laptop"), homes("desk")
    laptop.devices.add(str(tmp_path / "carried"), name="laptop")
    desk.devices.add(str(tmp_path / "carried"), name="desk")
    laptop.close()
    acknowledged, begin = set(), 0
    for lines in (3, 5, 4):
        last = write_until_killed(tmp_path / "laptop", begin, lines)
        acknowledged |= set(range(begin, last + 1))
        begin = last + 100
        desk.devices.sync()
    laptop = homes("laptop")
    laptop.devices.sync(), desk.devices.sync(), laptop.devices.sync()
    assert {f"The number of the queue is {n}." for n in acknowledged} <= set(texts_of(desk))
    assert texts_of(laptop) == texts_of(desk)
    assert troubles_of(desk) == [] == laptop.data.verify()


def test_two_processes_of_one_home_write_one_log(homes, tmp_path):
    """Both keep and sync at once: no file is written twice, and all of it arrives."""
    (tmp_path / "carried").mkdir()
    laptop, desk = homes("laptop"), homes("desk")
    laptop.devices.add(str(tmp_path / "carried"), name="laptop")
    desk.devices.add(str(tmp_path / "carried"), name="desk")
    script = WRITER.replace("1_000_000", "int(sys.argv[2]) + 8")
    both = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "laptop"), begin],
            stdout=subprocess.DEVNULL,
        )
        for begin in ("0", "100")
    ]
    assert [process.wait(120) for process in both] == [0, 0]
    laptop.devices.sync(), desk.devices.sync()
    assert len(texts_of(desk)) == 16 and troubles_of(desk) == []
    assert laptop.devices.status().device == desk.devices.status().others[0].device


# A place that takes nothing new


def carry(start, end):
    for file in start.iterdir():
        shutil.copy(file, end)


def refuse_writing(folder, monkeypatch, number, *, beyond=0):
    """Have a folder take no more than so many bytes, with an error of this number."""

    def write(path, data, **more):
        kept = sum(one.stat().st_size for one in folder.iterdir() if one != path)
        if path.parent == folder and kept + len(data) > beyond:
            raise OSError(number, os.strerror(number), str(path))
        write_atomically(path, data, **more)

    monkeypatch.setattr(log_folder, "write_atomically", write)


def random_words(seed):
    return " ".join(hashlib.sha256(f"{seed} {n}".encode()).hexdigest() for n in range(30))


def test_in_a_full_folder_the_own_log_is_written_anew_in_its_own_place(pair, monkeypatch):
    """It says a thing over and over, so a snapshot fits where it did not; nobody need do anything."""
    laptop, desk, left, right = pair
    note = laptop.remember("The port is 4100.", space="me/demo")
    for number in range(12):
        laptop.revise(note.id, text=f"The port is {4200 + number}. " + random_words(number))
        laptop.devices.sync()
    kept = sum(one.stat().st_size for one in left.iterdir())
    refuse_writing(left, monkeypatch, errno.ENOSPC, beyond=kept + 100)
    last = "The port is 4300. " + random_words(99)
    laptop.revise(note.id, text=last)
    assert laptop.devices.sync().troubles == ()
    assert sum(one.stat().st_size for one in left.iterdir()) < kept / 2
    carry(left, right)
    desk.devices.sync()
    assert texts_of(desk) == [last]


@pytest.mark.parametrize(
    ("number", "says"),
    [(errno.ENOSPC, "remove-device NAME --files"), (errno.EROFS, "may only be read")],
)
def test_a_folder_that_takes_nothing_is_read_all_the_same(pair, monkeypatch, number, says):
    """What to do is said, each time and in `status`; what is kept meanwhile goes when it can."""
    laptop, desk, left, right = pair
    keep(laptop, "One.")
    carry(left, right)
    refuse_writing(right, monkeypatch, number)
    desk.remember("Two.", space="me/demo")
    for _ in range(2):
        (trouble,) = desk.devices.sync().troubles
        assert says in trouble and desk.devices.status().places[0].trouble == trouble
    assert texts_of(desk) == ["One.", "Two."]
    monkeypatch.undo()
    assert not desk.devices.sync().troubles
    carry(right, left)
    laptop.devices.sync()
    assert texts_of(laptop) == ["One.", "Two."]


def test_why_a_git_host_takes_no_push_is_told_as_it_says(homes, tmp_path):
    """And what others pushed before is read all the same."""
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--bare", "--quiet", str(remote)], check=True)
    laptop, desk = homes("laptop"), homes("desk")
    for mind in (laptop, desk):
        mind.devices.add(str(remote))
    keep(laptop, "One.")
    hook = remote / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\necho "Your quota is used up: ask Brunhilde." >&2\nexit 1\n')
    hook.chmod(0o755)
    desk.remember("Two.", space="me/demo")
    (trouble,) = desk.devices.sync().troubles
    assert "takes nothing of this machine: Your quota is used up: ask Brunhilde." in trouble
    assert texts_of(desk) == ["One.", "Two."]
    hook.unlink()
    assert not desk.devices.sync().troubles
