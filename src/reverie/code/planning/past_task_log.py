"""Past tasks out of the log: commits of a learned history, and what agents recorded. Pure.

A recorded task is what bears one name, with the files that were edited in it; edits without a task
belong to their conversation. An edit and the first commit of that file after it, within a day, are
one change (`activity.co_change`). What changed more than fifty files, or none, says nothing about
files and is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from reverie.activity import COMMIT, FILE, TASK
from reverie.activity.activity_events import get_event_task, list_changed_paths
from reverie.activity.co_change import (
    MAX_FILES_PER_CHANGE,
    FileChange,
    FileRenames,
    link_edits_to_commits,
    resolve_present_path,
)
from reverie.code.code_terms import tokenize_task
from reverie.code.planning.past_tasks import PastTask
from reverie.core.model import Event

# characters of a task's text
MAX_TASK_CHARS = 600
# …of a commit's with those of the tasks that it ended
MAX_JOINED_CHARS = 1_200
# seconds: a commit's own names are those after it
JUST_BEFORE = 1e-6


def list_past_tasks(events: Iterable[Event], moved: FileRenames) -> list[PastTask]:
    """The tasks that these commits, tasks and files tell of, oldest first."""
    commits: list[PastTask] = []
    by_name: dict[str, list[Event]] = defaultdict(list)
    for event in sorted(
        events,
        key=lambda event: (event.at, event.seq),
    ):
        name = get_event_task(event) or event.session
        if event.verb == COMMIT:
            if "left_out" not in event.payload:
                commits.append(task_from_commit(event, moved))
        elif name:
            by_name[name].append(event)
    # a commit of too many files must not take their edits from the tasks
    commits = list(filter(is_telling_task, commits))
    tasks: list[PastTask] = []
    edits: list[FileChange] = []
    for name, recorded in by_name.items():
        tasks.append(task_from_record(name, recorded))
        edits += list_task_edits(name, recorded, moved)
    found = filter(is_telling_task, attribute_changes(commits, tasks, edits))
    return sorted(found, key=lambda one: (one.at, one.key))


def is_telling_task(one: PastTask) -> bool:
    """True if a task says something about files."""
    return 0 < len(one.files) <= MAX_FILES_PER_CHANGE


def task_from_commit(event: Event, moved: FileRenames) -> PastTask:
    """A commit as a task."""
    text = str(event.payload.get("message") or "")[:MAX_TASK_CHARS]
    paths = list_changed_paths(event)
    files = dict.fromkeys(resolve_present_path(path, event.at, moved) for path in paths)
    key = f"{COMMIT} {event.payload.get('commit')}"
    return PastTask(key, event.at, text, tokenize_task_cached(text), tuple(files))


def task_from_record(name: str, events: Sequence[Event]) -> PastTask:
    """The task that was recorded under one name, without its files."""
    # a conversation's id is no text, a task's name is
    parts = [name] if any(map(get_event_task, events)) else []
    for event in events:
        if event.verb == TASK:
            parts += [str(event.payload.get(part) or "") for part in ("summary", "error")]
    text = "\n".join(dict.fromkeys(filter(None, parts)))[:MAX_TASK_CHARS]
    return PastTask(
        f"{TASK} {name}",
        events[-1].at,
        text,
        tokenize_task_cached(text),
        (),
    )


def list_task_edits(
    name: str,
    events: Iterable[Event],
    moved: FileRenames,
) -> list[FileChange]:
    """The files that were edited under one name, by their present names."""
    edits = []
    for event in events:
        if event.verb == FILE:
            for path in list_changed_paths(event):
                present = resolve_present_path(path, event.at - JUST_BEFORE, moved)
                edits.append(FileChange(present, event.at, f"{TASK} {name}"))
    return edits


def attribute_changes(
    commits: Sequence[PastTask],
    tasks: Sequence[PastTask],
    edits: Sequence[FileChange],
) -> Iterator[PastTask]:
    """Commits and tasks, with each change in one of them.

    What was committed is the commit's, which also says what its tasks were called; the rest is the
    task's.
    """
    changes = [FileChange(path, one.at, one.key) for one in commits for path in one.files]
    changes += edits
    commit_of = dict(link_edits_to_commits(changes))
    text_of = {one.key: one.text for one in tasks}
    texts: dict[str, dict[str, None]] = defaultdict(dict)
    files: dict[str, dict[str, None]] = defaultdict(dict)
    for place, change in enumerate(changes):
        if place in commit_of:
            commit = changes[commit_of[place]].group
            texts[commit][text_of[change.group]] = None
        else:
            files[change.group][change.path] = None
    for one in commits:
        text = "\n".join(filter(None, (one.text, *texts[one.key])))[:MAX_JOINED_CHARS]
        yield one._replace(text=text, terms=tokenize_task_cached(text))
    for one in tasks:
        yield one._replace(files=tuple(files[one.key]))


@lru_cache(maxsize=100_000)
def tokenize_task_cached(text: str) -> dict[str, float]:
    """The terms of a text; the same texts come again at every plan."""
    return dict(tokenize_task(text))
