"""Cosines of texts by the model that memories are embedded with."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from reverie.embedding import open_embedder

BATCH = 64


class Cosines:
    """How near two of the given texts are."""

    def __init__(self, cache: Path, texts: Sequence[str]) -> None:
        found = cache if (cache / "models").exists() else cache / "cache"
        embedder = open_embedder("minilm", cache=found)
        self.place = {text: i for i, text in enumerate(texts)}
        self.rows = np.concatenate(
            [embedder.embed(texts[i : i + BATCH]) for i in range(0, len(texts), BATCH)]
        )
        embedder.close()

    def __call__(self, one: str, other: str) -> float:
        return float(self.rows[self.place[one]] @ self.rows[self.place[other]])
