"""The architecture, as tests: who may import whom, and "only X does Y"."""

import ast
import json
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SRC = Path(__file__).parents[1] / "src" / "reverie"

ROOMS = (
    "core",
    "text",
    "privacy",
    "storage",
    "access",
    "embedding",
    "llm",
    "pipeline",
    "retrieval",
    "memory",
    "transcripts",
    "context_window",
    "injection",
    "reconciliation",
    "activity",
    "extraction",
    "notes",
    "code",
    "mirror",
    "porting",
    "sync",
    "erasure",
    "consolidation",
    "holdout",
    "runtime",
    "interfaces",
    "surfaces",
    "testing",
    "__main__",
)
RANK = {room: rank for rank, room in enumerate(ROOMS)}

CLOCK = {
    "time.time",
    "time.sleep",
    "time.monotonic",
    "time.perf_counter",
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "date.today",
    "uuid.uuid4",
    "uuid.uuid1",
    "random.random",
    "secrets.token_hex",
    "time.time_ns",
    "os.urandom",
}
READ_IT = ("core/config.py", "core/environment.py")
# what tells that the package cannot be imported has nothing of it at hand
ALONE = "interfaces/hooks/run.py"
SOCKETS = {"socket", "urllib.request", "http.client", "httpx", "requests", "httpcore"}
SQL_WORDS = ("select ", "insert into ", "update ", "delete from ", "create table ", "pragma ")


@cache
def modules() -> tuple[tuple[str, Path, ast.Module], ...]:
    """Room, path and syntax tree of every module; read once for all tests of this file."""
    return tuple(
        (
            path.relative_to(SRC).parts[0].removesuffix(".py"),
            path,
            ast.parse(path.read_text("utf-8")),
        )
        for path in sorted(SRC.rglob("*.py"))
    )


@pytest.fixture(scope="module", autouse=True)
def parsed_modules() -> Iterator[None]:
    """The trees are large, and nobody else's."""
    yield
    modules.cache_clear()


def imported(nodes: Iterable[ast.AST], path: Path) -> Iterator[str]:
    """Every module that nodes of a file import, as an absolute dotted name."""
    package = ["reverie", *path.relative_to(SRC).parts[:-1]]
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield stem
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def walk_without_types(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of a module but for its blocks for type checkers."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and dotted(node.test).endswith("TYPE_CHECKING"):
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def test_imports_point_downward():
    """A package may know what it stands on, never what stands on it."""
    upward = []
    for room, path, tree in modules():
        if room == "__init__":
            continue
        for name in imported(ast.walk(tree), path):
            parts = name.split(".")
            used = parts[1] if parts[0] == "reverie" and len(parts) > 1 else ""
            if used in RANK and used != room and RANK[used] >= RANK[room]:
                upward.append((str(path.relative_to(SRC)), used))
    assert [] == sorted(set(upward))


def test_no_modules_import_each_other():
    """No ring of modules, imports inside functions counted; those for types alone are no imports."""
    names = {}
    for _, path, tree in modules():
        parts = path.relative_to(SRC.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = (path, tree)
    uses: dict[str, set[str]] = {}
    for module, (path, tree) in names.items():
        found = set(imported(walk_without_types(tree), path)) & names.keys()
        # `from package import module` names both; only the module is meant.
        owners = {name.rpartition(".")[0] for name in found}
        uses[module] = found - owners - {module}
    try:
        TopologicalSorter(uses).prepare()
    except CycleError as ring:
        pytest.fail(" -> ".join(ring.args[1]))


def test_only_interfaces_import_the_whole():
    """`reverie` itself imports, when it is asked, all that stands below the interfaces."""
    above = ("interfaces", "testing", "__init__", "__main__")
    assert [] == [
        str(path.relative_to(SRC))
        for room, path, tree in modules()
        if room not in above and "reverie" in imported(walk_without_types(tree), path)
    ]


def test_every_module_has_a_rank():
    """Every module has a rank: a new room is ranked before it has modules."""
    assert [] == sorted({room for room, _, _ in modules()} - set(RANK) - {"__init__", "__main__"})


def test_only_config_reads_the_environment():
    """Law 5. The command line names its own program, nothing else looks outside."""
    offenders = []
    for _room, path, tree in modules():
        for node in ast.walk(tree):
            if (
                str(path.relative_to(SRC)) not in READ_IT
                and path != SRC / ALONE
                and isinstance(node, ast.Attribute)
                and dotted(node)
                in {"os.environ", "os.getenv", "os.getcwd", "Path.cwd", "Path.home"}
            ):
                offenders.append((str(path.relative_to(SRC)), node.lineno))
    assert [] == offenders


def test_only_clock_reads_time_or_makes_ids():
    """Law 1 and 5: `now` is an argument, so that everything can be tested without waiting."""
    offenders = []
    for _room, path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and path not in (SRC / "core" / "clock.py", SRC / ALONE):
                name = dotted(node.func)
                if any(name == c or name.endswith("." + c) for c in CLOCK):
                    offenders.append((str(path.relative_to(SRC)), node.lineno, name))
    assert [] == offenders


def test_only_the_store_holds_sql():
    """Law 5: a second backend must be one file."""
    offenders = []
    for room, path, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and room != "storage":
                text = node.value.lower().lstrip()
                if text.startswith(SQL_WORDS) and (
                    " from " in text
                    or " set " in text
                    or " values" in text
                    or "table" in text
                    or text.startswith("pragma")
                ):
                    offenders.append((str(path.relative_to(SRC)), node.lineno))
    assert [] == offenders


def test_only_models_and_remote_embedders_open_sockets():
    """Law 5: memory is local unless its owner says otherwise."""
    # A server signs people in at their organisation's provider.
    allowed = {"llm", "embedding", "access", "sync"}
    offenders = [
        (str(path.relative_to(SRC)), name)
        for room, path, tree in modules()
        for name in imported(ast.walk(tree), path)
        if (name in SOCKETS or name.split(".")[0] in SOCKETS) and room not in allowed
    ]
    assert [] == offenders


def test_only_interfaces_print():
    """Law 5: a library that prints breaks somebody's protocol."""
    offenders = []
    for room, path, tree in modules():
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and room != "interfaces"
                and dotted(node.func) in {"print", "sys.stdout.write", "sys.stderr.write"}
            ):
                offenders.append((str(path.relative_to(SRC)), node.lineno))
    assert [] == offenders


HEAVY = (
    "numpy",
    "onnxruntime",
    "onnx",
    "kitoken",
    "typer",
    "rich",
    "asyncio",
    "subprocess",
    "tomllib",
    "urllib.request",
    "zoneinfo",
    "dateparser",
    "tzlocal",
    "cronsim",
    "importlib.metadata",
    "importlib.resources",
    "tree_sitter",
)


def test_import_is_quiet():
    """Nothing heavy, no environment read, no file opened beyond our own modules."""
    probe = (
        "import sys, os\n"
        "opened = []\n"
        "def hook(event, args):\n"
        "    if event == 'open' and isinstance(args[0], str) and not args[0].endswith(('.py', '.pyc', '.so')):\n"
        "        opened.append(args[0])\n"
        "sys.addaudithook(hook)\n"
        "class Env(dict):\n"
        "    def __getitem__(self, k): raise SystemExit('environment read: ' + str(k))\n"
        "    get = __getitem__\n"
        "os.environ = Env()\n"
        "import reverie\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules], [o for o in opened if '__pycache__' not in o])\n"
    )
    out = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=False)
    assert (out.returncode, out.stdout.strip()) == (0, "[] []"), out.stdout + out.stderr


@pytest.mark.parametrize("limit", [720])
def test_no_module_is_too_long(limit):
    """A module that one cannot read in ten minutes is split."""
    lengths = {
        str(p.relative_to(SRC)): len(p.read_text("utf-8").splitlines()) for p in SRC.rglob("*.py")
    }
    assert {} == {name: n for name, n in lengths.items() if n > limit}


def test_a_recall_by_words_loads_nothing_heavy(tmp_path):
    """A command that asks by words starts in a few imports of `sqlite3`: no NumPy, no command line,
    no model.
    """
    script = (
        "import sys, reverie\n"
        f"with reverie.open({str(tmp_path / 'memory.db')!r}) as mind:\n"
        "    mind.recall('heron', space='me/demo', mode='words')\n"
        "print(*{'numpy', 'typer', 'rich', 'mcp', 'kitoken', 'duckdb', 'Stemmer'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"REVERIE_HOME": str(tmp_path), "HOME": str(tmp_path)},
    )
    assert done.stdout.split() == []


def prompted(text, home, session="s1"):
    """What the hook of a prompt answers, and the modules that it loads."""
    event = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": session,
        "cwd": str(home),
        "prompt": text,
    }
    done = subprocess.run(
        [
            sys.executable,
            "-X",
            "importtime",
            "-I",
            "-S",
            str(SRC / "interfaces" / "hooks" / "run.py"),
            "claude-code",
        ],
        input=json.dumps(event),
        capture_output=True,
        text=True,
        check=True,
        env={"REVERIE_HOME": str(home), "HOME": str(home)},
    )
    return done.stdout, {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_a_prompt_loads_nothing_heavy(tmp_path):
    """The hook of a prompt looks into the store, and who wrote the prompt waits for its imports.
    For one that has no words of its own it loads neither the store nor what searches in it: that
    would be 7 ms.
    """
    (tmp_path / "config.toml").write_text('embedder = "toy"\nidle = 0.0\n')
    script = (
        "import reverie; from reverie.core import config\n"
        "with reverie.open() as mind:\n"
        "    space = config.project_space_of(config.working_directory())\n"
        "    mind.remember('The staging server is called heron.', space=space)"
    )
    subprocess.run(
        [sys.executable, "-c", script],
        check=True,
        cwd=tmp_path,
        env={"REVERIE_HOME": str(tmp_path), "HOME": str(tmp_path)},
    )
    said, loaded = prompted("Which host is the staging server?", tmp_path)
    assert "heron" in said and {"sqlite3", "reverie.injection.first_turn"} <= loaded
    assert set() == loaded & {
        "numpy",
        "dataclasses",
        "inspect",
        "typer",
        "rich",
        "mcp",
        "kitoken",
        "site",
        "base64",
    }
    remind = (
        "import reverie; from reverie.core import clock, config\n"
        "with reverie.open() as mind:\n"
        "    space = config.project_space_of(config.working_directory())\n"
        "    mind.remind('Renew the certificate', when=clock.now() + {after}, space=space)"
    )
    for after, is_due in ((1_000_000, False), (1, True)):
        subprocess.run(
            [sys.executable, "-c", remind.format(after=after)],
            check=True,
            cwd=tmp_path,
            env={"REVERIE_HOME": str(tmp_path), "HOME": str(tmp_path)},
        )
        time.sleep(1.1 * is_due)
        said, loaded = prompted("Which host is the staging server?", tmp_path, f"later-{after}")
        assert is_due == ("Renew" in said) == ("reverie.memory.intention" in loaded)
        assert set() == loaded & {"dataclasses", "inspect", "site", "reverie.text.host_messages"}
    said, loaded = prompted("thanks, go on", tmp_path)
    assert json.loads(said) == {} and "reverie.interfaces.hooks.prompt_topic" in loaded
    assert set() == loaded & {
        "sqlite3",
        "pathlib",
        "reverie.retrieval",
        "reverie.storage",
        "reverie.core.model",
    }
