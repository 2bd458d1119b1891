"""Where names are defined in a repository, and what is reached from there.

A `World` reads files when it first needs them and notes what was asked of it (`Asked`). What a
file's edges are depends on the answers and on nothing else, so an edge can only change with one of
them (`amend`). Always true: the same facts give the same answers, in whatever order one asks; among
equals the first by path and line decides.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from posixpath import dirname
from typing import NamedTuple

from reverie.code.import_resolution import ModuleIndex
from reverie.code.languages import Language, can_share_names
from reverie.code.parsed_facts import NO_SYMBOL, THIS_FILE, Import, Mention
from reverie.code.symbol_tables import NAMED_KINDS, FactSource, FileTables, SymbolRef, to_symbol_ref
from reverie.storage.code_index_port import Symbol, SymbolDefinition

# what the name of a module begins with that may be one of ours, by a setting we do not read
ALIAS_PREFIXES = tuple("@~#")
UNRESOLVED = "unresolved"
ALL_TOP_NAMES = (
    "*"  # stands for the names at the top of a file, where it matters how many there are
)
MAX_DEPTH = 8  # re-exports, bases of bases: more than that is a circle
BUILTIN_TYPES = (
    str,
    bytes,
    list,
    dict,
    set,
    tuple,
    int,
    float,
    io.TextIOWrapper,
    io.BytesIO,
    Path,
    re.Pattern,
    re.Match,
    Exception,
    object,
)
FOREIGN_METHODS = """
    map filter forEach reduce push slice splice concat has then catch finally toString length trim equals hashCode size
    add contains isEmpty unwrap expect clone iter collect len next into to_string each select first last empty new call
    apply bind test exec log error warn info debug start stop run main init lock unlock wait send recv put set delete
    execute commit connect request parse load loads dump dumps submit result shape mean max min sum all any
"""
COMMON_METHODS = frozenset(name for kind in BUILTIN_TYPES for name in dir(kind)) | frozenset(
    FOREIGN_METHODS.split()
)
"""Method names that things outside the repository have: such a name alone says nothing about what
is called.
"""


class ResolvedName(NamedTuple):
    """What a name leads to: a symbol, a file (num -1), or, without a path, something outside."""

    path: str
    num: int
    object: bool = False  # not the class itself but one of its objects
    how: str = ""
    above: bool = False  # members are looked for in its bases only
    local: bool = False  # a local name stands for it


def as_instance(found: ResolvedName) -> ResolvedName:
    """One of a class's objects."""
    return found._replace(object=True, how="type")


class LookupLog:
    """What was asked of a world: files, names in them, names, and classes by the names that others
    join them by.
    """

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.inside: set[tuple[str, str]] = set()  # (file, name at its top or of a class in it)
        self.names: set[str] = set()
        self.joins: set[str] = set()
        # whose bases were asked for, so that what they rest on is in here
        self.classes: set[SymbolRef] = set()

    def take(self, other: LookupLog) -> None:
        """All of another one, too."""
        self.files |= other.files
        self.inside |= other.inside
        self.names |= other.names
        self.joins |= other.joins


ResolveMention = Callable[["NameResolver", str, Mention], ResolvedName | None]
"""What a mention in a file means."""


class NameResolver:
    """The files of a repository, and what names mean in them."""

    def __init__(self, root: str, source: FactSource, read: ResolveMention) -> None:
        self.modules = ModuleIndex(root, source.paths())
        self.asked = LookupLog()
        self._source, self._read = source, read
        self._tables: dict[str, FileTables | None] = {}
        self._located: dict[tuple[str, str], list[str]] = {}
        self._stars_of: dict[str, list[str]] = {}
        self._bases: dict[SymbolRef, tuple[list[SymbolRef], bool, LookupLog]] = {}
        self._open: list[SymbolRef] = []  # classes whose bases are being read
        self._circle = False  # whether one of these was asked for again
        self._members: dict[SymbolRef, dict[str, SymbolRef]] = {}

    def at(self, path: str) -> FileTables | None:
        """A file; None where there is none."""
        self.asked.files.add(path)
        try:
            return self._tables[path]
        except KeyError:
            facts = self._source.facts(path)
            self._tables[path] = None if facts is None else FileTables(facts)
            return self._tables[path]

    def of(self, path: str) -> FileTables:
        """A file that is there."""
        found = self.at(path)
        assert found is not None
        return found

    def symbol(self, path: str, num: int) -> Symbol:
        """A symbol of a file."""
        return self.of(path).symbols[num]

    def named(self, name: str) -> Sequence[SymbolDefinition]:
        """What is called so, by path and index."""
        self.asked.names.add(name)
        return self._source.named(name)

    def any(self, name: str) -> bool:
        """Whether a function, method or class is called so."""
        return any(one.kind in NAMED_KINDS for one in self.named(name))

    def only(
        self, name: str, language: Language, counts: Callable[[SymbolDefinition], bool]
    ) -> SymbolRef | None:
        """The only function, method or class of that name that counts, in languages that share
        their names.
        """
        found = [
            to_symbol_ref(one)
            for one in self.named(name)
            if one.kind in NAMED_KINDS
            and counts(one)
            and can_share_names(one.language, language.name)
        ]
        return found[0] if len(found) == 1 else None

    def located(self, path: str, module: str) -> list[str]:
        """The files that a module's name means in a file."""
        key = (path, module)
        language = self.of(path).language
        if key not in self._located:
            self._located[key] = self.modules.located(module, path, language)
        return self._located[key]

    def top(self, path: str, name: str, language: Language, depth: int = 0) -> ResolvedName | None:
        """What a name means at the top of a file. None: nothing that is known."""
        if depth > MAX_DEPTH or self.at(path) is None:
            return None
        return (
            self._own(path, name, depth)
            or self._starred(path, name, depth)
            or self._wide(path, name, language)
        )

    def _own(self, path: str, name: str, depth: int) -> ResolvedName | None:
        """The same as far as the file itself says it: what it defines, then what it imports by
        name.
        """
        file = self.of(path)
        self.asked.inside.add((path, name))
        index = file.top.get(name)
        if index is not None and file.symbols[index].kind != "variable":
            return ResolvedName(path, index, how="same file")
        alone = [
            found
            for one in file.imports.get(name, ())
            if (found := self.imported(path, one, depth + 1))
        ]
        if alone:
            return next((found for found in alone if found.path), alone[0])
        return None if index is None else ResolvedName(path, index, how="same file")

    def _starred(self, path: str, name: str, depth: int) -> ResolvedName | None:
        """A name from a module of which all names are imported, by way of others of which they are,
        too.
        """
        files = self._all_of(path)
        self.asked.files.update(files)
        found = (self._own(file, name, depth + 1) for file in files if depth < MAX_DEPTH)
        return next(
            (
                one._replace(how="import of all names")
                for one in found
                if one is not None and one.path
            ),
            None,
        )

    def _all_of(self, path: str) -> list[str]:
        """The files of which all names are known in a file, in the order in which they are looked
        through.

        Each once: where many modules pass on all names of each other, there are more ways than
        anybody could go.
        """
        if path not in self._stars_of:
            found: dict[str, None] = {}
            waiting = [path]
            while waiting:
                here = waiting.pop()
                if here not in found:
                    found[here] = None
                    waiting += [
                        file
                        for one in reversed(self.of(here).stars)
                        for file in reversed(self.located(here, one.module))
                    ]
            self._stars_of[path] = list(found)[1:]
        return self._stars_of[path]

    def _wide(self, path: str, name: str, language: Language) -> ResolvedName | None:
        """A name that needs no import: of the same folder, or the only one in the repository."""
        if language.package:
            near = next(
                (
                    one
                    for one in self.named(name)
                    if one.top
                    and dirname(one.path) == dirname(path)
                    and can_share_names(one.language, language.name)
                ),
                None,
            )
            if near:
                return ResolvedName(*to_symbol_ref(near), how="same folder")
        if language.global_names and (
            place := self.only(name, language, lambda one: not one.owner)
        ):
            return ResolvedName(*place, how="only one of that name")
        return None

    def imported(self, path: str, one: Import, depth: int = 0) -> ResolvedName | None:
        """What an import makes known. A name that nothing is found for lies outside."""
        if one.module == THIS_FILE:
            return (
                None
                if one.name == one.alias
                else self.top(path, one.name, self.of(path).language, depth + 1)
            )
        files = self.located(path, one.module)
        if one.every:
            return None
        if not one.name:
            return (
                ResolvedName(files[0], NO_SYMBOL, how="import")
                if files
                else ResolvedName("", NO_SYMBOL)
            )
        for file in files:
            if (
                file != path
                and (found := self.top(file, one.name, self.of(file).language, depth))
                and found.path
            ):
                return found._replace(how="import")
        language = self.of(path).language.name
        inner = self.located(path, as_submodule(one, language))
        if inner and inner[0] != path:
            by_file = language in ("python", "rust")
            return (
                ResolvedName(inner[0], NO_SYMBOL, how="import")
                if by_file
                else self._in(inner, one.name)
            )
        only = (
            self._default(files[0], one.alias)
            if one.name == "default" and files
            else self._by_name(path, one)
        )
        return only or ResolvedName(
            "", NO_SYMBOL, how=UNRESOLVED if one.module[:1] in ALIAS_PREFIXES else ""
        )

    def _in(self, files: list[str], name: str) -> ResolvedName:
        """The class that a file is named after, else the file."""
        self.asked.inside.update((file, name) for file in files)
        place = next(
            ((file, top[name]) for file in files if name in (top := self.of(file).top)), None
        )
        return (
            ResolvedName(*place, how="import")
            if place
            else ResolvedName(files[0], NO_SYMBOL, how="import")
        )

    def _default(self, path: str, alias: str) -> ResolvedName:
        """What a file exports by default: what has the name it is imported as, or its only
        definition.
        """
        file = self.of(path)
        self.asked.inside.update(((path, alias), (path, ALL_TOP_NAMES)))
        defined = [index for index in file.top.values() if file.symbols[index].kind != "variable"]
        index = file.top.get(alias, defined[0] if len(defined) == 1 else NO_SYMBOL)
        return ResolvedName(path, index, how="import")

    def _by_name(self, path: str, one: Import) -> ResolvedName | None:
        """Where a module's name says nothing about files (PHP, Rust, C#): the only class or
        function of that name.
        """
        language = self.of(path).language
        if language.name not in ("php", "c_sharp", "rust") or one.module.startswith("std"):
            return None
        place = self.only(one.name, language, lambda _: True)
        return ResolvedName(*place, how="only one of that name") if place else None

    def submodule(self, path: str, name: str) -> ResolvedName | None:
        """A module within the folder that a file stands for."""
        folder = dirname(path)
        for other in (f"{folder}/{name}.py", f"{folder}/{name}/__init__.py"):
            if path.endswith("__init__.py") and self.at(other.lstrip("/")) is not None:
                return ResolvedName(other.lstrip("/"), NO_SYMBOL, how="import")
        return None

    def class_named(self, path: str, qual: str) -> SymbolRef | None:
        """The class of that name: in the file, in its folder, or the only one."""
        file = self.of(path)
        self.asked.inside.add((path, qual.rpartition(".")[2]))
        here = file.class_named(qual)
        return (
            (path, here)
            if here is not None
            else self._far_class(path, qual.rpartition(".")[2], file.language.name)
        )

    def _far_class(self, path: str, name: str, language: str) -> SymbolRef | None:
        """The same where the file has no such class."""
        places = [
            to_symbol_ref(one)
            for one in self.named(name)
            if one.kind == "class" and can_share_names(one.language, language)
        ]
        near = [place for place in places if dirname(place[0]) == dirname(path)]
        return near[0] if near else places[0] if len(places) == 1 else None

    def members(self, path: str, index: int) -> dict[str, SymbolRef]:
        """What a class has by itself. The last definition counts, as after overloads; an attribute
        hides no method.
        """
        file, place = self.of(path), (path, index)
        name = file.symbols[index].name
        self.asked.joins.add(name)
        if place not in self._members:
            own = [
                (path, num, file.symbols[num].name, file.symbols[num].kind)
                for num in file.owned.get(index, ())
            ]
            others = [
                (one.path, one.num, one.name, one.kind)
                for one in self._source.joining(name)
                if self._far_class(one.path, name, one.language) == place
            ]
            found: dict[str, SymbolRef] = {}
            kinds: dict[str, str] = {}
            for home, num, member, kind in sorted(own + others):
                if member not in found or kinds[member] == kind == "method":
                    found[member], kinds[member] = (home, num), kind
            self._members[place] = found
        return self._members[place]

    def bases(self, path: str, index: int) -> tuple[list[SymbolRef], bool]:
        """The classes that a class inherits from, and whether one of them lies outside."""
        key = (path, index)
        if key in self._open:  # what inherits from itself by way of others ends here
            self._circle = True
            return [], False
        if key not in self._bases:
            found = self._read_bases(path, index)
            if self._circle:  # it depends on where one began: not to be kept
                self._circle = bool(self._open)
                self.asked.take(found[2])
                return found[0], found[1]
            self._bases[key] = found
        bases, outside, asked = self._bases[key]
        if key not in self.asked.classes:
            self.asked.classes.add(key)
            self.asked.take(asked)
        return bases, outside

    def _read_bases(self, path: str, index: int) -> tuple[list[SymbolRef], bool, LookupLog]:
        before, self.asked = self.asked, LookupLog()
        self._open.append((path, index))
        found, outside = [], False
        for mention in self.of(path).heirs.get(index, ()):
            base = self._read(self, path, mention)
            if base is not None and base.path and base.num >= 0:
                found.append((base.path, base.num))
            else:
                outside = True
        self._open.pop()
        asked, self.asked = self.asked, before
        return found, outside, asked

    def line_of_bases(self, path: str, index: int) -> list[SymbolRef]:
        """A class and all that it inherits from, nearest first."""
        found = [(path, index)]
        for place in found:
            if len(found) > MAX_DEPTH * MAX_DEPTH:
                break
            found += [base for base in self.bases(*place)[0] if base not in found]
        return found

    def member(self, path: str, index: int, name: str, skip_own: bool = False) -> SymbolRef | None:
        """A member of a class by name, its own or inherited."""
        line = self.line_of_bases(path, index)[skip_own:]
        return next(
            (found[name] for place in line if name in (found := self.class_members(*place))), None
        )

    def class_members(self, path: str, index: int) -> dict[str, SymbolRef]:
        """The members of a base; none of what is no class."""
        return self.members(path, index) if self.symbol(path, index).kind == "class" else {}

    def nested(self, path: str, index: int, name: str) -> tuple[str, int] | None:
        """A class within a class."""
        found = self.of(path).inner.get((index, name))
        return None if found is None or self.symbol(path, found).kind != "class" else (path, found)

    def reaches_outside(self, path: str, index: int) -> bool:
        """Whether a class inherits from something that is not in the repository."""
        return any(self.bases(*place)[1] for place in self.line_of_bases(path, index))

    def maker(self, path: str, one: Symbol) -> int:
        """The method in which an attribute is given its value, so that the method's names are
        known; else its class.
        """
        return find_assigning_method(self.of(path).symbols, one)


def find_assigning_method(symbols: Sequence[Symbol], one: Symbol) -> int:
    """The method of the same class in whose lines an attribute stands; else its class."""
    return next(
        (
            num
            for num, other in enumerate(symbols)
            if other.parent == one.parent
            and other.kind == "method"
            and other.first <= one.first <= other.last
        ),
        one.parent,
    )


def as_submodule(one: Import, language: str) -> str:
    """The module of which an import's name would be the last part."""
    joint = "." if language == "python" else "::" if language == "rust" else "/"
    return f"{one.module}{joint}{one.name}" if one.module.rstrip(".") else f"{one.module}{one.name}"


def list_import_modules(one: Import, language: str) -> Iterator[str]:
    """The names of modules that are looked for because of an import."""
    if one.module == THIS_FILE:
        return
    yield one.module
    if one.name:
        yield as_submodule(one, language)
