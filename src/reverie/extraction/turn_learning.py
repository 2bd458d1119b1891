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
from reverie.core.kinds import EXCERPT, INTENTION, is_unverified
from reverie.core.model import EMPTY_MAPPING, Add, Event, Filter, Memory, visible_spaces
from reverie.core.privacy_policy import Policy
from reverie.extraction.rule_extraction import (
    CandidateLesson,
    ExtractionResult,
    RejectedCandidate,
    extract_lessons,
)
from reverie.memory.emotion_detection import detect_emotion
from reverie.memory.feelings import FIELD, Feeling, feeling_to_details
from reverie.memory.intention import (
    build_trigger_patterns,
    complete_intention_details,
    read_reminder,
)
from reverie.memory.memory_validation import build_memory
from reverie.memory.named_period import Season, find_season, stamp_season
from reverie.memory.reminder_phrases import ReminderPhrase
from reverie.pipeline.conversation_events import lesson_space_of, numbered_messages
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.privacy.untrusted_text import screen_for_injection
from reverie.reconciliation.merge_rules import (
    absorb_memory,
    can_merge,
    covers_own_fields,
    diff_memory,
    resolve_merged,
)
from reverie.reconciliation.reconcile_reader import load_merge_families
from reverie.storage import Store
from reverie.text.tokenization import fold_text, tokenize_query

LEARNED_FROM = ("turn",)
RECENT_MEMORIES = (
    500  # newest memories of a kind among which a lesson is looked for that was let go of
)
MAX_EXAMPLES = 8  # rejected sentences of one event that are kept as examples; all are counted
MAX_TALLIED_EVENTS = 10_000  # newest events of learning that are counted
LEARNING_VERBS = ("learn", "gather", "extract", "answer")
MAX_EXAMPLE_CHARS = 200  # characters of an example
ALREADY_KNOWN = "known already"
TIME_PASSED = "its time has passed"
# seconds after its time within which something to be done later is still worth being told
MAX_LATENESS_SECONDS = 86_400.0


class LessonSource(NamedTuple):
    """Where lessons come from: whose they are, which conversation, when, and the numbers of its
    messages.
    """

    home: str
    session: str
    at: float
    message_numbers: Sequence[int]
    # what the user feels (Feeling), by place in the list of messages
    feelings: Mapping[Any, Any] = EMPTY_MAPPING


def extract_turn_lessons(work: WorkContext, event: Event) -> ReaderDecision:
    """What one turn teaches: what the user asked to be remembered and what is not known word for
    word already.
    """
    home = lesson_space_of(event)
    if work.settings.is_off(home, event.session):
        return ReaderDecision()
    said = numbered_messages(event)
    told = [(role, text) for _, role, text in said]
    source = LessonSource(
        home, event.session, event.at, [place for place, _, _ in said], detect_feelings(told)
    )
    return decide_lessons(work, extract_lessons(told, fixes=False), source, event.seq)


def detect_feelings(messages: Sequence[tuple[str, str]]) -> dict[int, Feeling]:
    """What the user feels in these messages (role, text), by their own words, by place (C114)."""
    return {
        place: feeling
        for place, (role, text) in enumerate(messages)
        if role == "user" and (feeling := detect_emotion(text)) is not None
    }


def decide_lessons(
    work: WorkContext, found: ExtractionResult, source: LessonSource, asked: int | None = None
) -> ReaderDecision:
    """The memories that lessons become, without what is known already, and what was left and why.

    `asked` is the number of the event in which the user said it, where there is one.
    """
    store, now = work.store, work.now
    kept: list[Memory] = []
    rejected = list(found.rejected)
    seen: set[str] = set()
    again: dict[str, tuple[Memory, Memory]] = {}  # before and after
    season = find_season(store, visible_spaces(source.home), now) if found.lessons else Season()
    for lesson in found.lessons:
        memory = stamp_season(build_lesson_memory(lesson, source, now, work.policy), season)
        if lesson.kind == INTENTION:
            if (planned := schedule_intention(memory, lesson.later, source.at, work)) is None:
                rejected.append(
                    RejectedCandidate(lesson.text, TIME_PASSED, lesson.rule, lesson.last)
                )
                continue
            memory = planned
        known = [
            one
            for one in find_verbatim_duplicates(store, memory, asked if lesson.explicit else None)
            if has_same_schedule(one, memory)
        ]
        if fold_text(memory.text) in seen or known:
            rejected.append(RejectedCandidate(lesson.text, ALREADY_KNOWN, lesson.rule, lesson.last))
            old = find_restated_memory(store, known, memory)
            again |= {old.id: (old, absorb_memory(old, memory, now))} if old else {}
        else:
            kept.append(memory)
        seen.add(fold_text(memory.text))
    stronger = [change for before, after in again.values() for change in diff_memory(before, after)]
    return ReaderDecision(
        [*(Add(memory=memory) for memory in kept), *stronger],
        [before for before, _ in again.values()],
        summarize_rule_rejections(len(kept), rejected, source.message_numbers),
    )


def schedule_intention(
    memory: Memory, later: ReminderPhrase, at: float, work: WorkContext
) -> Memory | None:
    """What is to be done later, with the time that was meant `at` the time of speaking; None if
    that is long past.

    A turn is read some moments after it was spoken: what has come due meanwhile is due now. An old
    transcript is read years after, and nobody is to be reminded of those years.
    """
    said = {name: words for name, words in (("when", later.when), ("every", later.every)) if words}
    try:
        details = complete_intention_details({**memory.details, **said}, at, work.zone)
    except BadInput:
        return None
    when = details.get("when")
    if work.now - (at if when is None or later.every else when) > MAX_LATENESS_SECONDS:
        return None
    return memory._replace(
        details=details,
        triggers=tuple(build_trigger_patterns(files=[later.file])) if later.file else (),
    )


def has_same_schedule(one: Memory, other: Memory) -> bool:
    """Whether two that say the same are to be done at the same time; of what is not to be done
    later, always.
    """
    if other.kind != INTENTION:
        return True
    first, second = read_reminder(one), read_reminder(other)
    return (
        one.triggers == other.triggers
        and first.every == second.every
        and (bool(first.every) or first.when == second.when)
    )


def summarize_rule_rejections(
    kept: int, rejected: Sequence[RejectedCandidate], places: Sequence[int]
) -> dict[str, Any]:
    """What goes into the event: how much was kept, how much was left and why, some examples.
    Nothing for nothing.
    """
    if not rejected:
        return {"kept": kept} if kept else {}
    examples = [
        {
            "text": one.text[:MAX_EXAMPLE_CHARS],
            "reason": one.reason,
            "rule": one.rule,
            "message": places[one.place],
        }
        for one in rejected[:MAX_EXAMPLES]
    ]
    return {
        "kept": kept,
        "rejected": dict(Counter(one.reason for one in rejected)),
        "examples": examples,
    }


def build_lesson_memory(
    lesson: CandidateLesson, source: LessonSource, now: float, policy: Policy
) -> Memory:
    """A lesson as a memory. What is about the user goes to the user's own space: it is so in every
    project.
    """
    home, tags = source.home, lesson.tags
    feeling = source.feelings.get(lesson.last)
    if lesson.personal and home.startswith(f"{config.ME}/"):
        tags = (*tags, f"project:{home.split('/')[1]}")
        home = config.ME
    made = build_memory(
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
        messages=(source.message_numbers[lesson.first], source.message_numbers[lesson.last]),
        details=lesson.details | ({FIELD: feeling_to_details(feeling)} if feeling else {}),
        policy=policy,
    )
    return (
        screen_for_injection(made) if lesson.provenance == "observed" else made
    )  # an error is quoted in it


def find_verbatim_duplicates(
    store: Store, memory: Memory, asked: int | None = None
) -> list[Memory]:
    """The memories that say the same word for word already, or did until somebody let go of them.

    That stands, unless the user `asked` in so many words, in an event after the one that let go
    (B100). What counts in a space above and is not called up by all that calls this one up does not
    stand for it, nor does what others wrote.
    """
    best = store.search_words(tokenize_query(memory.text), visible_spaces(memory.space), 3)
    lately = store.browse(
        Filter(
            spaces=visible_spaces(memory.space),
            kinds=(memory.kind,),
            active=None,
            limit=RECENT_MEMORIES,
        )
    )
    same = [
        m
        for m in (*store.get([id for id, _ in best]), *lately)
        if fold_text(m.text) == fold_text(memory.text)
        and m.kind != EXCERPT
        and is_unverified(m) <= is_unverified(memory)
    ]
    found = {
        one.id: one
        for one in same
        if (
            one.space == memory.space or covers_own_fields(one, memory)
            if one.active
            else asked is None or find_retirement_event(store, one) > asked
        )
    }
    return list(found.values())


def find_restated_memory(store: Store, known: Sequence[Memory], memory: Memory) -> Memory | None:
    """The memory that is said again in another session, if there is one: it, or what it was merged
    into, counts.
    """
    family = load_merge_families(store, known)
    for one in known:
        old = resolve_merged(family, one.id)
        if (
            old
            and memory.session
            and not was_said_in_session(store, old, memory)
            and can_merge(old, memory)
        ):
            return old
    return None


def was_said_in_session(store: Store, old: Memory, memory: Memory) -> bool:
    """Whether the session of a memory has said this one before. One elsewhere does not know which
    sessions did.
    """
    return memory.session in old.sources or (
        old.space != memory.space
        and any(record.event.session == memory.session for record in store.history(old.id))
    )


def find_retirement_event(store: Store, memory: Memory) -> int:
    """The number of the event after which a memory counted no longer; 0 if that is not known."""
    return max(
        (r.event.seq for r in store.history(memory.id) if r.after.get("retired_at") is not None),
        default=0,
    )


def tally_extraction(events: Iterable[Event]) -> tuple[int, dict[str, int]]:
    """(memories kept, what was left by reason) over events of learning."""
    kept, left = 0, Counter[str]()
    for event in events:
        kept += int(event.payload.get("kept", 0))
        left.update(event.payload.get("rejected") or {})
    return kept, dict(left.most_common())


def list_rejected_examples(store: Store, limit: int) -> list[RejectedCandidate]:
    """The last sentences that were left, newest first."""
    found: list[RejectedCandidate] = []
    for event in (
        store.events(verbs=LEARNING_VERBS, newest=True, limit=MAX_TALLIED_EVENTS)
        if limit > 0
        else ()
    ):
        found += [
            RejectedCandidate(one["text"], one["reason"], one["rule"], one["message"])
            for one in reversed(event.payload.get("examples") or ())
        ]
        if len(found) >= limit:
            break
    return found[: max(0, limit)]


READER = EventReader(name="learn", verbs=LEARNED_FROM, verb="learn", decide=extract_turn_lessons)
