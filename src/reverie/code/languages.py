"""The languages that the code map reads: one row here, one query file in `queries/`.

A query file says with tree-sitter's own patterns what a file defines and mentions, in the same
words for all languages; `file_parser` tells what each capture means. A row adds what a grammar
cannot say: which files, how a module's name leads to files (`locate`), how a method calls its own
object, and which names reach beyond their file without an import.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.errors import ExtraMissing
from reverie.core.installation import advise_install

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Parser, Query

QUERY_FOLDER = Path(__file__).parent / "queries"
INCLUDE_MARK = "; with "


class Language(NamedTuple):
    """How one language is read."""

    # also the name of its query file
    name: str
    suffixes: tuple[str, ...]
    # the grammar's wheel, as it is imported
    module: str
    # how a module's name leads to files: "dots", "path" or "names"
    locate: str
    # the function of the wheel that returns the grammar
    grammar: str = "language"
    # languages of one family call each other by name
    family: str = ""
    # what a method calls its own object, or its class
    own: tuple[str, ...] = ("this",)
    # what a method calls the classes that it inherits from
    above: tuple[str, ...] = ("super",)
    # a method calls its siblings by bare name
    implicit: bool = True
    # files of a folder see each other's names
    package: bool = False
    # a bare name may come from any file: headers, autoloading, one module
    global_names: bool = False


LANGUAGES = (
    Language(
        "python",
        (".py", ".pyi", ".pyw"),
        "tree_sitter_python",
        "dots",
        own=("self", "cls"),
        above=("super()",),
        implicit=False,
    ),
    Language(
        "javascript",
        (".js", ".jsx", ".mjs", ".cjs"),
        "tree_sitter_javascript",
        "path",
        family="js",
        implicit=False,
    ),
    Language(
        "typescript",
        (".ts", ".mts", ".cts"),
        "tree_sitter_typescript",
        "path",
        "language_typescript",
        "js",
        implicit=False,
    ),
    Language(
        "tsx",
        (".tsx",),
        "tree_sitter_typescript",
        "path",
        "language_tsx",
        "js",
        implicit=False,
    ),
    Language(
        "go",
        (".go",),
        "tree_sitter_go",
        "dots",
        own=(),
        above=(),
        implicit=False,
        package=True,
    ),
    Language(
        "rust",
        (".rs",),
        "tree_sitter_rust",
        "dots",
        own=("self", "Self"),
        above=(),
        implicit=False,
    ),
    Language("java", (".java",), "tree_sitter_java", "dots", package=True),
    Language(
        "c",
        (".c", ".h"),
        "tree_sitter_c",
        "path",
        family="c",
        own=(),
        above=(),
        global_names=True,
    ),
    Language(
        "cpp",
        (".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx", ".ipp"),
        "tree_sitter_cpp",
        "path",
        family="c",
        global_names=True,
    ),
    Language(
        "ruby",
        (".rb", ".rake", ".gemspec"),
        "tree_sitter_ruby",
        "path",
        own=("self",),
        global_names=True,
    ),
    Language(
        "c_sharp",
        (".cs",),
        "tree_sitter_c_sharp",
        "names",
        above=("base",),
        package=True,
        global_names=True,
    ),
    Language(
        "php",
        (".php",),
        "tree_sitter_php",
        "dots",
        "language_php",
        own=("$this", "self", "static"),
        above=("parent",),
        implicit=False,
        package=True,
        global_names=True,
    ),
    Language(
        "bash",
        (".sh", ".bash"),
        "tree_sitter_bash",
        "path",
        own=(),
        above=(),
        global_names=True,
    ),
)
BY_NAME = {language.name: language for language in LANGUAGES}
BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}


def detect_language(path: str) -> Language | None:
    """The language of a file by its suffix; None if the code map does not read it."""
    _, dot, suffix = path.lower().rpartition(".")
    return BY_SUFFIX.get(f".{suffix}") if dot else None


def family_of(name: str) -> str:
    """What languages have in common whose code may call each other: C and C++, say."""
    return BY_NAME[name].family or name


@cache
def load_parser_and_query(name: str) -> tuple[Parser, Query]:
    """The parser and the query of a language; ExtraMissing if its grammar is not installed."""
    language = BY_NAME[name]
    try:
        from tree_sitter import Language as Grammar
        from tree_sitter import Parser, Query

        make_grammar = getattr(import_module(language.module), language.grammar)
        grammar: Grammar = Grammar(make_grammar())
    except ImportError as err:
        raise ExtraMissing(
            "The code map reads files with tree-sitter, which is not installed. "
            f"Install it with: {advise_install('code')}"
        ) from err
    return Parser(grammar), Query(grammar, read_query_text(name))


def read_query_text(name: str) -> str:
    """The query of a language; a first line `; with NAME` puts the query of NAME before it."""
    text = (QUERY_FOLDER / f"{name}.scm").read_text("utf-8")
    first = text.partition("\n")[0]
    if first.startswith(INCLUDE_MARK):
        return read_query_text(first.removeprefix(INCLUDE_MARK)) + text
    return text
