"""Recording what tools do, and looking it up."""

import asyncio
import contextlib
import subprocess
import sys
import threading

import pytest

from reverie.core.errors import BadInput, StoreBusy
from reverie.testing import SPACE, memory
from tests.support.helpers import wait_until

pytestmark = pytest.mark.words_only


def last(mind):
    return mind.activity.events(space=SPACE)[0].payload


@pytest.mark.proves("D6", "D13", "CC-75")
def test_a_run_is_written_down(mind):
    """Tool, parameters, result, success, duration and task; found by words, tool and task."""
    mind.record_tool(
        "bash", {"command": "make test"}, "12 passed", duration=1.5, task="fix parser", space=SPACE
    )
    mind.record_tool("grep", {"pattern": "x"}, error="no such file", space=SPACE)
    failed, worked = mind.activity.events(space=SPACE)
    assert worked.payload == {
        "tool": "bash",
        "command": "make test",
        "parameters": {"command": "make test"},
        "result": "12 passed",
        "ok": True,
        "duration": 1.5,
        "task": "fix parser",
    }
    assert failed.payload["ok"] is False
    assert (
        mind.activity.events(tool="bash", space=SPACE)
        == mind.activity.events(["PASSED"], space=SPACE)
        == [worked]
    )
    assert mind.activity.events(task="fix parser", space=SPACE) == [worked]


@pytest.mark.proves("CC-75")
def test_secrets_and_bulk_stay_out(mind):
    """What is recorded is redacted and cut."""
    mind.record_tool(
        "bash", {"command": "deploy", "password": "hunter2hunter2"}, "x" * 1_000_000, space=SPACE
    )
    told = last(mind)
    assert "hunter2" not in str(told)
    assert len(told["result"]) < 5_000


@pytest.mark.proves("CC-75")
def test_a_decorated_function_returns_and_raises_the_same(mind):
    """The decorated function returns the same result object and raises the same exception object."""
    answer, trouble = object(), KeyError("x")

    @mind.recording("odd", space=SPACE)
    def tool(fail=False):
        """Its docstring."""
        if fail:
            raise trouble
        return answer

    assert tool() is answer and tool.__doc__ == "Its docstring."
    with pytest.raises(KeyError) as caught:
        tool(fail=True)
    assert caught.value is trouble
    failed, worked = mind.activity.events(space=SPACE)
    assert (worked.payload["ok"], failed.payload["ok"], failed.payload["error"]) == (
        True,
        False,
        "KeyError: 'x'",
    )


@pytest.mark.proves("CC-75")
def test_async_tools_are_measured_to_their_end(mind):
    """An async function's duration is that of its work, not of its call; cancelling is a failure."""

    @mind.recording(space=SPACE)
    async def slow():
        await asyncio.sleep(0.05)
        return 7

    @mind.recording(space=SPACE)
    async def stream():
        yield 1
        await asyncio.sleep(0.05)
        yield 2

    async def both():
        assert await slow() == 7
        assert [item async for item in stream()] == [1, 2]
        task = asyncio.create_task(slow())
        await asyncio.sleep(0.01)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(both())
    cancelled, streamed, awaited = mind.activity.events(space=SPACE)
    assert (
        awaited.payload["duration"] >= 0.05
        and awaited.payload["ok"]
        and awaited.payload["result"] == 7
    )
    assert streamed.payload["duration"] >= 0.05
    assert cancelled.payload["ok"] is False and "Cancelled" in cancelled.payload["error"]


@pytest.mark.proves("CC-75")
def test_recorded_generators_behave_as_before(mind):
    """A recorded generator yields, receives and returns the same values."""

    @mind.recording("gen", space=SPACE)
    def gen():
        got = yield 1
        return got

    one = gen()
    assert next(one) == 1
    with pytest.raises(StopIteration) as ended:
        one.send("back")
    assert ended.value.value == "back"
    assert last(mind)["result"] == "back"


@pytest.mark.proves("CC-75")
def test_recorded_async_generators_behave_as_before(mind):
    """A recorded async generator receives sent values, catches thrown exceptions and closes at
    once.
    """
    heard, closed = [], []

    @mind.recording("stream", space=SPACE)
    async def stream():
        try:
            heard.append((yield 1))
            try:
                yield 2
            except KeyError as err:
                heard.append(err.args[0])
            yield 3
        finally:
            closed.append(True)

    async def talk():
        items = stream()
        assert await items.asend(None) == 1
        assert await items.asend("sent") == 2
        assert await items.athrow(KeyError("thrown")) == 3
        await items.aclose()
        assert heard == ["sent", "thrown"] and closed == [True]

    asyncio.run(talk())
    assert [event.payload["ok"] for event in mind.activity.events(space=SPACE)] == [True]


@pytest.mark.proves("CC-75")
def test_methods_of_classes_are_recorded(mind):
    """A classmethod and a staticmethod stay what they are, whichever decorator comes first."""

    class Tools:
        @mind.recording("made", space=SPACE)
        @classmethod
        def made(cls):
            return cls.__name__

        @mind.recording("plain", space=SPACE)
        @staticmethod
        def plain(n):
            return n + 1

    assert (Tools.made(), Tools().made(), Tools.plain(1)) == ("Tools", "Tools", 2)
    assert [event.payload["tool"] for event in mind.activity.events(space=SPACE)] == [
        "plain",
        "made",
        "made",
    ]


@pytest.mark.proves("CC-75")
def test_a_failing_recorder_never_fails_the_tool(mind, monkeypatch):
    """A store that fails, values that cannot be told, bad spaces: the tool goes on and the loss is
    counted.
    """

    class Rude:
        def __str__(self):
            raise RuntimeError("no words")

    def busy(_events):
        raise StoreBusy

    monkeypatch.setattr(mind.store, "append", busy)
    with mind.recording("a", {"x": Rude()}, space=SPACE):
        pass
    mind.record_tool("b", space="not a space")
    mind.record_tool("c", space=SPACE)
    assert mind.activity.events(space=SPACE) == []
    lost, why = mind.activity.unrecorded
    assert lost == 3 and "StoreBusy" in why


@pytest.mark.proves("CC-75")
def test_runs_are_written_where_no_thread_can_start(mind, monkeypatch):
    """Where no thread can be started any more, the next flush writes the runs and nothing raises."""

    def refuse(_thread):
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr("threading.Thread.start", refuse)
    mind.record_tool("bash", {"command": "ls"}, space=SPACE)
    assert mind.store.events() == []
    assert len(mind.activity.events(space=SPACE)) == 1


@pytest.mark.proves("CC-75")
def test_the_recorder_thread_ends_when_idle(mind):
    """A while after the last run nothing of the recorder is left, and the next run is written all
    the same.
    """
    for _ in range(2):
        mind.record_tool("bash", {"command": "ls"}, space=SPACE)
        wait_until(
            lambda: not [one for one in threading.enumerate() if one.name == "reverie-recorder"]
        )
    assert len(mind.store.events(verbs=["tool"])) == 2


@pytest.mark.proves("CC-75")
def test_nothing_is_recorded_where_memory_is_off():
    """Where memory is switched off no run of a tool is recorded."""
    with memory(embedder="none", enabled=False) as mind:
        mind.record_tool("bash", {"command": "ls"}, space=SPACE)
        mind.context.flush()
        assert mind.store.events() == [] and mind.activity.unrecorded == (0, "")


@pytest.mark.proves("CC-75")
def test_what_was_recorded_outlives_the_program(tmp_path):
    """A program that ends without closing has written everything that it recorded."""
    code = (
        "import sys, reverie\nfrom reverie.testing import memory\n"
        "mind = memory(sys.argv[1], embedder='none')\n"
        "for n in range(50): mind.record_tool('bash', {'command': f'echo {n}'}, space='me/demo')\n"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "home")], check=True)
    with memory(tmp_path / "home", embedder="none") as mind:
        assert len(mind.activity.events(tool="bash", space=SPACE, limit=100)) == 50


@pytest.mark.proves("D7", "D11")
def test_files_and_tasks(mind, clock):
    """A file's history: operation, lines, summary, success; tasks with their outcome."""
    mind.activity.record_task("add cache", space=SPACE, session="s")
    mind.activity.record_file(
        "./src/a.py", "edit", lines=(3, 9), summary="cache the key", task="add cache", space=SPACE
    )
    mind.activity.record_file("src/b.py", "read", space=SPACE)
    mind.activity.record_task(
        "add cache", "success", summary="faster now", space=SPACE, session="s"
    )
    assert [one.payload for one in mind.activity.events(file="src/a.py", space=SPACE)] == [
        {
            "path": "src/a.py",
            "operation": "edit",
            "lines": [3, 9],
            "summary": "cache the key",
            "ok": True,
            "task": "add cache",
        }
    ]
    assert [
        one.payload["outcome"]
        for one in mind.activity.events(["cache"], verbs=["task"], space=SPACE)
    ] == ["success", "started"]
    for wrong in ({"operation": "lick"}, {"lines": (9, 3)}):
        with pytest.raises(BadInput):
            mind.activity.record_file("a.py", **wrong)
    mind.settle()
    assert len(mind.episodes.browse("cache", space=SPACE)) == 1


@pytest.mark.proves("X31")
def test_statistics_over_a_window(mind, clock):
    """Seven days by default; older runs do not count."""
    mind.record_tool("bash", error="no", space=SPACE)
    mind.context.flush()
    clock.tick(days=7.5)
    mind.record_tool("bash", duration=2.0, space=SPACE)
    assert mind.activity.stats(space=SPACE).tools[0].success_rate == 1.0
    assert mind.activity.stats(days=8, space=SPACE).tools[0].success_rate == 0.5
    assert mind.activity.stats(space="me/other").tools == ()
