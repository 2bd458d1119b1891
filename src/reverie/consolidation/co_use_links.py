"""Links between memories that are used together.

What the agent was given in one turn was thought of together. Of one session that may be chance; in
several it is a habit: the link is made, or made stronger, once for each run of sleep.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations

from reverie.core.model import Edge, Event, Link
from reverie.reconciliation.pass_view import PassStep, PassView, has_edge

# conversations in which a pair was given together until that counts
MIN_SESSIONS = 2
# a link's first weight, what each run adds, and the most that it gets
FIRST_WEIGHT, WEIGHT_STEP, MAX_WEIGHT = 0.6, 0.05, 0.95
# memories of one turn whose pairs are counted: a block holds five
MAX_PER_TURN = 8


def count_joint_sessions(events: Iterable[Event]) -> dict[tuple[str, str], int]:
    """Pairs of ids that turns were given together, with the number of sessions, if enough."""
    met = set()
    for event in events:
        ids = sorted(set(event.payload.get("given", ())))[:MAX_PER_TURN]
        met |= {(pair, event.session) for pair in combinations(ids, 2)}
    counts = Counter(pair for pair, _ in met)
    return {pair: count for pair, count in counts.items() if count >= MIN_SESSIONS}


def strengthen_links(view: PassView, met: Mapping[tuple[str, str], int]) -> list[PassStep]:
    """One link for each pair of active memories: a new one, or the old one a little stronger."""
    steps = []
    for (one, other), sessions in sorted(met.items()):
        if one not in view.memories or other not in view.memories:
            continue
        if has_edge(view.edges, one, other, "supersedes", "contradicts"):
            continue
        src, dst = (other, one) if (other, "relates_to", one) in view.edges else (one, other)
        had = view.edges.get((src, "relates_to", dst), 0.0)
        weight = FIRST_WEIGHT if not had else max(had, min(MAX_WEIGHT, round(had + WEIGHT_STEP, 4)))
        if weight != had:
            steps.append(
                PassStep(
                    (Link(Edge(src, "relates_to", dst, weight)),),
                    (one, other),
                    f"used together in {sessions} sessions",
                )
            )
    return steps
