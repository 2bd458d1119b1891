"""Facts about code are verified (B112): every anchor is held against the code as it is now.

Of what has changed a language model, where there is one, may be asked whether it still holds. Its
yes sets the anchor to the code as it is now, its no is told with the mark; a person has the last
word. It is asked once about each state of a definition, and only where it can be shown all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from reverie.code.anchor_reader import (
    find_anchored_memories,
    load_anchored_roots,
    refresh_anchors,
    renew_code_index,
    replace_anchors,
)
from reverie.consolidation.batch_commit import commit_in_batches
from reverie.consolidation.sleep_run import SleepRun
from reverie.core.code_anchors import CHANGED, CodeAnchor, details_with_anchors, outdated_notice
from reverie.core.errors import ExtraMissing
from reverie.core.model import Memory
from reverie.reconciliation.pass_view import PassStep, PassView

if TYPE_CHECKING:
    from reverie.code.anchor_tracking import RepositoryView


def verify_code_facts(run: SleepRun, name: str, at: tuple[str, str]) -> tuple[int, str]:
    """Every repository that a memory speaks of: its index is renewed, then each anchor is looked
    after.
    """
    from reverie.code.anchor_tracking import RepositoryView

    work, steps, why = run.work, 0, ""
    for root in load_anchored_roots(work.store):
        try:
            there = run.may_continue() and renew_code_index(
                work, root, f"{run.holder}:code", run.may_continue
            )
        except ExtraMissing as err:
            return steps, str(err)
        if not there:
            why = f"{root} is not there, or is being indexed"
            continue
        sights = RepositoryView(work.store.code, root, work.now, work.policy)
        for page in find_anchored_memories(work, root):
            for space in sorted({memory.space for memory in page if memory.space >= at[0]}):
                mine = {memory.id: memory for memory in page if memory.space == space}
                steps += commit_in_batches(
                    run, name, space, verify_memories(run, sights, mine), PassView(work.now, mine)
                )
    return steps, "" if steps else why


def verify_memories(
    run: SleepRun, sights: RepositoryView, memories: dict[str, Memory]
) -> Iterator[PassStep]:
    """What becomes of some memories."""
    for memory in memories.values():
        anchors = refresh_anchors(sights, memory)
        still = run.wish.check_fact
        if still is not None:
            anchors = [judge_anchor(sights, partial(still, memory), anchor) for anchor in anchors]
        if changes := replace_anchors(memory, anchors, run.work.now):
            words = outdated_notice(memory._replace(details=details_with_anchors(memory, anchors)))
            yield PassStep(
                tuple(changes),
                (memory.id,),
                words or "the code that it speaks of is there, as it was",
            )


def judge_anchor(
    sights: RepositoryView, still: partial[tuple[str, str] | None], anchor: CodeAnchor
) -> CodeAnchor:
    """An anchor with what a model says of it, if its definition has changed and was not judged like
    this before.
    """
    from reverie.code.anchor_tracking import observe_anchor
    from reverie.code.definition_digest import MAX_BODY_CHARS

    if anchor.state != CHANGED or not anchor.symbol or anchor.root != sights.root:
        return anchor
    now = observe_anchor(sights, anchor.path, anchor.symbol, anchor.by)
    if (
        now is None
        or anchor.judged == now.shape
        or max(len(anchor.body), len(now.body)) >= MAX_BODY_CHARS
    ):
        return anchor
    said = still(anchor.body, now.body)
    if said is None:
        return anchor
    verdict, why = said
    if verdict == "yes":
        return now._replace(was=anchor.was)
    return anchor._replace(judged=now.shape, verdict=why if verdict == "no" else "")
