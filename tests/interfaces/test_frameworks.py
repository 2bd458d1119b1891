# mypy: no-check-untyped-defs, allow-untyped-decorators
"""Memory in other people's frameworks: whole conversations against scripted models, and trouble of
all sorts.
"""

import asyncio
import importlib.util
import subprocess
import sys
import threading
import time
from pathlib import Path
from threading import Event

import pytest

from reverie.core.errors import StoreFull
from reverie.interfaces.frameworks.agent_loop import Beside, ConversationPool, read_answer_messages
from reverie.runtime.mind import Mind
from reverie.runtime.mind.activity_verbs import ActivityVerbs
from reverie.testing import SPACE, make_conversation, memory

EXAMPLES = Path(__file__).parents[2] / "examples" / "adapters"
NEEDS = {
    "any_loop": "reverie",
    "openai_agents": "agents",
    "langgraph": "langgraph.store.base",
    "pydantic_ai": "pydantic_ai",
    "anthropic": "anthropic",
    "claude_agent": "claude_agent_sdk",
}
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def asked(words):
    return [{"role": "user", "content": words}]


def example(name):
    """The module of an example, if what it needs is installed."""
    pytest.importorskip(NEEDS[name])
    spec = importlib.util.spec_from_file_location(f"with_{name}", EXAMPLES / f"with_{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(mind):
    """All that was written down, as one text."""
    return str([event.payload for event in mind.store.events(limit=10_000)])


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A busy machine may take longer than a hook is waited for: then it answers nothing."""
    if importlib.util.find_spec("claude_agent_sdk"):
        monkeypatch.setattr("reverie.interfaces.frameworks.claude_agent.HOOK_TIMEOUT", 60.0)


@pytest.fixture
def informed_mind(home):
    home.remember("Prices are always kept in cents.", space=SPACE)
    home.settle()
    return home


@pytest.fixture
def broken_mind(home, monkeypatch):
    """A memory in which every verb fails, and every turn."""

    def full(*_, **__):
        raise StoreFull

    for name in ("companion", "remember", "recall", "record", "warnings"):
        monkeypatch.setattr(Mind, name, full)
    monkeypatch.setattr(ActivityVerbs, "suggest_fix", full)
    return home


@pytest.mark.parametrize("name", ["any_loop", "openai_agents", "pydantic_ai"])
@pytest.mark.proves("C115", "C116")
def test_a_fact_of_one_conversation_is_known_in_the_next(name, tmp_path):
    """Whatever the framework, it reaches the model's request at the turn in which it is needed."""
    assert "In cents." == example(name).main(tmp_path)[1]


@pytest.mark.proves("C115", "C116")
def test_a_fact_reaches_the_next_session_of_the_claude_agent_sdk(tmp_path):
    """As context of the prompt, through the SDK's own protocol; quiet hooks answer {}."""
    prompt, stop, next_prompt, next_stop = example("claude_agent").main(tmp_path)
    assert [{}, {}, {}] == [prompt, stop, next_stop]
    assert "kept in cents" in next_prompt["hookSpecificOutput"]["additionalContext"]
    assert "UserPromptSubmit" == next_prompt["hookSpecificOutput"]["hookEventName"]


@pytest.mark.proves("C82")
def test_the_memory_tool_of_anthropics_sdk_runs_in_its_tool_runner(tmp_path):
    """Created, altered, read, and an error in the words that models know; what is kept is found by
    recall.
    """
    created, _, read, missing, known = example("anthropic").main(tmp_path)
    assert "File created successfully at: /memories/units.md" == created
    assert "     1\tPrices are kept in cents." in read
    assert "The path /memories/nothing.md does not exist. Please provide a valid path." == missing
    assert "Prices are kept in cents.\n" == known


def test_langgraphs_items_are_found_and_a_deletion_can_be_taken_back(tmp_path):
    """The example's story."""
    assert ["units", "colour", "None", "Prices are always kept in cents."] == example(
        "langgraph"
    ).main(tmp_path)


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_runs_by_itself(name, tmp_path):
    """As its first lines say; a warning of a framework would be an error."""
    pytest.importorskip(NEEDS[name])
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"with_{name}.py")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={
            "REVERIE_HOME": str(tmp_path),
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "PYTHONPATH": str(EXAMPLES.parents[1] / "src"),
        },
    )
    assert 0 == done.returncode, done.stderr
    assert "cents" in done.stdout


# Any loop


@pytest.mark.proves("X12", "C81")
def test_injected_memories_stand_at_the_end_of_a_copy(informed_mind):
    """The injected block stands at the end of what the model reads; the caller's messages are not
    changed.
    """
    messages = asked("In which unit are prices kept?")
    with Beside(informed_mind, SPACE, session="s1") as beside:
        sent = beside.before(messages)
    assert "always kept in cents" in sent[-1]["content"] and sent[-1]["content"].startswith(
        messages[0]["content"]
    )
    assert asked("In which unit are prices kept?") == messages


def test_a_decorated_function_is_called_as_before(informed_mind):
    """Its further arguments, its answer and its errors go through, sync and async; its
    name stays.
    """

    def model(messages, *, heat):
        return f"{heat} {len(messages)}"

    async def later(messages, heat):
        return f"{heat} {'cents' in messages[-1]['content']}"

    async def broken(messages):
        raise TimeoutError("the model's own")

    with Beside(informed_mind, SPACE, session="s1") as beside:
        assert ("7 1", "model") == (
            beside(model)(asked("Hello there."), heat=7),
            beside(model).__name__,
        )
    with Beside(informed_mind, SPACE, session="s2") as beside:
        assert "7 True" == asyncio.run(beside(later)(asked("In which unit are prices kept?"), 7))
        with pytest.raises(TimeoutError):
            asyncio.run(beside(broken)(asked("Well?")))
        assert "" == beside.trouble


class Clerk:
    """Somebody's class whose method calls a model."""

    def ask(self, history, heat=0):
        return f"{heat} {len(history)} I keep the ledgers in Bergen."

    def stream(self, history):
        yield "The harbour crane "
        yield "is serviced in Bergen."
        return len(history)

    async def later(self, history):
        yield Thing(type="content_block_delta", delta=Thing(text="The ferry sails "))
        yield Thing(choices=[Thing(delta=Thing(content="from Bergen."))])
        yield Thing(type="message_stop")


def answers_of(mind):
    return [
        one["text"]
        for event in mind.store.events(verbs=("turn",))
        for one in event.payload["messages"]
        if one["role"] == "assistant"
    ]


@pytest.mark.parametrize(
    "call",
    [
        lambda ask: ask(history=asked("Where is it?"), heat=7),
        lambda ask: ask(asked("Where is it?"), 7),
        lambda ask: ask(heat=7, history=asked("Where is it?")),
    ],
)
@pytest.mark.proves("C81")
def test_a_decorated_function_may_name_its_argument_as_it_likes(home, call):
    """By name or by place, a function or a method; the answer is learned from."""
    with Beside(home, SPACE, session="s1") as beside:

        def ask(history, heat=0):
            return Clerk().ask(history, heat)

        method = beside(Clerk.ask).__get__(Clerk())
        assert (
            "7 1 I keep the ledgers in Bergen."
            == call(beside(ask))
            == call(method)
            == call(beside(Clerk().ask))
        )
        assert "" == beside.trouble
    assert any("ledgers in Bergen" in answer for answer in answers_of(home))


@pytest.mark.parametrize(
    "model",
    [
        lambda *all: all,
        lambda **all: all.get("messages"),
        lambda *, input: input,
        max,
        lambda: "none",
    ],
)
def test_a_call_that_memory_does_not_understand_is_made_as_it_was(home, model):
    """A builtin, no messages, wrong arguments: the same answer and the same error as without
    memory.
    """

    def outcome(model, *given, **more):
        try:
            return model(*given, **more)
        except TypeError as err:
            return str(err)

    with Beside(home, SPACE, session="s1") as beside:
        for given, more in (
            ((), {}),
            ((asked("Well?"),), {}),
            ((), {"messages": asked("Well?")}),
            ((), {"input": asked("Well?")}),
            ((1, 2), {"nothing": 3}),
        ):
            assert outcome(model, *given, **more) == outcome(beside(model), *given, **more)


@pytest.mark.proves("C81", "C115")
def test_a_streamed_answer_passes_through_and_is_learned(informed_mind):
    """A generator stays one, with what it returns; its pieces are one answer, read to the end or
    not.
    """
    told = []

    def whole(stream):
        told.append((yield from stream))

    async def later(stream):
        return [piece async for piece in stream]

    with Beside(informed_mind, SPACE, session="s1") as beside:
        stream = beside(Clerk.stream)(Clerk(), history=asked("Who services it?"))
        assert ["The harbour crane ", "is serviced in Bergen."] == list(whole(stream)) and [
            1
        ] == told
        broken_off = beside(lambda messages: Clerk().stream(messages))(
            asked("And who else services it?")
        )
        assert "The harbour crane " == next(broken_off)
        broken_off.close()
        assert 3 == len(asyncio.run(later(beside(Clerk.later)(Clerk(), asked("And the ferry?")))))
        assert "" == beside.trouble
    said = answers_of(informed_mind)
    for text in (
        "The harbour crane is serviced in Bergen.",
        "The harbour crane ",
        "The ferry sails from Bergen.",
    ):
        assert text in said


def test_an_answer_that_cannot_be_read_is_told(home):
    """An answer that cannot be read is reported as trouble, and handed on unchanged."""
    strange = object()
    with Beside(home, SPACE, session="s1") as beside:
        assert beside(lambda messages: strange)(asked("Well?")) is strange
        assert "An answer of the type object cannot be read" in beside.trouble
    with Beside(home, SPACE, session="s2") as beside:
        assert [7] == list(beside(lambda messages: (n for n in [7]))(asked("Well?")))
        assert "of the type int, hold no text" in beside.trouble


class Thing:
    """An object of some SDK."""

    def __init__(self, **values):
        self.__dict__.update(values)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Well.", [{"role": "assistant", "content": "Well."}]),
        ({"role": "assistant", "content": "Well."}, [{"role": "assistant", "content": "Well."}]),
        ([1, 2], [1, 2]),
        (None, []),
        (7, []),
        (object(), []),
        (Thing(choices=[Thing(message="m")]), ["m"]),
        (Thing(output=["i", "j"]), ["i", "j"]),
    ],
)
def test_answers_are_read_in_all_their_shapes(answer, expected):
    """A text, a message, messages, OpenAI's two responses; what cannot be read is nothing."""
    assert expected == read_answer_messages(answer)


def test_a_failing_memory_never_fails_the_call(broken_mind):
    """The model is called with what it would have got, and `trouble` says why."""
    with Beside(broken_mind, SPACE, session="s1") as beside:
        model = beside(lambda messages: messages)
        messages = asked("In which unit are prices kept?")
        assert model(messages) is messages
        beside.ran("Bash", {"command": "make"}, "ok")
        assert ("", "") == (beside.warned("Bash", {"command": "make"}), beside.fixed("Error: no"))
        assert "It was not kept. StoreFull" in beside.remember("Prices are kept in cents.")
        assert "cannot be searched just now. StoreFull" in beside.recall("prices")
        assert beside.trouble.startswith("StoreFull")


@pytest.mark.parametrize(
    "messages", ["a text", None, [object()], [{"role": 7, "content": {"a": b"1"}}], []]
)
def test_messages_of_no_known_shape_reach_the_model_as_they_are(informed_mind, messages):
    """Nothing raises and nothing is changed."""
    with Beside(informed_mind, SPACE, session="s1") as beside:
        assert beside(lambda given: given)(messages) == messages


@pytest.mark.proves("CC-40")
def test_a_turn_does_not_wait_for_a_conversation_that_cannot_begin(home, monkeypatch):
    """It goes without; what was said meanwhile is heeded once it has begun."""
    free, companion = Event(), Mind.companion

    def slow(*given, **more):
        assert free.wait(120)
        return companion(*given, **more)

    monkeypatch.setattr(Mind, "companion", slow)
    monkeypatch.setattr("reverie.interfaces.frameworks.agent_loop.OPEN_SECONDS", 0.01)
    beside = Beside(home, SPACE, session="s1")
    began = time.monotonic()
    assert beside.before(said := asked("Remember that prices are always kept in cents.")) is said
    assert time.monotonic() - began < 60  # half of what the conversation would take
    free.set()
    beside.close()
    home.settle()
    assert "Prices are always kept in cents." in [m.text for m in home.browse(space=SPACE)]


@pytest.mark.proves("CC-89", "A106")
def test_secrets_are_not_written_by_any_way_in(home):
    """What a conversation, a tool or a model hands over."""
    with Beside(home, SPACE, session="s1") as beside:
        beside.after(
            beside.before(asked(f"The token is {SECRET}, remember that.")), f"I will use {SECRET}."
        )
        beside.ran("Bash", {"command": f"curl -H 'Authorization: token {SECRET}'"}, SECRET)
        beside.remember(f"The token is {SECRET}")
    home.settle()
    home.activity.events()
    assert SECRET not in written(home)
    assert SECRET not in str(home.browse(space=SPACE, limit=100))


def test_nothing_is_kept_or_given_where_memory_is_off(tmp_path, clock):
    """A space that is switched off stays silent, and nobody sees an error."""
    with (
        memory(tmp_path / "home", now=clock, off=(SPACE,)) as mind,
        Beside(mind, SPACE, session="s1") as beside,
    ):
        messages = asked("Remember that prices are always kept in cents.")
        assert beside(lambda given: given)(messages) is messages
        beside.ran("Bash", {}, "ok")
        assert "It was not kept" in beside.remember("Prices are kept in cents.")
        mind.settle()
        assert [] == mind.store.events()


@pytest.mark.proves("CC-11")
def test_spaces_are_respected(informed_mind):
    """Another project's agent is told nothing."""
    with Beside(informed_mind, "me/other", session="s1") as beside:
        messages = asked("In which unit are prices kept?")
        assert beside.before(messages) is messages
        assert "Nothing is known about that." == beside.recall("In which unit are prices kept?")


@pytest.mark.proves("CC-79")
def test_a_warning_is_told_once_in_a_conversation_and_a_known_fix_after_a_failure(home):
    """Before a tool runs, what must never be done; after it failed, what once mended it."""
    home.remember(
        "Never run make deploy on Fridays.", kind="negative", triggers=["make deploy"], space=SPACE
    )
    error = "ModuleNotFoundError: No module named 'yaml'"
    home.record_tool("Bash", {"command": "pytest"}, error=error, session="s0", space=SPACE)
    home.record_tool("Bash", {"command": "pip install pyyaml"}, "ok", session="s0", space=SPACE)
    home.record_tool("Bash", {"command": "pytest"}, "1 passed", session="s0", space=SPACE)
    home.settle()
    with Beside(home, SPACE, session="s1") as beside:
        assert "on Fridays" in beside.warned("Bash", {"command": "make deploy"})
        assert "" == beside.warned("Bash", {"command": "make deploy"})
        assert "pip install pyyaml" in beside.fixed(error)
        assert "" == beside.fixed("KeyError: 'heron'")


@pytest.mark.proves("CC-42", "X8")
def test_sessions_do_not_share_what_came_up(informed_mind, monkeypatch):
    """Each has its own; the one that was silent longest is closed when there are too many."""
    monkeypatch.setattr("reverie.interfaces.frameworks.agent_loop.MAX_OPEN", 2)
    with ConversationPool(informed_mind, SPACE) as conversations:
        a, b = conversations.for_session("a"), conversations.for_session("b")
        assert a.turn(asked("In which unit are prices kept?")) and b.turn(
            asked("In which unit are prices kept?")
        )
        assert conversations.for_session("a") is a
        conversations.for_session("c")
        assert (
            conversations.for_session("b") is not b
            and "closed" in b.trouble + str(b.turn(asked("Well?"))) + b.trouble
        )


@pytest.mark.proves("X8")
def test_no_thread_is_left_when_all_conversations_are_over(home, monkeypatch):
    """Neither of those that were open nor of those that had been silent."""
    monkeypatch.setattr("reverie.interfaces.frameworks.agent_loop.MAX_OPEN", 3)
    with ConversationPool(home, SPACE) as conversations:
        for n in range(20):
            conversations.for_session(f"s{n}").heed(asked("Hello there."))
    home.activity.events()
    assert [] == [
        thread.name
        for thread in threading.enumerate()
        if thread.name in ("reverie", "reverie-beside")
    ]


# OpenAI Agents SDK


def test_an_openai_session_keeps_the_protocol(home):
    """As the SDK's own session on SQLite does, step by step; a new object of the same
    name goes on.
    """
    agents = pytest.importorskip("agents")
    from reverie.interfaces.frameworks.openai_agents import SessionHistory

    ours, theirs = SessionHistory(home, "s1", SPACE), agents.SQLiteSession("s1")
    call = {
        "type": "function_call",
        "call_id": "call_Zk29xQ8LmN4pR7sT",
        "name": "run",
        "arguments": '{"a": 1}',
    }
    done = {"type": "function_call_output", "call_id": "call_Zk29xQ8LmN4pR7sT", "output": "ok"}

    async def story(session):
        seen = [await session.get_items(), await session.pop_item()]
        await session.add_items([])
        await session.add_items([*asked("one"), {"role": "assistant", "content": "two"}])
        await session.add_items([call, done])
        seen += [
            await session.get_items(),
            await session.get_items(2),
            await session.get_items(0),
            await session.get_items(99),
            await session.pop_item(),
            await session.get_items(),
        ]
        session.session_settings = agents.SessionSettings(limit=1)
        seen += [await session.get_items(), await session.get_items(2)]
        session.session_settings = None
        await session.clear_session()
        seen += [await session.get_items(), await session.pop_item()]
        await session.add_items(asked("anew"))
        return [*seen, await session.get_items()]

    assert asyncio.run(story(theirs)) == asyncio.run(story(ours))
    theirs.close()
    assert isinstance(ours, agents.Session)
    assert asked("anew") == asyncio.run(SessionHistory(home, "s1", SPACE).get_items())
    assert (
        []
        == asyncio.run(SessionHistory(home, "s2", SPACE).get_items())
        == asyncio.run(SessionHistory(home, "s1", "me/other").get_items())
    )
    assert "'one'" in written(home), "what was cleared stays in the log"


@pytest.mark.proves("CC-89")
def test_an_openai_session_goes_on_without_memory_and_holds_no_secret(home, tmp_path, clock):
    """Secrets are taken out; where memory is off the conversation lives in this process."""
    pytest.importorskip("agents")
    from reverie.interfaces.frameworks.openai_agents import SessionHistory

    asyncio.run(SessionHistory(home, "s1", SPACE).add_items(asked(f"my token is {SECRET}")))
    assert SECRET not in written(home)
    with memory(tmp_path / "off", now=clock, off=(SPACE,)) as off:
        history = SessionHistory(off, "s1", SPACE)
        asyncio.run(history.add_items(asked("one")))
        asyncio.run(history.add_items(asked("two")))
        assert asked("two")[0] == asyncio.run(history.pop_item())
        assert asked("one") == asyncio.run(history.get_items())
        assert [] == off.store.events() and "in this process only" in history.trouble


@pytest.mark.proves("CC-75", "C116", "C117")
def test_an_openai_agent_with_tools_is_recorded_and_its_history_holds_no_block(informed_mind):
    """Its run of a tool stands in the log; what came up was sent and not kept."""
    agents = pytest.importorskip("agents")
    from openai.types.responses import ResponseFunctionToolCall

    from reverie.interfaces.frameworks.openai_agents import AgentMemory

    scripted = example("openai_agents").Scripted

    class Calling(scripted):
        async def get_response(self, *more, input, **named):
            if "function_call_output" in str(input):
                return await super().get_response(input=input)
            self.read.append(input)
            call = ResponseFunctionToolCall(
                type="function_call", call_id="call_1", name="look", arguments='{"n": 3}'
            )
            return agents.ModelResponse(output=[call], usage=agents.Usage(), response_id=None)

    @agents.function_tool
    def look(n: int) -> str:
        """Look."""
        return f"seen {n}"

    async def run():
        beside = AgentMemory(informed_mind, SPACE, session="s1")
        filtered = []
        config = agents.RunConfig(
            tracing_disabled=True,
            call_model_input_filter=lambda data: (filtered.append(1), data.model_data)[1],
        )
        done = await agents.Runner.run(
            agents.Agent(name="Clerk", model=model, tools=[look]),
            "In which unit are prices kept?",
            session=beside.history,
            hooks=beside,
            run_config=beside.run_config(config),
        )
        await beside.close()
        assert "" == beside.trouble and 2 == len(filtered)
        return done.final_output, await beside.history.get_items()

    model = Calling()
    output, items = asyncio.run(run())
    assert "In cents." == output or "always kept in cents" in str(model.read[0])
    assert "always kept in cents" in str(model.read[0][-1]) and "user" == model.read[0][-1]["role"]
    assert "reverie-memory" not in str(items) and 4 == len(items)
    (deed,) = informed_mind.activity.events(tool="look", space=SPACE)
    assert ("seen 3", "s1") == (deed.payload["result"], deed.session)


def test_an_openai_agent_answers_all_the_same_when_memory_fails(broken_mind):
    """Nothing of it reaches the runner."""
    agents = pytest.importorskip("agents")
    from reverie.interfaces.frameworks.openai_agents import AgentMemory

    model = example("openai_agents").Scripted()
    beside = AgentMemory(broken_mind, SPACE, session="s1")
    done = asyncio.run(
        agents.Runner.run(
            agents.Agent(name="Clerk", model=model),
            "Well?",
            session=beside.history,
            hooks=beside,
            run_config=beside.run_config(agents.RunConfig(tracing_disabled=True)),
        )
    )
    assert "I don't know." == done.final_output and "StoreFull" in beside.trouble


def openai_run(mind, tools, calls, *, session="s1", memory=None, config=None, **named):
    """A run in which the model makes these calls, one in each turn; what the model read and what is
    in the log.
    """
    agents = pytest.importorskip("agents")
    from openai.types.responses import ResponseFunctionToolCall

    from reverie.interfaces.frameworks.openai_agents import AgentMemory

    todo, scripted = list(enumerate(calls)), example("openai_agents").Scripted

    class Calling(scripted):
        async def get_response(self, *more, input, **named):
            if not todo:
                return await super().get_response(input=input)
            self.read.append(input)
            place, (name, arguments) = todo.pop(0)
            call = ResponseFunctionToolCall(
                type="function_call",
                call_id=f"call_{session}_{place}",
                name=name,
                arguments=arguments,
            )
            return agents.ModelResponse(output=[call], usage=agents.Usage(), response_id=None)

    async def run():
        async with AgentMemory(mind, SPACE, session=session) as beside:
            made = tools(beside) if callable(tools) else tools
            try:
                await agents.Runner.run(
                    agents.Agent(name="Clerk", model=model, tools=made),
                    "Go.",
                    session=beside.history,
                    hooks=beside,
                    run_config=beside.run_config(config or agents.RunConfig(tracing_disabled=True)),
                )
            finally:
                assert "" == beside.trouble

    model = Calling()
    return model, run


def deeds_of(mind, tool):
    return [event.payload for event in mind.activity.events(tool=tool, space=SPACE)]


@pytest.mark.proves("CC-75", "C117")
def test_a_failing_tool_of_an_openai_agent_is_recorded_as_failed(home):
    """With what was raised, its parameters by name, and how long it took; its answer is what it
    was.
    """
    agents = pytest.importorskip("agents")

    @agents.function_tool
    def look(n: int) -> str:
        """Look."""
        if n > 5:
            raise ValueError("No module named foobar")
        return f"seen {n}"

    seen = []
    config = agents.RunConfig(
        tracing_disabled=True,
        tool_error_formatter=lambda args: (seen.append(args.call_id), "Sorry.")[1],
    )
    model, run = openai_run(
        home, [look], [("look", '{"n": 7}'), ("look", '{"n": 3}')], config=config
    )
    asyncio.run(run())
    failed, went = sorted(deeds_of(home, "look"), key=lambda deed: deed["ok"])
    assert (False, {"n": 7}, "ValueError: No module named foobar") == (
        failed["ok"],
        failed["parameters"],
        failed["error"],
    )
    assert (True, {"n": 3}, "seen 3") == (went["ok"], went["parameters"], went["result"])
    assert failed["duration"] >= 0 <= went["duration"] and "command" not in failed
    assert ["call_s1_0"] == seen and "Sorry." in str(model.read[1]), (
        "a formatter of the caller's own still counts"
    )


@pytest.mark.proves("CC-75")
def test_a_tool_of_an_openai_agent_that_ends_the_run_is_recorded_as_failed(home):
    """Without a handler the error goes on its way, and stands in the log with what was raised."""
    agents = pytest.importorskip("agents")

    @agents.function_tool(failure_error_function=None)
    def look(n: int) -> str:
        """Look."""
        raise ValueError("No module named foobar")

    _, run = openai_run(home, [look], [("look", '{"n": 7}')])
    with pytest.raises(Exception, match="foobar"):
        asyncio.run(run())
    (deed,) = deeds_of(home, "look")
    assert (
        not deed["ok"]
        and "No module named foobar" in deed["error"]
        and {"n": 7} == deed["parameters"]
    )


@pytest.mark.parametrize(("traced", "handler"), [(False, "default"), (True, "own")])
@pytest.mark.proves("CC-75")
def test_a_failure_that_only_its_text_or_the_trace_tells_is_known(home, traced, handler):
    """The default text, given on purpose as tools of MCP do; a handler of one's own where a trace
    is kept.
    """
    agents = pytest.importorskip("agents")
    say = (
        agents.default_tool_error_function
        if handler == "default"
        else lambda _context, error: f"Oh: {error}"
    )

    @agents.function_tool(failure_error_function=say)
    def look(n: int) -> str:
        """Look."""
        raise ValueError("No module named foobar")

    agents.set_trace_processors([])
    _, run = openai_run(
        home, [look], [("look", '{"n": 7}')], config=agents.RunConfig(tracing_disabled=not traced)
    )
    asyncio.run(run())
    (deed,) = deeds_of(home, "look")
    assert not deed["ok"] and deed["error"]


@pytest.mark.proves("CC-79")
def test_what_is_known_of_a_tool_reaches_an_openai_agent(home):
    """The model's next request has what must never be done of the call, and what once mended its
    error.
    """
    agents = pytest.importorskip("agents")
    home.remember(
        "Never run make deploy on Fridays.", kind="negative", triggers=["make deploy"], space=SPACE
    )
    error = "ModuleNotFoundError: No module named 'yaml'"
    home.record_tool("run", {"command": "pytest"}, error=error, session="s0", space=SPACE)
    home.record_tool("run", {"command": "pip install pyyaml"}, "ok", session="s0", space=SPACE)
    home.record_tool("run", {"command": "pytest"}, "1 passed", session="s0", space=SPACE)
    home.settle()

    @agents.function_tool
    def run(command: str) -> str:
        """Run."""
        if command == "pytest":
            raise ModuleNotFoundError("No module named 'yaml'")
        return "done"

    model, start = openai_run(
        home, [run], [("run", '{"command": "make deploy"}'), ("run", '{"command": "pytest"}')]
    )
    asyncio.run(start())
    assert "on Fridays" not in str(model.read[0]) and "on Fridays" in str(model.read[1][-1])
    assert "on Fridays" not in str(model.read[2]) and "pip install pyyaml" in str(model.read[2][-1])


@pytest.mark.proves("CC-43")
def test_what_was_told_before_a_tool_is_not_in_a_block_that_was_prepared_meanwhile(home):
    """Nothing is said twice, though a block may be prepared while a tool is warned of; the rest of
    it stays.
    """
    home.remember(
        "Never run make deploy on Fridays.", kind="negative", triggers=["make deploy"], space=SPACE
    )
    other = home.remember("The staging server is called heron.", space=SPACE)
    ask = "What is the staging server called? And may I run make deploy?"
    for session, is_warned, left in (("a", False, 2), ("b", True, 1)):
        with Beside(home, SPACE, session=session) as beside:
            talk = make_conversation("Hello.", ask, "Go on.")
            beside.turn(talk[:1])
            beside.heed(talk[:3])
            assert home.context.background.wait(120)
            if is_warned:
                assert "on Fridays" in beside.warned("run", {"command": "make deploy"})
            block = beside.turn(talk)
            assert len(block.ids) == left and other.id in block.ids
            assert ("on Fridays" in block.text) is not is_warned


@pytest.mark.proves("CC-79")
def test_a_guarded_tool_of_an_openai_agent_is_warned_of_before_it_runs(home):
    """Once, in the place of its result; called again it runs, and what is harmless runs at once."""
    agents = pytest.importorskip("agents")
    home.remember(
        "Never run make deploy on Fridays.", kind="negative", triggers=["make deploy"], space=SPACE
    )
    ran = []

    def tools(beside):
        @agents.function_tool(tool_input_guardrails=[beside.guard])
        def run(command: str) -> str:
            """Run."""
            ran.append(command)
            return "done"

        return [run]

    deploy = ("run", '{"command": "make deploy"}')
    model, start = openai_run(home, tools, [("run", '{"command": "ls"}'), deploy, deploy])
    asyncio.run(start())
    assert ["ls", "make deploy"] == ran
    first, second = [
        item["output"] for item in model.read[3] if item.get("type") == "function_call_output"
    ][1:]
    assert "on Fridays" in first and "It did not run" in first and "done" == second


def test_an_openai_session_reads_only_what_is_new(home, monkeypatch):
    """A turn costs the same however long the conversation is; another object's items and pops are
    seen, and nothing is left out beyond a page.
    """
    pytest.importorskip("agents")
    from reverie.interfaces.frameworks.openai_history import SessionHistory

    monkeypatch.setattr("reverie.interfaces.frameworks.openai_history.PAGE_SIZE", 4)
    one, other = SessionHistory(home, "s1", SPACE), SessionHistory(home, "s1", SPACE)

    async def story():
        for n in range(30):
            await one.add_items(asked(f"number {n}"))
        assert 30 == len(await one.get_items()) == len(await other.get_items())
        await other.add_items(asked("the other's"))
        (await one.get_items())[-1]["content"] = "altered by the caller"
        assert (
            "the other's"
            == (await one.get_items(1))[0]["content"]
            == (await one.pop_item())["content"]
        )
        read, events = [], home.store.events

        def noted(**more):
            found = events(**more)
            read.extend(found)
            return found

        monkeypatch.setattr(home.store, "events", noted)
        assert "number 29" == (await other.get_items(1))[0]["content"]
        await other.add_items(asked("last"))
        assert 31 == len(await one.get_items())
        return len(read)

    assert asyncio.run(story()) <= 4


def test_two_processes_that_pop_get_two_items(home):
    """Each item is taken back once."""
    pytest.importorskip("agents")
    from reverie.interfaces.frameworks.openai_history import SessionHistory

    async def story():
        await SessionHistory(home, "s1", SPACE).add_items(
            [one for n in range(12) for one in asked(f"number {n}")]
        )
        sessions = [SessionHistory(home, "s1", SPACE) for _ in range(3)]
        popped = await asyncio.gather(
            *(session.pop_item() for session in sessions for _ in range(4))
        )
        return {item["content"] for item in popped}, await sessions[0].get_items()

    assert ({f"number {n}" for n in range(12)}, []) == asyncio.run(story())


def test_a_purged_text_does_not_live_on_in_an_openai_session(home):
    """An object that had read it before gives it no more, and goes on."""
    pytest.importorskip("agents")
    from reverie.interfaces.frameworks.openai_history import SessionHistory

    history, text = (
        SessionHistory(home, "s1", SPACE),
        "The vault of the Bergen office opens with the blue key.",
    )
    asyncio.run(history.add_items([*asked(text), *asked("Thanks.")]))
    assert text in str(asyncio.run(history.get_items()))
    home.data.purge([home.remember(text, space=SPACE).id])
    items = asyncio.run(history.get_items())
    assert "blue key" not in str(items) and "Thanks." == items[-1]["content"] and 2 == len(items)


# Pydantic AI


def pydantic_run(mind, steps, words, **more):
    """A run of an agent whose model takes these steps; (all that the model read, the result, the
    capability).
    """
    from pydantic_ai import Agent, ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    from reverie.interfaces.frameworks.pydantic_ai import MemoryCapability

    read, todo = [], list(steps)

    def model(messages, info):
        read.append(str(messages))
        step = todo.pop(0) if todo else "Done."
        return ModelResponse([TextPart(step) if isinstance(step, str) else ToolCallPart(*step)])

    beside = MemoryCapability(mind, SPACE)
    agent = Agent(FunctionModel(model), capabilities=[beside])

    @agent.tool_plain(retries=0)
    def look(n: int) -> str:
        if n > 5:
            raise ValueError("too far")
        return f"seen {n}"

    async def run():
        try:
            return await agent.run(words, conversation_id="s1", **more)
        finally:
            await beside.close()

    return read, run, beside


@pytest.mark.proves("X12", "C117", "C82", "CC-75")
def test_a_pydantic_agent_reads_what_comes_up_and_its_history_does_not(informed_mind):
    """Once in the request; its tools are recorded, and it can ask and keep by itself."""
    pytest.importorskip("pydantic_ai")
    read, run, beside = pydantic_run(
        informed_mind,
        [
            ("look", {"n": 3}),
            ("recall", {"question": "unit of prices"}),
            ("remember", {"text": "Labels are printed in red."}),
            "Fine.",
        ],
        ["In which unit are prices kept?", "Please."],
    )
    result = asyncio.run(run())
    assert "Fine." == result.output and "" == beside.trouble
    assert 1 == read[0].count("always kept in cents")
    assert "Background from earlier sessions" in read[0]
    requests = [
        part
        for message in result.all_messages()
        for part in message.parts
        if part.part_kind == "user-prompt"
    ]
    assert "reverie-memory" not in str(requests)
    assert "always kept in cents" in read[2], "the answer of recall"
    assert "Labels are printed in red." in [m.text for m in informed_mind.browse(space=SPACE)]
    (deed,) = informed_mind.activity.events(tool="look", space=SPACE)
    assert ("seen 3", "s1") == (deed.payload["result"], deed.session)


@pytest.mark.proves("CC-75")
def test_a_failing_tool_of_a_pydantic_agent_fails_as_before_and_is_recorded(home):
    """Recording never changes what a tool raises."""
    pytest.importorskip("pydantic_ai")
    _, run, _beside = pydantic_run(home, [("look", {"n": 7})], "Go.")
    with pytest.raises(ValueError, match="too far"):
        asyncio.run(run())
    (deed,) = home.activity.events(tool="look", space=SPACE)
    assert not deed.payload["ok"] and "too far" in str(deed.payload)


@pytest.mark.parametrize("signal", ["ModelRetry", "ToolFailed"])
@pytest.mark.proves("CC-75")
def test_a_tool_of_a_pydantic_agent_that_asks_to_be_tried_again_is_recorded_as_failed(home, signal):
    """The signal reaches the model as before; the log has what it said, with the time it took."""
    pydantic_ai = pytest.importorskip("pydantic_ai")
    from pydantic_ai.models.function import FunctionModel

    from reverie.interfaces.frameworks.pydantic_ai import MemoryCapability

    raised = getattr(pydantic_ai.exceptions, signal)
    read = []

    def model(messages, _info):
        read.append(str(messages))
        return pydantic_ai.ModelResponse(
            [
                pydantic_ai.ToolCallPart("look", {"n": 7})
                if len(read) == 1
                else pydantic_ai.TextPart("Fine.")
            ]
        )

    beside = MemoryCapability(home, SPACE)
    agent = pydantic_ai.Agent(FunctionModel(model), capabilities=[beside])

    @agent.tool_plain
    def look(n: int) -> str:
        raise raised("there are only five drawers")

    async def run():
        await agent.run("Go.", conversation_id="s1")
        await beside.close()

    asyncio.run(run())
    (deed,) = deeds_of(home, "look")
    assert (
        not deed["ok"]
        and "there are only five drawers" in deed["error"]
        and {"n": 7} == deed["parameters"]
    )
    assert "duration" in deed and "there are only five drawers" in read[1]


@pytest.mark.proves("CC-62")
def test_results_of_recall_are_not_recorded(informed_mind):
    """Neither as what a tool gave back nor as a message; memory does not read its own echo."""
    pytest.importorskip("pydantic_ai")
    read, run, _ = pydantic_run(
        informed_mind, [("recall", {"question": "unit of prices"}), "Fine."], "Please look it up."
    )
    asyncio.run(run())
    assert "always kept in cents" in read[1]
    deeds = informed_mind.activity.events(tool="recall", space=SPACE)
    assert 1 == len(deeds) and "cents" not in str([deed.payload for deed in deeds])
    turns = informed_mind.store.events(verbs=("turn",))
    assert "look it up" in str(turns) and "cents" not in str([event.payload for event in turns])


def test_a_pydantic_agent_answers_all_the_same_when_memory_fails(broken_mind):
    """Its tools say so to the model; nothing raises."""
    pytest.importorskip("pydantic_ai")
    read, run, _ = pydantic_run(
        broken_mind,
        [("recall", {"question": "unit"}), ("remember", {"text": "x"}), "Fine."],
        "Well?",
    )
    assert "Fine." == asyncio.run(run()).output
    assert "cannot be searched just now" in read[1] and "It was not kept" in read[2]


# Anthropic's memory tool


def test_the_async_memory_tool_answers_as_the_sync_one(home):
    """And so does clearing, which can be taken back."""
    pytest.importorskip("anthropic")
    from anthropic.lib.tools import ToolError

    from reverie.interfaces.frameworks.anthropic import AsyncMemoryTool, MemoryTool

    sync, later = MemoryTool(home, SPACE), AsyncMemoryTool(home, SPACE)
    assert {"type": "memory_20250818", "name": "memory"} == sync.to_dict() == later.to_dict()
    sync.call({"command": "create", "path": "/memories/a.md", "file_text": "one\n"})
    view = {"command": "view", "path": "/memories/a.md"}
    assert sync.call(view) == asyncio.run(later.call(view))
    for wrong in (
        {"command": "view", "path": "/etc/passwd"},
        {"command": "create", "path": "/memories/a.md", "file_text": "again"},
    ):
        with pytest.raises(ToolError):
            sync.call(wrong)
        with pytest.raises(ToolError):
            asyncio.run(later.call(wrong))
    assert "/memories" in sync.clear_all_memory()
    with pytest.raises(ToolError):
        sync.call(view)
    home.undo(home.store.events(verbs=("forget",), newest=True)[0].seq)
    assert "one" in sync.call(view)
    assert "all" in asyncio.run(later.clear_all_memory())


def test_a_failing_memory_tool_answers_the_model(tmp_path, clock):
    """Not an exception in somebody's loop: the runner hands a ToolError to the model."""
    pytest.importorskip("anthropic")
    from anthropic.lib.tools import ToolError

    from reverie.interfaces.frameworks.anthropic import MemoryTool

    with (
        memory(tmp_path / "off", now=clock, off=(SPACE,)) as off,
        pytest.raises(ToolError, match="switched off"),
    ):
        MemoryTool(off, SPACE).call(
            {"command": "create", "path": "/memories/a.md", "file_text": "one\n"}
        )


# Claude Agent SDK


def hooked(mind, *hooks, session="s1"):
    """What hooks answer in one session."""
    module = example("claude_agent")

    async def run():
        with module.SessionMemory(mind, SPACE) as beside:
            return await module.session(beside, session, hooks), beside.trouble

    return asyncio.run(run())


def tool(event, command, **more):
    return {
        "hook_event_name": event,
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_use_id": "t1",
        "duration_ms": 500,
        **more,
    }


@pytest.mark.proves("CC-75", "CC-79", "C117")
def test_hooks_of_the_claude_agent_sdk_warn_record_and_mend(home):
    """Before a tool, after it, and after its failure; none decides about the tool."""
    home.remember(
        "Never run make deploy on Fridays.", kind="negative", triggers=["make deploy"], space=SPACE
    )
    error = "ModuleNotFoundError: No module named 'yaml'"
    answers, trouble = hooked(
        home,
        tool("PostToolUseFailure", "pytest", error=error),
        tool("PreToolUse", "make deploy"),
        tool("PostToolUse", "pip install pyyaml", tool_response={"stdout": "ok"}),
        tool("PostToolUse", "pytest", tool_response={"stdout": "1 passed"}),
        {"hook_event_name": "PreCompact", "trigger": "auto", "custom_instructions": None},
        {"hook_event_name": "Stop", "stop_hook_active": False},
    )
    assert "" == trouble
    warned = answers.pop(1)["hookSpecificOutput"]
    assert "on Fridays" in warned["additionalContext"] and {
        "hookEventName",
        "additionalContext",
    } == set(warned)
    assert [{}] * 5 == answers
    assert [0.5] * 3 == [
        event.payload["duration"] for event in home.activity.events(tool="Bash", space=SPACE)
    ]
    assert home.store.events(verbs=("compact",), session="s1")
    home.settle()
    (answer,), _ = hooked(home, tool("PostToolUseFailure", "pytest", error=error), session="s2")
    assert "pip install pyyaml" in answer["hookSpecificOutput"]["additionalContext"]


def test_hooks_of_the_claude_agent_sdk_never_fail(broken_mind):
    """Every hook answers {} when memory fails or its input is not what was promised."""
    answers, trouble = hooked(
        broken_mind,
        {"hook_event_name": "UserPromptSubmit", "prompt": "Well?"},
        {"hook_event_name": "UserPromptSubmit"},
        tool("PreToolUse", "make"),
        tool("PostToolUse", "make"),
        tool("PostToolUseFailure", "make", error="no"),
        {"hook_event_name": "Stop", "last_assistant_message": "Yes."},
        {"hook_event_name": "PreCompact"},
    )
    assert [{}] * 7 == answers and trouble


@pytest.mark.proves("CC-40")
def test_a_hook_of_the_claude_agent_sdk_does_not_wait_for_ever(home, monkeypatch):
    """What takes too long is gone without, and `trouble` says so."""
    pytest.importorskip("claude_agent_sdk")
    free = Event()

    def slow(*_, **__):
        threading.Timer(1.0, free.set).start()
        free.wait(120)
        return []

    monkeypatch.setattr(ActivityVerbs, "suggest_fix", slow)
    monkeypatch.setattr("reverie.interfaces.frameworks.claude_agent.HOOK_TIMEOUT", 0.05)
    answers, trouble = hooked(home, tool("PostToolUseFailure", "pytest", error="KeyError: 'heron'"))
    assert [{}] == answers and "PostToolUseFailure took too long" in trouble
