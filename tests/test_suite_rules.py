"""Rules for the tests themselves, by reading them: they can be run, read and trusted by anybody."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import LONG_FILES, may_be_tried_again

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "tests"
# Seconds that a test waits at least for what must happen.
MIN_PATIENCE = 60
# What asks something of httpx, or will.
REQUESTS = {"get", "post", "put", "delete", "request", "stream", "Client", "AsyncClient"}
# What named tuples offer everybody, underscore or not.
OF_NAMED_TUPLES = {"_replace", "_fields", "_asdict", "_make"}


@cache
def parsed_tests() -> tuple[tuple[str, ast.Module], ...]:
    """Path and syntax tree of every file under tests; read once for all rules."""
    return tuple(
        (str(path.relative_to(TESTS)), ast.parse(path.read_text("utf-8")))
        for path in sorted(TESTS.rglob("*.py"))
    )


@pytest.fixture(scope="module", autouse=True)
def parsed_files() -> Iterator[None]:
    """The trees are large, and nobody else's."""
    yield
    parsed_tests.cache_clear()


def private_names(node: ast.AST) -> list[str]:
    """The names of somebody else's that a piece of code uses though they begin with an underscore:
    imported, as an attribute of anything but `self`, or in the text that a patch is given.
    """
    names: list[str] = []
    match node:
        case ast.ImportFrom():
            names = [alias.name for alias in node.names]
        case ast.Attribute(value=ast.Name(id="self" | "cls")):
            pass
        case ast.Attribute():
            names = [node.attr]
        case (
            ast.Call(func=ast.Attribute(attr="setattr" | "delattr"))
            | ast.Call(func=ast.Name(id="getattr" | "setattr"))
        ):
            texts = [arg.value for arg in node.args[:2] if isinstance(arg, ast.Constant)]
            names = [text.rsplit(".", 1)[-1] for text in texts if isinstance(text, str)]
    return [
        name
        for name in names
        if name.startswith("_") and not name.startswith("__") and name not in OF_NAMED_TUPLES
    ]


@pytest.mark.slow
def test_no_test_uses_a_private_name():
    """A test holds for whatever keeps the promises: it uses public verbs, ports and real files."""
    assert [] == [
        f"{path}:{node.lineno}: {name}"
        for path, tree in parsed_tests()
        for node in ast.walk(tree)
        for name in private_names(node)
        if isinstance(node, ast.stmt | ast.expr)
    ]


def test_a_private_name_is_seen_however_it_is_reached():
    """As an import, an attribute or the text of a patch; one's own and a named tuple's pass."""
    seen = (
        "from reverie import _a\nmind._b.c\nmonkeypatch.setattr('reverie._c', 1)\ngetattr(x, '_d')"
    )
    fine = "self._a\nmemory._replace(text='')\nmind.__class__\nmonkeypatch.setattr(x, 'open', 1)"
    found = [name for node in ast.walk(ast.parse(seen)) for name in private_names(node)]
    assert sorted(found) == ["_a", "_b", "_c", "_d"]
    assert [] == [name for node in ast.walk(ast.parse(fine)) for name in private_names(node)]


@pytest.mark.slow
def test_no_test_starts_pytest():
    """No test runs the test runner, by import or as a command."""
    assert [] == [
        path
        for path, tree in parsed_tests()
        for node in ast.walk(tree)
        if (
            isinstance(node, ast.List)
            and {"-m", "pytest"}
            <= {part.value for part in node.elts if isinstance(part, ast.Constant)}
        )
        or (isinstance(node, ast.Attribute) and ast.unparse(node) == "pytest.main")
    ]


@pytest.mark.proves("E62")
def test_tests_need_pytest_and_no_plugin_of_it():
    """`python -m pytest` is enough: no option or conftest asks for a plugin. `make test` has one
    that spreads the files over the cores, and one that tries again what has to do with processes.
    """
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = settings["project"]["optional-dependencies"].values()
    plugins = [need for needs in extras for need in needs if need.startswith("pytest-")]
    assert {"pytest-xdist", "pytest-rerunfailures"} == {need.partition(">")[0] for need in plugins}
    options = settings["tool"]["pytest"]["ini_options"]["addopts"].split()
    assert not {"-n", "--dist"} & set(options)
    assert "pytest_plugins" not in (TESTS / "conftest.py").read_text("utf-8")
    assert not [one for one in options if one.startswith("--reruns")]


@pytest.mark.slow
def test_no_test_asks_to_be_tried_again():
    """Only the conftest says what may be: a test that fails sometimes by itself is a bug."""
    assert [] == [
        f"{path}:{node.lineno}"
        for path, tree in parsed_tests()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and ast.unparse(node) == "pytest.mark.flaky"
        and path != "conftest.py"
    ]


def test_nothing_is_tried_again_that_starts_no_process(request):
    """This test may not be, until it has started one; nor may one that others have started."""
    assert not may_be_tried_again(request.node)
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert may_be_tried_again(request.node)


@pytest.mark.e2e
def test_what_drives_a_client_of_others_may_be_tried_again(request):
    """The marker says that it does."""
    assert may_be_tried_again(request.node)


def test_files_that_take_long_are_there():
    """A file that was renamed would come last, and one core would wait for the other."""
    assert [] == [name for name in LONG_FILES if not (TESTS / name).is_file()]
    assert len(set(LONG_FILES)) == len(LONG_FILES)


def is_short_wait(node: ast.AST) -> bool:
    """True of a call that gives up after some seconds: `.wait(10)`, `.communicate(timeout=30)`,
    and `companion.wait()`, which gives up after thirty.
    """
    match node:
        case ast.Call(func=ast.Attribute(attr="wait") as func, args=[], keywords=[]):
            return ast.unparse(func.value).endswith("companion")
        case ast.Call(func=ast.Attribute(attr="wait" | "join" | "communicate"), args=args):
            limits = [*args, *(word.value for word in node.keywords if word.arg == "timeout")]
        case _:
            return False
    seconds = [limit.value for limit in limits if isinstance(limit, ast.Constant)]
    return any(isinstance(one, int | float) and 1 <= one < MIN_PATIENCE for one in seconds)


@pytest.mark.slow
def test_what_must_happen_is_waited_for_with_patience():
    """A busy machine is many times slower: who gives up after seconds tests the machine."""
    assert [] == [
        f"{path}:{node.lineno}"
        for path, tree in parsed_tests()
        for node in ast.walk(tree)
        if isinstance(node, ast.expr) and is_short_wait(node)
    ]


def test_a_short_wait_is_seen():
    """Where there is a limit in seconds; a look that is repeated has none, or less than one."""
    seen = "process.wait(10)\nprocess.communicate(timeout=30.0)\nthread.join(5)\ncompanion.wait()"
    fine = "process.wait()\nprocess.wait(120)\nthread.join(0.01)\n', '.join(names)\nwait(1)"
    assert 4 == sum(map(is_short_wait, ast.walk(ast.parse(seen))))
    assert not any(map(is_short_wait, ast.walk(ast.parse(fine))))


def is_impatient_request(node: ast.AST) -> bool:
    """True of a request over HTTP that says nothing of how long it waits: httpx gives up after five
    seconds then.
    """
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="httpx" | "httpx2"), attr=attr)):
            return attr in REQUESTS and "timeout" not in {word.arg for word in node.keywords}
    return False


@pytest.mark.slow
def test_answers_over_http_are_waited_for_with_patience():
    """As everything else is."""
    assert [] == [
        f"{path}:{node.lineno}"
        for path, tree in parsed_tests()
        for node in ast.walk(tree)
        if isinstance(node, ast.expr) and is_impatient_request(node)
    ]


def test_an_impatient_request_is_seen():
    """Of the module and of its clients."""
    seen = "httpx.get(address)\nwith httpx2.AsyncClient(headers={}) as web: pass"
    fine = "httpx.get(address, timeout=120)\nhttpx.Response(200)\nclient.get(address)"
    assert 2 == sum(map(is_impatient_request, ast.walk(ast.parse(seen))))
    assert not any(map(is_impatient_request, ast.walk(ast.parse(fine))))


@pytest.mark.slow
def test_keys_are_pressed_on_pages_that_listen():
    """Before a page has run its scripts a key is lost: `browser_checks.press` waits for them."""
    assert [] == [
        f"{path}:{node.lineno}"
        for path, tree in parsed_tests()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and re.search(r"\.keyboard\.(press|type|down|insert_text)$", ast.unparse(node))
        and path != "interfaces/web/browser_checks.py"
    ]
