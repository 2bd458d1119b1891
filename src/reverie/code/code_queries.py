"""Questions about a repository, answered from its index.

Every answer says where, which kind, and why it is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from reverie.storage.indexed_code import CodeEdge, CodeIndex, Symbol, SymbolLocation
from reverie.text.tokenization import tokenize_query

# symbols of one name that are looked at
MAX_NAMESAKES = 1_000


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
    return FoundSymbol(
        place.path,
        one.first,
        one.last,
        one.kind,
        one.qual,
        one.head,
        why,
    )


def strip_path(name: str) -> str:
    """A name without the path before it; `Engine::run` is `Engine.run`."""
    return name.replace("::", ".").rpartition(":")[2]


def find_places_named(
    index: CodeIndex,
    root: str,
    name: str,
    limit: int = MAX_NAMESAKES,
) -> list[SymbolLocation]:
    """The symbols of a name: exactly, else but for case, else by the end of their qualified name.

    A path before it means those of one file: `pkg/util.py:helper`. `Engine::run` is `Engine.run`.
    """
    path, colon, plain = name.replace("::", ".").removeprefix("./").rpartition(":")
    if not colon:
        return index.find_symbols(root, plain, limit)
    places = index.find_symbols(root, plain, MAX_NAMESAKES)
    return [one for one in places if f"/{one.path}".endswith(f"/{path}")][:limit]


def find_symbols(
    index: CodeIndex,
    root: str,
    name: str,
    limit: int,
) -> list[FoundSymbol]:
    """The symbols of a name as answers, as `find_places_named` finds them."""
    plain = strip_path(name)
    found = []
    for place in find_places_named(index, root, name, limit):
        is_exact = plain in (place.symbol.name, place.symbol.qual)
        found.append(to_found_symbol(place, "defines it" if is_exact else "a like name"))
    return found


def list_file_contents(
    index: CodeIndex,
    root: str,
    path: str,
) -> list[FoundSymbol]:
    """What a file contains, by line; `why` names what it stands in."""
    places = index.symbols(root, [path])
    contents = []
    for place in sorted(
        places,
        key=lambda one: (one.symbol.first, -one.symbol.last, one.num),
    ):
        parent = place.symbol.parent
        where = places[parent].symbol.qual if parent >= 0 else "the file"
        contents.append(to_found_symbol(place, f"in {where}"))
    return contents


def find_callers(
    index: CodeIndex,
    root: str,
    name: str,
    unsure: bool,
) -> list[SymbolUse]:
    """Where the functions and classes of a name are called, by path and line.

    Then come, if `unsure`, calls that could be meant.
    """
    places = find_places_named(index, root, name)
    edges = index.edges_into(root, places)
    if unsure and places:
        edges += index.unresolved_edges(root, places[0].symbol.name)
    return to_symbol_uses(index, root, keep_calls(edges), strip_path(name))


def find_callees(
    index: CodeIndex,
    root: str,
    name: str,
) -> list[SymbolUse]:
    """What the functions of a name call; a class calls what its methods do."""
    places = find_places_named(index, root, name)
    symbols = index.symbols(root, sorted({one.path for one in places}))
    inside = [one for one in symbols if any(lies_within(one, place) for place in places)]
    return to_symbol_uses(index, root, keep_calls(index.edges_out_of(root, inside)))


def keep_calls(edges: Iterable[CodeEdge]) -> list[CodeEdge]:
    """The edges that are calls."""
    return [edge for edge in edges if edge.kind == "calls"]


def lies_within(one: SymbolLocation, place: SymbolLocation) -> bool:
    """True if a symbol stands in the lines of another one of the same file, or is that."""
    symbol, around = one.symbol, place.symbol
    return one.path == place.path and around.first <= symbol.first <= symbol.last <= around.last


def to_symbol_uses(
    index: CodeIndex,
    root: str,
    edges: Sequence[CodeEdge],
    unresolved_name: str = "",
) -> list[SymbolUse]:
    """Edges as answers; what leads nowhere bears `unresolved_name`."""
    symbols = load_symbols(
        index,
        root,
        (path for edge in edges for path in (edge.path, edge.to)),
    )
    uses = []
    for edge in edges:
        scope = symbols.get((edge.path, edge.scope))
        target = symbols.get((edge.to, edge.symbol))
        use = SymbolUse(
            edge.path,
            edge.line,
            edge.kind,
            within=scope.qual if scope else "",
            first=scope.first if scope else edge.line,
            last=scope.last if scope else edge.line,
            name=target.qual if target else edge.to or unresolved_name,
            to=edge.to,
            sure=bool(edge.to),
            why=(edge.how or "edge",),
        )
        uses.append(use)
    return uses


def load_symbols(
    index: CodeIndex,
    root: str,
    paths: Iterable[str],
) -> dict[tuple[str, int], Symbol]:
    """The symbols of some files, by file and number; there are none of no file."""
    places = index.symbols(root, sorted({path for path in paths if path}))
    return {(one.path, one.num): one.symbol for one in places}


def list_dependencies(
    index: CodeIndex,
    root: str,
    path: str,
) -> list[FileDependency]:
    """What a file imports, by line: from this repository and from outside."""
    edges = index.edges_of_file(root, path, "imports")
    symbols = load_symbols(index, root, (edge.to for edge in edges))
    dependencies = []
    for edge in edges:
        target = symbols.get((edge.to, edge.symbol))
        name = target.qual if target else ""
        dependencies.append(
            FileDependency(
                path,
                edge.line,
                edge.name,
                edge.to,
                name,
                edge.kind,
                (edge.how,),
            )
        )
    return dependencies


def find_matching_files(
    index: CodeIndex,
    root: str,
    keywords: str,
    limit: int,
) -> list[MatchingFile]:
    """Files in whose path or names the keywords occur, best first, with the symbols so named."""
    terms = tokenize_query(keywords)
    best = index.search_files(root, terms, limit)
    defined: dict[str, list[SymbolLocation]] = {path: [] for path, _ in best}
    for one in index.symbols(root, list(defined)):
        defined[one.path].append(one)
    files = []
    for path, score in best:
        places = defined[path]
        symbols = [
            to_found_symbol(one, "named like the keywords")
            for one in places
            if any(term in one.symbol.qual.lower() for term in terms)
        ]
        last = max((one.symbol.last for one in places), default=1)
        # no term has a line break in it
        text = "\n".join((path, *(one.name for one in symbols))).lower()
        met = sorted({term for term in terms if term in text})
        why = tuple(met) or ("words of its names",)
        files.append(MatchingFile(path, 1, last, "file", score, tuple(symbols), why))
    return files
