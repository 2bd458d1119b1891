"""Where the nodes of a map stand, and which belong together. Pure, deterministic, numpy alone.

Each node begins near the middle of its community, at a place that its id alone decides; links pull,
all nodes push, and a weak pull to the centre keeps what has no links in sight. A node whose place
is known stays there, so that a map looks the same on the next visit and only what is new moves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import cos, pi, sin, sqrt
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

# Rounds of label propagation: it settles in three or four.
MAX_ROUNDS = 12
# Steps of the forces. Measured with 2,000 nodes: after 90 hardly anything moves any more.
STEPS, STEPS_FOR_NEW = 90, 30
# With more new nodes than this share, the whole map is laid out afresh.
MAX_NEW_SHARE = 0.4
# Distance at which the push of a node is as strong as the pull of a link, in units of the map.
SPACING = 12.0
GRAVITY = 0.02
BESIDE = 8.0  # how far a new node begins from the one that it is tied to
# Nodes whose distances to all others are held at once: these stay in the processor's cache, and
# OpenBLAS takes so small a product for one thread (with 128, two spin for 30 ms, not 4).
ROWS = 64
GOLDEN_ANGLE = pi * (3 - sqrt(5))


class Tie(NamedTuple):
    """Two nodes by their places in the list, and how strongly they pull."""

    one: int
    other: int
    weight: float


def find_communities(count: int, ties: Sequence[Tie]) -> list[int]:
    """The community of each node, by label propagation (Raghavan et al., 2007): each takes the
    label that weighs most around it. Numbered from 0, the largest first; ties by the lower label.
    """
    around: list[list[tuple[int, float]]] = [[] for _ in range(count)]
    for tie in ties:
        around[tie.one].append((tie.other, tie.weight))
        around[tie.other].append((tie.one, tie.weight))
    labels = list(range(count))
    for _ in range(MAX_ROUNDS):
        if not propagate_labels(labels, around):
            break
    sizes = Counter(labels)
    ordered = sorted(sizes, key=lambda label: (-sizes[label], label))
    numbers = {label: number for number, label in enumerate(ordered)}
    return [numbers[label] for label in labels]


def propagate_labels(labels: list[int], around: Sequence[Sequence[tuple[int, float]]]) -> bool:
    """One round; True if any label changed."""
    changed = False
    for node, neighbours in enumerate(around):
        weights: dict[int, float] = {}
        for other, weight in neighbours:
            weights[labels[other]] = weights.get(labels[other], 0.0) + weight
        if not weights:
            continue
        most = max(weights.values())
        if most > weights.get(labels[node], 0.0):
            labels[node] = min(label for label, weight in weights.items() if weight == most)
            changed = True
    return changed


def lay_out(
    ids: Sequence[str],
    communities: Sequence[int],
    ties: Sequence[Tie],
    known: Mapping[str, tuple[float, float]],
) -> list[tuple[float, float]]:
    """A place for each node; those of `known` stay where they are, unless too much is new."""
    import numpy as np

    if not ids:
        return []
    new = np.array([id not in known for id in ids])
    if not new.any():
        return [known[id] for id in ids]
    afresh = new.mean() > MAX_NEW_SHARE
    places = np.array(find_starts(ids, communities, known), dtype=np.float32)
    if not afresh:
        move_to_neighbours(places, new.tolist(), ties)
    moving = np.ones(len(ids), dtype=bool) if afresh else new
    apply_forces(places, moving, ties, STEPS if afresh else STEPS_FOR_NEW)
    return [(round(float(x), 1), round(float(y), 1)) for x, y in places]


def begin_beside(
    ids: Sequence[str],
    communities: Sequence[int],
    ties: Sequence[Tie],
    known: Mapping[str, tuple[float, float]],
) -> list[tuple[float, float]]:
    """A place for each node at once, without any forces: what is new stands beside what it is tied
    to, or where it begins.
    """
    places = find_starts(ids, communities, known)
    move_to_neighbours(places, [id not in known for id in ids], ties)
    return places


def find_starts(
    ids: Sequence[str], communities: Sequence[int], known: Mapping[str, tuple[float, float]]
) -> list[tuple[float, float]]:
    """The known place of each node, or where it begins."""
    return [
        known.get(id) or begin_at(id, community)
        for id, community in zip(ids, communities, strict=True)
    ]


def begin_at(id: str, community: int) -> tuple[float, float]:
    """Where a node begins: communities lie on a sunflower's spiral, the largest in the middle."""
    digest = sha256(id.encode("utf-8", "surrogatepass")).digest()
    angle = 2 * pi * int.from_bytes(digest[:4], "big") / 2**32
    far = 40 * sqrt(int.from_bytes(digest[4:8], "big") / 2**32)
    turn, out = community * GOLDEN_ANGLE, 60 * sqrt(community)
    return out * cos(turn) + far * cos(angle), out * sin(turn) + far * sin(angle)


def move_to_neighbours(
    places: np.ndarray | list[tuple[float, float]], new: Sequence[bool], ties: Sequence[Tie]
) -> None:
    """Put each new node beside one that has a place."""
    for tie in ties:
        if new[tie.one] != new[tie.other]:
            one, other = (tie.one, tie.other) if new[tie.one] else (tie.other, tie.one)
            (x, y), (there_x, there_y) = places[one], places[other]
            places[one] = (there_x + clip(x - there_x), there_y + clip(y - there_y))


def clip(distance: float) -> float:
    """A distance at which two nodes stand beside each other."""
    return max(-BESIDE, min(BESIDE, distance))


def apply_forces(places: np.ndarray, moving: np.ndarray, ties: Sequence[Tie], steps: int) -> None:
    """Move nodes as pushes and pulls would, less with each step.

    All pairs push, for at this size a product of matrices is faster than a tree: 2,000 nodes take
    about 4 ms a step.
    """
    import numpy as np

    ones = np.array([tie.one for tie in ties], dtype=np.intp)
    others = np.array([tie.other for tie in ties], dtype=np.intp)
    weights = np.array([tie.weight for tie in ties], dtype=np.float32)[:, None]
    degrees = np.bincount(np.concatenate((ones, others)), minlength=len(places))
    mass = (1 + degrees).astype(np.float32) ** 0.5
    for step in range(steps):
        force = push_apart(places, mass) * SPACING**2 - GRAVITY * places * mass[:, None]
        pull = (places[others] - places[ones]) * weights * 0.5
        np.add.at(force, ones, pull)
        np.add.at(force, others, -pull)
        force /= (1 + 0.5 * degrees)[:, None].astype(np.float32)
        most = 30.0 * (1 - step / steps) + 0.5
        length = np.sqrt((force**2).sum(1, keepdims=True)) + 1e-6
        places += np.where(moving[:, None], force * np.minimum(1, most / length), 0)


def push_apart(places: np.ndarray, mass: np.ndarray) -> np.ndarray:
    """The push that each node feels from all others: their masses by the distance."""
    import numpy as np

    squares = (places**2).sum(1)
    ones = np.ones_like(squares)
    # The square of a distance as one product: |a|² + |b|² - 2ab.
    left = np.column_stack((places, squares, ones))
    right = np.column_stack((-2 * places, ones, squares)).T.copy()
    with_one = np.column_stack((places, ones))
    pushed = np.empty_like(places)
    # Some rows at a time, a sixth of the time of all at once.
    for begin in range(0, len(places), ROWS):
        some = slice(begin, begin + ROWS)
        near = left[some] @ right
        # Rounding makes some a little negative, and who stands at one place would fly apart.
        np.maximum(near, 1.0, out=near)
        np.divide(mass[None, :], near, out=near)
        sums = near @ with_one
        pushed[some] = places[some] * sums[:, 2:] - sums[:, :2]
    return pushed
