"""Which files a task is about: from their words, from vectors and from past tasks. Pure.

`rank_files` gives every file of a repository its likelihood; `plan_reasons` says what spoke for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from reverie.code.planning import file_candidates, past_tasks
from reverie.code.planning.bm25_field import Column
from reverie.code.planning.file_candidates import FileTree
from reverie.code.planning.file_ranker import (
    Coefficients,
    compute_likelihoods,
    expand_signal_forms,
    load_coefficients,
)
from reverie.code.planning.past_tasks import TaskHistory
from reverie.code.planning.task_query import TaskQuery


class TaskCosines(NamedTuple):
    """The cosines of what is near to a task; None if vectors are not known."""

    tasks: Mapping[str, float] | None = None  # past tasks by key
    code: Mapping[str, Sequence[float]] | None = None  # chunks by the path of their file


NO_COSINES = TaskCosines()


class RankedFiles(NamedTuple):
    """How likely a task is about each file of a tree, and what says so."""

    tree: FileTree
    past: TaskHistory
    task: TaskQuery
    meant: TaskCosines
    # in the order of the tree's files; they sum to 1
    likely: Column
    # what was weighed, and with which weights
    columns: Mapping[str, Column]
    coefficients: Coefficients
    # how much each past task is like this one; 0: not at all
    likeness: Column

    def best(self, most: int) -> list[int]:
        """The places of the likeliest files, ties by path."""
        return [int(place) for place in np.argsort(-self.likely, kind="stable")[:most]]


def rank_files(
    files: FileTree,
    past: TaskHistory,
    task: TaskQuery,
    cosines: TaskCosines = NO_COSINES,
) -> RankedFiles:
    """The likelihood of every file of a repository for a task."""
    near = past_tasks.to_cosine_column(past, cosines.tasks or {})
    signals = {
        **file_candidates.compute_word_signals(files, task),
        **file_candidates.score_code_cosines(files, cosines.code or {}),
        **past_tasks.compute_history_signals(past, task, near),
    }
    columns = expand_signal_forms(signals)
    weights = load_coefficients()[name_coefficient_set(cosines)]
    likely = compute_likelihoods(columns, weights, len(files))
    likeness = past_tasks.score_task_similarity(past, task, near)
    return RankedFiles(files, past, task, cosines, likely, columns, weights, likeness)


def name_coefficient_set(cosines: TaskCosines) -> str:
    """The set of coefficients that there are signals for."""
    if cosines.tasks is None:
        return "words"
    return "tasks" if cosines.code is None else "code and tasks"
