"""Where names are defined in a repository, and what is reached from there: the tables that `resolve` reads."""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from posixpath import dirname
from typing import NamedTuple, TypeVar

from reverie.code.facts import HERE, OUTSIDE, Facts, Import, Mention
from reverie.code.imports import Modules
from reverie.code.languages import BY_NAME, Language, kin
from reverie.store.code import Symbol

K = TypeVar("K")
V = TypeVar("V")
ALIASED = tuple("@~#")     # what the name of a module begins with that may be one of ours, by a setting we do not read
UNSURE = "unresolved"
DEEPEST = 8                # re-exports, bases of bases: more than that is a circle
PLAIN = (str, bytes, list, dict, set, tuple, int, float, io.TextIOWrapper, io.BytesIO, Path, re.Pattern, re.Match,
         Exception, object)
OTHERS = """
    map filter forEach reduce push slice splice concat has then catch finally toString length trim equals hashCode size
    add contains isEmpty unwrap expect clone iter collect len next into to_string each select first last empty new call
    apply bind test exec log error warn info debug start stop run main init lock unlock wait send recv put set delete
    execute commit connect request parse load loads dump dumps submit result shape mean max min sum all any
"""
COMMON = frozenset(name for kind in PLAIN for name in dir(kind)) | frozenset(OTHERS.split())
"""Method names that things outside the repository have: such a name alone says nothing about what is called."""


class Meaning(NamedTuple):
    """What a name leads to: a symbol, a file (num -1), or, without a path, something outside."""

    path: str
    num: int
    object: bool = False   # not the class itself but one of its objects
    how: str = ""
    above: bool = False    # members are looked for in its bases only
    local: bool = False    # a local name stands for it


def an_object(found: Meaning) -> Meaning:
    """One of a class's objects."""
    return found._replace(object=True, how="type")


def grouped(pairs: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """The values of each key, in order."""
    groups: dict[K, list[V]] = defaultdict(list)
    for key, value in pairs:
        groups[key].append(value)
    return dict(groups)


Read = Callable[["World", str, Mention], Meaning | None]
"""What a mention in a file means."""


class World:
    """The facts of all files, by name."""

    def __init__(self, files: Mapping[str, Facts], modules: Modules, read: Read) -> None:
        self.files, self.modules, self._read = files, modules, read
        self.tops: dict[str, dict[str, int]] = {}
        self.classes: dict[str, dict[str, list[int]]] = {}
        self.heirs: dict[str, dict[int, list[Mention]]] = {}                  # class → what it says it inherits from
        self.inner: dict[str, dict[tuple[int, str], int]] = {}
        self.bound: dict[str, dict[tuple[int, str], list[tuple[str, str]]]] = {}
        self.imports: dict[str, dict[str, list[Import]]] = {}
        self.stars: dict[str, list[Import]] = {}
        self.names: dict[str, list[tuple[str, int]]] = defaultdict(list)      # functions and classes, by name
        self.methods: dict[str, list[tuple[str, int]]] = defaultdict(list)
        self.folders: dict[tuple[str, str], list[tuple[str, int]]] = defaultdict(list)   # (folder, name) → tops
        self._located: dict[tuple[str, str], list[str]] = {}
        self._stars_of: dict[str, list[str]] = {}
        self._bases: dict[tuple[str, int], tuple[list[tuple[str, int]], bool]] = {}
        self._members: dict[tuple[str, int], dict[str, tuple[str, int]]] = defaultdict(dict)
        for path, facts in files.items():
            self._enter(path, facts)
        for path, facts in files.items():
            for index, one in enumerate(facts.symbols):
                if one.owner and (home := self.class_named(path, one.owner)):
                    self._join(home, one.name, (path, index))

    def _join(self, home: tuple[str, int], name: str, place: tuple[str, int]) -> None:
        """A member of a class. The last definition counts, as after overloads; an attribute does not hide a method."""
        members = self._members[home]
        old = members.get(name)
        if old is None or self._kind(old) == self._kind(place) == "method":
            members[name] = place

    def _kind(self, place: tuple[str, int]) -> str:
        return self.files[place[0]].symbols[place[1]].kind

    def _enter(self, path: str, facts: Facts) -> None:
        top: dict[str, int] = {}
        inner: dict[tuple[int, str], int] = {}
        for index, one in enumerate(facts.symbols):
            if one.kind in ("function", "class", "method"):
                self.names[one.name].append((path, index))
            if one.kind == "method":
                self.methods[one.name].append((path, index))
            if one.parent == OUTSIDE and not one.owner:
                if one.name not in top:
                    self.folders[dirname(path), one.name].append((path, index))
                if one.kind != "variable" or one.name not in top:
                    top[one.name] = index
            else:
                inner.setdefault((one.parent, one.name), index)
        self.tops[path], self.inner[path] = top, inner
        self.classes[path] = grouped((one.name, num) for num, one in enumerate(facts.symbols) if one.kind == "class")
        self.heirs[path] = grouped((one.scope, one) for one in facts.mentions if one.kind == "inherits")
        self.bound[path] = grouped(((one.scope, one.name), (one.type, one.value)) for one in facts.bindings)
        self.imports[path] = grouped((one.alias, one) for one in facts.imports)
        self.stars[path] = [item for item in facts.imports if item.every]

    def located(self, path: str, module: str) -> list[str]:
        """The files that a module's name means in a file."""
        key = (path, module)
        if key not in self._located:
            self._located[key] = self.modules.located(module, path, BY_NAME[self.files[path].language])
        return self._located[key]

    def top(self, path: str, name: str, language: Language, depth: int = 0) -> Meaning | None:
        """What a name means at the top of a file. None: nothing that is known."""
        if depth > DEEPEST or path not in self.tops:
            return None
        return (self._own(path, name, depth) or self._starred(path, name, depth) or self._wide(path, name, language))

    def _own(self, path: str, name: str, depth: int) -> Meaning | None:
        """What a file defines under a name, or imports by it."""
        index = self.tops[path].get(name)
        if index is not None and self.files[path].symbols[index].kind != "variable":
            return Meaning(path, index, how="same file")
        alone = [found for one in self.imports[path].get(name, ()) if (found := self.imported(path, one, depth + 1))]
        if alone:
            return next((found for found in alone if found.path), alone[0])
        return None if index is None else Meaning(path, index, how="same file")

    def _starred(self, path: str, name: str, depth: int) -> Meaning | None:
        """A name from a module of which all names are imported, by way of others of which they are, too."""
        found = (self._own(file, name, depth + 1) for file in self._all_of(path) if depth < DEEPEST)
        return next((one._replace(how="import of all names") for one in found if one is not None and one.path), None)

    def _all_of(self, path: str) -> list[str]:
        """The files of which all names are known in a file, in the order in which they are looked through.

        Each once: where many modules pass on all names of each other, there are more ways than anybody could go.
        """
        if path not in self._stars_of:
            found: dict[str, None] = {}
            waiting = [path]
            while waiting:
                here = waiting.pop()
                if here not in found:
                    found[here] = None
                    waiting += [file for one in reversed(self.stars[here])
                                for file in reversed(self.located(here, one.module)) if file in self.stars]
            self._stars_of[path] = list(found)[1:]
        return self._stars_of[path]

    def _wide(self, path: str, name: str, language: Language) -> Meaning | None:
        """A name that needs no import: of the same folder, or the only one in the repository."""
        if language.package:
            near = [place for place in self.folders.get((dirname(path), name), ()) if self._kin(place[0], language)]
            if near:
                return Meaning(*near[0], how="same folder")
        if language.global_names:
            places = [place for place in self.names.get(name, ()) if self._kin(place[0], language)
                      and (not self.files[place[0]].symbols[place[1]].owner)]
            if len(places) == 1:
                return Meaning(*places[0], how="only one of that name")
        return None

    def _kin(self, path: str, language: Language) -> bool:
        return kin(self.files[path].language, language.name)

    def imported(self, path: str, one: Import, depth: int = 0) -> Meaning | None:
        """What an import makes known. A name that nothing is found for lies outside."""
        if one.module == HERE:
            return None if one.name == one.alias else self.top(path, one.name, BY_NAME[self.files[path].language],
                                                               depth + 1)
        files = self.located(path, one.module)
        if one.every:
            return None
        if not one.name:
            return Meaning(files[0], OUTSIDE, how="import") if files else Meaning("", OUTSIDE)
        for file in files:
            language = BY_NAME[self.files[file].language]
            if file != path and (found := self.top(file, one.name, language, depth)) is not None and found.path:
                return found._replace(how="import")
        joint = "." if self.files[path].language == "python" else "::" if self.files[path].language == "rust" else "/"
        inner = self.located(path, f"{one.module.rstrip('.') and one.module}{joint}{one.name}"
                             if one.module.rstrip(".") else f"{one.module}{one.name}")
        if inner and inner[0] != path:
            return Meaning(inner[0], OUTSIDE, how="import") if joint != "/" else self._in(inner, one.name)
        only = self._default(files[0], one.alias) if one.name == "default" and files else self._by_name(path, one)
        return only or Meaning("", OUTSIDE, how=UNSURE if one.module[:1] in ALIASED else "")

    def _in(self, files: list[str], name: str) -> Meaning:
        """The class that a file is named after, else the file."""
        place = next(((file, self.tops[file][name]) for file in files if name in self.tops[file]), None)
        return Meaning(*place, how="import") if place else Meaning(files[0], OUTSIDE, how="import")

    def _default(self, path: str, alias: str) -> Meaning:
        """What a file exports by default: what has the name it is imported as, or its only definition."""
        top = self.tops[path]
        defined = [index for index in top.values() if self.files[path].symbols[index].kind != "variable"]
        index = top.get(alias, defined[0] if len(defined) == 1 else OUTSIDE)
        return Meaning(path, index, how="import")

    def _by_name(self, path: str, one: Import) -> Meaning | None:
        """Where a module's name says nothing about files (PHP, Rust, C#): the only class or function of that name."""
        if self.files[path].language not in ("php", "c_sharp", "rust") or one.module.startswith("std"):
            return None
        places = [place for place in self.names.get(one.name, ())
                  if self._kin(place[0], BY_NAME[self.files[path].language])]
        return Meaning(*places[0], how="only one of that name") if len(places) == 1 else None

    def submodule(self, path: str, name: str) -> Meaning | None:
        """A module within the folder that a file stands for."""
        folder = dirname(path)
        for other in (f"{folder}/{name}.py", f"{folder}/{name}/__init__.py"):
            if path.endswith("__init__.py") and other.lstrip("/") in self.files:
                return Meaning(other.lstrip("/"), OUTSIDE, how="import")
        return None

    def class_named(self, path: str, qual: str) -> tuple[str, int] | None:
        """The class of that name: in the file, in its folder, or the only one."""
        name = qual.rpartition(".")[2]
        if here := self.classes[path].get(name):
            symbols = self.files[path].symbols
            return path, next((index for index in here if symbols[index].qual == qual), here[0])
        places = [place for place in self.names.get(name, ()) if self._kind(place) == "class"
                  and kin(self.files[place[0]].language, self.files[path].language)]
        near = [place for place in places if dirname(place[0]) == dirname(path)]
        return near[0] if near else places[0] if len(places) == 1 else None

    def bases(self, path: str, index: int) -> tuple[list[tuple[str, int]], bool]:
        """The classes that a class inherits from, and whether one of them lies outside."""
        key = (path, index)
        if key not in self._bases:
            self._bases[key] = ([], False)           # what inherits from itself by way of others ends here
            found, outside = [], False
            for mention in self.heirs[path].get(index, ()):
                base = self._read(self, path, mention)
                if base is not None and base.path and base.num >= 0:
                    found.append((base.path, base.num))
                else:
                    outside = True
            self._bases[key] = (found, outside)
        return self._bases[key]

    def line_of_bases(self, path: str, index: int) -> list[tuple[str, int]]:
        """A class and all that it inherits from, nearest first."""
        found = [(path, index)]
        for place in found:
            if len(found) > DEEPEST * DEEPEST:
                break
            found += [base for base in self.bases(*place)[0] if base not in found]
        return found

    def member(self, path: str, index: int, name: str, skip_own: bool = False) -> tuple[str, int] | None:
        """A member of a class by name, its own or inherited."""
        line = self.line_of_bases(path, index)
        return next((self._members[place][name] for place in line[skip_own:]
                     if place in self._members and name in self._members[place]), None)

    def nested(self, path: str, index: int, name: str) -> tuple[str, int] | None:
        """A class within a class."""
        found = self.inner[path].get((index, name))
        return None if found is None or self._kind((path, found)) != "class" else (path, found)

    def reaches_outside(self, path: str, index: int) -> bool:
        """Whether a class inherits from something that is not in the repository."""
        return any(self.bases(*place)[1] for place in self.line_of_bases(path, index))

    def maker(self, path: str, one: Symbol) -> int:
        """The method in which an attribute is given its value, so that the method's names are known; else its class."""
        for place, other in enumerate(self.files[path].symbols):
            if other.parent == one.parent and other.kind == "method" and other.first <= one.first <= other.last:
                return place
        return one.parent
