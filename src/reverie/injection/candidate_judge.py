"""Where a language model is configured, it decides what of the candidates an agent is shown
unasked; usually nothing.

Always true: what the judge has not named does not surface, but for what a trigger pattern of its
own called up: that is a rule that somebody set, not a resemblance. A ballot that fails, a model
that rests and a turn between two judgements surface nothing. Only when the day's budget is spent
the gate decides, as it does where there is no model. Each turn, or each ballot of several, is
counted under one outcome, which `reverie data llm` shows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.model import EMPTY_MAPPING, Hit
from reverie.retrieval import search_memories
from reverie.retrieval.search_query import SearchQuery
from reverie.text.host_messages import HostMessage

if TYPE_CHECKING:
    from reverie.context_window.injection_history import InjectionHistory
    from reverie.core.config import Settings
    from reverie.llm.judge_task import Judgement
    from reverie.llm.language_model import LanguageModel
    from reverie.storage import Store

NOT_DUE, NOTHING_FOUND = "not due", "nothing found"
OUTCOMES = {
    NOT_DUE: "a turn between two judgements",
    NOTHING_FOUND: "a turn for which there was nothing to judge",
}
"""How a turn ended on which the judge was not needed."""


class ChosenHits(NamedTuple):
    """What may surface, and what maintenance learns from it."""

    hits: Sequence[Hit]
    # "verified", "rejected", "related"; empty without a judgement
    judged: Mapping[str, object] = EMPTY_MAPPING


def choose_hits(
    store: Store,
    query: SearchQuery,
    llm: LanguageModel,
    settings: Settings,
    attention: InjectionHistory,
    window: Sequence[HostMessage],
    *,
    changed: bool,
) -> ChosenHits:
    """What may surface now, as the judge says; `changed`: the topic is another one."""
    from reverie.llm.judge_task import MAX_CANDIDATES, TASK, is_judge_due

    pool = search_memories(store, query._replace(limit=MAX_CANDIDATES, unlikely_too=True))
    called = [hit for hit in pool if is_rule_hit(hit)]
    candidates = [hit for hit in pool if not is_rule_hit(hit)]
    is_due = is_judge_due(attention.turns, attention.judged, changed=changed)
    if not is_due or not candidates:
        llm.count(TASK, NOTHING_FOUND if is_due else NOT_DUE)
        return ChosenHits(called)
    judgement, spent = ask_ballots(llm, settings, window, candidates, query, attention.session)
    # No budget: the gate's chance decides, as where there is no model.
    if spent:
        return ChosenHits(search_memories(store, query))
    if judgement is None:
        return ChosenHits(called)
    attention.judged = attention.turns
    named = [mark_as_judged(candidates[number - 1]) for number in judgement.use]
    return ChosenHits([*called, *named], to_lesson(judgement, candidates, settings.limit))


def rank_named_first(
    hits: Sequence[Hit],
    query: SearchQuery,
    llm: LanguageModel,
    settings: Settings,
) -> list[Hit]:
    """The hits of what somebody asked for: first what the judge names, then the rest as it stood.

    Who asks gets all: here a verdict orders, and a judge that is away changes nothing.
    """
    from reverie.llm.judge_task import MAX_CANDIDATES

    candidates = hits[:MAX_CANDIDATES]
    if not candidates:
        return list(hits)
    window = [HostMessage("user", query.text)]
    judgement, _ = ask_ballots(llm, settings, window, candidates, query, "")
    places = [number - 1 for number in judgement.use] if judgement else []
    named = [mark_as_judged(hits[place]) for place in places]
    return [*named, *(hit for place, hit in enumerate(hits) if place not in places)]


def mark_as_judged(hit: Hit) -> Hit:
    """The hit, with the judge as the first reason for it."""
    return Hit(hit.memory, hit.score, ("judge", *hit.why))


def is_rule_hit(hit: Hit) -> bool:
    """True if a trigger pattern called it up, whatever else found it."""
    return any(reason.startswith("trigger") for reason in hit.why)


def ask_ballots(
    llm: LanguageModel,
    settings: Settings,
    window: Sequence[HostMessage],
    candidates: Sequence[Hit],
    query: SearchQuery,
    session: str,
) -> tuple[Judgement | None, bool]:
    """(what the ballots say together, or None if all failed; True if the budget is spent).

    All ballots must name a memory: 1 of 1, or 2 of 2 for who wants it precise (`llm_votes`).
    """
    from reverie.llm.judge_task import (
        build_judge_request,
        count_ballots,
        focus_conversation,
        read_judgement,
    )
    from reverie.llm.language_model import SPENT

    memories = [hit.memory for hit in candidates]
    said = focus_conversation(window)
    question = build_judge_request(said, memories, settings.llm_judge_seconds)
    read = partial(read_judgement, count=len(candidates))
    ballots: list[Judgement | None] = []
    votes = max(1, settings.llm_votes)
    for _ in range(votes):
        answer = llm.ask(
            question,
            read,
            space=query.spaces[0],
            session=session,
        )
        if answer.outcome == SPENT:
            return None, True
        ballots.append(answer.value)
        # Another ballot would only meet the breaker.
        if answer.unavailable:
            break
    return count_ballots(ballots, votes), False


def to_lesson(
    judgement: Judgement,
    candidates: Sequence[Hit],
    limit: int,
) -> dict[str, object]:
    """What a judgement says about the memories, for maintenance.

    Rejected is what would have had a place by rank and was not named: to be fiftieth of fifty is no
    rejection.
    """
    ids = [hit.memory.id for hit in candidates]
    verified = [ids[number - 1] for number in judgement.use]
    return {
        "verified": verified,
        "rejected": [id for id in ids[:limit] if id not in verified],
        "related": [[ids[a - 1], ids[b - 1], relation] for a, b, relation in judgement.related],
    }
