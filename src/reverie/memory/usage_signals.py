"""What a retrieval teaches: memories that belong together, words that deserve to be tags.

Pure: memories, edges and a little text in, changes out. Everything here is small and can be undone:
a link grows by 0.05, a tag is added as a suggestion that one `untag` takes back for good.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from reverie.core.model import Change, Edge, Link, Memory, Revise
from reverie.memory.memory_validation import MOST_TAGS
from reverie.retrieval.graph_walk import strengthened
from reverie.text.tokenization import STOP

TOGETHER = 0.6  # weight of a new link of memories that were given together (CONSTANTS: RelatesTo)
MOST_TOGETHER = 8  # memories of one retrieval that are tied to each other: 28 links at most
MOST_LINKS = 64  # links of one memory that come from use: what goes with everything says nothing
SNIPPET = 200  # characters of a context that tags are inferred from (CONSTANTS: tag inference)
OFTEN = 2  # times that a word stands in the context, and memories that share it
LOOKED_AT = 2_000  # characters of a memory in which its words are looked for
MOST_SUGGESTED = 8  # suggestions to one memory, ever: what has more is about nothing in particular
# in a memory's details: tags that nobody gave; also those that were taken off since
SUGGESTED = "suggested_tags"

_WORD = re.compile(r"\b[^\W\d_]{4,32}\b")


def together(memories: Sequence[Memory], edges: Iterable[Edge]) -> list[Change]:
    """Links between memories that were given together; where there is one, either way round, it
    grows (CC-58, B75).

    `edges` are all links of these memories: one that goes with MOST_LINKS others already gets no
    further ones.
    """
    there = {frozenset((edge.src, edge.dst)): edge for edge in edges if edge.rel == "relates_to"}
    links = Counter(id for pair in there for id in pair)
    changes: list[Change] = []
    for one, other in combinations(sorted(memory.id for memory in memories[:MOST_TOGETHER]), 2):
        old = there.get(
            frozenset((one, other)), Edge(src=one, rel="relates_to", dst=other, weight=0.0)
        )
        new = old._replace(weight=strengthened(old.weight, TOGETHER))
        if new != old and (old.weight or max(links[one], links[other]) < MOST_LINKS):
            changes.append(Link(edge=new))
    return changes


def suggested(memories: Sequence[Memory], context: str, now: float) -> list[Change]:
    """Tags for memories that share a word of the context and have no tag in common (CC-60, B18,
    B84).

    The word stands in the context twice and in two memories at least; it is neither a number nor a
    stop word. A tag that was suggested once and taken off is not suggested to that memory again.
    """
    tags: dict[str, list[str]] = {}
    for word in sorted(word for word, times in words(context[:SNIPPET]).items() if times >= OFTEN):
        sharing = [memory for memory in memories if word in words(memory.text[:LOOKED_AT])]
        if len(sharing) < OFTEN or set.intersection(*(set(memory.tags) for memory in sharing)):
            continue
        for memory in sharing:
            if (
                word not in (*memory.tags, *guesses(memory))
                and len(guesses(memory)) < MOST_SUGGESTED
            ):
                tags.setdefault(memory.id, []).append(word)
    return [
        tagged(memory, tags[memory.id][: MOST_SUGGESTED - len(guesses(memory))], now)
        for memory in memories
        if memory.id in tags and len(memory.tags) + MOST_SUGGESTED <= MOST_TAGS
    ]


def tagged(memory: Memory, new: Sequence[str], now: float) -> Revise:
    """The memory with tags that nobody gave, and a note that nobody did."""
    details = {**memory.details, SUGGESTED: [*guesses(memory), *new]}
    return Revise(
        id=memory.id, fields={"tags": (*memory.tags, *new), "details": details, "updated_at": now}
    )


def confirmed(details: Mapping[str, object], tags: Iterable[str]) -> dict[str, object]:
    """The details of a memory whose tags somebody has now given: they are suggestions no longer."""
    kept = [tag for tag in names(details.get(SUGGESTED)) if tag not in set(tags)]
    return {name: value for name, value in details.items() if name != SUGGESTED} | (
        {SUGGESTED: kept} if kept else {}
    )


def guesses(memory: Memory) -> tuple[str, ...]:
    """Tags of a memory that nobody gave, and such that were taken off again."""
    return names(memory.details.get(SUGGESTED))


def names(value: object) -> tuple[str, ...]:
    """A list of texts; anybody may use the name in the details for something else."""
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else ()


def words(text: str) -> Counter[str]:
    """Words of 4 to 32 letters that say something, and how often each stands there."""
    found = Counter(word.lower() for word in _WORD.findall(text))
    return Counter({word: times for word, times in found.items() if word not in STOP})
