"""Files that other programs give out as a ZIP archive, a folder or one file, read piece by piece.

Nothing is unpacked: members are read where they lie, by names that we choose, so that a path in an
archive leads nowhere. An archive that holds far more than its size can say, or that cannot be read,
is BadInput. Lists of JSON are read record by record, however long they are.
"""

from __future__ import annotations

import codecs
import json
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import Any, BinaryIO

from reverie.core.errors import BadInput
from reverie.porting.importers.foreign_texts import (
    decode_json_at,
    exclude_links,
    parse_lenient_json,
)
from reverie.porting.importers.import_records import BadRecord, ForeignRecord, as_mapping

PIECE_BYTES = 1 << 20
# characters of one record of a list; a conversation of years has some million
MAX_RECORD_CHARS = 1 << 28
# bytes of a member that is read as a whole
MAX_WHOLE_BYTES = 1 << 28
# Bytes in an archive for each of its size. JSON packs 5 to 30 times; a bomb 1,000 times and more.
MAX_RATIO = 200
# … from here on: what is smaller harms nobody
UNCHECKED_BYTES = 1 << 26
MAX_MEMBERS = 1_000_000
ENCRYPTED = 0x1
ZIP_MARK = b"PK\x03\x04"
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_BETWEEN = re.compile(r"[\s,]*")
_RECORD = re.compile(r"\{\s*\"")
# A number or a word may be cut where the piece ends.
CUT_CHARS = 16


class ForeignFiles:
    """The files at a path: of a folder, of a ZIP archive, or the one that it is.

    Used in a `with` block. BadInput for an archive that is broken, encrypted or a bomb.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._zip: zipfile.ZipFile | None = None

    def __enter__(self) -> ForeignFiles:
        if self.path.is_file() and begins_as_zip(self.path):
            try:
                self._zip = zipfile.ZipFile(self.path)
            except ZIP_ERRORS as err:
                raise BadInput(f"{self.path.name} is a broken ZIP archive: {err}") from err
            self._refuse_bomb(self._zip)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._zip is not None:
            self._zip.close()

    def names(self, pattern: re.Pattern[str]) -> list[str]:
        """The files whose name, without the folders before it, fits the pattern; in order."""
        if self._zip is not None:
            found = [one.filename for one in self._zip.infolist() if not one.is_dir()]
        elif self.path.is_dir():
            # Exports lie flat: whoever names a home folder shall not wait for all of it.
            files = chain(self.path.glob("*"), self.path.glob("*/*"))
            own, _ = exclude_links(self.path, (one for one in files if one.is_file()))
            found = [one.relative_to(self.path).as_posix() for one in own]
        else:
            found = [self.path.name]
        return sorted(name for name in found if is_plain_name(name) and fits_name(name, pattern))

    def open(self, name: str) -> BinaryIO:
        """One of these files, to be read."""
        try:
            if self._zip is not None:
                return self._zip.open(name)  # type: ignore[return-value]
            path = self.path / name if self.path.is_dir() else self.path
            return path.open("rb")
        except ZIP_ERRORS as err:
            raise BadInput(f"{name} in {self.path.name} cannot be read: {err}") from err

    def read_json(self, name: str) -> Any:
        """The JSON value in a file; BadInput for what is none, or too large to be read at once."""
        try:
            with self.open(name) as file:
                data = file.read(MAX_WHOLE_BYTES + 1)
        except (*ZIP_ERRORS, OSError) as err:
            raise BadInput(f"{name} cannot be read: {err}") from err
        if len(data) > MAX_WHOLE_BYTES:
            raise BadInput(f"{name} is larger than {MAX_WHOLE_BYTES >> 20:,} MB")
        return parse_lenient_json(decode_piece(data))

    def records(
        self,
        name: str,
        zone: str,
        is_record: Callable[[Any], bool],
    ) -> Iterator[ForeignRecord | BadRecord]:
        """The records of a file that holds a list of JSON objects, one by one."""
        try:
            with self.open(name) as file:
                yield from iter_listed_records(file, name, zone, is_record)
        except (*ZIP_ERRORS, OSError) as err:
            yield BadRecord(name, f"it cannot be read: {err}")

    def _refuse_bomb(self, archive: zipfile.ZipFile) -> None:
        """Raise BadInput for an archive that is encrypted or unpacks to far more than it is."""
        members = archive.infolist()
        size = sum(one.file_size for one in members)
        packed = max(1, self.path.stat().st_size)
        if len(members) > MAX_MEMBERS or (size > UNCHECKED_BYTES and size / packed > MAX_RATIO):
            raise BadInput(
                f"{self.path.name} has {packed:,} bytes and says that it holds {size:,}: no export "
                "packs so well, and it was not opened. If it is real, unpack it and name the folder"
            )
        if any(one.flag_bits & ENCRYPTED for one in members):
            raise BadInput(f"{self.path.name} is encrypted: unpack it and name the folder")


def begins_as_zip(path: Path) -> bool:
    """True for what begins as an archive with something in it, whole or not."""
    with path.open("rb") as file:
        return file.read(len(ZIP_MARK)) == ZIP_MARK


def explain_unreadable_archive(path: Path) -> str:
    """Why an archive cannot be read; empty for one that can, and for what is none."""
    try:
        with ForeignFiles(path):
            return ""
    except (BadInput, OSError) as err:
        return str(err)


def is_plain_name(name: str) -> bool:
    """True for a name that stays below where it is, and that no system added."""
    parts = PurePosixPath(name.replace("\\", "/")).parts
    return not name.startswith("/") and ".." not in parts and "__MACOSX" not in parts


def fits_name(name: str, pattern: re.Pattern[str]) -> bool:
    """True if a path's last part, or with the folder before it, fits."""
    parts = PurePosixPath(name).parts
    return bool(pattern.fullmatch(parts[-1]) or pattern.fullmatch("/".join(parts[-2:])))


def decode_piece(data: bytes) -> str:
    """Bytes as text, by their mark or as UTF-8; what is no text becomes �."""
    return data.decode(choose_encoding(data), "replace")


def choose_encoding(data: bytes) -> str:
    """The encoding by the mark at the beginning."""
    return "utf-16" if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


class GrowingText:
    """Text of a file of which as much is held as is needed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        first = file.read(PIECE_BYTES)
        self._decoder = codecs.getincrementaldecoder(choose_encoding(first))("replace")
        self.text = self._decoder.decode(first)
        self.at = 0
        self.ended = not first

    def grow(self) -> bool:
        """Read on, as much again as is held; False at the end."""
        if self.ended:
            return False
        self.text, self.at = self.text[self.at :], 0
        data = self._file.read(max(PIECE_BYTES, len(self.text)))
        self.ended = not data
        self.text += self._decoder.decode(data, final=self.ended)
        return not self.ended


def iter_listed_records(
    file: BinaryIO,
    name: str,
    zone: str,
    is_record: Callable[[Any], bool],
) -> Iterator[ForeignRecord | BadRecord]:
    """The objects of a JSON list, one by one, and where one is not whole.

    After a broken one it goes on at the next object that `is_record`.
    """
    source = GrowingText(file)
    start = source.text.find("[")
    if source.text[: max(start, 0)].strip() or start < 0:
        yield BadRecord(name, "it is no list of records")
        return
    source.at = start + 1
    number = 0
    while True:
        found = _BETWEEN.match(source.text, source.at)
        assert found is not None  # it fits nothing, too
        source.at = found.end()
        if source.at >= len(source.text):
            if source.grow():
                continue
            yield BadRecord(name, "it ends in the middle: its last bracket is missing")
            return
        if source.text[source.at] == "]":
            return
        number += 1
        where = f"{name}, record {number:,}"
        try:
            value = take_value(source)
        except (ValueError, RecursionError) as err:
            yield BadRecord(where, f"it is not JSON: {getattr(err, 'msg', 'nested too deeply')}")
            value = skip_to_record(source, is_record)
            if value is None:
                return
            number += 1
            where = f"{name}, record {number:,}"
        yield ForeignRecord(as_mapping(value), where, zone)


def take_value(source: GrowingText) -> Any:
    """The JSON value that begins here, with which the source goes on behind it."""
    while True:
        try:
            value, source.at = decode_json_at(source.text, source.at)
            return value
        except json.JSONDecodeError as err:
            is_cut = err.pos >= len(source.text) - CUT_CHARS or err.msg.startswith("Unterminated")
            is_long = len(source.text) - source.at > MAX_RECORD_CHARS
            if not is_cut or is_long or not source.grow():
                raise


def skip_to_record(
    source: GrowingText,
    is_record: Callable[[Any], bool],
) -> Any:
    """The next whole record behind a broken one; None if there is no other."""
    source.at += 1
    while True:
        for found in _RECORD.finditer(source.text, source.at):
            source.at = found.start()
            try:
                value = take_value(source)
            except (ValueError, RecursionError):
                source.at += 1
                break
            if is_record(value):
                return value
            break
        else:
            source.at = len(source.text)
            if not source.grow():
                return None
