"""Activity events as pure functions: payloads are cut to a bound, statistics and co-changes are
right.
"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.activity import activity_events, git_history
from reverie.activity.co_change import (
    FileChange,
    collect_renames,
    find_all_co_changes,
    find_co_changes,
    find_occasions,
    list_file_changes,
)
from reverie.activity.failure_signature import compare_signatures, compute_failure_signature
from reverie.activity.workflows import find_workflows
from reverie.testing import NOON, make_event

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=30,
)


@given(ANYTHING)
@pytest.mark.proves("CC-75")
def test_any_value_can_be_cut_to_a_snapshot(value):
    """Whatever a tool is given or answers, a snapshot of it can be taken, twice the same."""
    once = activity_events.bound_value(value)
    assert repr(activity_events.bound_value(once)) == repr(once)


@pytest.mark.proves("CC-75", "D6")
def test_a_snapshot_is_small_whatever_its_size():
    """Long texts keep both ends, long lists and deep values are cut."""
    once = activity_events.bound_value("a" * 1_000_000 + "end")
    assert len(once) < activity_events.MAX_VALUE_CHARS + 2 * activity_events.CUT_MARGIN + 100
    text = activity_events.shorten_payload({"parameters": once})["parameters"]
    assert len(text) < activity_events.MAX_VALUE_CHARS + 100
    assert "… 998,003 characters …" in text
    assert text.startswith("aaa") and text.endswith("end")
    assert len(activity_events.bound_value(list(range(10_000)))) == activity_events.MAX_ITEMS
    deep: list[object] = []
    deep.append(deep)
    assert len(str(activity_events.bound_value(deep))) < 100


def run(tool="bash", at=NOON, **payload):
    return make_event("tool", at=at, payload={"tool": tool, **payload})


@pytest.mark.proves("X31")
def test_statistics_of_tools():
    """Runs, success rate and percentiles by nearest rank; durations that are none do not count."""
    runs = [run(ok=n % 4 > 0, duration=float(n)) for n in range(1, 101)]
    bash, odd = activity_events.measure_work([*runs, run("odd", duration=math.nan)]).tools
    assert (bash.tool, bash.runs, bash.failed, bash.success_rate, bash.p50, bash.p95) == (
        "bash",
        100,
        25,
        0.75,
        50,
        95,
    )
    assert (odd.runs, odd.success_rate, odd.p50) == (1, None, None)


@pytest.mark.proves("D61", "D62")
def test_rereads_and_repeated_errors_are_counted():
    """A file that one task reads again, and an error that differs only in its numbers."""
    read = [
        make_event("file", session=session, payload={"path": "a.py", "operation": "read"})
        for session in "ssx"
    ]
    failed = [run(ok=False, error=f"ValueError: bad row {n}") for n in (1, 2)]
    other = run(ok=False, error="ZeroDivisionError: division by zero")
    told = activity_events.measure_work([*read, *failed, other])
    assert (told.reads, told.rereads, told.errors, told.repeated) == (3, 1, 3, 1)


@pytest.mark.proves("D61", "D62")
def test_rereads_and_repeated_errors_are_counted_by_week():
    """Each week by itself, the oldest first, so that one sees whether they become fewer; weeks
    without work are left out, and a single week is no course.
    """
    week = 7 * DAY

    def read(at):
        payload = {"path": "a.py", "operation": "read"}
        return make_event("file", at=at, session="s", payload=payload)

    def failed(at):
        return run(ok=False, error="ValueError: bad row 1")._replace(at=at)

    long_ago = [read(NOON - 3 * week - n) for n in (1, 2, 3)]
    long_ago += [failed(NOON - 3 * week - n) for n in (4, 5)]
    lately = [read(NOON - n) for n in (2, 3)] + [failed(NOON - 1)]
    told = activity_events.measure_weeks([*lately, *long_ago], NOON)
    assert [tuple(one) for one in told] == [
        (NOON - 4 * week, 3, 2, 2, 1),
        (NOON - week, 2, 1, 1, 0),
    ]
    assert activity_events.measure_weeks(lately, NOON) == ()


@pytest.mark.proves("D61")
def test_a_file_that_changed_is_rightly_read_again():
    """After an edit, whoever made it, reading is no repetition; an edit that failed changed
    nothing.
    """

    def read(at):
        return make_event(
            "file", at=NOON + at, session="s", payload={"path": "./a.py", "operation": "read"}
        )

    told = activity_events.measure_work(
        [read(1), changed("a.py", 2), read(3), changed("a.py", 4, ok=False), read(5)]
    )
    assert (told.reads, told.rereads) == (3, 1)


# Files that change together

DAY = 86_400.0
TOUCHES = st.lists(
    st.builds(
        FileChange,
        st.sampled_from("ab"),
        st.integers(0, 5_000).map(float),
        st.sampled_from(("", "", "t1", "t2", "commit 1", "commit 2")),
    ),
    max_size=30,
)


def changed(path, at, ok=True, task=""):
    return make_event(
        "file", at=NOON + at, payload={"path": path, "operation": "edit", "ok": ok, "task": task}
    )


def pairs(events, path="a", now=NOON):
    return [
        (one.path, one.occasions)
        for one in find_co_changes(path, list_file_changes(events, {}), now)
    ]


@given(TOUCHES)
@pytest.mark.proves("CC-76")
def test_counting_from_either_side_gives_the_same(some):
    """Co-edit is symmetrical in time."""
    ones, others = ([touch for touch in some if touch.path == path] for path in "ab")
    assert find_occasions(ones, others) == find_occasions(others, ones)


ANYWHERE = st.lists(
    st.builds(
        FileChange,
        st.sampled_from("abcd"),
        st.integers(0, 5_000).map(lambda n: n * 60.0),
        st.sampled_from(("", "t1", "t2", "commit 1", "commit 2", "commit 3")),
    ),
    max_size=60,
)


@given(ANYWHERE)
@pytest.mark.proves("CC-76", "D8")
def test_all_pairs_are_those_of_each_file(some):
    """What is found everywhere is what each file tells when it is asked."""
    asked = {
        (path, one.path, one.occasions)
        for path in "abcd"
        for one in find_co_changes(path, some, 0.0, least=2)
    }
    told = {
        (*files, pair.occasions)
        for pair in find_all_co_changes(some, 0.0, least=2)
        for files in (pair.files, pair.files[::-1])
    }
    assert told == asked
    assert all(
        0.0 < pair.share <= 1.0 and pair.first_at <= pair.last_at
        for pair in find_all_co_changes(some, 0.0, least=2)
    )


@pytest.mark.proves("CC-76", "D9")
def test_the_window_is_300_seconds_either_way():
    """300 s in, 301 s out, before and after."""
    for apart, expected in ((300, [("b", 3)]), (-300, [("b", 3)]), (301, []), (-301, [])):
        events = [
            changed(path, n * 10_000 + at)
            for n in range(3)
            for path, at in (("a", 0), ("b", apart))
        ]
        assert pairs(events) == expected


@pytest.mark.proves("CC-76")
def test_occasions_are_counted_not_edits():
    """Ten edits within minutes are one occasion; three are needed."""
    once = [changed(path, n) for n in range(10) for path in "ab"]
    assert pairs(once) == []
    again = [changed(path, day * DAY) for day in (1, 2) for path in "ab"]
    assert pairs([*once, *again]) == [("b", 3)]


def committed(n, at, *files):
    return make_event(
        "commit",
        at=NOON + at,
        payload={"commit": str(n), "files": [[file, 1, 0] for file in files]},
    )


@pytest.mark.proves("CC-76", "D9")
def test_an_edit_and_its_commit_are_one_occasion():
    """Edited within a task, committed an hour later: one set of changes, which counts once."""

    def worked(n):
        edits = [
            changed(path, n * 2 * DAY + at, task=f"t{n}") for path, at in (("a", 0), ("b", 1_000))
        ]
        return [*edits, committed(n, n * 2 * DAY + 4_600, "a", "b")]

    twice = [*worked(0), *worked(1)]
    assert pairs(twice) == []
    [found] = find_co_changes("a", list_file_changes([*twice, *worked(2)], {}), NOON)
    assert (found.path, found.occasions, found.of) == ("b", 3, 3)


@pytest.mark.proves("CC-76", "D9")
def test_a_commit_without_the_file_or_days_later_is_another_occasion():
    """Only the first commit of a file after its edit, within a day, holds that edit."""
    edits = [changed(path, 0, task="t") for path in "ab"]
    late = [committed(n, n * 2 * DAY, "a", "b") for n in (1, 2)]
    assert pairs([*edits, *late]) == [("b", 3)]
    soon = [committed(n, n * 3_600, "a", "b") for n in (1, 2, 3)]
    assert pairs([*edits, *soon]) == [("b", 3)]


@pytest.mark.proves("CC-76")
def test_failed_edits_and_reads_do_not_count():
    """Only files that were changed count as changed together: failed edits and reads do not."""
    events = [
        changed(path, day * DAY, ok=path == "a" or day != 2) for day in range(3) for path in "ab"
    ]
    assert pairs(events) == []
    read = [make_event("file", at=NOON + 2 * DAY, payload={"path": "b", "operation": "read"})]
    assert pairs([*events, *read]) == []


@pytest.mark.proves("D9")
def test_edits_of_one_task_are_changed_together():
    """Edits within one task count as changed together, however far apart; a task of 51 files counts
    for none.
    """
    events = [
        changed(path, n * 1e6 + at, task=f"t{n}")
        for n in range(3)
        for path, at in (("a", 0), ("b", 5_000))
    ]
    assert pairs(events) == [("b", 3)]
    crowd = [
        changed(f"x{i}", n * 1e6 + 9_000 + i * 1_000, task=f"t{n}")
        for n in range(3)
        for i in range(49)
    ]
    assert pairs([*events, *crowd]) == []


@pytest.mark.proves("D9")
def test_co_changes_decay():
    """A co-change counts half after 180 days; three old ones count nothing after three years."""
    events = [changed(path, day * DAY) for day in range(3) for path in "ab"]
    [fresh] = find_co_changes("a", list_file_changes(events, {}), NOON + 2 * DAY)
    [older] = find_co_changes("a", list_file_changes(events, {}), NOON + 182 * DAY)
    assert math.isclose(older.weight, fresh.weight / 2)
    assert fresh.share == 1.0
    assert find_co_changes("a", list_file_changes(events, {}), NOON + 3 * 365 * DAY) == []


@pytest.mark.proves("D9")
def test_a_reused_file_name_is_another_file():
    """A file that took a name after it had become free does not inherit the former file's changes."""

    def commit(n, *files):
        return make_event(
            "commit",
            at=NOON + n,
            payload={"commit": str(n), "files": [list(file) for file in files]},
        )

    log = [
        commit(1, ("a", 1, 0), ("x", 1, 0)),
        commit(2, ("b", 0, 0, "a")),
        commit(3, ("a", 1, 0), ("y", 1, 0)),
    ]
    told = {(touch.path, touch.group) for touch in list_file_changes(log, collect_renames(log))}
    assert {("b", "commit 1"), ("a", "commit 3"), ("y", "commit 3")} <= told


# Git's output

LOG = (
    b"\x01aaa\x1f100\x1f90\x1ffirst\0\n1\t0\tone.py\x002\t3\todd \tname\0"
    b"\x01bbb\x1f200\x1f90\x1fFixes the parser\0\n"
    b"0\t0\t\0one.py\0two.py\0-\t-\tlogo.png\0\x01ccc\x1f300\x1f\x1fempty\0"
)


@given(st.integers(1, 40))
@pytest.mark.proves("D9")
def test_history_is_read_however_it_is_cut(size):
    """Names with tabs, renames, binary files, commits without files; chunks of any size."""
    chunks = [LOG[i : i + size] for i in range(0, len(LOG), size)]
    first, second, empty = git_history.parse_git_log(chunks)
    assert (first.id, first.at, first.files) == (
        "aaa",
        100.0,
        (("one.py", 1, 0), ("odd \tname", 2, 3)),
    )
    assert second.files == (("two.py", 0, 0, "one.py"), ("logo.png", 0, 0))
    assert (first.fixes, second.fixes, empty.files) == (False, True, ())


# Errors


SAME = [
    (
        "/a/b.py:3: error: Name 'x' is not defined  [name-defined]",
        "src/z.py:99: error: Name 'x' is not defined  [name-defined]",
    ),
    (
        "KeyError: 'user'",
        "Traceback (most recent call last):\n  File \"/x\", line 3, in f\nKeyError: 'user'",
    ),
    (
        "\x1b[31mfatal: \x1b[0mnot a git repository: /srv/one",
        "fatal: not a git repository: /home/two",
    ),
    (
        "OSError: [Errno 98] Address already in use: ('127.0.0.1', 8000)",
        "OSError: [Errno 98] Address already in use: ('10.0.0.7', 9123)",
    ),
    ("RuntimeError: object at 0x7f3a2b took 3.2s", "RuntimeError: object at 0x99ffee took 11.75s"),
    (
        "panic: at 2025-01-02T03:04:05Z id 3f2b8c1e-0000-4000-8000-123456789abc",
        "panic: at 2026-11-12 13:14:15 id 00000000-1111-4222-8333-abcdefabcdef",
    ),
    (
        "error[E0432]: unresolved import `serde`\n --> app.rs:1:5\n\nerror: could not compile `app` (lib) due to 1 "
        "previous error",
        "error[E0432]: unresolved import `serde`\n --> b.rs:9:5\n\nerror: could not compile `b` (lib) "
        "due to 1 previous error",
    ),
    (
        "a.ts(1,7): error TS2304: Cannot find name 'x'.",
        "\x1b[96mb.ts\x1b[0m:\x1b[93m8\x1b[0m:\x1b[93m7\x1b[0m - \x1b[91merror\x1b[0m\x1b[90m TS2304: \x1b[0m"
        "Cannot find name 'x'.\n\n\x1b[7m8\x1b[0m x\n",
    ),
    (
        "thread 'main' panicked at src/main.rs:2:5:\nindex out of bounds: the len is 3 but the index is 99\nnote: run",
        "thread 'main' panicked at src/b.rs:77:1:\nindex out of bounds: the len is 1 but the index is 2\nnote: run",
    ),
]
OTHER = [
    "KeyError: 'user'",
    "KeyError: 'name'",
    "ModuleNotFoundError: No module named 'yaml'",
    "ModuleNotFoundError: No module named 'numpy'",
    "ValueError: 'user'",
    "bash: yarn: command not found",
    "bash: npm: command not found",
    "fatal: not a git repository",
    "fatal: refusing to merge unrelated histories",
    "/a.js\n  1:7  error  'x' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)",
    "/a.js\n  1:7  error  'y' is not defined  no-undef\n\n✖ 1 problem (1 error, 0 warnings)",
    "/a.js\n  1:7  error  Expected '===' and instead saw '=='  eqeqeq\n\n✖ 1 problem (1 error, 0 warnings)",
    "a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.",
    "a.ts(1,7): error TS2322: Type 'number' is not assignable to type 'string'.",
    "a.ts(1,1): error TS2307: Cannot find module '@one/x' or its corresponding type declarations.",
    "a.ts(1,1): error TS2307: Cannot find module '@one/y' or its corresponding type declarations.",
    "a.ts(1,1): error TS2307: Cannot find module './y' or its corresponding type declarations.",
    "a.go:3:8: no required module provides package github.com/a/b; to add it:\n\tgo get github.com/a/b",
    "a.go:3:8: no required module provides package github.com/a/c; to add it:\n\tgo get github.com/a/c",
    "--- FAIL: TestA (0.00s)\n    a_test.go:6: sum is 3\nFAIL\nFAIL\texample.com/a\t0.007s\nFAIL",
    "--- FAIL: TestB (0.00s)\n    a_test.go:6: mean is 3\nFAIL\nFAIL\texample.com/a\t0.007s\nFAIL",
    "A.java:1: error: cannot find symbol\n  x();\n  ^\n  symbol:   method x()\n  location: class A\n1 error",
    "A.java:1: error: cannot find symbol\n  y();\n  ^\n  symbol:   method y()\n  location: class A\n1 error",
    "A.java:1: error: incompatible types: int cannot be converted to String",
    "A.java:1: error: incompatible types: int cannot be converted to Boolean",
    '[ERROR] Unknown lifecycle phase "a". -> [Help 1]\n[ERROR] \n[ERROR] Re-run\n[ERROR] [Help 1] http://x.org/y',
    "[ERROR] No POM in this directory (/a). -> [Help 1]\n[ERROR] \n[ERROR] Re-run\n[ERROR] [Help 1] http://x.org/z",
]


@pytest.mark.proves("D10", "CC-79")
def test_the_same_error_elsewhere_is_the_same():
    """Paths, numbers, addresses, times, ids and colours do not matter."""
    for one, other in SAME:
        assert compute_failure_signature(one).key == compute_failure_signature(other).key != "", one
        assert (
            compare_signatures(compute_failure_signature(one), compute_failure_signature(other))
            == 1.0
        )


@pytest.mark.proves("CC-79")
def test_different_errors_are_different():
    """Another name in an error makes it another error."""
    for i, one in enumerate(OTHER):
        assert [
            n
            for n, other in enumerate(OTHER)
            if compare_signatures(compute_failure_signature(one), compute_failure_signature(other))
        ] == [i]


@given(st.text(max_size=400), st.text(max_size=400))
@pytest.mark.proves("D10")
def test_any_text_has_a_signature(one, other):
    """The same from either side, whatever is asked."""
    assert compare_signatures(
        compute_failure_signature(one), compute_failure_signature(other)
    ) == compare_signatures(compute_failure_signature(other), compute_failure_signature(one))
    assert bool(compute_failure_signature(one).key) or not compare_signatures(
        compute_failure_signature(one), compute_failure_signature(one)
    )


# Workflows


def ran(work, *commands, ok=True):
    return [
        make_event(
            "tool", at=NOON + n, payload={"tool": "bash", "command": one, "task": work, "ok": ok}
        )
        for n, one in enumerate(commands)
    ]


@pytest.mark.proves("D11")
def test_what_recurs_in_three_tasks_is_a_workflow():
    """The longest stretch, once; reading and failures are passed over."""
    log = [
        event
        for n in range(3)
        for event in ran(f"t{n}", "make build", "ls", "make test", f"git push origin v{n}.0")
    ]
    [flow] = find_workflows(log)
    assert flow.steps == ("make build", "make test", "git push origin v2.0") and flow.occasions == 3
    assert find_workflows(log[:8]) == []
    assert (
        find_workflows(
            [event for n in range(3) for event in ran(f"t{n}", "make a", "make b", ok=False)]
        )
        == []
    )
    assert (
        find_workflows([event for n in range(9) for event in ran("one", "make a", "make b")]) == []
    )
