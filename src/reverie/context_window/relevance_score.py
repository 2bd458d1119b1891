"""How much an item matters just now: Aircher's formula.

1.0 × 2^(−minutes / 60) × 2.0 if it belongs to the task at hand × its type's weight × (1 + 0.2 ·
dependants). Aircher writes e^(−m/60) and calls it a half-life; ours is one.
"""

from reverie.context_window.context_items import TYPE_WEIGHTS, ContextItem

HALF_LIFE_MINUTES = 60.0
# Times more for what belongs to the task at hand.
TASK_FACTOR = 2.0
# More for each item that rests on it.
DEPENDANT_WEIGHT = 0.2


def score_relevance(item: ContextItem, now: float, task: str = "") -> float:
    """The formula; `now` in seconds since 1970, `task` the one that is worked on, if any."""
    minutes = max(0.0, now - item.at) / 60.0
    current = TASK_FACTOR if task and item.task == task else 1.0
    decay: float = 2.0 ** (-minutes / HALF_LIFE_MINUTES)
    return (
        decay
        * current
        * TYPE_WEIGHTS.get(item.type, 1.0)
        * (1.0 + DEPENDANT_WEIGHT * item.dependant_count)
    )
