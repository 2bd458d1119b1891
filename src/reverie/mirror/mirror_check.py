"""The mirror checked against the store, and memories erased from it for good."""

from __future__ import annotations

from pathlib import Path

from reverie.core.model import Filter
from reverie.mirror.mirror_folder import MirrorFolder, PageTrouble
from reverie.mirror.page_rendering import diff_page, remove_memories
from reverie.mirror.space_sync import ALL_MEMORIES, SyncRequest, group_lines_by_page, sync_space
from reverie.pipeline.event_reader import WorkContext
from reverie.storage import Problem

PROBLEM_AREA = "mirror"


def check_space_pages(work: WorkContext, folder: MirrorFolder, repair: bool) -> list[Problem]:
    """What is wrong with a space's pages; `repair` brings them in step.

    What only waits to be taken in or written, or for an answer, is not wrong.
    """
    wrong = [Problem(PROBLEM_AREA, why) for why in folder.state().troubles.values()]
    wrong += find_stale_pages(work, folder)
    if not wrong or not repair:
        return wrong
    left = set(sync_space(work, folder, SyncRequest(afresh=True, retry=True)).troubles)
    return [problem._replace(repaired=problem.message not in left) for problem in wrong]


def find_stale_pages(work: WorkContext, folder: MirrorFolder) -> list[Problem]:
    """Pages that differ from the store although neither was altered since they were written."""
    state = folder.state()
    if state.seq < 0 or work.store.changes_after(state.seq):
        return []
    memories = work.store.browse(Filter(spaces=(folder.space,), limit=ALL_MEMORIES))
    lines = group_lines_by_page(folder.space, memories)
    looks, found = folder.looks(state.looks), []
    for name in sorted({*state.looks, *lines} - state.held):
        if looks.get(name) != state.looks.get(name):
            continue
        try:
            wrong = diff_page(folder.read(name).page, lines.get(name, {}))
        except PageTrouble as trouble:
            found.append(Problem(PROBLEM_AREA, str(trouble)))
            continue
        if wrong:
            id, how = min(wrong.items())
            message = (
                f"{folder.path / name} is out of step with the store in {len(wrong):,} lines: "
                f"{id} {how}"
            )
            found.append(Problem(PROBLEM_AREA, message))
    return found


def erase_from_pages(folder: MirrorFolder, ids: set[str], texts: set[str]) -> list[Path]:
    """Take memories out of every page and copy of a space.

    Returns the files that may still hold them.
    """
    unreached, state = [], folder.state()
    looks = dict(state.looks)
    for name in state.looks:
        try:
            folder.keep_copy(name, folder.copy(name).without_memories(ids))
            found = folder.read(name)
            clean = remove_memories(found.page, ids, texts)
            if found.data is None or clean.text == found.page.text:
                continue
            look = folder.write(found, clean)
            if look is None:
                unreached.append(folder.path / name)
            elif state.looks[name] == found.look:
                # Nobody has edited it: the page is not to be taken for an edited one.
                looks[name] = look
        except (PageTrouble, OSError):
            unreached.append(folder.path / name)
    for half in folder.temporary_files(state.looks):
        half.unlink(missing_ok=True)
    try:
        folder.keep_state(state._replace(looks=looks))
    except (PageTrouble, OSError):
        unreached.append(folder.hidden)
    return unreached
