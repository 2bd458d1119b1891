"""A host's own command line as a model, with scripted programs on PATH."""

import json
import os
import signal
import sys
import threading

import pytest

from reverie.llm import command_line, open_llm
from reverie.llm.language_model import BUSY, DOWN, MALFORMED, OK, REFUSED, TIMEOUT, LlmRequest
from reverie.llm.spending_limits import SpendingLimits
from reverie.storage import open_store
from tests.support.helpers import wait_until

ASK = LlmRequest("check", "Answer with a list.", "the data", timeout_seconds=60.0)
CLAUDE = {
    "type": "result",
    "is_error": False,
    "result": "[1, 2]",
    "usage": {"input_tokens": 3, "cache_read_input_tokens": 40, "output_tokens": 5},
}
CODEX = (
    {"type": "thread.started", "thread_id": "t"},
    {"type": "item.completed", "item": {"type": "reasoning", "text": "hm"}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "[1, 2]"}},
    {"type": "turn.completed", "usage": {"input_tokens": 43, "output_tokens": 5}},
)


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put a program on PATH that notes how it was called, prints something and ends."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    noted = tmp_path / "noted.json"

    def put(name, out="", code=0, errors="", seconds=0):
        file = folder / name
        file.write_text(
            f"#!{sys.executable}\n"
            "import json, os, sys, time\n"
            f"call = {{'words': sys.argv[1:], 'input': sys.stdin.read(), 'env': dict(os.environ),"
            f" 'files': os.listdir('.'), 'pid': os.getpid()}}\n"
            f"open({str(noted)!r} + '.new', 'w').write(json.dumps(call))\n"
            f"os.rename({str(noted)!r} + '.new', {str(noted)!r})\n"
            f"time.sleep({seconds})\n"
            f"sys.stdout.write({out!r}); sys.stderr.write({errors!r}); sys.exit({code})\n"
        )
        file.chmod(0o755)
        return lambda: json.loads(noted.read_text())

    return put


@pytest.fixture
def ask(clock):
    """Ask the model behind a setting."""
    store = open_store("sqlite://:memory:")
    models = []

    def asking(setting, request=ASK, tokens=0):
        models.append(
            open_llm(
                setting,
                key="",
                price=(0.0, 0.0),
                limits=SpendingLimits(tokens, 0.0),
                books=store,
                now=clock,
                private=lambda text: text,
            )
        )
        return models[-1].ask(request, json.loads, space="me"), models[-1]

    yield asking
    for model in models:
        model.close()
    store.close()


def test_claude_is_asked_without_tools_hooks_and_memory(program, ask, monkeypatch):
    """Its answer and its tokens are read; the question is on its standard input alone."""
    monkeypatch.setenv("CLAUDECODE", "1")
    call = program("claude", json.dumps(CLAUDE))
    answer, model = ask("claude-cli:haiku")
    assert (answer.outcome, answer.value) == (OK, [1, 2])
    assert (model.day().tokens_in, model.day().tokens_out) == (43, 5)
    assert model.name == "claude-cli:haiku" and not model.is_quick
    words = call()["words"]
    assert words[:5] == ["-p", "--output-format", "json", "--model", "haiku"]
    assert words[words.index("--tools") + 1] == ""
    assert "disableAllHooks" in words[words.index("--settings") + 1]
    assert call()["input"] == "the data" and "the data" not in words
    assert call()["env"]["REVERIE_OFF"] == "1" and "CLAUDECODE" not in call()["env"]
    # An "@/path" in what was said is no wish to read that file.
    assert call()["env"]["CLAUDE_CODE_DISABLE_ATTACHMENTS"] == "1"
    assert call()["files"] == []


def test_codex_is_asked_and_may_write_nothing(program, ask):
    """The last message of its lines is the answer."""
    call = program("codex", "noise\n" + "\n".join(map(json.dumps, CODEX)))
    answer, model = ask("codex-cli:gpt-5-mini")
    assert (answer.outcome, answer.value) == (OK, [1, 2])
    assert (model.day().tokens_in, model.day().tokens_out) == (43, 5)
    words = call()["words"]
    assert words[0] == "exec" and words[words.index("--sandbox") + 1] == "read-only"
    assert call()["input"] == "Answer with a list.\n\nthe data"


@pytest.mark.parametrize(
    ("out", "code", "errors", "outcome", "told"),
    [
        ("", 1, "error: unknown option '--tools'", REFUSED, "unknown option"),
        (
            json.dumps({"is_error": True, "result": "Invalid API key · Please run /login"}),
            1,
            "",
            REFUSED,
            "/login",
        ),
        (json.dumps({"is_error": True, "result": "usage limit reached"}), 0, "", BUSY, "limit"),
        ("", 3, "segmentation fault", DOWN, "exit code 3"),
        ("Hello!", 0, "", MALFORMED, "Hello!"),
        # A port is no status.
        ("", 1, "401 Unauthorized, url: http://127.0.0.1:34297/", REFUSED, "401"),
        ("", 1, "unexpected status 404 Not Found: model: nope", REFUSED, "404"),
        (
            json.dumps({"is_error": True, "result": f"API Error: 529 Overloaded. {'x' * 300}"}),
            1,
            "",
            BUSY,
            ": API Error: 529",
        ),
    ],
)
def test_what_goes_wrong_is_told_in_the_programs_own_words(
    program, ask, out, code, errors, outcome, told
):
    """A program that fails is one outcome, with what it said."""
    program("claude", out, code, errors)
    answer, _ = ask("claude-cli:haiku")
    assert answer.outcome == outcome and told in answer.why


def test_codex_says_why_it_failed(program, ask):
    """An error among its lines."""
    failed = {"type": "turn.failed", "error": {"message": "x"}}
    said = {"type": "error", "message": "You've hit your usage limit"}
    program("codex", f"{json.dumps(said)}\n{json.dumps(failed)}\n", 1)
    answer, _ = ask("codex-cli:gpt-5-mini")
    assert answer.outcome == BUSY and "usage limit" in answer.why


def test_a_program_that_is_not_there_is_named(program, ask):
    """The name of the program that is missing on PATH."""
    answer, _ = ask("claude-cli:haiku")
    assert answer.outcome == REFUSED and "'claude' on PATH" in answer.why


def test_a_slow_program_is_ended(program, ask):
    """It does not go on behind our back."""
    program("claude", json.dumps(CLAUDE), seconds=600)
    answer, _ = ask("claude-cli:haiku", ASK._replace(timeout_seconds=1.0))
    assert answer.outcome == TIMEOUT


def test_who_breaks_off_ends_the_program(program, ask, tmp_path):
    """Ctrl-C reaches nobody in a group of its own, so what runs there is ended by us."""
    call = program("claude", json.dumps(CLAUDE), seconds=600)
    # Who runs the tests in the background has it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt():
        wait_until((tmp_path / "noted.json").exists)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            ask("claude-cli:haiku")
    finally:
        signal.signal(signal.SIGINT, before)
    pid = call()["pid"]
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_the_users_servers_are_not_started_for_a_question(program, ask, tmp_path, monkeypatch):
    """Codex starts what its settings name, and its tools could act: each is switched off by name."""
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    (tmp_path / "config.toml").write_text(
        '[mcp_servers.reverie]\ncommand = "reverie"\n[mcp_servers."odd name"]\ncommand = "x"\n'
    )
    call = program("codex", "\n".join(map(json.dumps, CODEX)))
    assert ask("codex-cli:gpt-5-mini")[0].outcome == OK
    words = call()["words"]
    assert "mcp_servers.reverie.enabled=false" in words and "notify=[]" in words
    (tmp_path / "config.toml").write_text("no toml")
    assert ask("codex-cli:gpt-5-mini")[0].outcome == OK


def test_the_budget_holds_for_it_too(program, ask):
    """No process is started beyond the tokens of the day."""
    program("claude", json.dumps(CLAUDE))
    answer, _ = ask("claude-cli:haiku", tokens=10)
    assert answer.outcome == "spent"


@pytest.mark.parametrize("setting", ["claude-cli:", "codex-cli:  ", "claude-cli:--version"])
def test_a_setting_without_a_model_is_refused(setting, ask):
    """The model is named; an option is none."""
    from reverie.core.errors import BadInput

    with pytest.raises(BadInput, match="claude-cli:<model>"):
        ask(setting)


def test_every_provider_that_is_a_program_has_its_form():
    """The names in settings and the programs are the same."""
    from reverie.llm.language_model import PROGRAMS

    assert set(command_line.FORMS) == set(PROGRAMS)
    assert os.environ.get("REVERIE_OFF", "") in ("", "0")
