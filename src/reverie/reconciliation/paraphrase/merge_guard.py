"""A last look at a verdict: is what the new text gives up what the old memory says?

`compare_memories` decides by what two texts share; this module reads the new one for what it gives
up ("no longer …", "instead of …", "forget …", ", not …") and for values that must be the same to
the letter (quoted, paths, identifiers, what something is called), and lowers a verdict that these
do not bear out. Only one thing is raised: a text that names the old memory's own value as given up,
and speaks of nothing else, replaces it.

Always true: nothing raises, the confidence never grows, and two texts that are equal stay what they
were.

We would notice it going wrong in `python -m bench.reconcile`: its pairs of corrections that are
about something else.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.model import Memory
from reverie.reconciliation.paraphrase.concept_vocabulary import (
    LIGHT_CONCEPTS,
    WEAK_CONCEPTS,
    Concepts,
    format_concepts,
    has_common_start,
    load_concepts,
    load_contrasts,
    load_number_words,
    load_synonyms,
    load_words,
    read_value,
    to_concept,
)
from reverie.reconciliation.paraphrase.similarity_features import OPEN_VERBS
from reverie.reconciliation.paraphrase.statement_parser import (
    LIGHT,
    MAX_CHARS,
    SUBJECT,
    read_statement,
)
from reverie.text.stated_reasons import find_claim

if TYPE_CHECKING:
    from reverie.reconciliation.paraphrase.statement_comparison import Verdict

# Below what lets anything be retired unasked: a person is asked.
UNCLEAR_CONFIDENCE = 0.5
# Words of its own that a replacement may need to name the new value.
MAX_NEW_WORDS = 2
# A longer quotation is a sentence, and may be told in other words.
MAX_QUOTED_CHARS = 60
# Readings kept.
CACHE_SIZE = 4_096
# The confidence of two that cannot concern each other, whatever they say: another day, another
# speaker.
CERTAINLY_APART = 1.0

# What a number is said to be adds nothing to it: "at most 30 s" is the limit, the timeout, the
# rate.
NUMBER_NOUNS = frozenset(
    map(
        to_concept,
        [
            "limit",
            "threshold",
            "timeout",
            "rate",
            "minimum",
            "maximum",
            "length",
            "long",
            "size",
            "number",
            "count",
            "time",
            "retention",
        ],
    )
)
# Concepts of words that only announce a change.
CHANGE_CONCEPTS = load_concepts("CHANGES").union(
    map(to_concept, ("forget", "scrap", "ignore", "exist"))
)

_LIMB = re.compile(r"[,;:](?=\s)|[!?()—–\n]|\.(?=\s|$)|\b(?:but|because|since)\b", re.IGNORECASE)
_CLAUSES = frozenset(("NOLONGER", "USEDTO", "GONE", "stop", "stopped", "retired"))
_LEADING = r"(?:(?:in|on|by|with|at|from|to|the|a|an|using)\s+)*"
_END = (
    r"(?=\s+(?:to|in|into|for|during|is|are|must|should|can|may|has|have|will|on|when|from|now|"
    r"these)\b|\s*$)"
)
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
    old: Memory,
    new: Memory,
    verdict: "Verdict",
    wordings: Sequence[str] = (),
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
    is_certain = verdict.relation == "apart" and verdict.confidence >= CERTAINLY_APART
    if not is_certain and _names_replacement(old.text, new.text):
        return verdict._replace(relation="updates", why="it says itself what it replaces")
    if verdict.relation == "same":
        return _check_repetition(texts, new, verdict)
    is_other = verdict.relation in ("near", "apart") and not is_certain
    if is_other and _differs_in_measure(old.text, new.text):
        return verdict._replace(relation="contradicts", why="the same words with another measure")
    return verdict


# What is given up


@lru_cache(maxsize=CACHE_SIZE)
def find_given_up(text: str) -> GivenUpParts:
    """What a text gives up."""
    clauses, names, rest = [], [], []
    for limb in filter(str.strip, _LIMB.split(text)):
        changes = read_statement(limb).changes
        # "From … to …" names what is left only where the limb tells of a change.
        patterns = (*_NAMED, _FROM) if changes - {"FROMNOW"} else _NAMED
        for pattern in patterns:
            names += [match[1].strip(" .!") for match in pattern.finditer(limb)]
        if changes & _CLAUSES:
            clauses.append(limb)
        elif not _STARTS.match(limb):
            left = limb
            for pattern in patterns:
                left = pattern.sub(" ", left)
            rest.append(left)
    return GivenUpParts(
        tuple(clauses),
        tuple(filter(None, names)),
        tuple(rest),
    )


def _contents_of(texts: Iterable[str]) -> Concepts:
    """What these texts speak of."""
    return Concepts().union(*map(_content_of, texts))


@lru_cache(maxsize=CACHE_SIZE)
def _content_of(text: str) -> Concepts:
    """What a text speaks of: concepts, bare numbers, and letters that tell a thing from another."""
    known = load_number_words()
    words = _NUMBERS.findall(text.lower())
    digits = {word for word in words if word[0].isdigit()}
    numbers = {str(known[word]) for word in words if word in known}
    letters = set(_LETTERED.findall(text))
    return read_statement(text).concepts | digits | numbers | letters


def _content_beyond(text: str, held: Concepts) -> Concepts:
    """What a text speaks of beyond `held`, but for words that carry little."""
    own = _content_of(text) - WEAK_CONCEPTS - CHANGE_CONCEPTS - held
    return frozenset(word for word in own if not any(_is_same_word(word, one) for one in held))


def _is_same_word(a: str, b: str) -> bool:
    """True if two concepts are forms of one word, hyphens and call brackets apart."""
    a, b = _to_plain_form(a), _to_plain_form(b)
    return a == b or has_common_start(a, b)


def _to_plain_form(word: str) -> str:
    return "".join(map(to_concept, word.removesuffix("()").split("-")))


def _is_affirmed(name: str, text: str) -> bool:
    """True if a text says this, to the letter, and does not give it up itself."""
    content = _content_of(name)
    given = find_given_up(text)
    return (
        bool(content)
        and _stands_in_text(name, text)
        and not any(_stands_in_text(name, other) for other in (*given.names, *given.clauses))
        and not content & read_statement(text).denied
    )


# Updates


def _check_update(
    texts: Sequence[str],
    new: str,
    verdict: "Verdict",
) -> "Verdict":
    """An update, if what it gives up is what the old one says; else something less."""
    held, given = _contents_of(texts), find_given_up(new)
    for clause in given.clauses:
        if beyond := _content_beyond(clause, held):
            relation = _relate_other_clause(clause, beyond, texts[0], held)
            why = f"what it gives up is something else: {format_concepts(beyond)}"
            return _lower_verdict(verdict, relation, why)
    for name in given.names:
        if not any(_is_affirmed(name, text) for text in texts) and _content_beyond(name, held):
            says_all = not _content_beyond(texts[0], _content_of(new))
            why = f"what it gives up is something else: {name}"
            return _lower_verdict(verdict, "near" if says_all else "apart", why)
    narrower = frozenset() if given.clauses else _find_narrowing(given.rest, texts, held)
    if not narrower:
        return verdict
    relation = "contradicts" if given.names else "near"
    return _lower_verdict(verdict, relation, f"it speaks only of: {format_concepts(narrower)}")


def _relate_other_clause(
    clause: str,
    beyond: Concepts,
    old: str,
    held: Concepts,
) -> str:
    """What a text is to the old one if a clause of it gives up something more (`beyond`)."""
    if _content_beyond(old, _content_of(clause)):
        return "apart"
    scopes = " ".join(match[0] for match in _SCOPED.finditer(clause))
    return "near" if beyond <= _content_beyond(scopes, held) else "contradicts"


def _find_narrowing(
    rest: Sequence[str],
    texts: Sequence[str],
    held: Concepts,
) -> Concepts:
    """By what the subject or the scope of a text is narrower than that of the old one."""
    found: set[str] = set()
    for limb in rest:
        subjects = _subjects_of(limb)
        more = (subjects & _content_beyond(limb, held)) - NUMBER_NOUNS
        # A subject that is new as a whole narrows nothing.
        if more != subjects:
            found |= more
        for match in _SCOPED.finditer(limb):
            if not any(re.search(rf"\b{match[1]}\b", text, re.IGNORECASE) for text in texts):
                found |= _content_beyond(match[2], held)
    return frozenset(found)


def _subjects_of(limb: str) -> Concepts:
    words = read_statement(limb).words
    return frozenset(word.concept for word in words if word.place == SUBJECT and word.sort != LIGHT)


def _names_replacement(old: str, new: str) -> bool:
    """True if the new text names what the old one says as given up, says what holds instead, and
    nothing else.
    """
    given = find_given_up(new)
    if not (given.names or given.clauses) or not _may_replace(old, new):
        return False
    held = _content_of(old)
    if not _denies_all(given, old):
        named = not given.clauses and all(_is_affirmed(name, old) for name in given.names)
        if not named or held.isdisjoint(_contents_of(given.rest)):
            return False
    subjects = Concepts().union(*map(_subjects_of, given.rest))
    return (
        0 < _count_new_words(given.rest, old) <= MAX_NEW_WORDS
        and not subjects - held - CHANGE_CONCEPTS
        and not _find_narrowing(given.rest, [old], held)
    )


def _may_replace(old: str, new: str) -> bool:
    """True if one text states something, and the other says for sure what holds."""
    known, reading = read_statement(old), read_statement(new)
    if known.is_question or known.is_ban:
        return False
    return not (reading.is_question or reading.hedges or reading.is_truncated)


def _count_new_words(limbs: Iterable[str], old: str) -> int:
    """How many words of these limbs the old text has not."""
    known = _raw_words(old)
    return sum(word not in known for limb in limbs for word in _raw_words(limb))


def _denies_all(given: GivenUpParts, old: str) -> bool:
    """True if the one clause that gives something up says no more and no less than the old text."""
    if len(given.clauses) != 1 or given.names:
        return False
    clause = given.clauses[0]
    beyond = _content_beyond(clause, _content_of(old))
    return not (beyond or _content_beyond(old, _content_of(clause)))


def _raw_words(text: str) -> list[str]:
    """The words of a text as they stand there, without those that carry nothing."""
    words = [word.strip(".,;:!?()\"'`") for word in text.lower().split()]
    empty = {"", *load_words("CHANGES")}
    return [word for word in words if word not in empty and to_concept(word) not in LIGHT_CONCEPTS]


# Repetitions


def _check_repetition(
    texts: Sequence[str],
    new: Memory,
    verdict: "Verdict",
) -> "Verdict":
    """The same, if values are equal to the letter, nothing is given up, and it is no correction in
    other words.
    """
    names = find_given_up(new.text).names
    if _drops_something(new.text) or any(_is_affirmed(name, texts[0]) for name in names):
        return _lower_verdict(verdict, "contradicts", "it gives something up")
    differ = [_compare_exact_values(text, new.text) for text in texts]
    if all(differ):
        return verdict._replace(
            relation="contradicts" if "swap" in differ else "near",
            why="the same, but for a value that must be equal to the letter",
        )
    plain = _plain_words(new.text)
    known = [_plain_words(text) for text in texts]
    if _NOW.search(new.text) and sorted(plain) not in map(sorted, known):
        return verdict._replace(relation="near", why="it tells how things are now")
    inserts = any(holds_in_order(plain, words) and plain != words for words in known)
    # A reason is kept with what it is given for; all else that was put in says more, or of less.
    if inserts and (more := _content_beyond(find_claim(new.text), _contents_of(texts))):
        return verdict._replace(relation="near", why=f"the new one adds {format_concepts(more)}")
    if new.provenance == "user_corrected" and plain not in known:
        return verdict._replace(relation="near", why="a correction in other words is no repetition")
    return verdict


def holds_in_order(words: Sequence[str], others: Iterable[str]) -> bool:
    """True if the others are among the words, in their order."""
    left = iter(words)
    return all(other in left for other in others)


def _drops_something(text: str) -> bool:
    """True if a limb says forget, scrap, drop …; a "not" or "and" at its beginning says less."""
    limbs = filter(_STARTS.match, _LIMB.split(text))
    return any(not limb.lower().split()[0].startswith(("not", "and")) for limb in limbs)


def _plain_words(text: str) -> tuple[str, ...]:
    """The words of a text in lower case, without "now"."""
    return tuple(
        word
        for word in re.findall(
            r"[\w/.'-]*\w",
            text.lower(),
        )
        if word not in ("now", "nowadays")
    )


def _compare_exact_values(old: str, new: str) -> str:
    """How values differ that must be equal to the letter: "swap" for one in the place of another,
    "more", or "".
    """
    gone = [value for value in _exact_values(old) if not _stands_in_text(value, new, exact=True)]
    come = [value for value in _exact_values(new) if not _stands_in_text(value, old, exact=True)]
    if (gone and come) or _holds_in_other_case(gone, new) or _holds_in_other_case(come, old):
        return "swap"
    if _has_name_variant(old, new):
        return "swap"
    return "more" if gone or come else ""


def _holds_in_other_case(values: Iterable[str], text: str) -> bool:
    """True if one of these values stands in a text with other capitals."""
    return any(value.lower() in text.lower() for value in values)


def _has_name_variant(old: str, new: str) -> bool:
    """True if what something is called differs by a letter or two: Ann, Anne."""
    old_names = [name.lower() for name in _SAID.findall(old)]
    new_names = [name.lower() for name in _SAID.findall(new)]
    return any(a != b and _is_name_variant(a, b) for a in old_names for b in new_names)


def _is_name_variant(a: str, b: str) -> bool:
    """True if one name could be taken for a form of the other: user, users; Ann, Anne; cache,
    caching.
    """
    return (
        (to_concept(a) == to_concept(b) and a[:2] == b[:2])
        or b in (f"{a}s", f"{a}e")
        or a in (f"{b}s", f"{b}e")
    )


@lru_cache(maxsize=CACHE_SIZE)
def _exact_values(text: str) -> list[str]:
    """The values in a text that have only one spelling: quoted ones, paths, flags, identifiers."""
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(text)]
    names = [match.strip(".") for match in _EXACT.findall(_QUOTED.sub(" ", text))]
    values = [*quoted, *(name for name in names if not _is_known_word(name))]
    return [
        value.strip().rstrip("/")
        for value in values
        if value.strip("/ ") and len(value) <= MAX_QUOTED_CHARS
    ]


def _is_known_word(name: str) -> bool:
    """True for a plain word with a synonym or an alternative, such as JavaScript."""
    low = name.lower()
    return name.isalnum() and (low in load_synonyms() or to_concept(low) in load_contrasts())


def _stands_in_text(
    value: str,
    text: str,
    *,
    exact: bool = False,
) -> bool:
    """True if a value stands in a text as a word of its own.

    Letter case counts where `exact`, or it is no plain word. A flag is also told by its word:
    `--force` stands in "force-push".
    """
    if value.startswith("--"):
        flag = re.escape(value.lstrip("-"))
        if re.search(rf"\b{flag}\b", text, re.IGNORECASE):
            return True
    is_plain = value.replace(" ", "").isalpha() and (value.islower() or value.istitle())
    flags = re.IGNORECASE if is_plain and not exact else 0
    pattern = rf"(?<![\w/.-]){re.escape(value.rstrip('/'))}(?!\w|-\w|/\w|\.\w)"
    return bool(re.search(pattern, text, flags))


# Measures


def _differs_in_measure(old: str, new: str) -> bool:
    """True if two texts differ in one measure only: 5s and 5m, version 1.2 and 1.20."""
    mine, theirs = _split_words(old), _split_words(new)
    if len(mine) != len(theirs):
        return False
    differ = [i for i, (a, b) in enumerate(zip(mine, theirs, strict=True)) if a != b]
    if len(differ) != 1:
        return False
    i = differ[0]
    if not (_MEASURED.match(mine[i]) and _MEASURED.match(theirs[i])):
        return False
    return (
        _is_value_place(mine, i)
        and read_statement(old).verb not in OPEN_VERBS
        and read_value(mine, i) != read_value(theirs, i)
    )


def _split_words(text: str) -> list[str]:
    return [word.strip(".,;:!?()") for word in text.lower().split()]


def _is_value_place(words: Sequence[str], i: int) -> bool:
    """True if a number at this place is what something is: behind "version", or a verb."""
    if not i:
        return False
    return words[i - 1] in ("version", "release") or not _AUXILIARY.isdisjoint(words[:i])


_AUXILIARY = frozenset(
    ("is", "are", "takes", "uses", "runs", "after", "to", "at", "every", "stays", "must", "be")
)


def _lower_verdict(
    verdict: "Verdict",
    relation: str,
    why: str,
) -> "Verdict":
    """Something less, and not surer than a guess."""
    return verdict._replace(
        relation=relation,
        confidence=min(verdict.confidence, UNCLEAR_CONFIDENCE),
        why=why,
    )
