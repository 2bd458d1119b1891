"""One score for each file from what its words and its past say, by coefficients that were learned.

The score is linear in a few forms of each signal: its share of the highest, its place, and for some
its logarithm. The coefficients lie in `ranker.json`, made by `python -m bench.replay.train`, which
also says how well they do on repositories they have not seen. There is a set for what is known: the
meaning of code and of past tasks, of past tasks alone, or only words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from reverie.code.planning.bm25_field import Column

PLACE_OFFSET = 4.0  # what is added to a place before it counts inversely
LOGARITHMIC_SIGNALS = frozenset(
    (
        "content",
        "content title",
        "chunk",
        "chunk three",
        "names",
        "base",
        "history",
        "history title",
        "tasks",
        "size",
        "age",
        "lately",
        "defines",
        "mentions",
        "rare",
        "quoted",
        "symbols",
        "changes 100",
        "path grams",
        "name grams",
        "joined",
        "joined name",
        "went with",
        "meant",
        "meant best",
        "path",
        "code",
    )
)

Coefficients = Mapping[str, float]


@cache
def load_coefficients() -> Mapping[str, Coefficients]:
    """The coefficients of each set: "code and tasks", "tasks", "words"."""
    found: Mapping[str, Coefficients] = json.loads(
        Path(__file__).with_suffix(".json").read_text("utf-8")
    )
    return found


def expand_signal_forms(signals: Mapping[str, Column]) -> dict[str, Column]:
    """The forms of each signal that coefficients are for."""
    found: dict[str, Column] = {}
    for name, values in signals.items():
        most = values.max(initial=0.0)
        found[name] = values / most if most > 0 else values
        found[f"{name} place"] = score_places(values)
        if name in LOGARITHMIC_SIGNALS:
            found[f"{name} log"] = np.log1p(np.maximum(values, 0.0))
    return found


def score_places(values: Column) -> Column:
    """1/(4 + place) of each value above zero, the highest having place 0."""
    places = np.empty(len(values))
    places[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return np.where(values > 0, 1.0 / (PLACE_OFFSET + places), 0.0)


def compute_likelihoods(
    columns: Mapping[str, Column], coefficients: Coefficients, size: int
) -> Column:
    """How likely each file is; they sum to 1."""
    score = np.zeros(size)
    for name, worth in coefficients.items():
        score += worth * columns[name]
    odds = np.exp(score - score.max(initial=0.0)) if size else score
    return np.asarray(odds / max(float(odds.sum()), 1e-300))
