"""How people say what is worth keeping, in the languages of `languages/<code>.toml`.

A sentence is held against the sections of STATEMENTS, in this order; the first of which a phrase
fits names what the sentence is. What a file counts among `passing` (a question, a supposition,
venting, for once) is nothing to be kept. English has rules of its own, in `extraction_rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from reverie.core.guarded_patterns import NEVER, GuardedPattern, PatternGuard
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
# What only sounds like forbidding: "don't worry about …", "don't forget to …".
REASSURES = "reassures"
# How an agent concludes or proposes something, and how a user says that it is so.
CONCLUSION, HEDGES, CONFIRMS, REFUTES = "conclusion", "hedges", "confirms", "refutes"
INTENDS = "intends"
PROPOSAL, ACCEPTS = "proposal", "accepts"
OBJECTION = "objection"
# Characters of a prompt within which an objection stands at its beginning.
MAX_OBJECTION_CHARS = 400
# Characters of a conclusion or proposal of an agent's.
MAX_CONCLUSION_CHARS = 320
# Characters of a sentence by which a user says that something is so.
MAX_CONFIRMING_CHARS = 120
# How a user shows a feeling; English has rules of its own, in `emotion_detection`.
FEELING = "feeling"
FEELINGS = ("frustration", "relief", "joy", "satisfaction")
DENIES, ASSERTS, REASONS = "denies", "asserts", "reasons"
LISTS = {
    AGAINST: STANDING,
    REASSURES: STANDING,
    HEDGES: CONCLUSION,
    INTENDS: CONCLUSION,
    REFUTES: CONFIRMS,
    ACCEPTS: "approval",
    DENIES: "correction",
    ASSERTS: "correction",
    REASONS: "rule",
    **dict.fromkeys(FEELINGS, FEELING),
}
"""Lists of phrases within a section: list → section."""
DENSE_SCRIPTS = frozenset({"han", "kana", "hangul"})
# Characters of a sentence that somebody says rather than pastes; Han, kana and Hangul say the same
# in fewer.
MIN_CHARS, MAX_CHARS = 12, 240
MIN_DENSE_CHARS, MAX_DENSE_CHARS = 5, 140
FEW_WORDS = 2
_QUESTION = re.compile(r"[?？؟][\s\W]*\Z|\A\W*¿")
# What somebody else says, or a document: of a sentence with it only the rest is its writer's.
_QUOTE = re.compile(r"«[^«»]+»|„[^„“”]+[“”]|“[^“”]+”|\"[^\"]+\"|「[^「」]+」|『[^『』]+』")
# A quotation of fewer characters is a name.
MIN_SPEECH_CHARS = {True: 7, False: 16}
# What names something technical: a number, a path, a file, an identifier, an abbreviation.
_TOKEN = (
    r"(?-i:\d|`|\w[/_]\w|[ (]/\w|\w\.[a-zA-Z]|[a-z][A-Z]|\b[A-Z]{2}|--\w"
    r"|[\u0400-\u9fff\uac00-\ud7a3][ ]?[A-Za-z]|[A-Za-z][ ]?[\u0400-\u9fff\uac00-\ud7a3])"
)
# In languages that write only names with a capital letter, one within a sentence names something.
_NAME = r"(?-i:(?<=[a-z\u00df-\u00ff,'] )[A-Z]\w)"
# What may stand before a question or a supposition: "well," "by the way:".
_OPENER = r"(?:\A\W*(?:[^\s,;:]+ ?){1,2}(?:[,:;]\s+|[、，：；]\s*)|\A)\W*"
_CLAUSE = r"(?:\A|[,;:.!–—]\s+|[、，：；！]\s*)\W*"
_COMMA = re.compile(r"\s*[,;，；、]\s*|\s+[-–—]+\s+")
# Characters of a clause at the end that makes a question of the whole: "right", "对吧".
MAX_TAG_CHARS = {True: 4, False: 12}


def classify_statement(sentence: str) -> str:
    """Which of STATEMENTS a sentence is in any language, PASSING, or "" where no phrase fits."""
    scripts = detect_scripts(sentence)
    dense = scripts & DENSE_SCRIPTS
    shortest, longest = (MIN_DENSE_CHARS, MAX_DENSE_CHARS) if dense else (MIN_CHARS, MAX_CHARS)
    if not shortest <= len(sentence) <= longest:
        return ""
    plain = remove_speech(sentence, is_dense=bool(dense))
    plain = plain if _QUESTION.search(plain) else plain.rstrip(" .!。！")
    languages = tuple(iterate_languages(sentence))
    found = next(filter(None, (find_section(phrases, plain) for phrases in languages)), "")
    # Of few words nobody can tell which of two languages they are: what one calls passing is.
    if found and any(phrases[PASSING].search(plain) for phrases in languages):
        return PASSING
    return found


def find_statement(sentence: str) -> tuple[str, str]:
    """Which of STATEMENTS a sentence is, and the part that is: a request behind it may be none."""
    section = classify_statement(sentence)
    if section not in ("", PASSING):
        return section, sentence
    longest_tag = MAX_TAG_CHARS[bool(detect_scripts(sentence) & DENSE_SCRIPTS)]
    for comma in reversed(list(_COMMA.finditer(sentence))):
        head, tail = sentence[: comma.start()], sentence[comma.end() :]
        if len(tail) <= longest_tag:
            break
        found = classify_statement(head)
        if found not in ("", PASSING):
            return found, head
    return section, sentence


def denies_something(sentence: str) -> bool:
    """True if a sentence only says that something is not so: what follows it puts it right."""
    bare = sentence.strip(" \t.,:;!。，！…-–—")
    return any(
        phrases[DENIES].fullmatch(bare) is not None for phrases in iterate_languages(sentence)
    )


def begins_as_wish(sentence: str) -> bool:
    """True if a sentence begins with how things are to be done: "always …", "use …"; not if it only
    tells that they are done so.
    """
    bare = sentence.strip()
    return any(phrases[STANDING].match(bare) for phrases in iterate_languages(bare))


def is_standing_wish(clause: str) -> bool:
    """True if a clause, short as it may be, is a wish for how things are done.

    One such wish is of the moment more often than not: it is a rule if it is said again in other
    sessions.
    """
    if len(clause) > MAX_CHARS or _QUESTION.search(clause):
        return False
    for phrases in iterate_languages(clause):
        if phrases[STANDING].search(clause):
            return not phrases[PASSING].search(clause)
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


def is_objection(prompt: str) -> bool:
    """True if a user says with a prompt that the agent got something wrong."""
    return fits_section(prompt.strip()[:MAX_OBJECTION_CHARS], OBJECTION)


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
        phrases[CONFIRMS].search(sentence) and not phrases[REFUTES].search(sentence)
        for phrases in iterate_languages(sentence)
    )


def accepts_something(message: str) -> bool:
    """True if a whole message only accepts what was proposed."""
    bare = message.strip(" \t\n.,!。！、~👍")
    return any(phrases[ACCEPTS].fullmatch(bare) for phrases in iterate_languages(bare))


def fits_section(sentence: str, name: str) -> bool:
    """True if a phrase of a section occurs in a sentence, in any language that it may be in."""
    return any(phrases[name].search(sentence) for phrases in iterate_languages(sentence))


def find_feeling(sentence: str) -> tuple[str, str]:
    """(one of FEELINGS, the words that show it) of a sentence not in English, or ("", "")."""
    plain = remove_speech(sentence, is_dense=bool(detect_scripts(sentence) & DENSE_SCRIPTS))
    asks = _QUESTION.search(plain) is not None
    for phrases in iterate_languages(sentence):
        # "No, thanks" is no pleasure, and neither is a question.
        calm = asks or phrases[DENIES].match(plain)
        for name in FEELINGS[:1] if calm else FEELINGS:
            if met := phrases[name].search(plain):
                return name, met[0].strip()
    return "", ""


def remove_forbidding(clause: str) -> str:
    """A clause without the words that forbid."""
    for phrases in iterate_languages(clause):
        clause = phrases[AGAINST].sub("", clause)
    return clause


def fits_list(sentence: str, name: str) -> bool:
    """True if a phrase of one of LISTS occurs in a sentence that is no question and not passing."""
    if _QUESTION.search(sentence) or len(sentence) > MAX_CHARS:
        return False
    return any(
        phrases[name].search(sentence) and not phrases[PASSING].search(sentence)
        for phrases in iterate_languages(sentence)
    )


def remove_speech(sentence: str, *, is_dense: bool) -> str:
    """A sentence without what it quotes; a name in quotation marks stays."""
    shortest = MIN_SPEECH_CHARS[is_dense]
    return _QUOTE.sub(lambda found: found[0] if len(found[0]) < shortest else " ", sentence)


def iterate_languages(sentence: str) -> Iterator[LearnedPhrases]:
    """The phrases of the languages that a sentence may be in."""
    return map(load_learned_phrases, list_codes(sentence))


# One sentence is held against section after section.
@lru_cache(maxsize=64)
def list_codes(sentence: str) -> tuple[str, ...]:
    """The languages that a sentence may be in, by its script and its commonest words."""
    scripts = detect_scripts(sentence)
    # A sentence with kana is not Chinese; Latin letters occur in sentences of every script.
    written = scripts - {"latin"} or scripts
    if not written:
        return ()
    codes = choose_languages(sentence) if written == {"latin"} else list_languages()
    return tuple(code for code in codes if written.issubset(load_language(code)["scripts"]))


def choose_languages(sentence: str) -> tuple[str, ...]:
    """The languages in Latin letters whose commonest words a sentence has most of."""
    words = re.findall(r"[^\W\d_]+(?:'[^\W\d_]+)?", sentence.lower())
    known = index_common_words()
    counts = dict.fromkeys(load_common_words(), 0)
    for word in words:
        for code in known.get(word, ()):
            counts[code] += 1
    most = max(counts.values(), default=0)
    if not most and len(words) > 2 * FEW_WORDS:
        return ()
    # Two words of a short sentence are often common in several languages.
    enough = most - 1 if most <= FEW_WORDS else most
    return tuple(code for code, count in counts.items() if count >= enough)


@lru_cache(maxsize=1)
def index_common_words() -> dict[str, list[str]]:
    """The languages of which a word is one of the commonest, by that word."""
    found: dict[str, list[str]] = {}
    for code, words in load_common_words().items():
        for word in words:
            found.setdefault(word, []).append(code)
    return found


@lru_cache(maxsize=1)
def load_common_words() -> dict[str, frozenset[str]]:
    """The commonest words of each language whose file names them."""
    files = {code: load_language(code) for code in list_languages()}
    return {
        code: frozenset(data["common_words"])
        for code, data in files.items()
        if data.get("common_words")
    }


def find_section(phrases: LearnedPhrases, sentence: str) -> str:
    """The section of one language that a sentence fits; PASSING where that fits too."""
    for number in phrases.statements.select(sentence):
        name = STATEMENTS[number]
        if not phrases[name].search(sentence):
            continue
        if _QUESTION.search(sentence) or phrases[PASSING].search(sentence):
            return PASSING
        return name
    return ""


class LearnedPhrases(dict[str, GuardedPattern]):
    """The sections of a language file as expressions, each made when it is first asked for."""

    def __init__(self, data: Mapping[str, Any], token: str) -> None:
        super().__init__()
        self._data, self._token = data, token

    @cached_property
    def statements(self) -> PatternGuard:
        """Which of STATEMENTS may be met in a sentence."""
        return PatternGuard(self[name].alternatives for name in STATEMENTS)

    def __missing__(self, name: str) -> GuardedPattern:
        within = LISTS.get(name)
        section = self._data.get(within or name, {})
        # What a file says nothing of fits nothing.
        phrases = {"contains": section.get(name, ())} if within else section
        head = _OPENER if name == PASSING else _CLAUSE
        self[name] = build_statements(phrases, head=head, token=self._token)
        return self[name]


@lru_cache
def load_learned_phrases(code: str) -> LearnedPhrases:
    """The phrases of a language for what is worth keeping."""
    data = load_language(code)
    token = _TOKEN if data.get("capital_nouns") else f"(?:{_TOKEN}|{_NAME})"
    return LearnedPhrases(data, token)


def build_statements(
    section: Mapping[str, Sequence[str]], head: str = _CLAUSE, token: str = _TOKEN
) -> GuardedPattern:
    """One expression for all phrases of a section; `begins` counts behind `head` only, and
    `with_token` where the sentence names something technical and no phrase of `unless` occurs.

    A gap between two words may be empty here.
    """

    def express_all(field: str) -> list[str]:
        return [to_expression(phrase.replace(" … ", " (… |)")) for phrase in section.get(field, ())]

    begins = [f"{head}{phrase}" for phrase in express_all("begins")]
    phrases = [*begins, *express_all("contains")]
    if told := express_all("with_token"):
        # What is asked for or goes wrong is no fact, whatever it names.
        unlike = "|".join(express_all("unless")) or NEVER
        phrases.append(rf"\A(?!.*?(?:{unlike}))(?=.*?{token}).*?(?:{'|'.join(told)})")
    return GuardedPattern(phrases)


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
