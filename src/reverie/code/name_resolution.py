"""Where names are defined in a repository, and what is reached from there.

A `NameResolver` reads files when it first needs them and notes what was asked of it (`asked`).
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
from typing import NamedTuple, TypeGuard

from reverie.code.import_resolution import ModuleIndex
from reverie.code.languages import Language, family_of
from reverie.code.parsed_facts import NO_SYMBOL, THIS_FILE, Import, Mention, strip_qualifiers
from reverie.code.symbol_tables import (
    NAMED_KINDS,
    FileTables,
    LoadedFacts,
    SymbolRef,
    to_definition,
    to_symbol_ref,
)
from reverie.storage.indexed_code import Symbol, SymbolDefinition

# The keys of what edges rest on, as they are kept in the index.
FILE_KEY = "file {}"
NAME_IN_FILE_KEY = "in {}: {}"
NAME_KEY = "name {}"
MEMBERS_KEY = "members of {}"
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

    @property
    def place(self) -> SymbolRef:
        """The symbol itself, however it was found."""
        return self.path, self.num


OUTSIDE = ResolvedName("", NO_SYMBOL)


def is_inside(found: ResolvedName | None) -> TypeGuard[ResolvedName]:
    """True if a name leads to a file of the repository, or to a symbol in it."""
    return found is not None and found.path != ""


def is_symbol(found: ResolvedName | None) -> TypeGuard[ResolvedName]:
    """True if a name leads to a symbol of the repository."""
    return is_inside(found) and found.num >= 0


def as_instance(found: ResolvedName | None) -> ResolvedName | None:
    """One of a class's objects; what is not in the repository stays what it was."""
    return found._replace(is_instance=True, how="type") if is_inside(found) else found


# a question that was asked: the template of its key, and what that is filled with; of a file, which
# every step of resolving asks for, only the path
Lookup = tuple[str, ...] | str
DefinitionTest = Callable[[SymbolDefinition], bool]
# what a mention in a file means
ResolveMention = Callable[["NameResolver", str, Mention], ResolvedName | None]


class ClassBases(NamedTuple):
    """The classes that a class inherits from, and what was asked to find them."""

    bases: Sequence[SymbolRef] = ()
    # one of its bases is not in the repository
    has_outside: bool = False
    asked: frozenset[Lookup] = frozenset()


class NameResolver:
    """The files of a repository, and what names mean in them."""

    def __init__(
        self,
        root: str,
        source: LoadedFacts,
        resolve_mention: ResolveMention,
    ) -> None:
        """`root` is the name of the repository's folder; `resolve_mention` is for base classes."""
        self.modules = ModuleIndex(root, source.paths())
        # what was asked so far; who resolves a file begins anew
        self.asked: set[Lookup] = set()
        self._source = source
        self._resolve_mention = resolve_mention
        self._tables: dict[str, FileTables | None] = {}
        self._located: dict[tuple[str, str], list[str]] = {}
        self._star_files: dict[str, list[str]] = {}
        self._bases: dict[SymbolRef, ClassBases] = {}
        # classes whose bases are being read, and whether one of these was asked for again
        self._open: list[SymbolRef] = []
        self._met_circle = False
        self._members: dict[SymbolRef, dict[str, SymbolDefinition]] = {}

    def note_lookup(self, template: str, *parts: str) -> None:
        """Note that edges rest on the answer to a question."""
        self.asked.add((template, *parts))

    def find_file(self, path: str) -> FileTables | None:
        """The tables of a file; None if there is no such file."""
        self.asked.add(path)
        if path not in self._tables:
            facts = self._source.facts(path)
            self._tables[path] = FileTables(facts) if facts else None
        return self._tables[path]

    def file(self, path: str) -> FileTables:
        """The tables of a file that is there."""
        self.asked.add(path)
        # every step of resolving passes here
        tables = self._tables.get(path) or self.find_file(path)
        assert tables is not None
        return tables

    def symbol(self, place: SymbolRef) -> Symbol:
        """A symbol of a file."""
        path, num = place
        return self.file(path).symbols[num]

    def definitions(self, name: str) -> Sequence[SymbolDefinition]:
        """What has a name, by path and index."""
        self.note_lookup(NAME_KEY, name)
        return self._source.definitions(name)

    def list_namesakes(
        self,
        name: str,
        language: str,
        counts: DefinitionTest,
    ) -> list[SymbolDefinition]:
        """What has a name and counts, in the languages that share their names with this one."""
        family = family_of(language)
        # most definitions do not count, which is said sooner than their family
        return [
            one
            for one in self.definitions(name)
            if counts(one) and family_of(one.language) == family
        ]

    def is_defined(self, name: str) -> bool:
        """True if a function, method or class has this name."""
        return any(one.kind in NAMED_KINDS for one in self.definitions(name))

    def find_only(
        self,
        name: str,
        language: Language,
        counts: DefinitionTest,
    ) -> ResolvedName | None:
        """The only function, method or class of a name that counts; None if none or several do."""
        found = self.list_namesakes(
            name, language.name, lambda one: one.kind in NAMED_KINDS and counts(one)
        )
        if len(found) != 1:
            return None
        return ResolvedName(*to_symbol_ref(found[0]), how="only one of that name")

    def locate_module(self, path: str, module: str) -> list[str]:
        """The files that a module's name means in a file."""
        key = (path, module)
        language = self.file(path).language
        if key not in self._located:
            self._located[key] = self.modules.locate(module, path, language)
        return self._located[key]

    def resolve_top(
        self,
        path: str,
        name: str,
        language: Language,
        depth: int = 0,
    ) -> ResolvedName | None:
        """What a name means at the top of a file; None if that is not known."""
        if depth > MAX_DEPTH or self.find_file(path) is None:
            return None
        return (
            self._resolve_own(path, name, depth)
            or self._resolve_starred(path, name, depth)
            or self._resolve_without_import(path, name, language)
        )

    def _resolve_own(
        self,
        path: str,
        name: str,
        depth: int,
    ) -> ResolvedName | None:
        """A name that the file itself defines, or imports by name."""
        file = self.file(path)
        self.note_lookup(NAME_IN_FILE_KEY, path, name)
        index = file.top_names.get(name)
        own = None if index is None else ResolvedName(path, index, how="same file")
        if index is not None and file.symbols[index].kind != "variable":
            return own
        imported = None
        for one in file.imports.get(name, ()):
            found = self.resolve_import(path, one, depth + 1)
            if is_inside(found):
                return found
            imported = imported or found
        return imported or own

    def _resolve_starred(
        self,
        path: str,
        name: str,
        depth: int,
    ) -> ResolvedName | None:
        """A name of a module whose names are all imported, here or on the way."""
        files = self._list_star_files(path)
        self.asked.update(files)
        if depth >= MAX_DEPTH:
            return None
        for file in files:
            found = self._resolve_own(file, name, depth + 1)
            if is_inside(found):
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
        self,
        path: str,
        name: str,
        language: Language,
    ) -> ResolvedName | None:
        """A name that needs no import: of the same folder, or the only one in the repository."""
        if language.package:
            folder = dirname(path)
            near = self.list_namesakes(
                name, language.name, lambda one: one.top and dirname(one.path) == folder
            )
            if near:
                return ResolvedName(*to_symbol_ref(near[0]), how="same folder")
        if language.global_names:
            return self.find_only(name, language, lambda one: not one.owner)
        return None

    def resolve_import(
        self,
        path: str,
        one: Import,
        depth: int = 0,
    ) -> ResolvedName | None:
        """The definitions that an import binds; a name without a definition lies outside."""
        if one.module == THIS_FILE:
            if one.name == one.alias:
                return None
            return self.resolve_top(
                path,
                one.name,
                self.file(path).language,
                depth + 1,
            )
        files = self.locate_module(path, one.module)
        if one.every:
            return None
        if not one.name:
            return ResolvedName(files[0], NO_SYMBOL, how="import") if files else OUTSIDE
        return self._resolve_imported_name(path, one, files, depth)

    def _resolve_imported_name(
        self,
        path: str,
        one: Import,
        files: list[str],
        depth: int,
    ) -> ResolvedName:
        """What an imported name means, given the files of its module."""
        for file in files:
            if file == path:
                continue
            found = self.resolve_top(
                file,
                one.name,
                self.file(file).language,
                depth,
            )
            if is_inside(found):
                return found._replace(how="import")
        language = self.file(path).language
        inner = self.locate_module(path, as_submodule(one, language.name))
        if inner and inner[0] != path:
            if language.name in ("python", "rust"):
                return ResolvedName(inner[0], NO_SYMBOL, how="import")
            return self._resolve_namesake(inner, one.name)
        if one.name == "default" and files:
            return self._resolve_default(files[0], one.alias)
        # where a module's name says nothing about files
        if language.name in ("php", "c_sharp", "rust") and not one.module.startswith("std"):
            only = self.find_only(one.name, language, lambda _: True)
            if only:
                return only
        how = UNRESOLVED if one.module[:1] in ALIAS_PREFIXES else ""
        return OUTSIDE._replace(how=how)

    def _resolve_namesake(self, files: list[str], name: str) -> ResolvedName:
        """The class that a file is named after, else the file."""
        for file in files:
            self.note_lookup(NAME_IN_FILE_KEY, file, name)
        for file in files:
            index = self.file(file).top_names.get(name)
            if index is not None:
                return ResolvedName(file, index, how="import")
        return ResolvedName(files[0], NO_SYMBOL, how="import")

    def _resolve_default(self, path: str, alias: str) -> ResolvedName:
        """What a file exports by default: what the import is called, or its only definition."""
        file = self.file(path)
        for name in (alias, ALL_TOP_NAMES):
            self.note_lookup(NAME_IN_FILE_KEY, path, name)
        top = file.top_names
        defined = [index for index in top.values() if file.symbols[index].kind != "variable"]
        only = defined[0] if len(defined) == 1 else NO_SYMBOL
        return ResolvedName(path, top.get(alias, only), how="import")

    def find_submodule(self, path: str, name: str) -> ResolvedName | None:
        """A module within the Python package that a file stands for."""
        if not path.endswith("__init__.py"):
            return None
        folder = dirname(path)
        for ending in (".py", "/__init__.py"):
            other = f"{folder}/{name}{ending}".lstrip("/")
            if self.find_file(other) is not None:
                return ResolvedName(other, NO_SYMBOL, how="import")
        return None

    def find_class(self, path: str, qual: str) -> SymbolRef | None:
        """The class of that name: in the file, in its folder, or the only one."""
        file = self.file(path)
        name = strip_qualifiers(qual)
        self.note_lookup(NAME_IN_FILE_KEY, path, name)
        here = file.class_named(qual)
        if here is not None:
            return path, here
        return self._find_far_class(path, name, file.language.name)

    def _find_far_class(
        self,
        path: str,
        name: str,
        language: str,
    ) -> SymbolRef | None:
        """The class of that name in other files: in the same folder, or the only one."""
        classes = self.list_namesakes(name, language, lambda one: one.kind == "class")
        places = [to_symbol_ref(one) for one in classes]
        for place in places:
            if dirname(place[0]) == dirname(path):
                return place
        return places[0] if len(places) == 1 else None

    def class_members(self, place: SymbolRef) -> dict[str, SymbolDefinition]:
        """What a symbol has by itself, by name; nothing if it is no class.

        The last definition counts, as after overloads; an attribute hides no method.
        """
        if self.symbol(place).kind != "class":
            return {}
        path, index = place
        file = self.file(path)
        class_name = file.symbols[index].name
        self.note_lookup(MEMBERS_KEY, class_name)
        if place not in self._members:
            members = [to_definition(path, num, file.facts) for num in file.members.get(index, ())]
            members += (
                one
                for one in self._source.detached_members(class_name)
                if self._find_far_class(one.path, class_name, one.language) == place
            )
            found: dict[str, SymbolDefinition] = {}
            for one in sorted(members):
                before = found.get(one.name)
                if before is None or before.kind == one.kind == "method":
                    found[one.name] = one
            self._members[place] = found
        return self._members[place]

    def find_bases(self, place: SymbolRef) -> ClassBases:
        """The classes that a class inherits from."""
        if place in self._open:
            # what inherits from itself by way of others ends here
            self._met_circle = True
            return ClassBases()
        known = self._bases.get(place)
        if known is None:
            known = self._read_bases(place)
            if self._met_circle:
                # it depends on where one began: not to be kept
                self._met_circle = bool(self._open)
            else:
                self._bases[place] = known
        self.asked |= known.asked
        return known

    def _read_bases(self, place: SymbolRef) -> ClassBases:
        """The bases of a class, with all that is asked meanwhile in a log of its own."""
        before, self.asked = self.asked, set()
        self._open.append(place)
        path, index = place
        mentions = self.file(path).base_mentions.get(index, ())
        found = [self._resolve_mention(self, path, mention) for mention in mentions]
        bases = [base.place for base in found if is_symbol(base)]
        self._open.pop()
        asked, self.asked = self.asked, before
        return ClassBases(bases, len(bases) < len(found), frozenset(asked))

    def inheritance_line(self, place: SymbolRef) -> list[SymbolRef]:
        """A class and all that it inherits from, nearest first."""
        line = [place]
        for one in line:
            if len(line) > MAX_INHERITANCE:
                break
            line += [base for base in self.find_bases(one).bases if base not in line]
        return line

    def find_member(
        self,
        place: SymbolRef,
        name: str,
        skip_own: bool = False,
    ) -> SymbolRef | None:
        """A member of a class by name, its own or inherited."""
        for one in self.inheritance_line(place)[skip_own:]:
            members = self.class_members(one)
            if name in members:
                return to_symbol_ref(members[name])
        return None

    def find_nested_class(self, place: SymbolRef, name: str) -> SymbolRef | None:
        """A class within a class."""
        path, index = place
        num = self.file(path).nested.get((index, name), NO_SYMBOL)
        is_class = num >= 0 and self.symbol((path, num)).kind == "class"
        return (path, num) if is_class else None

    def has_outside_base(self, place: SymbolRef) -> bool:
        """True if a class inherits from something that is not in the repository."""
        return any(self.find_bases(one).has_outside for one in self.inheritance_line(place))


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
