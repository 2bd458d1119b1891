"""The text of a definition, in three measures: its digest, its shape, and how like it is to another one.

The *digest* is of its text letter by letter, but for the indentation that all of it has; parsing makes it of every
symbol, so that what moved is found by looking it up. The *shape* is of its syntax: two texts that differ in comments,
layout, quotes or redundant parentheses have the same one. It is made where the digest differs, of single definitions.
*Likeness* is for what was moved or renamed and altered besides: the share of equal words in equal order.

Decorators belong to a definition.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from hashlib import blake2b
from typing import TYPE_CHECKING

from reverie.code.languages import tools
from reverie.privacy import redact
from reverie.store.code import Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

WORD = re.compile(r"\w+|[^\w\s]")
MOST_BODY = 1_500          # characters of a definition that are kept, and compared
REDUNDANT = frozenset((",", ";", "(", ")", '"', "'", "`"))    # of two texts with the same tree, these may differ


def digest(data: bytes, node: Node, name: str) -> str:
    """Of a definition's text; its own name, and the indentation of all of it, do not count."""
    start = data.rfind(b"\n", 0, node.start_byte) + 1
    indent = data[start:node.start_byte]
    text = data[node.start_byte:node.end_byte]
    if indent.isspace():
        text = text.replace(b"\n" + indent, b"\n")
    return short(text.replace(name.encode(), b"\0"))


def short(data: bytes) -> str:
    """Eight bytes of a hash, in hexadecimal."""
    return blake2b(data, digest_size=8).hexdigest()


def decorated(node: Node) -> Node:
    """A definition with its decorators."""
    return node.parent if node.parent is not None and node.parent.type == "decorated_definition" else node


def statement(node: Node) -> Node:
    """What a name that is given something stands in: all that begins on its line, but no file."""
    while node.parent is not None and node.parent.parent is not None and (
            node.parent.start_point[0] == node.start_point[0]):
        node = node.parent
    return node


def node_of(root: Node, data: bytes, symbol: Symbol) -> Node:
    """The definition of a symbol in the tree of its file."""
    first = data.split(b"\n", symbol.first)[symbol.first - 1]
    begin = len(first) - len(first.lstrip())
    last = len(first.rstrip()) if symbol.last == symbol.first else len(
        data.split(b"\n", symbol.last)[symbol.last - 1].rstrip())
    found = root.descendant_for_point_range((symbol.first - 1, begin), (symbol.last - 1, last))
    return decorated(found) if found is not None else root


def shape(node: Node) -> str:
    """Of the syntax below a node."""
    hash = blake2b(digest_size=8)
    for token in tokens(node):
        hash.update(token)
    return hash.hexdigest()


def tokens(top: Node) -> Iterator[bytes]:
    """Names of what is nested, and the words in it, without comments and what layout decides."""
    waiting: list[Node | None] = [top]
    while waiting:
        node = waiting.pop()
        if node is None:
            yield b")"
            continue
        if "comment" in node.type:
            continue
        if not node.child_count:
            text = node.text or b""
            if node.is_named or (node.type not in REDUNDANT and text.strip(b"\"'`")):
                yield (text.rstrip(b"\"'`") if node.type == "string_start" else text) + b"\1"
            continue
        if node.type != "parenthesized_expression":
            yield b"(" + node.type.encode() + b"\1"
            waiting.append(None)
        waiting.extend(reversed(node.children))


def parsed_tree(data: bytes, language: str) -> Node:
    """The tree of a file."""
    parser, _ = tools(language)
    return parser.parse(data).root_node


def excerpt(text: str) -> str:
    """The beginning of a text, without secrets."""
    return redact(text[:4 * MOST_BODY])[0][:MOST_BODY]


def likeness(one: str, other: str) -> float:
    """The share of words that two texts have in common, in order, 0..1; the parts that `excerpt` keeps count."""
    first, second = WORD.findall(one[:MOST_BODY]), WORD.findall(other[:MOST_BODY])
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= 0.5 else 0.0
