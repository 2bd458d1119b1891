"""What the benchmarks share: timing, made-up texts, result files, a table on the terminal."""

import json
import os
import platform
import random
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "results"


def timed(work: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def percentile(values: Sequence[float], share: float) -> float:
    """A percentile by nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def process_seconds(calls: dict[str, tuple[str, ...]], runs: int = 31) -> dict[str, float]:
    """The median time of whole Python processes, by name: (code, *arguments). They take turns, so
    that a busy moment of the machine meets all of them.
    """
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(runs):
        for name, call in calls.items():
            command = [sys.executable, "-c", *call]
            taken[name].append(
                timed(lambda: subprocess.run(command, check=True, capture_output=True))
            )
    return {name: percentile(values, 0.5) for name, values in taken.items()}


class Texts:
    """Made-up sentences with a Zipf-like vocabulary: common words are common, most words are rare.
    Seeded.
    """

    def __init__(self, seed: int = 1, vocabulary: int = 30_000) -> None:
        self.rng = random.Random(seed)
        letters = "bcdfghklmnprstvwz"
        self.words = [self._word(letters) for _ in range(vocabulary)]
        self.weights = [1 / (rank + 8) for rank in range(vocabulary)]

    def _word(self, letters: str) -> str:
        return "".join(
            self.rng.choice(letters) + self.rng.choice("aeiou")
            for _ in range(self.rng.randint(2, 4))
        )

    def many(self, count: int, length: int = 14) -> list[str]:
        """So many sentences of about `length` words."""
        drawn = self.rng.choices(self.words, self.weights, k=count * length)
        return [" ".join(drawn[i * length : (i + 1) * length]) for i in range(count)]


def vectors(count: int, dims: int = 384, seed: int = 1, topics: int = 500) -> np.ndarray:
    """Unit vectors that cluster around topics, as those of texts do. Float32."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((topics, dims), np.float32)
    made = centres[rng.integers(0, topics, count)] + rng.standard_normal((count, dims), np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


class Given:
    """An embedder that only looks vectors up: takes embedding out of a measurement."""

    model, dims = "given/1", 384

    def __init__(self) -> None:
        self.known: dict[str, np.ndarray] = {}

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        return (
            np.stack([self.known[text] for text in texts])
            if texts
            else np.zeros((0, self.dims), np.float32)
        )

    def close(self) -> None:
        """Nothing to let go of."""


def save(name: str, result: dict[str, Any]) -> Path:
    """Keep a result as a file, with what it was measured on."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    path = RESULTS / f"{name}.json"
    result = {"python": platform.python_version(), "cores": os.cpu_count(), **result}
    path.write_text(json.dumps(result, indent=2) + "\n", "utf-8")
    return path


def table(rows: Sequence[Sequence[object]], head: Sequence[str]) -> None:
    """Columns on the terminal; numbers with three significant places."""
    shown = [[cell if isinstance(cell, str) else f"{cell:,.4g}" for cell in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(head), *shown]) for i in range(len(head))]
    for line in [list(head), ["-" * w for w in widths], *shown]:
        print("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip())
