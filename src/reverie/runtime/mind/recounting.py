"""Recounting: episodes are told, looked up by time and context, and shown day by day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from reverie.core.model import Change, Edge, Event, Filter, Memory, lineage
from reverie.memory import episodes
from reverie.memory.memory_changes import linked
from reverie.memory.memory_validation import Moment, moment, moment_then
from reverie.retrieval.graph_walk import chained
from reverie.runtime.mind.base import Base
from reverie.text.argument_checks import question, texts, whole
from reverie.text.text_cleaning import clean

if TYPE_CHECKING:
    from reverie.memory.daily_journal import Chat, Day

# newest episodes of a range among which words are looked for; a space holds no more (CAPACITY)
LOOKED_AT = 20_000
MOST_TALKS = 10_000  # conversations, and recorded tool runs, that a journal looks through


class Recounting(Base):
    """The verbs of what happened."""

    def recount(
        self,
        what: str,
        *,
        who: str = "",
        when: Moment = None,
        where: str = "",
        why: str = "",
        outcome: str = "",
        kind: str = "event",
        space: str | None = None,
        session: str = "",
        because: Iterable[str] = (),
        **more: object,
    ) -> Memory:
        """Keep what happened, with who, when (default: now), where and why, and how it came out.

        `kind`: "event", or "task" for a piece of work. `because`: ids of what led to it (see
        `chain`). Further names are those of `remember`. All of it can be found by words, and the
        parts stand in `details`.
        """
        told = episodes.told(what, {"who": who, "where": where, "why": why, "outcome": outcome})
        given = more.pop("details", None)
        details = {**(given if isinstance(given, dict) else {}), **told["details"]}
        causes = self._all(because) if (because := texts(because, "because")) else []

        def ties(kept: Memory) -> list[Change]:
            return [linked(one.id, kept.id, "led_to", 1.0) for one in causes]

        return self._kept(  # type: ignore[attr-defined,no-any-return]
            told["text"],
            self._writable(space),
            ties,
            kind=kind,
            at=when,
            session=session,
            details=details,
            **more,
        )

    def chain(self, id: str, *, limit: int = 20) -> list[Memory]:
        """What led to a memory, the memory itself, and what came of it, in the order in which it
        happened.

        Ties are those of `recount(because=…)` and of `link(cause, effect, "led_to")`; of either
        direction `limit` are named at most, the nearest first. What cannot be seen from its space
        or below it is left out.
        """
        one, most = self._one(id), max(0, whole(limit))

        def edges(ids: Sequence[str]) -> list[Edge]:
            return self.store.edges(ids, ("led_to",))

        ids = [end for back in (True, False) for end in chained(id, edges, back=back, most=most)]
        near = [
            other
            for other in self.store.get(ids)
            if other.space in lineage(one.space) or one.space in lineage(other.space)
        ]
        return sorted(
            {other.id: other for other in (*near, one)}.values(),
            key=lambda other: (other.at, other.id),
        )

    def episodes(
        self,
        query: str = "",
        *,
        since: Moment = None,
        until: Moment = None,
        space: str | None = None,
        session: str = "",
        limit: int = 20,
    ) -> list[Memory]:
        """What happened, newest first: between two moments, both included, and with these words in
        what, who, where or

        why. A date without a time means all of that day, in UTC. Every word must occur, whatever
        its case; `recall` with `types=["episodic"]` finds by meaning.
        """
        words = question(query, "query").split()
        most = max(0, whole(limit))
        found = self._happened(
            episodes.KINDS, since, until, space, session, LOOKED_AT if words else most
        )
        return [memory for memory in found if episodes.about(memory, words)][:most]

    def journal(
        self, since: Moment = None, until: Moment = None, *, space: str | None = None
    ) -> list[Day]:
        """A timeline by day, the latest first: episodes, decisions, tasks, feelings, conversations.

        `since` and `until` as in `episodes`. Days are those of UTC; days on which nothing happened
        are left out.
        """
        from reverie.memory.daily_journal import SHOWN, days

        found = self._happened(SHOWN, since, until, space, "", LOOKED_AT)
        return days(found, self._talked(since, until, space), self._ran(since, until, space))

    def _happened(
        self,
        kinds: Sequence[str],
        since: Moment,
        until: Moment,
        space: str | None,
        session: str,
        limit: int,
    ) -> list[Memory]:
        """Memories of these kinds in a range, newest first."""
        return self.store.browse(
            Filter(
                spaces=lineage(self._space(space)),
                kinds=tuple(kinds),
                session=clean(session),
                by_time=True,
                limit=limit,
                since=moment(since, "since"),
                until=moment_then(until, "until"),
            )
        )

    def _talked(self, since: Moment, until: Moment, space: str | None) -> list[Chat]:
        """Conversations in a space and below it, in a range, by day."""
        from reverie.extraction.past_conversations import SPOKEN
        from reverie.memory.daily_journal import chats

        first, last = moment(since, "since"), moment_then(until, "until")
        talks = [
            talk
            for talk in self.store.talks(SPOKEN, space=self._space(space), limit=MOST_TALKS)
            if within(talk.ended, first, None) and within(talk.began, None, last)
        ]
        return [
            chat
            for talk in talks
            for chat in chats(
                [
                    event
                    for event in self.store.events(
                        after=talk.first - 1,
                        verbs=SPOKEN,
                        session=talk.session,
                        space=talk.space,
                        limit=MOST_TALKS,
                    )
                    if within(event.at, first, last)
                ]
            )
        ]

    def _ran(self, since: Moment, until: Moment, space: str | None) -> list[Event]:
        """Recorded tool runs in a space and below it, in a range; the newest 10,000 are looked
        through.
        """
        first, last, home = moment(since, "since"), moment_then(until, "until"), self._space(space)
        return [
            event
            for event in self.store.events(verbs=("tool",), newest=True, limit=MOST_TALKS)
            if within(event.at, first, last)
            and (event.space == home or event.space.startswith(f"{home}/"))
        ]


def within(at: float, first: float | None, last: float | None) -> bool:
    """Whether a moment lies in a range, both ends included."""
    return (first is None or at >= first) and (last is None or at <= last)
