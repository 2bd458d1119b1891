"""Expressions and types as chains: the part of them that can be followed by reading alone."""

from __future__ import annotations

import re

# what is longer is cut before it is looked at
MAX_EXPRESSION_CHARS = 400
STEP = re.compile(r"[\w$@]+(?:[!?](?![.\w]))?")
SEPARATOR = re.compile(r"\s*(?:\?\.|->|::|\\|\.)\s*")
PREFIX_WORDS = re.compile(
    r"^(?:await|new|typeof|const|mut|dyn|impl|struct|enum|unsigned|static|final|readonly|keyof)\b\s*"
)
PREFIX_SIGNS = " \t\n&*:!"
OPTIONAL_TYPE = re.compile(
    r"^(?:typing\.|t\.)?(?:Optional|Annotated|ClassVar|Final|Required)\[([^\[\],]+).*\]$", re.DOTALL
)
# of a type that only holds another one, the other one counts
WRAPPER_TYPE = re.compile(
    r"^(?:Box|Rc|Arc|Option|RefCell|Mutex|Promise|Task|Optional|unique_ptr|shared_ptr|std::unique_ptr|"
    r"std::shared_ptr|Result)<(.+)>$",
    re.DOTALL,
)
NONE_TYPES = frozenset(("none", "null", "undefined", "nil", "void"))
LITERALS = frozenset(("None", "True", "False", "null", "true", "false", "nil", "undefined"))
CLOSING = {
    "(": ")",
    "{": "}",
    "<": ">",
}


def parse_chain(text: str) -> str:
    """An expression as a chain; empty if it cannot be followed."""
    # most expressions are a bare name
    if text.isidentifier():
        return "" if text in LITERALS else text
    was_cut = len(text) > MAX_EXPRESSION_CHARS
    text = strip_prefixes(text[:MAX_EXPRESSION_CHARS])
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
        while place < len(text) and text[place] in CLOSING:
            opening = text[place]
            end = find_closing_bracket(text, place)
            if end is None:
                # only a text that was cut says nothing by a bracket that stays open
                return "" if was_cut else ".".join([*steps, step + "()"])
            place = end
            # type arguments are no call
            if opening != "<":
                step += "()"
        steps.append(step)
        separator = SEPARATOR.match(text, place)
        if separator is None:
            is_end = not text[place:].strip(" ;!?")
            return ".".join(steps) if is_end else ""
        place = separator.end()
    return ".".join(steps)


def strip_prefixes(text: str) -> str:
    """An expression without the leading signs and words that do not change what it leads to."""
    before = ""
    text = text.strip()
    while text != before:
        before = text
        text = PREFIX_WORDS.sub("", text.lstrip(PREFIX_SIGNS))
    return text.lstrip("\\")


def find_closing_bracket(text: str, place: int) -> int | None:
    """The place right after the bracket that closes the one at a place; None if nothing does."""
    opening = text[place]
    closing = CLOSING[opening]
    depth = 0
    for at in range(place, len(text)):
        depth += (text[at] == opening) - (text[at] == closing)
        if depth == 0:
            return at + 1
    return None


def parse_type_chain(text: str) -> str:
    """A type as a chain; empty for a list or a union.

    Of `Foo | None`, `Optional[Foo]`, `&'a mut Foo` and `Foo<T>` it is `Foo`.
    """
    if not text or text.isidentifier():
        return "" if text.lower() in NONE_TYPES else text
    has_quotes = "'" in text
    text = text[:MAX_EXPRESSION_CHARS]
    if has_quotes:
        # lifetimes of Rust
        text = re.sub(
            r"'\w+\s",
            "",
            text.strip().removeprefix("->").strip(),
        )
    text = strip_type(text)
    if text.startswith("("):
        # Go: (value, error)
        text = strip_prefixes(text[1:].split(",")[0].rstrip(")")).split(" ")[-1]
    members = (member.strip() for member in text.split("|"))
    types = [member for member in members if member.lower() not in NONE_TYPES]
    text = types[0] if len(types) == 1 else ""
    for pattern in (OPTIONAL_TYPE, WRAPPER_TYPE):
        wrapped = pattern.match(text)
        if wrapped:
            text = strip_type(wrapped[1].split(",")[0])
    text = text.rstrip("?&* ").removesuffix(" const")
    if text.startswith("[") or text.endswith("]"):
        generic = re.fullmatch(r"([A-Za-z_][\w.]*)\[.*\]", text, re.DOTALL)
        text = generic[1] if generic else ""
    return parse_chain(text).replace("()", "")


def strip_type(text: str) -> str:
    """A type without leading signs and words, and without the quotes of a forward reference."""
    return strip_prefixes(text).strip("\"' ")
