"""One summary for each session that was worth it, as a memory of the kind `session`.

It is written when the host says that the session ends, or once the session has been silent for
SILENT_SECONDS, and revised, never doubled, when the session goes on. It comes up where somebody
asks where they were (`find_where_we_were`), or for sessions; never by itself, because what was said
comes up by itself from the conversation.

The reader of silence trails behind the log: it reads a turn when that is SILENT_SECONDS old, and
looks whether anything followed. Should no process run when a session falls silent, the next one
writes the summary; who asks before that gets one that is made on the spot and not kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from reverie.activity import FILE, TOOL
from reverie.activity.activity_events import get_run_command, list_changed_paths
from reverie.core import clock
from reverie.core.kinds import SESSION
from reverie.core.model import Add, Event, Filter, Hit, Memory, visible_spaces
from reverie.core.privacy_policy import Policy
from reverie.extraction.session_summary import (
    SessionFacts,
    SessionSummary,
    render_summary,
    summarize_session,
)
from reverie.memory.episodes import read_success
from reverie.memory.memory_validation import build_memory
from reverie.pipeline.conversation_events import lesson_space_of, session_events
from reverie.pipeline.event_reader import EventReader, ReaderDecision, WorkContext
from reverie.reconciliation.merge_rules import diff_memory
from reverie.storage import Store
from reverie.text.prompt_phrases import WHERE_WERE_WE, has_trait
from reverie.text.tokenization import shorten_line
from reverie.transcripts.message_passages import SpokenMessage
from reverie.transcripts.transcript_indexing import MESSAGE_VERBS, read_spoken_messages

# A session in which nobody has spoken for so long is over for now.
SILENT_SECONDS = 1_800.0
# Newest events of a session that are read, and of the tools in it.
MAX_EVENTS, MAX_RUNS = 400, 200
# Newest messages of a space among which its last session is looked for.
MAX_NEWEST = 60
# Kinds that tell what a session has decided.
DECIDING_KINDS = ("decision", "correction", "preference", "negative")
MAX_DECIDED = 4
MAX_TITLE_CHARS = 80
UPTO = "upto"  # in details: the number of the last event that the summary knows
NAME, SILENCE = "summary", "silence"
WHY = "where the last session stopped"


def is_silent_since(work: WorkContext, event: Event) -> bool:
    """True if so much time has passed since a turn that its session may be over."""
    return work.now - event.at >= SILENT_SECONDS


def summarize_silent_session(work: WorkContext, event: Event) -> ReaderDecision:
    """The summary of a turn's session, if nothing was said after it."""
    later = session_events(work.store, event, *MESSAGE_VERBS, after=event.seq, limit=1)
    return ReaderDecision() if later else summarize_at(work, event)


def summarize_at(work: WorkContext, event: Event) -> ReaderDecision:
    """The new or revised summary of an event's session; nothing if it is known or not worth it."""
    home = lesson_space_of(event)
    if not event.session or work.settings.is_off(home, event.session):
        return ReaderDecision()
    memory = build_session_memory(work.store, event, work.now, work.policy)
    if memory is None:
        return ReaderDecision()
    known = find_session_memory(work.store, memory.space, event.session)
    if known is None:
        return ReaderDecision([Add(memory)])
    # Somebody has forgotten it, and that stands.
    if not known.active or known.text == memory.text:
        return ReaderDecision()
    revised = known._replace(
        text=memory.text,
        title=memory.title,
        at=memory.at,
        messages=memory.messages,
        details=memory.details,
        updated_at=work.now,
    )
    return ReaderDecision(diff_memory(known, revised), [known])


def find_session_memory(store: Store, home: str, session: str) -> Memory | None:
    """The summary of a session, active or not; None if there is none."""
    found = store.browse(
        Filter(spaces=(home,), kinds=(SESSION,), session=session, active=None, limit=1)
    )
    return found[0] if found else None


def build_session_memory(
    store: Store,
    event: Event,
    now: float,
    policy: Policy,
) -> Memory | None:
    """The summary of an event's session as a memory that no store holds yet; None if it is not
    worth one.
    """
    turns = session_events(store, event, *MESSAGE_VERBS, newest=True, limit=MAX_EVENTS)[::-1]
    messages = list_messages_once(turns)
    if not messages:
        return None
    # A session that ends has an event of its own; what belongs where, its turns say.
    home, last = lesson_space_of(turns[-1]), turns[-1]
    summary = summarize_session(messages, collect_session_facts(store, last, home))
    if summary is None:
        return None
    numbers = [message.number for message in messages]
    ended = max(last.at, messages[-1].at)
    return build_memory(
        clock.new_id(),
        now,
        render_summary(summary, ended),
        title=shorten_line(summary.asked[0], MAX_TITLE_CHARS),
        space=home,
        kind=SESSION,
        provenance="observed",
        at=ended,
        session=event.session,
        messages=(min(numbers), max(numbers)),
        details={**list_summary_parts(summary), UPTO: last.seq},
        policy=policy,
    )


def list_messages_once(turns: Sequence[Event]) -> list[SpokenMessage]:
    """What was said in these events, in order, each message once."""
    found: dict[tuple[int, str, str], SpokenMessage] = {}
    for turn in turns:
        for message in read_spoken_messages(turn):
            found.setdefault((message.number, message.role, message.text), message)
    return sorted(found.values(), key=lambda message: message.number)


def collect_session_facts(store: Store, turn: Event, home: str) -> SessionFacts:
    """What a session has decided, changed, and what failed last in it."""
    kept = store.browse(
        Filter(spaces=(home,), kinds=DECIDING_KINDS, session=turn.session, limit=MAX_DECIDED)
    )
    work = session_events(store, turn, TOOL, FILE, newest=True, limit=MAX_RUNS)
    runs = [event for event in work if get_run_command(event)]
    failed = bool(runs) and read_success(runs[0].payload) is False
    changed = dict.fromkeys(path for event in work[::-1] for path in list_changed_paths(event))
    return SessionFacts(
        [memory.text for memory in kept],
        list(changed),
        get_run_command(runs[0]) if failed else "",
    )


def list_summary_parts(summary: SessionSummary) -> dict[str, object]:
    """The parts of a summary that say something, as a memory's details keep them."""
    return {name: value for name, value in summary._asdict().items() if value}


def find_where_we_were(
    store: Store,
    question: str,
    space: str,
    session: str,
    now: float,
    policy: Policy,
) -> list[Hit]:
    """The last session but this one, where a question asks where we were; else nothing.

    That of the nearest space that had any. What was said since its summary was written counts.
    """
    if not has_trait(question, WHERE_WERE_WE):
        return []
    for place in visible_spaces(space):
        memory = find_last_session(store, place, session, now, policy)
        if memory is not None:
            return [Hit(memory, 1.0, (WHY,))]
    return []


def find_last_session(
    store: Store,
    space: str,
    session: str,
    now: float,
    policy: Policy,
) -> Memory | None:
    """The summary of the last session in a space, kept or made on the spot; None without one."""
    kept = store.browse(Filter(spaces=(space,), kinds=(SESSION,), by_time=True, limit=2))
    known = next((memory for memory in kept if memory.session != session), None)
    newest = store.events(space=space, verbs=("turn",), newest=True, limit=MAX_NEWEST)
    turn = next((turn for turn in newest if turn.session not in (session, "")), None)
    if turn is None or (known is not None and turn.at <= known.at):
        return known
    stored = find_session_memory(store, lesson_space_of(turn), turn.session)
    if stored is not None and not stored.active:
        return known
    made = build_session_memory(store, turn, now, policy)
    if made is None:
        return known
    # Under the id of the one that is kept, if that only has fallen behind.
    return made if stored is None else made._replace(id=stored.id)


END_READER = EventReader(
    name=NAME,
    verbs=("session_end",),
    verb=NAME,
    decide=summarize_at,
)
SILENCE_READER = EventReader(
    name=SILENCE,
    verbs=MESSAGE_VERBS,
    verb=NAME,
    decide=summarize_silent_session,
    is_ready=is_silent_since,
)
