"""Where a language model is configured, it reads what was said every twelve turns, when something
else is talked about, and at the end, and keeps what will be useful in other sessions.

What it says is data: every memory that comes of it is "extracted" (trust 0.7) whatever the answer
claims, or "untrusted" where its words stand in what somebody pasted or a tool answered and not in
what the user said; it lies in the conversation's own project, and names the messages that it rests
on. What was put into the conversation by Reverie is not read, what is known already is shown as
known. What was weighed and rejected is written down with its reason.

A model that is away leaves the cursor where it is; an answer that cannot be read is a failure of
that event, and so are three answers that did not come in time. Events older than OLDEST are passed
over: a model that is switched on after a year does not read the year.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from reverie.activity import TOOL
from reverie.core import clock
from reverie.core.authorship import apply_curate_setting, author_from_llm
from reverie.core.model import UNTRUSTED, Add, Change, Event, Memory, visible_spaces
from reverie.core.privacy_policy import Policy
from reverie.extraction.multi_turn_lessons import is_extraction_due
from reverie.extraction.provenance_check import (
    RecentEvidence,
    determine_provenance,
    iter_tool_answers,
    to_evidence,
)
from reverie.extraction.provenance_check import iter_turn_messages as spoken_in
from reverie.extraction.turn_learning import find_verbatim_duplicates
from reverie.memory.feelings import FIELD
from reverie.memory.memory_validation import build_memory
from reverie.memory.named_period import find_season, stamp_season
from reverie.pipeline.conversation_events import lesson_space_of
from reverie.pipeline.event_reader import MAX_EVENT_AGE, EventReader, ReaderDecision, WorkContext
from reverie.pipeline.pending_vectors import try_embed
from reverie.privacy.redacted_text import redact_short_text
from reverie.privacy.untrusted_text import HEARD_FROM, PASTED_TEXT
from reverie.reconciliation.model_requests import ask_about_event
from reverie.retrieval import search_memories
from reverie.retrieval.search_query import SearchQuery
from reverie.text.host_messages import HostMessage
from reverie.text.injection_fence import remove_injections
from reverie.text.own_sentences import separate_lines
from reverie.text.tokenization import fingerprint_text, fold_text

if TYPE_CHECKING:
    from reverie.llm.extraction_task import ExtractedItem, ExtractionAnswer, RejectedItem
    from reverie.llm.language_model import LanguageModel

# a host says so with `record`: the end, or the host shortens its context
ENDINGS = (
    "session_end",
    "compact",
)
MAX_TURNS = 200  # of one conversation that are read at once
WINDOW_TOKENS = 15_000  # tokens that one window takes, answer and known texts included
MAX_EXAMPLES = 8  # of what was left that are kept; all are counted
LEFT_BY_MODEL = "left by the model"
NO_EVIDENCE = RecentEvidence()
NAME = "extract"


def can_extract(work: WorkContext, _event: Event) -> bool:
    """Whether there is a model that may be asked now."""
    return work.llm is not None and work.llm.available(WINDOW_TOKENS)


def extract_with_model(work: WorkContext, event: Event) -> ReaderDecision:
    """What the turns since the last time teach, if it is time."""
    if (
        work.llm is None
        or work.now - event.at > MAX_EVENT_AGE
        or work.settings.is_off(lesson_space_of(event), event.session)
    ):
        return ReaderDecision()
    turns = list_unextracted_turns(work, event)
    if not turns or (event.verb not in ENDINGS and not is_extraction_due(turns)):
        return ReaderDecision()
    season = find_season(work.store, visible_spaces(lesson_space_of(event)), work.now)
    found: list[Change] = []
    rejected: list[RejectedItem] = []
    seen: set[str] = set()
    from reverie.llm.extraction_task import is_worth_extracting, split_windows

    known = collect_turn_evidence(work, event, turns)
    for window in filter(is_worth_extracting, split_windows(list_spoken_messages(turns))):
        extracted = ask_extraction_model(work, work.llm, event, window)
        for item in extracted.items:
            memory = stamp_season(
                build_extracted_memory(work, work.llm, event, item, known=known), season
            )
            if fold_text(memory.text) not in seen and not find_verbatim_duplicates(
                work.store, memory
            ):
                found.append(Add(memory))
            seen.add(fold_text(memory.text))
        rejected += extracted.rejected_items
    return ReaderDecision(
        found, payload={"kept": len(found), **summarize_model_rejections(rejected, work.policy)}
    )


def summarize_model_rejections(rejected: Sequence[RejectedItem], policy: Policy) -> dict[str, Any]:
    """What was weighed and left: how much, and some examples with the model's reasons."""
    examples = [
        {
            "text": redact_short_text(one.text, policy),
            "reason": redact_short_text(one.reason, policy),
            "rule": NAME,
            "message": one.messages[1],
        }
        for one in rejected[:MAX_EXAMPLES]
    ]
    return {"rejected": {LEFT_BY_MODEL: len(rejected)}, "examples": examples} if rejected else {}


def list_unextracted_turns(work: WorkContext, event: Event) -> list[Event]:
    """The turns of this conversation up to this event that no extraction, done or failed, has
    covered.
    """
    before = work.store.events(
        session=event.session, space=event.space, verbs=(NAME, "failed"), newest=True, limit=50
    )
    through = next(
        (
            int(e.payload["event"])
            for e in before
            if e.verb == NAME or e.payload.get("reader") == NAME
        ),
        0,
    )
    turns = work.store.events(
        after=through, session=event.session, space=event.space, verbs=("turn",), limit=MAX_TURNS
    )
    return [turn for turn in turns if turn.seq <= event.seq]


def list_spoken_messages(turns: Sequence[Event]) -> list[HostMessage]:
    """What user and assistant said, in order, without what Reverie put there (CC-62)."""
    said = []
    for turn in turns:
        messages = turn.payload.get("messages", ())
        start = turn.payload.get("first", 0)
        places = turn.payload.get("places") or range(start, start + len(messages))
        for place, message in zip(places, messages, strict=True):
            text = remove_injections(message.get("text", "")).strip()
            if message.get("role") == "user" and text:
                own, quoted = separate_lines(text)
                said.append(HostMessage("user", own, place, quoted=quoted))
            elif message.get("role") in ("user", "assistant") and text:
                said.append(HostMessage(message["role"], text, place))
    return said


def collect_turn_evidence(
    work: WorkContext, event: Event, turns: Sequence[Event]
) -> RecentEvidence:
    """What was said in these turns by the user, and written by others: pasted, or answered by tools
    meanwhile.
    """
    runs = work.store.events(
        session=event.session, space=event.space, verbs=(TOOL,), newest=True, limit=MAX_TURNS
    )
    return to_evidence(
        (message for turn in turns for message in spoken_in(turn)),
        (one for run in runs for one in iter_tool_answers(run)),
    )


def ask_extraction_model(
    work: WorkContext, llm: LanguageModel, event: Event, window: Sequence[HostMessage]
) -> ExtractionAnswer:
    """What the model says about one window; raises if it is away, or if its answer is of no use."""
    from reverie.llm.extraction_task import build_extraction_request, read_extraction
    from reverie.llm.language_model import BadAnswer

    answer = ask_about_event(
        work,
        llm,
        event,
        build_extraction_request(window, find_known_texts(work, event, window)),
        lambda text: read_extraction(text, window),
    )
    if answer.value is None:
        raise BadAnswer(f"{llm.name}: {answer.outcome}: {answer.why}")
    return answer.value


def find_known_texts(work: WorkContext, event: Event, window: Sequence[HostMessage]) -> list[str]:
    """What is known already about what a window says: at most KNOWN texts, by meaning from
    KNOWN_LIKE on (X16).
    """
    from reverie.llm.extraction_task import KNOWN_COSINE, MAX_KNOWN

    text = "\n".join(message.text for message in window if message.role == "user")[-4_000:]
    vector = try_embed(work.embedder, text) if text else None
    query = SearchQuery(
        text=text,
        spaces=visible_spaces(lesson_space_of(event)),
        now=work.now,
        vector=vector,
        model=work.embedding_model,
        limit=MAX_KNOWN,
        mode="words" if vector is None else "dense",
    )
    hits = search_memories(work.store, query) if text else []
    if vector is None:
        return [hit.memory.text for hit in hits]
    hashes = {fingerprint_text(hit.memory.text): hit.memory.text for hit in hits}
    vectors = work.store.known_vectors(work.embedding_model, list(hashes))
    return [
        known
        for hash, known in hashes.items()
        if hash in vectors and float(vectors[hash] @ vector) >= KNOWN_COSINE
    ]


def choose_provenance(item: ExtractedItem, known: RecentEvidence) -> str:
    """The provenance of a note, by where its words stand and not by what the model says of them."""
    claim = determine_provenance(item.text, item.kind, known)
    return claim.provenance if claim.provenance == UNTRUSTED else "extracted"


def build_extracted_memory(
    work: WorkContext,
    llm: LanguageModel,
    event: Event,
    item: ExtractedItem,
    rule: str = NAME,
    known: RecentEvidence = NO_EVIDENCE,
) -> Memory:
    """A memory of what the model noted: extracted or untrusted, whatever it says of itself."""
    source = choose_provenance(item, known)
    details: dict[str, Any] = {"rule": rule, "model": llm.name, "reason": item.reason}
    details |= {
        name: dict(value) for name, value in (("data", item.data), (FIELD, item.emotion)) if value
    }
    details |= {HEARD_FROM: PASTED_TEXT} if source == UNTRUSTED else {}
    details |= author_from_llm(llm.name).details
    memory = build_memory(
        clock.new_id(),
        work.now,
        item.text,
        space=lesson_space_of(event),
        kind=item.kind,
        title=item.title,
        provenance=source,
        at=event.at,
        session=event.session,
        messages=item.messages,
        files=item.files,
        salience=item.importance,
        details=details,
        policy=work.policy,
    )
    return apply_curate_setting(memory, work.settings.curate)


READER = EventReader(
    name=NAME, verbs=("turn", *ENDINGS), verb=NAME, decide=extract_with_model, is_ready=can_extract
)
