"""Ways of condensing: what of the older part stays word for word, and how much room its summary
has.

A row names a strategy of the window that chooses what stays (`pruning_strategies`), so that both
judge alike. Of the importance formula a floor of 0.4 is known elsewhere; here it would leave
nothing out, for the formula gives 0.5 at least: what decides is the room.
"""

from typing import NamedTuple

from reverie.core.errors import BadInput


class CondenseStrategy(NamedTuple):
    """One way of condensing."""

    name: str
    meaning: str
    # a key of `window.strategies.STRATEGIES`: what stays of the older part; empty: nothing
    stays: str
    summary: float  # share of the target that the summary may take
    stubs: bool = False  # long answers become a line before anything leaves (`window.stubs`)


# The rooms were chosen on one half of the conversations; for "hybrid" 5, 10, 15 and 25 % of the
# target were tried (docs/why-condense.md).
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
DEFAULT = "hybrid"


def get_condense_strategy(name: str, limit: int) -> CondenseStrategy:
    """The strategy of that name; BadInput for what is none, and for a limit that is none."""
    if name not in STRATEGIES:
        raise BadInput(f"{name!r} is not a strategy; there are {', '.join(STRATEGIES)}")
    if limit <= 0:
        raise BadInput(f"limit={limit!r} must be a number of tokens above 0")
    return STRATEGIES[name]
