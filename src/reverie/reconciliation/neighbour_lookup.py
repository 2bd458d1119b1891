"""The nearest relatives of new memories: by vector where there are vectors, by words elsewhere.

Looked for are active memories, and wordings that were merged into one: whoever says it in those
words means the same. All new memories of an event are compared at once, block by block, so that the
memory needed does not grow with the store.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from reverie.core.model import Memory, visible_spaces
from reverie.pipeline.event_reader import WorkContext
from reverie.reconciliation.merge_rules import MIN_COSINE, Neighbour
from reverie.reconciliation.paraphrase.claim_comparison import suggest_terms
from reverie.storage.column_cache import Floats, Ints, Shard
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
# Rows compared at a time: with 500 new memories 16 MB.
BLOCK_ROWS = 8_192


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
    ids = [memory.id for memory in fresh]
    asked = np.stack([vectors[id] for id in ids]).astype(np.float32)
    found: dict[str, list[Neighbour]] = {id: [] for id in ids}
    corpus = work.store.corpus(work.embedding_model, visible_spaces(fresh[0].space))
    for shard in corpus.shards:
        if shard.dims != asked.shape[1]:
            continue
        own = find_shard_rows(shard, ids)
        known, counts = shard.known[: shard.n], shard.counts[: shard.n]
        # Apart from each other: merged wordings must not take the places of active memories.
        for allowed, most in (
            (known & counts, MAX_NEIGHBOURS),
            (known & ~counts, MAX_MERGED_NEIGHBOURS),
        ):
            nearest, cosines = find_nearest_rows(shard, asked, allowed, own, most, older=older)
            for id, rows, near in zip(
                ids,
                nearest.tolist(),
                cosines.tolist(),
                strict=True,
            ):
                pairs = zip(rows, near, strict=True)
                found[id] += [Neighbour(shard.ids[row], like) for row, like in pairs if row >= 0]
    for neighbours in found.values():
        neighbours.sort(key=lambda one: (-(one.cosine or 0.0), one.id))
    return found


def find_shard_rows(shard: Shard, ids: Sequence[str]) -> Ints:
    """The row of each memory, -1 where it is not in this shard."""
    # New memories stand at the end, so the search goes backwards.
    wanted = dict.fromkeys(ids, -1)
    left = len(wanted)
    for row in reversed(range(shard.n)):
        if not left:
            break
        if shard.ids[row] in wanted:
            wanted[shard.ids[row]] = row
            left -= 1
    return np.array([wanted[id] for id in ids], np.int64)


def find_nearest_rows(
    shard: Shard,
    asked: Floats,
    allowed: npt.NDArray[np.bool_],
    own: Ints,
    most: int,
    *,
    older: bool,
) -> tuple[Ints, Floats]:
    """For each asked vector the `most` nearest rows and their cosines, both (len(asked), most).

    A row is -1 where there are fewer above MIN_COSINE. `own` is each asked memory's row, which is
    left out; with `older` also what came after it. In no particular order.
    """
    each = np.arange(len(asked))
    best = np.full((len(asked), most), -1.0, np.float32)
    where = np.full((len(asked), most), -1, np.int64)
    places = own[:, None]
    # With `older` nothing behind the last new memory can be a neighbour.
    last = int(own.max()) + 1 if older and (own >= 0).all() else shard.n
    for start in range(0, last, BLOCK_ROWS):
        end = min(start + BLOCK_ROWS, last)
        rows = start + np.flatnonzero(allowed[start:end])
        cosines = asked @ take_vectors(shard, rows).T
        hidden = (rows >= places) & (places >= 0) if older else rows == places
        cosines[hidden] = -1.0
        # Only vectors for which this block has something nearer are merged and partitioned.
        needed = np.maximum(best.min(axis=1), MIN_COSINE)
        better = each[cosines.max(axis=1, initial=-1.0) > needed]
        sources = np.broadcast_to(rows, (len(better), len(rows)))
        both = np.concatenate([best[better], cosines[better]], axis=1)
        both_rows = np.concatenate([where[better], sources], axis=1)
        top = np.argpartition(
            -both,
            most - 1,
            axis=1,
        )[:, :most]
        best[better] = np.take_along_axis(both, top, axis=1)
        where[better] = np.take_along_axis(both_rows, top, axis=1)
    where[best < MIN_COSINE] = -1
    return where, best


def take_vectors(shard: Shard, rows: Ints) -> Floats:
    """The vectors of some ascending rows; a view, not a copy, where no row is left out."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return shard.vectors[rows[0] : rows[-1] + 1]
    return shard.vectors[rows]
