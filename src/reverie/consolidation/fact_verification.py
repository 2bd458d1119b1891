"""Facts about code are verified (B112): every anchor is held against the code as it is now.

Of what has changed a language model, where there is one, may be asked whether it still holds. Its
yes sets the anchor to the code as it is now, its no is told with the mark; a person has the last
word. It is asked once about each state of a definition, and only where it can be shown all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from reverie.code.anchor_reader import anchored, anchored_roots, brought_up, concerned, present
from reverie.consolidation.batch_commit import in_steps
from reverie.consolidation.sleep_run import Run
from reverie.core.code_anchors import CHANGED, Anchor, outdated, with_anchors
from reverie.core.errors import ExtraMissing
from reverie.core.model import Memory
from reverie.reconciliation.pass_view import Step, View

if TYPE_CHECKING:
    from reverie.code.anchor_tracking import Sights


def over_code(run: Run, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """Every repository that a memory speaks of: its index is renewed, then each anchor is looked
    after.
    """
    from reverie.code.anchor_tracking import Sights

    work, steps, why = run.work, 0, ""
    for root in anchored_roots(work.store):
        try:
            there = run.going() and brought_up(work, root, f"{run.holder}:code", run.going)
        except ExtraMissing as err:
            return steps, str(err)
        if not there:
            why = f"{root} is not there, or is being indexed"
            continue
        sights = Sights(work.store.code, root, work.now, work.policy)
        for page in concerned(work, root):
            for space in sorted({memory.space for memory in page if memory.space >= at[0]}):
                mine = {memory.id: memory for memory in page if memory.space == space}
                steps += in_steps(
                    run, name, space, verified(run, sights, mine), View(work.now, mine)
                )
    return steps, "" if steps else why


def verified(run: Run, sights: Sights, memories: dict[str, Memory]) -> Iterator[Step]:
    """What becomes of some memories."""
    for memory in memories.values():
        anchors = present(sights, memory)
        still = run.wish.still
        if still is not None:
            anchors = [judged(sights, partial(still, memory), anchor) for anchor in anchors]
        if changes := anchored(memory, anchors, run.work.now):
            words = outdated(memory._replace(details=with_anchors(memory, anchors)))
            yield Step(
                tuple(changes),
                (memory.id,),
                words or "the code that it speaks of is there, as it was",
            )


def judged(sights: Sights, still: partial[tuple[str, str] | None], anchor: Anchor) -> Anchor:
    """An anchor with what a model says of it, if its definition has changed and was not judged like
    this before.
    """
    from reverie.code.anchor_tracking import seen
    from reverie.code.definition_digest import MOST_BODY

    if anchor.state != CHANGED or not anchor.symbol or anchor.root != sights.root:
        return anchor
    now = seen(sights, anchor.path, anchor.symbol, anchor.by)
    if (
        now is None
        or anchor.judged == now.shape
        or max(len(anchor.body), len(now.body)) >= MOST_BODY
    ):
        return anchor
    said = still(anchor.body, now.body)
    if said is None:
        return anchor
    verdict, why = said
    if verdict == "yes":
        return now._replace(was=anchor.was)
    return anchor._replace(judged=now.shape, verdict=why if verdict == "no" else "")
