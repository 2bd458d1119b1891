"""What memories say that they rest on: `depends_on`, laid where something is said with a reason.

A reader of the events that add memories: "sessions live in Redis because we deploy on Fly" rests on
a memory that says so, found by its words and its vector, or, if there is none, on one that is made
of the reason; if it says nothing by itself ("Redis"), one that nobody is shown. And news may shake
a ground without replacing it as a whole: "we moved from Fly to AWS". Then the two are flagged as
contradicting each other, for a person to decide; what rests on the ground is in doubt meanwhile
(`doubts`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import TYPE_CHECKING, NamedTuple

from reverie.core import clock
from reverie.core.code_anchors import can_become_outdated
from reverie.core.kinds import EXPLICIT_KINDS, GROUND, is_unverified
from reverie.core.model import (
    DEPENDS_ON,
    Add,
    Change,
    Edge,
    Event,
    Link,
    Memory,
    visible_spaces,
)
from reverie.memory.memory_changes import flag_contradiction
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.pipeline.pending_vectors import NO_VECTOR_ERRORS, embedding_model_of, try_embed
from reverie.reconciliation.doubts import settle_doubt
from reverie.reconciliation.paraphrase.claim_reading import read_claim, refers_back
from reverie.reconciliation.reconcile_reader import (
    ADDING_VERBS,
    is_ready,
    list_fresh_memories,
)
from reverie.reconciliation.shaken_grounds import shakes_ground
from reverie.text.stated_reasons import (
    StatedReason,
    find_names,
    find_stated_reasons,
    is_dense,
)
from reverie.text.tokenization import fold_text, tokenize_query

if TYPE_CHECKING:
    from reverie.storage import Store
    from reverie.storage.arrays import Floats

STATED_IN = "stated_in"  # a name in the details: of which memory's reason it was made
# Memories that are compared with a reason, or with news about what others rest on.
MAX_CANDIDATES, MAX_NEAR_NEWS = 8, 40
# Words that tell something, from which on a reason without a name or a known verb stands alone.
MIN_TELLING_WORDS = 3
# What a reason, or news, is not compared with.
OTHER_KINDS = tuple(kind for kind in EXPLICIT_KINDS if kind != GROUND)
# A memory is what a reason speaks of from this share of common words, or from this cosine if it
# names all that the reason names.
SAME_WORDS, SAME_COSINE = 0.6, 0.72


class Ground(NamedTuple):
    """A memory that may be what a reason speaks of, in one of its wordings."""

    memory: Memory
    text: str


def tie_to_reasons(work: WorkContext, event: Event) -> ReaderDecision:
    """The reasons of an event's new memories, and the grounds that they shake."""
    changes: list[Change] = []
    rests_on: list[Memory] = []
    payload: dict[str, object] = {}
    fresh = list_fresh_memories(work, event)
    # Where nothing rests on anything, no search need be made for what news may shake.
    has_grounds = bool(fresh) and work.store.has_edges((DEPENDS_ON,))
    for memory in fresh:
        if not can_become_outdated(memory) or work.settings.is_off(memory.space):
            continue
        found = untie_corrected(work, event, memory)
        for reason in find_stated_reasons(memory.text):
            found += tie_to_reason(work, memory, reason)
        upheld = {one.edge.dst for one in found if isinstance(one, Link) and one.edge.weight}
        if has_grounds:
            found += flag_shaken_grounds(work, memory, upheld)
        if found:
            rests_on.append(memory)
            changes += found
    made = [one.memory for one in changes if isinstance(one, Add)]
    if made:
        # They repeat what stands in the memory that gives the reason: nobody need be asked.
        payload["settled"] = [sorted((one.id, str(one.details[STATED_IN]))) for one in made]
    return ReaderDecision(changes, rests_on, payload)


def untie_corrected(work: WorkContext, event: Event, memory: Memory) -> list[Change]:
    """The changes for a memory that somebody has given another text: that settles its doubt."""
    if event.verb not in ("revise", "mirror"):
        return []
    return settle_doubt(work.store, memory, work.now)[1]


def tie_to_reason(work: WorkContext, memory: Memory, reason: StatedReason) -> list[Change]:
    """The changes by which a memory rests on a reason that it states."""
    found = find_ground(work, memory, reason)
    if found is not None:
        return [Link(Edge(memory.id, DEPENDS_ON, found.id))]
    if not says_enough(reason) and not find_names(reason.ground):
        return []
    made = make_ground(memory, reason, work.now)
    return [
        Add(made),
        Link(Edge(made.id, "derived_from", memory.id)),
        Link(Edge(memory.id, DEPENDS_ON, made.id)),
    ]


def says_enough(reason: StatedReason) -> bool:
    """True if a reason tells something to who does not know what it is the reason for: "we use
    Redis", not "it takes a lock" or "the upgrade".
    """
    ground = reason.ground
    if not reason.is_clause or refers_back(ground):
        return False
    claim = read_claim(ground)
    if (claim is not None and claim.relation) or find_names(ground):
        return True
    words = claim.words if claim else ()
    return max(len(words), len(tokenize_query(ground))) >= MIN_TELLING_WORDS


def make_ground(memory: Memory, reason: StatedReason, now: float) -> Memory:
    """A reason as a memory of its own, by whoever gave it; one that says nothing by itself is kept
    for news to shake it, and not to be read.
    """
    text = reason.ground[:1].upper() + reason.ground[1:]
    return Memory(
        id=clock.new_id(),
        text=f"{text}{'。' if is_dense(text) else '.'}",
        space=memory.space,
        at=memory.at,
        created_at=now,
        updated_at=now,
        session=memory.session,
        speaker=memory.speaker,
        messages=memory.messages,
        provenance=memory.provenance,
        kind="fact" if says_enough(reason) else GROUND,
        details={STATED_IN: memory.id},
        trust=memory.trust,
        confidence=memory.confidence,
        salience=memory.salience,
    )


def find_made_grounds(store: Store, memories: Sequence[Memory]) -> list[Memory]:
    """What was made of the reasons of some memories, and nothing else rests on."""
    ids = {memory.id for memory in memories}
    edges = store.edges(sorted(ids), (DEPENDS_ON,)) if ids else []
    grounds = store.get(sorted({edge.dst for edge in edges if edge.src in ids} - ids))
    made = [one for one in grounds if one.details.get(STATED_IN) in ids]
    others = {
        edge.dst
        for edge in store.edges([one.id for one in made], (DEPENDS_ON,))
        if edge.src not in ids
    }
    return [one for one in made if one.id not in others]


def find_ground(work: WorkContext, memory: Memory, reason: StatedReason) -> Memory | None:
    """The memory that a reason speaks of; None if none plainly is."""
    grounds: list[Ground] = []
    vector = try_embed(work.embedder, reason.ground)
    for one in find_near(work, memory, reason.ground, vector):
        if not rests_upon(work, one.id, memory.id):
            grounds.append(Ground(one, one.text))
            grounds += [Ground(one, part.claim) for part in find_stated_reasons(one.text)]
    if not grounds:
        return None
    shares = [share_words(reason.ground, ground.text) for ground in grounds]
    best = max(range(len(grounds)), key=lambda place: shares[place])
    if shares[best] >= SAME_WORDS:
        return grounds[best].memory
    named = {fold_text(name) for name in find_names(reason.ground)}
    fitting = [
        ground
        for ground in grounds
        if all(name in fold_text(ground.text) for name in named if len(name) > 1)
    ]
    cosines = compare_with_grounds(work, vector, fitting)
    likest = max(zip(cosines, range(len(fitting)), strict=True), default=(0.0, 0))
    return fitting[likest[1]].memory if likest[0] >= SAME_COSINE else None


def share_words(one: str, other: str) -> float:
    """The share of common words of two texts, of those of both."""
    words, others = set(tokenize_query(one)), set(tokenize_query(other))
    return len(words & others) / max(1, len(words | others))


def compare_with_grounds(
    work: WorkContext, vector: Floats | None, grounds: Sequence[Ground]
) -> list[float]:
    """The cosine of a reason's vector to each wording; 0 where no model answers."""
    if vector is None or work.embedder is None or not grounds:
        return [0.0] * len(grounds)
    stored = load_vectors(work, [ground.memory for ground in grounds])
    known = {
        ground.text: stored[ground.memory.id]
        for ground in grounds
        if ground.text == ground.memory.text and ground.memory.id in stored
    }
    # Only a part of a memory, or one that waits for its vector, has none yet.
    if missing := sorted({ground.text for ground in grounds} - known.keys()):
        try:
            known.update(zip(missing, work.embedder.embed(missing), strict=True))
        except NO_VECTOR_ERRORS:
            return [0.0] * len(grounds)
    return [float(known[ground.text] @ vector) for ground in grounds]


def find_near(
    work: WorkContext,
    memory: Memory,
    text: str,
    vector: Floats | None,
    most: int = MAX_CANDIDATES,
) -> list[Memory]:
    """Other memories near to a text that are vouched for as a given one is, by words and, where the
    text has a vector, by meaning.
    """
    from reverie.retrieval import search_memories
    from reverie.retrieval.search_query import SearchQuery

    query = SearchQuery(
        text,
        visible_spaces(memory.space),
        work.now,
        limit=most + 1,
        without=OTHER_KINDS,
        vector=vector,
        model=work.embedding_model if vector is not None else "",
    )
    found = [hit.memory for hit in search_memories(work.store, query)]
    return [
        one
        for one in found
        if one.id != memory.id
        and can_become_outdated(one)
        and is_unverified(one) == is_unverified(memory)
    ]


def load_vectors(work: WorkContext, memories: Sequence[Memory]) -> Mapping[str, Floats]:
    """The vectors of some memories, by id, as far as they have any of the present model."""
    model = embedding_model_of(work.embedder)
    return work.store.vectors(model, [memory.id for memory in memories]) if model else {}


def rests_upon(work: WorkContext, id: str, ground: str) -> bool:
    """True if a memory rests on another, directly or by way of others."""
    seen, waiting = {id}, {id}
    while waiting:
        edges = work.store.edges(sorted(waiting), (DEPENDS_ON,))
        waiting = {edge.dst for edge in edges if edge.src in waiting} - seen
        if ground in waiting:
            return True
        seen |= waiting
    return False


# News


def flag_shaken_grounds(work: WorkContext, news: Memory, upheld: Set[str]) -> list[Change]:
    """The changes that flag what others rest on and news speaks against, but not what the news
    itself rests on (`upheld`).
    """
    if is_unverified(news) or not news.active:
        return []
    vector = load_vectors(work, (news,)).get(news.id)
    near = {one.id: one for one in find_near(work, news, news.text, vector, MAX_NEAR_NEWS)}
    if not near:
        return []
    edges = work.store.edges(sorted(near), (DEPENDS_ON,))
    upheld = upheld | {edge.dst for edge in edges if edge.src == news.id}
    grounds = [near[id] for id in sorted({edge.dst for edge in edges} & near.keys() - upheld)]
    changes: list[Change] = []
    for ground in grounds:
        is_older = (ground.at, ground.id) < (news.at, news.id)
        if is_older and news.id not in ground.conflicts_with and shakes_ground(news, ground):
            changes += flag_contradiction(ground, news, work.now)
    return changes


READER = EventReader(
    name="depend",
    verbs=ADDING_VERBS,
    verb="depend",
    decide=tie_to_reasons,
    is_ready=is_ready,
)
