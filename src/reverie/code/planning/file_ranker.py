"""One score for each file from what its words and its past say, by coefficients that were learned.

The score is linear in a few forms of each signal: its share of the highest, its place, and for some
its logarithm. The coefficients lie in `file_ranker.json`, made by `python -m bench.replay.train`,
which also says how well they do on repositories they have not seen. There is a set for what is
known: the vectors of code and of past tasks, of past tasks alone, or only words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from reverie.code.planning.bm25_field import Column

# what is added to a place before it counts inversely
PLACE_OFFSET = 4.0
# the signals whose logarithm is weighed, too
LOGARITHMIC_NAMES = """
    content, content title, chunk, chunk three, names, base, history, history title, tasks, size,
    age, lately, defines, mentions, rare, quoted, symbols, changes 100, path grams, name grams,
    joined, joined name, went with, meant, meant best, path, code
"""
LOGARITHMIC_SIGNALS = frozenset(name.strip() for name in LOGARITHMIC_NAMES.split(","))

Coefficients = Mapping[str, float]


@cache
def load_coefficients() -> Mapping[str, Coefficients]:
    """The coefficients of each set: "code and tasks", "tasks", "words"."""
    text = Path(__file__).with_suffix(".json").read_text("utf-8")
    sets: Mapping[str, Coefficients] = json.loads(text)
    return sets


def expand_signal_forms(signals: Mapping[str, Column]) -> dict[str, Column]:
    """The forms of each signal that coefficients are for."""
    columns: dict[str, Column] = {}
    for name, values in signals.items():
        highest = values.max(initial=0.0)
        columns[name] = values / highest if highest > 0 else values
        columns[f"{name} place"] = score_places(values)
        if name in LOGARITHMIC_SIGNALS:
            columns[f"{name} log"] = np.log1p(np.maximum(values, 0.0))
    return columns


def score_places(values: Column) -> Column:
    """1/(4 + place) of each value above zero, the highest having place 0."""
    places = np.empty(len(values))
    places[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return np.where(values > 0, 1.0 / (PLACE_OFFSET + places), 0.0)


def compute_likelihoods(
    columns: Mapping[str, Column],
    coefficients: Coefficients,
    size: int,
) -> Column:
    """How likely each file is; they sum to 1."""
    score = np.zeros(size)
    # in the order of the coefficients: sums of floats depend on it
    for name, weight in coefficients.items():
        score += weight * columns[name]
    odds = np.exp(score - score.max(initial=0.0)) if size else score
    return np.asarray(odds / max(float(odds.sum()), 1e-300))
