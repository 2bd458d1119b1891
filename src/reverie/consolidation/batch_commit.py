"""Committing what a pass decides: one transaction for each batch, in which what it rests on is read
once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from reverie.consolidation.sleep_run import PlannedStep, SleepRun, save_progress
from reverie.core.kinds import DAY, half_life, kind_of
from reverie.core.model import Add, Event, Retire, Revise, index_memories
from reverie.pipeline.event_reader import MAX_ATTEMPTS
from reverie.reconciliation.pass_view import ClosePair, PassStep, PassView, index_edges

# changes of one transaction
MAX_CHANGES = 500

# In the event of a batch: of each step how many changes it is, and its reason in words. Changes are
# recorded in this order.
STEPS = "steps"

# newest turns that tell what was given lately
MAX_TURNS = 20_000

# What a pass goes over: pairs, or ids of memories.
Item = TypeVar("Item", ClosePair, str)


def commit_items(
    run: SleepRun,
    space: str,
    items: Sequence[Item],
    show: Callable[[SleepRun, Sequence[Item]], PassView],
    decide: Callable[[PassView], list[PassStep]],
) -> None:
    """Let a pass decide about these items and commit its steps.

    Halves the items if they cause more than MAX_CHANGES changes.
    """
    for _ in range(MAX_ATTEMPTS):
        view = show(run, items)
        steps = exclude_restored(run, decide(view))
        steps = [step for step in steps if not archives_given(run, view, step)]
        if sum(len(step.changes) for step in steps) > MAX_CHANGES and len(items) > 1:
            half = len(items) // 2
            commit_items(run, space, items[:half], show, decide)
            commit_items(run, space, items[half:], show, decide)
            return
        # The next run goes on after the last item: pairs are in the order of their newer memory.
        last = items[-1]
        last_id = last.other if isinstance(last, ClosePair) else last
        run.reached = (run.pass_name, space, last_id)
        if apply_steps(run, space, steps, view):
            return
    # Somebody alters these all the time: the next run will see.


def exclude_restored(run: SleepRun, steps: list[PassStep]) -> list[PassStep]:
    """The steps without those that archive what a person has restored: it stays."""
    return [step for step in steps if not archives_restored(run, step)]


def archives_restored(run: SleepRun, step: PassStep) -> bool:
    """True if a step archives what a person has restored."""
    return any(was_restored(run, id) for id in list_faded_ids(step))


def list_faded_ids(step: PassStep) -> list[str]:
    """What a step archives."""
    return [
        change.id for change in step.changes if isinstance(change, Retire) and change.why == "faded"
    ]


def archives_given(run: SleepRun, view: PassView, step: PassStep) -> bool:
    """True if a step archives what an agent was given within its half-life: used or not, it still
    comes up. Working memory goes when its hour is over.
    """
    faded = [view.memories[id] for id in list_faded_ids(step)]
    return any(
        kind_of(memory.kind).type != "working"
        and run.work.now - read_given_times(run).get(memory.id, float("-inf"))
        <= half_life(memory) * DAY
        for memory in faded
    )


def read_given_times(run: SleepRun) -> dict[str, float]:
    """When each memory was given last, by the newest turns of the log; read once in a run, and only
    if something has faded.
    """
    if run.given_at is None:
        turns = run.work.store.search_events(("turn",), containing=("given",), limit=MAX_TURNS)
        run.given_at = {
            id: turn.at for turn in reversed(turns) for id in turn.payload.get("given") or ()
        }
    return run.given_at


def was_restored(run: SleepRun, id: str) -> bool:
    """True if an active memory was in the archive before."""
    return any(
        record.op == "revise" and record.before.get("retired_why") == "faded"
        for record in run.work.store.history(id)
    )


def apply_steps(
    run: SleepRun,
    space: str,
    steps: Sequence[PassStep],
    view: PassView,
) -> bool:
    """Commit the steps in one transaction and count them; False if what they rest on was
    altered.
    """
    if steps and not commit_steps(run, space, steps, view):
        return False
    if run.request.dry_run:
        run.plan += [
            PlannedStep(run.pass_name, step, collect_step_texts(view, step)) for step in steps
        ]
    run.steps += len(steps)
    return True


def commit_steps(
    run: SleepRun,
    space: str,
    steps: Sequence[PassStep],
    view: PassView,
) -> bool:
    """Commit the steps in one transaction; False if what they rest on was altered."""
    store = run.work.store
    ids = sorted({id for step in steps for id in step.rests_on})
    with store.transaction():
        current = index_memories(store.get(ids))
        if any(view.memories.get(id, memory) != memory for id, memory in current.items()):
            return False
        if not are_edges_unchanged(run, view, ids):
            return False
        # A step whose memory was erased meanwhile is left out.
        whole = [step for step in steps if current.keys() >= set(step.rests_on)]
        changes = [change for step in whole for change in step.changes]
        pairs = [list(step.ruling) for step in whole if step.ruling]
        payload = {
            "run": run.number,
            "by": run.pass_name,
            "pairs": pairs,
            STEPS: [[len(step.changes), step.why] for step in whole],
        }
        store.apply(
            changes,
            Event("sleep", space, run.work.now, payload=payload),
        )
        save_progress(run)
    run.retired += [change.id for change in changes if isinstance(change, Retire)]
    return True


def are_edges_unchanged(
    run: SleepRun,
    view: PassView,
    ids: Sequence[str],
) -> bool:
    """True if the edges of these memories are as the pass saw them."""
    wanted = set(ids)
    relations = tuple({relation for _, relation, _ in view.edges}) or ("none",)
    seen = {
        (src, rel, dst): weight
        for (src, rel, dst), weight in view.edges.items()
        if src in wanted or dst in wanted
    }
    return seen == index_edges(run.work.store.edges(ids, relations))


def collect_step_texts(view: PassView, step: PassStep) -> dict[str, str]:
    """The texts of all memories that a step adds, changes or rests on, by id."""
    added = {}
    ids = set(step.rests_on)
    for change in step.changes:
        if isinstance(change, Add):
            added[change.memory.id] = change.memory.text
        elif isinstance(change, (Revise, Retire)):
            ids.add(change.id)
    known = {id: view.memories[id].text for id in ids & view.memories.keys()}
    return known | added


def commit_in_batches(
    run: SleepRun,
    space: str,
    steps: Iterable[PassStep],
    view: PassView,
) -> None:
    """Commit independent steps, MAX_CHANGES at a time."""
    run.reached = (run.pass_name, space, "")
    for batch in run.take_batches(steps, MAX_CHANGES):
        apply_steps(run, space, batch, view)
