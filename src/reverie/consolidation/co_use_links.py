"""Links between memories that are used together.

What the agent was given in one turn was thought of together. Of one session that may be chance; in
several it is a habit: the link is made, or made stronger, once for each run of sleep.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import combinations

from reverie.core.model import Edge, Event, Link
from reverie.reconciliation.pass_view import PassStep, PassView, has_edge
from reverie.retrieval.graph_walk import strengthen_weight

# conversations in which a pair was given together until that counts
MIN_SESSIONS = 2
# a link's first weight
FIRST_WEIGHT = 0.6
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


def strengthen_links(
    view: PassView,
    met: Mapping[tuple[str, str], int],
) -> list[PassStep]:
    """One link for each pair of active memories: a new one, or the old one a little stronger."""
    steps = []
    for (one, other), sessions in sorted(met.items()):
        if one not in view.memories or other not in view.memories:
            continue
        if has_edge(view.edges, one, other, "supersedes", "contradicts"):
            continue
        src, dst = (other, one) if (other, "relates_to", one) in view.edges else (one, other)
        had = view.edges.get((src, "relates_to", dst), 0.0)
        weight = max(had, round(strengthen_weight(had, FIRST_WEIGHT), 4))
        if weight != had:
            link = Link(Edge(src, "relates_to", dst, weight))
            why = f"used together in {sessions} sessions"
            steps.append(PassStep((link,), (one, other), why))
    return steps
