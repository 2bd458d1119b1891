"""A request that is repeated under the same `Idempotency-Key` is done once and answered alike.

What a request did is noted in the same transaction as its doing: who lost the answer on the way
asks again and learns it. Only ids and numbers are noted, never a text, so that erasing a memory
leaves none here; the memories are read anew for the answer. Each user has a few thousand places for
notes, found by the key's hash: an older note gives way, and nothing needs to be cleaned up.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, NamedTuple

from reverie.core.errors import BadInput, Conflict
from reverie.core.model import Memory
from reverie.storage import Store

IDEMPOTENCY_HEADER = "Idempotency-Key"
MAX_KEY_CHARS = 200
PLACES = 4_096  # of each user


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
        note = json.loads(store.meta(named.place) or "{}")
        if note.get("key") == named.key:
            if note["digest"] != named.digest:
                raise Conflict(
                    f"The {IDEMPOTENCY_HEADER} {named.key!r} was that of another request. "
                    "Give each request its own"
                )
        else:
            note = {"key": named.key, "digest": named.digest, **note_answer(run())}
            store.set_meta(named.place, json.dumps(note))
    # Outside of the transaction, where memories are shown as their reader believes them.
    return read_answer(store, note)


def note_answer(answer: Any) -> dict[str, Any]:
    """An answer without any text."""
    if isinstance(answer, Memory):
        return {"id": answer.id}
    if isinstance(answer, list):
        return {"ids": [memory.id for memory in answer]}
    return {"value": answer}


def read_answer(store: Store, note: Mapping[str, Any]) -> Any:
    """An answer that was noted, with the memories as they are now."""
    if "id" in note:
        found = store.get([note["id"]])
        return found[0] if found else None
    return store.get(note["ids"]) if "ids" in note else note.get("value")
