"""Which of two versions of a memory holds, and the changes that make it so.

A version that was made knowing the other follows it. Where both sides have changed one since they
last agreed, the later holds; the other's words stay in the history, where `reverie memory history`
shows them, and the pair is reported. Use is never lost: the version that was used more tells it.
The same on both sides of the wire. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.core.authorship import WRITER
from reverie.core.model import Add, Change, Memory, Record, Retire, Revise
from reverie.storage.row_codec import FIELDS
from reverie.sync.wire_format import CONTENT_FIELDS, USE_FIELDS, digest_content

RETIRED_FIELDS = frozenset(("retired_at", "retired_why", "superseded_by"))


class Merge(NamedTuple):
    """What becomes of a memory for which another version has come."""

    # added, revised, retired, same, won (the one that came), lost (it)
    result: str
    changes: tuple[Change, ...] = ()


def version_time(memory: Memory) -> float:
    """When a version was made."""
    return max(memory.updated_at, memory.retired_at or 0.0)


def is_later(came: Memory, known: Memory) -> bool:
    """True if the version that came holds against the known one; equal times go by digest, so that
    both sides say the same.
    """
    mine, theirs = version_time(known), version_time(came)
    if mine != theirs:
        return theirs > mine
    return digest_content(came) > digest_content(known)


def merge_version(
    came: Memory,
    known: Memory | None,
    *,
    follows: bool,
    had: Iterable[str] = (),
) -> Merge:
    """What becomes of `known` when the version `came` arrives.

    `follows`: it was made knowing ours. `had` are digests of what the memory was before, asked only
    where both sides have changed it: a version that we had is no news.
    """
    if known is None:
        return Merge("added", (Add(came),))
    if digest_content(came) == digest_content(known):
        used = pick_use(came, known)
        return Merge("same", (Revise(known.id, used),) if used else ())
    if follows:
        return Merge(name_revision(came, known), revise_to(known, came))
    if is_later(came, known):
        return Merge("won", revise_to(known, came))
    if digest_content(came) in had:
        return Merge("same")
    # There and back again: so what came stands in the history.
    there = revise_to(known, came)
    back = build_revision_fields(came, known, CONTENT_FIELDS | {"updated_at"})
    return Merge("lost", (*there, Revise(known.id, back)))


def name_revision(came: Memory, known: Memory) -> str:
    """What following a version is called."""
    return "retired" if known.active and not came.active else "revised"


def revise_to(known: Memory, came: Memory) -> tuple[Change, ...]:
    """The changes after which a memory says what came; what used it more tells its use."""
    fields = build_revision_fields(known, came, CONTENT_FIELDS | {"updated_at"})
    fields |= pick_use(came, known)
    if known.active and came.retired_at is not None:
        rest = {name: value for name, value in fields.items() if name not in RETIRED_FIELDS}
        retire = build_retirement(came)
        return (Revise(known.id, rest), retire) if rest else (retire,)
    return (Revise(known.id, fields),)


def build_retirement(came: Memory) -> Retire:
    """The change by which a memory is retired as another version of it was."""
    return Retire(came.id, came.retired_at or 0.0, came.retired_why, came.superseded_by)


def build_revision_fields(
    known: Memory,
    came: Memory,
    names: Iterable[str],
) -> dict[str, Any]:
    """The fields in which one version differs from another.

    Who contributed a memory stays with it, whatever the details say otherwise.
    """
    fields = {name: getattr(came, name) for name in names}
    stamp = known.details.get(WRITER)
    if stamp is not None and WRITER not in came.details:
        fields["details"] = {**came.details, WRITER: stamp}
    return {name: value for name, value in fields.items() if value != getattr(known, name)}


def pick_use(came: Memory, known: Memory) -> dict[str, Any]:
    """The fields of use in which a version that was used more differs; empty if ours was."""
    if measure_use(came) <= measure_use(known):
        return {}
    return {
        name: getattr(came, name)
        for name in USE_FIELDS
        if getattr(came, name) != getattr(known, name)
    }


def measure_use(memory: Memory) -> tuple[float, ...]:
    """How much a memory was used, to be compared."""
    return (
        memory.access_count,
        memory.strength,
        memory.last_accessed_at or 0.0,
        len(memory.reinforcements),
        memory.confidence,
    )


def rewind(memory: Memory, records: Sequence[Record], seq: int) -> Memory | None:
    """The memory as it was after the event `seq`, by its history; None before there was any."""
    for record in reversed(records):
        if record.event.seq <= seq:
            break
        if record.op == "add":
            return None
        if record.op != "link":
            memory = memory._replace(**known_fields(record.before))
    return memory


def list_past_digests(memory: Memory, records: Sequence[Record]) -> list[str]:
    """Digests of what a memory was before, the latest first."""
    digests = []
    for record in reversed(records):
        if record.op in ("revise", "retire"):
            memory = memory._replace(**known_fields(record.before))
            digests.append(digest_content(memory))
    return digests


def known_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are fields of a memory."""
    return {name: value for name, value in values.items() if name in FIELDS}


def changes_content(record: Record) -> bool:
    """True if a record of history altered what a memory says."""
    return record.op == "add" or not CONTENT_FIELDS.isdisjoint(record.before)
