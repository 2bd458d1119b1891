"""Secrets that one knows by their name: `password: …`, `X_TOKEN=…`, "the password is …", `{"token":
…}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Literal, NamedTuple

from reverie.privacy.secret_lookalikes import (
    compiled,
    is_common_variable,
    is_measure,
    is_mixed,
    is_prose,
    is_random,
    refers,
    stands_in,
)
from reverie.privacy.secret_shapes import SHAPES, Span

Family = Literal["password", "key", "pin"]
# A `key` alone says nothing; these words in front make it one.
_KEY_OF = (
    r"(?:api|access|secret|private|encryption|encrypt|signing|master|account|app|application|auth|service|shared"
    r"|license|webhook|storage|deploy|admin|client|session|jwt|hmac|aes|crypto|ssh|openai|anthropic|gemini|stripe"
    r"|subscription|x)[ _.-]?$"
)
NAMES: Mapping[str, Family] = {
    "password": "password",
    "passwd": "password",
    "passphrase": "password",
    "passcode": "password",
    "pwd": "password",
    "pass": "password",
    "passwort": "password",
    "kennwort": "password",
    "wachtwoord": "password",
    "senha": "password",
    "mot de passe": "password",
    "contrasena": "password",
    "secret": "key",
    "token": "key",
    "key": "key",
    "credential": "key",
    "pin": "pin",
}
WIDE_NAMES: Mapping[str, Family] = dict.fromkeys(
    (
        "密码",
        "密碼",
        "口令",
        "パスワード",
        "暗証番号",
        "비밀번호",
        "암호",
        "пароль",
        "contraseña",
        "hasło",
        "şifre",
        "lösenord",
        "كلمة السر",
        "كلمة المرور",
        "סיסמה",
        "पासवर्ड",
        "mật khẩu",
    ),
    "password",
)
LABELS = frozenset((*NAMES, *WIDE_NAMES))  # "password": "Passwort" is a label in another language
_WITH_PASS = tuple(row for row in NAMES.items() if "pass" in row[0])
_WITHOUT_PASS = tuple(row for row in NAMES.items() if "pass" not in row[0])

_ASCII_LOWER = {upper: upper + 32 for upper in range(65, 91)}
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$"

LOOK = 250  # a bare value this long may go on beyond what `_TAIL` reads of it
# What may end a name behind the word that tells: DB_PASSWORD_PROD, token2.
_STAGE = (
    r"(?:[_-]?(?:\d{1,3}|prod|production|dev|staging|test|live|base|value|main|old|new|backup|primary|secondary"
    r"|raw|plain|plaintext|data))?"
)
_NAME_END = rf"(?i)(?:e?s)?{_STAGE}$"
# What stands behind a name: the end of it, what joins it to the value, and the value.
_TAIL = (
    rf"(?xis) {_STAGE}"
    + r"""
    (?P<close>[*_`"'\\]{0,4}\]?)
    (?P<sep>
        (?P<strong> [ \t]{0,8}
              (?: :[ ]?(?:str|string|bytes|SecretStr|&(?:'static[ ])?str
                  |(?:Optional|Final|ClassVar)\[\w{1,20}\]|str[ ]\|[ ]None)[ ]?=(?!=)
                | =>|:=|={1,3}|:{1,2}|：|＝)
              [ \t]{0,8}(?:[|>][+-]?[ \t]{0,4}\n\s{1,16})?[*]{0,2}[ ]?(?:[bruf@]{1,2}(?=["']))? )
      | (?P<xml> > )
      | (?P<weak> \s{1,4}(?:for|of|to|on|in|at)\s[\w@.'’ -]{1,40}?\s?(?:is|was|:|=)\s{1,4}
          | \s{1,4}(?:is|was|are|to|as|ist|lautet|est|es|é|er|jest)(?:\snow)?(?:\sset\sto)?\s?:?\s{1,4}
          | [ ]?(?:是|は|为|為|を|：|는|은|—|–)[ ]? | \([ ]?(?=["']) | [ ]?,[ ]?(?=["'])
          | \s{1,8}value[ ]?=[ ]?(?=["']) | [ ]?\{[^{}]{0,200}?\bdefault[ ]{0,8}=[ ]?(?=["'])
          | ["']?[ ]?,\s{1,20}["']?value["']?[ ]?:[ ]? | \s{1,20}-?[ ]?value[ ]?:[ ]? )
      | (?P<flag> [ ]{1,4} )
    )
    (?: \\+(?P<eq>["'])(?P<e>.{1,4096}?)\\+(?P=eq)
      | "(?P<d>(?:[^"\\\n]|\\.){1,4096})" | '(?P<s>(?:[^'\\\n]|\\.){1,4096})' | `(?P<b>[^`\n]{1,4096})`
      | [“「『‘](?P<c>[^”」』’\n]{1,256})[”」』’]
      | ["'`\\]{0,3}(?P<u>
          [^\s"'`,;&<>(){}\[\]]
            (?:[^\s"'`,;&<，。；、）」]|<(?!/)|[,;&](?![\s"'`]|\Z|[\w.\x20-]{1,40}[=:])){0,255}
        | \[REDACTED:[a-z0-9-]+\]) )
"""
)


class Assigned(NamedTuple):
    """A name and what stands behind it, as far as one needs to judge it."""

    family: Family
    name: str  # the whole name: "DB_PASSWORD"
    value: str
    quoted: bool
    weak: bool  # said in prose, passed in a call, given as a flag: not an assignment proper
    equals: bool  # joined by "=", not by ":"
    ends: bool  # nothing but the end of a line, or a closing sign, follows
    argument: bool  # stands inside a call: f(password=…)


@lru_cache(maxsize=1)
def _tail() -> re.Pattern[str]:
    return re.compile(_TAIL)


def _is_secret(a: Assigned) -> bool:
    """Judge an assigned value; every `False` here is a false friend somebody really writes."""
    value = a.value
    if stands_in(value) or refers(value):
        return False
    if a.family == "pin":
        return value.isdigit() and 4 <= len(value) <= 8
    return _is_password(a) if a.family == "password" else _is_key(a)


def _is_password(a: Assigned) -> bool:
    value = a.value
    if len(value) < 4 or is_common_variable(value) or value.lower() in LABELS:
        return False
    if " " in value:
        return a.quoted and not a.weak and not is_prose(value)
    if a.weak:
        return (is_mixed(value) or (value.isdigit() and value.isascii())) and not is_measure(value)
    if a.name.lower() == "pass" and not a.quoted:
        return is_mixed(value) and len(value) >= 6
    if value.replace("_", "").isalpha() and not a.quoted:
        return _is_word_password(a)
    return (
        a.quoted
        or a.equals
        or a.ends
        or (is_mixed(value) and not is_measure(value))
        or value.isdigit()
    )


def _is_word_password(a: Assigned) -> bool:
    """`DB_PASSWORD=letmein` is one; `password=user_input`, `f(password=value)`, `password: must be
    …` not.
    """
    if a.argument and not a.name.isupper():
        return False
    identifier = "_" in a.value or (
        not a.value.islower() and not a.value.isupper() and not a.value.istitle()
    )
    if identifier and not a.name.isupper():
        return False
    return a.ends


def _is_key(a: Assigned) -> bool:
    value = a.value
    if len(value) < 6 or " " in value or is_common_variable(value):
        return False
    shouted = a.name.isupper() and "_" in a.name and not a.weak
    if shouted and not value.replace("_", "").isupper():
        return not value.isdigit() or len(value) >= 8
    if is_random(value) and len(value) >= 8:
        return True
    secret = a.name.lower().endswith("secret") and a.quoted and not a.weak
    return secret and len(value) >= 8 and value.isalnum()


def _assigned(
    text: str, lower: str, at: int, word: str, family: Family
) -> tuple[Assigned, int, int] | None:
    """What stands behind the name that holds `word` at `at`, and where; `None` when nothing is
    assigned.
    """
    found = _tail().match(text, at + len(word))
    if found is None or not _is_a_name(text, lower, at, word):
        return None
    group = found.lastgroup or "u"
    start, end = found.span(group)
    end = start + len(_trimmed(found[group])) if group == "u" else end
    before = text[max(0, at - 64) : at]
    stem = before.rstrip(_NAME_CHARS)
    prefix = before[len(stem) :]
    bare = found["flag"] is not None and not prefix.startswith("--")
    if bare and not (
        stem.rstrip().endswith(",") and not prefix and word != "pass"
    ):  # "user ann, password …"
        return None
    if found["xml"] is not None and text[end : end + 2] != "</":
        return None
    after = text[end : end + 2].lstrip("\"'`\\*)]}")
    assigned = Assigned(
        family=family,
        name=prefix + text[at : at + len(word)],
        value=text[start:end],
        quoted=group != "u",
        weak=bare or (found["weak"] is not None and "value" not in found["weak"]),
        equals="=" in found["sep"] or found["xml"] is not None or found["flag"] is not None,
        ends=not after or after[0] in "\r\n,;&.<#" or after[:2] == " #" or group == "c",
        argument=stem.rstrip("\"' \n").endswith(("(", ",")),
    )
    return assigned, start, end


def _is_a_name(text: str, lower: str, at: int, word: str) -> bool:
    """`bypass`, `spin` and `monkey` are not names of secrets though they hold one."""
    if word in ("pass", "pin"):
        return at == 0 or not text[at - 1].isalpha()
    if word == "key":
        return bool(compiled(_KEY_OF).search(lower, max(0, at - 16), at))
    return True


def _trimmed(value: str) -> str:
    """An unquoted value without the sentence or the bracket that closes behind it."""
    if value.startswith("[REDACTED:"):
        return value
    value = value.rstrip("\\")
    for opening, closing in ("()", "[]", "{}"):
        if opening not in value:
            value = value.rstrip(closing + ".:*")
    return value.rstrip(".:*")


def aligned_lower(text: str) -> str:
    """The text in lower case, letter for letter: `İ` would grow into two and shift every place
    behind it.
    """
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)


def _names_in(text: str, lower: str) -> list[tuple[str, Family]]:
    found = [row for row in _WITHOUT_PASS if row[0] in lower]
    if "pass" in lower:
        found += [row for row in _WITH_PASS if row[0] in lower]
    if not text.isascii():
        found += [row for row in WIDE_NAMES.items() if row[0] in lower]
    return found


def assignment_spans(text: str, lower: str) -> Iterator[Span]:
    """Where values stand that their names tell to be secrets."""
    for word, family in _names_in(text, lower):
        kind = _kind(family)
        at = lower.find(word)
        while at >= 0:
            after = at + len(word)
            found = _assigned(text, lower, at, word, family)
            if found and _is_secret(found[0]):
                after = _to_its_end(text, *found)
                yield Span(found[1], after, len(SHAPES), kind)
            at = lower.find(word, after)


def _to_its_end(text: str, assigned: Assigned, start: int, end: int) -> int:
    """Where to stop: a value is judged by its first 256 characters, for linear time, but goes as a
    whole.
    """
    if assigned.quoted or end - start < LOOK:
        return end
    rest = compiled(r"[^\s\"'`,;&<]*").match(text, end)
    return rest.end() if rest else end


def family_of(name: str) -> Family | None:
    """Which kind of secret a key's value is, by the key alone; `None` for most keys."""
    lower = aligned_lower(name)
    for word, family in {**NAMES, **WIDE_NAMES}.items():
        at = lower.rfind(word)
        if (
            at >= 0
            and _is_a_name(name, lower, at, word)
            and compiled(_NAME_END).match(name, at + len(word))
        ):
            return family
    return None


def kind_of(name: str, value: str) -> str | None:
    """The kind of secret `value` is when it stands under the key `name`; `None` when that tells
    nothing.
    """
    family = family_of(name) if name and value else None
    if family is None:
        return None
    assigned = Assigned(
        family, name, value, quoted=True, weak=False, equals=True, ends=True, argument=False
    )
    return _kind(family) if _is_secret(assigned) else None


def _kind(family: Family) -> str:
    return "assignment" if family == "key" else f"{family}-assignment"
