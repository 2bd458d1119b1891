"""Fits the scorer of `compare` on the develop half: `python -m bench.reconcile.train [--write]`.

Multinomial logistic regression over the features of `likeness`, with an L2 penalty, every relation
weighing the same. The votes of wordings (`agreement`) are fitted after that, with the pairs'
coefficients as they are in the file. Cross-validated by group within the develop half; the held-out
half is not read.
"""

import argparse
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bench.reconcile.data import Pair, fifties, pairs, restatements, subjects, texts
from bench.reconcile.vectors import Cosines
from reverie.reconciliation.paraphrase import statement_comparison as ours
from reverie.reconciliation.paraphrase.similarity_features import compare_statements
from reverie.reconciliation.paraphrase.statement_parser import read_statement
from reverie.reconciliation.paraphrase.wording_vote import compute_vote_shares

PENALTY = 0.02
# all restatement pairs together weigh as much as this many times the labelled "same" pairs
RESTATED = 3.0
SIZES = (2, 3, 4, 8, 16, 50)  # wordings that a memory is known by when the next one comes
ENOUGH = 3  # wordings of a group from which one can be left out
WORSE = 2.0  # how much worse a wrong merge is than a leftover
SHRINK = 0.01  # penalty of the votes' coefficients
FILE = Path(ours.__file__).parent / "comparer.json"


def examples(half: str, cosines: Cosines) -> list[tuple[Pair, float]]:
    """(pair, weight): the labelled ones, their reverse where the label stays, restatements, and
    strangers.
    """
    rows = pairs(half)
    found = [(row, 1.0) for row in rows]
    found += [
        (row._replace(old=row.new, new=row.old), 0.5)
        for row in rows
        if row.label in ("contradicts", "apart")
    ]
    again = [
        Pair(f"restated {name}", kind, "same", True, a, b)
        for name, (kind, said) in restatements(half).items()
        for i, b in enumerate(said)
        for a in sorted(said[:i], key=lambda a: -cosines(a, b))[:3]
    ]
    share = RESTATED * sum(row.label == "same" for row in rows) / max(1, len(again))
    found += [(row, min(1.0, share)) for row in again]
    return found + [(row, 0.5) for row in strangers(rows, cosines)]


def strangers(rows: Sequence[Pair], cosines: Cosines) -> list[Pair]:
    """Each known text with the two nearest of other groups: they look alike and are about other
    things.
    """
    olds = {row.old: row.group for row in rows}
    return [
        Pair(group, "fact", "apart", True, old, other)
        for old, group in olds.items()
        for other in sorted((o for o in olds if o != old), key=lambda o: -cosines(old, o))[:2]
    ]


def table(rows: Sequence[Pair], cosines: Cosines | None) -> tuple[list[str], np.ndarray]:
    """Names of features and their values."""
    found = [
        compare_statements(
            read_statement(row.old),
            read_statement(row.new),
            cosines(row.old, row.new) if cosines else None,
        ).features
        for row in rows
    ]
    names = list(found[0])
    return names, np.array([[f[name] for name in names] for f in found])


def fit(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, penalty: float = PENALTY
) -> tuple[np.ndarray, np.ndarray]:
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
        value = (
            -(weight * np.log(p[np.arange(n), y] + 1e-12)).sum()
            + penalty / 2 * (w[:, :d] ** 2).sum() / k
        )
        slope = (p - truth) * weight[:, None]
        return value, np.concatenate(
            [slope.T @ x + penalty / k * w[:, :d], slope.sum(axis=0)[:, None]], axis=1
        ).ravel()

    found = minimize(
        loss, np.zeros(k * (d + 1)), jac=True, method="L-BFGS-B", options={"maxiter": 500}
    )
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
        "features": {
            name: {
                "mean": round(float(mean[i]), 4),
                "scale": round(float(scale[i]), 4),
                **{r: round(float(w[k, i]), 4) for k, r in enumerate(ours.RELATIONS)},
            }
            for i, name in enumerate(names)
        },
    }


class Family(NamedTuple):
    """A memory in all its wordings, and texts that are none of them."""

    wordings: list[str]
    others: list[str]


def families(of: str) -> list[Family]:
    """The groups of one half that have enough wordings to vote, with what else was labelled about
    them.
    """
    wordings, others = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for row in pairs(of):
        wordings[row.group] += [row.old, *([row.new] if row.label == "same" else [])]
        others[row.group] += [row.new] if row.label != "same" else []
    for name, (_, said) in restatements(of).items():
        wordings[name] += said
        others[name] += [one.text for one in fifties().get(name, ()) if one.label != "same"]
    return [
        Family(list(dict.fromkeys(said)), others[name])
        for name, said in wordings.items()
        if len(set(said)) > ENOUGH
    ]


def elections(family: Family, cosines: Cosines) -> Iterator[tuple[bool, dict[str, float]]]:
    """(whether it is one more wording, the votes) for each text about it, before few wordings,
    more, and all.
    """
    draw = random.Random(3)
    for text in (*family.wordings, *family.others):
        rest = [one for one in family.wordings if one != text]
        for count in sorted({min(count, len(rest)) for count in SIZES}):
            known = draw.sample(rest, count)
            yield text in family.wordings, votes(known, text, cosines)


def votes(known: Sequence[str], text: str, cosines: Cosines) -> dict[str, float]:
    """What the nearest of some wordings say of a text."""
    every, said = [read_statement(one) for one in known], ours.read_claim(text)
    cosine, vocabulary = max(cosines(one, text) for one in known), ours.collect_concepts(every)
    return compute_vote_shares(
        [
            ours.cast_vote(compare_statements(one, said, cosine, vocabulary), cosine)
            for one in ours.pick_nearest_wordings(every, said)
        ]
    )


def of_wordings(of: str, cosines: Cosines) -> dict[str, Any]:
    """Coefficients of the votes. Each family weighs by the root of its size; a wrong merge is worse
    than a leftover.
    """
    rows, truth, weight = [], [], []
    for family in families(of):
        cast = list(elections(family, cosines))
        for same, seen in cast:
            rows.append(list(seen.values()))
            truth.append(same)
            weight.append(sum(other == same for other, _ in cast) ** -0.5)
    names = list(seen)
    x, y, w = np.array(rows), np.array(truth), np.array(weight)
    w[y], w[~y] = w[y] / w[y].sum(), WORSE * w[~y] / w[~y].sum()
    mean, scale = x.mean(axis=0), np.maximum(x.std(axis=0), 0.05)
    found = logistic((x - mean) / scale, y, w)
    return {
        "bias": round(float(found[-1]), 4),
        "features": {
            name: {
                "mean": round(float(mean[i]), 4),
                "scale": round(float(scale[i]), 4),
                "weight": round(float(found[i]), 4),
            }
            for i, name in enumerate(names)
        },
    }


def logistic(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Weights and, last, the bias."""
    from scipy.optimize import minimize

    def loss(b: np.ndarray) -> tuple[float, np.ndarray]:
        z = x @ b[:-1] + b[-1]
        slope = weight * (1 / (1 + np.exp(-z)) - y)
        return (
            float((weight * (np.logaddexp(0, z) - y * z)).sum() + SHRINK * (b[:-1] ** 2).sum()),
            np.concatenate([x.T @ slope + 2 * SHRINK * b[:-1], [slope.sum()]]),
        )

    return np.asarray(minimize(loss, np.zeros(x.shape[1] + 1), jac=True).x)


def written(found: dict[str, Any]) -> str:
    """The file: one feature a line."""
    out = ["{", f' "how": {json.dumps(found["how"])},']
    for which in ("with cosine", "without", "wordings"):
        rows = [
            f"   {json.dumps(name)}: {json.dumps(row)}"
            for name, row in found[which]["features"].items()
        ]
        out += [
            f" {json.dumps(which)}: {{",
            f'  "bias": {json.dumps(found[which]["bias"])},',
            '  "features": {',
            ",\n".join(rows),
            "  }",
            " }" + ("," if which != "wordings" else ""),
        ]
    return "\n".join([*out, "}"]) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "reverie-bench")
    parser.add_argument("--write", action="store_true")
    parser.add_argument(
        "--pairs", action="store_true", help="the scorers of pairs; then run it again without"
    )
    args = parser.parse_args()
    cosines = Cosines(
        args.cache, [*texts(pairs(), restatements()), *(one.text for one in subjects("against"))]
    )
    found: dict[str, Any] = json.loads(FILE.read_text("utf-8"))
    if args.pairs:
        made = examples("develop", cosines)
        rows, weight = [row for row, _ in made], np.array([w for _, w in made])
        found |= {
            "with cosine": learned(rows, weight, cosines),
            "without": learned(rows, weight, None),
        }
        print(f"{len(rows)} examples, {len(found['with cosine']['features'])} features")
    else:
        found["wordings"] = of_wordings("develop", cosines)
        print(json.dumps(found["wordings"], indent=1))
    if args.write:
        FILE.write_text(written(found), "utf-8")


if __name__ == "__main__":
    main()
