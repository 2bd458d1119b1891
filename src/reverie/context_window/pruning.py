"""Which messages to remove from a full context: decided here, done by whoever sends them.

From START_SHARE of the limit on, the least worth goes until TARGET_SHARE of it is left. A provider
keeps the beginning of a prompt that is unchanged in its cache, and reads all after the first change
anew: where the strategy says what a change costs, the plan may spare what is old and of little
worth, to leave that beginning as it is.

Always true: nothing sticky goes, an item goes as a whole or not at all, and where `alternate` is
asked for, no two neighbours of one role appear that were not there. If what is sticky alone does
not fit, the plan says so.
"""

from bisect import bisect_left, bisect_right
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
    WindowWorth,
)
from reverie.context_window.stub_lines import render_stub
from reverie.core.errors import BadInput
from reverie.text.token_counts import estimate_tokens

# Shares of the limit: from 80 % down to 70 %, so that the prompt's beginning changes once for
# every tenth of the window and not at each call.
START_SHARE, TARGET_SHARE = 0.80, 0.70
# Tokens of an answer from which a line in their place, some twenty tokens, is worth having.
MIN_STUB_TOKENS = 200
# Shares of the prompt that a plan tries to leave as they are. Without that, next to nothing of a
# chat's beginning stayed unchanged, and no more was kept in the window (docs/why-window.md).
SPARED_SHARES = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75)


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
        """True if what stays is within the limit."""
        return self.after <= self.limit

    @property
    def trouble(self) -> str:
        """What to do where it does not fit; else empty."""
        if self.fits:
            return ""
        return (
            f"What has to stay takes {self.after:,} tokens and the limit is {self.limit:,}: "
            "raise the limit, mark less as sticky, or shorten the system prompt or the newest "
            "messages"
        )


class PruningStep(NamedTuple):
    """One thing that may be done."""

    worth: float
    place: int
    stub: str
    saves: int


class PruningScene(NamedTuple):
    """What a plan chooses from."""

    items: Sequence[ContextItem]
    worth: Sequence[float]  # of each item
    alternate: bool  # whether user and assistant are to take turns strictly
    fresh: int  # items at the beginning that may be spared

    def count_tokens(self, start: int = 0, end: int | None = None) -> int:
        """The tokens of the items from one place to another."""
        return sum(item.tokens for item in self.items[start:end])


class PruningGoal(NamedTuple):
    """How far a context is to be brought down, and by what."""

    limit: int  # tokens
    now: float
    task: str = ""
    strategy: str = DEFAULT
    start: float = START_SHARE
    target: float = TARGET_SHARE
    alternate: bool = False  # whether user and assistant are to take turns strictly

    @property
    def tokens(self) -> int:
        """Tokens that are aimed at."""
        return int(self.target * self.limit)


def plan_pruning(
    items: Sequence[ContextItem],
    goal: PruningGoal,
    *,
    may_shorten: bool = True,
    kept: bool = True,
    count: Callable[[str], int] = estimate_tokens,
) -> PruningPlan:
    """What goes, so that `goal.target` of the limit is left; nothing below `goal.start` of it.

    `kept` tells if what goes is kept in memory, for the lines that stand for it. BadInput for what
    is no strategy or limit.
    """
    strategy = get_pruning_strategy(goal.strategy, goal.limit)
    before = sum(item.tokens for item in items)
    empty = PruningPlan(goal.limit, before, before, strategy=goal.strategy)
    # Room enough: nothing goes, and the whole prompt stays as it is.
    if before < goal.start * goal.limit:
        return empty._replace(prefix=before)
    found = strategy.worth(WindowSnapshot(items, goal.now, goal.task))
    worth, fresh = found if isinstance(found, WindowWorth) else (found, len(items))
    scene = PruningScene(items, worth, goal.alternate, fresh)
    count_stub = count if strategy.stubs and may_shorten else None
    steps = list_pruning_steps(scene, count_stub, kept=kept)
    excess = before - goal.tokens
    ordered = spare_prompt_start(scene, steps, excess, strategy.steady)
    done = take_fewest_steps(scene, ordered, excess)
    if strategy.contiguous:
        newest = max(done, default=-1)
        done = take_steps(scene, [step for step in steps if step.place <= newest])
    return finish_plan(scene, done, empty)


def get_pruning_strategy(strategy: str, limit: int) -> PruningStrategy:
    """The strategy of that name; BadInput for what is none, and for what is no limit."""
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        raise BadInput(f"{strategy!r} is not a strategy; there are {', '.join(STRATEGIES)}")
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit < inf:
        raise BadInput(f"limit={limit!r} must be a number of tokens above 0")
    return STRATEGIES[strategy]


def list_pruning_steps(
    scene: PruningScene,
    count: Callable[[str], int] | None,
    *,
    kept: bool,
) -> list[PruningStep]:
    """All possible steps, the least valuable items first.

    With `count`, long results are shortened before their item goes: what is left of the item is
    worth as much in fewer tokens.
    """
    steps = []
    for place, item in enumerate(scene.items):
        if item.sticky:
            continue
        worth, left = scene.worth[place], item.tokens
        if count and item.answer_tokens >= MIN_STUB_TOKENS:
            line = render_stub(item, kept=kept)
            saves = item.answer_tokens - count(line) * item.answer_count
            if saves > item.answer_tokens // 2:
                steps.append(PruningStep(worth, place, line, saves))
                left -= saves
        # The item without its long answer is worth as much in fewer tokens.
        density = worth * item.tokens / left if left < item.tokens else worth
        steps.append(PruningStep(density, place, "", left))
    return sorted(steps, key=lambda step: (step.worth, step.place))


def spare_prompt_start(
    scene: PruningScene,
    steps: Sequence[PruningStep],
    excess: int,
    steady: float,
) -> Sequence[PruningStep]:
    """The steps without those before the place up to which the prompt is best left as it is.

    Best is what costs least: the share of worth that is lost, and the share of the prompt that has
    to be read anew, times `steady`. All steps where that costs nothing. What has aged is not
    spared: it would stand there for good, while what is new goes.
    """
    if not steady:
        return steps
    total = scene.count_tokens()
    all_worth = sum(step.worth * step.saves for step in steps) or 1.0
    best: tuple[float, int, Sequence[PruningStep]] | None = None
    for end in list_spared_ends(scene.items, total):
        if end > scene.fresh:
            break
        later = [step for step in steps if step.place >= end]
        lost, first, saved = 0.0, len(scene.items), 0
        for step in later:
            if saved >= excess:
                break
            saved += step.saves
            lost += step.worth * step.saves
            first = min(first, step.place)
        if saved < excess:
            continue
        anew = scene.count_tokens(first) - saved
        cost = lost / all_worth + steady * anew / total
        if best is None or (cost, end) < best[:2]:
            best = (cost, end, later)
    return best[2] if best else steps


def list_spared_ends(items: Sequence[ContextItem], total: int) -> list[int]:
    """The places at which each of SPARED_SHARES of the prompt's tokens ends, each once."""
    ends = []
    place, seen = 0, 0
    for share in SPARED_SHARES:
        while place < len(items) and seen < share * total:
            seen += items[place].tokens
            place += 1
        ends.append(place)
    return list(dict.fromkeys(ends))


def take_fewest_steps(
    scene: PruningScene,
    steps: Sequence[PruningStep],
    excess: int,
) -> dict[int, PruningStep]:
    """The first steps that set `excess` tokens free, or all if they do not, by place."""

    def count_freed_tokens(taken: int) -> int:
        done = take_steps(scene, steps[:taken]).values()
        return sum(step.saves if step.stub else scene.items[step.place].tokens for step in done)

    # Not the sum of the steps: where roles alternate, taking one more may put another back.
    fewest = bisect_left(range(len(steps)), excess, key=count_freed_tokens)
    return take_steps(scene, steps[:fewest])


def take_steps(scene: PruningScene, steps: Sequence[PruningStep]) -> dict[int, PruningStep]:
    """The outcome of these steps by place, with the roles kept in order.

    Of two steps at one place the later counts.
    """
    done = {step.place: step for step in steps}
    if scene.alternate:
        lines = {step.place: step for step in steps if step.stub}
        gone = {place for place, step in done.items() if not step.stub}
        for place in gone - keep_alternation(scene.items, gone, scene.worth):
            # It stays for the order of roles, but its long answer may still become a line.
            del done[place]
            if place in lines:
                done[place] = lines[place]
    return done


def finish_plan(
    scene: PruningScene,
    done: dict[int, PruningStep],
    empty: PruningPlan,
) -> PruningPlan:
    """The plan as a caller reads it."""
    ranks = sorted(scene.worth)
    going = []
    for place, step in sorted(done.items()):
        item, value = scene.items[place], scene.worth[place]
        share_above = 1 - bisect_right(ranks, value) / len(ranks)
        freed = step.saves if step.stub else item.tokens
        why = explain_step(item, share_above, step)
        going.append(PrunedItem(item, value, why, step.stub, freed))
    return empty._replace(
        after=empty.before - sum(pruned.tokens for pruned in going),
        going=tuple(going),
        worth=tuple(scene.worth),
        prefix=scene.count_tokens(end=min(done, default=len(scene.items))),
    )


def explain_step(
    item: ContextItem,
    share_above: float,
    step: PruningStep,
) -> str:
    """Why it goes, in a few words; `share_above` is the share of the items that are worth more."""
    what = item.type.replace("_", " ")
    if step.stub:
        what = f"{item.answer_tokens:,} tokens of an answer become a line"
    return f"{what}; {share_above:.0%} of the items are worth more"
