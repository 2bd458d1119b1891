"""Taking along what another program remembers: read, plan, and make it so, in one transaction and
one event.

All that needs the store is here; what is decided is decided in `importing.plan`. Memories and links
are one event of the verb "import", which `undo` takes back; deeds are appended to the log as what
they are. Nobody waits while files are read and texts are cleaned: that is done when the transaction
begins, which only looks whether somebody else took in the same meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from reverie.activity import FILE, TOOL
from reverie.core.errors import BadInput, ExtraMissing
from reverie.core.model import Add, Event, Filter
from reverie.mirror.shared_lines import ORIGIN
from reverie.pipeline.event_reader import Work
from reverie.porting.importers import Format, format_of
from reverie.porting.importers.import_plan import Into, Plan, planned
from reverie.porting.importers.import_records import Bad, Deed, Item, Reading
from reverie.privacy.redacted_text import private
from reverie.storage import Store

EVERY = 1_000_000_000  # deeds of a space
DEEDS = (TOOL, FILE)


class TakenAlong(NamedTuple):
    """What was taken along, or would be."""

    system: str
    plan: Plan
    event: int = 0  # what `undo` takes; 0 where no memory is new


def taken_along(
    work: Work,
    path: Path,
    system: str,
    space: str,
    folders: tuple[Path, ...],
    *,
    untrusted: bool,
    dry_run: bool,
) -> TakenAlong:
    """Read a file or folder and take in what is new."""
    form, zone, store = format_of(path, system), work.zone(), work.store
    items = list(form.read(path, Reading(zone, folders)))
    into = Into(form.name, space, work.now, zone, untrusted, work.policy)
    seen = store.last_event()
    plan = held_against(store, items, into)
    if dry_run or not (plan.changes or plan.events):
        return TakenAlong(form.name, plan)
    with store.alone():
        if overtaken(store, plan, seen, space):
            plan = held_against(store, items, into)
        cause = Event(
            "import",
            space,
            work.now,
            payload={"system": form.name, "from": private(path.name, work.policy)},
        )
        event = store.apply(plan.changes, cause) if plan.changes else 0
        store.append(plan.events)
        keep_vectors(store, plan)
    return TakenAlong(form.name, plan, event)


def held_against(store: Store, items: Sequence[Item], into: Into) -> Plan:
    """What of the items is new to the store, and what becomes of it."""
    done = (
        deeds_there(store, into.space)
        if any(isinstance(item, Deed) for item in items)
        else frozenset[str]()
    )
    return planned(items, into, lambda ids: {one.id: one for one in store.get(ids)}, done)


def overtaken(store: Store, plan: Plan, seen: int, space: str) -> bool:
    """Whether something of the plan has come in since that event."""
    deeds = store.events(after=seen, verbs=DEEDS, space=space, limit=EVERY) if plan.events else ()
    return any(ORIGIN in event.payload for event in deeds) or bool(store.get(list(plan.hashes)))


class Beside(NamedTuple):
    """What another program remembers, where that program keeps it, beside our own."""

    path: Path
    done: TakenAlong
    left: bool  # it was left, for where it would go there is something already

    @property
    def new(self) -> bool:
        """Whether anything of it is, or was, not known here."""
        return bool(self.done.plan.changes or self.done.plan.events)


def beside(
    work: Work,
    found: Sequence[tuple[Format, Path]],
    space: str,
    folders: tuple[Path, ...],
    *,
    untrusted: bool,
    dry_run: bool,
) -> list[Beside]:
    """Take along what lies there if nothing is remembered yet where it would go; what would mix is
    left (X46, CC-88).

    What cannot be read at all is one bad record, and keeps nobody from the others.
    """

    def taken(row: Format, path: Path, dry_run: bool) -> TakenAlong:
        try:
            return taken_along(
                work, path, row.name, space, folders, untrusted=untrusted, dry_run=dry_run
            )
        except (BadInput, ExtraMissing, OSError) as err:
            return TakenAlong(row.name, Plan(bad=(Bad(path.name, str(err)),)))

    looks = [(row, path, taken(row, path, True)) for row, path in found]
    full = [
        any(
            work.store.browse(Filter(spaces=(one,), active=None, limit=1))
            for one in spaces_of(look.plan)
        )
        for _, _, look in looks
    ]
    return [
        Beside(path, look if dry_run or mixes else taken(row, path, False), mixes)
        for (row, path, look), mixes in zip(looks, full, strict=True)
    ]


def spaces_of(plan: Plan) -> set[str]:
    """The spaces in which a plan adds memories."""
    return {one.memory.space for one in plan.changes if isinstance(one, Add)}


def deeds_there(store: Store, space: str) -> frozenset[str]:
    """The deeds of other programs that are in the log, as "system:name"."""
    origins = (
        event.payload.get(ORIGIN)
        for event in store.happened(DEEDS, space=space, containing=(ORIGIN,), limit=EVERY)
    )
    return frozenset(f"{one['system']}:{one['id']}" for one in origins if isinstance(one, dict))


def keep_vectors(store: Store, plan: Plan) -> None:
    """Vectors that came with memories, of unit length, each under the name of its model."""
    if not plan.vectors:
        return
    import numpy as np

    for model, some in plan.vectors.items():
        found = {id: np.asarray(vector, dtype=np.float32) for id, vector in some.items()}
        lengths = {id: float(np.linalg.norm(vector)) for id, vector in found.items()}
        sound = {
            id: vector / lengths[id] for id, vector in found.items() if 0 < lengths[id] < np.inf
        }
        store.put_vectors(model, sound, {id: plan.hashes[id] for id in sound})
