"""From what a reader found to changes: who may see it, what it is called here, and what is there already. Pure.

An id follows from the space and the name that a record has there, so that the same record is the same memory whenever
it is taken in, also by way of `reverie share`. Secrets are taken out as of any other text. What somebody else's file
says is believed as far as its program says who said it; where whoever imports does not trust the file, it counts as
`untrusted`: it waits for approval, ranks low and commands nobody (`lifecycle.untrusted`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.errors import BadInput
from reverie.importing.nouns import USER, Bad, Deed, Found, Item, Remark
from reverie.lifecycle.intake import KIND, MOST_TAG, MOST_TAGS, built, cleaned, equipped, private
from reverie.lifecycle.untrusted import HEARD, THEIRS
from reverie.mirror.jsonl import ORIGIN, id_for
from reverie.model import TRUST, UNTRUSTED, Add, Change, Edge, Event, Link, Memory, lineage
from reverie.policy import USUAL, Policy
from reverie.privacy import redact_value
from reverie.privacy.sensitive import without_contents
from reverie.words import fingerprint

TITLE = 120        # characters of a heading that is kept as a title


class Into(NamedTuple):
    """Where and as what something is taken in."""

    system: str
    space: str
    now: float
    zone: str
    untrusted: bool = False
    policy: Policy = USUAL


class Plan(NamedTuple):
    """What an import will do."""

    changes: tuple[Change, ...] = ()
    events: tuple[Event, ...] = ()                              # deeds for the log
    vectors: Mapping[str, Mapping[str, Sequence[float]]] = {}   # model → id → vector
    hashes: Mapping[str, bytes] = {}                            # of the texts of the new memories
    known: int = 0                                              # records that were taken in before
    redacted: tuple[str, ...] = ()                              # kinds of secrets that were taken out
    bad: tuple[Bad, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def kinds(self) -> dict[str, int]:
        """How many new memories of each kind."""
        return dict(Counter(one.memory.kind for one in self.changes if isinstance(one, Add)).most_common())

    @property
    def links(self) -> int:
        """How many links."""
        return sum(isinstance(one, Link) for one in self.changes)


class Kept(NamedTuple):
    """A record, and the memory that it becomes."""

    found: Found
    memory: Memory


def planned(items: Iterable[Item], into: Into, there: Callable[[Sequence[str]], set[str]],
            done: frozenset[str]) -> Plan:
    """What to do. `there` tells which ids the store has, `done` names the deeds that are in its log."""
    kept: dict[str, Kept] = {}
    events, bad, remarks, known = list[Event](), list[Bad](), list[str](), 0
    for item in items:
        try:
            match item:
                case Found():
                    if item.key not in kept:
                        kept[item.key] = Kept(item, memory_of(item, into))
                    else:
                        remarks.append(f"{item.where}: {item.key} stands there twice; the first was taken")
                case Deed() if f"{into.system}:{item.key}" in done:
                    known += 1
                case Deed():
                    events.append(deed_of(item, into))
                case Bad():
                    bad.append(item)
                case Remark():
                    remarks.append(item.text)
        except (BadInput, TypeError, ValueError, OverflowError) as err:
            bad.append(Bad(item.where if isinstance(item, (Found, Deed)) else "", str(err)))
    ids = {key: one.memory.id for key, one in kept.items()}
    old = there(list(ids.values()))
    new = [one for one in kept.values() if one.memory.id not in old]
    memories = [following(one, ids) for one in new]
    vectors: dict[str, dict[str, Sequence[float]]] = {}
    for one in new:
        for model, vector in one.found.vectors.items() if one.memory.text == one.found.text else ():
            vectors.setdefault(model, {})[one.memory.id] = vector
    redacted = {kind for memory in memories for kind in memory.details.get("redacted", ())}
    return Plan((*(Add(memory=memory) for memory in memories), *links(kept.values(), ids, old)), tuple(events), vectors,
                {memory.id: fingerprint(memory.text) for memory in memories}, known + len(kept) - len(new),
                tuple(sorted(redacted)), tuple(bad), tuple(remarks))


def memory_of(found: Found, into: Into) -> Memory:
    """A record as a memory: checked, free of secrets, with its past and where it comes from."""
    space = lineage(into.space)[-1] if found.scope == USER else into.space
    fields = {"provenance": "extracted", "kind": "fact", **found.fields}
    state = {name: value for name, value in found.state.items() if value is not None}
    origin = {"system": into.system, "id": found.key, "where": found.where,
              **({"zone": into.zone} if found.at is not None else {})}
    sure = fields.pop("trust", None)
    if sure is not None:
        state.setdefault("confidence", sure)
        fields["trust"] = min(sure, TRUST[fields["provenance"]])
    if into.untrusted:
        fields, state, origin = disarmed(fields, state, origin)
    fields |= {"kind": fields["kind"] if KIND.fullmatch(fields["kind"]) else "note",
               "title": fields.get("title", "")[:TITLE], "tags": tags(fields.get("tags", ())),
               "details": {**fields.get("details", {}), ORIGIN: origin}}
    memory = built(id_for({"id": found.key}, found.at or 0.0, space), into.now, found.text, space=space,
                   at=found.at if found.at is not None else found.seen, **fields, policy=into.policy)
    return equipped(memory, into.now, lambda: into.zone)._replace(**state)


def disarmed(fields: Mapping[str, Any], state: Mapping[str, Any], origin: Mapping[str, Any],
             ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What a file that is not trusted may say: others wrote it, and somebody looks at it first."""
    details = {name: value for name, value in fields.get("details", {}).items() if name != "curated"}
    return ({**fields, "provenance": UNTRUSTED, "trust": None,
             "details": {**details, "maturity": "escalated", HEARD: THEIRS}},
            {name: value for name, value in state.items() if name not in ("confidence", "strength", "reinforcements")},
            {**origin, "untrusted": True})


def tags(given: Iterable[str]) -> list[str]:
    """Tags that fit: one that is too long, and what is more than there may be, is left out."""
    return [tag for tag in given if len(tag.strip()) <= MOST_TAG][:MOST_TAGS]


def following(one: Kept, ids: Mapping[str, str]) -> Memory:
    """The memory with its successor by the name that this has here."""
    newer = ids.get(one.found.newer)
    return one.memory if newer in (None, one.memory.id) else one.memory._replace(superseded_by=newer)


def links(kept: Iterable[Kept], ids: Mapping[str, str], old: set[str]) -> list[Link]:
    """Links between what is here, if one end is new. What leads nowhere is left out."""
    best: dict[tuple[str, str, str], float] = {}
    for one in kept:
        for tie in one.found.ties:
            src, dst = one.memory.id, ids.get(tie.to)
            if dst is not None and dst != src and not {src, dst} <= old and 0 < tie.weight <= 1:
                best[src, tie.rel, dst] = max(tie.weight, best.get((src, tie.rel, dst), 0.0))
    return [Link(edge=Edge(*key, weight=weight)) for key, weight in best.items()]


def deed_of(deed: Deed, into: Into) -> Event:
    """A deed as an event of the log, without secrets."""
    origin = {"system": into.system, "id": deed.key}
    safe, _ = redact_value(cleaned({**without_contents(deed.payload, into.policy), ORIGIN: origin}), into.policy)
    return Event(verb=deed.verb, space=into.space, at=deed.at, session=private(deed.session, into.policy),
                 payload=safe if isinstance(safe, dict) else {ORIGIN: origin})
