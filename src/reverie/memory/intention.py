"""What is to be done later: prospective memory, as a memory of kind `intention`. Pure functions.

Its text says what; its triggers are patterns that call for it; `details` hold the rest:

| detail | meaning |
|---|---|
| `when` | when it is due, in seconds since 1970; none: only its triggers call for it |
| `zone` | the time zone in which that was meant, by its IANA name |
| `every` | how it recurs: cron, or "every 2 weeks at 09:00" (`text.time_expressions`) |
| `priority` | 0 to 1, 0.5 unless said otherwise |
| `status` | pending → triggered → done or cancelled |
| `fired_at` | when it was last given to somebody |
| `resumes` | when a series goes on of which one time was put off by `snooze` |
| `was_every` | how it recurred, of what has no next time any more |

Always true: only what waits is due, by priority, then by time, then by id. What has time and
triggers is due by whichever comes first. Firing is a compare-and-set: `is_same_occurrence` tells
whether a reminder stands as it was when it was found due. One that recurs waits for its next time
as soon as it has fired; what was missed meanwhile has fired in that one. What is done or cancelled
counts no longer, and can be restored like anything else.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.foreign_numbers import MAX_TIMESTAMP
from reverie.core.kinds import INTENTION, PENDING
from reverie.core.model import Change, Hit, Memory, Retire, Revise
from reverie.core.trigger_patterns import REGEX_PREFIX, TOOL_PREFIX, TriggerContext, matches_trigger
from reverie.memory.detail_changes import drop_details, revise_details
from reverie.text.time_expressions import (
    MORNING,
    first_occurrence,
    format_wall_time,
    is_known_zone,
    is_recurrence_rule,
    load_zone,
    next_occurrence,
    parse_recurrence,
    parse_time_ahead,
    to_wall_time,
)

DEFAULT_PRIORITY = 0.5
TRIGGERED, DONE, CANCELLED = "triggered", "done", "cancelled"
STATUSES = (PENDING, TRIGGERED, DONE, CANCELLED)
END_STATUSES = {"done": DONE, "cancel": CANCELLED}

# One of these stands where a reminder is set: "when …, remind me to …"
SETTING_WORDS = ("remind", "forget", "remember")

When = str | float | datetime | date | None


def is_finite_number(value: Any) -> bool:
    """True if it is a number and finite; True and False are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def is_timestamp(value: Any) -> bool:
    """True if it is seconds since 1970; what is larger was meant as milliseconds."""
    return is_finite_number(value) and 0 <= value < MAX_TIMESTAMP


DETAIL_CHECKS: dict[str, Callable[[Any], bool]] = {
    "status": lambda value: value in STATUSES,
    "when": is_timestamp,
    "zone": lambda value: isinstance(value, str) and is_known_zone(value),
    "every": lambda value: isinstance(value, str) and is_recurrence_rule(value),
    "priority": is_finite_number,
    "fired_at": is_timestamp,
    "resumes": is_timestamp,
}
"""What each detail must be to count: one bad line of an imported file must not stop the others from
being due.
"""


# cron passes over the months that are shorter
LATE_IN_MONTH = re.compile(r"\S+ \S+ (?:29|30|31) \S+ \S+")


class ReminderDetails(NamedTuple):
    """What the details of an intention say. Details are anybody's: what does not fit counts as not
    said.
    """

    status: str = PENDING
    when: float | None = None
    zone: str = "UTC"
    every: str = ""
    priority: float = DEFAULT_PRIORITY
    fired_at: float | None = None
    resumes: float | None = None


def read_reminder(memory: Memory) -> ReminderDetails:
    """An intention's status, time, recurrence and priority."""
    checked = {name: memory.details[name] for name in DETAIL_CHECKS if name in memory.details}
    known = {name: value for name, value in checked.items() if DETAIL_CHECKS[name](value)}
    return ReminderDetails(**known)


def is_waiting(memory: Memory) -> bool:
    """True if it is still to fire: it is pending, or recurs."""
    if memory.kind != INTENTION or not memory.active:
        return False
    reminder = read_reminder(memory)
    recurs = reminder.status == TRIGGERED and bool(reminder.every)
    return reminder.status == PENDING or recurs


def reminder_status(memory: Memory) -> str:
    """Its status; one that was forgotten without a word of being done counts as cancelled."""
    status = read_reminder(memory).status
    return status if memory.active or status in (DONE, CANCELLED) else CANCELLED


def reminder_time_order(memory: Memory) -> tuple[float, str]:
    """The sort key of a list of reminders: by time, those without one last, ties by id."""
    when = read_reminder(memory).when
    return math.inf if when is None else when, memory.id


def find_due_reminders(
    memories: Iterable[Memory],
    now: float,
    context: Sequence[TriggerContext] = (),
) -> list[Hit]:
    """The reminders that are due now or called for by the context, the most urgent first.

    The score is the priority, `why` says what makes it due.
    """
    found = []
    for memory in memories:
        why = explain_due(memory, now, context) if is_waiting(memory) else ""
        if why:
            found.append(Hit(memory, read_reminder(memory).priority, (why,)))
    return sorted(found, key=lambda hit: reminder_urgency(hit.memory))


def reminder_urgency(memory: Memory) -> tuple[float, float, str]:
    """The sort key of what is due: priority, then time, ties by id.

    What has no time counts from when it was written down.
    """
    one = read_reminder(memory)
    return -one.priority, memory.created_at if one.when is None else one.when, memory.id


def explain_due(
    memory: Memory,
    now: float,
    context: Sequence[TriggerContext],
) -> str:
    """Why it is due; empty if it is not.

    The words in which it was set do not call for it themselves.
    """
    reminder = read_reminder(memory)
    if reminder.when is not None and reminder.when <= now:
        return f"due {format_wall_time(reminder.when, reminder.zone)}"
    if reminder.status != PENDING:
        return ""
    others = [scene for scene in context if not sets_reminder(scene, memory)]
    for pattern in memory.triggers:
        if pattern and any(matches_trigger(pattern, scene) for scene in others):
            return f"trigger {display_pattern(pattern)!r}"
    return ""


def sets_reminder(scene: TriggerContext, memory: Memory) -> bool:
    """True if these are the words in which the reminder was set: "remind me to …"."""
    # The scene is in lower case already.
    if memory.text.lower() not in scene.text:
        return False
    return any(word in scene.text for word in SETTING_WORDS)


def is_same_occurrence(memory: Memory, seen: Memory) -> bool:
    """True if it waits for the same occurrence as when it was `seen`: nobody has fired, moved or
    ended it.
    """
    # Status, time, zone and recurrence: another priority makes no other occurrence.
    return is_waiting(memory) and read_reminder(memory)[:4] == read_reminder(seen)[:4]


def mark_fired(memory: Memory, now: float) -> Revise:
    """The change when it was given to somebody: one that recurs waits for its next time."""
    reminder = read_reminder(memory)
    details: dict[str, Any] = {"status": TRIGGERED, "fired_at": now}
    if reminder.every and reminder.when is not None:
        try:
            details |= {"when": next_due_time(reminder, now), "resumes": None}
        except BadInput:
            # It cannot come again: told once, it stays in the list.
            details |= {"every": None, "was_every": reminder.every}
    return change_details(memory, now, details)


def next_due_time(one: ReminderDetails, now: float) -> float:
    """When one that recurs is due again after this time: BadInput if never.

    The rhythm is the series', not that of a time that was put off.
    """
    # One time was put off: the series goes on where it was.
    if one.resumes is not None and one.resumes > now:
        return one.resumes
    return next_occurrence(
        one.every,
        one.resumes or one.when or now,
        now,
        one.zone,
    )


def end_reminder(
    memory: Memory,
    how: str,
    now: float,
) -> list[Change]:
    """The changes by which it is done or cancelled (`how`: "done" or "cancel").

    Of what recurs, "done" ends this occurrence and "cancel" all of them.
    """
    one = read_reminder(require_intention(memory))
    if not memory.active:
        raise BadInput(
            f"{memory.id} is {memory.retired_why or 'retired'} already. "
            f"`reverie memory restore {memory.id}` brings it back"
        )
    if how == "done" and one.every and one.when is not None:
        # One that has fired waits for its next time already.
        when = one.when if one.status == TRIGGERED else next_due_time(one, now)
        return [
            change_details(
                memory,
                now,
                {
                    "status": PENDING,
                    "when": when,
                    "resumes": None,
                },
            )
        ]
    status = END_STATUSES[how]
    return [
        change_details(memory, now, {"status": status}),
        Retire(memory.id, now, why=status),
    ]


def snooze_reminder(
    memory: Memory,
    until: When,
    now: float,
) -> Revise:
    """The change by which it is due later, whatever it was.

    Of what recurs one time is put off; the series goes on as it would have.
    """
    one = read_reminder(require_intention(memory))
    if not memory.active:
        raise BadInput(
            f"{memory.id} does not count any more. "
            f"`reverie memory restore {memory.id}` brings it back"
        )
    if until is None:
        raise BadInput("Until when? Say for instance “in 20 minutes” or “tomorrow at 9”")
    when, resumes = parse_time_ahead(until, now, one.zone), None
    if one.every and one.when is not None:
        missed = one.resumes is None and one.status == PENDING
        resumes = next_due_time(one, now) if missed else one.resumes or one.when
    return change_details(
        memory,
        now,
        {
            "status": PENDING,
            "when": when,
            "resumes": resumes,
        },
    )


def reopened_details(memory: Memory) -> dict[str, Any]:
    """The details of one that is restored: it waits again."""
    status = read_reminder(memory).status
    return {**memory.details, "status": PENDING if status in (DONE, CANCELLED) else status}


def change_details(
    memory: Memory,
    now: float,
    more: Mapping[str, Any],
) -> Revise:
    """The change that puts these values among the details; None takes one away."""
    taken = [name for name, value in more.items() if value is None]
    return revise_details(
        memory,
        drop_details({**memory.details, **more}, *taken),
        now,
    )


def require_intention(memory: Memory) -> Memory:
    """The memory, if it is an intention; else BadInput."""
    if memory.kind != INTENTION:
        raise BadInput(
            f"{memory.id} is a {memory.kind}, not something to be reminded of. "
            "`reverie reminder list` lists what is"
        )
    return memory


def complete_intention_details(
    details: Mapping[str, Any],
    now: float,
    local: Callable[[], str],
) -> dict[str, Any]:
    """The details of an intention, with its times resolved; BadInput for what cannot be or is gone
    by.

    `when` may be a phrase, `every` too; `local` tells the zone that is meant where none is said. A
    time that is a number is taken as it is, also one gone by: that is how a reminder comes back
    from a file.
    """
    said = {name: value for name, value in details.items() if value not in (None, "")}
    priority, status = said.get("priority", DEFAULT_PRIORITY), said.get("status", PENDING)
    if not is_finite_number(priority) or not 0.0 <= priority <= 1.0:
        raise BadInput(f"priority={priority!r} must lie between 0 and 1")
    if status not in STATUSES:
        raise BadInput(f"status={status!r} is none; there are {', '.join(STATUSES)}")
    # Only where a time is said: finding the local zone reads the system's files.
    if said.keys() & {"when", "every"}:
        said |= resolve_times(said, now, said.get("zone") or local())
    return {
        **said,
        "priority": float(priority),
        "status": status,
    }


def resolve_times(
    said: Mapping[str, Any],
    now: float,
    zone: str,
) -> dict[str, Any]:
    """When, in which zone and how often, from what was said of them.

    A first time may be said of what recurs.
    """
    load_zone(zone)
    found: dict[str, Any] = {"zone": zone}
    clock_time = MORNING
    if "when" in said:
        when: Any = said["when"]
        found["when"] = float(when) if is_timestamp(when) else parse_time_ahead(when, now, zone)
    every = said.get("every")
    if not every:
        return found
    if "when" in found:
        clock_time = to_wall_time(found["when"], zone).time()
    rule = parse_recurrence(every, found.get("when", now), zone, clock_time)
    found["every"] = rule
    if "when" not in found:
        found["when"] = first_occurrence(rule, now, zone)
    if not is_timestamp(next_occurrence(rule, found["when"], now, zone)):
        raise BadInput(
            f"{every!r} from {format_wall_time(found['when'], zone)} never comes a second time"
        )
    return found


def describe_due(memory: Memory) -> str:
    """When and where it is due, in words, so that a misunderstanding shows."""
    reminder = read_reminder(memory)
    every = reminder.every
    parts = []
    if reminder.when is not None:
        parts.append(format_wall_time(reminder.when, reminder.zone))
    if every:
        parts.append(f"then {every}" if every.startswith("every") else f"then by cron {every}")
        # Told back, because it surprises: the 31st comes seven times a year.
        if LATE_IN_MONTH.fullmatch(every):
            parts.append("only in months that have this day")
    if memory.triggers:
        parts.append(f"when the context meets {', '.join(map(display_pattern, memory.triggers))}")
    return ", ".join(parts) or "nothing calls for it"


def build_trigger_patterns(
    files: Sequence[str] = (),
    commands: Sequence[str] = (),
    topics: Sequence[str] = (),
) -> list[str]:
    """Trigger patterns for files (globs of paths), commands (globs of what a shell is given) and
    topics.
    """
    return [*map(path_pattern, files), *map(command_pattern, commands), *map(topic_pattern, topics)]


# Square brackets are letters to choose from, as in a shell.
_CLASS = r"\[!?[^\[\]\s/\\]+\]"  # [ab], [a-z], [!0-9]
# In a glob of paths. The longer ones first: `display_pattern` replaces them in this order.
WILDCARDS = {
    "**/": r"(?:\S*/)?",
    "**": r"\S*",
    "*": r"[^\s/]*",
    "?": r"[^\s/]",
}
PATH, WORDS = (r"(?<![\w.-])", r"(?![\w-])"), (r"(?<!\w)", r"(?!\w)")  # what stands around them


def path_pattern(glob: str) -> str:
    """A pattern that matches a path, touched or named: `*` stays within a folder, `**` does not.

    A name without its folder matches in any: `auth.py` in src/auth.py, but not in oauth.py.
    """
    pieces = re.split(rf"(\*\*/|\*\*|\*|\?|{_CLASS})", normalize_path_glob(glob))
    expressions = [WILDCARDS.get(piece) or class_pattern(piece) for piece in pieces]
    return REGEX_PREFIX + "".join(expressions).join(PATH)


def normalize_path_glob(glob: str) -> str:
    """A glob of paths as one writes it in a project; BadInput if it names no file.

    There is no ./ before it; a folder means all that is in it.
    """
    path = re.sub(r"^(?:\./+)+", "", glob.strip())
    if not path.strip("."):
        raise BadInput(f"{glob!r} names no file. Write for instance src/auth.py, auth.py or src/**")
    return f"{path}**" if path.endswith("/") else path


def class_pattern(piece: str) -> str:
    """A piece of a glob as a regular expression.

    [ab] is one of these letters, or itself, as in app/[id]/page.tsx.
    """
    if not re.fullmatch(_CLASS, piece):
        return re.escape(piece)
    negation = "^" * (piece[1] == "!")
    # What has a meaning within brackets and none in a glob is escaped.
    plain = re.sub(
        r"([\[&~|^])",
        r"\\\1",
        piece[1:-1].removeprefix("!"),
    )
    letters = negation + plain
    try:
        re.compile(f"[{letters}]")
    except re.error:  # letters that are in no order: [z-a]
        return re.escape(piece)
    return rf"(?:{re.escape(piece)}|(?![\s/])[{letters}])"


def command_pattern(glob: str) -> str:
    """A pattern that matches a command which a tool is given; one that begins with `tool:` is kept
    as it is.
    """
    command = glob.strip()
    if not command:
        raise BadInput(
            f"{glob!r} names no command. Write for instance git push*, or tool:Bash for whatever "
            f"it runs"
        )
    if command.startswith(TOOL_PREFIX):
        return command
    return f"{TOOL_PREFIX}*({command.rstrip('*')}*)"


def topic_pattern(words: str) -> str:
    """A pattern that matches these words, each whole; a pattern of another form is kept as it
    is.
    """
    said = words.strip()
    if not said:
        raise BadInput(f"{words!r} are no words that a conversation could be about")
    if said.startswith((REGEX_PREFIX, TOOL_PREFIX)) or "*" in said or "?" in said:
        return said
    return REGEX_PREFIX + r"\s+".join(map(re.escape, said.split())).join(WORDS)


# what `class_pattern` writes
_EITHER = re.compile(r"\(\?:(\\\[\S+?\\\])\|\(\?!\[\\s/\]\)\[\S+?(?<!\\)\]\)")


def display_pattern(pattern: str) -> str:
    """A pattern made here, as a person would write it."""
    for before, after in (PATH, WORDS):
        if pattern.startswith(REGEX_PREFIX + before) and pattern.endswith(after):
            inner = pattern[len(REGEX_PREFIX + before) : -len(after)].replace(
                r"\s+",
                " ",
            )
            for written, expression in WILDCARDS.items():
                inner = inner.replace(expression, written)
            return re.sub(r"\\(.)", r"\1", _EITHER.sub(r"\1", inner))
    return pattern
