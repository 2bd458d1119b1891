"""A request that is repeated under the same `Idempotency-Key` is done once and answered alike.

What a request did is noted in the same transaction as its doing: who lost the answer on the way
asks again and learns it. A purge is several transactions, so its note is begun before it and filled
in after it. Only ids, names and numbers are noted, never a text, so that erasing a memory leaves
none here; the memories are read anew for the answer. Each user has a few thousand places for
notes, found by the key's hash: an older note gives way, and nothing needs to be cleaned up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

from reverie.core.errors import BadInput, Conflict, NotFound
from reverie.core.model import Memory
from reverie.extraction.transcript_learning import LearnReport
from reverie.storage import Store
from reverie.storage.backups import PurgeResult

# What verbs answer whose requests are known again: `note_answer` has a form for each.
NOTED_ANSWERS = (Memory, list[Memory], LearnReport, PurgeResult, int, float, NoneType)
IDEMPOTENCY_HEADER = "Idempotency-Key"
MAX_KEY_CHARS = 200
PLACES = 4_096  # of each user
BEGUN = "begun"  # in the note of a request that has not been answered yet
JOINED = "joined"  # beside it, where the same request came again meanwhile


class NamedRequest(NamedTuple):
    """A request that has a name, so that it can be told from another and known again."""

    user: str
    key: str
    digest: str  # of the verb and its arguments

    @property
    def place(self) -> str:
        """The name of its note in the store."""
        number = int.from_bytes(sha256(self.key.encode()).digest()[:4]) % PLACES
        return f"request:{self.user}:{number:03x}"


def name_request(
    user: str, key: str, verb: str, arguments: Mapping[str, Any]
) -> NamedRequest | None:
    """The request under its key; None where it has none. BadInput for a key that is too long."""
    if not key:
        return None
    if len(key) > MAX_KEY_CHARS:
        raise BadInput(f"{IDEMPOTENCY_HEADER} has more than {MAX_KEY_CHARS} characters")
    said = json.dumps([verb, arguments], sort_keys=True).encode()
    return NamedRequest(user, key, sha256(said).hexdigest())


def answer_once(store: Store, named: NamedRequest, run: Callable[[], Any]) -> Any:
    """What `run` answers, or has answered before under this name; Conflict if it was asked
    something else then.
    """
    with store.transaction():
        note = find_note(store, named)
        if note is None:
            note = write_note(store, named, note_answer(run()))
    # Outside of the transaction, where memories are shown as their reader believes them.
    return read_answer(store, note)


def answer_in_steps(store: Store, named: NamedRequest, run: Callable[[], PurgeResult]) -> Any:
    """As `answer_once`, for a purge, which is more than one transaction.

    One that was broken off is begun anew when it is asked for again. What it had erased by then is
    not there to be found any more, and is not counted twice.
    """
    with store.transaction():
        note = find_note(store, named)
        if note is None or note.get(BEGUN):
            write_note(store, named, {BEGUN: True, JOINED: note is not None})
    if note is not None and not note.get(BEGUN):
        return read_answer(store, note)
    try:
        done = run()
    except NotFound:
        now = find_note(store, named) or {}
        # Nobody else has begun this: there was nothing.
        if note is None and now.get(BEGUN) and not now.get(JOINED):
            store.set_meta(named.place, "")
            raise
        done = PurgeResult(0, ())
    with store.transaction():
        # The same request may have been under way twice, and the other one erased it.
        first = find_note(store, named)
        if first is None or first.get(BEGUN):
            first = write_note(store, named, note_answer(done))
    return read_answer(store, first)


def find_note(store: Store, named: NamedRequest) -> dict[str, Any] | None:
    """What was noted of a request; Conflict if it was another one of that name."""
    note: dict[str, Any] = json.loads(store.meta(named.place) or "{}")
    if note.get("key") != named.key:
        return None
    if note["digest"] != named.digest:
        raise Conflict(
            f"The {IDEMPOTENCY_HEADER} {named.key!r} was that of another request. "
            "Give each request its own"
        )
    return note


def write_note(store: Store, named: NamedRequest, answer: dict[str, Any]) -> dict[str, Any]:
    """Note what a request did; the note."""
    note = {"key": named.key, "digest": named.digest, **answer}
    store.set_meta(named.place, json.dumps(note))
    return note


def note_answer(answer: Any) -> dict[str, Any]:
    """An answer without any text."""
    if isinstance(answer, Memory):
        return {"id": answer.id}
    if isinstance(answer, list):
        return {"ids": [memory.id for memory in answer]}
    if isinstance(answer, LearnReport):
        # Without what was rejected, which is texts.
        learned = answer._replace(memories=(), rejected=())
        return {"learned": learned._asdict(), "ids": [memory.id for memory in answer.memories]}
    if isinstance(answer, PurgeResult):
        unreached = [str(path) for path in answer.unreached]
        return {"purged": {**answer._asdict(), "unreached": unreached}}
    return {"value": answer}


def read_answer(store: Store, note: Mapping[str, Any]) -> Any:
    """An answer that was noted, with the memories as they are now."""
    if "id" in note:
        found = store.get([note["id"]])
        return found[0] if found else None
    if "learned" in note:
        learned = LearnReport(**note["learned"])
        return learned._replace(memories=tuple(store.get(note["ids"])))
    if "purged" in note:
        purged = PurgeResult(**note["purged"])
        return purged._replace(unreached=tuple(map(Path, purged.unreached)))
    return store.get(note["ids"]) if "ids" in note else note.get("value")
