"""Ways of scoring which items are worth their room. The least worth goes first.

A row is a name, what it means, and a function from a snapshot to a number for each item. Four are
what others do and stand here to be compared with (docs/why-window.md); "ours" is the default.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from reverie.context_window.context_items import TYPE_WEIGHTS, ContextItem
from reverie.context_window.item_topics import compute_item_topics

# Minutes in which what was said comes to matter half as much.
HALF_LIFE_MINUTES = 60.0
# Half-lives after which a result is not spared for a cache's sake.
STALE_HALF_LIVES = 1.0
# Minutes between two items that count as work at most.
PAUSE_MINUTES = 10.0
# Times more for what belongs to the task at hand.
TASK_FACTOR = 2.0
# More for each item that rests on it.
DEPENDANT_WEIGHT = 0.2


class WindowSnapshot(NamedTuple):
    """A conversation at a moment."""

    items: Sequence[ContextItem]
    now: float
    task: str = ""


class WindowWorth(NamedTuple):
    """What the items of a conversation are worth."""

    items: list[float]
    # items at the beginning before the first that has aged: only they may be spared for a cache
    fresh: int


class PruningStrategy(NamedTuple):
    """A way of choosing what goes."""

    name: str
    meaning: str
    worth: Callable[[WindowSnapshot], list[float] | WindowWorth]
    stubs: bool = False  # what tools answered may be shortened to a line
    contiguous: bool = False  # once something goes, all that is older goes too
    steady: float = 0.0  # what it costs to alter all of the prompt, as a share of all worth in it


def score_by_age(scene: WindowSnapshot) -> list[float]:
    """The place in the conversation."""
    return [float(place) for place, _ in enumerate(scene.items)]


# The importance formula; newer is more.
BASE_IMPORTANCE, RECENCY_WEIGHT, LENGTH_WEIGHT = 0.5, 0.3, 0.1
ROLE_BONUS = {
    "user_message": 0.1,
    "system_prompt": 0.2,
    "task_state": 0.15,
}
# Characters from which a text counts as long.
LONG_TEXT_CHARS = 1_000


def score_by_importance(scene: WindowSnapshot) -> list[float]:
    """0.5 + 0.3 · how new + 0.1 · how long + what its role adds."""
    last = max(1, len(scene.items) - 1)
    return [
        BASE_IMPORTANCE
        + RECENCY_WEIGHT * place / last
        + LENGTH_WEIGHT * min(1.0, len(item.text) / LONG_TEXT_CHARS)
        + ROLE_BONUS.get(item.type, 0.0)
        for place, item in enumerate(scene.items)
    ]


def score_relevance(
    item: ContextItem,
    now: float,
    task: str = "",
    dependants: int = 0,
) -> float:
    """How much an item matters just now, by Aircher's formula.

    1.0 × 2^(−minutes / 60) × 2.0 if it belongs to the task at hand × its type's weight × (1 + 0.2 ·
    dependants), `now` in seconds since 1970. Aircher writes e^(−m/60) and calls it a half-life;
    ours is one.
    """
    minutes = max(0.0, now - item.at) / 60.0
    current = TASK_FACTOR if task and item.task == task else 1.0
    decay: float = 2.0 ** (-minutes / HALF_LIFE_MINUTES)
    weight = TYPE_WEIGHTS.get(item.type, 1.0)
    return decay * current * weight * (1.0 + DEPENDANT_WEIGHT * dependants)


def score_by_aircher(scene: WindowSnapshot) -> list[float]:
    """Aircher's formula; what rests on an item are the later ones that use a name it brought up."""
    topics = compute_item_topics(scene.items, ())
    return [
        score_relevance(item, scene.now, scene.task, topic.dependant_count)
        for item, topic in zip(scene.items, topics, strict=True)
    ]


class StrategyWeights(NamedTuple):
    """What "ours" looks at, and how much: chosen by bench.window on half of its conversations."""

    half: float = 0.5  # worth of the oldest beside the newest, all else equal
    near: float = 1.0  # times more for what speaks of all that the newest speak of
    # nats of rarity beyond which an item tells no more: a file has many rare words
    enough: float = 150.0
    telling: float = 1.5  # power of the rarity of its words
    # minutes of work, and items, in which what a tool answered comes to matter half as much
    minutes: float = HALF_LIFE_MINUTES
    turns: float = 15.0


DEFAULT_WEIGHTS = StrategyWeights()


def score_by_information(
    scene: WindowSnapshot, weights: StrategyWeights = DEFAULT_WEIGHTS
) -> WindowWorth:
    """What an item tells for each token it takes: rare words, names that later items rest on,
    nearness to the newest.

    Beside the formula's type, task and dependants. What was said ages by place alone, and by half
    at most. What a tool answered can be had again: it ages by the time that was worked, and by what
    came since it was read, edited or named.
    """
    newest = [
        place
        for place, item in enumerate(scene.items)
        if item.sticky in ("newest", "last question")
    ]
    last = max(1, len(scene.items) - 1)
    topics = compute_item_topics(scene.items, newest)
    worked = count_worked_minutes(scene.items)
    scores, fresh = [], len(scene.items)
    for place, (item, topic) in enumerate(zip(scene.items, topics, strict=True)):
        # A file has many rare words, and must not outweigh everything by them.
        told = min(topic.rarity, weights.enough) ** weights.telling / item.tokens
        age = weights.half ** (1 - place / last)
        if item.tool:
            idle = (worked[-1] - worked[topic.last_touch]) / weights.minutes
            half_lives = idle + (last - topic.last_touch) / weights.turns
            age *= 2.0**-half_lives
            if half_lives > STALE_HALF_LIVES and not item.is_stub:
                fresh = min(fresh, place)
        current = TASK_FACTOR if scene.task and item.task == scene.task else 1.0
        dependants = 1.0 + DEPENDANT_WEIGHT * topic.dependant_count
        type_weight = TYPE_WEIGHTS.get(item.type, 1.0)
        near = 1 + weights.near * topic.focus_share
        scores.append(told * age * current * dependants * type_weight * near)
    return WindowWorth(scores, fresh)


def count_worked_minutes(items: Sequence[ContextItem]) -> list[float]:
    """Minutes of work before each item: a pause counts as PAUSE_MINUTES, for a night makes nothing
    less needed.
    """
    minutes, worked = 0.0, []
    before = items[0].at if items else 0.0
    for item in items:
        minutes += min(max(0.0, item.at - before) / 60.0, PAUSE_MINUTES)
        before = item.at
        worked.append(minutes)
    return worked


STRATEGIES: dict[str, PruningStrategy] = {
    row.name: row
    for row in (
        PruningStrategy("oldest", "the oldest go, one by one, until the rest fits", score_by_age),
        PruningStrategy(
            "sliding",
            "the newest stay as far as they fit without a gap",
            score_by_age,
            contiguous=True,
        ),
        PruningStrategy(
            "importance", "0.5 + 0.3 · how new + 0.1 · how long + role", score_by_importance
        ),
        PruningStrategy("aircher", "type × task × 2^(−minutes/60) × dependants", score_by_aircher),
        PruningStrategy(
            "ours",
            "what is told for each token, near the newest and rested on; "
            "results become a line first",
            score_by_information,
            stubs=True,
            steady=0.2,
        ),
    )
}
DEFAULT = "ours"
