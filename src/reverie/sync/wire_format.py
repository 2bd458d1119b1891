"""What goes over the wire between a home and a server: whole memories, and what is no longer there.

A memory goes as the row codec writes it, with its space as the server calls it. Two memories say
the same if their digests are equal: words, kind, validity and whether it counts; not who used it
and how often, when and by whom it was written down, and what the server stamped on it. Sent is
JSON. What cannot be read is refused item by item, with the reason; the rest of a batch goes on.
Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.core.authorship import WRITER
from reverie.core.errors import BadInput, ReverieError
from reverie.core.model import EMPTY_MAPPING, TRUST_BY_PROVENANCE, Memory
from reverie.memory.memory_validation import (
    MAX_TAGS,
    validate_kind,
    validate_space,
    validate_text,
)
from reverie.mirror.shared_lines import OUR_ID
from reverie.porting.store_migration import even_numbers
from reverie.storage.row_codec import FIELDS, memory_from_dict, memory_to_dict

FORMAT = 1
# What using a memory changes. It never makes two memories differ.
USE_FIELDS = ("access_count", "last_accessed_at", "strength", "reinforcements", "confidence")
# What is decided on each side by itself, or says when or by whom rather than what.
OWN_FIELDS = ("conflicts_with", "created_at", "updated_at", "speaker")
CONTENT_FIELDS = frozenset(FIELDS) - frozenset((*USE_FIELDS, *OWN_FIELDS, "id"))
ID_START = "mem_"
MAX_BASES = 200  # of one memory
MAX_ITEMS = 500  # of one batch
MAX_NUMBER = 1e15  # seconds: far beyond every moment, and exact
MAX_BATCH_BYTES = 2_000_000  # of one batch, about; a single memory may be as large
TEXT_FIELDS = ("title", "session", "speaker", "retired_why")
NUMBER_FIELDS = ("at", "created_at", "updated_at", "trust", "confidence", "salience")
OPTIONAL_NUMBERS = ("last_accessed_at", "valid_from", "valid_to", "expires_at", "retired_at")
LIST_FIELDS = ("tags", "files", "triggers", "conflicts_with")


class PushedMemory(NamedTuple):
    """A memory as a device has it, and digests of what it last knew the server to have: one for
    each space that this may have been in there.
    """

    memory: Memory
    bases: tuple[str, ...] = ()


class PurgedMemory(NamedTuple):
    """A memory that was erased for good, and the space that it was in on the server."""

    id: str
    space: str


class Batch(NamedTuple):
    """What a device pushes at once."""

    batch: str
    device: str
    memories: tuple[PushedMemory, ...] = ()
    purged: tuple[PurgedMemory, ...] = ()
    # shared spaces that are no longer linked, and which nothing is to leave
    stay: tuple[str, ...] = ()
    # (id, why) of what could not be read
    refused: tuple[tuple[str, str], ...] = ()


class PushResult(NamedTuple):
    """What became of one item on the server."""

    id: str
    # added, revised, retired, same, kept, moved, purged, won, lost (both sides had changed it),
    # gone (it was purged there), refused
    result: str
    why: str = ""
    # of what won: what the server had, so that the history there is told here too
    was: Memory | None = None


class Page(NamedTuple):
    """Part of what changed on the server."""

    memories: tuple[Memory, ...] = ()
    purged: tuple[PurgedMemory, ...] = ()
    # that have left the space, where the reader may not see them any more
    left: tuple[PurgedMemory, ...] = ()
    next: str = ""
    more: bool = False


def digest_content(memory: Memory) -> str:
    """A digest of what a memory says and whether it counts."""
    said = {
        name: even_numbers(value)
        for name, value in memory_to_dict(memory).items()
        if name in CONTENT_FIELDS
    }
    details = said.get("details")
    if isinstance(details, dict) and WRITER in details:
        said["details"] = {name: one for name, one in details.items() if name != WRITER}
    if not said.get("details"):
        said.pop("details", None)
    text = json.dumps(said, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def memory_to_wire(memory: Memory) -> dict[str, Any]:
    """A memory as it is sent."""
    return memory_to_dict(memory._replace(conflicts_with=()))


def memory_from_wire(data: object) -> Memory:
    """A memory that was sent, checked; BadInput names what is wrong with it."""
    if not isinstance(data, Mapping):
        raise BadInput("It is no memory")
    if not isinstance(data.get("id"), str) or not OUR_ID.fullmatch(data["id"]):
        raise BadInput("The id is none of a memory")
    try:
        memory = memory_from_dict({**data, "conflicts_with": ()})
        validate_text(memory.text)
        validate_space(memory.space)
        validate_kind(memory.kind)
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        raise BadInput(f"It cannot be read: {err}") from err
    check_types(memory)
    return memory


def check_types(memory: Memory) -> None:
    """Raise BadInput if a field holds what does not belong there."""
    wrong = [name for name in TEXT_FIELDS if not isinstance(getattr(memory, name), str)]
    wrong += [name for name in NUMBER_FIELDS if not is_number(getattr(memory, name))]
    wrong += [
        name
        for name in OPTIONAL_NUMBERS
        if getattr(memory, name) is not None and not is_number(getattr(memory, name))
    ]
    wrong += [
        name
        for name in LIST_FIELDS
        if not all(isinstance(one, str) for one in getattr(memory, name))
    ]
    counts = (memory.strength, memory.access_count)
    if not wrong:
        texts = (getattr(memory, name) for name in TEXT_FIELDS)
        lists = (getattr(memory, name) for name in LIST_FIELDS)
        check_characters([memory.text, *texts, *(one for held in lists for one in held)])
    if wrong or not all(isinstance(one, int) and 0 <= one < 2**31 for one in counts):
        raise BadInput(f"These fields cannot be read: {', '.join(wrong) or 'its use'}")
    if memory.provenance not in TRUST_BY_PROVENANCE or len(memory.tags) > MAX_TAGS:
        raise BadInput("Its provenance or its tags cannot be read")
    if memory.superseded_by is not None and not isinstance(memory.superseded_by, str):
        raise BadInput("What superseded it is no id")


def check_characters(texts: Iterable[str]) -> None:
    """Raise BadInput if a text holds half a character, which no store can hold."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as err:
        raise BadInput(f"It holds half a character: {err.object[err.start]!a}") from err


def is_number(value: object) -> bool:
    """True for a number that every store can hold: finite, and no larger than any moment is."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return -MAX_NUMBER < value < MAX_NUMBER


def batch_to_wire(batch: Batch) -> dict[str, Any]:
    """A batch as it is sent."""
    return {
        "format": FORMAT,
        "batch": batch.batch,
        "device": batch.device,
        "memories": [
            {"bases": list(one.bases), "memory": memory_to_wire(one.memory)}
            for one in batch.memories
        ],
        "purged": [{"id": one.id, "space": one.space} for one in batch.purged],
        "stay": list(batch.stay),
    }


def batch_from_wire(data: object) -> Batch:
    """A batch that was sent; what of it cannot be read is named in `refused`.

    BadInput if it is none, or larger than one may be.
    """
    if not isinstance(data, Mapping) or data.get("format") != FORMAT:
        raise BadInput(f"That is no batch in format {FORMAT}. Upgrade Reverie on both sides")
    items, purged = list_in(data, "memories"), list_in(data, "purged")
    if len(items) + len(purged) > MAX_ITEMS:
        raise BadInput(f"A batch holds at most {MAX_ITEMS} items")
    memories: list[PushedMemory] = []
    refused: list[tuple[str, str]] = []
    for item in items:
        given = item if isinstance(item, Mapping) else EMPTY_MAPPING
        try:
            memories.append(
                PushedMemory(
                    memory_from_wire(given.get("memory")),
                    tuple(str(one) for one in list_in(given, "bases")[:MAX_BASES]),
                )
            )
        except ReverieError as err:
            refused.append((name_item(given), str(err)))
    return Batch(
        str(data.get("batch") or ""),
        str(data.get("device") or ""),
        tuple(memories),
        read_places(purged),
        tuple(str(one) for one in list_in(data, "stay")),
        tuple(refused),
    )


def name_item(item: Mapping[str, Any]) -> str:
    """The id that an item names, whatever it is; "" for none."""
    memory = item.get("memory")
    return str(memory.get("id") or "")[:40] if isinstance(memory, Mapping) else ""


def list_in(data: Mapping[str, Any], name: str) -> Sequence[Any]:
    """The list under a name; an empty one where something else stands."""
    value = data.get(name)
    return value if isinstance(value, list) else ()


def read_places(items: Sequence[Any]) -> tuple[PurgedMemory, ...]:
    """Ids with their spaces; what is none is passed over."""
    return tuple(
        PurgedMemory(item["id"], str(item.get("space") or ""))
        for item in items
        if isinstance(item, Mapping) and OUR_ID.fullmatch(str(item.get("id")))
    )


def results_to_wire(results: Sequence[PushResult], last: int) -> dict[str, Any]:
    """What became of a batch, as it is answered; `last` is the server's newest event."""
    return {"results": [result_to_wire(one) for one in results], "seq": last}


def result_to_wire(result: PushResult) -> dict[str, Any]:
    """What became of one item, as it is answered."""
    told = {"id": result.id, "result": result.result, "why": result.why}
    return {**told, "was": memory_to_wire(result.was)} if result.was else told


def results_from_wire(data: Mapping[str, Any]) -> tuple[PushResult, ...]:
    """What became of a batch."""
    return tuple(
        PushResult(
            str(one.get("id")),
            str(one.get("result")),
            str(one.get("why") or ""),
            read_memory(one.get("was")),
        )
        for one in list_in(data, "results")
        if isinstance(one, Mapping)
    )


def read_memory(data: object) -> Memory | None:
    """A memory that was answered; None for none, and for what cannot be read."""
    try:
        return memory_from_wire(data) if data is not None else None
    except BadInput:
        return None


def page_to_wire(page: Page) -> dict[str, Any]:
    """A page as it is answered."""
    return {
        "memories": [memory_to_wire(memory) for memory in page.memories],
        "purged": [one._asdict() for one in page.purged],
        "left": [one._asdict() for one in page.left],
        "next": page.next,
        "more": page.more,
    }


def page_from_wire(data: Mapping[str, Any]) -> Page:
    """A page that was answered. A memory that cannot be read is passed over."""
    read = map(read_memory, list_in(data, "memories"))
    return Page(
        tuple(memory for memory in read if memory is not None),
        read_places(list_in(data, "purged")),
        read_places(list_in(data, "left")),
        str(data.get("next") or ""),
        data.get("more") is True,
    )


def number_of(id: str) -> str:
    """An id without what all begin with: as it is noted of what was purged, so that nothing that
    looks for the id finds it.
    """
    return id.removeprefix(ID_START)


def id_of(number: str) -> str:
    """The id of a number."""
    return ID_START + number
