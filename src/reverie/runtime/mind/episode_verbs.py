"""Recounting: episodes are told, looked up by time and context, and shown day by day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from reverie.core.model import Change, Edge, Event, Filter, Memory, visible_spaces
from reverie.memory import episodes
from reverie.memory.memory_changes import link_memories
from reverie.memory.memory_validation import Moment, parse_moment, parse_moment_as_of
from reverie.retrieval.graph_walk import trace_led_to
from reverie.runtime.mind.mind_base import MindBase
from reverie.text.argument_checks import check_question, check_text_list, check_whole_number
from reverie.text.text_cleaning import clean_text

if TYPE_CHECKING:
    from reverie.memory.daily_journal import JournalChat, JournalDay

# newest episodes of a range among which words are looked for; a space holds no more (CAPACITY)
MAX_EPISODE_SCAN = 20_000
MAX_JOURNAL_SCAN = 10_000  # conversations, and recorded tool runs, that a journal looks through


class EpisodeVerbs(MindBase):
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
        told = episodes.describe_episode(
            what, {"who": who, "where": where, "why": why, "outcome": outcome}
        )
        given = more.pop("details", None)
        details = {**(given if isinstance(given, dict) else {}), **told["details"]}
        causes = self._get_all(because) if (because := check_text_list(because, "because")) else []

        def ties(kept: Memory) -> list[Change]:
            return [link_memories(one.id, kept.id, "led_to", 1.0) for one in causes]

        return self._kept(  # type: ignore[attr-defined,no-any-return]
            told["text"],
            self._writable_space(space),
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
        one, most = self._get_one(id), max(0, check_whole_number(limit))

        def edges(ids: Sequence[str]) -> list[Edge]:
            return self.store.edges(ids, ("led_to",))

        ids = [
            end for back in (True, False) for end in trace_led_to(id, edges, back=back, most=most)
        ]
        near = [
            other
            for other in self.store.get(ids)
            if other.space in visible_spaces(one.space) or one.space in visible_spaces(other.space)
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
        words = check_question(query, "query").split()
        most = max(0, check_whole_number(limit))
        found = self._happened(
            episodes.EPISODE_KINDS,
            since,
            until,
            space,
            session,
            MAX_EPISODE_SCAN if words else most,
        )
        return [memory for memory in found if episodes.is_episode_about(memory, words)][:most]

    def journal(
        self, since: Moment = None, until: Moment = None, *, space: str | None = None
    ) -> list[JournalDay]:
        """A timeline by day, the latest first: episodes, decisions, tasks, feelings, conversations.

        `since` and `until` as in `episodes`. Days are those of UTC; days on which nothing happened
        are left out.
        """
        from reverie.memory.daily_journal import JOURNAL_KINDS, build_journal_days

        found = self._happened(JOURNAL_KINDS, since, until, space, "", MAX_EPISODE_SCAN)
        return build_journal_days(
            found, self._talked(since, until, space), self._ran(since, until, space)
        )

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
                spaces=visible_spaces(self._resolve_space(space)),
                kinds=tuple(kinds),
                session=clean_text(session),
                by_time=True,
                limit=limit,
                since=parse_moment(since, "since"),
                until=parse_moment_as_of(until, "until"),
            )
        )

    def _talked(self, since: Moment, until: Moment, space: str | None) -> list[JournalChat]:
        """Conversations in a space and below it, in a range, by day."""
        from reverie.extraction.past_conversations import MESSAGE_VERBS
        from reverie.memory.daily_journal import group_chats

        first, last = parse_moment(since, "since"), parse_moment_as_of(until, "until")
        talks = [
            talk
            for talk in self.store.session_spans(
                MESSAGE_VERBS, space=self._resolve_space(space), limit=MAX_JOURNAL_SCAN
            )
            if is_in_time_range(talk.ended, first, None)
            and is_in_time_range(talk.began, None, last)
        ]
        return [
            chat
            for talk in talks
            for chat in group_chats(
                [
                    event
                    for event in self.store.events(
                        after=talk.first - 1,
                        verbs=MESSAGE_VERBS,
                        session=talk.session,
                        space=talk.space,
                        limit=MAX_JOURNAL_SCAN,
                    )
                    if is_in_time_range(event.at, first, last)
                ]
            )
        ]

    def _ran(self, since: Moment, until: Moment, space: str | None) -> list[Event]:
        """Recorded tool runs in a space and below it, in a range; the newest 10,000 are looked
        through.
        """
        first, last, home = (
            parse_moment(since, "since"),
            parse_moment_as_of(until, "until"),
            self._resolve_space(space),
        )
        return [
            event
            for event in self.store.events(verbs=("tool",), newest=True, limit=MAX_JOURNAL_SCAN)
            if is_in_time_range(event.at, first, last)
            and (event.space == home or event.space.startswith(f"{home}/"))
        ]


def is_in_time_range(at: float, first: float | None, last: float | None) -> bool:
    """Whether a moment lies in a range, both ends included."""
    return (first is None or at >= first) and (last is None or at <= last)
