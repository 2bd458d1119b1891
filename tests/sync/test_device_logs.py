"""Homes of one user in step through a folder: what one keeps the other has, whatever the folder
does to the files.
"""

import zlib

import pytest

from reverie.core.errors import BadInput, NotFound
from reverie.core.model import Event, Filter, Revise
from reverie.sync.device_logs import log_folder
from reverie.sync.device_logs.batch_file import HEAD
from reverie.testing import Clock
from tests.sync.conftest import devices_at

EVERYTHING = Filter(active=None, limit=10_000)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def folder(tmp_path):
    """A folder that something else carries between machines."""
    path = tmp_path / "carried"
    path.mkdir()
    return path


@pytest.fixture
def device(tmp_path, folder, clock):
    """Homes by name, in step through the folder; all are closed at the end."""
    with devices_at(folder, tmp_path, clock) as make:
        yield make


def sync(*minds, rounds=2):
    """Bring devices in step; what they report together."""
    reports = [mind.devices.sync() for _ in range(rounds) for mind in minds]
    assert [] == [trouble for report in reports for trouble in report.troubles]
    return reports


def state_of(mind):
    """All that is synced of a home, by id."""
    found = {one.id: one._replace(conflicts_with=()) for one in mind.store.browse(EVERYTHING)}
    return dict(sorted(found.items()))


def logs_in(folder):
    return sorted((folder / "reverie-log").iterdir())


def logs_of(folder, name):
    """The files of logs that are in a home, and those in the folder."""
    return [*(folder.parent / name / "devices").glob("*.log"), *logs_in(folder)]


def inflated(path):
    """What a file of a log says, unpacked."""
    return zlib.decompress(path.read_bytes()[HEAD.size :])


@pytest.mark.proves("X71")
def test_what_one_machine_keeps_the_other_has(device, folder):
    """A memory comes whole, and the files' names tell device and number alone."""
    laptop, desk = device("laptop"), device("desk")
    note = laptop.remember(
        "The staging server is called heron.",
        space="me/demo",
        tags=["staging"],
        kind="decision",
        provenance="user_stated",
        triggers=["deploy"],
    )
    sync(laptop, desk)
    assert desk.get([note.id]) == [note]
    number = laptop.devices.status().device
    assert [path.name for path in logs_in(folder)] == [f"{number}-00000001.log"]
    assert not any(sync(laptop, desk))


@pytest.mark.proves("X72")
def test_a_text_revised_on_two_machines_is_kept_twice_and_asked_about(device, clock):
    """The later text stands in the memory, the other beside it; both are one card of the review,
    on both machines, and the answer given on one of them holds on both.
    """
    laptop, desk = device("laptop"), device("desk")
    note = laptop.remember("The port is 4100.", space="me/demo")
    sync(laptop, desk)
    clock.tick()
    laptop.revise(note.id, text="The port is 4200.")
    clock.tick()
    desk.revise(note.id, text="The port is 4300.")
    sync(laptop, desk, rounds=3)
    assert state_of(laptop) == state_of(desk)
    texts = {one.text for one in desk.store.browse(EVERYTHING)}
    assert texts == {"The port is 4200.", "The port is 4300."}
    assert laptop.get([note.id])[0].text == "The port is 4300."
    (card,) = laptop.review.queue(space="me/demo")
    assert card.why == "one text, revised on two machines"
    assert [card.key] == [one.key for one in desk.review.queue(space="me/demo")]
    assert laptop.devices.status().conflicts and desk.devices.status().conflicts
    clock.tick()
    laptop.review.answer(card.key, "accept")
    sync(laptop, desk)
    assert desk.review.queue(space="me/demo") == []
    assert state_of(laptop) == state_of(desk)
    assert laptop.devices.status().conflicts == desk.devices.status().conflicts == ()
    assert not any(one.conflicts_with for one in desk.store.browse(EVERYTHING))
    assert [] == laptop.data.verify() == desk.data.verify()


def test_edits_of_different_things_meet_in_one_memory(device, clock):
    """Tags are a set, uses add up, other fields are the later word: nothing is asked."""
    laptop, desk = device("laptop"), device("desk")
    note = laptop.remember("The port is 4100.", space="me/demo", tags=["old", "kept"])
    sync(laptop, desk)
    clock.tick()
    laptop.tag(note.id, add=["left"], remove=["old"])
    laptop.feedback(note.id, helpful=True)
    laptop.revise(note.id, text="The port is 4200.")
    desk.tag(note.id, add=["right"])
    desk.feedback(note.id, helpful=True)
    sync(laptop, desk)
    assert state_of(laptop) == state_of(desk)
    (one,) = state_of(desk).values()
    assert (one.text, set(one.tags)) == ("The port is 4200.", {"kept", "left", "right"})
    assert one.access_count == 2 and desk.devices.status().conflicts == ()


def test_forgetting_and_restoring_follow_the_life_of_a_memory(device, clock):
    """What was forgotten on one is forgotten on the other though it was edited there; who brings it
    back knowing that has it back everywhere, with the edit.
    """
    laptop, desk = device("laptop"), device("desk")
    note = laptop.remember("The port is 4100.", space="me/demo")
    sync(laptop, desk)
    clock.tick()
    laptop.forget(note.id)
    clock.tick()
    desk.revise(note.id, text="The port is 4200.")
    sync(laptop, desk)
    assert not laptop.get([note.id])[0].active and not desk.get([note.id])[0].active
    clock.tick()
    laptop.restore(note.id)
    sync(laptop, desk)
    (one,) = state_of(desk).values()
    assert one.active and one.text == "The port is 4200."
    assert state_of(laptop) == state_of(desk)


def test_links_follow_and_wait_for_their_end(device, clock):
    """An edge is there on the other machine, and gone when it is taken away."""
    laptop, desk = device("laptop"), device("desk")
    one = laptop.remember("The port is 4100.", space="me/demo")
    other = laptop.remember("The host is heron.", space="me/demo")
    laptop.link(one.id, other.id, "relates_to")
    sync(laptop, desk)
    wanted = [(one.id, "relates_to", other.id)]
    assert [edge[:3] for edge in desk.store.edges([one.id], ["relates_to"])] == wanted
    clock.tick()
    desk.link(one.id, other.id, "relates_to", weight=0.0)
    sync(laptop, desk)
    assert laptop.store.edges([one.id], ["relates_to"]) == []


def test_a_log_file_that_cannot_be_removed_is_named_by_a_purge(device, monkeypatch):
    """It may hold what was erased, and the purge says so; the next one removes it."""
    laptop = device("laptop")
    note = laptop.remember("The heron nests by the lock.", space="me/demo")
    laptop.devices.sync()
    with monkeypatch.context() as patch:
        patch.setattr(log_folder, "rmtree", lambda *_, **__: None)
        left = laptop.data.purge(note.id).unreached
    assert left and all("devices" in str(path) or "log" in str(path) for path in left), left
    other = laptop.remember("The kestrel nests in the tower.", space="me/demo")
    assert not laptop.data.purge(other.id).unreached
    assert not any(path.exists() for path in left)


def test_a_purge_reaches_the_other_machine_and_every_log(device, folder, clock):
    """Erased on one, it is erased on both, and so is each file that held it; an edit made
    elsewhere meanwhile does not bring it back.
    """
    laptop, desk = device("laptop"), device("desk")
    note = laptop.remember("The codename is bluebird seven.", space="me/demo")
    kept = laptop.remember("The port is 4100.", space="me/demo")
    sync(laptop, desk)
    clock.tick()
    desk.tag(note.id, add=["secret"])
    laptop.data.purge(note.id)
    sync(laptop, desk, rounds=3)
    for mind in (laptop, desk):
        assert [*state_of(mind)] == [kept.id]
        assert "bluebird" not in repr(list(mind.store.dump()))
    files = [path for name in ("laptop", "desk") for path in logs_of(folder, name)]
    assert files and not any(b"bluebird" in inflated(path) for path in files)
    third = device("third")
    sync(third)
    assert [*state_of(third)] == [kept.id]


def test_clocks_that_are_wrong_lose_nothing(device, clock):
    """An edit that knows another holds against it though its machine's clock is a day behind."""
    laptop, desk = device("laptop"), device("desk")
    note = laptop.remember("The port is 4100.", space="me/demo")
    laptop.revise(note.id, text="The port is 4200.")
    sync(laptop, desk)
    clock.tick(-86_400)
    desk.revise(note.id, text="The port is 4300.")
    sync(desk, laptop)
    assert laptop.get([note.id])[0].text == "The port is 4300."
    assert laptop.devices.status().conflicts == ()


def test_what_is_no_place_is_refused_with_a_sentence(device, tmp_path):
    """A folder that is not there, one in the home, and a place that was never added."""
    laptop = device("laptop")
    for wrong in (tmp_path / "nowhere", tmp_path / "laptop"):
        with pytest.raises(BadInput):
            laptop.devices.add(str(wrong))
    with pytest.raises(NotFound, match="carried"):
        laptop.devices.remove(str(tmp_path / "nowhere"))


def test_one_project_in_two_folders_is_one_space(device, clock):
    """Its spaces are named after the folders; once it is said which is which, each machine has
    all of it under its own name.
    """
    laptop, desk = device("laptop"), device("desk")
    laptop.remember("The port is 4100.", space="me/demo-aaaaaa")
    desk.remember("The host is heron.", space="me/demo-bbbbbb")
    sync(laptop, desk)
    assert desk.devices.status().namesakes == (("me/demo-aaaaaa", "me/demo-bbbbbb"),)
    clock.tick()
    assert desk.devices.join_spaces("me/demo-aaaaaa", "me/demo-bbbbbb") == 1
    desk.remember("The queue is two.", space="me/demo-bbbbbb/session-1")
    laptop.remember("The log is long.", space="me/demo-aaaaaa")
    sync(desk, laptop)
    for mind, here in ((laptop, "me/demo-aaaaaa"), (desk, "me/demo-bbbbbb")):
        spaces = {one.text: one.space for one in mind.store.browse(EVERYTHING)}
        assert spaces == {
            "The port is 4100.": here,
            "The host is heron.": here,
            "The queue is two.": f"{here}/session-1",
            "The log is long.": here,
        }
    assert not any(sync(laptop, desk))


def test_a_secret_that_was_scrubbed_does_not_come_back(device, folder, clock):
    """Cleaned on one machine, the text is cleaned on the other, and in no file; an edit made there
    before that does not bring it back.
    """
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    laptop, desk = device("laptop"), device("desk")
    note = laptop.remember("The token of the relay is old.", space="me/demo")
    given = Revise(note.id, {"text": f"The token of the relay is {secret}."})
    laptop.store.apply([given], Event("revise", "me/demo", clock()))
    sync(laptop, desk)
    assert secret in desk.get([note.id])[0].text
    clock.tick()
    desk.tag(note.id, add=["relay"])
    assert laptop.data.scrub(write=True).finds
    sync(laptop, desk, rounds=3)
    for mind in (laptop, desk):
        (one,) = mind.get([note.id])
        assert secret not in one.text and "REDACTED" in one.text and one.tags == ("relay",)
    own = laptop.devices.status().device
    files = [one for one in logs_of(folder, "laptop") if one.name.startswith(own)]
    assert files and not any(secret.encode() in inflated(one) for one in files)
