"""What may come in from an export: rows that are complete, well-formed, and free of secrets.

An imported text passes the same filter as any other: what `remember` would take out is taken out
here, and named in `details["redacted"]`. Clean rows pass unaltered, so that a round trip loses
nothing (CC-90). A text that was altered loses its vector, which was made from the text before.

Nothing is half taken in: the first row that cannot be used raises BadInput with its number before
anything is written. Who would rather have the rest passes a `LeftOut` that skips: then bad rows are
left out, counted and named there, and with a memory go its edges and what calls it a successor, so
that what was taken in is whole by itself (CC-9).

Reading, checking and redaction happen before anybody has to wait: what is accepted lies in a
temporary file, nameless where the system allows it, until one transaction takes it in. A file may
come as slowly as it likes.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import HIGHEST
from reverie.core.kinds import ANYBODY, kind_of
from reverie.core.model import RELATIONS, TRUST, UNTRUSTED, Event, Memory, Revise
from reverie.core.privacy_policy import USUAL, Policy
from reverie.memory.memory_validation import (
    check_kept,
    checked_kind,
    checked_messages,
    checked_space,
    checked_text,
    cleaned,
    spent,
    unit,
)
from reverie.privacy import only_private, redact_value
from reverie.privacy.sensitive_files import without_contents
from reverie.storage import Store

VERSION = 1
Row = dict[str, Any]

# The fields of a memory that hold somebody's words. The others are numbers, ids and names of ours.
WORDS = (
    "text",
    "title",
    "tags",
    "session",
    "speaker",
    "files",
    "triggers",
    "details",
    "reinforcements",
    "retired_why",
)
NUMBERS = ("at", "created_at", "updated_at")
MAYBE_NUMBERS = ("last_accessed_at", "valid_from", "valid_to", "expires_at", "retired_at")
LISTS = ("tags", "files", "triggers", "conflicts_with")
KNOWN = frozenset(Memory._fields)


# of a memory: it becomes part of names of files and of links
ID = re.compile(r"[A-Za-z0-9][\w.:-]{0,127}")
# seconds since 1970 of the years 1 to 9999, which a calendar can hold
TIMES = (
    -62_135_596_800,
    253_402_300_800,
)
IN_MEMORY = 8 << 20  # characters of accepted rows; what is more waits on the disk
NAMED = 20  # bad rows that are named one by one; a file of them would bury what matters
UNUSABLE = (BadInput, KeyError, TypeError, ValueError, AttributeError, RecursionError)


class BadRow(NamedTuple):
    """A row that was left out. The header is row 1."""

    row: int
    why: str


class Imported(NamedTuple):
    """What an import brought."""

    new: Mapping[str, int]  # how many of each type were not there before
    left_out: int = 0  # rows that could not be taken in
    bad: tuple[BadRow, ...] = ()  # the first 20 of them
    # what we have no place for, such as 'row type "dream"', and how often
    unknown: Mapping[str, int] = {}


class Filtered(NamedTuple):
    """What is taken out of the words that come in, and the memories whose text was
    altered by that.
    """

    policy: Policy
    altered: set[str]


@dataclass(slots=True)
class LeftOut:
    """What of one import was left out."""

    skips: bool = True  # else the first bad row ends the import
    count: int = 0
    # types of rows and fields of a later version
    unknown: Counter[str] = field(default_factory=Counter)
    bad: list[BadRow] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)  # memories among them
    # of the memories that came in: id → superseded_by
    successors: dict[str, str] = field(default_factory=dict)

    def note(self, number: int, row: Any, why: str) -> None:
        """One more."""
        self.count += 1
        if len(self.bad) < NAMED:
            self.bad.append(BadRow(number, why))
        if isinstance(row, dict) and row.get("type") == "memory" and isinstance(row.get("id"), str):
            self.ids.add(row["id"])

    def passed(self, row: Row) -> Row:
        """A row that is whole in itself, if what it is about was not left out."""
        if row["type"] == "edge" and (gone := self.ids & {row["src"], row["dst"]}):
            raise BadInput(f"{min(gone)} was left out")
        if row["type"] == "memory" and row.get("superseded_by"):
            self.successors[row["id"]] = row["superseded_by"]
        return row

    def orphans(self) -> list[str]:
        """Memories that came in and name a successor that did not."""
        return [id for id, newer in self.successors.items() if newer in self.ids]


def accepted(
    rows: Iterable[Row | BadInput], left_out: LeftOut | None = None, policy: Policy = USUAL
) -> Iterator[Row]:
    """The rows after the header, checked and without secrets. A BadInput stands for a row that
    could not be read.
    """
    incoming = enumerate(rows, start=1)
    header(next(incoming, (1, {}))[1])
    left_out = left_out or LeftOut(skips=False)
    filtered = Filtered(policy, set())
    for number, row in incoming:
        try:
            taken = checked(row, filtered, left_out.unknown)
            if taken is not None and left_out.skips:
                taken = left_out.passed(taken)
        except UNUSABLE as err:
            why = f"{err.args[0]} is missing" if isinstance(err, KeyError) else str(err)
            if not left_out.skips:
                raise BadInput(f"row {number} cannot be taken in: {why}") from err
            left_out.note(number, row, why)
            continue
        if taken is not None:
            yield taken


def checked(row: Row | BadInput, filtered: Filtered, unknown: Counter[str]) -> Row | None:
    """One row as it may come in; None for one that is not needed."""
    if isinstance(row, BadInput):
        raise row
    type = row.get("type", "")
    if type not in CHECKS:
        unknown[f'row type "{clean_text(type, filtered.policy)[:40]}"'] += 1
        return None
    if type == "memory":
        unknown.update(
            f'field "{clean_text(name, filtered.policy)[:40]}"'
            for name in row.keys() - KNOWN - {"type"}
        )
    return CHECKS[type](row, filtered)


def taken_in(
    store: Store,
    rows: Iterable[Row | BadInput],
    now: float,
    *,
    skip_bad: bool,
    policy: Policy = USUAL,
) -> Imported:
    """Check all rows, then load them in one transaction. Who names a successor that was left out
    stays retired without one.
    """
    left_out = LeftOut(skips=skip_bad)
    with SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8") as waiting:
        for row in accepted(rows, left_out, policy):
            waiting.write(json.dumps(row) + "\n")
        waiting.seek(0)
        with store.alone():
            new = store.load(map(json.loads, waiting))
            lone = [
                m
                for m in store.get(left_out.orphans())
                if m.superseded_by and not store.get([m.superseded_by])
            ]
            changes = [
                Revise(id=one.id, fields={"superseded_by": None, "updated_at": now}) for one in lone
            ]
            if changes:
                store.apply(changes, Event(verb="import", space=lone[0].space, at=now))
    refused = new.pop("refused", 0)  # an edge to a memory that is in neither place, for instance
    return Imported(new, left_out.count + refused, tuple(left_out.bad), dict(left_out.unknown))


def header(row: Row | BadInput) -> None:
    """The first row says what this is and which version wrote it."""
    if isinstance(row, BadInput):
        raise row
    if row.get("type") != "reverie" or not isinstance(row.get("version"), int):
        raise BadInput(
            'This is not an export of Reverie: its first row must be {"type": "reverie", "version": 1, …}'
        )
    if row["version"] > VERSION:
        raise BadInput(
            f"This export was written by a newer Reverie (format {row['version']}, here {VERSION}). "
            "Upgrade with: pip install --upgrade reverie"
        )


def memory(row: Row, filtered: Filtered) -> Row:
    """A memory as `remember` would have let it in."""
    name = text_of(row, "id")
    if not ID.fullmatch(name):
        raise BadInput(f"{clean_text(name, filtered.policy)[:80]!r} is no id of a memory")
    row = {key: value for key, value in row.items() if key in KNOWN} | {"type": "memory"}
    checked_text(row["text"])
    checked_space(row["space"])
    checked_kind(row.get("kind", "fact"))
    row.setdefault("created_at", row["at"])
    row.setdefault("updated_at", row["created_at"])
    for key in NUMBERS:
        row[key] = number_of(row, key)
    for key in MAYBE_NUMBERS:
        if row.get(key) is not None:
            row[key] = number_of(row, key)
    for key in ("trust", "confidence", "salience"):
        unit(row.get(key, 0.5), key)
    for key in LISTS:
        texts_of(row, key)
    for key, least in (("access_count", 0), ("strength", 1)):
        count_of(row, key, least)
    if row.get("messages"):
        row["messages"] = list(checked_messages(row["messages"]))
    if not isinstance(row.get("superseded_by"), str | None):
        raise BadInput("superseded_by must be an id")
    if row.get("provenance", "observed") not in TRUST:
        raise BadInput(f"{row['provenance']!r} is not a provenance")
    commands = row.get("triggers") or kind_of(row.get("kind", "fact")).voice != ANYBODY
    if row.get("provenance") == UNTRUSTED and commands:
        raise BadInput(
            f"what is untrusted commands nobody: it has no triggers and is no {row.get('kind', 'fact')}"
        )
    if not isinstance(row.get("details", {}), Mapping):
        raise BadInput("details must be an object")
    return without_secrets(row, filtered, name)


def without_secrets(row: Row, filtered: Filtered, name: str) -> Row:
    """The memory with its words cleaned; the very same values where there was nothing to take.

    BadInput where the policy refuses what is in them, or where nothing of the text would be left.
    """
    said = {key: row[key] for key in WORDS if key in row}
    plain = cleaned(said)
    kept, found = redact_value(plain, filtered.policy)
    if not found and plain == said:
        return row
    check_kept(found, filtered.policy)
    if not isinstance(kept, dict):
        raise BadInput("its words are no object")
    if only_private(str(kept["text"])) and kept["text"] != said["text"]:
        raise BadInput("all of its text is private")
    row |= kept
    if found:
        before = row.get("details", {}).get("redacted", ())
        row["details"] = {**row.get("details", {}), "redacted": sorted({*before, *spent(found)})}
    if row["text"] != said["text"]:
        filtered.altered.add(name)
    return row


def event(row: Row, filtered: Filtered) -> Row:
    """Something that happened, and what it changed."""
    checked_space(row["space"])
    told = without_contents(row.get("payload") or {}, filtered.policy)
    payload, _ = redact_value(cleaned(dict(told)), filtered.policy)
    count_of(row, "seq", 1)
    return {
        "type": "event",
        "seq": row["seq"],
        "at": number_of(row, "at"),
        "verb": text_of(row, "verb"),
        "space": row["space"],
        "session": clean_text(row.get("session", ""), filtered.policy),
        "payload": payload,
        "changes": [change(item, filtered.policy) for item in row.get("changes", ())],
    }


def change(item: list[Any], policy: Policy) -> list[Any]:
    """[memory, place, op, before, after]; the last two are JSON texts and come back to
    the letter.
    """
    name, place, op, before, after = item
    if (
        not isinstance(name, str)
        or not isinstance(place, int)
        or op not in ("add", "revise", "retire", "link")
    ):
        raise BadInput(f"a change is not as it should be: {[name, place, op]}")
    return [name, place, op, clean_json(before, policy), clean_json(after, policy)]


def clean_json(text: str | None, policy: Policy) -> str | None:
    """JSON text without secrets, untouched if there are none."""
    if text is None:
        return None
    value = json.loads(text)
    plain = cleaned(value)
    kept, found = redact_value(plain, policy)
    return (
        text
        if not found and plain == value
        else json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    )


def edge(row: Row, filtered: Filtered) -> Row:
    """A link of a known relation."""
    if row["rel"] not in RELATIONS:
        raise BadInput(f"{row['rel']!r} is not a relation")
    if not 0.0 < row["weight"] <= 1.0:
        raise BadInput("a weight must lie between 0 and 1")
    return {
        "type": "edge",
        "src": clean_text(text_of(row, "src"), filtered.policy),
        "rel": row["rel"],
        "dst": clean_text(text_of(row, "dst"), filtered.policy),
        "weight": float(row["weight"]),
    }


def vector(row: Row, filtered: Filtered) -> Row | None:
    """A vector, unless its text was altered on the way in."""
    import base64

    bytes.fromhex(text_of(row, "hash"))
    values = base64.b64decode(text_of(row, "vec"), validate=True)
    if not values or len(values) % 4:
        raise BadInput("a vector is not whole")
    return (
        None
        if row["id"] in filtered.altered
        else {**row, "id": text_of(row, "id"), "model": text_of(row, "model")}
    )


def cursor(row: Row, _filtered: Filtered) -> Row:
    """How far a reader had come."""
    count_of(row, "seq", 0)
    return {"type": "cursor", "name": text_of(row, "name"), "seq": row["seq"]}


CHECKS: dict[str, Callable[[Row, Filtered], Row | None]] = {
    "memory": memory,
    "event": event,
    "edge": edge,
    "vector": vector,
    "cursor": cursor,
}


def text_of(row: Row, key: str) -> str:
    """A field that must be a text with something in it."""
    value = row[key]
    if not isinstance(value, str) or not value:
        raise BadInput(f"{key} must be a text")
    return value


def clean_text(text: str, policy: Policy) -> str:
    """A text without secrets."""
    kept, _ = redact_value(cleaned(str(text)), policy)
    return str(kept)


def texts_of(row: Row, key: str) -> None:
    """A field that must be a list of texts."""
    values = row.get(key) or ()
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, str) for value in values):
        raise BadInput(f"{key} must be a list of texts")


def count_of(row: Row, key: str, least: int) -> None:
    """A field that must be a whole number, if it is there."""
    value = row.get(key, least)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= HIGHEST:
        raise BadInput(f"{key} must be a whole number from {least} to {HIGHEST:,}")


def number_of(row: Row, key: str) -> float:
    """A field that must be a moment; left as it is, so that it comes back the same."""
    value: float = row[key]
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not TIMES[0] <= value < TIMES[1]
    ):
        raise BadInput(f"{key} must be a moment of the years 1 to 9999, in seconds since 1970")
    return value
