"""Speaking HTTP with a team's server. The standard library does: the base install has no client.

Certificates are checked. A redirect is never followed, so the key goes to the host that was named
and no other, and over plain `http://` to this machine alone. Connecting is waited for less long
than an answer. An answer that is larger than one may be is not read to its end. Who calls says how
often to try and how long to pause: the client draws no lots.
"""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import ssl
import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from reverie.core.clock import sleep, ticks
from reverie.core.errors import (
    AccessDenied,
    BadInput,
    LoginPending,
    NotFound,
    Overwritten,
    ServerAway,
    ServerFull,
    Unauthenticated,
)
from reverie.core.model import EMPTY_MAPPING
from reverie.sync.wire_format import (
    Batch,
    Page,
    PushResult,
    batch_to_wire,
    page_from_wire,
    results_from_wire,
)

CONNECT_SECONDS, ANSWER_SECONDS = 3.0, 30.0
MAX_ANSWER_BYTES = 64_000_000
GZIP_FROM = 1_000  # bytes; what is shorter goes as it is
LOOPBACK = frozenset(("localhost", "127.0.0.1", "::1"))
PREFIX = "/v1"
# Answers that another try may mend.
PASSING = frozenset((429, 500, 502, 503, 504))


class Waits(NamedTuple):
    """How long to wait for what."""

    connect: float = CONNECT_SECONDS
    answer: float = ANSWER_SECONDS
    tries: int = 1
    # seconds before the try of this number (1, 2, …)
    pause: Callable[[int], float] = lambda number: min(30.0, 0.5 * 2**number)


USUAL_WAITS = Waits()


class ServerRequest(NamedTuple):
    """What is asked of a server."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = EMPTY_MAPPING


class ServerAnswer(NamedTuple):
    """What a server answered."""

    status: int
    values: Mapping[str, Any]
    retry_after: float = 0.0
    data: bytes = b""  # as it came, unpacked


class ServerAddress(NamedTuple):
    """Where a server is."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def url(self) -> str:
        """As it is written down: no slash at the end."""
        usual = self.port == (443 if self.scheme == "https" else 80)
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{'' if usual else f':{self.port}'}{self.path}"


def parse_server_url(url: str) -> ServerAddress:
    """The address of a server; BadInput for what is none, or would send a key unencrypted."""
    given = url if "://" in url else f"{usual_scheme(url)}://{url}"
    try:
        parts = urlsplit(given)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError as err:
        raise BadInput(f"{url!r} is no address of a server: {err}") from err
    if parts.scheme not in ("https", "http") or not host or parts.username or parts.query:
        raise BadInput(f"{url!r} is no address of a server. One looks like https://memory.acme.org")
    if parts.scheme == "http" and host not in LOOPBACK:
        raise BadInput(f"{url!r} is not encrypted, so it may only be on this machine. Use https://")
    default = 443 if parts.scheme == "https" else 80
    return ServerAddress(parts.scheme, host, port or default, parts.path.rstrip("/"))


def usual_scheme(place: str) -> str:
    """What to speak with a host that was named without it: on this machine a server that is tried
    out has no certificate.
    """
    host = urlsplit(f"//{place}").hostname or ""
    return "http" if host.lower() in LOOPBACK else "https"


class ServerClient:
    """One server, spoken to with one key. Use it from one thread at a time."""

    def __init__(self, url: str, key: str, waits: Waits = USUAL_WAITS) -> None:
        self.address = parse_server_url(url)
        self.waits = waits
        self._key = key
        self._connection: http.client.HTTPConnection | None = None

    def whoami(self) -> Mapping[str, Any]:
        """Whose key it is: {"user", "tenant", …}."""
        return self.ask("GET", "/whoami")

    def call(self, path: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """What a verb of the server answers."""
        return self.ask("POST", path, arguments)

    def push(self, batch: Batch) -> tuple[PushResult, ...]:
        """Push a batch; what became of each item, once all of it is durable there."""
        return results_from_wire(self.ask("POST", "/sync/push", batch_to_wire(batch)))

    def pull(self, token: str, device: str, spaces: tuple[str, ...], limit: int) -> Page:
        """The next page of what changed."""
        query = {"after": token, "device": device, "limit": limit, "space": spaces}
        return page_from_wire(self.ask("GET", f"/sync/pull?{urlencode(query, doseq=True)}"))

    def status(self) -> Mapping[str, Any]:
        """What the server says of itself and of the caller's spaces."""
        return self.ask("GET", "/sync/status")

    def ask(
        self,
        method: str,
        path: str,
        values: Mapping[str, Any] | None = None,
    ) -> Mapping[str, Any]:
        """The answer as values. Raises ServerAway, Unauthenticated, or BadInput with what the
        server says is wrong.
        """
        if values is None:
            return read_answer(self.address, self._repeat(ServerRequest(method, path)))
        body = json.dumps(values, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/json"}
        if len(body) > GZIP_FROM:
            body = gzip.compress(body, 6)
            headers["Content-Encoding"] = "gzip"
        return read_answer(self.address, self._repeat(ServerRequest(method, path, body, headers)))

    def list_files(self) -> dict[str, tuple[int, str]]:
        """The user's own sealed files: name → (size, digest)."""
        listed = self.ask("GET", "/sync/files").get("files")
        return {
            str(one["name"]): (int(one["size"]), str(one["digest"]))
            for one in (listed if isinstance(listed, list) else ())
            if isinstance(one, Mapping) and {"name", "size", "digest"} <= one.keys()
        }

    def read_file(self, name: str) -> bytes:
        """What one of the user's sealed files holds; NotFound if there is none."""
        answer = self._repeat(ServerRequest("GET", f"/sync/files/{name}"))
        read_answer(self.address, answer)
        return answer.data

    def write_file(self, name: str, data: bytes, *, before: str = "") -> str:
        """Put a sealed file there, as the first of its name or in the place of the one with the
        digest `before`; its digest. Overwritten if another one lies there.
        """
        condition = {"If-Match": f'"{before}"'} if before else {"If-None-Match": "*"}
        headers = {"Content-Type": "application/octet-stream", **condition}
        request = ServerRequest("PUT", f"/sync/files/{name}", data, headers)
        return str(read_answer(self.address, self._repeat(request)).get("digest") or "")

    def remove_file(self, name: str) -> None:
        """Take one of the user's sealed files away, if it is there."""
        self.ask("DELETE", f"/sync/files/{name}")

    def _repeat(self, request: ServerRequest) -> ServerAnswer:
        """The answer to a request, asked as often as one waits."""
        number = 1
        while True:
            try:
                answer = self._try(request)
            except ServerAway:
                if number >= self.waits.tries:
                    raise
                sleep(self.waits.pause(number))
            else:
                is_final = answer.status not in PASSING or is_full(answer)
                if is_final or number >= self.waits.tries:
                    return answer
                sleep(answer.retry_after or self.waits.pause(number))
            number += 1

    def close(self) -> None:
        """End the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _try(self, request: ServerRequest) -> ServerAnswer:
        end = ticks() + self.waits.answer
        try:
            was_open = self._connection is not None
            try:
                return self._exchange(request, end)
            except (http.client.RemoteDisconnected, ConnectionError):
                # A kept connection that the server has closed says nothing about the server. All
                # that is asked may be asked twice.
                if not was_open:
                    raise
                self.close()
                return self._exchange(request, end)
        except ssl.SSLCertVerificationError as err:
            self.close()
            raise ServerAway(
                f"{self.address.url} cannot prove who it is: {err.verify_message}. Nothing was sent"
            ) from err
        except (OSError, http.client.HTTPException, zlib.error, EOFError) as err:
            self.close()
            why = "no answer in time" if isinstance(err, TimeoutError) else str(err)
            raise ServerAway(
                f"{self.address.url} does not answer: {why or type(err).__name__}"
            ) from err

    def _exchange(self, request: ServerRequest, end: float) -> ServerAnswer:
        connection = self._open()
        headers = {"Accept": "application/json", "Accept-Encoding": "gzip", **request.headers}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        where = f"{self.address.path}{PREFIX}{request.path}"
        connection.request(request.method, where, request.body, headers)
        response = connection.getresponse()
        data = self._read(response, end)
        if response.getheader("Content-Encoding") == "gzip":
            data = unzip(data)
        if response.will_close:
            self.close()
        return ServerAnswer(
            response.status,
            parse_values(data),
            parse_seconds(response.getheader("Retry-After")),
            data,
        )

    def _open(self) -> http.client.HTTPConnection:
        if self._connection is None:
            where = self.address
            if where.scheme == "https":
                connection: http.client.HTTPConnection = http.client.HTTPSConnection(
                    where.host,
                    where.port,
                    timeout=self.waits.connect,
                    context=ssl.create_default_context(),
                )
            else:
                connection = http.client.HTTPConnection(
                    where.host, where.port, timeout=self.waits.connect
                )
            connection.connect()
            connection.sock.settimeout(self.waits.answer)
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._connection = connection
        return self._connection

    def _read(self, response: http.client.HTTPResponse, end: float) -> bytes:
        """The whole answer, however slowly it drips, but not longer than one waits."""
        parts, size = [], 0
        while part := response.read1(65_536):
            parts.append(part)
            size += len(part)
            if size > MAX_ANSWER_BYTES:
                raise http.client.HTTPException("the answer is too large")
            if ticks() > end:
                raise TimeoutError
        # All of it is read, and yet `read1` leaves the answer open.
        response.close()
        return b"".join(parts)


def is_full(answer: ServerAnswer) -> bool:
    """True if the server keeps as much as it may, which no other try mends."""
    return str(answer.values.get("type", "")).endswith(":quota-exceeded")


def unzip(data: bytes) -> bytes:
    """An answer unpacked, up to the size that one may have."""
    unpacker = zlib.decompressobj(wbits=31)
    plain = unpacker.decompress(data, MAX_ANSWER_BYTES)
    if unpacker.unconsumed_tail:
        raise http.client.HTTPException("the answer is too large")
    return plain + unpacker.flush()


def parse_values(data: bytes) -> Mapping[str, Any]:
    """The values of an answer; empty for what is no object."""
    try:
        values = json.loads(data) if data else {}
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def parse_seconds(text: str | None) -> float:
    """How long a server asks to wait, a minute at most; 0 if it does not say."""
    return min(60.0, float(text)) if text and text.isascii() and text.isdigit() else 0.0


def read_answer(where: ServerAddress, answer: ServerAnswer) -> Mapping[str, Any]:
    """The values of an answer, or the error that it is."""
    if answer.status in (200, 201):
        result = answer.values.get("result", answer.values)
        return result if isinstance(result, Mapping) else {"items": result}
    why = read_reason(answer.values)
    if str(answer.values.get("type", "")).endswith(":login-pending"):
        raise LoginPending(why, retry_after=answer.retry_after)
    if answer.status == 412:
        raise Overwritten(f"{where.url}: {why}")
    if answer.status == 403:
        raise AccessDenied(f"{where.url}: {why or 'you may not do that'}")
    if answer.status == 401:
        raise Unauthenticated(
            f"{where.url} does not accept this key. Check that it was copied whole; it may also "
            f"have been revoked or have run out. To get a new one: reverie login {where.url}"
        )
    if is_full(answer):
        raise ServerFull(f"{where.url} takes no more: {why}")
    if answer.status in PASSING:
        raise ServerAway(f"{where.url} cannot answer just now: {why or answer.status}")
    if 300 <= answer.status < 400:
        raise ServerAway(f"{where.url} leads elsewhere, where no key is sent. Name that address")
    if answer.status == 404:
        if not why:
            raise ServerAway(f"There is no Reverie server at {where.url}")
        raise NotFound(f"{where.url}: {why}")
    raise BadInput(f"{where.url}: {why or f'HTTP {answer.status}'}")


def read_reason(values: Mapping[str, Any]) -> str:
    """Why a server refuses something, as it says."""
    error = values.get("error")
    said = error.get("message") if isinstance(error, Mapping) else error
    return " ".join(str(said or values.get("detail") or values.get("message") or "").split())[:300]
