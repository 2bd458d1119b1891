# mypy: no-check-untyped-defs
"""What cannot be used (paths, kinds, ids, empty files, settings) is refused: a code that is not 0,
and one sentence that says what to do.
"""

import json

import pytest

from tests.support.helpers import open_mind, run_command, toy_home

REFUSED = [
    # what is typed; the code; what the sentence says
    (("recall", "x", "--kind", "nix"), 2, "There is nothing of the kind nix. There are "),
    (("list", "--kind", "nix"), 2, "There is nothing of the kind nix. There are "),
    (("list", "--after", "nix"), 1, "There is no memory with the id nix. Try: reverie list"),
    (
        ("remember", "x", "--kind", "negatve"),
        2,
        "There is no kind 'negatve'. Did you mean negative",
    ),
    (("remember", "x", "--kind", "a b"), 2, "`reverie memory kinds` lists"),
    (("edit", "ID", "--kind", "fcat"), 2, "There is no kind 'fcat'. Did you mean fact?"),
    (("memory", "retrieve", "nix"), 1, "There is no memory with the id nix. Try: reverie list"),
    (("memory", "hints", ""), 2, "The prompt is empty: say what"),
    (("plan", ""), 2, "The task is empty: say what"),
    (("files", "search", ""), 2, "The question is empty: say what"),
    (("files", "add", "nix"), 2, "There is no folder nix"),
    (("files", "add", "empty"), 2, "empty is not a folder"),
    (("code", "index", "nix"), 2, "Give the folder of a repository"),
    (("learn", "--git", "nix"), 2, "there is no folder"),
    (("learn", "--git", "empty"), 2, "is not a folder"),
    (("learn", "nix"), 2, "There is no file nix"),
    (("learn", "empty"), 2, "There is nothing in that file"),
    (("session", "replay", "nix"), 2, "There is no file nix"),
    (("session", "replay", "empty"), 2, "There is nothing in that file"),
    (("session", "window", "empty"), 2, "There is nothing in that file"),
    (("session", "condense", "empty"), 2, "There is nothing in that file"),
    (("data", "import", "nix"), 2, "There is no file"),
    (("data", "import", "empty"), 2, "There is nothing in empty"),
    (("data", "export", "nix/nix"), 2, "There is no folder nix"),
    (("data", "share", "nix/nix.jsonl"), 2, "its folder does not exist"),
    (("remind", "x"), 2, "--at, --in or --every"),
    (("remind", "x", "--at", "never ever"), 2, "is not understood as a time. Say for instance"),
    (("undo", "4711"), 1, "There is no event 4711. Try: reverie undo"),
    (("undo", "--sleep", "4711"), 1, "reverie activity log --verb sleeping lists the runs"),
    (("install", "nix"), 2, "is not one of claude-code, codex, cursor"),
    (("install",), 2, "Missing argument 'claude-code|codex|cursor'"),
    (("mcp", "--profile", "nix"), 2, "there are unified, "),
    (("sleep", "--pass", "nix"), 2, "There is no pass 'nix'"),
]


@pytest.mark.parametrize(("words", "code", "said"), REFUSED)
def test_what_cannot_be_used_is_refused(tmp_path, monkeypatch, words, code, said):
    """Nothing is kept of it; --json says the same in one document."""
    home = toy_home(tmp_path)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch()
    with open_mind(home) as mind:
        id = mind.remember("The staging host is heron.", space="me/demo").id
    where = ("--home", str(home), "--space", "me/demo")
    words = [id if word == "ID" else word for word in words]
    err = run_command(*where, *words, code=code).stderr
    lines = [line for line in err.splitlines() if line.startswith("reverie: ")]
    assert len(lines) == 1 and said in lines[0] and "Traceback" not in err
    with open_mind(home) as mind:
        assert [one.id for one in mind.browse(space="me/demo", active=None)] == [id]
    if words[0] != "learn":  # which answers for each file
        told = json.loads(run_command(*where, "--json", *words, code=code).stdout)
        assert told["error"]["exit"] == code and said in told["error"]["message"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('embeder = "toy"', "Did you mean embedder"),
        ("qqqq = 1", "there are store, enabled"),
        ('idle = "long"', "idle must be"),
        ('guards = "perhaps"', "ask, deny, tell, off"),
        ("depth = -4", "from 0 to 4"),
        ("not toml", "config.toml cannot be read"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path, line, said):
    """With its file, and what it may be."""
    home = toy_home(tmp_path)
    (home / "config.toml").write_text(line)
    err = run_command("list", "--home", str(home), code=2).stderr
    assert str(home / "config.toml") in err and said in err


def test_a_kind_of_ones_own_may_be_near_one_once_it_is_there(tmp_path):
    """An import may have brought it."""
    home = toy_home(tmp_path)
    with open_mind(home) as mind:
        mind.remember("Soup needs salt.", kind="facts", space="me/demo")
    where = ("--home", str(home), "--space", "me/demo")
    run_command(*where, "remember", "Tea needs time.", "--kind", "facts")
    assert "Tea" in run_command(*where, "list", "--kind", "facts").stdout
