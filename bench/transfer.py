"""Does the ranking hold on memories that it was not made for? `python -m bench.transfer`

    python -m bench.transfer [--data PATH] [--cache PATH] [--sets NAME …] [--last]

Recall@10 and the mean reciprocal rank among the same candidates (`bench.retrieval.every_set`), by
set. Baselines: `rrf`, the plain fusion of reciprocal ranks with k = 60, `convex`, and `fixed`,
fixed weights with all that stands around a turn (`bench.retrieval.fixed_fusion`). `ships` is what
the package does; `as typed` the same without the first person for a speaker who is named, `learned`
the same without the fixed part. `left out` and `learned, left out` are both with coefficients that
have not seen the set, nor what shares stores or prompts with it. `--last` looks at the sets on
which nothing was chosen.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bench.common import save, table
from bench.gate.sessions import look
from bench.retrieval import data, every_set, train
from bench.retrieval.columns import build_feature_matrix
from bench.retrieval.fixed_fusion import score_fixed
from reverie.retrieval.hybrid_search import score_convex, score_rrf
from reverie.retrieval.rank_fusion import fuse_ranks
from reverie.retrieval.ranker import (
    compute_features,
    compute_outlook,
    join_scores,
    lift_identified,
    load_ranker,
)
from reverie.retrieval.search_query import SearchQuery
from reverie.storage.candidates import CandidatePool

MOST_LEARNED = 120
"""Questions of a set that are learned from."""
ASKED = SearchQuery("", (), 0.0)
K = 10

Cases = Mapping[str, Sequence[every_set.Case]]
Score = Callable[[str, CandidatePool], np.ndarray]
Found = dict[str, dict[str, tuple[float, float]]]
"""Recall and mean reciprocal rank by way of ranking and set."""


def score_learned(text: str, pool: CandidatePool) -> np.ndarray:
    """What the coefficients alone say."""
    scores = load_ranker().score_learned(compute_features(text, pool), pool)
    return lift_identified(scores, pool.named > 0)


# With the vector of the question as it was typed.
TYPED: dict[str, Score] = {
    "rrf": lambda _, pool: score_rrf(ASKED, pool),
    "convex": lambda _, pool: score_convex(ASKED, pool),
    "as typed": lambda text, pool: load_ranker().scores(text, pool),
}
# With the vector of the question as `recall` puts it.
ASKED_WAYS: dict[str, Score] = {
    "fixed": score_fixed,
    "learned": score_learned,
    "ships": lambda text, pool: load_ranker().scores(text, pool),
}


def judge(scores: np.ndarray, gold: np.ndarray, pieces: int) -> tuple[float, float]:
    """|gold ∩ first K| / |gold|, evidence outside the candidates counted as missed; and one over
    the place of the first of it.
    """
    hits = gold[np.argsort(-scores, kind="stable")[:K]]
    places = np.flatnonzero(hits)
    return float(hits.sum() / pieces), float(1 / (1 + places[0])) if len(places) else 0.0


def average(found: Sequence[tuple[float, float]]) -> tuple[float, float]:
    recall, place = np.mean(np.array(found), axis=0)
    return float(recall), float(place)


def judge_all(cases: Cases) -> Found:
    """Every way of ranking that ships or is plain, by set."""
    found: Found = {way: {} for way in (*TYPED, *ASKED_WAYS)}
    for name, some in cases.items():
        for way, score in TYPED.items():
            found[way][name] = average(
                [judge(score(one.text, one.typed), one.typed_gold, one.pieces) for one in some]
            )
        for way, score in ASKED_WAYS.items():
            found[way][name] = average(
                [judge(score(one.text, one.pool), one.gold, one.pieces) for one in some]
            )
    return found


def to_trained(one: every_set.Case) -> train.Case:
    columns = build_feature_matrix(one.text, one.pool)[0].astype(np.float32)
    outlook = compute_outlook(one.pool)
    return train.Case(one.dataset, one.corpus, "", columns, one.gold, one.pieces, outlook)


def judge_left_out(cases: Cases) -> Found:
    """The same by coefficients that were learned without each set."""
    trained = {name: list(map(to_trained, some)) for name, some in cases.items()}
    one = next(iter(cases.values()))[0]
    names = build_feature_matrix(one.text, one.pool)[1]
    every, known = np.ones(len(names), bool), {}
    found: Found = {"left out": {}, "learned, left out": {}}
    for name, some in cases.items():
        family = every_set.family_of(name)
        others = tuple(n for n in cases if not every_set.family_of(n) & family)
        if others not in known:
            known[others] = train.fit({n: thin_out(trained[n]) for n in others}, every, names)
        learned = [known[others].scores(one) for one in trained[name]]
        joined = [join(one, scores) for one, scores in zip(some, learned, strict=True)]
        for way, scored in (("left out", joined), ("learned, left out", learned)):
            found[way][name] = average(
                [judge(s, one.gold, one.pieces) for s, one in zip(scored, some, strict=True)]
            )
    return found


def thin_out(some: Sequence[train.Case]) -> Sequence[train.Case]:
    """At most about MOST_LEARNED of those that have evidence."""
    answered = [case for case in some if case.gold.any()]
    return answered[:: max(1, len(answered) // MOST_LEARNED)]


def join(one: every_set.Case, learned: np.ndarray) -> np.ndarray:
    """Learned scores with the fixed part, as the package joins them."""
    features = compute_features(one.text, one.pool)
    fixed = fuse_ranks(features, one.pool.words)
    return join_scores(learned, fixed, features["stands alone"])


def compare(found: Found, plain: str) -> dict[str, list[float]]:
    """By way of ranking: the least and the mean that its recall has above that of a plain one."""
    gains = {
        way: [values[name][0] - found[plain][name][0] for name in values]
        for way, values in found.items()
    }
    return {
        way: [round(min(some), 4), round(float(np.mean(some)), 4)] for way, some in gains.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=None)
    parser.add_argument("--last", action="store_true", help="the sets on which nothing was chosen")
    args = data.arguments(parser)
    names = args.sets or (every_set.LAST if args.last else every_set.SETS)
    cases = {name: every_set.load_cases(name, args.data, args.cache.absolute()) for name in names}
    found = judge_all(cases)
    if not args.last and not args.sets:
        found |= judge_left_out(cases)
    gains = compare(found, "rrf")
    for place, measure in enumerate(("recall@10", "MRR")):
        rows = [
            (name, *(values[name][place] for values in found.values()), float(len(some)))
            for name, some in cases.items()
        ]
        table(rows, (measure, *found, "questions"))
        print()
    table([(way, *values) for way, values in gains.items()], ("above rrf", "least", "mean"))
    if args.last:
        look("bench.transfer --last")
    if not args.sets:
        by_way = {
            way: {name: [round(value, 4) for value in both] for name, both in values.items()}
            for way, values in found.items()
        }
        save(
            "transfer-last" if args.last else "transfer",
            {"recall@10, MRR": by_way, "recall above rrf: least, mean": gains},
        )


if __name__ == "__main__":
    main()
