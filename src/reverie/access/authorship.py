"""The server's stamp on a memory: which user wrote it, with which key, from which device.

`details["writer"]` is set by the server alone: what a client sends under that name is replaced. A
colleague's words in a shared space count as others' (provenance "untrusted") for each reader until
that reader, or an administrator for all, trusts the space. What is stored keeps the provenance that
the writer gave; only what a reader is shown is lowered, so that a trust given later holds for what
was written before. Pure.
"""

from __future__ import annotations

from typing import Any

from reverie.access.callers import Caller
from reverie.access.rights import is_private
from reverie.core.model import TRUST_BY_PROVENANCE, UNTRUSTED, Memory

WRITER = "writer"


def stamp_writer(memory: Memory, caller: Caller, origin: str = "") -> Memory:
    """The memory with the caller as its writer; `origin` is the device or program, for people."""
    stamp = {"user": caller.user, "key": caller.key_id, **({"origin": origin} if origin else {})}
    details = {**memory.details, WRITER: stamp}
    return memory._replace(details=details, speaker=memory.speaker or caller.user)


def keep_stamp(memory: Memory, before: Memory) -> Memory:
    """The memory with the writer that it had before: an edit does not change who wrote it first."""
    details: dict[str, Any] = {n: v for n, v in memory.details.items() if n != WRITER}
    if WRITER in before.details:
        details[WRITER] = before.details[WRITER]
    return memory._replace(details=details)


def writer_of(memory: Memory) -> str:
    """The user who wrote a memory, as the server stamped it; "" if it did not."""
    stamp = memory.details.get(WRITER)
    name = stamp.get("user") if isinstance(stamp, dict) else ""
    return name if isinstance(name, str) else ""


def as_read_by(memory: Memory, caller: Caller) -> Memory:
    """The memory as this reader believes it: a colleague's in a space that they do not trust counts
    as others' words.
    """
    if (
        is_private(memory.space)
        or writer_of(memory) == caller.user
        or memory.provenance == UNTRUSTED
        or caller.is_trusted(memory.space)
    ):
        return memory
    trust = TRUST_BY_PROVENANCE[UNTRUSTED]
    return memory._replace(
        provenance=UNTRUSTED,
        trust=min(memory.trust, trust),
        confidence=min(memory.confidence, trust),
    )
