"""What the likeliest files say of the others: which change with them, use them, look like them or stand beside them.

Pure. `likely` is how likely each file is by itself (they sum to 1). Only the ten likeliest speak, once all of them and
once the first alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reverie.plan.field import Column
from reverie.plan.past import Past
from reverie.plan.tree import Tree

SPEAKERS = 10
LIKE_NOTHING = 0.15      # cosine of two files of one repository that have nothing to do with each other
FADING = 1000.0          # tasks after which a common change counts half
ENOUGH = {"imports": 3.0, "inherits": 1.0, "uses": 3.0}    # of one file by another, to count fully
USES = ("calls", "uses", "references")

Speakers = npt.NDArray[np.int64]
Table = npt.NDArray[np.float64]


class Said(NamedTuple):
    """What some files say of all, by what ties them: a row for each speaker, a column for each file."""

    speakers: Speakers
    ties: Mapping[str, Table]


def said(tree: Tree, past: Past, speakers: Speakers) -> Said:
    """What these files say."""
    return Said(speakers, dict((*changed_with(past, speakers), *led(tree, speakers), *alike(tree, speakers),
                                *beside(tree, speakers))))


def signals(told: Said, likely: Column) -> dict[str, Column]:
    """What the likeliest of the speakers say of each file, and the very likeliest."""
    order = np.argsort(-likely[told.speakers], kind="stable")[:SPEAKERS]
    weights = likely[told.speakers[order]]
    found = {f"{tie} top": weights @ rows[order] for tie, rows in told.ties.items()}
    return found | {f"{tie} first": rows[order[0]] if len(order) else np.zeros(len(likely))
                    for tie, rows in told.ties.items()}


def top(likely: Column, most: int = SPEAKERS) -> Speakers:
    """The likeliest files."""
    return np.argsort(-likely, kind="stable")[:most]


def changed_with(past: Past, speakers: Speakers) -> Iterator[tuple[str, Table]]:
    """Files that were changed in one task with a speaker: of the speaker's tasks, of their own, and of both."""
    size = len(past.tree)
    times, shared = np.zeros((2, len(speakers), size))
    fresh = 0.25 ** (past.since / FADING) / past.width[past.task] if len(past) else np.zeros(0)
    length = np.sqrt(np.bincount(past.file, fresh, size)) + 0.5
    for row, speaker in enumerate(speakers):
        mine = np.zeros(len(past), bool)
        mine[past.task[past.file == speaker]] = True
        hit = mine[past.task] & (past.file != speaker)
        times[row] = np.bincount(past.file[hit], past.together[hit], size)
        shared[row] = np.bincount(past.file[hit], fresh[hit], size)
    yield "changes with", times / (past.changes[speakers] + 2.0)[:, None]
    yield "changes only with", times / (past.changes + 2.0)
    yield "shares tasks", shared / (length[speakers][:, None] * length)


def led(tree: Tree, speakers: Speakers) -> Iterator[tuple[str, Table]]:
    """Files that speakers lead to, and that lead to speakers."""
    row_of = np.full(len(tree), -1)
    row_of[speakers] = np.arange(len(speakers))
    for kind, enough in ENOUGH.items():
        ends = tree.ends(USES if kind == "uses" else (kind,))
        for name, here, there in ((kind, ends.source, ends.target), (f"{kind} back", ends.target, ends.source)):
            count = np.minimum(ends.count, enough)
            total = np.sqrt(np.maximum(np.bincount(here, count, len(tree)), 1.0))
            rows = np.zeros((len(speakers), len(tree)))
            hit = row_of[here] >= 0
            np.add.at(rows, (row_of[here[hit]], there[hit]), count[hit] / total[here[hit]])
            yield name, rows


def alike(tree: Tree, speakers: Speakers) -> Iterator[tuple[str, Table]]:
    """Files with the same terms."""
    entries = tree.weighted
    rows = np.zeros((len(speakers), len(tree)))
    for row, speaker in enumerate(speakers):
        mine = slice(entries.starts[speaker], entries.starts[speaker + 1])
        vector = np.zeros(entries.terms)
        vector[entries.term[mine]] = entries.weight[mine]
        rows[row] = np.maximum(np.bincount(entries.file, vector[entries.term] * entries.weight, len(tree))
                               - LIKE_NOTHING, 0.0)
        rows[row, speaker] = 0.0
    yield "alike", rows


def beside(tree: Tree, speakers: Speakers) -> Iterator[tuple[str, Table]]:
    """Files of the same folder."""
    rows = (tree.folder[speakers][:, None] == tree.folder).astype(np.float64)
    rows[np.arange(len(speakers)), speakers] = 0.0
    yield "beside", rows
