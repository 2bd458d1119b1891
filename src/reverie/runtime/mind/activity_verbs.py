"""Verbs that record what tools did, look it up, and tell what it has taught.

Always true: recording never waits and never raises because of memory, and changes nothing about
what a tool returns or raises. `unrecorded` counts what could not be written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from reverie.activity import COMMIT, FILE, STARTED, TASK, TOOL, VERBS
from reverie.core import config
from reverie.core.kinds import LEARNING
from reverie.core.model import Event, Filter, Memory, index_memories, is_within
from reverie.memory.memory_validation import Moment, parse_moment, parse_moment_as_of
from reverie.privacy.redacted_text import redact_short_text
from reverie.runtime.mind.mind_context import VerbGroup, check_limit
from reverie.runtime.mind.tool_recording import ToolRecording
from reverie.runtime.verb_options import EventFilter, FileTouchFields, RunOutcome
from reverie.text.argument_checks import check_options, check_question, check_text_list

if TYPE_CHECKING:
    from reverie.activity.activity_events import ToolRunRecord, WorkStatistics
    from reverie.activity.activity_recorder import ActivityRecorder
    from reverie.activity.co_change import CoChange, FileRenames
    from reverie.activity.file_history import FileTouch
    from reverie.activity.git_history import GitImport
    from reverie.activity.learned_patterns import LearnedPattern
    from reverie.activity.remedies import FixSuggestion
    from reverie.activity.turn_feed import FedTurn
    from reverie.activity.workflows import CommandWorkflow
    from reverie.storage.analytics import LogAnalysis, QueryResult

# Newest events that statistics and co-changes look at; what is older counts little anyway, for a
# habit counts half after 180 days.
MAX_ACTIVITY_EVENTS = 100_000
# Newest lessons among which a remedy is looked for.
MAX_LESSONS = 10_000
# Newest tool runs in which workflows are looked for.
MAX_WORKFLOW_RUNS = 5_000
# Outcomes are words of the caller's own, so only their length is bounded.
MAX_OUTCOME_CHARS = 100
SECONDS_PER_DAY = 86_400.0
# Stands in the payload of a commit that renamed something, and so finds it among all commits.
RENAMES_KEY = "renames"


class EventQuery(NamedTuple):
    """Which recorded events are asked for; the fields of `EventFilter` with their defaults."""

    tool: str = ""
    file: str = ""
    task: str = ""
    verbs: Iterable[str] = VERBS
    since: Moment = None
    until: Moment = None


class ActivityVerbs(VerbGroup):
    """`mind.activity`: what tools did, what it taught, and SQL over all of it."""

    def record_tool(
        self,
        tool: str,
        parameters: Any = None,
        result: Any = None,
        *,
        session: str = "",
        space: str | None = None,
        **outcome: Unpack[RunOutcome],
    ) -> None:
        """Record a run of a tool: its parameters, its result, and how long it took in seconds.

        Returns at once and never raises: a thread of Reverie's own writes it, without secrets, and
        no more than 4,000 characters of an answer. Without `ok`, it went well unless there is an
        `error`. What could not be written is counted in `unrecorded`. Where memory is switched off
        nothing is written. Tools of coding agents that read or edit one file (Read, Edit, Write, …)
        are recorded as touching it as well.
        """
        from reverie.activity.activity_events import ToolRunRecord

        check_options("record_tool", outcome, RunOutcome)
        given: dict[str, Any] = {**outcome}
        ok = given.pop("ok", None)
        run = ToolRunRecord(tool, parameters, result, **given)
        self.record_run(
            run._replace(ok=not run.error if ok is None else ok),
            space,
            session,
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
        return ToolRecording(self.record_tool, tool, parameters, task, session, space)

    def record_file(
        self,
        path: str,
        operation: str = "edit",
        *,
        session: str = "",
        space: str | None = None,
        **touch: Unpack[FileTouchFields],
    ) -> None:
        """Record that a file was touched: "read", "edit", "write", "create", "delete" or
        "rename".

        `lines` are the first and the last line, `summary` says in words what changed, `context`
        with what. Paths are best given as the repository has them. Returns at once; BadInput for
        another operation.
        """
        from reverie.activity import activity_events

        # Built here, not in the recorder, so that a wrong operation is the caller's error.
        check_options("record_file", touch, FileTouchFields)
        payload = activity_events.make_file_payload(to_repository_path(path), operation, **touch)
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
        """Record that a task began ("started"), or how it ended: "success", "failure",
        "cancelled", ….

        What is recorded with the same `task` belongs to it. An outcome becomes an episode. Returns
        at once.
        """
        from reverie.activity import activity_events

        fields = {
            "task": activity_events.keep_label_start(check_question(task, "task")),
            "outcome": check_question(outcome, "outcome")[:MAX_OUTCOME_CHARS],
            "summary": activity_events.keep_text_ends(summary, activity_events.MAX_VALUE_CHARS),
            "error": activity_events.keep_text_ends(error, activity_events.MAX_ANSWER_CHARS),
        }
        payload = {name: value for name, value in fields.items() if value}
        self._record_event(TASK, lambda: payload, space, session)

    @property
    def unrecorded(self) -> tuple[int, str]:
        """How many events could not be recorded, and why the last one could not."""
        recorder = self._context.recorder
        return (recorder.lost, recorder.trouble) if recorder else (0, "")

    def events(
        self,
        words: Iterable[str] = (),
        *,
        space: str | None = None,
        limit: int = 20,
        **only: Unpack[EventFilter],
    ) -> list[Event]:
        """Recorded activity, newest first: runs of tools, files touched, tasks, commits of a
        learned history.

        Every one of the `words` must occur, whatever its case. `tool`, `file` and `task` are names;
        of a file a part of its path will do. Activity of the space, above it and below it.
        """
        from reverie.activity import activity_events

        self._flush()
        check_options("events", only, EventFilter)
        asked = EventQuery(**only)
        names = [name for name in (asked.tool, asked.file, asked.task) if name]
        wanted = (*check_text_list(words, "words"), *names)
        most = check_limit(limit)
        if not most:
            return []
        found = self._store.search_events(
            tuple(asked.verbs),
            space=self._resolve_space(space),
            containing=wanted,
            since=parse_moment(asked.since, "since"),
            until=parse_moment_as_of(asked.until, "until"),
            # A name may stand anywhere in an event, so more are looked at than are returned.
            limit=MAX_ACTIVITY_EVENTS if names else most,
        )
        path = activity_events.normalize_event_path(asked.file)
        matching = [
            event
            for event in found
            if activity_events.matches_activity(event, asked.tool, path, asked.task)
        ]
        return matching[:most]

    def turns(
        self, *, space: str | None = None, limit: int = 20, before: int | None = None
    ) -> list[FedTurn]:
        """The turns of agents, newest first: what was said, what memory gave and why, what it kept
        back.

        Of a space and below it; without one, of all spaces. `before`: only those before this event.
        """
        from reverie.activity.turn_feed import TURN, build_turn, list_mentioned_ids
        from reverie.transcripts.passage_hits import find_said_memories

        below = "" if space is None else self._resolve_space(space)
        most = check_limit(limit)
        events: list[Event] = []
        while len(events) < most:
            found = self._store.events(verbs=(TURN,), before=before, newest=True, limit=most)
            events += [event for event in found if not below or is_within(event.space, below)]
            if len(found) < most:
                break
            before = found[-1].seq
        events = events[:most]
        named = list_mentioned_ids(events)
        talk = find_said_memories(self._store.transcripts, named)
        memories = index_memories([*self._store.get(named), *talk])
        return [build_turn(event, memories) for event in events]

    def touched(
        self,
        path: str,
        *,
        space: str | None = None,
        limit: int = 20,
    ) -> list[FileTouch]:
        """The history of a file, newest first: who touched it when, with what, and what broke.

        What was done to it, commits that changed it, commands that name it, errors that name it;
        under its former names too. `broke` names commands that had gone well before a change and
        failed next, in the same conversation. The path is that within the repository, or the end of
        it.
        """
        from reverie.activity import file_history, remedies

        self._flush()
        home = self._resolve_space(space)
        most = check_limit(limit)
        names = self._file_names(path, home)
        events = self._events_naming(names, (TOOL, FILE, COMMIT), home)
        touches = file_history.build_file_history(names, events)[:most]
        if not touches:
            return []
        # Commands around the changes, by which it is seen what broke.
        changes = [touch for touch in touches if file_history.may_break(touch)]
        around = remedies.MAX_SECONDS_BETWEEN
        since, until = touches[-1].at - around, touches[0].at + around
        runs = [
            run
            for session in dict.fromkeys(change.session for change in changes if change.session)
            for run in self._runs_of_session(session, home)
            if since <= run.at <= until
        ]
        return file_history.add_broken_commands(touches, runs)

    def stats(
        self,
        days: float = 7.0,
        *,
        space: str | None = None,
    ) -> WorkStatistics:
        """Statistics of each tool in the last days: runs, success rate, median and 95th percentile
        of its seconds; and how often files were read again and errors met again, also week by
        week.

        The newest 100,000 events are looked at.
        """
        from reverie.activity import activity_events

        self._flush()
        now = self._now()
        since = now - max(0.0, float(days)) * SECONDS_PER_DAY
        events = self._search_log(
            (TOOL, FILE),
            self._resolve_space(space),
            since=since,
        )
        weeks = activity_events.measure_weeks(events, now)
        return activity_events.measure_work(events)._replace(weeks=weeks)

    def suggest_fix(
        self,
        error: str,
        *,
        space: str | None = None,
        limit: int = 3,
    ) -> list[FixSuggestion]:
        """What once made this error go away, likeliest first: what was run and changed, when, and
        how often it worked.

        `error` may be all that a command printed. Only remedies of the same error count, whatever
        its paths, numbers and times; where none is known, or it failed more often than it worked,
        the list is empty. `feedback` on the memory of a suggestion, and `forget`, work as for any
        other.
        """
        from reverie.activity import remedies

        self._flush()
        # Lessons hold no secrets, so an error that quotes one must lose it to be alike.
        redacted = redact_short_text(check_question(error, "error"), self._policy.masking)
        lessons = self._browse_lessons(space, "")
        return remedies.find_fix_suggestions(redacted, lessons)[: check_limit(limit)]

    def known_fixes(
        self,
        *,
        space: str | None = None,
        limit: int = 20,
    ) -> list[FixSuggestion]:
        """All known remedies with their records, those of the most frequent errors first."""
        from reverie.activity import remedies

        lessons = self._browse_lessons(space, remedies.REMEDY)
        return remedies.rank_known_remedies(lessons)[: check_limit(limit)]

    def coedited(
        self,
        path: str,
        *,
        space: str | None = None,
        limit: int = 10,
    ) -> list[CoChange]:
        """Files that change together with this one, most often first, as far as the log knows.

        Together is: in one commit, in one task, or within 300 seconds; on three occasions at least.
        Old habits count less, each occasion half after 180 days. The path is that within the
        repository, as git has it.
        """
        self._flush()
        wanted = to_repository_path(check_question(path, "path"))
        (changes,) = self.changed_with([wanted], self._resolve_space(space))
        return changes[: check_limit(limit)]

    def workflows(
        self,
        *,
        space: str | None = None,
        limit: int = 10,
    ) -> list[CommandWorkflow]:
        """Commands that were run one after the other in at least three tasks or conversations, the
        most frequent first.

        When a task ends, new ones become procedures that wait in `review.pending`;
        `review.curate(id, "validated")` approves one.
        """
        from reverie.activity.workflows import find_workflows

        self._flush()
        most = check_limit(limit)
        runs = self._store.search_events(
            (TOOL,),
            space=self._resolve_space(space),
            limit=MAX_WORKFLOW_RUNS,
        )
        return find_workflows(runs)[:most]

    def learn_git(
        self,
        path: str | Path = "",
        *,
        space: str | None = None,
        most: int | None = None,
    ) -> GitImport:
        """Import the commits of the repository at `path` (default: the working directory) as
        events.

        The next time only what is new is taken in; nothing, if that is more than `most`. Merges are
        passed over; of a commit of more than 50 files only renames are kept. Messages are kept
        without secrets. Nothing of the repository is run. BadInput where there is no history.
        """
        from reverie.activity.git_history import import_git_history

        folder = config.working_directory() / Path(path).expanduser()
        return import_git_history(self._work, folder, self._writable_space(space), most)

    def sql(
        self,
        query: str,
        parameters: Sequence[Any] | Mapping[str, Any] = (),
        *,
        space: str | None = None,
    ) -> QueryResult:
        """The answer to one statement of SQL over recorded activity: `columns` and all `rows`.
        Needs the extra `analytics`.

        DuckDB's dialect, over the tables `tool_executions`, `file_interactions`, `tasks`, `commits`
        and `learned_patterns`, with the activity of the space, above it and below it; `describe
        tool_executions` tells the columns. `parameters` stand for `?`, `$1` or `$name`. The store
        is only read, and SQL has no way to files or the network. Raises BadInput for SQL that does
        not work.
        """
        with self.analysis(space=space) as log:
            return log.ask(check_question(query, "query"), parameters)

    def analysis(self, *, space: str | None = None) -> LogAnalysis:
        """A snapshot of the activity log for several questions:
        `with mind.activity.analysis() as log: log.ask("select …")`, each as in `sql`.

        What a question needs is copied into memory once: a million tool runs take some ten seconds
        and 1 GB.
        """
        from reverie.storage.analytics import LogAnalysis

        self._flush()
        home = self._resolve_space(space)

        # Called by the analysis only if a question names the table.
        def list_pattern_rows() -> Iterator[tuple[str, str, float, int, float, float]]:
            return to_pattern_rows(self.learned_patterns(space=home))

        return LogAnalysis(self._store, home, list_pattern_rows)

    def export_parquet(
        self,
        folder: str | Path,
        *,
        space: str | None = None,
    ) -> dict[str, int]:
        """The tables of `sql` as Parquet files in a new folder, which appears with all of them or
        not at all.

        Returns how many rows each has. Raises BadInput if there is something of that name already.
        """
        with self.analysis(space=space) as log:
            return log.parquet(Path(folder).expanduser())

    def learned_patterns(self, *, space: str | None = None) -> list[LearnedPattern]:
        """What work has taught: fixes of errors, files that change together, workflows; those with
        the highest confidence first.
        """
        from reverie.activity import co_change, learned_patterns, remedies, workflows
        from reverie.memory import procedure

        self._flush()
        home = self._resolve_space(space)
        procedures = self._store.browse(
            Filter(
                spaces=self._visible_spaces(home),
                kinds=(procedure.KIND,),
                having=workflows.SHAPE_DETAIL,
                limit=MAX_LESSONS,
            )
        )
        # Each verb has its own limit: many edits must not crowd out the commits.
        changes = self._search_log((COMMIT,), home) + self._search_log((FILE,), home)
        touched = co_change.list_file_changes(changes, co_change.collect_renames(changes))
        return learned_patterns.list_learned_patterns(
            self._browse_lessons(home, remedies.REMEDY), procedures, touched, self._now()
        )

    def record_run(
        self,
        run: ToolRunRecord,
        space: str | None,
        session: str,
        *,
        is_redacted: bool = False,
    ) -> None:
        """Have a run written; `is_redacted` if the process that met it has taken the secrets out.
        That is said by our own hooks alone, never by whoever calls `record_tool`.
        """
        from reverie.activity.activity_events import make_tool_payload

        # The payload is built within `_record_event`, where nothing can raise into the tool.
        self._record_event(
            TOOL, lambda: make_tool_payload(run), space, session, is_redacted=is_redacted
        )

    def record_course(
        self,
        payload: Mapping[str, Any],
        space: str,
        session: str,
    ) -> None:
        """Have written that a task began or how it ended, with its files and commands, as the hooks
        of a host have told it.
        """
        self._record_event(TASK, lambda: dict(payload), space, session)

    def _file_names(self, path: str, home: str) -> set[str]:
        """The present and former names of a file, as far as the event log knows them."""
        from reverie.activity.co_change import list_former_paths

        present = to_repository_path(check_question(path, "path"))
        return list_former_paths(present, self._renames(home))

    def _renames(self, home: str) -> FileRenames:
        """The renames that commits made."""
        from reverie.activity.co_change import collect_renames

        return collect_renames(self._search_log((COMMIT,), home, containing=[RENAMES_KEY]))

    def _search_log(self, verbs: Sequence[str], home: str, **which: Any) -> list[Event]:
        """The newest events of these verbs in the space, above it and below it."""
        return self._store.search_events(
            verbs,
            space=home,
            limit=MAX_ACTIVITY_EVENTS,
            **which,
        )

    def _runs_of_session(self, session: str, home: str) -> list[Event]:
        """The newest runs of tools in a conversation, in the space, above it and below it."""
        runs = self._store.events(
            session=session, verbs=(TOOL,), newest=True, limit=MAX_ACTIVITY_EVENTS
        )
        upward = self._visible_from(home)
        return [run for run in runs if run.space in upward or run.space.startswith(f"{home}/")]

    def _events_naming(
        self,
        names: Iterable[str],
        verbs: Sequence[str],
        home: str,
    ) -> Collection[Event]:
        """The events that have one of these names in them, each once."""
        found: dict[int, Event] = {}
        for name in names:
            naming = self._search_log(verbs, home, containing=[name])
            found.update((event.seq, event) for event in naming)
        return found.values()

    def _browse_lessons(self, space: str | None, having: str) -> list[Memory]:
        """The newest lessons that can be seen from a space."""
        spaces = self._visible_from(space)
        lessons = Filter(
            spaces=spaces,
            kinds=(LEARNING,),
            having=having,
            limit=MAX_LESSONS,
        )
        return self._store.browse(lessons)

    def changed_with(
        self,
        paths: Sequence[str],
        home: str,
    ) -> list[list[CoChange]]:
        """For each of some files, those that change together with it."""
        from reverie.activity.co_change import find_co_changes, list_file_changes, list_former_paths

        if not paths:
            return []
        renames = self._renames(home)
        now = self._now()
        edits = self._search_log((FILE,), home)
        # Edits are read once for all files; commits are looked up by the names of each.
        found: list[list[CoChange]] = []
        for path in paths:
            commits = self._events_naming(list_former_paths(path, renames), (COMMIT,), home)
            changes = list_file_changes([*commits, *edits], renames)
            found.append(find_co_changes(path, changes, now))
        return found

    def _record_event(
        self,
        verb: str,
        payload: Callable[[], dict[str, Any]],
        space: str | None,
        session: str,
        *,
        is_redacted: bool = False,
    ) -> None:
        """Hand an event to the recorder; whatever goes wrong is only counted."""
        from reverie.activity import activity_events

        recorder = self._get_recorder()
        try:
            home = self._resolve_space(space)
            if self._context.current_settings.is_off(home, session):
                return
            event = Event(
                verb=verb,
                space=home,
                at=self._now(),
                session=self._redact(session),
                payload=payload(),
            )
            recorder.enqueue(event, is_redacted=is_redacted)
            # Tools of coding agents that read or edit one file count as touching it.
            for touched in (
                activity_events.list_file_payloads(event.payload) if verb == TOOL else ()
            ):
                path = to_repository_path(touched["path"])
                touch = event._replace(verb=FILE, payload={**touched, "path": path})
                recorder.enqueue(touch, is_redacted=is_redacted)
        # A tool must not fail because nobody could record that it ran.
        except Exception as err:
            recorder.lost += 1
            recorder.trouble = f"{type(err).__name__}: {err}"

    def _get_recorder(self) -> ActivityRecorder:
        if self._context.recorder is None:
            from reverie.activity.activity_recorder import ActivityRecorder

            self._context.recorder = ActivityRecorder(self._store.append, lambda: self._policy)
        return self._context.recorder


def to_pattern_rows(
    patterns: Sequence[LearnedPattern],
) -> Iterator[tuple[str, str, float, int, float, float]]:
    """Patterns as rows of the table `learned_patterns`."""
    import json

    for pattern in patterns:
        yield (
            pattern.type,
            json.dumps(
                dict(pattern.data),
                ensure_ascii=False,
            ),
            *pattern[2:],
        )


def to_repository_path(path: str) -> str:
    """A path as the repository of the working directory has it, if it lies in there."""
    from reverie.activity import activity_events

    root = f"{config.find_project_root(config.working_directory()).as_posix()}/"
    # Callers pass on what a tool was given, which may be no text.
    return (
        activity_events.normalize_event_path(path).removeprefix(root)
        if isinstance(path, str)
        else path
    )
