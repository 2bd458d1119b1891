"""The code map through the verbs and the command line."""

import json
import os
from pathlib import Path

import pytest

from reverie.core.errors import BadInput, NotFound
from reverie.testing import memory
from tests.code.samples import SAMPLES
from tests.storage.test_backups import holding
from tests.support.helpers import run_command, toy_home

pytestmark = pytest.mark.proves("D22", "D26", "D30", "D31", "D32")


OLD = 1_700_000_000  # so long ago that a stamp says whether a file is what it was


def written(root, **files):
    """Files of a repository, by path; last changed long ago."""
    for name, text in files.items():
        place = root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())
        os.utime(place, (OLD, OLD))
    return root


@pytest.fixture
def repo(tmp_path):
    """The Python sample."""
    return written(tmp_path / "repo", **SAMPLES["python"].files)


@pytest.fixture
def indexed_mind(home, repo):
    home.code.index(repo)
    return home


def told(uses):
    return [(use.path, use.line, use.within, use.name, use.sure) for use in uses]


@pytest.mark.proves("D28", "D35", "CC-77")
def test_callers_across_files(indexed_mind, repo):
    """Where a function is called: path, line, the function around it with its lines, and why."""
    found = indexed_mind.code.callers("helper", root=repo)
    assert told(found) == [
        ("pkg/main.py", 7, "run", "helper", True),
        ("pkg/pump.py", 9, "Base.drain", "helper", True),
    ]
    assert [(use.first, use.last, use.kind, use.why) for use in found] == [
        (5, 8, "calls", ("import",)),
        (8, 9, "calls", ("same file",)),
    ]


@pytest.mark.proves("D23", "D24", "D27", "CC-77")
def test_methods_belong_to_their_class(indexed_mind, repo):
    """A qualified name means the method of that class; its callers are found by its type."""
    assert [one.name for one in indexed_mind.code.find_symbol("Pump.fill", root=repo)] == [
        "Pump.fill"
    ]
    assert told(indexed_mind.code.callers("Pump.fill", root=repo)) == [
        ("pkg/main.py", 6, "run", "Pump.fill", True)
    ]
    contents = indexed_mind.code.contents(repo / "pkg/pump.py")
    assert [
        (one.name, one.kind, one.first, one.last, one.why)
        for one in contents
        if one.kind != "attribute"
    ] == [
        ("LIMIT", "variable", 2, 2, ("in the file",)),
        ("helper", "function", 4, 5, ("in the file",)),
        ("Base", "class", 7, 9, ("in the file",)),
        ("Base.drain", "method", 8, 9, ("in Base",)),
        ("Pump", "class", 11, 17, ("in the file",)),
        ("Pump.__init__", "method", 12, 13, ("in Pump",)),
        ("Pump.fill", "method", 15, 17, ("in Pump",)),
    ]


@pytest.mark.proves("D25", "D29", "D36")
def test_callees_and_dependencies(indexed_mind, repo):
    """What a function calls, and what a file imports, under its own names and aliases."""
    assert {use.name for use in indexed_mind.code.callees("run", root=repo)} == {
        "Pump.fill",
        "helper",
    }
    found = indexed_mind.code.dependencies(repo / "pkg/main.py")
    assert [(one.line, one.name, one.to, one.symbol) for one in found] == [
        (2, "pkg.pump", "pkg/pump.py", ""),
        (3, ".pump.Pump", "pkg/pump.py", "Pump"),
        (3, ".pump.helper", "pkg/pump.py", "helper"),
    ]


@pytest.mark.proves("D37")
def test_symbols_are_found_by_name(indexed_mind, repo):
    """By name, by qualified name, and but for case; a name that nothing has is an empty list."""
    assert [one.name for one in indexed_mind.code.find_symbol("fill", root=repo)] == ["Pump.fill"]
    assert [(one.name, one.why) for one in indexed_mind.code.find_symbol("PUMP", root=repo)] == [
        ("Pump", ("a like name",))
    ]
    assert indexed_mind.code.find_symbol("nobody", root=repo) == []


@pytest.mark.proves("D38")
def test_keywords_lead_to_files(indexed_mind, repo):
    """Files by the words of their paths and names, with the symbols that are meant."""
    best = indexed_mind.code.structure("fill the pump", root=repo)[0]
    assert (best.path, [one.name for one in best.symbols if one.kind == "method"][-1]) == (
        "pkg/pump.py",
        "Pump.fill",
    )
    assert indexed_mind.code.structure("zebra", root=repo) == []


@pytest.mark.proves("CC-77")
def test_a_changed_file_is_parsed_alone(indexed_mind, repo, monkeypatch):
    """Nothing changed: nothing is read. One file changed: it alone is parsed, and all uses are
    right again.
    """
    from reverie.code import code_indexing

    parsed: list[str] = []
    real = code_indexing.parse_facts

    def facts_of(path, text):
        parsed.append(path)
        return real(path, text)

    monkeypatch.setattr(code_indexing, "parse_facts", facts_of)
    assert (indexed_mind.code.index(repo).parsed, parsed) == (0, [])
    place = repo / "pkg/pump.py"
    place.write_text("# one line more\n" + place.read_text())
    done = indexed_mind.code.index(repo)
    assert (done.parsed, done.files, parsed) == (1, 3, ["pkg/pump.py"])
    assert told(indexed_mind.code.callers("helper", root=repo))[1] == (
        "pkg/pump.py",
        10,
        "Base.drain",
        "helper",
        True,
    )
    os.utime(repo / "pkg/main.py", (OLD + 9, OLD + 9))  # touched, not changed
    assert indexed_mind.code.index(repo).parsed == 0


def test_a_change_in_one_file_alters_what_names_in_another_mean(indexed_mind, repo):
    """A function that goes leaves no caller behind, and its mention is kept as one that leads
    nowhere.
    """
    place = repo / "pkg/pump.py"
    place.write_text(place.read_text().replace("def helper", "def other"))
    indexed_mind.code.index(repo)
    assert indexed_mind.code.callers("helper", root=repo) == []
    place.unlink()
    assert indexed_mind.code.index(repo).gone == 1
    assert indexed_mind.code.find_symbol("Pump", root=repo) == []


@pytest.mark.proves("A111", "B120")
def test_files_that_are_not_indexed_are_counted(home, tmp_path):
    """Ignored, secret, hidden, vendored, generated and too large files are not read, and are
    counted.
    """
    repo = written(
        tmp_path / "repo",
        **{
            ".gitignore": "build/\n",
            ".secretsignore": "keys.py\n",
            "a.py": "def a(): pass\n",
            "build/b.py": "def b(): pass\n",
            "keys.py": "def c(): pass\n",
            ".hid/d.py": "def d(): pass\n",
            "vendor/e.py": "def e(): pass\n",
            "f_pb2.py": "def f(): pass\n",
            "node_modules/g.js": "function g() {}\n",
            "h.py": "# Code generated by tool. DO NOT EDIT.\ndef h(): pass\n",
            "i.py": "x = 1\n" * 400_000,
            "j.min.js": "function j() {}\n",
            "k.py": b"def k\0(): pass\n",
        },
    )
    done = home.code.index(repo)
    names = [one.symbol.name for one in home.store.code.symbols(os.path.realpath(repo))]
    assert names == ["a"]
    assert done.skipped == {
        "hidden": 2,
        "ignored": 1,
        "vendored": 1,
        "generated": 3,
        "too large": 1,
        "binary": 1,
    }


def test_secrets_are_not_kept(home, tmp_path):
    """The head of a definition is redacted before it is written down."""
    secret = "ghp_" + "a1B2" * 9
    repo = written(
        tmp_path / "repo", **{"a.py": f'TOKEN = "{secret}"\ndef f(key="{secret}"): pass\n'}
    )
    home.code.index(repo)
    assert all(secret not in one.head for one in home.code.contents(repo / "a.py"))
    home.store.code.close()
    assert secret.encode() not in b"".join(
        path.read_bytes() for path in (home.settings.home / "cache").glob("*code*")
    )


@pytest.mark.proves("B120")
def test_a_secret_in_a_name_is_not_written_down(home, tmp_path):
    """A file whose path holds a secret is left out and counted, and no index has the secret."""
    secret = "ghp_" + "a1B2" * 9
    repo = written(
        tmp_path / "repo", **{"a.py": "def a(): pass\n", f"{secret}/b.py": "def b(): pass\n"}
    )
    for _ in range(2):
        assert home.code.index(repo).skipped == {"a secret in its name": 1}
    assert ["a"] == [one.symbol.name for one in home.store.code.symbols(os.path.realpath(repo))]
    home.store.code.close()
    home.store.code_chunks.close()
    assert secret.encode() not in b"".join(
        path.read_bytes() for path in (home.settings.home / "cache").glob("*.db")
    )


def test_the_map_keeps_to_its_budget_and_follows_its_focus(home, tmp_path):
    """The most used comes first, no map is longer than its budget, and focus brings up what it
    uses.
    """
    files = {
        f"user{n}.py": f"from core import hub\n\ndef user{n}():\n    hub()\n" for n in range(30)
    }
    repo = written(
        tmp_path / "repo",
        **files,
        **{
            "core.py": "def hub():\n    return 1\n",
            "side.py": "def quiet():\n    return deep()\n\ndef deep(): pass\n",
        },
    )
    home.code.index(repo)
    for budget in (1, 20, 100, 300):
        made = home.code.map(budget, root=repo)
        assert made.tokens <= budget
        assert len(made.symbols) + made.left == 33
    assert home.code.map(300, root=repo).symbols[0].name == "hub"
    seen = home.code.map(60, ["side.py"], root=repo)
    assert {"quiet", "deep"} <= {one.name for one in seen.symbols[:3]}
    assert ["quiet"] == [
        one.name for one in home.code.map(60, ["quiet"], root=repo).symbols if "in focus" in one.why
    ]


def test_an_index_that_was_interrupted_says_so_and_goes_on(indexed_mind, repo, monkeypatch):
    """Stopped between parsing many files and resolving: the index knows, and the next time makes it
    whole.
    """
    from reverie.code import code_indexing

    place = repo / "pkg/pump.py"
    place.write_text(place.read_text() + "\n\ndef late():\n    return helper(1)\n")
    with monkeypatch.context() as within:
        within.setattr(code_indexing, "ALWAYS_AMENDED", 0)
        within.setattr(
            code_indexing, "link_files", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        with pytest.raises(KeyboardInterrupt):
            indexed_mind.code.index(repo)
    root = os.path.realpath(repo)
    assert not indexed_mind.store.code.resolved(root)
    os.utime(place, (OLD + 5, OLD + 5))
    assert indexed_mind.code.index(repo).size.resolved
    assert len(indexed_mind.code.callers("helper", root=repo)) == 3


def test_answers_from_an_incomplete_index_say_so(repo, tmp_path, monkeypatch):
    """Whoever asks while indexing goes on, or after it was interrupted, is told that
    answers lack.
    """
    from reverie.code import code_indexing

    home = ("--home", str(toy_home(tmp_path)), "--in", str(repo))
    with monkeypatch.context() as within:
        within.setattr(
            code_indexing, "link_files", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
        )
        run_command("code", "index", str(repo), *home[:2], code=130)
    assert "not whole" in run_command("code", "callers", "helper", *home).stderr
    assert "not whole" in run_command("code", "symbol", "helper", *home).stderr
    assert "not whole" in run_command("code", "map", *home).stderr
    run_command("code", "index", str(repo), *home[:2])
    assert "not whole" not in run_command("code", "callers", "helper", *home).stderr


def test_waiting_for_another_indexer_is_reported(indexed_mind, repo):
    """Another process that indexes, or one that was killed just now, is waited for, and not in
    silence.
    """
    indexed_mind.store.acquire("code", "another", 60.0, indexed_mind.context.now())
    told = []

    def listening(stage, *_):
        told.append(stage)
        indexed_mind.store.release("code", "another")

    indexed_mind.code.index(repo, listening)
    assert told[0] == "waiting for another process that indexes"


@pytest.mark.proves("D28", "D35", "CC-77")
def test_one_name_in_several_files(home, tmp_path):
    """Each call says which definition it means; a path before the name asks for one of them."""
    root = written(
        tmp_path / "two",
        **{
            "a/util.py": "def helper(): pass\n",
            "b/util.py": "def helper(): pass\n",
            "one.py": "from a.util import helper\nhelper()\n",
            "two.py": "from b.util import helper\nhelper()\n",
        },
    )
    home.code.index(root)
    assert [(use.path, use.to) for use in home.code.callers("helper", root=root)] == [
        ("one.py", "a/util.py"),
        ("two.py", "b/util.py"),
    ]
    for name in ("b/util.py:helper", "./b/util.py:helper"):
        assert [use.path for use in home.code.callers(name, root=root)] == ["two.py"]
        assert [one.path for one in home.code.find_symbol(name, root=root)] == ["b/util.py"]
    assert (
        home.code.find_symbol("til.py:helper", root=root)
        == home.code.callers("c.py:helper", root=root)
        == []
    )


def test_a_property_that_is_named_like_its_type_does_not_recurse(home, tmp_path):
    """`def Column(self) -> Column`: what it returns is asked of itself; indexing comes
    to its end.
    """
    repo = written(
        tmp_path / "circle",
        **{
            "a.py": (
                "class Table:\n    @property\n    def Column(self) -> 'Column':\n        return Column()\n\n"
                "    def use(self):\n        self.Column.name.lower()\n        return self.Column.drop()\n"
            )
        },
    )
    assert home.code.index(repo).files == 1
    assert [one.name for one in home.code.find_symbol("Table.Column", root=repo)] == [
        "Table.Column"
    ]


def test_a_second_working_tree_is_no_second_repository(home, tmp_path):
    """What `git worktree add` put into the repository is left out; a submodule counts."""
    root = written(
        tmp_path / "main",
        **{
            "a.py": "def f(): pass\n",
            "wt/.git": "gitdir: /main/.git/worktrees/wt\n",
            "wt/a.py": "def f(): pass\n",
            "sub/.git": "gitdir: ../.git/modules/sub\n",
            "sub/b.py": "def g(): pass\n",
        },
    )
    done = home.code.index(root)
    assert (done.files, done.skipped["another working tree"]) == (2, 1)
    assert home.code.index(root / "wt").files == 1


@pytest.mark.proves("D29", "CC-77")
def test_a_go_module_is_called_as_it_says(home, tmp_path):
    """The folder of a clone may have any name: `go.mod` says what the packages in it are called."""
    root = written(
        tmp_path / "clone",
        **{
            "go.mod": "module example.com/app\n\ngo 1.19\n",
            "util/u.go": "package util\n\ntype Box struct{}\n\nfunc (b *Box) Put() {}\n\n"
            "func New() *Box { return &Box{} }\n",
            "cmd/main.go": 'package main\n\nimport u "example.com/app/util"\n\n'
            "func main() {\n\tb := u.New()\n\tb.Put()\n}\n",
        },
    )
    home.code.index(root)
    assert told(home.code.callers("New", root=root)) == [("cmd/main.go", 6, "main", "New", True)]
    assert [use.why for use in home.code.callers("Put", root=root)] == [("type",)]


def test_two_repositories_do_not_see_each_other(indexed_mind, repo, tmp_path):
    """A name in another repository is not meant, and forgetting one leaves the other."""
    other = written(
        tmp_path / "other", **{"a.py": "def helper(): pass\n\ndef g():\n    helper()\n"}
    )
    indexed_mind.code.index(other)
    assert told(indexed_mind.code.callers("helper", root=other)) == [
        ("a.py", 4, "g", "helper", True)
    ]
    indexed_mind.code.forget(repo)
    with pytest.raises(NotFound):
        indexed_mind.code.callers("helper", root=repo)
    assert len(indexed_mind.code.callers("helper", root=other)) == 1


@pytest.mark.proves("C60")
def test_a_forgotten_repository_is_erased_from_the_index_files(indexed_mind, repo, tmp_path):
    """Its names and words stand in no file of the cache; another repository's are all there."""
    other = written(
        tmp_path / "other", **{"b.py": "def zyxquartz(yxpebble):\n    return helper(yxpebble)\n"}
    )
    indexed_mind.code.index(other)
    cache = indexed_mind.settings.home / "cache"
    assert all(holding(cache, word) for word in (b"yxquartz", b"yxpebble"))
    root = os.path.realpath(repo)
    before = indexed_mind.store.code.bags(root)
    indexed_mind.code.forget(other)
    assert set() == holding(cache, b"yxquartz") | holding(cache, b"yxpebble")
    after = indexed_mind.store.code.bags(root)
    assert after.terms.items() <= before.terms.items()
    assert set(after.term) <= set(after.terms.values())
    assert (after.term == before.term).all()


def test_a_damaged_index_is_begun_anew(repo, tmp_path, clock):
    """The index is derived: damaged or deleted, indexing makes it again; `verify` finds nothing
    wrong with it.
    """
    for damage in (lambda path: path.write_bytes(b"nonsense" * 1000), lambda path: path.unlink()):
        with memory(tmp_path / "home", now=clock) as mind:
            mind.code.index(repo)
            assert mind.data.verify() == []
            path = next((tmp_path / "home" / "cache").glob("*-code-*.db"))
        for tail in ("-wal", "-shm"):
            Path(f"{path}{tail}").unlink(missing_ok=True)
        damage(path)
    with memory(tmp_path / "home", now=clock) as mind:
        assert mind.code.index(repo).parsed == 3
        assert len(mind.code.callers("helper", root=repo)) == 2


def test_asking_before_indexing_says_what_to_do(home, repo):
    """Nothing is indexed, or no such folder or file: the error says so."""
    with pytest.raises(NotFound, match="reverie code index"):
        home.code.callers("f", root=repo)
    with pytest.raises(BadInput):
        home.code.index(repo / "nowhere")
    home.code.index(repo)
    with pytest.raises(NotFound, match="reverie code index"):
        home.code.contents(repo / "new.py")
    with pytest.raises(BadInput):
        home.code.map(0, root=repo)


@pytest.mark.proves("D33", "D34", "D35", "D36", "D37")
def test_the_commands(repo, tmp_path):
    """`index`, `symbol`, `callers` and `map`, with --json."""
    home = ("--home", str(toy_home(tmp_path)))
    done = json.loads(run_command("code", "index", str(repo), *home, "--json").stdout)
    assert (done["files"], done["parsed"], done["size"]["resolved"]) == (3, 3, True)
    assert "3 files, 0 parsed" in run_command("code", "index", str(repo), *home).stdout
    where = ("--in", str(repo), *home)
    assert "pkg/main.py:7  run  → helper" in run_command("code", "callers", "helper", *where).stdout
    found = json.loads(run_command("code", "callers", "helper", *where, "--json").stdout)["callers"]
    assert [one["line"] for one in found] == [7, 9]
    assert "Nothing is called zebra here." in run_command("code", "callers", "zebra", *where).stdout
    assert (
        "pkg/pump.py:15-17  method  Pump.fill"
        in run_command("code", "symbol", "fill", *where).stdout
    )
    assert (
        json.loads(run_command("code", "symbol", "fill", *where, "--json").stdout)["symbols"][0][
            "name"
        ]
        == "Pump.fill"
    )
    assert "class Pump(Base)" in run_command("code", "map", *where).stdout
    assert (
        json.loads(
            run_command("code", "map", "--tokens", "30", "--focus", "Pump", *where, "--json").stdout
        )["tokens"]
        <= 30
    )
    run_command("code", "index", str(repo), "--forget", *home)
    run_command("code", "callers", "helper", *where, code=1)
