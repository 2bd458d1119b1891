"""What happened to a memory, as sentences: one an event, runs of like events as one, with the
number that `undo` takes.

No name of a field stands in them and no value as a program writes it. What a memory has to do with
others is said with their words, where they are at hand. Pure functions.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import NamedTuple

from reverie.core.code_anchors import ANCHORS, anchors_in, worst
from reverie.core.model import Event, Memory, Record
from reverie.text.tokenization import short

QUOTED = 80  # characters of another memory that are quoted
FEW = 3  # event numbers that are listed one by one
FIRST, LAST = 2, 6  # events that a short story tells, at either end of a long life

ADDED = {
    "import": "imported",
    "learn": "learned from the conversation",
    "gather": "learned from the conversation",
    "extract": "learned from the conversation by a language model",
    "sleep": "written in sleep",
    "answer": "found by a language model to answer a question",
}
"""Verb of an event → how a memory came to be by it; else it was kept."""

LET_GO = {
    "superseded": "replaced by {}",
    "merged": "merged into {}, which says the same",
    "forgotten": "forgotten on request",
    "expired": "its time was over",
    "faded": "it had faded and went to the archive",
    "undone": "what had added it was taken back",
}
"""Why a memory counts no longer, in words; {} is what stands for it now."""

TIED = {
    "supersedes": "took the place of {}",
    "contradicts": "found to contradict {}",
    "resembles": "found to say nearly the same as {}",
    "relates_to": "tied to another memory",
    "in_cluster": "put into a group with others",
    "about": "noted what it is about",
    "derived_from": "made from {}",
    "led_to": "found to have led to {}",
}

FIELDS = {
    "title": "title",
    "kind": "kind",
    "files": "files",
    "triggers": "triggers",
    "details": "details",
    "at": "time",
    "trust": "source",
    "provenance": "source",
    "speaker": "speaker",
    "session": "conversation",
    "messages": "place in the conversation",
    "valid_from": "validity",
    "valid_to": "validity",
    "expires_at": "end",
    "salience": "importance",
    "space": "space",
}
"""What somebody may change on a memory, as people call it."""

BY = {"user": "", "host": ", as the agent found", "judge": ", as a language model judged"}


class Told(NamedTuple):
    """One event: when, its number, and what it did."""

    at: float
    seq: int
    what: str


def date(at: float) -> str:
    """The day of a moment."""
    return day(at).split(" ")[0] if abs(at) < 1e11 else day(at)


def day(at: float) -> str:
    """A moment as people write it."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M")
    except (OverflowError, ValueError, OSError):
        return f"second {at:.0f}"


def quoted(id: str, others: Mapping[str, Memory]) -> str:
    """Another memory in its own words, with its day and its id."""
    other = others.get(id)
    return f"“{short(other.text, QUOTED)}” ({date(other.at)}, {id})" if other else id


def words_of(id: str, others: Mapping[str, Memory]) -> str:
    """Another memory in its own words alone: its day and id stand elsewhere in the story."""
    return f"“{short(others[id].text, QUOTED)}”" if id in others else id


def times(count: int) -> str:
    """How often."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")


def happened(
    history: Sequence[Record], others: Mapping[str, Memory], *, whole: bool, id: str = ""
) -> list[str]:
    """A sentence an event; unless the `whole` is wanted, like events in a row are one, of many the
    first and last.
    """
    events = [
        Told(records[0].event.at, seq, what(records, others))
        for seq, group in groupby(history, lambda record: record.event.seq)
        if (records := list(group))
    ]
    if whole:
        return [sentence([one]) for one in events]
    lines = [sentence(list(run)) for _, run in groupby(events, lambda one: one.what)]
    if len(lines) <= FIRST + LAST + 1:
        return lines
    hidden = len(lines) - FIRST - LAST
    more = f"… {hidden} more steps in between: `reverie explain {id} --all` tells them."
    return [*lines[:FIRST], more, *lines[-LAST:]]


def sentence(run: Sequence[Told]) -> str:
    """Some like events in a row, in one sentence."""
    first, last = run[0], run[-1]
    if len(run) == 1:
        return f"{date(first.at)}: {first.what} (event {first.seq})."
    few = len(run) <= FEW
    numbers = ", ".join(str(one.seq) for one in run) if few else f"{first.seq} … {last.seq}"
    span = (
        f"between {date(first.at)} and {date(last.at)}: {first.what}, {times(len(run))}"
        if date(first.at) != date(last.at)
        else f"{date(first.at)}: {first.what}, {times(len(run))}"
    )
    return f"{span[0].upper()}{span[1:]} (events {numbers})."


def what(records: Sequence[Record], others: Mapping[str, Memory]) -> str:
    """What one event did to the memory."""
    event = records[0].event
    if event.verb == "undo":
        return f"event {event.payload.get('of')} was taken back"
    if event.verb == "restore" and any("retired_at" in record.after for record in records):
        return "brought back"
    said = [phrase for record in records for phrase in done(record, others)]
    if "heard again" in said:  # that it was put in other words stands elsewhere
        said = [phrase for phrase in said if not phrase.startswith("made from")]
    told = "; ".join(dict.fromkeys(said)) or "looked at, nothing changed that matters"
    return told + {"sleep": ", in sleep", "review": ", as a person decided"}.get(event.verb, "")


def done(record: Record, others: Mapping[str, Memory]) -> Iterable[str]:
    """What one change did, in phrases."""
    if record.op == "add":
        return [ADDED.get(record.event.verb, "kept")]
    if record.after.get("retired_at") is not None:
        why, successor = (
            str(record.after.get("retired_why") or ""),
            record.after.get("superseded_by"),
        )
        return [let_go(why, words_of(str(successor), others) if successor else "")]
    if record.op == "link":
        return tied(record, others)
    return verdict(record.event) or aged(record) or revised(record)


def let_go(why: str, successor: str) -> str:
    """Why it counts no longer; `successor` is what stands for it, in words, if anything does."""
    return LET_GO.get(why, why or "let go").replace("{}", successor or "another memory")


def tied(record: Record, others: Mapping[str, Memory]) -> list[str]:
    """A link that was made or taken away. Tags are told by what was done to the tags."""
    rel, dst = str(record.after.get("rel", "")), str(record.after.get("dst", ""))
    if rel not in TIED or (
        rel == "about" and record.event.verb == "anchor"
    ):  # told by what became of the anchor
        return []
    if not record.after.get("weight"):
        return ["a tie was taken away"]
    return [TIED[rel].replace("{}", words_of(dst, others))]


def verdict(event: Event) -> list[str]:
    """What somebody found who used it."""
    if event.verb == "outcome":
        return [
            "followed, and it worked" if event.payload.get("worked") else "followed, and it failed"
        ]
    if event.verb == "feedback":
        helped = "it helped" if event.payload.get("helpful") else "it did not help"
        return [helped + BY.get(str(event.payload.get("by", "user")), "")]
    return []


def aged(record: Record) -> list[str]:
    """What was found of the code that it speaks of, if that is all that was done."""
    before, after = record.before.get("details") or {}, record.after.get("details") or {}
    if (
        "details" not in record.after
        or before.get(ANCHORS) == after.get(ANCHORS)
        or (set(record.after) - {"details", "updated_at"})
    ):
        return []
    old, new = anchors_in(before), anchors_in(after)
    if record.event.payload.get("confirmed"):
        return ["confirmed: it holds for the code as it is now"]
    if worst(new):
        return [anchor.words for anchor in new if anchor.state]
    if worst(old):
        return ["the code is again what it speaks of"]
    moved = [
        anchor.place
        for anchor in new
        if anchor.was and anchor.place not in {one.place for one in old}
    ]
    return [f"followed to {', '.join(moved)}"] if moved else ["noted which code it is about"]


def revised(record: Record) -> list[str]:
    """What was changed about it, in words."""
    before, after = record.before, record.after
    found = []
    if after.get("strength", 0) > before.get("strength", after.get("strength", 0)):
        return ["heard again"]
    if "retired_at" in after:
        found.append("counts again")
    if "text" in after:
        found.append(f"reworded, before it said “{short(str(before.get('text') or ''), QUOTED)}”")
    if "tags" in after:
        found += retagged(before.get("tags") or (), after.get("tags") or ())
    changed = dict.fromkeys(FIELDS[name] for name in after if name in FIELDS)
    if changed and "tags" not in after and record.event.verb not in ("reconcile", "sleep"):
        found.append(f"given another {' and '.join(changed)}")
    if "confidence" in after and not found:
        more = (after["confidence"] or 0.0) >= (before.get("confidence") or 0.0)
        found.append(
            "believed a little more, it answered a question"
            if more and "access_count" in after
            else "believed more"
            if more
            else "believed less"
        )
    return found


def retagged(before: Iterable[str], after: Iterable[str]) -> list[str]:
    """The tags that came and went."""
    old, new = list(before), list(after)
    came, went = [tag for tag in new if tag not in old], [tag for tag in old if tag not in new]
    return [
        *([f"tagged {', '.join(came)}"] if came else []),
        *([f"no longer tagged {', '.join(went)}"] if went else []),
    ]
