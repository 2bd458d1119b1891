"""Which files a task is about: from their words, from their meaning and from past tasks. Pure.

`ranked` gives every file of a repository its likelihood; `plan.why` says what spoke for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from reverie.code.planning import file_candidates, past_tasks
from reverie.code.planning.bm25_field import Column
from reverie.code.planning.file_candidates import Tree
from reverie.code.planning.file_ranker import Coefficients, forms, learned, likelihoods
from reverie.code.planning.past_tasks import Past
from reverie.code.planning.task_query import Task


class Meant(NamedTuple):
    """What is near to a task by meaning, with cosines; None where vectors are not known."""

    tasks: Mapping[str, float] | None = None  # past tasks by key
    code: Mapping[str, Sequence[float]] | None = None  # chunks by the path of their file


NOTHING = Meant()


class Ranked(NamedTuple):
    """How likely a task is about each file of a tree, and what says so."""

    tree: Tree
    past: Past
    task: Task
    meant: Meant
    likely: Column  # in the order of the tree's files; they sum to 1
    columns: Mapping[str, Column]  # what was weighed
    coefficients: Coefficients  # …and with which weights
    likeness: Column  # how much each past task is like this one; 0: not at all

    def best(self, most: int) -> list[int]:
        """The places of the likeliest files, ties by path."""
        return [int(place) for place in np.argsort(-self.likely, kind="stable")[:most]]


def ranked(
    files: Tree,
    done: Past,
    task: Task,
    meant: Meant = NOTHING,
    coefficients: Mapping[str, Coefficients] | None = None,
) -> Ranked:
    """Every file's likelihood."""
    columns = forms(signals(files, done, task, meant))
    weights = (coefficients or learned())[known(meant)]
    return Ranked(
        files,
        done,
        task,
        meant,
        likelihoods(columns, weights, len(files)),
        columns,
        weights,
        past_tasks.likeness(done, task, meant.tasks),
    )


def signals(files: Tree, done: Past, task: Task, meant: Meant) -> dict[str, Column]:
    """All signals of each file."""
    return {
        **file_candidates.signals(files, task),
        **file_candidates.by_meaning(files, meant.code or {}),
        **past_tasks.signals(done, task, meant.tasks),
    }


def known(meant: Meant) -> str:
    """Which set of coefficients there are signals for."""
    if meant.tasks is None:
        return "words"
    return "tasks" if meant.code is None else "code and tasks"
