# mypy: no-check-untyped-defs
"""Guards: what somebody forbade is stopped before a tool does it."""

import json

import pytest

from reverie.core import clock, config
from reverie.core.errors import BadInput
from reverie.core.forbidden_calls import is_forbidden_call
from reverie.core.trigger_patterns import context_of_tool_call
from reverie.interfaces.hooks import hook_main
from reverie.interfaces.hooks.spool import HookFiles, read_spooled_event
from reverie.interfaces.hooks.warning_table import refresh_warning_tables
from reverie.interfaces.hosts import load_host
from reverie.memory.short_ids import shorten_id
from reverie.text.forbidden_commands import find_exact_triggers
from tests.support.helpers import open_mind, run_command, toy_home

FORCE = "Never force-push to a shared branch."


class Desk:
    """A home, a project, and an agent that is about to run tools in it."""

    def __init__(self, folder):
        self.home = toy_home(folder)
        self.project = folder / "shop"
        (self.project / ".git").mkdir(parents=True)
        (self.project / ".git" / "HEAD").write_text("ref: refs/heads/topic\n")
        self.space = config.project_space_of(self.project)
        self.files = HookFiles(str(self.home))

    def keep(self, text, **fields):
        with open_mind(self.home) as mind:
            fields = {"kind": "negative", "provenance": "user_stated", **fields}
            memory = mind.remember(text, space=self.space, **fields)
        self.refresh()
        return memory

    def refresh(self):
        with open_mind(self.home) as mind:
            refresh_warning_tables(
                mind.store, config.load_settings(self.home), self.space, clock.now()
            )

    def run(self, command, host="claude-code", tool="Bash", **given):
        name = {"cursor": "preToolUse"}.get(host, "PreToolUse")
        payload = {
            "session_id": "s",
            "conversation_id": "s",
            "cwd": str(self.project),
            "workspace_roots": [str(self.project)],
            "hook_event_name": name,
            "tool_name": tool,
            "tool_input": given or {"command": command},
        }
        return hook_main.answer_event(host, json.dumps(payload).encode(), self.files, clock.now())

    def decision(self, command, **more):
        return self.run(command, **more).get("hookSpecificOutput", {}).get("permissionDecision")

    def guards(self, *words, code=0):
        return run_command(
            "--home", str(self.home), "--space", self.space, "guards", *words, code=code
        )


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        "mainにpushしないで",
        "mainに直接プッシュしないで",
        "main에 push하지 마",
        "不要推送到main分支",
    ],
)
def test_names_are_seen_where_no_space_stands(text):
    """A letter of a script without spaces ends a word, and begins one."""
    assert find_exact_triggers(text) == ["run:git push @main"]


def test_it_is_stopped_before_the_worker_has_prepared_anything(desk):
    """The first call in a project, or after a day without one, is stopped as any other."""
    with open_mind(desk.home) as mind:
        mind.remember(FORCE, space=desk.space, kind="negative", provenance="user_stated")
    assert desk.decision("git push -f") == "ask"
    assert desk.files.read_warnings(desk.space) is not None
    assert desk.decision("git push") is None


@pytest.mark.proves("X51")
def test_what_is_forbidden_is_asked_about_every_time(desk):
    """The person sees the memory, whose word it is and when; the second time as the first."""
    memory = desk.keep(FORCE)
    for _ in range(2):
        said = desk.run("cd x && git push -f")["hookSpecificOutput"]
        assert said["permissionDecision"] == "ask"
        reason = said["permissionDecisionReason"]
        assert FORCE in reason and memory.id in reason
        assert f"You said on {clock.format_day(memory.at)}" in reason
    assert desk.decision("git push") is None
    assert desk.decision("git commit -m 'git push --force'") is None


def test_a_stop_is_written_down_with_its_reason(desk):
    """Each stop goes to the worker, so that `explain` and the log know of it."""
    memory = desk.keep(FORCE)
    desk.run("git push -f"), desk.run("git push -f")
    events = [read_spooled_event(path) for path in desk.files.list_events()]
    assert [list(one.ids) for one in events] == [[memory.id], [memory.id]]
    assert all(one.why[0][0].startswith("ask: trigger") for one in events)


def test_what_a_person_chose_holds_and_can_be_undone(desk):
    """Deny, tell and off by the command line, at once; `undo` takes the last one back."""
    id = desk.keep(FORCE).id
    desk.guards("set", id, "deny")
    assert desk.decision("git push -f") == "deny"
    desk.guards("set", id, "tell")
    assert desk.decision("git push -f") is None
    desk.guards("set", id, "off")
    assert desk.run("git push -f") == {}
    with open_mind(desk.home) as mind:
        last = mind.store.events(verbs=("guard",), newest=True, limit=1)[0]
        mind.undo(last.seq)
        assert mind.get(id)[0].details["guard"] == "tell"
    desk.guards("set", id, "default")
    assert desk.decision("git push -f") == "ask"
    desk.guards("default", "deny")
    assert desk.decision("git push -f") == "deny"


@pytest.mark.parametrize("provenance", ["observed", "extracted", "inferred"])
def test_only_the_users_word_stops(desk, provenance):
    """What others wrote or an agent concluded is told at most; the user's approval changes that."""
    memory = desk.keep(FORCE, provenance=provenance, triggers=["run:git push --force"])
    assert desk.decision("git push -f") is None
    with open_mind(desk.home) as mind:
        with pytest.raises(BadInput, match="not your own word"):
            mind.guards.set(memory.id, "deny")
        mind.review.curate(memory.id, "validated", by="an agent")
    desk.refresh()
    assert desk.decision("git push -f") is None
    with open_mind(desk.home) as mind:
        mind.review.curate(memory.id, "validated")
    desk.refresh()
    assert desk.decision("git push -f") == "ask"


def test_what_others_wrote_stops_nothing(desk):
    """It has no trigger, and cannot be made a guard."""
    memory = desk.keep(FORCE, provenance="untrusted", triggers=["run:git push --force"])
    assert desk.decision("git push -f") is None
    desk.guards("set", memory.id, "deny", code=2)


def test_nobody_chooses_by_details(desk):
    """What a caller writes into the details of a memory decides nothing."""
    memory = desk.keep(FORCE, details={"guard": "off"})
    assert desk.decision("git push -f") == "ask"
    with open_mind(desk.home) as mind:
        mind.revise(memory.id, details={"guard": "off"})
    desk.refresh()
    assert desk.decision("git push -f") == "ask"


def test_other_kinds_stop_only_if_somebody_says_so(desk):
    """A preference with a trigger tells; set to deny, it denies."""
    memory = desk.keep("We use uv.", kind="preference", triggers=["run:pip install"])
    assert desk.decision("pip install x") is None
    desk.guards("set", memory.id, "deny")
    assert desk.decision("python -m pip install x") == "deny"


def test_hosts_that_cannot_ask_stop_and_say_how_to_go_on(desk):
    """Codex and Cursor read no `ask` there: nothing runs, and both are told what to do."""
    desk.keep(FORCE)
    said = desk.run("git push -f", "codex")["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny"
    assert "reverie guards allow" in said["permissionDecisionReason"]
    said = desk.run("git push -f", "cursor", tool="Shell")
    assert said["permission"] == "deny" and FORCE in said["user_message"]
    assert "permission" not in desk.run("git push", "cursor", tool="Shell")


def test_a_person_may_allow_once(desk):
    """Once only; and an agent that tries to change guards itself is stopped."""
    memory = desk.keep(FORCE)
    desk.guards("allow", memory.id)
    assert desk.decision("git push -f") is None
    assert desk.decision("git push -f") == "ask"
    for how in ("allow", "set", "default"):
        assert desk.decision(f"reverie --home x guards {how} {memory.id} off") == "ask"
    assert desk.decision("reverie guards") is None


def test_the_strictest_guard_decides(desk):
    """Of two that are met, the one that denies."""
    desk.keep(FORCE)
    other = desk.keep("Never push at all.", triggers=["run:git push"])
    desk.guards("set", other.id, "deny")
    said = desk.run("git push -f")["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny" and "at all" in said["permissionDecisionReason"]


def test_the_branch_that_is_checked_out_counts(desk):
    """`git push` on main is a push to main, and none elsewhere."""
    desk.keep("Never push to main.", triggers=["run:git push @main"])
    assert desk.decision("git push") is None
    (desk.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert desk.decision("git push") == "ask"
    assert desk.decision("git push origin topic") is None


def test_guards_are_listed_and_tried(desk):
    """What there is, what would happen, and what is not understood."""
    assert "Nothing is guarded" in desk.guards().stderr
    id = desk.keep(FORCE).id
    assert shorten_id(id) in desk.guards().output and "ask" in desk.guards().output
    tried = desk.guards("try", "git push -f").output
    assert "you are asked" in tried and shorten_id(id) in tried
    assert "no guard meets it" in desk.guards("try", "git push").output
    desk.guards("set", id, code=2)
    desk.guards("set", id, "perhaps", code=2)


@pytest.mark.parametrize(
    ("trigger", "tool", "given", "expected"),
    [
        ("println!", "Edit", {"file_path": "a.rs", "new_string": 'println!("x")'}, True),
        (
            "println!",
            "Edit",
            {"file_path": "a.rs", "old_string": "println!", "new_string": ""},
            False,
        ),
        ("println!", "Grep", {"pattern": "println!", "path": "src"}, False),
        ("println!", "Bash", {"command": "grep -rn 'println!' src"}, False),
        ("drop table", "Bash", {"command": "psql -c 'DROP TABLE users'"}, True),
        ("drop table", "Bash", {"command": "git commit -m 'drop table users'"}, False),
        ("drop table", "mcp__pg__query", {"sql": "DROP TABLE users"}, True),
        ("drop table", "mcp__reverie__remember", {"text": "Never drop table users"}, False),
        ("drop table", "Task", {"prompt": "never drop table users"}, False),
        ("file:.env", "Read", {"file_path": "/p/.env"}, True),
        ("file:.env", "Bash", {"command": "source .env && run"}, True),
        ("file:.env", "Write", {"file_path": ".gitignore", "content": ".env\n"}, False),
        ("file:.env", "Read", {"file_path": "/p/.env.example"}, False),
        ("edit:migrations/*", "Edit", {"file_path": "app/migrations/1.py", "new_string": ""}, True),
        ("edit:migrations/*", "Read", {"file_path": "app/migrations/1.py"}, False),
        ("edit:migrations/*", "Bash", {"command": "sed -i s/a/b/ app/migrations/1.py"}, True),
        (
            "tool:*edit*(*legacy/*)",
            "Edit",
            {"file_path": "src/legacy/a.py", "new_string": ""},
            True,
        ),
        ("tool:*edit*(*legacy/*)", "Edit", {"file_path": "a.py", "new_string": "legacy/x"}, False),
        ("run:git push --force", "shell", {"command": ["bash", "-lc", "git push -f"]}, True),
        ("run:git push --force", "Write", {"file_path": "a.sh", "content": "git push -f"}, False),
    ],
)
def test_what_is_only_mentioned_is_not_done(trigger, tool, given, expected):
    """Searching, printing, committing a message or talking of it is no deed."""
    assert is_forbidden_call(trigger, context_of_tool_call(tool, given, "/p")) is expected


def test_every_host_has_a_decision_of_its_own():
    """What each is answered holds the reason and never lets a tool run."""
    for name in ("claude-code", "codex", "cursor"):
        said = json.dumps(load_host(name).decide("PreToolUse", "deny", "because"))
        assert "because" in said and "deny" in said and "allow" not in said
