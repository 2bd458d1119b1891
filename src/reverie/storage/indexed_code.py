"""What the index of code is asked for, and the values that it takes and gives.

`CodeIndex` is the port; `sqlite.code_index` is what stands behind it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, NamedTuple, Protocol

from reverie.core.errors import NotFound
from reverie.storage.indexed_files import IndexedFile

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


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


class CodeIndex(Protocol):
    """Files of repositories, the symbols they define, and the uses of those."""

    path: str  # of its database

    def obsolete_files(self) -> list[Path]:
        """Database files of earlier editions of the index, which nobody reads any more."""
        ...

    def roots(self) -> list[str]:
        """The indexed repositories."""
        ...

    def texts(self) -> Iterator[str]:
        """Every text in the index."""
        ...

    def scrub(self) -> bool:
        """Empty the index for good, without a trace in its files.

        False if another process is reading just now.
        """
        ...

    def indexed_files(self, root: str) -> dict[str, IndexedFile]:
        """The indexed files of a repository, by path."""
        ...

    def put(self, root: str, files: Sequence[ParsedFile]) -> None:
        """Replace the symbols and facts of these files. Edges from and to them go until `link`."""
        ...

    def amend(
        self,
        root: str,
        files: Sequence[ParsedFile],
        gone: Collection[str],
        linked: Sequence[LinkedFile],
        moved: Mapping[str, Mapping[int, int]],
    ) -> None:
        """Update a resolved repository: put or remove files, and replace the edges of `linked`.

        All other edges stay: the caller knows that they lead where they led before, or, to a file
        that is in `moved`, from each old symbol number to the new one.
        """
        ...

    def update_stamps(self, root: str, files: Sequence[IndexedFile]) -> None:
        """Store new stamps of files whose content is unchanged."""
        ...

    def drop(self, root: str, paths: Sequence[str]) -> None:
        """Remove files, and the edges from and to them."""
        ...

    def forget(self, root: str) -> None:
        """Remove a repository, and its words unless another process is reading them just now."""
        ...

    def facts(
        self,
        root: str,
        paths: Sequence[str] | None = None,
    ) -> dict[str, str]:
        """What resolving needs of these files, or of all, by path."""
        ...

    def modules(
        self,
        root: str,
    ) -> dict[str, tuple[str, list[str]]]:
        """By path, each file's language and the names of the modules that it looks for."""
        ...

    def definitions(self, root: str, name: str) -> list[SymbolDefinition]:
        """Definitions of that name except attributes and local names, by path and index."""
        ...

    def detached_members(self, root: str, name: str) -> list[SymbolDefinition]:
        """Members of a class of that name in files that do not define it, by path and index."""
        ...

    def files_resting_on(self, root: str, on: Collection[str]) -> set[str]:
        """Files with edges that rest on any of these lookups, and perhaps a few others."""
        ...

    def link(self, root: str, linked: Iterable[LinkedFile]) -> None:
        """Make these all the edges of a repository."""
        ...

    def resolved(self, root: str) -> bool:
        """True if the edges of a repository are those of its files as they are indexed now."""
        ...

    def size(self, root: str) -> IndexSize:
        """How much of a repository is indexed."""
        ...

    def find_symbols(
        self,
        root: str,
        name: str,
        limit: int,
    ) -> list[SymbolLocation]:
        """Symbols with that name or qualified name; else in another case; else as last part."""
        ...

    def symbols_with_body(self, root: str, body: str) -> list[SymbolLocation]:
        """Symbols whose text has that digest, by path and index."""
        ...

    def symbols(
        self,
        root: str,
        paths: Sequence[str] | None = None,
    ) -> list[SymbolLocation]:
        """The symbols of these files, or of all, by path and index."""
        ...

    def edges_into(self, root: str, places: Sequence[SymbolLocation]) -> list[CodeEdge]:
        """The edges that lead to these symbols, by path and line."""
        ...

    def edges_out_of(self, root: str, places: Sequence[SymbolLocation]) -> list[CodeEdge]:
        """The resolved edges that begin within these symbols, by path and line."""
        ...

    def edges_of_file(
        self,
        root: str,
        path: str,
        kind: str,
    ) -> list[CodeEdge]:
        """The edges of a kind that begin in a file, by line."""
        ...

    def unresolved_edges(self, root: str, name: str) -> list[CodeEdge]:
        """Mentions of that name that could not be resolved."""
        ...

    def edges(self, root: str) -> list[CodeEdge]:
        """All resolved edges."""
        ...

    def graph(self, root: str) -> SymbolGraph:
        """All symbols and all resolved edges, in brief."""
        ...

    def search_files(
        self,
        root: str,
        terms: Sequence[str],
        limit: int,
    ) -> list[tuple[str, float]]:
        """(path, BM25) of files whose path or symbols contain any of the terms.

        Best first, ties by path.
        """
        ...

    def bag_hashes(self, root: str) -> dict[str, bytes]:
        """The files whose terms are stored, with the hash of the content they are of."""
        ...

    def put_bags(self, root: str, bags: Sequence[TermBag]) -> None:
        """Store the terms of indexed files."""
        ...

    def bags(self, root: str) -> TermColumns:
        """The terms of all files of a repository."""
        ...

    def symbol_names(
        self,
        root: str,
        kinds: Collection[str],
    ) -> list[tuple[str, str]]:
        """(path, name) of all symbols of these kinds."""
        ...

    def state_digest(self, root: str) -> bytes:
        """A value that changes whenever an answer about the repository may have changed."""
        ...

    def verify(self) -> str:
        """What is inconsistent, in words; empty if nothing is. `clear` mends it."""
        ...

    def clear(self) -> None:
        """Throw the whole index away; the next write begins a new one."""
        ...

    def close(self) -> None:
        """Release the database."""
        ...


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
