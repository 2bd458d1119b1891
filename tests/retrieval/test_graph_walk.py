# mypy: no-check-untyped-defs
"""Walks over the graph: which neighbours are found, in which order, and that walks end."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.model import RELATIONS, Edge
from reverie.retrieval.graph_walk import (
    MAX_FAN_OUT,
    ReachedMemory,
    edge_weight,
    strengthen_weight,
    walk_cascade,
)


def of(*edges):
    """The edges of some nodes, as a store would give them."""
    return lambda nodes: [edge for edge in edges if edge.src in nodes or edge.dst in nodes]


def tag(memory, name):
    return Edge(memory, "has_tag", f"tag:{name}")


def names(found):
    return [way.id for way in found]


@pytest.mark.proves("CC-16", "B36", "B39")
def test_a_tag_brings_its_other_memories():
    """A – tag – B, A – tag – C: both come along, below A."""
    found = walk_cascade({"A": 1.0}, of(tag("A", "t"), tag("B", "t"), tag("C", "t")), depth=1)

    assert [(w.id, w.from_id, w.relation, w.via) for w in found] == [
        ("B", "A", "has_tag", "tag:t"),
        ("C", "A", "has_tag", "tag:t"),
    ]
    assert all(way.score == pytest.approx(0.8 * 0.7 / (1 + log(1.5))) for way in found)


@pytest.mark.proves("CC-17")
def test_links_fall_with_their_weight():
    """A→B 0.9, A→C 0.8, A→D 0.7 at depth 1, three with A: strictly falling."""
    edges = [Edge("A", "relates_to", other, w) for other, w in (("D", 0.7), ("B", 0.9), ("C", 0.8))]
    found = walk_cascade({"A": 1.0}, of(*edges), depth=1, most=2)

    assert [(way.id, round(way.score, 3)) for way in found] == [("B", 0.63), ("C", 0.56)]


@pytest.mark.proves("CC-18", "B35", "B42")
def test_depth_counts_memories_not_tags():
    """A – t1 – B – t2 – C: one hop finds B, two find C."""
    edges = of(tag("A", "t1"), tag("B", "t1"), tag("B", "t2"), tag("C", "t2"))

    assert names(walk_cascade({"A": 1.0}, edges, depth=0)) == []
    assert names(walk_cascade({"A": 1.0}, edges, depth=1)) == ["B"]
    assert [(w.id, w.from_id) for w in walk_cascade({"A": 1.0}, edges, depth=2)] == [
        ("B", "A"),
        ("C", "B"),
    ]


@pytest.mark.parametrize(
    ("rel", "share"),
    [
        ("relates_to", 0.45),
        ("contradicts", 0.3),
        ("derived_from", 0.7),
        ("resembles", 0.3),
    ],
)
@pytest.mark.proves("CC-21", "B37", "B38", "B44")
def test_relations_hand_on_their_share_from_both_ends(rel, share):
    """The weights of the table, and a link's own, times 0.7 per hop."""
    edge = Edge("A", rel, "B", 0.45)

    for seed, other in (("A", "B"), ("B", "A")):
        assert walk_cascade({seed: 0.5}, of(edge), depth=1) == [
            ReachedMemory(other, pytest.approx(0.5 * share * 0.7), seed, rel)
        ]
    assert walk_cascade({"A": 0.5}, of(edge), depth=1, decay=0.5)[0].score == pytest.approx(
        0.5 * share * 0.5
    )


@pytest.mark.parametrize(("rel", "share"), [("in_cluster", 0.6), ("has_tag", 0.8), ("about", 0.3)])
@pytest.mark.proves("CC-21", "B4")
def test_two_that_share_something_alone(rel, share):
    """InCluster edges reach the other members, and so does a file that both are about."""
    found = walk_cascade({"A": 1.0}, of(Edge("A", rel, "x:1"), Edge("B", rel, "x:1")), depth=1)

    assert [(w.id, w.score) for w in found] == [("B", pytest.approx(share * 0.7))]


def test_supersedes_leads_only_to_the_newer():
    """Whoever finds the older is led to what replaced it, never back."""
    edge = Edge("new", "supersedes", "old")

    assert [(w.id, w.score) for w in walk_cascade({"old": 1.0}, of(edge), depth=2)] == [
        ("new", pytest.approx(0.63))
    ]
    assert walk_cascade({"new": 1.0}, of(edge), depth=2) == []


@pytest.mark.proves("B39")
def test_the_best_path_counts():
    """Two strong hops beat one weak one; each memory comes once."""
    edges = of(
        Edge("A", "relates_to", "C", 0.1),
        Edge("A", "relates_to", "B", 0.95),
        Edge("B", "relates_to", "C", 0.9),
    )
    found = walk_cascade({"A": 1.0}, edges, depth=2)

    assert [(w.id, w.from_id) for w in found] == [("B", "A"), ("C", "B")]
    assert [(w.id, w.from_id) for w in walk_cascade({"A": 1.0}, edges, depth=1)] == [
        ("B", "A"),
        ("C", "A"),
    ]


@pytest.mark.proves("CC-22")
def test_cycles_end_and_unknown_seeds_are_ignored():
    """A ring is walked once; a seed that nobody knows is ignored."""
    ring = of(*(Edge(a, "relates_to", b, 0.9) for a, b in ("AB", "BC", "CA")))

    assert sorted(names(walk_cascade({"A": 1.0}, ring, depth=50))) == ["B", "C"]
    assert walk_cascade({"nobody": 1.0}, ring, depth=2) == [] == walk_cascade({}, ring, depth=2)


@pytest.mark.proves("CC-20")
def test_a_seed_may_be_raised_by_a_better_one():
    """A weak hit that is tied to a strong one gains, and stays below it."""
    edges = of(Edge("A", "relates_to", "B", 0.9))

    assert [
        (w.id, round(w.score, 3)) for w in walk_cascade({"A": 0.9, "B": 0.1}, edges, depth=2)
    ] == [("B", 0.567)]
    assert walk_cascade({"A": 0.9, "B": 0.8}, edges, depth=2) == []


def test_a_common_tag_says_less_than_a_rare_one():
    """Of two memories, that comes first with which the seed shares what few have."""
    rare = [tag("A", "rare"), tag("R", "rare")]
    common = [tag("A", "common"), *(tag(f"C{n}", "common") for n in range(20))]
    found = walk_cascade({"A": 1.0}, of(*common, *rare), depth=1)

    assert (found[0].id, len(found)) == ("R", 21)
    assert found[1].score < 0.4 * found[0].score


def test_a_tag_on_five_thousand_memories_is_bounded():
    """Of a hub, the newest are followed, in every hop, and it asks no more than that
    of the store.
    """
    crowd = [tag(f"m{n:04}", "all") for n in range(5_000)]
    asked = []

    def neighbours(nodes):
        asked.append(len(nodes))
        return of(*crowd)(nodes)

    found = walk_cascade({"m0000": 1.0}, neighbours, depth=3, most=1_000)

    assert names(found) == sorted(f"m{n:04}" for n in range(5_000 - MAX_FAN_OUT, 5_000))
    assert max(asked) <= MAX_FAN_OUT


@given(
    st.lists(
        st.builds(
            Edge,
            st.sampled_from("ABCDEF"),
            st.sampled_from(RELATIONS),
            st.sampled_from("ABCDEF"),
            st.floats(0.01, 1.0),
        ),
        max_size=25,
    ),
    st.dictionaries(st.sampled_from("ABCDEFG"), st.floats(0, 1), max_size=4),
    st.integers(0, 5),
    st.randoms(),
)
@pytest.mark.proves("CC-20")
def test_walks_hold_their_invariants_on_any_graph(edges, seeds, depth, random):
    """Each once, best first, below who brought it, never above the best seed; order of edges is
    nothing.
    """
    edges = list({(e.src, e.rel, e.dst): e for e in edges if e.src != e.dst}.values())
    found = walk_cascade(seeds, of(*edges), depth=depth)
    scores = {**seeds, **{way.id: way.score for way in found}}

    assert len(set(names(found))) == len(found)
    assert found == sorted(found, key=lambda way: (-way.score, way.id))
    assert all(way.score < scores[way.from_id] for way in found)
    assert all(way.score > seeds.get(way.id, 0.0) for way in found)
    random.shuffle(edges)
    assert walk_cascade(seeds, of(*edges), depth=depth) == found


@given(
    st.lists(
        st.builds(
            Edge,
            st.sampled_from("ABCDEF"),
            st.just("relates_to"),
            st.sampled_from("ABCDEF"),
            st.floats(0.01, 1.0),
        ),
        max_size=25,
    ),
    st.integers(1, 5),
    st.integers(1, 4),
)
def test_a_smaller_limit_gives_the_first_of_a_larger(edges, most, depth):
    """Asking for few finds the first of what asking for many finds: nothing is given
    up too early.
    """
    edges = list({frozenset((e.src, e.dst)): e for e in edges if e.src != e.dst}.values())

    assert (
        walk_cascade({"A": 1.0}, of(*edges), depth=depth, most=most)
        == walk_cascade({"A": 1.0}, of(*edges), depth=depth, most=50)[:most]
    )


@given(st.floats(0.01, 1.0))
@pytest.mark.proves("CC-58")
def test_linking_again_never_weakens(weight):
    """+0.05 up to 0.95; what a user set higher stays."""
    assert weight <= strengthen_weight(weight) <= max(0.95, weight)


@pytest.mark.proves("CC-58", "B75", "B127")
def test_a_link_grows_in_small_steps():
    """0.5 at first, 0.95 at most."""
    assert [strengthen_weight(w) for w in (0.0, 0.5, 0.93, 1.0)] == [
        0.5,
        0.55,
        0.95,
        1.0,
    ]
    assert edge_weight(Edge("a", "relates_to", "b", 0.2)) == 0.2
