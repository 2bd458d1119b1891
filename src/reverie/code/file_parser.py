"""One file's bytes into facts. Whatever the bytes are, there is an answer: broken syntax costs what
stands around it.

A query's captures mean: `@class`, `@function` a definition with its `@name` (and `@of`: the class
that it belongs to, where it stands elsewhere; `@type`: what it returns); `@impl`, `@space` an area
that only gives its names an owner or nothing; `@import` with `@module`, `@name`, `@alias`, `@star`,
`@default`; `@local`, `@main`: the file exports something of its own under another name, or by
default; `@file`: all names of a `@module` are known; `@tree`, `@path` an import whose text has to
be taken apart; `@inherits`, `@call`, `@maybe`, `@use` a mention, with its `@receiver`; `@bound` a
name given a `@value` or a `@type`; `@field` one that is an attribute of the class besides.
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
from reverie.storage.code_index_port import Symbol

if TYPE_CHECKING:
    from tree_sitter import Node

    Captures = dict[str, list[Node]]

AREA_CAPTURES = ("class", "function", "impl", "space")
IMPORT_CAPTURES = ("import", "default", "file", "star", "local", "main")
CAPTURE_GROUPS = {
    **dict.fromkeys(("use", "maybe"), "use"),
    **dict.fromkeys(("call", "inherits"), "mention"),
    **dict.fromkeys(("bound", "field"), "binding"),
    **dict.fromkeys(AREA_CAPTURES, "area"),
    **dict.fromkeys(IMPORT_CAPTURES, "import"),
}  # what a match is, by a capture of it
MAX_HEAD_CHARS = 160  # characters of a definition's head that are kept


class ScopeArea(NamedTuple):
    """A stretch of the file that names belong to."""

    start: int  # bytes
    end: int
    role: str
    name: str
    of: str
    node: Node
    type: str


class CapturedSource(NamedTuple):
    """A file's bytes, and what was captured in them, by group."""

    data: bytes
    language: Language
    matches: dict[str, list[Captures]]

    def text(self, captures: Captures, name: str) -> str:
        """The text of a capture; empty where there is none."""
        found = captures.get(name)
        return (
            self.data[found[0].start_byte : found[0].end_byte].decode("utf-8", "replace")
            if found
            else ""
        )


def parse_file(data: bytes, language: str) -> FileFacts:
    """What stands in a file of a language."""
    from tree_sitter import QueryCursor

    parser, query = load_parser_and_query(language)
    tree = parser.parse(data)
    matches: dict[str, list[Captures]] = {group: [] for group in CAPTURE_GROUPS.values()}
    for _, captures in QueryCursor(query).matches(tree.root_node):
        matches[next(CAPTURE_GROUPS[name] for name in captures if name in CAPTURE_GROUPS)].append(
            captures
        )
    source = CapturedSource(data, BY_NAME[language], matches)
    areas = sorted(set(collect_areas(source)), key=lambda area: (area.start, -area.end))
    scopes = ScopeTable(source, areas)
    imports = list(collect_imports(source))
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
        if (node.start_byte, node.end_byte, name) in seen or (
            role in ("class", "function") and not name
        ):
            continue
        seen.add((node.start_byte, node.end_byte, name))
        of = source.text(captures, "of").partition("<")[0].replace("::", ".")
        yield ScopeArea(
            node.start_byte,
            node.end_byte,
            role,
            name,
            of,
            node,
            parse_type_chain(source.text(captures, "type")),
        )


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
        self.named = {
            captures["name"][0].start_byte
            for captures in source.matches["area"]
            if "name" in captures
        }
        within: list[tuple[int, int, str]] = []  # (end, symbol, name of the owner) of what is open
        for area in areas:
            self._leave(within, area.start)
            inside = self._entered(source, area, within)
            within.append(inside)
            self.bounds.append((area.start, inside[1]))
        self._leave(within, len(source.data) + 1)
        self._starts = [start for start, _ in self.bounds]

    def _leave(self, within: list[tuple[int, int, str]], place: int) -> None:
        while within and within[-1][0] <= place:
            end = within.pop()[0]
            self.bounds.append((end, within[-1][1] if within else NO_SYMBOL))

    def _entered(
        self, source: CapturedSource, area: ScopeArea, within: list[tuple[int, int, str]]
    ) -> tuple[int, int, str]:
        """What an area is: a symbol, or only an owner of what stands in it."""
        _, around, owner = within[-1] if within else (0, NO_SYMBOL, "")
        if area.role == "space":
            return area.end, around, owner
        if area.role == "impl":
            return area.end, self.classes.get(area.of, NO_SYMBOL), area.of
        parent = around
        if area.of:
            owner, parent = area.of, self.classes.get(area.of.rpartition(".")[2], NO_SYMBOL)
        before = owner or (self.symbols[parent].qual if parent >= 0 else "")
        method = area.role == "function" and bool(owner)
        kind = "method" if method else area.role
        qual = f"{before}.{area.name}" if before else area.name
        self.symbols.append(
            Symbol(
                area.name,
                qual,
                kind,
                parent,
                owner if method else "",
                area.node.start_point[0] + 1,
                area.node.end_point[0] + 1,
                extract_head(source.data, area),
                area.type,
                body=digest_definition(source.data, with_decorators(area.node), area.name),
            )
        )
        index = len(self.symbols) - 1
        if area.role == "class":
            self.classes[area.name] = index
        return area.end, index, qual if area.role == "class" else ""

    def at(self, byte: int) -> int:
        """The innermost symbol that a byte stands in."""
        return self.bounds[bisect_right(self._starts, byte) - 1][1]

    def class_of(self, scope: int) -> int:
        """The class whose method, or body, a symbol is; OUTSIDE if none."""
        while scope >= 0 and self.symbols[scope].kind != "class":
            scope = self.symbols[scope].parent
        return scope

    def hold(
        self, scope: int, name: str, node: Node, text: str, type: str, value: str, body: str
    ) -> None:
        """A variable of the file or attribute of a class; of several mentions the first that says
        what it is.
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
        text = {
            name: source.text(captures, name)
            for name in ("module", "name", "alias", "tree", "path")
        }
        module = strip_quotes(text["module"])
        some = next(captures[name][0] for name in IMPORT_CAPTURES if name in captures)
        line = some.start_point[0] + 1
        if "tree" in captures:
            yield from (
                Import(base, name, alias, line, name == "*")
                for base, name, alias in parse_use_tree(text["tree"])
            )
        elif "path" in captures:
            base, _, name = text["path"].strip("\\").rpartition("\\")
            yield Import(base, name, text["alias"] or name, line)
        elif "star" in captures or "file" in captures:
            yield Import(module, "", "", line, every=True)
        elif "local" in captures or "main" in captures:
            yield Import(THIS_FILE, text["name"], text["alias"] or "default", line)
        elif "default" in captures:
            yield Import(module, "default", text["alias"], line)
        else:
            yield Import(
                module,
                text["name"],
                text["alias"] or text["name"] or infer_alias(module, source.language),
                line,
            )


def infer_alias(module: str, language: Language) -> str:
    """As what a module is known that is imported without an alias."""
    return module.rpartition("/")[2] if language.name == "go" else module


def collect_bindings(source: CapturedSource, scopes: ScopeTable) -> Iterator[NameBinding]:
    """What names stand for within functions; those outside become symbols."""
    own = source.language.own
    for captures in source.matches["binding"]:
        both = "field" in captures
        type, value = (
            parse_type_chain(source.text(captures, "type")),
            parse_chain(source.text(captures, "value")),
        )
        receiver = source.text(captures, "receiver")
        for node in captures["field" if both else "bound"]:
            name = source.data[node.start_byte : node.end_byte].decode("utf-8", "replace")
            scope = scopes.at(node.start_byte)
            inside = (
                scope
                if scope >= 0 and scopes.symbols[scope].kind in ("function", "method")
                else None
            )
            if receiver or name.startswith("@") or both:
                if (not receiver or receiver in own) and (home := scopes.class_of(scope)) >= 0:
                    held = name.lstrip("@$") if receiver or name[0] == "@" else name
                    scopes.hold(
                        home, held, node, name, type, value, digest_statement(source, node, held)
                    )
            elif inside is None and node.start_byte not in scopes.named:
                scopes.hold(
                    scope,
                    name,
                    node,
                    extract_line(source.data, node),
                    type,
                    value,
                    digest_statement(source, node, name),
                )
            if (
                inside is not None
                and (both or not receiver)
                and node.start_byte not in scopes.named
            ):
                yield NameBinding(inside, name, type, value)


def digest_statement(source: CapturedSource, node: Node, name: str) -> str:
    """The digest of the statement that a name is given something in."""
    return digest_definition(source.data, enclosing_statement(node), name)


def extract_line(data: bytes, node: Node) -> str:
    """The line that a node begins in, from its beginning on."""
    end = data.find(b"\n", node.start_byte)
    return (
        data[node.start_byte : end if end >= 0 else len(data)][:MAX_HEAD_CHARS]
        .decode("utf-8", "replace")
        .strip()
    )


def collect_mentions(
    source: CapturedSource, scopes: ScopeTable, imports: Iterable[Import]
) -> list[Mention]:
    """Where names are used: every call and base class, and each other use once a symbol."""
    defining = (*source.matches["import"], *source.matches["binding"])
    taken = {
        node.start_byte
        for captures in defining
        for name in ("name", "alias", "bound", "module")
        for node in captures.get(name, ())
    } | scopes.named
    found: list[Mention] = []
    for captures in source.matches["mention"]:
        kind = "inherits" if "inherits" in captures else "calls"
        for node in captures.get("inherits", captures.get("call", ())):
            if node.start_byte not in taken:
                taken.add(node.start_byte)
                found.append(build_mention(source, scopes, captures, kind, node))
    return found + list(collect_uses(source, scopes, imports, taken))


def build_mention(
    source: CapturedSource, scopes: ScopeTable, captures: Captures, kind: str, node: Node
) -> Mention:
    """A mention with what stands before its name."""
    text = source.data[node.start_byte : node.end_byte].decode("utf-8", "replace")
    before = captures.get("receiver", ())
    receiver = (parse_chain(source.text(captures, "receiver")) or "?") if before else ""
    if not before:
        way = parse_type_chain(text) if kind == "inherits" else parse_chain(text)
        receiver, _, text = (way or text).rpartition(".")
    return Mention(kind, text, receiver, scopes.at(node.start_byte), node.start_point[0] + 1)


def collect_uses(
    source: CapturedSource, scopes: ScopeTable, imports: Iterable[Import], taken: set[int]
) -> Iterator[Mention]:
    """Names used as values or types, that this file or one it imports defines. Each once in a
    symbol.
    """
    language = source.language
    known = {one.name for one in scopes.symbols} | {one.alias.partition(".")[0] for one in imports}
    wide = language.package or language.global_names or any(one.every for one in imports)
    typing = (*source.matches["area"], *source.matches["binding"])
    types = sorted(
        (node.start_byte, node.end_byte) for captures in typing for node in captures.get("type", ())
    )
    starts = [start for start, _ in types]
    seen: set[tuple[int, str, str]] = set()
    for captures in source.matches["use"]:
        kind = "calls" if "maybe" in captures else "uses"
        for node in captures.get("use", captures.get("maybe", ())):
            receiver = source.text(captures, "receiver")
            foreign = (
                receiver and receiver not in known and receiver not in language.own and not wide
            )
            if node.start_byte in taken or foreign:
                continue
            name = source.data[node.start_byte : node.end_byte].decode("utf-8", "replace")
            if not (wide or receiver or name in known):
                continue
            taken.add(node.start_byte)
            scope = scopes.at(node.start_byte)
            if (scope, receiver, name) in seen:
                continue
            seen.add((scope, receiver, name))
            place = bisect_right(starts, node.start_byte) - 1
            typed = place >= 0 and node.start_byte < types[place][1]
            yield Mention(
                "references" if typed else kind, name, receiver, scope, node.start_point[0] + 1
            )


def redact_heads(symbols: list[Symbol]) -> list[Symbol]:
    """The symbols with heads that hold no secret."""
    if not symbols:
        return []
    heads = redact(
        "\n".join(" ".join(one.head.split("\n")) for one in symbols),
        DEFAULT_POLICY,
        keep_lines=True,
    )[0].split("\n")
    return [one._replace(head=line) for one, line in zip(symbols, heads, strict=True)]
