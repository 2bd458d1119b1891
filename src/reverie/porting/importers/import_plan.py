"""From what a reader found to changes: who may see it, what it is called here, and what is there
already. Pure.

An id follows from the space and the name that a record has there, so that the same record is the
same memory whenever it is taken in, also by way of `reverie share`. Secrets are taken out as of any
other text. What somebody else's file says is believed as far as its program says who said it; where
whoever imports does not trust the file, it counts as `untrusted`: it waits for approval, ranks low
and commands nobody (`lifecycle.untrusted`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.activity.activity_events import shorten_payload
from reverie.core.errors import BadInput, Refused
from reverie.core.model import (
    TRUST_BY_PROVENANCE,
    UNTRUSTED,
    Add,
    Change,
    Edge,
    Event,
    Link,
    Memory,
    Retire,
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
    USER,
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

# what use has made of it
USE_FIELDS = (
    "confidence",
    "strength",
    "reinforcements",
    "access_count",
    "last_accessed_at",
)
UNUSABLE_ERRORS = (BadInput, TypeError, ValueError, OverflowError)
MAX_TITLE_CHARS = 120  # characters of a heading that is kept as a title
NOT_UTF8_REMARK = (
    "its file is not UTF-8, or holds the sign for that: � stands for what could not be read"
)
PUT_AWAY_REASONS = ("forgotten", "undone")  # why somebody here, and no rule, put a memory away
MAX_REMARKS = 20  # remarks about single records, and names in one remark


class ImportTarget(NamedTuple):
    """Where and as what something is taken in."""

    system: str
    space: str
    now: float
    zone: str
    untrusted: bool = False
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
        """How many new memories of each kind."""
        return dict(
            Counter(one.memory.kind for one in self.changes if isinstance(one, Add)).most_common()
        )

    @property
    def links(self) -> int:
        """How many links."""
        return sum(isinstance(one, Link) for one in self.changes)


class PlannedRecord(NamedTuple):
    """A record, and the memory that it becomes, or that it became before."""

    found: FoundRecord
    memory: Memory
    new: bool = True


def plan_import(
    items: Iterable[ImportItem],
    into: ImportTarget,
    there: Callable[[Sequence[str]], Mapping[str, Memory]],
    done: frozenset[str],
) -> ImportPlan:
    """What to do. `there` gives those memories of some ids that the store has, `done` names the
    deeds in its log.
    """
    first: dict[str, FoundRecord] = {}
    events, bad, remarks, known = list[Event](), list[BadRecord](), list[str](), 0
    for item in items:
        try:
            match item:
                case FoundRecord() if item.key in first:
                    remarks.append(
                        f"{item.where}: {item.key} stands there twice; the first was taken"
                    )
                case FoundRecord():
                    first[item.key] = item
                case DeedRecord() if f"{into.system}:{item.key}" in done:
                    known += 1
                case DeedRecord():
                    events.append(build_deed_event(item, into))
                case BadRecord():
                    bad.append(item)
                case ImportRemark():
                    remarks.append(item.text)
        except UNUSABLE_ERRORS as err:
            bad.append(
                BadRecord(
                    item.where if isinstance(item, (FoundRecord, DeedRecord)) else "",
                    str(err),
                    isinstance(err, Refused),
                )
            )
    kept, worse = match_records(first, into, there)
    plan = ImportPlan(events=tuple(events), known=known, bad=(*bad, *worse), remarks=tuple(remarks))
    return complete_plan(kept, into, plan)


def match_records(
    first: Mapping[str, FoundRecord],
    into: ImportTarget,
    there: Callable[[Sequence[str]], Mapping[str, Memory]],
) -> tuple[dict[str, PlannedRecord], list[BadRecord]]:
    """The records with their memories, and those that can be none. What is there already is not
    made again.
    """
    ids = {key: make_record_id(one, into) for key, one in first.items()}
    old, kept, bad = there(list(ids.values())), dict[str, PlannedRecord](), list[BadRecord]()
    for key, one in first.items():
        try:
            before = old.get(ids[key])
            kept[key] = (
                PlannedRecord(one, build_record_memory(one, into))
                if before is None
                else PlannedRecord(one, before, new=False)
            )
        except UNUSABLE_ERRORS as err:
            bad.append(BadRecord(one.where, str(err), isinstance(err, Refused)))
    return kept, bad


def complete_plan(
    kept: Mapping[str, PlannedRecord], into: ImportTarget, plan: ImportPlan
) -> ImportPlan:
    """The plan with what becomes of the records."""
    ids = {key: one.memory.id for key, one in kept.items()}
    new = [one for one in kept.values() if one.new]
    before = [one for one in kept.values() if not one.new]
    memories = [with_successor(one, ids) for one in new]
    vectors: dict[str, dict[str, Sequence[float]]] = {}
    for one in new:
        for model, vector in one.found.vectors.items() if one.memory.text == one.found.text else ():
            vectors.setdefault(model, {})[one.memory.id] = vector
    redacted = {kind for memory in memories for kind in memory.details.get("redacted", ())}
    adds, steps = (
        [Add(memory=memory) for memory in memories],
        retire_superseded(before, new, ids, into),
    )
    return plan._replace(
        changes=(*adds, *steps, *plan_links(list(kept.values()), ids)),
        vectors=vectors,
        hashes={memory.id: fingerprint_text(memory.text) for memory in memories},
        known=plan.known + len(before),
        redacted=tuple(sorted(redacted)),
        remarks=(*plan.remarks, *list_odd_values(new), *list_altered_records(before, into)),
    )


def retire_superseded(
    before: Iterable[PlannedRecord],
    new: Iterable[PlannedRecord],
    ids: Mapping[str, str],
    into: ImportTarget,
) -> list[Retire]:
    """Memories that came earlier and step back for one that comes now, as their program says."""
    fresh = {one.memory.id for one in new}
    pairs = ((one.memory, ids.get(one.found.newer, "")) for one in before)
    return [
        Retire(id=memory.id, at=into.now, why="superseded", superseded_by=newer)
        for memory, newer in pairs
        if newer in fresh and memory.active and not into.untrusted
    ]


def list_odd_values(new: Iterable[PlannedRecord]) -> list[str]:
    """What records say that could not be used; the records themselves were."""
    said = [
        f"{one.found.where}: {what}"
        for one in new
        for what in (*one.found.odd, *([NOT_UTF8_REMARK] if "\ufffd" in one.found.text else []))
    ]
    return [
        *said[:MAX_REMARKS],
        *([f"And {len(said) - MAX_REMARKS:,} more of such"] if len(said) > MAX_REMARKS else []),
    ]


def list_altered_records(before: Iterable[PlannedRecord], into: ImportTarget) -> list[str]:
    """What of the records that came earlier is otherwise there than here: other words, or put away
    here.
    """
    gone, other = list[str](), list[str]()
    for one in before:
        if one.memory.retired_why in PUT_AWAY_REASONS and "retired_at" not in one.found.state:
            gone.append(one.memory.id)
        elif one.memory.text != one.found.text and is_altered_record(one, into):
            other.append(one.found.where)
    return [
        *(
            [
                f"{len(other):,} of those that were there say something else in their file; here they stay as they are: "
                f"{join_first_names(other, ', ')}"
            ]
            if other
            else []
        ),
        *(
            [
                f"{len(gone):,} of those that were there have been put away here. Back: reverie restore "
                f"{join_first_names(gone, ' ')}, or reverie undo of what put them away"
            ]
            if gone
            else []
        ),
    ]


def is_altered_record(one: PlannedRecord, into: ImportTarget) -> bool:
    """Whether a record says something else now, secrets apart."""
    try:
        return build_record_memory(one.found, into).text != one.memory.text
    except UNUSABLE_ERRORS:
        return True


def join_first_names(names: Sequence[str], between: str) -> str:
    """The first of some names."""
    return between.join(names[:MAX_REMARKS]) + (f"{between}…" if len(names) > MAX_REMARKS else "")


def choose_record_space(found: FoundRecord, into: ImportTarget) -> str:
    """Who may see it: what is the user's own there is so here, unless somebody else
    wrote the file.
    """
    return (
        visible_spaces(into.space)[-1] if found.scope == USER and not into.untrusted else into.space
    )


def make_record_id(found: FoundRecord, into: ImportTarget) -> str:
    """The id that a record has here."""
    return derive_shared_id({"id": found.key}, found.at or 0.0, choose_record_space(found, into))


def build_record_memory(found: FoundRecord, into: ImportTarget) -> Memory:
    """A record as a memory: checked, free of secrets, with its past and where it comes from."""
    fields = {"provenance": "extracted", "kind": "fact", **found.fields}
    state = {name: value for name, value in found.state.items() if value is not None}
    origin = {
        "system": into.system,
        "id": found.key,
        "where": found.where,
        **({"zone": into.zone} if found.local else {}),
    }
    sure = fields.pop("trust", None)
    if sure is not None:
        state.setdefault("confidence", sure)
        fields["trust"] = min(sure, TRUST_BY_PROVENANCE[fields["provenance"]])
    if into.untrusted:
        fields, state, origin = disarm_untrusted(fields, state, origin)
    title = fields.get("title", "")
    fields |= {
        "kind": fields["kind"] if KIND.fullmatch(fields["kind"]) else "note",
        "title": title[:MAX_TITLE_CHARS],
        "tags": keep_fitting_tags(fields.get("tags", ())),
        "details": {
            **({"description": title} if len(title) > MAX_TITLE_CHARS else {}),
            **fields.get("details", {}),
            ORIGIN: origin,
        },
    }
    memory = build_memory(
        make_record_id(found, into),
        into.now,
        found.text,
        space=choose_record_space(found, into),
        at=found.at if found.at is not None else found.seen,
        **fields,
        policy=into.policy,
    )
    return equip_for_kind(memory, into.now, lambda: into.zone)._replace(**state)


def disarm_untrusted(
    fields: Mapping[str, Any],
    state: Mapping[str, Any],
    origin: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What a file that is not trusted may say: others wrote it, and somebody looks at it first."""
    details = {
        name: value for name, value in fields.get("details", {}).items() if name != "curated"
    }
    return (
        {
            **fields,
            "provenance": UNTRUSTED,
            "trust": None,
            "details": {**details, "maturity": "escalated", HEARD_FROM: FOREIGN_MEMORIES},
        },
        {name: value for name, value in state.items() if name not in USE_FIELDS},
        {**origin, "untrusted": True},
    )


def keep_fitting_tags(given: Iterable[str]) -> list[str]:
    """Tags that fit: one that is too long, and what is more than there may be, is left out."""
    return [tag for tag in given if len(tag.strip()) <= MAX_TAG_CHARS][:MAX_TAGS]


def with_successor(one: PlannedRecord, ids: Mapping[str, str]) -> Memory:
    """The memory with its successor by the name that this has here."""
    newer = ids.get(one.found.newer)
    return (
        one.memory if newer in (None, one.memory.id) else one.memory._replace(superseded_by=newer)
    )


def plan_links(kept: Sequence[PlannedRecord], ids: Mapping[str, str]) -> list[Link]:
    """Links between what is here, if one end is new; also to what steps back. What leads nowhere is
    left out.
    """
    fresh = {one.memory.id for one in kept if one.new}
    best: dict[tuple[str, str, str], float] = {}
    for one in kept:
        id, newer = one.memory.id, ids.get(one.found.newer)
        said = [(id, tie.rel, ids.get(tie.to), tie.weight) for tie in one.found.ties]
        for src, rel, dst, weight in (*said, (newer, "supersedes", id, 1.0)):
            if src and dst and dst != src and fresh & {src, dst} and 0 < weight <= 1:
                best[src, rel, dst] = max(weight, best.get((src, rel, dst), 0.0))
    return [Link(edge=Edge(*key, weight=weight)) for key, weight in best.items()]


def build_deed_event(deed: DeedRecord, into: ImportTarget) -> Event:
    """A deed as an event of the log, without secrets."""
    origin = {"system": into.system, "id": deed.key}
    safe, _ = redact_value(
        to_clean_json({**drop_sensitive_contents(deed.payload, into.policy), ORIGIN: origin}),
        into.policy,
    )
    return Event(
        verb=deed.verb,
        space=into.space,
        at=deed.at,
        session=redact_short_text(deed.session, into.policy),
        payload=shorten_payload(safe) if isinstance(safe, dict) else {ORIGIN: origin},
    )
