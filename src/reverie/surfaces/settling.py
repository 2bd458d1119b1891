"""Settling with a bar: the same steps as the background takes, here and now, until nothing is left to do."""

from reverie import Mind, clock
from reverie.settle import ASKING, LEASE, LEASE_SECONDS, READERS, Settled, one_step, work_left
from reverie.settle.embedding import model_of
from reverie.surfaces.progress import Telling
from reverie.surfaces.worker import tell_trouble

PATIENCE = 30.0  # seconds to wait for another settler that makes no headway


def settled(mind: Mind, telling: Telling) -> Settled:
    """Embed, learn and reconcile until nothing waits. Another process that is at it is waited for while it gets on.

    `trouble` says why something is left: no model answers, or who is at it and stands still.
    """
    store, holder, done, others = mind.store, clock.new_id("settler"), Settled(), ""
    total = left(mind) + chunks_left(mind)
    try:
        while not others:
            if not store.acquire(LEASE, holder, LEASE_SECONDS, clock.now()):
                if not others_go_on(mind, telling):
                    others = standstill(mind)
                    break
                continue
            step = one_step(mind.work, 16, holder)
            done = done.then(step)
            total = max(total, done.embedded)
            telling("settling", done.embedded + done.events, None if done.events else total)
            if not step:
                others = "" if step.trouble else standstill(mind, ASKING)
                break
    finally:
        store.release(LEASE, holder)
    telling.rest()
    tell_trouble(store, done.trouble)
    return done._replace(waiting=left(mind), trouble=done.trouble or others)


def left(mind: Mind) -> int:
    """How many texts have no vector of our model yet."""
    return mind.store.stats(model_of(mind.embedder)).waiting


def chunks_left(mind: Mind) -> int:
    """How many chunks of files have no vector of our model yet. Looks at each: not to be asked all the time."""
    model = model_of(mind.embedder)
    return mind.store.files.count(None, model).waiting if model else 0


def as_json(done: Settled) -> dict[str, int | str]:
    """What was done, as JSON values."""
    return done._asdict()


def others_go_on(mind: Mind, telling: Telling) -> bool:
    """Wait for another settler; False once nothing is left to do or it stands still, True when it has gone."""
    last, since = headway(mind), clock.ticks()
    while mind.store.holder(LEASE, clock.now()) is not None:
        if not work_left(mind.work):
            return False
        now = headway(mind)
        if now != last:
            last, since = now, clock.ticks()
        if clock.ticks() - since > PATIENCE:
            return False
        telling("another process is settling; texts left", now[0], None)
        clock.sleep(0.1)
    return True


def headway(mind: Mind) -> tuple[int, ...]:
    """What moves while somebody settles: texts that wait, the newest event, where each reader stands."""
    newest = mind.store.events(newest=True, limit=1)
    return (left(mind), *(event.seq for event in newest), *(mind.store.cursor(reader.name) for reader in READERS))


def standstill(mind: Mind, lease: str = LEASE) -> str:
    """Who is at what is left to do; empty where nothing is left, or nobody is at it."""
    other = mind.store.holder(lease, clock.now())
    return f"Not everything is settled yet: {other} is at it. Try again later" if other and work_left(mind.work) else ""
