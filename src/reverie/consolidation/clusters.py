"""Clusters: untagged groups, found in the vectors and named by words that the members share.

`find_clusters` is HDBSCAN (Campello et al., 2013) on the graph of nearest neighbours: the distances
that matter are in it, and the work grows with its edges instead of with the square of the memories.
Why that, and how it compares with scikit-learn's, is told in docs/why-sleep.md.

A cluster is a node `cluster:<space>:<name>` with an edge `in_cluster` from each member. A name is
made of words that several members share, or given by a language model in words of its own; it tells
nothing that only one memory says, and stays as long as most members stay. Derived data: it can be
found anew at any time, and nothing rests on it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from reverie.consolidation.nearest_neighbours import Floats, Ints, NeighbourTable, SearchStopped
from reverie.core.model import Edge, Link
from reverie.reconciliation.pass_view import EdgeWeights, PassStep
from reverie.text.domain_stopwords import strip_ending
from reverie.text.tokenization import tokenize_query

# A cluster of fewer members is small.
MIN_MEMBERS = 5
# neighbours that a member needs (HDBSCAN's min_samples)
MIN_SAMPLES = 3
# pairs that are joined between two looks whether a run is to stop
PAIRS_PER_LOOK = 20_000
# Neighbours of a lower cosine are none.
MIN_NEIGHBOUR_COSINE = 0.40
# cosine of two centres from which a small cluster joins the other
MIN_JOIN_COSINE = 0.70
MAX_NAME_WORDS = 2
MAX_NAME_LETTERS = 24


# characters of a text that name words are taken from
MAX_NAMED_CHARS = 2_000
# part of the members in which a word must stand to name them
MIN_SHARED_PART = 0.5
# part of all memories with that word that must be members
MIN_OWN_PART = 0.1
# a group without a word of its own
UNNAMED = "unnamed"
# Equal texts would be endlessly close.
MIN_DISTANCE = 1e-3

# cluster node → ids
Members = Mapping[str, frozenset[str]]


def find_clusters(
    table: NeighbourTable,
    may_continue: Callable[[], bool] = lambda: True,
) -> Ints:
    """The cluster number of each row, −1 for none. Raises SearchStopped when not `may_continue`.

    Rows are joined along their edges, the closest first. Where two parts that are clusters already
    meet, both end and a wider one begins; the wider one is kept only if it lasts longer than they
    did, all of its members together.
    """
    tree = RegionTree(len(table.rows))
    for done, (row, other, cosine) in enumerate(iter_reachable_pairs(table)):
        if done % PAIRS_PER_LOOK == 0 and not may_continue():
            raise SearchStopped
        tree.join(row, other, cosine)
    labels = np.full(len(table.rows), -1, np.int64)
    for label, members in enumerate(tree.list_lasting_regions()):
        labels[members] = label
    return labels


def iter_reachable_pairs(table: NeighbourTable) -> Iterator[tuple[int, int, float]]:
    """Each pair of neighbours, the closest first, with the cosine at which either has MIN_SAMPLES
    neighbours: where few lie, nothing is close.
    """
    count, width = table.rows.shape
    if width < MIN_SAMPLES:
        return
    cores = table.cosines[:, MIN_SAMPLES - 1]
    rows = np.repeat(np.arange(count), width)
    others, cosines = table.rows.ravel(), table.cosines.ravel()
    reached = np.minimum(cosines, np.minimum(cores[rows], cores[others]))
    near = np.flatnonzero((others >= 0) & (reached >= MIN_NEIGHBOUR_COSINE))
    for place in near[np.argsort(-reached[near], kind="stable")].tolist():
        yield int(rows[place]), int(others[place]), float(reached[place])


class Region:
    """A part of the rows that holds together from some closeness on, and how well it lasts."""

    def __init__(self, rows: list[int], closeness: float, parts: tuple[Region, ...] = ()) -> None:
        self.rows, self.parts = rows, parts  # rows that are in none of its parts
        self.size: int = len(rows) + sum(part.size for part in parts)
        # The sum over its rows of the closeness at which each came, less that at which it ended.
        self.lasting = closeness * self.size
        self.best = 0.0  # the same of itself or of those within it, whichever lasts better
        self.is_kept = True  # it is itself that does

    def take(self, rows: list[int], closeness: float) -> None:
        """Take in rows that were in no region."""
        self.rows += rows
        self.size += len(rows)
        self.lasting += closeness * len(rows)

    def end(self, closeness: float) -> None:
        """It is a part of a wider one from here on, or the floor is reached."""
        self.lasting -= closeness * self.size

    def list_rows(self) -> list[int]:
        """All of its rows, in order."""
        found, left = list[int](), [self]
        while left:
            region = left.pop()
            found += region.rows
            left += region.parts
        return sorted(found)


class RegionTree:
    """Rows that are joined, the closest first, and the regions that come of it."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))
        self._loose: list[list[int]] = [[row] for row in range(count)]  # rows in no region yet
        self._region: dict[int, Region] = {}  # by the row that stands for a part
        self._regions: list[Region] = []  # all of them, parts before what they became

    def join(self, row: int, other: int, cosine: float) -> None:
        """Join the parts of two rows."""
        one, two = self._find(row), self._find(other)
        if one == two:
            return
        if self._size(one) < self._size(two):
            one, two = two, one
        closeness = 1.0 / max(1.0 - cosine, MIN_DISTANCE)
        wide, narrow = self._region.get(one), self._region.pop(two, None)
        loose, self._loose[two] = self._loose[two], []
        self._parent[two] = one
        if wide is not None and narrow is not None:
            wide.end(closeness)
            narrow.end(closeness)
            self._begin(one, Region([], closeness, (wide, narrow)))
        elif wide is not None:
            wide.take(loose, closeness)
        else:
            self._loose[one] += loose
            if len(self._loose[one]) >= MIN_MEMBERS:
                self._begin(one, Region(self._loose[one], closeness))
                self._loose[one] = []

    def _find(self, row: int) -> int:
        """The row that stands for the part of one."""
        parent = self._parent
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    def _size(self, part: int) -> int:
        region = self._region.get(part)
        return region.size if region else len(self._loose[part])

    def _begin(self, part: int, region: Region) -> None:
        self._region[part] = region
        self._regions.append(region)

    def list_lasting_regions(self) -> list[list[int]]:
        """The rows of the regions that last best, that with the lowest row first. What all hangs
        together in the end is none of them where it has parts.
        """
        whole = list(self._region.values())
        roots = set(whole)
        for region in whole:
            region.end(1.0 / (1.0 - MIN_NEIGHBOUR_COSINE))
        for region in self._regions:
            within = sum(part.best for part in region.parts)
            lasts = region.lasting >= within and region not in roots
            region.is_kept = lasts or not region.parts
            region.best = region.lasting if region.is_kept else within
        found = []
        while whole:
            region = whole.pop()
            if region.is_kept:
                found.append(region.list_rows())
            else:
                whole += region.parts
        return sorted(found)


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
    """One or two words that half of the `size` members share and few others have; else UNNAMED.

    Forms of one word ("test", "tests") count as one, and it is named in the commonest.
    """
    forms: dict[str, list[str]] = {}
    for word in counts:
        forms.setdefault(strip_ending(word), []).append(word)
    shared = []
    for group in forms.values():
        # A member may hold both forms, so this may be a little too many.
        within = min(size, sum(counts[word] for word in group))
        in_all = sum(everywhere[word] for word in group)
        if within >= max(2, MIN_SHARED_PART * size) and within >= MIN_OWN_PART * in_all:
            name = min(group, key=lambda word: (-counts[word], word))
            # Of equals the longer one, which tells more.
            shared.append((-(within**2) / in_all, -len(name), name))
    return "-".join(name for *_, name in sorted(shared)[:MAX_NAME_WORDS]) or UNNAMED


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
