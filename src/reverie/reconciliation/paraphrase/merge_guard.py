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
    load_contrasts,
    load_light_concepts,
    load_synonyms,
    load_weak_concepts,
    load_words,
    read_value,
    to_concept,
)
from reverie.reconciliation.paraphrase.statement_parser import (
    LIGHT,
    MAX_CHARS,
    SUBJECT,
    read_statement,
)

if TYPE_CHECKING:
    from reverie.reconciliation.paraphrase.statement_comparison import Verdict

UNCLEAR_CONFIDENCE = 0.5  # below what lets anything step back unasked: a person is asked
MIN_SHARED_LETTERS = 4  # letters that two forms of a word must share at the beginning
MAX_NEW_WORDS = 2  # words of its own that a replacement may need to name the new value
MAX_QUOTED_CHARS = 60  # letters; a longer quotation is a sentence, and may be told in other words
CACHE_SIZE = 4_096  # readings kept, as many as `statement` keeps
# two that cannot concern each other, whatever they say: another day, another speaker
CERTAINLY_APART = 1.0

# What a number is said to be adds nothing to it: "at most 30 s" is the limit, the timeout, the
# rate.
NUMBER_NOUNS = (
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


class GivenUpParts(NamedTuple):
    """What a text gives up."""

    clauses: tuple[str, ...]  # limbs that say that something no longer holds
    names: tuple[str, ...]  # what it names as given up
    rest: tuple[str, ...]  # its other limbs, without these names


def guard_verdict(
    old: Memory, new: Memory, verdict: "Verdict", wordings: Sequence[str] = ()
) -> "Verdict":
    """The verdict, or a lower one where the texts do not bear it out; "updates" where the old value
    is given up.

    `wordings` are further texts by which `old` is known. Texts longer than what is read are left
    alone. A pure function of its arguments.
    """
    texts = (old.text, *wordings)
    if new.text in texts or any(len(text) > MAX_CHARS for text in (new.text, *texts)):
        return verdict
    if verdict.relation == "updates":
        return _check_update(texts, new.text, verdict)
    may_concern = verdict.relation != "apart" or verdict.confidence < CERTAINLY_APART
    if may_concern and _names_replacement(old.text, new.text):
        return verdict._replace(relation="updates", why="it says itself what it replaces")
    if verdict.relation == "same":
        return _check_repetition(texts, new, verdict)
    if (
        verdict.relation in ("near", "apart")
        and may_concern
        and _differs_in_measure(old.text, new.text)
    ):
        return verdict._replace(relation="contradicts", why="the same words with another measure")
    return verdict


# What is given up


@cache
def _change_concepts() -> frozenset[str]:
    """Concepts of words that only announce a change."""
    return frozenset(
        map(to_concept, (*load_words("CHANGES"), "forget", "scrap", "ignore", "exist"))
    )


@lru_cache(maxsize=CACHE_SIZE)
def find_given_up(text: str) -> GivenUpParts:
    """What a text gives up."""
    clauses, names, rest = [], [], []
    for limb in filter(str.strip, _LIMB.split(text)):
        told = read_statement(limb).changes
        patterns = (*_NAMED, _FROM) if told - {"FROMNOW"} else _NAMED
        names += [match[1].strip(" .!") for pattern in patterns for match in pattern.finditer(limb)]
        if told & _CLAUSES:
            clauses.append(limb)
        elif not _STARTS.match(limb):
            rest.append(_remove_given_up(limb, patterns))
    return GivenUpParts(tuple(clauses), tuple(filter(None, names)), tuple(rest))


def _remove_given_up(limb: str, patterns: Iterable[re.Pattern[str]]) -> str:
    """A limb without what it names as given up."""
    for pattern in patterns:
        limb = pattern.sub(" ", limb)
    return limb


def _contents_of(texts: Iterable[str]) -> frozenset[str]:
    """What these texts speak of."""
    return frozenset().union(*map(_content_of, texts))


@lru_cache(maxsize=CACHE_SIZE)
def _content_of(text: str) -> frozenset[str]:
    """What a text speaks of: concepts, bare numbers, and letters by which a thing is told from
    another.
    """
    numbers = {
        str(wording_tables.NUMBERS.get(word, word))
        for word in _NUMBERS.findall(text.lower())
        if word[0].isdigit() or word in wording_tables.NUMBERS
    }
    return (
        read_statement(text).affirmed
        | read_statement(text).denied
        | numbers
        | set(_LETTERED.findall(text))
    )


def _content_beyond(text: str, held: Collection[str]) -> frozenset[str]:
    """What a text speaks of beyond that, but for words that carry little."""
    own = _contents_of([text]) - load_weak_concepts() - _change_concepts()
    return frozenset(
        word
        for word in own
        if word not in held and not any(_is_word_form(word, other) for other in held)
    )


def _is_word_form(a: str, b: str) -> bool:
    """Whether two concepts are forms of one word."""
    a, b = ("".join(map(to_concept, word.removesuffix("()").split("-"))) for word in (a, b))
    if a == b:
        return True
    short, long = sorted((a, b), key=len)
    return (
        short.isalpha()
        and long.isalpha()
        and len(short) >= MIN_SHARED_LETTERS
        and len(long) - len(short) <= MIN_SHARED_LETTERS
        and long.startswith(short)
    )


def _is_affirmed(name: str, text: str) -> bool:
    """Whether a text says this, to the letter, and does not give it up itself."""
    given = find_given_up(text)
    return (
        bool(_contents_of([name]))
        and _stands_in_text(name, text)
        and not any(_stands_in_text(name, other) for other in (*given.names, *given.clauses))
        and not _contents_of([name]) & read_statement(text).denied
    )


# Updates


def _check_update(texts: Sequence[str], new: str, verdict: "Verdict") -> "Verdict":
    """An update, if what it gives up is what the old one says; else something less."""
    held, given = _contents_of(texts), find_given_up(new)
    for clause in given.clauses:
        if beyond := _content_beyond(clause, held):
            other = _content_beyond(texts[0], _contents_of([clause]))
            scoped = beyond <= _content_beyond(
                " ".join(match[0] for match in _SCOPED.finditer(clause)), held
            )
            relation = "apart" if other else "near" if scoped else "contradicts"
            return _lower_verdict(
                verdict, relation, f"what it gives up is something else: {_join_words(beyond)}"
            )
    for name in given.names:
        if not any(_is_affirmed(name, text) for text in texts) and _content_beyond(name, held):
            kept = not _content_beyond(texts[0], _contents_of([new]))
            return _lower_verdict(
                verdict, "near" if kept else "apart", f"what it gives up is something else: {name}"
            )
    if not given.clauses and (narrower := _find_narrowing(given.rest, texts, held)):
        return _lower_verdict(
            verdict,
            "contradicts" if given.names else "near",
            f"it speaks only of: {_join_words(narrower)}",
        )
    return verdict


def _find_narrowing(
    rest: Sequence[str], texts: Sequence[str], held: Collection[str]
) -> frozenset[str]:
    """By what the subject or the scope of a text is narrower than that of the old one."""
    found: set[str] = set()
    for limb in rest:
        subject = {
            w.concept for w in read_statement(limb).words if w.place == SUBJECT and w.sort != LIGHT
        }
        more = (subject & _content_beyond(limb, held)) - frozenset(
            map(to_concept, NUMBER_NOUNS.split())
        )
        found |= more if more != subject else set()
        for match in _SCOPED.finditer(limb):
            if not any(re.search(rf"\b{match[1]}\b", text, re.IGNORECASE) for text in texts):
                found |= _content_beyond(match[2], held)
    return frozenset(found)


def _names_replacement(old: str, new: str) -> bool:
    """Whether the new text names what the old one says as given up, says what holds instead, and
    nothing else.
    """
    given, reading = find_given_up(new), read_statement(new)
    if not (given.names or given.clauses):
        return False
    if (
        reading.is_question
        or reading.hedges
        or reading.is_truncated
        or read_statement(old).is_question
        or read_statement(old).is_ban
    ):
        return False
    named = (
        bool(given.names)
        and all(_is_affirmed(name, old) for name in given.names)
        and not given.clauses
    )
    denied = (
        len(given.clauses) == 1
        and not given.names
        and not (
            _content_beyond(given.clauses[0], _contents_of([old]))
            or _content_beyond(old, _contents_of(given.clauses))
        )
    )
    subjects = {
        w.concept
        for limb in given.rest
        for w in read_statement(limb).words
        if w.place == SUBJECT and w.sort != LIGHT
    }
    own = [word for limb in given.rest for word in _raw_words(limb) if word not in _raw_words(old)]
    return (
        (named or denied)
        and 0 < len(own) <= MAX_NEW_WORDS
        and not subjects - _contents_of([old]) - _change_concepts()
        and (denied or bool(_contents_of(given.rest) & _contents_of([old])))
        and not _find_narrowing(given.rest, [old], _contents_of([old]))
    )


def _raw_words(text: str) -> list[str]:
    """The words of a text as they stand there, without those that carry nothing."""
    words = (word.strip(".,;:!?()\"'`") for word in text.lower().split())
    return [
        word
        for word in words
        if word
        and to_concept(word) not in load_light_concepts()
        and word not in load_words("CHANGES")
    ]


# Repetitions


def _check_repetition(texts: Sequence[str], new: Memory, verdict: "Verdict") -> "Verdict":
    """The same, if values are equal to the letter, nothing is given up, and it is no correction in
    other words.
    """
    given = find_given_up(new.text)
    if any(
        _STARTS.match(limb) and not limb.lower().split()[0].startswith(("not", "and"))
        for limb in _LIMB.split(new.text)
    ) or any(_is_affirmed(name, texts[0]) for name in given.names):
        return _lower_verdict(verdict, "contradicts", "it gives something up")
    differ = [_compare_exact_values(text, new.text) for text in texts]
    if all(differ):
        return verdict._replace(
            relation="contradicts" if "swap" in differ else "near",
            why="the same, but for a value that must be equal to the letter",
        )
    words = [sorted(_plain_words(text)) for text in texts]
    if _NOW.search(new.text) and sorted(_plain_words(new.text)) not in words:
        return verdict._replace(relation="near", why="it tells how things are now")
    if new.provenance == "user_corrected" and not any(
        _plain_words(text) == _plain_words(new.text) for text in texts
    ):
        return verdict._replace(relation="near", why="a correction in other words is no repetition")
    return verdict


def _plain_words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case, without "now"."""
    return tuple(
        word for word in re.findall(r"[\w/.'-]*\w", text.lower()) if word not in ("now", "nowadays")
    )


def _compare_exact_values(old: str, new: str) -> str:
    """How values differ that must be equal to the letter: "swap" for one in the place of another,
    "more", or "".
    """
    mine = [value for value in _exact_values(old) if not _stands_in_text(value, new, exact=True)]
    theirs = [value for value in _exact_values(new) if not _stands_in_text(value, old, exact=True)]
    said = _SAID.findall(old), _SAID.findall(new)
    folded = any(
        a.lower() != b.lower() and _is_name_variant(a.lower(), b.lower())
        for a in said[0]
        for b in said[1]
    )
    folded |= any(v.lower() in new.lower() for v in mine) or any(
        v.lower() in old.lower() for v in theirs
    )
    if (mine and theirs) or folded:
        return "swap"
    return "more" if mine or theirs else ""


def _is_name_variant(a: str, b: str) -> bool:
    """Whether one name could be taken for a form of the other: user, users; Ann, Anne; cache,
    caching.
    """
    return (
        (to_concept(a) == to_concept(b) and a[:2] == b[:2])
        or b in (f"{a}s", f"{a}e")
        or a in (f"{b}s", f"{b}e")
    )


@lru_cache(maxsize=CACHE_SIZE)
def _exact_values(text: str) -> list[str]:
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
        or (
            name.lower() not in load_synonyms() and to_concept(name.lower()) not in load_contrasts()
        )
    ]
    return [
        value.strip().rstrip("/")
        for value in (*quoted, *known)
        if value.strip("/ ") and len(value) <= MAX_QUOTED_CHARS
    ]


def _stands_in_text(value: str, text: str, *, exact: bool = False) -> bool:
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


def _differs_in_measure(old: str, new: str) -> bool:
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
        and read_statement(old).verb not in map(to_concept, load_words("OPEN"))
        and read_value(a, i) != read_value(b, i)
    )


_AUXILIARY = frozenset(
    ("is", "are", "takes", "uses", "runs", "after", "to", "at", "every", "stays", "must", "be")
)


def _lower_verdict(verdict: "Verdict", relation: str, why: str) -> "Verdict":
    """Something less, and not surer than a guess."""
    return verdict._replace(
        relation=relation, confidence=min(verdict.confidence, UNCLEAR_CONFIDENCE), why=why
    )


def _join_words(words: Iterable[str]) -> str:
    return ", ".join(sorted(words)[:4])
