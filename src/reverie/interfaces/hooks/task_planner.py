"""The thread of the worker that says which files a prompt's task is about, where that is sure.

What it has to say waits in a file of the session (`spool`), for the prompt or the first tool of
that turn: nobody waits for it. It brings the index of the code and the history of the repository up
to date first. A repository that nobody has indexed yet is indexed here, if it is not too large.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, NamedTuple

from reverie.activity import FILE
from reverie.activity.activity_events import normalize_event_path
from reverie.context_window.injection_history import FRESH_SECONDS
from reverie.interfaces.hooks.hook_event import HookBlock
from reverie.interfaces.hooks.prompt_topic import collect_topic_words, extract_topic_words
from reverie.interfaces.hooks.spool import HookFiles, write_json_object

if TYPE_CHECKING:
    from collections.abc import Callable

    from reverie import Mind
    from reverie.code.planning.task_brief import TaskBrief

# The event that tells which files a session was given.
PLANNED = "planned"
# Newest of a session's files, and of what it was given, that count as known to it.
MAX_KNOWN_FILES = 200


class PlanRequest(NamedTuple):
    """A prompt whose task is wanted to be planned."""

    session: str
    space: str
    root: str  # the work tree
    text: str
    asked: float  # when the prompt came


class Interrupted(Exception):
    """The worker ends."""


class TaskPlanner:
    """Plans the newest prompt of each session, one after the other."""

    def __init__(self, mind: Mind, files: HookFiles, now: Callable[[], float]) -> None:
        self._mind, self._files, self._now = mind, files, now
        self._changed = threading.Condition()
        self._waiting: dict[str, PlanRequest] = {}
        self._is_busy = False
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._refused: set[str] = set()  # work trees that cannot be read, or are too large

    def request(self, wanted: PlanRequest) -> None:
        """Have a prompt planned, instead of an earlier one of its session. Never waits."""
        if not self._may_plan(wanted):
            return
        with self._changed:
            self._waiting[wanted.session] = wanted
            if self._thread is None and not self._is_closed:
                self._thread = threading.Thread(
                    target=self._run,
                    name="reverie-plans",
                    daemon=True,
                )
                self._thread.start()
            self._changed.notify_all()

    def is_busy(self) -> bool:
        """True while something is being planned, or waits for it."""
        return self._is_busy or bool(self._waiting)

    def wait(self, seconds: float) -> bool:
        """Wait until all is planned; False if that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.is_busy(), seconds)

    def close(self) -> None:
        """Let go of what waits, and end the thread at its next step."""
        with self._changed:
            self._is_closed = True
            self._waiting.clear()
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()

    def _may_plan(self, wanted: PlanRequest) -> bool:
        """True if a prompt has words to go by, in a work tree that may be one whose code can be
        read.
        """
        is_off = not self._mind.settings.auto_plan
        is_refused = is_off or not wanted.root or wanted.root in self._refused
        return not is_refused and bool(extract_topic_words(wanted.text))

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
                if self._is_closed:
                    return
                wanted = self._waiting.pop(next(iter(self._waiting)))
                self._is_busy = True
            try:
                self._plan(wanted)
            except Interrupted:
                pass
            # Whatever it is, the next prompt may fare better.
            except Exception as err:
                self._files.log_trouble(f"nothing was planned: {type(err).__name__}: {err}")
            finally:
                with self._changed:
                    self._is_busy = False
                    self._changed.notify_all()

    def _plan(self, wanted: PlanRequest) -> None:
        """Write what there is to say of a prompt's task, if it says something new to its
        session.
        """
        settings = self._mind.settings
        if settings.is_off(wanted.space, wanted.session) or settings.is_held_out(wanted.session):
            return
        if not self._mind.planner.refresh(wanted.root, wanted.space, self._go_on):
            self._refused.add(wanted.root)
            return
        brief = self._mind.planner.brief(wanted.text, root=wanted.root, space=wanted.space)
        # What it has at hand already, the agent need not be told.
        if not brief.files or brief.files[0].path in self._list_known_files(wanted):
            return
        write_json_object(
            self._files.session_file(wanted.session, "plan"),
            self._to_block(brief, wanted)._asdict(),
        )

    def _go_on(self) -> None:
        """Called while a repository is read."""
        if self._is_closed:
            raise Interrupted

    def _to_block(self, brief: TaskBrief, wanted: PlanRequest) -> HookBlock:
        paths = [file.path for file in brief.files]
        return HookBlock(
            text=brief.text,
            ids=[*paths, *brief.tests],
            until=self._now() + FRESH_SECONDS,
            about=collect_topic_words(wanted.text, *paths),
            asked=wanted.asked,
        )

    def _list_known_files(self, wanted: PlanRequest) -> set[str]:
        """The files that a session has touched or was given."""
        self._mind.activity.events(limit=0)
        told = self._mind.store.events(
            verbs=(FILE, PLANNED),
            session=wanted.session,
            space=wanted.space,
            newest=True,
            limit=MAX_KNOWN_FILES,
        )
        paths: set[str] = set()
        for event in told:
            given = event.payload.get("files") if event.verb == PLANNED else None
            found = given if isinstance(given, list) else [event.payload.get("path")]
            paths.update(normalize_event_path(str(path)) for path in found if path)
        return paths
