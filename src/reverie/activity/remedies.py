"""Remedies of errors: the same command failed, then went well; what was done in between fixed it.

A remedy is a memory of kind `learning`. Its `details["remedy"]` keeps the error's signature, what
was run and changed, and its record: how often it worked, how often the same error came again all
the same, and how often the error went away without anything being done. How far it is believed is
the mean of Beta(1 + worked, 1 + failed + alone).

A command that next fails with another error, or that was run in another folder, tells nothing.
Whoever asks about an error gets remedies of errors that are the same, with their record, or none.
What conversations taught about errors (`error_lessons`) is searched too. Pure.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.activity import FILE, TOOL
from reverie.activity.activity_events import (
    PATH_PARAMETERS,
    first_text,
    get_event_task,
    get_run_command,
    get_run_error,
    get_run_folder,
    list_changed_paths,
    normalize_event_path,
)
from reverie.activity.error_lessons import (
    AgentCall,
    ErrorFix,
    OpenFailure,
    add_fix_step,
    find_error_line,
    is_test_failure,
    strip_command_noise,
    word_error_fix,
)
from reverie.activity.failure_signature import (
    FailureSignature,
    compare_signatures,
    compute_failure_signature,
)
from reverie.core.foreign_numbers import to_count
from reverie.core.kinds import LEARNING
from reverie.core.model import Event, Memory, Revise
from reverie.memory.episodes import read_success

KIND, REMEDY = LEARNING, "remedy"  # the kind, and the name in the details
# Between failure and success; later they have nothing to do with each other.
MAX_EVENTS_BETWEEN = 30
MAX_SECONDS_BETWEEN = 7_200.0
# Things done in between; after more nobody knows which of them it was.
MAX_REMEDY_STEPS = 4
# A longer command is a script, which nobody runs again word for word.
MAX_COMMAND_CHARS = 160
# Events that are named as evidence.
MAX_EVIDENCE_EVENTS = 20
# A command that goes into another folder and stays there.
FOLDER_CHANGE = re.compile(r"\s*(?:cd|pushd|popd)\b(?![^&;|]*(?:&&|;))")
PATCH_START = "*** Begin Patch"
# What tools for editing call what was there and what is there now.
EDITED = (("old_string", "old_str", "old_text"), ("new_string", "new_str", "new_text"))
NO_RERUN = re.compile(r"(?:^|\s)(?:--help|--version|-h|-V)(?:\s|$)")
MESSAGE_OPTION = re.compile(r"\s(?:-\w*m|--message)[ =](?:'[^']*'|\"[^\"]*\"|\S+)")
ASSIGNMENTS = re.compile(r"^(?:[A-Za-z_]\w*=\S*\s+)+")
# A remedy that failed more often than it worked is no advice.
MIN_CHANCE = 0.5


class FixAttempt(NamedTuple):
    """A command that had failed was run again after something was done."""

    failed: Event
    rerun: Event
    fix: ErrorFix
    error: FailureSignature

    @property
    def worked(self) -> bool:
        """True if it went well this time."""
        return read_success(self.rerun.payload) is True

    @property
    def is_without_fix(self) -> bool:
        """True if nothing was done."""
        return not (self.fix.ran or self.fix.told or self.fix.changed)

    @property
    def is_general(self) -> bool:
        """True if nothing of it is about this project: it holds in others too."""
        from reverie.activity.remedy_wording import concerns_project

        fix = self.fix
        if fix.changed or self.is_without_fix:
            return False
        return not concerns_project((*fix.ran, *fix.told), self.error.key)


class FixSuggestion(NamedTuple):
    """What made an error of this signature go away before, with the evidence."""

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
    told: tuple[str, ...] = ()  # commands that were run and destroyed something: no advice

    @property
    def why(self) -> str:
        """The evidence in words."""
        alike = "the same error" if self.likeness == 1.0 else f"a like error ({self.likeness:.0%})"
        without = f"; went away {self.alone} times without it" if self.alone else ""
        return f"{alike}; worked {self.worked} of {self.worked + self.failed} times{without}"


def find_fix_attempt(before: Sequence[Event], again: Event) -> FixAttempt | None:
    """What was tried between a command's last failure and this run of it; None where nothing can be
    told from that.

    `before` are the events of the same conversation before this run, oldest first.
    """
    command = strip_command_noise(get_run_command(again))
    if not command or len(command) > MAX_COMMAND_CHARS or read_success(again.payload) is None:
        return None
    between: list[Event] = []
    task = get_event_task(again)
    for event in reversed(before[-MAX_EVENTS_BETWEEN:]):
        # The events come newest first, so that all others lie still farther back.
        if again.at - event.at > MAX_SECONDS_BETWEEN:
            return None
        if task and get_event_task(event) not in ("", task):
            continue
        if event.verb == TOOL and is_same_command(
            strip_command_noise(get_run_command(event)), command
        ):
            same_folder = get_run_folder(again) in ("", get_run_folder(event))
            if not same_folder or read_success(event.payload) is not False:
                return None
            return make_fix_attempt(event, between[::-1], again)
        # What comes after was run in another folder: it says nothing about this failure.
        if FOLDER_CHANGE.match(get_run_command(event)):
            return None
        between.append(event)
    return None


def make_fix_attempt(
    failed: Event,
    between: Sequence[Event],
    again: Event,
) -> FixAttempt | None:
    """An attempt, if what was done can be named and the error tells something."""
    output = get_run_error(failed)
    error = compute_failure_signature(output)
    failure = OpenFailure(failed.seq, error.line)
    for call in list_successful_calls(between):
        failure = add_fix_step(failure, call)
    ran = tuple(dict.fromkeys(one for one in failure.ran if len(one) <= MAX_COMMAND_CHARS))
    steps = len(ran) + len(failure.changed)
    if not error.key or is_test_failure(error.line) or steps > MAX_REMEDY_STEPS:
        return None
    command = strip_command_noise(get_run_command(failed))
    rerun = strip_command_noise(get_run_command(again))
    # Where nothing else was done, another way to put the command is what was done.
    if not steps and rerun != command:
        ran = (rerun,)
    diffs = read_changes(between)
    fix = ErrorFix(
        command,
        error.line,
        ran,
        failure.changed,
        failed.seq,
        again.seq,
        diffs=tuple(diffs.get(path, "") for path in failure.changed),
    )
    made = FixAttempt(failed, again, word_error_fix(fix, output, ()), error)
    if made.worked:
        return made
    # It failed again: that tells something only where something was done, and of the same error.
    new_error = compute_failure_signature(get_run_error(again))
    came_again = compare_signatures(new_error, error) > 0.0
    return made if came_again and not made.is_without_fix else None


def list_successful_calls(events: Iterable[Event]) -> list[AgentCall]:
    """What went well of these events, as calls: commands first, then files changed."""
    from reverie.activity.remedy_wording import describe_patch

    commands: list[AgentCall] = []
    changes: list[AgentCall] = []
    for event in events:
        if event.verb == FILE:
            changes += [AgentCall("", "", path) for path in list_changed_paths(event)]
        command = get_run_command(event)
        if event.verb != TOOL or not command or read_success(event.payload) is False:
            continue
        if PATCH_START in command:
            changes += [AgentCall("", "", path) for path, _ in describe_patch(command)]
        else:
            commands.append(AgentCall("", strip_command_noise(command), ""))
    return commands + changes


def is_same_command(one: str, other: str) -> bool:
    """True if two commands are the same but for their options; asking for help is another one."""
    if one == other:
        return True
    # Only what is put before and after a command is seen from outside.
    if not one or not other or NO_RERUN.search(other):
        return False
    return strip_options(one) == strip_options(other)


def strip_options(command: str) -> tuple[str, ...]:
    """The words of a command without its options, and without variables before it."""
    plain = ASSIGNMENTS.sub("", MESSAGE_OPTION.sub("", command))
    return tuple(word for word in plain.split() if not word.startswith("-"))


def read_changes(events: Iterable[Event]) -> dict[str, str]:
    """What edits changed in a line, by path, as far as the log has it."""
    from reverie.activity.remedy_wording import describe_change, describe_patch

    found: dict[str, str] = {}
    for event in events:
        if event.verb != TOOL or read_success(event.payload) is False:
            continue
        if PATCH_START in (command := get_run_command(event)):
            found.update(describe_patch(command))
        given = event.payload.get("parameters")
        if not isinstance(given, Mapping):
            continue
        path = first_text(given.get(name) for name in PATH_PARAMETERS)
        old, new = (first_text(given.get(name) for name in names) for names in EDITED)
        if path and (old or new):
            found[normalize_event_path(path)] = describe_change(old, new)
    return found


def describe_remedy(attempt: FixAttempt) -> dict[str, Any]:
    """A remedy that has just worked for the first time, as fields of a memory."""
    error, fix = attempt.error, attempt.fix
    if attempt.is_general:
        fix = without_project(fix)
    record = {
        "key": error.key,
        "code": error.code,
        "command": fix.command,
        "ran": list(fix.ran),
        **({"told": list(fix.told)} if fix.told else {}),
        "changed": list(fix.changed),
        **({"diffs": list(fix.diffs)} if any(fix.diffs) else {}),
        **({"cause": fix.cause} if fix.cause else {}),
        "worked": 1,
        "failed": 0,
        "events": [attempt.failed.seq, attempt.rerun.seq],
        "last_at": attempt.rerun.at,
    }
    return {
        "text": fix.text,
        "kind": KIND,
        "title": fix.error[:120],
        "files": fix.changed,
        "provenance": "observed",
        "details": {REMEDY: record},
    }


def without_project(fix: ErrorFix) -> ErrorFix:
    """A fix for every project: without the command, if that is one of this project's."""
    from reverie.activity.remedy_wording import concerns_project

    return fix._replace(command="") if concerns_project((fix.command,), "") else fix


def explain_remedy(memory: Memory, said: Sequence[str], *, between: bool) -> Revise | None:
    """A remedy with what the agent said was wrong; None where it says nothing, or it is known."""
    from reverie.activity.remedy_wording import find_cause, is_about_files

    record = get_remedy_record(memory)
    if not record or record.get("cause"):
        return None
    done = [
        str(one) for name in ("ran", "told", "changed", "diffs") for one in record.get(name) or ()
    ]
    about = " ".join((str(record.get("key")), memory.title, *done))
    cause = find_cause(said, about, between=between)
    # What holds in other projects names no file of this one.
    if not cause or (not memory.files and is_about_files(cause)):
        return None
    details = {**memory.details, REMEDY: {**record, "cause": cause}}
    return Revise(memory.id, {"text": f"{memory.text} What was wrong: {cause}", "details": details})


def concerns_remedy(memory: Memory, attempt: FixAttempt) -> bool:
    """True if an attempt tells about a remedy: the same error, and the same done about it or
    nothing.
    """
    record = get_remedy_record(memory)
    if record.get("key") != attempt.error.key:
        return False
    if attempt.is_without_fix:
        return True
    ran, told, changed = (tuple(record.get(name) or ()) for name in ("ran", "told", "changed"))
    return (ran, told, changed) == (attempt.fix.ran, attempt.fix.told, attempt.fix.changed)


def record_attempt(
    memory: Memory,
    attempt: FixAttempt,
    now: float,
) -> Revise:
    """The remedy's record with one more attempt: it worked again, failed, or was not needed."""
    record = dict(get_remedy_record(memory))
    outcome = "worked" if attempt.worked else "failed"
    if attempt.is_without_fix:
        outcome = "alone"
    record[outcome] = to_count(record.get(outcome)) + 1
    if outcome == "worked":
        record["last_at"] = attempt.rerun.at
    events = [*(record.get("events") or ()), attempt.failed.seq, attempt.rerun.seq]
    record["events"] = list(dict.fromkeys(events))[-MAX_EVIDENCE_EVENTS:]
    fields: dict[str, Any] = {
        "details": {**memory.details, REMEDY: record},
        "updated_at": now,
        "confidence": estimate_success(*read_remedy_counts(record)),
    }
    if outcome == "worked":
        fields |= {"access_count": memory.access_count + 1, "last_accessed_at": now}
    return Revise(memory.id, fields)


def estimate_success(
    worked: int,
    failed: int,
    alone: int = 0,
) -> float:
    """The mean of Beta(1 + worked, 1 + failed + alone)."""
    return (1 + worked) / (2 + worked + failed + alone)


def read_remedy_counts(record: Mapping[str, Any]) -> tuple[int, int, int]:
    """How often a remedy (worked, failed, was not needed as the error went away without it)."""
    worked, failed, alone = (to_count(record.get(name)) for name in ("worked", "failed", "alone"))
    return worked, failed, alone


def get_remedy_record(memory: Memory) -> Mapping[str, Any]:
    """What a remedy keeps of its error and its record; empty where the memory is none. Details are
    anybody's.
    """
    record = memory.details.get(REMEDY)
    return record if isinstance(record, Mapping) else {}


def is_remedy(memory: Memory) -> bool:
    """True for what `find_fix_suggestions` looks among: it knows which error is the same."""
    return bool(get_remedy_record(memory)) or FIX_SENTENCE.search(memory.text) is not None


def find_fix_suggestions(error: str, learned: Iterable[Memory]) -> list[FixSuggestion]:
    """Remedies of this error, the likeliest first; empty where none is known of an error that is
    the same.
    """
    asked = compute_failure_signature(error)
    line = compute_failure_signature(find_error_line(error))
    found = [suggest_from_memory(asked, line, memory) for memory in learned]
    good = [one for one in found if one and one.chance >= MIN_CHANCE]
    return sorted(
        good,
        key=lambda one: (-one.likeness * one.chance, -one.last_at, one.memory.id),
    )


def rank_known_remedies(learned: Iterable[Memory]) -> list[FixSuggestion]:
    """All remedies with a record, those tried most often first."""
    records = [(memory, get_remedy_record(memory)) for memory in learned]
    found = [make_suggestion(memory, record, 1.0) for memory, record in records if record]
    return sorted(
        found,
        key=lambda one: (-one.worked - one.failed, -one.last_at, one.memory.id),
    )


def make_suggestion(
    memory: Memory,
    record: Mapping[str, Any],
    alike: float,
) -> FixSuggestion:
    """A remedy with its record."""
    worked, failed, alone = read_remedy_counts(record)
    return FixSuggestion(
        memory,
        alike,
        estimate_success(worked, failed, alone),
        worked,
        failed,
        ran=tuple(map(str, record.get("ran") or ())),
        changed=tuple(map(str, record.get("changed") or ())),
        last_at=float(record.get("last_at") or memory.at),
        events=tuple(map(to_count, record.get("events") or ())),
        alone=alone,
        told=tuple(map(str, record.get("told") or ())),
    )


def suggest_from_memory(
    asked: FailureSignature,
    line: FailureSignature,
    memory: Memory,
) -> FixSuggestion | None:
    """What a memory has to say about an error: a remedy, or a sentence that a conversation taught.

    `line` is the signature of the error's most telling line alone, which such a sentence quotes.
    """
    record = get_remedy_record(memory)
    key = record.get("key")
    if isinstance(key, str):
        known = FailureSignature(key, str(record.get("code") or ""), "")
        alike = compare_signatures(asked, known)
        return make_suggestion(memory, record, alike) if alike else None
    sentence = FIX_SENTENCE.search(memory.text)
    if sentence is None:
        return None
    # The sentence quotes the line shortened: the mark for that is not the error's.
    quoted = compute_failure_signature(sentence["error"].rstrip("…"))
    if not quoted.key or not (quoted.key == line.key or quoted.key in asked.key.splitlines()):
        return None
    return FixSuggestion(
        memory,
        1.0,
        estimate_success(1, 0),
        memory.strength,
        0,
        ran=tuple(RAN_COMMAND.findall(sentence["done"])),
        changed=memory.files,
        last_at=memory.at,
        events=(),
    )


FIX_SENTENCE = re.compile(r"failed with “(?P<error>.+?)”; fixed by (?P<done>.+)", re.DOTALL)
RAN_COMMAND = re.compile(r"running `([^`]+)`")
