"""The text of a definition, in three measures: its digest, its shape, and how like it is to another
one.

The *digest* is of its text letter by letter, but for the indentation that all of it has; parsing
makes it of every symbol, so that what moved is found by looking it up. The *shape* is of its
syntax: two texts that differ in comments, layout, quotes or redundant parentheses have the same
one. It is made where the digest differs, of single definitions. *Likeness* is for what was moved or
renamed and altered besides: the share of equal words in equal order.

Decorators belong to a definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from hashlib import blake2b
from typing import TYPE_CHECKING

from reverie.code.languages import load_parser_and_query
from reverie.core.privacy_policy import DEFAULT_POLICY
from reverie.privacy import redact
from reverie.storage.code_index_port import Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

WORD = re.compile(r"\w+|[^\w\s]")
MAX_BODY_CHARS = 1_500  # characters of a definition that are kept, and compared
BRACKETS = frozenset("()")  # of two texts with the same tree, these may differ, and quotes
CLOSING_BRACKETS = frozenset((")", "]", "}"))
LIST_NODES = frozenset(
    (
        "argument_list",
        "parameters",
        "list",
        "dictionary",
        "set",
        "arguments",
        "formal_parameters",
        "array",
        "object",
    )
)  # in which a last comma says nothing
LAYOUT_NODES = frozenset(("line_continuation",))


def digest_definition(data: bytes, node: Node, name: str) -> str:
    """Of a definition's text; its own name, and the indentation of all of it, do not count."""
    start = data.rfind(b"\n", 0, node.start_byte) + 1
    indent = data[start : node.start_byte]
    text = data[node.start_byte : node.end_byte]
    if indent.isspace():
        text = text.replace(b"\n" + indent, b"\n")
    return hash_bytes(text.replace(name.encode(), b"\0"))


def hash_bytes(data: bytes) -> str:
    """Eight bytes of a hash, in hexadecimal."""
    return blake2b(data, digest_size=8).hexdigest()


def with_decorators(node: Node) -> Node:
    """A definition with its decorators."""
    return (
        node.parent
        if node.parent is not None and node.parent.type == "decorated_definition"
        else node
    )


def enclosing_statement(node: Node) -> Node:
    """What a name that is given something stands in: all that begins on its line, but no file."""
    while (
        node.parent is not None
        and node.parent.parent is not None
        and (node.parent.start_point[0] == node.start_point[0])
    ):
        node = node.parent
    return node


def find_definition_node(root: Node, data: bytes, symbol: Symbol) -> Node:
    """The definition of a symbol in the tree of its file: the innermost node with its digest on its
    first line.
    """
    row, waiting, found = symbol.first - 1, [root], root
    while waiting:
        node = waiting.pop()
        if digest_definition(data, node, symbol.name) == symbol.body:
            waiting, found = [], node
        waiting += [
            child
            for child in reversed(node.children)
            if child.start_point[0] <= row <= child.end_point[0]
        ]
    return found


def digest_syntax(node: Node, name: str = "") -> str:
    """Of the syntax below a node; its own name does not count."""
    hash, own = blake2b(digest_size=8), name.encode() + b"\1"
    for token in iter_syntax_tokens(node):
        hash.update(b"\0" if token == own else token)
    return hash.hexdigest()


def iter_syntax_tokens(top: Node) -> Iterator[bytes]:
    """Names of what is nested, and the words in it, without comments and what layout decides."""
    waiting: list[Node | None] = [top]
    while waiting:
        node = waiting.pop()
        if node is None:
            yield b")"
            continue
        if "comment" in node.type or node.type in LAYOUT_NODES:
            continue
        if not node.child_count or has_text_between_children(node):
            text = node.text or b""
            if node.type in ("string_start", "string_end"):
                text = text.rstrip(b"\"'")
            if node.is_named or not (
                node.type in BRACKETS or not text.strip(b"\"'`") or is_trailing_comma(node)
            ):
                yield text + b"\1"
            continue
        if node.type != "parenthesized_expression":
            yield b"(" + node.type.encode() + b"\1"
            waiting.append(None)
        waiting.extend(reversed(node.children))


def has_text_between_children(node: Node) -> bool:
    """Whether something stands between the parts of a node: a string's text between its escapes."""
    text, start = node.text or b"", node.start_byte
    places = [
        start,
        *(byte for child in node.children for byte in (child.start_byte, child.end_byte)),
        node.end_byte,
    ]
    return any(
        text[one - start : other - start].strip(b" \t\r\n\\")
        for one, other in zip(places[::2], places[1::2], strict=True)
    )


def is_trailing_comma(node: Node) -> bool:
    """Whether it is a comma behind which a list ends."""
    return (
        node.type == ","
        and node.parent is not None
        and node.parent.type in LIST_NODES
        and (node.next_sibling is not None and node.next_sibling.type in CLOSING_BRACKETS)
    )


def parse_tree(data: bytes, language: str) -> Node:
    """The tree of a file."""
    parser, _ = load_parser_and_query(language)
    return parser.parse(data).root_node


def take_excerpt(text: str) -> str:
    """The beginning of a text, without secrets."""
    return redact(text[: 4 * MAX_BODY_CHARS], DEFAULT_POLICY)[0][:MAX_BODY_CHARS]


def compare_definitions(one: str, other: str) -> float:
    """The share of words that two texts have in common, in order, 0..1; the parts that `excerpt`
    keeps count.
    """
    first, second = WORD.findall(one[:MAX_BODY_CHARS]), WORD.findall(other[:MAX_BODY_CHARS])
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= 0.5 else 0.0
