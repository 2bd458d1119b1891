"""Settling with a bar: the same steps as the background takes, here and now."""

from reverie import Mind, clock
from reverie.settle import LEASE, LEASE_SECONDS, Settled, one_step
from reverie.settle.embedding import model_of
from reverie.surfaces.progress import Telling
from reverie.surfaces.worker import tell_trouble

PATIENCE = 30.0  # seconds to wait for another settler that makes no headway


def settled(mind: Mind, telling: Telling) -> Settled:
    """Embed and learn until nothing waits. Another process that is at it already is waited for."""
    store, holder, done = mind.store, clock.new_id("settler"), Settled()
    total = left(mind)
    try:
        while True:
            if not store.acquire(LEASE, holder, LEASE_SECONDS, clock.now()):
                if not others_go_on(mind, telling):
                    return done._replace(waiting=left(mind))
                continue
            step = one_step(mind.work, 16, holder)
            done = done.then(step)
            total = max(total, done.embedded)
            telling("embedding", done.embedded, total)
            if not step:
                break
    finally:
        store.release(LEASE, holder)
    telling.rest()
    tell_trouble(store, done.trouble)
    return done._replace(waiting=left(mind))


def left(mind: Mind) -> int:
    """How many texts have no vector of our model yet."""
    return mind.store.stats(model_of(mind.embedder)).waiting


def as_json(done: Settled) -> dict[str, int | str]:
    """What was done, as JSON values."""
    return done._asdict()


def others_go_on(mind: Mind, telling: Telling) -> bool:
    """Wait for another settler; False once nothing waits any more or it stands still."""
    last, since = left(mind), clock.ticks()
    while mind.store.holder(LEASE, clock.now()) is not None:
        waiting = left(mind)
        if not waiting or clock.ticks() - since > PATIENCE:
            return False
        if waiting != last:
            last, since = waiting, clock.ticks()
        telling("another process is settling; texts left", waiting, None)
        clock.sleep(0.1)
    return True
