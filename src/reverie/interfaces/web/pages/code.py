"""Code: files by what is remembered of them, what went wrong there, and what is no longer so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie import Mind
from reverie.activity.co_change import CoChange
from reverie.activity.file_history import FileTouch
from reverie.code.remembered_files import AnchoredMemory, RememberedFile
from reverie.core.errors import Conflict, NotFound
from reverie.interfaces.web.page import (
    Action,
    Done,
    Page,
    View,
    WebRequest,
    last_change,
    quote,
)
from reverie.text.word_diff import DiffPart, diff_words

PER_PAGE = 40
TOUCHES = 20
TOGETHER = 8
# Anchors that are compared with the code as it is, which reads the repository.
MAX_COMPARED = 10


class RememberedFiles(NamedTuple):
    """A page of files."""

    files: Sequence[RememberedFile]
    skip: int
    next: int  # how many the next page leaves out; 0: there is none


def list_files(mind: Mind, asked: WebRequest) -> RememberedFiles:
    """Files, those with trouble first."""
    limit, skip = asked.number("limit", PER_PAGE), asked.number("skip", 0, most=1_000_000)
    found = mind.code.remembered(space=asked.space, limit=limit + 1, skip=skip)
    return RememberedFiles(found[:limit], skip, skip + limit if len(found) > limit else 0)


class StaleCode(NamedTuple):
    """Code that a memory speaks of, then and now."""

    place: str
    notice: str
    parts: Sequence[DiffPart]


class FileMemory(NamedTuple):
    """A memory of a file, with what has become of its code."""

    memory: AnchoredMemory
    stale: Sequence[StaleCode]


class FilePage(NamedTuple):
    """What is known of one file."""

    root: str
    path: str
    memories: Sequence[FileMemory]
    touches: Sequence[FileTouch]
    together: Sequence[CoChange]


def show_file(mind: Mind, asked: WebRequest) -> FilePage:
    """One file."""
    root, path = asked.name("root"), asked.name("path")
    found = mind.code.about(root, path, space=asked.space)
    touches = mind.activity.touched(path, space=asked.space, limit=TOUCHES)
    if not found and not touches:
        raise NotFound(f"Nothing is remembered of {path}")
    memories = [
        FileMemory(one, compare_code(mind, one) if place < MAX_COMPARED else ())
        for place, one in enumerate(found)
    ]
    together = mind.activity.coedited(path, space=asked.space, limit=TOGETHER)
    return FilePage(root, path, memories, touches, together)


def compare_code(mind: Mind, one: AnchoredMemory) -> list[StaleCode]:
    """The anchors that no longer hold, with the code of then and of now."""
    if not one.is_outdated:
        return []
    places = {anchor.location for anchor in one.anchors if anchor.state}
    views = mind.code.anchors(one.memory.id)
    named = [(f"{view.path}:{view.symbol}" if view.symbol else view.path, view) for view in views]
    return [
        StaleCode(place, view.words, diff_words(view.then, view.now))
        for place, view in named
        if place in places
    ]


def confirm_memory(mind: Mind, asked: WebRequest) -> Done:
    """It is still true of the code as it is now."""
    id = asked.path["id"]
    mind.code.confirm(id, by="user", note="looked at in the browser")
    said = f"Still true of the code as it is now: {quote(mind, [id])}."
    return Done(said, last_change(mind, id), details={"id": id})


def correct_memory(mind: Mind, asked: WebRequest) -> Done:
    """New words, which are true of the code as it is now; Conflict if somebody else changed them
    since the form was made.
    """
    id, text = asked.path["id"], asked.text("text").replace("\r\n", "\n")
    with mind.store.transaction():
        before = mind.explain(id).memory.text
        if before.split() != asked.text("was").split():
            raise Conflict(
                "This memory was changed meanwhile, perhaps by an agent. Nothing was overwritten: "
                "look at it again; what you wrote stands below."
            )
        first = mind.store.last_event()
        mind.revise(id, text=text)
        mind.code.confirm(id, by="user", note="corrected in the browser")
        events = [event.seq for event in mind.store.events(after=first)]
    said = f"Corrected, and about the code as it is now: {quote(mind, [id])}."
    return Done(said, events[-1] if events else 0, details={"id": id}, also=events[:-1])


PAGE = Page(
    "code",
    "Code",
    (
        View("/code", list_files, "code.html"),
        View("/code/{root}/{path}", show_file, "code_file.html"),
        Action("/code/confirm/{id}", confirm_memory),
        Action("/code/correct/{id}", correct_memory),
    ),
    place=7,
    key="c",
    styles=("code.css",),
)
