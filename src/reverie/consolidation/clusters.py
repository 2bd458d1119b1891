"""Clusters: groups that nobody tagged, found in the vectors and named in the members' own words
(B24 to B29, B114).

`found` runs HDBSCAN (Campello et al., 2013) on the graph of nearest neighbours, one connected
component at a time: the distances that matter are in it, and the work grows with its edges instead
of with the square of the memories. It needs scikit-learn (the extra `sleep`); why HDBSCAN is told
in docs/why-sleep.md.

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
from types import MappingProxyType
from typing import Any

import numpy as np

from reverie.consolidation.nearest_neighbours import Floats, Ints, NeighbourTable, SearchStopped
from reverie.core.model import Edge, Link
from reverie.reconciliation.pass_view import EdgeWeights, PassStep
from reverie.text.tokenization import tokenize_query

MIN_MEMBERS = 5  # members that make a cluster; what has fewer is small
MIN_SAMPLES = 3  # neighbours that a member needs (HDBSCAN's min_samples)
MAX_SINGLE_REGION = 200  # rows of a component that may be one cluster though it has no denser parts
# rows that HDBSCAN is given at once, which takes it one or two seconds: a run can stop in between
MAX_COMPONENT_ROWS = 20_000
MIN_NEIGHBOUR_COSINE = (
    0.40  # cosine below which neighbours are no neighbours (CONSTANTS: dense similarity floor)
)
MIN_JOIN_COSINE = (
    0.70  # cosine of two centres from which a small cluster joins the other (B77, B126)
)
MAX_NAME_WORDS = 3
MAX_NAME_LETTERS = 24  # of one word
MIN_SHARED_PART = 0.3  # share of the members in which a word must stand to name them
MIN_DISTANCE = 1e-6  # a distance of nothing: SciPy takes an entry of 0 for no edge

Members = Mapping[str, frozenset[str]]  # cluster node → ids


def is_clustering_available() -> bool:
    """Whether scikit-learn is there."""
    return find_spec("sklearn") is not None


def cluster_node(space: str, name: str) -> str:
    """The name of a cluster's node in the graph."""
    return f"cluster:{space}:{name}"


def find_clusters(
    near: NeighbourTable, least: int = MIN_MEMBERS, going: Callable[[], bool] = lambda: True
) -> Ints:
    """The number of each row's cluster, −1 for rows that lie in none; raises Stopped when not
    `going`.
    """
    labels = np.full(len(near.rows), -1, np.int64)
    taken = 0
    for rows, graph in iter_components(to_distance_graph(near), np.arange(len(near.rows)), least):
        if not going():
            raise SearchStopped
        own = find_dense_regions(graph, least)
        labels[rows] = np.where(own >= 0, own + taken, -1)
        taken += int(own.max(initial=-1)) + 1
    return labels


def iter_components(graph: Any, rows: Ints, least: int) -> Iterator[tuple[Ints, Any]]:
    """The connected components of at least so many rows, as the rows and their graph.

    One of more than AT_ONCE rows comes without the longest of its edges, and so in parts: the dense
    regions stay whole.
    """
    from scipy.sparse.csgraph import connected_components

    inner = find_core_rows(graph)
    rows, graph = rows[inner], graph[inner][:, inner]
    count, parts = connected_components(graph, directed=False)
    sizes = np.bincount(parts, minlength=count)
    order = np.argsort(parts, kind="stable")
    ends = np.concatenate([[0], np.cumsum(sizes)])
    for part in np.flatnonzero(sizes >= least):
        own = order[ends[part] : ends[part + 1]]
        one = graph[own][:, own]
        if len(own) > MAX_COMPONENT_ROWS and (less := drop_longest_edges(one)).nnz:
            yield from iter_components(less, rows[own], least)
        else:
            yield rows[own], one


def drop_longest_edges(graph: Any) -> Any:
    """The graph without the longest quarter of its edges; without any if all are as long."""
    less = graph.copy()
    less.data[less.data >= np.quantile(less.data, 0.75)] = 0.0
    less.eliminate_zeros()
    return less


def find_core_rows(graph: Any) -> Ints:
    """The rows that have SAMPLES neighbours among themselves; the others lie in no dense region
    whatever.
    """
    rows = np.arange(graph.shape[0])
    while len(rows):
        inside = np.diff(graph.indptr) >= MIN_SAMPLES
        if inside.all():
            break
        rows, graph = rows[inside], graph[inside][:, inside]
    return rows


def find_dense_regions(graph: Any, least: int) -> Ints:
    """The dense regions of one connected component. One that holds together without denser parts is
    a region itself.
    """
    size: int = graph.shape[0]
    together = np.zeros(size, np.int64)
    if size < 2 * least:
        return together
    from sklearn.cluster import HDBSCAN

    model = HDBSCAN(
        min_cluster_size=least, min_samples=MIN_SAMPLES, metric="precomputed", copy=True
    )
    labels = np.asarray(model.fit(graph).labels_, np.int64)
    return (
        together
        if size <= MAX_SINGLE_REGION and 2 * np.count_nonzero(labels >= 0) < size
        else labels
    )


def to_distance_graph(near: NeighbourTable) -> Any:
    """One minus the cosine of neighbours, both ways, as a sparse matrix."""
    from scipy.sparse import csr_matrix

    n, k = near.rows.shape
    there = (near.rows >= 0).ravel()
    rows, others = np.repeat(np.arange(n), k)[there], near.rows.ravel()[there]
    far = np.maximum(1.0 - near.cosines.ravel()[there].astype(np.float64), MIN_DISTANCE)
    one_way = csr_matrix((far, (rows, others)), shape=(n, n))
    return one_way.maximum(one_way.T).tocsr()


def name_clusters(
    space: str,
    groups: Mapping[int, frozenset[str]],
    before: Members,
    words: Mapping[int, Counter[str]],
    everywhere: Counter[str],
    given: Mapping[int, str] = MappingProxyType({}),
) -> dict[str, frozenset[str]]:
    """Each group under its name: the one that most of its members had, else a `given` one, or their
    distinctive words.
    """
    names = match_old_clusters(groups, before)
    for group in sorted(groups, key=lambda g: (-len(groups[g]), min(groups[g]))):
        if group not in names:
            name = given.get(group) or choose_distinctive_words(
                words[group], len(groups[group]), everywhere
            )
            names[group] = make_unique_name(cluster_node(space, name), {*names.values(), *before})
    return {names[group]: members for group, members in groups.items()}


def match_old_clusters(groups: Mapping[int, frozenset[str]], before: Members) -> dict[int, str]:
    """Groups that are an old cluster again: they share half of the smaller of the two, most in
    common first.
    """
    home = {id: name for name, members in before.items() for id in members}
    shared = sorted(
        (
            (count, group, name)
            for group, members in groups.items()
            for name, count in Counter(home[id] for id in members if id in home).items()
            if 2 * count >= min(len(members), len(before[name]))
        ),
        key=lambda row: (-row[0], row[2], min(groups[row[1]])),
    )
    names: dict[int, str] = {}
    for _, group, name in shared:
        if group not in names and name not in names.values():
            names[group] = name
    return names


def sanitize_cluster_name(name: str | None, counts: Counter[str]) -> str:
    """A name that somebody else gave, as it may stand in a node; "" if it tells what only one
    member says.

    Words that no member has are the name-giver's own; numbers are nobody's business.
    """
    words = re.findall(r"[^\W_]+", (name or "").lower())
    telling = any(counts[term] == 1 for term in extract_name_words(" ".join(words)))
    return "" if telling or not all(word.isalpha() for word in words) else "-".join(words)


def choose_distinctive_words(counts: Counter[str], size: int, everywhere: Counter[str]) -> str:
    """A few words that many of the members share and few others have."""
    common = [word for word, count in counts.items() if count >= max(2, MIN_SHARED_PART * size)]
    best = sorted(common, key=lambda w: (-(counts[w] ** 2) / everywhere[w], w))[:MAX_NAME_WORDS]
    return "-".join(best) or "mixed"


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
        for term in tokenize_query(text[:2_000])
        if term.isalpha() and 3 <= len(term) <= MAX_NAME_LETTERS
    }


def compute_centres(rows: Mapping[str, Ints], vectors: Floats) -> dict[str, Floats]:
    """The centre of each cluster: the mean of its members, unit length (B27, B76)."""
    means = {name: vectors[members].mean(axis=0) for name, members in rows.items() if len(members)}
    return {name: mean / (np.linalg.norm(mean) or 1.0) for name, mean in means.items()}


def merge_small_clusters(
    clusters: Members, middle: Mapping[str, Floats], least: int = MIN_MEMBERS
) -> dict[str, frozenset[str]]:
    """Clusters of fewer than `least` members join the nearest one that is close enough, or are
    given up (B77, B126).
    """
    large = {name: members for name, members in clusters.items() if len(members) >= least}
    if len(large) == len(clusters) or not large:
        return large
    names = sorted(large)
    matrix = np.stack([middle[name] for name in names])
    for name in sorted(clusters.keys() - large.keys()):
        if name not in middle:
            continue
        cosines = matrix @ middle[name]
        best = int(np.argmax(cosines))
        if cosines[best] >= MIN_JOIN_COSINE:
            large[names[best]] |= clusters[name]
    return large


def diff_memberships(
    clusters: Members,
    middle: Mapping[str, Floats],
    vector: Callable[[str], Floats],
    edges: EdgeWeights,
) -> Iterable[PassStep]:
    """The steps from the edges that are there to the clusters that should be. An edge that stays
    keeps its weight.
    """
    wanted = {(id, name) for name, members in clusters.items() for id in members}
    there = {(src, dst) for src, _, dst in edges}
    for id, name in sorted(there - wanted):
        yield PassStep((Link(Edge(id, "in_cluster", name, 0.0)),), (id,), "left the cluster")
    for id, name in sorted(wanted - there):
        near = float(vector(id) @ middle[name])
        yield PassStep(
            (Link(Edge(id, "in_cluster", name, round(min(1.0, max(0.05, near)), 2))),),
            (id,),
            "in the cluster",
        )


def group_by_label(labels: Ints, ids: Sequence[str]) -> dict[int, frozenset[str]]:
    """The members of each cluster by its number."""
    groups: dict[int, set[str]] = {}
    for id, label in zip(ids, labels.tolist(), strict=True):
        if label >= 0:
            groups.setdefault(label, set()).add(id)
    return {label: frozenset(members) for label, members in groups.items()}
