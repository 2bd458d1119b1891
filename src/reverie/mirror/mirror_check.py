"""The mirror checked against the store, and memories erased from it for good."""

from __future__ import annotations

from pathlib import Path

from reverie.core.model import Filter
from reverie.mirror.mirror_folder import Folder, Trouble
from reverie.mirror.page_rendering import differences, without
from reverie.mirror.space_sync import EVERY, Order, by_page, synced
from reverie.pipeline.event_reader import Work
from reverie.storage import Problem

WHAT = "mirror"


def checked(work: Work, folder: Folder, repair: bool) -> list[Problem]:
    """What is wrong with a space's pages. What only waits to be taken in or written, or for an
    answer, is not wrong.
    """
    wrong = [Problem(WHAT, why) for why in folder.state().troubles.values()] + out_of_step(
        work, folder
    )
    if not wrong or not repair:
        return wrong
    left = set(synced(work, folder, Order(afresh=True, retry=True)).troubles)
    return [problem._replace(repaired=problem.message not in left) for problem in wrong]


def out_of_step(work: Work, folder: Folder) -> list[Problem]:
    """Pages that do not say what the store says, although neither was altered since they were
    written.
    """
    state = folder.state()
    if state.seq < 0 or work.store.altered_after(state.seq):
        return []
    lines = by_page(folder.space, work.store.browse(Filter(spaces=(folder.space,), limit=EVERY)))
    looks, found = folder.looks(state.looks), []
    for name in sorted({*state.looks, *lines} - state.held):
        if looks.get(name) != state.looks.get(name):
            continue
        try:
            wrong = differences(folder.read(name).page, lines.get(name, {}))
        except Trouble as trouble:
            found.append(Problem(WHAT, str(trouble)))
            continue
        if wrong:
            id, how = min(wrong.items())
            found.append(
                Problem(
                    WHAT,
                    f"{folder.path / name} is out of step with the store in {len(wrong):,} lines: "
                    f"{id} {how}",
                )
            )
    return found


def rid(folder: Folder, ids: set[str], texts: set[str]) -> list[Path]:
    """Take memories out of every page and copy of a space. Returns the files that may still hold
    them.
    """
    unreached, state = [], folder.state()
    looks = dict(state.looks)
    for name in state.looks:
        try:
            folder.keep_copy(name, folder.copy(name).without(ids))
            found = folder.read(name)
            clean = without(found.page, ids, texts)
            if found.data is not None and clean.text != found.page.text:
                if (look := folder.write(found, clean)) is None:
                    unreached.append(folder.path / name)
                elif state.looks[name] == found.look:
                    looks[name] = look  # nothing else waits on it
        except (Trouble, OSError):
            unreached.append(folder.path / name)
    for half in folder.halves(state.looks):
        half.unlink(missing_ok=True)
    try:
        folder.keep_state(state._replace(looks=looks))
    except (Trouble, OSError):
        unreached.append(folder.hidden)
    return unreached
