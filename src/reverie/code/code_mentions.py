"""What of a repository a text speaks of: the files and symbols that it names, and that nothing else
is called.

A file is named by its path, or by so much of its end that only one file has it. A symbol is named
in backticks, with its class or module (`Console.print`, `rich.console.Console`), or in a way that
prose has no words in: CamelCase, snake_case, followed by (). What two definitions are called is
nobody's name, unless the text names the file of one of them. Better no anchor than a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from reverie.storage.code_index_port import CodeIndex, Place

QUOTED = re.compile(r"`([^`\n]{2,200})`")
PATH = re.compile(
    r"(?<![\w/.@~-])(?:\./)?/?(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.\w{1,8}(?![\w/])|"
    r"(?<![\w/.@~-])(?:[\w.@+-]+/)+[A-Z]\w+(?![\w/.])"
)
NAME = re.compile(r"(?<![\w./@-])[A-Za-z_]\w*(?:(?:\.|::|#)[A-Za-z_]\w*)*(?:\(\))?(?![\w/@-])")
TELLING = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|\(\)$|\.|::|#")
SHORTEST = 3  # characters of a name
MOST_NAMED = 40  # words of a text that are looked up
MOST_FOUND = 5  # anchors that a text gives
AMBIGUOUS = 20  # definitions of one name beyond which it is nobody's


class Meant(NamedTuple):
    """A file, or a symbol of it by its qualified name."""

    path: str
    symbol: str = ""


class Words(NamedTuple):
    """What of a text may name code."""

    paths: tuple[str, ...]
    names: tuple[str, ...]  # with dots between; in backticks, or such as prose has not

    def __bool__(self) -> bool:
        return bool(self.paths or self.names)


def words_of(text: str) -> Words:
    """What of a text may name code; nothing for most texts."""
    quoted = QUOTED.findall(text)
    paths = [match.group().removeprefix("./") for match in PATH.finditer(text)]
    spans = [NAME.fullmatch(part.strip().partition("(")[0]) for part in quoted]
    names = [span.group() for span in spans if span]
    names += [match.group() for match in NAME.finditer(text) if TELLING.search(match.group())]
    plain = (name.removesuffix("()").replace("::", ".").replace("#", ".") for name in names)
    kept = [
        name
        for name in plain
        if len(name) >= SHORTEST and not name.rpartition(".")[2].startswith("__")
    ]
    return Words(tuple(dict.fromkeys(paths))[:MOST_NAMED], tuple(dict.fromkeys(kept))[:MOST_NAMED])


def meant(index: CodeIndex, root: str, words: Words, known: Collection[str]) -> list[Meant]:
    """The files and symbols that these words mean; `known` are the paths of the repository.

    A file is left out of which a symbol is meant: that says more.
    """
    files = list(
        dict.fromkeys(path for word in words.paths if (path := file_named(word, root, known)))
    )
    places = [place for name in words.names if (place := symbol_named(index, root, name, files))]
    symbols = list(dict.fromkeys(Meant(place.path, place.symbol.qual) for place in places))
    inner = [
        one
        for one in symbols
        if not any(
            other.path == one.path and other.symbol.startswith(f"{one.symbol}.")
            for other in symbols
        )
    ]
    of = {one.path for one in inner}
    return [*inner, *(Meant(path) for path in files if path not in of)][:MOST_FOUND]


def file_named(word: str, root: str, known: Collection[str]) -> str:
    """The one file that a path, or the end of one, means; empty if none or several."""
    path = word.removeprefix(f"{root}/").lstrip("/")
    if path in known:
        return path
    found = [one for one in known if one.endswith(f"/{path}")]
    return found[0] if len(found) == 1 else ""


def symbol_named(index: CodeIndex, root: str, name: str, files: Collection[str]) -> Place | None:
    """The one definition that a name means."""
    for qual, module in ways(name):
        found = [
            one
            for one in index.named(root, qual, AMBIGUOUS + 1)
            if qual in (one.symbol.qual, one.symbol.name) or one.symbol.qual.endswith(f".{qual}")
        ]
        if module:
            found = [
                one for one in found if one.symbol.qual == qual and of_module(one.path, module)
            ]
        if len(found) > 1:
            found = [one for one in found if one.path in files] or [
                one for one in found if one.symbol.qual == qual and "." in qual
            ]
        if len({(one.path, one.symbol.qual) for one in found}) == 1:
            return found[0]
    return None


def ways(name: str) -> Iterator[tuple[str, str]]:
    """How a dotted name may be read: (qualified name, module that it stands in)."""
    yield name, ""
    parts = name.split(".")
    for cut in range(1, len(parts)):
        yield ".".join(parts[cut:]), "/".join(parts[:cut])


def of_module(path: str, module: str) -> bool:
    """Whether a file is a module of that name, or stands in it."""
    stem = path.rpartition(".")[0].removesuffix("/__init__")
    return stem == module or stem.endswith(f"/{module}")
