"""What identifies or exposes a person beyond cards and accounts: national and tax numbers,
passports, postal addresses, birth dates, health.

Numbers with check digits are known by them, where their form is their own (France, Spain, Italy,
Brazil, China, Korea); others only beside a word that names them, as a passport or a tax number is.
These words stand in the language files, in the section `personal_facts`, from which `python -m
tools.languages` makes `personal.json`. Which of it is taken out is the policy's to say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from reverie.privacy.secret_lookalikes import compile_ascii
from reverie.privacy.secret_rule import SecretSpan

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_FISCAL_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25)
_FISCAL_ODD_LAST = (24, 23)
_CHINA_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_KOREA_WEIGHTS = (2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5)


def _is_french(written: str) -> bool:
    """Its key: 97 less the rest of the number by 97. Corsica's departments count as 19 and 18."""
    plain = written.replace(" ", "").upper().replace("2A", "19").replace("2B", "18")
    return len(plain) == 15 and plain.isdigit() and 97 - int(plain[:13]) % 97 == int(plain[13:])


def _is_spanish(written: str) -> bool:
    plain = written.replace("-", "").upper()
    digits = plain[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2")
    return digits.isdigit() and _DNI_LETTERS[int(digits) % 23] == plain[-1]


def _is_italian(written: str) -> bool:
    odd = (*_FISCAL_ODD, *_FISCAL_ODD_LAST)

    def value(sign: str, place: int) -> int:
        number = int(sign) if sign.isdigit() else ord(sign) - ord("A")
        return odd[number] if place % 2 == 0 else number

    total = sum(value(sign, place) for place, sign in enumerate(written[:15]))
    return chr(ord("A") + total % 26) == written[15]


def _is_brazilian(written: str) -> bool:
    digits = [int(sign) for sign in written if sign.isdigit()]
    if len(set(digits)) == 1:
        return False
    return all(
        sum(digit * weight for digit, weight in zip(digits, range(size + 1, 1, -1), strict=False))
        * 10
        % 11
        % 10
        == digits[size]
        for size in (9, 10)
    )


def _is_chinese(written: str) -> bool:
    total = sum(int(d) * w for d, w in zip(written, _CHINA_WEIGHTS, strict=False))
    return "10X98765432"[total % 11] == written[17].upper()


def _is_korean(written: str) -> bool:
    digits = written.replace("-", "")
    total = sum(int(d) * w for d, w in zip(digits, _KOREA_WEIGHTS, strict=False))
    return (11 - total % 11) % 10 == int(digits[12])


# The sign first: an expression that begins with what stands there looks at few places of a text.
_MAY_BEGIN = r"[0-9A-Z](?=[0-9A-Z .-]{8})(?<![\w.-].)"
# Forms that no other number has, each with its check.
_CHECKED: tuple[tuple[str, Callable[[str], bool]], ...] = (
    (
        r"(?<![\w.-])[12] ?\d\d ?(?:0[1-9]|1[0-2]|[2-9]\d) ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d"
        r"(?![\w-])",
        _is_french,
    ),
    (r"(?<![\w.-])(?:\d{8}|[XYZ]\d{7})-?[A-HJ-NP-TV-Z](?![\w-])", _is_spanish),
    (r"(?<![\w.-])[A-Z]{6}\d\d[A-EHLMPRST]\d\d[A-Z]\d{3}[A-Z](?![\w-])", _is_italian),
    (r"(?<![\w.-])\d{3}\.\d{3}\.\d{3}-\d\d(?![\w-])", _is_brazilian),
    (
        r"(?<![\w.-])[1-9]\d{5}(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])\d{3}[\dXx](?![\w-])",
        _is_chinese,
    ),
    (r"(?<![\w.-])\d\d(?:0[1-9]|1[0-2])(?:[0-2]\d|3[01])-[1-8]\d{6}(?![\w-])", _is_korean),
)
_FOLLOWS = (
    r"[\"')]{0,2}(?:\s?[:=：#]\s?|\s?[은는は是]\s?|\s{1,3})"
    r"(?:(?:is|ist|est|es|è|é|le|no\.?|nr\.?|number)\s){0,2}"
)
_PASSPORT = _FOLLOWS + r"(?P<s>(?=(?:[A-Z]*\d){4})[A-Z0-9]{6,10}|\d{4} \d{6})(?![\w-])"
_TAX = _FOLLOWS + r"(?P<s>(?=[A-Z0-9 /.-]*\d{3})[A-Z0-9][A-Z0-9 /.-]{5,18}\d[A-Z]?)(?![\w-])"
_DATE = (
    r"(?:\s?[:=：]\s?|\s{0,3})(?:(?:is|on|the|am|den|ist|le|el|il|em)\s){0,2}"
    r"(?P<s>\d{1,2}[./-]\d{1,2}[./-](?:19|20)?\d\d|(?:19|20)\d\d[./-]\d{1,2}[./-]\d{1,2}"
    r"|(?:19|20)\d\d\s?[年년]\s?\d{1,2}\s?[月월]\s?\d{1,2}\s?[日일]"
    r"|\d{1,2}(?:st|nd|rd|th|\.|er|º)?(?: of| de)? [^\W\d_]{3,12}(?: de)?,? (?:19|20)\d\d"
    r"|[^\W\d_]{3,12} \d{1,2}(?:st|nd|rd|th)?,? (?:19|20)\d\d)(?!\w)"
)
_ILLNESS = r"\s?(?P<s>[^\s.,;:!?。，、\n][^.,;:!?。，、\n]{2,60})"
_CITY = r"(?:, {1,2}(?:\d{4,6} )?[^\W\d_][\w'’-]{1,30}(?: [^\W\d_][\w'’-]{1,30})?)?"


@lru_cache(maxsize=1)
def load_words() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """The words of every language, by its code."""
    path = Path(__file__).parents[1] / "text" / "languages" / "personal.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def find_number_spans(text: str, lower: str, rank: int) -> Iterator[SecretSpan]:
    """Where national, tax and passport numbers stand."""
    # One look for all of them, then each where one may begin.
    forms = [(compile_ascii(pattern), check) for pattern, check in _CHECKED]
    for place in compile_ascii(_MAY_BEGIN).finditer(text):
        for pattern, check in forms:
            found = pattern.match(text, place.start())
            if found and check(found[0]):
                yield SecretSpan(found.start(), found.end(), rank, "national-id")
    yield from _find_beside(text, lower, "passport", _PASSPORT, "passport", rank)
    yield from _find_beside(text, lower, "tax_number", _TAX, "tax-number", rank)


def find_intimate_spans(text: str, lower: str, rank: int) -> Iterator[SecretSpan]:
    """Where birth dates and illnesses stand."""
    yield from _find_beside(text, lower, "born", _DATE, "birth-date", rank)
    yield from _find_beside(text, lower, "health", _ILLNESS, "health", rank)


def find_address_spans(text: str, rank: int) -> Iterator[SecretSpan]:
    """Where postal addresses stand."""
    for pattern in _compile_streets():
        for found in pattern.finditer(text):
            yield SecretSpan(found.start(), found.end(), rank, "address")


def _find_beside(
    text: str,
    lower: str,
    part: str,
    pattern: str,
    kind: str,
    rank: int,
) -> Iterator[SecretSpan]:
    """Where something stands behind a word that names it."""
    expression = re.compile(pattern)
    for word in _all_words(part):
        at = lower.find(word)
        while at >= 0:
            after = at + len(word)
            begins = at == 0 or not (lower[at - 1].isalnum() and word[0].isascii())
            found = expression.match(text, after) if begins else None
            if found:
                yield SecretSpan(*found.span("s"), rank, kind)
            at = lower.find(word, after)


@lru_cache(maxsize=8)
def _all_words(part: str) -> tuple[str, ...]:
    """The words of all languages."""
    return tuple(dict.fromkeys(word for words in load_words().values() for word in words[part]))


@lru_cache(maxsize=1)
def _compile_streets() -> tuple[re.Pattern[str], ...]:
    """Streets with their numbers, as languages order them, and the town behind."""
    before: list[str] = []
    spoken: list[str] = []
    joined: list[str] = []
    for code, words in load_words().items():
        before += words["streets_before"]
        (joined if code == "de" else spoken).extend(words["streets_after"])

    def choice(words: list[str]) -> str:
        return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))

    name = r"[^\W\d_][\w.'’-]{0,30}"
    return (
        re.compile(
            rf"\b\d{{1,5}}[A-Za-z]? [A-Z]\w{{1,30}}(?: [A-Z]\w{{0,30}})?"
            rf" (?:{choice(spoken)})\b\.?{_CITY}"
        ),
        re.compile(rf"\b[A-ZÄÖÜ]\w{{1,30}}(?i:{choice(joined)}) \d{{1,4}}[a-z]?\b{_CITY}"),
        re.compile(
            rf"\b\d{{1,5}}(?: bis| ter)?,? (?i:{choice(before)}) (?:(?:de|du|des|la|le) )*"
            rf"{name}{_CITY}"
        ),
        re.compile(
            rf"(?i:\b(?:{choice(before)})) (?:(?:de|da|do|del) )*[^\W\d_a-z]\w{{1,30}}"
            rf"(?: [^\W\d_]\w{{1,30}})? \d{{1,5}}\b{_CITY}"
        ),
        re.compile(r"〒\s?\d{3}-\d{4}"),
    )
