"""`python -m bench.extraction`: precision, recall and F1 of what is taken out of labelled sessions,
by kind.

A memory counts as right when it rests on the gold memory's message and covers most of the words of
its quote; each gold memory is found once, what finds it again is junk. The junk rate is the share
of kept memories that are not right. Baselines: the six rules that came before, and every sentence
of the user. Target: precision ≥ 0.9 on the held-out half, recall as high as it goes. `--list`
prints misses and junk of the develop half only; the held-out half is not read.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from bench.common import save, table
from bench.extraction.baselines import Messages, every_sentence, six_rules
from bench.extraction.data import Session, agreement, halves
from reverie.extraction.rule_extraction import CandidateLesson, extract_lessons

# share of the quote's words that a memory covers (of a fix: of its commands and error)
ENOUGH = 0.6
# times that figures of the held-out half were looked at; nothing in it was listed or read for
# tuning
LOOKS = 3


def rules(messages: Messages) -> list[CandidateLesson]:
    """The rules as they are."""
    return list(extract_lessons(messages).lessons)


METHODS: dict[str, Callable[[Messages], list[CandidateLesson]]] = {
    "every sentence": every_sentence,
    "six rules": six_rules,
    "rules": rules,
}


def words(text: str) -> set[str]:
    """The words of a text, apostrophes and case aside."""
    return set(re.findall(r"[\w/.-]*\w", text.lower().replace("'", "").replace("’", "")))


def fits(found: CandidateLesson, gold: dict[str, Any]) -> bool:
    """Whether this is that memory."""
    if not found.first <= gold["message"] <= found.last and found.last != gold["message"]:
        return False
    wanted = words(gold["quote"])
    return len(wanted & words(found.text)) >= ENOUGH * len(wanted)


def matched(
    found: Sequence[CandidateLesson], session: Session
) -> list[tuple[CandidateLesson, dict[str, Any] | None]]:
    """Each memory with the gold one that it is; each gold memory once, one of the
    right kind first.
    """
    left = list(session.gold)
    pairs: list[tuple[CandidateLesson, dict[str, Any] | None]] = []
    for one in found:
        options = sorted((g for g in left if fits(one, g)), key=lambda g: not right_kind(one, g))
        if options:
            left.remove(options[0])
        pairs.append((one, options[0] if options else None))
    return pairs


def right_kind(found: CandidateLesson, gold: dict[str, Any]) -> bool:
    """Whether the kind is the gold one, or as good."""
    return found.kind == gold["kind"] or found.kind in gold.get("also", ())


def measured(
    method: Callable[[Messages], list[CandidateLesson]], some: Sequence[Session]
) -> dict[str, Any]:
    """Precision, recall and F1 over these sessions, in all and by kind."""
    pairs = [pair for session in some for pair in matched(method(session.messages), session)]
    gold = Counter(g["kind"] for session in some for g in session.gold)
    hits = [(f, g) for f, g in pairs if g is not None]
    kinds = {
        kind: figures(
            sum(g["kind"] == kind for _, g in hits),
            sum(f.kind == kind if g is None else g["kind"] == kind for f, g in pairs),
            gold[kind],
        )
        for kind in sorted(gold)
    }
    return {
        "kept": len(pairs),
        "gold": gold.total(),
        **figures(len(hits), len(pairs), gold.total()),
        "junk": 1 - len(hits) / max(1, len(pairs)),
        "kind_right": sum(right_kind(f, g) for f, g in hits) / max(1, len(hits)),
        "kinds": kinds,
    }


def figures(right: int, kept: int, gold: int) -> dict[str, float]:
    """Precision, recall and their harmonic mean."""
    p, r = right / max(1, kept), right / max(1, gold)
    return {"precision": p, "recall": r, "f1": 2 * p * r / max(1e-9, p + r)}


def traps(some: Sequence[Session]) -> dict[str, str]:
    """Traps that were fallen into, of how many, by sort."""
    all_of, fallen = Counter[str](), Counter[str]()
    for session in some:
        kept = [f for f, gold in matched(rules(session.messages), session) if gold is None]
        for trap in session.traps:
            all_of[trap["trap"]] += 1
            wanted = words(trap["quote"])
            fallen[trap["trap"]] += any(
                len(wanted & words(f.text)) >= ENOUGH * len(wanted)
                and f.first <= trap["message"] <= f.last
                for f in kept
            )
    return {sort: f"{fallen[sort]} of {count}" for sort, count in sorted(all_of.items())}


def listing(some: Sequence[Session]) -> None:
    """What is missed and what is junk."""
    for session in some:
        pairs = matched(rules(session.messages), session)
        had = [g["quote"] for _, g in pairs if g is not None]
        for f, g in pairs:
            if g is None:
                print(f"junk   {session.name}#{f.last} [{f.rule}] {f.text}")
            elif not right_kind(f, g):
                print(
                    f"kind   {session.name}#{f.last} [{f.rule}] {f.kind} for {g['kind']}: {f.text}"
                )
        for g in session.gold:
            if g["quote"] not in had:
                print(f"missed {session.name}#{g['message']} {g['kind']}: {g['quote']}")


def main() -> None:
    """Measure and keep the figures."""
    parts = halves()
    if "--list" in sys.argv:
        listing(parts["develop"])
    shown = {"develop": parts["develop"]} if "--develop" in sys.argv else parts
    result: dict[str, Any] = {
        "target": {"precision": 0.9},
        "labelling": agreement(),
        "looks_at_held_out": LOOKS,
    }
    lines = []
    for half, some in shown.items():
        result[half] = {name: measured(method, some) for name, method in METHODS.items()}
        result[half]["traps_fallen_into"] = traps(some)
        for name in METHODS:
            m = result[half][name]
            lines.append(
                (
                    half,
                    name,
                    m["kept"],
                    m["gold"],
                    m["precision"],
                    m["recall"],
                    m["f1"],
                    m["junk"],
                    m["kind_right"],
                )
            )
    table(
        lines, ("half", "method", "kept", "gold", "precision", "recall", "F1", "junk", "kind right")
    )
    for half in shown:
        print()
        table(
            [
                (kind, m["precision"], m["recall"], m["f1"])
                for kind, m in result[half]["rules"]["kinds"].items()
            ],
            (f"{half}: kind", "precision", "recall", "F1"),
        )
        print("traps fallen into:", result[half]["traps_fallen_into"])
    print("labelling:", result["labelling"])
    if "--develop" not in sys.argv:
        save("extraction", result)


if __name__ == "__main__":
    main()
