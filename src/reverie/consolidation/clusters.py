"""Clusters: untagged groups, found in the vectors and named by words that the members share.

`find_clusters` runs HDBSCAN (Campello et al., 2013) on the graph of nearest neighbours, one
connected component at a time: the distances that matter are in it, and the work grows with its
edges instead of with the square of the memories. It needs scikit-learn (the extra `sleep`); why
HDBSCAN is told in docs/why-sleep.md.

A cluster is a node `cluster:<space>:<name>` with an edge `in_cluster` from each member. A name is
made of words that several members share, or given by a language model in words of its own; it tells
nothing that only one memory says, and stays as long as most members stay. Derived data: it can be
found anew at any time, and nothing rests on it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from reverie.consolidation.nearest_neighbours import Floats, Ints, NeighbourTable, SearchStopped
from reverie.core.model import Edge, Link
from reverie.reconciliation.pass_view import EdgeWeights, PassStep
from reverie.text.tokenization import tokenize_query

# A cluster of fewer members is small.
MIN_MEMBERS = 5
# neighbours that a member needs (HDBSCAN's min_samples)
MIN_SAMPLES = 3
# A component of so many rows may be one cluster though it has no denser parts.
MAX_SINGLE_REGION = 200
# rows that HDBSCAN is given at once, which takes it one or two seconds: a run can stop in between
MAX_COMPONENT_ROWS = 20_000
# Neighbours of a lower cosine are none.
MIN_NEIGHBOUR_COSINE = 0.40
# cosine of two centres from which a small cluster joins the other
MIN_JOIN_COSINE = 0.70
MAX_NAME_WORDS = 3
MAX_NAME_LETTERS = 24


# characters of a text that name words are taken from
MAX_NAMED_CHARS = 2_000
# part of the members in which a word must stand to name them
MIN_SHARED_PART = 0.3
# SciPy takes an entry of 0 for no edge, so equal texts get this distance.
MIN_DISTANCE = 1e-6

# cluster node → ids
Members = Mapping[str, frozenset[str]]


def is_clustering_available() -> bool:
    """True if scikit-learn is installed."""
    return find_spec("sklearn") is not None


def find_clusters(
    table: NeighbourTable,
    may_continue: Callable[[], bool] = lambda: True,
) -> Ints:
    """The cluster number of each row, −1 for none. Raises SearchStopped when not `may_continue`."""
    labels = np.full(len(table.rows), -1, np.int64)
    taken = 0
    for rows, graph in iter_components(
        to_distance_graph(table),
        np.arange(len(table.rows)),
    ):
        if not may_continue():
            raise SearchStopped
        own = find_dense_regions(graph)
        labels[rows] = np.where(own >= 0, own + taken, -1)
        taken += int(own.max(initial=-1)) + 1
    return labels


def iter_components(graph: Any, rows: Ints) -> Iterator[tuple[Ints, Any]]:
    """The connected components of at least MIN_MEMBERS rows, each as its rows and its graph.

    One of more than MAX_COMPONENT_ROWS rows comes without the longest of its edges, and so in
    parts: the dense regions stay whole.
    """
    from scipy.sparse.csgraph import connected_components

    core = find_core_rows(graph)
    rows, graph = rows[core], graph[core][:, core]
    count, parts = connected_components(graph, directed=False)
    sizes = np.bincount(parts, minlength=count)
    order = np.argsort(parts, kind="stable")
    ends = np.concatenate([[0], np.cumsum(sizes)])
    for part in np.flatnonzero(sizes >= MIN_MEMBERS):
        own = order[ends[part] : ends[part + 1]]
        component = graph[own][:, own]
        if len(own) > MAX_COMPONENT_ROWS:
            thinned = drop_longest_edges(component)
            if thinned.nnz:
                yield from iter_components(thinned, rows[own])
                continue
        yield rows[own], component


def drop_longest_edges(graph: Any) -> Any:
    """The graph without the longest quarter of its edges; without any if all are as long."""
    less = graph.copy()
    less.data[less.data >= np.quantile(less.data, 0.75)] = 0.0
    less.eliminate_zeros()
    return less


def find_core_rows(graph: Any) -> Ints:
    """The rows with MIN_SAMPLES neighbours among themselves; no other lies in a dense region."""
    rows = np.arange(graph.shape[0])
    while len(rows):
        inside = np.diff(graph.indptr) >= MIN_SAMPLES
        if inside.all():
            break
        rows, graph = rows[inside], graph[inside][:, inside]
    return rows


def find_dense_regions(graph: Any) -> Ints:
    """The dense regions of one connected component, −1 for rows outside.

    A component that holds together without denser parts is a region itself.
    """
    size: int = graph.shape[0]
    whole = np.zeros(size, np.int64)
    if size < 2 * MIN_MEMBERS:
        return whole
    from sklearn.cluster import HDBSCAN

    model = HDBSCAN(
        min_cluster_size=MIN_MEMBERS,
        min_samples=MIN_SAMPLES,
        metric="precomputed",
        copy=True,
    )
    labels = np.asarray(model.fit(graph).labels_, np.int64)
    is_mostly_noise = 2 * np.count_nonzero(labels >= 0) < size
    return whole if size <= MAX_SINGLE_REGION and is_mostly_noise else labels


def to_distance_graph(table: NeighbourTable) -> Any:
    """One minus the cosine of neighbours, both ways, as a sparse (n, n) matrix."""
    from scipy.sparse import csr_matrix

    n, k = table.rows.shape
    is_filled = (table.rows >= 0).ravel()
    rows = np.repeat(np.arange(n), k)[is_filled]
    others = table.rows.ravel()[is_filled]
    cosines = table.cosines.ravel()[is_filled].astype(np.float64)
    distances = np.maximum(1.0 - cosines, MIN_DISTANCE)
    one_way = csr_matrix((distances, (rows, others)), shape=(n, n))
    return one_way.maximum(one_way.T).tocsr()


def name_clusters(
    space: str,
    groups: Mapping[int, frozenset[str]],
    before: Members,
    words: Mapping[int, Counter[str]],
    everywhere: Counter[str],
    given: Mapping[int, str],
) -> dict[str, frozenset[str]]:
    """Each group under its old name, else a `given` one, or its distinctive words."""
    names = match_old_clusters(groups, before)
    for label in sort_by_size(groups):
        if label not in names:
            size = len(groups[label])
            name = given.get(label) or choose_distinctive_words(words[label], size, everywhere)
            names[label] = make_unique_name(f"cluster:{space}:{name}", {*names.values(), *before})
    return {names[label]: members for label, members in groups.items()}


def sort_by_size(groups: Mapping[int, frozenset[str]]) -> list[int]:
    """The groups, the largest first; of equals that with the oldest member."""
    return sorted(
        groups,
        key=lambda label: (-len(groups[label]), min(groups[label])),
    )


def match_old_clusters(
    groups: Mapping[int, frozenset[str]],
    before: Members,
) -> dict[int, str]:
    """Group → the old cluster that it is again, most members in common first.

    They share at least half of the smaller of the two.
    """
    old_of = {id: name for name, members in before.items() for id in members}
    matches = []
    for label, members in groups.items():
        shared = Counter(old_of[id] for id in members if id in old_of)
        for name, count in shared.items():
            if 2 * count >= min(len(members), len(before[name])):
                matches.append((-count, name, min(members), label))
    names: dict[int, str] = {}
    for _, name, _, label in sorted(matches):
        if label not in names and name not in names.values():
            names[label] = name
    return names


def sanitize_cluster_name(name: str | None, counts: Counter[str]) -> str:
    """A name that a model gave, as it may stand in a node; "" if it tells one member's secret.

    It does if a word of it stands in exactly one member. Words that no member has are the model's
    own. A name with numbers is not taken.
    """
    words = re.findall(r"[^\W_]+", (name or "").lower())
    if any(not word.isalpha() for word in words):
        return ""
    is_telling = any(counts[term] == 1 for term in extract_name_words(" ".join(words)))
    return "" if is_telling else "-".join(words)


def choose_distinctive_words(
    counts: Counter[str],
    size: int,
    everywhere: Counter[str],
) -> str:
    """A few words that many of the `size` members share and few others have; else "mixed"."""
    least = max(2, MIN_SHARED_PART * size)
    common = [word for word, count in counts.items() if count >= least]
    common.sort(key=lambda word: (-(counts[word] ** 2) / everywhere[word], word))
    return "-".join(common[:MAX_NAME_WORDS]) or "mixed"


def make_unique_name(name: str, taken: set[str]) -> str:
    """The name, with a number if it is taken."""
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}-{number}", number + 1
    return free


def extract_name_words(text: str) -> set[str]:
    """Words of a text that may stand in a name."""
    return {
        term
        for term in tokenize_query(text[:MAX_NAMED_CHARS])
        if term.isalpha() and 3 <= len(term) <= MAX_NAME_LETTERS
    }


def compute_centres(
    rows: Mapping[str, Ints],
    vectors: Floats,
) -> dict[str, Floats]:
    """The centre of each cluster: the mean of its members, of unit length."""
    centres = {}
    for name, members in rows.items():
        if len(members):
            mean = vectors[members].mean(axis=0)
            centres[name] = mean / (np.linalg.norm(mean) or 1.0)
    return centres


def merge_small_clusters(
    clusters: Members, centres: Mapping[str, Floats]
) -> dict[str, frozenset[str]]:
    """Join clusters of fewer than MIN_MEMBERS members to the nearest close one, or drop them.

    `centres` is the centre of each cluster.
    """
    large = {name: members for name, members in clusters.items() if len(members) >= MIN_MEMBERS}
    if len(large) == len(clusters) or not large:
        return large
    names = sorted(large)
    matrix = np.stack([centres[name] for name in names])
    for name in sorted(clusters.keys() - large.keys()):
        if name not in centres:
            continue
        cosines = matrix @ centres[name]
        best = int(np.argmax(cosines))
        if cosines[best] >= MIN_JOIN_COSINE:
            large[names[best]] |= clusters[name]
    return large


def diff_memberships(
    clusters: Members,
    centres: Mapping[str, Floats],
    vector: Callable[[str], Floats],
    edges: EdgeWeights,
) -> Iterable[PassStep]:
    """The steps from these edges to the clusters that should be.

    An edge that stays keeps its weight; a new one weighs the cosine of member and centre, within
    0.05 to 1.
    """
    wanted = {(id, name) for name, members in clusters.items() for id in members}
    current = {(src, dst) for src, _, dst in edges}
    for id, name in sorted(current - wanted):
        yield make_membership_step(id, name, 0.0, "left the cluster")
    for id, name in sorted(wanted - current):
        cosine = float(vector(id) @ centres[name])
        weight = round(min(1.0, max(0.05, cosine)), 2)
        yield make_membership_step(id, name, weight, "in the cluster")


def make_membership_step(
    id: str,
    name: str,
    weight: float,
    why: str,
) -> PassStep:
    """The step that gives a member's edge this weight; 0 removes it."""
    return PassStep(
        (Link(Edge(id, "in_cluster", name, weight)),),
        (id,),
        why,
    )


def group_by_label(
    labels: Ints,
    ids: Sequence[str],
) -> dict[int, frozenset[str]]:
    """The members of each cluster by its number."""
    groups: dict[int, set[str]] = {}
    for id, label in zip(ids, labels.tolist(), strict=True):
        if label >= 0:
            groups.setdefault(label, set()).add(id)
    return {label: frozenset(members) for label, members in groups.items()}
