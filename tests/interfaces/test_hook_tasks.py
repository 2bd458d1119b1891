# mypy: no-check-untyped-defs
"""Tasks that hosts' hooks begin and end by themselves, and the plan that a task gets."""

import json
import subprocess
from pathlib import Path

import pytest

from reverie.activity import TASK
from reverie.core import config
from reverie.core.errors import NotFound
from reverie.interfaces.hooks import hook_main
from reverie.interfaces.hooks.hook_consumer import HookConsumer
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.mcp.tool_context import ToolContext
from reverie.interfaces.mcp.unified import UnifiedTools
from reverie.runtime.mind import plan_verbs
from reverie.text.token_counts import estimate_tokens
from tests.support.helpers import open_mind, toy_home


class Agent:
    """A host at work in a project, with its hooks and a worker's desk in this process."""

    host = "claude-code"

    def __init__(self, home, project):
        self.home, self.project = home, project
        self.files, self.space = HookFiles(str(home)), config.project_space_of(project)
        self.mind = open_mind(home)
        self.desk = HookConsumer(self.mind)
        self.now = self.mind.context.now()

    def tell(self, event, session="s1", **fields):
        """What a hook says; what it wrote is taken in at once."""
        payload = {
            "session_id": session,
            "cwd": str(self.project),
            "hook_event_name": event,
            **fields,
        }
        self.now += 1
        said = hook_main.answer_event(self.host, json.dumps(payload).encode(), self.files, self.now)
        self.work()
        return said.get("hookSpecificOutput", {}).get("additionalContext", "")

    def work(self):
        while self.desk.has_work() and self.desk.consume_events():
            pass
        assert self.desk.planner.wait(120)

    def say(self, prompt, session="s1"):
        return self.tell("UserPromptSubmit", session, prompt=prompt)

    def run(self, command, session="s1", *, fails=False):
        """What comes before the run of a command, which then ends."""
        tool = {"tool_name": "Bash", "tool_input": {"command": command}}
        before = self.tell("PreToolUse", session, **tool)
        if fails:
            self.tell("PostToolUseFailure", session, **tool, error="Exit code 1\nno")
        else:
            self.tell("PostToolUse", session, **tool, tool_response={"stdout": "fine"})
        return before

    def edit(self, path, session="s1", tool="Edit"):
        """What comes before an edit."""
        given = {"tool_name": tool, "tool_input": {"file_path": f"{self.project}/{path}"}}
        before = self.tell("PreToolUse", session, **given)
        self.tell("PostToolUse", session, **given, tool_response={"ok": True})
        return before

    def end(self, session="s1"):
        self.tell("SessionEnd", session, reason="other")

    def tasks(self, session="s1"):
        """The outcomes of the tasks of a session, oldest first."""
        self.mind.activity.events(limit=0)
        told = self.mind.store.events(verbs=(TASK,), session=session)
        return [event.payload for event in told]


@pytest.fixture
def project(tmp_path):
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return tmp_path / "project"


@pytest.fixture
def agent(tmp_path, project, monkeypatch):
    home = toy_home(tmp_path, idle=0.0)
    monkeypatch.setenv("REVERIE_HOME", str(home))
    agent = Agent(home, project)
    yield agent
    agent.desk.close()
    agent.mind.close()


def outcomes(told):
    return [(one["task"], one["outcome"]) for one in told]


def test_a_task_begins_at_its_prompt_and_ends_at_a_commit(agent):
    agent.say("The proxy tunnel hangs after a redirect")
    agent.edit("net.py", tool="Read")
    assert agent.tasks() == []  # nothing was done yet
    agent.edit("net.py")
    agent.run("pytest -q", fails=True)
    agent.run("pytest -q")
    agent.run('git commit -qam "Close the tunnel"')
    name = "The proxy tunnel hangs after a redirect"
    assert outcomes(agent.tasks()) == [(name, "started"), (name, "success")]
    done = agent.tasks()[-1]
    assert done["files"] == ["net.py"]
    assert done["commands"] == ["pytest -q", 'git commit -qam "Close the tunnel"']
    runs = agent.mind.activity.events(task=name, verbs=("file",), space=agent.space)
    assert {event.payload.get("path") for event in runs} == {"net.py"}


@pytest.mark.parametrize(
    ("prompts", "name"),
    [
        (["Danke!", "Der Warenkorb rechnet Rabatte doppelt ab"], 1),
        (["hola", "gracias", "El carrito aplica el descuento dos veces"], 2),
        (["Explique-moi le panier", "Corrige la remise appliquée deux fois", "Continue"], 1),
        (["购物车里的折扣被重复计算,请修复"], 0),
    ],
)
def test_the_task_is_the_prompt_that_work_began_with(agent, prompts, name):
    """What was said before anything was done states no task; "go on" states no other."""
    for prompt in prompts[: name + 1]:
        agent.say(prompt)
        agent.edit("cart.py", tool="Read")
    agent.edit("cart.py")
    for prompt in prompts[name + 1 :]:
        agent.say(prompt)
    agent.edit("tests/test_cart.py")
    agent.end()
    assert outcomes(agent.tasks()) == [(prompts[name], "started"), (prompts[name], "ended")]
    assert agent.tasks()[-1]["files"] == ["cart.py", "tests/test_cart.py"]


def test_after_a_commit_the_next_prompt_states_the_next_task(agent):
    agent.say("Add a retry to the uploader")
    agent.edit("upload.py")
    agent.run("git add -A && git commit -m 'Retry'")
    agent.run("git push")  # still of the first
    agent.say("Rename the uploader to sender")
    agent.edit("sender.py")
    agent.run("cd /p && git -C . commit -am 'Rename'")
    assert [one for one in outcomes(agent.tasks()) if one[1] == "success"] == [
        ("Add a retry to the uploader", "success"),
        ("Rename the uploader to sender", "success"),
    ]
    assert [one["files"] for one in agent.tasks() if "files" in one] == [
        ["upload.py"],
        ["sender.py"],
    ]


def test_a_commit_that_failed_or_only_looked_ends_nothing(agent):
    agent.say("Add a retry to the uploader")
    agent.edit("upload.py")
    agent.run("git commit -m 'Retry'", fails=True)
    agent.run("git log --grep=commit")
    agent.run("git commit --dry-run")
    agent.run("echo git commit")
    assert outcomes(agent.tasks())[1:] == []


def test_a_task_goes_on_under_another_worker(agent):
    agent.say("Add a retry to the uploader")
    agent.edit("upload.py")
    agent.desk.close()
    agent.desk = HookConsumer(agent.mind)
    agent.edit("client.py")
    agent.end()
    assert agent.tasks()[-1]["files"] == ["upload.py", "client.py"]


def test_a_session_of_questions_has_no_task(agent):
    agent.say("How does the uploader retry?")
    agent.edit("upload.py", tool="Read")
    agent.run("grep -n retry upload.py")
    agent.end()
    assert agent.tasks() == []


def test_no_secret_and_nothing_private_is_a_tasks_name(agent):
    key = "sk-ant-api03-" + "aB3dE5gH7jK9mN1p" * 5 + "-AA"
    agent.say(f"Use {key} for the uploader <private>and call Zanzibar</private>")
    agent.edit("upload.py")
    agent.end()
    assert "uploader" in agent.tasks()[0]["task"]
    assert not [one for one in agent.tasks() if key in str(one) or "Zanzibar" in str(one)]


def test_a_patch_of_codex_changes_the_files_that_it_names(agent):
    patch = "*** Begin Patch\n*** Update File: upload.py\n@@\n-a\n+b\n*** Add File: retry.py\n+c\n"
    agent.host = "codex"
    agent.say("Add a retry to the uploader")
    tool = {"tool_name": "apply_patch", "tool_input": {"command": f"{patch}*** End Patch"}}
    agent.tell("PostToolUse", **tool, tool_response="Success")
    agent.end()
    assert agent.tasks()[-1]["files"] == ["upload.py", "retry.py"]
    assert "commands" not in agent.tasks()[-1]


@pytest.mark.proves("C36", "C38", "D59")
@pytest.mark.parametrize(
    "prompts",
    [
        ["Release it"] * 4,
        ["Veröffentliche das", "Neue Fassung bitte", "Und jetzt 1.3 herausgeben", "Release machen"],
        ["Publica la versión", "Sube la 1.2", "Otra versión", "Lanza la 1.4"],
    ],
)
def test_commands_that_recur_in_sessions_become_a_procedure(agent, prompts):
    """With nothing but what hooks tell."""
    for number, prompt in enumerate(prompts):
        session = f"s{number}"
        agent.say(prompt, session)
        for command in ("make dist", f"twine upload dist/app-1.{number}.0.whl", "make announce"):
            agent.run(command, session)
        agent.end(session)
    agent.mind.settle()
    (found,) = agent.mind.review.pending(space=agent.space)
    assert [step.split()[0] for step in found.details["steps"]] == ["make", "twine", "make"]
    assert [len(one.steps) for one in agent.mind.activity.workflows(space=agent.space)] == [3]


@pytest.mark.proves("X28")
def test_a_task_that_was_committed_is_an_episode(agent):
    agent.say("Add a retry to the uploader")
    agent.edit("upload.py")
    agent.run("git commit -am 'Retry'")
    agent.mind.settle()
    (episode,) = agent.mind.browse(space=agent.space, kinds=["task"])
    assert episode.text == "Task done: Add a retry to the uploader. Outcome: worked."


@pytest.mark.parametrize(
    ("prompt", "commit", "words"),
    [
        ("Next step", "-am 'feat(npm): read weekly downloads'", "feat(npm): read weekly downloads"),
        ("次のステップ", '-am "取得した値をキャッシュする"', "取得した値をキャッシュする"),
        ("ok commit", '-F - <<EOF\nSay "hi" to guests\n\nLong.\nEOF', 'Say "hi" to guests'),
        (
            "2",
            "-m \"$(cat <<'EOF'\nDrop the old parser\n\nIt leaked.\nEOF\n)\"",
            "Drop the old parser",
        ),
        ("Rename the uploader to sender", "-m wip", "Rename the uploader to sender"),
        ("Rename the uploader to sender", "", "Rename the uploader to sender"),
        ("Rename the uploader to sender", "--amend --no-edit", None),
        ("commit the uploader", "-m wip", None),
    ],
)
def test_the_episode_of_a_task_is_what_its_commit_says(agent, prompt, commit, words):
    """Or its prompt, if that says more; where neither says what was done, there is no episode."""
    agent.say("Look at the uploader" if words else prompt)
    agent.say(prompt)
    agent.edit("upload.py")
    agent.run(f"git commit {commit}")
    agent.mind.settle()
    assert agent.tasks()[-1]["outcome"] == "success"
    found = agent.mind.browse(space=agent.space, kinds=["task"])
    wanted = [f"Task done: {words}. Outcome: worked."] if words else []
    assert [episode.text for episode in found] == wanted


# The plan


SHOP = {
    "shop/net.py": "class ProxyTunnel:\n    def connect(self, host):\n        return host\n",
    "shop/jar.py": "class CookieJar:\n    def expire(self, cookie):\n        return cookie\n",
    "shop/cart.py": "class Cart:\n    def total(self, discount):\n        return discount\n",
    "shop/invoice.py": "def render_invoice(order):\n    return str(order)\n",
    "shop/mail.py": "def send_mail(address, text):\n    return address, text\n",
    "shop/stock.py": "class Warehouse:\n    def reserve(self, item):\n        return item\n",
    "tests/test_net.py": "def test_connect():\n    pass\n",
    "tests/test_cart.py": "def test_total():\n    pass\n",
}
CHANGES = [
    ("shop/net.py", "Close the proxy tunnel when a redirect leaves it"),
    ("shop/jar.py", "Cookies expire at midnight"),
    ("shop/cart.py", "Apply the discount to the cart once"),
    ("shop/mail.py", "Send mail in plain text"),
    ("shop/net.py", "The proxy tunnel waits for a slow host"),
    ("shop/stock.py", "Reserve items of the warehouse in one step"),
    ("shop/cart.py", "Round the total of the cart"),
    ("shop/invoice.py", "Invoices name the order"),
]


@pytest.fixture
def shop(project):
    """A repository with a short past."""
    (project / ".git").rmdir()
    git = ["git", "-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]

    def run(*words):
        subprocess.run([*git, *words], cwd=project, check=True, capture_output=True)

    run("init", "-q")
    for path, text in SHOP.items():
        (project / path).parent.mkdir(exist_ok=True)
        (project / path).write_text(text)
    run("add", ".")
    run("commit", "-qm", "Begin")
    for path, message in CHANGES:
        (project / path).write_text((project / path).read_text() + f"\n# {message}\n")
        run("commit", "-qam", message)
    return project


@pytest.fixture
def shopkeeper(shop, agent):
    return agent


@pytest.mark.proves("D53", "D54")
@pytest.mark.parametrize(
    ("prompt", "path"),
    [
        ("The proxy tunnel hangs when the host is slow, please fix it", "shop/net.py"),
        ("the discount of the cart is counted twice", "shop/cart.py"),
        ("Make CookieJar expire a cookie at midnight, not at noon", "shop/jar.py"),
        ("Bitte ProxyTunnel.connect so ändern, dass host auch eine IP sein darf", "shop/net.py"),
    ],
)
def test_the_first_tool_of_a_task_brings_its_files(shopkeeper, prompt, path):
    """With no index and no history taken in before, and nobody waits."""
    assert shopkeeper.say(prompt) == ""
    said = shopkeeper.run("ls")
    assert said.splitlines()[3].startswith(f"- {path}")
    assert estimate_tokens(said) <= 300
    assert shopkeeper.run("ls") == ""  # once
    (told,) = shopkeeper.mind.store.events(verbs=("planned",))
    assert path in told.payload["files"]


def test_tests_and_past_tasks_come_with_the_files(shopkeeper):
    shopkeeper.say("The proxy tunnel hangs when the host is slow, please fix it")
    said = shopkeeper.run("ls")
    assert "Tests: tests/test_net.py" in said
    assert "The proxy tunnel waits for a slow host (shop/net.py)" in said


@pytest.mark.parametrize(
    "prompt",
    [
        "thanks!",
        "Write a haiku about autumn.",
        "Wie spät ist es in Lissabon?",
        "¿Cuál es la capital de Mongolia?",
        "Upgrade the kubernetes ingress controller in staging",
        "写一首关于秋天的诗",
    ],
)
def test_what_is_no_task_here_brings_nothing(shopkeeper, prompt):
    shopkeeper.say(prompt)
    assert shopkeeper.run("ls") == ""


def test_a_new_task_brings_its_own_files_and_the_same_task_nothing(shopkeeper):
    shopkeeper.say("The proxy tunnel hangs when the host is slow, please fix it")
    assert "shop/net.py" in shopkeeper.run("ls")
    shopkeeper.say("And the proxy tunnel should close when the host redirects")
    assert shopkeeper.run("ls") == ""
    shopkeeper.say("Now the discount of the cart is counted twice")
    assert "shop/cart.py" in shopkeeper.run("ls")
    shopkeeper.edit("shop/jar.py", tool="Read")
    shopkeeper.say("Make CookieJar expire a cookie at noon")  # it is read already
    assert shopkeeper.run("ls") == ""


def test_what_no_tool_took_comes_with_a_prompt_that_goes_on(shopkeeper):
    shopkeeper.say("The proxy tunnel hangs when the host is slow")
    assert "shop/net.py" not in shopkeeper.say("Write a haiku about autumn.")
    assert shopkeeper.run("ls") == ""
    assert "shop/net.py" in shopkeeper.say("Back to the proxy tunnel")


def test_a_subagent_and_a_silenced_session_get_no_plan(shopkeeper):
    shopkeeper.say("The proxy tunnel hangs when the host is slow")
    tool = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
    assert shopkeeper.tell("PreToolUse", agent_id="a1", agent_type="Explore", **tool) == ""
    assert Path(shopkeeper.files.session_file("s1", "plan")).exists()
    shopkeeper.end()
    assert not Path(shopkeeper.files.session_file("s1", "plan")).exists()


def test_a_session_that_is_held_out_gets_no_plan(shopkeeper):
    """Its task is recorded all the same, to compare with."""
    config.save_settings(config.load_settings(shopkeeper.home), holdout=0.5)
    settings = shopkeeper.mind.context.settings = config.load_settings(shopkeeper.home)
    names = [f"s{number}" for number in range(20)]
    silent = next(name for name in names if settings.is_held_out(name))
    other = next(name for name in names if not settings.is_held_out(name))
    for session in (silent, other):
        shopkeeper.say("The proxy tunnel hangs when the host is slow", session)
        assert ("shop/net.py" in shopkeeper.run("ls", session)) == (session == other)
        shopkeeper.edit("shop/net.py", session)
        assert outcomes(shopkeeper.tasks(session))[0][1] == "started"


def test_who_wants_no_plans_gets_none_and_nothing_is_read(shopkeeper):
    """Switched off while a worker is there, from the next prompt on."""
    config.save_settings(config.load_settings(shopkeeper.home), auto_plan=False)
    shopkeeper.say("The proxy tunnel hangs when the host is slow")
    assert shopkeeper.run("ls") == ""
    assert shopkeeper.mind.store.code.roots() == []


def test_a_folder_that_is_no_repository_is_not_read(agent, project):
    (project / ".git").rmdir()
    for path, text in SHOP.items():
        (project / path).parent.mkdir(exist_ok=True)
        (project / path).write_text(text)
    agent.say("The proxy tunnel hangs when the host is slow")
    assert agent.run("ls") == ""
    assert agent.mind.store.code.roots() == []


def test_a_repository_that_is_too_large_is_left_alone(shopkeeper, monkeypatch):
    monkeypatch.setattr(plan_verbs, "MAX_UNASKED_BYTES", 10)
    shopkeeper.say("The proxy tunnel hangs when the host is slow")
    assert shopkeeper.run("ls") == ""


def test_codex_gets_it_with_a_tool_and_cursor_with_a_prompt(shopkeeper):
    """Cursor reads no context at tools."""
    shopkeeper.host = "codex"
    shopkeeper.say("The proxy tunnel hangs when the host is slow")
    assert "shop/net.py" in shopkeeper.run("ls")
    shopkeeper.host = "cursor"
    ask = {"conversation_id": "c1", "workspace_roots": [str(shopkeeper.project)]}

    def cursor(event, **fields):
        payload = {**ask, "hook_event_name": event, **fields}
        given = json.dumps(payload).encode()
        shopkeeper.now += 1
        said = hook_main.answer_event("cursor", given, shopkeeper.files, shopkeeper.now)
        shopkeeper.work()
        return said.get("additional_context", "")

    assert cursor("beforeSubmitPrompt", prompt="The proxy tunnel hangs when the host is slow") == ""
    assert cursor("preToolUse", tool_name="Shell", tool_input={"command": "ls"}) == ""
    assert "shop/net.py" in cursor("beforeSubmitPrompt", prompt="go on with the proxy tunnel")


@pytest.mark.proves("D53")
def test_an_agent_can_ask_for_more(shopkeeper, monkeypatch):
    """The tool takes in a repository that nobody has indexed, as hooks do."""
    monkeypatch.chdir(shopkeeper.project)
    tools = UnifiedTools(ToolContext(config.load_settings(shopkeeper.home), shopkeeper.space))
    answer = tools.plan("The proxy tunnel hangs when the host is slow")
    assert answer["files"][0] == "shop/net.py"
    assert "ProxyTunnel" in answer["text"] and "waits for a slow host" in answer["text"]
    monkeypatch.chdir(shopkeeper.home)
    with pytest.raises(NotFound, match="no git repository"):
        tools.plan("The proxy tunnel hangs")
    tools.context.close()
