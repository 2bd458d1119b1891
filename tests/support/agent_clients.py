# mypy: no-check-untyped-defs
"""Real agents from npm, and a model on loopback that says what the test wants.

A client is fetched once into the cache (REVERIE_TEST_CACHE, as the model's weights are); where npm
is missing or there is no network, whoever needs it is skipped with the reason.
"""

import itertools
import json
import os
import subprocess
import tempfile
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.support.helpers import install_npm_packages

PACKAGES = {"claude": "@anthropic-ai/claude-code@2.1.197", "codex": "@openai/codex@0.169.0"}
PATIENCE = 90
CALLS = itertools.count(1)  # two messages, or two calls, of one name would be joined into one


def find_client_program(name):
    """The path of a client's program; skips where it cannot be had."""
    package = PACKAGES[name]
    cache = (
        Path(os.environ.get("REVERIE_TEST_CACHE") or tempfile.gettempdir())
        / "npm"
        / package.replace("/", "-")
    )
    program = cache / "node_modules" / ".bin" / name
    if not program.exists():
        install_npm_packages(cache, package)
        postinstall = cache / "node_modules" / "@anthropic-ai" / "claude-code" / "install.cjs"
        if postinstall.exists():
            subprocess.run(
                ["node", str(postinstall)], capture_output=True, timeout=300, check=False
            )
    if subprocess.run(
        [str(program), "--version"], capture_output=True, timeout=60, check=False
    ).returncode:
        pytest.skip(f"{package} does not run here")
    return program


def scripted_model_handler(answer, asked):
    """A model: `answer(request)` gives a text, or (tool, input) for a call of a tool. Every request
    goes to `asked`.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def reply(self, body, kind="application/json"):
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self):
            self.reply(b"")

        def do_GET(self):
            self.reply(b'{"data": [], "models": []}')

        def do_POST(self):
            request = json.loads(
                self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}"
            )
            if "count_tokens" in self.path:
                return self.reply(b'{"input_tokens": 100}')
            asked.append(request)
            events = (to_openai_stream if "responses" in self.path else to_anthropic_stream)(
                answer(request)
            )
            if request.get("stream"):
                lines = (f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
                return self.reply("".join(lines).encode(), "text/event-stream")
            return self.reply(json.dumps(to_anthropic_message(answer(request))).encode())

    return Handler


def to_anthropic_message(said):
    return {
        "id": f"msg_{next(CALLS)}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
        "content": [{"type": "text", "text": said if isinstance(said, str) else ""}],
    }


def to_anthropic_stream(said):
    """An answer as Anthropic streams it."""
    start = {**to_anthropic_message(""), "content": [], "stop_reason": None}
    if isinstance(said, str):
        block, delta, stop = (
            {"type": "text", "text": ""},
            {"type": "text_delta", "text": said},
            "end_turn",
        )
    else:
        block = {"type": "tool_use", "id": f"toolu_{next(CALLS)}", "name": said[0], "input": {}}
        delta, stop = {"type": "input_json_delta", "partial_json": json.dumps(said[1])}, "tool_use"
    return [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": stop, "stop_sequence": None},
            "usage": {"output_tokens": 3},
        },
        {"type": "message_stop"},
    ]


def to_openai_stream(said):
    """An answer as OpenAI's Responses stream it."""
    if isinstance(said, str):
        item = {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "content": [{"type": "output_text", "text": said}],
        }
    else:
        item = {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "c1",
            "name": said[0],
            "arguments": json.dumps(said[1]),
        }
    usage = {
        "input_tokens": 10,
        "input_tokens_details": None,
        "output_tokens": 2,
        "output_tokens_details": None,
        "total_tokens": 12,
    }
    return [
        {"type": "response.created", "response": {"id": "r"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "r", "usage": usage}},
    ]


def conversation_text(request):
    """Everything that a request tells the model of the conversation."""
    return json.dumps(request.get("messages") or request.get("input"), ensure_ascii=False)


def has_tool_result(request):
    """Whether a tool has answered already."""
    return "tool_result" in conversation_text(
        request
    ) or "function_call_output" in conversation_text(request)
