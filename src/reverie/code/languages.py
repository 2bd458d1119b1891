"""The languages that the code map reads: one row here, one query file in `queries/`.

A query file says with tree-sitter's own patterns what a file defines and mentions, in the same
words for all languages; `parse` tells what each capture means. A row adds what a grammar cannot
say: which files, how a module's name leads to files (`locate`), how one's own object is called, and
which names reach beyond their file without an import.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.errors import ExtraMissing

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Parser, Query

QUERY_FOLDER = Path(__file__).parent / "queries"


class Language(NamedTuple):
    """How one language is read."""

    name: str  # of its query file, too
    suffixes: tuple[str, ...]
    module: str  # the grammar's wheel, as it is imported
    locate: str  # how a module's name leads to files: "dots", "path" or "names"
    grammar: str = "language"  # the function of the wheel that returns the grammar
    family: str = ""  # languages that call each other by name
    own: tuple[str, ...] = ("this",)  # what a method calls its object, or its class
    above: tuple[str, ...] = ("super",)  # …and what it inherits from
    implicit: bool = True  # a method calls its siblings by bare name
    package: bool = False  # files of a folder see each other's names
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
        "tsx", (".tsx",), "tree_sitter_typescript", "path", "language_tsx", "js", implicit=False
    ),
    Language(
        "go", (".go",), "tree_sitter_go", "dots", own=(), above=(), implicit=False, package=True
    ),
    Language(
        "rust", (".rs",), "tree_sitter_rust", "dots", own=("self", "Self"), above=(), implicit=False
    ),
    Language("java", (".java",), "tree_sitter_java", "dots", package=True),
    Language(
        "c", (".c", ".h"), "tree_sitter_c", "path", family="c", own=(), above=(), global_names=True
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
        "bash", (".sh", ".bash"), "tree_sitter_bash", "path", own=(), above=(), global_names=True
    ),
)
BY_NAME = {language.name: language for language in LANGUAGES}
BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}


def detect_language(path: str) -> Language | None:
    """The language of a file, going by its name; None where the code map does not read it."""
    _, dot, suffix = path.lower().rpartition(".")
    return BY_SUFFIX.get(f".{suffix}") if dot else None


def can_share_names(one: str, other: str) -> bool:
    """Whether two languages, by name, share their names."""
    return one == other or (BY_NAME[one].family == BY_NAME[other].family != "")


@cache
def load_parser_and_query(name: str) -> tuple[Parser, Query]:
    """The parser and the query of a language. Raises ExtraMissing where its grammar is not
    installed.
    """
    language = BY_NAME[name]
    try:
        from tree_sitter import Language as Grammar
        from tree_sitter import Parser, Query

        grammar: Grammar = Grammar(getattr(import_module(language.module), language.grammar)())
    except ImportError as err:
        raise ExtraMissing(
            "The code map reads files with tree-sitter, which is not installed. "
            "Install it with: pip install 'reverie[code]'"
        ) from err
    return Parser(grammar), Query(grammar, read_query_text(name))


def read_query_text(name: str) -> str:
    """A language's query; a first line `; with NAME` puts that of another one before it."""
    text = (QUERY_FOLDER / f"{name}.scm").read_text("utf-8")
    first = text.partition("\n")[0]
    return (
        read_query_text(first.removeprefix("; with ")) + text
        if first.startswith("; with ")
        else text
    )
