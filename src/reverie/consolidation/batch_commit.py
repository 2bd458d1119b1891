"""From what a pass wants to what is so: one transaction for each batch, in which what it rests on
is read once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from reverie.consolidation.sleep_run import PlannedStep, SleepRun, save_progress
from reverie.core.model import Add, Event, Retire, Revise
from reverie.pipeline.event_reader import MAX_ATTEMPTS
from reverie.reconciliation.pass_view import ClosePair, PassStep, PassView, index_edges

MAX_CHANGES = 500  # changes of one transaction


def commit_items(
    run: SleepRun,
    name: str,
    space: str,
    items: Sequence[ClosePair] | Sequence[str],
    show: Callable[[SleepRun, Sequence[ClosePair] | Sequence[str]], PassView],
    decide: Callable[[PassView], list[PassStep]],
) -> int:
    """Show a pass these items and make its steps so; in halves, if that is too much for one
    transaction.
    """
    for _ in range(MAX_ATTEMPTS):
        view = show(run, items)
        steps = exclude_restored(run, decide(view))
        if sum(len(step.changes) for step in steps) > MAX_CHANGES and len(items) > 1:
            half = len(items) // 2
            return commit_items(run, name, space, items[:half], show, decide) + commit_items(
                run, name, space, items[half:], show, decide
            )
        run.reached = (name, space, last_id(items[-1]))
        if apply_steps(run, name, space, steps, view):
            return len(steps)
    return 0  # somebody alters these all the time: the next run will see


def last_id(item: ClosePair | str) -> str:
    """What an item is found again by when the run goes on: pairs are in the order of their newer
    memory.
    """
    return item.other if isinstance(item, ClosePair) else item


def exclude_restored(run: SleepRun, steps: list[PassStep]) -> list[PassStep]:
    """Without what a person has brought back from the archive: it stays."""
    return [
        step
        for step in steps
        if not any(
            isinstance(change, Retire) and change.why == "faded" and was_restored(run, change.id)
            for change in step.changes
        )
    ]


def was_restored(run: SleepRun, id: str) -> bool:
    """Whether it was in the archive before."""
    return any(
        record.op == "revise" and record.before.get("retired_why") == "faded"
        for record in run.work.store.history(id)
    )


def apply_steps(
    run: SleepRun, name: str, space: str, steps: Sequence[PassStep], view: PassView
) -> bool:
    """Make the steps so in one transaction; False if what they rest on was altered."""
    if run.wish.dry_run:
        run.plan += [PlannedStep(name, step, collect_step_texts(view, step)) for step in steps]
        return True
    if not steps:
        return True
    store, ids = run.work.store, sorted({id for step in steps for id in step.rests_on})
    with store.transaction():
        there = {memory.id: memory for memory in store.get(ids)}
        if any(view.memories.get(id, memory) != memory for id, memory in there.items()):
            return False
        if not are_edges_unchanged(run, view, ids):
            return False
        # the others were erased
        whole = [step for step in steps if all(id in there for id in step.rests_on)]
        store.apply(
            [change for step in whole for change in step.changes],
            Event(
                "sleep",
                space,
                run.work.now,
                payload={
                    "run": run.number,
                    "by": name,
                    "pairs": [list(step.ruling) for step in whole if step.ruling],
                },
            ),
        )
        save_progress(run)
    run.retired += [
        change.id for step in whole for change in step.changes if isinstance(change, Retire)
    ]
    return True


def are_edges_unchanged(run: SleepRun, view: PassView, ids: Sequence[str]) -> bool:
    """Whether the edges of these memories are as the pass saw them."""
    asked = set(ids)
    rels = tuple({rel for _, rel, _ in view.edges}) or ("none",)
    seen = {ends: weight for ends, weight in view.edges.items() if not asked.isdisjoint(ends[::2])}
    return seen == index_edges(run.work.store.edges(ids, rels))


def collect_step_texts(view: PassView, step: PassStep) -> dict[str, str]:
    """What the memories of a step say."""
    added = {
        change.memory.id: change.memory.text for change in step.changes if isinstance(change, Add)
    }
    ids = {
        *step.rests_on,
        *(change.id for change in step.changes if isinstance(change, (Revise, Retire))),
    }
    return {id: view.memories[id].text for id in ids if id in view.memories} | added


def commit_in_batches(
    run: SleepRun, name: str, space: str, steps: Iterable[PassStep], view: PassView
) -> int:
    """Make steps so that do not bear on one another, MOST at a time."""
    done, rest = 0, iter(steps)
    run.reached = (name, space, "")
    while run.may_continue() and (some := list(islice(rest, MAX_CHANGES))):
        if apply_steps(run, name, space, some, view):
            done += len(some)
    return done
