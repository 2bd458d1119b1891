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
    if not is_encrypted(home):
        return data
    from reverie.core.age_sealing import seal_to
    from reverie.core.home_key import read_encryption

    encryption = read_encryption(home)
    return seal_to([encryption.recipient], data) if encryption else data


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
    if not lines or not is_encrypted(home):
        return lines
    from binascii import b2a_base64

    return SEALED_LINE + b2a_base64(seal_bytes(home, lines))


def open_lines(home: PathLike, data: bytes) -> bytes:
    """What was appended to a file of a home by `seal_lines`, in the clear. HomeLockedError while
    the home is locked; a line that cannot be opened is left as it is.
    """
    if SEALED_LINE not in data:
        return data
    from binascii import Error, a2b_base64
    from contextlib import suppress

    from reverie.core.errors import CannotOpen

    opened = []
    for line in data.splitlines(keepends=True):
        plain = line
        if line.startswith(SEALED_LINE):
            with suppress(Error, CannotOpen):
                sealed = a2b_base64(line[len(SEALED_LINE) :].rstrip(), strict_mode=True)
                plain = open_bytes(home, sealed)
        opened.append(plain)
    return b"".join(opened)


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
