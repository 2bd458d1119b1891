"""Finding: by a question, by id, by filter; and where a memory came from. Nothing here alters
anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reverie.core.config import BOUNDS
from reverie.core.errors import BadInput, NotFound
from reverie.core.kinds import asked_for
from reverie.core.model import DESCRIBED, Filter, Hit, Memory, Record, lineage
from reverie.core.trigger_patterns import about_to_run, spoken
from reverie.memory.memory_validation import Moment, checked_tags, moment_then
from reverie.memory.named_period import season_of
from reverie.retrieval import called_by, search
from reverie.retrieval.search_query import Query
from reverie.retrieval.trigger_search import Called
from reverie.runtime.mind.base import Base
from reverie.text.argument_checks import question, texts, typed, whole
from reverie.text.text_cleaning import clean
from reverie.text.tokenization import fingerprint

if TYPE_CHECKING:
    from reverie.extraction.knowledge_gaps import Gap
    from reverie.extraction.past_conversations import Line, Past
    from reverie.llm.language_model import Llm
    from reverie.memory.explanation import Explanation
    from reverie.retrieval.near_duplicates import Twin

MOST_TURNS = 100_000  # events of one conversation that are read
# memories of one conversation that are listed, and descriptions of tags in one space
MOST_TAUGHT = 1_000


class Finding(Base):
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
        question(query, "query")
        spaces = lineage(self._space(space))
        chosen = asked_for(typed(types), texts(kinds, "kinds"))
        if whole(limit) <= 0 or self.settings.is_off(spaces[0]) or chosen.nothing:
            return []
        now, then = self._now(), moment_then(as_of)
        asked = Query(
            text=query,
            context=query,
            spaces=spaces,
            now=now,
            limit=limit,
            mode=mode,
            kinds=chosen.kinds,
            without=chosen.without,
            tags=checked_tags(tags, self._policy.masking),
            **self._walk(depth),
            floor=self.settings.floor if mode == "dense" else 0.0,
            season="" if then is not None else season_of(self.store, spaces, now).label,
            **({} if mode == "words" else self._meaning(query)),
        )
        if then is not None:
            return self._as_of(asked, then)
        return (
            search(self.store, asked)
            if mode != "judged" or self.llm is None
            else self._judged(asked, self.llm)
        )

    def _judged(self, asked: Query, llm: Llm) -> list[Hit]:
        from reverie.injection.candidate_judge import named_first
        from reverie.llm.judge_task import POOL

        pool = search(self.store, asked._replace(limit=max(asked.limit, POOL)))
        return named_first(pool, asked, llm, self.settings)[: asked.limit]

    def _as_of(self, asked: Query, then: float) -> list[Hit]:
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
    ) -> Called:
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
        spaces = lineage(self._space(space))
        if whole(limit) <= 0 or self.settings.is_off(spaces[0]):
            return Called()
        found = called_by(self.store, about_to_run(tool, arguments), spaces, self._now())
        del found[limit:]
        return found

    def procedures(self, context: str, *, space: str | None = None, limit: int = 5) -> list[Memory]:
        """What is known of how to do something in this context: procedures of which a trigger meets
        it.

        Best first: by how well they lately worked, then by how often they were tried. `recall` with
        `types=["procedural"]` finds by meaning, without any trigger.
        """
        from reverie.memory.procedure import KIND, best_first

        spaces = lineage(self._space(space))
        if whole(limit) <= 0 or self.settings.is_off(spaces[0]):
            return []
        found = called_by(self.store, spoken(question(context, "context")), spaces, self._now())
        return best_first(hit.memory for hit in found if hit.memory.kind == KIND)[:limit]

    def similar(self, id: str, *, space: str | None = None, limit: int = 10) -> list[Hit]:
        """More like this one: by meaning, and by the tags, clusters and links that it shares. Not
        the memory itself.

        `space`: from where one looks; the memory's own by default. `why` says what they have in
        common.
        """
        from reverie.retrieval.similar_memories import similar

        memory, query = self._beside(id, space, limit)
        return similar(self.store, memory, query._replace(**self._vector_of(memory)))

    def twin(self, id: str) -> Twin | None:
        """What says nearly the same in nearly the same words, and how alike they are; None where
        nothing does.

        For who has just kept something: it needs no model and finds what was kept a moment ago.
        Both stay; settling decides whether they are one.
        """
        from reverie.retrieval.near_duplicates import twin

        return twin(self.store, self._one(id), self._now())

    def neighbours(
        self, id: str, *, space: str | None = None, depth: int | None = None, limit: int = 20
    ) -> list[Hit]:
        """What a memory is tied to by links, tags and clusters, nearest first, whatever is asked;
        `why` says how.

        `depth`: hops, `Settings.depth` by default. `space` as in `similar`.
        """
        from reverie.retrieval.graph_cascade import tied

        memory, query = self._beside(id, space, limit)
        return tied(self.store, memory, query._replace(**self._walk(depth)))

    def gaps(self, space: str | None = None) -> list[Gap]:
        """Questions of conversations here that nothing in memory answered, newest first: what is
        worth writing down.

        The newest 500 of the last 90 days are looked at.
        """
        from reverie.extraction.knowledge_gaps import gaps

        return gaps(self.store, self._space(space), self._now())

    def _beside(self, id: str, space: str | None, limit: int) -> tuple[Memory, Query]:
        """A memory, and a query without a question for what lies beside it."""
        memory = self._one(id)
        spaces = lineage(memory.space if space is None else self._space(space))
        return memory, Query(text="", spaces=spaces, now=self._now(), limit=max(0, whole(limit)))

    def _vector_of(self, memory: Memory) -> dict[str, Any]:
        """The vector of a memory's text: the one that is kept, or, while it waits for that, a new
        one.
        """
        if self.embedder is None:
            return {}
        hash = fingerprint(memory.text)
        kept = self.store.known_vectors(self.embedder.model, [hash]).get(hash)
        return (
            self._meaning(memory.text)
            if kept is None
            else {"vector": kept, "model": self.embedder.model}
        )

    def _walk(self, depth: int | None) -> dict[str, Any]:
        """How far to follow the graph, and what each step keeps."""
        hops, decay = (
            self.settings.depth if depth is None else whole(depth, "depth"),
            self.settings.decay,
        )
        least, most = BOUNDS["depth"]
        if not least <= hops <= most:
            raise BadInput(f"depth={hops} must be from 0 (what fits the question alone) to {most}")
        if not 0.0 < decay <= 1.0:
            raise BadInput(f"The setting decay={decay} must be above 0 and at most 1")
        return {"depth": hops, "decay": decay}

    def get(self, ids: Sequence[str] | str) -> list[Memory]:
        """Memories by id, in the order asked, whatever their state; unknown ids are left out."""
        return self.store.get(texts([ids] if isinstance(ids, str) else ids, "ids"))

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
        chosen = asked_for(typed(types), texts(kinds, "kinds"))
        where = Filter(
            spaces=lineage(self._space(space)),
            kinds=chosen.kinds,
            without=chosen.without,
            tags=checked_tags(tags, self._policy.masking),
            session=clean(session or ""),
            active=active,
            limit=0 if chosen.nothing else max(0, whole(limit)),
            after=clean(after or ""),
        )
        return self.store.browse(where)

    def tags(self, space: str | None = None) -> dict[str, int]:
        """Every tag that can be seen from a space, and how many memories carry it."""
        return self.store.tags(lineage(self._space(space)))

    def meanings(self, space: str | None = None) -> dict[str, str]:
        """What somebody said that tags mean, as seen from a space: the nearest space's word counts,
        and its last.
        """
        told: dict[str, str] = {}
        for place in reversed(lineage(self._space(space))):
            said = reversed(
                self.store.events(space=place, verbs=(DESCRIBED,), newest=True, limit=MOST_TAUGHT)
            )
            last = {
                str(event.payload.get("tag", "")): str(event.payload.get("text", ""))
                for event in said
            }
            told |= {tag: text for tag, text in last.items() if text}
        return dict(sorted(told.items()))

    def history(self, id: str) -> list[Record]:
        """What was done to a memory, oldest first, with what was there before."""
        return self.store.history(self._one(id).id)

    def sessions(
        self, *, space: str | None = None, words: Iterable[str] = (), limit: int = 20
    ) -> list[Past]:
        """Past conversations in a space and below it, the latest first; with `words`, those in
        which each occurs.
        """
        from reverie.extraction.past_conversations import SPOKEN, past

        found = self.store.talks(
            SPOKEN,
            space=self._space(space),
            containing=texts(words, "words"),
            limit=max(0, whole(limit)),
        )
        return [
            past(
                self.store.events(
                    after=talk.first - 1,
                    verbs=SPOKEN,
                    session=talk.session,
                    space=talk.space,
                    limit=MOST_TURNS,
                ),
                self._taught(talk.session),
            )._replace(lines=())
            for talk in found
        ]

    def session(self, id: str, *, space: str | None = None, words: Iterable[str] = ()) -> Past:
        """One past conversation with its messages, and the memories that came of it.

        With `words`, only the messages in which each of them occurs. Raises NotFound where there is
        none of that name in the space or below it.
        """
        from reverie.extraction.past_conversations import SPOKEN, containing, past

        wanted, home = clean(question(id, "session")), self._space(space)
        events = [
            event
            for event in self.store.events(session=wanted, verbs=SPOKEN, limit=MOST_TURNS)
            if wanted and (event.space == home or event.space.startswith(f"{home}/"))
        ]
        if not events:
            raise NotFound(
                f"There is no session {wanted!r} in {home}. `reverie sessions` lists them"
            )
        whole_talk = past(events, self._taught(wanted))
        return whole_talk._replace(lines=tuple(containing(whole_talk.lines, texts(words, "words"))))

    def source(self, id: str, *, around: int = 1) -> list[Line]:
        """The messages that a memory rests on, with so many before and after; none where the log
        does not have them.
        """
        from reverie.extraction import past_conversations

        one = self._one(id)
        if not one.session or one.messages is None:
            return []
        events = [
            event
            for event in self.store.events(
                session=one.session, verbs=past_conversations.SPOKEN, limit=MOST_TURNS
            )
            if event.space == one.space or event.space.startswith(f"{one.space}/")
        ]
        return past_conversations.around(
            past_conversations.lines_of(events), *one.messages, max(0, whole(around))
        )

    def _taught(self, session: str) -> tuple[Memory, ...]:
        """The memories that came of a conversation, in order."""
        return tuple(
            reversed(self.store.browse(Filter(session=session, active=None, limit=MOST_TAUGHT)))
        )

    def explain(self, id: str, *, whole: bool = False) -> Explanation:
        """Where a memory came from and why it is believed, as a story in words: some twenty-five
        lines at most.

        With `whole`, every wording, tie and event by itself.
        """
        from reverie.memory.explanation import explained, related

        one = self._one(id)
        edges, history = self.store.edges([one.id]), self.store.history(one.id)
        others = {other.id: other for other in self.store.get(related(one, history, edges))}
        return explained(one, history, edges, self._now(), others, whole=whole)
