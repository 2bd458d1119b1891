"""What came into memory by way of one source, and how all of it is taken back at once.

A source is a conversation, a person or agent, a page or file that was read, a program or file whose
memories were imported, or the number of an event. What came from it are the memories that name it
and those whose words stand in what it answered; what was made out of these (`derived_from`) grew
from it, and so on. What was merely merged with them had been known without them: it stays, and is
only as strong as before. What had stepped back for any of them counts again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from reverie.activity import TOOL
from reverie.core.authorship import AUTHOR
from reverie.core.errors import BadInput
from reverie.core.model import (
    Change,
    Edge,
    Event,
    Filter,
    Link,
    Memory,
    Retire,
    index_memories,
)
from reverie.extraction.memory_uses import list_texts
from reverie.extraction.provenance_check import contains_claim, iter_tool_answers
from reverie.memory.memory_changes import restore_memory, unmerge_memory
from reverie.mirror.shared_lines import ORIGIN
from reverie.privacy.untrusted_text import CAME_FROM
from reverie.reconciliation.pair_passes import USER_PROVENANCES
from reverie.reconciliation.pass_view import apply_to_memory
from reverie.storage import Store

PAGE = 10_000  # memories that are read at a time
MAX_EVENTS = 10_000
MAX_FILE_CHARS = 200_000  # of a file that is still there
TAKING_VERBS = ("import", "shared", "synced")  # events that take in what others wrote
BLAST = "source taken back"  # why they are retired


class Influence(NamedTuple):
    """What a source has brought into memory; `event` is what took it back, 0 for a look."""

    source: str
    roots: tuple[Memory, ...] = ()  # came from it
    grown: tuple[Memory, ...] = ()  # were made out of these
    kept: tuple[Memory, ...] = ()  # said elsewhere too, or merged with them: they stay
    freed: tuple[Memory, ...] = ()  # had stepped back for them
    event: int = 0

    @property
    def counting(self) -> tuple[Memory, ...]:
        """Those that came from it or grew from it and still count."""
        return tuple(one for one in (*self.roots, *self.grown) if one.active)


def find_influence(store: Store, source: str) -> Influence:
    """Everything that came by way of a source, in all spaces. BadInput for a blank one, which
    whatever has no session would name.
    """
    source = source.strip()
    if not source:
        raise BadInput("Say which source: a session, a person, a page, a file, an import")
    events = list_events_of(store, source)
    taken = {
        record.memory_id
        for event in events
        for record in store.changes_of(event.seq)
        if record.op == "add" and (event.verb in TAKING_VERBS or is_number_of(source, event))
    }
    reads = [event for event in events if event.verb == TOOL and is_reached(source, event)]
    texts = [*list_read_texts(reads), *read_present_file(source)]
    since = min((event.at for event in reads), default=0.0)
    roots, kept = list[Memory](), list[Memory]()
    for memory in iter_memories(store):
        if names_source(memory, source) or memory.id in taken:
            said_elsewhere = any(name != source for name in memory.sources)
            is_shared = memory.session == source and said_elsewhere
            (kept if is_shared else roots).append(memory)
        elif texts and memory.created_at >= since and stands_in(memory, texts):
            roots.append(memory)
    grown, merged = follow_growth(store, roots)
    gone = index_memories((*roots, *grown))
    return Influence(
        source,
        tuple(roots),
        tuple(grown),
        tuple(index_memories((*kept, *merged)).values()),
        tuple(find_displaced(store, gone)),
    )


def plan_blast(store: Store, found: Influence, now: float) -> list[Change]:
    """The changes that take back all that a source has brought."""
    gone = index_memories((*found.roots, *found.grown))
    changes: list[Change] = [Retire(memory.id, now, BLAST) for memory in found.counting]
    edges = store.edges(list(gone), ("derived_from", "supersedes"))
    for memory in found.freed:
        tied = [edge for edge in edges if edge.dst == memory.id and edge.src in gone]
        changes += restore_memory(memory, tied, now)
    heirs = index_memories(found.kept)
    for edge in edges:
        if edge.rel != "derived_from" or edge.dst not in gone or edge.src not in heirs:
            continue
        # Its words are no wording of what stays, and lent it strength that they did not have.
        weaker = unmerge_memory(heirs[edge.src], gone[edge.dst], now)
        heirs[edge.src] = apply_to_memory(heirs[edge.src], weaker)
        changes += [*weaker, Link(edge._replace(weight=0.0))]
    return changes


def iter_memories(store: Store) -> Iterator[Memory]:
    """All memories, also those that do not count any more."""
    after = ""
    while page := store.browse(Filter(active=None, limit=PAGE, after=after)):
        yield from page
        after = page[-1].id


def list_events_of(store: Store, source: str) -> list[Event]:
    """The events that name a source, or that have its number."""
    found = store.search_events((*TAKING_VERBS, TOOL), containing=(source,), limit=MAX_EVENTS)
    numbered = store.event(int(source)) if source.isascii() and source.isdigit() else None
    return [*found, *([numbered] if numbered else ())]


def is_number_of(source: str, event: Event) -> bool:
    """True if a source is the number of an event."""
    return source == str(event.seq)


def is_reached(source: str, event: Event) -> bool:
    """True if a tool was told of the source, and did not only answer with its name."""
    given = {
        name: value for name, value in event.payload.items() if name not in ("result", "error")
    }
    # The site of a page, the name of a file; not letters that stand within either.
    named = re.compile(rf"(?<!\w){re.escape(source)}(?!\w)")
    return any(named.search(text) for text in list_texts(given))


def list_read_texts(reads: Iterable[Event]) -> list[str]:
    """What the source answered whenever it was read."""
    return [answer.text for event in reads for answer in iter_tool_answers(event)]


def read_present_file(source: str) -> list[str]:
    """The text of a file that is still there: the log does not hold what stood in it."""
    try:
        with Path(source).expanduser().open(encoding="utf-8", errors="replace") as opened:
            return [opened.read(MAX_FILE_CHARS)]
    except (OSError, ValueError):
        return []


def stands_in(memory: Memory, texts: Iterable[str]) -> bool:
    """True if somebody else than the user is said to have said it, and a text says it too."""
    if memory.provenance in USER_PROVENANCES:
        return False
    return any(contains_claim(memory.text, text) for text in texts)


def names_source(memory: Memory, source: str) -> bool:
    """True if a memory says itself that it came from there."""
    if source in (memory.session, memory.speaker):
        return True
    details = memory.details
    if source in list_texts(details.get(CAME_FROM)) or source in list_texts(details.get(AUTHOR)):
        return True
    origin = details.get(ORIGIN)
    if not isinstance(origin, Mapping):
        return False
    where = str(origin.get("where", ""))
    return source in (origin.get("system"), origin.get("from"), where, where.partition(":")[0])


def follow_growth(store: Store, roots: Iterable[Memory]) -> tuple[list[Memory], list[Memory]]:
    """(what was made out of some memories, and out of that; what was only merged with any)."""
    known = {memory.id for memory in roots}
    grown, merged = list[Memory](), list[Memory]()
    latest = sorted(known)
    while latest:
        edges = [
            edge
            for edge in store.edges(latest, ("derived_from",))
            if edge.dst in latest and edge.src not in known
        ]
        heirs = index_memories(store.get(sorted({edge.src for edge in edges})))
        made = {edge.src for edge in edges if edge.src in heirs and is_made_by(store, edge)}
        grown += [heirs[id] for id in sorted(made)]
        merged += [heirs[id] for id in sorted(heirs.keys() - made)]
        known |= made
        latest = sorted(made)
    return grown, [memory for memory in merged if memory.id not in known]


def is_made_by(store: Store, edge: Edge) -> bool:
    """True if a memory came into being with its tie to another: it was made out of that one."""
    added, tied = 0, set[int]()
    for record in store.history(edge.src):
        if record.op == "add":
            added = record.event.seq
        elif record.op == "link" and record.after.get("dst") == edge.dst:
            tied.add(record.event.seq)
    return added in tied


def find_displaced(store: Store, gone: Mapping[str, Memory]) -> list[Memory]:
    """What had stepped back for any of these: merged into it or replaced by it."""
    edges = store.edges(list(gone), ("derived_from", "supersedes"))
    others = {edge.dst for edge in edges if edge.src in gone} - gone.keys()
    return [
        memory
        for memory in store.get(sorted(others))
        if not memory.active and memory.superseded_by in gone
    ]
