"""The cluster passes: from a space's vectors to the edges `in_cluster` that should be.

`clusters` decides; this reads what it decides from.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from reverie.consolidation import clusters
from reverie.consolidation.nearest_neighbours import Floats, Ints, SearchStopped, find_nearest
from reverie.consolidation.neighbour_index import MAX_NEIGHBOURS, SpaceVectors, load_space_vectors
from reverie.consolidation.sleep_run import NameGroup
from reverie.pipeline.event_reader import WorkContext
from reverie.reconciliation.pass_view import EdgeWeights, PassStep, PassView, index_edges

# (src, rel, dst) → weight
EdgeTable = dict[tuple[str, str, str], float]

# memories looked up at once
BATCH = 500
# members by which a group is named
MAX_NAMING_TEXTS = 20
# new groups of a space that a model names; the others are named in their members' words
MAX_NAMED_GROUPS = 30


def recluster_space(
    work: WorkContext,
    space: str,
    may_continue: Callable[[], bool],
    name_group: NameGroup | None,
) -> tuple[PassView, Iterable[PassStep]]:
    """The clusters of a space found anew, under their old names where most members stay."""
    vectors = load_own_vectors(work, space)
    try:
        groups = find_groups(vectors, may_continue)
    except SearchStopped:
        return PassView(work.now, {}), ()
    edges = load_membership_edges(work, vectors)
    words, everywhere = count_group_words(work, vectors, groups)
    before = collect_members(edges)
    given: dict[int, str] = {}
    if name_group:
        known = clusters.match_old_clusters(groups, before)
        new = {label: members for label, members in groups.items() if label not in known}

        def ask_name(texts: Sequence[str]) -> str | None:
            return name_group(texts, space) if texts and may_continue() else None

        given = name_new_groups(work, new, words, ask_name)
    named = clusters.name_clusters(space, groups, before, words, everywhere, given)
    return plan_memberships(work, vectors, named, edges)


def find_groups(
    vectors: SpaceVectors, may_continue: Callable[[], bool]
) -> dict[int, frozenset[str]]:
    """The members of each cluster that is found, by its number; SearchStopped if it must end."""
    near = find_nearest(
        vectors.vectors,
        MAX_NEIGHBOURS,
        clusters.MIN_NEIGHBOUR_COSINE,
        may_continue=may_continue,
    )
    labels = clusters.find_clusters(near, may_continue=may_continue)
    return clusters.group_by_label(labels, vectors.ids)


def name_new_groups(
    work: WorkContext,
    groups: Mapping[int, frozenset[str]],
    words: Mapping[int, Counter[str]],
    ask_name: Callable[[Sequence[str]], str | None],
) -> dict[int, str]:
    """Names that a model gives to the largest of these groups, where they tell no one's secret."""
    found: dict[int, str] = {}
    for label in clusters.sort_by_size(groups)[:MAX_NAMED_GROUPS]:
        memories = work.store.get(sorted(groups[label])[:MAX_NAMING_TEXTS])
        given = ask_name([memory.text for memory in memories])
        name = clusters.sanitize_cluster_name(given, words.get(label, Counter()))
        if name:
            found[label] = name
    return found


def tidy_small_clusters(work: WorkContext, space: str) -> tuple[PassView, Iterable[PassStep]]:
    """The clusters that are there, the small ones joined to others or given up."""
    vectors = load_own_vectors(work, space)
    edges = load_membership_edges(work, vectors)
    members = collect_members(edges)
    tidied = clusters.merge_small_clusters(members, locate_centres(vectors, members))
    return plan_memberships(work, vectors, tidied, edges)


def load_own_vectors(work: WorkContext, space: str) -> SpaceVectors:
    """Only the memories of the space itself: clusters of one project say nothing about another."""
    found = load_space_vectors(work, space)
    return found if found.is_own.all() else found.take(np.flatnonzero(found.is_own))


def load_membership_edges(work: WorkContext, matrix: SpaceVectors) -> EdgeTable:
    """The edges `in_cluster` of these memories."""
    wanted = frozenset(matrix.ids)
    found: EdgeTable = {}
    for ids in batch_ids(matrix.ids):
        edges = work.store.edges(ids, ("in_cluster",))
        found |= index_edges(edge for edge in edges if edge.src in wanted)
    return found


def batch_ids(ids: list[str]) -> Iterator[list[str]]:
    """The ids, BATCH at a time."""
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]


def collect_members(edges: EdgeWeights) -> dict[str, frozenset[str]]:
    """The members of each cluster, from its edges."""
    found: dict[str, set[str]] = {}
    for id, _, name in edges:
        found.setdefault(name, set()).add(id)
    return {name: frozenset(members) for name, members in found.items()}


def count_group_words(
    work: WorkContext,
    matrix: SpaceVectors,
    groups: Mapping[int, frozenset[str]],
) -> tuple[dict[int, Counter[str]], Counter[str]]:
    """How many members of each group, and how many memories of all, have a word."""
    label_of = {id: label for label, members in groups.items() for id in members}
    words: dict[int, Counter[str]] = {}
    everywhere: Counter[str] = Counter()
    for ids in batch_ids(matrix.ids):
        for memory in work.store.get(ids):
            terms = clusters.extract_name_words(memory.text)
            everywhere.update(terms)
            if memory.id in label_of:
                words.setdefault(label_of[memory.id], Counter()).update(terms)
    return words, everywhere


def locate_centres(matrix: SpaceVectors, groups: clusters.Members) -> dict[str, Floats]:
    """The centre of each cluster."""
    row_of = number_rows(matrix)
    rows: dict[str, Ints] = {}
    for name, members in groups.items():
        present = [row_of[id] for id in sorted(members) if id in row_of]
        rows[name] = np.array(present, np.int64)
    return clusters.compute_centres(rows, matrix.vectors)


def number_rows(matrix: SpaceVectors) -> dict[str, int]:
    """The row of each memory."""
    return {id: row for row, id in enumerate(matrix.ids)}


def plan_memberships(
    work: WorkContext,
    matrix: SpaceVectors,
    groups: clusters.Members,
    edges: EdgeWeights,
) -> tuple[PassView, Iterable[PassStep]]:
    """The steps from the edges that are there to these clusters, and the view they rest on.

    The view is empty: an edge of a member that was retired meanwhile harms nobody.
    """
    row_of = number_rows(matrix)
    centres = locate_centres(matrix, groups)
    steps = clusters.diff_memberships(
        groups,
        centres,
        lambda id: matrix.vectors[row_of[id]],
        edges,
    )
    return PassView(work.now, {}), steps
