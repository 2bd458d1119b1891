"""Memories as lines of JSON, in the format of jaato's document: one object a line, for a team to
commit.

    {"id": "mem_…", "content": "…", "description": "…", "tags": ["…"], "timestamp":
     "2026-03-01T09:15:00", "usage_count": 3, "last_accessed": null}

Written are these seven names, `generated_by` and `curated_by` where it is known who wrote something
and who looked at it, and `provenance` of what is believed less than what was extracted; read are
also those of later versions (maturity, confidence, evidence, …). Times are meant in the time zone
of the machine that reads or writes them, as that format has it. What cannot be read, and names that
we do not know, are kept as they stand: nothing is lost by going through here.

`SharedFile.text` of what was read is what was read, but for line ends. Pure: bytes in, values out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from reverie.core.authorship import from_jaato_stamps, to_jaato_stamps
from reverie.core.clock import derive_id
from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import to_fraction
from reverie.core.kinds import MATURITIES, is_conversation_turn, is_mature, kind_of
from reverie.core.model import TRUST_BY_PROVENANCE, UNTRUSTED, Fields, Memory
from reverie.mirror.page_placement import EARLIEST, LATEST
from reverie.text.personal_matters import is_personal
from reverie.text.tokenization import fingerprint_text, shorten_line

SYSTEM = "jaato"
# in a memory's details: {"system", "id", "zone"}
ORIGIN = "imported_from"
OUR_ID = re.compile(r"mem_[0-9a-hjkmnp-tv-z]{26}")
CONFLICT_MARK = re.compile(r"(?:<{7}|={7}|>{7}|\|{7})(?:\s|$)")
# characters of a description that is made up
MAX_DESCRIPTION_CHARS = 100
# a tag of what its owner wants to share though it is about a person
SHARE_TAG = "share-with-team"
# in details, of what others wrote: where we have it from
HEARD, SHARED = "heard_from", "a shared file"


class SharedLine(NamedTuple):
    """One line of a file: a record, or what could not be read and why."""

    raw: str
    record: Fields
    why: str = ""

    @property
    def id(self) -> str:
        """The record's id; "" for none."""
        return "" if self.why else str(self.record["id"])


class SharedFile(NamedTuple):
    """A file of such lines."""

    lines: tuple[SharedLine, ...] = ()

    @property
    def records(self) -> dict[str, Fields]:
        """Records by id; of several with one id the last, as after a merge of both sides."""
        return {line.id: line.record for line in self.lines if not line.why}

    @property
    def broken(self) -> list[tuple[int, str]]:
        """(number, why) of the lines that could not be read."""
        return [(number, line.why) for number, line in enumerate(self.lines, start=1) if line.why]

    @property
    def has_conflict(self) -> bool:
        """True if a merge left its marks."""
        return any(CONFLICT_MARK.match(line.raw) for line in self.lines)

    @property
    def text(self) -> str:
        """The file as it is written."""
        return "".join(f"{line.raw}\n" for line in self.lines)


def parse_shared_file(data: bytes) -> SharedFile:
    """A file's lines; empty ones do not count."""
    # Only \n ends a line when the file is written. So a \r at a line's end goes, however many there
    # are, and a byte order mark at its beginning, or the next reading would find other lines.
    raws = [
        raw.lstrip("\ufeff").rstrip("\r") for raw in data.decode("utf-8", "replace").split("\n")
    ]
    return SharedFile(tuple(parse_shared_line(raw) for raw in raws if raw.strip()))


def parse_shared_line(raw: str) -> SharedLine:
    """One line: its record, or why it is none."""
    try:
        record = json.loads(raw)
        if not isinstance(record, dict):
            raise BadInput("it is no object")
        for name in ("id", "content"):
            if not isinstance(record.get(name), str) or not record[name].strip():
                raise BadInput(f"{name} is missing")
        if not isinstance(record.get("tags", []), list):
            raise BadInput("tags is no list")
    except (ValueError, RecursionError) as err:
        return SharedLine(raw, {}, str(err).splitlines()[0])
    return SharedLine(raw, record)


def render_shared_line(record: Fields) -> SharedLine:
    """A record as a line."""
    return SharedLine(json.dumps(record, ensure_ascii=False), record)


def is_shareable(memory: Memory) -> bool:
    """True if a memory is knowledge that a team shares.

    Facts, decisions, procedures and the like that count and have proved themselves; not the user's
    preferences, nothing about a person's private matters, not what was said, happened or is to be
    done. What others wrote is theirs to share: it belongs where it came from a shared file. So is
    what somebody tagged SHARE_TAG, and what stands in the file by hand.
    """
    came_from_file = memory.details.get(HEARD) == SHARED
    if memory.provenance == UNTRUSTED:
        return memory.active and came_from_file
    kind = kind_of(memory.kind)
    return (
        memory.active
        and kind.type in ("semantic", "procedural")
        and is_mature(memory)
        and kind.shared
        and not is_conversation_turn(memory)
        and (came_from_file or SHARE_TAG in memory.tags or not is_private(memory))
    )


def is_private(memory: Memory) -> bool:
    """True if a memory says something of a person's private matters."""
    return is_personal(f"{memory.title}\n{memory.text}" if memory.title else memory.text)


def shared_name(memory: Memory) -> str:
    """What a memory is called in a file: what it was called where it came from, or its id."""
    origin = memory.details.get(ORIGIN)
    known = origin if isinstance(origin, Mapping) and origin.get("system") == SYSTEM else {}
    return str(known.get("id") or memory.id)


def to_shared_record(memory: Memory, zone: str) -> dict[str, Any]:
    """A memory as a record, its times in this zone."""
    last_accessed = memory.last_accessed_at
    record: dict[str, Any] = {
        "id": shared_name(memory),
        "content": memory.text,
        "description": memory.title or shorten_line(memory.text, MAX_DESCRIPTION_CHARS),
        "tags": list(memory.tags),
        "timestamp": to_local_iso(memory.at, zone),
        "usage_count": memory.access_count,
        "last_accessed": None if last_accessed is None else to_local_iso(last_accessed, zone),
        **to_jaato_stamps(memory),
    }
    if TRUST_BY_PROVENANCE[memory.provenance] < TRUST_BY_PROVENANCE["extracted"]:
        record["provenance"] = memory.provenance
    return record


def digest_record(record: Fields) -> str:
    """A digest of what a record says; who used it and when is not part of that."""
    # Their order and case make no difference, so another program may sort them.
    tags = sorted({str(tag).strip().lower() for tag in record.get("tags") or ()})
    said = [
        record.get("content"),
        record.get("description")
        or shorten_line(str(record.get("content")), MAX_DESCRIPTION_CHARS),
        tags,
    ]
    return fingerprint_text(json.dumps(said)).hex()[:32]


def derive_shared_id(
    record: Fields,
    at: float,
    space: str,
) -> str:
    """The id a record gets here: its own if it is ours, else derived from it and the space."""
    name = str(record["id"])
    return name if OUR_ID.fullmatch(name) else derive_id(f"{space}\n{name}", at)


def from_shared_record(record: Fields, zone: str) -> dict[str, Any]:
    """A record as the fields of a memory."""
    name, state = str(record["id"]), record.get("maturity")
    details: dict[str, Any] = {"evidence": record["evidence"]} if record.get("evidence") else {}
    if state in MATURITIES and state in ("validated", "escalated"):
        details["maturity"] = state
    details |= from_jaato_stamps(record)
    claimed = record.get("provenance")
    # Whoever writes the file again has to call it what it was called.
    if not OUR_ID.fullmatch(name):
        details[ORIGIN] = {
            "system": SYSTEM,
            "id": name,
            "zone": zone,
        }
    return {
        "text": record["content"],
        "title": str(record.get("description") or ""),
        "tags": [str(tag) for tag in record.get("tags") or ()],
        "at": parse_local_time(record.get("timestamp"), zone),
        "details": details,
        "trust": to_fraction(record.get("confidence"), None),
        "provenance": claimed if claimed in ("inferred", UNTRUSTED) else "extracted",
    }


def is_dismissed(record: Fields) -> bool:
    """True if somebody put the record away in the other system."""
    return record.get("maturity") == "dismissed"


def to_local_iso(at: float, zone: str) -> str:
    """A time as the format has it: ISO 8601 on the wall's clock, without a zone."""
    from zoneinfo import ZoneInfo

    when = datetime.fromtimestamp(
        min(max(at, EARLIEST + 86_400), LATEST - 86_400),
        UTC,
    )
    return when.astimezone(ZoneInfo(zone)).replace(tzinfo=None).isoformat()


def parse_local_time(text: object, zone: str) -> float | None:
    """A time of the format; None for what is none."""
    from zoneinfo import ZoneInfo

    try:
        when = datetime.fromisoformat(str(text))
        return (when if when.tzinfo else when.replace(tzinfo=ZoneInfo(zone))).timestamp()
    except (ValueError, OverflowError):
        return None


def merge_shared_file(
    page: SharedFile,
    ours: Iterable[Fields],
    gone: Collection[str],
) -> SharedFile:
    """The file with our records; those of `gone` leave.

    Lines that say the same stay to the letter, others are replaced in their place, new ones follow
    at the end. Of several lines with one id the last stays.
    """
    wanted = {str(record["id"]): record for record in ours}
    last = {line.id: place for place, line in enumerate(page.lines) if not line.why}
    lines = []
    for place, line in enumerate(page.lines):
        if line.why:
            lines.append(line)
            continue
        if last[line.id] != place or line.id in gone:
            continue
        ours_now = wanted.get(line.id)
        if ours_now is not None and digest_record(line.record) != digest_record(ours_now):
            lines.append(render_shared_line({**line.record, **ours_now}))
        else:
            lines.append(line)
    # At the end, so that a commit shows one added line.
    lines += [render_shared_line(record) for id, record in wanted.items() if id not in last]
    return SharedFile(tuple(lines))
