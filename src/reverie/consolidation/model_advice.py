"""What a run of sleep may ask a language model: one text for two memories, how two belong together,
whether a note about code still holds, a name for a group.

Each is one question; None means that there is no useful answer, and the run goes on as without a
model.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from reverie.pipeline.event_reader import WorkContext

if TYPE_CHECKING:
    from reverie.consolidation.sleep_run import FactCheck, SleepRequest
    from reverie.core.model import Memory
    from reverie.llm.language_model import LanguageModel
    from reverie.llm.pair_task import PairOpinion
    from reverie.reconciliation.pair_passes import MergeText, RelateMemories

# pairs of one run that a model is asked about: 70,000 tokens at most
MAX_RELATED_PAIRS = 50
# facts about code of one run: 45,000 tokens at most
MAX_FACT_CHECKS = 30


def with_model_advice(work: WorkContext, request: SleepRequest) -> SleepRequest:
    """The request with what a model may do in it, if there is one."""
    llm = work.llm
    if llm is None:
        return request
    from reverie.consolidation.sleep_run import RUN_EVENT_SPACE

    return request._replace(
        merge_text=request.merge_text or make_text_merger(llm, RUN_EVENT_SPACE),
        relate=make_relation_judge(llm),
        check_fact=make_fact_checker(llm),
        name_group=lambda texts, space: ask_group_name(llm, texts, space),
    )


def make_relation_judge(llm: LanguageModel) -> RelateMemories:
    """A function that says how two memories belong together; "none" is an answer.

    It asks about MAX_RELATED_PAIRS pairs at most, each once.
    """
    from reverie.llm.pair_task import build_relation_request, read_relation

    known: dict[tuple[str, str], PairOpinion | None] = {}

    def related(first: Memory, second: Memory) -> PairOpinion | None:
        both = first.text, second.text
        if both not in known and len(known) < MAX_RELATED_PAIRS:
            request = build_relation_request(first, second)
            known[both] = llm.ask(request, read_relation, space=second.space).value
        return known.get(both)

    return related


def make_fact_checker(llm: LanguageModel) -> FactCheck:
    """A function that says whether a memory still holds for code that has changed.

    It asks about MAX_FACT_CHECKS memories at most.
    """
    from reverie.llm.fact_check_task import build_fact_check_request, read_fact_check

    left = MAX_FACT_CHECKS

    def holds(
        memory: Memory,
        then: str,
        now: str,
    ) -> tuple[str, str] | None:
        nonlocal left
        left -= 1
        if left < 0:
            return None
        request = build_fact_check_request(memory.text, then, now)
        return llm.ask(request, read_fact_check, space=memory.space).value

    return holds


def make_text_merger(llm: LanguageModel, space: str) -> MergeText:
    """A function that merges two texts and keeps every number, name and path of both.

    It returns "" where the model does not, and asks about the same two once.
    """
    from reverie.llm.pair_task import build_merge_request, read_merged_text

    @cache
    def merged(one: str, other: str) -> str:
        both = (one, other)
        request = build_merge_request(both)
        answer = llm.ask(request, lambda text: read_merged_text(text, both), space=space)
        return answer.value or ""

    return merged


def ask_group_name(
    llm: LanguageModel,
    texts: Sequence[str],
    space: str,
) -> str | None:
    """One to four words for a group of memories, from the model; None without a useful answer."""
    from reverie.llm.group_naming_task import build_naming_request, read_group_name

    return llm.ask(build_naming_request(texts), read_group_name, space=space).value
