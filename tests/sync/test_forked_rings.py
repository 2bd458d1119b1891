# mypy: no-check-untyped-defs
"""Machines that remove others at the same time: what the rings come to, and who can read on."""

import json
import random
import shutil
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.core.age_sealing import new_secret, public_of, seal_to
from reverie.core.errors import BadInput, CannotOpen
from reverie.core.model import Filter
from reverie.sync.device_logs.batch_file import RING
from reverie.sync.device_logs.home_keys import HomeKeys, load_keys, save_ring
from reverie.sync.device_logs.key_exchange import RingIntake
from reverie.sync.device_logs.key_ring import (
    DeviceKey,
    Epoch,
    Removal,
    mac_with,
    new_ring,
    open_batch,
    put_on_ring,
    seal_batch,
    seal_ring,
    take_off_ring,
)
from reverie.sync.device_logs.log_state import OwnLog
from reverie.testing import memory
from tests.sync.conftest import paired_homes

EVERYTHING = Filter(active=None, limit=1_000)


class Machine:
    """A home's keys, and the file in which it shows them, carried by hand."""

    def __init__(self, folder, number, keys):
        self.device, self.home = f"{number:012x}", folder / f"home-{number}"
        self.home.mkdir()
        self.own = OwnLog(self.device, f"machine {number}")
        self.keys = keys

    @property
    def ring(self):
        return self.keys.ring

    def keep(self, ring, **more):
        self.keys = save_ring(self.home, self.keys._replace(**more), ring)

    def hear(self, other):
        """Take in the file of another one; what is wrong with it."""
        return self.hear_file(other.device, other.keys.file)

    def hear_file(self, device, file):
        intake = RingIntake(self.home, self.own, self.keys, [(self.device, 0)])
        troubles = intake.take({device: file})
        self.keys = intake.keys
        assert load_keys(self.home) == self.keys
        return troubles[device]

    def remove(self, other):
        gone = self.ring.find(other.device)
        if gone is not None and other is not self:
            self.keep(take_off_ring(self.ring, [Removal(gone.device, gone.name, 0, 0.0)], []))

    def can_read(self, other):
        """True if what another one seals from now on can be read here."""
        try:
            open_batch(self.ring, seal_batch(other.ring, b"new"))
        except CannotOpen:
            return False
        return True

    def has_out(self, other):
        return self.ring.find_removal(other.device) is not None


def make_machines(folder, count):
    """So many machines that have heard of each other."""
    machines = [Machine(folder, number, HomeKeys(new_secret())) for number in range(count)]
    keys = [
        DeviceKey(one.device, one.own.name, public_of(one.keys.secret), 0.0) for one in machines
    ]
    ring = new_ring(keys[0], public_of(new_secret()))
    for key in keys[1:]:
        ring = put_on_ring(ring, key)
    for one in machines:
        one.keep(ring)
    hear_all(machines, random.Random(1))
    return machines


def hear_all(machines, chance):
    """All hear of all, in some order, until nothing changes."""
    pairs = [(one, other) for one in machines for other in machines if one is not other]
    for _ in range(12):
        before = [one.keys for one in machines]
        chance.shuffle(pairs)
        for one, other in pairs:
            one.hear(other)
        if [one.keys for one in machines] == before:
            return
    raise AssertionError("the rings do not come to an end")


ACTS = st.lists(
    st.tuples(st.sampled_from(["remove", "hear", "hear"]), st.integers(0, 4), st.integers(0, 4)),
    max_size=14,
)


@settings(deadline=None)
@given(acts=ACTS, seed=st.integers(0, 1_000))
def test_who_stays_agrees_and_who_was_removed_reads_nothing_new(acts, seed, tmp_path_factory):
    """Whoever removes whom, and in whatever order it is heard of: machines of which none removed
    the other come to one ring, and on nobody's ring does a removed one hold the latest key.
    """
    machines = make_machines(tmp_path_factory.mktemp("rings"), 5)
    for act, one, other in acts:
        if act == "remove":
            machines[one].remove(machines[other])
        elif one != other:
            machines[one].hear(machines[other])
    hear_all(machines, random.Random(seed))
    for one in machines:
        for other in machines:
            if one is other:
                continue
            if one.has_out(other):
                assert not other.can_read(one)
                assert one.ring.find(other.device) is None
            elif not other.has_out(one):
                assert one.ring == other.ring and one.can_read(other)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_removals_of_different_machines_both_hold(order, tmp_path):
    """A fifth machine hears of them in either order; each removed one has a key of its remover's,
    and reads with it nothing that is sealed once the removals have met.
    """
    machines = make_machines(tmp_path, 5)
    machines[0].remove(machines[2])
    machines[1].remove(machines[3])
    for removed, remover in ((machines[2], machines[1]), (machines[3], machines[0])):
        removed.hear(remover)
        assert removed.can_read(remover)
    for number in order:
        machines[4].hear(machines[number])
    hear_all(machines, random.Random(2))
    assert machines[0].ring == machines[1].ring == machines[4].ring
    for removed in machines[2:4]:
        assert not removed.can_read(machines[4])


@pytest.mark.parametrize("first", [0, 1])
def test_of_two_that_remove_each_other_the_one_stays_that_is_heard_of_first(first, tmp_path):
    """The third machine keeps to it: what a removed one says is no longer believed."""
    machines = make_machines(tmp_path, 3)
    machines[0].remove(machines[1])
    machines[1].remove(machines[0])
    stays, goes = machines[first], machines[1 - first]
    machines[2].hear(stays)
    hear_all(machines, random.Random(3))
    assert machines[2].ring == stays.ring and machines[2].has_out(goes)
    assert not goes.can_read(stays) and not goes.can_read(machines[2])


def forge(thief, author, ring):
    """A file in another machine's name, as one that has the earlier keys can make it."""
    asked = thief.keys.asked.values()
    return RING + seal_ring(ring, thief.keys.secret, asked), author.device


def test_a_removed_machine_cannot_pose_as_another_to_come_back(tmp_path):
    """With all that it ever held: its secret, the earlier keys, and what asks it for proofs."""
    laptop, desk, thief = make_machines(tmp_path, 3)
    before = thief.ring
    laptop.remove(thief)
    further = Epoch(before.latest.number + 1, new_secret())
    for ring in (before._replace(epochs=(*before.epochs, further)), before):
        file, device = forge(thief, desk, ring)
        laptop.hear_file(device, file)
        assert laptop.has_out(thief) and not thief.can_read(laptop)
        assert further not in laptop.ring.epochs
    file, device = forge(thief, desk, before._replace(epochs=(*before.epochs, further)))
    assert "at the same time" in laptop.hear_file(device, file)
    # What it may have put there stands in the way of nothing.
    assert desk.hear(laptop) == "" and laptop.hear(desk) == ""
    assert laptop.ring == desk.ring and not thief.can_read(desk)


def test_what_a_machine_put_on_the_ring_behind_the_removers_back_goes_with_it(tmp_path):
    """An accomplice, whom only one machine has heard of; who was accepted there stays."""
    laptop, desk, thief = make_machines(tmp_path, 3)
    accomplice, phone = (
        DeviceKey(name * 12, name, public_of(new_secret()), 1.0) for name in ("a", "b")
    )
    laptop.remove(thief)
    thief.keep(put_on_ring(thief.ring, accomplice))
    desk.hear(thief)
    desk.keep(put_on_ring(desk.ring, phone), accepted=(phone.device,))
    assert desk.ring.find(accomplice.device)
    hear_all([laptop, desk, thief], random.Random(4))
    for one in (laptop, desk):
        assert not one.ring.find(accomplice.device) and one.ring.find(phone.device)


def test_no_machine_can_put_a_key_of_its_own_in_anothers_place(tmp_path):
    """Nor in that of the recovery key: it would read on by it after its removal."""
    laptop, desk, thief = make_machines(tmp_path, 3)
    known, own = thief.ring.find(desk.device), public_of(new_secret())
    assert known is not None
    stolen = known._replace(public=own, at=9.0)
    recovery = max(public_of(new_secret()) for _ in range(40))
    assert recovery > laptop.ring.recovery
    thief.keep(put_on_ring(thief.ring, stolen)._replace(recovery=recovery))
    laptop.hear(thief)
    assert laptop.ring.find(desk.device).public == known.public
    assert laptop.ring.recovery == desk.ring.recovery


@pytest.mark.parametrize(
    "spoil",
    [
        lambda ring: ring._replace(epochs=(*ring.epochs, Epoch(9, "AGE-SECRET-KEY-NONE"))),
        lambda ring: ring._replace(epochs=(*ring.epochs, Epoch(2**60, new_secret()))),
        lambda ring: ring._replace(epochs=(*ring.epochs, Epoch(2**50, new_secret()))),
        lambda ring: ring._replace(devices=(ring.devices[0]._replace(public="none"),)),
        lambda ring: ring._replace(recovery="age1none"),
        lambda ring: ring._replace(removed=(Removal("x", "y", -1, 0.0),)),
    ],
)
def test_a_ring_that_nothing_could_be_sealed_with_is_told_and_not_kept(spoil, tmp_path):
    """A paired machine that goes wrong does not take the others with it."""
    laptop, desk = make_machines(tmp_path, 2)
    before, ring = laptop.ring, spoil(desk.ring)
    text = json.dumps([1, ring])
    macs = [mac_with(epoch, text.encode()).hex() for epoch in ring.epochs]
    publics = [one.public for one in before.devices]
    sealed = seal_to(publics, json.dumps([text, macs, {}, []]).encode())
    assert laptop.hear_file(desk.device, RING + sealed) != ""
    assert laptop.ring == before and laptop.hear(desk) == ""


@pytest.mark.parametrize(
    "written",
    [
        lambda text: [text, ["ä" * 64], {}, []],
        lambda text: [text.replace(",[]]]", ',[["x",Infinity]]]]', 1), [], {}, []],
    ],
)
def test_what_a_stranger_seals_to_a_machine_ends_no_exchange(written, tmp_path):
    """Who was removed knows the key that it is sealed to."""
    laptop, desk = make_machines(tmp_path, 2)
    before = laptop.ring
    text = json.dumps([1, desk.ring], separators=(",", ":"))
    sealed = seal_to([one.public for one in before.devices], json.dumps(written(text)).encode())
    assert laptop.hear_file(desk.device, RING + sealed) != ""
    assert laptop.ring == before and laptop.hear(desk) == ""


# Whole homes


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """Four homes that are paired through a folder."""
    root = tmp_path_factory.mktemp("forked")
    (root / "carried").mkdir()
    with paired_homes(root, str(root / "carried"), sealed=True) as open_home:
        minds = [open_home(name) for name in ("laptop", "desk", "phone", "tablet")]
        for mind in minds:
            mind.devices.sync()
    return root


@pytest.fixture
def homes(story, tmp_path):
    """The four, on a folder of their own."""
    minds = {}
    shutil.copytree(story / "carried", tmp_path / "carried")
    for name in ("laptop", "desk", "phone", "tablet"):
        shutil.copytree(story / name, tmp_path / name)
        minds[name] = memory(tmp_path / name, embedder="none")
        minds[name].devices.remove(str(story / "carried"))
        minds[name].devices.add(str(tmp_path / "carried"))
    yield SimpleNamespace(**minds, all=list(minds.values()))
    for mind in minds.values():
        mind.close()


def texts_of(mind):
    return sorted(one.text for one in mind.store.browse(EVERYTHING))


def keep(mind, text):
    mind.remember(text, space="me/demo")
    mind.devices.sync()


def sync(*minds, rounds=3):
    for _ in range(rounds):
        for mind in minds:
            mind.devices.sync()


def troubles_of(mind):
    return [trouble for one in mind.devices.status().others for trouble in one.troubles]


@pytest.mark.parametrize("other", ["phone", "tablet"])
def test_two_homes_that_removed_machines_at_once_go_on_together(homes, other):
    """The same machine or two: what either wrote meanwhile comes, and nobody has to do anything."""
    homes.laptop.devices.remove_device("phone")
    homes.desk.devices.remove_device(other)
    keep(homes.laptop, "Laptop goes on.")
    keep(homes.desk, "Desk goes on.")
    sync(homes.laptop, homes.desk)
    keep(homes.laptop, "Later.")
    sync(homes.desk, *homes.all)
    for mind in (homes.laptop, homes.desk):
        assert texts_of(mind) == ["Desk goes on.", "Laptop goes on.", "Later."]
        assert not troubles_of(mind)
    for name in {"phone", other}:
        assert "Later." not in texts_of(getattr(homes, name))
    stays = homes.tablet if other == "phone" else homes.laptop
    assert "Later." in texts_of(stays) and not troubles_of(stays)


@pytest.mark.parametrize(("stays", "goes"), [("laptop", "desk"), ("desk", "laptop")])
def test_of_two_homes_that_remove_each_other_either_is_paired_anew(homes, stays, goes):
    """The two do not agree by themselves; the command that the one names mends it, on either."""
    homes.laptop.devices.remove_device("desk")
    homes.desk.devices.remove_device("laptop")
    stays, goes = getattr(homes, stays), getattr(homes, goes)
    keep(goes, "Kept meanwhile.")
    sync(stays, goes)
    assert texts_of(stays) == []
    assert "reverie sync pair --again" in " ".join(troubles_of(goes))
    code = goes.devices.ask_again()
    goes.devices.sync()
    stays.devices.accept(code)
    sync(stays, goes)
    keep(stays, "Kept later.")
    goes.devices.sync()
    for mind in (stays, goes):
        assert texts_of(mind) == ["Kept later.", "Kept meanwhile."]


def test_a_removed_machine_is_told_how_to_come_back_by_the_recovery_key(tmp_path):
    """By other keys than those that were taken off: else it would not stay on the ring."""
    (tmp_path / "carried").mkdir()
    with (
        memory(tmp_path / "laptop", embedder="none") as laptop,
        memory(tmp_path / "desk", embedder="none") as desk,
    ):
        key = laptop.devices.add(str(tmp_path / "carried"), name="laptop", sealed=True).recovery
        laptop.devices.sync()
        desk.devices.add(str(tmp_path / "carried"), name="desk")
        desk.devices.recover(key)
        sync(laptop, desk)
        laptop.devices.remove_device("desk")
        sync(laptop, desk)
        with pytest.raises(BadInput, match="pair --again"):
            desk.devices.recover(key)
        desk.devices.ask_again()
        desk.devices.recover(key)
        sync(laptop, desk)
        keep(laptop, "Both again.")
        desk.devices.sync()
        assert texts_of(desk) == ["Both again."] and not troubles_of(desk)


def test_the_only_machine_with_keys_does_not_give_them_up(tmp_path):
    """A machine that only asks could not accept it; nothing is changed."""
    (tmp_path / "carried").mkdir()
    with (
        memory(tmp_path / "laptop", embedder="none") as laptop,
        memory(tmp_path / "desk", embedder="none") as desk,
    ):
        laptop.devices.add(str(tmp_path / "carried"), name="laptop", sealed=True)
        keep(laptop, "One.")
        assert desk.devices.add(str(tmp_path / "carried"), name="desk").code
        desk.devices.sync()
        before = laptop.devices.status().device
        with pytest.raises(BadInput, match="none could accept"):
            laptop.devices.ask_again()
        assert laptop.devices.status().device == before
        assert laptop.devices.pairing().paired and not laptop.devices.sync().troubles


@pytest.mark.parametrize("named", ["again", "elsewhere"])
def test_a_place_where_another_machine_waits_takes_no_keys_from_the_only_one(tmp_path, named):
    """Both waited then, and nobody could accept them: what was sealed was lost to all but the
    recovery key.
    """
    (tmp_path / "carried").mkdir()
    with (
        memory(tmp_path / "laptop", embedder="none") as laptop,
        memory(tmp_path / "desk", embedder="none") as desk,
    ):
        laptop.devices.add(str(tmp_path / "carried"), name="laptop", sealed=True)
        keep(laptop, "One.")
        code = desk.devices.add(str(tmp_path / "carried"), name="desk").code
        desk.devices.sync()
        before = laptop.devices.status().device
        if named == "elsewhere":
            laptop.devices.remove(str(tmp_path / "carried"))
        added = laptop.devices.add(str(tmp_path / "carried"))
        assert added.is_sealed and not added.code
        assert laptop.devices.status().device == before and laptop.devices.pairing().paired
        laptop.devices.sync()
        laptop.devices.accept(code)
        sync(laptop, desk)
        assert texts_of(desk) == ["One."] and not troubles_of(desk)


@pytest.mark.parametrize("had_another_number", [False, True])
def test_the_keys_are_not_given_up_where_only_a_removed_machine_has_shown_its_own(
    tmp_path, had_another_number
):
    """Nor where the other file is that of a number which this machine had itself: neither accepts."""
    (tmp_path / "carried").mkdir()
    with paired_homes(tmp_path, str(tmp_path / "carried"), sealed=True) as open_home:
        laptop, desk = open_home("laptop"), open_home("desk")
        if had_another_number:
            code = laptop.devices.ask_again()
            laptop.devices.sync()
            desk.devices.accept(code)
            sync(laptop, desk)
        keep(laptop, "One.")
        laptop.devices.remove_device("desk")
        laptop.devices.sync()
        before = laptop.devices.status().device
        with pytest.raises(BadInput, match="none could accept"):
            laptop.devices.ask_again()
        assert laptop.devices.status().device == before
        assert not laptop.devices.sync().troubles and not laptop.devices.pairing().code


def test_who_waits_may_ask_anew_though_nobody_could_accept_it_yet(tmp_path):
    """It has no keys to give up; a code that was lost is made anew."""
    (tmp_path / "carried").mkdir()
    with paired_homes(tmp_path, str(tmp_path / "carried"), sealed=True) as open_home:
        laptop = open_home("laptop")
        with memory(tmp_path / "desk", embedder="none") as desk:
            code = desk.devices.add(str(tmp_path / "carried"), name="desk").code
            file = tmp_path / f"carried/reverie-log/{laptop.devices.status().device}-keys.age"
            file.rename(tmp_path / "late")
            fresh = desk.devices.ask_again()
            assert fresh and fresh != code and desk.devices.pairing().code == fresh


def test_of_the_only_two_machines_that_removed_each_other_one_may_ask(tmp_path):
    """Each has the other as removed; that one goes on with keys of its own, and can accept it."""
    (tmp_path / "carried").mkdir()
    with paired_homes(tmp_path, str(tmp_path / "carried"), sealed=True) as open_home:
        laptop, desk = open_home("laptop"), open_home("desk")
        laptop.devices.remove_device("desk")
        desk.devices.remove_device("laptop")
        sync(laptop, desk)
        code = desk.devices.ask_again()
        desk.devices.sync()
        laptop.devices.accept(code)
        keep(laptop, "Both again.")
        sync(desk, laptop)
        assert texts_of(desk) == ["Both again."] and not troubles_of(desk)


def test_of_two_machines_that_both_began_with_an_empty_folder_one_may_ask(tmp_path):
    """Neither knows the other; once the folders are carried, one gives up its keys for the other's."""
    for name in ("left", "right"):
        (tmp_path / name).mkdir()
    with (
        memory(tmp_path / "laptop", embedder="none") as laptop,
        memory(tmp_path / "desk", embedder="none") as desk,
    ):
        laptop.devices.add(str(tmp_path / "left"), name="laptop", sealed=True)
        desk.devices.add(str(tmp_path / "right"), name="desk", sealed=True)
        keep(laptop, "One."), keep(desk, "Two.")

        places = {laptop: tmp_path / "left/reverie-log", desk: tmp_path / "right/reverie-log"}

        def bring_in_step(mind):
            mind.devices.sync()
            other = next(one for one in places if one is not mind)
            shutil.copytree(places[mind], places[other], dirs_exist_ok=True)

        bring_in_step(desk)
        code = laptop.devices.ask_again()
        bring_in_step(laptop)
        desk.devices.accept(code)
        for mind in (desk, laptop, desk, laptop):
            bring_in_step(mind)
        assert texts_of(laptop) == texts_of(desk) == ["One.", "Two."]
