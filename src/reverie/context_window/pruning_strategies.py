"""Ways of saying which items are worth their room. The least worth goes first.

A row is a name, what it means, and a function from a scene to a number for each item. Four are what
others do and stand here to be compared with (docs/why-window.md); "ours" is the default.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from reverie.context_window.context_items import TYPES, Item
from reverie.context_window.item_topics import gists
from reverie.context_window.relevance_score import DEPENDANT, TASK, relevance


class Scene(NamedTuple):
    """A conversation at a moment."""

    items: Sequence[Item]
    now: float
    task: str = ""


class Strategy(NamedTuple):
    """A way of choosing."""

    name: str
    meaning: str
    worth: Callable[[Scene], list[float]]
    stubs: bool = False  # what tools answered may be shortened to a line
    contiguous: bool = False  # once something goes, all that is older goes too
    steady: float = 0.0  # what it costs to alter all of the prompt, as a share of all worth in it


def oldest(scene: Scene) -> list[float]:
    """The place in the conversation."""
    return [float(place) for place, _ in enumerate(scene.items)]


# CONSTANTS: importance terms; newer is more, as it should be.
BASE, RECENT, LENGTH = 0.5, 0.3, 0.1
ROLES = {"user_message": 0.1, "system_prompt": 0.2, "task_state": 0.15}
FULL_LENGTH = 1_000  # characters from which a text counts as long


def importance(scene: Scene) -> list[float]:
    """0.5 + 0.3 · how new + 0.1 · how long + what its role adds."""
    last = max(1, len(scene.items) - 1)
    return [
        BASE
        + RECENT * place / last
        + LENGTH * min(1.0, len(item.text) / FULL_LENGTH)
        + ROLES.get(item.type, 0.0)
        for place, item in enumerate(scene.items)
    ]


def aircher(scene: Scene) -> list[float]:
    """The formula; what rests on an item are the later ones that use a name it brought up."""
    return [
        relevance(
            item._replace(dependants=item.dependants + gist.dependants), scene.now, scene.task
        )
        for item, gist in zip(scene.items, gists(scene.items, ()), strict=True)
    ]


class Weights(NamedTuple):
    """What "ours" looks at, and how much (bench.window: chosen on one half of the
    conversations).
    """

    half: float = 0.5  # worth of the oldest beside the newest, all else equal
    near: float = 1.0  # times more for what speaks of all that the newest speak of
    # nats of rarity beyond which an item tells no more: a file has many rare words
    enough: float = 150.0
    telling: float = 1.5  # power of the rarity of its words


OURS = Weights()


def ours(scene: Scene, weights: Weights = OURS) -> list[float]:
    """What an item tells for each token it takes: rare words, names that later items rest on,
    nearness to the newest.

    Beside the formula's type, task and dependants; age counts by place, so that a night's pause
    makes nothing old.
    """
    newest = [
        place
        for place, item in enumerate(scene.items)
        if item.sticky in ("newest", "last question")
    ]
    last = max(1, len(scene.items) - 1)
    found = []
    for place, (item, gist) in enumerate(zip(scene.items, gists(scene.items, newest), strict=True)):
        current = TASK if scene.task and item.task == scene.task else 1.0
        rests = 1.0 + DEPENDANT * (item.dependants + gist.dependants)
        age = weights.half ** (1 - place / last)
        told = min(gist.telling, weights.enough) ** weights.telling / item.tokens
        found.append(
            told
            * age
            * current
            * rests
            * TYPES.get(item.type, 1.0)
            * (1 + weights.near * gist.near)
        )
    return found


STRATEGIES: dict[str, Strategy] = {
    row.name: row
    for row in (
        Strategy("oldest", "the oldest go, one by one, until the rest fits", oldest),
        Strategy(
            "sliding", "the newest stay as far as they fit without a gap", oldest, contiguous=True
        ),
        Strategy("importance", "0.5 + 0.3 · how new + 0.1 · how long + role", importance),
        Strategy("aircher", "type × task × 2^(−minutes/60) × dependants", aircher),
        Strategy(
            "ours",
            "what is told for each token, near the newest and rested on; results become a line first",
            ours,
            stubs=True,
            steady=0.2,
        ),
    )
}
DEFAULT = "ours"
