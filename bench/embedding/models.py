"""Embedding models beside one another: German, Chinese and code queries, and the development sets.

    python -m bench.embedding.models --model minilm --model onnx:bge-small-en-v1.5

For each model and set: recall@10 and the mean reciprocal rank by plain cosine, the cosine of a
question to its evidence and to other texts (where a threshold has to lie), and processor
milliseconds a text. `words` stands for the search by words, without a model. The first model is the
baseline of the ratios. German, Chinese and code come with the project (`bench.embedding.own_sets`);
the development sets are left out where they are not. Models of the hub need a network, once.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import reverie
from bench.embedding.own_sets import OWN_SETS, load_own
from bench.embedding.run import first_corpora, said
from bench.retrieval.data import SETS, Dataset, Row, default_root, load
from bench.retrieval.metrics import recall_at, reciprocal_rank
from bench.retrieval.stores import SPACE, find_sources, item
from reverie.core.config import Settings
from reverie.embedding import Embedder, embed_query, open_embedder

WORDS = "words"
MOST = 10  # hits a question
RESULTS = Path(__file__).resolve().parents[1] / "results" / "embedding-models.json"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--model",
        action="append",
        required=True,
        help='as `embedder` in config.toml, or "words" for the search by words',
    )
    parser.add_argument("--data", type=Path, default=default_root())
    parser.add_argument("--cache", type=Path, default=Path(".cache/home/cache"))
    parser.add_argument("--sets", nargs="+", choices=[*OWN_SETS, *SETS])
    parser.add_argument("--corpora", type=int, default=2, help="how many of each set")
    parser.add_argument("--out", type=Path, default=RESULTS)
    args = parser.parse_args()
    sets = load_sets(args.sets, args.data, args.corpora)
    found: dict[str, Any] = {}
    for name in args.model:
        found[name] = measure_model(name, sets, args.cache)
        show(name, found[name], found[args.model[0]])
    args.out.write_text(json.dumps(found, indent=1) + "\n")


def load_sets(names: Sequence[str] | None, root: Path, corpora: int) -> list[Dataset]:
    """The named sets, or all that are here."""
    there = [name for name in SETS if (root / name).is_dir()]
    if names is None and not there:
        print(f"No development sets in {root} (--data PATH): German, Chinese and code alone.")
    return [
        load_own(name) if name in OWN_SETS else first_corpora(load(name, root), corpora)
        for name in names or [*OWN_SETS, *there]
    ]


def measure_model(name: str, sets: Sequence[Dataset], cache: Path) -> dict[str, dict[str, float]]:
    """The figures of a model, or of words, by set."""
    if name == WORDS:
        return {one.name: measure_words(one) for one in sets}
    embedder = open_embedder(name, cache=cache)
    try:
        return {one.name: measure(embedder, one) for one in sets}
    finally:
        embedder.close()


def measure_words(one: Dataset) -> dict[str, float]:
    """The figures of `recall` without an embedder: what is found until vectors are there."""
    ranked: dict[str, list[str]] = {}
    spent = 0.0
    for corpus, rows in one.corpora.items():
        with (
            TemporaryDirectory() as home,
            reverie.open(settings=Settings(home=Path(home), backups=0), embedder=None) as mind,
        ):
            began = time.process_time()
            mind.remember_many([item(row) for row in rows], space=SPACE)
            spent += time.process_time() - began
            ids = {id: source for source, id in find_sources(mind).items()}
            for question in one.questions:
                if question.corpus == corpus:
                    hits = mind.recall(question.text, space=SPACE, mode="words", limit=MOST)
                    ranked[question.id] = [ids.get(hit.memory.id, "") for hit in hits]
    return {
        **rate([ranked[question.id] for question in one.questions], one),
        "ms a text": spent * 1e3 / sum(map(len, one.corpora.values())),
    }


def rate(ranked: Sequence[Sequence[str]], one: Dataset) -> dict[str, float]:
    """How many questions there are, and how well their evidence was found."""
    pairs = list(zip(ranked, one.questions, strict=True))
    return {
        "questions": len(pairs),
        "recall@10": float(np.mean([recall_at(MOST, ids, asked.gold) for ids, asked in pairs])),
        "MRR": float(np.mean([reciprocal_rank(ids, asked.gold) for ids, asked in pairs])),
    }


def rank(scores: NDArray[np.float32], rows: Sequence[Row]) -> list[str]:
    """The ids of the texts of the highest cosines, best first."""
    return [rows[place].id for place in np.argsort(-scores, kind="stable")[:MOST]]


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
    ranked = [
        rank(found, one.corpora[question.corpus])
        for question, found in zip(one.questions, scores, strict=True)
    ]
    evidence, others = [], []
    for question, score in zip(one.questions, scores, strict=True):
        gold = np.array([row.id in question.gold for row in one.corpora[question.corpus]])
        evidence += [*score[gold]]
        others += [*score[~gold]]
    return {
        **rate(ranked, one),
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
            f"  {kind}: {cells}; against the first: recall {ratio(row, base, 'recall@10')}, "
            f"time {ratio(row, base, 'ms a text')}",
            flush=True,
        )


def ratio(row: dict[str, float], base: dict[str, float], key: str) -> str:
    """How a figure stands to the first model's; a dash where that is 0."""
    return f"{row[key] / base[key]:.2f}" if base[key] else "–"


if __name__ == "__main__":
    main()
