"""In what two statements are alike and in what they differ, as numbers with names.

`likeness` gives one `Likeness`: features between about 0 and 4 for the scorer, and what a person
would point at: the values that stand against each other. All of it comes from two readings and,
where there is one, the cosine.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from reverie.reconciliation.paraphrase.concept_vocabulary import (
    find_opposite_pairs,
    load_contrasts,
    load_opposites,
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
    StatementWord,
)

MAX_COUNT = (
    4  # what is counted, is counted so far: the fifth difference says no more than the fourth
)
SWAP_KINDS = ("value", "measure", "opposite", "contrast", "name", "slot", "end slot", "half slot")
# a thing has usually one of these
SINGLE_HOLDER_ROLES = frozenset(map(to_concept, ("owner", "lead", "maintainer")))
OPEN_VERBS = frozenset(map(to_concept, load_words("OPEN")))
# told by signs: "never without" is "always with"
ALWAYS_NEVER = frozenset(map(to_concept, ("always", "never")))
MIN_SHARED_LETTERS = 4  # letters that two forms of a word must share at the beginning


class WordSwap(NamedTuple):
    """What one says where the other says something else."""

    old: str
    new: str
    how: str  # a member of HOW
    place: str  # SUBJECT, SAID or SCOPE


class StatementSimilarity(NamedTuple):
    """How two statements compare."""

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
    """Compare two readings. `known` are further concepts by which the old memory is known."""
    mine, theirs = old.affirmed | old.denied, new.affirmed | new.denied
    pairs = _match_concepts(mine, theirs)
    shared = frozenset(pairs)
    missing = mine - shared - load_weak_concepts()
    extra = theirs - frozenset(pairs.values()) - load_weak_concepts()
    agreeing = _find_denied_opposites(old, new, extra)
    missing, extra = missing - agreeing, extra - agreeing
    turned = (
        frozenset(a for a, b in pairs.items() if (a in old.affirmed) != (b in new.affirmed))
        if not agreeing
        else frozenset()
    )
    turned = frozenset() if turned and _wants_same_side(old, new) else turned
    swaps = (
        *_find_swaps(old.words, new.words, missing, extra),
        *(() if agreeing else _find_opposite_swaps(old, new)),
    )
    unknown = extra - frozenset(known)
    out = StatementSimilarity(
        {}, shared, swaps, turned, unknown, missing, _is_ordered_elsewhere(old, new)
    )
    out.features.update(_overlap_features(mine, theirs, shared, unknown, cosine))
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
    """What both have: concept of the old → its form in the new."""
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
        for a in pair & (old.affirmed | old.denied):
            for b in pair & extra - {a}:
                if (a in old.affirmed) != (b in new.affirmed):
                    found |= {a, b}
    return frozenset(found)


def _wants_same_side(old: Statement, new: Statement) -> bool:
    """Whether both want one of two opposites and not the other: then it matters not with which of
    the two they name the thing: "avoid large ones" and "small ones rather than large ones".
    """
    wanted, refused = old.affirmed | new.affirmed, old.denied | new.denied
    pairs = [
        pair
        for pair in find_opposite_pairs(wanted)
        if len(pair & wanted) == 1 and len(pair & refused) == 1
    ]
    mine, theirs = (
        (frozenset().union(*pairs) & (s.affirmed | s.denied) for s in (old, new))
        if pairs
        else (frozenset(),) * 2
    )
    return bool(mine and theirs) and not any(pair & wanted & refused for pair in pairs)


def _is_word_form(a: str, b: str) -> bool:
    """Whether two concepts are forms of one word."""
    if a.removesuffix("()") == b.removesuffix("()"):
        return True
    short, long = sorted((a, b), key=len)
    return (
        short.isalpha()
        and long.isalpha()
        and len(short) >= MIN_SHARED_LETTERS
        and len(long) - len(short) <= MIN_SHARED_LETTERS
        and long.startswith(short)
        and not load_contrasts().keys() & {a, b}
    )


def _find_opposite_swaps(old: Statement, new: Statement) -> Iterable[WordSwap]:
    """Opposites among the small words: on / off, love / hate, always / never are steered by signs
    and are not here.
    """
    mine, theirs = old.light | old.affirmed | old.denied, new.light | new.affirmed | new.denied
    heavy = old.affirmed | old.denied, new.affirmed | new.denied
    for pair in sorted(find_opposite_pairs(mine) & find_opposite_pairs(theirs), key=sorted):
        a, b = pair & mine - theirs, pair & theirs - mine
        if (
            len(a) == 1
            and len(b) == 1
            and not (a <= heavy[0] and b <= heavy[1])
            and pair != ALWAYS_NEVER
        ):
            yield WordSwap(min(a), min(b), "opposite", SAID)


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
    """What only one of them says, by sort, place and sign."""
    out = {
        "extra": 0.0,
        "extra value": 0.0,
        "extra name": 0.0,
        "extra subject": 0.0,
        "extra scope": 0.0,
        "extra denied": 0.0,
        "missing": 0.0,
        "missing value": 0.0,
        "missing name": 0.0,
        "missing subject": 0.0,
        "missing scope": 0.0,
        "missing denied": 0.0,
    }
    for label, words, left in (("extra", new.words, unknown), ("missing", old.words, missing)):
        bans = not (old if label == "missing" else new).affirmed
        for word in _first_occurrences(words, left):
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
    one = len(sure) == 1 and bool(shared)
    return {
        "swap, rest agrees": float(one and rest == 0),
        "swap, little else": float(one and 0 < rest <= 2),
        "said swap, rest agrees": float(one and rest == 0 and sure[0].place == SAID),
    }


def _combined_features(seen: StatementSimilarity) -> dict[str, float]:
    """What several features say together: the scorer only adds up."""
    f = seen.features
    f["open swap"] = f["open verb"] * f["swaps"]
    compared = f["swap opposite"] and f["order crossed"]  # slower the other way about is faster
    if compared:
        f["swap opposite"] = f["order crossed"] = f["swaps"] = f["swap, rest agrees"] = 0.0
        f["said swap, rest agrees"] = 0.0
    if f["one holder"] and f["swap subject"]:
        f["swap subject"], f["said swap, rest agrees"] = 0.0, f["swap, rest agrees"]
    clash = bool(
        f["any turned"]
        or f["order crossed"]
        or f["swap opposite"]
        or f["not all"]
        or f["unbound"]
        or f["said swap, rest agrees"]
    )
    aside = bool(
        f["other place"]
        or f["swap subject"]
        or f["condition crossed"]
        or f["roles"]
        or f["whose differs"]
        or f["only new sited"]
        or f["when differs"]
    )
    more = f["extra"] + f["extra value"] + f["extra name"] - f["swaps"]
    less = f["missing"] + f["missing value"] + f["missing name"] - f["swaps"]
    return {
        "clash": float(clash),
        "clash, rest agrees": float(clash and more <= 0 and less <= 0),
        "clash, little else": float(clash and 0 < more + less <= 2),
        "aside": float(aside),
        "clash, not aside": float(clash and not aside),
        "adds nothing": float(more <= 0 and not clash and not f["swaps"]),
        "says no other": float(
            more <= 0 and less <= 0 and not clash and not f["swaps"] and not aside
        ),
    }


def _first_occurrences(
    words: Sequence[StatementWord], left: Collection[str]
) -> Iterable[StatementWord]:
    """The first occurrence of each of these concepts."""
    found: dict[str, StatementWord] = {}
    for word in words:
        if word.concept in left:
            found.setdefault(word.concept, word)
    return found.values()


def _find_swaps(
    old: Sequence[StatementWord],
    new: Sequence[StatementWord],
    missing: frozenset[str],
    extra: frozenset[str],
) -> Iterable[WordSwap]:
    """Pairs of what is missing and what came instead, the surest first; each word in one pair at
    most.
    """
    gone, come = list(_first_occurrences(old, missing)), list(_first_occurrences(new, extra))
    small = _weak_words(old) - _weak_words(new), _weak_words(new) - _weak_words(old)
    gone += _first_occurrences(old, small[0])
    come += _first_occurrences(new, small[1])
    ranked = sorted(
        (
            (rank, i, j, how)
            for i, a in enumerate(gone)
            for j, b in enumerate(come)
            if (found := _rank_swap(a, b))
            for rank, how in [found]
        )
    )
    used: set[tuple[str, int]] = set()
    for _, i, j, how in ranked:
        if ("a", i) in used or ("b", j) in used:
            continue
        used |= {("a", i), ("b", j)}
        a, b = gone[i], come[j]
        place = a.place if a.place == b.place else SAID if SAID in (a.place, b.place) else SCOPE
        yield WordSwap(a.concept, b.concept, how, place)


def _weak_words(words: Sequence[StatementWord]) -> set[str]:
    """Words of little weight that may still be what differs: sorted by date, sorted by name."""
    return {word.concept for word in words if word.concept in load_weak_concepts()}


def _rank_swap(a: StatementWord, b: StatementWord) -> tuple[int, str] | None:
    """How one word can stand for another value of the same thing: (rank, how)."""
    lines = load_contrasts()
    same_left, same_right = a.before == b.before, a.after == b.after
    slot = same_left and same_right and bool(a.before or a.after)
    if a.concept in load_weak_concepts() or b.concept in load_weak_concepts():
        return (3, "slot" if a.after else "end slot") if slot else None
    if VALUE in (a.sort, b.sort):
        measured = (0, "value") if a.measure == b.measure else (3, "measure")
        return measured if a.sort == b.sort else None
    ways = (
        (
            0,
            "opposite",
            {a.concept, b.concept} in load_opposites() or _is_negated_form(a.concept, b.concept),
        ),
        (
            1,
            "contrast",
            bool(lines.get(a.concept, frozenset()) & lines.get(b.concept, frozenset())),
        ),
        (2, "name", a.sort == b.sort == NAME),
        (3, "end slot", slot and not a.after),
        (3, "slot", slot),
        (5, "name", (a.sort == NAME and b.capital) or (b.sort == NAME and a.capital)),
        (4, "half slot", bool((same_left and a.before) or (same_right and a.after))),
    )
    return next(((rank, how) for rank, how, holds in ways if holds), None)


def _is_negated_form(a: str, b: str) -> bool:
    """Whether one is the other with a prefix that makes it the opposite: sorted, unsorted."""
    short, long = sorted((a, b), key=len)
    prefix = long.removesuffix(short).rstrip("-")
    return (
        len(short) >= MIN_SHARED_LETTERS
        and long.endswith(short)
        and prefix in load_words("PREFIXES")
    )


def _swap_features(swaps: Sequence[WordSwap]) -> dict[str, float]:
    out = {f"swap {kind}": 0.0 for kind in (*SWAP_KINDS, SUBJECT, SAID, SCOPE)}
    for swap in swaps:
        out[f"swap {swap.how}"] += 1
        if swap.how != "half slot":
            out[f"swap {swap.place}"] += 1
    out["swaps"] = float(sum(s.how != "half slot" for s in swaps) == 1)
    out["many swaps"] = float(sum(s.how != "half slot" for s in swaps) > 1)
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
    later_first: frozenset[str],
    later_then: frozenset[str],
) -> tuple[bool, bool]:
    """Whether two orders of things are (the other way about, the same)."""
    if not (first | then) or not (later_first | later_then):
        return False, False
    forth, back = (
        (first & later_then) - later_first - then,
        (then & later_first) - later_then - first,
    )
    agreed = len((first & later_first) - later_then) + len((then & later_then) - later_first)
    half = not (then and later_then)  # "tests first": the verb that both put first says nothing
    crossed = bool(forth and back) or len(forth) + len(back) > (0 if half else agreed)
    return crossed, agreed > 0 and not crossed


def _is_ordered_elsewhere(old: Statement, new: Statement) -> bool:
    """Whether the same is to come before or after something else: tests before a commit, tests
    before a release.
    """
    sides = ((old.first, new.first), (old.then, new.then))
    if not all(side for pair in sides for side in pair):
        return False
    met = [any(_is_word_form(a, b) for a in mine for b in theirs) for mine, theirs in sides]
    return met.count(True) == 1


def _is_paired_otherwise(old: Statement, new: Statement, shared: frozenset[str]) -> bool:
    """Whether the same words are paired otherwise: a for b and c for d, c for b and a for d."""
    mine = {pair for pair in old.bound if pair <= shared}
    theirs = {pair for pair in new.bound if pair <= shared}
    return len(mine) > 1 and len(theirs) > 1 and not mine & theirs and len(shared) > 3


def _has_swapped_roles(old: Statement, new: Statement) -> bool:
    """Whether the same words stand the other way about: a calls b, b calls a."""
    if (
        old.has_agent
        or new.has_agent
        or old.first
        or new.first
        or not old.verb
        or old.verb != new.verb
    ):
        return False

    def subjects(s: Statement) -> set[str]:
        return {w.concept for w in s.words if w.place == SUBJECT and w.sort != LIGHT}

    def others(s: Statement) -> set[str]:
        return {w.concept for w in s.words if w.place != SUBJECT and w.sort != LIGHT}

    a, b, c, d = subjects(old), others(old), subjects(new), others(new)
    return (
        bool((a & d) - (a & c) and (b & c) - (b & d))
        and not _is_copula(old)
        and not _is_copula(new)
    )


def _is_copula(statement: Statement) -> bool:
    """Whether it says what something is: then the two halves may change places."""
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
    """Whether one says "not all" and the other "all"."""
    return "NOTALL" in one.plain and bool({"all", "every", "each"} & set(other.plain))


def _is_past_event(statement: Statement) -> bool:
    """Whether it tells what happened once."""
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
