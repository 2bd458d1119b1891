"""What is measured of a ranking: recall, reciprocal rank and nDCG, overall and by category.

`recall_at(10)` is the mean over questions of |gold ∩ first ten| / |gold|. A question without gold
is not counted anywhere.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from math import log2

DEPTHS = (5, 10, 20)


def recall_at(k: int, ranked: Sequence[str], gold: Collection[str]) -> float:
    """The share of the evidence among the first `k`."""
    return len(set(gold) & set(ranked[:k])) / len(gold)


def reciprocal_rank(ranked: Sequence[str], gold: Collection[str]) -> float:
    """One over the place of the first piece of evidence; 0 where there is none."""
    return next((1 / place for place, one in enumerate(ranked, start=1) if one in gold), 0.0)


def ndcg_at(k: int, ranked: Sequence[str], gold: Collection[str]) -> float:
    """Discounted cumulative gain over the first `k`, as a share of the best (Järvelin and
    Kekäläinen, 2002).
    """
    gain = sum(1 / log2(place + 1) for place, one in enumerate(ranked[:k], start=1) if one in gold)
    best = sum(1 / log2(place + 1) for place in range(1, min(k, len(gold)) + 1))
    return gain / best


def measure(ranked: Sequence[str], gold: Collection[str]) -> dict[str, float]:
    """Every measure for one question."""
    found = {f"recall@{k}": recall_at(k, ranked, gold) for k in DEPTHS}
    return found | {"mrr": reciprocal_rank(ranked, gold), "ndcg@10": ndcg_at(10, ranked, gold)}


def table(results: Iterable[tuple[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Means over questions, by category and for `all`, with the number of questions as `n`."""
    groups: dict[str, list[dict[str, float]]] = defaultdict(list)
    for category, measured in results:
        groups["all"].append(measured)
        groups[category].append(measured)
    return {name: _means(group) for name, group in sorted(groups.items())}


def _means(group: list[dict[str, float]]) -> dict[str, float]:
    means = {key: sum(one[key] for one in group) / len(group) for key in group[0]}
    return means | {"n": float(len(group))}
