"""The worker's side of hooks: takes in what they wrote, and lays ready what they will ask for.

Each conversation is attended as the companion attends one: the same `Background` writes turns down
and prepares for the newest, only that the hook has given the block and tells which. What a session
is given while nobody attends it is in the log, so whoever attends it next knows (CC-45).

An event leaves the spool after it was written down: killed in between, a worker leads to a second
copy, never to a loss. Ends of sessions and compactions are recorded as such; extraction begins
there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.activity.error_lessons import has_failure_text as tells_of_error
from reverie.context_window import EMPTY_BLOCK, HEAD, render_memory_line
from reverie.context_window.injection_history import InjectionHistory, resume_history
from reverie.core import clock, config
from reverie.core.errors import BadInput, StoreError
from reverie.core.kinds import INTENTION, is_unverified
from reverie.core.model import Event, Filter, visible_spaces
from reverie.injection.conversation_state import ConversationState, ConversationTurn
from reverie.injection.due_reminders import (
    fire_reminders,
    load_waiting_reminders,
    release_reminders,
)
from reverie.injection.prepare_block import find_focus
from reverie.interfaces.hooks import hook_event as kinds
from reverie.interfaces.hooks.context_usage import FULL_SHARE, read_context_usage
from reverie.interfaces.hooks.prompt_lookup import reminder_holder, to_hook_block
from reverie.interfaces.hooks.prompt_topic import collect_topic_words
from reverie.interfaces.hooks.spool import HookFiles, read_json_object, write_json_object
from reverie.interfaces.hooks.tool_warnings import MAX_ROWS, PATH_ARGUMENTS, make_warning_row
from reverie.memory import intention
from reverie.retrieval import FIRST_KINDS, warning_order
from reverie.retrieval.rescoring import can_surface
from reverie.runtime.background_thread import BackgroundThread
from reverie.text.host_messages import HostMessage
from reverie.text.injection_fence import FENCE_END

if TYPE_CHECKING:
    from reverie import Mind

MAX_BATCH_EVENTS = 200  # events that are taken in before blocks are laid
MAX_WAIT_SECONDS = 60.0  # seconds that a batch may take to be written down and prepared for
MAX_BROWSED_MEMORIES = 2_000  # newest memories among which those about files are looked for
# newest turns from which a conversation's window is read when it is attended again
WINDOW_TURNS = 6
# conversations at once; the first is let go of, and taken up again when it speaks
MAX_ATTENDED = 50
STALE_AFTER_SECONDS = 86_400.0  # seconds after which the files of a silent session are removed


@dataclass(eq=False, slots=True)
class AttendedSession:
    """One conversation; a member of `Background`."""

    conversation: ConversationState
    count: int = 0  # messages so far
    full: bool = False  # its context was found nearly full
    asked: float = 0.0  # when its newest prompt came
    laid: object = None  # the block that lies ready, as it was prepared
    closed: bool = False


class HookConsumer:
    """What the worker does for hooks."""

    def __init__(self, mind: Mind, now: Callable[[], float] = clock.now) -> None:
        self.mind, self.now = mind, now
        self.room = HookFiles(str(mind.settings.home))
        self._config = -1.0  # when config.toml was changed, as it was read last
        self._reread()
        self._background = BackgroundThread(mind.store, mind.embedder, mind.settings, now, mind.llm)
        self._attended: dict[str, AttendedSession] = {}
        self._in_hand: set[str] = set()  # events that were taken in and are not written down yet
        self._spaces: set[str] = set()  # in which somebody works, or did since this worker came
        self._seen = 0  # the last event when what lies ready was looked at

    def waits(self) -> bool:
        """Whether something has happened, or what was laid ready may be out of date."""
        return bool(self._news()) or bool(
            self._spaces and self.mind.store.last_event() != self._seen
        )

    def attend(self) -> int:
        """Take in what waits and lay ready what follows from it; how many events there were."""
        self._reread()
        paths = self._news()[:MAX_BATCH_EVENTS]
        for path in paths:
            self._take_in(path)
            self._in_hand.add(path)
        if self._written():
            for path in self._in_hand:
                with suppress(OSError):
                    os.unlink(path)
            self._in_hand.clear()
        self._guard()
        self._lay()
        return len(paths)

    def _news(self) -> list[str]:
        return [path for path in self.room.waiting() if path not in self._in_hand]

    def close(self) -> None:
        """Let go of all conversations. Blocks go on lying ready, and reminders in them stay
        claimed.
        """
        for session in list(self._attended):
            self._leave(session)
        self._tidy()

    # Taking in

    def _take_in(self, path: str) -> None:
        """One event. One that cannot be read, or used, goes with a line in the log."""
        event = read_json_object(path)
        try:
            if event is None:
                raise ValueError("is no JSON object")
            if self.mind.settings.is_off(event["space"], event["session"]):
                self._forgets(event)
                return
            EVENT_HANDLERS[event["kind"]](self, event)
        except StoreError:
            raise
        except Exception as err:
            self.room.trouble(
                f"{os.path.basename(path)} was not taken in: {type(err).__name__}: {err}"
            )

    def _reread(self) -> None:
        """What was switched off meanwhile is so from the next event on, also where it had been
        written already.
        """
        changed = config.config_modified_at(self.mind.settings)
        if changed != self._config:
            with suppress(BadInput):  # somebody is writing it by hand: what was chosen before holds
                self.mind.settings, self._config = (
                    config.reload_switches(self.mind.settings),
                    changed,
                )

    def _forgets(self, event: Mapping[str, Any]) -> None:
        """Memory is off where this happened: nothing of it is taken in, and nothing lies ready
        there.
        """
        with suppress(OSError):
            os.unlink(self.room.of(event["session"], "block"))
        self._leave(event["session"])

    def _began(self, event: Mapping[str, Any]) -> None:
        one = self._attend(event)
        if event["source"] == "compact":
            one.conversation.attention.injected.clear()  # its context holds them no longer
            one.full = False
        if event["ids"]:
            self._turn(one, event)

    def _asked(self, event: Mapping[str, Any]) -> None:
        one = self._attend(event)
        one.asked = event["at"]
        self._turn(one, event, HostMessage("user", event["text"], one.count))

    def _ended_turn(self, event: Mapping[str, Any]) -> None:
        one = self._attend(event)
        if event["text"]:
            self._turn(one, event, HostMessage("assistant", event["text"], one.count))
        used = read_context_usage(Path(event["transcript"])) if event["transcript"] else None
        if used is not None and (used >= FULL_SHARE) != one.full:
            one.full = used >= FULL_SHARE
            if one.full:
                # extraction does not wait for the compaction
                self._record("compact", event, full=round(used, 2))

    def _shown(self, event: Mapping[str, Any]) -> None:
        """Something was said before a tool, or when it failed."""
        if event.get("agent"):
            self._to_subagent(event)
        else:
            self._turn(self._attend(event), event)

    def _to_subagent(self, event: Mapping[str, Any]) -> None:
        """What a subagent was told: its context is its own, so it does not count as given to the
        conversation.
        """
        store, space, at = self.mind.store, event["space"], event["at"]
        session = f"{event['session']}/{event['agent']}"
        store.append(
            [
                Event(
                    "turn",
                    space,
                    at,
                    session,
                    {"messages": [], "first": 0, "given": list(event["ids"])},
                )
            ]
        )
        due = store.get(event["due"]) if event["due"] else ()
        fire_reminders(store, due, at, session)
        release_reminders(store, due, reminder_holder(event["session"]))

    def _ran(self, event: Mapping[str, Any]) -> None:
        failed = event["kind"] == kinds.TOOL_FAILED or (
            event["doubtful"] and tells_of_error(event["result"])
        )
        given, error = (
            to_repository_paths(event["root"], event["given"]),
            event["text"] or event["result"] or "failed",
        )
        self.mind.record_tool(
            event["tool"],
            given,
            event["result"] or None,
            ok=not failed,
            error=error if failed else None,
            duration=event["seconds"],
            session=event["session"],
            space=event["space"],
        )
        if event["ids"]:
            self._shown(event)

    def _compacts(self, event: Mapping[str, Any]) -> None:
        full = event.get("full")
        self._record("compact", event, **({} if full is None else {"full": round(full, 2)}))

    def _ended(self, event: Mapping[str, Any]) -> None:
        self._record("session_end", event)
        for what in ("json", "block", "shown", "given"):
            with suppress(OSError):
                os.unlink(self.room.of(event["session"], what))
        self._leave(event["session"])

    def _record(self, verb: str, event: Mapping[str, Any], **payload: Any) -> None:
        """After all that was said before it."""
        self._written()
        if not self.mind.settings.is_off(event["space"], event["session"]):
            self.mind.record(verb, payload, space=event["space"], session=event["session"])

    def _turn(self, one: AttendedSession, event: Mapping[str, Any], *said: HostMessage) -> None:
        """What was said, and what was given with it."""
        conversation, ids = one.conversation, tuple(event["ids"])
        ready = next(iter(conversation.slot), EMPTY_BLOCK)
        if taken := not set(ids).isdisjoint(
            ready.ids
        ):  # some of it was given: the rest may be prepared again
            conversation.slot.clear()
        due = tuple(self.mind.store.get(event["due"])) if event["due"] else ()
        self._background.enqueue(
            ConversationTurn(
                conversation,
                said,
                one.count,
                ids,
                ready if taken else EMPTY_BLOCK,
                event["at"],
                due,
            )
        )
        one.count += len(said)

    def _attend(self, event: Mapping[str, Any]) -> AttendedSession:
        """The conversation of an event, as it is known or as the log tells of it."""
        session, space = event["session"], event["space"]
        self._spaces.add(space)
        one = self._attended.get(session)
        if one is None or one.conversation.space != space:
            conversation = ConversationState(
                space,
                has_own_space=False,
                attention=InjectionHistory(session, (space,)),
                holder=reminder_holder(session),
            )
            resume_history(self.mind.store, conversation.attention, space, event["at"])
            one = self._attended[session] = AttendedSession(conversation)
            if len(self._attended) > MAX_ATTENDED:
                self._leave(next(iter(self._attended)))
            turns = self.mind.store.events(
                session=session, space=space, verbs=("turn",), newest=True, limit=WINDOW_TURNS
            )
            for turn in reversed(turns):
                messages = turn.payload.get("messages", ())
                conversation.window.extend(
                    HostMessage(said["role"], said["text"]) for said in messages
                )
                one.count = max(one.count, turn.payload.get("first", 0) + len(messages))
            self._background.add_companion(one)
        return one

    def _leave(self, session: str) -> None:
        one = self._attended.pop(session, None)
        if one is not None:
            one.closed = True
            self._background.remove_companion(one)
            release_reminders(
                self.mind.store,
                [memory for block in one.conversation.slot for memory in block.due]
                if not os.path.exists(self.room.of(session, "block"))
                else (),
                one.conversation.holder,
            )

    def _written(self) -> bool:
        """Whether everything so far is in the log, and prepared for."""
        done = self._background.wait(MAX_WAIT_SECONDS)
        if not done:
            self.room.trouble(
                f"what hooks wrote is not written down yet: {self._background.trouble}"
            )
        self.mind.deeds(limit=0)  # waits until those that were recorded are written
        return done

    # Laying ready

    def _lay(self) -> None:
        """The block that waits in each conversation's slot, as a file; what was withdrawn goes."""
        for session, one in self._attended.items():
            off = self.mind.settings.is_off(one.conversation.space, session)
            block = EMPTY_BLOCK if off else next(iter(one.conversation.slot), EMPTY_BLOCK)
            if block is one.laid:
                continue
            one.laid = block
            path = self.room.of(session, "block")
            said = find_focus(tuple(one.conversation.window)).text
            ready = to_hook_block(
                block,
                collect_topic_words(said, *(memory.text for memory in block.memories)),
                one.asked,
            )
            if ready is not None and one.conversation.attention.may_inject(block, self.now()):
                write_json_object(path, ready)
            else:
                with suppress(OSError):
                    os.unlink(path)

    def _guard(self) -> None:
        """What hooks say before tools, for each space that somebody works in; and what ceased to
        count is withdrawn.
        """
        newest = self.mind.store.last_event()
        changed = newest != self._seen and (
            not self._seen or bool(self.mind.store.changes_after(self._seen))
        )
        if newest != self._seen:
            self._background.withdraw_retired()
        for space in self._spaces:
            if changed or not os.path.exists(self.room.guards(space)):
                write_json_object(self.room.guards(space), self._guards(space))
        self._seen = newest

    def _guards(self, space: str) -> dict[str, Any]:
        store, now, seen = self.mind.store, self.now(), visible_spaces(space)
        if self.mind.settings.is_off(space):
            return {"head": HEAD, "foot": FENCE_END, "rows": [], "fixes": 0}
        reminders = [
            make_warning_row(
                one, render_memory_line(one, now), intention.read_reminder(one).when, reminder=True
            )
            for one in load_waiting_reminders(store, space)
            if one.triggers
        ]
        called = sorted(
            (
                one
                for one in store.with_triggers(seen)
                if one.kind != INTENTION and can_surface(one, now)
            ),
            key=warning_order,
        )
        known = {one.id for one in called}
        filed = [
            one
            for one in store.browse(
                Filter(spaces=seen, without=(INTENTION, *FIRST_KINDS), limit=MAX_BROWSED_MEMORIES)
            )
            if one.files
            and one.id not in known
            and can_surface(one, now)
            and not is_unverified(one)
        ]
        rows = [
            *reminders,
            *(make_warning_row(one, render_memory_line(one, now)) for one in (*called, *filed)),
        ][:MAX_ROWS]
        lessons = store.browse(Filter(spaces=seen, kinds=("learning",), limit=1))
        return {"head": HEAD, "foot": FENCE_END, "rows": rows, "fixes": len(lessons)}

    def _tidy(self) -> None:
        """Files of sessions that have been silent for a day."""
        for folder in ("sessions", "claims", "guards"):
            for path in self.room.files(folder):
                with suppress(OSError):
                    if self.now() - os.stat(path).st_mtime > STALE_AFTER_SECONDS:
                        os.unlink(path)


EVENT_HANDLERS: dict[str, Callable[[HookConsumer, Mapping[str, Any]], None]] = {
    kinds.SESSION_START: HookConsumer._began,
    kinds.PROMPT: HookConsumer._asked,
    kinds.TOOL_BEFORE: HookConsumer._shown,
    kinds.TOOL_AFTER: HookConsumer._ran,
    kinds.TOOL_FAILED: HookConsumer._ran,
    kinds.TURN_END: HookConsumer._ended_turn,
    kinds.COMPACT_BEFORE: HookConsumer._compacts,
    kinds.SESSION_END: HookConsumer._ended,
}


def to_repository_paths(root: str, given: Any) -> Any:
    """What a tool was given, with its file as the repository has it."""
    if not isinstance(given, Mapping):
        return given
    return {
        name: value.removeprefix(f"{root}/")
        if root and name in PATH_ARGUMENTS and isinstance(value, str)
        else value
        for name, value in given.items()
    }
