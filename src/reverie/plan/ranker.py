"""One score for each file from what its words, its past and its neighbours say, by coefficients that were learned.

In two steps: what a file says for itself gives a first guess; then the likeliest files speak for those that change with
them, use them or look like them (`plan.links`). Each step is linear in a few forms of each signal: its share of the
highest, its place, and for some its logarithm. The coefficients lie in `ranker.json`, made by
`python -m bench.replay.train`, which also says how well they do on repositories they have not seen. There are two sets:
with the meaning of past tasks and, where their vectors are not known, without.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import numpy as np

from reverie.plan.field import Column

PLACES = 4.0             # what is added to a place before it counts inversely
LOGARITHMS = frozenset((
    "content", "content title", "chunk", "chunk three", "names", "base", "history", "history title", "tasks", "size",
    "age", "lately", "defines", "mentions", "rare", "quoted", "symbols", "changes 100", "path grams", "name grams",
    "joined", "joined name", "went with", "meant", "meant best", "path", "whole names", "code"))

Coefficients = Mapping[str, float]


@cache
def learned() -> Mapping[str, Coefficients]:
    """The coefficients of each step, with and without meaning."""
    found: Mapping[str, Coefficients] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    return found


def forms(signals: Mapping[str, Column]) -> dict[str, Column]:
    """The forms of each signal that coefficients are for."""
    found: dict[str, Column] = {}
    for name, values in signals.items():
        most = values.max(initial=0.0)
        found[name] = values / most if most > 0 else values
        found[f"{name} place"] = placed(values)
        if name in LOGARITHMS:
            found[f"{name} log"] = np.log1p(np.maximum(values, 0.0))
    return found


def linked(signals: Mapping[str, Column], likely: Column) -> dict[str, Column]:
    """The forms of what files say of each other, and of how likely each was by itself."""
    found: dict[str, Column] = {}
    for name, values in signals.items():
        most = values.max(initial=0.0)
        found[f"{name} raw"] = values
        found[name] = values / most if most > 0 else values
    return {**found, "guess log": np.log(likely + 1e-6), "guess place": placed(likely),
            "guess share": likely / max(likely.max(initial=0.0), 1e-9), "guess": likely}


def placed(values: Column) -> Column:
    """1/(4 + place) of each value above zero, the highest having place 0."""
    places = np.empty(len(values))
    places[np.argsort(-values, kind="stable")] = np.arange(len(values))
    return np.where(values > 0, 1.0 / (PLACES + places), 0.0)


def guessed(columns: Mapping[str, Column], coefficients: Coefficients, size: int) -> Column:
    """How likely each file is; they sum to 1."""
    score = np.zeros(size)
    for name, worth in coefficients.items():
        if worth and name in columns:
            score += worth * columns[name]
    odds = np.exp(score - score.max(initial=0.0))
    return np.asarray(odds / max(float(odds.sum()), 1e-300))
