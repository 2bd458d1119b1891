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
from reverie.core.authorship import AUTHOR, rewritten_by, under
from reverie.core.errors import BadInput
from reverie.core.kinds import is_talk, kind_of
from reverie.core.model import TRUST, Add, Change, Memory, Retire, Revise, revised
from reverie.memory.memory_validation import built, equipped, rewritten
from reverie.mirror.page_blocks import Item
from reverie.mirror.page_placement import (
    SAID,
    Line,
    at_of,
    day_of,
    kind_under,
    moment,
    place,
    usual,
)
from reverie.mirror.three_way_merge import Fresh, Lines, Merged, Reword, clashes, differing
from reverie.pipeline.event_reader import Work
from reverie.reconciliation.memory_restore import restoring
from reverie.storage import Store

SAID_SO = "user_stated"
# the fields of a memory that a person's line becomes
PERSON: Mapping[str, Any] = {"provenance": SAID_SO}
NOON = "12:00"  # when something was, on a day of which no time is told


class Obeyed(NamedTuple):
    """What the edits of one page, or of several, come to."""

    changes: tuple[Change, ...] = ()
    ids: tuple[str, ...] = ()  # of the memories that the person touched
    # (page, block) → the new memory that its line is about now
    fresh: Mapping[tuple[str, int], str] = {}
    revised: int = 0
    forgotten: int = 0
    revived: int = 0
    clashes: tuple[str, ...] = ()  # ids that the program had altered meanwhile
    settled: tuple[tuple[str, ...], ...] = ()
    refused: tuple[tuple[str, str], ...] = ()  # (page, why a line could not be taken in)
    held: frozenset[tuple[str, int]] = frozenset()  # (page, block) of these lines
    # (page, block) that are about no memory of this space
    prose: frozenset[tuple[str, int]] = frozenset()


def obeyed(
    work: Work,
    space: str,
    pages: Sequence[tuple[Merged, Lines]],
    source: Mapping[str, Any] = PERSON,
) -> Obeyed:
    """The changes that these edits, each page with the store's lines for it, come to.

    `source` are fields of what is new: whose word it is, at least.
    """
    wanted = {wish.id for merged, _ in pages for wish in merged.reworded}
    there = {memory.id: memory for memory in work.store.get(sorted(wanted))}
    done = []
    for merged, ours in pages:
        done += [
            one(work, space, merged, wish, there.get(wish.id), ours, source)
            for wish in merged.reworded
        ]
        done += [kept(work, space, merged.page.name, fresh, source) for fresh in merged.fresh]
    dropped = tuple(dict.fromkeys(id for merged, _ in pages for id in merged.dropped))
    return together(
        [
            *done,
            Obeyed(
                tuple(Retire(id=id, at=work.now) for id in dropped),
                dropped,
                forgotten=len(dropped),
                clashes=tuple(altered_meanwhile(pages)),
            ),
        ]
    )


def together(some: Sequence[Obeyed]) -> Obeyed:
    """All of them as one."""
    return Obeyed(
        tuple(chain.from_iterable(one.changes for one in some)),
        tuple(chain.from_iterable(one.ids for one in some)),
        {key: id for one in some for key, id in one.fresh.items()},
        sum(one.revised for one in some),
        sum(one.forgotten for one in some),
        sum(one.revived for one in some),
        tuple(chain.from_iterable(one.clashes for one in some)),
        tuple(chain.from_iterable(one.settled for one in some)),
        tuple(chain.from_iterable(one.refused for one in some)),
        frozenset(chain.from_iterable(one.held for one in some)),
        frozenset(chain.from_iterable(one.prose for one in some)),
    )


def altered_meanwhile(pages: Iterable[tuple[Merged, Lines]]) -> list[str]:
    """Lines that the person deleted and the program had altered: the deletion holds, the new
    version is in history.
    """
    return [
        id
        for merged, ours in pages
        for id in merged.dropped
        if ours[id] != merged.base.get(id, ours[id])
    ]


def one(
    work: Work,
    space: str,
    merged: Merged,
    wish: Reword,
    memory: Memory | None,
    ours: Lines,
    source: Mapping[str, Any],
) -> Obeyed:
    """An item with an id. One of nobody, or of another space that was never on this page, is a new
    line, or prose.
    """
    page = merged.page.name
    block = next(
        n
        for n, item in enumerate(merged.page.blocks)
        if isinstance(item, Item) and item.id == wish.id
    )
    if memory is None or (memory.space != space and wish.base is None):
        return (
            kept(work, space, page, Fresh(block, wish.line), source)
            if wish.line.heading
            else Obeyed(prose=frozenset({(page, block)}))
        )
    if merged.old and wish.line.text in ever_said(work.store, [memory]):
        return Obeyed()  # it stands there from before
    changes, settled = ([], []) if memory.active else restoring(work.store, memory, work.now)
    back = (
        memory
        if memory.active
        else revised(memory, changes[0].fields)
        if isinstance(changes[0], Revise)
        else memory
    )
    try:
        fields = wanted(back, page, wish)
        if fields:
            changes = [
                *changes,
                stated(work, back, fields)
                if source["provenance"] == SAID_SO
                else corrected(work, back, fields, source),
            ]
    except BadInput as err:
        return refusal(page, block, err)
    if not changes:
        return Obeyed()
    return Obeyed(
        tuple(changes),
        (memory.id,),
        revised=1,
        revived=0 if memory.active else 1,
        clashes=(memory.id,) if clashes(wish, ours.get(wish.id)) else (),
        settled=tuple(tuple(pair) for pair in settled),
    )


def refusal(page: str, block: int, err: BadInput) -> Obeyed:
    """An item that cannot be taken in stands as it is, until somebody alters it, and it is told
    why.
    """
    return Obeyed(
        refused=(
            (
                page,
                f"A line cannot be taken in and stays as it is, and what was remembered stays too: "
                f"{err}",
            ),
        ),
        held=frozenset({(page, block)}),
    )


def ever_said(store: Store, memories: Iterable[Memory]) -> set[str]:
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


def wanted(memory: Memory, page: str, wish: Reword) -> dict[str, object]:
    """The fields that a line asks for: those that it says otherwise than what was written, or than
    the memory.
    """
    there = place(memory)
    old = wish.base or (there.line if there else Line(""))
    touched = set(differing(old, wish.line))
    fields: dict[str, object] = {}
    if "text" in touched and wish.line.text != memory.text:
        fields["text"] = wish.line.text
    moved = there is None or there.page != page
    if (
        wish.line.heading
        and ("heading" in touched or moved)
        and (there is None or there.line.heading != wish.line.heading)
    ):
        group = kind_of(kind_under(wish.line.heading)).group
        if kind_of(memory.kind).group != group:
            fields["kind"] = kind_under(wish.line.heading)
    if is_talk(memory) and wish.line.heading not in ("", SAID) and ("heading" in touched or moved):
        fields["provenance"] = SAID_SO  # it is no longer what somebody happened to say
    at = at_of(page, wish.line.time if "time" in touched else "", memory.at)
    if day_of(page) and (moved or "time" in touched) and at != memory.at:
        fields["at"] = at
    return fields


def stated(work: Work, memory: Memory, fields: Mapping[str, object]) -> Revise:
    """The memory as the user states it; what they had corrected before stays their correction."""
    if "text" not in fields:
        return rewritten(memory, work.now, fields, work.zone, work.policy)
    source = memory.provenance if TRUST[memory.provenance] > TRUST[SAID_SO] else SAID_SO
    change = rewritten(memory, work.now, {**fields, "provenance": source}, work.zone, work.policy)
    return change._replace(
        fields={**change.fields, "confidence": max(memory.confidence, TRUST[source])}
    )


def corrected(
    work: Work, memory: Memory, fields: Mapping[str, object], source: Mapping[str, Any]
) -> Revise:
    """The memory as a tool wants it: whose word it was, it stays."""
    plain = {name: value for name, value in fields.items() if name != "provenance"}
    anew = (
        {"details": {**memory.details, **source.get("details", {})}}
        if AUTHOR in source.get("details", {})
        else {}
    )
    return rewritten(
        memory,
        work.now,
        rewritten_by({**plain, **anew}, memory, work.settings.curate),
        work.zone,
        work.policy,
    )


def new(work: Work, space: str, page: str, line: Line, source: Mapping[str, Any]) -> Memory:
    """What a line of nobody yet becomes: what its heading says. Raises BadInput for what cannot be
    kept.
    """
    told = line.time or ("" if day_of(page) == moment(work.now).date() else NOON)
    plain = built(
        clock.new_id(),
        work.now,
        line.text,
        space=space,
        at=at_of(page, told, work.now),
        policy=work.policy,
        **{"kind": kind_under(line.heading or usual(page)), **source},
    )
    return under(equipped(plain, work.now, work.zone), work.settings.curate)


def kept(work: Work, space: str, page: str, fresh: Fresh, source: Mapping[str, Any]) -> Obeyed:
    """A new line, remembered."""
    try:
        memory = new(work, space, page, fresh.line, source)
    except BadInput as err:
        return refusal(page, fresh.block, err)
    return Obeyed((Add(memory),), (memory.id,), {(page, fresh.block): memory.id})
