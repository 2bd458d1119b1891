# mypy: no-check-untyped-defs, allow-untyped-decorators
"""What a session gave away once is hidden in everything that it says later, on every way in."""

from pathlib import Path

import pytest

from reverie.core import config
from reverie.interfaces.mcp.server import build_server
from reverie.interfaces.mcp.tool_context import ToolContext
from reverie.testing import SPACE, memory
from tests.interfaces.test_mcp import answers
from tests.privacy.test_not_remembered import Agent
from tests.support.helpers import toy_home

SECRET = "q7" + "Zx9Lw2Kd8Tn4Rb"
TELLING = f"ACME_TOKEN={SECRET}"


@pytest.fixture
def agent(tmp_path):
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return Agent(toy_home(tmp_path), tmp_path / "project")


def holding(home: Path) -> list[str]:
    """The files of a home in which the secret stands."""
    files = (path for path in home.rglob("*") if path.is_file())
    return [path.name for path in files if SECRET.encode() in path.read_bytes()]


@pytest.mark.proves("A107", "B119", "CC-89")
def test_hooks_hide_what_an_earlier_hook_of_the_session_saw(agent, clock):
    """Each hook is a process of its own: what it knows lies in a file, as digests."""
    agent.tell("SessionStart", source="startup")
    agent.tell("UserPromptSubmit", prompt=f"The server wants {TELLING}.")
    agent.tool("Bash", {"command": f"curl https://h/{SECRET}/me"}, {"stdout": f"200 {SECRET}"})
    agent.tell("Stop", last_assistant_message=f"{SECRET} works. " + "word " * 20_000 + SECRET)

    assert holding(agent.home) == []
    assert Path(agent.room.session_file("s1", "known")).exists()
    with memory(agent.home, now=clock) as mind:
        agent.attended(mind)
    assert holding(agent.home) == []
    agent.tell("SessionEnd", reason="other")
    with memory(agent.home, now=clock) as mind:
        agent.attended(mind)
    assert not Path(agent.room.session_file("s1", "known")).exists()


@pytest.mark.proves("CC-89")
def test_one_session_knows_nothing_of_another(agent):
    """A lone random string is no secret to a session that never saw what tells it."""
    agent.tell("UserPromptSubmit", "s1", prompt=TELLING)
    agent.tell("UserPromptSubmit", "s2", prompt=f"Is {SECRET} the id of the build?")

    spooled = [Path(path).read_text() for path in agent.room.list_events()]
    assert [SECRET in text for text in spooled] == [False, True]


def test_a_damaged_file_is_begun_anew(agent):
    Path(agent.room.session_file("s1", "json")).parent.mkdir(parents=True, exist_ok=True)
    for damage in ("", "{}", '{"key": "zz", "rows": 3}', '{"key": "00", "rows": [[1]]}'):
        Path(agent.room.session_file("s1", "known")).write_text(damage)
        agent.tell("UserPromptSubmit", prompt=TELLING)
        agent.tell("UserPromptSubmit", prompt=f"see {SECRET}")
    assert holding(agent.home) == []


@pytest.mark.proves("A107", "CC-89")
def test_an_mcp_conversation_hides_it_in_later_calls(tmp_path):
    """Also where no hooks run: the process remembers."""
    home = toy_home(tmp_path)
    room = ToolContext(config.load_settings(home), SPACE)
    try:
        said = answers(
            build_server(room),
            ("remember", {"text": f"The relay is reached with {TELLING}."}),
            ("remember", {"text": f"Curl https://h/{SECRET}/me to see whether it works."}),
        )
    finally:
        room.close()
    assert len(said) == 2
    assert holding(home) == []


@pytest.mark.proves("A107", "CC-89")
def test_mcp_and_the_hooks_of_its_host_know_the_same(agent, monkeypatch):
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")
    agent.tell("SessionStart", source="startup")
    agent.tell("UserPromptSubmit", prompt=TELLING)
    room = ToolContext(config.load_settings(agent.home), SPACE)
    try:
        answers(build_server(room), ("remember", {"text": f"Curl https://h/{SECRET}/me."}))
    finally:
        room.close()
    assert holding(agent.home) == []


@pytest.mark.proves("A107", "CC-89")
@pytest.mark.parametrize("turned", [False, True])
def test_a_transcript_and_turns_hide_it_before_and_after(turned, tmp_path, clock):
    """What is learned is read as a whole, so also what was said before the telling place."""
    texts = [f"curl https://h/{SECRET}/me", f"export {TELLING}", f"and {SECRET} again"]
    with memory(tmp_path, now=clock, embedder="none") as mind:
        lines = [{"role": "user", "content": text} for text in texts[turned:]]
        if turned:
            with mind.companion(SPACE, session="s1") as companion:
                for number in range(len(lines)):
                    companion.turn(lines[: number + 1])
                assert companion.wait(120)
        else:
            mind.learn(lines, space=SPACE)
    assert holding(tmp_path) == []
