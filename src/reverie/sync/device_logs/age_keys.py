"""age, as far as the logs of devices need it: X25519 keys, and the code that two screens share.

The library (`pyrage`) is an extra and is imported at the first use. Keys are text, as age writes
them: a secret one begins with AGE-SECRET-KEY-1, a public one with age1.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from reverie.core.errors import BadInput, ExtraMissing
from reverie.sync.device_logs.sealer import CannotOpen

# Without letters and digits that look alike on a screen. Eight of them are 40 bits, and age makes
# each guess cost about a second.
CODE_LETTERS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
CODE_LENGTH = 9


DAMAGED_KEY = (
    "A key in the file device-keys of this home is damaged. Bring the file back from a copy, or "
    "remove it and pair this machine again: reverie sync add PLACE"
)
SECRET_KEY = re.compile(r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}")
PUBLIC_KEY = re.compile(r"age1[02-9ac-hj-np-z]{58}")


def is_secret_key(text: object) -> bool:
    """True for what looks as age writes a secret key; its checksum is age's to check."""
    return isinstance(text, str) and SECRET_KEY.fullmatch(text) is not None


def is_public_key(text: object) -> bool:
    """True for what looks as age writes a public key."""
    return isinstance(text, str) and PUBLIC_KEY.fullmatch(text) is not None


def has_age() -> bool:
    """True if the extra is installed."""
    return find_spec("pyrage") is not None


def load_age() -> Any:
    """The library; ExtraMissing if it is not installed."""
    try:
        return import_module("pyrage")
    except ImportError as err:
        raise ExtraMissing(
            "Sealed logs need an optional dependency. Install it with: "
            "pip install 'reverie[sealed]'"
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
        raise BadInput("That is no key of age: it begins with AGE-SECRET-KEY-1") from err


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


def new_code() -> str:
    """A code to be read from one screen and typed at another: K7Q-M3X-PDT."""
    letters = "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))
    return "-".join(letters[at : at + 3] for at in range(0, CODE_LENGTH, 3))


def clean_code(typed: str) -> str:
    """A code as it was made, however it was typed; BadInput if it is none."""
    letters = "".join(one for one in typed.upper() if one.isalnum())
    if len(letters) != CODE_LENGTH or not set(letters) <= set(CODE_LETTERS):
        raise BadInput(
            f"{typed!r} is no pairing code. The machine that waits shows it: reverie sync pair"
        )
    return "-".join(letters[at : at + 3] for at in range(0, CODE_LENGTH, 3))


def seal_by_code(code: str, plain: bytes) -> bytes:
    """What only those who know the code can read and can have written; takes about a second."""
    return bytes(load_age().passphrase.encrypt(plain, code))


def open_by_code(code: str, sealed: bytes) -> bytes:
    """What was sealed by a code; CannotOpen if it was another. Takes about a second."""
    age = load_age()
    try:
        return bytes(age.passphrase.decrypt(sealed, code))
    except age.DecryptError as err:
        raise CannotOpen("was sealed by another code, or altered") from err
