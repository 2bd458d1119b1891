"""What happened in one session long ago becomes one memory: what its episodes say, in order.

Only what `archiving.is_unused` tells: nobody said it in so many words, and nobody needed it for a
month. The summary and excerpts of a session stay. Nothing is left out but what is said twice and
the end of very long texts; the episodes themselves go to the archive as "merged", and `undo` brings
them back.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from reverie.consolidation.archiving import is_unused
from reverie.core.kinds import EPISODE_KINDS, SESSION
from reverie.core.model import Add, Change, Edge, Link, Memory
from reverie.reconciliation.merge_rules import diff_memory, mark_retired
from reverie.reconciliation.pass_view import PassStep, PassView
from reverie.text.tokenization import fold_text, shorten_line

# Of fewer episodes there is nothing to condense.
MIN_EPISODES = 3
# Characters of one episode that are kept, and of all of them together: of more, several are made.
MAX_EPISODE_CHARS, MAX_CONDENSED_CHARS = 300, 1_500
CONDENSED_KINDS = tuple(kind for kind in EPISODE_KINDS if kind != SESSION)


def condense_old_episodes(view: PassView, new_id: Callable[[], str]) -> list[PassStep]:
    """Steps that put the old episodes of a session, of one kind and source, into one memory."""
    old = [memory for memory in view.memories.values() if may_condense(memory, view.now)]
    old.sort(key=lambda memory: (*condensing_key(memory), memory.at, memory.id))
    return [
        condense_episodes(part, view.now, new_id())
        for _, episodes in groupby(old, condensing_key)
        for part in split_by_length([*episodes])
    ]


def may_condense(memory: Memory, now: float) -> bool:
    """True if a memory tells of something long ago that nobody has needed since."""
    is_episode = memory.kind in CONDENSED_KINDS and bool(memory.session)
    return memory.active and is_episode and is_unused(memory, now)


def condensing_key(memory: Memory) -> tuple[str, str, str, str, float]:
    """What episodes must have in common to become one."""
    return memory.space, memory.session, memory.kind, memory.provenance, memory.trust


def split_by_length(episodes: Sequence[Memory]) -> Iterator[list[Memory]]:
    """The episodes, so many at a time as fit into one text; too few are left as they are."""
    part: list[Memory] = []
    length = 0
    for memory in episodes:
        size = min(len(memory.text), MAX_EPISODE_CHARS)
        if part and length + size > MAX_CONDENSED_CHARS:
            if len(part) >= MIN_EPISODES:
                yield part
            part, length = [], 0
        part.append(memory)
        length += size
    if len(part) >= MIN_EPISODES:
        yield part


def condense_episodes(episodes: Sequence[Memory], now: float, id: str) -> PassStep:
    """The step that puts these into one memory with a given id."""
    lines: dict[str, str] = {}
    for memory in episodes:
        line = shorten_line(memory.text, MAX_EPISODE_CHARS)
        lines.setdefault(fold_text(line), line)
    newest = episodes[-1]
    whole = newest._replace(
        id=id,
        text="\n".join(lines.values()),
        title="",
        created_at=now,
        updated_at=now,
        confidence=min(memory.confidence for memory in episodes),
        salience=max(memory.salience for memory in episodes),
        tags=tuple(dict.fromkeys(tag for memory in episodes for tag in memory.tags)),
        files=tuple(dict.fromkeys(path for memory in episodes for path in memory.files)),
        triggers=(),
        details={},
    )
    changes: list[Change] = [Add(whole)]
    for memory in episodes:
        changes += diff_memory(memory, mark_retired(memory, now, "merged", id))
        changes.append(Link(Edge(id, "derived_from", memory.id)))
    return PassStep(
        tuple(changes),
        tuple(memory.id for memory in episodes),
        f"{len(episodes)} episodes of one session, unused for a month",
    )
