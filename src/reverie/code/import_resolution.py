"""What an import says, taken apart, and the files that a module's name leads to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import eq
from posixpath import basename, dirname, normpath

from reverie.code.languages import Language, detect_language

# a file of this name stands for its folder
FOLDER_FILES = ("__init__", "mod", "index", "lib", "main")
# of these, those that an import by path may mean with the folder's name
IMPORTED_FOLDER_FILES = FOLDER_FILES[:3]
# folders from which modules are counted
SOURCE_FOLDERS = frozenset(("", "src", "lib", "python"))
MODULE_SEPARATOR = re.compile(r"::|[.\\/]")
# a shell variable in front, as in $DIR/lib.sh
SHELL_VARIABLE = re.compile(r"^(\$\{?\w+\}?|\$\([^)]*\))/")
SCRIPT_SUFFIX = re.compile(r"\.[cm]?jsx?$")
# what a module's name begins with that is counted from the repository, as most projects set it
ROOT_ALIASES = ("@/", "~/", "#/")
ANY_SUFFIX = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".d.ts", ".py", ".pyi")
SCRIPT_SUFFIXES = (".js", ".ts", ".tsx", ".jsx", ".mjs", ".cjs")
# files that a Rust crate begins with
CRATE_FILES = ("src/lib.rs", "src/main.rs", "lib.rs")

# a module's path in parts, the repository's folder first
Parts = tuple[str, ...]


def strip_quotes(text: str) -> str:
    """A text without the quotes or brackets around it."""
    return text.strip("\"'`<>() \t\n") if text[:1] in "\"'`<(" else text


def parse_use_tree(text: str) -> Iterator[tuple[str, str, str]]:
    """(module, name, alias) of each leaf of a Rust `use` tree: `a::{b, c::{self, d as e}}`."""
    waiting = [("", text.replace("\n", "").strip())]
    while waiting:
        base, tree = waiting.pop()
        before, brace, inner = tree.partition("{")
        if brace:
            within = f"{base}::{before.strip().rstrip(':')}".strip(":")
            parts = split_top_level(inner.rpartition("}")[0])
            waiting += [(within, part) for part in parts]
            continue
        path, _, alias = tree.partition(" as ")
        head, _, name = f"{base}::{path.strip()}".strip(":").rpartition("::")
        if name == "self":
            head, _, name = head.rpartition("::")
        if name:
            yield head, name, alias.strip() or name


def split_top_level(text: str) -> Iterator[str]:
    """The parts between commas that stand in no inner braces."""
    depth = 0
    part = ""
    for char in text:
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += char
    if part.strip():
        yield part.strip()


class ModuleIndex:
    """The files of a repository, by the names that modules have."""

    def __init__(self, root: str, paths: Iterable[str]) -> None:
        """`root` is the name of the repository's folder."""
        self.root = root
        self.paths = frozenset(paths)
        # last part of a module's path → (all parts with the root, file)
        self.by_last: dict[str, list[tuple[Parts, str]]] = defaultdict(list)
        self.folders: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            module = to_module_path(path)
            parts = (root, *module.split("/")) if module else (root,)
            self.by_last[parts[-1]].append((parts, path))
            self.folders[dirname(path)].append(path)
        # folders, by the last part of their path
        self.by_end: dict[str, list[str]] = defaultdict(list)
        for folder in self.folders:
            self.by_end[basename(folder)].append(folder)

    def locate(
        self,
        module: str,
        path: str,
        language: Language,
    ) -> list[str]:
        """The files that a module's name means in the file at `path`; empty if it lies outside."""
        if language.locate == "path":
            return self._locate_path(module, path)
        if language.locate != "dots":
            return []
        match language.name:
            case "python":
                return self._locate_python(module, path)
            case "go":
                return self._locate_go(module)
            case _:
                return self._locate_dotted(module, path, language)

    def _list_modules(
        self,
        wanted: Sequence[str],
    ) -> Iterator[tuple[Parts, str]]:
        """(parts of its path, file) of the modules whose path ends in these parts."""
        for parts, file in self.by_last.get(wanted[-1], ()):
            if parts[-len(wanted) :] == tuple(wanted):
                yield parts, file

    def _locate_python(self, module: str, path: str) -> list[str]:
        """A Python module: relative to a file, or absolute."""
        name = module.lstrip(".")
        if name != module:
            folder = path
            for _ in range(len(module) - len(name)):
                folder = dirname(folder)
            base = f"{folder}/{name.replace('.', '/')}"
            return self._find_file(base.strip("/"), path)
        wanted = name.split(".")
        found = [
            file
            for parts, file in self._list_modules(wanted)
            if detect_language(file) and self._is_importable(parts, wanted, path)
        ]
        return pick_nearest_file(found, path)

    def _is_importable(
        self,
        parts: Parts,
        wanted: Sequence[str],
        path: str,
    ) -> bool:
        """True if the Python module with these parts is known as `wanted` at `path`."""
        if len(parts) == len(wanted):
            return True
        folder = "/".join(parts[1 : -len(wanted)])
        # what lies in a package is imported by way of the package
        if self._is_package(folder):
            return False
        is_near = folder in SOURCE_FOLDERS or path.startswith(f"{folder}/")
        return is_near or self._is_package(f"{folder}/{wanted[0]}")

    def _is_package(self, folder: str) -> bool:
        """True if a folder is a Python package."""
        return f"{folder}/__init__.py".lstrip("/") in self.paths

    def _find_file(self, base: str, path: str) -> list[str]:
        """The file of that name: as it is, with a suffix, or as a folder's own."""
        suffix = path[path.rfind(".") :]
        names = [base + end for end in ("", suffix, *ANY_SUFFIX)]
        # TypeScript imports a .ts file as the .js that it will be
        stripped = SCRIPT_SUFFIX.sub("", base)
        names += [f"{stripped}.ts", f"{stripped}.tsx"]
        for own in IMPORTED_FOLDER_FILES:
            inner = f"{base}/{own}".lstrip("/")
            names += [inner + end for end in (suffix, ".ts", ".tsx", ".js", ".py")]
        return [name for name in names if name in self.paths][:1]

    def _locate_path(self, module: str, path: str) -> list[str]:
        """A path from the file; else the end of a path, unless it is a package's bare name."""
        module = SHELL_VARIABLE.sub("", module)
        base = normpath(f"{dirname(path)}/{module}").lstrip("/")
        found = self._find_file(base, path)
        if found:
            return found
        is_aliased = module.startswith(ROOT_ALIASES)
        if module.startswith((".", "@")) and not is_aliased:
            return []
        is_bare = "/" not in module and "." not in module
        if is_bare and path.endswith(SCRIPT_SUFFIXES):
            return []
        tail = module[2:] if is_aliased else module.removeprefix("./")
        files = [file for _, file in self._list_modules(to_module_path(tail).split("/"))]
        if "." in tail:
            files = [file for file in files if file.endswith(tail)]
        return pick_nearest_file(files, path)

    def _locate_dotted(
        self,
        module: str,
        path: str,
        language: Language,
    ) -> list[str]:
        """A module by the end of a file's or folder's path, as much of it as there is."""
        parts = [part for part in MODULE_SEPARATOR.split(module) if part]
        if parts[:1] in (["super"], ["self"]):
            parts = climb_modules(parts, path)
        if parts[:1] in (["crate"], [self.root]):
            parts = parts[1:]
        if not parts:
            return [file for file in CRATE_FILES if file in self.paths][:1]
        modules = [file for _, file in self._list_modules(parts)]
        found = [file for file in modules if detect_language(file) == language]
        if found:
            return pick_nearest_file(found, path)
        tail = "/".join(("", *parts))
        files: list[str] = []
        for folder in self.by_end.get(parts[-1], ()):
            if f"/{folder}".endswith(tail):
                files += self.folders[folder]
        return [file for file in files if detect_language(file) == language]

    def _locate_go(self, module: str) -> list[str]:
        """The files of a Go package, which is a folder.

        Nothing is taken for another repository's package whose path happens to end alike.
        """
        parts = module.split("/")
        for start in range(1, len(parts)):
            files = self._list_go_files("/".join(parts[start:]))
            if files and (parts[start - 1] == self.root or len(parts) - start > 1):
                return files
        return self._list_go_files("") if parts[-1] == self.root else []

    def _list_go_files(self, folder: str) -> list[str]:
        """The Go files right in a folder."""
        return [file for file in self.folders.get(folder, ()) if file.endswith(".go")]


def climb_modules(parts: list[str], path: str) -> list[str]:
    """The parts of a Rust module from the root on, that begins with `super` or `self` at `path`."""
    folder = to_module_path(path)
    while parts and parts[0] in ("super", "self"):
        if parts[0] == "super":
            folder = dirname(folder)
        parts = parts[1:]
    return [*folder.split("/"), *parts] if folder else parts


def to_module_path(path: str) -> str:
    """A path without its suffix; of a file that stands for its folder, the folder."""
    folder, _, name = path.rpartition("/")
    base = name.partition(".")[0] or name
    if base in FOLDER_FILES and name != base:
        return folder
    return f"{folder}/{base}" if folder else base


def pick_nearest_file(files: list[str], path: str) -> list[str]:
    """Of several files the one that shares most folders with `path`; ties by length and name."""
    steps = path.split("/")

    def rank(file: str) -> tuple[int, int, str]:
        shared = sum(map(eq, file.split("/"), steps))
        return -shared, len(file), file

    return sorted(files, key=rank)[:1]
