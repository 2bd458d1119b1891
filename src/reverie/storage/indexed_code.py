"""The values that the index of code (`sqlite.code_index`) takes and gives."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.errors import NotFound
from reverie.storage.indexed_files import IndexedFile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from reverie.storage.sqlite.code_index import CodeIndex


GONE = -2  # in `CodeIndex.amend`: the symbol is not there any more


class Symbol(NamedTuple):
    """Something that a file defines; its number is its index among the file's symbols."""

    name: str
    qual: str  # with the names around it: "Console.print"
    kind: str  # class, function, method, variable (of a file), attribute (of a class)
    parent: int  # the symbol it stands in; -1: the file
    owner: str  # the class that a method or attribute belongs to, wherever that stands
    first: int  # lines, from 1, both included
    last: int
    head: str  # the line that it begins with, without secrets
    type: str = ""  # the chain of its type; of a function, of what it returns
    value: str = ""  # the chain of what a variable was given
    body: str = ""  # a digest of its text: `code.definition_digest`


class CodeEdge(NamedTuple):
    """One use of a symbol, or a mention that could be one."""

    path: str  # where
    scope: int  # the symbol that it stands in; -1: the file itself
    kind: str  # calls, imports, uses, inherits, references
    name: str  # as it is written there; of an import, the module's
    line: int
    to: str = ""  # the file that it leads to; empty: not known, or outside the repository
    symbol: int = -1  # the symbol in that file; -1: the file itself
    how: str = ""  # how that is known; for what leads nowhere, why not


class ParsedFile(NamedTuple):
    """A file to be indexed."""

    file: IndexedFile
    language: str
    symbols: Sequence[Symbol]
    facts: str  # what resolving needs: `code.parsed_facts`
    modules: Sequence[str] = ()  # the names of modules that it looks for


class LinkedFile(NamedTuple):
    """A file's edges, which hold as long as no lookup that they rest on changes its result."""

    path: str
    edges: Sequence[CodeEdge]
    rests_on: Collection[str] = ()


class SymbolDefinition(NamedTuple):
    """Where a name is defined."""

    path: str
    num: int  # the index of the symbol in its file
    language: str  # of the file
    name: str
    kind: str
    owner: str
    parent: int

    @property
    def top(self) -> bool:
        """True if it is defined at the top level of its file."""
        return self.parent < 0 and not self.owner


class TermBag(NamedTuple):
    """The terms of a file."""

    path: str
    hash: bytes  # of the file's bytes
    chunks: Sequence[Mapping[str, int]]  # of each, how often which terms occur


class TermColumns(NamedTuple):
    """The terms of a repository's files, as columns.

    Entry i says that `term[i]` occurs `times[i]` times in `chunk[i]` of `file[i]`.
    """

    paths: list[str]  # in order
    terms: Mapping[str, int]  # by number
    file: npt.NDArray[np.int32]  # the place of the file in `paths`, ascending
    chunk: npt.NDArray[np.int32]  # the place of the chunk in its file
    term: npt.NDArray[np.int32]
    times: npt.NDArray[np.int32]


class SymbolGraph(NamedTuple):
    """All symbols and uses of a repository as rows; files by number, symbols by file and index."""

    files: list[tuple[int, str]]  # (number, path), by path
    # (file, index, parent, name, qualified name, kind), in order
    symbols: list[tuple[int, int, int, str, str, str]]
    # (file, scope, to file, symbol, kind of edge, how often)
    uses: list[tuple[int, int, int, int, str, int]]


class SymbolLocation(NamedTuple):
    """A symbol and where it is."""

    path: str
    num: int  # its index among the symbols of the file
    symbol: Symbol


class IndexSize(NamedTuple):
    """How much of a repository is indexed."""

    files: int = 0
    symbols: int = 0
    edges: int = 0
    resolved: bool = True  # as of `CodeIndex.resolved`


def find_indexed_root(index: CodeIndex, place: PurePath) -> str:
    """The innermost indexed repository around a file or folder. Raises NotFound."""
    roots = [root for root in index.roots() if place.is_relative_to(root)]
    if not roots:
        raise NotFound(
            f"{place} is in no repository that was indexed. Index it: reverie code index PATH"
        )
    return max(roots, key=len)


def find_detached_members(symbols: Sequence[Symbol]) -> Iterator[tuple[str, int]]:
    """(class name, index) of the members in a file whose class is defined in another file."""
    classes = {symbol.name for symbol in symbols if symbol.kind == "class"}
    for index, symbol in enumerate(symbols):
        name = symbol.owner.rpartition(".")[2]
        if symbol.owner and name not in classes:
            yield name, index
