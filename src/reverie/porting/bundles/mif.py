"""Memory Interchange Format 2.0 (`mif_version`): a JSON document with a list of memories.

Of the drafts that there are it is the one with libraries and a schema to check against. Memories
that count are written; the links between them, for which it has no weights, stand under
`vendor_extensions`. The log, vectors and what was put away stay out. An id there is a UUID: it
follows from ours, which stands beside it as `external_id`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

VERSION = "2.0"
GENERATOR = {"name": "reverie", "version": "1"}
DETAILS = ("title", "space", "files", "speaker", "trust", "valid_from", "valid_to")


def write(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The document, a memory on each line."""
    yield f'{{"mif_version": "{VERSION}", "generator": {json.dumps(GENERATOR)}, "memories": ['
    links: list[dict[str, Any]] = []
    written: set[str] = set()
    for row in rows:
        if row["type"] == "memory" and row.get("retired_at") is None:
            yield f"{',' if written else ''}\n{json.dumps(to_mif_memory(row), ensure_ascii=False)}"
            written.add(row["id"])
        elif row["type"] == "edge":
            links.append({name: row[name] for name in ("src", "rel", "dst", "weight")})
    # Links lead to tags and files too, which are no memories.
    kept = [one for one in links if {one["src"], one["dst"]} <= written]
    for one in kept:
        one |= {"src": to_mif_id(one["src"]), "dst": to_mif_id(one["dst"])}
    extensions = {"reverie": {"links": kept}}
    yield f'\n], "vendor_extensions": {json.dumps(extensions, ensure_ascii=False)}}}\n'


def to_mif_memory(row: Mapping[str, Any]) -> dict[str, Any]:
    """A memory of an export as one of the document's."""
    metadata = {name: row[name] for name in DETAILS if row.get(name) not in (None, "", [], ())}
    memory: dict[str, Any] = {
        "id": to_mif_id(row["id"]),
        "content": row["text"],
        "created_at": to_mif_time(row["at"]),
        "memory_type": row.get("kind", "fact"),
        "tags": list(row.get("tags", ())),
        "metadata": metadata,
        "source": {"source_type": row.get("provenance", "extracted")},
        "external_id": row["id"],
    }
    if row.get("session"):
        memory["source"]["session_id"] = row["session"]
    if row.get("updated_at") is not None:
        memory["updated_at"] = to_mif_time(row["updated_at"])
    return memory


def to_mif_id(id: str) -> str:
    """A UUID of version 4 that follows from an id."""
    return str(UUID(bytes=sha256(id.encode()).digest()[:16], version=4))


def to_mif_time(at: float) -> str:
    """A moment as ISO 8601, in UTC."""
    return datetime.fromtimestamp(at, UTC).isoformat()
