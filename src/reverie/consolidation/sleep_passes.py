"""Sleep: what is tidied while nobody is at work, as a table of passes.

A pass decides, with pure functions, from what it is shown (`plan.View`); `settle.sleeping` reads,
makes it so in small transactions, and can take a whole run back. No pass revises a text or erases
anything: what goes is retired and can be brought back. The order of the table is the order of a
run: first what died half-way is mended, then what is twice goes, then the rest is arranged.
"""

from reverie.consolidation import archiving
from reverie.reconciliation import pair_passes
from reverie.reconciliation.pair_passes import MERGE, NEAR, PROBE, RELATED
from reverie.reconciliation.pass_view import Pass

PASSES: dict[str, Pass] = {
    row.name: row
    for row in (
        Pass("retro", "what could not be learned from is tried again", "log", True),
        Pass("backfill", "texts without a vector are queued", "log", True),
        Pass("merge", "what was kept twice becomes one memory", "pairs", True, floor=MERGE),
        Pass(
            "redundancy",
            "what may be kept twice is shown to a person",
            "pairs",
            True,
            pair_passes.redundancy,
            NEAR,
        ),
        Pass(
            "contradictions",
            "what cannot both be so is flagged on both",
            "pairs",
            True,
            pair_passes.contradictions,
            PROBE,
        ),
        Pass(
            "anchors", "what was said of code is held against the code as it is now", "code", True
        ),
        Pass("prune", "what has faded goes to the archive", "memories", True, archiving.prune),
        Pass(
            "capacity",
            "of a type that outgrew its room, the least retained go to the archive",
            "types",
            True,
        ),
        Pass("links", "what is used together is tied more strongly", "events", True),
        Pass(
            "relations",
            "what two sessions say of one subject is tied",
            "pairs",
            True,
            pair_passes.relations,
            RELATED,
        ),
        Pass("recluster", "groups that nobody tagged are found and named", "clusters", True),
        Pass("small", "clusters that became too small join another", "clusters", True),
        Pass("tags", "tags that differ only in their writing become one", "tags", False),
    )
}

SAFE = tuple(row.name for row in PASSES.values() if row.safe)
"""What sleep does by itself: it adds ties and flags, and retires only what another memory holds in
all that matters, what has faded for a month, or what a full type has no room for. Tags are
somebody's own words: they wait for being asked.
"""
