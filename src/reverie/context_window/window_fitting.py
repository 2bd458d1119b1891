"""A conversation made to fit: what to send, and what left it.

`fit_messages` is pure: it takes the messages and what is known of them, and returns the messages to
send. Those that stay are the very objects that were given, in their order; where an answer became a
line, a copy stands in its place and the given object is not altered. Nothing is written down here:
`Companion.fit` hands `leaving_items` to be remembered.

A host may go on with what it was given back, or pass its whole conversation each time: `PriorFit`
knows what was there the last time and takes the same out again, so that the prompt's beginning
stays the same from call to call.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf, isfinite
from types import MappingProxyType
from typing import Any, NamedTuple

from reverie.context_window.context_items import ContextItem
from reverie.context_window.message_parts import Messages, count_message_tokens, get_message_text
from reverie.context_window.provider_messages import (
    MessageFacts,
    MessageLookup,
    has_strict_turns,
    list_answered_ids,
    list_call_ids,
    split_context_items,
)
from reverie.context_window.pruning import (
    START_SHARE,
    TARGET_SHARE,
    PruningGoal,
    PruningPlan,
    get_pruning_strategy,
    plan_pruning,
)
from reverie.context_window.pruning_strategies import DEFAULT
from reverie.context_window.result_stubs import replace_with_stub
from reverie.core.errors import BadInput
from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.text.host_messages import get_field, hash_message, role_of
from reverie.text.token_counts import QuarterEstimate, Tokenizer

# Between two messages of which nobody knows when they came.
PACE_SECONDS = 60.0


class FitRequest(NamedTuple):
    """What is to fit into what."""

    limit: int  # tokens of the model's context
    task: str = ""  # what is worked on
    strategy: str = DEFAULT  # a key of STRATEGIES
    tokenizer: Tokenizer = QuarterEstimate()
    sticky: Callable[[Any], bool] | None = None  # messages that never go
    start: float = START_SHARE
    down: float = TARGET_SHARE
    kept: bool = True  # whether what leaves is kept in memory
    policy: Policy = DEFAULT_POLICY  # what is taken out of a text before it is written anywhere

    @property
    def goal(self) -> int:
        """Tokens that are aimed at."""
        return int(self.down * self.limit)


class PriorFit(NamedTuple):
    """What a host passed the last time, and what of it had gone by then."""

    fingerprints: tuple[int | None, ...] = ()  # None of a message that may differ the next time
    gone: frozenset[int] = frozenset()
    stubs: Mapping[int, str] = MappingProxyType({})


NO_PRIOR_FIT = PriorFit()


class FittedMessages(NamedTuple):
    """The messages to send, and the plan that led to them."""

    messages: list[Any]
    plan: PruningPlan
    before: PriorFit = NO_PRIOR_FIT
    hindered: str = ""  # why nothing was taken out though it should have been

    @property
    def leaving_items(self) -> tuple[ContextItem, ...]:
        """What goes with this call, as it was."""
        return tuple(one.item for one in self.plan.going)

    @property
    def trouble(self) -> str:
        """What to do if it does not fit even so; else empty."""
        return self.hindered or self.plan.trouble


def fit_messages(
    messages: Messages,
    wish: FitRequest,
    now: float,
    known: MessageLookup | None = None,
    before: PriorFit = NO_PRIOR_FIT,
) -> FittedMessages:
    """The messages that are to be sent, at most `wish.down` of the limit once `wish.start` of it is
    reached.

    `known` says when a message came and for which task, by its place. BadInput for what is no list
    of messages.
    """
    # First takes out again what had gone the last time, so that the prompt begins as it did; only
    # then it is asked whether that is enough.
    given = check_message_list(messages)
    get_pruning_strategy(wish.strategy, wish.limit)
    carried = before if has_same_beginning(given, before.fingerprints) else NO_PRIOR_FIT
    there = [place for place in range(len(given)) if place not in carried.gone]
    sent = apply_fit(given, carried.gone, carried.stubs)
    total = sum(
        count_message_tokens(message, get_message_text(message), wish.tokenizer) for message in sent
    )
    if total < wish.start * wish.limit:
        room = PruningPlan(wish.limit, total, total, prefix=total, strategy=wish.strategy)
        return FittedMessages(sent, room, carried)
    facts = known or space_message_times(given, now)

    def facts_of_sent(place: int) -> MessageFacts:
        return mark_sticky(facts(there[place]), sent[place], wish)

    # The plan names messages by their places in what the host passed.
    items = []
    for item in split_context_items(sent, facts_of_sent, wish.tokenizer):
        passed = tuple(there[place] for place in item.messages)
        items.append(item._replace(messages=passed))
    alternate = has_strict_turns(sent)
    goal = PruningGoal(wish.limit, now, wish.task, wish.strategy, wish.start, wish.down, alternate)
    plan = plan_pruning(items, goal, kept=wish.kept, count=wish.tokenizer.count)
    gone, stubs = set(carried.gone), dict(carried.stubs)
    for pruned in plan.going:
        if pruned.stub:
            stubs.update(dict.fromkeys(pruned.item.messages, pruned.stub))
        else:
            gone.update(pruned.item.messages)
    fit = NO_PRIOR_FIT
    if gone or stubs:
        fit = PriorFit(fingerprint_messages(given), frozenset(gone), stubs)
    return FittedMessages(apply_fit(given, gone, stubs), plan, fit)


def apply_fit(
    messages: Messages,
    gone: Collection[int],
    stubs: Mapping[int, str],
) -> list[Any]:
    """The messages without those that are gone, and with a line in place of long answers."""
    return [
        replace_with_stub(message, stubs[place]) if place in stubs else message
        for place, message in enumerate(messages)
        if place not in gone
    ]


def fingerprint_messages(messages: Messages) -> tuple[int | None, ...]:
    """The fingerprint of each message; None of one that may differ the next time."""
    changing = find_changing_places(messages)
    return tuple(
        None if place in changing else fingerprint_with_calls(message)
        for place, message in enumerate(messages)
    )


def repeat_prior_fit(
    messages: Messages,
    wish: FitRequest,
    now: float,
    before: PriorFit,
    hindered: str,
) -> FittedMessages:
    """The messages that are to be sent where nothing more may go for now."""
    fitted = fit_messages(messages, wish._replace(start=inf), now, before=before)
    return fitted._replace(hindered=hindered)


def check_message_list(messages: Any) -> Messages:
    """A list of messages; what kind of messages they are does not matter. BadInput for anything
    else.
    """
    if isinstance(
        messages,
        (str, bytes, bytearray, Mapping),
    ) or not isinstance(messages, Sequence):
        raise BadInput(
            'A list of messages is wanted, such as [{"role": "user", "content": "…"}], not '
            f"{type(messages).__name__}"
        )
    return messages


def has_same_beginning(messages: Messages, prints: Sequence[int | None]) -> bool:
    """True if a conversation begins with the messages of these fingerprints."""
    if len(prints) > len(messages):
        return False
    return all(
        known is None or fingerprint_with_calls(message) == known
        for message, known in zip(messages, prints, strict=False)
    )


def find_changing_places(messages: Messages) -> set[int]:
    """The places of messages that a host may pass otherwise the next time: those into which it puts
    a block.

    These are the last question, while it is worked on, and the last message. Both never go.
    """
    last = len(messages) - 1
    # What answers a tool is the user's message with Anthropic, but no question.
    question = next(
        (
            place
            for place in range(last, -1, -1)
            if role_of(messages[place]) == "user" and not list_answered_ids(messages[place])
        ),
        last,
    )
    return {last, question} - {-1}


def fingerprint_with_calls(message: Any) -> int:
    """What tells a message from others, calls of tools included."""
    calls, answers = sorted(list_call_ids(message)), sorted(list_answered_ids(message))
    return hash((hash_message(message), *calls, *answers))


def space_message_times(messages: Messages, now: float) -> MessageLookup:
    """What the messages say of themselves: `at`, in seconds since 1970, and `task`; else one came
    every PACE_SECONDS.
    """

    def known(place: int) -> MessageFacts:
        at, task = read_message_time(messages[place]), get_field(messages[place], "task")
        if at is None:
            at = now - (len(messages) - 1 - place) * PACE_SECONDS
        return MessageFacts(at, task if isinstance(task, str) else "")

    return known


def read_message_time(message: Any) -> float | None:
    """When a message says that it came (`at`), in seconds since 1970; None if it does not."""
    at = get_field(message, "at")
    return float(at) if isinstance(at, (int, float)) and isfinite(at) else None


def mark_sticky(
    known: MessageFacts,
    message: Any,
    wish: FitRequest,
) -> MessageFacts:
    """The same, sticky if the caller wants the message to stay."""
    wanted = wish.sticky is not None and wish.sticky(message)
    return known._replace(sticky=True) if wanted else known
