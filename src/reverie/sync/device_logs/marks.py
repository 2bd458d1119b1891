"""Who set what of a memory when, on which the devices agree.

A mark is a moment of a hybrid clock and the device that set something then; of two marks the
greater one is later, whatever the wall clocks said. What has no mark of its own was set when the
memory was first written into a log (`born`), under no device's name, so that copies of one home
agree from the start. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from reverie.core.errors import BadInput

STEPS_PER_MILLISECOND = 1 << 12
MAX_STAMP = 1 << 62


class Mark(NamedTuple):
    """A moment, and the device that it was on."""

    stamp: int
    device: str = ""


class Element(NamedTuple):
    """The last word about an element of a set: when, and whether it is in."""

    mark: Mark
    weight: float  # 0.0: it was taken out; of an edge its weight, else 1.0


class Life(NamedTuple):
    """How far a memory has come: what has come further holds."""

    turn: int = 0  # how often it was brought back
    rank: int = 0  # 0: it counts; higher ones: RANKS of `folding`
    mark: Mark = Mark(0)


class Marks(NamedTuple):
    """All marks of one memory."""

    born: Mark
    # names of fields, and WORDS, that were set later
    fields: Mapping[str, Mark] = {}
    # what the present words were written over: by device its latest mark
    past: Mapping[str, int] = {}
    # digests of what the words were before the memory was first written into a log
    had: tuple[str, ...] = ()
    # by the field of a set: elements that were put in or taken out later
    sets: Mapping[str, Mapping[str, Element]] = {}
    # "rel dst" → the edge from this memory
    edges: Mapping[str, Element] = {}
    # by field and device: (when the device last counted, what it has counted)
    counts: Mapping[str, Mapping[str, tuple[int, int]]] = {}
    life: Life = Life()

    def of(self, name: str) -> Mark:
        """The mark of a field."""
        return self.fields.get(name, self.born)

    def latest(self) -> int:
        """The greatest moment that is named."""
        found = [self.born.stamp, self.life.mark.stamp]
        found += [mark.stamp for mark in self.fields.values()]
        found += [one.mark.stamp for held in self.sets.values() for one in held.values()]
        found += [one.mark.stamp for one in self.edges.values()]
        found += [when for held in self.counts.values() for when, _ in held.values()]
        return max(found)


def next_stamp(last: int, now: float) -> int:
    """A moment after `last`, and not before `now` as the wall clock has it.

    Each memory has such a hybrid clock of its own: what was done knowing a mark of it comes after
    that mark, though a wall clock jumped back or another device's was ahead.
    """
    return max(last + 1, stamp_of(now))


def stamp_of(at: float) -> int:
    """A moment of the wall clock as one of the hybrid clock."""
    return min(max(int(at * 1000), 0) * STEPS_PER_MILLISECOND, MAX_STAMP)


def moment_of(stamp: int) -> float:
    """About when something was set, in seconds since 1970."""
    return stamp // STEPS_PER_MILLISECOND / 1000


def marks_to_json(marks: Marks) -> dict[str, Any]:
    """The marks as JSON values; what is empty is left out."""
    values: dict[str, Any] = {
        "born": list(marks.born),
        "fields": {name: list(mark) for name, mark in marks.fields.items()},
        "past": dict(marks.past),
        "had": list(marks.had),
        "sets": {name: elements_to_json(held) for name, held in marks.sets.items() if held},
        "edges": elements_to_json(marks.edges),
        "counts": {
            name: {device: list(one) for device, one in held.items()}
            for name, held in marks.counts.items()
        },
        "life": [marks.life.turn, marks.life.rank, *marks.life.mark] if any(marks.life[:2]) else [],
    }
    return {name: value for name, value in values.items() if value}


def elements_to_json(held: Mapping[str, Element]) -> dict[str, Any]:
    """Elements as JSON values."""
    return {name: [*one.mark, one.weight] for name, one in held.items()}


def marks_from_json(data: object) -> Marks:
    """Marks from JSON values; BadInput for what are none."""
    try:
        values: Any = data
        life = values.get("life")
        return Marks(
            read_mark(values["born"]),
            {str(name): read_mark(one) for name, one in values.get("fields", {}).items()},
            {str(device): read_stamp(one) for device, one in values.get("past", {}).items()},
            tuple(str(one) for one in values.get("had", ())),
            {str(name): elements_from_json(held) for name, held in values.get("sets", {}).items()},
            elements_from_json(values.get("edges", {})),
            {
                str(name): {str(by): (read_stamp(when), int(n)) for by, (when, n) in held.items()}
                for name, held in values.get("counts", {}).items()
            },
            Life(int(life[0]), int(life[1]), read_mark(life[2:])) if life else Life(),
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as err:
        raise BadInput(f"The marks of a memory cannot be read: {err}") from err


def elements_from_json(held: Any) -> dict[str, Element]:
    """Elements from JSON values."""
    return {
        str(name): Element(read_mark((stamp, by)), float(weight))
        for name, (stamp, by, weight) in held.items()
    }


def read_mark(values: Any) -> Mark:
    """A mark from its JSON values."""
    stamp, device = values
    return Mark(read_stamp(stamp), str(device))


def read_stamp(value: Any) -> int:
    """A moment from a JSON value."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < MAX_STAMP * 2:
        raise ValueError(f"{value!r} is no moment")
    return value
