"""What is said of a task unasked: the few files that it is sure enough about, their tests, and the
past tasks like it that changed them; nothing if no file is sure enough. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from reverie.code.planning.past_tasks import estimate_highest_score
from reverie.code.planning.plan_answer import FilePart, render_part, render_past_task
from reverie.code.planning.plan_reasons import explain_file
from reverie.code.planning.sure_files import SureFile, is_test_path
from reverie.context_window import HEAD
from reverie.text.escaping import escape_line
from reverie.text.injection_fence import FENCE_END
from reverie.text.token_counts import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reverie.code.planning import RankedFiles
    from reverie.code.planning.past_tasks import PastTask

# What it may cost, with its fence.
MAX_TOKENS = 300
MAX_TESTS = 2
MAX_PAST = 2
# Symbols of one file, and reasons for it.
MAX_PARTS = 2
MAX_REASONS = 2
# Past tasks that must have changed a test with a file, unless it has the file's name.
MIN_TOGETHER = 2
# How much of this task's words, by rarity, a past task that is named has.
MIN_SHARED = 0.25
HEADING = "This task is likely about (by the repository's code and its past):"


class BriefFile(NamedTuple):
    """A file to begin with."""

    path: str
    chance: float  # that the task changes it
    parts: tuple[FilePart, ...]
    why: tuple[str, ...]


class TaskBrief(NamedTuple):
    """What is said of a task unasked. All lists are best first."""

    files: tuple[BriefFile, ...] = ()
    others: tuple[str, ...] = ()  # likeliest after those, without being sure
    tests: tuple[str, ...] = ()
    past: tuple[PastTask, ...] = ()

    @property
    def text(self) -> str:
        """The brief for a model to read, fenced; empty if there is nothing to say."""
        return "\n".join((HEAD, *render_task_brief(self), FENCE_END)) if self.files else ""

    def within(self, most: int) -> TaskBrief:
        """The brief cut to a number of tokens: past tasks go first, sure files last."""
        brief = self
        for part in ("past", "others", "tests", "files"):
            while getattr(brief, part) and estimate_tokens(brief.text) > most:
                brief = brief._replace(**{part: getattr(brief, part)[:-1]})
        return brief if brief.files else TaskBrief()


def make_task_brief(
    found: RankedFiles,
    sure: Iterable[SureFile],
    others: Iterable[int],
    parts: Mapping[str, tuple[FilePart, ...]],
) -> TaskBrief:
    """The brief on the files that are sure enough; `others` are the places of the next."""
    files = []
    for place, chance in sure:
        path = found.tree.paths[place]
        why = explain_file(found, place)[:MAX_REASONS]
        files.append(BriefFile(path, chance, parts.get(path, ())[:MAX_PARTS], why))
    if not files:
        return TaskBrief()
    places = [found.tree.place[file.path] for file in files]
    return TaskBrief(
        tuple(files),
        tuple(found.tree.paths[place] for place in others),
        find_their_tests(found, places),
        find_their_tasks(found, places),
    ).within(MAX_TOKENS)


def find_their_tests(found: RankedFiles, places: list[int]) -> tuple[str, ...]:
    """The likeliest tests of some files: changed with one of them before, or named after it."""
    past, paths = found.past, found.tree.paths
    theirs = past.task[np.isin(past.file, places)]
    together = np.bincount(past.file[np.isin(past.task, theirs)], minlength=len(paths))
    bases = {paths[place].rpartition("/")[2].partition(".")[0].strip("_") for place in places}
    tests = [
        place
        for place, path in enumerate(paths)
        if is_test_path(path) and (together[place] >= MIN_TOGETHER or is_named_after(path, bases))
    ]
    tests.sort(key=lambda place: (-found.likely[place], paths[place]))
    return tuple(paths[place] for place in tests[:MAX_TESTS])


def is_named_after(path: str, bases: set[str]) -> bool:
    """True if a test has the name of one of these files in its own."""
    name = path.rpartition("/")[2].partition(".")[0]
    plain = name.removeprefix("test_").removesuffix("_test").removesuffix("_spec")
    return plain in bases


def find_their_tasks(found: RankedFiles, places: list[int]) -> tuple[PastTask, ...]:
    """The past tasks like this one that changed one of these files, the most similar first."""
    past = found.past
    if not past.done:
        return ()
    terms = found.task.terms
    shared = past.texts.bm25(terms) / estimate_highest_score(past, terms)
    theirs = sorted(set(past.task[np.isin(past.file, places)].tolist()))
    like = [task for task in theirs if shared[task] >= MIN_SHARED]
    like.sort(key=lambda task: (-shared[task], -past.done[task].at))
    return tuple(past.done[task] for task in like[:MAX_PAST])


def render_task_brief(brief: TaskBrief) -> Iterable[str]:
    """The brief in lines, without its fence."""
    yield HEADING
    for file in brief.files:
        parts = ", ".join(map(render_part, file.parts))
        path = escape_line(file.path)
        yield f"- {path}: {escape_line(parts)}" if parts else f"- {path}"
        if file.why:
            yield f"  {escape_line('; '.join(file.why))}"
    if brief.others:
        yield f"Less likely: {escape_line(', '.join(brief.others))}"
    if brief.tests:
        yield f"Tests: {escape_line(', '.join(brief.tests))}"
    if brief.past:
        yield "Done before:"
        yield from map(render_past_task, brief.past)
