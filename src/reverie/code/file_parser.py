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

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from reverie.code.definition_digest import digest_definition, enclosing_statement, with_decorators
from reverie.code.expression_chains import parse_chain, parse_type_chain
from reverie.code.import_resolution import parse_use_tree, strip_quotes
from reverie.code.languages import BY_NAME, Language, load_parser_and_query
from reverie.code.parsed_facts import NO_SYMBOL, THIS_FILE, FileFacts, Import, Mention, NameBinding
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
    """A stretch of the file, in bytes, that names belong to."""

    start: int
    end: int
    role: str
    name: str
    of: str
    node: Node
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
    areas = sorted(set(collect_areas(source)), key=lambda area: (area.start, -area.end))
    scopes = ScopeTable(source, areas)
    imports = list(collect_imports(source))
    # this adds variables and attributes to the symbols, which mentions are looked up in
    bindings = list(collect_bindings(source, scopes))
    mentions = collect_mentions(source, scopes, imports)
    return FileFacts(language, redact_heads(scopes.symbols), imports, mentions, bindings)


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
        owner = source.text(captures, "of").partition("<")[0].replace("::", ".")
        type = parse_type_chain(source.text(captures, "type"))
        yield ScopeArea(node.start_byte, node.end_byte, role, name, owner, node, type)


class ScopeTable:
    """The symbols of a file, and which of them a byte stands in."""

    def __init__(self, source: CapturedSource, areas: list[ScopeArea]) -> None:
        self.symbols: list[Symbol] = []
        self.classes: dict[str, int] = {
            area.name: NO_SYMBOL for area in areas if area.role == "class"
        }
        # (byte from which on, symbol), in order
        self.bounds: list[tuple[int, int]] = [(0, NO_SYMBOL)]
        self.attributes: dict[tuple[int, str], int] = {}
        # the bytes at which names of definitions begin
        self.named = {
            captures["name"][0].start_byte
            for captures in source.matches["area"]
            if "name" in captures
        }
        open_scopes: list[OpenScope] = []
        for area in areas:
            self._close_scopes(open_scopes, area.start)
            scope = self._open_scope(source, area, open_scopes)
            open_scopes.append(scope)
            self.bounds.append((area.start, scope.symbol))
        self._close_scopes(open_scopes, len(source.data) + 1)
        self._starts = [start for start, _ in self.bounds]

    def _close_scopes(self, open_scopes: list[OpenScope], place: int) -> None:
        """Close what ends at or before a place."""
        while open_scopes and open_scopes[-1].end <= place:
            end = open_scopes.pop().end
            self.bounds.append((end, open_scopes[-1].symbol if open_scopes else NO_SYMBOL))

    def _open_scope(
        self, source: CapturedSource, area: ScopeArea, open_scopes: list[OpenScope]
    ) -> OpenScope:
        """Begin an area: a symbol, or only the owner of what stands in it."""
        around = open_scopes[-1] if open_scopes else OpenScope(0, NO_SYMBOL, "")
        if area.role == "space":
            return around._replace(end=area.end)
        if area.role == "impl":
            return OpenScope(area.end, self.classes.get(area.of, NO_SYMBOL), area.of)
        parent, owner = around.symbol, around.owner
        if area.of:
            owner = area.of
            parent = self.classes.get(area.of.rpartition(".")[2], NO_SYMBOL)
        prefix = owner or (self.symbols[parent].qual if parent >= 0 else "")
        qual = f"{prefix}.{area.name}" if prefix else area.name
        is_method = area.role == "function" and bool(owner)
        index = len(self.symbols)
        self.symbols.append(
            Symbol(
                area.name,
                qual,
                "method" if is_method else area.role,
                parent,
                owner if is_method else "",
                area.node.start_point[0] + 1,
                area.node.end_point[0] + 1,
                extract_head(source.data, area),
                area.type,
                body=digest_definition(source.data, with_decorators(area.node), area.name),
            )
        )
        if area.role != "class":
            return OpenScope(area.end, index, "")
        self.classes[area.name] = index
        return OpenScope(area.end, index, qual)

    def at(self, byte: int) -> int:
        """The innermost symbol that a byte stands in."""
        return self.bounds[bisect_right(self._starts, byte) - 1][1]

    def is_function(self, scope: int) -> bool:
        """True if a scope is a function or method, not a class or the file."""
        return scope >= 0 and self.symbols[scope].kind in ("function", "method")

    def class_of(self, scope: int) -> int:
        """The class whose method, or body, a symbol is; NO_SYMBOL if none."""
        while scope >= 0 and self.symbols[scope].kind != "class":
            scope = self.symbols[scope].parent
        return scope

    def add_variable(
        self, scope: int, name: str, node: Node, text: str, type: str, value: str, body: str
    ) -> None:
        """Add a variable of the file or attribute of a class.

        If it is there already, only the type and value that it lacks are taken.
        """
        key = (scope, name)
        if key in self.attributes:
            index = self.attributes[key]
            old = self.symbols[index]
            self.symbols[index] = old._replace(type=old.type or type, value=old.value or value)
            return
        owner = self.symbols[scope].qual if scope >= 0 else ""
        self.attributes[key] = len(self.symbols)
        line = node.start_point[0] + 1
        self.symbols.append(
            Symbol(
                name,
                f"{owner}.{name}" if owner else name,
                "attribute" if owner else "variable",
                scope,
                owner,
                line,
                line,
                text[:MAX_HEAD_CHARS],
                type,
                value,
                body,
            )
        )


def extract_head(data: bytes, area: ScopeArea) -> str:
    """What a definition says before its body, on one line."""
    body = area.node.child_by_field_name("body")
    end = body.start_byte if body is not None else area.end
    line = b" ".join(data[area.start : min(end, area.start + 4 * MAX_HEAD_CHARS)].split())
    return line.decode("utf-8", "replace")[:MAX_HEAD_CHARS].rstrip(" {:")


def collect_imports(source: CapturedSource) -> Iterator[Import]:
    """What a file imports."""
    for captures in source.matches["import"]:
        module = strip_quotes(source.text(captures, "module"))
        name = source.text(captures, "name")
        alias = source.text(captures, "alias")
        node = next(captures[role][0] for role in IMPORT_CAPTURES if role in captures)
        line = node.start_point[0] + 1
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
            alias = alias or name or infer_alias(module, source.language)
            yield Import(module, name, alias, line)


def infer_alias(module: str, language: Language) -> str:
    """The name by which a module is known that is imported without an alias."""
    return module.rpartition("/")[2] if language.name == "go" else module


def collect_bindings(source: CapturedSource, scopes: ScopeTable) -> Iterator[NameBinding]:
    """What names stand for within functions; those outside become symbols."""
    for captures in source.matches["binding"]:
        is_field = "field" in captures
        type = parse_type_chain(source.text(captures, "type"))
        value = parse_chain(source.text(captures, "value"))
        receiver = source.text(captures, "receiver")
        for node in captures["field" if is_field else "bound"]:
            name = source.node_text(node)
            scope = scopes.at(node.start_byte)
            in_function = scopes.is_function(scope)
            is_definition = node.start_byte in scopes.named
            if receiver or name.startswith("@") or is_field:
                home = scopes.class_of(scope)
                if (not receiver or receiver in source.language.own) and home >= 0:
                    # Ruby writes @name, PHP $name
                    attribute = name.lstrip("@$") if receiver or name[0] == "@" else name
                    body = digest_statement(source, node, attribute)
                    scopes.add_variable(home, attribute, node, name, type, value, body)
            elif not in_function and not is_definition:
                line = extract_line(source.data, node)
                body = digest_statement(source, node, name)
                scopes.add_variable(scope, name, node, line, type, value, body)
            if in_function and (is_field or not receiver) and not is_definition:
                yield NameBinding(scope, name, type, value)


def digest_statement(source: CapturedSource, node: Node, name: str) -> str:
    """The digest of the statement that assigns a name."""
    return digest_definition(source.data, enclosing_statement(node), name)


def extract_line(data: bytes, node: Node) -> str:
    """The line that a node begins in, from the node on."""
    end = data.find(b"\n", node.start_byte)
    if end < 0:
        end = len(data)
    return data[node.start_byte : end][:MAX_HEAD_CHARS].decode("utf-8", "replace").strip()


def collect_mentions(
    source: CapturedSource, scopes: ScopeTable, imports: Iterable[Import]
) -> list[Mention]:
    """Where names are used: every call and base class, and each other use once a symbol."""
    defining = (*source.matches["import"], *source.matches["binding"])
    # where a mention begins that is known for something else already
    taken = set(scopes.named)
    for captures in defining:
        for name in ("name", "alias", "bound", "module"):
            taken.update(node.start_byte for node in captures.get(name, ()))
    mentions: list[Mention] = []
    for captures in source.matches["mention"]:
        kind = "inherits" if "inherits" in captures else "calls"
        for node in captures.get("inherits", captures.get("call", ())):
            if node.start_byte not in taken:
                taken.add(node.start_byte)
                mentions.append(build_mention(source, scopes, captures, kind, node))
    return mentions + list(collect_uses(source, scopes, imports, taken))


def build_mention(
    source: CapturedSource, scopes: ScopeTable, captures: Captures, kind: str, node: Node
) -> Mention:
    """A mention with what stands before its name."""
    name = source.node_text(node)
    if captures.get("receiver"):
        receiver = parse_chain(source.text(captures, "receiver")) or "?"
    else:
        chain = parse_type_chain(name) if kind == "inherits" else parse_chain(name)
        receiver, _, name = (chain or name).rpartition(".")
    return Mention(kind, name, receiver, scopes.at(node.start_byte), node.start_point[0] + 1)


class KnownNames:
    """Which names of a file may mean something that this repository defines."""

    def __init__(
        self, source: CapturedSource, scopes: ScopeTable, imports: Iterable[Import]
    ) -> None:
        language = source.language
        self._names = {one.name for one in scopes.symbols}
        self._names |= {one.alias.partition(".")[0] for one in imports}
        self._own = language.own
        # any name may be known: the file does not say from where it has it
        self._any_name = (
            language.package or language.global_names or any(one.every for one in imports)
        )

    def may_know(self, name: str, receiver: str) -> bool:
        """True if a name after a receiver, or alone, may be one of the repository's."""
        if self._any_name:
            return True
        if receiver:
            return receiver in self._names or receiver in self._own
        return name in self._names


class TypeSpans:
    """The stretches of a file in which types stand."""

    def __init__(self, source: CapturedSource) -> None:
        typed = (*source.matches["area"], *source.matches["binding"])
        nodes = (node for captures in typed for node in captures.get("type", ()))
        self._spans = sorted((node.start_byte, node.end_byte) for node in nodes)
        self._starts = [start for start, _ in self._spans]

    def __contains__(self, byte: int) -> bool:
        place = bisect_right(self._starts, byte) - 1
        return place >= 0 and byte < self._spans[place][1]


def collect_uses(
    source: CapturedSource, scopes: ScopeTable, imports: Iterable[Import], taken: set[int]
) -> Iterator[Mention]:
    """Names used as values or types that this file, or one it imports, defines; each once a symbol.

    What begins at a byte in `taken` is known already; what is yielded is added there.
    """
    known = KnownNames(source, scopes, imports)
    types = TypeSpans(source)
    seen: set[tuple[int, str, str]] = set()
    for captures in source.matches["use"]:
        kind = "calls" if "maybe" in captures else "uses"
        receiver = source.text(captures, "receiver")
        for node in captures.get("use", captures.get("maybe", ())):
            start = node.start_byte
            if start in taken:
                continue
            name = source.node_text(node)
            if not known.may_know(name, receiver):
                continue
            taken.add(start)
            scope = scopes.at(start)
            if (scope, receiver, name) in seen:
                continue
            seen.add((scope, receiver, name))
            kind_here = "references" if start in types else kind
            yield Mention(kind_here, name, receiver, scope, node.start_point[0] + 1)


def redact_heads(symbols: list[Symbol]) -> list[Symbol]:
    """The symbols with heads that hold no secret."""
    if not symbols:
        return []
    # one call for all heads of a file, a line each
    text = "\n".join(" ".join(one.head.split("\n")) for one in symbols)
    heads = redact(text, DEFAULT_POLICY, keep_lines=True)[0].split("\n")
    return [one._replace(head=head) for one, head in zip(symbols, heads, strict=True)]
