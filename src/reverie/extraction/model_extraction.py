"""Lessons that a language model extracts, where one is configured: every twelve turns of the user,
when the topic changes, at the end of a session, once one has fallen silent, and from a transcript
that somebody has had learned.

The answer is data. Every memory that comes of it is "extracted" (trust 0.7) whatever the answer
claims, or "untrusted" where its words stand in a paste or a tool's answer and not in what the user
said. It lies in the conversation's own project and names the messages that it rests on. Injected
blocks are not sent, known texts are sent as known, rejections are logged with their reasons.

A model that is away leaves the cursor where it is. An unreadable answer is a failure of that event,
and so are three time-outs. Turns older than MAX_EVENT_AGE are passed over: a model that is switched
on after a year does not read the year. A transcript is read however old its messages are: somebody
has asked for it just now.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reverie.activity import TOOL
from reverie.core import clock
from reverie.core.authorship import UNKNOWN_AUTHOR, apply_curate_setting, author_from_llm
from reverie.core.model import UNTRUSTED, Add, Change, Event, Memory, visible_spaces
from reverie.core.privacy_policy import Policy
from reverie.extraction.known_ties import apply_note
from reverie.extraction.multi_turn_lessons import SESSION_ENDS, is_extraction_due
from reverie.extraction.past_conversations import MESSAGE_VERBS
from reverie.extraction.provenance_check import (
    RecentEvidence,
    determine_provenance,
    evidence_from_events,
)
from reverie.extraction.session_episodes import is_silent_since
from reverie.extraction.turn_learning import find_verbatim_duplicates
from reverie.extraction.user_words import separate_user_lines
from reverie.memory.feelings import FIELD
from reverie.memory.memory_validation import build_memory
from reverie.memory.named_period import find_season, stamp_season
from reverie.pipeline.conversation_events import lesson_space_of, numbered_messages, session_events
from reverie.pipeline.event_reader import MAX_EVENT_AGE, EventReader, ReaderDecision, WorkContext
from reverie.pipeline.pending_vectors import try_embed
from reverie.privacy.redacted_text import redact_short_text
from reverie.reconciliation.model_requests import ask_about_event
from reverie.retrieval import search_memories
from reverie.retrieval.search_query import SearchQuery
from reverie.text.host_messages import HostMessage
from reverie.text.injection_fence import remove_injections
from reverie.text.tokenization import fingerprint_text, fold_text

if TYPE_CHECKING:
    from reverie.llm.extraction_task import ExtractedItem, ExtractionAnswer, RejectedItem
    from reverie.llm.language_model import LanguageModel

# Turns of one conversation that are read at once.
MAX_TURNS = 200
# Tokens of one window, with the answer and the known texts.
WINDOW_TOKENS = 15_000
# Rejected candidates that are kept as examples; all are counted.
MAX_EXAMPLES = 8
# Newest characters of the user's words that known texts are looked up by.
MAX_LOOKUP_CHARS = 4_000
# Newest windows of one conversation that are read: more would take a day's budget, and begin anew
# on the next.
MAX_WINDOWS = 40
LEFT_BY_MODEL = "left by the model"
NAME, SILENCE = "extract", "extract:silence"


def can_extract(work: WorkContext, _event: Event) -> bool:
    """True if a model is configured and has budget for one window."""
    return work.llm is not None and work.llm.available(WINDOW_TOKENS)


def can_extract_silent(work: WorkContext, event: Event) -> bool:
    """True if a model may be asked, and a turn's session may be over by now."""
    return is_silent_since(work, event) and can_extract(work, event)


def extract_from_silent_session(work: WorkContext, event: Event) -> ReaderDecision:
    """What a model extracts from a session that just stopped, however few turns it had."""
    if session_events(work.store, event, "turn", after=event.seq, limit=1):
        return ReaderDecision()
    return extract_unread(work, event)


def find_usable_model(work: WorkContext, event: Event) -> LanguageModel | None:
    """The model that may read about this event; None for an old event, or where memory is off."""
    too_old = work.now - event.at > MAX_EVENT_AGE
    if too_old or work.settings.is_off(lesson_space_of(event), event.session):
        return None
    return work.llm


def extract_with_model(work: WorkContext, event: Event) -> ReaderDecision:
    """The memories that a model extracts from the turns since the last time, if it is due."""
    # Of the events `learn` only those that tell of a whole transcript.
    if event.verb == "learn" and "transcript" not in event.payload:
        return ReaderDecision()
    turns = list_unextracted_turns(work, event) if find_usable_model(work, event) else []
    is_over = event.verb in (*SESSION_ENDS, "learn")
    if not turns or not (is_over or is_extraction_due(turns)):
        return ReaderDecision()
    return extract_unread(work, event)


def extract_unread(work: WorkContext, event: Event) -> ReaderDecision:
    """The memories that a model extracts from the turns that nothing was extracted from yet."""
    llm = find_usable_model(work, event)
    turns = list_unextracted_turns(work, event) if llm else []
    if llm is None or not turns:
        return ReaderDecision()
    from reverie.llm.extraction_task import is_worth_extracting, split_windows

    season = find_season(work.store, visible_spaces(lesson_space_of(event)), work.now)
    new: list[Change] = []
    rests_on: dict[str, Memory] = {}
    rejected: list[RejectedItem] = []
    seen: set[str] = set()
    evidence = collect_turn_evidence(work, event, turns)
    windows = list(filter(is_worth_extracting, split_windows(list_spoken_messages(turns))))
    # It was said then, whenever it is read.
    said = event._replace(at=turns[-1].at)
    for window in windows[-MAX_WINDOWS:]:
        known = find_known_memories(work, event, window)
        answer = ask_extraction_model(work, llm, event, window, known)
        for item in answer.items:
            memory = build_extracted_memory(work, llm.name, said, item, NAME, evidence)
            memory = stamp_season(memory, season)
            folded = fold_text(memory.text)
            # Two windows of one conversation may teach the same.
            old = known[item.about] if 0 <= item.about < len(known) else None
            # One note a memory: what a second one would do rests on what it was before the first.
            old = None if old is None or old.id in rests_on else old
            if folded not in seen and not find_verbatim_duplicates(work.store, memory):
                changes = apply_note(memory, item.does if old else "", old, work.now)
                if old is not None and list(changes) != [Add(memory)]:
                    rests_on[old.id] = old
                new += changes
            seen.add(folded)
        rejected += answer.rejected_items
    rejections = summarize_model_rejections(rejected, work.policy)
    kept = sum(isinstance(change, Add) for change in new)
    return ReaderDecision(new, list(rests_on.values()), {"kept": kept, **rejections})


def summarize_model_rejections(rejected: Sequence[RejectedItem], policy: Policy) -> dict[str, Any]:
    """The payload about rejected candidates: their number, some examples with reasons."""
    if not rejected:
        return {}
    examples = [
        {
            "text": redact_short_text(item.text, policy),
            "reason": redact_short_text(item.reason, policy),
            "rule": NAME,
            "message": item.messages[1],
        }
        for item in rejected[:MAX_EXAMPLES]
    ]
    return {"rejected": {LEFT_BY_MODEL: len(rejected)}, "examples": examples}


def list_unextracted_turns(work: WorkContext, event: Event) -> list[Event]:
    """The turns up to this event that no extraction, done or failed, has covered."""
    attempts = session_events(
        work.store,
        event,
        NAME,
        "failed",
        newest=True,
        limit=50,
    )
    # Newest first, so the first one that counts is the last look.
    covered = (
        int(attempt.payload["event"])
        for attempt in attempts
        if attempt.verb == NAME or attempt.payload.get("reader") in (NAME, SILENCE)
    )
    after = next(covered, 0)
    turns = session_events(
        work.store,
        event,
        *MESSAGE_VERBS,
        after=after,
        limit=MAX_TURNS,
    )
    return [turn for turn in turns if turn.seq <= event.seq]


def list_spoken_messages(turns: Sequence[Event]) -> list[HostMessage]:
    """What user and assistant said, in order, without injected blocks; pastes stand apart."""
    spoken = []
    for turn in turns:
        for number, role, text in numbered_messages(turn):
            plain = remove_injections(text).strip()
            if role == "user" and plain:
                own, quoted = separate_user_lines(plain)
                spoken.append(HostMessage("user", own, number, quoted=quoted))
            elif role == "assistant" and plain:
                spoken.append(HostMessage(role, plain, number))
    return spoken


def collect_turn_evidence(
    work: WorkContext,
    event: Event,
    turns: Sequence[Event],
) -> RecentEvidence:
    """What the user said in these turns, and what tools answered in the session meanwhile."""
    runs = session_events(
        work.store,
        event,
        TOOL,
        newest=True,
        limit=MAX_TURNS,
    )
    return evidence_from_events(turns, runs)


def ask_extraction_model(
    work: WorkContext,
    llm: LanguageModel,
    event: Event,
    window: Sequence[HostMessage],
    known: Sequence[Memory],
) -> ExtractionAnswer:
    """What the model answers about one window. Raises if it is away, BadAnswer if the
    answer cannot be read.
    """
    from reverie.llm.extraction_task import build_extraction_request, read_extraction
    from reverie.llm.language_model import BadAnswer

    request = build_extraction_request(window, [memory.text for memory in known])
    answer = ask_about_event(work, llm, event, request, lambda text: read_extraction(text, window))
    if answer.value is None:
        raise BadAnswer(f"{llm.name}: {answer.outcome}: {answer.why}")
    return answer.value


def find_known_memories(
    work: WorkContext,
    event: Event,
    window: Sequence[HostMessage],
) -> list[Memory]:
    """At most MAX_KNOWN memories about what the user says in a window, for the model to skip, or to
    say what became of them.

    With an embedder only those of at least KNOWN_COSINE to the user's words.
    """
    from reverie.llm.extraction_task import KNOWN_COSINE, MAX_KNOWN

    # What the user says decides what is known about; the assistant repeats it.
    user_texts = [message.text for message in window if message.role == "user"]
    text = "\n".join(user_texts)[-MAX_LOOKUP_CHARS:]
    if not text:
        return []
    vector = try_embed(work.embedder, text)
    query = SearchQuery(
        text=text,
        spaces=visible_spaces(lesson_space_of(event)),
        now=work.now,
        vector=vector,
        model=work.embedding_model,
        limit=MAX_KNOWN,
        mode="words" if vector is None else "dense",
    )
    hits = search_memories(work.store, query)
    if vector is None:
        return [hit.memory for hit in hits]
    # Search ranks; whether one is near enough the cosine alone tells.
    by_hash = {fingerprint_text(hit.memory.text): hit.memory for hit in hits}
    vectors = work.store.known_vectors(work.embedding_model, list(by_hash))
    return [
        known
        for hash, known in by_hash.items()
        if hash in vectors and float(vectors[hash] @ vector) >= KNOWN_COSINE
    ]


def build_extracted_memory(
    work: WorkContext,
    model: str,
    event: Event,
    item: ExtractedItem,
    rule: str,
    known: RecentEvidence,
) -> Memory:
    """An extracted item as a memory, with the model and its reason in the details.

    It is "untrusted" if its words are somebody else's, else "extracted": where the words stand
    decides, and not what the model says of them.
    """
    claim = determine_provenance(item.text, item.kind, known)
    details: dict[str, Any] = {
        "rule": rule,
        "model": model,
        "reason": item.reason,
    }
    if item.data:
        details["data"] = dict(item.data)
    if item.emotion:
        details[FIELD] = dict(item.emotion)
    provenance = "extracted"
    if claim.provenance == UNTRUSTED:
        provenance = UNTRUSTED
        details |= claim._replace(author=UNKNOWN_AUTHOR).fields["details"]
    memory = build_memory(
        clock.new_id(),
        work.now,
        item.text,
        space=lesson_space_of(event),
        kind=item.kind,
        title=item.title,
        provenance=provenance,
        at=event.at,
        session=event.session,
        messages=item.messages,
        files=item.files,
        tags=item.tags,
        salience=item.importance,
        details=details | author_from_llm(model).details,
        policy=work.policy,
    )
    return apply_curate_setting(memory, work.settings.curate)


READER = EventReader(
    name=NAME,
    verbs=("turn", "learn", *SESSION_ENDS),
    verb=NAME,
    decide=extract_with_model,
    is_ready=can_extract,
)
SILENCE_READER = EventReader(
    name=SILENCE,
    verbs=("turn",),
    verb=NAME,
    decide=extract_from_silent_session,
    is_ready=can_extract_silent,
)
