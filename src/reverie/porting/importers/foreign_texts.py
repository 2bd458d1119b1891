"""Files as text and JSON as it is found in the wild; Markdown as passages. Reading only."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.kinds import KINDS
from reverie.porting.importers.import_records import ImportRemark
from reverie.privacy import hide_private_passages
from reverie.privacy.sensitive_files import is_marked_sensitive
from reverie.text.tokenization import fingerprint_text

MAX_FILE_BYTES = 1 << 30  # of one file
HEAD_BYTES = 1 << 16  # bytes that tell whose a file is
MEND_WINDOW = 1 << 16  # characters of one record in which commas are mended
_COMMA = re.compile(r'("(?:[^"\\]|\\.)*")|,(?=\s*[\]}])')
_BULLET = re.compile(r"(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*$")
_FRONT = re.compile(r"\A---\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_FENCE = re.compile(r"```|~~~")
_BETWEEN = re.compile(r"[\s,]*")
_RECORD = re.compile(r'[\n,]\s*(?=\{\s*")')
_DECODER = json.JSONDecoder()
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
    """How the text of a file begins; nothing of what is no file or cannot be read."""
    try:
        with path.open("rb") as file:
            return decode_import_text(file.read(HEAD_BYTES))
    except OSError:
        return ""


def decode_import_text(data: bytes) -> str:
    """Bytes as text; what is no text there becomes �."""
    code = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    return data.decode(code, "replace").replace("\r\n", "\n")


def exclude_links(root: Path, files: Iterable[Path]) -> tuple[list[Path], tuple[ImportRemark, ...]]:
    """Those files that lie in a folder by themselves, and what is to be said where a link leads to
    others: it may lead anywhere, and nobody who imports a folder means what lies outside of it.
    """
    kept, links = list[Path](), list[str]()
    for file in files:
        parts = file.relative_to(root).parts
        linked = any(
            root.joinpath(*parts[:place]).is_symlink() for place in range(1, len(parts) + 1)
        )
        (links.append("/".join(parts)) if linked else kept.append(file))
    return kept, (
        ImportRemark(f"Links are not followed; left out: {', '.join(links)}"),
    ) if links else ()


def read_page(path: Path) -> str:
    """The same of a Markdown page without what is private in it, every line in its place.

    Nothing of one that says of itself that it is sensitive.
    """
    text = read_import_text(path)
    return "" if is_marked_sensitive(text) else hide_private_passages(text, keep_lines=True)


def remark_sensitive_pages(files: Iterable[Path]) -> Iterator[ImportRemark]:
    """What is to be said of pages that are sensitive."""
    for file in files:
        with suppress(BadInput):  # who reads it says what is wrong with it
            if is_marked_sensitive(read_import_text(file)):
                yield ImportRemark(
                    f"{file.name} says that it is sensitive: nothing of it was taken in"
                )


def read_import_json(path: Path) -> Any:
    """The JSON value of a file; BadInput with the line where it is none."""
    return parse_lenient_json(read_import_text(path))


def parse_lenient_json(text: str) -> Any:
    """A JSON value, also with commas before a closing bracket."""
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


class JsonRecord(NamedTuple):
    """A record of a list in a JSON file, and the line on which it begins."""

    line: int
    value: Any
    why: str = ""  # why there is none


def iter_json_records(text: str, name: str) -> Iterator[JsonRecord]:
    """The records of {"<name>": […]} or of a bare list, one by one: those that are whole, and where
    one is not.
    """
    at = find_list_start(text, name)
    if at < 0:
        raise BadInput(f'there is no list "{name}" in it')
    line, counted = 1, 0
    while (at := _BETWEEN.match(text, at).end()) < len(text) and text[at] != "]":  # type: ignore[union-attr]
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, at = decode_json_at(text, at)
            yield JsonRecord(line, value)
        except (ValueError, RecursionError) as err:
            yield JsonRecord(
                line, None, f"it is not JSON: {getattr(err, 'msg', 'nested too deeply')}"
            )
            at = find_next_record(text, at + 1)


def blank_stray_commas(text: str) -> str:
    """JSON without commas before a closing bracket; a blank stands for each, so that every place
    stays where it is.
    """
    return _COMMA.sub(lambda found: found[1] or " ", text)


def decode_json_at(text: str, at: int) -> tuple[Any, int]:
    """The JSON value that begins at a place, and where it ends. ValueError for none."""
    try:
        return _DECODER.raw_decode(text, at)
    except ValueError:
        part = text[at : at + MEND_WINDOW]
        if (better := blank_stray_commas(part)) == part:
            raise
        value, end = _DECODER.raw_decode(better)
        return value, at + end


def find_next_record(text: str, at: int) -> int:
    """Where the next record begins that is whole, and has a name or a line of its own; else the
    text's end.
    """
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
    """The bullets and paragraphs of a page, each with its heading; a bullet keeps what is indented
    below it.
    """
    heading, fenced, lines, begun = "", False, list[str](), Passage(first, "", "")
    for number, line in enumerate(text.split("\n"), start=first):
        inside, fenced = fenced, fenced ^ (_FENCE.match(line.lstrip()) is not None)
        found = None if inside else _HEADING.match(line)
        if found or (not inside and is_passage_start(line, lines, begun.bullet)):
            yield from finish_passage(begun, lines)
            heading, lines = found[1] if found else heading, []
        if found or (not lines and not line.strip()):
            continue
        if not lines:
            begun = Passage(number, heading, "", not inside and _BULLET.match(line) is not None)
        lines.append(line)
    yield from finish_passage(begun, lines)


def is_passage_start(line: str, before: Sequence[str], bullet: bool) -> bool:
    """Whether a line begins a passage: a bullet at the margin, or what follows an empty line unless
    it is indented below a bullet.
    """
    apart = bool(before) and not before[-1].strip() and bool(line.strip())
    return _BULLET.match(line) is not None or (apart and not (bullet and line[0].isspace()))


def finish_passage(begun: Passage, lines: Sequence[str]) -> Iterator[Passage]:
    """A passage, if its lines say something."""
    told = "\n".join(lines).strip()
    if told and not _RULE.fullmatch(told):
        yield begun._replace(text=_BULLET.sub("", told, count=1) if begun.bullet else told)


def split_frontmatter(text: str) -> tuple[dict[str, Any], str, int]:
    """The YAML at the head of a page, the rest, and the number of the rest's first line. YAML that
    is none is text.
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
    return (
        {str(name): value for name, value in head.items()},
        text[found.end() :],
        found[0].count("\n") + 1,
    )


def kind_from_heading(heading: str, otherwise: str) -> str:
    """The kind of what stands under a heading such as "Preferences"."""
    plain = heading.strip().lower().rstrip(":")
    return next(
        (
            row.name
            for row in KINDS.values()
            if plain in (row.group.lower(), row.name, f"{row.name}s")
        ),
        otherwise,
    )


def fingerprint_passage(text: str) -> str:
    """What tells a passage from others, for those that have no name."""
    return fingerprint_text(" ".join(text.split())).hex()[:16]
