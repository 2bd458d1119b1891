"""How to do something: a name, when it applies, what must be there first, the steps in order, what
to beware of.

A procedure is a memory of kind `procedure`: its title is the name, its triggers say when it
applies, its text tells all of it in words (so that search finds it by any step), and `details` keep
the parts and the record of how it went.

The record counts tries and successes. `rate` is the moving average 0.9·rate + 0.1·outcome from 0.5;
`chance` is the mean of Beta(1 + worked, 1 + failed), which says less after few tries. Pure
functions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.model import Change, Memory, Revise
from reverie.memory.detail_changes import drop_details
from reverie.memory.memory_changes import supersede_memory

KIND = "procedure"
PARTS = ("steps", "prerequisites", "warnings")  # in the details, besides how it went
# The moving average of outcomes begins where nobody knows, and moves slowly.
START_RATE, RATE_ALPHA = 0.5, 0.1
# Steps, prerequisites or warnings.
MAX_PARTS = 100
MAX_PART_CHARS = 4_000  # characters of one


class PracticeRecord(NamedTuple):
    """How a procedure went so far."""

    worked: int = 0
    failed: int = 0
    rate: float = START_RATE  # recent outcomes weigh most

    @property
    def chance(self) -> float:
        """How likely it is to work: the mean of Beta(1 + worked, 1 + failed)."""
        return (1 + self.worked) / (2 + self.worked + self.failed)


def validate_parts(values: Sequence[str], what: str) -> tuple[str, ...]:
    """Steps, prerequisites or warnings (`what`), each on one line; BadInput if one is empty or too
    long.
    """
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise BadInput(f"The {what} are a list of texts, in order")
    found = tuple(" ".join(value.split()) for value in values)
    if not all(found):
        raise BadInput(f"One of the {what} is empty")
    if len(found) > MAX_PARTS or any(len(part) > MAX_PART_CHARS for part in found):
        raise BadInput(f"At most {MAX_PARTS} {what} of at most {MAX_PART_CHARS:,} characters")
    return found


def supersede_same_name(known: Sequence[Memory], new: Memory) -> list[Change]:
    """The changes by which what was taught before under the same name gives way to the new one."""
    return [
        change
        for old in known
        if old.title.lower() == new.title.lower() and old.text != new.text
        for change in supersede_memory(old, new, new.created_at)
    ]


def drop_reworded_parts(
    old: Memory,
    fields: Mapping[str, Any],
) -> dict[str, Any]:
    """What to revise besides `fields`: without the parts, if somebody writes a procedure's text
    anew.

    The new text is what holds then. How it went so far stays.
    """
    is_reworded = "text" in fields and fields["text"] != old.text
    if old.kind != KIND or not is_reworded or "details" in fields:
        return {}
    return {"details": drop_details(old.details, *PARTS)}


def describe_procedure(
    name: str,
    steps: Sequence[str],
    prerequisites: Sequence[str],
    warnings: Sequence[str],
) -> dict[str, Any]:
    """The text, title and details of a procedure; BadInput without a name or a step."""
    if not isinstance(name, str) or not name.strip():
        raise BadInput("A procedure needs a name")
    first = validate_parts(prerequisites, "prerequisites")
    ordered = validate_parts(steps, "steps")
    careful = validate_parts(warnings, "warnings")
    if not ordered:
        raise BadInput("A procedure needs at least one step")
    # In words, so that search finds it by any step.
    lines = [f"{name.strip()}:"]
    lines += [f"First: {part.rstrip('.')}." for part in first]
    lines += [f"{place}. {part.rstrip('.')}." for place, part in enumerate(ordered, start=1)]
    lines += [f"Careful: {part.rstrip('.')}." for part in careful]
    details = {
        "steps": list(ordered),
        "prerequisites": list(first),
        "warnings": list(careful),
    }
    return {
        "text": " ".join(lines),
        "title": name.strip(),
        "details": details,
    }


def read_practice_record(memory: Memory) -> PracticeRecord:
    """How it went so far. Details are anybody's: what is no number counts as nothing."""
    worked, failed, rate = (memory.details.get(name) for name in ("worked", "failed", "rate"))
    return PracticeRecord(
        worked if isinstance(worked, int) else 0,
        failed if isinstance(failed, int) else 0,
        rate if isinstance(rate, float) and 0.0 <= rate <= 1.0 else START_RATE,
    )


def rank_procedures(memories: Iterable[Memory]) -> list[Memory]:
    """Procedures by how well they lately worked, then by how often they were tried, ties by id."""

    def order(memory: Memory) -> tuple[float, int, str]:
        record = read_practice_record(memory)
        return -record.rate, -(record.worked + record.failed), memory.id

    return sorted(memories, key=order)


def add_outcome(record: PracticeRecord, worked: bool) -> PracticeRecord:
    """The record with one more outcome."""
    return PracticeRecord(
        record.worked + worked,
        record.failed + (not worked),
        (1 - RATE_ALPHA) * record.rate + RATE_ALPHA * float(worked),
    )


def record_outcome(
    memory: Memory,
    worked: bool,
    now: float,
) -> Revise:
    """The change when it was followed and worked, or did not; BadInput if it is no procedure."""
    if memory.kind != KIND:
        raise BadInput(f"{memory.id} is a {memory.kind}; outcomes belong to a {KIND}")
    # A status text such as "failed" would be true.
    if not isinstance(worked, bool):
        raise BadInput(f"worked={worked!r} must be True or False")
    record = add_outcome(read_practice_record(memory), worked)
    fields: dict[str, Any] = {
        "details": {**memory.details, **record._asdict()},
        "updated_at": now,
    }
    if worked:
        fields["access_count"] = memory.access_count + 1
        fields["last_accessed_at"] = now
    return Revise(memory.id, fields)
