"""The worker's side of hooks: takes in what they wrote, and writes the blocks and warnings that
they will ask for.

Each conversation is treated as by the companion: the same `BackgroundThread` writes turns down and
prepares for the newest, only that the hook has injected the block and tells which. What a session
was given while no worker lived is in the log, so the next worker knows.

An event leaves the spool after it was written down: killed in between, a worker leads to a second
copy, never to a loss. Ends of sessions and compactions are recorded as such; extraction begins
there.

What a hook wrote is without secrets already, and not redacted again (`is_redacted`), unless the
rules have changed since: another version of Reverie or another policy than the hook's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.activity.activity_events import ToolRunRecord
from reverie.activity.error_lessons import has_failure_text
from reverie.context_window import EMPTY_BLOCK
from reverie.context_window.injection_history import InjectionHistory, resume_history
from reverie.core import clock, config
from reverie.core.errors import BadInput, StoreError
from reverie.core.model import Event, Memory, Record, index_memories
from reverie.core.touched_files import PATH_ARGUMENTS
from reverie.extraction.turn_learning import LEARNING_VERBS
from reverie.injection.conversation_state import (
    ConversationState,
    ConversationTurn,
    to_given_payload,
)
from reverie.injection.due_reminders import (
    fire_reminders,
    release_reminders,
)
from reverie.injection.prepare_block import find_focus
from reverie.interfaces.hooks import hook_event as kinds
from reverie.interfaces.hooks.context_usage import FULL_SHARE, read_context_usage
from reverie.interfaces.hooks.hook_event import (
    NO_BLOCK,
    SpooledEvent,
    redaction_rules,
)
from reverie.interfaces.hooks.hook_spans import HookMoment, make_hook_span, read_end
from reverie.interfaces.hooks.prompt_lookup import reminder_holder, to_hook_block
from reverie.interfaces.hooks.prompt_topic import collect_topic_words
from reverie.interfaces.hooks.spool import (
    HookFiles,
    read_json_object,
    read_spooled_event,
    write_json_object,
)
from reverie.interfaces.hooks.task_planner import PLANNED, PlanRequest, TaskPlanner
from reverie.interfaces.hooks.task_tracker import SessionTask, TaskTracker
from reverie.interfaces.hooks.warning_table import build_warning_table, write_locked_guards
from reverie.runtime.background_thread import BackgroundThread
from reverie.text.host_messages import HostMessage
from reverie.transcripts.passage_hits import find_memories_or_passages

if TYPE_CHECKING:
    from reverie import Mind

# Taken in before blocks are written: whoever waits for one does not wait for a long spool.
MAX_BATCH_EVENTS = 200
# That a batch may take to be written down and prepared for. After that the events stay in the
# spool, and a second copy may be written: better than a loss.
MAX_WAIT_SECONDS = 60.0
# Newest turns from which a conversation's window is read when it goes on.
WINDOW_TURNS = 6
# Texts that are kept for a person, of what was learned.
MAX_NEWS = 5
# Conversations at once; of more, the oldest is closed, and opened again when it speaks.
MAX_ACTIVE_SESSIONS = 50
# After which the files of a silent session are removed: hosts that are killed tell no end.
STALE_AFTER_SECONDS = 86_400.0
# Those of a session, which go when it ends.
SESSION_FILES = (
    *("json", "block", "plan", "shown", "given", "known", "unended"),
    *("locked", "unguarded", "unusable"),  # what was told once
)


@dataclass(eq=False, slots=True)
class ActiveSession:
    """One conversation that is open; a companion of the `BackgroundThread`."""

    conversation: ConversationState
    message_count: int = 0
    is_nearly_full: bool = False  # its context was found so
    prompted_at: float = 0.0  # when its newest prompt came
    written_block: object = None  # the block that waits in its file, as it was prepared
    task: SessionTask = field(default_factory=SessionTask)
    closed: bool = False


class HookConsumer:
    """What the worker does for hooks."""

    def __init__(
        self,
        mind: Mind,
        now: Callable[[], float] = clock.now,
    ) -> None:
        self.mind, self.now = mind, now
        self.files = HookFiles(str(mind.settings.home))
        self._config = -1.0  # when config.toml was changed, as it was read last
        self._reload_switches()
        self._background = BackgroundThread(
            mind.store,
            mind.embedder,
            mind.settings,
            now,
            mind.llm,
        )
        self._tasks = TaskTracker(mind)
        self.planner = TaskPlanner(mind, self.files, now)
        self._sessions: dict[str, ActiveSession] = {}
        self._consumed: set[str] = set()  # events that were taken in and are not written down yet
        self._spaces: set[str] = set()  # in which somebody works, or did since this worker came
        # The last event of which a person was told what it taught.
        self._told = mind.store.last_event()
        self._seen = 0  # the last event when blocks and warnings were checked
        self._moments: list[HookMoment] = []  # what is to be told in spans

    def has_work(self) -> bool:
        """True if events wait, or prepared blocks and warnings may be out of date."""
        if self._new_events():
            return True
        return bool(self._spaces) and self.mind.store.last_event() != self._seen

    def consume_events(self) -> int:
        """Take in a batch of events, prepare blocks and warnings; returns how many there were."""
        self._reload_switches()
        paths = self._new_events()[:MAX_BATCH_EVENTS]
        for path in paths:
            self._consume_event(path)
            self._consumed.add(path)
        # Only then: killed in between, a worker leads to a second copy and never to a loss.
        if self._wait_until_written():
            for path in self._consumed:
                remove_file(path)
            self._consumed.clear()
        self._write_warnings()
        self._write_blocks()
        self._send_spans()
        return len(paths)

    def _send_spans(self) -> None:
        """Have told what hooks searched for. Last, for nobody waits for it."""
        moments, self._moments = self._moments, []
        send = self.mind.context.spans
        for moment in moments if send is not None else ():
            try:
                record = make_hook_span(self.mind, moment)
                if record is not None and send is not None:
                    send(record)
            # What cannot be told about is done all the same.
            except Exception as err:
                self.files.log_trouble(f"a span was not made: {type(err).__name__}: {err}")

    def _new_events(self) -> list[str]:
        return [path for path in self.files.list_events() if path not in self._consumed]

    def close(self) -> None:
        """Close all conversations. Their blocks stay in their files, with the claims on the
        reminders in them.
        """
        self.planner.close()
        for session in list(self._sessions):
            self._close_session(session)
        self._remove_stale_files()

    # Taking in

    def _consume_event(self, path: str) -> None:
        """Take in one event. One that cannot be read, or used, goes with a line in the log."""
        try:
            spooled = read_spooled_event(path)
            if self.mind.settings.is_off(spooled.space, spooled.event.session):
                self._drop_session(spooled.event.session)
                return
            spooled = self._drop_purged(spooled)
            EVENT_HANDLERS[spooled.event.kind](self, spooled)
            if self.mind.context.spans is not None:
                self._moments.append(HookMoment(spooled, read_end(path, spooled)))
        # A store in trouble will do again: the event stays in the spool.
        except StoreError:
            raise
        except Exception as err:
            self.files.log_trouble(
                f"{os.path.basename(path)} was not taken in: {type(err).__name__}: {err}"
            )

    def _reload_switches(self) -> None:
        """What was switched off meanwhile is so from the next event on, also for those that wait
        already.
        """
        changed = config.config_modified_at(self.mind.settings)
        if changed == self._config:
            return
        # Somebody is writing it by hand: what was chosen before holds.
        with suppress(BadInput):
            before = self.mind.settings.guards
            self.mind.context.settings = config.reload_switches(self.mind.settings)
            self._config = changed
            if self.mind.settings.guards != before:
                self._seen = 0  # the tables say what stops

    def _drop_session(self, session: str) -> None:
        """Memory is off there: nothing is taken in, and no block waits."""
        for what in ("block", "plan"):
            remove_file(self.files.session_file(session, what))
        self._close_session(session)

    def _drop_purged(self, spooled: SpooledEvent) -> SpooledEvent:
        """The event without what was purged since it was given, memories and passages, and the
        reasons for that.
        """
        there = index_memories(find_memories_or_passages(self.mind.store, spooled.ids))
        if len(there) == len(set(spooled.ids)):
            return spooled
        why = dict(zip(spooled.ids, spooled.why, strict=False))
        ids = [id for id in spooled.ids if id in there]
        return spooled._replace(ids=ids, why=[why[id] for id in ids if id in why])

    def _on_session_start(self, spooled: SpooledEvent) -> None:
        active = self._open_session(spooled)
        if spooled.event.source == "compact":
            # Its context holds them no longer.
            active.conversation.attention.injected.clear()
            active.is_nearly_full = False
        if spooled.ids:
            self._add_turn(active, spooled)

    def _on_prompt(self, spooled: SpooledEvent) -> None:
        active = self._open_session(spooled)
        active.prompted_at = spooled.at
        self._tasks.state(active.task, spooled.event.text)
        message = HostMessage("user", spooled.event.text, active.message_count)
        self._add_turn(active, spooled, message)
        event = spooled.event
        self.planner.request(
            PlanRequest(event.session, spooled.space, spooled.root, event.text, spooled.at)
        )

    def _on_turn_end(self, spooled: SpooledEvent) -> None:
        active, event = self._open_session(spooled), spooled.event
        if event.text:
            message = HostMessage("assistant", event.text, active.message_count)
            self._add_turn(active, spooled, message)
        # Hosts tell hooks nothing of it, so it is read from their own file.
        used = read_context_usage(Path(event.transcript)) if event.transcript else None
        if used is None or (used >= FULL_SHARE) == active.is_nearly_full:
            return
        active.is_nearly_full = used >= FULL_SHARE
        if active.is_nearly_full:
            # Extraction does not wait for the compaction.
            self._record("compact", spooled, full=round(used, 2))

    def _on_tool_block(self, spooled: SpooledEvent) -> None:
        """Something was said before a tool, or when it failed."""
        if spooled.planned:
            self._record(PLANNED, spooled, files=list(spooled.planned))
        elif spooled.event.agent:
            self._record_subagent_block(spooled)
        else:
            self._add_turn(self._open_session(spooled), spooled)

    def _record_subagent_block(self, spooled: SpooledEvent) -> None:
        """Record what a subagent was told: its context is its own, so it does not count as given
        to the conversation.
        """
        store, event = self.mind.store, spooled.event
        session = f"{event.session}/{event.agent}"
        payload = {"messages": [], "first": 0} | to_given_payload(
            spooled.ids,
            spooled.why,
        )
        store.append([Event("turn", spooled.space, spooled.at, session, payload)])
        due = store.get(spooled.due) if spooled.due else ()
        fire_reminders(store, due, spooled.at, session)
        release_reminders(store, due, reminder_holder(event.session))

    def _on_tool_result(self, spooled: SpooledEvent) -> None:
        event = spooled.event
        failed = event.kind == kinds.TOOL_FAILED or (
            event.doubtful and has_failure_text(event.result)
        )
        run = ToolRunRecord(
            event.tool,
            to_repository_paths(spooled.root, event.given),
            event.result or None,
            ok=not failed,
            error=(event.text or event.result or "failed") if failed else None,
            duration=event.seconds,
        )
        task, whose = self._open_session(spooled).task, (event.session, spooled.space)
        run = self._tasks.note_run(task, run, *whose)
        self.mind.activity.record_run(
            run, spooled.space, event.session, is_redacted=self._is_redacted(spooled)
        )
        self._tasks.note_outcome(task, run, *whose)
        if spooled.ids:
            self._on_tool_block(spooled)

    def _on_compaction(self, spooled: SpooledEvent) -> None:
        full = spooled.event.full
        self._record(
            "compact",
            spooled,
            **({} if full is None else {"full": round(full, 2)}),
        )

    def _on_session_end(self, spooled: SpooledEvent) -> None:
        session = spooled.event.session
        self._tasks.end_session(self._open_session(spooled).task, session, spooled.space)
        # After what was said before it, and before the files go.
        self._record("session_end", spooled)
        for what in SESSION_FILES:
            remove_file(self.files.session_file(session, what))
        self._close_session(session)

    def _record(self, verb: str, spooled: SpooledEvent, **payload: Any) -> None:
        """Record that something happened, after all that was said before it."""
        self._wait_until_written()
        space, session = spooled.space, spooled.event.session
        if not self.mind.settings.is_off(space, session):
            self.mind.record(
                verb,
                payload,
                space=space,
                session=session,
            )

    def _is_redacted(self, spooled: SpooledEvent) -> bool:
        """True if the hook redacted it as it would be redacted now."""
        return spooled.redacted_by == redaction_rules(
            self.mind.settings.policy.within(spooled.space)
        )

    def _add_turn(
        self, active: ActiveSession, spooled: SpooledEvent, *messages: HostMessage
    ) -> None:
        """Have what was said, and what was given with it, written down and prepared for."""
        conversation, ids = active.conversation, tuple(spooled.ids)
        ready = next(iter(conversation.slot), EMPTY_BLOCK)
        was_taken = not set(ids).isdisjoint(ready.ids)
        # Some of it was given: the rest may be prepared again.
        if was_taken:
            conversation.slot.clear()
        self._background.enqueue(
            ConversationTurn(
                conversation,
                messages,
                active.message_count,
                ids,
                ready if was_taken else EMPTY_BLOCK,
                spooled.at,
                tuple(self.mind.store.get(spooled.due)) if spooled.due else (),
                is_redacted=self._is_redacted(spooled),
                given_why=spooled.why,
                withheld_ids=tuple(spooled.withheld),
                waited=spooled.waited,
            )
        )
        active.message_count += len(messages)

    def _open_session(self, spooled: SpooledEvent) -> ActiveSession:
        """The conversation of an event, as it is known or as the log tells of it."""
        session, space = spooled.event.session, spooled.space
        self._spaces.add(space)
        active = self._sessions.get(session)
        if active is not None and active.conversation.space == space:
            return active
        conversation = ConversationState(
            space,
            # The host names no space of the session's own, so what it teaches is the project's.
            has_own_space=False,
            attention=InjectionHistory(session, (space,)),
            holder=reminder_holder(session),
        )
        resume_history(self.mind.store, conversation.attention, space, spooled.at)
        active = self._sessions[session] = ActiveSession(conversation)
        if len(self._sessions) > MAX_ACTIVE_SESSIONS:
            self._close_session(next(iter(self._sessions)))
        turns = self.mind.store.events(
            session=session,
            space=space,
            verbs=("turn",),
            newest=True,
            limit=WINDOW_TURNS,
        )
        for turn in reversed(turns):
            messages = turn.payload.get("messages", ())
            conversation.window.extend(
                HostMessage(message["role"], message["text"]) for message in messages
            )
            last = turn.payload.get("first", 0) + len(messages)
            active.message_count = max(active.message_count, last)
        active.task = self._tasks.resume(session, space, conversation.window)
        self._background.add_companion(active)
        return active

    def _close_session(self, session: str) -> None:
        active = self._sessions.pop(session, None)
        if active is None:
            return
        active.closed = True
        self._background.remove_companion(active)
        conversation, unclaimed = active.conversation, list[Memory]()
        # Reminders in a block that waits in its file stay claimed: a hook will give them.
        if not os.path.exists(self.files.session_file(session, "block")):
            unclaimed = [memory for block in conversation.slot for memory in block.due]
        release_reminders(self.mind.store, unclaimed, conversation.holder)

    def _wait_until_written(self) -> bool:
        """True once everything so far is in the log, and prepared for."""
        done = self._background.wait(MAX_WAIT_SECONDS)
        if not done:
            self.files.log_trouble(
                f"what hooks wrote is not written down yet: {self._background.trouble}"
            )
        # Asks for nothing, but waits until the tool runs that were recorded are written.
        self.mind.activity.events(limit=0)
        return done

    # What hooks will ask for

    def _write_blocks(self) -> None:
        """Write the block that waits in each conversation's slot into its file; what was withdrawn
        goes.
        """
        for session, active in self._sessions.items():
            conversation = active.conversation
            off = self.mind.settings.is_off(conversation.space, session)
            block = EMPTY_BLOCK if off else next(iter(conversation.slot), EMPTY_BLOCK)
            # The same object: nothing was prepared or withdrawn since.
            if block is active.written_block:
                continue
            active.written_block = block
            path = self.files.session_file(session, "block")
            focus = find_focus(tuple(conversation.window)).text
            about = collect_topic_words(focus, *(memory.text for memory in block.memories))
            ready = to_hook_block(block, about, active.prompted_at)
            if ready != NO_BLOCK and conversation.attention.may_inject(block, self.now()):
                write_json_object(path, ready._asdict())
            else:
                remove_file(path)

    def _write_warnings(self) -> None:
        """Write what hooks say before tools, for each space that somebody works in; and withdraw
        what has ceased to count.
        """
        newest = self.mind.store.last_event()
        is_new = newest != self._seen
        # Most events change no memory, and building a table reads thousands.
        records = self.mind.store.changes_after(self._told) if is_new else []
        self._tell_learned(records)
        changed = is_new and (not self._seen or bool(records))
        if is_new:
            self._background.withdraw_retired()
        for space in self._spaces:
            path = self.files.guards_file(space)
            if changed or not os.path.exists(path):
                table = build_warning_table(self.mind.store, self.mind.settings, space, self.now())
                write_json_object(path, table.to_json())
        if changed:
            write_locked_guards(self.mind.store, self.mind.settings, self.now())
        self._seen = self._told = newest

    def _tell_learned(self, records: Iterable[Record]) -> None:
        """Leave what conversations taught for the hook that tells the person."""
        new = [
            one.memory_id for one in records if one.op == "add" and one.event.verb in LEARNING_VERBS
        ]
        taught: dict[str, list[str]] = {}
        for memory in self.mind.store.get(new) if new else ():
            if memory.active:
                taught.setdefault(memory.space, []).append(memory.text)
        for space, texts in taught.items():
            path = self.files.news_file(space)
            before = read_json_object(path) or {}
            count = before.get("learned", 0) + len(texts)
            write_json_object(path, {"learned": count, "texts": texts[:MAX_NEWS]})

    def _remove_stale_files(self) -> None:
        """Remove the files of sessions that have been silent for a day."""
        for folder in ("sessions", "claims", "guards", "news"):
            for path in self.files.list_files(folder):
                with suppress(OSError):
                    if self.now() - os.stat(path).st_mtime > STALE_AFTER_SECONDS:
                        os.unlink(path)


EVENT_HANDLERS: dict[str, Callable[[HookConsumer, SpooledEvent], None]] = {
    kinds.SESSION_START: HookConsumer._on_session_start,
    kinds.PROMPT: HookConsumer._on_prompt,
    kinds.TOOL_BEFORE: HookConsumer._on_tool_block,
    kinds.TOOL_AFTER: HookConsumer._on_tool_result,
    kinds.TOOL_FAILED: HookConsumer._on_tool_result,
    kinds.TURN_END: HookConsumer._on_turn_end,
    kinds.COMPACT_BEFORE: HookConsumer._on_compaction,
    kinds.SESSION_END: HookConsumer._on_session_end,
}


def remove_file(path: str) -> None:
    """Remove a file, if it is there and can be."""
    with suppress(OSError):
        os.unlink(path)


def to_repository_paths(root: str, given: Any) -> Any:
    """What a tool was given, with its file as the repository has it."""
    if not isinstance(given, Mapping) or not root:
        return given

    def shorten(name: str, value: Any) -> Any:
        is_path = name in PATH_ARGUMENTS and isinstance(value, str)
        return value.removeprefix(f"{root}/") if is_path else value

    return {name: shorten(name, value) for name, value in given.items()}
