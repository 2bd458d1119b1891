"""The non-blocking side: `turn()` returns at once what the previous turn prepared.

A `Companion` belongs to one conversation. `turn` takes the block that waits, hands the newest
messages to the one background thread of this mind, and returns: no inference, no database, no lock
that another thread holds for long. The thread (`Background`) writes down every turn, prepares for
the newest one of each conversation, and settles in between. When turns outrun it, older contexts
are skipped for preparing but none is skipped for learning.

Bounded: the queue (QUEUE turns; beyond it a turn is dropped and counted), what is kept of a
conversation, and the sets in `Attention`. A clean stop writes down what is queued. We would notice
by `companion.dropped`, and `behind` growing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

from reverie.context_window import EMPTY_BLOCK, Block
from reverie.context_window.condensing import condense_strategies as condensing
from reverie.context_window.condensing.summary_draft import CondensedMessages, leave_unchanged
from reverie.context_window.context_items import ContextItem
from reverie.context_window.conversation_summary import (
    ConversationFacts,
    condense_messages,
    make_episode,
)
from reverie.context_window.evicted_excerpts import EvictedPart
from reverie.context_window.injection_history import FRESH_SECONDS, InjectionHistory, resume_history
from reverie.context_window.message_index import MessageIndex, MessagePlace
from reverie.context_window.pruning_strategies import DEFAULT
from reverie.context_window.window_fitting import (
    FitRequest,
    FittedMessages,
    check_message_list,
    fit_messages,
    repeat_prior_fit,
)
from reverie.core.errors import BadInput, ReverieError
from reverie.core.model import visible_spaces
from reverie.injection.conversation_state import (
    ConversationState,
    ConversationTurn,
    is_recently_told,
    note_told_reminders,
)
from reverie.injection.due_reminders import claim_at_start, release_reminders
from reverie.injection.first_turn import InjectionTurn, prepare_by_words
from reverie.injection.prepare_block import find_focus
from reverie.runtime.background_thread import BackgroundThread
from reverie.text.host_messages import HostMessage, content_to_text
from reverie.text.token_counts import QuarterEstimate, Tokenizer

MAX_NEW_MESSAGES = 40  # messages of one turn that are taken in (CONSTANTS: extraction window)
QUEUE_FULL = (
    "Too much waits to be written down, so nothing was taken out: it would be lost. Call again in a moment, or "
    "wait for it: companion.wait()"
)


class Companion:
    """Memory beside one conversation. Use it as a context manager, or call `close`."""

    def __init__(
        self,
        background: BackgroundThread,
        space: str,
        session: str,
        own: bool,
        now: Callable[[], float],
    ) -> None:
        self.space, self.session = space, session
        self.dropped = 0  # turns that found the queue full
        self.closed = False
        self._message_index = MessageIndex()
        self._condensed_at: float | None = None  # when it was done last
        spaces = visible_spaces(space)[: 2 if own else 1]
        self.conversation = ConversationState(
            space, has_own_space=own, attention=InjectionHistory(session, spaces)
        )
        self._background, self._now, self._is_first_turn = background, now, True
        resume_history(background.store, self.conversation.attention, space, now())
        self._due_found_at, self._due = (
            now(),
            claim_at_start(
                background.store, background.settings, space, self.conversation.holder, now()
            ),
        )
        background.add_companion(self)

    def turn(self, messages: Sequence[Mapping[str, Any]], *, now: float | None = None) -> Block:
        """What the previous turn prepared, at once; and these messages go to be learned from and
        prepared for.

        `messages` is the conversation so far, or at least its newest messages (OpenAI or Anthropic
        shape). The first turn has nothing prepared: it is answered by words alone, within
        `settings.deadline`. An empty block is an answer.
        """
        if self.closed:
            raise BadInput("This companion is closed; open another with mind.companion()")
        if self.is_off:
            return EMPTY_BLOCK
        at = self._now() if now is None else check_timestamp(now)
        said, first = self.conversation.heard.take_new(messages, MAX_NEW_MESSAGES)
        block, stale = self._take_block(at)
        if self._is_first_turn:
            self._is_first_turn = False
            block = block or self._answer_first_turn(said, at)
        if block:
            self.conversation.attention.last_given = (frozenset(block.ids), at)
            note_told_reminders(self.conversation, block.due, at)
        if not self._background.enqueue(
            ConversationTurn(self.conversation, said, first, block.ids, stale, at, block.due)
        ):
            self.dropped += 1
        return block

    def fit(
        self,
        messages: Sequence[Any],
        *,
        limit: int,
        task: str = "",
        strategy: str = DEFAULT,
        tokenizer: Tokenizer | None = None,
        sticky: Callable[[Any], bool] | None = None,
        now: float | None = None,
    ) -> FittedMessages:
        """The messages to send to a model whose context holds `limit` tokens; what leaves becomes
        memory.

        Call it before each call of the model. Below 80 % of the limit nothing changes; from there
        on what matters least goes until 70 % is left: never the system prompt, the first and the
        last question, the newest messages, nor what `sticky` says stays; never a tool's call
        without its result. What goes is written down in the background and found by `recall`, and
        comes up by itself when it is spoken of again. Go on with what you were given, or pass the
        whole conversation each time. `task` names what is worked on: what belongs to it stays
        longer. Only decides and returns: in milliseconds, and in a tenth of a second for 1,000
        messages when something goes. `fitted.trouble` says so if even what has to stay does not
        fit, or if nothing can be written down just now. In a space that is switched off what goes
        is left out and not kept.
        """
        if self.closed:
            raise BadInput("This companion is closed; open another with mind.companion()")
        at = self._now() if now is None else check_timestamp(now)
        kept = not self.is_off
        wish = FitRequest(
            limit,
            task,
            strategy,
            tokenizer or QuarterEstimate(),
            sticky,
            kept=kept,
            policy=self._background.settings.policy,
        )
        places = self._message_index.locate_messages(check_message_list(messages), at, task)
        fitted = fit_messages(
            messages, wish, at, lambda place: places[place].known, self._message_index.before
        )
        gone = tuple(
            to_evicted_message(item, places) for item in fitted.leaving_items if not item.is_stub
        )
        if (
            gone
            and kept
            and not self._background.enqueue(
                ConversationTurn(self.conversation, (), 0, (), EMPTY_BLOCK, at, evicted=gone)
            )
        ):
            fitted = repeat_prior_fit(messages, wish, at, self._message_index.before, QUEUE_FULL)
        self._message_index.remember_fit(messages, places, fitted)
        return fitted

    def condense(
        self,
        messages: Sequence[Any],
        *,
        limit: int,
        task: str = "",
        strategy: str = condensing.DEFAULT,
        tokenizer: Tokenizer | None = None,
        sticky: Callable[[Any], bool] | None = None,
        ask: bool = True,
        now: float | None = None,
    ) -> CondensedMessages:
        """The same conversation with its older part in few lines; what leaves becomes memory, and
        so does what it was.

        Call it before a call of the model, after `turn`, and go on with `condensed.messages`.
        Nothing changes below 80 % of the limit (`settings.condense_at`), for fewer than 10
        messages, and within 5 minutes of the last time: `condensed.why` says so. Else all but the
        system prompt, the first question, the last ten messages and what `sticky` says may leave,
        until 70 % of the limit is taken, a summary included; it names the messages that its lines
        are from. `strategy`: "hybrid", "sliding-window", "progressive-summary", "importance-based".
        Where there is a language model it writes the summary, unless not `ask`: that takes seconds;
        without it, milliseconds. What leaves is kept word for word and found by `recall`; an
        episode tells what it was.
        """
        if self.closed:
            raise BadInput("This companion is closed; open another with mind.companion()")
        at = self._now() if now is None else check_timestamp(now)
        places = self._message_index.locate_messages(check_message_list(messages), at, task)
        kept = not self.is_off
        wish = FitRequest(
            limit,
            task,
            strategy,
            tokenizer or QuarterEstimate(),
            sticky,
            start=self._background.settings.condense_at,
            kept=kept,
            policy=self._background.settings.policy,
        )
        numbers = [place.number for place in places]
        known = ConversationFacts(
            self.space, self.session, self._condensed_at, lambda place: places[place].known, numbers
        )
        made = condense_messages(messages, wish, known, at, self._background.llm if ask else None)
        if not made.done:
            return made
        gone = tuple(to_evicted_message(item, places) for item in made.left if not item.is_stub)
        if (
            gone
            and kept
            and not self._background.enqueue(
                ConversationTurn(
                    self.conversation,
                    (),
                    0,
                    (),
                    EMPTY_BLOCK,
                    at,
                    evicted=gone,
                    evicted_summary=make_episode(made, numbers, wish.policy),
                )
            )
        ):
            return leave_unchanged(messages, wish, made.before, trouble=QUEUE_FULL)
        self._condensed_at = at
        self._message_index.remember_messages(messages, places, made.messages, made.origin)
        return made

    def heed(self, messages: Sequence[Any], *, now: float | None = None) -> None:
        """These messages go to be learned from and prepared for, as with `turn`, but nothing is
        given with them.

        For what comes between two turns: the agent's answer, what tools returned. They are safe at
        once.
        """
        if self.closed:
            raise BadInput("This companion is closed; open another with mind.companion()")
        if self.is_off:
            return
        said, first = self.conversation.heard.take_new(messages, MAX_NEW_MESSAGES)
        if said and not self._background.enqueue(
            ConversationTurn(
                self.conversation,
                said,
                first,
                (),
                EMPTY_BLOCK,
                self._now() if now is None else check_timestamp(now),
            )
        ):
            self.dropped += 1

    @property
    def is_off(self) -> bool:
        """Whether memory is switched off here: everywhere, in this space, or in this
        conversation.
        """
        return self._background.is_off(self.conversation)

    def off(self) -> None:
        """Switch memory off in this conversation: from now on nothing of it is kept, learned,
        prepared or given.

        What was said and is not written down yet is dropped, what is written down and not learned
        yet is not learned. Where the memory has a home with a config.toml that holds for every
        process and when the conversation is resumed, as after `reverie off --session`; elsewhere,
        such as in ":memory:", for this mind.
        """
        self._background.switch_memory(self.conversation, on=False)
        self._background.withdraw(
            {id for block in list(self.conversation.slot) for id in block.ids}
        )

    def on(self) -> None:
        """Switch memory on again in this conversation; what was said meanwhile stays unknown."""
        self._background.switch_memory(self.conversation, on=True)

    def _take_block(self, at: float) -> tuple[Block, Block]:
        """(the block to give, the block that waited too long)."""
        try:
            block = self.conversation.slot.pop()
        except IndexError:
            return EMPTY_BLOCK, EMPTY_BLOCK
        gives = self.conversation.attention.may_inject(block, at) and not is_recently_told(
            self.conversation, block.due, at
        )
        return (block, EMPTY_BLOCK) if gives else (EMPTY_BLOCK, block)

    def _answer_first_turn(self, said: tuple[HostMessage, ...], at: float) -> Block:
        """The first turn's answer: what was due when the conversation began, and the lexical stage,
        cut off at the deadline.
        """
        about, settings, attention = (
            find_focus(said),
            self._background.settings,
            self.conversation.attention,
        )
        due = self._due if 0 <= at - self._due_found_at < FRESH_SECONDS else []
        turn = InjectionTurn(attention, self.space, at, due)
        return prepare_by_words(self._background.store, settings, turn, about.text, about.context)

    @property
    def behind(self) -> int:
        """Turns of this mind that are handed over and not yet written down and prepared for."""
        return self._background.behind

    def wait(self, seconds: float = 30.0) -> bool:
        """Wait until everything handed over so far is written down and prepared for. For scripts
        and tests.
        """
        return self._background.wait(seconds)

    def close(self) -> None:
        """Write down what is queued and let go. The mind's thread ends with its last companion."""
        if not self.closed and not self._is_first_turn:
            self._background.enqueue(
                ConversationTurn(
                    self.conversation, (), 0, (), EMPTY_BLOCK, self._now(), is_end=True
                )
            )
        self.closed = True
        self._background.remove_companion(self)
        with suppress(ReverieError):  # then it is let go of when its time is over
            unused = [hit.memory for hit in self._due if self._is_first_turn]
            unused += [memory for block in self.conversation.slot for memory in block.due]
            release_reminders(self._background.store, unused, self.conversation.holder)

    @property
    def trouble(self) -> str:
        """What went wrong in the background last, in one line; empty when all is well."""
        return self._background.trouble

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def to_evicted_message(item: ContextItem, places: Sequence[MessagePlace]) -> EvictedPart:
    """An item as it is written down."""
    numbers = [places[place].number for place in item.messages]
    role = "tool" if item.tool else item.type.partition("_")[0]
    return EvictedPart(item.text, role, item.at, (min(numbers), max(numbers)), item.tool, item.task)


def check_timestamp(now: object) -> float:
    """A time that can be written down."""
    if isinstance(now, bool) or not isinstance(now, (int, float)) or not math.isfinite(now):
        raise BadInput(f"now={now!r} is not a time; give seconds since 1970")
    return float(now)


__all__ = ["BackgroundThread", "Companion", "content_to_text", "resume_history"]
