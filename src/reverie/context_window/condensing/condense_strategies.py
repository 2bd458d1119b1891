"""Ways of condensing: what of the older part stays word for word, and how much room its summary has
(C102–C105).

A row names a strategy of the window that chooses what stays (`window.strategies`), so that both
rooms judge alike. The document's importance (0.5 + 0.3 · how new + 0.1 · how long + role) is the
window's too; its floor of 0.4 leaves nothing out, for the formula gives 0.5 at least: what decides
is the room.
"""

from typing import NamedTuple

from reverie.core.errors import BadInput


class CondenseStrategy(NamedTuple):
    """One way."""

    name: str
    meaning: str
    # a key of `window.strategies.STRATEGIES`: what stays of the older part; empty: nothing
    stays: str
    summary: float  # share of the target that the summary may take
    stubs: bool = False  # long answers become a line before anything leaves (`window.stubs`)


STRATEGIES: dict[str, CondenseStrategy] = {
    row.name: row
    for row in (
        CondenseStrategy(
            "sliding-window",
            "the newest stay as far as they fit without a gap; a short summary of the rest",
            "sliding",
            0.1,
        ),
        CondenseStrategy(
            "progressive-summary",
            "all but the last ten becomes one summary, which takes in the one before",
            "",
            0.5,
        ),
        CondenseStrategy(
            "importance-based",
            "what is most important stays; a short summary of the rest",
            "importance",
            0.1,
        ),
        CondenseStrategy(
            "hybrid",
            "what tells most for its tokens stays, long answers as a line; a summary of the rest",
            "ours",
            0.15,
            stubs=True,
        ),
    )
}
DEFAULT = "hybrid"  # CONSTANTS: strategies default


def get_condense_strategy(name: str, limit: int) -> CondenseStrategy:
    """The row of that name; BadInput also for a limit that is none."""
    if name not in STRATEGIES:
        raise BadInput(f"{name!r} is not a strategy; there are {', '.join(STRATEGIES)}")
    if limit <= 0:
        raise BadInput(f"limit={limit!r} must be a number of tokens above 0")
    return STRATEGIES[name]
