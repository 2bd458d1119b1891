"""What was said in sessions, on the user's other machines where it was asked for; and what a log
may not speak of.
"""

import subprocess

import pytest

from reverie.core.errors import BadInput
from reverie.core.model import Filter
from reverie.sync.device_logs.batch_file import BatchHead, LogName, write_batch
from reverie.sync.device_logs.local_changes import RECEIVED
from reverie.sync.device_logs.marks import Mark, Marks, marks_to_json
from reverie.sync.device_logs.sealer import PlainSealer
from reverie.sync.device_logs.talk import Said, is_rest_of, join_messages
from reverie.sync.wire_format import memory_to_wire, number_of
from reverie.testing import Clock
from tests.sync.conftest import devices_at

EVERYTHING = Filter(active=None, limit=10_000)
TALK = [
    {"role": "user", "content": "The heron server hums at night, and nobody knows why it does."},
    {"role": "assistant", "content": "Its fan is loose: the bearing was replaced in March."},
    {"role": "user", "content": "Then order a spare bearing from the shop in Leipzig, please."},
]


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def remote(tmp_path):
    """A git repository that machines reach."""
    path = tmp_path / "remote.git"
    subprocess.run(["git", "init", "--bare", "--quiet", str(path)], check=True)
    return path


@pytest.fixture
def device(tmp_path, remote, clock):
    """Homes by name, in step through the repository; all are closed at the end."""
    with devices_at(remote, tmp_path, clock) as make:
        yield make


def sync(*minds, rounds=2):
    for _ in range(rounds):
        for mind in minds:
            assert () == mind.devices.sync().troubles


def talk_of(mind, session="s1"):
    """What the log of a home says of a session, a later version of a message in place of it."""
    said = {}
    for event in mind.store.events(session=session, verbs=("turn", "heard"), limit=1_000):
        messages = event.payload["messages"]
        for number, message in zip(event.payload["places"], messages, strict=False):
            said[number] = message["text"]
    return [text for _, text in sorted(said.items())]


def texts_in(folder):
    """What a git repository still has of files, unpacked."""
    listed = ["git", "-C", str(folder), "for-each-ref", "--format=%(refname)"]
    return subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()


def test_talk_stays_at_home_unless_it_is_asked_for(device):
    """Memories go, what was said does not; `status` says so, and nothing of it is in the log."""
    laptop, desk = device("laptop"), device("desk")
    laptop.learn(TALK, space="me/demo", session="s1")
    sync(laptop, desk)
    assert talk_of(desk) == [] and len(talk_of(laptop)) == 3
    assert laptop.devices.status().talk == ()
    with pytest.raises(BadInput, match="each machine makes its own"):
        laptop.devices.include("me/demo", ["code"])
    with pytest.raises(BadInput, match="none of yours"):
        laptop.devices.include("acme", ["talk"])


@pytest.mark.proves("X77")
def test_talk_that_was_asked_for_is_found_on_every_machine(device):
    """What was said before and after, of that space alone; told once, found by its words, and
    nothing is learned from it a second time.
    """
    laptop, desk, phone = device("laptop"), device("desk"), device("phone")
    laptop.learn(TALK[:2], space="me/demo", session="s1")
    laptop.learn(TALK, space="me/other", session="s2")
    assert laptop.devices.include("me/demo", ["talk"]) == ("me/demo",)
    sync(laptop, desk, phone)
    laptop.learn(TALK, space="me/demo", session="s1")
    sync(laptop, desk, phone)
    for mind in (desk, phone):
        assert talk_of(mind) == [one["content"] for one in TALK]
        assert talk_of(mind, "s2") == []
        mind.settle()
        (hit, *_) = mind.recall("who replaced the loose fan bearing?", space="me/demo")
        assert "bearing was replaced in March" in hit.memory.text
        memories = {one.id for one in mind.store.browse(EVERYTHING)}
        assert memories == {one.id for one in laptop.store.browse(EVERYTHING)}
    assert not any(mind.devices.sync() for mind in (laptop, desk, phone))
    # Told anew, as by a snapshot or a home with another number, it comes to the same.
    desk.devices.add(str(desk.devices.status().places[0].where), name="desk")
    sync(desk, laptop)
    assert talk_of(desk) == [one["content"] for one in TALK]


def test_one_transcript_that_two_machines_read_is_one(device):
    """Both tell it, neither has it twice."""
    laptop, desk = device("laptop"), device("desk")
    for mind in (laptop, desk):
        mind.learn(TALK, space="me/demo", session="s1")
        mind.devices.include("me", ["talk"])
    sync(laptop, desk)
    for mind in (laptop, desk):
        events = mind.store.events(session="s1", verbs=("turn", "heard"), limit=100)
        assert sum(len(one.payload["messages"]) for one in events) == len(TALK)


def test_a_secret_that_is_scrubbed_goes_from_talk_everywhere(device, remote):
    """From the other machine's log and index, and whichever of them it is scrubbed on."""
    laptop, desk, phone = device("laptop"), device("desk"), device("phone")
    laptop.learn(TALK, space="me/demo", session="s1")
    laptop.devices.include("me/demo", ["talk"])
    sync(laptop, desk, phone)
    for mind in (laptop, desk, phone):
        mind.settle()
    desk.data.scrub("bearing", write=True)
    sync(desk, laptop, phone, rounds=3)
    for mind in (laptop, desk, phone):
        assert not any("bearing" in text for text in talk_of(mind)), mind
        assert talk_of(mind)[0] == TALK[0]["content"]
        assert "[REDACTED" in talk_of(mind)[1]
        mind.settle()
        dumped = [row for row in mind.store.dump() if "loose: the bearing" in repr(row)]
        assert dumped == []
        assert not any("bearing" in text for _, _, text in mind.store.transcripts.texts())
    assert not any(mind.devices.sync() for mind in (laptop, desk, phone))


def test_words_that_are_purged_go_from_every_machine(device):
    """A passage that is purged on one machine is gone on the others too."""
    laptop, desk = device("laptop"), device("desk")
    laptop.learn(TALK, space="me/demo", session="s1")
    laptop.devices.include("me/demo", ["talk"])
    sync(laptop, desk)
    for mind in (laptop, desk):
        mind.settle()
    passage = next(
        hit
        for hit in laptop.recall("spare bearing Leipzig", space="me/demo")
        if "Leipzig" in hit.memory.text
    )
    laptop.data.purge(passage.memory.id)
    sync(laptop, desk, rounds=3)
    for mind in (laptop, desk):
        assert not any("Leipzig" in text for text in talk_of(mind))
        assert "Leipzig" not in repr(list(mind.store.dump()))
        assert talk_of(mind)[:2] == [one["content"] for one in TALK[:2]]


def test_two_scrubs_that_know_nothing_of_each_other_both_hold(device):
    """Each machine took another word out of one message: in the end neither word is anywhere."""
    laptop, desk = device("laptop"), device("desk")
    laptop.learn(TALK, space="me/demo", session="s1")
    laptop.devices.include("me/demo", ["talk"])
    sync(laptop, desk)
    laptop.data.scrub("bearing", write=True)
    desk.data.scrub("Leipzig", write=True)
    sync(laptop, desk, rounds=4)
    assert talk_of(laptop) == talk_of(desk)
    for word in ("bearing", "Leipzig"):
        assert not any(word in text for text in (*talk_of(laptop), *talk_of(desk)))
    assert talk_of(desk)[0] == TALK[0]["content"]


def test_talk_that_is_asked_for_no_longer_leaves_the_log(device):
    """What others have stays; new talk is not told, and no file holds the old."""
    laptop, desk = device("laptop"), device("desk")
    laptop.learn(TALK[:2], space="me/demo", session="s1")
    laptop.devices.include("me", ["talk"])
    sync(laptop, desk)
    assert laptop.devices.include("me", []) == ()
    laptop.learn(TALK, space="me/demo", session="s1")
    sync(laptop, desk)
    assert len(talk_of(desk)) == 2
    late = device("late")
    sync(laptop, late)
    assert talk_of(late) == []


@pytest.mark.parametrize(
    ("one", "other", "joined"),
    [
        ("a [REDACTED:key] c", "a b c", "a [REDACTED:key] c"),
        ("[purged]", "a b c", "[purged]"),
        ("a [purged] c", "a b [purged]", "[purged]"),
        ("a b c", "a b c", "a b c"),
    ],
)
def test_two_versions_of_a_message_come_to_what_is_left_of_both(one, other, joined):
    """Whichever is ours."""
    messages = [Said(3, "user", text, 1.0) for text in (one, other)]
    assert join_messages(*messages).text == join_messages(*reversed(messages)).text == joined
    assert is_rest_of(joined, one) and is_rest_of(joined, other)


# What a log may not speak of.


def plant(folder, entries):
    """A log of another machine that says this."""
    name = LogName("ab" * 6, 1)
    data = write_batch(BatchHead(*name, "", name="phone", at=1.0), entries, PlainSealer())
    (folder / "reverie-log" / name.text).write_bytes(data)


def test_a_log_has_no_say_outside_of_the_users_own_spaces(device, tmp_path):
    """Neither adds, revises nor purges there; the rest of it counts, and `status` names the space."""
    (tmp_path / "carried").mkdir()
    desk = device("desk", where=tmp_path / "carried")
    team = desk.remember("Deploys run from release.", space="acme/web")
    forged = team._replace(text="Deploys run from main.", space="me/web")
    marks = marks_to_json(Marks(Mark(1 << 60)))
    planted = team._replace(id=desk.remember("x y z", space="me/tmp").id, text="Planted.")
    desk.data.purge(planted.id)
    fresh = planted._replace(id="mem_" + "0" * 25 + "1")
    mine = fresh._replace(id="mem_" + "0" * 25 + "2", space="me/demo", text="The port is 4100.")
    plant(
        tmp_path / "carried",
        [
            {"gone": number_of(team.id)},
            *({"memory": memory_to_wire(one), "marks": marks} for one in (forged, fresh, mine)),
            {"said": {
                "key": "0" * 20, "version": 1, "space": "acme/web", "session": "s1", "at": 1.0,
                "messages": [[0, "user", "Planted talk.", 1.0]],
            }},
            {"said": {"key": "no key"}},
        ],
    )  # fmt: skip
    desk.devices.sync()
    texts = sorted(one.text for one in desk.store.browse(EVERYTHING))
    assert texts == ["Deploys run from release.", "The port is 4100."]
    assert talk_of(desk) == []
    (other,) = desk.devices.status().others
    (trouble,) = other.troubles
    assert "acme/web" in trouble and "not taken in" in trouble
    assert [one.verb for one in desk.store.events(verbs=(RECEIVED,), limit=9)] == [RECEIVED]
