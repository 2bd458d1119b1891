"""Past tasks as a plan sees them: what each was called, which files it changed, and what that says
of a new one. Pure.

Commits of a learned history are tasks, and so is what an agent recorded as one. The further back,
the less it counts, by the number of tasks since then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reverie.code.planning.bm25_field import (
    Bm25Field,
    Column,
    build_field,
    build_field_from_entries,
)
from reverie.code.planning.file_candidates import FileTree
from reverie.code.planning.task_query import TaskQuery
from reverie.retrieval.note_search import MIN_COSINE

MAX_VOTING_TASKS = 30  # past tasks that speak for their files
MAX_WEIGHED_TASKS = 100
MAX_TASKS_PER_FILE = 60  # newest tasks of a file whose words count
HALF_LIVES = (20.0, 100.0, 1000.0)  # tasks after which a change counts half
RECENT_WINDOWS = (1, 3, 10)  # tasks


class PastTask(NamedTuple):
    """A past task."""

    key: str  # of the commit, or the name of the task
    at: float
    text: str
    terms: Mapping[str, float]
    files: tuple[str, ...]  # that it changed, by their present names


class TaskHistory:
    """Past tasks, oldest first, in one repository's present files."""

    def __init__(self, done: Sequence[PastTask], tree: FileTree) -> None:
        self.done, self.tree = done, tree
        rows = [
            (task, tree.place[path])
            for task, one in enumerate(done)
            for path in dict.fromkeys(one.files)
            if path in tree.place
        ]
        self.task: npt.NDArray[np.int64] = np.array([task for task, _ in rows], np.int64)
        self.file: npt.NDArray[np.int64] = np.array([file for _, file in rows], np.int64)
        # files of each task
        self.width = np.array([max(1, len(one.files)) for one in done], np.float64)
        # …that are there now
        self.here = np.maximum(np.bincount(self.task, minlength=len(done)), 1)

    def __len__(self) -> int:
        return len(self.done)

    @property
    def since(self) -> Column:
        """For each change, how many tasks ended since."""
        return (len(self) - self.task).astype(np.float64)

    @cached_property
    def texts(self) -> Bm25Field:
        """What the tasks were called."""
        return build_field(one.terms for one in self.done)

    @cached_property
    def of_files(self) -> Bm25Field:
        """For each file the words of the newest tasks that changed it, less of those that changed
        many.
        """
        newest = np.ones(len(self.task), bool)
        order = np.lexsort((-self.task, self.file))
        sizes = np.bincount(self.file, minlength=len(self.tree))
        place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        newest[order] = place < MAX_TASKS_PER_FILE
        return self._words_of(self.task[newest], self.file[newest], len(self.tree))

    def _words_of(
        self, tasks: npt.NDArray[np.int64], docs: npt.NDArray[np.int64], size: int
    ) -> Bm25Field:
        """The texts of tasks, each in a document."""
        terms, counts, starts = self._by_task
        lengths = np.diff(starts)[tasks]
        entries = np.repeat(starts[tasks] - np.cumsum(lengths) + lengths, lengths) + np.arange(
            lengths.sum()
        )
        weight = np.repeat(1.0 / np.log2(1.0 + self.width[tasks]), lengths)
        return build_field_from_entries(
            self.texts.numbers,
            size,
            np.repeat(docs, lengths).astype(np.int32),
            terms[entries],
            counts[entries] * weight,
        )

    @cached_property
    def _by_task(self) -> tuple[npt.NDArray[np.int64], Column, npt.NDArray[np.int64]]:
        """The entries of the texts ordered by task: terms, counts, and where each task begins."""
        texts = self.texts
        term = np.repeat(np.arange(len(texts.starts) - 1), np.diff(texts.starts))
        order = np.argsort(texts.docs, kind="stable")
        sizes = np.bincount(texts.docs, minlength=len(self))
        return term[order], texts.counts[order], np.concatenate([[0], np.cumsum(sizes)])

    @cached_property
    def changes(self) -> npt.NDArray[np.int64]:
        """How many tasks changed each file."""
        return np.bincount(self.file, minlength=len(self.tree))

    def votes(self, scores: Column, most: int) -> tuple[npt.NDArray[np.int64], Column]:
        """The changes of the best-scored tasks, with their scores."""
        order = np.argsort(-scores, kind="stable")[:most]
        chosen = np.zeros(len(self))
        chosen[order] = np.maximum(scores[order], 0.0)
        hit = np.flatnonzero(chosen[self.task] > 0)
        return hit, chosen[self.task[hit]]

    def spread(self, scores: Column) -> Column:
        """The files of the best-scored tasks, each task's score shared by its files."""
        hit, score = self.votes(scores, MAX_VOTING_TASKS)
        return self._by_file(hit, score / np.sqrt(self.here[self.task[hit]]))

    def recent(self, scores: Column, half: float) -> Column:
        """The same, of more tasks, less for those of long ago."""
        hit, score = self.votes(scores, MAX_WEIGHED_TASKS)
        weight = 0.5 ** (self.since[hit] / half) / np.sqrt(self.here[self.task[hit]])
        return self._by_file(hit, score * weight)

    def _by_file(self, hit: npt.NDArray[np.int64], worth: Column) -> Column:
        """What some changes are worth, for each file."""
        return np.asarray(np.bincount(self.file[hit], worth, len(self.tree)), np.float64)

    def best(self, scores: Column) -> Column:
        """For each file the score of the best task that changed it, less where that
        changed many.
        """
        hit, score = self.votes(scores, MAX_WEIGHED_TASKS)
        found = np.zeros(len(self.tree))
        np.maximum.at(found, self.file[hit], score / (1.0 + 0.1 * self.here[self.task[hit]]))
        return found


def score_task_similarity(
    past: TaskHistory, task: TaskQuery, meant: Mapping[str, float] | None = None
) -> Column:
    """How much each past task is like this one, by its words (the likest 1) and, where near, its
    meaning, added.
    """
    words = past.texts.bm25(task.terms)
    near = to_cosine_column(past, meant or {})
    return words / max(float(words.max(initial=0.0)), 1e-9) + np.where(
        near >= MIN_COSINE, near, 0.0
    )


def to_cosine_column(past: TaskHistory, meant: Mapping[str, float]) -> Column:
    """The cosine of each past task that is near by meaning; 0 for the others."""
    return np.array([meant.get(one.key, 0.0) for one in past.done], np.float64)


def compute_history_signals(
    past: TaskHistory, task: TaskQuery, meant: Mapping[str, float] | None = None
) -> dict[str, Column]:
    """What past tasks say of each file. `meant` has the keys of those nearest by meaning with their
    cosines.
    """
    return {
        **score_history_words(past, task),
        **score_task_cosines(past, meant or {}),
        **score_change_times(past),
    }


def score_history_words(past: TaskHistory, task: TaskQuery) -> dict[str, Column]:
    """Past tasks with the same words, and the words that went with each file."""
    found: dict[str, Column] = {
        "history": past.of_files.bm25(task.terms),
        "history title": past.of_files.bm25(task.title),
    }
    for name, question in (("tasks", task.terms), ("tasks title", task.title)):
        scores = past.texts.bm25(question)
        most = (
            sum(
                min(times, 3.0) * np.log1p(len(past) / (1.0 + len(past.texts.having(term)[0])))
                for term, times in question.items()
            )
            or 1.0
        )
        found |= {
            name: past.spread(scores),
            f"{name} best": past.best(scores / most),
            f"{name} lately": past.recent(scores**2, 300.0),
        }
    return {**found, "went with": score_word_company(past, task)}


def score_word_company(past: TaskHistory, task: TaskQuery) -> Column:
    """How often each file was changed when a word of the task was said, more for rare words and
    lately.
    """
    found = np.zeros(len(past.tree))
    weight = 0.5 ** (past.since / 400.0) / np.sqrt(past.width[past.task])
    fresh = 0.5 ** ((len(past) - np.arange(len(past))) / 400.0)
    for docs, _, _ in past.texts.matches(dict.fromkeys(task.terms, 1.0)):
        said = np.zeros(len(past), bool)
        said[docs] = True
        hit = said[past.task]
        worth = np.log1p(len(past) / len(docs))
        found += (
            worth
            * np.bincount(past.file[hit], weight[hit], len(past.tree))
            / (fresh[docs].sum() + 1.5)
        )
    return found


def score_task_cosines(past: TaskHistory, meant: Mapping[str, float]) -> dict[str, Column]:
    """Past tasks that mean the like; zeros where none is known to."""
    none = np.zeros(len(past.tree))
    near = to_cosine_column(past, meant)
    if not near.any():
        return {"meant": none, "meant best": none, "meant lately": none}
    floor = np.sort(near)[-min(MAX_VOTING_TASKS, len(near))]
    return {
        "meant": past.spread(np.maximum(near - floor, 0.0) ** 1.5 + 1e-9 * (near >= floor)),
        "meant best": past.best(near),
        "meant lately": past.recent(np.maximum(near, 0.0) ** 4, 400.0),
    }


def score_change_times(past: TaskHistory) -> dict[str, Column]:
    """How often, how lately and with how many others each file was changed."""
    size = len(past.tree)
    last, first = np.full(size, -1.0), np.full(size, np.inf)
    np.maximum.at(last, past.file, past.task)
    np.minimum.at(first, past.file, past.task)
    ever = past.changes > 0
    found = {
        "lately": np.where(ever, 1.0 / np.maximum(len(past) - last, 1.0), 0.0),
        "age": np.where(ever, np.log1p(len(past) - np.where(ever, first, 0.0)), 0.0),
        "changes": np.log1p(past.changes),
        "alone": np.bincount(past.file, 1.0 / past.width[past.task], size)
        / np.maximum(past.changes, 1),
    }
    found |= {
        f"changes {half:g}": np.bincount(past.file, 0.5 ** ((past.since - 1.0) / half), size)
        for half in HALF_LIVES
    }
    for some in RECENT_WINDOWS:
        late = past.since <= some
        found[f"last {some}"] = np.bincount(
            past.file[late], 1.0 / past.width[past.task[late]], size
        )
    return found
