"""The text of a definition in three measures: its digest, its shape, its similarity to another.

The *digest* is of its text letter by letter, but for the indentation that all of it has. Parsing
makes one of every symbol, so that what moved is found by looking it up. The *shape* is a digest of
its syntax: two texts that differ in comments, layout, quotes or redundant parentheses have the same
one. It is made where the digest differs, of single definitions. The *similarity* is for what was
moved or renamed and altered besides: the share of equal words in equal order.

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
from reverie.storage.indexed_code import Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

WORD = re.compile(r"\w+|[^\w\s]")
# characters of a definition that are kept, and compared
MAX_BODY_CHARS = 1_500
# two texts with the same tree may differ in these, and in quotes
BRACKETS = frozenset("()")
CLOSING_BRACKETS = frozenset((")", "]", "}"))
# node types in which a trailing comma says nothing
LIST_NODE_TYPES = """
    argument_list parameters list dictionary set arguments formal_parameters array object
"""
LIST_NODES = frozenset(LIST_NODE_TYPES.split())


def digest_definition(
    data: bytes,
    node: Node,
    name: str,
) -> str:
    """The digest of a definition's text, without its own name and common indentation."""
    line_start = data.rfind(b"\n", 0, node.start_byte) + 1
    indent = data[line_start : node.start_byte]
    text = data[node.start_byte : node.end_byte]
    if indent.isspace():
        text = text.replace(b"\n" + indent, b"\n")
    return hash_bytes(text.replace(name.encode(), b"\0"))


def hash_bytes(data: bytes) -> str:
    """Eight bytes of a hash, in hexadecimal."""
    return blake2b(data, digest_size=8).hexdigest()


def with_decorators(node: Node) -> Node:
    """The node of a definition with its decorators."""
    parent = node.parent
    return parent if parent is not None and parent.type == "decorated_definition" else node


def enclosing_statement(node: Node) -> Node:
    """The outermost node, short of the file, that begins on the same line."""
    parent = node.parent
    while parent and parent.parent and parent.start_point[0] == node.start_point[0]:
        node, parent = parent, parent.parent
    return node


def find_definition_node(
    root: Node,
    data: bytes,
    symbol: Symbol,
) -> Node:
    """The innermost node on a symbol's first line that has its digest; the root if none has."""
    row = symbol.first - 1
    waiting = [root]
    found = root
    while waiting:
        node = waiting.pop()
        if digest_definition(data, node, symbol.name) == symbol.body:
            # only what stands within it may still be the one
            waiting, found = [], node
        for child in reversed(node.children):
            if child.start_point[0] <= row <= child.end_point[0]:
                waiting.append(child)
    return found


def digest_syntax(node: Node, name: str = "") -> str:
    """The shape of what stands below a node; its own name does not count."""
    digest = blake2b(digest_size=8)
    own_name = name.encode() + b"\1"
    for token in iter_syntax_tokens(node):
        digest.update(b"\0" if token == own_name else token)
    return digest.hexdigest()


def iter_syntax_tokens(top: Node) -> Iterator[bytes]:
    """The types of nested nodes and the words in them, without comments and layout."""
    # None closes a node that was opened
    waiting: list[Node | None] = [top]
    while waiting:
        node = waiting.pop()
        if node is None:
            yield b")"
            continue
        if "comment" in node.type or node.type == "line_continuation":
            continue
        if not node.child_count or has_text_between_children(node):
            text = node.text or b""
            if node.type in ("string_start", "string_end"):
                text = text.rstrip(b"\"'")
            if node.is_named or not is_insignificant(node, text):
                yield text + b"\1"
            continue
        if node.type != "parenthesized_expression":
            yield b"(" + node.type.encode() + b"\1"
            waiting.append(None)
        waiting.extend(reversed(node.children))


def is_insignificant(node: Node, text: bytes) -> bool:
    """True for brackets, quotes and trailing commas, in which equal trees may differ."""
    if node.type == ",":
        in_list = node.parent is not None and node.parent.type in LIST_NODES
        following = node.next_sibling
        return in_list and following is not None and following.type in CLOSING_BRACKETS
    return node.type in BRACKETS or not text.strip(b"\"'`")


def has_text_between_children(node: Node) -> bool:
    """True if a node has text of its own between its parts: a string, between its escapes."""
    text = node.text or b""
    edges = [node.start_byte]
    for child in node.children:
        edges += (child.start_byte, child.end_byte)
    edges.append(node.end_byte)
    for start, end in zip(
        edges[::2],
        edges[1::2],
        strict=True,
    ):
        between = text[start - node.start_byte : end - node.start_byte]
        if between.strip(b" \t\r\n\\"):
            return True
    return False


def parse_tree(data: bytes, language: str) -> Node:
    """The root of a file's syntax tree."""
    parser, _ = load_parser_and_query(language)
    return parser.parse(data).root_node


def take_excerpt(text: str) -> str:
    """The redacted beginning of a text, at most `MAX_BODY_CHARS`."""
    # more than is kept is redacted, so that no secret is cut in two and missed
    return redact(text[: 4 * MAX_BODY_CHARS], DEFAULT_POLICY)[0][:MAX_BODY_CHARS]


def compare_definitions(left: str, right: str) -> float:
    """The share of words that two texts have in common, in order, 0..1; 0 if below 0.5 for sure.

    Only the first `MAX_BODY_CHARS` of each count, as `take_excerpt` keeps them.
    """
    left_words = WORD.findall(left[:MAX_BODY_CHARS])
    right_words = WORD.findall(right[:MAX_BODY_CHARS])
    matcher = SequenceMatcher(None, left_words, right_words, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= 0.5 else 0.0
