"""Passwords that people say in plain words: "my password is sunshine", "login admin:sunshine".

What tells such a word from one that is said *of* a password ("is wrong", "is stored in the vault")
is where it stands, at the end of what is said, and a list for each language: the sections
`spoken_password` of the language files, from which `python -m tools.languages` makes
`passwords.json`. Nothing is loaded for a text that names neither a password nor a login.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from reverie.privacy.secret_lookalikes import (
    is_common_variable,
    is_measure,
    is_mixed,
    is_placeholder,
    is_reference,
)
from reverie.privacy.secret_rule import SecretSpan

KIND = "password-assignment"
MIN_WORDS, MAX_WORDS = 4, 8  # of a pass phrase
MIN_CHARS = 4
# Any of these stands in a text that a language's names or logins stand in; the rest are cheap too.
_ENDS = (
    r"\s*(?:[.!?;,)\n。！？、]|$)"
    r"|\s+(?:and|but|so|und|aber|y|pero|et|mais|e|ma|mas|и|а)\s"
)
_VALUE = r"[^\s\"'“”‘’«»`.,;!?:()<>{}\[\]=]{4,64}"
_WORD = r"[^\W\d_]{1,40}"
_PHRASE = rf"{_WORD}(?: {_WORD}){{{MIN_WORDS - 1},{MAX_WORDS - 1}}}"
_LOGIN = (
    r"\s?:?\s{1,3}[\"'`]?(?P<u>[\w.@+-]{2,64})"
    r"(?P<by>:| / )(?P<s>[^\s:/\"'`<>(){}\[\]][^\s\"'`<>(){}\[\]]{3,63})"
)
_USUAL_USER_NAMES = "admin administrator root user test demo guest postgres mysql sa ubuntu pi dev"
_USUAL_USERS = frozenset(_USUAL_USER_NAMES.split())
MAX_OWNER_CHARS = 100


@lru_cache(maxsize=1)
def load_words() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """The section of every language, by its code."""
    path = Path(__file__).parents[1] / "text" / "languages" / "passwords.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


@lru_cache(maxsize=1)
def list_signs() -> tuple[tuple[str, tuple[str, ...], bool], ...]:
    """(language, names or logins that a text must hold one of, whether these are logins)."""
    return tuple(
        (code, tuple(words[part]), part == "logins")
        for code, words in load_words().items()
        for part in ("names", "logins")
    )


@lru_cache(maxsize=64)
def select_signs(missing: Sequence[str]) -> tuple[tuple[str, tuple[str, ...], bool], ...]:
    """Of `list_signs` those that may stand in a text without these parts of words."""
    return tuple(
        (
            code,
            tuple(sign for sign in signs if not any(part in sign for part in missing)),
            are_logins,
        )
        for code, signs, are_logins in list_signs()
    )


def find_spoken_spans(
    text: str,
    lower: str,
    rank: int,
    missing: tuple[str, ...] = (),
) -> Iterator[SecretSpan]:
    """Where passwords stand that are said in plain words; `missing` are parts of words that are
    known not to stand there.
    """
    for code, signs, are_logins in select_signs(missing):
        for sign in signs:
            at = lower.find(sign)
            while at >= 0:
                after = at + len(sign)
                find = _find_login if are_logins else _find_said
                found = find(text, code, at, after)
                if found is not None:
                    yield SecretSpan(*found, rank, KIND)
                at = lower.find(sign, after)


def _any_of(words: Sequence[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


@lru_cache(maxsize=64)
def _compile_owner(code: str) -> re.Pattern[str]:
    """Whose password it is, up to three words in front of its name."""
    owners = _any_of(load_words()[code]["owners"])
    return re.compile(rf"(?i)\b(?:{owners})\s(?:[\w.'’-]{{1,24}}\s){{0,3}}[\w-]{{0,24}}$")


@lru_cache(maxsize=64)
def _compile_link(code: str) -> re.Pattern[str]:
    """What stands between the name and the password: for whom or what it is, and `is`."""
    words = load_words()[code]
    links = _any_of(words["links"])
    if not words["owners"]:  # a script without spaces
        return re.compile(
            rf"\s?(?:{links})\s?[\"'「“‘]?(?P<s>[!-~]{{4,64}}?)(?=[\"'」”’。、，,\s]|[^!-~]|$)"
        )
    return re.compile(
        rf"(?i)(?:\s(?!(?:{links})\s)[\w.@'’-]{{1,24}}){{0,3}}"
        rf"\s{{1,3}}(?:{links}):?\s{{1,3}}[\"'“«‘`]?(?P<s>{_VALUE})"
    )


def _find_said(
    text: str,
    code: str,
    at: int,
    after: int,
) -> tuple[int, int] | None:
    """The password behind a name that stands at a place."""
    found = _compile_link(code).match(text, after)
    if found is None:
        return None
    words = load_words()[code]
    states, endings = frozenset(words["states"]), tuple(words["endings"])
    start, end = found.span("s")
    if not words["owners"]:
        return (start, end) if _is_value(found["s"], states, ()) else None
    if not _compile_owner(code).search(text[max(0, at - MAX_OWNER_CHARS) : at]):
        return None
    closed = text[end : end + 1] in tuple("\"'”»’`")
    if (closed or _ends_there(text, end)) and _is_value(found["s"], states, endings):
        return start, end
    phrase = re.compile(_PHRASE).match(text, start)
    # "correct horse battery staple": a whole sentence has small words among its own.
    if phrase and _ends_there(text, phrase.end()):
        later = phrase[0].lower().split()[1:]
        if states.isdisjoint(later) and not any(word.endswith(endings) for word in later):
            return start, phrase.end()
    return None


def _ends_there(text: str, end: int) -> bool:
    return re.compile(_ENDS).match(text, end) is not None


def _is_value(value: str, states: frozenset[str], endings: tuple[str, ...]) -> bool:
    lower = value.lower().rstrip("-")
    return (
        len(lower) >= MIN_CHARS
        and lower not in states
        and not (endings and lower.endswith(endings))
        and not is_placeholder(value)
        and not is_reference(value)
        and not is_common_variable(value)
        and not is_measure(value)
    )


def _find_login(
    text: str,
    code: str,
    at: int,
    after: int,
) -> tuple[int, int] | None:
    """The password of `user:password` behind a login that stands at a place."""
    if at and (text[at - 1].isalnum() or text[at - 1] in "/_.-"):
        return None
    found = re.compile(_LOGIN).match(text, after)
    if found is None:
        return None
    value = found["s"].rstrip(".,;!?")
    user = found["u"].lower()
    plain = found["by"] == ":" and (user in _USUAL_USERS or "@" in user)
    if _is_value(value, frozenset(load_words()[code]["states"]), ()) and (plain or is_mixed(value)):
        return found.start("s"), found.start("s") + len(value)
    return None
