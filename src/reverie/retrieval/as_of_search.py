"""What would have been answered at a past moment: the memories of then, as they stood, ranked as
today's are.

A memory was there from when it was said (of an imported conversation that is long before it was
written down), and no longer from when it was retired. The history says what its fields were; the
candidates of that moment are put into a store in memory and searched in the usual way, so that
nothing is ranked by rules of its own.

Always true: reading the past alters nothing; what was purged is not there either.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from reverie.core.model import Add, Event, Hit, Memory, Record, index_memories, with_fields
from reverie.core.validity import is_valid_at
from reverie.retrieval import search_memories
from reverie.retrieval.search_query import SearchQuery, earliest_visible_at, is_admissible
from reverie.storage import Store, open_store
from reverie.storage.paging import read_memory_pages
from reverie.text.tokenization import fingerprint_text

# Candidates from what still counts, for each hit that is wanted.
CANDIDATES_PER_HIT = 20
MIN_CANDIDATES = 200
# Memories read at once in the search for those of an earlier time.
PAGE_SIZE = 1_000

Embed = Callable[[Sequence[str]], Any]


def search_as_of(
    store: Store,
    query: SearchQuery,
    moment: float,
    embed: Embed | None,
) -> list[Hit]:
    """Hits as of a moment, best first; the memories are as they were, `why` says what came after.

    `embed` is asked for the vectors of texts that were altered since.
    """
    then = query._replace(now=moment, before=moment)
    changes: dict[str, list[Record]] = defaultdict(list)
    for record in store.changes_since(moment, query.spaces):
        changes[record.memory_id].append(record)
    today = index_memories(find_still_active(store, then))
    altered = store.get([id for id in changes if id not in today])
    today |= index_memories(altered)
    past = reconstruct_memories(store, today.values(), changes, moment)
    # Each was there by then, so nothing is left to ask of its age.
    hits = search_given_memories(store, past, then._replace(before=None), embed)
    return [
        hit._replace(why=(*hit.why, *describe_later_fate(today[hit.memory.id]))) for hit in hits
    ]


def reconstruct_memories(
    store: Store,
    today: Collection[Memory],
    changes: Mapping[str, Sequence[Record]],
    moment: float,
) -> list[Memory]:
    """Those of these memories that counted at a moment, as they stood then."""
    heir_ids = [memory.superseded_by for memory in today if memory.superseded_by]
    heirs = index_memories(store.get(heir_ids))
    past = (
        reconstruct_memory(
            memory,
            changes.get(memory.id, ()),
            moment,
            heirs,
        )
        for memory in today
    )
    return [memory for memory in past if memory is not None]


def find_still_active(store: Store, then: SearchQuery) -> list[Memory]:
    """Memories that were there and still count: the best for the question, or the newest of then.

    The newest are those of that time; they are taken where there is no question.
    """
    most = max(MIN_CANDIDATES, CANDIDATES_PER_HIT * then.limit)
    if then.text.strip():
        return [hit.memory for hit in search_memories(store, then._replace(limit=most))]
    found: list[Memory] = []
    for page in read_memory_pages(store, then.to_filter(PAGE_SIZE)):
        found += [memory for memory in page if is_admissible(memory, then)]
        if len(found) >= most:
            break
    return found


def reconstruct_memory(
    memory: Memory,
    records: Sequence[Record],
    moment: float,
    heirs: Mapping[str, Memory],
) -> Memory | None:
    """A memory as it stood at a moment, or None if it did not count then.

    `records` are the changes made to it since, newest first; `heirs` are the memories that replaced
    others, by id. Of a conversation that was written down later, what replaced a memory did so when
    that was said.
    """
    if earliest_visible_at(memory) > moment:
        return None
    heir = heirs.get(memory.superseded_by or "")
    # Written down after the moment, of a time before it: then its heir was there from the start.
    is_backdated = memory.created_at > moment
    if heir is not None and is_backdated and earliest_visible_at(heir) <= moment:
        return None
    was = memory
    for record in records:
        was = with_fields(was, record.before)
    return was if was.active and is_valid_at(was, moment) else None


def describe_later_fate(memory: Memory) -> tuple[str, ...]:
    """What happened to a memory since, in words; empty if it is still active."""
    if memory.active:
        return ()
    by = f" by {memory.superseded_by}" if memory.superseded_by else ""
    return (f"since then {memory.retired_why or 'retired'}{by}",)


def search_given_memories(
    store: Store,
    memories: Sequence[Memory],
    query: SearchQuery,
    embed: Embed | None,
) -> list[Hit]:
    """The best of some memories, which need not count today: they are searched in a store of their
    own.
    """
    if not memories:
        return []
    # In memory: the search is the usual one, and nothing of it is left afterwards.
    there = open_store("sqlite://:memory:")
    try:
        past = Event("past", query.spaces[0], query.now)
        there.apply([Add(memory) for memory in memories], past)
        if query.vector is not None:
            there.put_vectors(query.model, *collect_vectors(store, memories, query.model, embed))
        return search_memories(there, query)
    finally:
        there.close()


def collect_vectors(
    store: Store,
    memories: Sequence[Memory],
    model: str,
    embed: Embed | None,
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """(vectors by memory id, text hashes by memory id), of as many of the memories as have a
    vector.

    Vectors are those that the store knows and those that `embed` makes of texts altered since.
    """
    hashes = {memory.id: fingerprint_text(memory.text) for memory in memories}
    texts = {hashes[memory.id]: memory.text for memory in memories}
    known = dict(store.known_vectors(model, list(texts)))
    missing = {hash: text for hash, text in texts.items() if hash not in known}
    if embed is not None and missing:
        known.update(zip(missing, embed(list(missing.values())), strict=True))
    with_vector = {id: hash for id, hash in hashes.items() if hash in known}
    return {id: known[hash] for id, hash in with_vector.items()}, with_vector
