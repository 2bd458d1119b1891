"""The map of what is remembered: what is on it, where it stands, and what of it was so when."""

from xml.etree import ElementTree

import numpy as np
import pytest

from reverie.consolidation.map_layout import Tie, find_communities, lay_out, push_apart
from reverie.interfaces.map_picture import picture_map, write_svg
from reverie.testing import SPACE

NASTY = "<img src=x onerror=alert(1)>"


def test_what_is_tied_closely_is_one_community():
    """Two triangles with one weak tie between them are two; what has no tie is one by itself."""
    pairs = [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)]
    ties = [*(Tie(one, other, 1.0) for one, other in pairs), Tie(2, 3, 0.1)]
    assert find_communities(7, ties) == [0, 0, 0, 1, 1, 1, 2]


def test_a_layout_is_the_same_each_time_and_puts_ties_near():
    """Nothing is left to chance, and what is tied stands nearer than what is not."""
    ids = [f"n{number}" for number in range(40)]
    ties = [Tie(number, number + 1, 1.0) for number in range(19)]
    ties += [Tie(number, number + 1, 1.0) for number in range(20, 39)]
    groups = [0] * 20 + [1] * 20
    first = lay_out(ids, groups, ties, {})
    assert first == lay_out(ids, groups, ties, {})

    def far(one, other):
        return (
            (first[one][0] - first[other][0]) ** 2 + (first[one][1] - first[other][1]) ** 2
        ) ** 0.5

    tied = sum(far(tie.one, tie.other) for tie in ties) / len(ties)
    others = sum(far(number, number + 20) for number in range(20)) / 20
    assert 0 < tied < others


@pytest.mark.parametrize("count", [1, 3, 64, 65, 200])
def test_the_push_of_all_is_the_sum_of_each_push(count):
    """In blocks and with one product it is what the plain sum over all pairs gives."""
    rng = np.random.default_rng(count)
    places = (100 * rng.standard_normal((count, 2))).astype(np.float32)
    mass = (1 + rng.random(count)).astype(np.float32)
    apart = places[:, None, :].astype(float) - places[None, :, :]
    near = np.maximum((apart**2).sum(2), 1.0)
    plain = (apart * (mass[None, :] / near)[:, :, None]).sum(1)
    assert np.abs(push_apart(places, mass) - plain).max() <= 0.01 * max(1.0, np.abs(plain).max())


def test_what_is_new_moves_nothing_that_has_its_place():
    """A node more: all others stay where they were."""
    ids = [f"n{number}" for number in range(20)]
    ties = [Tie(number, number + 1, 1.0) for number in range(19)]
    old = lay_out(ids, [0] * 20, ties, {})
    known = dict(zip(ids, old, strict=True))
    new = lay_out([*ids, "new"], [0] * 21, [*ties, Tie(19, 20, 1.0)], known)
    assert new[:20] == old and len(new) == 21


def test_the_map_has_memories_tags_and_code_with_the_time_of_each(mind, clock):
    """From when on, and until when; a tag lives as long as what carries it."""
    one = mind.remember("Redis holds the cache.", space=SPACE, tags=["ops"], speaker="Ann")
    other = mind.remember("Heron is the staging server.", space=SPACE, tags=["ops"])
    mind.link(one.id, other.id, "relates_to")
    clock.tick(days=2)
    mind.forget(one.id)
    drawn = mind.data.map(space=SPACE)
    nodes = {node.id: node for node in drawn.nodes}
    assert nodes[one.id].ended == clock() and not nodes[other.id].ended
    assert nodes[one.id].author == "Ann" and nodes[one.id].began == one.at
    tag = nodes["tag:ops"]
    assert (tag.what, tag.label, tag.links, tag.ended) == ("tag", "ops", 2, 0.0)
    assert {link.relation for link in drawn.links} == {"relates_to", "has_tag"}
    mind.forget(other.id)
    assert {node.ended for node in mind.data.map(space=SPACE).nodes} == {clock()}
    assert not drawn.chosen


def test_the_map_looks_the_same_on_the_next_visit(home):
    """Places are kept in the cache folder without a word of anybody; deleting them costs time."""
    for number in range(30):
        home.remember(f"Secretive {number} of otter.", space=SPACE, tags=[f"owl{number % 4}"])
    first = home.data.map(space=SPACE)
    (file,) = (home.settings.home / "cache").glob("map-*.json")
    kept = file.read_text()
    assert "owl" not in kept and "otter" not in kept
    assert home.data.map(space=SPACE) == first
    later = home.remember("One more.", space=SPACE)
    places = {node.id: (node.x, node.y) for node in home.data.map(space=SPACE).nodes}
    assert all(places[node.id] == (node.x, node.y) for node in first.nodes)
    assert later.id in places
    file.write_text("[1]")
    assert len(home.data.map(space=SPACE).nodes) == len(places)


def test_of_many_memories_the_whole_past_is_on_the_map(mind, clock):
    """The oldest are there beside the newest."""
    now = clock()
    said = [
        {"text": f"Thing {number}.", "at": now - 86_400 * number, "space": SPACE}
        for number in range(300)
    ]
    mind.remember_many(said)
    drawn = mind.data.map(space=SPACE, limit=100)
    assert drawn.chosen and len(drawn.nodes) <= 100
    ages = [(now - node.began) / 86_400 for node in drawn.nodes]
    assert min(ages) < 2 and max(ages) > 200


def test_a_busy_week_leaves_room_for_the_years_before_it(mind, clock):
    """Each stretch of the past has its share, however much there is in the nearer ones."""
    now = clock()
    days = [number / 12 for number in range(1, 360)] + [300 + number for number in range(40)]
    mind.remember_many(
        {"text": f"Thing {number}.", "at": now - 86_400 * day, "space": SPACE}
        for number, day in enumerate(days)
    )
    drawn = mind.data.map(space=SPACE, limit=100)
    ages = sorted((now - node.began) / 86_400 for node in drawn.nodes)
    assert len(ages) <= 100 and sum(age > 250 for age in ages) >= 5


def test_the_first_map_is_a_draft_at_once_and_laid_out_for_the_next_visit(home, clock):
    """In haste all that will be on it stands where it begins; what was laid out stays so, a day
    later too.
    """
    for number in range(30):
        home.remember(f"Thing {number}.", space=SPACE, tags=[f"owl{number % 4}"])
    draft = home.data.map(space=SPACE, in_haste=True)
    assert draft.is_draft and draft.is_due and draft == home.data.map(space=SPACE, in_haste=True)
    whole = home.data.map(space=SPACE)
    assert {node.id for node in draft.nodes} == {node.id for node in whole.nodes}
    assert home.data.map(space=SPACE, in_haste=True) == whole and not whole.is_due
    clock.tick(days=2)
    old = home.data.map(space=SPACE, in_haste=True)
    assert (old.is_draft, old.is_due) == (False, True)
    assert [node[:7] for node in old.nodes] == [node[:7] for node in whole.nodes]


def test_in_haste_what_is_new_stands_beside_what_it_is_tied_to(home):
    """Nothing else moves, nothing is kept, and it is said that the map is to be laid out."""
    for number in range(30):
        home.remember(f"Thing {number}.", space=SPACE, tags=[f"owl{number % 4}"])
    before = {node.id: (node.x, node.y) for node in home.data.map(space=SPACE).nodes}
    new = home.remember("Something new.", space=SPACE, tags=["owl1"])
    hasty = home.data.map(space=SPACE, in_haste=True)
    assert hasty == home.data.map(space=SPACE, in_haste=True)
    assert (hasty.is_draft, hasty.is_due) == (False, True)
    places = {node.id: (node.x, node.y) for node in hasty.nodes}
    (x, y), (there_x, there_y) = places.pop(new.id), before["tag:owl1"]
    assert places == before and max(abs(x - there_x), abs(y - there_y)) <= 8
    whole = home.data.map(space=SPACE)
    assert {node.id for node in whole.nodes} == {*before, new.id} and not whole.is_due
    assert home.data.map(space=SPACE, in_haste=True) == whole


def test_sleep_lays_out_the_maps_that_are_looked_at(home, clock):
    """After a night, the first visit of the day waits for nothing; a map of nobody is not made."""
    for number in range(6):
        home.remember(f"Thing {number}.", space=SPACE, tags=["owl"])
    home.sleep()
    assert not list((home.settings.home / "cache").glob("map-*.json"))
    home.data.map(space=SPACE)
    clock.tick(days=2)
    assert home.data.map(space=SPACE, in_haste=True).is_due
    home.sleep()
    assert not home.data.map(space=SPACE, in_haste=True).is_due


def test_the_picture_is_xml_that_names_tags_and_no_memory(mind):
    """A name is text whatever stands in it, and no memory's text is shown."""
    for number in range(4):
        mind.remember(f"Private {NASTY} {number}", space=SPACE, tags=["a<b", "ops"])
    svg = write_svg(picture_map(mind.data.map(space=SPACE)))
    root = ElementTree.fromstring(svg)
    names = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "ops" in names and "Private" not in svg and "<img" not in svg
