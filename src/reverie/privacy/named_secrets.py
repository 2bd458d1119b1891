"""Secrets known by their name: `password: …`, `X_TOKEN=…`, "the password is …", `{"token": …}`."""

# Not `from __future__ import annotations`: a NamedTuple would compile each of them once more.
import re
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from reverie.core.lazy_patterns import compile_once
from reverie.privacy.secret_lookalikes import (
    compile_ascii,
    is_common_variable,
    is_digest_or_uuid,
    is_long_random,
    is_measure,
    is_mixed,
    is_placeholder,
    is_prose_value,
    is_random,
    is_reference,
    is_woven,
)
from reverie.privacy.secret_rule import SecretSpan
from reverie.privacy.secret_shapes import SHAPES

Family = Literal["password", "key", "pin"]
# A `key` alone says nothing; one of these words in front makes it a secret.
_KEY_OF = (
    r"(?:api|access|secret|private|encryption|encrypt|signing|master|account|app|application|auth"
    r"|service|shared"
    r"|license|webhook|storage|deploy|admin|client|session|jwt|hmac|aes|crypto|ssh|openai"
    r"|anthropic|gemini|stripe"
    r"|subscription|x)[ _.-]?$"
)
# In front of `key`, these make it a name of something else: whatever is assigned stays.
_OPEN_KEY_OF = (
    r"(?:public|pub|publishable|primary|foreign|natural|unique|cache|partition|sort|range|shard"
    r"|routing|route|object|blob|s3|file|idempotency|dedup\w{0,10}|sequence|schema|hot|idx|index"
    r"|bucket|row|column|hash|digest|checksum|lookup|map|dict|group|host|issuer|event|query|state"
    r"|translation|i18n|message|site|node|tree|item|entry|field|attr|restore|build|version"
    r"|fingerprint|merkle|registry|metric|tag|label|sha\d*|content|asset|image|module|chunk"
    r"|resource|identity|user|author|pgp|gpg)[ _.-]?$"
)
_PASSWORD_NAMES = """
password passwd passphrase passcode pwd pass passwort kennwort wachtwoord senha
"""
SECRET_NAMES: Mapping[str, Family] = {
    **dict.fromkeys(_PASSWORD_NAMES.split(), "password"),
    "mot de passe": "password",
    "contrasena": "password",
    **dict.fromkeys(("secret", "token", "key", "credential"), "key"),
    "pin": "pin",
}
_WIDE_PASSWORD_NAMES = """
密码, 密碼, 口令, パスワード, 暗証番号, 비밀번호, 암호, пароль, contraseña, hasło, şifre, lösenord,
كلمة السر, كلمة المرور, סיסמה, पासवर्ड, mật khẩu
"""
WIDE_SECRET_NAMES: Mapping[str, Family] = dict.fromkeys(
    re.split(r",\s", _WIDE_PASSWORD_NAMES.strip()), "password"
)
PASSWORD_LABELS = frozenset(
    (*SECRET_NAMES, *WIDE_SECRET_NAMES)
)  # "password": "Passwort" is a label in another language
# Most names of passwords hold "pass": one look for it spares a look for each of them.
_WITH_PASS = tuple(row for row in SECRET_NAMES.items() if "pass" in row[0])
_WITHOUT_PASS = tuple(row for row in SECRET_NAMES.items() if "pass" not in row[0])

# For texts with a letter whose lower case is two letters long.
_ASCII_LOWER = {upper: upper + 32 for upper in range(65, 91)}
_NAME_CHARS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-$"

LONG_VALUE_CHARS = 250  # a bare value this long may go on beyond what `_TAIL` reads of it
# What may end a name behind the word that tells: DB_PASSWORD_PROD, token2.
_STAGE = (
    r"(?:[_-]?(?:\d{1,3}|prod|production|dev|staging|test|live|base|value|main|old|new|backup"
    r"|primary|secondary"
    r"|raw|plain|plaintext|data))?"
)
_NAME_END = rf"(?i)(?:e?s)?{_STAGE}$"
# What stands behind a name: the end of it, what joins it to the value, and the value.
_TAIL = (
    rf"(?xis) (?P<plural>s(?![A-Za-z_]))? {_STAGE}"
    + r"""
    (?P<close>[*_`"'\\]{0,4}\]?)
    (?P<sep>
        (?P<strong> [ \t]{0,8}
              (?: [ ](?:string|\[\]byte|String|&str)[ ]{0,4}=(?!=)
                | :[ ]?(?:str|string|bytes|SecretStr|&(?:'static[ ])?str
                  |(?:Optional|Final|ClassVar)\[\w{1,20}\]|str[ ]\|[ ]None)[ ]?=(?!=)
                | =>|:{1,3}=|[?+.]=|(?:\?\?|\|\|)=|={1,3}|:{1,2}|：|＝)
              [ \t]{0,8}(?:[|>][+-]?[ \t]{0,4}\n\s{1,16})?[*]{0,2}[ ]?(?:[bruf@]{1,2}(?=["']))? )
      | (?P<xml> >\s{0,16} )
      | (?P<weak> \s{1,4}(?:for|of|to|on|in|at)\s[\w@.'’ -]{1,40}?\s?(?:is|was|:|=)\s{1,4}
          | \s{1,4}(?:is|was|are|to|as|ist|lautet|est|es|é|er|jest)(?:\snow)?(?:\sset\sto)?
            \s?:?\s{1,4}
          | ,(?=[A-Za-z0-9])
          | [ ]?(?:是|は|为|為|を|：|는|은|—|–)[ ]? | \([ ]?(?=["']) | [ ]?,[ ]?(?=["'])
          | \s{1,8}value[ ]?=[ ]?(?=["']) | [ ]?\{[^{}]{0,200}?\bdefault[ ]{0,8}=[ ]?(?=["'])
          | ["']?[ ]?,\s{1,20}["']?value["']?[ ]?:[ ]? | \s{1,20}-?[ ]?value[ ]?:[ ]? )
      | (?P<flag> [ ]{1,4} )
    )
    (?: \\+(?P<eq>["'])(?P<e>.{1,4096}?)\\+(?P=eq)
      | "(?P<d>(?:[^"\\\n]|\\.){1,4096})" | '(?P<s>(?:[^'\\\n]|\\.){1,4096})'
      | `(?P<b>[^`\n]{1,4096})`
      | [“「『‘](?P<c>[^”」』’\n]{1,256})[”」』’]
      | ["'`\\]{0,3}(?P<u>
          [^\s"'`,;&<>(){}\[\]]
            (?:[^\s"'`,;&<，。；、）」]|<(?!/)|[,;&](?![\s"'`]|\Z|[\w.\x20-]{1,40}[=:])){0,255}
        | \[REDACTED:[a-z0-9-]+\]) )
"""
)


# What says of a random string nearby that it is a secret, and how near that is.
_TELLING_WORDS = (
    "secret",
    "credential",
    "api key",
    "api_key",
    "api-key",
    "apikey",
    "access token",
    "access_token",
    "accesstoken",
    "api token",
    "api_token",
    "apitoken",
    "auth token",
    "auth_token",
    "authtoken",
)
_NEAR_CHARS = 100
MAX_NEIGHBOUR_CHARS = 260
_ACCESS = r"\b(?:api|auth\w{0,12}|token|secret|login|credentials?|request)\b"
_STANDS_ALONE = (
    r"(?:(?<=[\s\"'`(=:,|\[])|\A)(?P<s>[A-Za-z0-9][A-Za-z0-9+/_.~-]{18,255}={0,2})"
    r"(?=[\s\"'`)\];,|<}]|\Z)"
)
_DIGEST_NAME = (
    r"(?:sha\d*|hash|integrity|digest|checksum|etag|commit|revision|rev|base64|uuid|id"
    r"|fingerprint|signature|nonce|version|image|arn|url|path|file|name)[\"'\])]{0,3}"
    r"\s{0,4}(?:[:=,(-]|=>)?\s{0,4}[\"'`(]{0,2}$"
)


class AssignedValue(NamedTuple):
    """A name and the value behind it, as far as one needs to judge it."""

    family: Family
    name: str  # the whole name: "DB_PASSWORD"
    value: str
    quoted: bool
    weak: bool  # said in prose, passed in a call, given as a flag: not an assignment proper
    by_equals_sign: bool  # joined by "=", not by ":"
    ends_line: bool  # nothing but the end of a line, or a closing sign, follows
    in_call: bool  # stands inside a call: f(password=…)
    loose: bool = False  # the name alone says little: `key` without a telling word, `tokens`
    near_access: bool = False  # an API or a login is spoken of just before


def _is_secret(assigned: AssignedValue) -> bool:
    """True if an assigned value is a secret; every False is a false friend that people do write."""
    value = assigned.value
    if is_placeholder(value) or is_reference(value):
        return False
    if assigned.family == "pin":
        return value.isdigit() and 4 <= len(value) <= 8
    return _is_password(assigned) if assigned.family == "password" else _is_key(assigned)


def _is_password(assigned: AssignedValue) -> bool:
    value = assigned.value
    # `passwords: Dict[str, str]`
    odd = assigned.loose and not (is_mixed(value) and (assigned.quoted or is_long_random(value)))
    if odd or len(value) < 4 or is_common_variable(value) or value.lower() in PASSWORD_LABELS:
        return False
    if " " in value:
        # A pass phrase in prose cannot be told from the sentence; in quotes behind "password:" it
        # can.
        return assigned.quoted and not assigned.weak and not is_prose_value(value)
    if assigned.weak:
        # "The password is correct": what prose says of passwords is mostly words.
        return (is_mixed(value) or (value.isdigit() and value.isascii())) and not is_measure(value)
    if assigned.name.lower() == "pass" and not assigned.quoted:
        # `pass` is a verb, and a statement of Python.
        return is_mixed(value) and len(value) >= 6
    if value.replace("_", "").isalpha() and not assigned.quoted:
        return _is_word_password(assigned)
    return (
        assigned.quoted
        or assigned.by_equals_sign
        or assigned.ends_line
        or (is_mixed(value) and not is_measure(value))
        or value.isdigit()
    )


def _is_word_password(assigned: AssignedValue) -> bool:
    """True for `DB_PASSWORD=letmein`.

    Not for `password=user_input`, `f(password=value)` or `password: must be …`.
    """
    if assigned.in_call and not assigned.name.isupper():
        return False
    value = assigned.value
    has_one_case = value.islower() or value.isupper() or value.istitle()
    identifier = "_" in value or not has_one_case
    if identifier and not assigned.name.isupper():
        return False
    return assigned.ends_line


def _is_key(assigned: AssignedValue) -> bool:
    value = assigned.value
    if len(value) < 6 or " " in value or is_common_variable(value):
        return False
    if assigned.loose:
        return _is_loose_key(assigned)
    # API_KEY=… is how settings are written, so almost any value counts there.
    shouted = assigned.name.isupper() and "_" in assigned.name and not assigned.weak
    if shouted and not value.replace("_", "").isupper():
        return not value.isdigit() or len(value) >= 8
    if is_random(value) and len(value) >= 8:
        return True
    secret = assigned.name.lower().endswith("secret") and assigned.quoted and not assigned.weak
    return secret and len(value) >= 8 and value.isalnum()


def _is_loose_key(assigned: AssignedValue) -> bool:
    """True for `Key=<random>` and `acmeKey: "<random>"`: here the value has to tell.

    `key` alone names digests and ids as well, in data mostly behind a colon.
    """
    value = assigned.value
    if not is_long_random(value):
        return False
    is_id = is_digest_or_uuid(value)
    if len(assigned.name) > len("key") or not is_id:
        return not (is_id and assigned.weak)
    return assigned.by_equals_sign and not assigned.quoted and assigned.near_access


def _parse_assignment(
    text: str,
    lower: str,
    at: int,
    word: str,
    family: Family,
) -> tuple[AssignedValue, int, int] | None:
    """What is assigned to the name that holds `word` at `at`, with its start and end.

    None if nothing is.
    """
    if not _is_a_name(text, lower, at, word):
        return None
    found = compile_once(_TAIL).match(text, at + len(word))
    if found is None:
        return None
    said_loosely = word == "key" and _is_loose_name(lower[max(0, at - 16) : at + len(word)])
    loose = found["plural"] is not None or said_loosely
    # The last group that matched is the value, named by how it is quoted; "u" is unquoted.
    group = found.lastgroup or "u"
    start, end = found.span(group)
    if group == "u":
        end = start + len(_trim_value(found[group]))
    before = text[max(0, at - 64) : at]
    stem = before.rstrip(_NAME_CHARS)
    prefix = before[len(stem) :]
    bare = found["flag"] is not None and not prefix.startswith("--")
    # Of values behind a mere space only "user ann, password …" is taken.
    follows_comma = stem.rstrip().endswith(",") and not prefix and word != "pass"
    if bare and not follows_comma:
        return None
    if found["xml"] is not None and not text[end : end + 18].lstrip().startswith("</"):
        return None
    after = text[end : end + 2].lstrip("\"'`\\*)]}")
    assigned = AssignedValue(
        family=family,
        name=prefix + text[at : at + len(word)],
        value=text[start:end],
        quoted=group != "u",
        weak=bare or (found["weak"] is not None and "value" not in found["weak"]),
        by_equals_sign="=" in found["sep"] or found["xml"] is not None or found["flag"] is not None,
        ends_line=not after or after[0] in "\r\n,;&.<#" or after[:2] == " #" or group == "c",
        in_call=stem.rstrip("\"' \n").endswith(("(", ",")),
        loose=loose,
        near_access=loose and bool(compile_ascii(_ACCESS).search(lower, max(0, at - 100), at)),
    )
    return assigned, start, end


def _is_a_name(
    text: str,
    lower: str,
    at: int,
    word: str,
) -> bool:
    """True if a name of a secret is meant: `bypass`, `spin` and `monkey` only hold one."""
    if word in ("pass", "pin"):
        return at == 0 or not text[at - 1].isalpha()
    if word == "key":
        # `monkey`, `turkey`, `whiskey`: a word of its own, or the end of a compound.
        begins = at == 0 or not lower[at - 1].isalpha() or text[at].isupper()
        begins = begins or bool(compile_ascii(_KEY_OF).search(lower, max(0, at - 16), at))
        return begins and not compile_ascii(_OPEN_KEY_OF).search(lower, max(0, at - 20), at)
    return True


def _is_loose_name(name: str) -> bool:
    """True for a name that ends with `key`, where nothing in front of it tells what of."""
    lower = name.lower()
    at = lower.rfind("key")
    return (
        at >= 0
        and not any(word in lower for word in ("secret", "token", "credential"))
        and not compile_ascii(_KEY_OF).search(lower, max(0, at - 16), at)
    )


def _trim_value(value: str) -> str:
    """An unquoted value without the sentence or the bracket that closes behind it."""
    if value.startswith("[REDACTED:"):
        return value
    value = value.rstrip("\\")
    for opening, closing in ("()", "[]", "{}"):
        if opening not in value:
            value = value.rstrip(closing + ".:*")
    return value.rstrip(".:*")


def aligned_lower(text: str) -> str:
    """The text in lower case, letter for letter: `İ` would become two and shift the rest."""
    lower = text.lower()
    return lower if len(lower) == len(text) else text.translate(_ASCII_LOWER)


def _find_names(text: str, lower: str) -> list[tuple[str, Family]]:
    found = [row for row in _WITHOUT_PASS if row[0] in lower]
    if "pass" in lower:
        found += [row for row in _WITH_PASS if row[0] in lower]
    if not text.isascii():
        found += [row for row in WIDE_SECRET_NAMES.items() if row[0] in lower]
    return found


def find_assignment_spans(text: str, lower: str) -> Iterator[SecretSpan]:
    """Where values stand whose names tell that they are secrets."""
    for word, family in _find_names(text, lower):
        kind = _assignment_kind(family)
        at = lower.find(word)
        while at >= 0:
            after = at + len(word)
            found = _parse_assignment(text, lower, at, word, family)
            if found and _is_secret(found[0]):
                after = _find_value_end(text, *found)
                yield SecretSpan(found[1], after, len(SHAPES), kind)
            at = lower.find(word, after)


def find_neighbour_spans(text: str, lower: str) -> Iterator[SecretSpan]:
    """Where random strings stand beside a word that tells: `getSheet("…")  # api key`.

    Not a digest, a commit or an id: these stand beside such words too.
    """
    # Most texts hold neither of the four, of which all that tells is made.
    if not ("secret" in lower or "credential" in lower or "api" in lower or "token" in lower):
        return
    last = -1
    for first, stop in _windows(lower):
        for found in compile_ascii(_STANDS_ALONE).finditer(text, first, stop + MAX_NEIGHBOUR_CHARS):
            start, end = found.span("s")
            # Windows overlap, and behind one only what begins within it counts.
            if start >= stop or start <= last:
                continue
            last = start
            name = compile_ascii(_DIGEST_NAME).search(lower, max(0, start - 40), start)
            if is_woven(found["s"]) and not name:
                yield SecretSpan(start, end, len(SHAPES), "secret")


def _windows(lower: str) -> Iterator[tuple[int, int]]:
    """From where to where a random string stands beside a word that tells, in order."""
    places = sorted(
        (at, at + len(word)) for word in _TELLING_WORDS for at in _find_all(lower, word)
    )
    for at, end in places:
        # In front of the word it has to stand on the same line.
        line = lower.rfind("\n", max(0, at - _NEAR_CHARS), at)
        yield (max(0, at - _NEAR_CHARS) if line < 0 else line), end + _NEAR_CHARS


def _find_all(lower: str, word: str) -> Iterator[int]:
    at = lower.find(word)
    while at >= 0:
        yield at
        at = lower.find(word, at + len(word))


def _find_value_end(
    text: str,
    assigned: AssignedValue,
    start: int,
    end: int,
) -> int:
    """Where a value ends.

    It is judged by its first 256 characters, for linear time, but taken out as a whole.
    """
    if assigned.quoted or end - start < LONG_VALUE_CHARS:
        return end
    rest = compile_ascii(r"[^\s\"'`,;&<]*").match(text, end)
    return rest.end() if rest else end


def secret_family_of(name: str) -> Family | None:
    """The kind of secret that a key names, by the key alone; None for most keys."""
    lower = aligned_lower(name)
    for word, family in {**SECRET_NAMES, **WIDE_SECRET_NAMES}.items():
        at = lower.rfind(word)
        if at < 0 or not _is_a_name(name, lower, at, word):
            continue
        if compile_ascii(_NAME_END).match(name, at + len(word)):
            return family
    return None


def named_secret_kind(name: str, value: str) -> str | None:
    """The kind of secret that `value` is under the key `name`; None if that tells nothing."""
    family = secret_family_of(name) if name and value else None
    if family is None:
        return None
    assigned = AssignedValue(
        family,
        name,
        value,
        quoted=True,
        weak=False,
        by_equals_sign=True,
        ends_line=True,
        in_call=False,
        loose=family == "key" and _is_loose_name(name),
    )
    return _assignment_kind(family) if _is_secret(assigned) else None


def _assignment_kind(family: Family) -> str:
    return "assignment" if family == "key" else f"{family}-assignment"
