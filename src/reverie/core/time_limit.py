"""How long whoever waits for this work still waits: a context variable, which threads are given.

A server sets it for each request; whatever asks a database tells it the time that is left, so that
an answer which nobody waits for any more costs nothing further. Without a limit, as on a
developer's own machine, everything takes the time it takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from reverie.core.clock import ticks

_ENDS_AT: ContextVar[float | None] = ContextVar("ends_at", default=None)


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Nobody waits longer than so many seconds for what is done in this block, or for less if that
    was said outside of it.
    """
    left = find_time_left()
    token = _ENDS_AT.set(ticks() + (seconds if left is None else min(seconds, left)))
    try:
        yield
    finally:
        _ENDS_AT.reset(token)


@contextmanager
def without_limit() -> Iterator[None]:
    """What is done in this block has to be done, whoever waits or not."""
    token = _ENDS_AT.set(None)
    try:
        yield
    finally:
        _ENDS_AT.reset(token)


def find_time_left() -> float | None:
    """The seconds that somebody still waits, 0 or less for nobody; None without a limit."""
    ends_at = _ENDS_AT.get()
    return None if ends_at is None else ends_at - ticks()
