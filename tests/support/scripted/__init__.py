"""A server on the loopback interface that plays a language model, by either protocol, and answers
as it is told.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

TOKENS = (1_000, 20)  # what every answer says that it took, in and out


class Status(NamedTuple):
    """An answer that is an error."""

    code: int
    message: str = "no"
    retry_after: str = ""
    to: str = ""  # where a redirect leads


class Slow(NamedTuple):
    """An answer that takes its time."""

    text: str
    seconds: float


class Raw(NamedTuple):
    """A body as it stands, perhaps cut off."""

    body: bytes
    length: int = -1


@dataclass
class Script:
    """What the server answers, in turn, the last one for ever after; and what it was asked."""

    answers: list[Any]
    asked: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    url: str = ""

    @property
    def openai(self) -> str:
        """The setting that leads here by OpenAI's protocol."""
        return f"openai:{self.url}/v1#scripted"

    @property
    def anthropic(self) -> str:
        """The setting that leads here by Anthropic's protocol."""
        return f"anthropic:{self.url}#claude-scripted"

    def data(self, call: int = -1) -> str:
        """The user message of a call."""
        content = self.asked[call]["messages"][-1]["content"]
        return content if isinstance(content, str) else "".join(part["text"] for part in content)

    def rows(self, call: int = -1) -> list[dict[str, Any]]:
        """The rows of data of a call."""
        return [json.loads(line) for line in self.data(call).splitlines()[1:-1]]


def body_of(path: str, text: str) -> bytes:
    if "chat/completions" in path:
        message = {"role": "assistant", "content": text}
        value: dict[str, Any] = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "scripted",
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {
                "prompt_tokens": TOKENS[0],
                "completion_tokens": TOKENS[1],
                "total_tokens": sum(TOKENS),
            },
        }
    else:
        value = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "claude-scripted",
            "content": [{"type": "text", "text": text}] if text else [],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": TOKENS[0], "output_tokens": TOKENS[1]},
        }
    return json.dumps(value).encode()


@contextmanager
def scripted(*answers: Any) -> Iterator[Script]:
    """A server that gives these answers: texts, functions of the request, or one of the classes
    above.
    """
    script = Script(list(answers))
    stop = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            script.asked.append(request)
            script.headers.append({name.lower(): value for name, value in self.headers.items()})
            script.paths.append(self.path)
            answer = script.answers[min(len(script.asked), len(script.answers)) - 1]
            self.reply(answer(request) if callable(answer) else answer)

        def reply(self, answer: Any) -> None:
            code, extra = 200, dict[str, str]()
            if isinstance(answer, Slow):
                stop.wait(answer.seconds)
                answer = answer.text
            if isinstance(answer, Status):
                named = {"retry-after": answer.retry_after, "location": answer.to}
                code, extra = answer.code, {name: value for name, value in named.items() if value}
                body = json.dumps({"error": {"message": answer.message, "type": "error"}}).encode()
            else:
                body = answer.body if isinstance(answer, Raw) else body_of(self.path, answer)
            length = answer.length if isinstance(answer, Raw) and answer.length >= 0 else len(body)
            self.send_response(code)
            for name, value in {
                "content-type": "application/json",
                "content-length": str(length),
                **extra,
            }.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            self.close_connection = length != len(body)

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that hung up is part of the play."""

    with Quiet(("127.0.0.1", 0), Handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        script.url = f"http://127.0.0.1:{http.server_port}"
        try:
            yield script
        finally:
            stop.set()
            http.shutdown()
            thread.join()
