"""Anthropic's memory tool over Reverie: the files that Claude keeps under /memories are memories.

    pip install 'reverie[anthropic]' && python examples/adapters/with_anthropic.py

The API is scripted, so that this runs without a key; take `Anthropic()` in its place.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
from anthropic import Anthropic

from reverie.interfaces.frameworks.anthropic import MemoryTool
from reverie.testing import memory

SPACE = "me/shop"
CALLS: tuple[dict[str, Any], ...] = (
    {"command": "create", "path": "/memories/units.md", "file_text": "Prices are kept in pence.\n"},
    {
        "command": "str_replace",
        "path": "/memories/units.md",
        "old_str": "pence",
        "new_str": "cents",
    },
    {"command": "view", "path": "/memories/units.md"},
    {"command": "view", "path": "/memories/nothing.md"},
)


def answer(content: list[dict[str, Any]], why: str) -> httpx2.Response:
    """A message of Anthropic's API."""
    return httpx2.Response(
        200,
        json={
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-sonnet-5-5",
            "content": content,
            "stop_reason": why,
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    )


def scripted(results: list[Any]) -> Anthropic:
    """An API that makes these calls one after the other; `results` gets what it is sent back."""
    calls: Iterator[tuple[int, dict[str, Any]]] = iter(enumerate(CALLS))

    def served(request: httpx2.Request) -> httpx2.Response:
        last = json.loads(request.content)["messages"][-1]
        if isinstance(last["content"], list):
            results.extend(last["content"])
        if (call := next(calls, None)) is None:
            return answer([{"type": "text", "text": "Noted."}], "end_turn")
        return answer(
            [{"type": "tool_use", "id": f"toolu_{call[0]}", "name": "memory", "input": call[1]}],
            "tool_use",
        )

    return Anthropic(
        api_key="none", http_client=httpx2.Client(transport=httpx2.MockTransport(served))
    )


def main(folder: Path) -> list[str]:
    """What the model was answered, and what `recall` knows of it."""
    results: list[Any] = []
    with memory(folder) as mind:
        runner = scripted(results).beta.messages.tool_runner(
            model="claude-sonnet-5-5",
            max_tokens=1_000,
            tools=[MemoryTool(mind, SPACE)],
            messages=[{"role": "user", "content": "Note that prices are kept in cents."}],
        )
        runner.until_done()
        known = [hit.memory.text for hit in mind.recall("prices in cents", space=SPACE)]
    return [*(str(result["content"]) for result in results), *known]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print("\n".join(main(Path(place))))
