"""One score for each candidate from about forty numbers about it, by coefficients that were
learned.

How far words, meaning and surroundings are to be trusted depends on the memories: in short turns of
talk the turns around a match and the speaker matter, in long documents meaning alone is best. So
the numbers stand beside their product with the typical length of a text here. The scorer is linear;
its coefficients lie readable in `ranker.json`, made by `python -m bench.retrieval.train`, which
also says how well they do on conversations they have not seen.

Always true: the order does not depend on the calibration; equal candidates are ordered by id; what
has no vector is judged by its words, what has no session has no neighbours, and neither is an
error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from reverie.retrieval.candidate_features import CandidatePool

Floats = npt.NDArray[np.float64]
Column = npt.NDArray[np.floating]

MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_MONTH = re.compile(
    r"\b(" + "|".join(f"{m[:3]}(?:{m[3:]})?" for m in MONTHS) + r")\b\.?", re.IGNORECASE
)
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_DAY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?\b")
_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine|i'm|i've)\b", re.IGNORECASE)

USERS = frozenset({"user", "human"})
ROLES = USERS | {"assistant", "system", "tool", "ai", "agent"}


@dataclass(frozen=True, slots=True)
class QuestionSignals:
    """What a query says besides its words."""

    text: str

    @property
    def months(self) -> tuple[int, ...]:
        """Months that are named, 1..12. A sentence that begins with "May" asks for permission."""
        found = (
            m.group(1).lower()[:3]
            for m in _MONTH.finditer(self.text)
            if m.start() or m.group(1).lower() != "may"
        )
        return tuple(dict.fromkeys(i for f in found for i, m in enumerate(MONTHS, 1) if m[:3] == f))

    @property
    def years(self) -> tuple[int, ...]:
        """Years that are named."""
        return tuple(int(y) for y in _YEAR.findall(self.text))

    @property
    def days(self) -> tuple[int, ...]:
        """Numbers that may be days of a month."""
        return tuple(d for d in map(int, _DAY.findall(self.text)) if 1 <= d <= 31)

    @property
    def first_person(self) -> bool:
        """Whether it speaks of the asker."""
        return bool(_FIRST_PERSON.search(self.text))


def score_dates(question: QuestionSignals, at: npt.NDArray[np.float64]) -> Column:
    """How well the moments fit the dates that the question names; 0 where it names none."""
    fit = np.zeros(len(at))
    months, years, days = question.months, question.years, question.days
    if not (months or years):
        return fit
    when = at.astype("datetime64[s]")
    month = when.astype("datetime64[M]").astype(np.int64) % 12 + 1
    if months:
        here = np.isin(month, months)
        fit += np.where(here, 1.0, -0.5)
        if days:
            day = (
                when.astype("datetime64[D]") - when.astype("datetime64[M]").astype("datetime64[D]")
            ).astype(int) + 1
            fit += here & (np.min(np.abs(day[:, None] - np.array(days)), axis=1) <= 2)
    if years:
        fit += np.where(
            np.isin(when.astype("datetime64[Y]").astype(np.int64) + 1970, years), 0.3, -0.3
        )
    return fit


def score_speakers(question: QuestionSignals, pool: CandidatePool) -> tuple[Column, Column]:
    """(1 for a turn of somebody whom the question names, −1 for others; the same for the user where
    it says "I").
    """
    codes, where = np.unique(pool.speaker, return_inverse=True)
    names = [str(pool.names[code]).lower() for code in codes]
    asked = question.text.lower()
    named = [
        bool(n) and n not in ROLES and re.search(rf"\b{re.escape(n)}\b", asked) is not None
        for n in names
    ]
    mine = question.first_person
    by_name = [
        0.0 if not n or not any(named) else 1.0 if hit else -1.0
        for n, hit in zip(names, named, strict=True)
    ]
    by_role = [0.0 if n not in ROLES or not mine else 1.0 if n in USERS else -1.0 for n in names]
    return np.array(by_name)[where], np.array(by_role)[where]


def rank_places(values: Column) -> Column:
    """The place of each value, 0 for the highest; NaN last."""
    order = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")
    place = np.empty(len(values))
    place[order] = np.arange(len(values))
    return place


def summarize_groups(
    values: Column, group: npt.NDArray[np.int64], most: int = 3
) -> tuple[Column, Column]:
    """For each candidate's group: (the highest value, the mean of the `most` highest)."""
    if not len(values):
        return values, values
    order = np.lexsort((-values, group))
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    ranked = values[order]
    inside = np.arange(len(order)) - np.repeat(starts, sizes) < most
    means = np.add.reduceat(np.where(inside, ranked, 0.0), starts) / np.minimum(sizes, most)
    return ranked[starts][group], means[group]


def mask_talk_turns(pool: CandidatePool) -> npt.NDArray[np.bool_]:
    """Which candidates are turns of talk: said by somebody, between other turns, in one of several
    sessions.

    A fact stands by itself, though a session wrote it down: what was written before it says nothing
    about it.
    """
    beside = ~np.isnan(pool.near_dense).all(axis=1) | (pool.near_words > 0).any(axis=1)
    return np.asarray((pool.session > 0) & (pool.speaker > 0) & beside & (pool.sessions > 1))


def compute_features(question: QuestionSignals, pool: CandidatePool) -> dict[str, Column]:
    """The numbers about each candidate, by name. `meaning` columns are in spreads above what means
    nothing here.
    """
    spread = max(pool.spread, 0.02)
    z = (pool.dense - pool.mean) / spread
    matched = z[(pool.words > 0) & ~np.isnan(z)]
    z = np.where(np.isnan(z), np.median(matched) if len(matched) else 0.0, z).astype(np.float64)
    top = max(float(pool.words.max(initial=0.0)), 1e-6)
    b = pool.words / top
    turn = mask_talk_turns(pool)
    near_z = np.where(turn[:, None], np.nan_to_num((pool.near_dense - pool.mean) / spread), 0.0)
    near_b = np.where(turn[:, None], pool.near_words / top, 0.0)
    alone = ~turn
    group = np.unique(pool.session, return_inverse=True)[1]
    (best_z, mean_z), (best_b, mean_b) = summarize_groups(z, group), summarize_groups(b, group)
    by_name, by_role = score_speakers(question, pool)
    return {
        "meaning": z,
        "meaning place": -np.log1p(rank_places(z)),
        "words": b,
        "words log": np.log1p(pool.words),
        "words place": np.where(
            pool.words > 0, -np.log1p(rank_places(pool.words)), -np.log1p(len(pool))
        ),
        "meaning before": near_z[:, 1],
        "meaning after": near_z[:, 2],
        "meaning around": np.maximum(near_z, 0.0).max(axis=1),
        "meaning two away": near_z[:, 0] + near_z[:, 3],
        "words before": near_b[:, 1],
        "words after": near_b[:, 2],
        "words two before": near_b[:, 0],
        "words two after": near_b[:, 3],
        "session meaning": np.where(alone, 0.0, mean_z),
        "session words": np.where(alone, 0.0, mean_b),
        "session best words": np.where(alone, 0.0, best_b),
        "session best meaning": np.where(alone, 0.0, best_z),
        "speaker": by_name,
        "role": by_role,
        "date": score_dates(question, pool.at),
        "length": np.log1p(pool.length) - np.log1p(pool.typical),
        "asks": pool.asks.astype(np.float64),
        "asked before": (pool.asked & turn).astype(np.float64),
        "stands alone": alone.astype(np.float64),
    }


LENGTH_FEATURES = (
    "meaning",
    "meaning place",
    "words",
    "words log",
    "words place",
    "meaning before",
    "meaning after",
    "words before",
    "session meaning",
    "session words",
    "session best words",
    "length",
)
"""What is to be trusted more or less where texts are long."""

FOCUS_FEATURES = ("meaning", "words")
"""What is to be trusted more or less where few memories stand out by their words."""


ALONE_FEATURES = ("meaning", "meaning place", "words", "words log", "words place", "length")
"""What is to be trusted more or less of a memory that is no turn of a conversation: a fact, a
document, code.
"""


def compute_contexts(pool: CandidatePool) -> tuple[tuple[str, float], ...]:
    """What the memories of a pool are like, as factors."""
    return ("length", float(np.log(max(pool.typical, 1.0) / 100.0))), ("focus", measure_focus(pool))


CONTEXT_FEATURES = {"length": LENGTH_FEATURES, "focus": FOCUS_FEATURES}


def build_feature_matrix(
    question: QuestionSignals, pool: CandidatePool
) -> tuple[Floats, tuple[str, ...]]:
    """[n, F] and the names of its columns: features, and some of them times what the memories are
    like.
    """
    found = compute_features(question, pool)
    columns = dict(found)
    for context, size in compute_contexts(pool):
        columns.update(
            {f"{name} × {context}": found[name] * size for name in CONTEXT_FEATURES[context]}
        )
    columns.update(
        {f"{name} × alone": found[name] * found["stands alone"] for name in ALONE_FEATURES}
    )
    return np.stack(list(columns.values()), axis=1), tuple(columns)


def measure_focus(pool: CandidatePool) -> float:
    """How far the best match by words stands out from the tenth, 0..1."""
    top = np.sort(pool.words)[::-1][:10]
    return float((top[0] - top[-1]) / max(top[0], 1e-6)) if len(top) else 0.0


def compute_outlook(pool: CandidatePool) -> Floats:
    """What says whether anything here answers a query: the best by meaning and by words, the length
    of texts.
    """
    best_cosine = float(np.nanmax(pool.dense)) if np.isfinite(pool.dense).any() else 0.0
    z = (best_cosine - pool.mean) / max(pool.spread, 0.02)
    best_words = float(pool.words.max(initial=0.0))
    # in a small store no word is rare and the spread says little
    few = 1.0 / (1.0 + len(pool) / 30.0)
    return np.array(
        [
            best_cosine,
            z,
            np.log1p(best_words),
            np.log(max(pool.typical, 1.0) / 100.0),
            measure_focus(pool),
            1.0,
            few,
            few * best_cosine,
            few * z,
            few * np.log1p(best_words),
        ]
    )


def lift_identified(scores: Floats, named: npt.NDArray[np.bool_]) -> Floats:
    """Scores in which candidates that hold an identifier of the question stand above all others, in
    their own order.

    No development question names one, so this is not learned: who asks for E4021 wants what says
    E4021 (CC-23).
    """
    if named.any() and not named.all():
        scores = scores + named * max(0.0, scores[~named].max() - scores[named].min() + 0.1)
    return np.asarray(scores)


@dataclass(frozen=True, slots=True)
class LinearRanker:
    """Coefficients: one for each column, and those that turn a score into how likely it is to
    matter.
    """

    weights: Mapping[str, float]
    slope: float
    outlook: tuple[float, ...]

    def scores(self, question: QuestionSignals, pool: CandidatePool) -> Floats:
        """Scores without bounds; only their differences mean something."""
        found = compute_features(question, pool)
        contexts = compute_contexts(pool)
        # The same as matrix() times the weights, with each product taken once for all candidates.
        weights = [
            self.weights[name]
            + sum(self.weights.get(f"{name} × {context}", 0.0) * size for context, size in contexts)
            for name in found
        ]
        scores = np.stack(list(found.values()), axis=1) @ np.array(weights)
        alone = sum(self.weights[f"{name} × alone"] * found[name] for name in ALONE_FEATURES)
        return lift_identified(scores + found["stands alone"] * alone, pool.named > 0)

    def likelihoods(self, scores: Floats, pool: CandidatePool) -> Floats:
        """How likely each candidate is to matter, 0..1, in the same order as the scores.

        One half is where it begins to be worth showing to somebody who has not asked: nine in ten
        questions that nothing here answers find nothing above it, in small stores and in large ones
        (bench/retrieval/train.py).
        """
        prospects = float(compute_outlook(pool) @ np.array(self.outlook))
        margin = self.slope * (scores - scores.max(initial=-np.inf)) + prospects
        return np.asarray(1.0 / (1.0 + np.exp(-np.clip(margin, -30, 30))))


@lru_cache(maxsize=1)
def load_ranker() -> LinearRanker:
    """The coefficients that come with this package."""
    data = json.loads(Path(__file__).with_name("ranker.json").read_text("utf-8"))
    return LinearRanker(data["weights"], data["slope"], tuple(data["outlook"]))
