# mypy: no-check-untyped-defs
"""An endpoint that speaks the OpenAI protocol, played by a real server on the loopback interface."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

import numpy as np
import pytest

from reverie.core.errors import EmbedderUnavailable
from reverie.embedding import open_embedder
from reverie.embedding.remote import BATCH, Endpoint, RemoteEmbedder
from tests.support.helpers import serve_http


def vectors(request):
    """Length 5 vectors that tell the texts apart; listed backwards, as the protocol allows."""
    rows = [
        {"index": i, "embedding": [3.0, 4.0, float(len(text))]}
        for i, text in enumerate(request["input"])
    ]
    return 200, {"data": rows[::-1]}


@contextmanager
def server(*answers, headers=None):
    """Answers in turn, the last one for ever after; `seen` lists (headers, request)."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            seen.append((self.path, dict(self.headers), request))
            answer = answers[min(len(seen), len(answers)) - 1]
            code, body = answer(request) if callable(answer) else answer
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(code)
            for name, value in {"Content-Length": str(len(data)), **(headers or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    with serve_http(Handler) as address:
        yield f"{address}/v1", seen


def remote(url, pauses=None, **more):
    return RemoteEmbedder(
        Endpoint(base_url=url, model="m", **more),
        pause=(pauses if pauses is not None else []).append,
    )


@pytest.mark.proves("X14", "C72", "C73")
def test_rows_are_unit_length_and_in_order():
    """Whatever the order and length of the server's vectors; any server of that protocol will do."""
    with server(vectors) as (url, seen):
        embedder = remote(url, api_key="secret")
        rows = embedder.embed(["a", "bb", ""])

    assert (rows.shape, rows.dtype, embedder.dims) == ((3, 3), np.float32, 3)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert rows[1, 2] > rows[0, 2]
    path, headers, request = seen[0]
    assert (path, headers["Authorization"]) == ("/v1/embeddings", "Bearer secret")
    assert (request["model"], request["input"]) == ("m", ["a", "bb", " "])


@pytest.mark.proves("C73")
def test_gemini_leaves_out_an_index_of_nothing():
    """Its compatible address answers as protocol buffers do; and is known by a short name."""

    def answer(request):
        rows = [{"embedding": [1.0, float(len(text))]} for text in request["input"]]
        return 200, {"data": [rows[0], *({**row, "index": n} for n, row in enumerate(rows[1:], 1))]}

    with server(answer) as (url, _):
        rows = open_embedder(f"gemini:{url}#gemini-embedding-001@2", cache=None).embed(["", "bbb"])
    assert rows[1, 1] > rows[0, 1]

    usual = open_embedder("gemini", cache=None)
    assert usual.endpoint.base_url == "https://generativelanguage.googleapis.com/v1beta/openai"
    assert (usual.endpoint.model, usual.dims) == ("gemini-embedding-001", 3072)


def test_asks_in_batches():
    """No request holds more than the protocol's servers accept."""
    with server(vectors) as (url, seen):
        rows = remote(url).embed(["x" * (i % 7 + 1) for i in range(BATCH * 2 + 1)])

    assert [len(request["input"]) for _, _, request in seen] == [BATCH, BATCH, 1]
    assert rows.shape == (BATCH * 2 + 1, 3)
    np.testing.assert_array_equal(rows[0], rows[7])


def test_broken_text_is_sent_as_valid_unicode():
    """Half a surrogate pair cannot be JSON for every server."""
    with server(vectors) as (url, seen):
        remote(url).embed(["half \ud83d"])
    assert seen[0][2]["input"] == ["half \ufffd"]


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_busy_server_is_asked_again(code):
    """A busy server is asked again after growing pauses, which the caller does not notice."""
    pauses: list[float] = []
    with server((code, {}), (code, {}), vectors) as (url, seen):
        assert remote(url, pauses).embed(["a"]).shape == (1, 3)
    assert (len(seen), pauses) == (3, [0.5, 1.0])


def test_the_server_names_the_pause():
    """Retry-After is obeyed, unless it is longer than anyone would wait."""
    pauses: list[float] = []
    with server((429, {}), vectors, headers={"Retry-After": "2"}) as (url, _):
        remote(url, pauses).embed(["a"])
    with (
        server((429, {}), headers={"Retry-After": "3600"}) as (url, seen),
        pytest.raises(EmbedderUnavailable),
    ):
        remote(url, pauses).embed(["a"])
    assert (pauses, len(seen)) == ([2.0], 1)


def test_a_server_that_stays_down_is_a_clear_error():
    """After three more tries a server that stays down is a clear error."""
    down = pytest.raises(EmbedderUnavailable, match=r"503.*overloaded.*Words keep working")
    with server((503, {"error": "overloaded"})) as (url, seen), down:
        remote(url).embed(["a"])
    assert len(seen) == 4


def test_nobody_there_is_a_clear_error():
    """A refused connection is a clear error."""
    with pytest.raises(EmbedderUnavailable, match="refused"):
        remote("http://127.0.0.1:9").embed(["a"])


def test_a_wrong_key_is_not_tried_again_and_not_shown():
    """The message says where to look, and never what the key was."""
    with (
        server((401, {"error": "bad key"})) as (url, seen),
        pytest.raises(EmbedderUnavailable, match="API key") as caught,
    ):
        remote(url, api_key="sk-very-secret").embed(["a"])
    assert len(seen) == 1
    assert "sk-very-secret" not in str(caught.value) + repr(
        Endpoint(base_url=url, model="m", api_key="sk-very-secret")
    )


def test_a_redirect_is_not_followed():
    """The key and the texts go where the user said and nowhere else."""
    with (
        server(vectors) as (elsewhere, stolen),
        server((302, {}), headers={"Location": elsewhere}) as (url, _),
        pytest.raises(EmbedderUnavailable, match="302"),
    ):
        remote(url, api_key="secret").embed(["a"])
    assert stolen == []


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        {"error": "no"},
        [],
        {"data": []},
        {"data": [{"index": 1, "embedding": [1.0]}]},
        {"data": [{"index": 0, "embedding": "AAAA"}]},
        {"data": [{"index": 0, "embedding": [0.0, 0.0]}]},
        {"data": [{"index": 0, "embedding": [float("nan"), 1.0]}]},
        {"data": [{"index": 0, "embedding": []}]},
    ],
)
def test_a_wrong_answer_is_never_used(body):
    """Too few vectors, no numbers, no direction: an error, not a vector."""
    with server((200, body)) as (url, _), pytest.raises(EmbedderUnavailable):
        remote(url).embed(["a"])


@pytest.mark.proves("X13", "C75")
def test_another_number_of_dimensions_is_refused(tmp_path):
    """What was promised, or what came first, holds: 1,536 or whatever the model has."""
    with server(vectors) as (url, _):
        with pytest.raises(EmbedderUnavailable, match="768"):
            open_embedder(f"openai:{url}#m@768", cache=tmp_path).embed(["a"])
        assert open_embedder(f"openai:{url}#m@3", cache=tmp_path).embed(["a"]).shape == (1, 3)
