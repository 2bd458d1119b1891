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
from reverie.pipeline.event_reader import WorkContext
from reverie.porting.importers import ImportFormat, choose_format
from reverie.porting.importers.import_plan import ImportPlan, ImportTarget, plan_import
from reverie.porting.importers.import_records import (
    BadRecord,
    DeedRecord,
    ImportItem,
    ReadingContext,
)
from reverie.privacy.redacted_text import redact_short_text
from reverie.storage import Store

NO_LIMIT = 1_000_000_000  # deeds of a space
DEED_VERBS = (TOOL, FILE)


class ImportOutcome(NamedTuple):
    """What was taken along, or would be."""

    system: str
    plan: ImportPlan
    event: int = 0  # what `undo` takes; 0 where no memory is new


def import_memories(
    work: WorkContext,
    path: Path,
    system: str,
    space: str,
    folders: tuple[Path, ...],
    *,
    untrusted: bool,
    dry_run: bool,
) -> ImportOutcome:
    """Read a file or folder and take in what is new."""
    form, zone, store = choose_format(path, system), work.zone(), work.store
    items = list(form.read(path, ReadingContext(zone, folders)))
    into = ImportTarget(form.name, space, work.now, zone, untrusted, work.policy)
    seen = store.last_event()
    plan = plan_against_store(store, items, into)
    if dry_run or not (plan.changes or plan.events):
        return ImportOutcome(form.name, plan)
    with store.transaction():
        if is_overtaken(store, plan, seen, space):
            plan = plan_against_store(store, items, into)
        cause = Event(
            "import",
            space,
            work.now,
            payload={"system": form.name, "from": redact_short_text(path.name, work.policy)},
        )
        event = store.apply(plan.changes, cause) if plan.changes else 0
        store.append(plan.events)
        store_imported_vectors(store, plan)
    return ImportOutcome(form.name, plan, event)


def plan_against_store(store: Store, items: Sequence[ImportItem], into: ImportTarget) -> ImportPlan:
    """What of the items is new to the store, and what becomes of it."""
    done = (
        load_known_deeds(store, into.space)
        if any(isinstance(item, DeedRecord) for item in items)
        else frozenset[str]()
    )
    return plan_import(items, into, lambda ids: {one.id: one for one in store.get(ids)}, done)


def is_overtaken(store: Store, plan: ImportPlan, seen: int, space: str) -> bool:
    """Whether something of the plan has come in since that event."""
    deeds = (
        store.events(after=seen, verbs=DEED_VERBS, space=space, limit=NO_LIMIT)
        if plan.events
        else ()
    )
    return any(ORIGIN in event.payload for event in deeds) or bool(store.get(list(plan.hashes)))


class NeighbourImport(NamedTuple):
    """What another program remembers, where that program keeps it, beside our own."""

    path: Path
    done: ImportOutcome
    left: bool  # it was left, for where it would go there is something already

    @property
    def new(self) -> bool:
        """Whether anything of it is, or was, not known here."""
        return bool(self.done.plan.changes or self.done.plan.events)


def import_neighbours(
    work: WorkContext,
    found: Sequence[tuple[ImportFormat, Path]],
    space: str,
    folders: tuple[Path, ...],
    *,
    untrusted: bool,
    dry_run: bool,
) -> list[NeighbourImport]:
    """Take along what lies there if nothing is remembered yet where it would go; what would mix is
    left (X46, CC-88).

    What cannot be read at all is one bad record, and keeps nobody from the others.
    """

    def taken(row: ImportFormat, path: Path, dry_run: bool) -> ImportOutcome:
        try:
            return import_memories(
                work, path, row.name, space, folders, untrusted=untrusted, dry_run=dry_run
            )
        except (BadInput, ExtraMissing, OSError) as err:
            return ImportOutcome(row.name, ImportPlan(bad=(BadRecord(path.name, str(err)),)))

    looks = [(row, path, taken(row, path, True)) for row, path in found]
    full = [
        any(
            work.store.browse(Filter(spaces=(one,), active=None, limit=1))
            for one in list_plan_spaces(look.plan)
        )
        for _, _, look in looks
    ]
    return [
        NeighbourImport(path, look if dry_run or mixes else taken(row, path, False), mixes)
        for (row, path, look), mixes in zip(looks, full, strict=True)
    ]


def list_plan_spaces(plan: ImportPlan) -> set[str]:
    """The spaces in which a plan adds memories."""
    return {one.memory.space for one in plan.changes if isinstance(one, Add)}


def load_known_deeds(store: Store, space: str) -> frozenset[str]:
    """The deeds of other programs that are in the log, as "system:name"."""
    origins = (
        event.payload.get(ORIGIN)
        for event in store.search_events(
            DEED_VERBS, space=space, containing=(ORIGIN,), limit=NO_LIMIT
        )
    )
    return frozenset(f"{one['system']}:{one['id']}" for one in origins if isinstance(one, dict))


def store_imported_vectors(store: Store, plan: ImportPlan) -> None:
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
