"""Names of modules and functions in the pages about the code exist: a page that sends its reader to
a file that is gone is worse than none.
"""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "reverie"
PAGES = (
    "CONTRIBUTING.md",
    "SECURITY.md",
    *(str(p.relative_to(ROOT)) for p in sorted(ROOT.glob("docs/*.md"))),
    *(
        str(p.relative_to(ROOT))
        for p in sorted(ROOT.glob("docs/how-to/*.md"))
        if p.stem != "frameworks"  # its `memory.recall` is a variable of its examples
    ),
)
REASONS = [str(p.relative_to(ROOT)) for p in sorted(ROOT.glob("docs/why-*.md"))]
FOREIGN = {"read_source", "session_search", "web_search"}  # tools of other programs
ROOMS = {path.name for path in SRC.iterdir() if path.is_dir()} | {"testing", "__main__"}
# `room/module`, `room/folder/`, `room.module.function`, `room.module.Class.method`
NAMES = re.compile(r"`(?:(?:src/)?reverie[./])?([a-z_]+(?:[./][A-Za-z_][\w]*)+(?:\.\w+|/)?)`")


def named(page: str) -> list[str]:
    """What a page names in backticks that begins with a room of the package."""
    text = (ROOT / page).read_text("utf-8")
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [name for name in NAMES.findall(text) if re.split("[./]", name)[0] in ROOMS]


@cache
def definitions(path: Path) -> frozenset[str]:
    """The dotted names that a module defines at its top, or in its classes."""
    found = set()

    def collect(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef):
                found.add(prefix + node.name)
                collect(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(prefix + node.name)
            elif isinstance(node, ast.Assign):
                found.update(prefix + t.id for t in node.targets if isinstance(t, ast.Name))
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                found.add(prefix + node.target.id)

    collect(ast.parse(path.read_text("utf-8")).body, "")
    return frozenset(found)


def exists(name: str) -> bool:
    """True if a name with slashes is a file, and one with dots a module or something in one."""
    if "/" in name:
        path = SRC / name
        return path.exists() or (path.parent / f"{path.name}.py").exists()
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        folder, rest = SRC.joinpath(*parts[:count]), ".".join(parts[count:])
        for module in (folder.with_suffix(".py"), folder / "__init__.py"):
            if module.exists():
                return not rest or rest in definitions(module)
    return False


@pytest.mark.parametrize("page", PAGES)
def test_modules_and_functions_that_a_page_names_exist(page):
    """Every `room/module` and `room.module.function` in backticks is there."""
    assert [] == [name for name in named(page) if not exists(name)]


@pytest.mark.parametrize("page", PAGES)
def test_tables_that_a_page_names_exist(page):
    """Every "`TABLE` in `room/module`" is a name of that module."""
    text = (ROOT / page).read_text("utf-8")
    told = re.findall(r"`([A-Z_a-z]+)`(?: and `\w+`)? (?:in|of) `([a-z_]+/[\w/]+)`", text)
    wrong = [
        (name, module)
        for name, module in told
        if (path := SRC / f"{module}.py").exists() and name not in definitions(path)
    ]
    assert [] == wrong


@pytest.mark.parametrize("page", PAGES)
def test_tests_and_files_that_a_page_names_exist(page):
    """Every `tests/…`, `docs/…`, `bench/…` and `tools/…` in backticks is there."""
    text = (ROOT / page).read_text("utf-8")
    places = re.findall(r"`((?:tests|docs|bench|tools|examples)/[\w./-]+\.\w+)`", text)
    assert [] == [place for place in places if not (ROOT / place).exists()]


@cache
def identifiers() -> frozenset[str]:
    """Every word of the package, the benchmarks and the tests."""
    programs = (p for folder in ("src", "bench", "tests") for p in ROOT.glob(f"{folder}/**/*.py"))
    return frozenset(word for p in programs for word in re.findall(r"\w+", p.read_text("utf-8")))


@pytest.mark.parametrize("page", REASONS)
def test_identifiers_that_a_page_of_reasons_names_exist(page):
    """Every `snake_case`, `CONSTANT_NAME` and `mind.group.verb` in backticks is in the code."""
    text = (ROOT / page).read_text("utf-8")
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"`(_?[A-Za-z]+(?:_[A-Za-z]+)+|mind(?:\.\w+)+)(?:\([^`]*)?`", text)
    names = {part for name in found for part in name.split(".")}
    assert [] == sorted(names - identifiers() - FOREIGN)


WRITTEN = [
    page
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
    if page.parent.name != "reference"
]


@pytest.mark.parametrize("page", WRITTEN, ids=lambda page: page.name)
def test_commands_that_a_page_names_exist(page):
    """Every `reverie …` in backticks or after `$` is a command of today, by its present name."""
    import typer

    from reverie.interfaces.cli.app import app

    commands = vars(typer.main.get_command(app))["commands"]
    unknown = []
    for told in re.findall(
        r"(?:^\$ |`)reverie ([a-z][^`\n]*)", page.read_text("utf-8"), re.MULTILINE
    ):
        first, *others = told.split()
        command = commands.get(first)
        inner = vars(command).get("commands") if command else None  # of a group
        if inner and others and others[0].isalpha():
            command = None if others[1:2] and others[1] in inner else inner.get(others[0])
        if command is None or command.hidden:
            unknown.append(told)
    assert [] == unknown


def test_names_are_told_from_what_is_not_there():
    """The check itself: a module, a function and a method are found, invented ones are not."""
    assert exists("core/model") and exists("core.model.visible_spaces")
    assert exists("runtime.companion.Companion.turn") and exists("retrieval.search_memories")
    assert not exists("core/nothing") and not exists("core.model.nothing_at_all")
    assert len(named("docs/architecture.md")) > 80
