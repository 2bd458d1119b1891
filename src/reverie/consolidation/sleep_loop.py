"""The loop of sleep: go through the passes, commit batch by batch, note how far it has come.

A run begins with an event `sleeping` (its number names the run), goes on with one event `sleep` for
each batch of at most MAX_CHANGES changes, and ends with `report`. Each batch is one transaction, in
which what it rests on is read once more; if somebody has altered that, the pass decides anew.
Between batches the lease is renewed and the run may stop: when its time is over, when somebody is
at work, when it is interrupted. A note in the same transaction says how far it has come: the next
run goes on there. So a run may be killed at any moment, and what it did until then can be undone.

Pairs are looked for among what is new since a pass went through last (`neighbour_index.Watermark`),
so that a second run is a short one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from contextlib import closing

from reverie.consolidation.pass_iteration import PASS_RUNNERS
from reverie.consolidation.sleep_passes import PASSES, SAFE_PASSES
from reverie.consolidation.sleep_run import (
    LEASE_SECONDS,
    RUN_EVENT_SPACE,
    SLEEP_LEASE,
    PassReport,
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

# Leases of these holders may be those of a process that only waits for work.
WAITING_HOLDERS = ("settler", "worker")
# seconds between two attempts to take the lease
POLL_SECONDS = 0.1

__all__ = [
    "PassReport",
    "SleepReport",
    "SleepRequest",
    "run_sleep_passes",
    "select_passes",
]


def select_passes(names: Iterable[str]) -> tuple[str, ...]:
    """Passes by name, in their order; all of them for no names. Raises BadInput."""
    wanted = tuple(names)
    unknown = [name for name in wanted if name not in PASSES]
    if unknown:
        raise BadInput(f"There is no pass {unknown[0]!r} of sleep; there are {', '.join(PASSES)}")
    return tuple(name for name in PASSES if name in wanted) if wanted else tuple(PASSES)


def run_sleep_passes(
    work: WorkContext,
    request: SleepRequest,
    holder: str,
    now: Callable[[], float],
    queue: EventQueue,
) -> SleepReport:
    """Go through the passes; in a dry run do so in a copy, and tell what was done there: what a
    pass does depends on what those before it did.

    Waits up to `request.patience` seconds for another process that settles events.
    """
    if request.dry_run:
        with closing(work.store.copy()) as copy:
            tried = SleepRun(work._replace(store=copy, llm=None), request, holder, now, queue)
            passes = tuple(run_pass(tried, name) for name in request.passes)
        return SleepReport(passes=passes, plan=tuple(tried.plan))
    run = SleepRun(work, request, holder, now, queue)
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
    """Take the settling lease, waiting a while for its holder; True if it was taken.

    A worker that only waits for work gives way: it keeps the lease so that no second worker is
    started, and leaves when it finds it taken. Who sleeps never gives way.
    """
    store, deadline = run.work.store, clock.ticks() + run.request.patience
    while not store.acquire(SETTLE_LEASE, run.holder, LEASE_SECONDS, run.now()):
        if clock.ticks() > deadline:
            return False
        other = store.holder(SETTLE_LEASE, run.now())
        if other and is_idle_holder(run, other):
            store.release(SETTLE_LEASE, other)
        else:
            clock.sleep(POLL_SECONDS)
    return True


def is_idle_holder(run: SleepRun, other: str) -> bool:
    """True if another holder of the lease only waits for work."""
    return (
        other.startswith(WAITING_HOLDERS)
        and run.work.store.holder(SLEEP_LEASE, run.now()) is None
        and not run.queue.has_work(run.work)
    )


def run_remaining_passes(run: SleepRun) -> SleepReport:
    """One run from its beginning, or from where the last one stopped, to its end."""
    passes = run.request.passes
    last = load_progress(run)
    run.number = last.run or record_sleep_begin(run)
    if last.reached:
        passes = passes[passes.index(last.reached) :]
    done: list[PassReport] = []
    for name in passes:
        if not run.may_continue():
            break
        at = (last.space, last.after) if name == last.reached else ("", "")
        done.append(run_pass(run, name, at))
    report = SleepReport(
        run.number,
        tuple(done),
        run.stopped,
        retired=tuple(run.retired),
    )
    if not run.stopped:
        record_sleep_end(run, report)
        redraw_maps(run)
    elif not run.lost:
        save_progress(run)
    return report


def record_sleep_begin(run: SleepRun) -> int:
    """Log the beginning of a run; its number."""
    payload = {"going_through": list(run.request.passes)}
    begin = Event("sleeping", RUN_EVENT_SPACE, run.work.now, payload=payload)
    return run.work.store.append([begin])[0]


def record_sleep_end(run: SleepRun, report: SleepReport) -> None:
    """Log the end of the run and what it did, and forget how far it had come."""
    store = run.work.store
    stats = store.stats()
    went_through = {done.name: done.skipped or done.steps for done in report.passes}
    payload = {"run": run.number, "went_through": went_through}
    with store.transaction():
        store.append([Event("slept", RUN_EVENT_SPACE, run.now(), payload=payload)])
        store.set_meta(PROGRESS_KEY, "")
        # Single passes are no whole run: the interval begins after one only.
        if run.request.night or set(SAFE_PASSES) <= set(run.request.passes):
            store.set_meta(SLEPT_AT, repr(run.work.now))
            store.set_meta(SLEPT_COUNT, str(stats.memories + stats.retired))


def redraw_maps(run: SleepRun) -> None:
    """Have the maps that people look at show what this run has tied and archived."""
    # Needs numpy, and is seldom anything to do.
    from reverie.consolidation.memory_map import redraw_kept_maps

    work = run.work
    if work.store.url.endswith(":memory:"):
        return
    redraw_kept_maps(work.store, work.settings.home, work.embedding_model, run.now())


def load_progress(run: SleepRun) -> RunProgress:
    """Where the last run stopped, if it was asked for the same passes."""
    progress = json.loads(run.work.store.meta(PROGRESS_KEY) or "null")
    if not progress or progress["passes"] != list(run.request.passes):
        return RunProgress()
    return RunProgress(*progress["at"])


def run_pass(
    run: SleepRun,
    name: str,
    at: tuple[str, str] = ("", ""),
) -> PassReport:
    """One pass over everything that it concerns, from (space, id) on."""
    begin = clock.ticks()
    run.resume_at, run.reached, run.steps = at, (name, *at), 0
    skipped = PASS_RUNNERS[PASSES[name].over](run)
    return PassReport(name, run.steps, clock.ticks() - begin, skipped)
