# mypy: no-check-untyped-defs
"""Homes that are encrypted, with their key in a file beside them."""

from pathlib import Path

from reverie.core import home_key, key_ways
from reverie.core.config import Settings
from reverie.core.encryption_file import write_encryption
from reverie.core.home_key import read_home_key
from reverie.runtime.home_encryption import decrypt_home, encrypt_home


def ignore_progress(*_):
    """For whoever does not show how far something is."""


def keep_by_file(home, key=None):
    """(a key, how it is kept: by a file beside the home)."""
    key = key or home_key.new_home_key()
    home.mkdir(parents=True, exist_ok=True)
    way = key_ways.seal_with_key_file(key.files, home.with_name(f"{home.name}.key"), home)
    return key, home_key.describe_key(key, (way,))


def make_encrypted_home(home, key=None):
    """An empty home that is encrypted from the beginning; returns its key."""
    key, encryption = keep_by_file(home, key)
    write_encryption(home, encryption)
    return key


def encrypt(home):
    """Encrypt a home, or what is still plain in it."""
    if known := read_home_key(home):
        return encrypt_home(Settings(home=home), known, None, ignore_progress)
    return encrypt_home(Settings(home=home), *keep_by_file(home), ignore_progress)


def decrypt(home):
    """Decrypt a home."""
    return decrypt_home(Settings(home=home), ignore_progress)


def files_holding(home, *words):
    """The files below a home with one of these words in them, in whatever letter case."""
    wanted = [word.lower().encode() for word in words]
    return [
        str(path.relative_to(home))
        for path in sorted(Path(home).rglob("*"))
        if path.is_file() and any(word in path.read_bytes().lower() for word in wanted)
    ]
