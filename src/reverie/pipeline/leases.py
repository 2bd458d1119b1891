"""Leases: work that only one process may do at a time, and waiting for whoever does it."""

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
    holder = clock.new_id("lease")
    end = clock.ticks() + patience

    def renew() -> bool:
        return store.acquire(lease, holder, seconds, now())

    while not renew():
        if clock.ticks() > end:
            raise StoreBusy(busy)
        clock.sleep(0.02)
    try:
        yield renew
    finally:
        store.release(lease, holder)
