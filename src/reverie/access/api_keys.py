"""API keys: `rv_<tenant>_<prefix>_<secret>`, and whether one may be used.

The tenant in a key lets every statement carry it; the prefix finds the key's row and is what people
see in lists and in the audit; the secret is shown once, when the key is made. Only its SHA-256 is
kept. A slow hash as for passwords would add nothing: it makes guessing costly where people chose
what is guessed, and nobody guesses 32 letters of chance (160 bits), while it would cost 50 ms on
every request.

A token that is not right is refused with one and the same text, and after the same work, whatever
is wrong with it: the tenant, the prefix or the secret. Only who holds the secret is told that a key
has expired, was revoked, or that its user or tenant is switched off.
"""

from __future__ import annotations

import hmac
import re
from dataclasses import dataclass
from hashlib import sha256

from reverie.core import clock
from reverie.core.errors import BadInput, Unauthenticated
from reverie.storage.access_records import ApiKey, KeyLookup

PREFIX_LENGTH, SECRET_LENGTH = 8, 32
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,38}")
USER_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
# One @ with something before it, and after it labels of letters and digits, of any alphabet: more
# is for the server that takes the mail to say.
EMAIL = re.compile(
    r"\A[^\s@<>()\[\],;:\"\\\x00-\x20\x7f]+@[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)*"
)
MAX_EMAIL_CHARS = 254
TOKEN = re.compile(r"(rvi?)_([a-z0-9][a-z0-9-]{0,38})_([0-9a-z]{8})_([0-9a-z]{32})")
API_KEY, INVITATION = "rv", "rvi"
NOBODYS_HASH = bytes(32)  # what a token is compared with where there is no such key


@dataclass(frozen=True, slots=True)
class Token:
    """A key or an invitation as it is shown once. Its text never goes into a log."""

    kind: str  # API_KEY or INVITATION
    tenant: str
    prefix: str
    secret: str

    def __str__(self) -> str:
        return f"{self.kind}_{self.tenant}_{self.prefix}_{self.secret}"

    def __repr__(self) -> str:
        return f"<token {self.kind}_{self.tenant}_{self.prefix}_…>"

    @property
    def hash(self) -> bytes:
        """What is kept of the secret."""
        return hash_secret(self.secret)


@dataclass(frozen=True, slots=True)
class IssuedKey:
    """A new key, with the only sight of its secret."""

    key: ApiKey
    token: str  # "rv_acme_1a2b3c4d_…": shown once

    def __repr__(self) -> str:
        return f"<issued key {self.key.prefix} of {self.key.user}>"


def check_tenant_name(name: str) -> str:
    """The name of a tenant or a team; BadInput if it is none."""
    if not NAME.fullmatch(name):
        raise BadInput(
            f"{name!r} is not a name: small letters, digits and -, up to 39, not beginning with -"
        )
    return name


def check_user_name(name: str) -> str:
    """The name of a user; BadInput if it is none."""
    if not USER_NAME.fullmatch(name) or name == "operator":
        raise BadInput(
            f"{name!r} is not a user's name: small letters, digits, - _ and ., up to 63, beginning"
            " with a letter or digit, and not `operator`"
        )
    return name


def check_email(address: str) -> str:
    """An e-mail address as it is compared, in small letters, or "" for none; BadInput for what
    cannot be one. Whether somebody reads it is not known.
    """
    plain = address.strip().lower()
    if plain and (len(plain) > MAX_EMAIL_CHARS or not EMAIL.fullmatch(plain)):
        raise BadInput(
            f"{address.strip()[:80]!r} is not an e-mail address. It is like ann@example.com; leave "
            "it away where there is none"
        )
    return plain


def new_token(tenant: str, kind: str = API_KEY) -> Token:
    """A token with a new prefix and secret."""
    return Token(kind, tenant, clock.new_secret(PREFIX_LENGTH), clock.new_secret(SECRET_LENGTH))


def parse_token(text: str, kind: str = API_KEY) -> Token:
    """The parts of a token; Unauthenticated if it is not one of that kind."""
    match = TOKEN.fullmatch(text.strip())
    if match is None or match[1] != kind:
        raise Unauthenticated
    return Token(*match.groups())


def hash_secret(secret: str) -> bytes:
    """The SHA-256 of a secret of high entropy."""
    return sha256(secret.encode()).digest()


def is_secret_of(token: Token, kept: bytes | None) -> bool:
    """True if the token has the secret of this hash; takes as long if there is no such hash."""
    return hmac.compare_digest(token.hash, kept or NOBODYS_HASH) and kept is not None


def refusal(found: KeyLookup, now: float) -> str | None:
    """Why a key whose secret is right may not be used now, and what to do; None if it may."""
    if found.tenant.suspended_at is not None:
        return (
            "This team's memory is suspended. Ask an administrator of the server; nothing is lost."
        )
    if found.user.disabled_at is not None:
        return "This user is switched off. Ask an administrator of your team's memory."
    if found.key.revoked_at is not None:
        return "This key was revoked. Get a new one: reverie login URL"
    if found.key.expires_at is not None and found.key.expires_at <= now:
        return "This key has expired. Get a new one: reverie login URL"
    return None
