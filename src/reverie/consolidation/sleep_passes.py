"""Sleep: maintenance in quiet hours, as a table of passes.

A pass decides, with pure functions, from what it is shown (`PassView`); `pass_iteration` reads,
`batch_commit` commits in small transactions, and `undo_sleep` can undo a whole run. No pass revises
a text or erases anything: what goes is retired and can be restored. The order of the table is the
order of a run: first what died half-way is mended, then duplicates go, then the rest is arranged.
"""

from reverie.consolidation import archiving
from reverie.reconciliation import pair_passes
from reverie.reconciliation.merge_rules import NEAR_COSINE
from reverie.reconciliation.pair_passes import (
    MERGE_COSINE,
    PROBE_COSINE,
    RELATED_COSINE,
)
from reverie.reconciliation.pass_view import ConsolidationPass

PASSES: dict[str, ConsolidationPass] = {
    row.name: row
    for row in (
        ConsolidationPass("retro", "what could not be learned from is tried again", "log", True),
        ConsolidationPass("backfill", "texts without a vector are queued", "log", True),
        ConsolidationPass(
            "merge", "what was kept twice becomes one memory", "pairs", True, floor=MERGE_COSINE
        ),
        ConsolidationPass(
            "redundancy",
            "what may be kept twice is shown to a person",
            "pairs",
            True,
            pair_passes.flag_near_duplicates,
            NEAR_COSINE,
        ),
        ConsolidationPass(
            "contradictions",
            "what cannot both be so is flagged on both",
            "pairs",
            True,
            pair_passes.flag_contradictions,
            PROBE_COSINE,
        ),
        ConsolidationPass(
            "anchors", "what was said of code is held against the code as it is now", "code", True
        ),
        ConsolidationPass(
            "episodes",
            "what happened in one session long ago becomes one memory",
            "episodes",
            True,
        ),
        ConsolidationPass(
            "prune", "what has faded goes to the archive", "memories", True, archiving.archive_faded
        ),
        ConsolidationPass(
            "capacity",
            "of a type that outgrew its room, the least retained go to the archive",
            "types",
            True,
        ),
        ConsolidationPass("links", "what is used together is tied more strongly", "events", True),
        ConsolidationPass(
            "relations",
            "what two sessions say of one subject is tied",
            "pairs",
            True,
            pair_passes.relate_memories,
            RELATED_COSINE,
        ),
        ConsolidationPass(
            "recluster", "groups that nobody tagged are found and named", "clusters", True
        ),
        ConsolidationPass("small", "clusters that became too small join another", "clusters", True),
        ConsolidationPass(
            "tags", "tags that differ only in their writing become one", "tags", False
        ),
    )
}

# What sleep does by itself: it adds links and flags, and retires only what another memory holds in
# all that matters, what has faded for a month, or what a full type has no room for. Tags are
# somebody's own words: they wait for being asked.
SAFE_PASSES = tuple(row.name for row in PASSES.values() if row.safe)
