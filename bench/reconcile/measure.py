"""What is counted: confusion, wrong retirements, missed contradictions, and what a fed group of
restatements leaves.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from bench.reconcile.data import Pair
from bench.reconcile.vectors import Cosines
from reverie.core.model import Memory
from reverie.reconciliation.paraphrase.statement_comparison import (
    RELATIONS,
    Verdict,
    compare_memories,
)

Judge = Callable[[Pair], str]
NOON = 1_700_000_000.0


class Judged(NamedTuple):
    pair: Pair
    relation: str


def memory(text: str, kind: str = "fact", **fields: Any) -> Memory:
    """A memory with this text."""
    return Memory(
        id=f"mem_{abs(hash(text))}",
        text=text,
        space="me/demo",
        kind=kind,
        **{"at": NOON, "created_at": NOON, "updated_at": NOON, **fields},
    )


def ours(cosines: Cosines | None) -> Judge:
    """`compare`, with or without vectors."""
    return lambda pair: (
        compare_memories(
            memory(pair.old, pair.kind),
            memory(pair.new, pair.kind),
            cosines(pair.old, pair.new) if cosines else None,
        ).relation
    )


def with_wordings(rows: Sequence[Pair], cosines: Cosines) -> list[Judged]:
    """Everything but the restatements, against memories into which all restatements of the group
    were merged.
    """
    merged: dict[str, list[str]] = {}
    for row in rows:
        if row.label == "same":
            merged.setdefault(row.old, []).append(row.new)
    return [
        Judged(
            row,
            verdict_of(
                Kept(memory(row.old, row.kind), tuple(merged.get(row.old, ()))),
                memory(row.new, row.kind),
                cosines,
                True,
            ).relation,
        )
        for row in rows
        if row.label != "same"
    ]


def by_cosine(cosines: Cosines) -> Judge:
    """The baseline of CONSTANTS row 7: ≥ 0.92 is the same, ≥ 0.80 is near."""

    def judge(pair: Pair) -> str:
        cosine = cosines(pair.old, pair.new)
        return "same" if cosine >= 0.92 else "near" if cosine >= 0.80 else "apart"

    return judge


def by_tokens(pair: Pair) -> str:
    """The baseline without a model: an overlap of 0.75 of the words is the same."""
    a, b = (set(text.lower().replace(".", "").split()) for text in (pair.old, pair.new))
    return "same" if len(a & b) / len(a | b) >= 0.75 else "apart"


def judged(rows: Sequence[Pair], judge: Judge) -> list[Judged]:
    return [Judged(row, judge(row)) for row in rows]


def summary(found: Sequence[Judged]) -> dict[str, Any]:
    """Rates over all pairs, and precision and recall of each relation."""
    table = Counter((j.pair.label, j.relation) for j in found)
    count = Counter(j.pair.label for j in found)
    against = {"contradicts", "updates"}

    def share(labels: set[str], relations: set[str]) -> float:
        return sum(table[a, b] for a in labels for b in relations) / max(
            1, sum(count[a] for a in labels)
        )

    compatible = {"same", "near", "apart"}
    wrong = (
        sum(table[a, "updates"] for a in compatible)
        + table["contradicts", "same"]
        + table["updates", "same"]
    )
    return {
        "pairs": len(found),
        "wrongly superseded": wrong / len(found),
        "wrongly superseded, of what was retired": wrong
        / max(1, sum(table[a, b] for a in RELATIONS for b in ("same", "updates"))),
        "near or apart taken for same": share({"near", "apart"}, {"same"}),
        "contradictions not flagged": 1 - share(against, against),
        "contradictions not reported at all": share(against, {"same", "apart"}),
        "false alarms": share(compatible, against),
        "accuracy": sum(table[r, r] for r in RELATIONS) / len(found),
        "per relation": {
            r: {
                "pairs": count[r],
                "precision": table[r, r] / max(1, sum(table[a, r] for a in RELATIONS)),
                "recall": table[r, r] / max(1, count[r]),
            }
            for r in RELATIONS
        },
        "confusion": {a: {b: table[a, b] for b in RELATIONS} for a in RELATIONS},
    }


class Kept(NamedTuple):
    memory: Memory
    wordings: tuple[str, ...]


def fed(
    texts: Sequence[str], kind: str, cosines: Cosines | None, *, best: bool = True
) -> list[Kept]:
    """The memories that are left when texts come one after the other and what is the same is merged
    into the first.

    `best`: the cosine is the highest over all wordings; else that of the first text only.
    """
    kept: list[Kept] = []
    for text in texts:
        new = memory(text, kind)
        found = [(verdict_of(one, new, cosines, best), i) for i, one in enumerate(kept)]
        into = [(v.confidence, -i) for v, i in found if v.relation == "same"]
        if into:
            place = -max(into)[1]
            kept[place] = Kept(kept[place].memory, (*kept[place].wordings, text))
        else:
            kept.append(Kept(new, ()))
    return kept


def again(kept: Sequence[Kept], cosines: Cosines | None) -> list[Kept]:
    """One more round over what is left, as a night's sleep does: each is compared with those before
    it.
    """
    left: list[Kept] = []
    for one in kept:
        place = next((i for i, other in enumerate(left) if _joins(other, one, cosines)), None)
        if place is None:
            left.append(one)
        else:
            left[place] = Kept(
                left[place].memory, (*left[place].wordings, one.memory.text, *one.wordings)
            )
    return left


def _joins(one: Kept, other: Kept, cosines: Cosines | None) -> bool:
    """Whether the second says what the first says, in any of its wordings."""
    texts = (other.memory.text, *other.wordings)
    return any(
        verdict_of(one, other.memory._replace(text=text), cosines, True).relation == "same"
        for text in texts
    )


def verdict_of(one: Kept, new: Memory, cosines: Cosines | None, best: bool) -> Verdict:
    """What a new memory is to one that is kept, with its wordings."""
    known = (one.memory.text, *one.wordings) if best else (one.memory.text,)
    cosine = max(cosines(text, new.text) for text in known) if cosines else None
    return compare_memories(one.memory, new, cosine, wordings=one.wordings)
