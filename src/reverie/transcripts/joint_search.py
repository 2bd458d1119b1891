"""What memory holds and what was said before, in one answer.

A memory's score is a chance; a passage's is made one (`to_chance`), so that both stand in one order
where somebody asks. Unasked, talk comes up only if its own gate lets it (`talk_gate`), and behind
the memories, in a share of the block that these cannot take from it (`context_window`).
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.core.model import SAID, Hit
from reverie.retrieval.search_query import SearchQuery
from reverie.storage import Store
from reverie.text.function_words import count_telling_words
from reverie.text.prompt_phrases import AMENDS, has_trait
from reverie.text.tokenization import fold_text
from reverie.transcripts.passage_hits import EARLIER, to_hit
from reverie.transcripts.passage_search import (
    PassageQuery,
    RankedPassage,
    search_passages,
    shares_subject,
)
from reverie.transcripts.talk_gate import is_hopeless, may_surface

# Passages that are looked at to decide whether any may come up, and of which a block takes some;
# of those that words alone found, so many are given: the next turn has room for what meaning finds.
MAX_SURFACING, MAX_BY_WORDS = 12, 5
# Words that say something in an agent's answer that comes up alone.
MIN_TELLING_WORDS = 2
# The share of a passage from which on a memory in the same words says what it says; of a shorter
# one too if no more telling words come before it ("remember that …"), and none after it.
REPEATED_SHARE, MAX_OPENING_WORDS = 0.75, 1
# A passage with a score of .45 / .65 / .85 met a need of 7 / 17 / 29 % of 105 prompts, but memories
# are surer of themselves than they are right: so much steeper, more needs are met by both together.
CHANCE_SLOPE, CHANCE_ZERO = 1.2, 0.3


def answer_with_talk(store: Store, query: SearchQuery, memories: Sequence[Hit]) -> list[Hit]:
    """The best of the memories and of past conversations, best first, at most `query.limit`.

    Of conversations only where the query asks for no kind but `said`, and for no tags.
    """
    if query.tags or SAID in query.without or (query.kinds and SAID not in query.kinds):
        return list(memories)
    found = search_passages(store.transcripts, to_passage_query(query, query.limit))
    talk = [
        to_hit(one)._replace(score=to_chance(one)) for one in leave_out_repeated(found, memories)
    ]
    merged = merge_by_score(raise_repeated(memories, found), talk)
    return put_amending_first(merged, query.text)[: query.limit]


def raise_repeated(memories: Sequence[Hit], passages: Sequence[RankedPassage]) -> list[Hit]:
    """The memories in their order, but that one stands no lower than a passage that is left out
    for it.
    """
    said = [(fold_text(one.found.passage.text), to_chance(one)) for one in passages]
    ordered = list(memories)
    for hit in memories:
        text = fold_text(hit.memory.text)
        chance = max(
            (chance for passage, chance in said if repeats_text(passage, text)), default=0.0
        )
        if chance > hit.score:
            ordered.remove(hit)
            place = next((at for at, one in enumerate(ordered) if one.score < chance), len(ordered))
            ordered.insert(place, hit._replace(score=chance))
    return ordered


def put_amending_first(hits: Sequence[Hit], question: str) -> list[Hit]:
    """The hits, with a passage by which the user settles anew what a memory says before that."""
    ordered = list(hits)
    for hit in hits:
        if not is_amending(hit):
            continue
        here = ordered.index(hit)
        place = next(
            (at for at, other in enumerate(ordered) if amends_memory(hit, other, question)), here
        )
        if place < here:
            ordered.insert(place, ordered.pop(here)._replace(score=ordered[place].score))
    return ordered


def mark_amended(memories: Sequence[Hit], talk: Sequence[Hit], question: str) -> list[Hit]:
    """The memories, marked where a passage that comes up beside them settles anew what they say."""
    amending = list(filter(is_amending, talk))
    return [
        hit._replace(memory=hit.memory._replace(details={**hit.memory.details, EARLIER: True}))
        if any(amends_memory(one, hit, question) for one in amending)
        else hit
        for hit in memories
    ]


def is_amending(hit: Hit) -> bool:
    """True for a passage of the user's, who may settle something anew with it."""
    return hit.memory.provenance == SAID and hit.memory.speaker == "user"


def amends_memory(hit: Hit, other: Hit, question: str) -> bool:
    """True if what a passage settles anew is what a memory says, which is older."""
    said, memory = hit.memory, other.memory
    if memory.provenance == SAID or memory.at >= said.at or memory.session == said.session:
        return False
    return has_trait(said.text, AMENDS) and shares_subject(said.text, memory.text, question)


def leave_out_repeated(
    passages: Sequence[RankedPassage],
    memories: Sequence[Hit],
) -> list[RankedPassage]:
    """The passages but those that say, word for word, what a memory among the hits says, and little
    else: beside a decision may stand its reason.
    """
    known = [fold_text(hit.memory.text) for hit in memories]
    return [
        one
        for one in passages
        if not any(repeats_text(fold_text(one.found.passage.text), text) for text in known)
    ]


def repeats_text(passage: str, memory: str) -> bool:
    """True if a passage says no more than a memory, both folded.

    >>> repeats_text("remember that tests run on postgres", "tests run on postgres")
    True
    """
    if passage in memory:
        return True
    before, found, after = passage.partition(memory)
    if not found:
        return False
    if len(memory) >= len(passage) * REPEATED_SHARE:
        return True
    return not count_telling_words(after) and count_telling_words(before) <= MAX_OPENING_WORDS


def merge_by_score(memories: Sequence[Hit], talk: Sequence[Hit]) -> list[Hit]:
    """Both in one order by score; each keeps its own, whatever its scores are."""
    merged: list[Hit] = []
    left, right = list(memories), list(talk)
    while left and right:
        source = left if left[0].score >= right[0].score else right
        merged.append(source.pop(0))
    return [*merged, *left, *right]


def add_talk(
    store: Store,
    query: SearchQuery,
    memories: Sequence[Hit],
    context: str = "",
) -> list[Hit]:
    """The memories for a prompt, and behind them what of past conversations may come up beside
    them (`surface_talk`).
    """
    talk = surface_talk(store, query, memories, context)
    return [*mark_amended(memories, talk, query.text), *talk]


def surface_talk(
    store: Store,
    query: SearchQuery,
    memories: Sequence[Hit],
    context: str = "",
) -> list[Hit]:
    """What of past conversations may come up at a prompt beside these memories, best first;
    usually nothing. `context` is what was said just before.
    """
    if is_hopeless(query.text):
        return []
    asked = to_passage_query(query, MAX_SURFACING)._replace(context=context)
    found = search_passages(store.transcripts, asked)
    if not may_surface(query.text, found):
        return []
    most = MAX_SURFACING if asked.vector is not None else MAX_BY_WORDS
    telling = [one for one in found if is_telling(one)]
    return list(map(to_hit, leave_out_repeated(telling, memories)[:most]))


def is_telling(one: RankedPassage) -> bool:
    """False for an agent's answer that says nothing alone: "Understood.", found by the prompt that
    it answers. A person's is shown with what it answers.
    """
    passage = one.found.passage
    return passage.role == "user" or count_telling_words(passage.text) >= MIN_TELLING_WORDS


def to_passage_query(query: SearchQuery, limit: int) -> PassageQuery:
    """The same question to past conversations."""
    return PassageQuery(
        query.text,
        query.spaces,
        limit,
        vector=None if query.mode == "words" else query.vector,
        model=query.model,
        not_session=query.not_session,
        exclude=query.exclude,
        until=query.before,
    )


def to_chance(one: RankedPassage) -> float:
    """How likely a passage is what is asked for, 0..1."""
    return min(1.0, max(0.0, CHANCE_SLOPE * (one.score - CHANCE_ZERO)))
