"""Whether something takes time in proportion to its input, on a machine that does other work."""

from collections.abc import Callable

ROUNDS = 3
FLOOR = 0.02  # seconds of processor time; below it a clock's own noise decides


def is_linear(spend: Callable[[int], float], count: int) -> bool:
    """Whether eight times `count` takes `spend` about eight times as long, in one of three rounds:
    something quadratic would take sixty-four times in each.

    `spend` returns the processor time in seconds that an input of that size took.
    """
    spend(count)  # compiles what it needs
    short = long = float("inf")
    for _ in range(ROUNDS):
        short = min(short, spend(count), spend(count))
        long = min(long, spend(8 * count))
        if long < max(24 * short, FLOOR):
            return True
    return False
