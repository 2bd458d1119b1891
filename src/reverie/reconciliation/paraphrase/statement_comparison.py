"""What two memories are to each other, told without a language model.

`compare` answers with one of five relations:

- **same**: the new one says what the old one says, in other words, and adds nothing. It can be
  merged away.
- **updates**: both cannot be true, and the new one says by itself that it replaces something, and
  the old one is that.
- **contradicts**: both cannot be true: another value for the same thing, a denial, the opposite. A
  person decides.
- **near**: they overlap; one says a little more, or less surely, or only for some case. Reported,
  both are kept.
- **apart**: anything else, such as two facts that can both be true, or the same about another
  place, person or day.

Only the first two make a memory disappear from sight, so they have to be sure: a scorer over
readable features (`likeness`) proposes, its coefficients are in `comparer.json`, and what it
proposes must pass plain rules (`barred`), which name what forbids it. When in doubt the answer is
"contradicts" or "near", which only ask for a look.

We would notice it going wrong in `python -m bench.reconcile`, which counts what would wrongly be
retired.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from reverie.core.kinds import kind_of
from reverie.core.model import Memory
from reverie.reconciliation.paraphrase.merge_guard import guard_verdict
from reverie.reconciliation.paraphrase.similarity_features import (
    StatementSimilarity,
    compare_statements,
)
from reverie.reconciliation.paraphrase.statement_parser import Statement, read_statement
from reverie.reconciliation.paraphrase.wording_vote import (
    MAX_VOTING,
    MIN_VOTING,
    WordingVote,
    decide_vote,
)
from reverie.text.tokenization import fold_text

RELATIONS = ("same", "near", "contradicts", "updates", "apart")

# How likely a relation must be; below it the next best is the answer, and in the end "near".
MIN_LIKELIHOOD = {"same": 0.70, "updates": 0.50, "contradicts": 0.20, "near": 0.0, "apart": 0.0}
ALIKE_COSINE = 0.70  # cosine from which two may be the same although each has words of its own
SUBJECT_OVERLAP = 0.60  # overlap of words below which another subject is another thing
VOTE_LIKELIHOOD = 0.55  # how likely the same must be to be one vote of several
FIRST_WORDINGS = 3  # wordings that are asked before all
OFTEN_SAID = 3  # times after which what was said is not replaced in passing
LITTLE_OVERLAP = 0.40  # overlap of words below which only a plain clash is a conflict
DAY = 86_400.0
REASON_CLAUSE = re.compile(
    r"[,;]?\s+(?:because|since|as (?:we|it|our|the|this|that|they|an?)|so that|otherwise)\b"
    r"[^.!?]*[.!?]*\s*$",
    re.IGNORECASE,
)
MIN_CLAIM_WORDS = 3  # words that must be left when the reason is taken off


class Verdict(NamedTuple):
    """What the new memory is to the old one, how sure that is (0..1), and why, in words for a
    person.
    """

    relation: str  # a member of RELATIONS
    confidence: float
    why: str


class RelationScorer(NamedTuple):
    """For each feature what one of it adds to each relation; `start` is where all begin."""

    adds: dict[str, tuple[float, ...]]
    start: tuple[float, ...]

    def estimate(self, features: Mapping[str, float]) -> dict[str, float]:
        """How likely each relation is; together 1. Most features are 0 and cost nothing."""
        sums = list(self.start)
        for name, value in features.items():
            if value and name in self.adds:
                sums = [
                    total + value * add for total, add in zip(sums, self.adds[name], strict=True)
                ]
        top = max(sums)
        odds = [math.exp(value - top) for value in sums]
        total = sum(odds)
        return {relation: odd / total for relation, odd in zip(RELATIONS, odds, strict=True)}


@cache
def load_scorer(name: str) -> RelationScorer:
    """The scorer called "with cosine" or "without". The file brings features to one measure, (value
    - mean) / scale.
    """
    kept = json.loads((Path(__file__).parent / "comparer.json").read_text("utf-8"))[name]
    rows = kept["features"]
    adds = {
        feature: tuple(row[r] / row["scale"] for r in RELATIONS) for feature, row in rows.items()
    }
    start = tuple(
        kept["bias"][r] - sum(rows[feature]["mean"] * adds[feature][place] for feature in rows)
        for place, r in enumerate(RELATIONS)
    )
    return RelationScorer(adds, start)


def compare_memories(
    old: Memory, new: Memory, cosine: float | None, *, wordings: Sequence[str] = ()
) -> Verdict:
    """What `new` is to `old`.

    `wordings` are further texts by which `old` is known, such as restatements that were merged into
    it. `cosine` is the likeness of the vectors of the two texts, or the highest over the wordings
    where the caller has their vectors; None where there is no embedder, and then words alone
    decide. A pure function of its arguments.
    """
    return guard_verdict(old, new, propose_verdict(old, new, cosine, wordings), wordings)


def propose_verdict(
    old: Memory, new: Memory, cosine: float | None, wordings: Sequence[str]
) -> Verdict:
    """What `new` seems to be to `old`, before a last look at what exactly it gives up."""
    said = read_statement(new.text)
    if apart := explain_apart(old, new, said):
        return Verdict("apart", 1.0, apart)
    every = [read_statement(text) for text in (old.text, *wordings)]
    if fold_text(new.text) in map(fold_text, (old.text, *wordings)) or any(
        text.plain == said.plain for text in every if not (text.is_truncated or said.is_truncated)
    ):
        return limit_verdict(old, new, Verdict("same", 1.0, "the same words"))
    known = pick_nearest_wordings(every, said)
    if not said.words or not known[0].words:
        return Verdict("apart", 1.0, "one of them says nothing that could be compared")
    if said.is_question and not known[0].is_question:
        return Verdict("apart", 1.0, "a question states nothing")
    if len(every) >= MIN_VOTING:
        return limit_verdict(old, new, vote_by_wordings(every, known, read_claim(new.text), cosine))
    seen = compare_statements(known[0], said, cosine)
    return limit_verdict(
        old,
        new,
        protect_repeated(old, seen, decide_relation(seen, estimate_relations(seen, cosine))),
    )


def protect_repeated(old: Memory, seen: StatementSimilarity, verdict: Verdict) -> Verdict:
    """What was said time and again is replaced only by what names it: "no longer X", "instead of
    X"; else a person decides.
    """
    if (
        verdict.relation == "updates"
        and old.strength >= OFTEN_SAID
        and not seen.features["gives up"]
    ):
        return verdict._replace(relation="contradicts")
    return verdict


def collect_concepts(known: Sequence[Statement]) -> frozenset[str]:
    """Everything that a memory is known to speak of, in any of its wordings."""
    return frozenset().union(*(text.affirmed | text.denied for text in known))


def read_claim(text: str) -> Statement:
    """What a text says, without the reason that it gives at its end: why one wants a thing is no
    other wish.
    """
    claim = REASON_CLAUSE.sub("", text)
    return read_statement(claim if len(claim.split()) >= MIN_CLAIM_WORDS else text)


def vote_by_wordings(
    every: Sequence[Statement], near: Sequence[Statement], said: Statement, cosine: float | None
) -> Verdict:
    """What a text is to a memory of many wordings: those that are nearest to it decide together.

    Where the first few agree that it is something else altogether, the others are not asked.
    """
    vocabulary = collect_concepts(every)
    seen = [compare_statements(text, said, cosine, vocabulary) for text in near[:FIRST_WORDINGS]]
    looks = [cast_vote(one, cosine) for one in seen]
    if any(one.relation != "apart" for one in looks):
        rest = [
            compare_statements(text, said, cosine, vocabulary) for text in near[FIRST_WORDINGS:]
        ]
        seen, looks = [*seen, *rest], [*looks, *(cast_vote(one, cosine) for one in rest)]
    relation, sure = decide_vote(looks)
    told = next(
        (one for one, vote in zip(seen, looks, strict=True) if vote.relation == relation), seen[0]
    )
    return Verdict(relation, round(sure, 3), explain_verdict(relation, told))


def cast_vote(seen: StatementSimilarity, cosine: float | None) -> WordingVote:
    """What a text is to one of several wordings; the surer for their number, so that less must be
    likely.
    """
    likely = estimate_relations(seen, cosine)
    verdict = decide_relation(seen, likely, VOTE_LIKELIHOOD)
    return WordingVote(
        verdict.relation,
        verdict.confidence,
        likely,
        explain_barred("same", seen),
        bool(seen.features["gives up"]),
        len(seen.extra),
    )


def pick_nearest_wordings(known: Sequence[Statement], said: Statement) -> list[Statement]:
    """Those wordings of a memory that share most words with the new text."""
    mine = said.affirmed | said.denied | said.light
    ranked = sorted(known, key=lambda s: (-len(mine & (s.affirmed | s.denied | s.light)), s.plain))
    return ranked[:MAX_VOTING]


def estimate_relations(seen: StatementSimilarity, cosine: float | None) -> dict[str, float]:
    """How likely each relation is, of two statements compared."""
    return load_scorer("without" if cosine is None else "with cosine").estimate(seen.features)


def decide_relation(
    seen: StatementSimilarity, likely: Mapping[str, float], sure: float = MIN_LIKELIHOOD["same"]
) -> Verdict:
    """What two statements are to each other; `sure` is how likely a repetition must be."""
    for relation in sorted(likely, key=lambda r: (-likely[r], r)):
        if explain_barred(relation, seen):
            continue
        if likely[relation] >= (sure if relation == "same" else MIN_LIKELIHOOD[relation]):
            return Verdict(relation, round(likely[relation], 3), explain_verdict(relation, seen))
        if relation == "same":
            break  # perhaps the same: worth a look, and no conflict
    return Verdict("near", round(likely["near"], 3), explain_verdict("near", seen))


# What forbids


def explain_apart(old: Memory, new: Memory, said: Statement) -> str:
    """Why two memories cannot concern each other, whatever they say; "" if they can."""
    if old.valid_to is not None and new.valid_from is not None and old.valid_to < new.valid_from:
        return "they hold at different times"
    if (
        old.speaker
        and new.speaker
        and old.speaker != new.speaker
        and {"i", "my", "me"} & set(said.plain)
    ):
        people = {old.speaker.lower(), new.speaker.lower()}
        if not people & {"user", "assistant", "agent", "human", "system", "tool"}:
            return f"{new.speaker} speaks of themselves, not of {old.speaker}"
    if (
        "episodic" in (kind_of(old.kind).type, kind_of(new.kind).type)
        and abs(old.at - new.at) > DAY
    ):
        return "things that happened on different days"
    return ""


def explain_barred(relation: str, seen: StatementSimilarity) -> str:
    """What forbids to call it that; "" if nothing does."""
    checks = FORBIDS.get(relation)
    return next((why for why, value in checks(seen).items() if value > 0), "") if checks else ""


def find_against_same(seen: StatementSimilarity) -> dict[str, float]:
    """What shows that it is no repetition."""
    f = seen.features
    return {
        "it adds a value": f["extra value"],
        "it adds a name": f["extra name"],
        "a value differs": f["swaps"] + f["many swaps"] - f["swap slot"] - f["swap end slot"],
        "an opposite": f["swap opposite"],
        "one denies what the other says": f["any turned"] + f["denies more"],
        "another order": f["order crossed"] + seen.elsewhere,
        "other roles": f["roles"],
        "paired otherwise": f["unbound"],
        "not of all": f["not all"],
        "another place": f["more places"] + f["fewer places"],
        "someone else's": f["whose differs"],
        "another day": f["when differs"],
        "another time": f["will differs"] * f["past differs"],
        "another condition": f["condition crossed"] + f["condition of its own"],
        "less sure": f["hedge new"],
        "a limit": f["limit new"] + f["limit old"],
        "a question": f["asks differs"],
        "it announces a change": f["change told"],
        "it adds something": f["and new"] * f["extra"],
        "another subject": float(f["extra subject"] > 0 and f["jaccard"] < SUBJECT_OVERLAP),
        "nothing in common": f["shares nothing"],
        "too little in common": float(_shares_little(seen)),
    }


def find_against_update(seen: StatementSimilarity) -> dict[str, float]:
    """What shows that it does not replace the old one."""
    f = seen.features
    about = sum(
        f[name]
        for name in (
            "change × gives up",
            "change × turned",
            "change × swap",
            "soft × gives up",
            "soft × turned",
        )
    )
    other = f["extra subject"] * f["missing"] * (1 - f["change"])
    return {
        "it announces no change": float(not about),
        "it speaks of something else": other,
        "too much is said": float(f["parts"] > 0 and f["jaccard"] < LITTLE_OVERLAP),
        "another place": f["other place"],
        "someone else's": f["whose differs"],
        "a question": f["asks differs"],
        "nothing in common": f["shares nothing"],
        "it is unsure": f["hedge new"],
    }


def find_against_conflict(seen: StatementSimilarity) -> dict[str, float]:
    """What shows that both can be true."""
    f = seen.features
    differ = seen.swaps or seen.turned or seen.extra or seen.missing
    other = (
        f["clash"]
        + f["bars differ"]
        + f["order crossed"]
        + f["only differs"]
        + f["limit new"]
        + f["limit old"]
    )
    clash = f["clash"] + f["swaps"] + f["many swaps"] + f["bars differ"]
    return {
        "nothing stands against it": float(not differ and not other),
        "too little in common": float(f["jaccard"] < LITTLE_OVERLAP and not clash),
        "too much is said": float(f["parts"] > 0 and f["jaccard"] < SUBJECT_OVERLAP),
        "another place": f["other place"],
        "another condition": f["condition crossed"],
        "other roles": f["roles"] * (1 - f["any turned"]),
        "another day": f["when differs"],
    }


FORBIDS: dict[str, Callable[[StatementSimilarity], dict[str, float]]] = {
    "same": find_against_same,
    "updates": find_against_update,
    "contradicts": find_against_conflict,
}


def _shares_little(seen: StatementSimilarity) -> bool:
    """Whether each says something that the other does not, and what they share is not much."""
    f = seen.features
    differs = f["extra"] > 0 and (f["missing"] > 0 or f["shares one"] > 0)
    return differs and f.get("cosine", f["jaccard"] + 0.25) < ALIKE_COSINE


def limit_verdict(old: Memory, new: Memory, verdict: Verdict) -> Verdict:
    """Merging is for one kind of thing in one space; anything else is only reported (CONSTANTS row
    7, CC-55).
    """
    if verdict.relation in ("same", "updates") and (
        read_statement(old.text).is_truncated or read_statement(new.text).is_truncated
    ):
        exact = fold_text(old.text) == fold_text(new.text)
        verdict = (
            verdict
            if exact
            else Verdict("near", verdict.confidence, "alike as far as they were read")
        )
    if verdict.relation == "same" and old.space != new.space:
        return Verdict("near", verdict.confidence, f"{verdict.why}, but in another space")
    if verdict.relation == "same" and not is_mergeable_kind(old.kind, new.kind):
        return Verdict(
            "near", verdict.confidence, f"{verdict.why}, but as {new.kind} and not as {old.kind}"
        )
    return verdict


def is_mergeable_kind(one: str, other: str) -> bool:
    """Whether two kinds can say the same: one kind, or both statements of how things are or should
    be.
    """
    types = {kind_of(one).type, kind_of(other).type}
    statements = types <= {"semantic", "procedural"} and "skill" not in (one, other)
    return one == other or statements


# In words


def explain_verdict(relation: str, seen: StatementSimilarity) -> str:
    """Why, for a person."""
    swaps = [f"{swap.old} / {swap.new}" for swap in seen.swaps if swap.how != "half slot"]
    common = ", ".join(sorted(seen.shared)[:4]) or "nothing"
    if relation in ("contradicts", "updates"):
        how = "it says itself what it replaces: " if relation == "updates" else "same subject, "
        what = (
            f"different value: {', '.join(swaps)}"
            if swaps
            else (
                f"one denies what the other says: {', '.join(sorted(seen.turned)[:4])}"
                if seen.turned
                else f"the opposite about {common}"
            )
        )
        return how + what
    if relation == "same":
        return f"the same in other words: {common}"
    if relation == "near":
        more = f"; it adds {', '.join(sorted(seen.extra)[:4])}" if seen.extra else ""
        return f"nearly the same: {common}{more}"
    return f"something else; in common: {common}"
