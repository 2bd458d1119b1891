"""Memory beside any agent's loop: as a context manager, or as a decorator of the function that
calls the model.

    with Beside(mind, "me/shop", session="monday") as memory:
        answer = model(memory.before(messages))
        memory.after(messages, answer)

    @Beside(mind, "me/shop", session="monday")
    def model(messages): ...  # or a method, a coroutine, a generator that streams the answer

Always true: nothing here raises because of memory (`Beside.guarded` is the one place of this folder
that catches everything, and `trouble` tells what it caught); a turn waits neither for inference nor
for another process that writes. The other adapters stand on this one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Self, TypeVar

from reverie.context_window.injection_block import EMPTY_BLOCK, Block, append_block, render_block
from reverie.core.authorship import UNKNOWN_AUTHOR, Author
from reverie.core.model import Hit
from reverie.interfaces.frameworks.call_wrapper import join_stream_text, wrap_model_call
from reverie.interfaces.recall_use import count_recall
from reverie.memory.memory_validation import resolve_space
from reverie.runtime.companion import Companion
from reverie.text.host_messages import get_field

if TYPE_CHECKING:
    from reverie.runtime.mind import Mind

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

# That a conversation's beginning may take; longer, and its first turns go without memory.
OPEN_SECONDS = 0.5
# That the end of a conversation waits for its beginning.
CLOSE_SECONDS = 10.0
# Lists of messages before the beginning is over, which are heeded then.
MAX_MISSED = 40
# Conversations that one adapter keeps open; of more, the one that was silent longest is closed.
MAX_OPEN = 100
CALL_AFTER = "Call after(messages, text) with what was said"
# A mind starts its thread once, so companions are opened one at a time.
_opening = Lock()


class Beside:
    """Memory beside one conversation."""

    def __init__(
        self,
        mind: Mind,
        space: str | None = None,
        *,
        session: str = "",
        author: Author = UNKNOWN_AUTHOR,
    ) -> None:
        self.mind = mind
        self.session = session
        self.space = resolve_space(space)
        self.author = author  # of what is kept by `remember`: the framework and its model
        self._companion: Companion | None = None
        self._missed: deque[Sequence[Any]] = deque(maxlen=MAX_MISSED)
        self._trouble = ""
        self._told: set[str] = set()  # memories that were shown before a tool
        self._one_at_a_time = Lock()
        self._opened = Event()
        # A store that another process locks must not hold up the agent's first turn.
        Thread(
            target=self._open,
            daemon=True,
            name="reverie-beside",
        ).start()
        self._opened.wait(OPEN_SECONDS)

    def _open(self) -> None:
        with _opening:
            self._companion = self.guarded(
                None, lambda: self.mind.companion(self.space, session=self.session)
            )
            self.session = self._companion.session if self._companion else self.session
        self._opened.set()

    @property
    def trouble(self) -> str:
        """What went wrong last, here or in the background, in one line; empty when all is well."""
        return self._trouble or (self._companion.trouble if self._companion else "")

    @property
    def is_off(self) -> bool:
        """True if memory is switched off in this conversation."""
        return self._companion is not None and self._companion.is_off

    def guarded(self, otherwise: T, work: Callable[[], T]) -> T:
        """The result of some work; if it raises, `otherwise`, and `trouble` says why."""
        try:
            return work()
        # Whatever it is: an agent must not fail because of its memory.
        except Exception as err:
            self._trouble = f"{type(err).__name__}: {err}"
            return otherwise

    def turn(self, messages: Sequence[Any]) -> Block:
        """The block to inject now, at once; often empty. See `Companion.turn`."""
        # Frameworks call from several threads, and a companion belongs to one conversation.
        with self._one_at_a_time:
            companion = self._catch_up()
            if companion is None:
                self._missed.append(messages)
                return EMPTY_BLOCK
            return self.guarded(EMPTY_BLOCK, lambda: self._without_told(companion.turn(messages)))

    def _without_told(self, block: Block) -> Block:
        """A block without what was shown before a tool while it was prepared."""
        if self._told.isdisjoint(block.ids):
            return block
        due = {memory.id for memory in block.due}
        hits = [
            Hit(memory, 0.0, why)
            for memory, why in zip(block.memories, block.why, strict=True)
            if memory.id in due or memory.id not in self._told
        ]
        # Rendered anew, for what was left out may leave room; reminders stay due as they were.
        remaining = self._render(hits)
        if not remaining:
            return EMPTY_BLOCK
        return remaining._replace(prepared_at=block.prepared_at, due=block.due)

    def heed(self, messages: Sequence[Any]) -> None:
        """Hand over messages to be kept and learned from, without taking a block."""
        with self._one_at_a_time:
            companion = self._catch_up()
            if companion is None:
                self._missed.append(messages)
            else:
                self.guarded(None, lambda: companion.heed(messages))

    def _catch_up(self) -> Companion | None:
        """The companion, after it has heeded what came before it was open; None until then."""
        companion = self._companion
        while companion is not None and self._missed:
            self.guarded(None, partial(companion.heed, self._missed.popleft()))
        return companion

    def before(self, messages: Sequence[Any]) -> Sequence[Any]:
        """What to send to the model: the messages, with the block at their end.

        The messages themselves are not altered.
        """
        block = self.turn(messages)
        return self.guarded(messages, lambda: append_block(messages, block)) if block else messages

    def after(self, messages: Sequence[Any], answer: Any) -> None:
        """Hand over the model's answer to these messages: a text, a message, or a response of
        OpenAI's or Anthropic's SDK.
        """
        said: list[Any] = self.guarded([], lambda: read_answer_messages(answer))
        if not said and answer is not None and not self.trouble:
            self.report_unread(
                f"An answer of the type {type(answer).__name__} cannot be read. {CALL_AFTER}"
            )
        self.heed(self.guarded(messages, lambda: [*messages, *said]))

    def learn_stream(
        self,
        messages: Sequence[Any] | None,
        pieces: Sequence[Any],
    ) -> None:
        """Hand over the streamed answer to these messages, once it is over."""
        if messages is None:
            return
        text = self.guarded("", lambda: join_stream_text(pieces))
        if text:
            self.after(messages, text)
            return
        if pieces:
            self.report_unread(
                f"The pieces of this answer, of the type {type(pieces[0]).__name__}, "
                f"hold no text. {CALL_AFTER}"
            )
        self.heed(messages)

    def report_unread(self, why: str) -> None:
        """Set `trouble`: something went by that could not be learned from."""
        self._trouble = why

    def warned(
        self,
        tool: str,
        arguments: Mapping[str, Any] | str,
        kinds: Sequence[str] = (),
    ) -> str:
        """What to know before this tool runs, as text; usually nothing. Each memory is shown once
        in a conversation.

        With `kinds` only memories of these, such as "negative": what must never be done.
        """

        def render_warnings() -> str:
            found = (
                []
                if self.is_off
                else self.mind.warnings(
                    tool,
                    arguments,
                    space=self.space,
                )
            )
            hits = [
                hit
                for hit in found
                if hit.memory.id not in self._told and (not kinds or hit.memory.kind in kinds)
            ]
            self._told.update(hit.memory.id for hit in hits)
            return self._render(hits).text

        return self.guarded("", render_warnings)

    def fixed(self, error: str) -> str:
        """What once made such an error go away, as text."""

        def render_fixes() -> str:
            fixes = self.mind.activity.suggest_fix(error, space=self.space)
            return self._render([Hit(fix.memory, fix.chance, ("fix",)) for fix in fixes]).text

        return "" if self.is_off else self.guarded("", render_fixes)

    def again(self) -> str:
        """What this conversation was lately given and has taught, as text, for a context that was
        shortened and has lost it.
        """

        def render_again() -> str:
            from reverie.interfaces.hooks.prompt_lookup import render_repeated_block

            with self._one_at_a_time:
                companion = self._catch_up()
                if companion is None:
                    return ""
                companion.wait(OPEN_SECONDS)
                # The context has lost it, so all of it may be injected again.
                companion.conversation.attention.injected.clear()
                work = self.mind.work
                block = render_repeated_block(
                    work.store, work.settings, self.session, self.space, work.now
                )
                return block.text

        return self.guarded("", render_again)

    def ran(
        self,
        tool: str,
        arguments: Any,
        result: Any = None,
        *,
        error: Any = None,
        duration: float | None = None,
    ) -> None:
        """Record a run of a tool, in the background. `duration` is in seconds."""
        self.guarded(
            None,
            lambda: self.mind.record_tool(
                tool,
                arguments,
                result,
                error=error,
                duration=duration,
                session=self.session,
                space=self.space,
            ),
        )

    def recall(self, question: str) -> str:
        """Search long-term memory for what is known about a question: facts, preferences,
        decisions, past work.

        Args:
            question: What you want to know, in words.
        """

        def render_recalled() -> str:
            found = (
                []
                if self.is_off
                else self.mind.recall(
                    question,
                    space=self.space,
                )
            )
            count_recall(self.mind, question, found, self.space)
            return self._render(found, asked=True).text or "Nothing is known about that."

        trouble = f"Memory cannot be searched just now. {self._trouble}".strip()
        return self.guarded(trouble, render_recalled)

    def remember(self, text: str) -> str:
        """Keep something in long-term memory that will be worth knowing in later conversations.

        Args: text: One fact, preference, decision or lesson, in a sentence that can be understood
            by itself.
        """

        def keep() -> str:
            claim = self.mind.review.vouch(text, space=self.space)._replace(author=self.author)
            kept = self.mind.remember(
                text,
                space=self.space,
                session=self.session,
                **claim.fields,
            )
            return " ".join(filter(None, (f"Kept as {kept.id}.", claim.why)))

        return self.guarded("", keep) or f"It was not kept. {self._trouble}"

    def _render(
        self,
        hits: Sequence[Hit],
        *,
        asked: bool = False,
    ) -> Block:
        settings = self.mind.settings
        limit, budget = settings.limit, settings.budget
        return render_block(
            hits,
            self.mind.work.now,
            limit=limit,
            budget=budget,
            asked=asked,
        )

    def __call__(self, model: F) -> F:
        """The same function with memory, in the shape that it has; see `wrap_model_call`."""
        return wrap_model_call(self, model)  # type: ignore[return-value]

    def close(self) -> None:
        """End the conversation: what is queued is written down. Twice does no harm."""
        self._opened.wait(CLOSE_SECONDS)
        with self._one_at_a_time:
            companion = self._catch_up()
            if companion is not None:
                self.guarded(None, companion.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ConversationPool:
    """Memory beside many conversations of one adapter: a `Beside` for each session."""

    def __init__(self, mind: Mind, space: str | None = None) -> None:
        self.mind = mind
        self.space = resolve_space(space)
        self._open: dict[str, Beside] = {}
        self._closing: list[Thread] = []
        self._lock = Lock()

    def for_session(self, session: str) -> Beside:
        """The `Beside` of a session, opened if need be."""
        with self._lock:
            beside = self._open.pop(session, None) or Beside(
                self.mind,
                self.space,
                session=session,
            )
            # Put back last: the first one is then the one that was silent longest.
            self._open[session] = beside
            if len(self._open) > MAX_OPEN:
                self._close_silent(self._open.pop(next(iter(self._open))))
        return beside

    def _close_silent(self, silent: Beside) -> None:
        # In a thread of its own: whoever opens a new conversation must not wait for the old one.
        thread = Thread(
            target=silent.close,
            daemon=True,
            name="reverie-beside",
        )
        thread.start()
        self._closing = [*(one for one in self._closing if one.is_alive()), thread]

    @property
    def trouble(self) -> str:
        """What went wrong in the conversation that spoke last of those with trouble."""
        troubles = [beside.trouble for beside in reversed(self._open.values())]
        return next(filter(None, troubles), "")

    def close(self) -> None:
        """End all conversations."""
        with self._lock:
            closing, self._open = self._open, {}
            ending, self._closing = self._closing, []
        # Beside the lock: closing writes what is queued, which takes a while.
        for beside in closing.values():
            beside.close()
        for thread in ending:
            thread.join(CLOSE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_answer_messages(answer: Any) -> list[Any]:
    """The messages in what a call of a model returned; none if it cannot be read."""
    if isinstance(answer, str):
        return [{"role": "assistant", "content": answer}]
    if isinstance(answer, (list, tuple)):
        return list(answer)
    # OpenAI's chat completions
    if choices := get_field(answer, "choices"):
        return [get_field(choices[0], "message")]
    # OpenAI's responses
    output = get_field(answer, "output")
    if isinstance(output, list):
        return output
    return [answer] if get_field(answer, "role") is not None else []
