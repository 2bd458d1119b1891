"""Verbs of episodes: tell what happened, look it up by time and words, show it day by day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from reverie.core.model import Change, Edge, Event, Filter, Memory, visible_spaces
from reverie.memory import episodes
from reverie.memory.memory_changes import link_memories
from reverie.memory.memory_validation import Moment, parse_moment, parse_moment_as_of
from reverie.retrieval.graph_walk import trace_led_to
from reverie.runtime.mind.mind_base import check_limit
from reverie.runtime.mind.remember_verbs import RememberVerbs
from reverie.text.argument_checks import check_question, check_text_list
from reverie.text.text_cleaning import clean_text

if TYPE_CHECKING:
    from reverie.memory.daily_journal import JournalChat, JournalDay

# Newest episodes of a range among which words are looked for; a space holds no more of them.
MAX_EPISODE_SCAN = 20_000
MAX_JOURNAL_SCAN = 10_000  # conversations, and recorded tool runs, that a journal looks through


class EpisodeVerbs(RememberVerbs):
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
        **more: Any,
    ) -> Memory:
        """Keep an episode: what happened, who, when (default: now), where, why, and how it came
        out.

        `kind`: "event", or "task" for a piece of work. `because`: ids of what led to it (see
        `chain`). Further names are those of `remember`. All of it can be found by words, and the
        parts stand in `details`.
        """
        described = episodes.describe_episode(
            what, {"who": who, "where": where, "why": why, "outcome": outcome}
        )
        given = more.pop("details", None)
        details = {**(given if isinstance(given, dict) else {}), **described["details"]}
        cause_ids = check_text_list(because, "because")
        causes = self._get_all(cause_ids) if cause_ids else []

        def link_causes(episode: Memory) -> list[Change]:
            return [link_memories(cause.id, episode.id, "led_to", 1.0) for cause in causes]

        return self._keep_new(
            described["text"],
            self._writable_space(space),
            link_causes,
            kind=kind,
            at=when,
            session=session,
            details=details,
            **more,
        )

    def chain(self, id: str, *, limit: int = 20) -> list[Memory]:
        """What led to a memory, the memory itself, and what came of it, in the order in which it
        happened.

        Links are those of `recount(because=…)` and of `link(cause, effect, "led_to")`; of either
        direction `limit` are named at most, the nearest first. What cannot be seen from its space
        or below it is left out.
        """
        memory = self._get_one(id)
        most = check_limit(limit)

        def edges_of(ids: Sequence[str]) -> list[Edge]:
            return self.store.edges(ids, ("led_to",))

        causes = trace_led_to(id, edges_of, back=True, most=most)
        effects = trace_led_to(id, edges_of, back=False, most=most)
        spaces = visible_spaces(memory.space)
        chain = {memory.id: memory}
        for other in self.store.get([*causes, *effects]):
            if other.space in spaces or memory.space in visible_spaces(other.space):
                chain[other.id] = other
        return sorted(chain.values(), key=lambda other: (other.at, other.id))

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
        """Episodes, newest first: between two moments, both included, and with these words in what,
        who, where or why.

        A date without a time means all of that day, in UTC. Every word must occur, whatever
        its case; `recall` with `types=["episodic"]` finds by meaning.
        """
        words = check_question(query, "query").split()
        most = check_limit(limit)
        scan = MAX_EPISODE_SCAN if words else most
        found = self._browse_range(episodes.EPISODE_KINDS, since, until, space, session, scan)
        return [memory for memory in found if episodes.is_episode_about(memory, words)][:most]

    def journal(
        self, since: Moment = None, until: Moment = None, *, space: str | None = None
    ) -> list[JournalDay]:
        """A timeline by day, the latest first: episodes, decisions, tasks, feelings, conversations.

        `since` and `until` as in `episodes`. Days are those of UTC; days on which nothing happened
        are left out.
        """
        from reverie.memory.daily_journal import JOURNAL_KINDS, build_journal_days

        found = self._browse_range(JOURNAL_KINDS, since, until, space, "", MAX_EPISODE_SCAN)
        chats = self._list_chats(since, until, space)
        return build_journal_days(found, chats, self._list_tool_runs(since, until, space))

    def _browse_range(
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

    def _list_chats(self, since: Moment, until: Moment, space: str | None) -> list[JournalChat]:
        """Conversations in a space and below it, in a range, by day."""
        from reverie.extraction.past_conversations import MESSAGE_VERBS
        from reverie.memory.daily_journal import group_chats

        first = parse_moment(since, "since")
        last = parse_moment_as_of(until, "until")
        spans = self.store.session_spans(
            MESSAGE_VERBS, space=self._resolve_space(space), limit=MAX_JOURNAL_SCAN
        )
        chats: list[JournalChat] = []
        for span in spans:
            if not is_in_time_range(span.ended, first, None):
                continue
            if not is_in_time_range(span.began, None, last):
                continue
            events = self.store.events(
                after=span.first - 1,
                verbs=MESSAGE_VERBS,
                session=span.session,
                space=span.space,
                limit=MAX_JOURNAL_SCAN,
            )
            within = [event for event in events if is_in_time_range(event.at, first, last)]
            chats += group_chats(within)
        return chats

    def _list_tool_runs(self, since: Moment, until: Moment, space: str | None) -> list[Event]:
        """Recorded tool runs in a space and below it, in a range."""
        first = parse_moment(since, "since")
        last = parse_moment_as_of(until, "until")
        home = self._resolve_space(space)
        runs = self.store.events(verbs=("tool",), newest=True, limit=MAX_JOURNAL_SCAN)
        return [
            event
            for event in runs
            if is_in_time_range(event.at, first, last)
            and (event.space == home or event.space.startswith(f"{home}/"))
        ]


def is_in_time_range(at: float, first: float | None, last: float | None) -> bool:
    """True if a moment lies in a range, both ends included; None is an open end."""
    return (first is None or at >= first) and (last is None or at <= last)
