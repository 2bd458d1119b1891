"""The pages of an encrypted database, looked at without decrypting them.

SQLCipher seals each page of 4,096 bytes with an HMAC of what it encrypted, so a page that was
altered is told from one that was not, and a wrong key from damage: with it no page is whole. One
altered page makes SQLCipher give up for the whole connection; a page of zeros it takes for one that
was never written, which SQLite then calls damaged alone, as it does in a plain file.

What a page holds is encrypted with the key alone, whatever file it stands in: the salt at the
beginning of each file goes only into its HMAC. So a page of a backup can take the place of the same
one in the file, sealed anew, without being decrypted.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

PAGE_BYTES, SALT_BYTES, HMAC_BYTES = 4_096, 16, 32
SALT_MASK, HMAC_ROUNDS = 0x3A, 2  # of SQLCipher 4
# Of 4,096 random bytes each value comes about 16 times, and hardly one of 256 is missing. A page of
# a plain database has hundreds of zeros; a text has no more than a hundred values.
MAX_SAME, MIN_VALUES = 64, 240


def iter_sealed_pages(path: Path, key: bytes) -> Iterator[tuple[bytes, bool]]:
    """Each page of a file, and whether it is as this key sealed it."""
    hmac_key = derive_hmac_key(read_salt(path, key), key)
    with path.open("rb") as file:
        number = 0
        while page := file.read(PAGE_BYTES):
            number += 1
            yield page, is_sealed_page(page, number, hmac_key)


def read_salt(path: Path, key: bytes) -> bytes:
    """The salt of a file, right also where one bit of it was flipped: the second page tells."""
    with path.open("rb") as file:
        salt = file.read(SALT_BYTES)
        file.seek(PAGE_BYTES)
        page = file.read(PAGE_BYTES)
    number = int.from_bytes(salt, "little")
    flipped = (number ^ 1 << bit for bit in range(8 * len(salt)))
    for one in (number, *flipped) if any(page) else ():
        candidate = one.to_bytes(len(salt), "little")
        if is_sealed_page(page, 2, derive_hmac_key(candidate, key)):
            return candidate
    return salt


def derive_hmac_key(salt: bytes, key: bytes) -> bytes:
    """The key by which the pages of a file with this salt are sealed."""
    masked = bytes(byte ^ SALT_MASK for byte in salt)
    return hashlib.pbkdf2_hmac("sha512", key, masked, HMAC_ROUNDS, len(key))


def is_sealed_page(page: bytes, number: int, hmac_key: bytes) -> bool:
    """True for a page of this number that is as it was sealed, or was never written."""
    if len(page) < PAGE_BYTES:
        return False
    if not any(page):
        return True
    return hmac.compare_digest(seal_of_page(page, number, hmac_key), page[-HMAC_BYTES:])


def seal_of_page(page: bytes, number: int, hmac_key: bytes) -> bytes:
    """The HMAC that stands at the end of a page of this number."""
    covered = page[SALT_BYTES if number == 1 else 0 : -HMAC_BYTES]
    return hmac.digest(hmac_key, covered + number.to_bytes(4, "little"), "sha256")


def has_whole_page(path: Path, key: bytes) -> bool:
    """True if at least one page was sealed with this key."""
    return any(is_whole and any(page) for page, is_whole in iter_sealed_pages(path, key))


def write_mended_copy(
    path: Path, key: bytes, copy: Path, spare: Mapping[int, bytes] | None = None
) -> None:
    """Copy an encrypted database, with zeros in place of each page that is not as it was sealed, or
    with the `spare` page of this number, which was encrypted with the same key.
    """
    spare = spare or {}
    salt = read_salt(path, key)
    hmac_key = derive_hmac_key(salt, key)
    with copy.open("wb") as file:
        for number, (page, is_whole) in enumerate(iter_sealed_pages(path, key), 1):
            if is_whole:
                file.write(salt + page[SALT_BYTES:] if number == 1 else page)
            elif number in spare:
                body = spare[number][:-HMAC_BYTES]
                body = salt + body[SALT_BYTES:] if number == 1 else body
                file.write(body + seal_of_page(body + bytes(HMAC_BYTES), number, hmac_key))
            else:
                file.write(bytes(PAGE_BYTES))


def read_spare_pages(path: Path, key: bytes, backup: Path) -> dict[int, bytes]:
    """For each page of a file that is not as it was sealed, the same page of a backup, if that is
    encrypted with this key and whole there.
    """
    wanted = {
        number
        for number, (_, is_whole) in enumerate(iter_sealed_pages(path, key), 1)
        if not is_whole
    }
    return {
        number: page
        for number, (page, is_whole) in enumerate(iter_sealed_pages(backup, key), 1)
        if number in wanted and is_whole and any(page)
    }


def looks_encrypted(path: Path) -> bool:
    """True for a file whose first pages are as random as encrypted ones."""
    with path.open("rb") as file:
        pages = [page for page in (file.read(PAGE_BYTES) for _ in range(2)) if page]
    return bool(pages) and all(map(is_random, pages))


def is_random(page: bytes) -> bool:
    """True for bytes that are as evenly spread as encrypted ones."""
    values = Counter(page)
    return len(values) >= MIN_VALUES and max(values.values()) <= MAX_SAME
