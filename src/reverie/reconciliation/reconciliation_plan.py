"""The plan of what becomes of new memories and of their relatives.

`ReconciliationPlan` holds memories as they were and as they are to be, places one new memory after
the other among its neighbours, and lists the changes of all. Pure: nothing is read or written. The
rules for two are those of `merge_rules`. Always true: what a person has decided about a pair
(`settled`) is not decided again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from reverie.core.model import EMPTY_MAPPING, Change, Edge, Link, Memory, Revise, index_memories
from reverie.memory.memory_changes import flag_contradiction
from reverie.reconciliation.merge_rules import (
    DOUBTED_VERDICT,
    MAX_OPEN_CASES,
    MAX_OPPOSING,
    MAX_RIVALS,
    MIN_AKIN,
    SURE_BRIDGE,
    IdPair,
    KnownMemory,
    Neighbour,
    PairComparison,
    PairRuling,
    absorb_memory,
    can_merge,
    compare_families,
    diff_memory,
    is_in_wider_space,
    is_mixed_authorship,
    is_reconcilable,
    is_same_family,
    is_worth_review,
    judge_pair,
    mark_retired,
    order_by_authorship,
    pick_successor,
    resolve_merged,
)
from reverie.reconciliation.paraphrase.statement_comparison import Verdict
from reverie.reconciliation.paraphrase.wording_vote import OPPOSED_RELATIONS
from reverie.text.tokenization import fold_text


class ReconciliationPlan:
    """Memories as they were and as they become, while new ones are placed among them.

    `wordings` are further texts of a memory, `settled` the pairs that a person has decided, `cases`
    how many open questions name a memory.
    """

    def __init__(
        self,
        memories: Iterable[Memory],
        wordings: Mapping[str, Sequence[str]],
        settled: frozenset[IdPair],
        now: float,
        cases: Mapping[str, int] = EMPTY_MAPPING,
    ) -> None:
        self.before = index_memories(memories)
        self.after = dict(self.before)
        self.wordings = {id: tuple(texts) for id, texts in wordings.items()}
        self.settled = settled
        self.now = now
        self.cases = Counter(cases)
        self.rulings: list[PairRuling] = []
        self.links: list[Change] = []

    def place_memory(self, id: str, near: Sequence[Neighbour]) -> None:
        """Compare a new memory with its neighbours and note what follows."""
        new = self.after[id]
        if not is_reconcilable(new, self.now):
            return
        nearest = self.find_nearest(new, near)
        compared = self.compare_with(new, nearest)
        same = [
            pair
            for pair in compared
            if pair.verdict.relation == "same" and can_merge(pair.old, new)
        ]
        stands = new
        if same:
            known = {pair.old.id for pair in compared} | self.wordings.keys()
            family = {id: cosine for id, cosine in nearest.items() if id in known}
            stands = self.merge_repetition(new, same, family)
        # Conflicts after repetitions: what stands for the new memory has its say.
        self.resolve_conflicts(stands.id, compared, new.at)
        if not same and self.after[id].active:
            self.tie_to_nearest(new, compared)

    def find_nearest(
        self,
        new: Memory,
        near: Sequence[Neighbour],
    ) -> dict[str, float | None]:
        """The active neighbours, or what they were merged into, with the highest cosine of each."""
        nearest: dict[str, float | None] = {}
        for id, cosine in near:
            old = resolve_merged(self.after, id)
            if old is None or old.id == new.id or not self.is_comparable(old, new):
                continue
            known = nearest.get(old.id)
            nearest[old.id] = cosine if known is None else max(known, cosine or 0.0)
        return nearest

    def compare_with(
        self, new: Memory, nearest: Mapping[str, float | None]
    ) -> list[PairComparison]:
        """What the new memory is to each of these, nearest first; none that is "apart"."""
        found = []
        for id, cosine in nearest.items():
            old = self.after[id]
            # What may follow across spaces is decided by this plan, not by the comparison.
            here = old._replace(space=new.space)
            verdict = judge_pair(here, new, cosine, self.wordings.get(id, ()))
            if verdict.relation != "apart":
                found.append(PairComparison(old, verdict, cosine))
        return sorted(
            found,
            key=lambda pair: (-(pair.cosine or 0.0), pair.old.id),
        )

    def is_comparable(self, old: Memory, new: Memory) -> bool:
        """True if nobody has decided about a pair and the readers of the new one see the old."""
        return (
            is_reconcilable(old, self.now)
            and frozenset((old.id, new.id)) not in self.settled
            and (old.space == new.space or is_in_wider_space(old, new))
        )

    def to_known(self, memory: Memory) -> KnownMemory:
        """A memory with the further texts by which it is known."""
        return KnownMemory(memory, self.wordings.get(memory.id, ()))

    # Repetitions

    def merge_repetition(
        self,
        new: Memory,
        same: Sequence[PairComparison],
        family: Mapping[str, float | None],
    ) -> Memory:
        """The memory that stands for a new one which repeats the `same`.

        Best is one that is ours as the new one is, in the same space, and the strongest. What else
        lies near (`family`, by id with its cosine) may turn out to be the same now.
        """

        def rank(old: Memory) -> tuple[bool, bool, int, str]:
            is_mixed = is_mixed_authorship(old, new)
            return is_mixed, old.space != new.space, -old.strength, old.id

        best = min((pair.old for pair in same), key=rank)
        stands = self.merge_memories(best, new)
        if is_mixed_authorship(best, new):
            return stands
        for pair in same:
            stands = self.join_by_bridge(stands, pair)
        return self.merge_same_family(stands, family)

    def merge_memories(self, kept: Memory, gone: Memory) -> Memory:
        """The kept memory, which takes in what the other says; its wording stays readable.

        What others wrote is no wording of what somebody vouches for: it is only retired for it.
        """
        kept, gone = order_by_authorship(kept, gone)
        stays = absorb_memory(kept, gone, self.now)
        self.after[kept.id] = stays
        self.after[gone.id] = mark_retired(
            gone,
            self.now,
            "merged",
            kept.id,
        )
        self.rulings.append(PairRuling(gone.id, kept.id, "same"))
        if is_mixed_authorship(kept, gone):
            return stays
        wordings = self.wordings.get(kept.id, ())
        # Ten thousand times the same words are one wording.
        if fold_text(gone.text) not in map(fold_text, (kept.text, *wordings)):
            self.link(kept, "derived_from", gone)
        self.wordings[kept.id] = (*wordings, gone.text, *self.wordings.get(gone.id, ()))
        return stays

    def link(
        self,
        src: Memory,
        rel: str,
        dst: Memory,
        weight: float = 1.0,
    ) -> None:
        """Note an edge from one memory to another."""
        self.links.append(Link(Edge(src.id, rel, dst.id, weight)))

    def join_by_bridge(self, kept: Memory, pair: PairComparison) -> Memory:
        """The kept memory, merged with one beside it if a new wording surely says the same as
        both.
        """
        other = self.after[pair.old.id]
        if pair.verdict.confidence < SURE_BRIDGE or not self.may_join(kept, other):
            return kept
        if self.is_disagreeing(kept, other, pair.cosine):
            return kept
        return self.merge_memories(kept, other)

    def may_join(self, kept: Memory, other: Memory) -> bool:
        """True if two memories of one space may still become one."""
        return (
            other.id != kept.id
            and other.active
            and kept.space == other.space
            and can_merge(kept, other)
            and self.is_comparable(kept, other)
        )

    def is_disagreeing(
        self,
        one: Memory,
        other: Memory,
        cosine: float | None,
    ) -> bool:
        """True if the wordings of two memories have little in common or contradict each other,
        whatever third text says the same as both.
        """
        ones, others = self.to_known(one), self.to_known(other)
        if not ones.wordings and not others.wordings:
            return False
        shares = compare_families(ones, others, cosine)
        opposing = sum(shares[relation] for relation in OPPOSED_RELATIONS)
        return shares["same"] + shares["near"] < MIN_AKIN or opposing > MAX_OPPOSING

    def merge_same_family(
        self,
        kept: Memory,
        nearest: Mapping[str, float | None],
    ) -> Memory:
        """The kept memory, merged with what was left beside it: its wordings are more now, and may
        show that the two are the same.
        """
        for id, cosine in nearest.items():
            other = self.after[id]
            if not self.may_join(kept, other) or other.id in kept.conflicts_with:
                continue
            if is_same_family(self.to_known(kept), self.to_known(other), cosine):
                # The stronger stays; of equals the one that stood.
                weaker, stronger = sorted((other, kept), key=lambda memory: memory.strength)
                kept = self.merge_memories(stronger, weaker)
        return kept

    # Contradictions

    def resolve_conflicts(
        self,
        id: str,
        compared: Sequence[PairComparison],
        at: float,
    ) -> None:
        """Retire or flag what contradicts a memory, the surest first and MAX_RIVALS at most."""
        against = [
            pair
            for pair in compared
            if pair.old.id != id and pair.verdict.relation in OPPOSED_RELATIONS
        ]
        rivals = self.choose_rivals(against)
        # A correction puts one thing right: the others are only flagged, and so are all where it
        # may be either of two.
        sure = [
            pair.verdict.confidence for pair in rivals[:2] if pair.verdict.relation != "updates"
        ]
        is_single = len(sure) < 2 or sure[0] > sure[1]
        for pair in sorted(rivals, key=lambda pair: self.is_crowded(pair.old)):
            is_first = pair is rivals[0] and is_single
            is_plain = is_first or pair.verdict.relation == "updates"
            verdict = pair.verdict if is_plain else DOUBTED_VERDICT
            self.resolve_conflict(
                self.after[pair.old.id],
                self.after[id],
                verdict,
                at,
            )

    def choose_rivals(self, against: list[PairComparison]) -> list[PairComparison]:
        """The surest contradictions, MAX_RIVALS at most; but for the first and for updates none
        about which as many questions are open as may be.
        """
        ranked = sorted(against, key=lambda pair: -pair.verdict.confidence)
        rivals = ranked[:1]
        for pair in ranked[1:]:
            if pair.verdict.relation == "updates" or not self.is_crowded(pair.old):
                rivals.append(pair)
        return rivals[:MAX_RIVALS]

    def resolve_conflict(
        self,
        old: Memory,
        new: Memory,
        verdict: Verdict,
        at: float,
    ) -> None:
        """Retire one of two that contradict each other, or flag both.

        Across spaces both may be true: what holds in one project overrides what the user said for
        all, and takes nothing from it.
        """
        if old.space != new.space:
            return
        decided = pick_successor(old, new, verdict, at)
        if decided:
            self.retire_superseded(*decided, verdict)
        elif not is_mixed_authorship(old, new):
            self.flag_conflict(old, new, verdict)

    def retire_superseded(
        self,
        loser: Memory,
        winner: Memory,
        verdict: Verdict,
    ) -> None:
        """Retire the loser, which can still be asked about and restored."""
        self.after[loser.id] = mark_retired(
            loser,
            self.now,
            "superseded",
            winner.id,
        )
        self.link(winner, "supersedes", loser)
        self.rulings.append(PairRuling(winner.id, loser.id, verdict.relation))

    def flag_conflict(
        self,
        old: Memory,
        new: Memory,
        verdict: Verdict,
    ) -> None:
        """Note on both memories that they contradict each other."""
        is_known = new.id in old.conflicts_with and old.id in new.conflicts_with
        if is_known or self.has_enough_cases(old, new):
            return
        self.cases.update((old.id, new.id))
        for change in flag_contradiction(old, new, self.now):
            if isinstance(change, Revise):
                self.after[change.id] = self.after[change.id]._replace(**change.fields)
            else:
                self.links.append(change)
        self.rulings.append(PairRuling(new.id, old.id, verdict.relation))

    # Near-duplicates

    def tie_to_nearest(self, new: Memory, compared: Sequence[PairComparison]) -> None:
        """Tie a new memory to its nearest near-duplicate, for a person to decide."""
        near = [pair for pair in compared if self.is_open_question(pair, new)]
        if not near:
            return
        # The nearest, but rather one about which fewer questions are open.
        old, verdict, cosine = min(
            near,
            key=lambda pair: self.is_crowded(pair.old),
        )
        self.cases.update((old.id, new.id))
        weight = verdict.confidence if cosine is None else cosine
        self.link(new, "resembles", old, min(1.0, max(0.01, weight)))
        self.rulings.append(PairRuling(new.id, old.id, "near"))

    def is_open_question(self, pair: PairComparison, new: Memory) -> bool:
        """True if a person may be asked whether a new memory repeats this one."""
        return (
            pair.verdict.relation in ("near", "same")
            and pair.old.space == new.space
            and self.after[pair.old.id].active
            and is_worth_review(pair.old, new, pair.cosine)
            and not is_mixed_authorship(pair.old, new)
            and not self.has_enough_cases(pair.old, new)
        )

    def is_crowded(self, memory: Memory) -> bool:
        """True if as many questions name a memory as may be."""
        return self.cases[memory.id] >= MAX_OPEN_CASES

    def has_enough_cases(self, old: Memory, new: Memory) -> bool:
        """True if a question about both is one too many; the first about a new one never is."""
        return self.is_crowded(new) or (self.is_crowded(old) and self.cases[new.id] > 0)

    # Results

    def list_changes(self) -> list[Change]:
        """All changes, those of memories first."""
        changes: list[Change] = []
        for id, after in self.after.items():
            changes += diff_memory(self.before[id], after)
        return [*changes, *self.links]

    def list_dependencies(self) -> list[Memory]:
        """The memories, as they were read, on which these changes rest."""
        ruled = {id for ruling in self.rulings for id in ruling[:2]}
        return [old for id, old in self.before.items() if id in ruled or old != self.after[id]]
