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

from reverie.context_window.context_items import Item
from reverie.context_window.provider_messages import mended
from reverie.context_window.pruning_strategies import DEFAULT, STRATEGIES, Scene, Strategy
from reverie.context_window.stub_lines import stub
from reverie.core.errors import BadInput
from reverie.text.token_counts import tokens

START, DOWN = 0.80, 0.70  # shares of the limit
STUB_FROM = 200  # tokens of an answer from which a line in their place is worth having
# shares of the prompt that a plan tries to leave as they are
SPARED = (
    0.0,
    0.15,
    0.3,
    0.45,
    0.6,
    0.75,
)


class Leaving(NamedTuple):
    """Something that goes, wholly or but for a line."""

    item: Item
    worth: float
    why: str
    stub: str = ""  # what stands in place of what was answered; empty: the item goes as a whole
    tokens: int = 0  # that it sets free


class Plan(NamedTuple):
    """What is to go. Empty where there is room enough."""

    limit: int
    before: int  # tokens
    after: int
    going: tuple[Leaving, ...] = ()  # in the order of the conversation
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


class Step(NamedTuple):
    """One thing that may be done."""

    worth: float
    place: int
    stub: str
    saves: int


def plan(
    items: Sequence[Item],
    limit: int,
    now: float,
    *,
    task: str = "",
    strategy: str = DEFAULT,
    start: float = START,
    down: float = DOWN,
    alternate: bool = False,
    may_shorten: bool = True,
    kept: bool = True,
    count: Callable[[str], int] = tokens,
) -> Plan:
    """What goes, so that `down` of the limit is left; nothing below `start` of it.

    `kept` tells whether what goes is kept in memory, for the lines that stand for it.
    """
    chosen = wanted(strategy, limit)
    before = sum(item.tokens for item in items)
    if before < start * limit:
        return Plan(limit, before, before, prefix=before, strategy=strategy)
    worth = chosen.worth(Scene(items, now, task))
    steps = steps_of(items, worth, count if chosen.stubs and may_shorten else None, kept=kept)
    goal = int(down * limit)
    best = spared(items, steps, before - goal, chosen) if chosen.steady else steps
    done = fewest(items, best, worth, before - goal, alternate=alternate)
    if chosen.contiguous:
        done = without_gaps(items, done, steps, worth, alternate=alternate)
    return described(items, done, worth, Plan(limit, before, before, strategy=strategy))


def wanted(strategy: str, limit: int) -> Strategy:
    """The row of that name; BadInput for what is none, and for what is no limit."""
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        raise BadInput(f"{strategy!r} is not a strategy; there are {', '.join(STRATEGIES)}")
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit < inf:
        raise BadInput(f"limit={limit!r} must be a number of tokens above 0")
    return STRATEGIES[strategy]


def steps_of(
    items: Sequence[Item],
    worth: Sequence[float],
    count: Callable[[str], int] | None,
    *,
    kept: bool = True,
) -> list[Step]:
    """All that may be done, the least worth first: with `count`, long results are shortened before
    their item goes.
    """
    steps = []
    for place, item in enumerate(items):
        if item.sticky:
            continue
        head = item.tokens
        if count and item.result >= STUB_FROM:
            line = stub(item, kept=kept)
            saves = item.result - count(line) * item.answers
            if saves > item.result // 2:
                steps.append(Step(worth[place], place, line, saves))
                head -= saves
        again = worth[place] * item.tokens / head if head < item.tokens else worth[place]
        steps.append(Step(again, place, "", head))
    return sorted(steps, key=lambda step: (step.worth, step.place))


def spared(
    items: Sequence[Item], steps: Sequence[Step], excess: int, chosen: Strategy
) -> Sequence[Step]:
    """The steps without those before the place up to which the prompt is best left as it is."""
    total = sum(item.tokens for item in items)
    everything = sum(step.worth * step.saves for step in steps) or 1.0
    ends = []
    place, seen = 0, 0
    for share in SPARED:
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


def fewest(
    items: Sequence[Item],
    steps: Sequence[Step],
    worth: Sequence[float],
    excess: int,
    *,
    alternate: bool,
) -> dict[int, Step]:
    """The first steps that set `excess` tokens free, or all of them if they do not; by place, the
    last one counts.
    """
    low, high = 0, len(steps)
    while low < high:
        middle = (low + high) // 2
        if freed(items, taken(items, steps[:middle], worth, alternate=alternate)) >= excess:
            high = middle
        else:
            low = middle + 1
    return taken(items, steps[:low], worth, alternate=alternate)


def taken(
    items: Sequence[Item], steps: Sequence[Step], worth: Sequence[float], *, alternate: bool
) -> dict[int, Step]:
    """What these steps come to, roles in order."""
    done: dict[int, Step] = {}
    lines: dict[int, Step] = {}
    for step in steps:
        done[step.place] = step
        if step.stub:
            lines[step.place] = step
    if alternate:
        gone = {place for place, step in done.items() if not step.stub}
        for place in gone - mended(items, gone, worth):
            del done[place]
            if place in lines:
                done[place] = lines[place]
    return done


def freed(items: Sequence[Item], done: dict[int, Step]) -> int:
    """The tokens that are set free."""
    return sum(step.saves if step.stub else items[place].tokens for place, step in done.items())


def without_gaps(
    items: Sequence[Item],
    done: dict[int, Step],
    steps: Sequence[Step],
    worth: Sequence[float],
    *,
    alternate: bool,
) -> dict[int, Step]:
    """The same, and all that is older than the newest of it."""
    newest = max(done, default=-1)
    return taken(
        items, [step for step in steps if step.place <= newest], worth, alternate=alternate
    )


def described(
    items: Sequence[Item], done: dict[int, Step], worth: Sequence[float], empty: Plan
) -> Plan:
    """The plan as a caller reads it."""
    ranks = sorted(worth)
    going = tuple(
        Leaving(
            items[place],
            worth[place],
            why(items[place], 1 - bisect_right(ranks, worth[place]) / len(ranks), step),
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


def why(item: Item, above: float, step: Step) -> str:
    """Why it goes, in a few words; `above` is the share of the items that are worth more."""
    what = (
        f"{item.result:,} tokens of an answer become a line"
        if step.stub
        else item.type.replace("_", " ")
    )
    return f"{what}; {above:.0%} of the items are worth more"
