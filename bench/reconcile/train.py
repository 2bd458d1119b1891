"""Fits the scorer of `compare` on the develop half: `python -m bench.reconcile.train [--write]`.

Multinomial logistic regression over the features of `likeness`, with an L2 penalty, every relation weighing the same.
Cross-validated by group within the develop half; the held-out half is not read.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.reconcile.data import Pair, pairs, restatements, texts
from bench.reconcile.vectors import Cosines
from reverie.lifecycle import compare as ours
from reverie.lifecycle.likeness import likeness
from reverie.lifecycle.statement import read

PENALTY = 0.02
RESTATED = 3.0     # all restatement pairs together weigh as much as this many times the labelled "same" pairs
FOLDS = 6
FILE = Path(ours.__file__).parent / "comparer.json"


def examples(half: str, cosines: Cosines) -> list[tuple[Pair, float]]:
    """(pair, weight): the labelled ones, their reverse where the label stays, restatements, and strangers."""
    rows = pairs(half)
    found = [(row, 1.0) for row in rows]
    found += [(row._replace(old=row.new, new=row.old), 0.5) for row in rows if row.label in ("contradicts", "apart")]
    again = [Pair(f"restated {name}", kind, "same", True, a, b)
             for name, (kind, said) in restatements(half).items()
             for i, b in enumerate(said) for a in sorted(said[:i], key=lambda a: -cosines(a, b))[:3]]
    share = RESTATED * sum(row.label == "same" for row in rows) / max(1, len(again))
    found += [(row, min(1.0, share)) for row in again]
    return found + [(row, 0.5) for row in strangers(rows, cosines)]


def strangers(rows: Sequence[Pair], cosines: Cosines) -> list[Pair]:
    """Each known text with the two nearest of other groups: they look alike and are about other things."""
    olds = {row.old: row.group for row in rows}
    return [Pair(group, "fact", "apart", True, old, other) for old, group in olds.items()
            for other in sorted((o for o in olds if o != old), key=lambda o: -cosines(old, o))[:2]]


def table(rows: Sequence[Pair], cosines: Cosines | None) -> tuple[list[str], np.ndarray]:
    """Names of features and their values."""
    found = [likeness(read(row.old), read(row.new), cosines(row.old, row.new) if cosines else None).features
             for row in rows]
    names = list(found[0])
    return names, np.array([[f[name] for name in names] for f in found])


def fit(x: np.ndarray, y: np.ndarray, weight: np.ndarray, penalty: float = PENALTY) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (relation × feature) and biases."""
    from scipy.optimize import minimize
    n, d, k = len(x), x.shape[1], len(ours.RELATIONS)
    truth = np.eye(k)[y]
    weight = weight / weight.sum()

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        w = flat.reshape(k, d + 1)
        z = x @ w[:, :d].T + w[:, d]
        z -= z.max(axis=1, keepdims=True)
        p = np.exp(z)
        p /= p.sum(axis=1, keepdims=True)
        value = -(weight * np.log(p[np.arange(n), y] + 1e-12)).sum() + penalty / 2 * (w[:, :d] ** 2).sum() / k
        slope = (p - truth) * weight[:, None]
        return value, np.concatenate([slope.T @ x + penalty / k * w[:, :d], slope.sum(axis=0)[:, None]], axis=1).ravel()

    found = minimize(loss, np.zeros(k * (d + 1)), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    w = found.x.reshape(k, d + 1)
    return w[:, :d], w[:, d]


def balanced(rows: Sequence[Pair], weight: np.ndarray) -> np.ndarray:
    """Weights such that each relation counts the same."""
    labels = np.array([row.label for row in rows])
    out = weight.copy()
    for label in ours.RELATIONS:
        out[labels == label] /= max(out[labels == label].sum(), 1e-9)
    return out


def learned(rows: Sequence[Pair], weight: np.ndarray, cosines: Cosines | None) -> dict[str, Any]:
    """What is written to the file for one of the two scorers."""
    names, x = table(rows, cosines)
    y = np.array([ours.RELATIONS.index(row.label) for row in rows])
    mean, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 0.05)
    w, b = fit((x - mean) / scale, y, balanced(rows, weight))
    return {
        "bias": {r: round(float(b[k]), 4) for k, r in enumerate(ours.RELATIONS)},
        "features": {name: {"mean": round(float(mean[i]), 4), "scale": round(float(scale[i]), 4),
                            **{r: round(float(w[k, i]), 4) for k, r in enumerate(ours.RELATIONS)}}
                     for i, name in enumerate(names)},
    }


def written(found: dict[str, Any]) -> str:
    """The file: one feature a line."""
    out = ["{", f' "how": {json.dumps(found["how"])},']
    for which in ("with cosine", "without"):
        rows = [f"   {json.dumps(name)}: {json.dumps(row)}" for name, row in found[which]["features"].items()]
        out += [f" {json.dumps(which)}: {{", f'  "bias": {json.dumps(found[which]["bias"])},', '  "features": {',
                ",\n".join(rows), "  }", " }" + ("," if which == "with cosine" else "")]
    return "\n".join([*out, "}"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "reverie-bench")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    cosines = Cosines(args.cache, texts(pairs(), restatements()))
    made = examples("develop", cosines)
    rows, weight = [row for row, _ in made], np.array([w for _, w in made])
    found: dict[str, Any] = {"how": "python -m bench.reconcile.train --write",
                             "with cosine": learned(rows, weight, cosines), "without": learned(rows, weight, None)}
    if args.write:
        FILE.write_text(written(found), "utf-8")
        print(f"{len(rows)} examples, {len(found['with cosine']['features'])} features → {FILE.name}")


if __name__ == "__main__":
    main()
