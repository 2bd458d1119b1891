"""The nearest relatives of new memories: by vector where there are vectors, by words elsewhere.

Looked for are active memories, and wordings that were merged into one: whoever says it in those
words means the same. All new memories of an event in one space are one question to the store.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from reverie.core.model import Memory, visible_spaces
from reverie.pipeline.event_reader import WorkContext
from reverie.reconciliation.merge_rules import MIN_COSINE, Neighbour
from reverie.reconciliation.paraphrase.claim_comparison import suggest_terms
from reverie.storage.arrays import Floats
from reverie.storage.candidates import NeighbourRequest
from reverie.text.tokenization import tokenize_query

# Active neighbours: ten of them are compared (merge_rules.MAX_RELATIVES), others may be turns of
# a conversation.
MAX_NEIGHBOURS = 30
MAX_MERGED_NEIGHBOURS = 5
# Short texts of one meaning may lie far apart: "PRs" and "pull requests". Where fewer neighbours
# than these are near, memories that share words are relatives from this cosine on. A longer text
# says enough to be found by its vector.
MAX_WORD_NEIGHBOURS = 10
MIN_WORD_COSINE = 0.3
SHORT_TEXT_CHARS = 100
# New memories of one event up to which words are searched as well: not for what is loaded in bulk.
MAX_FRESH_FOR_WORDS = 50


def find_neighbours(
    work: WorkContext,
    fresh: Sequence[Memory],
    *,
    older: bool,
) -> dict[str, list[Neighbour]]:
    """The neighbours of each new memory, in its space and above; with `older` only what was there
    before it.
    """
    found: dict[str, list[Neighbour]] = {}
    vectors: Mapping[str, Floats] = {}
    if work.embedder:
        vectors = work.store.vectors(work.embedding_model, [memory.id for memory in fresh])
    by_space: dict[str, list[Memory]] = defaultdict(list)
    for memory in fresh:
        by_space[memory.space].append(memory)
    for here in by_space.values():
        embedded = [memory for memory in here if memory.id in vectors]
        if embedded:
            found |= find_by_vector(work, embedded, vectors, older=older)
        for memory in here:
            if memory.id not in vectors:
                found[memory.id] = find_by_words(work, memory, older=older)
            elif len(fresh) <= MAX_FRESH_FOR_WORDS:
                near, vector = found[memory.id], vectors[memory.id]
                farther = find_farther_by_words(work, memory, vector, near, older=older)
                found[memory.id] = near + farther
    return found


def find_by_words(
    work: WorkContext,
    new: Memory,
    *,
    older: bool,
) -> list[Neighbour]:
    """Memories that share words with this one, best first."""
    spaces = visible_spaces(new.space)
    terms = [*tokenize_query(new.text), *suggest_terms(new.text)]
    found = work.store.search_words(terms, spaces, MAX_NEIGHBOURS + 1, now=work.now)
    others = [id for id, _ in found if id != new.id]
    return [Neighbour(id, None) for id in others if id < new.id or not older]


def find_farther_by_words(
    work: WorkContext,
    new: Memory,
    vector: Floats,
    known: Sequence[Neighbour],
    *,
    older: bool,
) -> list[Neighbour]:
    """Memories that share words with a short text, from MIN_WORD_COSINE up to MIN_COSINE."""
    if len(known) >= MAX_WORD_NEIGHBOURS or len(new.text) > SHORT_TEXT_CHARS:
        return []
    near = {neighbour.id for neighbour in known}
    by_words = find_by_words(work, new, older=older)
    ids = [one.id for one in by_words if one.id not in near][:MAX_WORD_NEIGHBOURS]
    vectors = work.store.vectors(work.embedding_model, ids)
    cosines = {id: float(other @ vector) for id, other in vectors.items()}
    return [
        Neighbour(id, cosines[id])
        for id in ids
        if MIN_WORD_COSINE <= cosines.get(id, -1.0) < MIN_COSINE
    ]


def find_by_vector(
    work: WorkContext,
    fresh: Sequence[Memory],
    vectors: Mapping[str, Floats],
    *,
    older: bool,
) -> dict[str, list[Neighbour]]:
    """Memories of a high cosine, best first. All `fresh` are of one space."""
    ids = tuple(memory.id for memory in fresh)
    found: dict[str, list[Neighbour]] = {id: [] for id in ids}
    asked = np.stack([vectors[id] for id in ids]).astype(np.float32)
    # Apart from each other: merged wordings must not take the places of active memories.
    for retired, limit in ((False, MAX_NEIGHBOURS), (True, MAX_MERGED_NEIGHBOURS)):
        request = NeighbourRequest(
            model=work.embedding_model,
            ids=ids,
            vectors=asked,
            spaces=tuple(visible_spaces(fresh[0].space)),
            floor=MIN_COSINE,
            limit=limit,
            retired=retired,
            older=older,
        )
        for id, near in work.store.nearest(request).items():
            found[id] += [Neighbour(one.id, one.cosine) for one in near]
    for neighbours in found.values():
        neighbours.sort(key=lambda one: (-(one.cosine or 0.0), one.id))
    return found
