"""Which files a task is about: from their words, from their meaning and from past tasks. Pure.

`ranked` gives every file of a repository its likelihood; `plan.why` says what spoke for it.
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
    """What is near to a task by meaning, with cosines; None where vectors are not known."""

    tasks: Mapping[str, float] | None = None  # past tasks by key
    code: Mapping[str, Sequence[float]] | None = None  # chunks by the path of their file


NO_COSINES = TaskCosines()


class RankedFiles(NamedTuple):
    """How likely a task is about each file of a tree, and what says so."""

    tree: FileTree
    past: TaskHistory
    task: TaskQuery
    meant: TaskCosines
    likely: Column  # in the order of the tree's files; they sum to 1
    columns: Mapping[str, Column]  # what was weighed
    coefficients: Coefficients  # …and with which weights
    likeness: Column  # how much each past task is like this one; 0: not at all

    def best(self, most: int) -> list[int]:
        """The places of the likeliest files, ties by path."""
        return [int(place) for place in np.argsort(-self.likely, kind="stable")[:most]]


def rank_files(
    files: FileTree,
    done: TaskHistory,
    task: TaskQuery,
    meant: TaskCosines = NO_COSINES,
    coefficients: Mapping[str, Coefficients] | None = None,
) -> RankedFiles:
    """Every file's likelihood."""
    columns = expand_signal_forms(collect_signals(files, done, task, meant))
    weights = (coefficients or load_coefficients())[name_coefficient_set(meant)]
    return RankedFiles(
        files,
        done,
        task,
        meant,
        compute_likelihoods(columns, weights, len(files)),
        columns,
        weights,
        past_tasks.score_task_similarity(done, task, meant.tasks),
    )


def collect_signals(
    files: FileTree, done: TaskHistory, task: TaskQuery, meant: TaskCosines
) -> dict[str, Column]:
    """All signals of each file."""
    return {
        **file_candidates.compute_word_signals(files, task),
        **file_candidates.score_code_cosines(files, meant.code or {}),
        **past_tasks.compute_history_signals(done, task, meant.tasks),
    }


def name_coefficient_set(meant: TaskCosines) -> str:
    """Which set of coefficients there are signals for."""
    if meant.tasks is None:
        return "words"
    return "tasks" if meant.code is None else "code and tasks"
