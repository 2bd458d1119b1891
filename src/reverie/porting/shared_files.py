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

from reverie.core.authorship import AUTHOR, CURATED, REVIEWER, under
from reverie.core.errors import BadInput, ReverieError
from reverie.core.foreign_numbers import count
from reverie.core.kinds import CURATE, is_ripe
from reverie.core.model import TRUST, UNTRUSTED, Add, Change, Event, Filter, Memory, Retire, Revise
from reverie.memory.memory_validation import built, rewritten
from reverie.mirror import shared_lines
from reverie.mirror.file_exchange import Look, bytes_of, look_of, swapped
from reverie.mirror.mirror_sync import QUIET, spaces_of
from reverie.mirror.three_way_merge import doubtful
from reverie.pipeline.event_reader import Work
from reverie.pipeline.leases import leased
from reverie.privacy.untrusted_text import PLANTED, screened
from reverie.storage import Store
from reverie.text.tokenization import short

SHARES = "shares"  # meta: [[space, path], …]
CURSOR = "shares"  # the last event that the files know of
VERB = "shared"
EVERY = 1_000_000_000  # memories of a space
CLAIMS = ("maturity", "confidence", CURATED)  # what a line says for itself
# in details: what is true of the words as they stand
OF_WORDS = (
    AUTHOR,
    REVIEWER,
    CURATE,
    "maturity",
)
ANEW = 5  # times that it is done again because the file was altered meanwhile


class Share(NamedTuple):
    """A file that is kept in step with a space."""

    space: str
    path: str
    trusted: bool = False  # whether the user vouches for who may write there

    def same(self, other: Share) -> bool:
        """Whether it is the same file of the same space."""
        return (self.space, self.path) == (other.space, other.path)


class State(NamedTuple):
    """How a file stood when it was last in step."""

    look: Look = (0, 0, 0)
    said: Mapping[str, str] = {}  # what each record said, by its id


class Shared(NamedTuple):
    """What bringing a file in step did."""

    share: Share
    new: int = 0
    revised: int = 0
    forgotten: int = 0
    lines: int = 0  # of the file, afterwards
    written: bool = False
    event: int = 0  # what `undo` takes; 0 if nothing was taken in
    troubles: tuple[str, ...] = ()
    stuck: bool = False  # the file is left alone until somebody has done what `troubles` say


class Taken(NamedTuple):
    """What a file says that is new to us."""

    changes: tuple[Change, ...] = ()
    gone: frozenset[str] = frozenset()  # names that leave the file: we let them go
    shy: frozenset[str] = frozenset()  # names whose lines stay as they are: nothing of ours
    troubles: tuple[str, ...] = ()


def shares(store: Store) -> list[Share]:
    """The files that are kept in step, by space and path."""
    return [Share(*one) for one in json.loads(store.meta(SHARES) or "[]")]


def begin(store: Store, share: Share) -> None:
    """Keep a file in step from now on, trusted or not."""
    with store.alone():
        others = [one for one in shares(store) if not one.same(share)]
        store.set_meta(SHARES, json.dumps(sorted([*others, share])))


def end(store: Store, share: Share) -> bool:
    """Do not keep it in step any longer; the file stays. Whether it was."""
    with store.alone():
        known = shares(store)
        others = [one for one in known if not one.same(share)]
        store.set_meta(SHARES, json.dumps(others))
        store.set_meta(f"{VERB}:{share.space}:{share.path}", "")
    return others != known


def is_trusted(store: Store, share: Share) -> bool:
    """Whether the user has said so of this file."""
    return any(one.trusted for one in shares(store) if one.same(share))


def stuck(store: Store) -> list[tuple[Share, str]]:
    """The files that are not kept in step just now although they should be, each with why and what
    to do.
    """
    found = []
    for share in shares(store):
        try:
            data = bytes_of(Path(share.path)) or b""
        except OSError as err:
            found.append(
                (
                    share,
                    f"{share.path} cannot be read: {err.strerror or err}. Check who may read it, or end "
                    f"it: reverie share {share.path} --stop --space {share.space}",
                )
            )
            continue
        if shared_lines.read(data).conflicting:
            found.append((share, unmerged(share, data)))
        elif not Path(share.path).parent.is_dir():
            found.append(
                (
                    share,
                    f"The folder of {share.path} is gone: the file is not written any more. Make it "
                    f"again, or end it: reverie share {share.path} --stop --space {share.space}",
                )
            )
    return found


def unmerged(share: Share, data: bytes) -> str:
    """What to do about a file in which a merge left its marks."""
    text = data.decode("utf-8-sig", "replace")
    lines = ", ".join(
        str(n)
        for n, line in enumerate(text.split("\n"), start=1)
        if shared_lines.CONFLICT.match(line)
    )
    return (
        f"{share.path} holds the marks of a merge (lines {lines}): nothing was taken in or written. Delete these "
        f"lines, keep the records of both sides, then run: reverie share {share.path} --space {share.space}. "
        f"`{Path(share.path).name} merge=union` in .gitattributes lets git do it"
    )


def waits(work: Work) -> bool:
    """Whether something has happened in the store since the files were last looked after."""
    return bool(shares(work.store)) and bool(work.store.altered_after(work.store.cursor(CURSOR)))


def follow(work: Work) -> int:
    """Bring in step what is out of step; how many records were taken in."""
    known = shares(work.store)
    if not known:
        return 0
    last, altered = work.store.last_event(), work.store.altered_after(work.store.cursor(CURSOR))
    spaces = spaces_of(altered, work.store)
    due = [share for share in known if share.space in spaces or touched(work, share)]
    done = [in_step(work, share) for share in due]
    if altered:
        work.store.advance(CURSOR, last)
    return sum(one.new + one.revised + one.forgotten for one in done)


def touched(work: Work, share: Share) -> bool:
    """Whether a file looks otherwise than when it was last in step, and nobody is just
    writing it.
    """
    look = look_of(Path(share.path))
    return look != state_of(work.store, share).look and abs(work.now - look[0] / 1e9) >= QUIET


def in_step(work: Work, share: Share, *, writes: bool = True, takes: bool = True) -> Shared:
    """A file and its space brought in step, or only one of them with the other."""
    if work.settings.is_off(share.space):
        return Shared(share)
    done = Shared(share)
    try:
        with leased(
            work.store,
            f"{VERB}:{share.path}",
            lambda: work.now,
            "another process brings this file in step. Nothing was changed: try again",
        ):
            for _ in range(ANEW):
                step, again = one_round(work, share, writes=writes, takes=takes)
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


def one_round(work: Work, share: Share, *, writes: bool, takes: bool) -> tuple[Shared, bool]:
    """One round, and whether the file was altered meanwhile, so that another one is needed."""
    path, state = Path(share.path), state_of(work.store, share)
    data = bytes_of(path)
    page = shared_lines.read(data or b"")
    if page.conflicting:
        return Shared(
            share, lines=len(page.lines), troubles=(unmerged(share, data or b""),), stuck=True
        ), False
    zone = work.zone()
    with work.store.alone():
        ours = ours_in(work.store, share.space)
        taken = taken_in(work, share, page, ours, state.said, data is None) if takes else Taken()
        event = (
            work.store.apply(
                taken.changes, Event(VERB, share.space, work.now, payload={"path": share.path})
            )
            if taken.changes
            else 0
        )
        after = ours_in(work.store, share.space) if event else ours
        mine = [
            shared_lines.record_of(memory, zone)
            for name, memory in after.items()
            if name not in taken.shy
        ]
    wanted = shared_lines.merged(page, mine, taken.gone) if writes else page
    look: Look | None = look_of(path)
    if (told := wanted.text.encode()) != page.text.encode() or (writes and data is None):
        look = swapped(path, told, data)
    if look is not None and writes and takes:
        agreed = {
            id: shared_lines.essence(one)
            for id, one in wanted.records.items()
            if id not in taken.shy
        }
        before = {id: state.said[id] for id in taken.shy if id in state.said}
        keep_state(work.store, share, State(look, {**before, **agreed}))
    counts = {kind: sum(isinstance(one, kind) for one in taken.changes) for kind in (Add, Retire)}
    broken = tuple(
        f"{path}, line {number}: {why}. It is kept as it is" for number, why in page.broken
    )
    return Shared(
        share,
        counts[Add],
        len(taken.changes) - sum(counts.values()),
        counts[Retire],
        len(wanted.lines),
        wanted is not page and told != (data or b""),
        event,
        (*broken, *taken.troubles),
    ), look is None


def taken_in(
    work: Work,
    share: Share,
    page: shared_lines.Page,
    ours: Mapping[str, Memory],
    said: Mapping[str, str],
    absent: bool,
) -> Taken:
    """What the file's lines come to, held against what we say and what it said before."""
    zone, records = work.zone(), page.records
    changes: list[Change] = []
    gone, shy, troubles = set[str](), set[str](), list[str]()
    ids = {
        name: shared_lines.id_for(
            record, shared_lines.moment_in(record.get("timestamp"), zone) or 0.0, share.space
        )
        for name, record in records.items()
        if name not in ours
    }
    known = {memory.id: memory for memory in work.store.get(list(ids.values()))}
    for name, record in records.items():
        now_says = shared_lines.essence(record)
        if name in ours:
            if now_says != said.get(name) and now_says != shared_lines.essence(
                shared_lines.record_of(ours[name], zone)
            ):
                fields = theirs(
                    ours[name], shared_lines.fields_of(record, zone), trusted=share.trusted
                )
                changes += guarded(partial(revision, ours[name], work, fields), name, shy, troubles)
            elif (
                share.trusted
                and liftable(ours[name])
                and (fields := lifted(shared_lines.fields_of(record, zone)))
            ):
                changes += guarded(partial(revision, ours[name], work, fields), name, shy, troubles)
            continue
        id = ids[name]
        if id in known and known[id].active and not is_ripe(known[id]):
            shy.add(name)  # it waits for a look here: the others keep it
        elif said.get(name) == now_says:
            gone.add(name)
        elif id in known or shared_lines.dismissed(record):
            # let go here, or put away there: it is not revived, and not taken from the others
            shy.add(name)
        else:
            changes += guarded(partial(new, id, work, share, record, zone), name, shy, troubles)
    dropped = [name for name in said if name in ours and name not in records]
    if dropped and doubtful(len(dropped), len(said), absent):
        troubles.append(
            f"{share.path}: {len(dropped):,} of {len(said):,} lines are gone. They are written anew; to "
            "forget them, delete them a few at a time, or use reverie forget"
        )
        dropped = []
    changes += [Retire(id=ours[name].id, at=work.now) for name in dropped]
    return Taken(tuple(changes), frozenset(gone), frozenset(shy), tuple(troubles))


def guarded(
    make: Callable[[], Change], name: str, shy: set[str], troubles: list[str]
) -> list[Change]:
    """A change, or none where a record cannot be used: then its line stays as it is."""
    try:
        return [make()]
    except BadInput as err:
        shy.add(name)
        troubles.append(f"{name} cannot be taken in: {err}")
        return []


def revision(memory: Memory, work: Work, fields: Mapping[str, Any]) -> Revise:
    """What a line says of a memory of ours. Where it is another's word from now on, it is believed
    as that.
    """
    made = rewritten(memory, work.now, fields, work.zone, work.policy)
    sure = (
        {}
        if made.fields.get("provenance") in (None, UNTRUSTED)
        else {"confidence": made.fields["trust"]}
    )
    return made._replace(fields={**made.fields, **sure})


def theirs(memory: Memory, said: Mapping[str, Any], *, trusted: bool = False) -> dict[str, Any]:
    """What a line says of a memory of ours as the fields to revise. Other words are not those of
    who said it first, nor those that somebody has looked at.
    """
    fields = {name: said[name] for name in ("text", "title", "tags")}
    if (said["text"], said["title"]) in (
        (memory.text, memory.title),
        (memory.text, short(memory.text, shared_lines.SHORT)),
    ):
        return fields
    plain = {name: value for name, value in memory.details.items() if name not in OF_WORDS}
    anew = memory._replace(
        text=said["text"],
        title=said["title"],
        details={**plain, **from_line(said), shared_lines.HEARD: shared_lines.SHARED},
    )
    return {
        **fields,
        "provenance": said["provenance"] if trusted else UNTRUSTED,
        "details": (screened(anew) if trusted else anew).details,
    }


def from_line(said: Mapping[str, Any]) -> dict[str, Any]:
    """Who wrote a line, as it says; who looked at it is not taken over with it."""
    return {AUTHOR: said["details"][AUTHOR]} if AUTHOR in said["details"] else {}


def liftable(memory: Memory) -> bool:
    """Whether it came from a shared file before the user trusted that, and does not address the
    assistant.
    """
    return (
        memory.provenance == UNTRUSTED
        and memory.details.get(shared_lines.HEARD) == shared_lines.SHARED
        and PLANTED not in memory.details
    )


def lifted(said: Mapping[str, Any]) -> dict[str, Any]:
    """The fields to revise so that a memory becomes what its line claims; none where that is no
    more than it is.
    """
    return (
        {"provenance": said["provenance"], "trust": sure_of(said)}
        if said["provenance"] != UNTRUSTED
        else {}
    )


def sure_of(said: Mapping[str, Any]) -> float:
    """How far a line is believed: as it says, at most as its provenance is."""
    most = TRUST[said["provenance"]]
    return most if said["trust"] is None else min(said["trust"], most)


def new(id: str, work: Work, share: Share, record: Mapping[str, Any], zone: str) -> Add:
    """A record as a new memory, with the use that was made of it. Where the share is not trusted,
    what it claims for itself is on record, no more. What addresses the assistant waits for a person
    in any case.
    """
    fields = shared_lines.fields_of(record, zone)
    details = {**fields["details"], shared_lines.HEARD: shared_lines.SHARED}
    if share.trusted:
        given = {**fields, "details": details, "trust": sure_of(fields)}
        made = built(id, work.now, space=share.space, policy=work.policy, **given)
        memory = under(screened(made), work.settings.curate)
    else:
        claims = {name: record[name] for name in CLAIMS if record.get(name) is not None}
        plain = {name: value for name, value in details.items() if name != REVIEWER}
        memory = built(
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
    last = shared_lines.moment_in(record.get("last_accessed"), zone)
    return Add(
        memory=memory._replace(access_count=count(record.get("usage_count")), last_accessed_at=last)
    )


def ours_in(store: Store, space: str) -> dict[str, Memory]:
    """What a space has to share, by the name it has in files, oldest first."""
    found = [
        one
        for one in store.browse(Filter(spaces=(space,), limit=EVERY))
        if shared_lines.belongs(one)
    ]
    return {
        shared_lines.name_of(memory): memory
        for memory in sorted(found, key=lambda one: (one.at, one.id))
    }


def state_of(store: Store, share: Share) -> State:
    """How a file stood; a state that cannot be read is none."""
    try:
        look, said = json.loads(
            store.meta(f"{VERB}:{share.space}:{share.path}") or "[[0, 0, 0], {}]"
        )
        return State((int(look[0]), int(look[1]), int(look[2])), dict(said))
    except (ValueError, TypeError, IndexError):
        return State()


def keep_state(store: Store, share: Share, state: State) -> None:
    """Write down how it stands."""
    store.set_meta(f"{VERB}:{share.space}:{share.path}", json.dumps([state.look, state.said]))


def erased(
    work: Work, ids: Collection[str], names: Collection[tuple[str, str]], now: Callable[[], float]
) -> tuple[Path, ...]:
    """Take memories out of every file, whatever was altered there. Returns files that may still
    hold them.

    `names` are (space, what it is called there): in the files of another space the same name is
    another memory's.
    """
    left = []
    for share in shares(work.store):
        gone = frozenset((*ids, *(name for space, name in names if space == share.space)))
        try:
            with leased(
                work.store, f"{VERB}:{share.path}", now, "another process brings this file in step"
            ):
                if not without(work.store, share, gone):
                    left.append(Path(share.path))
        except (ReverieError, OSError):
            left.append(Path(share.path))
    return tuple(left)


def without(store: Store, share: Share, gone: frozenset[str]) -> bool:
    """Take these records out of a file; whether that was possible."""
    path = Path(share.path)
    data = bytes_of(path)
    page = shared_lines.read(data or b"")
    kept = shared_lines.Page(tuple(line for line in page.lines if line.id not in gone))
    if len(kept.lines) < len(page.lines):
        look = swapped(path, kept.text.encode("utf-8", "replace"), data)
        if look is None:
            return False
        before = state_of(store, share).said
        keep_state(
            store, share, State(look, {id: one for id, one in before.items() if id not in gone})
        )
    return True


def plain_path(path: str | Path) -> str:
    """Where a file is, whatever way leads there."""
    return os.path.realpath(Path(path).expanduser())
