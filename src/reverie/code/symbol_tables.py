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
from reverie.code.parsed_facts import OUTSIDE, Facts, Import, Mention, unpacked
from reverie.storage.code_index_port import CodeIndex, Definition, joining

K = TypeVar("K")
V = TypeVar("V")
NAMED = frozenset(("function", "class", "method"))

Where = tuple[str, int]  # a file, and the index of a symbol in it


class Tables:
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

    def __init__(self, facts: Facts) -> None:
        self.facts, self.symbols, self.language = facts, facts.symbols, BY_NAME[facts.language]
        self.top: dict[str, int] = {}
        self.inner: dict[tuple[int, str], int] = {}
        self.classes = grouped(
            (one.name, num) for num, one in enumerate(facts.symbols) if one.kind == "class"
        )
        self.owned: dict[int, list[int]] = defaultdict(list)  # class → its members in this file
        self.heirs: dict[int, list[Mention]] = grouped(
            (one.scope, one) for one in facts.mentions if one.kind == "inherits"
        )
        self.bound: dict[tuple[int, str], list[tuple[str, str]]] = grouped(
            ((one.scope, one.name), (one.type, one.value)) for one in facts.bindings
        )
        self.imports: dict[str, list[Import]] = grouped((one.alias, one) for one in facts.imports)
        self.stars = [one for one in facts.imports if one.every]
        for index, one in enumerate(facts.symbols):
            if one.parent == OUTSIDE and not one.owner:
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


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of each key, in order."""
    groups: dict[K, list[V]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return dict(groups)


class Source(Protocol):
    """The files of a repository, for resolving."""

    def paths(self) -> Collection[str]:
        """All files."""
        ...

    def facts(self, path: str) -> Facts | None:
        """What stands in a file; None where there is none."""
        ...

    def named(self, name: str) -> Sequence[Definition]:
        """What is called so, attributes and local names apart; by path and index."""
        ...

    def joining(self, name: str) -> Sequence[Definition]:
        """Members of a class of that name which stand in files without such a class; by path and
        index.
        """
        ...


def definitions(path: str, facts: Facts) -> Iterator[Definition]:
    """What a file adds to names."""
    for num, one in enumerate(facts.symbols):
        if one.kind in NAMED or (one.parent == OUTSIDE and not one.owner):
            yield Definition(path, num, facts.language, one.name, one.kind, one.owner, one.parent)


def joiners(path: str, facts: Facts) -> Iterator[tuple[str, Definition]]:
    """(name of the class, member) of members whose class stands in another file."""
    for name, num in joining(facts.symbols):
        one = facts.symbols[num]
        yield name, Definition(path, num, facts.language, one.name, one.kind, one.owner, one.parent)


class Loaded:
    """A repository whose facts are all in memory."""

    def __init__(self, files: Mapping[str, Facts]) -> None:
        self._files = files
        order = sorted(files)
        self._named = grouped(
            (one.name, one) for path in order for one in definitions(path, files[path])
        )
        self._joining = grouped(pair for path in order for pair in joiners(path, files[path]))

    def paths(self) -> Collection[str]:
        """All files."""
        return self._files.keys()

    def facts(self, path: str) -> Facts | None:
        """What stands in a file; None where there is none."""
        return self._files.get(path)

    def named(self, name: str) -> Sequence[Definition]:
        """What is called so."""
        return self._named.get(name, ())

    def joining(self, name: str) -> Sequence[Definition]:
        """Members of a class of that name in files without one."""
        return self._joining.get(name, ())


class Stored:
    """A repository as its index has it, but for files that are `fresh`, and without those that are
    `gone`.
    """

    def __init__(
        self,
        index: CodeIndex,
        root: str,
        known: Collection[str],
        fresh: Mapping[str, Facts],
        gone: Collection[str],
    ) -> None:
        """`known` are the files in the index."""
        self._index, self._root, self._fresh, self._gone = index, root, fresh, gone
        self._paths = {*known, *fresh} - set(gone)
        self._new = Loaded(fresh)
        self._named: dict[str, list[Definition]] = {}

    def paths(self) -> Collection[str]:
        """All files."""
        return self._paths

    def facts(self, path: str) -> Facts | None:
        """What stands in a file; None where there is none."""
        if path in self._fresh or path not in self._paths:
            return self._fresh.get(path)
        return unpacked(self._index.facts(self._root, [path])[path])

    def named(self, name: str) -> Sequence[Definition]:
        """What is called so."""
        if name not in self._named:
            self._named[name] = self._with(
                self._index.definitions(self._root, name), self._new.named(name)
            )
        return self._named[name]

    def joining(self, name: str) -> Sequence[Definition]:
        """Members of a class of that name in files without one."""
        return self._with(self._index.joining(self._root, name), self._new.joining(name))

    def _with(self, old: Iterable[Definition], new: Iterable[Definition]) -> list[Definition]:
        kept = (one for one in old if one.path not in self._fresh and one.path not in self._gone)
        return sorted((*kept, *new), key=lambda one: (one.path, one.num))


class Said(NamedTuple):
    """What a name alone tells, to the languages that share names."""

    any: bool  # something is called so
    # the only method, function or class, and what stands in no class
    only: Mapping[str, tuple[Where | None, ...]]
    classes: tuple[tuple[Where, str], ...]
    # at the top of a file, where a folder's files see each other
    tops: tuple[tuple[Where, str], ...]


def said(some: Sequence[Definition]) -> Said:
    """What these definitions of one name tell."""
    named = [one for one in some if one.kind in NAMED]
    by_family = grouped((family(BY_NAME[one.language]), one) for one in named)
    only = {
        name: (
            single(one for one in same if one.kind == "method"),
            single(same),
            single(one for one in same if not one.owner),
        )
        for name, same in by_family.items()
    }
    return Said(
        bool(named),
        only,
        tuple((where(one), one.language) for one in some if one.kind == "class"),
        tuple(
            (where(one), one.language) for one in some if one.top and BY_NAME[one.language].package
        ),
    )


def family(language: Language) -> str:
    """What languages share that share their names."""
    return language.family or language.name


def where(one: Definition) -> Where:
    """Where a definition stands."""
    return one.path, one.num


def single(some: Iterable[Definition]) -> Where | None:
    """The only one of them; None where there are none or several."""
    first, second, *_ = (*some, None, None)
    return where(first) if first is not None and second is None else None
