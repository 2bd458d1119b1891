"""Sealing with age (X25519, ChaCha20-Poly1305, scrypt): to a public key, or by a passphrase.

Whoever seals to a key needs only its public half. The library (`pyrage`) is an extra and is
imported at the first use. Keys are text, as age writes them: a secret one begins with
AGE-SECRET-KEY-1, a public one with age1. What is sealed begins with
`private_files.SEALED_HEADER`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any

from reverie.core import clock
from reverie.core.errors import BadInput, CannotOpen, ExtraMissing, TryLater
from reverie.core.installation import advise_install

SECRET_PREFIX = "AGE-SECRET-KEY-1"
DAMAGED_KEY = (
    "A key that this home keeps (in its file device-keys, or encryption.json) is damaged. Bring "
    "the file back from a copy. device-keys may also be removed, and this machine paired again: "
    "reverie sync add PLACE"
)


TOO_MUCH_WORK = "Excessive work parameter"  # in what age says
TOO_BUSY = (
    "This machine is too busy to try the passphrase, or far slower than the one that sealed by "
    "it. Try again when it has less to do"
)
WORK_FACTOR = re.compile(rb"^-> scrypt \S+ (\d+)$", re.MULTILINE)
# What a machine of the last ten years does in a second, and what is tried for it.
ENOUGH_WORK, TRIES_TO_SEAL = 16, 4
# So often age measures how fast the machine is, before it is taken for too slow.
MEASUREMENTS, SECONDS_BETWEEN = 20, 0.05


def load_age() -> Any:
    """The library; ExtraMissing if it is not installed."""
    try:
        return import_module("pyrage")
    except ImportError as err:
        raise ExtraMissing(
            f"Sealing needs an optional dependency. Install it with: {advise_install('sealed')}, "
            "or with the extra `encrypted` for an encrypted memory"
        ) from err


def new_secret() -> str:
    """A new secret key."""
    return str(load_age().x25519.Identity.generate())


def public_of(secret: str) -> str:
    """The public key that belongs to a secret one; BadInput if it is none."""
    age = load_age()
    try:
        return str(age.x25519.Identity.from_str(secret.strip()).to_public())
    except age.IdentityError as err:
        raise BadInput(f"That is no key of age: it begins with {SECRET_PREFIX}") from err


def seal_to(publics: Iterable[str], plain: bytes) -> bytes:
    """What only those who hold one of the secret keys can read."""
    age = load_age()
    try:
        recipients = [age.x25519.Recipient.from_str(one) for one in publics]
    except age.RecipientError as err:
        raise BadInput(DAMAGED_KEY) from err
    return bytes(age.encrypt(plain, recipients))


def open_with(secret: str, sealed: bytes) -> bytes:
    """What was sealed to a key; CannotOpen if it was sealed to others, or altered."""
    age = load_age()
    try:
        return bytes(age.decrypt(sealed, [age.x25519.Identity.from_str(secret)]))
    except age.IdentityError as err:
        raise BadInput(DAMAGED_KEY) from err
    except age.DecryptError as err:
        raise CannotOpen("was sealed for others, or altered") from err


def seal_by_passphrase(passphrase: str, plain: bytes) -> bytes:
    """What only those who know the passphrase can read; takes about a second, as each guess does
    (scrypt, whose work factor stands in what is sealed). Where age takes the machine for a slow
    one, because it is one or is busy, it is the hardest to guess of a few tries: some seconds.
    """
    age, sealed = load_age(), b""
    for _ in range(TRIES_TO_SEAL):
        tried = bytes(age.passphrase.encrypt(plain, passphrase))
        sealed = max(sealed, tried, key=read_work_factor)
        if read_work_factor(sealed) >= ENOUGH_WORK:
            break
    return sealed


def read_work_factor(sealed: bytes) -> int:
    """How often a guess at the passphrase computes, as an exponent of two; 0 if none is said."""
    found = WORK_FACTOR.search(sealed)
    return int(found[1]) if found else 0


def open_by_passphrase(passphrase: str, sealed: bytes) -> bytes:
    """What was sealed by a passphrase; CannotOpen if it was another, or altered. Takes about a
    second. TryLater if that would take more work than age believes this machine is up to.
    """
    age = load_age()
    for _ in range(MEASUREMENTS):
        try:
            return bytes(age.passphrase.decrypt(sealed, passphrase))
        except age.DecryptError as err:
            if TOO_MUCH_WORK not in str(err):
                raise CannotOpen("was sealed by another passphrase, or altered") from err
        # It measures for milliseconds how fast the machine is: in those it may have been busy.
        clock.sleep(SECONDS_BETWEEN)
    raise TryLater(TOO_BUSY)
