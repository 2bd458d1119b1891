"""Verbs of two-phase retrieval: `hints` names what there may be, `retrieve` reads it in full.

A model that has tools decides for itself what it reads, and its prompt stays short. Each hint is
given once in a conversation, also across processes and after a restart: the event log says which
were given.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from reverie.core.errors import BadInput, StoreError
from reverie.core.model import (
    Event,
    Filter,
    Hint,
    Memory,
    Retrieved,
    Revise,
    index_memories,
)
from reverie.memory.memory_validation import validate_tags
from reverie.mirror.page_placement import to_calendar_time
from reverie.retrieval import search_memories
from reverie.retrieval.search_query import SearchQuery
from reverie.retrieval.tag_search import MIN_TAG_CHARS
from reverie.runtime.mind.mind_context import VerbGroup, check_limit, run_exclusively
from reverie.text.argument_checks import check_question, check_texts, check_whole_number
from reverie.text.tokenization import tokenize_query

# Verb of the event that says which ids were named to a conversation.
HINTED = "hinted"
MAX_HINTS = 5
# Memories retrieved by tags, unless told otherwise: whole texts, so few.
MAX_RETRIEVED = 3
# Newest such events of a conversation that are looked at.
MAX_HINT_EVENTS = 1_000
# Memories with one tag that are looked at.
MAX_TAG_SCAN = 10_000
# Characters of a text in which words of the prompt are looked for, to describe it.
MAX_DESCRIBED_CHARS = 2_000


class RetrieveVerbs(VerbGroup):
    """The verbs of `Mind` for two-phase retrieval."""

    def hints(
        self,
        prompt: str,
        *,
        space: str | None = None,
        limit: int = MAX_HINTS,
        session: str = "",
        mode: str = "auto",
    ) -> list[Hint]:
        """Ids, titles and tags of memories worth reading for a prompt, never the text; `retrieve`
        reads that.

        First come memories of which the prompt names a tag, exactly or in other forms of its words,
        then what would surface by itself. An empty list is an answer. With `session`, what was
        hinted in that conversation is not hinted again, nor what it taught itself. `mode="words"`
        needs no model.
        """
        from reverie.retrieval.tag_search import search_tags

        home = self._resolve_space(space)
        name = self._redact(session)
        spaces = self._visible_spaces(home)
        if (
            not check_question(prompt, "prompt").strip()
            or check_whole_number(limit) <= 0
            or self._context.current_settings.is_off(home, name)
        ):
            return []
        query = SearchQuery(
            text=prompt,
            context=prompt,
            spaces=spaces,
            now=self._now(),
            limit=limit,
            automatic=True,
            not_session=name,
            exclude=self._find_hinted(home, name),
            mode=mode,
        )
        memories = [hit.memory for hit in search_tags(self._store, query)]
        # Tags that the prompt names are the surest sign, and cost no vector.
        if len(memories) < limit:
            meaning = {} if mode == "words" else self._embed_query(prompt)
            # What was hinted is judged with the rest: the next best does not take its place.
            field = query._replace(exclude=frozenset(), **meaning)
            hits = search_memories(self._store, field)
            memories += [hit.memory for hit in hits if hit.memory.id not in query.exclude]
        # A memory may be found both ways; its first place counts.
        hinted = list(index_memories(memories).values())[:limit]
        if hinted and name:
            payload = {"ids": [memory.id for memory in hinted]}
            # Where nothing can be written they may be hinted again; reading works there too.
            with suppress(StoreError):
                self._store.append([Event(HINTED, home, self._now(), name, payload)])
        titles = [memory.title or describe_untitled(memory, prompt) for memory in hinted]
        return [
            Hint(memory.id, title, memory.kind, memory.tags)
            for memory, title in zip(hinted, titles, strict=True)
        ]

    def retrieve(
        self,
        ids: Sequence[str] | str = (),
        *,
        tags: Sequence[str] = (),
        limit: int = MAX_RETRIEVED,
        space: str | None = None,
    ) -> Retrieved:
        """Some memories in full: by id, in the order asked and whatever their state, or by
        tags.

        Tags are compared without regard to case; who carries most of them comes first, then the
        newest. `matched` is how many there are, so `truncated` says that `limit` left some out; ids
        know no limit. What cannot be seen from the space is not found. Each one that is returned
        counts as used.
        """
        spaces = self._visible_from(space)
        wanted = check_texts(ids, "ids")
        valid_tags = validate_tags(tags, self._policy.masking)
        sought_tags = [tag for tag in valid_tags if len(tag) >= MIN_TAG_CHARS]
        if not wanted and not sought_tags:
            raise BadInput(
                "Retrieve what? Give ids as hints name them, or tags of two letters or more"
            )
        if self._settings.is_off(spaces[0]):
            return Retrieved([], 0)
        # Who asks by id knows what they want: a limit would only hide it.
        if wanted:
            known = self._read(tuple(dict.fromkeys(wanted)))
            found = [memory for memory in known if memory.space in spaces]
            return Retrieved(self._count_uses(found), len(found))
        found = self._find_tagged(sought_tags, spaces)
        return Retrieved(self._count_uses(found[: check_limit(limit)]), len(found))

    def _find_tagged(
        self,
        tags: Sequence[str],
        spaces: tuple[str, ...],
    ) -> list[Memory]:
        """Memories that carry one of the tags and have not expired, best first."""
        found: dict[str, Memory] = {}
        for tag in tags:
            tagged = self._store.browse(
                Filter(
                    spaces=spaces,
                    tags=(tag,),
                    limit=MAX_TAG_SCAN,
                )
            )
            found.update((memory.id, memory) for memory in tagged)
        now = self._now()
        alive = [
            memory
            for memory in found.values()
            if memory.expires_at is None or memory.expires_at > now
        ]
        return sorted(
            alive, key=lambda memory: (-len(set(tags) & set(memory.tags)), -memory.at, memory.id)
        )

    def _count_uses(self, memories: list[Memory]) -> list[Memory]:
        """The memories, counted as used; where nothing can be written they are read
        all the same.
        """
        with suppress(StoreError):
            return self._write_uses([memory.id for memory in memories])
        return memories

    @run_exclusively
    def _write_uses(self, ids: Sequence[str]) -> list[Memory]:
        """Count a use of each active memory; read anew, so that no other change is undone."""
        now = self._now()
        present = self._store.get(ids)
        changes = [
            Revise(
                id=memory.id,
                fields={"access_count": memory.access_count + 1, "last_accessed_at": now},
            )
            for memory in present
            if memory.active
        ]
        if changes:
            self._apply_changes(changes, "retrieve", present[0].space, now)
        return self._read(ids)

    def _read(self, ids: Sequence[str]) -> list[Memory]:
        """Memories, and passages of past conversations, by id."""
        from reverie.transcripts.passage_hits import find_memories_or_passages

        return find_memories_or_passages(self._store, ids)

    def _find_hinted(self, home: str, session: str) -> frozenset[str]:
        """The ids that were named to this conversation already."""
        if not session:
            return frozenset()
        events = self._store.events(
            session=session,
            space=home,
            verbs=(HINTED,),
            newest=True,
            limit=MAX_HINT_EVENTS,
        )
        return frozenset(id for event in events for id in read_event_ids(event.payload.get("ids")))


def read_event_ids(value: Any) -> list[str]:
    """The ids in an event's payload; none if it holds no list."""
    return [str(id) for id in value] if isinstance(value, (list, tuple)) else []


def describe_untitled(
    memory: Memory,
    prompt: str,
    most: int = 5,
) -> str:
    """A title for an untitled memory: its kind and the words it shares with the prompt, or its day.

    So a hint says why it is given, and nothing that whoever asks does not know already.
    """
    asked = {term.casefold() for term in tokenize_query(prompt)}
    terms = tokenize_query(memory.text[:MAX_DESCRIBED_CHARS])
    shared = [term for term in terms if term.casefold() in asked][:most]
    if shared:
        return f"{memory.kind} on {', '.join(shared)}"
    return f"{memory.kind} of {to_calendar_time(memory.at):%Y-%m-%d}"
