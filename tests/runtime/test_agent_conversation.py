"""The steps of an agent's conversation one by one, and a whole agent that works for two days."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from reverie.context_window.condensing.summary_lines import MARK
from reverie.context_window.injection_block import Block, append_block
from reverie.context_window.provider_messages import group_messages
from reverie.core.errors import BadInput
from reverie.core.kinds import EXCERPT
from reverie.testing import SPACE, make_memory, memory
from reverie.text.injection_fence import FENCE
from tests.context_window.test_condensing import FACT, asked, talk
from tests.context_window.test_pruning_properties import legal

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent.py"
BLOCK = Block(text=f"<{FENCE}>\n- heron\n</{FENCE}>", memories=(make_memory("heron"),))


@pytest.fixture
def folder(tmp_path, clock):
    """A mind in a folder, with its mirror."""
    with memory(tmp_path / "home", now=clock) as mind:
        yield mind


@pytest.mark.parametrize(
    ("last", "expected"),
    [
        (asked("Why?"), {"role": "user", "content": f"Why?\n\n{BLOCK.text}"}),
        (
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "1", "content": "ok"}],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "1", "content": "ok"},
                    {"type": "text", "text": BLOCK.text},
                ],
            },
        ),
        ({"role": "assistant", "content": "Well."}, None),
        ({"role": "tool", "tool_call_id": "1", "content": "ok"}, None),
    ],
)
@pytest.mark.proves("C81")
def test_a_block_stands_at_the_end(last, expected):
    """Part of the user's last message, or a message of its own; what was given is not altered."""
    given = [asked("first"), last]
    sent = append_block(given, BLOCK)
    assert sent[:-1] == (given[:-1] if expected else given)
    assert sent[-1] == (expected or asked(BLOCK.text))
    assert BLOCK.text not in str(given)
    assert append_block(given, Block()) == given


@pytest.mark.proves("C79", "C112")
def test_a_conversation_begins_with_what_is_there(folder, clock):
    """What happened lately, what is known of the task, what is due, and what people edited
    meanwhile.
    """
    folder.remember("The staging server is called heron.", space=SPACE)
    folder.remember("Ann deployed to production.", kind="event", space=SPACE)
    folder.remind("Rotate the keys", when="in 10 minutes", space=SPACE)
    folder.settle()
    page = next(
        path
        for path in folder.settings.home.rglob("MEMORY.md")
        if "heron" in path.read_text("utf-8")
    )
    clock.tick(minutes=20)
    page.write_text(page.read_text("utf-8").replace("heron", "osprey"), "utf-8")
    with folder.conversation(SPACE, session="s1", limit=10_000) as talking:
        loaded = talking.start("what is the staging server called?")
    assert ["Ann deployed to production."] == [m.text for m in loaded.lately]
    assert "The staging server is called osprey." in [h.memory.text for h in loaded.known]
    assert ["Rotate the keys"] == [h.memory.text for h in loaded.due]
    assert SPACE in {page.space for page in loaded.pages}
    assert 1 == len(folder.store.events(verbs=("mirror",)))  # taken in once, here or beside
    assert loaded.block.text.startswith(f"<{FENCE}>") and "osprey" in loaded.block.text
    assert "Rotate" not in loaded.block.text  # the first block gives it, once


@pytest.mark.proves("C112", "C81")
def test_what_is_due_is_given_before_the_first_call(folder, clock):
    """The reminder stands in what is sent, at its end; the conversation to go on with is without
    it.
    """
    folder.remind("Rotate the keys", when="in 10 minutes", space=SPACE)
    clock.tick(minutes=20)
    with folder.conversation(SPACE, session="s1", limit=10_000) as talking:
        talking.start()
        said = [asked("Good morning.")]
        ready = talking.before(said)
        assert "Rotate the keys" in ready.prompt[-1]["content"] and said == ready.messages
        assert "Rotate" not in str(
            talking.before(
                [*said, {"role": "assistant", "content": "Hello."}, asked("Go on.")]
            ).prompt
        )


@pytest.mark.proves("C77", "C78", "C111", "D52")
def test_a_full_context_is_condensed_before_the_call(mind, clock):
    """At 80 % it is condensed before the model is asked; within the cooldown it is cut."""
    with mind.conversation(SPACE, session="s1", limit=3_000, strategy="sliding-window") as talking:
        ready = talking.before(talk())
        assert ready.condensed.done and any(m["content"].startswith(MARK) for m in ready.messages)
        longer = [*ready.messages, *talk(30)]
        again = talking.before(longer)
        assert "seconds ago" in again.condensed.why and len(again.messages) < len(longer)
        assert sum(len(m["content"]) for m in again.messages) < 4 * 3_000
        assert not again.trouble


@pytest.mark.proves("C76", "C83", "C114")
def test_what_comes_after_the_call_is_learned(mind, clock):
    """The answer and what tools returned are in the log before the next turn, and nothing is given."""
    said = [
        asked("Never deploy on Fridays, please."),
        {"role": "assistant", "content": "I will not."},
    ]
    with mind.conversation(SPACE, session="s1", limit=10_000) as talking:
        talking.before(said[:1])
        talking.after(said)
        assert talking.companion.wait(120)
        assert "I will not." in str([event.payload for event in mind.store.events(verbs=("turn",))])
        talking.after(said)
        assert talking.companion.wait(120)
        assert 2 == len(mind.store.events(verbs=("turn",)))


@pytest.mark.proves("C80", "C115", "D3")
def test_the_end_teaches_the_next_conversation(mind, clock):
    """What was said in one conversation is known in the next; after the end nothing more is taken."""
    with mind.conversation(SPACE, session="s1", limit=10_000) as talking:
        talking.before([asked("Remember that the staging server is called heron.")])
        talking.after(
            [
                asked("Remember that the staging server is called heron."),
                {"role": "assistant", "content": "I will."},
            ]
        )
    assert ["session_end"] == [event.verb for event in mind.store.events(verbs=("session_end",))]
    talking.end()
    with pytest.raises(BadInput, match="closed"):
        talking.before([asked("And?")])
    clock.tick(days=1)
    with mind.conversation(SPACE, session="s2", limit=10_000) as following:
        known = following.start("what is the staging server called?").known
        assert any("heron" in hit.memory.text for hit in known)
        assert (
            "heron"
            in following.before([asked("What is the staging server called?")]).prompt[-1]["content"]
        )


@pytest.mark.proves("C76", "C79", "C15")
def test_working_memory_lasts_as_long_as_the_conversation(mind):
    """The user's last words are held at each message; a conversation that goes on begins with them
    and

    with what the agent held; the end clears it, also while another conversation goes on.
    """
    talking = mind.conversation(SPACE, session="s1", limit=10_000)
    talking.before([asked("Please repair the release script.")])
    talking.companion.wait(120)
    mind.settle()
    mind.sessions.hold("Step 2 of 3: tests", session="s1", space=SPACE)
    with mind.conversation(SPACE, session="s1", limit=10_000) as again:
        held = again.start().held
        assert ("Step 2 of 3: tests", "Please repair the release script.") == (
            held.content,
            held.turn,
        )
        again.before([asked("Go on.")])
    assert not mind.sessions.held("s1", space=SPACE)


@pytest.mark.proves("C79", "C113")
def test_how_it_is_done_is_there_from_the_beginning(mind):
    """Procedures whose trigger the task meets."""
    mind.procedures.teach("Deploy", ["run the tests", "ship it"], triggers=["deploy"], space=SPACE)
    with mind.conversation(SPACE, session="s1", limit=10_000) as talking:
        loaded = talking.start("please deploy to staging")
        assert ["Deploy"] == [m.title for m in loaded.procedures] and "ship it" in loaded.block.text
        assert [] == talking.start("please eat an apple").procedures


def test_a_conversation_that_breaks_off_is_learned_from_later(mind):
    """What was said before an error is safe, and nothing waits for it."""
    with (
        pytest.raises(ZeroDivisionError),
        mind.conversation(SPACE, session="s1", limit=10_000) as talking,
    ):
        talking.before([asked("Remember that the staging server is called heron.")])
        _ = 1 / 0
    assert talking.companion.closed and [] == mind.browse(space=SPACE)
    mind.settle()
    assert any("heron" in m.text for m in mind.browse(space=SPACE))


def test_where_memory_is_off_the_conversation_goes_on(clock):
    """Nothing is loaded, given or kept; the context is condensed all the same."""
    with memory(now=clock, off=(SPACE,)) as mind:
        with mind.conversation(SPACE, session="s1", limit=3_000) as talking:
            assert not any(talking.start("anything"))
            assert talking.before(talk()).condensed.done
            talking.after(talk(6))
        assert [] == mind.store.events()


@pytest.fixture(scope="module")
def agent():
    """The example as a module."""
    sys.path.insert(0, str(EXAMPLE.parent))
    yield importlib.import_module(EXAMPLE.stem)
    sys.path.remove(str(EXAMPLE.parent))


@pytest.mark.proves("C116", "C82", "D1", "D2", "D3")
def test_an_agent_works_for_two_days(agent, tmp_path, monkeypatch):
    """It repairs a project beyond the room of its context, is reminded, and knows on the next day

    what it was told on the first.
    """
    monkeypatch.setenv("REVERIE_EMBEDDER", "toy")
    days = agent.main(tmp_path)
    monday, tuesday = days["monday"], days["tuesday"]
    assert "The tests pass: total() divided where it has to multiply." in [
        step.reply["content"] for step in monday
    ]
    assert "return cents * pieces" in (tmp_path / "shop" / "prices.py").read_text("utf-8")
    assert 1 == sum(step.ready.condensed.done for step in monday)
    assert all(legal(step.ready.messages) for step in monday)
    assert all(
        complete
        for step in monday
        for span, complete in group_messages(step.ready.messages)
        if len(span) > 1
    )
    assert [
        "In cents. And today the release is to be published.",
        "total(), which divided.",
    ] == [step.reply["content"] for step in tuesday]
    given = [memory.text for step in tuesday for memory in step.ready.block.memories]
    assert 1 == given.count("Publish the release of the shop")
    with memory(tmp_path / "memory", now=None) as mind:
        left = [m for m in mind.browse(space=agent.SPACE, limit=1_000) if m.kind == EXCERPT]
        assert any("shelf_0_0" in m.text for m in left)
        assert (
            "shelf_2"
            in mind.recall("def shelf_2_0 label", space=agent.SPACE, limit=1)[0].memory.text
        )
        assert {"monday", "tuesday"} == {
            past.session for past in mind.sessions.browse(space=agent.SPACE)
        }


@pytest.mark.proves("C109", "C110")
def test_the_days_log_and_the_long_file_are_written(agent, tmp_path, monkeypatch):
    """What a condensed conversation was about stands in the day's log, what it taught in MEMORY.md."""
    monkeypatch.setenv("REVERIE_EMBEDDER", "toy")
    agent.main(tmp_path)
    pages = {path.name: path.read_text("utf-8") for path in (tmp_path / "memory").rglob("*.md")}
    assert "Prices are always kept in cents" in pages["MEMORY.md"]
    (day,) = [text for name, text in pages.items() if name[:2] == "20" and "Messages 2 to" in text]
    assert "The tests of the shop fail, please repair them." in day and "shelf_5_3" not in day


def test_the_example_runs_by_itself(tmp_path):
    """As its first lines say."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={
            "REVERIE_HOME": str(tmp_path),
            "REVERIE_EMBEDDER": "toy",
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "PYTHONPATH": str(EXAMPLE.parents[1] / "src"),
        },
    )
    assert 0 == done.returncode, done.stderr
    assert "condensed" in done.stdout and FACT not in done.stdout
