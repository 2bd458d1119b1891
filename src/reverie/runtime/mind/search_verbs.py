"""Verbs that search and read: by a question, by id, by filter; and where a memory came from.

Always true: nothing here alters anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reverie.core.config import NUMBER_BOUNDS
from reverie.core.errors import BadInput, NotFound
from reverie.core.kinds import to_kind_filter
from reverie.core.model import DESCRIBE_VERB, Event, Filter, Hit, Memory, Record, visible_spaces
from reverie.core.trigger_patterns import context_of_conversation, context_of_tool_call
from reverie.memory.memory_validation import Moment, parse_moment_as_of, validate_tags
from reverie.memory.named_period import find_season
from reverie.retrieval import find_tool_warnings, search_memories
from reverie.retrieval.search_query import SearchQuery
from reverie.retrieval.trigger_search import TriggeredHits
from reverie.runtime.mind.mind_base import MindBase, check_limit
from reverie.text.argument_checks import (
    check_memory_types,
    check_question,
    check_text_list,
    check_whole_number,
)
from reverie.text.text_cleaning import clean_text
from reverie.text.tokenization import fingerprint_text

if TYPE_CHECKING:
    from reverie.extraction.knowledge_gaps import KnowledgeGap
    from reverie.extraction.past_conversations import PastConversation, PastMessage
    from reverie.llm.language_model import LanguageModel
    from reverie.memory.explanation import Explanation
    from reverie.retrieval.near_duplicates import NearDuplicate

MAX_TURNS = 100_000  # events of one conversation that are read
# Memories of one conversation that are listed, and descriptions of tags in one space.
MAX_TAUGHT = 1_000


class SearchVerbs(MindBase):
    """The verbs that search and read."""

    def recall(
        self,
        query: str,
        *,
        space: str | None = None,
        limit: int = 10,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        tags: Iterable[str] = (),
        mode: str = "auto",
        depth: int | None = None,
        as_of: Moment = None,
    ) -> list[Hit]:
        """The best memories for a question, best first; an empty list is an answer.

        `types`: only of these memory types: working, episodic, semantic, procedural, prospective,
        emotional. All are asked together and ranked as one; a conversation's working memory is
        found only by who asks for it.

        `mode`: "auto" (the learned ranking), "convex" or "rrf" (plain fusions of words and
        meaning), "dense" (vectors alone, with a cosine of `Settings.floor` at least), "words",
        which needs no model, or "judged": "auto", with what the language model names first and the
        rest behind. Where no vector can be had, words answer. An empty query gives the newest.

        `as_of`: answer as at that moment, with the memories as they stood then, also those that no
        longer count. A date without a time ("2025-06-01") means the end of that day in UTC; a
        datetime is taken exactly.

        `depth`: how many links, tags or clusters away from the best hits to look as well;
        `Settings.depth` by default, 0 for not at all. What contradicts an answer comes with it,
        flagged in `why`.
        """
        check_question(query, "query")
        spaces = visible_spaces(self._resolve_space(space))
        chosen = to_kind_filter(check_memory_types(types), check_text_list(kinds, "kinds"))
        if check_whole_number(limit) <= 0 or self.settings.is_off(spaces[0]) or chosen.matches_none:
            return []
        now = self._now()
        then = parse_moment_as_of(as_of)
        search = SearchQuery(
            text=query,
            context=query,
            spaces=spaces,
            now=now,
            limit=limit,
            mode=mode,
            kinds=chosen.kinds,
            without=chosen.without,
            tags=validate_tags(tags, self._policy.masking),
            **self._graph_walk(depth),
            floor=self.settings.floor if mode == "dense" else 0.0,
            season="" if then is not None else find_season(self.store, spaces, now).label,
            **({} if mode == "words" else self._embed_query(query)),
        )
        if then is not None:
            return self._search_as_of(search, then)
        if mode == "judged" and self.llm is not None:
            return self._search_judged(search, self.llm)
        return search_memories(self.store, search)

    def _search_judged(self, query: SearchQuery, llm: LanguageModel) -> list[Hit]:
        from reverie.injection.candidate_judge import rank_named_first
        from reverie.llm.judge_task import MAX_CANDIDATES

        # The judge may name what ranks low, so it sees more than are asked for.
        wide = query._replace(limit=max(query.limit, MAX_CANDIDATES))
        candidates = search_memories(self.store, wide)
        return rank_named_first(candidates, query, llm, self.settings)[: query.limit]

    def _search_as_of(self, query: SearchQuery, then: float) -> list[Hit]:
        from reverie.retrieval.as_of_search import search_as_of

        embed = None if self.embedder is None or query.vector is None else self.embedder.embed
        return search_as_of(self.store, query, then, embed)

    def warnings(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str = "",
        *,
        space: str | None = None,
        limit: int = 5,
    ) -> TriggeredHits:
        """What to know before a tool runs: memories with a trigger that matches the tool or its
        arguments.

        What must never be done comes first, then corrections, then the rest. Needs no model and no
        vectors. All patterns together have a tenth of a second, regular expressions after all
        others; the list's `untried` is how many memories there was no time for, usually 0.
        """
        if not isinstance(tool, str) or not isinstance(arguments, (str, Mapping)):
            raise BadInput(
                "A tool is named by a text; "
                "its arguments are a text or a mapping of names to values"
            )
        spaces = visible_spaces(self._resolve_space(space))
        if check_whole_number(limit) <= 0 or self.settings.is_off(spaces[0]):
            return TriggeredHits()
        call = context_of_tool_call(tool, arguments)
        found = find_tool_warnings(self.store, call, spaces, self._now())
        # In place: the list also carries `untried`.
        del found[limit:]
        return found

    def procedures(self, context: str, *, space: str | None = None, limit: int = 5) -> list[Memory]:
        """How to do something in this context: procedures with a trigger that matches it.

        Best first: by how well they lately worked, then by how often they were tried. `recall` with
        `types=["procedural"]` finds by meaning, without any trigger.
        """
        from reverie.memory.procedure import KIND, rank_procedures

        spaces = visible_spaces(self._resolve_space(space))
        if check_whole_number(limit) <= 0 or self.settings.is_off(spaces[0]):
            return []
        asked = context_of_conversation(check_question(context, "context"))
        hits = find_tool_warnings(self.store, asked, spaces, self._now())
        return rank_procedures(hit.memory for hit in hits if hit.memory.kind == KIND)[:limit]

    def similar(self, id: str, *, space: str | None = None, limit: int = 10) -> list[Hit]:
        """Memories similar to this one: by meaning, and by the tags, clusters and links they share.

        `space`: from where one looks; the memory's own by default. `why` says what they have in
        common.
        """
        from reverie.retrieval.similar_memories import find_similar_memories

        memory, query = self._query_around(id, space, limit)
        return find_similar_memories(
            self.store, memory, query._replace(**self._memory_vector(memory))
        )

    def twin(self, id: str) -> NearDuplicate | None:
        """The near-duplicate of a memory, with their similarity; None if it has none.

        For who has just kept something: it needs no model and finds what was kept a moment ago.
        Both stay; settling decides whether to merge them.
        """
        from reverie.retrieval.near_duplicates import find_near_duplicate

        return find_near_duplicate(self.store, self._get_one(id), self._now())

    def neighbours(
        self, id: str, *, space: str | None = None, depth: int | None = None, limit: int = 20
    ) -> list[Hit]:
        """Memories connected to this one by links, tags and clusters, nearest first; `why` says
        how.

        `depth`: hops, `Settings.depth` by default. `space` as in `similar`.
        """
        from reverie.retrieval.graph_cascade import find_graph_neighbours

        memory, query = self._query_around(id, space, limit)
        return find_graph_neighbours(self.store, memory, query._replace(**self._graph_walk(depth)))

    def gaps(self, space: str | None = None) -> list[KnowledgeGap]:
        """Questions asked here that nothing in memory answered, newest first: what is worth writing
        down.

        The newest 500 of the last 90 days are looked at.
        """
        from reverie.extraction.knowledge_gaps import list_knowledge_gaps

        return list_knowledge_gaps(self.store, self._resolve_space(space), self._now())

    def _query_around(self, id: str, space: str | None, limit: int) -> tuple[Memory, SearchQuery]:
        """A memory, and a query without a text for what is near it."""
        memory = self._get_one(id)
        spaces = visible_spaces(memory.space if space is None else self._resolve_space(space))
        query = SearchQuery(text="", spaces=spaces, now=self._now(), limit=check_limit(limit))
        return memory, query

    def _memory_vector(self, memory: Memory) -> dict[str, Any]:
        """The stored vector of a memory's text, or a new one while it waits for that."""
        if self.embedder is None:
            return {}
        hash = fingerprint_text(memory.text)
        stored = self.store.known_vectors(self.embedder.model, [hash]).get(hash)
        if stored is None:
            return self._embed_query(memory.text)
        return {"vector": stored, "model": self.embedder.model}

    def _graph_walk(self, depth: int | None) -> dict[str, Any]:
        """How many hops to follow the graph, and the share of the score that each hop keeps."""
        hops = self.settings.depth if depth is None else check_whole_number(depth, "depth")
        decay = self.settings.decay
        least, most = NUMBER_BOUNDS["depth"]
        if not least <= hops <= most:
            raise BadInput(f"depth={hops} must be from 0 (what fits the question alone) to {most}")
        if not 0.0 < decay <= 1.0:
            raise BadInput(f"The setting decay={decay} must be above 0 and at most 1")
        return {"depth": hops, "decay": decay}

    def get(self, ids: Sequence[str] | str) -> list[Memory]:
        """Memories by id, in the order asked, whatever their state; unknown ids are left out."""
        return self.store.get(check_text_list([ids] if isinstance(ids, str) else ids, "ids"))

    def browse(
        self,
        *,
        space: str | None = None,
        kinds: Iterable[str] = (),
        types: Iterable[str] = (),
        tags: Iterable[str] = (),
        session: str = "",
        active: bool | None = True,
        limit: int = 100,
        after: str = "",
    ) -> list[Memory]:
        """Memories in a space and above it, newest first; `after` is the last id of the page
        before.

        `types` as of `recall`: working memory is listed only for who asks for it.
        """
        chosen = to_kind_filter(check_memory_types(types), check_text_list(kinds, "kinds"))
        where = Filter(
            spaces=visible_spaces(self._resolve_space(space)),
            kinds=chosen.kinds,
            without=chosen.without,
            tags=validate_tags(tags, self._policy.masking),
            session=clean_text(session or ""),
            active=active,
            limit=0 if chosen.matches_none else check_limit(limit),
            after=clean_text(after or ""),
        )
        return self.store.browse(where)

    def tags(self, space: str | None = None) -> dict[str, int]:
        """Every tag that can be seen from a space, and how many memories carry it."""
        return self.store.tag_counts(visible_spaces(self._resolve_space(space)))

    def meanings(self, space: str | None = None) -> dict[str, str]:
        """The descriptions of tags as seen from a space: the nearest space counts, and the last
        description there.
        """
        meanings: dict[str, str] = {}
        # From the outermost space inwards, so that the nearest one overwrites.
        for place in reversed(visible_spaces(self._resolve_space(space))):
            newest_first = self.store.events(
                space=place, verbs=(DESCRIBE_VERB,), newest=True, limit=MAX_TAUGHT
            )
            described = {
                str(event.payload.get("tag", "")): str(event.payload.get("text", ""))
                for event in reversed(newest_first)
            }
            meanings |= {tag: text for tag, text in described.items() if text}
        return dict(sorted(meanings.items()))

    def history(self, id: str) -> list[Record]:
        """Every change of a memory, oldest first, with the values before it."""
        return self.store.history(self._get_one(id).id)

    def sessions(
        self, *, space: str | None = None, words: Iterable[str] = (), limit: int = 20
    ) -> list[PastConversation]:
        """Past conversations in a space and below it, the latest first; with `words`, those in
        which each occurs.
        """
        from reverie.extraction.past_conversations import MESSAGE_VERBS, build_past_conversation

        spans = self.store.session_spans(
            MESSAGE_VERBS,
            space=self._resolve_space(space),
            containing=check_text_list(words, "words"),
            limit=check_limit(limit),
        )
        conversations = []
        for span in spans:
            events = self.store.events(
                after=span.first - 1,
                verbs=MESSAGE_VERBS,
                session=span.session,
                space=span.space,
                limit=MAX_TURNS,
            )
            taught = self._memories_of_session(span.session)
            conversations.append(build_past_conversation(events, taught)._replace(lines=()))
        return conversations

    def session(
        self, id: str, *, space: str | None = None, words: Iterable[str] = ()
    ) -> PastConversation:
        """One past conversation with its messages, and the memories that came of it.

        With `words`, only the messages in which each of them occurs. Raises NotFound where there is
        none of that name in the space or below it.
        """
        from reverie.extraction.past_conversations import (
            build_past_conversation,
            filter_messages,
        )

        wanted = clean_text(check_question(id, "session"))
        home = self._resolve_space(space)
        events = self._session_events(wanted, home) if wanted else []
        if not events:
            raise NotFound(
                f"There is no session {wanted!r} in {home}. `reverie session list` lists them"
            )
        conversation = build_past_conversation(events, self._memories_of_session(wanted))
        lines = filter_messages(conversation.lines, check_text_list(words, "words"))
        return conversation._replace(lines=tuple(lines))

    def source(self, id: str, *, around: int = 1) -> list[PastMessage]:
        """The messages that a memory rests on, with so many before and after; none where the log
        does not have them.
        """
        from reverie.extraction import past_conversations

        memory = self._get_one(id)
        if not memory.session or memory.messages is None:
            return []
        messages = past_conversations.collect_messages(
            self._session_events(memory.session, memory.space)
        )
        return past_conversations.messages_around(messages, *memory.messages, check_limit(around))

    def _session_events(self, session: str, space: str) -> list[Event]:
        """The events that hold a conversation's messages, in a space and below it."""
        from reverie.extraction.past_conversations import MESSAGE_VERBS

        events = self.store.events(session=session, verbs=MESSAGE_VERBS, limit=MAX_TURNS)
        return [
            event for event in events if event.space == space or event.space.startswith(f"{space}/")
        ]

    def _memories_of_session(self, session: str) -> tuple[Memory, ...]:
        """The memories that came of a conversation, oldest first."""
        newest_first = self.store.browse(Filter(session=session, active=None, limit=MAX_TAUGHT))
        return tuple(reversed(newest_first))

    def explain(self, id: str, *, whole: bool = False) -> Explanation:
        """Where a memory came from and why it is believed, in words: some twenty-five lines at
        most.

        With `whole`, every wording, link and event by itself.
        """
        from reverie.memory.explanation import explain_memory, find_related_ids

        memory = self._get_one(id)
        edges = self.store.edges([memory.id])
        history = self.store.history(memory.id)
        related = self.store.get(find_related_ids(memory, history, edges))
        others = {other.id: other for other in related}
        return explain_memory(memory, history, edges, self._now(), others, whole=whole)
