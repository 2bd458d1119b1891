"""jcode's memories: ~/.jcode, or one file of it: a graph, the flat form, notes, an export.

A folder holds one file for the user and one for each project, named by a hash of the project's path
that cannot be inverted. Taken are the user's and those of the folders that `ReadingContext` names;
the others are listed, and can be named one by one. If a file cannot be read, jcode's own copies
beside it (`.bak`, `.json.bak`) are, and without one the entries of it that are whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import to_count, to_fraction
from reverie.core.model import Reinforcement
from reverie.porting.importers.foreign_texts import (
    decode_json_at,
    exclude_links,
    parse_lenient_json,
    read_file_head,
    read_import_json,
    read_import_text,
)
from reverie.porting.importers.import_records import (
    PROJECT,
    USER,
    BadRecord,
    FoundRecord,
    ImportItem,
    ImportRemark,
    ReadingContext,
    RecordLink,
    as_mapping,
    as_text,
    as_texts,
    drop_empty_values,
    explain_unread_fields,
    has_no_zone,
    parse_record_time,
    require_field,
    to_kind_name,
    try_record,
)

STEM = re.compile(r"[0-9a-f]{16}")
GRAPH = re.compile(r'"graph_version"\s*:')
FLAT = re.compile(r'\{\s*"entries"\s*:\s*\[')
ENTRY = ('"id"', '"category"', '"content"')
# where an entry begins
MEMORY = re.compile(r'"[^"\\]+"\s*:\s*(?=\{\s*"id"\s*:)|[\[,]\s*(?=\{\s*"id"\s*:)')
TRUSTED = {"high": "user_stated", "medium": "observed", "low": "inferred"}
BETWEEN = ("relates_to", "supersedes", "contradicts")
# weight of a link between what was extracted together, and how many of them one memory may have
TOGETHER = 0.3
MAX_TOGETHER = 8
# weight of a link whose own is 0 or none
WEAK = 0.01
PRIORITIES = {"Low": 0.25, "Normal": 0.5, "High": 0.75}
# fields of an item of the queue that are kept as they stand
BESIDES = ("context", "additional_context", "git_branch", "working_dir", "target")
USUAL_MODEL = "minilm-l6-v2"


def fits(path: Path) -> bool:
    """True for jcode's folder or one of its files."""
    if path.is_dir():
        memories = path / "memory"
        return (memories / "global.json").is_file() or (memories / "projects").is_dir()
    if path.suffix not in (".json", ".bak"):
        return False
    head = read_file_head(path).lstrip()
    is_export = head.startswith("[") and all(name in head for name in ENTRY)
    if GRAPH.search(head) or FLAT.match(head) or is_export:
        return True
    is_object = head.startswith("{")
    # it was seen whole, and is none of these
    if is_object and head.rstrip().endswith("}"):
        return False
    is_named = path.stem == "global" or STEM.fullmatch(path.stem) is not None
    if is_named and list_backup_copies(path):
        return True
    return is_object and GRAPH.search(read_import_text(path)) is not None


def list_backup_copies(file: Path) -> list[Path]:
    """jcode's own copies of a file, the newest first."""
    copies = (file.with_suffix(".bak"), file.with_name(f"{file.name}.bak"))
    return [copy for copy in copies if copy.is_file() and copy != file]


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Everything that is kept there."""
    if not path.is_dir():
        scope = USER if path.stem == "global" else PROJECT
        yield from read_jcode_file(path, path.name, scope, reading)
        return
    wanted = {hash_project_path(str(folder)) for folder in reading.folders}
    places = [
        path / "memory" / "global.json",
        *sorted((path / "memory" / "projects").glob("*.json")),
        *sorted((path / "notes").glob("*.json")),
        path / "ambient" / "queue.json",
    ]
    files, link_remarks = exclude_links(path, places)
    others = []
    for file in files:
        name = file.relative_to(path).as_posix()
        if file.name == "queue.json":
            yield from read_jcode_queue(file, reading)
        elif file.name == "global.json":
            yield from read_jcode_file(file, name, USER, reading)
        elif file.stem in wanted:
            yield from read_jcode_file(file, name, PROJECT, reading)
        else:
            others.append(name)
    if others:
        yield ImportRemark(
            f"Not of this folder, and left out: {', '.join(others)}. "
            "Run this in the project that such a file belongs to, or name the file"
        )
    yield from link_remarks


def read_jcode_file(
    file: Path, name: str, scope: str, reading: ReadingContext
) -> Iterator[ImportItem]:
    """The memories of one file, or of a copy beside it, or what of it is whole."""
    text = ""
    try:
        text = read_import_text(file) if file.is_file() else ""
        if text:
            yield from convert_jcode_value(parse_lenient_json(text), name, scope, reading)
            return
        why = "it is empty or not there"
    except BadInput as err:
        why = str(err)
    copies, link_remarks = exclude_links(file.parent, list_backup_copies(file))
    for copy in copies:
        try:
            value = read_import_json(copy)
        except BadInput:
            continue
        yield ImportRemark(f"{name} cannot be read ({why}); its copy {copy.name} was taken instead")
        copy_name = str(PurePosixPath(name).with_name(copy.name))
        yield from convert_jcode_value(value, copy_name, scope, reading)
        return
    yield from link_remarks
    if text or file.is_file():
        entries = salvage_entries(text)
        yield BadRecord(
            name, f"{why}. {len(entries):,} of its entries are whole and were taken, without links"
        )
        yield from convert_jcode_value(entries, name, scope, reading)


def salvage_entries(text: str) -> list[Any]:
    """The entries of a file that was cut or altered, as far as each is whole."""
    values, at = [], 0
    begun = MEMORY.search(text, at)
    while begun:
        try:
            value, at = decode_json_at(text, begun.end())
            values.append(value)
        except (ValueError, RecursionError):
            at = begun.end()
        begun = MEMORY.search(text, at)
    return [one for one in values if isinstance(one, dict) and "content" in one]


def convert_jcode_value(
    value: Any, name: str, scope: str, reading: ReadingContext
) -> Iterator[ImportItem]:
    """The memories of a graph, a flat file, notes, or an export."""
    graph = as_mapping(value)
    edges = as_mapping(graph.get("edges"))
    for key, entry in list_entries(value):
        where = f"{name}, memory {key}"
        memory = as_mapping(entry)
        yield try_record(where, build_jcode_memory, memory, where, scope, edges, reading.zone)


def list_entries(value: Any) -> Iterable[tuple[str, Any]]:
    """The entries of a file with their names; those of a list have numbers from 1."""
    graph = as_mapping(value)
    memories = graph.get("memories")
    if isinstance(memories, Mapping):
        return memories.items()
    entries = value if isinstance(value, list) else graph.get("entries")
    if not isinstance(entries, list):
        return ()
    return [(str(place), entry) for place, entry in enumerate(entries, start=1)]


def build_jcode_memory(
    entry: Mapping[str, Any], where: str, scope: str, edges: Mapping[str, Any], zone: str
) -> FoundRecord:
    """One entry."""
    key = require_field(entry, "id")
    at = parse_record_time(entry.get("created_at"), zone)
    category = entry.get("category", "note" if "category" not in entry else "fact")
    if isinstance(category, Mapping):
        category = category.get("custom")
    kind = to_kind_name(category)
    odd = explain_unread_fields(entry, zone, times=("created_at", "updated_at"), lists=("tags",))
    if has_odd_weights(key, edges):
        odd = (*odd, "a link's weight is no number from 0 to 1; it counts as weak")
    return FoundRecord(
        key=key,
        text=require_field(entry, "content"),
        where=where,
        at=at,
        scope=scope,
        odd=odd,
        local=has_no_zone(entry.get("created_at")),
        fields=drop_empty_values(
            kind=kind,
            tags=as_texts(entry.get("tags")) or as_texts([entry.get("tag")]),
            details=drop_empty_values(category=as_text(category) if category != kind else ""),
            session=as_text(entry.get("source")),
            provenance=TRUSTED.get(as_text(entry.get("trust")), "observed"),
        ),
        state=parse_jcode_state(entry, zone),
        newer=as_text(entry.get("superseded_by")) if entry.get("active") is False else "",
        ties=tuple(parse_jcode_links(key, edges)),
        vectors=parse_jcode_vectors(entry),
    )


def parse_jcode_state(entry: Mapping[str, Any], zone: str) -> dict[str, Any]:
    """What use has made of an entry, and whether it was put away."""
    at = parse_record_time(entry.get("created_at"), zone)
    updated = parse_record_time(entry.get("updated_at"), zone)
    state: dict[str, Any] = {
        "strength": to_count(entry.get("strength"), 1),
        "access_count": to_count(entry.get("access_count")),
        "reinforcements": tuple(parse_reinforcements(entry.get("reinforcements"), zone)),
    }
    if updated is not None:
        state["updated_at"] = updated
        state["last_accessed_at"] = updated if state["access_count"] else None
    confidence = to_fraction(entry.get("confidence"), None)
    if confidence is not None:
        state["confidence"] = confidence
    if entry.get("active") is False:
        state["retired_at"] = updated or at or 0.0
        state["retired_why"] = "superseded" if entry.get("superseded_by") else "forgotten"
    return state


def parse_reinforcements(value: Any, zone: str) -> Iterator[Reinforcement]:
    """When it was said again."""
    for one in value if isinstance(value, list) else ():
        at = parse_record_time(as_mapping(one).get("timestamp"), zone)
        if at is not None:
            session = as_text(one.get("session_id"))
            yield Reinforcement(session, at, one.get("message_index") or None)


def parse_jcode_links(key: str, edges: Mapping[str, Any]) -> Iterator[RecordLink]:
    """The links of a memory to others; of several of one kind the strongest.

    Tags are no links: they follow the list of the memory.
    """
    best: dict[tuple[str, str], float] = {}
    together = 0
    for edge in map(as_mapping, edges.get(key) or ()):
        rel, to = as_text(edge.get("kind")), as_text(edge.get("target"))
        weight = to_fraction(edge.get("weight", 1.0), WEAK) or WEAK
        if rel == "derived_from":
            # there it ties all that was extracted together
            together += 1
            rel, weight = "relates_to", TOGETHER
            if together > MAX_TOGETHER:
                continue
        if rel in BETWEEN and to:
            best[rel, to] = max(weight, best.get((rel, to), 0.0))
    for (rel, to), weight in best.items():
        yield RecordLink(rel, to, weight)


def has_odd_weights(key: str, edges: Mapping[str, Any]) -> bool:
    """True if a link of a memory has a weight that is none."""
    weights = (as_mapping(edge).get("weight", 1.0) for edge in edges.get(key) or ())
    return any(to_fraction(weight, None) is None for weight in weights)


def parse_jcode_vectors(entry: Mapping[str, Any]) -> dict[str, list[float]]:
    """Its vector, under the name of its model: those of different models are never compared."""
    values = entry.get("embedding")
    if not isinstance(values, list) or not values:
        return {}
    if not all(isinstance(one, (int, float)) for one in values):
        return {}
    return {f"jcode:{as_text(entry.get('embedding_model')) or USUAL_MODEL}": values}


def read_jcode_queue(file: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """What jcode was to do later by itself: intentions."""
    if not file.is_file():
        return
    name = "ambient/queue.json"
    try:
        items = read_import_json(file)
    except BadInput as err:
        yield BadRecord(name, str(err))
        return
    if not isinstance(items, list):
        return
    for place, item in enumerate(items, start=1):
        where = f"{name}, item {place}"
        record = as_mapping(item)
        yield try_record(where, build_jcode_intention, record, where, reading.zone)


def build_jcode_intention(one: Mapping[str, Any], where: str, zone: str) -> FoundRecord:
    """One item of the queue."""
    text = as_text(one.get("task_description")) or require_field(one, "context")
    more = {name: one[name] for name in BESIDES if one.get(name) and one[name] != text}
    times, lists = ("created_at", "scheduled_for"), ("relevant_files",)
    details = drop_empty_values(
        when=parse_record_time(one.get("scheduled_for"), zone),
        priority=PRIORITIES.get(as_text(one.get("priority")), 0.5),
        jcode=more,
    )
    return FoundRecord(
        key=require_field(one, "id"),
        text=text,
        where=where,
        local=has_no_zone(one.get("created_at")),
        odd=explain_unread_fields(one, zone, times=times, lists=lists),
        at=parse_record_time(one.get("created_at"), zone),
        scope=USER,
        fields=drop_empty_values(
            kind="intention",
            session=as_text(one.get("created_by_session")),
            files=as_texts(one.get("relevant_files")),
            details=details,
        ),
    )


def hash_project_path(path: str) -> str:
    """The name of a project's file: SipHash-1-3 of the path's parts, as Rust hashes a `Path`.

    Every part counts but `.` (save a leading one), and last a number made of their lengths.
    """
    segments = []
    for place, part in enumerate(path.encode("utf-8", "surrogateescape").split(b"/")):
        if part and (part != b"." or place == 0):
            segments.append(part)
    lengths = 0
    for part in segments:
        lengths = rotate_left((lengths + len(part)) & MASK, 62)
    return f"{siphash13(b''.join(segments) + lengths.to_bytes(8, 'little')):016x}"


MASK = (1 << 64) - 1
# what SipHash starts with; keys are zero
START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def siphash13(data: bytes) -> int:
    """SipHash-1-3: one round a word, three at the end; keys zero (Aumasson & Bernstein, 2012)."""
    whole = len(data) // 8 * 8
    words = [int.from_bytes(data[at : at + 8], "little") for at in range(0, whole, 8)]
    # the last word has the length in its highest byte
    words.append((len(data) & 0xFF) << 56 | int.from_bytes(data[whole:], "little"))
    v = START
    for word in words:
        v = run_sip_round(v[0], v[1], v[2], v[3] ^ word)
        v = (v[0] ^ word, v[1], v[2], v[3])
    v = (v[0], v[1], v[2] ^ 0xFF, v[3])
    for _ in range(3):
        v = run_sip_round(*v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def run_sip_round(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    """One round."""
    a, c = (a + b) & MASK, (c + d) & MASK
    b, d = rotate_left(b, 13) ^ a, rotate_left(d, 16) ^ c
    a = rotate_left(a, 32)
    c, a = (c + b) & MASK, (a + d) & MASK
    b, d = rotate_left(b, 17) ^ c, rotate_left(d, 21) ^ a
    return a, b, rotate_left(c, 32), d


def rotate_left(word: int, by: int) -> int:
    """A word of 64 bits, turned left."""
    return (word << by | word >> (64 - by)) & MASK
