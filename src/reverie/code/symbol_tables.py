"""What resolving reads: one file's facts as tables, and where a name is defined.

A `FactSource` gives both for a whole repository. `LoadedFacts` has all facts in memory;
`IndexedFacts` asks the index and can show it as it will be once some files have changed.
A `NameSummary` is all that resolving ever learns from a name alone: as long as that is the same,
nothing that was resolved by the name changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from reverie.code.languages import BY_NAME, Language
from reverie.code.parsed_facts import NO_SYMBOL, FileFacts, Import, Mention, facts_from_json
from reverie.storage.indexed_code import SymbolDefinition, find_detached_members
from reverie.storage.sqlite.code_index import CodeIndex

K = TypeVar("K")
V = TypeVar("V")
NAMED_KINDS = frozenset(("function", "class", "method"))

# a file, and the index of a symbol in it
SymbolRef = tuple[str, int]


class FileTables:
    """The facts of one file as tables by name and by symbol."""

    __slots__ = (
        "base_mentions",
        "bindings",
        "classes",
        "facts",
        "imports",
        "language",
        "members",
        "nested",
        "star_imports",
        "symbols",
        "top_names",
    )

    def __init__(self, facts: FileFacts) -> None:
        self.facts = facts
        self.symbols = facts.symbols
        self.language = BY_NAME[facts.language]
        self.classes = group_by_key(
            (one.name, num) for num, one in enumerate(facts.symbols) if one.kind == "class"
        )
        # class → the mentions of what it inherits from
        self.base_mentions: dict[int, list[Mention]] = group_by_key(
            (one.scope, one) for one in facts.mentions if one.kind == "inherits"
        )
        # (function, local name) → (type, value) of each binding
        self.bindings: dict[tuple[int, str], list[tuple[str, str]]] = group_by_key(
            ((one.scope, one.name), (one.type, one.value)) for one in facts.bindings
        )
        self.imports: dict[str, list[Import]] = group_by_key(
            (one.alias, one) for one in facts.imports
        )
        self.star_imports = [one for one in facts.imports if one.every]
        self.top_names: dict[str, int] = {}
        # (symbol, name of what stands in it)
        self.nested: dict[tuple[int, str], int] = {}
        # class → its members in this file
        self.members: dict[int, list[int]] = defaultdict(list)
        for num, one in enumerate(facts.symbols):
            self._add_symbol(num)
            if one.owner:
                home = self.class_named(one.owner)
                if home is not None:
                    self.members[home].append(num)

    def _add_symbol(self, num: int) -> None:
        """Enter a symbol under its name."""
        symbol = self.symbols[num]
        if symbol.parent != NO_SYMBOL or symbol.owner:
            self.nested.setdefault((symbol.parent, symbol.name), num)
        elif symbol.kind != "variable" or symbol.name not in self.top_names:
            # the last definition counts, and no variable hides one
            self.top_names[symbol.name] = num

    def class_named(self, qual: str) -> int | None:
        """The class of a qualified name in this file, else the first of its last part."""
        candidates = self.classes.get(qual.rpartition(".")[2])
        if not candidates:
            return None
        exact = (num for num in candidates if self.symbols[num].qual == qual)
        return next(exact, candidates[0])


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
        """The facts of a file; None if there is no such file."""
        ...

    def definitions(self, name: str) -> Sequence[SymbolDefinition]:
        """What has a name, without attributes and local names; by path and index."""
        ...

    def detached_members(self, name: str) -> Sequence[SymbolDefinition]:
        """Members of a class of that name in files without such a class; by path and index."""
        ...


def list_definitions(path: str, facts: FileFacts) -> Iterator[SymbolDefinition]:
    """The definitions that a file adds to the names of a repository."""
    for num, one in enumerate(facts.symbols):
        if one.kind in NAMED_KINDS or (one.parent == NO_SYMBOL and not one.owner):
            yield to_definition(path, num, facts)


def list_joining_members(path: str, facts: FileFacts) -> Iterator[tuple[str, SymbolDefinition]]:
    """(name of the class, member) of members whose class stands in another file."""
    for name, num in find_detached_members(facts.symbols):
        yield name, to_definition(path, num, facts)


def to_definition(path: str, num: int, facts: FileFacts) -> SymbolDefinition:
    """A symbol of a file as a definition."""
    one = facts.symbols[num]
    return SymbolDefinition(path, num, facts.language, one.name, one.kind, one.owner, one.parent)


class LoadedFacts:
    """A repository whose facts are all in memory."""

    def __init__(self, files: Mapping[str, FileFacts]) -> None:
        self._files = files
        paths = sorted(files)
        self._definitions = group_by_key(
            (one.name, one) for path in paths for one in list_definitions(path, files[path])
        )
        self._detached = group_by_key(
            pair for path in paths for pair in list_joining_members(path, files[path])
        )

    def paths(self) -> Collection[str]:
        """All files."""
        return self._files.keys()

    def facts(self, path: str) -> FileFacts | None:
        """The facts of a file; None if there is no such file."""
        return self._files.get(path)

    def definitions(self, name: str) -> Sequence[SymbolDefinition]:
        """What has a name."""
        return self._definitions.get(name, ())

    def detached_members(self, name: str) -> Sequence[SymbolDefinition]:
        """Members of a class of that name in files without one."""
        return self._detached.get(name, ())


class IndexedFacts:
    """A repository as its index has it, but with some files `fresh` and some `gone`."""

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
        self._fresh_facts = LoadedFacts(fresh)
        self._definitions: dict[str, list[SymbolDefinition]] = {}

    def paths(self) -> Collection[str]:
        """All files."""
        return self._paths

    def facts(self, path: str) -> FileFacts | None:
        """The facts of a file; None if there is no such file."""
        if path in self._fresh or path not in self._paths:
            return self._fresh.get(path)
        return facts_from_json(self._index.facts(self._root, [path])[path])

    def definitions(self, name: str) -> Sequence[SymbolDefinition]:
        """What has a name."""
        if name not in self._definitions:
            old = self._index.definitions(self._root, name)
            self._definitions[name] = self._merge(old, self._fresh_facts.definitions(name))
        return self._definitions[name]

    def detached_members(self, name: str) -> Sequence[SymbolDefinition]:
        """Members of a class of that name in files without one."""
        old = self._index.detached_members(self._root, name)
        return self._merge(old, self._fresh_facts.detached_members(name))

    def _merge(
        self, old: Iterable[SymbolDefinition], new: Iterable[SymbolDefinition]
    ) -> list[SymbolDefinition]:
        """The old ones of unaltered files and the new ones, by path and index."""
        valid = (one for one in old if one.path not in self._fresh and one.path not in self._gone)
        return sorted((*valid, *new), key=lambda one: (one.path, one.num))


class NameSummary(NamedTuple):
    """What a name alone tells, to the languages that share names."""

    # something is called so
    is_defined: bool
    # by family: the only method, the only definition, the only one outside of classes
    single: Mapping[str, tuple[SymbolRef | None, ...]]
    classes: tuple[tuple[SymbolRef, str], ...]
    # at the top of a file, where a folder's files see each other
    tops: tuple[tuple[SymbolRef, str], ...]


def summarize_definitions(definitions: Sequence[SymbolDefinition]) -> NameSummary:
    """What these definitions of one name tell."""
    named = [one for one in definitions if one.kind in NAMED_KINDS]
    by_family = group_by_key((language_family(BY_NAME[one.language]), one) for one in named)
    single = {
        family: (
            find_only_definition(one for one in same if one.kind == "method"),
            find_only_definition(same),
            find_only_definition(one for one in same if not one.owner),
        )
        for family, same in by_family.items()
    }
    classes = [one for one in definitions if one.kind == "class"]
    tops = [one for one in definitions if one.top and BY_NAME[one.language].package]
    return NameSummary(
        bool(named),
        single,
        tuple((to_symbol_ref(one), one.language) for one in classes),
        tuple((to_symbol_ref(one), one.language) for one in tops),
    )


def language_family(language: Language) -> str:
    """What languages have in common that share their names."""
    return language.family or language.name


def to_symbol_ref(definition: SymbolDefinition) -> SymbolRef:
    """The file of a definition, and its index there."""
    return definition.path, definition.num


def find_only_definition(definitions: Iterable[SymbolDefinition]) -> SymbolRef | None:
    """The only definition; None if there are none or several."""
    first, second, *_ = (*definitions, None, None)
    return to_symbol_ref(first) if first is not None and second is None else None
