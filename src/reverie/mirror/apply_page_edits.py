"""Edits of mirror pages as changes of memories: an edited line revises its memory, a deleted one
forgets it, a new one is remembered, a moved one changes its kind.

A person's edits are their word, `user_stated`; what a tool wrote (`tool_page_edits`) is of the
source that it has. Changes rest on the memories as they are read here; whoever applies them checks
whether that still holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from reverie.core import clock
from reverie.core.authorship import AUTHOR, apply_curate_setting, protect_revision
from reverie.core.errors import BadInput
from reverie.core.kinds import is_conversation_turn, kind_of
from reverie.core.model import (
    TRUST_BY_PROVENANCE,
    Add,
    Change,
    Fields,
    Memory,
    Retire,
    Revise,
    index_memories,
    with_fields,
)
from reverie.memory.memory_validation import build_memory, build_revision, equip_for_kind
from reverie.mirror.page_placement import (
    SAID,
    PageLine,
    default_heading,
    kind_for_heading,
    parse_page_day,
    place_memory,
    resolve_line_time,
    to_calendar_time,
)
from reverie.mirror.three_way_merge import (
    NewLine,
    PageLines,
    PageMerge,
    RewordedLine,
    is_clash,
    list_differing_fields,
)
from reverie.pipeline.event_reader import WorkContext
from reverie.reconciliation.memory_restore import plan_restore
from reverie.storage import Store

USER_STATED = "user_stated"
# The fields of a memory that a person's line becomes.
PERSON_SOURCE: Fields = {"provenance": USER_STATED}
# when something was, on a day of which no time is told
NOON = "12:00"


# A line on a page: the page, and the number of its block.
Spot = tuple[str, int]


@dataclass(slots=True)
class PageEdits:
    """The changes and the refusals that follow from edited pages."""

    changes: list[Change] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)  # of the memories that the person touched
    new_ids: dict[Spot, str] = field(default_factory=dict)  # the memory that a line is about now
    revised: int = 0
    forgotten: int = 0
    revived: int = 0
    clashes: list[str] = field(default_factory=list)  # ids that the program had altered meanwhile
    settled_pairs: list[tuple[str, ...]] = field(default_factory=list)
    refused: dict[Spot, str] = field(default_factory=dict)  # why a line could not be taken in
    prose: set[Spot] = field(default_factory=set)  # about no memory of this space


def decide_page_edits(
    work: WorkContext,
    space: str,
    pages: Sequence[tuple[PageMerge, PageLines]],
    source: Fields = PERSON_SOURCE,
) -> PageEdits:
    """The changes that these edits, each page with the store's lines for it, come to.

    `source` are fields of what is new: whose word it is, at least.
    """
    ids = {edit.id for merged, _ in pages for edit in merged.reworded}
    memories = index_memories(work.store.get(sorted(ids)))
    editor = PageEditor(work, space, source)
    for merged, ours in pages:
        for edit in merged.reworded:
            editor.reword(merged, edit, memories.get(edit.id), ours)
        for fresh in merged.fresh:
            editor.remember(merged.page.name, fresh)
    forget_dropped(editor.edits, pages, work.now)
    return editor.edits


def forget_dropped(
    edits: PageEdits,
    pages: Sequence[tuple[PageMerge, PageLines]],
    now: float,
) -> None:
    """Add the deletions of all pages to the edits, each memory once."""
    dropped = dict.fromkeys(id for merged, _ in pages for id in merged.dropped)
    edits.changes += [Retire(id=id, at=now) for id in dropped]
    edits.ids += dropped
    edits.forgotten = len(dropped)
    # A deletion holds although the program had altered the line; the new version is in history.
    for merged, ours in pages:
        edits.clashes += [id for id in merged.dropped if ours[id] != merged.base.get(id, ours[id])]


class PageEditor:
    """Decides, line by line, what edits of pages of one space come to."""

    def __init__(
        self,
        work: WorkContext,
        space: str,
        source: Fields,
    ) -> None:
        """`source` are fields of what is new."""
        self.work, self.space, self.source = work, space, source
        self.edits = PageEdits()

    def reword(
        self,
        merged: PageMerge,
        edit: RewordedLine,
        memory: Memory | None,
        ours: PageLines,
    ) -> None:
        """An item with an id.

        With an id of no memory, or of another space that was never on this page, it is a new line
        under a heading of ours, else prose. A retired memory is restored first.
        """
        page = merged.page.name
        block = merged.page.find_item(edit.id)
        if memory is None or (memory.space != self.space and edit.base is None):
            self.adopt_line(page, NewLine(block, edit.line))
            return
        # Loaded before it was reworded: the old wording stands there, and is no edit.
        is_old = merged.base_unknown and edit.line.text in list_past_texts(
            self.work.store, [memory]
        )
        if is_old:
            return
        restored, changes, pairs = self.restore_memory(memory)
        try:
            changes += self.revise_line(page, restored, edit)
        except BadInput as err:
            self.refuse(page, block, err)
            return
        if not changes:
            return
        edits = self.edits
        edits.changes += changes
        edits.ids.append(memory.id)
        edits.revised += 1
        edits.revived += not memory.active
        edits.settled_pairs += [tuple(pair) for pair in pairs]
        if is_clash(edit, ours.get(edit.id)):
            edits.clashes.append(memory.id)

    def adopt_line(self, page: str, fresh: NewLine) -> None:
        """A line whose id is of no memory here: a new one under a heading of ours, else prose."""
        if fresh.line.heading:
            self.remember(page, fresh)
        else:
            self.edits.prose.add((page, fresh.block))

    def restore_memory(
        self,
        memory: Memory,
    ) -> tuple[Memory, list[Change], list[list[str]]]:
        """The memory as it is once it is active, the changes that make it so, and the pairs that
        this settles.
        """
        if memory.active:
            return memory, [], []
        changes, pairs = plan_restore(self.work.store, memory, self.work.now)
        first = changes[0]
        # A line is compared with the memory as it will be, not as it was put away.
        restored = with_fields(memory, first.fields) if isinstance(first, Revise) else memory
        return restored, changes, pairs

    def revise_line(
        self,
        page: str,
        memory: Memory,
        edit: RewordedLine,
    ) -> list[Change]:
        """The change that an edited line asks for, if any. Raises BadInput."""
        fields = diff_fields(memory, page, edit)
        if not fields:
            return []
        if self.source["provenance"] == USER_STATED:
            return [revise_as_user(self.work, memory, fields)]
        return [revise_as_tool(self.work, memory, fields, self.source)]

    def remember(self, page: str, fresh: NewLine) -> None:
        """A new line."""
        try:
            memory = build_line_memory(self.work, self.space, page, fresh.line, self.source)
        except BadInput as err:
            self.refuse(page, fresh.block, err)
            return
        self.edits.changes.append(Add(memory))
        self.edits.ids.append(memory.id)
        self.edits.new_ids[page, fresh.block] = memory.id

    def refuse(
        self,
        page: str,
        block: int,
        err: BadInput,
    ) -> None:
        """A line that cannot be taken in: it stays as it is until somebody alters it."""
        self.edits.refused[page, block] = (
            "A line cannot be taken in and stays as it is, and what was remembered stays too: "
            f"{err}"
        )


def list_past_texts(store: Store, memories: Iterable[Memory]) -> set[str]:
    """Every text that these memories ever had."""
    found = set()
    for memory in memories:
        found.add(memory.text)
        for record in store.history(memory.id):
            texts = (record.before.get("text"), record.after.get("text"))
            found.update(str(text) for text in texts if text)
    return found


def diff_fields(
    memory: Memory,
    page: str,
    edit: RewordedLine,
) -> dict[str, object]:
    """The fields that a line asks to alter: where it differs from what was written there."""
    place = place_memory(memory)
    line = edit.line
    old = edit.base or (place.line if place else PageLine(""))
    touched = set(list_differing_fields(old, line))
    has_moved_page = place is None or place.page != page
    has_moved = has_moved_page or "heading" in touched
    fields: dict[str, object] = {}
    if "text" in touched and line.text != memory.text:
        fields["text"] = line.text
    if has_moved and line.heading:
        is_elsewhere = place is None or place.line.heading != line.heading
        kind = kind_for_heading(line.heading)
        if is_elsewhere and kind_of(memory.kind).group != kind_of(kind).group:
            fields["kind"] = kind
        if line.heading != SAID and is_conversation_turn(memory):
            # It is no longer what somebody happened to say.
            fields["provenance"] = USER_STATED
    at = resolve_line_time(page, line.time if "time" in touched else "", memory.at)
    may_move = has_moved_page or "time" in touched
    if may_move and at != memory.at and parse_page_day(page):
        fields["at"] = at
    return fields


def revise_as_user(
    work: WorkContext,
    memory: Memory,
    fields: Mapping[str, object],
) -> Revise:
    """The revision as the user's statement; what they had corrected before stays a correction."""
    # A line that was only moved is no statement of what it says.
    if "text" not in fields:
        return build_revision(memory, work.now, fields, work.zone, work.policy)
    # A correction stays one: it is believed more than a statement.
    source = max(USER_STATED, memory.provenance, key=TRUST_BY_PROVENANCE.__getitem__)
    wanted = {**fields, "provenance": source}
    change = build_revision(memory, work.now, wanted, work.zone, work.policy)
    confidence = max(memory.confidence, TRUST_BY_PROVENANCE[source])
    return change._replace(fields={**change.fields, "confidence": confidence})


def revise_as_tool(
    work: WorkContext,
    memory: Memory,
    fields: Mapping[str, object],
    source: Fields,
) -> Revise:
    """The revision that a tool asks for; the memory keeps its provenance."""
    wanted = {name: value for name, value in fields.items() if name != "provenance"}
    details = source.get("details", {})
    if AUTHOR in details:
        wanted["details"] = {**memory.details, **details}
    protected = protect_revision(wanted, memory, work.settings.curate)
    return build_revision(memory, work.now, protected, work.zone, work.policy)


def build_line_memory(
    work: WorkContext,
    space: str,
    page: str,
    line: PageLine,
    source: Fields,
) -> Memory:
    """The memory that a new line becomes, of its heading's kind. Raises BadInput."""
    # What is written to today's page happened just now.
    is_today = parse_page_day(page) == to_calendar_time(work.now).date()
    time = line.time or ("" if is_today else NOON)
    memory = build_memory(
        clock.new_id(),
        work.now,
        line.text,
        space=space,
        at=resolve_line_time(page, time, work.now),
        policy=work.policy,
        **{"kind": kind_for_heading(line.heading or default_heading(page)), **source},
    )
    return apply_curate_setting(equip_for_kind(memory, work.now, work.zone), work.settings.curate)
