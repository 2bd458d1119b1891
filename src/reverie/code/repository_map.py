"""The ranked map: of a whole repository, the symbols that matter most, within a budget of tokens.

Attention begins at what one is looking at (`focus`: files, or names of symbols) or everywhere, and
follows the edges from users to what they use; personalised PageRank says where it comes together
(`graph.pagerank`). A symbol hands a little to what it stands in, so that classes rise with their
methods. Files are shown in the order of their best symbol.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from reverie.code.code_queries import FoundSymbol, to_found_symbol
from reverie.retrieval.graph_walk import pagerank
from reverie.storage.code_index_port import CodeIndex, SymbolGraph, SymbolLocation
from reverie.text.token_counts import estimate_tokens

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

WEIGHTS = {"calls": 1.0, "inherits": 1.0, "imports": 0.5, "references": 0.5, "uses": 0.3}
PARENT_WEIGHT = 0.2  # to what a symbol stands in
CHILD_WEIGHT = 0.1  # from a file to each of its symbols, so that a file in focus brings them up
READ_BATCH = 200  # symbols that are read at once
# they are found by name; a map of them would be a listing
HIDDEN_KINDS = frozenset(("variable", "attribute"))


class RepositoryMap(NamedTuple):
    """The map of a repository."""

    text: str
    tokens: int
    symbols: tuple[FoundSymbol, ...]  # that are in the text, the most important first
    left: int  # functions and classes that had no room


def map_repository(index: CodeIndex, root: str, focus: Sequence[str], budget: int) -> RepositoryMap:
    """The map of a repository, seen from `focus`, within so many tokens."""
    graph = index.graph(root)
    nodes = GraphNodes(graph)
    ranks, used = rank_nodes(graph, nodes, focus), nodes.users(graph)
    shown = [place for place, one in enumerate(graph.symbols) if one[5] not in HIDDEN_KINDS]
    order = sorted(shown, key=lambda place: (-ranks[nodes.symbols[place]], place))
    best = (
        to_found_symbol(one, f"used {used[nodes.symbols[place]]}×", *explain_focus(one, focus))
        for place, one in load_places(index, root, graph, order)
    )
    return fit_symbols(best, len(order), budget)


class GraphNodes:
    """The numbers of a repository's files and symbols, as nodes of one graph."""

    def __init__(self, graph: SymbolGraph) -> None:
        size = Counter(one[0] for one in graph.symbols)
        ends = accumulate((1 + size[file] for file, _ in graph.files), initial=0)
        self.file = {file: start for (file, _), start in zip(graph.files, ends, strict=False)}
        self.count = len(graph.files) + len(graph.symbols)
        self.symbols = [self.of(file, index) for file, index, *_ in graph.symbols]

    def of(self, file: int, index: int) -> int:
        """The node of a symbol; of the file itself for index −1."""
        return self.file[file] + 1 + index

    def users(self, graph: SymbolGraph) -> list[int]:
        """How often each node is used."""
        used = [0] * self.count
        for _, _, file, symbol, _, times in graph.uses:
            used[self.of(file, symbol)] += times
        return used


def load_places(
    index: CodeIndex, root: str, graph: SymbolGraph, order: Sequence[int]
) -> Iterator[tuple[int, SymbolLocation]]:
    """The symbols at these places, each with what it begins with: read as far as somebody asks."""
    paths = dict(graph.files)
    for start in range(0, len(order), READ_BATCH):
        some = order[start : start + READ_BATCH]
        wanted = {
            (paths[graph.symbols[place][0]], graph.symbols[place][1]): place for place in some
        }
        read = {
            (one.path, one.num): one
            for one in index.symbols(root, sorted({path for path, _ in wanted}))
        }
        yield from ((place, read[node]) for node, place in wanted.items() if node in read)


def explain_focus(one: SymbolLocation, focus: Sequence[str]) -> tuple[str, ...]:
    """What is looked at says so."""
    return (
        ("in focus",)
        if one.path in focus or one.symbol.name in focus or one.symbol.qual in focus
        else ()
    )


def rank_nodes(
    graph: SymbolGraph, nodes: GraphNodes, focus: Sequence[str]
) -> npt.NDArray[np.float64]:
    """The rank of each node."""
    links: list[tuple[int, int, float]] = []
    start = [0.0] * nodes.count
    for (file, _, parent, name, qual, _), here in zip(graph.symbols, nodes.symbols, strict=True):
        links += [
            (here, nodes.of(file, parent), PARENT_WEIGHT),
            (nodes.file[file], here, CHILD_WEIGHT),
        ]
        start[here] += name in focus or qual in focus
    for file, scope, to, symbol, kind, times in graph.uses:
        if (file, scope) != (to, symbol):
            links.append((nodes.of(file, scope), nodes.of(to, symbol), WEIGHTS[kind] * times))
    for file, path in graph.files:
        start[nodes.file[file]] += path in focus
    ranks: npt.NDArray[np.float64] = pagerank(links, start)
    return ranks


def fit_symbols(best: Iterable[FoundSymbol], count: int, budget: int) -> RepositoryMap:
    """As many of the best as fit, each under its file; what is too long for the rest is passed
    over.

    `count` is how many there are.
    """
    taken: list[FoundSymbol] = []
    files: set[str] = set()
    spent = 0
    for one in best:
        cost = estimate_tokens(render_symbol_line(one) + "\n") + (
            0 if one.path in files else estimate_tokens(one.path + ":\n")
        )
        if spent + cost <= budget:
            spent += cost
            taken.append(one)
            files.add(one.path)
        elif spent > 0.97 * budget:
            break
    text = render_map(taken)
    return RepositoryMap(text, estimate_tokens(text), tuple(taken), count - len(taken))


def render_map(symbols: Sequence[FoundSymbol]) -> str:
    """Files in the order of their best symbol, their symbols by line."""
    by_file: dict[str, list[FoundSymbol]] = {}
    for one in symbols:
        by_file.setdefault(one.path, []).append(one)
    lines: list[str] = []
    for path, some in by_file.items():
        lines += [
            f"{path}:",
            *(
                render_symbol_line(one)
                for one in sorted(some, key=lambda one: (one.first, -one.last))
            ),
        ]
    return "\n".join(lines)


def render_symbol_line(one: FoundSymbol) -> str:
    """A symbol on one line: its lines, and how it begins."""
    indent = "  " * (1 + one.name.count("."))
    return f"{indent}{one.first}-{one.last} {one.head}"
