"""Answers while somebody types: by words at once, then by all that ranks.

A thread of its own opens the store and answers the newest question by words, which needs neither
the verbs nor a model; then it loads those and answers it again. A question that has been replaced
meanwhile is dropped. Nothing is fetched: without a model on this machine, words and the learned
ranking answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Condition, Thread
from typing import TYPE_CHECKING, NamedTuple

from reverie.core import clock
from reverie.core.kinds import EXPLICIT_KINDS
from reverie.core.model import Filter, Hit, Memory, is_within, visible_spaces

if TYPE_CHECKING:
    from reverie.core.config import Settings
    from reverie.runtime.mind import Mind
    from reverie.storage import Store

SCOPES = ("space", "project", "everywhere")
# Newest memories among which the beginning of a word is looked for; the index knows whole words.
MAX_SCANNED = 2_000
WORDS_IN_PART = "letters"


class Question(NamedTuple):
    """What is asked."""

    text: str
    scope: str = SCOPES[0]
    limit: int = 10
    explained: str = ""  # the id of a memory whose story is asked for instead


class Answer(NamedTuple):
    """What was found so far."""

    question: Question
    hits: Sequence[Hit] = ()
    is_final: bool = False
    note: str = ""  # why it may be less than could be
    story: Sequence[str] = ()


def next_scope(scope: str) -> str:
    """The scope that the key for it leads to."""
    return SCOPES[(SCOPES.index(scope) + 1) % len(SCOPES)]


def list_spaces(scope: str, space: str, known: Sequence[str]) -> tuple[str, ...]:
    """The spaces that are searched, of those `known`, from a space.

    "space": it and those above it, as recall does. "project": the project that it lies in as well,
    with all below it. "everywhere": all.
    """
    if scope == SCOPES[2]:
        return tuple(known)
    above = visible_spaces(space)
    if scope == SCOPES[0]:
        return above
    project = "/".join(space.split("/")[:2])
    below = [one for one in known if is_within(one, project)]
    return tuple(dict.fromkeys((*above, *below)))


def find_by_words(
    store: Store, question: Question, spaces: Sequence[str], scanned: Sequence[Memory], now: float
) -> list[Hit]:
    """Memories with the words, best first, then those with the letters of the last one."""
    from reverie.text.tokenization import tokenize_query

    asked = Filter(spaces=tuple(spaces), without=EXPLICIT_KINDS)
    rows = store.search_words(
        tokenize_query(question.text), tuple(spaces), question.limit, where=asked, now=now
    )
    memories = {memory.id: memory for memory in store.get([id for id, _ in rows])}
    hits = [Hit(memories[id], score, ("words",)) for id, score in rows if id in memories]
    parts = question.text.casefold().split()
    for memory in scanned:
        if len(hits) >= question.limit:
            break
        text = memory.text.casefold()
        if memory.id not in memories and all(part in text for part in parts):
            hits.append(Hit(memory, 0.0, (WORDS_IN_PART,)))
    return hits


def put_holders_first(text: str, hits: Sequence[Hit]) -> list[Hit]:
    """The same hits, those first that hold all that was typed, be it in parts of words: of half a
    word a model knows no meaning, and puts anything before it.
    """
    parts = text.casefold().split()

    def lacks(hit: Hit) -> bool:
        told = f"{hit.memory.title} {hit.memory.text}".casefold()
        return not all(part in told for part in parts)

    return sorted(hits, key=lacks)


class TypedSearch:
    """The thread that answers. `answered` is called, in it, with each answer."""

    def __init__(self, settings: Settings, space: str, answered: Callable[[Answer], None]) -> None:
        self.trouble: Exception | None = None
        self.is_settled = False  # the last question has its final answer
        self._settings = settings
        self._space = space
        self._answered = answered
        self._changed = Condition()
        self._asked: Question | None = None
        self._is_closing = False
        self._mind: Mind | None = None
        self._store: Store | None = None
        self._scanned: dict[tuple[str, ...], Sequence[Memory]] = {}
        self._known: Sequence[str] = ()
        self._thread = Thread(target=self._run, name="reverie-find", daemon=True)
        self._thread.start()

    def ask(self, question: Question) -> None:
        """Ask; what was asked before is dropped."""
        with self._changed:
            self._asked, self.is_settled = question, False
            self._changed.notify()

    def count_use(self, memory: Memory) -> None:
        """Count that somebody took this memory; to be called once all has been stopped."""
        from contextlib import suppress

        from reverie.core.errors import NotFound, StoreError

        # A passage of a past conversation is no memory; a home that cannot be written still serves.
        with suppress(NotFound, StoreError):
            self._open_mind().retrieve([memory.id], space=self._space)

    def stop(self) -> None:
        """Let the thread come to its end."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join()

    def close(self) -> None:
        """Stop, and close what was opened."""
        self.stop()
        if self._mind is not None:
            self._mind.close()
        if self._store is not None:
            self._store.close()

    def _open_mind(self) -> Mind:
        """The verbs, loaded when they are first needed. In one thread at a time."""
        if self._mind is None:
            import reverie

            self._mind = reverie.open(settings=self._settings)
        return self._mind

    def _run(self) -> None:
        try:
            while (question := self._wait()) is not None:
                self._answer(question)
        except Exception as err:  # told where the keys are read, and raised there
            self.trouble = err
            self._answered(Answer(Question(""), is_final=True))

    def _wait(self) -> Question | None:
        """The next question; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._asked is not None or self._is_closing)
            question, self._asked = self._asked, None
            return None if self._is_closing else question

    def _is_replaced(self) -> bool:
        with self._changed:
            return self._asked is not None or self._is_closing

    def _answer(self, question: Question) -> None:
        if self._settings.is_off(self._space):
            note = f"Memory is switched off in {self._space}. Switch it on with: reverie on"
            self._tell(Answer(question, (), True, note))
            return
        if question.explained:
            self._tell(Answer(question, (), True, "", self._explain(question.explained)))
            return
        first = self._answer_by_words(question)
        is_refined = question.scope == SCOPES[0] and bool(question.text.strip())
        self._tell(Answer(question, first, not is_refined))
        if not is_refined:
            return
        hits = self._refine(question)
        # What only the letters found stays, behind the rest.
        known = {hit.memory.id for hit in hits}
        hits += [hit for hit in first if hit.memory.id not in known]
        self._tell(Answer(question, put_holders_first(question.text, hits)[: question.limit], True))

    def _refine(self, question: Question) -> list[Hit]:
        """What recall answers: with the model, if that is on this machine."""
        from reverie.interfaces.worker import is_embedder_ready

        mind = self._open_mind()
        if self._is_replaced():
            return []
        has_model = mind.embedder is not None and is_embedder_ready(self._settings)
        return mind.recall(
            question.text,
            space=self._space,
            limit=question.limit,
            mode="auto" if has_model else "words",
        )

    def _explain(self, id: str) -> Sequence[str]:
        """Where a memory came from, in words."""
        from reverie.core.errors import NotFound

        try:
            return self._open_mind().explain(id).story
        except NotFound:
            return ("Said in a past conversation: reverie session show has all of it.",)

    def _answer_by_words(self, question: Question) -> list[Hit]:
        store = self._open_store()
        spaces = list_spaces(question.scope, self._space, self._list_known(question.scope))
        if spaces not in self._scanned:
            newest = Filter(spaces=spaces, without=EXPLICIT_KINDS, limit=MAX_SCANNED)
            self._scanned[spaces] = store.browse(newest)
        scanned, now = self._scanned[spaces], clock.now()
        if not question.text.strip():
            return [Hit(memory, 0.0, ("newest",)) for memory in scanned[: question.limit]]
        return find_by_words(store, question, spaces, scanned, now)

    def _list_known(self, scope: str) -> Sequence[str]:
        if scope != SCOPES[0] and not self._known:
            self._known = tuple(self._open_store().stats().spaces)
        return self._known

    def _open_store(self) -> Store:
        if self._store is None:
            from reverie.core.config import resolve_store_url
            from reverie.storage import open_store

            self._store = open_store(resolve_store_url(None, self._settings))
        return self._store

    def _tell(self, answer: Answer) -> None:
        if not self._is_replaced():
            self.is_settled = answer.is_final
            self._answered(answer)
