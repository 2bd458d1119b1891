# mypy: no-check-untyped-defs, allow-untyped-decorators
"""The hooks for the Claude Agent SDK, called as it calls them. The SDK has 365 MB and is not
installed by default: what the adapter takes of it, a class and names of types, stands here;
`test_adapters` runs the SDK where it is there.
"""

import asyncio
import sys
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest

from reverie.core.errors import StoreFull
from reverie.runtime.mind import Mind
from reverie.runtime.mind.activity_verbs import ActivityVerbs
from reverie.testing import SPACE


@dataclass
class HookMatcher:
    """As the SDK has it."""

    matcher: str | None = None
    hooks: list[Any] = field(default_factory=list)
    timeout: float | None = None


@pytest.fixture
def adapter(monkeypatch):
    """The adapter, on a small stand-in for the SDK."""
    sdk, types = ModuleType("claude_agent_sdk"), ModuleType("claude_agent_sdk.types")
    sdk.__dict__.update(HookMatcher=HookMatcher, HookContext=dict)
    types.__dict__.update(HookCallback=Any, HookEvent=str, HookInput=dict, HookJSONOutput=dict)
    monkeypatch.setitem(sys.modules, "claude_agent_sdk", sdk)
    monkeypatch.setitem(sys.modules, "claude_agent_sdk.types", types)
    monkeypatch.delitem(sys.modules, "reverie.interfaces.frameworks.claude_agent", raising=False)
    yield import_module("reverie.interfaces.frameworks.claude_agent")
    del sys.modules["reverie.interfaces.frameworks.claude_agent"]


def hooked(adapter, mind, *inputs, session="s1"):
    """What hooks answer in one session, and what was in trouble."""

    async def run():
        with adapter.SessionMemory(mind, SPACE) as beside:
            hooks, answers = beside.hooks(), []
            for given in inputs:
                (matcher,) = hooks[given["hook_event_name"]]
                whole = {"session_id": session, "transcript_path": "", "cwd": "/", **given}
                answers.append(await matcher.hooks[0](whole, None, {"signal": None}))
            return answers, beside.trouble

    return asyncio.run(run())


def prompt(text):
    return {"hook_event_name": "UserPromptSubmit", "prompt": text}


def tool(event, command, **more):
    return {
        "hook_event_name": event,
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_use_id": "t1",
        "duration_ms": 500,
        **more,
    }


STOP = {
    "hook_event_name": "Stop",
    "stop_hook_active": False,
    "last_assistant_message": "The crane is in Bergen.",
}
COMPACT = {"hook_event_name": "PreCompact", "trigger": "auto", "custom_instructions": None}


def context(answer):
    return answer["hookSpecificOutput"]["additionalContext"]


@pytest.fixture
def informed_mind(home):
    home.remember("Prices are always kept in cents.", space=SPACE)
    home.remember(
        "Never run make deploy on Fridays.", kind="negative", triggers=["make deploy"], space=SPACE
    )
    home.settle()
    return home


@pytest.mark.proves("C115", "C117", "CC-75", "CC-79")
def test_hooks_tell_warn_record_and_learn(adapter, informed_mind):
    """As context of the event that asked; quiet hooks answer {}."""
    answers, trouble = hooked(
        adapter,
        informed_mind,
        prompt("In which unit are prices kept?"),
        tool("PreToolUse", "make deploy"),
        tool("PostToolUse", "make", tool_response={"stdout": "ok"}),
        tool("PostToolUseFailure", "pytest", error="KeyError: 'heron'"),
        STOP,
    )
    assert "" == trouble and [{}, {}, {}] == answers[2:]
    assert "kept in cents" in context(answers[0]) and "on Fridays" in context(answers[1])
    assert ["UserPromptSubmit", "PreToolUse"] == [
        one["hookSpecificOutput"]["hookEventName"] for one in answers[:2]
    ]
    went, failed = sorted(
        informed_mind.activity.events(tool="Bash", space=SPACE),
        key=lambda deed: not deed.payload["ok"],
    )
    assert ({"stdout": "ok"}, 0.5) == (went.payload["result"], went.payload["duration"])
    assert "heron" in failed.payload["error"]
    assert "The crane is in Bergen." in str(
        [event.payload for event in informed_mind.store.events(verbs=("turn",))]
    )


@pytest.mark.parametrize("carrier", [prompt("Go on."), tool("PostToolUse", "ls", tool_response="")])
def test_after_a_compaction_what_was_given_is_said_again(adapter, informed_mind, carrier):
    """With the next hook that can carry it, once; the log knows of the compaction."""
    answers, trouble = hooked(
        adapter,
        informed_mind,
        prompt("In which unit are prices kept?"),
        STOP,
        COMPACT,
        carrier,
        carrier,
    )
    assert "" == trouble and "kept in cents" in context(answers[0]) and {} == answers[2]
    assert "kept in cents" in context(answers[3]) and "kept in cents" not in str(answers[4])
    assert informed_mind.store.events(verbs=("compact",), session="s1")


def test_hooks_answer_nothing_in_trouble(adapter, informed_mind, monkeypatch):
    """Memory that fails, and input that is not what was promised: {} each time, and `trouble` says
    why.
    """

    def full(*_, **__):
        raise StoreFull

    for name in ("companion", "record", "warnings"):
        monkeypatch.setattr(Mind, name, full)
    monkeypatch.setattr(ActivityVerbs, "suggest_fix", full)
    answers, trouble = hooked(
        adapter,
        informed_mind,
        prompt("Well?"),
        {"hook_event_name": "UserPromptSubmit"},
        COMPACT,
        tool("PreToolUse", "make"),
        tool("PostToolUseFailure", "make", error="no"),
        STOP,
    )
    assert [{}] * 6 == answers and trouble
