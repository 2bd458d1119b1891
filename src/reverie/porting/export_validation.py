"""What may come in from an export: rows that are complete, well-formed, and free of secrets.

An imported text passes the same filter as any other: what `remember` would take out is taken out
here, and named in `details["redacted"]`. Clean rows pass unaltered, so that a round trip loses
nothing. A text that was altered loses its vector, which was made from the text before.

Nothing is half taken in: the first row that cannot be used raises BadInput with its number before
anything is written. Who would rather have the rest passes `SkippedRows` that skip: then bad rows
are left out, counted and named there, and with a memory go its edges and what calls it a successor,
so that what was taken in is whole by itself.

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
from reverie.core.foreign_numbers import MAX_INTEGER
from reverie.core.kinds import ANYBODY, kind_of
from reverie.core.model import RELATIONS, TRUST_BY_PROVENANCE, UNTRUSTED, Event, Memory, Revise
from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.memory.memory_validation import (
    redaction_kinds,
    refuse_personal_data,
    to_clean_json,
    validate_kind,
    validate_messages,
    validate_share,
    validate_space,
    validate_text,
)
from reverie.privacy import is_fully_redacted, redact_value
from reverie.privacy.sensitive_files import drop_sensitive_contents
from reverie.storage import Store

VERSION = 1
Row = dict[str, Any]

# The fields of a memory that hold somebody's words. The others are numbers, ids and names of ours.
WORD_FIELD_NAMES = """
    text title tags session speaker files triggers details reinforcements retired_why
"""
WORD_FIELDS = tuple(WORD_FIELD_NAMES.split())
TIME_FIELDS = ("at", "created_at", "updated_at")
OPTIONAL_TIME_FIELDS = ("last_accessed_at", "valid_from", "valid_to", "expires_at", "retired_at")
LIST_FIELDS = ("tags", "files", "triggers", "conflicts_with")
MEMORY_FIELDS = frozenset(Memory._fields)

# of a memory: it becomes part of names of files and of links
ID_PATTERN = re.compile(r"[A-Za-z0-9][\w.:-]{0,127}")
# seconds since 1970 of the years 1 to 9999, which a calendar can hold
TIME_RANGE = (-62_135_596_800, 253_402_300_800)
# characters of accepted rows; what is more waits on the disk
MAX_CHARS_IN_MEMORY = 8 << 20
# bad rows that are named one by one; a file of them would bury what matters
MAX_NAMED_ROWS = 20
# characters of a foreign name that a message shows
MAX_NAME_CHARS = 40
# Whatever a row of another shape makes the checks raise.
UNUSABLE_ERRORS = (BadInput, KeyError, TypeError, ValueError, AttributeError, RecursionError)


class BadRow(NamedTuple):
    """A row that was left out. The header is row 1."""

    row: int
    why: str


class ImportReport(NamedTuple):
    """What an import brought."""

    new: Mapping[str, int]  # how many of each type were not there before
    left_out: int = 0  # rows that could not be taken in
    bad: tuple[BadRow, ...] = ()  # the first 20 of them
    # what we have no place for, such as 'row type "dream"', and how often
    unknown: Mapping[str, int] = {}


@dataclass(slots=True)
class RowFilter:
    """What rows have to pass, and what of one import was left out."""

    # else the first bad row ends the import
    skips: bool = False
    # what is taken out of words
    policy: Policy = DEFAULT_POLICY
    # memories whose text was altered by that
    altered: set[str] = field(default_factory=set)
    # rows that were left out
    count: int = 0
    # types of rows and fields of a later version
    unknown: Counter[str] = field(default_factory=Counter)
    bad: list[BadRow] = field(default_factory=list)
    # memories among them
    ids: set[str] = field(default_factory=set)
    # of the memories that came in: id → superseded_by
    successors: dict[str, str] = field(default_factory=dict)

    def note_bad(
        self,
        number: int,
        row: Any,
        why: str,
    ) -> None:
        """Count a row that is left out."""
        self.count += 1
        if len(self.bad) < MAX_NAMED_ROWS:
            self.bad.append(BadRow(number, why))
        if isinstance(row, dict) and row.get("type") == "memory" and isinstance(row.get("id"), str):
            self.ids.add(row["id"])

    def note_unknown(self, what: str, name: object) -> None:
        """Count a type or a field that we have no place for."""
        self.unknown[f'{what} "{self.redact(name)[:MAX_NAME_CHARS]}"'] += 1

    def check_company(self, row: Row) -> None:
        """Raise BadInput if what a row is about was left out."""
        if row["type"] == "edge":
            gone = self.ids & {row["src"], row["dst"]}
            if gone:
                raise BadInput(f"{min(gone)} was left out")
        if row["type"] == "memory" and row.get("superseded_by"):
            self.successors[row["id"]] = row["superseded_by"]

    def orphans(self) -> list[str]:
        """Memories that came in and name a successor that did not."""
        return [id for id, newer in self.successors.items() if newer in self.ids]

    def redact(self, text: object) -> str:
        """A text without secrets."""
        redacted, _ = redact_value(to_clean_json(str(text)), self.policy)
        return str(redacted)


def accept_rows(
    rows: Iterable[Row | BadInput], row_filter: RowFilter | None = None
) -> Iterator[Row]:
    """The rows after the header, checked and redacted.

    A BadInput among the rows stands for one that could not be read.
    """
    incoming = enumerate(rows, start=1)
    _, first = next(incoming, (1, {}))
    check_header(first)
    row_filter = row_filter or RowFilter()
    for number, row in incoming:
        try:
            accepted = check_row(row, row_filter)
            if accepted is not None and row_filter.skips:
                row_filter.check_company(accepted)
        except UNUSABLE_ERRORS as err:
            why = f"{err.args[0]} is missing" if isinstance(err, KeyError) else str(err)
            if not row_filter.skips:
                raise BadInput(f"row {number} cannot be taken in: {why}") from err
            row_filter.note_bad(number, row, why)
            continue
        if accepted is not None:
            yield accepted


def check_row(row: Row | BadInput, row_filter: RowFilter) -> Row | None:
    """One row as it may come in; None for one that is not needed."""
    if isinstance(row, BadInput):
        raise row
    type = row.get("type", "")
    if type not in ROW_CHECKS:
        row_filter.note_unknown("row type", type)
        return None
    if type == "memory":
        for name in row.keys() - MEMORY_FIELDS - {"type"}:
            row_filter.note_unknown("field", name)
    return ROW_CHECKS[type](row, row_filter)


def load_export(
    store: Store,
    rows: Iterable[Row | BadInput],
    now: float,
    *,
    skip_bad: bool,
    policy: Policy,
) -> ImportReport:
    """Check all rows, then load them in one transaction.

    A memory whose successor was left out stays retired without one.
    """
    row_filter = RowFilter(skip_bad, policy)
    with SpooledTemporaryFile(MAX_CHARS_IN_MEMORY, "w+", encoding="utf-8") as waiting:
        # No transaction is open here: the rows may come from a slow pipe.
        for row in accept_rows(rows, row_filter):
            waiting.write(json.dumps(row) + "\n")
        waiting.seek(0)
        with store.transaction():
            new = store.load(map(json.loads, waiting))
            orphans = [
                memory
                for memory in store.get(row_filter.orphans())
                if memory.superseded_by and not store.get([memory.superseded_by])
            ]
            changes = [
                Revise(id=one.id, fields={"superseded_by": None, "updated_at": now})
                for one in orphans
            ]
            if changes:
                store.apply(
                    changes,
                    Event(
                        verb="import",
                        space=orphans[0].space,
                        at=now,
                    ),
                )
    # The store refuses more than rows by themselves can show:
    # an edge to a memory that is in neither place, for instance
    refused = new.pop("refused", 0)
    left_out = row_filter.count + refused
    return ImportReport(new, left_out, tuple(row_filter.bad), dict(row_filter.unknown))


def check_header(row: Row | BadInput) -> None:
    """Check the first row, which says what this is and which version wrote it."""
    if isinstance(row, BadInput):
        raise row
    if row.get("type") != "reverie" or not isinstance(row.get("version"), int):
        raise BadInput(
            "This is not an export of Reverie: its first row must be "
            '{"type": "reverie", "version": 1, …}'
        )
    if row["version"] > VERSION:
        raise BadInput(
            "This export was written by a newer Reverie "
            f"(format {row['version']}, here {VERSION}). "
            "Upgrade with: pip install --upgrade reverie"
        )


def check_memory_row(row: Row, row_filter: RowFilter) -> Row:
    """A memory as `remember` would have let it in."""
    id = require_row_text(row, "id")
    if not ID_PATTERN.fullmatch(id):
        shown = row_filter.redact(id)[:80]
        raise BadInput(f"{shown!r} is no id of a memory")
    row = {key: value for key, value in row.items() if key in MEMORY_FIELDS} | {"type": "memory"}
    validate_text(row["text"])
    validate_space(row["space"])
    validate_kind(row.get("kind", "fact"))
    check_times_and_shares(row)
    for key in LIST_FIELDS:
        check_text_list(row, key)
    for key, least in (("access_count", 0), ("strength", 1)):
        check_count(row, key, least)
    if row.get("messages"):
        row["messages"] = list(validate_messages(row["messages"]))
    if not isinstance(row.get("superseded_by"), str | None):
        raise BadInput("superseded_by must be an id")
    check_provenance(row)
    if not isinstance(row.get("details", {}), Mapping):
        raise BadInput("details must be an object")
    return redact_memory_row(row, row_filter, id)


def check_times_and_shares(row: Row) -> None:
    """Check the times and shares of a memory; times that are missing follow from others."""
    row.setdefault("created_at", row["at"])
    row.setdefault("updated_at", row["created_at"])
    for key in TIME_FIELDS:
        row[key] = require_timestamp(row, key)
    for key in OPTIONAL_TIME_FIELDS:
        if row.get(key) is not None:
            row[key] = require_timestamp(row, key)
    for key in ("trust", "confidence", "salience"):
        validate_share(row.get(key, 0.5), key)


def check_provenance(row: Row) -> None:
    """Check the provenance, and that an untrusted memory has no triggers or commanding kind."""
    if row.get("provenance", "observed") not in TRUST_BY_PROVENANCE:
        raise BadInput(f"{row['provenance']!r} is not a provenance")
    kind = row.get("kind", "fact")
    commands = row.get("triggers") or kind_of(kind).voice != ANYBODY
    if row.get("provenance") == UNTRUSTED and commands:
        raise BadInput(f"what is untrusted commands nobody: it has no triggers and is no {kind}")


def redact_memory_row(
    row: Row,
    row_filter: RowFilter,
    id: str,
) -> Row:
    """The memory with its words redacted; the very same values if there was nothing to take.

    BadInput if the policy refuses what is in them, or if nothing of the text would be left.
    """
    words = {key: row[key] for key in WORD_FIELDS if key in row}
    plain = to_clean_json(words)
    policy = row_filter.policy.within(row["space"])
    redacted, found = redact_value(plain, policy)
    # The same objects, so that a round trip gives the same bytes.
    if not found and plain == words:
        return row
    refuse_personal_data(found, policy)
    if not isinstance(redacted, dict):
        raise BadInput("its words are no object")
    if is_fully_redacted(str(redacted["text"])) and redacted["text"] != words["text"]:
        raise BadInput("all of its text is private")
    row |= redacted
    if found:
        details = row.get("details", {})
        kinds = sorted({*details.get("redacted", ()), *redaction_kinds(found)})
        row["details"] = {**details, "redacted": kinds}
    if row["text"] != words["text"]:
        row_filter.altered.add(id)
    return row


def check_event_row(row: Row, row_filter: RowFilter) -> Row:
    """Something that happened, and what it changed."""
    validate_space(row["space"])
    policy = row_filter.policy.within(row["space"])
    payload = dict(drop_sensitive_contents(row.get("payload") or {}, policy))
    redacted, _ = redact_value(to_clean_json(payload), policy)
    check_count(row, "seq", 1)
    return {
        "type": "event",
        "seq": row["seq"],
        "at": require_timestamp(row, "at"),
        "verb": require_row_text(row, "verb"),
        "space": row["space"],
        "session": row_filter.redact(row.get("session", "")),
        "payload": redacted,
        "changes": [check_change(item, policy) for item in row.get("changes", ())],
    }


def check_change(item: list[Any], policy: Policy) -> list[Any]:
    """[memory, place, op, before, after]; the last two are JSON texts that stay to the letter."""
    name, place, op, before, after = item
    is_known = op in ("add", "revise", "retire", "link")
    if not isinstance(name, str) or not isinstance(place, int) or not is_known:
        raise BadInput(f"a change is not as it should be: {[name, place, op]}")
    return [name, place, op, redact_json(before, policy), redact_json(after, policy)]


def redact_json(text: str | None, policy: Policy) -> str | None:
    """JSON text without secrets, untouched if there are none."""
    if text is None:
        return None
    value = json.loads(text)
    plain = to_clean_json(value)
    redacted, found = redact_value(plain, policy)
    if not found and plain == value:
        return text
    return json.dumps(
        redacted,
        ensure_ascii=False,
        separators=(",", ":"),
    )


def check_edge_row(row: Row, row_filter: RowFilter) -> Row:
    """A link of a known relation."""
    if row["rel"] not in RELATIONS:
        raise BadInput(f"{row['rel']!r} is not a relation")
    if not 0.0 < row["weight"] <= 1.0:
        raise BadInput("a weight must lie between 0 and 1")
    return {
        "type": "edge",
        "src": row_filter.redact(require_row_text(row, "src")),
        "rel": row["rel"],
        "dst": row_filter.redact(require_row_text(row, "dst")),
        "weight": float(row["weight"]),
    }


def check_vector_row(row: Row, row_filter: RowFilter) -> Row | None:
    """A vector, unless its text was altered on the way in."""
    import base64

    bytes.fromhex(require_row_text(row, "hash"))
    values = base64.b64decode(require_row_text(row, "vec"), validate=True)
    # four bytes a float32
    if not values or len(values) % 4:
        raise BadInput("a vector is not whole")
    # It was made from the text before, and would say where the secret lay.
    if row["id"] in row_filter.altered:
        return None
    return {
        **row,
        "id": require_row_text(row, "id"),
        "model": require_row_text(row, "model"),
    }


def check_cursor_row(row: Row, _row_filter: RowFilter) -> Row:
    """How far a reader had come."""
    check_count(row, "seq", 0)
    return {
        "type": "cursor",
        "name": require_row_text(row, "name"),
        "seq": row["seq"],
    }


ROW_CHECKS: dict[str, Callable[[Row, RowFilter], Row | None]] = {
    "memory": check_memory_row,
    "event": check_event_row,
    "edge": check_edge_row,
    "vector": check_vector_row,
    "cursor": check_cursor_row,
}


def require_row_text(row: Row, key: str) -> str:
    """A field that must be a text with something in it."""
    value = row[key]
    if not isinstance(value, str) or not value:
        raise BadInput(f"{key} must be a text")
    return value


def check_text_list(row: Row, key: str) -> None:
    """Check a field that must be a list of texts, if it is there."""
    values = row.get(key) or ()
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, str) for value in values):
        raise BadInput(f"{key} must be a list of texts")


def check_count(
    row: Row,
    key: str,
    least: int,
) -> None:
    """Check a field that must be a whole number, if it is there."""
    value = row.get(key, least)
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not least <= value <= MAX_INTEGER:
        raise BadInput(f"{key} must be a whole number from {least} to {MAX_INTEGER:,}")


def require_timestamp(row: Row, key: str) -> float:
    """A field that must be a timestamp; left as it is, so that it comes back the same."""
    value: float = row[key]
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    first, end = TIME_RANGE
    if not is_number or not first <= value < end:
        raise BadInput(f"{key} must be a moment of the years 1 to 9999, in seconds since 1970")
    return value
