"""Work that is done once at a time, whoever asks for it: it is taken by a lease, and who has it is
waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reverie.core import clock
from reverie.core.errors import StoreBusy
from reverie.storage import Store

# that a lease is good for, unless renewed: so long whoever died with it is in the way
DEFAULT_LEASE_SECONDS = 30.0
MAX_WAIT_SECONDS = 60.0  # seconds that somebody who asks for the work waits for another one at it


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
    """Nobody else has this lease. Gives a function that renews it and says whether it is still
    ours.

    StoreBusy with the words `busy` where somebody else has it for longer than `patience` seconds.
    """
    holder, end = clock.new_id("lease"), clock.ticks() + patience

    def ours() -> bool:
        return store.acquire(lease, holder, seconds, now())

    while not ours():
        if clock.ticks() > end:
            raise StoreBusy(busy)
        clock.sleep(0.02)
    try:
        yield ours
    finally:
        store.release(lease, holder)


SETTLE_LEASE = "settle"


SETTLE_LEASE_SECONDS = 30.0  # renewed at each step; a settler that died is replaced after this long
