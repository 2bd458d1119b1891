"""How people say what is worth keeping, in the languages of `languages/<code>.toml`.

A sentence is held against the sections of STATEMENTS, in this order; the first of which a phrase
fits names what the sentence is. What a file counts among `passing` (a question, a supposition,
venting, for once) is nothing to be kept. English has rules of its own, in `extraction_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from reverie.text.prompt_phrases import (
    detect_scripts,
    list_languages,
    load_language,
    to_expression,
)

STATEMENTS = (
    "correction",
    "prohibition",
    "rule",
    "preference",
    "decision",
    "environment",
    "root_cause",
)
"""What a sentence to be kept may be."""
PASSING = "passing"
# A short wish for how things are done, and words that forbid.
STANDING, AGAINST = "standing", "against"
# How an agent concludes or proposes something, and how a user says that it is so.
CONCLUSION, HEDGES, CONFIRMS, REFUTES = "conclusion", "hedges", "confirms", "refutes"
PROPOSAL, ACCEPTS = "proposal", "accepts"
# Characters of a conclusion or proposal of an agent's.
MAX_CONCLUSION_CHARS = 320
# Characters of a sentence by which a user says that something is so.
MAX_CONFIRMING_CHARS = 120
LISTS = {AGAINST: STANDING, HEDGES: CONCLUSION, REFUTES: CONFIRMS, ACCEPTS: "approval"}
"""Lists of phrases within a section: list → section."""
DENSE_SCRIPTS = frozenset({"han", "kana", "hangul"})
# Characters of a sentence that somebody says rather than pastes; Han, kana and Hangul say the same
# in fewer.
MIN_CHARS, MAX_CHARS = 12, 240
MIN_DENSE_CHARS, MAX_DENSE_CHARS = 5, 140
FEW_WORDS = 2
NEVER = re.compile(r"(?!)")
_QUESTION = re.compile(r"[?？؟][\s\W]*\Z|\A\W*¿")


class LearnedPhrases(NamedTuple):
    """The phrases of one language, by section."""

    scripts: frozenset[str]
    sections: Mapping[str, re.Pattern[str]]


def classify_statement(sentence: str) -> str:
    """Which of STATEMENTS a sentence is in any language, PASSING, or "" where no phrase fits."""
    scripts = detect_scripts(sentence)
    dense = scripts & DENSE_SCRIPTS
    shortest, longest = (MIN_DENSE_CHARS, MAX_DENSE_CHARS) if dense else (MIN_CHARS, MAX_CHARS)
    if not shortest <= len(sentence) <= longest:
        return ""
    plain = sentence if _QUESTION.search(sentence) else sentence.rstrip(" .!。！")
    found = (find_section(phrases, plain) for phrases in iterate_languages(sentence))
    return next(filter(None, found), "")


def is_standing_wish(clause: str) -> bool:
    """True if a clause, short as it may be, is a wish for how things are done.

    One such wish is of the moment more often than not: it is a rule if it is said again in other
    sessions.
    """
    if len(clause) > MAX_CHARS or _QUESTION.search(clause):
        return False
    for phrases in iterate_languages(clause):
        if phrases.sections[STANDING].search(clause):
            return not phrases.sections[PASSING].search(clause)
    return False


def forbids_something(clause: str) -> bool:
    """True if a wish is against something, by the words of its language."""
    return fits_section(clause, AGAINST)


def is_conclusion(sentence: str) -> bool:
    """True if an agent says with it, without a doubt, what the cause of something is."""
    return is_said_plainly(sentence, CONCLUSION) and not fits_section(sentence, HEDGES)


def is_proposal(sentence: str) -> bool:
    """True if an agent proposes with it how something be done."""
    return is_said_plainly(sentence, PROPOSAL, may_ask=True)


def is_said_plainly(sentence: str, section: str, *, may_ask: bool = False) -> bool:
    """True if a sentence of usual length fits a section."""
    shortest = MIN_DENSE_CHARS if detect_scripts(sentence) & DENSE_SCRIPTS else MIN_CHARS
    if not shortest <= len(sentence) <= MAX_CONCLUSION_CHARS:
        return False
    return (may_ask or not _QUESTION.search(sentence)) and fits_section(sentence, section)


def confirms_something(sentence: str) -> bool:
    """True if a user says with it that something is so, or works now."""
    if len(sentence) > MAX_CONFIRMING_CHARS or _QUESTION.search(sentence):
        return False
    return any(
        phrases.sections[CONFIRMS].search(sentence)
        and not phrases.sections[REFUTES].search(sentence)
        for phrases in iterate_languages(sentence)
    )


def accepts_something(message: str) -> bool:
    """True if a whole message only accepts what was proposed."""
    bare = message.strip(" \t\n.,!。！、~👍")
    return any(phrases.sections[ACCEPTS].fullmatch(bare) for phrases in iterate_languages(bare))


def fits_section(sentence: str, name: str) -> bool:
    """True if a phrase of a section occurs in a sentence, in any language that it may be in."""
    return any(phrases.sections[name].search(sentence) for phrases in iterate_languages(sentence))


def remove_forbidding(clause: str) -> str:
    """A clause without the words that forbid."""
    for phrases in iterate_languages(clause):
        clause = phrases.sections[AGAINST].sub("", clause)
    return clause


def iterate_languages(sentence: str) -> Iterator[LearnedPhrases]:
    """The phrases of the languages that a sentence may be in."""
    scripts = detect_scripts(sentence)
    # A sentence with kana is not Chinese; Latin letters occur in sentences of every script.
    written = scripts - {"latin"} or scripts
    for code in choose_languages(sentence) if written == {"latin"} else list_languages():
        phrases = load_learned_phrases(code)
        if written and written <= phrases.scripts:
            yield phrases


def choose_languages(sentence: str) -> tuple[str, ...]:
    """The languages in Latin letters whose commonest words a sentence has most of."""
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", sentence.lower())
    counts = {
        code: sum(word in common for word in words)
        for code in list_languages()
        if (common := load_language(code).get("common_words"))
    }
    most = max(counts.values(), default=0)
    # Two words of a short sentence are often common in several languages.
    enough = most - 1 if most <= FEW_WORDS else most
    return tuple(code for code, count in counts.items() if count >= enough)


def find_section(phrases: LearnedPhrases, sentence: str) -> str:
    """The section of one language that a sentence fits; PASSING where that fits too."""
    for name in STATEMENTS:
        if not phrases.sections[name].search(sentence):
            continue
        if _QUESTION.search(sentence) or phrases.sections[PASSING].search(sentence):
            return PASSING
        return name
    return ""


class _Sections(dict[str, re.Pattern[str]]):
    """The sections of a language file as expressions, each compiled when it is first asked for."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        super().__init__()
        self._data = data

    def __missing__(self, name: str) -> re.Pattern[str]:
        within = LISTS.get(name)
        section = self._data.get(within or name, {})
        # What a file says nothing of fits nothing.
        phrases = {"contains": section.get(name, ())} if within else section
        self[name] = compile_statements(phrases)
        return self[name]


@lru_cache
def load_learned_phrases(code: str) -> LearnedPhrases:
    """The phrases of a language for what is worth keeping."""
    data = load_language(code)
    return LearnedPhrases(frozenset(data["scripts"]), _Sections(data))


def compile_statements(section: Mapping[str, list[str]]) -> re.Pattern[str]:
    """One expression for all phrases of a section; `begins` counts after a comma too.

    A gap between two words may be empty here.
    """

    def compile_all(field: str) -> list[str]:
        return [to_expression(phrase.replace(" … ", " (… |)")) for phrase in section.get(field, ())]

    begins = [rf"(?:\A|[,;:.!，、；：]\s*)\W*{phrase}" for phrase in compile_all("begins")]
    phrases = (*begins, *compile_all("contains"))
    return re.compile("|".join(phrases), re.IGNORECASE) if phrases else NEVER


@lru_cache
def load_words(name: str) -> tuple[str, ...]:
    """The words of all languages in a list of that name, the longest first."""
    words = {word for code in list_languages() for word in load_language(code)[name]}
    return tuple(sorted(words, key=lambda word: (-len(word), word)))


@lru_cache(maxsize=1)
def load_approvals() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Questions that only ask to go on, and answers that decide nothing, of all languages."""
    sections = [load_language(code)["approval"] for code in list_languages()]
    questions = (to_expression(phrase) for section in sections for phrase in section["questions"])
    answers = (to_expression(phrase) for section in sections for phrase in section["answers"])
    return (
        re.compile("|".join(questions), re.IGNORECASE),
        re.compile(rf"\A\W*(?:{'|'.join(answers)})", re.IGNORECASE),
    )
