"""In what two statements are alike and in what they differ, as numbers with names.

`likeness` gives one `Likeness`: features between about 0 and 4 for the scorer, and what a person would point at: the
values that stand against each other. All of it comes from two readings and, where there is one, the cosine.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from reverie.lifecycle.statement import (
    CONTENT, NAME, SAID, SCOPE, SUBJECT, VALUE, Statement, Word, contrasts, opposites,
)

MOST = 4              # what is counted, is counted so far: the fifth difference says no more than the fourth
LONG_WORD = 4         # letters that two forms of a word must share at the beginning


class Swap(NamedTuple):
    """What one says where the other says something else."""

    old: str
    new: str
    how: str          # "value", "opposite", "contrast", "name", "slot"
    place: str        # SUBJECT, SAID or SCOPE


class Likeness(NamedTuple):
    """How two statements compare."""

    features: dict[str, float]
    shared: frozenset[str]
    swaps: tuple[Swap, ...]
    turned: frozenset[str]     # affirmed by one and denied by the other
    extra: frozenset[str]      # what only the new one has, that carries content
    missing: frozenset[str]


def likeness(old: Statement, new: Statement, cosine: float | None, known: Collection[str] = ()) -> Likeness:
    """Compare two readings. `known` are further concepts by which the old memory is known."""
    mine, theirs = old.pro | old.con, new.pro | new.con
    pairs = _matched(mine, theirs)
    shared = frozenset(pairs)
    missing = mine - shared
    extra = theirs - frozenset(pairs.values())
    swaps = tuple(_swaps(old.words, new.words, missing, extra))
    turned = frozenset(a for a, b in pairs.items() if (a in old.pro) != (b in new.pro))
    unknown = extra - frozenset(known)
    out = Likeness({}, shared, swaps, turned, unknown, missing)
    out.features.update(_overlaps(mine, theirs, shared, unknown, cosine))
    out.features.update(_leftovers(old, new, missing, unknown))
    out.features.update(_swap_features(swaps))
    out.features.update(_polarity(old, new, turned, shared))
    out.features.update(_circumstances(old, new))
    out.features.update(_announcements(old, new, pairs, swaps, turned))
    return out


def _matched(mine: frozenset[str], theirs: frozenset[str]) -> dict[str, str]:
    """What both have: concept of the old → its form in the new."""
    pairs = {word: word for word in mine & theirs}
    left = sorted(theirs - mine)
    for word in sorted(mine - theirs):
        other = next((o for o in left if _one_word(word, o)), None)
        if other is not None:
            pairs[word] = other
            left.remove(other)
    return pairs


def _one_word(a: str, b: str) -> bool:
    """Whether two concepts are forms of one word."""
    if a.removesuffix("()") == b.removesuffix("()"):
        return True
    short, long = sorted((a, b), key=len)
    return (short.isalpha() and long.isalpha() and len(short) >= LONG_WORD and len(long) - len(short) <= LONG_WORD
            and long.startswith(short) and not contrasts().keys() & {a, b})


def _overlaps(mine: frozenset[str], theirs: frozenset[str], shared: frozenset[str], unknown: frozenset[str],
              cosine: float | None) -> dict[str, float]:
    union = len(mine) + len(theirs) - len(shared)
    jaccard = len(shared) / union if union else 0.0
    out = {
        "jaccard": jaccard,
        "covers new": 1 - len(unknown) / len(theirs) if theirs else 0.0,
        "covers old": len(shared) / len(mine) if mine else 0.0,
        "shares nothing": float(not shared),
        "shares one": float(len(shared) == 1),
        "new says little": float(len(theirs) < 2),
        "length": min(MOST, abs(len(theirs) - len(mine)) / 3),
    }
    if cosine is not None:
        out |= {"cosine": cosine, "cosine high": max(0.0, cosine - 0.8) * 5, "cosine low": max(0.0, 0.6 - cosine) * 3,
                "cosine × jaccard": cosine * jaccard}
    return out


def _leftovers(old: Statement, new: Statement, missing: frozenset[str], unknown: frozenset[str]) -> dict[str, float]:
    """What only one of them says, by sort, place and sign."""
    out = {"extra": 0.0, "extra value": 0.0, "extra name": 0.0, "extra subject": 0.0, "extra scope": 0.0,
           "extra denied": 0.0, "missing": 0.0, "missing value": 0.0, "missing name": 0.0, "missing subject": 0.0,
           "missing scope": 0.0, "missing denied": 0.0}
    for label, words, left in (("extra", new.words, unknown), ("missing", old.words, missing)):
        for word in _once(words, left):
            if not word.affirmed:
                out[f"{label} denied"] += 1
                continue
            out[label] += word.sort == CONTENT
            out[f"{label} value"] += word.sort == VALUE
            out[f"{label} name"] += word.sort == NAME
            out[f"{label} subject"] += word.place == SUBJECT
            out[f"{label} scope"] += word.place == SCOPE
    return {name: min(MOST, value) for name, value in out.items()}


def _once(words: Sequence[Word], left: Collection[str]) -> Iterable[Word]:
    """The first occurrence of each of these concepts."""
    found: dict[str, Word] = {}
    for word in words:
        if word.concept in left:
            found.setdefault(word.concept, word)
    return found.values()


def _swaps(old: Sequence[Word], new: Sequence[Word], missing: frozenset[str], extra: frozenset[str]) -> Iterable[Swap]:
    """Pairs of what is missing and what came instead, the surest first; each word in one pair at most."""
    gone, come = list(_once(old, missing)), list(_once(new, extra))
    ranked = sorted(((rank, i, j, how) for i, a in enumerate(gone) for j, b in enumerate(come)
                     if (found := _instead(a, b)) for rank, how in [found]))
    used: set[tuple[str, int]] = set()
    for _, i, j, how in ranked:
        if ("a", i) in used or ("b", j) in used:
            continue
        used |= {("a", i), ("b", j)}
        a, b = gone[i], come[j]
        place = a.place if a.place == b.place else SAID if SAID in (a.place, b.place) else SCOPE
        yield Swap(a.concept, b.concept, how, place)


def _instead(a: Word, b: Word) -> tuple[int, str] | None:
    """How one word can stand for another value of the same thing: (rank, how)."""
    if a.sort == VALUE and b.sort == VALUE:
        return (0, "value") if a.measure == b.measure else (3, "measure")
    if VALUE in (a.sort, b.sort):
        return None
    if frozenset((a.concept, b.concept)) in opposites():
        return 0, "opposite"
    lines = contrasts()
    if lines.get(a.concept, frozenset()) & lines.get(b.concept, frozenset()):
        return 1, "contrast"
    if a.sort == NAME and b.sort == NAME:
        return 2, "name"
    same_left, same_right = a.before == b.before, a.after == b.after
    if same_left and same_right:
        return 3, "slot"
    return (4, "half slot") if (same_left and a.before) or (same_right and a.after) else None


def _swap_features(swaps: Sequence[Swap]) -> dict[str, float]:
    out = {f"swap {kind}": 0.0 for kind in ("value", "measure", "opposite", "contrast", "name", "slot", "half slot",
                                            SUBJECT, SAID, SCOPE)}
    for swap in swaps:
        out[f"swap {swap.how}"] += 1
        if swap.how != "half slot":
            out[f"swap {swap.place}"] += 1
    out["swaps"] = float(sum(s.how != "half slot" for s in swaps) == 1)
    out["many swaps"] = float(sum(s.how != "half slot" for s in swaps) > 1)
    return out


def _polarity(old: Statement, new: Statement, turned: frozenset[str], shared: frozenset[str]) -> dict[str, float]:
    ordered = bool(old.first | old.then) and bool(new.first | new.then)
    crossed = len(old.first & new.then) + len(old.then & new.first)
    agreed = len(old.first & new.first) + len(old.then & new.then)
    return {
        "turned": len(turned) / len(shared) if shared else 0.0,
        "any turned": float(bool(turned)),
        "bars differ": float(old.bars != new.bars),
        "order crossed": float(ordered and crossed > agreed),
        "order agrees": float(ordered and agreed > crossed),
        "order new": float(bool(new.first and new.then) and not (old.first and old.then)),
        "roles": float(_roles_swapped(old, new)),
    }


def _roles_swapped(old: Statement, new: Statement) -> bool:
    """Whether the same words stand the other way about: a calls b, b calls a."""
    if old.agent != new.agent or old.first or new.first:
        return False
    def subjects(s: Statement) -> set[str]:
        return {w.concept for w in s.words if w.place == SUBJECT and w.sort != "light"}
    def others(s: Statement) -> set[str]:
        return {w.concept for w in s.words if w.place != SUBJECT and w.sort != "light"}
    a, b, c, d = subjects(old), others(old), subjects(new), others(new)
    return bool((a & d) - (a & c) and (b & c) - (b & d)) and not _copula(old) and not _copula(new)


def _copula(statement: Statement) -> bool:
    """Whether it says what something is: then the two halves may change places."""
    return bool(statement.light & {"is", "are", "was", "nam"})


def _circumstances(old: Statement, new: Statement) -> dict[str, float]:
    """Where, when, how surely and for whom."""
    both = bool(old.places and new.places)
    return {
        "other place": float(both and not old.places & new.places),
        "more places": float(bool(new.places - old.places)),
        "fewer places": float(bool(old.places - new.places)),
        "hedge new": float(bool(new.hedges - old.hedges)),
        "hedge old": float(bool(old.hedges - new.hedges)),
        "limit new": float(len(new.limits - old.limits)),
        "limit old": float(len(old.limits - new.limits)),
        "only differs": float(("only" in new.plain) != ("only" in old.plain)),
        "all differs": float(bool({"all", "every", "everything", "everywhere"} & set(new.plain))
                             != bool({"all", "every", "everything", "everywhere"} & set(old.plain))),
        "and new": float("and" in new.plain and "and" not in old.plain),
        "too": float(bool({"also", "too"} & set(new.plain))),
        "my differs": float(("my" in new.plain) != ("my" in old.plain)),
        "whose differs": float(new.whose != old.whose),
        "asks differs": float(new.asks != old.asks),
        "parts": min(MOST, float(max(old.parts, new.parts) - 1)),
        "past differs": float(_told(new) != _told(old)),
    }


def _told(statement: Statement) -> bool:
    """Whether it tells what happened once."""
    return bool({"yesterday", "today", "did", "went", "had", "last", "ago", "was", "were", "week"} & set(statement.plain))


def _announcements(old: Statement, new: Statement, pairs: dict[str, str], swaps: Sequence[Swap],
                   turned: frozenset[str]) -> dict[str, float]:
    """Whether the new one says that something changed, and whether that is about the old one."""
    told = new.changes - old.changes
    soft = new.soft - old.soft
    gives_up = bool((old.pro - {s.new for s in swaps}) & new.given_up)
    return {
        "change": float(bool(told)),
        "soft change": float(bool(soft)),
        "change × gives up": float(bool(told) and gives_up),
        "change × turned": float(bool(told) and bool(turned)),
        "change × swap": float(bool(told) and any(s.how in ("value", "contrast", "name", "opposite") for s in swaps)),
        "soft × gives up": float(bool(soft) and gives_up),
        "soft × turned": float(bool(soft) and bool(turned)),
        "gives up": float(gives_up),
        "old changes": float(bool(old.changes or old.soft)),
    }
