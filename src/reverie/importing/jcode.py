"""jcode's memories: its folder (~/.jcode), or one file of it: a graph, the flat form before it, notes, an export.

A folder holds one file for the user and one for each project, named by a hash of the project's path that cannot be
inverted. Taken are the user's and those of the folders that `Reading` names; the others are told, and can be named one
by one. Where a file cannot be read, jcode's own copy beside it (`.bak`) is (CC-90; SEED-FORMATS §1).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from reverie.errors import BadInput
from reverie.importing.nouns import (
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
    required,
    texts,
    without_none,
    words,
)
from reverie.importing.texts import json_in
from reverie.model import Reinforcement
from reverie.numbers import count, fraction

STEM = re.compile(r"[0-9a-f]{16}")
TRUSTED = {"high": "user_stated", "medium": "observed", "low": "inferred"}
BETWEEN = ("relates_to", "supersedes", "contradicts")
TOGETHER = 0.3               # weight of a link between what was extracted together
MOST_TOGETHER = 8            # of such links from one memory
PRIORITIES = {"Low": 0.25, "Normal": 0.5, "High": 0.75}
USUAL_MODEL = "minilm-l6-v2"


def fits(path: Path) -> bool:
    """Whether this is jcode's folder or one of its files."""
    if path.is_dir():
        return (path / "memory" / "global.json").is_file() or (path / "memory" / "projects").is_dir()
    if path.suffix not in (".json", ".bak"):
        return False
    try:
        value = json_in(path)
    except BadInput:
        return (path.stem == "global" or STEM.fullmatch(path.stem) is not None) and path.with_suffix(".bak").is_file()
    return is_store(value) or is_entries(value)


def is_store(value: Any) -> bool:
    """A graph or a flat file."""
    return isinstance(value, dict) and ("graph_version" in value or (
        isinstance(value.get("entries"), list) and all(isinstance(one, dict) for one in value["entries"])))


def is_entries(value: Any) -> bool:
    """An export: a bare list of entries."""
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict) and {
        "id", "category", "content"} <= value[0].keys()


def read(path: Path, reading: Reading) -> Iterator[Item]:
    """Everything that is kept there."""
    if not path.is_dir():
        yield from of_file(path, path.name, USER if path.stem == "global" else PROJECT, reading)
        return
    wanted = {stem_of(str(folder)) for folder in reading.folders}
    yield from of_file(path / "memory" / "global.json", "memory/global.json", USER, reading)
    others = []
    for folder in ("memory/projects", "notes"):
        for file in sorted((path / folder).glob("*.json")):
            if file.stem in wanted:
                yield from of_file(file, f"{folder}/{file.name}", PROJECT, reading)
            else:
                others.append(f"{folder}/{file.name}")
    if others:
        yield Remark(f"Not of this folder, and left out: {', '.join(others)}. Run this in the project that such a file "
                     "belongs to, or name the file")
    yield from queue(path / "ambient" / "queue.json", reading)


def of_file(file: Path, name: str, scope: str, reading: Reading) -> Iterator[Item]:
    """The memories of one file, or of the copy beside it."""
    spare = file.with_suffix(".bak")
    if not file.is_file() and not spare.is_file():
        return
    try:
        value = json_in(file)
    except BadInput as err:
        if not spare.is_file():
            yield Bad(name, str(err))
            return
        yield Remark(f"{name} cannot be read ({err}); its copy {spare.name} was taken instead")
        try:
            value, name = json_in(spare), str(PurePosixPath(name).with_suffix(".bak"))
        except BadInput as worse:
            yield Bad(name, str(worse))
            return
    yield from of_value(value, name, scope, reading)


def of_value(value: Any, name: str, scope: str, reading: Reading) -> Iterator[Item]:
    """The memories of a graph, a flat file, notes, or an export."""
    graph = mapping(value)
    entries: Iterable[tuple[str, Any]]
    if isinstance(graph.get("memories"), Mapping):
        entries = graph["memories"].items()
    else:
        listed = value if isinstance(value, list) else graph.get("entries")
        entries = [(str(place), one) for place, one in enumerate(listed if isinstance(listed, list) else (), start=1)]
    edges = mapping(graph.get("edges"))
    for key, entry in entries:
        where = f"{name}, memory {key}"
        try:
            yield memory(mapping(entry), where, scope, edges, reading.zone)
        except (BadInput, TypeError, ValueError) as err:
            yield Bad(where, str(err))


def memory(entry: Mapping[str, Any], where: str, scope: str, edges: Mapping[str, Any], zone: str) -> Found:
    """One entry."""
    key, at, updated = required(entry, "id"), moment(entry.get("created_at"), zone), moment(entry.get("updated_at"),
                                                                                            zone)
    category = entry.get("category", "note" if "category" not in entry else "fact")
    named = mapping(category).get("custom") if isinstance(category, Mapping) else category
    tags = texts(entry.get("tags")) or texts([entry.get("tag")])
    state: dict[str, Any] = {
        "strength": count(entry.get("strength"), 1), "access_count": count(entry.get("access_count")),
        "reinforcements": tuple(reinforcements(entry.get("reinforcements"), zone))}
    if updated is not None:
        state["last_accessed_at"] = updated if state["access_count"] else None
    if (sure := fraction(entry.get("confidence"), None)) is not None:
        state["confidence"] = sure
    gone = entry.get("active") is False
    if gone:
        state |= {"retired_at": updated or at or 0.0, "retired_why": "superseded" if entry.get("superseded_by") else
                  "forgotten"}
    return Found(
        key=key, text=required(entry, "content"), where=where, at=at, scope=scope,
        fields=without_none(kind=kind_named(named), tags=tags, session=words(entry.get("source")),
                            provenance=TRUSTED.get(words(entry.get("trust")), "observed")),
        state=state, newer=words(entry.get("superseded_by")) if gone else "", ties=tuple(ties(key, edges)),
        vectors=vectors(entry))


def reinforcements(value: Any, zone: str) -> Iterator[Reinforcement]:
    """When it was said again."""
    for one in value if isinstance(value, list) else ():
        at = moment(mapping(one).get("timestamp"), zone)
        if at is not None:
            yield Reinforcement(words(one.get("session_id")), at, one.get("message_index") or None)


def ties(key: str, edges: Mapping[str, Any]) -> Iterator[Tie]:
    """The links of a memory to others; of several of one kind the strongest. Tags follow the list of the memory."""
    best: dict[tuple[str, str], float] = {}
    together = 0
    for edge in map(mapping, edges.get(key) or ()):
        rel, to = words(edge.get("kind")), words(edge.get("target"))
        weight = fraction(edge.get("weight"), 1.0) or 0.01
        if rel == "derived_from":     # there it ties all that was extracted together
            together += 1
            rel, weight = "relates_to", TOGETHER
            if together > MOST_TOGETHER:
                continue
        if rel in BETWEEN and to:
            best[rel, to] = max(weight, best.get((rel, to), 0.0))
    yield from (Tie(rel, to, weight) for (rel, to), weight in best.items())


def vectors(entry: Mapping[str, Any]) -> dict[str, list[float]]:
    """Its vector, under the name of the model that made it: those of different models are never compared."""
    values = entry.get("embedding")
    if not isinstance(values, list) or not values or not all(isinstance(one, (int, float)) for one in values):
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
        try:
            text = words(one.get("task_description")) or required(one, "context")
            yield Found(
                key=required(one, "id"), text=text, where=where, at=moment(one.get("created_at"), reading.zone),
                scope=USER, fields=without_none(
                    kind="intention", session=words(one.get("created_by_session")),
                    files=texts(one.get("relevant_files")),
                    details=without_none(when=moment(one.get("scheduled_for"), reading.zone),
                                         priority=PRIORITIES.get(words(one.get("priority")), 0.5))))
        except (BadInput, TypeError, ValueError) as err:
            yield Bad(where, str(err))


def stem_of(path: str) -> str:
    """How jcode calls the file of a project: SipHash-1-3 of the path's components, as Rust hashes a `Path`.

    Every component counts but `.` (save a leading one), and last a number made of their lengths (SEED-FORMATS §1.2).
    """
    segments = [part for place, part in enumerate(path.encode("utf-8", "surrogateescape").split(b"/"))
                if part and (part != b"." or place == 0)]
    lengths = 0
    for part in segments:
        lengths = (lengths + len(part)) & MASK
        lengths = (lengths >> 2) | (lengths << 62) & MASK
    return f"{siphash13(b''.join(segments) + lengths.to_bytes(8, 'little')):016x}"


MASK = (1 << 64) - 1
START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)    # of SipHash; keys are zero


def siphash13(data: bytes) -> int:
    """SipHash with one round a word, three at the end, and both keys zero (Aumasson and Bernstein, 2012)."""
    v = START
    tail = (len(data) & 0xFF) << 56 | int.from_bytes(data[len(data) // 8 * 8:], "little")
    for word in (*(int.from_bytes(data[at:at + 8], "little") for at in range(0, len(data) // 8 * 8, 8)), tail):
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
