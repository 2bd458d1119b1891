"""What a run of sleep may ask a language model: one text for two memories, how two belong together,
whether a note about code still holds, a name for a group. Each is one question; None means that there
is no useful answer, and the run goes on as without a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from reverie.pipeline.event_reader import Work

if TYPE_CHECKING:
    from reverie.consolidation.sleep_loop import Wish
    from reverie.consolidation.sleep_run import Still
    from reverie.core.model import Memory
    from reverie.llm.pair_task import Opinion
    from reverie.reconciliation.pair_passes import Relate


MOST_RELATED = 50  # pairs of one night that a model is asked about: 70,000 tokens at most


MOST_STILL = 30  # facts about code of one night: 45,000 tokens at most


def advised(work: Work, wish: Wish) -> Wish:
    """A wish to sleep with what a model may do in it: write texts of two, name groups, say what
    belongs together.
    """
    if work.llm is None:
        return wish
    from reverie.consolidation.sleep_run import SPACELESS

    return wish._replace(
        merge_text=wish.merge_text or merging_text(work, SPACELESS),
        relate=relating(work),
        still=holding(work),
        name_group=lambda texts, space: group_name(work, texts, space),
    )


def relating(work: Work) -> Relate | None:
    """How two memories belong together; "none" is an answer. MOST_RELATED pairs a night are asked
    about, each once.
    """
    llm = work.llm
    if llm is None:
        return None
    from reverie.llm.pair_task import read_relation, relate_request

    known: dict[tuple[str, str], Opinion | None] = {}

    def related(first: Memory, second: Memory) -> Opinion | None:
        both = first.text, second.text
        if both not in known and len(known) < MOST_RELATED:
            known[both] = llm.ask(
                relate_request(first, second), read_relation, space=second.space
            ).value
        return known.get(both)

    return related


def holding(work: Work) -> Still | None:
    """Whether a memory still holds for code that has changed. MOST_STILL memories a night are asked
    about.
    """
    llm, left = work.llm, MOST_STILL
    if llm is None:
        return None
    from reverie.llm.fact_check_task import read_still, still_request

    def holds(memory: Memory, then: str, now: str) -> tuple[str, str] | None:
        nonlocal left
        left -= 1
        asked = still_request(memory.text, then, now)
        return llm.ask(asked, read_still, space=memory.space).value if left >= 0 else None

    return holds


def merging_text(work: Work, space: str) -> Callable[[str, str], str] | None:
    """Puts two texts into one that keeps every number, name and path of both; "" where it does not.

    The same two are asked about once.
    """
    llm = work.llm
    if llm is None:
        return None
    from reverie.llm.pair_task import merge_request, read_merged

    @cache
    def merged(one: str, other: str) -> str:
        both = (one, other)
        return (
            llm.ask(merge_request(both), lambda text: read_merged(text, both), space=space).value
            or ""
        )

    return merged


def group_name(work: Work, texts: Sequence[str], space: str) -> str | None:
    """One to four words for a group of memories."""
    if work.llm is None:
        return None
    from reverie.llm.group_naming_task import name_request, read_name

    return work.llm.ask(name_request(texts), read_name, space=space).value
