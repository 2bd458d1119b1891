"""Files of memories that a team shares, kept in step with a space: what is new on either side goes
to the other.

A file of lines (`mirror.jsonl`) is held against what it said when it was last in step. What
somebody altered, added or deleted there, such as by `git pull`, is done here as one event, which
`undo` takes back; their word holds. What they wrote is `untrusted` here, other words for a memory
of ours too: it describes and commands nobody. Of a file that the user trusts, since people review
what is committed there, it is what it claims to be, at most `extracted`. What was altered here is
written there, lines that say the same to the letter. Only what memories say counts: who used one
and when alters no file, for a file under version control is not to change because somebody read it.

If so many lines are gone that it looks like an accident, nothing is forgotten and the lines are
written anew. A file in which a merge left its marks is left alone until somebody has solved it.
After a crash the next run comes to the same.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from reverie.core.authorship import AUTHOR, CURATED_BY, REVIEWER, apply_curate_setting
from reverie.core.errors import BadInput, ReverieError
from reverie.core.foreign_numbers import to_count
from reverie.core.kinds import CURATE, is_mature
from reverie.core.model import (
    TRUST_BY_PROVENANCE,
    UNTRUSTED,
    Add,
    Change,
    Event,
    Filter,
    Memory,
    Retire,
    Revise,
)
from reverie.memory.memory_validation import build_memory, build_revision
from reverie.mirror import shared_lines
from reverie.mirror.file_exchange import FileLook, read_bytes_if_present, stat_look, swap_file
from reverie.mirror.mirror_sync import QUIET_SECONDS, list_record_spaces
from reverie.mirror.three_way_merge import is_doubtful_deletion
from reverie.pipeline.event_reader import WorkContext
from reverie.pipeline.leases import hold_lease
from reverie.privacy.untrusted_text import PLANTED, screen_for_injection
from reverie.storage import Store
from reverie.text.tokenization import shorten_line

SHARES_META = "shares"  # meta: [[space, path], …]
CURSOR = "shares"  # the last event that the files know of
VERB = "shared"
NO_LIMIT = 1_000_000_000  # memories of a space
CLAIM_FIELDS = ("maturity", "confidence", CURATED_BY)  # what a line says for itself
# in details: what is true of the words as they stand
WORDING_FIELDS = (
    AUTHOR,
    REVIEWER,
    CURATE,
    "maturity",
)
MAX_ROUNDS = 5  # times that it is done again because the file was altered meanwhile


class FileShare(NamedTuple):
    """A file that is kept in step with a space."""

    space: str
    path: str
    trusted: bool = False  # whether the user vouches for who may write there

    def same(self, other: FileShare) -> bool:
        """Whether it is the same file of the same space."""
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


class TakenLines(NamedTuple):
    """What a file says that is new to us."""

    changes: tuple[Change, ...] = ()
    gone: frozenset[str] = frozenset()  # names that leave the file: we let them go
    shy: frozenset[str] = frozenset()  # names whose lines stay as they are: nothing of ours
    troubles: tuple[str, ...] = ()


def load_shares(store: Store) -> list[FileShare]:
    """The files that are kept in step, by space and path."""
    return [FileShare(*one) for one in json.loads(store.meta(SHARES_META) or "[]")]


def start_share(store: Store, share: FileShare) -> None:
    """Keep a file in step from now on, trusted or not."""
    with store.transaction():
        others = [one for one in load_shares(store) if not one.same(share)]
        store.set_meta(SHARES_META, json.dumps(sorted([*others, share])))


def stop_share(store: Store, share: FileShare) -> bool:
    """Do not keep it in step any longer; the file stays. Whether it was."""
    with store.transaction():
        known = load_shares(store)
        others = [one for one in known if not one.same(share)]
        store.set_meta(SHARES_META, json.dumps(others))
        store.set_meta(f"{VERB}:{share.space}:{share.path}", "")
    return others != known


def is_trusted_share(store: Store, share: FileShare) -> bool:
    """Whether the user has said so of this file."""
    return any(one.trusted for one in load_shares(store) if one.same(share))


def find_stuck_shares(store: Store) -> list[tuple[FileShare, str]]:
    """The files that are not kept in step just now although they should be, each with why and what
    to do.
    """
    found = []
    for share in load_shares(store):
        try:
            data = read_bytes_if_present(Path(share.path)) or b""
        except OSError as err:
            found.append(
                (
                    share,
                    f"{share.path} cannot be read: {err.strerror or err}. Check who may read it, or end "
                    f"it: reverie share {share.path} --stop --space {share.space}",
                )
            )
            continue
        if shared_lines.parse_shared_file(data).has_conflict:
            found.append((share, explain_merge_marks(share, data)))
        elif not Path(share.path).parent.is_dir():
            found.append(
                (
                    share,
                    f"The folder of {share.path} is gone: the file is not written any more. Make it "
                    f"again, or end it: reverie share {share.path} --stop --space {share.space}",
                )
            )
    return found


def explain_merge_marks(share: FileShare, data: bytes) -> str:
    """What to do about a file in which a merge left its marks."""
    text = data.decode("utf-8-sig", "replace")
    lines = ", ".join(
        str(n)
        for n, line in enumerate(text.split("\n"), start=1)
        if shared_lines.CONFLICT_MARK.match(line)
    )
    return (
        f"{share.path} holds the marks of a merge (lines {lines}): nothing was taken in or written. Delete these "
        f"lines, keep the records of both sides, then run: reverie share {share.path} --space {share.space}. "
        f"`{Path(share.path).name} merge=union` in .gitattributes lets git do it"
    )


def has_share_work(work: WorkContext) -> bool:
    """Whether something has happened in the store since the files were last looked after."""
    return bool(load_shares(work.store)) and bool(
        work.store.changes_after(work.store.cursor(CURSOR))
    )


def sync_shares(work: WorkContext) -> int:
    """Bring in step what is out of step; how many records were taken in."""
    known = load_shares(work.store)
    if not known:
        return 0
    last, altered = work.store.last_event(), work.store.changes_after(work.store.cursor(CURSOR))
    spaces = list_record_spaces(altered, work.store)
    due = [share for share in known if share.space in spaces or is_share_touched(work, share)]
    done = [sync_share(work, share) for share in due]
    if altered:
        work.store.advance(CURSOR, last)
    return sum(one.new + one.revised + one.forgotten for one in done)


def is_share_touched(work: WorkContext, share: FileShare) -> bool:
    """Whether a file looks otherwise than when it was last in step, and nobody is just
    writing it.
    """
    look = stat_look(Path(share.path))
    return (
        look != load_share_state(work.store, share).look
        and abs(work.now - look[0] / 1e9) >= QUIET_SECONDS
    )


def sync_share(
    work: WorkContext, share: FileShare, *, writes: bool = True, takes: bool = True
) -> ShareReport:
    """A file and its space brought in step, or only one of them with the other."""
    if work.settings.is_off(share.space):
        return ShareReport(share)
    done = ShareReport(share)
    try:
        with hold_lease(
            work.store,
            f"{VERB}:{share.path}",
            lambda: work.now,
            "another process brings this file in step. Nothing was changed: try again",
        ):
            for _ in range(MAX_ROUNDS):
                step, again = run_share_round(work, share, writes=writes, takes=takes)
                done = step._replace(
                    new=done.new + step.new,
                    revised=done.revised + step.revised,
                    forgotten=done.forgotten + step.forgotten,
                    event=step.event or done.event,
                )
                if not again:
                    break
    except (ReverieError, OSError) as err:
        return done._replace(troubles=(*done.troubles, f"{share.path}: {err}"), stuck=True)
    return done


def run_share_round(
    work: WorkContext, share: FileShare, *, writes: bool, takes: bool
) -> tuple[ShareReport, bool]:
    """One round, and whether the file was altered meanwhile, so that another one is needed."""
    path, state = Path(share.path), load_share_state(work.store, share)
    data = read_bytes_if_present(path)
    page = shared_lines.parse_shared_file(data or b"")
    if page.has_conflict:
        return ShareReport(
            share,
            lines=len(page.lines),
            troubles=(explain_merge_marks(share, data or b""),),
            stuck=True,
        ), False
    zone = work.zone()
    with work.store.transaction():
        ours = load_shared_memories(work.store, share.space)
        taken = (
            take_in_lines(work, share, page, ours, state.said, data is None)
            if takes
            else TakenLines()
        )
        event = (
            work.store.apply(
                taken.changes, Event(VERB, share.space, work.now, payload={"path": share.path})
            )
            if taken.changes
            else 0
        )
        after = load_shared_memories(work.store, share.space) if event else ours
        mine = [
            shared_lines.to_shared_record(memory, zone)
            for name, memory in after.items()
            if name not in taken.shy
        ]
    wanted = shared_lines.merge_shared_file(page, mine, taken.gone) if writes else page
    look: FileLook | None = stat_look(path)
    if (told := wanted.text.encode()) != page.text.encode() or (writes and data is None):
        look = swap_file(path, told, data)
    if look is not None and writes and takes:
        agreed = {
            id: shared_lines.digest_record(one)
            for id, one in wanted.records.items()
            if id not in taken.shy
        }
        before = {id: state.said[id] for id in taken.shy if id in state.said}
        save_share_state(work.store, share, ShareState(look, {**before, **agreed}))
    counts = {kind: sum(isinstance(one, kind) for one in taken.changes) for kind in (Add, Retire)}
    broken = tuple(
        f"{path}, line {number}: {why}. It is kept as it is" for number, why in page.broken
    )
    return ShareReport(
        share,
        counts[Add],
        len(taken.changes) - sum(counts.values()),
        counts[Retire],
        len(wanted.lines),
        wanted is not page and told != (data or b""),
        event,
        (*broken, *taken.troubles),
    ), look is None


def take_in_lines(
    work: WorkContext,
    share: FileShare,
    page: shared_lines.SharedFile,
    ours: Mapping[str, Memory],
    said: Mapping[str, str],
    absent: bool,
) -> TakenLines:
    """What the file's lines come to, held against what we say and what it said before."""
    zone, records = work.zone(), page.records
    changes: list[Change] = []
    gone, shy, troubles = set[str](), set[str](), list[str]()
    ids = {
        name: shared_lines.derive_shared_id(
            record, shared_lines.parse_local_time(record.get("timestamp"), zone) or 0.0, share.space
        )
        for name, record in records.items()
        if name not in ours
    }
    known = {memory.id: memory for memory in work.store.get(list(ids.values()))}
    for name, record in records.items():
        now_says = shared_lines.digest_record(record)
        if name in ours:
            if now_says != said.get(name) and now_says != shared_lines.digest_record(
                shared_lines.to_shared_record(ours[name], zone)
            ):
                fields = build_revised_fields(
                    ours[name], shared_lines.from_shared_record(record, zone), trusted=share.trusted
                )
                changes += try_change(
                    partial(build_line_revision, ours[name], work, fields), name, shy, troubles
                )
            elif (
                share.trusted
                and is_liftable(ours[name])
                and (fields := build_lifted_fields(shared_lines.from_shared_record(record, zone)))
            ):
                changes += try_change(
                    partial(build_line_revision, ours[name], work, fields), name, shy, troubles
                )
            continue
        id = ids[name]
        if id in known and known[id].active and not is_mature(known[id]):
            shy.add(name)  # it waits for a look here: the others keep it
        elif said.get(name) == now_says:
            gone.add(name)
        elif id in known or shared_lines.is_dismissed(record):
            # let go here, or put away there: it is not revived, and not taken from the others
            shy.add(name)
        else:
            changes += try_change(
                partial(build_shared_memory, id, work, share, record, zone), name, shy, troubles
            )
    dropped = [name for name in said if name in ours and name not in records]
    if dropped and is_doubtful_deletion(len(dropped), len(said), absent):
        troubles.append(
            f"{share.path}: {len(dropped):,} of {len(said):,} lines are gone. They are written anew; to "
            "forget them, delete them a few at a time, or use reverie forget"
        )
        dropped = []
    changes += [Retire(id=ours[name].id, at=work.now) for name in dropped]
    return TakenLines(tuple(changes), frozenset(gone), frozenset(shy), tuple(troubles))


def try_change(
    make: Callable[[], Change], name: str, shy: set[str], troubles: list[str]
) -> list[Change]:
    """A change, or none where a record cannot be used: then its line stays as it is."""
    try:
        return [make()]
    except BadInput as err:
        shy.add(name)
        troubles.append(f"{name} cannot be taken in: {err}")
        return []


def build_line_revision(memory: Memory, work: WorkContext, fields: Mapping[str, Any]) -> Revise:
    """What a line says of a memory of ours. Where it is another's word from now on, it is believed
    as that.
    """
    made = build_revision(memory, work.now, fields, work.zone, work.policy)
    sure = (
        {}
        if made.fields.get("provenance") in (None, UNTRUSTED)
        else {"confidence": made.fields["trust"]}
    )
    return made._replace(fields={**made.fields, **sure})


def build_revised_fields(
    memory: Memory, said: Mapping[str, Any], *, trusted: bool = False
) -> dict[str, Any]:
    """What a line says of a memory of ours as the fields to revise. Other words are not those of
    who said it first, nor those that somebody has looked at.
    """
    fields = {name: said[name] for name in ("text", "title", "tags")}
    if (said["text"], said["title"]) in (
        (memory.text, memory.title),
        (memory.text, shorten_line(memory.text, shared_lines.MAX_DESCRIPTION_CHARS)),
    ):
        return fields
    plain = {name: value for name, value in memory.details.items() if name not in WORDING_FIELDS}
    anew = memory._replace(
        text=said["text"],
        title=said["title"],
        details={**plain, **keep_line_author(said), shared_lines.HEARD: shared_lines.SHARED},
    )
    return {
        **fields,
        "provenance": said["provenance"] if trusted else UNTRUSTED,
        "details": (screen_for_injection(anew) if trusted else anew).details,
    }


def keep_line_author(said: Mapping[str, Any]) -> dict[str, Any]:
    """Who wrote a line, as it says; who looked at it is not taken over with it."""
    return {AUTHOR: said["details"][AUTHOR]} if AUTHOR in said["details"] else {}


def is_liftable(memory: Memory) -> bool:
    """Whether it came from a shared file before the user trusted that, and does not address the
    assistant.
    """
    return (
        memory.provenance == UNTRUSTED
        and memory.details.get(shared_lines.HEARD) == shared_lines.SHARED
        and PLANTED not in memory.details
    )


def build_lifted_fields(said: Mapping[str, Any]) -> dict[str, Any]:
    """The fields to revise so that a memory becomes what its line claims; none where that is no
    more than it is.
    """
    return (
        {"provenance": said["provenance"], "trust": cap_line_trust(said)}
        if said["provenance"] != UNTRUSTED
        else {}
    )


def cap_line_trust(said: Mapping[str, Any]) -> float:
    """How far a line is believed: as it says, at most as its provenance is."""
    most = TRUST_BY_PROVENANCE[said["provenance"]]
    return most if said["trust"] is None else min(said["trust"], most)


def build_shared_memory(
    id: str, work: WorkContext, share: FileShare, record: Mapping[str, Any], zone: str
) -> Add:
    """A record as a new memory, with the use that was made of it. Where the share is not trusted,
    what it claims for itself is on record, no more. What addresses the assistant waits for a person
    in any case.
    """
    fields = shared_lines.from_shared_record(record, zone)
    details = {**fields["details"], shared_lines.HEARD: shared_lines.SHARED}
    if share.trusted:
        given = {**fields, "details": details, "trust": cap_line_trust(fields)}
        made = build_memory(id, work.now, space=share.space, policy=work.policy, **given)
        memory = apply_curate_setting(screen_for_injection(made), work.settings.curate)
    else:
        claims = {name: record[name] for name in CLAIM_FIELDS if record.get(name) is not None}
        plain = {name: value for name, value in details.items() if name != REVIEWER}
        memory = build_memory(
            id,
            work.now,
            space=share.space,
            policy=work.policy,
            **{
                **fields,
                "provenance": UNTRUSTED,
                "trust": None,
                "details": {**plain, **({"claims": claims} if claims else {})},
            },
        )
    last = shared_lines.parse_local_time(record.get("last_accessed"), zone)
    return Add(
        memory=memory._replace(
            access_count=to_count(record.get("usage_count")), last_accessed_at=last
        )
    )


def load_shared_memories(store: Store, space: str) -> dict[str, Memory]:
    """What a space has to share, by the name it has in files, oldest first."""
    found = [
        one
        for one in store.browse(Filter(spaces=(space,), limit=NO_LIMIT))
        if shared_lines.is_shareable(one)
    ]
    return {
        shared_lines.shared_name(memory): memory
        for memory in sorted(found, key=lambda one: (one.at, one.id))
    }


def load_share_state(store: Store, share: FileShare) -> ShareState:
    """How a file stood; a state that cannot be read is none."""
    try:
        look, said = json.loads(
            store.meta(f"{VERB}:{share.space}:{share.path}") or "[[0, 0, 0], {}]"
        )
        return ShareState((int(look[0]), int(look[1]), int(look[2])), dict(said))
    except (ValueError, TypeError, IndexError):
        return ShareState()


def save_share_state(store: Store, share: FileShare, state: ShareState) -> None:
    """Write down how it stands."""
    store.set_meta(f"{VERB}:{share.space}:{share.path}", json.dumps([state.look, state.said]))


def erase_from_shares(
    work: WorkContext,
    ids: Collection[str],
    names: Collection[tuple[str, str]],
    now: Callable[[], float],
) -> tuple[Path, ...]:
    """Take memories out of every file, whatever was altered there. Returns files that may still
    hold them.

    `names` are (space, what it is called there): in the files of another space the same name is
    another memory's.
    """
    left = []
    for share in load_shares(work.store):
        gone = frozenset((*ids, *(name for space, name in names if space == share.space)))
        try:
            with hold_lease(
                work.store, f"{VERB}:{share.path}", now, "another process brings this file in step"
            ):
                if not remove_records(work.store, share, gone):
                    left.append(Path(share.path))
        except (ReverieError, OSError):
            left.append(Path(share.path))
    return tuple(left)


def remove_records(store: Store, share: FileShare, gone: frozenset[str]) -> bool:
    """Take these records out of a file; whether that was possible."""
    path = Path(share.path)
    data = read_bytes_if_present(path)
    page = shared_lines.parse_shared_file(data or b"")
    kept = shared_lines.SharedFile(tuple(line for line in page.lines if line.id not in gone))
    if len(kept.lines) < len(page.lines):
        look = swap_file(path, kept.text.encode("utf-8", "replace"), data)
        if look is None:
            return False
        before = load_share_state(store, share).said
        save_share_state(
            store,
            share,
            ShareState(look, {id: one for id, one in before.items() if id not in gone}),
        )
    return True


def to_real_path(path: str | Path) -> str:
    """Where a file is, whatever way leads there."""
    return os.path.realpath(Path(path).expanduser())
