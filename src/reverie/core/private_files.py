"""Files of a home that hold what was said or learned: in the clear, or sealed in an encrypted home.

All of them are written and read here. In a home that is not encrypted this costs one look for
`encryption.json`. In one that is, writing needs no key, for it seals to a public one; reading what
is sealed raises HomeLockedError while the home is locked. What is read tells by its first bytes
whether it is sealed, so a home may hold both, as it does while it is being converted.

Hooks come here: what encrypts is imported only where the home is encrypted.
"""

from __future__ import annotations

from reverie.core.atomic_file import PathLike, write_atomically
from reverie.core.environment import is_encrypted

SEALED_LINE = b"sealed:"  # how a line of a log begins that was sealed by itself
SEALED_HEADER = b"age-encryption.org/v1\n"  # how everything that age sealed begins


def is_locked(home: PathLike) -> bool:
    """True if a home is encrypted and its key is not at hand. Asks neither a person nor a keyring,
    so a hook has time for it.
    """
    if not is_encrypted(home):
        return False
    from reverie.core.errors import StoreError
    from reverie.core.home_key import read_home_key

    try:
        read_home_key(home, ask=False)
    except StoreError:
        return True
    return False


def seal_bytes(home: PathLike, data: bytes) -> bytes:
    """Bytes as they may lie in a home: sealed where it is encrypted."""
    recipient = find_recipient(home)
    if not recipient:
        return data
    from reverie.core.age_sealing import seal_to

    return seal_to([recipient], data)


def find_recipient(home: PathLike) -> str:
    """The public key to which the files of a home are sealed; "" if it is not encrypted."""
    if not is_encrypted(home):
        return ""
    from reverie.core.encryption_file import read_encryption

    encryption = read_encryption(home)
    return encryption.recipient if encryption else ""


def open_bytes(home: PathLike, data: bytes) -> bytes:
    """Bytes as they were before they were sealed; what is not sealed comes back as it is.

    HomeLockedError while the home is locked; CannotOpen for what was sealed for another home, or
    altered.
    """
    if not data.startswith(SEALED_HEADER):
        return data
    from reverie.core.age_sealing import open_with
    from reverie.core.errors import CannotOpen
    from reverie.core.home_key import read_home_key

    key = read_home_key(home)
    if key is None:
        raise CannotOpen("was sealed while this memory was encrypted, and it no longer is")
    return open_with(key.files, data)


def seal_lines(home: PathLike, lines: bytes) -> bytes:
    """Lines to be appended to a file of a home: in an encrypted one as one line that is sealed."""
    recipient = find_recipient(home) if lines else ""
    if not recipient:
        return lines
    return seal_line(recipient, lines)


def open_lines(home: PathLike, data: bytes) -> bytes:
    """What was appended to a file of a home by `seal_lines`, in the clear. HomeLockedError while
    the home is locked; a line that cannot be opened is left as it is.
    """
    if SEALED_LINE not in data:
        return data
    from contextlib import suppress

    from reverie.core.errors import CannotOpen
    from reverie.core.home_key import read_home_key

    key = read_home_key(home)
    if key is None:
        return data
    opened = []
    for line in data.splitlines(keepends=True):
        plain = line
        if line.startswith(SEALED_LINE):
            with suppress(CannotOpen):
                plain = open_line(key.files, line)
        opened.append(plain)
    return b"".join(opened)


def seal_line(public: str, plain: bytes) -> bytes:
    """What was sealed to a key as one line of a file."""
    from binascii import b2a_base64

    from reverie.core.age_sealing import seal_to

    return SEALED_LINE + b2a_base64(seal_to([public], plain))


def open_line(secret: str, line: bytes) -> bytes:
    """What `seal_line` sealed; CannotOpen if it was sealed to another key, or altered."""
    from binascii import a2b_base64

    from reverie.core.age_sealing import open_with
    from reverie.core.errors import CannotOpen

    try:
        sealed = a2b_base64(line.removeprefix(SEALED_LINE).rstrip(), strict_mode=True)
    except ValueError as err:
        raise CannotOpen("was altered: it is no base64") from err
    return open_with(secret, sealed)


def write_private_bytes(
    home: PathLike,
    path: PathLike,
    data: bytes,
    *,
    durable: bool = True,
) -> None:
    """Replace a file of a home that its owner alone may read; sealed where it is encrypted."""
    write_atomically(path, seal_bytes(home, data), mode=0o600, durable=durable)


def read_private_bytes(home: PathLike, path: PathLike) -> bytes:
    """What `write_private_bytes` wrote; FileNotFoundError where there is none. Errors as those of
    `open_bytes`.
    """
    with open(path, "rb") as file:
        return open_bytes(home, file.read())
