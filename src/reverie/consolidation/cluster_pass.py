"""Clusters of a space, from its vectors to the edges that should be: reading for
`lifecycle.sleep.clusters`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np

from reverie.consolidation import clusters
from reverie.consolidation.nearest_neighbours import Floats, Ints, SearchStopped, find_nearest
from reverie.consolidation.neighbour_index import MAX_NEIGHBOURS, SpaceVectors, load_space_vectors
from reverie.consolidation.sleep_run import NameGroup
from reverie.pipeline.event_reader import WorkContext
from reverie.reconciliation.pass_view import EdgeWeights, PassStep, PassView, index_edges

BATCH = 500  # memories looked up at once
MAX_NAMING_TEXTS = 20  # members by which a group is named
# new groups of a space that a model names; the others are named in their members' words
MAX_NAMED_GROUPS = 30
Groups = Mapping[str, frozenset[str]]


def recluster_space(
    work: WorkContext, space: str, going: Callable[[], bool], name_group: NameGroup | None = None
) -> tuple[PassView, Iterable[PassStep]]:
    """The clusters of a space found anew, under their old names where most members stay."""
    soil = restrict_to_space(load_space_vectors(work, space))
    try:
        near = find_nearest(
            soil.vectors, MAX_NEIGHBOURS, clusters.MIN_NEIGHBOUR_COSINE, going=going
        )
        labels = clusters.find_clusters(near, going=going)
    except SearchStopped:
        return PassView(work.now, {}), ()
    groups = clusters.group_by_label(labels, soil.ids)
    edges = load_membership_edges(work, soil)
    words, everywhere = count_group_words(
        work, soil, {id: label for label, members in groups.items() for id in members}
    )
    before = collect_members(edges)
    given = (
        name_new_groups(work, space, groups, before, words, going, name_group) if name_group else {}
    )
    named = clusters.name_clusters(space, groups, before, words, everywhere, given)
    return plan_memberships(work, soil, named, edges)


def name_new_groups(
    work: WorkContext,
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
    unnamed = groups.keys() - clusters.match_old_clusters(groups, before).keys()
    for group in sorted(unnamed, key=lambda g: (-len(groups[g]), min(groups[g])))[
        :MAX_NAMED_GROUPS
    ]:
        texts = (
            [memory.text for memory in work.store.get(sorted(groups[group])[:MAX_NAMING_TEXTS])]
            if going()
            else []
        )
        name = clusters.sanitize_cluster_name(
            name_group(texts, space) if texts else None, words.get(group, Counter())
        )
        found |= {group: name} if name else {}
    return found


def tidy_small_clusters(work: WorkContext, space: str) -> tuple[PassView, Iterable[PassStep]]:
    """The clusters that are there, the small ones joined to others or given up."""
    soil = restrict_to_space(load_space_vectors(work, space))
    edges = load_membership_edges(work, soil)
    there = collect_members(edges)
    return plan_memberships(
        work, soil, clusters.merge_small_clusters(there, locate_centres(soil, there)), edges
    )


def restrict_to_space(soil: SpaceVectors) -> SpaceVectors:
    """Only the memories of the space itself: clusters of one project say nothing about another."""
    if soil.is_own.all():
        return soil
    rows = np.flatnonzero(soil.is_own)
    return SpaceVectors(
        [soil.ids[i] for i in rows],
        soil.vectors[rows],
        soil.is_own[rows],
        soil.is_new[rows],
        soil.newest,
    )


def load_membership_edges(
    work: WorkContext, soil: SpaceVectors
) -> dict[tuple[str, str, str], float]:
    """The edges `in_cluster` of these memories."""
    asked = frozenset(soil.ids)
    return {
        ends: weight
        for some in batch_ids(soil.ids)
        for ends, weight in index_edges(work.store.edges(some, ("in_cluster",))).items()
        if ends[0] in asked
    }


def batch_ids(ids: list[str]) -> Iterator[list[str]]:
    """A few ids at a time."""
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]


def collect_members(edges: EdgeWeights) -> dict[str, frozenset[str]]:
    """The members of each cluster."""
    found: dict[str, set[str]] = {}
    for id, _, name in edges:
        found.setdefault(name, set()).add(id)
    return {name: frozenset(members) for name, members in found.items()}


def count_group_words(
    work: WorkContext, soil: SpaceVectors, label: Mapping[str, int]
) -> tuple[dict[int, Counter[str]], Counter[str]]:
    """In how many members of each group, and in how many memories of all, a word stands."""
    words: dict[int, Counter[str]] = {}
    everywhere: Counter[str] = Counter()
    for some in batch_ids(soil.ids):
        for memory in work.store.get(some):
            said = clusters.extract_name_words(memory.text)
            everywhere.update(said)
            if memory.id in label:
                words.setdefault(label[memory.id], Counter()).update(said)
    return words, everywhere


def locate_centres(soil: SpaceVectors, groups: Groups) -> dict[str, Floats]:
    """The centre of each cluster."""
    row = {id: i for i, id in enumerate(soil.ids)}
    rows: dict[str, Ints] = {
        name: np.array([row[id] for id in sorted(members) if id in row], np.int64)
        for name, members in groups.items()
    }
    return clusters.compute_centres(rows, soil.vectors)


def plan_memberships(
    work: WorkContext, soil: SpaceVectors, groups: Groups, edges: EdgeWeights
) -> tuple[PassView, Iterable[PassStep]]:
    """The steps that lead from the edges that are there to these clusters, and what they rest on.

    Whether a member still counts when its edge is made so makes no difference: the edge harms
    nobody.
    """
    row = {id: i for i, id in enumerate(soil.ids)}
    steps = clusters.diff_memberships(
        groups, locate_centres(soil, groups), lambda id: soil.vectors[row[id]], edges
    )
    return PassView(work.now, {}), steps
