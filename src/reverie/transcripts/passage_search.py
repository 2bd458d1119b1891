"""Passages of past conversations for a question: words and meaning, the user's own words first.

Both channels propose CANDIDATES passages; each is scored as its cosine and its BM25 over the
highest, and what the user said counts USER_BONUS more. Chosen on three sets: 105 prompts of 11
real projects (needs met within 600 tokens .63), 36 of `bench.transcripts.unseen`, half `dev` (parts
.96), and 72 questions about long chats (gold messages .46); without the bonus .59, .85 and .33,
with words over their highest alone, however weak that is, .62, .90 and .43. Without a vector, words
decide. Of passages about one thing the newest comes first, for it may amend the others; what the
user says to settle a thing anew comes before what it amends.

Always true: only conversations in the spaces that are asked for, and never the one that asks; ties
break by number.
"""

# Not `from __future__ import annotations`: a NamedTuple would compile each of them once more.
from collections.abc import Sequence
from typing import Any, NamedTuple

from reverie.storage.indexed_transcripts import FoundPassage, TranscriptIndex
from reverie.text.domain_stopwords import domain_stop_stems, stems_of
from reverie.text.function_words import tokenize_content
from reverie.text.prompt_phrases import AMENDS, PAIRED_SCRIPTS, detect_scripts, has_trait
from reverie.text.tokenization import fold_text

# Passages that each channel proposes; fewer where words decide alone, as in a hook.
CANDIDATES, CANDIDATES_BY_WORDS = 200, 60
# Of these, so many are read at a time, the most promising first, until none that is left can be
# among the best.
PASSAGES_PER_STEP = 64
# The share of the cosine in a score; the rest is BM25 over the highest.
MEANING_SHARE = 0.6
# What it counts that the user said it and not the agent.
USER_BONUS = 0.15
# What it counts that agents that were given it used it, at most; so many uses are the most. Small:
# what is used is given again.
USE_BONUS, MOST_USES = 0.06, 3
# The cosine that a passage without a vector is taken to have.
USUAL_COSINE = 0.3
# What a word of the exchange before counts against one of the question itself.
CONTEXT_WEIGHT = 0.3
# Two passages are about one thing from this cosine on, two of the user's from the second, or from
# this share of the words of the shorter one, the question's words apart.
SAME_COSINE, SAME_COSINE_OF_USER, SAME_WORDS = 0.8, 0.6, 0.5
# In a pool of so few passages a shared word counts as BM25 would count it among twenty.
SMALL_POOL, RARE_WORD_BM25 = 20, 2.0
# BM25 of a pool counts in shares of its best one, but of this much at least: where nothing but weak
# words is found, the best of them says little.
LEAST_BM25 = 12.0
# A newer passage takes the place of an older one if its score is at least this share of that one's.
CLOSE_SCORE = 0.88
# What the user said to settle a thing anew ("after all", "instead") goes before what it may amend,
# from this share of its score: the two have a word of the question in common, or two others (twice
# as many pairs of letters), or this cosine.
AMENDING_SCORE, AMENDING_COSINE, AMENDING_WORDS = 0.3, 0.6, 2


class PassageQuery(NamedTuple):
    """A question to past conversations."""

    text: str
    spaces: tuple[str, ...]
    limit: int = 10
    vector: Any = None  # of the text, float32 of unit length; None: words alone
    model: str = ""
    context: str = ""  # what was said just before: "what renders them?" leans on it
    not_session: str = ""  # the conversation that asks
    exclude: frozenset[str] = frozenset()  # ids that are not to be given
    until: float | None = None  # nothing that was said later


class RankedPassage(NamedTuple):
    """A passage with what speaks for it."""

    found: FoundPassage
    score: float  # see `score_passage`
    bm25: float
    cosine: float | None
    vector: Any = None
    is_earlier: bool = False  # a newer passage about the same thing stands before it


def search_passages(index: TranscriptIndex, asked: PassageQuery) -> list[RankedPassage]:
    """The best passages for a question, each text once: best first, but of those about one thing
    the newest first.
    """
    if asked.limit <= 0 or not asked.text.strip():
        return []
    best = pick_best(gather_passages(index, asked), asked)
    return lift_amendments(put_newest_first(best, asked.text), asked.text)


def pick_best(pool: Sequence[RankedPassage], asked: PassageQuery) -> list[RankedPassage]:
    """The best passages with their scores, at most as many as asked for, each text once."""
    best: list[RankedPassage] = []
    said: set[str] = set()
    for one in rank_passages(pool):
        words = fold_text(one.found.passage.text)
        if words not in said and says_something_new(one.found, asked.text):
            said.add(words)
            best.append(one)
        if len(best) == asked.limit:
            break
    return best


def gather_passages(index: TranscriptIndex, asked: PassageQuery) -> list[RankedPassage]:
    """What words and meaning propose, without a score yet."""
    bm25 = search_weighted_words(index, asked)
    cosine: dict[int, float] = {}
    vectors: dict[int, Any] = {}
    if asked.vector is not None:
        cosine = dict(index.nearest(asked.model, asked.vector, asked.spaces, CANDIDATES))
        vectors = index.vectors(asked.model, list(dict.fromkeys((*bm25, *cosine))))
        cosine = {num: float(vector @ asked.vector) for num, vector in vectors.items()}
    highest = max(*bm25.values(), LEAST_BM25) if bm25 else LEAST_BM25
    bounds = {
        num: bound_score(bm25.get(num, 0.0), cosine.get(num), highest) for num in {*bm25, *cosine}
    }
    most_words = max(bm25.values(), default=0.0)
    left = sorted(bounds, key=lambda num: (-bounds[num], num))
    pool: list[RankedPassage] = []
    while left:
        some, left = left[:PASSAGES_PER_STEP], left[PASSAGES_PER_STEP:]
        pool += [
            RankedPassage(
                found,
                0.0,
                bm25.get(found.num, 0.0),
                cosine.get(found.num),
                vectors.get(found.num),
            )
            for found in index.passages(some)
            if is_wanted(found, asked)
        ]
        # The best of all by its words is read first, so it alone decides whether the bounds hold.
        has_best = any(one.bm25 >= most_words for one in pool)
        if left and has_best and len(pool) > SMALL_POOL:
            best = pick_best(pool, asked)
            if len(best) == asked.limit and best[-1].score > bounds[left[0]]:
                return pool
    return correct_small_pool(pool, asked.text) if len(pool) <= SMALL_POOL else pool


def bound_score(bm25: float, cosine: float | None, highest: float) -> float:
    """The most that a passage can score: as one that the user said and agents used
    (`score_passage`).
    """
    meaning = USUAL_COSINE if cosine is None else cosine
    words = bm25 / highest
    return MEANING_SHARE * meaning + (1.0 - MEANING_SHARE) * words + USER_BONUS + USE_BONUS


def correct_small_pool(pool: Sequence[RankedPassage], text: str) -> list[RankedPassage]:
    """The passages with BM25 as if they lay among many: where a few are all there is, no word is
    rare, and BM25 is next to nothing.
    """
    asked = stems_of(text)
    corrected = []
    for one in pool:
        shared = len(asked & stems_of(one.found.passage.text))
        corrected.append(one._replace(bm25=max(one.bm25, RARE_WORD_BM25 * shared)))
    return corrected


def search_weighted_words(index: TranscriptIndex, asked: PassageQuery) -> dict[int, float]:
    """BM25 by number: of the question's words, and of those of the exchange before by
    CONTEXT_WEIGHT.
    """
    most = CANDIDATES_BY_WORDS if asked.vector is None else CANDIDATES
    terms = tokenize_content(asked.text)
    found = dict(index.search_words(terms, asked.spaces, most))
    around = [term for term in tokenize_content(asked.context) if term not in terms]
    if around:
        for num, score in index.search_words(around, asked.spaces, most):
            found[num] = found.get(num, 0.0) + CONTEXT_WEIGHT * score
    return found


def is_wanted(found: FoundPassage, asked: PassageQuery) -> bool:
    """True if the one who asks may be given a passage."""
    return (
        found.session != asked.not_session
        and found.id not in asked.exclude
        and (asked.until is None or found.passage.at <= asked.until)
    )


def says_something_new(found: FoundPassage, question: str) -> bool:
    """False for what the user only asked, and for what holds no word besides those of the question:
    to ask a thing again is no answer to it.
    """
    text = found.passage.text
    if found.passage.role == "user" and text.rstrip().endswith(("?", "？")):
        return False
    return not stems_of(text) <= stems_of(question)


def rank_passages(pool: Sequence[RankedPassage]) -> list[RankedPassage]:
    """The passages with their scores, best first, ties by number."""
    highest = max((one.bm25 for one in pool), default=0.0)
    highest = max(highest, LEAST_BM25)
    scored = [one._replace(score=score_passage(one, highest)) for one in pool]
    return sorted(scored, key=lambda one: (-one.score, one.found.num))


def score_passage(one: RankedPassage, highest: float) -> float:
    """The score of a passage, about 0..1; `highest` is the best BM25 of the pool."""
    words = one.bm25 / highest
    cosine = USUAL_COSINE if one.cosine is None else one.cosine
    bonus = USER_BONUS if one.found.passage.role == "user" else 0.0
    bonus += USE_BONUS * min(one.found.uses, MOST_USES) / MOST_USES
    return MEANING_SHARE * cosine + (1.0 - MEANING_SHARE) * words + bonus


def put_newest_first(best: Sequence[RankedPassage], question: str) -> list[RankedPassage]:
    """The passages in their order, but of those about one thing the newest in the best place, and
    the others marked as earlier.
    """
    asked = stems_of(question)
    words = [stems_of(one.found.passage.text) - asked for one in best]
    topics: list[list[int]] = []
    for place, one in enumerate(best):
        for topic in topics:
            first = topic[0]
            if one.score < CLOSE_SCORE * best[first].score:
                continue
            if is_same_topic(one, best[first], words[place], words[first]):
                topic.append(place)
                break
        else:
            topics.append([place])
    ordered = list(best)
    for topic in topics:
        newest = sorted(topic, key=lambda place: (-best[place].found.passage.at, place))
        for place, source in zip(sorted(topic), newest, strict=True):
            is_earlier = best[source].found.passage.at < best[newest[0]].found.passage.at
            ordered[place] = best[source]._replace(is_earlier=is_earlier)
    return ordered


def lift_amendments(ranked: Sequence[RankedPassage], question: str) -> list[RankedPassage]:
    """The passages, with what the user said to settle a thing anew before what that amends; the
    latter is marked as earlier.
    """
    ordered = list(ranked)
    amending = [
        one
        for one in ranked
        if one.found.passage.role == "user" and has_trait(one.found.passage.text, AMENDS)
    ]
    for one in sorted(amending, key=lambda one: one.found.passage.at):
        older = [other for other in ordered if is_amended(other, one, question)]
        if not older:
            continue
        place = min(map(ordered.index, older))
        here = next(at for at, other in enumerate(ordered) if other.found.num == one.found.num)
        marked = {other.found.num for other in older}
        ordered = [
            other._replace(is_earlier=True) if other.found.num in marked else other
            for other in ordered
        ]
        if here > place:
            lifted = ordered.pop(here)
            # Memories stand among passages by their scores.
            ordered.insert(place, lifted._replace(score=ordered[place].score))
    return ordered


def is_amended(other: RankedPassage, one: RankedPassage, question: str) -> bool:
    """True if a passage is about what the user settles anew in a later one, of another session."""
    said, before = one.found.passage, other.found.passage
    if before.at >= said.at or other.found.session == one.found.session:
        return False
    if one.score < AMENDING_SCORE * other.score:
        return False
    if shares_subject(said.text, before.text, question):
        return True
    if one.vector is None or other.vector is None:
        return False
    has_word = bool(find_shared_words(said.text, before.text))
    return has_word and float(one.vector @ other.vector) >= AMENDING_COSINE


def shares_subject(one: str, other: str, question: str) -> bool:
    """True if two texts have enough words in common, those of the question above all."""
    shared = find_shared_words(one, other)
    needed = AMENDING_WORDS if detect_scripts(one) & PAIRED_SCRIPTS else 1
    return len(shared & stems_of(question)) >= needed or len(shared) >= AMENDING_WORDS * needed


def find_shared_words(one: str, other: str) -> frozenset[str]:
    """The words that two texts have in common, but those of nearly every session."""
    return (stems_of(one) & stems_of(other)) - domain_stop_stems()


def is_same_topic(
    one: RankedPassage,
    other: RankedPassage,
    words: frozenset[str],
    others: frozenset[str],
) -> bool:
    """True if two passages are about one thing; `words` are theirs without the question's."""
    if one.vector is not None and other.vector is not None:
        users = one.found.passage.role == other.found.passage.role == "user"
        cosine = float(one.vector @ other.vector)
        if cosine >= (SAME_COSINE_OF_USER if users else SAME_COSINE):
            return True
    least = min(len(words), len(others))
    return least > 2 and len(words & others) >= SAME_WORDS * least
