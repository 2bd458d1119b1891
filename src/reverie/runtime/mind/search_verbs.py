"""Finding: by a question, by id, by filter; and where a memory came from. Nothing here alters
anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reverie.core.config import NUMBER_BOUNDS
from reverie.core.errors import BadInput, NotFound
from reverie.core.kinds import to_kind_filter
from reverie.core.model import DESCRIBE_VERB, Filter, Hit, Memory, Record, visible_spaces
from reverie.core.trigger_patterns import context_of_conversation, context_of_tool_call
from reverie.memory.memory_validation import Moment, parse_moment_as_of, validate_tags
from reverie.memory.named_period import find_season
from reverie.retrieval import find_tool_warnings, search_memories
from reverie.retrieval.search_query import SearchQuery
from reverie.retrieval.trigger_search import TriggeredHits
from reverie.runtime.mind.mind_base import MindBase
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
# memories of one conversation that are listed, and descriptions of tags in one space
MAX_TAUGHT = 1_000


class SearchVerbs(MindBase):
    """The verbs that read."""

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
        now, then = self._now(), parse_moment_as_of(as_of)
        asked = SearchQuery(
            text=query,
            context=query,
            spaces=spaces,
            now=now,
            limit=limit,
            mode=mode,
            kinds=chosen.kinds,
            without=chosen.without,
            tags=validate_tags(tags, self._policy.masking),
            **self._walk(depth),
            floor=self.settings.floor if mode == "dense" else 0.0,
            season="" if then is not None else find_season(self.store, spaces, now).label,
            **({} if mode == "words" else self._embed_query(query)),
        )
        if then is not None:
            return self._as_of(asked, then)
        return (
            search_memories(self.store, asked)
            if mode != "judged" or self.llm is None
            else self._judged(asked, self.llm)
        )

    def _judged(self, asked: SearchQuery, llm: LanguageModel) -> list[Hit]:
        from reverie.injection.candidate_judge import rank_named_first
        from reverie.llm.judge_task import MAX_CANDIDATES

        pool = search_memories(self.store, asked._replace(limit=max(asked.limit, MAX_CANDIDATES)))
        return rank_named_first(pool, asked, llm, self.settings)[: asked.limit]

    def _as_of(self, asked: SearchQuery, then: float) -> list[Hit]:
        from reverie.retrieval.as_of_search import search_as_of

        embed = None if self.embedder is None or asked.vector is None else self.embedder.embed
        return search_as_of(self.store, asked, then, embed)

    def warnings(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str = "",
        *,
        space: str | None = None,
        limit: int = 5,
    ) -> TriggeredHits:
        """What to know before a tool runs: memories of which a trigger meets the tool or what it is
        given.

        What must never be done comes first, then corrections, then the rest. Needs no model and no
        vectors. All patterns together have a tenth of a second, regular expressions after all
        others; the list's `untried` is how many memories there was no time for, usually 0.
        """
        if not isinstance(tool, str) or not isinstance(arguments, (str, Mapping)):
            raise BadInput(
                "A tool is named by a text; its arguments are a text or a mapping of names to values"
            )
        spaces = visible_spaces(self._resolve_space(space))
        if check_whole_number(limit) <= 0 or self.settings.is_off(spaces[0]):
            return TriggeredHits()
        found = find_tool_warnings(
            self.store, context_of_tool_call(tool, arguments), spaces, self._now()
        )
        del found[limit:]
        return found

    def procedures(self, context: str, *, space: str | None = None, limit: int = 5) -> list[Memory]:
        """What is known of how to do something in this context: procedures of which a trigger meets
        it.

        Best first: by how well they lately worked, then by how often they were tried. `recall` with
        `types=["procedural"]` finds by meaning, without any trigger.
        """
        from reverie.memory.procedure import KIND, rank_procedures

        spaces = visible_spaces(self._resolve_space(space))
        if check_whole_number(limit) <= 0 or self.settings.is_off(spaces[0]):
            return []
        found = find_tool_warnings(
            self.store,
            context_of_conversation(check_question(context, "context")),
            spaces,
            self._now(),
        )
        return rank_procedures(hit.memory for hit in found if hit.memory.kind == KIND)[:limit]

    def similar(self, id: str, *, space: str | None = None, limit: int = 10) -> list[Hit]:
        """More like this one: by meaning, and by the tags, clusters and links that it shares. Not
        the memory itself.

        `space`: from where one looks; the memory's own by default. `why` says what they have in
        common.
        """
        from reverie.retrieval.similar_memories import find_similar_memories

        memory, query = self._beside(id, space, limit)
        return find_similar_memories(self.store, memory, query._replace(**self._vector_of(memory)))

    def twin(self, id: str) -> NearDuplicate | None:
        """What says nearly the same in nearly the same words, and how alike they are; None where
        nothing does.

        For who has just kept something: it needs no model and finds what was kept a moment ago.
        Both stay; settling decides whether they are one.
        """
        from reverie.retrieval.near_duplicates import find_near_duplicate

        return find_near_duplicate(self.store, self._get_one(id), self._now())

    def neighbours(
        self, id: str, *, space: str | None = None, depth: int | None = None, limit: int = 20
    ) -> list[Hit]:
        """What a memory is tied to by links, tags and clusters, nearest first, whatever is asked;
        `why` says how.

        `depth`: hops, `Settings.depth` by default. `space` as in `similar`.
        """
        from reverie.retrieval.graph_cascade import find_graph_neighbours

        memory, query = self._beside(id, space, limit)
        return find_graph_neighbours(self.store, memory, query._replace(**self._walk(depth)))

    def gaps(self, space: str | None = None) -> list[KnowledgeGap]:
        """Questions of conversations here that nothing in memory answered, newest first: what is
        worth writing down.

        The newest 500 of the last 90 days are looked at.
        """
        from reverie.extraction.knowledge_gaps import list_knowledge_gaps

        return list_knowledge_gaps(self.store, self._resolve_space(space), self._now())

    def _beside(self, id: str, space: str | None, limit: int) -> tuple[Memory, SearchQuery]:
        """A memory, and a query without a question for what lies beside it."""
        memory = self._get_one(id)
        spaces = visible_spaces(memory.space if space is None else self._resolve_space(space))
        return memory, SearchQuery(
            text="", spaces=spaces, now=self._now(), limit=max(0, check_whole_number(limit))
        )

    def _vector_of(self, memory: Memory) -> dict[str, Any]:
        """The vector of a memory's text: the one that is kept, or, while it waits for that, a new
        one.
        """
        if self.embedder is None:
            return {}
        hash = fingerprint_text(memory.text)
        kept = self.store.known_vectors(self.embedder.model, [hash]).get(hash)
        return (
            self._embed_query(memory.text)
            if kept is None
            else {"vector": kept, "model": self.embedder.model}
        )

    def _walk(self, depth: int | None) -> dict[str, Any]:
        """How far to follow the graph, and what each step keeps."""
        hops, decay = (
            self.settings.depth if depth is None else check_whole_number(depth, "depth"),
            self.settings.decay,
        )
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
        """What is in a space and above it, newest first; `after` the last id of the page before.

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
            limit=0 if chosen.matches_none else max(0, check_whole_number(limit)),
            after=clean_text(after or ""),
        )
        return self.store.browse(where)

    def tags(self, space: str | None = None) -> dict[str, int]:
        """Every tag that can be seen from a space, and how many memories carry it."""
        return self.store.tag_counts(visible_spaces(self._resolve_space(space)))

    def meanings(self, space: str | None = None) -> dict[str, str]:
        """What somebody said that tags mean, as seen from a space: the nearest space's word counts,
        and its last.
        """
        told: dict[str, str] = {}
        for place in reversed(visible_spaces(self._resolve_space(space))):
            said = reversed(
                self.store.events(
                    space=place, verbs=(DESCRIBE_VERB,), newest=True, limit=MAX_TAUGHT
                )
            )
            last = {
                str(event.payload.get("tag", "")): str(event.payload.get("text", ""))
                for event in said
            }
            told |= {tag: text for tag, text in last.items() if text}
        return dict(sorted(told.items()))

    def history(self, id: str) -> list[Record]:
        """What was done to a memory, oldest first, with what was there before."""
        return self.store.history(self._get_one(id).id)

    def sessions(
        self, *, space: str | None = None, words: Iterable[str] = (), limit: int = 20
    ) -> list[PastConversation]:
        """Past conversations in a space and below it, the latest first; with `words`, those in
        which each occurs.
        """
        from reverie.extraction.past_conversations import MESSAGE_VERBS, build_past_conversation

        found = self.store.session_spans(
            MESSAGE_VERBS,
            space=self._resolve_space(space),
            containing=check_text_list(words, "words"),
            limit=max(0, check_whole_number(limit)),
        )
        return [
            build_past_conversation(
                self.store.events(
                    after=talk.first - 1,
                    verbs=MESSAGE_VERBS,
                    session=talk.session,
                    space=talk.space,
                    limit=MAX_TURNS,
                ),
                self._taught(talk.session),
            )._replace(lines=())
            for talk in found
        ]

    def session(
        self, id: str, *, space: str | None = None, words: Iterable[str] = ()
    ) -> PastConversation:
        """One past conversation with its messages, and the memories that came of it.

        With `words`, only the messages in which each of them occurs. Raises NotFound where there is
        none of that name in the space or below it.
        """
        from reverie.extraction.past_conversations import (
            MESSAGE_VERBS,
            build_past_conversation,
            filter_messages,
        )

        wanted, home = clean_text(check_question(id, "session")), self._resolve_space(space)
        events = [
            event
            for event in self.store.events(session=wanted, verbs=MESSAGE_VERBS, limit=MAX_TURNS)
            if wanted and (event.space == home or event.space.startswith(f"{home}/"))
        ]
        if not events:
            raise NotFound(
                f"There is no session {wanted!r} in {home}. `reverie sessions` lists them"
            )
        whole_talk = build_past_conversation(events, self._taught(wanted))
        return whole_talk._replace(
            lines=tuple(filter_messages(whole_talk.lines, check_text_list(words, "words")))
        )

    def source(self, id: str, *, around: int = 1) -> list[PastMessage]:
        """The messages that a memory rests on, with so many before and after; none where the log
        does not have them.
        """
        from reverie.extraction import past_conversations

        one = self._get_one(id)
        if not one.session or one.messages is None:
            return []
        events = [
            event
            for event in self.store.events(
                session=one.session, verbs=past_conversations.MESSAGE_VERBS, limit=MAX_TURNS
            )
            if event.space == one.space or event.space.startswith(f"{one.space}/")
        ]
        return past_conversations.messages_around(
            past_conversations.collect_messages(events),
            *one.messages,
            max(0, check_whole_number(around)),
        )

    def _taught(self, session: str) -> tuple[Memory, ...]:
        """The memories that came of a conversation, in order."""
        return tuple(
            reversed(self.store.browse(Filter(session=session, active=None, limit=MAX_TAUGHT)))
        )

    def explain(self, id: str, *, whole: bool = False) -> Explanation:
        """Where a memory came from and why it is believed, as a story in words: some twenty-five
        lines at most.

        With `whole`, every wording, tie and event by itself.
        """
        from reverie.memory.explanation import explain_memory, find_related_ids

        one = self._get_one(id)
        edges, history = self.store.edges([one.id]), self.store.history(one.id)
        others = {
            other.id: other for other in self.store.get(find_related_ids(one, history, edges))
        }
        return explain_memory(one, history, edges, self._now(), others, whole=whole)
