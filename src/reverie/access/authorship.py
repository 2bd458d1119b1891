"""The server's stamp on a memory: which user wrote it, with which key, from which device.

`details["writer"]` is set by the server alone: what a client sends under that name is replaced. A
colleague's words in a shared space count as others' (provenance "untrusted") for each reader until
that reader, or an administrator for all, trusts the space. What is stored keeps the provenance that
the writer gave; only what a reader is shown is lowered, so that a trust given later holds for what
was written before.

A memory keeps whoever wrote it first, for erasure and legal holds. Who put other words into it
since stands in the stamp under EDITORS, and then it is its writer's own word no longer: what a
colleague made of it must not reach the writer's assistant as what the writer said. Pure.
"""

from __future__ import annotations

from typing import Any

from reverie.access.callers import Caller
from reverie.access.rights import is_private
from reverie.core.authorship import WRITER
from reverie.core.model import TRUST_BY_PROVENANCE, UNTRUSTED, Memory

EDITORS = "edited_by"  # in the stamp: users who changed what it says, without the writer
MAX_EDITORS = 20  # named in a stamp
# What an edit must change to be somebody's words: not use, space or whether it counts.
SAID_FIELDS = ("text", "title", "kind", "triggers", "provenance")


def stamp_writer(memory: Memory, caller: Caller, origin: str = "") -> Memory:
    """The memory with the caller as its writer; `origin` is the device or program, for people."""
    stamp = {"user": caller.user, "key": caller.key_id, **({"origin": origin} if origin else {})}
    details = {**memory.details, WRITER: stamp}
    return memory._replace(details=details, speaker=memory.speaker or caller.user)


def stamp_edit(memory: Memory, before: Memory, editor: str) -> Memory:
    """The edited memory with the writer that it had before, whoever edits it; another editor's
    name is noted if they changed what it says, and goes when the writer words it anew.
    """
    details: dict[str, Any] = {n: v for n, v in memory.details.items() if n != WRITER}
    given = before.details.get(WRITER)
    stamp = {n: v for n, v in given.items() if n != EDITORS} if isinstance(given, dict) else {}
    if editors := list_editors(memory, before, editor):
        stamp[EDITORS] = editors
    if stamp:
        details[WRITER] = stamp
    return memory._replace(details=details)


def list_editors(memory: Memory, before: Memory, editor: str) -> list[str]:
    """Who changed what a memory says without being its writer, once it is as `memory`."""
    known = editors_of(before)
    if editor == writer_of(before):
        return [] if memory.text != before.text else known
    if all(getattr(memory, name) == getattr(before, name) for name in SAID_FIELDS):
        return known
    return [*(name for name in known if name != editor), editor][-MAX_EDITORS:]


def editors_of(memory: Memory) -> list[str]:
    """Who changed what a memory says without being its writer, the latest last."""
    stamp = memory.details.get(WRITER)
    names = stamp.get(EDITORS) if isinstance(stamp, dict) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def is_word_of(memory: Memory, user: str) -> bool:
    """True if a user wrote a memory and nobody else has put other words into it since."""
    return writer_of(memory) == user and not editors_of(memory)


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
        or is_word_of(memory, caller.user)
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
