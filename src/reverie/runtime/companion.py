"""The non-blocking side: `turn()` returns at once what the previous turn prepared.

A `Companion` belongs to one conversation. `turn` takes the block that waits, hands the newest
messages to the background thread of its mind, and returns: no inference, no database access, no
lock that another thread holds for long. The thread (`BackgroundThread`) writes every turn, prepares
for the newest one of each conversation, and settles in between. When turns outrun it, older
contexts are skipped for preparing but none is skipped for learning.

Bounded are the queue (MAX_QUEUED_TURNS; beyond it a turn is dropped and counted), what is kept of a
conversation, and the sets in `InjectionHistory`. If the thread did not keep up,
`companion.dropped` and `companion.behind` would grow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self, Unpack

from reverie.context_window import EMPTY_BLOCK, Block
from reverie.context_window.condensing import condense_strategies as condensing
from reverie.context_window.condensing.summary_draft import CondensedMessages, leave_unchanged
from reverie.context_window.context_items import ContextItem
from reverie.context_window.conversation_summary import (
    CondensedEpisode,
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
from reverie.core.memory_spans import (
    HELD_OUT,
    AttributeValue,
    describe_block,
    may_be_observed,
    memory_span,
)
from reverie.core.model import Hit, visible_spaces
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
from reverie.runtime.verb_options import WindowOptions
from reverie.text.argument_checks import check_options
from reverie.text.host_messages import HostMessage
from reverie.text.prompt_phrases import WHERE_WERE_WE, has_trait
from reverie.text.token_counts import QuarterEstimate, Tokenizer

# New messages of one turn that are taken in: who hands over a long past conversation means `learn`.
MAX_NEW_MESSAGES = 40
QUEUE_FULL = (
    "Too much waits to be written down, so nothing was taken out: it would be lost. "
    "Call again in a moment, or wait for it: companion.wait()"
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
        self._background, self._now = background, now
        self._is_first_turn = True
        self._message_index = MessageIndex()
        self._condensed_at: float | None = None
        # What was injected counts in the conversation's own space and its project, not above.
        spaces = visible_spaces(space)[: 2 if own else 1]
        history = InjectionHistory(session, spaces)
        self.conversation = ConversationState(
            space,
            has_own_space=own,
            attention=history,
        )
        resume_history(background.store, history, space, now())
        self._due_found_at = now()
        self._due = claim_at_start(
            background.store, background.settings, space, self.conversation.holder, now()
        )
        # Last: from here on the thread works with this conversation.
        background.add_companion(self)

    def turn(
        self,
        messages: Sequence[Mapping[str, Any]],
        *,
        now: float | None = None,
    ) -> Block:
        """The block that the previous turn prepared, at once; these messages are learned from and
        prepared for in the background.

        `messages` is the conversation so far, or at least its newest messages (OpenAI or Anthropic
        shape). The first turn has nothing prepared: it is answered by words alone, searched for
        `settings.deadline` seconds at most. An empty block is an answer.
        """
        self._check_open()
        if self.is_off:
            return EMPTY_BLOCK
        if not may_be_observed(None):
            return self._take_turn(messages, now)
        with memory_span("turn", self._span_attributes()) as span:
            block = self._take_turn(messages, now)
            describe_block(span, block.ids, dict.fromkeys(block.withheld, HELD_OUT))
        return block

    def _span_attributes(self) -> dict[str, AttributeValue]:
        """What a span says of the conversation."""
        return {
            "gen_ai.memory.store.id": self.space,
            "gen_ai.conversation.id": self.session,
            "reverie.surface": "python",
        }

    def _take_turn(self, messages: Sequence[Mapping[str, Any]], now: float | None) -> Block:
        """What `turn` does where memory is on."""
        at = self._timestamp(now)
        said, first = self.conversation.heard.take_new(messages, MAX_NEW_MESSAGES)
        block, stale = self._take_block(at)
        if self._is_first_turn:
            self._is_first_turn = False
            # Reminders that came due may wait in the slot already.
            block = block or self._answer_first_turn(said, at)
        if block:
            self.conversation.attention.last_given = (frozenset(block.ids), at)
            note_told_reminders(self.conversation, block.due, at)
        turn = ConversationTurn(
            self.conversation,
            said,
            first,
            block.ids,
            stale,
            at,
            block.due,
            given_why=block.why,
            withheld_ids=block.withheld,
        )
        # A full queue loses what was said, never the answer.
        if not self._background.enqueue(turn):
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
        """The messages to send to a model whose context holds `limit` tokens; what leaves it
        becomes memory.

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
        self._check_open()
        at = self._timestamp(now)
        keeps = not self.is_off
        request = FitRequest(
            limit,
            task,
            strategy,
            tokenizer or QuarterEstimate(),
            sticky,
            kept=keeps,
            policy=self._background.settings.policy.within(self.space),
        )
        index = self._message_index
        places = index.locate_messages(check_message_list(messages), at, task)
        fitted = fit_messages(
            messages,
            request,
            at,
            lambda n: places[n].known,
            index.before,
        )
        evicted = to_evicted_parts(fitted.leaving_items, places)
        if evicted and keeps and not self._enqueue_evicted(evicted, at):
            # Better too long than lost: only what had gone before stays away.
            fitted = repeat_prior_fit(messages, request, at, index.before, QUEUE_FULL)
        index.remember_fit(messages, places, fitted)
        return fitted

    def condense(
        self,
        messages: Sequence[Any],
        *,
        limit: int,
        task: str = "",
        strategy: str = condensing.DEFAULT,
        ask: bool = True,
        now: float | None = None,
        **counting: Unpack[WindowOptions],
    ) -> CondensedMessages:
        """The same conversation with its older part condensed to few lines; what leaves becomes
        memory, and so does an episode of it.

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
        check_options("condense", counting, WindowOptions)
        self._check_open()
        at = self._timestamp(now)
        places = self._message_index.locate_messages(check_message_list(messages), at, task)
        keeps = not self.is_off
        policy = self._background.settings.policy.within(self.space)
        request = FitRequest(
            limit,
            task,
            strategy,
            **counting,
            start=self._background.settings.condense_at,
            kept=keeps,
            policy=policy,
        )
        numbers = [place.number for place in places]
        facts = ConversationFacts(
            self.space, self.session, self._condensed_at, lambda n: places[n].known, numbers
        )
        llm = self._background.llm if ask else None
        condensed = condense_messages(messages, request, facts, at, llm)
        if not condensed.done:
            return condensed
        evicted = to_evicted_parts(condensed.left, places)
        if evicted and keeps:
            episode = make_episode(condensed, numbers, policy)
            # As with `fit`: what cannot be written down must not leave the context.
            if not self._enqueue_evicted(evicted, at, episode):
                return leave_unchanged(messages, request, condensed.before, trouble=QUEUE_FULL)
        self._condensed_at = at
        self._message_index.remember_messages(
            messages, places, condensed.messages, condensed.origin
        )
        return condensed

    def _enqueue_evicted(
        self,
        evicted: tuple[EvictedPart, ...],
        at: float,
        summary: CondensedEpisode | None = None,
    ) -> bool:
        """Hand over messages that left the context; False when the queue is full."""
        turn = replace(
            self._empty_turn(at),
            evicted=evicted,
            evicted_summary=summary,
        )
        return self._background.enqueue(turn)

    def _empty_turn(self, at: float) -> ConversationTurn:
        return ConversationTurn(self.conversation, (), 0, (), EMPTY_BLOCK, at)

    def heed(
        self,
        messages: Sequence[Any],
        *,
        now: float | None = None,
    ) -> None:
        """Hand over messages to be learned from and prepared for, as `turn` does, without taking
        the block.

        For what comes between two turns: the agent's answer, what tools returned. They are safe at
        once.
        """
        self._check_open()
        if self.is_off:
            return
        said, first = self.conversation.heard.take_new(messages, MAX_NEW_MESSAGES)
        if not said:
            return
        turn = replace(
            self._empty_turn(self._timestamp(now)),
            messages=said,
            first=first,
        )
        if not self._background.enqueue(turn):
            self.dropped += 1

    @property
    def is_off(self) -> bool:
        """True if memory is switched off: everywhere, in this space, or in this conversation."""
        return self._background.is_off(self.conversation)

    def off(self) -> None:
        """Switch memory off in this conversation: from now on nothing of it is kept, learned from
        or prepared for, and nothing is injected.

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
        """Switch memory on again in this conversation; what was said meanwhile is not learned."""
        self._background.switch_memory(self.conversation, on=True)

    def _check_open(self) -> None:
        if self.closed:
            raise BadInput("This companion is closed; open another with mind.companion()")

    def _timestamp(self, now: float | None) -> float:
        return self._now() if now is None else check_timestamp(now)

    def _take_block(self, at: float) -> tuple[Block, Block]:
        """(the block to inject, the block that waited too long); both may be empty."""
        # Popped without looking first: the thread may empty the slot at any moment.
        try:
            block = self.conversation.slot.pop()
        except IndexError:
            return EMPTY_BLOCK, EMPTY_BLOCK
        history = self.conversation.attention
        if history.may_inject(block, at) and not is_recently_told(
            self.conversation,
            block.due,
            at,
        ):
            return block, EMPTY_BLOCK
        return EMPTY_BLOCK, block

    def _answer_first_turn(self, messages: tuple[HostMessage, ...], at: float) -> Block:
        """The first turn's block: reminders that were due when the conversation began, and what
        search by words finds until the deadline.
        """
        focus = find_focus(messages)
        # What was found when the conversation began may have been done since.
        due = self._due if 0 <= at - self._due_found_at < FRESH_SECONDS else []
        turn = InjectionTurn(self.conversation.attention, self.space, at, due)
        background = self._background
        asked = next((one.text for one in reversed(messages) if one.role == "user"), "")
        return prepare_by_words(
            background.store,
            background.settings,
            turn,
            focus.text,
            focus.context,
            self._find_last_session(asked, at),
        )

    def _find_last_session(self, asked: str, at: float) -> list[Hit]:
        """The last session's summary, if the user begins by asking where they were."""
        # Looked at first: what answers it is imported only then.
        if not has_trait(asked, WHERE_WERE_WE):
            return []
        from reverie.extraction.session_episodes import find_where_we_were

        background = self._background
        policy = background.settings.policy
        try:
            return find_where_we_were(background.store, asked, self.space, self.session, at, policy)
        except ReverieError:
            return []

    @property
    def behind(self) -> int:
        """The number of turns of this mind that are handed over and not yet processed."""
        return self._background.behind

    def wait(self, seconds: float = 30.0) -> bool:
        """Wait until everything handed over so far is written and prepared for; False if that takes
        longer. For scripts and tests.
        """
        return self._background.wait(seconds)

    def close(self) -> None:
        """Write down what is queued. The mind's thread ends with its last companion."""
        # A conversation that never had a turn has no end worth writing down.
        if not self.closed and not self._is_first_turn:
            self._background.enqueue(replace(self._empty_turn(self._now()), is_end=True))
        self.closed = True
        self._background.remove_companion(self)
        # In trouble the claims on reminders run out by themselves.
        with suppress(ReverieError):
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


def to_evicted_parts(
    items: Sequence[ContextItem], places: Sequence[MessagePlace]
) -> tuple[EvictedPart, ...]:
    """The items that leave a context, as they are written down; stubs of earlier ones left out."""
    return tuple(to_evicted_message(item, places) for item in items if not item.is_stub)


def to_evicted_message(item: ContextItem, places: Sequence[MessagePlace]) -> EvictedPart:
    """An item that leaves a context, as it is written down."""
    numbers = [places[place].number for place in item.messages]
    role = "tool" if item.tool else item.type.partition("_")[0]
    return EvictedPart(
        item.text,
        role,
        item.at,
        (min(numbers), max(numbers)),
        item.tool,
        item.task,
    )


def check_timestamp(now: object) -> float:
    """The time as seconds since 1970; BadInput for what is no finite number."""
    if isinstance(now, bool) or not isinstance(now, (int, float)) or not math.isfinite(now):
        raise BadInput(f"now={now!r} is not a time; give seconds since 1970")
    return float(now)
