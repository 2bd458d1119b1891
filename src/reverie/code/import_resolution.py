"""What an import says, taken apart, and the files that a module's name leads to."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from posixpath import dirname, normpath

from reverie.code.languages import Language, detect_language

FOLDER_FILES = (
    "__init__",
    "mod",
    "index",
    "lib",
    "main",
)  # a file of this name stands for its folder
SOURCE_FOLDERS = frozenset(("", "src", "lib", "python"))  # folders from which modules are counted
MODULE_SEPARATOR = re.compile(r"::|[.\\/]")


def strip_quotes(text: str) -> str:
    """A text without the quotes or brackets around it."""
    return text.strip("\"'`<>() \t\n") if text[:1] in "\"'`<(" else text


def parse_use_tree(text: str) -> Iterator[tuple[str, str, str]]:
    """(module, name, alias) of each leaf of a Rust `use` tree, such as `a::{b,
    c::{self, d as e}}`.
    """
    waiting = [("", "".join(text.split("\n")).strip())]
    while waiting:
        base, some = waiting.pop()
        before, brace, inner = some.partition("{")
        if brace:
            within = f"{base}::{before.strip().rstrip(':')}".strip(":")
            waiting += [(within, part) for part in split_top_level(inner.rpartition("}")[0])]
            continue
        path, _, alias = some.partition(" as ")
        head, _, name = f"{base}::{path.strip()}".strip(":").rpartition("::")
        if name == "self":
            head, _, name = head.rpartition("::")
        if name:
            yield head, name, alias.strip() or name


def split_top_level(text: str) -> Iterator[str]:
    """The parts between commas that stand in no inner braces."""
    depth, start = 0, 0
    for place, ch in enumerate(text):
        depth += (ch == "{") - (ch == "}")
        if ch == "," and depth == 0:
            yield text[start:place].strip()
            start = place + 1
    if text[start:].strip():
        yield text[start:].strip()


class ModuleIndex:
    """The files of a repository, by the names that modules have."""

    def __init__(self, root: str, paths: Iterable[str]) -> None:
        self.root = root  # the name of its folder
        self.paths = frozenset(paths)
        self.by_last: dict[str, list[tuple[tuple[str, ...], str]]] = defaultdict(list)
        self.folders: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self.paths):
            parts = (root, *to_module_path(path).split("/")) if to_module_path(path) else (root,)
            self.by_last[parts[-1]].append((parts, path))
            self.folders[dirname(path)].append(path)
        # folders, by the last part of their path
        self.by_end: dict[str, list[str]] = defaultdict(list)
        for folder in self.folders:
            self.by_end[folder.rpartition("/")[2]].append(folder)

    def located(self, module: str, path: str, language: Language) -> list[str]:
        """The files that a module's name means in a file; empty where it is none of this
        repository.
        """
        if language.locate == "path":
            return self._by_path(module, path)
        if language.name == "python":
            return self._python(module, path)
        return self._by_dots(module, path, language) if language.locate == "dots" else []

    def _python(self, module: str, path: str) -> list[str]:
        name = module.lstrip(".")
        dots = len(module) - len(name)
        if dots:
            folder = dirname(path)
            for _ in range(dots - 1):
                folder = dirname(folder)
            return self._at(
                "/".join([*([folder] if folder else []), *name.split(".")]).strip("/"), path
            )
        wanted = tuple(name.split("."))
        found = []
        for parts, file in self.by_last.get(wanted[-1], ()):
            if parts[-len(wanted) :] != wanted or detect_language(file) is None:
                continue
            before = parts[1 : len(parts) - len(wanted)] if len(parts) > len(wanted) else ()
            folder = "/".join(before)
            near = folder in SOURCE_FOLDERS or f"{path}/".startswith(f"{folder}/")
            package = len(parts) == len(wanted) or not self._is_package(folder)
            if package and (near or self._is_package("/".join((*before, wanted[0])))):
                found.append(file)
        return pick_nearest_file(found, path)

    def _is_package(self, folder: str) -> bool:
        return f"{folder}/__init__.py".lstrip("/") in self.paths

    def _at(self, base: str, path: str) -> list[str]:
        """The file of that name, with a suffix or as a folder's own."""
        suffix = path[path.rfind(".") :]
        names = [
            base,
            base + suffix,
            *(
                base + other
                for other in (".ts", ".tsx", ".js", ".jsx", ".mjs", ".d.ts", ".py", ".pyi")
            ),
        ]
        stripped = re.sub(r"\.[cm]?jsx?$", "", base)
        names += [stripped + other for other in (".ts", ".tsx")]
        names += [
            f"{base}/{own}{end}".lstrip("/")
            for own in FOLDER_FILES[:3]
            for end in (suffix, ".ts", ".tsx", ".js", ".py")
        ]
        return next(([name] for name in names if name in self.paths), [])

    def _by_path(self, module: str, path: str) -> list[str]:
        """A path from the file; else the end of a path, where it is more than a bare name of a
        package.
        """
        module = re.sub(r"^(\$\{?\w+\}?|\$\([^)]*\))/", "", module)
        base = normpath(f"{dirname(path)}/{module}").lstrip("/")
        if found := self._at(base, path):
            return found
        own = module.startswith(("@/", "~/", "#/"))  # of the repository, as most projects set it
        if (module.startswith((".", "@")) and not own) or (
            module.count("/") == 0
            and "." not in module
            and path.endswith((".js", ".ts", ".tsx", ".jsx", ".mjs", ".cjs"))
        ):
            return []
        tail = module[2:] if own else module.removeprefix("./")
        wanted = tuple(to_module_path(tail).split("/"))
        return pick_nearest_file(
            [
                file
                for parts, file in self.by_last.get(wanted[-1], ())
                if parts[-len(wanted) :] == wanted and (file.endswith(tail) or "." not in tail)
            ],
            path,
        )

    def _by_dots(self, module: str, path: str, language: Language) -> list[str]:
        """A module by the end of a file's or folder's path, as much of it as there is."""
        parts = [part for part in MODULE_SEPARATOR.split(module) if part]
        if language.name == "go":
            return self._go(module)
        if parts[:1] in (["super"], ["self"]):
            folder = to_module_path(path)
            while parts and parts[0] in ("super", "self"):
                folder = dirname(folder) if parts.pop(0) == "super" else folder
            parts = [*(folder.split("/") if folder else []), *parts]
        parts = parts[1:] if parts[:1] in (["crate"], [self.root]) else parts
        if not parts:
            return [
                str(file) for file in ("src/lib.rs", "src/main.rs", "lib.rs") if file in self.paths
            ][:1]
        wanted = tuple(parts)
        same = [
            (file, known)
            for known, file in self.by_last.get(wanted[-1], ())
            if detect_language(file) == language
        ]
        found = [file for file, known in same if known[-len(wanted) :] == wanted]
        if not found:
            tail = "/" + "/".join(wanted)
            return [
                file
                for folder in self.by_end.get(wanted[-1], ())
                if f"/{folder}".endswith(tail)
                for file in self.folders[folder]
                if detect_language(file) == language
            ]
        return pick_nearest_file(found, path)

    def _go(self, module: str) -> list[str]:
        """A package is a folder. Of another repository's path that happens to end alike nothing is
        taken.
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


def to_module_path(path: str) -> str:
    """A path without its suffix; of a file that stands for its folder, the folder."""
    folder, _, name = path.rpartition("/")
    base = name.partition(".")[0] or name
    if base in FOLDER_FILES and name != base:
        return folder
    return f"{folder}/{base}" if folder else base


def pick_nearest_file(files: list[str], path: str) -> list[str]:
    """Of several files the one that shares most of its way with a path; ties by name."""

    def shared(file: str) -> int:
        pairs = zip(file.split("/"), path.split("/"), strict=False)
        return sum(1 for one, other in pairs if one == other)

    return sorted(files, key=lambda file: (-shared(file), len(file), file))[:1]
