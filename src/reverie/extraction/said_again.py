"""What the user says again in session after session, as a candidate for a standing rule.

Rules come as repeated irritation: "no verify" in six sessions, "I'll run the app myself" in seven.
A short wish for how things are done (`text.learned_phrases.is_standing_wish`) that was said in
MIN_SESSIONS sessions of a space becomes one memory: inferred, of low trust, with those messages as
its sources. Each further session makes it stronger. Somebody who has forgotten it has it stay so.

The reader trails behind the index of past conversations (`transcripts`), in which it looks for the
other sessions, and behind the vectors of its passages where there is an embedder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, NamedTuple

from reverie.core import clock
from reverie.core.authorship import apply_curate_setting
from reverie.core.kinds import NEGATIVE, SAID_AGAIN, USER, kind_of
from reverie.core.model import Add, Change, Event, Filter, Memory, Reinforcement, visible_spaces
from reverie.extraction.rule_extraction import (
    MAX_SPOKEN_SENTENCES,
    capitalize_first,
    derive_lesson_triggers,
    summarize_topic,
)
from reverie.extraction.user_words import separate_user_sentences
from reverie.memory.memory_changes import HELPFUL, MAX_REINFORCEMENTS
from reverie.memory.memory_validation import build_memory
from reverie.pipeline.conversation_events import lesson_space_of
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.pipeline.pending_vectors import NO_VECTOR_ERRORS
from reverie.reconciliation.merge_rules import diff_memory, resolve_merged
from reverie.reconciliation.reconcile_reader import load_merge_families
from reverie.storage import GENERATION
from reverie.storage.indexed_transcripts import FoundPassage
from reverie.text.domain_stopwords import strip_ending
from reverie.text.learned_phrases import (
    DENSE_SCRIPTS,
    classify_statement,
    forbids_something,
    is_standing_wish,
    remove_forbidding,
)
from reverie.text.prompt_phrases import detect_scripts
from reverie.text.tokenization import fold_text, tokenize_query
from reverie.transcripts.transcript_indexing import MESSAGE_VERBS, read_spoken_messages

if TYPE_CHECKING:
    import numpy as np

# Sessions in which a wish was said, from which on it is a candidate.
MIN_SESSIONS = 3
# Characters of a wish; what is longer is said for one occasion.
MAX_WISH_CHARS = 100
# Two wishes are one from this share of common words, from this cosine, or from the lower one with a
# word in common. "I will start the app on my own" is .84 from "I'll run the app myself", "use npm"
# .58 from "use pnpm". The model knows Latin letters only: "不要…" is .8 from any other "不要…".
SAME_WORDS, SAME_COSINE, NEAR_COSINE = 0.6, 0.8, 0.7
# Without spaces between words, a stretch of so many characters, and so much of the shorter wish:
# "用中文" in "用中文回答我" and "用中文给我解释一遍".
SAME_STRETCH, STRETCH_SHARE = 3, 0.4
# A longer passage that two sessions have letter by letter is a host's or a template's.
MAX_TYPED_TWICE = 100
# Passages that words and vectors propose, and wishes of these that are embedded.
MAX_PASSAGES, MAX_EMBEDDED = 300, 16
# Memories of a space among which those are looked for that say it already.
MAX_KNOWN = 500
# A wish of fewer words is kept with what it answers.
MIN_WISH_WORDS = 2
_BREAKS = str.maketrans(dict.fromkeys(",，、;；", "\n"))


class SpokenWish(NamedTuple):
    """A wish, and where it was said."""

    text: str
    session: str
    at: float
    message: int
    context: str = ""  # what it answers
    message_text: str = ""  # or its passage's, where that is known alone


def is_indexed(work: WorkContext, event: Event) -> bool:
    """True if past conversations are searchable up to this event."""
    index = work.store.transcripts
    cursor, generation = index.cursor()
    if cursor < event.seq or generation != (work.store.meta(GENERATION) or ""):
        return False
    if work.embedder is None or work.embedder_error:
        return True
    return not index.unembedded_texts(1, work.embedding_model)


def find_wishes_said_again(work: WorkContext, event: Event) -> ReaderDecision:
    """The candidates that one event with messages makes or strengthens."""
    home = lesson_space_of(event)
    if not event.session or work.settings.is_off(home, event.session):
        return ReaderDecision()
    changes: list[Change] = []
    rests_on: list[Memory] = []
    seen: set[str] = set()
    for message in read_spoken_messages(event):
        if message.role != "user":
            continue
        for text in iterate_wishes(message.text):
            wish = SpokenWish(
                text, event.session, message.at, message.number, message_text=message.text
            )
            if not read_words(text) or fold_text(text) in seen:
                continue
            seen.add(fold_text(text))
            known, more = decide_about_wish(work, home, wish)
            if known is not None and known in rests_on:
                continue
            changes += more
            rests_on += [known] if known is not None else []
    # How many are new is what learning counts.
    kept = sum(isinstance(change, Add) for change in changes)
    return ReaderDecision(changes, rests_on, {"kept": kept} if changes else {})


def iterate_wishes(text: str) -> Iterator[str]:
    """The standing wishes among the clauses of a message, in order; none of a document's."""
    own = separate_user_sentences(text).own
    if len(own) > MAX_SPOKEN_SENTENCES:
        return
    for sentence in own:
        for clause in sentence.translate(_BREAKS).split("\n"):
            wish = clause.strip(" .!。！")
            if wish and wish[0] != "(" and len(wish) <= MAX_WISH_CHARS and is_standing_wish(wish):
                yield wish


def decide_about_wish(
    work: WorkContext, home: str, wish: SpokenWish
) -> tuple[Memory | None, list[Change]]:
    """The memory that says it already, and what a wish changes."""
    known = find_known_wishes(work, home, wish)
    candidate = next((memory for memory in known if SAID_AGAIN in memory.details), None)
    if candidate is not None:
        is_new = candidate.active and candidate.space == home
        return candidate, strengthen_memory(candidate, [wish], work.now) if is_new else []
    said = find_same_wishes(work, home, wish)
    if len(said) < MIN_SESSIONS:
        return None, []
    if not known:
        return None, [Add(build_candidate(work, home, said))]
    # Rules have learned it, in one wording or several: the oldest counts the sessions.
    oldest = min(known, key=lambda memory: memory.id)
    # In which sessions a project says it is nobody else's business.
    return oldest, strengthen_memory(oldest, said, work.now) if oldest.space == home else []


def find_known_wishes(work: WorkContext, home: str, wish: SpokenWish) -> list[Memory]:
    """What says it already: candidates, also forgotten ones, and other rules of the user's."""
    store = work.store
    candidates = store.browse(
        Filter(spaces=(home,), having=SAID_AGAIN, active=None, limit=MAX_KNOWN)
    )
    found = store.search_words(tokenize_query(wish.text), visible_spaces(home), MAX_EMBEDDED)
    others = [
        memory
        for memory in store.get([id for id, _ in found])
        if memory.active and kind_of(memory.kind).voice == USER
    ]
    alike = [
        memory
        for memory in {one.id: one for one in (*candidates, *others)}.values()
        if forbids_something(get_wish(memory)) == forbids_something(wish.text)
    ]
    near = find_near(work, wish.text, list(map(get_wish, alike)))
    same = [
        memory
        for memory, cosine in zip(alike, near, strict=True)
        if is_same_wish(wish.text, get_wish(memory), cosine)
    ]
    family = load_merge_families(store, same)
    return [resolve_merged(family, memory.id) or memory for memory in same]


def get_wish(memory: Memory) -> str:
    """The wish that a memory keeps, without what it answers."""
    return str(memory.details.get(SAID_AGAIN) or memory.text)


def find_same_wishes(work: WorkContext, home: str, wish: SpokenWish) -> list[SpokenWish]:
    """The wish and those that say the same in other sessions of a space: one a session, in order
    of time.
    """
    others = [
        other
        for found in propose_passages(work, home, wish)
        if found.session != wish.session and not is_template(found.passage.text, wish.message_text)
        for other in read_passage_wishes(found)
        if forbids_something(other.text) == forbids_something(wish.text)
    ]
    same = {wish.session: wish}
    left = []
    for other in others:
        if is_same_wish(wish.text, other.text, 0.0):
            same.setdefault(other.session, other)
        else:
            left.append(other)
    left = [other for other in left if other.session not in same][:MAX_EMBEDDED]
    for other, cosine in zip(
        left, find_near(work, wish.text, [one.text for one in left]), strict=True
    ):
        if is_same_wish(wish.text, other.text, cosine):
            same.setdefault(other.session, other)
    return sorted(same.values(), key=lambda one: (one.at, one.session))


def propose_passages(work: WorkContext, home: str, wish: SpokenWish) -> list[FoundPassage]:
    """What the user said that may be the same, the nearest in meaning first, then by words."""
    index = work.store.transcripts
    nums: dict[int, None] = {}
    vector = embed_texts(work, [wish.text])
    if vector is not None:
        near = index.nearest(work.embedding_model, vector[0], (home,), MAX_PASSAGES)
        nums |= dict.fromkeys(num for num, _ in near)
    worded = index.search_words(tokenize_query(wish.text), (home,), MAX_PASSAGES)
    nums |= dict.fromkeys(num for num, _ in worded)
    return [found for found in index.passages(list(nums)) if found.passage.role == "user"]


def read_passage_wishes(found: FoundPassage) -> list[SpokenWish]:
    """The wishes in a passage."""
    said = found.passage
    return [
        SpokenWish(text, found.session, said.at, said.message, said.context)
        for text in iterate_wishes(said.text)
    ]


def is_template(passage: str, message: str) -> bool:
    """True if a long passage stands letter by letter in a message of another session."""
    return len(passage) > MAX_TYPED_TWICE and fold_text(passage) in fold_text(message)


def is_same_wish(one: str, other: str, cosine: float) -> bool:
    """True if two wishes say the same, by their words and the cosine; 0 where that is unknown."""
    words, others = read_words(one), read_words(other)
    shared = len(words & others)
    least, most = sorted((len(words), len(others)))
    # "use pnpm" stands whole in "please use pnpm for the docs".
    is_within = least >= MIN_WISH_WORDS and shared == least and most <= 2 * least + 2
    if is_within or (shared > 0 and shared >= SAME_WORDS * len(words | others)):
        return True
    scripts = detect_scripts(one) | detect_scripts(other)
    if scripts == {"latin"}:
        return cosine >= SAME_COSINE or (shared > 0 and cosine >= NEAR_COSINE)
    return not scripts.isdisjoint(DENSE_SCRIPTS) and shares_stretch(one, other)


def shares_stretch(one: str, other: str) -> bool:
    """True if two wishes in a script without spaces share enough letters in a row."""
    match = SequenceMatcher(None, one, other, autojunk=False).find_longest_match()
    stretch = remove_forbidding(one[match.a : match.a + match.size])
    least = min(len(one), len(other))
    return len(stretch) >= max(SAME_STRETCH, STRETCH_SHARE * least)


def read_words(text: str) -> frozenset[str]:
    """The words of a text without endings."""
    return frozenset(map(strip_ending, tokenize_query(text)))


def find_near(work: WorkContext, text: str, others: Sequence[str]) -> list[float]:
    """The cosine of each text to the first; 0 without an embedder."""
    vectors = embed_texts(work, [text, *others]) if others else None
    if vectors is None:
        return [0.0] * len(others)
    return [float(vectors[0] @ vector) for vector in vectors[1:]]


def embed_texts(work: WorkContext, texts: Sequence[str]) -> Sequence[np.ndarray] | None:
    """The vectors of some texts; None where no embedder answers."""
    if work.embedder is None or work.embedder_error:
        return None
    with suppress(*NO_VECTOR_ERRORS):
        return list(work.embedder.embed(texts))
    return None


def build_candidate(work: WorkContext, home: str, said: Sequence[SpokenWish]) -> Memory:
    """The memory that a wish becomes; the words are those it was said in last."""
    last = said[-1]
    topic = summarize_topic(next((one.context for one in said if one.context), ""))
    text = capitalize_first(last.text)
    leans = len(read_words(last.text)) < MIN_WISH_WORDS and topic
    kind = NEGATIVE if classify_statement(last.text) == "prohibition" else "preference"
    details = {
        "rule": "said again",
        "because": f"the user said so in {len(said)} sessions",
        SAID_AGAIN: last.text,
        **({"about": topic} if topic else {}),
    }
    memory = build_memory(
        clock.new_id(),
        work.now,
        f"{text} (about: “{topic}”)" if leans else text,
        space=home,
        kind=kind,
        provenance="inferred",
        at=last.at,
        session=last.session,
        speaker="user",
        triggers=derive_lesson_triggers(kind, last.text),
        messages=(last.message, last.message),
        details=details,
        policy=work.policy,
    )
    trail = tuple(Reinforcement(one.session, one.at, one.message) for one in said[:-1])
    candidate = memory._replace(strength=len(said), reinforcements=trail[-MAX_REINFORCEMENTS:])
    return apply_curate_setting(candidate, work.settings.curate)


def strengthen_memory(memory: Memory, said: Sequence[SpokenWish], now: float) -> list[Change]:
    """The changes by which further sessions count that said it."""
    new = [wish for wish in said if wish.session not in memory.sources]
    if not new:
        return []
    trail = [Reinforcement(wish.session, wish.at, wish.message) for wish in new]
    latest = max(wish.at for wish in new)
    stronger = memory._replace(
        strength=memory.strength + len(new),
        reinforcements=(*memory.reinforcements, *trail)[-MAX_REINFORCEMENTS:],
        confidence=min(1.0, memory.confidence + HELPFUL * len(new)),
        last_accessed_at=max(memory.last_accessed_at or memory.at, latest),
        updated_at=now,
    )
    return diff_memory(memory, stronger)


READER = EventReader(
    name="again",
    verbs=MESSAGE_VERBS,
    verb="learn",
    decide=find_wishes_said_again,
    is_ready=is_indexed,
)
