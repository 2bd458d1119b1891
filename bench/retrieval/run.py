"""Reverie's recall beside plain baselines in the same run, by category. `python -m
bench.retrieval.run`

One memory a turn, one configuration for all sets, no language model. `reverie` is
`mind.recall(question)` as a user calls it; `dense` is the cosine of the same vectors, `bm25` is
FTS5's own ranking, `convex` 0.7 · cosine + 0.3 · BM25 over its highest, `rrf` reciprocal ranks with
k = 60; these four rank the whole corpus in plain NumPy.
"""

import argparse
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.common import save, table
from bench.retrieval import data, stores
from bench.retrieval.metrics import measure
from bench.retrieval.metrics import table as means
from reverie.embedding import Embedder
from reverie.text.tokenization import to_index_text, tokenize_query

DEPTH = 20


class Baselines:
    """A corpus as plain arrays."""

    def __init__(self, rows: Sequence[data.Row], vectors: np.ndarray) -> None:
        self.ids = [row.id for row in rows]
        self.vectors = vectors
        self.words = sqlite3.connect(":memory:")
        self.words.execute(
            "create virtual table t using fts5 (b, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        self.words.executemany(
            "insert into t (rowid, b) values (?, ?)",
            ((i, to_index_text(row.text)) for i, row in enumerate(rows)),
        )

    def rankings(self, question: str, vector: np.ndarray) -> dict[str, list[str]]:
        cosine = self.vectors @ vector
        bm25 = np.zeros(len(self.ids))
        if terms := tokenize_query(question):
            asked = " OR ".join(f'"{term}"' for term in terms)
            for row, score in self.words.execute(
                "select rowid, -rank from t where t match ?", (asked,)
            ):
                bm25[row] = score
        fused = 0.7 * cosine + 0.3 * bm25 / max(bm25.max(), 1e-9)
        by_words = np.where(bm25 > 0, 1 / (61 + np.argsort(np.argsort(-bm25))), 0)
        ranks = 1 / (61 + np.argsort(np.argsort(-cosine))) + by_words
        return {
            name: [self.ids[i] for i in np.argsort(-score, kind="stable")[:DEPTH]]
            for name, score in (
                ("dense", cosine),
                ("bm25", bm25),
                ("convex", fused),
                ("rrf", ranks),
            )
        }


def evaluated(
    dataset: data.Dataset, embedder: Embedder, cache: Path, modes: Sequence[str]
) -> dict[str, Any]:
    """Every measure by ranking and category, and how long `recall` took."""
    minds = {corpus: stores.opened(dataset, corpus, embedder, cache) for corpus in dataset.corpora}
    plain = {
        corpus: Baselines(rows, embedder.embed([row.text for row in rows]))
        for corpus, rows in dataset.corpora.items()
    }
    found: dict[str, list[tuple[str, dict[str, float]]]] = {}
    taken = []
    for question in dataset.questions:
        mind, ids = minds[question.corpus]
        published = {memory: source for source, memory in ids.items()}
        vector = embedder.embed([question.text])[0]
        rankings = plain[question.corpus].rankings(question.text, vector)
        for mode in modes:
            start = time.perf_counter()
            hits = mind.recall(question.text, space=stores.SPACE, limit=DEPTH, mode=mode)
            taken.append(time.perf_counter() - start)
            rankings[f"reverie {mode}"] = [published[hit.memory.id] for hit in hits]
        for name, ranked in rankings.items():
            found.setdefault(name, []).append((question.category, measure(ranked, question.gold)))
    for mind, _ in minds.values():
        mind.store.close()
    return {
        "rankings": {name: means(rows) for name, rows in found.items()},
        "recall_ms": float(np.median(taken)) * 1e3,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", nargs="+", default=list(data.SETS))
    parser.add_argument("--modes", nargs="+", default=["auto"], help="auto convex rrf dense words")
    args = data.arguments(parser)
    embedder = stores.remembering(args.cache.absolute())
    results = {}
    for name in args.sets:
        results[name] = evaluated(
            data.load(name, args.data), embedder, args.cache.absolute(), args.modes
        )
        print(f"\n{name}: recall() took {results[name]['recall_ms']:.1f} ms (median)")
        columns = ("recall@5", "recall@10", "recall@20", "mrr", "ndcg@10", "n")
        table(
            [
                (ranking, category, *(row[c] for c in columns))
                for ranking, groups in results[name]["rankings"].items()
                for category, row in groups.items()
                if category == "all" or ranking.startswith("reverie")
            ],
            ("ranking", "category", *columns),
        )
    save("retrieval", results)
    print("\ntargets, recall@10: locomo 0.76, beam-100k 0.60, cosqa 0.965")


if __name__ == "__main__":
    main()
