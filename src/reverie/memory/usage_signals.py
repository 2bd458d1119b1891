"""What a retrieval teaches: memories that belong together, words that deserve to be tags.

Pure: memories, edges and a little text in, changes out. Everything here is small and can be undone:
a link grows by 0.05, a tag is added as a suggestion that one `untag` takes back for good.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from reverie.core.model import Change, Edge, Link, Memory, Revise
from reverie.memory.detail_changes import drop_details
from reverie.memory.memory_validation import MAX_TAGS
from reverie.retrieval.graph_walk import strengthen_weight
from reverie.text.tokenization import STOP_WORDS

# Weight of a new link of memories that were given together.
NEW_LINK_WEIGHT = 0.6
# Memories of one retrieval that are tied to each other: 28 links at most.
MAX_LINKED_TOGETHER = 8
# Links of one memory that come from use: what goes with everything says nothing.
MAX_USE_LINKS = 64
# Characters of a context that tags are inferred from.
MAX_CONTEXT_CHARS = 200
# So often a word stands in the context, and in so many memories.
MIN_OCCURRENCES = 2
# Characters of a memory in which its words are looked for.
MAX_COMPARED_CHARS = 2_000
# Suggestions to one memory, ever: what has more is about nothing in particular.
MAX_SUGGESTIONS = 8
# In a memory's details: tags that nobody gave, also those that were taken off since.
SUGGESTED_FIELD = "suggested_tags"

_WORD = re.compile(r"\b[^\W\d_]{4,32}\b")


def link_used_together(
    memories: Sequence[Memory],
    edges: Iterable[Edge],
) -> list[Change]:
    """Links between memories that were given together; one that is there, either way round, grows.

    `edges` are all links of these memories: one that goes with MAX_USE_LINKS others already gets no
    further ones.
    """
    known = {frozenset((edge.src, edge.dst)): edge for edge in edges if edge.rel == "relates_to"}
    link_counts = Counter(id for pair in known for id in pair)
    ids = sorted(memory.id for memory in memories[:MAX_LINKED_TOGETHER])
    changes: list[Change] = []
    for one, other in combinations(ids, 2):
        unlinked = Edge(one, "relates_to", other, weight=0.0)
        old = known.get(frozenset((one, other)), unlinked)
        new = old._replace(weight=strengthen_weight(old.weight, NEW_LINK_WEIGHT))
        has_room = max(link_counts[one], link_counts[other]) < MAX_USE_LINKS
        if new != old and (old.weight or has_room):
            changes.append(Link(new))
    return changes


def suggest_tags(
    memories: Sequence[Memory],
    context: str,
    now: float,
) -> list[Change]:
    """Tags for memories that share a word of the context and have no tag in common.

    The word stands in the context twice and in two memories at least; it is neither a number nor a
    stop word. A tag that was suggested once and taken off is not suggested to that memory again.
    """
    counts = count_telling_words(context[:MAX_CONTEXT_CHARS])
    frequent = sorted(word for word, times in counts.items() if times >= MIN_OCCURRENCES)
    if not frequent:
        return []
    words_in = {
        memory.id: count_telling_words(memory.text[:MAX_COMPARED_CHARS]) for memory in memories
    }
    new_tags: dict[str, list[str]] = {}
    for word in frequent:
        sharing = [memory for memory in memories if word in words_in[memory.id]]
        if len(sharing) < MIN_OCCURRENCES:
            continue
        # What they have in common already needs no further tag.
        if set.intersection(*(set(memory.tags) for memory in sharing)):
            continue
        for memory in sharing:
            if word not in (*memory.tags, *suggested_tags(memory)):
                new_tags.setdefault(memory.id, []).append(word)
    changes: list[Change] = []
    for memory in memories:
        known = suggested_tags(memory)
        chosen = new_tags.get(memory.id, [])[: max(0, MAX_SUGGESTIONS - len(known))]
        if not chosen or len(memory.tags) + MAX_SUGGESTIONS > MAX_TAGS:
            continue
        fields = {
            "tags": (*memory.tags, *chosen),
            "details": {**memory.details, SUGGESTED_FIELD: [*known, *chosen]},
            "updated_at": now,
        }
        changes.append(Revise(memory.id, fields))
    return changes


def confirm_tags(
    details: Mapping[str, object],
    tags: Iterable[str],
) -> dict[str, object]:
    """The details of a memory whose tags somebody has now given: they are suggestions no longer."""
    given = set(tags)
    left = [tag for tag in to_texts(details.get(SUGGESTED_FIELD)) if tag not in given]
    others = drop_details(details, SUGGESTED_FIELD)
    return {**others, SUGGESTED_FIELD: left} if left else others


def suggested_tags(memory: Memory) -> tuple[str, ...]:
    """Tags that were suggested for a memory, also those that were removed again."""
    return to_texts(memory.details.get(SUGGESTED_FIELD))


def to_texts(value: object) -> tuple[str, ...]:
    """A list of texts; empty for anything else, for anybody may use the name in the details."""
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else ()


def count_telling_words(text: str) -> Counter[str]:
    """Words of 4 to 32 letters that are no stop words, lower-case, and how often each occurs."""
    found = Counter(word.lower() for word in _WORD.findall(text))
    return Counter({word: times for word, times in found.items() if word not in STOP_WORDS})
