"""What reconciling some new memories comes to: each is placed among its relatives, and the sum of
it is some changes.

Pure: the ledger holds memories as they were and as they are to be; nothing is written here. The
rules for two are those of `reconcile`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from reverie.core.model import EMPTY_MAPPING, Change, Edge, Link, Memory, Revise
from reverie.memory.memory_changes import flag_contradiction
from reverie.reconciliation.merge_rules import (
    DOUBTED_VERDICT,
    MAX_OPEN_CASES,
    MAX_OPPOSING,
    MAX_RIVALS,
    MIN_AKIN,
    OPPOSED_RELATIONS,
    SURE_BRIDGE,
    IdPair,
    Neighbour,
    PairComparison,
    PairRuling,
    absorb_memory,
    can_merge,
    can_yield,
    compare_families,
    diff_memory,
    is_in_wider_space,
    is_mixed_authorship,
    is_reconcilable,
    is_same_family,
    is_sure_conflict,
    is_worth_review,
    judge_pair,
    mark_retired,
    order_by_authorship,
    pick_believed,
    resolve_merged,
)
from reverie.reconciliation.paraphrase.statement_comparison import Verdict
from reverie.text.tokenization import fold_text


class ReconciliationPlan:
    """Memories as they were and as they become, while one new memory after the other is held
    against them.
    """

    def __init__(
        self,
        memories: Iterable[Memory],
        wordings: Mapping[str, Sequence[str]],
        settled: frozenset[IdPair],
        now: float,
        cases: Mapping[str, int] = EMPTY_MAPPING,
    ) -> None:
        self.before = {memory.id: memory for memory in memories}
        self.after = dict(self.before)
        # further texts of a memory
        self.wordings = {id: tuple(texts) for id, texts in wordings.items()}
        self.settled, self.now = settled, now
        self.cases = Counter(cases)  # how many open questions name a memory
        self.rulings: list[PairRuling] = []
        self.links: list[Change] = []

    def place_memory(self, id: str, near: Sequence[Neighbour]) -> None:
        """Hold a new memory against its neighbours and note what follows."""
        new = self.after[id]
        if not is_reconcilable(new, self.now):
            return
        nearest = self.find_nearest(new, near)
        views = self.compare_with(new, nearest)
        same = [
            view for view in views if view.verdict.relation == "same" and can_merge(view.old, new)
        ]
        akin, stands = {view.old.id for view in views}, new
        if same:
            best = min(
                same,
                key=lambda v: (
                    is_mixed_authorship(v.old, new),
                    v.old.space != new.space,
                    -v.old.strength,
                    v.old.id,
                ),
            )
            stands = self.merge_memories(best.old, new)
            if not is_mixed_authorship(best.old, new):
                for view in same:
                    stands = self.join_by_bridge(stands, view)
                stands = self.merge_same_family(
                    stands,
                    {
                        id: cosine
                        for id, cosine in nearest.items()
                        if id in akin or self.wordings.get(id)
                    },
                )
        against = [
            view
            for view in views
            if view.verdict.relation in OPPOSED_RELATIONS and view.old.id != stands.id
        ]
        against.sort(key=lambda v: -v.verdict.confidence)
        free = [
            v for v in against[1:] if v.verdict.relation == "updates" or not self.is_crowded(v.old)
        ]
        rivals = [*against[:1], *free][:MAX_RIVALS]
        for view in sorted(rivals, key=lambda v: self.is_crowded(v.old)):
            verdict = (
                view.verdict
                if view is rivals[0] or view.verdict.relation == "updates"
                else DOUBTED_VERDICT
            )
            self.resolve_conflict(self.after[view.old.id], self.after[stands.id], verdict, new.at)
        if not same and self.after[id].active:
            self.tie_to_nearest(new, views)

    def find_nearest(self, new: Memory, near: Sequence[Neighbour]) -> dict[str, float | None]:
        """The neighbours that count, or what they were merged into, and the highest
        cosine of each.
        """
        nearest: dict[str, float | None] = {}
        for one in near:
            old = resolve_merged(self.after, one.id)
            if old and old.id != new.id and self.is_comparable(old, new):
                known = nearest.get(old.id)
                nearest[old.id] = one.cosine if known is None else max(known, one.cosine or 0.0)
        return nearest

    def compare_with(
        self, new: Memory, nearest: Mapping[str, float | None]
    ) -> list[PairComparison]:
        """What the new one is to each of these; nearest first."""
        found = []
        for other, cosine in nearest.items():
            old = self.after[other]
            # what may follow across spaces is decided here, not there
            here = old._replace(space=new.space)
            verdict = judge_pair(here, new, cosine, self.wordings.get(other, ()))
            if verdict.relation != "apart":
                found.append(PairComparison(old, verdict, cosine))
        return sorted(found, key=lambda view: (-(view.cosine or 0.0), view.old.id))

    def is_comparable(self, old: Memory, new: Memory) -> bool:
        """Whether a pair is worth a look: nobody has decided about it, and the new one sees the old
        one.
        """
        return (
            is_reconcilable(old, self.now)
            and frozenset((old.id, new.id)) not in self.settled
            and (old.space == new.space or is_in_wider_space(old, new))
        )

    def merge_memories(self, kept: Memory, gone: Memory) -> Memory:
        """The older one takes over what the new one says; the new wording stays readable. What
        others wrote is no wording of what somebody stands behind: it only steps back for it.
        """
        kept, gone = order_by_authorship(kept, gone)
        stays = self.after[kept.id] = absorb_memory(kept, gone, self.now)
        self.after[gone.id] = mark_retired(gone, self.now, "merged", kept.id)
        self.rulings.append(PairRuling(gone.id, kept.id, "same"))
        if is_mixed_authorship(kept, gone):
            return stays
        said = {fold_text(text) for text in (kept.text, *self.wordings.get(kept.id, ()))}
        if fold_text(gone.text) not in said:  # ten thousand times the same words are one wording
            self.links.append(Link(edge=Edge(src=kept.id, rel="derived_from", dst=gone.id)))
        self.wordings[kept.id] = (
            *self.wordings.get(kept.id, ()),
            gone.text,
            *self.wordings.get(gone.id, ()),
        )
        return stays

    def join_by_bridge(self, kept: Memory, view: PairComparison) -> Memory:
        """Two that were kept apart become one when a new wording says the same as both, and surely
        so.
        """
        other = self.after[view.old.id]
        if (
            other.id == kept.id
            or not other.active
            or view.verdict.confidence < SURE_BRIDGE
            or kept.space != other.space
            or not can_merge(kept, other)
            or not self.is_comparable(kept, other)
            or self.is_disagreeing(kept, other, view.cosine)
        ):
            return kept
        return self.merge_memories(kept, other)

    def is_disagreeing(self, one: Memory, other: Memory, cosine: float | None) -> bool:
        """Whether two memories, one of them of several wordings, have little to do with each other
        or contradict each other, whoever says the same as both.
        """
        ones, others = self.wordings.get(one.id, ()), self.wordings.get(other.id, ())
        if not ones and not others:
            return False
        said = compare_families(one, ones, other, others, cosine)
        return (
            said["same"] + said["near"] < MIN_AKIN
            or sum(said[r] for r in OPPOSED_RELATIONS) > MAX_OPPOSING
        )

    def merge_same_family(self, kept: Memory, nearest: Mapping[str, float | None]) -> Memory:
        """A memory that has just been said once more is known better: what was left beside it may
        be the same.
        """
        for id, cosine in nearest.items():
            other = self.after[id]
            if (
                other.id != kept.id
                and other.active
                and kept.space == other.space
                and can_merge(kept, other)
                and self.is_comparable(kept, other)
                and other.id not in kept.conflicts_with
                and is_same_family(
                    kept, self.wordings.get(kept.id, ()), other, self.wordings.get(id, ()), cosine
                )
            ):
                bigger, smaller = (
                    (kept, other) if kept.strength >= other.strength else (other, kept)
                )
                kept = self.merge_memories(bigger, smaller)
        return kept

    def resolve_conflict(self, old: Memory, new: Memory, verdict: Verdict, at: float) -> None:
        """One of two that contradict each other steps back, or both are flagged. Elsewhere than
        here both may be true:

        what holds in one project overrides what the user said for all, and takes nothing from it.
        """
        if old.space != new.space:
            return
        winner = pick_believed(old, new, at)
        if winner is not None:
            loser = old if winner is new else new
            if is_sure_conflict(verdict, winner) and can_yield(loser, winner):
                self.retire_superseded(loser, winner, verdict)
                return
        if not is_mixed_authorship(old, new):
            self.flag_conflict(old, new, verdict)

    def retire_superseded(self, loser: Memory, winner: Memory, verdict: Verdict) -> None:
        """The loser no longer counts; it can be asked about and brought back (A87–A89)."""
        self.after[loser.id] = mark_retired(loser, self.now, "superseded", winner.id)
        self.links.append(Link(edge=Edge(src=winner.id, rel="supersedes", dst=loser.id)))
        self.rulings.append(PairRuling(winner.id, loser.id, verdict.relation))

    def flag_conflict(self, old: Memory, new: Memory, verdict: Verdict) -> None:
        """Both are kept, and each knows of the other."""
        if (new.id in old.conflicts_with and old.id in new.conflicts_with) or self.has_enough_cases(
            old, new
        ):
            return
        self.cases.update((old.id, new.id))
        for change in flag_contradiction(old, new, self.now):
            if isinstance(change, Revise):
                self.after[change.id] = self.after[change.id]._replace(**change.fields)
            else:
                self.links.append(change)
        self.rulings.append(PairRuling(new.id, old.id, verdict.relation))

    def tie_to_nearest(self, new: Memory, views: Sequence[PairComparison]) -> None:
        """Tie it to the nearest of those that say nearly the same (X42, CC-86)."""
        near = [
            view
            for view in views
            if view.verdict.relation in ("near", "same")
            and view.old.space == new.space
            and self.after[view.old.id].active
            and is_worth_review(view.old, new, view.cosine)
            and not is_mixed_authorship(view.old, new)
            and not self.has_enough_cases(view.old, new)
        ]
        near.sort(key=lambda view: self.is_crowded(view.old))
        if near:
            self.cases.update((near[0].old.id, new.id))
            weight = near[0].cosine if near[0].cosine is not None else near[0].verdict.confidence
            self.links.append(
                Link(
                    edge=Edge(
                        src=new.id,
                        rel="resembles",
                        dst=near[0].old.id,
                        weight=min(1.0, max(0.01, weight)),
                    )
                )
            )
            self.rulings.append(PairRuling(new.id, near[0].old.id, "near"))

    def is_crowded(self, memory: Memory) -> bool:
        """Whether there are questions enough about it."""
        return self.cases[memory.id] >= MAX_OPEN_CASES

    def has_enough_cases(self, old: Memory, new: Memory) -> bool:
        """Whether a question about both is one too many. The first about a new memory never is: it
        must be told.
        """
        return self.is_crowded(new) or (self.is_crowded(old) and self.cases[new.id] > 0)

    def list_changes(self) -> list[Change]:
        """Everything that has become different, memories first."""
        made = [
            change
            for id, after in self.after.items()
            for change in diff_memory(self.before[id], after)
        ]
        return [*made, *self.links]

    def list_dependencies(self) -> list[Memory]:
        """The memories, as they were read, that these changes rest on."""
        named = {id for ruling in self.rulings for id in (ruling.new, ruling.old)}
        return [
            memory for id, memory in self.before.items() if id in named or memory != self.after[id]
        ]
