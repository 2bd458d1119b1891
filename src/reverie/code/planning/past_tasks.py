"""Past tasks as a plan sees them: what each was called, which files it changed, what that says now.

Commits of a learned history are tasks, and so is what an agent recorded as one. The further back,
the less it counts, by the number of tasks since then. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from reverie.code.planning.bm25_field import (
    MAX_QUERY_COUNT,
    Bm25Field,
    Column,
    LongInts,
    Signals,
    TermCounts,
    TermEntries,
    build_field,
    build_field_from_entries,
    count_within_groups,
)
from reverie.code.planning.file_candidates import FileTree
from reverie.code.planning.task_query import TaskQuery
from reverie.retrieval.note_search import MIN_COSINE

# past tasks that speak for their files
MAX_VOTING_TASKS = 30
# past tasks that speak for their files where it also counts how long ago they were
MAX_WEIGHED_TASKS = 100
# newest tasks of a file whose words count
MAX_TASKS_PER_FILE = 60
# tasks after which a change counts half
HALF_LIVES = (20.0, 100.0, 1000.0)
# tasks
RECENT_WINDOWS = (1, 3, 10)
# tasks after which the words that went with a file count half
WORD_HALF_LIFE = 400.0
# likewise what a task speaks for, if it has the same words, or is near by its vector
TEXT_HALF_LIFE = 300.0
COSINE_HALF_LIFE = 400.0

EVERY_CHANGE = slice(None)
Mask = npt.NDArray[np.bool_]


class PastTask(NamedTuple):
    """A past task."""

    key: str  # of the commit, or the name of the task
    at: float
    text: str
    terms: TermCounts
    files: tuple[str, ...]  # that it changed, by their present names


class TaskHistory:
    """Past tasks, oldest first, in one repository's present files.

    A change is a task and one of the files that it changed. Changes lie in the columns `task` and
    `file`, and are chosen by their places in these, by a mask, or by a slice.
    """

    def __init__(self, done: Sequence[PastTask], tree: FileTree) -> None:
        self.done, self.tree = done, tree
        tasks: list[int] = []
        files: list[int] = []
        for number, one in enumerate(done):
            for path in dict.fromkeys(one.files):
                if path in tree.place:
                    tasks.append(number)
                    files.append(tree.place[path])
        self.task: LongInts = np.array(tasks, np.int64)
        self.file: LongInts = np.array(files, np.int64)
        # files of each task
        self.width = np.array(
            [max(1, len(one.files)) for one in done],
            np.float64,
        )
        # files of each task that are there now
        self.here = np.maximum(
            np.bincount(self.task, minlength=len(done)),
            1,
        )

    def __len__(self) -> int:
        return len(self.done)

    @property
    def since(self) -> Column:
        """For each change, how many tasks ended since."""
        return (len(self) - self.task).astype(np.float64)

    @cached_property
    def texts(self) -> Bm25Field:
        """The texts of the tasks."""
        return build_field(one.terms for one in self.done)

    @cached_property
    def of_files(self) -> Bm25Field:
        """For each file the words of the newest tasks that changed it.

        Words of a task that changed many files count less.
        """
        # by file, the newest tasks of each first
        order = np.lexsort((-self.task, self.file))
        place = count_within_groups(self.changes)
        # back to the order of tasks: sums of floats depend on it
        newest = np.sort(order[place < MAX_TASKS_PER_FILE])
        tasks = self.task[newest]
        terms, counts, starts = self._entries_by_task
        lengths = np.diff(starts)[tasks]
        entries = np.repeat(starts[tasks], lengths) + count_within_groups(lengths)
        weight = 1.0 / np.log2(1.0 + self.width[tasks])
        texts = TermEntries(
            np.repeat(self.file[newest], lengths),
            terms[entries],
            counts[entries] * np.repeat(weight, lengths),
        )
        return build_field_from_entries(self.texts.numbers, len(self.tree), texts)

    @property
    def _entries_by_task(self) -> tuple[LongInts, Column, LongInts]:
        """The entries of the texts ordered by task: terms, counts, and where each task begins."""
        texts = self.texts
        order = np.argsort(texts.docs, kind="stable")
        starts = np.searchsorted(
            texts.docs[order],
            np.arange(len(self) + 1),
        )
        return texts.terms[order], texts.counts[order], starts

    @cached_property
    def changes(self) -> LongInts:
        """How many tasks changed each file."""
        return np.bincount(self.file, minlength=len(self.tree))

    def votes(
        self,
        scores: Column,
        most: int,
    ) -> tuple[LongInts, Column, LongInts]:
        """The changes of the best-scored tasks, with their scores and how many files these have."""
        order = np.argsort(-scores, kind="stable")[:most]
        chosen = np.zeros(len(self))
        chosen[order] = np.maximum(scores[order], 0.0)
        hit = np.flatnonzero(chosen[self.task] > 0)
        tasks = self.task[hit]
        return hit, chosen[tasks], self.here[tasks]

    def spread(self, scores: Column) -> Column:
        """The files of the best-scored tasks, each task's score shared by its files."""
        hit, score, here = self.votes(scores, MAX_VOTING_TASKS)
        return self.sum_by_file(score / np.sqrt(here), hit)

    def spread_recent(self, scores: Column, half_life: float) -> Column:
        """The same, of more tasks, less for those of long ago; `half_life` in tasks."""
        hit, score, here = self.votes(scores, MAX_WEIGHED_TASKS)
        weight = 0.5 ** (self.since[hit] / half_life) / np.sqrt(here)
        return self.sum_by_file(score * weight, hit)

    def sum_by_file(
        self,
        worth: Column,
        changes: LongInts | Mask | slice = EVERY_CHANGE,
    ) -> Column:
        """What some changes are worth, for each file."""
        return np.bincount(self.file[changes], worth, len(self.tree)).astype(np.float64)

    def best(self, scores: Column) -> Column:
        """For each file the score of the best task that changed it, less if that changed many."""
        hit, score, here = self.votes(scores, MAX_WEIGHED_TASKS)
        best = np.zeros(len(self.tree))
        np.maximum.at(
            best,
            self.file[hit],
            score / (1.0 + 0.1 * here),
        )
        return best


def score_task_similarity(
    past: TaskHistory,
    task: TaskQuery,
    near: Column,
) -> Column:
    """How similar each past task is: its words (the most similar 1) and, if near, its cosine."""
    words = past.texts.bm25(task.terms)
    share = words / max(float(words.max(initial=0.0)), 1e-9)
    return share + np.where(near >= MIN_COSINE, near, 0.0)


def to_cosine_column(past: TaskHistory, cosines: Mapping[str, float]) -> Column:
    """The cosine of each past task, given by key, that is near; 0 for the others."""
    return np.array(
        [cosines.get(one.key, 0.0) for one in past.done],
        np.float64,
    )


def compute_history_signals(
    past: TaskHistory,
    task: TaskQuery,
    near: Column,
) -> Signals:
    """What past tasks say of each file; `near` has their cosines, 0 where none is known."""
    return {
        **score_history_words(past, task),
        **score_task_cosines(past, near),
        **score_change_times(past),
    }


def score_history_words(past: TaskHistory, task: TaskQuery) -> Signals:
    """Past tasks with the same words, and the words that went with each file."""
    signals = {
        "history": past.of_files.bm25(task.terms),
        "history title": past.of_files.bm25(task.title),
    }
    for name, question in (("tasks", task.terms), ("tasks title", task.title)):
        scores = past.texts.bm25(question)
        most = estimate_highest_score(past, question)
        signals[name] = past.spread(scores)
        signals[f"{name} best"] = past.best(scores / most)
        signals[f"{name} lately"] = past.spread_recent(scores**2, TEXT_HALF_LIFE)
    return {**signals, "went with": score_word_company(past, task)}


def estimate_highest_score(
    past: TaskHistory,
    question: TermCounts,
) -> float:
    """About the score of a past task with all the terms of a question; 1 for an empty one."""
    total = 0.0
    for term, times in question.items():
        holders = len(past.texts.having(term)[0])
        total += min(times, MAX_QUERY_COUNT) * np.log1p(len(past) / (1.0 + holders))
    return total or 1.0


def score_word_company(past: TaskHistory, task: TaskQuery) -> Column:
    """How often each file was changed when a word of the task was said.

    Rare words count more, and what was lately.
    """
    scores = np.zeros(len(past.tree))
    weight = 0.5 ** (past.since / WORD_HALF_LIFE) / np.sqrt(past.width[past.task])
    age = len(past) - np.arange(len(past))
    fresh = 0.5 ** (age / WORD_HALF_LIFE)
    for docs, _, _ in past.texts.matches(task.terms):
        hit = np.isin(past.task, docs)
        changed = past.sum_by_file(weight[hit], hit)
        rarity = np.log1p(len(past) / len(docs))
        # 1.5: a word that was said once says little yet
        scores += rarity * changed / (fresh[docs].sum() + 1.5)
    return scores


def score_task_cosines(past: TaskHistory, near: Column) -> Signals:
    """Files of past tasks that are near; zeros if none is known to be."""
    if not near.any():
        return dict.fromkeys(
            ("meant", "meant best", "meant lately"),
            np.zeros(len(past.tree)),
        )
    floor = np.sort(near)[-min(MAX_VOTING_TASKS, len(near))]
    # those at the floor itself still count, a little
    above = np.maximum(near - floor, 0.0) ** 1.5 + 1e-9 * (near >= floor)
    return {
        "meant": past.spread(above),
        "meant best": past.best(near),
        "meant lately": past.spread_recent(np.maximum(near, 0.0) ** 4, COSINE_HALF_LIFE),
    }


def score_change_times(past: TaskHistory) -> Signals:
    """How often, how lately and with how many others each file was changed."""
    share = 1.0 / past.width[past.task]
    signals = {
        **score_change_ends(past),
        "changes": np.log1p(past.changes),
        "alone": past.sum_by_file(share) / np.maximum(past.changes, 1),
    }
    for half_life in HALF_LIVES:
        weight = 0.5 ** ((past.since - 1.0) / half_life)
        signals[f"changes {half_life:g}"] = past.sum_by_file(weight)
    for window in RECENT_WINDOWS:
        late = past.since <= window
        signals[f"last {window}"] = past.sum_by_file(share[late], late)
    return signals


def score_change_ends(past: TaskHistory) -> Signals:
    """How long ago the last and the first task changed each file; 0 for what nobody changed."""
    size = len(past.tree)
    # the number of the first and of the last task that changed a file
    first = np.full(size, float(len(past)))
    last = np.full(size, -1.0)
    np.minimum.at(first, past.file, past.task)
    np.maximum.at(last, past.file, past.task)
    lately = 1.0 / np.maximum(len(past) - last, 1.0)
    return {
        "lately": np.where(past.changes > 0, lately, 0.0),
        "age": np.log1p(len(past) - first),
    }
