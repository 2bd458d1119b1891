"""In what two statements are alike and in what they differ, as numbers with names.

`compare_statements` gives one `StatementSimilarity`: features between about 0 and 4 for the scorer,
and what a person would point at: the values that stand against each other. All of it comes from two
readings and, where there is one, the cosine.

Always true: features are made in one order, in which the scorer adds them up. Another order moves
the last digits of its sums, and with them verdicts at a threshold.
"""

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple, TypeAlias

from reverie.reconciliation.paraphrase.clause_structure import Sides
from reverie.reconciliation.paraphrase.concept_vocabulary import (
    WEAK_CONCEPTS,
    Concepts,
    find_opposite_pairs,
    has_common_start,
    load_concepts,
    load_contrasts,
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

# A yes is 1 and a no is 0 to the scorer, and so True and False are to Python.
Features: TypeAlias = dict[str, float]

# What is counted, is counted so far: the fifth difference says no more than the fourth.
MAX_COUNT = 4

# A thing has usually one of these.
SINGLE_HOLDER_ROLES = frozenset(map(to_concept, ("owner", "lead", "maintainer")))
OPEN_VERBS = load_concepts("OPEN")
# Swaps of words that are surely of one sort; "slot" ones only stand in the same surroundings.
SURE_SWAPS = ("value", "contrast", "name", "opposite")
# Features of two that cannot both be true …
CLASHES = (
    "any turned",
    "order crossed",
    "swap opposite",
    "not all",
    "unbound",
    "said swap, rest agrees",
)
# … and of two that do not speak of the same case.
ASIDES = (
    "other place",
    "swap subject",
    "condition crossed",
    "roles",
    "whose differs",
    "only new sited",
    "when differs",
)


class StatementSimilarity(NamedTuple):
    """The features of two statements, and the words behind them."""

    features: Features
    shared: Concepts
    swaps: tuple[WordSwap, ...]
    turned: Concepts  # affirmed by one and denied by the other
    extra: Concepts  # what only the new one has, that carries content
    missing: Concepts
    elsewhere: bool = False  # the same before or after something else


def compare_statements(
    old: Statement,
    new: Statement,
    cosine: float | None,
    known: Collection[str] = (),
) -> StatementSimilarity:
    """How two readings compare. `known` are further concepts by which the old memory is known."""
    pairs = _match_concepts(old.concepts, new.concepts)
    shared = frozenset(pairs)
    missing = old.concepts - shared - WEAK_CONCEPTS
    extra = new.concepts - frozenset(pairs.values()) - WEAK_CONCEPTS
    agreeing = _find_denied_opposites(old, new, extra)
    missing, extra = missing - agreeing, extra - agreeing
    turned = Concepts()
    swaps = [*find_swaps(old.words, new.words, missing, extra)]
    if not agreeing:
        swaps += find_opposite_swaps(old, new)
        turned = _find_turned(old, new, pairs)
    unknown = extra.difference(known)
    elsewhere = _is_ordered_elsewhere(old, new)
    seen = StatementSimilarity({}, shared, tuple(swaps), turned, unknown, missing, elsewhere)
    # The order of these lines is the order of the scorer's sums.
    features = seen.features
    features.update(_overlap_features(old, new, seen, cosine))
    features["not the opposite"] = bool(agreeing)
    features.update(_leftover_features(old, new, seen))
    features.update(_rest_features(seen))
    features.update(_swap_features(seen.swaps))
    features.update(_polarity_features(old, new, seen, agreeing))
    features.update(_circumstance_features(old, new, seen))
    features.update(_change_features(old, new, seen))
    _cancel_explained_swaps(features)
    features.update(_combined_features(features))
    return seen


def _find_turned(
    old: Statement,
    new: Statement,
    pairs: dict[str, str],
) -> Concepts:
    """What one affirms and the other denies, of the concepts that both have."""
    turned = frozenset(a for a, b in pairs.items() if (a in old.affirmed) != (b in new.affirmed))
    return Concepts() if turned and _wants_same_side(old, new) else turned


def _match_concepts(mine: Concepts, theirs: Concepts) -> dict[str, str]:
    """What both have: each concept of the old with its form in the new."""
    pairs = {word: word for word in mine & theirs}
    left = sorted(theirs - mine)
    for word in sorted(mine - theirs):
        other = next((o for o in left if _is_word_form(word, o)), None)
        if other is not None:
            pairs[word] = other
            left.remove(other)
    return pairs


def _find_denied_opposites(
    old: Statement,
    new: Statement,
    extra: Concepts,
) -> Concepts:
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
    named = Concepts().union(*pairs)
    if not (named & old.concepts and named & new.concepts):
        return False
    return not any(pair & wanted & refused for pair in pairs)


def _is_word_form(a: str, b: str) -> bool:
    """True if two concepts are forms of one word, and neither has an alternative."""
    if a.removesuffix("()") == b.removesuffix("()"):
        return True
    return has_common_start(a, b) and not load_contrasts().keys() & {a, b}


def _overlap_features(
    old: Statement,
    new: Statement,
    seen: StatementSimilarity,
    cosine: float | None,
) -> Features:
    mine, theirs, shared = len(old.concepts), len(new.concepts), len(seen.shared)
    union = mine + theirs - shared
    jaccard = shared / union if union else 0.0
    out = {
        "jaccard": jaccard,
        "covers new": 1 - len(seen.extra) / theirs if theirs else 0.0,
        "covers old": shared / mine if mine else 0.0,
        "shares nothing": shared == 0,
        "shares one": shared == 1,
        "new says little": theirs < 2,
        "length": min(MAX_COUNT, abs(theirs - mine) / 3),
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
    old: Statement,
    new: Statement,
    seen: StatementSimilarity,
) -> Features:
    """How many words only one of them says, by sort, place and sign, up to MAX_COUNT."""
    out: Features = {}
    for label, said, left in (("extra", new, seen.extra), ("missing", old, seen.missing)):
        words = first_occurrences(said.words, left)
        # A denial adds nothing to a statement that only denies.
        told = [word for word in words if word.affirmed or not said.affirmed]
        sorts = Counter(word.sort for word in told)
        places = Counter(word.place for word in told)
        counts = {
            "": sorts[CONTENT],
            " value": sorts[VALUE],
            " name": sorts[NAME],
            " subject": places[SUBJECT],
            " scope": places[SCOPE],
            " denied": len(words) - len(told),
        }
        out |= {label + kind: min(MAX_COUNT, count) for kind, count in counts.items()}
    return out


def _rest_features(seen: StatementSimilarity) -> Features:
    """Whether all agrees but one value: then the two speak of the same thing."""
    sure = [swap for swap in seen.swaps if swap.how in (*SURE_SWAPS, "slot", "end slot")]
    missing = seen.missing.difference(swap.old for swap in sure)
    rest = len(missing) + len(seen.extra.difference(swap.new for swap in sure))
    is_one = len(sure) == 1 and bool(seen.shared)
    return {
        "swap, rest agrees": is_one and rest == 0,
        "swap, little else": is_one and 0 < rest <= 2,
        "said swap, rest agrees": is_one and rest == 0 and sure[0].place == SAID,
    }


def _cancel_explained_swaps(f: Features) -> None:
    """Set swaps to 0 that something else about the two statements explains."""
    f["open swap"] = f["open verb"] * f["swaps"]
    # Slower the other way about is faster.
    if f["swap opposite"] and f["order crossed"]:
        f["swap opposite"] = f["order crossed"] = f["swaps"] = f["swap, rest agrees"] = 0.0
        f["said swap, rest agrees"] = 0.0
    if f["one holder"] and f["swap subject"]:
        f["swap subject"], f["said swap, rest agrees"] = 0.0, f["swap, rest agrees"]


def _combined_features(f: Features) -> Features:
    """What several features say together, as the scorer only adds up."""
    clash = any(f[name] for name in CLASHES)
    aside = any(f[name] for name in ASIDES)
    more = f["extra"] + f["extra value"] + f["extra name"] - f["swaps"]
    less = f["missing"] + f["missing value"] + f["missing name"] - f["swaps"]
    says_more = more > 0 or clash or bool(f["swaps"])
    return {
        "clash": clash,
        "clash, rest agrees": clash and more <= 0 and less <= 0,
        "clash, little else": clash and 0 < more + less <= 2,
        "aside": aside,
        "clash, not aside": clash and not aside,
        "adds nothing": not says_more,
        "says no other": not says_more and less <= 0 and not aside,
    }


def _swap_features(swaps: tuple[WordSwap, ...]) -> Features:
    out = {f"swap {kind}": 0.0 for kind in (*SWAP_KINDS, SUBJECT, SAID, SCOPE)}
    whole = [swap for swap in swaps if swap.how != "half slot"]
    for swap in swaps:
        out[f"swap {swap.how}"] += 1
    for swap in whole:
        out[f"swap {swap.place}"] += 1
    return out | {"swaps": len(whole) == 1, "many swaps": len(whole) > 1}


def _polarity_features(
    old: Statement,
    new: Statement,
    seen: StatementSimilarity,
    agreeing: Concepts,
) -> Features:
    turned, shared = seen.turned, seen.shared
    crossed, agreed = _compare_orders(
        (old.first, old.then),
        (new.first, new.then),
    )
    old_case, new_case = (old.condition, old.consequence), (new.condition, new.consequence)
    is_case_crossed, _ = _compare_orders(old_case, new_case)
    both_bar = _bar_alike(old, new, turned)
    one_bars = old.is_ban != new.is_ban
    return {
        "turned": len(turned) / len(shared) if shared and not both_bar else 0.0,
        "any turned": bool(turned) and not both_bar,
        "turned, both deny": bool(turned) and both_bar,
        "unbound": _is_paired_otherwise(old, new, shared),
        "bars differ": one_bars,
        "order crossed": crossed,
        "order agrees": agreed,
        "condition crossed": is_case_crossed,
        "order new": bool(new.first and new.then) and not (old.first and old.then),
        "roles": _has_swapped_roles(old, new),
        "one holder": not shared.isdisjoint(SINGLE_HOLDER_ROLES),
        "open verb": old.verb == new.verb and old.verb in OPEN_VERBS,
        "denies more": one_bars and not (agreed or agreeing or old.denied & new.denied),
    }


def _bar_alike(
    old: Statement,
    new: Statement,
    turned: Concepts,
) -> bool:
    """True if both forbid, and what they deny is turned one way only.

    "never this before that" asks for that: it shares no ban with "never that".
    """
    both_ways = bool(turned & old.affirmed) and bool(turned & old.denied)
    return old.is_ban and new.is_ban and not both_ways and bool(old.first) == bool(new.first)


def _compare_orders(old: Sides, new: Sides) -> tuple[bool, bool]:
    """Whether two orders of things are (the other way about, the same)."""
    (first, then), (new_first, new_then) = old, new
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


def _is_paired_otherwise(
    old: Statement,
    new: Statement,
    shared: Concepts,
) -> bool:
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
    old: Statement,
    new: Statement,
    seen: StatementSimilarity,
) -> Features:
    """Where, when, how surely and for whom."""
    return {
        **_place_features(old, new),
        **_limit_features(old, new),
        **_condition_features(old, new, seen),
        **_wording_features(old, new, seen),
    }


def _place_features(old: Statement, new: Statement) -> Features:
    return {
        "other place": bool(old.sited and new.sited) and old.sited.isdisjoint(new.sited),
        "more places": bool(new.places - old.places),
        "fewer places": bool(old.places - new.places),
        "only new sited": bool(new.sited) and not old.places,
        "only old sited": bool(old.sited) and not new.places,
    }


def _limit_features(old: Statement, new: Statement) -> Features:
    return {
        "hedge new": bool(new.hedges - old.hedges),
        "hedge old": bool(old.hedges - new.hedges),
        "limit new": len(new.limits - old.limits - {"unless" if new.first else ""}),
        "limit old": len(old.limits - new.limits - {"unless" if old.first else ""}),
        "only differs": _limits_by_only(old) != _limits_by_only(new),
        "not all": _is_not_all(old, new) or _is_not_all(new, old),
    }


def _condition_features(
    old: Statement,
    new: Statement,
    seen: StatementSimilarity,
) -> Features:
    own = (new.condition | old.condition) - seen.shared - WEAK_CONCEPTS
    is_one_sided = bool(new.condition) != bool(old.condition)
    return {
        "condition new": bool(new.condition) and not old.condition,
        "condition old": bool(old.condition) and not new.condition,
        "condition of its own": bool(own) and is_one_sided,
        "will differs": new.is_future != old.is_future,
    }


def _wording_features(
    old: Statement,
    new: Statement,
    seen: StatementSimilarity,
) -> Features:
    old_words, new_words = set(old.plain), set(new.plain)
    joints = {"and", "or"}
    return {
        "and new": bool(seen.extra and joints & new_words) and not joints & old_words,
        "too": not new_words.isdisjoint(("also", "too")),
        "when differs": bool(old.when and new.when) and old.when != new.when,
        "when new": bool(new.when) and not old.when,
        "my differs": ("my" in new_words) != ("my" in old_words),
        "whose differs": new.whose != old.whose,
        "asks differs": new.is_question != old.is_question,
        "parts": min(MAX_COUNT, max(old.sentence_count, new.sentence_count) - 1),
        "past differs": _is_past_event(new) != _is_past_event(old),
    }


def _limits_by_only(statement: Statement) -> bool:
    return "only" in statement.plain and not statement.stresses


def _is_not_all(one: Statement, other: Statement) -> bool:
    """True if one says "not all" and the other "all"."""
    return "NOTALL" in one.plain and not {"all", "every", "each"}.isdisjoint(other.plain)


def _is_past_event(statement: Statement) -> bool:
    """True if it tells what happened once."""
    told = {"yesterday", "today", "did", "went", "had", "last", "ago", "was", "were", "week"}
    return not told.isdisjoint(statement.plain)


def _change_features(
    old: Statement,
    new: Statement,
    seen: StatementSimilarity,
) -> Features:
    """Whether the new one says that something changed, and whether that is about the old one."""
    told = new.changes - old.changes
    soft = new.soft - old.soft
    tells, turns = bool(told), bool(seen.turned)
    kept = old.affirmed.difference(swap.new for swap in seen.swaps)
    gives_up = not new.given_up.isdisjoint(kept)
    has_sure_swap = any(swap.how in SURE_SWAPS for swap in seen.swaps)
    return {
        "change": tells,
        "change told": bool(told - {"stop", "switch"}),
        "soft change": bool(soft),
        "change × gives up": tells and gives_up,
        "change × turned": tells and turns,
        "change × swap": tells and has_sure_swap,
        "soft × gives up": bool(soft) and gives_up,
        "soft × turned": bool(soft) and turns and (gives_up or soft != {"INSTEADOF"}),
        "gives up": gives_up,
        "old changes": bool(old.changes or old.soft),
    }
