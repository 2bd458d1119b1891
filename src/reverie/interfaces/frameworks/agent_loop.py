"""Memory beside any agent's loop: as a context manager, or as a decorator of the function that
calls the model.

    with Beside(mind, "me/shop", session="monday") as memory:
        answer = model(memory.before(messages))
        memory.after(messages, answer)

    @Beside(mind, "me/shop", session="monday")
    def model(messages): ...             # or a method, a coroutine, a generator that streams the answer

Always true: nothing here raises because of memory (`spared` is the one place of this room that
catches everything, and `trouble` tells what it caught); a turn waits neither for inference nor for
another process that writes. The other adapters stand on this one.
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
from reverie.memory.memory_validation import resolve_space
from reverie.runtime.companion import Companion
from reverie.text.host_messages import get_field

if TYPE_CHECKING:
    from reverie.runtime.mind import Mind

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

# seconds that a conversation's beginning may take; longer, and its first turns go without
OPEN_SECONDS = 0.5
CLOSE_SECONDS = 10.0  # seconds that the end of a conversation waits for its beginning
MAX_MISSED = 40  # lists of messages that came before the beginning was over, and are heeded then
# conversations that one adapter keeps open; of more, the one that was silent longest is closed
MAX_OPEN = 100
CALL_AFTER = "Call after(messages, text) with what was said"
_opening = Lock()  # a mind's thread is made once


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
        self.mind, self.session, self.space = mind, session, resolve_space(space)
        self.author = author  # who keeps something by `remember`: the framework and its model
        self._companion: Companion | None = None
        self._missed: deque[Sequence[Any]] = deque(maxlen=MAX_MISSED)
        self._trouble = ""
        self._told: set[str] = set()  # memories that were told before a tool
        self._one_at_a_time, self._opened = Lock(), Event()
        Thread(target=self._open, daemon=True, name="reverie-beside").start()
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
        """Whether memory is switched off in this conversation."""
        return self._companion is not None and self._companion.is_off

    def guarded(self, otherwise: T, work: Callable[[], T]) -> T:
        """What the work returns; if it fails, this instead, and `trouble` says why. The agent goes
        on.
        """
        try:
            return work()
        except Exception as err:
            self._trouble = f"{type(err).__name__}: {err}"
            return otherwise

    def turn(self, messages: Sequence[Any]) -> Block:
        """What comes up by itself for this conversation now, at once; often nothing. See
        `Companion.turn`.
        """
        with self._one_at_a_time:
            if (companion := self._caught_up()) is None:
                self._missed.append(messages)
                return EMPTY_BLOCK
            return self.guarded(EMPTY_BLOCK, lambda: self._without_told(companion.turn(messages)))

    def _without_told(self, block: Block) -> Block:
        """A block without what was told before a tool meanwhile: it may have been prepared at the
        same time.
        """
        if self._told.isdisjoint(block.ids):
            return block
        settings, due = self.mind.settings, {memory.id for memory in block.due}
        hits = [
            Hit(memory, 0.0, why)
            for memory, why in zip(block.memories, block.why, strict=True)
            if memory.id in due or memory.id not in self._told
        ]
        left = render_block(hits, self.mind.work.now, limit=settings.limit, budget=settings.budget)
        return left._replace(prepared_at=block.prepared_at, due=block.due) if left else EMPTY_BLOCK

    def heed(self, messages: Sequence[Any]) -> None:
        """These messages are kept and learned from; nothing is given for them."""
        with self._one_at_a_time:
            if (companion := self._caught_up()) is None:
                self._missed.append(messages)
            else:
                self.guarded(None, lambda: companion.heed(messages))

    def _caught_up(self) -> Companion | None:
        """The companion, once the conversation has begun; it has heeded what came before that."""
        while (companion := self._companion) is not None and self._missed:
            self.guarded(None, partial(companion.heed, self._missed.popleft()))
        return companion

    def before(self, messages: Sequence[Any]) -> Sequence[Any]:
        """What to send to the model: the messages, with what comes up at their end. They themselves
        are not altered.
        """
        block = self.turn(messages)
        return self.guarded(messages, lambda: append_block(messages, block)) if block else messages

    def after(self, messages: Sequence[Any], answer: Any) -> None:
        """What the model answered to these: a text, a message, or a response of OpenAI's or
        Anthropic's SDK.
        """
        said: list[Any] = self.guarded([], lambda: read_answer_messages(answer))
        if not said and answer is not None and not self.trouble:
            self.report_unread(
                f"An answer of the type {type(answer).__name__} cannot be read. {CALL_AFTER}"
            )
        self.heed(self.guarded(messages, lambda: [*messages, *said]))

    def learn_stream(self, messages: Sequence[Any] | None, pieces: Sequence[Any]) -> None:
        """What the model answered to these piece by piece, once it is over."""
        if messages is None:
            return
        if text := self.guarded("", lambda: join_stream_text(pieces)):
            self.after(messages, text)
            return
        if pieces:
            self.report_unread(
                f"The pieces of this answer, of the type {type(pieces[0]).__name__}, hold no text. {CALL_AFTER}"
            )
        self.heed(messages)

    def report_unread(self, why: str) -> None:
        """Something went by that could not be learned from; `trouble` says so."""
        self._trouble = why

    def warned(
        self, tool: str, arguments: Mapping[str, Any] | str, kinds: Sequence[str] = ()
    ) -> str:
        """What to know before this tool runs, as a block of text; each memory once in a
        conversation, usually none.

        With `kinds` only memories of these, such as "negative": what must never be done.
        """

        def called() -> str:
            found = [] if self.is_off else self.mind.warnings(tool, arguments, space=self.space)
            hits = [
                hit
                for hit in found
                if hit.memory.id not in self._told and (not kinds or hit.memory.kind in kinds)
            ]
            self._told.update(hit.memory.id for hit in hits)
            return self._text(hits)

        return self.guarded("", called)

    def fixed(self, error: str) -> str:
        """What once made such an error go away, as a block of text."""
        return (
            ""
            if self.is_off
            else self.guarded(
                "",
                lambda: self._text(
                    [
                        Hit(one.memory, one.chance, ("fix",))
                        for one in self.mind.suggest_fix(error, space=self.space)
                    ]
                ),
            )
        )

    def again(self) -> str:
        """What this conversation was given lately and has taught, for a context that was shortened
        and has lost it.
        """

        def said() -> str:
            from reverie.interfaces.hooks.prompt_lookup import render_repeated_block

            with self._one_at_a_time:
                if (companion := self._caught_up()) is None:
                    return ""
                companion.wait(OPEN_SECONDS)
                companion.conversation.attention.injected.clear()
                work = self.mind.work
                return render_repeated_block(
                    work.store, work.settings, self.session, self.space, work.now
                ).text

        return self.guarded("", said)

    def ran(
        self,
        tool: str,
        arguments: Any,
        result: Any = None,
        *,
        error: Any = None,
        duration: float | None = None,
    ) -> None:
        """A tool ran; it is written down in the background. `duration` in seconds."""
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
        return self.guarded(
            f"Memory cannot be searched just now. {self._trouble}".strip(),
            lambda: (
                self._text(
                    [] if self.is_off else self.mind.recall(question, space=self.space), asked=True
                )
                or "Nothing is known about that."
            ),
        )

    def remember(self, text: str) -> str:
        """Keep something in long-term memory that will be worth knowing in later conversations.

        Args: text: One fact, preference, decision or lesson, in a sentence that can be understood
            by itself.
        """

        def kept() -> str:
            claim = self.mind.vouch(text, space=self.space)._replace(author=self.author)
            kept = self.mind.remember(text, space=self.space, session=self.session, **claim.fields)
            return " ".join(filter(None, (f"Kept as {kept.id}.", claim.why)))

        return self.guarded("", kept) or f"It was not kept. {self._trouble}"

    def _text(self, hits: Sequence[Hit], *, asked: bool = False) -> str:
        settings = self.mind.settings
        return render_block(
            hits, self.mind.work.now, limit=settings.limit, budget=settings.budget, asked=asked
        ).text

    def __call__(self, model: F) -> F:
        """The same function, in the shape that it has, with memory. See `around`, which says where
        the messages are.
        """
        return wrap_model_call(self, model)  # type: ignore[return-value]

    def close(self) -> None:
        """The conversation is over: what is queued is written down. Twice does no harm."""
        self._opened.wait(CLOSE_SECONDS)
        with self._one_at_a_time:
            if (companion := self._caught_up()) is not None:
                self.guarded(None, companion.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ConversationPool:
    """Memory beside many conversations, for an adapter that serves them all: one `Beside` for each
    session.
    """

    def __init__(self, mind: Mind, space: str | None = None) -> None:
        self.mind, self.space = mind, resolve_space(space)
        self._open: dict[str, Beside] = {}
        self._closing: list[Thread] = []
        self._lock = Lock()

    def for_session(self, session: str) -> Beside:
        """The one of a session."""
        with self._lock:
            beside = self._open.pop(session, None) or Beside(self.mind, self.space, session=session)
            self._open[session] = beside  # the last to have spoken stands last
            silent = next(iter(self._open)) if len(self._open) > MAX_OPEN else None
            if silent is not None:
                self._close_silent(self._open.pop(silent))
        return beside

    def _close_silent(self, silent: Beside) -> None:
        thread = Thread(target=silent.close, daemon=True, name="reverie-beside")
        thread.start()
        self._closing = [*(one for one in self._closing if one.is_alive()), thread]

    @property
    def trouble(self) -> str:
        """What went wrong last in any of them."""
        return next(
            (beside.trouble for beside in reversed(self._open.values()) if beside.trouble), ""
        )

    def close(self) -> None:
        """All conversations are over."""
        with self._lock:
            closing, self._open = self._open, {}
            ending, self._closing = self._closing, []
        for beside in closing.values():
            beside.close()
        for thread in ending:
            thread.join(CLOSE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_answer_messages(answer: Any) -> list[Any]:
    """The messages in what a function that calls a model returned; none where there is nothing to
    be read.
    """
    if isinstance(answer, str):
        return [{"role": "assistant", "content": answer}]
    if isinstance(answer, (list, tuple)):
        return list(answer)
    if choices := get_field(answer, "choices"):  # OpenAI's chat completions
        return [get_field(choices[0], "message")]
    if isinstance(output := get_field(answer, "output"), list):  # OpenAI's responses
        return output
    return [answer] if get_field(answer, "role") is not None else []
