"""What identifies a person: cards, IBANs and US social security numbers.

On request, mail addresses and phone numbers, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from reverie.privacy.secret_lookalikes import compile_ascii
from reverie.privacy.secret_rule import SecretShape, SecretSpan
from reverie.privacy.secret_shapes import SHAPES, find_shape_spans


def _passes_luhn(digits: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(digits)):
        n = int(digit) * (1 + place % 2)
        total += n - 9 if n > 9 else n
    return total % 10 == 0


_CARD = (
    r"^(?:4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|2720\d{12}"
    r"|3[47]\d{13}"
    r"|3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}"
    r"|62\d{14,17})$"
)


def _is_card(written: str) -> bool:
    digits = written.replace(" ", "").replace("-", "")
    if not digits.isascii() or len(set(digits)) < 2:
        return False
    groups = [len(group) for group in re.split(r"[ -]", written)]
    # As cards are printed: in one, in fours, or 4-6-5 as American Express does.
    in_fours = set(groups[:-1]) <= {4}
    if not in_fours and groups[:2] != [4, 6]:
        return False
    return bool(compile_ascii(_CARD).match(digits)) and _passes_luhn(digits)


# Length of an IBAN by country (ISO 13616 registry).
_IBAN_COUNTRIES: Mapping[int, str] = {
    15: "NO",
    16: "BE",
    18: "DK FO FI GL NL FK SD",
    19: "MK SI",
    20: "AT BA EE KZ LT LU XK MN",
    21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA",
    23: "AE GI IL IQ OM SO TL",
    24: "AD CZ ES MD PK RO SA SE SK TN VG",
    25: "LY PT ST",
    26: "IS TR",
    27: "BI DJ FR GR IT MC MR SM",
    28: "AL AZ BY CY DO GT HU LB NI PL SV",
    29: "BR EG PS QA UA",
    30: "JO KW MU YE",
    31: "MT SC",
    32: "LC",
    33: "RU",
}
_IBAN_LENGTH = {code: length for length, codes in _IBAN_COUNTRIES.items() for code in codes.split()}


def _is_iban(written: str) -> bool:
    """True if the check digits are right (ISO 7064, mod 97)."""
    compact = written.replace(" ", "")
    turned = compact[4:] + compact[:4]
    digits = "".join(str(int(ch, 36)) for ch in turned)
    return int(digits) % 97 == 1


PERSONAL_SHAPES: tuple[SecretShape, ...] = (
    SecretShape("payment-card", (), r"(?<![\w.+-])\d(?:[ -]?\d){12,18}(?![\w-]|\.\d)", _is_card),
    SecretShape(
        "us-ssn", (), r"(?<![\w.-])(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}(?![\w-]|\.\d)"
    ),
)
# An address or a number is often the fact to remember ("Ann's mail is …"), so these are off unless
# a policy asks for them.
CONTACT_SHAPES: tuple[SecretShape, ...] = (
    SecretShape(
        "email",
        (),
        r"(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,63}@"
        r"[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){0,4}\.[A-Za-z]{2,24}\b",
    ),
    SecretShape(
        "phone",
        (),
        r"(?<![\w.+])\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d(?:[ .-]?\d){6,11}(?![\w-])",
    ),
    SecretShape("phone", (), r"(?<![\w.+-])(?:\(\d{3}\) ?|\d{3}[-. ])\d{3}[-. ]\d{4}(?![\w-])"),
)


def find_iban_spans(text: str) -> Iterator[SecretSpan]:
    """Where IBANs stand, in groups or not; each country's have one length."""
    for found in compile_ascii(r"(?<![A-Za-z0-9])[A-Z]{2}\d\d[ A-Z0-9]{11,40}").finditer(text):
        # Without its country's length an IBAN in groups would run on into the next word.
        start = end = found.start()
        left = _IBAN_LENGTH.get(text[start : start + 2], 0)
        while left and end < found.end():
            left -= text[end] != " "
            end += 1
        is_whole = left == 0 and end > start and not text[end : end + 1].isalnum()
        if is_whole and _is_iban(text[start:end]):
            yield SecretSpan(start, end, len(SHAPES) + 1, "iban")


def find_personal_spans(text: str, shapes: tuple[SecretShape, ...]) -> Iterator[SecretSpan]:
    """Where texts of PERSONAL_SHAPES or CONTACT_SHAPES stand."""
    for shape in shapes:
        yield from find_shape_spans(text, shape, len(SHAPES) + 1)
