"""Gaps: questions of a conversation that memory had candidates for and no answer to.

A gap is an event beside the turn: the beginning of the question (already redacted), when, and in
which conversation. There is no gap where the answer was shown earlier in the conversation or said
in it, for the agent has it before its eyes; nor where something else was shown, for nobody knows
that it did not help. What was kept since closes a gap that it answers, however it was learned: the
question is put again whenever gaps are listed. So does a person who says that it wants no answer
(`pipeline.decided_pairs`). Nothing is thrown away: the newest 500 gaps of the
last 90 days are looked at, the log keeps the rest.
"""

import re
from collections.abc import Sequence, Set
from functools import cache, partial
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

from reverie.core.config import Settings
from reverie.core.model import Event, Filter, visible_spaces
from reverie.extraction.retrieval_feedback import make_query_snippet
from reverie.pipeline.decided_pairs import load_settled_pairs
from reverie.retrieval import search_memories
from reverie.retrieval.search_query import SearchQuery, is_admissible
from reverie.storage import Store
from reverie.text.host_messages import HostMessage
from reverie.text.injection_fence import remove_injections
from reverie.text.tokenization import tokenize_query

VERB = "gap"
# newest gaps that are looked at, and for how long
MAX_GAPS = 500
GAP_SECONDS = 90 * 86_400.0
# candidates that are counted
MAX_CANDIDATES = 10
# newest gaps of a conversation among which the same question is not noted again
RECENT_GAPS = 20
# newest memories of a space among which an answer is looked for, before all are searched
MAX_NEWEST = 300

_ASKS = re.compile(
    r"\?\s*$|^(?:what|which|where|who|whom|whose|when|why|how|remind me|tell me|"
    r"do (?:you|we) (?:know|remember|have)|"
    r"(?:can|could) you (?:tell|remind|recall)|is|are|was|were|does|did|has|"
    r"(?:can|could|may|must|should|do|have) (?:i|we|they|it|this|that)|explain)\b",
    re.IGNORECASE | re.MULTILINE,
)


class WrittenWords(NamedTuple):
    """When a memory was written, and its words."""

    at: float
    words: Set[str]


class KnowledgeGap(NamedTuple):
    """A question that nothing answered."""

    asked: str  # its beginning
    at: float  # when it was asked last
    times: int  # how often, in the same words
    space: str
    session: str  # where it was asked last


def is_question(text: str) -> bool:
    """True if a line of the text ends in a question mark or begins as questions do."""
    return _ASKS.search(text) is not None


def detect_knowledge_gap(
    store: Store,
    settings: Settings,
    session: str,
    space: str,
    query: SearchQuery,
    window: Sequence[HostMessage],
) -> Event | None:
    """The gap that a turn leaves, or None; asked where `query` found nothing worth showing."""
    user_texts = [message.text for message in window if message.role == "user"]
    if settings.is_off(space, session) or not user_texts:
        return None
    if not is_question(remove_injections(user_texts[-1])):
        return None
    # By words: a question about something else has no candidate at all.
    candidates = store.search_words(query.terms, query.spaces, MAX_CANDIDATES, now=query.now)
    if not candidates or was_already_shown(store, query):
        return None
    asked = make_query_snippet(query.text)
    recent = store.events(
        verbs=(VERB,),
        session=session,
        newest=True,
        limit=RECENT_GAPS,
    )
    if any(gap.payload.get("asked") == asked for gap in recent):
        return None
    payload = {"asked": asked, "candidates": len(candidates)}
    return Event(
        verb=VERB,
        space=space,
        session=session,
        at=query.now,
        payload=payload,
    )


def was_already_shown(store: Store, query: SearchQuery) -> bool:
    """True if a hit was left out because it was shown or said earlier in the conversation."""
    unfiltered = query._replace(exclude=frozenset(), not_session="")
    return any(not is_admissible(hit.memory, query) for hit in search_memories(store, unfiltered))


def list_knowledge_gaps(
    store: Store,
    space: str,
    now: float,
    limit: int = MAX_GAPS,
) -> list[KnowledgeGap]:
    """The gaps of a space and all below it, newest first, equal questions once; without those that
    something answers by now, for which each is asked again, until there are so many.
    """
    found: dict[str, KnowledgeGap] = {}
    for event in store.events(
        verbs=(VERB,),
        newest=True,
        limit=MAX_GAPS,
    ):
        asked = event.payload.get("asked")
        inside = f"{event.space}/".startswith(f"{space}/")
        # A purge blanks the question: it is no text then.
        if not isinstance(asked, str) or now - event.at > GAP_SECONDS or not inside:
            continue
        newer = found.get(asked.lower())
        if newer:
            found[asked.lower()] = newer._replace(times=newer.times + 1)
        else:
            gap = KnowledgeGap(asked, event.at, 1, event.space, event.session)
            found[asked.lower()] = gap
    settled = load_settled_pairs(store) if found else frozenset()
    read = cache(partial(read_newest_words, store))
    unanswered = (
        gap
        for gap in found.values()
        if to_settled_pair(gap.asked) not in settled
        and not (may_be_answered(gap, read(gap.space)) and is_answered_since(store, gap, now))
    )
    return list(islice(unanswered, limit))


def read_newest_words(store: Store, space: str) -> list[WrittenWords]:
    """The words of the newest memories that can be seen from a space."""
    newest = store.browse(Filter(spaces=visible_spaces(space), limit=MAX_NEWEST))
    return [
        WrittenWords(memory.created_at, frozenset(tokenize_query(memory.text))) for memory in newest
    ]


def may_be_answered(gap: KnowledgeGap, newest: Sequence[WrittenWords]) -> bool:
    """False if nothing that was written since says more than half of the question's words.

    A search takes many milliseconds in a large memory, and nearly always finds nothing.
    """
    since = [one.words for one in newest if one.at >= gap.at]
    asked = set(tokenize_query(gap.asked))
    return len(since) == MAX_NEWEST or any(says_most(asked, words) for words in since)


def says_most(asked: Set[str], words: Set[str]) -> bool:
    """True if words hold more than half of those that were asked."""
    return 2 * len(asked & words) > len(asked)


def mark_question(asked: str) -> str:
    """A mark of a question, by which it is told from others."""
    return sha256(asked.lower().encode("utf-8", "surrogatepass")).hexdigest()[:16]


def to_settled_pair(asked: str) -> frozenset[str]:
    """As what it stands among the decided pairs that a question wants no answer."""
    return frozenset((VERB, mark_question(asked)))


def is_answered_since(store: Store, gap: KnowledgeGap, now: float) -> bool:
    """True if memory, asked again in the same words, gives something that it did not hold then and
    that says more than half of the question's words: sharing its subject is no answer.
    """
    asked = set(tokenize_query(gap.asked))
    query = SearchQuery(
        text=gap.asked,
        spaces=visible_spaces(gap.space),
        now=now,
        limit=MAX_CANDIDATES,
        mode="words",
        automatic=True,
    )
    return any(
        hit.memory.created_at >= gap.at and says_most(asked, set(tokenize_query(hit.memory.text)))
        for hit in search_memories(store, query)
    )
