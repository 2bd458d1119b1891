"""Leases: work that only one process may do at a time, and waiting for whoever does it."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reverie.core import clock
from reverie.core.errors import StoreBusy
from reverie.storage import Store

# What a lease is good for unless renewed, so that a process that died is out of the way by then.
DEFAULT_LEASE_SECONDS = 30.0
# How long one waits for another process at the same work.
MAX_WAIT_SECONDS = 60.0
SETTLE_LEASE = "settle"
SETTLE_LEASE_SECONDS = 30.0  # renewed at each step


@contextmanager
def hold_lease(
    store: Store,
    lease: str,
    now: Callable[[], float],
    busy: str,
    *,
    seconds: float = DEFAULT_LEASE_SECONDS,
    patience: float = MAX_WAIT_SECONDS,
) -> Iterator[Callable[[], bool]]:
    """Hold a lease for the duration of the block.

    Gives a function that renews it and returns False once somebody else has it. Raises StoreBusy
    with the message `busy` if the lease is not to be had within `patience` seconds.
    """
    holder = f"{clock.new_id('lease')}{process_mark()}"
    end = clock.ticks() + patience

    def renew() -> bool:
        return store.acquire(lease, holder, seconds, now())

    while not renew():
        release_of_the_dead(store, lease, now())
        if clock.ticks() > end:
            raise StoreBusy(busy)
        clock.sleep(0.02)
    try:
        yield renew
    finally:
        store.release(lease, holder)


def process_mark() -> str:
    """What the name of a holder ends with: this process, and the machine that knows it; "" where
    nobody can ask whether it is alive.
    """
    return f"@{os.uname().nodename}@{os.getpid()}" if hasattr(os, "uname") else ""


def release_of_the_dead(store: Store, lease: str, now: float) -> None:
    """Release a lease whose holder was a process of this machine that is gone."""
    holder = store.holder(lease, now) or ""
    _, _, mark = holder.partition("@")
    machine, _, number = mark.rpartition("@")
    if not number.isdigit() or not process_mark().startswith(f"@{machine}@"):
        return
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        store.release(lease, holder)
    except OSError:
        return
