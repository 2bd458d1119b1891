"""What only looks like a secret: places for one (`<token>`), references to one, words."""

from __future__ import annotations

import re
from binascii import a2b_base64
from functools import lru_cache
from itertools import pairwise

# What documentation writes in a secret's place. A true secret that holds `xxxx` stays for it.
_STAND_IN = r"""(?ix) ^(?: <.*> | \[.*\] | \{\{.*\}\} | \{[\w.]*\}
      | \$\{.*  | \$\(.* | \$[a-z_]\w* | \$\{\{.*
      | %\w+% | @\w+@ | %[a-z]
      | [*x.\-_•\#?…0]+ | [\w\-]{0,12}(?:\.{3}|…)[\w\-]{0,6} | .*(?:\.{3}|…)
      | (?:your|insert|enter|replace|paste|put)[-_ ].*
      | .*(?:change[-_]?me|placeholder|[-_]here)\b.*
      | example.* | .*EXAMPLE(?:KEY)?
      | none|null|nil|true|false|yes|no|on|off|undefined|redacted|hidden|masked|required|optional
      | missing|invalid|expired|revoked|empty|unset|unknown|todo|tbd|n/?a
      | string|str|bytes|text|char|varchar|bool|boolean|int|integer|number|object|any|void
      | password|passwd|passphrase|pass|pwd|pw|secret|token|apikey|api[-_]key|username|user
      | bearer|basic|oauth2?|jwt
      | [-_]*(?:my|some|a|the|test|new|old|user|db|database)?[-_]?
        (?:password|secret|token|api[-_]?key)
    )$"""
# Where a secret is kept, or the code that fetches it.
_REFERENCE = r"""(?x) ^(?:
        [A-Za-z_$][\w$.:>?-]*(?:\(\)?|\[|\([\w.]*|\([\w.,\ =]*\))[;,)]?
        # get_token()  os.environ[  input(
      | [A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*(?:\([^()\s]{0,40}\))?){0,8}
        \.[A-Za-z_$][\w$]*\([^()\s]{0,40}\)?[;,)]{0,3}  # z.string().min(8)
      | [A-Za-z_$][A-Za-z_$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][A-Za-z_$]*)+
        # self.token  config::secret
      | (?:self|this|process\.env|os\.environ|env|secrets|vars|settings|config|request|args
         |var|local|module|data)\..*
      | (?:vault|op|env|file|keyring|ssm|sm|secret|doppler|k8s|keychain)://?.*
      | arn:aws:.* | ref\+.*
      | [!*&][A-Za-z].{0,40}
      | (?:https?|ftp|ssh|git|file)://.*  # the URL rule looks inside
      | (?:~|\.{1,2})?/(?:[A-Za-z0-9_.-]{1,24}/)*[A-Za-z0-9_.-]{0,40} | [A-Za-z]:\\.*
        # a path
      | [A-Za-z][\w.-]{0,24}(?:/[a-z][\w.-]{0,24})+  # prod/db/main
    )$"""
# Words and small numbers with signs between them: branches, packages, hosts.
_SLUG = (
    r"^(?:[A-Za-z]{1,24}|\d{1,4}|v\d+|[A-Za-z]{2,16}\d{1,2})"
    r"(?:[-_.:@/](?:[A-Za-z]{1,24}|\d{1,4}|v\d+|[A-Za-z]{2,16}\d{1,2}))*$"
)
_PROSE = (
    r"(?i)\b(?:must|required?|least|enter|invalid|incorrect|your|forgot|please|wrong|cannot|should"
    r"|can"
    r"|characters?|field|does|not|is|was|and|or|with|for|the|to|of)\b"
)
# What code passes along under the name of a secret: `login(password=value)`.
_COMMON_VARIABLE_WORDS = """
value values input data self args kwargs arg param params config result response res body form field
user_input env key name hash get set new await let var const function lambda not if else return
default options opts prompt credentials credential creds auth request payload header headers raw
plain plaintext encoded encrypted hashed reset changed updated stored saved rotated generated stale
valid correct wrong authentication
"""
_COMMON_VARIABLE = frozenset(_COMMON_VARIABLE_WORDS.split())
_MEASURE = (
    r"(?i)^(?:base\d\d|sha-?\d+|md5|hs\d+|rs\d+|es\d+|aes-?\d+.*|oauth-?2.*|utf-?\d+|argon2\w*"
    r"|pbkdf2\w*"
    r"|ed25519|http/?\d.*|v?\d+(?:\.\d+)+\w*"
    r"|\d+-?(?:(?:char|character|byte|bit|digit|day|hour|minute|min|word|letter|time|year|month"
    r"|week|second|sec|ms|kb|mb|px)[a-z]{0,8}|[kxshdm])(?:-[a-z]+)*|\d{4}-\d\d-\d\d.*|\d+%|\d+(?:st|nd|rd|th)|#\d+"
    r"|\w+\.(?:py|js|ts|go|rs|md|json|ya?ml|toml|txt|env|sh))$"
)
_TOKEN = r"^[A-Za-z0-9+/=_.~-]+$"
_DIGEST = r"(?i)^(?:[a-f0-9]{8}-(?:[a-f0-9]{4}-){3}[a-f0-9]{12}|[a-f0-9]+)$"
MIN_LONG_RANDOM = 14
MIN_TELLING_CHARS = 20  # so long a string is random with a digit less
MIN_DIGITS = 3  # of a random string; fewer may be a name in code
MAX_MEASURE_CHARS = 32  # "4h…" can begin a long random string too


@lru_cache(maxsize=512)
def compile_ascii(pattern: str) -> re.Pattern[str]:
    """The expression, compiled at its first use: an import pays for none of them."""
    return re.compile(pattern, re.ASCII)


def is_placeholder(value: str) -> bool:
    """True for what shows where a secret would go: `<token>`, `${X}`, `xxxx`, `YOUR_KEY`."""
    return len(value) < 200 and bool(compile_ascii(_STAND_IN).match(value))


def is_reference(value: str) -> bool:
    """True for what tells where a secret is: `get_token()`, `self.token`, `vault://db`."""
    return len(value) < 400 and bool(compile_ascii(_REFERENCE).match(value))


def is_common_variable(value: str) -> bool:
    """True for a word that code passes along: `value`, `args`, `response`."""
    return value.lower() in _COMMON_VARIABLE


def is_prose_value(value: str) -> bool:
    """True for a sentence: `must be at least 8 characters`."""
    return bool(compile_ascii(_PROSE).search(value))


def is_measure(value: str) -> bool:
    """True for a name with a number in it: `sha256`, `24-hour`, `v1.2.3`, `main.py`."""
    return len(value) < MAX_MEASURE_CHARS and bool(compile_ascii(_MEASURE).match(value))


def is_varied(secret: str) -> bool:
    """False for a pattern for the eye such as `ghp_xxxxxxxx` or `AKIA…EXAMPLE`."""
    # The end tells: a prefix such as `ghp_` is varied by itself.
    if len(set(secret)) < 10 and len(set(secret[-16:])) < 4:
        return False
    low = secret.lower()
    stand_ins = ("xxxx", "your-", "your_", "placeholder")
    return not low.endswith("example") and not any(word in low for word in stand_ins)


def is_mixed(value: str) -> bool:
    """True for letters with digits or signs.

    What people mean by a strong password, and what prose hardly ever is.
    """
    letters = any(map(str.isalpha, value))
    digits = any(map(str.isdigit, value))
    signs = any(c in "!@#$%^&*+=?~" for c in value[:-1])
    return letters + digits + signs >= 2


def is_random(value: str) -> bool:
    """True for letters and digits woven together, or for both cases many times over."""
    if not is_varied(value) or any(c.isspace() for c in value):
        return False
    if any(map(str.isdigit, value)) and any(map(str.isalpha, value)):
        return not compile_ascii(_SLUG).match(value) and not is_measure(value)
    return value.isascii() and len(value) >= 20 and count_case_turns(value) * 5 >= len(value)


def count_case_turns(value: str) -> int:
    """How often a capital follows a small letter."""
    return sum(a.islower() and b.isupper() for a, b in pairwise(value))


def is_long_random(value: str) -> bool:
    """True for a random string as issuers make them: long, of one piece, with more digits than a
    name has.
    """
    if len(value) < MIN_LONG_RANDOM or not compile_ascii(_TOKEN).match(value):
        return False
    enough = MIN_DIGITS if len(value) < MIN_TELLING_CHARS else MIN_DIGITS - 1
    if not is_random(value):
        return False
    # `ConfigurationName2Mapper` changes its case at words only.
    return sum(map(str.isdigit, value)) >= enough or count_case_turns(value) * 8 >= len(value)


def is_woven(value: str) -> bool:
    """True for a long random string that is no digest, commit or id either."""
    return is_long_random(value) and not is_digest_or_uuid(value)


def holds_random(text: str) -> bool:
    """True if a word of a text is a long random string."""
    return any(map(is_long_random, compile_ascii(r"[^\s{}]{14,}").findall(text)))


def is_digest_or_uuid(value: str) -> bool:
    """True for what a digest, a commit or an id looks like as well: hexadecimal, or a UUID."""
    return bool(compile_ascii(_DIGEST).match(value))


def decode_base64(secret: str) -> str:
    """The text that base64 encodes; "" if it is none, or no text."""
    try:
        # Writers of tokens leave the padding out, and strict decoding wants it.
        padding = "=" * (-len(secret) % 4)
        text = a2b_base64(secret + padding, strict_mode=True).decode()
    except ValueError:
        return ""
    plain = text.replace("\n", "").replace("\0", "")
    return text if plain.isprintable() else ""


def holds_private_key(secret: str) -> bool:
    """True for a PEM private key in base64, as in a kubeconfig; not for a certificate."""
    # The header of a PEM block lies within the first 80 characters.
    return "PRIVATE KEY" in decode_base64(secret[:80])


def is_login(secret: str) -> bool:
    """True for `user:password` in base64, or a long random string."""
    if compile_ascii(r"^[\w.@$+-]+:.").match(decode_base64(secret)):
        return True
    return len(secret) >= 20 and is_random(secret)


def is_strong(secret: str) -> bool:
    """True for letters of both cases with digits.

    What nobody writes by chance behind a name and a colon.
    """
    return (
        any(map(str.isupper, secret))
        and any(map(str.islower, secret))
        and any(map(str.isdigit, secret))
    )


def is_strong_and_random(secret: str) -> bool:
    """True for a strong string that is woven together, with more digits than a name has."""
    return is_strong(secret) and is_random(secret) and sum(map(str.isdigit, secret)) >= MIN_DIGITS
