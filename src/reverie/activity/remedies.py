"""What made an error go away: the same command failed, then went well; what was done in between is
the remedy (D10).

A remedy is a memory of kind `learning`. Its `details["remedy"]` keeps the error's signature, what
was run and changed, and its record: how often it worked, how often the same error came again all
the same, and how often the error went away without anything being done. How far it is believed is
the mean of Beta(1 + worked, 1 + failed + alone). A command that next fails with another error, or
that was run in another folder, tells nothing. Whoever asks about an error gets remedies of errors
that are the same, with their record, or none (CC-79). What conversations taught about errors
(`extract.fixes`) is asked too. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.activity import FILE, TOOL
from reverie.activity.activity_events import command_of, edited, error_of, folder_of, task_of
from reverie.activity.error_lessons import (
    Call,
    Failure,
    Fix,
    done,
    error_line,
    one_command,
    unfinished,
)
from reverie.activity.failure_signature import Signature, likeness, signature
from reverie.core.foreign_numbers import count
from reverie.core.model import Event, Memory, Revise
from reverie.memory.episodes import went

KIND, REMEDY = "learning", "remedy"  # the kind, and the name in the details
MOST_DEEDS = 30  # between failure and success
MOST_SECONDS = 7_200.0  # after which they have nothing to do with each other
MOST_STEPS = 4  # things done in between; after more nobody knows which of them it was
MOST_COMMAND = 160  # characters
MOST_OCCASIONS = 20  # events that are named as evidence
# into another folder, and stays there
MOVING = re.compile(r"\s*(?:cd|pushd|popd)\b(?![^&;|]*(?:&&|;))")
LEAST_CHANCE = 0.5  # a remedy that failed more often than it worked is no advice


class Attempt(NamedTuple):
    """A command that had failed was run again after something was done."""

    failed: Event
    again: Event
    fix: Fix
    error: Signature

    @property
    def worked(self) -> bool:
        """Whether it went well this time."""
        return went(self.again.payload) is True

    @property
    def alone(self) -> bool:
        """Whether nothing was done."""
        return not self.fix.ran and not self.fix.changed


class Suggestion(NamedTuple):
    """What once made such an error go away, and what speaks for it."""

    memory: Memory
    likeness: float  # how far the errors are the same; 1: but for paths and numbers
    chance: float  # how likely it is to work again, by its record
    worked: int
    failed: int
    ran: tuple[str, ...]  # commands that were run
    changed: tuple[str, ...]  # files that were changed
    last_at: float  # when it last worked
    events: tuple[int, ...]  # where that stands in the log
    alone: int = 0  # how often the error went away with nothing done

    @property
    def why(self) -> str:
        """The evidence in words."""
        alike = "the same error" if self.likeness == 1.0 else f"a like error ({self.likeness:.0%})"
        without = f"; went away {self.alone} times without it" if self.alone else ""
        return f"{alike}; worked {self.worked} of {self.worked + self.failed} times{without}"


def attempt(before: Sequence[Event], again: Event) -> Attempt | None:
    """What was tried between a command's last failure and this run of it; None where nothing can be
    told from that.

    `before` are the deeds of the same conversation before this run, oldest first.
    """
    command = one_command(command_of(again))
    if not command or len(command) > MOST_COMMAND or went(again.payload) is None:
        return None
    between: list[Event] = []
    for event in reversed(before[-MOST_DEEDS:]):
        if again.at - event.at > MOST_SECONDS:
            return None
        if task_of(event) and task_of(again) and task_of(event) != task_of(again):
            continue
        if event.verb == TOOL and one_command(command_of(event)) == command:
            failed = went(event.payload) is False and folder_of(again) in ("", folder_of(event))
            return tried(event, between[::-1], again, command) if failed else None
        if MOVING.match(command_of(event)):
            return None
        between.append(event)
    return None


def tried(failed: Event, between: Sequence[Event], again: Event, command: str) -> Attempt | None:
    """An attempt, if what was done can be named and the error tells something."""
    error = signature(error_of(failed))
    failure = Failure(failed.seq, error.line)
    for call in calls(between):
        failure = done(failure, call)
    ran = tuple(dict.fromkeys(one for one in failure.ran if len(one) <= MOST_COMMAND))
    if not error.key or unfinished(error.line) or len(ran) + len(failure.changed) > MOST_STEPS:
        return None
    made = Attempt(
        failed, again, Fix(command, error.line, ran, failure.changed, failed.seq, again.seq), error
    )
    came_again = likeness(signature(error_of(again)), error) > 0.0 and not made.alone
    return made if made.worked or came_again else None


def calls(deeds: Iterable[Event]) -> list[Call]:
    """What went well of these deeds, as calls: commands, and files changed."""
    ran = [
        Call("", one_command(command_of(event)), "")
        for event in deeds
        if event.verb == TOOL and command_of(event) and went(event.payload) is not False
    ]
    return [
        *ran,
        *(Call("", "", path) for event in deeds if event.verb == FILE for path in edited(event)),
    ]


def told(attempt: Attempt) -> dict[str, Any]:
    """A remedy that has just worked for the first time, as fields of a memory."""
    error, fix = attempt.error, attempt.fix
    record = {
        "key": error.key,
        "code": error.code,
        "command": fix.command,
        "ran": list(fix.ran),
        "changed": list(fix.changed),
        "worked": 1,
        "failed": 0,
        "events": [attempt.failed.seq, attempt.again.seq],
        "last_at": attempt.again.at,
    }
    return {
        "text": fix.text,
        "kind": KIND,
        "title": error.line[:120],
        "files": fix.changed,
        "provenance": "observed",
        "details": {REMEDY: record},
    }


def same(memory: Memory, attempt: Attempt) -> bool:
    """Whether this attempt says something of a remedy: it was tried against the same error, or
    nothing was.
    """
    record = record_of(memory)
    if attempt.alone:
        return record.get("key") == attempt.error.key
    return (
        record.get("key"),
        tuple(record.get("ran") or ()),
        tuple(record.get("changed") or ()),
    ) == (attempt.error.key, attempt.fix.ran, attempt.fix.changed)


def counted(memory: Memory, attempt: Attempt, now: float) -> Revise:
    """A remedy that was tried once more: it worked again, or the same error came back, or went away
    without it.
    """
    record = dict(record_of(memory))
    name = "alone" if attempt.alone else "worked" if attempt.worked else "failed"
    record[name] = count(record.get(name)) + 1
    if name == "worked":
        record["last_at"] = attempt.again.at
    known = [*(record.get("events") or ()), attempt.failed.seq, attempt.again.seq]
    record["events"] = list(dict.fromkeys(known))[-MOST_OCCASIONS:]
    fields: dict[str, Any] = {
        "details": {**memory.details, REMEDY: record},
        "updated_at": now,
        "confidence": chance(*tally(record)),
    }
    if name == "worked":
        fields |= {"access_count": memory.access_count + 1, "last_accessed_at": now}
    return Revise(id=memory.id, fields=fields)


def chance(worked: int, failed: int, alone: int = 0) -> float:
    """The mean of Beta(1 + worked, 1 + failed + alone)."""
    return (1 + worked) / (2 + worked + failed + alone)


def tally(record: Mapping[str, Any]) -> tuple[int, int, int]:
    """How often a remedy worked, how often it failed, and how often the error went
    away without it.
    """
    return count(record.get("worked")), count(record.get("failed")), count(record.get("alone"))


def record_of(memory: Memory) -> Mapping[str, Any]:
    """What a remedy keeps of its error and its record; nothing where the memory is none. Details
    are anybody's.
    """
    record = memory.details.get(REMEDY)
    return record if isinstance(record, Mapping) else {}


def suggestions(error: str, learned: Iterable[Memory]) -> list[Suggestion]:
    """Remedies of this error, the likeliest first; empty where none is known of an error that is
    the same.
    """
    asked, line = signature(error), signature(error_line(error))
    found = [
        one
        for memory in learned
        if (one := suggestion(asked, line, memory)) and one.chance >= LEAST_CHANCE
    ]
    return sorted(found, key=lambda one: (-one.likeness * one.chance, -one.last_at, one.memory.id))


def commonest(learned: Iterable[Memory]) -> list[Suggestion]:
    """All remedies with a record, of the errors met most often first (D12)."""
    kept = [(memory, record_of(memory)) for memory in learned if record_of(memory)]
    found = [weighed(memory, record, 1.0) for memory, record in kept]
    return sorted(found, key=lambda one: (-one.worked - one.failed, -one.last_at, one.memory.id))


def weighed(memory: Memory, record: Mapping[str, Any], alike: float) -> Suggestion:
    """A remedy with its record."""
    worked, failed, alone = tally(record)
    ran, changed, events = (tuple(record.get(name) or ()) for name in ("ran", "changed", "events"))
    return Suggestion(
        memory,
        alike,
        chance(worked, failed, alone),
        worked,
        failed,
        tuple(map(str, ran)),
        tuple(map(str, changed)),
        float(record.get("last_at") or memory.at),
        tuple(map(count, events)),
        alone,
    )


def suggestion(asked: Signature, line: Signature, memory: Memory) -> Suggestion | None:
    """What a memory has to say about an error, if anything."""
    record = record_of(memory)
    if isinstance(key := record.get("key"), str):
        alike = likeness(asked, Signature(key, str(record.get("code") or ""), ""))
        return weighed(memory, record, alike) if alike else None
    if (said := SAID.search(memory.text)) is None:
        return None
    known = signature(said["error"].rstrip("…"))
    met = known.key and (known.key == line.key or known.key in asked.key.splitlines())
    return (
        Suggestion(
            memory,
            1.0,
            chance(1, 0),
            memory.strength,
            0,
            tuple(RAN.findall(said["done"])),
            memory.files,
            memory.at,
            (),
        )
        if met
        else None
    )


SAID = re.compile(r"failed with “(?P<error>.+?)”; fixed by (?P<done>.+)", re.DOTALL)
RAN = re.compile(r"running `([^`]+)`")
