"""What a turn teaches: what the user asked to be remembered and what is not known word for word
already.

What is said in the same words again, in another session, makes the memory stronger that has them.
Each turn is looked at by itself, as soon as it is there; what shows only over several turns is
`gathering`'s. What is left although a rule asked for it is counted in the same event, by reason,
with a few examples: that is the junk that was avoided, and `reverie rejected` shows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.core import clock, config
from reverie.core.errors import BadInput
from reverie.core.kinds import EXCERPT, INTENTION, unverified
from reverie.core.model import NOTHING, Add, Event, Filter, Memory, lineage
from reverie.core.privacy_policy import Policy
from reverie.extraction.rule_extraction import Found, Gleaned, Rejected, gleaned
from reverie.memory.emotion_detection import appraised
from reverie.memory.feelings import FIELD, Feeling, noted
from reverie.memory.intention import completed, patterns_for, reminder_of
from reverie.memory.memory_validation import built
from reverie.memory.named_period import Season, season_of, stamped
from reverie.memory.reminder_phrases import Later
from reverie.pipeline.conversation_events import home_of, said_in
from reverie.pipeline.event_reader import Decision, Reader, Work
from reverie.privacy.untrusted_text import screened
from reverie.reconciliation.merge_rules import absorbed, altered, covers, may_merge, standing
from reverie.reconciliation.reconcile_reader import families
from reverie.storage import Store
from reverie.text.tokenization import folded, query_terms

LEARNED_FROM = ("turn",)
LATELY = 500  # newest memories of a kind among which a lesson is looked for that was let go of
EXAMPLES = 8  # rejected sentences of one event that are kept as examples; all are counted
TALLIED = 10_000  # newest events of learning that are counted
LEARNING = ("learn", "gather", "extract", "answer")
SHOWN = 200  # characters of an example
KNOWN = "known already"
GONE_BY = "its time has passed"
# seconds after its time within which something to be done later is still worth being told
LATE = 86_400.0


class Source(NamedTuple):
    """Where lessons come from: whose they are, which conversation, when, and the numbers of its
    messages.
    """

    home: str
    session: str
    at: float
    places: Sequence[int]
    # what the user feels (Feeling), by place in the list of messages
    felt: Mapping[Any, Any] = NOTHING


def lessons(work: Work, event: Event) -> Decision:
    """What one turn teaches: what the user asked to be remembered and what is not known word for
    word already.
    """
    home = home_of(event)
    if work.settings.is_off(home, event.session):
        return Decision()
    said = said_in(event)
    told = [(role, text) for _, role, text in said]
    source = Source(home, event.session, event.at, [place for place, _, _ in said], felt_in(told))
    return decided(work, gleaned(told, fixes=False), source, event.seq)


def felt_in(messages: Sequence[tuple[str, str]]) -> dict[int, Feeling]:
    """What the user feels in these messages (role, text), by their own words, by place (C114)."""
    return {
        place: feeling
        for place, (role, text) in enumerate(messages)
        if role == "user" and (feeling := appraised(text)) is not None
    }


def decided(work: Work, found: Gleaned, source: Source, asked: int | None = None) -> Decision:
    """The memories that lessons become, without what is known already, and what was left and why.

    `asked` is the number of the event in which the user said it, where there is one.
    """
    store, now = work.store, work.now
    kept: list[Memory] = []
    rejected = list(found.rejected)
    seen: set[str] = set()
    again: dict[str, tuple[Memory, Memory]] = {}  # before and after
    season = season_of(store, lineage(source.home), now) if found.found else Season()
    for lesson in found.found:
        memory = stamped(memory_of(lesson, source, now, work.policy), season)
        if lesson.kind == INTENTION:
            if (planned := planned_at(memory, lesson.later, source.at, work)) is None:
                rejected.append(Rejected(lesson.text, GONE_BY, lesson.rule, lesson.last))
                continue
            memory = planned
        known = [
            one
            for one in known_as(store, memory, asked if lesson.explicit else None)
            if same_plan(one, memory)
        ]
        if folded(memory.text) in seen or known:
            rejected.append(Rejected(lesson.text, KNOWN, lesson.rule, lesson.last))
            old = repeated(store, known, memory)
            again |= {old.id: (old, absorbed(old, memory, now))} if old else {}
        else:
            kept.append(memory)
        seen.add(folded(memory.text))
    stronger = [change for before, after in again.values() for change in altered(before, after)]
    return Decision(
        [*(Add(memory=memory) for memory in kept), *stronger],
        [before for before, _ in again.values()],
        account(len(kept), rejected, source.places),
    )


def planned_at(memory: Memory, later: Later, at: float, work: Work) -> Memory | None:
    """What is to be done later, with the time that was meant `at` the time of speaking; None if
    that is long past.

    A turn is read some moments after it was spoken: what has come due meanwhile is due now. An old
    transcript is read years after, and nobody is to be reminded of those years.
    """
    said = {name: words for name, words in (("when", later.when), ("every", later.every)) if words}
    try:
        details = completed({**memory.details, **said}, at, work.zone)
    except BadInput:
        return None
    when = details.get("when")
    if work.now - (at if when is None or later.every else when) > LATE:
        return None
    return memory._replace(
        details=details, triggers=tuple(patterns_for(files=[later.file])) if later.file else ()
    )


def same_plan(one: Memory, other: Memory) -> bool:
    """Whether two that say the same are to be done at the same time; of what is not to be done
    later, always.
    """
    if other.kind != INTENTION:
        return True
    first, second = reminder_of(one), reminder_of(other)
    return (
        one.triggers == other.triggers
        and first.every == second.every
        and (bool(first.every) or first.when == second.when)
    )


def account(kept: int, rejected: Sequence[Rejected], places: Sequence[int]) -> dict[str, Any]:
    """What goes into the event: how much was kept, how much was left and why, some examples.
    Nothing for nothing.
    """
    if not rejected:
        return {"kept": kept} if kept else {}
    examples = [
        {
            "text": one.text[:SHOWN],
            "reason": one.reason,
            "rule": one.rule,
            "message": places[one.place],
        }
        for one in rejected[:EXAMPLES]
    ]
    return {
        "kept": kept,
        "rejected": dict(Counter(one.reason for one in rejected)),
        "examples": examples,
    }


def memory_of(lesson: Found, source: Source, now: float, policy: Policy) -> Memory:
    """A lesson as a memory. What is about the user goes to the user's own space: it is so in every
    project.
    """
    home, tags = source.home, lesson.tags
    feeling = source.felt.get(lesson.last)
    if lesson.personal and home.startswith(f"{config.ME}/"):
        tags = (*tags, f"project:{home.split('/')[1]}")
        home = config.ME
    made = built(
        clock.new_id(),
        now,
        lesson.text,
        space=home,
        kind=lesson.kind,
        provenance=lesson.provenance,
        tags=[tag[:64] for tag in tags],
        at=source.at,
        session=source.session,
        speaker="" if lesson.provenance == "observed" else "user",
        files=lesson.files,
        triggers=lesson.triggers,
        messages=(source.places[lesson.first], source.places[lesson.last]),
        details=lesson.details | ({FIELD: noted(feeling)} if feeling else {}),
        policy=policy,
    )
    return screened(made) if lesson.provenance == "observed" else made  # an error is quoted in it


def known_as(store: Store, memory: Memory, asked: int | None = None) -> list[Memory]:
    """The memories that say the same word for word already, or did until somebody let go of them.

    That stands, unless the user `asked` in so many words, in an event after the one that let go
    (B100). What counts in a space above and is not called up by all that calls this one up does not
    stand for it, nor does what others wrote.
    """
    best = store.words(query_terms(memory.text), lineage(memory.space), 3)
    lately = store.browse(
        Filter(spaces=lineage(memory.space), kinds=(memory.kind,), active=None, limit=LATELY)
    )
    same = [
        m
        for m in (*store.get([id for id, _ in best]), *lately)
        if folded(m.text) == folded(memory.text)
        and m.kind != EXCERPT
        and unverified(m) <= unverified(memory)
    ]
    found = {
        one.id: one
        for one in same
        if (
            one.space == memory.space or covers(one, memory)
            if one.active
            else asked is None or let_go(store, one) > asked
        )
    }
    return list(found.values())


def repeated(store: Store, known: Sequence[Memory], memory: Memory) -> Memory | None:
    """The memory that is said again in another session, if there is one: it, or what it was merged
    into, counts.
    """
    family = families(store, known)
    for one in known:
        old = standing(family, one.id)
        if old and memory.session and not heard(store, old, memory) and may_merge(old, memory):
            return old
    return None


def heard(store: Store, old: Memory, memory: Memory) -> bool:
    """Whether the session of a memory has said this one before. One elsewhere does not know which
    sessions did.
    """
    return memory.session in old.sources or (
        old.space != memory.space
        and any(record.event.session == memory.session for record in store.history(old.id))
    )


def let_go(store: Store, memory: Memory) -> int:
    """The number of the event after which a memory counted no longer; 0 if that is not known."""
    return max(
        (r.event.seq for r in store.history(memory.id) if r.after.get("retired_at") is not None),
        default=0,
    )


def tally(events: Iterable[Event]) -> tuple[int, dict[str, int]]:
    """(memories kept, what was left by reason) over events of learning."""
    kept, left = 0, Counter[str]()
    for event in events:
        kept += int(event.payload.get("kept", 0))
        left.update(event.payload.get("rejected") or {})
    return kept, dict(left.most_common())


def examples(store: Store, limit: int) -> list[Rejected]:
    """The last sentences that were left, newest first."""
    found: list[Rejected] = []
    for event in store.events(verbs=LEARNING, newest=True, limit=TALLIED) if limit > 0 else ():
        found += [
            Rejected(one["text"], one["reason"], one["rule"], one["message"])
            for one in reversed(event.payload.get("examples") or ())
        ]
        if len(found) >= limit:
            break
    return found[: max(0, limit)]


READER = Reader(name="learn", verbs=LEARNED_FROM, verb="learn", decide=lessons)
