"""What a home knows of its server, kept in the store beside the log that it speaks of.

So a backup that is brought back brings back how far things had come then, and what is missing since
is fetched again. The key is not among it: that is a file (`credentials`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reverie.storage import Store
from reverie.sync.device_logs.local_changes import note_purged_here
from reverie.sync.device_logs.log_state import SERVER, load_own
from reverie.sync.space_map import Account, Link, SpaceMap
from reverie.sync.wire_format import PurgedMemory, id_of, number_of

ACCOUNT_META = "sync:account"
LINKS_META = "sync:links"
STATE_META = "sync:state"
KEPT_META = "sync:kept"
FORMER_META = "sync:former"
# What was purged here and not yet there: [[number, local space], …].
PURGED_META = "sync:purged"
MAX_CONFLICTS = 50  # that are named by `reverie sync --status`
MAX_REFUSED = 200


class FullPass(NamedTuple):
    """Going through all memories, not only through what the log names."""

    until: int  # the newest event when it began: from there the log goes on
    after: str = ""  # the last id that the server has acknowledged


class SyncState(NamedTuple):
    """How far a home has come with its server."""

    # where the server goes on to tell
    token: str = ""
    # the shared spaces that this holds for
    spaces: tuple[str, ...] = ()
    full: FullPass | None = None
    seen_at: float = 0.0  # when the server answered last
    tried_at: float = 0.0
    fails: int = 0  # in a row
    trouble: str = ""
    # id → why the server did not take it
    refused: Mapping[str, str] = {}
    # ids that were changed on both sides, the newest last, with the moment
    conflicts: tuple[tuple[str, float], ...] = ()


def load_account(store: Store) -> Account | None:
    """The account that this home is in step with; None for none."""
    written = store.meta(ACCOUNT_META)
    return Account(**json.loads(written)) if written else None


def save_account(store: Store, account: Account | None) -> None:
    """Be in step with an account from now on, from the beginning; None: with none."""
    before = load_account(store)
    with store.transaction():
        store.set_meta(ACCOUNT_META, json.dumps(account._asdict()) if account else "")
        store.set_meta(PURGED_META, "")
        if account is None:
            store.set_meta(STATE_META, "")
            return
        if before is None or (before.url, before.user) != (account.url, account.user):
            store.set_meta(LINKS_META, "")
        save_state(store, SyncState(full=FullPass(store.last_event())))


def outbox_cursor(account: Account) -> str:
    """The name of the cursor up to which the server knows the log."""
    return f"sync:{account.device}"


def load_links(store: Store) -> tuple[Link, ...]:
    """The linked spaces, by name."""
    return tuple(Link(*one) for one in json.loads(store.meta(LINKS_META) or "[]"))


def save_links(store: Store, links: Iterable[Link]) -> None:
    """Link these spaces from now on, and go through all memories again: some go elsewhere now."""
    with store.transaction():
        former = {*load_former(store), *(link.shared for link in load_links(store))}
        store.set_meta(FORMER_META, json.dumps(sorted(former)))
        store.set_meta(LINKS_META, json.dumps(sorted(links)))
        restart(store)


def load_former(store: Store) -> tuple[str, ...]:
    """The shared spaces that were linked once."""
    return tuple(json.loads(store.meta(FORMER_META) or "[]"))


def restart(store: Store) -> None:
    """Go through all memories of both sides again, if this home is in step with a server; what is
    so already stays as it is.
    """
    if not store.meta(ACCOUNT_META):
        return
    state = load_state(store)
    if state.full is None:
        state = state._replace(full=FullPass(store.last_event()))
    save_state(store, state._replace(token="", full=state.full and state.full._replace(after="")))


def load_map(store: Store, account: Account) -> SpaceMap:
    """What is which on the server."""
    own = load_own(store)
    places = own.places if own else ()
    is_sealed = any((one.kind, one.where) == (SERVER, account.url) for one in places)
    return SpaceMap(account.user, load_links(store), load_former(store), is_sealed)


def load_kept(store: Store) -> tuple[str, ...]:
    """The shared spaces that were unlinked and in which our memories stay."""
    return tuple(json.loads(store.meta(KEPT_META) or "[]"))


def save_kept(store: Store, spaces: Iterable[str]) -> None:
    """Name the shared spaces in which our memories stay though they are not linked any more."""
    store.set_meta(KEPT_META, json.dumps(sorted(set(spaces))))


def load_state(store: Store) -> SyncState:
    """How far the home has come; what cannot be read is the beginning."""
    values: dict[str, Any] = json.loads(store.meta(STATE_META) or "{}")
    full = values.pop("full", None)
    known = {name: value for name, value in values.items() if name in SyncState._fields}
    known["spaces"] = tuple(known.get("spaces", ()))
    known["conflicts"] = tuple((id, at) for id, at in known.get("conflicts", ()))
    return SyncState(**known, full=FullPass(*full) if full else None)


def save_state(store: Store, state: SyncState) -> None:
    """Keep how far the home has come."""
    store.set_meta(STATE_META, json.dumps(state._asdict()))


def note_conflicts(state: SyncState, ids: Iterable[str], now: float) -> SyncState:
    """The state with memories that were changed on both sides."""
    fresh = list(ids)
    kept = [one for one in state.conflicts if one[0] not in fresh]
    found = (*kept, *((id, now) for id in fresh))
    return state._replace(conflicts=found[-MAX_CONFLICTS:])


def note_refused(state: SyncState, taken: Iterable[str], refused: Mapping[str, str]) -> SyncState:
    """The state with what the server did not take, and without what it has taken by now."""
    done = set(taken)
    kept = {id: why for id, why in state.refused.items() if id not in done}
    found = list({**kept, **refused}.items())
    return state._replace(refused=dict(found[-MAX_REFUSED:]))


def load_purged(store: Store) -> tuple[PurgedMemory, ...]:
    """What was purged here and is still to be purged there, with local spaces."""
    listed = json.loads(store.meta(PURGED_META) or "[]")
    return tuple(PurgedMemory(id_of(number), space) for number, space in listed)


def save_purged(store: Store, purged: Iterable[PurgedMemory]) -> None:
    """Name what is still to be purged on the server; by numbers, so that no id stays behind."""
    listed = [[number_of(one.id), one.space] for one in purged]
    store.set_meta(PURGED_META, json.dumps(listed) if listed else "")


def note_purged(store: Store, purged: Iterable[PurgedMemory]) -> None:
    """Have memories purged on the server and the user's other devices too, if this home is in step
    with any.

    To be called in the transaction that purges them here.
    """
    listed = list(purged)
    if store.meta(ACCOUNT_META):
        save_purged(store, {*load_purged(store), *listed})
    note_purged_here(store, [number_of(one.id) for one in listed])
