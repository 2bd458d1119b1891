"""Clusters of a space, from its vectors to the edges that should be: reading for
`lifecycle.sleep.clusters`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from reverie.consolidation import clusters
from reverie.consolidation.nearest_neighbours import Floats, Ints, Stopped, nearest
from reverie.consolidation.neighbour_index import NEIGHBOURS, Soil, read
from reverie.consolidation.sleep_run import NameGroup
from reverie.pipeline.event_reader import Work
from reverie.reconciliation.pass_view import Edges, Step, View, told

BATCH = 500  # memories looked up at once
SHOWN = 20  # members by which a group is named
# new groups of a space that a model names; the others are named in their members' words
MOST_NAMED = 30
Groups = Mapping[str, frozenset[str]]


def regrouped(
    work: Work, space: str, going: Callable[[], bool], name_group: NameGroup | None = None
) -> tuple[View, Iterable[Step]]:
    """The clusters of a space found anew, under their old names where most members stay."""
    soil = own_only(read(work, space))
    try:
        near = nearest(soil.vectors, NEIGHBOURS, clusters.CLOSE, going=going)
        labels = clusters.found(near, going=going)
    except Stopped:
        return View(work.now, {}), ()
    groups = clusters.grouped(labels, soil.ids)
    edges = memberships(work, soil)
    words, everywhere = counted(
        work, soil, {id: label for label, members in groups.items() for id in members}
    )
    before = members_of(edges)
    given = names_for(work, space, groups, before, words, going, name_group) if name_group else {}
    named = clusters.named(space, groups, before, words, everywhere, given)
    return wanted(work, soil, named, edges)


def names_for(
    work: Work,
    space: str,
    groups: Mapping[int, frozenset[str]],
    before: Groups,
    words: Mapping[int, Counter[str]],
    going: Callable[[], bool],
    name_group: NameGroup,
) -> dict[int, str]:
    """Names that a model gives to the largest groups without one, where they tell no single
    memory's secret.
    """
    found: dict[int, str] = {}
    unnamed = groups.keys() - clusters.kept(groups, before).keys()
    for group in sorted(unnamed, key=lambda g: (-len(groups[g]), min(groups[g])))[:MOST_NAMED]:
        texts = (
            [memory.text for memory in work.store.get(sorted(groups[group])[:SHOWN])]
            if going()
            else []
        )
        name = clusters.fit(
            name_group(texts, space) if texts else None, words.get(group, Counter())
        )
        found |= {group: name} if name else {}
    return found


def tidied(work: Work, space: str) -> tuple[View, Iterable[Step]]:
    """The clusters that are there, the small ones joined to others or given up."""
    soil = own_only(read(work, space))
    edges = memberships(work, soil)
    there = members_of(edges)
    return wanted(work, soil, clusters.without_small(there, middles(soil, there)), edges)


def own_only(soil: Soil) -> Soil:
    """Only the memories of the space itself: clusters of one project say nothing about another."""
    if soil.own.all():
        return soil
    rows = np.flatnonzero(soil.own)
    return Soil(
        [soil.ids[i] for i in rows],
        soil.vectors[rows],
        soil.own[rows],
        soil.fresh[rows],
        soil.newest,
    )


def memberships(work: Work, soil: Soil) -> dict[tuple[str, str, str], float]:
    """The edges `in_cluster` of these memories."""
    asked = frozenset(soil.ids)
    return {
        ends: weight
        for some in batches(soil.ids)
        for ends, weight in told(work.store.edges(some, ("in_cluster",))).items()
        if ends[0] in asked
    }


def batches(ids: list[str]) -> Iterator[list[str]]:
    """A few ids at a time."""
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]


def members_of(edges: Edges) -> dict[str, frozenset[str]]:
    """The members of each cluster."""
    found: dict[str, set[str]] = {}
    for id, _, name in edges:
        found.setdefault(name, set()).add(id)
    return {name: frozenset(members) for name, members in found.items()}


def counted(
    work: Work, soil: Soil, label: Mapping[str, int]
) -> tuple[dict[int, Counter[str]], Counter[str]]:
    """In how many members of each group, and in how many memories of all, a word stands."""
    words: dict[int, Counter[str]] = {}
    everywhere: Counter[str] = Counter()
    for some in batches(soil.ids):
        for memory in work.store.get(some):
            said = clusters.name_words(memory.text)
            everywhere.update(said)
            if memory.id in label:
                words.setdefault(label[memory.id], Counter()).update(said)
    return words, everywhere


def middles(soil: Soil, groups: Groups) -> dict[str, Floats]:
    """The centre of each cluster."""
    row = {id: i for i, id in enumerate(soil.ids)}
    rows: dict[str, Ints] = {
        name: np.array([row[id] for id in sorted(members) if id in row], np.int64)
        for name, members in groups.items()
    }
    return clusters.centres(rows, soil.vectors)


def wanted(work: Work, soil: Soil, groups: Groups, edges: Edges) -> tuple[View, Iterable[Step]]:
    """The steps that lead from the edges that are there to these clusters, and what they rest on.

    Whether a member still counts when its edge is made so makes no difference: the edge harms
    nobody.
    """
    row = {id: i for i, id in enumerate(soil.ids)}
    steps = clusters.memberships(
        groups, middles(soil, groups), lambda id: soil.vectors[row[id]], edges
    )
    return View(work.now, {}), steps
