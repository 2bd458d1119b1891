"""Which messages leave a conversation, where the summary goes, and the resulting list.

The summary takes the place of a summary that is there, else of the first of the user's messages
that leaves, and is the user's message too: so the roles stay in an order that OpenAI and Anthropic
take. Where only calls of tools leave a conversation in strict turns, it takes the place of the
first of them, behind an assistant's message that announces it; where only answers became lines,
that of the first of the user's messages that may leave.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from reverie.context_window.condensing.condense_strategies import (
    CondenseStrategy,
    get_condense_strategy,
)
from reverie.context_window.condensing.summary_lines import (
    MARK,
    NOTE,
    SummaryLine,
    SummarySpan,
    extend_span,
    extract_summary_lines,
    is_summary,
    list_frequent_names,
    merge_looked_at,
    order_summary_lines,
    rank_summary_lines,
    render_condensed_summary,
    render_summary_head,
)
from reverie.context_window.context_items import ContextItem
from reverie.context_window.message_parts import MESSAGE_OVERHEAD, Messages
from reverie.context_window.provider_messages import (
    MessageFacts,
    MessageLookup,
    has_strict_turns,
    split_context_items,
)
from reverie.context_window.pruning import PrunedItem, PruningGoal, plan_pruning
from reverie.context_window.pruning_strategies import WindowSnapshot, score_by_importance
from reverie.context_window.result_stubs import replace_with_stub
from reverie.context_window.window_fitting import (
    FitRequest,
    check_message_list,
    mark_sticky,
    space_message_times,
)

# Newest messages that stay word for word.
KEPT_MESSAGES = 10
# Tokens that a summary may take at least, if the target allows.
MIN_SUMMARY_TOKENS = 200


class CondenseDraft(NamedTuple):
    """The messages to remove, and the lines that may summarise them."""

    given: Messages
    wish: FitRequest
    before: int  # tokens
    others: int  # tokens of what stays
    room: int  # tokens that the summary may take
    left: tuple[ContextItem, ...]  # what leaves, in order
    shortened: tuple[PrunedItem, ...]  # answers that become a line, in order
    seat: tuple[int, ...]  # places whose messages the summary replaces; empty: see `laid_out`
    alternate: bool  # whether user and assistant take turns strictly
    numbers: tuple[int, ...]  # of all messages in their conversation
    head: str = ""  # what stands above the lines
    # the best sentences, the best first; twice what there is room for
    lines: tuple[SummaryLine, ...] = ()

    @property
    def placed(self) -> bool:
        """True if there is a place for a summary: see `lay_out_messages`."""
        return bool(self.seat) or not self.alternate

    @property
    def moved(self) -> list[ContextItem]:
        """All of which something leaves, in the order of the conversation."""
        shortened = [one.item for one in self.shortened]
        return sorted([*self.left, *shortened], key=lambda item: item.messages)

    @property
    def spare(self) -> int:
        """Tokens that are left for lines, beside the head and the messages' own; may be below 0."""
        empty = render_condensed_summary((), self.head)
        return self.room - self.wish.tokenizer.count(empty) - 2 * MESSAGE_OVERHEAD


class CondensedMessages(NamedTuple):
    """The messages to go on with. `why` tells why nothing was done; `trouble` what to do if it is
    still too much.
    """

    messages: list[Any]
    before: int
    after: int
    goal: int
    strategy: str
    summary: str = ""
    lines: tuple[SummaryLine, ...] = ()
    left: tuple[ContextItem, ...] = ()  # what left: calls with their results, in order
    origin: tuple[int, ...] = ()  # of each message, its place in the list that was given
    by: str = ""  # who wrote the summary: "words", or the name of the model
    why: str = ""
    trouble: str = ""

    @property
    def done(self) -> bool:
        """True if anything left."""
        return bool(self.left)


def leave_unchanged(
    messages: Messages,
    wish: FitRequest,
    tokens: int,
    why: str = "nothing was taken out",
    trouble: str = "",
) -> CondensedMessages:
    """The messages as they were, which weigh so many tokens: `why`, and as `trouble` what to do
    about it.
    """
    return CondensedMessages(
        list(messages),
        tokens,
        tokens,
        wish.goal,
        wish.strategy,
        origin=tuple(range(len(messages))),
        why=why,
        trouble=trouble,
    )


def draft_condensing(
    messages: Messages,
    wish: FitRequest,
    now: float,
    *,
    known: MessageLookup | None = None,
    numbers: Sequence[int] = (),
    session: str = "",
) -> CondenseDraft:
    """What leaves so that `wish.down` of the limit is left, by `wish.strategy`.

    `known` says when a message came and for which task, `numbers` its number in the conversation
    (default: its place); `session` is the name under which `mind.sessions.read` has all of them.
    BadInput for what is no list of messages.
    """
    given = check_message_list(messages)
    strategy = get_condense_strategy(wish.strategy, wish.limit)
    facts = known or space_message_times(given, now)

    def facts_of(place: int) -> MessageFacts:
        return mark_sticky(facts(place), given[place], wish)

    # The newest stay word for word: they are what is worked on.
    every = split_context_items(given, facts_of, wish.tokenizer)
    items = [pin_newest_item(item, len(given)) for item in every]
    share = min(max(int(strategy.summary * wish.goal), MIN_SUMMARY_TOKENS), wish.goal // 2)
    alternate = has_strict_turns(given)
    goal = PruningGoal(wish.limit, now, wish.task, alternate=alternate)
    choose = partial(choose_leaving_items, wish=wish, strategy=strategy, goal=goal)
    going = choose(items, left=wish.goal - share)
    place = find_summary_seat(items, going, alternate=alternate)
    if place is not None:
        # The summary takes an item's place: what else leaves is chosen anew around it.
        taken = items[place]._replace(sticky="the summary's place", tokens=share)
        going = choose([*items[:place], taken, *items[place + 1 :]], left=wish.goal)
        going = going._replace(whole=going.whole | {place})
    before = sum(item.tokens for item in items)
    left = tuple(items[place] for place in sorted(going.whole))
    freed = sum(item.tokens for item in left) + sum(one.tokens for one in going.shortened)
    draft = CondenseDraft(
        given,
        wish,
        before,
        others=before - freed,
        room=max(0, min(share, wish.goal - before + freed)),
        left=left,
        shortened=going.shortened,
        seat=items[place].messages if place is not None else (),
        alternate=alternate,
        numbers=tuple(numbers) or tuple(range(len(given))),
    )
    if not draft.moved:
        return draft
    scores = score_by_importance(WindowSnapshot(items, now))
    importance = {item.messages: score for item, score in zip(items, scores, strict=True)}
    return add_summary_lines(draft, importance, session)


def pin_newest_item(item: ContextItem, total: int) -> ContextItem:
    """The same item, sticky if it holds one of the last messages."""
    is_newest = item.messages[-1] >= total - KEPT_MESSAGES
    return item._replace(sticky="newest") if is_newest and not item.sticky else item


class LeavingItems(NamedTuple):
    """Indexes of the items that are removed, and of those that become one line."""

    whole: set[int]
    shortened: tuple[PrunedItem, ...]


def choose_leaving_items(
    items: Sequence[ContextItem],
    wish: FitRequest,
    strategy: CondenseStrategy,
    goal: PruningGoal,
    left: int,
) -> LeavingItems:
    """What goes, so that `left` tokens are left. A summary that is there always goes: the new one
    takes it in.
    """
    goal = goal._replace(
        strategy=strategy.stays or "oldest",
        start=0.0,
        target=max(0, left) / wish.limit if strategy.stays else 0.0,
    )
    plan = plan_pruning(
        items,
        goal,
        may_shorten=strategy.stubs,
        kept=wish.kept,
    )
    gone = {pruned.item.messages for pruned in plan.going if not pruned.stub}
    whole = {
        place
        for place, item in enumerate(items)
        if item.messages in gone or (is_earlier_summary(item) and not item.sticky)
    }
    return LeavingItems(whole, tuple(pruned for pruned in plan.going if pruned.stub))


def is_earlier_summary(item: ContextItem) -> bool:
    """True for a summary that is in the conversation, and not for the note before one."""
    return item.text.startswith(MARK) and is_summary(item.text)


def find_summary_seat(
    items: Sequence[ContextItem],
    going: LeavingItems,
    *,
    alternate: bool,
) -> int | None:
    """Where among `items` the summary stands in place of what goes; None: it stands nowhere yet."""
    for place in sorted(going.whole):
        if items[place].text.startswith(MARK):
            return place
    questions = [
        place
        for place, item in enumerate(items)
        if item.type == "user_message" and item.message_count == 1
    ]
    seats = [place for place in questions if place in going.whole]
    if alternate:
        short = {pruned.item.messages for pruned in going.shortened}
        # A call and its result leave an even number of places: the note and the summary fit.
        for place, item in enumerate(items):
            goes = place in going.whole or item.messages in short
            if item.message_count == 2 and goes:
                seats.append(place)
        if short:
            seats += [place for place in questions if not items[place].sticky]
    return seats[0] if seats else None


def add_summary_lines(
    made: CondenseDraft,
    worth: dict[tuple[int, ...], float],
    session: str,
) -> CondenseDraft:
    """The same, with what may be said of what leaves: the head of the summary, and the best
    sentences.
    """
    going = made.moved
    own = [item for item in going if not is_summary(item.text)] or going
    numbers = [made.numbers[place] for item in own for place in item.messages]
    policy = made.wish.policy
    told: dict[SummaryLine, float] = {}
    importance: dict[SummaryLine, float] = {}
    for item in going:
        for line, weight in extract_summary_lines(item, made.numbers[item.messages[0]], policy):
            told[line] = max(weight, told.get(line, 0.0))
            importance[line] = worth[item.messages]
    merged = merge_looked_at(told)
    said = {line: weight * importance.get(line, 1.0) for line, weight in merged.items()}
    names = list_frequent_names(own, policy)
    span = extend_span(
        SummarySpan(min(numbers), max(numbers), len(numbers)),
        going,
    )
    made = made._replace(head=render_summary_head(span, names, session))
    spare = max(0, made.spare)
    if made.spare < 0:
        made = made._replace(head=MARK)
    count = made.wish.tokenizer.count
    lines = rank_summary_lines(
        list(said),
        list(said.values()),
        2 * spare,
        count,
    )
    return made._replace(lines=tuple(lines))


def fit_summary_lines(made: CondenseDraft, lines: Sequence[SummaryLine]) -> list[SummaryLine]:
    """The first of these lines that there is room for, in the order in which they were said."""
    count = made.wish.tokenizer.count
    left = made.spare - (count(NOTE) if len(made.seat) > 1 else 0)
    chosen = []
    for line in lines:
        cost = count(str(line)) + 1
        if cost <= left:
            chosen.append(line)
            left -= cost
    return order_summary_lines(chosen, {line: place for place, line in enumerate(lines)})


def finish_condensing(
    made: CondenseDraft,
    lines: Sequence[SummaryLine],
    by: str,
) -> CondensedMessages:
    """The list to go on with: what stays, as the very objects that were given, and the summary."""
    same = leave_unchanged(
        made.given,
        made.wish,
        made.before,
        "nothing may leave",
        explain_over_target(made.before, made.wish),
    )
    if not made.moved:
        return same
    summary = render_condensed_summary(lines, made.head) if made.placed else ""
    new: list[Any] = [{"role": "user", "content": summary}] if summary else []
    if len(made.seat) > 1:
        new = [{"role": "assistant", "content": NOTE}, *new]
    count = made.wish.tokenizer.count
    after = made.others + sum(count(message["content"]) + MESSAGE_OVERHEAD for message in new)
    # A short stretch may take less room than a summary of it.
    if after >= made.before:
        return same._replace(why="a summary would take as much as what leaves")
    laid = list(lay_out_messages(made, new))
    own = tuple(item for item in made.moved if not is_summary(item.text))
    return same._replace(
        messages=[message for _, message in laid],
        after=after,
        summary=summary,
        lines=tuple(lines) if summary else (),
        left=own,
        by=by,
        why="",
        origin=tuple(place for place, _ in laid),
        trouble=explain_over_target(after, made.wish),
    )


def lay_out_messages(
    made: CondenseDraft,
    new: Sequence[Any],
) -> Iterator[tuple[int, Any]]:
    """The list to go on with, each message with its place in the given one; a summary's is that
    where it stands.

    Without a seat it stands before the first of what goes; where roles alternate it then stands
    nowhere, which can only be if answers became lines and nothing that the user said may leave:
    each line stands where its answer stood.
    """
    gone = {place for item in made.left for place in item.messages}
    short = {place: one.stub for one in made.shortened for place in one.item.messages}
    stands = made.seat[0] if made.seat else made.moved[0].messages[0]
    for place, message in enumerate(made.given):
        if place == stands:
            yield from ((place, one) for one in new)
        if place not in gone:
            yield place, replace_with_stub(message, short[place]) if place in short else message


def explain_over_target(after: int, wish: FitRequest) -> str:
    """What to do where it is more than was aimed at; else empty."""
    if after <= wish.goal:
        return ""
    return (
        f"{after:,} tokens are left and {wish.goal:,} were aimed at: the last {KEPT_MESSAGES} "
        "messages, the system prompt, the first question and what is sticky stay whatever they "
        "weigh. Raise the limit, mark less as sticky, or shorten those"
    )
