"""jcode's memories: its folder (~/.jcode), or one file of it: a graph, the flat form before it,
notes, an export.

A folder holds one file for the user and one for each project, named by a hash of the project's path
that cannot be inverted. Taken are the user's and those of the folders that `Reading` names; the
others are told, and can be named one by one. Where a file cannot be read, jcode's own copies beside
it (`.bak`, `.json.bak`) are, and without one the entries of it that are whole (CC-90; SEED-FORMATS
§1).
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
MEMORY = re.compile(
    r'"[^"\\]+"\s*:\s*(?=\{\s*"id"\s*:)|[\[,]\s*(?=\{\s*"id"\s*:)'
)  # where an entry begins
TRUSTED = {"high": "user_stated", "medium": "observed", "low": "inferred"}
BETWEEN = ("relates_to", "supersedes", "contradicts")
TOGETHER = 0.3  # weight of a link between what was extracted together
WEAK = 0.01  # weight of a link whose own is 0 or none
MAX_TOGETHER = 8  # of such links from one memory
PRIORITIES = {"Low": 0.25, "Normal": 0.5, "High": 0.75}
# of an item of the queue
BESIDES = (
    "context",
    "additional_context",
    "git_branch",
    "working_dir",
    "target",
)
USUAL_MODEL = "minilm-l6-v2"


def fits(path: Path) -> bool:
    """Whether this is jcode's folder or one of its files."""
    if path.is_dir():
        return (path / "memory" / "global.json").is_file() or (
            path / "memory" / "projects"
        ).is_dir()
    if path.suffix not in (".json", ".bak"):
        return False
    head = read_file_head(path).lstrip()
    if (
        GRAPH.search(head)
        or FLAT.match(head)
        or (head.startswith("[") and all(name in head for name in ENTRY))
    ):
        return True
    if head.startswith("{") and head.rstrip().endswith("}"):  # it was seen whole
        return False
    named = path.stem == "global" or STEM.fullmatch(path.stem) is not None
    return (named and bool(list_backup_copies(path))) or (
        head.startswith("{") and GRAPH.search(read_import_text(path)) is not None
    )


def list_backup_copies(file: Path) -> list[Path]:
    """jcode's own copies of a file, the newest first."""
    return [
        copy
        for copy in (file.with_suffix(".bak"), file.with_name(f"{file.name}.bak"))
        if copy.is_file() and copy != file
    ]


def read(path: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """Everything that is kept there."""
    if not path.is_dir():
        yield from read_jcode_file(
            path, path.name, USER if path.stem == "global" else PROJECT, reading
        )
        return
    wanted = {hash_project_path(str(folder)) for folder in reading.folders}
    places = [
        path / "memory" / "global.json",
        *(
            file
            for folder in ("memory/projects", "notes")
            for file in sorted((path / folder).glob("*.json"))
        ),
        path / "ambient" / "queue.json",
    ]
    files, linked = exclude_links(path, places)
    others = []
    for file in files:
        name = file.relative_to(path).as_posix()
        if file.name == "queue.json":
            yield from read_jcode_queue(file, reading)
        elif file.name == "global.json" or file.stem in wanted:
            yield from read_jcode_file(
                file, name, USER if file.name == "global.json" else PROJECT, reading
            )
        else:
            others.append(name)
    if others:
        yield ImportRemark(
            f"Not of this folder, and left out: {', '.join(others)}. Run this in the project that such a file "
            "belongs to, or name the file"
        )
    yield from linked


def read_jcode_file(
    file: Path, name: str, scope: str, reading: ReadingContext
) -> Iterator[ImportItem]:
    """The memories of one file, or of a copy beside it, or what of it is whole."""
    text, why = "", ""
    try:
        text = read_import_text(file) if file.is_file() else ""
        if text:
            yield from convert_jcode_value(parse_lenient_json(text), name, scope, reading)
            return
        why = "it is empty or not there"
    except BadInput as err:
        why = str(err)
    copies, linked = exclude_links(file.parent, list_backup_copies(file))
    for copy in copies:
        try:
            value = read_import_json(copy)
        except BadInput:
            continue
        yield ImportRemark(f"{name} cannot be read ({why}); its copy {copy.name} was taken instead")
        yield from convert_jcode_value(
            value, str(PurePosixPath(name).with_name(copy.name)), scope, reading
        )
        return
    yield from linked
    if text or file.is_file():
        whole = salvage_entries(text)
        yield BadRecord(
            name, f"{why}. {len(whole):,} of its entries are whole and were taken, without links"
        )
        yield from convert_jcode_value(whole, name, scope, reading)


def salvage_entries(text: str) -> list[Any]:
    """The entries of a file that was cut or altered, as far as each is whole."""
    found, at = [], 0
    while begun := MEMORY.search(text, at):
        try:
            value, at = decode_json_at(text, begun.end())
            found.append(value)
        except (ValueError, RecursionError):
            at = begun.end()
    return [one for one in found if isinstance(one, dict) and "content" in one]


def convert_jcode_value(
    value: Any, name: str, scope: str, reading: ReadingContext
) -> Iterator[ImportItem]:
    """The memories of a graph, a flat file, notes, or an export."""
    graph = as_mapping(value)
    entries: Iterable[tuple[str, Any]]
    if isinstance(graph.get("memories"), Mapping):
        entries = graph["memories"].items()
    else:
        listed = value if isinstance(value, list) else graph.get("entries")
        entries = [
            (str(place), one)
            for place, one in enumerate(listed if isinstance(listed, list) else (), start=1)
        ]
    edges = as_mapping(graph.get("edges"))
    for key, entry in entries:
        where = f"{name}, memory {key}"
        yield try_record(
            where, build_jcode_memory, as_mapping(entry), where, scope, edges, reading.zone
        )


def build_jcode_memory(
    entry: Mapping[str, Any], where: str, scope: str, edges: Mapping[str, Any], zone: str
) -> FoundRecord:
    """One entry."""
    key, at, updated = (
        require_field(entry, "id"),
        parse_record_time(entry.get("created_at"), zone),
        parse_record_time(entry.get("updated_at"), zone),
    )
    category = entry.get("category", "note" if "category" not in entry else "fact")
    named = as_mapping(category).get("custom") if isinstance(category, Mapping) else category
    tags = as_texts(entry.get("tags")) or as_texts([entry.get("tag")])
    state: dict[str, Any] = {
        "strength": to_count(entry.get("strength"), 1),
        "access_count": to_count(entry.get("access_count")),
        "reinforcements": tuple(parse_reinforcements(entry.get("reinforcements"), zone)),
    }
    if updated is not None:
        state |= {
            "updated_at": updated,
            "last_accessed_at": updated if state["access_count"] else None,
        }
    if (sure := to_fraction(entry.get("confidence"), None)) is not None:
        state["confidence"] = sure
    gone = entry.get("active") is False
    if gone:
        state |= {
            "retired_at": updated or at or 0.0,
            "retired_why": "superseded" if entry.get("superseded_by") else "forgotten",
        }
    kind = to_kind_name(named)
    odd = [
        *explain_unread_fields(entry, zone, times=("created_at", "updated_at"), lists=("tags",)),
        *(
            ["a link's weight is no number from 0 to 1; it counts as weak"]
            if has_odd_weights(key, edges)
            else []
        ),
    ]
    return FoundRecord(
        key=key,
        text=require_field(entry, "content"),
        where=where,
        at=at,
        scope=scope,
        odd=tuple(odd),
        local=has_no_zone(entry.get("created_at")),
        fields=drop_empty_values(
            kind=kind,
            tags=tags,
            details=drop_empty_values(category=as_text(named) if named != kind else ""),
            session=as_text(entry.get("source")),
            provenance=TRUSTED.get(as_text(entry.get("trust")), "observed"),
        ),
        state=state,
        newer=as_text(entry.get("superseded_by")) if gone else "",
        ties=tuple(parse_jcode_links(key, edges)),
        vectors=parse_jcode_vectors(entry),
    )


def parse_reinforcements(value: Any, zone: str) -> Iterator[Reinforcement]:
    """When it was said again."""
    for one in value if isinstance(value, list) else ():
        at = parse_record_time(as_mapping(one).get("timestamp"), zone)
        if at is not None:
            yield Reinforcement(
                as_text(one.get("session_id")), at, one.get("message_index") or None
            )


def parse_jcode_links(key: str, edges: Mapping[str, Any]) -> Iterator[RecordLink]:
    """The links of a memory to others; of several of one kind the strongest. Tags follow the list
    of the memory.
    """
    best: dict[tuple[str, str], float] = {}
    together = 0
    for edge in map(as_mapping, edges.get(key) or ()):
        rel, to = as_text(edge.get("kind")), as_text(edge.get("target"))
        weight = to_fraction(edge.get("weight", 1.0), WEAK) or WEAK
        if rel == "derived_from":  # there it ties all that was extracted together
            together += 1
            rel, weight = "relates_to", TOGETHER
            if together > MAX_TOGETHER:
                continue
        if rel in BETWEEN and to:
            best[rel, to] = max(weight, best.get((rel, to), 0.0))
    yield from (RecordLink(rel, to, weight) for (rel, to), weight in best.items())


def has_odd_weights(key: str, edges: Mapping[str, Any]) -> bool:
    """Whether a link of a memory has a weight that is none."""
    return any(
        to_fraction(as_mapping(edge).get("weight", 1.0), None) is None
        for edge in edges.get(key) or ()
    )


def parse_jcode_vectors(entry: Mapping[str, Any]) -> dict[str, list[float]]:
    """Its vector, under the name of the model that made it: those of different models are never
    compared.
    """
    values = entry.get("embedding")
    if (
        not isinstance(values, list)
        or not values
        or not all(isinstance(one, (int, float)) for one in values)
    ):
        return {}
    return {f"jcode:{as_text(entry.get('embedding_model')) or USUAL_MODEL}": values}


def read_jcode_queue(file: Path, reading: ReadingContext) -> Iterator[ImportItem]:
    """What jcode was to do later by itself: intentions."""
    if not file.is_file():
        return
    name = "ambient/queue.json"
    try:
        listed = read_import_json(file)
    except BadInput as err:
        yield BadRecord(name, str(err))
        return
    for place, one in enumerate(
        map(as_mapping, listed if isinstance(listed, list) else ()), start=1
    ):
        where = f"{name}, item {place}"
        yield try_record(where, build_jcode_intention, one, where, reading.zone)


def build_jcode_intention(one: Mapping[str, Any], where: str, zone: str) -> FoundRecord:
    """One item of the queue."""
    text = as_text(one.get("task_description")) or require_field(one, "context")
    more = {name: one[name] for name in BESIDES if one.get(name) and one[name] != text}
    return FoundRecord(
        key=require_field(one, "id"),
        text=text,
        where=where,
        local=has_no_zone(one.get("created_at")),
        odd=explain_unread_fields(
            one, zone, times=("created_at", "scheduled_for"), lists=("relevant_files",)
        ),
        at=parse_record_time(one.get("created_at"), zone),
        scope=USER,
        fields=drop_empty_values(
            kind="intention",
            session=as_text(one.get("created_by_session")),
            files=as_texts(one.get("relevant_files")),
            details=drop_empty_values(
                when=parse_record_time(one.get("scheduled_for"), zone),
                priority=PRIORITIES.get(as_text(one.get("priority")), 0.5),
                jcode=more,
            ),
        ),
    )


def hash_project_path(path: str) -> str:
    """How jcode calls the file of a project: SipHash-1-3 of the path's components, as Rust hashes a
    `Path`.

    Every component counts but `.` (save a leading one), and last a number made of their lengths
    (SEED-FORMATS §1.2).
    """
    segments = [
        part
        for place, part in enumerate(path.encode("utf-8", "surrogateescape").split(b"/"))
        if part and (part != b"." or place == 0)
    ]
    lengths = 0
    for part in segments:
        lengths = (lengths + len(part)) & MASK
        lengths = (lengths >> 2) | (lengths << 62) & MASK
    return f"{siphash13(b''.join(segments) + lengths.to_bytes(8, 'little')):016x}"


MASK = (1 << 64) - 1
# of SipHash; keys are zero
START = (
    0x736F6D6570736575,
    0x646F72616E646F6D,
    0x6C7967656E657261,
    0x7465646279746573,
)


def siphash13(data: bytes) -> int:
    """SipHash with one round a word, three at the end, and both keys zero (Aumasson and Bernstein,
    2012).
    """
    v = START
    tail = (len(data) & 0xFF) << 56 | int.from_bytes(data[len(data) // 8 * 8 :], "little")
    for word in (
        *(int.from_bytes(data[at : at + 8], "little") for at in range(0, len(data) // 8 * 8, 8)),
        tail,
    ):
        v = (v[0], v[1], v[2], v[3] ^ word)
        v = run_sip_round(*v)
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
