"""Looking for texts in the bytes of a database file: whether anything that was erased is left."""

from collections.abc import Collection
from pathlib import Path

from reverie.storage.erased_texts import MIN_DISTINCTIVE_CHARS, list_written_forms

CHUNK = 1 << 24


def is_text_left(path: Path, texts: Collection[str]) -> bool:
    """True if a file holds one of these texts, as it is written or as JSON writes it, or as many
    letters of its beginning as tell it.

    Reading a file takes a twentieth of writing it anew, and others go on writing meanwhile.
    """
    forms = {
        form for text in texts for form in list_written_forms(text[:MIN_DISTINCTIVE_CHARS])
    } - {""}
    wanted = {one.encode("utf-8", "replace").lower() for one in (*forms, *map(str.lower, forms))}
    overlap = max(map(len, wanted), default=1) - 1
    with path.open("rb") as file:
        before = b""
        while chunk := file.read(CHUNK):
            data = before + chunk.lower()
            if any(one in data for one in wanted):
                return True
            before = data[-overlap:] if overlap else b""
    return False
