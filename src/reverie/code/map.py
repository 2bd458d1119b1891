"""The ranked map: of a whole repository, the symbols that matter most, within a budget of tokens.

Attention begins at what one is looking at (`focus`: files, or names of symbols) or everywhere, and follows the edges
from users to what they use; personalised PageRank says where it comes together (`graph.pagerank`). A symbol hands a
little to what it stands in, so that classes rise with their methods. Files are shown in the order of their best symbol.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from reverie.code.ask import Found, found
from reverie.graph import pagerank
from reverie.store.code import CodeIndex, Edge, Place
from reverie.window.tokens import tokens

WEIGHTS = {"calls": 1.0, "inherits": 1.0, "imports": 0.5, "references": 0.5, "uses": 0.3}
UP = 0.2                   # to what a symbol stands in
DOWN = 0.1                 # from a file to each of its symbols, so that a file in focus brings them up
BUDGET = 1_000             # tokens of a map, unless told otherwise
HIDDEN = frozenset(("variable", "attribute"))    # they are found by name; a map of them would be a listing

Node = tuple[str, int]


class Overview(NamedTuple):
    """The map of a repository."""

    text: str
    tokens: int
    symbols: tuple[Found, ...]     # that are in the text, the most important first
    left: int                      # functions and classes that had no room


def overview(index: CodeIndex, root: str, focus: Sequence[str], budget: int) -> Overview:
    """The map of a repository, seen from `focus`, within so many tokens."""
    places = index.symbols(root)
    edges = index.edges(root)
    ranks = ranked(places, sorted(index.known(root)), edges, focus)
    users = {(edge.to, edge.symbol): 0 for edge in edges}
    for edge in edges:
        users[edge.to, edge.symbol] += 1
    shown = sorted((one for one in places if one.symbol.kind not in HIDDEN),
                   key=lambda one: (-ranks[one.path, one.num], one.path, one.num))
    told = [found(one, f"used {users.get((one.path, one.num), 0)}×", *near(one, focus)) for one in shown]
    return packed(told, budget)


def near(one: Place, focus: Sequence[str]) -> tuple[str, ...]:
    """What is looked at says so."""
    return ("in focus",) if one.path in focus or one.symbol.name in focus or one.symbol.qual in focus else ()


def ranked(places: Sequence[Place], paths: Sequence[str], edges: Sequence[Edge],
           focus: Sequence[str]) -> dict[Node, float]:
    """The rank of each symbol, and of each file (index -1)."""
    nodes: list[Node] = [*((path, -1) for path in paths), *((one.path, one.num) for one in places)]
    number = {node: num for num, node in enumerate(nodes)}
    links: list[tuple[int, int, float]] = []
    for one in places:
        here, up = number[one.path, one.num], number[one.path, one.symbol.parent]
        links += [(here, up, UP), (number[one.path, -1], here, DOWN)]
    links += [(number[edge.path, edge.scope], number[edge.to, edge.symbol], WEIGHTS[edge.kind]) for edge in edges
              if (edge.path, edge.scope) != (edge.to, edge.symbol)]
    start = [0.0] * len(nodes)
    for path in paths:
        start[number[path, -1]] += path in focus
    for one in places:
        start[number[one.path, one.num]] += one.symbol.name in focus or one.symbol.qual in focus
    return dict(zip(nodes, pagerank(links, start), strict=True))


def packed(best: Sequence[Found], budget: int) -> Overview:
    """As many of the best as fit, each under its file; what is too long for the rest of the budget is passed over."""
    taken: list[Found] = []
    files: set[str] = set()
    spent = 0
    for one in best:
        cost = tokens(line(one) + "\n") + (0 if one.path in files else tokens(one.path + ":\n"))
        if spent + cost <= budget:
            spent += cost
            taken.append(one)
            files.add(one.path)
        elif spent > 0.97 * budget:
            break
    text = written(taken)
    return Overview(text, tokens(text), tuple(taken), len(best) - len(taken))


def written(symbols: Sequence[Found]) -> str:
    """Files in the order of their best symbol, their symbols by line."""
    by_file: dict[str, list[Found]] = {}
    for one in symbols:
        by_file.setdefault(one.path, []).append(one)
    lines: list[str] = []
    for path, some in by_file.items():
        lines += [f"{path}:", *(line(one) for one in sorted(some, key=lambda one: (one.first, -one.last)))]
    return "\n".join(lines)


def line(one: Found) -> str:
    """A symbol on one line: its lines, and how it begins."""
    indent = "  " * (1 + one.name.count("."))
    return f"{indent}{one.first}-{one.last} {one.head}"
