"""A JSON text altered in place: what is added or taken out is cut in, every other byte stays as
somebody wrote it.

Indentation, arrays on one line, escapes, numbers, line ends, a byte order mark: all of it is the
owner's. A `JsonDraft` makes each change twice, in the text and in the data that it means, and
`finish` holds the one against the other: a text that does not say what was meant is never written.
Each cut has its inverse, so that a ledger can bring the text back without keeping a copy of it (the
rest of such files is full of keys and tokens).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.core.errors import BadInput

BOM = "\ufeff"
BLANK = " \t\r\n"
# Whose values may be shown, as far as they are ours.
SHOWN_NAMES: Mapping[str, Mapping[str, Any]] = {
    "hooks": {},
    "version": {},
    "mcpServers": {"reverie": {}},
}
DECODER = json.JSONDecoder()
BY_HAND = "Mend it, or wire Reverie by hand: reverie install HOST --print"

JsonPath = tuple[str | int, ...]


class TextCut(NamedTuple):
    """The characters from `start` to `end` give way to a text."""

    start: int
    end: int
    text: str

    def apply_to(self, text: str) -> str:
        """The text with this cut made."""
        return text[: self.start] + self.text + text[self.end :]

    def inverse(self, text: str) -> TextCut:
        """What takes this cut back, once it was made in the text."""
        return TextCut(
            self.start,
            self.start + len(self.text),
            text[self.start : self.end],
        )


class JsonPart(NamedTuple):
    """A member of an object, or an element of an array: where it begins, where its value does,
    where it ends.
    """

    name: str | int
    start: int
    at: int
    end: int


class JsonDraft:
    """A JSON text that is being altered. Its root is an object; an empty text is an empty one."""

    def __init__(self, text: str) -> None:
        self.before = text
        self.text = text if text.strip(BLANK + BOM) else text.rstrip(BLANK) + "{}\n"
        self.data: dict[str, Any] = parse_json_object(self.text)
        self.undo: list[TextCut] = [] if self.text == text else [TextCut(0, len(self.text), text)]

    def add(
        self,
        path: JsonPath,
        name: str | None,
        value: Any,
    ) -> None:
        """Put a value at the end of the object at a path under a name, or of the array there (name
        None).
        """
        there = self.value(path)
        if name is None:
            there.append(value)
        else:
            there[name] = value
        self._cut(plan_insertion(self.text, path, name, value))

    def remove(self, path: JsonPath) -> None:
        """Take out what is at a path."""
        *above, last = path
        del self.value(tuple(above))[last]
        self._cut(plan_removal(self.text, path))

    def value(self, path: JsonPath) -> Any:
        """What is at a path."""
        found: Any = self.data
        for name in path:
            found = found[name]
        return found

    def finish(self) -> str:
        """The text, which says what was meant."""
        # Dumped, so that the order of names counts, and 1 is not 1.0.
        if self.undo and json.dumps(parse_json_object(self.text)) != json.dumps(self.data):
            raise BadInput(f"it cannot be altered without rewriting all of it. {BY_HAND}")
        return self.text

    def _cut(self, cut: TextCut) -> None:
        # The last cut is taken back first.
        self.undo.insert(0, cut.inverse(self.text))
        self.text = cut.apply_to(self.text)


def apply_cuts(text: str, cuts: Iterable[Sequence[Any]]) -> str:
    """A text with these cuts made, one after the other."""
    for cut in cuts:
        text = TextCut(*cut).apply_to(text)
    return text


def hide_foreign_values(text: str) -> str:
    """A JSON text to be looked at: of what is none of ours the names alone, for the values may be
    secrets.
    """
    if not text.strip(BLANK + BOM):
        return text
    return hide_foreign_values_at(text, locate_value(text, ()), SHOWN_NAMES)


def hide_foreign_values_at(
    text: str,
    start: int,
    shown: Mapping[str, Mapping[str, Any]],
) -> str:
    """The same with the object that begins at `start`: names that are shown stand with those shown
    within them.
    """
    if text[start] != "{":
        return text
    # From the end, so that the places of the parts before stay what they are.
    for part in reversed(scan_parts(text, start)[0]):
        if part.name not in shown:
            text = TextCut(part.at, part.end, "…").apply_to(text)
        elif within := shown[str(part.name)]:
            text = hide_foreign_values_at(text, part.at, within)
    return text


def parse_json_object(text: str) -> dict[str, Any]:
    """What a JSON text holds; BadInput if that is no object."""
    try:
        data = json.loads(text.removeprefix(BOM)) if text.strip(BLANK + BOM) else {}
    except (ValueError, RecursionError) as err:
        raise BadInput(f"it is no JSON that can be read ({err}). {BY_HAND}") from err
    if not isinstance(data, dict):
        raise BadInput(f"it holds no JSON object. {BY_HAND}")
    return data


def plan_insertion(
    text: str,
    path: JsonPath,
    name: str | None,
    value: Any,
) -> TextCut:
    """What puts a value at the end of a container, written as its neighbours are."""
    start = locate_value(text, path)
    inside, close = scan_parts(text, start)
    if inside:
        last = inside[-1]
        lead = last_line_break(text[: last.start])
        return TextCut(
            last.end,
            last.end,
            "," + lead + format_json_value(text, lead, name, value),
        )
    line_end = "\r\n" if "\r\n" in text else "\n"
    # Somebody keeps the file on one line, and so does the new part.
    if path and "\n" not in text.strip(BLANK):
        return TextCut(start + 1, close, format_json_value(text, "", name, value))
    margin = re.match(
        r"[ \t]*",
        text[text.rfind("\n", 0, start) + 1 :].removeprefix(BOM),
    )
    outer = margin[0] if margin else ""
    lead = line_end + outer + detect_indent(text)
    written = format_json_value(text, lead, name, value)
    return TextCut(start + 1, close, lead + written + line_end + outer)


def plan_removal(text: str, path: JsonPath) -> TextCut:
    """What takes a part out, with the comma that goes with it."""
    *above, name = path
    start = locate_value(text, tuple(above))
    inside, close = scan_parts(text, start)
    at = inside.index(find_only_part(inside, name))
    if len(inside) == 1:
        return TextCut(start + 1, close, "")
    if at + 1 < len(inside):
        return TextCut(inside[at].start, inside[at + 1].start, "")
    # The last of several: the comma before it goes.
    return TextCut(inside[at - 1].end, inside[at].end, "")


def format_json_value(
    text: str,
    lead: str,
    name: str | None,
    value: Any,
) -> str:
    """A value, with its name, in lines if what leads to it begins one."""
    colon = ": "
    if "\n" in lead:
        made = json.dumps(
            value,
            ensure_ascii=False,
            indent=detect_indent(text),
        ).replace("\n", lead)
    else:
        # Minified text stays minified.
        comma = ", "
        if '": ' not in text:
            comma, colon = ",", ":"
        made = json.dumps(
            value,
            ensure_ascii=False,
            separators=(comma, colon),
        )
    return made if name is None else json.dumps(name, ensure_ascii=False) + colon + made


def detect_indent(text: str) -> str:
    """What a text indents by."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def last_line_break(text: str) -> str:
    """The blank that a text ends with, from its last line end on."""
    blank = text[len(text.rstrip(BLANK)) :]
    found = re.search(r"\r?\n[ \t]*\Z", blank)
    return found[0] if found else blank


def locate_value(text: str, path: JsonPath) -> int:
    """Where the value at a path begins."""
    at = skip_blank(text, len(BOM) if text.startswith(BOM) else 0)
    for name in path:
        at = find_only_part(scan_parts(text, at)[0], name).at
    return at


def find_only_part(inside: Sequence[JsonPart], name: str | int) -> JsonPart:
    """The one part of that name; BadInput if an object has the name twice: nobody can say which one
    counts.
    """
    found = [part for part in inside if part.name == name]
    if len(found) > 1:
        raise BadInput(f"it holds {name!r} twice. {BY_HAND}")
    return found[0]


def scan_parts(text: str, start: int) -> tuple[list[JsonPart], int]:
    """What the object or array that begins at `start` holds, and where it closes. The text is valid
    JSON.
    """
    found: list[JsonPart] = []
    named, at = text[start] == "{", skip_blank(text, start + 1)
    while text[at] not in "]}":
        begin, name = at, len(found)
        if named:
            name, at = DECODER.raw_decode(text, at)
            at = skip_blank(text, skip_blank(text, at) + 1)
        _, end = DECODER.raw_decode(text, at)
        found.append(JsonPart(name, begin, at, end))
        at = skip_blank(text, end)
        if text[at] == ",":
            at = skip_blank(text, at + 1)
    return found, at


def skip_blank(text: str, at: int) -> int:
    """The first place from `at` on that is not blank."""
    while text[at] in BLANK:
        at += 1
    return at
