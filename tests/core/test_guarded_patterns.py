"""Expressions tried only where their letters stand: they find what the whole expression would."""

import importlib
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.guarded_patterns import (
    GuardedPattern,
    PatternGuard,
    list_required_pieces,
    split_alternatives,
)
from reverie.extraction.extraction_rules import RULES as EXTRACTION_RULES
from reverie.extraction.rule_extraction import FLAGS
from reverie.memory.emotion_detection import RULES as EMOTION_RULES
from reverie.privacy.prompt_injection import INJECTION_SIGNS
from reverie.text.learned_phrases import LISTS, PASSING, STATEMENTS, load_learned_phrases
from reverie.text.prompt_phrases import list_languages

# The library has no public way to see what an expression is made of.
sre_parser = importlib.import_module("re._parser")
OWN_PATTERNS = (
    *(pattern for rule in EMOTION_RULES for pattern in rule.patterns),
    *(sign.pattern for sign in INJECTION_SIGNS),
    *(rule.pattern for rule in EXTRACTION_RULES),
)
SECTIONS = (*STATEMENTS, PASSING, *LISTS)


@pytest.mark.parametrize(
    ("pattern", "pieces"),
    [
        (r"\b(?:it|this) is (?:still )?(?:broken|red)\b", {" is "}),
        (r"waste of (?:my )?time", {"waste of "}),
        (r"u+gh+", {"gh"}),
        (r"(?:thanks|thx)", {"thanks", "thx"}),
        (r"(?:thanks|thx)?", set()),
        (r"a(?=bcdef)g", {"ag"}),
        (r"(?<!the )\bfinally\b", {"finally"}),
        (r"[abc]def|\d{2}", set()),
        (r"ab{0,3}cd", {"cd"}),
        (r"ab{2}cd", {"ab", "cd"}),
        (r"x\u0041bc|yz", {"bc", "yz"}),
        (r"(?P<mark>`{3,})abc(?P=mark)", {"abc"}),
        (r"\[redacted\]", {"[redacted]"}),
        (r"Straße|règle", {"straße", "règle"}),
        (r"σοφία", set()),
    ],
)
def test_of_its_pieces_one_stands_in_all_that_an_expression_fits(pattern, pieces):
    """What may be missing, repeats, or only looks around, is no piece."""
    found = set(list_required_pieces(pattern))
    assert found == pieces or (found <= pieces and found)


def test_alternatives_are_what_stands_between_the_outermost_bars():
    """A bar in brackets, in a class or behind a backslash parts nothing."""
    assert split_alternatives(r"a(?:b|c)|[|]d|e\|f") == [r"a(?:b|c)", "[|]d", r"e\|f"]


def draw_texts(pattern, count):
    """Texts that an expression fits, each followed by what may stand about it."""
    chosen = random.Random(pattern)
    tree = sre_parser.parse(pattern, FLAGS)
    compiled = re.compile(pattern, FLAGS)
    drawn = (draw_text(tree, chosen) for _ in range(count))
    return [text for text in drawn if compiled.search(text)]


def draw_text(items, chosen):
    """A text made after an expression, from left to right; what only looks around is left out."""
    text = ""
    for kind, value in items:
        name = str(kind)
        if name in ("LITERAL", "NOT_LITERAL"):
            letter = chr(value) if name == "LITERAL" else " "
            text += chosen.choice((letter, letter.upper()))
        elif name == "ANY":
            text += chosen.choice("a .")
        elif name == "IN":
            text += draw_from_class(value, chosen)
        elif name == "BRANCH":
            text += draw_text(chosen.choice(value[1]), chosen)
        elif name == "SUBPATTERN":
            text += draw_text(value[-1], chosen)
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, inner = value
            times = chosen.randint(least, min(most, least + 2))
            text += "".join(draw_text(inner, chosen) for _ in range(times))
    return text


def draw_from_class(choices, chosen):
    """A letter of a class."""
    name, value = chosen.choice(choices)
    if str(name) == "RANGE":
        return chr(chosen.randint(*value))
    if str(name) == "LITERAL":
        return chr(value)
    return chosen.choice(" a1.,x-")


def test_no_text_that_an_expression_of_ours_fits_is_passed_over():
    """Texts are drawn from the expressions themselves."""
    drawn = 0
    for pattern in OWN_PATTERNS:
        guard = PatternGuard([pattern])
        for text in draw_texts(pattern, 40):
            assert list(guard.select(text)) == [0], (pattern, text)
            drawn += 1
    assert drawn > 5 * len(OWN_PATTERNS)


@pytest.mark.parametrize("code", list_languages())
def test_no_phrase_of_a_language_is_passed_over(code):
    """Every phrase of every section calls for itself by texts that it fits."""
    phrases = load_learned_phrases(code)
    patterns = [pattern for name in SECTIONS for pattern in phrases[name].alternatives]
    drawn = 0
    for pattern in patterns:
        guard = PatternGuard([pattern])
        for text in draw_texts(pattern, 6):
            assert list(guard.select(text)) == [0], (pattern, text)
            drawn += 1
    assert drawn > len(patterns)


@given(st.text(alphabet="ab cdAıKſ", max_size=30))
def test_what_is_found_is_what_the_whole_expression_finds(text):
    """At the same place, of the same alternative; also in letters that only look alike."""
    alternatives = (r"bc?d", r"\bab", "ak", r"a\b", "s?i b", "cd ")
    guarded = GuardedPattern(alternatives)
    whole = re.compile("|".join(f"(?:{one})" for one in alternatives), re.IGNORECASE)
    for method in ("search", "match", "fullmatch"):
        expected, found = getattr(whole, method)(text), getattr(guarded, method)(text)
        assert (found and found.span()) == (expected and expected.span())
    assert guarded.sub("-", text) == whole.sub("-", text)


def test_no_letter_passes_for_another_one_unseen():
    """What `re.IGNORECASE` takes for the same letter is the same in lower case, or is noticed."""
    # Letters in two cases stand here; beyond are signs, and scripts of one case.
    ranges = (range(0x3000), range(0xA600, 0xAC00), range(0xFB00, 0xFB20), range(0x10400, 0x10600))
    everything = "".join(chr(number) for numbers in ranges for number in numbers)
    used = {
        letter
        for code in list_languages()
        for name in SECTIONS
        for pattern in load_learned_phrases(code)[name].alternatives
        for piece in list_required_pieces(pattern)
        for letter in piece
    }
    used |= {
        one for pattern in OWN_PATTERNS for piece in list_required_pieces(pattern) for one in piece
    }
    for letter in sorted(used):
        for same in re.findall(re.escape(letter), everything, re.IGNORECASE):
            assert list(PatternGuard([re.escape(letter)]).select(f"x{same}x")) == [0], (
                letter,
                same,
            )


def test_alternatives_call_for_what_their_whole_expression_does():
    """Given one by one or as one; where one of them needs no piece, it always may fit."""
    for ways in (("red heron", "blue crane"), ("red heron", "[a-z]+"), ("ab", "c")):
        for text in ("a red heron", "blue", "a blue crane", "ab", "xyz", ""):
            whole = "|".join(f"(?:{one})" for one in ways)
            found = list(PatternGuard([ways]).select(text))
            assert found == list(PatternGuard([whole]).select(text)), (ways, text)


def test_nothing_fits_an_expression_without_alternatives():
    """It is what a language says nothing of."""
    empty = GuardedPattern(())
    assert empty.search("no") is None
    assert empty.sub("", "no") == "no"
    assert re.search(empty.pattern, "no") is None
