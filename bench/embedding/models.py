"""Embedding models beside one another on the development sets.

    python -m bench.embedding.models --model minilm --model onnx:bge-small-en-v1.5

For each model and set: recall@10 by plain cosine, the cosine of a question to its evidence and to
other texts (where a threshold has to lie), and processor milliseconds a text. The first model is
the baseline of the ratios. Models of the hub need a network, once.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench.embedding.run import first_corpora, mean_recall, said
from bench.retrieval.data import SETS, Dataset, default_root, load
from reverie.embedding import Embedder, embed_query, open_embedder

RESULTS = Path(__file__).resolve().parents[1] / "results" / "embedding-models.json"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--model", action="append", required=True, help="as `embedder` in config.toml"
    )
    parser.add_argument("--data", type=Path, default=default_root())
    parser.add_argument("--cache", type=Path, default=Path(".cache/home/cache"))
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--corpora", type=int, default=2, help="how many of each set")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    sets = [first_corpora(load(name, args.data), args.corpora) for name in args.sets]
    found: dict[str, Any] = {}
    for name in args.model:
        embedder = open_embedder(name, cache=args.cache)
        try:
            found[name] = {one.name: measure(embedder, one) for one in sets}
        finally:
            embedder.close()
        show(name, found[name], found[args.model[0]])
    args.out.write_text(json.dumps(found, indent=1) + "\n")


def measure(embedder: Embedder, one: Dataset) -> dict[str, float]:
    """The figures of one model on one set."""
    began = time.process_time()
    vectors = {
        name: embedder.embed([said(row) for row in rows]) for name, rows in one.corpora.items()
    }
    spent = time.process_time() - began
    asked = [embed_query(embedder, question.text) for question in one.questions]
    scores = [
        vectors[question.corpus] @ vector
        for question, vector in zip(one.questions, asked, strict=True)
    ]
    evidence, others = [], []
    for question, score in zip(one.questions, scores, strict=True):
        gold = np.array([row.id in question.gold for row in one.corpora[question.corpus]])
        evidence += [*score[gold]]
        others += [*score[~gold]]
    return {
        "questions": len(asked),
        "recall@10": mean_recall(one, iter(scores)),
        "evidence, median cosine": float(np.median(evidence)),
        "others, 99th percentile": float(np.quantile(others, 0.99)),
        "ms a text": spent * 1e3 / sum(map(len, vectors.values())),
    }


def show(name: str, found: dict[str, dict[str, float]], first: dict[str, dict[str, float]]) -> None:
    print(f"\n{name}")
    for kind, row in found.items():
        cells = ", ".join(f"{key} {value:.4g}" for key, value in row.items())
        base = first[kind]
        print(
            f"  {kind}: {cells}; against the first: recall {row['recall@10'] / base['recall@10']:.2f}, "
            f"time {row['ms a text'] / base['ms a text']:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
