"""What of a repository a text speaks of: the files and symbols that it alone can mean.

A file is named by its path, or by so much of its end that only one file has it. A symbol is named
in backticks, with its class or module (`Console.print`, `rich.console.Console`), or in a way that
prose has no words in: CamelCase, snake_case, followed by (). What two definitions are called is
nobody's name, unless the text names the file of one of them. Better no anchor than a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from reverie.code.parsed_facts import strip_qualifiers
from reverie.storage.indexed_code import CodeIndex, SymbolLocation

QUOTED = re.compile(r"`([^`\n]{2,200})`")
PATH = re.compile(
    r"(?<![\w/.@~-])(?:\./)?/?(?:[\w.@+-]+/)*[\w@+-][\w.@+-]*\.\w{1,8}(?![\w/])|"
    r"(?<![\w/.@~-])(?:[\w.@+-]+/)+[A-Z]\w+(?![\w/.])"
)
NAME = re.compile(r"(?<![\w./@-])[A-Za-z_]\w*(?:(?:\.|::|#)[A-Za-z_]\w*)*(?:\(\))?(?![\w/@-])")
CODE_LIKE = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|\(\)$|\.|::|#")
MIN_NAME_CHARS = 3
# words of a text that are looked up
MAX_WORDS = 40
# anchors that a text gives
MAX_ANCHORS = 5
# definitions of one name beyond which it is nobody's
MAX_NAMESAKES = 20


class NamedPlace(NamedTuple):
    """A file, or a symbol of it by its qualified name."""

    path: str
    symbol: str = ""


class CodeWords(NamedTuple):
    """What of a text may name code."""

    paths: tuple[str, ...]
    # with dots between; in backticks, or such as prose has not
    names: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.paths or self.names)


def find_code_words(text: str) -> CodeWords:
    """What of a text may name code; nothing for most texts."""
    paths = (match[0].removeprefix("./") for match in PATH.finditer(text))
    quoted = (part.strip().partition("(")[0] for part in QUOTED.findall(text))
    spellings = [part for part in quoted if NAME.fullmatch(part)]
    spellings += (match[0] for match in NAME.finditer(text) if CODE_LIKE.search(match[0]))
    names: dict[str, None] = {}
    for spelling in spellings:
        name = spelling.removesuffix("()").replace("::", ".").replace("#", ".")
        # __init__ and the like belong to every class
        if len(name) >= MIN_NAME_CHARS and not strip_qualifiers(name).startswith("__"):
            names[name] = None
    return CodeWords(
        tuple(dict.fromkeys(paths))[:MAX_WORDS],
        tuple(names)[:MAX_WORDS],
    )


def resolve_code_words(
    index: CodeIndex,
    root: str,
    words: CodeWords,
    known: Collection[str],
) -> list[NamedPlace]:
    """The files and symbols that these words mean; `known` are the paths of the repository.

    A file is left out of which a symbol is meant: that says more.
    """
    named_files = (find_named_file(word, root, known) for word in words.paths)
    files = dict.fromkeys(filter(None, named_files))
    symbols: dict[NamedPlace, None] = {}
    for name in words.names:
        one = find_named_symbol(index, root, name, files)
        if one:
            symbols[NamedPlace(one.path, one.symbol.qual)] = None
    innermost = [one for one in symbols if not holds_another(one, symbols)]
    with_symbols = {one.path for one in symbols}
    whole_files = [NamedPlace(path) for path in files if path not in with_symbols]
    return [*innermost, *whole_files][:MAX_ANCHORS]


def holds_another(place: NamedPlace, places: Collection[NamedPlace]) -> bool:
    """True if one of the places is a symbol within this one."""
    prefix = f"{place.symbol}."
    return any(one.path == place.path and one.symbol.startswith(prefix) for one in places)


def find_named_file(
    word: str,
    root: str,
    known: Collection[str],
) -> str:
    """The one file that a path, or the end of one, means; empty if none or several."""
    path = word.removeprefix(f"{root}/").lstrip("/")
    if path in known:
        return path
    found = [one for one in known if one.endswith(f"/{path}")]
    return found[0] if len(found) == 1 else ""


def find_named_symbol(
    index: CodeIndex,
    root: str,
    name: str,
    files: Collection[str],
) -> SymbolLocation | None:
    """The one definition that a name means; of several the one in a file that is named, too."""
    for qual, module in split_module_from_name(name):
        # another case, or another end of the name, is another name
        found = [
            one
            for one in index.find_symbols(root, qual, MAX_NAMESAKES + 1)
            if qual == one.symbol.name or f".{one.symbol.qual}".endswith(f".{qual}")
        ]
        exact = [one for one in found if one.symbol.qual == qual]
        if module:
            found = [one for one in exact if is_in_module(one.path, module)]
        if len(found) > 1:
            in_files = [one for one in found if one.path in files]
            qualified = [one for one in found if one in exact and "." in qual]
            found = in_files or qualified
        if len({(one.path, one.symbol.qual) for one in found}) == 1:
            return found[0]
    return None


def split_module_from_name(name: str) -> Iterator[tuple[str, str]]:
    """How a dotted name may be read: (qualified name, path of the module that it stands in)."""
    yield name, ""
    parts = name.split(".")
    for cut in range(1, len(parts)):
        yield ".".join(parts[cut:]), "/".join(parts[:cut])


def is_in_module(path: str, module: str) -> bool:
    """True if a file is a module of that name, or stands in it."""
    stem = path.rpartition(".")[0].removesuffix("/__init__")
    return stem == module or stem.endswith(f"/{module}")
