"""What an import says, taken apart, and the files that a module's name leads to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from posixpath import dirname, normpath

from reverie.code.languages import Language, detect_language

# a file of this name stands for its folder
FOLDER_FILES = ("__init__", "mod", "index", "lib", "main")
# folders from which modules are counted
SOURCE_FOLDERS = frozenset(("", "src", "lib", "python"))
MODULE_SEPARATOR = re.compile(r"::|[.\\/]")
ANY_SUFFIX = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".d.ts", ".py", ".pyi")
SCRIPT_SUFFIXES = (".js", ".ts", ".tsx", ".jsx", ".mjs", ".cjs")


def strip_quotes(text: str) -> str:
    """A text without the quotes or brackets around it."""
    return text.strip("\"'`<>() \t\n") if text[:1] in "\"'`<(" else text


def parse_use_tree(text: str) -> Iterator[tuple[str, str, str]]:
    """(module, name, alias) of each leaf of a Rust `use` tree: `a::{b, c::{self, d as e}}`."""
    waiting = [("", "".join(text.split("\n")).strip())]
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
    depth, start = 0, 0
    for place, char in enumerate(text):
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


class ModuleIndex:
    """The files of a repository, by the names that modules have."""

    def __init__(self, root: str, paths: Iterable[str]) -> None:
        """`root` is the name of the repository's folder."""
        self.root = root
        self.paths = frozenset(paths)
        # last part of a module's path → (all parts with the root, file)
        self.by_last: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
        self.folders: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            module = to_module_path(path)
            parts = (root, *module.split("/")) if module else (root,)
            self.by_last[parts[-1]].append((parts, path))
            self.folders[dirname(path)].append(path)
        # folders, by the last part of their path
        self.by_end: dict[str, list[str]] = defaultdict(list)
        for folder in self.folders:
            self.by_end[folder.rpartition("/")[2]].append(folder)

    def locate(self, module: str, path: str, language: Language) -> list[str]:
        """The files that a module's name means in the file at `path`; empty if it lies outside."""
        if language.locate == "path":
            return self._locate_path(module, path)
        if language.name == "python":
            return self._locate_python(module, path)
        return self._locate_dotted(module, path, language) if language.locate == "dots" else []

    def _locate_python(self, module: str, path: str) -> list[str]:
        """A Python module: relative to a file, or absolute."""
        name = module.lstrip(".")
        dots = len(module) - len(name)
        if dots:
            folder = dirname(path)
            for _ in range(dots - 1):
                folder = dirname(folder)
            parts = [folder, *name.split(".")] if folder else name.split(".")
            return self._find_file("/".join(parts).strip("/"), path)
        wanted = tuple(name.split("."))
        candidates = self.by_last.get(wanted[-1], ())
        found = [
            file for parts, file in candidates if self._is_python_module(parts, file, wanted, path)
        ]
        return pick_nearest_file(found, path)

    def _is_python_module(
        self, parts: tuple[str, ...], file: str, wanted: tuple[str, ...], path: str
    ) -> bool:
        """True if a file is the module that is wanted, and can be imported from `path`."""
        if parts[-len(wanted) :] != wanted or detect_language(file) is None:
            return False
        is_whole = len(parts) == len(wanted)
        before = () if is_whole else parts[1 : len(parts) - len(wanted)]
        folder = "/".join(before)
        is_near = folder in SOURCE_FOLDERS or f"{path}/".startswith(f"{folder}/")
        # what lies in a package is imported by way of the package
        if not is_whole and self._is_package(folder):
            return False
        return is_near or self._is_package("/".join((*before, wanted[0])))

    def _is_package(self, folder: str) -> bool:
        """True if a folder is a Python package."""
        return f"{folder}/__init__.py".lstrip("/") in self.paths

    def _find_file(self, base: str, path: str) -> list[str]:
        """The file of that name: as it is, with a suffix, or as a folder's own."""
        suffix = path[path.rfind(".") :]
        names = [base, base + suffix]
        names += [base + other for other in ANY_SUFFIX]
        # TypeScript imports a .ts file as the .js that it will be
        stripped = re.sub(r"\.[cm]?jsx?$", "", base)
        names += [stripped + other for other in (".ts", ".tsx")]
        for own in FOLDER_FILES[:3]:
            for end in (suffix, ".ts", ".tsx", ".js", ".py"):
                names.append(f"{base}/{own}{end}".lstrip("/"))
        return next(([name] for name in names if name in self.paths), [])

    def _locate_path(self, module: str, path: str) -> list[str]:
        """A path from the file; else the end of a path, unless it is a package's bare name."""
        # a shell variable in front, as in $DIR/lib.sh
        module = re.sub(r"^(\$\{?\w+\}?|\$\([^)]*\))/", "", module)
        base = normpath(f"{dirname(path)}/{module}").lstrip("/")
        found = self._find_file(base, path)
        if found:
            return found
        # of the repository, as most projects set these aliases
        is_aliased = module.startswith(("@/", "~/", "#/"))
        if module.startswith((".", "@")) and not is_aliased:
            return []
        is_bare = "/" not in module and "." not in module
        if is_bare and path.endswith(SCRIPT_SUFFIXES):
            return []
        tail = module[2:] if is_aliased else module.removeprefix("./")
        wanted = tuple(to_module_path(tail).split("/"))
        files = [
            file
            for parts, file in self.by_last.get(wanted[-1], ())
            if parts[-len(wanted) :] == wanted and (file.endswith(tail) or "." not in tail)
        ]
        return pick_nearest_file(files, path)

    def _locate_dotted(self, module: str, path: str, language: Language) -> list[str]:
        """A module by the end of a file's or folder's path, as much of it as there is."""
        if language.name == "go":
            return self._locate_go(module)
        parts = [part for part in MODULE_SEPARATOR.split(module) if part]
        if parts[:1] in (["super"], ["self"]):
            parts = climb_modules(parts, path)
        if parts[:1] in (["crate"], [self.root]):
            parts = parts[1:]
        if not parts:
            crates = ("src/lib.rs", "src/main.rs", "lib.rs")
            return [file for file in crates if file in self.paths][:1]
        wanted = tuple(parts)
        found = [
            file
            for known, file in self.by_last.get(wanted[-1], ())
            if known[-len(wanted) :] == wanted and detect_language(file) == language
        ]
        if found:
            return pick_nearest_file(found, path)
        tail = "/" + "/".join(wanted)
        folders = [one for one in self.by_end.get(wanted[-1], ()) if f"/{one}".endswith(tail)]
        files = (file for folder in folders for file in self.folders[folder])
        return [file for file in files if detect_language(file) == language]

    def _locate_go(self, module: str) -> list[str]:
        """The files of a Go package, which is a folder.

        Nothing is taken for another repository's package whose path happens to end alike.
        """
        parts = module.split("/")
        for start in range(len(parts)):
            folder = "/".join(parts[start:])
            files = [file for file in self.folders.get(folder, ()) if file.endswith(".go")]
            if files and start and (parts[start - 1] == self.root or len(parts) - start > 1):
                return files
        if parts[-1] == self.root:
            return [file for file in self.folders.get("", ()) if file.endswith(".go")]
        return []


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

    def count_shared(file: str) -> int:
        pairs = zip(file.split("/"), path.split("/"), strict=False)
        return sum(1 for one, other in pairs if one == other)

    return sorted(files, key=lambda file: (-count_shared(file), len(file), file))[:1]
