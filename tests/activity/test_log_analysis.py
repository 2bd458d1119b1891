"""The activity log by SQL, as Parquet files, by file, and by what was learned from it."""

import csv
import io
import json
import re
import sys
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.errors import BadInput, ExtraMissing
from reverie.core.installation import advise_install
from reverie.memory.episodes import read_success
from reverie.storage.analytics import open_duckdb
from reverie.testing import SPACE, memory
from tests.activity.test_learned_patterns import commit, git, overcome, repository, run
from tests.interfaces.test_cli_activity import answer, home, told

pytestmark = pytest.mark.words_only
__all__ = ["home", "repository"]  # fixtures


def rows(mind, query, *parameters, space=SPACE):
    return mind.activity.sql(query, parameters, space=space).rows


@pytest.mark.proves("D6", "D13", "D15", "D63")
def test_runs_of_tools_are_a_table(mind, clock):
    """Every column of tool_executions, and what is asked of JSON inside."""
    mind.record_tool(
        "bash",
        {"command": "make", "jobs": 4},
        "built",
        duration=1.5,
        task="t",
        session="s",
        space=SPACE,
    )
    mind.record_tool("search", "words", {"found": [1]}, error="too many\nreally", space=SPACE)
    assert mind.activity.sql("from tool_executions", space=SPACE).columns == (
        "id",
        "timestamp",
        "space",
        "session",
        "task",
        "tool",
        "command",
        "parameters",
        "result",
        "success",
        "error",
        "duration",
    )
    first, second = rows(mind, "select * exclude (id, timestamp) from tool_executions order by id")
    assert first == (
        SPACE,
        "s",
        "t",
        "bash",
        "make",
        '{"command":"make","jobs":4}',
        "built",
        True,
        None,
        1.5,
    )
    assert second == (
        SPACE,
        None,
        None,
        "search",
        "words",
        '{"command":"words"}',
        '{"found":[1]}',
        False,
        "too many\nreally",
        None,
    )
    assert rows(mind, "select epoch(timestamp), id from tool_executions limit 1") == [(clock(), 1)]
    assert rows(mind, "select sum(cast(parameters->>'$.jobs' as int)) from tool_executions") == [
        (4,)
    ]


@pytest.mark.proves("D7", "D15")
def test_files_tasks_and_commits_are_tables(mind, clock, repository):
    """Each once, with lines, context and summary; a task with how it last came out."""
    mind.activity.record_file(
        "a.py", "edit", lines=(3, 9), summary="cache the key", task="t", session="s", space=SPACE
    )
    mind.record_tool("Read", {"file_path": "b.py"}, "text", session="s", space=SPACE)
    assert rows(
        mind,
        "select path, operation, first_line, last_line, success, context, change_summary, task, session "
        "from file_interactions order by id",
    ) == [
        ("a.py", "edit", 3, 9, True, None, "cache the key", "t", "s"),
        ("b.py", "read", None, None, True, "Read", None, None, "s"),
    ]
    mind.activity.record_task("t", space=SPACE)
    clock.tick(60)
    mind.activity.record_task("t", "failure", error="no room", space=SPACE)
    assert rows(mind, "select success, error, epoch(ended - started) from tasks") == [
        (False, "no room", 60.0)
    ]
    clock.tick(60)
    mind.activity.record_task("t", "success", space=SPACE)
    mind.activity.record_task("u", space=SPACE)
    assert rows(
        mind, "select task, outcome, success, error, ended is null from tasks order by task"
    ) == [("t", "success", True, None, False), ("u", "started", None, None, True)]
    mind.activity.learn_git(repository, space=SPACE)
    assert rows(mind, "select message, fix, files from commits order by id limit 1") == [
        ("Step 0", False, ["a.py", "b.py", "c0.py"])
    ]


@pytest.mark.proves("D8", "D9", "D10")
def test_what_was_learned_is_a_table(mind, clock, repository):
    """Fixes of errors, pairs of files and workflows, with confidence, count, first and last time."""
    began = clock() + 5
    overcome(mind, clock)
    overcome(mind, clock, session="t")
    mind.activity.learn_git(repository, space=SPACE)
    for n in range(3):
        for command in ("make build", "make check"):
            run(mind, clock, command, session=f"w{n}", task=f"w{n}")
        mind.activity.record_task(f"w{n}", "success", space=SPACE)
        mind.settle()
    found = {
        row[0]: (json.loads(row[1]), *row[2:])
        for row in rows(
            mind,
            "select type, data, confidence, count, epoch(first_seen), epoch(last_seen) from learned_patterns",
        )
    }
    data, confidence, count, first, last = found["error_fix"]
    assert (data["ran"], data["worked"], confidence, count) == (["pip install pyyaml"], 2, 0.75, 2)
    assert began < first < last < clock()
    assert found["co_edit"] == (
        {"files": ["a.py", "b.py"]},
        1.0,
        3,
        1_750_000_000.0,
        1_750_018_000.0,
    )
    data, confidence, count, *_ = found["workflow"]
    assert (data["steps"], data["approved"], confidence, count) == (
        ["make build", "make check"],
        False,
        0.5,
        3,
    )
    assert rows(
        mind, "select data->>'$.files[0]' from learned_patterns where type = ?", "co_edit"
    ) == [("a.py",)]


WORD = st.sampled_from(["success", "Failed", "ok", "timeout", "odd", ""])
PAYLOAD = st.fixed_dictionaries(
    {},
    optional={
        "worked": st.booleans() | WORD,
        "success": st.booleans() | st.integers(0, 1),
        "ok": st.booleans() | st.none(),
        "outcome": WORD,
        "status": WORD,
        "exit_code": st.integers(-2, 2) | st.booleans() | st.just(2**63),
        "error": st.sampled_from(["", "bad", 0, 1, [], ["x"], {}, {"a": 1}, False, True, None]),
    },
)


@pytest.fixture(scope="module")
def judging_db():
    """A database that judges runs, for all examples of a test."""
    with closing(open_duckdb()) as db:
        yield db


@given(st.lists(PAYLOAD, max_size=20))
@pytest.mark.proves("D6", "D15")
def test_sql_and_python_agree_on_success(judging_db, payloads):
    """SQL and Python judge by the same rule whether a run succeeded."""
    told = [json.dumps(payload) for payload in payloads]
    judged = judging_db.execute(
        "select [went(taken_apart(payload)) for payload in $1::varchar[]]", [told]
    ).fetchone()[0]
    assert judged == [read_success(payload) for payload in payloads]


@pytest.mark.proves("B88", "D15")
def test_a_space_sees_itself_and_what_is_above_and_below(mind):
    """A query over a space never sees a sibling's rows."""
    for space in ("me", "me/demo", "me/demo/s", "me/demolition", "me/other"):
        mind.record_tool("bash", {"command": space}, space=space)
    seen = [row[0] for row in rows(mind, "select command from tool_executions order by id")]
    assert seen == ["me", "me/demo", "me/demo/s"]
    assert len(rows(mind, "from tool_executions", space="me")) == 5


@pytest.mark.proves("D15", "D63")
def test_a_snapshot_answers_many_questions(mind):
    """What is recorded after it was opened is not in it; what SQL makes lives as long as it does."""
    mind.record_tool("bash", {"command": "one"}, space=SPACE)
    with mind.activity.analysis(space=SPACE) as log:
        mind.record_tool("bash", {"command": "two"}, space=SPACE)
        mind.context.flush()
        assert log.ask("select command from tool_executions").rows == [("one",)]
        log.ask("create table mine as select command from tool_executions")
        assert log.ask("from mine").rows == [("one",)]
        assert log.ask("select count(*) from query_table($name)", {"name": "tasks"}).rows == [(0,)]
    assert len(rows(mind, "from tool_executions")) == 2
    with pytest.raises(BadInput, match="mine"):
        rows(mind, "from mine")


@pytest.mark.proves("D15")
def test_tables_named_by_parameters_are_filled(mind):
    """Whichever way a question names a table, its rows are there."""
    mind.record_tool("bash", {"command": "one"}, space=SPACE)
    asked = [
        ("from query_table($1)", ["tool_executions"]),
        ("from query($1)", ["from tool_executions"]),
        ("from query('from tool_executions')", []),
        ("from Tool_Executions where tool = ?", ["bash"]),
        ("select (select count(*) from tool_executions) where $x", {"x": True}),
    ]
    for query, parameters in asked:
        assert len(mind.activity.sql(query, parameters, space=SPACE).rows) == 1


OUTSIDE = [
    "copy tool_executions to '{0}/new.csv'",
    "from read_csv('{0}/there.csv')",
    "from '{0}/there.csv'",
    "select * from read_text('{0}/there.csv')",
    "from glob('{0}/*')",
    "attach '{0}/new.db'",
    "export database '{0}/new'",
    "install httpfs",
    "load httpfs",
    "install sqlite",
    "from read_csv('http://127.0.0.1:9/x')",
    "attach '{0}/home/reverie.db' (type sqlite)",
    "set enable_external_access = true",
    "reset lock_configuration",
    "set autoinstall_known_extensions = true",
    "pragma profiling_output = '{0}/new'",
    "set log_query_path = '{0}/new'",
    "set temp_directory = '{0}'",
    "from secret_of_this_program",
    "select getenv('HOME')",
]


@pytest.mark.parametrize("query", OUTSIDE)
@pytest.mark.proves("D63", "B124")
def test_sql_is_sandboxed(mind, tmp_path, monkeypatch, query):
    """A query cannot read or write files, fetch anything, read the program's variables or unlock
    settings.
    """
    secret_of_this_program = {"a": [1]}
    (tmp_path / "there.csv").write_text("a,b\n1,2\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match=r"^That SQL does not work\. [^\n]+$"):
        rows(mind, query.format(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"] and secret_of_this_program


@pytest.mark.parametrize(
    "query",
    [
        "selec 1",
        "from nowhere",
        "select 1; select 2",
        "",
        "select nope from tasks",
        "select cast('x' as int)",
        "insert into tool_executions values (1)",
        "drop table nope",
        "select ?",
        "\x00",
    ],
)
@pytest.mark.proves("CC-8", "D15")
def test_sql_that_does_not_work_is_one_clear_line(mind, query):
    """With DuckDB's own words, and the next question is answered."""
    with mind.activity.analysis(space=SPACE) as log:
        with pytest.raises(BadInput, match=r"^That SQL does not work\. [^\n]+$"):
            log.ask(query)
        assert log.ask("select 1").rows == [(1,)]


@pytest.mark.proves("D15")
def test_the_store_is_only_read(mind):
    """Whatever SQL does to its tables, the event log stays unchanged."""
    mind.record_tool("bash", {"command": "one"}, space=SPACE)
    mind.context.flush()
    before = list(mind.store.dump())
    with mind.activity.analysis(space=SPACE) as log:
        log.ask("from tool_executions")
        log.ask("delete from tool_executions")
        assert log.ask("from tool_executions").rows == []
    assert list(mind.store.dump()) == before


@pytest.mark.proves("D6")
def test_odd_values_are_kept(mind):
    """Numbers that JSON lacks, other scripts, half characters, columns that are no column's type."""
    mind.record_tool(
        "bash", {"command": "echo 日本 👩‍👩‍👧 \ud800"}, duration=float("nan"), space=SPACE
    )
    mind.context.flush()
    mind.record(
        "tool",
        {"tool": {"name": "x"}, "duration": "soon", "ok": "yes", "parameters": None},
        space=SPACE,
    )
    first, second = rows(
        mind, "select command, duration, tool, success, parameters from tool_executions order by id"
    )
    assert first[0].startswith("echo 日本 👩‍👩‍👧") and first[1] != first[1]
    assert second == (None, None, '{"name":"x"}', None, None)
    assert rows(mind, "select '日本\ud800'") == [("日本?",)]


@pytest.mark.proves("D63", "CC-9")
def test_parquet_files_are_all_there_or_none_is(mind, tmp_path, monkeypatch):
    """Every table, readable by anyone; a folder in the way is left alone, a failure leaves nothing."""
    mind.record_tool("bash", {"command": "one"}, duration=2.0, space=SPACE)
    folder = tmp_path / "it's"
    assert mind.activity.export_parquet(folder, space=SPACE) == {
        "commits": 0,
        "file_interactions": 0,
        "learned_patterns": 0,
        "tasks": 0,
        "tool_executions": 1,
    }
    import duckdb

    db = duckdb.connect()
    assert db.read_parquet(str(folder / "tool_executions.parquet")).project(
        "command, duration"
    ).fetchall() == [("one", 2.0)]
    assert sorted(path.stem for path in folder.iterdir()) == [
        "commits",
        "file_interactions",
        "learned_patterns",
        "tasks",
        "tool_executions",
    ]
    for place in (folder, folder / "tasks.parquet", tmp_path / "no" / "where"):
        with pytest.raises(BadInput, match=r"exists already|no folder"):
            mind.activity.export_parquet(place, space=SPACE)

    def full(_file):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("reverie.storage.analytics.sync_to_disk", full)
    with pytest.raises(OSError, match="space"):
        mind.activity.export_parquet(tmp_path / "half", space=SPACE)
    assert [path.name for path in tmp_path.iterdir()] == ["it's"]


@pytest.mark.proves("CC-8")
def test_without_duckdb_it_is_said_what_to_install(mind, monkeypatch):
    """Without DuckDB the error names the extra to install."""
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ExtraMissing, match=re.escape(advise_install("analytics"))):
        rows(mind, "select 1")


# The history of a file


@pytest.mark.proves("D7")
def test_the_history_of_a_file(mind, clock, repository):
    """Who touched it when, with what, and what broke; under its former name too."""
    git(repository, "mv", "a.py", "new.py")
    commit(repository, "Rename", 1_750_800_000)
    mind.activity.learn_git(repository, space=SPACE)
    run(mind, clock, "pytest", session="s")
    clock.tick(60)
    mind.record_tool("Edit", {"file_path": "new.py"}, task="speed", session="s", space=SPACE)
    run(mind, clock, "pytest", "E   KeyError: 'x'", session="s")
    run(mind, clock, "python -m src/new.py --fast", session="s")
    mind.record_tool(
        "Edit",
        {"file_path": "new.py"},
        error="String to replace not found",
        session="t",
        space=SPACE,
    )
    run(mind, clock, "ruff check", 'new.py:3:1: F401 "os" imported but unused', session="t")
    run(mind, clock, "cat renew.py", "renew.py: No such file", session="t")
    failed, refused, ran, edit, renamed, *older = mind.activity.touched("new.py", space=SPACE)
    assert (failed.how, failed.context, failed.ok) == (
        "error",
        "ruff check",
        False,
    ) and "F401" in failed.error
    assert (refused.how, refused.ok, refused.error) == (
        "edit",
        False,
        "String to replace not found",
    )
    assert (ran.how, ran.context) == ("run", "python -m src/new.py --fast")
    assert (edit.how, edit.context, edit.session, edit.task) == ("edit", "Edit", "s", "speed")
    assert edit.broke == ("pytest: E KeyError: 'x'",) and refused.broke == ()
    assert (renamed.how, renamed.context, renamed.path) == ("commit", "Rename", "new.py")
    assert [(one.context, one.path) for one in older] == [(f"Step {n}", "a.py") for n in (2, 1, 0)]
    assert len(mind.activity.touched("new.py", space=SPACE, limit=2)) == 2
    assert (
        mind.activity.touched("new.py", space="me/other")
        == []
        == mind.activity.touched("ew.py", space=SPACE)
    )


def test_a_command_that_failed_before_was_not_broken(mind, clock):
    """Only what went well before a change, in the same conversation, was broken by it."""
    run(mind, clock, "make", "error: no rule")
    run(mind, clock, "make test", session="other")
    clock.tick(60)
    mind.activity.record_file("a.py", session="s", space=SPACE)
    run(mind, clock, "make", "error: no rule")
    run(mind, clock, "make test", "error: no rule")
    [one] = mind.activity.touched("a.py", space=SPACE)
    assert one.broke == ()


# The command line


@pytest.mark.proves("D15", "D63")
def test_sql_on_the_command_line(home):
    """A table for people, JSON, CSV; without a query, what there is to ask about."""
    query = "select tool, count(*) as runs, avg(duration) as mean from tool_executions group by tool order by tool"
    page = told(home, "activity", "sql", query).stdout.splitlines()
    assert [line.split() for line in page] == [
        ["tool", "runs", "mean"],
        ["Read", "1", "null"],
        ["bash", "3", "0.25"],
    ]
    assert answer(home, "activity", "sql", query) == {
        "columns": ["tool", "runs", "mean"],
        "rows": [["Read", 1, None], ["bash", 3, 0.25]],
    }
    assert (
        told(home, "activity", "sql", "--csv", query).stdout
        == "tool,runs,mean\nRead,1,\nbash,3,0.25\n"
    )
    assert told(home, "activity", "sql", "-", stdin="select 42").stdout.split() == ["42", "42"]
    tables = {one["name"]: one["columns"] for one in answer(home, "activity", "sql")["tables"]}
    assert set(tables) == {
        "tool_executions",
        "file_interactions",
        "learned_patterns",
        "tasks",
        "commits",
    }
    assert tables["learned_patterns"] == {
        "type": "VARCHAR",
        "data": "JSON",
        "confidence": "DOUBLE",
        "count": "BIGINT",
        "first_seen": "TIMESTAMP",
        "last_seen": "TIMESTAMP",
    }
    assert "parameters json" in told(home, "activity", "sql").stdout
    assert "No rows" in told(home, "activity", "sql", "from tasks").stderr


@pytest.mark.proves("CC-7")
def test_every_kind_of_value_is_printed(home):
    """Moments, lists, structures, numbers that JSON lacks, bytes, line ends and what a terminal
    would obey.
    """
    query = (
        "select timestamp '2026-01-02 03:04:05' as t, [1, null] as l, {'a': 1.5::decimal(4, 1)} as s, "
        "'nan'::double as n, '\\x01'::blob as b, E'two\\nlines, \\x1b[31m' as w, true as y, null as z"
    )
    [row] = answer(home, "activity", "sql", query)["rows"]
    assert row == [
        "2026-01-02T03:04:05",
        [1, None],
        {"a": 1.5},
        "nan",
        "01",
        "two\nlines, \x1b[31m",
        True,
        None,
    ]
    [_, row] = csv.reader(io.StringIO(told(home, "activity", "sql", "--csv", query).stdout))
    assert row == [
        "2026-01-02T03:04:05",
        "[1, null]",
        '{"a": 1.5}',
        "nan",
        "01",
        "two\nlines, \x1b[31m",
        "True",
        "",
    ]
    page = told(home, "activity", "sql", query).stdout
    assert "\x1b" not in page and "2026-01-02" in page


@pytest.mark.proves("D15")
def test_long_answers_are_whole(home):
    """Ten thousand rows, a cell of a thousand characters, forty columns: nothing is cut."""
    assert (
        len(told(home, "activity", "sql", "select * from range(10000)").stdout.splitlines())
        == 10_001
    )
    assert told(home, "activity", "sql", "select repeat('x', 1000)").stdout.count("x") >= 1000
    wide = "select " + ", ".join(f"{n} as c{n}" for n in range(40))
    assert told(home, "activity", "sql", wide).stdout.splitlines()[:40] == [
        f"c{n}: {n}" for n in range(40)
    ]


@pytest.mark.proves("CC-8")
def test_bad_sql_ends_with_a_code(home, tmp_path):
    """One line on stderr, and the code of input that cannot be used."""
    (tmp_path / "full").touch()
    for words in (
        ["selec 1"],
        ["from read_csv('x.csv')"],
        ["select 1", "--parquet", "x"],
        ["--parquet", str(tmp_path)],
    ):
        done = told(home, "activity", "sql", *words, code=2)
        assert done.stdout == "" and len(done.stderr.strip().splitlines()) == 1


@pytest.mark.proves("D63")
def test_parquet_on_the_command_line(home, tmp_path):
    """`sql --parquet` writes the tables."""
    assert (
        answer(home, "activity", "sql", "--parquet", str(tmp_path / "out"))["rows"][
            "tool_executions"
        ]
        == 4
    )
    assert len(list((tmp_path / "out").iterdir())) == 5


def test_touched_on_the_command_line(home):
    """`reverie activity touched`: who, when, with what."""
    page = told(home, "activity", "touched", "src/a.py").stdout
    assert "read src/a.py" in page and "session s" in page and "Read" in page
    [one] = answer(home, "activity", "touched", "src/a.py")["touched"]
    assert (one["how"], one["context"], one["ok"]) == ("read", "Read", True)
    assert "Nothing is known" in told(home, "activity", "touched", "none.py").stderr


@pytest.mark.proves("D15")
def test_sql_reads_what_other_processes_wrote(tmp_path, clock):
    """A query reads the log on disk, not only what this process wrote."""
    with memory(tmp_path / "home", now=clock, embedder="none") as first:
        first.record_tool("bash", {"command": "make"}, space=SPACE)
    with memory(tmp_path / "home", now=clock, embedder="none") as second:
        assert rows(second, "select command from tool_executions") == [("make",)]
