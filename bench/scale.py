"""Recall as a store grows, against the plain NumPy scan of the same vectors. `python -m
bench.scale`

The query's embedding is left out on both sides. `--sizes 1000 10000 100000`, `--million` adds one
of a million.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import reverie
from bench.common import Given, Texts, percentile, save, table, timed, vectors
from bench.latency import rss
from reverie.core.config import Settings
from reverie.text.tokenization import fingerprint_text

STEP = 5_000


def filled(mind: reverie.Mind, size: int) -> tuple[list[str], np.ndarray, float]:
    """A store of so many memories in sessions of twenty, with vectors; how fast they
    were taken in.
    """
    texts, made = Texts(1).many(size), vectors(size)
    seconds = 0.0
    for start in range(0, size, STEP):
        some = range(start, min(start + STEP, size))
        items = [{"text": texts[i], "session": f"s{i // 20}", "at": 1.7e9 + i * 60} for i in some]
        begin = time.perf_counter()
        kept = mind.remember_many(items, space="me/bench")
        seconds += time.perf_counter() - begin
        ids = {memory.id: made[i] for memory, i in zip(kept, some, strict=True)}
        mind.store.put_vectors(
            Given.model, ids, {memory.id: fingerprint_text(memory.text) for memory in kept}
        )
    return texts, made, size / seconds


def measured(size: int, queries: int = 200) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        embedder = Given()
        with reverie.open(
            settings=Settings(home=Path(folder), floor=0.0), embedder=embedder
        ) as mind:
            texts, made, rate = filled(mind, size)
            asked = questions(texts, made, queries, embedder)
            before = rss()
            first = timed(lambda: mind.recall(asked[0], space="me/bench"))
            loaded = rss() - before
            ours, scan, agree = [], [], []
            for question in asked[1:]:  # taken in turns, so that both meet the same machine
                ours.append(timed(lambda: mind.recall(question, space="me/bench", limit=10)))
                vector = embedder.known[question]
                scan.append(timed(lambda: exact(made, vector)))
            for question in asked[1:60]:
                best = {texts[i] for i in exact(made, embedder.known[question])}
                found = mind.recall(question, space="me/bench", limit=10, mode="dense")
                agree.append(len(best & {hit.memory.text for hit in found}) / 10)
            words = [
                timed(lambda: mind.recall(q, space="me/bench", mode="words")) for q in asked[1:]
            ]
            size_mb = mind.data.stats().bytes / 1e6
    return {
        "size": size,
        "ingest_per_second": rate,
        "first_ms": first * 1e3,
        "file_mb": size_mb,
        "loaded_mb": loaded,
        "p50_ms": percentile(ours, 0.5) * 1e3,
        "p95_ms": percentile(ours, 0.95) * 1e3,
        "scan_p50_ms": percentile(scan, 0.5) * 1e3,
        "scan_p95_ms": percentile(scan, 0.95) * 1e3,
        "words_p50_ms": percentile(words, 0.5) * 1e3,
        "dense_agreement_at_10": float(np.mean(agree)),
    }


def questions(texts: list[str], made: np.ndarray, count: int, embedder: Given) -> list[str]:
    """Questions near known memories: half of their words, a vector close to theirs."""
    rng = np.random.default_rng(7)
    asked = []
    for i in rng.integers(0, len(texts), count):
        words = texts[i].split()
        question = "what about " + " ".join(words[::2])
        near = made[i] + 0.05 * rng.standard_normal(made.shape[1], np.float32)
        embedder.known[question] = np.asarray(near / np.linalg.norm(near), np.float32)
        asked.append(question)
    return asked


def exact(made: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The baseline: every cosine, the ten best in order."""
    cosines = made @ vector
    top = np.argpartition(-cosines, 10)[:10]
    return top[np.argsort(-cosines[top])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--million", action="store_true")
    args = parser.parse_args()
    results = [measured(size) for size in [*args.sizes, *([1_000_000] if args.million else [])]]
    table(
        [
            (
                f"{r['size']:,}",
                r["p50_ms"],
                r["scan_p50_ms"],
                r["p50_ms"] / r["scan_p50_ms"],
                r["p95_ms"],
                r["p95_ms"] / r["scan_p95_ms"],
                r["words_p50_ms"],
                r["dense_agreement_at_10"],
                r["first_ms"],
                r["ingest_per_second"],
                r["file_mb"],
                r["loaded_mb"],
            )
            for r in results
        ],
        (
            "memories",
            "recall p50",
            "scan p50",
            "ratio",
            "p95",
            "ratio",
            "words p50",
            "dense@10 = scan",
            "first ms",
            "ingest/s",
            "file MB",
            "RAM MB",
        ),
    )
    print("targets at 100,000: p50 ratio ≤ 1, p95 ratio ≤ 2")
    save("scale", {"sizes": results})


if __name__ == "__main__":
    main()
