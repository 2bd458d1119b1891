"""Tasks as hooks tell them: each begins at the prompt that work began with, and ends at a commit or
with its session.

What was said before anything was done states no task yet, and what has no words of its own ("go
on") states no other. Events of the log tell all of it, so that the next worker goes on with a task
that is under way.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from reverie.activity import FILE, STARTED, TASK, TOOL
from reverie.activity.activity_events import (
    MAX_LABEL_CHARS,
    ToolRunRecord,
    get_event_task,
    make_tool_payload,
)
from reverie.activity.task_course import (
    ENDED,
    describe_commit,
    describe_course,
    does_work,
    is_commit_command,
)
from reverie.interfaces.hooks.prompt_topic import extract_topic_words
from reverie.privacy.message_redaction import redact_and_shorten
from reverie.text.tokenization import shorten_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from reverie import Mind
    from reverie.core.model import Event
    from reverie.text.host_messages import HostMessage

# Newest runs and files of a session among which those of its task are looked for.
MAX_EVENTS = 2_000
# Newest tasks of a session whose names are known.
MAX_TASKS = 100
COMMITTED = "success"


@dataclass(slots=True)
class SessionTask:
    """The task of a session: stated by a prompt, perhaps begun, perhaps ended."""

    name: str = ""
    is_begun: bool = False
    is_ended: bool = False  # and nothing was done since

    @property
    def is_open(self) -> bool:
        """True while it is worked on."""
        return self.is_begun and not self.is_ended


def resume_task(told: Iterable[Event], said: Iterable[HostMessage]) -> SessionTask:
    """The task of a session from its newest task events and the last messages, both with the
    newest last.
    """
    task = SessionTask()
    for event in told:
        is_ended = event.payload.get("outcome") != STARTED
        task = SessionTask(get_event_task(event), is_begun=True, is_ended=is_ended)
    for message in said:
        if message.role == "user" and not task.is_begun:
            state_task(task, message.text)
    return task


def state_task(task: SessionTask, prompt: str) -> None:
    """Take in a prompt: while nothing is under way, it may state the next task."""
    if task.is_open or not extract_topic_words(prompt):
        return
    task.name = shorten_line(prompt, MAX_LABEL_CHARS)
    task.is_begun = task.is_ended = False


class TaskTracker:
    """Records the tasks of one space's sessions."""

    def __init__(self, mind: Mind) -> None:
        self._mind = mind

    def resume(self, session: str, space: str, said: Iterable[HostMessage]) -> SessionTask:
        """The task of a session as the log tells of it."""
        return resume_task(self._list_told(session, space), said)

    def state(self, task: SessionTask, prompt: str) -> None:
        """Take in a prompt, without what is not to be kept."""
        state_task(task, redact_and_shorten(prompt, self._mind.settings.policy))

    def note_run(
        self, task: SessionTask, run: ToolRunRecord, session: str, space: str
    ) -> ToolRunRecord:
        """The run with the name of the task that it belongs to, which may begin with it."""
        if not task.name or not does_work(make_tool_payload(run)):
            return run._replace(task=task.name) if task.is_begun else run
        if not task.is_begun:
            task.name = self._find_free_name(task.name, session, space)
            task.is_begun = True
            self._record({"task": task.name, "outcome": STARTED}, session, space)
        return run._replace(task=task.name)

    def note_outcome(self, task: SessionTask, run: ToolRunRecord, session: str, space: str) -> None:
        """Take in a run that is recorded: a commit ends the task, other work after it resumes
        it.
        """
        payload = make_tool_payload(run)
        if not task.is_begun or run.ok is False or not does_work(payload):
            return
        command = str(payload.get("command") or "")
        if is_commit_command(command):
            if not task.is_ended:
                more = describe_commit(command, task.name)
                self.end(task, COMMITTED, session, space, more)
        elif task.is_ended and "command" not in payload:
            task.is_ended = False

    def end(
        self,
        task: SessionTask,
        outcome: str,
        session: str,
        space: str,
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """Record how a task that is under way ended; `more` are fields of that event."""
        if not task.is_open:
            return
        # Runs are written by a thread of their own.
        self._mind.activity.events(limit=0)
        done = self._mind.store.events(
            verbs=(TOOL, FILE),
            session=session,
            space=space,
            newest=True,
            limit=MAX_EVENTS,
        )
        course = describe_course(done, task.name)
        self._record({"task": task.name, "outcome": outcome, **course, **more}, session, space)
        task.is_ended = True

    def end_session(self, task: SessionTask, session: str, space: str) -> None:
        """A session is over, and with it what was under way."""
        self.end(task, ENDED, session, space)

    def _find_free_name(self, name: str, session: str, space: str) -> str:
        """The name, with a number if an earlier task of the session has it."""
        known = set(map(get_event_task, self._list_told(session, space)))
        number = 1
        free = name
        while free in known:
            number += 1
            suffix = f" ({number})"
            free = name[: MAX_LABEL_CHARS - len(suffix)] + suffix
        return free

    def _list_told(self, session: str, space: str) -> list[Event]:
        """The newest task events of a session, oldest first."""
        self._mind.activity.events(limit=0)
        told = self._mind.store.events(
            verbs=(TASK,),
            session=session,
            space=space,
            newest=True,
            limit=MAX_TASKS,
        )
        return told[::-1]

    def _record(self, payload: dict[str, Any], session: str, space: str) -> None:
        self._mind.activity.record_course(payload, space, session)
