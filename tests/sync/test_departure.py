# mypy: no-check-untyped-defs
"""Taking away the files of a machine that is gone: nothing that it told is lost."""

import errno
import shutil
import subprocess
from contextlib import suppress
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from reverie.core.errors import BadInput, NotFound
from reverie.core.model import Filter
from reverie.sync.device_logs import log_state, own_log, place_writer
from reverie.sync.device_logs.departure import DeviceFiles
from reverie.sync.device_logs.log_folder import LogFolder
from reverie.sync.device_logs.log_state import DepartingLog, LogPlace, OwnLog
from reverie.sync.device_logs.log_step import DeviceReport
from reverie.testing import Clock, memory
from tests.support.helpers import run_command, toy_home
from tests.sync.conftest import devices_at, paired_homes
from tests.sync.test_device_faults import random_words, refuse_writing
from tests.sync.test_device_talk import TALK, talk_of

EVERYTHING = Filter(active=None, limit=1_000)


@pytest.fixture(params=["folder", "git"])
def place(request, tmp_path):
    path = tmp_path / "place"
    if request.param == "git":
        subprocess.run(["git", "init", "--bare", "--quiet", str(path)], check=True)
    else:
        path.mkdir()
    return path


@pytest.fixture
def make(place, tmp_path):
    with devices_at(place, tmp_path, Clock()) as make:
        yield make


def texts_of(mind):
    return sorted(one.text for one in mind.store.browse(EVERYTHING))


def names_of(mind):
    return {one.name for one in mind.devices.status().others}


def keep(mind, *texts):
    for text in texts:
        mind.remember(text, space="me/demo")
        mind.devices.sync()


def test_who_comes_later_has_all_that_the_machine_told(make):
    """Memories, what it did to those of others, what it purged; and nobody names it any more."""
    desk, laptop = make("desk"), make("laptop")
    note = laptop.remember("The port is 4100.", space="me/demo")
    gone = laptop.remember("The codename is bluebird.", space="me/demo")
    laptop.devices.sync()
    keep(desk, "Only on the desk.")
    desk.revise(note.id, text="The port is 4200.")
    desk.data.purge(gone.id)
    desk.devices.sync()
    desk.close()
    laptop.devices.remove_files("desk")
    assert laptop.devices.sync().troubles == ()
    assert names_of(laptop) == set() and not laptop.devices.status().departing
    phone = make("phone")
    phone.devices.sync()
    assert texts_of(phone) == ["Only on the desk.", "The port is 4200."]
    assert names_of(phone) == {"laptop"}
    with pytest.raises(NotFound, match="No other machine is called desk"):
        laptop.devices.find_files("desk")
    # What is changed later goes on as ever, and a snapshot has all of it too.
    keep(laptop, "Later.")
    laptop.data.purge(laptop.remember("Away with it.", space="me/demo").id)
    laptop.devices.sync()
    phone.devices.sync()
    assert texts_of(phone) == ["Later.", "Only on the desk.", "The port is 4200."]
    tablet = make("tablet")
    tablet.devices.sync()
    assert texts_of(tablet) == texts_of(phone)


def test_what_it_said_in_sessions_is_told_on(make):
    """Though this machine tells no talk of its own."""
    desk, laptop = make("desk"), make("laptop")
    desk.devices.include("me/demo", ["talk"])
    desk.learn(TALK, space="me/demo", session="s1")
    desk.devices.sync()
    desk.close()
    laptop.devices.remove_files("desk")
    laptop.devices.sync()
    for name in ("phone", "tablet"):
        later = make(name)
        later.devices.sync()
        assert talk_of(later) == [one["content"] for one in TALK]
        # It stands in the next snapshot too.
        laptop.data.purge(laptop.remember("Away with it.", space="me/demo").id)
        laptop.devices.sync()


@pytest.mark.parametrize("calls", range(0, 12, 2))
def test_who_is_killed_goes_on_later(tmp_path, calls):
    """Between any two writes: at no time is what the desk told in no log that lies there."""
    (tmp_path / "place").mkdir()
    left = calls

    def dying(real):
        def call(*args, **more):
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            return real(*args, **more)

        return call

    with devices_at(tmp_path / "place", tmp_path, Clock()) as make:
        desk, laptop = make("desk"), make("laptop")
        keep(laptop, "One.")
        keep(desk, "Two.", "Three.")
        laptop.devices.remove_files("desk")
        with (
            patch.object(LogFolder, "write", dying(LogFolder.write)),
            patch.object(LogFolder, "erase_log", dying(LogFolder.erase_log)),
            patch.object(place_writer, "end_departure", dying(place_writer.end_departure)),
            patch.object(own_log, "save_own", dying(own_log.save_own)),
            suppress(KeyboardInterrupt),
        ):
            laptop.devices.sync()
        shutil.copytree(tmp_path / "place", tmp_path / "seen")
        phone = make("phone", where=tmp_path / "seen")
        phone.devices.sync()
        assert texts_of(phone) == ["One.", "Three.", "Two."]
        laptop.devices.sync()
        assert names_of(laptop) == set()


def test_what_cannot_be_read_goes_only_if_one_says_so(tmp_path):
    """A damaged file is named; a place that is away keeps its files until it is back."""
    with devices_at(tmp_path, tmp_path, Clock()) as make:
        for name in ("here", "there"):
            (tmp_path / name).mkdir()
        desk, laptop = (
            make("desk", where=tmp_path / "here"),
            make("laptop", where=tmp_path / "here"),
        )
        for mind in (desk, laptop):
            mind.devices.add(str(tmp_path / "there"))
        keep(desk, "One.", "Two.")
        device = desk.devices.status().device
        for name in ("here", "there"):
            (tmp_path / name / f"reverie-log/{device}-00000002.log").write_bytes(b"RVLOG1\r\nx")
        with pytest.raises(BadInput, match="cannot be read here, and would be lost"):
            laptop.devices.remove_files("desk")
        found = laptop.devices.find_files(device)
        assert (found.total, found.unread) == (6, 2)
        (tmp_path / "there").rename(tmp_path / "away")
        with pytest.raises(Exception, match="is not there"):
            laptop.devices.find_files(device)
        (tmp_path / "away").rename(tmp_path / "there")
        laptop.devices.remove_files(device, even_unread=True)
        (tmp_path / "there").rename(tmp_path / "away")
        laptop.devices.sync()
        assert not list((tmp_path / "here/reverie-log").glob(f"{device}*"))
        (log,) = laptop.devices.status().departing
        assert log.where == str(tmp_path / "there/reverie-log")
        (tmp_path / "away").rename(tmp_path / "there")
        laptop.devices.sync()
        assert not list((tmp_path / "there/reverie-log").glob(f"{device}*"))
        assert not laptop.devices.status().departing


def test_a_machine_that_leaves_something_out_is_told_so(tmp_path):
    """It has not all that the other told; nor may it be itself, or one that nobody knows."""
    with devices_at(tmp_path, tmp_path, Clock()) as make:
        desk, laptop = make("desk"), make("laptop")
        keep(desk, "One.")
        with pytest.raises(BadInput, match="That is this machine"):
            laptop.devices.find_files(laptop.devices.status().device)
        with pytest.raises(NotFound, match="desk"):
            laptop.devices.find_files("fridge")
        laptop.close()
        with (
            memory(tmp_path / "laptop", embedder="none", off=("me/demo",)) as leaving_out,
            pytest.raises(BadInput, match="switched off here in me/demo"),
        ):
            leaving_out.devices.remove_files("desk")


def test_the_command_asks_and_takes_the_keys_too(tmp_path):
    """Of a sealed place: no keys, no files, no request of a machine that never was paired."""
    (tmp_path / "place").mkdir()

    def run(home, *words, **more):
        done = run_command(*words, "--home", str(tmp_path / home), **more)
        return done.stdout + done.stderr

    with paired_homes(tmp_path, str(tmp_path / "place"), sealed=True) as open_home:
        laptop, desk = open_home("laptop"), open_home("desk")
        keep(desk, "Only on the desk.")
        device = desk.devices.status().device
    with memory(tmp_path / "phone", embedder="none") as phone:
        assert phone.devices.add(str(tmp_path / "place"), name="phone").code
        phone.devices.sync()
        waiting = phone.devices.status().device
    toy_home(tmp_path / "other")
    folder = tmp_path / "place/reverie-log"
    said = run("laptop", "sync", "remove-device", "desk", "--files", stdin="n\n")
    assert "desk" in said and "Nothing was taken away" in said
    assert list(folder.glob(f"{device}-*"))
    said = run("laptop", "sync", "remove-device", "desk", "--files", stdin="y\n")
    assert "its files are gone" in said and not list(folder.glob(f"{device}-*"))
    assert f"{waiting} asks to be paired" in run("laptop", "sync", "pair")
    run("laptop", "sync", "remove-device", waiting, "--files", "--yes")
    assert not list(folder.glob(f"{waiting}-*"))
    said = run("laptop", "sync", "status")
    assert "Removed: desk" in said and "files read" not in said
    with memory(tmp_path / "laptop", embedder="none") as laptop:
        assert texts_of(laptop) == ["Only on the desk."]


def test_what_others_altered_comes_to_a_place_that_is_added_later(tmp_path):
    """Of a memory that this machine told long ago the others there have the text of now."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    with devices_at(tmp_path / "here", tmp_path, Clock()) as make:
        laptop, desk = make("laptop"), make("desk")
        note = laptop.remember("The port is 4100.", space="me/demo")
        for mind in (laptop, desk):
            mind.devices.sync()
        desk.revise(note.id, text="The port is 4200.")
        for mind in (desk, laptop):
            mind.devices.sync()
        laptop.devices.add(str(tmp_path / "there"))
        laptop.devices.sync()
        phone = make("phone", where=tmp_path / "there")
        phone.devices.sync()
        assert texts_of(phone) == ["The port is 4200."]


def test_a_purge_by_git_holds_up_nothing(make):
    """It clears what the home has of the repository, in the middle of reading it."""
    laptop, desk = make("laptop"), make("desk")
    gone = laptop.remember("The codename is bluebird.", space="me/demo")
    laptop.devices.sync()
    desk.devices.sync()
    keep(laptop, "One.")
    laptop.data.purge(gone.id)
    keep(laptop, "Two.")
    assert desk.devices.sync().troubles == ()
    assert texts_of(desk) == ["One.", "Two."]


SECRET_PLACE = LogPlace("git", "https://ann:ghp_token@host.test/logs.git")


def test_a_token_of_a_git_host_is_shown_nowhere(tmp_path):
    """Neither in what is found of a machine nor in what is still to be taken away."""
    found = DeviceFiles("d1", "desk", ((SECRET_PLACE, 1, ()),))
    assert "ghp_token" not in repr(found.shown()) and "host.test" in repr(found.shown())
    with memory(tmp_path / "home", embedder="none") as mind:
        leaving = DepartingLog("d1", "desk", SECRET_PLACE.kind, SECRET_PLACE.where)
        log_state.save_own(
            mind.store, OwnLog("d0", "laptop", places=(SECRET_PLACE,), departing=(leaving,))
        )
        assert "ghp_token" not in repr(mind.devices.status())


def test_what_cannot_be_read_later_is_not_lost_by_an_earlier_yes(make, place):
    """The command asks once, about what it found: what turns up after that keeps its files."""
    if (place / "HEAD").exists():
        pytest.skip("files are damaged in a folder")
    desk, laptop = make("desk"), make("laptop")
    keep(desk, "Only on the desk.")
    laptop.devices.sync()
    found = laptop.devices.find_files("desk")
    keep(desk, "Said later.")
    newest = max((place / "reverie-log").glob(f"{found.device}*"))
    newest.write_bytes(newest.read_bytes()[:-9])
    laptop.devices.remove_files(found, even_unread=bool(found.unread))
    laptop.devices.sync()
    assert newest.exists() and laptop.devices.status().departing


def test_a_machine_whose_last_place_is_removed_is_named_no_more(make, place):
    """Its files were to be taken away there only."""
    desk, laptop = make("desk"), make("laptop")
    keep(desk, "One.")
    laptop.devices.sync()
    with patch.object(place_writer.PlaceWriter, "erase_departed"):
        laptop.devices.remove_files("desk")
        laptop.devices.sync()
        laptop.devices.remove(laptop.devices.status().places[0].where)
    assert laptop.devices.status().departing == () and "desk" not in names_of(laptop)


# A place that is full


@pytest.fixture
def crowded(tmp_path, monkeypatch):
    """`fill(laptop_words, desk_words)`: two homes at a folder, each of which has told so many texts
    of its own, the desk a revised one once more; then the folder takes not a byte more, and laptop
    has kept what does not fit.
    """
    (tmp_path / "place").mkdir()
    folder = tmp_path / "place/reverie-log"
    with devices_at(tmp_path / "place", tmp_path, Clock()) as make:

        def fill(of_laptop, of_desk, revised):
            desk, laptop = make("desk"), make("laptop")
            keep(laptop, *(random_words(f"laptop {number}") for number in range(of_laptop)))
            keep(desk, *(random_words(f"desk {number}") for number in range(of_desk)))
            note = desk.remember(random_words("note"), space="me/demo")
            for number in range(revised):
                desk.devices.sync()
                desk.revise(note.id, text=random_words(f"note {number}"))
            desk.devices.sync()
            desk.close()
            laptop.devices.sync()
            kept = sum(one.stat().st_size for one in folder.iterdir())
            refuse_writing(folder, monkeypatch, errno.ENOSPC, beyond=kept)
            for number in range(12):
                laptop.remember(random_words(f"late {number}"), space="me/demo")
                troubles = laptop.devices.sync().troubles
                if troubles:
                    break
            assert "remove-device NAME --files" in troubles[0]
            return laptop

        yield SimpleNamespace(fill=fill, make=make, folder=folder)


@pytest.mark.parametrize(("of_laptop", "of_desk"), [(1, 1), (1, 6), (6, 1)])
def test_in_a_full_folder_the_files_of_a_machine_that_is_gone_make_room(
    crowded, monkeypatch, of_laptop, of_desk
):
    """As is advised there, whichever log is the larger: not a byte more is taken, and what both
    told is in the log that stays.
    """
    laptop = crowded.fill(of_laptop, of_desk, revised=6)
    laptop.devices.remove_files("desk")
    assert laptop.devices.sync().troubles == ()
    assert names_of(laptop) == set() and not laptop.devices.status().departing
    assert laptop.devices.sync() == DeviceReport()
    monkeypatch.undo()
    phone = crowded.make("phone")
    phone.devices.sync()
    assert texts_of(phone) == texts_of(laptop) and names_of(phone) == {"laptop"}


def test_what_would_not_fit_even_so_takes_nobodys_files_away(crowded, monkeypatch):
    """Of what desk told alone there would be no log at the place: it stays until there is room."""
    laptop = crowded.fill(3, 3, revised=0)
    for number in range(6):
        laptop.remember(random_words(f"more {number}"), space="me/demo")
    (desk,) = laptop.devices.status().others
    before = {one.name: one.read_bytes() for one in crowded.folder.glob(f"{desk.device}*")}
    laptop.devices.remove_files("desk")
    arrives = crowded.folder / f"{'0' * 12}-00000001.log"
    erase_log = LogFolder.erase_log

    def erase_while_a_file_arrives(*args):
        erase_log(*args)
        arrives.write_bytes(b"RVLOG1\r\nx")

    monkeypatch.setattr(LogFolder, "erase_log", erase_while_a_file_arrives)
    for _ in range(2):
        (trouble,) = laptop.devices.sync().troubles
        assert "would be without the files of desk too" in trouble
        assert before and before == {
            one.name: one.read_bytes() for one in crowded.folder.glob(f"{desk.device}*")
        }
    assert [one.name for one in laptop.devices.status().departing] == ["desk"]
    assert arrives.exists()
    arrives.unlink()
    monkeypatch.undo()
    assert laptop.devices.sync().troubles == ()
    assert not list(crowded.folder.glob(f"{desk.device}*"))
    phone = crowded.make("phone")
    phone.devices.sync()
    assert texts_of(phone) == texts_of(laptop) and names_of(phone) == {"laptop"}


@pytest.mark.parametrize("calls", range(0, 8, 2))
def test_who_is_killed_in_a_full_folder_goes_on_later(crowded, monkeypatch, calls):
    """Between any two writes: the home has all, and the next time that it is asked it lies there."""
    laptop, left = crowded.fill(3, 3, revised=6), calls

    def dying(real):
        def call(*args, **more):
            nonlocal left
            left -= 1
            if left < 0:
                raise KeyboardInterrupt
            return real(*args, **more)

        return call

    laptop.devices.remove_files("desk")
    with (
        patch.object(LogFolder, "write", dying(LogFolder.write)),
        patch.object(LogFolder, "remove", dying(LogFolder.remove)),
        patch.object(LogFolder, "erase_log", dying(LogFolder.erase_log)),
        patch.object(place_writer, "end_departure", dying(place_writer.end_departure)),
        suppress(KeyboardInterrupt),
    ):
        laptop.devices.sync()
    assert laptop.devices.sync().troubles == () and names_of(laptop) == set()
    monkeypatch.undo()
    phone = crowded.make("phone")
    phone.devices.sync()
    assert texts_of(phone) == texts_of(laptop)
