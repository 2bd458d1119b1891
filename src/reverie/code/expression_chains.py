"""Expressions and types as chains: the part of them that can be followed by reading alone."""

from __future__ import annotations

import re

MOST = 400  # characters of an expression that is looked at
STEP = re.compile(r"[\w$@]+(?:[!?](?![.\w]))?")
JOINT = re.compile(r"\s*(?:\?\.|->|::|\\|\.)\s*")
WORDS = re.compile(
    r"^(?:await|new|typeof|const|mut|dyn|impl|struct|enum|unsigned|static|final|readonly|keyof)\b\s*"
)
SIGNS = " \t\n&*:!"
OPTIONAL = re.compile(
    r"^(?:typing\.|t\.)?(?:Optional|Annotated|ClassVar|Final|Required)\[([^\[\],]+).*\]$", re.DOTALL
)
HOLDERS = re.compile(
    r"^(?:Box|Rc|Arc|Option|RefCell|Mutex|Promise|Task|Optional|unique_ptr|shared_ptr|std::unique_ptr|"
    r"std::shared_ptr|Result)<(.+)>$",
    re.DOTALL,
)
NOTHING = frozenset(("none", "null", "undefined", "nil", "void"))
LEAVES = frozenset(("None", "True", "False", "null", "true", "false", "nil", "undefined"))


def chain(text: str) -> str:
    """An expression as a chain; empty where it cannot be followed."""
    if text.isidentifier():  # most are
        return "" if text in LEAVES else text
    text, rest = text[:MOST], len(text) > MOST
    text = stripped(text)
    if text in LEAVES or not text or text[0].isdigit():
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
            end = closed(text, place)
            if end is None:
                return "" if rest else ".".join([*steps, step + "()"])
            place = end
            if opened != "<":
                step += "()"
        steps.append(step)
        joint = JOINT.match(text, place)
        if joint is None:
            return ".".join(steps) if not text[place:].strip(" ;!?") else ""
        place = joint.end()
    return ".".join(steps)


def stripped(text: str) -> str:
    """Without the signs and words before an expression that do not change what it leads to."""
    before = ""
    text = text.strip()
    while text != before:
        before, text = text, WORDS.sub("", text.lstrip(SIGNS))
    return text.lstrip("\\")


def closed(text: str, place: int) -> int | None:
    """Where the bracket at a place is closed, and one further; None if it is not."""
    opened = text[place]
    closing = {"(": ")", "{": "}", "<": ">"}[opened]
    depth = 0
    for at in range(place, len(text)):
        depth += (text[at] == opened) - (text[at] == closing)
        if depth == 0:
            return at + 1
    return None


def type_chain(text: str) -> str:
    """A type as a chain: of `Foo | None`, `Optional[Foo]`, `&'a mut Foo`, `Foo<T>` it is `Foo`; of
    a list, nothing.
    """
    if not text or text.isidentifier():
        return "" if text.lower() in NOTHING else text
    text = (
        re.sub(r"'\w+\s", "", text[:MOST].strip().removeprefix("->").strip())
        if "'" in text
        else text[:MOST]
    )
    text = stripped(text).strip("\"' ")
    if text.startswith("("):  # Go: (value, error)
        text = stripped(text[1:].split(",")[0].rstrip(")")).split(" ")[-1]
    parts = [
        part for part in (piece.strip() for piece in text.split("|")) if part.lower() not in NOTHING
    ]
    text = parts[0] if len(parts) == 1 else ""
    for shape in (OPTIONAL, HOLDERS):
        if found := shape.match(text):
            text = stripped(found[1].split(",")[0]).strip("\"' ")
    text = text.rstrip("?&* ").removesuffix(" const")
    if text.startswith("[") or text.endswith("]"):
        generic = re.fullmatch(r"([A-Za-z_][\w.]*)\[.*\]", text, re.DOTALL)
        text = generic[1] if generic else ""
    return chain(text).replace("()", "")
