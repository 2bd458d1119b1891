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
from reverie.core.foreign_numbers import count, fraction
from reverie.core.model import Reinforcement
from reverie.porting.importers.foreign_texts import (
    head_of,
    json_in,
    own,
    parsed,
    record_at,
    text_in,
)
from reverie.porting.importers.import_records import (
    PROJECT,
    USER,
    Bad,
    Found,
    Item,
    Reading,
    Remark,
    Tie,
    kind_named,
    mapping,
    moment,
    not_understood,
    required,
    texts,
    usable,
    without_none,
    words,
    zoneless,
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
MOST_TOGETHER = 8  # of such links from one memory
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
    head = head_of(path).lstrip()
    if (
        GRAPH.search(head)
        or FLAT.match(head)
        or (head.startswith("[") and all(name in head for name in ENTRY))
    ):
        return True
    if head.startswith("{") and head.rstrip().endswith("}"):  # it was seen whole
        return False
    named = path.stem == "global" or STEM.fullmatch(path.stem) is not None
    return (named and bool(spares(path))) or (
        head.startswith("{") and GRAPH.search(text_in(path)) is not None
    )


def spares(file: Path) -> list[Path]:
    """jcode's own copies of a file, the newest first."""
    return [
        copy
        for copy in (file.with_suffix(".bak"), file.with_name(f"{file.name}.bak"))
        if copy.is_file() and copy != file
    ]


def read(path: Path, reading: Reading) -> Iterator[Item]:
    """Everything that is kept there."""
    if not path.is_dir():
        yield from of_file(path, path.name, USER if path.stem == "global" else PROJECT, reading)
        return
    wanted = {stem_of(str(folder)) for folder in reading.folders}
    places = [
        path / "memory" / "global.json",
        *(
            file
            for folder in ("memory/projects", "notes")
            for file in sorted((path / folder).glob("*.json"))
        ),
        path / "ambient" / "queue.json",
    ]
    files, linked = own(path, places)
    others = []
    for file in files:
        name = file.relative_to(path).as_posix()
        if file.name == "queue.json":
            yield from queue(file, reading)
        elif file.name == "global.json" or file.stem in wanted:
            yield from of_file(file, name, USER if file.name == "global.json" else PROJECT, reading)
        else:
            others.append(name)
    if others:
        yield Remark(
            f"Not of this folder, and left out: {', '.join(others)}. Run this in the project that such a file "
            "belongs to, or name the file"
        )
    yield from linked


def of_file(file: Path, name: str, scope: str, reading: Reading) -> Iterator[Item]:
    """The memories of one file, or of a copy beside it, or what of it is whole."""
    text, why = "", ""
    try:
        text = text_in(file) if file.is_file() else ""
        if text:
            yield from of_value(parsed(text), name, scope, reading)
            return
        why = "it is empty or not there"
    except BadInput as err:
        why = str(err)
    copies, linked = own(file.parent, spares(file))
    for copy in copies:
        try:
            value = json_in(copy)
        except BadInput:
            continue
        yield Remark(f"{name} cannot be read ({why}); its copy {copy.name} was taken instead")
        yield from of_value(value, str(PurePosixPath(name).with_name(copy.name)), scope, reading)
        return
    yield from linked
    if text or file.is_file():
        whole = whole_in(text)
        yield Bad(
            name, f"{why}. {len(whole):,} of its entries are whole and were taken, without links"
        )
        yield from of_value(whole, name, scope, reading)


def whole_in(text: str) -> list[Any]:
    """The entries of a file that was cut or altered, as far as each is whole."""
    found, at = [], 0
    while begun := MEMORY.search(text, at):
        try:
            value, at = record_at(text, begun.end())
            found.append(value)
        except (ValueError, RecursionError):
            at = begun.end()
    return [one for one in found if isinstance(one, dict) and "content" in one]


def of_value(value: Any, name: str, scope: str, reading: Reading) -> Iterator[Item]:
    """The memories of a graph, a flat file, notes, or an export."""
    graph = mapping(value)
    entries: Iterable[tuple[str, Any]]
    if isinstance(graph.get("memories"), Mapping):
        entries = graph["memories"].items()
    else:
        listed = value if isinstance(value, list) else graph.get("entries")
        entries = [
            (str(place), one)
            for place, one in enumerate(listed if isinstance(listed, list) else (), start=1)
        ]
    edges = mapping(graph.get("edges"))
    for key, entry in entries:
        where = f"{name}, memory {key}"
        yield usable(where, memory, mapping(entry), where, scope, edges, reading.zone)


def memory(
    entry: Mapping[str, Any], where: str, scope: str, edges: Mapping[str, Any], zone: str
) -> Found:
    """One entry."""
    key, at, updated = (
        required(entry, "id"),
        moment(entry.get("created_at"), zone),
        moment(entry.get("updated_at"), zone),
    )
    category = entry.get("category", "note" if "category" not in entry else "fact")
    named = mapping(category).get("custom") if isinstance(category, Mapping) else category
    tags = texts(entry.get("tags")) or texts([entry.get("tag")])
    state: dict[str, Any] = {
        "strength": count(entry.get("strength"), 1),
        "access_count": count(entry.get("access_count")),
        "reinforcements": tuple(reinforcements(entry.get("reinforcements"), zone)),
    }
    if updated is not None:
        state |= {
            "updated_at": updated,
            "last_accessed_at": updated if state["access_count"] else None,
        }
    if (sure := fraction(entry.get("confidence"), None)) is not None:
        state["confidence"] = sure
    gone = entry.get("active") is False
    if gone:
        state |= {
            "retired_at": updated or at or 0.0,
            "retired_why": "superseded" if entry.get("superseded_by") else "forgotten",
        }
    kind = kind_named(named)
    odd = [
        *not_understood(entry, zone, times=("created_at", "updated_at"), lists=("tags",)),
        *(
            ["a link's weight is no number from 0 to 1; it counts as weak"]
            if odd_weights(key, edges)
            else []
        ),
    ]
    return Found(
        key=key,
        text=required(entry, "content"),
        where=where,
        at=at,
        scope=scope,
        odd=tuple(odd),
        local=zoneless(entry.get("created_at")),
        fields=without_none(
            kind=kind,
            tags=tags,
            details=without_none(category=words(named) if named != kind else ""),
            session=words(entry.get("source")),
            provenance=TRUSTED.get(words(entry.get("trust")), "observed"),
        ),
        state=state,
        newer=words(entry.get("superseded_by")) if gone else "",
        ties=tuple(ties(key, edges)),
        vectors=vectors(entry),
    )


def reinforcements(value: Any, zone: str) -> Iterator[Reinforcement]:
    """When it was said again."""
    for one in value if isinstance(value, list) else ():
        at = moment(mapping(one).get("timestamp"), zone)
        if at is not None:
            yield Reinforcement(words(one.get("session_id")), at, one.get("message_index") or None)


def ties(key: str, edges: Mapping[str, Any]) -> Iterator[Tie]:
    """The links of a memory to others; of several of one kind the strongest. Tags follow the list
    of the memory.
    """
    best: dict[tuple[str, str], float] = {}
    together = 0
    for edge in map(mapping, edges.get(key) or ()):
        rel, to = words(edge.get("kind")), words(edge.get("target"))
        weight = fraction(edge.get("weight", 1.0), WEAK) or WEAK
        if rel == "derived_from":  # there it ties all that was extracted together
            together += 1
            rel, weight = "relates_to", TOGETHER
            if together > MOST_TOGETHER:
                continue
        if rel in BETWEEN and to:
            best[rel, to] = max(weight, best.get((rel, to), 0.0))
    yield from (Tie(rel, to, weight) for (rel, to), weight in best.items())


def odd_weights(key: str, edges: Mapping[str, Any]) -> bool:
    """Whether a link of a memory has a weight that is none."""
    return any(
        fraction(mapping(edge).get("weight", 1.0), None) is None for edge in edges.get(key) or ()
    )


def vectors(entry: Mapping[str, Any]) -> dict[str, list[float]]:
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
    return {f"jcode:{words(entry.get('embedding_model')) or USUAL_MODEL}": values}


def queue(file: Path, reading: Reading) -> Iterator[Item]:
    """What jcode was to do later by itself: intentions."""
    if not file.is_file():
        return
    name = "ambient/queue.json"
    try:
        listed = json_in(file)
    except BadInput as err:
        yield Bad(name, str(err))
        return
    for place, one in enumerate(map(mapping, listed if isinstance(listed, list) else ()), start=1):
        where = f"{name}, item {place}"
        yield usable(where, intention, one, where, reading.zone)


def intention(one: Mapping[str, Any], where: str, zone: str) -> Found:
    """One item of the queue."""
    text = words(one.get("task_description")) or required(one, "context")
    more = {name: one[name] for name in BESIDES if one.get(name) and one[name] != text}
    return Found(
        key=required(one, "id"),
        text=text,
        where=where,
        local=zoneless(one.get("created_at")),
        odd=not_understood(
            one, zone, times=("created_at", "scheduled_for"), lists=("relevant_files",)
        ),
        at=moment(one.get("created_at"), zone),
        scope=USER,
        fields=without_none(
            kind="intention",
            session=words(one.get("created_by_session")),
            files=texts(one.get("relevant_files")),
            details=without_none(
                when=moment(one.get("scheduled_for"), zone),
                priority=PRIORITIES.get(words(one.get("priority")), 0.5),
                jcode=more,
            ),
        ),
    )


def stem_of(path: str) -> str:
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
        v = sipround(*v)
        v = (v[0] ^ word, v[1], v[2], v[3])
    v = (v[0], v[1], v[2] ^ 0xFF, v[3])
    for _ in range(3):
        v = sipround(*v)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def sipround(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    """One round."""
    a, c = (a + b) & MASK, (c + d) & MASK
    b, d = turned(b, 13) ^ a, turned(d, 16) ^ c
    a = turned(a, 32)
    c, a = (c + b) & MASK, (a + d) & MASK
    b, d = turned(b, 17) ^ c, turned(d, 21) ^ a
    return a, b, turned(c, 32), d


def turned(word: int, by: int) -> int:
    """A word of 64 bits, turned left."""
    return (word << by | word >> (64 - by)) & MASK
