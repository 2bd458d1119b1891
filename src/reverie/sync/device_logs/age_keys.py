"""The code that two screens share, by which a device of the sealed logs is paired.

What seals is `core.age_sealing`.
"""

from __future__ import annotations

import re
import secrets
from importlib.util import find_spec

from reverie.core.age_sealing import open_by_passphrase, seal_by_passphrase
from reverie.core.errors import BadInput, CannotOpen, TryLater

# Without letters and digits that look alike on a screen. Eight of them are 40 bits, and age makes
# each guess cost about a second.
CODE_LETTERS = "23456789ABCDEFGHJKMNPQRSTVWXYZ"
CODE_LENGTH = 9


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
    return seal_by_passphrase(code, plain)


def open_by_code(code: str, sealed: bytes) -> bytes:
    """What was sealed by a code; CannotOpen if it was another, or would take this machine for ever.
    Takes about a second.
    """
    try:
        return open_by_passphrase(code, sealed)
    except TryLater as err:
        raise CannotOpen(str(err)) from err
    except CannotOpen as err:
        raise CannotOpen("was sealed by another code, or altered") from err
