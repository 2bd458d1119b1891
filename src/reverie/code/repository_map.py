"""The ranked map: of a whole repository, the symbols that matter most, within a budget of tokens.

Attention begins at what one is looking at (`focus`: files, or names of symbols) or everywhere, and
follows the edges from users to what they use; personalised PageRank says where it comes together
(`retrieval.graph_walk`). A symbol hands a little to what it stands in, so that classes rise with
their methods. Files are shown in the order of their best symbol.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from reverie.code.code_queries import FoundSymbol, to_found_symbol
from reverie.retrieval.graph_walk import pagerank
from reverie.storage.indexed_code import CodeIndex, SymbolGraph, SymbolLocation
from reverie.text.token_counts import estimate_tokens

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

EDGE_WEIGHTS = {
    "calls": 1.0,
    "inherits": 1.0,
    "imports": 0.5,
    "references": 0.5,
    "uses": 0.3,
}
# from a symbol to what it stands in
PARENT_WEIGHT = 0.2
# from a file to each of its symbols, so that a file in focus brings them up
CHILD_WEIGHT = 0.1
# symbols that are read at once
READ_BATCH = 200
# they are found by name; a map of them would be a listing
HIDDEN_KINDS = frozenset(("variable", "attribute"))
# share of the budget from which on nothing more is tried
FULL_SHARE = 0.97


class RepositoryMap(NamedTuple):
    """The map of a repository."""

    text: str
    tokens: int
    symbols: tuple[FoundSymbol, ...]  # that are in the text, the most important first
    left: int  # functions and classes that had no room


def map_repository(
    index: CodeIndex,
    root: str,
    focus: Sequence[str],
    budget: int,
) -> RepositoryMap:
    """The map of a repository, seen from `focus`, within `budget` tokens."""
    graph = index.graph(root)
    nodes = GraphNodes(graph)
    ranks = rank_nodes(graph, nodes, focus)
    shown = [place for place, symbol in enumerate(graph.symbols) if symbol[5] not in HIDDEN_KINDS]
    order = sorted(
        shown,
        key=lambda place: (-ranks[nodes.symbols[place]], place),
    )
    best = (
        to_found_symbol(
            one, f"used {nodes.uses[nodes.symbols[place]]}×", *explain_focus(one, focus)
        )
        for place, one in load_places(index, root, graph, order)
    )
    return fit_symbols(best, len(order), budget)


class GraphNodes:
    """The numbers of a repository's files and symbols, as nodes of one graph."""

    def __init__(self, graph: SymbolGraph) -> None:
        # a file's node is followed by those of its symbols
        sizes = Counter(one[0] for one in graph.symbols)
        self.count = 0
        self.file: dict[int, int] = {}
        for file, _ in graph.files:
            self.file[file] = self.count
            self.count += 1 + sizes[file]
        self.symbols = [self.node_of(file, index) for file, index, *_ in graph.symbols]
        # how often each node is used
        self.uses: Counter[int] = Counter()
        for _, _, file, symbol, _, times in graph.uses:
            self.uses[self.node_of(file, symbol)] += times

    def node_of(self, file: int, index: int) -> int:
        """The node of a symbol; of the file itself for index -1."""
        return self.file[file] + 1 + index


def load_places(
    index: CodeIndex,
    root: str,
    graph: SymbolGraph,
    order: Sequence[int],
) -> Iterator[tuple[int, SymbolLocation]]:
    """The symbols of a graph at these places, with all that is known of them, read lazily."""
    paths = dict(graph.files)
    for start in range(0, len(order), READ_BATCH):
        wanted: dict[tuple[str, int], int] = {}
        for place in order[start : start + READ_BATCH]:
            file, num, *_ = graph.symbols[place]
            wanted[paths[file], num] = place
        locations = index.symbols(root, sorted({path for path, _ in wanted}))
        known = {(one.path, one.num): one for one in locations}
        for key, place in wanted.items():
            if key in known:
                yield place, known[key]


def explain_focus(one: SymbolLocation, focus: Sequence[str]) -> list[str]:
    """The reason of a symbol that is in focus; none for others."""
    names = {one.path, one.symbol.name, one.symbol.qual}
    return [] if names.isdisjoint(focus) else ["in focus"]


def rank_nodes(
    graph: SymbolGraph,
    nodes: GraphNodes,
    focus: Sequence[str],
) -> npt.NDArray[np.float64]:
    """The PageRank of each node, from `focus` or everywhere."""
    links: list[tuple[int, int, float]] = []
    start = [0.0] * nodes.count
    for symbol, node in zip(graph.symbols, nodes.symbols, strict=True):
        file, _, parent, name, qual, _ = symbol
        links.append((node, nodes.node_of(file, parent), PARENT_WEIGHT))
        links.append((nodes.file[file], node, CHILD_WEIGHT))
        start[node] += name in focus or qual in focus
    for file, scope, target_file, target, kind, times in graph.uses:
        user = nodes.node_of(file, scope)
        used = nodes.node_of(target_file, target)
        if user != used:
            links.append((user, used, EDGE_WEIGHTS[kind] * times))
    for file, path in graph.files:
        start[nodes.file[file]] += path in focus
    ranks: npt.NDArray[np.float64] = pagerank(links, start)
    return ranks


def fit_symbols(
    best: Iterable[FoundSymbol],
    count: int,
    budget: int,
) -> RepositoryMap:
    """The map of as many of the best as fit, each under its file.

    What is too long for the rest is passed over; `count` is how many there are.
    """
    taken: list[FoundSymbol] = []
    files: set[str] = set()
    spent = 0
    for one in best:
        cost = estimate_tokens(render_symbol_line(one) + "\n")
        if one.path not in files:
            cost += estimate_tokens(one.path + ":\n")
        if spent + cost <= budget:
            spent += cost
            taken.append(one)
            files.add(one.path)
        elif spent > FULL_SHARE * budget:
            break
    text = render_map(taken)
    return RepositoryMap(text, estimate_tokens(text), tuple(taken), count - len(taken))


def render_map(symbols: Sequence[FoundSymbol]) -> str:
    """Files in the order of their best symbol, their symbols by line."""
    by_file: dict[str, list[FoundSymbol]] = {}
    for one in symbols:
        by_file.setdefault(one.path, []).append(one)
    lines: list[str] = []
    for path, in_file in by_file.items():
        lines.append(f"{path}:")
        lines += map(
            render_symbol_line,
            sorted(in_file, key=lambda one: (one.first, -one.last)),
        )
    return "\n".join(lines)


def render_symbol_line(one: FoundSymbol) -> str:
    """A symbol on one line: its lines, and how it begins."""
    indent = "  " * (1 + one.name.count("."))
    return f"{indent}{one.first}-{one.last} {one.head}"
