"""What a text says that something rests on, in the languages of `languages/<code>.toml`, section
`reason`: "tests need a container because we use Redis" rests on "we use Redis".

A language says how it ties a claim to its reason: with a clause behind a connector, at either end
of the sentence, with a thing ("due to the slow network"), or with a word between the two ("so").
What only tells when or to what end is no reason (`unless`). `gives_up` tells whether a text says of
a thing that it is left behind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from reverie.text.function_words import load_function_words
from reverie.text.learned_phrases import DENSE_SCRIPTS, list_codes
from reverie.text.own_sentences import split_sentences
from reverie.text.prompt_phrases import detect_scripts, load_language
from reverie.text.tokenization import STOP_WORDS

REASON = "reason"
# Reasons of one text that are looked at, and characters of a text in which they are looked for.
MAX_REASONS, MAX_CHARS = 4, 2_000
# Texts of which the reasons are kept: each memory is compared with many others.
CACHED_TEXTS = 5_000
# Words of a clause that can be a reason; letters in scripts that write none.
MIN_WORDS, MIN_DENSE_LETTERS = 2, 4
GAP = ".{0,60}?"
_NEVER = re.compile(r"(?!)")
_QUESTION = re.compile(r"[?？]\s*\Z")
_COMMA = re.compile(r"[,，、;；]\s*")
# A reason ends where something else begins.
_END = re.compile(r"\s*(?:[,，;；:：]\s|[,，;；]|\s[-–—]\s|\s\().*\Z")
_NAME = re.compile(
    r"`[^`]+`|\"[^\"]+\"|\w*\d[\w.,:/%+-]*|\w+(?:[_./:@#\\-]+\w+)+"
    r"|(?-i:[A-Z\u00c0-\u00de\u0410-\u042f][\w+#]*(?:\s+(?:[A-Z\u00c0-\u00de]\w*|\d[\w.]*))*)"
)
_DENSE_NAME = re.compile(r"[A-Za-z][\w.+#/-]*(?:\s+[A-Z\d][\w.]*)*|\d[\w.]*")


class StatedReason(NamedTuple):
    """A claim and what it is said to rest on."""

    claim: str
    ground: str
    is_clause: bool  # False: a thing, as in "due to the slow network"


class ReasonPhrases(NamedTuple):
    """How one language gives reasons, and says that something is over."""

    code: str
    scripts: frozenset[str]
    behind: re.Pattern[str]  # a connector within a sentence; the reason follows
    before: re.Pattern[str]  # a connector that begins the sentence
    hence: re.Pattern[str]  # what stands between a reason and the claim behind it
    unless: re.Pattern[str]
    ends: Sequence[str]  # with X for what is given up
    now: re.Pattern[str]
    verb_last: re.Pattern[str]  # connectors behind which the verb stands last


@lru_cache(maxsize=CACHED_TEXTS)
def find_stated_reasons(text: str) -> tuple[StatedReason, ...]:
    """The claims of a text that it gives a reason for, with their reasons, in order."""
    found: list[StatedReason] = []
    last = ""
    for line in text[:MAX_CHARS].splitlines():
        for sentence in split_sentences(line):
            if not _QUESTION.search(sentence):
                found += find_in_sentence(sentence, last)
            last = sentence
    return tuple(found[:MAX_REASONS])


def find_claim(text: str, *, by_clause: bool = False) -> str:
    """A text without its reason, if it gives one; `by_clause` only if that is a clause: behind a
    thing more may be said.
    """
    found = find_stated_reasons(text)
    is_one = len(found) == 1 and (found[0].is_clause or not by_clause)
    return found[0].claim if is_one else text


def find_in_sentence(sentence: str, before: str = "") -> list[StatedReason]:
    """The reasons of one sentence; `before` is the sentence that stood before it."""
    plain = sentence.strip().rstrip(".!。！")
    for phrases in iterate_reason_phrases(plain):
        if phrases.unless.search(plain):
            continue
        found = (
            split_at_beginning(plain, phrases)
            or split_within(plain, phrases)
            or split_at_consequence(plain, before, phrases)
        )
        if found:
            return [found]
    return []


def split_at_beginning(sentence: str, phrases: ReasonPhrases) -> StatedReason | None:
    """The reason that a sentence begins with: "since we use Redis, tests need a container"."""
    connector = phrases.before.match(sentence)
    if connector is None:
        return None
    rest = sentence[connector.end() :]
    is_clause = connector.lastgroup != "noun"
    for comma in _COMMA.finditer(rest):
        claim = phrases.hence.sub("", rest[comma.end() :], count=1)
        if is_reason(rest[: comma.start()], is_clause=is_clause) and len(claim) > MIN_DENSE_LETTERS:
            return build_reason(claim, rest[: comma.start()], connector, phrases)
    # "Wegen Jenkins liegen die Skripte …": no comma says where the thing ends, so a name does.
    name = None if is_clause else re.match(rf"(?:\w+\s+){{0,2}}?(?:{_NAME.pattern})", rest)
    if name is None:
        return None
    return StatedReason(rest[name.end() :].strip(), name[0].strip(), is_clause=False)


def split_within(sentence: str, phrases: ReasonPhrases) -> StatedReason | None:
    """The reason that follows its claim: "tests need a container because we use Redis"."""
    for connector in phrases.behind.finditer(sentence):
        claim = sentence[: connector.start()].rstrip(" ,，;；-–—")
        ground = _END.sub("", sentence[connector.end() :])
        if len(claim) > MIN_DENSE_LETTERS and is_reason(
            ground, is_clause=connector.lastgroup != "noun"
        ):
            return build_reason(claim, ground, connector, phrases)
    return None


def split_at_consequence(sentence: str, before: str, phrases: ReasonPhrases) -> StatedReason | None:
    """The reason before a consequence: "we use Redis, so tests need a container"; it may be the
    sentence before.
    """
    mark = phrases.hence.search(sentence)
    if mark is None:
        return None
    ground = sentence[: mark.start()].strip(" ,，;；-–—") or before.strip().rstrip(".!。！")
    claim = sentence[mark.end() :].strip(" ,，")
    if not is_reason(ground, is_clause=True) or len(claim) <= MIN_DENSE_LETTERS:
        return None
    return StatedReason(claim, ground, is_clause=True)


def build_reason(
    claim: str, ground: str, connector: re.Match[str], phrases: ReasonPhrases
) -> StatedReason:
    """A claim with its reason, put as a sentence of its own would be."""
    ground = ground.strip(" ,，")
    if phrases.verb_last.fullmatch(connector[0].strip(" ,")):
        ground = move_verb(ground)
    return StatedReason(claim.strip(" ,，"), ground, connector.lastgroup != "noun")


def move_verb(clause: str) -> str:
    """A German subordinate clause in the order of a main clause: its verb, behind the subject."""
    words = clause.split()
    if len(words) < MIN_WORDS:
        return clause
    # The subject is a pronoun, or ends with the first noun or name.
    size = next((place for place, word in enumerate(words) if word[:1].isupper()), 0) + 1
    size = min(1 if words[0].islower() and words[0] in _SUBJECTS else size, len(words) - 1)
    return " ".join((*words[:size], words[-1], *words[size:-1]))


_SUBJECTS = frozenset(("wir", "ich", "er", "sie", "es", "man", "das", "dies", "ihr", "du"))


def is_reason(ground: str, *, is_clause: bool) -> bool:
    """True if a part of a sentence says enough to be what something rests on."""
    if not is_clause:
        return bool(ground.strip())
    if is_dense(ground):
        return len(ground) >= MIN_DENSE_LETTERS
    return len(ground.split()) >= MIN_WORDS


def is_dense(text: str) -> bool:
    """True if a text is in a script that writes no spaces between words."""
    return not detect_scripts(text).isdisjoint(DENSE_SCRIPTS)


def gives_up(text: str, names: Sequence[str]) -> bool:
    """True if a text says that one of these things is used no longer, in words of its language."""
    named = [name for name in names if name.casefold() in text.casefold()]
    if not named:
        return False
    return any(
        found is not None and not qualifies_another(text, found)
        for phrases in iterate_reason_phrases(text)
        for name in named
        for pattern in compile_endings(phrases.code, name)
        for found in (pattern.search(text),)
    )


def qualifies_another(text: str, found: re.Match[str]) -> bool:
    """True if a name only says which other thing is meant: "the Redis stickers", "the book on Redis
    is gone".
    """
    if found.start("name") == found.start():
        clause = re.split(r"[,;:.!?–—]\s", text[: found.start()])[-1]
        if not load_joining_words().issuperset(re.findall(r"[^\W\d_]+", clause.casefold())):
            return True
    following = re.match(r" ([^\W\d_]+)", text[found.end("name") :])
    if found.end("name") < found.end() or following is None:
        return False
    return following[1].islower() and following[1] not in load_joining_words()


@lru_cache(maxsize=1)
def load_joining_words() -> frozenset[str]:
    """The function words of all languages: what may follow a name that stands for itself."""
    return STOP_WORDS.union(*load_function_words().values())


def says_now(text: str) -> bool:
    """True if a text says that something is so from here on."""
    return any(phrases.now.search(text) for phrases in iterate_reason_phrases(text))


def remove_now(text: str) -> str:
    """A text without the words that say that it is so from here on."""
    for phrases in iterate_reason_phrases(text):
        text = phrases.now.sub(" ", text)
    return text


def find_names(text: str) -> list[str]:
    """What a text names: names, numbers, identifiers, and what follows a capital that may only
    begin the sentence.
    """
    if is_dense(text):
        return list(dict.fromkeys(found[0] for found in _DENSE_NAME.finditer(text)))
    found: list[str] = []
    for match in _NAME.finditer(text):
        name = match[0].strip("`\"'.,:;")
        found += [name, *([name.partition(" ")[2]] if " " in name else [])]
    joining = load_joining_words()
    return [
        name
        for name in dict.fromkeys(found)
        if (len(name) > 1 or name.isdigit()) and (name.isupper() or name.casefold() not in joining)
    ]


def iterate_reason_phrases(sentence: str) -> Iterator[ReasonPhrases]:
    """How reasons are given in the languages that a sentence may be in."""
    return filter(None, map(load_reason_phrases, list_codes(sentence)))


@lru_cache
def load_reason_phrases(code: str) -> ReasonPhrases | None:
    """The reasons of a language; None if its file says nothing of them."""
    data = load_language(code)
    section: Mapping[str, Any] = data.get(REASON, {})
    if not section:
        return None
    clause, noun, lead, hence = (
        "|".join(map(to_pattern, section.get(name, ())))
        for name in ("clause", "noun", "lead", "hence")
    )
    behind = f"(?P<clause>{clause})" + (f"|(?P<noun>{noun})" if noun else "")
    first = f"(?P<clause>{'|'.join(filter(None, (clause, lead)))})" + (
        f"|(?P<noun>{noun})" if noun else ""
    )
    is_spaced = not DENSE_SCRIPTS & set(data["scripts"])
    # A consequence begins behind a comma, or begins the sentence.
    between = r"(?:(?<=[,;–—] )|(?<=\band )|\A)" if is_spaced else ""
    last = "|".join(map(to_pattern, section.get("clause", ()) if section.get("verb_last") else ()))
    last = last.replace("denn|", "", 1)

    def compile_all(name: str) -> re.Pattern[str]:
        return compile_words("|".join(map(to_pattern, section.get(name, ()))))

    return ReasonPhrases(
        code,
        frozenset(data["scripts"]),
        compile_words(noun_first(behind)),
        re.compile(rf"\W*(?:{noun_first(first)})(?!\w)\s*" if is_spaced else first, re.IGNORECASE),
        re.compile(f"{between}(?:{hence})" + (r"(?!\w),?\s*" if is_spaced else ""), re.IGNORECASE),
        compile_all("unless"),
        tuple(section.get("ends", ())),
        compile_all("now"),
        compile_words(last),
    )


def noun_first(pattern: str) -> str:
    """A pattern whose things are tried before its clauses: "because of" before "because"."""
    clause, mark, noun = pattern.partition("|(?P<noun>")
    return f"(?P<noun>{noun}|{clause}" if mark else pattern


def compile_words(pattern: str) -> re.Pattern[str]:
    """A pattern of whole words, in any case; of scripts without spaces anywhere."""
    if not pattern:
        return _NEVER
    if re.search("[\u3040-\u9fff\uac00-\ud7a3]", pattern):
        return re.compile(pattern, re.IGNORECASE)
    return re.compile(rf"(?<![\w'])(?:{pattern})(?:(?<=')|(?![\w']))", re.IGNORECASE)


def to_pattern(phrase: str) -> str:
    """A phrase of the section as a regular expression: "_" is a word, "…" a gap."""
    body = re.sub(r"\((?!\?)", "(?:", phrase).replace("…", GAP)
    return re.sub(r"(?<!\\)_", r"[\\w'-]+", body)


@lru_cache(maxsize=500)
def compile_endings(code: str, name: str) -> tuple[re.Pattern[str], ...]:
    """How one language says that a thing is used no longer."""
    phrases = load_reason_phrases(code)
    assert phrases is not None
    # Of scripts without spaces only Latin letters could go on with a name.
    more = "A-Za-z0-9_-" if phrases.scripts & DENSE_SCRIPTS else r"\w-"
    escaped = f"(?P<name>{re.escape(name)})(?![{more}])"
    return tuple(compile_words(to_pattern(phrase).replace("X", escaped)) for phrase in phrases.ends)
