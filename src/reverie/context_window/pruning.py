"""What leaves a context that has become too full: decided here, done by whoever sends the messages.

From START of the limit on, the least worth goes until DOWN of it is left (D51, D66, CC-78;
CONSTANTS: ctx removal). What is sticky never goes. A provider keeps the beginning of a prompt that
is unchanged in its cache, and reads all after the first change anew: where the strategy says what a
change costs, the plan may spare what is old and of little worth, to leave that beginning as it is.

Always true: nothing sticky goes, an item goes as a whole or not at all, and where `alternate` is
asked for, no two neighbours of one role appear that were not there. If what is sticky alone does
not fit, the plan says so.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import inf
from typing import NamedTuple

from reverie.context_window.context_items import ContextItem
from reverie.context_window.provider_messages import keep_alternation
from reverie.context_window.pruning_strategies import (
    DEFAULT,
    STRATEGIES,
    PruningStrategy,
    WindowSnapshot,
)
from reverie.context_window.stub_lines import render_stub
from reverie.core.errors import BadInput
from reverie.text.token_counts import estimate_tokens

START_SHARE, TARGET_SHARE = 0.80, 0.70  # shares of the limit
MIN_STUB_TOKENS = 200  # tokens of an answer from which a line in their place is worth having
# shares of the prompt that a plan tries to leave as they are
SPARED_SHARES = (
    0.0,
    0.15,
    0.3,
    0.45,
    0.6,
    0.75,
)


class PrunedItem(NamedTuple):
    """Something that goes, wholly or but for a line."""

    item: ContextItem
    worth: float
    why: str
    stub: str = ""  # what stands in place of what was answered; empty: the item goes as a whole
    tokens: int = 0  # that it sets free


class PruningPlan(NamedTuple):
    """What is to go. Empty where there is room enough."""

    limit: int
    before: int  # tokens
    after: int
    going: tuple[PrunedItem, ...] = ()  # in the order of the conversation
    worth: tuple[float, ...] = ()  # of every item; empty where nothing had to go
    prefix: int = 0  # tokens at the beginning that stay as they are
    strategy: str = DEFAULT

    @property
    def fits(self) -> bool:
        """Whether what stays is within the limit."""
        return self.after <= self.limit

    @property
    def trouble(self) -> str:
        """What to do where it does not fit; else empty."""
        return (
            ""
            if self.fits
            else (
                f"What has to stay takes {self.after:,} tokens and the limit is {self.limit:,}: raise the limit, mark less "
                "as sticky, or shorten the system prompt or the newest messages"
            )
        )


class PruningStep(NamedTuple):
    """One thing that may be done."""

    worth: float
    place: int
    stub: str
    saves: int


def plan_pruning(
    items: Sequence[ContextItem],
    limit: int,
    now: float,
    *,
    task: str = "",
    strategy: str = DEFAULT,
    start: float = START_SHARE,
    down: float = TARGET_SHARE,
    alternate: bool = False,
    may_shorten: bool = True,
    kept: bool = True,
    count: Callable[[str], int] = estimate_tokens,
) -> PruningPlan:
    """What goes, so that `down` of the limit is left; nothing below `start` of it.

    `kept` tells whether what goes is kept in memory, for the lines that stand for it.
    """
    chosen = get_pruning_strategy(strategy, limit)
    before = sum(item.tokens for item in items)
    if before < start * limit:
        return PruningPlan(limit, before, before, prefix=before, strategy=strategy)
    worth = chosen.worth(WindowSnapshot(items, now, task))
    steps = list_pruning_steps(
        items, worth, count if chosen.stubs and may_shorten else None, kept=kept
    )
    goal = int(down * limit)
    best = spare_prompt_start(items, steps, before - goal, chosen) if chosen.steady else steps
    done = take_fewest_steps(items, best, worth, before - goal, alternate=alternate)
    if chosen.contiguous:
        done = close_gaps(items, done, steps, worth, alternate=alternate)
    return finish_plan(items, done, worth, PruningPlan(limit, before, before, strategy=strategy))


def get_pruning_strategy(strategy: str, limit: int) -> PruningStrategy:
    """The row of that name; BadInput for what is none, and for what is no limit."""
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        raise BadInput(f"{strategy!r} is not a strategy; there are {', '.join(STRATEGIES)}")
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit < inf:
        raise BadInput(f"limit={limit!r} must be a number of tokens above 0")
    return STRATEGIES[strategy]


def list_pruning_steps(
    items: Sequence[ContextItem],
    worth: Sequence[float],
    count: Callable[[str], int] | None,
    *,
    kept: bool = True,
) -> list[PruningStep]:
    """All that may be done, the least worth first: with `count`, long results are shortened before
    their item goes.
    """
    steps = []
    for place, item in enumerate(items):
        if item.sticky:
            continue
        head = item.tokens
        if count and item.answer_tokens >= MIN_STUB_TOKENS:
            line = render_stub(item, kept=kept)
            saves = item.answer_tokens - count(line) * item.answer_count
            if saves > item.answer_tokens // 2:
                steps.append(PruningStep(worth[place], place, line, saves))
                head -= saves
        again = worth[place] * item.tokens / head if head < item.tokens else worth[place]
        steps.append(PruningStep(again, place, "", head))
    return sorted(steps, key=lambda step: (step.worth, step.place))


def spare_prompt_start(
    items: Sequence[ContextItem], steps: Sequence[PruningStep], excess: int, chosen: PruningStrategy
) -> Sequence[PruningStep]:
    """The steps without those before the place up to which the prompt is best left as it is."""
    total = sum(item.tokens for item in items)
    everything = sum(step.worth * step.saves for step in steps) or 1.0
    ends = []
    place, seen = 0, 0
    for share in SPARED_SHARES:
        while place < len(items) and seen < share * total:
            seen += items[place].tokens
            place += 1
        ends.append(place)
    tried = []
    for end in dict.fromkeys(ends):
        later = [step for step in steps if step.place >= end]
        lost, first, saved = 0.0, len(items), 0
        for step in later:
            if saved >= excess:
                break
            saved += step.saves
            lost += step.worth * step.saves
            first = min(first, step.place)
        anew = sum(item.tokens for item in items[first:]) - saved
        if saved >= excess:
            tried.append((lost / everything + chosen.steady * anew / total, end, later))
    return min(tried, key=lambda one: one[:2])[2] if tried else steps


def take_fewest_steps(
    items: Sequence[ContextItem],
    steps: Sequence[PruningStep],
    worth: Sequence[float],
    excess: int,
    *,
    alternate: bool,
) -> dict[int, PruningStep]:
    """The first steps that set `excess` tokens free, or all of them if they do not; by place, the
    last one counts.
    """
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high) // 2
        if (
            count_freed_tokens(items, take_steps(items, steps[:middle], worth, alternate=alternate))
            >= excess
        ):
            high = middle
        else:
            low = middle + 1
    return take_steps(items, steps[:low], worth, alternate=alternate)


def take_steps(
    items: Sequence[ContextItem],
    steps: Sequence[PruningStep],
    worth: Sequence[float],
    *,
    alternate: bool,
) -> dict[int, PruningStep]:
    """What these steps come to, roles in order."""
    done: dict[int, PruningStep] = {}
    lines: dict[int, PruningStep] = {}
    for step in steps:
        done[step.place] = step
        if step.stub:
            lines[step.place] = step
    if alternate:
        gone = {place for place, step in done.items() if not step.stub}
        for place in gone - keep_alternation(items, gone, worth):
            del done[place]
            if place in lines:
                done[place] = lines[place]
    return done


def count_freed_tokens(items: Sequence[ContextItem], done: dict[int, PruningStep]) -> int:
    """The tokens that are set free."""
    return sum(step.saves if step.stub else items[place].tokens for place, step in done.items())


def close_gaps(
    items: Sequence[ContextItem],
    done: dict[int, PruningStep],
    steps: Sequence[PruningStep],
    worth: Sequence[float],
    *,
    alternate: bool,
) -> dict[int, PruningStep]:
    """The same, and all that is older than the newest of it."""
    newest = max(done, default=-1)
    return take_steps(
        items, [step for step in steps if step.place <= newest], worth, alternate=alternate
    )


def finish_plan(
    items: Sequence[ContextItem],
    done: dict[int, PruningStep],
    worth: Sequence[float],
    empty: PruningPlan,
) -> PruningPlan:
    """The plan as a caller reads it."""
    ranks = sorted(worth)
    going = tuple(
        PrunedItem(
            items[place],
            worth[place],
            explain_step(items[place], 1 - bisect_right(ranks, worth[place]) / len(ranks), step),
            step.stub,
            step.saves if step.stub else items[place].tokens,
        )
        for place, step in sorted(done.items())
    )
    first = min(done, default=len(items))
    return empty._replace(
        after=empty.before - sum(one.tokens for one in going),
        going=going,
        worth=tuple(worth),
        prefix=sum(item.tokens for item in items[:first]),
    )


def explain_step(item: ContextItem, above: float, step: PruningStep) -> str:
    """Why it goes, in a few words; `above` is the share of the items that are worth more."""
    what = (
        f"{item.answer_tokens:,} tokens of an answer become a line"
        if step.stub
        else item.type.replace("_", " ")
    )
    return f"{what}; {above:.0%} of the items are worth more"
