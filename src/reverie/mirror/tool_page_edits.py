"""A tool writes to a page of the mirror. The memories are what counts, and the page follows them as
it always does.

What is appended is remembered, a memory for each bullet and paragraph, and the mirror puts it under
its heading. A page that is replaced is compared with what stood there, as a person's edit is: what
is new is remembered, what is gone is forgotten, what carries an id and says something else is
revised. Its layout and its prose are kept. All of it is one event, `file`, which names the bytes
that the page had.

A line is never taken for a person's: it gets its id before the mirror reads it. After a crash
between the event and the page the memories are as they were told, and only the layout is the old
one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.model import NOTHING, Add, Change, Event, Filter, Memory, Retire, Revise
from reverie.mirror.apply_page_edits import PERSON, Obeyed, new, obeyed
from reverie.mirror.mirror_folder import Folder, Found, Trouble
from reverie.mirror.mirror_sync import alone
from reverie.mirror.page_blocks import Page, claimed, parse
from reverie.mirror.page_placement import Line
from reverie.mirror.page_rendering import woven
from reverie.mirror.page_rewrite import heading_over, itemised, prose_of
from reverie.mirror.space_sync import EVERY, by_page, decided
from reverie.mirror.three_way_merge import merge
from reverie.notes import file_versions
from reverie.pipeline.event_reader import Work


class Update(NamedTuple):
    """What somebody wants of a page."""

    name: str
    text: str
    mode: str  # "append", "replace"; "restore": a page as it was, prose and all
    source: Mapping[str, Any] = PERSON  # fields of what is new: whose word it is, at least


class Updated(NamedTuple):
    """What came of it."""

    version: int  # of the event: `undo` and `restore_file` take it
    memories: tuple[Memory, ...] = ()  # that are new
    revised: int = 0
    forgotten: int = 0


def updated(work: Work, folder: Folder, update: Update, now: Callable[[], float]) -> Updated:
    """Write to a page. BadInput, and nothing is done, where it is left alone or a line cannot be
    kept.
    """
    with alone(work.store, now):
        try:
            found = folder.read(update.name)
        except Trouble as err:
            raise BadInput(f"{err}. Nothing was changed") from err
        if update.mode == "append":
            return appended(work, folder, update, found)
        if update.mode == "replace":
            # It refuses what would lose a secret of the page.
            file_versions.altered(found.data, update.text, update.mode, work.policy)
        return replaced(work, folder, update, found)


def appended(work: Work, folder: Folder, update: Update, found: Found) -> Updated:
    """Remember what is appended and does not stand there yet."""
    page = itemised(update.text, update.name)
    merged = merge(NOTHING, page, lines_of(work, folder.space, update.name))
    memories = tuple(
        new(work, folder.space, update.name, one.line, titled(page, one.block, update.source))
        for one in merged.fresh
    )
    return Updated(
        applied(work, folder, update, found, [Add(memory) for memory in memories]), memories
    )


def titled(page: Page, number: int, source: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields of a new line; somebody's own heading is its title."""
    over = heading_over(page, number)
    return {"title": over, **source} if over else source


def replaced(work: Work, folder: Folder, update: Update, found: Found) -> Updated:
    """Put a page in the place of what stands there."""
    name = update.name
    page = (
        parse(update.text, name)
        if update.mode == "restore"
        else itemised(update.text, name, prose_of(found.page))
    )
    with work.store.alone():
        ours = lines_of(work, folder.space, name)
        merged = merge(ours, page, ours)
        edits = obeyed(work, folder.space, [(merged, ours)], update.source)
        if edits.refused:
            raise BadInput(f"{' '.join(why for _, why in edits.refused)} Nothing was changed")
        seq = applied(work, folder, update, found, edits.changes)
    written(work, folder, found, with_ids(merged.page, edits))
    return Updated(
        seq,
        tuple(one.memory for one in edits.changes if isinstance(one, Add)),
        len({one.id for one in edits.changes if isinstance(one, Revise)}),
        sum(isinstance(one, Retire) for one in edits.changes),
    )


def with_ids(page: Page, edits: Obeyed) -> Page:
    """The page with what was made of its items."""
    return page._replace(
        blocks=tuple(
            decided(block, (page.name, number), edits) for number, block in enumerate(page.blocks)
        )
    )


def written(work: Work, folder: Folder, found: Found, page: Page) -> None:
    """Write the page as the store has it now. What somebody altered meanwhile stays for the mirror
    to take in.
    """
    ours = lines_of(work, folder.space, page.name)
    ours_first = parse(f"{claimed(folder.space, page.name)}\n", page.name).blocks
    whole = page if page.mark else page._replace(blocks=(*ours_first, *page.blocks))
    try:
        folder.keep_copy(page.name, folder.copy(page.name).then(ours))
        folder.write(found, woven(whole, folder.space, ours))
    except (Trouble, OSError) as err:
        raise BadInput(f"What you wrote is remembered, but the page is as it was: {err}") from err


def applied(
    work: Work, folder: Folder, update: Update, found: Found, changes: Sequence[Change]
) -> int:
    """The event, with the bytes that the page had."""
    before = (
        file_versions.ABSENT
        if found.data is None
        else file_versions.keep(work.settings.home, found.data)
    )
    payload = {
        "path": str(page_of(folder, update.name)),
        "mode": update.mode,
        "before": before,
        "size": len(found.data or b""),
    }
    return work.store.apply(
        changes, Event(file_versions.VERB, folder.space, work.now, payload=payload)
    )


def page_of(folder: Folder, name: str) -> Path:
    """Where a page is, links resolved: so files are named."""
    return folder.path.resolve() / name


def lines_of(work: Work, space: str, name: str) -> dict[str, Line]:
    """What the store says on a page."""
    return by_page(space, work.store.browse(Filter(spaces=(space,), limit=EVERY))).get(name, {})
