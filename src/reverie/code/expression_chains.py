"""Expressions and types as chains: the part of them that can be followed by reading alone."""

from __future__ import annotations

import re

MAX_EXPRESSION_CHARS = 400  # characters of an expression that is looked at
STEP = re.compile(r"[\w$@]+(?:[!?](?![.\w]))?")
SEPARATOR = re.compile(r"\s*(?:\?\.|->|::|\\|\.)\s*")
PREFIX_WORDS = re.compile(
    r"^(?:await|new|typeof|const|mut|dyn|impl|struct|enum|unsigned|static|final|readonly|keyof)\b\s*"
)
PREFIX_SIGNS = " \t\n&*:!"
OPTIONAL_TYPE = re.compile(
    r"^(?:typing\.|t\.)?(?:Optional|Annotated|ClassVar|Final|Required)\[([^\[\],]+).*\]$", re.DOTALL
)
WRAPPER_TYPE = re.compile(
    r"^(?:Box|Rc|Arc|Option|RefCell|Mutex|Promise|Task|Optional|unique_ptr|shared_ptr|std::unique_ptr|"
    r"std::shared_ptr|Result)<(.+)>$",
    re.DOTALL,
)
NONE_TYPES = frozenset(("none", "null", "undefined", "nil", "void"))
LITERALS = frozenset(("None", "True", "False", "null", "true", "false", "nil", "undefined"))


def parse_chain(text: str) -> str:
    """An expression as a chain; empty where it cannot be followed."""
    if text.isidentifier():  # most are
        return "" if text in LITERALS else text
    text, rest = text[:MAX_EXPRESSION_CHARS], len(text) > MAX_EXPRESSION_CHARS
    text = strip_prefixes(text)
    if text in LITERALS or not text or text[0].isdigit():
        return ""
    steps: list[str] = []
    place = 0
    while place < len(text):
        name = STEP.match(text, place)
        if name is None:
            return ""
        place = name.end()
        step = name[0]
        while place < len(text) and text[place] in "({<":
            opened = text[place]
            end = find_closing_bracket(text, place)
            if end is None:
                return "" if rest else ".".join([*steps, step + "()"])
            place = end
            if opened != "<":
                step += "()"
        steps.append(step)
        joint = SEPARATOR.match(text, place)
        if joint is None:
            return ".".join(steps) if not text[place:].strip(" ;!?") else ""
        place = joint.end()
    return ".".join(steps)


def strip_prefixes(text: str) -> str:
    """Without the signs and words before an expression that do not change what it leads to."""
    before = ""
    text = text.strip()
    while text != before:
        before, text = text, PREFIX_WORDS.sub("", text.lstrip(PREFIX_SIGNS))
    return text.lstrip("\\")


def find_closing_bracket(text: str, place: int) -> int | None:
    """Where the bracket at a place is closed, and one further; None if it is not."""
    opened = text[place]
    closing = {"(": ")", "{": "}", "<": ">"}[opened]
    depth = 0
    for at in range(place, len(text)):
        depth += (text[at] == opened) - (text[at] == closing)
        if depth == 0:
            return at + 1
    return None


def parse_type_chain(text: str) -> str:
    """A type as a chain: of `Foo | None`, `Optional[Foo]`, `&'a mut Foo`, `Foo<T>` it is `Foo`; of
    a list, nothing.
    """
    if not text or text.isidentifier():
        return "" if text.lower() in NONE_TYPES else text
    text = (
        re.sub(r"'\w+\s", "", text[:MAX_EXPRESSION_CHARS].strip().removeprefix("->").strip())
        if "'" in text
        else text[:MAX_EXPRESSION_CHARS]
    )
    text = strip_prefixes(text).strip("\"' ")
    if text.startswith("("):  # Go: (value, error)
        text = strip_prefixes(text[1:].split(",")[0].rstrip(")")).split(" ")[-1]
    parts = [
        part
        for part in (piece.strip() for piece in text.split("|"))
        if part.lower() not in NONE_TYPES
    ]
    text = parts[0] if len(parts) == 1 else ""
    for shape in (OPTIONAL_TYPE, WRAPPER_TYPE):
        if found := shape.match(text):
            text = strip_prefixes(found[1].split(",")[0]).strip("\"' ")
    text = text.rstrip("?&* ").removesuffix(" const")
    if text.startswith("[") or text.endswith("]"):
        generic = re.fullmatch(r"([A-Za-z_][\w.]*)\[.*\]", text, re.DOTALL)
        text = generic[1] if generic else ""
    return parse_chain(text).replace("()", "")
