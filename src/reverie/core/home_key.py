"""The key of a home that is encrypted at rest, and how it is kept.

A home is encrypted if `encryption.json` lies in it (`core.encryption_file`), which names the ways
(`core.key_ways`) in which the secret is kept. The secret is one private key of age; the key of the
databases is derived from it, so whoever wrote it down (the recovery key) needs nothing else.

Who only writes needs no key: what is sealed to the recipient is read once the home is unlocked.
A home without the file costs one look for it. Whoever opens a database comes here, hooks too, so
what only an encrypted home needs is imported where it is used.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from reverie.core import clock, environment
from reverie.core.atomic_file import PathLike
from reverie.core.encryption_file import HomeEncryption, read_encryption, unlink_encryption
from reverie.core.environment import ENCRYPTION_FILE
from reverie.core.errors import (
    BadInput,
    CannotOpen,
    ExtraMissing,
    HomeLockedError,
    StoreDamaged,
)

if TYPE_CHECKING:
    from reverie.core.key_ways import KeyWay

# Secrets that were slow to get, in a process that found no memory to keep them for the login.
_asked: dict[str, str] = {}

UNLOCK = "This memory is encrypted and locked. Unlock it with: reverie data unlock"


class HomeKey(NamedTuple):
    """The key of an encrypted home."""

    database: bytes  # 32 raw bytes, for the databases
    files: str  # a private key of age, for side files; the recovery key

    def __repr__(self) -> str:
        """Without the keys: what is shown or logged by mistake must not give them away."""
        return "HomeKey(...)"


def new_home_key() -> HomeKey:
    """A new key."""
    from reverie.core.age_sealing import new_secret

    return key_from_secret(new_secret())


def key_from_secret(secret: str) -> HomeKey:
    """The key that follows from its private key of age."""
    import hmac

    database = hmac.digest(secret.encode(), b"reverie database key 1", "sha256")
    return HomeKey(database, secret)


def describe_key(key: HomeKey, ways: tuple[KeyWay, ...] = ()) -> HomeEncryption:
    """What `encryption.json` says of a key that is kept in these ways."""
    from reverie.core.age_sealing import public_of

    return HomeEncryption(public_of(key.files), check_value(key), ways)


def check_value(key: HomeKey) -> str:
    """By which a key is known again, without saying anything of it."""
    import hmac

    return hmac.digest(key.database, b"reverie check value 1", "sha256").hex()[:32]


def remove_encryption(home: PathLike) -> None:
    """Remove `encryption.json`, after all was decrypted, and lock the home's former key away."""
    from reverie.core import key_ways, unlocked_key

    encryption = read_encryption(home)
    unlink_encryption(home)
    if encryption is not None:
        unlocked_key.remove_unlocked(encryption.name)
        for way in encryption.ways:
            # An entry that stays opens nothing any more.
            with suppress(HomeLockedError, ExtraMissing):
                key_ways.forget_way(way)


def read_home_key(home: PathLike, *, ask: bool = True) -> HomeKey | None:
    """The key of a home; None if it is not encrypted. HomeLockedError where it cannot be had.

    An unlocked home's key is at hand; else the key file is looked at. What takes longer, the
    keyring and a passphrase in the environment, is asked only if `ask`, and then kept for this
    login where there is memory for that, else in this process.
    """

    encryption = read_encryption(home)
    if encryption is None:
        return None
    from reverie.core import unlocked_key
    from reverie.core.key_ways import KEY_FILE

    unlocked = unlocked_key.read_unlocked(encryption.name, clock.now())
    if unlocked is not None:
        return check_key(encryption, unlocked[0])
    if ask and encryption.name in _asked:
        return check_key(encryption, _asked[encryption.name])
    reasons = []
    for way in encryption.ways:
        if way.kind != KEY_FILE and not ask:
            continue
        try:
            secret = open_way(way)
        except HomeLockedError as err:
            reasons.append(str(err))
            continue
        except CannotOpen as err:
            raise damaged_way(home) from err
        if secret:
            key = check_key(encryption, secret)
            if way.kind != KEY_FILE:
                try:
                    unlocked_key.save_unlocked(encryption.name, secret, None)
                except (BadInput, OSError):
                    _asked[encryption.name] = secret
            return key
    is_only = len(encryption.ways) == len(reasons) == 1
    raise HomeLockedError(reasons[0] if is_only else UNLOCK)


def gives_key_unasked(home: PathLike) -> bool:
    """True if `read_home_key` may have the key of a locked home without a person."""
    from reverie.core.key_ways import KEY_FILE

    encryption = read_encryption(home)
    is_in_file = encryption is not None and encryption.find(KEY_FILE) is not None
    return is_in_file or keeps_key_for_programs(home)


def keeps_key_for_programs(home: PathLike) -> bool:
    """True if the keyring, or a passphrase in the environment, may give the key of a home."""
    from reverie.core.key_ways import KEYRING, PASSPHRASE

    encryption = read_encryption(home)
    if encryption is None:
        return False
    has_passphrase = bool(environment.home_passphrase())
    return any(
        way.kind == KEYRING or (way.kind == PASSPHRASE and has_passphrase)
        for way in encryption.ways
    )


def open_way(way: KeyWay) -> str:
    """The secret, if a way gives it without a person; "" if it needs one."""
    from reverie.core import key_ways

    if way.kind == key_ways.KEY_FILE:
        return key_ways.open_with_key_file(way)
    if way.kind == key_ways.KEYRING:
        return key_ways.open_with_keyring(way)
    passphrase = environment.home_passphrase()
    if way.kind != key_ways.PASSPHRASE or not passphrase:
        return ""
    try:
        return key_ways.open_with_passphrase(way, passphrase)
    except BadInput as err:
        raise HomeLockedError("REVERIE_PASSPHRASE is not the passphrase of this memory") from err


def check_key(encryption: HomeEncryption, secret: str) -> HomeKey:
    """The key of a secret; HomeLockedError if it is that of another home."""
    import hmac

    key = key_from_secret(secret.strip())
    if not hmac.compare_digest(check_value(key), encryption.check):
        raise HomeLockedError(
            "That is the key of another memory, or of this one before it was encrypted anew"
        )
    return key


def damaged_way(home: PathLike) -> StoreDamaged:
    """The error of a way whose sealed secret was altered."""
    path = os.path.join(home, ENCRYPTION_FILE)
    return StoreDamaged(
        f"{path} is damaged: what it holds of the key cannot be opened. Bring the file back from a "
        "copy, or use your recovery key: reverie data unlock --recovery"
    )
