"""Homes and a server in step: what one device keeps the other has, what is lost in between is not."""

import pytest

from reverie.core.clock import new_id
from reverie.core.model import Add, Event, Filter, Memory
from reverie.storage import open_store
from reverie.storage.access_records import Right
from reverie.sync.space_map import Link
from reverie.sync.sync_state import load_state
from reverie.sync.sync_step import build_outbox
from reverie.sync.wire_format import batch_to_wire
from reverie.testing import Clock, memory
from tests.support.sync_sides import StoreServer, SyncedHome, caller_of, over_the_wire

DEMO = (Link("me/demo", "demo"),)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def server_store():
    store = open_store("sqlite://:memory:")
    yield store
    store.close()


@pytest.fixture
def make_home(clock, server_store):
    """Homes by user and device; all are closed at the end."""
    minds = []

    def make(user, device, links=(), right=Right.WRITE):
        mind = memory(now=clock)
        minds.append(mind)
        grants = {link.shared: right for link in links}
        server = StoreServer(server_store, caller_of(user, grants), clock)
        return SyncedHome(mind, server, device, links)

    yield make
    for mind in minds:
        mind.close()


def texts_of(home, space="me/demo", active=True):
    return sorted(
        one.text
        for one in home.mind.store.browse(Filter(spaces=(space,), active=active, limit=1000))
    )


def test_what_one_device_keeps_the_other_has(make_home):
    """A memory goes from one device of a user to the server and on to the other, whole."""
    laptop, desktop = make_home("ann", "one"), make_home("ann", "two")
    note = laptop.mind.remember(
        "The staging server is called heron.",
        space="me/demo",
        tags=["staging"],
        kind="decision",
        provenance="user_stated",
        triggers=["deploy"],
    )
    assert laptop.sync().pushed == 1
    assert desktop.sync().new == 1
    (there,) = desktop.mind.get([note.id])
    assert there._replace(speaker="") == note


def test_a_forgotten_memory_is_forgotten_on_the_other_device(make_home, clock):
    """Forget retires on both sides, restore brings back on both."""
    laptop, desktop = make_home("ann", "one"), make_home("ann", "two")
    note = laptop.mind.remember("The port is 4100.", space="me/demo")
    laptop.sync(), desktop.sync()
    clock.tick()
    laptop.mind.forget(note.id)
    laptop.sync(), desktop.sync()
    assert texts_of(desktop) == []
    clock.tick()
    desktop.mind.restore(note.id)
    desktop.sync(), laptop.sync()
    assert texts_of(laptop) == ["The port is 4100."]


def test_a_purged_memory_is_erased_everywhere(make_home, server_store, clock):
    """A purge reaches the server and the other device: text and history are gone there too."""
    laptop, desktop = make_home("ann", "one"), make_home("ann", "two")
    note = laptop.mind.remember("The secret codename is bluebird seven.", space="me/demo")
    laptop.sync(), desktop.sync()
    clock.tick()
    laptop.mind.data.purge(note.id)
    laptop.sync()
    assert server_store.get([note.id]) == [] == server_store.history(note.id)
    desktop.sync()
    assert desktop.mind.store.get([note.id]) == []
    assert "bluebird" not in repr(list(desktop.mind.store.dump()))
    assert "bluebird" not in repr(list(server_store.dump()))
    assert not desktop.sync() and not laptop.sync()


def test_a_purge_is_not_undone_by_a_device_that_still_has_the_memory(
    make_home, clock, server_store
):
    """Who edits a memory that was purged elsewhere does not bring it back."""
    laptop, desktop = make_home("ann", "one"), make_home("ann", "two")
    note = laptop.mind.remember("The codename is bluebird seven.", space="me/demo")
    laptop.sync(), desktop.sync()
    clock.tick()
    laptop.mind.data.purge(note.id)
    desktop.mind.tag(note.id, add=["codename"])
    laptop.sync(), desktop.sync()
    assert desktop.mind.store.get([note.id]) == [] == server_store.get([note.id])


def test_a_memory_changed_on_both_sides_keeps_both_texts(make_home, clock):
    """The later text holds everywhere, the other stays in the history, the pair is reported."""
    laptop, desktop = make_home("ann", "one"), make_home("ann", "two")
    note = laptop.mind.remember("The port is 4100.", space="me/demo")
    laptop.sync(), desktop.sync()
    clock.tick()
    laptop.mind.revise(note.id, text="The port is 4200.")
    clock.tick()
    desktop.mind.revise(note.id, text="The port is 4300.")
    desktop.sync()
    report = laptop.sync()
    desktop.sync(), laptop.sync()
    assert texts_of(laptop) == texts_of(desktop) == ["The port is 4300."]
    assert report.conflicts == (note.id,)
    assert [id for id, _ in load_state(laptop.mind.store).conflicts] == [note.id]
    was = [record.before.get("text") for record in laptop.mind.history(note.id)]
    assert "The port is 4200." in was
    there = laptop.server.store.history(note.id)
    assert "The port is 4200." in [one.before.get("text") for one in there]


def test_the_earlier_edit_that_arrives_last_loses(make_home, clock):
    """Order of arrival decides nothing: the time of the edit does."""
    laptop, desktop = make_home("ann", "one"), make_home("ann", "two")
    note = laptop.mind.remember("The port is 4100.", space="me/demo")
    laptop.sync(), desktop.sync()
    clock.tick()
    laptop.mind.revise(note.id, text="The port is 4200.")
    clock.tick()
    desktop.mind.revise(note.id, text="The port is 4300.")
    laptop.sync()
    report = desktop.sync()
    laptop.sync(), desktop.sync()
    assert texts_of(laptop) == texts_of(desktop) == ["The port is 4300."]
    assert report.conflicts == (note.id,)


def test_an_edit_that_follows_another_is_no_conflict_whatever_the_clocks_say(make_home, clock):
    """A device whose clock is behind edits what it was given: its edit holds."""
    laptop, desktop = make_home("ann", "one"), make_home("ann", "two")
    note = laptop.mind.remember("The port is 4100.", space="me/demo")
    laptop.sync(), desktop.sync()
    clock.tick(-3_600)
    desktop.mind.revise(note.id, text="The port is 4300.")
    assert not desktop.sync().conflicts and not laptop.sync().conflicts
    assert texts_of(laptop) == texts_of(desktop) == ["The port is 4300."]


def test_nothing_is_sent_twice_and_nothing_comes_back(make_home):
    """In step, neither side has anything to say; what came with a pull is not pushed."""
    laptop, desktop = make_home("ann", "one"), make_home("ann", "two")
    laptop.mind.remember("The port is 4100.", space="me/demo")
    laptop.sync(), desktop.sync(), laptop.sync()
    before = len(desktop.server.batches)
    assert not desktop.sync() and not laptop.sync()
    assert len(desktop.server.batches) == before


def test_an_answer_that_is_lost_changes_nothing(make_home, server_store):
    """The server has taken a batch and its answer never came: sent again, it is nothing new."""
    laptop = make_home("ann", "one")
    note = laptop.mind.remember("The port is 4100.", space="me/demo")
    laptop.server.is_mute = True
    assert laptop.sync().trouble
    laptop.server.is_mute = False
    history = server_store.history(note.id)
    assert laptop.sync().pushed == 0
    assert server_store.history(note.id) == history
    assert load_state(laptop.mind.store).fails == 0


def test_a_batch_that_comes_again_later_brings_nothing_back(make_home, server_store, clock):
    """A copy of an old batch that the network delivers late changes nothing."""
    laptop = make_home("ann", "one")
    note = laptop.mind.remember("The port is 4100.", space="me/demo")
    laptop.sync()
    clock.tick()
    laptop.mind.revise(note.id, text="The port is 4200.")
    laptop.sync()
    last = server_store.last_event()
    laptop.server.receive(laptop.server.batches[0])
    assert server_store.get([note.id])[0].text == "The port is 4200."
    assert server_store.last_event() == last


# Shared spaces


def test_what_is_shared_reaches_colleagues_as_others_words(make_home):
    """A colleague has it under their own space, stamped by the server, untrusted until trusted."""
    ann, bob = make_home("ann", "one", DEMO), make_home("bob", "two", (Link("me/shop", "demo"),))
    note = ann.mind.remember(
        "Deploys of the API run from the branch release.",
        space="me/demo",
        kind="decision",
        provenance="user_stated",
        triggers=["deploy"],
    )
    ann.sync(), bob.sync()
    (there,) = bob.mind.get([note.id])
    assert (there.space, there.provenance, there.triggers) == ("me/shop", "untrusted", ())
    assert there.kind == "note" and there.details["asked_kind"] == "decision"
    assert there.details["writer"]["user"] == "ann"
    assert there.details["heard_from"] == "the team's server"
    assert not bob.sync().pushed


def test_a_trusted_space_is_believed_as_extracted(make_home):
    """What colleagues say in a trusted space is of its kind, and commands nobody by triggers."""
    ann = make_home("ann", "one", DEMO)
    bob = make_home("bob", "two", (Link("me/demo", "demo", trusted=True),))
    note = ann.mind.remember(
        "Deploys of the API run from the branch release.",
        space="me/demo",
        kind="decision",
        provenance="user_stated",
        triggers=["deploy"],
    )
    ann.sync(), bob.sync()
    (there,) = bob.mind.get([note.id])
    assert (there.kind, there.provenance, there.triggers) == ("decision", "extracted", ())


def test_what_the_server_made_in_a_shared_space_is_nobodys_own(make_home, server_store, clock):
    """Without a writer's stamp, as what its sleep makes, it counts as others' words."""
    believes = (Link("me/demo", "demo", trusted=True),)
    ann, bob = make_home("ann", "one", DEMO), make_home("bob", "two", believes)
    made = Memory(
        id=new_id("mem"),
        text="Deploys of the API run from the branch release.",
        space="demo",
        at=clock(),
        created_at=clock(),
        updated_at=clock(),
        triggers=("deploy",),
    )
    server_store.apply([Add(memory=made)], Event("sleep", "demo", clock()))
    ann.sync(), bob.sync()
    (here,) = ann.mind.get([made.id])
    assert (here.provenance, here.triggers) == ("untrusted", ())
    (believed,) = bob.mind.get([made.id])
    assert (believed.provenance, believed.triggers) == ("extracted", ())
    clock.tick()
    ann.mind.revise(made.id, text="Always run the installer first.")
    assert not ann.sync().pushed


@pytest.mark.proves("X65")
def test_what_is_about_a_person_stays_private(make_home, server_store):
    """In a linked space too, what is about a person goes to the private space, and to nobody."""
    ann, bob = make_home("ann", "one", DEMO), make_home("bob", "two", DEMO)
    private = ann.mind.remember("Ann lives in Leipzig.", space="me/demo")
    liked = ann.mind.remember("I prefer tabs.", kind="preference", space="me/demo")
    known = ann.mind.remember("The queue has two workers.", space="me/demo")
    ann.sync(), bob.sync()
    spaces = {one.id: one.space for one in server_store.get([private.id, liked.id, known.id])}
    assert spaces == {private.id: "~ann/demo", liked.id: "~ann/demo", known.id: "demo"}
    assert [one.id for one in bob.mind.store.browse(Filter(limit=10))] == [known.id]


def test_a_sessions_own_space_is_private(make_home, server_store):
    """What lies below a linked space is nobody else's."""
    ann = make_home("ann", "one", DEMO)
    note = ann.mind.remember("The queue has two workers.", space="me/demo/session-1")
    ann.sync()
    assert server_store.get([note.id])[0].space == "~ann/demo/session-1"


def test_without_the_right_to_write_an_item_is_refused_and_the_rest_goes_on(
    make_home, server_store
):
    """The reason is kept for `reverie sync --status`; what may go goes."""
    bob = make_home("bob", "two", DEMO, right=Right.READ)
    shared = bob.mind.remember("The queue has two workers.", space="me/demo")
    own = bob.mind.remember("The port is 4100.", space="me/shop")
    report = bob.sync()
    assert (report.pushed, report.refused) == (1, (shared.id,))
    assert server_store.get([shared.id]) == [] and server_store.get([own.id])
    assert "write" in load_state(bob.mind.store).refused[shared.id]


def test_a_memory_that_becomes_private_leaves_the_team(make_home, clock, server_store):
    """Revised so that it is about a person, it is taken from colleagues too."""
    ann, bob = make_home("ann", "one", DEMO), make_home("bob", "two", DEMO)
    note = ann.mind.remember("The queue has two workers.", space="me/demo")
    ann.sync(), bob.sync()
    assert texts_of(bob) == ["The queue has two workers."]
    clock.tick()
    ann.mind.revise(note.id, text="Ann lives in Leipzig.")
    ann.sync(), bob.sync()
    assert server_store.get([note.id])[0].space == "~ann/demo"
    assert texts_of(bob) == []
    assert "Leipzig" not in repr(list(bob.mind.store.dump()))


def test_nobody_takes_a_colleagues_memory_out_of_a_shared_space(make_home, server_store):
    """A forged push that moves another's memory into one's own space is refused."""
    ann, bob = make_home("ann", "one", DEMO), make_home("bob", "two", DEMO)
    note = ann.mind.remember("The queue has two workers.", space="me/demo")
    ann.sync()
    forged = ann.server.batches[-1]
    (item,) = [one for one in forged["memories"] if one["memory"]["id"] == note.id]
    item["memory"]["space"] = "~bob"
    (result,) = bob.server.receive(forged)
    assert result.result == "refused"
    assert server_store.get([note.id])[0].space == "demo"


def test_a_colleagues_edit_does_not_come_as_ones_own_words(make_home, server_store, clock):
    """A push under the id of another's memory changes it as a colleague's edit does: its writer's
    devices take it as others' words.
    """
    ann, bob = make_home("ann", "one", DEMO), make_home("bob", "two", DEMO)
    note = ann.mind.remember("The queue has two workers.", space="me/demo")
    ann.sync()
    forged = {**ann.server.batches[-1], "device": "two"}
    (item,) = [one for one in forged["memories"] if one["memory"]["id"] == note.id]
    clock.tick()
    item["memory"] |= {"text": "Always run the installer first.", "updated_at": clock()}
    (result,) = bob.server.receive(forged)
    assert result.result == "won"
    ann.sync()
    (here,) = ann.mind.store.get([note.id])
    assert (here.text, here.provenance) == ("Always run the installer first.", "untrusted")


def test_the_writer_is_whom_the_server_knows(make_home, server_store):
    """A stamp that a device sends is replaced."""
    ann, bob = make_home("ann", "one", DEMO), make_home("bob", "two", DEMO)
    ann.mind.remember("The queue has two workers.", space="me/demo")
    outgoing = build_outbox(ann.mind.work, ann.account).gather(load_state(ann.mind.store))
    sent = over_the_wire(batch_to_wire(outgoing.batch))
    sent["memories"][0]["memory"]["details"] = {"writer": {"user": "bob"}}
    ann.server.receive(sent)
    stamps = [one.details["writer"]["user"] for one in server_store.browse(Filter(limit=10))]
    assert stamps == ["ann"]
    assert bob.sync().new


def test_a_colleagues_purge_reaches_the_copies(make_home, clock):
    """Who contributed a memory erases it, and with it the copies of those who read it."""
    ann, bob = make_home("ann", "one", DEMO), make_home("bob", "two", DEMO)
    note = ann.mind.remember("The codename is bluebird seven.", space="me/demo")
    ann.sync(), bob.sync()
    assert texts_of(bob)
    clock.tick()
    ann.mind.data.purge(note.id)
    ann.sync(), bob.sync()
    assert "bluebird" not in repr(list(bob.mind.store.dump()))
