"""Past tasks out of the log: commits of a learned history, and what agents recorded. Pure.

A recorded task is what bears one name, with the files that were edited in it; edits without a task
belong to their conversation. An edit and the first commit of that file after it, within a day, are
one change (`lifecycle.experience.together`). What changed more than fifty files, or none, says
nothing about files and is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from reverie.activity import COMMIT, FILE, TASK
from reverie.activity.activity_events import edited, task_of
from reverie.activity.co_change import MOST_FILES, Renames, Touch, in_commits, present_name
from reverie.code.code_terms import task_terms
from reverie.code.planning.past_tasks import Done
from reverie.core.model import Event

MOST_TEXT = 600  # characters of a task's text
MOST_JOINED = 1_200  # …of a commit's with those of the tasks that it ended
BEFORE = 1e-6  # seconds: a commit's own names are those after it


def done(events: Iterable[Event], moved: Renames) -> list[Done]:
    """The tasks that these commits, tasks and files tell of, oldest first."""
    deeds = sorted(events, key=lambda event: (event.at, event.seq))
    groups: dict[str, list[Event]] = defaultdict(list)
    for event in deeds:
        if event.verb != COMMIT and (name := task_of(event) or event.session):
            groups[name].append(event)
    commits = [
        one
        for event in deeds
        if event.verb == COMMIT
        and "left_out" not in event.payload
        and telling(one := committed(event, moved))
    ]
    tasks = [recorded(name, some) for name, some in groups.items()]
    edits = [touch for name, some in groups.items() for touch in edits_of(name, some, moved)]
    found = told_once(commits, tasks, edits)
    return sorted(filter(telling, found), key=lambda one: (one.at, one.key))


def telling(one: Done) -> bool:
    """Whether a task says something about files."""
    return 0 < len(one.files) <= MOST_FILES


def committed(event: Event, moved: Renames) -> Done:
    """A commit as a task."""
    text = str(event.payload.get("message") or "")[:MOST_TEXT]
    return Done(
        f"{COMMIT} {event.payload.get('commit')}",
        event.at,
        text,
        terms(text),
        present([(path, event.at) for path in edited(event)], moved),
    )


def recorded(name: str, events: Sequence[Event]) -> Done:
    """What was recorded under one name as a task, without its files."""
    told = [name] if any(task_of(event) for event in events) else []
    told += [
        str(event.payload.get(part) or "")
        for event in events
        if event.verb == TASK
        for part in ("summary", "error")
    ]
    text = "\n".join(dict.fromkeys(part for part in told if part))[:MOST_TEXT]
    return Done(f"{TASK} {name}", events[-1].at, text, terms(text), ())


def edits_of(name: str, events: Iterable[Event], moved: Renames) -> list[Touch]:
    """The files that were edited under one name, by their present names."""
    return [
        Touch(present_name(path, event.at - BEFORE, moved), event.at, f"{TASK} {name}")
        for event in events
        if event.verb == FILE
        for path in edited(event)
    ]


def told_once(
    commits: Sequence[Done], tasks: Sequence[Done], edits: Sequence[Touch]
) -> Iterator[Done]:
    """Commits and tasks, with each change in one of them: what was committed is the commit's, which
    says what its tasks were called, too; the rest is the task's.
    """
    touched = [*(Touch(path, one.at, one.key) for one in commits for path in one.files), *edits]
    commit_of = dict(in_commits(touched))
    texts: dict[str, dict[str, None]] = defaultdict(dict)
    files: dict[str, dict[str, None]] = defaultdict(dict)
    by_key = {one.key: one.text for one in tasks}
    for place, touch in enumerate(touched):
        if place in commit_of:
            texts[touched[commit_of[place]].group][by_key[touch.group]] = None
        else:
            files[touch.group][touch.path] = None
    for one in commits:
        text = "\n".join(filter(None, (one.text, *texts[one.key])))[:MOST_JOINED]
        yield one._replace(text=text, terms=terms(text))
    for one in tasks:
        yield one._replace(files=tuple(files[one.key]))


def present(paths: Iterable[tuple[str, float]], moved: Renames) -> tuple[str, ...]:
    """Files by their present names, each once."""
    return tuple(dict.fromkeys(present_name(path, at, moved) for path, at in paths))


@lru_cache(maxsize=100_000)
def terms(text: str) -> dict[str, float]:
    """The terms of a text; the same texts come again at every plan."""
    return dict(task_terms(text))
