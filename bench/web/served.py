"""A real `reverie web`, and a client that counts what its answers take: on the clock, of processors
and on the wire.
"""

import gzip
import json
import re
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple, Self
from urllib.parse import urljoin, urlsplit

from bench.web.starts import SPACE, read_processor_seconds

# No page: what the same server takes for an answer without any content.
BARE = "/no-such-page"
QUIET_SECONDS, MOST_SECONDS = 0.4, 60.0
# Of a second, in which a server that does nothing may use so much.
IDLE = 0.002
ASSET = re.compile(rb'(?:src|href)="(/static/[^"]+)"')


class Answer(NamedTuple):
    """What one request took."""

    status: int
    first_byte: float  # seconds
    processor: float  # seconds of the server's processors, until the whole answer was there
    packed: int  # bytes of the body on the wire
    body: bytes


class ServedHome:
    """`reverie web` of a home, in a process of its own. To be used as a context manager."""

    def __init__(self, home: Path) -> None:
        command = [sys.executable, "-m", "reverie", "--home", str(home), "--space", SPACE, "--json"]
        self._process = subprocess.Popen(
            [*command, "web", "--port", "0", "--no-open"],
            stdout=subprocess.PIPE,
            cwd=home,
        )
        assert self._process.stdout is not None
        self.address = json.loads(self._process.stdout.readline())["address"]
        self._at = urlsplit(self.address)
        self._connection = HTTPConnection(self._at.hostname or "", self._at.port, timeout=120)
        self._headers = {"Accept-Encoding": "gzip", "Accept": "text/html"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.terminate()
        self._process.wait()

    def enter(self) -> None:
        """Get the cookie."""
        self._connection.request("GET", f"{self._at.path}?{self._at.query}", headers=self._headers)
        answer = self._connection.getresponse()
        answer.read()
        self._headers["Cookie"] = (answer.getheader("set-cookie") or "").partition(";")[0]

    def processor_seconds(self) -> float:
        """What the server's process has used so far."""
        return read_processor_seconds(self._process.pid)

    def wait_until_quiet(self) -> None:
        """Until the server does nothing any more: what it does by itself is nobody's answer."""
        end = time.monotonic() + MOST_SECONDS
        while time.monotonic() < end:
            before = self.processor_seconds()
            time.sleep(QUIET_SECONDS)
            if self.processor_seconds() - before <= IDLE:
                return

    def get(self, path: str, *, accept: str = "text/html") -> Answer:
        """One request."""
        headers = {**self._headers, "Accept": accept}
        before, start = self.processor_seconds(), time.perf_counter()
        self._connection.request("GET", path, headers=headers)
        answer = self._connection.getresponse()
        first_byte = time.perf_counter() - start
        packed = answer.read()
        processor = self.processor_seconds() - before
        is_packed = answer.getheader("content-encoding") == "gzip"
        body = gzip.decompress(packed) if is_packed else packed
        return Answer(answer.status, first_byte, processor, len(packed), body)

    def weigh(self, path: str) -> dict[str, int]:
        """Compressed bytes of a page and of each file that it names."""
        page = self.get(path)
        weights = {"page": page.packed}
        for found in ASSET.findall(page.body):
            address = urljoin(path, found.decode())
            weights[address.rpartition("/")[2]] = self.get(address, accept="*/*").packed
        return weights
