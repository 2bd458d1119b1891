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
from reverie.core.foreign_numbers import to_fraction
from reverie.core.model import Reinforcement
from reverie.porting.importers.foreign_texts import (
    decode_json_at,
    exclude_links,
    parse_lenient_json,
    read_file_head,
    read_import_text,
)
from reverie.porting.importers.import_records import (
    BadRecord,
    ForeignRecord,
    FoundRecord,
    ImportItem,
    ImportRemark,
    ReadingContext,
    RecordLink,
    as_mapping,
    as_texts,
    drop_empty_values,
    to_kind_name,
    try_record,
)

STEM = re.compile(r"[0-9a-f]{16}")
GRAPH = re.compile(r'"graph_version"\s*:')
FLAT = re.compile(r'\{\s*"entries"\s*:\s*\[')
ENTRY = ('"id"', '"category"', '"content"')
# where an entry begins
MEMORY = re.compile(r'"[^"\\]+"\s*:\s*(?=\{\s*"id"\s*:)|[\[,]\s*(?=\{\s*"id"\s*:)')
# What was heard with little trust is somebody's conclusion at most.
TRUSTED = {
    "high": "user_stated",
    "medium": "observed",
    "low": "inferred",
}
BETWEEN = ("relates_to", "supersedes", "contradicts")
# weight of a link between what was extracted together, and how many of them one memory may have
TOGETHER = 0.3
MAX_TOGETHER = 8
# weight of a link whose own is 0 or none
WEAK = 0.01
PRIORITIES = {
    "Low": 0.25,
    "Normal": 0.5,
    "High": 0.75,
}
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
    # Versions name them in both ways.
    copies = (file.with_suffix(".bak"), file.with_name(f"{file.name}.bak"))
    return [copy for copy in copies if copy.is_file() and copy != file]


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Everything that is kept there."""
    if not path.is_dir():
        yield from read_jcode_file(path, path.name, reading)
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
        elif file.name == "global.json" or file.stem in wanted:
            yield from read_jcode_file(file, name, reading)
        else:
            others.append(name)
    if others:
        yield ImportRemark(
            f"Not of this folder, and left out: {', '.join(others)}. "
            "Run this in the project that such a file belongs to, or name the file"
        )
    yield from link_remarks


def read_jcode_file(
    file: Path,
    name: str,
    reading: ReadingContext,
) -> Iterator[ImportItem]:
    """The memories of one file, or of a copy beside it, or what of it is whole."""
    # The file that is not one project's.
    personal = file.stem == "global"
    text = ""
    try:
        text = read_import_text(file) if file.is_file() else ""
        if text:
            yield from convert_jcode_value(parse_lenient_json(text), name, personal, reading)
            return
        why = "it is empty or not there"
    except BadInput as err:
        why = str(err)
    copies, link_remarks = exclude_links(file.parent, list_backup_copies(file))
    for copy in copies:
        try:
            value = parse_lenient_json(read_import_text(copy))
        except BadInput:
            continue
        yield ImportRemark(f"{name} cannot be read ({why}); its copy {copy.name} was taken instead")
        copy_name = str(PurePosixPath(name).with_name(copy.name))
        yield from convert_jcode_value(value, copy_name, personal, reading)
        return
    yield from link_remarks
    if text or file.is_file():
        entries = salvage_entries(text)
        yield BadRecord(
            name, f"{why}. {len(entries):,} of its entries are whole and were taken, without links"
        )
        yield from convert_jcode_value(entries, name, personal, reading)


def salvage_entries(text: str) -> list[Any]:
    """The entries of a file that was cut or altered, as far as each is whole."""
    entries, at = [], 0
    while begun := MEMORY.search(text, at):
        try:
            value, at = decode_json_at(text, begun.end())
        except (ValueError, RecursionError):
            at = begun.end()
            continue
        if isinstance(value, dict) and "content" in value:
            entries.append(value)
    return entries


def convert_jcode_value(
    value: Any,
    name: str,
    personal: bool,
    reading: ReadingContext,
) -> Iterator[ImportItem]:
    """The memories of a graph, a flat file, notes, or an export."""
    graph = ForeignRecord(as_mapping(value), name, reading.zone)
    edges = graph.part("edges")
    for key, entry in list_entries(value):
        record = graph._replace(values=as_mapping(entry), where=f"{name}, memory {key}")
        found = try_record(build_jcode_memory, record, edges)
        yield found._replace(personal=personal) if isinstance(found, FoundRecord) else found


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


def build_jcode_memory(entry: ForeignRecord, edges: ForeignRecord) -> FoundRecord:
    """One entry; `edges` are those of its file, by the name of the entry that they begin at."""
    key = entry.require("id")
    values = entry.values
    category = values.get("category", "note" if "category" not in values else "fact")
    if isinstance(category, Mapping):
        category = category.get("custom")
    kind = to_kind_name(category)
    own_name = category if isinstance(category, str) and category != kind else ""
    odd = entry.explain_unread(("created_at", "updated_at"), lists=("tags",))
    ties, has_odd_weight = parse_jcode_links(key, edges)
    if has_odd_weight:
        odd = (*odd, "a link's weight is no number from 0 to 1; it counts as weak")
    return entry.to_found(
        key,
        entry.require("content"),
        "created_at",
        odd=odd,
        fields=drop_empty_values(
            kind=kind,
            tags=entry.texts("tags") or as_texts([values.get("tag")]),
            details=drop_empty_values(category=own_name),
            session=entry.text("source"),
            provenance=TRUSTED.get(entry.text("trust"), "observed"),
        ),
        state=parse_jcode_state(entry),
        newer=entry.text("superseded_by") if values.get("active") is False else "",
        ties=ties,
        vectors=parse_jcode_vectors(entry),
    )


def parse_jcode_state(entry: ForeignRecord) -> dict[str, Any]:
    """What use has made of an entry, and whether it was put away."""
    updated = entry.time("updated_at")
    state: dict[str, Any] = {
        "strength": entry.whole_number("strength", 1),
        "access_count": entry.whole_number("access_count"),
        "reinforcements": tuple(parse_reinforcements(entry)),
        "confidence": entry.fraction("confidence"),
    }
    if updated is not None:
        state["updated_at"] = updated
        state["last_accessed_at"] = updated if state["access_count"] else None
    if entry.values.get("active") is False:
        state["retired_at"] = updated or entry.time("created_at") or 0.0
        state["retired_why"] = "superseded" if entry.values.get("superseded_by") else "forgotten"
    return state


def parse_reinforcements(entry: ForeignRecord) -> Iterator[Reinforcement]:
    """The reinforcements of a memory: session and time of each repetition."""
    listed = entry.values.get("reinforcements")
    for one in listed if isinstance(listed, list) else ():
        again = entry._replace(values=as_mapping(one))
        at = again.time("timestamp")
        if at is not None:
            message = again.values.get("message_index") or None
            yield Reinforcement(again.text("session_id"), at, message)


def parse_jcode_links(
    key: str,
    edges: ForeignRecord,
) -> tuple[tuple[RecordLink, ...], bool]:
    """The links of a memory to others, of several of one kind the strongest; True for a weight that
    is none.

    Tags are no links: they follow the list of the memory.
    """
    best: dict[tuple[str, str], float] = {}
    together = 0
    has_odd_weight = False
    for values in edges.values.get(key) or ():
        edge = edges._replace(values=as_mapping(values))
        rel, to = edge.text("kind"), edge.text("target")
        stated = to_fraction(edge.values.get("weight", 1.0), None)
        has_odd_weight = has_odd_weight or stated is None
        weight = stated or WEAK
        if rel == "derived_from":
            # there it ties all that was extracted together
            together += 1
            rel, weight = "relates_to", TOGETHER
            if together > MAX_TOGETHER:
                continue
        if rel in BETWEEN and to:
            best[rel, to] = max(weight, best.get((rel, to), 0.0))
    links = tuple(RecordLink(rel, to, weight) for (rel, to), weight in best.items())
    return links, has_odd_weight


def parse_jcode_vectors(entry: ForeignRecord) -> dict[str, list[float]]:
    """Its vector, under the name of its model: those of different models are never compared."""
    values = entry.values.get("embedding")
    if not isinstance(values, list) or not values:
        return {}
    if not all(isinstance(one, (int, float)) for one in values):
        return {}
    # Where no model is named it is taken for the usual one.
    return {f"jcode:{entry.text('embedding_model') or USUAL_MODEL}": values}


def read_jcode_queue(file: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """What jcode was to do later by itself: intentions."""
    if not file.is_file():
        return
    name = "ambient/queue.json"
    try:
        items = parse_lenient_json(read_import_text(file))
    except BadInput as err:
        yield BadRecord(name, str(err))
        return
    for place, item in enumerate(
        items if isinstance(items, list) else (),
        start=1,
    ):
        record = ForeignRecord(as_mapping(item), f"{name}, item {place}", reading.zone)
        yield try_record(build_jcode_intention, record)


def build_jcode_intention(one: ForeignRecord) -> FoundRecord:
    """One item of the queue."""
    text = one.text("task_description") or one.require("context")
    more = {name: one.values.get(name) for name in BESIDES}
    details = drop_empty_values(
        when=one.time("scheduled_for"),
        priority=PRIORITIES.get(one.text("priority"), 0.5),
        jcode={name: value for name, value in more.items() if value and value != text},
    )
    return one.to_found(
        one.require("id"),
        text,
        "created_at",
        odd=one.explain_unread(("created_at", "scheduled_for"), lists=("relevant_files",)),
        personal=True,
        fields=drop_empty_values(
            kind="intention",
            session=one.text("created_by_session"),
            files=one.texts("relevant_files"),
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
    words = [
        int.from_bytes(
            data[at : at + 8],
            "little",
        )
        for at in range(0, whole, 8)
    ]
    # the last word has the length in its highest byte
    words.append((len(data) & 0xFF) << 56 | int.from_bytes(data[whole:], "little"))
    v = START
    for word in words:
        v = run_sip_round(
            v[0],
            v[1],
            v[2],
            v[3] ^ word,
        )
        v = (v[0] ^ word, v[1], v[2], v[3])
    v = (v[0], v[1], v[2] ^ 0xFF, v[3])
    for _ in range(3):
        v = run_sip_round(*v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def run_sip_round(
    a: int,
    b: int,
    c: int,
    d: int,
) -> tuple[int, int, int, int]:
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
