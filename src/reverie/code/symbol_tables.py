"""What resolving reads: one file's facts as tables, and where a name is defined.

`LoadedFacts` gives both for a whole repository whose facts are in memory; `IndexedFacts` asks the
index besides, and can show it as it will be once some files have changed.
A `NameSummary` is all that resolving ever learns from a name alone: as long as that is the same,
nothing that was resolved by the name changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from reverie.code.languages import BY_NAME, family_of
from reverie.code.parsed_facts import NO_SYMBOL, FileFacts, facts_from_json, strip_qualifiers
from reverie.storage.indexed_code import CodeIndex, Symbol, SymbolDefinition, find_detached_members

K = TypeVar("K")
V = TypeVar("V")
NAMED_KINDS = frozenset(("function", "class", "method"))

# a file, and the index of a symbol in it
SymbolRef = tuple[str, int]


class FileTables:
    """The facts of one file as tables by name and by symbol."""

    def __init__(self, facts: FileFacts) -> None:
        self.facts = facts
        self.symbols = facts.symbols
        self.language = BY_NAME[facts.language]
        self.imports = group_by_key((one.alias, one) for one in facts.imports)
        self.star_imports = [one for one in facts.imports if one.every]
        # class → the mentions of what it inherits from
        self.base_mentions = group_by_key(
            (one.scope, one) for one in facts.mentions if one.kind == "inherits"
        )
        # (function, local name) → what it is given
        self.bindings = group_by_key(((one.scope, one.name), one) for one in facts.bindings)
        self.top_names: dict[str, int] = {}
        # (symbol, name of what stands in it)
        self.nested: dict[tuple[int, str], int] = {}
        self.classes = group_by_key(
            (one.name, num) for num, one in enumerate(facts.symbols) if one.kind == "class"
        )
        # class → its members in this file
        self.members: dict[int, list[int]] = defaultdict(list)
        for num, one in enumerate(facts.symbols):
            self._add_symbol(num, one)

    def _add_symbol(self, num: int, symbol: Symbol) -> None:
        """Enter a symbol under its name, and as a member of its class."""
        if symbol.parent != NO_SYMBOL or symbol.owner:
            self.nested.setdefault((symbol.parent, symbol.name), num)
        elif symbol.kind != "variable" or symbol.name not in self.top_names:
            # the last definition counts, and no variable hides one
            self.top_names[symbol.name] = num
        home = self.class_named(symbol.owner) if symbol.owner else None
        if home is not None:
            self.members[home].append(num)

    def class_named(self, qual: str) -> int | None:
        """The class of a qualified name in this file, else the first of its last part."""
        candidates = self.classes.get(strip_qualifiers(qual), [])
        exact = [num for num in candidates if self.symbols[num].qual == qual]
        return next(iter(exact or candidates), None)


def group_by_key(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of each key, in order."""
    groups: dict[K, list[V]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return dict(groups)


def list_definitions(path: str, facts: FileFacts) -> Iterator[SymbolDefinition]:
    """The definitions that a file adds to the names of a repository."""
    for num, one in enumerate(facts.symbols):
        definition = to_definition(path, num, facts)
        if one.kind in NAMED_KINDS or definition.top:
            yield definition


def list_joining_members(
    path: str,
    facts: FileFacts,
) -> Iterator[tuple[str, SymbolDefinition]]:
    """(name of the class, member) of members whose class stands in another file."""
    for name, num in find_detached_members(facts.symbols):
        yield name, to_definition(path, num, facts)


def to_definition(
    path: str,
    num: int,
    facts: FileFacts,
) -> SymbolDefinition:
    """A symbol of a file as a definition."""
    one = facts.symbols[num]
    return SymbolDefinition(
        path,
        num,
        facts.language,
        one.name,
        one.kind,
        one.owner,
        one.parent,
    )


class LoadedFacts:
    """A repository whose facts are all in memory."""

    def __init__(self, files: Mapping[str, FileFacts]) -> None:
        self._files = files
        named: list[tuple[str, SymbolDefinition]] = []
        joining: list[tuple[str, SymbolDefinition]] = []
        for path, facts in sorted(files.items()):
            named += ((one.name, one) for one in list_definitions(path, facts))
            joining += list_joining_members(path, facts)
        self._definitions = group_by_key(named)
        self._detached = group_by_key(joining)

    def paths(self) -> Collection[str]:
        """All files."""
        return self._files.keys()

    def facts(self, path: str) -> FileFacts | None:
        """The facts of a file; None if there is no such file."""
        return self._files.get(path)

    def definitions(self, name: str) -> Sequence[SymbolDefinition]:
        """What has a name, without attributes and local names; by path and index."""
        return self._definitions.get(name, ())

    def detached_members(self, name: str) -> Sequence[SymbolDefinition]:
        """Members of a class of that name in files without such a class; by path and index."""
        return self._detached.get(name, ())


class IndexedFacts(LoadedFacts):
    """A repository as its index has it, but with some files `fresh` and some `gone`.

    The facts of fresh files are in memory, those of all others are read when they are asked for.
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
        super().__init__(fresh)
        self._index = index
        self._root = root
        self._unaltered = set(known).difference(fresh, gone)
        self._paths = self._unaltered.union(fresh).difference(gone)
        self._merged: dict[str, list[SymbolDefinition]] = {}

    def paths(self) -> Collection[str]:
        """All files."""
        return self._paths

    def facts(self, path: str) -> FileFacts | None:
        """The facts of a file; None if there is no such file."""
        if path not in self._unaltered:
            return super().facts(path)
        return facts_from_json(self._index.facts(self._root, [path])[path])

    def definitions(self, name: str) -> Sequence[SymbolDefinition]:
        """What has a name."""
        if name not in self._merged:
            old = self._index.definitions(self._root, name)
            self._merged[name] = self._merge(old, super().definitions(name))
        return self._merged[name]

    def detached_members(self, name: str) -> Sequence[SymbolDefinition]:
        """Members of a class of that name in files without one."""
        old = self._index.detached_members(self._root, name)
        return self._merge(old, super().detached_members(name))

    def _merge(
        self, old: Sequence[SymbolDefinition], new: Sequence[SymbolDefinition]
    ) -> list[SymbolDefinition]:
        """The old ones of unaltered files and the new ones, by path and index."""
        valid = [one for one in old if one.path in self._unaltered]
        return sorted([*valid, *new], key=to_symbol_ref)


class NameSummary(NamedTuple):
    """What a name alone tells, to the languages that share names."""

    # by family: the only method, the only definition, the only one outside of classes
    single: Mapping[str, tuple[SymbolRef | None, ...]]
    # (file, index, language)
    classes: Sequence[tuple[str, int, str]]
    # at the top of a file, where a folder's files see each other
    tops: Sequence[tuple[str, int, str]]


def summarize_definitions(definitions: Sequence[SymbolDefinition]) -> NameSummary:
    """What these definitions of one name tell."""
    by_family = group_by_key(
        (family_of(one.language), one) for one in definitions if one.kind in NAMED_KINDS
    )
    single = {
        family: (
            find_only_definition(one for one in same if one.kind == "method"),
            find_only_definition(same),
            find_only_definition(one for one in same if not one.owner),
        )
        for family, same in by_family.items()
    }
    classes = [one[:3] for one in definitions if one.kind == "class"]
    tops = [one[:3] for one in definitions if one.top and BY_NAME[one.language].package]
    return NameSummary(single, classes, tops)


def to_symbol_ref(definition: SymbolDefinition) -> SymbolRef:
    """The file of a definition, and its index there."""
    return definition.path, definition.num


def find_only_definition(definitions: Iterable[SymbolDefinition]) -> SymbolRef | None:
    """The only definition; None if there are none or several."""
    found = list(definitions)
    return to_symbol_ref(found[0]) if len(found) == 1 else None
