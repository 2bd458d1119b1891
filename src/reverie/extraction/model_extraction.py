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
from reverie.core.authorship import of_llm, under
from reverie.core.model import UNTRUSTED, Add, Change, Event, Memory, lineage
from reverie.core.privacy_policy import Policy
from reverie.extraction.multi_turn_lessons import is_seam
from reverie.extraction.provenance_check import Lately, answered, told, vouched
from reverie.extraction.provenance_check import spoken as spoken_in
from reverie.extraction.turn_learning import known_as
from reverie.memory.feelings import FIELD
from reverie.memory.memory_validation import built
from reverie.memory.named_period import season_of, stamped
from reverie.pipeline.conversation_events import home_of
from reverie.pipeline.event_reader import OLDEST, Decision, Reader, Work
from reverie.pipeline.pending_vectors import embedded
from reverie.privacy.redacted_text import private
from reverie.privacy.untrusted_text import HEARD, PASTED
from reverie.reconciliation.model_requests import about
from reverie.retrieval import search
from reverie.retrieval.search_query import Query
from reverie.text.host_messages import Said
from reverie.text.injection_fence import without_injections
from reverie.text.own_sentences import parted
from reverie.text.tokenization import fingerprint, folded

if TYPE_CHECKING:
    from reverie.llm.extraction_task import Extracted, Item, Rejected
    from reverie.llm.language_model import Llm

# a host says so with `record`: the end, or the host shortens its context
ENDINGS = (
    "session_end",
    "compact",
)
MOST_TURNS = 200  # of one conversation that are read at once
ROOM = 15_000  # tokens that one window takes, answer and known texts included
EXAMPLES = 8  # of what was left that are kept; all are counted
LEFT = "left by the model"
NOBODY = Lately()
NAME = "extract"


def may_ask(work: Work, _event: Event) -> bool:
    """Whether there is a model that may be asked now."""
    return work.llm is not None and work.llm.available(ROOM)


def taught(work: Work, event: Event) -> Decision:
    """What the turns since the last time teach, if it is time."""
    if (
        work.llm is None
        or work.now - event.at > OLDEST
        or work.settings.is_off(home_of(event), event.session)
    ):
        return Decision()
    turns = since_last(work, event)
    if not turns or (event.verb not in ENDINGS and not is_seam(turns)):
        return Decision()
    season = season_of(work.store, lineage(home_of(event)), work.now)
    found: list[Change] = []
    rejected: list[Rejected] = []
    seen: set[str] = set()
    from reverie.llm.extraction_task import windows, worth_asking

    known = heard(work, event, turns)
    for window in filter(worth_asking, windows(spoken(turns))):
        extracted = asked(work, work.llm, event, window)
        for item in extracted.keep:
            memory = stamped(as_memory(work, work.llm, event, item, known=known), season)
            if folded(memory.text) not in seen and not known_as(work.store, memory):
                found.append(Add(memory))
            seen.add(folded(memory.text))
        rejected += extracted.reject
    return Decision(found, payload={"kept": len(found), **account(rejected, work.policy)})


def account(rejected: Sequence[Rejected], policy: Policy) -> dict[str, Any]:
    """What was weighed and left: how much, and some examples with the model's reasons."""
    examples = [
        {
            "text": private(one.text, policy),
            "reason": private(one.reason, policy),
            "rule": NAME,
            "message": one.messages[1],
        }
        for one in rejected[:EXAMPLES]
    ]
    return {"rejected": {LEFT: len(rejected)}, "examples": examples} if rejected else {}


def since_last(work: Work, event: Event) -> list[Event]:
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
        after=through, session=event.session, space=event.space, verbs=("turn",), limit=MOST_TURNS
    )
    return [turn for turn in turns if turn.seq <= event.seq]


def spoken(turns: Sequence[Event]) -> list[Said]:
    """What user and assistant said, in order, without what Reverie put there (CC-62)."""
    said = []
    for turn in turns:
        messages = turn.payload.get("messages", ())
        start = turn.payload.get("first", 0)
        places = turn.payload.get("places") or range(start, start + len(messages))
        for place, message in zip(places, messages, strict=True):
            text = without_injections(message.get("text", "")).strip()
            if message.get("role") == "user" and text:
                own, quoted = parted(text)
                said.append(Said("user", own, place, quoted=quoted))
            elif message.get("role") in ("user", "assistant") and text:
                said.append(Said(message["role"], text, place))
    return said


def heard(work: Work, event: Event, turns: Sequence[Event]) -> Lately:
    """What was said in these turns by the user, and written by others: pasted, or answered by tools
    meanwhile.
    """
    runs = work.store.events(
        session=event.session, space=event.space, verbs=(TOOL,), newest=True, limit=MOST_TURNS
    )
    return told(
        (message for turn in turns for message in spoken_in(turn)),
        (one for run in runs for one in answered(run)),
    )


def asked(work: Work, llm: Llm, event: Event, window: Sequence[Said]) -> Extracted:
    """What the model says about one window; raises if it is away, or if its answer is of no use."""
    from reverie.llm.extraction_task import read, request
    from reverie.llm.language_model import BadAnswer

    answer = about(
        work,
        llm,
        event,
        request(window, known_about(work, event, window)),
        lambda text: read(text, window),
    )
    if answer.value is None:
        raise BadAnswer(f"{llm.name}: {answer.outcome}: {answer.why}")
    return answer.value


def known_about(work: Work, event: Event, window: Sequence[Said]) -> list[str]:
    """What is known already about what a window says: at most KNOWN texts, by meaning from
    KNOWN_LIKE on (X16).
    """
    from reverie.llm.extraction_task import KNOWN, KNOWN_LIKE

    text = "\n".join(message.text for message in window if message.role == "user")[-4_000:]
    vector = embedded(work.embedder, text) if text else None
    query = Query(
        text=text,
        spaces=lineage(home_of(event)),
        now=work.now,
        vector=vector,
        model=work.model,
        limit=KNOWN,
        mode="words" if vector is None else "dense",
    )
    hits = search(work.store, query) if text else []
    if vector is None:
        return [hit.memory.text for hit in hits]
    hashes = {fingerprint(hit.memory.text): hit.memory.text for hit in hits}
    vectors = work.store.known_vectors(work.model, list(hashes))
    return [
        known
        for hash, known in hashes.items()
        if hash in vectors and float(vectors[hash] @ vector) >= KNOWN_LIKE
    ]


def source_of(item: Item, known: Lately) -> str:
    """The provenance of a note, by where its words stand and not by what the model says of them."""
    claim = vouched(item.text, item.kind, known)
    return claim.provenance if claim.provenance == UNTRUSTED else "extracted"


def as_memory(
    work: Work, llm: Llm, event: Event, item: Item, rule: str = NAME, known: Lately = NOBODY
) -> Memory:
    """A memory of what the model noted: extracted or untrusted, whatever it says of itself."""
    source = source_of(item, known)
    details: dict[str, Any] = {"rule": rule, "model": llm.name, "reason": item.reason}
    details |= {
        name: dict(value) for name, value in (("data", item.data), (FIELD, item.emotion)) if value
    }
    details |= {HEARD: PASTED} if source == UNTRUSTED else {}
    details |= of_llm(llm.name).details
    memory = built(
        clock.new_id(),
        work.now,
        item.text,
        space=home_of(event),
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
    return under(memory, work.settings.curate)


READER = Reader(name=NAME, verbs=("turn", *ENDINGS), verb=NAME, decide=taught, ready=may_ask)
