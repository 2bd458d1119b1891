"""Where names are defined in a repository, and what is reached from there.

A `NameResolver` reads files when it first needs them and notes what was asked of it (`LookupLog`).
What a file's edges are depends on the answers and on nothing else, so an edge can only change with
one of them (`incremental_resolution`). Always true: the same facts give the same answers, in
whatever order one asks; among equals the first by path and line decides.
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
from reverie.storage.indexed_code import Symbol, SymbolDefinition

# what the name of a module begins with that may be one of ours, by a setting we do not read
ALIAS_PREFIXES = tuple("@~#")
UNRESOLVED = "unresolved"
# stands for all names at the top of a file, where it matters how many there are
ALL_TOP_NAMES = "*"
# re-exports, bases of bases: more than that is a circle
MAX_DEPTH = 8
# classes looked at for one class's bases
MAX_INHERITANCE = MAX_DEPTH * MAX_DEPTH
BUILTIN_TYPES = (
    *(str, bytes, list, dict, set, tuple, int, float, Exception, object),
    *(io.TextIOWrapper, io.BytesIO, Path, re.Pattern, re.Match),
)
FOREIGN_METHODS = """
    map filter forEach reduce push slice splice concat has then catch finally toString length
    trim equals hashCode size add contains isEmpty unwrap expect clone iter collect len next
    into to_string each select first last empty new call apply bind test exec log error warn
    info debug start stop run main init lock unlock wait send recv put set delete execute
    commit connect request parse load loads dump dumps submit result shape mean max min sum
    all any
"""
# Method names that things outside the repository have: such a name alone says nothing about what is
# called.
COMMON_METHODS = frozenset(name for kind in BUILTIN_TYPES for name in dir(kind)) | frozenset(
    FOREIGN_METHODS.split()
)


class ResolvedName(NamedTuple):
    """What a name leads to: a symbol, a file (num -1) or, without a path, something outside."""

    path: str
    num: int
    # not the class itself but one of its objects
    is_instance: bool = False
    how: str = ""
    # members are looked for in its bases only
    bases_only: bool = False
    # a local name stands for it
    is_local: bool = False


OUTSIDE = ResolvedName("", NO_SYMBOL)


def as_instance(found: ResolvedName) -> ResolvedName:
    """One of a class's objects."""
    return found._replace(is_instance=True, how="type")


class LookupLog:
    """What was asked of a resolver."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        # (file, name at its top or of a class in it)
        self.names_in_files: set[tuple[str, str]] = set()
        self.names: set[str] = set()
        # names of classes that other files may add members to
        self.joined_classes: set[str] = set()
        # classes whose bases were asked for, so that what they rest on is in here
        self.classes: set[SymbolRef] = set()

    def merge(self, other: LookupLog) -> None:
        """Take over what another log holds, apart from its `classes`."""
        self.files |= other.files
        self.names_in_files |= other.names_in_files
        self.names |= other.names
        self.joined_classes |= other.joined_classes


# what a mention in a file means
ResolveMention = Callable[["NameResolver", str, Mention], ResolvedName | None]


class ClassBases(NamedTuple):
    """The classes that a class inherits from, and what was asked to find them."""

    bases: list[SymbolRef]
    # one of its bases is not in the repository
    has_outside: bool
    asked: LookupLog


class NameResolver:
    """The files of a repository, and what names mean in them."""

    def __init__(self, root: str, source: FactSource, resolve_mention: ResolveMention) -> None:
        """`root` is the name of the repository's folder; `resolve_mention` is for base classes."""
        self.modules = ModuleIndex(root, source.paths())
        self.asked = LookupLog()
        self._source, self._resolve_mention = source, resolve_mention
        self._tables: dict[str, FileTables | None] = {}
        self._located: dict[tuple[str, str], list[str]] = {}
        self._star_files: dict[str, list[str]] = {}
        self._bases: dict[SymbolRef, ClassBases] = {}
        # classes whose bases are being read, and whether one of these was asked for again
        self._open: list[SymbolRef] = []
        self._met_circle = False
        self._members: dict[SymbolRef, dict[str, SymbolRef]] = {}

    def find_file(self, path: str) -> FileTables | None:
        """The tables of a file; None if there is no such file."""
        self.asked.files.add(path)
        if path not in self._tables:
            facts = self._source.facts(path)
            self._tables[path] = None if facts is None else FileTables(facts)
        return self._tables[path]

    def file(self, path: str) -> FileTables:
        """The tables of a file that is there."""
        tables = self.find_file(path)
        assert tables is not None
        return tables

    def symbol(self, path: str, num: int) -> Symbol:
        """A symbol of a file."""
        return self.file(path).symbols[num]

    def definitions(self, name: str) -> Sequence[SymbolDefinition]:
        """What has a name, by path and index."""
        self.asked.names.add(name)
        return self._source.definitions(name)

    def is_defined(self, name: str) -> bool:
        """True if a function, method or class has this name."""
        return any(one.kind in NAMED_KINDS for one in self.definitions(name))

    def find_only(
        self, name: str, language: Language, counts: Callable[[SymbolDefinition], bool]
    ) -> SymbolRef | None:
        """The only function, method or class of a name that counts; None if none or several do.

        Only languages that share their names with `language` are looked at.
        """
        found = [
            to_symbol_ref(one)
            for one in self.definitions(name)
            if one.kind in NAMED_KINDS
            and counts(one)
            and can_share_names(one.language, language.name)
        ]
        return found[0] if len(found) == 1 else None

    def locate_module(self, path: str, module: str) -> list[str]:
        """The files that a module's name means in a file."""
        key = (path, module)
        language = self.file(path).language
        if key not in self._located:
            self._located[key] = self.modules.locate(module, path, language)
        return self._located[key]

    def resolve_top(
        self, path: str, name: str, language: Language, depth: int = 0
    ) -> ResolvedName | None:
        """What a name means at the top of a file; None if that is not known."""
        if depth > MAX_DEPTH or self.find_file(path) is None:
            return None
        return (
            self._resolve_own(path, name, depth)
            or self._resolve_starred(path, name, depth)
            or self._resolve_without_import(path, name, language)
        )

    def _resolve_own(self, path: str, name: str, depth: int) -> ResolvedName | None:
        """A name that the file itself defines, or imports by name."""
        file = self.file(path)
        self.asked.names_in_files.add((path, name))
        index = file.top_names.get(name)
        if index is not None and file.symbols[index].kind != "variable":
            return ResolvedName(path, index, how="same file")
        results = (self.resolve_import(path, one, depth + 1) for one in file.imports.get(name, ()))
        imported = [found for found in results if found]
        if imported:
            return next((found for found in imported if found.path), imported[0])
        return None if index is None else ResolvedName(path, index, how="same file")

    def _resolve_starred(self, path: str, name: str, depth: int) -> ResolvedName | None:
        """A name of a module whose names are all imported, here or on the way."""
        files = self._list_star_files(path)
        self.asked.files.update(files)
        if depth >= MAX_DEPTH:
            return None
        for file in files:
            found = self._resolve_own(file, name, depth + 1)
            if found is not None and found.path:
                return found._replace(how="import of all names")
        return None

    def _list_star_files(self, path: str) -> list[str]:
        """The files of which all names are known in a file, in the order of the search.

        Each once: where many modules pass on all names of each other, there are more ways than
        anybody could go.
        """
        if path not in self._star_files:
            found: dict[str, None] = {}
            waiting = [path]
            while waiting:
                current = waiting.pop()
                if current in found:
                    continue
                found[current] = None
                for one in reversed(self.file(current).star_imports):
                    waiting += reversed(self.locate_module(current, one.module))
            self._star_files[path] = list(found)[1:]
        return self._star_files[path]

    def _resolve_without_import(
        self, path: str, name: str, language: Language
    ) -> ResolvedName | None:
        """A name that needs no import: of the same folder, or the only one in the repository."""
        if language.package:
            for one in self.definitions(name):
                is_near = one.top and dirname(one.path) == dirname(path)
                if is_near and can_share_names(one.language, language.name):
                    return ResolvedName(*to_symbol_ref(one), how="same folder")
        if language.global_names:
            place = self.find_only(name, language, lambda one: not one.owner)
            if place:
                return ResolvedName(*place, how="only one of that name")
        return None

    def resolve_import(self, path: str, one: Import, depth: int = 0) -> ResolvedName | None:
        """What an import makes known. A name that nothing is found for lies outside."""
        if one.module == THIS_FILE:
            if one.name == one.alias:
                return None
            return self.resolve_top(path, one.name, self.file(path).language, depth + 1)
        files = self.locate_module(path, one.module)
        if one.every:
            return None
        if not one.name:
            return ResolvedName(files[0], NO_SYMBOL, how="import") if files else OUTSIDE
        return self._resolve_imported_name(path, one, files, depth)

    def _resolve_imported_name(
        self, path: str, one: Import, files: list[str], depth: int
    ) -> ResolvedName:
        """What an imported name means, given the files of its module."""
        for file in files:
            if file == path:
                continue
            found = self.resolve_top(file, one.name, self.file(file).language, depth)
            if found and found.path:
                return found._replace(how="import")
        language = self.file(path).language.name
        inner = self.locate_module(path, as_submodule(one, language))
        if inner and inner[0] != path:
            if language in ("python", "rust"):
                return ResolvedName(inner[0], NO_SYMBOL, how="import")
            return self._resolve_namesake(inner, one.name)
        if one.name == "default" and files:
            return self._resolve_default(files[0], one.alias)
        how = UNRESOLVED if one.module[:1] in ALIAS_PREFIXES else ""
        return self._resolve_by_name(path, one) or OUTSIDE._replace(how=how)

    def _resolve_namesake(self, files: list[str], name: str) -> ResolvedName:
        """The class that a file is named after, else the file."""
        self.asked.names_in_files.update((file, name) for file in files)
        for file in files:
            index = self.file(file).top_names.get(name)
            if index is not None:
                return ResolvedName(file, index, how="import")
        return ResolvedName(files[0], NO_SYMBOL, how="import")

    def _resolve_default(self, path: str, alias: str) -> ResolvedName:
        """What a file exports by default: what the import is called, or its only definition."""
        file = self.file(path)
        self.asked.names_in_files.update(((path, alias), (path, ALL_TOP_NAMES)))
        top = file.top_names
        defined = [index for index in top.values() if file.symbols[index].kind != "variable"]
        index = top.get(alias, defined[0] if len(defined) == 1 else NO_SYMBOL)
        return ResolvedName(path, index, how="import")

    def _resolve_by_name(self, path: str, one: Import) -> ResolvedName | None:
        """The only definition of a name, where a module's name says nothing about files."""
        language = self.file(path).language
        if language.name not in ("php", "c_sharp", "rust") or one.module.startswith("std"):
            return None
        place = self.find_only(one.name, language, lambda _: True)
        return ResolvedName(*place, how="only one of that name") if place else None

    def find_submodule(self, path: str, name: str) -> ResolvedName | None:
        """A module within the Python package that a file stands for."""
        folder = dirname(path)
        for other in (f"{folder}/{name}.py", f"{folder}/{name}/__init__.py"):
            if path.endswith("__init__.py") and self.find_file(other.lstrip("/")) is not None:
                return ResolvedName(other.lstrip("/"), NO_SYMBOL, how="import")
        return None

    def find_class(self, path: str, qual: str) -> SymbolRef | None:
        """The class of that name: in the file, in its folder, or the only one."""
        file = self.file(path)
        name = qual.rpartition(".")[2]
        self.asked.names_in_files.add((path, name))
        here = file.class_named(qual)
        if here is not None:
            return path, here
        return self._find_far_class(path, name, file.language.name)

    def _find_far_class(self, path: str, name: str, language: str) -> SymbolRef | None:
        """The class of that name in other files: in the same folder, or the only one."""
        places = [
            to_symbol_ref(one)
            for one in self.definitions(name)
            if one.kind == "class" and can_share_names(one.language, language)
        ]
        near = [place for place in places if dirname(place[0]) == dirname(path)]
        if near:
            return near[0]
        return places[0] if len(places) == 1 else None

    def class_members(self, path: str, index: int) -> dict[str, SymbolRef]:
        """What a symbol has by itself, by name; nothing if it is no class.

        The last definition counts, as after overloads; an attribute hides no method.
        """
        if self.symbol(path, index).kind != "class":
            return {}
        file, place = self.file(path), (path, index)
        class_name = file.symbols[index].name
        self.asked.joined_classes.add(class_name)
        if place not in self._members:
            members = [
                (path, num, file.symbols[num].name, file.symbols[num].kind)
                for num in file.members.get(index, ())
            ]
            members += [
                (one.path, one.num, one.name, one.kind)
                for one in self._source.detached_members(class_name)
                if self._find_far_class(one.path, class_name, one.language) == place
            ]
            found: dict[str, SymbolRef] = {}
            kinds: dict[str, str] = {}
            for home, num, name, kind in sorted(members):
                if name not in found or kinds[name] == kind == "method":
                    found[name], kinds[name] = (home, num), kind
            self._members[place] = found
        return self._members[place]

    def find_bases(self, path: str, index: int) -> tuple[list[SymbolRef], bool]:
        """The classes that a class inherits from, and whether one of them lies outside."""
        key = (path, index)
        if key in self._open:
            # what inherits from itself by way of others ends here
            self._met_circle = True
            return [], False
        if key not in self._bases:
            found = self._read_bases(path, index)
            if self._met_circle:
                # it depends on where one began: not to be kept
                self._met_circle = bool(self._open)
                self.asked.merge(found.asked)
                return found.bases, found.has_outside
            self._bases[key] = found
        known = self._bases[key]
        if key not in self.asked.classes:
            self.asked.classes.add(key)
            self.asked.merge(known.asked)
        return known.bases, known.has_outside

    def _read_bases(self, path: str, index: int) -> ClassBases:
        """The bases of a class, with all that is asked meanwhile in a log of its own."""
        before, self.asked = self.asked, LookupLog()
        self._open.append((path, index))
        bases = []
        has_outside = False
        for mention in self.file(path).base_mentions.get(index, ()):
            base = self._resolve_mention(self, path, mention)
            if base is not None and base.path and base.num >= 0:
                bases.append((base.path, base.num))
            else:
                has_outside = True
        self._open.pop()
        asked, self.asked = self.asked, before
        return ClassBases(bases, has_outside, asked)

    def inheritance_line(self, path: str, index: int) -> list[SymbolRef]:
        """A class and all that it inherits from, nearest first."""
        line = [(path, index)]
        for place in line:
            if len(line) > MAX_INHERITANCE:
                break
            bases, _ = self.find_bases(*place)
            line += [base for base in bases if base not in line]
        return line

    def find_member(
        self, path: str, index: int, name: str, skip_own: bool = False
    ) -> SymbolRef | None:
        """A member of a class by name, its own or inherited."""
        for place in self.inheritance_line(path, index)[skip_own:]:
            members = self.class_members(*place)
            if name in members:
                return members[name]
        return None

    def find_nested_class(self, path: str, index: int, name: str) -> SymbolRef | None:
        """A class within a class."""
        num = self.file(path).nested.get((index, name))
        return None if num is None or self.symbol(path, num).kind != "class" else (path, num)

    def has_outside_base(self, path: str, index: int) -> bool:
        """True if a class inherits from something that is not in the repository."""
        return any(self.find_bases(*place)[1] for place in self.inheritance_line(path, index))


def find_assigning_method(symbols: Sequence[Symbol], attribute: Symbol) -> int:
    """The method of the same class in whose lines an attribute is assigned; else its class."""
    for num, other in enumerate(symbols):
        is_sibling = other.parent == attribute.parent and other.kind == "method"
        if is_sibling and other.first <= attribute.first <= other.last:
            return num
    return attribute.parent


def as_submodule(one: Import, language: str) -> str:
    """The module of which an import's name would be the last part."""
    separator = {"python": ".", "rust": "::"}.get(language, "/")
    if not one.module.rstrip("."):
        separator = ""
    return f"{one.module}{separator}{one.name}"


def list_import_modules(one: Import, language: str) -> Iterator[str]:
    """The names of modules that are looked for because of an import."""
    if one.module == THIS_FILE:
        return
    yield one.module
    if one.name:
        yield as_submodule(one, language)
