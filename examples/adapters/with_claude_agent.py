"""Memory in an agent on the Claude Agent SDK: hooks in its own process.

    pip install 'reverie[claude-agent]' && python examples/adapters/with_claude_agent.py

Claude Code is scripted (`Scripted` speaks its protocol), so that this runs without a key; leave
`transport=` out.
"""

import asyncio
import json
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, Transport

from reverie.interfaces.frameworks.claude_agent import SessionMemory
from reverie.testing import memory

SPACE = "me/shop"
Hook = dict[str, Any]


class Scripted(Transport):
    """What Claude Code does in one session: it calls hooks, one after the other. `answers` are what
    they said.
    """

    def __init__(self, session: str, hooks: Sequence[Hook]) -> None:
        self.session, self.answers = session, list[Any]()
        self._hooks, self._ids = list(hooks), dict[str, str]()
        self._out: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

    async def connect(self) -> None:
        """Nothing to do."""

    async def write(self, data: str) -> None:
        """A message from the SDK."""
        message = json.loads(data)
        if message["type"] == "control_request":
            for event, groups in (message["request"].get("hooks") or {}).items():
                self._ids[event] = groups[0]["hookCallbackIds"][0]
            await self._out.put(
                {
                    "type": "control_response",
                    "response": {
                        "subtype": "success",
                        "request_id": message["request_id"],
                        "response": {},
                    },
                }
            )
        elif message["type"] == "control_response":
            self.answers.append(message["response"].get("response", message["response"]))
        await self._next()

    async def _next(self) -> None:
        if self._hooks:
            hook = {
                "session_id": self.session,
                "transcript_path": "",
                "cwd": "/",
                **self._hooks.pop(0),
            }
            await self._out.put(
                {
                    "type": "control_request",
                    "request_id": f"r{len(self._hooks)}",
                    "request": {
                        "subtype": "hook_callback",
                        "callback_id": self._ids[hook["hook_event_name"]],
                        "input": hook,
                        "tool_use_id": None,
                    },
                }
            )
        else:
            await self._out.put(
                {
                    "type": "result",
                    "subtype": "success",
                    "duration_ms": 1,
                    "duration_api_ms": 1,
                    "is_error": False,
                    "num_turns": 1,
                    "session_id": self.session,
                    "result": "",
                }
            )

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Messages for the SDK."""
        while (message := await self._out.get()) is not None:
            yield message

    async def close(self) -> None:
        await self._out.put(None)

    def is_ready(self) -> bool:
        return True

    async def end_input(self) -> None:
        """Nothing to do."""


async def session(beside: SessionMemory, name: str, hooks: Sequence[Hook]) -> list[Any]:
    """What the hooks of one session answered."""
    transport = Scripted(name, hooks)
    async with ClaudeSDKClient(
        ClaudeAgentOptions(hooks=beside.hooks()), transport=transport
    ) as client:
        async for _ in client.receive_response():
            pass
    return transport.answers


def asked(words: str) -> Hook:
    """The user says something."""
    return {"hook_event_name": "UserPromptSubmit", "prompt": words}


async def days(folder: Path) -> list[Any]:
    """What hooks answered on two days."""
    answers = []
    with memory(folder) as mind:
        for day, words in (
            ("monday", "Remember that prices are always kept in cents."),
            ("tuesday", "In which unit do we keep prices?"),
        ):
            with SessionMemory(mind, SPACE) as beside:
                answers += await session(
                    beside,
                    day,
                    [
                        asked(words),
                        {
                            "hook_event_name": "Stop",
                            "stop_hook_active": False,
                            "last_assistant_message": "Yes.",
                        },
                    ],
                )
            mind.settle()  # a night passes
    return answers


def main(folder: Path) -> list[Any]:
    return asyncio.run(days(folder))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(main(Path(place)))
