"""Questions about a repository, answered from its index. Every answer says where, which kind, and
why it is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reverie.storage.code_index_port import CodeEdge, CodeIndex, SymbolLocation
from reverie.text.tokenization import tokenize_query

MAX_NAMESAKES = 1_000  # symbols of one name that are looked at
CALL_KINDS = ("calls",)


class FoundSymbol(NamedTuple):
    """A symbol, and why it is an answer."""

    path: str
    first: int  # lines, from 1, both included
    last: int
    kind: str
    name: str  # with the names around it: "Console.print"
    head: str  # the line that it begins with
    why: tuple[str, ...]


class SymbolUse(NamedTuple):
    """A place where a symbol is used."""

    path: str
    line: int
    kind: str  # calls, inherits, uses, references, imports
    within: str  # the function or class that it stands in; empty: the file itself
    first: int  # lines of that, or `line` twice
    last: int
    name: str  # the symbol that is used
    to: str  # the file that it stands in; empty where that is not known
    sure: bool  # False: something of that name is called, but what, is not known
    why: tuple[str, ...]


class FileDependency(NamedTuple):
    """What a file imports."""

    path: str
    line: int
    name: str  # the module, as it is written
    to: str  # the file in the repository; empty: it lies outside
    symbol: str  # the symbol in that file; empty: the file itself
    kind: str
    why: tuple[str, ...]


class MatchingFile(NamedTuple):
    """A file that keywords lead to, with those of its symbols that they name."""

    path: str
    first: int
    last: int
    kind: str
    score: float  # BM25
    symbols: tuple[FoundSymbol, ...]
    why: tuple[str, ...]


def to_found_symbol(place: SymbolLocation, *why: str) -> FoundSymbol:
    """A symbol as an answer."""
    one = place.symbol
    return FoundSymbol(place.path, one.first, one.last, one.kind, one.qual, one.head, why)


def find_places_named(
    index: CodeIndex, root: str, name: str, limit: int = MAX_NAMESAKES
) -> list[SymbolLocation]:
    """The symbols of that name: exactly, else but for case, else by the end of their qualified
    name.

    A path before it means those of one file: `pkg/util.py:helper`. `Engine::run` is `Engine.run`.
    """
    path, colon, plain = name.replace("::", ".").removeprefix("./").rpartition(":")
    places = index.find_symbols(root, plain, MAX_NAMESAKES if colon else limit)
    return (
        [one for one in places if f"/{one.path}".endswith(f"/{path}")][:limit] if colon else places
    )


def find_symbols(index: CodeIndex, root: str, name: str, limit: int) -> list[FoundSymbol]:
    """The symbols of that name, as `meant` finds them."""
    plain = name.replace("::", ".").rpartition(":")[2]
    return [
        to_found_symbol(
            place,
            "defines it" if plain in (place.symbol.name, place.symbol.qual) else "a like name",
        )
        for place in find_places_named(index, root, name, limit)
    ]


def list_file_contents(index: CodeIndex, root: str, path: str) -> list[FoundSymbol]:
    """What a file contains, by line; `why` names what it stands in."""
    places = index.symbols(root, [path])
    return [
        to_found_symbol(
            one,
            f"in {places[one.symbol.parent].symbol.qual}"
            if one.symbol.parent >= 0
            else "in the file",
        )
        for one in sorted(places, key=lambda one: (one.symbol.first, -one.symbol.last, one.num))
    ]


def find_callers(
    index: CodeIndex, root: str, name: str, kinds: Sequence[str] = CALL_KINDS, unsure: bool = True
) -> list[SymbolUse]:
    """Where the functions and classes of that name are called, by path and line; then calls that
    could be meant.
    """
    places = find_places_named(index, root, name)
    edges = [edge for edge in index.edges_into(root, places) if edge.kind in kinds]
    loose = index.unresolved_edges(root, places[0].symbol.name) if unsure and places else []
    named = {(one.path, one.num): one.symbol.qual for one in places}
    sure = to_symbol_uses(index, root, edges, named)
    return sure + to_symbol_uses(
        index,
        root,
        [edge for edge in loose if edge.kind in kinds],
        named,
        name.replace("::", ".").rpartition(":")[2],
    )


def find_callees(index: CodeIndex, root: str, name: str) -> list[SymbolUse]:
    """What the functions of that name call; a class calls what its methods do."""
    places = find_places_named(index, root, name)
    inside = [
        one
        for one in index.symbols(root, sorted({one.path for one in places}))
        if any(
            one.path == top.path
            and top.symbol.first <= one.symbol.first <= one.symbol.last <= top.symbol.last
            for top in places
        )
    ]
    edges = [edge for edge in index.edges_out_of(root, inside) if edge.kind in CALL_KINDS]
    return to_symbol_uses(index, root, edges, load_target_names(index, root, edges))


def to_symbol_uses(
    index: CodeIndex,
    root: str,
    edges: Sequence[CodeEdge],
    named: dict[tuple[str, int], str],
    name: str = "",
) -> list[SymbolUse]:
    """Edges as answers."""
    around = {
        (one.path, one.num): one.symbol
        for one in index.symbols(root, sorted({edge.path for edge in edges}))
    }
    made = []
    for edge in edges:
        within = around.get((edge.path, edge.scope))
        lines = (within.first, within.last) if within else (edge.line, edge.line)
        told = named.get((edge.to, edge.symbol), edge.to) if edge.to else name
        made.append(
            SymbolUse(
                edge.path,
                edge.line,
                edge.kind,
                within.qual if within else "",
                *lines,
                told,
                edge.to,
                bool(edge.to),
                (edge.how or "edge",),
            )
        )
    return made


def load_target_names(
    index: CodeIndex, root: str, edges: Iterable[CodeEdge]
) -> dict[tuple[str, int], str]:
    """The names of what edges lead to."""
    paths = sorted({edge.to for edge in edges if edge.to})
    return {(one.path, one.num): one.symbol.qual for one in index.symbols(root, paths)}


def list_dependencies(index: CodeIndex, root: str, path: str) -> list[FileDependency]:
    """What a file imports, by line: from this repository and from outside."""
    edges = index.edges_of_file(root, path, "imports")
    named = load_target_names(index, root, edges)
    return [
        FileDependency(
            path,
            edge.line,
            edge.name,
            edge.to,
            named.get((edge.to, edge.symbol), ""),
            edge.kind,
            (edge.how,),
        )
        for edge in edges
    ]


def find_matching_files(
    index: CodeIndex, root: str, keywords: str, limit: int
) -> list[MatchingFile]:
    """Files in whose path or names the keywords occur, best first, with the symbols
    that they name.
    """
    terms = tokenize_query(keywords)
    best = index.search_files(root, terms, limit)
    inside: dict[str, list[SymbolLocation]] = {path: [] for path, _ in best}
    for one in index.symbols(root, [path for path, _ in best]):
        inside[one.path].append(one)
    made = []
    for path, score in best:
        meant = [
            to_found_symbol(one, "named like the keywords")
            for one in inside[path]
            if any(term in one.symbol.qual.lower() for term in terms)
        ]
        last = max((one.symbol.last for one in inside[path]), default=1)
        made.append(
            MatchingFile(
                path,
                1,
                last,
                "file",
                score,
                tuple(meant),
                tuple(
                    sorted(
                        {
                            term
                            for term in terms
                            if term in path.lower()
                            or any(term in one.name.lower() for one in meant)
                        }
                    )
                )
                or ("words of its names",),
            )
        )
    return made
