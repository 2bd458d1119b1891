"""Finding: by a question, by id, by filter; and where a memory came from. Nothing here alters anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from reverie.errors import NotFound
from reverie.lifecycle.asked import question, texts, whole
from reverie.lifecycle.intake import checked_tags, clean
from reverie.mind.base import Base
from reverie.model import Filter, Hint, Hit, Memory, Record, lineage
from reverie.search import Query, search
from reverie.words import query_terms

if TYPE_CHECKING:
    from reverie.lifecycle.explain import Explanation
    from reverie.lifecycle.talks import Line, Past

FIRST = 4                # events of a conversation among which its first words are looked for
MOST_TURNS = 100_000     # events of one conversation that are read
MOST_TAUGHT = 1_000      # memories of one conversation that are listed


class Finding(Base):
    """The verbs that read."""

    def recall(self, query: str, *, space: str | None = None, limit: int = 10, kinds: Iterable[str] = (),
               tags: Iterable[str] = (), mode: str = "auto") -> list[Hit]:
        """The best memories for a question, best first; an empty list is an answer.

        `mode`: "auto" (the learned ranking), "convex" or "rrf" (plain fusions of words and meaning), "dense", or
        "words", which needs no model. Where no vector can be had, words answer. An empty query gives the newest.
        """
        question(query, "query")
        spaces = lineage(self._space(space))
        wanted = texts(kinds, "kinds")
        if whole(limit) <= 0 or self.settings.is_off(spaces[0]):
            return []
        return search(self.store, Query(
            text=query, context=query, spaces=spaces, now=self._now(), limit=limit, mode=mode, kinds=wanted,
            tags=checked_tags(tags), **({} if mode == "words" else self._meaning(query))))

    def hints(self, prompt: str, *, space: str | None = None, limit: int = 5) -> list[Hint]:
        """Ids, titles and tags of what may be worth reading for a prompt, never the text; `get` reads it."""
        question(prompt, "prompt")
        spaces = lineage(self._space(space))
        if whole(limit) <= 0 or self.settings.is_off(spaces[0]):
            return []
        hits = search(self.store, Query(text=prompt, context=prompt, spaces=spaces, now=self._now(), limit=limit,
                                        automatic=True, **self._meaning(prompt)))
        return [Hint(hit.memory.id, hit.memory.title or keywords(hit.memory.text), hit.memory.kind, hit.memory.tags)
                for hit in hits]

    def get(self, ids: Sequence[str] | str) -> list[Memory]:
        """Memories by id, in the order asked, whatever their state; unknown ids are left out."""
        return self.store.get(texts([ids] if isinstance(ids, str) else ids, "ids"))

    def browse(self, *, space: str | None = None, kinds: Iterable[str] = (), tags: Iterable[str] = (),
               session: str = "", active: bool | None = True, limit: int = 100, after: str = "") -> list[Memory]:
        """What is in a space and above it, newest first; `after` the last id of the page before."""
        where = Filter(spaces=lineage(self._space(space)), kinds=texts(kinds, "kinds"), tags=checked_tags(tags),
                       session=clean(session or ""), active=active, limit=max(0, whole(limit)),
                       after=clean(after or ""))
        return self.store.browse(where)

    def tags(self, space: str | None = None) -> dict[str, int]:
        """Every tag that can be seen from a space, and how many memories carry it."""
        return self.store.tags(lineage(self._space(space)))

    def history(self, id: str) -> list[Record]:
        """What was done to a memory, oldest first, with what was there before."""
        return self.store.history(self._one(id).id)

    def sessions(self, *, space: str | None = None, words: Iterable[str] = (), limit: int = 20) -> list[Past]:
        """Past conversations in a space and below it, the latest first; with `words`, those in which each occurs."""
        from reverie.lifecycle.talks import SPOKEN, Past, opening
        found = self.store.talks(SPOKEN, space=self._space(space), containing=texts(words, "words"),
                                 limit=max(0, whole(limit)))
        return [Past(talk.session, talk.space, talk.began, talk.ended, talk.events, opening(self.store.events(
            after=talk.first - 1, verbs=SPOKEN, session=talk.session, space=talk.space, limit=FIRST)),
            self._taught(talk.session)) for talk in found]

    def session(self, id: str, *, space: str | None = None, words: Iterable[str] = ()) -> Past:
        """One past conversation with its messages, and the memories that came of it.

        With `words`, only the messages in which each of them occurs. Raises NotFound where there is none of that name
        in the space or below it.
        """
        from reverie.lifecycle.talks import SPOKEN, Past, containing, lines_of, opening
        wanted, home = clean(question(id, "session")), self._space(space)
        events = [event for event in self.store.events(session=wanted, verbs=SPOKEN, limit=MOST_TURNS)
                  if wanted and (event.space == home or event.space.startswith(f"{home}/"))]
        if not events:
            raise NotFound(f"There is no session {wanted!r} in {home}. `reverie sessions` lists them")
        lines = lines_of(events)
        return Past(wanted, events[-1].space, events[0].at, events[-1].at, len(events), opening(events),
                    self._taught(wanted), tuple(containing(lines, texts(words, "words"))))

    def source(self, id: str, *, around: int = 1) -> list[Line]:
        """The messages that a memory rests on, with so many before and after; none where the log does not have them."""
        from reverie.lifecycle import talks
        one = self._one(id)
        if not one.session or one.messages is None:
            return []
        events = [event for event in self.store.events(session=one.session, verbs=talks.SPOKEN, limit=MOST_TURNS)
                  if event.space == one.space or event.space.startswith(f"{one.space}/")]
        return talks.around(talks.lines_of(events), *one.messages, max(0, whole(around)))

    def _taught(self, session: str) -> tuple[Memory, ...]:
        """The memories that came of a conversation, in order."""
        return tuple(reversed(self.store.browse(Filter(session=session, active=None, limit=MOST_TAUGHT))))

    def explain(self, id: str) -> Explanation:
        """Where a memory came from and why it is believed, as a story in words."""
        from reverie.lifecycle.explain import explained
        one = self._one(id)
        return explained(one, self.store.history(one.id), self.store.edges([one.id]), self._now())


def keywords(text: str, most: int = 5) -> str:
    """What an untitled memory is about, in its own rare words: a title that gives nothing away."""
    return ", ".join(dict.fromkeys(sorted(query_terms(text[:2_000]), key=lambda t: (-len(t), t))[:most]))
