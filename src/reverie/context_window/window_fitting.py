"""A conversation made to fit: what to send, and what left it.

`fit` is pure: it takes the messages and what is known of them, and returns the messages to send.
Those that stay are the very objects that were given, in their order; where an answer became a line,
a copy stands in its place and the given object is not altered. Nothing is written down here:
`Companion.fit` hands `leaving` to be remembered.

A host may go on with what it was given back, or pass its whole conversation each time: `Before`
knows what was there the last time and takes the same out again, so that the prompt's beginning
stays the same from call to call.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf, isfinite
from types import MappingProxyType
from typing import Any, NamedTuple

from reverie.context_window.context_items import Item
from reverie.context_window.provider_messages import (
    Known,
    answers_to,
    call_ids,
    items_of,
    takes_turns,
    text_of,
    weight,
)
from reverie.context_window.pruning import DOWN, START, Plan, plan, wanted
from reverie.context_window.pruning_strategies import DEFAULT
from reverie.context_window.result_stubs import shortened
from reverie.core.errors import BadInput
from reverie.core.privacy_policy import USUAL, Policy
from reverie.text.host_messages import named, print_of, role_of
from reverie.text.token_counts import Quarter, Tokenizer

PACE = 60.0  # seconds between two messages of which nobody knows when they came


class Wish(NamedTuple):
    """What is to fit into what."""

    limit: int  # tokens of the model's context
    task: str = ""  # what is worked on
    strategy: str = DEFAULT  # a key of STRATEGIES
    tokenizer: Tokenizer = Quarter()
    sticky: Callable[[Any], bool] | None = None  # messages that never go
    start: float = START
    down: float = DOWN
    kept: bool = True  # whether what leaves is kept in memory
    policy: Policy = USUAL  # what is taken out of a text before it is written anywhere

    @property
    def goal(self) -> int:
        """Tokens that are aimed at."""
        return int(self.down * self.limit)


class Before(NamedTuple):
    """What a host passed the last time, and what of it had gone by then."""

    prints: tuple[int | None, ...] = ()  # None of a message that may differ the next time
    gone: frozenset[int] = frozenset()
    lines: Mapping[int, str] = MappingProxyType({})


NOTHING = Before()


class Fitted(NamedTuple):
    """The messages to send, and the plan that led to them."""

    messages: list[Any]
    plan: Plan
    before: Before = NOTHING
    hindered: str = ""  # why nothing was taken out though it should have been

    @property
    def leaving(self) -> tuple[Item, ...]:
        """What goes with this call, as it was."""
        return tuple(one.item for one in self.plan.going)

    @property
    def trouble(self) -> str:
        """What to do if it does not fit even so; else empty."""
        return self.hindered or self.plan.trouble


def fit(
    messages: Sequence[Any],
    wish: Wish,
    now: float,
    known: Callable[[int], Known] | None = None,
    before: Before = NOTHING,
) -> Fitted:
    """The messages that are to be sent, at most `wish.down` of the limit once `wish.start` of it is
    reached.

    `known` says when a message came and for which task, by its place. BadInput for what is no list
    of messages.
    """
    given = checked(messages)
    wanted(wish.strategy, wish.limit)
    carried = before if same_beginning(given, before.prints) else NOTHING
    there = [place for place in range(len(given)) if place not in carried.gone]
    sent = [
        shortened(given[place], carried.lines[place]) if place in carried.lines else given[place]
        for place in there
    ]
    total = sum(weight(message, text_of(message), wish.tokenizer) for message in sent)
    if total < wish.start * wish.limit:
        return Fitted(
            sent, Plan(wish.limit, total, total, prefix=total, strategy=wish.strategy), carried
        )
    facts = known or spaced(given, now)
    items = [
        item._replace(messages=tuple(there[place] for place in item.messages))
        for item in items_of(
            sent, lambda place: marked(facts(there[place]), sent[place], wish), wish.tokenizer
        )
    ]
    made = plan(
        items,
        wish.limit,
        now,
        task=wish.task,
        strategy=wish.strategy,
        start=wish.start,
        down=wish.down,
        alternate=takes_turns(sent),
        kept=wish.kept,
        count=wish.tokenizer.count,
    )
    gone = carried.gone | {
        place for one in made.going if not one.stub for place in one.item.messages
    }
    lines = {
        **carried.lines,
        **{place: one.stub for one in made.going if one.stub for place in one.item.messages},
    }
    kept = [
        shortened(message, lines[place]) if place in lines else message
        for place, message in enumerate(given)
        if place not in gone
    ]
    loose = may_differ(given)
    prints = tuple(
        None if place in loose else print_of_all(message) for place, message in enumerate(given)
    )
    return Fitted(kept, made, Before(prints, frozenset(gone), lines) if gone or lines else NOTHING)


def as_before(
    messages: Sequence[Any], wish: Wish, now: float, before: Before, hindered: str
) -> Fitted:
    """The messages that are to be sent where nothing more may go for now."""
    return fit(messages, wish._replace(start=inf), now, before=before)._replace(hindered=hindered)


def checked(messages: Any) -> Sequence[Any]:
    """A list of messages; what kind of messages they are does not matter."""
    if isinstance(messages, (str, bytes, bytearray, Mapping)) or not isinstance(messages, Sequence):
        raise BadInput(
            'A list of messages is wanted, such as [{"role": "user", "content": "…"}], not '
            f"{type(messages).__name__}"
        )
    return messages


def same_beginning(messages: Sequence[Any], prints: Sequence[int | None]) -> bool:
    """Whether a conversation begins with what these are the prints of."""
    return len(prints) <= len(messages) and all(
        known is None or print_of_all(message) == known
        for message, known in zip(messages, prints, strict=False)
    )


def may_differ(messages: Sequence[Any]) -> set[int]:
    """The places of messages that a host may pass otherwise the next time: those into which it puts
    a block.

    These are the last question, while it is worked on, and the last message. Both never go.
    """
    last = len(messages) - 1
    question = next(
        (
            place
            for place in range(last, -1, -1)
            if role_of(messages[place]) == "user" and not answers_to(messages[place])
        ),
        last,
    )
    return {last, question} - {-1}


def print_of_all(message: Any) -> int:
    """What tells a message from others, calls of tools included."""
    return hash((print_of(message), *sorted(call_ids(message)), *sorted(answers_to(message))))


def spaced(messages: Sequence[Any], now: float) -> Callable[[int], Known]:
    """What the messages say of themselves: `at`, in seconds since 1970, and `task`; else one came
    every PACE.
    """

    def known(place: int) -> Known:
        at, task = named(messages[place], "at"), named(messages[place], "task")
        since = (len(messages) - 1 - place) * PACE
        return Known(
            float(at) if isinstance(at, (int, float)) and isfinite(at) else now - since,
            task if isinstance(task, str) else "",
        )

    return known


def marked(known: Known, message: Any, wish: Wish) -> Known:
    """The same, and whether the caller wants it to stay."""
    return (
        known._replace(sticky=True) if wish.sticky is not None and wish.sticky(message) else known
    )
