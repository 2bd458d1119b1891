"""The relation of two memories, judged without a language model.

`compare_memories` answers with one of five relations:

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
readable features (`similarity_features`) proposes, its coefficients are in `comparer.json`, and
what it proposes must pass plain rules (`is_barred`). When in doubt
the answer is "contradicts" or "near", which only ask for a look.

We would notice it going wrong in `python -m bench.reconcile`, which counts what would wrongly be
retired.
"""

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from reverie.core.kinds import DAY, OWN_KIND, kind_of
from reverie.core.model import Memory
from reverie.reconciliation.paraphrase.claim_comparison import OFTEN_SAID, weigh_claims
from reverie.reconciliation.paraphrase.concept_vocabulary import Concepts, format_concepts
from reverie.reconciliation.paraphrase.merge_guard import guard_verdict
from reverie.reconciliation.paraphrase.similarity_features import (
    Features,
    StatementSimilarity,
    compare_statements,
)
from reverie.reconciliation.paraphrase.statement_parser import Statement, read_statement
from reverie.reconciliation.paraphrase.wording_vote import (
    MAX_VOTING,
    MIN_VOTING,
    WordingVote,
    decide_vote,
    read_coefficients,
)
from reverie.text.tokenization import fold_text

RELATIONS = ("same", "near", "contradicts", "updates", "apart")

# How likely a relation must be; below it the next best is the answer, and in the end "near".
MIN_LIKELIHOOD = {
    "same": 0.70,
    "updates": 0.50,
    "contradicts": 0.50,
    "near": 0.0,
    "apart": 0.0,
}
# From this cosine two may be the same although each has words of its own.
ALIKE_COSINE = 0.70
# Below this overlap of words another subject is another thing.
SUBJECT_OVERLAP = 0.60
# How likely the same must be to be one vote of several.
VOTE_LIKELIHOOD = 0.55
# Wordings that are asked before all others.
FIRST_WORDINGS = 3
# Below this overlap of words only a plain clash is a conflict.
LITTLE_OVERLAP = 0.40
# Below this overlap two texts are about different things, whatever else differs; below this cosine
# too, unless values differ.
FAINT_OVERLAP, FAINT_COSINE = 0.30, 0.60
# Features each of which forbids to call two texts the same, …
AGAINST_SAME = (
    "extra value",
    "extra name",
    "swap opposite",
    "any turned",
    "denies more",
    "order crossed",
    "roles",
    "unbound",
    "not all",
    "more places",
    "fewer places",
    "whose differs",
    "when differs",
    "condition crossed",
    "condition of its own",
    "hedge new",
    "limit new",
    "limit old",
    "asks differs",
    "change told",
    "shares nothing",
)
# … one the successor of the other, …
AGAINST_UPDATE = ("other place", "whose differs", "asks differs", "shares nothing", "hedge new")
# … or two that cannot both be true.
AGAINST_CONFLICT = ("other place", "condition crossed", "when differs")
# Features by which a text says itself that the old one no longer holds.
CHANGES_OF_THE_OLD = (
    "change × gives up",
    "change × turned",
    "change × swap",
    "soft × gives up",
    "soft × turned",
)
REASON_CLAUSE = re.compile(
    r"[,;]?\s+(?:because|since|as (?:we|it|our|the|this|that|they|an?)|so that|otherwise)\b"
    r"[^.!?]*[.!?]*\s*$",
    re.IGNORECASE,
)
# Words that must be left when the reason is taken off.
MIN_CLAIM_WORDS = 3


class Verdict(NamedTuple):
    """What the new memory is to the old one, how sure that is (0..1), and why, for a person to
    read.
    """

    relation: str  # a member of RELATIONS
    confidence: float
    why: str
    # Whether a text that replaces the other says so itself ("no longer"), rather than by its value.
    tells_change: bool = True


class RelationScorer(NamedTuple):
    """What one of each feature adds to each relation; `start` is where all begin."""

    adds: Mapping[str, tuple[float, ...]]
    start: Sequence[float]

    def estimate(self, features: Features) -> Features:
        """The probability of each relation, together 1 (a softmax)."""
        sums = list(self.start)
        for name, value in features.items():
            # Most features are 0 and cost nothing.
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
    """The scorer called "with cosine" or "without".

    The file standardises features, (value - mean) / scale; that is folded into the coefficients.
    """
    learnt = read_coefficients(name)
    rows = learnt["features"]
    adds = {
        feature: tuple(row[relation] / row["scale"] for relation in RELATIONS)
        for feature, row in rows.items()
    }
    start = tuple(
        learnt["bias"][relation]
        - sum(rows[feature]["mean"] * adds[feature][place] for feature in rows)
        for place, relation in enumerate(RELATIONS)
    )
    return RelationScorer(adds, start)


def compare_memories(
    old: Memory,
    new: Memory,
    cosine: float | None,
    *,
    wordings: Sequence[str] = (),
) -> Verdict:
    """What `new` is to `old`.

    `wordings` are further texts by which `old` is known, such as restatements that were merged into
    it. `cosine` is that of the vectors of the two texts, or the highest over the wordings where the
    caller has their vectors; None where there is no embedder, and then words alone decide. A pure
    function of its arguments.
    """
    proposed = propose_verdict(old, new, cosine, wordings)
    guarded = guard_verdict(old, new, proposed, wordings)
    return weigh_claims(old, new, guarded, wordings)


def propose_verdict(
    old: Memory,
    new: Memory,
    cosine: float | None,
    wordings: Sequence[str],
) -> Verdict:
    """What `new` seems to be to `old`, before `guard_verdict` looks at what exactly it gives up."""
    claim = read_statement(new.text)
    if apart := explain_apart(old, new, claim):
        return Verdict("apart", 1.0, apart)
    texts = (old.text, *wordings)
    known = [read_statement(text) for text in texts]
    if _has_same_words(known, claim) or fold_text(new.text) in map(fold_text, texts):
        return limit_verdict(old, new, Verdict("same", 1.0, "the same words"))
    nearest = pick_nearest_wordings(known, claim)
    if not claim.words or not nearest[0].words:
        return Verdict("apart", 1.0, "one of them says nothing that could be compared")
    if claim.is_question and not nearest[0].is_question:
        return Verdict("apart", 1.0, "a question states nothing")
    if len(known) >= MIN_VOTING:
        vote = vote_by_wordings(known, nearest, read_claim(new.text), cosine)
        return limit_verdict(old, new, vote)
    seen = compare_statements(nearest[0], claim, cosine)
    verdict = decide_relation(seen, estimate_relations(seen, cosine))
    return limit_verdict(old, new, protect_repeated(old, seen, verdict))


def _has_same_words(known: Sequence[Statement], claim: Statement) -> bool:
    """True if a claim has the words of one of these statements, and both were read as a whole."""
    if claim.is_truncated:
        return False
    return any(one.plain == claim.plain and not one.is_truncated for one in known)


def protect_repeated(
    old: Memory,
    seen: StatementSimilarity,
    verdict: Verdict,
) -> Verdict:
    """The verdict, but what was said time and again is replaced only by what names it ("no longer
    X", "instead of X"); else a person decides.
    """
    is_often_said = old.strength >= OFTEN_SAID and not seen.features["gives up"]
    if verdict.relation == "updates" and is_often_said:
        return verdict._replace(relation="contradicts")
    return verdict


def collect_concepts(known: Sequence[Statement]) -> Concepts:
    """Everything that a memory is known to speak of, in any of its wordings."""
    return Concepts().union(*(statement.concepts for statement in known))


def read_claim(text: str) -> Statement:
    """The statement of a text without the reason that it gives at its end: why one wants a thing is
    no other wish.
    """
    claim = REASON_CLAUSE.sub("", text)
    return read_statement(claim if len(claim.split()) >= MIN_CLAIM_WORDS else text)


def vote_by_wordings(
    known: Sequence[Statement],
    nearest: Sequence[Statement],
    claim: Statement,
    cosine: float | None,
) -> Verdict:
    """What a text is to a memory of many wordings: those nearest to it vote.

    Where the first few agree that it is something else altogether, the others are not asked.
    """
    vocabulary = collect_concepts(known)
    seen: list[StatementSimilarity] = []
    votes: list[WordingVote] = []
    for one in nearest:
        if len(votes) == FIRST_WORDINGS and all(vote.relation == "apart" for vote in votes):
            break
        seen.append(compare_statements(one, claim, cosine, vocabulary))
        votes.append(cast_vote(seen[-1], cosine))
    relation, sure = decide_vote(votes)
    agreeing = [one for one, vote in zip(seen, votes, strict=True) if vote.relation == relation]
    return Verdict(
        relation,
        round(sure, 3),
        explain_verdict(relation, (agreeing or seen)[0]),
    )


def cast_vote(seen: StatementSimilarity, cosine: float | None) -> WordingVote:
    """What a text is to one of several wordings. Their number makes it surer, so less must be
    likely.
    """
    likely = estimate_relations(seen, cosine)
    verdict = decide_relation(seen, likely, VOTE_LIKELIHOOD)
    return WordingVote(
        verdict.relation,
        verdict.confidence,
        likely,
        is_barred("same", seen),
        bool(seen.features["gives up"]),
        len(seen.extra),
    )


def pick_nearest_wordings(known: Sequence[Statement], claim: Statement) -> list[Statement]:
    """The MAX_VOTING wordings of a memory that share most words with the new text, best first."""
    words = claim.concepts | claim.light
    ranked = sorted(
        known,
        key=lambda one: (-len(words & (one.concepts | one.light)), one.plain),
    )
    return ranked[:MAX_VOTING]


def estimate_relations(seen: StatementSimilarity, cosine: float | None) -> Features:
    """The probability of each relation of two compared statements."""
    return load_scorer("without" if cosine is None else "with cosine").estimate(seen.features)


def decide_relation(
    seen: StatementSimilarity,
    likely: Features,
    sure: float = MIN_LIKELIHOOD["same"],
) -> Verdict:
    """The likeliest relation that nothing forbids; `sure` is how likely a repetition must be."""
    for relation in sorted(
        likely,
        key=lambda relation: (-likely[relation], relation),
    ):
        if is_barred(relation, seen):
            continue
        if likely[relation] >= (sure if relation == "same" else MIN_LIKELIHOOD[relation]):
            return Verdict(relation, round(likely[relation], 3), explain_verdict(relation, seen))
        # Perhaps the same: worth a look, and no conflict.
        if relation == "same":
            break
    return Verdict("near", round(likely["near"], 3), explain_verdict("near", seen))


# What forbids


def explain_apart(
    old: Memory,
    new: Memory,
    claim: Statement,
) -> str:
    """Why two memories cannot concern each other, whatever they say; "" if they can."""
    if old.valid_to is not None and new.valid_from is not None and old.valid_to < new.valid_from:
        return "they hold at different times"
    two_speakers = old.speaker and new.speaker and old.speaker != new.speaker
    if two_speakers and {"i", "my", "me"} & set(claim.plain):
        speakers = {old.speaker.lower(), new.speaker.lower()}
        if not speakers & {"user", "assistant", "agent", "human", "system", "tool"}:
            return f"{new.speaker} speaks of themselves, not of {old.speaker}"
    types = (kind_of(old.kind).type, kind_of(new.kind).type)
    if "episodic" in types and abs(old.at - new.at) > DAY:
        return "things that happened on different days"
    return ""


def is_barred(relation: str, seen: StatementSimilarity) -> bool:
    """True if something forbids to call it that, however likely the scorer finds it."""
    match relation:
        case "same":
            return _cannot_repeat(seen)
        case "updates":
            return _cannot_replace(seen)
        case "contradicts":
            return _can_both_be_true(seen)
        case _:
            return False


def _cannot_repeat(seen: StatementSimilarity) -> bool:
    """True if it is no repetition: it adds, denies or limits something, or has another case."""
    f = seen.features
    # A word in the same surroundings may be only another word for it.
    has_other_value = f["swaps"] + f["many swaps"] > f["swap slot"] + f["swap end slot"]
    other_subject = f["extra subject"] > 0 and f["jaccard"] < SUBJECT_OVERLAP
    return (
        any(f[name] for name in AGAINST_SAME)
        or has_other_value
        or seen.elsewhere
        or bool(f["will differs"] and f["past differs"])
        or bool(f["and new"] and f["extra"])
        or other_subject
        or _shares_little(seen)
    )


def _cannot_replace(seen: StatementSimilarity) -> bool:
    """True if it does not replace the old one: it announces no change of it."""
    f = seen.features
    other_subject = f["extra subject"] and f["missing"] and not f["change"]
    says_too_much = f["parts"] > 0 and f["jaccard"] < LITTLE_OVERLAP
    return (
        any(f[name] for name in AGAINST_UPDATE)
        or not any(f[name] for name in CHANGES_OF_THE_OLD)
        or bool(other_subject)
        or says_too_much
    )


def _can_both_be_true(seen: StatementSimilarity) -> bool:
    """True if nothing stands against the old one, or it is about another case."""
    f = seen.features
    clash = any(f[name] for name in ("clash", "swaps", "many swaps", "bars differ"))
    differs = seen.swaps or seen.turned or seen.extra or seen.missing
    limits = any(f[name] for name in ("order crossed", "only differs", "limit new", "limit old"))
    shares_little = f["jaccard"] < LITTLE_OVERLAP and not clash
    says_too_much = f["parts"] > 0 and f["jaccard"] < SUBJECT_OVERLAP
    is_unlike = not clash and f.get("cosine", 1.0) < FAINT_COSINE
    is_more_than_value = max(len(seen.extra), len(seen.missing)) > 1
    is_faint = (f["jaccard"] < FAINT_OVERLAP and is_more_than_value) or is_unlike
    return (
        any(f[name] for name in AGAINST_CONFLICT)
        or is_faint
        or not (differs or clash or limits)
        or shares_little
        or says_too_much
        or bool(f["roles"] and not f["any turned"])
    )


def _shares_little(seen: StatementSimilarity) -> bool:
    """True if each says something that the other does not, and what they share is not much."""
    f = seen.features
    lacks = f["missing"] + f["missing denied"] + f["shares one"] > 0
    differs = f["extra"] > 0 and lacks
    return differs and f.get("cosine", f["jaccard"] + 0.25) < ALIKE_COSINE


def limit_verdict(
    old: Memory,
    new: Memory,
    verdict: Verdict,
) -> Verdict:
    """The verdict, or "near" where two cannot become one: read in part, of two spaces or kinds."""
    relation, sure, why = verdict[:3]
    if relation in ("same", "updates"):
        truncated = read_statement(old.text).is_truncated or read_statement(new.text).is_truncated
        if truncated and fold_text(old.text) != fold_text(new.text):
            return Verdict("near", sure, "alike as far as they were read")
    if relation == "same" and old.space != new.space:
        return Verdict("near", sure, f"{why}, but in another space")
    if relation == "same" and not is_mergeable_kind(old.kind, new.kind):
        return Verdict("near", sure, f"{why}, but as {new.kind} and not as {old.kind}")
    return verdict


def is_mergeable_kind(one: str, other: str) -> bool:
    """True for equal kinds, and for two that state how things are or should be."""
    if one == other:
        return True
    rows = (kind_of(one), kind_of(other))
    return all(
        row.type in ("semantic", "procedural") and row.merges_with != OWN_KIND for row in rows
    )


# In words


def explain_verdict(relation: str, seen: StatementSimilarity) -> str:
    """The reason of a verdict, for a person."""
    common = format_concepts(seen.shared) or "nothing"
    if relation == "updates":
        return f"it says itself what it replaces: {_explain_conflict(seen, common)}"
    if relation == "contradicts":
        return f"same subject, {_explain_conflict(seen, common)}"
    if relation == "same":
        return f"the same in other words: {common}"
    if relation == "near":
        more = f"; it adds {format_concepts(seen.extra)}" if seen.extra else ""
        return f"nearly the same: {common}{more}"
    return f"something else; in common: {common}"


def _explain_conflict(seen: StatementSimilarity, common: str) -> str:
    swaps = [f"{swap.old} / {swap.new}" for swap in seen.swaps if swap.how != "half slot"]
    if swaps:
        return f"different value: {', '.join(swaps)}"
    if seen.turned:
        return f"one denies what the other says: {format_concepts(seen.turned)}"
    return f"the opposite about {common}"
