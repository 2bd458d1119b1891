"""The ways in which a secret of a home is kept, each by itself enough to have it back.

A way holds the secret sealed: by a passphrase, or to a key of its own that lies in a file
elsewhere or in the keyring of the system. So a way can be added, replaced or taken away without
the secret being another. Whoever has a key file has nothing without the way, and the other way
round.

Nothing is asked of anybody here: passphrases are arguments.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any, NamedTuple

from reverie.core import age_sealing
from reverie.core.atomic_file import PathLike, write_atomically
from reverie.core.errors import BadInput, CannotOpen, ExtraMissing, HomeLockedError, TryLater
from reverie.core.installation import advise_install

PASSPHRASE, KEY_FILE, KEYRING = "passphrase", "key-file", "keyring"
KINDS = (PASSPHRASE, KEY_FILE, KEYRING)
KEYRING_SERVICE = "reverie"  # under which entries stand in the keyring
MAX_KEY_FILE_BYTES = 100_000
MIN_PASSPHRASE_CHARS = 8


class KeyWay(NamedTuple):
    """One way in which the secret is kept."""

    kind: str  # one of KINDS
    sealed: bytes  # the secret, sealed by age
    public: str = ""  # the key that it is sealed to; "" for a passphrase
    place: str = ""  # the path of the key file, or the name of the entry in the keyring


def seal_with_passphrase(secret: str, passphrase: str) -> KeyWay:
    """Keep a secret by a passphrase; takes about a second. BadInput for one that is too short."""
    if len(passphrase) < MIN_PASSPHRASE_CHARS:
        raise BadInput(
            f"A passphrase has at least {MIN_PASSPHRASE_CHARS} characters. Take a few words"
        )
    return KeyWay(PASSPHRASE, age_sealing.seal_by_passphrase(passphrase, secret.encode()))


def seal_with_key_file(secret: str, path: PathLike, home: PathLike) -> KeyWay:
    """Keep a secret by a key file, which is made if there is none; one of age that is there is
    used. BadInput for a path within the home, or a file that is none of age's.
    """
    place = os.path.abspath(os.path.expanduser(os.fspath(path)))
    inside = os.path.realpath(home)
    if os.path.commonpath((inside, os.path.realpath(place))) == inside:
        raise BadInput(
            f"{place} lies within the home: whoever copies the one has the other. Name a file "
            "elsewhere, such as on a stick"
        )
    if not os.path.lexists(place):
        folder = os.path.dirname(place)
        if not os.path.isdir(folder):
            raise BadInput(f"There is no folder {folder}. Make it, or plug in what it is on")
        key = age_sealing.new_secret()
        lines = ("# A key of Reverie. Keep a copy: without it the memory cannot be read.", key, "")
        write_atomically(place, "\n".join(lines).encode(), mode=0o600)
    public = age_sealing.public_of(read_key_file(place))
    return KeyWay(KEY_FILE, age_sealing.seal_to([public], secret.encode()), public, place)


def seal_with_keyring(secret: str, name: str) -> KeyWay:
    """Keep a secret by a key in the system's keyring, under a name.

    HomeLockedError where there is no keyring, or it takes nothing.
    """
    key = age_sealing.new_secret()
    ask_keyring("set_password", name, key)
    if ask_keyring("get_password", name) != key:
        raise HomeLockedError(f"The keyring did not keep the key. {OTHER_WAYS}")
    public = age_sealing.public_of(key)
    return KeyWay(KEYRING, age_sealing.seal_to([public], secret.encode()), public, name)


def open_with_passphrase(way: KeyWay, passphrase: str) -> str:
    """The secret that a passphrase keeps; takes about a second. BadInput for another one,
    HomeLockedError where the machine is too busy to tell.
    """
    try:
        return age_sealing.open_by_passphrase(passphrase, way.sealed).decode()
    except TryLater as err:
        raise HomeLockedError(str(err)) from err
    except CannotOpen as err:
        raise BadInput("That is not the passphrase of this memory. Nothing was changed") from err


def open_with_key_file(way: KeyWay, path: PathLike = "") -> str:
    """The secret that a key file keeps, which may lie elsewhere than it did.

    HomeLockedError where it is not there, or belongs to another home.
    """
    place = os.path.abspath(os.path.expanduser(os.fspath(path or way.place)))
    try:
        key = read_key_file(place)
    except FileNotFoundError as err:
        raise HomeLockedError(
            f"The key file of this memory is not there: {place}. Plug in what it is on, or say "
            "where it is now: reverie data unlock --key-file PATH"
        ) from err
    except (OSError, BadInput) as err:
        raise HomeLockedError(f"The key file of this memory cannot be read: {err}") from err
    return open_with_key(way, key, f"{place} is the key of another memory")


def open_with_keyring(way: KeyWay) -> str:
    """The secret whose key is in the keyring; HomeLockedError where that does not give it."""
    key = ask_keyring("get_password", way.place)
    if not key:
        raise HomeLockedError(
            f"The keyring has no key of this memory ({KEYRING_SERVICE}, {way.place}). Unlock the "
            "keyring of your login, or use the recovery key: reverie data unlock --recovery"
        )
    return open_with_key(way, key, "The keyring has the key of another memory")


def open_with_key(way: KeyWay, key: str, otherwise: str) -> str:
    """The secret that was sealed to a key; HomeLockedError, which says `otherwise`, for another."""
    if age_sealing.public_of(key) != way.public:
        raise HomeLockedError(f"{otherwise}. Unlock it another way: reverie data unlock --recovery")
    return age_sealing.open_with(key, way.sealed).decode()


def read_key_file(path: str) -> str:
    """The secret key in a file of age; OSError if it cannot be read, BadInput if it has none."""
    with open(path, "rb") as file:
        text = file.read(MAX_KEY_FILE_BYTES).decode("utf-8", "replace")
    keys = (line.strip() for line in text.splitlines() if not line.startswith("#"))
    key = next(filter(None, keys), "")
    if not key.startswith(age_sealing.SECRET_PREFIX):
        raise BadInput(
            f"{path} is no key file: a line of it begins with {age_sealing.SECRET_PREFIX}. Name "
            "one that does not exist yet, and it is made"
        )
    return key


OTHER_WAYS = "Other ways to keep the key: --passphrase, --key-file PATH"


def ask_keyring(verb: str, name: str, *values: str) -> Any:
    """Call the keyring of the system for one of our entries; HomeLockedError where there is none
    or it is locked, ExtraMissing without the library.
    """
    try:
        keyring = import_module("keyring")
        failures = import_module("keyring.errors")
    except ImportError as err:
        raise ExtraMissing(
            "The system's keyring needs an optional dependency. Install it with: "
            f"{advise_install('keyring')}"
        ) from err
    try:
        return getattr(keyring, verb)(KEYRING_SERVICE, name, *values)
    except failures.NoKeyringError as err:
        raise HomeLockedError(f"There is no keyring on this system. {OTHER_WAYS}") from err
    except failures.KeyringError as err:
        raise HomeLockedError(f"The keyring does not answer: {err}. Unlock it") from err


def forget_way(way: KeyWay) -> None:
    """Remove the entry of a way from the keyring; a key file stays where it is."""
    if way.kind == KEYRING:
        ask_keyring("delete_password", way.place)
