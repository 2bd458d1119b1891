"""Lessons of single turns: what the user asked to be remembered, found by rules.

A lesson that is stored word for word already adds nothing; said again in another session, it
strengthens the memory that has it. What shows only over several turns is left to
`multi_turn_lessons`. Sentences that a rule asked for and that are not kept are counted in the
same event, by reason and with a few examples; `reverie session rejected` shows them.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.activity import FILE
from reverie.activity.activity_events import CHANGING_OPERATIONS
from reverie.core import clock, config
from reverie.core.authorship import apply_curate_setting
from reverie.core.errors import BadInput
from reverie.core.kinds import EXCERPT, INTENTION, is_unverified
from reverie.core.model import EMPTY_MAPPING, Add, Change, Event, Filter, Memory, visible_spaces
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
from reverie.memory.memory_validation import MAX_TAG_CHARS, build_memory
from reverie.memory.named_period import Season, find_season, stamp_season
from reverie.memory.reminder_phrases import ReminderPhrase
from reverie.pipeline.conversation_events import (
    lesson_space_of,
    numbered_messages,
    session_events,
)
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
from reverie.text.own_preferences import is_for_every_project, is_own_preference
from reverie.text.tokenization import fold_text, tokenize_query
from reverie.transcripts.transcript_indexing import read_messages_before, read_spoken_messages

LEARNED_FROM = ("turn",)
# The provenance of what the user puts right.
CORRECTED = "user_corrected"
# Files edited since the user spoke, beyond which a correction is about no one of them; and the
# events that are looked at for them.
MAX_EDITED_FILES, MAX_EVENTS_BACK = 3, 60
# newest memories of a kind among which a retired duplicate of a lesson is looked for
RECENT_MEMORIES = 500
# rejected sentences of one event that are kept as examples; all are counted
MAX_EXAMPLES = 8
# newest events of learning that are counted
MAX_TALLIED_EVENTS = 10_000
LEARNING_VERBS = ("learn", "gather", "extract", "answer")
MAX_EXAMPLE_CHARS = 200
ALREADY_KNOWN = "known already"
# Who said what a lesson says, by its provenance; of any other the user.
SPEAKERS = {"observed": "", "inferred": "assistant"}
TIME_PASSED = "its time has passed"
# A turn is read some moments after it was spoken, so what has come due meanwhile is due now.
# An old transcript is read years after: its reminders, more than a day late, are dropped.
MAX_LATENESS_SECONDS = 86_400.0


class LessonSource(NamedTuple):
    """The conversation that lessons come from: space, session, time, numbers of its messages."""

    home: str
    session: str
    at: float
    message_numbers: Sequence[int]
    # what the user feels (Feeling), by position in the list of messages
    feelings: Mapping[Any, Any] = EMPTY_MAPPING


def extract_turn_lessons(work: WorkContext, event: Event) -> ReaderDecision:
    """The memories that one turn adds or strengthens, and what was rejected."""
    home = lesson_space_of(event)
    if work.settings.is_off(home, event.session):
        return ReaderDecision()
    numbered = numbered_messages(event)
    messages = [(role, text) for _, role, text in numbered]
    numbers = [number for number, _, _ in numbered]
    source = LessonSource(home, event.session, event.at, numbers, detect_feelings(messages))
    # Fixes of errors show only over several turns: `multi_turn_lessons` finds them.
    found = extract_lessons(messages, fixes=False, before=find_answered_text(work.store, event))
    if any(may_mean_edits(lesson) for lesson in found.lessons):
        edited = list_edited_files(work.store, event)
        lessons = (
            lesson._replace(files=edited) if may_mean_edits(lesson) else lesson
            for lesson in found.lessons
        )
        found = found._replace(lessons=tuple(lessons))
    return decide_lessons(work, found, source, event.seq)


def find_answered_text(store: Store, event: Event) -> str:
    """What the agent said before a turn that begins with the user; "" for any other."""
    spoken = read_spoken_messages(event)
    if not event.session or not spoken or spoken[0].role != "user":
        return ""
    earlier = read_messages_before(store, event)
    is_answer = bool(earlier) and earlier[-1].role == "assistant"
    return earlier[-1].text if is_answer else ""


def may_mean_edits(lesson: CandidateLesson) -> bool:
    """True if the user puts right what was done and does not say in which file."""
    return lesson.provenance == CORRECTED and not lesson.personal and not lesson.files


def list_edited_files(store: Store, event: Event) -> tuple[str, ...]:
    """The files that a session edited since its user spoke last; none where they are many."""
    if not event.session:
        return ()
    found: dict[str, None] = {}
    earlier = session_events(
        store, event, FILE, *LEARNED_FROM, before=event.seq, newest=True, limit=MAX_EVENTS_BACK
    )
    for one in earlier:
        if one.verb == FILE:
            if one.payload.get("operation") in CHANGING_OPERATIONS:
                found[str(one.payload.get("path") or "")] = None
        elif any(role == "user" for _, role, _ in numbered_messages(one)):
            break
    return tuple(filter(None, found)) if len(found) <= MAX_EDITED_FILES else ()


def detect_feelings(messages: Sequence[tuple[str, str]]) -> dict[int, Feeling]:
    """The user's feelings by position in these messages (role, text), from their own words."""
    feelings = {}
    for position, (role, text) in enumerate(messages):
        feeling = detect_emotion(text) if role == "user" else None
        if feeling is not None:
            feelings[position] = feeling
    return feelings


def decide_lessons(
    work: WorkContext,
    found: ExtractionResult,
    source: LessonSource,
    asked: int | None = None,
) -> ReaderDecision:
    """Turn lessons into memories, without what is known already; tell what was rejected and why.

    `asked` is the number of the event in which the user said it, where there is one.
    """
    store, now = work.store, work.now
    changes: list[Change] = []
    rejected = list(found.rejected)
    seen: set[str] = set()
    restated: dict[str, tuple[Memory, Memory]] = {}  # id → (before, after)
    season = (
        find_season(
            store,
            visible_spaces(source.home),
            now,
        )
        if found.lessons
        else Season()
    )
    for lesson in found.lessons:
        memory = build_lesson_memory(lesson, source, now, work.policy, work.settings.curate)
        memory = stamp_season(memory, season)
        if lesson.kind == INTENTION:
            planned = schedule_intention(memory, lesson.later, source.at, work)
            if planned is None:
                rejected.append(reject_lesson(lesson, TIME_PASSED))
                continue
            memory = planned
        # Asked for in so many words, it is kept even after the same was forgotten.
        duplicates = find_verbatim_duplicates(store, memory, asked if lesson.explicit else None)
        known = [duplicate for duplicate in duplicates if has_same_schedule(duplicate, memory)]
        folded = fold_text(memory.text)
        if folded in seen or known:
            rejected.append(reject_lesson(lesson, ALREADY_KNOWN))
            old = find_restated_memory(store, known, memory)
            if old:
                restated[old.id] = (old, absorb_memory(old, memory, now))
        else:
            changes.append(Add(memory))
        seen.add(folded)
    payload = summarize_rule_rejections(len(changes), rejected, source.message_numbers)
    for before, after in restated.values():
        changes += diff_memory(before, after)
    return ReaderDecision(changes, [before for before, _ in restated.values()], payload)


def reject_lesson(lesson: CandidateLesson, reason: str) -> RejectedCandidate:
    """A lesson as one that is not kept, for this reason."""
    return RejectedCandidate(lesson.text, reason, lesson.rule, lesson.last)


def schedule_intention(
    memory: Memory,
    later: ReminderPhrase,
    at: float,
    work: WorkContext,
) -> Memory | None:
    """The intention with its time, read as of the moment of speaking `at`; None if long past."""
    spoken = {"when": later.when, "every": later.every}
    given = {name: words for name, words in spoken.items() if words}
    try:
        details = complete_intention_details({**memory.details, **given}, at, work.zone)
    except BadInput:
        return None
    when = details.get("when")
    first_due = at if when is None or later.every else when
    if work.now - first_due > MAX_LATENESS_SECONDS:
        return None
    triggers = tuple(build_trigger_patterns(files=[later.file])) if later.file else ()
    return memory._replace(details=details, triggers=triggers)


def has_same_schedule(one: Memory, other: Memory) -> bool:
    """True if two equal texts are due at the same time; of what is no intention, always."""
    if other.kind != INTENTION:
        return True
    first, second = read_reminder(one), read_reminder(other)
    if one.triggers != other.triggers or first.every != second.every:
        return False
    # When a series began makes no other series.
    return bool(first.every) or first.when == second.when


def summarize_rule_rejections(
    kept: int,
    rejected: Sequence[RejectedCandidate],
    places: Sequence[int],
) -> dict[str, Any]:
    """The event's payload: number kept, rejections by reason, examples; empty for nothing."""
    if not rejected:
        return {"kept": kept} if kept else {}
    examples = [
        {
            "text": candidate.text[:MAX_EXAMPLE_CHARS],
            "reason": candidate.reason,
            "rule": candidate.rule,
            "message": places[candidate.place],
        }
        for candidate in rejected[:MAX_EXAMPLES]
    ]
    # All are counted, some are shown.
    reasons = Counter(candidate.reason for candidate in rejected)
    return {
        "kept": kept,
        "rejected": dict(reasons),
        "examples": examples,
    }


def is_of_the_user(lesson: CandidateLesson) -> bool:
    """True if a lesson is about the user, or all their projects; what names files is of one."""
    if lesson.provenance == "user_stated" and is_for_every_project(lesson.text):
        return True
    if lesson.personal or lesson.kind != "preference" or lesson.files:
        return lesson.personal
    return lesson.provenance == "user_stated" and is_own_preference(lesson.text)


def build_lesson_memory(
    lesson: CandidateLesson,
    source: LessonSource,
    now: float,
    policy: Policy,
    curate: str,
) -> Memory:
    """A lesson as a memory; what is about the user goes to the user's own space."""
    home, tags = source.home, lesson.tags
    # What is so of the user is so in every project; the tag says in which one it was said.
    if is_of_the_user(lesson) and home.startswith(f"{config.ME}/"):
        tags = (*tags, f"project:{home.split('/')[1]}")
        home = config.ME
    details = lesson.details
    feeling = source.feelings.get(lesson.last)
    if feeling:
        details[FIELD] = feeling_to_details(feeling)
    speaker = SPEAKERS.get(lesson.provenance, "user")
    numbers = source.message_numbers
    memory = build_memory(
        clock.new_id(),
        now,
        lesson.text,
        space=home,
        kind=lesson.kind,
        provenance=lesson.provenance,
        tags=[tag[:MAX_TAG_CHARS] for tag in tags],
        at=source.at,
        session=source.session,
        speaker=speaker,
        files=lesson.files,
        triggers=lesson.triggers,
        messages=(numbers[lesson.first], numbers[lesson.last]),
        details=details,
        policy=policy,
    )
    if lesson.evidence:
        # Said once and borne out once.
        memory = apply_curate_setting(memory._replace(strength=2), curate)
    # An observed lesson quotes an error message, which others wrote; an agent may quote a page.
    return memory if speaker == "user" else screen_for_injection(memory)


def find_verbatim_duplicates(
    store: Store,
    memory: Memory,
    asked: int | None = None,
) -> list[Memory]:
    """Memories with the same words, active or retired, that make this one superfluous.

    A retired duplicate still counts, unless the user `asked` for it again in so many words, in an
    event after the one that retired it. An active one in a space above counts only if everything
    that would trigger `memory` triggers it too. Texts of others never stand for one's own.
    """
    spaces = visible_spaces(memory.space)
    folded = fold_text(memory.text)
    # The search by words finds only what counts; a retired one is looked for among the newest.
    matches = store.search_words(tokenize_query(memory.text), spaces, 3)
    # Of hundreds hardly one says the same: of the others the text is all that is read.
    recent = store.browse_texts(
        Filter(
            spaces=spaces,
            kinds=(memory.kind,),
            active=None,
            limit=RECENT_MEMORIES,
        )
    )
    ids = [id for id, _ in matches] + [id for id, text in recent if fold_text(text) == folded]
    found: dict[str, Memory] = {}
    for other in store.get(list(dict.fromkeys(ids))):
        if other.kind == EXCERPT or fold_text(other.text) != folded:
            continue
        if is_unverified(other) and not is_unverified(memory):
            continue
        if other.active:
            counts = other.space == memory.space or covers_own_fields(other, memory)
        else:
            counts = asked is None or find_retirement_event(store, other) > asked
        if counts:
            found[other.id] = other
    return list(found.values())


def find_restated_memory(
    store: Store,
    known: Sequence[Memory],
    memory: Memory,
) -> Memory | None:
    """The active memory that another session says again, or that it was merged into; else None."""
    if not memory.session:
        return None
    family = load_merge_families(store, known)
    for duplicate in known:
        old = resolve_merged(family, duplicate.id)
        if old and not was_said_in_session(store, old, memory) and can_merge(old, memory):
            return old
    return None


def was_said_in_session(
    store: Store,
    old: Memory,
    memory: Memory,
) -> bool:
    """True if the session of `memory` has said `old` before.

    `old.sources` does not name the sessions of other spaces, so the history is asked for these.
    """
    if memory.session in old.sources:
        return True
    if old.space == memory.space:
        return False
    return any(record.event.session == memory.session for record in store.history(old.id))


def find_retirement_event(store: Store, memory: Memory) -> int:
    """The number of the event that retired a memory; 0 if that is not known."""
    retirements = (
        record.event.seq
        for record in store.history(memory.id)
        if record.after.get("retired_at") is not None
    )
    return max(retirements, default=0)


def tally_extraction(events: Iterable[Event]) -> tuple[int, dict[str, int]]:
    """(memories kept, rejections by reason) over events of learning."""
    kept, rejected = 0, Counter[str]()
    for event in events:
        kept += int(event.payload.get("kept", 0))
        rejected.update(event.payload.get("rejected") or {})
    return kept, dict(rejected.most_common())


def list_rejected_examples(store: Store, limit: int) -> list[RejectedCandidate]:
    """The last rejected sentences, newest first."""
    if limit <= 0:
        return []
    found: list[RejectedCandidate] = []
    for event in store.events(
        verbs=LEARNING_VERBS,
        newest=True,
        limit=MAX_TALLIED_EVENTS,
    ):
        for row in reversed(event.payload.get("examples") or ()):
            fields = (row["text"], row["reason"], row["rule"], row["message"])
            found.append(RejectedCandidate(*fields))
        if len(found) >= limit:
            break
    return found[:limit]


READER = EventReader(
    name="learn",
    verbs=LEARNED_FROM,
    verb="learn",
    decide=extract_turn_lessons,
)
