"""One file's bytes into facts: its symbols, imports, mentions and bindings.

Whatever the bytes are, there is an answer: broken syntax costs what stands around it.

A query's captures mean:

- `@class`, `@function`: a definition with its `@name`; `@of` is the class that it belongs to if
  that stands elsewhere, `@type` what it returns
- `@impl`, `@space`: an area that gives its names an owner, or nothing
- `@import` with `@module`, `@name`, `@alias`, `@star`, `@default`
- `@local`, `@main`: the file exports something of its own under another name, or by default
- `@file`: all names of a `@module` are known
- `@tree`, `@path`: an import whose text has to be taken apart
- `@inherits`, `@call`, `@maybe`, `@use`: a mention, with its `@receiver`
- `@bound`: a name given a `@value` or a `@type`; `@field`: one that is an attribute besides
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from reverie.code.definition_digest import digest_definition, enclosing_statement, with_decorators
from reverie.code.expression_chains import parse_chain, parse_type_chain
from reverie.code.import_resolution import parse_use_tree, strip_quotes
from reverie.code.languages import BY_NAME, Language, load_parser_and_query
from reverie.code.parsed_facts import (
    NO_SYMBOL,
    THIS_FILE,
    FileFacts,
    Import,
    Mention,
    NameBinding,
    strip_qualifiers,
)
from reverie.core.privacy_policy import DEFAULT_POLICY
from reverie.privacy import redact
from reverie.storage.indexed_code import Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

    Captures = dict[str, list[Node]]

AREA_CAPTURES = ("class", "function", "impl", "space")
IMPORT_CAPTURES = ("import", "default", "file", "star", "local", "main")
# which group a match belongs to, by one of its captures
CAPTURE_GROUPS = {
    **dict.fromkeys(("use", "maybe"), "use"),
    **dict.fromkeys(("call", "inherits"), "mention"),
    **dict.fromkeys(("bound", "field"), "binding"),
    **dict.fromkeys(AREA_CAPTURES, "area"),
    **dict.fromkeys(IMPORT_CAPTURES, "import"),
}
# characters of a definition's head that are kept
MAX_HEAD_CHARS = 160


class ScopeArea(NamedTuple):
    """A stretch of the file that names belong to."""

    node: Node
    role: str
    name: str
    of: str
    type: str


class OpenScope(NamedTuple):
    """An area that has begun: where it ends, its symbol, and the owner of the names in it."""

    end: int
    symbol: int
    owner: str


class CapturedSource(NamedTuple):
    """A file's bytes, and what was captured in them, by group."""

    data: bytes
    language: Language
    matches: dict[str, list[Captures]]

    def nodes(self, groups: Iterable[str], *names: str) -> Iterator[Node]:
        """All nodes that were captured under any of these names."""
        for group in groups:
            for captures in self.matches[group]:
                for name in names:
                    yield from captures.get(name, ())

    def text(self, captures: Captures, name: str) -> str:
        """The text of a capture; empty if there is none."""
        nodes = captures.get(name)
        return self.node_text(nodes[0]) if nodes else ""

    def node_text(self, node: Node) -> str:
        """The text of a node."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")


def parse_file(data: bytes, language: str) -> FileFacts:
    """The facts of a file in a language, given by name."""
    from tree_sitter import QueryCursor

    parser, query = load_parser_and_query(language)
    tree = parser.parse(data)
    matches: dict[str, list[Captures]] = {group: [] for group in CAPTURE_GROUPS.values()}
    for _, captures in QueryCursor(query).matches(tree.root_node):
        group = next(CAPTURE_GROUPS[name] for name in captures if name in CAPTURE_GROUPS)
        matches[group].append(captures)
    source = CapturedSource(data, BY_NAME[language], matches)
    scopes = ScopeTable(source)
    imports = list(collect_imports(source))
    # this adds variables and attributes to the symbols, which mentions are looked up in
    bindings = list(collect_bindings(scopes))
    mentions = collect_mentions(scopes, imports)
    return FileFacts(language, redact_heads(scopes.symbols), imports, mentions, bindings)


def line_of(node: Node) -> int:
    """The line that a node begins in, from 1."""
    return node.start_point[0] + 1


def collect_areas(source: CapturedSource) -> Iterator[ScopeArea]:
    """The definitions of a file, each once."""
    seen = set()
    for captures in source.matches["area"]:
        role = next(role for role in AREA_CAPTURES if role in captures)
        node = captures[role][0]
        name = strip_quotes(source.text(captures, "name"))
        key = (node.start_byte, node.end_byte, name)
        if key in seen or (role in ("class", "function") and not name):
            continue
        seen.add(key)
        owner = (
            source.text(captures, "of")
            .partition("<")[0]
            .replace(
                "::",
                ".",
            )
        )
        yield ScopeArea(
            node,
            role,
            name,
            owner,
            parse_type_chain(source.text(captures, "type")),
        )


class ScopeTable:
    """The symbols of a file, and which of them a byte stands in."""

    def __init__(self, source: CapturedSource) -> None:
        self.source = source
        self.symbols: list[Symbol] = []
        areas = sorted(
            collect_areas(source), key=lambda area: (area.node.start_byte, -area.node.end_byte)
        )
        self.classes = {area.name: NO_SYMBOL for area in areas if area.role == "class"}
        # (byte from which on, symbol), in order
        self.bounds: list[tuple[int, int]] = [(0, NO_SYMBOL)]
        self.attributes: dict[tuple[int, str], int] = {}
        # the bytes at which names of definitions begin
        self.named = {node.start_byte for node in source.nodes(["area"], "name")}
        # the file itself is never closed
        open_scopes = [OpenScope(sys.maxsize, NO_SYMBOL, "")]
        for area in areas:
            start = area.node.start_byte
            self._close_scopes(open_scopes, start)
            scope = self._open_scope(area, open_scopes[-1])
            open_scopes.append(scope)
            self.bounds.append((start, scope.symbol))
        self._close_scopes(open_scopes, len(source.data) + 1)

    def _close_scopes(self, open_scopes: list[OpenScope], place: int) -> None:
        """Close what ends at or before a place."""
        while open_scopes[-1].end <= place:
            end = open_scopes.pop().end
            self.bounds.append((end, open_scopes[-1].symbol))

    def _open_scope(self, area: ScopeArea, around: OpenScope) -> OpenScope:
        """Begin an area: a symbol, or only the owner of what stands in it."""
        end = area.node.end_byte
        if area.role == "space":
            return around._replace(end=end)
        if area.role == "impl":
            return OpenScope(end, self.classes.get(area.of, NO_SYMBOL), area.of)
        parent, owner = around.symbol, around.owner
        if area.of:
            owner = area.of
            parent = self.classes.get(strip_qualifiers(area.of), NO_SYMBOL)
        prefix = owner or (self.symbols[parent].qual if parent >= 0 else "")
        qual = f"{prefix}.{area.name}" if prefix else area.name
        is_method = area.role == "function" and bool(owner)
        symbol = Symbol(
            area.name,
            qual,
            kind="method" if is_method else area.role,
            parent=parent,
            owner=owner if is_method else "",
            first=line_of(area.node),
            last=area.node.end_point[0] + 1,
            head=extract_head(self.source.data, area.node),
            type=area.type,
            body=digest_definition(self.source.data, with_decorators(area.node), area.name),
        )
        index = len(self.symbols)
        self.symbols.append(symbol)
        if area.role != "class":
            return OpenScope(end, index, "")
        self.classes[area.name] = index
        return OpenScope(end, index, qual)

    def at(self, byte: int) -> int:
        """The innermost symbol that a byte stands in."""
        return self.bounds[
            bisect_right(
                self.bounds,
                byte,
                key=itemgetter(0),
            )
            - 1
        ][1]

    def is_function(self, scope: int) -> bool:
        """True if a scope is a function or method, not a class or the file."""
        return scope >= 0 and self.symbols[scope].kind in ("function", "method")

    def class_of(self, scope: int) -> int:
        """The class whose method, or body, a symbol is; NO_SYMBOL if none."""
        while scope >= 0 and self.symbols[scope].kind != "class":
            scope = self.symbols[scope].parent
        return scope

    def add_variable(
        self,
        node: Node,
        head: str,
        binding: NameBinding,
    ) -> None:
        """Add a variable of the file or attribute of a class, which is the scope of the binding.

        If it is there already, only the type and value that it lacks are taken.
        """
        scope, name, type, value = binding
        index = self.attributes.setdefault((scope, name), len(self.symbols))
        if index < len(self.symbols):
            old = self.symbols[index]
            self.symbols[index] = old._replace(
                type=old.type or type,
                value=old.value or value,
            )
            return
        owner = self.symbols[scope].qual if scope >= 0 else ""
        line = line_of(node)
        symbol = Symbol(
            name,
            f"{owner}.{name}" if owner else name,
            kind="attribute" if owner else "variable",
            parent=scope,
            owner=owner,
            first=line,
            last=line,
            head=head[:MAX_HEAD_CHARS],
            type=type,
            value=value,
            body=digest_definition(self.source.data, enclosing_statement(node), name),
        )
        self.symbols.append(symbol)


def extract_head(data: bytes, node: Node) -> str:
    """The head of a definition, up to its body, on one line."""
    body = node.child_by_field_name("body")
    start = node.start_byte
    end = body.start_byte if body is not None else node.end_byte
    # four bytes a character, and blanks that go
    line = b" ".join(data[start : min(end, start + 4 * MAX_HEAD_CHARS)].split())
    return line.decode("utf-8", "replace")[:MAX_HEAD_CHARS].rstrip(" {:")


def collect_imports(source: CapturedSource) -> Iterator[Import]:
    """What a file imports."""
    for captures in source.matches["import"]:
        module = strip_quotes(source.text(captures, "module"))
        name = source.text(captures, "name")
        alias = source.text(captures, "alias")
        line = line_of(next(captures[role][0] for role in IMPORT_CAPTURES if role in captures))
        if "tree" in captures:
            for base, leaf, leaf_alias in parse_use_tree(source.text(captures, "tree")):
                yield Import(base, leaf, leaf_alias, line, leaf == "*")
        elif "path" in captures:
            base, _, leaf = source.text(captures, "path").strip("\\").rpartition("\\")
            yield Import(base, leaf, alias or leaf, line)
        elif "star" in captures or "file" in captures:
            yield Import(module, "", "", line, every=True)
        elif "local" in captures or "main" in captures:
            yield Import(THIS_FILE, name, alias or "default", line)
        elif "default" in captures:
            yield Import(module, "default", alias, line)
        else:
            # Go knows a package by the last part of its path
            known_as = module.rpartition("/")[2] if source.language.name == "go" else module
            yield Import(module, name, alias or name or known_as, line)


def collect_bindings(scopes: ScopeTable) -> Iterator[NameBinding]:
    """What names stand for within functions; those outside become symbols."""
    source = scopes.source
    for captures in source.matches["binding"]:
        is_field = "field" in captures
        type = parse_type_chain(source.text(captures, "type"))
        value = parse_chain(source.text(captures, "value"))
        receiver = source.text(captures, "receiver")
        for node in captures["field" if is_field else "bound"]:
            name = source.node_text(node)
            scope = scopes.at(node.start_byte)
            binding = NameBinding(scope, name, type, value)
            in_function = scopes.is_function(scope)
            is_definition = node.start_byte in scopes.named
            is_marked = bool(receiver) or name.startswith("@")
            if is_marked or is_field:
                home = scopes.class_of(scope)
                if (not receiver or receiver in source.language.own) and home >= 0:
                    # Ruby writes @name, PHP $name
                    attribute = name.lstrip("@$") if is_marked else name
                    scopes.add_variable(node, name, binding._replace(scope=home, name=attribute))
            elif not in_function and not is_definition:
                scopes.add_variable(node, extract_line(source.data, node), binding)
            if in_function and (is_field or not receiver) and not is_definition:
                yield binding


def extract_line(data: bytes, node: Node) -> str:
    """The line that a node begins in, from the node on."""
    text = data[node.start_byte : node.start_byte + MAX_HEAD_CHARS]
    return text.partition(b"\n")[0].decode("utf-8", "replace").strip()


def collect_mentions(
    scopes: ScopeTable,
    imports: Iterable[Import],
) -> list[Mention]:
    """Where names are used: every call and base class, and each other use once a symbol."""
    source = scopes.source
    # where a mention begins that is known for something else already
    taken = set(scopes.named)
    defining = source.nodes(["import", "binding"], "name", "alias", "bound", "module")
    taken.update(node.start_byte for node in defining)
    mentions: list[Mention] = []
    for captures in source.matches["mention"]:
        kind = "inherits" if "inherits" in captures else "calls"
        for node in captures.get("inherits", captures.get("call", ())):
            if node.start_byte not in taken:
                taken.add(node.start_byte)
                mentions.append(build_mention(scopes, captures, kind, node))
    return [*mentions, *collect_uses(scopes, imports, taken)]


def build_mention(
    scopes: ScopeTable,
    captures: Captures,
    kind: str,
    node: Node,
) -> Mention:
    """A mention with what stands before its name."""
    source = scopes.source
    name = source.node_text(node)
    if captures.get("receiver"):
        receiver = parse_chain(source.text(captures, "receiver")) or "?"
    else:
        chain = parse_type_chain(name) if kind == "inherits" else parse_chain(name)
        receiver, _, name = (chain or name).rpartition(".")
    return Mention(
        kind,
        name,
        receiver,
        scopes.at(node.start_byte),
        line_of(node),
    )


def collect_uses(
    scopes: ScopeTable,
    imports: Iterable[Import],
    taken: set[int],
) -> Iterator[Mention]:
    """Names used as values or types that this file, or one it imports, defines; each once a symbol.

    What begins at a byte in `taken` is known already; what is yielded is added there.
    """
    source = scopes.source
    language = source.language
    known = {one.name for one in scopes.symbols}
    known |= {one.alias.partition(".")[0] for one in imports}
    # any name may be known: the file does not say from where it has it
    is_open = language.package or language.global_names or any(one.every for one in imports)
    types = source.nodes(["area", "binding"], "type")
    spans = sorted((node.start_byte, node.end_byte) for node in types)
    seen: set[tuple[int, str, str]] = set()
    for captures in source.matches["use"]:
        receiver = source.text(captures, "receiver")
        for node in captures.get("use", captures.get("maybe", ())):
            start = node.start_byte
            if start in taken:
                continue
            name = source.node_text(node)
            if not (is_open or (receiver or name) in known or receiver in language.own):
                continue
            taken.add(start)
            scope = scopes.at(start)
            if (scope, receiver, name) in seen:
                continue
            seen.add((scope, receiver, name))
            kind = "calls" if "maybe" in captures else "uses"
            place = bisect_right(spans, start, key=itemgetter(0)) - 1
            if place >= 0 and start < spans[place][1]:
                kind = "references"
            yield Mention(kind, name, receiver, scope, line_of(node))


def redact_heads(symbols: list[Symbol]) -> list[Symbol]:
    """The symbols with heads that hold no secret."""
    if not symbols:
        return []
    # one call for all heads of a file, a line each
    text = "\n".join(" ".join(one.head.split("\n")) for one in symbols)
    heads = redact(text, DEFAULT_POLICY, keep_lines=True)[0].split("\n")
    return [one._replace(head=head) for one, head in zip(symbols, heads, strict=True)]
