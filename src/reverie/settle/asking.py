"""What settling and sleep may ask a language model about memories that are there; None where it has no useful answer.

Each is one question. The answer is checked by its task; what follows from it, and whether it can be undone, is for who
asks. None means: go on as without a model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from reverie.settle.reading import Work

if TYPE_CHECKING:
    from reverie.llm.extract import Extracted
    from reverie.llm.pairs import Opinion
    from reverie.messages import Said
    from reverie.model import Memory


def opinion(work: Work, old: Memory, new: Memory) -> Opinion | None:
    """What the newer memory is to the older: same, near, contradicts, updates or apart."""
    if work.llm is None:
        return None
    from reverie.llm.pairs import compare_request, read_comparison
    return work.llm.ask(compare_request(old, new), read_comparison, space=new.space, session=new.session).value


def relation(work: Work, first: Memory, second: Memory) -> Opinion | None:
    """How two memories that came up together belong together; "none" is an answer."""
    if work.llm is None:
        return None
    from reverie.llm.pairs import read_relation, relate_request
    return work.llm.ask(relate_request(first, second), read_relation, space=second.space).value


def merging_text(work: Work, space: str) -> Callable[[str, str], str] | None:
    """Puts two texts into one that keeps every number, name and path of both; "" where it does not."""
    llm = work.llm
    if llm is None:
        return None
    from reverie.llm.pairs import merge_request, read_merged

    def merged(one: str, other: str) -> str:
        both = (one, other)
        return llm.ask(merge_request(both), lambda text: read_merged(text, both), space=space).value or ""
    return merged


def group_name(work: Work, texts: Sequence[str], space: str) -> str | None:
    """One to four words for a group of memories."""
    if work.llm is None:
        return None
    from reverie.llm.groups import name_request, read_name
    return work.llm.ask(name_request(texts), read_name, space=space).value


def answered(work: Work, questions: Sequence[str], said: Sequence[Said], space: str, session: str) -> Extracted | None:
    """What a session answers of the questions that found nothing while it went on (B82)."""
    if work.llm is None or not questions or not said:
        return None
    from reverie.llm.groups import gaps_request, read_gaps
    return work.llm.ask(gaps_request(questions, said), lambda text: read_gaps(text, said), space=space,
                        session=session).value
