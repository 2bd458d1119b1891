"""What somebody did to pages of the mirror becomes changes: an edited line revises its memory, a
deleted one forgets

it, a new one is remembered, a moved one changes its kind. A person's edits are their word,
`user_stated`; what a tool wrote (`updating`) is of the source that it has.

Changes rest on the memories as they are read here; whoever applies them looks whether that still
holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from reverie.core import clock
from reverie.core.authorship import AUTHOR, apply_curate_setting, protect_revision
from reverie.core.errors import BadInput
from reverie.core.kinds import is_conversation_turn, kind_of
from reverie.core.model import TRUST_BY_PROVENANCE, Add, Change, Memory, Retire, Revise, with_fields
from reverie.memory.memory_validation import build_memory, build_revision, equip_for_kind
from reverie.mirror.page_blocks import PageItem
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
# the fields of a memory that a person's line becomes
PERSON_SOURCE: Mapping[str, Any] = {"provenance": USER_STATED}
NOON = "12:00"  # when something was, on a day of which no time is told


class PageEdits(NamedTuple):
    """What the edits of one page, or of several, come to."""

    changes: tuple[Change, ...] = ()
    ids: tuple[str, ...] = ()  # of the memories that the person touched
    # (page, block) → the new memory that its line is about now
    new_ids: Mapping[tuple[str, int], str] = {}
    revised: int = 0
    forgotten: int = 0
    revived: int = 0
    clashes: tuple[str, ...] = ()  # ids that the program had altered meanwhile
    settled_pairs: tuple[tuple[str, ...], ...] = ()
    refused: tuple[tuple[str, str], ...] = ()  # (page, why a line could not be taken in)
    refused_items: frozenset[tuple[str, int]] = frozenset()  # (page, block) of these lines
    # (page, block) that are about no memory of this space
    prose_items: frozenset[tuple[str, int]] = frozenset()


def decide_page_edits(
    work: WorkContext,
    space: str,
    pages: Sequence[tuple[PageMerge, PageLines]],
    source: Mapping[str, Any] = PERSON_SOURCE,
) -> PageEdits:
    """The changes that these edits, each page with the store's lines for it, come to.

    `source` are fields of what is new: whose word it is, at least.
    """
    wanted = {wish.id for merged, _ in pages for wish in merged.reworded}
    there = {memory.id: memory for memory in work.store.get(sorted(wanted))}
    done = []
    for merged, ours in pages:
        done += [
            decide_item(work, space, merged, wish, there.get(wish.id), ours, source)
            for wish in merged.reworded
        ]
        done += [
            remember_line(work, space, merged.page.name, fresh, source) for fresh in merged.fresh
        ]
    dropped = tuple(dict.fromkeys(id for merged, _ in pages for id in merged.dropped))
    return merge_page_edits(
        [
            *done,
            PageEdits(
                tuple(Retire(id=id, at=work.now) for id in dropped),
                dropped,
                forgotten=len(dropped),
                clashes=tuple(list_deletion_clashes(pages)),
            ),
        ]
    )


def merge_page_edits(some: Sequence[PageEdits]) -> PageEdits:
    """All of them as one."""
    return PageEdits(
        tuple(chain.from_iterable(one.changes for one in some)),
        tuple(chain.from_iterable(one.ids for one in some)),
        {key: id for one in some for key, id in one.new_ids.items()},
        sum(one.revised for one in some),
        sum(one.forgotten for one in some),
        sum(one.revived for one in some),
        tuple(chain.from_iterable(one.clashes for one in some)),
        tuple(chain.from_iterable(one.settled_pairs for one in some)),
        tuple(chain.from_iterable(one.refused for one in some)),
        frozenset(chain.from_iterable(one.refused_items for one in some)),
        frozenset(chain.from_iterable(one.prose_items for one in some)),
    )


def list_deletion_clashes(pages: Iterable[tuple[PageMerge, PageLines]]) -> list[str]:
    """Lines that the person deleted and the program had altered: the deletion holds, the new
    version is in history.
    """
    return [
        id
        for merged, ours in pages
        for id in merged.dropped
        if ours[id] != merged.base.get(id, ours[id])
    ]


def decide_item(
    work: WorkContext,
    space: str,
    merged: PageMerge,
    wish: RewordedLine,
    memory: Memory | None,
    ours: PageLines,
    source: Mapping[str, Any],
) -> PageEdits:
    """An item with an id. One of nobody, or of another space that was never on this page, is a new
    line, or prose.
    """
    page = merged.page.name
    block = next(
        n
        for n, item in enumerate(merged.page.blocks)
        if isinstance(item, PageItem) and item.id == wish.id
    )
    if memory is None or (memory.space != space and wish.base is None):
        return (
            remember_line(work, space, page, NewLine(block, wish.line), source)
            if wish.line.heading
            else PageEdits(prose_items=frozenset({(page, block)}))
        )
    if merged.base_unknown and wish.line.text in list_past_texts(work.store, [memory]):
        return PageEdits()  # it stands there from before
    changes, settled = ([], []) if memory.active else plan_restore(work.store, memory, work.now)
    back = (
        memory
        if memory.active
        else with_fields(memory, changes[0].fields)
        if isinstance(changes[0], Revise)
        else memory
    )
    try:
        fields = diff_fields(back, page, wish)
        if fields:
            changes = [
                *changes,
                revise_as_user(work, back, fields)
                if source["provenance"] == USER_STATED
                else revise_as_tool(work, back, fields, source),
            ]
    except BadInput as err:
        return refuse_item(page, block, err)
    if not changes:
        return PageEdits()
    return PageEdits(
        tuple(changes),
        (memory.id,),
        revised=1,
        revived=0 if memory.active else 1,
        clashes=(memory.id,) if is_clash(wish, ours.get(wish.id)) else (),
        settled_pairs=tuple(tuple(pair) for pair in settled),
    )


def refuse_item(page: str, block: int, err: BadInput) -> PageEdits:
    """An item that cannot be taken in stands as it is, until somebody alters it, and it is told
    why.
    """
    return PageEdits(
        refused=(
            (
                page,
                f"A line cannot be taken in and stays as it is, and what was remembered stays too: "
                f"{err}",
            ),
        ),
        refused_items=frozenset({(page, block)}),
    )


def list_past_texts(store: Store, memories: Iterable[Memory]) -> set[str]:
    """Every text that these memories ever had."""
    found = set()
    for memory in memories:
        found.add(memory.text)
        for record in store.history(memory.id):
            found.update(
                str(values["text"])
                for values in (record.before, record.after)
                if values.get("text")
            )
    return found


def diff_fields(memory: Memory, page: str, wish: RewordedLine) -> dict[str, object]:
    """The fields that a line asks for: those that it says otherwise than what was written, or than
    the memory.
    """
    there = place_memory(memory)
    old = wish.base or (there.line if there else PageLine(""))
    touched = set(list_differing_fields(old, wish.line))
    fields: dict[str, object] = {}
    if "text" in touched and wish.line.text != memory.text:
        fields["text"] = wish.line.text
    moved = there is None or there.page != page
    if (
        wish.line.heading
        and ("heading" in touched or moved)
        and (there is None or there.line.heading != wish.line.heading)
    ):
        group = kind_of(kind_for_heading(wish.line.heading)).group
        if kind_of(memory.kind).group != group:
            fields["kind"] = kind_for_heading(wish.line.heading)
    if (
        is_conversation_turn(memory)
        and wish.line.heading not in ("", SAID)
        and ("heading" in touched or moved)
    ):
        fields["provenance"] = USER_STATED  # it is no longer what somebody happened to say
    at = resolve_line_time(page, wish.line.time if "time" in touched else "", memory.at)
    if parse_page_day(page) and (moved or "time" in touched) and at != memory.at:
        fields["at"] = at
    return fields


def revise_as_user(work: WorkContext, memory: Memory, fields: Mapping[str, object]) -> Revise:
    """The memory as the user states it; what they had corrected before stays their correction."""
    if "text" not in fields:
        return build_revision(memory, work.now, fields, work.zone, work.policy)
    source = (
        memory.provenance
        if TRUST_BY_PROVENANCE[memory.provenance] > TRUST_BY_PROVENANCE[USER_STATED]
        else USER_STATED
    )
    change = build_revision(
        memory, work.now, {**fields, "provenance": source}, work.zone, work.policy
    )
    return change._replace(
        fields={**change.fields, "confidence": max(memory.confidence, TRUST_BY_PROVENANCE[source])}
    )


def revise_as_tool(
    work: WorkContext, memory: Memory, fields: Mapping[str, object], source: Mapping[str, Any]
) -> Revise:
    """The memory as a tool wants it: whose word it was, it stays."""
    plain = {name: value for name, value in fields.items() if name != "provenance"}
    anew = (
        {"details": {**memory.details, **source.get("details", {})}}
        if AUTHOR in source.get("details", {})
        else {}
    )
    return build_revision(
        memory,
        work.now,
        protect_revision({**plain, **anew}, memory, work.settings.curate),
        work.zone,
        work.policy,
    )


def build_line_memory(
    work: WorkContext, space: str, page: str, line: PageLine, source: Mapping[str, Any]
) -> Memory:
    """What a line of nobody yet becomes: what its heading says. Raises BadInput for what cannot be
    kept.
    """
    told = line.time or ("" if parse_page_day(page) == to_calendar_time(work.now).date() else NOON)
    plain = build_memory(
        clock.new_id(),
        work.now,
        line.text,
        space=space,
        at=resolve_line_time(page, told, work.now),
        policy=work.policy,
        **{"kind": kind_for_heading(line.heading or default_heading(page)), **source},
    )
    return apply_curate_setting(equip_for_kind(plain, work.now, work.zone), work.settings.curate)


def remember_line(
    work: WorkContext, space: str, page: str, fresh: NewLine, source: Mapping[str, Any]
) -> PageEdits:
    """A new line, remembered."""
    try:
        memory = build_line_memory(work, space, page, fresh.line, source)
    except BadInput as err:
        return refuse_item(page, fresh.block, err)
    return PageEdits((Add(memory),), (memory.id,), {(page, fresh.block): memory.id})
