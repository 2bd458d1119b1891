"""Two sides that are brought in step without a network: homes, and a server over any store.

The server speaks the wire format, so what goes over is what would go over HTTP. It can be away, and
it can do what it was asked and not say so, as when a connection breaks before the answer.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from reverie.access.callers import Caller
from reverie.access.rights import Rights
from reverie.core.errors import ServerAway
from reverie.runtime.mind import Mind
from reverie.storage import Store
from reverie.storage.access_records import Right
from reverie.sync.change_feed import Wanted, read_feed
from reverie.sync.push_intake import take_batch
from reverie.sync.space_map import Account, Link
from reverie.sync.sync_state import save_account, save_links
from reverie.sync.sync_step import SyncReport, sync_all
from reverie.sync.wire_format import (
    Batch,
    Page,
    PushResult,
    batch_from_wire,
    batch_to_wire,
    page_from_wire,
    page_to_wire,
    results_from_wire,
    results_to_wire,
)

URL = "https://memory.example.com"


def over_the_wire(values: Any) -> Any:
    """Values as they arrive on the other side."""
    return json.loads(json.dumps(values, ensure_ascii=False))


def caller_of(user: str, grants: Mapping[str, Right]) -> Caller:
    """A user with all rights in their own space and these in shared ones."""
    held = ((f"~{user}", Right.ADMINISTER), *grants.items())
    return Caller(tenant="acme", user=user, rights=Rights(held=tuple(held)))


class StoreServer:
    """A server for one user, without HTTP."""

    def __init__(
        self,
        store: Store,
        caller: Caller,
        now: Callable[[], float],
    ) -> None:
        self.store, self.caller, self.now = store, caller, now
        self.is_away = self.is_mute = False
        self.batches: list[Any] = []

    def push(self, batch: Batch) -> tuple[PushResult, ...]:
        self.answer_or_fail()
        sent = over_the_wire(batch_to_wire(batch))
        self.batches.append(sent)
        return self.receive(sent)

    def receive(self, sent: Any) -> tuple[PushResult, ...]:
        """Take in a batch, again perhaps."""
        results = take_batch(self.store, self.caller, batch_from_wire(sent), self.now())
        if self.is_mute:
            raise ServerAway
        answer = over_the_wire(results_to_wire(results, self.store.last_event()))
        return results_from_wire(answer)

    def pull(self, token: str, device: str, spaces: tuple[str, ...], limit: int) -> Page:
        self.answer_or_fail()
        wanted = Wanted(self.caller, frozenset(spaces))
        page = read_feed(self.store, wanted, token, device, limit)
        if self.is_mute:
            raise ServerAway
        return page_from_wire(over_the_wire(page_to_wire(page)))

    def answer_or_fail(self) -> None:
        if self.is_away:
            raise ServerAway


class SyncedHome:
    """A mind that is in step with a server."""

    def __init__(
        self,
        mind: Mind,
        server: StoreServer,
        device: str,
        links: tuple[Link, ...] = (),
    ) -> None:
        self.mind, self.server = mind, server
        self.account = Account(URL, server.caller.user, "acme", device)
        save_account(mind.store, self.account)
        save_links(mind.store, links)

    def sync(self, rounds: int = 1_000) -> SyncReport:
        return sync_all(
            lambda: self.mind.work,
            self.server,
            self.mind.data.purge,
            rounds=rounds,
        )
