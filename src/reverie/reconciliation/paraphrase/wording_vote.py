"""Whether a new text agrees with a memory that is known in several wordings.

A memory said in k wordings gives k chances to be recognised, and as many to be denied: who says the
opposite says the opposite of nearly all of them, who repeats it repeats most. So the wordings vote,
and a scorer over a few readable shares says how likely the new text is one more wording. Its
coefficients are in `comparer.json` under "wordings".

Measured on held-out groups (bench/reconcile): one wording or the cosine to the mean of all wordings
tell much less than the votes do, and the cosine adds nothing to them, so this works without an
embedder as well.
"""

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

# Relations of two that cannot both be true.
OPPOSED_RELATIONS = ("contradicts", "updates")
# More new words tell no more, as in `similarity_features`.
MAX_NEW_WORDS = 4
# Of many wordings those vote that share most words; twelve tell no more (bench/reconcile).
MAX_VOTING = 8
# Wordings from which they vote.
MIN_VOTING = 2
# How likely one more wording must be. On held-out groups this recognised three quarters of
# further wordings and took 0.3 % of what is near, apart or against for one.
SAME_LIKELIHOOD = 0.80
# From this on it is no conflict either.
NEAR_LIKELIHOOD = 0.50
# Share of the wordings that must be replaced, to replace all.
UPDATE_SHARE = 0.5


class WordingVote(NamedTuple):
    """What a new text is to one wording."""

    relation: str  # as `compare` would say of that wording alone
    confidence: float
    likelihoods: Mapping[str, float]  # how likely each relation is
    barred: bool  # whether something forbids to call it the same
    gives_up: bool  # whether it says that what this wording says is no more
    new_words: int  # what it says that no wording says


def compute_vote_shares(looks: Sequence[WordingVote]) -> dict[str, float]:
    """The votes as numbers: what share of the wordings says what, and how surely."""
    count = len(looks)
    denied = [look.likelihoods[relation] for look in looks for relation in OPPOSED_RELATIONS]
    return {
        "say the same": sum(look.relation == "same" for look in looks) / count,
        "are denied": sum(look.relation in OPPOSED_RELATIONS for look in looks) / count,
        "likely the same": sum(look.likelihoods["same"] for look in looks) / count,
        "likely denied": sum(denied) / count,
        "nothing forbids": sum(not look.barred for look in looks) / count,
        "new words": min(MAX_NEW_WORDS, *(look.new_words for look in looks)),
    }


def estimate_same(looks: Sequence[WordingVote]) -> float:
    """The probability (0..1) that the text is one more wording of the same."""
    learnt, shares = read_coefficients("wordings"), compute_vote_shares(looks)
    total = learnt["bias"] + sum(
        row["weight"] * (shares[name] - row["mean"]) / row["scale"]
        for name, row in learnt["features"].items()
    )
    return 1 / (1 + math.exp(-total))


@cache
def read_coefficients(part: str) -> Any:
    """This part of `comparer.json`, which `python -m bench.reconcile.train` learnt on the develop
    half: for each feature its mean and scale, to standardise it, and its weights.
    """
    return json.loads((Path(__file__).parent / "comparer.json").read_text("utf-8"))[part]


def decide_vote(looks: Sequence[WordingVote]) -> tuple[str, float]:
    """(the relation of a new text to the whole of a memory, how sure that is).

    To replace a memory that was said so often it has to say what is no more, and of most wordings:
    anything else is a contradiction, about which a person decides.
    """
    likely = estimate_same(looks)
    barred = sum(look.barred for look in looks)
    if likely >= NEAR_LIKELIHOOD:
        is_same = likely >= SAME_LIKELIHOOD and barred <= UPDATE_SHARE * len(looks)
        return "same" if is_same else "near", likely
    updates = [look for look in looks if look.relation == "updates"]
    if len(updates) >= UPDATE_SHARE * len(looks) and any(look.gives_up for look in updates):
        return "updates", max(look.confidence for look in updates)
    for name, relations in (("contradicts", OPPOSED_RELATIONS), ("near", ("near", "same"))):
        sure = [look.confidence for look in looks if look.relation in relations]
        if sure:
            return name, max(sure)
    return "apart", 1 - likely
