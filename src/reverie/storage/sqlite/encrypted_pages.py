"""The pages of an encrypted database, looked at without decrypting them.

SQLCipher seals each page of 4,096 bytes with an HMAC of what it encrypted, so a page that was
altered is told from one that was not, and a wrong key from damage: with it no page is whole. One
altered page makes SQLCipher give up for the whole connection; a page of zeros it takes for one that
was never written, which SQLite then calls damaged alone, as it does in a plain file.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PAGE_BYTES, SALT_BYTES, HMAC_BYTES = 4_096, 16, 32
SALT_MASK, HMAC_ROUNDS = 0x3A, 2  # of SQLCipher 4
# Of 4,096 random bytes each value comes about 16 times, and hardly one of 256 is missing. A page of
# a plain database has hundreds of zeros; a text has no more than a hundred values.
MAX_SAME, MIN_VALUES = 64, 240


def iter_sealed_pages(path: Path, key: bytes) -> Iterator[tuple[bytes, bool]]:
    """Each page of a file, and whether it is as this key sealed it."""
    with path.open("rb") as file:
        salt = file.read(SALT_BYTES)
        masked = bytes(byte ^ SALT_MASK for byte in salt)
        hmac_key = hashlib.pbkdf2_hmac("sha512", key, masked, HMAC_ROUNDS, len(key))
        file.seek(0)
        number = 0
        while page := file.read(PAGE_BYTES):
            number += 1
            yield page, is_sealed_page(page, number, hmac_key)


def is_sealed_page(page: bytes, number: int, hmac_key: bytes) -> bool:
    """True for a page of this number that is as it was sealed, or was never written."""
    if len(page) < PAGE_BYTES:
        return False
    if not any(page):
        return True
    covered = page[SALT_BYTES if number == 1 else 0 : -HMAC_BYTES]
    sealed = hmac.digest(hmac_key, covered + number.to_bytes(4, "little"), "sha256")
    return hmac.compare_digest(sealed, page[-HMAC_BYTES:])


def has_whole_page(path: Path, key: bytes) -> bool:
    """True if at least one page was sealed with this key."""
    return any(is_whole and any(page) for page, is_whole in iter_sealed_pages(path, key))


def write_mended_copy(path: Path, key: bytes, copy: Path) -> None:
    """Copy an encrypted database, with zeros in place of each page that is not as it was sealed."""
    with copy.open("wb") as file:
        for page, is_whole in iter_sealed_pages(path, key):
            file.write(page if is_whole else bytes(PAGE_BYTES))


def looks_encrypted(path: Path) -> bool:
    """True for a file whose first pages are as random as encrypted ones."""
    with path.open("rb") as file:
        pages = [page for page in (file.read(PAGE_BYTES) for _ in range(2)) if page]
    return bool(pages) and all(map(is_random, pages))


def is_random(page: bytes) -> bool:
    """True for bytes that are as evenly spread as encrypted ones."""
    values = Counter(page)
    return len(values) >= MIN_VALUES and max(values.values()) <= MAX_SAME
