"""What two tellings of one memory come to: the same in whatever order, however often.

A telling is a whole memory with its marks. Of a field the later word holds. Tags, files, triggers
and edges are sets whose elements each have a last word. Uses are counted by device and added up.
Whether a memory counts follows the order of its life: what has come further holds, until somebody
who knows that brings it back. Of words that were written on two devices, neither knowing the other,
the later stand in the memory, and the others become a memory of their own that contradicts it, for
a person to decide (`reverie review`).

`note_change` gives the marks after a change, `join` is commutative, associative and idempotent up
to the memories of their own, which all devices give the same id and tell each other. Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from reverie.core.clock import derive_id
from reverie.core.model import Memory, Reinforcement
from reverie.memory.memory_validation import MAX_TAGS
from reverie.storage.row_codec import FIELDS, to_plain
from reverie.sync.device_logs.marks import Element, Life, Mark, Marks, moment_of, stamp_of

WORDS = "words"
WORD_FIELDS = ("text", "title")
SET_FIELDS = ("tags", "files", "triggers")
COUNT_FIELDS = ("access_count", "strength")
LIFE_FIELDS = ("retired_at", "retired_why", "superseded_by")
# What is decided on each device by itself.
OWN_FIELDS = ("conflicts_with",)
# What using a memory changes: it waits for something to go with.
USE_FIELDS = frozenset((*COUNT_FIELDS, "last_accessed_at", "confidence", "reinforcements"))
SINGLE_FIELDS = tuple(
    name
    for name in FIELDS
    if name
    not in (
        "id",
        "reinforcements",
        *WORD_FIELDS,
        *SET_FIELDS,
        *COUNT_FIELDS,
        *LIFE_FIELDS,
        *OWN_FIELDS,
    )
)
# How far a memory has come that no longer counts, by why; the others come between.
RANKS = {"faded": 1, "expired": 1, "merged": 2, "superseded": 2, "forgotten": 4, "dismissed": 4}
USUAL_RANK = 3
# In the details of the other version of a text: the memory that has the later one.
BESIDE = "edited_beside"
CONTRADICTS = "contradicts"
REDACTED = "[REDACTED:"  # how the mark of a secret begins that was taken out
MAX_HAD = 8
MAX_COUNT = 2**31 - 1


class Telling(NamedTuple):
    """A memory as a device tells it."""

    memory: Memory
    marks: Marks


class Joined(NamedTuple):
    """What two tellings come to."""

    telling: Telling
    # versions of the words that were written at the same time, as memories of their own
    others: tuple[Telling, ...] = ()


def tell_new(
    memory: Memory,
    edges: Mapping[str, float] = {},
    past_texts: Iterable[str] = (),
) -> Telling:
    """The first telling of a memory: marked by when it was last written, under no device's name.

    So copies of one home that are brought together agree, and where one of them was revised since
    it is known to follow what it says that it was before.
    """
    mark = Mark(stamp_of(max(memory.updated_at, memory.retired_at or 0.0)))
    had = tuple(dict.fromkeys(digest_text(text) for text in past_texts if text != memory.text))
    counts = {
        name: {"": (mark.stamp, getattr(memory, name))}
        for name in COUNT_FIELDS
        if getattr(memory, name)
    }
    life = Life(0, rank_of(memory), mark) if not memory.active else Life()
    marks = Marks(
        mark,
        had=had[:MAX_HAD],
        edges={name: Element(mark, weight) for name, weight in edges.items()},
        counts=counts,
        life=life,
    )
    return Telling(memory, marks)


def note_change(
    marks: Marks,
    before: Memory,
    after: Memory,
    now: Mark,
    edges: Mapping[str, float] = {},
) -> Telling:
    """The telling after a device has changed a memory from what `marks` speak of; of `edges` those
    count that differ from what is marked, with weight 0.0 for one that was taken away.
    """
    changed = {name for name in FIELDS if getattr(before, name) != getattr(after, name)}
    fields = dict(marks.fields)
    past, life = marks.past, marks.life
    if changed.intersection(WORD_FIELDS):
        past = keep_latest(past, {marks.of(WORDS).device: marks.of(WORDS).stamp})
        fields[WORDS] = now
    fields.update(dict.fromkeys(changed.intersection(SINGLE_FIELDS), now))
    if changed.intersection(LIFE_FIELDS):
        is_back = not before.active and after.active
        life = Life(life.turn + is_back, rank_of(after), now)
    sets = {
        name: note_elements(
            marks.sets.get(name, {}), getattr(before, name), getattr(after, name), now
        )
        for name in SET_FIELDS
    }
    said = {
        name: Element(now, weight)
        for name, weight in edges.items()
        if weight != weight_of(marks.edges.get(name))
    }
    told = marks._replace(
        fields=fields,
        past=past,
        sets={name: held for name, held in sets.items() if held},
        edges={**marks.edges, **said},
        counts={**marks.counts, **note_counts(marks, before, after, now)},
        life=life,
    )
    return Telling(in_order(after, told), told)


def note_counts(
    marks: Marks, before: Memory, after: Memory, now: Mark
) -> dict[str, dict[str, tuple[int, int]]]:
    """The marks of what is counted and was counted on: to what a device had added it adds."""
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for name in COUNT_FIELDS:
        more = getattr(after, name) - getattr(before, name)
        if more:
            by = marks.counts.get(name, {})
            known = by.get(now.device, (0, 0))[1]
            found[name] = {**by, now.device: (now.stamp, known + more)}
    return found


def note_elements(
    held: Mapping[str, Element],
    before: Iterable[str],
    after: Iterable[str],
    now: Mark,
) -> dict[str, Element]:
    """The elements of a set after some were put in or taken out."""
    was, is_now = set(before), set(after)
    put_in = dict.fromkeys(is_now - was, Element(now, 1.0))
    taken_out = dict.fromkeys(was - is_now, Element(now, 0.0))
    return {**held, **put_in, **taken_out}


def in_order(memory: Memory, marks: Marks) -> Memory:
    """The memory with the elements of sets that were ever changed in an order that is agreed on."""
    fields: dict[str, Any] = {name: tuple(sorted(getattr(memory, name))) for name in marks.sets}
    return memory._replace(**fields)


def weight_of(element: Element | None) -> float:
    """The weight of an edge; 0.0 for none."""
    return element.weight if element else 0.0


def rank_of(memory: Memory) -> int:
    """How far a memory has come."""
    return 0 if memory.active else RANKS.get(memory.retired_why, USUAL_RANK)


def digest_text(text: str) -> str:
    """A short digest of words."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def keep_latest(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """By device the later of two moments."""
    return {
        device: max(one.get(device, 0), other.get(device, 0))
        for device in one.keys() | other.keys()
    }


def knows_words(telling: Telling, other: Telling) -> bool:
    """True if the words of a telling were written knowing those of the other one."""
    mine, theirs = telling.marks.of(WORDS), other.marks.of(WORDS)
    if telling.marks.past.get(theirs.device, 0) >= theirs.stamp:
        return True
    if theirs.device and mine.device == theirs.device:
        return mine.stamp > theirs.stamp
    return digest_text(other.memory.text) in telling.marks.had


def join(one: Telling, other: Telling) -> Joined:
    """What two tellings of a memory come to."""
    if one == other:
        return Joined(one)
    born = min(one.marks.born, other.marks.born)
    winner, others, past = join_words(one, other)
    values: dict[str, Any] = {name: getattr(winner.memory, name) for name in WORD_FIELDS}
    marks = {WORDS: winner.marks.of(WORDS)}
    for name in SINGLE_FIELDS:
        last = max(one, other, key=lambda told: field_key(told, name))
        values[name], marks[name] = getattr(last.memory, name), last.marks.of(name)
    sets: dict[str, dict[str, Element]] = {}
    for name in SET_FIELDS:
        values[name], sets[name] = join_sets(one, other, name, born)
    counts = {name: join_counts(one.marks, other.marks, name) for name in COUNT_FIELDS}
    for name, by in counts.items():
        values[name] = min(max(0, sum(count for _, count in by.values())), MAX_COUNT)
    furthest = max(one, other, key=life_key)
    values |= {name: getattr(furthest.memory, name) for name in LIFE_FIELDS}
    values["reinforcements"] = join_reinforcements(one.memory, other.memory)
    told = Marks(
        born,
        {name: mark for name, mark in marks.items() if mark != born},
        past,
        tuple(sorted({*one.marks.had, *other.marks.had})),
        {name: held for name, held in sets.items() if held},
        join_elements(one.marks.edges, other.marks.edges),
        {name: by for name, by in counts.items() if by},
        furthest.marks.life,
    )
    return Joined(Telling(one.memory._replace(**values), told), others)


def join_words(
    one: Telling,
    other: Telling,
) -> tuple[Telling, tuple[Telling, ...], dict[str, int]]:
    """The telling whose words hold, what becomes of the other's, and what they stand over."""
    past = keep_latest(one.marks.past, other.marks.past)
    if one.marks.of(WORDS) == other.marks.of(WORDS):
        return max(one, other, key=words_key), (), past
    earlier, later = sorted((one, other), key=lambda told: told.marks.of(WORDS))
    if knows_words(earlier, later):
        earlier, later = later, earlier
    known = knows_words(later, earlier)
    left = earlier.marks.of(WORDS)
    past = keep_latest(past, {left.device: left.stamp})
    if known or earlier.memory.text == later.memory.text:
        return later, (), past
    return later, (set_beside(earlier),), past


def set_beside(telling: Telling) -> Telling:
    """Words that others were written beside, as a memory of its own: whoever finds them makes the
    same of them.
    """
    memory, mark = telling.memory, telling.marks.of(WORDS)
    at = moment_of(mark.stamp)
    beside = memory._replace(
        id=derive_id(f"{memory.id} {mark.stamp} {mark.device}", at),
        created_at=at,
        updated_at=at,
        details={**memory.details, BESIDE: memory.id},
        strength=1,
        access_count=0,
        reinforcements=(),
        last_accessed_at=None,
        retired_at=None,
        retired_why="",
        superseded_by=None,
        conflicts_with=(),
    )
    edge = {f"{CONTRADICTS} {memory.id}": Element(mark, 1.0)}
    counts = {"strength": {"": (mark.stamp, 1)}}
    return Telling(beside, Marks(mark, edges=edge, counts=counts))


def words_key(telling: Telling) -> tuple[Mark, int, str]:
    """By which of two tellings with one mark the same words are chosen everywhere: those out of
    which a secret was taken, where the others have it.
    """
    said = f"{telling.memory.text}\0{telling.memory.title}"
    return telling.marks.of(WORDS), said.count(REDACTED), said


def field_key(telling: Telling, name: str) -> tuple[Mark, int, str]:
    """By which the last word about a field is chosen."""
    said = canonical(name, getattr(telling.memory, name))
    return telling.marks.of(name), said.count(REDACTED), said


def life_key(telling: Telling) -> tuple[int, int, Mark, str]:
    """By which it is chosen how far a memory has come."""
    life, memory = telling.marks.life, telling.memory
    values = json.dumps([memory.retired_at, memory.retired_why, memory.superseded_by])
    return life.turn, life.rank, life.mark, values


def canonical(name: str, value: Any) -> str:
    """A value as text that is the same everywhere."""
    return json.dumps(to_plain(name, value), sort_keys=True, default=str)


def join_sets(
    one: Telling,
    other: Telling,
    name: str,
    born: Mark,
) -> tuple[tuple[str, ...], dict[str, Element]]:
    """The elements that are in a set, and those that have a mark of their own."""
    mine, theirs = getattr(one.memory, name), getattr(other.memory, name)
    is_unchanged = not (one.marks.sets.get(name) or other.marks.sets.get(name))
    if is_unchanged and mine == theirs and one.marks.born == other.marks.born:
        return mine, {}
    held = join_elements(all_elements(one, name), all_elements(other, name))
    inside = sorted(element for element, last in held.items() if last.weight)
    kept, left = inside[:MAX_TAGS], set(inside[MAX_TAGS:])
    usual = Element(born, 1.0)
    marked = {element: last for element, last in held.items() if last != usual or element in left}
    return tuple(kept), marked


def all_elements(telling: Telling, name: str) -> dict[str, Element]:
    """The last word about each element, those too that were there from the beginning."""
    there = dict.fromkeys(getattr(telling.memory, name), Element(telling.marks.born, 1.0))
    return {**there, **telling.marks.sets.get(name, {})}


def join_elements(
    one: Mapping[str, Element],
    other: Mapping[str, Element],
) -> dict[str, Element]:
    """The last word about each element."""
    return {
        name: max(found[name] for found in (one, other) if name in found)
        for name in sorted(one.keys() | other.keys())
    }


def join_counts(one: Marks, other: Marks, name: str) -> dict[str, tuple[int, int]]:
    """What each device has counted."""
    mine, theirs = one.counts.get(name, {}), other.counts.get(name, {})
    nothing = (-1, 0)
    return {
        device: max(mine.get(device, nothing), theirs.get(device, nothing))
        for device in sorted(mine.keys() | theirs.keys())
    }


def join_reinforcements(one: Memory, other: Memory) -> tuple[Reinforcement, ...]:
    """Every time that the same thing was said."""
    if one.reinforcements == other.reinforcements:
        return one.reinforcements
    found = {*one.reinforcements, *other.reinforcements}
    return tuple(sorted(found, key=lambda told: (told.at, told.session, told.message or -1)))
