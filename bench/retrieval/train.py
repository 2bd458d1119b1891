"""Learn the ranker's coefficients and say how well they do on conversations they have not seen.

    python -m bench.retrieval.train [--data PATH] [--cache PATH] [--write]

The candidates and their numbers come from the package itself (`search.pool`, `search.rank`), so
what is learned is what runs. The loss is listwise (softmax over a query's candidates, cross-entropy
with the evidence; Cao et al., 2007) with an L2 penalty on standardised columns; every set counts
the same, whatever its number of questions. Folds leave whole conversations out; CoSQA has one
corpus, so its questions are split. Then two more things are fitted for the score that a hit shows:
a slope and what the query's outlook is worth, by logistic regression on questions asked where their
answers are (positive) and of another conversation (negative).
"""

import argparse
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

import reverie
from bench.gate.sessions import Desk, held_out
from bench.retrieval import data, mixed, stores
from bench.retrieval.candidate_pools import gather_pool
from bench.retrieval.columns import build_feature_matrix
from reverie.core.config import Settings
from reverie.retrieval import hybrid_search
from reverie.retrieval.ranker import compute_outlook
from reverie.storage.candidates import CandidatePool

FOLDS = 5
PENALTY = 2e-3
SPARSE = {"locomo": 4, "beam-100k": 1, "cosqa": 1}  # every how manieth question gets a small store
# share of questions asked of a foreign conversation that are to find nothing above one half
QUIET = 0.91
NEVER_LESS = frozenset(
    f"{name}{alone}" for name in ("words", "words log", "words place") for alone in ("", " × alone")
)
"""Coefficients that may not be negative: all else equal, a better match by words never lowers the
score, as docs/requirements.md promises under "Retrieval".
"""

TARGET = Path(hybrid_search.__file__).with_name("ranker.json")


@dataclass(frozen=True, slots=True)
class Case:
    """One question with its candidates as numbers."""

    dataset: str
    corpus: str
    category: str
    table: np.ndarray
    gold: np.ndarray  # which candidates are evidence
    pieces: int  # how much evidence there is, in the pool or not
    outlook: np.ndarray


def cases(
    root: Path | None, cache: Path
) -> tuple[dict[str, list[Case]], list[Case], tuple[str, ...]]:
    """Every question as a case, by set; questions asked of a foreign conversation; the names of the
    columns.
    """
    embedder = stores.remembering(cache)
    found: dict[str, list[Case]] = {}
    foreign: list[Case] = []
    names: tuple[str, ...] = ()
    for name in data.SETS:
        dataset = data.load(name, root)
        opened = {
            corpus: stores.opened(dataset, corpus, embedder, cache) for corpus in dataset.corpora
        }
        others = dict(zip(opened, [*list(opened)[1:], *list(opened)[:1]], strict=True))
        found[name] = []
        for place, question in enumerate(dataset.questions):
            mind, ids = opened[question.corpus]
            case, names = case_of(
                dataset, question, gather_pool(mind, embedder, question.text, question.text), ids
            )
            found[name].append(case)
            if len(opened) > 1 and place % 2 == 0:
                mind, _ = opened[others[question.corpus]]
                foreign.append(
                    case_of(
                        dataset,
                        question,
                        gather_pool(mind, embedder, question.text, question.text),
                        {},
                    )[0]
                )
        for mind, _ in opened.values():
            mind.store.close()
        print(
            f"{name}: {len(found[name])} questions, evidence in the pool "
            f"{np.mean([case.gold.sum() / case.pieces for case in found[name]]):.3f}",
            flush=True,
        )
    return found, foreign, names


def among(root: Path | None, cache: Path, chosen: Callable[[Desk], bool]) -> dict[str, list[Case]]:
    """Questions beside stores of facts and talk, by what answers them. Their corpus is the
    conversation, so that folds leave it out here where they leave it out there.
    """
    embedder = stores.remembering(cache)
    found: dict[str, list[Case]] = {mixed.FACTS: [], mixed.TALK: []}

    def each(mind: reverie.Mind, asked: mixed.Asked) -> None:
        pool = gather_pool(mind, embedder, asked.text, asked.text)
        table, _ = build_feature_matrix(asked.text, pool)
        found[asked.name].append(
            Case(
                asked.name,
                asked.corpus,
                "",
                table.astype(np.float32),
                np.array([id in asked.gold for id in pool.ids], bool),
                len(asked.gold),
                compute_outlook(pool),
            )
        )

    mixed.asked(root, cache, chosen, each)
    return found


def small(root: Path | None, cache: Path, seed: int = 3) -> tuple[list[Case], list[Case]]:
    """What a new user has: stores of 8 to 40 memories, every second one without sessions and
    speakers. (questions that are answered there, questions of a foreign conversation).
    """
    embedder, rng = stores.remembering(cache), random.Random(seed)
    answered: list[Case] = []
    foreign: list[Case] = []
    for name in data.SETS:
        dataset = data.load(name, root)
        for place, question in enumerate(dataset.questions[:: SPARSE[name]]):
            rows = dataset.corpora[question.corpus]
            gold = [row for row in rows if row.id in question.gold][:3]
            others = rng.sample(rows, min(len(rows), rng.choice((8, 20, 40))))
            kept = {row.id: row for row in (*others, *gold)}.values()
            with reverie.open(":memory:", settings=Settings(home=cache), embedder=embedder) as mind:
                mind.remember_many(
                    [item(row, plain=place % 2 == 0) for row in kept], space=stores.SPACE
                )
                mind.settle()
                ids = stores.find_sources(mind)
                answered.append(
                    case_of(
                        dataset,
                        question,
                        gather_pool(mind, embedder, question.text, question.text),
                        ids,
                    )[0]
                )
                stranger = rng.choice([q for q in dataset.questions if not q.gold & kept_ids(kept)])
                foreign.append(
                    case_of(
                        dataset,
                        stranger,
                        gather_pool(mind, embedder, stranger.text, stranger.text),
                        {},
                    )[0]
                )
    return answered, foreign


def kept_ids(rows: Iterable[data.Row]) -> set[str]:
    return {row.id for row in rows}


def item(row: data.Row, *, plain: bool) -> dict[str, object]:
    """A memory as a turn of talk, or as a plain fact that nobody said."""
    whole = stores.item(row)
    return {k: v for k, v in whole.items() if k not in ("session", "speaker")} if plain else whole


def case_of(
    dataset: data.Dataset, question: data.Question, pool: CandidatePool, ids: Mapping[str, str]
) -> tuple[Case, tuple[str, ...]]:
    table, names = build_feature_matrix(question.text, pool)
    gold = {ids[one] for one in question.gold if one in ids}
    return Case(
        dataset.name,
        question.corpus,
        question.category,
        table.astype(np.float32),
        np.array([id in gold for id in pool.ids], bool),
        len(question.gold),
        compute_outlook(pool),
    ), names


@dataclass(frozen=True, slots=True)
class Fit:
    """Coefficients for raw columns."""

    weights: np.ndarray

    def scores(self, case: Case) -> np.ndarray:
        return np.asarray(case.table @ self.weights)


def fit(
    by_set: Mapping[str, Sequence[Case]],
    columns: np.ndarray,
    names: Sequence[str],
    penalty: float = PENALTY,
) -> Fit:
    """Listwise coefficients over the chosen columns; the others get 0."""
    bounds = [
        (0.0 if name in NEVER_LESS else None, None)
        for name, used in zip(names, columns, strict=True)
        if used
    ]
    every = np.concatenate([case.table[::3] for some in by_set.values() for case in some])
    spread = every.std(axis=0) + 1e-6
    used = [
        (
            case.table[:, columns] / spread[columns],
            case.gold / case.gold.sum(),
            1 / len(some) / len(by_set),
        )
        for some in by_set.values()
        for case in some
        if case.gold.any()
    ]

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        total, slope = penalty * float(w @ w), 2 * penalty * w
        for table, share, weight in used:
            s = table @ w
            p = np.exp(s - s.max())
            p /= p.sum()
            total -= weight * float(share @ np.log(p + 1e-12))
            slope = slope + weight * (table.T @ (p - share))
        return total, slope

    best = minimize(
        loss,
        np.zeros(int(columns.sum())),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 300},
    )
    weights = np.zeros(len(spread))
    weights[columns] = best.x / spread[columns]
    return Fit(weights)


def recall(model: Fit, case: Case, k: int = 10) -> float:
    """|gold ∩ first k| / |gold|, evidence outside the pool counted as missed."""
    top = np.argsort(-model.scores(case), kind="stable")[:k]
    return float(case.gold[top].sum() / case.pieces)


def folds(
    by_set: Mapping[str, Sequence[Case]],
) -> list[tuple[dict[str, list[Case]], dict[str, list[Case]]]]:
    """(training, held out) pairs: whole conversations are left out, or questions where there is one
    corpus.
    """
    pairs = []
    for fold in range(FOLDS):
        inside: dict[str, list[Case]] = {}
        outside: dict[str, list[Case]] = {}
        for name, some in by_set.items():
            corpora = sorted({case.corpus for case in some})
            out = {
                id(case)
                for i, case in enumerate(some)
                if (i % FOLDS if len(corpora) == 1 else corpora.index(case.corpus) % FOLDS) == fold
            }
            inside[name] = [case for case in some if id(case) not in out]
            outside[name] = [case for case in some if id(case) in out]
        pairs.append((inside, outside))
    return pairs


def validated(
    by_set: Mapping[str, Sequence[Case]],
    columns: np.ndarray,
    names: Sequence[str],
    penalty: float = PENALTY,
) -> dict[str, float]:
    """Mean recall@10 of each set, each question judged by a model that has not seen its
    conversation.
    """
    found: dict[str, list[float]] = {name: [] for name in by_set}
    for inside, outside in folds(by_set):
        model = fit(inside, columns, names, penalty)
        for name, some in outside.items():
            found[name] += [recall(model, case) for case in some]
    return {name: float(np.mean(values)) for name, values in found.items()}


def transferred(
    by_set: Mapping[str, Sequence[Case]], columns: np.ndarray, names: Sequence[str]
) -> dict[str, float]:
    """Recall@10 on a set by a model that has seen only sets of other conversations."""
    found = {}
    corpora = {name: {case.corpus for case in some} for name, some in by_set.items()}
    for name, some in by_set.items():
        stranger = fit(
            {other: cases for other, cases in by_set.items() if not corpora[other] & corpora[name]},
            columns,
            names,
        )
        found[name] = float(np.mean([recall(stranger, case) for case in some]))
    return found


def calibrated(model: Fit, groups: Sequence[Sequence[Case]]) -> tuple[float, list[float]]:
    """(slope, outlook coefficients): how likely a candidate at some distance from the best is to
    matter.
    """
    rows, wanted, weights = [], [], []
    for some in groups:
        for case in some:
            scores = model.scores(case)
            top = np.argsort(-scores)[:20]
            rows += [[scores[i] - scores[top[0]], *case.outlook] for i in top]
            wanted += [bool(case.gold[i]) for i in top]
            weights += [1 / len(some)] * len(top)
    x, y, w = np.array(rows), np.array(wanted, float), np.array(weights) / np.sum(weights)
    spread = np.abs(x).max(axis=0) + 1e-9

    def loss(c: np.ndarray) -> tuple[float, np.ndarray]:
        p = 1 / (1 + np.exp(-np.clip((x / spread) @ c, -30, 30)))
        gradient = ((p - y) * w) @ (x / spread) + 2e-4 * c
        return float(
            -(w * (y * np.log(p + 1e-12) + (1 - y) * np.log(1 - p + 1e-12))).sum() + 1e-4 * c @ c
        ), gradient

    best = minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x / spread
    return float(best[0]), [float(c) for c in best[1:]]


ONE, FEW = 5, 6  # places of the constant and of `few` in rank.outlook


def levelled(
    prospects: Sequence[float], foreign: Sequence[Case], strangers: Sequence[Case]
) -> np.ndarray:
    """The outlook moved so that QUIET of the questions without an answer stay below 0, in large
    stores and in small.
    """
    moved = np.array(prospects)
    levels = [
        float(np.quantile([case.outlook @ moved for case in some], QUIET))
        for some in (foreign, strangers)
    ]
    sizes = [float(np.mean([case.outlook[FEW] for case in some])) for some in (foreign, strangers)]
    slope = (levels[1] - levels[0]) / (sizes[1] - sizes[0])
    moved[FEW] -= slope
    moved[ONE] -= levels[0] - slope * sizes[0]
    return moved


def rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in values.items()}


def report(
    by_set: Mapping[str, Sequence[Case]],
    columns: np.ndarray,
    names: Sequence[str],
    strange: Mapping[str, Sequence[Case]],
) -> dict[str, dict[str, float]]:
    """Held out by folds, in sample, and the labelled sessions that nothing is fitted on."""
    whole = fit(by_set, columns, names)
    figures = {
        "held out": rounded(validated(by_set, columns, names)),
        "in sample": rounded(
            {
                name: float(np.mean([recall(whole, c) for c in some]))
                for name, some in by_set.items()
            }
        ),
        "sessions held out": rounded(
            {
                name: float(np.mean([recall(whole, c) for c in some]))
                for name, some in strange.items()
            }
        ),
    }
    for line, values in figures.items():
        print(line, values, flush=True)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--cache", type=Path, default=Path(".cache/home"))
    parser.add_argument("--write", action="store_true", help="replace retrieval/ranker.json")
    parser.add_argument(
        "--transfer", action="store_true", help="also train without each set in turn"
    )
    args = parser.parse_args()
    by_set, foreign, names = cases(args.data, args.cache.absolute())
    root, cache, unseen = args.data, args.cache.absolute(), held_out()
    by_set |= among(root, cache, lambda desk: desk.name not in unseen)
    strange = among(root, cache, lambda desk: desk.name in unseen)
    columns = np.ones(len(names), bool)
    figures = report(by_set, columns, names, strange)
    if args.transfer:
        print("transfer", transferred(by_set, columns, names))
    if args.write:
        model = fit(by_set, columns, names)
        few, strangers = small(args.data, args.cache.absolute())
        slope, outlooks = calibrated(model, [*by_set.values(), foreign, few, strangers])
        prospects = levelled(outlooks, foreign, strangers)
        left = [
            float(np.mean([case.outlook @ prospects < 0 for case in some]))
            for some in (foreign, strangers)
        ]
        shown = {
            name: round(
                float(
                    np.mean(
                        [
                            case.outlook @ prospects > 0
                            for case in some
                            if case.gold[np.argmax(model.scores(case))]
                        ]
                    )
                ),
                3,
            )
            for name, some in {**by_set, "small stores": few}.items()
        }
        print(
            f"left alone: {left[0]:.3f} in large stores, {left[1]:.3f} in small ones; right first hits that are "
            f"shown: {shown}"
        )
        TARGET.write_text(
            json.dumps(
                {
                    "how": "python -m bench.retrieval.train --write",
                    "recall@10": figures,
                    "weights": {
                        name: round(float(w), 5)
                        for name, w in zip(names, model.weights, strict=True)
                    },
                    "slope": round(slope, 5),
                    "outlook": [round(float(c), 5) for c in prospects],
                },
                indent=1,
            )
            + "\n",
            "utf-8",
        )
        print(f"wrote {TARGET.name}")


if __name__ == "__main__":
    main()
