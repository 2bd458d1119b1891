"""From what a pass wants to what is so: one transaction for each batch, in which what it rests on
is read once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice

from reverie.consolidation.sleep_run import Planned, Run, note
from reverie.core.model import Add, Event, Retire, Revise
from reverie.pipeline.event_reader import ANEW
from reverie.reconciliation.pass_view import Pair, Step, View, told

MOST = 500  # changes of one transaction


def commit(
    run: Run,
    name: str,
    space: str,
    items: Sequence[Pair] | Sequence[str],
    show: Callable[[Run, Sequence[Pair] | Sequence[str]], View],
    decide: Callable[[View], list[Step]],
) -> int:
    """Show a pass these items and make its steps so; in halves, if that is too much for one
    transaction.
    """
    for _ in range(ANEW):
        view = show(run, items)
        steps = allowed(run, decide(view))
        if sum(len(step.changes) for step in steps) > MOST and len(items) > 1:
            half = len(items) // 2
            return commit(run, name, space, items[:half], show, decide) + commit(
                run, name, space, items[half:], show, decide
            )
        run.reached = (name, space, last_of(items[-1]))
        if made(run, name, space, steps, view):
            return len(steps)
    return 0  # somebody alters these all the time: the next run will see


def last_of(item: Pair | str) -> str:
    """What an item is found again by when the run goes on: pairs are in the order of their newer
    memory.
    """
    return item.other if isinstance(item, Pair) else item


def allowed(run: Run, steps: list[Step]) -> list[Step]:
    """Without what a person has brought back from the archive: it stays."""
    return [
        step
        for step in steps
        if not any(
            isinstance(change, Retire) and change.why == "faded" and brought_back(run, change.id)
            for change in step.changes
        )
    ]


def brought_back(run: Run, id: str) -> bool:
    """Whether it was in the archive before."""
    return any(
        record.op == "revise" and record.before.get("retired_why") == "faded"
        for record in run.work.store.history(id)
    )


def made(run: Run, name: str, space: str, steps: Sequence[Step], view: View) -> bool:
    """Make the steps so in one transaction; False if what they rest on was altered."""
    if run.wish.dry:
        run.plan += [Planned(name, step, texts_of(view, step)) for step in steps]
        return True
    if not steps:
        return True
    store, ids = run.work.store, sorted({id for step in steps for id in step.rests_on})
    with store.alone():
        there = {memory.id: memory for memory in store.get(ids)}
        if any(view.memories.get(id, memory) != memory for id, memory in there.items()):
            return False
        if not same_edges(run, view, ids):
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
        note(run)
    run.retired += [
        change.id for step in whole for change in step.changes if isinstance(change, Retire)
    ]
    return True


def same_edges(run: Run, view: View, ids: Sequence[str]) -> bool:
    """Whether the edges of these memories are as the pass saw them."""
    asked = set(ids)
    rels = tuple({rel for _, rel, _ in view.edges}) or ("none",)
    seen = {ends: weight for ends, weight in view.edges.items() if not asked.isdisjoint(ends[::2])}
    return seen == told(run.work.store.edges(ids, rels))


def texts_of(view: View, step: Step) -> dict[str, str]:
    """What the memories of a step say."""
    added = {
        change.memory.id: change.memory.text for change in step.changes if isinstance(change, Add)
    }
    ids = {
        *step.rests_on,
        *(change.id for change in step.changes if isinstance(change, (Revise, Retire))),
    }
    return {id: view.memories[id].text for id in ids if id in view.memories} | added


def in_steps(run: Run, name: str, space: str, steps: Iterable[Step], view: View) -> int:
    """Make steps so that do not bear on one another, MOST at a time."""
    done, rest = 0, iter(steps)
    run.reached = (name, space, "")
    while run.going() and (some := list(islice(rest, MOST))):
        if made(run, name, space, some, view):
            done += len(some)
    return done
