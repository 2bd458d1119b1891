"""One score for each candidate: learned coefficients over about forty numbers about it, joined with
a fusion in which nothing is learned.

How far words, embedding and surroundings are to be trusted depends on the memories: in short turns
of talk the turns around a match and the speaker matter, in long documents the embedding alone is
best. So the numbers stand beside their product with the typical length of a text here. This part is
linear; its coefficients lie readable in `ranker.json`, made by `python -m bench.retrieval.train`,
which also says how well they do on conversations they have not seen. On kinds of memories that they
were not learned on they may be worse than a plain fusion, so of what is no talk `rank_fusion` makes
FIXED_SHARE of the score (`python -m bench.transfer`).

Always true: the order does not depend on the calibration; equal candidates are ordered by id; what
has no vector is judged by its words, what has no session has no neighbours, and neither is an
error.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reverie.retrieval.rank_fusion import fuse_ranks
from reverie.storage.candidates import CandidatePool

Floats = npt.NDArray[np.float64]
Column = npt.NDArray[np.floating]

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec"
MONTHS = tuple(_MONTHS.split())
_MONTH = re.compile(
    r"\b(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sep(?:tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b((?:19|20)\d\d)\b")
_DAY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)?\b")
_FIRST_PERSON = re.compile(r"\b(?:i|my|me|mine|i'm|i've)\b", re.IGNORECASE)

USERS = frozenset({"user", "human"})
ROLES = USERS | {"assistant", "system", "tool", "ai", "agent"}

# The least standard deviation of background cosines: in a tiny store it may be 0.
MIN_SPREAD = 0.02
# Candidates of a session whose mean speaks for all of it.
BEST_OF_SESSION = 3
# What the fixed score counts beside the learned one, of what stands alone: that is a fact, a page
# or a piece of code, and no coefficients hold for all of them. Turns of talk are much alike.
FIXED_SHARE = 0.5
# The usual standard deviations of both in a pool. They count as FEW candidates: two or three have
# no spread worth the name, and one score would undo the other.
USUAL_SPREADS, FEW = (1.5, 0.35), 5
# The length of a text against which the typical one here is measured.
TYPICAL_CHARS = 100.0


def find_months(text: str) -> list[int]:
    """Months that are named, 1..12, each once. "May" at the beginning asks for permission."""
    named = [
        match[1].lower()
        for match in _MONTH.finditer(text)
        if match.start() or match[1].lower() != "may"
    ]
    return list(dict.fromkeys(MONTHS.index(name[:3]) + 1 for name in named))


def score_dates(text: str, at: npt.NDArray[np.float64]) -> Column:
    """How well the moments `at` fit the dates that the question names; 0 where it names none.

    A named month counts 1 where it fits and −0.5 elsewhere, a day within two days of it 1 more, a
    year ±0.3.
    """
    months = find_months(text)
    years = [int(year) for year in _YEAR.findall(text)]
    seconds = at.astype("datetime64[s]")
    fit = np.zeros(len(at))
    if months:
        fit += score_months(text, months, seconds)
    if years:
        year = seconds.astype("datetime64[Y]").astype(np.int64) + 1970
        fit += np.where(np.isin(year, years), 0.3, -0.3)
    return fit


def score_months(
    text: str,
    months: list[int],
    seconds: npt.NDArray[np.datetime64],
) -> Column:
    """How well moments fit the months that the question names, and the days beside them."""
    month = seconds.astype("datetime64[M]")
    in_month = np.isin(month.astype(np.int64) % 12 + 1, months)
    fit = np.where(in_month, 1.0, -0.5)
    # Without a month, a small number is more likely anything else than a day.
    numbers = map(int, _DAY.findall(text))
    days = [number for number in numbers if 1 <= number <= 31]
    if days:
        first = month.astype("datetime64[D]")
        day = (seconds.astype("datetime64[D]") - first).astype(int) + 1
        distance = np.abs(day[:, None] - np.array(days))
        fit += in_month & (distance.min(axis=1) <= 2)
    return fit


def score_speakers(text: str, pool: CandidatePool) -> tuple[Column, Column]:
    """Two columns of 1, −1 or 0: whether the question names the speaker, and whether it means them.

    1 is a turn of somebody whom the question names, −1 of another where it names one; and the same
    for the user, whom "I" means, among roles.
    """
    codes, where = np.unique(pool.speaker, return_inverse=True)
    speakers = [str(pool.names[code]).lower() for code in codes]
    named = find_named_speakers(text, speakers)
    by_name = np.zeros(len(speakers))
    by_role = np.zeros(len(speakers))
    means_user = _FIRST_PERSON.search(text)
    for place, speaker in enumerate(speakers):
        if speaker and named:
            by_name[place] = 1.0 if speaker in named else -1.0
        if speaker in ROLES and means_user:
            by_role[place] = 1.0 if speaker in USERS else -1.0
    return by_name[where], by_role[where]


def find_named_speakers(text: str, speakers: list[str]) -> set[str]:
    """The speakers whose name stands in the question; a role is no name."""
    question = text.lower()
    occurring = {speaker for speaker in speakers if speaker in question} - ROLES - {""}
    return {name for name in occurring if re.search(rf"\b{re.escape(name)}\b", question)}


def rank_places(values: Column) -> Column:
    """The place of each value, 0 for the highest, equal ones in their order; NaN last."""
    order = np.argsort(
        -np.nan_to_num(values, nan=-np.inf),
        kind="stable",
    )
    place = np.empty(len(values))
    place[order] = np.arange(len(values))
    return place


def summarize_groups(
    values: Column,
    group: npt.NDArray[np.int64],
) -> tuple[Column, Column]:
    """For each candidate's group: (the highest value, the mean of the BEST_OF_SESSION highest)."""
    if not len(values):
        return values, values
    order = np.lexsort((-values, group))
    ranked = values[order]
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    place_in_group = np.arange(len(order)) - np.repeat(starts, sizes)
    counted = np.where(place_in_group < BEST_OF_SESSION, ranked, 0.0)
    means = np.add.reduceat(counted, starts) / np.minimum(sizes, BEST_OF_SESSION)
    return ranked[starts][group], means[group]


def mask_talk_turns(pool: CandidatePool) -> npt.NDArray[np.bool_]:
    """True for candidates that are turns of talk: by a speaker, between other turns, in one of
    several sessions.

    A fact stands by itself, though a session wrote it down: what was written before it says nothing
    about it. So does a passage that left a context: it is a piece of a file as often as of talk.
    """
    has_near_vector = ~np.isnan(pool.near_dense).all(axis=1)
    has_near_words = (pool.near_words > 0).any(axis=1)
    is_said = (pool.session > 0) & (pool.speaker > 0)
    is_between = has_near_vector | has_near_words
    return np.asarray(is_said & is_between & (pool.sessions > 1) & ~pool.excerpt)


def compute_features(text: str, pool: CandidatePool) -> dict[str, Column]:
    """The numbers about each candidate, by name; `text` is the question.

    Columns of "meaning" are cosines in standard deviations above those of unrelated texts, columns
    of "words" are BM25 over the highest.
    """
    z = standardize_cosines(pool)
    top = highest_bm25(pool)
    b = pool.words / top
    # Neighbours and sessions say something of turns of talk, and nothing of what stands alone.
    turn = mask_talk_turns(pool)
    by_name, by_role = score_speakers(text, pool)
    return {
        "meaning": z,
        "meaning place": -np.log1p(rank_places(z)),
        "words": b,
        "words log": np.log1p(pool.words),
        "words place": place_words(pool),
        **compute_neighbour_features(pool, turn, top),
        **compute_session_features(pool, turn, z, b),
        "speaker": by_name,
        "role": by_role,
        "date": score_dates(text, pool.at),
        "length": compare_lengths(pool),
        "asks": pool.asks.astype(np.float64),
        "asked before": (pool.asked & turn).astype(np.float64),
        "stands alone": (~turn).astype(np.float64),
    }


def compare_lengths(pool: CandidatePool) -> Column:
    """The logarithm of each length over the typical one.

    Where we cut a text, its length says nothing of it, nor of what is written beside it: that is
    held against its own kind.
    """
    own = pool.length[~pool.excerpt]
    typical = pool.typical if len(own) == len(pool) or not len(own) else float(np.median(own))
    return np.where(pool.excerpt, 0.0, np.log1p(pool.length) - np.log1p(typical))


def highest_bm25(pool: CandidatePool) -> float:
    """The highest BM25 of a pool, never quite 0."""
    return max(float(pool.words.max(initial=0.0)), 1e-6)


def standardize_cosines(pool: CandidatePool) -> Floats:
    """The cosines in standard deviations above those of unrelated texts.

    What has no vector yet counts as alike as what was found by its words usually is.
    """
    z = (pool.dense - pool.mean) / max(pool.spread, MIN_SPREAD)
    is_unknown = np.isnan(z)
    matched = z[(pool.words > 0) & ~is_unknown]
    usual = np.median(matched) if len(matched) else 0.0
    return np.where(is_unknown, usual, z).astype(np.float64)


def place_words(pool: CandidatePool) -> Column:
    """The places by words, on a scale of logarithms; what no word matches is behind all others."""
    place = -np.log1p(rank_places(pool.words))
    return np.where(
        pool.words > 0,
        place,
        -np.log1p(len(pool)),
    )


def compute_neighbour_features(
    pool: CandidatePool,
    turn: npt.NDArray[np.bool_],
    top: float,
) -> dict[str, Column]:
    """What the two turns before and the two after say of each turn; `top` is the highest BM25."""
    beside = turn[:, None]
    cosines = (pool.near_dense - pool.mean) / max(pool.spread, MIN_SPREAD)
    near_z = np.where(beside, np.nan_to_num(cosines), 0.0)
    near_b = np.where(beside, pool.near_words / top, 0.0)
    return {
        "meaning before": near_z[:, 1],
        "meaning after": near_z[:, 2],
        "meaning around": np.maximum(near_z, 0.0).max(axis=1),
        "meaning two away": near_z[:, 0] + near_z[:, 3],
        "words before": near_b[:, 1],
        "words after": near_b[:, 2],
        "words two before": near_b[:, 0],
        "words two after": near_b[:, 3],
    }


def compute_session_features(
    pool: CandidatePool,
    turn: npt.NDArray[np.bool_],
    z: Column,
    b: Column,
) -> dict[str, Column]:
    """What the best candidates of its session say of each turn."""
    group = np.unique(pool.session, return_inverse=True)[1]
    best_z, mean_z = summarize_groups(z, group)
    best_b, mean_b = summarize_groups(b, group)
    return {
        "session meaning": np.where(turn, mean_z, 0.0),
        "session words": np.where(turn, mean_b, 0.0),
        "session best words": np.where(turn, best_b, 0.0),
        "session best meaning": np.where(turn, best_z, 0.0),
    }


ALONE_FEATURES = ("meaning", "meaning place", "words", "words log", "words place", "length")
"""What is trusted more or less of a memory that is no turn of talk: a fact, a document, code."""


def compute_contexts(pool: CandidatePool) -> tuple[tuple[str, float], ...]:
    """What the memories of a pool are like, as named factors: how long, how focused."""
    return ("length", log_typical_length(pool)), ("focus", measure_focus(pool))


def log_typical_length(pool: CandidatePool) -> float:
    """The logarithm of the typical length of a text here over TYPICAL_CHARS."""
    return float(np.log(max(pool.typical, 1.0) / TYPICAL_CHARS))


def small_store_share(memories: int) -> float:
    """1 for an empty store, falling: in a small one no word is rare and spreads say little."""
    return 1.0 / (1.0 + memories / 30.0)


def measure_focus(pool: CandidatePool) -> float:
    """How far the best match by words stands out from the tenth, 0..1."""
    top = np.sort(pool.words)[::-1][:10]
    return float((top[0] - top[-1]) / max(top[0], 1e-6)) if len(top) else 0.0


def compute_outlook(pool: CandidatePool) -> Floats:
    """Ten numbers that say whether anything here answers a query.

    The best candidate by embedding and by words, the length of texts, the focus, and some of these
    once more for small stores.
    """
    has_vector = np.isfinite(pool.dense).any()
    best_cosine = float(np.nanmax(pool.dense)) if has_vector else 0.0
    z = (best_cosine - pool.mean) / max(pool.spread, MIN_SPREAD)
    best_words = np.log1p(float(pool.words.max(initial=0.0)))
    few = small_store_share(len(pool))
    length = log_typical_length(pool)
    focus = measure_focus(pool)
    # In the order of "outlook" in ranker.json.
    general = [best_cosine, z, best_words, length, focus, 1.0]
    in_small_stores = [few, few * best_cosine, few * z, few * best_words]
    return np.array(general + in_small_stores)


def lift_identified(scores: Floats, named: npt.NDArray[np.bool_]) -> Floats:
    """Scores in which candidates that hold an identifier of the question stand above all others, in
    their own order.

    This is a rule and not learned, for no development question names an identifier: who asks for
    E4021 wants what says E4021.
    """
    if named.any() and not named.all():
        highest_other = scores[~named].max()
        gap = highest_other - scores[named].min() + 0.1
        scores = scores + named * max(0.0, gap)
    return np.asarray(scores)


def join_scores(learned: Floats, fixed: Floats, alone: Column) -> Floats:
    """The learned score, of what stands alone with a share of the fixed one, which is brought to
    its mean and spread in this pool: a score keeps its scale, so what was calibrated for it holds.
    """
    many = len(learned)
    spreads = [
        (many * float(values.std()) + FEW * usual) / (many + FEW)
        for values, usual in zip((learned, fixed), USUAL_SPREADS, strict=True)
    ]
    alike = learned.mean() + (fixed - fixed.mean()) * (spreads[0] / spreads[1])
    return np.asarray(learned + FIXED_SHARE * alone * (alike - learned))


class LinearRanker(NamedTuple):
    """The coefficients: one for each column, and those that turn a score into a chance to
    matter.
    """

    weights: Mapping[str, float]
    slope: float
    outlook: tuple[float, ...]

    def scores(self, text: str, pool: CandidatePool) -> Floats:
        """Scores for a question, without bounds, one a candidate; only their differences mean
        something.
        """
        features = compute_features(text, pool)
        scores, alone = self.score_learned(features, pool), features["stands alone"]
        if alone.any():
            scores = join_scores(scores, fuse_ranks(features, pool.words), alone)
        return lift_identified(scores, pool.named > 0)

    def score_learned(self, features: Mapping[str, Column], pool: CandidatePool) -> Floats:
        """What the coefficients alone say of each candidate."""
        contexts = compute_contexts(pool)
        weights = [self.weight_in(name, contexts) for name in features]
        scores = np.stack(
            list(features.values()),
            axis=1,
        ) @ np.array(weights)
        alone = sum(self.weights[f"{name} × alone"] * features[name] for name in ALONE_FEATURES)
        return np.asarray(scores + features["stands alone"] * alone)

    def weight_in(
        self,
        name: str,
        contexts: tuple[tuple[str, float], ...],
    ) -> float:
        """What a feature is worth in a pool.

        The coefficients were learned for features and for their products with the contexts
        (bench/retrieval/columns.py). A context is one number for all candidates, so the products
        are folded into the weights.
        """
        products = [
            self.weights.get(f"{name} × {context}", 0.0) * size for context, size in contexts
        ]
        return self.weights[name] + sum(products)

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
