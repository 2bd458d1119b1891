"""The loop of sleep: reads, asks the passes of `lifecycle.sleep`, makes it so batch by batch, and
takes runs back.

A run begins with an event `sleeping` (its number names the run), goes on with one event `sleep` for
each batch of at most MOST changes, and ends with `slept`. Each batch is one transaction, in which
what it rests on is read once more; if somebody has altered that, the pass decides anew. Between
batches the lease is renewed and the run may stop: when its time is over, when somebody is at work,
when it is interrupted. A note in the same transaction says how far it has come: the next run goes
on there. So a run may be killed at any moment, and what it did until then can be taken back.

Pairs are looked for among what is new since a pass went through last (`ground.Watermark`), so that
a second night is a short one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from reverie.consolidation.pass_iteration import OVER
from reverie.consolidation.sleep_passes import PASSES, SAFE
from reverie.consolidation.sleep_run import (
    ASLEEP,
    LEASE_SECONDS,
    SPACELESS,
    Done,
    Note,
    Planned,
    Run,
    Slept,
    Wish,
    note,
)
from reverie.consolidation.sleep_schedule import NOTE, SLEPT_AT, SLEPT_COUNT
from reverie.core import clock
from reverie.core.errors import BadInput
from reverie.core.model import Event
from reverie.pipeline.event_reader import EventQueue, Work
from reverie.pipeline.leases import LEASE

WAITERS = ("settler", "worker")  # whose leases may be those of somebody who only waits for work

__all__ = ["Done", "Planned", "Slept", "Wish", "chosen", "sleep"]


def chosen(names: Iterable[str]) -> tuple[str, ...]:
    """Passes by name, in their order; all of them for none."""
    wanted = tuple(names)
    if unknown := [name for name in wanted if name not in PASSES]:
        raise BadInput(f"There is no pass {unknown[0]!r} of sleep; there are {', '.join(PASSES)}")
    return tuple(name for name in PASSES if name in wanted) if wanted else tuple(PASSES)


def sleep(
    work: Work, wish: Wish, holder: str, now: Callable[[], float], queue: EventQueue
) -> Slept:
    """Go through the passes, or, with `dry`, tell what they would do. Waits a while for somebody
    else at work.
    """
    run = Run(work, wish, holder, now, queue)
    if wish.dry:
        return Slept(
            passes=tuple(through(run, name, ("", "")) for name in wish.passes), plan=tuple(run.plan)
        )
    if not taken(run):
        return Slept(stopped="somebody else is settling")
    try:
        if not work.store.acquire(ASLEEP, holder, LEASE_SECONDS, now()):
            return Slept(stopped="somebody else is sleeping")
        return night(run)
    finally:
        work.store.release(ASLEEP, holder)
        work.store.release(LEASE, holder)


def taken(run: Run) -> bool:
    """Take the lease, waiting a while for whoever has it. A worker that only waits for work gives
    way.

    It keeps the lease so that no second worker is started; when it finds it taken, it leaves. Who
    sleeps never does.
    """
    store, end = run.work.store, clock.ticks() + run.wish.patience
    while not store.acquire(LEASE, run.holder, LEASE_SECONDS, run.now()):
        if clock.ticks() > end:
            return False
        other = store.holder(LEASE, run.now())
        if other and idle(run, other):
            store.release(LEASE, other)
        else:
            clock.sleep(0.1)
    return True


def idle(run: Run, other: str) -> bool:
    """Whether somebody else who has the lease only waits for work."""
    return (
        other.startswith(WAITERS)
        and run.work.store.holder(ASLEEP, run.now()) is None
        and not run.queue.has_work(run.work)
    )


def night(run: Run) -> Slept:
    """One run from its beginning, or from where the last one stopped, to its end."""
    store = run.work.store
    old = noted(run)
    run.number = (
        old.run
        or store.append(
            [
                Event(
                    "sleeping",
                    SPACELESS,
                    run.work.now,
                    payload={"going_through": list(run.wish.passes)},
                )
            ]
        )[0]
    )
    done: list[Done] = []
    for name in run.wish.passes[run.wish.passes.index(old.reached) if old.reached else 0 :]:
        if not run.going():
            break
        done.append(through(run, name, (old.space, old.after) if name == old.reached else ("", "")))
    slept = Slept(run.number, tuple(done), run.stopped, retired=tuple(run.retired))
    if run.stopped and not run.lost:
        note(run)
    elif not run.stopped:
        end(run, slept)
    return slept


def end(run: Run, slept: Slept) -> None:
    """Write down that the run is over."""
    store = run.work.store
    stats = store.stats()
    with store.alone():
        store.append(
            [
                Event(
                    "slept",
                    SPACELESS,
                    run.now(),
                    payload={
                        "run": run.number,
                        "went_through": {
                            done.name: done.skipped or done.steps for done in slept.passes
                        },
                    },
                )
            ]
        )
        store.set_meta(NOTE, "")
        if run.wish.night or set(SAFE) <= set(run.wish.passes):  # single passes are no night
            store.set_meta(SLEPT_AT, repr(run.work.now))
            store.set_meta(SLEPT_COUNT, str(stats.memories + stats.retired))


def noted(run: Run) -> Note:
    """Where the last run stopped, if it was asked for the same."""
    kept = json.loads(run.work.store.meta(NOTE) or "null")
    return Note(*kept["at"]) if kept and kept["passes"] == list(run.wish.passes) else Note()


def through(run: Run, name: str, at: tuple[str, str]) -> Done:
    """One pass over everything that it concerns, from where it stopped."""
    begin = clock.ticks()
    run.reached = (name, *at)
    steps, skipped = OVER[PASSES[name].over](run, name, at)
    return Done(name, steps, clock.ticks() - begin, skipped)
