"""`reverie data llm` and the line in `reverie status`, over one home and a scripted server."""

import json

import pytest
from typer.testing import CliRunner

from reverie.core import clock
from reverie.interfaces.cli.app import app
from reverie.testing import memory
from tests.support.scripted import TOKENS, Status, scripted

pytestmark = pytest.mark.filterwarnings("default::DeprecationWarning")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a command in a home with these settings."""
    monkeypatch.setenv("REVERIE_HOME", str(tmp_path))

    def run(*words, code=0, **settings):
        values = {"embedder": "toy", "idle": 0, **settings}
        (tmp_path / "config.toml").write_text(
            "\n".join(f"{k} = {json.dumps(v)}" for k, v in values.items())
        )
        result = CliRunner().invoke(app, list(words))
        assert result.exit_code == code, (words, result.output, result.stderr)
        return result.stdout

    return run


def test_without_a_model_it_says_how_to_have_one(run):
    """Without a model the command exits with 0 and says how to configure one."""
    assert "set llm in config.toml" in run("data", "llm")
    assert "" == json.loads(run("data", "llm", "--json"))["model"]
    assert "none" == json.loads(run("status", "--json"))["llm"]


def test_what_the_environment_offers_is_named_and_not_chosen(run, monkeypatch, tmp_path):
    """A key in the environment and a program on PATH are told with the setting that uses them."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    assert [] == json.loads(run("data", "llm", "--json"))["offers"]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "made-up-key")
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    shown = run("data", "llm")
    assert 'llm = "anthropic:claude-haiku-4-5"' in shown and 'llm = "claude-cli:haiku"' in shown
    assert "made-up-key" not in shown and "codex" not in shown


def test_offline_is_said(run):
    """A model that is configured but may not be called because of `offline` is reported."""
    assert "offline" in run("data", "llm", llm="openai:gpt-5", offline=True)
    assert "offline" in json.loads(run("status", "--json", llm="openai:gpt-5", offline=True))["llm"]


@pytest.mark.proves("X7")
def test_a_check_asks_and_spending_is_shown(run):
    """Model, tokens, budget and outcomes of the day; the key is nowhere in sight."""
    with scripted('{"ready": true}') as script:
        key = "sk-scripted-key-1234567890"
        shown = run("data", "llm", "--check", llm=script.openai, llm_key=key)
        values = json.loads(run("data", "llm", "--json", llm=script.openai, llm_key=key))
        line = json.loads(run("status", "--json", llm=script.openai, llm_key=key))["llm"]
    assert "an answer that could be read" in shown and key not in shown
    assert ({"check": {"ok": 1}}, *TOKENS, 1_000_000) == (
        values["outcomes"],
        values["tokens_in"],
        values["tokens_out"],
        values["tokens_per_day"],
    )
    assert f"{sum(TOKENS):,} tokens today" in line and key not in json.dumps(values)


@pytest.mark.proves("CC-37")
def test_trouble_is_shown_with_its_reason(run):
    """A wrong key: exit code 1, the reason, and how long it rests; checking again asks again."""
    with scripted(Status(401, "no such key"), '{"ready": true}') as script:
        assert "no such key" in run("data", "llm", "--check", llm=script.openai, code=1)
        assert "rests" in run("data", "llm", llm=script.openai)
        assert "no such key" in json.loads(run("status", "--json", llm=script.openai))["llm"]
        assert "rests" not in run("data", "llm", "--check", llm=script.openai)
        assert 2 == len(script.asked)


def test_a_check_without_a_model_fails(run):
    """`--check` fails where no model is configured."""
    run("data", "llm", "--check", "--json", code=1)


@pytest.mark.parametrize("command", ["data settle", "data worker"])
@pytest.mark.proves("X17")
def test_whoever_settles_has_conversations_read(run, command, tmp_path):
    """The command and the detached worker ask the configured model, as the companion does."""
    note = {"text": "The release script reads CHANGELOG.md first.", "kind": "fact", "from": 0}
    run("status")
    with memory(tmp_path, now=clock.now) as mind:
        for number in range(12):
            said = [
                {
                    "role": "user",
                    "text": "The release script reads CHANGELOG.md first, as we found out together.",
                }
            ]
            mind.record("turn", {"messages": said, "first": number}, space="me/demo", session="s1")
    with scripted(json.dumps({"keep": [note]})) as script:
        run(*command.split(), llm=script.openai)
        assert 1 == len(script.asked)
    with memory(tmp_path, now=clock.now) as mind:
        assert [(note["text"], "extracted")] == [
            (m.text, m.provenance) for m in mind.browse(space="me/demo")
        ]


@pytest.mark.proves("A95", "A96", "A97")
def test_an_accelerator_that_is_not_installed_is_named(run):
    """`providers` is a wish; status says which of them cannot be had."""
    missing = json.loads(run("status", "--json", providers=["NoSuchExecutionProvider"]))[
        "providers_missing"
    ]
    assert ["NoSuchExecutionProvider"] == missing
    assert "processor computes" in " ".join(
        run("status", providers=["NoSuchExecutionProvider"]).split()
    )


def test_the_key_of_the_provider_is_for_the_provider_only(monkeypatch, tmp_path):
    """Its usual variable is read by config alone, and never used for another address."""
    from reverie.core import config

    monkeypatch.setenv("ANTHROPIC_API_KEY", "theirs")
    monkeypatch.setenv("REVERIE_LLM", "anthropic:claude-haiku-4-5")
    assert "theirs" == config.load_settings(tmp_path).llm_key
    monkeypatch.setenv("REVERIE_LLM", "anthropic:http://127.0.0.1:1#m")
    assert "" == config.load_settings(tmp_path).llm_key
    monkeypatch.setenv("REVERIE_LLM_KEY", "mine")
    assert "mine" == config.load_settings(tmp_path).llm_key


@pytest.mark.parametrize(("words", "ask"), [((), True), (("--no-model",), False)])
def test_sleep_can_leave_the_model_out(run, monkeypatch, words, ask):
    """What the option says reaches the verb; what the verb does with it is proved beside it."""
    from reverie.runtime.mind import Mind

    whole, told = Mind.sleep, []

    def listening(mind, *args, **named):
        told.append(named["ask"])
        return whole(mind, *args, **named)

    monkeypatch.setattr(Mind, "sleep", listening)
    run("sleep", "--json", *words)
    assert [ask] == told
