"""Experience: what tools did is written down, looked up, and learned from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from reverie.activity import COMMIT, FILE, STARTED, TASK, TOOL, VERBS
from reverie.core import clock, config
from reverie.core.model import Event, Filter, Memory, visible_spaces
from reverie.memory.memory_validation import Moment, parse_moment, parse_moment_as_of
from reverie.privacy.redacted_text import redact_short_text
from reverie.runtime.mind.mind_base import MindBase
from reverie.text.argument_checks import check_question, check_text_list, check_whole_number

if TYPE_CHECKING:
    from reverie.activity.activity_events import ToolRunRecord, WorkStatistics
    from reverie.activity.activity_recorder import ActivityRecorder
    from reverie.activity.co_change import CoChange, FileRenames
    from reverie.activity.file_history import FileTouch
    from reverie.activity.git_history import GitImport
    from reverie.activity.remedies import FixSuggestion
    from reverie.activity.workflows import CommandWorkflow

F = TypeVar("F", bound=Callable[..., Any])
MAX_ACTIVITY_EVENTS = 100_000  # newest deeds that statistics and co-edits look at
MAX_LESSONS = 10_000  # newest lessons among which a remedy is looked for
MAX_WORKFLOW_RUNS = 5_000  # newest runs of tools in which workflows are looked for
RENAMES_KEY = "renames"  # stands in the payload of a commit that renamed something


class ActivityVerbs(MindBase):
    """The verbs of work and what it taught."""

    def record_tool(
        self,
        tool: str,
        parameters: Any = None,
        result: Any = None,
        *,
        ok: bool | None = None,
        error: Any = None,
        duration: float | None = None,
        task: str = "",
        session: str = "",
        space: str | None = None,
    ) -> None:
        """Write down a run of a tool: what it was given, what came of it, how long it took in
        seconds.

        Returns at once and never raises: a thread of Reverie's own writes it, without secrets, and
        no more than 4,000 characters of an answer. Without `ok`, it went well unless there is an
        `error`. What could not be written is counted in `unrecorded`. Where memory is switched off
        nothing is written. Tools of coding agents that read or edit one file (Read, Edit, Write, …)
        are recorded as touching it as well.
        """
        from reverie.activity import activity_events as deed

        went = not error if ok is None else ok
        run = deed.ToolRunRecord(tool, parameters, result, went, error, duration, task)
        self._record_run(run, space, session)

    def _record_run(
        self, run: ToolRunRecord, space: str | None, session: str, *, is_redacted: bool = False
    ) -> None:
        """Have a run written; `is_redacted` if the process that met it has taken the secrets out.
        That is said by our own hooks alone, never by whoever calls `record_tool`.
        """
        from reverie.activity.activity_events import make_tool_payload

        self._record_event(
            TOOL, lambda: make_tool_payload(run), space, session, is_redacted=is_redacted
        )

    def recording(
        self,
        tool: str = "",
        parameters: Any = None,
        *,
        task: str = "",
        session: str = "",
        space: str | None = None,
    ) -> ToolRecording:
        """Record whatever runs within, with its duration: as a context manager, or as a decorator
        of a function.

        `with mind.recording("bash", {"command": "make"}) as run:` and, if you like, `run.result =
        …`, `run.ok = False` or `run.error = …`. Or `@mind.recording("search")` before a function,
        an async function or a generator: its arguments are the parameters. An exception makes it a
        failure and goes on its way as it came. Recording never changes what the tool returns or
        raises, whatever goes wrong with the recording.
        """
        return ToolRecording(self, tool, parameters, task, session, space)

    def record_file(
        self,
        path: str,
        operation: str = "edit",
        *,
        lines: Sequence[int] | None = None,
        summary: str = "",
        ok: bool = True,
        context: str = "",
        task: str = "",
        session: str = "",
        space: str | None = None,
    ) -> None:
        """Write down that a file was touched: "read", "edit", "write", "create", "delete" or
        "rename".

        `lines` are the first and the last line, `summary` says in words what changed, `context`
        with what. Paths are best given as the repository has them. Returns at once; BadInput for
        another operation.
        """
        from reverie.activity import activity_events as deed

        payload = deed.make_file_payload(
            to_repository_path(path), operation, lines, summary, ok, task, context
        )
        self._record_event(FILE, lambda: payload, space, session)

    def record_task(
        self,
        task: str,
        outcome: str = STARTED,
        *,
        summary: str = "",
        error: str = "",
        session: str = "",
        space: str | None = None,
    ) -> None:
        """Write down that a piece of work began ("started"), or how it ended: "success", "failure",
        "cancelled", ….

        What is recorded with the same `task` belongs to it. An outcome becomes an episode. Returns
        at once.
        """
        from reverie.activity import activity_events as deed

        told = {
            "task": deed.keep_label_start(check_question(task, "task")),
            "outcome": check_question(outcome, "outcome")[:100],
            "summary": deed.keep_text_ends(summary, deed.MAX_VALUE_CHARS),
            "error": deed.keep_text_ends(error, deed.MAX_ANSWER_CHARS),
        }
        self._record_event(
            TASK, lambda: {name: value for name, value in told.items() if value}, space, session
        )

    @property
    def unrecorded(self) -> tuple[int, str]:
        """How many deeds could not be written, and why the last one could not."""
        return (self._recorder.lost, self._recorder.trouble) if self._recorder else (0, "")

    def deeds(
        self,
        words: Iterable[str] = (),
        *,
        tool: str = "",
        file: str = "",
        task: str = "",
        verbs: Iterable[str] = VERBS,
        since: Moment = None,
        until: Moment = None,
        space: str | None = None,
        limit: int = 20,
    ) -> list[Event]:
        """What was done, newest first: runs of tools, files touched, tasks, commits of a learned
        history.

        Every one of the `words` must occur, whatever its case. `tool`, `file` and `task` are names;
        of a file a part of its path will do. Deeds of the space, above it and below it.
        """
        self._flush()
        from reverie.activity import activity_events as deed

        wanted = (*check_text_list(words, "words"), *filter(None, (tool, file, task)))
        most = max(0, check_whole_number(limit))
        found = (
            self.store.search_events(
                tuple(verbs),
                space=self._resolve_space(space),
                containing=wanted,
                since=parse_moment(since, "since"),
                until=parse_moment_as_of(until, "until"),
                limit=MAX_ACTIVITY_EVENTS if tool or file or task else most,
            )
            if most
            else []
        )
        return [
            event
            for event in found
            if deed.matches_activity(event, tool, deed.normalize_event_path(file), task)
        ][:most]

    def touched(self, path: str, *, space: str | None = None, limit: int = 20) -> list[FileTouch]:
        """The history of a file, newest first: who touched it when, with what, and what broke.

        What was done to it, commits that changed it, commands that name it, errors that name it;
        under its former names too. `broke` names commands that had gone well before a change and
        failed next, in the same conversation. The path is that within the repository, or the end of
        it.
        """
        from reverie.activity import file_history, remedies

        self._flush()
        home, most = self._resolve_space(space), max(0, check_whole_number(limit))
        names = self._file_names(path, home)
        found = {
            event.seq: event
            for name in names
            for event in self.store.search_events(
                (TOOL, FILE, COMMIT), space=home, containing=[name], limit=MAX_ACTIVITY_EVENTS
            )
        }
        told = file_history.build_file_history(names, found.values())[:most]
        if not told:
            return []
        runs = self.store.search_events(
            (TOOL,),
            space=home,
            since=told[-1].at - remedies.MAX_SECONDS_BETWEEN,
            until=told[0].at + remedies.MAX_SECONDS_BETWEEN,
            limit=MAX_ACTIVITY_EVENTS,
        )
        return file_history.add_broken_commands(told, runs)

    def _file_names(self, path: str, home: str) -> set[str]:
        """What a file is called now and was called before, as far as the log knows."""
        from reverie.activity.co_change import list_former_paths

        return list_former_paths(
            to_repository_path(check_question(path, "path")), self._renames(home)
        )

    def _renames(self, home: str) -> FileRenames:
        """What commits renamed."""
        from reverie.activity.co_change import collect_renames

        return collect_renames(
            self.store.search_events(
                (COMMIT,), space=home, containing=[RENAMES_KEY], limit=MAX_ACTIVITY_EVENTS
            )
        )

    def tool_stats(self, days: float = 7.0, *, space: str | None = None) -> WorkStatistics:
        """How each tool did in the last days: runs, success rate, median and 95th percentile of the
        seconds it took;

        and how often files were read again and errors met again. The newest 100,000 deeds are
        looked at.
        """
        self._flush()
        from reverie.activity import activity_events as deed

        since = self._now() - max(0.0, float(days)) * 86_400.0
        return deed.measure_work(
            self.store.search_events(
                (TOOL, FILE),
                space=self._resolve_space(space),
                since=since,
                limit=MAX_ACTIVITY_EVENTS,
            )
        )

    def suggest_fix(
        self, error: str, *, space: str | None = None, limit: int = 3
    ) -> list[FixSuggestion]:
        """What once made this error go away, the likeliest first: what was run and changed, when,
        how often it worked.

        `error` may be all that a command printed. Only remedies of the same error count, whatever
        its paths, numbers and times; where none is known, or it failed more often than it worked,
        the list is empty. `feedback` on the memory of a suggestion, and `forget`, work as for any
        other.
        """
        from reverie.activity import remedies

        self._flush()
        told = redact_short_text(check_question(error, "error"), self._policy.masking)
        return remedies.find_fix_suggestions(told, self._browse_lessons(space, ""))[
            : max(0, check_whole_number(limit))
        ]

    def known_fixes(self, *, space: str | None = None, limit: int = 20) -> list[FixSuggestion]:
        """What made errors go away so far, with its record: of the errors that were met most often
        first.
        """
        from reverie.activity import remedies

        return remedies.rank_known_remedies(self._browse_lessons(space, remedies.REMEDY))[
            : max(0, check_whole_number(limit))
        ]

    def _browse_lessons(self, space: str | None, having: str) -> list[Memory]:
        """The newest lessons that can be seen from a space."""
        return self.store.browse(
            Filter(
                spaces=visible_spaces(self._resolve_space(space)),
                kinds=("learning",),
                having=having,
                limit=MAX_LESSONS,
            )
        )

    def coedited(self, path: str, *, space: str | None = None, limit: int = 10) -> list[CoChange]:
        """Files that change together with this one, those that do it most first, as far as the log
        knows.

        Together is: in one commit, in one task, or within 300 seconds; on three occasions at least.
        Old habits count less, each occasion half after 180 days. The path is that within the
        repository, as git has it.
        """
        self._flush()
        wanted = to_repository_path(check_question(path, "path"))
        return self._changed_with([wanted], self._resolve_space(space))[0][
            : max(0, check_whole_number(limit))
        ]

    def _changed_with(self, paths: Sequence[str], home: str) -> list[list[CoChange]]:
        """For each of some files, those that change together with it."""
        from reverie.activity.co_change import find_co_changes, list_file_changes, list_former_paths

        moved, now = self._renames(home), self._now()
        edits = (
            self.store.search_events((FILE,), space=home, limit=MAX_ACTIVITY_EVENTS)
            if paths
            else []
        )
        found: list[list[CoChange]] = []
        for path in paths:
            commits = {
                event.seq: event
                for name in list_former_paths(path, moved)
                for event in self.store.search_events(
                    (COMMIT,), space=home, containing=[name], limit=MAX_ACTIVITY_EVENTS
                )
            }
            found.append(
                find_co_changes(path, list_file_changes([*commits.values(), *edits], moved), now)
            )
        return found

    def workflows(self, *, space: str | None = None, limit: int = 10) -> list[CommandWorkflow]:
        """Commands that were run one after the other in at least three tasks or conversations, the
        most frequent first.

        When a task ends, new ones become procedures that wait in `pending`; `curate(id,
        "validated")` approves one.
        """
        from reverie.activity.workflows import find_workflows

        self._flush()
        most = max(0, check_whole_number(limit))
        return find_workflows(
            self.store.search_events(
                (TOOL,), space=self._resolve_space(space), limit=MAX_WORKFLOW_RUNS
            )
        )[:most]

    def learn_git(self, path: str | Path = "", *, space: str | None = None) -> GitImport:
        """Take in the history of the repository at `path` (default: the working directory): each
        commit is a deed.

        The next time only what is new is taken in. Merges are passed over; of a commit of more than
        50 files only renames are kept. Messages are kept without secrets. Nothing of the repository
        is run. BadInput where there is no history.
        """
        from reverie.activity.git_history import import_git_history

        return import_git_history(
            self.work,
            config.working_directory() / Path(path).expanduser(),
            self._writable_space(space),
        )

    def _record_event(
        self,
        verb: str,
        payload: Callable[[], dict[str, Any]],
        space: str | None,
        session: str,
        *,
        is_redacted: bool = False,
    ) -> None:
        """Have a deed written. Whatever goes wrong is counted, and nobody's trouble."""
        from reverie.activity import activity_events as deed

        recorder = self._get_recorder()
        try:
            home = self._resolve_space(space)
            if self._current_settings.is_off(home, session):
                return
            event = Event(
                verb=verb,
                space=home,
                at=self._now(),
                session=redact_short_text(session, self._policy),
                payload=payload(),
            )
            recorder.enqueue(event, is_redacted=is_redacted)
            if verb == TOOL and (file := deed.derive_file_payload(event.payload)) is not None:
                recorder.enqueue(
                    event._replace(
                        verb=FILE, payload={**file, "path": to_repository_path(file["path"])}
                    ),
                    is_redacted=is_redacted,
                )
        except (
            Exception
        ) as err:  # a tool must not fail because nobody could write down that it ran (CC-75)
            recorder.lost, recorder.trouble = recorder.lost + 1, f"{type(err).__name__}: {err}"

    def _get_recorder(self) -> ActivityRecorder:
        if self._recorder is None:
            from reverie.activity.activity_recorder import ActivityRecorder

            self._recorder = ActivityRecorder(self.store.append, lambda: self._policy)
        return self._recorder


def to_repository_path(path: str) -> str:
    """A path as the repository of the working directory has it, if it lies in there."""
    from reverie.activity import activity_events as deed

    root = f"{config.find_project_root(config.working_directory()).as_posix()}/"
    return deed.normalize_event_path(path).removeprefix(root) if isinstance(path, str) else path


class ToolRecording:
    """One run of a tool that is being recorded, or, as a decorator, all runs of a function."""

    def __init__(
        self,
        mind: ActivityVerbs,
        tool: str,
        parameters: Any,
        task: str,
        session: str,
        space: str | None,
    ) -> None:
        self._mind, self.tool, self.parameters = mind, tool, parameters
        self._told = {"task": task, "session": session, "space": space}
        self.ok: bool | None = None
        self.result: Any = None
        self.error: Any = None
        self._began = clock.ticks()

    def __enter__(self) -> Self:
        self._began = clock.ticks()
        return self

    def __exit__(self, _kind: object, raised: BaseException | None, _trace: object) -> None:
        duration = clock.ticks() - self._began
        error = (
            self.error
            if raised is None or isinstance(raised, GeneratorExit)
            else (self.error or describe_exception(raised))
        )
        self._mind.record_tool(
            self.tool,
            self.parameters,
            self.result,
            ok=self.ok,
            error=error,
            duration=duration,
            **self._told,  # type: ignore[arg-type]
        )

    def __call__(self, function: F) -> F:
        """The function, recorded each time that it runs."""
        import inspect

        if isinstance(function, (classmethod, staticmethod)):
            return type(function)(self(function.__func__))
        name = self.tool or getattr(function, "__name__", "tool")
        call = getattr(function, "__call__", function)  # noqa: B004 - an object whose call is async

        def run(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolRecording:
            return ToolRecording(
                self._mind,
                name,
                {"args": args, **kwargs} if args else kwargs,
                **self._told,  # type: ignore[arg-type]
            )

        if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call):

            @wraps(function)
            async def awaited(*args: Any, **kwargs: Any) -> Any:
                with run(args, kwargs) as one:
                    one.result = result = await function(*args, **kwargs)
                return result

            return awaited  # type: ignore[return-value]
        if inspect.isasyncgenfunction(function):

            @wraps(function)
            async def streamed(*args: Any, **kwargs: Any) -> Any:
                with run(args, kwargs), suppress(StopAsyncIteration):
                    items = function(*args, **kwargs)
                    item = await anext(items)
                    while True:  # `yield from`, which async generators have not
                        try:
                            sent = yield item
                        except GeneratorExit:
                            await items.aclose()
                            raise
                        except BaseException as err:
                            item = await items.athrow(err)
                        else:
                            item = await items.asend(sent)

            return streamed  # type: ignore[return-value]
        if inspect.isgeneratorfunction(function):

            @wraps(function)
            def yielded(*args: Any, **kwargs: Any) -> Any:
                with run(args, kwargs) as one:
                    one.result = result = yield from function(*args, **kwargs)
                return result

            return yielded  # type: ignore[return-value]

        @wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with run(args, kwargs) as one:
                one.result = result = function(*args, **kwargs)
            return result

        return called  # type: ignore[return-value]


def describe_exception(raised: BaseException) -> str:
    """An exception as an error's text; one that cannot tell itself is its name."""
    try:
        return f"{type(raised).__name__}: {raised}"
    except Exception:
        return type(raised).__name__
