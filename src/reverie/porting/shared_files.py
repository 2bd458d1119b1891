"""Files of memories that a team shares, kept in step with a space.

What is new on either side goes to the other. A file of lines (`mirror.shared_lines`) is compared to
what it said when it was last in step. What somebody altered, added or deleted there, such as by
`git pull`, is done here as one event, which `undo` takes back; their word holds (`shared_changes`).
What was altered here is written there, lines that say the same to the letter. Only what memories
say counts: who used one and when alters no file, for a file under version control is not to change
because somebody read it.

If so many lines are gone that it looks like an accident, nothing is forgotten and the lines are
written anew. A file in which a merge left its marks is left alone until somebody has solved it.
After a crash the next run comes to the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from reverie.core.atomic_file import mode_of
from reverie.core.errors import ReverieError
from reverie.core.model import Add, Event, Filter, Memory, Retire
from reverie.mirror import shared_lines
from reverie.mirror.file_exchange import FileLook, read_bytes_if_present, stat_look, swap_file
from reverie.mirror.mirror_sync import QUIET_SECONDS, list_record_spaces
from reverie.pipeline.event_reader import WorkContext
from reverie.pipeline.leases import hold_lease
from reverie.porting.shared_changes import LineTaker, TakenLines
from reverie.storage import Store

# meta: [[space, path], …]
SHARES_META = "shares"
# the last event that the files know of
CURSOR = "shares"
VERB = "shared"
# memories of a space
NO_LIMIT = 1_000_000_000
# times that it is done again because the file was altered meanwhile
MAX_ROUNDS = 5


class FileShare(NamedTuple):
    """A file that is kept in step with a space."""

    space: str
    path: str
    # the user vouches for who may write there
    trusted: bool = False

    @property
    def file(self) -> Path:
        """The file."""
        return Path(self.path)

    def same(self, other: FileShare) -> bool:
        """True if it is the same file of the same space."""
        return (self.space, self.path) == (other.space, other.path)


class ShareState(NamedTuple):
    """How a file stood when it was last in step."""

    look: FileLook = (0, 0, 0)
    said: Mapping[str, str] = {}  # what each record said, by its id


class ShareReport(NamedTuple):
    """What bringing a file in step did."""

    share: FileShare
    new: int = 0
    revised: int = 0
    forgotten: int = 0
    lines: int = 0  # of the file, afterwards
    written: bool = False
    event: int = 0  # what `undo` takes; 0 if nothing was taken in
    troubles: tuple[str, ...] = ()
    stuck: bool = False  # the file is left alone until somebody has done what `troubles` say


def load_shares(store: Store) -> list[FileShare]:
    """The files that are kept in step, by space and path."""
    return [FileShare(*one) for one in json.loads(store.meta(SHARES_META) or "[]")]


def start_share(store: Store, share: FileShare) -> None:
    """Keep a file in step from now on, trusted or not."""
    with store.transaction():
        others = [one for one in load_shares(store) if not one.same(share)]
        store.set_meta(SHARES_META, json.dumps(sorted([*others, share])))


def stop_share(store: Store, share: FileShare) -> bool:
    """Do not keep a file in step any longer; it stays. False if it was not kept so."""
    with store.transaction():
        known = load_shares(store)
        others = [one for one in known if not one.same(share)]
        store.set_meta(SHARES_META, json.dumps(others))
        store.set_meta(state_key(share), "")
    return others != known


def is_trusted_share(store: Store, share: FileShare) -> bool:
    """True if the user has said that this file is trusted."""
    return any(one.trusted for one in load_shares(store) if one.same(share))


def find_stuck_shares(store: Store) -> list[tuple[FileShare, str]]:
    """The files that should be in step and cannot be just now, each with why and what to do."""
    found = []
    for share in load_shares(store):
        why = explain_stuck_share(share)
        if why:
            found.append((share, why))
    return found


def explain_stuck_share(share: FileShare) -> str:
    """Why a file cannot be kept in step just now, and what to do; empty if it can."""
    end = f"end it: reverie data share {share.path} --stop --space {share.space}"
    try:
        data = read_bytes_if_present(share.file) or b""
    except OSError as err:
        why = f"{share.path} cannot be read: {err.strerror or err}"
        return f"{why}. Check who may read it, or {end}"
    if shared_lines.parse_shared_file(data).has_conflict:
        return explain_merge_marks(share, data)
    if not share.file.parent.is_dir():
        why = f"The folder of {share.path} is gone: the file is not written any more"
        return f"{why}. Make it again, or {end}"
    return ""


def explain_merge_marks(share: FileShare, data: bytes) -> str:
    """What to do about a file in which a merge left its marks."""
    text = data.decode("utf-8-sig", "replace")
    numbers = [
        str(number)
        for number, line in enumerate(text.split("\n"), start=1)
        if shared_lines.CONFLICT_MARK.match(line)
    ]
    return (
        f"{share.path} holds the marks of a merge (lines {', '.join(numbers)}): "
        "nothing was taken in or written. Delete these lines, keep the records of both sides, "
        f"then run: reverie data share {share.path} --space {share.space}. "
        f"`{share.file.name} merge=union` in .gitattributes lets git do it"
    )


def has_share_work(work: WorkContext) -> bool:
    """True if something has happened in the store since the files were last looked after."""
    if not load_shares(work.store):
        return False
    return bool(work.store.changes_after(work.store.cursor(CURSOR)))


def sync_shares(work: WorkContext) -> int:
    """Bring in step what is out of step; returns how many records were taken in."""
    known = load_shares(work.store)
    if not known:
        return 0
    # before the changes are read: what comes in meanwhile is left for the next time
    last = work.store.last_event()
    altered = work.store.changes_after(work.store.cursor(CURSOR))
    spaces = list_record_spaces(altered, work.store)
    due = [share for share in known if share.space in spaces or is_share_touched(work, share)]
    reports = [sync_share(work, share) for share in due]
    if altered:
        work.store.advance(CURSOR, last)
    return sum(one.new + one.revised + one.forgotten for one in reports)


def is_share_touched(work: WorkContext, share: FileShare) -> bool:
    """True if a file was altered since it was last in step, and nobody is just writing it."""
    look = stat_look(share.file)
    # Its look is enough; the file is read only if that is another one.
    if look == load_share_state(work.store, share).look:
        return False
    modified_at = look[0] / 1e9
    return abs(work.now - modified_at) >= QUIET_SECONDS


def sync_share(
    work: WorkContext,
    share: FileShare,
    *,
    writes: bool = True,
    takes: bool = True,
) -> ShareReport:
    """A file and its space brought in step, or only one of them with the other."""
    if work.settings.is_off(share.space):
        return ShareReport(share)
    done = ShareReport(share)
    busy = "another process brings this file in step. Nothing was changed: try again"
    try:
        with hold_lease(work.store, f"{VERB}:{share.path}", lambda: work.now, busy):
            for _ in range(MAX_ROUNDS):
                step, is_outdated = run_share_round(
                    work,
                    share,
                    writes=writes,
                    takes=takes,
                )
                done = step._replace(
                    new=done.new + step.new,
                    revised=done.revised + step.revised,
                    forgotten=done.forgotten + step.forgotten,
                    event=step.event or done.event,
                )
                if not is_outdated:
                    break
    except (ReverieError, OSError) as err:
        return done._replace(troubles=(*done.troubles, f"{share.path}: {err}"), stuck=True)
    return done


def run_share_round(
    work: WorkContext, share: FileShare, *, writes: bool, takes: bool
) -> tuple[ShareReport, bool]:
    """One round, and whether the file was altered meanwhile, so that another one is needed."""
    path = share.file
    state = load_share_state(work.store, share)
    data = read_bytes_if_present(path)
    page = shared_lines.parse_shared_file(data or b"")
    # One side or the other would be lost, whichever was taken.
    if page.has_conflict:
        trouble = explain_merge_marks(share, data or b"")
        report = ShareReport(share, lines=len(page.lines), troubles=(trouble,), stuck=True)
        return report, False
    with work.store.transaction():
        ours = load_shared_memories(work.store, share.space)
        taken = TakenLines()
        if takes:
            taken = LineTaker(work, share, ours, state.said).take(page, data is None)
        event = 0
        if taken.changes:
            cause = Event(VERB, share.space, work.now, payload={"path": share.path})
            event = work.store.apply(taken.changes, cause)
            ours = load_shared_memories(work.store, share.space)
    wanted = page
    if writes:
        zone = work.zone()
        told = [one for name, one in ours.items() if name not in taken.shy]
        records = [shared_lines.to_shared_record(memory, zone) for memory in told]
        wanted = shared_lines.merge_shared_file(page, records, taken.gone)
    content = wanted.text.encode()
    look: FileLook | None = stat_look(path)
    if content != page.text.encode() or (writes and data is None):
        # None if somebody altered the file since it was read
        # For whom the folder is: a team's is read by all who read the project.
        look = swap_file(path, content, data, mode_of(path.parent, 0o600) & 0o666)
    # Only after both directions do file and space say the same.
    if look is not None and writes and takes:
        save_share_state(work.store, share, agree_on_state(look, wanted, taken, state))
    is_written = wanted is not page and content != (data or b"")
    report = report_share_round(share, page, taken)._replace(
        lines=len(wanted.lines), written=is_written, event=event
    )
    return report, look is None


def agree_on_state(
    look: FileLook,
    page: shared_lines.SharedFile,
    taken: TakenLines,
    before: ShareState,
) -> ShareState:
    """How a file stands now; of lines that stay as they are, what they said before counts."""
    said = {id: before.said[id] for id in taken.shy if id in before.said}
    for id, record in page.records.items():
        if id not in taken.shy:
            said[id] = shared_lines.digest_record(record)
    return ShareState(look, said)


def report_share_round(
    share: FileShare,
    page: shared_lines.SharedFile,
    taken: TakenLines,
) -> ShareReport:
    """What was taken in, and what could not be."""
    new = sum(isinstance(one, Add) for one in taken.changes)
    forgotten = sum(isinstance(one, Retire) for one in taken.changes)
    broken = [
        f"{share.file}, line {number}: {why}. It is kept as it is" for number, why in page.broken
    ]
    return ShareReport(
        share,
        new=new,
        revised=len(taken.changes) - new - forgotten,
        forgotten=forgotten,
        troubles=(*broken, *taken.troubles),
    )


def load_shared_memories(store: Store, space: str) -> dict[str, Memory]:
    """What a space has to share, by the name it has in files, oldest first."""
    found = store.browse(Filter(spaces=(space,), limit=NO_LIMIT))
    shareable = [one for one in found if shared_lines.is_shareable(one)]
    # So that the same memories make the same file on every machine.
    in_order = sorted(shareable, key=lambda one: (one.at, one.id))
    return {shared_lines.shared_name(memory): memory for memory in in_order}


def state_key(share: FileShare) -> str:
    """Where the state of a file is kept in the store's meta table."""
    return f"{VERB}:{share.space}:{share.path}"


def load_share_state(store: Store, share: FileShare) -> ShareState:
    """How a file stood; a state that cannot be read is none."""
    try:
        look, said = json.loads(store.meta(state_key(share)) or "[[0, 0, 0], {}]")
        return ShareState(
            (int(look[0]), int(look[1]), int(look[2])),
            dict(said),
        )
    except (ValueError, TypeError, IndexError):
        return ShareState()


def save_share_state(
    store: Store,
    share: FileShare,
    state: ShareState,
) -> None:
    """Keep how a file stands."""
    store.set_meta(
        state_key(share),
        json.dumps([state.look, state.said]),
    )


def erase_from_shares(
    work: WorkContext,
    ids: Collection[str],
    names: Collection[tuple[str, str]],
    now: Callable[[], float],
) -> tuple[Path, ...]:
    """Take memories out of every file, whatever was altered there.

    Returns the files that may still hold them. `names` are (space, what it is called there): in the
    files of another space the same name is another memory's.
    """
    left = []
    busy = "another process brings this file in step"
    for share in load_shares(work.store):
        gone = frozenset((*ids, *(name for space, name in names if space == share.space)))
        try:
            with hold_lease(work.store, f"{VERB}:{share.path}", now, busy):
                if not remove_records(work.store, share, gone):
                    left.append(share.file)
        except (ReverieError, OSError):
            left.append(share.file)
    return tuple(left)


def remove_records(
    store: Store,
    share: FileShare,
    gone: frozenset[str],
) -> bool:
    """Take these records out of a file; False if it was altered meanwhile."""
    path = share.file
    data = read_bytes_if_present(path)
    page = shared_lines.parse_shared_file(data or b"")
    kept = shared_lines.SharedFile(tuple(line for line in page.lines if line.id not in gone))
    if len(kept.lines) == len(page.lines):
        return True
    look = swap_file(path, kept.text.encode("utf-8", "replace"), data)
    if look is None:
        return False
    before = load_share_state(store, share).said
    said = {id: one for id, one in before.items() if id not in gone}
    save_share_state(store, share, ShareState(look, said))
    return True


def to_real_path(path: str | Path) -> str:
    """Where a file is, whatever way leads there."""
    return os.path.realpath(Path(path).expanduser())
