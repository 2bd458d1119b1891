"""Taking in what another program remembers: read, plan, and apply as one event.

All that needs the store is here; what is decided is decided in `importers.import_plan`. Memories
and links are one event of the verb "import", which `undo` takes back; deeds are appended to the log
as what they are, in the same transaction. Nobody waits while files are read and texts are redacted:
that is done when the transaction begins, which only looks whether somebody else took in the same
meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reverie.activity import FILE, TOOL
from reverie.core.errors import BadInput, ExtraMissing
from reverie.core.model import Add, Event, Filter, index_memories
from reverie.mirror.shared_lines import ORIGIN
from reverie.pipeline.event_reader import WorkContext
from reverie.porting.conversation_import import (
    SESSIONS,
    ConversationIntake,
    ConversationReport,
    describe_conversations,
)
from reverie.porting.importers import ImportFormat, choose_format
from reverie.porting.importers.import_plan import ImportPlan, ImportTarget, plan_import
from reverie.porting.importers.import_records import (
    BadRecord,
    ConversationRecord,
    DeedRecord,
    ImportItem,
    ImportRemark,
    ReadingContext,
)
from reverie.privacy.redacted_text import redact_short_text
from reverie.storage import Store

# deeds of a space
NO_LIMIT = 1_000_000_000
DEED_VERBS = (TOOL, FILE)


class ImportOutcome(NamedTuple):
    """What was imported, or would be."""

    system: str
    plan: ImportPlan
    event: int = 0  # what `undo` takes; 0 where nothing is new
    talk: ConversationReport = ConversationReport()  # of conversations in it


class ImportOptions(NamedTuple):
    """How something is taken in."""

    trusted: bool = False  # the user says that it is their own
    dry_run: bool = False
    on_item: Callable[[int], object] | None = None  # hears how many records were read


def import_memories(
    work: WorkContext,
    path: Path,
    system: str,
    space: str,
    folders: tuple[Path, ...],
    options: ImportOptions,
) -> ImportOutcome:
    """Read a file or folder and take in what is new."""
    trusted, dry_run, on_item = options
    form, zone, store = choose_format(path, system), work.zone(), work.store
    intake = ConversationIntake(work, form.name, space, trusted=trusted, dry_run=dry_run)
    items: list[ImportItem] = []
    for number, item in enumerate(form.read(path, ReadingContext(zone, folders)), start=1):
        if on_item is not None:
            on_item(number)
        if not isinstance(item, ConversationRecord):
            items.append(item)
        elif (bad := intake.take(item)) is not None:
            items.append(bad)
    talk = intake.report
    items += map(ImportRemark, describe_conversations(talk))
    target = ImportTarget(form.name, space, work.now, zone, trusted, work.policy)
    # Before the plan: what comes after it is looked at again in the transaction.
    seen = store.last_event()
    plan = plan_against_store(store, items, target)
    if dry_run or not (plan.changes or plan.events or talk.sessions):
        return ImportOutcome(form.name, plan, talk=talk)
    with store.transaction():
        if is_overtaken(store, plan, seen, space):
            plan = plan_against_store(store, items, target)
        payload: dict[str, Any] = {
            "system": form.name,
            "from": redact_short_text(path.name, work.policy),
        }
        if talk.sessions:
            payload[SESSIONS] = talk.sessions
        cause = Event("import", space, work.now, payload=payload)
        # Deeds alone need no event of ours: they stand in the log as what they are.
        is_undoable = plan.changes or talk.sessions
        event = store.apply(plan.changes, cause) if is_undoable else 0
        store.append(plan.events)
        store_imported_vectors(store, plan)
    return ImportOutcome(form.name, plan, event, talk)


def plan_against_store(
    store: Store,
    items: Sequence[ImportItem],
    target: ImportTarget,
) -> ImportPlan:
    """Compare the items with the store: which are new, and what to do with each."""
    known_deeds = frozenset[str]()
    if any(isinstance(item, DeedRecord) for item in items):
        known_deeds = load_known_deeds(store, target.space)
    return plan_import(items, target, lambda ids: index_memories(store.get(ids)), known_deeds)


def is_overtaken(
    store: Store,
    plan: ImportPlan,
    seen: int,
    space: str,
) -> bool:
    """True if something of the plan has come in since the event `seen`."""
    deeds: Sequence[Event] = ()
    if plan.events:
        deeds = store.events(
            after=seen,
            verbs=DEED_VERBS,
            space=space,
            limit=NO_LIMIT,
        )
    return any(ORIGIN in event.payload for event in deeds) or bool(store.get(list(plan.hashes)))


class NeighbourImport(NamedTuple):
    """What another program remembers, where that program keeps it, beside our own."""

    path: Path
    done: ImportOutcome
    left: bool  # it was left, for where it would go there is something already

    @property
    def new(self) -> bool:
        """True if anything of it is, or was, not known here."""
        done = self.done
        return bool(done.plan.changes or done.plan.events or done.talk.conversations)


def import_neighbours(
    work: WorkContext,
    found: Sequence[tuple[ImportFormat, Path]],
    space: str,
    folders: tuple[Path, ...],
    *,
    trusted: bool,
    dry_run: bool,
) -> list[NeighbourImport]:
    """Import what lies there if nothing is remembered yet where it would go.

    What would mix is left. What cannot be read at all is one bad record, and keeps nobody from the
    others.
    """

    def import_one(
        form: ImportFormat,
        path: Path,
        dry_run: bool,
    ) -> ImportOutcome:
        try:
            return import_memories(
                work,
                path,
                form.name,
                space,
                folders,
                ImportOptions(trusted, dry_run),
            )
        except (BadInput, ExtraMissing, OSError) as err:
            return ImportOutcome(
                form.name,
                ImportPlan(bad=(BadRecord(path.name, str(err)),)),
            )

    # all are looked at before the first is taken in: what that brings keeps none of them out
    looks = [import_one(form, path, True) for form, path in found]
    mixed = [mixes_with_memories(work.store, look.plan) for look in looks]
    outcomes = []
    for (form, path), look, mixes in zip(found, looks, mixed, strict=True):
        done = look if dry_run or mixes else import_one(form, path, False)
        outcomes.append(NeighbourImport(path, done, mixes))
    return outcomes


def mixes_with_memories(store: Store, plan: ImportPlan) -> bool:
    """True if there is, or was, a memory in a space in which a plan adds some."""
    spaces = {one.memory.space for one in plan.changes if isinstance(one, Add)}
    return any(
        store.browse(
            Filter(
                spaces=(space,),
                active=None,
                limit=1,
            )
        )
        for space in spaces
    )


def load_known_deeds(store: Store, space: str) -> frozenset[str]:
    """The imported activity events that are in the log, as "system:name"."""
    events = store.search_events(
        DEED_VERBS,
        space=space,
        containing=(ORIGIN,),
        limit=NO_LIMIT,
    )
    origins = (event.payload.get(ORIGIN) for event in events)
    return frozenset(f"{one['system']}:{one['id']}" for one in origins if isinstance(one, dict))


def store_imported_vectors(store: Store, plan: ImportPlan) -> None:
    """Store the vectors that came with memories, of unit length, each under its model's name."""
    if not plan.vectors:
        return
    import numpy as np

    for model, by_id in plan.vectors.items():
        vectors = {}
        for id, values in by_id.items():
            vector = np.asarray(values, dtype=np.float32)
            length = float(np.linalg.norm(vector))
            # zeros, infinities and what is no number have no direction
            if 0 < length < np.inf:
                vectors[id] = vector / length
        store.put_vectors(
            model,
            vectors,
            {id: plan.hashes[id] for id in vectors},
        )
