"""One bounded piece of bringing a home in step with its server.

Pushed first, then pulled: what was changed on both sides is then decided where both are known. One
process at a time does it, by a lease. What is acknowledged is noted in one transaction, so a
process may be killed anywhere: what was not noted is sent or fetched again and comes to the same. A
server that is away is asked again after a while that grows, and nobody waits for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import NamedTuple, Protocol

from reverie.core import clock
from reverie.core.errors import ReverieError, ServerAway, StoreError, Unauthenticated
from reverie.core.model import PULLED, Change, Event, Revise, index_memories
from reverie.pipeline.event_reader import WorkContext
from reverie.pipeline.leases import process_mark, release_of_the_dead
from reverie.sync.inbox import Inbox, Purge, receive_memories
from reverie.sync.merge_rules import merge_version
from reverie.sync.outbox import Outbox, Outgoing
from reverie.sync.space_map import Account
from reverie.sync.sync_state import (
    SyncState,
    load_account,
    load_map,
    load_purged,
    load_state,
    note_conflicts,
    note_refused,
    outbox_cursor,
    save_purged,
    save_state,
)
from reverie.sync.wire_format import Batch, Page, PushResult, digest_content

LEASE, LEASE_SECONDS = "sync", 60.0
PAGE_SIZE = 200
# Seconds between looks for what others changed, while nothing of ours waits.
EVERY_SECONDS = 30.0
# Seconds after which a server that is away is asked again: doubled each time, up to the last.
FIRST_PAUSE, LONGEST_PAUSE = 5.0, 600.0
Tell = Callable[[str, int, int | None], None]  # stage, done, total


class SyncServer(Protocol):
    """What is asked of a server."""

    def push(self, batch: Batch) -> tuple[PushResult, ...]:
        """Push a batch; what became of each item, once all of it is durable there."""

    def pull(self, token: str, device: str, spaces: tuple[str, ...], limit: int) -> Page:
        """The next page of what changed."""


class SyncReport(NamedTuple):
    """What a step did."""

    pushed: int = 0
    new: int = 0
    revised: int = 0
    purged: int = 0
    refused: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    trouble: str = ""
    more: bool = False  # something is left to do at once

    def plus(self, step: SyncReport) -> SyncReport:
        """The sum with a further step; whether there is more, it says."""
        return SyncReport(
            self.pushed + step.pushed,
            self.new + step.new,
            self.revised + step.revised,
            self.purged + step.purged,
            tuple(dict.fromkeys((*self.refused, *step.refused))),
            tuple(dict.fromkeys((*self.conflicts, *step.conflicts))),
            step.trouble or self.trouble,
            step.more,
        )

    def __bool__(self) -> bool:
        """True if anything was done."""
        return bool(self.pushed or self.new or self.revised or self.purged)


def is_sync_due(work: WorkContext, every: float = EVERY_SECONDS) -> bool:
    """True if it is time to ask the server: something waits for it, or it was not asked for so
    many seconds, and it is not away.
    """
    account = load_account(work.store)
    if account is None or work.settings.offline:
        return False
    state = load_state(work.store)
    if state.fails:
        return abs(work.now - state.tried_at) >= pause_after(state.fails, account.device)
    if abs(work.now - state.tried_at) >= every:
        return True
    return build_outbox(work, account).has_news(state)


def pause_after(fails: int, device: str) -> float:
    """Seconds until a server that is away is asked again; a device has its own share of a quarter
    of it, lest all come back at once.
    """
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(fails - 1, 10))
    share = hashlib.sha256(f"{device}:{fails}".encode()).digest()[0] / 255
    return longest * (0.75 + 0.25 * share)


def build_outbox(work: WorkContext, account: Account) -> Outbox:
    """What this home has to say."""
    return Outbox(work.store, account, load_map(work.store, account), work.settings)


def sync_all(
    work: Callable[[], WorkContext],
    server: SyncServer,
    purge: Purge,
    *,
    rounds: int = 1_000_000,
    within: float = float("inf"),
    tell: Tell | None = None,
) -> SyncReport:
    """Push and pull until both sides are in step, or so many rounds or seconds are over.

    Trouble with the server ends it and is told in the report.
    """
    done, end = SyncReport(), clock.ticks() + within
    for _ in range(rounds):
        step = run_sync_step(work(), server, purge)
        done = done.plus(step)
        if tell is not None:
            tell("syncing", done.pushed + done.new + done.revised, None)
        if step.trouble or not step.more or clock.ticks() > end:
            break
    return done


def run_sync_step(
    work: WorkContext,
    server: SyncServer,
    purge: Purge,
) -> SyncReport:
    """One batch there and one page back; what went wrong is noted and reported."""
    account = load_account(work.store)
    if account is None:
        return SyncReport()
    holder = f"{clock.new_id('sync')}{process_mark()}"
    if not work.store.acquire(LEASE, holder, LEASE_SECONDS, work.now):
        release_of_the_dead(work.store, LEASE, work.now)
        if not work.store.acquire(LEASE, holder, LEASE_SECONDS, work.now):
            return SyncReport()
    try:
        return exchange(work, account, server, purge)
    except (ServerAway, Unauthenticated) as err:
        note_trouble(work, str(err))
        return SyncReport(trouble=str(err))
    except StoreError:
        raise
    except ReverieError as err:
        note_trouble(work, str(err))
        return SyncReport(trouble=str(err))
    finally:
        work.store.release(LEASE, holder)


def exchange(
    work: WorkContext,
    account: Account,
    server: SyncServer,
    purge: Purge,
) -> SyncReport:
    """Push a batch, pull a page."""
    store, spaces = work.store, load_map(work.store, account)
    pushed = push_batch(work, account, server)
    state = load_state(store)
    wanted = spaces.wanted_spaces()
    if state.spaces != wanted:
        # Other spaces: what was told so far is not all of it.
        state = state._replace(spaces=wanted, token="")
    page = server.pull(state.token, account.device, wanted, PAGE_SIZE)
    taken = Inbox(work, account, spaces, purge).take(page, state)
    save_state(
        store,
        taken.state._replace(
            seen_at=work.now, tried_at=work.now, fails=0, trouble="; ".join(taken.troubles[:3])
        ),
    )
    return pushed.plus(
        SyncReport(
            new=taken.new,
            revised=taken.revised,
            purged=taken.purged,
            conflicts=taken.conflicts,
            # A server that stands still is not asked the same again.
            more=pushed.more or (page.more and page.next != state.token),
        )
    )


def push_batch(
    work: WorkContext,
    account: Account,
    server: SyncServer,
) -> SyncReport:
    """Send the next batch, and note that it was acknowledged."""
    outgoing = build_outbox(work, account).gather(load_state(work.store))
    results = () if outgoing.is_empty else server.push(outgoing.batch)
    return note_acknowledged(work, account, outgoing, results)


def note_acknowledged(
    work: WorkContext,
    account: Account,
    outgoing: Outgoing,
    results: tuple[PushResult, ...],
) -> SyncReport:
    """Move on past a batch that the server has: cursor and state in one transaction."""
    refused = {one.id: one.why for one in results if one.result == "refused"}
    both = [one.id for one in results if one.result in ("won", "lost")]
    with work.store.transaction():
        state: SyncState = load_state(work.store)
        state = note_refused(state, (one.id for one in results), refused)
        state = note_conflicts(state, both, work.now)._replace(full=outgoing.full)
        if state != load_state(work.store):
            save_state(work.store, state)
        if outgoing.purged:
            left = [one for one in load_purged(work.store) if one not in outgoing.purged]
            save_purged(work.store, left)
        if outgoing.upto:
            work.store.advance(outbox_cursor(account), outgoing.upto)
        note_overruled(work, account, outgoing, results)
    idle = ("same", "kept", "refused", "gone")
    return SyncReport(
        pushed=sum(one.result not in idle for one in results),
        refused=tuple(refused),
        conflicts=tuple(both),
        more=outgoing.more,
    )


def note_overruled(
    work: WorkContext,
    account: Account,
    outgoing: Outgoing,
    results: tuple[PushResult, ...],
) -> None:
    """Have the history here tell what the server had of memories of which ours won, as it tells
    what came and lost.
    """
    spaces = load_map(work.store, account)
    sent = {one.memory.id: digest_content(one.memory) for one in outgoing.batch.memories}
    overruled = [one.was for one in results if one.result == "won" and one.was is not None]
    arrivals, _ = receive_memories(overruled, work, account, spaces)
    known = index_memories(work.store.get([one.here.id for one in arrivals]))
    changes: list[Change] = []
    for one in arrivals:
        if one.here.id in known and one.here.id in sent:
            merge = merge_version(one.here, known[one.here.id], follows=False)
            changes += merge.changes if merge.result == "lost" else ()
    if changes:
        held = {change.id: sent[change.id] for change in changes if isinstance(change, Revise)}
        payload = {"server": account.url, "held": held}
        work.store.apply(changes, Event(PULLED, "me", work.now, payload=payload))


def note_trouble(work: WorkContext, trouble: str) -> None:
    """Note that the server could not be asked, so that it is asked later."""
    state = load_state(work.store)
    save_state(
        work.store,
        state._replace(fails=state.fails + 1, tried_at=work.now, trouble=trouble),
    )
