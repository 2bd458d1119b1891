"""What happened to a memory, as sentences: one an event, runs of like events as one, with the
number that `undo` takes.

No name of a field stands in them and no value as a program writes it. What a memory has to do with
others is said with their words, where they are at hand. Pure functions.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import NamedTuple

from reverie.core.code_anchors import ANCHORS, anchors_in, combine_states
from reverie.core.model import Event, Memory, Record
from reverie.text.tokenization import shorten_line

# Characters of another memory that are quoted.
MAX_QUOTED_CHARS = 80
# Event numbers that are listed one by one.
MAX_LISTED_EVENTS = 3
# Events that a short story tells, at either end of a long life.
FIRST_EVENTS, LAST_EVENTS = 2, 6

ADDED_PHRASES = {
    "import": "imported",
    "learn": "learned from the conversation",
    "gather": "learned from the conversation",
    "summary": "written when the session was over or silent",
    "extract": "learned from the conversation by a language model",
    "sleep": "written in sleep",
    "answer": "found by a language model to answer a question",
}
"""Verb of an event → how a memory came to be by it; else it was kept."""

RETIRED_PHRASES = {
    "superseded": "replaced by {}",
    "merged": "merged into {}, which says the same",
    "forgotten": "forgotten on request",
    "expired": "its time was over",
    "faded": "it had faded and went to the archive",
    "undone": "what had added it was taken back",
    "removed in review": "its skill was removed in review",
}
"""Why a memory counts no longer, in words; {} is what stands for it now."""

LINK_PHRASES = {
    "supersedes": "took the place of {}",
    "contradicts": "found to contradict {}",
    "resembles": "found to say nearly the same as {}",
    "relates_to": "tied to another memory",
    "in_cluster": "put into a group with others",
    "about": "noted what it is about",
    "derived_from": "made from {}",
    "led_to": "found to have led to {}",
    "depends_on": "rests on {}",
}

_NAMED_AS_THEY_ARE = "title kind files triggers details speaker space"
FIELD_NAMES = {name: name for name in _NAMED_AS_THEY_ARE.split()} | {
    "at": "time",
    "trust": "source",
    "provenance": "source",
    "session": "conversation",
    "messages": "place in the conversation",
    "valid_from": "validity",
    "valid_to": "validity",
    "expires_at": "end",
    "salience": "importance",
}
"""What somebody may change on a memory, as people call it."""

JUDGED_BY_PHRASES = {
    "user": "",
    "host": ", as the agent found",
    "judge": ", as a language model judged",
}

Memories = Mapping[str, Memory]
"""Memories that a story may quote, by id."""

Records = Sequence[Record]


class EventSummary(NamedTuple):
    """One event of a memory's history: when, its number, and what it did."""

    at: float
    seq: int
    what: str


def format_date(at: float) -> str:
    """The day of a moment, in UTC."""
    return format_moment(at).split(" ")[0] if abs(at) < 1e11 else format_moment(at)


def format_moment(at: float) -> str:
    """A moment to the minute, in UTC; in seconds if no calendar holds it."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return f"second {at:.0f}"


def quote_memory(id: str, others: Memories) -> str:
    """Another memory in its own words, with its day and its id; the id alone if it is not at
    hand.
    """
    if id not in others:
        return id
    return f"{quote_text(id, others)} ({format_date(others[id].at)}, {id})"


def quote_text(id: str, others: Memories) -> str:
    """Another memory in its own words alone: its day and id stand elsewhere in the story."""
    return f"“{shorten_line(others[id].text, MAX_QUOTED_CHARS)}”" if id in others else id


def count_in_words(count: int) -> str:
    """ "once", "twice", "3 times"."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def tell_history(
    history: Records,
    others: Memories,
    *,
    whole: bool,
    id: str,
) -> list[str]:
    """A sentence an event, if the `whole` is wanted.

    Else like events in a row are one sentence, and of many the first and last are told.
    """
    events = []
    for seq, group in groupby(history, lambda record: record.event.seq):
        records = list(group)
        what = describe_event(records, others)
        events.append(EventSummary(records[0].event.at, seq, what))
    if whole:
        return [tell_run([event]) for event in events]
    # Only runs: what happened in between keeps its place.
    lines = [
        tell_run(list(run))
        for _, run in groupby(
            events,
            lambda event: event.what,
        )
    ]
    # One line that says how many are left out takes as much room as the line it would hide.
    if len(lines) <= FIRST_EVENTS + LAST_EVENTS + 1:
        return lines
    hidden = len(lines) - FIRST_EVENTS - LAST_EVENTS
    more = f"… {hidden} more steps in between: `reverie explain {id} --all` tells them."
    return [*lines[:FIRST_EVENTS], more, *lines[-LAST_EVENTS:]]


def tell_run(run: Sequence[EventSummary]) -> str:
    """One event, or some like events in a row, in one sentence."""
    first, last = run[0], run[-1]
    began, ended = format_date(first.at), format_date(last.at)
    if len(run) == 1:
        return f"{began}: {first.what} (event {first.seq})."
    if len(run) <= MAX_LISTED_EVENTS:
        numbers = ", ".join(str(event.seq) for event in run)
    else:
        numbers = f"{first.seq} … {last.seq}"
    when = began if began == ended else f"between {began} and {ended}"
    told = f"{when}: {first.what}, {count_in_words(len(run))}"
    return f"{told[0].upper()}{told[1:]} (events {numbers})."


def describe_event(records: Records, others: Memories) -> str:
    """What one event did to the memory."""
    event = records[0].event
    # What an undo did stands with the event that it took back.
    if event.verb == "undo":
        return f"event {event.payload.get('of')} was taken back"
    if event.verb == "restore" and any("retired_at" in record.after for record in records):
        return "brought back"
    phrases = [phrase for record in records for phrase in describe_record(record, others)]
    if "heard again" in phrases:  # that it was put in other words stands elsewhere
        phrases = [phrase for phrase in phrases if not phrase.startswith("made from")]
    if event.verb == "used" and not phrases:
        return "used by an agent that had been given it"
    told = "; ".join(dict.fromkeys(phrases)) or "looked at, nothing changed that matters"
    return told + {"sleep": ", in sleep", "review": ", as a person decided"}.get(event.verb, "")


def describe_record(record: Record, others: Memories) -> Iterable[str]:
    """What one change did, in phrases."""
    if record.op == "add":
        return [ADDED_PHRASES.get(record.event.verb, "kept")]
    # Before all else: a memory that is retired is changed in other fields, too.
    if record.after.get("retired_at") is not None:
        why = str(record.after.get("retired_why") or "")
        heir = record.after.get("superseded_by")
        return [describe_retirement(why, quote_text(str(heir), others) if heir else "")]
    if record.op == "link":
        return describe_link(record, others)
    return (
        describe_verdict(record.event)
        or describe_anchor_change(record)
        or describe_revision(record)
    )


def describe_retirement(why: str, successor: str) -> str:
    """Why it counts no longer; `successor` is what stands for it, in words, if anything does."""
    return RETIRED_PHRASES.get(why, why or "forgotten").replace("{}", successor or "another memory")


def describe_link(record: Record, others: Memories) -> list[str]:
    """A link that was made or taken away; nothing for tags, which are told by the change of the
    tags.
    """
    rel, dst = str(record.after.get("rel", "")), str(record.after.get("dst", ""))
    # What became of an anchor is told by the change of its details.
    if rel not in LINK_PHRASES or (rel == "about" and record.event.verb == "anchor"):
        return []
    if not record.after.get("weight"):
        return ["a tie was taken away"]
    return [LINK_PHRASES[rel].replace("{}", quote_text(dst, others))]


def describe_verdict(event: Event) -> list[str]:
    """What somebody found who used it; empty if the event is no verdict."""
    if event.verb == "outcome":
        return [
            "followed, and it worked" if event.payload.get("worked") else "followed, and it failed"
        ]
    if event.verb == "feedback":
        helped = "it helped" if event.payload.get("helpful") else "it did not help"
        return [
            helped
            + JUDGED_BY_PHRASES.get(
                str(event.payload.get("by", "user")),
                "",
            )
        ]
    return []


def describe_anchor_change(record: Record) -> list[str]:
    """What was found of the code that it speaks of, if that is all that was done; else nothing."""
    before, after = record.before.get("details") or {}, record.after.get("details") or {}
    has_other_changes = set(record.after) - {"details", "updated_at"}
    if "details" not in record.after or has_other_changes:
        return []
    if before.get(ANCHORS) == after.get(ANCHORS):
        return []
    old, new = anchors_in(before), anchors_in(after)
    if record.event.payload.get("confirmed"):
        return ["confirmed: it holds for the code as it is now"]
    if combine_states(new):
        return [anchor.notice for anchor in new if anchor.state]
    if combine_states(old):
        return ["the code is again what it speaks of"]
    known = {anchor.location for anchor in old}
    moved = [anchor.location for anchor in new if anchor.was and anchor.location not in known]
    return [f"followed to {', '.join(moved)}"] if moved else ["noted which code it is about"]


def describe_revision(record: Record) -> list[str]:
    """What was changed about it, in words."""
    before, after = record.before, record.after
    found = []
    if after.get("strength", 0) > before.get(
        "strength",
        after.get("strength", 0),
    ):
        return ["heard again"]
    if "retired_at" in after:
        found.append("counts again")
    if "text" in after:
        found.append(
            f"reworded, before it said "
            f"“{shorten_line(str(before.get('text') or ''), MAX_QUOTED_CHARS)}”"
        )
    if "tags" in after:
        found += describe_tag_change(
            before.get("tags") or (),
            after.get("tags") or (),
        )
    # Reconciliation and sleep alter fields by the way; what they did is told by its own phrase.
    changed = dict.fromkeys(FIELD_NAMES[name] for name in after if name in FIELD_NAMES)
    if changed and "tags" not in after and record.event.verb not in ("reconcile", "sleep"):
        found.append(f"given another {' and '.join(changed)}")
    if "confidence" in after and not found:
        more = (after["confidence"] or 0.0) >= (before.get("confidence") or 0.0)
        if more and "access_count" in after:
            found.append("believed a little more, it answered a question")
        else:
            found.append("believed more" if more else "believed less")
    return found


def describe_tag_change(
    before: Iterable[str],
    after: Iterable[str],
) -> list[str]:
    """The tags that came and went."""
    old, new = list(before), list(after)
    came = [tag for tag in new if tag not in old]
    went = [tag for tag in old if tag not in new]
    phrases = [f"tagged {', '.join(came)}"] if came else []
    if went:
        phrases.append(f"no longer tagged {', '.join(went)}")
    return phrases
