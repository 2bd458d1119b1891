"""In what two statements are alike and in what they differ, as numbers with names.

`compare_statements` gives one `StatementSimilarity`: features between about 0 and 4 for the scorer,
and what a person would point at: the values that stand against each other. All of it comes from two
readings and, where there is one, the cosine.

Always true: features are made in one order, in which the scorer adds them up. Another order moves
the last digits of its sums, and with them verdicts at a threshold.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from reverie.reconciliation.paraphrase.concept_vocabulary import (
    find_opposite_pairs,
    has_common_start,
    load_contrasts,
    load_weak_concepts,
    load_words,
    to_concept,
)
from reverie.reconciliation.paraphrase.statement_parser import (
    CONTENT,
    LIGHT,
    NAME,
    SAID,
    SCOPE,
    SUBJECT,
    VALUE,
    Statement,
)
from reverie.reconciliation.paraphrase.word_swaps import (
    SWAP_KINDS,
    WordSwap,
    find_opposite_swaps,
    find_swaps,
    first_occurrences,
)

# What is counted, is counted so far: the fifth difference says no more than the fourth.
MAX_COUNT = 4

# A thing has usually one of these.
SINGLE_HOLDER_ROLES = frozenset(map(to_concept, ("owner", "lead", "maintainer")))
OPEN_VERBS = frozenset(map(to_concept, load_words("OPEN")))


class StatementSimilarity(NamedTuple):
    """How two statements compare: the features, and what they rest on."""

    features: dict[str, float]
    shared: frozenset[str]
    swaps: tuple[WordSwap, ...]
    turned: frozenset[str]  # affirmed by one and denied by the other
    extra: frozenset[str]  # what only the new one has, that carries content
    missing: frozenset[str]
    elsewhere: bool = False  # the same before or after something else


def compare_statements(
    old: Statement, new: Statement, cosine: float | None, known: Collection[str] = ()
) -> StatementSimilarity:
    """How two readings compare. `known` are further concepts by which the old memory is known."""
    pairs = _match_concepts(old.concepts, new.concepts)
    shared = frozenset(pairs)
    missing = old.concepts - shared - load_weak_concepts()
    extra = new.concepts - frozenset(pairs.values()) - load_weak_concepts()
    agreeing = _find_denied_opposites(old, new, extra)
    missing, extra = missing - agreeing, extra - agreeing
    turned: frozenset[str] = frozenset()
    swaps = [*find_swaps(old.words, new.words, missing, extra)]
    if not agreeing:
        swaps += find_opposite_swaps(old, new)
        turned = frozenset(
            a for a, b in pairs.items() if (a in old.affirmed) != (b in new.affirmed)
        )
        if turned and _wants_same_side(old, new):
            turned = frozenset()
    unknown = extra - frozenset(known)
    elsewhere = _is_ordered_elsewhere(old, new)
    out = StatementSimilarity({}, shared, tuple(swaps), turned, unknown, missing, elsewhere)
    # The order of these lines is the order of the scorer's sums.
    out.features.update(_overlap_features(old.concepts, new.concepts, shared, unknown, cosine))
    out.features["not the opposite"] = float(bool(agreeing))
    out.features.update(_leftover_features(old, new, missing, unknown))
    out.features.update(_rest_features(swaps, missing, unknown, shared))
    out.features.update(_swap_features(swaps))
    out.features.update(_polarity_features(old, new, turned, shared, agreeing))
    out.features.update(_circumstance_features(old, new, shared, unknown))
    out.features.update(_change_features(old, new, swaps, turned))
    out.features.update(_combined_features(out))
    return out


def _match_concepts(mine: frozenset[str], theirs: frozenset[str]) -> dict[str, str]:
    """What both have: each concept of the old with its form in the new."""
    pairs = {word: word for word in mine & theirs}
    left = sorted(theirs - mine)
    for word in sorted(mine - theirs):
        other = next((o for o in left if _is_word_form(word, o)), None)
        if other is not None:
            pairs[word] = other
            left.remove(other)
    return pairs


def _find_denied_opposites(old: Statement, new: Statement, extra: frozenset[str]) -> frozenset[str]:
    """Opposites of which one is denied: "no long answers" is "short answers"."""
    found: set[str] = set()
    for pair in find_opposite_pairs(extra):
        for a in pair & old.concepts:
            for b in pair & extra - {a}:
                if (a in old.affirmed) != (b in new.affirmed):
                    found |= {a, b}
    return frozenset(found)


def _wants_same_side(old: Statement, new: Statement) -> bool:
    """True if both want one of two opposites and not the other.

    Then it matters not with which of the two they name the thing: "avoid large ones" and "small
    ones rather than large ones".
    """
    wanted, refused = old.affirmed | new.affirmed, old.denied | new.denied
    pairs = [
        pair
        for pair in find_opposite_pairs(wanted)
        if len(pair & wanted) == 1 and len(pair & refused) == 1
    ]
    named = frozenset[str]().union(*pairs)
    if not (named & old.concepts and named & new.concepts):
        return False
    return not any(pair & wanted & refused for pair in pairs)


def _is_word_form(a: str, b: str) -> bool:
    """True if two concepts are forms of one word, and neither has an alternative."""
    if a.removesuffix("()") == b.removesuffix("()"):
        return True
    return has_common_start(a, b) and not load_contrasts().keys() & {a, b}


def _overlap_features(
    mine: frozenset[str],
    theirs: frozenset[str],
    shared: frozenset[str],
    unknown: frozenset[str],
    cosine: float | None,
) -> dict[str, float]:
    union = len(mine) + len(theirs) - len(shared)
    jaccard = len(shared) / union if union else 0.0
    out = {
        "jaccard": jaccard,
        "covers new": 1 - len(unknown) / len(theirs) if theirs else 0.0,
        "covers old": len(shared) / len(mine) if mine else 0.0,
        "shares nothing": float(not shared),
        "shares one": float(len(shared) == 1),
        "new says little": float(len(theirs) < 2),
        "length": min(MAX_COUNT, abs(len(theirs) - len(mine)) / 3),
    }
    if cosine is not None:
        out |= {
            "cosine": cosine,
            "cosine high": max(0.0, cosine - 0.8) * 5,
            "cosine low": max(0.0, 0.6 - cosine) * 3,
            "cosine × jaccard": cosine * jaccard,
        }
    return out


def _leftover_features(
    old: Statement, new: Statement, missing: frozenset[str], unknown: frozenset[str]
) -> dict[str, float]:
    """How many words only one of them says, by sort, place and sign, up to MAX_COUNT."""
    kinds = ("", " value", " name", " subject", " scope", " denied")
    out = {f"{label}{kind}": 0.0 for label in ("extra", "missing") for kind in kinds}
    for label, said, left in (("extra", new, unknown), ("missing", old, missing)):
        # A denial adds nothing to a statement that only denies.
        bans = not said.affirmed
        for word in first_occurrences(said.words, left):
            if not word.affirmed and not bans:
                out[f"{label} denied"] += 1
                continue
            out[label] += word.sort == CONTENT
            out[f"{label} value"] += word.sort == VALUE
            out[f"{label} name"] += word.sort == NAME
            out[f"{label} subject"] += word.place == SUBJECT
            out[f"{label} scope"] += word.place == SCOPE
    return {name: min(MAX_COUNT, value) for name, value in out.items()}


def _rest_features(
    swaps: Sequence[WordSwap],
    missing: frozenset[str],
    extra: frozenset[str],
    shared: frozenset[str],
) -> dict[str, float]:
    """Whether all agrees but one value: then the two speak of the same thing."""
    sure = [
        s for s in swaps if s.how in ("value", "contrast", "name", "opposite", "slot", "end slot")
    ]
    rest = len(missing - {s.old for s in sure}) + len(extra - {s.new for s in sure})
    is_one = len(sure) == 1 and bool(shared)
    return {
        "swap, rest agrees": float(is_one and rest == 0),
        "swap, little else": float(is_one and 0 < rest <= 2),
        "said swap, rest agrees": float(is_one and rest == 0 and sure[0].place == SAID),
    }


def _combined_features(seen: StatementSimilarity) -> dict[str, float]:
    """What several features say together, as the scorer only adds up; some are set to 0 for it."""
    f = seen.features
    f["open swap"] = f["open verb"] * f["swaps"]
    # Slower the other way about is faster.
    if f["swap opposite"] and f["order crossed"]:
        f["swap opposite"] = f["order crossed"] = f["swaps"] = f["swap, rest agrees"] = 0.0
        f["said swap, rest agrees"] = 0.0
    if f["one holder"] and f["swap subject"]:
        f["swap subject"], f["said swap, rest agrees"] = 0.0, f["swap, rest agrees"]
    clash = any(
        f[name]
        for name in (
            "any turned",
            "order crossed",
            "swap opposite",
            "not all",
            "unbound",
            "said swap, rest agrees",
        )
    )
    aside = any(
        f[name]
        for name in (
            "other place",
            "swap subject",
            "condition crossed",
            "roles",
            "whose differs",
            "only new sited",
            "when differs",
        )
    )
    more = f["extra"] + f["extra value"] + f["extra name"] - f["swaps"]
    less = f["missing"] + f["missing value"] + f["missing name"] - f["swaps"]
    says_more = more > 0 or clash or bool(f["swaps"])
    return {
        "clash": float(clash),
        "clash, rest agrees": float(clash and more <= 0 and less <= 0),
        "clash, little else": float(clash and 0 < more + less <= 2),
        "aside": float(aside),
        "clash, not aside": float(clash and not aside),
        "adds nothing": float(not says_more),
        "says no other": float(not says_more and less <= 0 and not aside),
    }


def _swap_features(swaps: Sequence[WordSwap]) -> dict[str, float]:
    out = {f"swap {kind}": 0.0 for kind in (*SWAP_KINDS, SUBJECT, SAID, SCOPE)}
    whole = [swap for swap in swaps if swap.how != "half slot"]
    for swap in swaps:
        out[f"swap {swap.how}"] += 1
    for swap in whole:
        out[f"swap {swap.place}"] += 1
    out["swaps"] = float(len(whole) == 1)
    out["many swaps"] = float(len(whole) > 1)
    return out


def _polarity_features(
    old: Statement,
    new: Statement,
    turned: frozenset[str],
    shared: frozenset[str],
    agreeing: frozenset[str],
) -> dict[str, float]:
    crossed, agreed = _compare_orders(old.first, old.then, new.first, new.then)
    both_ways = bool(turned & old.affirmed) and bool(turned & old.denied)
    # "never this before that" asks for that: it shares no ban with "never that".
    both_bar = old.is_ban and new.is_ban and not both_ways and bool(old.first) == bool(new.first)
    if_crossed, _ = _compare_orders(old.condition, old.consequence, new.condition, new.consequence)
    return {
        "turned": len(turned) / len(shared) if shared and not both_bar else 0.0,
        "any turned": float(bool(turned) and not both_bar),
        "turned, both deny": float(bool(turned) and both_bar),
        "unbound": float(_is_paired_otherwise(old, new, shared)),
        "bars differ": float(old.is_ban != new.is_ban),
        "order crossed": float(crossed),
        "order agrees": float(agreed),
        "condition crossed": float(if_crossed),
        "order new": float(bool(new.first and new.then) and not (old.first and old.then)),
        "roles": float(_has_swapped_roles(old, new)),
        "one holder": float(bool(shared & SINGLE_HOLDER_ROLES)),
        "open verb": float(old.verb == new.verb and old.verb in OPEN_VERBS),
        "denies more": float(
            old.is_ban != new.is_ban and not (agreed or agreeing or old.denied & new.denied)
        ),
    }


def _compare_orders(
    first: frozenset[str],
    then: frozenset[str],
    new_first: frozenset[str],
    new_then: frozenset[str],
) -> tuple[bool, bool]:
    """Whether two orders of things are (the other way about, the same)."""
    if not (first | then) or not (new_first | new_then):
        return False, False
    forth = (first & new_then) - new_first - then
    back = (then & new_first) - new_then - first
    agreed = len((first & new_first) - new_then) + len((then & new_then) - new_first)
    # "Tests first": the verb that both put first says nothing.
    is_half = not (then and new_then)
    crossed = bool(forth and back) or len(forth) + len(back) > (0 if is_half else agreed)
    return crossed, agreed > 0 and not crossed


def _is_ordered_elsewhere(old: Statement, new: Statement) -> bool:
    """True if the same is to come before or after something else: tests before a commit, tests
    before a release.
    """
    if not (old.first and new.first and old.then and new.then):
        return False
    return _shares_word(old.first, new.first) != _shares_word(old.then, new.then)


def _shares_word(mine: Collection[str], theirs: Collection[str]) -> bool:
    return any(_is_word_form(a, b) for a in mine for b in theirs)


def _is_paired_otherwise(old: Statement, new: Statement, shared: frozenset[str]) -> bool:
    """True if the same words are paired otherwise: a for b and c for d, c for b and a for d."""
    mine = {pair for pair in old.bound if pair <= shared}
    theirs = {pair for pair in new.bound if pair <= shared}
    return len(mine) > 1 and len(theirs) > 1 and not mine & theirs and len(shared) > 3


def _has_swapped_roles(old: Statement, new: Statement) -> bool:
    """True if the same words stand the other way about: a calls b, b calls a."""
    if not old.verb or old.verb != new.verb:
        return False
    if old.has_agent or new.has_agent or old.first or new.first:
        return False
    if _is_copula(old) or _is_copula(new):
        return False
    old_subjects, old_others = _split_roles(old)
    new_subjects, new_others = _split_roles(new)
    left = (old_subjects & new_others) - (old_subjects & new_subjects)
    came = (old_others & new_subjects) - (old_others & new_others)
    return bool(left and came)


def _split_roles(statement: Statement) -> tuple[set[str], set[str]]:
    """The concepts that are spoken of, and all others; no light words."""
    heavy = [word for word in statement.words if word.sort != LIGHT]
    subjects = {word.concept for word in heavy if word.place == SUBJECT}
    return subjects, {word.concept for word in heavy if word.place != SUBJECT}


def _is_copula(statement: Statement) -> bool:
    """True if it says what something is: then the two halves may change places."""
    return bool(statement.light & {"is", "are", "was", "nam"})


def _circumstance_features(
    old: Statement, new: Statement, shared: frozenset[str], extra: frozenset[str]
) -> dict[str, float]:
    """Where, when, how surely and for whom."""
    both = bool(old.sited and new.sited)
    return {
        "other place": float(both and not old.sited & new.sited),
        "more places": float(bool(new.places - old.places)),
        "fewer places": float(bool(old.places - new.places)),
        "only new sited": float(bool(new.sited) and not old.places),
        "only old sited": float(bool(old.sited) and not new.places),
        "hedge new": float(bool(new.hedges - old.hedges)),
        "hedge old": float(bool(old.hedges - new.hedges)),
        "limit new": float(len(new.limits - old.limits - {"unless" if new.first else ""})),
        "limit old": float(len(old.limits - new.limits - {"unless" if old.first else ""})),
        "only differs": float(
            ("only" in new.plain and not new.stresses) != ("only" in old.plain and not old.stresses)
        ),
        "not all": float(_is_not_all(old, new) or _is_not_all(new, old)),
        "condition new": float(bool(new.condition) and not old.condition),
        "condition old": float(bool(old.condition) and not new.condition),
        "condition of its own": float(
            bool(new.condition) != bool(old.condition)
            and bool((new.condition | old.condition) - shared - load_weak_concepts())
        ),
        "will differs": float(new.is_future != old.is_future),
        "and new": float(
            bool({"and", "or"} & set(new.plain))
            and bool(extra)
            and not {"and", "or"} & set(old.plain)
        ),
        "too": float(bool({"also", "too"} & set(new.plain))),
        "when differs": float(bool(old.when and new.when) and old.when != new.when),
        "when new": float(bool(new.when) and not old.when),
        "my differs": float(("my" in new.plain) != ("my" in old.plain)),
        "whose differs": float(new.whose != old.whose),
        "asks differs": float(new.is_question != old.is_question),
        "parts": min(MAX_COUNT, float(max(old.sentence_count, new.sentence_count) - 1)),
        "past differs": float(_is_past_event(new) != _is_past_event(old)),
    }


def _is_not_all(one: Statement, other: Statement) -> bool:
    """True if one says "not all" and the other "all"."""
    return "NOTALL" in one.plain and bool({"all", "every", "each"} & set(other.plain))


def _is_past_event(statement: Statement) -> bool:
    """True if it tells what happened once."""
    told = {"yesterday", "today", "did", "went", "had", "last", "ago", "was", "were", "week"}
    return bool(told & set(statement.plain))


def _change_features(
    old: Statement, new: Statement, swaps: Sequence[WordSwap], turned: frozenset[str]
) -> dict[str, float]:
    """Whether the new one says that something changed, and whether that is about the old one."""
    told = new.changes - old.changes
    soft = new.soft - old.soft
    gives_up = bool((old.affirmed - {s.new for s in swaps}) & new.given_up)
    return {
        "change": float(bool(told)),
        "change told": float(bool(told - {"stop", "switch"})),
        "soft change": float(bool(soft)),
        "change × gives up": float(bool(told) and gives_up),
        "change × turned": float(bool(told) and bool(turned)),
        "change × swap": float(
            bool(told) and any(s.how in ("value", "contrast", "name", "opposite") for s in swaps)
        ),
        "soft × gives up": float(bool(soft) and gives_up),
        "soft × turned": float(bool(soft and turned) and (gives_up or soft != {"INSTEADOF"})),
        "gives up": float(gives_up),
        "old changes": float(bool(old.changes or old.soft)),
    }
