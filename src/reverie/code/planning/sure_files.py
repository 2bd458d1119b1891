"""Which files of a ranking are sure enough to be named unasked. Pure.

A ranking always has a first file; of most prompts it says nothing. Each of the best files gets the
chance that the task changes it, by its share of the likelihood and by what speaks for it by itself:
the coefficients in `sure_files.json` are learned from tasks of repositories, and from prompts that
are none there, by `python -m bench.replay.hooked`.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reverie.code.planning.bm25_field import Column
from reverie.code.planning.past_tasks import estimate_highest_score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reverie.code.planning import RankedFiles

# Files of a ranking that are looked at, and that are named at most.
MAX_LOOKED_AT = 5
MAX_NAMED = 3
# Files that are named after those, without a word: who looks on finds most of the rest there.
MAX_OTHERS = 5
# The chance that the surest file must have for any to be named, and each other one.
MIN_FIRST_CHANCE = 0.5
MIN_CHANCE = 0.2
# Folders and parts of names by which tests are told, in most languages' customs.
TEST_FOLDERS = frozenset({"test", "tests", "__tests__", "spec", "specs", "testing"})
TEST_WORDS = frozenset({"test", "tests", "spec", "specs"})


class Evidence(NamedTuple):
    """What speaks for each file by itself, whatever else is in the repository; each 0..1."""

    said: Column  # share of the task's words, by rarity, that stand in it
    called: Column  # …in its path
    named: Column  # …in the names that it defines
    done: Column  # how much the past task most like this one that changed it is like it
    words: float  # how many telling words the task has
    known: float  # share of the task's words that the repository knows


class SureFile(NamedTuple):
    """A file that is sure enough: its place in the tree, and the chance that the task changes
    it.
    """

    place: int
    chance: float


def measure_evidence(found: RankedFiles) -> Evidence:
    """What speaks for each file by itself."""
    task, tree, past = found.task, found.tree, found.past
    highest = estimate_highest_score(past, task.terms)
    content = tree.content
    known = [term for term in task.terms if len(content.having(term)[0])]
    return Evidence(
        content.coverage(task.terms),
        tree.ways.coverage(task.terms),
        tree.named.coverage(task.terms),
        past.best(past.texts.bm25(task.terms) / highest),
        float(len(task.terms)),
        len(known) / max(1, len(task.terms)),
    )


@cache
def load_gate() -> Mapping[str, float]:
    """The coefficients of the chance, by signal."""
    weights: Mapping[str, float] = json.loads(
        Path(__file__).with_suffix(".json").read_text("utf-8")
    )
    return weights


def list_gate_signals(
    likely: Column, evidence: Evidence, places: Sequence[int]
) -> dict[str, Column]:
    """What the chance of some files, the likeliest first, is told by."""
    chosen = np.asarray(places, np.int64)
    share = np.log(likely[chosen] + 1e-6)
    ones = np.ones(len(chosen))
    return {
        "base": ones,
        "likely": share,
        "behind": share - share[:1],
        "said": evidence.said[chosen],
        "called": evidence.called[chosen],
        "named": evidence.named[chosen],
        "done": evidence.done[chosen],
        "known": ones * evidence.known,
        "words": ones * np.log1p(evidence.words),
    }


def compute_chances(signals: Mapping[str, Column], weights: Mapping[str, float]) -> Column:
    """The chance that a task changes each file."""
    score = sum((weight * signals[name] for name, weight in weights.items()), np.zeros(1))
    return np.asarray(1.0 / (1.0 + np.exp(-score)))


def choose_files(found: RankedFiles) -> tuple[list[SureFile], list[int]]:
    """The files, tests aside, that are sure enough to be named, the surest first, and the places of
    those that are likeliest after them; nothing where no file is sure enough.
    """
    if not found.task.terms:
        return [], []
    is_code = np.array([not is_test_path(path) for path in found.tree.paths], bool)
    likely = np.where(is_code, found.likely, 0.0)
    likely = likely / max(float(likely.sum()), 1e-300)
    sure = pick_sure_files(likely, measure_evidence(found), load_gate())
    return sure, list_next_files(likely, sure)


def list_next_files(likely: Column, sure: Sequence[SureFile]) -> list[int]:
    """The places of the files that are likeliest after those that are sure, if there are any."""
    if not sure:
        return []
    named = {one.place for one in sure}
    order = np.argsort(-likely, kind="stable")[: MAX_OTHERS + len(sure)]
    others = [int(place) for place in order if place not in named and likely[place] > 0]
    return others[:MAX_OTHERS]


def pick_sure_files(
    likely: Column, evidence: Evidence, weights: Mapping[str, float]
) -> list[SureFile]:
    """Those of the likeliest files whose chance is high enough, the surest first."""
    order = np.argsort(-likely, kind="stable")[:MAX_LOOKED_AT]
    places = [int(place) for place in order if likely[place] > 0]
    if not places:
        return []
    chances = compute_chances(list_gate_signals(likely, evidence, places), weights)
    sure = [
        SureFile(place, float(chance))
        for place, chance in zip(places, chances, strict=True)
        if chance >= MIN_CHANCE
    ]
    sure.sort(key=lambda one: -one.chance)
    return sure[:MAX_NAMED] if sure and sure[0].chance >= MIN_FIRST_CHANCE else []


def is_test_path(path: str) -> bool:
    """True if a path is that of a test, by the names that tests have."""
    place = PurePosixPath(path)
    folders = {part.lower() for part in place.parts[:-1]}
    words = set(place.name.lower().replace("-", "_").replace(".", "_").split("_"))
    return not folders.isdisjoint(TEST_FOLDERS) or not words.isdisjoint(TEST_WORDS)
