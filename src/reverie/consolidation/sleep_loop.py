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

from reverie.consolidation.pass_iteration import PASS_RUNNERS
from reverie.consolidation.sleep_passes import PASSES, SAFE_PASSES
from reverie.consolidation.sleep_run import (
    LEASE_SECONDS,
    RUN_EVENT_SPACE,
    SLEEP_LEASE,
    PassReport,
    PlannedStep,
    RunProgress,
    SleepReport,
    SleepRequest,
    SleepRun,
    save_progress,
)
from reverie.consolidation.sleep_schedule import PROGRESS_KEY, SLEPT_AT, SLEPT_COUNT
from reverie.core import clock
from reverie.core.errors import BadInput
from reverie.core.model import Event
from reverie.pipeline.event_reader import EventQueue, WorkContext
from reverie.pipeline.leases import SETTLE_LEASE

WAITING_HOLDERS = (
    "settler",
    "worker",
)  # whose leases may be those of somebody who only waits for work

__all__ = [
    "PassReport",
    "PlannedStep",
    "SleepReport",
    "SleepRequest",
    "run_sleep_passes",
    "select_passes",
]


def select_passes(names: Iterable[str]) -> tuple[str, ...]:
    """Passes by name, in their order; all of them for none."""
    wanted = tuple(names)
    if unknown := [name for name in wanted if name not in PASSES]:
        raise BadInput(f"There is no pass {unknown[0]!r} of sleep; there are {', '.join(PASSES)}")
    return tuple(name for name in PASSES if name in wanted) if wanted else tuple(PASSES)


def run_sleep_passes(
    work: WorkContext, wish: SleepRequest, holder: str, now: Callable[[], float], queue: EventQueue
) -> SleepReport:
    """Go through the passes, or, with `dry`, tell what they would do. Waits a while for somebody
    else at work.
    """
    run = SleepRun(work, wish, holder, now, queue)
    if wish.dry_run:
        return SleepReport(
            passes=tuple(run_pass(run, name, ("", "")) for name in wish.passes),
            plan=tuple(run.plan),
        )
    if not take_sleep_lease(run):
        return SleepReport(stopped="somebody else is settling")
    try:
        if not work.store.acquire(SLEEP_LEASE, holder, LEASE_SECONDS, now()):
            return SleepReport(stopped="somebody else is sleeping")
        return run_remaining_passes(run)
    finally:
        work.store.release(SLEEP_LEASE, holder)
        work.store.release(SETTLE_LEASE, holder)


def take_sleep_lease(run: SleepRun) -> bool:
    """Take the lease, waiting a while for whoever has it. A worker that only waits for work gives
    way.

    It keeps the lease so that no second worker is started; when it finds it taken, it leaves. Who
    sleeps never does.
    """
    store, end = run.work.store, clock.ticks() + run.wish.patience
    while not store.acquire(SETTLE_LEASE, run.holder, LEASE_SECONDS, run.now()):
        if clock.ticks() > end:
            return False
        other = store.holder(SETTLE_LEASE, run.now())
        if other and is_idle_holder(run, other):
            store.release(SETTLE_LEASE, other)
        else:
            clock.sleep(0.1)
    return True


def is_idle_holder(run: SleepRun, other: str) -> bool:
    """Whether somebody else who has the lease only waits for work."""
    return (
        other.startswith(WAITING_HOLDERS)
        and run.work.store.holder(SLEEP_LEASE, run.now()) is None
        and not run.queue.has_work(run.work)
    )


def run_remaining_passes(run: SleepRun) -> SleepReport:
    """One run from its beginning, or from where the last one stopped, to its end."""
    store = run.work.store
    old = load_progress(run)
    run.number = (
        old.run
        or store.append(
            [
                Event(
                    "sleeping",
                    RUN_EVENT_SPACE,
                    run.work.now,
                    payload={"going_through": list(run.wish.passes)},
                )
            ]
        )[0]
    )
    done: list[PassReport] = []
    for name in run.wish.passes[run.wish.passes.index(old.reached) if old.reached else 0 :]:
        if not run.may_continue():
            break
        done.append(
            run_pass(run, name, (old.space, old.after) if name == old.reached else ("", ""))
        )
    slept = SleepReport(run.number, tuple(done), run.stopped, retired=tuple(run.retired))
    if run.stopped and not run.lost:
        save_progress(run)
    elif not run.stopped:
        record_sleep_end(run, slept)
    return slept


def record_sleep_end(run: SleepRun, slept: SleepReport) -> None:
    """Write down that the run is over."""
    store = run.work.store
    stats = store.stats()
    with store.transaction():
        store.append(
            [
                Event(
                    "slept",
                    RUN_EVENT_SPACE,
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
        store.set_meta(PROGRESS_KEY, "")
        if run.wish.night or set(SAFE_PASSES) <= set(run.wish.passes):  # single passes are no night
            store.set_meta(SLEPT_AT, repr(run.work.now))
            store.set_meta(SLEPT_COUNT, str(stats.memories + stats.retired))


def load_progress(run: SleepRun) -> RunProgress:
    """Where the last run stopped, if it was asked for the same."""
    kept = json.loads(run.work.store.meta(PROGRESS_KEY) or "null")
    return (
        RunProgress(*kept["at"])
        if kept and kept["passes"] == list(run.wish.passes)
        else RunProgress()
    )


def run_pass(run: SleepRun, name: str, at: tuple[str, str]) -> PassReport:
    """One pass over everything that it concerns, from where it stopped."""
    begin = clock.ticks()
    run.reached = (name, *at)
    steps, skipped = PASS_RUNNERS[PASSES[name].over](run, name, at)
    return PassReport(name, steps, clock.ticks() - begin, skipped)
