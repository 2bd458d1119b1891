"""Claude Agent SDK: hooks in the agent's own process.

    with SessionMemory(mind, "me/shop") as memory:
        options = ClaudeAgentOptions(hooks=memory.hooks())

    prompt          the injection block is added to it
    before a tool   what is known of such a call: what must never be done, corrections
    after a tool    it is recorded; after a failure, what once fixed it is added
    end of a turn   the answer is kept and learned from
    compaction      extraction does not wait for it; what was given and taught is repeated with the
                    next hook that can carry it, for the SDK has no hook for a session's beginning,
                    nor for the end of either

One object serves all sessions of a process. No hook decides anything about a tool, none fails: in
any trouble it answers `{}`. For Claude Code itself there is `reverie install claude-code`; do not
use both in one session.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from claude_agent_sdk import HookContext, HookMatcher
from claude_agent_sdk.types import HookCallback, HookEvent, HookInput, HookJSONOutput

from reverie.interfaces.frameworks.agent_loop import Beside, ConversationPool
from reverie.interfaces.hosts.claude_code import CONTEXT_EVENTS
from reverie.interfaces.hosts.host_agent import to_seconds

if TYPE_CHECKING:
    from reverie.runtime.mind import Mind

# Seconds until a hook goes without memory; they take milliseconds.
HOOK_TIMEOUT = 2.0


class SessionMemory(ConversationPool):
    """Memory beside the sessions of an agent. Use it as a context manager, or call `close`."""

    late = ""  # names the last hook that timed out

    def __init__(self, mind: Mind, space: str | None = None) -> None:
        super().__init__(mind, space)
        # Sessions whose context is about to lose what it was given.
        self._shortened: set[str] = set()

    @property
    def trouble(self) -> str:
        """What went wrong last, in one line; empty when all is well."""
        return super().trouble or self.late

    def hooks(self) -> dict[HookEvent, list[HookMatcher]]:
        """The hooks for `ClaudeAgentOptions.hooks`; put those of your own beside them."""
        return {event: [HookMatcher(hooks=[self._hook(answer)])] for event, answer in HOOKS.items()}

    def _hook(
        self,
        answer: Callable[[Beside, Mapping[str, Any]], str],
    ) -> HookCallback:
        async def hook(
            given: HookInput,
            _tool_use_id: str | None,
            _context: HookContext,
        ) -> HookJSONOutput:
            event, text = given["hook_event_name"], ""
            try:
                text = await asyncio.wait_for(
                    asyncio.to_thread(self._answer, answer, dict(given)), HOOK_TIMEOUT
                )
            # The thread goes on, so what it was told is kept; only its text comes too late.
            except TimeoutError:
                self.late = f"{event} took too long"
            output = {"hookEventName": event, "additionalContext": text}
            return cast(HookJSONOutput, {"hookSpecificOutput": output} if text else {})

        return hook

    def _answer(
        self, answer: Callable[[Beside, Mapping[str, Any]], str], given: Mapping[str, Any]
    ) -> str:
        session = str(given.get("session_id", ""))
        beside = self.for_session(session)
        event = given["hook_event_name"]
        repeated = ""
        if event in CONTEXT_EVENTS and session in self._shortened:
            self._shortened.discard(session)
            repeated = beside.again()
        # What it was given is lost with the compaction that follows.
        elif event == "PreCompact":
            self._shortened.add(session)
        text = beside.guarded("", lambda: answer(beside, given))
        return "\n\n".join(filter(None, (repeated, text)))


def on_prompt(beside: Beside, given: Mapping[str, Any]) -> str:
    """The injection block for a prompt of the user."""
    return beside.turn([{"role": "user", "content": given["prompt"]}]).text


def on_pre_tool(beside: Beside, given: Mapping[str, Any]) -> str:
    """Warnings before a tool runs."""
    return beside.warned(given["tool_name"], given["tool_input"])


def on_post_tool(beside: Beside, given: Mapping[str, Any]) -> str:
    """Record a run of a tool."""
    beside.ran(
        given["tool_name"],
        given["tool_input"],
        given["tool_response"],
        duration=to_seconds(given.get("duration_ms")),
    )
    return ""


def on_tool_failure(beside: Beside, given: Mapping[str, Any]) -> str:
    """Record the failure of a tool; what once fixed such an error."""
    # Asked before it is recorded: this failure is no fix of itself.
    known = beside.fixed(given["error"])
    beside.ran(
        given["tool_name"],
        given["tool_input"],
        error=given["error"],
        duration=to_seconds(given.get("duration_ms")),
    )
    return known


def on_stop(beside: Beside, given: Mapping[str, Any]) -> str:
    """Hand over the answer at the end of a turn."""
    if text := given.get("last_assistant_message"):
        beside.heed([{"role": "assistant", "content": text}])
    return ""


def on_compact(beside: Beside, _given: Mapping[str, Any]) -> str:
    """Record that the context is about to be shortened."""
    # `record` refuses where memory is off, and that is no trouble.
    if not (beside.is_off or beside.mind.settings.is_off(beside.space)):
        beside.mind.record(
            "compact",
            space=beside.space,
            session=beside.session,
        )
    return ""


HOOKS: dict[HookEvent, Callable[[Beside, Mapping[str, Any]], str]] = {
    "UserPromptSubmit": on_prompt,
    "PreToolUse": on_pre_tool,
    "PostToolUse": on_post_tool,
    "PostToolUseFailure": on_tool_failure,
    "Stop": on_stop,
    "PreCompact": on_compact,
}
