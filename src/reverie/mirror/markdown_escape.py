"""A memory's text as the lines of a list item in Markdown, and back.

`decode_item(encode_item(text))` is the text, always.

Only what would be misread is written otherwise: the beginning of a comment (an id stands in one),
characters that end a line or that an editor drops (control characters, white space at an end), as
HTML entities. Such an entity in the text itself gets an `amp;` more. All else, Markdown too, stands
as it was said.
"""

import re

OUR_ENTITY = r"(?:lt;!--|#[0-9]{1,7};)"
_LIKE_OURS = re.compile(rf"&(?=(?:amp;)*{OUR_ENTITY})")
_WRITTEN = re.compile(r"&((?:amp;)*)(?:lt;!--|#([0-9]{1,7});)")
# NUL … US but tab and newline, DEL, C1, what Unicode calls line ends, halves of characters, the
# byte order mark.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff]")
_LAST = re.compile(r"[ \t](?=\n|\Z)")
INDENT = "  "


def to_entity(ch: str) -> str:
    """A character as an HTML entity, by its number."""
    return f"&#{ord(ch)};"


def encode_item(text: str) -> list[str]:
    """The lines of an item: the first without its bullet, the others indented unless empty."""
    safe = _LIKE_OURS.sub("&amp;", text).replace("<!--", "&lt;!--")
    safe = _UNSEEN.sub(lambda found: to_entity(found[0]), safe)
    body = safe.strip("\n")
    newline = to_entity("\n")
    leading = len(safe) - len(safe.lstrip("\n"))
    trailing = len(safe) - len(safe.rstrip("\n"))
    # Of nothing but newlines all are leading ones.
    body = newline * leading + body + newline * (trailing if body else 0)
    body = _LAST.sub(lambda found: to_entity(found[0]), body)
    if body[:1].isspace():
        body = to_entity(body[0]) + body[1:]
    first, *others = body.split("\n")
    return [first, *(INDENT + line if line else "" for line in others)]


def decode_item(lines: list[str]) -> str:
    """The text that the lines of an item say; the first comes without its bullet."""
    first, *others = (line.rstrip(" \t\r\n") for line in lines)
    return _WRITTEN.sub(
        _decode_entity, "\n".join([first.lstrip(" \t"), *map(strip_indent, others)])
    )


def strip_indent(line: str) -> str:
    """A further line of an item without its indentation."""
    if line.startswith(INDENT):
        return line[len(INDENT) :]
    return line[1:] if line[:1] in (" ", "\t") else line


def _decode_entity(found: re.Match[str]) -> str:
    """What an entity stands for; with an `amp;` it stands for itself with one less."""
    guarded, number = found[1], found[2]
    if guarded:
        return "&" + found[0][len("&amp;") :]
    if number is None:
        return "<!--"
    return chr(int(number)) if int(number) <= 0x10FFFF else found[0]
