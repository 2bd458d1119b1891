"""Encrypting a home at rest, and decrypting it: its databases, then its other files.

The databases change all at once (`home_conversion`), in the moment when `encryption.json` comes or
goes. The other files are converted one by one: when encrypting after that moment, when decrypting
before it, so that whoever has the home can read all of it at any time. What a kill leaves undone is
done when the command is repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from reverie.core.config import Settings
from reverie.core.encryption_file import (
    HomeEncryption,
    find_encryption_fault,
    mend_encryption,
    write_encryption,
)
from reverie.core.environment import is_encrypted
from reverie.core.errors import BadInput, Conflict
from reverie.core.home_key import HomeKey, read_home_key, remove_encryption
from reverie.storage import Problem
from reverie.storage.side_files import convert_side_files
from reverie.storage.sqlite.database_library import (
    DATABASE_NAME,
    is_encrypted_database,
    load_sqlcipher,
)
from reverie.storage.sqlite.home_conversion import (
    ConversionReport,
    alone_in_home,
    convert_databases,
)

ENCRYPTION = "encryption"  # what a problem of `encryption.json` is about
REPLICAS = "servers"  # the folder of replicas, which are homes of their own

Progress = Callable[[str, int, int | None], object]


class EncryptionReport(NamedTuple):
    """What was encrypted, or decrypted."""

    databases: tuple[Path, ...]
    side_files: int
    # Files that stay as they were: copies that cannot be read, and damaged databases.
    left: tuple[Path, ...]
    # Homes within this one, which are encrypted by themselves.
    other_homes: tuple[Path, ...] = ()
    mirror: Path | None = None  # the folder of pages, which nobody encrypts


def check_has_databases(settings: Settings) -> None:
    """Raise BadInput for a memory whose database is not a file of its home."""
    if settings.store.startswith(("postgresql:", "postgres:")):
        raise BadInput(
            "This memory is kept in PostgreSQL, which encrypts nothing by itself: what there is is "
            "the encryption of the server's disk (LUKS, or your provider's setting)"
        )
    if settings.store:
        raise BadInput(
            f"This memory is kept outside of its home: {settings.url}. Only what lies in the home "
            "is encrypted. Move it there: reverie data migrate --to FOLDER"
        )


def check_encryption_file(home: Path) -> None:
    """Raise BadInput for a home whose database is encrypted and whose `encryption.json` is lost:
    with another key nobody would find what is missing.
    """
    if not is_encrypted(home) and is_encrypted_database(home / DATABASE_NAME):
        raise BadInput(
            f"{home / DATABASE_NAME} is encrypted, or its beginning is damaged, and "
            "encryption.json is not in its home. Nothing was changed. Bring that file back from a "
            "copy of the home, or make it anew from your recovery key: reverie data key --recovery "
            "--key-file PATH"
        )


def verify_encryption(home: Path, *, repair: bool) -> list[Problem]:
    """What is wrong with `encryption.json` or its copy while the other serves; mended if it may be.

    StoreDamaged if neither can be read.
    """
    fault = mend_encryption(home) if repair else find_encryption_fault(home)
    if not fault:
        return []
    return [Problem(ENCRYPTION, fault, repaired=repair)]


def check_is_alone(home: Path) -> None:
    """Raise StoreBusy if other processes have a home open: before anything is asked of a person,
    who would be asked again.
    """
    with alone_in_home(home):
        pass


def encrypt_home(
    settings: Settings,
    key: HomeKey,
    encryption: HomeEncryption | None,
    progress: Progress,
) -> EncryptionReport:
    """Encrypt a home with a key, which `encryption` says how it is kept; or, without that, what is
    still plain in a home that has this key already.

    StoreBusy if other processes have the home open, ExtraMissing without SQLCipher, BadInput for a
    home that was encrypted and lost its `encryption.json`; then nothing was changed.
    """
    check_has_databases(settings)
    load_sqlcipher()
    home = settings.home
    with alone_in_home(home):
        if encryption is not None and is_encrypted(home):
            raise Conflict("Somebody else has just encrypted this memory. Nothing was changed")
        check_encryption_file(home)

        def switch() -> None:
            if encryption is not None:
                write_encryption(home, encryption)

        done = convert_databases(home, None, key.database, switch, progress)
        progress("sealing other files", 0, None)
        sealed = convert_side_files(home, key)
    return report_conversion(settings, done, sealed)


def decrypt_home(settings: Settings, progress: Progress) -> EncryptionReport:
    """Decrypt a home, and forget its key.

    BadInput if it is not encrypted; HomeLockedError if its key is not to be had; StoreBusy if other
    processes have it open.
    """
    check_has_databases(settings)
    home = settings.home
    key = read_home_key(home)
    if key is None:
        check_encryption_file(home)
        raise BadInput(f"This memory is not encrypted: {home}")
    opened = 0

    def open_files() -> None:
        nonlocal opened
        opened += convert_side_files(home, None, former=key)

    def switch() -> None:
        # What hooks sealed while the databases were copied: from now on nobody has the key.
        open_files()
        remove_encryption(home)

    with alone_in_home(home):
        try:
            progress("opening other files", 0, None)
            open_files()
            done = convert_databases(home, key.database, None, switch, progress)
            open_files()
        except BaseException:
            # Ctrl-C or a full disk: it stays encrypted, with all that is in it.
            if is_encrypted(home):
                convert_side_files(home, key)
            raise
    return report_conversion(settings, done, opened)


def report_conversion(
    settings: Settings, done: ConversionReport, side_files: int
) -> EncryptionReport:
    """What was done, with the homes within this one."""
    replicas = sorted((settings.home / REPLICAS).glob("*/reverie.db"))
    encrypted = is_encrypted(settings.home)
    others = tuple(path.parent for path in replicas if is_encrypted(path.parent) is not encrypted)
    mirror = settings.mirror_root
    pages = mirror if mirror is not None and mirror.is_dir() else None
    return EncryptionReport(done.converted, side_files, done.left, others, pages)
