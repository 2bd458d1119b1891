"""Finding: by a question, by id, by filter; and where a memory came from. Nothing here alters anything."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from reverie.lifecycle.asked import question, texts, whole
from reverie.lifecycle.intake import checked_tags, clean
from reverie.mind.base import Base
from reverie.model import Filter, Hint, Hit, Memory, Record, lineage
from reverie.search import Query, search
from reverie.words import query_terms

if TYPE_CHECKING:
    from reverie.lifecycle.explain import Explanation


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

    def explain(self, id: str) -> Explanation:
        """Where a memory came from and why it is believed, as a story in words."""
        from reverie.lifecycle.explain import explained
        one = self._one(id)
        edges = self.store.edges([one.id])
        merged = [m for m in self.store.get([e.dst for e in edges if e.rel == "derived_from" and e.src == one.id])
                  if m.retired_why == "merged"]
        return explained(one, self.store.history(one.id), edges, self._now(), merged)


def keywords(text: str, most: int = 5) -> str:
    """What an untitled memory is about, in its own rare words: a title that gives nothing away."""
    return ", ".join(dict.fromkeys(sorted(query_terms(text[:2_000]), key=lambda t: (-len(t), t))[:most]))
