"""What the comparison has shown so far."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from reverie.core.model import EMPTY_MAPPING, Memory, index_memories
from reverie.holdout.difference import Difference, estimate_difference
from reverie.holdout.session_outcomes import MEASURES, SessionOutcome, read_outcomes
from reverie.storage import Store
from reverie.text.token_counts import estimate_tokens
from reverie.transcripts.passage_hits import find_memories_or_passages

# Conversations on either side, in which memory had something to say, before anything is said of
# them: with fewer the interval is wider than anything that memory could save.
MIN_SESSIONS = 20
# The same for a kind of memory, and for one memory.
MIN_SESSIONS_OF_ONE = 10
# Memories that are listed: those that the most conversations needed.
MAX_LISTED = 20
# What a single memory or kind is judged by: trouble, the sum of these.
TROUBLE = ("corrections", "failures")
# Of a line of an injected block around the memory itself: source, age, id.
TOKENS_PER_LINE = 20


class MemoryWorth(NamedTuple):
    """What one memory, or all of a kind, did in the conversations that it came up in."""

    name: str  # of the kind, or the memory's id
    text: str  # of the memory
    given: int  # conversations that it was given to
    withheld: int  # silent ones that it would have been given to
    trouble: Difference | None  # corrections and failures a conversation; None: not enough yet


class Proof(NamedTuple):
    """What is known of memory's worth."""

    share: float  # of conversations that are held out from now on
    given: int  # conversations with memory that are over, and are compared
    silent: int  # those that were held out
    needed_given: int  # of these, those in which memory had something to say
    needed_silent: int
    least: int  # that either number must reach
    tokens: float | None  # injected in a conversation with memory, on average, about
    differences: Mapping[str, Difference] = (
        EMPTY_MAPPING  # by the names in MEASURES; empty: too few
    )
    kinds: Sequence[MemoryWorth] = ()
    memories: Sequence[MemoryWorth] = ()

    @property
    def is_enough(self) -> bool:
        """True if there are enough conversations to say anything."""
        return bool(self.differences)


def make_proof(store: Store, share: float, now: float) -> Proof:
    """What the conversations so far show. Only those in which memory had something to say are
    compared: in the others both sides are alike.
    """
    outcomes = read_outcomes(store, now)
    needed = [one for one in outcomes if one.brought]
    given, silent = split_sides(needed)
    by_id = load_memories(store, needed)
    with_memory = [one for one in outcomes if not one.held_out]
    spent = sum(
        TOKENS_PER_LINE + estimate_tokens(by_id[id].text)
        for one in given
        for id in one.given
        if id in by_id
    )
    proof = Proof(
        share,
        len(with_memory),
        len(outcomes) - len(with_memory),
        len(given),
        len(silent),
        MIN_SESSIONS,
        spent / len(with_memory) if with_memory else None,
    )
    if min(len(given), len(silent)) < MIN_SESSIONS:
        return proof
    return proof._replace(
        differences={name: compare(given, silent, (name,)) for name in MEASURES},
        kinds=weigh_groups(needed, lambda id: by_id[id].kind if id in by_id else "", {}),
        memories=weigh_groups(needed, lambda id: id if id in by_id else "", by_id)[:MAX_LISTED],
    )


def split_sides(
    outcomes: Iterable[SessionOutcome],
) -> tuple[list[SessionOutcome], list[SessionOutcome]]:
    """(those with memory, those without)."""
    sides: tuple[list[SessionOutcome], list[SessionOutcome]] = [], []
    for one in outcomes:
        sides[one.held_out].append(one)
    return sides


def compare(
    given: Iterable[SessionOutcome],
    silent: Iterable[SessionOutcome],
    names: Sequence[str],
) -> Difference:
    """The difference in the sum of some measures."""
    one, other = (
        [sum(outcome.measures[name] for name in names) for outcome in side]
        for side in (given, silent)
    )
    return estimate_difference(one, other)


def weigh_groups(
    outcomes: Sequence[SessionOutcome],
    group_of: Callable[[str], str],
    texts: Mapping[str, Memory],
) -> list[MemoryWorth]:
    """What the memories of each group are worth, those first that most conversations needed. An
    empty name is no group.
    """
    groups = [(one, set(map(group_of, one.brought)) - {""}) for one in outcomes]
    counts = Counter(name for _, names in groups for name in names)
    found = []
    for name, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        given, silent = split_sides(one for one, names in groups if name in names)
        enough = min(len(given), len(silent)) >= MIN_SESSIONS_OF_ONE
        trouble = compare(given, silent, TROUBLE) if enough else None
        text = texts[name].text if name in texts else ""
        found.append(MemoryWorth(name, text, len(given), len(silent), trouble))
    return found


def load_memories(store: Store, outcomes: Iterable[SessionOutcome]) -> dict[str, Memory]:
    """The memories and passages that conversations were given, or would have been, by their ids."""
    ids = sorted({id for one in outcomes for id in one.brought})
    return index_memories(find_memories_or_passages(store, ids))
