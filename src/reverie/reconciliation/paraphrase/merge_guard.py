"""A last look at a verdict before something disappears for it: is what is given up what the old
memory says?

`compare` decides by what two texts share; this module reads the new one for what it gives up ("no
longer …", "instead of …", "forget …", ", not …") and for values that must be the same to the letter
(quoted, paths, identifiers, what something is called), and lowers a verdict that these do not bear
out. Only one thing is raised: a text that names the old memory's own value as given up, and speaks
of nothing else, replaces it.

Always true: nothing raises, the confidence never grows, and two texts that are equal stay what they
were.

We would notice it going wrong in `python -m bench.reconcile`: its pairs of corrections that are
about something else.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.model import Memory
from reverie.reconciliation.paraphrase import wording_tables
from reverie.reconciliation.paraphrase.concept_vocabulary import (
    among,
    concept,
    contrasts,
    light,
    synonyms,
    value_at,
    weak,
)
from reverie.reconciliation.paraphrase.statement_parser import LIGHT, MOST_CHARS, SUBJECT, read

if TYPE_CHECKING:
    from reverie.reconciliation.paraphrase.statement_comparison import Verdict

UNCLEAR = 0.5  # below what lets anything step back unasked: a person is asked
LONG_WORD = 4  # letters that two forms of a word must share at the beginning
FEW = 2  # words of its own that a replacement may need to name the new value
MOST_QUOTED = 60  # letters; a longer quotation is a sentence, and may be told in other words
KEPT = 4_096  # readings kept, as many as `statement` keeps
# two that cannot concern each other, whatever they say: another day, another speaker
SURE_APART = 1.0

# What a number is said to be adds nothing to it: "at most 30 s" is the limit, the timeout, the
# rate.
KINDS_OF_NUMBER = (
    "limit threshold timeout rate minimum maximum length long size number count time retention"
)

_LIMB = re.compile(r"[,;:](?=\s)|[!?()—–\n]|\.(?=\s|$)|\b(?:but|because|since)\b", re.IGNORECASE)
_CLAUSES = frozenset(("NOLONGER", "USEDTO", "GONE", "stop", "stopped", "retired"))
_LEADING = r"(?:(?:in|on|by|with|at|from|to|the|a|an|using)\s+)*"
_END = r"(?=\s+(?:to|in|into|for|during|is|are|must|should|can|may|has|have|will|on|when|from|now|these)\b|\s*$)"
_NAMED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:instead of|rather than|in place of)\s+{_LEADING}(.+?){_END}",
        rf"^\s*(?:and\s+|please\s+)?(?:forget|scrap|drop|ditch|ignore|discard)\s+(?:about\s+)?{_LEADING}(.+?)\s*$",
        rf"^\s*(?:and\s+)?not\s+{_LEADING}(.+?){_END}",
        r"(?<!\S)(\S+)\s*(?:→|->|=>)\s*\S",
    )
)
_FROM = re.compile(rf"\bfrom\s+(?!now\b){_LEADING}(.+?)\s+(?:(?:up|down)\s+)?to\s+", re.IGNORECASE)
_STARTS = re.compile(
    r"^\s*(?:and\s+)?not\b|^\s*(?:and\s+|please\s+)?(?:forget|scrap|drop|ditch|ignore|discard)\b",
    re.IGNORECASE,
)
_NOW = re.compile(r"\b(?:now|these days|nowadays)\s*[.!]*\s*$", re.IGNORECASE)
_QUOTED = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|(?<!\w)'([^'\n]+)'(?!\w)")
_EXACT = re.compile(
    r"(?<![~.\w{}/-])[~.\w{}-]*/[\w./{}-]*|(?<!\S)--?[a-zA-Z][\w-]*"
    r"|(?<!\w)(?:\w{2,}\.[A-Za-z]\w+|\w+_\w+|\w*[a-z0-9][A-Z]\w*)"
)
_SAID = re.compile(
    r"\b(?:is|are|called|named|me|:)\s+(?:now\s+|called\s+|named\s+)?(?:the\s+|a\s+|an\s+)?"
    r"([^\W\d_][\w-]*)(?=\s*(?:[.,;!?]|$|now\b))",
    re.IGNORECASE,
)
_LETTERED = re.compile(r"(?<=\w )([A-Z])(?![\w'])")
_SCOPED = re.compile(
    r"\b(for|on|during|when|if|while|under|within|in)\s+([^,;.]+?)"
    r"(?=\s+(?:for|on|during|when|if|while|instead|rather|from)\b|[,;.]|$)",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"\d+(?:[.,:]\d+)*|[a-z]+")
_MEASURED = re.compile(r"\d[\d.,]*[a-zA-Z%]*$")


class Yielded(NamedTuple):
    """What a text gives up."""

    clauses: tuple[str, ...]  # limbs that say that something no longer holds
    names: tuple[str, ...]  # what it names as given up
    rest: tuple[str, ...]  # its other limbs, without these names


def cautious(
    old: Memory, new: Memory, verdict: "Verdict", wordings: Sequence[str] = ()
) -> "Verdict":
    """The verdict, or a lower one where the texts do not bear it out; "updates" where the old value
    is given up.

    `wordings` are further texts by which `old` is known. Texts longer than what is read are left
    alone. A pure function of its arguments.
    """
    texts = (old.text, *wordings)
    if new.text in texts or any(len(text) > MOST_CHARS for text in (new.text, *texts)):
        return verdict
    if verdict.relation == "updates":
        return _about_it(texts, new.text, verdict)
    may_concern = verdict.relation != "apart" or verdict.confidence < SURE_APART
    if may_concern and _replaces(old.text, new.text):
        return verdict._replace(relation="updates", why="it says itself what it replaces")
    if verdict.relation == "same":
        return _to_the_letter(texts, new, verdict)
    if verdict.relation in ("near", "apart") and may_concern and _remeasured(old.text, new.text):
        return verdict._replace(relation="contradicts", why="the same words with another measure")
    return verdict


# What is given up


@cache
def _changes() -> frozenset[str]:
    """Concepts of words that only announce a change."""
    return frozenset(map(concept, (*among("CHANGES"), "forget", "scrap", "ignore", "exist")))


@lru_cache(maxsize=KEPT)
def yielded(text: str) -> Yielded:
    """What a text gives up."""
    clauses, names, rest = [], [], []
    for limb in filter(str.strip, _LIMB.split(text)):
        told = read(limb).changes
        patterns = (*_NAMED, _FROM) if told - {"FROMNOW"} else _NAMED
        names += [match[1].strip(" .!") for pattern in patterns for match in pattern.finditer(limb)]
        if told & _CLAUSES:
            clauses.append(limb)
        elif not _STARTS.match(limb):
            rest.append(_without(limb, patterns))
    return Yielded(tuple(clauses), tuple(filter(None, names)), tuple(rest))


def _without(limb: str, patterns: Iterable[re.Pattern[str]]) -> str:
    """A limb without what it names as given up."""
    for pattern in patterns:
        limb = pattern.sub(" ", limb)
    return limb


def _held(texts: Iterable[str]) -> frozenset[str]:
    """What these texts speak of."""
    return frozenset().union(*map(_content, texts))


@lru_cache(maxsize=KEPT)
def _content(text: str) -> frozenset[str]:
    """What a text speaks of: concepts, bare numbers, and letters by which a thing is told from
    another.
    """
    numbers = {
        str(wording_tables.NUMBERS.get(word, word))
        for word in _NUMBERS.findall(text.lower())
        if word[0].isdigit() or word in wording_tables.NUMBERS
    }
    return read(text).pro | read(text).con | numbers | set(_LETTERED.findall(text))


def _beyond(text: str, held: Collection[str]) -> frozenset[str]:
    """What a text speaks of beyond that, but for words that carry little."""
    own = _held([text]) - weak() - _changes()
    return frozenset(
        word
        for word in own
        if word not in held and not any(_one_word(word, other) for other in held)
    )


def _one_word(a: str, b: str) -> bool:
    """Whether two concepts are forms of one word."""
    a, b = ("".join(map(concept, word.removesuffix("()").split("-"))) for word in (a, b))
    if a == b:
        return True
    short, long = sorted((a, b), key=len)
    return (
        short.isalpha()
        and long.isalpha()
        and len(short) >= LONG_WORD
        and len(long) - len(short) <= LONG_WORD
        and long.startswith(short)
    )


def _affirmed(name: str, text: str) -> bool:
    """Whether a text says this, to the letter, and does not give it up itself."""
    given = yielded(text)
    return (
        bool(_held([name]))
        and _stands_in(name, text)
        and not any(_stands_in(name, other) for other in (*given.names, *given.clauses))
        and not _held([name]) & read(text).con
    )


# Updates


def _about_it(texts: Sequence[str], new: str, verdict: "Verdict") -> "Verdict":
    """An update, if what it gives up is what the old one says; else something less."""
    held, given = _held(texts), yielded(new)
    for clause in given.clauses:
        if beyond := _beyond(clause, held):
            other = _beyond(texts[0], _held([clause]))
            scoped = beyond <= _beyond(
                " ".join(match[0] for match in _SCOPED.finditer(clause)), held
            )
            relation = "apart" if other else "near" if scoped else "contradicts"
            return _unclear(
                verdict, relation, f"what it gives up is something else: {_list(beyond)}"
            )
    for name in given.names:
        if not any(_affirmed(name, text) for text in texts) and _beyond(name, held):
            kept = not _beyond(texts[0], _held([new]))
            return _unclear(
                verdict, "near" if kept else "apart", f"what it gives up is something else: {name}"
            )
    if not given.clauses and (narrower := _narrower(given.rest, texts, held)):
        return _unclear(
            verdict,
            "contradicts" if given.names else "near",
            f"it speaks only of: {_list(narrower)}",
        )
    return verdict


def _narrower(rest: Sequence[str], texts: Sequence[str], held: Collection[str]) -> frozenset[str]:
    """By what the subject or the scope of a text is narrower than that of the old one."""
    found: set[str] = set()
    for limb in rest:
        subject = {w.concept for w in read(limb).words if w.place == SUBJECT and w.sort != LIGHT}
        more = (subject & _beyond(limb, held)) - frozenset(map(concept, KINDS_OF_NUMBER.split()))
        found |= more if more != subject else set()
        for match in _SCOPED.finditer(limb):
            if not any(re.search(rf"\b{match[1]}\b", text, re.IGNORECASE) for text in texts):
                found |= _beyond(match[2], held)
    return frozenset(found)


def _replaces(old: str, new: str) -> bool:
    """Whether the new text names what the old one says as given up, says what holds instead, and
    nothing else.
    """
    given, reading = yielded(new), read(new)
    if not (given.names or given.clauses):
        return False
    if reading.asks or reading.hedges or reading.cut or read(old).asks or read(old).bars:
        return False
    named = (
        bool(given.names)
        and all(_affirmed(name, old) for name in given.names)
        and not given.clauses
    )
    denied = (
        len(given.clauses) == 1
        and not given.names
        and not (_beyond(given.clauses[0], _held([old])) or _beyond(old, _held(given.clauses)))
    )
    subjects = {
        w.concept
        for limb in given.rest
        for w in read(limb).words
        if w.place == SUBJECT and w.sort != LIGHT
    }
    own = [word for limb in given.rest for word in _raw(limb) if word not in _raw(old)]
    return (
        (named or denied)
        and 0 < len(own) <= FEW
        and not subjects - _held([old]) - _changes()
        and (denied or bool(_held(given.rest) & _held([old])))
        and not _narrower(given.rest, [old], _held([old]))
    )


def _raw(text: str) -> list[str]:
    """The words of a text as they stand there, without those that carry nothing."""
    words = (word.strip(".,;:!?()\"'`") for word in text.lower().split())
    return [
        word
        for word in words
        if word and concept(word) not in light() and word not in among("CHANGES")
    ]


# Repetitions


def _to_the_letter(texts: Sequence[str], new: Memory, verdict: "Verdict") -> "Verdict":
    """The same, if values are equal to the letter, nothing is given up, and it is no correction in
    other words.
    """
    given = yielded(new.text)
    if any(
        _STARTS.match(limb) and not limb.lower().split()[0].startswith(("not", "and"))
        for limb in _LIMB.split(new.text)
    ) or any(_affirmed(name, texts[0]) for name in given.names):
        return _unclear(verdict, "contradicts", "it gives something up")
    differ = [_letters(text, new.text) for text in texts]
    if all(differ):
        return verdict._replace(
            relation="contradicts" if "swap" in differ else "near",
            why="the same, but for a value that must be equal to the letter",
        )
    words = [sorted(_plain(text)) for text in texts]
    if _NOW.search(new.text) and sorted(_plain(new.text)) not in words:
        return verdict._replace(relation="near", why="it tells how things are now")
    if new.provenance == "user_corrected" and not any(
        _plain(text) == _plain(new.text) for text in texts
    ):
        return verdict._replace(relation="near", why="a correction in other words is no repetition")
    return verdict


def _plain(text: str) -> tuple[str, ...]:
    """The words of a text in lower case, without "now"."""
    return tuple(
        word for word in re.findall(r"[\w/.'-]*\w", text.lower()) if word not in ("now", "nowadays")
    )


def _letters(old: str, new: str) -> str:
    """How values differ that must be equal to the letter: "swap" for one in the place of another,
    "more", or "".
    """
    mine = [value for value in _exact(old) if not _stands_in(value, new, exact=True)]
    theirs = [value for value in _exact(new) if not _stands_in(value, old, exact=True)]
    said = _SAID.findall(old), _SAID.findall(new)
    folded = any(
        a.lower() != b.lower() and _nearly(a.lower(), b.lower()) for a in said[0] for b in said[1]
    )
    folded |= any(v.lower() in new.lower() for v in mine) or any(
        v.lower() in old.lower() for v in theirs
    )
    if (mine and theirs) or folded:
        return "swap"
    return "more" if mine or theirs else ""


def _nearly(a: str, b: str) -> bool:
    """Whether one name could be taken for a form of the other: user, users; Ann, Anne; cache,
    caching.
    """
    return (
        (concept(a) == concept(b) and a[:2] == b[:2])
        or b in (f"{a}s", f"{a}e")
        or a in (f"{b}s", f"{b}e")
    )


@lru_cache(maxsize=KEPT)
def _exact(text: str) -> list[str]:
    """The values in a text that have only one spelling: quoted ones, paths, flags and
    identifiers.
    """
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(text)]
    rest = _QUOTED.sub(" ", text)
    names = [match.strip(".") for match in _EXACT.findall(rest)]
    known = [
        name
        for name in names
        if not name.isalnum()
        or (name.lower() not in synonyms() and concept(name.lower()) not in contrasts())
    ]
    return [
        value.strip().rstrip("/")
        for value in (*quoted, *known)
        if value.strip("/ ") and len(value) <= MOST_QUOTED
    ]


def _stands_in(value: str, text: str, *, exact: bool = False) -> bool:
    """Whether a value stands in a text as a word of its own; letter case counts where `exact`, or
    it is no plain word.

    A flag is also told by its word: `--force` stands in "force-push".
    """
    if value.startswith("--") and re.search(
        rf"\b{re.escape(value.lstrip('-'))}\b", text, re.IGNORECASE
    ):
        return True
    plain = not exact and value.replace(" ", "").isalpha() and (value.islower() or value.istitle())
    return bool(
        re.search(
            rf"(?<![\w/.-]){re.escape(value.rstrip('/'))}(?!\w|-\w|/\w|\.\w)",
            text,
            re.IGNORECASE if plain else 0,
        )
    )


# Measures


def _remeasured(old: str, new: str) -> bool:
    """Whether two texts differ in one measure only: 5s and 5m, version 1.2 and 1.20."""
    a, b = ([word.strip(".,;:!?()") for word in text.lower().split()] for text in (old, new))
    differ = [i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y]
    if (
        len(a) != len(b)
        or len(differ) != 1
        or not (_MEASURED.match(a[differ[0]]) and _MEASURED.match(b[differ[0]]))
    ):
        return False
    i = differ[0]
    after = i > 0 and (a[i - 1] in ("version", "release") or bool(_AUXILIARY & set(a[:i])))
    return (
        after
        and read(old).verb not in map(concept, among("OPEN"))
        and value_at(a, i) != value_at(b, i)
    )


_AUXILIARY = frozenset(
    ("is", "are", "takes", "uses", "runs", "after", "to", "at", "every", "stays", "must", "be")
)


def _unclear(verdict: "Verdict", relation: str, why: str) -> "Verdict":
    """Something less, and not surer than a guess."""
    return verdict._replace(relation=relation, confidence=min(verdict.confidence, UNCLEAR), why=why)


def _list(words: Iterable[str]) -> str:
    return ", ".join(sorted(words)[:4])
