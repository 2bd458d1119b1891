"""Memories that were edited on both sides at once: on a page and by an agent, or here and on
another device of the team's server.

One version holds: on a page the person's, in a team the later one. The other gave way and stands in
the history alone. Until a person has said which is right, both are shown; the answer is an event
`review` that settles the memory together with the event by which the two met
(`pipeline.decided_pairs`), so that undoing it asks again.

Always true: nothing is asked about where the two say the same by now, or the memory was decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.core.authorship import author_of
from reverie.core.clock import new_id
from reverie.core.errors import BadInput
from reverie.core.model import (
    MIRRORED,
    PULLED,
    Add,
    Change,
    Edge,
    Event,
    Link,
    Memory,
    Record,
    Retire,
    Revise,
    index_memories,
)
from reverie.memory.memory_changes import record_use
from reverie.mirror.shared_lines import HEARD
from reverie.pipeline.decided_pairs import load_settled_pairs
from reverie.storage import Store
from reverie.sync.merge_rules import changes_content, known_fields, rewind, version_time
from reverie.sync.sync_state import load_state

OWN_PAGE = "you, on its page"
# Events of pages that are looked at, the newest; and for how many seconds they are asked about:
# what nobody has missed for a month, nobody misses.
MAX_PAGE_EVENTS = 200
ASKED_FOR = 30 * 86_400.0
# What a version says, as far as people see it.
SAID_FIELDS = ("text", "title", "kind", "tags", "at", "valid_from", "valid_to", "expires_at")
# What goes with it where a version is brought back.
VERSION_FIELDS = (*SAID_FIELDS, "files", "triggers", "details", "provenance", "trust", "speaker")
KEEP, OTHER, BOTH, MERGED = "one", "other", "both", "edit"


class EditSide(NamedTuple):
    """One of the two versions."""

    memory: Memory
    by: str  # who made it, in words
    at: float  # when, in seconds since 1970


class BothSidedEdit(NamedTuple):
    """A memory that two edited without knowing of each other."""

    event: int  # by which the two met
    at: float
    where: str  # "page" or "team"
    holds: EditSide
    gave_way: EditSide

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.holds.memory.id


class Meeting(NamedTuple):
    """A memory, and the event by which two versions of it met."""

    id: str
    event: Event


def list_both_sided_edits(
    store: Store, spaces: Sequence[str], now: float, limit: int
) -> list[BothSidedEdit]:
    """What waits for a decision in these spaces, the newest first."""
    found: list[BothSidedEdit] = []
    for met in iter_open_meetings(store, now):
        edit = read_both_sided_edit(store, met)
        if edit is not None and edit.holds.memory.space in spaces:
            found.append(edit)
            if len(found) == limit:
                break
    return found


def find_both_sided_edit(store: Store, id: str, now: float) -> BothSidedEdit | None:
    """That of one memory, if it waits for a decision."""
    met = next((one for one in iter_open_meetings(store, now) if one.id == id), None)
    return read_both_sided_edit(store, met) if met else None


def event_mark(seq: int) -> str:
    """An event, as it stands in a pair that is settled."""
    return f"event:{seq}"


def iter_open_meetings(store: Store, now: float) -> Iterator[Meeting]:
    """Where two versions of a memory met last, and nobody has decided, the newest first."""
    found = sorted(
        (*iter_page_meetings(store, now), *iter_team_meetings(store)),
        key=lambda met: -met.event.seq,
    )
    # Nearly always there are none, and what was decided need not be read.
    settled = load_settled_pairs(store) if found else frozenset()
    seen: set[str] = set()
    for met in found:
        is_open = frozenset((met.id, event_mark(met.event.seq))) not in settled
        if met.id not in seen and is_open:
            yield met
        seen.add(met.id)


def iter_page_meetings(store: Store, now: float) -> Iterator[Meeting]:
    """Those on pages of the mirror."""
    for event in store.events(verbs=(MIRRORED,), newest=True, limit=MAX_PAGE_EVENTS):
        clashes = event.payload.get("clashes")
        if now - event.at <= ASKED_FOR and isinstance(clashes, list):
            for id in dict.fromkeys(map(str, clashes)):
                yield Meeting(id, event)


def iter_team_meetings(store: Store) -> Iterator[Meeting]:
    """Those with the team's server: what came then, or next."""
    for id, at in load_state(store).conflicts:
        pulled = (
            record.event
            for record in store.history(id)
            if record.event.verb == PULLED and record.event.at >= at
        )
        if event := next(pulled, None):
            yield Meeting(id, event)


def read_both_sided_edit(store: Store, met: Meeting) -> BothSidedEdit | None:
    """Both versions, from the history; None if there is no other one, or it says the same."""
    memory = index_memories(store.get([met.id])).get(met.id)
    records = store.history(met.id) if memory else []
    seq, is_page = met.event.seq, met.event.verb == MIRRORED
    of_event = [one for one in records if one.event.seq == seq and one.op != "link"]
    before = rewind(memory, records, seq - 1) if memory and of_event else None
    if memory is None or before is None:
        return None
    after = rewind(memory, records, seq) or memory
    has_won = not is_same_version(before, after)
    # What came and gave way was taken in and taken back in one event.
    version = after if has_won else replay(before, of_event[:-1])
    came = EditSide(
        version,
        OWN_PAGE if is_page else name_team_editor(version),
        met.event.at if is_page else version_time(version),
    )
    edit = last_edit(records, seq)
    known = EditSide(before, name_editor(before, edit), edit.event.at if edit else before.at)
    holds, gave_way = (came, known) if has_won else (known, came)
    if is_same_version(gave_way.memory, memory):
        return None
    where = "page" if is_page else "team"
    return BothSidedEdit(seq, met.event.at, where, holds._replace(memory=memory), gave_way)


def is_same_version(one: Memory, other: Memory) -> bool:
    """True if both say the same, and count or do not."""
    return not list_differences(one, other) and one.active == other.active


def list_differences(one: Memory, other: Memory) -> list[tuple[str, Any, Any]]:
    """(field, value of the one, value of the other) of what people see in a memory."""
    values = ((name, getattr(one, name), getattr(other, name)) for name in SAID_FIELDS)
    return [found for found in values if found[1] != found[2]]


def replay(memory: Memory, records: Sequence[Record]) -> Memory:
    """The memory after some records of its history."""
    for record in records:
        memory = memory._replace(**known_fields(record.after))
    return memory


def last_edit(records: Sequence[Record], seq: int) -> Record | None:
    """The last record before the event `seq` that altered what a memory says."""
    edits = (
        one
        for one in reversed(records)
        if one.event.seq < seq and one.op != "link" and changes_content(one)
    )
    return next(edits, None)


def name_team_editor(version: Memory) -> str:
    """Who made a version that came from the server."""
    if version.details.get(HEARD):
        return version.speaker or "a colleague"
    return "you, on another device"


def name_editor(version: Memory, record: Record | None) -> str:
    """Who made a version that was made here."""
    author = author_of(version)
    session = record.event.session if record else ""
    if record is not None and record.event.verb == PULLED:
        return name_team_editor(version)
    if record is not None and record.event.verb == MIRRORED:
        return OWN_PAGE
    name = author.agent or author.model
    if name or session:
        return f"{name or 'an agent'}{f', session {session}' if session else ''}"
    return f"here, by {record.event.verb}" if record else "here"


def decide_both_sided_edit(
    store: Store, edit: BothSidedEdit, decision: str, merged: Revise | None, now: float
) -> tuple[list[Change], list[list[str]]]:
    """The changes of an answer, and the pairs that it settles: keep what holds ("one"), the
    "other", "both", or "edit" with a revision that has the merged text.
    """
    # Whoever only lists them needs no rules of merging, which take long to load.
    from reverie.reconciliation.memory_restore import plan_restore
    from reverie.reconciliation.merge_rules import RELATES_WEIGHT

    holds, other = edit.holds.memory, edit.gave_way.memory
    settled = [sorted((edit.id, event_mark(edit.event)))]
    back: list[Change] = []
    if decision != KEEP and not holds.active and (other.active or merged is not None):
        back, pairs = plan_restore(store, holds, now)
        settled += pairs
    if merged is not None:
        return [*back, merged], settled
    match decision:
        case "one":
            # Something has to be in the history for the undo to take back: it was confirmed.
            return [record_use(holds, now, helpful=True)], settled
        case "other" if not other.active:
            return [Retire(holds.id, now, other.retired_why, other.superseded_by)], settled
        case "other":
            return [*back, bring_version_back(holds, other, now)], settled
        case "both" if holds.active and other.active and holds.text != other.text:
            made = other._replace(
                id=new_id(),
                space=holds.space,
                created_at=now,
                updated_at=now,
                access_count=0,
                strength=1,
                reinforcements=(),
                conflicts_with=(),
            )
            tie = Link(Edge(made.id, "relates_to", holds.id, RELATES_WEIGHT))
            return [Add(made), tie], [*settled, sorted((made.id, holds.id))]
    raise BadInput(f"{decision!r} is no answer to that")


def bring_version_back(holds: Memory, other: Memory, now: float) -> Revise:
    """The revision after which a memory says what its other version did."""
    fields: Mapping[str, object] = {
        name: getattr(other, name)
        for name in VERSION_FIELDS
        if getattr(other, name) != getattr(holds, name)
    }
    return Revise(holds.id, {**fields, "updated_at": now})
