"""Past tasks out of the log: commits of a learned history, and what agents recorded. Pure.

A recorded task is what bears one name, with the files that were edited in it; edits without a task belong to their
conversation. What changed more than fifty files, or none, says nothing about files and is left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

from reverie.code.terms import task_terms
from reverie.lifecycle.experience import COMMIT, FILE, TASK
from reverie.lifecycle.experience.deeds import edited, task_of
from reverie.lifecycle.experience.together import MOST_FILES, Renames, present_name
from reverie.model import Event
from reverie.plan.past import Done

MOST_TEXT = 600          # characters of a task's text
BEFORE = 1e-6            # seconds: a commit's own names are those after it


def done(events: Iterable[Event], moved: Renames) -> list[Done]:
    """The tasks that these commits, tasks and files tell of, oldest first."""
    deeds = sorted(events, key=lambda event: (event.at, event.seq))
    groups: dict[str, list[Event]] = defaultdict(list)
    for event in deeds:
        if event.verb != COMMIT and (name := task_of(event) or event.session):
            groups[name].append(event)
    found = [committed(event, moved) for event in deeds if event.verb == COMMIT and "left_out" not in event.payload]
    found += [recorded(name, some, moved) for name, some in groups.items()]
    return sorted((one for one in found if 0 < len(one.files) <= MOST_FILES), key=lambda one: (one.at, one.key))


def committed(event: Event, moved: Renames) -> Done:
    """A commit as a task."""
    text = str(event.payload.get("message") or "")[:MOST_TEXT]
    return Done(f"{COMMIT} {event.payload.get('commit')}", event.at, text, terms(text), present(
        [(path, event.at) for path in edited(event)], moved))


def recorded(name: str, events: Sequence[Event], moved: Renames) -> Done:
    """What was recorded under one name as a task."""
    told = [name] if any(task_of(event) for event in events) else []
    told += [str(event.payload.get(part) or "") for event in events if event.verb == TASK
             for part in ("summary", "error")]
    text = "\n".join(dict.fromkeys(part for part in told if part))[:MOST_TEXT]
    paths = [(path, event.at - BEFORE) for event in events if event.verb == FILE for path in edited(event)]
    return Done(f"{TASK} {name}", events[-1].at, text, terms(text), present(paths, moved))


def present(paths: Iterable[tuple[str, float]], moved: Renames) -> tuple[str, ...]:
    """Files by their present names, each once."""
    return tuple(dict.fromkeys(present_name(path, at, moved) for path, at in paths))


@lru_cache(maxsize=100_000)
def terms(text: str) -> dict[str, float]:
    """The terms of a text; the same texts come again at every plan."""
    return dict(task_terms(text))
