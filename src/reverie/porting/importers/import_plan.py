"""From what a reader found to changes: who may see it, its id, and what is there already. Pure.

An id follows from the space and the name that a record has there, so that the same record is the
same memory whenever it is taken in, also by way of `reverie data share`. Secrets are taken out as
of any other text. Where the user says that a file is theirs (`trusted`), it is believed as far as
its program says who said what. Else what it holds is `untrusted`: it waits for approval, ranks low
and commands nobody (`privacy.untrusted_text`), and what it says was done enters no log.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.activity.activity_events import shorten_payload
from reverie.core.authorship import REVIEWER
from reverie.core.errors import BadInput, Refused
from reverie.core.model import (
    TRUST_BY_PROVENANCE,
    UNTRUSTED,
    Add,
    Change,
    Edge,
    Event,
    Fields,
    Link,
    Memory,
    Retire,
    Revise,
    visible_spaces,
)
from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.memory.memory_validation import (
    KIND,
    MAX_TAG_CHARS,
    MAX_TAGS,
    build_memory,
    equip_for_kind,
    to_clean_json,
)
from reverie.mirror.shared_lines import ORIGIN, derive_shared_id
from reverie.porting.importers.import_records import (
    BadRecord,
    DeedRecord,
    FoundRecord,
    ImportItem,
    ImportRemark,
)
from reverie.privacy import redact_value
from reverie.privacy.redacted_text import redact_short_text
from reverie.privacy.sensitive_files import drop_sensitive_contents
from reverie.privacy.untrusted_text import FOREIGN_MEMORIES, HEARD_FROM
from reverie.text.tokenization import fingerprint_text

# fields of a memory that use has made
USE_FIELDS = ("confidence", "strength", "reinforcements", "access_count", "last_accessed_at")
UNUSABLE_ERRORS = (BadInput, TypeError, ValueError, OverflowError)
# characters of a heading that is kept as a title
MAX_TITLE_CHARS = 120
NOT_UTF8_REMARK = (
    "its file is not UTF-8, or holds the sign for that: � stands for what could not be read"
)
# … and those that follow from who is believed: they change when the user says that a file is theirs
LIFTED_FIELDS = (*USE_FIELDS, "space", "kind", "provenance", "triggers", "trust", "salience")
# Why somebody here, and no rule, put a memory away: taking in twice must not bring that back.
PUT_AWAY_REASONS = ("forgotten", "undone")
# Remarks about single records, and names in one remark: more would bury those that matter.
MAX_REMARKS = 20

# gives those memories of some ids that the store has
LoadMemories = Callable[[Sequence[str]], Mapping[str, Memory]]


class ImportTarget(NamedTuple):
    """Where and as what something is taken in."""

    system: str
    space: str
    now: float
    zone: str
    trusted: bool = False
    policy: Policy = DEFAULT_POLICY


class ImportPlan(NamedTuple):
    """What an import will do."""

    changes: tuple[Change, ...] = ()
    events: tuple[Event, ...] = ()  # deeds for the log
    vectors: Mapping[str, Mapping[str, Sequence[float]]] = {}  # model → id → vector
    hashes: Mapping[str, bytes] = {}  # of the texts of the new memories
    known: int = 0  # records that were taken in before
    redacted: tuple[str, ...] = ()  # kinds of secrets that were taken out
    bad: tuple[BadRecord, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def kinds(self) -> dict[str, int]:
        """How many new memories there are of each kind."""
        added = (one.memory.kind for one in self.changes if isinstance(one, Add))
        return dict(Counter(added).most_common())

    @property
    def links(self) -> int:
        """How many links there are."""
        return sum(isinstance(one, Link) for one in self.changes)

    @property
    def lifted(self) -> int:
        """How many that were untrusted are believed from now on."""
        return sum(isinstance(one, Revise) for one in self.changes)


class PlannedRecord(NamedTuple):
    """A record, and the memory that it becomes, or that it became before."""

    found: FoundRecord
    memory: Memory
    new: bool = True
    copy: Memory | None = None  # what it became elsewhere while its file was not trusted


def plan_import(
    items: Iterable[ImportItem],
    target: ImportTarget,
    load: LoadMemories,
    known_deeds: frozenset[str],
) -> ImportPlan:
    """What to do with the items of a source.

    `load` gives those memories of some ids that the store has, `known_deeds` names the deeds in its
    log.
    """
    records: dict[str, FoundRecord] = {}
    events, bad, remarks = list[Event](), list[BadRecord](), list[str]()
    known = untold = 0
    for item in items:
        match item:
            case FoundRecord() if item.key in records:
                remarks.append(f"{item.where}: {item.key} stands there twice; the first was taken")
            case FoundRecord():
                records[item.key] = item
            case DeedRecord() if not target.trusted:
                untold += 1
            case DeedRecord() if f"{target.system}:{item.key}" in known_deeds:
                known += 1
            case DeedRecord():
                try:
                    events.append(build_deed_event(item, target))
                except UNUSABLE_ERRORS as err:
                    bad.append(BadRecord(item.where, str(err), isinstance(err, Refused)))
            case BadRecord():
                bad.append(item)
            case ImportRemark():
                remarks.append(item.text)
    if untold:
        remarks.append(
            f"{untold:,} runs of tools left out: only a trusted file tells what was done"
        )
    planned, unusable = match_records(records, target, load)
    plan = ImportPlan(
        events=tuple(events),
        known=known,
        bad=(*bad, *unusable),
        remarks=tuple(remarks),
    )
    return complete_plan(planned, target, plan)


def match_records(
    records: Mapping[str, FoundRecord],
    target: ImportTarget,
    load: LoadMemories,
) -> tuple[dict[str, PlannedRecord], list[BadRecord]]:
    """The records with their memories, and those that can be none.

    What is there already is not made again.
    """
    other = target._replace(trusted=not target.trusted)
    ids = {
        key: (make_record_id(one, target), make_record_id(one, other))
        for key, one in records.items()
    }
    old = load([id for both in ids.values() for id in both])
    planned: dict[str, PlannedRecord] = {}
    bad: list[BadRecord] = []
    for key, one in records.items():
        before, elsewhere = map(old.get, ids[key])
        if not target.trusted:
            before = before or elsewhere
        try:
            memory = before or build_record_memory(one, target)
            planned[key] = PlannedRecord(one, memory, before is None, elsewhere)
        except UNUSABLE_ERRORS as err:
            bad.append(BadRecord(one.where, str(err), isinstance(err, Refused)))
    return planned, bad


def complete_plan(
    planned: Mapping[str, PlannedRecord],
    target: ImportTarget,
    plan: ImportPlan,
) -> ImportPlan:
    """The plan with what becomes of the records."""
    ids = {key: one.memory.id for key, one in planned.items()}
    new = [one for one in planned.values() if one.new]
    before = [one for one in planned.values() if not one.new]
    new_ids = {one.memory.id for one in new}
    changes: list[Change] = []
    vectors: dict[str, dict[str, Sequence[float]]] = {}
    for one in new:
        memory = one.memory
        # A vector is of the very text: not if that was altered on the way in.
        for model, vector in one.found.vectors.items() if memory.text == one.found.text else ():
            vectors.setdefault(model, {})[memory.id] = vector
        newer = ids.get(one.found.newer)
        if newer not in (None, memory.id):
            memory = memory._replace(superseded_by=newer)
        changes.append(Add(memory=memory))
        if one.copy and is_liftable(one.copy):
            changes.append(Retire(one.copy.id, target.now, "superseded", memory.id))
    for one in before:
        if target.trusted and is_liftable(one.memory):
            changes += build_lift(one, target)
        # What came earlier steps back for what comes now, as its program says.
        newer = ids.get(one.found.newer, "")
        if newer in new_ids and one.memory.active and target.trusted:
            changes.append(Retire(one.memory.id, target.now, "superseded", newer))
    changes += plan_links(planned.values(), ids, new_ids)
    redacted = {kind for one in new for kind in one.memory.details.get("redacted", ())}
    return plan._replace(
        changes=tuple(changes),
        vectors=vectors,
        hashes={one.memory.id: fingerprint_text(one.memory.text) for one in new},
        known=plan.known + len(before),
        redacted=tuple(sorted(redacted)),
        remarks=(*plan.remarks, *list_odd_values(new), *list_altered_records(before, target)),
    )


def list_odd_values(new: Iterable[PlannedRecord]) -> list[str]:
    """What records say that could not be used; the records themselves were."""
    remarks = []
    for one in new:
        odd = list(one.found.odd)
        if "\ufffd" in one.found.text:
            odd.append(NOT_UTF8_REMARK)
        remarks += [f"{one.found.where}: {what}" for what in odd]
    left = len(remarks) - MAX_REMARKS
    return [*remarks[:MAX_REMARKS], f"And {left:,} more of such"] if left > 0 else remarks


def list_altered_records(before: Iterable[PlannedRecord], target: ImportTarget) -> list[str]:
    """What differs of the records that came earlier: other words there, or put away here."""
    gone, reworded = list[str](), list[str]()
    for one in before:
        if one.memory.retired_why in PUT_AWAY_REASONS and "retired_at" not in one.found.state:
            gone.append(one.memory.id)
        elif one.memory.text != one.found.text and is_altered_record(one, target):
            reworded.append(one.found.where)
    remarks = []
    if reworded:
        remarks.append(
            f"{len(reworded):,} of those that were there say something else in their file; "
            f"here they stay as they are: {join_first_names(reworded, ', ')}"
        )
    if gone:
        remarks.append(
            f"{len(gone):,} of those that were there have been put away here. "
            f"Back: reverie memory restore {join_first_names(gone, ' ')}, "
            "or reverie undo of what put them away"
        )
    return remarks


def is_altered_record(one: PlannedRecord, target: ImportTarget) -> bool:
    """True if a record says something else now, secrets apart."""
    try:
        return build_record_memory(one.found, target).text != one.memory.text
    except UNUSABLE_ERRORS:
        return True


def join_first_names(names: Sequence[str], separator: str) -> str:
    """The first of some names."""
    more = f"{separator}…" if len(names) > MAX_REMARKS else ""
    return separator.join(names[:MAX_REMARKS]) + more


def choose_record_space(found: FoundRecord, target: ImportTarget) -> str:
    """Who may see it: what is the user's own there is so here, unless the file is not trusted."""
    # What is not trusted is let into no space but the one that was named.
    is_own = found.personal and target.trusted
    return visible_spaces(target.space)[-1] if is_own else target.space


def make_record_id(found: FoundRecord, target: ImportTarget) -> str:
    """The id that a record has here."""
    return derive_shared_id(
        {"id": found.key},
        found.at or 0.0,
        choose_record_space(found, target),
    )


def build_record_memory(found: FoundRecord, target: ImportTarget) -> Memory:
    """A record as a memory: checked, free of secrets, with its past and where it comes from."""
    fields = {
        "provenance": "extracted",
        "kind": "fact",
        **found.fields,
    }
    state = {name: value for name, value in found.state.items() if value is not None}
    origin: dict[str, Any] = {
        "system": target.system,
        "id": found.key,
        "where": found.where,
    }
    if found.local:
        origin["zone"] = target.zone
    trust = fields.pop("trust", None)
    if trust is not None:
        # what it claims is how sure it is; how far it is believed depends on who says so
        state.setdefault("confidence", trust)
        fields["trust"] = min(trust, TRUST_BY_PROVENANCE[fields["provenance"]])
    if not target.trusted:
        fields, state, origin = disarm_untrusted(fields, state, origin)
    title = fields.get("title", "")
    description = {"description": title} if len(title) > MAX_TITLE_CHARS else {}
    fields |= {
        "kind": fields["kind"] if KIND.fullmatch(fields["kind"]) else "note",
        "title": title[:MAX_TITLE_CHARS],
        # Those that are too long are left out, and what is more than there may be.
        "tags": [tag for tag in fields.get("tags", ()) if len(tag.strip()) <= MAX_TAG_CHARS][
            :MAX_TAGS
        ],
        "details": {
            **description,
            **fields.get("details", {}),
            ORIGIN: origin,
        },
    }
    memory = build_memory(
        make_record_id(found, target),
        target.now,
        found.text,
        space=choose_record_space(found, target),
        at=found.at if found.at is not None else found.seen,
        **fields,
        policy=target.policy,
    )
    return equip_for_kind(memory, target.now, lambda: target.zone)._replace(**state)


def disarm_untrusted(
    fields: Fields,
    state: Fields,
    origin: Fields,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What a file that is not trusted may say: others wrote it, and somebody looks at it first."""
    details = {
        name: value for name, value in fields.get("details", {}).items() if name != "curated"
    }
    details |= {"maturity": "escalated", HEARD_FROM: FOREIGN_MEMORIES}
    return (
        {
            **fields,
            "provenance": UNTRUSTED,
            "trust": None,
            "details": details,
        },
        {name: value for name, value in state.items() if name not in USE_FIELDS},
        {**origin, "untrusted": True},
    )


def is_liftable(memory: Memory) -> bool:
    """True if it was taken in from a file that was not trusted, and has not been put away."""
    origin = memory.details.get(ORIGIN)
    is_foreign = isinstance(origin, Mapping) and bool(origin.get("untrusted"))
    return memory.active and memory.provenance == UNTRUSTED and is_foreign


def build_lift(one: PlannedRecord, target: ImportTarget) -> list[Change]:
    """A memory as what its file says, now that the file is trusted; who looked at it stays.

    Nothing where either says something else by now.
    """
    try:
        full = build_record_memory(one.found, target)
    except UNUSABLE_ERRORS:
        return []
    if full.text != one.memory.text:
        return []
    looked_at = {
        name: one.memory.details[name] for name in (REVIEWER,) if name in one.memory.details
    }
    fields = {name: getattr(full, name) for name in LIFTED_FIELDS}
    fields |= {"details": {**full.details, **looked_at}, "updated_at": target.now}
    return [Revise(one.memory.id, fields)]


def plan_links(
    planned: Iterable[PlannedRecord],
    ids: Mapping[str, str],
    new_ids: set[str],
) -> list[Link]:
    """Links between what is here, if one end is new; also to what steps back.

    What leads nowhere is left out.
    """
    best: dict[tuple[str, str, str], float] = {}
    for one in planned:
        id, newer = one.memory.id, ids.get(one.found.newer)
        stated = [(id, tie.rel, ids.get(tie.to), tie.weight) for tie in one.found.ties]
        for src, rel, dst, weight in (*stated, (newer, "supersedes", id, 1.0)):
            if not src or not dst or src == dst:
                continue
            # A link between two that were here may have been removed here.
            if new_ids & {src, dst} and 0 < weight <= 1:
                best[src, rel, dst] = max(
                    weight,
                    best.get((src, rel, dst), 0.0),
                )
    return [Link(edge=Edge(*key, weight=weight)) for key, weight in best.items()]


def build_deed_event(deed: DeedRecord, target: ImportTarget) -> Event:
    """An imported activity as an event of the log, without secrets."""
    origin = {"system": target.system, "id": deed.key}
    policy = target.policy.within(target.space)
    payload = {**drop_sensitive_contents(deed.payload, policy), ORIGIN: origin}
    redacted, _ = redact_value(to_clean_json(payload), policy)
    return Event(
        verb=deed.verb,
        space=target.space,
        at=deed.at,
        session=redact_short_text(deed.session, target.policy),
        payload=shorten_payload(redacted) if isinstance(redacted, dict) else {ORIGIN: origin},
    )
