# mypy: no-check-untyped-defs, allow-untyped-decorators
"""What a project ignores is not kept either when a tool reads or prints it."""

import json
import subprocess

import pytest

from reverie.interfaces.hooks.hook_event import HookEvent, SessionNote
from reverie.interfaces.hooks.hook_main import redact_hook_event
from reverie.privacy.ignored_files import IgnoredFiles, find_printed_words
from reverie.testing import SPACE, memory
from tests.privacy.test_not_remembered import Agent
from tests.support.helpers import toy_home

PLANTED = "rosebud-" + "sledge"
GITIGNORE = """
# what is made
/dist/
*.log
!keep.log
.venv/
local_*.py
docs/**/drafts
build[0-9].txt
\\#odd
a?c.txt
notes/private/*
"""
PATHS = """
dist/app.js src/dist/app.js dist x.log logs/x.log keep.log logs/keep.log .venv/lib/a.py local_a.py
src/local_b.py docs/drafts/a.md docs/x/y/drafts/a.md docs/draft/a.md build1.txt buildx.txt #odd
abc.txt abbc.txt notes/private/a.md notes/private/b/c.md notes/public/a.md sub/own.txt sub/other.txt
sub/deep/own.txt sub/keepme.log
"""


@pytest.fixture
def project(tmp_path):
    root = tmp_path / "project"
    (root / "sub").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / ".gitignore").write_text(GITIGNORE)
    (root / "sub" / ".gitignore").write_text("/own.txt\n!*.log\n")
    (root / ".secretsignore").write_text("customers.csv\nvault/\n")
    return root


@pytest.mark.proves("A111", "B120")
def test_lines_are_read_as_git_reads_them(project):
    """Anchors, stars, folders, exceptions, files in folders below."""
    paths = PATHS.split()
    asked = subprocess.run(
        ["git", "check-ignore", "--no-index", "--stdin"],
        input="\n".join(paths),
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    wanted = set(asked.stdout.replace('"', "").split())
    ignored = IgnoredFiles(str(project))
    # A name alone may be a folder's for git, which looks; for us it is a file's.
    assert {path for path in paths if ignored.is_ignored(path)} == wanted
    assert wanted >= {"dist/app.js", "x.log", ".venv/lib/a.py"}


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("cat .env", [".env"]),
        ("cd /x && grep -rn key dist/ | head -3", ["/x/key", "/x/dist/"]),
        ("sudo tail -f /var/a.log; ls b.log", ["/var/a.log"]),
        (".venv/bin/python -m pytest tests/a.py", []),
        ("FOO=1 jq .a < data.json", [".a", "", "data.json"]),
    ],
)
def test_only_programs_that_print_read_a_file(command, wanted):
    assert list(find_printed_words(command)) == wanted


def runs(root):
    """Runs of tools that show what an ignored file holds: name, arguments, answer."""
    return [
        ("Read", {"file_path": f"{root}/dist/app.js"}, f"1\t{PLANTED}"),
        ("Read", {"file_path": "vault/a.txt"}, f"1\t{PLANTED}"),
        ("Bash", {"command": "cat dist/app.js"}, {"stdout": PLANTED, "stderr": ""}),
        ("Bash", {"command": "cd src; head -5 ../x.log"}, {"stdout": PLANTED, "stderr": ""}),
        ("Bash", {"command": "python report.py customers.csv"}, {"stdout": PLANTED}),
        ("Bash", {"command": "grep -rn rose ."}, {"stdout": f"./local_a.py:3:x = '{PLANTED}'\n"}),
        ("Grep", {"pattern": "rose", "path": "notes/private/a.md"}, PLANTED),
        ("Write", {"file_path": "sub/own.txt", "content": PLANTED}, "ok"),
        ("Edit", {"file_path": "x.log", "old_string": "a", "new_string": PLANTED}, "ok"),
    ]


@pytest.mark.parametrize("number", range(9))
@pytest.mark.proves("A111", "B120")
def test_hooks_keep_nothing_of_an_ignored_file(number, project):
    name, given, answered = runs(project)[number]
    result = answered if isinstance(answered, str) else answered["stdout"]
    event = HookEvent(
        "tool_after", "s1", str(project), tool=name, given=given, result=result, text=""
    )
    kept = redact_hook_event(event, SessionNote(root=str(project)))
    assert PLANTED not in json.dumps(kept._asdict())


@pytest.mark.proves("A111", "B120")
def test_nothing_of_it_reaches_the_home(project, tmp_path, clock):
    """From a hook's first byte to what a worker makes of it."""
    agent = Agent(toy_home(tmp_path), project)
    agent.tell("SessionStart", source="startup")
    for name, given, answered in runs(project):
        agent.tool(name, given, answered)
    with memory(agent.home, now=clock) as mind:
        agent.attended(mind)
    files = (path for path in agent.home.rglob("*") if path.is_file())
    assert [path.name for path in files if PLANTED.encode() in path.read_bytes()] == []


@pytest.mark.proves("A111", "B120")
def test_a_transcript_is_learned_without_ignored_files(project, tmp_path, clock):
    """Where it says in which folder the agent worked."""
    talk = [
        {"role": "user", "content": "What does the bundle say?"},
        {
            "role": "assistant",
            "content": [
                {
                    "type": "tool_use",
                    "id": "t1",
                    "name": "Bash",
                    "input": {"command": "cat dist/app.js"},
                }
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": PLANTED}],
        },
    ]
    with memory(tmp_path / "home", now=clock, embedder="none") as mind:
        mind.learn(talk, space=SPACE, folder=str(project))
        text = str([event.payload for event in mind.store.events()])
    assert "cat dist/app.js" in text
    assert PLANTED not in text


@pytest.mark.proves("A111")
def test_what_a_program_in_an_ignored_folder_prints_stays(project):
    """Most tests are run from `.venv/bin` or `node_modules/.bin`."""
    event = HookEvent(
        "tool_after",
        "s1",
        str(project),
        tool="Bash",
        given={"command": ".venv/bin/python -m pytest tests/a.py"},
        result="E  assert 1 == 2\n1 failed",
        text="",
    )
    kept = redact_hook_event(event, SessionNote(root=str(project)))
    assert kept.result == "E  assert 1 == 2\n1 failed"
