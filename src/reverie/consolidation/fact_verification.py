"""Facts about code are verified: every anchor is held against the code as it is now.

Of what has changed a language model, where there is one, may be asked whether it still holds. Its
yes sets the anchor to the code as it is now, its no is shown with the memory; a person has the last
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


def verify_code_facts(run: SleepRun) -> str:
    """Renew the code index of every repository that a memory speaks of, then verify its anchors.

    Returns why nothing was done, if that is so.
    """
    why = ""
    for root in load_anchored_roots(run.work.store):
        try:
            is_indexed = run.may_continue() and renew_code_index(
                run.work, root, f"{run.holder}:code", run.may_continue
            )
        except ExtraMissing as err:
            return str(err)
        if is_indexed:
            verify_repository(run, root)
        else:
            why = f"{root} is not there, or is being indexed"
    return "" if run.steps else why


def verify_repository(run: SleepRun, root: str) -> None:
    """Verify the anchors of all memories that speak of one repository."""
    from reverie.code.anchor_tracking import RepositoryView

    work = run.work
    repository = RepositoryView(work.store.code, root, work.now, work.policy)
    for page in find_anchored_memories(work, root):
        spaces = {memory.space for memory in page}
        for space in sorted(space for space in spaces if space >= run.resume_at[0]):
            memories = {memory.id: memory for memory in page if memory.space == space}
            verified = verify_memories(run, repository, memories)
            commit_in_batches(run, space, verified, PassView(work.now, memories))


def verify_memories(
    run: SleepRun,
    sights: RepositoryView,
    memories: dict[str, Memory],
) -> Iterator[PassStep]:
    """A step for each memory whose anchors are to be altered."""
    check = run.request.check_fact
    for memory in memories.values():
        anchors = refresh_anchors(sights, memory)
        if check is not None:
            anchors = [judge_anchor(sights, partial(check, memory), anchor) for anchor in anchors]
        changes = replace_anchors(memory, anchors, run.work.now)
        if changes:
            updated = memory._replace(details=details_with_anchors(memory, anchors))
            why = outdated_notice(updated) or "the code that it speaks of is there, as it was"
            yield PassStep(tuple(changes), (memory.id,), why)


def judge_anchor(
    sights: RepositoryView,
    still: partial[tuple[str, str] | None],
    anchor: CodeAnchor,
) -> CodeAnchor:
    """The anchor with what a model says of its changed definition, once for each state of it."""
    from reverie.code.anchor_tracking import observe_anchor
    from reverie.code.definition_digest import MAX_BODY_CHARS

    if anchor.state != CHANGED or not anchor.symbol or anchor.root != sights.root:
        return anchor
    now = observe_anchor(sights, anchor.path, anchor.symbol, anchor.by)
    if now is None or anchor.judged == now.shape:
        return anchor
    # A body of that length was cut off: the model could not be shown all of it.
    if max(len(anchor.body), len(now.body)) >= MAX_BODY_CHARS:
        return anchor
    answer = still(anchor.body, now.body)
    if answer is None:
        return anchor
    verdict, why = answer
    if verdict == "yes":
        return now._replace(was=anchor.was)
    return anchor._replace(judged=now.shape, verdict=why if verdict == "no" else "")
