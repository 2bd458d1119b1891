"""Verbs that search and read: by a question, by id, by filter; and where a memory came from.

Always true: nothing here alters anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

from reverie.core.config import NUMBER_BOUNDS
from reverie.core.errors import BadInput
from reverie.core.kinds import EXPLICIT_KINDS, to_kind_filter
from reverie.core.model import (
    DESCRIBE_VERB,
    Filter,
    Hit,
    Memory,
    Record,
    index_memories,
)
from reverie.core.privacy_policy import Policy
from reverie.core.trigger_patterns import context_of_tool_call
from reverie.memory.memory_validation import Moment, parse_moment_as_of, validate_tags
from reverie.memory.named_period import find_season
from reverie.retrieval import find_tool_warnings, search_memories
from reverie.retrieval.search_query import SearchQuery
from reverie.retrieval.trigger_search import TriggeredHits
from reverie.runtime.mind.mind_context import VerbGroup, check_limit
from reverie.runtime.verb_options import MemoryFilter
from reverie.text.argument_checks import (
    check_memory_types,
    check_options,
    check_question,
    check_text_list,
    check_texts,
    check_whole_number,
)
from reverie.text.prompt_phrases import WHERE_WERE_WE, has_trait
from reverie.text.text_cleaning import clean_text
from reverie.text.tokenization import fingerprint_text

if TYPE_CHECKING:
    from reverie.consolidation.cluster_list import MemoryCluster
    from reverie.llm.language_model import LanguageModel
    from reverie.memory.explanation import Explanation

# Descriptions of tags in one space that are read.
MAX_TAUGHT = 1_000
# Newest turns in which a memory was named that an explanation looks at.
MAX_TOLD_TURNS = 1_000


class MemorySelection(NamedTuple):
    """Which memories a caller asked for, checked."""

    kinds: tuple[str, ...]
    without: tuple[str, ...]
    matches_none: bool
    tags: tuple[str, ...]


def read_filter(
    policy: Policy,
    kinds: Iterable[str] = (),
    types: Iterable[str] = (),
    tags: Iterable[str] = (),
) -> MemorySelection:
    """The selection that a `MemoryFilter` means; BadInput for kinds or types that there are not."""
    chosen = to_kind_filter(check_memory_types(types), check_text_list(kinds, "kinds"))
    return MemorySelection(
        chosen.kinds, chosen.without, chosen.matches_none, validate_tags(tags, policy)
    )


class SearchVerbs(VerbGroup):
    """The verbs of `Mind` that search and read."""

    def recall(
        self,
        query: str,
        *,
        space: str | None = None,
        limit: int = 10,
        mode: str = "auto",
        depth: int | None = None,
        as_of: Moment = None,
        **only: Unpack[MemoryFilter],
    ) -> list[Hit]:
        """The best memories for a question, best first; an empty list is an answer.

        `kinds`, `types`, `tags`: only memories of these kinds, of these memory types, with all of
        these tags. The types are working, episodic, semantic, procedural, prospective,
        emotional. All are asked together and ranked as one; a conversation's working memory is
        found only by who asks for it.

        `mode`: "auto" (the learned ranking), "convex" or "rrf" (plain fusions of words and
        meaning), "dense" (vectors alone, with a cosine of `Settings.floor` at least), "words",
        which needs no model, or "judged": "auto", with what the language model names first and the
        rest behind. Where no vector can be had, words answer. An empty query gives the newest.

        `as_of`: answer as at that moment, with the memories as they stood then, also those that no
        longer count. A date without a time ("2025-06-01") means the end of that day in UTC; a
        datetime is taken exactly.

        Past conversations answer too: a passage of one is a hit whose memory has the kind and the
        provenance "said", the role as its speaker and the day on which it was said. Nobody vouches
        for it; `mind.sessions.read(hit.memory.session)` has what stands around it. `kinds=["said"]`
        asks for passages alone; any other filter leaves them out.

        "Where were we?", in any of ten languages, is answered by the summary of the last session
        (kind "session"), before everything else.

        `depth`: how many links, tags or clusters away from the best hits to look as well;
        `Settings.depth` by default, 0 for not at all. What contradicts an answer comes with it,
        flagged in `why`.
        """
        check_options("recall", only, MemoryFilter)
        check_question(query, "query")
        spaces = self._visible_from(space)
        chosen = read_filter(self._policy.masking, **only)
        is_off = self._settings.is_off(spaces[0])
        if check_whole_number(limit) <= 0 or is_off or chosen.matches_none:
            return []
        now, then = self._now(), parse_moment_as_of(as_of)
        search = SearchQuery(
            text=query,
            context=query,
            spaces=spaces,
            now=now,
            limit=limit,
            mode=mode,
            kinds=chosen.kinds,
            without=chosen.without,
            tags=chosen.tags,
            **self._graph_walk(depth),
            floor=self._settings.floor if mode == "dense" else 0.0,
            **({} if mode == "words" else self._embed_query(query, spaces)),
        )
        if then is not None:
            return self._search_as_of(search, then)
        llm = self._context.llm
        if mode == "judged" and llm is not None and llm.is_quick:
            return self._search_judged(self._add_season(search), llm)
        with self._store.reading():
            search = self._add_season(search)
            memories = search_memories(self._store, search)
        found = self._add_talk(search, memories)
        is_any_kind = search.without == EXPLICIT_KINDS and not search.tags
        return (
            [*self._find_last_session(query, spaces[0]), *found][:limit] if is_any_kind else found
        )

    def _add_season(self, query: SearchQuery) -> SearchQuery:
        """The query with the season of its moment, which says nothing about the past."""
        season = find_season(self._store, query.spaces, query.now)
        return query._replace(season=season.label)

    def _find_last_session(self, question: str, space: str) -> list[Hit]:
        """The last session's summary, where a question asks where we were."""
        # Looked at first: what answers it takes longer to import than most recalls.
        if not has_trait(question, WHERE_WERE_WE):
            return []
        from reverie.extraction.session_episodes import find_where_we_were

        return find_where_we_were(self._store, question, space, "", self._now(), self._policy)

    def _add_talk(self, query: SearchQuery, memories: list[Hit]) -> list[Hit]:
        from reverie.transcripts.joint_search import answer_with_talk

        return answer_with_talk(self._store, query, memories)

    def _search_judged(self, query: SearchQuery, llm: LanguageModel) -> list[Hit]:
        from reverie.injection.candidate_judge import rank_named_first
        from reverie.llm.judge_task import MAX_CANDIDATES

        # The judge may name what ranks low, so it sees more than are asked for.
        wide = query._replace(limit=max(query.limit, MAX_CANDIDATES))
        candidates = search_memories(self._store, wide)
        named = rank_named_first(candidates, query, llm, self._settings)[: query.limit]
        return self._add_talk(query, named)

    def _search_as_of(self, query: SearchQuery, then: float) -> list[Hit]:
        from reverie.retrieval.as_of_search import search_as_of

        embedder = None if query.vector is None else self._context.answering_embedder
        found = search_as_of(self._store, query, then, embedder.embed if embedder else None)
        return self._add_talk(query._replace(before=then), found)

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
        spaces = self._visible_from(space)
        if check_whole_number(limit) <= 0 or self._settings.is_off(spaces[0]):
            return TriggeredHits()
        call = context_of_tool_call(tool, arguments)
        found = find_tool_warnings(self._store, call, spaces, self._now())
        # In place: the list also carries `untried`.
        del found[limit:]
        return found

    def similar(
        self,
        id: str,
        *,
        space: str | None = None,
        limit: int = 10,
    ) -> list[Hit]:
        """Memories similar to this one: by meaning, and by the tags, clusters and links they share.

        `space`: from where one looks; the memory's own by default. `why` says what they have in
        common.
        """
        from reverie.retrieval.similar_memories import find_similar_memories

        memory, query = self._query_around(id, space, limit)
        return find_similar_memories(
            self._store, memory, query._replace(**self._memory_vector(memory))
        )

    def neighbours(
        self,
        id: str,
        *,
        space: str | None = None,
        depth: int | None = None,
        limit: int = 20,
    ) -> list[Hit]:
        """Memories connected to this one by links, tags and clusters, nearest first; `why` says
        how.

        `depth`: hops, `Settings.depth` by default. `space` as in `similar`.
        """
        from reverie.retrieval.graph_cascade import find_graph_neighbours

        memory, query = self._query_around(id, space, limit)
        return find_graph_neighbours(self._store, memory, query._replace(**self._graph_walk(depth)))

    def _query_around(
        self,
        id: str,
        space: str | None,
        limit: int,
    ) -> tuple[Memory, SearchQuery]:
        """A memory, and a query without a text for what is near it."""
        memory = self._get_memory(id)
        spaces = self._visible_spaces(memory.space if space is None else self._resolve_space(space))
        query = SearchQuery(
            text="",
            spaces=spaces,
            now=self._now(),
            limit=check_limit(limit),
        )
        return memory, query

    def _memory_vector(self, memory: Memory) -> dict[str, Any]:
        """The stored vector of a memory's text, or a new one while it waits for that."""
        from reverie.pipeline.pending_vectors import embedding_model_of

        model = embedding_model_of(self._context.answering_embedder)
        if model is None:
            return {}
        # By the text, not the id: equal texts share their vector.
        hash = fingerprint_text(memory.text)
        stored = self._store.known_vectors(model, [hash]).get(hash)
        if stored is None:
            return self._embed_query(memory.text)
        return {"vector": stored, "model": model}

    def _graph_walk(self, depth: int | None) -> dict[str, Any]:
        """How many hops to follow the graph, and the share of the score that each hop keeps."""
        hops = self._settings.depth if depth is None else check_whole_number(depth, "depth")
        decay = self._settings.decay
        least, most = NUMBER_BOUNDS["depth"]
        if not least <= hops <= most:
            raise BadInput(f"depth={hops} must be from 0 (what fits the question alone) to {most}")
        if not 0.0 < decay <= 1.0:
            raise BadInput(f"The setting decay={decay} must be above 0 and at most 1")
        return {"depth": hops, "decay": decay}

    def get(self, ids: Sequence[str] | str) -> list[Memory]:
        """Memories by id, in the order asked, whatever their state; unknown ids are left out.

        The id of a passage of a past conversation ("said_…") gives that passage.
        """
        from reverie.transcripts.passage_hits import find_memories_or_passages

        return find_memories_or_passages(self._store, check_texts(ids, "ids"))

    def browse(
        self,
        *,
        space: str | None = None,
        session: str = "",
        active: bool | None = True,
        limit: int = 100,
        after: str = "",
        **only: Unpack[MemoryFilter],
    ) -> list[Memory]:
        """Memories in a space and above it, newest first; `after` is the last id of the page
        before.

        `kinds`, `types` and `tags` as of `recall`: working memory is listed only for who asks for
        it. `active`: only those that count, only those that do not (False), or all (None).
        """
        check_options("browse", only, MemoryFilter)
        chosen = read_filter(self._policy.masking, **only)
        where = Filter(
            spaces=self._visible_from(space),
            kinds=chosen.kinds,
            without=chosen.without,
            tags=chosen.tags,
            session=clean_text(session or ""),
            active=active,
            limit=0 if chosen.matches_none else check_limit(limit),
            after=clean_text(after or ""),
        )
        return self._store.browse(where)

    def tags(self, space: str | None = None) -> dict[str, int]:
        """Every tag that can be seen from a space, and how many memories carry it."""
        return self._store.tag_counts(self._visible_from(space))

    def clusters(self, space: str | None = None, *, members: int = 3) -> list[MemoryCluster]:
        """The groups that sleep found among the memories seen from a space, the largest first:
        name, number of members, and the `members` that lie nearest to its centre.
        """
        from reverie.consolidation.cluster_list import list_clusters

        check_whole_number(members, "members")
        return list_clusters(self._store, self._visible_from(space), members)

    def meanings(self, space: str | None = None) -> dict[str, str]:
        """The descriptions of tags as seen from a space: the nearest space counts, and the last
        description there.
        """
        meanings: dict[str, str] = {}
        # From the outermost space inwards, so that the nearest one overwrites.
        for place in reversed(self._visible_from(space)):
            newest_first = self._store.events(
                space=place,
                verbs=(DESCRIBE_VERB,),
                newest=True,
                limit=MAX_TAUGHT,
            )
            described = {
                str(event.payload.get("tag", "")): str(event.payload.get("text", ""))
                for event in reversed(newest_first)
            }
            meanings |= {tag: text for tag, text in described.items() if text}
        return dict(sorted(meanings.items()))

    def history(self, id: str) -> list[Record]:
        """Every change of a memory, oldest first, with the values before it."""
        return self._store.history(self._get_memory(id).id)

    def explain(self, id: str, *, whole: bool = False) -> Explanation:
        """Where a memory came from and why it is believed, in words: some twenty-five lines at
        most; `brought_up` says when an agent was given it, in which session and why, newest first.

        With `whole`, every wording, link and event by itself.
        """
        from reverie.memory.explanation import explain_memory, find_related_ids

        memory = self._get_memory(id)
        edges = self._store.edges([memory.id])
        history = self._store.history(memory.id)
        related = self._store.get(find_related_ids(memory, history, edges))
        others = index_memories(related)
        turns = self._store.search_events(
            ("turn",),
            containing=(memory.id,),
            limit=MAX_TOLD_TURNS,
        )
        return explain_memory(
            memory,
            history,
            edges,
            self._now(),
            others,
            turns,
            whole=whole,
        )
