"""Scripts, styles and pictures of the pages, at addresses that name their content.

An address holds the hash of the file, so a browser keeps it for good and has a new one as soon as
the file is another. All are small, read once and kept compressed.
"""

from __future__ import annotations

import gzip
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

FOLDER = Path(__file__).parent / "static"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
HASH_CHARS = 12
FOREVER = "public, max-age=31536000, immutable"


class StaticFile(NamedTuple):
    """A file as it is served."""

    type: str
    plain: bytes
    packed: bytes
    hash: str


@cache
def load_static_files() -> dict[str, StaticFile]:
    """All files by name."""
    files = {}
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in TYPES:
            plain = path.read_bytes()
            files[path.name] = StaticFile(
                TYPES[path.suffix],
                plain,
                gzip.compress(plain, 9, mtime=0),
                sha256(plain).hexdigest()[:HASH_CHARS],
            )
    return files


def static_url(name: str) -> str:
    """The address of a file; KeyError for none of ours."""
    return f"/static/{load_static_files()[name].hash}/{name}"


async def serve_static(request: Request) -> Response:
    """A file, for who names its hash."""
    file = load_static_files().get(request.path_params["name"])
    if file is None or file.hash != request.path_params["hash"]:
        return Response("Not found", 404)
    is_packed = "gzip" in request.headers.get("accept-encoding", "")
    headers = {"Cache-Control": FOREVER, "Vary": "Accept-Encoding"}
    if is_packed:
        headers["Content-Encoding"] = "gzip"
    return Response(file.packed if is_packed else file.plain, 200, headers, file.type)
