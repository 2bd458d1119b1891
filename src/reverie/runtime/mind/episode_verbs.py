"""Episodes: tell what happened, look it up by time and words, show it day by day."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from reverie.core.errors import BadInput
from reverie.core.kinds import EPISODE_KINDS, JOURNAL_KINDS
from reverie.core.model import (
    Change,
    Edge,
    Event,
    Filter,
    Memory,
    visible_spaces,
)
from reverie.memory import episodes
from reverie.memory.memory_changes import link_memories
from reverie.memory.memory_validation import (
    Moment,
    parse_moment,
    parse_moment_as_of,
)
from reverie.memory.named_period import (
    Season,
    find_season,
    season_meta_name,
    season_to_json,
    validate_season_label,
)
from reverie.retrieval.graph_walk import trace_led_to
from reverie.runtime.mind.mind_context import MindContext, VerbGroup, check_limit
from reverie.runtime.mind.remember_verbs import RememberVerbs
from reverie.text.argument_checks import check_question, check_text_list
from reverie.text.text_cleaning import clean_text

if TYPE_CHECKING:
    from reverie.memory.daily_journal import JournalChat, JournalDay

# Newest episodes of a range among which words are looked for; a space holds no more of them.
MAX_EPISODE_SCAN = 20_000
# Conversations, and recorded tool runs, that a journal looks through.
MAX_JOURNAL_SCAN = 10_000


class EpisodeVerbs(VerbGroup):
    """`mind.episodes`: what happened, what led to it, and what a time was called."""

    def __init__(self, context: MindContext, keeping: RememberVerbs) -> None:
        super().__init__(context)
        self._keeping = keeping

    def record(
        self,
        what: str,
        *,
        when: Moment = None,
        kind: str = "event",
        space: str | None = None,
        because: Iterable[str] = (),
        **more: Any,
    ) -> Memory:
        """Keep an episode: what happened, who, when (default: now), where, why, and how it came
        out.

        `who`, `where`, `why` and `outcome` are texts. `kind`: "event", or "task" for a piece of
        work. `because`: ids of what led to it (see `chain`). Further names are those of `remember`.
        All of it can be found by words, and the parts stand in `details`.
        """
        described = episodes.describe_episode(
            what, {name: more.pop(name, "") for name in ("who", "where", "why", "outcome")}
        )
        # What the parts say wins: the text was made of them.
        given = more.pop("details", None)
        details = {**(given if isinstance(given, dict) else {}), **described["details"]}
        cause_ids = check_text_list(because, "because")
        causes = self._get_memories(cause_ids) if cause_ids else []

        def link_causes(episode: Memory) -> list[Change]:
            return [link_memories(cause.id, episode.id, "led_to", 1.0) for cause in causes]

        return self._keeping.keep_new(
            described["text"],
            self._writable_space(space),
            link_causes,
            kind=kind,
            at=when,
            details=details,
            **more,
        )

    def chain(
        self,
        id: str,
        *,
        limit: int = 20,
    ) -> list[Memory]:
        """What led to a memory, the memory itself, and what came of it, in the order in which it
        happened.

        Links are those of `record(because=…)` and of `link(cause, effect, "led_to")`; of either
        direction `limit` are named at most, the nearest first. What cannot be seen from its space
        or below it is left out.
        """
        memory = self._get_memory(id)
        most = check_limit(limit)

        def edges_of(ids: Sequence[str]) -> list[Edge]:
            return self._store.edges(ids, ("led_to",))

        causes = trace_led_to(
            id,
            edges_of,
            back=True,
            most=most,
        )
        effects = trace_led_to(
            id,
            edges_of,
            back=False,
            most=most,
        )
        # Links may cross spaces, and a chain must not tell what its reader may not see.
        spaces = self._visible_spaces(memory.space)
        chain = {memory.id: memory}
        for other in self._store.get([*causes, *effects]):
            if other.space in spaces or memory.space in visible_spaces(other.space):
                chain[other.id] = other
        return sorted(
            chain.values(),
            key=lambda other: (other.at, other.id),
        )

    def browse(
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
        # With words, any number may have to be looked at for so many to match.
        scan = MAX_EPISODE_SCAN if words else most
        found = self._browse_range(EPISODE_KINDS, since, until, space, session, scan)
        return [memory for memory in found if episodes.is_episode_about(memory, words)][:most]

    def journal(
        self,
        since: Moment = None,
        until: Moment = None,
        *,
        space: str | None = None,
    ) -> list[JournalDay]:
        """A timeline by day, the latest first: episodes, decisions, tasks, feelings, conversations.

        `since` and `until` as in `browse`. Days are those of UTC; days on which nothing happened
        are left out.
        """
        from reverie.memory.daily_journal import build_journal_days

        found = self._browse_range(JOURNAL_KINDS, since, until, space, "", MAX_EPISODE_SCAN)
        chats = self._list_chats(since, until, space)
        return build_journal_days(found, chats, self._list_tool_runs(since, until, space))

    def season(
        self,
        label: str | None = None,
        *,
        until: Moment = None,
        space: str | None = None,
    ) -> Season:
        """Name the present time in a space and below it: "release-week", "end-of-sprint"; "" ends
        it.

        What is kept meanwhile carries the name in `details["season"]`, and recall favours, within
        bounds, what was kept in a time of the same name. `until`: when it ends by itself. Without a
        label, only returns the present season.
        """
        now = self._now()
        if label is None:
            return find_season(self._store, self._visible_from(space), now)
        home = self._writable_space(space)
        end = parse_moment(until, "until")
        if end is not None and end <= now:
            raise BadInput("until lies in the past")
        chosen = (
            Season(
                validate_season_label(label, self._policy),
                now,
                end,
            )
            if label
            else Season()
        )
        # The event is for the log; what asks for the season reads the one row of meta.
        with self._store.transaction():
            self._store.set_meta(season_meta_name(home), season_to_json(chosen))
            payload = {"label": chosen.label, "until": end}
            self._store.append([Event("season", home, now, payload=payload)])
        return find_season(self._store, self._visible_spaces(home), now)

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
        return self._store.browse(
            Filter(
                spaces=self._visible_from(space),
                kinds=tuple(kinds),
                session=clean_text(session),
                by_time=True,
                limit=limit,
                since=parse_moment(since, "since"),
                until=parse_moment_as_of(until, "until"),
            )
        )

    def _list_chats(
        self,
        since: Moment,
        until: Moment,
        space: str | None,
    ) -> list[JournalChat]:
        """Conversations in a space and below it, in a range, by day."""
        from reverie.extraction.past_conversations import MESSAGE_VERBS
        from reverie.memory.daily_journal import group_chats

        first = parse_moment(since, "since")
        last = parse_moment_as_of(until, "until")
        spans = self._store.session_spans(
            MESSAGE_VERBS,
            space=self._resolve_space(space),
            limit=MAX_JOURNAL_SCAN,
        )
        chats: list[JournalChat] = []
        for span in spans:
            # The span tells most of them apart without reading their events.
            if not is_in_time_range(span.ended, first, None):
                continue
            if not is_in_time_range(span.began, None, last):
                continue
            events = self._store.events(
                after=span.first - 1,
                verbs=MESSAGE_VERBS,
                session=span.session,
                space=span.space,
                limit=MAX_JOURNAL_SCAN,
            )
            within = [event for event in events if is_in_time_range(event.at, first, last)]
            chats += group_chats(within)
        return chats

    def _list_tool_runs(
        self,
        since: Moment,
        until: Moment,
        space: str | None,
    ) -> list[Event]:
        """Recorded tool runs in a space and below it, in a range."""
        first = parse_moment(since, "since")
        last = parse_moment_as_of(until, "until")
        home = self._resolve_space(space)
        runs = self._store.events(
            verbs=("tool",),
            newest=True,
            limit=MAX_JOURNAL_SCAN,
        )
        return [
            event
            for event in runs
            if is_in_time_range(event.at, first, last) and home in visible_spaces(event.space)
        ]


def is_in_time_range(
    at: float,
    first: float | None,
    last: float | None,
) -> bool:
    """True if a moment lies in a range, both ends included; None is an open end."""
    return (first is None or at >= first) and (last is None or at <= last)
