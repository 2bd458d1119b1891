"""Files as text and JSON as it is found in the wild; Markdown as passages. Reading only."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.kinds import KINDS
from reverie.porting.importers.import_records import (
    BadRecord,
    ForeignRecord,
    FoundRecord,
    ImportItem,
    ImportRemark,
    as_mapping,
)
from reverie.privacy import hide_private_passages
from reverie.privacy.sensitive_files import is_marked_sensitive
from reverie.text.tokenization import fingerprint_text

MAX_FILE_BYTES = 1 << 30
# bytes that tell whose a file is
HEAD_BYTES = 1 << 16
# Characters of one record in which commas are mended: without a bound, each broken record would be
# copied up to the end of the file.
MEND_WINDOW = 1 << 16
_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[\]}])')
_BULLET = re.compile(r"(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*$")
_FRONT = re.compile(r"\A---\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FENCE = re.compile(r"```|~~~")
_BETWEEN = re.compile(r"[\s,]*")
# An object that begins with a name, after a comma or at a line of its own.
_RECORD = re.compile(r'[\n,]\s*(?=\{\s*")')
_DECODER = json.JSONDecoder()
# A line between parts says nothing.
_RULE = re.compile(r"(?:[-*_]\s*){3,}$")


def read_import_text(path: Path) -> str:
    """The text of a file, whatever its line ends and with or without a byte order mark."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BadInput(f"{path.name} is larger than a gigabyte")
        data = path.read_bytes()
    except OSError as err:
        raise BadInput(f"{path.name} cannot be read: {err.strerror}") from err
    return decode_import_text(data)


def read_file_head(path: Path) -> str:
    """How the text of a file begins; empty for what is no file or cannot be read."""
    try:
        with path.open("rb") as file:
            return decode_import_text(file.read(HEAD_BYTES))
    except OSError:
        return ""


def decode_import_text(data: bytes) -> str:
    """Bytes as text; what is no text there becomes �."""
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return data.decode(encoding, "replace").replace("\r\n", "\n")


def exclude_links(
    root: Path,
    files: Iterable[Path],
) -> tuple[list[Path], tuple[ImportRemark, ...]]:
    """Those files that lie in a folder by themselves, and a remark on those that links lead to.

    A link may lead anywhere, and nobody who imports a folder means what lies outside of it.
    """
    own_files, links = list[Path](), list[str]()
    for file in files:
        parts = file.relative_to(root).parts
        ways = (root.joinpath(*parts[:length]) for length in range(1, len(parts) + 1))
        if any(way.is_symlink() for way in ways):
            links.append("/".join(parts))
        else:
            own_files.append(file)
    if not links:
        return own_files, ()
    return own_files, (ImportRemark(f"Links are not followed; left out: {', '.join(links)}"),)


def read_page(path: Path) -> str:
    """The text of a Markdown page without what is private in it, every line in its place.

    Nothing of one that says of itself that it is sensitive.
    """
    text = read_import_text(path)
    return "" if is_marked_sensitive(text) else hide_private_passages(text, keep_lines=True)


def read_pages(
    root: Path,
    pages: Iterable[Path],
    read_one: Callable[[Path, str], Iterable[ImportItem]],
) -> Iterator[ImportItem]:
    """What stands in the pages of a folder, links apart, and remarks on those that say nothing.

    `read_one` is given a page and its name in the folder. One that cannot be read is a bad record.
    """
    files, link_remarks = exclude_links(root, pages)
    yield from link_remarks
    for file in files:
        name = file.relative_to(root).as_posix()
        try:
            if is_marked_sensitive(read_import_text(file)):
                yield ImportRemark(
                    f"{file.name} says that it is sensitive: nothing of it was taken in"
                )
            yield from read_one(file, name)
        except (BadInput, OSError) as err:
            yield BadRecord(name, str(err))


def list_pages(path: Path) -> tuple[Path, list[Path]]:
    """The folder that a path means, and the Markdown pages that are meant with it."""
    return (path, sorted(path.rglob("*.md"))) if path.is_dir() else (path.parent, [path])


def parse_lenient_json(text: str) -> Any:
    """A JSON value, also with stray commas before a bracket; BadInput with the line of an error."""
    try:
        return json.loads(text)
    except RecursionError as err:
        raise BadInput("it is nested too deeply") from err
    except ValueError as err:
        try:
            return json.loads(blank_stray_commas(text))
        except ValueError:
            line = getattr(err, "lineno", 1)
            raise BadInput(f"line {line} is not JSON: {getattr(err, 'msg', err)}") from err


def parse_json_column(value: Any) -> Any:
    """The value in a column that holds JSON, as text or bytes; a text that is none stays a text."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def iter_json_records(
    text: str,
    name: str,
    file: str,
    zone: str = "UTC",
) -> Iterator[ForeignRecord | BadRecord]:
    """The records of {"<name>": […]} or of a bare list, one by one; `file` is what it is called.

    Yields those that are whole, and where one is not. Raises BadInput if there is no such list.
    """
    at = find_list_start(text, name)
    if at < 0:
        raise BadInput(f'there is no list "{name}" in it')
    line, counted = 1, 0
    while True:
        between = _BETWEEN.match(text, at)
        # it matches everywhere, if only nothing
        assert between is not None
        at = between.end()
        if at >= len(text) or text[at] == "]":
            return
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, at = decode_json_at(text, at)
            yield ForeignRecord(as_mapping(value), f"{file}, line {line}", zone)
        except (ValueError, RecursionError) as err:
            reason = getattr(err, "msg", "nested too deeply")
            yield BadRecord(f"{file}, line {line}", f"it is not JSON: {reason}")
            at = find_next_record(text, at + 1)


def blank_stray_commas(text: str) -> str:
    """JSON with blanks for commas before a closing bracket, so that all else stays in place."""
    return _COMMA.sub(lambda found: found[1] or " ", text)


def decode_json_at(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins at a place, and where it ends. ValueError for none."""
    try:
        return _DECODER.raw_decode(text, at)
    except ValueError:
        window = text[at : at + MEND_WINDOW]
        mended = blank_stray_commas(window)
        if mended == window:
            raise
        value, end = _DECODER.raw_decode(mended)
        return value, at + end


def find_next_record(text: str, at: int) -> int:
    """Where the next whole record with an id or a line of its own begins; else the text's end."""
    for found in _RECORD.finditer(text, at):
        try:
            value, _ = decode_json_at(text, found.end())
        except (ValueError, RecursionError):
            continue
        if "id" in value or "\n" in found[0]:
            return found.end()
    return len(text)


def find_list_start(text: str, name: str) -> int:
    """Where the first record of a list stands; -1 for no such list."""
    if text.lstrip().startswith("["):
        return text.index("[") + 1
    found = re.search(rf'"{name}"\s*:\s*\[', text)
    return found.end() if found else -1


class Passage(NamedTuple):
    """A bullet or a paragraph of a Markdown page."""

    line: int
    heading: str
    text: str
    bullet: bool = False


def split_passages(text: str, first: int = 1) -> Iterator[Passage]:
    """The bullets and paragraphs of a page, each with its heading.

    A bullet keeps what is indented below it; lines count from `first`.
    """
    heading = ""
    is_fenced = False
    lines: list[str] = []
    begun = Passage(first, "", "")
    for number, line in enumerate(text.split("\n"), start=first):
        was_fenced = is_fenced
        if _FENCE.match(line.lstrip()):
            is_fenced = not is_fenced
        # in a code block nothing is a heading or a bullet
        title = None if was_fenced else _HEADING.match(line)
        if title or (not was_fenced and is_passage_start(line, lines, begun.bullet)):
            yield from finish_passage(begun, lines)
            heading = title[1] if title else heading
            lines = []
        if title or (not lines and not line.strip()):
            continue
        if not lines:
            is_bullet = not was_fenced and _BULLET.match(line) is not None
            begun = Passage(number, heading, "", is_bullet)
        lines.append(line)
    yield from finish_passage(begun, lines)


def is_passage_start(
    line: str,
    before: Sequence[str],
    in_bullet: bool,
) -> bool:
    """True for a bullet at the margin, or a line after an empty one.

    What is indented below a bullet belongs to it.
    """
    if _BULLET.match(line):
        return True
    is_apart = bool(before) and not before[-1].strip() and bool(line.strip())
    return is_apart and not (in_bullet and line[0].isspace())


def finish_passage(begun: Passage, lines: Sequence[str]) -> Iterator[Passage]:
    """A passage, if its lines say something."""
    text = "\n".join(lines).strip()
    if text and not _RULE.fullmatch(text):
        yield begun._replace(text=_BULLET.sub("", text, count=1) if begun.bullet else text)


def split_frontmatter(text: str) -> tuple[dict[str, Any], str, int]:
    """The YAML at the head of a page, the rest, and the number of the rest's first line.

    A head that is no YAML is text.
    """
    found = _FRONT.match(text)
    if not found:
        return {}, text, 1
    import yaml

    try:
        head = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError, RecursionError):
        head = None
    if not isinstance(head, dict):
        return {}, text, 1
    fields = {str(name): value for name, value in head.items()}
    return fields, text[found.end() :], found[0].count("\n") + 1


def to_passage_record(
    name: str,
    one: Passage,
    kind: str,
) -> FoundRecord:
    """A passage of a page: named by what it says, for it has no other name.

    A heading such as "Preferences" says what kind it is; else it is of this `kind`.
    """
    plain = one.heading.strip().lower().rstrip(":")
    for row in KINDS.values():
        if plain in (row.group.lower(), row.name, f"{row.name}s"):
            kind = row.name
            break
    return FoundRecord(
        key=f"{name}#{fingerprint_passage(one.text)}",
        text=one.text,
        where=f"{name}, line {one.line}",
        fields={"kind": kind, "title": one.heading},
    )


def fingerprint_passage(text: str) -> str:
    """What tells a passage from others, for those that have no name."""
    return fingerprint_text(" ".join(text.split())).hex()[:16]
