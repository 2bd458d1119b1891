"""What resolving reads: one file's facts as tables, and where a name is defined.

A `Source` gives both for a whole repository. `Loaded` has all facts in memory; `Stored` asks the
index and can show it as it will be once some files have changed. `said` is all that resolving ever
learns from a name alone: as long as that is the same, nothing that was resolved by the name
changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from reverie.code.languages import BY_NAME, Language
from reverie.code.parsed_facts import NO_SYMBOL, FileFacts, Import, Mention, facts_from_json
from reverie.storage.code_index_port import CodeIndex, SymbolDefinition, find_detached_members

K = TypeVar("K")
V = TypeVar("V")
NAMED_KINDS = frozenset(("function", "class", "method"))

SymbolRef = tuple[str, int]  # a file, and the index of a symbol in it


class FileTables:
    """The facts of one file, by what one asks for."""

    __slots__ = (
        "bound",
        "classes",
        "facts",
        "heirs",
        "imports",
        "inner",
        "language",
        "owned",
        "stars",
        "symbols",
        "top",
    )

    def __init__(self, facts: FileFacts) -> None:
        self.facts, self.symbols, self.language = facts, facts.symbols, BY_NAME[facts.language]
        self.top: dict[str, int] = {}
        self.inner: dict[tuple[int, str], int] = {}
        self.classes = group_by_key(
            (one.name, num) for num, one in enumerate(facts.symbols) if one.kind == "class"
        )
        self.owned: dict[int, list[int]] = defaultdict(list)  # class → its members in this file
        self.heirs: dict[int, list[Mention]] = group_by_key(
            (one.scope, one) for one in facts.mentions if one.kind == "inherits"
        )
        self.bound: dict[tuple[int, str], list[tuple[str, str]]] = group_by_key(
            ((one.scope, one.name), (one.type, one.value)) for one in facts.bindings
        )
        self.imports: dict[str, list[Import]] = group_by_key(
            (one.alias, one) for one in facts.imports
        )
        self.stars = [one for one in facts.imports if one.every]
        for index, one in enumerate(facts.symbols):
            if one.parent == NO_SYMBOL and not one.owner:
                if one.kind != "variable" or one.name not in self.top:
                    self.top[one.name] = index
            else:
                self.inner.setdefault((one.parent, one.name), index)
            if one.owner and (home := self.class_named(one.owner)) is not None:
                self.owned[home].append(index)

    def class_named(self, qual: str) -> int | None:
        """The class of that name in this file: of the whole qualified name, else the first."""
        here = self.classes.get(qual.rpartition(".")[2])
        return (
            next((num for num in here if self.symbols[num].qual == qual), here[0]) if here else None
        )


def group_by_key(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of each key, in order."""
    groups: dict[K, list[V]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return dict(groups)


class FactSource(Protocol):
    """The files of a repository, for resolving."""

    def paths(self) -> Collection[str]:
        """All files."""
        ...

    def facts(self, path: str) -> FileFacts | None:
        """What stands in a file; None where there is none."""
        ...

    def named(self, name: str) -> Sequence[SymbolDefinition]:
        """What is called so, attributes and local names apart; by path and index."""
        ...

    def joining(self, name: str) -> Sequence[SymbolDefinition]:
        """Members of a class of that name which stand in files without such a class; by path and
        index.
        """
        ...


def list_definitions(path: str, facts: FileFacts) -> Iterator[SymbolDefinition]:
    """What a file adds to names."""
    for num, one in enumerate(facts.symbols):
        if one.kind in NAMED_KINDS or (one.parent == NO_SYMBOL and not one.owner):
            yield SymbolDefinition(
                path, num, facts.language, one.name, one.kind, one.owner, one.parent
            )


def list_joining_members(path: str, facts: FileFacts) -> Iterator[tuple[str, SymbolDefinition]]:
    """(name of the class, member) of members whose class stands in another file."""
    for name, num in find_detached_members(facts.symbols):
        one = facts.symbols[num]
        yield (
            name,
            SymbolDefinition(path, num, facts.language, one.name, one.kind, one.owner, one.parent),
        )


class LoadedFacts:
    """A repository whose facts are all in memory."""

    def __init__(self, files: Mapping[str, FileFacts]) -> None:
        self._files = files
        order = sorted(files)
        self._named = group_by_key(
            (one.name, one) for path in order for one in list_definitions(path, files[path])
        )
        self._joining = group_by_key(
            pair for path in order for pair in list_joining_members(path, files[path])
        )

    def paths(self) -> Collection[str]:
        """All files."""
        return self._files.keys()

    def facts(self, path: str) -> FileFacts | None:
        """What stands in a file; None where there is none."""
        return self._files.get(path)

    def named(self, name: str) -> Sequence[SymbolDefinition]:
        """What is called so."""
        return self._named.get(name, ())

    def joining(self, name: str) -> Sequence[SymbolDefinition]:
        """Members of a class of that name in files without one."""
        return self._joining.get(name, ())


class IndexedFacts:
    """A repository as its index has it, but for files that are `fresh`, and without those that are
    `gone`.
    """

    def __init__(
        self,
        index: CodeIndex,
        root: str,
        known: Collection[str],
        fresh: Mapping[str, FileFacts],
        gone: Collection[str],
    ) -> None:
        """`known` are the files in the index."""
        self._index, self._root, self._fresh, self._gone = index, root, fresh, gone
        self._paths = {*known, *fresh} - set(gone)
        self._new = LoadedFacts(fresh)
        self._named: dict[str, list[SymbolDefinition]] = {}

    def paths(self) -> Collection[str]:
        """All files."""
        return self._paths

    def facts(self, path: str) -> FileFacts | None:
        """What stands in a file; None where there is none."""
        if path in self._fresh or path not in self._paths:
            return self._fresh.get(path)
        return facts_from_json(self._index.facts(self._root, [path])[path])

    def named(self, name: str) -> Sequence[SymbolDefinition]:
        """What is called so."""
        if name not in self._named:
            self._named[name] = self._with(
                self._index.definitions(self._root, name), self._new.named(name)
            )
        return self._named[name]

    def joining(self, name: str) -> Sequence[SymbolDefinition]:
        """Members of a class of that name in files without one."""
        return self._with(self._index.detached_members(self._root, name), self._new.joining(name))

    def _with(
        self, old: Iterable[SymbolDefinition], new: Iterable[SymbolDefinition]
    ) -> list[SymbolDefinition]:
        kept = (one for one in old if one.path not in self._fresh and one.path not in self._gone)
        return sorted((*kept, *new), key=lambda one: (one.path, one.num))


class NameSummary(NamedTuple):
    """What a name alone tells, to the languages that share names."""

    any: bool  # something is called so
    # the only method, function or class, and what stands in no class
    only: Mapping[str, tuple[SymbolRef | None, ...]]
    classes: tuple[tuple[SymbolRef, str], ...]
    # at the top of a file, where a folder's files see each other
    tops: tuple[tuple[SymbolRef, str], ...]


def summarize_definitions(some: Sequence[SymbolDefinition]) -> NameSummary:
    """What these definitions of one name tell."""
    named = [one for one in some if one.kind in NAMED_KINDS]
    by_family = group_by_key((language_family(BY_NAME[one.language]), one) for one in named)
    only = {
        name: (
            find_only_definition(one for one in same if one.kind == "method"),
            find_only_definition(same),
            find_only_definition(one for one in same if not one.owner),
        )
        for name, same in by_family.items()
    }
    return NameSummary(
        bool(named),
        only,
        tuple((to_symbol_ref(one), one.language) for one in some if one.kind == "class"),
        tuple(
            (to_symbol_ref(one), one.language)
            for one in some
            if one.top and BY_NAME[one.language].package
        ),
    )


def language_family(language: Language) -> str:
    """What languages share that share their names."""
    return language.family or language.name


def to_symbol_ref(one: SymbolDefinition) -> SymbolRef:
    """Where a definition stands."""
    return one.path, one.num


def find_only_definition(some: Iterable[SymbolDefinition]) -> SymbolRef | None:
    """The only one of them; None where there are none or several."""
    first, second, *_ = (*some, None, None)
    return to_symbol_ref(first) if first is not None and second is None else None
