"""Conversations of another program taken into the log of what was said, and taken back.

Each is taken in as `mind.learn` does, in a transaction of its own, so that a process that is killed
has lost none, and the next run goes on there. The event of the import names them all; undoing it
retires what they taught and withdraws their words from what is found. The log keeps them: purging
and scrubbing erase there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from reverie.core.errors import ReverieError
from reverie.core.model import Event, Record
from reverie.extraction.transcript_learning import learn_transcript
from reverie.pipeline.event_reader import WorkContext
from reverie.porting.importers.import_records import BadRecord, ConversationRecord
from reverie.privacy.redacted_text import redact_short_text
from reverie.storage import Store
from reverie.transcripts.transcript_indexing import read_withdrawn, set_withdrawn

# The name in the payload of an import's event under which its conversations stand, and in that of
# its undoing whether they are withdrawn by it.
SESSIONS, WITHDRAWN = "sessions", "withdrawn"
NO_LIMIT = 1_000_000


@dataclass
class ConversationReport:
    """What came of the conversations of a file."""

    conversations: int = 0
    messages: int = 0
    memories: int = 0
    known: int = 0
    left_out: int = 0  # for nobody said that they are the user's own
    redacted: set[str] = field(default_factory=set)
    sessions: list[str] = field(default_factory=list)


class ConversationIntake:
    """Takes in the conversations of one file, as they are read."""

    def __init__(
        self,
        work: WorkContext,
        system: str,
        space: str,
        *,
        trusted: bool,
        dry_run: bool,
    ) -> None:
        self.report = ConversationReport()
        self._work = work
        self._system = system
        self._space = space
        self._trusted = trusted
        self._dry_run = dry_run
        self._named: set[str] | None = None

    def take(self, record: ConversationRecord) -> BadRecord | None:
        """Take in one conversation; why not, if it cannot be."""
        report = self.report
        session = redact_short_text(f"{self._system}-{record.key}", self._work.policy)
        if not self._trusted:
            report.left_out += 1
            return None
        if self._dry_run:
            # One that has grown since counts as known, for which nothing has to be compared.
            is_known = self._work.store.events(session=session, space=self._space, limit=1)
            report.known += bool(is_known)
            report.conversations += not is_known
            report.messages += 0 if is_known else len(record.messages)
            return None
        messages = [
            {"role": one.role, "content": one.text, "at": one.at} for one in record.messages
        ]
        try:
            # The event of the import, which comes last, is durable, and all before it with it.
            learned = learn_transcript(self._work, messages, self._space, session, durable=False)
        except ReverieError as err:
            return BadRecord(record.where, str(err))
        if learned.known:
            report.known += 1
        else:
            report.conversations += 1
            report.messages += learned.messages
            report.memories += len(learned.memories)
            report.redacted |= {*learned.redacted}
        # Also one that a run took in which was killed before it could name it.
        if learned.session not in self._list_named():
            report.sessions.append(learned.session)
        return None

    def _list_named(self) -> set[str]:
        """The sessions that the events of earlier imports name."""
        if self._named is None:
            events = self._work.store.search_events(
                ("import",), space=self._space, containing=(SESSIONS,), limit=NO_LIMIT
            )
            self._named = {name for event in events for name in list_sessions(event.payload)}
        return self._named


def list_sessions(payload: Mapping[str, Any]) -> list[str]:
    """The sessions that the event of an import, or of its undoing, names."""
    names = payload.get(SESSIONS)
    return (
        [name for name in names if isinstance(name, str)]
        if isinstance(names, (list, tuple))
        else []
    )


def list_learned_records(store: Store, event: Event | None) -> list[Record]:
    """What the conversations of an import taught: the changes that undoing it takes back."""
    if event is None or event.verb != "import":
        return []
    return [
        record
        for session in list_sessions(event.payload)
        for learned in store.events(session=session, verbs=("learn",), limit=NO_LIMIT)
        for record in store.changes_of(learned.seq)
    ]


def plan_withdrawal(event: Event | None) -> dict[str, Any]:
    """The payload by which the event that undoes this one withdraws conversations, or brings them
    back.
    """
    if event is None or event.verb not in ("import", "undo") or not list_sessions(event.payload):
        return {}
    return {
        SESSIONS: list_sessions(event.payload),
        WITHDRAWN: not event.payload.get(WITHDRAWN, False),
    }


def withdraw_conversations(store: Store, space: str, payload: Mapping[str, Any]) -> None:
    """Make the words of conversations be found no more, or again."""
    named = list_sessions(payload)
    if not named:
        return
    withdrawn = {
        place for place in read_withdrawn(store) if place[0] != space or place[1] not in named
    }
    if payload.get(WITHDRAWN):
        withdrawn |= {(space, session) for session in named}
    set_withdrawn(store, withdrawn)


def describe_conversations(report: ConversationReport) -> Iterable[str]:
    """Remarks about conversations that were left out."""
    if report.left_out:
        yield (
            f"{report.left_out:,} conversations left out: what they teach counts as your word, and "
            "only you can say that they are yours. If they are: --trusted (in Python trusted=True)"
        )
