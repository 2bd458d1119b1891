"""Fetching in two steps: first what there may be, in titles and tags; then the whole of what
somebody wants to read.

A model that has tools decides for itself what it reads, and its prompt stays short. Hints are given
once in a conversation, also by several processes and after a restart: what was hinted stands in the
event log.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from reverie.core.errors import BadInput, StoreError
from reverie.core.model import Event, Filter, Hint, Memory, Retrieved, Revise, visible_spaces
from reverie.memory.memory_validation import validate_tags
from reverie.mirror.page_placement import to_calendar_time
from reverie.privacy.redacted_text import redact_short_text
from reverie.retrieval import search_memories
from reverie.retrieval.search_query import SearchQuery
from reverie.retrieval.tag_search import MIN_TAG_CHARS
from reverie.runtime.mind.mind_base import MindBase, run_exclusively
from reverie.text.argument_checks import check_question, check_text_list, check_whole_number
from reverie.text.tokenization import tokenize_query

HINTED = "hinted"  # the verb of an event: "ids" were named to a conversation
MAX_HINTS = 5  # CONSTANTS: hint limit
MAX_RETRIEVED = 3  # memories that tags fetch unless told otherwise (E25)
MAX_HINT_EVENTS = 1_000  # newest hints of a conversation that are not given again
MAX_TAG_SCAN = 10_000  # memories with one tag that are looked at


class RetrieveVerbs(MindBase):
    """The verbs of two-phase retrieval."""

    def hints(
        self,
        prompt: str,
        *,
        space: str | None = None,
        limit: int = MAX_HINTS,
        session: str = "",
        mode: str = "auto",
    ) -> list[Hint]:
        """Ids, titles and tags of what may be worth reading for a prompt, never the text;
        `retrieve` reads it.

        First come memories of which the prompt names a tag, exactly or in other forms of its words,
        then what would surface by itself. An empty list is an answer. With `session`, what was
        hinted in that conversation is not hinted again, nor what it taught itself. `mode="words"`
        needs no model.
        """
        from reverie.retrieval.tag_search import search_tags

        home, name = self._resolve_space(space), redact_short_text(session, self._policy)
        spaces = visible_spaces(home)
        if (
            not check_question(prompt, "prompt").strip()
            or check_whole_number(limit) <= 0
            or self._current_settings.is_off(home, name)
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
            exclude=self._hinted(home, name),
            mode=mode,
        )
        memories = [hit.memory for hit in search_tags(self.store, query)]
        if len(memories) < limit:
            meaning = {} if mode == "words" else self._embed_query(prompt)
            memories += [
                hit.memory for hit in search_memories(self.store, query._replace(**meaning))
            ]
        some = list({memory.id: memory for memory in memories}.values())[:limit]
        if some and name:
            with suppress(
                StoreError
            ):  # where nothing can be written it may be hinted again, as recall works there
                self.store.append(
                    [
                        Event(
                            HINTED, home, self._now(), name, {"ids": [memory.id for memory in some]}
                        )
                    ]
                )
        return [
            Hint(
                memory.id,
                memory.title or describe_untitled(memory, prompt),
                memory.kind,
                memory.tags,
            )
            for memory in some
        ]

    def retrieve(
        self,
        ids: Sequence[str] | str = (),
        *,
        tags: Sequence[str] = (),
        limit: int = MAX_RETRIEVED,
        space: str | None = None,
    ) -> Retrieved:
        """The whole of some memories: by id, in the order asked and whatever their state, or by
        tags.

        Tags are compared without regard to case; who carries most of them comes first, then the
        newest. `matched` is how many there are, so `truncated` says that `limit` left some out; ids
        know no limit. What cannot be seen from the space is not found. Each one that is returned
        counts as used.
        """
        spaces, wanted = (
            visible_spaces(self._resolve_space(space)),
            check_text_list([ids] if isinstance(ids, str) else ids, "ids"),
        )
        asked = [
            tag for tag in validate_tags(tags, self._policy.masking) if len(tag) >= MIN_TAG_CHARS
        ]
        if not wanted and not asked:
            raise BadInput(
                "Retrieve what? Give ids as hints name them, or tags of two letters or more"
            )
        if self.settings.is_off(spaces[0]):
            return Retrieved([], 0)
        if wanted:
            found = [
                memory
                for memory in self.store.get(tuple(dict.fromkeys(wanted)))
                if memory.space in spaces
            ]
            return Retrieved(self._touched(found), len(found))
        found = self._carrying(asked, spaces)
        return Retrieved(self._touched(found[: max(0, check_whole_number(limit))]), len(found))

    def _carrying(self, tags: Sequence[str], spaces: tuple[str, ...]) -> list[Memory]:
        """Memories that carry one of these tags and may be told of, best first."""
        found = {
            memory.id: memory
            for tag in tags
            for memory in self.store.browse(Filter(spaces=spaces, tags=(tag,), limit=MAX_TAG_SCAN))
        }
        now = self._now()
        alive = [
            memory
            for memory in found.values()
            if memory.expires_at is None or memory.expires_at > now
        ]
        return sorted(
            alive, key=lambda memory: (-len(set(tags) & set(memory.tags)), -memory.at, memory.id)
        )

    def _touched(self, memories: list[Memory]) -> list[Memory]:
        """These were read; that a use could not be counted keeps nobody from reading (E28)."""
        with suppress(StoreError):
            return self._used([memory.id for memory in memories])
        return memories

    @run_exclusively
    def _used(self, ids: Sequence[str]) -> list[Memory]:
        """Count a use of what counts. Read anew: a decision made meanwhile is not
        undone (CC-13).
        """
        now, there = self._now(), self.store.get(ids)
        changes = [
            Revise(
                id=memory.id,
                fields={"access_count": memory.access_count + 1, "last_accessed_at": now},
            )
            for memory in there
            if memory.active
        ]
        if changes:
            self._apply_changes(changes, "retrieve", there[0].space, now)
        return self.store.get(ids)

    def _hinted(self, home: str, session: str) -> frozenset[str]:
        """What this conversation was hinted at already."""
        if not session:
            return frozenset()
        events = self.store.events(
            session=session, space=home, verbs=(HINTED,), newest=True, limit=MAX_HINT_EVENTS
        )
        return frozenset(id for event in events for id in read_event_ids(event.payload.get("ids")))


def read_event_ids(value: Any) -> list[str]:
    """A list of ids as an event holds it."""
    return [str(id) for id in value] if isinstance(value, (list, tuple)) else []


def describe_untitled(memory: Memory, prompt: str, most: int = 5) -> str:
    """What an untitled memory is about: its kind and those of its words that the prompt has too, or
    else its day.

    So a hint says why it is given, and nothing that who asks does not know (E10).
    """
    asked = {term.casefold() for term in tokenize_query(prompt)}
    shared = [term for term in tokenize_query(memory.text[:2_000]) if term.casefold() in asked][
        :most
    ]
    return (
        f"{memory.kind} on {', '.join(shared)}"
        if shared
        else f"{memory.kind} of {to_calendar_time(memory.at):%Y-%m-%d}"
    )
